#include "traces/capture/replay/replay_device.h"

#include <stdio.h>
#include <stdlib.h>

#include "traces/capture/measure/measure.h"
#include "traces/capture/executor/probe.h"
#include "traces/capture/executor/stopwatch.h"

enum { SEED = 1 };

/* A set of units: the partition stream in which a batch executes, and the events that time it. */
struct replay_lane {
    struct partition_stream lane; /* device NULL: not created */
    struct stopwatch watch;
};

struct replay_device {
    const struct replay_setup *setup;
    struct device device;
    struct slices slices;
    struct partition_stream whole;         /* algorithms are chosen here, as in a capture */
    struct replay_lane lanes[SLICES_SETS]; /* indexed by set of units */
    bool sets[SLICES_SETS];                /* sets with a partition stream */
    struct executor ***executors;          /* [function][copy * batch_count + batch] */
    struct replay_device_about about;
};

/* ---- Lanes ----------------------------------------------------------------------------------- */

static void destroy_lane(struct replay_lane *lane)
{
    stopwatch_destroy(&lane->watch);
    partition_stream_destroy(&lane->lane);
}

static bool make_lane(struct replay_device *d, uint32_t set, struct error *error)
{
    struct replay_lane *lane = &d->lanes[set];
    struct partition partition;
    if (!partition_create(&d->device, slices_groups(&d->slices, set), &partition, error) ||
        !partition_stream_create(&d->device, &partition, &lane->lane, error))
        return false;
    const bool good = stopwatch_create(&lane->lane, &lane->watch, error);
    partition_leave(&d->device);
    if (!good)
        destroy_lane(lane);
    return good;
}

/* A set that the driver refuses is skipped. */
static void make_sets(struct replay_device *d, enum replay_sets which)
{
    struct error fault = {0};
    const struct replay_setup *setup = d->setup;
    d->about.lanes = d->about.refused = 0;
    for (size_t i = 0; i < setup->set_count; i++) {
        const uint32_t set = setup->sets[i];
        if (which == REPLAY_SIDE_BY_SIDE && !slices_side_by_side(set))
            continue;
        d->sets[set] = make_lane(d, set, d->about.refused == 0 ? &fault : &(struct error){0});
        d->about.lanes += d->sets[set];
        d->about.refused += !d->sets[set];
    }
    if (d->about.refused > 0)
        (void)printf("%zu sets of units are refused and not used: %s\n", d->about.refused,
                     fault.message);
}

static bool ask_queues(struct replay_device *d, struct error *error)
{
    const struct partition *partitions[SLICES_SETS];
    struct probe_queues queues;
    size_t count = 0;
    for (uint32_t set = 1; set < SLICES_SETS; set++)
        if (d->sets[set])
            partitions[count++] = &d->lanes[set].lane.partition;
    if (!probe_queues(&d->device, partitions, count, &queues, error))
        return false;
    d->about.queue_pairs = queues.pairs;
    d->about.queue_waiting = queues.waiting;
    (void)printf("%zu of %zu pairs of sets without a unit in common wait for each other\n",
                 queues.waiting, queues.pairs);
    return true;
}

/* Streams share the device's 32 hardware queues. If some streams wait for others, only the
 * contiguous sets are used, which are fewer. */
static bool choose_sets(struct replay_device *d, enum replay_sets which, struct error *error)
{
    make_sets(d, which);
    d->about.side_by_side = which == REPLAY_SIDE_BY_SIDE;
    if (!ask_queues(d, error))
        return false;
    if (d->about.queue_waiting == 0 || which != REPLAY_AUTO)
        return true;
    for (uint32_t set = 1; set < SLICES_SETS; set++)
        if (d->sets[set] && !slices_side_by_side(set)) {
            destroy_lane(&d->lanes[set]);
            d->sets[set] = false;
            d->about.lanes--;
        }
    d->about.side_by_side = true;
    (void)printf("so only the %zu sets side by side are used\n", d->about.lanes);
    if (!ask_queues(d, error))
        return false;
    if (d->about.queue_waiting > 0)
        (void)printf("batches on sets that wait for each other take longer than they should\n");
    return true;
}

/* A batch whose share has no set would wait forever. */
static bool check_sets(const struct replay_device *d, struct error *error)
{
    bool there[SLICES_UNITS + 1] = {false};
    for (uint32_t set = 1; set < SLICES_SETS; set++)
        there[__builtin_popcount(set)] = there[__builtin_popcount(set)] || d->sets[set];
    for (size_t i = 0; i < d->setup->set_count; i++)
        if (!there[__builtin_popcount(d->setup->sets[i])])
            return error_run(error, "replay: the driver makes no set of %d units",
                             __builtin_popcount(d->setup->sets[i]));
    return true;
}

static bool make_lanes(struct replay_device *d, enum replay_sets which, struct error *error)
{
    const double start = measure_now_ms();
    struct partition partition;
    if (!device_split(&d->device, error) ||
        !slices_plan((int)d->device.group_count, d->setup->units, &d->slices, error) ||
        !partition_create(&d->device, 0, &partition, error) ||
        !partition_stream_create(&d->device, &partition, &d->whole, error) ||
        !choose_sets(d, which, error) || !check_sets(d, error))
        return false;
    d->about.sms = d->device.sms;
    d->about.unit_sms = d->slices.per_unit * (int)d->device.groups[0].sm.smCount;
    d->about.lanes_s = (measure_now_ms() - start) / 1e3;
    (void)printf("%zu lanes, a unit %d of %d multiprocessors, lanes_s %.1f\n", d->about.lanes,
                 d->about.unit_sms, d->about.sms, d->about.lanes_s);
    (void)fflush(stdout);
    return true;
}

/* ---- Executors ------------------------------------------------------------------------------- */

static struct executor **executor_of(const struct replay_device *d, size_t function, uint32_t copy,
                                     size_t batch)
{
    return &d->executors[function][copy * d->setup->functions[function].batch_count + batch];
}

/* The largest batch of a copy owns the memory in which the smaller ones run. The executors of the
 * first copy are the template for those of the others. */
static bool make_copy(struct replay_device *d, size_t function, uint32_t copy, struct error *error)
{
    const struct replay_function *f = &d->setup->functions[function];
    for (size_t b = f->batch_count; b-- > 0;) {
        const struct executor_kin kin = {
            .room = b + 1 == f->batch_count ? NULL
                                            : *executor_of(d, function, copy, f->batch_count - 1),
            .like = copy == 0 ? NULL : *executor_of(d, function, 0, b),
        };
        struct executor *executor = executor_create(&d->device, f->batches[b].graph, d->setup->half,
                                                    SEED, &d->whole, &kin, error);
        if (executor == NULL)
            return false;
        *executor_of(d, function, copy, b) = executor;
    }
    return true;
}

static size_t bytes_of_first(const struct replay_device *d, size_t function)
{
    size_t bytes = 0;
    for (size_t b = 0; b < d->setup->functions[function].batch_count; b++)
        bytes += executor_sizes(*executor_of(d, function, 0, b)).allocated;
    return bytes;
}

/* The first copies show how much memory the others need. */
static bool check_memory(const struct replay_device *d, struct error *error)
{
    size_t free_bytes = 0;
    size_t total = 0;
    double wanted = 0;
    for (size_t f = 0; f < d->setup->function_count; f++)
        wanted += (double)(d->setup->functions[f].copies - 1) * (double)bytes_of_first(d, f);
    if (!device_check(&d->device, d->device.api.cuMemGetInfo(&free_bytes, &total), "memory", error))
        return false;
    return wanted < (double)free_bytes ||
           error_input(error,
                       "replay: %.0f MB are free on the GPU and the other copies take %.0f; lower "
                       "the largest batch (\"configurations\") or the containers "
                       "(platform.initial)",
                       (double)free_bytes / 1048576, wanted / 1048576);
}

static bool make_executors(struct replay_device *d, struct error *error)
{
    const double start = measure_now_ms();
    const struct replay_setup *setup = d->setup;
    d->executors = calloc(setup->function_count, sizeof *d->executors);
    if (d->executors == NULL)
        return error_run(error, "replay: out of memory");
    for (size_t f = 0; f < setup->function_count; f++) {
        d->executors[f] = calloc(setup->functions[f].copies * setup->functions[f].batch_count,
                                 sizeof *d->executors[f]);
        if (d->executors[f] == NULL)
            return error_run(error, "replay: out of memory");
        if (!make_copy(d, f, 0, error))
            return false;
    }
    if (!check_memory(d, error))
        return false;
    for (size_t f = 0; f < setup->function_count; f++)
        for (uint32_t copy = 1; copy < setup->functions[f].copies; copy++)
            if (!make_copy(d, f, copy, error))
                return false;
    d->about.executors_s = (measure_now_ms() - start) / 1e3;
    return true;
}

static void free_executors(struct replay_device *d)
{
    for (size_t f = 0; d->executors != NULL && f < d->setup->function_count; f++) {
        const struct replay_function *function = &d->setup->functions[f];
        /* Batch sizes ascend: the largest, which owns the memory, is freed last. */
        for (size_t i = 0; d->executors[f] != NULL && i < function->copies * function->batch_count;
             i++)
            executor_free(d->executors[f][i]);
        free(d->executors[f]);
    }
    free(d->executors);
}

/* ---- Running --------------------------------------------------------------------------------- */

static bool run_on(struct replay_device *d, const struct executor *executor,
                   const struct replay_lane *lane, double *ms, struct error *error)
{
    const bool good = stopwatch_run(&lane->watch, executor, &lane->lane, ms, error);
    partition_leave(&d->device);
    return good;
}

static bool run_batch(void *state, const struct pool_task *task, double *device_ms,
                      struct error *error)
{
    struct replay_device *d = state;
    const size_t batch = replay_setup_batch(&d->setup->functions[task->function], task->batch);
    return run_on(d, *executor_of(d, task->function, task->copy, batch), &d->lanes[task->units],
                  device_ms, error);
}

/* Loads and tunes everything before time 0. Every network runs in every partition stream at its
 * smallest batch. Every executor runs in the partition stream of the smallest set. */
static bool warm_up(struct replay_device *d, struct error *error)
{
    const struct replay_setup *setup = d->setup;
    const double start = measure_now_ms();
    double ms = 0;
    size_t runs = 0;
    for (uint32_t set = 1; set < SLICES_SETS; set++)
        for (size_t f = 0; f < setup->function_count && d->sets[set]; f++, runs++)
            if (!run_on(d, *executor_of(d, f, 0, 0), &d->lanes[set], &ms, error))
                return false;
    uint32_t least = 1;
    while (!d->sets[least])
        least++;
    for (size_t f = 0; f < setup->function_count; f++)
        for (uint32_t copy = 0; copy < setup->functions[f].copies; copy++)
            for (size_t b = 0; b < setup->functions[f].batch_count; b++, runs++)
                if (!run_on(d, *executor_of(d, f, copy, b), &d->lanes[least], &ms, error))
                    return false;
    d->about.warm_up_s = (measure_now_ms() - start) / 1e3;
    (void)printf("%zu inferences to warm up, warm_up_s %.1f\n", runs, d->about.warm_up_s);
    (void)fflush(stdout);
    return true;
}

/* ---- The device ------------------------------------------------------------------------------ */

static void describe(struct replay_device *d)
{
    struct replay_device_about *about = &d->about;
    int cublas = 0;
    (void)d->device.api.cublasGetVersion(d->whole.cublas, &cublas);
    (void)snprintf(about->name, sizeof about->name, "%s", d->device.name);
    (void)snprintf(about->driver, sizeof about->driver, "CUDA %d.%d, cuDNN %zu, cuBLAS %d",
                   d->device.driver_version / 1000, d->device.driver_version % 1000 / 10,
                   d->device.api.cudnnGetVersion(), cublas);
}

static bool make_all(struct replay_device *d, enum replay_sets which, struct error *error)
{
    size_t before = 0;
    size_t after = 0;
    size_t total = 0;
    if (!device_open(&d->device, error) || !device_load_kernels(&d->device, error))
        return false;
    (void)d->device.api.cuMemGetInfo(&before, &total);
    if (!replay_setup_fits(d->setup, (double)before, error) || !make_lanes(d, which, error) ||
        !make_executors(d, error))
        return false;
    (void)d->device.api.cuMemGetInfo(&after, &total);
    d->about.bytes = before - after;
    (void)printf("executors in %.1f s; %.0f MB of GPU memory taken\n", d->about.executors_s,
                 (double)d->about.bytes / 1048576);
    (void)fflush(stdout);
    if (!warm_up(d, error))
        return false;
    describe(d);
    return true;
}

struct replay_device *replay_device_open(const struct replay_setup *setup, enum replay_sets which,
                                         struct error *error)
{
    struct replay_device *d = calloc(1, sizeof *d);
    if (d == NULL) {
        error_run(error, "replay: out of memory");
        return NULL;
    }
    d->setup = setup;
    if (make_all(d, which, error))
        return d;
    replay_device_close(d);
    return NULL;
}

void replay_device_close(struct replay_device *d)
{
    if (d == NULL)
        return;
    if (d->device.context != NULL) {
        (void)d->device.api.cuCtxSynchronize();
        free_executors(d);
        for (size_t set = 0; set < SLICES_SETS; set++)
            destroy_lane(&d->lanes[set]);
        partition_stream_destroy(&d->whole);
        device_close(&d->device);
    }
    free(d);
}

struct pool_runner replay_device_runner(struct replay_device *d)
{
    return (struct pool_runner){d, run_batch, d->sets};
}

struct replay_device_about replay_device_about(const struct replay_device *d)
{
    return d->about;
}
