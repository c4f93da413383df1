/* SLO distribution: divides an end-to-end SLO into a share and a deadline for every stage.
 *
 * Three rules, for any policy. With SLO_PROPORTIONAL (GrandSLAm, EuroSys'19) and SLO_EQUAL, a
 * stage's share is its length divided by the length of the longest path through it. The length is
 * the mean latency, or 1. The shares along a path sum to at most the SLO, along a longest path to
 * exactly the SLO. SLO_DOMINATOR is ESG's rule (HPDC'24):
 *
 * ANL(f), the average normalised length, is the mean latency of f over its configurations divided
 * by the sum of these means over the application. The dominator tree of the DAG identifies its
 * fork–joins. From the innermost outwards, each is collapsed into one super node with the ANL of
 * its longest branch. The result is a chain, which is split into groups of at most `group_size`
 * stages. A group's quota is the SLO times its share of ANL. Every branch inside a super node gets
 * the super node's quota and is split again. Quotas along every source–sink path sum to the SLO.
 * Deadlines are absolute (arrival + cumulative quota), so slack carries over.
 *
 * Generalisation to any DAG. The ends of stages are junctions: an edge u -> v makes the end of u
 * and the start of v one junction. Sources start at junction 0, sinks end at junction 1. A plan
 * assigns a potential to each junction. A stage's quota is its difference of potentials, so the
 * quotas along every path telescope to 1. Between two junctions that every path contains, the
 * potential is divided by longest ANL (super nodes in a chain). Parallel parts between them each
 * get the whole difference (branches). In a part that is neither, a junction gets the potential up
 * / (up + down), from the longest ANL before and after it; this increases along every stage. For
 * series-parallel graphs this is ESG's rule.
 *
 * Some DAGs force a quota of 0: with s -> b -> p and s -> p, equal sums on both paths require that
 * b's quota is 0, which is useless as a deadline. There are therefore two potentials. `quota` comes
 * from the potential that honours every edge. It is 0 exactly where equal sums on every path force
 * it to be. `deadline_fraction` comes from a potential that leaves slack on the edges that cause
 * this (s -> p waits for b). It increases along every edge and gives every stage a positive time.
 * The two are equal if no quota is forced to 0, as in every series-parallel graph without such
 * short cuts.
 */
#ifndef ESGSIM_SCHED_COMMON_SLO_H
#define ESGSIM_SCHED_COMMON_SLO_H

#include <stddef.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "workloads/world/workload.h"

enum { SLO_MAX_GROUP = 16 }; /* most stages per group */

enum slo_split { SLO_PROPORTIONAL, SLO_EQUAL, SLO_DOMINATOR };
/* Their names in a line of parameters (sim/base/keys.h). */
#define SPLIT_WORDS WORDS("proportional", "equal", "dominator")

struct slo_stage {
    double anl;
    uint32_t dominator;       /* immediate dominator; SIM_NONE: the virtual source */
    uint32_t post_dominator;  /* immediate post-dominator; SIM_NONE: the virtual sink */
    uint32_t group;           /* stages that are planned together have the same group */
    double quota;             /* the stage's share of the SLO: its group's quota, split by ANL */
    double slot;              /* own_deadline minus the latest own_deadline of the predecessors.
                               * Always > 0. Equals quota unless the DAG's shape forces that to
                               * 0. */
    double slot_of_rest;      /* the slot's share of the time left when the slot starts */
    double own_deadline;      /* the stage's deadline is arrival + SLO × this, if it were alone
                               * in its group */
    double deadline_fraction; /* its group's deadline is arrival + SLO × this */
    uint32_t chain[SLO_MAX_GROUP]; /* this stage and the later ones of its group, in order */
    size_t chain_length;
};

struct slo_plan {
    size_t stage_count;
    uint32_t group_count;
    struct slo_stage *stages;
};

/* `mean_time[s]` > 0 is the mean latency over the configurations of stage s's function.
 * `group_size` is 1..SLO_MAX_GROUP. Accepts any DAG, also with several sources and sinks or not
 * series-parallel. The slots along every path sum to at most 1. The arena has the plan. */
struct slo_plan *slo_plan_create(struct arena *arena, const struct application *application,
                                 const double *mean_time, size_t group_size, enum slo_split split);

/* By queue of the workload: the time of its stage and of the longest path after it, where every
 * stage has its function's fastest configuration. O(queues + configurations of stages). */
void slo_fastest_paths(const struct workload *workload, sim_time_t *paths);

/* The lengths of the longest paths before and after each stage, where stage t has length[t]. */
void slo_paths(const struct application *application, const double *length, double *before,
               double *after);

/* Fills rest[s] with the length of the longest path through the stages after s, where stage t takes
 * time[t]. */
void slo_rest(const struct application *application, const sim_time_t *time, sim_time_t *rest);

#endif
