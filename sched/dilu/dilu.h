/* Counters of a run of Dilu that are not metrics; for tests. */
#ifndef ESGSIM_SCHED_DILU_DILU_H
#define ESGSIM_SCHED_DILU_DILU_H

#include "sched/dilu/hosts.h"

struct dilu_counters {
    uint64_t created;
    uint64_t outs, ins; /* instances added and removed by lazy scaling */
    uint64_t refused;   /* scale-outs for which there was no room */
    uint64_t makeshift; /* instances made with the smallest share, for lack of room for the
                         * request */
    uint64_t reclaimed; /* instances taken from others, for a function that had none */
};

struct dilu_deployment_view {
    const struct dilu_profile *profile; /* on the best kind of GPU */
    const uint32_t *instances;          /* oldest first */
    uint32_t instance_count;
};

/* `state` is the state of a policy dilu between init and finish. */
const struct dilu_hosts *dilu_hosts_of(const void *state);
void dilu_count(const void *state, struct dilu_counters *counters);
size_t dilu_deployment_count(const void *state);
struct dilu_deployment_view dilu_deployment(const void *state, size_t index);

#endif
