/* Counters of a run of FaST-GShare that are not metrics; for tests. */
#ifndef ESGSIM_SCHED_FAST_GSHARE_FAST_GSHARE_H
#define ESGSIM_SCHED_FAST_GSHARE_FAST_GSHARE_H

#include "sched/fast_gshare/pods.h"

struct fast_gshare_counters {
    uint64_t created;    /* pods created in total */
    uint64_t ups, downs; /* scaling steps that added pods, or removed some */
    uint64_t refused;    /* scaling steps that could not add all pods they needed */
    uint64_t makeshift;  /* pods that cannot meet the SLO, made for lack of room for one that can */
    uint64_t cleared;    /* pods taken from others, for a function that had none */
};

/* `state` is the state of a policy fast-gshare between init and finish. */
const struct pods *fast_gshare_pods(const void *state, size_t *deployment_count);
void fast_gshare_count(const void *state, struct fast_gshare_counters *counters);

#endif
