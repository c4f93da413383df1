#include "sched/common/dominators.h"

/* The closest common ancestor of a and b in the tree built so far. Parents have smaller numbers
 * than their children. */
static uint32_t common_dominator(const uint32_t *dominator, uint32_t a, uint32_t b)
{
    while (a != b) {
        if (a == SIM_NONE || b == SIM_NONE)
            return SIM_NONE;
        if (a > b)
            a = dominator[a];
        else
            b = dominator[b];
    }
    return a;
}

void dominators_find(const struct application *application, uint32_t *dominator)
{
    for (size_t s = 0; s < application->stage_count; s++) {
        const struct stage *stage = &application->stages[s];
        uint32_t found = stage->after_count > 0 ? stage->after[0] : SIM_NONE;
        for (size_t i = 1; i < stage->after_count; i++)
            found = common_dominator(dominator, found, stage->after[i]);
        dominator[s] = found;
    }
}

/* The same for a tree in which parents have larger numbers. */
static uint32_t common_post_dominator(const uint32_t *post_dominator, uint32_t a, uint32_t b)
{
    while (a != b) {
        if (a == SIM_NONE || b == SIM_NONE)
            return SIM_NONE;
        if (a < b)
            a = post_dominator[a];
        else
            b = post_dominator[b];
    }
    return a;
}

void post_dominators_find(const struct application *application, uint32_t *post_dominator)
{
    for (size_t s = application->stage_count; s-- > 0;) {
        const struct stage *stage = &application->stages[s];
        uint32_t found = stage->next_count > 0 ? stage->next[0] : SIM_NONE;
        for (size_t i = 1; i < stage->next_count; i++)
            found = common_post_dominator(post_dominator, found, stage->next[i]);
        post_dominator[s] = found;
    }
}
