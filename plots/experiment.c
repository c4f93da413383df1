/* The figures of an experiment that has not run: its cluster, and each application's SLO. */
#include <math.h>

#include "plots/plot.h"
#include "sched/paths/division.h"
#include "workloads/world/gpu_sharing.h"

void slo_chart(const struct application *application, const struct slo_plan *plan,
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

bool plot_experiment(const char *path, struct figure_list *list, struct error *error)
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
            slo_plan_divide(chart.arena, experiment, application, &group_size, error);
        if (plan != NULL)
            slo_chart(application, plan, &chart);
        good = plan != NULL && chart_sheet(&chart, list, error);
    }
    experiment_free(experiment);
    return good;
}
