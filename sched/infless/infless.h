/* What can be asked of a run of INFless beside its figures. */
#ifndef ESGSIM_SCHED_INFLESS_INFLESS_H
#define ESGSIM_SCHED_INFLESS_INFLESS_H

#include <stdint.h>

struct infless_counters {
    uint64_t created, killed;
    uint64_t shortages; /* scale-ups that found no room */
    uint64_t reclaimed; /* instances taken from a pool for one that had none */
    uint64_t overloads; /* ticks of a pool in which it had more load than its instances can take */
    uint64_t retiring;  /* ticks of a pool in which instances were, or stayed, retired */
    uint64_t late;      /* batches that left by their time-out, not full */
    uint64_t prewarms;  /* containers started by LSTH */
    uint64_t best_effort; /* pools whose SLO no configuration meets */
};

/* `state` is that of a policy infless between init and finish. */
void infless_count(const void *state, struct infless_counters *counters);

#endif
