#include "sched/paths/search.h"

#include <stdlib.h>

#include "sched/common/planner.h"

struct sort_key {
    sim_time_t time;
    double cost;
    uint16_t batch;
    uint16_t kind;
    uint16_t index;
};

static int sort_key_compare(const void *left, const void *right)
{
    const struct sort_key *a = left;
    const struct sort_key *b = right;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    if (a->cost != b->cost)
        return a->cost < b->cost ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* One block of the arena has the table and its columns. */
static struct search_table *table_from_keys(struct arena *arena, struct sort_key *keys,
                                            size_t count)
{
    struct search_table *table = NULL;
    const size_t row = sizeof *table->time + 2 * sizeof *table->cost + 3 * sizeof *table->batch;
    table = arena_allocate(arena, 1, sizeof *table + count * row);
    table->count = count;
    table->time = (void *)(table + 1);
    table->cost = (void *)(table->time + count);
    table->least = table->cost + count;
    table->batch = (void *)(table->least + count);
    table->kind = table->batch + count;
    table->index = table->kind + count;
    qsort(keys, count, sizeof *keys, sort_key_compare);
    table->fastest = keys[0].time;
    table->fastest_cost = keys[0].cost;
    table->cheapest = keys[0].cost;
    for (size_t i = 0; i < count; i++) {
        table->time[i] = keys[i].time;
        table->cost[i] = keys[i].cost;
        table->batch[i] = keys[i].batch;
        table->kind[i] = keys[i].kind;
        table->index[i] = keys[i].index;
        if (keys[i].cost < table->cheapest)
            table->cheapest = keys[i].cost;
        if (keys[i].batch > table->most_batch)
            table->most_batch = keys[i].batch;
        table->least[i] = table->cheapest;
    }
    return table;
}

static struct sort_key sort_key_of(const struct configuration *configuration, size_t index)
{
    return (struct sort_key){.time = configuration->time,
                             .cost = configuration->cost_per_job_usd,
                             .batch = configuration->batch,
                             .kind = configuration->kind,
                             .index = (uint16_t)index};
}

struct search_table *search_table_create(struct arena *arena,
                                         const struct configuration *configurations, size_t count)
{
    struct sort_key *keys = arena_allocate(arena, count, sizeof *keys);
    for (size_t i = 0; i < count; i++)
        keys[i] = sort_key_of(&configurations[i], i);
    struct search_table *table = table_from_keys(arena, keys, count);
    arena_release(arena, keys);
    return table;
}

/* True if the share is all units of one of the group's GPUs of its kind, or 0. */
static bool takes_whole_gpu(const struct invoker_group *group,
                            const struct configuration *configuration)
{
    bool whole = configuration->vgpu == 0;
    for (size_t g = 0; g < group->gpu_count && !whole; g++)
        whole = group->gpus[g].kind == configuration->kind &&
                configuration->vgpu == group->gpus[g].units;
    return whole;
}

static bool configuration_placeable(const struct workload *workload,
                                    const struct function *function,
                                    const struct configuration *configuration,
                                    const struct search_limits *limits)
{
    const struct cluster_spec *cluster = &workload->cluster;
    bool placeable = false;
    for (size_t i = 0; i < cluster->group_count && !placeable; i++) {
        const struct invoker_group *group = &cluster->groups[i];
        placeable = group->count > 0 && planner_group_runs(group, function, configuration) &&
                    (!limits->whole_gpu || takes_whole_gpu(group, configuration));
    }
    return placeable && configuration->batch <= limits->max_batch;
}

struct search_table *search_table_create_placeable(struct arena *arena,
                                                   const struct workload *workload, size_t function,
                                                   struct error *error)
{
    const struct search_limits none = {.max_batch = UINT32_MAX};
    return search_table_create_within(arena, workload, function, &none, error);
}

struct search_table *search_table_create_within(struct arena *arena,
                                                const struct workload *workload, size_t function,
                                                const struct search_limits *limits,
                                                struct error *error)
{
    const struct function *f = &workload->functions[function];
    struct sort_key *keys = arena_allocate(arena, f->configuration_count, sizeof *keys);
    struct search_table *table = NULL;
    size_t count = 0;
    for (size_t i = 0; i < f->configuration_count; i++)
        if (configuration_placeable(workload, f, &f->configurations[i], limits))
            keys[count++] = sort_key_of(&f->configurations[i], i);
    if (count > 0)
        table = table_from_keys(arena, keys, count);
    else
        (void)error_input(
            error,
            "function '%s': none of its configurations%s fits an empty invoker; "
            "give the cluster more vCPUs, GPU units or GPU memory",
            f->name,
            limits->whole_gpu || limits->max_batch < UINT32_MAX ? " that the policy allows" : "");
    arena_release(arena, keys);
    return table;
}

void search_table_release(struct arena *arena, struct search_table *table)
{
    for (size_t p = 0; table != NULL && p < table->part_count; p++)
        search_table_release(arena, table->parts[p]);
    if (table != NULL)
        arena_release(arena, table->parts);
    arena_release(arena, table);
}

/* The smallest batch of the table above `batch`; 0 if there is none. */
static uint16_t next_batch(const struct search_table *table, uint16_t batch)
{
    uint16_t next = 0;
    for (size_t i = 0; i < table->count; i++)
        if (table->batch[i] > batch && (next == 0 || table->batch[i] < next))
            next = table->batch[i];
    return next;
}

/* The entries with a batch of at most `batch`, of one kind or of any (SIM_NONE). */
static struct search_table *table_part(struct arena *arena, const struct search_table *table,
                                       uint16_t batch, uint32_t kind)
{
    struct sort_key *keys = arena_allocate(arena, table->count, sizeof *keys);
    size_t count = 0;
    for (size_t i = 0; i < table->count; i++)
        if (table->batch[i] <= batch && (kind == SIM_NONE || table->kind[i] == kind))
            keys[count++] = (struct sort_key){.time = table->time[i],
                                              .cost = table->cost[i],
                                              .batch = table->batch[i],
                                              .kind = table->kind[i],
                                              .index = table->index[i]};
    struct search_table *part = table_from_keys(arena, keys, count);
    arena_release(arena, keys);
    return part;
}

struct search_table *search_table_of_kind(struct arena *arena, const struct search_table *table,
                                          uint32_t kind)
{
    return table_part(arena, table, UINT16_MAX, kind);
}

bool search_table_has_kind(const struct search_table *table, uint32_t kind)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->kind[i] == kind)
            return true;
    return false;
}

void search_table_bound(struct arena *arena, struct search_table *table)
{
    if (table->part_count > 0)
        return;
    size_t sizes = 0;
    for (uint16_t b = next_batch(table, 0); b != 0; b = next_batch(table, b))
        sizes++;
    table->parts = arena_allocate(arena, sizes, sizeof(struct search_table *));
    for (uint16_t b = next_batch(table, 0); b != 0; b = next_batch(table, b))
        table->parts[table->part_count++] = table_part(arena, table, b, SIM_NONE);
}

const struct search_table *search_table_up_to(const struct search_table *table, uint32_t batch)
{
    size_t parts = table->part_count;
    while (parts > 0 && table->parts[parts - 1]->most_batch > batch)
        parts--;
    return parts > 0 ? table->parts[parts - 1] : NULL;
}

int search_path_compare(const struct search_path *a, const struct search_path *b,
                        size_t stage_count)
{
    if (a->cost_usd != b->cost_usd)
        return a->cost_usd < b->cost_usd ? -1 : 1;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    for (size_t s = 0; s < stage_count; s++)
        if (a->configuration[s] != b->configuration[s])
            return a->configuration[s] < b->configuration[s] ? -1 : 1;
    return 0;
}

void search_result_clear(struct search_result *result)
{
    result->path_count = 0;
    result->expansions = 0;
    result->pruned_time = 0;
    result->pruned_cost = 0;
}

void search_result_offer(struct search_result *result, size_t k, size_t stage_count,
                         const struct search_path *path)
{
    size_t place = result->path_count;
    if (place == k) {
        if (search_path_compare(path, &result->paths[k - 1], stage_count) >= 0)
            return;
        place = k - 1;
    } else {
        result->path_count++;
    }
    while (place > 0 && search_path_compare(path, &result->paths[place - 1], stage_count) < 0) {
        result->paths[place] = result->paths[place - 1];
        place--;
    }
    result->paths[place] = *path;
}
