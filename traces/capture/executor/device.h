/* The CUDA libraries, found and opened when the program runs.
 *
 * The program is linked with none of them: it builds and plans where no GPU is, and on a machine
 * that was not made for it takes them from wherever they lie: the loader's path, a toolkit, or the
 * folders that a PyTorch brings along. ESGSIM_CUDA_LIBRARIES (folders, ":" between) comes first.
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

/* Since CUDA 12.4; NULL under an older driver, where there are no green contexts. */
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

/* Function pointers by the libraries' own names, so that a call reads device->api.cuInit(0). The
 * headers rename some by macro (cuMemAlloc to cuMemAlloc_v2): member and symbol follow. */
struct device_api {
    DEVICE_DRIVER_FUNCTIONS(DEVICE_MEMBER)
    DEVICE_MEMBER(cudnnGetLastErrorString) /* NULL where cuDNN has none */
    DEVICE_GREEN_FUNCTIONS(DEVICE_MEMBER)
    DEVICE_CUDNN_FUNCTIONS(DEVICE_MEMBER)
    DEVICE_CUBLAS_FUNCTIONS(DEVICE_MEMBER)
};

/* How work reaches a green context. By its stream alone, with the primary context current: a kernel
 * executes in the context of its stream. Or with the green context current as well. Handles of the
 * libraries and events belong to the context that is current when they are made. */
enum green_mode { GREEN_UNTRIED, GREEN_BY_STREAM, GREEN_BY_CONTEXT };

/* "untried", "stream", "context". */
const char *green_mode_name(enum green_mode mode);

struct device {
    struct device_api api;
    void *libraries[8]; /* opened; the last are NULL */
    CUdevice handle;
    CUcontext context; /* the primary one, retained and current */
    CUlibrary kernels; /* ours, for every context; NULL until device_load_kernels */
    CUdevResource groups[SLICES_GROUPS]; /* of one split; see device_split */
    unsigned group_count;
    enum green_mode green_mode; /* chosen by the first green lane (lane.h) */
    char name[128];
    int sms;
    int major, minor;
    int clock_khz, memory_clock_khz;
    int driver_version;
    size_t memory_bytes;
    double libraries_ms, context_ms, module_ms; /* what each step of opening took */
};

/* Opens driver, cuDNN and cuBLAS, and device 0 with its primary context. False with ERROR_RUN where
 * a library, function or device is missing; says where it was looked for. */
bool device_open(struct device *device, struct error *error);
/* Loads our kernels. */
bool device_load_kernels(struct device *device, struct error *error);
void device_close(struct device *device);

/* True for success; else ERROR_RUN "WHAT: the library's text". */
bool device_check(const struct device *device, CUresult result, const char *what,
                  struct error *error);
bool device_check_cudnn(const struct device *device, cudnnStatus_t status, const char *what,
                        struct error *error);
bool device_check_cublas(cublasStatus_t status, const char *what, struct error *error);
/* The error's text without "capture: ", for one within another. */
const char *device_reason(const struct error *error);

/* A kernel of ours by its symbol; NULL with an error where the module has none. */
CUfunction device_symbol(const struct device *device, const char *symbol, struct error *error);
/* The same of NAME_f32 or NAME_f16. */
CUfunction device_kernel(const struct device *device, const char *name, bool half,
                         struct error *error);

/* Splits the multiprocessors into the smallest groups there are, once: device->groups. False with
 * ERROR_RUN where the driver has no green contexts or refuses. */
bool device_split(struct device *device, struct error *error);

/* A part of the device: all of it, or a green context of some of its multiprocessors. */
struct partition {
    CUgreenCtx green_context;
    CUcontext context; /* of the part; partition_enter says which one is to be current */
    CUstream stream;
    bool green;
    uint64_t groups; /* of the split, as bits; 0: the whole device */
    int sms;         /* that it came to */
};

/* `groups`: those of the split, as bits (slices.h); 0: the whole device. Partitions without a group
 * in common share no multiprocessor. On failure none is left. */
bool partition_create(struct device *device, uint64_t groups, struct partition *partition,
                      struct error *error);
void partition_destroy(struct device *device, struct partition *partition);

/* Makes the context current in this thread from which work is enqueued to the partition: the
 * primary one, or the green one where the device's mode is GREEN_BY_CONTEXT. A green context can be
 * current in one thread only: partition_leave makes the primary context current again. */
bool partition_enter(const struct device *device, const struct partition *partition,
                     struct error *error);
void partition_leave(const struct device *device);

#endif
