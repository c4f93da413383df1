/* Immediate dominators and post-dominators of an application's DAG.
 *
 * Stage d dominates s if every path from a source to s contains d. It post-dominates s if every
 * path from s to a sink contains d. Several sources (sinks) are joined by one virtual source
 * (sink). Stages are in topological order, so one pass suffices (Cooper, Harvey, Kennedy: "A
 * simple, fast dominance algorithm", 2001, which needs no iteration on a DAG).
 */
#ifndef ESGSIM_SCHED_COMMON_DOMINATORS_H
#define ESGSIM_SCHED_COMMON_DOMINATORS_H

#include "workloads/world/workload.h"

/* Fills `dominator[s]` for all stage_count stages with the immediate dominator of s, or SIM_NONE if
 * only the virtual source dominates s. O(edges × depth). */
void dominators_find(const struct application *application, uint32_t *dominator);

/* The closest stage that equals or dominates both a and b; SIM_NONE: only the virtual source. */
uint32_t dominators_common(const uint32_t *dominator, uint32_t a, uint32_t b);

/* Fills `post_dominator[s]` likewise; SIM_NONE if only the virtual sink post-dominates s. */
void post_dominators_find(const struct application *application, uint32_t *post_dominator);

#endif
