/* Where batches execute for real.
 *
 * A simulation computes when a batch ends. A replay asks: the same controller, queues and policy
 * module run, but each batch is handed to a backend (a GPU, see traces/capture) when it starts, and
 * ends when the backend says so. Both keep the same books, so their results compare row by row.
 *
 * One clock: nanoseconds since `open` returned. The loop handles what is due in order of due times:
 * an arrival or event at the time it was set for, an end at the time the backend gives, before
 * whatever else is due at that instant. A backend in real time is always a little late in handling;
 * that lateness delays starts and so shows in the latencies, and is the backend's to measure and
 * tell.
 *
 * A decision's time decides when its batch is due, as in a simulation, and passes on the clock
 * besides. platform.decision_cost "zero": the batch is due at once, and late by what the decision
 * took. "fixed" and "modelled": due that much later; a decision that takes less is not seen, one
 * that takes more makes the batch late by the rest. "measured": due later by what the decision took
 * on the clock, so it stands in the batch's queueing time and not in its lateness. A replay with
 * "measured" against a simulation with "modelled" tests the model of decisions too; the same in
 * both leaves it out of the comparison.
 *
 * What a backend does not do, and where the run stops with a message: cold starts (all containers
 * are there from the beginning and are kept), shares changed while a batch executes, quotas below
 * 100 %.
 */
#ifndef ESGSIM_SIM_BACKEND_H
#define ESGSIM_SIM_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/error.h"
#include "sim/simulation.h"
#include "sim/units.h"

struct backend_batch {
    uint32_t id;                      /* among those that execute; used again after its end */
    uint64_t number;                  /* in the run */
    uint32_t function, configuration; /* of the experiment's workload */
    uint32_t jobs;                    /* 1..the configuration's batch */
    uint32_t invoker, gpu;            /* gpu: its index over the cluster; SIM_NONE: vCPUs alone */
    uint32_t container;  /* that it runs in, no two at a time in one. Those of platform.initial are
                            numbered from 0, function by function, and there are no others */
    sim_time_t modelled; /* what the model gives it, noise included, on its own */
};

struct backend {
    void *context;
    /* Loads what the experiment needs, or says why it cannot be executed here (ERROR_INPUT). */
    bool (*open)(void *context, const struct experiment *experiment, struct error *error);
    /* The batch starts; it was due at `due`. */
    bool (*start)(void *context, const struct backend_batch *batch, sim_time_t due,
                  struct error *error);
    /* Waits until the next end or until `until` (SIM_FOREVER: only for an end, and some batch
     * executes). *ended: the id, and *time when it ended, <= `until` and not before what was
     * returned last; SIM_NONE: it is `until`, and nothing ended before. */
    bool (*wait)(void *context, sim_time_t until, uint32_t *ended, sim_time_t *time,
                 struct error *error);
};

/* As simulation_run, but batches execute on `backend`; progress is reported at every step. What was
 * started and has not ended when the run fails or is stopped is the backend's owner's to wait for.
 * ERROR_RUN: what a backend does not do, with the time and what to set instead; an end that is
 * none. A batch's slowdown is its execution over `modelled`; neither the model's interference nor
 * its bound on latency apply. With backend NULL it is simulation_run. */
bool simulation_replay(const struct experiment *experiment, const struct policy *policy,
                       const double *values, const struct backend *backend,
                       const struct recorder *recorder, const struct progress *progress,
                       struct simulation_result *result, struct error *error);

#endif
