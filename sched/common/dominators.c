#include "sched/common/dominators.h"

/* The closest common ancestor of a and b in the tree built so far. `post`: parents have larger
 * numbers than their children, else smaller ones. */
static uint32_t common_ancestor(const uint32_t *parent, bool post, uint32_t a, uint32_t b)
{
    while (a != b) {
        if (a == SIM_NONE || b == SIM_NONE)
            return SIM_NONE;
        if ((a > b) != post)
            a = parent[a];
        else
            b = parent[b];
    }
    return a;
}

uint32_t dominators_common(const uint32_t *dominator, uint32_t a, uint32_t b)
{
    return common_ancestor(dominator, false, a, b);
}

static uint32_t closest_ancestor(const uint32_t *parent, bool post, const uint32_t *stages,
                                 size_t count)
{
    uint32_t found = count > 0 ? stages[0] : SIM_NONE;
    for (size_t i = 1; i < count; i++)
        found = common_ancestor(parent, post, found, stages[i]);
    return found;
}

void dominators_find(const struct application *application, uint32_t *dominator)
{
    for (size_t s = 0; s < application->stage_count; s++)
        dominator[s] = closest_ancestor(dominator, false, application->stages[s].after,
                                        application->stages[s].after_count);
}

void post_dominators_find(const struct application *application, uint32_t *post_dominator)
{
    for (size_t s = application->stage_count; s-- > 0;)
        post_dominator[s] = closest_ancestor(post_dominator, true, application->stages[s].next,
                                             application->stages[s].next_count);
}
