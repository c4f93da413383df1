/* Interface to hardware that executes batches.
 *
 * A simulation computes when a batch ends. A replay runs the same controller, queues and policy,
 * but passes each batch to a backend (a GPU, see worker.h) when it starts. The backend
 * reports when it ends. Both record the same rows, so their results can be compared row by row.
 *
 * There is one clock: nanoseconds since `open` returned. The loop handles everything in order of
 * due times. An arrival or event is due at its scheduled time. An end is due at the time that the
 * backend reports, and precedes everything else due at that time. A real-time backend always
 * handles events slightly late. This lateness delays starts, so it is part of latencies. The
 * backend measures and reports it.
 *
 * As in a simulation, the time of a decision determines when its batch is due. It also elapses on
 * the clock. It depends on platform.decision_cost:
 *
 * - "zero": the batch is due immediately, and late by the duration of the decision.
 * - "fixed" and "modelled": the batch is due that much later. A shorter decision has no effect. A
 *   longer one makes the batch late by the difference.
 * - "measured": the batch is due later by the measured duration. That is part of its queueing time,
 *   not of its lateness.
 *
 * Comparing a replay with "measured" and a simulation with "modelled" also tests the model of
 * decisions. The same setting on both sides excludes this model from the comparison.
 *
 * A backend supports neither cold starts nor changes of share during execution nor quotas below
 * 100 %. All containers exist from the beginning and are kept. The run stops with a message if it
 * needs one of these.
 */
#ifndef ESGSIM_SIM_BACKEND_BACKEND_H
#define ESGSIM_SIM_BACKEND_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/units.h"

struct experiment;

struct backend_batch {
    uint32_t id;                      /* unique among executing batches; reused after the end */
    uint64_t number;                  /* unique in the run */
    uint32_t function, configuration; /* indices in the experiment's workload */
    uint32_t jobs;                    /* 1 .. batch size of the configuration */
    uint32_t invoker, gpu;            /* gpu: index in the cluster; SIM_NONE: vCPUs only */
    /* Container in which it executes, at most one batch at a time. Only those of
     * platform.initial exist. They are numbered from 0, function by function. */
    uint32_t container;
    sim_time_t modelled; /* time according to the model, noise included, without co-runners */
};

struct backend {
    void *context;
    /* Loads what the experiment needs. Returns ERROR_INPUT with the reason if the backend cannot
     * execute it. */
    bool (*open)(void *context, const struct experiment *experiment, struct error *error);
    /* Starts the batch, which was due at `due`. */
    bool (*start)(void *context, const struct backend_batch *batch, sim_time_t due,
                  struct error *error);
    /* Waits for the next end, but at most until `until`. With SIM_FOREVER it waits for an end only,
     * and at least one batch is executing. Sets *ended to the id of the batch, and *time to the
     * time of its end. That time is at most `until` and not before the previous result. If nothing
     * ended, sets *ended to SIM_NONE and *time to `until`. */
    bool (*wait)(void *context, sim_time_t until, uint32_t *ended, sim_time_t *time,
                 struct error *error);
};

#endif
