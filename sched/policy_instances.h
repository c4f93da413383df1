/* The half of the contract for scalers of long-lived instances (INFless, FaST-GShare, Dilu).
 *
 * An instance belongs to one function. It holds the vCPUs, the share of one GPU and the memory of
 * its configuration from platform_create to platform_kill, whether it works or not. It runs one
 * batch at a time and has a buffer of its own: jobs are routed to it, wait there, and are launched
 * as batches, which may mix queues of its function. Execution is billed as any batch's. The rest of
 * the instance's life is billed apart (cost_instance_usd).
 *
 * `quota`, 1..100, is the per cent of time for which it may use its share of the GPU (FaST-GShare's
 * temporal dimension). It runs at quota/100 of its share's speed, a fluid model, and holds quota/100
 * of the share: the sum of share × quota on a GPU stays within its units. MIG and exclusive GPUs
 * allow 100 only, which is always.
 *
 * Instances are created, killed, routed to, launched and re-shared only within `decide`.
 */
#ifndef ESGSIM_SCHED_POLICY_INSTANCES_H
#define ESGSIM_SCHED_POLICY_INSTANCES_H

#include "sched/policy.h"

/* GPUs of an invoker, and what is free on one of them (which < count), in hundredths of a unit: an
 * instance may hold a share for a part of the time only. */
uint32_t platform_gpu_count(const struct platform *platform, uint32_t invoker);
uint32_t platform_gpu_free(const struct platform *platform, uint32_t invoker, uint32_t which);

enum instance_state { INSTANCE_STARTING, INSTANCE_IDLE, INSTANCE_BUSY };

struct instance_view {
    enum instance_state state;
    uint32_t function, configuration, quota;
    uint32_t invoker;
    uint32_t gpu;      /* which of the invoker's; SIM_NONE where it uses none */
    uint32_t buffered; /* jobs routed to it and not launched */
    uint32_t running;  /* jobs of the batch that it runs */
    sim_time_t created;
    sim_time_t ready; /* when it has started, or will have */
};

/* What an instance is to be. */
struct instance_request {
    uint32_t function, configuration;
    uint32_t quota; /* 1..100 */
    uint32_t invoker;
    uint32_t gpu; /* which of the invoker's; SIM_NONE: any */
};

/* Could platform_create succeed now. */
bool platform_instance_fits(const struct platform *platform,
                            const struct instance_request *request);

/* A new instance, on an idle container of the function where one is there (then it is ready at
 * once), else after a cold start. SIM_NONE, as false of other actions, where it does not fit. Ids
 * of killed instances are given again. */
uint32_t platform_create(struct platform *platform, const struct instance_request *request);

/* Gives up what the instance holds; its container stays as an idle one, for as long as keep_alive
 * says. A breach where it is busy or jobs are buffered; one still starting is simply abandoned. */
bool platform_kill(struct platform *platform, uint32_t instance);

/* Another configuration and quota for a living instance (vertical scaling): the batch that runs
 * keeps its remaining work, at the new rate. False where the invoker has not what it takes. A
 * breach where the batch that runs has more jobs than the new configuration allows, or where the
 * GPU is not shared by MPS. */
bool platform_set_share(struct platform *platform, uint32_t instance, uint32_t configuration,
                        uint32_t quota);

/* Moves the oldest job of `queue`, whose function must be the instance's, to the end of the
 * instance's buffer. */
bool platform_route(struct platform *platform, uint32_t queue, uint32_t instance);
/* Puts all buffered jobs back into their queues, in order of their age. O(buffered × queue). */
bool platform_return(struct platform *platform, uint32_t instance);

/* The instance, idle, runs the `jobs` oldest of its buffer as one batch (1..its batch). */
bool platform_launch(struct platform *platform, uint32_t instance, uint32_t jobs);

struct instance_view platform_instance(const struct platform *platform, uint32_t instance);
/* The job at `position` of the buffer (0: routed first); position < buffered. A dropped request's
 * jobs leave the buffer by themselves (on_withdrawn). */
struct job_view platform_buffered_job(const struct platform *platform, uint32_t instance,
                                      uint32_t position);

#endif
