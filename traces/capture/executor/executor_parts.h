/* What the files of the executor share with each other and with nobody else. */
#ifndef ESGSIM_TRACES_CAPTURE_EXECUTOR_EXECUTOR_PARTS_H
#define ESGSIM_TRACES_CAPTURE_EXECUTOR_EXECUTOR_PARTS_H

#include "traces/capture/executor/executor.h"
#include "traces/capture/executor/kernels.h"

#define KERNEL_MEMBER(name) CUfunction name;

/* Where a node's numbers lie in the block of weights; NULL where it has none of the kind. */
struct node_weights {
    CUdeviceptr matrix, scale, shift;
};

/* A node and what runs in the same breath: see executor_steps.c. */
struct step {
    size_t node;
    size_t norm;  /* batch norm folded in; 0: none (node 0 is an input) */
    int function; /* enum kernel_function */
    float low, high;
    /* Convolutions: */
    cudnnTensorDescriptor_t in, out;
    cudnnFilterDescriptor_t filter;
    cudnnConvolutionDescriptor_t convolution;
    int algorithm;
    cudnnMathType_t arithmetic;
    size_t workspace_bytes;
    /* Attention: */
    CUdeviceptr pointers; /* arrays of heads' addresses */
    CUdeviceptr scores, own_scores;
    size_t score_rows; /* of a head: queries, and rows that nobody reads */
    /* Instance norm: */
    CUdeviceptr sums; /* of parts of planes */
};

struct executor {
    struct device *device;
    const struct graph *graph;
    bool half;
    bool own_inputs;
    size_t element;
    struct executor_kin kin;
    struct graph_arena arena;
    struct node_weights *weights;
    struct step *steps;
    size_t step_count;
    CUdeviceptr weight_block, activation_block, workspace;
    CUdeviceptr input_block; /* 0: inputs lie in the arena */
    CUdeviceptr *places;     /* of each node's output */
    struct executor_sizes sizes;
    size_t workspace_bytes;
    struct {
        KERNEL_NAMES(KERNEL_MEMBER)
    } kernels;
};

/* Of tensors and weights in their blocks. */
enum { EXECUTOR_ALIGNMENT = 256 };

static inline size_t executor_aligned(size_t bytes)
{
    return (bytes + EXECUTOR_ALIGNMENT - 1) / EXECUTOR_ALIGNMENT * EXECUTOR_ALIGNMENT;
}

static inline CUdeviceptr executor_place(const struct executor *e, size_t node)
{
    return e->places[node];
}

/* ---- executor_steps.c ------------------------------------------------------------------------ */

/* A convolution, of either direction: takes the batch norm behind it. */
bool executor_convolves(enum graph_kind kind);
/* e->steps: the nodes in order, with those that run in the same breath in one. */
bool executor_make_steps(struct executor *e, struct error *error);

/* ---- executor_memory.c ----------------------------------------------------------------------- */

/* Memory that is counted as this executor's. */
bool executor_allocate(struct executor *e, CUdeviceptr *block, size_t bytes, const char *what,
                       struct error *error);
bool executor_copy(const struct executor *e, CUdeviceptr to, CUdeviceptr from, size_t bytes,
                   struct error *error);
bool executor_plan_arena(struct executor *e, struct error *error);
/* Activations, and what attention and instance norm ask for. */
bool executor_make_memory(struct executor *e, struct error *error);
/* Makes the workspace of convolutions at least so large. */
bool executor_take_workspace(struct executor *e, size_t bytes, struct error *error);
bool executor_fill_inputs(const struct executor *e, uint64_t seed, struct error *error);

/* ---- executor_weights.c ---------------------------------------------------------------------- */

/* Numbers in the executor's precision. */
void executor_store_reals(const struct executor *e, const float *from, size_t count, void *to);
bool executor_make_weights(struct executor *e, uint64_t seed, struct error *error);

/* ---- executor_convolution.c ------------------------------------------------------------------ */

/* Descriptors, algorithms and workspace of all convolutions. Algorithms are tried in the executor's
 * memory: inputs are filled afterwards. */
bool executor_plan_convolutions(struct executor *e, const struct partition_stream *lane,
                                struct error *error);
void executor_free_convolution(const struct executor *e, struct step *step);
/* Enqueues a step's convolution alone, without what follows it. */
bool executor_convolve(const struct executor *e, const struct partition_stream *lane,
                       const struct step *step, CUdeviceptr x, CUdeviceptr y, struct error *error);

#endif
