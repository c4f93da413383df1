/* SLO distribution: from one end-to-end SLO to a share of it, and a deadline, for every stage.
 *
 * Three rules, for any policy. SLO_PROPORTIONAL (as GrandSLAm, EuroSys'19, splits it) and
 * SLO_EQUAL: a stage's share is its length over that of the longest path through it, length being
 * mean latency or 1, so that a path's shares sum to no more than the SLO, and a longest path's to
 * all of it. SLO_DOMINATOR is ESG's (HPDC'24):
 *
 * ANL(f), the average normalised length, is the mean latency of f over its configurations divided
 * by the sum of these means over the application. The dominator tree of the DAG finds its
 * fork–joins; from the inside out each is collapsed into one super node whose ANL is its longest
 * branch's; the graph is then a chain, split into groups of at most `group_size`; a group's quota
 * is the SLO times its share of ANL. Inside a super node every branch gets the super node's quota
 * and is split again. Quotas along every source–sink path sum to the SLO; deadlines are absolute
 * (arrival + cumulative quota), so slack carries over.
 *
 * How that reaches any DAG. The ends of stages are junctions: an edge u -> v makes the end of u and
 * the start of v one junction, sources start at junction 0, sinks end at junction 1. A potential on
 * the junctions is a plan: a stage's quota is the difference across it, and quotas along every path
 * sum to 1 because they telescope. Between two junctions that every path passes, the potential is
 * divided by longest ANL (super nodes in a chain); parallel parts between them each get all of it
 * (branches); where a part is neither, a junction lies at the share up / (up + down) of the longest
 * ANL before and after it, which rises along every stage. For series-parallel graphs this is ESG's
 * rule.
 *
 * Some DAGs leave no choice: with s -> b -> p and s -> p, equal sums on both paths mean that b's
 * quota is 0, and a deadline there would be absurd. Hence two potentials. `quota` comes from the
 * one that honours every edge, and is 0 exactly where sums equal on every path force it to be.
 * `deadline_fraction` comes from one that leaves slack on the edges which force this (s -> p waits
 * for b): it rises along every edge and gives every stage time of its own. Where nothing is forced,
 * as in every series-parallel graph without such short cuts, the two are one.
 */
#ifndef ESGSIM_SCHED_COMMON_SLO_H
#define ESGSIM_SCHED_COMMON_SLO_H

#include <stddef.h>
#include <stdint.h>

#include "workloads/workload.h"

enum { SLO_MAX_GROUP = 16 }; /* most stages of a group */

enum slo_split { SLO_PROPORTIONAL, SLO_EQUAL, SLO_DOMINATOR };

struct slo_stage {
    double anl;
    uint32_t dominator;       /* immediate dominator; SIM_NONE where no stage is */
    uint32_t post_dominator;  /* immediate post-dominator; SIM_NONE likewise */
    uint32_t group;           /* stages planned together share a group */
    double quota;             /* the stage's own share of the SLO (its group's, split by ANL) */
    double slot;              /* from the latest own_deadline before it to its own; > 0 where a mean
                                 time is; the quota wherever no DAG's shape forces that to 0 */
    double slot_of_rest;      /* its slot's share of what is left at the slot's start */
    double own_deadline;      /* done by arrival + SLO × this, were it alone in its group */
    double deadline_fraction; /* its group must be done by arrival + SLO × this */
    uint32_t chain[SLO_MAX_GROUP]; /* this stage and those after it in its group, in order */
    size_t chain_length;
};

struct slo_plan {
    size_t stage_count;
    uint32_t group_count;
    struct slo_stage *stages;
};

/* `mean_time[s]` > 0 is the mean latency over the configurations of stage s's function.
 * `group_size` 1..SLO_MAX_GROUP. NULL when out of memory. Any DAG, non-series-parallel ones,
 * several sources and several sinks included. Slots along every path sum to no more than 1. */
struct slo_plan *slo_plan_create(const struct application *application, const double *mean_time,
                                 size_t group_size, enum slo_split split);
void slo_plan_destroy(struct slo_plan *plan);

/* rest[s]: the longest way through the stages after s, the stage s taking time[s]. */
void slo_rest(const struct application *application, const sim_time_t *time, sim_time_t *rest);

#endif
