/* Convolutions by cuDNN: choice of algorithms, and calls. */
#include "traces/capture/executor/executor_parts.h"

static const size_t WORKSPACE_LIMIT = (size_t)1 << 30;

/* ---- Descriptors ----------------------------------------------------------------------------- */

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

/* A transposed convolution is the gradient of a convolution from its output to its input. The input
 * channels are therefore the filter's first dimension. */
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

/* ---- Algorithms ------------------------------------------------------------------------------ */

/* A proposal of cuDNN for a convolution or a transposed one. */
struct proposal {
    int algorithm;
    cudnnMathType_t arithmetic;
    cudnnStatus_t status;
};

enum {
    PROPOSALS = (int)CUDNN_CONVOLUTION_FWD_ALGO_COUNT > (int)CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT
                    ? (int)CUDNN_CONVOLUTION_FWD_ALGO_COUNT
                    : (int)CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT
};

static bool propose_forward(const struct executor *e, const struct partition_stream *lane,
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
        proposals[i] = (struct proposal){(int)found[i].algo, found[i].mathType, found[i].status};
    return true;
}

static bool propose_backward(const struct executor *e, const struct partition_stream *lane,
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
        proposals[i] = (struct proposal){(int)found[i].algo, found[i].mathType, found[i].status};
    return true;
}

static cudnnStatus_t workspace_of(const struct executor *e, const struct partition_stream *lane,
                                  const struct step *step, bool forward, size_t *bytes)
{
    const struct device_api *api = &e->device->api;
    return forward ? api->cudnnGetConvolutionForwardWorkspaceSize(
                         lane->cudnn, step->in, step->filter, step->convolution, step->out,
                         (cudnnConvolutionFwdAlgo_t)step->algorithm, bytes)
                   : api->cudnnGetConvolutionBackwardDataWorkspaceSize(
                         lane->cudnn, step->filter, step->in, step->convolution, step->out,
                         (cudnnConvolutionBwdDataAlgo_t)step->algorithm, bytes);
}

/* Sets the algorithm's math type and allocates its workspace. Returns false with the reason if the
 * algorithm is unsuitable. */
static bool prepare_algorithm(struct executor *e, const struct partition_stream *lane,
                              struct step *step, bool forward, const struct proposal *proposal,
                              struct error *error)
{
    const struct device *device = e->device;
    step->algorithm = proposal->algorithm;
    step->arithmetic = proposal->arithmetic;
    step->workspace_bytes = 0;
    if (!device_check_cudnn(device, proposal->status, "the proposal", error) ||
        !device_check_cudnn(
            device,
            device->api.cudnnSetConvolutionMathType(step->convolution, proposal->arithmetic),
            "its arithmetic", error) ||
        !device_check_cudnn(device, workspace_of(e, lane, step, forward, &step->workspace_bytes),
                            "its workspace", error))
        return false;
    if (step->workspace_bytes > WORKSPACE_LIMIT)
        return error_run(error, "it wants a workspace of %zu bytes", step->workspace_bytes);
    return executor_take_workspace(e, step->workspace_bytes, error);
}

/* Some algorithms that cuDNN proposes fail when they run. Each is therefore run once on
 * the lane. */
enum verdict { ACCEPTED, REFUSED, BROKEN };

static enum verdict try_algorithm(struct executor *e, const struct partition_stream *lane,
                                  struct step *step, bool forward, const struct proposal *proposal,
                                  struct error *error)
{
    const struct graph_node *node = &e->graph->nodes[step->node];
    if (!prepare_algorithm(e, lane, step, forward, proposal, error))
        return REFUSED;
    const bool ran = executor_convolve(e, lane, step, executor_place(e, node->inputs[0]),
                                       executor_place(e, step->node), error);
    /* After a fault in a kernel every call fails, so trying other algorithms is useless. */
    if (!device_check(e->device, e->device->api.cuStreamSynchronize(lane->partition.stream),
                      "the device fails", error))
        return BROKEN;
    return ran ? ACCEPTED : REFUSED;
}

/* Chooses the first of cuDNN's proposals that runs. */
static bool choose_algorithm(struct executor *e, const struct partition_stream *lane,
                             struct step *step, struct error *error)
{
    const struct graph_node *node = &e->graph->nodes[step->node];
    const bool forward = node->kind == GRAPH_CONV;
    struct proposal proposals[PROPOSALS];
    struct error refused = {0};
    int count = 0;
    if (!(forward ? propose_forward(e, lane, step, proposals, &count, error)
                  : propose_backward(e, lane, step, proposals, &count, error)))
        return false;
    for (int i = 0; i < count; i++)
        switch (try_algorithm(e, lane, step, forward, &proposals[i], &refused)) {
        case ACCEPTED:
            return true;
        case BROKEN:
            return error_run(error, "capture: %s: layer \"%s\", algorithm %d: %s", e->graph->name,
                             node->name, proposals[i].algorithm, device_reason(&refused));
        case REFUSED:
            break;
        }
    return error_run(error,
                     "capture: %s: layer \"%s\": all %d algorithms that cuDNN proposes fail, the "
                     "last, %d: %s",
                     e->graph->name, node->name, count,
                     count == 0 ? -1 : proposals[count - 1].algorithm, device_reason(&refused));
}

/* The algorithm was already tried for the same convolution. */
static bool copy_algorithm(struct executor *e, struct step *step, const struct step *like,
                           struct error *error)
{
    step->algorithm = like->algorithm;
    step->arithmetic = like->arithmetic;
    step->workspace_bytes = like->workspace_bytes;
    return device_check_cudnn(
        e->device, e->device->api.cudnnSetConvolutionMathType(step->convolution, step->arithmetic),
        "a convolution's arithmetic", error);
}

static bool plan_convolution(struct executor *e, const struct partition_stream *lane,
                             struct step *step, struct error *error)
{
    const struct graph_node *node = &e->graph->nodes[step->node];
    return describe_tensor(e, &e->graph->nodes[node->inputs[0]].shape, &step->in, error) &&
           describe_tensor(e, &node->shape, &step->out, error) &&
           describe_filter(e, node, step, error) && describe_convolution(e, node, step, error) &&
           (e->kin.like != NULL
                ? copy_algorithm(e, step, &e->kin.like->steps[step - e->steps], error)
                : choose_algorithm(e, lane, step, error));
}

/* cuDNN proposes algorithms for the context in which it is called, so it is called on the lane. */
bool executor_plan_convolutions(struct executor *e, const struct partition_stream *lane,
                                struct error *error)
{
    bool good =
        partition_stream_enter(lane, error) &&
        (e->kin.like == NULL || executor_take_workspace(e, e->kin.like->workspace_bytes, error));
    for (size_t s = 0; good && s < e->step_count; s++)
        if (executor_convolves(e->graph->nodes[e->steps[s].node].kind))
            good = plan_convolution(e, lane, &e->steps[s], error);
    partition_stream_leave(lane);
    return good;
}

void executor_free_convolution(const struct executor *e, struct step *step)
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
}

bool executor_convolve(const struct executor *e, const struct partition_stream *lane,
                       const struct step *step, CUdeviceptr x, CUdeviceptr y, struct error *error)
{
    const struct device_api *api = &e->device->api;
    const struct graph_node *node = &e->graph->nodes[step->node];
    const float one = 1;
    const float zero = 0;
    const void *from = (const void *)x;
    void *to = (void *)y;
    const void *filters = (const void *)e->weights[step->node].matrix;
    void *workspace = (void *)e->workspace;
    const cudnnStatus_t status =
        node->kind == GRAPH_CONV
            ? api->cudnnConvolutionForward(lane->cudnn, &one, step->in, from, step->filter, filters,
                                           step->convolution,
                                           (cudnnConvolutionFwdAlgo_t)step->algorithm, workspace,
                                           e->workspace_bytes, &zero, step->out, to)
            : api->cudnnConvolutionBackwardData(
                  lane->cudnn, &one, step->filter, filters, step->in, from, step->convolution,
                  (cudnnConvolutionBwdDataAlgo_t)step->algorithm, workspace, e->workspace_bytes,
                  &zero, step->out, to);
    return device_check_cudnn(e->device, status, node->name, error);
}
