#include "traces/capture/replay_device.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "traces/capture/measure.h"
#include "traces/capture/stopwatch.h"

enum { SEED = 1 };

/* A set of units: where a batch executes, and the events around it. */
struct replay_lane {
    struct lane lane; /* device NULL: not made */
    struct stopwatch watch;
    bool busy; /* under the lock, as what lanes there are */
};

struct replay_device {
    const struct replay_setup *setup;
    struct device device;
    struct slices slices;
    struct lane whole; /* on which algorithms are chosen, as a capture chooses them */
    pthread_mutex_t lock;
    struct replay_lane lanes[SLICES_SETS]; /* by set of units */
    struct executor ***executors;          /* [function][copy * batch_count + batch] */
    struct replay_device_about about;
};

/* ---- Lanes ----------------------------------------------------------------------------------- */

static void destroy_lane(struct replay_lane *lane)
{
    stopwatch_destroy(&lane->watch);
    lane_destroy(&lane->lane);
    *lane = (struct replay_lane){.busy = false};
}

static bool make_lane(struct replay_device *d, uint32_t set, struct error *error)
{
    struct replay_lane *lane = &d->lanes[set];
    const struct device_api *api = &d->device.api;
    struct partition partition;
    if (!partition_create(&d->device, slices_groups(&d->slices, set), &partition, error) ||
        !lane_create(&d->device, &partition, &lane->lane, error))
        return false;
    const bool good = stopwatch_create(&lane->lane, &lane->watch, error);
    (void)api->cuCtxSetCurrent(d->device.context);
    if (!good)
        destroy_lane(lane);
    return good;
}

/* Gives up an idle lane, of units that do not lie side by side if there is one. */
static bool give_up_lane(struct replay_device *d)
{
    struct replay_lane *chosen = NULL;
    for (uint32_t set = 1; set < SLICES_SETS; set++) {
        struct replay_lane *lane = &d->lanes[set];
        if (lane->lane.device == NULL || lane->busy || !lane->lane.partition.green)
            continue;
        if (chosen == NULL || !slices_side_by_side(set))
            chosen = lane;
    }
    if (chosen != NULL)
        destroy_lane(chosen);
    return chosen != NULL;
}

/* The lane of a set, made now where it is not there: others are given up until the driver has room
 * for its context. NULL with the driver's reason. */
static struct replay_lane *take_lane(struct replay_device *d, uint32_t set, struct error *error)
{
    struct replay_lane *lane = &d->lanes[set];
    (void)pthread_mutex_lock(&d->lock);
    bool there = lane->lane.device != NULL;
    if (!there)
        d->about.late_lanes++;
    while (!there) {
        there = make_lane(d, set, error);
        if (!there && !give_up_lane(d))
            break;
    }
    lane->busy = there;
    (void)pthread_mutex_unlock(&d->lock);
    return there ? lane : NULL;
}

static void release_lane(struct replay_device *d, struct replay_lane *lane)
{
    (void)pthread_mutex_lock(&d->lock);
    lane->busy = false;
    (void)pthread_mutex_unlock(&d->lock);
}

/* All sets if the driver has so many green contexts; else at least those whose units lie side by
 * side, which are asked for first, and the others when they are asked for. */
static bool make_sets(struct replay_device *d, struct error *error)
{
    struct error fault = {0};
    const struct replay_setup *setup = d->setup;
    while (d->about.lanes < setup->set_count && make_lane(d, setup->sets[d->about.lanes], &fault))
        d->about.lanes++;
    if (d->about.lanes == setup->set_count)
        return true;
    (void)printf("no more than %zu lanes: %s; others are made when they are needed\n",
                 d->about.lanes, fault.message);
    for (size_t i = 0; i < setup->set_count; i++) {
        struct replay_lane *lane =
            slices_side_by_side(setup->sets[i]) ? take_lane(d, setup->sets[i], error) : NULL;
        if (lane != NULL)
            release_lane(d, lane);
        else if (slices_side_by_side(setup->sets[i]))
            return false;
    }
    d->about.late_lanes = 0;
    return true;
}

static bool make_lanes(struct replay_device *d, struct error *error)
{
    const double start = measure_now_ms();
    struct partition partition;
    if (!device_split(&d->device, error) ||
        !slices_plan((int)d->device.group_count, d->setup->units, &d->slices, error) ||
        !partition_create(&d->device, 0, &partition, error) ||
        !lane_create(&d->device, &partition, &d->whole, error) || !make_sets(d, error))
        return false;
    d->about.sms = d->device.sms;
    d->about.unit_sms = d->slices.per_unit * (int)d->device.groups[0].sm.smCount;
    d->about.lanes_s = (measure_now_ms() - start) / 1e3;
    (void)printf("%zu lanes, a unit %d of %d multiprocessors, in %.1f s\n", d->about.lanes,
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

/* A copy's largest batch has the room, in which the others run. The first copy's executors are the
 * pattern of the others'. */
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

/* After the first copies it is known what the others take. */
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
        /* The one with the room comes last. */
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
    /* A green context may be current in one thread only. */
    (void)d->device.api.cuCtxSetCurrent(d->device.context);
    return good;
}

static bool run_batch(void *state, const struct pool_task *task, double *device_ms,
                      struct error *error)
{
    struct replay_device *d = state;
    const size_t batch = replay_setup_batch(&d->setup->functions[task->function], task->batch);
    struct replay_lane *lane = take_lane(d, task->units, error);
    if (lane == NULL)
        return false;
    const bool good =
        run_on(d, *executor_of(d, task->function, task->copy, batch), lane, device_ms, error);
    release_lane(d, lane);
    return good;
}

/* What is loaded or tuned at first use is loaded before time 0: every network on every lane at its
 * smallest batch, every executor on the lane of the least set. */
static bool warm_up(struct replay_device *d, struct error *error)
{
    const struct replay_setup *setup = d->setup;
    const double start = measure_now_ms();
    double ms = 0;
    size_t runs = 0;
    for (uint32_t set = 1; set < SLICES_SETS; set++)
        for (size_t f = 0; f < setup->function_count && d->lanes[set].lane.device != NULL;
             f++, runs++)
            if (!run_on(d, *executor_of(d, f, 0, 0), &d->lanes[set], &ms, error))
                return false;
    /* The first set's units lie side by side: its lane is there. */
    for (size_t f = 0; f < setup->function_count; f++)
        for (uint32_t copy = 0; copy < setup->functions[f].copies; copy++)
            for (size_t b = 0; b < setup->functions[f].batch_count; b++, runs++)
                if (!run_on(d, *executor_of(d, f, copy, b), &d->lanes[setup->sets[0]], &ms, error))
                    return false;
    d->about.warm_up_s = (measure_now_ms() - start) / 1e3;
    (void)printf("%zu inferences to warm up in %.1f s\n", runs, d->about.warm_up_s);
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

static bool make_all(struct replay_device *d, struct error *error)
{
    size_t before = 0;
    size_t after = 0;
    size_t total = 0;
    if (!device_open(&d->device, error) || !device_load_kernels(&d->device, error))
        return false;
    (void)d->device.api.cuMemGetInfo(&before, &total);
    if (!replay_setup_fits(d->setup, (double)before, error) || !make_lanes(d, error) ||
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

struct replay_device *replay_device_open(const struct replay_setup *setup, struct error *error)
{
    struct replay_device *d = calloc(1, sizeof *d);
    if (d == NULL) {
        error_run(error, "replay: out of memory");
        return NULL;
    }
    d->setup = setup;
    if (pthread_mutex_init(&d->lock, NULL) != 0) {
        free(d);
        error_run(error, "replay: out of memory");
        return NULL;
    }
    if (make_all(d, error))
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
        lane_destroy(&d->whole);
        device_close(&d->device);
    }
    (void)pthread_mutex_destroy(&d->lock);
    free(d);
}

struct pool_runner replay_device_runner(struct replay_device *d)
{
    return (struct pool_runner){d, run_batch};
}

struct replay_device_about replay_device_about(const struct replay_device *d)
{
    return d->about;
}
