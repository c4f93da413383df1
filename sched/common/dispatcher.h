/* A dispatcher: rank the queues by their oldest job, configure the first, place it, go on.
 *
 * What FIFO, EDF, SJF and the static policies share. A policy brings two functions, how to rank a
 * queue and how to configure its next batch, and gets everything else. Its state begins with a
 * `struct dispatcher`, its parameter table with DISPATCHER_PARAMETERS.
 *
 * Head of line: "strict" waits where the first queue's batch fits nowhere, as an order by one list
 * must; "skip" goes on to the next queue. Containers: "start" starts one where no idle one fits,
 * "reuse" waits for one unless the function has none at all: a function then has as many servers as
 * containers.
 */
#ifndef ESGSIM_SCHED_COMMON_DISPATCHER_H
#define ESGSIM_SCHED_COMMON_DISPATCHER_H

#include "sched/common/placement.h"
#include "sched/common/planner.h"
#include "sched/common/queue_order.h"
#include "sched/policy.h"

enum { DISPATCHER_PARAMETER_COUNT = 4 };

/* Rows of a parameter table; `batch` is the default of max_batch. */
#define DISPATCHER_PARAMETERS(batch)                                                                \
    {"max_batch", (batch), 1, 65535, NULL, "most jobs in a batch; 1: no batching"},                 \
        {"placement", 0, 0, 3, PLACEMENT_CHOICES, "invokers asked first, warm before cold"},        \
        {"containers", 0, 0, 1, "start|reuse", "where no idle container fits: start one, or wait"}, \
    {                                                                                               \
        "head_of_line", 0, 0, 1, "strict|skip", "where the first queue's batch does not fit"        \
    }

/* Row of the policies that split the SLO over stages. */
#define DISPATCHER_SPLIT_PARAMETER                                                                 \
    {                                                                                              \
        "split", 0, 0, 2, "proportional|equal|dominator",                                          \
            "a stage's share of the SLO: by mean latency, even, or as ESG splits it"               \
    }

/* A policy's two functions; `state` is its own, which begins with the dispatcher. */
struct dispatch_rule {
    struct queue_rank (*rank)(const void *state, const struct platform *platform, uint32_t queue);
    /* Index of the configuration for a batch of at most `jobs` (>= 1) jobs of `queue`. */
    uint32_t (*configure)(const void *state, const struct platform *platform, uint32_t queue,
                          uint32_t jobs);
};

struct dispatcher {
    struct dispatch_rule rule;
    struct planner *planner;
    struct queue_order *order;
    uint32_t *running; /* batches of each function that have not finished */
    uint32_t *skipped; /* scratch: queues passed over in one step */
    uint32_t max_batch;
    enum placement_rule placement;
    /* A policy's own choice of invoker in place of `placement`, asked as placement_choose is; NULL:
     * none. Set after dispatcher_init. */
    uint32_t (*place)(void *state, struct platform *platform, uint32_t queue,
                      uint32_t configuration, bool warm_only);
    /* The configuration that a policy which plans ahead had planned for the queue, told to the
     * platform with each dispatch; NULL: no plan is made ahead. Set after dispatcher_init. */
    uint32_t (*planned)(const void *state, uint32_t queue);
    bool reuse_only;
    bool skip_blocked;
};

/* `values` begins with those of DISPATCHER_PARAMETERS. ERROR_INPUT for a fractional max_batch,
 * ERROR_RUN as planner_create. */
bool dispatcher_init(struct dispatcher *dispatcher, struct platform *platform,
                     struct dispatch_rule rule, const double *values, enum planner_split split,
                     struct error *error);

/* A rule's `configure`: the cheapest within the stage's share of what is left until the deadline of
 * the oldest job, else the fastest. */
uint32_t dispatcher_configure_slack(const void *state, const struct platform *platform,
                                    uint32_t queue, uint32_t jobs);

/* The policy functions of a dispatcher. */
void dispatcher_on_ready(void *state, struct platform *platform, uint32_t queue);
void dispatcher_on_withdrawn(void *state, struct platform *platform, uint32_t queue,
                             uint32_t instance);
void dispatcher_on_finish(void *state, struct platform *platform,
                          const struct finished_batch *batch);
bool dispatcher_decide(void *state, struct platform *platform);
void dispatcher_finish(void *state);

/* The first queue by its rank of now; SIM_NONE where all are empty. A rule's ranks may grow as time
 * passes. */
uint32_t dispatcher_first(struct dispatcher *dispatcher, const struct platform *platform);

#endif
