#include "sim/platform/keep_alive.h"
#include "sim/platform/containers.h"
#include "sim/platform/policy_calls.h"
#include "sim/platform/simulation_internal.h"
#include "sim/platform/state.h"

/* A plan to prewarm a replacement for a container that was evicted immediately after its use. */
struct reload {
    uint32_t function, invoker;
    uint64_t uses; /* of the function so far; any further use cancels the plan */
    sim_time_t until;
    uint32_t next_free;
};

static struct idle_container kept_view(const struct container *container)
{
    return (struct idle_container){.function = container->function,
                                   .invoker = container->invoker,
                                   .idle_since = container->idle_since,
                                   .stamp = container->stamp};
}

/* Implements cluster.rank. */
static double keep_alive_rank(void *context, const struct container *container)
{
    const struct platform *platform = context;
    const struct idle_container view = kept_view(container);
    return platform->keep_alive_state.policy->priority(platform->keep_alive_state.state, &view);
}

bool keep_alive_init(struct platform *platform)
{
    struct keep_alive_state *keep_alive_state = &platform->keep_alive_state;
    const struct platform_spec *spec = &platform->experiment->platform;
    const struct keep_alive *policy = spec->keep_alive_policy;
    keep_alive_state->policy = policy;
    keep_alive_state->reload_free = SIM_NONE;
    if (policy == NULL)
        return true;
    keep_alive_state->state = arena_allocate(&platform->arena, 1, policy->state_bytes);
    keep_alive_state->uses = arena_allocate(&platform->arena, platform->workload->function_count,
                                            sizeof *keep_alive_state->uses);
    platform->cluster.rank = policy->priority != NULL ? keep_alive_rank : NULL;
    void *parameters = arena_allocate(&platform->arena, 1, policy->parameters_bytes);
    return parameters_fill(policy->parameters, spec->keep_alive_values,
                           "platform.keep_alive.params", parameters, platform->error) &&
           (policy->init == NULL || policy->init(keep_alive_state->state, &platform->arena,
                                                 platform->planned, parameters, platform->error));
}

void keep_alive_use(struct platform *platform, uint32_t id)
{
    struct keep_alive_state *keep_alive_state = &platform->keep_alive_state;
    const struct container *container = &platform->cluster.containers[id];
    if (keep_alive_state->policy == NULL)
        return;
    keep_alive_state->uses[container->function]++;
    if (keep_alive_state->policy->on_use != NULL)
        keep_alive_state->policy->on_use(keep_alive_state->state, container->function,
                                         container->invoker, platform->now);
}

static uint32_t reload_new(struct platform *platform)
{
    struct keep_alive_state *keep_alive_state = &platform->keep_alive_state;
    uint32_t id = keep_alive_state->reload_free;
    if (id == SIM_NONE) {
        id = keep_alive_state->reload_count++;
        arena_reserve(&platform->arena, &keep_alive_state->reloads, keep_alive_state->reload_count,
                      sizeof *keep_alive_state->reloads);
    } else {
        keep_alive_state->reload_free = keep_alive_state->reloads[id].next_free;
    }
    return id;
}

static void reload_plan(struct platform *platform, const struct container *container,
                        const struct keep_windows *windows)
{
    struct keep_alive_state *keep_alive_state = &platform->keep_alive_state;
    if (windows->prewarm_after >= windows->keep_for)
        return;
    const uint32_t id = reload_new(platform);
    keep_alive_state->reloads[id] = (struct reload){
        .function = container->function,
        .invoker = container->invoker,
        .uses = keep_alive_state->uses[container->function],
        .until = windows->keep_for >= SIM_FOREVER ? SIM_FOREVER : platform->now + windows->keep_for,
        .next_free = SIM_NONE};
    platform_schedule(platform, platform->now + windows->prewarm_after, EVENT_CONTAINER_RELOAD, id);
}

void keep_alive_reload(struct platform *platform, uint32_t id)
{
    struct keep_alive_state *keep_alive_state = &platform->keep_alive_state;
    const struct reload reload = keep_alive_state->reloads[id];
    keep_alive_state->reloads[id].next_free = keep_alive_state->reload_free;
    keep_alive_state->reload_free = id;
    if (reload.uses == keep_alive_state->uses[reload.function])
        containers_prewarm_until(platform, reload.function, reload.invoker, reload.until);
}

/* Asks the experiment's keep-alive policy for the idle time. */
static sim_time_t keep_alive_ask(struct platform *platform, uint32_t id, bool used)
{
    const struct keep_alive_state *keep_alive_state = &platform->keep_alive_state;
    struct container *container = &platform->cluster.containers[id];
    const struct idle_container view = kept_view(container);
    const struct keep_windows windows =
        keep_alive_state->policy->on_idle(keep_alive_state->state, &view, used, platform->now);
    container->stamp = windows.stamp;
    if (used && windows.prewarm_after > 0) {
        reload_plan(platform, container, &windows);
        return 0;
    }
    if (used || container->expiry == 0)
        return windows.keep_for;
    return container->expiry >= SIM_FOREVER ? SIM_FOREVER : container->expiry - platform->now;
}

sim_time_t keep_alive_time(struct platform *platform, uint32_t id, bool used)
{
    const struct policy *policy = platform->policy;
    if (platform->keep_alive_state.policy != NULL)
        return keep_alive_ask(platform, id, used);
    if (policy->keep_alive == NULL)
        return platform->experiment->platform.keep_alive;
    const struct container *container = &platform->cluster.containers[id];
    return policy_call_keep_alive(platform, container->function, container->invoker);
}

void keep_alive_abandon(struct platform *platform, uint32_t id)
{
    const struct keep_alive_state *keep_alive_state = &platform->keep_alive_state;
    const struct idle_container view = kept_view(&platform->cluster.containers[id]);
    if (keep_alive_state->policy != NULL)
        keep_alive_state->policy->on_idle(keep_alive_state->state, &view, true, platform->now);
}

sim_time_t keep_alive_extend(struct platform *platform, uint32_t id)
{
    const struct keep_alive_state *keep_alive_state = &platform->keep_alive_state;
    if (keep_alive_state->policy == NULL || keep_alive_state->policy->on_expiry == NULL)
        return 0;
    const struct idle_container view = kept_view(&platform->cluster.containers[id]);
    return keep_alive_state->policy->on_expiry(keep_alive_state->state, &view, platform->now);
}

void keep_alive_evicted(struct platform *platform, const struct container *container)
{
    const struct keep_alive_state *keep_alive_state = &platform->keep_alive_state;
    const struct cluster *cluster = &platform->cluster;
    if (keep_alive_state->policy == NULL || keep_alive_state->policy->on_evict == NULL)
        return;
    const struct idle_container view = kept_view(container);
    keep_alive_state->policy->on_evict(
        keep_alive_state->state, &view, cluster->pressing,
        pools_container_count(cluster, container->invoker, container->function));
}
