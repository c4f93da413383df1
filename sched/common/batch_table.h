/* A function's configurations on one kind of GPU grouped by batch size, for policies that choose
 * the batch first.
 *
 * The planner answers "cheapest configuration of batch at most b". This table keeps each batch size
 * separate, so that a policy can take the largest batch that meets a deadline. Configurations that
 * no invoker could run even when empty are excluded.
 */
#ifndef ESGSIM_SCHED_COMMON_BATCH_TABLE_H
#define ESGSIM_SCHED_COMMON_BATCH_TABLE_H

#include "sched/common/planner.h"

/* Values of `units` for batch_table_fill: every share, or the largest share. */
enum { BATCH_TABLE_ANY_UNITS = -1, BATCH_TABLE_MOST_UNITS = UINT16_MAX };

struct batch_level {
    uint32_t batch;
    uint32_t fastest;         /* index of the fastest configuration of exactly this batch; ties: the
                               * cheapest */
    sim_time_t time;          /* of the fastest configuration */
    uint32_t *configurations; /* every configuration of this batch */
    size_t configuration_count;
};

struct batches_of_function {
    struct batch_level *levels; /* ascending batch; the first has batch 1 */
    size_t level_count;         /* 0: the function does not run on the kind, or no stage uses it */
};

struct batch_table {
    struct batches_of_function *rows; /* by function and kind; see batch_table_row */
    size_t function_count;
    uint32_t kinds;
};

static inline const struct batches_of_function *batch_table_row(const struct batch_table *table,
                                                                uint32_t function, uint32_t kind)
{
    return &table->rows[(size_t)function * table->kinds + kind];
}

/* Fills the table with batches up to `max_batch`. If `units` >= 0, each function keeps one share
 * per kind only: the most vGPUs <= `units` that it supports at batch 1, or its fewest if it needs
 * more. BATCH_TABLE_ANY_UNITS keeps all shares. A kind without a configuration of batch 1 has no
 * level. `planner` is used during this call only. */
void batch_table_fill(struct batch_table *table, struct arena *arena,
                      const struct workload *workload, const struct planner *planner,
                      uint32_t max_batch, int units);

/* Index of the configuration of this level that costs least per job within `budget`, or of the
 * fastest if none is within it. O(configurations of the level). */
uint32_t batch_level_cheapest(const struct batch_level *level, const struct function *function,
                              sim_time_t budget);

#endif
