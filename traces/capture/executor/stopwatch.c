#include "traces/capture/executor/stopwatch.h"

bool stopwatch_create(const struct partition_stream *lane, struct stopwatch *watch,
                      struct error *error)
{
    struct device *device = lane->device;
    const struct device_api *api = &device->api;
    *watch = (struct stopwatch){.device = device};
    return partition_stream_enter(lane, error) &&
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

static bool start(const struct stopwatch *watch, const struct partition_stream *lane,
                  struct error *error)
{
    return partition_stream_enter(lane, error) &&
           device_check(watch->device,
                        watch->device->api.cuEventRecord(watch->start, lane->partition.stream),
                        "an event", error);
}

static bool stop(const struct stopwatch *watch, const struct partition_stream *lane, double *ms,
                 struct error *error)
{
    const struct device *device = watch->device;
    const struct device_api *api = &device->api;
    float elapsed = 0;
    if (!device_check(device, api->cuEventRecord(watch->end, lane->partition.stream), "an event",
                      error) ||
        !device_check(device, api->cuEventSynchronize(watch->end), "an inference", error) ||
        !device_check(device, api->cuEventElapsedTime(&elapsed, watch->start, watch->end),
                      "an event", error))
        return false;
    *ms = (double)elapsed;
    return true;
}

bool stopwatch_run(const struct stopwatch *watch, const struct executor *executor,
                   const struct partition_stream *lane, double *ms, struct error *error)
{
    return start(watch, lane, error) && executor_run(executor, lane, error) &&
           stop(watch, lane, ms, error);
}

bool stopwatch_run_graph(const struct stopwatch *watch, const struct executor_graph *graph,
                         const struct partition_stream *lane, double *ms, struct error *error)
{
    return start(watch, lane, error) && executor_graph_launch(graph, lane, error) &&
           stop(watch, lane, ms, error);
}
