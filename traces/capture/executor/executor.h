/* Execution of a layer graph on a partition of the device.
 *
 * An executor owns a network's weights, activations and convolution plans for one batch size and
 * precision. It can run in any partition stream (lane.h) of its device. A network's share is
 * therefore changed by running it in another partition stream.
 *
 * Tensors are NCHW in both precisions. As in PyTorch's defaults, FP32 convolutions may use TF32 and
 * FP32 matrix products do not. FP16 products accumulate in FP32. The bias, batch norm and
 * activation that follow a convolution, linear layer, norm or sum are fused into one kernel.
 */
#ifndef ESGSIM_TRACES_CAPTURE_EXECUTOR_EXECUTOR_H
#define ESGSIM_TRACES_CAPTURE_EXECUTOR_EXECUTOR_H

#include "traces/networks/graph.h"
#include "traces/capture/executor/lane.h"

struct executor;

/* Existing executors of the same network and precision from which a new executor borrows. Either
 * may be NULL. Both must outlive the new executor. */
struct executor_kin {
    /* Shares its weights with the new executor, and its memory where that is large enough. Only
     * one of the two may run at a time. */
    const struct executor *room;
    /* Has the same batch size. Its weights, inputs and algorithms are copied, so that no
     * convolution is tried. */
    const struct executor *like;
};

/* Creates an executor whose weights and inputs are drawn from `seed`. `graph` has the wanted batch
 * size and must outlive the executor. Each convolution runs once on `lane` to choose its algorithm:
 * if cuDNN's first proposal fails, the next one is tried. With `kin` NULL the executor shares
 * nothing. With `kin`, the inputs have memory of their own, so that another executor of the same
 * memory cannot overwrite them. */
struct executor *executor_create(struct device *device, const struct graph *graph, bool half,
                                 uint64_t seed, const struct partition_stream *lane,
                                 const struct executor_kin *kin, struct error *error);
void executor_free(struct executor *executor);

/* Enqueues one inference in the stream of `lane` and returns. Errors of the kernels appear at a
 * later call on the stream. */
bool executor_run(const struct executor *executor, const struct partition_stream *lane,
                  struct error *error);

/* ---- CUDA graphs ----------------------------------------------------------------------------- */

/* One inference of an executor in a partition stream, recorded as a CUDA graph and launched by one
 * call. Its kernels use the multiprocessors of that partition, whatever stream launches
 * the graph. */
struct executor_graph;

/* Records what executor_run enqueues, without running it. The executor must have run on the lane
 * before, so that all code is loaded. The graph must be freed before the executor and the lane. The
 * first recording on a lane allocates a workspace for cuBLAS (32 MiB). Returns NULL with ERROR_RUN
 * if a library cannot be recorded. The executor and the lane remain usable. */
struct executor_graph *executor_record(const struct executor *executor,
                                       struct partition_stream *lane, struct error *error);
/* Enqueues the recorded inference in the stream of `lane` and returns. */
bool executor_graph_launch(const struct executor_graph *graph, const struct partition_stream *lane,
                           struct error *error);
void executor_graph_free(struct executor_graph *graph); /* NULL is allowed */

/* Copies a node's output to `values`, as floats, after a run has ended. Valid only for graph
 * outputs: the memory of other nodes may have been reused. */
bool executor_read(const struct executor *executor, size_t node, float *values,
                   struct error *error);

/* Overwrites the outputs, so that stale results cannot pass for those of the next run. No run may
 * be in progress. */
bool executor_clear(const struct executor *executor, struct error *error);

struct executor_sizes {
    size_t weights, activations, workspace; /* bytes used, also of `room` */
    size_t allocated;  /* bytes allocated by this executor, without the memory of `room` */
    double weights_ms; /* time to allocate and upload the weights */
    size_t launches;   /* kernels and library calls per run */
};

struct executor_sizes executor_sizes(const struct executor *executor);

#endif
