/* Declarations shared by the files of the executor. Internal to it. */
#ifndef ESGSIM_TRACES_CAPTURE_EXECUTOR_EXECUTOR_PARTS_H
#define ESGSIM_TRACES_CAPTURE_EXECUTOR_EXECUTOR_PARTS_H

#include "traces/capture/executor/executor.h"
#include "traces/capture/executor/kernels.h"

#define KERNEL_MEMBER(name) CUfunction name;

/* Addresses of a node's parameters in the block of weights. 0: the node has none of that kind. */
struct node_weights {
    CUdeviceptr matrix, scale, shift;
};

/* A node and the nodes fused with it: see executor_steps.c. */
struct step {
    size_t node;
    size_t norm;  /* batch norm folded into the node; 0: none (node 0 is an input) */
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
    CUdeviceptr pointers; /* arrays of addresses, one per head */
    CUdeviceptr scores, own_scores;
    size_t score_rows; /* rows of scores per head: queries, plus unread padding rows */
    /* Instance norm: */
    CUdeviceptr sums; /* partial sums of planes */
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
    CUdeviceptr input_block; /* 0: the inputs are in the arena */
    CUdeviceptr *places;     /* address of each node's output */
    struct executor_sizes sizes;
    size_t workspace_bytes;
    struct {
        KERNEL_NAMES(KERNEL_MEMBER)
    } kernels;
};

/* Alignment of tensors and weights within their blocks, in bytes. */
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

/* True for a convolution or transposed convolution. A batch norm that follows is folded into it. */
bool executor_convolves(enum graph_kind kind);
/* Fills e->steps: the nodes in order, with fused nodes combined into one step. */
bool executor_make_steps(struct executor *e, struct error *error);

/* ---- executor_memory.c ----------------------------------------------------------------------- */

/* Allocates device memory and counts it as this executor's. */
bool executor_allocate(struct executor *e, CUdeviceptr *block, size_t bytes, const char *what,
                       struct error *error);
bool executor_copy(const struct executor *e, CUdeviceptr to, CUdeviceptr from, size_t bytes,
                   struct error *error);
bool executor_plan_arena(struct executor *e, struct error *error);
/* Allocates the activations, and the memory that attention and instance norm need. */
bool executor_make_memory(struct executor *e, struct error *error);
/* Makes the convolutions' workspace at least `bytes` large. */
bool executor_take_workspace(struct executor *e, size_t bytes, struct error *error);
bool executor_fill_inputs(const struct executor *e, uint64_t seed, struct error *error);

/* ---- executor_weights.c ---------------------------------------------------------------------- */

/* Converts numbers to the executor's precision. */
void executor_store_reals(const struct executor *e, const float *from, size_t count, void *to);
bool executor_make_weights(struct executor *e, uint64_t seed, struct error *error);

/* ---- executor_convolution.c ------------------------------------------------------------------ */

/* Creates descriptors, algorithms and workspace of all convolutions. Trying an algorithm overwrites
 * the executor's memory, so the inputs must be filled afterwards. */
bool executor_plan_convolutions(struct executor *e, const struct partition_stream *lane,
                                struct error *error);
void executor_free_convolution(const struct executor *e, struct step *step);
/* Enqueues a step's convolution alone, without the fused nodes that follow it. */
bool executor_convolve(const struct executor *e, const struct partition_stream *lane,
                       const struct step *step, CUdeviceptr x, CUdeviceptr y, struct error *error);

#endif
