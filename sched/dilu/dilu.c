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
 * (dilu_scaler.h).
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

/* ---- Events ---------------------------------------------------------------------------------- */

static void dilu_on_finish(void *state, struct platform *platform,
                           const struct finished_batch *batch)
{
    struct dilu *self = state;
    struct dilu_instance *instance = &self->hosts.instances[batch->instance];
    dilu_hosts_finished(&self->hosts, batch->instance);
    instance->active_until = platform_now(platform) + self->parameters->active_ms;
    dilu_hosts_touch(&self->hosts, instance->host);
    if (instance->host != SIM_NONE && self->hosts.gpus[instance->host].instances > 1)
        platform_set_timer(platform, instance->active_until, instance->host);
    fleet_idle(&self->fleet, batch->instance);
}

static void dilu_on_timer(void *state, struct platform *platform, uint32_t id)
{
    struct dilu *self = state;
    if (fleet_ticks(&self->fleet, id)) {
        self->sampling = self->fleet.deployment_count;
        return;
    }
    dilu_hosts_watch(&self->hosts, id);
    dilu_hosts_touch(&self->hosts, id);
}

static const char *dilu_refuses_gang(void *state, uint32_t gpus, double gpu_memory_mb,
                                     uint64_t gpu_types)
{
    return dilu_trainings_refuse(&((struct dilu *)state)->trainings, gpus);
}

static void dilu_on_training_arrived(void *state, struct platform *platform, uint32_t training)
{
    struct dilu *self = state;
    dilu_trainings_arrived(&self->trainings, training);
}

static void dilu_on_training_finished(void *state, struct platform *platform, uint32_t training)
{
    struct dilu *self = state;
    dilu_hosts_trained(&self->hosts, training);
    self->fleet.freed = true;
}

/* ---- Instances ------------------------------------------------------------------------------- */

/* Makes one more instance by the profile, or with `makeshift` the smallest that fits; on the best
 * kind of GPU that has room. */
static bool make(struct dilu *self, uint32_t index, bool makeshift)
{
    const struct dilu_deployment *deployment = &self->deployments[index];
    const struct dilu_profile *profiles = makeshift ? deployment->smallest : deployment->profiles;
    bool made = false;
    for (uint32_t p = 0; p < deployment->profile_count && !made; p++)
        made = dilu_hosts_create(&self->hosts, index, &profiles[p], makeshift) != SIM_NONE;
    self->moved = self->moved || made;
    return made;
}

/* Ends an instance that is not busy. Its buffered jobs return to their queues. */
static void end(void *policy, uint32_t id)
{
    struct dilu *self = policy;
    const uint32_t index = self->fleet.instances[id].deployment;
    if (platform_instance(self->fleet.platform, id).buffered > 0 && !fleet_return(&self->fleet, id))
        return;
    const uint32_t at = dilu_hosts_kill(&self->hosts, id);
    if (at == SIM_NONE)
        return;
    self->deployments[index].turn -= self->deployments[index].turn > at;
    unique_fifo_add(&self->fleet.turns, index);
    self->fleet.freed = true;
    self->moved = true;
}

/* ---- Lazy scaling ---------------------------------------------------------------------------- */

/* The instance to remove next: a makeshift one, or the youngest. SIM_NONE if none may be removed.
 */
static uint32_t next_to_go(const struct dilu *self, const struct fleet_deployment *deployment)
{
    uint32_t found = SIM_NONE;
    for (uint32_t i = deployment->instance_count; i-- > 0;) {
        const uint32_t id = deployment->instances[i];
        if (self->fleet.instances[id].draining)
            continue;
        if (self->hosts.instances[id].profile->makeshift)
            return id;
        found = found == SIM_NONE ? id : found;
    }
    return found;
}

static double rate_of(const struct dilu *self, const struct fleet_deployment *deployment)
{
    double waiting = 0;
    if (self->parameters->backlog == DILU_ON) {
        waiting = deployment->backlog.waiting;
        for (uint32_t i = 0; i < deployment->instance_count; i++)
            waiting += platform_instance(self->fleet.platform, deployment->instances[i]).buffered;
    }
    const double sample_s = self->parameters->sample_s;
    return (double)deployment->arrivals / sample_s +
           waiting / ((double)self->lazy.window * sample_s);
}

static void sample(struct dilu *self, uint32_t index)
{
    struct dilu_deployment *deployment = &self->deployments[index];
    struct fleet_deployment *base = &deployment->base;
    double capacity = 0;
    size_t staying = 0;
    if (!deployment->started)
        return;
    dilu_window_add(&deployment->window, rate_of(self, base));
    base->arrivals = 0;
    for (uint32_t i = 0; i < base->instance_count; i++) {
        const bool draining = self->fleet.instances[base->instances[i]].draining;
        capacity += draining ? 0 : self->hosts.instances[base->instances[i]].profile->throughput;
        staying += !draining;
    }
    const uint32_t last = next_to_go(self, base);
    const double without =
        last == SIM_NONE ? 0 : capacity - self->hosts.instances[last].profile->throughput;
    platform_charge(self->fleet.platform, deployment->window.count + base->instance_count);
    const int step = dilu_lazy(&deployment->window, &self->lazy, capacity, without, staying);
    if (step > 0 && self->fleet.starving == 0 && make(self, index, false)) {
        dilu_window_restart(&deployment->window);
    } else if (step < 0) {
        self->fleet.instances[last].draining = true;
        fleet_reap(&self->fleet, base, end, self);
        dilu_window_restart(&deployment->window);
    }
}

/* ---- A function without an instance ---------------------------------------------------------- */

static bool make_any(struct dilu *self, uint32_t index)
{
    struct dilu_deployment *deployment = &self->deployments[index];
    if (!make(self, index, false) && !make(self, index, true))
        return false;
    const uint32_t first = deployment->started ? 1 : self->parameters->first;
    for (bool room = true; room && deployment->base.instance_count < first;)
        room = make(self, index, false);
    deployment->started = true;
    return true;
}

/* An idle instance whose work arrived later than `since`: of the deployment with the most. */
static uint64_t worth_of(const struct fleet *fleet, const void *policy, uint32_t id,
                         sim_time_t since)
{
    const struct fleet_deployment *owner = fleet_at(fleet, fleet->instances[id].deployment);
    const bool may_go =
        fleet_state(fleet, id) == INSTANCE_IDLE && backlog_since(&owner->backlog) > since;
    return may_go ? owner->instance_count : 0;
}

static void relieve(struct dilu *self)
{
    struct fleet *fleet = &self->fleet;
    fleet->freed = false;
    const uint32_t index = fleet_hungriest(fleet, true);
    if (index == SIM_NONE)
        return;
    if (make_any(self, index)) {
        fleet->freed = fleet->starving > 0;
        return;
    }
    platform_charge(fleet->platform, fleet->deployment_count);
    const sim_time_t since = backlog_since(&self->deployments[index].base.backlog);
    const uint32_t spare = fleet_spare(fleet, since, worth_of, self);
    if (spare != SIM_NONE)
        end(self, spare);
}

/* ---- Serving --------------------------------------------------------------------------------- */

static bool takes_jobs(const struct dilu *self, uint32_t id, bool idle)
{
    const enum instance_state state = fleet_state(&self->fleet, id);
    return !self->fleet.instances[id].draining &&
           (state == INSTANCE_IDLE || (state == INSTANCE_BUSY && !idle));
}

/* The next instance in turn that takes jobs; SIM_NONE if there is none. */
static uint32_t next_in_turn(const struct dilu *self, struct dilu_deployment *deployment, bool idle)
{
    const struct fleet_deployment *base = &deployment->base;
    for (uint32_t i = 0; i < base->instance_count; i++) {
        const uint32_t at = (deployment->turn + i) % base->instance_count;
        platform_charge(self->fleet.platform, 1);
        if (takes_jobs(self, base->instances[at], idle)) {
            deployment->turn = (at + 1) % base->instance_count;
            return base->instances[at];
        }
    }
    return SIM_NONE;
}

static void launch(struct dilu *self, const struct fleet_deployment *deployment, uint32_t id,
                   uint32_t jobs)
{
    const struct dilu_instance *instance = &self->hosts.instances[id];
    const struct dilu_level *level = &instance->profile->levels[instance->level];
    const struct configuration *spec =
        &self->workload->functions[deployment->function].configurations[level->configuration];
    const uint32_t batch = instance->profile->batch;
    platform_explain(self->fleet.platform, deployment->instance_count, spec->cost_usd, level->time);
    dilu_hosts_started(&self->hosts, id);
    dilu_hosts_touch(&self->hosts, instance->host);
    self->moved = true;
    (void)platform_launch(self->fleet.platform, id, jobs < batch ? jobs : batch);
}

/* Routing to idle instances only; jobs wait in their queues. */
static void serve_idle(struct dilu *self, struct dilu_deployment *deployment)
{
    if (deployment->base.backlog.waiting == 0)
        return;
    const uint32_t id = next_in_turn(self, deployment, true);
    if (id == SIM_NONE)
        return;
    const uint32_t jobs = fleet_route(&self->fleet, id, self->hosts.instances[id].profile->batch);
    if (jobs > 0)
        launch(self, &deployment->base, id, jobs);
}

/* Routing on arrival: distributes the jobs, and launches the buffers of idle instances. */
static void serve_arrivals(struct dilu *self, struct dilu_deployment *deployment)
{
    const struct fleet_deployment *base = &deployment->base;
    while (base->backlog.waiting > 0) {
        const uint32_t id = next_in_turn(self, deployment, false);
        if (id == SIM_NONE || fleet_route(&self->fleet, id, 1) == 0)
            break;
        self->moved = true;
    }
    for (uint32_t i = 0; i < base->instance_count; i++) {
        const uint32_t id = base->instances[i];
        if (!takes_jobs(self, id, true))
            continue;
        const uint32_t buffered = platform_instance(self->fleet.platform, id).buffered;
        if (buffered > 0)
            launch(self, base, id, buffered);
    }
}

static void serve(struct dilu *self, uint32_t index)
{
    struct dilu_deployment *deployment = &self->deployments[index];
    struct fleet_deployment *base = &deployment->base;
    if (base->reap)
        fleet_reap(&self->fleet, base, end, self);
    if (base->instance_count == 0 && !base->starving && base->backlog.waiting > 0 &&
        (self->fleet.starving > 0 || !make_any(self, index))) {
        fleet_starve(&self->fleet, base);
        self->fleet.freed = true;
        self->moved = true;
        return;
    }
    if (self->parameters->routing == DILU_ROUTING_ARRIVAL) {
        serve_arrivals(self, deployment);
        return;
    }
    const bool before = self->moved;
    self->moved = false;
    serve_idle(self, deployment);
    if (self->moved)
        unique_fifo_add(&self->fleet.turns, index); /* more may be possible */
    self->moved = self->moved || before;
}

static bool dilu_decide(void *state, struct platform *platform)
{
    struct dilu *self = state;
    struct fleet *fleet = &self->fleet;
    self->moved = false;
    if (self->outages != platform_outages(platform)) {
        self->outages = platform_outages(platform);
        self->trainings.retry = fleet->freed = true;
    }
    while (!self->moved && self->sampling > 0)
        sample(self, (uint32_t)(fleet->deployment_count - self->sampling--));
    if (!self->moved && fleet->starving > 0 && fleet->freed)
        relieve(self);
    uint32_t index = SIM_NONE;
    while (!self->moved && (index = unique_fifo_next(&fleet->turns)) != SIM_NONE)
        serve(self, index);
    if (dilu_hosts_train(&self->hosts))
        self->moved = true;
    dilu_hosts_grant(&self->hosts);
    return self->moved;
}

const struct policy policy_dilu = {
    .abi = POLICY_ABI,
    .places_containers = true,
    .name = "dilu",
    .summary = "instances with a request and a limit, placed complementarily, scaled lazily",
    .parameters = dilu_parameters,
    .parameters_bytes = sizeof(struct dilu_parameters),
    .state_bytes = sizeof(struct dilu),
    .init = dilu_init,
    .on_ready = fleet_on_ready,
    .on_withdrawn = fleet_on_withdrawn,
    .on_finish = dilu_on_finish,
    .on_instance_ready = fleet_on_instance_ready,
    .on_timer = dilu_on_timer,
    .decide = dilu_decide,
    .refuses_gang = dilu_refuses_gang,
    .on_training_arrived = dilu_on_training_arrived,
    .on_training_finished = dilu_on_training_finished,
    .serves = SERVES_BOTH,
};
