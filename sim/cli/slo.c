/* esgsim slo: shows how an application's SLO is divided among its stages. */
#include <stdio.h>

#include <cjson/cJSON.h>

#include "plots/plot.h"
#include "results/report/table.h"
#include "sched/paths/division.h"
#include "sim/base/json_write.h"
#include "sim/base/text.h"
#include "sim/cli/cli.h"

struct request {
    const char *application;
    uint64_t group_size; /* 0: the experiment's */
    bool json;
};

static const struct cli_option slo_table[] = {
    {"--application", "NAME", "application of the experiment (default: each)",
     CLI_MEMBER(struct request, application)},
    {"--group-size", "N",
     "most stages planned together, 1..16 (default: the experiment's policy parameter, "
     "else 3)",
     CLI_MEMBER(struct request, group_size), .least = 1, .most = SLO_MAX_GROUP},
    {"--json", NULL, "one JSON object", CLI_MEMBER(struct request, json)},
    {.name = NULL},
};

static void put_stage_name(cJSON *object, const char *key, const struct application *application,
                           uint32_t stage)
{
    if (stage == SIM_NONE)
        cJSON_AddNullToObject(object, key);
    else
        cJSON_AddStringToObject(object, key, application->stages[stage].name);
}

static void put_stage_names(cJSON *object, const char *key, const struct application *application,
                            const uint32_t *stages, size_t count)
{
    cJSON *list = cJSON_AddArrayToObject(object, key);
    for (size_t i = 0; i < count; i++)
        cJSON_AddItemToArray(list, cJSON_CreateString(application->stages[stages[i]].name));
}

static void put_stage(cJSON *object, const struct workload *workload,
                      const struct application *application, const struct slo_plan *plan, size_t s)
{
    const struct stage *stage = &application->stages[s];
    const struct slo_stage *planned = &plan->stages[s];
    const double slo_ms = sim_to_ms(application->slo);
    json_put(object, "name %s function %s anl %g", stage->name,
             workload->functions[stage->function].name, planned->anl);
    put_stage_name(object, "dominator", application, planned->dominator);
    put_stage_name(object, "post_dominator", application, planned->post_dominator);
    json_put(object,
             "group %u quota %g quota_ms %g own_deadline %g deadline_fraction %g deadline_ms %g",
             planned->group, planned->quota, planned->quota * slo_ms, planned->own_deadline,
             planned->deadline_fraction, planned->deadline_fraction * slo_ms);
    put_stage_names(object, "after", application, stage->after, stage->after_count);
    put_stage_names(object, "chain", application, planned->chain, planned->chain_length);
}

static void put_plan(cJSON *object, const struct workload *workload,
                     const struct application *application, const struct slo_plan *plan,
                     size_t group_size)
{
    json_put(object, "application %s slo_ms %g group_size %zu groups %u", application->name,
             sim_to_ms(application->slo), group_size, plan->group_count);
    cJSON *stages = cJSON_AddArrayToObject(object, "stages");
    for (size_t s = 0; s < plan->stage_count; s++)
        put_stage(json_append(stages), workload, application, plan, s);
}

/* Prints the dominator tree; children are indented below their parent. */
static void print_tree(const struct application *application, const struct slo_plan *plan,
                       uint32_t parent, int depth)
{
    for (uint32_t s = 0; s < plan->stage_count; s++)
        if (plan->stages[s].dominator == parent) {
            (void)printf("  %*s%s\n", 2 * depth, "", application->stages[s].name);
            print_tree(application, plan, s, depth + 1);
        }
}

static void print_text(const struct application *application, const struct slo_plan *plan,
                       size_t group_size, struct arena *arena)
{
    struct chart chart = {.arena = arena};
    double slo_ms = sim_to_ms(application->slo);
    text_begin();
    (void)printf("%s: SLO %.3f ms, groups of at most %zu\ndominator tree:\n", application->name,
                 slo_ms, group_size);
    print_tree(application, plan, SIM_NONE, 0);
    static const char *const headers[] = {"stage", "ANL",      "post-dominator", "group",
                                          "quota", "quota ms", "deadline ms"};
    struct text_table *table = text_table_create(headers, sizeof headers / sizeof *headers);
    text_table_dense(table);
    for (size_t s = 0; s < plan->stage_count; s++) {
        const struct slo_stage *planned = &plan->stages[s];
        text_table_add(
            table, "%s\t%.5f\t%s\t%u\t%.5f\t%.3f\t%.3f", application->stages[s].name, planned->anl,
            planned->post_dominator == SIM_NONE ? "-"
                                                : application->stages[planned->post_dominator].name,
            planned->group, planned->quota, planned->quota * slo_ms,
            planned->deadline_fraction * slo_ms);
    }
    text_table_print(table, 0, stdout);
    slo_chart(application, plan, &chart);
    chart_print(&chart, stdout);
}

/* Of one application, or of all as the array "applications". */
static bool show(const struct experiment *experiment, const struct request *request,
                 struct arena *arena, struct error *error)
{
    const struct workload *workload = experiment_planned(experiment);
    const struct application *first = workload->applications, *one = NULL;
    if (request->application != NULL || workload->application_count == 0) {
        one = first = workload_find_application(workload, request->application, error);
        if (one == NULL)
            return false;
    }
    cJSON *root = request->json ? cJSON_CreateObject() : NULL;
    cJSON *all = root != NULL && one == NULL ? cJSON_AddArrayToObject(root, "applications") : NULL;
    for (size_t a = 0; a < (one != NULL ? 1 : workload->application_count); a++) {
        size_t group_size = request->group_size;
        struct slo_plan *plan = slo_plan_divide(arena, experiment, &first[a], &group_size, error);
        if (plan == NULL) {
            cJSON_Delete(root);
            return false;
        }
        if (root != NULL)
            put_plan(all != NULL ? json_append(all) : root, workload, &first[a], plan, group_size);
        else
            print_text(&first[a], plan, group_size, arena);
    }
    return root == NULL || cli_print_json(root, error);
}

static bool slo_run(int argc, char **argv, bool quiet, struct error *error)
{
    struct request request = {0};
    if (!cli_parse(&command_slo, &argc, argv, &request, error))
        return false;
    struct experiment *experiment = experiment_load(argv[1], NULL, 0, error);
    if (experiment == NULL)
        return false;
    struct arena *arena = arena_create();
    const bool done = show(experiment, &request, arena, error);
    arena_destroy(arena);
    experiment_free(experiment);
    return done;
}

const struct command command_slo = {
    .name = "slo",
    .summary = "show an application's dominator tree, ANL, groups, quotas and deadlines",
    .help = "The quotas along every path from a source to a sink add up to the SLO. Deadlines are "
            "those of the stage's group, relative to the request's arrival.\n"
            "\n"
            "Example: esgsim slo workloads/experiments/strict-light.json --application "
            "expanded-image-classification\n",
    .run = slo_run,
    .operands = "EXP.json",
    .options = slo_table,
};
