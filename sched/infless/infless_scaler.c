#include <math.h>

#include "sched/common/kinds.h"
#include "sched/common/placement.h"
#include "sched/infless/pool.h"

/* As a fraction of the rate: a smaller excess makes no instances [code]. */
static const double LEAST_EXCESS = 0.03;

/* ---- Slots ----------------------------------------------------------------------------------- */

/* The GPU of the slot's invoker with the least free units that has room for the candidate. */
static void fullest_gpu(const struct platform *platform, uint32_t function,
                        const struct infless_candidate *candidate, struct infless_slot *slot)
{
    struct instance_request request = {.function = function,
                                       .configuration = candidate->configuration,
                                       .quota = 100,
                                       .invoker = slot->invoker};
    uint32_t least = UINT32_MAX;
    if (candidate->vgpu == 0)
        return;
    for (; request.gpu < platform_gpu_count(platform, slot->invoker); request.gpu++) {
        const uint32_t here = platform_gpu_free(platform, slot->invoker, request.gpu);
        if (here >= least || !platform_instance_fits(platform, &request))
            continue;
        least = here;
        slot->gpu = request.gpu;
        slot->free_units = here / 100.0;
    }
}

/* Units of one GPU of the kind on an invoker of the group; 0 if it has none. */
static double units_on(const struct invoker_group *group, uint32_t kind)
{
    for (size_t g = 0; g < group->gpu_count; g++)
        if (group->gpus[g].kind == kind)
            return group->gpus[g].units;
    return 0;
}

struct slot_search {
    const struct infless *self;
    uint32_t function;
};

/* Slots by invoker, then GPU; an invoker without a GPU is one slot. */
static bool next_slot(void *context, struct infless_slot *slot)
{
    const struct infless *self = ((const struct slot_search *)context)->self;
    const struct platform *platform = self->fleet.platform;
    const bool begins = slot->invoker == SIM_NONE;
    uint32_t invoker = begins ? 0 : slot->invoker;
    uint32_t gpu = begins ? 0 : slot->gpu + 1;
    if (!begins && gpu >= platform_gpu_count(platform, invoker)) {
        invoker++;
        gpu = 0;
    }
    if (invoker >= self->workload->cluster.invoker_count)
        return false;
    const struct invoker_group *group = kinds_group_of(self->workload, invoker);
    const double gpus = fmax((double)group->gpu_count, 1);
    const bool has_gpu = group->gpu_count > 0;
    *slot = (struct infless_slot){
        .invoker = invoker,
        .gpu = gpu,
        .free_vcpus = platform_free_vcpus(platform, invoker) / gpus,
        .free_units = has_gpu ? platform_gpu_free(platform, invoker, gpu) / 100.0 : 0,
        .vcpus = group->vcpus / gpus,
        .units = has_gpu ? group->gpus[gpu].units : 0};
    return true;
}

static struct instance_request request_of(uint32_t function,
                                          const struct infless_candidate *candidate,
                                          const struct infless_slot *slot)
{
    return (struct instance_request){.function = function,
                                     .configuration = candidate->configuration,
                                     .quota = 100,
                                     .invoker = slot->invoker,
                                     .gpu = candidate->vgpu > 0 ? slot->gpu : SIM_NONE};
}

static bool slot_fits(void *context, const struct infless_candidate *candidate,
                      const struct infless_slot *slot)
{
    const struct slot_search *search = context;
    const struct instance_request request = request_of(search->function, candidate, slot);
    return candidate->vgpu <= slot->free_units &&
           platform_instance_fits(search->self->fleet.platform, &request);
}

static bool first_slot(void *context, const struct infless_candidate *candidate,
                       struct infless_slot *slot)
{
    slot->invoker = SIM_NONE;
    while (next_slot(context, slot))
        if (slot_fits(context, candidate, slot))
            return true;
    return false;
}

/* A slot with an idle container of the function, if these are preferred and one fits; else any
 * slot. Of several the one with the fewest free units, then vCPUs. */
static bool fullest_slot(void *context, const struct infless_candidate *candidate,
                         struct infless_slot *slot)
{
    const struct slot_search *search = context;
    const struct infless *self = search->self;
    struct platform *platform = self->fleet.platform;
    uint32_t invoker = SIM_NONE;
    if (self->rule.form == INFLESS_LOGGED)
        return first_slot(context, candidate, slot);
    if (self->parameters->placement == PLACE_WARM)
        invoker = platform_best_fit(platform, search->function, candidate->configuration, true);
    const bool warm = invoker != SIM_NONE;
    if (!warm)
        invoker = platform_best_fit(platform, search->function, candidate->configuration, false);
    if (invoker == SIM_NONE)
        return false;
    const struct invoker_group *group = kinds_group_of(self->workload, invoker);
    *slot = (struct infless_slot){.invoker = invoker,
                                  .gpu = SIM_NONE,
                                  .free_vcpus = platform_free_vcpus(platform, invoker),
                                  .free_units =
                                      placement_free_units(platform, invoker, candidate->kind),
                                  .vcpus = group->vcpus,
                                  .units = units_on(group, candidate->kind)};
    /* A warm container's GPU is fixed; the platform finds it. */
    if (!warm)
        fullest_gpu(platform, search->function, candidate, slot);
    return true;
}

/* ---- Instances of a pool --------------------------------------------------------------------- */

static bool instance_make(struct infless *self, struct infless_pool *pool,
                          const struct infless_choice *choice)
{
    const struct instance_request request =
        request_of(pool->base.function, choice->candidate, &choice->slot);
    const uint32_t id = fleet_create(&self->fleet, (uint32_t)(pool - self->pools), &request);
    if (id == SIM_NONE)
        return false;
    arena_reserve(self->fleet.arena, &self->instances, id + (size_t)1, sizeof *self->instances);
    self->instances[id] = (struct infless_instance){.candidate = *choice->candidate,
                                                    .alternatives = choice->looked,
                                                    .rate = choice->candidate->bounds.up,
                                                    .rings = SIM_FOREVER};
    infless_rates_changed(pool);
    self->function_count[pool->base.function]++;
    infless_due(self, id);
    return true;
}

/* After the last instance has ended, sets a timer for LSTH's next container. */
static void prewarm_later(struct infless *self, uint32_t function)
{
    sim_time_t prewarm = 0;
    sim_time_t keep_alive = 0;
    const sim_time_t now = platform_now(self->fleet.platform);
    if (self->parameters->keep_alive == KEEP_ALIVE_FIXED || self->function_count[function] > 0 ||
        !lsth_windows(&self->lsth[function], now, &prewarm, &keep_alive))
        return;
    const sim_time_t due = self->lsth[function].last + prewarm;
    if (prewarm > 0 && due > now)
        platform_set_timer(self->fleet.platform, due, INFLESS_TIMER_PREWARM | function);
}

/* Ends an instance that is idle and has an empty buffer. */
static void instance_end(struct infless *self, uint32_t id)
{
    struct infless_pool *pool = infless_pool_of(self, id);
    const uint32_t at = fleet_end(&self->fleet, id);
    if (at == SIM_NONE)
        return;
    if (pool->cursor > at || pool->cursor == pool->base.instance_count)
        pool->cursor = pool->cursor > 0 ? pool->cursor - 1 : 0;
    for (uint32_t *link = &pool->due; *link != SIM_NONE; link = &self->instances[*link].next_due)
        if (*link == id) {
            *link = self->instances[id].next_due;
            break;
        }
    infless_rates_changed(pool);
    self->function_count[pool->base.function]--;
    self->fleet.freed = true;
    prewarm_later(self, pool->base.function);
    infless_touch(self, pool);
}

/* ---- Rates ----------------------------------------------------------------------------------- */

/* One missing sample is ignored [code], but not by the scheduler of the logs. */
static void observe(const struct infless *self, struct infless_pool *pool)
{
    const double rate = fleet_rate(&self->fleet, &pool->base);
    pool->missed = self->rule.form != INFLESS_LOGGED && !(rate > 0) && !pool->missed;
    if (!pool->missed)
        pool->observed = rate;
}

/* Collects the pool's instances, makeshift or not; without `all`, only those that have started. */
static size_t collect(const struct infless *self, const struct infless_pool *pool, bool all,
                      bool makeshift)
{
    size_t count = 0;
    for (size_t i = 0; i < pool->base.instance_count; i++) {
        const uint32_t id = pool->base.instances[i];
        const struct infless_candidate *candidate = &self->instances[id].candidate;
        if (self->instances[id].makeshift != makeshift ||
            (!all && fleet_state(&self->fleet, id) == INSTANCE_STARTING))
            continue;
        self->share_ids[count] = id;
        self->shares[count++] = (struct infless_share){
            .bounds = candidate->bounds,
            .cached = self->instances[id].cached,
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
static void divide(struct infless *self, struct infless_pool *pool)
{
    const double backlog = self->parameters->load == LOAD_BACKLOG
                               ? pool->base.backlog.waiting / self->fleet.period_s
                               : 0;
    size_t count = collect(self, pool, true, false);
    pool->excess = fmax(pool->observed - sum_up(self->shares, count), 0);
    for (size_t i = 0; i < pool->base.instance_count; i++)
        if (self->instances[pool->base.instances[i]].makeshift)
            self->instances[pool->base.instances[i]].rate = 0;
    double starting = sum_up(self->shares, count);
    count = collect(self, pool, false, false);
    starting -= sum_up(self->shares, count);
    if (count == 0)
        count = collect(self, pool, false, true);
    const double beyond = pool->observed - sum_up(self->shares, count);
    pool->failing =
        self->parameters->own_admission && count > 0 && beyond > 0 ? beyond / pool->observed : 0;
    const bool logged = self->rule.form == INFLESS_LOGGED;
    const double load = pool->observed + backlog;
    const struct infless_split split =
        infless_divide(self->shares, count, logged ? ceil(load - 1e-9) : load,
                       self->parameters->alpha, logged ? &pool->cached : NULL);
    platform_charge(self->fleet.platform, count + split.sets);
    for (size_t i = 0; i < count; i++) {
        self->instances[self->share_ids[i]].rate = self->shares[i].rate;
        self->instances[self->share_ids[i]].cached = self->shares[i].cached;
    }
    /* What starts will serve a part of an excess that the logs' rule asks for. */
    if (split.regime == INFLESS_RETIRED && split.excess > 0)
        pool->excess = fmax(ceil(pool->observed - 1e-9) - starting, pool->excess);
    infless_rates_changed(pool);
}

void infless_rates(struct infless *self, struct infless_pool *pool)
{
    pool->ticked = false;
    observe(self, pool);
    const size_t count = pool->base.instance_count;
    arena_reserve(self->fleet.arena, &self->shares, count, sizeof *self->shares);
    arena_reserve(self->fleet.arena, &self->share_ids, count, sizeof *self->share_ids);
    divide(self, pool);
    for (size_t i = 0; i < count; i++)
        if (self->instances[pool->base.instances[i]].rate > 0)
            self->instances[pool->base.instances[i]].idle_steps = 0;
}

bool infless_scale(struct infless *self, struct infless_pool *pool)
{
    pool->scaled = false;
    const bool more = pool->excess > LEAST_EXCESS * pool->observed;
    pool->wanted = more ? pool->excess : 0;
    pool->first = true;
    bool killed = false;
    for (size_t i = more ? 0 : pool->base.instance_count; i-- > 0;) {
        const uint32_t id = pool->base.instances[i];
        struct infless_instance *instance = &self->instances[id];
        const struct instance_view view = platform_instance(self->fleet.platform, id);
        if (instance->prewarmed || instance->rate > 0 ||
            instance->idle_steps++ < self->parameters->inactive_ticks ||
            view.state != INSTANCE_IDLE || view.buffered > 0)
            continue;
        instance_end(self, id);
        killed = true;
    }
    return killed;
}

/* ---- New instances --------------------------------------------------------------------------- */

static struct infless_choice choose(const struct infless *self, const struct infless_pool *pool,
                                    double rate, bool any_rate)
{
    struct slot_search search = {self, pool->base.function};
    const struct infless_cluster cluster = {&search, fullest_slot, next_slot, slot_fits};
    const struct infless_choice choice = infless_choose(
        &self->rule, pool->candidates, pool->candidate_count, pool->best, rate, any_rate, &cluster);
    platform_charge(self->fleet.platform, choice.looked);
    return choice;
}

bool infless_grow(struct infless *self, struct infless_pool *pool)
{
    if (!(pool->wanted > 0) || self->fleet.starving > 0)
        return false;
    const struct infless_choice choice = choose(self, pool, pool->wanted, pool->first);
    if (choice.candidate == NULL || !instance_make(self, pool, &choice)) {
        pool->wanted = 0;
        return false;
    }
    pool->wanted -= choice.candidate->bounds.up;
    pool->first = false;
    return true;
}

/* Makes an instance of the configuration that does not count as capacity. */
static bool make_makeshift(struct infless *self, struct infless_pool *pool, uint32_t index)
{
    const struct configuration *one =
        &self->workload->functions[pool->base.function].configurations[index];
    struct infless_candidate smallest = {.configuration = index,
                                         .batch = 1,
                                         .vcpu = one->vcpu,
                                         .vgpu = one->vgpu,
                                         .kind = one->kind,
                                         .time = one->time};
    (void)infless_bound_candidate(&self->rule, &self->workload->functions[pool->base.function],
                                  one->time, &smallest);
    struct infless_choice choice = {.candidate = &smallest, .looked = 1};
    struct slot_search search = {self, pool->base.function};
    platform_charge(self->fleet.platform, 1);
    if (!fullest_slot(&search, &smallest, &choice.slot) || !instance_make(self, pool, &choice))
        return false;
    self->instances[pool->base.instances[pool->base.instance_count - 1]].makeshift = true;
    return true;
}

/* Makes the smallest configuration, if there is no room for a useful one: of the first kind of GPU
 * that has room. */
static bool make_smallest(struct infless *self, struct infless_pool *pool)
{
    for (uint32_t k = 0; k < self->workload->kind_count; k++) {
        const uint32_t index =
            planner_smallest_among(self->planner, UINT64_C(1) << k, pool->base.function, 1);
        if (index != SIM_NONE && make_makeshift(self, pool, index))
            return true;
    }
    return false;
}

/* Makes the useful instance of batch 1 that needs the least: room taken from others is scarce. */
static bool make_least(struct infless *self, struct infless_pool *pool)
{
    struct slot_search search = {self, pool->base.function};
    struct infless_choice choice = {.candidate = NULL};
    double least = INFINITY;
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
    platform_charge(self->fleet.platform, choice.looked);
    return choice.candidate != NULL && instance_make(self, pool, &choice);
}

/* Makes the instance that the logs' scheduler keeps from deployment on: of batch 1 and the fewest
 * vCPUs, without a GPU. False if no such configuration can run. */
static bool make_prewarmed(struct infless *self, struct infless_pool *pool)
{
    const struct function *function = &self->workload->functions[pool->base.function];
    uint32_t fewest = SIM_NONE;
    for (uint32_t i = 0; i < function->configuration_count; i++) {
        const struct configuration *one = &function->configurations[i];
        if (one->batch == 1 && one->vgpu == 0 &&
            planner_runs(self->planner, pool->base.function, i) &&
            (fewest == SIM_NONE || one->vcpu < function->configurations[fewest].vcpu))
            fewest = i;
    }
    if (fewest == SIM_NONE || !make_makeshift(self, pool, fewest))
        return false;
    self->instances[pool->base.instances[pool->base.instance_count - 1]].prewarmed = true;
    return true;
}

static bool make_any(struct infless *self, struct infless_pool *pool)
{
    if (self->rule.form == INFLESS_LOGGED && !pool->base.starving && make_prewarmed(self, pool))
        return true;
    if (pool->base.starving)
        return make_least(self, pool) || make_smallest(self, pool);
    const double rate = self->parameters->first == FIRST_LARGEST
                            ? INFINITY
                            : fmax(pool->observed, pool->base.backlog.waiting);
    const struct infless_choice choice = choose(self, pool, rate, true);
    if (choice.candidate != NULL && instance_make(self, pool, &choice))
        return true;
    return make_smallest(self, pool);
}

/* ---- Full cluster ---------------------------------------------------------------------------- */

/* An idle instance may be taken if its work, in its buffer or in its pool's queues, arrived later
 * than `since`: retired ones first, then those of large pools. */
static uint64_t worth_of(const struct fleet *fleet, const void *policy, uint32_t id,
                         sim_time_t since)
{
    const struct infless *self = policy;
    const struct infless_pool *pool = infless_pool_of(self, id);
    const struct instance_view view = platform_instance(fleet->platform, id);
    if (view.state != INSTANCE_IDLE || backlog_since(&pool->base.backlog) <= since ||
        (view.buffered > 0 && platform_buffered_job(fleet->platform, id, 0).ready <= since))
        return 0;
    return self->instances[id].rate > 0 ? pool->base.instance_count : UINT64_MAX;
}

bool infless_relieve(struct infless *self)
{
    const uint32_t hungry = fleet_hungriest(&self->fleet, false);
    self->fleet.freed = false;
    if (hungry == SIM_NONE)
        return false;
    struct infless_pool *pool = &self->pools[hungry];
    if (make_any(self, pool))
        return true;
    const uint32_t spare =
        fleet_spare(&self->fleet, backlog_since(&pool->base.backlog), worth_of, self);
    if (spare == SIM_NONE || !fleet_return(&self->fleet, spare))
        return false;
    instance_end(self, spare);
    return true;
}

bool infless_first(struct infless *self, struct infless_pool *pool)
{
    if (pool->base.starving)
        return false;
    if (self->fleet.starving == 0 && make_any(self, pool))
        return true;
    fleet_starve(&self->fleet, &pool->base);
    return infless_relieve(self);
}
