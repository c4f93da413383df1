/* What can be asked of a run of Orion beside its figures. */
#ifndef ESGSIM_SCHED_ORION_ORION_H
#define ESGSIM_SCHED_ORION_ORION_H

#include <stdint.h>

struct orion_counters {
    uint64_t batches;     /* dispatched */
    uint64_t misses;      /* of these, with fewer jobs than the plan's batch: pre-planned misses */
    uint64_t searches;    /* plans made, whether searched anew or remembered */
    uint64_t infeasible;  /* of these, without a plan within the target */
    uint64_t evaluations; /* charged */
    uint64_t prewarms;    /* containers started ahead */
    uint64_t remembered;  /* requests in the map now */
    uint64_t open;        /* bundles not closed yet */
};

/* `state` is that of a policy orion between init and finish. */
void orion_count(const void *state, struct orion_counters *counters);

#endif
