#include "sched/paths/division.h"

#include "sched/paths/search.h"
#include "sched/registry.h"

/* Replaces 0 by the experiment's policy parameter, else by ESG's default. */
static bool choose_group_size(const struct experiment *experiment, size_t *size,
                              struct error *error)
{
    const char *const key = "group_size";
    double *values = NULL;
    if (*size > 0)
        return true;
    const struct policy *policy = policy_resolve(experiment, &values, error);
    if (policy == NULL)
        return false;
    size_t i = parameter_index(policy->parameters, key);
    if (i < keys_count(policy->parameters)) {
        *size = (size_t)values[i];
    } else {
        policy = policy_find("esg", NULL);
        i = parameter_index(policy->parameters, key);
        *size = (size_t)policy->parameters[i].fallback;
    }
    return true;
}

struct slo_plan *slo_plan_divide(struct arena *arena, const struct experiment *experiment,
                                 const struct application *application, size_t *group_size,
                                 struct error *error)
{
    const struct workload *workload = experiment_planned(experiment);
    double mean_time[WORKLOAD_MAX_STAGES] = {0};
    if (!choose_group_size(experiment, group_size, error))
        return NULL;
    for (size_t s = 0; s < application->stage_count; s++) {
        const struct search_table *table =
            search_table_create_placeable(arena, workload, application->stages[s].function, error);
        if (table == NULL)
            return NULL;
        for (size_t i = 0; i < table->count; i++)
            mean_time[s] += (double)table->time[i] / (double)table->count;
    }
    return slo_plan_create(arena, application, mean_time, *group_size, SLO_DOMINATOR);
}
