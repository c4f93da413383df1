#include "sim/lines.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

/* Whole lines, or, where pages of its own pay, whole huge pages; 0 where that cannot be counted. */
static size_t lines_bytes(size_t count, size_t size)
{
    if (size != 0 && count > (SIZE_MAX - HUGE_PAGE) / size)
        return 0;
    const size_t bytes = count * size > 0 ? count * size : 1;
    const size_t unit = bytes >= HUGE_PAGE ? HUGE_PAGE : LINE;
    return (bytes + unit - 1) / unit * unit;
}

/* A wish: where the system grants no huge pages, they are the usual ones. */
static void *pages_ask_huge(void *pages, size_t bytes)
{
    if (pages == MAP_FAILED)
        return NULL;
    (void)madvise(pages, bytes, MADV_HUGEPAGE);
    return pages;
}

void *lines_allocate(size_t count, size_t size)
{
    const size_t bytes = lines_bytes(count, size);
    if (bytes == 0)
        return NULL;
    if (bytes < HUGE_PAGE)
        return aligned_alloc(LINE, bytes);
    return pages_ask_huge(
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), bytes);
}

void *lines_grow(void *array, size_t old_count, size_t count, size_t size)
{
    const size_t old_bytes = array != NULL ? lines_bytes(old_count, size) : 0;
    const size_t bytes = lines_bytes(count, size);
    if (bytes == 0)
        return NULL;
    if (old_bytes >= HUGE_PAGE)
        return pages_ask_huge(mremap(array, old_bytes, bytes, MREMAP_MAYMOVE), bytes);
    void *grown = lines_allocate(count, size);
    if (grown != NULL && array != NULL) {
        memcpy(grown, array, old_count * size);
        lines_free(array, old_count, size);
    }
    return grown;
}

void *lines_reserve(void *array, size_t *room, size_t count, size_t size)
{
    if (*room >= count)
        return array;
    void *grown = lines_grow(array, *room, count, size);
    if (grown == NULL)
        return array;
    *room = count;
    return grown;
}

void lines_free(void *array, size_t count, size_t size)
{
    if (array == NULL)
        return;
    const size_t bytes = lines_bytes(count, size);
    if (bytes >= HUGE_PAGE)
        (void)munmap(array, bytes);
    else
        free(array);
}
