#include "sched/paths/frontier.h"

#include <string.h>

#include "sched/common/dominators.h"
#include "sched/paths/pareto.h"

/* Most combinations enumerated for one region that is not series-parallel. */
static const double REGION_COMBINATIONS = 1 << 20;

/* The frontiers of one stage. */
struct stage_frontiers {
    uint32_t join;          /* immediate post-dominator; stage_count if it is the virtual sink */
    struct frontier *own;   /* of the stage alone */
    struct frontier *after; /* of all later stages */
    struct frontier *from;  /* of the stage and all later ones; NULL for sources */
    bool exact;             /* `after` is */
};

struct frontier_set {
    struct arena *arena;
    const struct application *application;
    const struct search_table *const *tables;
    size_t max_points;
    size_t stage_count;
    bool region_exact; /* while building: no region was treated conservatively */
    struct stage_frontiers stages[];
};

static struct frontier *frontier_segment(struct frontier_set *set, uint32_t stage, uint32_t end);

/* ---- Regions that are not series-parallel ---------------------------------------------------- */

/* The stages between a fork and its join, without these, in topological order. */
struct region {
    const struct frontier_set *set;
    size_t count;
    uint32_t *stages;
    uint32_t *member;   /* by stage: index into `stages`; SIM_NONE outside the region */
    sim_time_t *finish; /* by index, for the combination being built */
    struct frontier_point *points;
    size_t point_count;
};

static sim_time_t region_start(const struct region *region, size_t position)
{
    const struct stage *stage = &region->set->application->stages[region->stages[position]];
    sim_time_t start = 0;
    for (size_t i = 0; i < stage->after_count; i++) {
        uint32_t before = region->member[stage->after[i]];
        if (before != SIM_NONE && region->finish[before] > start)
            start = region->finish[before];
    }
    return start;
}

static void region_enumerate(struct region *region, size_t position, sim_time_t makespan,
                             double cost)
{
    if (position == region->count) {
        region->points[region->point_count].time = makespan;
        region->points[region->point_count].cost_usd = cost;
        region->point_count++;
        return;
    }
    const struct frontier *own = region->set->stages[region->stages[position]].own;
    sim_time_t start = region_start(region, position);
    for (size_t i = 0; i < own->count; i++) {
        sim_time_t finish = start + own->points[i].time;
        region->finish[position] = finish;
        region_enumerate(region, position + 1, finish > makespan ? finish : makespan,
                         cost + own->points[i].cost_usd);
    }
}

static struct frontier *region_exhaust(struct region *region, size_t combinations)
{
    struct arena *arena = region->set->arena;
    region->points = arena_allocate(arena, combinations, sizeof *region->points);
    region->finish = arena_allocate(arena, region->count, sizeof *region->finish);
    region->point_count = 0;
    region_enumerate(region, 0, 0, 0.0);
    struct frontier *result = frontier_of_points(arena, region->points, region->point_count);
    arena_release(arena, region->points);
    arena_release(arena, region->finish);
    return result;
}

/* Replaces `*total` by operation(*total, operand) and releases the old value. */
static void combine(struct arena *arena, struct frontier **total, const struct frontier *operand,
                    struct frontier *(*operation)(struct arena *, const struct frontier *,
                                                  const struct frontier *))
{
    struct frontier *result = operation(arena, *total, operand);
    arena_release(arena, *total);
    *total = result;
}

/* Conservative frontier: levels by depth in series, the stages of a level in parallel. */
static struct frontier *region_levels(const struct region *region)
{
    struct arena *arena = region->set->arena;
    size_t *depth = arena_allocate(arena, region->count, sizeof *depth);
    struct frontier *total = frontier_unit(arena);
    size_t deepest = 0;
    for (size_t i = 0; i < region->count; i++) {
        const struct stage *stage = &region->set->application->stages[region->stages[i]];
        for (size_t j = 0; j < stage->after_count; j++) {
            uint32_t before = region->member[stage->after[j]];
            if (before != SIM_NONE && depth[before] + 1 > depth[i])
                depth[i] = depth[before] + 1;
        }
        if (depth[i] > deepest)
            deepest = depth[i];
    }
    for (size_t level = 0; level <= deepest; level++) {
        struct frontier *together = frontier_unit(arena);
        for (size_t i = 0; i < region->count; i++)
            if (depth[i] == level)
                combine(arena, &together, region->set->stages[region->stages[i]].own,
                        frontier_parallel);
        combine(arena, &total, together, frontier_series);
        arena_release(arena, together);
    }
    arena_release(arena, depth);
    return total;
}

static struct frontier *region_solve(struct frontier_set *set, struct region *region)
{
    double combinations = 1;
    for (size_t i = 0; i < region->count; i++)
        combinations *= (double)set->stages[region->stages[i]].own->count;
    if (combinations <= REGION_COMBINATIONS)
        return region_exhaust(region, (size_t)combinations);
    set->region_exact = false;
    return region_levels(region);
}

/* Marks in `owner` all stages reachable from `branch` before `end`. False if a stage already
 * belongs to another branch. */
static bool branch_mark(const struct application *application, uint32_t branch, uint32_t end,
                        uint32_t *owner)
{
    bool alone = owner[branch] == SIM_NONE;
    owner[branch] = branch;
    for (uint32_t s = branch; s < application->stage_count; s++) {
        if (owner[s] != branch)
            continue;
        const struct stage *stage = &application->stages[s];
        for (size_t i = 0; i < stage->next_count; i++) {
            uint32_t next = stage->next[i];
            if (next == end)
                continue;
            alone = alone && (owner[next] == SIM_NONE || owner[next] == branch);
            owner[next] = branch;
        }
    }
    return alone;
}

static struct frontier *fork_irregular(struct frontier_set *set, const uint32_t *owner)
{
    struct region region = {.set = set};
    region.stages = arena_allocate(set->arena, set->stage_count, sizeof *region.stages);
    region.member = arena_allocate(set->arena, set->stage_count, sizeof *region.member);
    for (uint32_t s = 0; s < set->stage_count; s++) {
        region.member[s] = owner[s] == SIM_NONE ? SIM_NONE : (uint32_t)region.count;
        if (owner[s] != SIM_NONE)
            region.stages[region.count++] = s;
    }
    struct frontier *result = region_solve(set, &region);
    arena_release(set->arena, region.stages);
    arena_release(set->arena, region.member);
    return result;
}

/* ---- Series and parallel --------------------------------------------------------------------- */

/* The frontier between a fork and its join, without these. */
static struct frontier *frontier_fork(struct frontier_set *set, uint32_t fork)
{
    const struct stage *stage = &set->application->stages[fork];
    uint32_t join = set->stages[fork].join;
    uint32_t *owner = arena_allocate(set->arena, set->stage_count, sizeof *owner);
    bool disjoint = true;
    for (size_t s = 0; s < set->stage_count; s++)
        owner[s] = SIM_NONE;
    for (size_t i = 0; i < stage->next_count; i++)
        if (stage->next[i] != join && !branch_mark(set->application, stage->next[i], join, owner))
            disjoint = false;
    struct frontier *total;
    if (disjoint) {
        total = frontier_unit(set->arena);
        for (size_t i = 0; i < stage->next_count; i++) {
            struct frontier *branch = frontier_segment(set, stage->next[i], join);
            combine(set->arena, &total, branch, frontier_parallel);
            arena_release(set->arena, branch);
        }
    } else {
        total = fork_irregular(set, owner);
    }
    arena_release(set->arena, owner);
    return total;
}

/* The frontier of the stages after `stage` and before `end`. */
static struct frontier *frontier_until(struct frontier_set *set, uint32_t stage, uint32_t end)
{
    const struct stage *s = &set->application->stages[stage];
    if (s->next_count == 0)
        return frontier_unit(set->arena);
    uint32_t join = s->next_count == 1 ? s->next[0] : set->stages[stage].join;
    struct frontier *total =
        s->next_count == 1 ? frontier_unit(set->arena) : frontier_fork(set, stage);
    if (join != end) {
        struct frontier *rest = frontier_segment(set, join, end);
        combine(set->arena, &total, rest, frontier_series);
        arena_release(set->arena, rest);
    }
    return total;
}

/* The frontier of `stage` and the stages after it before `end`; the neutral element if `stage` is
 * `end`. */
static struct frontier *frontier_segment(struct frontier_set *set, uint32_t stage, uint32_t end)
{
    if (stage == end)
        return frontier_unit(set->arena);
    if (end == set->stage_count) {
        /* `stage` is later and already built: return a copy. */
        const struct frontier *from = set->stages[stage].from;
        const size_t bytes = sizeof *from + from->count * sizeof *from->points;
        return memcpy(arena_allocate(set->arena, 1, bytes), from, bytes);
    }
    struct frontier *rest = frontier_until(set, stage, end);
    combine(set->arena, &rest, set->stages[stage].own, frontier_series);
    return rest;
}

static bool frontier_stage_build(struct frontier_set *set, uint32_t stage, struct error *error)
{
    const struct stage *s = &set->application->stages[stage];
    struct stage_frontiers *built = &set->stages[stage];
    set->region_exact = true;
    built->own = frontier_of_table(set->arena, set->tables[stage]);
    built->after = frontier_until(set, stage, (uint32_t)set->stage_count);
    if (s->after_count > 0)
        built->from = frontier_series(set->arena, built->own, built->after);
    if (set->max_points > 0 && built->after->count > set->max_points)
        return error_run(error,
                         "application '%s': the frontier of what follows stage '%s' has %zu "
                         "points, more than %zu; use the A* method with groups",
                         set->application->name, s->name, built->after->count, set->max_points);
    built->exact = set->region_exact;
    for (size_t i = 0; i < s->next_count; i++)
        built->exact = built->exact && set->stages[s->next[i]].exact;
    return true;
}

struct frontier_set *frontier_build(struct arena *arena, const struct application *application,
                                    const struct search_table *const *tables, size_t max_points,
                                    struct error *error)
{
    const size_t count = application->stage_count;
    struct frontier_set *set = arena_allocate(arena, 1, sizeof *set + count * sizeof *set->stages);
    uint32_t *join = arena_allocate(arena, count, sizeof *join);
    set->arena = arena;
    set->application = application;
    set->tables = tables;
    set->max_points = max_points;
    set->stage_count = count;
    post_dominators_find(application, join);
    for (size_t s = 0; s < count; s++)
        set->stages[s].join = join[s] == SIM_NONE ? (uint32_t)count : join[s];
    arena_release(arena, join);
    for (uint32_t s = (uint32_t)count; s-- > 0;)
        if (!frontier_stage_build(set, s, error))
            return NULL;
    return set;
}

void frontier_release(struct arena *arena, struct frontier_set *set)
{
    for (size_t s = 0; set != NULL && s < set->stage_count; s++) {
        arena_release(arena, set->stages[s].own);
        arena_release(arena, set->stages[s].after);
        arena_release(arena, set->stages[s].from);
    }
    arena_release(arena, set);
}

const struct frontier *frontier_after(const struct frontier_set *set, size_t stage)
{
    return set->stages[stage].after;
}

bool frontier_exact(const struct frontier_set *set, size_t stage)
{
    return set->stages[stage].exact;
}

/* ---- Decisions ------------------------------------------------------------------------------- */

/* Gallops backwards from `within`, then bisects. */
size_t frontier_reach(const struct frontier *frontier, sim_time_t budget, size_t within)
{
    const struct frontier_point *points = frontier->points;
    size_t high = within;
    size_t step = 1;
    while (high >= step && points[high - step].time > budget) {
        high -= step;
        step *= 2;
    }
    size_t low = high >= step ? high - step + 1 : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (points[middle].time <= budget)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void frontier_completions(const struct frontier_set *set, size_t stage, sim_time_t budget,
                          double *best_cost)
{
    const struct search_table *table = set->tables[stage];
    const struct frontier *after = set->stages[stage].after;
    size_t reach = after->count;
    for (size_t i = 0; i < table->count; i++) {
        reach = frontier_reach(after, budget - table->time[i], reach);
        best_cost[i] = reach > 0 ? table->cost[i] + after->points[reach - 1].cost_usd : INFINITY;
    }
}

void frontier_offer(const struct frontier_set *set, size_t stage, sim_time_t budget, uint32_t least,
                    uint32_t most, uint32_t kind, size_t k, struct search_result *result)
{
    const struct search_table *table = set->tables[stage];
    const struct frontier *after = set->stages[stage].after;
    size_t reach = after->count;
    /* The K-th lowest cost so far. */
    double limit = result->path_count == k ? result->paths[k - 1].cost_usd : INFINITY;
    for (size_t i = 0; i < table->count; i++) {
        if (table->batch[i] < least || table->batch[i] > most ||
            (kind != SIM_NONE && table->kind[i] != kind))
            continue;
        result->expansions++;
        reach = frontier_reach(after, budget - table->time[i], reach);
        if (reach == 0)
            break; /* all further entries are slower */
        const struct frontier_point *rest = &after->points[reach - 1];
        struct search_path path = {.cost_usd = table->cost[i] + rest->cost_usd,
                                   .time = table->time[i] + rest->time};
        if (path.cost_usd > limit)
            continue;
        path.configuration[0] = table->index[i];
        search_result_offer(result, k, 1, &path);
        if (result->path_count == k)
            limit = result->paths[k - 1].cost_usd;
    }
}

void frontier_search(const struct frontier_set *set, size_t stage, sim_time_t budget,
                     uint32_t queue_length, size_t k, struct search_result *result)
{
    search_result_clear(result);
    frontier_offer(set, stage, budget, 0, queue_length, SIM_NONE, k, result);
}

/* The entry of `stage` whose completion within `budget` is cheapest; count if there is none. */
static size_t cheapest_entry(const struct frontier_set *set, size_t stage, sim_time_t budget)
{
    const struct search_table *table = set->tables[stage];
    const struct frontier *after = set->stages[stage].after;
    size_t best = table->count;
    double best_cost = INFINITY;
    size_t reach = after->count;
    for (size_t i = 0; i < table->count; i++) {
        reach = frontier_reach(after, budget - table->time[i], reach);
        if (reach == 0)
            break;
        double cost = table->cost[i] + after->points[reach - 1].cost_usd;
        if (cost < best_cost) {
            best_cost = cost;
            best = i;
        }
    }
    return best;
}

bool frontier_path(const struct frontier_set *set, size_t stage, size_t first_entry,
                   sim_time_t budget, struct search_path *path)
{
    path->cost_usd = 0;
    path->time = 0;
    size_t entry = first_entry;
    for (size_t depth = 0; depth < SEARCH_MAX_STAGES; depth++) {
        const struct search_table *table = set->tables[stage];
        const struct stage *s = &set->application->stages[stage];
        if (entry >= table->count || s->next_count > 1)
            return false;
        path->cost_usd += table->cost[entry];
        path->time += table->time[entry];
        path->configuration[depth] = table->index[entry];
        if (s->next_count == 0)
            return path->time <= budget;
        stage = s->next[0];
        entry = cheapest_entry(set, stage, budget - path->time);
    }
    return false;
}
