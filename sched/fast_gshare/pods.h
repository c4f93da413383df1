/* FaST-GShare's pods and the planes they lie on, kept in step with the platform's instances.
 *
 * A pod is an instance with a share of one GPU for a quota of time; its rectangle on the GPU's
 * plane is quota per cent wide and share units high. Placement: among the GPUs that have pods the
 * best fitting free rectangle, else the first GPU without any ("prefer already used GPUs"
 * [recall]); an idle container of the function decides where two fit alike, and among the first
 * GPUs without pods [derived]. Memory and vCPUs must fit as well: the platform is asked.
 *
 * Lending [code: the auto-scaler gives every pod a limit of all the time, whatever it requests; the
 * fluid form derived]: while it works, a pod may use time that nobody requested on its GPU, by
 * tokens_fluid over the working pods; what an idle or starting pod requested stays reserved. What
 * is lent is taken back before a pod is placed.
 */
#ifndef ESGSIM_SCHED_FAST_GSHARE_PODS_H
#define ESGSIM_SCHED_FAST_GSHARE_PODS_H

#include "sched/common/backlog.h"
#include "sched/common/queue_order.h"
#include "sched/fast_gshare/rectangles.h"
#include "sched/fast_gshare/scaler.h"
#include "sched/policy.h"

struct pod {
    bool alive, ready, busy;
    bool draining; /* given no more jobs, killed when idle */
    bool served;   /* has run a batch */
    uint32_t deployment;
    uint32_t slot; /* in its deployment's list */
    uint32_t point;
    uint32_t invoker;
    uint32_t gpu;   /* of the cluster's, counted invoker by invoker; SIM_NONE */
    uint32_t quota; /* now: the point's, or more while some is lent to it */
    uint64_t serial;
};

/* The pods that serve the same queues: a function's, or those of one application's [derived]. */
struct deployment {
    uint32_t function;
    struct backlog backlog;
    sim_time_t budget; /* the least of its stages' */
    struct scaler_points points;
    uint32_t *pods; /* instances; owned */
    uint32_t pod_count, pod_room;
    struct queue_order *idle; /* slots of the pods that can take jobs, highest RPR first */
    uint64_t arrivals;        /* jobs since the scaler's last look */
    uint64_t *looks;          /* arrivals between its last looks, a ring; owned by the policy */
    uint64_t in_window;       /* their sum */
    double rate;              /* jobs/s over the window, at the last look */
    uint32_t claim;           /* invoker that is being cleared for its first pod; SIM_NONE */
    uint64_t tried;           /* pods.releases when no pod could be made; UINT64_MAX: never */
    sim_time_t timer;         /* a timer is set for then; SIM_FOREVER: none */
    bool reap;
};

struct plane {
    struct rectangles rectangles; /* owners are instances */
    uint32_t invoker, which;      /* the invoker's which-th GPU */
    uint32_t position;            /* in pods.gpu_order */
    bool lend_again;              /* what is lent is to be reckoned anew */
};

struct pods {
    const struct workload *workload;
    struct deployment *deployments; /* owned by the policy, which sets it */
    struct pod *pods;               /* by instance; owned */
    uint32_t pod_room;
    struct plane *planes; /* by GPU; owned */
    uint32_t gpu_count;
    uint32_t *gpu_order; /* GPUs, those with pods first; owned */
    uint32_t used_count; /* of these */
    uint32_t *first_gpu; /* by invoker, and one more; owned */
    uint32_t *claims;    /* by invoker: the deployment it is cleared for, SIM_NONE; owned */
    uint32_t *lend_list; /* GPUs with lend_again; owned */
    uint32_t lend_count;
    enum rectangle_rule rule;
    uint32_t limit;    /* per cent of time up to which time is lent; 0: none is */
    uint64_t serial;   /* of the next pod */
    uint64_t releases; /* pods killed */
};

/* False with ERROR_RUN when out of memory; pods_clear is then still to be called. */
bool pods_init(struct pods *pods, const struct workload *workload, enum rectangle_rule rule,
               uint32_t limit, struct error *error);
void pods_clear(struct pods *pods);

/* A pod of `deployment` at point `point`; SIM_NONE where it fits nowhere (*room false: on no plane)
 * or when out of memory. Within decide. O(GPUs with pods × free rectangles), charged. */
uint32_t pods_create(struct pods *pods, struct platform *platform, uint32_t deployment,
                     uint32_t point, bool *room);

/* The pod, not busy, is no more. Within decide. */
void pods_kill(struct pods *pods, struct platform *platform, uint32_t id);

/* Takes no more jobs; killed at once where it is not busy. Within decide. */
void pods_drain(struct pods *pods, struct platform *platform, uint32_t id);

/* The pod can take jobs, or not: keeps the deployment's order. */
void pods_rank(struct pods *pods, uint32_t id);

/* Who works on the GPU (SIM_NONE: nothing happens) has changed: pods_lend is to look at it. */
void pods_touch(struct pods *pods, uint32_t gpu);

/* Lends anew on the GPUs touched. Within decide. O(pods of those GPUs). */
void pods_lend(struct pods *pods, struct platform *platform);

#endif
