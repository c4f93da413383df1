/* esgsim slo: shows how an application's SLO is divided among its stages. Also the figures of an
 * experiment, of which this is one. */
#include "sim/cli/picture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <cjson/cJSON.h>

#include "plots/palette.h"
#include "results/report/table.h"
#include "sched/common/slo.h"
#include "sched/paths/search.h"
#include "sched/registry.h"
#include "sim/run/run_once.h"
#include "workloads/spec/experiment.h"
#include "workloads/world/gpu_sharing.h"
#include "sim/base/json_write.h"
#include "sim/base/text.h"

struct request {
    const char *path, *application;
    uint64_t group_size; /* 0: the experiment's */
    bool json;
};

static const struct cli_option slo_table[] = {
    {"--application", "NAME", "application of the experiment",
     CLI_MEMBER(struct request, application), .required = true},
    {"--group-size", "N",
     "most stages planned together, 1..16 (default: the experiment's policy parameter, "
     "else 3)",
     CLI_MEMBER(struct request, group_size), .least = 1, .most = SEARCH_MAX_STAGES},
    {"--json", NULL, "one JSON object", CLI_MEMBER(struct request, json)},
    {.name = NULL},
};

/* Replaces 0 by the experiment's policy parameter, else by ESG's default. */
static bool choose_group_size(const struct experiment *experiment, size_t *size,
                              struct error *error)
{
    const char *const key = "group_size";
    double *values = NULL;
    if (*size > 0)
        return true;
    const struct policy *policy = runner_policy(experiment, &values, error);
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
    free(values);
    return true;
}

static struct slo_plan *make_plan(struct arena *arena, const struct experiment *experiment,
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

/* Of each stage its slot, and how much longer its group may take. */
static void plan_chart(const struct application *application, const struct slo_plan *plan,
                       struct chart *chart)
{
    struct arena *arena = chart->arena;
    const double slo = sim_to_ms(application->slo);
    const struct chart_kind left = {"until the deadline of its group", '-', 0xD8D8D8},
                            due = {arena_text(arena, "SLO %.3f ms", slo), '|', 0x222222};
    *chart = (struct chart){
        .arena = arena,
        .script = "dag",
        .subject = application->name,
        .caption = "A bar is a stage's slot of the SLO, beside it its quota. Pale: until the "
                   "deadline of its group, which is planned together. Arrows: what a stage waits "
                   "for.",
        .axis = "ms after the arrival"};
    for (size_t s = 0; s < plan->stage_count; s++) {
        const struct stage *stage = &application->stages[s];
        const struct slo_stage *own = &plan->stages[s];
        const double end = own->own_deadline * slo, from = end - own->slot * slo;
        const struct chart_kind slot = {arena_text(arena, "group %u", own->group),
                                        (char)('0' + own->group % 10),
                                        palette_series(own->group).colour};
        chart_row(chart, "%s", stage->name);
        for (size_t p = 0; p < stage->after_count; p++)
            chart_add(chart, CHART_LINK, NULL, plan->stages[stage->after[p]].own_deadline * slo,
                      from)
                ->other = stage->after[p];
        if (own->deadline_fraction > own->own_deadline)
            chart_add(chart, CHART_BAR, &left, end, own->deadline_fraction * slo);
        chart_add(chart, CHART_BAR, &slot, from, end)->text =
            arena_text(arena, "%.4g ms: %.1f %%", own->quota * slo, 100 * own->quota);
    }
    chart_add(chart, CHART_LINE, &due, slo, slo);
}

/* The shares of the GPU that a batch may have: "any", "1, 2, 3, 4, 7". */
static const char *shares_text(struct arena *arena, const struct gpu_spec *gpu)
{
    char *text = NULL;
    size_t count = 0;
    for (uint16_t units = 1; units <= gpu->units; units++)
        if (gpu_sharing_of(gpu)->allows(gpu, units))
            arena_append(arena, &text, count++ > 0 ? ", %u" : "%u", units);
    return count == gpu->units || text == NULL ? "any" : text;
}

/* A row for each group of equal invokers: its GPUs side by side, divided into units where those are
 * few; below them what the invoker has besides. */
static void cluster_chart(const struct workload *workload, struct chart *chart)
{
    struct arena *arena = chart->arena;
    for (size_t g = 0; g < workload->cluster.group_count; g++) {
        const struct invoker_group *group = &workload->cluster.groups[g];
        const struct chart_kind host = {
            arena_text(arena, "%u vCPUs, %g MB", group->vcpus, group->memory_mb), '-',
            palette_series(workload->kind_count + g).colour};
        chart_row(chart, "%u invoker%s", group->count, group->count == 1 ? "" : "s");
        chart_add(chart, CHART_PLAN, &host, 0, fmax(1, (double)group->gpu_count));
        for (size_t i = 0; i < group->gpu_count; i++) {
            const struct gpu_spec *gpu = &group->gpus[i];
            const struct chart_kind kind = {
                arena_text(arena, "%s, %g MB, %s, shares of %u: %s", gpu->model, gpu->memory_mb,
                           gpu_sharing_of(gpu)->name, gpu->units, shares_text(arena, gpu)),
                '#', palette_series(gpu->kind).colour};
            const int parts = gpu->units > 12 ? 1 : gpu->units;
            for (int u = 0; u < parts; u++)
                chart_add(chart, CHART_BAR, &kind, (double)i + 1.0 * u / parts,
                          (double)i + (u + 1.0) / parts);
        }
    }
}

bool experiment_figures(const char *path, struct figure_list *list, struct error *error)
{
    struct experiment *experiment = experiment_load(path, NULL, 0, error);
    if (experiment == NULL)
        return false;
    const struct workload *workload = experiment_planned(experiment);
    struct chart chart = {.arena = figure_memory(list),
                          .script = "cluster",
                          .subject = experiment->name,
                          .caption = "A row is a group of equal invokers, a block a GPU, divided "
                                     "into its units where they are few; below: vCPUs and memory "
                                     "of an invoker. Shares: what a batch may have of a GPU.",
                          .axis = "GPUs of an invoker"};
    cluster_chart(workload, &chart);
    bool good = !figure_wanted(list, "cluster") || chart_sheet(&chart, list, error);
    for (size_t a = 0; good && figure_wanted(list, "dag") && a < workload->application_count; a++) {
        size_t group_size = 0;
        const struct application *application = &workload->applications[a];
        const struct slo_plan *plan =
            make_plan(chart.arena, experiment, application, &group_size, error);
        if (plan != NULL)
            plan_chart(application, plan, &chart);
        good = plan != NULL && chart_sheet(&chart, list, error);
    }
    experiment_free(experiment);
    return good;
}

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

static bool print_json(const struct workload *workload, const struct application *application,
                       const struct slo_plan *plan, size_t group_size, struct error *error)
{
    cJSON *root = cJSON_CreateObject();
    json_put(root, "application %s slo_ms %g group_size %zu groups %u", application->name,
             sim_to_ms(application->slo), group_size, plan->group_count);
    cJSON *stages = cJSON_AddArrayToObject(root, "stages");
    for (size_t s = 0; s < plan->stage_count; s++)
        put_stage(json_append(stages), workload, application, plan, s);
    return cli_print_json(root, error);
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
    plan_chart(application, plan, &chart);
    chart_print(&chart, stdout);
}

static bool slo_run(int argc, char **argv, bool quiet, struct error *error)
{
    struct request request = {0};
    (void)quiet;
    if (!cli_parse(&command_slo, &argc, argv, &request, error))
        return false;
    request.path = argv[1];
    struct experiment *experiment = experiment_load(request.path, NULL, 0, error);
    if (experiment == NULL)
        return false;
    const struct workload *workload = experiment_planned(experiment);
    const struct application *application =
        cli_find_application(workload, request.application, error);
    size_t group_size = request.group_size;
    struct arena *arena = arena_create();
    struct slo_plan *plan =
        application != NULL ? make_plan(arena, experiment, application, &group_size, error) : NULL;
    bool done = plan != NULL;
    if (done && request.json)
        done = print_json(workload, application, plan, group_size, error);
    else if (done)
        print_text(application, plan, group_size, arena);
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
