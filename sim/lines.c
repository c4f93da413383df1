#include "sim/lines.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

void *lines_allocate(size_t count, size_t size)
{
    if (size != 0 && count > (SIZE_MAX - HUGE_PAGE) / size)
        return NULL;
    const size_t bytes = count * size > 0 ? count * size : 1;
    const size_t unit = bytes >= HUGE_PAGE ? HUGE_PAGE : LINE;
    const size_t whole = (bytes + LINE - 1) / LINE * LINE;
    void *lines = NULL;
    if (posix_memalign(&lines, unit, whole) != 0)
        return NULL;
    /* A wish: where the system grants none, the pages are the usual ones. */
    if (unit == HUGE_PAGE)
        (void)madvise(lines, whole, MADV_HUGEPAGE);
    memset(lines, 0, whole);
    return lines;
}

void *lines_grow(void *old, size_t used, size_t count, size_t size)
{
    void *lines = lines_allocate(count, size);
    if (lines == NULL)
        return NULL;
    if (used > 0)
        memcpy(lines, old, used * size);
    free(old);
    return lines;
}
