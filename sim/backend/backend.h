/* Interface to hardware that executes batches.
 *
 * A simulation computes when a batch ends. A replay runs the same controller, queues and policy,
 * but passes each batch to a backend (a GPU, see traces/capture) when it starts. The backend
 * reports when it ends. Both record the same rows, so their results can be compared row by row.
 *
 * There is one clock: nanoseconds since `open` returned. The loop handles everything in order of
 * due times. An arrival or event is due at the time for which it was set. An end is due at the time
 * that the backend reports, and precedes everything else due at that time. A real-time backend
 * always handles things slightly late. This lateness delays starts, so it is part of latencies, and
 * the backend measures and reports it.
 *
 * The time of a decision determines when its batch is due, as in a simulation, and it also elapses
 * on the clock. It depends on platform.decision_cost:
 * - "zero": the batch is due immediately, and late by the duration of the decision.
 * - "fixed" and "modelled": the batch is due that much later. A shorter decision has no effect; a
 *   longer one makes the batch late by the difference.
 * - "measured": the batch is due later by the measured duration. That is part of its queueing time,
 *   not of its lateness.
 * A replay with "measured" compared with a simulation with "modelled" also tests the model of
 * decisions. The same setting on both sides excludes it from the comparison.
 *
 * The run stops with a message on what a backend does not support: cold starts (all containers
 * exist from the beginning and are kept), changes of share during execution, and quotas below
 * 100 %.
 */
#ifndef ESGSIM_SIM_BACKEND_BACKEND_H
#define ESGSIM_SIM_BACKEND_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/error.h"
#include "sim/units.h"

struct experiment;

struct backend_batch {
    uint32_t id;                      /* unique among executing batches; reused after the end */
    uint64_t number;                  /* unique in the run */
    uint32_t function, configuration; /* indices in the experiment's workload */
    uint32_t jobs;                    /* 1 .. batch size of the configuration */
    uint32_t invoker, gpu;            /* gpu: index in the cluster; SIM_NONE: vCPUs only */
    uint32_t container;  /* container in which it executes, at most one batch at a time. Only those
                            of platform.initial exist, numbered from 0, function by function */
    sim_time_t modelled; /* time according to the model, noise included, without co-runners */
};

struct backend {
    void *context;
    /* Loads what the experiment needs. ERROR_INPUT with the reason if it cannot be executed here.
     */
    bool (*open)(void *context, const struct experiment *experiment, struct error *error);
    /* Starts the batch, which was due at `due`. */
    bool (*start)(void *context, const struct backend_batch *batch, sim_time_t due,
                  struct error *error);
    /* Waits until the next end, or until `until`. SIM_FOREVER waits for an end only; some batch is
     * then executing. Sets *ended to the id of the batch that ended and *time to the time of its
     * end, which is <= `until` and not before the previous result. If nothing ended, *ended is
     * SIM_NONE and the time is `until`. */
    bool (*wait)(void *context, sim_time_t until, uint32_t *ended, sim_time_t *time,
                 struct error *error);
};

#endif
