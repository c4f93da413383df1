#include "sched/dilu/hosts.h"
#include "sched/policy_instances.h"

#include <math.h>
#include <string.h>

#include "sched/dilu/share.h"

/* ---- Set-up ---------------------------------------------------------------------------------- */

static void hosts_fill(struct dilu_hosts *hosts, const struct cluster_spec *cluster)
{
    uint32_t invoker = 0;
    uint32_t host = 0;
    for (size_t g = 0; g < cluster->group_count; g++)
        for (uint32_t i = 0; i < cluster->groups[g].count; i++, invoker++)
            for (uint32_t which = 0; which < cluster->groups[g].gpu_count; which++, host++) {
                const struct gpu_spec *spec = &cluster->groups[g].gpus[which];
                hosts->hosts[host] =
                    (struct dilu_host){.invoker = invoker, .which = which, .units = spec->units};
                hosts->gpus[host] = (struct dilu_gpu){
                    .kind = spec->kind, .units = spec->units, .memory_mb = spec->memory_mb};
            }
}

void dilu_hosts_init(struct dilu_hosts *hosts, struct arena *arena, const struct workload *workload,
                     const struct dilu_rule *rule, bool nominal)
{
    const struct cluster_spec *cluster = &workload->cluster;
    *hosts = (struct dilu_hosts){
        .arena = arena, .workload = workload, .rule = *rule, .nominal = nominal};
    for (size_t g = 0; g < cluster->group_count; g++)
        hosts->count += cluster->groups[g].count * (uint32_t)cluster->groups[g].gpu_count;
    hosts->hosts = arena_allocate(arena, hosts->count, sizeof *hosts->hosts);
    hosts->gpus = arena_allocate(arena, hosts->count, sizeof *hosts->gpus);
    hosts->touched = arena_allocate(arena, hosts->count, sizeof *hosts->touched);
    hosts_fill(hosts, cluster);
}

/* ---- Shares ---------------------------------------------------------------------------------- */

void dilu_hosts_touch(struct dilu_hosts *hosts, uint32_t host)
{
    if (host == SIM_NONE || hosts->hosts[host].touched)
        return;
    hosts->hosts[host].touched = true;
    hosts->touched[hosts->touched_count++] = host;
}

static uint32_t parts_of(const struct dilu_instance *instance, size_t level, uint32_t quota)
{
    return instance->profile->levels[level].share * quota;
}

static void set_share(struct dilu_hosts *hosts, struct platform *platform, uint32_t id,
                      size_t level, uint32_t quota)
{
    struct dilu_instance *instance = &hosts->instances[id];
    if ((instance->level == level && instance->quota == quota) ||
        !platform_set_share(platform, id, instance->profile->levels[level].configuration, quota))
        return;
    instance->level = level;
    instance->quota = quota;
}

/* Applies either the reductions (`less`) or the increases. */
static void apply(struct dilu_hosts *hosts, struct platform *platform, uint32_t host, bool less)
{
    const uint32_t count = hosts->gpus[host].instances;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t id = hosts->hosts[host].residents[i];
        const struct dilu_instance *instance = &hosts->instances[id];
        const struct dilu_holder *to = &hosts->holders[i];
        const bool cut = parts_of(instance, to->level, to->quota) <
                         parts_of(instance, instance->level, instance->quota);
        if (cut == less)
            set_share(hosts, platform, id, to->level, to->quota);
    }
}

/* Beside trainings an instance has its request, of which idle instances keep what the trainings
 * leave: dilu_grant's rule for one that works alone does not apply, since trainings launch. */
static void grant_beside(struct dilu_hosts *hosts, struct platform *platform, uint32_t host)
{
    const uint32_t count = hosts->gpus[host].instances;
    const uint32_t parts = 100 * hosts->hosts[host].units;
    const enum rckm_mode mode = hosts->trainings->gpus[host].rckm.mode;
    uint32_t requests = 0;
    for (uint32_t i = 0; i < count; i++)
        requests += hosts->holders[i].levels[0].share;
    const uint32_t kept = mode == RCKM_BESIDE || !hosts->trainings->vertical ? 100 : 1;
    const uint32_t held = requests * kept < parts ? requests * kept : parts;
    const uint32_t wanted = dilu_trainings_plan(hosts->trainings, platform, host, parts - held);
    const uint32_t left = wanted < parts ? parts - wanted : 0;
    const uint32_t quota = requests > 0 ? left / requests : 0;
    for (uint32_t i = 0; i < count; i++) {
        hosts->holders[i].level = 0;
        hosts->holders[i].quota = quota > 100 ? 100 : quota < 1 ? 1 : quota;
    }
    dilu_trainings_apply(hosts->trainings, platform, host, true);
    apply(hosts, platform, host, true);
    apply(hosts, platform, host, false);
    dilu_trainings_apply(hosts->trainings, platform, host, false);
}

static bool has_trainings(const struct dilu_hosts *hosts, struct platform *platform, uint32_t host)
{
    return hosts->trainings != NULL && dilu_trainings_on(hosts->trainings, platform, host) > 0;
}

static void grant(struct dilu_hosts *hosts, struct platform *platform, uint32_t host)
{
    const uint32_t count = hosts->gpus[host].instances;
    const sim_time_t now = platform_now(platform);
    arena_reserve(hosts->arena, &hosts->holders, count, sizeof *hosts->holders);
    for (uint32_t i = 0; i < count; i++) {
        const struct dilu_instance *instance = &hosts->instances[hosts->hosts[host].residents[i]];
        hosts->holders[i] = (struct dilu_holder){.levels = instance->profile->levels,
                                                 .level_count = instance->profile->level_count,
                                                 .working = instance->busy,
                                                 .active = now < instance->active_until};
    }
    platform_charge(platform, count);
    if (has_trainings(hosts, platform, host)) {
        grant_beside(hosts, platform, host);
        return;
    }
    if (!dilu_grant(hosts->hosts[host].units, hosts->holders, count))
        return;
    apply(hosts, platform, host, true);
    apply(hosts, platform, host, false);
}

void dilu_hosts_grant(struct dilu_hosts *hosts, struct platform *platform)
{
    for (uint32_t i = 0; i < hosts->touched_count; i++) {
        hosts->hosts[hosts->touched[i]].touched = false;
        grant(hosts, platform, hosts->touched[i]);
    }
    hosts->touched_count = 0;
}

/* Resets all instances of the GPU to their requests, so that there is room for one more. Trainings
 * there then have what they have beside inference. */
static void take_back(struct dilu_hosts *hosts, struct platform *platform, uint32_t host)
{
    const uint32_t count = hosts->gpus[host].instances;
    bool any = false;
    if (has_trainings(hosts, platform, host)) {
        struct rckm *rckm = &hosts->trainings->gpus[host].rckm;
        const struct rckm before = *rckm;
        rckm_active(rckm);
        (void)dilu_trainings_plan(hosts->trainings, platform, host, 100 * hosts->hosts[host].units);
        dilu_trainings_apply(hosts->trainings, platform, host, true);
        *rckm = before;
        dilu_hosts_touch(hosts, host);
    }
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t id = hosts->hosts[host].residents[i];
            const struct dilu_instance *instance = &hosts->instances[id];
            any = any || instance->level > 0 || instance->quota < 100;
            if ((instance->level > 0) == (pass == 0))
                set_share(hosts, platform, id, 0, 100);
        }
    if (any)
        dilu_hosts_touch(hosts, host);
}

/* ---- Life ------------------------------------------------------------------------------------ */

struct asking {
    struct dilu_hosts *hosts;
    struct platform *platform;
    uint32_t function, configuration;
};

static enum dilu_admission ask_platform(void *context, size_t gpu)
{
    const struct asking *asking = context;
    const struct dilu_host *host = &asking->hosts->hosts[gpu];
    platform_charge(asking->platform, 1);
    take_back(asking->hosts, asking->platform, (uint32_t)gpu);
    if (!platform_instance_fits(asking->platform,
                                &(struct instance_request){.function = asking->function,
                                                           .configuration = asking->configuration,
                                                           .quota = 100,
                                                           .invoker = host->invoker,
                                                           .gpu = host->which}))
        return DILU_REFUSED;
    return platform_warm(asking->platform, asking->function, host->invoker) > 0 ? DILU_WARM
                                                                                : DILU_COLD;
}

static struct dilu_need need_of(const struct dilu_hosts *hosts, const struct dilu_profile *profile)
{
    const double covered = profile->levels[profile->level_count - 1].share;
    return (struct dilu_need){.request = profile->levels[0].share,
                              .limit = hosts->nominal ? profile->limit : covered,
                              .memory_mb = profile->memory_mb,
                              .kind = profile->kind};
}

static uint32_t create_without_gpu(struct platform *platform, uint32_t function,
                                   uint32_t configuration)
{
    const uint32_t invoker = platform_best_fit(platform, function, configuration, false);
    platform_charge(platform, 1);
    return invoker == SIM_NONE
               ? SIM_NONE
               : platform_create(platform,
                                 &(struct instance_request){.function = function,
                                                            .configuration = configuration,
                                                            .quota = 100,
                                                            .invoker = invoker,
                                                            .gpu = SIM_NONE});
}

/* Chooses the GPU of a new instance; count if there is none. */
static uint32_t choose(struct dilu_hosts *hosts, struct platform *platform, uint32_t function,
                       const struct dilu_profile *profile, bool anyhow)
{
    struct asking asking = {hosts, platform, function, profile->levels[0].configuration};
    const struct dilu_admitter admitter = {&asking, ask_platform};
    const struct dilu_need need = need_of(hosts, profile);
    struct dilu_rule rule = hosts->rule;
    if (anyhow)
        rule.gamma = (double)SIM_NONE;
    platform_charge(platform, hosts->count);
    const size_t gpu = dilu_place(&rule, hosts->gpus, hosts->count, &need, &admitter);
    return gpu == DILU_NOWHERE ? hosts->count : (uint32_t)gpu;
}

/* The same by the pool, which goes on to the next GPU as long as the platform refuses, for want of
 * vCPUs or host memory. *placed is the instance's number there. */
static uint32_t choose_in_pool(struct dilu_hosts *hosts, struct platform *platform,
                               uint32_t function, const struct dilu_profile *profile, bool anyhow,
                               uint32_t *placed)
{
    struct dilu_pool *pool = &hosts->trainings->pool;
    struct asking asking = {hosts, platform, function, profile->levels[0].configuration};
    const struct dilu_need need = need_of(hosts, profile);
    const double units = hosts->hosts[0].units;
    struct dilu_job job = {.kind = DILU_INFERENCE,
                           .function = function,
                           .gpus = 1,
                           .request = need.request / units,
                           .limit = need.limit / units,
                           .memory = need.memory_mb};
    if (anyhow)
        job.limit = pool->rule.scheme == DILU_INFLESS_L ? job.request : 0;
    uint32_t host = hosts->count;
    for (bool refused = true; refused;) {
        platform_charge(platform, hosts->count);
        *placed = dilu_pool_start(pool, &job);
        host = *placed == DILU_NOT_PLACED ? hosts->count : pool->placed[*placed].gpus[0];
        refused = host < hosts->count && ask_platform(&asking, host) == DILU_REFUSED;
        if (refused) {
            dilu_pool_end(pool, *placed);
            dilu_pool_bar(pool, host);
        }
    }
    dilu_pool_admit_all(pool);
    return host;
}

static void move_in(struct dilu_hosts *hosts, uint32_t id, uint32_t host)
{
    const struct dilu_need need = need_of(hosts, hosts->instances[id].profile);
    struct dilu_gpu *gpu = &hosts->gpus[host];
    hosts->hosts[host].residents[gpu->instances++] = id;
    gpu->request += need.request;
    gpu->limit += need.limit;
    gpu->used_mb += need.memory_mb;
    dilu_hosts_touch(hosts, host);
}

static void move_out(struct dilu_hosts *hosts, uint32_t id, uint32_t host)
{
    const struct dilu_need need = need_of(hosts, hosts->instances[id].profile);
    struct dilu_gpu *gpu = &hosts->gpus[host];
    uint32_t *residents = hosts->hosts[host].residents;
    uint32_t at = 0;
    while (residents[at] != id)
        at++;
    gpu->instances--;
    memmove(&residents[at], &residents[at + 1], (gpu->instances - at) * sizeof *residents);
    /* Removes rounding errors when the GPU is empty. */
    gpu->request = gpu->instances > 0 ? gpu->request - need.request : 0;
    gpu->limit = gpu->instances > 0 ? gpu->limit - need.limit : 0;
    gpu->used_mb = gpu->instances > 0 ? gpu->used_mb - need.memory_mb : 0;
    dilu_hosts_touch(hosts, host);
}

uint32_t dilu_hosts_create(struct dilu_hosts *hosts, struct platform *platform, uint32_t function,
                           uint32_t deployment, const struct dilu_profile *profile, bool anyhow)
{
    const uint32_t configuration = profile->levels[0].configuration;
    const bool pooled = hosts->trainings != NULL && profile->levels[0].share > 0;
    uint32_t host = SIM_NONE;
    uint32_t placed = DILU_NOT_PLACED;
    uint32_t id;
    if (profile->levels[0].share == 0) {
        id = create_without_gpu(platform, function, configuration);
    } else {
        host = pooled ? choose_in_pool(hosts, platform, function, profile, anyhow, &placed)
                      : choose(hosts, platform, function, profile, anyhow);
        if (host == hosts->count)
            return SIM_NONE;
        arena_reserve(hosts->arena, &hosts->hosts[host].residents,
                      hosts->gpus[host].instances + (size_t)1, sizeof(uint32_t));
        id = platform_create(platform,
                             &(struct instance_request){.function = function,
                                                        .configuration = configuration,
                                                        .quota = 100,
                                                        .invoker = hosts->hosts[host].invoker,
                                                        .gpu = hosts->hosts[host].which});
    }
    if (id == SIM_NONE && pooled)
        dilu_pool_end(&hosts->trainings->pool, placed);
    if (id == SIM_NONE)
        return SIM_NONE;
    arena_reserve(hosts->arena, &hosts->instances, id + (size_t)1, sizeof *hosts->instances);
    hosts->instances[id] =
        (struct dilu_instance){.alive = true,
                               .ready = platform_instance(platform, id).state != INSTANCE_STARTING,
                               .deployment = deployment,
                               .host = host,
                               .profile = profile,
                               .quota = 100,
                               .placed = placed,
                               .idle_from = platform_now(platform)};
    if (host != SIM_NONE)
        move_in(hosts, id, host);
    if (pooled) {
        rckm_active(&hosts->trainings->gpus[host].rckm);
        platform_set_timer(platform, platform_now(platform) + RCKM_IDLE_TICKS * RCKM_TICK, host);
    }
    return id;
}

bool dilu_hosts_kill(struct dilu_hosts *hosts, struct platform *platform, uint32_t id)
{
    struct dilu_instance *instance = &hosts->instances[id];
    if (!platform_kill(platform, id))
        return false;
    if (instance->host != SIM_NONE)
        move_out(hosts, id, instance->host);
    instance->alive = false;
    if (hosts->trainings != NULL && instance->host != SIM_NONE) {
        const struct dilu_gpu *gpu = &hosts->gpus[instance->host];
        dilu_pool_end(&hosts->trainings->pool, instance->placed);
        rckm_left(&hosts->trainings->gpus[instance->host].rckm,
                  gpu->request / hosts->hosts[instance->host].units, gpu->instances);
        hosts->trainings->retry = true;
    }
    return true;
}

/* ---- Trainings ------------------------------------------------------------------------------- */

void dilu_hosts_started(struct dilu_hosts *hosts, struct platform *platform, uint32_t id)
{
    struct dilu_instance *instance = &hosts->instances[id];
    if (hosts->trainings == NULL || instance->host == SIM_NONE)
        return;
    if (!instance->bursting)
        instance->burst_from = platform_now(platform);
    instance->bursting = true;
    rckm_active(&hosts->trainings->gpus[instance->host].rckm);
}

void dilu_hosts_finished(struct dilu_hosts *hosts, struct platform *platform, uint32_t id)
{
    struct dilu_instance *instance = &hosts->instances[id];
    if (hosts->trainings == NULL || instance->host == SIM_NONE)
        return;
    instance->idle_from = platform_now(platform);
    platform_set_timer(platform, instance->idle_from + RCKM_TICK, instance->host);
    platform_set_timer(platform, instance->idle_from + RCKM_IDLE_TICKS * RCKM_TICK, instance->host);
}

void dilu_hosts_watch(struct dilu_hosts *hosts, struct platform *platform, uint32_t host)
{
    const sim_time_t now = platform_now(platform);
    bool idle = hosts->gpus[host].instances > 0;
    if (hosts->trainings == NULL)
        return;
    struct rckm *rckm = &hosts->trainings->gpus[host].rckm;
    for (uint32_t i = 0; i < hosts->gpus[host].instances; i++) {
        struct dilu_instance *instance = &hosts->instances[hosts->hosts[host].residents[i]];
        idle = idle && !instance->busy && now - instance->idle_from >= RCKM_IDLE_TICKS * RCKM_TICK;
        if (!instance->bursting || instance->busy || now - instance->idle_from < RCKM_TICK)
            continue;
        instance->bursting = false;
        const double ticks =
            ceil((double)(instance->idle_from - instance->burst_from) / (double)RCKM_TICK);
        rckm_burst(rckm, &instance->task, ticks,
                   dilu_trainings_requests(hosts->trainings, platform, host));
    }
    if (idle)
        rckm_idle(rckm);
}

/* Makes room on the chosen GPUs, and places the training there. Goes on to the next GPUs as long as
 * the platform refuses. */
static bool train(struct dilu_hosts *hosts, struct platform *platform, uint32_t id)
{
    struct dilu_trainings *trainings = hosts->trainings;
    bool done = false;
    uint32_t count;
    while (!done && (count = dilu_trainings_choose(trainings, platform, id)) != SIM_NONE) {
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t host = trainings->pool.placed[trainings->items[id].placed].gpus[i];
            take_back(hosts, platform, host);
            dilu_hosts_touch(hosts, host);
        }
        done = dilu_trainings_place(trainings, platform, id);
    }
    dilu_pool_admit_all(&trainings->pool);
    return done;
}

bool dilu_hosts_train(struct dilu_hosts *hosts, struct platform *platform)
{
    bool any = false;
    if (hosts->trainings == NULL || !hosts->trainings->retry)
        return false;
    struct dilu_trainings *trainings = hosts->trainings;
    uint32_t left = 0;
    trainings->retry = false;
    for (uint32_t i = 0; i < trainings->waiting_count; i++) {
        const uint32_t id = trainings->waiting[i];
        if (train(hosts, platform, id))
            any = true;
        else
            trainings->waiting[left++] = id;
    }
    trainings->waiting_count = left;
    return any;
}

void dilu_hosts_trained(struct dilu_hosts *hosts, uint32_t training)
{
    const struct dilu_trainings *trainings = hosts->trainings;
    const struct dilu_placed *placed = &trainings->pool.placed[trainings->items[training].placed];
    for (uint32_t i = 0; i < placed->count; i++)
        dilu_hosts_touch(hosts, placed->gpus[i]);
    dilu_trainings_finished(hosts->trainings, training);
}
