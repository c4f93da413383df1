/* FaST-GShare's pods and their positions on the GPUs, in step with the platform's instances.
 *
 * A pod is an instance with a share of one GPU for a quota of time. Its rectangle on the GPU's
 * plane is `quota` per cent wide and `share` units high. Placement: the best fitting free rectangle
 * among the GPUs that have pods, else the first GPU without any ("prefer already used GPUs"
 * [recall]). An idle container of the function breaks ties between equal fits, and between GPUs
 * without pods [derived]. Memory and vCPUs must fit as well; the platform is queried for them.
 *
 * Lending [code: the auto-scaler sets every pod's limit to all the time, whatever its request; the
 * fluid form is derived]: a working pod may use time that no pod of its GPU requested, by
 * tokens_fluid over the working pods. The requests of idle and starting pods remain reserved. Lent
 * time is taken back before a pod is placed.
 */
#ifndef ESGSIM_SCHED_FAST_GSHARE_PODS_H
#define ESGSIM_SCHED_FAST_GSHARE_PODS_H

#include "sched/common/fleet.h"
#include "sched/fast_gshare/fast_gshare_scaler.h"
#include "sched/fast_gshare/rectangles.h"

struct pod {
    bool served;   /* has run at least one batch */
    uint32_t slot; /* index in its deployment's list */
    uint32_t point;
    uint32_t gpu; /* index among the cluster's GPUs, counted invoker by invoker; SIM_NONE if it
                   * has none */
    uint64_t serial;
};

/* The pods that serve the same queues: those of a function, or of a function within one application
 * [derived]. */
struct deployment {
    struct fleet_deployment base;
    struct scaler_points points;
    struct queue_order *idle; /* slots of the pods that can take jobs, highest RPR first */
    size_t idle_room;         /* slots */
    double rate;              /* jobs/s over the window, as of the last scaling step */
    uint32_t claim;           /* invoker that is being cleared for its first pod; SIM_NONE */
    uint64_t tried;           /* pods.releases when creating a pod last failed; UINT64_MAX: never */
    sim_time_t timer;         /* time for which a timer is set; SIM_FOREVER: none */
};

struct plane {
    struct rectangles rectangles; /* the owners are instances */
    uint32_t invoker, which;      /* invoker, and index among its GPUs */
    uint32_t kind;                /* of the GPU */
    bool lends;                   /* its kind can be held for a part of the time */
    uint32_t position;            /* index in pods.gpu_order */
};

struct pods {
    struct fleet *fleet;
    struct deployment *deployments;
    struct pod *pods;     /* by instance */
    struct plane *planes; /* by GPU */
    uint32_t gpu_count;
    uint32_t *gpu_order;      /* GPUs, those with pods first */
    uint32_t used_count;      /* number of GPUs with pods */
    uint32_t *claims;         /* by invoker: the deployment it is being cleared for, or SIM_NONE */
    struct unique_fifo lends; /* GPUs whose lent time has to be recomputed */
    enum rectangle_rule rule;
    uint32_t limit;    /* time is lent up to this quota in per cent; 0: no lending */
    uint64_t serial;   /* serial number of the next pod */
    uint64_t releases; /* number of pods killed */
};

/* Call after fleet_open, with pods all zeros. The deployments are those of the fleet. */
void pods_init(struct pods *pods, struct fleet *fleet, struct deployment *deployments,
               enum rectangle_rule rule, uint32_t limit);

/* Creates a pod of `deployment` at point `point`. SIM_NONE if it fits nowhere; *room is false if no
 * plane has room. Only within decide. O(GPUs with pods × free rectangles), charged. */
uint32_t pods_create(struct pods *pods, uint32_t deployment, uint32_t point, bool *room);

/* Kills a pod that is not busy. Only within decide. */
void pods_kill(struct pods *pods, uint32_t id);

/* Stops routing jobs to the pod, and kills it at once if it is not busy. Only within decide. */
void pods_drain(struct pods *pods, uint32_t id);

/* Updates the deployment's order after the pod became able or unable to take jobs. */
void pods_rank(struct pods *pods, uint32_t id);

/* Marks the GPU for pods_lend after its set of working pods changed. No effect for SIM_NONE. */
void pods_touch(struct pods *pods, uint32_t gpu);

/* Recomputes the lent time of the marked GPUs. Only within decide. O(pods of those GPUs). */
void pods_lend(struct pods *pods);

#endif
