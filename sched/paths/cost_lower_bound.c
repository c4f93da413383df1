#include "sched/paths/cost_lower_bound.h"

#include <math.h>
#include <stdlib.h>

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

static bool bound_application(const struct application *application,
                              struct search_table *const *tables, double *cost_usd,
                              struct error *error)
{
    static const struct configuration nothing = {.batch = 1};
    struct search_table *root = search_table_create(&nothing, 1);
    struct rooted *rooted = calloc(1, sizeof *rooted);
    if (root == NULL || rooted == NULL) {
        search_table_destroy(root);
        free(rooted);
        return error_run(error, "out of memory for the bound of %s", application->name);
    }
    rooted_fill(rooted, application);
    rooted->tables[0] = root;
    for (size_t s = 0; s < application->stage_count; s++)
        rooted->tables[s + 1] = tables[application->stages[s].function];
    struct frontier_set *set = frontier_build(&rooted->application, rooted->tables, 0, error);
    if (set != NULL)
        *cost_usd = frontier_cheapest(frontier_after(set, 0), application->slo);
    frontier_destroy(set);
    search_table_destroy(root);
    free(rooted);
    return set != NULL;
}

bool cost_lower_bounds(const struct workload *workload, double *cost_usd, struct error *error)
{
    size_t functions = workload->function_count;
    struct search_table **tables = calloc(functions, sizeof *tables);
    bool ok = tables != NULL;
    for (size_t f = 0; ok && f < functions; f++) {
        const struct function *function = &workload->functions[f];
        tables[f] = search_table_create(function->configurations, function->configuration_count);
        ok = tables[f] != NULL;
    }
    if (!ok)
        error_run(error, "out of memory for the bounds of %zu functions", functions);
    for (size_t a = 0; ok && a < workload->application_count; a++)
        ok = bound_application(&workload->applications[a], tables, &cost_usd[a], error);
    for (size_t f = 0; tables != NULL && f < functions; f++)
        search_table_destroy(tables[f]);
    free(tables);
    return ok;
}
