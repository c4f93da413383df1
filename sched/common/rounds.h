/* Servers that run their sessions' batches in rounds: what Nexus and gpulet plan for.
 *
 * A server is a share of one GPU that runs one batch at a time. Its slots name the queues that it
 * serves, each with the batch it takes in a round; it goes round them without pause, skipping empty
 * ones, and sleeps when all are empty. A queue may have slots on several servers: the first that is
 * free takes the oldest jobs. Queues without any slot (no plan yet, or no room in it) are orphans:
 * served by spare servers, and by each server once at the end of a round, so that no job waits for
 * ever.
 *
 * A new plan replaces all servers; batches that run are left to end, and a new server waits for the
 * resources that they hold. Work per event: O(slots of one server), and O(servers of the invoker)
 * when a batch ends; only a new plan, and an orphan in a cluster of several invoker groups, looks
 * at all servers.
 */
#ifndef ESGSIM_SCHED_COMMON_ROUNDS_H
#define ESGSIM_SCHED_COMMON_ROUNDS_H

#include "sched/common/ladder.h"
#include "sched/policy.h"

struct rounds_slot {
    uint32_t queue;
    uint32_t batch;              /* most jobs in one round */
    const struct ladder *ladder; /* the caller's; outlives the plan */
    bool overflow; /* served beside servers of its own: takes only what it finishes in time, drops
                    * nothing */
};

struct rounds;

/* A policy's side. `orphan` says how a server of `size` (the caller's number) on `invoker` would
 * serve `queue`; false where it cannot. */
struct rounds_rule {
    bool (*orphan)(const void *context, uint32_t queue, uint32_t invoker, uint32_t size,
                   struct rounds_slot *slot);
    const void *context;
    /* Early drop: when a batch is about to start, give up those of its jobs whose request's
     * deadline it cannot meet, rest[queue] being what follows the stage; NULL: never. */
    const sim_time_t *rest;
    uint32_t retry_timer; /* id of the timer that rings for rounds_wake */
    /* How long a server waits that has jobs and no room, should nothing on its invoker end before;
     * positive. */
    sim_time_t retry;
};

/* NULL when out of memory. Without a plan there are no servers. */
struct rounds *rounds_create(const struct workload *workload, struct rounds_rule rule,
                             struct error *error);
void rounds_destroy(struct rounds *rounds);

/* Replace the plan: begin, then every server in ascending order of invoker, each followed by its
 * slots, then end. False with ERROR_RUN when out of memory; the rounds are then without servers. */
void rounds_begin(struct rounds *rounds);
bool rounds_add_server(struct rounds *rounds, uint32_t invoker, uint32_t size, struct error *error);
bool rounds_add_slot(struct rounds *rounds, struct rounds_slot slot, struct error *error);
bool rounds_end(struct rounds *rounds, const struct platform *platform, struct error *error);

/* Mean time for which a batch of the queue held its resources before it executed, of those on warm
 * containers so far; 0 before the first. With early drop it counts as part of a batch's time. */
sim_time_t rounds_overhead(const struct rounds *rounds, uint32_t queue);

/* The policy functions of the same names call these. rounds_wake: every server looks again. */
void rounds_on_ready(struct rounds *rounds, uint32_t queue);
void rounds_on_finish(struct rounds *rounds, const struct finished_batch *batch);
void rounds_wake(struct rounds *rounds);
bool rounds_decide(struct rounds *rounds, struct platform *platform);

#endif
