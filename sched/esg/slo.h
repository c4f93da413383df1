/* Dominator-based SLO distribution (ESG, HPDC'24): from one end-to-end SLO to a deadline a stage.
 *
 * ANL(f), the average normalised length, is the mean latency of f over its configurations divided by
 * the sum of these means over the application. The dominator tree of the DAG finds its fork–joins;
 * from the inside out each is collapsed into one super node whose ANL is its longest branch's; the
 * graph is then a chain, split into groups of at most `group_size`; a group's quota is the SLO times
 * its share of ANL. Inside a super node every branch gets the super node's quota and is split again.
 * Quotas along every source–sink path sum to the SLO; deadlines are absolute (arrival + cumulative
 * quota), so slack carries over.
 */
#ifndef ESGSIM_SCHED_ESG_SLO_H
#define ESGSIM_SCHED_ESG_SLO_H

#include "sched/esg/search.h"

struct slo_stage {
    double anl;
    uint32_t dominator;       /* immediate dominator; SIM_NONE for a source */
    uint32_t post_dominator;  /* immediate post-dominator; SIM_NONE for a sink */
    uint32_t group;           /* stages planned together share a group */
    double quota;             /* the stage's own share of the SLO (its group's, split by ANL) */
    double deadline_fraction; /* its group must be done by arrival + SLO × this */
    uint32_t chain[SEARCH_MAX_STAGES]; /* this stage and those after it in its group, in order */
    size_t chain_length;
};

struct slo_plan {
    size_t stage_count;
    uint32_t group_count;
    struct slo_stage *stages;
};

/* `mean_time[s]` is the mean latency over the configurations of stage s's function. `group_size`
 * 1..SEARCH_MAX_STAGES. NULL when out of memory. Any DAG, non-series-parallel ones, several sources
 * and several sinks included. */
struct slo_plan *slo_plan_create(const struct application *application, const double *mean_time,
                                 size_t group_size);
void slo_plan_destroy(struct slo_plan *plan);

#endif
