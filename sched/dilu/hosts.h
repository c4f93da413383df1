/* Dilu's instances and the GPUs that host them, kept in step with the platform's (for the policy's
 * files; tests look into it). */
#ifndef ESGSIM_SCHED_DILU_HOSTS_H
#define ESGSIM_SCHED_DILU_HOSTS_H

#include "sched/dilu/placement.h"
#include "sched/dilu/profile.h"
#include "sched/policy.h"

struct dilu_instance {
    bool alive, ready, busy;
    bool draining; /* given no more jobs, killed when idle */
    uint32_t deployment;
    uint32_t host;                      /* SIM_NONE: without a GPU */
    const struct dilu_profile *profile; /* not owned */
    size_t level;
    uint32_t quota;
    sim_time_t active_until; /* after its last batch */
};

struct dilu_host {
    uint32_t invoker, which; /* the invoker's which-th GPU */
    uint32_t units;
    uint32_t *residents; /* instances, oldest first; owned; as many as gpus[].instances */
    uint32_t room;
    bool touched; /* its shares are to be granted anew */
};

struct dilu_share_counters {
    uint64_t grants;    /* looks at a GPU of several instances that had to change something */
    uint64_t raised;    /* instances given more than their request */
    uint64_t partial;   /* of these, less than their limit */
    uint64_t contended; /* instances put back to their request */
};

struct dilu_hosts {
    const struct workload *workload;
    struct dilu_instance *instances; /* by the platform's number; owned */
    uint32_t instance_room;
    struct dilu_host *hosts; /* GPUs of the cluster, invoker by invoker; owned */
    struct dilu_gpu *gpus;   /* what placement sees of each; owned */
    uint32_t count;
    uint32_t *touched; /* owned */
    uint32_t touched_count;
    struct dilu_holder *holders; /* scratch; owned */
    uint32_t holder_room;
    struct dilu_rule rule;
    bool nominal; /* gamma counts factor × request, not the share that covers it */
    struct dilu_share_counters counters;
};

/* False with ERROR_RUN when out of memory; clear is then still to be called. */
bool dilu_hosts_init(struct dilu_hosts *hosts, const struct workload *workload,
                     const struct dilu_rule *rule, bool nominal, struct error *error);
void dilu_hosts_clear(struct dilu_hosts *hosts);

/* An instance of `function` by `profile`, which outlives it, where placement.h says; `anyhow`:
 * gamma is not asked. SIM_NONE where there is no place. Within decide. O(GPUs), charged. */
uint32_t dilu_hosts_create(struct dilu_hosts *hosts, struct platform *platform, uint32_t function,
                           uint32_t deployment, const struct dilu_profile *profile, bool anyhow);

/* Ends an instance that is not busy and has no buffered jobs. Within decide. False where the
 * platform refuses. */
bool dilu_hosts_kill(struct dilu_hosts *hosts, struct platform *platform, uint32_t id);

/* Who works on the GPU (SIM_NONE: nothing happens) has changed. */
void dilu_hosts_touch(struct dilu_hosts *hosts, uint32_t host);

/* Grants the shares of touched GPUs anew (share.h), first what is taken away. Within decide.
 * O(instances there), charged. */
void dilu_hosts_grant(struct dilu_hosts *hosts, struct platform *platform);

#endif
