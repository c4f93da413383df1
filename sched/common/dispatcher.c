#include "sched/common/dispatcher.h"
#include "sched/memory.h"

#include "sched/common/kinds.h"

bool dispatcher_init(struct dispatcher *dispatcher, struct platform *platform,
                     struct dispatch_rule rule, const void *parameters, struct error *error)
{
    const struct workload *workload = platform_workload(platform);
    dispatcher->rule = rule;
    dispatcher->kinds = KINDS_ALL;
    dispatcher->parameters = *(const struct dispatcher_parameters *)parameters;
    dispatcher->own = parameters;
    dispatcher->order = queue_order_create(platform_arena(platform), workload->queue_count);
    dispatcher->running =
        platform_allocate(platform, workload->function_count, sizeof *dispatcher->running);
    dispatcher->skipped =
        platform_allocate(platform, workload->queue_count, sizeof *dispatcher->skipped);
    dispatcher->planner =
        planner_create(platform_arena(platform), workload, dispatcher->parameters.max_batch,
                       dispatcher->parameters.split, error);
    return dispatcher->planner != NULL;
}

uint32_t dispatcher_configure_slack(const void *state, const struct platform *platform,
                                    uint32_t queue, uint32_t jobs)
{
    const struct dispatcher *dispatcher = state;
    const sim_time_t slack = platform_job(platform, queue, 0).deadline - platform_now(platform);
    return planner_cheapest_among(dispatcher->planner, dispatcher->kinds,
                                  platform_queue_function(platform, queue), jobs,
                                  planner_budget_left(dispatcher->planner, queue, slack));
}

/* Updates the queue's rank, or removes the queue if it is empty. */
static void refresh(struct dispatcher *dispatcher, const struct platform *platform, uint32_t queue)
{
    if (platform_queue_length(platform, queue) == 0)
        queue_order_remove(dispatcher->order, queue);
    else
        queue_order_set(dispatcher->order, queue,
                        dispatcher->rule.rank(dispatcher, platform, queue));
}

void dispatcher_on_ready(void *state, struct platform *platform, uint32_t queue)
{
    refresh(state, platform, queue);
}

void dispatcher_on_withdrawn(void *state, struct platform *platform, uint32_t queue,
                             uint32_t instance)
{
    refresh(state, platform, queue);
}

void dispatcher_on_finish(void *state, struct platform *platform,
                          const struct finished_batch *batch)
{
    struct dispatcher *dispatcher = state;
    dispatcher->running[platform_queue_function(platform, batch->queue)]--;
}

static inline uint32_t first_by_now(struct dispatcher *dispatcher, const struct platform *platform)
{
    for (;;) {
        struct queue_rank known;
        const uint32_t queue = queue_order_first(dispatcher->order, &known);
        if (queue == SIM_NONE)
            return SIM_NONE;
        const struct queue_rank now = dispatcher->rule.rank(dispatcher, platform, queue);
        if (now.first == known.first && now.second == known.second)
            return queue;
        queue_order_set(dispatcher->order, queue, now);
    }
}

uint32_t dispatcher_first(struct dispatcher *dispatcher, const struct platform *platform)
{
    return first_by_now(dispatcher, platform);
}

static uint32_t invoker_for(struct dispatcher *dispatcher, struct platform *platform,
                            uint32_t queue, uint32_t function, uint32_t configuration)
{
    if (dispatcher->rule.place != NULL)
        return dispatcher->rule.place(dispatcher, platform, queue, configuration);
    const uint64_t changes = platform_changes(platform);
    if (dispatcher->nowhere.changes == changes && dispatcher->nowhere.function == function &&
        dispatcher->nowhere.configuration == configuration)
        return SIM_NONE;
    const uint32_t invoker =
        placement_choose(platform, queue, configuration, dispatcher->parameters.placement, false);
    if (invoker == SIM_NONE) {
        dispatcher->nowhere.changes = changes;
        dispatcher->nowhere.function = function;
        dispatcher->nowhere.configuration = configuration;
    }
    return invoker;
}

/* Configures and places a batch of the queue on the best kind of GPU that has room. SIM_NONE if
 * none has; else `configuration` receives its configuration. */
static uint32_t place_best(struct dispatcher *dispatcher, struct platform *platform, uint32_t queue,
                           uint32_t function, uint32_t jobs, uint32_t *configuration)
{
    const struct workload *workload = platform_workload(platform);
    uint32_t invoker = SIM_NONE;
    for (uint32_t tried = 0; tried < workload->kind_count && invoker == SIM_NONE; tried++) {
        *configuration = dispatcher->rule.configure(dispatcher, platform, queue, jobs);
        if (*configuration == SIM_NONE)
            break;
        invoker = invoker_for(dispatcher, platform, queue, function, *configuration);
        if (invoker == SIM_NONE && workload->kind_count > 1)
            dispatcher->kinds =
                kinds_without(dispatcher->kinds,
                              workload->functions[function].configurations[*configuration].kind);
    }
    dispatcher->kinds = KINDS_ALL;
    return invoker;
}

/* Dispatches one batch of `queue` if it fits. */
static bool dispatch_head(struct dispatcher *dispatcher, struct platform *platform, uint32_t queue)
{
    const struct workload *workload = platform_workload(platform);
    const uint32_t function = platform_queue_function(platform, queue);
    uint32_t configuration = SIM_NONE;
    uint32_t jobs = platform_queue_length(platform, queue);
    if (jobs > dispatcher->parameters.max_batch)
        jobs = dispatcher->parameters.max_batch;
    const uint32_t invoker =
        place_best(dispatcher, platform, queue, function, jobs, &configuration);
    if (invoker == SIM_NONE)
        return false;
    const uint32_t batch = workload->functions[function].configurations[configuration].batch;
    platform_charge(platform, 1);
    if (dispatcher->planned != NULL)
        platform_planned(platform, dispatcher->planned(dispatcher, queue));
    if (!platform_dispatch(platform, queue, batch < jobs ? batch : jobs, configuration, invoker))
        return false;
    dispatcher->running[function]++;
    refresh(dispatcher, platform, queue);
    return true;
}

bool dispatcher_decide(void *state, struct platform *platform)
{
    struct dispatcher *dispatcher = state;
    uint32_t skipped = 0;
    bool dispatched = false;
    if (queue_order_first(dispatcher->order, NULL) == SIM_NONE)
        return false; /* the usual case after a finished batch */
    while (!dispatched) {
        const uint32_t queue = first_by_now(dispatcher, platform);
        if (queue == SIM_NONE)
            break;
        dispatched = dispatch_head(dispatcher, platform, queue);
        if (dispatched || dispatcher->parameters.head_of_line == HEAD_OF_LINE_STRICT)
            break;
        queue_order_remove(dispatcher->order, queue);
        dispatcher->skipped[skipped++] = queue;
    }
    for (uint32_t i = 0; i < skipped; i++)
        refresh(dispatcher, platform, dispatcher->skipped[i]);
    return dispatched && queue_order_first(dispatcher->order, NULL) != SIM_NONE;
}
