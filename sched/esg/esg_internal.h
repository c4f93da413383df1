/* ESG: the state of the policy, shared by its files only.
 *   esg_setup.c  parameters, set-up
 *   esg.c        the policy: ESG_1Q, ESG_Dispatch
 */
#ifndef ESGSIM_SCHED_ESG_ESG_INTERNAL_H
#define ESGSIM_SCHED_ESG_ESG_INTERNAL_H

#include "sched/common/load_index.h"
#include "sched/common/placement.h"
#include "sched/common/slo.h"
#include "sched/esg/frontier_plans.h"
#include "sched/paths/search.h"
#include "sched/policy.h"

struct esg_parameters {
    size_t k, group_size;
    enum { METHOD_ASTAR, METHOD_FRONTIER } method;
    uint32_t recheck_limit;
    enum { INFEASIBLE_FASTEST, INFEASIBLE_CHEAPEST, INFEASIBLE_MINIMUM } infeasible;
    enum slo_split split;
    double headroom;
    bool sharing, batching, redistribution;
    enum placement_preference locality;
    enum { PLACE_BEST_FIT, PLACE_SPREAD } placement;
    enum { LATER_ANY, LATER_BOUNDED } later_batches;
    enum { RECHECK_CHANGED, RECHECK_EACH_STEP } recheck;
    enum { LATE_LEAD, LATE_RIDE } late;
};

/* The candidates of one queue, and its number of failed attempts. */
struct esg_queue {
    bool listed; /* is on the recheck list */
    uint32_t rechecks;
    uint64_t tried; /* `changes` at the last attempt */
    uint32_t seen;  /* length of the queue then */
    size_t candidate_count;
    uint16_t candidates[SEARCH_MAX_K]; /* configurations, in ascending order of their plans' cost */
    double cost[SEARCH_MAX_K];         /* cost of these plans */
    sim_time_t time[SEARCH_MAX_K];
    /* The key of the last search, and the units it was charged. */
    sim_time_t budget;
    uint32_t length;
    uint64_t units; /* 0: no search yet */
};

struct esg_application {
    struct slo_plan *plan;              /* for A* */
    struct frontier_plans *frontiers;   /* for the frontier method */
    const struct search_table **tables; /* by stage */
    sim_time_t *fastest;                /* by stage: time of the fastest plan */
};

/* A function on GPUs of one kind. */
struct esg_kind {
    struct search_table *table; /* NULL: it does not run on the kind */
    uint16_t minimum; /* configuration of batch 1 with the fewest vGPUs, then the fewest vCPUs, that
                       * fits the cluster */
};

struct esg_function {
    const struct configuration *all;
    struct search_table *table; /* of all kinds */
    uint16_t *by_cost;          /* indices into the table, cheapest first */
    struct esg_kind *kinds;     /* by kind; with a single kind its table is `table` */
};

struct esg {
    const struct esg_parameters *parameters;
    bool bounded;   /* later batches */
    bool each_step; /* rechecks */
    struct search_limits limits;
    struct load_index *loads; /* NULL: best fit */
    size_t function_count, application_count;
    uint32_t queue_count, kind_count;
    struct esg_function *functions;
    struct esg_application *applications;
    struct esg_queue *queues;
    uint32_t *list; /* recheck list, oldest first */
    size_t list_count;
    uint64_t changes; /* number of reasons for a recheck so far */
    uint64_t running; /* batches */
    bool in_round;    /* the previous step asked to be called again */
    bool joined;      /* a job has entered a queue since the previous step */
    uint32_t cursor;  /* next queue of the round robin */
    struct search_workspace *workspace;
    struct search_result result;
};

/* The policy's init: fills a state that is all zeros. False with ERROR_INPUT if a function fits no
 * invoker, or ERROR_RUN if a frontier is too large. O(functions ×
 * configurations), plus the frontiers. */
bool esg_init(void *state, struct platform *platform, const void *parameters, struct error *error);

extern const struct key esg_parameters[];

#endif
