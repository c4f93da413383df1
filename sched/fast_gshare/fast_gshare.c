/* FaST-GShare (ICPP'23, "FaST-GShare: Enabling Efficient Spatio-Temporal GPU Sharing in Serverless
 * Computing for Deep Learning Inference"), as a scaler of pods, each with a share of a GPU for a
 * quota of time.
 *
 * Evidence: [code] read in the authors' public repositories (KontonGu/FaST-GShare @ 788828f,
 * FaST-GShare-Autoscaler @ f3e88c7, ST-vGPU @ 609db28), [recall] from memory of the paper,
 * [derived] our porting. The repositories' auto-scaler is partly a stub; this file implements the
 * paper's.
 *
 * Every 10 s [code] the scaler compares each function's request rate over the last 10 s [code] with
 * the capacity of its pods, and adds or removes pods (fast_gshare_scaler.h). Pods are placed by
 * maximal rectangles and may be lent time that no pod requested (pods.h, rectangles.h, tokens.h).
 *
 * Porting assumptions, in addition to those of fast_gshare_scaler.h and pods.h, all [derived]
 * unless marked otherwise:
 * - The paper's functions are independent. Here a function has one deployment for all queues that
 *   run it (`pool` "application": one per application). Its SLO is the smallest stage budget among
 *   them. The end-to-end SLO is split by mean latency (`split`). Nothing is planned for a request
 *   as a whole, and nothing is replanned when a request is late.
 * - A job waits in its queue until a pod is idle. This is the shortest expected wait, never worse
 *   than routing on arrival [recall: the gateway's]. The function's queues are served oldest job
 *   first. Among the idle pods the one of the highest RPR takes up to a full batch. With `fill`
 *   "launch" it starts at once; with "wait" it starts when the batch is full or must start to meet
 *   the budget.
 * - Jobs that wait at a scaling step shall be served within one window. They count as rate
 *   (`backlog`), because here no client gives up and no gateway drops them.
 * - The first request of a function makes a pod of the highest RPR [code] at once, and one pod is
 *   always kept (`min_pods`; OpenFaaS keeps one replica).
 * - Capacity is the profile's, as in the paper, without interference and noise. The pods added
 *   cover exactly the rate, so that pods work nearly all the time. `headroom` is not in the paper;
 *   it shows the cost of spare capacity. The trend (last 30 s against the 30 s before), which the
 *   repository has commented out, is not implemented.
 * - If the pods of the best point fit nowhere, points of lower RPR are tried; in the paper the pods
 *   would remain pending. A function without any pod takes any point that fits, even if it is too
 *   slow ("makeshift": it does not count as capacity, and is removed when other pods carry the
 *   load). If none fits, it kills pods of functions without a request in the last window. After
 *   that one invoker is cleared for it pod by pod; each of these pods has served at least one
 *   batch. Every function is therefore served eventually.
 * - GPUs under MIG, or held exclusively, have no time quotas. If the cluster has such a GPU, all
 *   quotas are 100 %.
 * - The platform's memory model has no model sharing [recall: pods of a function on a GPU share its
 *   weights]. There is no profiler: the profile is known.
 * - Decision time: one unit per job taken up, per pod examined when scaling down, and per free
 *   rectangle and GPU when placing.
 */
#include "sched/fast_gshare/fast_gshare_internal.h"

#include "sched/common/kinds.h"

/* ---- Events ---------------------------------------------------------------------------------- */

/* The pod became idle: its deployment may use it, or the deployment that clears its invoker takes
 * it. */
static void fast_gshare_on_instance_ready(void *state, struct platform *platform, uint32_t instance)
{
    struct fast_gshare *self = state;
    const uint32_t claim = self->pods.claims[platform_instance(platform, instance).invoker];
    fleet_idle(&self->fleet, instance);
    pods_rank(&self->pods, instance);
    if (claim != SIM_NONE)
        unique_fifo_add(&self->fleet.turns, claim);
}

static void fast_gshare_on_finish(void *state, struct platform *platform,
                                  const struct finished_batch *batch)
{
    struct fast_gshare *self = state;
    struct pod *pod = &self->pods.pods[batch->instance];
    pod->served = true;
    pods_touch(&self->pods, pod->gpu);
    fast_gshare_on_instance_ready(state, platform, batch->instance);
}

static void fast_gshare_on_timer(void *state, struct platform *platform, uint32_t id)
{
    struct fast_gshare *self = state;
    if (fleet_ticks(&self->fleet, id)) {
        self->scaling = 2 * (size_t)self->fleet.deployment_count;
        return;
    }
    self->deployments[id].timer = SIM_FOREVER;
    unique_fifo_add(&self->fleet.turns, id);
}

/* ---- The scaling step ------------------------------------------------------------------------ */

static bool is_makeshift(const struct deployment *deployment, uint32_t point)
{
    return deployment->points.feasible > 0 ? point >= deployment->points.feasible
                                           : point != deployment->points.fastest;
}

/* Jobs per second of the pods that are not draining. */
static double capacity_of(const struct fast_gshare *self, const struct deployment *deployment)
{
    double capacity = 0;
    for (uint32_t i = 0; i < deployment->base.instance_count; i++) {
        const uint32_t id = deployment->base.instances[i];
        const uint32_t point = self->pods.pods[id].point;
        if (!self->fleet.instances[id].draining && !is_makeshift(deployment, point))
            capacity += deployment->points.points[point].throughput;
    }
    return capacity;
}

static double wanted_of(const struct fast_gshare *self, const struct deployment *deployment)
{
    const double backlog =
        self->parameters->backlog == FAST_GSHARE_ON ? deployment->base.backlog.waiting : 0;
    return deployment->rate * (1 + self->parameters->headroom) +
           backlog / self->parameters->window_s;
}

/* Removes the pods marked by scaler_shrink, and makeshift pods if others carry the load. */
static void scale_down(struct fast_gshare *self, const struct deployment *deployment)
{
    const double capacity = capacity_of(self, deployment);
    const double wanted = wanted_of(self, deployment);
    const uint32_t most = deployment->base.instance_count;
    struct scaler_pod *pods = arena_allocate(self->fleet.arena, most, sizeof *pods);
    size_t count = 0;
    platform_charge(self->fleet.platform, most);
    for (uint32_t i = 0; i < most; i++) {
        const uint32_t id = deployment->base.instances[i];
        const struct pod *pod = &self->pods.pods[id];
        const struct scaler_point *point = &deployment->points.points[pod->point];
        if (self->fleet.instances[id].draining)
            continue;
        const bool makeshift = is_makeshift(deployment, pod->point);
        if (makeshift && !(capacity > 0 && capacity >= wanted))
            continue;
        pods[count++] = (struct scaler_pod){.rpr = makeshift ? 0 : point->rpr,
                                            .throughput = makeshift ? 0 : point->throughput,
                                            .created = pod->serial,
                                            .id = id};
    }
    const int direction = scaler_direction(wanted, capacity, self->parameters->hysteresis);
    const double surplus = direction < 0 ? capacity - wanted : 0;
    const size_t removed = scaler_shrink(pods, count, surplus, self->parameters->min_pods);
    for (size_t i = 0; i < count; i++)
        if (pods[i].remove)
            pods_drain(&self->pods, pods[i].id);
    self->moved = self->moved || removed > 0;
    arena_release(self->fleet.arena, pods);
}

static bool create(struct fast_gshare *self, uint32_t index, size_t point, bool *room)
{
    if (pods_create(&self->pods, index, (uint32_t)point, room) == SIM_NONE)
        return false;
    self->moved = true;
    return true;
}

/* Creates pods of the points from the first on, each as often as it fits, until `gap` is covered. A
 * point that had no room on any plane also excludes points at least as wide and as high. */
static void create_others(struct fast_gshare *self, uint32_t index, double gap)
{
    const struct scaler_points *points = &self->deployments[index].points;
    uint32_t no_room[WORKLOAD_MAX_KINDS]
                    [101]; /* by kind and quota: the smallest share that found no room */
    for (size_t k = 0; k < self->workload->kind_count; k++)
        for (uint32_t q = 0; q <= 100; q++)
            no_room[k][q] = UINT32_MAX;
    for (size_t i = 0; i < points->feasible && gap > 0; i++) {
        const struct scaler_point *point = &points->points[i];
        uint32_t *least = no_room[point->kind];
        bool room = true;
        for (uint32_t q = 0; q <= point->quota && room; q++)
            room = point->share < least[q];
        platform_charge(self->fleet.platform, 1);
        while (room && gap > 0 && create(self, index, i, &room))
            gap -= point->throughput;
        if (!room && point->share < least[point->quota])
            least[point->quota] = point->share;
    }
}

static void scale_up(struct fast_gshare *self, uint32_t index)
{
    struct deployment *deployment = &self->deployments[index];
    const struct scaler_points *points = &deployment->points;
    const double capacity = capacity_of(self, deployment);
    const double wanted = wanted_of(self, deployment);
    if (scaler_direction(wanted, capacity, self->parameters->hysteresis) <= 0)
        return;
    double gap = wanted - capacity;
    const struct scaler_point *best = scaler_best(points);
    struct scaler_growth growth = scaler_grow(points, gap);
    if (self->parameters->residual == FAST_GSHARE_RESIDUAL_BEST && growth.residual != SCALER_NONE)
        growth.residual = (size_t)(best - points->points);
    bool room = true;
    size_t made = 0;
    platform_charge(self->fleet.platform, points->count);
    while (made < growth.count && create(self, index, (size_t)(best - points->points), &room)) {
        gap -= best->throughput;
        made++;
    }
    if (made == growth.count &&
        (growth.residual == SCALER_NONE || create(self, index, growth.residual, &room)))
        gap = 0;
    if (gap > 0)
        create_others(self, index, gap);
}

static void scale_step(struct fast_gshare *self)
{
    const uint32_t count = self->fleet.deployment_count;
    const size_t step = 2 * (size_t)count - self->scaling--;
    const uint32_t index = (uint32_t)(step % count);
    struct deployment *deployment = &self->deployments[index];
    if (step < count) {
        deployment->rate = fleet_rate(&self->fleet, &deployment->base);
        scale_down(self, deployment);
        return;
    }
    deployment->tried = UINT64_MAX;
    scale_up(self, index);
    unique_fifo_add(&self->fleet.turns, index);
}

/* ---- A function without a pod ---------------------------------------------------------------- */

static bool create_any(struct fast_gshare *self, uint32_t index)
{
    const struct deployment *deployment = &self->deployments[index];
    const struct scaler_points *points = &deployment->points;
    bool room;
    for (size_t i = 0; i < points->feasible; i++)
        if (create(self, index, i, &room))
            return true;
    if (create(self, index, points->fastest, &room))
        return true;
    /* Every point is too slow: take the fastest that fits. */
    size_t best = SCALER_NONE;
    sim_time_t after = 0;
    for (size_t tries = points->feasible; tries < points->count; tries++) {
        best = SCALER_NONE;
        for (size_t i = points->feasible; i < points->count; i++)
            if (points->points[i].time > after &&
                (best == SCALER_NONE || points->points[i].time < points->points[best].time))
                best = i;
        platform_charge(self->fleet.platform, points->count);
        if (best == SCALER_NONE)
            return false;
        if (create(self, index, best, &room))
            return true;
        after = points->points[best].time;
    }
    return false;
}

/* The oldest idle pod of the deployments without recent requests; SIM_NONE if there is none. */
static uint32_t find_spare(const struct fast_gshare *self)
{
    uint32_t oldest = SIM_NONE;
    for (uint32_t d = 0; d < self->fleet.deployment_count; d++) {
        const struct fleet_deployment *deployment = &self->deployments[d].base;
        if (self->deployments[d].rate > 0 || deployment->arrivals > 0)
            continue;
        platform_charge(self->fleet.platform, deployment->instance_count);
        for (uint32_t i = 0; i < deployment->instance_count; i++) {
            const uint32_t id = deployment->instances[i];
            if (fleet_state(&self->fleet, id) == INSTANCE_IDLE &&
                !self->fleet.instances[id].draining &&
                (oldest == SIM_NONE || self->pods.pods[id].serial < self->pods.pods[oldest].serial))
                oldest = id;
        }
    }
    return oldest;
}

/* True if the invoker, when empty, can run some point of the deployment. */
static bool could_serve(const struct fast_gshare *self, const struct deployment *deployment,
                        uint32_t invoker)
{
    const struct invoker_group *group = kinds_group_of(self->workload, invoker);
    const struct function *function = &self->workload->functions[deployment->base.function];
    const struct scaler_points *points = &deployment->points;
    bool could = false;
    for (size_t i = 0; i < points->count && !could; i++)
        could = planner_group_runs(group, function,
                                   &function->configurations[points->points[i].configuration]);
    return could;
}

static void claim_invoker(struct fast_gshare *self, uint32_t index)
{
    struct deployment *deployment = &self->deployments[index];
    for (uint32_t which = 0; which < self->workload->cluster.invoker_count; which++) {
        const uint32_t invoker =
            platform_home(self->fleet.platform, deployment->base.function, which);
        platform_charge(self->fleet.platform, 1);
        if (self->pods.claims[invoker] != SIM_NONE || !could_serve(self, deployment, invoker))
            continue;
        self->pods.claims[invoker] = index;
        deployment->claim = invoker;
        return;
    }
}

static void claim_release(struct fast_gshare *self, struct deployment *deployment)
{
    if (deployment->claim != SIM_NONE)
        self->pods.claims[deployment->claim] = SIM_NONE;
    deployment->claim = SIM_NONE;
}

/* How much it is worth to drain a pod so that its invoker becomes clear; 0 if it cannot be. Idle
 * pods come first, then those that have served, of the deployment with the most pods. */
static uint64_t worth_of(const struct fast_gshare *self, uint32_t id, enum instance_state state)
{
    const bool served = self->pods.pods[id].served;
    const struct fleet_deployment *owner =
        &self->deployments[self->fleet.instances[id].deployment].base;
    const bool unused = state == INSTANCE_IDLE && owner->backlog.waiting == 0;
    if (state == INSTANCE_STARTING || (!unused && !served))
        return 0;
    return (unused ? UINT64_C(1) << 32 : 0) + owner->instance_count;
}

/* Drains one pod of the claimed invoker unless one is draining already. */
static void claim_clear(struct fast_gshare *self, uint32_t invoker)
{
    const struct fleet *fleet = &self->fleet;
    uint32_t best = SIM_NONE;
    uint64_t most = 0;
    platform_charge(fleet->platform, fleet->instance_room);
    for (uint32_t id = 0; id < fleet->instance_room; id++) {
        if (fleet->instances[id].deployment == SIM_NONE)
            continue;
        const struct instance_view view = platform_instance(fleet->platform, id);
        if (view.invoker != invoker)
            continue;
        if (fleet->instances[id].draining)
            return;
        const uint64_t worth = worth_of(self, id, view.state);
        if (worth > most) {
            best = id;
            most = worth;
        }
    }
    if (best == SIM_NONE)
        return;
    self->moved = true;
    unique_fifo_add(&self->fleet.turns, fleet->instances[best].deployment);
    pods_drain(&self->pods, best);
}

/* Makes the deployment's first pod, or makes room for it. After a failure it is not tried again
 * before a pod has been killed. */
static void bootstrap(struct fast_gshare *self, uint32_t index)
{
    struct deployment *deployment = &self->deployments[index];
    while (deployment->tried != self->pods.releases) {
        if (create_any(self, index)) {
            claim_release(self, deployment);
            return;
        }
        deployment->tried = self->pods.releases;
        const uint32_t spare = deployment->claim == SIM_NONE ? find_spare(self) : SIM_NONE;
        if (spare != SIM_NONE) {
            pods_drain(&self->pods, spare);
            continue;
        }
        if (deployment->claim == SIM_NONE)
            claim_invoker(self, index);
        if (deployment->claim != SIM_NONE)
            claim_clear(self, deployment->claim);
    }
    if (deployment->claim != SIM_NONE)
        claim_clear(self, deployment->claim);
}

/* ---- Serving --------------------------------------------------------------------------------- */

/* The time at which a batch starts even if it is not full. O(queues). */
static sim_time_t latest_start(const struct fast_gshare *self, const struct deployment *deployment,
                               sim_time_t time)
{
    const struct platform *platform = self->fleet.platform;
    const struct backlog *backlog = &deployment->base.backlog;
    sim_time_t latest = SIM_FOREVER;
    for (uint32_t i = 0; i < backlog->queue_count; i++) {
        const uint32_t queue = backlog->queues[i];
        if (platform_queue_length(platform, queue) == 0)
            continue;
        const struct job_view job = platform_job(platform, queue, 0);
        const sim_time_t own = job.ready + planner_budget(self->planner, queue, job.slo) - time;
        latest = own < latest ? own : latest;
    }
    return latest;
}

static void end_drained(void *policy, uint32_t id)
{
    struct fast_gshare *self = policy;
    const uint32_t claim = self->pods.claims[platform_instance(self->fleet.platform, id).invoker];
    pods_kill(&self->pods, id);
    self->moved = true;
    if (claim != SIM_NONE)
        unique_fifo_add(&self->fleet.turns, claim);
}

static void launch(struct fast_gshare *self, const struct deployment *deployment, uint32_t id,
                   uint32_t jobs)
{
    const struct pod *pod = &self->pods.pods[id];
    const struct scaler_point *point = &deployment->points.points[pod->point];
    const struct function *function = &self->workload->functions[deployment->base.function];
    if (fleet_route(&self->fleet, id, jobs) < jobs)
        return;
    platform_explain(self->fleet.platform, deployment->base.instance_count,
                     function->configurations[point->configuration].cost_usd, point->time);
    (void)platform_launch(self->fleet.platform, id, jobs);
    pods_rank(&self->pods, id);
    pods_touch(&self->pods, pod->gpu);
    self->moved = true;
}

/* Launches one batch of the deployment, if possible. True if it did. */
static bool serve_one(struct fast_gshare *self, uint32_t index)
{
    struct platform *platform = self->fleet.platform;
    struct deployment *deployment = &self->deployments[index];
    const uint32_t jobs = deployment->base.backlog.waiting;
    const uint32_t slot = jobs > 0 ? queue_order_first(deployment->idle, NULL) : SIM_NONE;
    if (slot == SIM_NONE)
        return false;
    const uint32_t id = deployment->base.instances[slot];
    const struct scaler_point *point = &deployment->points.points[self->pods.pods[id].point];
    if (jobs < point->batch && self->parameters->fill == FAST_GSHARE_FILL_WAIT) {
        const sim_time_t latest = latest_start(self, deployment, point->time);
        if (latest > platform_now(platform)) {
            if (latest < deployment->timer) {
                deployment->timer = latest;
                platform_set_timer(platform, latest, index);
            }
            return false;
        }
    }
    launch(self, deployment, id, jobs < point->batch ? jobs : point->batch);
    return true;
}

static void serve(struct fast_gshare *self, uint32_t index)
{
    struct deployment *deployment = &self->deployments[index];
    const bool jobs = deployment->base.backlog.waiting > 0;
    if (deployment->base.reap)
        fleet_reap(&self->fleet, &deployment->base, end_drained, self);
    if (jobs && deployment->base.instance_count == 0)
        bootstrap(self, index);
    if (deployment->claim != SIM_NONE && (!jobs || deployment->base.instance_count > 0))
        claim_release(self, deployment);
    if (deployment->base.instance_count > 0 && serve_one(self, index))
        unique_fifo_add(&self->fleet.turns, index);
}

static bool fast_gshare_decide(void *state, struct platform *platform)
{
    struct fast_gshare *self = state;
    self->moved = false;
    while (!self->moved && self->scaling > 0)
        scale_step(self);
    uint32_t index = SIM_NONE;
    while (!self->moved && (index = unique_fifo_next(&self->fleet.turns)) != SIM_NONE)
        serve(self, index);
    pods_lend(&self->pods);
    return self->moved;
}

const struct policy policy_fast_gshare = {
    .abi = POLICY_ABI,
    .places_containers = true,
    .name = "fast-gshare",
    .summary = "pods with a GPU share for a quota of time, by throughput per resource held",
    .parameters = fast_gshare_parameters,
    .parameters_bytes = sizeof(struct fast_gshare_parameters),
    .state_bytes = sizeof(struct fast_gshare),
    .init = fast_gshare_init,
    .on_ready = fleet_on_ready,
    .on_withdrawn = fleet_on_withdrawn,
    .on_finish = fast_gshare_on_finish,
    .on_instance_ready = fast_gshare_on_instance_ready,
    .on_timer = fast_gshare_on_timer,
    .decide = fast_gshare_decide,
};
