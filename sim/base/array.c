#include "sim/base/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM_FIRST = 4 };

static bool resize(void *array, size_t room, size_t size)
{
    /* Copied as bytes: the variable has the type of a pointer to the entries. */
    void *entries = NULL;
    memcpy(&entries, array, sizeof entries);
    void *larger = room <= SIZE_MAX / size ? realloc(entries, room * size) : NULL;
    if (larger != NULL)
        memcpy(array, &larger, sizeof larger);
    return larger != NULL;
}

bool array_reserve(void *array, size_t *room, size_t wanted, size_t size)
{
    if (wanted <= *room)
        return true;
    const size_t twice = *room == 0 ? ROOM_FIRST : *room <= SIZE_MAX / 2 ? 2 * *room : SIZE_MAX;
    const size_t more = wanted > twice ? wanted : twice;
    if (!resize(array, more, size))
        return false;
    *room = more;
    return true;
}

bool array_reserve_zeroed(void *array, size_t *room, size_t wanted, size_t size)
{
    const size_t old = *room;
    if (!array_reserve(array, room, wanted, size))
        return false;
    char *entries = NULL;
    memcpy(&entries, array, sizeof entries);
    if (*room > old)
        memset(entries + old * size, 0, (*room - old) * size);
    return true;
}

bool array_extend(void *array, size_t count, size_t size)
{
    size_t room = count;
    const bool full = count == 0 || (count >= ROOM_FIRST && (count & (count - 1)) == 0);
    return !full || array_reserve(array, &room, count + 1, size);
}
