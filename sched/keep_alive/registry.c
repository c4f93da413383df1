#include <string.h>

#include "workloads/spec/keep_alive.h"

/* One line per keep-alive policy; its structure is keep_alive_NAME. */
/* clang-format off */
#define KEEP_ALIVES(ROW) \
    ROW(fixed) \
    ROW(none) \
    ROW(infinite) \
    ROW(hybrid_histogram) \
    ROW(lsth) \
    ROW(greedy_dual)
/* clang-format on */

#define DECLARE(name) extern const struct keep_alive keep_alive_##name;
#define ADDRESS(name) &keep_alive_##name,
KEEP_ALIVES(DECLARE)
static const struct keep_alive *const policies[] = {KEEP_ALIVES(ADDRESS)};

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
