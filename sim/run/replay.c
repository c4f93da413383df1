#include "sim/run/replay.h"

#include "sim/base/units.h"

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

bool replay_plan(const struct resolved_run *run, struct replay_plan *plan, struct error *error)
{
    const struct emulated_options options = {0};
    struct emulated *rehearsal = emulated_create(&options, error);
    if (rehearsal == NULL)
        return false;
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
    emulated_destroy(rehearsal);
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
    if (resolved_run_record(run, &recording, result, error))
        return true;
    simulation_result_clear(result);
    (void)store_drop_run(store, NULL); /* the first error is reported, not this one */
    return false;
}
