/* Dilu (ASPLOS'25, "Dilu: Enabling GPU Resourcing-on-Demand for Serverless DL Serving via
 * Introspective Elasticity"). It scales instances that have two shares each, the request and the
 * limit, and collocates trainings with them (trainings.h).
 *
 * Evidence: [code] read in the authors' public repository (sigserverless/Dilu @ 1134655), [recall]
 * from memory of the paper, [derived] our porting, [assumed] neither.
 *
 * Before the run each function gets a batch, a request and a limit (profile.h). An instance is
 * placed on the GPU that it complements best (placement.h). Shares change from batch to batch with
 * the set of working instances (share.h). The number of instances follows the rate lazily
 * (scaler.h).
 *
 * Porting assumptions, in addition to those of these headers, all [derived] unless marked
 * otherwise:
 * - The paper's functions are independent. Here a function has one deployment for all queues that
 *   run it. The end-to-end SLO is split over stages by mean latency (`split`). The bound Q on
 *   execution is `bound` times the smallest budget among the function's stages. The default is
 *   half, because a job may have to wait for the previous batch [recall: the part left to queueing
 *   and batching]. Nothing is planned for a request as a whole, and nothing is replanned when a
 *   request is late.
 * - The capacity of an instance is batch / time(batch, request). If instances differ (makeshift
 *   ones, see below), n × throughput is the sum of their capacities. Scaling in removes a makeshift
 *   instance, or else the youngest [code: last in, first out].
 * - Jobs that wait when a sample is taken shall be served within one window. They count as rate
 *   (`backlog`), as for the other scalers here, because no client gives up. In the repository the
 *   rate counts arrivals only [code].
 * - A function's first request makes one instance (`first`), and one is always kept [code].
 * - Jobs wait in their queues until an instance is idle. Idle instances take turns; each takes up
 *   to a full batch at once, oldest job first over the function's queues. `routing` "arrival" is
 *   the repository's: each job is routed on arrival to the next instance [code: round-robin over
 *   those that are ready], and waits there.
 * - If no GPU has room for the request of a function without any instance, the function takes the
 *   smallest configuration that fits somewhere ("makeshift"), exceeding gamma if necessary. If none
 *   fits, idle instances of other functions whose work arrived later are ended one by one. Every
 *   function is therefore served eventually. No other instance is made while a function waits for
 *   its first.
 * - GPUs under MIG, or held exclusively, cannot change shares during a run. If the cluster has such
 *   a GPU, limits equal requests.
 * - With trainings in the experiment, and for the baselines (`scheme`), the pool places instances
 *   and trainings (gpu_pool.h) with Dilu's affinity, in place of placement.h. Trainings wait in
 *   order of arrival; one that does not fit is passed over. They never move and are not preempted.
 * - Beside a running training an instance has its request, also when it works alone: a training
 *   launches at all times.
 * - Not implemented: language models as a kind of their own, and the splitting of a model over
 * GPUs.
 * - Profiling and changing a share take no time. Decision time: one unit per job taken up, per
 *   sample and instance examined, per GPU when placing, and per neighbour when shares are granted.
 */
#include "sched/dilu/dilu_internal.h"
#include "sched/policy_instances.h"

#include <string.h>

#include "sched/memory.h"

#define TICK SIM_NONE

/* ---- Events ---------------------------------------------------------------------------------- */

/* Call after jobs entered or left the queue. */
static void refresh(struct dilu *self, const struct platform *platform, uint32_t queue)
{
    struct backlog_slot *slot = &self->slots[queue];
    backlog_update(&self->deployments[slot->owner].backlog, slot, platform);
}

static void dilu_on_ready(void *state, struct platform *platform, uint32_t queue)
{
    struct dilu *self = state;
    if (!self->ticking) {
        self->ticking = true;
        platform_set_timer(platform,
                           platform_now(platform) + sim_from_s(self->parameters->sample_s), TICK);
    }
    const uint32_t index = self->slots[queue].owner;
    self->deployments[index].arrivals++;
    refresh(self, platform, queue);
    unique_fifo_add(&self->turns, index);
}

static void dilu_on_withdrawn(void *state, struct platform *platform, uint32_t queue,
                              uint32_t instance)
{
    (void)instance;
    refresh(state, platform, queue);
}

static void instance_idle(struct dilu *self, uint32_t id)
{
    const struct dilu_instance *instance = &self->hosts.instances[id];
    struct dilu_deployment *deployment = &self->deployments[instance->deployment];
    deployment->reap = deployment->reap || instance->draining;
    self->freed = true;
    unique_fifo_add(&self->turns, instance->deployment);
}

static void dilu_on_finish(void *state, struct platform *platform,
                           const struct finished_batch *batch)
{
    struct dilu *self = state;
    struct dilu_instance *instance = &self->hosts.instances[batch->instance];
    instance->busy = false;
    dilu_hosts_finished(&self->hosts, platform, batch->instance);
    instance->active_until = platform_now(platform) + self->parameters->active_ms;
    dilu_hosts_touch(&self->hosts, instance->host);
    if (instance->host != SIM_NONE && self->hosts.gpus[instance->host].instances > 1)
        platform_set_timer(platform, instance->active_until, instance->host);
    instance_idle(self, batch->instance);
}

static void dilu_on_instance_ready(void *state, struct platform *platform, uint32_t instance)
{
    struct dilu *self = state;
    (void)platform;
    self->hosts.instances[instance].ready = true;
    instance_idle(self, instance);
}

static void dilu_on_timer(void *state, struct platform *platform, uint32_t id)
{
    struct dilu *self = state;
    if (id != TICK) {
        dilu_hosts_watch(&self->hosts, platform, id);
        dilu_hosts_touch(&self->hosts, id);
        return;
    }
    self->sampling = self->deployment_count;
    platform_set_timer(platform, platform_now(platform) + sim_from_s(self->parameters->sample_s),
                       TICK);
}

static const char *dilu_refuses_gang(void *state, uint32_t gpus, double gpu_memory_mb)
{
    (void)gpu_memory_mb;
    return dilu_trainings_refuse(&((struct dilu *)state)->trainings, gpus);
}

static void dilu_on_training_arrived(void *state, struct platform *platform, uint32_t training)
{
    struct dilu *self = state;
    dilu_trainings_arrived(&self->trainings, platform, training);
}

static void dilu_on_training_finished(void *state, struct platform *platform, uint32_t training)
{
    struct dilu *self = state;
    (void)platform;
    dilu_hosts_trained(&self->hosts, training);
    self->freed = true;
}

/* ---- Instances ------------------------------------------------------------------------------- */

/* Makes one more instance by the profile, or with `makeshift` the smallest that fits; on the best
 * kind of GPU that has room. */
static bool make(struct dilu *self, struct platform *platform, uint32_t index, bool makeshift)
{
    struct dilu_deployment *deployment = &self->deployments[index];
    const struct dilu_profile *profiles = makeshift ? deployment->smallest : deployment->profiles;
    uint32_t id = SIM_NONE;
    arena_reserve(platform_arena(platform), &deployment->instances,
                  deployment->instance_count + (size_t)1, sizeof *deployment->instances);
    for (uint32_t p = 0; p < deployment->profile_count && id == SIM_NONE; p++)
        id = dilu_hosts_create(&self->hosts, platform, deployment->function, index, &profiles[p],
                               makeshift);
    if (id == SIM_NONE)
        return false;
    deployment->instances[deployment->instance_count++] = id;
    self->moved = true;
    unique_fifo_add(&self->turns, index);
    return true;
}

static void take_from_list(struct dilu_deployment *deployment, uint32_t id)
{
    uint32_t at = 0;
    while (deployment->instances[at] != id)
        at++;
    deployment->instance_count--;
    memmove(&deployment->instances[at], &deployment->instances[at + 1],
            (deployment->instance_count - at) * sizeof *deployment->instances);
    deployment->turn -= deployment->turn > at;
}

/* Ends an instance that is not busy. Its buffered jobs return to their queues. */
static void end(struct dilu *self, struct platform *platform, uint32_t id)
{
    struct dilu_deployment *deployment = &self->deployments[self->hosts.instances[id].deployment];
    if (platform_instance(platform, id).buffered > 0) {
        if (!platform_return(platform, id))
            return;
        for (uint32_t i = 0; i < deployment->backlog.queue_count; i++)
            refresh(self, platform, deployment->backlog.queues[i]);
    }
    if (!dilu_hosts_kill(&self->hosts, platform, id))
        return;
    take_from_list(deployment, id);
    unique_fifo_add(&self->turns, self->hosts.instances[id].deployment);
    self->freed = true;
    self->moved = true;
}

static void reap(struct dilu *self, struct platform *platform, struct dilu_deployment *deployment)
{
    deployment->reap = false;
    for (uint32_t i = deployment->instance_count; i-- > 0;) {
        const uint32_t id = deployment->instances[i];
        if (self->hosts.instances[id].draining && !self->hosts.instances[id].busy)
            end(self, platform, id);
    }
}

/* ---- Lazy scaling ---------------------------------------------------------------------------- */

/* The instance to remove next: a makeshift one, or the youngest. SIM_NONE if none may be removed.
 */
static uint32_t next_to_go(const struct dilu *self, const struct dilu_deployment *deployment)
{
    uint32_t found = SIM_NONE;
    for (uint32_t i = deployment->instance_count; i-- > 0;) {
        const uint32_t id = deployment->instances[i];
        const struct dilu_instance *instance = &self->hosts.instances[id];
        if (instance->draining)
            continue;
        if (instance->profile->makeshift)
            return id;
        found = found == SIM_NONE ? id : found;
    }
    return found;
}

static double rate_of(const struct dilu *self, const struct platform *platform,
                      const struct dilu_deployment *deployment)
{
    double waiting = 0;
    if (self->parameters->backlog == DILU_ON) {
        waiting = deployment->backlog.waiting;
        for (uint32_t i = 0; i < deployment->instance_count; i++)
            waiting += platform_instance(platform, deployment->instances[i]).buffered;
    }
    const double sample_s = self->parameters->sample_s;
    return (double)deployment->arrivals / sample_s +
           waiting / ((double)self->lazy.window * sample_s);
}

static void scale_in(struct dilu *self, struct platform *platform,
                     struct dilu_deployment *deployment, uint32_t id)
{
    self->hosts.instances[id].draining = true;
    deployment->reap = true;
    reap(self, platform, deployment);
}

static void sample(struct dilu *self, struct platform *platform, uint32_t index)
{
    struct dilu_deployment *deployment = &self->deployments[index];
    double capacity = 0;
    size_t staying = 0;
    if (!deployment->started)
        return;
    dilu_window_add(&deployment->window, rate_of(self, platform, deployment));
    deployment->arrivals = 0;
    for (uint32_t i = 0; i < deployment->instance_count; i++) {
        const struct dilu_instance *instance = &self->hosts.instances[deployment->instances[i]];
        capacity += instance->draining ? 0 : instance->profile->throughput;
        staying += !instance->draining;
    }
    const uint32_t last = next_to_go(self, deployment);
    const double without =
        last == SIM_NONE ? 0 : capacity - self->hosts.instances[last].profile->throughput;
    platform_charge(platform, deployment->window.count + deployment->instance_count);
    const int step = dilu_lazy(&deployment->window, &self->lazy, capacity, without, staying);
    if (step > 0 && self->starving == 0 && make(self, platform, index, false)) {
        dilu_window_restart(&deployment->window);
    } else if (step < 0) {
        scale_in(self, platform, deployment, last);
        dilu_window_restart(&deployment->window);
    }
}

/* ---- A function without an instance ---------------------------------------------------------- */

static bool make_any(struct dilu *self, struct platform *platform, uint32_t index)
{
    struct dilu_deployment *deployment = &self->deployments[index];
    if (!make(self, platform, index, false) && !make(self, platform, index, true))
        return false;
    const uint32_t first = deployment->started ? 1 : self->parameters->first;
    for (bool room = true; room && deployment->instance_count < first;)
        room = make(self, platform, index, false);
    deployment->started = true;
    return true;
}

/* The deployment that has waited longest for its first instance. Deployments without jobs, or with
 * an instance, are no longer starving. */
static uint32_t hungriest(struct dilu *self)
{
    uint32_t found = SIM_NONE;
    sim_time_t since = SIM_FOREVER;
    for (uint32_t d = 0; d < self->deployment_count; d++) {
        struct dilu_deployment *deployment = &self->deployments[d];
        if (!deployment->starving)
            continue;
        const sim_time_t here = backlog_since(&deployment->backlog);
        if (here == SIM_FOREVER || deployment->instance_count > 0) {
            deployment->starving = false;
            self->starving--;
        } else if (here < since) {
            since = here;
            found = d;
        }
    }
    return found;
}

/* An idle instance whose work arrived later than `since`: the youngest of the deployment with the
 * most instances. */
static uint32_t spare_instance(struct dilu *self, struct platform *platform, sim_time_t since)
{
    uint32_t best = SIM_NONE;
    uint32_t most = 0;
    for (size_t d = 0; d < self->deployment_count; d++) {
        const struct dilu_deployment *deployment = &self->deployments[d];
        platform_charge(platform, deployment->instance_count + 1);
        if (deployment->instance_count <= most || backlog_since(&deployment->backlog) <= since)
            continue;
        for (uint32_t i = 0; i < deployment->instance_count; i++) {
            const uint32_t id = deployment->instances[i];
            if (self->hosts.instances[id].ready && !self->hosts.instances[id].busy) {
                best = id;
                most = deployment->instance_count;
            }
        }
    }
    return best;
}

static void relieve(struct dilu *self, struct platform *platform)
{
    self->freed = false;
    const uint32_t index = hungriest(self);
    if (index == SIM_NONE)
        return;
    struct dilu_deployment *deployment = &self->deployments[index];
    if (make_any(self, platform, index)) {
        deployment->starving = false;
        self->starving--;
        self->freed = self->starving > 0;
        return;
    }
    const uint32_t spare = spare_instance(self, platform, backlog_since(&deployment->backlog));
    if (spare != SIM_NONE)
        end(self, platform, spare);
}

/* ---- Serving --------------------------------------------------------------------------------- */

static bool takes_jobs(const struct dilu *self, uint32_t id, bool idle)
{
    const struct dilu_instance *instance = &self->hosts.instances[id];
    return instance->ready && !instance->draining && !(idle && instance->busy);
}

/* The next instance in turn that takes jobs; SIM_NONE if there is none. */
static uint32_t next_in_turn(const struct dilu *self, struct platform *platform,
                             struct dilu_deployment *deployment, bool idle)
{
    for (uint32_t i = 0; i < deployment->instance_count; i++) {
        const uint32_t at = (deployment->turn + i) % deployment->instance_count;
        platform_charge(platform, 1);
        if (takes_jobs(self, deployment->instances[at], idle)) {
            deployment->turn = (at + 1) % deployment->instance_count;
            return deployment->instances[at];
        }
    }
    return SIM_NONE;
}

/* Moves up to `jobs` of the oldest jobs to the instance. */
static uint32_t route(struct dilu *self, struct platform *platform,
                      struct dilu_deployment *deployment, uint32_t id, uint32_t jobs)
{
    uint32_t routed = 0;
    for (; routed < jobs; routed++) {
        const uint32_t queue = backlog_oldest(&deployment->backlog);
        if (queue == SIM_NONE || !platform_route(platform, queue, id))
            break;
        refresh(self, platform, queue);
    }
    platform_charge(platform, routed);
    return routed;
}

static void launch(struct dilu *self, struct platform *platform,
                   const struct dilu_deployment *deployment, uint32_t id, uint32_t jobs)
{
    struct dilu_instance *instance = &self->hosts.instances[id];
    const struct dilu_level *level = &instance->profile->levels[instance->level];
    const struct configuration *spec =
        &self->workload->functions[deployment->function].configurations[level->configuration];
    platform_explain(platform, deployment->instance_count, spec->cost_usd, level->time);
    instance->busy = true;
    dilu_hosts_started(&self->hosts, platform, id);
    dilu_hosts_touch(&self->hosts, instance->host);
    self->moved = true;
    (void)platform_launch(platform, id,
                          jobs < instance->profile->batch ? jobs : instance->profile->batch);
}

/* Routing to idle instances only; jobs wait in their queues. */
static void serve_idle(struct dilu *self, struct platform *platform,
                       struct dilu_deployment *deployment)
{
    if (backlog_oldest(&deployment->backlog) == SIM_NONE)
        return;
    const uint32_t id = next_in_turn(self, platform, deployment, true);
    if (id == SIM_NONE)
        return;
    const uint32_t jobs =
        route(self, platform, deployment, id, self->hosts.instances[id].profile->batch);
    if (jobs > 0)
        launch(self, platform, deployment, id, jobs);
}

/* Routing on arrival: distributes the jobs, and launches the buffers of idle instances. */
static void serve_arrivals(struct dilu *self, struct platform *platform,
                           struct dilu_deployment *deployment)
{
    while (backlog_oldest(&deployment->backlog) != SIM_NONE) {
        const uint32_t id = next_in_turn(self, platform, deployment, false);
        if (id == SIM_NONE || route(self, platform, deployment, id, 1) == 0)
            break;
        self->moved = true;
    }
    for (uint32_t i = 0; i < deployment->instance_count; i++) {
        const uint32_t id = deployment->instances[i];
        if (!takes_jobs(self, id, true))
            continue;
        const uint32_t buffered = platform_instance(platform, id).buffered;
        if (buffered > 0)
            launch(self, platform, deployment, id, buffered);
    }
}

static void serve(struct dilu *self, struct platform *platform, uint32_t index)
{
    struct dilu_deployment *deployment = &self->deployments[index];
    if (deployment->reap)
        reap(self, platform, deployment);
    if (deployment->instance_count == 0 && !deployment->starving &&
        backlog_oldest(&deployment->backlog) != SIM_NONE &&
        (self->starving > 0 || !make_any(self, platform, index))) {
        deployment->starving = true;
        self->starving++;
        self->freed = true;
        self->moved = true;
        return;
    }
    if (self->parameters->routing == DILU_ROUTING_ARRIVAL) {
        serve_arrivals(self, platform, deployment);
        return;
    }
    const bool before = self->moved;
    self->moved = false;
    serve_idle(self, platform, deployment);
    if (self->moved)
        unique_fifo_add(&self->turns, index); /* more may be possible */
    self->moved = self->moved || before;
}

static bool dilu_decide(void *state, struct platform *platform)
{
    struct dilu *self = state;
    self->moved = false;
    while (!self->moved && self->sampling > 0)
        sample(self, platform, (uint32_t)(self->deployment_count - self->sampling--));
    if (!self->moved && self->starving > 0 && self->freed)
        relieve(self, platform);
    uint32_t index = SIM_NONE;
    while (!self->moved && (index = unique_fifo_next(&self->turns)) != SIM_NONE)
        serve(self, platform, index);
    if (dilu_hosts_train(&self->hosts, platform))
        self->moved = true;
    dilu_hosts_grant(&self->hosts, platform);
    return self->moved;
}

extern const struct policy policy_dilu;
const struct policy policy_dilu = {
    .abi = POLICY_ABI,
    .name = "dilu",
    .summary = "instances with a request and a limit, placed complementarily, scaled lazily",
    .parameters = dilu_parameters,
    .parameters_bytes = sizeof(struct dilu_parameters),
    .state_bytes = sizeof(struct dilu),
    .init = dilu_init,
    .on_ready = dilu_on_ready,
    .on_withdrawn = dilu_on_withdrawn,
    .on_finish = dilu_on_finish,
    .on_instance_ready = dilu_on_instance_ready,
    .on_timer = dilu_on_timer,
    .decide = dilu_decide,
    .refuses_gang = dilu_refuses_gang,
    .on_training_arrived = dilu_on_training_arrived,
    .on_training_finished = dilu_on_training_finished,
    .serves = SERVES_BOTH,
};
