/* INFless: the state of the policy, shared by its files; tests read it.
 *
 * A pool is what the policy knows of one deployment of its fleet, as its candidates for new
 * instances.
 *   infless_scaler.c  rates, retirement, new instances, reclaiming from other pools
 *   router.c          jobs that fail, jobs into buffers, buffers into batches
 *   infless.c         the policy: parameters, set-up, callbacks
 */
#ifndef ESGSIM_SCHED_INFLESS_POOL_H
#define ESGSIM_SCHED_INFLESS_POOL_H

#include "sched/common/fleet.h"
#include "sched/infless/estimator.h"
#include "sched/infless/lsth.h"
#include "sched/infless/regimes.h"

/* A timer's id is FLEET_TICK or an instance; this bit marks a function to prewarm. */
#define INFLESS_TIMER_PREWARM UINT32_C(0x80000000)

/* The policy's data about an instance, by its id. */
struct infless_instance {
    struct infless_candidate candidate;
    uint32_t alternatives; /* number of candidates among which it was chosen */
    double rate;           /* its share of the load; 0: retired */
    double deficit;        /* jobs that the round robin still owes it */
    uint32_t idle_steps;   /* scaling steps since it was retired */
    sim_time_t rings;      /* when the timer of its buffer expires; SIM_FOREVER: not set */
    uint32_t next_due;
    bool cached;    /* in its pool's cached set (regimes.h) */
    bool prewarmed; /* made when its pool was deployed, and kept; makeshift */
    bool due;       /* in its pool's list of due instances */
    bool makeshift; /* not one of its pool's candidates, for lack of room: does not count as
                     * capacity */
};

struct infless_pool {
    struct fleet_deployment base;
    struct infless_candidate *candidates;
    size_t candidate_count;
    double best;       /* result of infless_best_throughput */
    uint32_t cached;   /* size of the set of instances that was found last; 0: none */
    uint32_t due;      /* head of the list of due instances, linked by next_due */
    double observed;   /* requests per second over the window */
    bool missed;       /* the last tick's sample was ignored */
    double excess;     /* part of `observed` above the capacity of all instances */
    double failing;    /* fraction of the jobs that the virtual instance gets */
    double failed;     /* jobs that the virtual instance is still to get */
    double wanted;     /* rate that new instances have to serve */
    bool first;        /* no instance has been made for `wanted` yet */
    size_t cursor;     /* position of the round robin */
    double least_rate; /* smallest positive rate of its instances; 0: unknown */
    bool ticked, full;
    bool scaled; /* a scaling step is due */
};

struct infless_parameters {
    enum infless_form efficiency;
    enum { POOL_FUNCTION, POOL_APPLICATION } pool;
    enum planner_split split;
    enum { BETA_PRICE, BETA_FLOPS } beta;
    double alpha, margin;
    enum { LIMITS_NONE, LIMITS_HALF_GPU, LIMITS_REPO } limits;
    enum { LOAD_BACKLOG, LOAD_ARRIVALS } load;
    bool own_admission;
    enum { FIRST_ONE, FIRST_LARGEST } first;
    double tick_s, window_s;
    sim_time_t scale_s;
    uint32_t inactive_ticks, max_batch;
    enum { PLACE_WARM, PLACE_FULLEST } placement;
    enum { KEEP_ALIVE_LSTH, KEEP_ALIVE_FIXED } keep_alive;
    double lsth_bin_s, lsth_window_s, lsth_gamma;
    sim_time_t keep_alive_s;
};

struct infless {
    const struct workload *workload;
    const struct infless_parameters *parameters;
    struct fleet fleet;
    struct planner *planner;
    struct infless_rule rule;
    double *worth; /* by kind of GPU: of one unit, relative to the first kind's */
    sim_time_t next_scale;
    struct infless_pool *pools; /* by deployment */
    uint32_t *failing;          /* by queue: newest jobs that are to fail */
    struct infless_instance *instances;
    struct infless_share *shares; /* scratch, with room for all instances of a pool */
    uint32_t *share_ids;
    struct lsth *lsth;                   /* by function */
    uint32_t *function_count;            /* living instances by function */
    const struct invoker_group **groups; /* by invoker */
};

/* infless_scaler.c */
/* At the end of a tick: updates the rates. */
void infless_rates(struct infless *self, struct infless_pool *pool);
/* A scaling step: computes the wanted rate, or ends instances that have been retired for long. True
 * if it killed an instance. */
bool infless_scale(struct infless *self, struct infless_pool *pool);
/* Makes one of the wanted instances. False if none is wanted or there is no room. */
bool infless_grow(struct infless *self, struct infless_pool *pool);
/* Makes an instance for a pool with waiting jobs and none; without room, marks the pool as
 * starving. */
bool infless_first(struct infless *self, struct infless_pool *pool);
/* Makes room for the pool that has starved longest. True if it acted. */
bool infless_relieve(struct infless *self);

/* router.c */
/* Lets `decide` look at the instance's buffer. */
void infless_due(struct infless *self, uint32_t id);
/* Draws the instance of a new job of `queue`; decide fails it if that is the virtual one. */
void infless_draw(struct infless *self, uint32_t queue);
/* Fails the jobs that were drawn for the virtual instance. True if there were any. */
bool infless_fail(struct infless *self, struct infless_pool *pool);
/* Routes jobs to buffers and launches full or late buffers. True if it acted. */
bool infless_route(struct infless *self, struct infless_pool *pool);

static inline struct infless_pool *infless_pool_of(const struct infless *self, uint32_t id)
{
    return &self->pools[self->fleet.instances[id].deployment];
}

/* Lets `decide` process the pool. */
static inline void infless_touch(struct infless *self, const struct infless_pool *pool)
{
    unique_fifo_add(&self->fleet.turns, (uint32_t)(pool - self->pools));
}

static inline void infless_rates_changed(struct infless_pool *pool)
{
    pool->least_rate = 0;
    pool->full = false;
}

#endif
