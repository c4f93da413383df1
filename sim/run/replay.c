#include "sim/run/replay.h"

#include "sim/base/units.h"
#include "sim/run/run_once.h"

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

bool replay_plan(const struct experiment *experiment, const struct policy *policy,
                 const double *values, struct replay_plan *plan, struct error *error)
{
    const struct emulated_options options = {0};
    struct emulated *rehearsal = emulated_create(&options, error);
    if (rehearsal == NULL)
        return false;
    const struct backend backend = emulated_backend(rehearsal);
    struct simulation_result result = {0};
    const bool good =
        simulation_run_with(experiment, policy, values,
                            &(struct simulation_options){.backend = &backend}, &result, error);
    if (good) {
        const struct emulated_figures figures = emulated_figures(rehearsal);
        *plan = (struct replay_plan){.seconds = sim_to_s(figures.last_end),
                                     .batches = figures.batches,
                                     .together = figures.together};
        simulation_result_clear(&result);
    }
    emulated_destroy(rehearsal);
    return good;
}

/* Writes rows, attributes and figures into the run that was begun. */
static bool record_begun(struct store *store, const struct experiment *experiment,
                         const struct policy *policy, const double *values,
                         const struct replay_target *target, const struct progress *progress,
                         struct simulation_result *result, struct error *error)
{
    const struct recorder recorder = store_recorder(store);
    const struct simulation_options options = {
        .backend = &target->backend, .recorder = &recorder, .progress = progress, .bounds = true};
    if (!simulation_run_with(experiment, policy, values, &options, result, error))
        return false;
    struct execution execution = {0};
    target->describe(target->context, &execution);
    if (store_set_execution(store, &execution, error) && store_end_run(store, result, error))
        return true;
    simulation_result_clear(result);
    return false;
}

bool replay_record(struct store *store, const struct experiment *experiment,
                   const struct policy *policy, const double *values,
                   const struct replay_target *target, const struct progress *progress,
                   struct simulation_result *result, struct error *error)
{
    struct replay_plan plan;
    if (!replay_plan(experiment, policy, values, &plan, error) ||
        !store_begin_experiment(store, experiment, policy, values, error))
        return false;
    if (record_begun(store, experiment, policy, values, target, progress, result, error))
        return true;
    (void)store_drop_run(store, NULL); /* the first error is reported, not this one */
    return false;
}
