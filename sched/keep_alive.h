/* The contract between the platform and a keep-alive policy.
 *
 * A keep-alive policy says for how long an idle container stays, whether it goes at once and comes
 * back ahead of the next use, and, when memory is short, which idle container goes first. It is one
 * `struct keep_alive` of functions and a block of state, and works under any scheduler.
 *
 * Which keep-alive is in force:
 *   1. the one the experiment names (platform.keep_alive);
 *   2. else the scheduler's own (`keep_alive` of sched/policy.h), where it has one;
 *   3. else a fixed time, platform.keep_alive_s (600 s).
 * Under 2 and 3 memory is made by evicting the least recently used. Where the experiment names
 * "fixed", its ttl_s is keep_alive_s unless given; beside any other name keep_alive_s has no
 * effect.
 *
 * What the platform tells it, in order of time: `on_use` when a container is taken for work (a
 * batch, or a long-lived instance from its creation to its end), `on_idle` when it is idle again or
 * for the first time, `on_evict` when an idle one goes. One use is one batch, whatever the number
 * of its jobs.
 *
 * A policy is one file under sched/keep_alive/ and one line in the table of registry.c there.
 */
#ifndef ESGSIM_SCHED_KEEP_ALIVE_H
#define ESGSIM_SCHED_KEEP_ALIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/policy.h"
#include "sim/error.h"
#include "sim/units.h"
#include "workloads/experiment.h"
#include "workloads/workload.h"

/* From the instant at which a container falls idle. */
struct keep_windows {
    /* > 0: it goes at once and a new one is started on its invoker after this time, unless the
     * function is used anywhere before that, or memory is short there. Honoured after a use only:
     * a container that was started ahead of need stays. 0: it stays. */
    sim_time_t prewarm_after;
    /* It, or the one started anew, goes after this time, idle that long. <= 0: at once;
     * SIM_FOREVER: only memory pressure ends it. */
    sim_time_t keep_for;
    /* The container carries this number until it falls idle again; see `priority`. */
    double stamp;
};

/* An idle container, or one that is about to be. */
struct kept_container {
    uint32_t function, invoker;
    sim_time_t idle_since;
    double stamp; /* of its last on_idle; 0 before the first */
};

struct keep_alive {
    const char *name;    /* the paper's name in lower case with dashes */
    const char *summary; /* one line */
    const struct parameter *parameters;
    size_t parameter_count; /* at most KEEPER_VALUES */
    size_t state_bytes;     /* zeroed before init */

    /* `values[i]` belongs to parameters[i]. May allocate; false ends the run with `error`. */
    bool (*init)(void *state, const struct workload *workload, const double *values,
                 struct error *error);
    /* A container of `function` on `invoker` is taken for work at `now`. May be NULL. */
    void (*on_use)(void *state, uint32_t function, uint32_t invoker, sim_time_t now);
    /* `container` is idle at `now`, after a use (`used`) or for the first time. Never NULL. */
    struct keep_windows (*on_idle)(void *state, const struct kept_container *container, bool used,
                                   sim_time_t now);
    /* Its time is up: how much longer it stays after all, <= 0: it goes. NULL: it goes. */
    sim_time_t (*on_expiry)(void *state, const struct kept_container *container, sim_time_t now);
    /* The lowest goes first among the idle containers that stand in the way; of equal ones the
     * least recently used. NULL: the least recently used, found without a search. */
    double (*priority)(void *state, const struct kept_container *container);
    /* An idle container goes; `pressed`: to make room. `left`: containers of its function that
     * remain on its invoker, in whatever state. May be NULL. */
    void (*on_evict)(void *state, const struct kept_container *container, bool pressed,
                     uint32_t left);
    /* Frees what init allocated; called after an init that failed, too. May be NULL. */
    void (*finish)(void *state);
};

/* The i-th registered keep-alive policy, NULL past the last. */
const struct keep_alive *keep_alive_at(size_t index);
/* By name; NULL where there is none. */
const struct keep_alive *keep_alive_find(const char *name);

#endif
