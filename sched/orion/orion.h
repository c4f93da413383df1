/* Counters of a run of Orion that are not metrics; for tests. */
#ifndef ESGSIM_SCHED_ORION_ORION_H
#define ESGSIM_SCHED_ORION_ORION_H

#include <stdint.h>

struct orion_counters {
    uint64_t batches;     /* dispatched */
    uint64_t misses;      /* of these, with fewer jobs than the plan's batch: misses of the
                           * preplanned configuration */
    uint64_t searches;    /* plans made, by search or from the cache */
    uint64_t infeasible;  /* of these, plans that miss the target */
    uint64_t evaluations; /* evaluations charged */
    uint64_t prewarms;    /* containers started in advance */
    uint64_t remembered;  /* requests in the map at present */
    uint64_t open;        /* bundles not yet closed */
};

/* `state` is the state of a policy orion between init and finish. */
void orion_count(const void *state, struct orion_counters *counters);

#endif
