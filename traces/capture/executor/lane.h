/* A part of the device with its stream and its libraries' handles.
 *
 * The first green lane of a device decides how work reaches green contexts (device->green_mode): a
 * small network runs by the stream alone, and with the green context current where that fails. What
 * was chosen holds for all lanes and is printed where it is not the first choice.
 */
#ifndef ESGSIM_TRACES_CAPTURE_EXECUTOR_LANE_H
#define ESGSIM_TRACES_CAPTURE_EXECUTOR_LANE_H

#include "traces/capture/executor/device.h"

struct partition_stream {
    struct device *device;
    struct partition partition;
    cudnnHandle_t cudnn;
    cublasHandle_t cublas;
    CUdeviceptr workspace; /* of cuBLAS in recorded graphs; 0: not asked for yet */
};

/* Takes over the partition, which partition_stream_destroy destroys. On failure it is destroyed at
 * once. The primary context is current afterwards. ERROR_RUN where the libraries refuse the lane;
 * for the first green lane in both modes. */
bool partition_stream_create(struct device *device, const struct partition *partition,
                             struct partition_stream *lane, struct error *error);
void partition_stream_destroy(struct partition_stream *lane);

/* partition_enter and partition_leave for the lane. Whatever enqueues to a lane, or makes events
 * for it, enters it first. */
bool partition_stream_enter(const struct partition_stream *lane, struct error *error);
void partition_stream_leave(const struct partition_stream *lane);

#endif
