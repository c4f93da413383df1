#include "sched/common/unique_fifo.h"

#include "sim/base/units.h"

void unique_fifo_init(struct unique_fifo *turns, struct arena *arena, size_t room)
{
    *turns = (struct unique_fifo){.ring = arena_allocate(arena, room + 1, sizeof *turns->ring),
                                  .waits = arena_allocate(arena, room + 1, sizeof *turns->waits),
                                  .room = room};
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
