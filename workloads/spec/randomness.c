/* Whether a run draws anything from its seed. */
#include <string.h>

#include "workloads/load/policy_module.h"
#include "workloads/spec/experiment.h"
#include "workloads/training/training_plan.h"

/* A policy draws if it asks for the seed. Built-in ones that do are listed here, which a test
 * checks. Of a module it is not known. */
static bool policy_draws(const char *name)
{
    static const char *const drawing[] = {"aquatope", "fgd", "power-of-two"};
    for (size_t i = 0; i < sizeof drawing / sizeof *drawing; i++)
        if (strcmp(name, drawing[i]) == 0)
            return true;
    return policy_module_named(name);
}

/* A trace of counts draws the times, and one of several applications may draw the application. */
static bool arrivals_draw(const struct experiment *experiment)
{
    const struct arrival_spec *spec = &experiment->arrivals;
    if (experiment->workload.application_count > 1)
        return true;
    if (spec->process == ARRIVAL_UNIFORM)
        return spec->low_ms != spec->high_ms;
    if (spec->process == ARRIVAL_CLOSED)
        return !spec->think_constant;
    if (spec->process != ARRIVAL_TRACE)
        return true;
    struct arrival_stream *stream =
        arrival_stream_open(spec, &experiment->workload, experiment->seed, NULL);
    const bool fixed = stream != NULL && arrival_stream_counts(stream).fixed_times;
    arrival_stream_close(stream);
    return !fixed;
}

bool function_time_varies(const struct function *function, size_t kinds)
{
    if (function->service != SERVICE_PROFILE)
        return function->service != SERVICE_CONSTANT;
    for (size_t k = 0; k < kinds; k++)
        if (function->gpus[k].noise_cv > 0)
            return true;
    return false;
}

bool experiment_is_repeatable(const struct experiment *experiment)
{
    return experiment->platform.decision_cost != DECISION_MEASURED &&
           !policy_module_named(experiment->policy_name) &&
           (experiment->policy_shadow == NULL || !policy_module_named(experiment->policy_shadow));
}

static bool function_draws(const struct function *function, size_t kinds)
{
    for (size_t k = 0; k < kinds; k++)
        if (function->gpus[k].cold_start_cv > 0)
            return true;
    return function_time_varies(function, kinds);
}

bool experiment_is_random(const struct experiment *experiment)
{
    const struct workload *workload = &experiment->workload;
    const struct training_plan *training = experiment->training;
    if (policy_draws(experiment->policy_name) ||
        experiment->platform.decision_cost == DECISION_MEASURED ||
        experiment->platform.failures.mtbf_s > 0 ||
        (experiment->planning.error_cv > 0 && experiment->planning.error_seed < 0) ||
        (training != NULL && (training->trace_path == NULL || training->models_drawn)))
        return true;
    for (size_t f = 0; f < workload->function_count; f++)
        if (function_draws(&workload->functions[f], workload->kind_count))
            return true;
    return workload->application_count > 0 && arrivals_draw(experiment);
}
