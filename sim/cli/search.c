/* esgsim search: explains one decision. */
#include "sim/base/clock.h"
#include "sim/cli/picture.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "sched/paths/frontier.h"
#include "sched/paths/search.h"
#include "sim/engine/random.h"
#include "workloads/spec/experiment.h"
#include "sim/base/json_write.h"
#include "sim/base/text.h"

static const double EXHAUSTIVE_LIMIT = 1e8;
/* A* without pruning may queue nearly all prefixes. */
static const double UNBLADED_LIMIT = 1e7;

/* In the order of the words of --method and --blades. */
enum method { METHOD_ASTAR, METHOD_FRONTIER, METHOD_EXHAUSTIVE };
static const char *const method_names[] = {"astar", "frontier", "exhaustive"};
enum blades { BLADES_BOTH, BLADES_TIME, BLADES_COST, BLADES_NONE };

struct request {
    const char *path, *application;
    uint64_t stage, stages, k, queue_length;
    double budget_ms;
    int method, blades, later_batches;
    bool method_chosen; /* by the DAG, because --method was not given */
    bool time_blade, cost_blade, json;
    struct picture picture;
};

struct decision {
    struct request *request;
    struct arena *arena; /* of all below */
    const struct workload *workload;
    const struct application *application;
    struct search_table **tables; /* per function, NULL if not needed */
    const struct search_table **by_stage;
    size_t chain[SEARCH_MAX_STAGES]; /* stages searched, in order */
    size_t chain_length;
    bool is_chain; /* chain[] covers all remaining stages, or as many as requested */
    struct search_workspace *workspace;
    struct search_result result;
    double *first_best; /* per entry of the first stage's table */
    double elapsed_us, build_ms;
    bool exact;
};

/* ---- Options --------------------------------------------------------------------------------- */

#define MEMBER(member) CLI_MEMBER(struct request, member)

static const struct cli_option search_table[] = {
    {"--application", "NAME", "application of the experiment", MEMBER(application),
     .required = true},
    {"--budget-ms", "X", "time from now to the deadline of the remaining stages, ms",
     MEMBER(budget_ms), .required = true, .low = -1e12, .high = 1e12},
    {"--stage", "I", "first remaining stage (default 0)", MEMBER(stage), .most = UINT32_MAX},
    {"--stages", "N", "only the first N stages, as one group (astar, exhaustive)", MEMBER(stages),
     .least = 1, .most = SEARCH_MAX_STAGES},
    {"--k", "K", "number of paths, 1..64 (default 5)", MEMBER(k), .least = 1, .most = SEARCH_MAX_K},
    {"--queue-length", "N",
     "length of the queue, the upper bound on the first stage's batch (default 32)",
     MEMBER(queue_length), .least = 1, .most = UINT32_MAX},
    {"--later-batches", "any|bounded",
     "batches of later stages (default any); bounded: at most the first (astar, exhaustive)",
     MEMBER(later_batches)},
    {"--method", "astar|frontier|exhaustive",
     "astar: ESG_1Q, for a chain of stages; frontier: best completion of each first-stage "
     "configuration, for any DAG; exhaustive: brute force. Default: astar for a chain, frontier "
     "for any other DAG",
     MEMBER(method)},
    {"--blades", "both|time|cost|none", "pruning of astar (default both)", MEMBER(blades)},
    {"--json", NULL, "one JSON object; costs are dollars per job", MEMBER(json)},
    CLI_PICTURE(struct request, picture),
    {.name = NULL},
};

static bool parse_arguments(int argc, char **argv, struct request *request, struct error *error)
{
    *request = (struct request){.k = 5, .queue_length = 32, .method = -1};
    if (!cli_parse(&command_search, &argc, argv, request, error))
        return false;
    request->path = argv[1];
    request->method_chosen = request->method < 0;
    request->time_blade = request->blades == BLADES_BOTH || request->blades == BLADES_TIME;
    request->cost_blade = request->blades == BLADES_BOTH || request->blades == BLADES_COST;
    return true;
}

/* ---- Preparation ----------------------------------------------------------------------------- */

/* Number of configurations of a stage; 0 if it has no table. */
static size_t stage_entries(const struct decision *decision, size_t stage)
{
    const struct search_table *table = decision->by_stage[stage];
    return table != NULL ? table->count : 0;
}

static bool decision_tables(struct decision *decision, struct error *error)
{
    const struct application *application = decision->application;
    struct arena *arena = decision->arena;
    decision->tables =
        arena_allocate(arena, decision->workload->function_count, sizeof(struct search_table *));
    decision->by_stage =
        arena_allocate(arena, application->stage_count, sizeof *decision->by_stage);
    decision->workspace = search_workspace_create(arena);
    for (size_t s = 0; s < application->stage_count; s++) {
        uint32_t f = application->stages[s].function;
        if (decision->tables[f] == NULL)
            decision->tables[f] =
                search_table_create_placeable(arena, decision->workload, f, error);
        if (decision->tables[f] == NULL)
            return false;
        if (decision->request->later_batches > 0)
            search_table_bound(arena, decision->tables[f]);
        decision->by_stage[s] = decision->tables[f];
    }
    decision->first_best = arena_allocate(arena, stage_entries(decision, decision->request->stage),
                                          sizeof *decision->first_best);
    return true;
}

static void decision_chain(struct decision *decision)
{
    const struct application *application = decision->application;
    const struct request *request = decision->request;
    size_t most = request->stages > 0 ? request->stages : SEARCH_MAX_STAGES;
    size_t stage = request->stage;
    for (;;) {
        const struct stage *s = &application->stages[stage];
        decision->chain[decision->chain_length++] = stage;
        decision->is_chain = s->next_count == 0 || decision->chain_length == request->stages;
        if (decision->is_chain || s->next_count != 1 || decision->chain_length == most)
            return;
        stage = s->next[0];
    }
}

/* Without --method the DAG decides. --stages asks for the first stages of a chain. */
static void decision_method(struct decision *decision)
{
    struct request *request = decision->request;
    if (request->method_chosen)
        request->method =
            decision->is_chain || request->stages > 0 ? METHOD_ASTAR : METHOD_FRONTIER;
}

/* Refuses an option that the method does not use. */
static bool decision_check_frontier(const struct request *request, const char *option,
                                    struct error *error)
{
    if (request->method_chosen)
        return error_input(error,
                           "%s: the stages from %lu on of '%s' are not a chain, so the method is "
                           "frontier, which does not use it; omit it, or search the first "
                           "--stages N",
                           option, (unsigned long)request->stage, request->application);
    return error_input(error, "%s: only --method astar%s it; omit it", option,
                       strcmp(option, "--blades") == 0 ? " uses" : " and exhaustive use");
}

static bool decision_check(const struct decision *decision, struct error *error)
{
    const struct request *request = decision->request;
    double combinations = 1;
    if (request->method == METHOD_FRONTIER && request->later_batches > 0)
        return decision_check_frontier(request, "--later-batches", error);
    if (request->method != METHOD_ASTAR && request->blades != BLADES_BOTH)
        return decision_check_frontier(request, "--blades", error);
    if (request->method == METHOD_FRONTIER)
        return request->stages == 0 ||
               error_input(error,
                           "--stages: the frontier always covers all remaining stages; use it "
                           "with --method astar or exhaustive");
    if (decision->chain_length < request->stages)
        return error_input(error,
                           "--stages: %lu, but the chain of stages from %lu on of '%s' has %zu",
                           (unsigned long)request->stages, (unsigned long)request->stage,
                           decision->application->name, decision->chain_length);
    if (!decision->is_chain)
        return error_input(error,
                           "--method: the stages from %lu on of '%s' are not a chain of at most %d "
                           "stages; use --method frontier, or --stages to search the first few",
                           (unsigned long)request->stage, decision->application->name,
                           SEARCH_MAX_STAGES);
    for (size_t i = 0; i < decision->chain_length; i++)
        combinations *= (double)stage_entries(decision, decision->chain[i]);
    if (request->method == METHOD_EXHAUSTIVE && combinations > EXHAUSTIVE_LIMIT)
        return error_input(error,
                           "--method: exhaustive search would try %.3g combinations, more than "
                           "%.0e; use astar or frontier, or fewer --stages",
                           combinations, EXHAUSTIVE_LIMIT);
    combinations /= (double)stage_entries(decision, decision->chain[decision->chain_length - 1]);
    if (!(request->time_blade && request->cost_blade) && combinations > UNBLADED_LIMIT)
        return error_input(error,
                           "--blades: without both, up to %.3g prefixes would be queued, more "
                           "than %.0e; use fewer --stages",
                           combinations, UNBLADED_LIMIT);
    return true;
}

/* ---- Search ---------------------------------------------------------------------------------- */

static void run_search(struct decision *decision, const struct search_problem *problem,
                       struct search_result *result)
{
    (decision->request->method == METHOD_EXHAUSTIVE ? search_exhaustive : search_astar)(
        problem, decision->workspace, result);
}

/* Finds the best completion of each first-stage configuration, with one search per configuration.
 */
static void search_first_stage(struct decision *decision, const struct search_problem *whole)
{
    const struct search_table *first = whole->stages[0];
    const struct search_table *stages[SEARCH_MAX_STAGES];
    struct search_problem problem = *whole;
    struct search_result *one = arena_allocate(decision->arena, 1, sizeof *one);
    memcpy(stages, whole->stages, whole->stage_count * sizeof *stages);
    problem.stages = stages;
    problem.k = 1;
    problem.queue_length = UINT32_MAX;
    problem.time_blade = problem.cost_blade = true;
    for (size_t i = 0; i < first->count; i++) {
        struct configuration single = {
            .batch = first->batch[i], .time = first->time[i], .cost_per_job_usd = first->cost[i]};
        struct search_table *table = search_table_create(decision->arena, &single, 1);
        stages[0] = table;
        search_table_bound(decision->arena, table);
        run_search(decision, &problem, one);
        decision->first_best[i] = one->path_count > 0 ? one->paths[0].cost_usd : INFINITY;
    }
}

static void decide_chain(struct decision *decision)
{
    const struct request *request = decision->request;
    const struct search_table *stages[SEARCH_MAX_STAGES];
    for (size_t i = 0; i < decision->chain_length; i++)
        stages[i] = decision->by_stage[decision->chain[i]];
    const struct search_problem problem = {.stages = stages,
                                           .stage_count = decision->chain_length,
                                           .budget = sim_from_ms(request->budget_ms),
                                           .queue_length = (uint32_t)request->queue_length,
                                           .bounded = request->later_batches > 0,
                                           .k = request->k,
                                           .time_blade = request->time_blade,
                                           .cost_blade = request->cost_blade};
    int64_t start = clock_ns();
    run_search(decision, &problem, &decision->result);
    decision->elapsed_us = (double)(clock_ns() - start) * 1e-3;
    decision->exact = true;
    search_first_stage(decision, &problem);
}

static void decide_frontier(struct decision *decision)
{
    const struct request *request = decision->request;
    sim_time_t budget = sim_from_ms(request->budget_ms);
    int64_t start = clock_ns();
    const struct frontier_set *set =
        frontier_build(decision->arena, decision->application, decision->by_stage, 0, NULL);
    decision->build_ms = (double)(clock_ns() - start) * 1e-6;
    decision->exact = frontier_exact(set, request->stage);
    start = clock_ns();
    frontier_search(set, request->stage, budget, (uint32_t)request->queue_length, request->k,
                    &decision->result);
    decision->elapsed_us = (double)(clock_ns() - start) * 1e-3;
    frontier_completions(set, request->stage, budget, decision->first_best);
    const struct search_table *first = decision->by_stage[request->stage];
    if (!decision->is_chain)
        decision->chain_length = 1;
    for (size_t p = 0; decision->is_chain && p < decision->result.path_count; p++) {
        struct search_path *path = &decision->result.paths[p];
        for (size_t i = 0; i < first->count; i++)
            if (first->index[i] == path->configuration[0]) {
                (void)frontier_path(set, request->stage, i, budget, path);
                break;
            }
    }
}

/* ---- Output ---------------------------------------------------------------------------------- */

static const struct configuration *path_configuration(const struct decision *decision,
                                                      const struct search_path *path, size_t i)
{
    uint32_t f = decision->application->stages[decision->chain[i]].function;
    return &decision->workload->functions[f].configurations[path->configuration[i]];
}

/* The model of the GPU that the configuration needs; NULL if it needs none, or all are alike. */
static const char *gpu_model(const struct decision *decision,
                             const struct configuration *configuration)
{
    return decision->workload->kind_count > 1 && configuration->vgpu > 0
               ? decision->workload->kinds[configuration->kind].model
               : NULL;
}

static void put_configuration(cJSON *object, const struct decision *decision,
                              const struct configuration *configuration)
{
    json_put(object, "batch %d vcpu %d vgpu %d gpu %s", configuration->batch, configuration->vcpu,
             configuration->vgpu, gpu_model(decision, configuration));
}

static void put_paths(cJSON *paths, const struct decision *decision)
{
    for (size_t p = 0; p < decision->result.path_count; p++) {
        const struct search_path *path = &decision->result.paths[p];
        cJSON *object = json_append(paths);
        json_put(object, "cost_usd %g time_ms %g", path->cost_usd, sim_to_ms(path->time));
        cJSON *configs = cJSON_AddArrayToObject(object, "configs");
        for (size_t i = 0; i < decision->chain_length; i++)
            put_configuration(json_append(configs), decision,
                              path_configuration(decision, path, i));
    }
}

/* In the order of the function's configurations. null: no completion is within the budget. */
static void put_first_stage(cJSON *array, const struct decision *decision)
{
    const struct search_table *first = decision->by_stage[decision->request->stage];
    uint32_t f = decision->application->stages[decision->request->stage].function;
    const struct function *function = &decision->workload->functions[f];
    for (size_t c = 0; c < function->configuration_count; c++)
        for (size_t i = 0; i < first->count; i++) {
            if (first->index[i] != c)
                continue;
            cJSON *object = json_append(array);
            put_configuration(object, decision, &function->configurations[c]);
            json_put(object, "best_cost_usd %g", decision->first_best[i]);
        }
}

static bool print_json(const struct decision *decision, struct error *error)
{
    const struct search_result *result = &decision->result;
    cJSON *root = cJSON_CreateObject();
    json_put(root, "method %s", method_names[decision->request->method]);
    put_paths(cJSON_AddArrayToObject(root, "paths"), decision);
    json_put(root, "expansions %g pruned_time %g pruned_cost %g", (double)result->expansions,
             (double)result->pruned_time, (double)result->pruned_cost);
    put_first_stage(cJSON_AddArrayToObject(root, "first_stage"), decision);
    json_put(root, "exact %hhd", decision->exact);
    if (decision->request->method == METHOD_FRONTIER)
        json_put(root, "build_ms %g", decision->build_ms);
    json_put(root, "elapsed_us %g", decision->elapsed_us);
    return cli_print_json(root, error);
}

static void print_text(const struct decision *decision)
{
    const struct search_result *result = &decision->result;
    const struct search_table *first = decision->by_stage[decision->request->stage];
    size_t feasible = 0;
    text_begin();
    (void)printf("%s, stage %lu (%s), budget %g ms, queue of %lu, method %s%s\n",
                 decision->application->name, (unsigned long)decision->request->stage,
                 decision->application->stages[decision->request->stage].name,
                 decision->request->budget_ms, (unsigned long)decision->request->queue_length,
                 method_names[decision->request->method],
                 !decision->request->method_chosen              ? ""
                 : decision->request->method == METHOD_FRONTIER ? " (the stages are not a chain)"
                                                                : " (the stages are a chain)");
    (void)printf("%4s %14s %12s  %s\n", "", "$/1,000 jobs", "time ms",
                 decision->workload->kind_count > 1 ? "batch x vCPU x vGPU/GPU of each stage"
                                                    : "batch x vCPU x vGPU of each stage");
    for (size_t p = 0; p < result->path_count; p++) {
        const struct search_path *path = &result->paths[p];
        (void)printf("%4zu %14.6g %12.3f ", p + 1, 1000 * path->cost_usd, sim_to_ms(path->time));
        for (size_t i = 0; i < decision->chain_length; i++) {
            const struct configuration *c = path_configuration(decision, path, i);
            const char *model = gpu_model(decision, c);
            (void)printf(" %ux%ux%u%s%s", c->batch, c->vcpu, c->vgpu, model != NULL ? "/" : "",
                         model != NULL ? model : "");
        }
        (void)printf("%s\n", decision->is_chain ? "" : " ...");
    }
    if (result->path_count == 0)
        (void)printf("     no path is within the budget\n");
    for (size_t i = 0; i < first->count; i++)
        feasible += !isinf(decision->first_best[i]);
    (void)printf("first-stage configurations with a completion within the budget: %zu of %zu\n",
                 feasible, first->count);
    (void)printf("expansions %lu, pruned by time %lu, pruned by cost %lu, %s",
                 (unsigned long)result->expansions, (unsigned long)result->pruned_time,
                 (unsigned long)result->pruned_cost,
                 text_time(decision->elapsed_us * 1e-6, (char[TEXT_TIME]){0}));
    if (decision->request->method == METHOD_FRONTIER)
        (void)printf(" (frontiers built once in %.2f ms%s)", decision->build_ms,
                     decision->exact ? "" : "; not series-parallel: conservative");
    (void)printf("\n");
}

/* ---- The cloud -------------------------------------------------------------------------------
 * Paths drawn at random, by time and cost, and what keeps each from being found. */

enum { CLOUD_PATHS = 20000 };
enum cloud_kind { CLOUD_TIME, CLOUD_COST, CLOUD_WITHIN, CLOUD_FOUND };

struct cloud {
    size_t stages[WORKLOAD_MAX_STAGES], stage_count; /* those planned, in order */
    struct cloud_point {
        double time_ms, cost; /* $ per 1,000 jobs */
        enum cloud_kind kind;
    } * points, low, high; /* the least and the most of each, with the budget */
    size_t count;
    double limit; /* cost of the K-th path; INFINITY: fewer were found */
};

/* The stages that the search plans: so many of the chain, or all that follow. */
static void cloud_stages(const struct decision *decision, struct cloud *cloud)
{
    bool planned[WORKLOAD_MAX_STAGES] = {false};
    for (size_t s = decision->request->stage; s < decision->application->stage_count; s++) {
        const struct stage *stage = &decision->application->stages[s];
        planned[s] = s == decision->request->stage;
        for (size_t p = 0; p < stage->after_count; p++)
            planned[s] = planned[s] || planned[stage->after[p]];
        if (planned[s])
            cloud->stages[cloud->stage_count++] = s;
    }
    if (decision->request->stages > 0)
        cloud->stage_count = decision->chain_length;
}

/* Draws a path, faster ones more often. Its kind is that of the blade that cuts it first, or what
 * excludes it as a whole. False: the batches that it would have are not allowed. */
static bool cloud_draw(const struct decision *decision, const struct cloud *cloud,
                       struct random_stream *stream, struct cloud_point *point)
{
    const struct request *request = decision->request;
    const double lean = 1 + 3 * random_uniform(stream);
    double late_ms[WORKLOAD_MAX_STAGES], dear[WORKLOAD_MAX_STAGES]; /* beyond the least possible */
    double least_ms = 0, cheapest = 0;
    sim_time_t finish[WORKLOAD_MAX_STAGES] = {0};
    uint32_t batch = (uint32_t)request->queue_length;
    *point = (struct cloud_point){.kind = CLOUD_WITHIN};
    for (size_t i = 0; i < cloud->stage_count; i++) {
        const size_t s = cloud->stages[i];
        const struct stage *stage = &decision->application->stages[s];
        const struct search_table *table = decision->by_stage[s];
        if (i > 0 && request->later_batches > 0)
            table = search_table_up_to(table, batch);
        if (table == NULL)
            return false;
        const size_t entry = (size_t)((double)table->count * pow(random_uniform(stream), lean));
        if (i == 0 && table->batch[entry] > batch)
            return false;
        batch = i == 0 ? table->batch[entry] : batch;
        for (size_t p = 0; p < stage->after_count; p++)
            finish[s] = finish[stage->after[p]] > finish[s] ? finish[stage->after[p]] : finish[s];
        finish[s] += table->time[entry];
        point->time_ms = fmax(point->time_ms, sim_to_ms(finish[s]));
        point->cost += 1000 * table->cost[entry];
        late_ms[i] = sim_to_ms(table->time[entry] - table->fastest);
        dear[i] = 1000 * (table->cost[entry] - table->cheapest);
        least_ms += sim_to_ms(table->fastest);
        cheapest += 1000 * table->cheapest;
    }
    for (size_t i = 0; i < cloud->stage_count && point->kind == CLOUD_WITHIN; i++) {
        const bool whole = i + 1 == cloud->stage_count;
        const bool blades = whole || request->method == METHOD_ASTAR;
        least_ms = whole ? point->time_ms : least_ms + late_ms[i];
        cheapest += dear[i];
        if (least_ms > request->budget_ms && blades && (whole || request->time_blade))
            point->kind = CLOUD_TIME;
        else if (cheapest > cloud->limit && blades && (whole || request->cost_blade))
            point->kind = CLOUD_COST;
    }
    return true;
}

static void cloud_build(const struct decision *decision, struct cloud *cloud)
{
    const struct search_result *result = &decision->result;
    const double budget_ms = decision->request->budget_ms > 0 ? decision->request->budget_ms : NAN;
    const size_t k = decision->request->k;
    struct random_stream stream;
    struct cloud_point *points = cloud->points =
        arena_allocate(decision->arena, CLOUD_PATHS + SEARCH_MAX_K, sizeof *points);
    cloud->limit = result->path_count < k ? INFINITY : 1000 * result->paths[k - 1].cost_usd;
    cloud_stages(decision, cloud);
    random_stream_open(&stream, 0, RANDOM_PICTURE, 0, 0);
    for (size_t i = 0; i < CLOUD_PATHS; i++)
        cloud->count += cloud_draw(decision, cloud, &stream, &points[cloud->count]);
    for (size_t p = 0; p < result->path_count; p++)
        points[cloud->count++] = (struct cloud_point){
            sim_to_ms(result->paths[p].time), 1000 * result->paths[p].cost_usd, CLOUD_FOUND};
    cloud->low = (struct cloud_point){.time_ms = budget_ms, .cost = INFINITY};
    cloud->high = (struct cloud_point){.time_ms = budget_ms};
    for (size_t i = 0; i < cloud->count; i++) {
        cloud->low.time_ms = fmin(cloud->low.time_ms, points[i].time_ms);
        cloud->low.cost = fmin(cloud->low.cost, points[i].cost);
        cloud->high.time_ms = fmax(cloud->high.time_ms, points[i].time_ms);
        cloud->high.cost = fmax(cloud->high.cost, points[i].cost);
    }
}

/* The part of a logarithmic axis in which a value lies, of `parts`; and where a part begins. */
static size_t part_of(double value, double low, double high, size_t parts)
{
    const double part = high > low ? log(value / low) / log(high / low) * (double)parts : 0;
    return part < (double)parts ? (size_t)part : parts - 1;
}
static double part_begin(size_t part, double low, double high, size_t parts)
{
    return low * pow(high / low, (double)part / (double)parts);
}

/* Makes a chart of rows of equal cost with the last of the kinds in each cell. */
static void cloud_chart(const struct decision *decision, const struct cloud *cloud, size_t rows,
                        size_t columns, struct chart *chart)
{
    const struct request *request = decision->request;
    const struct search_result *result = &decision->result;
    const bool astar = request->method == METHOD_ASTAR;
    const struct cloud_point low = cloud->low, high = cloud->high;
    const struct chart_kind kinds[] = {
        {astar && request->time_blade ? "cut by the time blade" : "over the budget", 't', 0xE69F00},
        {astar && request->cost_blade ? "cut by the cost blade" : "dearer than the K found", 'c',
         0x56B4E9},
        {"neither", 'o', 0x009E73},
        {"found", '*', 0x000000},
        {"budget", '|', 0x222222}};
    int *cells = arena_allocate(decision->arena, rows * columns, sizeof *cells);
    *chart = (struct chart){
        .script = "search",
        .subject = decision->application->name,
        .caption = arena_text(
            decision->arena,
            "Both axes are logarithmic. %d paths drawn at random, the faster ones more often. The "
            "search built %" PRIu64 " paths and parts of paths; the time blade cut %" PRIu64
            " extensions by a stage, the cost blade %" PRIu64 ".",
            CLOUD_PATHS, result->expansions, result->pruned_time, result->pruned_cost),
        .axis = "$ per 1,000 jobs / ms",
        .logarithmic = true,
        .arena = decision->arena};
    for (size_t i = 0; i < cloud->count; i++) {
        const struct cloud_point *at = &cloud->points[i];
        int *cell = &cells[part_of(at->cost, low.cost, high.cost, rows) * columns +
                           part_of(at->time_ms, low.time_ms, high.time_ms, columns)];
        *cell = (int)at->kind >= *cell ? (int)at->kind + 1 : *cell;
    }
    for (size_t row = rows; row-- > 0;) {
        chart_row(chart, "%.4g", part_begin(row, low.cost, high.cost, rows));
        for (size_t c = 0; c < columns; c++)
            if (cells[row * columns + c] > 0)
                chart_add(chart, CHART_BAR, &kinds[cells[row * columns + c] - 1],
                          part_begin(c, low.time_ms, high.time_ms, columns),
                          part_begin(c + 1, low.time_ms, high.time_ms, columns));
    }
    if (request->budget_ms > 0)
        chart_add(chart, CHART_LINE, &kinds[4], request->budget_ms, request->budget_ms);
}

/* Draws the cloud, and makes the chart to print. Without a price there is none. */
static bool cloud_show(const struct decision *decision, struct chart *printed, struct error *error)
{
    enum { ROWS = 15, PICTURE_ROWS = 60, PICTURE_COLUMNS = 110 };
    const struct picture *picture = &decision->request->picture;
    struct cloud cloud = {0};
    struct chart chart;
    cloud_build(decision, &cloud);
    if (!(cloud.low.cost > 0 && cloud.high.cost > cloud.low.cost))
        return picture->file == NULL ||
               error_input(error, "--out: there are no paths of unlike cost to draw");
    cloud_chart(decision, &cloud, ROWS, CHART_COLUMNS, printed);
    cloud_chart(decision, &cloud, PICTURE_ROWS, PICTURE_COLUMNS, &chart);
    return picture_draw(picture, &chart, error);
}

static bool search_decide(struct decision *decision, struct error *error)
{
    const struct request *request = decision->request;
    if (request->stage >= decision->application->stage_count)
        return error_input(error, "--stage: %lu is not a stage of '%s'; it has 0..%zu",
                           (unsigned long)request->stage, decision->application->name,
                           decision->application->stage_count - 1);
    if (!decision_tables(decision, error))
        return false;
    decision_chain(decision);
    decision_method(decision);
    if (!decision_check(decision, error))
        return false;
    (request->method == METHOD_FRONTIER ? decide_frontier : decide_chain)(decision);
    struct chart chart = {0};
    if (!cloud_show(decision, &chart, error))
        return false;
    if (request->json)
        return print_json(decision, error);
    print_text(decision);
    chart_print(&chart, stdout);
    return true;
}

static bool search_run(int argc, char **argv, bool quiet, struct error *error)
{
    struct request request;
    (void)quiet;
    if (!parse_arguments(argc, argv, &request, error))
        return false;
    struct experiment *experiment = experiment_load(request.path, NULL, 0, error);
    if (experiment == NULL)
        return false;
    struct decision decision = {
        .request = &request, .arena = arena_create(), .workload = experiment_planned(experiment)};
    decision.application = cli_find_application(decision.workload, request.application, error);
    bool done = decision.application != NULL && search_decide(&decision, error);
    arena_destroy(decision.arena);
    experiment_free(experiment);
    return done;
}

const struct command command_search = {
    .name = "search",
    .summary = "show one decision: the K best configuration paths and the effort to find them",
    .help = "Example: esgsim search workloads/experiments/strict-light.json --application "
            "image-classification --budget-ms 400\n",
    .run = search_run,
    .operands = "EXP.json",
    .options = search_table,
};
