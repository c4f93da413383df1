#include "sched/headway/flights.h"

#include <stdlib.h>

#include "sim/array.h"

struct flights {
    uint32_t max_batch;
    uint32_t invokers;
    uint32_t used, unused; /* `unused` heads the list of free records */
    size_t capacity;
    struct flight *records;
    sim_time_t *deadlines; /* max_batch per record */
    uint32_t *head, *tail; /* of each invoker's list, oldest first */
    uint32_t *counts;      /* by (function, invoker) */
    uint32_t *totals;      /* by function */
};

struct flights *flights_create(const struct workload *workload, uint32_t max_batch)
{
    const size_t invokers = workload->cluster.invoker_count;
    struct flights *flights = calloc(1, sizeof *flights);
    if (flights == NULL)
        return NULL;
    flights->max_batch = max_batch;
    flights->invokers = (uint32_t)invokers;
    flights->unused = SIM_NONE;
    flights->head = malloc((invokers + 1) * sizeof *flights->head);
    flights->tail = malloc((invokers + 1) * sizeof *flights->tail);
    flights->counts = calloc(workload->function_count * invokers + 1, sizeof *flights->counts);
    flights->totals = calloc(workload->function_count + 1, sizeof *flights->totals);
    if (flights->head == NULL || flights->tail == NULL || flights->counts == NULL ||
        flights->totals == NULL) {
        flights_destroy(flights);
        return NULL;
    }
    for (size_t i = 0; i < invokers; i++)
        flights->head[i] = flights->tail[i] = SIM_NONE;
    return flights;
}

void flights_destroy(struct flights *flights)
{
    if (flights == NULL)
        return;
    free(flights->records);
    free(flights->deadlines);
    free(flights->head);
    free(flights->tail);
    free(flights->counts);
    free(flights->totals);
    free(flights);
}

static bool flights_grow(struct flights *flights)
{
    const size_t wanted = flights->capacity + 1;
    size_t room = flights->capacity;
    if (!array_reserve(&flights->records, &room, wanted, sizeof *flights->records) ||
        !array_reserve(&flights->deadlines, &flights->capacity, wanted,
                       flights->max_batch * sizeof *flights->deadlines))
        return false;
    for (uint32_t i = 0; i < flights->used; i++)
        flights->records[i].deadlines = &flights->deadlines[(size_t)i * flights->max_batch];
    return true;
}

struct flight *flights_add(struct flights *flights, uint32_t function, const struct flight *flight)
{
    uint32_t place = flights->unused;
    if (place != SIM_NONE)
        flights->unused = flights->records[place].next;
    else if (flights->used < flights->capacity || flights_grow(flights))
        place = flights->used++;
    else
        return NULL;
    struct flight *record = &flights->records[place];
    *record = *flight;
    record->next = SIM_NONE;
    record->deadlines = &flights->deadlines[(size_t)place * flights->max_batch];
    uint32_t *tail = &flights->tail[flight->invoker];
    if (*tail != SIM_NONE)
        flights->records[*tail].next = place;
    else
        flights->head[flight->invoker] = place;
    *tail = place;
    flights->counts[(size_t)function * flights->invokers + flight->invoker]++;
    flights->totals[function]++;
    return record;
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
        flights->counts[(size_t)function * flights->invokers + batch->invoker]--;
        flights->totals[function]--;
        return record;
    }
    return NULL;
}

uint32_t flights_of(const struct flights *flights, uint32_t function, uint32_t invoker)
{
    return flights->counts[(size_t)function * flights->invokers + invoker];
}

uint32_t flights_total(const struct flights *flights, uint32_t function)
{
    return flights->totals[function];
}
