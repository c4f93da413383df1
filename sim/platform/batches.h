/* Batches from reservation to finish (not a public header). */
#ifndef ESGSIM_SIM_PLATFORM_BATCHES_H
#define ESGSIM_SIM_PLATFORM_BATCHES_H

#include "sim/platform/state.h"

/* ns of execution at rate 1 of a batch that has its jobs: all of it, or, of one that was given
 * another share, what was left when it was settled. */
double batch_work(const struct platform *platform, const struct batch *batch);
/* Makes the pool of batches. False when out of memory. */
bool batches_init(struct platform *platform);
/* Frees what batches_init and the run allocated. */
void batches_clear(struct platform *platform);
/* Reserves and launches; false (platform failed) where a rule is broken. */
bool batches_dispatch(struct platform *platform, uint32_t queue, uint32_t jobs,
                      uint32_t configuration, uint32_t invoker);
/* Instance `id`, idle, runs the oldest `jobs` of its buffer. */
bool batches_launch(struct platform *platform, uint32_t id, uint32_t jobs);
/* The batch goes on with another configuration and quota, keeping its remaining work. */
void batches_reshare(struct platform *platform, uint32_t id, uint32_t configuration,
                     uint32_t quota);
/* EVENT_BATCH_START and EVENT_BATCH_FINISH of batch `id`. */
void batches_start(struct platform *platform, uint32_t id);
void batches_finish(struct platform *platform, uint32_t id);
/* Is what the cluster has given away within its capacities, and just what living batches and
 * instances hold; fails the run where it is not. O(invokers + GPUs + batches + instances). */
void batches_check_holdings(struct platform *platform);

/* $ per ns of what a configuration holds, of the GPU for `quota` per cent of the time. */
double configuration_rate(const struct platform *platform, const struct configuration *spec,
                          uint32_t quota);

/* The function that the batch runs. */
static inline uint32_t batch_function(const struct platform *platform, const struct batch *batch)
{
    return platform->queues[batch->queue].function;
}

/* How long it waited for its container once its input was there. */
static inline sim_time_t batch_cold_wait(const struct batch *batch)
{
    return batch->started - batch->launched - batch->transfer;
}

#endif
