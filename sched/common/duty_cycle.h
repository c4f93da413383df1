/* Servers that execute batches in duty cycles, as Nexus and gpulet plan them.
 *
 * A server is a share of one GPU that runs one batch at a time. Its slots name the queues that it
 * serves, each with its largest batch per round. The server visits its slots cyclically without
 * pause, skips empty queues, and sleeps if all are empty. A queue may have slots on several
 * servers; the first free server takes the oldest jobs.
 *
 * A queue without any slot (no plan yet, or no room in the plan) is an orphan. Spare servers serve
 * orphans, and every server serves one at the end of each round, so that no job waits for ever.
 *
 * A new plan replaces all servers. Running batches finish first, and a new server waits for the
 * resources that they hold. Work per event: O(slots of one server), plus O(servers of the invoker)
 * when a batch ends. Two operations visit all servers: a new plan, and an orphan in a cluster of
 * several invoker groups.
 */
#ifndef ESGSIM_SCHED_COMMON_DUTY_CYCLE_H
#define ESGSIM_SCHED_COMMON_DUTY_CYCLE_H

#include "sched/common/batch_latency.h"
#include "sched/policy.h"

struct duty_cycle_slot {
    uint32_t queue;
    uint32_t batch;                            /* most jobs per round */
    const struct batch_latency *latency_table; /* owned by the caller; must outlive the plan */
    bool overflow; /* the queue also has servers of its own: start only batches that meet their
                    * deadline, drop nothing */
};

struct duty_cycle;

/* What the policy supplies. `orphan` fills the slot with which a server of `size` (the caller's
 * number) on `invoker` would serve `queue`. It returns false if the server cannot. */
struct duty_cycle_rule {
    bool (*orphan)(const void *context, uint32_t queue, uint32_t invoker, uint32_t size,
                   struct duty_cycle_slot *slot);
    const void *context;
    /* Early drop: when a batch is about to start, drop each job whose request it cannot finish by
     * the deadline. rest[queue] is the time needed by the later stages. NULL: never drop. */
    const sim_time_t *rest;
    uint32_t retry_timer; /* id of the timer whose on_timer must call duty_cycle_wake */
    /* How long a server with jobs but without room waits before it retries, unless a batch on its
     * invoker ends earlier. Positive. */
    sim_time_t retry;
};

/* Creates an empty plan without servers. All its memory is of the arena. */
struct duty_cycle *duty_cycle_create(struct arena *arena, const struct workload *workload,
                                     struct duty_cycle_rule rule);

/* Replace the plan: call duty_cycle_begin, then duty_cycle_add_server in ascending order of
 * invoker, each followed by its slots, then duty_cycle_end. */
void duty_cycle_begin(struct duty_cycle *cycle);
void duty_cycle_add_server(struct duty_cycle *cycle, uint32_t invoker, uint32_t size);
void duty_cycle_add_slot(struct duty_cycle *cycle, struct duty_cycle_slot slot);
void duty_cycle_end(struct duty_cycle *cycle, const struct platform *platform);

/* Mean time for which a batch of the queue held its resources before it executed, over the batches
 * on warm containers so far. 0 before the first. Early drop counts it as part of a batch's time. */
sim_time_t duty_cycle_overhead(const struct duty_cycle *cycle, uint32_t queue);

/* Call these from the policy's callbacks of the same names. duty_cycle_wake makes every server that
 * waits for room retry. */
void duty_cycle_on_ready(struct duty_cycle *cycle, uint32_t queue);
void duty_cycle_on_finish(struct duty_cycle *cycle, const struct finished_batch *batch);
void duty_cycle_wake(struct duty_cycle *cycle);
bool duty_cycle_decide(struct duty_cycle *cycle, struct platform *platform);

#endif
