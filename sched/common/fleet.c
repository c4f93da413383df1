/* A deployment's instances are a list of ids. The way back, from an id to its deployment, is an
 * array by id. A queue's slot names its deployment. */
#include "sched/common/fleet.h"

#include <string.h>

#include "sched/memory.h"

enum { INSTANCES_FIRST = 64 };

/* ---- Set-up ---------------------------------------------------------------------------------- */

void *fleet_open(struct fleet *fleet, struct platform *platform, size_t bytes, double period_s,
                 size_t window)
{
    struct arena *arena = platform_arena(platform);
    const struct workload *workload = platform_workload(platform);
    *fleet = (struct fleet){.platform = platform,
                            .arena = arena,
                            .workload = workload,
                            .deployments = arena_allocate(arena, workload->queue_count, bytes),
                            .bytes = bytes,
                            .period_s = period_s,
                            .window = window};
    fleet->slots = arena_allocate(arena, workload->queue_count, sizeof *fleet->slots);
    unique_fifo_init(&fleet->turns, arena, workload->queue_count);
    return fleet->deployments;
}

void fleet_add_queue(struct fleet *fleet, const struct planner *planner, uint32_t queue,
                     uint32_t first)
{
    const uint32_t function = platform_queue_function(fleet->platform, queue);
    const uint32_t application = platform_queue_application(fleet->platform, queue);
    const sim_time_t budget =
        planner_budget(planner, queue, fleet->workload->applications[application].slo);
    uint32_t index = first;
    while (index < fleet->deployment_count && fleet_at(fleet, index)->function != function)
        index++;
    struct fleet_deployment *deployment = fleet_at(fleet, index);
    if (index == fleet->deployment_count) {
        fleet->deployment_count++;
        deployment->function = function;
        deployment->budget = SIM_FOREVER;
        deployment->samples =
            arena_allocate(fleet->arena, fleet->window, sizeof *deployment->samples);
    }
    deployment->budget = budget < deployment->budget ? budget : deployment->budget;
    backlog_add(&deployment->backlog, fleet->arena, &fleet->slots[queue], index, queue);
}

void fleet_start(struct fleet *fleet)
{
    for (uint32_t d = 0; d < fleet->deployment_count; d++)
        backlog_start(&fleet_at(fleet, d)->backlog, fleet->arena);
}

/* ---- Events ---------------------------------------------------------------------------------- */

sim_time_t fleet_tick_begin(const struct fleet *fleet)
{
    const sim_time_t now = platform_now(fleet->platform);
    return fleet->on_the_clock ? now - now % sim_from_s(fleet->period_s) : now;
}

static void set_tick(const struct fleet *fleet)
{
    platform_set_timer(fleet->platform, fleet_tick_begin(fleet) + sim_from_s(fleet->period_s),
                       FLEET_TICK);
}

uint32_t fleet_arrived(struct fleet *fleet, uint32_t queue)
{
    const uint32_t index = fleet->slots[queue].owner;
    if (!fleet->ticking)
        set_tick(fleet);
    fleet->ticking = true;
    fleet_at(fleet, index)->arrivals++;
    fleet_refresh(fleet, queue);
    unique_fifo_add(&fleet->turns, index);
    return index;
}

void fleet_refresh(struct fleet *fleet, uint32_t queue)
{
    struct backlog_slot *slot = &fleet->slots[queue];
    backlog_update(&fleet_at(fleet, slot->owner)->backlog, slot, fleet->platform);
}

bool fleet_ticks(struct fleet *fleet, uint32_t timer)
{
    if (timer != FLEET_TICK)
        return false;
    fleet->ticks++;
    set_tick(fleet);
    return true;
}

void fleet_idle(struct fleet *fleet, uint32_t id)
{
    const struct fleet_instance *instance = &fleet->instances[id];
    struct fleet_deployment *deployment = fleet_at(fleet, instance->deployment);
    deployment->reap = deployment->reap || instance->draining;
    fleet->freed = true;
    unique_fifo_add(&fleet->turns, instance->deployment);
}

void fleet_on_ready(void *state, struct platform *platform, uint32_t queue)
{
    (void)fleet_arrived(state, queue);
}

void fleet_on_withdrawn(void *state, struct platform *platform, uint32_t queue, uint32_t instance)
{
    fleet_refresh(state, queue);
}

void fleet_on_instance_ready(void *state, struct platform *platform, uint32_t instance)
{
    fleet_idle(state, instance);
}

double fleet_rate(const struct fleet *fleet, struct fleet_deployment *deployment)
{
    uint64_t *oldest = &deployment->samples[fleet->ticks % fleet->window];
    const size_t seen = fleet->ticks < fleet->window ? fleet->ticks : fleet->window;
    deployment->in_window += deployment->arrivals - *oldest;
    *oldest = deployment->arrivals;
    deployment->arrivals = 0;
    return (double)deployment->in_window / ((double)seen * fleet->period_s);
}

/* ---- Instances ------------------------------------------------------------------------------- */

static void instances_reserve(struct fleet *fleet, uint32_t id)
{
    const uint32_t before = fleet->instance_room;
    uint32_t room = before > 0 ? before : INSTANCES_FIRST;
    while (room <= id)
        room *= 2;
    if (room == before)
        return;
    fleet->instances =
        arena_reallocate(fleet->arena, fleet->instances, room, sizeof *fleet->instances);
    fleet->instance_room = room;
    for (uint32_t i = before; i < room; i++)
        fleet->instances[i].deployment = SIM_NONE;
}

uint32_t fleet_create(struct fleet *fleet, uint32_t deployment,
                      const struct instance_request *request)
{
    struct fleet_deployment *owner = fleet_at(fleet, deployment);
    const uint32_t id = platform_create(fleet->platform, request);
    if (id == SIM_NONE)
        return SIM_NONE;
    instances_reserve(fleet, id);
    fleet->instances[id] = (struct fleet_instance){.deployment = deployment};
    *ARENA_NEXT(fleet->arena, owner->instances, owner->instance_count) = id;
    fleet->starving -= owner->starving ? 1 : 0;
    owner->starving = false;
    unique_fifo_add(&fleet->turns, deployment);
    return id;
}

uint32_t fleet_end(struct fleet *fleet, uint32_t id)
{
    struct fleet_deployment *owner = fleet_at(fleet, fleet->instances[id].deployment);
    uint32_t at = 0;
    if (!platform_kill(fleet->platform, id))
        return SIM_NONE;
    while (owner->instances[at] != id)
        at++;
    owner->instance_count--;
    if (fleet->unordered)
        owner->instances[at] = owner->instances[owner->instance_count];
    else
        memmove(&owner->instances[at], &owner->instances[at + 1],
                (owner->instance_count - at) * sizeof id);
    fleet->instances[id].deployment = SIM_NONE;
    return at;
}

uint32_t fleet_route(struct fleet *fleet, uint32_t id, uint32_t jobs)
{
    const struct fleet_deployment *deployment = fleet_at(fleet, fleet->instances[id].deployment);
    uint32_t routed = 0;
    for (; routed < jobs; routed++) {
        const uint32_t queue = backlog_oldest(&deployment->backlog);
        if (queue == SIM_NONE || !platform_route(fleet->platform, queue, id))
            break;
        fleet_refresh(fleet, queue);
    }
    platform_charge(fleet->platform, routed);
    return routed;
}

bool fleet_return(struct fleet *fleet, uint32_t id)
{
    const struct backlog *backlog = &fleet_at(fleet, fleet->instances[id].deployment)->backlog;
    if (!platform_return(fleet->platform, id))
        return false;
    for (uint32_t i = 0; i < backlog->queue_count; i++)
        fleet_refresh(fleet, backlog->queues[i]);
    return true;
}

void fleet_reap(struct fleet *fleet, struct fleet_deployment *deployment,
                void (*end)(void *policy, uint32_t id), void *policy)
{
    deployment->reap = false;
    for (uint32_t i = deployment->instance_count; i-- > 0;) {
        const uint32_t id = deployment->instances[i];
        if (fleet->instances[id].draining && fleet_state(fleet, id) != INSTANCE_BUSY)
            end(policy, id);
    }
}

/* ---- A cluster without room ------------------------------------------------------------------ */

void fleet_starve(struct fleet *fleet, struct fleet_deployment *deployment)
{
    deployment->starving = true;
    fleet->starving++;
}

uint32_t fleet_hungriest(struct fleet *fleet, bool forget)
{
    uint32_t found = SIM_NONE;
    sim_time_t since = SIM_FOREVER;
    for (uint32_t d = 0; d < fleet->deployment_count; d++) {
        struct fleet_deployment *deployment = fleet_at(fleet, d);
        if (!deployment->starving)
            continue;
        const sim_time_t here = backlog_since(&deployment->backlog);
        if (here < since) {
            since = here;
            found = d;
        } else if (forget && here == SIM_FOREVER) {
            deployment->starving = false;
            fleet->starving--;
        }
    }
    return found;
}

uint32_t fleet_spare(const struct fleet *fleet, sim_time_t since,
                     uint64_t (*worth)(const struct fleet *fleet, const void *policy, uint32_t id,
                                       sim_time_t since),
                     const void *policy)
{
    uint32_t best = SIM_NONE;
    uint64_t most = 0;
    for (uint32_t d = 0; d < fleet->deployment_count; d++) {
        const struct fleet_deployment *deployment = fleet_at(fleet, d);
        platform_charge(fleet->platform, deployment->instance_count);
        for (uint32_t i = deployment->instance_count; i-- > 0;) {
            const uint64_t here = worth(fleet, policy, deployment->instances[i], since);
            if (here <= most)
                continue;
            best = deployment->instances[i];
            most = here;
        }
    }
    return best;
}
