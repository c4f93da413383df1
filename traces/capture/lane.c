#include "traces/capture/lane.h"

static void destroy_handles(struct lane *lane)
{
    if (lane->cublas != NULL)
        (void)lane->device->api.cublasDestroy(lane->cublas);
    if (lane->cudnn != NULL)
        (void)lane->device->api.cudnnDestroy(lane->cudnn);
    if (lane->workspace != 0)
        (void)lane->device->api.cuMemFree(lane->workspace);
    lane->cublas = NULL;
    lane->cudnn = NULL;
    lane->workspace = 0;
}

static bool make_handles(struct lane *lane, struct error *error)
{
    const struct device *device = lane->device;
    const struct device_api *api = &device->api;
    CUstream stream = lane->partition.stream;
    return device_check_cudnn(device, api->cudnnCreate(&lane->cudnn), "cuDNN", error) &&
           device_check_cudnn(device, api->cudnnSetStream(lane->cudnn, stream), "cuDNN's stream",
                              error) &&
           device_check_cublas(api->cublasCreate(&lane->cublas), "cuBLAS", error) &&
           device_check_cublas(api->cublasSetStream(lane->cublas, stream), "cuBLAS's stream",
                               error);
}

bool lane_create(struct device *device, const struct partition *partition, struct lane *lane,
                 struct error *error)
{
    *lane = (struct lane){.device = device, .partition = *partition};
    if (partition->green && device->green_mode == GREEN_UNTRIED)
        device->green_mode = GREEN_BY_STREAM;
    const bool good = lane_enter(lane, error) && make_handles(lane, error);
    lane_leave(lane);
    if (!good)
        lane_destroy(lane);
    return good;
}

void lane_destroy(struct lane *lane)
{
    struct error ignored = {0};
    if (lane->device == NULL)
        return;
    (void)lane_enter(lane, &ignored);
    destroy_handles(lane);
    lane_leave(lane);
    partition_destroy(lane->device, &lane->partition);
    *lane = (struct lane){.device = NULL};
}

bool lane_enter(const struct lane *lane, struct error *error)
{
    return partition_enter(lane->device, &lane->partition, error);
}

void lane_leave(const struct lane *lane)
{
    partition_leave(lane->device);
}
