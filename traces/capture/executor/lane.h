/* A partition of the device with a stream and library handles.
 *
 * The first green partition stream of a device decides how work is submitted to green contexts
 * (device->green_mode). It runs a small network with GREEN_BY_STREAM. If that fails, or uses
 * multiprocessors outside the partition, it tries GREEN_BY_CONTEXT. The choice applies to all
 * partition streams. It is printed if it is not GREEN_BY_STREAM.
 */
#ifndef ESGSIM_TRACES_CAPTURE_EXECUTOR_LANE_H
#define ESGSIM_TRACES_CAPTURE_EXECUTOR_LANE_H

#include "traces/capture/executor/device.h"

struct partition_stream {
    struct device *device;
    struct partition partition;
    cudnnHandle_t cudnn;
    cublasHandle_t cublas;
    CUdeviceptr workspace; /* workspace of cuBLAS for recorded graphs; 0: not allocated yet */
};

/* Creates a stream and handles on the partition and takes ownership of the partition.
 * partition_stream_destroy destroys it, and so does a failure here. The primary context is current
 * afterwards. Returns false with ERROR_RUN if the libraries refuse the partition. For the first
 * green partition that means: in both modes. */
bool partition_stream_create(struct device *device, const struct partition *partition,
                             struct partition_stream *lane, struct error *error);
void partition_stream_destroy(struct partition_stream *lane);

/* partition_enter and partition_leave for the lane's partition. Code that enqueues to a lane, or
 * creates events for it, must enter it first. */
bool partition_stream_enter(const struct partition_stream *lane, struct error *error);
void partition_stream_leave(const struct partition_stream *lane);

#endif
