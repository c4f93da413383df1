#include "sched/common/turns.h"

#include <stdlib.h>

#include "sim/units.h"

bool turns_init(struct turns *turns, size_t room)
{
    *turns = (struct turns){.ring = calloc(room + 1, sizeof *turns->ring),
                            .waits = calloc(room + 1, sizeof *turns->waits),
                            .room = room};
    return turns->ring != NULL && turns->waits != NULL;
}

void turns_clear(struct turns *turns)
{
    free(turns->ring);
    free(turns->waits);
    *turns = (struct turns){0};
}

void turns_add(struct turns *turns, uint32_t number)
{
    if (turns->waits[number])
        return;
    turns->waits[number] = true;
    turns->ring[(turns->first + turns->count++) % turns->room] = number;
}

uint32_t turns_next(struct turns *turns)
{
    if (turns->count == 0)
        return SIM_NONE;
    const uint32_t number = turns->ring[turns->first];
    turns->first = (turns->first + 1) % turns->room;
    turns->count--;
    turns->waits[number] = false;
    return number;
}
