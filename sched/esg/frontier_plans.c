#include "sched/esg/frontier_plans.h"

/* The frontiers after a first batch of least..most jobs. */
struct plan_set {
    uint32_t least, most;
    const struct search_table **tables;
    struct frontier_set *set;
};

struct frontier_plans {
    size_t count;
    struct plan_set *sets; /* ascending by `most` */
};

/* The smallest batch above `batch` of any stage; 0 if there is none. */
static uint32_t next_batch(const struct application *application,
                           const struct search_table *const *tables, uint32_t batch)
{
    uint32_t next = 0;
    for (size_t s = 0; s < application->stage_count; s++)
        for (size_t p = 0; p < tables[s]->part_count; p++) {
            const uint32_t most = tables[s]->parts[p]->most_batch;
            if (most > batch && (next == 0 || most < next))
                next = most;
        }
    return next;
}

/* Builds the next set. A stage that has no batch of at most `most` leaves nothing to plan: no set
 * is added. */
static bool plans_add(struct frontier_plans *plans, struct arena *arena,
                      const struct application *application,
                      const struct search_table *const *tables, uint32_t least, uint32_t most,
                      size_t max_points, struct error *error)
{
    struct plan_set *set = &plans->sets[plans->count];
    set->least = least;
    set->most = most;
    set->tables = arena_allocate(arena, application->stage_count, sizeof *set->tables);
    for (size_t s = 0; s < application->stage_count; s++) {
        set->tables[s] = least == 0 ? tables[s] : search_table_up_to(tables[s], most);
        if (set->tables[s] == NULL)
            return true;
    }
    set->set = frontier_build(arena, application, set->tables, max_points, error);
    plans->count += set->set != NULL;
    return set->set != NULL;
}

struct frontier_plans *frontier_plans_build(struct arena *arena,
                                            const struct application *application,
                                            const struct search_table *const *tables, bool bounded,
                                            size_t max_points, struct error *error)
{
    size_t sizes = 1;
    for (uint32_t b = 0; bounded && (b = next_batch(application, tables, b)) != 0;)
        sizes++;
    struct frontier_plans *plans = arena_allocate(arena, 1, sizeof *plans);
    plans->sets = arena_allocate(arena, sizes, sizeof *plans->sets);
    bool done = true;
    if (!bounded)
        done = plans_add(plans, arena, application, tables, 0, UINT32_MAX, max_points, error);
    for (uint32_t b = 0; done && bounded && (b = next_batch(application, tables, b)) != 0;)
        done = plans_add(plans, arena, application, tables, b, b, max_points, error);
    return done ? plans : NULL;
}

void frontier_plans_search(const struct frontier_plans *plans, size_t stage, sim_time_t budget,
                           uint32_t queue_length, uint32_t kind, size_t k,
                           struct search_result *result)
{
    search_result_clear(result);
    for (size_t i = 0; i < plans->count && plans->sets[i].least <= queue_length; i++) {
        const struct plan_set *set = &plans->sets[i];
        const uint32_t most = set->most < queue_length ? set->most : queue_length;
        frontier_offer(set->set, stage, budget, set->least, most, kind, k, result);
    }
}
