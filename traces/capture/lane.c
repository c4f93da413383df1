#include "traces/capture/lane.h"

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
