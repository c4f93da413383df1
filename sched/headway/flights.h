/* The batches under way: what a policy must remember of a dispatch until the batch finishes.
 *
 * platform callbacks report a finished batch by queue, invoker and configuration. Of several equal
 * ones the oldest is taken, which keeps every count exact. Add and take are O(batches on the
 * invoker).
 */
#ifndef ESGSIM_SCHED_HEADWAY_FLIGHTS_H
#define ESGSIM_SCHED_HEADWAY_FLIGHTS_H

#include <stdbool.h>

#include "sched/policy.h"
#include "sim/base/arena.h"

struct flight {
    uint32_t queue, configuration, invoker;
    uint32_t jobs;
    sim_time_t dispatched;
    bool warm; /* an idle container waited for it */
    uint32_t next;
};

struct flights;

struct flights *flights_create(struct arena *arena, const struct workload *workload);

/* Records a dispatch. */
void flights_add(struct flights *flights, uint32_t function, const struct flight *flight);

/* Removes and returns the record of a finished batch, valid until the next flights_add. NULL if it
 * was not recorded. */
const struct flight *flights_take(struct flights *flights, uint32_t function,
                                  const struct finished_batch *batch);

/* Batches of `function` under way. */
uint32_t flights_total(const struct flights *flights, uint32_t function);

#endif
