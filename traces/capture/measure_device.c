#include <pthread.h>
#include <stdatomic.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "traces/capture/measure.h"
#include "traces/capture/stopwatch.h"

enum { LANES = 32, CACHE = 256, WARM_UP = 3, SEED = 1 };
static const double POINT_MS = 250;
static const double GROUP_MS = 400;
static const double MEMORY_KEPT = 0.15; /* of the device's memory, when executors are dropped */

struct cached {
    size_t network;
    int batch;
    bool half;
    unsigned long used; /* when last */
    struct graph *graph;
    struct executor *executor;
};

struct share_lane {
    double share_percent;
    struct lane lane;
};

struct session {
    struct device device;
    struct share_lane lanes[LANES]; /* by share; the first is the whole device */
    size_t lane_count;
    struct cached cache[CACHE];
    size_t cached;
    unsigned long clock;
};

/* ---- Lanes and executors --------------------------------------------------------------------- */

/* Shares count in sevenths, as a replay's do: the same multiprocessors for the same share. */
static bool plan_slices(struct session *s, struct slices *slices, struct error *error)
{
    return device_split(&s->device, error) &&
           slices_plan((int)s->device.group_count, SLICES_CAPTURED, slices, error);
}

static bool share_partition(struct session *s, double share_percent, struct partition *partition,
                            struct error *error)
{
    struct slices slices;
    if (share_percent >= 100)
        return partition_create(&s->device, 0, partition, error);
    return plan_slices(s, &slices, error) &&
           partition_create(&s->device,
                            slices_span(&slices, 0, slices_share(&slices, share_percent)),
                            partition, error);
}

static struct lane *lane_of(struct session *s, double share_percent, struct error *error)
{
    struct partition partition;
    for (size_t i = 0; i < s->lane_count; i++)
        if (s->lanes[i].share_percent == share_percent)
            return &s->lanes[i].lane;
    if (s->lane_count == LANES) {
        error_run(error, "capture: more than %d shares", LANES);
        return NULL;
    }
    struct share_lane *lane = &s->lanes[s->lane_count];
    lane->share_percent = share_percent;
    if (!share_partition(s, share_percent, &partition, error) ||
        !lane_create(&s->device, &partition, &lane->lane, error))
        return NULL;
    s->lane_count++;
    return &lane->lane;
}

static void drop_cached(struct session *s, size_t index)
{
    executor_free(s->cache[index].executor);
    graph_free(s->cache[index].graph);
    s->cache[index] = s->cache[--s->cached];
}

/* Drops what was used longest ago until there is room. */
static void make_room(struct session *s)
{
    for (;;) {
        size_t free_bytes = 0;
        size_t total = 1;
        size_t oldest = 0;
        (void)s->device.api.cuMemGetInfo(&free_bytes, &total);
        if (s->cached == 0 ||
            (s->cached < CACHE && (double)free_bytes > MEMORY_KEPT * (double)total))
            return;
        for (size_t i = 1; i < s->cached; i++)
            if (s->cache[i].used < s->cache[oldest].used)
                oldest = i;
        drop_cached(s, oldest);
    }
}

static struct graph *resized(const char *path, int batch, struct error *error)
{
    struct graph *graph = graph_load(path, error);
    if (graph != NULL && !graph_resize(graph, batch, 0, 0, error)) {
        graph_free(graph);
        return NULL;
    }
    return graph;
}

static struct executor *make_executor(struct session *s, const char *path, int batch, bool half,
                                      struct graph **graph, struct error *error)
{
    struct lane *whole = lane_of(s, 100, error);
    *graph = whole == NULL ? NULL : resized(path, batch, error);
    if (*graph == NULL)
        return NULL;
    struct executor *executor = executor_create(&s->device, *graph, half, SEED, whole, NULL, error);
    if (executor == NULL) {
        graph_free(*graph);
        *graph = NULL;
    }
    return executor;
}

static struct executor *executor_of(struct session *s, const struct plan *plan,
                                    const struct plan_member *member, bool half,
                                    struct error *error)
{
    for (size_t i = 0; i < s->cached; i++)
        if (s->cache[i].network == member->network && s->cache[i].batch == member->batch &&
            s->cache[i].half == half) {
            s->cache[i].used = ++s->clock;
            return s->cache[i].executor;
        }
    make_room(s);
    struct cached *entry = &s->cache[s->cached];
    *entry = (struct cached){member->network, member->batch, half, ++s->clock, NULL, NULL};
    entry->executor = make_executor(s, plan->networks[member->network].graph->path, member->batch,
                                    half, &entry->graph, error);
    if (entry->executor == NULL)
        return NULL;
    s->cached++;
    return entry->executor;
}

/* ---- Timing ---------------------------------------------------------------------------------- */

static bool time_warm(const struct stopwatch *timer, const struct executor *executor,
                      const struct lane *lane, struct measure_samples *samples, struct error *error)
{
    double ms = 0;
    for (int i = 0; i < WARM_UP; i++)
        if (!stopwatch_run(timer, executor, lane, &ms, error))
            return false;
    size_t wanted = (size_t)fmin(100, fmax(MEASURE_LEAST, POINT_MS / fmax(ms, 1e-3)));
    for (samples->count = 0; samples->count < wanted; samples->count++)
        if (!stopwatch_run(timer, executor, lane, &samples->ms[samples->count], error))
            return false;
    return true;
}

static bool time_alone(struct session *s, const struct executor *executor, const struct lane *lane,
                       struct measure_samples *samples, struct error *error)
{
    struct stopwatch timer;
    samples->sms = lane->partition.sms;
    const bool good =
        stopwatch_create(lane, &timer, error) && time_warm(&timer, executor, lane, samples, error);
    stopwatch_destroy(&timer);
    (void)s->device.api.cuCtxSetCurrent(s->device.context);
    return good;
}

/* ---- Processes of their own ------------------------------------------------------------------ */

/* Starts this program as a worker; NULL where that fails. */
static FILE *start_worker(const char *what, const char *path, bool half, int batch,
                          double mps_percent, struct error *error)
{
    char command[1024];
    char environment[96] = "";
    if (mps_percent > 0)
        (void)snprintf(environment, sizeof environment, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=%.4f ",
                       mps_percent);
    (void)snprintf(command, sizeof command, "%s/proc/%ld/exe --worker %s '%s' %s %d %.6f",
                   environment, (long)getpid(), what, path, half ? "fp16" : "fp32", batch,
                   measure_now_ms());
    /* The shell sets the variable; nothing of the line comes from outside but a file's path.
     * NOLINTNEXTLINE(cert-env33-c) */
    FILE *worker = popen(command, "r");
    if (worker == NULL)
        error_run(error, "capture: a process cannot be started");
    return worker;
}

/* Reads numbers until the worker ends; false where it failed. */
static bool read_worker(FILE *worker, double *values, size_t room, size_t *count,
                        struct error *error)
{
    char line[256];
    char text[200] = "";
    *count = 0;
    while (fgets(line, sizeof line, worker) != NULL) {
        char *end = NULL;
        const double value = strtod(line, &end);
        if (end == line)
            (void)snprintf(text, sizeof text, "%.180s", line);
        else if (*count < room)
            values[(*count)++] = value;
    }
    text[strcspn(text, "\n")] = '\0';
    if (pclose(worker) == 0)
        return true;
    return error_run(error, "%s", text[0] == '\0' ? "capture: a process of its own failed" : text);
}

static bool latency_of_process(const char *path, const struct plan_point *point,
                               struct measure_samples *samples, struct error *error)
{
    const struct plan_member *member = &point->members[0];
    FILE *worker =
        start_worker("latency", path, point->half, member->batch, member->share_percent, error);
    return worker != NULL &&
           read_worker(worker, samples->ms, MEASURE_SAMPLES, &samples->count, error);
}

/* ---- Points ---------------------------------------------------------------------------------- */

static bool measure_latency(void *state, const struct plan *plan, const struct plan_point *point,
                            struct measure_samples *samples, struct error *error)
{
    struct session *s = state;
    const struct plan_member *member = &point->members[0];
    if (point->mechanism == PLAN_MPS)
        return latency_of_process(plan->networks[member->network].graph->path, point, samples,
                                  error);
    struct lane *lane = lane_of(s, member->share_percent, error);
    struct executor *executor =
        lane == NULL ? NULL : executor_of(s, plan, member, point->half, error);
    return executor != NULL && time_alone(s, executor, lane, samples, error);
}

/* A member of a group: runs until all have run long enough. */
struct runner {
    struct device *device;
    struct lane lane;
    struct graph *graph;
    struct executor *executor;
    struct measure_samples *samples;
    atomic_int *ready, *stop;
    int members;
    struct error error;
    bool good;
};

static void *run_member(void *argument)
{
    struct runner *r = argument;
    struct stopwatch timer;
    double ms = 0;
    r->good = stopwatch_create(&r->lane, &timer, &r->error) &&
              stopwatch_run(&timer, r->executor, &r->lane, &ms, &r->error);
    atomic_fetch_add(r->ready, 1);
    while (atomic_load(r->ready) < r->members)
        (void)usleep(100);
    while (r->good && atomic_load(r->stop) == 0) {
        r->good = stopwatch_run(&timer, r->executor, &r->lane, &ms, &r->error);
        if (r->good && r->samples->count < MEASURE_SAMPLES)
            r->samples->ms[r->samples->count++] = ms;
    }
    stopwatch_destroy(&timer);
    (void)r->device->api.cuCtxSetCurrent(r->device->context);
    return NULL;
}

static bool run_group(struct runner *runners, size_t count, struct error *error)
{
    pthread_t threads[PLAN_MEMBERS];
    atomic_int ready = 0;
    atomic_int stop = 0;
    size_t started = 0;
    for (size_t m = 0; m < count; m++) {
        runners[m].ready = &ready;
        runners[m].stop = &stop;
        runners[m].members = (int)count;
        if (pthread_create(&threads[m], NULL, run_member, &runners[m]) != 0)
            break;
        started++;
    }
    for (size_t m = started; m < count; m++)
        atomic_fetch_add(&ready, 1);
    while (atomic_load(&ready) < (int)count)
        (void)usleep(100);
    (void)usleep((useconds_t)(GROUP_MS * 1e3));
    atomic_store(&stop, 1);
    for (size_t m = 0; m < started; m++)
        (void)pthread_join(threads[m], NULL);
    if (started < count)
        return error_run(error, "capture: a thread cannot be started");
    for (size_t m = 0; m < count; m++)
        if (!runners[m].good) {
            *error = runners[m].error;
            return false;
        }
    return true;
}

/* Side by side; where the shares sum to more than the device, the last ones overlap the first. */
static bool make_partitions(struct session *s, const struct plan_point *point,
                            struct partition *partitions, struct error *error)
{
    struct slices slices;
    int first = 0;
    if (!plan_slices(s, &slices, error))
        return false;
    for (size_t m = 0; m < point->member_count; m++) {
        const int count = slices_share(&slices, point->members[m].share_percent);
        if (!partition_create(&s->device, slices_span(&slices, first, count), &partitions[m],
                              error)) {
            while (m-- > 0)
                partition_destroy(&s->device, &partitions[m]);
            return false;
        }
        first += count;
    }
    return true;
}

static bool make_runners(struct session *s, const struct plan *plan, const struct plan_point *point,
                         struct runner *runners, struct error *error)
{
    struct partition partitions[PLAN_MEMBERS];
    bool good = make_partitions(s, point, partitions, error);
    for (size_t m = 0; good && m < point->member_count; m++) {
        runners[m].device = &s->device;
        good = lane_create(&s->device, &partitions[m], &runners[m].lane, error);
        if (!good) {
            for (size_t rest = m + 1; rest < point->member_count; rest++)
                partition_destroy(&s->device, &partitions[rest]);
            break;
        }
    }
    for (size_t m = 0; good && m < point->member_count; m++) {
        const struct plan_member *member = &point->members[m];
        runners[m].executor = make_executor(s, plan->networks[member->network].graph->path,
                                            member->batch, point->half, &runners[m].graph, error);
        good = runners[m].executor != NULL;
    }
    return good;
}

static bool alone_first(struct session *s, struct runner *runner, struct error *error)
{
    struct measure_samples alone = {.count = 0};
    if (!time_alone(s, runner->executor, &runner->lane, &alone, error))
        return false;
    gsl_sort(alone.ms, 1, alone.count);
    runner->samples->alone_ms = gsl_stats_median_from_sorted_data(alone.ms, 1, alone.count);
    runner->samples->sms = alone.sms;
    return true;
}

static bool measure_colocation(void *state, const struct plan *plan, const struct plan_point *point,
                               struct measure_samples samples[static PLAN_MEMBERS],
                               struct error *error)
{
    struct session *s = state;
    struct runner runners[PLAN_MEMBERS];
    memset(runners, 0, sizeof runners);
    make_room(s);
    bool good = make_runners(s, plan, point, runners, error);
    for (size_t m = 0; good && m < point->member_count; m++) {
        runners[m].samples = &samples[m];
        good = alone_first(s, &runners[m], error);
    }
    good = good && run_group(runners, point->member_count, error);
    for (size_t m = 0; m < point->member_count; m++) {
        executor_free(runners[m].executor);
        graph_free(runners[m].graph);
        lane_destroy(&runners[m].lane);
    }
    (void)s->device.api.cuCtxSetCurrent(s->device.context);
    return good;
}

static bool copy_once(struct session *s, void *host, CUdeviceptr device, size_t bytes, bool to_host,
                      const struct lane *lane, double *ms, struct error *error)
{
    const struct device_api *api = &s->device.api;
    CUstream stream = lane->partition.stream;
    const double start = measure_now_ms();
    const CUresult result = to_host ? api->cuMemcpyDtoHAsync(host, device, bytes, stream)
                                    : api->cuMemcpyHtoDAsync(device, host, bytes, stream);
    const bool good = device_check(&s->device, result, "a copy", error) &&
                      device_check(&s->device, api->cuStreamSynchronize(stream), "a copy", error);
    *ms = measure_now_ms() - start;
    return good;
}

/* On the host's clock from the call to its end, which is what a request waits for. */
static bool measure_copies(void *state, bool to_host, bool pinned, size_t bytes,
                           struct measure_samples *samples, struct error *error)
{
    struct session *s = state;
    const struct device_api *api = &s->device.api;
    CUdeviceptr device = 0;
    void *host = NULL;
    double warm_up = 0;
    struct lane *lane = lane_of(s, 100, error);
    if (lane == NULL ||
        !device_check(&s->device, api->cuMemAlloc(&device, bytes), "memory for copies", error))
        return false;
    if (!pinned)
        host = calloc(1, bytes);
    else if (!device_check(&s->device, api->cuMemAllocHost(&host, bytes), "pinned memory", error))
        host = NULL;
    bool good = host != NULL && copy_once(s, host, device, bytes, to_host, lane, &warm_up, error);
    for (int i = 0; good && i < MEASURE_ROUNDS; i++) {
        good = copy_once(s, host, device, bytes, to_host, lane, &samples->ms[i], error);
        samples->count++;
    }
    if (pinned && host != NULL)
        (void)api->cuMemFreeHost(host);
    else
        free(host);
    (void)api->cuMemFree(device);
    return good;
}

static bool measure_cold_start(void *state, const struct plan *plan, const struct plan_point *point,
                               double parts[static MEASURE_PARTS], struct error *error)
{
    size_t count = 0;
    const struct plan_member *member = &point->members[0];
    (void)state;
    FILE *worker = start_worker("cold", plan->networks[member->network].graph->path, point->half,
                                member->batch, 0, error);
    if (worker == NULL || !read_worker(worker, parts, MEASURE_PARTS, &count, error))
        return false;
    return count == MEASURE_PARTS ||
           error_run(error, "capture: a cold start gave %zu parts of %d", count, MEASURE_PARTS);
}

/* What another process's context and libraries take is seen from this one. */
static bool memory_of_process(struct session *s, const char *path, long long bytes[static 2],
                              struct error *error)
{
    size_t before = 0;
    size_t total = 0;
    char line[64];
    (void)s->device.api.cuMemGetInfo(&before, &total);
    FILE *worker = start_worker("context", path, false, 1, 0, error);
    if (worker == NULL)
        return false;
    for (size_t i = 0; i < 2 && fgets(line, sizeof line, worker) != NULL; i++) {
        size_t after = 0;
        (void)s->device.api.cuMemGetInfo(&after, &total);
        bytes[i] = (long long)before - (long long)after;
        before = after;
    }
    return pclose(worker) == 0 || error_run(error, "capture: a process of its own failed");
}

static bool measure_memory(void *state, const struct plan *plan, const struct plan_point *point,
                           long long planned[static MEASURE_PARTS],
                           long long bytes[static MEASURE_PARTS], struct error *error)
{
    struct session *s = state;
    const struct plan_member *member = &point->members[0];
    const struct executor *executor = executor_of(s, plan, member, point->half, error);
    struct graph *graph = executor == NULL ? NULL : plan_graph(plan, member, error);
    struct graph_arena arena;
    if (graph == NULL || !memory_of_process(s, graph->path, bytes, error) ||
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

static bool measure_share(void *state, double from_percent, double to_percent,
                          double parts[static 3], struct error *error)
{
    struct session *s = state;
    const struct device_api *api = &s->device.api;
    struct partition partition;
    struct lane lane;
    struct lane *old = lane_of(s, from_percent, error);
    if (old == NULL ||
        !device_check(&s->device, api->cuCtxSetCurrent(old->partition.context), "a context", error))
        return false;
    double start = measure_now_ms();
    if (!share_partition(s, to_percent, &partition, error) ||
        !lane_create(&s->device, &partition, &lane, error))
        return false;
    parts[0] = measure_now_ms() - start;
    start = measure_now_ms();
    const bool good =
        device_check(&s->device, api->cuStreamSynchronize(old->partition.stream), "a stream",
                     error) &&
        device_check(&s->device, api->cuCtxSetCurrent(lane.partition.context), "a context", error);
    parts[1] = measure_now_ms() - start;
    start = measure_now_ms();
    lane_destroy(&lane);
    parts[2] = measure_now_ms() - start;
    return good;
}

/* After a fault in a kernel every call of the process returns its error. */
static bool measure_alive(void *state, struct error *error)
{
    struct session *s = state;
    return device_check(&s->device, s->device.api.cuCtxSetCurrent(s->device.context), "the device",
                        error) &&
           device_check(&s->device, s->device.api.cuCtxSynchronize(), "the device", error);
}

static void measure_close(void *state)
{
    struct session *s = state;
    while (s->cached > 0)
        drop_cached(s, s->cached - 1);
    for (size_t i = 0; i < s->lane_count; i++)
        lane_destroy(&s->lanes[i].lane);
    device_close(&s->device);
    free(s);
}

static void describe_device(struct session *s, struct capture_about *about)
{
    const struct device *device = &s->device;
    struct error ignored = {0};
    const struct lane *lane = lane_of(s, 100, &ignored);
    (void)snprintf(about->device, sizeof about->device, "%s", device->name);
    (void)snprintf(about->compute_capability, sizeof about->compute_capability, "%d.%d",
                   device->major, device->minor);
    about->sms = device->sms;
    about->driver = device->driver_version;
    about->clock_khz = device->clock_khz;
    about->memory_clock_khz = device->memory_clock_khz;
    about->memory_bytes = (long long)device->memory_bytes;
    about->cudnn = (int)device->api.cudnnGetVersion();
    if (lane != NULL)
        (void)device->api.cublasGetVersion(lane->cublas, &about->cublas);
}

bool measure_open_device(struct measure *measure, struct capture_about *about, struct error *error)
{
    struct session *s = calloc(1, sizeof *s);
    if (s == NULL)
        return error_run(error, "capture: out of memory");
    if (!device_open(&s->device, error) || !device_load_kernels(&s->device, error)) {
        device_close(&s->device);
        free(s);
        return false;
    }
    *measure = (struct measure){
        .state = s,
        .alive = measure_alive,
        .latency = measure_latency,
        .colocation = measure_colocation,
        .copies = measure_copies,
        .cold_start = measure_cold_start,
        .memory = measure_memory,
        .share = measure_share,
        .close = measure_close,
    };
    describe_device(s, about);
    return true;
}

/* ---- The worker ------------------------------------------------------------------------------ */

/* `--worker KIND PATH PRECISION BATCH STARTED_MS`: a process that brings one network up. "cold"
 * prints the parts of a cold start, "latency" samples, "context" a line when its context is there
 * and one when its libraries are, staying a moment after each so that the parent can look. */
struct job {
    const char *kind, *path;
    bool half;
    int batch;
    double started_ms, main_ms;
};

static bool work_context(struct session *s, struct error *error)
{
    enum { PAUSE_US = 150000 };
    (void)printf("context\n");
    (void)fflush(stdout);
    (void)usleep(PAUSE_US);
    if (!device_load_kernels(&s->device, error) || lane_of(s, 100, error) == NULL)
        return false;
    (void)printf("module\n");
    (void)fflush(stdout);
    (void)usleep(PAUSE_US);
    return true;
}

static bool work_network(struct session *s, const struct job *job, struct error *error)
{
    const double module_start = measure_now_ms();
    double first_ms = 0;
    struct measure_samples samples = {.count = 0};
    struct graph *graph = NULL;
    if (!device_load_kernels(&s->device, error) || lane_of(s, 100, error) == NULL)
        return false;
    const double module_end = measure_now_ms();
    struct executor *executor = make_executor(s, job->path, job->batch, job->half, &graph, error);
    struct lane *lane = executor == NULL ? NULL : lane_of(s, 100, error);
    const double first_start = measure_now_ms();
    bool good = lane != NULL && executor_run(executor, lane, error) &&
                device_check(&s->device, s->device.api.cuStreamSynchronize(lane->partition.stream),
                             "an inference", error);
    first_ms = measure_now_ms() - first_start;
    if (good && strcmp(job->kind, "cold") == 0) {
        const double parts[] = {job->main_ms - job->started_ms, s->device.context_ms,
                                s->device.libraries_ms + module_end - module_start,
                                executor_sizes(executor).weights_ms, first_ms};
        double total = 0;
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
            (void)printf("%.6f\n", parts[i]);
            total += parts[i];
        }
        (void)printf("%.6f\n", total);
    } else if (good) {
        good = time_alone(s, executor, lane, &samples, error);
        for (size_t i = 0; good && i < samples.count; i++)
            (void)printf("%.6f\n", samples.ms[i]);
    }
    executor_free(executor);
    graph_free(graph);
    return good;
}

int measure_worker(int argc, char **argv)
{
    struct error error = {0};
    if (argc != 6) {
        (void)fprintf(stderr, "capture: --worker is for capture's own use\n");
        return 2;
    }
    const struct job job = {
        .kind = argv[1],
        .path = argv[2],
        .half = strcmp(argv[3], "fp16") == 0,
        .batch = (int)strtol(argv[4], NULL, 10),
        .started_ms = strtod(argv[5], NULL),
        .main_ms = measure_now_ms(),
    };
    struct session *s = calloc(1, sizeof *s);
    bool good = s != NULL && device_open(&s->device, &error);
    if (good)
        good = strcmp(job.kind, "context") == 0 ? work_context(s, &error)
                                                : work_network(s, &job, &error);
    if (!good)
        (void)printf("%s\n", error.message);
    if (s != NULL)
        measure_close(s);
    return good ? 0 : 1;
}
