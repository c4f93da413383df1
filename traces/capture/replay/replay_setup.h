/* The device resources that a replay needs before time 0, derived from the experiment without a
 * device: the network of each function, the number of its copies, their batch sizes, the sets of
 * units, and the memory of all that.
 *
 * A function's network is the file of the folder whose name or title equals the function's `model`,
 * or else the function's name. Case and punctuation are ignored. An unambiguous prefix suffices
 * ("MiDaS").
 *
 * A copy of a function's network corresponds to a container: weights, and memory for the
 * activations of the largest batch. Smaller batches use a part of that memory. The number of copies
 * that can execute at one time has two upper bounds: the number of containers, and the number of
 * places on the GPU for the function's smallest share.
 *
 * A batch with fewer jobs than its configuration executes as a full one. The simulator's time and
 * price also depend on the configuration alone.
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

/* A network at one batch size. */
struct replay_batch {
    int batch;
    struct graph *graph; /* owned */
    size_t arena_bytes, input_bytes;
};

struct replay_function {
    char *name;                   /* name in the experiment */
    struct replay_batch *batches; /* ascending */
    size_t batch_count;
    uint32_t copies;
    size_t weight_bytes;
    double work_s; /* work of one job alone, units x seconds, minimum over the configurations */
};

struct replay_setup {
    bool half;
    int units;
    double memory_mb;                  /* memory of the experiment's GPU */
    struct replay_function *functions; /* indexed as the workload's functions */
    size_t function_count;
    uint32_t sets[SLICES_SETS]; /* sets of units, in the order of slices_sets */
    size_t set_count;
    double capacity; /* requests per second; see replay_setup_print */
};

/* Derives the setup. Returns false with ERROR_INPUT and the remedy if the experiment is not one GPU
 * of 1..8 units on one invoker, has no containers from the start, has a function without a network,
 * or has a function that may run on vCPUs alone. Free with replay_setup_clear. */
bool replay_setup_make(const struct experiment *experiment, const char *folder, bool half,
                       struct replay_setup *setup, struct error *error);
void replay_setup_clear(struct replay_setup *setup);

/* Estimated bytes of all copies, of the partition streams' handles, and of a context. */
size_t replay_setup_bytes(const struct replay_setup *setup);

/* Returns false with ERROR_INPUT if `bytes` of device memory are too few. The message names what
 * needs the memory and what to make smaller. */
bool replay_setup_fits(const struct replay_setup *setup, double bytes, struct error *error);

/* Prints what a replay creates, its memory, and its capacity. The capacity is the request rate at
 * which the GPU is full if every job executes alone in its cheapest configuration (fewest units x
 * seconds). Batches can raise the real capacity. Waiting and interference lower it. */
void replay_setup_print(const struct replay_setup *setup, FILE *out);

/* True if both have the same copies of the same networks at the same batch sizes on the same sets.
 * A device opened for one setup then serves the other. */
bool replay_setup_equal(const struct replay_setup *a, const struct replay_setup *b);

/* Index of a batch size of the function. The setup has the batch sizes of all configurations. */
size_t replay_setup_batch(const struct replay_function *function, int batch);

#endif
