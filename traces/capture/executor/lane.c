#include "traces/capture/executor/lane.h"

#include <stdio.h>

#include "traces/capture/executor/probe.h"
#include "traces/capture/executor/stopwatch.h"

static void destroy_handles(struct partition_stream *lane)
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

static void forget_handles(struct partition_stream *lane)
{
    struct error ignored = {0};
    (void)partition_stream_enter(lane, &ignored);
    destroy_handles(lane);
    partition_stream_leave(lane);
}

static bool make_handles(struct partition_stream *lane, struct error *error)
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

static bool enter_and_make_handles(struct partition_stream *lane, struct error *error)
{
    const bool good = partition_stream_enter(lane, error) && make_handles(lane, error);
    if (!good)
        destroy_handles(lane);
    partition_stream_leave(lane);
    return good;
}

/* ---- How work reaches a green context -------------------------------------------------------- */

/* A convolution, a kernel of esgsim, and a matrix product. */
static const char trial_network[] =
    "{\"network\": \"trial\", \"inputs\": [{\"name\": \"x\", \"shape\": [8, 8, 8]}], \"layers\": ["
    "{\"op\": \"conv\", \"channels\": 8, \"kernel\": 3, \"pad\": 1}, {\"op\": \"relu\"},"
    "{\"op\": \"global_pool\"}, {\"op\": \"flatten\"}, {\"op\": \"linear\", \"channels\": 8}]}";

static bool run_network(const struct partition_stream *lane, struct error *error)
{
    struct stopwatch watch = {.device = NULL};
    double ms = 0;
    struct graph *graph = graph_parse(trial_network, "trial", error);
    struct executor *executor =
        graph == NULL ? NULL : executor_create(lane->device, graph, true, 1, lane, NULL, error);
    const bool good = executor != NULL && stopwatch_create(lane, &watch, error) &&
                      stopwatch_run(&watch, executor, lane, &ms, error);
    stopwatch_destroy(&watch);
    partition_stream_leave(lane);
    executor_free(executor);
    graph_free(graph);
    return good;
}

struct trial {
    bool works;         /* handles are created, the network runs, events time it */
    bool right;         /* works, and only on the partition's multiprocessors */
    struct error error; /* reason for a failure */
};

/* Tries a mode. The lane has handles afterwards if the mode works. */
static struct trial try_mode(struct partition_stream *lane, enum green_mode mode)
{
    struct trial trial = {.works = false};
    struct probe_multiprocessors seen;
    lane->device->green_mode = mode;
    if (!enter_and_make_handles(lane, &trial.error))
        return trial;
    trial.works = run_network(lane, &trial.error) &&
                  probe_multiprocessors(lane->device, &lane->partition, &seen, &trial.error);
    trial.right = trial.works && seen.count <= lane->partition.sms;
    if (trial.works && !trial.right)
        error_run(&trial.error, "work ran on %d multiprocessors, not on %d", seen.count,
                  lane->partition.sms);
    if (!trial.works)
        forget_handles(lane);
    return trial;
}

/* Prefers GREEN_BY_STREAM if it works and is right, then GREEN_BY_CONTEXT if that is right.
 * Otherwise it chooses a mode that works, GREEN_BY_STREAM first. */
static bool choose_mode(struct partition_stream *lane, struct error *error)
{
    struct device *device = lane->device;
    const struct trial by_stream = try_mode(lane, GREEN_BY_STREAM);
    if (by_stream.right)
        return true;
    /* After a fault in a kernel every call fails, so trying the other mode is useless. */
    if (device->api.cuCtxSynchronize() != CUDA_SUCCESS) {
        device->green_mode = GREEN_UNTRIED;
        *error = by_stream.error;
        return false;
    }
    if (by_stream.works)
        forget_handles(lane);
    const struct trial by_context = try_mode(lane, GREEN_BY_CONTEXT);
    if (by_context.right || (by_context.works && !by_stream.works)) {
        (void)printf("green contexts are made current, since by their streams alone: %s\n",
                     device_reason(&by_stream.error));
        return true;
    }
    if (!by_stream.works) {
        device->green_mode = GREEN_UNTRIED; /* the next lane may have more room */
        return error_run(error,
                         "capture: no work reaches a green context: by its stream alone: %s; with "
                         "it current: %s",
                         device_reason(&by_stream.error), device_reason(&by_context.error));
    }
    if (by_context.works)
        forget_handles(lane);
    (void)printf("green contexts do not keep to their multiprocessors: %s\n",
                 device_reason(&by_stream.error));
    device->green_mode = GREEN_BY_STREAM;
    return enter_and_make_handles(lane, error);
}

bool partition_stream_create(struct device *device, const struct partition *partition,
                             struct partition_stream *lane, struct error *error)
{
    *lane = (struct partition_stream){.device = device, .partition = *partition};
    const bool good = partition->green && device->green_mode == GREEN_UNTRIED
                          ? choose_mode(lane, error)
                          : enter_and_make_handles(lane, error);
    if (!good)
        partition_stream_destroy(lane);
    return good;
}

void partition_stream_destroy(struct partition_stream *lane)
{
    if (lane->device == NULL)
        return;
    forget_handles(lane);
    partition_destroy(lane->device, &lane->partition);
    *lane = (struct partition_stream){.device = NULL};
}

bool partition_stream_enter(const struct partition_stream *lane, struct error *error)
{
    return partition_enter(lane->device, &lane->partition, error);
}

void partition_stream_leave(const struct partition_stream *lane)
{
    partition_leave(lane->device);
}
