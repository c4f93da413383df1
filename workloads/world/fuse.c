/* Several functions as one, which executes them one after another in one container. */
#include <math.h>
#include <stdlib.h>

#include "sim/base/arena.h"
#include "traces/profile/interference.h"
#include "workloads/world/world_internal.h"

static const struct configuration *find_cell(const struct function *function,
                                             const struct configuration *cell)
{
    return bsearch(cell, function->configurations, function->configuration_count, sizeof *cell,
                   configuration_compare);
}

/* Keeps the configurations that both have, and adds up their times. */
static void join_cells(struct function *fused, const struct function *part)
{
    size_t count = 0;
    for (size_t k = 0; k < fused->configuration_count; k++) {
        struct configuration cell = fused->configurations[k];
        const struct configuration *other = find_cell(part, &cell);
        if (other == NULL)
            continue;
        cell.time += other->time;
        cell.grade = other->grade > cell.grade ? other->grade : cell.grade;
        fused->configurations[count++] = cell;
    }
    fused->configuration_count = count;
}

static double excess(const struct interference *model, uint32_t victim, uint32_t other)
{
    const struct prepared_runner rows[] = {{.as_victim = 1, .as_other = 1, .index = victim},
                                           {.as_victim = 1, .as_other = 1, .index = other}};
    return interference_excess(model, &rows[0], &rows[1]);
}

/* Adds a row and a column to the kind's table of pairs: the mean of two, of which the second has
 * the weight. */
static void add_pairs(struct arena *arena, struct gpu_kind *kind, const uint32_t means[2],
                      double weight)
{
    const struct interference *old = kind->interference;
    const size_t last = old->pair_count, size = last + 1;
    struct interference *model = arena_copy(arena, old, 1, sizeof *model);
    model->pair_count = size;
    model->pair_names = NULL;
    model->pairs = arena_allocate(arena, size * size, sizeof *model->pairs);
    for (uint32_t i = 0; i < size * size; i++) {
        double *mean = &model->pairs[i];
        for (uint32_t v = 0; v < 4; v++)
            *mean += (v / 2 != 0 ? weight : 1 - weight) * (v % 2 != 0 ? weight : 1 - weight) *
                     excess(old, i / size < last ? (uint32_t)(i / size) : means[v / 2],
                            i % size < last ? (uint32_t)(i % size) : means[v % 2]);
    }
    kind->interference = kind->fused_interference = model;
}

static void mix(double *mean, double other, double weight)
{
    *mean += weight * (other - *mean);
}

static void add_values(struct function_gpu *fused, const struct function_gpu *part)
{
    fused->cold_start_samples_ms = NULL;
    fused->cold_start_sample_count = 0;
    fused->cold_start_mean_ms += part->cold_start_mean_ms;
    if (part->cold_start_mean_ms > 0)
        mix(&fused->cold_start_cv, part->cold_start_cv,
            part->cold_start_mean_ms / fused->cold_start_mean_ms);
    fused->gpu_weights_mb += part->gpu_weights_mb;
    fused->gpu_per_item_mb += part->gpu_per_item_mb;
    fused->turnaround_ms = fmax(fused->turnaround_ms, part->turnaround_ms);
    fused->turnaround_per_item_ms =
        fmax(fused->turnaround_per_item_ms, part->turnaround_per_item_ms);
}

/* Sets what is a mean over time, at the least configuration on this kind of GPU. */
static void set_means(struct arena *arena, struct gpu_kind *kind, size_t k, struct function *fused,
                      const struct function *part)
{
    struct function_gpu *gpu = &fused->gpus[k];
    const struct function_gpu *other = &part->gpus[k];
    const struct configuration *cell = &fused->configurations[gpu->minimum];
    const double weight = (double)find_cell(part, cell)->time / (double)cell->time;
    const uint32_t rows[] = {gpu->interference_index, other->interference_index};
    mix(&gpu->noise_cv, other->noise_cv, weight);
    mix(&gpu->bandwidth_share, other->bandwidth_share, weight);
    if (kind->interference == NULL || kind->interference->pairs == NULL)
        return;
    gpu->interference_index = (uint32_t)kind->interference->pair_count;
    add_pairs(arena, kind, rows, weight);
}

bool function_fuse(struct workload *workload, struct function *fused, const struct function *part,
                   const struct json_value *where, struct error *error)
{
    const bool first = fused->gpus == NULL;
    if (part->service > SERVICE_CONSTANT || (!first && part->service != fused->service))
        return json_fault(where, error,
                          "function \"%s\" cannot be a part of \"%s\": either all parts have their "
                          "times from a profile, or all have a constant \"service\"",
                          part->name, fused->name);
    if (first) {
        const char *name = fused->name;
        *fused = *part;
        fused->name = name;
        fused->fused = true;
        return true;
    }
    fused->service_mean += part->service_mean;
    fused->host_memory_mb += part->host_memory_mb;
    join_cells(fused, part);
    workload_derive_function(fused, workload);
    for (size_t k = 0; k < workload->kind_count; k++) {
        add_values(&fused->gpus[k], &part->gpus[k]);
        if (fused->gpus[k].count > 0)
            set_means(where->arena, &workload->kinds[k], k, fused, part);
    }
    return true;
}
