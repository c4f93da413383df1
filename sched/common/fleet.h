/* Deployments of long-lived instances: what the scalers INFless, FaST-GShare and Dilu share.
 *
 * A deployment serves queues of one function with instances of its own. The fleet knows which
 * instances are alive, and to which deployment each belongs. It counts arrivals, keeps the
 * deployments that await a turn of `decide`, and remembers which starve: jobs wait, there is no
 * instance, and the cluster has no room for one. Whether an instance starts, works or is idle is
 * the platform's knowledge, not repeated here.
 *
 * A policy decides when an instance is made and ended, of which configuration and where, and which
 * jobs it gets. It makes and ends instances through the fleet only. What else it knows of an
 * instance is in an array of its own, by instance id. What it knows of a deployment follows the
 * fleet's part in one struct.
 *
 * Guarantees: deployments keep their numbers, and take turns in the order in which they asked. Work
 * is charged only where it is stated. All memory is of the run.
 */
#ifndef ESGSIM_SCHED_COMMON_FLEET_H
#define ESGSIM_SCHED_COMMON_FLEET_H

#include "sched/common/backlog.h"
#include "sched/common/planner.h"
#include "sched/common/unique_fifo.h"
#include "sched/policy.h"
#include "sched/policy_instances.h"

/* The fleet's timer. The policy's own have other ids. */
#define FLEET_TICK SIM_NONE

/* The first member of a policy's struct for a deployment. */
struct fleet_deployment {
    uint32_t function;
    struct backlog backlog;
    sim_time_t budget;   /* the smallest of its stages' parts of the SLO */
    uint32_t *instances; /* ids, oldest first (see fleet.unordered) */
    uint32_t instance_count;
    uint64_t arrivals;  /* jobs since the last fleet_rate, or as the policy resets it */
    uint64_t *samples;  /* arrivals between the last ticks: a ring */
    uint64_t in_window; /* their sum */
    bool starving;
    bool reap; /* an instance that drains has become idle */
};

/* By instance id. */
struct fleet_instance {
    uint32_t deployment; /* SIM_NONE: not alive */
    bool draining;       /* gets no more jobs, and ends when it is idle */
};

struct fleet {
    struct platform *platform;
    struct arena *arena;
    const struct workload *workload;
    char *deployments; /* of the policy, `bytes` each; see fleet_at */
    size_t bytes;
    uint32_t deployment_count;
    struct backlog_slot *slots; /* by queue; the owner is a deployment */
    struct unique_fifo turns;   /* deployments that decide has to process */
    struct fleet_instance *instances;
    uint32_t instance_room; /* 64 × a power of 2, or 0 */
    bool unordered;         /* the last instance of a list takes the place of one that ends */
    double period_s;        /* between ticks */
    bool on_the_clock;      /* ticks are at whole multiples of the period */
    bool ticking;
    size_t window, ticks; /* length of the window, and ticks so far */
    uint32_t starving;    /* deployments */
    bool freed;           /* resources may have become free since starving ones were processed */
};

/* Returns room for a deployment per queue: zeroed structs of the policy of `bytes` each, which
 * begin with a struct fleet_deployment. Rates are measured over `window` ticks; 0: never. */
void *fleet_open(struct fleet *fleet, struct platform *platform, size_t bytes, double period_s,
                 size_t window);
/* Adds a queue to the deployment of its function among those from number `first` on. There is a new
 * one if none has the function. */
void fleet_add_queue(struct fleet *fleet, const struct planner *planner, uint32_t queue,
                     uint32_t first);
/* Call once, after the last fleet_add_queue. */
void fleet_start(struct fleet *fleet);

static inline struct fleet_deployment *fleet_at(const struct fleet *fleet, uint32_t deployment)
{
    return (struct fleet_deployment *)(void *)(fleet->deployments + deployment * fleet->bytes);
}

static inline enum instance_state fleet_state(const struct fleet *fleet, uint32_t id)
{
    return platform_instance(fleet->platform, id).state;
}

/* ---- Events ---- */

/* When a tick's period begins that contains now: now, or on the clock the last whole multiple. */
sim_time_t fleet_tick_begin(const struct fleet *fleet);
/* For on_ready: counts the arrival, and lets `decide` process the deployment, whose number it
 * returns. The first one starts the ticks. */
uint32_t fleet_arrived(struct fleet *fleet, uint32_t queue);
/* Call after jobs entered or left the queue otherwise, as in on_withdrawn. O(log queues). */
void fleet_refresh(struct fleet *fleet, uint32_t queue);
/* For on_timer: true if it is the fleet's tick. The next one is then set. */
bool fleet_ticks(struct fleet *fleet, uint32_t timer);

/* For on_instance_ready and on_finish: lets `decide` process the deployment. */
void fleet_idle(struct fleet *fleet, uint32_t id);

/* Callbacks of struct policy that do no more than that, for a state that begins with its fleet. */
void fleet_on_ready(void *state, struct platform *platform, uint32_t queue);
void fleet_on_withdrawn(void *state, struct platform *platform, uint32_t queue, uint32_t instance);
void fleet_on_instance_ready(void *state, struct platform *platform, uint32_t instance);

/* Ends a sample of arrivals. Returns jobs per second over the window. Once per deployment and tick.
 */
double fleet_rate(const struct fleet *fleet, struct fleet_deployment *deployment);

/* ---- Instances: only within decide ---- */

/* Makes an instance, and lets `decide` process its deployment, which no longer starves. SIM_NONE if
 * it does not fit. */
uint32_t fleet_create(struct fleet *fleet, uint32_t deployment,
                      const struct instance_request *request);
/* Ends an idle or starting instance without buffered jobs. Returns where it was in its deployment's
 * list, SIM_NONE if the platform refuses. O(instances of the deployment). */
uint32_t fleet_end(struct fleet *fleet, uint32_t id);
/* Moves up to `jobs` of the deployment's oldest jobs to the buffer of the instance, which serves
 * it. Returns their number, and charges as much. */
uint32_t fleet_route(struct fleet *fleet, uint32_t id, uint32_t jobs);
/* Moves the buffered jobs back to their queues. */
bool fleet_return(struct fleet *fleet, uint32_t id);
/* Calls `end` for the deployment's instances that drain and do not work, the last of the list
 * first. */
void fleet_reap(struct fleet *fleet, struct fleet_deployment *deployment,
                void (*end)(void *policy, uint32_t id), void *policy);

/* ---- A cluster without room ---- */

void fleet_starve(struct fleet *fleet, struct fleet_deployment *deployment);
/* The starving deployment whose oldest job is the oldest; SIM_NONE if no job waits there. With
 * `forget` deployments without jobs starve no longer. O(deployments). */
uint32_t fleet_hungriest(struct fleet *fleet, bool forget);
/* The instance that is worth most to take from its deployment, of equal ones the youngest of the
 * first deployment; SIM_NONE if `worth` is 0 for all. Charges the number of instances. */
uint32_t fleet_spare(const struct fleet *fleet, sim_time_t since,
                     uint64_t (*worth)(const struct fleet *fleet, const void *policy, uint32_t id,
                                       sim_time_t since),
                     const void *policy);

#endif
