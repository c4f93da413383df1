#include <math.h>

#include "sched/infless/pool.h"

void infless_due(struct infless *self, uint32_t id)
{
    struct infless_instance *instance = &self->instances[id];
    struct infless_pool *pool = infless_pool_of(self, id);
    if (!instance->due) {
        instance->due = true;
        instance->next_due = pool->due;
        pool->due = id;
    }
    infless_touch(self, pool);
}

void infless_draw(struct infless *self, uint32_t queue)
{
    struct infless_pool *pool = &self->pools[self->fleet.slots[queue].owner];
    pool->failed += pool->failing;
    if (pool->failed < 1)
        return;
    pool->failed--;
    self->failing[queue]++;
}

bool infless_fail(struct infless *self, struct infless_pool *pool)
{
    struct platform *platform = self->fleet.platform;
    const struct backlog *backlog = &pool->base.backlog;
    bool acted = false;
    for (uint32_t i = 0; i < backlog->queue_count; i++) {
        const uint32_t queue = backlog->queues[i];
        for (; self->failing[queue] > 0; self->failing[queue]--) {
            const uint32_t length = platform_queue_length(platform, queue);
            if (length == 0 || !platform_drop(platform, queue, length - 1))
                continue;
            acted = true;
        }
    }
    return acted;
}

/* A buffer holds one batch, and takes none before the instance has started. */
static bool has_room(const struct infless *self, uint32_t id)
{
    const struct instance_view view = platform_instance(self->fleet.platform, id);
    return view.state != INSTANCE_STARTING && view.buffered < self->instances[id].candidate.batch;
}

static bool needs_less(const struct infless_instance *left, const struct infless_instance *right)
{
    if (left->makeshift != right->makeshift)
        return right->makeshift;
    return left->candidate.bounds.low < right->candidate.bounds.low;
}

/* All instances are retired and jobs arrive again: reactivates the one that needs the least load,
 * makeshift ones last. */
static void reactivate(struct infless *self, struct infless_pool *pool)
{
    uint32_t best = SIM_NONE;
    for (size_t i = 0; i < pool->base.instance_count; i++) {
        const uint32_t id = pool->base.instances[i];
        if (fleet_state(&self->fleet, id) == INSTANCE_STARTING)
            continue;
        if (self->instances[id].rate > 0)
            return;
        if (best == SIM_NONE || needs_less(&self->instances[id], &self->instances[best]))
            best = id;
    }
    if (best == SIM_NONE)
        return;
    self->instances[best].rate = self->instances[best].candidate.bounds.up;
    self->instances[best].idle_steps = 0;
    infless_rates_changed(pool);
}

/* The smallest positive rate of the pool's instances. */
static double least_rate(const struct infless *self, struct infless_pool *pool)
{
    if (pool->least_rate > 0)
        return pool->least_rate;
    double least = INFINITY;
    for (size_t i = 0; i < pool->base.instance_count; i++) {
        const double rate = self->instances[pool->base.instances[i]].rate;
        least = rate > 0 && rate < least ? rate : least;
    }
    pool->least_rate = least;
    return least;
}

/* Deficit round robin. A turn adds the instance's rate divided by the least rate, so that every
 * turn is worth at least one job. SIM_NONE if all buffers are full. */
static uint32_t next_instance(struct infless *self, struct infless_pool *pool)
{
    const double least = least_rate(self, pool);
    for (size_t turn = 0; turn <= pool->base.instance_count; turn++) {
        const uint32_t id = pool->base.instances[pool->cursor];
        struct infless_instance *instance = &self->instances[id];
        if (instance->rate > 0 && has_room(self, id)) {
            if (instance->deficit >= 1) {
                instance->deficit--;
                return id;
            }
        } else {
            instance->deficit = 0;
        }
        pool->cursor = (pool->cursor + 1) % pool->base.instance_count;
        struct infless_instance *next = &self->instances[pool->base.instances[pool->cursor]];
        next->deficit += next->rate / least;
    }
    return SIM_NONE;
}

/* Launches the buffer of an idle instance if it is full or timed out. */
static bool launch_due(struct infless *self, uint32_t id)
{
    struct platform *platform = self->fleet.platform;
    struct infless_instance *instance = &self->instances[id];
    const struct infless_candidate *candidate = &instance->candidate;
    const struct instance_view view = platform_instance(platform, id);
    if (view.state != INSTANCE_IDLE || view.buffered == 0)
        return false;
    const bool full = view.buffered >= candidate->batch;
    const sim_time_t closes =
        platform_buffered_job(platform, id, 0).ready + candidate->bounds.timeout;
    if (!full && platform_now(platform) < closes) {
        if (instance->rings != closes)
            platform_set_timer(platform, closes, id);
        instance->rings = closes;
        return false;
    }
    const struct configuration *one =
        &self->workload->functions[view.function].configurations[view.configuration];
    infless_pool_of(self, id)->full = false;
    platform_explain(platform, instance->alternatives, one->cost_usd, candidate->time);
    return platform_launch(platform, id, full ? candidate->batch : view.buffered);
}

static bool launch_all_due(struct infless *self, struct infless_pool *pool)
{
    bool acted = false;
    while (pool->due != SIM_NONE) {
        const uint32_t id = pool->due;
        pool->due = self->instances[id].next_due;
        self->instances[id].due = false;
        acted |= launch_due(self, id);
    }
    return acted;
}

bool infless_route(struct infless *self, struct infless_pool *pool)
{
    bool acted = launch_all_due(self, pool);
    if (pool->base.instance_count == 0 || pool->full)
        return acted;
    if (pool->base.backlog.waiting > 0)
        reactivate(self, pool);
    while (pool->base.backlog.waiting > 0) {
        const uint32_t id = next_instance(self, pool);
        pool->full = id == SIM_NONE;
        if (pool->full || fleet_route(&self->fleet, id, 1) == 0)
            break;
        acted = true;
        infless_due(self, id);
        if (!has_room(self, id))
            launch_all_due(self, pool);
    }
    return launch_all_due(self, pool) || acted;
}
