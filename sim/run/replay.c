#include "sim/run/replay.h"

#include <stdio.h>
#include <string.h>

#include "sim/base/units.h"
#include "sim/base/version.h"

static void rehearsal_describe(void *context, struct execution *execution)
{
    const struct emulated_figures figures = emulated_figures(context);
    *execution = (struct execution){.backend = "rehearsal",
                                    .device = "none",
                                    .driver = "none",
                                    .starts = figures.batches,
                                    .late_us_mean = figures.late_ns_mean / 1e3,
                                    .late_us_p99 = figures.late_ns_p99 / 1e3,
                                    .late_us_max = (double)figures.late_ns_max / 1e3};
}

struct replay_target replay_rehearsal(struct emulated *rehearsal)
{
    return (struct replay_target){.backend = emulated_backend(rehearsal),
                                  .context = rehearsal,
                                  .describe = rehearsal_describe};
}

static void worker_describe(void *context, struct execution *execution)
{
    struct replay_worker *worker = context;
    const struct worker_figures f = worker_backend_figures(worker->backend);
    const struct worker_warming warming = worker_backend_warming(worker->backend);
    const struct gpu_spec *gpu = &worker->run->experiment->workload.cluster.groups[0].gpus[0];
    char parts[HOST_PARTS * 24] = "";
    for (size_t i = 0; i < HOST_PARTS; i++)
        (void)snprintf(parts + strlen(parts), sizeof parts - strlen(parts), "%s%.4f",
                       i > 0 ? ", " : "", f.host_parts_ms[i]);
    (void)snprintf(worker->details, sizeof worker->details,
                   "{\"units\": %d, \"side_by_side\": %s, \"combinations\": %zu, \"warmed\": %zu, "
                   "\"warm_up_s\": %.3f, \"host_ms_by_part\": [%s]}",
                   gpu->units, worker->side_by_side ? "true" : "false", warming.combinations,
                   warming.warmed, warming.seconds, parts);
    *execution =
        (struct execution){.backend = worker->command,
                           .device = worker->gpu ? gpu->model : "none",
                           .driver = worker->gpu ? "as the cluster says" : "none",
                           .details = worker->details,
                           .gpu = worker->gpu,
                           .late_us_mean = f.late_mean,
                           .late_us_p99 = f.late_p99,
                           .late_us_max = f.late_max,
                           .host_ms = f.host_ms_mean - f.device_ms_mean + f.late_mean / 1e3};
    execution->rows = worker_backend_rows(worker->backend, &execution->row_count);
    execution->starts = execution->row_count;
}

struct replay_target replay_worker(struct replay_worker *worker)
{
    return (struct replay_target){worker_backend(worker->backend), worker, worker_describe};
}

bool replay_plan(const struct resolved_run *run, struct replay_plan *plan, struct error *error)
{
    const struct emulated_options options = {0};
    struct emulated *rehearsal = emulated_create(&options);
    const struct backend backend = emulated_backend(rehearsal);
    struct simulation_result result = {0};
    const bool good = resolved_run_simulate(run, &(struct simulation_options){.backend = &backend},
                                            &result, error);
    if (good) {
        const struct emulated_figures figures = emulated_figures(rehearsal);
        *plan = (struct replay_plan){.seconds = sim_to_s(figures.last_end),
                                     .batches = figures.batches,
                                     .together = figures.together};
        simulation_result_clear(&result);
    }
    arena_home_free(rehearsal);
    return good;
}

bool replay_record(struct store *store, const struct resolved_run *run,
                   const struct replay_target *target, struct simulation_result *result,
                   struct error *error)
{
    const struct run_recording recording = {.store = store, .target = target, .bounds = true};
    struct replay_plan plan;
    if (!replay_plan(run, &plan, error))
        return false;
    store_keep_rows(store);
    if (resolved_run_record(run, &recording, result, error))
        return true;
    simulation_result_clear(result);
    (void)store_drop_run(store, NULL); /* the first error is reported, not this one */
    return false;
}

/* Copies the runs that the results file has. Sets *has if `run` is one of them. */
static bool copy_runs(const char *path, const struct resolved_run *run, struct store *store,
                      bool *has, struct error *error)
{
    struct run_source *source = run_source_open(path, error);
    bool good = source != NULL && store_reserve(store, path, error);
    for (size_t i = 0; good && i < run_source_results(source)->run_count; i++) {
        const char *backend = run_source_text(source, i, "replay_backend");
        const char *sources = run_source_text(source, i, "sources");
        const char *hash = run_source_results(source)->runs[i].hash;
        good = backend != NULL && sources != NULL && strcmp(sources, version_sources()) == 0;
        if (!good)
            error_input(error, "%s: run %s is %s; give another --out, or omit --resume", path, hash,
                        backend == NULL ? "simulated, not replayed" : "of another program");
        good = good && store_copy_run(store, source, i, NULL, error);
        *has = *has || strcmp(hash, run->experiment->hash) == 0;
    }
    run_source_close(source);
    return good;
}

struct store *replay_begin(const char *path, bool keeps, const struct resolved_run *run, bool *has,
                           struct error *error)
{
    struct store *store = store_create(path, error);
    *has = false;
    if (store == NULL || !keeps || (copy_runs(path, run, store, has, error) && !*has))
        return store;
    store_abandon(store);
    return NULL;
}
