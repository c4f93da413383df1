/* The part of the contract for scalers of long-lived instances (INFless, FaST-GShare, Dilu).
 *
 * An instance belongs to one function. From platform_create to platform_kill it holds the vCPUs,
 * the share of one GPU and the memory of its configuration, whether it works or not. It runs one
 * batch at a time and has its own buffer. Jobs are routed to the buffer, wait there, and are
 * launched as batches, which may mix queues of the function. Execution is billed like any batch's.
 * The rest of the instance's life is billed separately (cost_instance_usd).
 *
 * `quota`, 1..100, is the percentage of time for which the instance may use its share of the GPU
 * (FaST-GShare's temporal dimension). In this fluid model it runs at quota/100 of its share's speed
 * and holds quota/100 of the share. The sum of share × quota on a GPU never exceeds its units. MIG
 * and exclusive GPUs allow only 100.
 *
 * Instances are created, killed, routed to, launched and re-shared only within `decide`.
 */
#ifndef ESGSIM_SCHED_POLICY_INSTANCES_H
#define ESGSIM_SCHED_POLICY_INSTANCES_H

#include "sched/policy.h"

/* Number of GPUs of an invoker, and what is free of GPU `which` < count in hundredths of a unit,
 * because an instance may hold a share for a part of the time only. It exceeds the units of a GPU
 * that is over-subscribed. */
uint32_t platform_gpu_count(const struct platform *platform, uint32_t invoker);
uint32_t platform_gpu_free(const struct platform *platform, uint32_t invoker, uint32_t which);

enum instance_state { INSTANCE_STARTING, INSTANCE_IDLE, INSTANCE_BUSY };

struct instance_view {
    enum instance_state state;
    uint32_t function, configuration, quota;
    uint32_t invoker;
    uint32_t gpu;      /* index among the invoker's GPUs; SIM_NONE if it uses none */
    uint32_t buffered; /* jobs routed to it and not yet launched */
    uint32_t running;  /* jobs of its running batch */
    sim_time_t created;
    sim_time_t ready; /* when its start ended, or will end; also after an outage of its invoker */
};

/* The instance that platform_create is to make. */
struct instance_request {
    uint32_t function, configuration;
    uint32_t quota; /* 1..100 */
    uint32_t invoker;
    uint32_t gpu; /* index among the invoker's GPUs; SIM_NONE: any */
};

/* True if platform_create would succeed now. */
bool platform_instance_fits(const struct platform *platform,
                            const struct instance_request *request);

/* Creates an instance and returns its id. It uses an idle container of the function if the invoker
 * has one, and is then ready at once; otherwise a cold start precedes. SIM_NONE if it does not fit;
 * this corresponds to false of the other actions. Ids of killed instances are reused. */
uint32_t platform_create(struct platform *platform, const struct instance_request *request);

/* Releases what the instance holds. Its container becomes idle and is kept for as long as
 * keep_alive says. The start of an instance that is not ready yet is abandoned. Breaks a rule if
 * the instance is busy or has buffered jobs. */
bool platform_kill(struct platform *platform, uint32_t instance);

/* Changes configuration and quota of a living instance (vertical scaling). A running batch keeps
 * its remaining work and continues at the new rate. False if the invoker does not have the
 * resources. Breaks a rule if the running batch has more jobs than the new configuration allows, if
 * the GPU is not shared by MPS, or if the new configuration is for another kind of GPU. */
bool platform_set_share(struct platform *platform, uint32_t instance, uint32_t configuration,
                        uint32_t quota);

/* Moves the oldest job of `queue` to the end of the instance's buffer. The queue and the instance
 * must have the same function. */
bool platform_route(struct platform *platform, uint32_t queue, uint32_t instance);
/* Returns all buffered jobs to their queues, at the positions that their age implies. O(buffered ×
 * queue). */
bool platform_return(struct platform *platform, uint32_t instance);

/* The instance, which must be idle, runs the `jobs` oldest jobs of its buffer as one batch (1..its
 * batch). */
bool platform_launch(struct platform *platform, uint32_t instance, uint32_t jobs);

struct instance_view platform_instance(const struct platform *platform, uint32_t instance);
/* The job at `position` of the buffer, in the order of routing; position < buffered. Jobs of a
 * dropped request are removed from the buffer by the platform (on_withdrawn). */
struct job_view platform_buffered_job(const struct platform *platform, uint32_t instance,
                                      uint32_t position);

#endif
