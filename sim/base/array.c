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
