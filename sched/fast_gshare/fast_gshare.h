/* What can be asked of a run of FaST-GShare beside its figures. */
#ifndef ESGSIM_SCHED_FAST_GSHARE_FAST_GSHARE_H
#define ESGSIM_SCHED_FAST_GSHARE_FAST_GSHARE_H

#include "sched/fast_gshare/pods.h"

struct fast_gshare_counters {
    uint64_t created;    /* pods, in all */
    uint64_t ups, downs; /* looks of the scaler that added pods, or took some away */
    uint64_t refused;    /* looks that could not add all that they wanted */
    uint64_t makeshift;  /* pods made that cannot meet the SLO, for want of room for one that can */
    uint64_t cleared;    /* pods taken from others, for a function that had none */
};

/* `state` is that of a policy fast-gshare between init and finish. */
const struct pods *fast_gshare_pods(const void *state, size_t *deployment_count);
void fast_gshare_count(const void *state, struct fast_gshare_counters *counters);

#endif
