#include <stdlib.h>

#include "sim/state.h"

/* A container that went at once and is to be started anew. */
struct reload {
    uint32_t function, invoker;
    uint64_t uses; /* of the function so far: one more, and the plan is void */
    sim_time_t until;
    uint32_t next_free;
};

static struct kept_container kept_view(const struct container *container)
{
    return (struct kept_container){.function = container->function,
                                   .invoker = container->invoker,
                                   .idle_since = container->idle_since,
                                   .stamp = container->stamp};
}

/* cluster.rank. */
static double keeping_rank(void *context, const struct container *container)
{
    const struct platform *platform = context;
    const struct kept_container view = kept_view(container);
    return platform->keeping.policy->priority(platform->keeping.state, &view);
}

bool keeping_init(struct platform *platform)
{
    struct keeping *keeping = &platform->keeping;
    const struct platform_spec *spec = &platform->experiment->platform;
    const struct keep_alive *policy = spec->keeper;
    keeping->policy = policy;
    keeping->reload_free = SIM_NONE;
    if (policy == NULL)
        return true;
    keeping->state = calloc(1, policy->state_bytes > 0 ? policy->state_bytes : 1);
    keeping->uses = calloc(platform->workload->function_count, sizeof *keeping->uses);
    if (keeping->state == NULL || keeping->uses == NULL)
        return error_run(platform->error, "out of memory for keep-alive %s", policy->name);
    platform->cluster.rank = policy->priority != NULL ? keeping_rank : NULL;
    return policy->init == NULL ||
           policy->init(keeping->state, platform->workload, spec->keeper_values, platform->error);
}

void keeping_clear(struct platform *platform)
{
    struct keeping *keeping = &platform->keeping;
    if (keeping->state != NULL && keeping->policy->finish != NULL)
        keeping->policy->finish(keeping->state);
    free(keeping->state);
    free(keeping->uses);
    free(keeping->reloads);
}

void keeping_use(struct platform *platform, uint32_t id)
{
    struct keeping *keeping = &platform->keeping;
    const struct container *container = &platform->cluster.containers[id];
    if (keeping->policy == NULL)
        return;
    keeping->uses[container->function]++;
    if (keeping->policy->on_use != NULL)
        keeping->policy->on_use(keeping->state, container->function, container->invoker,
                                platform->now);
}

static bool reloads_grow(struct keeping *keeping)
{
    uint32_t old = keeping->reload_capacity;
    uint32_t capacity = old == 0 ? 16 : 2 * old;
    struct reload *grown = realloc(keeping->reloads, capacity * sizeof *grown);
    if (grown == NULL)
        return false;
    for (uint32_t i = old; i < capacity; i++)
        grown[i].next_free = i + 1 < capacity ? i + 1 : SIM_NONE;
    keeping->reloads = grown;
    keeping->reload_capacity = capacity;
    keeping->reload_free = old;
    return true;
}

static void reload_plan(struct platform *platform, const struct container *container,
                        const struct keep_windows *windows)
{
    struct keeping *keeping = &platform->keeping;
    if (windows->prewarm_after >= windows->keep_for)
        return;
    if (keeping->reload_free == SIM_NONE && !reloads_grow(keeping)) {
        platform_fail(platform, "out of memory for containers to be started anew");
        return;
    }
    uint32_t id = keeping->reload_free;
    struct reload *reload = &keeping->reloads[id];
    keeping->reload_free = reload->next_free;
    *reload = (struct reload){
        .function = container->function,
        .invoker = container->invoker,
        .uses = keeping->uses[container->function],
        .until = windows->keep_for >= SIM_FOREVER ? SIM_FOREVER : platform->now + windows->keep_for,
        .next_free = SIM_NONE};
    platform_schedule(platform, platform->now + windows->prewarm_after, EVENT_CONTAINER_RELOAD, id);
}

void keeping_reload(struct platform *platform, uint32_t id)
{
    struct keeping *keeping = &platform->keeping;
    const struct reload reload = keeping->reloads[id];
    keeping->reloads[id].next_free = keeping->reload_free;
    keeping->reload_free = id;
    if (reload.uses == keeping->uses[reload.function])
        containers_prewarm_until(platform, reload.function, reload.invoker, reload.until);
}

/* By the keep-alive policy that the experiment names. */
static sim_time_t keeping_ask(struct platform *platform, uint32_t id, bool used)
{
    const struct keeping *keeping = &platform->keeping;
    struct container *container = &platform->cluster.containers[id];
    const struct kept_container view = kept_view(container);
    const struct keep_windows windows =
        keeping->policy->on_idle(keeping->state, &view, used, platform->now);
    container->stamp = windows.stamp;
    if (used && windows.prewarm_after > 0) {
        reload_plan(platform, container, &windows);
        return 0;
    }
    if (used || container->expiry == 0)
        return windows.keep_for;
    return container->expiry >= SIM_FOREVER ? SIM_FOREVER : container->expiry - platform->now;
}

sim_time_t keeping_time(struct platform *platform, uint32_t id, bool used)
{
    const struct policy *policy = platform->policy;
    if (platform->keeping.policy != NULL)
        return keeping_ask(platform, id, used);
    if (policy->keep_alive == NULL)
        return platform->experiment->platform.keep_alive;
    const struct container *container = &platform->cluster.containers[id];
    return policy_call_keep_alive(platform, container->function, container->invoker);
}

void keeping_abandon(struct platform *platform, uint32_t id)
{
    const struct keeping *keeping = &platform->keeping;
    const struct kept_container view = kept_view(&platform->cluster.containers[id]);
    if (keeping->policy != NULL)
        keeping->policy->on_idle(keeping->state, &view, true, platform->now);
}

sim_time_t keeping_extend(struct platform *platform, uint32_t id)
{
    const struct keeping *keeping = &platform->keeping;
    if (keeping->policy == NULL || keeping->policy->on_expiry == NULL)
        return 0;
    const struct kept_container view = kept_view(&platform->cluster.containers[id]);
    return keeping->policy->on_expiry(keeping->state, &view, platform->now);
}

void keeping_evicted(struct platform *platform, const struct container *container)
{
    const struct keeping *keeping = &platform->keeping;
    const struct cluster *cluster = &platform->cluster;
    if (keeping->policy == NULL || keeping->policy->on_evict == NULL)
        return;
    const struct kept_container view = kept_view(container);
    keeping->policy->on_evict(
        keeping->state, &view, cluster->pressing,
        pools_container_count(cluster, container->invoker, container->function));
}
