/* Batches from reservation to finish (not a public header). */
#ifndef ESGSIM_SIM_PLATFORM_BATCHES_H
#define ESGSIM_SIM_PLATFORM_BATCHES_H

#include "sim/platform/state.h"

/* Returns the batch's execution time at rate 1, in ns. If its share was changed, this is the time
 * that remained at the last update (batch_settle). The batch must have its jobs. */
double batch_work(const struct platform *platform, const struct batch *batch);
/* Takes the oldest `jobs` of `queue`, reserves resources and launches a batch. Returns false, and
 * fails the run, if a rule is violated. */
bool batches_dispatch(struct platform *platform, uint32_t queue, uint32_t jobs,
                      uint32_t configuration, uint32_t invoker);
/* Launches a batch of the oldest `jobs` in the buffer of the idle instance `id`. False: the run
 * failed. */
bool batches_launch(struct platform *platform, uint32_t id, uint32_t jobs);
/* Gives the batch another configuration and quota. It keeps its remaining work. */
void batches_reshare(struct platform *platform, uint32_t id, uint32_t configuration,
                     uint32_t quota);
/* Handle the events of batch `id`. Its work finishes, and after platform.host_ms it answers: its
 * jobs end. Its share and its container, or its instance, are free after its turnaround, and only
 * then the policy hears of it. */
void batches_start(struct platform *platform, uint32_t id);
void batches_finish(struct platform *platform, uint32_t id);
void batches_answer(struct platform *platform, uint32_t id);
void batches_release(struct platform *platform, uint32_t id);
/* Checks that the cluster's reservations are within its capacities and equal those of the existing
 * batches and instances. Fails the run otherwise. O(invokers + GPUs + batches + instances). */
void batches_check_holdings(struct platform *platform);

/* Divides the time and cost of a finished batch of configuration `spec` among its jobs, counts it
 * in the metrics, and records it. O(jobs). */
void batch_account(struct platform *platform, const struct batch *batch,
                   const struct configuration *spec);

/* Records the jobs of a batch whose invoker has failed. */
void batch_record_lost(struct platform *platform, const struct batch *batch);

/* Returns the price of a configuration in $ per ns. It has its GPU share for `quota` per cent of
 * the time. */
double configuration_rate(const struct platform *platform, const struct configuration *spec,
                          uint32_t quota);

/* Ends a batch whose invoker has failed, and drops its requests. Returns how many it dropped. */
uint32_t batches_lose(struct platform *platform, uint32_t id);

/* Whether the batch itself waited for its container, not its jobs in the buffer of an instance. */
static inline bool batch_waits(const struct batch *batch)
{
    return batch->instance == SIM_NONE || batch->cold;
}

/* Whether it executes and its answer is not yet under way. */
static inline bool batch_works(const struct batch *batch)
{
    return batch->executing && !batch->worked;
}

/* Returns the function of the batch. */
static inline uint32_t batch_function(const struct platform *platform, const struct batch *batch)
{
    return platform->queues[batch->queue].function;
}

/* Returns the configuration of the batch. */
static inline const struct configuration *batch_configuration(const struct platform *platform,
                                                              const struct batch *batch)
{
    return &platform->workload->functions[batch_function(platform, batch)]
                .configurations[batch->configuration];
}

/* Returns for how long the batch holds its share after its end; 0 without platform.turnaround. A
 * backend has its own. */
static inline sim_time_t batch_turnaround(const struct platform *platform,
                                          const struct batch *batch)
{
    const struct function *function =
        &platform->workload->functions[batch_function(platform, batch)];
    return platform->backend != NULL || !platform->experiment->platform.turnaround
               ? 0
               : configuration_turnaround(function, batch_configuration(platform, batch));
}

/* Returns how long the batch waited for its container after its input had arrived. */
static inline sim_time_t batch_cold_wait(const struct batch *batch)
{
    return batch->started - batch->launched - batch->transfer;
}

#endif
