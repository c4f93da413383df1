/* Nexus: the state of the policy, shared by its files only.
 *   nexus_setup.c  parameters, set-up
 *   nexus.c        the policy: plans, events
 */
#ifndef ESGSIM_SCHED_NEXUS_NEXUS_INTERNAL_H
#define ESGSIM_SCHED_NEXUS_NEXUS_INTERNAL_H

#include "sched/common/duty_cycle.h"
#include "sched/nexus/budgets.h"
#include "sched/policy.h"

enum { TIMER_PLAN, TIMER_RETRY };

struct nexus_parameters {
    uint32_t vgpu, max_batch;
    enum { SPLIT_DP, SPLIT_PROPORTIONAL, SPLIT_EQUAL } split;
    enum { COST_THROUGHPUT, COST_PACKED } split_cost;
    size_t split_steps;
    enum squishy_rule residual;
    enum { OVERHEAD_MEASURED, OVERHEAD_NONE } overhead;
    bool own_admission;
    sim_time_t epoch_s, min_epoch_s, keep_s;
};
/* A share of a GPU. */
struct node {
    uint32_t invoker, kind;
    const struct invoker_group *group;
    uint32_t plan; /* index of its node in the plan of its kind; SIM_NONE if it has none */
};

struct nexus {
    const struct workload *workload;
    const struct nexus_parameters *parameters;
    struct planner *planner;
    uint32_t kinds;
    struct batch_latency
        *latency_tables; /* by function and kind of GPU; empty if it cannot run there */
    sim_time_t *rest;    /* by queue: the fastest path through the later stages */
    struct node *nodes;  /* ascending by invoker */
    size_t node_count;
    size_t *nodes_of_kind;
    double *parts;                    /* by kind: its part of all nodes */
    uint64_t *arrived;                /* by queue, since `since` */
    double *rates;                    /* by queue: measured, in jobs per second */
    double *served;                   /* by queue: planned rate in jobs per second */
    struct squishy_session *sessions; /* by kind and queue */
    struct squishy_plan *plans;       /* by kind; while a plan is made */
    double *cost;                     /* scratch of the split */
    uint8_t *planned;                 /* by invoker × function */
    struct duty_cycle *cycle;
    sim_time_t since, planned_at;
    sim_time_t interval; /* time until the rates are measured next */
    bool due;
};
static inline struct squishy_session *session_of(const struct nexus *nexus, uint32_t kind,
                                                 uint32_t queue)
{
    return &nexus->sessions[(size_t)kind * nexus->workload->queue_count + queue];
}

static inline size_t function_of(const struct nexus *nexus, uint32_t queue)
{
    return (size_t)(nexus->sessions[queue].latency_table - nexus->latency_tables) / nexus->kinds;
}

static inline struct duty_cycle_slot slot_of(const struct nexus *nexus, uint32_t kind,
                                             uint32_t queue, uint32_t batch)
{
    return (struct duty_cycle_slot){.queue = queue,
                                    .batch = batch,
                                    .latency_table = session_of(nexus, kind, queue)->latency_table};
}

/* The node can run the queue's function. */
bool nexus_runs_on(const struct nexus *nexus, const struct node *node, uint32_t queue);

/* The policy's init: fills a state that is all zeros. False with ERROR_RUN. */
bool nexus_init(void *state, struct platform *platform, const void *parameters,
                struct error *error);

extern const struct key nexus_parameters[];

#endif
