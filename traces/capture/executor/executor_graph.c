/* Records one inference as a CUDA graph by stream capture. */
#include "traces/capture/executor/executor.h"

#include <stdlib.h>

struct executor_graph {
    const struct device *device;
    CUgraphExec exec;
};

/* Without a workspace, cuBLAS would record allocations. Its documentation recommends 32 MiB for
 * Hopper. */
static bool take_workspace(struct partition_stream *lane, struct error *error)
{
    const size_t bytes = (size_t)32 << 20;
    const struct device_api *api = &lane->device->api;
    if (lane->workspace != 0)
        return true;
    return device_check(lane->device, api->cuMemAlloc(&lane->workspace, bytes), "memory for cuBLAS",
                        error) &&
           device_check_cublas(
               api->cublasSetWorkspace(lane->cublas, (void *)lane->workspace, bytes),
               "cuBLAS's memory", error);
}

/* Ends the capture even after an error: otherwise the stream would be unusable. */
static bool capture(const struct executor *executor, const struct partition_stream *lane,
                    CUgraph *graph, struct error *error)
{
    const struct device_api *api = &lane->device->api;
    CUstream stream = lane->partition.stream;
    if (!device_check(lane->device,
                      api->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                      "recording an inference", error))
        return false;
    const bool good = executor_run(executor, lane, error);
    const CUresult result = api->cuStreamEndCapture(stream, graph);
    return good && device_check(lane->device, result, "recording an inference", error);
}

static bool instantiate(const struct partition_stream *lane, CUgraph graph, CUgraphExec *exec,
                        struct error *error)
{
    const struct device *device = lane->device;
    CUstream stream = lane->partition.stream;
    return device_check(device, device->api.cuGraphInstantiate(exec, graph, 0), "a CUDA graph",
                        error) &&
           device_check(device, device->api.cuGraphUpload(*exec, stream), "a CUDA graph", error) &&
           device_check(device, device->api.cuStreamSynchronize(stream), "a CUDA graph", error);
}

struct executor_graph *executor_record(const struct executor *executor,
                                       struct partition_stream *lane, struct error *error)
{
    struct executor_graph *recorded = calloc(1, sizeof *recorded);
    CUgraph graph = NULL;
    if (recorded == NULL) {
        error_run(error, "capture: out of memory");
        return NULL;
    }
    recorded->device = lane->device;
    const bool good = partition_stream_enter(lane, error) && take_workspace(lane, error) &&
                      capture(executor, lane, &graph, error) &&
                      instantiate(lane, graph, &recorded->exec, error);
    if (graph != NULL)
        (void)lane->device->api.cuGraphDestroy(graph);
    partition_stream_leave(lane);
    if (good)
        return recorded;
    executor_graph_free(recorded);
    return NULL;
}

bool executor_graph_launch(const struct executor_graph *graph, const struct partition_stream *lane,
                           struct error *error)
{
    return partition_stream_enter(lane, error) &&
           device_check(graph->device,
                        graph->device->api.cuGraphLaunch(graph->exec, lane->partition.stream),
                        "a CUDA graph", error);
}

void executor_graph_free(struct executor_graph *graph)
{
    if (graph != NULL && graph->exec != NULL)
        (void)graph->device->api.cuGraphExecDestroy(graph->exec);
    free(graph);
}
