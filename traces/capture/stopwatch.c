#include "traces/capture/stopwatch.h"

bool stopwatch_create(const struct lane *lane, struct stopwatch *watch, struct error *error)
{
    struct device *device = lane->device;
    const struct device_api *api = &device->api;
    *watch = (struct stopwatch){.device = device};
    return device_check(device, api->cuCtxSetCurrent(lane->partition.context), "a context",
                        error) &&
           device_check(device, api->cuEventCreate(&watch->start, CU_EVENT_DEFAULT), "an event",
                        error) &&
           device_check(device, api->cuEventCreate(&watch->end, CU_EVENT_DEFAULT), "an event",
                        error);
}

void stopwatch_destroy(struct stopwatch *watch)
{
    if (watch->start != NULL)
        (void)watch->device->api.cuEventDestroy(watch->start);
    if (watch->end != NULL)
        (void)watch->device->api.cuEventDestroy(watch->end);
    *watch = (struct stopwatch){.device = NULL};
}

bool stopwatch_run(const struct stopwatch *watch, const struct executor *executor,
                   const struct lane *lane, double *ms, struct error *error)
{
    const struct device *device = watch->device;
    const struct device_api *api = &device->api;
    CUstream stream = lane->partition.stream;
    float elapsed = 0;
    if (!device_check(device, api->cuCtxSetCurrent(lane->partition.context), "a context", error) ||
        !device_check(device, api->cuEventRecord(watch->start, stream), "an event", error) ||
        !executor_run(executor, lane, error) ||
        !device_check(device, api->cuEventRecord(watch->end, stream), "an event", error) ||
        !device_check(device, api->cuEventSynchronize(watch->end), "an inference", error) ||
        !device_check(device, api->cuEventElapsedTime(&elapsed, watch->start, watch->end),
                      "an event", error))
        return false;
    *ms = (double)elapsed;
    return true;
}
