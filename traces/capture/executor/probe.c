#include "traces/capture/executor/probe.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "traces/capture/measure/measure.h"

static const int thread_counts[PROBE_THREAD_COUNTS] = {1, 4, 7};

static bool launch(const struct device *device, CUfunction kernel, unsigned blocks,
                   unsigned threads, CUstream stream, void **arguments, struct error *error)
{
    return device_check(
        device,
        device->api.cuLaunchKernel(kernel, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, NULL),
        "a kernel of the probe", error);
}

static bool spin(const struct device *device, CUfunction kernel, double ms, CUstream stream,
                 struct error *error)
{
    unsigned long long ns = (unsigned long long)(ms * 1e6);
    CUdeviceptr nowhere = 0;
    void *arguments[] = {&ns, &nowhere};
    return launch(device, kernel, 1, 1, stream, arguments, error);
}

/* ---- Multiprocessors ------------------------------------------------------------------------- */

static bool mark_multiprocessors(const struct device *device, CUstream stream, CUdeviceptr marks,
                                 unsigned *host, struct error *error)
{
    enum { BLOCKS = 4096, THREADS = 1 }; /* a multiprocessor has room for 32 of these blocks */
    const size_t bytes = PROBE_SMS * sizeof *host;
    const struct device_api *api = &device->api;
    CUfunction kernel = device_symbol(device, "probe_where", error);
    unsigned room = PROBE_SMS;
    void *arguments[] = {&marks, &room};
    memset(host, 0, bytes);
    return kernel != NULL &&
           device_check(device, api->cuMemcpyHtoDAsync(marks, host, bytes, stream), "the probe",
                        error) &&
           launch(device, kernel, BLOCKS, THREADS, stream, arguments, error) &&
           device_check(device, api->cuMemcpyDtoHAsync(host, marks, bytes, stream), "the probe",
                        error) &&
           device_check(device, api->cuStreamSynchronize(stream), "the probe", error);
}

bool probe_multiprocessors(const struct device *device, const struct partition *partition,
                           struct probe_multiprocessors *answer, struct error *error)
{
    unsigned host[PROBE_SMS];
    CUdeviceptr marks = 0;
    *answer = (struct probe_multiprocessors){.count = 0};
    const bool good =
        partition_enter(device, partition, error) &&
        device_check(device, device->api.cuMemAlloc(&marks, sizeof host), "the probe", error) &&
        mark_multiprocessors(device, partition->stream, marks, host, error);
    for (size_t i = 0; good && i < PROBE_SMS; i++) {
        answer->seen[i] = host[i] != 0;
        answer->count += answer->seen[i];
    }
    if (marks != 0)
        (void)device->api.cuMemFree(marks);
    partition_leave(device);
    return good;
}

/* ---- Queues ---------------------------------------------------------------------------------- */

struct queue_kernels {
    CUfunction spin, nothing;
};

static bool disjoint(const struct partition *a, const struct partition *b)
{
    return a->groups != 0 && b->groups != 0 && (a->groups & b->groups) == 0;
}

/* Returns whether the work enqueued to `other` ends while the work of `first` is running. */
static bool ends_before(const struct device *device, const struct partition *first,
                        const struct partition *other, bool *before, struct error *error)
{
    const struct device_api *api = &device->api;
    if (!partition_enter(device, other, error) ||
        !device_check(device, api->cuStreamSynchronize(other->stream), "the probe", error) ||
        !partition_enter(device, first, error))
        return false;
    const CUresult result = api->cuStreamQuery(first->stream);
    *before = result == CUDA_ERROR_NOT_READY;
    return *before || device_check(device, result, "the probe", error);
}

static bool enqueue_nothing(const struct device *device, CUfunction nothing,
                            const struct partition *partition, struct error *error)
{
    void *none[] = {NULL};
    return partition_enter(device, partition, error) &&
           launch(device, nothing, 1, 1, partition->stream, none, error);
}

static bool occupy(const struct device *device, CUfunction kernel,
                   const struct partition *partition, double ms, struct error *error)
{
    return partition_enter(device, partition, error) &&
           spin(device, kernel, ms, partition->stream, error);
}

/* Tests one pair alone. In a test of all pairs at once, a slow host would look like a
 * shared queue. */
static bool probe_pair(const struct device *device, const struct queue_kernels *kernels,
                       const struct partition *first, const struct partition *other, bool *waits,
                       struct error *error)
{
    static const double pair_ms = 1;
    bool before = false;
    if (!occupy(device, kernels->spin, first, pair_ms, error) ||
        !enqueue_nothing(device, kernels->nothing, other, error) ||
        !ends_before(device, first, other, &before, error))
        return false;
    *waits = !before;
    return device_check(device, device->api.cuStreamSynchronize(first->stream), "the probe", error);
}

/* Occupies one partition and finds which partitions disjoint from it wait. */
static bool probe_one(const struct device *device, const struct queue_kernels *kernels,
                      const struct partition *const partitions[], size_t count, size_t one,
                      struct probe_queues *answer, struct error *error)
{
    static const double all_ms = 3;
    const struct partition *first = partitions[one];
    bool *late = calloc(count, sizeof *late);
    if (late == NULL)
        return error_run(error, "capture: out of memory");
    bool good = occupy(device, kernels->spin, first, all_ms, error);
    for (size_t i = 0; good && i < count; i++)
        if (disjoint(first, partitions[i]))
            good = enqueue_nothing(device, kernels->nothing, partitions[i], error);
    for (size_t i = 0; good && i < count; i++) {
        bool before = true;
        if (disjoint(first, partitions[i]))
            good = ends_before(device, first, partitions[i], &before, error);
        late[i] = !before;
    }
    good = good &&
           device_check(device, device->api.cuStreamSynchronize(first->stream), "the probe", error);
    for (size_t i = 0; good && i < count; i++) {
        answer->pairs += disjoint(first, partitions[i]);
        if (late[i])
            good = probe_pair(device, kernels, first, partitions[i], &late[i], error);
        answer->waiting += late[i];
    }
    free(late);
    return good;
}

bool probe_queues(const struct device *device, const struct partition *const partitions[],
                  size_t count, struct probe_queues *answer, struct error *error)
{
    const struct queue_kernels kernels = {
        .spin = device_symbol(device, "probe_spin", error),
        .nothing = device_symbol(device, "probe_nothing", error),
    };
    bool good = kernels.spin != NULL && kernels.nothing != NULL;
    *answer = (struct probe_queues){.pairs = 0};
    /* The first launch of a kernel loads its code, which may wait for the whole device. */
    for (size_t i = 0; good && i < count; i++)
        good = occupy(device, kernels.spin, partitions[i], 0, error) &&
               enqueue_nothing(device, kernels.nothing, partitions[i], error) &&
               device_check(device, device->api.cuStreamSynchronize(partitions[i]->stream),
                            "the probe", error);
    for (size_t i = 0; good && i < count; i++)
        good = probe_one(device, &kernels, partitions, count, i, answer, error);
    partition_leave(device);
    return good;
}

/* ---- All questions --------------------------------------------------------------------------- */

struct probe {
    struct device *device;
    struct slices slices;
    uint32_t sets[SLICES_SETS]; /* sets of sevenths but the whole device; contiguous first */
    size_t set_count, side_by_side;
    struct partition partitions[SLICES_SETS]; /* partitions created, in the order of the sets */
    size_t made;
    struct probe_answers *answers;
};

static const struct partition *single(const struct probe *p, int unit)
{
    for (size_t i = 0; i < p->made; i++)
        if (p->sets[i] == UINT32_C(1) << unit)
            return &p->partitions[i];
    return NULL;
}

static void destroy_partitions(struct probe *p)
{
    while (p->made > 0)
        partition_destroy(p->device, &p->partitions[--p->made]);
}

static bool ask_groups(struct probe *p, struct error *error)
{
    struct device *device = p->device;
    struct probe_answers *a = p->answers;
    if (!device_split(device, error))
        return false;
    a->driver_version = device->driver_version;
    a->sms = device->sms;
    a->groups = (int)device->group_count;
    a->group_sms = (int)device->groups[0].sm.smCount;
    a->groups_per_seventh = a->groups / SLICES_CAPTURED;
    (void)printf("probe: driver %d.%d, %d multiprocessors in %d groups of %d; a seventh is %d "
                 "groups, %d multiprocessors\n",
                 a->driver_version / 1000, a->driver_version % 1000 / 10, a->sms, a->groups,
                 a->group_sms, a->groups_per_seventh, a->groups_per_seventh * a->group_sms);
    if (!slices_plan(a->groups, SLICES_CAPTURED, &p->slices, error))
        return false;
    const size_t count = slices_sets(SLICES_CAPTURED, (1U << (SLICES_CAPTURED - 1)) - 1, p->sets);
    p->set_count = count;
    while (p->side_by_side < count && slices_side_by_side(p->sets[p->side_by_side]))
        p->side_by_side++;
    return true;
}

/* Reaching a limit is a result, not an error. */
static void ask_contexts(struct probe *p)
{
    struct error limit = {0};
    struct probe_answers *a = p->answers;
    const double start = measure_now_ms();
    while (p->made < p->set_count &&
           partition_create(p->device, slices_groups(&p->slices, p->sets[p->made]),
                            &p->partitions[p->made], &limit))
        p->made++;
    const double ms = (measure_now_ms() - start) / fmax(1, (double)p->made);
    a->contexts = (int)p->set_count;
    a->contexts_made = (int)p->made;
    (void)snprintf(a->limit, sizeof a->limit, "%.127s", device_reason(&limit));
    (void)printf("probe: %d of %d green contexts made, %.2f ms each%s%s\n", a->contexts_made,
                 a->contexts, ms, a->limit[0] == '\0' ? "" : "; limit: ", a->limit);
}

/* A set is right if it ran on exactly the multiprocessors of its units, and no two units share a
 * multiprocessor. */
static bool count_wrong_sets(struct probe *p, int *wrong, struct error *error)
{
    struct probe_multiprocessors units[SLICES_CAPTURED] = {0};
    int owners[PROBE_SMS] = {0};
    *wrong = 0;
    for (int u = 0; u < SLICES_CAPTURED; u++) {
        if (single(p, u) != NULL &&
            !probe_multiprocessors(p->device, single(p, u), &units[u], error))
            return false;
        for (int m = 0; m < PROBE_SMS; m++)
            owners[m] += units[u].seen[m];
    }
    for (size_t i = 0; i < p->made; i++) {
        struct probe_multiprocessors answer;
        if (!probe_multiprocessors(p->device, &p->partitions[i], &answer, error))
            return false;
        bool right = answer.count == p->partitions[i].sms;
        for (int m = 0; m < PROBE_SMS; m++) {
            bool own = false;
            for (int u = 0; u < SLICES_CAPTURED; u++)
                own = own || ((p->sets[i] >> u & 1) != 0 && units[u].seen[m]);
            right = right && answer.seen[m] == own && (!own || owners[m] == 1);
        }
        *wrong += !right;
    }
    return true;
}

/* Number of wrong sets. -1: the driver refuses the mode. */
static int ask_mode(struct probe *p, enum green_mode mode, struct error *refused)
{
    int wrong = 0;
    const enum green_mode before = p->device->green_mode;
    p->device->green_mode = mode;
    if (!count_wrong_sets(p, &wrong, refused))
        wrong = -1;
    p->device->green_mode = before;
    return wrong;
}

static bool ask_multiprocessors(struct probe *p, struct error *error)
{
    struct probe_answers *a = p->answers;
    a->wrong_by_stream = ask_mode(p, GREEN_BY_STREAM, error);
    a->wrong_by_context = ask_mode(p, GREEN_BY_CONTEXT, error);
    (void)printf("probe: sets that ran on other multiprocessors than their own: %d of %zu by "
                 "stream, %d with the green context current (-1: refused)\n",
                 a->wrong_by_stream, p->made, a->wrong_by_context);
    return a->wrong_by_stream >= 0 || a->wrong_by_context >= 0;
}

/* Times 1 ms of work in a green context's stream with events of the primary context. */
static bool time_events(struct probe *p, CUevent events[2], float *ms, struct error *error)
{
    const struct device *device = p->device;
    const struct device_api *api = &device->api;
    CUstream stream = p->partitions[0].stream;
    CUfunction kernel = device_symbol(device, "probe_spin", error);
    return kernel != NULL && spin(device, kernel, 0, stream, error) &&
           device_check(device, api->cuEventCreate(&events[0], CU_EVENT_DEFAULT), "an event",
                        error) &&
           device_check(device, api->cuEventCreate(&events[1], CU_EVENT_DEFAULT), "an event",
                        error) &&
           device_check(device, api->cuEventRecord(events[0], stream), "an event", error) &&
           spin(device, kernel, 1, stream, error) &&
           device_check(device, api->cuEventRecord(events[1], stream), "an event", error) &&
           device_check(device, api->cuEventSynchronize(events[1]), "an event", error) &&
           device_check(device, api->cuEventElapsedTime(ms, events[0], events[1]), "an event",
                        error);
}

static void ask_events(struct probe *p)
{
    CUevent events[2] = {NULL, NULL};
    struct error refused = {0};
    float ms = NAN;
    if (!time_events(p, events, &ms, &refused))
        ms = NAN;
    for (int i = 0; i < 2; i++)
        if (events[i] != NULL)
            (void)p->device->api.cuEventDestroy(events[i]);
    p->answers->events_ms = (double)ms;
    (void)printf(
        "probe: events of the primary context in a green context's stream: %.3f ms of 1%s%s\n",
        (double)ms, refused.message[0] == '\0' ? "" : "; ", device_reason(&refused));
}

static bool ask_queues_of(struct probe *p, size_t count, const char *which,
                          struct probe_queues *answer, struct error *error)
{
    const struct partition *partitions[SLICES_SETS];
    const double start = measure_now_ms();
    for (size_t i = 0; i < count; i++)
        partitions[i] = &p->partitions[i];
    if (!probe_queues(p->device, partitions, count, answer, error))
        return false;
    (void)printf("probe: queues of %s: %zu of %zu pairs of disjoint sets wait for each other "
                 "(%.1f s)\n",
                 which, answer->waiting, answer->pairs, (measure_now_ms() - start) / 1e3);
    return true;
}

/* Tests all sets, and then only the contiguous sets, which a replay may use instead. */
static bool ask_queues(struct probe *p, struct error *error)
{
    if (!ask_queues_of(p, p->made, "all sets", &p->answers->all, error))
        return false;
    destroy_partitions(p);
    while (p->made < p->side_by_side &&
           partition_create(p->device, slices_groups(&p->slices, p->sets[p->made]),
                            &p->partitions[p->made], error))
        p->made++;
    return p->made == 0 ||
           ask_queues_of(p, p->made, "sets side by side", &p->answers->side_by_side, error);
}

/* ---- The host -------------------------------------------------------------------------------- */

struct launcher {
    const struct device *device;
    const struct partition *partition;
    CUfunction kernel;
    struct error error;
    bool good;
};

enum { LAUNCHES = 5000 };

static void *launch_many(void *argument)
{
    struct launcher *l = argument;
    void *none[] = {NULL};
    l->good = partition_enter(l->device, l->partition, &l->error);
    for (int i = 0; i < LAUNCHES && l->good; i++)
        l->good = launch(l->device, l->kernel, 1, 32, l->partition->stream, none, &l->error);
    l->good =
        l->good && device_check(l->device, l->device->api.cuStreamSynchronize(l->partition->stream),
                                "the probe", &l->error);
    partition_leave(l->device);
    return NULL;
}

static bool time_launches(struct probe *p, CUfunction kernel, int count, double *us,
                          struct error *error)
{
    struct launcher launchers[SLICES_CAPTURED];
    pthread_t threads[SLICES_CAPTURED];
    int started = 0;
    const double start = measure_now_ms();
    for (; started < count; started++) {
        launchers[started] = (struct launcher){p->device, single(p, started), kernel, {0}, false};
        if (pthread_create(&threads[started], NULL, launch_many, &launchers[started]) != 0)
            break;
    }
    for (int i = 0; i < started; i++)
        (void)pthread_join(threads[i], NULL);
    *us = (measure_now_ms() - start) * 1e3 / LAUNCHES;
    for (int i = 0; i < started; i++)
        if (!launchers[i].good) {
            *error = launchers[i].error;
            return false;
        }
    return started == count || error_run(error, "capture: a thread cannot be started");
}

static bool ask_launches(struct probe *p, struct error *error)
{
    double *us = p->answers->launch_us;
    CUfunction kernel = device_symbol(p->device, "probe_nothing", error);
    if (kernel == NULL || single(p, SLICES_CAPTURED - 1) == NULL)
        return kernel != NULL;
    for (int i = 0; i < PROBE_THREAD_COUNTS; i++)
        if (!time_launches(p, kernel, thread_counts[i], &us[i], error))
            return false;
    (void)printf("probe: a launch takes %.1f us with 1 thread, %.1f with 4, %.1f with 7\n", us[0],
                 us[1], us[2]);
    return true;
}

static bool ask_set_current(struct probe *p, struct error *error)
{
    enum { ROUNDS = 10000 };
    const struct device_api *api = &p->device->api;
    CUresult result = CUDA_SUCCESS;
    const double start = measure_now_ms();
    for (int i = 0; i < ROUNDS && result == CUDA_SUCCESS; i++) {
        result = api->cuCtxSetCurrent(p->partitions[0].context);
        partition_leave(p->device);
    }
    p->answers->set_current_us = (measure_now_ms() - start) * 1e3 / ROUNDS;
    (void)printf("probe: cuCtxSetCurrent, there and back: %.2f us\n", p->answers->set_current_us);
    return device_check(p->device, result, "cuCtxSetCurrent", error);
}

/* ---- The clock ------------------------------------------------------------------------------- */

/* Occupies the whole device for `ms` milliseconds. `mhz` receives the measured multiprocessor
 * clock. */
static bool time_clock(struct probe *p, CUfunction kernel, double ms, CUdeviceptr place,
                       double *mhz, struct error *error)
{
    enum { THREADS = 256 };
    const struct device *device = p->device;
    unsigned long long ns = (unsigned long long)(ms * 1e6);
    long long cycles_ns[2] = {0, 1};
    void *arguments[] = {&ns, &place};
    if (!launch(device, kernel, (unsigned)device->sms, THREADS, NULL, arguments, error) ||
        !device_check(device, device->api.cuMemcpyDtoH(cycles_ns, place, sizeof cycles_ns),
                      "the probe", error))
        return false;
    *mhz = 1e3 * (double)cycles_ns[0] / fmax(1, (double)cycles_ns[1]);
    return true;
}

static bool ask_clock(struct probe *p, struct error *error)
{
    enum { ROUNDS = 40, IDLE_US = 1000000 };
    struct probe_answers *a = p->answers;
    CUfunction kernel = device_symbol(p->device, "probe_spin", error);
    CUdeviceptr place = 0;
    if (kernel == NULL ||
        !device_check(p->device, p->device->api.cuMemAlloc(&place, 2 * sizeof(long long)),
                      "the probe", error))
        return false;
    (void)usleep(IDLE_US);
    bool good = time_clock(p, kernel, 1, place, &a->idle_mhz, error);
    for (int i = 0; i < ROUNDS && good; i++)
        good = time_clock(p, kernel, 5, place, &a->busy_mhz, error);
    (void)p->device->api.cuMemFree(place);
    if (good)
        (void)printf(
            "probe: multiprocessors at %.0f MHz after %.0f s idle, %.0f MHz after 0.2 s busy\n",
            a->idle_mhz, IDLE_US / 1e6, a->busy_mhz);
    return good;
}

bool probe_run(struct device *device, struct probe_answers *answers, struct error *error)
{
    struct probe p = {.device = device, .answers = answers};
    const double start = measure_now_ms();
    *answers = (struct probe_answers){.events_ms = NAN};
    bool good = ask_groups(&p, error);
    if (good)
        ask_contexts(&p);
    if (good && p.made == 0)
        good = error_run(error, "capture: no green context can be made: %s", answers->limit);
    good = good && ask_multiprocessors(&p, error);
    if (good)
        ask_events(&p);
    good = good && ask_queues(&p, error) && ask_launches(&p, error) && ask_set_current(&p, error) &&
           ask_clock(&p, error);
    destroy_partitions(&p);
    answers->seconds = (measure_now_ms() - start) / 1e3;
    if (!good)
        return false;
    (void)printf("probe: %.1f s\n", answers->seconds);
    return answers->wrong_by_stream == 0 || answers->wrong_by_context == 0 ||
           error_run(
               error,
               "capture: %d of %d green contexts run on other multiprocessors than their own, "
               "%d where they are current: shares are not what their names say",
               answers->wrong_by_stream, answers->contexts_made, answers->wrong_by_context);
}
