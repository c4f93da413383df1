/* Immediate dominators and post-dominators of an application's DAG.
 *
 * Stage d dominates s where every way from a source to s passes d; it post-dominates s where every
 * way from s to a sink does. Several sources (sinks) are taken to hang on one virtual source
 * (sink). Stages are in topological order, so one pass settles each (Cooper, Harvey, Kennedy: "A
 * simple, fast dominance algorithm", 2001, which needs no iteration on a DAG).
 */
#ifndef ESGSIM_SCHED_COMMON_DOMINATORS_H
#define ESGSIM_SCHED_COMMON_DOMINATORS_H

#include "workloads/workload.h"

/* Fill `dominator[s]`, stage_count of them: the closest stage other than s that dominates s,
 * SIM_NONE where only the virtual source does. O(edges × depth). */
void dominators_find(const struct application *application, uint32_t *dominator);

/* Likewise for the closest stage that post-dominates s; SIM_NONE: only the virtual sink. */
void post_dominators_find(const struct application *application, uint32_t *post_dominator);

#endif
