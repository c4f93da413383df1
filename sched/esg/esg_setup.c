/* ESG's parameters, and the set-up of its state. */
#include "sched/esg/esg_internal.h"

#include "sched/memory.h"

_Static_assert((int)SLO_MAX_GROUP == (int)SEARCH_MAX_STAGES, "one search plans a group");

enum { FRONTIER_POINTS = 1 << 21 };

const struct key esg_parameters[] = {
    PARAMETER_WHOLE(esg, k, 1, SEARCH_MAX_K, 5, "paths kept by a search (assumed)"),
    PARAMETER_WHOLE(esg, group_size, 1, SEARCH_MAX_STAGES, 3,
                    "most stages planned together by A* (recalled)"),
    PARAMETER_WORD(esg, method, WORDS("astar", "frontier"), METHOD_ASTAR,
                   "ESG_1Q in groups, or the exact frontier of all later stages"),
    PARAMETER_WHOLE(esg, recheck_limit, 0, 1000, 3,
                    "rechecks before the minimum configuration (assumed)"),
    PARAMETER_WORD(esg, infeasible, WORDS("fastest", "cheapest", "minimum"), INFEASIBLE_FASTEST,
                   "configuration if no path meets the deadline (fastest: recalled)"),
    PARAMETER_WORD(esg, split, SPLIT_WORDS, SLO_DOMINATOR,
                   "a stage's share of the SLO; dominator: the paper's (published)"),
    PARAMETER_NUMBER(esg, headroom, 0, 0.9, 0.1,
                     "fraction of the SLO that plans reserve (0.1, as INFless has: assumed)"),
    PARAMETER_SWITCH(esg, sharing, true, "off: whole GPUs only (on: published)"),
    PARAMETER_SWITCH(esg, batching, true, "off: batches of 1 (on: secondary)"),
    PARAMETER_SWITCH(esg, redistribution, true,
                     "off: stages keep their initial quotas (on: secondary)"),
    PARAMETER_WORD(
        esg, locality, WORDS("off", "warm", "on"), PLACEMENT_NEAR,
        "rank invokers by data and idle containers, by containers, or not (on: secondary)"),
    PARAMETER_WORD(esg, placement, WORDS("best-fit", "spread"), PLACE_BEST_FIT,
                   "within a rank: best fit (secondary), or least loaded"),
    PARAMETER_WORD(esg, later_batches, WORDS("any", "bounded"), LATER_ANY,
                   "batches of later stages: any (recalled), or at most the first"),
    PARAMETER_WORD(esg, recheck, WORDS("changed", "each-step"), RECHECK_CHANGED,
                   "rechecks after capacity was freed, or at each step (recalled)"),
    PARAMETER_WORD(esg, late, WORDS("lead", "ride"), LATE_RIDE,
                   "late jobs set their queue's budget (recalled), or ride with one in time "
                   "(assumed)"),
    KEY_END,
};

/* The function on one kind of GPU. */
static void esg_init_kind(struct esg_function *function, struct arena *arena,
                          const struct configuration *configurations, uint32_t kind,
                          const struct esg *esg)
{
    struct esg_kind *own = &function->kinds[kind];
    if (!search_table_has_kind(function->table, kind))
        return;
    own->table =
        esg->kind_count == 1 ? function->table : search_table_of_kind(arena, function->table, kind);
    if (esg->bounded)
        search_table_bound(arena, own->table);
    own->minimum = own->table->index[0];
    for (size_t i = 0; i < own->table->count; i++)
        if (configuration_is_smaller(&configurations[own->table->index[i]],
                                     &configurations[own->minimum]))
            own->minimum = own->table->index[i];
}

static bool esg_init_function(struct esg_function *function, struct arena *arena,
                              const struct workload *workload, size_t index, const struct esg *esg,
                              struct error *error)
{
    const struct configuration *configurations = workload->functions[index].configurations;
    struct search_table *table =
        search_table_create_within(arena, workload, index, &esg->limits, error);
    if (table == NULL)
        return false;
    function->all = configurations;
    function->table = table;
    function->by_cost = arena_allocate(arena, table->count, sizeof *function->by_cost);
    function->kinds = arena_allocate(arena, esg->kind_count, sizeof *function->kinds);
    if (esg->bounded)
        search_table_bound(arena, table);
    for (uint32_t k = 0; k < esg->kind_count; k++)
        esg_init_kind(function, arena, configurations, k, esg);
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

/* The times of the fastest plans: to the end of the group, or of the application. */
static void esg_init_fastest(struct esg_application *planned, const struct application *application)
{
    sim_time_t alone[WORKLOAD_MAX_STAGES];
    for (size_t s = 0; s < application->stage_count; s++)
        alone[s] = planned->tables[s]->fastest;
    if (planned->plan == NULL)
        slo_rest(application, alone, planned->fastest);
    for (size_t s = 0; s < application->stage_count; s++) {
        planned->fastest[s] += alone[s];
        for (size_t i = 1; planned->plan != NULL && i < planned->plan->stages[s].chain_length; i++)
            planned->fastest[s] += alone[planned->plan->stages[s].chain[i]];
    }
}

static bool esg_init_application(struct esg *esg, struct arena *arena,
                                 struct esg_application *planned,
                                 const struct application *application, struct error *error)
{
    const struct esg_parameters *parameters = esg->parameters;
    const size_t count = application->stage_count;
    double mean_time[WORKLOAD_MAX_STAGES];
    planned->tables = arena_allocate(arena, count, sizeof *planned->tables);
    planned->fastest = arena_allocate(arena, count, sizeof *planned->fastest);
    for (size_t s = 0; s < count; s++) {
        planned->tables[s] = esg->functions[application->stages[s].function].table;
        mean_time[s] = esg_mean_time(planned->tables[s]);
    }
    if (parameters->method == METHOD_FRONTIER && parameters->redistribution) {
        planned->frontiers = frontier_plans_build(arena, application, planned->tables, esg->bounded,
                                                  FRONTIER_POINTS, error);
        esg_init_fastest(planned, application);
        return planned->frontiers != NULL;
    }
    planned->plan =
        slo_plan_create(arena, application, mean_time,
                        parameters->redistribution ? parameters->group_size : 1, parameters->split);
    esg_init_fastest(planned, application);
    return true;
}

static void esg_allocate(struct esg *esg, struct arena *arena, const struct workload *workload)
{
    esg->function_count = workload->function_count;
    esg->application_count = workload->application_count;
    esg->queue_count = workload->queue_count;
    esg->kind_count = (uint32_t)workload->kind_count;
    esg->functions = arena_allocate(arena, esg->function_count, sizeof *esg->functions);
    esg->applications = arena_allocate(arena, esg->application_count, sizeof *esg->applications);
    esg->queues = arena_allocate(arena, esg->queue_count, sizeof *esg->queues);
    esg->list = arena_allocate(arena, esg->queue_count, sizeof *esg->list);
    esg->workspace = search_workspace_create(arena);
}

bool esg_init(void *state, struct platform *platform, const void *parameters, struct error *error)
{
    struct esg *esg = state;
    const struct workload *workload = platform_workload(platform);
    struct arena *arena = platform_arena(platform);
    esg->parameters = parameters;
    esg->bounded = esg->parameters->later_batches == LATER_BOUNDED;
    esg->each_step = esg->parameters->recheck == RECHECK_EACH_STEP;
    esg->limits = (struct search_limits){.max_batch = esg->parameters->batching ? UINT32_MAX : 1,
                                         .whole_gpu = !esg->parameters->sharing};
    esg_allocate(esg, arena, workload);
    if (esg->parameters->placement == PLACE_SPREAD)
        esg->loads = load_index_create(platform);
    bool done = true;
    for (size_t f = 0; done && f < esg->function_count; f++)
        done = esg_init_function(&esg->functions[f], arena, workload, f, esg, error);
    for (size_t a = 0; done && a < esg->application_count; a++)
        done = esg_init_application(esg, arena, &esg->applications[a], &workload->applications[a],
                                    error);
    return done;
}
