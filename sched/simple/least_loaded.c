/* Least loaded: sends every batch to the invoker with the fewest running batches.
 *
 * Chooses only the invoker: the one with the fewest running batches among those with room (Winston,
 * Journal of Applied Probability 14, 1977: joining the shortest queue is optimal for identical
 * servers and exponential service) [recall]. No decision scans all invokers: see load_index.h.
 *
 * Porting assumptions [derived]:
 * - The platform's invokers have no queues. The load is therefore the number of batches that hold
 *   resources, and a batch waits at the controller if no invoker has room.
 * - Invokers with an idle container of the function are preferred to those where one must start;
 *   `warm` "ignore" requires only room. Ties go to the lowest number, which keeps containers busy.
 * - Order and configuration are those of "fifo": requests in order of arrival, one static
 *   configuration per stage. Parameter `placement` has no effect.
 */
#include "sched/common/static_plan.h"
#include "sched/common/load_index.h"

struct least_loaded_parameters {
    struct dispatcher_parameters dispatcher; /* first member */
    enum { WARM_PREFER, WARM_IGNORE } warm;
};

struct least_loaded {
    struct dispatcher dispatcher; /* first member, so that the dispatcher's functions accept this
                                   * state */
    const struct least_loaded_parameters *parameters;
    struct load_index *loads;
    uint32_t chosen; /* the last result of `place`; SIM_NONE if there is none */
};

static uint32_t least_loaded_place(void *state, struct platform *platform, uint32_t queue,
                                   uint32_t configuration)
{
    struct least_loaded *self = state;
    const uint32_t function = platform_queue_function(platform, queue);
    self->chosen = SIM_NONE;
    if (self->parameters->warm == WARM_PREFER && platform_warm_total(platform, function) > 0)
        self->chosen = load_index_least(self->loads, platform, function, configuration, true);
    if (self->chosen == SIM_NONE)
        self->chosen = load_index_least(self->loads, platform, function, configuration, false);
    return self->chosen;
}

static bool least_loaded_init(void *state, struct platform *platform, const void *parameters,
                              struct error *error)
{
    struct least_loaded *self = state;
    self->parameters = parameters;
    if (!dispatcher_init(
            &self->dispatcher, platform,
            (struct dispatch_rule){static_plan_rank, static_plan_configure, least_loaded_place},
            parameters, error))
        return false;
    self->chosen = SIM_NONE;
    self->loads = load_index_create(platform);
    return true;
}

static void least_loaded_on_finish(void *state, struct platform *platform,
                                   const struct finished_batch *batch)
{
    const struct least_loaded *self = state;
    dispatcher_on_finish(state, platform, batch);
    load_index_update(self->loads, platform, batch->invoker);
}

static bool least_loaded_decide(void *state, struct platform *platform)
{
    struct least_loaded *self = state;
    const bool more = dispatcher_decide(self, platform);
    if (self->chosen != SIM_NONE)
        load_index_update(self->loads, platform, self->chosen);
    self->chosen = SIM_NONE;
    return more;
}

static const struct key least_loaded_parameters[] = {
    DISPATCHER_PARAMETERS(1),
    DISPATCHER_SPLIT_PARAMETER,
    PARAMETER_WORD(least_loaded, warm, WORDS("prefer", "ignore"), WARM_PREFER,
                   "prefer invokers with an idle container"),
    KEY_END,
};

const struct policy policy_least_loaded = {
    .abi = POLICY_ABI,
    .name = "least-loaded",
    .summary = "requests in order of arrival, each to the invoker with the fewest running batches",
    .parameters = least_loaded_parameters,
    .parameters_bytes = sizeof(struct least_loaded_parameters),
    .state_bytes = sizeof(struct least_loaded),
    .init = least_loaded_init,
    .on_ready = dispatcher_on_ready,
    .on_withdrawn = dispatcher_on_withdrawn,
    .on_finish = least_loaded_on_finish,
    .decide = least_loaded_decide,
};
