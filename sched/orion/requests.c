#include "sched/orion/requests.h"

/* Request numbers are consecutive; multiplication scatters them (Fibonacci hashing). */
static size_t home(const struct orion_requests *requests, uint64_t number)
{
    return (size_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (requests->room - 1);
}

static size_t slot_of(const struct orion_requests *requests, uint64_t number)
{
    size_t slot = home(requests, number);
    while (requests->slots[slot].plan != NULL && requests->slots[slot].number != number)
        slot = (slot + 1) & (requests->room - 1);
    return slot;
}

struct orion_request *orion_requests_find(const struct orion_requests *requests, uint64_t number)
{
    if (requests->count == 0)
        return NULL;
    struct orion_request *found = &requests->slots[slot_of(requests, number)];
    return found->plan != NULL ? found : NULL;
}

static void grow(struct orion_requests *requests, struct arena *arena)
{
    struct orion_requests larger = {.count = requests->count,
                                    .room = requests->room > 0 ? requests->room * 2 : 64};
    larger.slots = arena_allocate(arena, larger.room, sizeof *larger.slots);
    for (size_t i = 0; i < requests->room; i++)
        if (requests->slots[i].plan != NULL)
            larger.slots[slot_of(&larger, requests->slots[i].number)] = requests->slots[i];
    arena_release(arena, requests->slots);
    *requests = larger;
}

void orion_requests_add(struct orion_requests *requests, struct arena *arena,
                        const struct orion_request *request)
{
    if (requests->count * 2 >= requests->room)
        grow(requests, arena);
    requests->slots[slot_of(requests, request->number)] = *request;
    requests->count++;
}

void orion_requests_remove(struct orion_requests *requests, uint64_t number)
{
    struct orion_request *found = orion_requests_find(requests, number);
    if (found == NULL)
        return;
    size_t hole = (size_t)(found - requests->slots);
    const size_t mask = requests->room - 1;
    /* Backward-shift deletion: moves each following entry into the hole if its home permits that.
     */
    for (size_t at = (hole + 1) & mask; requests->slots[at].plan != NULL; at = (at + 1) & mask) {
        const size_t wanted = home(requests, requests->slots[at].number);
        if (((at - wanted) & mask) < ((at - hole) & mask))
            continue;
        requests->slots[hole] = requests->slots[at];
        hole = at;
    }
    requests->slots[hole].plan = NULL;
    requests->count--;
}
