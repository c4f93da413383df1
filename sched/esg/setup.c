/* ESG's parameters, and the set-up of its state. */
#include "sched/esg/esg_internal.h"

#include <stdlib.h>
#include <string.h>

#include "sched/common/kinds.h"

_Static_assert((int)SLO_MAX_GROUP == (int)SEARCH_MAX_STAGES, "one search plans a group");

enum { FRONTIER_POINTS = 1 << 21 };

const struct parameter esg_parameters[PARAMETER_COUNT] = {
    [PARAMETER_K] = {"k", 5, 1, SEARCH_MAX_K, NULL, "paths kept by a search (assumed)"},
    [PARAMETER_GROUP_SIZE] = {"group_size", 3, 1, SEARCH_MAX_STAGES, NULL,
                              "most stages planned together by A* (recalled)"},
    [PARAMETER_METHOD] = {"method", METHOD_ASTAR, 0, 1, "astar|frontier",
                          "ESG_1Q in groups, or the exact frontier of all later stages"},
    [PARAMETER_RECHECK_LIMIT] = {"recheck_limit", 3, 0, 1000, NULL,
                                 "rechecks before the minimum configuration (assumed)"},
    [PARAMETER_INFEASIBLE] = {"infeasible", INFEASIBLE_FASTEST, 0, 2, "fastest|cheapest|minimum",
                              "configuration if no path meets the deadline (fastest: recalled)"},
    [PARAMETER_SPLIT] = {"split", SLO_DOMINATOR, 0, 2, "proportional|equal|dominator",
                         "a stage's share of the SLO; dominator: the paper's (published)"},
    [PARAMETER_HEADROOM] = {"headroom", 0, 0, 0.9, NULL,
                            "fraction of the SLO that plans reserve (assumed)"},
    [PARAMETER_SHARING] = {"sharing", 1, 0, 1, "off|on", "off: whole GPUs only (on: published)"},
    [PARAMETER_BATCHING] = {"batching", 1, 0, 1, "off|on", "off: batches of 1 (on: secondary)"},
    [PARAMETER_REDISTRIBUTION] = {"redistribution", 1, 0, 1, "off|on",
                                  "off: stages keep their initial quotas (on: secondary)"},
    [PARAMETER_LOCALITY] =
        {"locality", PLACEMENT_NEAR, 0, 2, "off|warm|on",
         "rank invokers by data and idle containers, by containers, or not (on: secondary)"},
    [PARAMETER_PLACEMENT] = {"placement", 0, 0, 1, "best-fit|spread",
                             "within a rank: best fit (secondary), or least loaded"},
    [PARAMETER_LATER_BATCHES] = {"later_batches", 0, 0, 1, "any|bounded",
                                 "batches of later stages: any (recalled), or at most the first"},
    [PARAMETER_RECHECK] = {"recheck", RECHECK_CHANGED, 0, 1, "changed|each-step",
                           "rechecks after capacity was freed, or at each step (recalled)"},
};

void esg_finish(void *state)
{
    struct esg *esg = state;
    for (size_t a = 0; esg->applications != NULL && a < esg->application_count; a++) {
        slo_plan_destroy(esg->applications[a].plan);
        frontier_plans_destroy(esg->applications[a].frontiers);
        free(esg->applications[a].tables);
    }
    for (size_t f = 0; esg->functions != NULL && f < esg->function_count; f++) {
        struct esg_function *function = &esg->functions[f];
        for (uint32_t k = 0; function->kinds != NULL && k < esg->kind_count; k++)
            if (function->kinds[k].table != function->table)
                search_table_destroy(function->kinds[k].table);
        search_table_destroy(function->table);
        free(function->by_cost);
        free(function->kinds);
    }
    free(esg->applications);
    free(esg->functions);
    free(esg->queues);
    free(esg->list);
    search_workspace_destroy(esg->workspace);
    memset(esg, 0, sizeof *esg);
}

/* The function on one kind of GPU. False when out of memory. */
static bool esg_init_kind(struct esg_function *function, const struct configuration *configurations,
                          uint32_t kind, const struct esg *esg)
{
    struct esg_kind *own = &function->kinds[kind];
    if (!search_table_has_kind(function->table, kind))
        return true;
    own->table =
        esg->kind_count == 1 ? function->table : search_table_of_kind(function->table, kind);
    if (own->table == NULL || (esg->bounded && !search_table_bound(own->table)))
        return false;
    own->minimum = own->table->index[0];
    for (size_t i = 0; i < own->table->count; i++)
        if (configuration_is_smaller(&configurations[own->table->index[i]],
                                     &configurations[own->minimum]))
            own->minimum = own->table->index[i];
    return true;
}

static bool esg_init_function(struct esg_function *function, const struct workload *workload,
                              size_t index, const struct esg *esg, struct error *error)
{
    const struct configuration *configurations = workload->functions[index].configurations;
    struct search_table *table = search_table_create_within(workload, index, &esg->limits, error);
    function->table = table;
    if (table == NULL)
        return false;
    function->by_cost = malloc(table->count * sizeof *function->by_cost);
    function->kinds = calloc(esg->kind_count, sizeof *function->kinds);
    bool done = function->by_cost != NULL && function->kinds != NULL &&
                (!esg->bounded || search_table_bound(table));
    for (uint32_t k = 0; done && k < esg->kind_count; k++)
        done = esg_init_kind(function, configurations, k, esg);
    if (!done)
        return error_run(error, "policy esg: out of memory");
    for (size_t i = 0; i < table->count; i++) {
        size_t place = i;
        while (place > 0 && table->cost[i] < table->cost[function->by_cost[place - 1]]) {
            function->by_cost[place] = function->by_cost[place - 1];
            place--;
        }
        function->by_cost[place] = (uint16_t)i;
    }
    return true;
}

static double esg_mean_time(const struct search_table *table)
{
    double sum = 0;
    for (size_t i = 0; i < table->count; i++)
        sum += (double)table->time[i];
    return sum / (double)table->count;
}

static bool esg_init_application(struct esg *esg, struct esg_application *planned,
                                 const struct application *application, struct error *error)
{
    size_t count = application->stage_count;
    planned->tables = malloc(count * sizeof *planned->tables);
    double *mean_time = malloc(count * sizeof *mean_time);
    bool done = planned->tables != NULL && mean_time != NULL;
    for (size_t s = 0; done && s < count; s++) {
        planned->tables[s] = esg->functions[application->stages[s].function].table;
        done = planned->tables[s] != NULL;
        mean_time[s] = done ? esg_mean_time(planned->tables[s]) : 0;
    }
    if (done && esg->method == METHOD_FRONTIER && esg->redistribution) {
        planned->frontiers = frontier_plans_build(application, planned->tables, esg->bounded,
                                                  FRONTIER_POINTS, error);
        free(mean_time);
        return planned->frontiers != NULL;
    }
    if (done)
        planned->plan = slo_plan_create(application, mean_time,
                                        esg->redistribution ? esg->group_size : 1, esg->split);
    free(mean_time);
    return planned->plan != NULL || error_run(error, "policy esg: out of memory");
}

static bool esg_allocate(struct esg *esg, const struct workload *workload)
{
    esg->function_count = workload->function_count;
    esg->application_count = workload->application_count;
    esg->queue_count = workload->queue_count;
    esg->kind_count = (uint32_t)workload->kind_count;
    esg->functions = calloc(esg->function_count, sizeof *esg->functions);
    esg->applications = calloc(esg->application_count, sizeof *esg->applications);
    esg->queues = calloc(esg->queue_count, sizeof *esg->queues);
    esg->list = calloc(esg->queue_count, sizeof *esg->list);
    esg->workspace = search_workspace_create();
    return esg->functions != NULL && esg->applications != NULL && esg->queues != NULL &&
           esg->list != NULL && esg->workspace != NULL;
}

bool esg_init(void *state, struct platform *platform, const double *values, struct error *error)
{
    struct esg *esg = state;
    const struct workload *workload = platform_workload(platform);
    esg->k = (size_t)values[PARAMETER_K];
    esg->group_size = (size_t)values[PARAMETER_GROUP_SIZE];
    esg->method = (int)values[PARAMETER_METHOD];
    esg->recheck_limit = (uint32_t)values[PARAMETER_RECHECK_LIMIT];
    esg->infeasible = (int)values[PARAMETER_INFEASIBLE];
    esg->bounded = values[PARAMETER_LATER_BATCHES] > 0;
    esg->each_step = (int)values[PARAMETER_RECHECK] == RECHECK_EACH_STEP;
    esg->split = (enum slo_split)values[PARAMETER_SPLIT];
    esg->headroom = values[PARAMETER_HEADROOM];
    esg->limits =
        (struct search_limits){.max_batch = values[PARAMETER_BATCHING] > 0 ? UINT32_MAX : 1,
                               .whole_gpu = !(values[PARAMETER_SHARING] > 0)};
    esg->redistribution = values[PARAMETER_REDISTRIBUTION] > 0;
    esg->locality = (enum placement_preference)values[PARAMETER_LOCALITY];
    bool done = esg_allocate(esg, workload);
    if (done && values[PARAMETER_PLACEMENT] > 0)
        esg->loads = load_index_create(platform);
    if (!done)
        error_run(error, "policy esg: out of memory");
    for (size_t f = 0; done && f < esg->function_count; f++)
        done = esg_init_function(&esg->functions[f], workload, f, esg, error);
    for (size_t a = 0; done && a < esg->application_count; a++)
        done = esg_init_application(esg, &esg->applications[a], &workload->applications[a], error);
    if (!done)
        esg_finish(esg);
    return done;
}
