#include "sched/dilu/hosts.h"

#include <math.h>
#include <string.h>

#include "sched/common/kinds.h"
#include "sched/dilu/share.h"

void dilu_hosts_init(struct dilu_hosts *hosts, struct fleet *fleet, const struct dilu_rule *rule,
                     bool nominal)
{
    struct arena *arena = fleet->arena;
    const struct gpu_site *sites = kinds_gpus(arena, fleet->workload, &hosts->count);
    hosts->fleet = fleet;
    hosts->rule = *rule;
    hosts->nominal = nominal;
    hosts->gpus = arena_allocate(arena, hosts->count, sizeof *hosts->gpus);
    unique_fifo_init(&hosts->touched, arena, hosts->count);
    for (uint32_t g = 0; g < hosts->count; g++) {
        hosts->gpus[g] = (struct dilu_gpu){.invoker = sites[g].invoker,
                                           .which = sites[g].which,
                                           .kind = sites[g].spec->kind,
                                           .units = sites[g].spec->units,
                                           .memory_mb = sites[g].spec->memory_mb};
        rckm_open(&hosts->gpus[g].rckm);
    }
}

/* ---- Shares ---------------------------------------------------------------------------------- */

void dilu_hosts_touch(struct dilu_hosts *hosts, uint32_t host)
{
    if (host != SIM_NONE)
        unique_fifo_add(&hosts->touched, host);
}

static uint32_t parts_of(const struct dilu_instance *instance, size_t level, uint32_t quota)
{
    return instance->profile->levels[level].share * quota;
}

static uint32_t quota_of(const struct dilu_hosts *hosts, uint32_t id)
{
    return platform_instance(hosts->fleet->platform, id).quota;
}

static void set_share(struct dilu_hosts *hosts, uint32_t id, size_t level, uint32_t quota)
{
    struct dilu_instance *instance = &hosts->instances[id];
    if ((instance->level != level || quota_of(hosts, id) != quota) &&
        platform_set_share(hosts->fleet->platform, id,
                           instance->profile->levels[level].configuration, quota))
        instance->level = level;
}

/* Applies either the reductions (`less`) or the increases. */
static void apply(struct dilu_hosts *hosts, uint32_t host, bool less)
{
    const uint32_t count = hosts->gpus[host].instances;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t id = hosts->gpus[host].residents[i];
        const struct dilu_instance *instance = &hosts->instances[id];
        const struct dilu_holder *to = &hosts->holders[i];
        const bool cut = parts_of(instance, to->level, to->quota) <
                         parts_of(instance, instance->level, quota_of(hosts, id));
        if (cut == less)
            set_share(hosts, id, to->level, to->quota);
    }
}

/* Beside trainings an instance has its request, of which idle instances keep what the trainings
 * leave: dilu_grant's rule for one that works alone does not apply, since trainings launch. */
static void grant_beside(struct dilu_hosts *hosts, uint32_t host)
{
    const uint32_t count = hosts->gpus[host].instances;
    const uint32_t parts = 100 * hosts->gpus[host].units;
    const enum rckm_mode mode = hosts->gpus[host].rckm.mode;
    uint32_t requests = 0;
    for (uint32_t i = 0; i < count; i++)
        requests += hosts->holders[i].levels[0].share;
    const uint32_t kept = mode == RCKM_BESIDE || !hosts->trainings->rule.vertical ? 100 : 1;
    const uint32_t held = requests * kept < parts ? requests * kept : parts;
    const uint32_t wanted = dilu_trainings_plan(hosts->trainings, host, parts - held);
    const uint32_t left = wanted < parts ? parts - wanted : 0;
    const uint32_t quota = requests > 0 ? left / requests : 0;
    for (uint32_t i = 0; i < count; i++) {
        hosts->holders[i].level = 0;
        hosts->holders[i].quota = quota > 100 ? 100 : quota < 1 ? 1 : quota;
    }
    dilu_trainings_apply(hosts->trainings, host, true);
    apply(hosts, host, true);
    apply(hosts, host, false);
    dilu_trainings_apply(hosts->trainings, host, false);
}

static bool has_trainings(const struct dilu_hosts *hosts, uint32_t host)
{
    return hosts->trainings != NULL && dilu_trainings_on(hosts->trainings, host) > 0;
}

static void grant(struct dilu_hosts *hosts, uint32_t host)
{
    const uint32_t count = hosts->gpus[host].instances;
    const sim_time_t now = platform_now(hosts->fleet->platform);
    arena_reserve(hosts->fleet->arena, &hosts->holders, count, sizeof *hosts->holders);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t id = hosts->gpus[host].residents[i];
        const struct dilu_instance *instance = &hosts->instances[id];
        hosts->holders[i] =
            (struct dilu_holder){.levels = instance->profile->levels,
                                 .level_count = instance->profile->level_count,
                                 .working = fleet_state(hosts->fleet, id) == INSTANCE_BUSY,
                                 .active = now < instance->active_until};
    }
    platform_charge(hosts->fleet->platform, count);
    if (has_trainings(hosts, host)) {
        grant_beside(hosts, host);
        return;
    }
    if (!dilu_grant(hosts->gpus[host].units, hosts->holders, count))
        return;
    apply(hosts, host, true);
    apply(hosts, host, false);
}

void dilu_hosts_grant(struct dilu_hosts *hosts)
{
    for (uint32_t host; (host = unique_fifo_next(&hosts->touched)) != SIM_NONE;)
        grant(hosts, host);
}

/* Resets all instances of the GPU to their requests, so that there is room for one more. Trainings
 * there then have what they have beside inference. */
static void take_back(struct dilu_hosts *hosts, uint32_t host)
{
    const uint32_t count = hosts->gpus[host].instances;
    bool any = false;
    if (has_trainings(hosts, host)) {
        struct rckm *rckm = &hosts->gpus[host].rckm;
        const struct rckm before = *rckm;
        rckm_active(rckm);
        (void)dilu_trainings_plan(hosts->trainings, host, 100 * hosts->gpus[host].units);
        dilu_trainings_apply(hosts->trainings, host, true);
        *rckm = before;
        dilu_hosts_touch(hosts, host);
    }
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t id = hosts->gpus[host].residents[i];
            const struct dilu_instance *instance = &hosts->instances[id];
            any = any || instance->level > 0 || quota_of(hosts, id) < 100;
            if ((instance->level > 0) == (pass == 0))
                set_share(hosts, id, 0, 100);
        }
    if (any)
        dilu_hosts_touch(hosts, host);
}

/* ---- Life ------------------------------------------------------------------------------------ */

struct asking {
    struct dilu_hosts *hosts;
    struct instance_request request; /* of the GPU asked for last */
};

static struct asking ask_for(struct dilu_hosts *hosts, uint32_t deployment,
                             const struct dilu_profile *profile)
{
    return (struct asking){hosts,
                           {.function = fleet_at(hosts->fleet, deployment)->function,
                            .configuration = profile->levels[0].configuration,
                            .quota = 100,
                            .invoker = SIM_NONE,
                            .gpu = SIM_NONE}};
}

static enum dilu_admission ask_platform(void *context, size_t gpu)
{
    struct asking *asking = context;
    struct platform *platform = asking->hosts->fleet->platform;
    struct instance_request *request = &asking->request;
    request->invoker = asking->hosts->gpus[gpu].invoker;
    request->gpu = asking->hosts->gpus[gpu].which;
    platform_charge(platform, 1);
    take_back(asking->hosts, (uint32_t)gpu);
    if (!platform_instance_fits(platform, request))
        return DILU_REFUSED;
    return platform_warm(platform, request->function, request->invoker) > 0 ? DILU_WARM : DILU_COLD;
}

static struct dilu_need need_of(const struct dilu_hosts *hosts, const struct dilu_profile *profile)
{
    const double covered = profile->levels[profile->level_count - 1].share;
    return (struct dilu_need){.request = profile->levels[0].share,
                              .limit = hosts->nominal ? profile->limit : covered,
                              .memory_mb = profile->memory_mb,
                              .kind = profile->kind};
}

/* Chooses the GPU of a new instance; count if there is none. */
static uint32_t choose(struct dilu_hosts *hosts, struct asking *asking,
                       const struct dilu_profile *profile, bool anyhow)
{
    const struct dilu_admitter admitter = {asking, ask_platform};
    const struct dilu_need need = need_of(hosts, profile);
    struct dilu_rule rule = hosts->rule;
    if (anyhow)
        rule.gamma = (double)SIM_NONE;
    platform_charge(hosts->fleet->platform, hosts->count);
    const size_t gpu = dilu_place(&rule, hosts->gpus, hosts->count, &need, &admitter);
    return gpu == DILU_NOWHERE ? hosts->count : (uint32_t)gpu;
}

/* The same by the pool, which goes on to the next GPU as long as the platform refuses, for want of
 * vCPUs or host memory. *placed is the instance's number there. */
static uint32_t choose_in_pool(struct dilu_hosts *hosts, struct asking *asking,
                               const struct dilu_profile *profile, bool anyhow, uint32_t *placed)
{
    struct dilu_pool *pool = &hosts->trainings->pool;
    const struct dilu_need need = need_of(hosts, profile);
    const double units = hosts->gpus[0].units;
    struct dilu_job job = {.kind = DILU_INFERENCE,
                           .function = asking->request.function,
                           .gpus = 1,
                           .request = need.request / units,
                           .limit = need.limit / units,
                           .memory = need.memory_mb};
    if (anyhow)
        job.limit = pool->rule.scheme == DILU_INFLESS_L ? job.request : 0;
    uint32_t host = hosts->count;
    for (bool refused = true; refused;) {
        platform_charge(hosts->fleet->platform, hosts->count);
        *placed = dilu_pool_start(pool, &job);
        host = *placed == DILU_NOT_PLACED ? hosts->count : pool->placed[*placed].gpus[0];
        refused = host < hosts->count && ask_platform(asking, host) == DILU_REFUSED;
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
    *ARENA_NEXT(hosts->fleet->arena, gpu->residents, gpu->instances) = id;
    gpu->request += need.request;
    gpu->limit += need.limit;
    gpu->used_mb += need.memory_mb;
    dilu_hosts_touch(hosts, host);
}

static void move_out(struct dilu_hosts *hosts, uint32_t id, uint32_t host)
{
    const struct dilu_need need = need_of(hosts, hosts->instances[id].profile);
    struct dilu_gpu *gpu = &hosts->gpus[host];
    uint32_t at = 0;
    while (gpu->residents[at] != id)
        at++;
    gpu->instances--;
    memmove(&gpu->residents[at], &gpu->residents[at + 1], (gpu->instances - at) * sizeof id);
    /* Removes rounding errors when the GPU is empty. */
    gpu->request = gpu->instances > 0 ? gpu->request - need.request : 0;
    gpu->limit = gpu->instances > 0 ? gpu->limit - need.limit : 0;
    gpu->used_mb = gpu->instances > 0 ? gpu->used_mb - need.memory_mb : 0;
    dilu_hosts_touch(hosts, host);
}

uint32_t dilu_hosts_create(struct dilu_hosts *hosts, uint32_t deployment,
                           const struct dilu_profile *profile, bool anyhow)
{
    struct platform *platform = hosts->fleet->platform;
    struct asking asking = ask_for(hosts, deployment, profile);
    struct instance_request *request = &asking.request;
    const bool on_gpu = profile->levels[0].share > 0;
    const bool pooled = hosts->trainings != NULL && on_gpu;
    uint32_t host = SIM_NONE;
    uint32_t placed = DILU_NOT_PLACED;
    if (on_gpu) {
        host = pooled ? choose_in_pool(hosts, &asking, profile, anyhow, &placed)
                      : choose(hosts, &asking, profile, anyhow);
        if (host == hosts->count)
            return SIM_NONE;
        request->invoker = hosts->gpus[host].invoker;
        request->gpu = hosts->gpus[host].which;
    } else {
        request->invoker =
            platform_best_fit(platform, request->function, request->configuration, false);
        platform_charge(platform, 1);
        if (request->invoker == SIM_NONE)
            return SIM_NONE;
    }
    const uint32_t id = fleet_create(hosts->fleet, deployment, request);
    if (id == SIM_NONE && pooled)
        dilu_pool_end(&hosts->trainings->pool, placed);
    if (id == SIM_NONE)
        return SIM_NONE;
    arena_reserve(hosts->fleet->arena, &hosts->instances, id + (size_t)1, sizeof *hosts->instances);
    hosts->instances[id] = (struct dilu_instance){
        .host = host, .profile = profile, .placed = placed, .idle_from = platform_now(platform)};
    if (host != SIM_NONE)
        move_in(hosts, id, host);
    if (pooled) {
        rckm_active(&hosts->gpus[host].rckm);
        platform_set_timer(platform, platform_now(platform) + RCKM_IDLE_TICKS * RCKM_TICK, host);
    }
    return id;
}

uint32_t dilu_hosts_kill(struct dilu_hosts *hosts, uint32_t id)
{
    const struct dilu_instance *instance = &hosts->instances[id];
    const uint32_t at = fleet_end(hosts->fleet, id);
    if (at == SIM_NONE || instance->host == SIM_NONE)
        return at;
    struct dilu_gpu *gpu = &hosts->gpus[instance->host];
    move_out(hosts, id, instance->host);
    if (hosts->trainings != NULL) {
        dilu_pool_end(&hosts->trainings->pool, instance->placed);
        rckm_left(&gpu->rckm, gpu->request / gpu->units, gpu->instances);
        hosts->trainings->retry = true;
    }
    return at;
}

/* ---- Trainings ------------------------------------------------------------------------------- */

void dilu_hosts_started(struct dilu_hosts *hosts, uint32_t id)
{
    struct dilu_instance *instance = &hosts->instances[id];
    if (hosts->trainings == NULL || instance->host == SIM_NONE)
        return;
    if (!instance->bursting)
        instance->burst_from = platform_now(hosts->fleet->platform);
    instance->bursting = true;
    rckm_active(&hosts->gpus[instance->host].rckm);
}

void dilu_hosts_finished(struct dilu_hosts *hosts, uint32_t id)
{
    struct platform *platform = hosts->fleet->platform;
    struct dilu_instance *instance = &hosts->instances[id];
    const sim_time_t now = platform_now(platform);
    if (hosts->trainings == NULL || instance->host == SIM_NONE)
        return;
    instance->idle_from = now;
    platform_set_timer(platform, now + RCKM_TICK, instance->host);
    platform_set_timer(platform, now + RCKM_IDLE_TICKS * RCKM_TICK, instance->host);
}

void dilu_hosts_watch(struct dilu_hosts *hosts, uint32_t host)
{
    const sim_time_t now = platform_now(hosts->fleet->platform);
    struct dilu_gpu *gpu = &hosts->gpus[host];
    bool idle = gpu->instances > 0;
    for (uint32_t i = 0; hosts->trainings != NULL && i < gpu->instances; i++) {
        struct dilu_instance *instance = &hosts->instances[gpu->residents[i]];
        const bool busy = fleet_state(hosts->fleet, gpu->residents[i]) == INSTANCE_BUSY;
        idle = idle && !busy && now - instance->idle_from >= RCKM_IDLE_TICKS * RCKM_TICK;
        if (!instance->bursting || busy || now - instance->idle_from < RCKM_TICK)
            continue;
        instance->bursting = false;
        const double ticks =
            ceil((double)(instance->idle_from - instance->burst_from) / (double)RCKM_TICK);
        rckm_burst(&gpu->rckm, &instance->task, ticks,
                   dilu_trainings_requests(hosts->trainings, host));
    }
    if (hosts->trainings != NULL && idle)
        rckm_idle(&gpu->rckm);
}

/* Makes room on the chosen GPUs, and places the training there. Goes on to the next GPUs as long as
 * the platform refuses. */
static bool train(struct dilu_hosts *hosts, uint32_t id)
{
    struct dilu_trainings *trainings = hosts->trainings;
    bool done = false;
    uint32_t count;
    while (!done && (count = dilu_trainings_choose(trainings, id)) != SIM_NONE) {
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t host = trainings->pool.placed[trainings->items[id].placed].gpus[i];
            take_back(hosts, host);
            dilu_hosts_touch(hosts, host);
        }
        done = dilu_trainings_place(trainings, id);
    }
    dilu_pool_admit_all(&trainings->pool);
    return done;
}

bool dilu_hosts_train(struct dilu_hosts *hosts)
{
    bool any = false;
    if (hosts->trainings == NULL || !hosts->trainings->retry)
        return false;
    struct dilu_trainings *trainings = hosts->trainings;
    uint32_t left = 0;
    trainings->retry = false;
    for (uint32_t i = 0; i < trainings->waiting_count; i++) {
        const uint32_t id = trainings->waiting[i];
        if (train(hosts, id))
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
