/* cuDNN: descriptors, proposals of algorithms, convolutions.
 *
 * The proposals vary with the shape, so that a program that uses the first proposal untested fails.
 * Some proposals cannot run, some need an excessive workspace, and each requires its own math type.
 */
#include <stdio.h>
#include <string.h>

#include "tests/cuda/stand_in.h"

enum { PROPOSALS = 4 };

struct tensor {
    struct handle handle;
    bool set, half;
    int dims[4];
};

struct convolution_description {
    struct handle handle;
    bool set;
    int pad[2], stride[2], dilation[2], groups;
    cudnnMathType_t arithmetic;
};

size_t cudnnGetVersion(void)
{
    return CUDNN_VERSION;
}

const char *cudnnGetErrorString(cudnnStatus_t status)
{
    switch (status) {
    case CUDNN_STATUS_SUCCESS:
        return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_BAD_PARAM:
        return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_NOT_SUPPORTED:
        return "CUDNN_STATUS_NOT_SUPPORTED";
    case CUDNN_STATUS_NOT_INITIALIZED:
        return "CUDNN_STATUS_NOT_INITIALIZED";
    case CUDNN_STATUS_EXECUTION_FAILED:
        return "CUDNN_STATUS_EXECUTION_FAILED";
    default:
        return "CUDNN_STATUS_INTERNAL_ERROR";
    }
}

static cudnnStatus_t leave_with(cudnnStatus_t status)
{
    (void)leave(CUDA_SUCCESS);
    return status;
}

static cudnnStatus_t enter_cudnn(const char *function)
{
    return enter(function, NEED_CONTEXT) == CUDA_SUCCESS ? CUDNN_STATUS_SUCCESS
                                                         : CUDNN_STATUS_EXECUTION_FAILED;
}

/* ---- Handles --------------------------------------------------------------------------------- */

cudnnStatus_t cudnnCreate(cudnnHandle_t *place)
{
    enum { WORKSPACE_MIB = 8 };
    const cudnnStatus_t status = enter_cudnn("cudnnCreate");
    if (status != CUDNN_STATUS_SUCCESS)
        return leave_with(status);
    if (settings()->refuse_create && current_context()->green)
        return leave_with(CUDNN_STATUS_NOT_SUPPORTED);
    struct library_handle *made = memory_book((long long)WORKSPACE_MIB << 20)
                                      ? handle_create(HANDLE_CUDNN, sizeof *made)
                                      : NULL;
    if (made == NULL)
        return leave_with(CUDNN_STATUS_ALLOC_FAILED);
    made->context = current_context();
    *place = (cudnnHandle_t)(void *)made;
    return leave_with(CUDNN_STATUS_SUCCESS);
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    enum { WORKSPACE_MIB = 8 };
    const cudnnStatus_t status = enter_cudnn("cudnnDestroy");
    if (status != CUDNN_STATUS_SUCCESS)
        return leave_with(status);
    struct library_handle *found = library_find(handle, HANDLE_CUDNN);
    if (found == NULL)
        return leave_with(CUDNN_STATUS_BAD_PARAM);
    found->handle.alive = false;
    (void)memory_book(-((long long)WORKSPACE_MIB << 20));
    return leave_with(CUDNN_STATUS_SUCCESS);
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    const cudnnStatus_t status = enter_cudnn("cudnnSetStream");
    if (status != CUDNN_STATUS_SUCCESS)
        return leave_with(status);
    struct library_handle *found = library_find(handle, HANDLE_CUDNN);
    if (found == NULL || (stream != NULL && handle_find(stream, HANDLE_STREAM) == NULL))
        return leave_with(CUDNN_STATUS_BAD_PARAM);
    found->stream = stream;
    return leave_with(CUDNN_STATUS_SUCCESS);
}

/* ---- Descriptors ----------------------------------------------------------------------------- */

static cudnnStatus_t create_description(void **place, const char *function, enum handle_kind kind,
                                        size_t size)
{
    (void)enter(function, NEED_NOTHING);
    *place = handle_create(kind, size);
    return leave_with(*place == NULL ? CUDNN_STATUS_ALLOC_FAILED : CUDNN_STATUS_SUCCESS);
}

static cudnnStatus_t destroy_description(const void *handle, const char *function,
                                         enum handle_kind kind)
{
    (void)enter(function, NEED_NOTHING);
    return leave_with(handle_end(handle, kind) == NULL ? CUDNN_STATUS_BAD_PARAM
                                                       : CUDNN_STATUS_SUCCESS);
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *place)
{
    return create_description((void **)place, "cudnnCreateTensorDescriptor", HANDLE_TENSOR,
                              sizeof(struct tensor));
}

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t *place)
{
    return create_description((void **)place, "cudnnCreateFilterDescriptor", HANDLE_FILTER,
                              sizeof(struct tensor));
}

cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t *place)
{
    return create_description((void **)place, "cudnnCreateConvolutionDescriptor",
                              HANDLE_CONVOLUTION, sizeof(struct convolution_description));
}

cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t handle)
{
    return destroy_description(handle, "cudnnDestroyTensorDescriptor", HANDLE_TENSOR);
}

cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t handle)
{
    return destroy_description(handle, "cudnnDestroyFilterDescriptor", HANDLE_FILTER);
}

cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t handle)
{
    return destroy_description(handle, "cudnnDestroyConvolutionDescriptor", HANDLE_CONVOLUTION);
}

static cudnnStatus_t set_tensor(const void *handle, enum handle_kind kind,
                                cudnnTensorFormat_t format, cudnnDataType_t type, const int dims[4])
{
    struct tensor *tensor = handle_find(handle, kind);
    if (tensor == NULL)
        return CUDNN_STATUS_BAD_PARAM;
    if (format != CUDNN_TENSOR_NCHW || (type != CUDNN_DATA_HALF && type != CUDNN_DATA_FLOAT))
        return refuse_cudnn(CUDNN_STATUS_NOT_SUPPORTED, "format %d, type %d", (int)format,
                            (int)type);
    for (int i = 0; i < 4; i++)
        if (dims[i] < 1)
            return refuse_cudnn(CUDNN_STATUS_BAD_PARAM, "dimension %d is %d", i, dims[i]);
    tensor->set = true;
    tensor->half = type == CUDNN_DATA_HALF;
    memcpy(tensor->dims, dims, sizeof tensor->dims);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t format,
                                         cudnnDataType_t type, int n, int c, int h, int w)
{
    const int dims[] = {n, c, h, w};
    (void)enter("cudnnSetTensor4dDescriptor", NEED_NOTHING);
    return leave_with(set_tensor(tensor, HANDLE_TENSOR, format, type, dims));
}

cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int k, int c, int h, int w)
{
    const int dims[] = {k, c, h, w};
    (void)enter("cudnnSetFilter4dDescriptor", NEED_NOTHING);
    return leave_with(set_tensor(filter, HANDLE_FILTER, format, type, dims));
}

cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t handle, int pad_h,
                                              int pad_w, int stride_h, int stride_w, int dilation_h,
                                              int dilation_w, cudnnConvolutionMode_t mode,
                                              cudnnDataType_t type)
{
    (void)enter("cudnnSetConvolution2dDescriptor", NEED_NOTHING);
    struct convolution_description *c = handle_find(handle, HANDLE_CONVOLUTION);
    if (c == NULL)
        return leave_with(CUDNN_STATUS_BAD_PARAM);
    if (pad_h < 0 || pad_w < 0 || stride_h < 1 || stride_w < 1 || dilation_h < 1 ||
        dilation_w < 1 || mode != CUDNN_CROSS_CORRELATION || type != CUDNN_DATA_FLOAT)
        return leave_with(refuse_cudnn(CUDNN_STATUS_BAD_PARAM, "pad %d %d, stride %d %d", pad_h,
                                       pad_w, stride_h, stride_w));
    *c = (struct convolution_description){.handle = c->handle,
                                          .set = true,
                                          .pad = {pad_h, pad_w},
                                          .stride = {stride_h, stride_w},
                                          .dilation = {dilation_h, dilation_w},
                                          .groups = 1};
    return leave_with(CUDNN_STATUS_SUCCESS);
}

cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t handle, int groups)
{
    (void)enter("cudnnSetConvolutionGroupCount", NEED_NOTHING);
    struct convolution_description *c = handle_find(handle, HANDLE_CONVOLUTION);
    if (c == NULL || groups < 1)
        return leave_with(refuse_cudnn(CUDNN_STATUS_BAD_PARAM, "%d groups", groups));
    c->groups = groups;
    return leave_with(CUDNN_STATUS_SUCCESS);
}

cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t handle, cudnnMathType_t type)
{
    (void)enter("cudnnSetConvolutionMathType", NEED_NOTHING);
    struct convolution_description *c = handle_find(handle, HANDLE_CONVOLUTION);
    if (c == NULL || type > CUDNN_FMA_MATH)
        return leave_with(refuse_cudnn(CUDNN_STATUS_BAD_PARAM, "arithmetic %d", (int)type));
    c->arithmetic = type;
    return leave_with(CUDNN_STATUS_SUCCESS);
}

/* ---- Shapes ---------------------------------------------------------------------------------- */

static int out_size(const struct convolution *c, int in, int axis)
{
    return (in + 2 * c->pad[axis] - c->dilation[axis] * (c->kernel[axis] - 1) - 1) /
               c->stride[axis] +
           1;
}

/* Shape of the forward convolution from `in` to `out`. For a backward convolution the gradients'
 * roles are exchanged. */
static bool read_shape(const void *in_handle, const void *filter_handle, const void *handle,
                       const void *out_handle, bool backward, struct convolution *shape)
{
    const struct tensor *in = handle_find(in_handle, HANDLE_TENSOR);
    const struct tensor *out = handle_find(out_handle, HANDLE_TENSOR);
    const struct tensor *filter = handle_find(filter_handle, HANDLE_FILTER);
    const struct convolution_description *c = handle_find(handle, HANDLE_CONVOLUTION);
    if (in == NULL || out == NULL || filter == NULL || c == NULL)
        return false;
    if (!in->set || !out->set || !filter->set || !c->set) {
        fault("a descriptor was not set");
        return false;
    }
    *shape = (struct convolution){
        .half = in->half,
        .backward = backward,
        .items = in->dims[0],
        .channels = in->dims[1],
        .height = in->dims[2],
        .width = in->dims[3],
        .out_channels = out->dims[1],
        .out_height = out->dims[2],
        .out_width = out->dims[3],
        .kernel = {filter->dims[2], filter->dims[3]},
        .pad = {c->pad[0], c->pad[1]},
        .stride = {c->stride[0], c->stride[1]},
        .dilation = {c->dilation[0], c->dilation[1]},
        .groups = c->groups,
    };
    const bool fits = in->dims[0] == out->dims[0] && filter->dims[0] == shape->out_channels &&
                      filter->dims[1] * c->groups == shape->channels &&
                      shape->out_channels % c->groups == 0 &&
                      out_size(shape, shape->height, 0) == shape->out_height &&
                      out_size(shape, shape->width, 1) == shape->out_width &&
                      in->half == out->half && in->half == filter->half;
    if (!fits)
        fault("shapes do not fit: %dx%dx%dx%d by %dx%dx%dx%d in %d groups to %dx%dx%dx%d",
              in->dims[0], in->dims[1], in->dims[2], in->dims[3], filter->dims[0], filter->dims[1],
              filter->dims[2], filter->dims[3], c->groups, out->dims[0], out->dims[1], out->dims[2],
              out->dims[3]);
    return fits;
}

static double count_macs(const struct convolution *c)
{
    return (double)c->items * c->out_channels * c->out_height * c->out_width *
           ((double)c->channels / c->groups) * c->kernel[0] * c->kernel[1];
}

/* ---- Algorithms ------------------------------------------------------------------------------ */

struct proposal {
    int algorithm;
    cudnnStatus_t status;
    cudnnMathType_t arithmetic;
    size_t bytes;
};

/* The order depends on the shape. The last proposal can always run. */
static size_t propose(const struct convolution *c, struct proposal proposals[PROPOSALS])
{
    const cudnnMathType_t fast = c->half ? CUDNN_TENSOR_OP_MATH : CUDNN_DEFAULT_MATH;
    const bool three = c->kernel[0] == 3 && c->kernel[1] == 3 && c->stride[0] == 1;
    const size_t elements = (size_t)c->items * (size_t)c->channels * (size_t)c->height;
    const int precomputed = c->backward ? (int)CUDNN_CONVOLUTION_BWD_DATA_ALGO_1
                                        : (int)CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
    const int plain = c->backward ? (int)CUDNN_CONVOLUTION_BWD_DATA_ALGO_0
                                  : (int)CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM;
    const int winograd = c->backward ? (int)CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED
                                     : (int)CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED;
    const int fourier = c->backward ? (int)CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT
                                    : (int)CUDNN_CONVOLUTION_FWD_ALGO_FFT;
    size_t count = 0;
    if (three)
        proposals[count++] =
            (struct proposal){fourier, CUDNN_STATUS_SUCCESS, CUDNN_FMA_MATH, (size_t)3 << 30};
    if (three && c->groups == 1)
        proposals[count++] =
            (struct proposal){winograd, CUDNN_STATUS_SUCCESS, fast, 1024 + 16 * elements};
    proposals[count++] = (struct proposal){
        precomputed, c->groups > 1 ? CUDNN_STATUS_NOT_SUPPORTED : CUDNN_STATUS_SUCCESS, fast,
        4096 + 8 * elements};
    proposals[count++] = (struct proposal){plain, CUDNN_STATUS_SUCCESS, CUDNN_DEFAULT_MATH, 0};
    return count;
}

/* The proposal of an algorithm with this math type. NULL: cuDNN has none. */
static const struct proposal *find_proposal(const struct convolution *c, int algorithm,
                                            cudnnMathType_t arithmetic,
                                            struct proposal proposals[PROPOSALS])
{
    const size_t count = propose(c, proposals);
    for (size_t i = 0; i < count; i++)
        if (proposals[i].algorithm == algorithm && proposals[i].arithmetic == arithmetic &&
            proposals[i].status == CUDNN_STATUS_SUCCESS)
            return &proposals[i];
    return NULL;
}

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(
    cudnnHandle_t handle, cudnnTensorDescriptor_t in, cudnnFilterDescriptor_t filter,
    cudnnConvolutionDescriptor_t convolution, cudnnTensorDescriptor_t out, int wanted, int *count,
    cudnnConvolutionFwdAlgoPerf_t *found)
{
    struct convolution shape;
    struct proposal proposals[PROPOSALS];
    const cudnnStatus_t status = enter_cudnn("cudnnGetConvolutionForwardAlgorithm_v7");
    if (status != CUDNN_STATUS_SUCCESS)
        return leave_with(status);
    if (library_find(handle, HANDLE_CUDNN) == NULL || wanted < 1 ||
        !read_shape(in, filter, convolution, out, false, &shape))
        return leave_with(CUDNN_STATUS_BAD_PARAM);
    *count = (int)propose(&shape, proposals);
    *count = *count < wanted ? *count : wanted;
    for (int i = 0; i < *count; i++)
        found[i] = (cudnnConvolutionFwdAlgoPerf_t){
            .algo = (cudnnConvolutionFwdAlgo_t)proposals[i].algorithm,
            .status = proposals[i].status,
            .time = -1,
            .memory = proposals[i].bytes,
            .mathType = proposals[i].arithmetic};
    return leave_with(CUDNN_STATUS_SUCCESS);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t handle, cudnnFilterDescriptor_t filter, cudnnTensorDescriptor_t out,
    cudnnConvolutionDescriptor_t convolution, cudnnTensorDescriptor_t in, int wanted, int *count,
    cudnnConvolutionBwdDataAlgoPerf_t *found)
{
    struct convolution shape;
    struct proposal proposals[PROPOSALS];
    const cudnnStatus_t status = enter_cudnn("cudnnGetConvolutionBackwardDataAlgorithm_v7");
    if (status != CUDNN_STATUS_SUCCESS)
        return leave_with(status);
    if (library_find(handle, HANDLE_CUDNN) == NULL || wanted < 1 ||
        !read_shape(in, filter, convolution, out, true, &shape))
        return leave_with(CUDNN_STATUS_BAD_PARAM);
    *count = (int)propose(&shape, proposals);
    *count = *count < wanted ? *count : wanted;
    for (int i = 0; i < *count; i++)
        found[i] = (cudnnConvolutionBwdDataAlgoPerf_t){
            .algo = (cudnnConvolutionBwdDataAlgo_t)proposals[i].algorithm,
            .status = proposals[i].status,
            .time = -1,
            .memory = proposals[i].bytes,
            .mathType = proposals[i].arithmetic};
    return leave_with(CUDNN_STATUS_SUCCESS);
}

/* An unsuitable algorithm is a valid answer, not a fault. */
static cudnnStatus_t workspace_of(const void *in, const void *filter, const void *convolution,
                                  const void *out, bool backward, int algorithm, size_t *bytes)
{
    struct convolution shape;
    struct proposal proposals[PROPOSALS];
    if (!read_shape(in, filter, convolution, out, backward, &shape))
        return CUDNN_STATUS_BAD_PARAM;
    const struct convolution_description *c = handle_find(convolution, HANDLE_CONVOLUTION);
    const struct proposal *found = find_proposal(&shape, algorithm, c->arithmetic, proposals);
    if (found == NULL)
        return CUDNN_STATUS_NOT_SUPPORTED;
    *bytes = found->bytes;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(
    cudnnHandle_t handle, cudnnTensorDescriptor_t in, cudnnFilterDescriptor_t filter,
    cudnnConvolutionDescriptor_t convolution, cudnnTensorDescriptor_t out,
    cudnnConvolutionFwdAlgo_t algorithm, size_t *bytes)
{
    cudnnStatus_t status = enter_cudnn("cudnnGetConvolutionForwardWorkspaceSize");
    if (status == CUDNN_STATUS_SUCCESS)
        status = library_find(handle, HANDLE_CUDNN) == NULL
                     ? CUDNN_STATUS_BAD_PARAM
                     : workspace_of(in, filter, convolution, out, false, (int)algorithm, bytes);
    return leave_with(status);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t handle, cudnnFilterDescriptor_t filter, cudnnTensorDescriptor_t out,
    cudnnConvolutionDescriptor_t convolution, cudnnTensorDescriptor_t in,
    cudnnConvolutionBwdDataAlgo_t algorithm, size_t *bytes)
{
    cudnnStatus_t status = enter_cudnn("cudnnGetConvolutionBackwardDataWorkspaceSize");
    if (status == CUDNN_STATUS_SUCCESS)
        status = library_find(handle, HANDLE_CUDNN) == NULL
                     ? CUDNN_STATUS_BAD_PARAM
                     : workspace_of(in, filter, convolution, out, true, (int)algorithm, bytes);
    return leave_with(status);
}

/* ---- Convolutions ---------------------------------------------------------------------------- */

struct operands {
    const void *x, *filters;
    void *y, *workspace;
    size_t workspace_bytes;
    float alpha, beta;
};

static bool check_operands(const struct convolution *c, struct stream *stream,
                           const struct operands *o, size_t wanted_bytes)
{
    const size_t element = c->half ? 2 : 4;
    const size_t in =
        (size_t)c->items * (size_t)c->channels * (size_t)c->height * (size_t)c->width * element;
    const size_t out = (size_t)c->items * (size_t)c->out_channels * (size_t)c->out_height *
                       (size_t)c->out_width * element;
    const size_t filters = (size_t)c->out_channels * (size_t)(c->channels / c->groups) *
                           (size_t)(c->kernel[0] * c->kernel[1]) * element;
    if (o->workspace_bytes < wanted_bytes)
        fault("a workspace of %zu bytes, %zu are wanted", o->workspace_bytes, wanted_bytes);
    if (o->alpha != 1 || o->beta != 0)
        fault("factors %g and %g are not made up for", (double)o->alpha, (double)o->beta);
    return o->workspace_bytes >= wanted_bytes && memory_aligned((CUdeviceptr)o->x, 16, "x") &&
           memory_aligned((CUdeviceptr)o->filters, 16, "filters") &&
           memory_aligned((CUdeviceptr)o->y, 16, "y") &&
           memory_aligned((CUdeviceptr)o->workspace, 16, "workspace") &&
           memory_access(stream, (CUdeviceptr)o->x, c->backward ? out : in, false, "x") &&
           memory_access(stream, (CUdeviceptr)o->filters, filters, false, "filters") &&
           memory_access(stream, (CUdeviceptr)o->y, c->backward ? in : out, true, "y") &&
           (wanted_bytes == 0 ||
            memory_access(stream, (CUdeviceptr)o->workspace, wanted_bytes, true, "workspace"));
}

/* True for the first proposal with a moderate workspace. The last proposal never counts. */
static bool is_first(const struct convolution *shape, const struct proposal *proposal)
{
    static const size_t most = (size_t)1 << 30;
    struct proposal proposals[PROPOSALS];
    const size_t count = propose(shape, proposals);
    for (size_t i = 0; i + 1 < count; i++)
        if (proposals[i].status == CUDNN_STATUS_SUCCESS && proposals[i].bytes <= most)
            return proposals[i].algorithm == proposal->algorithm;
    return false;
}

static const char *last_error = "";

void cudnnGetLastErrorString(char *message, size_t room)
{
    (void)snprintf(message, room, "%s", last_error);
    last_error = "";
}

/* Fails as STAND_IN_ALGORITHM requests. */
static cudnnStatus_t fail_as_asked(const struct convolution *shape, const struct proposal *proposal)
{
    const bool first = is_first(shape, proposal);
    if (settings()->algorithm == ALGORITHM_BREAKS && first)
        break_device();
    if (settings()->algorithm != ALGORITHM_ALL_FAIL &&
        (settings()->algorithm != ALGORITHM_FAILS || !first))
        return CUDNN_STATUS_SUCCESS;
    last_error = "the algorithm was told to fail";
    return CUDNN_STATUS_EXECUTION_FAILED;
}

struct call {
    struct convolution shape;
    struct operands operands;
    size_t workspace_bytes; /* needed by the algorithm */
};

static bool run_convolution(struct stream *stream, const void *data)
{
    const struct call *c = data;
    if (!check_operands(&c->shape, stream, &c->operands, c->workspace_bytes))
        return false;
    const double macs = count_macs(&c->shape);
    if (macs <= settings()->compute)
        convolution_run(&c->shape, c->operands.x, c->operands.filters, c->operands.y);
    stream_issue(stream, macs, settings()->floor_ms);
    count_launch();
    return true;
}

static cudnnStatus_t convolve(cudnnHandle_t handle, const struct convolution *shape, int algorithm,
                              cudnnMathType_t arithmetic, const struct operands *operands)
{
    struct proposal proposals[PROPOSALS];
    const struct library_handle *library = library_find(handle, HANDLE_CUDNN);
    struct stream *stream = library == NULL ? NULL : stream_find(library->stream);
    if (stream == NULL)
        return CUDNN_STATUS_BAD_PARAM;
    if (library_refuses(stream))
        return CUDNN_STATUS_EXECUTION_FAILED;
    const struct proposal *proposal = find_proposal(shape, algorithm, arithmetic, proposals);
    if (proposal == NULL)
        return refuse_cudnn(CUDNN_STATUS_NOT_SUPPORTED, "algorithm %d in arithmetic %d", algorithm,
                            (int)arithmetic);
    if (fail_as_asked(shape, proposal) != CUDNN_STATUS_SUCCESS)
        return CUDNN_STATUS_EXECUTION_FAILED;
    const struct call call = {*shape, *operands, proposal->bytes};
    if (stream_records(stream, run_convolution, &call, sizeof call))
        return CUDNN_STATUS_SUCCESS;
    return run_convolution(stream, &call) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void *alpha,
                                      cudnnTensorDescriptor_t in, const void *x,
                                      cudnnFilterDescriptor_t filter, const void *filters,
                                      cudnnConvolutionDescriptor_t convolution,
                                      cudnnConvolutionFwdAlgo_t algorithm, void *workspace,
                                      size_t workspace_bytes, const void *beta,
                                      cudnnTensorDescriptor_t out, void *y)
{
    struct convolution shape;
    cudnnStatus_t status = enter_cudnn("cudnnConvolutionForward");
    if (status != CUDNN_STATUS_SUCCESS)
        return leave_with(status);
    if (!read_shape(in, filter, convolution, out, false, &shape))
        return leave_with(CUDNN_STATUS_BAD_PARAM);
    const struct operands operands = {
        x, filters, y, workspace, workspace_bytes, *(const float *)alpha, *(const float *)beta};
    const struct convolution_description *c = handle_find(convolution, HANDLE_CONVOLUTION);
    status = convolve(handle, &shape, (int)algorithm, c->arithmetic, &operands);
    return leave_with(status);
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void *alpha,
                                           cudnnFilterDescriptor_t filter, const void *filters,
                                           cudnnTensorDescriptor_t out, const void *x,
                                           cudnnConvolutionDescriptor_t convolution,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void *workspace,
                                           size_t workspace_bytes, const void *beta,
                                           cudnnTensorDescriptor_t in, void *y)
{
    struct convolution shape;
    cudnnStatus_t status = enter_cudnn("cudnnConvolutionBackwardData");
    if (status != CUDNN_STATUS_SUCCESS)
        return leave_with(status);
    if (!read_shape(in, filter, convolution, out, true, &shape))
        return leave_with(CUDNN_STATUS_BAD_PARAM);
    const struct operands operands = {
        x, filters, y, workspace, workspace_bytes, *(const float *)alpha, *(const float *)beta};
    const struct convolution_description *c = handle_find(convolution, HANDLE_CONVOLUTION);
    status = convolve(handle, &shape, (int)algorithm, c->arithmetic, &operands);
    return leave_with(status);
}
