#include "sched/paths/cost_lower_bound.h"

#include <math.h>

#include "sched/paths/frontier.h"

/* The application with a virtual source that costs neither time nor money. The frontier after this
 * source covers the whole application, whatever its number of sources. The arrays refer to
 * `application`. */
struct rooted {
    struct application application;
    struct stage stages[SEARCH_MAX_STAGES + 1];
    uint32_t links[2 * (SEARCH_MAX_STAGES + 1) * (SEARCH_MAX_STAGES + 1)];
    const struct search_table *tables[SEARCH_MAX_STAGES + 1];
};

static void rooted_fill(struct rooted *rooted, const struct application *application)
{
    uint32_t *link = rooted->links;
    struct stage *root = &rooted->stages[0];
    *root = (struct stage){.name = application->name, .next = link};
    for (size_t s = 0; s < application->stage_count; s++)
        if (application->stages[s].after_count == 0)
            root->next[root->next_count++] = (uint32_t)s + 1;
    link += root->next_count;
    for (size_t s = 0; s < application->stage_count; s++) {
        const struct stage *from = &application->stages[s];
        struct stage *to = &rooted->stages[s + 1];
        *to = *from;
        to->after = link;
        for (size_t i = 0; i < from->after_count; i++)
            *link++ = from->after[i] + 1;
        if (from->after_count == 0) {
            *link++ = 0;
            to->after_count = 1;
        }
        to->next = link;
        for (size_t i = 0; i < from->next_count; i++)
            *link++ = from->next[i] + 1;
    }
    rooted->application = *application;
    rooted->application.stages = rooted->stages;
    rooted->application.stage_count = application->stage_count + 1;
}

/* The cheapest point of the frontier within the budget. It is the last one, because cost decreases
 * with time. */
static double frontier_cheapest(const struct frontier *frontier, sim_time_t budget)
{
    double cheapest = NAN;
    for (size_t i = 0; i < frontier->count && frontier->points[i].time <= budget; i++)
        cheapest = frontier->points[i].cost_usd;
    return cheapest;
}

static double bound_application(struct arena *arena, const struct application *application,
                                struct search_table *const *tables)
{
    static const struct configuration nothing = {.batch = 1};
    struct rooted *rooted = arena_allocate(arena, 1, sizeof *rooted);
    rooted_fill(rooted, application);
    rooted->tables[0] = search_table_create(arena, &nothing, 1);
    for (size_t s = 0; s < application->stage_count; s++)
        rooted->tables[s + 1] = tables[application->stages[s].function];
    const struct frontier_set *set =
        frontier_build(arena, &rooted->application, rooted->tables, 0, NULL);
    return frontier_cheapest(frontier_after(set, 0), application->slo);
}

void cost_lower_bounds(struct arena *arena, const struct workload *workload, double *cost_usd)
{
    const struct arena_block *scratch = arena->blocks;
    const size_t functions = workload->function_count;
    struct search_table **tables = arena_allocate(arena, functions, sizeof *tables);
    for (size_t f = 0; f < functions; f++)
        tables[f] = search_table_create(arena, workload->functions[f].configurations,
                                        workload->functions[f].configuration_count);
    for (size_t a = 0; a < workload->application_count; a++)
        cost_usd[a] = bound_application(arena, &workload->applications[a], tables);
    arena_rewind(arena, scratch);
}
