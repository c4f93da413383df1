#include "traces/capture/probe.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "traces/capture/measure.h"

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
    enum { BLOCKS = 1024, THREADS = 32 };
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

/* Whether `other`'s work, which is enqueued, ends while `first`'s is under way. */
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

/* A pair by itself: a host that was late with all of them at once is not taken for a queue. */
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

/* Occupies one partition: which of those disjoint from it wait? */
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
