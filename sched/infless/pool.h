/* INFless: the state of the policy, shared by its files (not for others).
 *
 * A pool is one deployment: the queues that it serves, its instances, what it would make more of.
 *   scaler.c   once a tick: rates, retirement, new instances; instances taken from others
 *   router.c   jobs into buffers, buffers into batches
 *   infless.c  the policy: parameters, set-up, what the platform tells it
 */
#ifndef ESGSIM_SCHED_INFLESS_POOL_H
#define ESGSIM_SCHED_INFLESS_POOL_H

#include "sched/common/backlog.h"
#include "sched/common/planner.h"
#include "sched/common/turns.h"
#include "sched/infless/estimator.h"
#include "sched/infless/infless.h"
#include "sched/infless/lsth.h"
#include "sched/infless/regimes.h"
#include "sched/policy.h"

/* A timer's id: 0 the tick, 1 + an instance, or this bit and a function to be prewarmed. */
#define INFLESS_TIMER_PREWARM UINT32_C(0x80000000)

/* What we know of an instance beside what the platform says; by its id. */
struct infless_instance {
    uint32_t pool; /* SIM_NONE: not alive */
    struct infless_candidate candidate;
    uint32_t alternatives; /* among which it was chosen */
    double rate;           /* its share of the load; 0: retired */
    double deficit;        /* jobs that the round robin owes it */
    uint32_t idle_ticks;   /* since when it is retired */
    sim_time_t rings;      /* when the timer of its buffer does; SIM_FOREVER: none is set */
    uint32_t next_due;
    bool due;       /* in its pool's list of those to look at */
    bool makeshift; /* none of its pool's candidates, for want of room: no capacity to count on */
};

struct infless_pool {
    uint32_t function;
    struct backlog backlog;
    sim_time_t slo; /* the least budget of its stages */
    struct infless_candidate *candidates;
    size_t candidate_count;
    double best;         /* infless_best_throughput */
    uint32_t *instances; /* ids, oldest first */
    size_t instance_count, instance_room;
    uint32_t due;      /* list through next_due */
    uint64_t arrivals; /* in this tick */
    double observed;   /* requests per second in the last one */
    bool missed;       /* the last tick's sample was ignored */
    double wanted;     /* rate that new instances are to serve */
    bool first;        /* none has been made for it yet */
    size_t cursor;     /* of the round robin */
    double least_rate; /* of its instances' rates above 0; 0: not known */
    bool ticked, full, starving;
};

struct infless {
    const struct workload *workload;
    struct platform *platform; /* of the call in progress, for the cluster's side of the choice */
    struct planner *planner;
    struct infless_rule rule;
    double alpha, gpu_units;
    sim_time_t tick;
    uint32_t inactive_ticks;
    int limits;
    sim_time_t unknown_keep_alive; /* where LSTH says nothing */
    bool prefer_warm, use_lsth, backlog, ticking;
    struct infless_pool *pools;
    size_t pool_count;
    struct backlog_slot *slots;           /* by queue; its owner is a pool */
    struct infless_candidate *candidates; /* pool by pool */
    struct infless_instance *instances;
    uint32_t instance_room;
    struct turns turns; /* pools to look at */
    uint32_t starving;  /* pools with work and no instance, and nowhere to put one */
    bool freed;         /* something may have become free since they were last looked at */
    struct infless_share *shares; /* scratch, with room for all instances of a pool */
    uint32_t *share_ids;
    size_t share_room;
    struct lsth *lsth;        /* by function */
    uint32_t *function_count; /* by function: instances alive */
    uint32_t *vcpus, *units;  /* by invoker: all there is, of one GPU */
    struct infless_counters counters;
};

/* scaler.c */
/* Rates and retirement at the end of a tick, and what is wanted. True where something was killed.
 */
bool infless_scale(struct infless *self, struct platform *platform, struct infless_pool *pool);
/* Makes one of the instances that are wanted. False where none is, or there is no room. */
bool infless_grow(struct infless *self, struct platform *platform, struct infless_pool *pool);
/* The pool has work and no instance: makes one, or takes the pool for starving. */
bool infless_first(struct infless *self, struct platform *platform, struct infless_pool *pool);
/* Room for the pool that starves longest. True where it acted. */
bool infless_relieve(struct infless *self, struct platform *platform);

/* router.c */
/* To be looked at by decide. */
void infless_touch(struct infless *self, const struct infless_pool *pool);
void infless_due(struct infless *self, uint32_t id);
/* Jobs to buffers and full or late buffers to work. True where it acted. */
bool infless_route(struct infless *self, struct platform *platform, struct infless_pool *pool);
/* Jobs entered or left the queue. */
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
