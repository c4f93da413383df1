/* Counters of a run of INFless that are not metrics; for tests. */
#ifndef ESGSIM_SCHED_INFLESS_INFLESS_H
#define ESGSIM_SCHED_INFLESS_INFLESS_H

#include <stdint.h>

struct infless_counters {
    uint64_t created, killed;
    uint64_t shortages;   /* scale-ups for which there was no room */
    uint64_t reclaimed;   /* instances taken from another pool for one that had none */
    uint64_t overloads;   /* ticks of a pool whose load exceeded its instances' capacity */
    uint64_t retiring;    /* ticks of a pool with retired instances */
    uint64_t late;        /* batches launched by time-out before they were full */
    uint64_t failed;      /* jobs that got the virtual instance */
    uint64_t prewarms;    /* containers started by LSTH */
    uint64_t best_effort; /* pools whose SLO no configuration meets */
};

/* `state` is the state of a policy infless between init and finish. */
void infless_count(const void *state, struct infless_counters *counters);

#endif
