#include <string.h>

#include "sched/keep_alive.h"

extern const struct keep_alive keep_alive_fixed, keep_alive_none, keep_alive_infinite,
    keep_alive_hybrid_histogram, keep_alive_lsth, keep_alive_greedy_dual;

/* One line a policy. */
/* clang-format off */
static const struct keep_alive *const policies[] = {
    &keep_alive_fixed,
    &keep_alive_none,
    &keep_alive_infinite,
    &keep_alive_hybrid_histogram,
    &keep_alive_lsth,
    &keep_alive_greedy_dual,
};
/* clang-format on */

const struct keep_alive *keep_alive_at(size_t index)
{
    return index < sizeof policies / sizeof *policies ? policies[index] : NULL;
}

const struct keep_alive *keep_alive_find(const char *name)
{
    const struct keep_alive *found = NULL;
    for (size_t i = 0; (found = keep_alive_at(i)) != NULL; i++)
        if (strcmp(found->name, name) == 0)
            return found;
    return NULL;
}
