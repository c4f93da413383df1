#include "sched/common/batch_table.h"

#include <stdlib.h>

#include "sched/common/kinds.h"

/* The share of a function on GPUs of a kind under a limit of `units`; its smallest share if all
 * exceed the limit; -1 if all shares are allowed. */
static int share_of(const struct planner *planner, const struct function *spec, uint32_t function,
                    uint32_t kind, int units)
{
    int share = -1;
    for (uint32_t i = 0; units >= 0 && i < spec->configuration_count; i++) {
        const struct configuration *here = &spec->configurations[i];
        if (here->kind != kind || here->batch != 1 || !planner_runs(planner, function, i))
            continue;
        if (share < 0 ||
            (here->vgpu <= units ? share > units || here->vgpu > share : here->vgpu < share))
            share = here->vgpu;
    }
    return share;
}

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
static bool row_fill(struct batches_of_function *row, const struct planner *planner,
                     const struct function *spec, uint32_t function, uint32_t kind,
                     uint32_t max_batch, int units)
{
    const size_t count = spec->configuration_count;
    const int share = share_of(planner, spec, function, kind, units);
    row->levels = calloc(count, sizeof *row->levels);
    if (row->levels == NULL)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const struct configuration *here = &spec->configurations[i];
        if (here->kind != kind || here->batch > max_batch || (share >= 0 && here->vgpu != share) ||
            !planner_runs(planner, function, i))
            continue;
        if (row->level_count == 0 || row->levels[row->level_count - 1].batch != here->batch) {
            struct batch_level *level = &row->levels[row->level_count];
            level->batch = here->batch;
            level->configurations = calloc(count, sizeof *level->configurations);
            if (level->configurations == NULL)
                return false;
            row->level_count++;
        }
        level_add(&row->levels[row->level_count - 1], spec, i);
    }
    return true;
}

static void row_clear(struct batches_of_function *row)
{
    for (size_t i = 0; i < row->level_count; i++)
        free(row->levels[i].configurations);
    free(row->levels);
    *row = (struct batches_of_function){0};
}

static bool function_fill(struct batch_table *table, const struct planner *planner,
                          const struct function *spec, uint32_t function, uint32_t max_batch,
                          int units)
{
    for (uint32_t k = 0; k < table->kinds; k++) {
        struct batches_of_function *row = &table->rows[(size_t)function * table->kinds + k];
        if (row->levels != NULL)
            continue; /* of another stage */
        if (!row_fill(row, planner, spec, function, k, max_batch, units))
            return false;
        if (row->level_count > 0 && row->levels[0].batch != 1)
            row_clear(row);
    }
    return true;
}

bool batch_table_fill(struct batch_table *table, const struct workload *workload,
                      const struct planner *planner, uint32_t max_batch, int units,
                      struct error *error)
{
    table->function_count = workload->function_count;
    table->kinds = (uint32_t)workload->kind_count;
    table->rows = calloc(workload->function_count * table->kinds + 1, sizeof *table->rows);
    bool done = table->rows != NULL;
    for (size_t a = 0; done && a < workload->application_count; a++) {
        const struct application *application = &workload->applications[a];
        for (size_t s = 0; done && s < application->stage_count; s++) {
            const uint32_t f = application->stages[s].function;
            done = function_fill(table, planner, &workload->functions[f], f, max_batch, units);
        }
    }
    return done || error_run(error, "out of memory for the batches of %zu functions",
                             workload->function_count);
}

void batch_table_clear(struct batch_table *table)
{
    const size_t rows = table->function_count * table->kinds;
    for (size_t i = 0; table->rows != NULL && i < rows; i++)
        row_clear(&table->rows[i]);
    free(table->rows);
    *table = (struct batch_table){0};
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
