#include "sched/headway/flights.h"

struct flights {
    struct arena *arena;
    uint32_t used, unused; /* `unused` heads the list of free records */
    struct flight *records;
    uint32_t *head, *tail; /* of each invoker's list, oldest first */
    uint32_t *totals;      /* by function */
};

struct flights *flights_create(struct arena *arena, const struct workload *workload)
{
    const size_t invokers = workload->cluster.invoker_count;
    const size_t functions = workload->function_count;
    struct flights *flights = arena_allocate(arena, 1, sizeof *flights);
    flights->arena = arena;
    flights->unused = SIM_NONE;
    flights->head = arena_allocate(arena, invokers, sizeof *flights->head);
    flights->tail = arena_allocate(arena, invokers, sizeof *flights->tail);
    flights->totals = arena_allocate(arena, functions, sizeof *flights->totals);
    for (size_t i = 0; i < invokers; i++)
        flights->head[i] = flights->tail[i] = SIM_NONE;
    return flights;
}

void flights_add(struct flights *flights, uint32_t function, const struct flight *flight)
{
    uint32_t place = flights->unused;
    if (place == SIM_NONE &&
        flights->used == arena_room(flights->records, sizeof *flights->records))
        arena_reserve(flights->arena, &flights->records, flights->used + (size_t)1,
                      sizeof *flights->records);
    if (place != SIM_NONE)
        flights->unused = flights->records[place].next;
    else
        place = flights->used++;
    struct flight *record = &flights->records[place];
    *record = *flight;
    record->next = SIM_NONE;
    uint32_t *tail = &flights->tail[flight->invoker];
    if (*tail != SIM_NONE)
        flights->records[*tail].next = place;
    else
        flights->head[flight->invoker] = place;
    *tail = place;
    flights->totals[function]++;
}

const struct flight *flights_take(struct flights *flights, uint32_t function,
                                  const struct finished_batch *batch)
{
    uint32_t before = SIM_NONE;
    for (uint32_t place = flights->head[batch->invoker]; place != SIM_NONE;
         before = place, place = flights->records[place].next) {
        struct flight *record = &flights->records[place];
        if (record->queue != batch->queue || record->configuration != batch->configuration ||
            record->jobs != batch->jobs)
            continue;
        if (before == SIM_NONE)
            flights->head[batch->invoker] = record->next;
        else
            flights->records[before].next = record->next;
        if (record->next == SIM_NONE)
            flights->tail[batch->invoker] = before;
        record->next = flights->unused;
        flights->unused = place;
        flights->totals[function]--;
        return record;
    }
    return NULL;
}

uint32_t flights_total(const struct flights *flights, uint32_t function)
{
    return flights->totals[function];
}
