/* What Orion keeps of a request between its stages, by the request's number. */
#ifndef ESGSIM_SCHED_ORION_REQUESTS_H
#define ESGSIM_SCHED_ORION_REQUESTS_H

#include "sched/orion/plan.h"

struct orion_request {
    uint64_t number;
    const struct orion_plan *plan; /* NULL marks an empty slot */
    uint32_t bundle;               /* for the caller's use */
    uint32_t stages_left;          /* stages not yet dispatched */
    sim_time_t deadline;
};

struct orion_requests {
    struct orion_request *slots; /* open addressing, linear probing */
    size_t count, room;          /* room is 0 or a power of two */
};

/* NULL if the request is not in the map. The pointer is valid until the next insertion or removal.
 */
struct orion_request *orion_requests_find(const struct orion_requests *requests, uint64_t number);

/* Inserts a request whose number is not in the map, which grows in the arena. */
void orion_requests_add(struct orion_requests *requests, struct arena *arena,
                        const struct orion_request *request);
void orion_requests_remove(struct orion_requests *requests, uint64_t number);

#endif
