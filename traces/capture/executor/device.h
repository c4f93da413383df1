/* The CUDA libraries, loaded at run time.
 *
 * The program links to none of them. It therefore builds, and plans captures, on a machine without
 * a GPU. At run time it searches these places, in this order:
 *   1. the folders of ESGSIM_CUDA_LIBRARIES (separated by ":"),
 *   2. the loader's search path,
 *   3. the folders of a CUDA toolkit and of a PyTorch installation.
 */
#ifndef ESGSIM_TRACES_CAPTURE_EXECUTOR_DEVICE_H
#define ESGSIM_TRACES_CAPTURE_EXECUTOR_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include <cublas_v2.h>
#include <cuda.h>
#include <cudnn.h>

#include "sim/error.h"
#include "traces/capture/executor/slices.h"

#define DEVICE_DRIVER_FUNCTIONS(X)                                                                 \
    X(cuInit)                                                                                      \
    X(cuDriverGetVersion)                                                                          \
    X(cuDeviceGet)                                                                                 \
    X(cuDeviceGetCount)                                                                            \
    X(cuDeviceGetName)                                                                             \
    X(cuDeviceGetAttribute)                                                                        \
    X(cuDeviceTotalMem)                                                                            \
    X(cuDeviceGetPCIBusId)                                                                         \
    X(cuDevicePrimaryCtxRetain)                                                                    \
    X(cuDevicePrimaryCtxRelease)                                                                   \
    X(cuCtxSetCurrent)                                                                             \
    X(cuCtxSynchronize)                                                                            \
    X(cuMemGetInfo)                                                                                \
    X(cuMemAlloc)                                                                                  \
    X(cuMemFree)                                                                                   \
    X(cuMemAllocHost)                                                                              \
    X(cuMemFreeHost)                                                                               \
    X(cuMemcpyHtoD)                                                                                \
    X(cuMemcpyDtoH)                                                                                \
    X(cuMemcpyHtoDAsync)                                                                           \
    X(cuMemcpyDtoHAsync)                                                                           \
    X(cuMemcpyDtoD)                                                                                \
    X(cuMemcpyDtoDAsync)                                                                           \
    X(cuLibraryLoadData)                                                                           \
    X(cuLibraryUnload)                                                                             \
    X(cuLibraryGetKernel)                                                                          \
    X(cuLaunchKernel)                                                                              \
    X(cuStreamCreate)                                                                              \
    X(cuStreamDestroy)                                                                             \
    X(cuStreamSynchronize)                                                                         \
    X(cuStreamQuery)                                                                               \
    X(cuStreamBeginCapture)                                                                        \
    X(cuStreamEndCapture)                                                                          \
    X(cuGraphInstantiate)                                                                          \
    X(cuGraphUpload)                                                                               \
    X(cuGraphLaunch)                                                                               \
    X(cuGraphExecDestroy)                                                                          \
    X(cuGraphDestroy)                                                                              \
    X(cuEventCreate)                                                                               \
    X(cuEventDestroy)                                                                              \
    X(cuEventRecord)                                                                               \
    X(cuEventSynchronize)                                                                          \
    X(cuEventQuery)                                                                                \
    X(cuEventElapsedTime)                                                                          \
    X(cuGetErrorString)

/* Available since CUDA 12.4. NULL under an older driver, which has no green contexts. */
#define DEVICE_GREEN_FUNCTIONS(X)                                                                  \
    X(cuDeviceGetDevResource)                                                                      \
    X(cuDevSmResourceSplitByCount)                                                                 \
    X(cuDevResourceGenerateDesc)                                                                   \
    X(cuGreenCtxCreate)                                                                            \
    X(cuGreenCtxDestroy)                                                                           \
    X(cuCtxFromGreenCtx)                                                                           \
    X(cuGreenCtxStreamCreate)

#define DEVICE_CUDNN_FUNCTIONS(X)                                                                  \
    X(cudnnGetVersion)                                                                             \
    X(cudnnGetErrorString)                                                                         \
    X(cudnnCreate)                                                                                 \
    X(cudnnDestroy)                                                                                \
    X(cudnnSetStream)                                                                              \
    X(cudnnCreateTensorDescriptor)                                                                 \
    X(cudnnDestroyTensorDescriptor)                                                                \
    X(cudnnSetTensor4dDescriptor)                                                                  \
    X(cudnnCreateFilterDescriptor)                                                                 \
    X(cudnnDestroyFilterDescriptor)                                                                \
    X(cudnnSetFilter4dDescriptor)                                                                  \
    X(cudnnCreateConvolutionDescriptor)                                                            \
    X(cudnnDestroyConvolutionDescriptor)                                                           \
    X(cudnnSetConvolution2dDescriptor)                                                             \
    X(cudnnSetConvolutionGroupCount)                                                               \
    X(cudnnSetConvolutionMathType)                                                                 \
    X(cudnnGetConvolutionForwardAlgorithm_v7)                                                      \
    X(cudnnGetConvolutionBackwardDataAlgorithm_v7)                                                 \
    X(cudnnGetConvolutionForwardWorkspaceSize)                                                     \
    X(cudnnGetConvolutionBackwardDataWorkspaceSize)                                                \
    X(cudnnConvolutionForward)                                                                     \
    X(cudnnConvolutionBackwardData)

#define DEVICE_CUBLAS_FUNCTIONS(X)                                                                 \
    X(cublasCreate)                                                                                \
    X(cublasDestroy)                                                                               \
    X(cublasGetVersion)                                                                            \
    X(cublasSetStream)                                                                             \
    X(cublasSetWorkspace)                                                                          \
    X(cublasGemmEx)                                                                                \
    X(cublasGemmBatchedEx)                                                                         \
    X(cublasGemmStridedBatchedEx)

#define DEVICE_MEMBER(name) __typeof__(&(name)) name;

/* Function pointers under the libraries' own names: a call reads device->api.cuInit(0). The CUDA
 * headers rename some functions by macro (cuMemAlloc to cuMemAlloc_v2). The macro renames member
 * and symbol alike. */
struct device_api {
    DEVICE_DRIVER_FUNCTIONS(DEVICE_MEMBER)
    DEVICE_MEMBER(cudnnGetLastErrorString) /* NULL if cuDNN lacks it */
    DEVICE_GREEN_FUNCTIONS(DEVICE_MEMBER)
    DEVICE_CUDNN_FUNCTIONS(DEVICE_MEMBER)
    DEVICE_CUBLAS_FUNCTIONS(DEVICE_MEMBER)
};

/* How work is submitted to a green context. GREEN_BY_STREAM: in a stream of the green context,
 * while the primary context is current; a kernel executes in the context of its stream.
 * GREEN_BY_CONTEXT: the green context is current as well. Library handles and events belong to the
 * context that is current when they are created. */
enum green_mode { GREEN_UNTRIED, GREEN_BY_STREAM, GREEN_BY_CONTEXT };

/* "untried", "stream", "context". */
const char *green_mode_name(enum green_mode mode);

struct device {
    struct device_api api;
    void *libraries[8]; /* opened libraries; unused entries are NULL */
    CUdevice handle;
    CUcontext context; /* the primary context, retained and current */
    CUlibrary kernels; /* esgsim's kernels, for every context; NULL until device_load_kernels */
    CUdevResource groups[SLICES_GROUPS]; /* groups of one split; see device_split */
    unsigned group_count;
    enum green_mode green_mode; /* chosen by the first green partition stream (lane.h) */
    char name[128];
    int sms;
    int major, minor;
    int clock_khz, memory_clock_khz;
    int driver_version;
    size_t memory_bytes;
    double libraries_ms, context_ms, module_ms; /* duration of each step of device_open */
};

/* Opens the driver, cuDNN, cuBLAS, and device 0 with its primary context. Returns false with
 * ERROR_RUN if a library, function or device is missing. The message lists the places searched. */
bool device_open(struct device *device, struct error *error);
/* Loads esgsim's kernels. */
bool device_load_kernels(struct device *device, struct error *error);
void device_close(struct device *device);

/* Returns true for CUDA_SUCCESS. Otherwise returns false with ERROR_RUN "WHAT: the
 * library's text". */
bool device_check(const struct device *device, CUresult result, const char *what,
                  struct error *error);
bool device_check_cudnn(const struct device *device, cudnnStatus_t status, const char *what,
                        struct error *error);
bool device_check_cublas(cublasStatus_t status, const char *what, struct error *error);
/* The error's text without the prefix "capture: ", for use inside another message. */
const char *device_reason(const struct error *error);

/* Looks up one of esgsim's kernels by its symbol. NULL with an error if the module lacks it. */
CUfunction device_symbol(const struct device *device, const char *symbol, struct error *error);
/* Looks up the kernel NAME_f32 or, with `half`, NAME_f16. */
CUfunction device_kernel(const struct device *device, const char *name, bool half,
                         struct error *error);

/* Splits the multiprocessors once into the smallest groups that the driver allows: device->groups.
 * Returns false with ERROR_RUN if the driver has no green contexts or refuses the split. */
bool device_split(struct device *device, struct error *error);

/* A partition of the device: the whole device, or a green context on some multiprocessors. */
struct partition {
    CUgreenCtx green_context;
    CUcontext context; /* context of the partition; partition_enter chooses which one is current */
    CUstream stream;
    bool green;
    uint64_t groups; /* bit set of groups of the split; 0: the whole device */
    int sms;         /* multiprocessors of the partition */
};

/* Creates a partition. `groups` is a bit set of the split's groups (slices.h); 0 is the whole
 * device. Partitions with disjoint groups share no multiprocessor. On failure nothing is left to
 * destroy. */
bool partition_create(struct device *device, uint64_t groups, struct partition *partition,
                      struct error *error);
void partition_destroy(struct device *device, struct partition *partition);

/* Makes current, in this thread, the context from which work is enqueued to the partition. That is
 * the primary context, or the green context if the device's mode is GREEN_BY_CONTEXT. A green
 * context can be current in only one thread at a time. partition_leave makes the primary context
 * current again. */
bool partition_enter(const struct device *device, const struct partition *partition,
                     struct error *error);
void partition_leave(const struct device *device);

#endif
