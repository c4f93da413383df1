#include "sim/run/run_once.h"

#include "sim/run/replay.h"
#include "sim/run/run_process.h"

bool resolved_run_load(struct resolved_run *run, struct inputs *inputs, const char *path,
                       const struct override *overrides, size_t count, struct error *error)
{
    *run = (struct resolved_run){.experiment =
                                     experiment_load_with(inputs, path, overrides, count, error)};
    if (run->experiment != NULL)
        run->policy = policy_resolve(run->experiment, &run->values, error);
    return run->policy != NULL;
}

void resolved_run_clear(struct resolved_run *run)
{
    experiment_free(run->experiment);
}

bool resolved_run_simulate(const struct resolved_run *run, const struct simulation_options *options,
                           struct simulation_result *result, struct error *error)
{
    if (run_process_wanted(run, options))
        return run_process_simulate(run, options, result, error);
    return simulation_run_with(run->experiment, run->policy, run->values, options, result, error);
}

bool resolved_run_record(const struct resolved_run *run, const struct run_recording *recording,
                         struct simulation_result *result, struct error *error)
{
    struct store *store = recording->store;
    const struct replay_target *target = recording->target;
    struct recorder pair[2] = {{0}, {0}};
    *result = (struct simulation_result){0};
    if (store != NULL) {
        if (!store_begin_experiment(store, run->experiment, run->policy, run->values,
                                    recording->position, recording->bounds, error))
            return false;
        pair[0] = store_recorder(store);
    }
    if (recording->also != NULL)
        pair[1] = *recording->also;
    const struct recorder recorder = recording->also != NULL ? recorder_join(pair) : pair[0];
    const struct simulation_options options = {.recorder = &recorder,
                                               .progress = recording->progress,
                                               .backend = target != NULL ? &target->backend : NULL,
                                               .bounds = recording->bounds,
                                               .swerve = recording->swerve,
                                               .swerve_seed = recording->swerve_seed};
    if (!resolved_run_simulate(run, &options, result, error))
        return false;
    struct execution execution = {0};
    if (target != NULL)
        target->describe(target->context, &execution);
    return store == NULL || ((target == NULL || store_set_execution(store, &execution, error)) &&
                             store_end_run(store, result, error));
}
