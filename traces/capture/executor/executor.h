/* Running a graph on a part of the device.
 *
 * An executor owns a network's weights, activations and convolution plans at one batch and
 * precision. Any executor runs on any lane (lane.h) of the same device, so that changing a
 * network's share is changing its lane.
 *
 * Layout is NCHW in both precisions. FP32 convolutions may use TF32 and FP32 matrix products do
 * not, as PyTorch's defaults are; FP16 accumulates in FP32. Bias, batch norm and activation behind
 * a convolution, linear layer, norm or sum run as one kernel.
 */
#ifndef ESGSIM_TRACES_CAPTURE_EXECUTOR_EXECUTOR_H
#define ESGSIM_TRACES_CAPTURE_EXECUTOR_EXECUTOR_H

#include "traces/networks/graph.h"
#include "traces/capture/executor/lane.h"

struct executor;

/* Executors of one network and precision that have something in common; each may be NULL. They
 * outlive the new one. */
struct executor_kin {
    const struct executor *room; /* its weights are the new one's, and its memory, where that is
                                  * enough: of the two only one may run at a time */
    const struct executor *like; /* of the same batch: weights, inputs and algorithms are copied,
                                  * and no convolution is tried */
};

/* Weights drawn from `seed`; inputs likewise. `graph` has the wanted batch and outlives the
 * executor. `lane` is used to choose algorithms: each convolution runs there once, and the next
 * proposal of cuDNN is taken where it fails. `kin` NULL: on its own; otherwise inputs have
 * memory of their own, so that what others leave in the room is not taken for one. */
struct executor *executor_create(struct device *device, const struct graph *graph, bool half,
                                 uint64_t seed, const struct partition_stream *lane,
                                 const struct executor_kin *kin, struct error *error);
void executor_free(struct executor *executor);

/* Enqueues one inference on the lane's stream and returns; work faults later show at the stream. */
bool executor_run(const struct executor *executor, const struct partition_stream *lane,
                  struct error *error);

/* ---- CUDA graphs ----------------------------------------------------------------------------- */

/* One inference of an executor on a lane, recorded: it is launched by one call. Its kernels keep
 * the multiprocessors of that lane, whatever stream it is launched in. */
struct executor_graph;

/* Records what executor_run enqueues, without running it. The executor has run on the lane before,
 * so that all code is loaded. The graph is freed before executor and lane. The first record on a
 * lane takes memory for cuBLAS (32 MiB). NULL with ERROR_RUN where a library cannot be recorded;
 * executor and lane can still be used. */
struct executor_graph *executor_record(const struct executor *executor,
                                       struct partition_stream *lane, struct error *error);
/* Enqueues the recorded inference on the lane's stream and returns. */
bool executor_graph_launch(const struct executor_graph *graph, const struct partition_stream *lane,
                           struct error *error);
void executor_graph_free(struct executor_graph *graph); /* NULL is allowed */

/* A node's output after a run has ended, as floats; only of nodes whose memory nothing has taken
 * since: graph outputs. */
bool executor_read(const struct executor *executor, size_t node, float *values,
                   struct error *error);

/* Overwrites the outputs, so that those of a run to come are not taken for an earlier one's. No run
 * is under way. */
bool executor_clear(const struct executor *executor, struct error *error);

struct executor_sizes {
    size_t weights, activations, workspace; /* bytes; of a room's: what is used of it */
    size_t allocated;                       /* by this executor: all but what is a room's */
    double weights_ms;                      /* to allocate and upload the weights */
    size_t launches;                        /* kernels and library calls of one run */
};

struct executor_sizes executor_sizes(const struct executor *executor);

#endif
