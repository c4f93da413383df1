#include "sched/choices/actions.h"

#include <stdlib.h>

struct ranked {
    uint32_t configuration;
    uint16_t batch;
    sim_time_t time;
};

struct tree_actions {
    struct {
        struct ranked *order; /* by batch, time, index */
        uint16_t *rank;       /* by configuration */
        size_t count;
    } * functions;
    const struct workload *workload;
};

static int ranked_compare(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    if (a->batch != b->batch)
        return a->batch < b->batch ? -1 : 1;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return a->configuration < b->configuration ? -1 : a->configuration > b->configuration;
}

struct tree_actions *tree_actions_create(struct arena *arena, const struct workload *workload)
{
    struct tree_actions *actions = arena_allocate(arena, 1, sizeof *actions);
    actions->workload = workload;
    actions->functions =
        arena_allocate(arena, workload->function_count, sizeof *actions->functions);
    for (size_t f = 0; f < workload->function_count; f++) {
        const struct function *function = &workload->functions[f];
        const size_t count = function->configuration_count;
        struct ranked *order = arena_allocate(arena, count, sizeof *order);
        uint16_t *rank = arena_allocate(arena, count, sizeof *rank);
        for (size_t i = 0; i < count; i++)
            order[i] = (struct ranked){(uint32_t)i, function->configurations[i].batch,
                                       function->configurations[i].time};
        qsort(order, count, sizeof *order, ranked_compare);
        for (size_t i = 0, first = 0; i < count; i++) {
            first = order[i].batch != order[first].batch ? i : first;
            rank[order[i].configuration] = (uint16_t)(i - first);
        }
        actions->functions[f].order = order;
        actions->functions[f].rank = rank;
        actions->functions[f].count = count;
    }
    return actions;
}

struct tree_action tree_action_of(const struct tree_actions *actions, uint32_t function,
                                  uint32_t configuration)
{
    const struct function *of = &actions->workload->functions[function];
    return (struct tree_action){of->configurations[configuration].batch,
                                actions->functions[function].rank[configuration]};
}

uint32_t tree_action_configuration(const struct tree_actions *actions, uint32_t function,
                                   struct tree_action action, uint32_t jobs)
{
    const struct ranked *order = actions->functions[function].order;
    const uint32_t most = jobs < action.batch ? jobs : action.batch;
    size_t end = 1; /* of the batches of at most `most`, or the least one where all exceed it */
    while (end < actions->functions[function].count && order[end].batch <= most)
        end++;
    const uint16_t batch = order[end - 1].batch;
    size_t first = end - 1;
    while (first > 0 && order[first - 1].batch == batch)
        first--;
    const size_t at = first + action.rank;
    return order[at < end ? at : end - 1].configuration;
}
