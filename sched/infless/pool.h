/* INFless: the state of the policy, shared by its files; tests read it.
 *
 * A pool is one deployment: the queues that it serves, its instances, and its candidates for new
 * instances.
 *   scaler.c   rates, retirement, new instances, reclaiming from other pools
 *   router.c   jobs that fail, jobs into buffers, buffers into batches
 *   infless.c  the policy: parameters, set-up, callbacks
 */
#ifndef ESGSIM_SCHED_INFLESS_POOL_H
#define ESGSIM_SCHED_INFLESS_POOL_H

#include "sched/common/backlog.h"
#include "sched/common/planner.h"
#include "sched/common/unique_fifo.h"
#include "sched/infless/estimator.h"
#include "sched/infless/lsth.h"
#include "sched/infless/regimes.h"
#include "sched/policy.h"

/* A timer's id: 0 is the tick, 1 + i belongs to instance i; this bit marks a function to prewarm.
 */
#define INFLESS_TIMER_PREWARM UINT32_C(0x80000000)

/* The policy's data about an instance, by its id. */
struct infless_instance {
    uint32_t pool; /* SIM_NONE: not alive */
    struct infless_candidate candidate;
    uint32_t alternatives; /* number of candidates among which it was chosen */
    double rate;           /* its share of the load; 0: retired */
    double deficit;        /* jobs that the round robin still owes it */
    uint32_t idle_steps;   /* scaling steps since it was retired */
    sim_time_t rings;      /* when the timer of its buffer expires; SIM_FOREVER: not set */
    uint32_t next_due;
    bool due;       /* in its pool's list of due instances */
    bool makeshift; /* not one of its pool's candidates, for lack of room: does not count as
                     * capacity */
};

struct infless_pool {
    uint32_t function;
    struct backlog backlog;
    sim_time_t slo; /* the smallest budget of its stages */
    struct infless_candidate *candidates;
    size_t candidate_count;
    double best;         /* result of infless_best_throughput */
    uint32_t *instances; /* instance ids, oldest first */
    size_t instance_count;
    uint32_t due;      /* head of the list of due instances, linked by next_due */
    uint64_t arrivals; /* in the current tick */
    uint64_t *looks;   /* arrivals of the last ticks; a ring of look_count; not owned */
    double observed;   /* requests per second over these ticks */
    bool missed;       /* the last tick's sample was ignored */
    double excess;     /* part of `observed` above the capacity of all instances */
    double failing;    /* fraction of the jobs that the virtual instance gets */
    double failed;     /* jobs that the virtual instance is still to get */
    double wanted;     /* rate that new instances have to serve */
    bool first;        /* no instance has been made for `wanted` yet */
    size_t cursor;     /* position of the round robin */
    double least_rate; /* smallest positive rate of its instances; 0: unknown */
    bool ticked, full, starving;
    bool scaled; /* a scaling step is due */
};

struct infless {
    const struct workload *workload;
    struct platform *platform; /* valid during a callback, for the cluster's side of
                                * infless_choose */
    struct planner *planner;
    struct infless_rule rule;
    double *worth; /* by kind of GPU: of one unit, relative to the first kind's */
    double alpha;
    sim_time_t tick, scale;
    sim_time_t next_scale;
    uint32_t inactive_ticks;
    int limits;
    sim_time_t unknown_keep_alive; /* keep-alive time if LSTH has too few observations */
    bool prefer_warm, use_lsth, backlog, ticking;
    bool fail_excess, first_largest;
    struct infless_pool *pools;
    size_t pool_count;
    uint64_t *looks;                      /* of all pools, one after another */
    size_t look_count;                    /* ticks per window */
    uint64_t looked;                      /* ticks so far */
    struct backlog_slot *slots;           /* by queue; the owner is a pool */
    uint32_t *failing;                    /* by queue: newest jobs that are to fail */
    struct infless_candidate *candidates; /* of all pools, one after another */
    struct infless_instance *instances;
    size_t instance_room;
    struct unique_fifo turns; /* pools that decide has to process */
    uint32_t starving; /* pools with waiting jobs, without an instance, and without room for one */
    bool freed;        /* resources may have become free since the starving pools were last
                        * processed */
    struct infless_share *shares; /* scratch, with room for all instances of a pool */
    uint32_t *share_ids;
    struct lsth *lsth;                   /* by function */
    uint32_t *function_count;            /* living instances by function */
    const struct invoker_group **groups; /* by invoker */
};

/* scaler.c */
/* At the end of a tick: updates the rates. */
void infless_rates(struct infless *self, struct platform *platform, struct infless_pool *pool);
/* A scaling step: computes the wanted rate, or ends instances that have been retired for long. True
 * if it killed an instance. */
bool infless_scale(struct infless *self, struct platform *platform, struct infless_pool *pool);
/* Makes one of the wanted instances. False if none is wanted or there is no room. */
bool infless_grow(struct infless *self, struct platform *platform, struct infless_pool *pool);
/* Makes an instance for a pool with waiting jobs and none; without room, marks the pool as
 * starving. */
bool infless_first(struct infless *self, struct platform *platform, struct infless_pool *pool);
/* Makes room for the pool that has starved longest. True if it acted. */
bool infless_relieve(struct infless *self, struct platform *platform);

/* router.c */
/* Lets `decide` process the pool. */
void infless_touch(struct infless *self, const struct infless_pool *pool);
void infless_due(struct infless *self, uint32_t id);
/* Draws the instance of a new job of `queue`; decide fails it if that is the virtual one. */
void infless_draw(struct infless *self, uint32_t queue);
/* Fails the jobs that were drawn for the virtual instance. True if there were any. */
bool infless_fail(struct infless *self, struct platform *platform, struct infless_pool *pool);
/* Routes jobs to buffers and launches full or late buffers. True if it acted. */
bool infless_route(struct infless *self, struct platform *platform, struct infless_pool *pool);
/* Call after jobs entered or left the queue. */
void infless_refresh(struct infless *self, const struct platform *platform, uint32_t queue);

static inline uint32_t infless_index(const struct infless *self, const struct infless_pool *pool)
{
    return (uint32_t)(pool - self->pools);
}

static inline void infless_rates_changed(struct infless_pool *pool)
{
    pool->least_rate = 0;
    pool->full = false;
}

#endif
