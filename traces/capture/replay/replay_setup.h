/* What a replay needs on the device before time 0, worked out from the experiment without one:
 * which network each function is, how many copies of it, at which batches, on which sets of units,
 * and the memory of all that.
 *
 * A function's network is the file of the folder whose name or title is the function's `model`, or
 * its name; case and punctuation aside, and an unambiguous beginning is enough ("MiDaS").
 *
 * A copy of a function's network is what a container is: weights, and memory for its activations at
 * the largest batch, of which smaller ones use a part. No more copies can execute at one time than
 * there are containers, and than the GPU has places of the function's least share.
 *
 * A batch of fewer jobs than its configuration's executes as a whole one: the simulator's time and
 * price are those of the configuration, whatever it is filled with.
 */
#ifndef ESGSIM_TRACES_CAPTURE_REPLAY_REPLAY_SETUP_H
#define ESGSIM_TRACES_CAPTURE_REPLAY_REPLAY_SETUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/error.h"
#include "traces/networks/graph.h"
#include "traces/capture/executor/slices.h"
#include "workloads/experiment.h"

enum { REPLAY_NETWORKS = 64 };

/* A network at one batch. */
struct replay_batch {
    int batch;
    struct graph *graph; /* owned */
    size_t arena_bytes, input_bytes;
};

struct replay_function {
    char *name;                   /* the experiment's */
    struct replay_batch *batches; /* ascending */
    size_t batch_count;
    uint32_t copies;
    size_t weight_bytes;
    double work_s; /* of a job alone in units x seconds, where that is least */
};

struct replay_setup {
    bool half;
    int units;
    double memory_mb;                  /* of the experiment's GPU */
    struct replay_function *functions; /* the workload's, by index */
    size_t function_count;
    uint32_t sets[SLICES_SETS]; /* of units, in the order of slices_sets */
    size_t set_count;
    double capacity; /* requests a second; see replay_setup_print */
};

/* ERROR_INPUT, with the remedy, where the experiment is not one GPU of 1..8 units on one invoker,
 * has no containers from the start, a function without a network, or one that may run on vCPUs
 * alone. Free with replay_setup_clear. */
bool replay_setup_make(const struct experiment *experiment, const char *folder, bool half,
                       struct replay_setup *setup, struct error *error);
void replay_setup_clear(struct replay_setup *setup);

/* Bytes of all copies, of the lanes' handles, and of a context, as far as they are known before. */
size_t replay_setup_bytes(const struct replay_setup *setup);

/* ERROR_INPUT where `bytes` of the device are too few: says of what, and what to make smaller. */
bool replay_setup_fits(const struct replay_setup *setup, double bytes, struct error *error);

/* What is made, the memory it takes, and the capacity: the requests a second at which the GPU is
 * full when every job executes alone, in the configuration that takes least of the GPU. Batches can
 * do more, waiting and interference make it less. */
void replay_setup_print(const struct replay_setup *setup, FILE *out);

/* The same copies of the same networks at the same batches on the same sets: a device made for the
 * one does for the other. */
bool replay_setup_equal(const struct replay_setup *a, const struct replay_setup *b);

/* The index of a function's batch size; the setup has all that configurations have. */
size_t replay_setup_batch(const struct replay_function *function, int batch);

#endif
