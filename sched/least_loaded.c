/* Least loaded: every batch to the invoker that runs the fewest.
 *
 * Decides the invoker alone: the one with the fewest running batches among those with room
 * (Winston, Journal of Applied Probability 14, 1977: joining the shortest queue is optimal for like
 * servers and exponential service) [recall]. A heap of the invokers by running batches is brought
 * up to date for the one invoker that a dispatch or a finish concerns, so that no decision scans
 * them all.
 *
 * Porting assumptions [derived]:
 * - The platform's invokers hold no queues, so load is the batches that hold resources there, and a
 *   batch waits at the controller while none has room.
 * - Invokers with an idle container of the function come first, then those where one must start;
 *   `warm` "ignore" asks for room alone. Ties go to the lowest number, which keeps containers busy.
 * - Order and configuration are those of "fifo": requests in order of arrival, one static
 *   configuration a stage. Parameter `placement` is without effect.
 */
#include <stdlib.h>

#include "sched/common/arrival_plan.h"

struct least_loaded {
    struct dispatcher dispatcher; /* first, so that its functions take this state as it is */
    struct queue_order *invokers; /* by running batches */
    uint32_t *passed;             /* scratch: invokers without room */
    uint32_t chosen;              /* the last answer of place, SIM_NONE where none */
    bool ignore_warm;
};

static void refile(const struct least_loaded *state, const struct platform *platform,
                   uint32_t invoker)
{
    queue_order_set(state->invokers, invoker,
                    (struct queue_rank){platform_running_batches(platform, invoker), 0});
}

/* Takes the least loaded out until one has room, then files them again: as many steps as there are
 * fuller-packed invokers of less load, most often none. */
static uint32_t least_with_room(struct least_loaded *state, struct platform *platform,
                                uint32_t function, uint32_t configuration, bool warm)
{
    if (platform_best_fit(platform, function, configuration, warm) == SIM_NONE)
        return SIM_NONE;
    uint32_t found = SIM_NONE;
    uint32_t passed = 0;
    while (found == SIM_NONE) {
        const uint32_t invoker = queue_order_first(state->invokers, NULL);
        if (invoker == SIM_NONE)
            break;
        if (warm ? platform_fits_warm(platform, function, configuration, invoker)
                 : platform_fits(platform, function, configuration, invoker)) {
            found = invoker;
            break;
        }
        queue_order_remove(state->invokers, invoker);
        state->passed[passed++] = invoker;
    }
    platform_charge(platform, passed);
    while (passed > 0)
        refile(state, platform, state->passed[--passed]);
    return found;
}

static uint32_t least_loaded_place(void *state, struct platform *platform, uint32_t queue,
                                   uint32_t configuration, bool warm_only)
{
    struct least_loaded *self = state;
    const uint32_t function = platform_queue_function(platform, queue);
    self->chosen = SIM_NONE;
    if (warm_only || (!self->ignore_warm && platform_warm_total(platform, function) > 0))
        self->chosen = least_with_room(self, platform, function, configuration, true);
    if (self->chosen == SIM_NONE && !warm_only)
        self->chosen = least_with_room(self, platform, function, configuration, false);
    return self->chosen;
}

static void least_loaded_finish(void *state)
{
    struct least_loaded *self = state;
    dispatcher_finish(&self->dispatcher);
    queue_order_destroy(self->invokers);
    free(self->passed);
    self->invokers = NULL;
    self->passed = NULL;
}

static bool least_loaded_init(void *state, struct platform *platform, const double *values,
                              struct error *error)
{
    struct least_loaded *self = state;
    const uint32_t invokers = platform_workload(platform)->cluster.invoker_count;
    const double *own = values + DISPATCHER_PARAMETER_COUNT;
    if (!dispatcher_init(&self->dispatcher, platform,
                         (struct dispatch_rule){arrival_plan_rank, arrival_plan_configure}, values,
                         (enum planner_split)own[0], error))
        return false;
    self->dispatcher.place = least_loaded_place;
    self->chosen = SIM_NONE;
    self->ignore_warm = own[1] > 0;
    self->invokers = queue_order_create(invokers);
    self->passed = calloc((size_t)invokers + 1, sizeof *self->passed);
    if (self->invokers == NULL || self->passed == NULL) {
        least_loaded_finish(self);
        return error_run(error, "out of memory for an index of %u invokers", invokers);
    }
    for (uint32_t i = 0; i < invokers; i++)
        refile(self, platform, i);
    return true;
}

static void least_loaded_on_finish(void *state, struct platform *platform,
                                   const struct finished_batch *batch)
{
    dispatcher_on_finish(state, platform, batch);
    refile(state, platform, batch->invoker);
}

static bool least_loaded_decide(void *state, struct platform *platform)
{
    struct least_loaded *self = state;
    const bool more = dispatcher_decide(self, platform);
    if (self->chosen != SIM_NONE)
        refile(self, platform, self->chosen);
    self->chosen = SIM_NONE;
    return more;
}

static const struct parameter least_loaded_parameters[] = {
    DISPATCHER_PARAMETERS(1),
    DISPATCHER_SPLIT_PARAMETER,
    {"warm", 0, 0, 1, "prefer|ignore", "invokers with an idle container before all others"},
};

extern const struct policy policy_least_loaded;
const struct policy policy_least_loaded = {
    .abi = POLICY_ABI,
    .name = "least-loaded",
    .summary = "requests in order of arrival, each to the invoker with the fewest running batches",
    .parameters = least_loaded_parameters,
    .parameter_count = sizeof least_loaded_parameters / sizeof *least_loaded_parameters,
    .state_bytes = sizeof(struct least_loaded),
    .init = least_loaded_init,
    .on_ready = dispatcher_on_ready,
    .on_finish = least_loaded_on_finish,
    .decide = least_loaded_decide,
    .finish = least_loaded_finish,
};
