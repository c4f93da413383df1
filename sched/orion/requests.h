/* What Orion remembers between the stages of a request: a map by request number. */
#ifndef ESGSIM_SCHED_ORION_REQUESTS_H
#define ESGSIM_SCHED_ORION_REQUESTS_H

#include "sched/orion/plan.h"

struct orion_request {
    uint64_t number;
    const struct orion_plan *plan; /* NULL: an empty slot */
    uint32_t bundle;               /* the caller's */
    uint32_t stages_left;          /* not dispatched yet */
    sim_time_t deadline;
};

struct orion_requests {
    struct orion_request *slots; /* open addressing, linear probing */
    size_t count, room;          /* room: 0 or a power of two */
};

/* NULL where the request is not known. The pointer is good until the next insertion or removal. */
struct orion_request *orion_requests_find(const struct orion_requests *requests, uint64_t number);

/* `request->number` must not be known. False when out of memory: it is not remembered. */
bool orion_requests_add(struct orion_requests *requests, const struct orion_request *request);
void orion_requests_remove(struct orion_requests *requests, uint64_t number);
void orion_requests_clear(struct orion_requests *requests);

#endif
