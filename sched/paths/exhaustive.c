#include "sched/paths/search.h"

/* Enumerates every extension of `prefix`, which has `depth` stages, by one level of recursion.
 * `most` is the largest batch allowed at this depth. */
static void enumerate(const struct search_problem *problem, size_t depth, uint32_t most,
                      const struct search_path *prefix, struct search_result *result)
{
    const struct search_table *table = problem->stages[depth];
    struct search_path path = *prefix;
    for (size_t i = 0; i < table->count; i++) {
        if (table->batch[i] > most)
            continue;
        path.cost_usd = prefix->cost_usd + table->cost[i];
        path.time = prefix->time + table->time[i];
        path.configuration[depth] = table->index[i];
        result->expansions++;
        if (depth + 1 < problem->stage_count)
            enumerate(problem, depth + 1,
                      !problem->bounded ? UINT32_MAX
                      : depth == 0      ? table->batch[i]
                                        : most,
                      &path, result);
        else if (path.time <= problem->budget)
            search_result_offer(result, problem->k, problem->stage_count, &path);
    }
}

void search_exhaustive(const struct search_problem *problem, struct search_workspace *workspace,
                       struct search_result *result)
{
    const struct search_path empty = {.cost_usd = 0};
    search_result_clear(result);
    enumerate(problem, 0, problem->queue_length, &empty, result);
}
