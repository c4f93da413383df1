/* A function's configurations by batch: what a policy asks that chooses the batch first.
 *
 * The planner's staircases answer "cheapest of batch at most b"; here each batch stands alone, so
 * that a policy can take the largest that meets a deadline. Configurations that no invoker of the
 * cluster could run even when empty are left out.
 */
#ifndef ESGSIM_SCHED_COMMON_BATCH_TABLE_H
#define ESGSIM_SCHED_COMMON_BATCH_TABLE_H

#include "sched/common/planner.h"

/* As many units as there are: see batch_table_create. */
enum { BATCH_TABLE_ANY_UNITS = -1, BATCH_TABLE_MOST_UNITS = UINT16_MAX };

struct batch_level {
    uint32_t batch;
    uint32_t fastest; /* index of a configuration of exactly this batch; ties: the cheapest */
    sim_time_t time;  /* of the fastest */
    uint32_t *configurations; /* all of this batch */
    size_t configuration_count;
};

struct batches_of_function {
    struct batch_level *levels; /* ascending batch; the first is of batch 1 */
    size_t level_count;
};

struct batch_table {
    struct batches_of_function *functions; /* by function; empty where no stage uses it */
    size_t function_count;
};

/* Batches up to `max_batch`. `units` >= 0: of each function only the configurations of one share,
 * the most vGPUs up to that many that it can have at batch 1 (the fewest where it needs more);
 * BATCH_TABLE_ANY_UNITS: all shares.
 * The planner is asked only here. False with ERROR_RUN when out of memory; batch_table_clear is
 * then still to be called. */
bool batch_table_fill(struct batch_table *table, const struct workload *workload,
                      const struct planner *planner, uint32_t max_batch, int units,
                      struct error *error);
void batch_table_clear(struct batch_table *table);

/* Index of the cheapest configuration per job of the level within `budget`; of the fastest where
 * none is. O(configurations of the level). */
uint32_t batch_level_cheapest(const struct batch_level *level, const struct function *function,
                              sim_time_t budget);

#endif
