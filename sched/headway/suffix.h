/* What remains of a request after a stage: its cheapest plans, at times that include the risk.
 *
 * Every stage has a table of its configurations with inflated times
 *
 *     t' = t (m + z √v) + d
 *
 * m and v are the function's mean and variance of execution / nominal at that share (risk.h), z the
 * reserve in standard deviations, d the mean time from dispatch to execution of the stage. Sinks
 * have a larger z, because no later stage can make up for them. A later stage also takes the mean
 * time that jobs wait in its queue, so that a plan sees the queues ahead. The exact frontier of
 * every suffix (sched/paths/frontier.h) then gives the least cost of the later stages within any
 * time left, for any DAG: forks are composed in parallel, joins wait for the slowest branch.
 *
 * There is one set of frontiers per bound on the batch (1, 2, 4, …). A batch of b jobs plans later
 * batches of at most the largest bound <= b, because no more jobs will be together then.
 *
 * On GPUs where co-runners slow one another, a batch also costs others time. Slowdown is taken to
 * be mutual: a batch that takes m times its nominal time costs its neighbours (m - 1) u units for
 * that time, where u are the units of a mean batch. OBJECTIVE_WORK counts `harm` times this.
 *
 * Inflated times are rounded up to whole quanta of L / 1024, where L is the application's latency
 * at the minimum configuration. A plan of n stages therefore reserves at most n / 1024 L too much,
 * and the number of points is bounded.
 */
#ifndef ESGSIM_SCHED_HEADWAY_SUFFIX_H
#define ESGSIM_SCHED_HEADWAY_SUFFIX_H

#include "sched/headway/risk.h"
#include "sim/base/arena.h"
#include "sim/base/error.h"
#include "workloads/world/workload.h"

/* What a plan minimises. COST: dollars. WORK: the time for which it keeps the cluster busy. A batch
 * of time t with g of U units and c of V vCPUs counts t max(g / U, c / V), its dominant share
 * (Ghodsi et al., NSDI 2011), because the scarcer resource limits what else can run. */
enum objective { OBJECTIVE_COST, OBJECTIVE_WORK, OBJECTIVE_COUNT };

struct suffix_settings {
    double reserve;      /* z of stages with successors */
    double reserve_last; /* z of sinks */
    uint32_t max_batch;
    double harm;
    double units, vcpus; /* of the cluster; a GPU of any kind counts as many units as one of the
                          * first */
};

/* A first step of a plan. */
struct option {
    uint32_t configuration;
    uint32_t batch;
    sim_time_t time; /* t' of this step */
    double price;    /* per job, of this step and the rest of the plan: dollars or ns of work */
};

struct suffix;

/* What the tables depend on. It is read at each suffix_refresh and must outlive the tables. */
struct suffix_inputs {
    const struct risk *risks;      /* by function and class of share */
    uint32_t class_count;          /* risk_class_count */
    const double *delay;           /* by queue: mean ns from dispatch to execution */
    const double *wait;            /* by queue: mean ns that jobs wait for their dispatch */
    const double *container_share; /* by function: k */
    const double *neighbour;       /* u */
};

/* Fills the tables once. NULL with ERROR_INPUT if a function has no usable configuration,
 * ERROR_RUN when out of memory. */
struct suffix *suffix_create(struct arena *arena, const struct workload *workload,
                             const struct suffix_settings *settings,
                             const struct suffix_inputs *inputs, struct error *error);

/* Fills again the tables of each application whose inflated times have moved by more than the
 * fraction `change` of a stage's fastest time, or container shares by as much. Returns the number
 * of frontier points and table entries that were computed, 0 if nothing moved. */
uint64_t suffix_refresh(struct suffix *suffix, double change);

/* First steps for `length` (>= 1) jobs waiting in `queue` of `application` that keep the reserve to
 * the end of the request. left[b - 1], for b up to min(length, max_batch), is the time until the
 * earliest deadline of the oldest b jobs. Writes at most suffix_room options, unordered, and
 * returns their number. `*examined` grows by the configurations examined. */
size_t suffix_options(const struct suffix *suffix, enum objective objective, uint32_t application,
                      uint32_t queue, const sim_time_t *left, uint32_t length,
                      struct option *options, uint64_t *examined);

/* The same without any reserve: first steps whose mean time and the fastest mean times of the rest
 * are within `left`, at their own price. */
size_t suffix_hurry(const struct suffix *suffix, enum objective objective, uint32_t queue,
                    const sim_time_t *left, uint32_t length, struct option *options);

/* All first steps for up to `length` jobs, the fastest one of a single job first, at their own
 * price. */
size_t suffix_first_steps(const struct suffix *suffix, enum objective objective, uint32_t queue,
                          uint32_t length, struct option *options);

/* Most options that suffix_options can write. */
size_t suffix_room(const struct suffix *suffix);

/* Mean time of the fastest way from the start of the queue's stage to the end of the request. */
sim_time_t suffix_way(const struct suffix *suffix, uint32_t queue);

/* Resolution of the application's plans in time. */
sim_time_t suffix_quantum(const struct suffix *suffix, uint32_t application);

/* Work of a request of application `index` under the plan of least work within the SLO (the fastest
 * plan if none is), in ns of the whole cluster. Batches of b jobs are considered if b jobs arrive
 * in the time that their plan leaves: with `interval` ns between requests of the application, the
 * first of them waits (b - 1) intervals. `*examined` grows by the configurations examined. O(stages
 * × configurations).
 */
double suffix_request_work(const struct suffix *suffix, uint32_t index, double interval,
                           uint64_t *examined);

/* Work of one job of a queue's stage, alone, under the same plan with batches of 1. */
double suffix_stage_work(const struct suffix *suffix, uint32_t queue);

#endif
