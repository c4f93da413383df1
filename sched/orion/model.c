#include "sched/orion/model.h"

#include <math.h>
#include <string.h>

#include "sched/common/dominators.h"
#include "sched/paths/search.h"

/* ---- Latency tables
 * --------------------------------------------------------------------------------- */

/* Entries of the table (ascending time) that cost less than all faster ones, last first. `kept` is
 * scratch. */
static void latency_table_fill(struct orion_latency_table *latency_table,
                               const struct search_table *table, uint32_t max_batch, size_t *kept)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->batch[i] <= max_batch &&
            (latency_table->count == 0 ||
             table->cost[i] < table->cost[kept[latency_table->count - 1]]))
            kept[latency_table->count++] = i;
    for (size_t i = 0; i < latency_table->count; i++) {
        const size_t entry = kept[latency_table->count - 1 - i];
        latency_table->configuration[i] = table->index[entry];
        latency_table->cost[i] = table->cost[entry];
        latency_table->time[i] = table->time[entry];
    }
}

/* Copies the used part of `scratch` into a distribution of its own. */
static void distribution_keep(struct distribution *kept, struct arena *arena,
                              const struct distribution *scratch)
{
    *kept = *scratch;
    kept->mass = arena_allocate(arena, scratch->count, sizeof *kept->mass);
    memcpy(kept->mass, scratch->mass, scratch->count * sizeof *kept->mass);
}

static bool latency_table_build(struct orion_model *model, const struct workload *workload,
                                size_t stage, uint32_t max_batch, struct error *error)
{
    struct orion_latency_table *latency_table = &model->latency_tables[stage];
    const uint32_t index = model->application->stages[stage].function;
    const struct function *function = &workload->functions[index];
    const size_t most = function->configuration_count;
    size_t *kept = arena_allocate(model->arena, most, sizeof *kept);
    latency_table->configuration =
        arena_allocate(model->arena, most, sizeof *latency_table->configuration);
    latency_table->cost = arena_allocate(model->arena, most, sizeof *latency_table->cost);
    latency_table->time = arena_allocate(model->arena, most, sizeof *latency_table->time);
    latency_table->execution = arena_allocate(model->arena, most, sizeof *latency_table->execution);
    struct search_table *table =
        search_table_create_placeable(model->arena, workload, index, error);
    if (table == NULL)
        return false;
    latency_table_fill(latency_table, table, max_batch, kept);
    search_table_release(model->arena, table);
    arena_release(model->arena, kept);
    for (size_t i = 0; i < latency_table->count; i++) {
        distribution_execution(
            function, function->configurations[latency_table->configuration[i]].kind,
            latency_table->time[i], model->bin, model->horizon, &model->scratch[0]);
        distribution_keep(&latency_table->execution[i], model->arena, &model->scratch[0]);
    }
    return latency_table->count > 0 ||
           error_input(error,
                       "function '%s': no configuration of a batch of at most %u fits the cluster; "
                       "raise policy.params.max_batch or give the function a smaller batch",
                       function->name, max_batch);
}

/* ---- Set-up ---------------------------------------------------------------------------------- */

static void find_dominators(struct orion_model *model)
{
    const struct application *application = model->application;
    bool any = false;
    dominators_find(application, model->dominator);
    model->sink_dominator = SIM_NONE;
    for (uint32_t s = 0; s < application->stage_count; s++) {
        if (application->stages[s].next_count > 0)
            continue;
        model->sink_dominator =
            any ? dominators_common(model->dominator, model->sink_dominator, s) : s;
        any = true;
    }
}

static void model_allocate(struct orion_model *model)
{
    const size_t room = (size_t)model->horizon + 1;
    const size_t stages = model->application->stage_count;
    const size_t scratch = sizeof model->scratch / sizeof *model->scratch;
    double *masses = arena_allocate(model->arena, (stages + scratch) * room, sizeof *masses);
    for (size_t s = 0; s < stages; s++)
        model->from_dominator[s].mass = masses + s * room;
    for (size_t i = 0; i < scratch; i++)
        model->scratch[i].mass = masses + (stages + i) * room;
}

struct orion_model *orion_model_create(struct arena *arena, const struct workload *workload,
                                       size_t application, uint32_t max_batch, uint32_t bins,
                                       double percentile, struct error *error)
{
    struct orion_model *model = arena_allocate(arena, 1, sizeof *model);
    model->arena = arena;
    model->application = &workload->applications[application];
    model->bin = fmax((double)model->application->slo / bins, 1);
    model->target = (uint32_t)((double)model->application->slo / model->bin + 1e-9);
    /* In a feasible plan no stage is longer than the SLO, so no feasible plan is longer than this.
     */
    model->horizon = bins * (uint32_t)(model->application->stage_count + 1);
    model->percentile = percentile;
    find_dominators(model);
    model_allocate(model);
    bool done = true;
    for (size_t s = 0; done && s < model->application->stage_count; s++)
        done = latency_table_build(model, workload, s, max_batch, error);
    return done ? model : NULL;
}

/* ---- Latency --------------------------------------------------------------------------------- */

static void swap(struct distribution *a, struct distribution *b)
{
    const struct distribution kept = *a;
    *a = *b;
    *b = kept;
}

/* Computes the distribution from the end of stage `from` (SIM_NONE: from the start) to the end of
 * stage `to`, which `from` must equal or dominate. The segments between dominators are independent
 * and composed in series. The result is in `out`; `spare` is scratch. */
static void path(const struct orion_model *model, uint32_t from, uint32_t to,
                 struct distribution *out, struct distribution *spare)
{
    distribution_zero(out);
    for (uint32_t s = to; s != from; s = model->dominator[s]) {
        distribution_series(out, &model->from_dominator[s], model->horizon, spare);
        swap(out, spare);
    }
}

/* Computes into scratch[0] the latest of the paths from the end of stage `from` to those of `ends`.
 */
static void join(struct orion_model *model, uint32_t from, const uint32_t *ends, size_t count)
{
    struct distribution *scratch = model->scratch;
    distribution_zero(&scratch[0]);
    for (size_t i = 0; i < count; i++) {
        path(model, from, ends[i], &scratch[1], &scratch[2]);
        if (i == 0) {
            swap(&scratch[0], &scratch[1]);
            continue;
        }
        distribution_later(&scratch[0], &scratch[1], &scratch[2]);
        swap(&scratch[0], &scratch[2]);
    }
}

static void model_run(struct orion_model *model, const uint16_t *steps)
{
    for (size_t s = 0; s < model->application->stage_count; s++) {
        const struct stage *stage = &model->application->stages[s];
        join(model, model->dominator[s], stage->after, stage->after_count);
        distribution_series(&model->scratch[0], &model->latency_tables[s].execution[steps[s]],
                            model->horizon, &model->from_dominator[s]);
    }
}

/* Computes into scratch[3] the path from the start to the end of `middle`, followed by scratch[0].
 */
static void append(struct orion_model *model, uint32_t middle)
{
    path(model, SIM_NONE, middle, &model->scratch[1], &model->scratch[2]);
    distribution_series(&model->scratch[1], &model->scratch[0], model->horizon, &model->scratch[3]);
}

uint32_t orion_model_latency(struct orion_model *model, const uint16_t *steps)
{
    uint32_t sinks[WORKLOAD_MAX_STAGES];
    size_t count = 0;
    for (uint32_t s = 0; s < model->application->stage_count; s++)
        if (model->application->stages[s].next_count == 0)
            sinks[count++] = s;
    model_run(model, steps);
    join(model, model->sink_dominator, sinks, count);
    append(model, model->sink_dominator);
    return distribution_percentile(&model->scratch[3], model->percentile, model->horizon);
}

void orion_model_starts(struct orion_model *model, const uint16_t *steps, sim_time_t *start)
{
    model_run(model, steps);
    for (size_t s = 0; s < model->application->stage_count; s++) {
        const struct stage *stage = &model->application->stages[s];
        join(model, model->dominator[s], stage->after, stage->after_count);
        append(model, model->dominator[s]);
        start[s] = (sim_time_t)(model->bin *
                                distribution_percentile(&model->scratch[3], 0.5, model->horizon));
    }
}

double orion_model_cost(const struct orion_model *model, const uint16_t *steps)
{
    double cost = 0;
    for (size_t s = 0; s < model->application->stage_count; s++)
        cost += model->latency_tables[s].cost[steps[s]];
    return cost;
}
