#include "sched/common/batch_table.h"

static bool faster(const struct configuration *a, const struct configuration *b)
{
    return a->time < b->time || (a->time == b->time && a->cost_per_job_usd < b->cost_per_job_usd);
}

/* Adds configuration `index` to the last level, which has the same batch. */
static void level_add(struct batch_level *level, const struct function *spec, uint32_t index)
{
    const struct configuration *here = &spec->configurations[index];
    if (level->configuration_count == 0 || faster(here, &spec->configurations[level->fastest])) {
        level->fastest = index;
        level->time = here->time;
    }
    level->configurations[level->configuration_count++] = index;
}

/* The configurations of a kind are sorted by batch, so one pass builds the levels. */
static void row_fill(struct batches_of_function *row, struct arena *arena,
                     const struct planner *planner, const struct function *spec, uint32_t function,
                     uint32_t kind, uint32_t max_batch, int units)
{
    const size_t count = spec->configuration_count;
    const int share = units >= 0 ? planner_share(planner, function, kind, (uint32_t)units) : -1;
    row->levels = arena_allocate(arena, count, sizeof *row->levels);
    for (uint32_t i = 0; i < count; i++) {
        const struct configuration *here = &spec->configurations[i];
        if (here->kind != kind || here->batch > max_batch || (share >= 0 && here->vgpu != share) ||
            !planner_runs(planner, function, i))
            continue;
        if (row->level_count == 0 || row->levels[row->level_count - 1].batch != here->batch) {
            struct batch_level *level = &row->levels[row->level_count];
            level->batch = here->batch;
            level->configurations = arena_allocate(arena, count, sizeof *level->configurations);
            row->level_count++;
        }
        level_add(&row->levels[row->level_count - 1], spec, i);
    }
    if (row->level_count > 0 && row->levels[0].batch != 1)
        row->level_count = 0;
}

static void function_fill(struct batch_table *table, struct arena *arena,
                          const struct planner *planner, const struct function *spec,
                          uint32_t function, uint32_t max_batch, int units)
{
    for (uint32_t k = 0; k < table->kinds; k++) {
        struct batches_of_function *row = &table->rows[(size_t)function * table->kinds + k];
        if (row->levels == NULL) /* else of another stage */
            row_fill(row, arena, planner, spec, function, k, max_batch, units);
    }
}

void batch_table_fill(struct batch_table *table, struct arena *arena,
                      const struct workload *workload, const struct planner *planner,
                      uint32_t max_batch, int units)
{
    table->function_count = workload->function_count;
    table->kinds = (uint32_t)workload->kind_count;
    table->rows =
        arena_allocate(arena, workload->function_count * table->kinds, sizeof *table->rows);
    for (size_t a = 0; a < workload->application_count; a++) {
        const struct application *application = &workload->applications[a];
        for (size_t s = 0; s < application->stage_count; s++) {
            const uint32_t f = application->stages[s].function;
            function_fill(table, arena, planner, &workload->functions[f], f, max_batch, units);
        }
    }
}

uint32_t batch_level_cheapest(const struct batch_level *level, const struct function *function,
                              sim_time_t budget)
{
    const struct configuration *best = NULL;
    uint32_t found = level->fastest;
    for (size_t i = 0; i < level->configuration_count; i++) {
        const struct configuration *here = &function->configurations[level->configurations[i]];
        if (here->time > budget ||
            (best != NULL && here->cost_per_job_usd >= best->cost_per_job_usd))
            continue;
        best = here;
        found = level->configurations[i];
    }
    return found;
}
