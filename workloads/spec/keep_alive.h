/* The contract between the platform and a keep-alive policy.
 *
 * A keep-alive policy decides how long an idle container is kept. It may also evict the container
 * at once and start a new one ahead of the next use. When memory is short, it decides which idle
 * container is evicted first. It is one `struct keep_alive` of functions and a block of state, and
 * works with any scheduler.
 *
 * Which keep-alive applies:
 *   1. the one that the experiment names (platform.keep_alive);
 *   2. else the scheduler's own (`keep_alive` of sched/policy.h), if it has one;
 *   3. else a fixed time, platform.keep_alive_s (600 s).
 *
 * In cases 2 and 3 the least recently used container is evicted when memory is short. If the
 * experiment names "fixed", its ttl_s defaults to keep_alive_s. With any other name keep_alive_s
 * has no effect.
 *
 * The platform calls, in order of time:
 * - `on_use` when a container is taken for work: a batch, or a long-lived instance from its
 *   creation to its end;
 * - `on_idle` when it becomes idle, also for the first time;
 * - `on_evict` when an idle container is evicted.
 *
 * One use is one batch, whatever the number of its jobs.
 *
 * A policy is one file under sched/keep_alive/ and one line in the table of registry.c there.
 */
#ifndef ESGSIM_WORKLOADS_SPEC_KEEP_ALIVE_H
#define ESGSIM_WORKLOADS_SPEC_KEEP_ALIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/parameters.h"
#include "sim/base/arena.h"
#include "sim/base/error.h"
#include "sim/base/units.h"
#include "workloads/spec/experiment.h"
#include "workloads/world/workload.h"

/* Times from the moment at which a container becomes idle. */
struct keep_windows {
    /* > 0: the container is evicted at once, and a new one is started on its invoker after this
     * time. The start is cancelled if the function is used anywhere before, or if the invoker has
     * no memory. Applies only after a use: a container that was started ahead of need is kept. 0:
     * the container is kept. */
    sim_time_t prewarm_after;
    /* The container, or the new one, is evicted after being idle for this time. <= 0: at once.
     * SIM_FOREVER: only when memory is short. */
    sim_time_t keep_for;
    /* Stored with the container until it becomes idle again; see `priority`. */
    double stamp;
};

/* A container that is idle or about to be. */
struct idle_container {
    uint32_t function, invoker;
    sim_time_t idle_since;
    double stamp; /* from its last on_idle; 0 before the first */
};

struct keep_alive {
    const char *name;             /* the paper's name in lower case with dashes */
    const char *summary;          /* one line */
    const struct key *parameters; /* at most KEEP_ALIVE_VALUES; ends with KEY_END */
    size_t parameters_bytes;      /* of the structure whose fields they are */
    size_t state_bytes;           /* zeroed before init */

    /* `parameters` is that structure, filled; it lives as long as the run. Allocates from the run's
     * arena only; false ends the run with `error`. */
    bool (*init)(void *state, struct arena *arena, const struct workload *workload,
                 const void *parameters, struct error *error);
    /* A container of `function` on `invoker` is taken for work at `now`. May be NULL. */
    void (*on_use)(void *state, uint32_t function, uint32_t invoker, sim_time_t now);
    /* `container` became idle at `now`, after a use (`used`) or for the first time. Never NULL. */
    struct keep_windows (*on_idle)(void *state, const struct idle_container *container, bool used,
                                   sim_time_t now);
    /* Its keep-alive time has elapsed. Returns how much longer to keep it; <= 0 evicts it. NULL: it
     * is evicted. */
    sim_time_t (*on_expiry)(void *state, const struct idle_container *container, sim_time_t now);
    /* When memory is short, the idle container with the lowest priority is evicted first; ties go
     * to the least recently used. NULL: the least recently used, found without a search. */
    double (*priority)(void *state, const struct idle_container *container);
    /* An idle container is evicted; `pressed`: because memory is short. `left` is the number of
     * containers of its function that remain on its invoker, in any state. May be NULL. */
    void (*on_evict)(void *state, const struct idle_container *container, bool pressed,
                     uint32_t left);
};

/* The i-th registered keep-alive policy, NULL past the last. */
const struct keep_alive *keep_alive_at(size_t index);
/* Finds a keep-alive policy by name; NULL if there is none. */
const struct keep_alive *keep_alive_find(const char *name);

#endif
