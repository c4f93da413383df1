/* Dilu's instances and the GPUs that host them, in step with the platform's. Internal to the
 * policy; tests read it.
 */
#ifndef ESGSIM_SCHED_DILU_HOSTS_H
#define ESGSIM_SCHED_DILU_HOSTS_H

#include "sched/common/fleet.h"
#include "sched/dilu/placement.h"
#include "sched/dilu/profile.h"
#include "sched/dilu/trainings.h"

struct dilu_instance {
    uint32_t host;                      /* SIM_NONE if it uses no GPU */
    const struct dilu_profile *profile; /* not owned */
    size_t level;
    sim_time_t active_until; /* it counts as active until then, after its last batch */
    /* Beside trainings: */
    uint32_t placed;                  /* in the pool */
    bool bursting;                    /* in a burst, or less than a tick after its last batch */
    sim_time_t burst_from, idle_from; /* idle_from: end of the last batch, or creation */
    struct rckm_task task;
};

struct dilu_hosts {
    struct fleet *fleet;
    struct dilu_instance *instances; /* by the platform's instance id */
    struct dilu_gpu *gpus;           /* of the cluster, invoker by invoker */
    uint32_t count;
    struct unique_fifo touched;  /* GPUs whose shares have to be granted again */
    struct dilu_holder *holders; /* scratch */
    struct dilu_rule rule;
    bool nominal; /* gamma counts factor × request instead of the share that covers it */
    struct dilu_trainings *trainings; /* places instances too; NULL: placement.h does */
};

/* Call after fleet_open, with hosts all zeros. */
void dilu_hosts_init(struct dilu_hosts *hosts, struct fleet *fleet, const struct dilu_rule *rule,
                     bool nominal);

/* Creates an instance by `profile`, which must outlive it, placed as placement.h states. `anyhow`
 * ignores gamma. SIM_NONE if there is no place. Only within decide. O(GPUs), charged. */
uint32_t dilu_hosts_create(struct dilu_hosts *hosts, uint32_t deployment,
                           const struct dilu_profile *profile, bool anyhow);

/* Ends an instance that is not busy and has no buffered jobs. Only within decide. Returns
 * what fleet_end does. */
uint32_t dilu_hosts_kill(struct dilu_hosts *hosts, uint32_t id);

/* Call when the instance starts and ends a batch, and for the GPU's timers: bursts, and the time
 * since, decide on the trainings' shares. No effect without trainings. */
void dilu_hosts_started(struct dilu_hosts *hosts, uint32_t id);
void dilu_hosts_finished(struct dilu_hosts *hosts, uint32_t id);
void dilu_hosts_watch(struct dilu_hosts *hosts, uint32_t host);

/* Places the waiting trainings that fit, in order of arrival. Returns whether one started. Only
 * within decide. O(waiting × GPUs), charged. */
bool dilu_hosts_train(struct dilu_hosts *hosts);
/* Call when a training has finished. */
void dilu_hosts_trained(struct dilu_hosts *hosts, uint32_t training);

/* Marks the GPU after its set of working instances changed. No effect for SIM_NONE. */
void dilu_hosts_touch(struct dilu_hosts *hosts, uint32_t host);

/* Grants the shares of the marked GPUs again (share.h); reductions come first. Only within decide.
 * O(instances there), charged. */
void dilu_hosts_grant(struct dilu_hosts *hosts);

#endif
