/* How an application's SLO is divided among its stages, outside a run: by the mean time of the
 * configurations that the experiment's cluster can hold, as ESG does (sched/common/slo.h). */
#ifndef ESGSIM_SCHED_PATHS_DIVISION_H
#define ESGSIM_SCHED_PATHS_DIVISION_H

#include "sched/common/slo.h"
#include "workloads/spec/experiment.h"

/* The plan with groups of at most `*group_size` stages; 0 is replaced by the parameter of the
 * experiment's policy, else by ESG's default. The arena has the plan. NULL: ERROR_INPUT if the
 * cluster holds no configuration of a stage, or as for policy_resolve. */
struct slo_plan *slo_plan_divide(struct arena *arena, const struct experiment *experiment,
                                 const struct application *application, size_t *group_size,
                                 struct error *error);

#endif
