#include "sched/common/unique_fifo.h"

#include <stdlib.h>

#include "sim/units.h"

bool unique_fifo_init(struct unique_fifo *turns, size_t room)
{
    *turns = (struct unique_fifo){.ring = calloc(room + 1, sizeof *turns->ring),
                                  .waits = calloc(room + 1, sizeof *turns->waits),
                                  .room = room};
    return turns->ring != NULL && turns->waits != NULL;
}

void unique_fifo_clear(struct unique_fifo *turns)
{
    free(turns->ring);
    free(turns->waits);
    *turns = (struct unique_fifo){0};
}

void unique_fifo_add(struct unique_fifo *turns, uint32_t number)
{
    if (turns->waits[number])
        return;
    turns->waits[number] = true;
    turns->ring[(turns->first + turns->count++) % turns->room] = number;
}

uint32_t unique_fifo_next(struct unique_fifo *turns)
{
    if (turns->count == 0)
        return SIM_NONE;
    const uint32_t number = turns->ring[turns->first];
    turns->first = (turns->first + 1) % turns->room;
    turns->count--;
    turns->waits[number] = false;
    return number;
}
