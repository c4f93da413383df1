#include "sim/array.h"

#include <stdlib.h>
#include <string.h>

bool array_reserve(void *list, uint32_t *room, uint32_t needed, size_t size)
{
    if (needed <= *room)
        return true;
    uint32_t more = *room > 0 ? *room : 8;
    while (more < needed)
        more = more > UINT32_MAX / 2 ? UINT32_MAX : 2 * more;
    char *memory;
    memcpy(&memory, list, sizeof memory);
    memory = realloc(memory, more * size);
    if (memory == NULL)
        return false;
    memset(memory + *room * size, 0, (more - *room) * size);
    memcpy(list, &memory, sizeof memory);
    *room = more;
    return true;
}
