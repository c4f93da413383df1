#include "traces/capture/measure/measure_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

/* A warm-up ends when the medians of two consecutive windows of inferences agree within SETTLED. It
 * takes at least WARM_UP_LEAST_MS of device time, because an idle GPU takes tens of milliseconds to
 * raise its clocks. It ends at WARM_UP_MOST_MS at the latest, but not before two windows. */
static const double WARM_UP_LEAST_MS = 50;
static const double WARM_UP_MOST_MS = 500;
static const double SETTLED = 0.01;
static const double WINDOW_MS = 10;
enum { WINDOW_LEAST = 3, WINDOW_MOST = 64, SAMPLES_MOST = 100 };

static const double POINT_MS = 250;
static const double MEMORY_KEPT = 0.15; /* free share of memory to maintain */

/* ---- Lanes ----------------------------------------------------------------------------------- */

bool rig_slices(struct rig *rig, struct slices *slices, struct error *error)
{
    return device_split(&rig->device, error) &&
           slices_plan((int)rig->device.group_count, SLICES_CAPTURED, slices, error);
}

struct partition_stream *rig_lane(struct rig *rig, uint64_t groups, struct error *error)
{
    struct partition partition;
    for (size_t i = 0; i < rig->lane_count; i++)
        if (rig->lanes[i].groups == groups)
            return &rig->lanes[i].lane;
    if (rig->lane_count == RIG_LANES) {
        error_run(error, "capture: more than %d parts of the device", RIG_LANES);
        return NULL;
    }
    rig->lanes[rig->lane_count].groups = groups;
    struct partition_stream *lane = &rig->lanes[rig->lane_count].lane;
    if (!partition_create(&rig->device, groups, &partition, error) ||
        !partition_stream_create(&rig->device, &partition, lane, error))
        return NULL;
    rig->lane_count++;
    return lane;
}

static struct partition_stream *share_lane(struct rig *rig, double share_percent,
                                           struct error *error)
{
    struct slices slices;
    if (share_percent >= 100)
        return rig_lane(rig, 0, error);
    if (!rig_slices(rig, &slices, error))
        return NULL;
    return rig_lane(rig, slices_span(&slices, 0, slices_share(&slices, share_percent)), error);
}

/* ---- Executors ------------------------------------------------------------------------------- */

/* Drops all batch sizes of a network, because the smaller ones use the memory of the largest. */
static void drop_network(struct rig *rig, size_t network, bool half)
{
    for (;;) {
        size_t least = rig->cached;
        for (size_t i = 0; i < rig->cached; i++)
            if (rig->cache[i].network == network && rig->cache[i].half == half &&
                (least == rig->cached || rig->cache[i].batch < rig->cache[least].batch))
                least = i;
        if (least == rig->cached)
            return;
        executor_free(rig->cache[least].executor);
        graph_free(rig->cache[least].graph);
        rig->cache[least] = rig->cache[--rig->cached];
    }
}

/* Drops the least recently used networks until enough memory is free. */
static void make_room(struct rig *rig)
{
    for (;;) {
        size_t free_bytes = 0;
        size_t total = 1;
        size_t oldest = rig->cached;
        (void)rig->device.api.cuMemGetInfo(&free_bytes, &total);
        if (rig->cached < RIG_CACHE && (double)free_bytes > MEMORY_KEPT * (double)total)
            return;
        for (size_t i = 0; i < rig->cached; i++)
            if (rig->cache[i].used <= rig->kept &&
                (oldest == rig->cached || rig->cache[i].used < rig->cache[oldest].used))
                oldest = i;
        if (oldest == rig->cached)
            return;
        drop_network(rig, rig->cache[oldest].network, rig->cache[oldest].half);
    }
}

/* Returns NULL if there is none. Marks all batch sizes of the network as used. */
static struct rig_executor *find_cached(struct rig *rig, size_t network, int batch, bool half)
{
    struct rig_executor *found = NULL;
    rig->clock++;
    for (size_t i = 0; i < rig->cached; i++) {
        struct rig_executor *entry = &rig->cache[i];
        if (entry->network != network || entry->half != half)
            continue;
        entry->used = rig->clock;
        if (entry->batch == batch)
            found = entry;
    }
    return found;
}

static struct executor *make_executor(struct rig *rig, const struct plan *plan,
                                      const struct plan_member *member, bool half,
                                      const struct executor *room, struct error *error)
{
    const struct executor_kin kin = {.room = room};
    struct partition_stream *whole = rig_lane(rig, 0, error);
    if (whole == NULL)
        return NULL;
    make_room(rig);
    if (rig->cached == RIG_CACHE) {
        error_run(error, "capture: more than %d networks and batches", RIG_CACHE);
        return NULL;
    }
    struct rig_executor *entry = &rig->cache[rig->cached];
    *entry = (struct rig_executor){member->network, member->batch, half, ++rig->clock, NULL, NULL};
    entry->graph = plan_graph(plan, member, error);
    if (entry->graph == NULL)
        return NULL;
    entry->executor = executor_create(&rig->device, entry->graph, half, RIG_SEED, whole,
                                      room == NULL ? NULL : &kin, error);
    if (entry->executor == NULL) {
        graph_free(entry->graph);
        return NULL;
    }
    rig->cached++;
    return entry->executor;
}

/* Creates the largest batch first. It owns weights and memory, and the other batch sizes run
 * in it. */
struct executor *rig_executor(struct rig *rig, const struct plan *plan,
                              const struct plan_member *member, bool half, struct error *error)
{
    const struct plan_member largest = {member->network, plan->largest_batch, 100};
    const struct executor *room = NULL;
    struct rig_executor *cached = find_cached(rig, member->network, member->batch, half);
    if (cached != NULL)
        return cached->executor;
    if (member->batch < largest.batch) {
        cached = find_cached(rig, member->network, largest.batch, half);
        room = cached != NULL ? cached->executor
                              : make_executor(rig, plan, &largest, half, NULL, error);
        if (room == NULL)
            return NULL;
    }
    return make_executor(rig, plan, member, half, room, error);
}

/* ---- Timing ---------------------------------------------------------------------------------- */

bool rig_run_once(const struct stopwatch *watch, const struct rig_run *run, double *ms,
                  struct error *error)
{
    return run->graph != NULL ? stopwatch_run_graph(watch, run->graph, run->lane, ms, error)
                              : stopwatch_run(watch, run->executor, run->lane, ms, error);
}

static bool run_window(const struct stopwatch *watch, const struct rig_run *run, size_t count,
                       double *median_ms, double *total_ms, struct error *error)
{
    double ms[WINDOW_MOST];
    for (size_t i = 0; i < count; i++) {
        if (!rig_run_once(watch, run, &ms[i], error))
            return false;
        *total_ms += ms[i];
    }
    gsl_sort(ms, 1, count);
    *median_ms = gsl_stats_median_from_sorted_data(ms, 1, count);
    return true;
}

static bool warm_up(const struct rig *rig, const struct stopwatch *watch, struct rig_run *run,
                    double *once_ms, struct measure_samples *samples, struct error *error)
{
    double before = 0;
    samples->warm_up_ms = 0;
    samples->settled = false;
    /* The first inference loads code and data. Recording is possible only after that. */
    if (!run_window(watch, run, 1, once_ms, &samples->warm_up_ms, error))
        return false;
    if (rig->cuda_graphs && run->graph == NULL)
        run->graph = executor_record(run->executor, run->lane, error);
    if (rig->cuda_graphs && run->graph == NULL)
        return false;
    for (int windows = 0; !samples->settled; windows++) {
        const double count = fmin(WINDOW_MOST, fmax(WINDOW_LEAST, WINDOW_MS / *once_ms));
        if (samples->warm_up_ms >= WARM_UP_MOST_MS && windows >= 2)
            break;
        if (!run_window(watch, run, (size_t)count, once_ms, &samples->warm_up_ms, error))
            return false;
        samples->settled = samples->warm_up_ms >= WARM_UP_LEAST_MS && windows > 0 &&
                           fabs(*once_ms / before - 1) <= SETTLED;
        before = *once_ms;
    }
    return true;
}

static bool time_warm(const struct rig *rig, const struct stopwatch *watch, struct rig_run *run,
                      double point_ms, struct measure_samples *samples, struct error *error)
{
    double once_ms = 0;
    if (!warm_up(rig, watch, run, &once_ms, samples, error))
        return false;
    const size_t wanted = (size_t)fmin(SAMPLES_MOST, fmax(MEASURE_LEAST, point_ms / once_ms));
    samples->began_s = measure_unix_s();
    for (samples->count = 0; samples->count < wanted; samples->count++)
        if (!rig_run_once(watch, run, &samples->ms[samples->count], error))
            return false;
    return true;
}

bool rig_time(struct rig *rig, struct rig_run *run, double point_ms,
              struct measure_samples *samples, struct error *error)
{
    struct stopwatch watch;
    samples->sms = run->lane->partition.sms;
    samples->launches = executor_sizes(run->executor).launches;
    const bool good = stopwatch_create(run->lane, &watch, error) &&
                      time_warm(rig, &watch, run, point_ms, samples, error);
    stopwatch_destroy(&watch);
    partition_stream_leave(run->lane);
    return good;
}

/* ---- Points ---------------------------------------------------------------------------------- */

static bool measure_latency(void *state, const struct plan *plan, const struct plan_point *point,
                            struct measure_samples *samples, struct error *error)
{
    struct rig *rig = state;
    const struct plan_member *member = &point->members[0];
    rig->kept = rig->clock;
    struct rig_run run = {.lane = share_lane(rig, member->share_percent, error)};
    if (run.lane != NULL)
        run.executor = rig_executor(rig, plan, member, point->half, error);
    const bool good = run.executor != NULL && rig_time(rig, &run, POINT_MS, samples, error);
    executor_graph_free(run.graph);
    return good;
}

static bool copy_once(struct rig *rig, void *host, CUdeviceptr device, size_t bytes, bool to_host,
                      const struct partition_stream *lane, double *ms, struct error *error)
{
    const struct device_api *api = &rig->device.api;
    CUstream stream = lane->partition.stream;
    const double start = measure_now_ms();
    const CUresult result = to_host ? api->cuMemcpyDtoHAsync(host, device, bytes, stream)
                                    : api->cuMemcpyHtoDAsync(device, host, bytes, stream);
    const bool good = device_check(&rig->device, result, "a copy", error) &&
                      device_check(&rig->device, api->cuStreamSynchronize(stream), "a copy", error);
    *ms = measure_now_ms() - start;
    return good;
}

/* Measures on the host's clock, from the call to its end, because a request waits that long. */
static bool measure_copies(void *state, bool to_host, bool pinned, size_t bytes,
                           struct measure_samples *samples, struct error *error)
{
    struct rig *rig = state;
    const struct device_api *api = &rig->device.api;
    CUdeviceptr device = 0;
    void *host = NULL;
    double warm_up = 0;
    struct partition_stream *lane = rig_lane(rig, 0, error);
    if (lane == NULL ||
        !device_check(&rig->device, api->cuMemAlloc(&device, bytes), "memory for copies", error))
        return false;
    if (!pinned)
        host = calloc(1, bytes);
    else if (!device_check(&rig->device, api->cuMemAllocHost(&host, bytes), "pinned memory", error))
        host = NULL;
    bool good = host != NULL && copy_once(rig, host, device, bytes, to_host, lane, &warm_up, error);
    for (int i = 0; good && i < MEASURE_ROUNDS; i++) {
        good = copy_once(rig, host, device, bytes, to_host, lane, &samples->ms[i], error);
        samples->count++;
    }
    if (pinned && host != NULL)
        (void)api->cuMemFreeHost(host);
    else
        free(host);
    (void)api->cuMemFree(device);
    return good;
}

static bool measure_memory(void *state, const struct plan *plan, const struct plan_point *point,
                           long long planned[static MEASURE_PARTS],
                           long long bytes[static MEASURE_PARTS], struct error *error)
{
    struct rig *rig = state;
    const struct plan_member *member = &point->members[0];
    const struct executor *executor = rig_executor(rig, plan, member, point->half, error);
    struct graph *graph = executor == NULL ? NULL : plan_graph(plan, member, error);
    struct graph_arena arena;
    if (graph == NULL || !measure_process(rig, graph->path, bytes, error) ||
        !graph_arena_plan(graph, point->half ? 2 : 4, 256, &arena, error)) {
        graph_free(graph);
        return false;
    }
    const struct executor_sizes sizes = executor_sizes(executor);
    planned[2] = (long long)graph_weight_bytes(graph, point->half ? 2 : 4);
    planned[3] = (long long)arena.peak_live_bytes;
    bytes[2] = (long long)sizes.weights;
    bytes[3] = (long long)sizes.activations;
    bytes[4] = (long long)sizes.workspace;
    graph_arena_free(&arena);
    graph_free(graph);
    return true;
}

/* After a fault in a kernel every call of the process returns its error. */
static bool measure_alive(void *state, struct error *error)
{
    struct rig *rig = state;
    return device_check(&rig->device, rig->device.api.cuCtxSetCurrent(rig->device.context),
                        "the device", error) &&
           device_check(&rig->device, rig->device.api.cuCtxSynchronize(), "the device", error);
}

/* ---- The device ------------------------------------------------------------------------------ */

static bool rig_open(struct rig *rig, struct error *error)
{
    return device_open(&rig->device, error) && device_load_kernels(&rig->device, error);
}

void rig_close(struct rig *rig)
{
    while (rig->cached > 0)
        drop_network(rig, rig->cache[0].network, rig->cache[0].half);
    for (size_t i = 0; i < rig->lane_count; i++)
        partition_stream_destroy(&rig->lanes[i].lane);
    device_close(&rig->device);
    free(rig);
}

static void measure_close(void *state)
{
    rig_close(state);
}

static void describe_device(struct rig *rig, struct capture_about *about)
{
    const struct device *device = &rig->device;
    struct error ignored = {0};
    const struct partition_stream *lane = rig_lane(rig, 0, &ignored);
    (void)snprintf(about->device, sizeof about->device, "%s", device->name);
    (void)snprintf(about->compute_capability, sizeof about->compute_capability, "%d.%d",
                   device->major, device->minor);
    about->sms = device->sms;
    about->driver = device->driver_version;
    about->clock_khz = device->clock_khz;
    about->memory_clock_khz = device->memory_clock_khz;
    about->memory_bytes = (long long)device->memory_bytes;
    about->cudnn = (int)device->api.cudnnGetVersion();
    /* The first green partition stream decides how work is submitted to green contexts. */
    (void)share_lane(rig, 100.0 / SLICES_CAPTURED, &ignored);
    (void)snprintf(about->access, sizeof about->access, "%s", green_mode_name(device->green_mode));
    (void)device->api.cuDeviceGetPCIBusId(about->bus, (int)sizeof about->bus, device->handle);
    if (lane != NULL)
        (void)device->api.cublasGetVersion(lane->cublas, &about->cublas);
}

bool measure_open_device(struct measure *measure, struct capture_about *about, struct error *error)
{
    struct rig *rig = calloc(1, sizeof *rig);
    if (rig == NULL)
        return error_run(error, "capture: out of memory");
    if (!rig_open(rig, error)) {
        rig_close(rig);
        return false;
    }
    *measure = (struct measure){
        .state = rig,
        .alive = measure_alive,
        .latency = measure_latency,
        .colocation = measure_colocation,
        .copies = measure_copies,
        .cold_start = measure_cold_start,
        .memory = measure_memory,
        .close = measure_close,
    };
    rig->cuda_graphs = about->cuda_graphs != 0;
    describe_device(rig, about);
    return true;
}
