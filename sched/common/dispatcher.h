/* A dispatcher: rank the queues by their oldest job, configure a batch of the first queue, place
 * it, repeat. If the batch fits on no invoker, it is configured again for the other kinds of GPU,
 * the best first.
 *
 * FIFO, EDF, SJF and the static policies share this code. A policy supplies two functions: one
 * ranks a queue, the other configures its next batch. Its state must begin with a `struct
 * dispatcher`, its parameters with a `struct dispatcher_parameters`, whose lines are
 * DISPATCHER_PARAMETERS.
 *
 * Parameter `head_of_line`: "strict" waits if the first queue's batch fits on no invoker; "skip"
 * tries the next queue.
 */
#ifndef ESGSIM_SCHED_COMMON_DISPATCHER_H
#define ESGSIM_SCHED_COMMON_DISPATCHER_H

#include "sched/common/placement.h"
#include "sched/common/planner.h"
#include "sched/common/queue_order.h"
#include "sched/policy.h"

enum head_of_line { HEAD_OF_LINE_STRICT, HEAD_OF_LINE_SKIP };

struct dispatcher_parameters {
    uint32_t max_batch;
    enum placement_rule placement;
    enum head_of_line head_of_line;
    enum planner_split split; /* PLANNER_PROPORTIONAL without DISPATCHER_SPLIT_PARAMETER */
};

/* Lines of a parameter table. `batch` is the default of max_batch. */
#define DISPATCHER_PARAMETERS(batch)                                                               \
    PARAMETER_WHOLE(dispatcher, max_batch, 1, 65535, batch,                                        \
                    "most jobs per batch; 1: no batching"),                                        \
        PARAMETER_WORD(dispatcher, placement, PLACEMENT_WORDS, PLACEMENT_LOCALITY,                 \
                       "invokers tried first, warm before cold"),                                  \
        PARAMETER_WORD(dispatcher, head_of_line, WORDS("strict", "skip"), HEAD_OF_LINE_STRICT,     \
                       "if the first queue's batch does not fit: wait, or try the next queue")

/* Line for policies that split the SLO over stages. */
#define DISPATCHER_SPLIT_PARAMETER                                                                 \
    PARAMETER_WORD(dispatcher, split, SPLIT_WORDS, PLANNER_PROPORTIONAL,                           \
                   "a stage's share of the SLO: by mean latency, equal, or ESG's dominator rule")

/* A policy's two functions. `state` is the policy's own state, which begins with the dispatcher. */
struct dispatch_rule {
    struct queue_rank (*rank)(const void *state, const struct platform *platform, uint32_t queue);
    /* Index of the configuration for a batch of at most `jobs` (>= 1) jobs of `queue`, on the best
     * of the GPU kinds `kinds` of the dispatcher. SIM_NONE if none of them is worth using: the
     * queue then waits for another. With one kind the set always contains it. */
    uint32_t (*configure)(const void *state, const struct platform *platform, uint32_t queue,
                          uint32_t jobs);
    /* Chooses the invoker instead of the parameter `placement`, with the semantics of
     * placement_choose. NULL: `placement` does. */
    uint32_t (*place)(void *state, struct platform *platform, uint32_t queue,
                      uint32_t configuration);
};

struct dispatcher {
    struct dispatch_rule rule;
    struct planner *planner;
    uint64_t kinds; /* GPU kinds that `configure` may choose (kinds.h): all, less those on which
                     * the batch being placed does not fit */
    struct queue_order *order;
    uint32_t *running; /* unfinished batches of each function */
    uint32_t *skipped; /* scratch: queues skipped in one step */
    struct {
        uint64_t changes; /* platform_changes at the time */
        uint32_t function, configuration;
    } nowhere; /* the last search that found no invoker */
    struct dispatcher_parameters parameters;
    const void *own; /* the policy's parameters, which begin with these */
    /* Returns the configuration that a policy planned for the queue in advance. It is reported to
     * the platform with each dispatch. NULL if the policy does not plan in advance. Set after
     * dispatcher_init. */
    uint32_t (*planned)(const void *state, uint32_t queue);
};

/* `parameters` is a struct dispatcher_parameters, or begins with one. ERROR_RUN as planner_create.
 */
bool dispatcher_init(struct dispatcher *dispatcher, struct platform *platform,
                     struct dispatch_rule rule, const void *parameters, struct error *error);

/* A `configure` function for rules. It divides the time left until the oldest job's deadline over
 * the remaining stages. Returns the cheapest configuration within this stage's share, or the
 * fastest if none is. */
uint32_t dispatcher_configure_slack(const void *state, const struct platform *platform,
                                    uint32_t queue, uint32_t jobs);

/* Callbacks of `struct policy`, implemented by the dispatcher. */
void dispatcher_on_ready(void *state, struct platform *platform, uint32_t queue);
void dispatcher_on_withdrawn(void *state, struct platform *platform, uint32_t queue,
                             uint32_t instance);
void dispatcher_on_finish(void *state, struct platform *platform,
                          const struct finished_batch *batch);
bool dispatcher_decide(void *state, struct platform *platform);

/* Defines the init of a policy whose state is a struct dispatcher, with the functions of its rule.
 */
#define DISPATCHER_INIT(policy, ...)                                                               \
    static bool policy##_init(void *state, struct platform *platform, const void *parameters,      \
                              struct error *error)                                                 \
    {                                                                                              \
        const struct dispatch_rule rule = {__VA_ARGS__};                                           \
        return dispatcher_init(state, platform, rule, parameters, error);                          \
    }

/* What a policy that only ranks, configures and places has in its struct policy, beside its name,
 * summary and init. `table` is the array of its parameters, whose fields are those of `own`. */
#define DISPATCHER_POLICY(state, own, table)                                                       \
    .abi = POLICY_ABI, .parameters = table, .parameters_bytes = sizeof(own),                       \
    .state_bytes = sizeof(state), .on_ready = dispatcher_on_ready,                                 \
    .on_withdrawn = dispatcher_on_withdrawn, .on_finish = dispatcher_on_finish,                    \
    .decide = dispatcher_decide

/* The queue of lowest rank at the present time; SIM_NONE if all queues are empty. The ranks that a
 * rule returns may grow with time, but must not fall. */
uint32_t dispatcher_first(struct dispatcher *dispatcher, const struct platform *platform);

#endif
