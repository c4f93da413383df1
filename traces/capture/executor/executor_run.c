/* Enqueues one inference, step by step. */
#include "traces/capture/executor/executor_parts.h"

#include <math.h>

#include "traces/capture/executor/window.h"

/* Operands of one step. */
struct call {
    const struct executor *e;
    const struct partition_stream *lane;
    const struct step *step;
    const struct graph_node *node;
    const struct graph_shape *in; /* shape of the first input */
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

static size_t blocks_of_packs(size_t elements)
{
    return blocks_of((elements + KERNEL_PACK - 1) / KERNEL_PACK);
}

/* Number of consecutive elements that share a channel. */
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
    return launch(c, c->e->kernels.affine, blocks_of_packs(n), arguments);
}

/* Bias, norm and activation after a library's product, if there are any. */
static bool run_epilogue(const struct call *c)
{
    const struct node_weights *w = &c->e->weights[c->step->node];
    if (w->scale == 0 && w->shift == 0 && c->step->function == KERNEL_NONE)
        return true;
    return run_affine(c, c->y);
}

static bool run_conv(const struct call *c)
{
    return executor_convolve(c->e, c->lane, c->step, c->x, c->y, c->error) && run_epilogue(c);
}

static cudaDataType_t real_type(const struct executor *e)
{
    return e->half ? CUDA_R_16F : CUDA_R_32F;
}

/* Products of the rows of X and the rows of W: W' X in the library's column-major order. */
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
    const CUdeviceptr b = executor_place(c->e, c->node->inputs[1]);
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

/* Scores K Q' (column-major order), softmax over keys, then V times the scores. */
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

/* Kernels with parameters (count, x, y, window) and up to two flags. */
static bool run_window(const struct call *c, CUfunction kernel, int first, int second)
{
    size_t n = c->count;
    CUdeviceptr x = c->x;
    CUdeviceptr y = c->y;
    struct kernel_window window = window_of(c->node, c->in);
    void *arguments[] = {&n, &x, &y, &window, &first, &second};
    return launch(c, kernel, blocks_of(n), arguments);
}

/* Sums of more than two inputs run pairwise. The activation applies to the last pair. */
static bool run_binary(const struct call *c)
{
    size_t n = c->count;
    CUdeviceptr a = c->x;
    CUdeviceptr y = c->y;
    int multiply = c->node->kind == GRAPH_MULTIPLY;
    float low = c->step->low;
    float high = c->step->high;
    for (size_t i = 1; i < c->node->input_count; i++) {
        CUdeviceptr b = executor_place(c->e, c->node->inputs[i]);
        int function = i + 1 == c->node->input_count ? c->step->function : KERNEL_NONE;
        void *arguments[] = {&n, &a, &b, &y, &multiply, &function, &low, &high};
        if (!launch(c, c->e->kernels.binary, blocks_of_packs(n), arguments))
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
        if (!run_rows(c, executor_place(c->e, c->node->inputs[i]), (size_t)graph_elements(in),
                      width, pitch, offset, 0))
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

static bool run_layer_norm(const struct call *c)
{
    const struct node_weights *w = &c->e->weights[c->step->node];
    CUdeviceptr x = c->x;
    CUdeviceptr y = c->y;
    CUdeviceptr scale = w->scale;
    CUdeviceptr shift = w->shift;
    int length = channels_of(c->in);
    float epsilon = (float)c->node->attributes.epsilon;
    void *arguments[] = {&x, &y, &length, &epsilon, &scale, &shift};
    return launch(c, c->e->kernels.layer_norm, c->count / (size_t)length, arguments);
}

/* Computes partial sums of planes, then normalizes each part. */
static bool run_instance_norm(const struct call *c)
{
    const struct node_weights *w = &c->e->weights[c->step->node];
    CUdeviceptr x = c->x;
    CUdeviceptr y = c->y;
    CUdeviceptr sums = c->step->sums;
    CUdeviceptr scale = w->scale;
    CUdeviceptr shift = w->shift;
    int length = inner_of(c->in);
    int channels = channels_of(c->in);
    const size_t planes = c->count / (size_t)length;
    int parts = kernel_parts(planes, length);
    float epsilon = (float)c->node->attributes.epsilon;
    int function = c->step->function;
    float low = c->step->low;
    float high = c->step->high;
    void *first[] = {&x, &sums, &length, &parts};
    void *then[] = {&x,     &y,     &sums,     &length,   &parts, &epsilon,
                    &scale, &shift, &channels, &function, &low,   &high};
    return launch(c, c->e->kernels.plane_sums, planes * (size_t)parts, first) &&
           launch(c, c->e->kernels.instance_norm, planes * (size_t)parts, then);
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
        return run_instance_norm(c);
    case GRAPH_LAYER_NORM:
        return run_layer_norm(c);
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

bool executor_run(const struct executor *e, const struct partition_stream *lane,
                  struct error *error)
{
    if (!partition_stream_enter(lane, error))
        return false;
    for (size_t s = 0; s < e->step_count; s++) {
        const struct graph_node *node = &e->graph->nodes[e->steps[s].node];
        const struct call call = {
            .e = e,
            .lane = lane,
            .step = &e->steps[s],
            .node = node,
            .in = &e->graph->nodes[node->inputs[0]].shape,
            .x = executor_place(e, node->inputs[0]),
            .y = executor_place(e, e->steps[s].node),
            .count = (size_t)graph_elements(&node->shape),
            .error = error,
        };
        if (!run_step(&call))
            return false;
    }
    return true;
}
