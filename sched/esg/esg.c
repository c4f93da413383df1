/* ESG (HPDC'24, arXiv 2404.16812): pipeline-conscious scheduling on shareable GPUs.
 *
 * A step first retries the queues that could not be placed (ESG_Dispatch's recheck list). Otherwise
 * it takes the next non-empty queue round robin and searches its cheapest configuration paths
 * within the deadline of its oldest job (ESG_1Q). It dispatches the first of them that fits. No
 * plan is kept from one stage to the next. Each plan is made from the current state, and deadlines
 * are absolute, so slack carries over.
 *
 * What the accounts of the paper leave open is a parameter:
 * - `later_batches`: only the batch of the stage at hand is known to be limited by its queue
 *   (recalled). "any": later stages of a plan may have any batch, also one that can never exist.
 *   "bounded": they have at most the batch of the stage at hand.
 * - `recheck`: "changed" (assumed): a queue is retried after a batch has finished or a container
 * has become idle. It is planned again, without counting a recheck, after jobs have joined or left
 * it. "each-step" (recalled): it is retried at every step of the controller, whatever its reason.
 * - `recheck_limit`: after so many failed rechecks the minimum configuration is tried, until it
 *   fits.
 * - `infeasible`: what is dispatched if no path meets the deadline, among the configurations that
 *   the queue can fill: the fastest (recalled), the one that costs least per job, or the minimum
 *   configuration. If it can fill none, it is the minimum configuration, partly empty.
 *
 * Ablation: every idea has a parameter that disables it. The defaults are the paper's.
 * - `sharing` off: only whole GPUs.
 * - `batching` off: batches of 1.
 * - `redistribution` off: a stage's budget is its own quota of the SLO, fixed when the request
 *   arrives, whatever time earlier stages saved or overran. Stages are then planned one by one, by
 *   either method.
 * - `locality`: "warm" ranks invokers by idle containers only, "off" not at all.
 * - `split`: other rules for the division of the SLO.
 * - `placement` "spread" (ours): the least loaded invoker of a rank, not the best fit.
 */
#include "sched/policy.h"
#include "sched/policy_bookkeeping.h"

#include <stdlib.h>
#include <string.h>

#include "sched/common/kinds.h"
#include "sched/common/load_index.h"
#include "sched/common/placement.h"
#include "sched/common/slo.h"
#include "sched/esg/frontier_plans.h"
#include "sched/esg/search.h"

_Static_assert((int)SLO_MAX_GROUP == (int)SEARCH_MAX_STAGES, "one search plans a group");

enum { FRONTIER_POINTS = 1 << 21 };

enum parameter_index {
    PARAMETER_K,
    PARAMETER_GROUP_SIZE,
    PARAMETER_METHOD,
    PARAMETER_RECHECK_LIMIT,
    PARAMETER_INFEASIBLE,
    PARAMETER_SPLIT,
    PARAMETER_HEADROOM,
    PARAMETER_SHARING,
    PARAMETER_BATCHING,
    PARAMETER_REDISTRIBUTION,
    PARAMETER_LOCALITY,
    PARAMETER_PLACEMENT,
    PARAMETER_LATER_BATCHES,
    PARAMETER_RECHECK,
    PARAMETER_COUNT
};

enum { METHOD_ASTAR, METHOD_FRONTIER };
enum { INFEASIBLE_FASTEST, INFEASIBLE_CHEAPEST, INFEASIBLE_MINIMUM };
enum { RECHECK_CHANGED, RECHECK_EACH_STEP };

static const struct parameter esg_parameters[PARAMETER_COUNT] = {
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

/* The candidates of one queue, and its number of failed attempts. */
struct esg_queue {
    bool listed; /* is on the recheck list */
    uint32_t rechecks;
    uint64_t tried; /* `changes` at the last attempt */
    uint32_t seen;  /* length of the queue then */
    size_t candidate_count;
    uint16_t candidates[SEARCH_MAX_K]; /* configurations, in ascending order of their plans' cost */
    double cost[SEARCH_MAX_K];         /* cost of these plans */
    sim_time_t time[SEARCH_MAX_K];
    /* The key of the last search, and the units it was charged. */
    sim_time_t budget;
    uint32_t length;
    uint64_t units; /* 0: no search yet */
};

struct esg_application {
    struct slo_plan *plan;              /* for A* */
    struct frontier_plans *frontiers;   /* for the frontier method */
    const struct search_table **tables; /* by stage */
};

/* A function on GPUs of one kind. */
struct esg_kind {
    struct search_table *table; /* NULL: it does not run on the kind */
    uint16_t minimum; /* configuration of batch 1 with the fewest vGPUs, then the fewest vCPUs, that
                       * fits the cluster */
};

struct esg_function {
    struct search_table *table; /* of all kinds */
    uint16_t *by_cost;          /* indices into the table, cheapest first */
    struct esg_kind *kinds;     /* by kind; with a single kind its table is `table` */
};

struct esg {
    size_t k;
    size_t group_size;
    int method, infeasible;
    bool bounded;   /* later batches */
    bool each_step; /* rechecks */
    enum slo_split split;
    uint32_t recheck_limit;
    double headroom;
    struct search_limits limits;
    bool redistribution;
    enum placement_preference locality;
    struct load_index *loads; /* NULL: best fit */
    size_t function_count, application_count;
    uint32_t queue_count, kind_count;
    struct esg_function *functions;
    struct esg_application *applications;
    struct esg_queue *queues;
    uint32_t *list; /* recheck list, oldest first */
    size_t list_count;
    uint64_t changes; /* number of reasons for a recheck so far */
    uint64_t running; /* batches */
    bool in_round;    /* the previous step asked to be called again */
    bool joined;      /* a job has entered a queue since the previous step */
    uint32_t cursor;  /* next queue of the round robin */
    struct search_workspace *workspace;
    struct search_result result;
};

/* ---- Set-up -------------------------------------------------------------------------------------
 */

static void esg_finish(void *state)
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
    load_index_destroy(esg->loads);
    search_workspace_destroy(esg->workspace);
    memset(esg, 0, sizeof *esg);
}

static bool configuration_smaller(const struct configuration *a, const struct configuration *b)
{
    if (a->batch != b->batch)
        return a->batch < b->batch;
    return a->vgpu != b->vgpu ? a->vgpu < b->vgpu : a->vcpu < b->vcpu;
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
        if (configuration_smaller(&configurations[own->table->index[i]],
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

static bool esg_init(void *state, struct platform *platform, const double *values,
                     struct error *error)
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
    if (done && values[PARAMETER_PLACEMENT] > 0) {
        esg->loads = load_index_create(platform);
        done = esg->loads != NULL;
    }
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

/* ---- ESG_1Q -------------------------------------------------------------------------------------
 */

/* Inserts a candidate at `place`; there must be room. */
static void esg_insert(struct esg_queue *queue, size_t place, uint16_t configuration, double cost,
                       sim_time_t time)
{
    for (size_t i = queue->candidate_count++; i > place; i--) {
        queue->candidates[i] = queue->candidates[i - 1];
        queue->cost[i] = queue->cost[i - 1];
        queue->time[i] = queue->time[i - 1];
    }
    queue->candidates[place] = configuration;
    queue->cost[place] = cost;
    queue->time[place] = time;
}

/* Inserts the first configuration of a plan by the plan's cost, if no cheaper plan has it. */
static void esg_candidate(struct esg_queue *queue, const struct search_path *path)
{
    size_t place = queue->candidate_count;
    for (size_t i = 0; i < queue->candidate_count; i++)
        if (queue->candidates[i] == path->configuration[0])
            return;
    while (place > 0 && path->cost_usd < queue->cost[place - 1])
        place--;
    if (queue->candidate_count == SEARCH_MAX_K && place < SEARCH_MAX_K)
        queue->candidate_count--;
    if (place < SEARCH_MAX_K)
        esg_insert(queue, place, path->configuration[0], path->cost_usd, path->time);
}

/* No plan meets the deadline: choose by `infeasible` among the configurations that the queue can
 * fill, one per kind of GPU. */
static void esg_choose_late(const struct esg *esg, const struct esg_function *function,
                            struct esg_queue *queue, uint32_t length)
{
    const struct search_table *table = function->table;
    uint64_t kinds = KINDS_ALL;
    for (size_t i = 0; i < table->count && esg->infeasible != INFEASIBLE_MINIMUM; i++) {
        size_t entry = esg->infeasible == INFEASIBLE_CHEAPEST ? function->by_cost[i] : i;
        if (table->batch[entry] > length || !kinds_contain(kinds, table->kind[entry]))
            continue;
        kinds = kinds_without(kinds, table->kind[entry]);
        esg_insert(queue, queue->candidate_count, table->index[entry], table->cost[entry],
                   table->time[entry]);
        if (esg->kind_count == 1)
            return;
    }
    /* Also if no batch is small enough: then it is partly empty. */
    for (uint32_t k = 0; k < esg->kind_count; k++)
        if (function->kinds[k].table != NULL && kinds_contain(kinds, k))
            esg_insert(queue, queue->candidate_count, function->kinds[k].minimum, 0.0, 0);
}

/* Finds the K best plans within queue->budget that begin on GPUs of `kind`, and stores them in
 * esg->result. Returns the number of units to charge. */
static uint64_t esg_search(struct esg *esg, const struct esg_application *planned,
                           const struct esg_function *function, uint32_t stage, uint32_t kind,
                           const struct esg_queue *queue)
{
    bool found;
    if (planned->frontiers != NULL) {
        found = frontier_plans_search(planned->frontiers, stage, queue->budget, queue->length, kind,
                                      esg->k, &esg->result);
    } else {
        const struct slo_stage *part = &planned->plan->stages[stage];
        const struct search_table *tables[SEARCH_MAX_STAGES];
        for (size_t i = 0; i < part->chain_length; i++)
            tables[i] = i == 0 ? function->kinds[kind].table : planned->tables[part->chain[i]];
        const struct search_problem problem = {
            .stages = tables,
            .stage_count = part->chain_length,
            .budget = queue->budget,
            .queue_length = queue->length,
            .bounded = esg->bounded,
            .k = esg->k,
            .time_blade = true,
            .cost_blade = true,
        };
        found = search_astar(&problem, esg->workspace, &esg->result);
    }
    if (!found)
        esg->result.path_count = 0;
    /* A search without an expansion still costs one unit. */
    return esg->result.expansions > 0 ? esg->result.expansions : 1;
}

/* Time from now to the deadline that the oldest job's plans must meet, or its stage's quota. */
static sim_time_t esg_budget(const struct esg *esg, const struct esg_application *planned,
                             uint32_t stage, const struct job_view *job, sim_time_t now)
{
    double slo = (double)job->slo * (1 - esg->headroom);
    if (!esg->redistribution)
        return (sim_time_t)(slo * planned->plan->stages[stage].slot);
    if (esg->method == METHOD_ASTAR)
        slo *= planned->plan->stages[stage].deadline_fraction;
    return job->arrival + (sim_time_t)slo - now;
}

/* Makes the first configurations of the K best plans of the queue's oldest job its candidates. With
 * several kinds of GPU these are the K best plans for each kind of the first stage, so that a full
 * kind does not hide the others.
 *
 * A search depends only on the queue's stage, its length and the budget. If all three equal those
 * of the last search, its result is reused, and the same number of units is charged. This is the
 * case for most first stages, because an idle controller plans a request on arrival.
 */
static void esg_plan(struct esg *esg, struct platform *platform, uint32_t index)
{
    struct esg_queue *queue = &esg->queues[index];
    uint32_t stage = platform_queue_stage(platform, index);
    const struct esg_application *planned =
        &esg->applications[platform_queue_application(platform, index)];
    const struct esg_function *function = &esg->functions[platform_queue_function(platform, index)];
    const struct job_view job = platform_job(platform, index, 0);
    uint32_t length = platform_queue_length(platform, index);
    sim_time_t budget = esg_budget(esg, planned, stage, &job, platform_now(platform));
    if (queue->units == 0 || queue->budget != budget || queue->length != length) {
        queue->budget = budget;
        queue->length = length;
        queue->units = 0;
        queue->candidate_count = 0;
        for (uint32_t k = 0; k < esg->kind_count; k++) {
            if (function->kinds[k].table == NULL)
                continue;
            queue->units += esg_search(esg, planned, function, stage, k, queue);
            for (size_t i = 0; i < esg->result.path_count; i++)
                esg_candidate(queue, &esg->result.paths[i]);
        }
        if (queue->candidate_count == 0)
            esg_choose_late(esg, function, queue, length);
    }
    platform_charge(platform, queue->units);
}

/* ---- ESG_Dispatch -------------------------------------------------------------------------------
 */

static bool esg_try(struct esg *esg, struct platform *platform, uint32_t queue,
                    uint16_t configuration, double cost, sim_time_t time)
{
    uint32_t function = platform_queue_function(platform, queue);
    uint32_t invoker =
        placement_esg(platform, queue, configuration, esg->locality, esg->loads, false);
    if (invoker == SIM_NONE)
        return false;
    uint32_t batch =
        platform_workload(platform)->functions[function].configurations[configuration].batch;
    uint32_t length = platform_queue_length(platform, queue);
    platform_explain(platform, (uint32_t)esg->queues[queue].candidate_count, cost, time);
    if (!platform_dispatch(platform, queue, length < batch ? length : batch, configuration,
                           invoker))
        return false;
    esg->running++;
    if (esg->loads != NULL)
        load_index_update(esg->loads, platform, invoker);
    return true;
}

static bool esg_try_candidates(struct esg *esg, struct platform *platform, uint32_t queue)
{
    const struct esg_queue *q = &esg->queues[queue];
    for (size_t i = 0; i < q->candidate_count; i++)
        if (esg_try(esg, platform, queue, q->candidates[i], q->cost[i], q->time[i]))
            return true;
    return false;
}

/* True if a recheck of the listed queue may end otherwise than its last attempt. A dropped request
 * may also have removed its only job. */
static bool esg_due(const struct esg *esg, const struct platform *platform, uint32_t queue)
{
    const uint32_t length = platform_queue_length(platform, queue);
    return length == 0 || esg->queues[queue].tried != esg->changes ||
           (!esg->each_step && esg->queues[queue].seen != length);
}

static void esg_attempted(const struct esg *esg, const struct platform *platform, uint32_t queue)
{
    esg->queues[queue].tried = esg->changes;
    esg->queues[queue].seen = platform_queue_length(platform, queue);
}

/* The minimum configuration, on the first kind of GPU that has room. */
static bool esg_try_minimum(struct esg *esg, struct platform *platform, uint32_t queue)
{
    const uint32_t function = platform_queue_function(platform, queue);
    const struct esg_kind *kinds = esg->functions[function].kinds;
    const struct configuration *all =
        platform_workload(platform)->functions[function].configurations;
    for (uint32_t k = 0; k < esg->kind_count; k++) {
        const struct configuration *minimum = &all[kinds[k].minimum];
        if (kinds[k].table == NULL)
            continue;
        platform_charge(platform, 1);
        if (esg_try(esg, platform, queue, kinds[k].minimum, minimum->cost_per_job_usd,
                    minimum->time))
            return true;
    }
    return false;
}

/* After too many rechecks the minimum configuration is tried instead of the candidates. */
static bool esg_try_again(struct esg *esg, struct platform *platform, uint32_t queue)
{
    struct esg_queue *q = &esg->queues[queue];
    const bool changed = q->tried != esg->changes;
    const bool replan = !esg->each_step && q->seen != platform_queue_length(platform, queue);
    esg_attempted(esg, platform, queue);
    if (q->rechecks < esg->recheck_limit) {
        if (replan)
            esg_plan(esg, platform, queue);
        else
            platform_charge(platform, q->candidate_count);
        q->rechecks += changed;
        return esg_try_candidates(esg, platform, queue);
    }
    return esg_try_minimum(esg, platform, queue);
}

/* Retries the entries of the list that are due, up to the first success. */
static bool esg_recheck(struct esg *esg, struct platform *platform)
{
    size_t i = 0;
    while (i < esg->list_count) {
        uint32_t queue = esg->list[i];
        bool empty = platform_queue_length(platform, queue) == 0;
        if (empty || (esg_due(esg, platform, queue) && esg_try_again(esg, platform, queue))) {
            esg->queues[queue].listed = false;
            esg->list_count--;
            memmove(&esg->list[i], &esg->list[i + 1], (esg->list_count - i) * sizeof *esg->list);
            if (empty)
                continue;
            return true;
        }
        i++;
    }
    return false;
}

static bool esg_any_due(const struct esg *esg, const struct platform *platform)
{
    for (size_t i = 0; i < esg->list_count; i++)
        if (esg_due(esg, platform, esg->list[i]))
            return true;
    return false;
}

/* The next non-empty queue that is not on the recheck list. */
static uint32_t esg_next(const struct esg *esg, const struct platform *platform)
{
    uint32_t from = esg->cursor;
    for (size_t tries = 0; tries <= esg->list_count; tries++) {
        uint32_t queue = platform_next_queue(platform, from);
        if (queue == SIM_NONE || !esg->queues[queue].listed)
            return queue;
        from = (queue + 1) % esg->queue_count;
    }
    return SIM_NONE;
}

static void esg_schedule(struct esg *esg, struct platform *platform, uint32_t queue)
{
    esg->cursor = (queue + 1) % esg->queue_count;
    esg->queues[queue].rechecks = 0;
    esg_plan(esg, platform, queue);
    if (esg_try_candidates(esg, platform, queue))
        return;
    esg->queues[queue].listed = true;
    esg->list[esg->list_count++] = queue;
    esg_attempted(esg, platform, queue);
}

static bool esg_decide(void *state, struct platform *platform)
{
    struct esg *esg = state;
    /* A new round for which no job is the reason: a container has started, or a batch has finished.
     * If nothing runs, no batch will finish: retry at every round, so that no queue is forgotten.
     */
    if (!esg->in_round && (esg->each_step || !esg->joined || esg->running == 0))
        esg->changes++;
    esg->joined = false;
    if (!esg_recheck(esg, platform)) {
        uint32_t queue = esg_next(esg, platform);
        if (queue != SIM_NONE)
            esg_schedule(esg, platform, queue);
    }
    esg->in_round = esg_any_due(esg, platform) || esg_next(esg, platform) != SIM_NONE;
    return esg->in_round;
}

static void esg_on_ready(void *state, struct platform *platform, uint32_t queue)
{
    struct esg *esg = state;
    (void)platform;
    (void)queue;
    esg->joined = true;
}

static void esg_on_finish(void *state, struct platform *platform,
                          const struct finished_batch *batch)
{
    struct esg *esg = state;
    if (esg->loads != NULL)
        load_index_update(esg->loads, platform, batch->invoker);
    esg->running--;
    esg->changes++;
}

extern const struct policy policy_esg;
const struct policy policy_esg = {
    .abi = POLICY_ABI,
    .name = "esg",
    .summary =
        "ESG (HPDC'24): K cheapest configuration paths within group deadlines, data locality",
    .parameters = esg_parameters,
    .parameter_count = PARAMETER_COUNT,
    .state_bytes = sizeof(struct esg),
    .init = esg_init,
    .on_ready = esg_on_ready,
    .on_finish = esg_on_finish,
    .decide = esg_decide,
    .finish = esg_finish,
};
