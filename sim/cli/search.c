/* esgsim search: explains one decision. */
#include "sim/cli/picture.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include <cjson/cJSON.h>

#include "results/inspect/decision_chart.h"
#include "sim/base/json_write.h"
#include "sim/base/text.h"
#include "workloads/spec/experiment.h"

static const char *const method_names[] = {"astar", "frontier", "exhaustive"};

struct options {
    const char *application;
    struct decision_question question;
    int blades, later_batches;
    bool json;
    struct picture picture;
};

#define MEMBER(member) CLI_MEMBER(struct options, member)

static const struct cli_option search_table[] = {
    {"--application", "NAME", "application of the experiment (default: its only one)",
     MEMBER(application)},
    {"--budget-ms", "X",
     "time from now to the deadline of the remaining stages, ms (default: the whole SLO)",
     MEMBER(question.budget_ms), .low = -1e12, .high = 1e12},
    {"--stage", "I", "first remaining stage (default 0)", MEMBER(question.stage),
     .most = UINT32_MAX},
    {"--stages", "N", "only the first N stages, as one group (astar, exhaustive)",
     MEMBER(question.stages), .least = 1, .most = SEARCH_MAX_STAGES},
    {"--k", "K", "number of paths, 1..64 (default 5)", MEMBER(question.k), .least = 1,
     .most = SEARCH_MAX_K},
    {"--queue-length", "N",
     "length of the queue, the upper bound on the first stage's batch (default 32)",
     MEMBER(question.queue_length), .least = 1, .most = UINT32_MAX},
    {"--later-batches", "any|bounded",
     "batches of later stages (default any); bounded: at most the first (astar, exhaustive)",
     MEMBER(later_batches)},
    {"--method", "astar|frontier|exhaustive",
     "astar: ESG_1Q, for a chain of stages; frontier: best completion of each first-stage "
     "configuration, for any DAG; exhaustive: brute force. Default: astar for a chain, frontier "
     "for any other DAG",
     MEMBER(question.method)},
    {"--blades", "both|time|cost|none",
     "what astar cuts off: paths too slow for the budget, paths dearer than the K best (default "
     "both; ESG's paper calls these rules blades)",
     MEMBER(blades)},
    {"--json", NULL, "one JSON object; costs are dollars per job", MEMBER(json)},
    CLI_PICTURE(struct options, picture),
    {.name = NULL},
};

/* The model of the GPU that the configuration needs; NULL if it needs none, or all are alike. */
static const char *gpu_model(const struct decision *decision,
                             const struct configuration *configuration)
{
    return decision->workload->kind_count > 1 && configuration->vgpu > 0
               ? decision->workload->kinds[configuration->kind].model
               : NULL;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

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
                              decision_configuration(decision, path, i));
    }
}

/* In the order of the function's configurations. null: no completion is within the budget. */
static void put_first_stage(cJSON *array, const struct decision *decision)
{
    const size_t stage = decision->question->stage;
    const struct function *function =
        &decision->workload->functions[decision->application->stages[stage].function];
    for (size_t c = 0; c < function->configuration_count; c++) {
        const size_t entry = decision_entry(decision, stage, c);
        if (entry == SIZE_MAX)
            continue;
        cJSON *object = json_append(array);
        put_configuration(object, decision, &function->configurations[c]);
        json_put(object, "best_cost_usd %g", decision->first_best[entry]);
    }
}

static bool print_json(const struct decision *decision, struct error *error)
{
    const struct search_result *result = &decision->result;
    cJSON *root = cJSON_CreateObject();
    json_put(root, "method %s", method_names[decision->method]);
    put_paths(cJSON_AddArrayToObject(root, "paths"), decision);
    json_put(root, "expansions %g pruned_time %g pruned_cost %g", (double)result->expansions,
             (double)result->pruned_time, (double)result->pruned_cost);
    put_first_stage(cJSON_AddArrayToObject(root, "first_stage"), decision);
    json_put(root, "exact %hhd", decision->exact);
    if (decision->method == DECISION_FRONTIER)
        json_put(root, "build_ms %g", decision->build_ms);
    json_put(root, "elapsed_us %g", decision->elapsed_us);
    return cli_print_json(root, error);
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void print_path(const struct decision *decision, size_t p)
{
    const struct search_path *path = &decision->result.paths[p];
    (void)printf("%4zu %14.6g %12.3f ", p + 1, 1000 * path->cost_usd, sim_to_ms(path->time));
    for (size_t i = 0; i < decision->chain_length; i++) {
        const struct configuration *c = decision_configuration(decision, path, i);
        const char *model = gpu_model(decision, c);
        (void)printf(" %ux%ux%u%s%s", c->batch, c->vcpu, c->vgpu, model != NULL ? "/" : "",
                     model != NULL ? model : "");
    }
    (void)printf("%s\n", decision->is_chain ? "" : " ...");
}

static void print_effort(const struct decision *decision)
{
    const struct search_result *result = &decision->result;
    const struct search_table *first = decision->tables[decision->question->stage];
    size_t feasible = 0;
    for (size_t i = 0; i < first->count; i++)
        feasible += !isinf(decision->first_best[i]);
    (void)printf("first-stage configurations with a completion within the budget: %zu of %zu\n",
                 feasible, first->count);
    (void)printf("expansions %" PRIu64 ", pruned by time %" PRIu64 ", pruned by cost %" PRIu64
                 ", %s",
                 result->expansions, result->pruned_time, result->pruned_cost,
                 text_time(decision->elapsed_us * 1e-6, (char[TEXT_TIME]){0}));
    if (decision->method == DECISION_FRONTIER)
        (void)printf(" (frontiers built once in %.2f ms%s)", decision->build_ms,
                     decision->exact ? "" : "; not series-parallel: conservative");
    (void)printf("\n");
}

static void print_text(const struct decision *decision)
{
    const struct decision_question *question = decision->question;
    text_begin();
    (void)printf("%s, stage %" PRIu64 " (%s), budget %g ms, queue of %" PRIu64 ", method %s%s\n",
                 decision->application->name, question->stage,
                 decision->application->stages[question->stage].name, question->budget_ms,
                 question->queue_length, method_names[decision->method],
                 question->method != DECISION_BY_DAG     ? ""
                 : decision->method == DECISION_FRONTIER ? " (the stages are not a chain)"
                                                         : " (the stages are a chain)");
    (void)printf("%4s %14s %12s  %s\n", "", "$/1,000 jobs", "time ms",
                 decision->workload->kind_count > 1 ? "batch x vCPU x vGPU/GPU of each stage"
                                                    : "batch x vCPU x vGPU of each stage");
    for (size_t p = 0; p < decision->result.path_count; p++)
        print_path(decision, p);
    if (decision->result.path_count == 0)
        (void)printf("     no path is within the budget\n");
    print_effort(decision);
}

/* ---- The command ----------------------------------------------------------------------------- */

/* Draws the picture, if it is wanted, and prints. */
static bool show(const struct options *options, const struct decision *decision,
                 struct error *error)
{
    struct chart printed, picture;
    decision_charts(decision, &printed, &picture);
    if (options->picture.file != NULL && picture.row_count == 0)
        return error_input(error, "--out: there are no paths of unlike cost to draw");
    if (!picture_draw(&options->picture, &picture, error))
        return false;
    if (options->json)
        return print_json(decision, error);
    print_text(decision);
    chart_print(&printed, stdout);
    return true;
}

static bool search_run(int argc, char **argv, bool quiet, struct error *error)
{
    enum { BOTH, TIME, COST };
    struct options options = {.question = {
                                  .k = 5,
                                  .queue_length = 32,
                                  .budget_ms = NAN,
                                  .method = DECISION_BY_DAG,
                              }};
    struct decision decision;
    if (!cli_parse(&command_search, &argc, argv, &options, error))
        return false;
    options.question.bounded = options.later_batches > 0;
    options.question.time_blade = options.blades == BOTH || options.blades == TIME;
    options.question.cost_blade = options.blades == BOTH || options.blades == COST;
    struct experiment *experiment = experiment_load(argv[1], NULL, 0, error);
    if (experiment == NULL)
        return false;
    const struct workload *workload = experiment_planned(experiment);
    const struct application *application =
        workload_find_application(workload, options.application, error);
    struct arena *arena = arena_create();
    if (application != NULL && isnan(options.question.budget_ms))
        options.question.budget_ms = sim_to_ms(application->slo);
    const bool done =
        application != NULL &&
        decision_make(arena, workload, application, &options.question, &decision, error) &&
        show(&options, &decision, error);
    arena_destroy(arena);
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
