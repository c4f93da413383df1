#include "traces/capture/executor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "traces/capture/kernels.h"
#include "traces/capture/weights.h"
#include "traces/capture/window.h"

enum { ALIGNMENT = 256, KERNEL_ARGUMENTS = 12 };
static const size_t WORKSPACE_LIMIT = (size_t)1 << 30;

#define KERNEL_MEMBER(name) CUfunction name;

/* Where a node's numbers lie in the block of weights; NULL where it has none of the kind. */
struct node_weights {
    CUdeviceptr matrix, scale, shift;
};

/* A node and what runs in the same breath: see fuse(). */
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
    /* Attention: */
    CUdeviceptr pointers; /* arrays of heads' addresses */
    CUdeviceptr scores, own_scores;
    size_t score_rows; /* of a head: queries, and rows that nobody reads */
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

static double now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* ---- Lanes ----------------------------------------------------------------------------------- */

static void destroy_handles(struct lane *lane)
{
    if (lane->cublas != NULL)
        (void)lane->device->api.cublasDestroy(lane->cublas);
    if (lane->cudnn != NULL)
        (void)lane->device->api.cudnnDestroy(lane->cudnn);
    lane->cublas = NULL;
    lane->cudnn = NULL;
}

static bool make_handles(struct lane *lane, CUcontext context, struct error *error)
{
    struct device *device = lane->device;
    const bool good =
        device_check(device, device->api.cuCtxSetCurrent(context), "a lane's context", error) &&
        device_check_cudnn(device, device->api.cudnnCreate(&lane->cudnn), "cuDNN", error) &&
        device_check_cudnn(device, device->api.cudnnSetStream(lane->cudnn, lane->partition.stream),
                           "cuDNN's stream", error) &&
        device_check_cublas(device->api.cublasCreate(&lane->cublas), "cuBLAS", error) &&
        device_check_cublas(device->api.cublasSetStream(lane->cublas, lane->partition.stream),
                            "cuBLAS's stream", error);
    if (!good)
        destroy_handles(lane);
    return good;
}

/* Handles belong to the lane's context. Where a library does not take a green one, those of the
 * whole device serve: the stream decides where kernels run. */
bool lane_create(struct device *device, const struct partition *partition, struct lane *lane,
                 struct error *error)
{
    struct error refused = {0};
    *lane = (struct lane){.device = device, .partition = *partition};
    const bool good = partition->green ? make_handles(lane, partition->context, &refused) ||
                                             make_handles(lane, device->context, error)
                                       : make_handles(lane, partition->context, error);
    (void)device->api.cuCtxSetCurrent(device->context);
    if (!good)
        lane_destroy(lane);
    return good;
}

void lane_destroy(struct lane *lane)
{
    if (lane->device == NULL)
        return;
    (void)lane->device->api.cuCtxSetCurrent(lane->partition.context);
    destroy_handles(lane);
    (void)lane->device->api.cuCtxSetCurrent(lane->device->context);
    partition_destroy(lane->device, &lane->partition);
    *lane = (struct lane){.device = NULL};
}

/* ---- Fusing ---------------------------------------------------------------------------------- */

/* The unary function of a node, with its numbers; false where the node is none. */
static bool unary_function(const struct graph_node *node, struct step *step)
{
    switch (node->kind) {
    case GRAPH_RELU:
        step->function = KERNEL_RELU;
        return true;
    case GRAPH_RELU6:
        step->function = KERNEL_CLAMP;
        step->low = 0;
        step->high = 6;
        return true;
    case GRAPH_CLAMP:
        step->function = KERNEL_CLAMP;
        step->low = (float)node->attributes.low;
        step->high = (float)node->attributes.high;
        return true;
    case GRAPH_LEAKY_RELU:
        step->function = KERNEL_SLOPE;
        step->low = (float)node->attributes.slope;
        return true;
    case GRAPH_SIGMOID:
        step->function = KERNEL_SIGMOID;
        return true;
    case GRAPH_TANH:
        step->function = KERNEL_TANH;
        return true;
    case GRAPH_GELU:
        step->function = KERNEL_GELU;
        return true;
    default:
        return false;
    }
}

static bool takes_norm(enum graph_kind kind)
{
    return kind == GRAPH_CONV || kind == GRAPH_CONV_TRANSPOSE;
}

static bool takes_function(const struct graph_node *node)
{
    return takes_norm(node->kind) || node->kind == GRAPH_LINEAR || node->kind == GRAPH_BATCH_NORM ||
           node->kind == GRAPH_INSTANCE_NORM ||
           ((node->kind == GRAPH_ADD || node->kind == GRAPH_MULTIPLY) && node->input_count == 2);
}

/* The node after `index` writes over its output and can run with it. */
static bool follows(const struct graph *graph, size_t index)
{
    return index + 1 < graph->node_count && graph->nodes[index + 1].input_count == 1 &&
           graph->nodes[index + 1].inputs[0] == index && graph_runs_in_place(graph, index + 1);
}

/* Takes the nodes behind `step->node` into it; returns the last one taken. */
static size_t fuse(const struct graph *graph, struct step *step)
{
    size_t last = step->node;
    const enum graph_kind kind = graph->nodes[last].kind;
    if (takes_norm(kind) && follows(graph, last) && graph->nodes[last + 1].kind == GRAPH_BATCH_NORM)
        step->norm = ++last;
    if (takes_function(&graph->nodes[step->node]) && follows(graph, last) &&
        unary_function(&graph->nodes[last + 1], step))
        last++;
    return last;
}

static bool make_steps(struct executor *e, struct error *error)
{
    const struct graph *graph = e->graph;
    e->steps = calloc(graph->node_count, sizeof *e->steps);
    if (e->steps == NULL)
        return error_run(error, "%s: out of memory", graph->path);
    for (size_t i = 0; i < graph->node_count; i++) {
        if (graph->nodes[i].kind == GRAPH_INPUT)
            continue;
        struct step *step = &e->steps[e->step_count++];
        step->node = i;
        if (!unary_function(&graph->nodes[i], step))
            i = fuse(graph, step);
    }
    return true;
}

/* ---- Weights --------------------------------------------------------------------------------- */

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Bytes of a node in the block: its matrix in the precision, scale and shift in FP32. A convolution
 * with a norm behind it keeps that one's scale and shift, and its bias folded into the shift. */
static size_t place_weights(struct executor *e, const struct step *step, size_t offset)
{
    const struct weights_count count = weights_count(e->graph, step->node);
    struct node_weights *w = &e->weights[step->node];
    size_t scale = count.scale;
    size_t shift = count.shift;
    if (step->norm != 0)
        scale = shift = weights_count(e->graph, step->norm).scale;
    if (count.matrix > 0)
        w->matrix = offset + 1;
    offset += aligned(count.matrix * e->element);
    if (scale > 0)
        w->scale = offset + 1;
    offset += aligned(scale * sizeof(float));
    if (shift > 0)
        w->shift = offset + 1;
    return offset + aligned(shift * sizeof(float));
}

static void store_reals(const struct executor *e, const float *from, size_t count, void *to)
{
    uint16_t *halves = to;
    if (!e->half) {
        memcpy(to, from, count * sizeof *from);
        return;
    }
    for (size_t i = 0; i < count; i++)
        halves[i] = weights_half(from[i]);
}

/* Writes a step's numbers into the host's copy of the block. */
static void fill_weights(const struct executor *e, const struct step *step, uint64_t seed,
                         float *room, char *host)
{
    const struct weights_count own = weights_count(e->graph, step->node);
    const struct node_weights *w = &e->weights[step->node];
    float *scale = room + own.matrix;
    float *shift = scale + own.scale;
    weights_fill(e->graph, step->node, seed, room, scale, shift);
    if (w->matrix != 0)
        store_reals(e, room, own.matrix, host + (w->matrix - 1));
    if (step->norm != 0) {
        const size_t channels = weights_count(e->graph, step->norm).scale;
        float *norm_scale = (float *)(void *)(host + (w->scale - 1));
        float *norm_shift = (float *)(void *)(host + (w->shift - 1));
        weights_fill(e->graph, step->norm, seed, NULL, norm_scale, norm_shift);
        for (size_t c = 0; own.shift > 0 && c < channels; c++)
            norm_shift[c] += shift[c] * norm_scale[c];
        return;
    }
    if (w->scale != 0)
        memcpy(host + (w->scale - 1), scale, own.scale * sizeof *scale);
    if (w->shift != 0)
        memcpy(host + (w->shift - 1), shift, own.shift * sizeof *shift);
}

/* Offsets become addresses. Offset + 1 stood for "is there". */
static void rebase_weights(struct executor *e)
{
    for (size_t i = 0; i < e->graph->node_count; i++) {
        CUdeviceptr *places[] = {&e->weights[i].matrix, &e->weights[i].scale, &e->weights[i].shift};
        for (size_t k = 0; k < 3; k++)
            if (*places[k] != 0)
                *places[k] += e->weight_block - 1;
    }
}

static bool allocate(struct executor *e, CUdeviceptr *block, size_t bytes, const char *what,
                     struct error *error)
{
    if (!device_check(e->device, e->device->api.cuMemAlloc(block, bytes), what, error))
        return false;
    e->sizes.allocated += bytes;
    return true;
}

static bool copy_block(const struct executor *e, CUdeviceptr to, CUdeviceptr from, size_t bytes,
                       struct error *error)
{
    return device_check(e->device, e->device->api.cuMemcpyDtoD(to, from, bytes), "copying memory",
                        error);
}

/* From the host, or from an executor that has them. */
static bool upload_weights(struct executor *e, const char *host, struct error *error)
{
    const double start = now_ms();
    const struct executor *like = e->kin.like;
    if (e->kin.room != NULL) {
        e->weight_block = e->kin.room->weight_block;
    } else if (!allocate(e, &e->weight_block, e->sizes.weights, "memory for weights", error) ||
               !(like != NULL
                     ? copy_block(e, e->weight_block, like->weight_block, e->sizes.weights, error)
                     : device_check(
                           e->device,
                           e->device->api.cuMemcpyHtoD(e->weight_block, host, e->sizes.weights),
                           "uploading weights", error))) {
        return false;
    }
    e->sizes.weights_ms = now_ms() - start;
    rebase_weights(e);
    return true;
}

static bool make_weights(struct executor *e, uint64_t seed, struct error *error)
{
    size_t bytes = ALIGNMENT;
    size_t most = 0;
    e->weights = calloc(e->graph->node_count, sizeof *e->weights);
    for (size_t s = 0; e->weights != NULL && s < e->step_count; s++) {
        const struct weights_count count = weights_count(e->graph, e->steps[s].node);
        const size_t numbers = count.matrix + count.scale + count.shift;
        bytes = place_weights(e, &e->steps[s], bytes);
        most = numbers > most ? numbers : most;
    }
    e->sizes.weights = bytes;
    if (e->weights == NULL)
        return error_run(error, "%s: out of memory for its weights", e->graph->path);
    if (e->kin.room != NULL || e->kin.like != NULL)
        return upload_weights(e, NULL, error);
    float *room = malloc((most + 1) * sizeof *room);
    char *host = calloc(1, bytes);
    bool good = room != NULL && host != NULL;
    if (!good)
        error_run(error, "%s: out of memory for its weights", e->graph->path);
    for (size_t s = 0; good && s < e->step_count; s++)
        fill_weights(e, &e->steps[s], seed, room, host);
    good = good && upload_weights(e, host, error);
    free(host);
    free(room);
    return good;
}

/* ---- Convolutions ---------------------------------------------------------------------------- */

static bool describe_tensor(const struct executor *e, const struct graph_shape *shape,
                            cudnnTensorDescriptor_t *descriptor, struct error *error)
{
    const struct device_api *api = &e->device->api;
    return device_check_cudnn(e->device, api->cudnnCreateTensorDescriptor(descriptor), "a tensor",
                              error) &&
           device_check_cudnn(e->device,
                              api->cudnnSetTensor4dDescriptor(
                                  *descriptor, CUDNN_TENSOR_NCHW,
                                  e->half ? CUDNN_DATA_HALF : CUDNN_DATA_FLOAT, (int)shape->dims[0],
                                  (int)shape->dims[1], (int)shape->dims[2], (int)shape->dims[3]),
                              "a tensor", error);
}

/* A transposed convolution is the gradient of a convolution from its output to its input: filters
 * are input channels first. */
static bool describe_filter(const struct executor *e, const struct graph_node *node,
                            struct step *step, struct error *error)
{
    const struct device_api *api = &e->device->api;
    const struct graph_attributes *a = &node->attributes;
    const int64_t in = e->graph->nodes[node->inputs[0]].shape.dims[1];
    const bool transposed = node->kind == GRAPH_CONV_TRANSPOSE;
    const int64_t first = transposed ? in : a->channels;
    const int64_t second = (transposed ? a->channels : in) / a->groups;
    return device_check_cudnn(e->device, api->cudnnCreateFilterDescriptor(&step->filter),
                              "a filter", error) &&
           device_check_cudnn(e->device,
                              api->cudnnSetFilter4dDescriptor(
                                  step->filter, e->half ? CUDNN_DATA_HALF : CUDNN_DATA_FLOAT,
                                  CUDNN_TENSOR_NCHW, (int)first, (int)second, (int)a->kernel[0],
                                  (int)a->kernel[1]),
                              "a filter", error);
}

static bool describe_convolution(const struct executor *e, const struct graph_node *node,
                                 struct step *step, struct error *error)
{
    const struct device_api *api = &e->device->api;
    const struct graph_attributes *a = &node->attributes;
    return device_check_cudnn(e->device, api->cudnnCreateConvolutionDescriptor(&step->convolution),
                              "a convolution", error) &&
           device_check_cudnn(e->device,
                              api->cudnnSetConvolution2dDescriptor(
                                  step->convolution, (int)a->pad[0], (int)a->pad[1],
                                  (int)a->stride[0], (int)a->stride[1], (int)a->dilation[0],
                                  (int)a->dilation[1], CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
                              "a convolution", error) &&
           device_check_cudnn(e->device,
                              api->cudnnSetConvolutionGroupCount(step->convolution, (int)a->groups),
                              "a convolution's groups", error) &&
           device_check_cudnn(
               e->device,
               api->cudnnSetConvolutionMathType(step->convolution, e->half ? CUDNN_TENSOR_OP_MATH
                                                                           : CUDNN_DEFAULT_MATH),
               "a convolution's arithmetic", error);
}

/* What cuDNN proposes for a convolution, of either direction. */
struct proposal {
    int algorithm;
    cudnnMathType_t arithmetic;
    bool good;
};

enum {
    PROPOSALS = (int)CUDNN_CONVOLUTION_FWD_ALGO_COUNT > (int)CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT
                    ? (int)CUDNN_CONVOLUTION_FWD_ALGO_COUNT
                    : (int)CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT
};

static bool propose_forward(const struct executor *e, const struct lane *lane,
                            const struct step *step, struct proposal *proposals, int *count,
                            struct error *error)
{
    cudnnConvolutionFwdAlgoPerf_t found[CUDNN_CONVOLUTION_FWD_ALGO_COUNT];
    if (!device_check_cudnn(e->device,
                            e->device->api.cudnnGetConvolutionForwardAlgorithm_v7(
                                lane->cudnn, step->in, step->filter, step->convolution, step->out,
                                CUDNN_CONVOLUTION_FWD_ALGO_COUNT, count, found),
                            "choosing an algorithm", error))
        return false;
    for (int i = 0; i < *count; i++)
        proposals[i] = (struct proposal){(int)found[i].algo, found[i].mathType,
                                         found[i].status == CUDNN_STATUS_SUCCESS};
    return true;
}

static bool propose_backward(const struct executor *e, const struct lane *lane,
                             const struct step *step, struct proposal *proposals, int *count,
                             struct error *error)
{
    cudnnConvolutionBwdDataAlgoPerf_t found[CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT];
    if (!device_check_cudnn(e->device,
                            e->device->api.cudnnGetConvolutionBackwardDataAlgorithm_v7(
                                lane->cudnn, step->filter, step->in, step->convolution, step->out,
                                CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT, count, found),
                            "choosing an algorithm", error))
        return false;
    for (int i = 0; i < *count; i++)
        proposals[i] = (struct proposal){(int)found[i].algo, found[i].mathType,
                                         found[i].status == CUDNN_STATUS_SUCCESS};
    return true;
}

/* The bytes that the algorithm asks for; false where cuDNN does not run it here after all. */
static bool workspace_of(const struct executor *e, const struct lane *lane, const struct step *step,
                         bool forward, int algorithm, size_t *bytes)
{
    const struct device_api *api = &e->device->api;
    const cudnnStatus_t status =
        forward ? api->cudnnGetConvolutionForwardWorkspaceSize(
                      lane->cudnn, step->in, step->filter, step->convolution, step->out,
                      (cudnnConvolutionFwdAlgo_t)algorithm, bytes)
                : api->cudnnGetConvolutionBackwardDataWorkspaceSize(
                      lane->cudnn, step->filter, step->in, step->convolution, step->out,
                      (cudnnConvolutionBwdDataAlgo_t)algorithm, bytes);
    return status == CUDNN_STATUS_SUCCESS && *bytes <= WORKSPACE_LIMIT;
}

/* Takes an algorithm with the arithmetic that it was proposed with; false where it does not do. */
static bool take_algorithm(struct executor *e, const struct lane *lane, struct step *step,
                           bool forward, const struct proposal *proposal)
{
    size_t bytes = 0;
    if (!proposal->good ||
        e->device->api.cudnnSetConvolutionMathType(step->convolution, proposal->arithmetic) !=
            CUDNN_STATUS_SUCCESS ||
        !workspace_of(e, lane, step, forward, proposal->algorithm, &bytes))
        return false;
    step->algorithm = proposal->algorithm;
    step->arithmetic = proposal->arithmetic;
    if (bytes > e->workspace_bytes)
        e->workspace_bytes = bytes;
    return true;
}

/* The first that cuDNN's heuristics propose and that fits into the workspace. */
static bool choose_algorithm(struct executor *e, const struct lane *lane, struct step *step,
                             struct error *error)
{
    const struct graph_node *node = &e->graph->nodes[step->node];
    const bool forward = node->kind == GRAPH_CONV;
    struct proposal proposals[PROPOSALS];
    int count = 0;
    if (e->kin.like != NULL) {
        const struct step *known = &e->kin.like->steps[step - e->steps];
        proposals[0] = (struct proposal){known->algorithm, known->arithmetic, true};
        if (take_algorithm(e, lane, step, forward, &proposals[0]))
            return true;
    }
    if (!(forward ? propose_forward(e, lane, step, proposals, &count, error)
                  : propose_backward(e, lane, step, proposals, &count, error)))
        return false;
    for (int i = 0; i < count; i++)
        if (take_algorithm(e, lane, step, forward, &proposals[i]))
            return true;
    return error_run(error, "capture: %s: cuDNN has no algorithm for layer \"%s\"", e->graph->name,
                     node->name);
}

static bool plan_convolution(struct executor *e, const struct lane *lane, struct step *step,
                             struct error *error)
{
    const struct graph_node *node = &e->graph->nodes[step->node];
    return describe_tensor(e, &e->graph->nodes[node->inputs[0]].shape, &step->in, error) &&
           describe_tensor(e, &node->shape, &step->out, error) &&
           describe_filter(e, node, step, error) && describe_convolution(e, node, step, error) &&
           choose_algorithm(e, lane, step, error);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static CUdeviceptr place_of(const struct executor *e, size_t node)
{
    return e->places[node];
}

/* Scores of a head begin where tensor cores can take sixteen bytes at once (cuBLAS asks for that of
 * batched products): where a head's rows do not come to that, rows are left out between heads, in
 * memory of its own. */
static bool place_scores(struct executor *e, struct step *step, size_t heads, size_t queries,
                         size_t keys, struct error *error)
{
    enum { TOGETHER = 16 };
    step->scores = e->activation_block + e->arena.scratch[step->node];
    step->score_rows = queries;
    while (step->score_rows * keys * e->element % TOGETHER != 0)
        step->score_rows++;
    if (step->score_rows == queries)
        return true;
    if (!allocate(e, &step->own_scores, heads * step->score_rows * keys * e->element,
                  "memory for scores", error))
        return false;
    step->scores = step->own_scores;
    return true;
}

/* Addresses of each head of each item in query, key, value, scores and output, five arrays behind
 * each other. */
static bool plan_attention(struct executor *e, struct step *step, struct error *error)
{
    const struct graph_node *node = &e->graph->nodes[step->node];
    const struct graph_shape *query = &e->graph->nodes[node->inputs[0]].shape;
    const struct graph_shape *key = &e->graph->nodes[node->inputs[1]].shape;
    const size_t heads = (size_t)node->attributes.heads;
    const size_t items = (size_t)query->dims[0];
    const size_t width = (size_t)query->dims[2] / heads;
    const size_t total = heads * items;
    if (!place_scores(e, step, total, (size_t)query->dims[1], (size_t)key->dims[1], error))
        return false;
    const size_t scores = step->score_rows * (size_t)key->dims[1] * e->element;
    CUdeviceptr *host = calloc(5 * total, sizeof *host);
    if (host == NULL)
        return error_run(error, "%s: out of memory", e->graph->path);
    for (size_t i = 0; i < total; i++) {
        const size_t head = i % heads * width * e->element;
        const size_t by_query = i / heads * (size_t)(query->dims[1] * query->dims[2]) * e->element;
        const size_t by_key = i / heads * (size_t)(key->dims[1] * key->dims[2]) * e->element;
        host[i] = place_of(e, node->inputs[0]) + by_query + head;
        host[total + i] = place_of(e, node->inputs[1]) + by_key + head;
        host[2 * total + i] = place_of(e, node->inputs[2]) + by_key + head;
        host[3 * total + i] = step->scores + i * scores;
        host[4 * total + i] = place_of(e, step->node) + by_query + head;
    }
    const size_t bytes = 5 * total * sizeof *host;
    const bool good =
        device_check(e->device, e->device->api.cuMemAlloc(&step->pointers, bytes),
                     "memory for addresses", error) &&
        device_check(e->device, e->device->api.cuMemcpyHtoD(step->pointers, host, bytes),
                     "uploading addresses", error);
    free(host);
    return good;
}

/* A block of the room where it has one that is large enough. */
static bool take_block(struct executor *e, CUdeviceptr *block, size_t bytes, CUdeviceptr room,
                       size_t room_bytes, const char *what, struct error *error)
{
    if (bytes == 0)
        return true;
    if (room_bytes >= bytes) {
        *block = room;
        return true;
    }
    return allocate(e, block, bytes, what, error);
}

static size_t input_bytes(const struct executor *e, size_t node)
{
    const struct graph_node *input = &e->graph->nodes[node];
    return (size_t)graph_elements(&input->shape) * (input->tokens ? sizeof(int) : e->element);
}

static bool place_inputs(struct executor *e, struct error *error)
{
    size_t bytes = 0;
    for (size_t i = 0; i < e->graph->node_count; i++)
        if (e->graph->nodes[i].kind == GRAPH_INPUT)
            bytes += aligned(input_bytes(e, i));
    if (!allocate(e, &e->input_block, bytes, "memory for inputs", error))
        return false;
    bytes = 0;
    for (size_t i = 0; i < e->graph->node_count; i++)
        if (e->graph->nodes[i].kind == GRAPH_INPUT) {
            e->places[i] = e->input_block + bytes;
            bytes += aligned(input_bytes(e, i));
        }
    return true;
}

static bool make_memory(struct executor *e, struct error *error)
{
    static const struct executor none = {.half = false};
    const struct executor *room = e->kin.room == NULL ? &none : e->kin.room;
    e->sizes.activations = e->arena.bytes;
    e->sizes.workspace = e->workspace_bytes;
    e->places = calloc(e->graph->node_count, sizeof *e->places);
    if (e->places == NULL || e->arena.offsets == NULL || e->arena.scratch == NULL)
        return error_run(error, "%s: out of memory", e->graph->path);
    if (!take_block(e, &e->activation_block, e->arena.bytes, room->activation_block,
                    room->arena.bytes, "memory for activations", error) ||
        !take_block(e, &e->workspace, e->workspace_bytes, room->workspace, room->workspace_bytes,
                    "memory for convolutions", error))
        return false;
    for (size_t i = 0; i < e->graph->node_count; i++)
        e->places[i] = e->activation_block + e->arena.offsets[i];
    return !e->own_inputs || place_inputs(e, error);
}

static bool fill_input(const struct executor *e, size_t node, uint64_t seed, struct error *error)
{
    const bool tokens = e->graph->nodes[node].tokens;
    const size_t count = (size_t)graph_elements(&e->graph->nodes[node].shape);
    const size_t bytes = input_bytes(e, node);
    if (e->kin.like != NULL)
        return copy_block(e, place_of(e, node), place_of(e->kin.like, node), bytes, error);
    float *values = malloc(count * sizeof *values);
    void *reals = malloc(count * sizeof *values);
    bool good = values != NULL && reals != NULL;
    if (!good)
        error_run(error, "%s: out of memory", e->graph->path);
    if (good && tokens) {
        weights_fill_tokens(seed + node, count, weights_entries(e->graph, node), reals);
    } else if (good) {
        weights_fill_input(seed + node, count, values);
        store_reals(e, values, count, reals);
    }
    good = good &&
           device_check(e->device, e->device->api.cuMemcpyHtoD(place_of(e, node), reals, bytes),
                        "uploading an input", error);
    free(reals);
    free(values);
    return good;
}

#define FIND_KERNEL(name)                                                                          \
    if (good && (e->kernels.name = device_kernel(e->device, #name, e->half, error)) == NULL)       \
        good = false;

static bool find_kernels(struct executor *e, struct error *error)
{
    bool good = true;
    KERNEL_NAMES(FIND_KERNEL)
    return good;
}

/* cuDNN is asked where it will be used: with the lane's context current. */
static bool plan_convolutions(struct executor *e, const struct lane *lane, struct error *error)
{
    bool good = device_check(e->device, e->device->api.cuCtxSetCurrent(lane->partition.context),
                             "a lane's context", error);
    for (size_t s = 0; good && s < e->step_count; s++)
        if (takes_norm(e->graph->nodes[e->steps[s].node].kind))
            good = plan_convolution(e, lane, &e->steps[s], error);
    (void)e->device->api.cuCtxSetCurrent(e->device->context);
    return good;
}

/* Inputs are written into the arena once: a graph's inputs stay alive until their last reader, and
 * a run that reuses their memory afterwards leaves other numbers there, which cost the same. Token
 * inputs must stay valid, so they are kept to the end. */
static void keep_inputs(struct graph_node *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (nodes[i].kind == GRAPH_INPUT)
            nodes[i].last_use = count;
}

static bool plan_arena(struct executor *e, struct error *error)
{
    struct graph copy = *e->graph;
    copy.nodes = malloc(copy.node_count * sizeof *copy.nodes);
    if (copy.nodes == NULL)
        return error_run(error, "%s: out of memory", e->graph->path);
    memcpy(copy.nodes, e->graph->nodes, copy.node_count * sizeof *copy.nodes);
    keep_inputs(copy.nodes, copy.node_count);
    const bool good = graph_arena_plan(&copy, e->element, ALIGNMENT, &e->arena, error);
    free(copy.nodes);
    return good;
}

static bool build(struct executor *e, uint64_t seed, const struct lane *lane, struct error *error)
{
    if (!find_kernels(e, error) || !plan_arena(e, error) || !make_steps(e, error) ||
        !make_weights(e, seed, error) || !plan_convolutions(e, lane, error) ||
        !make_memory(e, error))
        return false;
    for (size_t s = 0; s < e->step_count; s++)
        if (e->graph->nodes[e->steps[s].node].kind == GRAPH_ATTENTION &&
            !plan_attention(e, &e->steps[s], error))
            return false;
    for (size_t i = 0; i < e->graph->node_count; i++)
        if (e->graph->nodes[i].kind == GRAPH_INPUT && !fill_input(e, i, seed, error))
            return false;
    /* Copies to the device may be under way when their calls return, and lanes wait for none. */
    return device_check(e->device, e->device->api.cuCtxSynchronize(), "preparing a network", error);
}

struct executor *executor_create(struct device *device, const struct graph *graph, bool half,
                                 uint64_t seed, const struct lane *lane,
                                 const struct executor_kin *kin, struct error *error)
{
    struct executor *e = calloc(1, sizeof *e);
    if (e == NULL) {
        error_run(error, "capture: out of memory");
        return NULL;
    }
    e->device = device;
    e->graph = graph;
    e->half = half;
    e->element = half ? 2 : 4;
    e->own_inputs = kin != NULL;
    if (kin != NULL)
        e->kin = *kin;
    if (build(e, seed, lane, error))
        return e;
    executor_free(e);
    return NULL;
}

static void free_step(const struct executor *e, struct step *step)
{
    const struct device_api *api = &e->device->api;
    if (step->in != NULL)
        (void)api->cudnnDestroyTensorDescriptor(step->in);
    if (step->out != NULL)
        (void)api->cudnnDestroyTensorDescriptor(step->out);
    if (step->filter != NULL)
        (void)api->cudnnDestroyFilterDescriptor(step->filter);
    if (step->convolution != NULL)
        (void)api->cudnnDestroyConvolutionDescriptor(step->convolution);
    if (step->pointers != 0)
        (void)api->cuMemFree(step->pointers);
    if (step->own_scores != 0)
        (void)api->cuMemFree(step->own_scores);
}

void executor_free(struct executor *e)
{
    if (e == NULL)
        return;
    const struct executor *room = e->kin.room;
    const CUdeviceptr blocks[] = {e->weight_block, e->activation_block, e->workspace,
                                  e->input_block};
    const CUdeviceptr others[] = {room == NULL ? 0 : room->weight_block,
                                  room == NULL ? 0 : room->activation_block,
                                  room == NULL ? 0 : room->workspace, 0};
    for (size_t s = 0; s < e->step_count; s++)
        free_step(e, &e->steps[s]);
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
        if (blocks[i] != 0 && blocks[i] != others[i])
            (void)e->device->api.cuMemFree(blocks[i]);
    graph_arena_free(&e->arena);
    free(e->places);
    free(e->weights);
    free(e->steps);
    free(e);
}

struct executor_sizes executor_sizes(const struct executor *e)
{
    struct executor_sizes sizes = e->sizes;
    for (size_t s = 0; s < e->step_count; s++) {
        const struct step *step = &e->steps[s];
        const enum graph_kind kind = e->graph->nodes[step->node].kind;
        const bool epilogue =
            step->norm != 0 || step->function != KERNEL_NONE || e->weights[step->node].shift != 0;
        const size_t inputs = e->graph->nodes[step->node].input_count;
        if (kind == GRAPH_ATTENTION)
            sizes.launches += 3;
        else if (takes_norm(kind) || kind == GRAPH_LINEAR)
            sizes.launches += epilogue ? 2 : 1;
        else if (kind == GRAPH_ADD || kind == GRAPH_MULTIPLY)
            sizes.launches += inputs - 1;
        else
            sizes.launches += kind == GRAPH_CONCAT ? inputs : 1;
    }
    return sizes;
}

/* ---- Running --------------------------------------------------------------------------------- */

/* What one step works on. */
struct call {
    const struct executor *e;
    const struct lane *lane;
    const struct step *step;
    const struct graph_node *node;
    const struct graph_shape *in; /* of the first input */
    CUdeviceptr x, y;
    size_t count; /* elements of the output */
    struct error *error;
};

static bool launch(const struct call *c, CUfunction kernel, size_t blocks, void **arguments)
{
    const struct device *device = c->e->device;
    if (blocks > 1 << 30)
        blocks = 1 << 30;
    return device_check(device,
                        device->api.cuLaunchKernel(kernel, (unsigned)blocks, 1, 1, KERNEL_THREADS,
                                                   1, 1, 0, c->lane->partition.stream, arguments,
                                                   NULL),
                        c->node->name, c->error);
}

static size_t blocks_of(size_t elements)
{
    const size_t blocks = (elements + KERNEL_THREADS - 1) / KERNEL_THREADS;
    return blocks < 65536 ? blocks : 65536;
}

/* Elements that share a channel and lie behind each other. */
static int inner_of(const struct graph_shape *shape)
{
    return shape->rank == 4 ? (int)(shape->dims[2] * shape->dims[3]) : 1;
}

static int channels_of(const struct graph_shape *shape)
{
    return (int)(shape->rank == 4 ? shape->dims[1] : shape->dims[shape->rank - 1]);
}

static bool run_affine(const struct call *c, CUdeviceptr x)
{
    const struct node_weights *w = &c->e->weights[c->step->node];
    size_t n = c->count;
    CUdeviceptr y = c->y;
    CUdeviceptr scale = w->scale;
    CUdeviceptr shift = w->shift;
    int channels = channels_of(&c->node->shape);
    int inner = inner_of(&c->node->shape);
    int function = c->step->function;
    float low = c->step->low;
    float high = c->step->high;
    void *arguments[] = {&n, &x, &y, &scale, &shift, &channels, &inner, &function, &low, &high};
    return launch(c, c->e->kernels.affine, blocks_of(n), arguments);
}

/* Bias, norm and activation behind a library's product, where there is any. */
static bool run_epilogue(const struct call *c)
{
    const struct node_weights *w = &c->e->weights[c->step->node];
    if (w->scale == 0 && w->shift == 0 && c->step->function == KERNEL_NONE)
        return true;
    return run_affine(c, c->y);
}

static bool run_conv(const struct call *c)
{
    const struct device_api *api = &c->e->device->api;
    const float one = 1;
    const float zero = 0;
    const void *x = (const void *)c->x;
    void *y = (void *)c->y;
    const void *filters = (const void *)c->e->weights[c->step->node].matrix;
    void *workspace = (void *)c->e->workspace;
    const cudnnStatus_t status =
        c->node->kind == GRAPH_CONV
            ? api->cudnnConvolutionForward(c->lane->cudnn, &one, c->step->in, x, c->step->filter,
                                           filters, c->step->convolution,
                                           (cudnnConvolutionFwdAlgo_t)c->step->algorithm, workspace,
                                           c->e->workspace_bytes, &zero, c->step->out, y)
            : api->cudnnConvolutionBackwardData(
                  c->lane->cudnn, &one, c->step->filter, filters, c->step->in, x,
                  c->step->convolution, (cudnnConvolutionBwdDataAlgo_t)c->step->algorithm,
                  workspace, c->e->workspace_bytes, &zero, c->step->out, y);
    return device_check_cudnn(c->e->device, status, c->node->name, c->error) && run_epilogue(c);
}

static cudaDataType_t real_type(const struct executor *e)
{
    return e->half ? CUDA_R_16F : CUDA_R_32F;
}

/* Rows of X times rows of W: in the library's column order W' X. */
static bool run_linear(const struct call *c)
{
    const float one = 1;
    const float zero = 0;
    const int in = channels_of(c->in);
    const int out = (int)c->node->attributes.channels;
    const int rows = (int)(c->count / (size_t)out);
    const cudaDataType_t type = real_type(c->e);
    const cublasStatus_t status = c->e->device->api.cublasGemmEx(
        c->lane->cublas, CUBLAS_OP_T, CUBLAS_OP_N, out, rows, in, &one,
        (const void *)c->e->weights[c->step->node].matrix, type, in, (const void *)c->x, type, in,
        &zero, (void *)c->y, type, out, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    return device_check_cublas(status, c->node->name, c->error) && run_epilogue(c);
}

static bool run_matmul(const struct call *c)
{
    const float one = 1;
    const float zero = 0;
    const struct graph_shape *right = &c->e->graph->nodes[c->node->inputs[1]].shape;
    const bool turned = c->node->attributes.transpose;
    const int rows = (int)c->in->dims[1];
    const int inner = (int)c->in->dims[2];
    const int out = (int)c->node->shape.dims[2];
    const int pitch = (int)right->dims[2];
    const cudaDataType_t type = real_type(c->e);
    const CUdeviceptr b = place_of(c->e, c->node->inputs[1]);
    const cublasStatus_t status = c->e->device->api.cublasGemmStridedBatchedEx(
        c->lane->cublas, turned ? CUBLAS_OP_T : CUBLAS_OP_N, CUBLAS_OP_N, out, rows, inner, &one,
        (const void *)b, type, pitch, (long long)right->dims[1] * right->dims[2],
        (const void *)c->x, type, inner, (long long)rows * inner, &zero, (void *)c->y, type, out,
        (long long)rows * out, (int)c->in->dims[0], CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    return device_check_cublas(status, c->node->name, c->error);
}

static bool run_softmax(const struct call *c, CUdeviceptr x, CUdeviceptr y, size_t rows, int length,
                        int stride, float scale)
{
    void *arguments[] = {&x, &y, &length, &stride, &scale};
    return launch(c, c->e->kernels.softmax, rows, arguments);
}

/* Scores K Q' (column order), softmax over keys, then V times the scores. */
static bool run_attention(const struct call *c)
{
    const struct device_api *api = &c->e->device->api;
    const float one = 1;
    const float zero = 0;
    const int heads = (int)c->node->attributes.heads;
    const int total = heads * (int)c->in->dims[0];
    const int features = (int)c->in->dims[2];
    const int width = features / heads;
    const int queries = (int)c->in->dims[1];
    const int keys = (int)c->e->graph->nodes[c->node->inputs[1]].shape.dims[1];
    const cudaDataType_t type = real_type(c->e);
    void *const *p[5];
    for (size_t i = 0; i < 5; i++)
        p[i] = (void *const *)(c->step->pointers + i * (size_t)total * sizeof(CUdeviceptr));
    if (!device_check_cublas(
            api->cublasGemmBatchedEx(c->lane->cublas, CUBLAS_OP_T, CUBLAS_OP_N, keys, queries,
                                     width, &one, (const void *const *)p[1], type, features,
                                     (const void *const *)p[0], type, features, &zero, p[3], type,
                                     keys, total, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
            c->node->name, c->error) ||
        !run_softmax(c, c->step->scores, c->step->scores, (size_t)total * c->step->score_rows, keys,
                     1, 1.0F / sqrtf((float)width)))
        return false;
    return device_check_cublas(
        api->cublasGemmBatchedEx(c->lane->cublas, CUBLAS_OP_N, CUBLAS_OP_N, width, queries, keys,
                                 &one, (const void *const *)p[2], type, features,
                                 (const void *const *)p[3], type, keys, &zero, p[4], type, features,
                                 total, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
        c->node->name, c->error);
}

/* Kernels of (count, x, y, window) and up to two flags more. */
static bool run_window(const struct call *c, CUfunction kernel, int first, int second)
{
    size_t n = c->count;
    CUdeviceptr x = c->x;
    CUdeviceptr y = c->y;
    struct kernel_window window = window_of(c->node, c->in);
    void *arguments[] = {&n, &x, &y, &window, &first, &second};
    return launch(c, kernel, blocks_of(n), arguments);
}

/* Sums of more than two inputs run pairwise; the function belongs to the last pair. */
static bool run_binary(const struct call *c)
{
    size_t n = c->count;
    CUdeviceptr a = c->x;
    CUdeviceptr y = c->y;
    int multiply = c->node->kind == GRAPH_MULTIPLY;
    float low = c->step->low;
    float high = c->step->high;
    for (size_t i = 1; i < c->node->input_count; i++) {
        CUdeviceptr b = place_of(c->e, c->node->inputs[i]);
        int function = i + 1 == c->node->input_count ? c->step->function : KERNEL_NONE;
        void *arguments[] = {&n, &a, &b, &y, &multiply, &function, &low, &high};
        if (!launch(c, c->e->kernels.binary, blocks_of(n), arguments))
            return false;
        a = y;
    }
    return true;
}

static bool run_rows(const struct call *c, CUdeviceptr x, size_t n, int width, int pitch,
                     int offset, int gather)
{
    CUdeviceptr y = c->y;
    void *arguments[] = {&n, &x, &y, &width, &pitch, &offset, &gather};
    return launch(c, c->e->kernels.rows, blocks_of(n), arguments);
}

static bool run_concat(const struct call *c)
{
    const int plane = inner_of(&c->node->shape);
    const int pitch = channels_of(&c->node->shape) * plane;
    int offset = 0;
    for (size_t i = 0; i < c->node->input_count; i++) {
        const struct graph_shape *in = &c->e->graph->nodes[c->node->inputs[i]].shape;
        const int width = channels_of(in) * plane;
        if (!run_rows(c, place_of(c->e, c->node->inputs[i]), (size_t)graph_elements(in), width,
                      pitch, offset, 0))
            return false;
        offset += width;
    }
    return true;
}

static bool run_token(const struct call *c)
{
    const int width = (int)c->in->dims[2];
    return run_rows(c, c->x, c->count, width, (int)c->in->dims[1] * width,
                    (int)c->node->attributes.index * width, 1);
}

static bool run_norm(const struct call *c)
{
    const struct node_weights *w = &c->e->weights[c->step->node];
    const bool instance = c->node->kind == GRAPH_INSTANCE_NORM;
    CUdeviceptr x = c->x;
    CUdeviceptr y = c->y;
    CUdeviceptr scale = w->scale;
    CUdeviceptr shift = w->shift;
    int length = instance ? inner_of(c->in) : channels_of(c->in);
    int channels = channels_of(c->in);
    float epsilon = (float)c->node->attributes.epsilon;
    int function = c->step->function;
    float low = c->step->low;
    float high = c->step->high;
    void *arguments[] = {&x,     &y,        &length,   &epsilon, &scale,
                         &shift, &channels, &function, &low,     &high};
    return launch(c, instance ? c->e->kernels.instance_norm : c->e->kernels.layer_norm,
                  c->count / (size_t)length, arguments);
}

static bool run_mean(const struct call *c)
{
    CUdeviceptr x = c->x;
    CUdeviceptr y = c->y;
    int length = inner_of(c->in);
    void *arguments[] = {&x, &y, &length};
    return launch(c, c->e->kernels.mean, c->count, arguments);
}

static bool run_prelu(const struct call *c)
{
    size_t n = c->count;
    CUdeviceptr x = c->x;
    CUdeviceptr y = c->y;
    CUdeviceptr slopes = c->e->weights[c->step->node].scale;
    int channels = c->node->attributes.per_channel ? channels_of(c->in) : 1;
    int inner = inner_of(c->in);
    void *arguments[] = {&n, &x, &y, &slopes, &channels, &inner};
    return launch(c, c->e->kernels.prelu, blocks_of(n), arguments);
}

static bool run_embedding(const struct call *c)
{
    size_t n = c->count;
    CUdeviceptr tokens = c->x;
    CUdeviceptr table = c->e->weights[c->step->node].matrix;
    CUdeviceptr y = c->y;
    int width = (int)c->node->attributes.channels;
    void *arguments[] = {&n, &tokens, &table, &y, &width};
    return launch(c, c->e->kernels.embedding, blocks_of(n), arguments);
}

static bool run_copy(const struct call *c)
{
    return device_check(c->e->device,
                        c->e->device->api.cuMemcpyDtoDAsync(c->y, c->x, c->count * c->e->element,
                                                            c->lane->partition.stream),
                        c->node->name, c->error);
}

static bool run_step(const struct call *c)
{
    const struct graph_attributes *a = &c->node->attributes;
    switch (c->node->kind) {
    case GRAPH_CONV:
    case GRAPH_CONV_TRANSPOSE:
        return run_conv(c);
    case GRAPH_MAX_POOL:
        return run_window(c, c->e->kernels.pool, 0, 0);
    case GRAPH_AVG_POOL:
        return run_window(c, c->e->kernels.pool, 1, a->count_pad);
    case GRAPH_GLOBAL_POOL:
        return run_mean(c);
    case GRAPH_BATCH_NORM:
    case GRAPH_RELU:
    case GRAPH_RELU6:
    case GRAPH_LEAKY_RELU:
    case GRAPH_SIGMOID:
    case GRAPH_TANH:
    case GRAPH_GELU:
    case GRAPH_CLAMP:
        return run_affine(c, c->x);
    case GRAPH_INSTANCE_NORM:
    case GRAPH_LAYER_NORM:
        return run_norm(c);
    case GRAPH_PRELU:
        return run_prelu(c);
    case GRAPH_SOFTMAX:
        return run_softmax(c, c->x, c->y, c->count / (size_t)channels_of(c->in), channels_of(c->in),
                           inner_of(c->in), 1.0F);
    case GRAPH_ADD:
    case GRAPH_MULTIPLY:
        return run_binary(c);
    case GRAPH_CONCAT:
        return run_concat(c);
    case GRAPH_PIXEL_SHUFFLE:
        return run_window(c, c->e->kernels.pixel_shuffle, 0, 0);
    case GRAPH_UPSAMPLE:
        return run_window(c, c->e->kernels.upsample, a->mode == GRAPH_BILINEAR, a->align_corners);
    case GRAPH_REFLECT_PAD:
        return run_window(c, c->e->kernels.reflect_pad, 0, 0);
    case GRAPH_FLATTEN:
        return run_copy(c);
    case GRAPH_LINEAR:
        return run_linear(c);
    case GRAPH_MATMUL:
        return run_matmul(c);
    case GRAPH_ATTENTION:
        return run_attention(c);
    case GRAPH_EMBEDDING:
        return run_embedding(c);
    case GRAPH_TOKEN:
        return run_token(c);
    case GRAPH_INPUT:
    case GRAPH_KINDS:
        break;
    }
    return true;
}

bool executor_run(const struct executor *e, const struct lane *lane, struct error *error)
{
    if (!device_check(e->device, e->device->api.cuCtxSetCurrent(lane->partition.context),
                      "a lane's context", error))
        return false;
    for (size_t s = 0; s < e->step_count; s++) {
        const struct graph_node *node = &e->graph->nodes[e->steps[s].node];
        const struct call call = {
            .e = e,
            .lane = lane,
            .step = &e->steps[s],
            .node = node,
            .in = &e->graph->nodes[node->inputs[0]].shape,
            .x = place_of(e, node->inputs[0]),
            .y = place_of(e, e->steps[s].node),
            .count = (size_t)graph_elements(&node->shape),
            .error = error,
        };
        if (!run_step(&call))
            return false;
    }
    return true;
}

bool executor_read(const struct executor *e, size_t node, float *values, struct error *error)
{
    const size_t count = (size_t)graph_elements(&e->graph->nodes[node].shape);
    uint16_t *halves = e->half ? malloc(count * sizeof *halves) : NULL;
    void *to = e->half ? (void *)halves : (void *)values;
    if (to == NULL)
        return error_run(error, "capture: out of memory");
    const bool good = device_check(
        e->device, e->device->api.cuMemcpyDtoH(to, place_of(e, node), count * e->element),
        "reading an output", error);
    for (size_t i = 0; good && e->half && i < count; i++)
        values[i] = weights_float(halves[i]);
    free(halves);
    return good;
}
