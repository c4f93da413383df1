/* Execution time by batch size on one fixed share of a GPU of one kind.
 *
 * For planners that first reserve shares and then choose batches (Nexus, gpulet). A step is a batch
 * size of the profile with its fastest configuration. If a larger batch is faster, the step uses
 * the larger batch's configuration, so that time never decreases with the batch size.
 */
#ifndef ESGSIM_SCHED_COMMON_BATCH_LATENCY_H
#define ESGSIM_SCHED_COMMON_BATCH_LATENCY_H

#include "sched/common/planner.h"

struct batch_latency {
    size_t count;    /* at least 1; the first step has batch 1 */
    uint32_t *batch; /* strictly ascending */
    uint32_t *configuration;
    sim_time_t *time;                /* ascending */
    const struct function *function; /* NULL: has no turnaround */
};

/* Fills the steps up to `max_batch` for `function` with `vgpu` units of a GPU of `kind`. Each batch
 * size gets the fastest configuration that the planner's cluster can run with at most `vcpus`
 * vCPUs; if none has so few, the limit is ignored. Sets count to 0 if the function has no
 * configuration of batch 1 with that share. */
void batch_latency_fill(struct batch_latency *latency_table, struct arena *arena,
                        const struct workload *workload, const struct planner *planner,
                        uint32_t function, uint32_t kind, uint16_t vgpu, uint16_t vcpus,
                        uint32_t max_batch);

/* The first step whose batch is >= `jobs` (>= 1); `count` if there is none. O(steps). */
size_t batch_latency_step(const struct batch_latency *latency_table, uint32_t jobs);

/* Execution time of `jobs` in one batch; SIM_FOREVER if no step is large enough. */
sim_time_t batch_latency_time(const struct batch_latency *latency_table, uint32_t jobs);

/* Turnaround of a step's batch. */
static inline sim_time_t batch_latency_turnaround(const struct batch_latency *table, size_t step)
{
    const struct function *function = table->function;
    const struct configuration *all = function == NULL ? NULL : function->configurations;
    return all == NULL ? 0 : configuration_turnaround(function, &all[table->configuration[step]]);
}

#endif
