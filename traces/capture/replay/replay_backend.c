/* A simulation backend on a pool of threads, and the executor of a rehearsal. */
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "traces/capture/replay/replay.h"

/* ---- The sleeper ----------------------------------------------------------------------------- */

static bool sleep_run(void *state, const struct pool_task *task, double *device_ms,
                      struct error *error)
{
    const double *speed = state;
    const int64_t pause_ns = (int64_t)llround((double)task->modelled / *speed);
    struct timespec until;
    (void)error;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(pause_ns / SIM_S);
    until.tv_nsec += (long)(pause_ns % SIM_S);
    if (until.tv_nsec >= SIM_S) {
        until.tv_sec++;
        until.tv_nsec -= (long)SIM_S;
    }
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0)
        ;
    *device_ms = NAN;
    return true;
}

static bool sleeper_open(struct replay_executor *executor, const struct replay_setup *setup,
                         struct error *error)
{
    (void)error;
    for (size_t i = 0; i < setup->set_count; i++)
        executor->sets[setup->sets[i]] =
            executor->which != REPLAY_SIDE_BY_SIDE || slices_side_by_side(setup->sets[i]);
    return true;
}

static struct pool_runner sleeper_runner(struct replay_executor *executor)
{
    return (struct pool_runner){executor->state, sleep_run, executor->sets};
}

static void sleeper_close(struct replay_executor *executor)
{
    (void)executor;
}

struct replay_executor replay_sleeper(double *speed)
{
    return (struct replay_executor){
        .state = speed, .open = sleeper_open, .runner = sleeper_runner, .close = sleeper_close};
}

/* ---- The backend ----------------------------------------------------------------------------- */

static bool backend_open(void *context, const struct experiment *experiment, struct error *error)
{
    struct replay_backend *backend = context;
    const struct replay_setup *setup = backend->setup;
    replay_pool_free(backend->pool);
    free(backend->copies);
    backend->pool = NULL;
    backend->experiment = experiment;
    backend->copies = calloc(setup->function_count, sizeof *backend->copies);
    if (backend->copies == NULL)
        return error_run(error, "replay: out of memory");
    for (size_t f = 0; f < setup->function_count; f++)
        backend->copies[f] = setup->functions[f].copies;
    if (!backend->opened && !backend->executor.open(&backend->executor, setup, error))
        return false;
    backend->opened = true;
    const struct pool_options options = {
        .units = setup->units,
        .copies = backend->copies,
        .functions = setup->function_count,
        .speed = backend->speed,
        .spin = backend->spin,
        .runner = backend->executor.runner(&backend->executor),
    };
    backend->pool = replay_pool_create(&options, error);
    if (backend->pool == NULL)
        return false;
    replay_pool_begin(backend->pool);
    return true;
}

static bool backend_start(void *context, const struct backend_batch *batch, sim_time_t due,
                          struct error *error)
{
    const struct replay_backend *backend = context;
    const struct configuration *configuration =
        &backend->experiment->workload.functions[batch->function]
             .configurations[batch->configuration];
    const struct pool_task task = {
        .id = batch->id,
        .number = batch->number,
        .function = batch->function,
        .configuration = batch->configuration,
        .jobs = batch->jobs,
        .batch = configuration->batch,
        .units_wanted = configuration->vgpu,
        .modelled = batch->modelled,
    };
    return replay_pool_start(backend->pool, &task, due, error);
}

static bool backend_wait(void *context, sim_time_t until, uint32_t *ended, sim_time_t *time,
                         struct error *error)
{
    const struct replay_backend *backend = context;
    return replay_pool_wait(backend->pool, until, ended, time, error);
}

struct backend replay_backend(struct replay_backend *backend)
{
    return (struct backend){backend, backend_open, backend_start, backend_wait};
}

void replay_backend_clear(struct replay_backend *backend)
{
    replay_pool_free(backend->pool);
    if (backend->opened)
        backend->executor.close(&backend->executor);
    free(backend->copies);
    backend->pool = NULL;
    backend->copies = NULL;
    backend->opened = false;
}
