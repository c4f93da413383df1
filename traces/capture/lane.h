/* A part of the device with its stream and its libraries' handles. */
#ifndef ESGSIM_TRACES_CAPTURE_LANE_H
#define ESGSIM_TRACES_CAPTURE_LANE_H

#include "traces/capture/device.h"

struct lane {
    struct device *device;
    struct partition partition;
    cudnnHandle_t cudnn;
    cublasHandle_t cublas;
};

/* Takes over the partition, which lane_destroy destroys. On failure it is destroyed at once. */
bool lane_create(struct device *device, const struct partition *partition, struct lane *lane,
                 struct error *error);
void lane_destroy(struct lane *lane);

#endif
