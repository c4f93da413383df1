/* The frontiers by which ESG plans one application (frontier.h), under either reading of later
 * batches. Unbounded: one set of frontiers, over all configurations. Bounded: one set for each
 * batch size b, over the configurations with a batch of at most b; a first batch of b jobs is
 * completed by that set. Both are exact.
 */
#ifndef ESGSIM_SCHED_ESG_FRONTIER_PLANS_H
#define ESGSIM_SCHED_ESG_FRONTIER_PLANS_H

#include "sched/paths/frontier.h"

struct frontier_plans;

/* As frontier_build. `bounded`: every table is prepared by search_table_bound. Application and
 * tables must outlive the plans. NULL with `error` as there. */
struct frontier_plans *frontier_plans_build(struct arena *arena,
                                            const struct application *application,
                                            const struct search_table *const *tables, bool bounded,
                                            size_t max_points, struct error *error);

/* As frontier_search, for first configurations on GPUs of one kind or of any (SIM_NONE). O(batch
 * sizes × configurations of the stage × log points). */
void frontier_plans_search(const struct frontier_plans *plans, size_t stage, sim_time_t budget,
                           uint32_t queue_length, uint32_t kind, size_t k,
                           struct search_result *result);

#endif
