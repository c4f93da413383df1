#include <math.h>
#include <string.h>

#include "sched/common/placement.h"
#include "sched/infless/pool.h"
#include "sched/memory.h"
#include "sched/policy_instances.h"

/* As a fraction of the rate: a smaller excess makes no instances [code]. */
static const double LEAST_EXCESS = 0.03;

/* ---- Slots ----------------------------------------------------------------------------------- */

/* The GPU of `invoker` with the least free units that has room for the candidate. */
static void fullest_gpu(const struct infless *self, uint32_t function,
                        const struct infless_candidate *candidate, struct infless_slot *slot)
{
    const struct platform *platform = self->platform;
    uint32_t least = UINT32_MAX;
    slot->gpu = SIM_NONE;
    if (candidate->vgpu == 0)
        return;
    for (uint32_t g = 0; g < platform_gpu_count(platform, slot->invoker); g++) {
        const uint32_t here = platform_gpu_free(platform, slot->invoker, g);
        if (here >= least ||
            !platform_instance_fits(
                platform, &(struct instance_request){.function = function,
                                                     .configuration = candidate->configuration,
                                                     .quota = 100,
                                                     .invoker = slot->invoker,
                                                     .gpu = g}))
            continue;
        least = here;
        slot->gpu = g;
        slot->free_units = here / 100.0;
    }
}

/* Units of one GPU of the kind on the invoker; 0 if it has none. */
static double units_on(const struct infless *self, uint32_t invoker, uint32_t kind)
{
    const struct invoker_group *group = self->groups[invoker];
    for (size_t g = 0; g < group->gpu_count; g++)
        if (group->gpus[g].kind == kind)
            return group->gpus[g].units;
    return 0;
}

struct slot_search {
    const struct infless *self;
    uint32_t function;
};

/* A slot with an idle container of the function, if these are preferred and one fits; else any
 * slot. Of several the one with the fewest free units, then vCPUs. */
static bool fullest_slot(void *context, const struct infless_candidate *candidate,
                         struct infless_slot *slot)
{
    const struct slot_search *search = context;
    const struct infless *self = search->self;
    struct platform *platform = self->platform;
    uint32_t invoker = SIM_NONE;
    if (self->prefer_warm)
        invoker = platform_best_fit(platform, search->function, candidate->configuration, true);
    const bool warm = invoker != SIM_NONE;
    if (!warm)
        invoker = platform_best_fit(platform, search->function, candidate->configuration, false);
    if (invoker == SIM_NONE)
        return false;
    *slot = (struct infless_slot){.invoker = invoker,
                                  .gpu = SIM_NONE,
                                  .free_vcpus = platform_free_vcpus(platform, invoker),
                                  .free_units =
                                      placement_free_units(platform, invoker, candidate->kind),
                                  .vcpus = self->groups[invoker]->vcpus,
                                  .units = units_on(self, invoker, candidate->kind)};
    /* A warm container's GPU is fixed; the platform finds it. */
    if (!warm)
        fullest_gpu(self, search->function, candidate, slot);
    return true;
}

/* ---- Instances of a pool --------------------------------------------------------------------- */

static void room_for(struct infless *self, struct arena *arena, struct infless_pool *pool,
                     uint32_t id)
{
    arena_reserve(arena, &pool->instances, pool->instance_count + 1, sizeof id);
    arena_reserve(arena, &self->instances, (size_t)id + 1, sizeof *self->instances);
    const size_t room = arena_room(self->instances, sizeof *self->instances);
    for (; self->instance_room < room; self->instance_room++)
        self->instances[self->instance_room] = (struct infless_instance){.pool = SIM_NONE};
}

static bool instance_make(struct infless *self, struct platform *platform,
                          struct infless_pool *pool, const struct infless_choice *choice)
{
    const uint32_t id = platform_create(
        platform, &(struct instance_request){.function = pool->function,
                                             .configuration = choice->candidate->configuration,
                                             .quota = 100,
                                             .invoker = choice->slot.invoker,
                                             .gpu = choice->slot.gpu});
    if (id == SIM_NONE)
        return false;
    room_for(self, platform_arena(platform), pool, id);
    self->instances[id] = (struct infless_instance){.pool = infless_index(self, pool),
                                                    .candidate = *choice->candidate,
                                                    .alternatives = choice->looked,
                                                    .rate = choice->candidate->bounds.up,
                                                    .rings = SIM_FOREVER};
    pool->instances[pool->instance_count++] = id;
    infless_rates_changed(pool);
    self->function_count[pool->function]++;
    if (pool->starving) {
        pool->starving = false;
        self->starving--;
    }
    infless_due(self, id);
    return true;
}

/* After the last instance has ended, sets a timer for LSTH's next container. */
static void prewarm_later(struct infless *self, struct platform *platform, uint32_t function)
{
    sim_time_t prewarm = 0;
    sim_time_t keep_alive = 0;
    const sim_time_t now = platform_now(platform);
    if (!self->use_lsth || self->function_count[function] > 0 ||
        !lsth_windows(&self->lsth[function], now, &prewarm, &keep_alive))
        return;
    const sim_time_t due = self->lsth[function].last + prewarm;
    if (prewarm > 0 && due > now)
        platform_set_timer(platform, due, INFLESS_TIMER_PREWARM | function);
}

/* Ends an instance that is idle and has an empty buffer. */
static void instance_end(struct infless *self, struct platform *platform, uint32_t id)
{
    struct infless_pool *pool = &self->pools[self->instances[id].pool];
    size_t at = 0;
    while (pool->instances[at] != id)
        at++;
    memmove(&pool->instances[at], &pool->instances[at + 1],
            (--pool->instance_count - at) * sizeof *pool->instances);
    if (pool->cursor > at || pool->cursor == pool->instance_count)
        pool->cursor = pool->cursor > 0 ? pool->cursor - 1 : 0;
    for (uint32_t *link = &pool->due; *link != SIM_NONE; link = &self->instances[*link].next_due)
        if (*link == id) {
            *link = self->instances[id].next_due;
            break;
        }
    infless_rates_changed(pool);
    self->instances[id].pool = SIM_NONE;
    self->instances[id].due = false;
    self->function_count[pool->function]--;
    self->freed = true;
    if (platform_kill(platform, id))
        prewarm_later(self, platform, pool->function);
    infless_touch(self, pool);
}

/* ---- Rates ----------------------------------------------------------------------------------- */

/* One missing sample is ignored [code]. */
static void observe(const struct infless *self, struct infless_pool *pool)
{
    const uint64_t seen = self->looked < self->look_count ? self->looked : self->look_count;
    uint64_t arrivals = 0;
    pool->looks[self->looked % self->look_count] = pool->arrivals;
    pool->arrivals = 0;
    for (size_t i = 0; i < self->look_count; i++)
        arrivals += pool->looks[i];
    const bool missing = arrivals == 0 && !pool->missed;
    if (!missing)
        pool->observed = (double)arrivals / ((double)seen * sim_to_s(self->tick));
    pool->missed = missing;
}

/* Collects the pool's instances, makeshift or not; without `all`, only those that have started. */
static size_t collect(const struct infless *self, const struct platform *platform,
                      const struct infless_pool *pool, bool all, bool makeshift)
{
    size_t count = 0;
    for (size_t i = 0; i < pool->instance_count; i++) {
        const uint32_t id = pool->instances[i];
        const struct infless_candidate *candidate = &self->instances[id].candidate;
        if (self->instances[id].makeshift != makeshift ||
            (!all && platform_instance(platform, id).state == INSTANCE_STARTING))
            continue;
        self->share_ids[count] = id;
        self->shares[count++] = (struct infless_share){
            .bounds = candidate->bounds,
            .need = infless_need(&self->rule, candidate->vcpu, candidate->vgpu, candidate->kind)};
    }
    return count;
}

static double sum_up(const struct infless_share *shares, size_t count)
{
    double up = 0;
    for (size_t i = 0; i < count; i++)
        up += shares[i].bounds.up;
    return up;
}

/* The excess is computed from arrivals over all instances except makeshift ones. The started
 * instances divide arrivals and backlog, makeshift ones only if there is no other. The virtual
 * instance gets the arrivals above their capacity, none while no instance has started. */
static void divide(struct infless *self, struct platform *platform, struct infless_pool *pool)
{
    const double backlog = self->backlog ? pool->backlog.waiting / sim_to_s(self->tick) : 0;
    size_t count = collect(self, platform, pool, true, false);
    pool->excess = fmax(pool->observed - sum_up(self->shares, count), 0);
    for (size_t i = 0; i < pool->instance_count; i++)
        if (self->instances[pool->instances[i]].makeshift)
            self->instances[pool->instances[i]].rate = 0;
    count = collect(self, platform, pool, false, false);
    if (count == 0)
        count = collect(self, platform, pool, false, true);
    const double beyond = pool->observed - sum_up(self->shares, count);
    pool->failing = self->fail_excess && count > 0 && beyond > 0 ? beyond / pool->observed : 0;
    const struct infless_split split =
        infless_divide(self->shares, count, pool->observed + backlog, self->alpha);
    platform_charge(platform, count + split.sets);
    for (size_t i = 0; i < count; i++)
        self->instances[self->share_ids[i]].rate = self->shares[i].rate;
    infless_rates_changed(pool);
}

void infless_rates(struct infless *self, struct platform *platform, struct infless_pool *pool)
{
    pool->ticked = false;
    observe(self, pool);
    arena_reserve(platform_arena(platform), &self->shares, pool->instance_count,
                  sizeof *self->shares);
    arena_reserve(platform_arena(platform), &self->share_ids, pool->instance_count,
                  sizeof *self->share_ids);
    divide(self, platform, pool);
    for (size_t i = 0; i < pool->instance_count; i++)
        if (self->instances[pool->instances[i]].rate > 0)
            self->instances[pool->instances[i]].idle_steps = 0;
}

bool infless_scale(struct infless *self, struct platform *platform, struct infless_pool *pool)
{
    pool->scaled = false;
    const bool more = pool->excess > LEAST_EXCESS * pool->observed;
    pool->wanted = more ? pool->excess : 0;
    pool->first = true;
    bool killed = false;
    for (size_t i = more ? 0 : pool->instance_count; i-- > 0;) {
        const uint32_t id = pool->instances[i];
        struct infless_instance *instance = &self->instances[id];
        const struct instance_view view = platform_instance(platform, id);
        if (instance->rate > 0 || instance->idle_steps++ < self->inactive_ticks ||
            view.state != INSTANCE_IDLE || view.buffered > 0)
            continue;
        instance_end(self, platform, id);
        killed = true;
    }
    return killed;
}

/* ---- New instances --------------------------------------------------------------------------- */

static struct infless_choice choose(struct infless *self, struct platform *platform,
                                    const struct infless_pool *pool, double rate, bool any_rate)
{
    struct slot_search search = {self, pool->function};
    const struct infless_cluster cluster = {&search, fullest_slot};
    self->platform = platform;
    const struct infless_choice choice = infless_choose(
        &self->rule, pool->candidates, pool->candidate_count, pool->best, rate, any_rate, &cluster);
    platform_charge(platform, choice.looked);
    return choice;
}

bool infless_grow(struct infless *self, struct platform *platform, struct infless_pool *pool)
{
    if (!(pool->wanted > 0) || self->starving > 0)
        return false;
    const struct infless_choice choice = choose(self, platform, pool, pool->wanted, pool->first);
    if (choice.candidate == NULL || !instance_make(self, platform, pool, &choice)) {
        pool->wanted = 0;
        return false;
    }
    pool->wanted -= choice.candidate->bounds.up;
    pool->first = false;
    return true;
}

/* Makes an instance of the configuration that does not count as capacity. */
static bool make_makeshift(struct infless *self, struct platform *platform,
                           struct infless_pool *pool, uint32_t index)
{
    const struct function *function = &self->workload->functions[pool->function];
    const struct configuration *one = &function->configurations[index];
    struct infless_candidate smallest = {.configuration = index,
                                         .batch = 1,
                                         .vcpu = one->vcpu,
                                         .vgpu = one->vgpu,
                                         .kind = one->kind,
                                         .time = one->time};
    (void)infless_bound(self->rule.form, 1, one->time, one->time, &smallest.bounds);
    struct infless_choice choice = {.candidate = &smallest, .looked = 1};
    struct slot_search search = {self, pool->function};
    self->platform = platform;
    platform_charge(platform, 1);
    if (!fullest_slot(&search, &smallest, &choice.slot) ||
        !instance_make(self, platform, pool, &choice))
        return false;
    self->instances[pool->instances[pool->instance_count - 1]].makeshift = true;
    return true;
}

/* Makes the smallest configuration, if there is no room for a useful one: of the first kind of GPU
 * that has room. */
static bool make_smallest(struct infless *self, struct platform *platform,
                          struct infless_pool *pool)
{
    for (uint32_t k = 0; k < self->workload->kind_count; k++) {
        const uint32_t index =
            planner_smallest_among(self->planner, UINT64_C(1) << k, pool->function, 1);
        if (index != SIM_NONE && make_makeshift(self, platform, pool, index))
            return true;
    }
    return false;
}

/* Makes the useful instance of batch 1 that needs the least: room taken from others is scarce. */
static bool make_least(struct infless *self, struct platform *platform, struct infless_pool *pool)
{
    struct slot_search search = {self, pool->function};
    struct infless_choice choice = {.candidate = NULL};
    double least = INFINITY;
    self->platform = platform;
    for (size_t i = 0; i < pool->candidate_count; i++) {
        const struct infless_candidate *here = &pool->candidates[i];
        const double need = infless_need(&self->rule, here->vcpu, here->vgpu, here->kind);
        struct infless_slot slot;
        if (here->batch > 1 || need >= least)
            continue;
        choice.looked++;
        if (!fullest_slot(&search, here, &slot))
            continue;
        least = need;
        choice.candidate = here;
        choice.slot = slot;
    }
    platform_charge(platform, choice.looked);
    return choice.candidate != NULL && instance_make(self, platform, pool, &choice);
}

static bool make_any(struct infless *self, struct platform *platform, struct infless_pool *pool)
{
    if (pool->starving)
        return make_least(self, platform, pool) || make_smallest(self, platform, pool);
    const double rate =
        self->first_largest ? INFINITY : fmax(pool->observed, pool->backlog.waiting);
    const struct infless_choice choice = choose(self, platform, pool, rate, true);
    if (choice.candidate != NULL && instance_make(self, platform, pool, &choice))
        return true;
    return make_smallest(self, platform, pool);
}

/* ---- Full cluster ---------------------------------------------------------------------------- */

static struct infless_pool *hungriest(const struct infless *self)
{
    struct infless_pool *found = NULL;
    sim_time_t since = SIM_FOREVER;
    for (size_t i = 0; i < self->pool_count; i++) {
        struct infless_pool *pool = &self->pools[i];
        const sim_time_t here = pool->starving ? backlog_since(&pool->backlog) : SIM_FOREVER;
        if (here < since) {
            since = here;
            found = pool;
        }
    }
    return found;
}

/* Since when the instance has had work, in its buffer or in its pool's queues. */
static sim_time_t work_since(const struct infless *self, const struct platform *platform,
                             uint32_t id, uint32_t buffered)
{
    const sim_time_t waits = backlog_since(&self->pools[self->instances[id].pool].backlog);
    if (buffered == 0)
        return waits;
    const sim_time_t ready = platform_buffered_job(platform, id, 0).ready;
    return ready < waits ? ready : waits;
}

/* An idle instance whose work arrived later than `since`: a retired one, else one of the largest
 * pool. */
static uint32_t spare_instance(const struct infless *self, struct platform *platform,
                               sim_time_t since)
{
    uint32_t best = SIM_NONE;
    size_t most = 0;
    for (size_t p = 0; p < self->pool_count; p++) {
        const struct infless_pool *pool = &self->pools[p];
        platform_charge(platform, pool->instance_count);
        for (size_t i = pool->instance_count; i-- > 0;) {
            const uint32_t id = pool->instances[i];
            const struct instance_view view = platform_instance(platform, id);
            if (view.state != INSTANCE_IDLE ||
                work_since(self, platform, id, view.buffered) <= since)
                continue;
            const size_t rank = self->instances[id].rate > 0 ? pool->instance_count : SIZE_MAX;
            if (best == SIM_NONE || rank > most) {
                best = id;
                most = rank;
            }
        }
    }
    return best;
}

bool infless_relieve(struct infless *self, struct platform *platform)
{
    struct infless_pool *pool = hungriest(self);
    self->freed = false;
    if (pool == NULL)
        return false;
    if (make_any(self, platform, pool))
        return true;
    const uint32_t spare = spare_instance(self, platform, backlog_since(&pool->backlog));
    if (spare == SIM_NONE || !platform_return(platform, spare))
        return false;
    const struct backlog *backlog = &self->pools[self->instances[spare].pool].backlog;
    for (uint32_t i = 0; i < backlog->queue_count; i++)
        infless_refresh(self, platform, backlog->queues[i]);
    instance_end(self, platform, spare);
    return true;
}

bool infless_first(struct infless *self, struct platform *platform, struct infless_pool *pool)
{
    if (pool->starving)
        return false;
    if (self->starving == 0 && make_any(self, platform, pool))
        return true;
    pool->starving = true;
    self->starving++;
    return infless_relieve(self, platform);
}
