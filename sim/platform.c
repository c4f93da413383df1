/* The platform as a policy sees it: queries and actions of sched/policy.h. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "sim/state.h"

void platform_fail(struct platform *platform, const char *format, ...)
{
    if (platform->failed)
        return;
    char text[640];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    platform->failed = true;
    error_run(platform->error, "%s: %s (at %.6f ms, policy %s, seed %" PRIu64 ")",
              platform->experiment->name, text, sim_to_ms(platform->now), platform->policy->name,
              platform->experiment->seed);
}

static double wall_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

sim_time_t controller_charges(const struct platform *platform)
{
    const struct platform_spec *spec = &platform->experiment->platform;
    const struct controller *controller = &platform->controller;
    switch (spec->decision_cost) {
    case DECISION_FIXED:
        return sim_from_ms(spec->decision_fixed_ms);
    case DECISION_MODELLED:
        return sim_round((double)controller->units * spec->decision_ns_per_unit);
    case DECISION_MEASURED:
        return (sim_time_t)(wall_ns() - controller->wall_start);
    default:
        return 0;
    }
}

/* ---- Queries --------------------------------------------------------------------------------- */

sim_time_t platform_now(const struct platform *platform)
{
    return platform->now;
}

const struct workload *platform_workload(const struct platform *platform)
{
    return platform->workload;
}

uint64_t platform_seed(const struct platform *platform)
{
    return platform->experiment->seed;
}

uint32_t platform_queue_length(const struct platform *platform, uint32_t queue)
{
    return platform->queues[queue].length;
}

uint32_t platform_queue_application(const struct platform *platform, uint32_t queue)
{
    return platform->queues[queue].application;
}

uint32_t platform_queue_stage(const struct platform *platform, uint32_t queue)
{
    return platform->queues[queue].stage;
}

uint32_t platform_queue_function(const struct platform *platform, uint32_t queue)
{
    return platform->queues[queue].function;
}

uint32_t platform_next_queue(const struct platform *platform, uint32_t from)
{
    uint32_t count = platform->workload->queue_count;
    uint32_t words = count / 64 + 1;
    from = from < count ? from : 0;
    /* One word more than there are: the first is seen twice, above `from` and whole. */
    for (uint32_t i = 0; i <= words; i++) {
        uint32_t word = (from / 64 + i) % words;
        uint64_t bits = platform->queue_mask[word];
        if (i == 0)
            bits &= ~UINT64_C(0) << (from % 64);
        if (bits != 0)
            return word * 64 + (uint32_t)__builtin_ctzll(bits);
    }
    return SIM_NONE;
}

static struct job_view job_look(const struct platform *platform, uint32_t job)
{
    const struct request *request = job_request(platform, job);
    const sim_time_t slo = request_slo(platform, job_slot(platform, job));
    return (struct job_view){.request = request->number,
                             .arrival = request->arrival,
                             .ready = platform->jobs[job].ready,
                             .deadline = request->arrival + slo,
                             .slo = slo};
}

struct job_view platform_job(const struct platform *platform, uint32_t queue, uint32_t position)
{
    return job_look(platform, queue_job(&platform->queues[queue], position));
}

uint32_t platform_predecessor_invoker(const struct platform *platform, uint32_t queue,
                                      uint32_t which)
{
    const struct queue *state = &platform->queues[queue];
    const struct stage *stage =
        &platform->workload->applications[state->application].stages[state->stage];
    if (which >= stage->after_count || state->length == 0)
        return SIM_NONE;
    uint32_t first = queue_job(state, 0) - state->stage;
    return platform->jobs[first + stage->after[which]].invoker;
}

uint32_t platform_free_vcpus(const struct platform *platform, uint32_t invoker)
{
    return platform->cluster.invokers[invoker].free_vcpus;
}

uint32_t platform_free_vgpus(const struct platform *platform, uint32_t invoker)
{
    const struct invoker_state *state = &platform->cluster.invokers[invoker];
    uint32_t best = 0;
    for (uint32_t g = 0; g < state->gpu_count; g++) {
        uint32_t headroom = gpu_headroom(&platform->cluster.gpus[state->first_gpu + g]);
        best = headroom > best ? headroom : best;
    }
    return best;
}

uint32_t platform_running_batches(const struct platform *platform, uint32_t invoker)
{
    return platform->cluster.invokers[invoker].batches;
}

uint32_t platform_warm(const struct platform *platform, uint32_t function, uint32_t invoker)
{
    return cluster_warm(&platform->cluster, invoker, function)->idle_count;
}

uint32_t platform_warm_total(const struct platform *platform, uint32_t function)
{
    return platform->cluster.idle_total[function];
}

static const struct configuration *find_configuration(const struct platform *platform,
                                                      uint32_t function, uint32_t configuration)
{
    return &platform->workload->functions[function].configurations[configuration];
}

bool platform_fits(const struct platform *platform, uint32_t function, uint32_t configuration,
                   uint32_t invoker)
{
    struct placement placement;
    return cluster_place(&platform->cluster, function,
                         find_configuration(platform, function, configuration), invoker, false,
                         &placement);
}

bool platform_fits_warm(const struct platform *platform, uint32_t function, uint32_t configuration,
                        uint32_t invoker)
{
    struct placement placement;
    return cluster_place(&platform->cluster, function,
                         find_configuration(platform, function, configuration), invoker, true,
                         &placement);
}

uint32_t platform_best_fit(struct platform *platform, uint32_t function, uint32_t configuration,
                           bool warm)
{
    return cluster_best_fit(&platform->cluster, function,
                            find_configuration(platform, function, configuration), warm);
}

uint32_t platform_home(const struct platform *platform, uint32_t function, uint32_t which)
{
    const struct cluster *cluster = &platform->cluster;
    uint64_t walked =
        cluster->home_first[function] + (uint64_t)which * cluster->home_step[function];
    return (uint32_t)(walked % cluster->invoker_count);
}

uint32_t platform_gpu_count(const struct platform *platform, uint32_t invoker)
{
    return platform->cluster.invokers[invoker].gpu_count;
}

uint32_t platform_gpu_free(const struct platform *platform, uint32_t invoker, uint32_t which)
{
    const struct invoker_state *state = &platform->cluster.invokers[invoker];
    return platform->cluster.gpus[state->first_gpu + which].free_parts;
}

/* ---- Actions --------------------------------------------------------------------------------- */

/* Queue and invoker exist, and the policy acts when it may. */
static bool action_allowed(struct platform *platform, const char *action, uint32_t queue,
                           uint32_t invoker)
{
    if (!platform->controller.deciding)
        platform_fail(platform, "rule timing: %s outside decide", action);
    else if (queue >= platform->workload->queue_count)
        platform_fail(platform, "rule range: %s names queue %" PRIu32 " of %" PRIu32, action, queue,
                      platform->workload->queue_count);
    else if (invoker >= platform->cluster.invoker_count)
        platform_fail(platform, "rule range: %s names invoker %" PRIu32 " of %" PRIu32, action,
                      invoker, platform->cluster.invoker_count);
    return !platform->failed;
}

bool platform_dispatch(struct platform *platform, uint32_t queue, uint32_t jobs,
                       uint32_t configuration, uint32_t invoker)
{
    if (!action_allowed(platform, "dispatch", queue, invoker))
        return false;
    const struct queue *state = &platform->queues[queue];
    const struct function *function = &platform->workload->functions[state->function];
    if (jobs == 0 || jobs > state->length) {
        platform_fail(platform,
                      "rule absent jobs: dispatch of %" PRIu32 " jobs from queue %" PRIu32
                      ", which holds %" PRIu32,
                      jobs, queue, state->length);
        return false;
    }
    if (configuration >= function->configuration_count) {
        platform_fail(platform, "rule range: configuration %" PRIu32 " of %s, which has %zu",
                      configuration, function->name, function->configuration_count);
        return false;
    }
    if (jobs > function->configurations[configuration].batch) {
        platform_fail(platform, "rule batch: %" PRIu32 " jobs in a batch configured for %u", jobs,
                      function->configurations[configuration].batch);
        return false;
    }
    platform->controller.acts++;
    platform->controller.moves++;
    return batches_dispatch(platform, queue, jobs, configuration, invoker);
}

bool platform_prewarm(struct platform *platform, uint32_t function, uint32_t invoker)
{
    if (function >= platform->cluster.function_count ||
        invoker >= platform->cluster.invoker_count) {
        platform_fail(platform, "rule range: prewarm of function %" PRIu32 " on invoker %" PRIu32,
                      function, invoker);
        return false;
    }
    return containers_prewarm(platform, function, invoker);
}

bool platform_evict(struct platform *platform, uint32_t function, uint32_t invoker)
{
    struct cluster *cluster = &platform->cluster;
    if (function >= cluster->function_count || invoker >= cluster->invoker_count)
        return false;
    uint32_t oldest = cluster_idle_tail(cluster, invoker, function);
    if (oldest == SIM_NONE)
        return false;
    metrics_settle(&platform->metrics, &cluster->use, platform->now);
    cluster_evict(cluster, oldest);
    return true;
}

bool platform_drop(struct platform *platform, uint32_t queue, uint32_t position)
{
    if (!action_allowed(platform, "drop", queue, 0))
        return false;
    if (position >= platform->queues[queue].length) {
        platform_fail(platform,
                      "rule absent jobs: drop of position %" PRIu32 " in queue %" PRIu32
                      ", which holds %" PRIu32,
                      position, queue, platform->queues[queue].length);
        return false;
    }
    platform->controller.acts++;
    platform->controller.moves++;
    jobs_drop(platform, job_slot(platform, queue_job(&platform->queues[queue], position)));
    return !platform->failed;
}

void platform_set_timer(struct platform *platform, sim_time_t time, uint32_t id)
{
    if (time < platform->now)
        platform_fail(platform, "rule time: a timer %.6f ms in the past",
                      sim_to_ms(platform->now - time));
    else if (time < SIM_FOREVER)
        platform_schedule(platform, time, EVENT_TIMER, id);
}

void platform_charge(struct platform *platform, uint64_t units)
{
    platform->controller.units += units;
}

void platform_explain(struct platform *platform, uint32_t alternatives, double plan_cost_usd,
                      sim_time_t plan_time)
{
    platform->controller.alternatives = alternatives;
    platform->controller.plan_cost = plan_cost_usd;
    platform->controller.plan_time = plan_time;
}

void platform_planned(struct platform *platform, uint32_t configuration)
{
    platform->controller.planned = configuration;
}

/* ---- Instances ------------------------------------------------------------------------------- */

/* The instance lives, and the policy acts when it may. */
static bool instance_allowed(struct platform *platform, const char *action, uint32_t instance)
{
    if (!action_allowed(platform, action, 0, 0))
        return false;
    if (instance < platform->instance_capacity && platform->instances[instance].alive)
        return true;
    platform_fail(platform, "rule range: %s names instance %" PRIu32 ", which does not live",
                  action, instance);
    return false;
}

static bool shape_allowed(struct platform *platform, const char *action, uint32_t function,
                          uint32_t configuration, uint32_t quota)
{
    if (function >= platform->cluster.function_count)
        platform_fail(platform, "rule range: %s names function %" PRIu32 " of %" PRIu32, action,
                      function, platform->cluster.function_count);
    else if (configuration >= platform->workload->functions[function].configuration_count)
        platform_fail(platform,
                      "rule range: %s with configuration %" PRIu32 " of %s, which has %zu", action,
                      configuration, platform->workload->functions[function].name,
                      platform->workload->functions[function].configuration_count);
    else if (quota < 1 || quota > UNIT_PARTS)
        platform_fail(platform, "rule range: %s with a quota of %" PRIu32 " %%, not 1..100", action,
                      quota);
    return !platform->failed;
}

static bool instance_place(const struct platform *platform, uint32_t function,
                           uint32_t configuration, uint32_t quota, uint32_t invoker, uint32_t gpu,
                           struct placement *placement)
{
    const struct invoker_state *state = &platform->cluster.invokers[invoker];
    const struct configuration *spec = find_configuration(platform, function, configuration);
    if (gpu != SIM_NONE && gpu >= state->gpu_count)
        return false;
    return cluster_place_instance(&platform->cluster, function, spec,
                                  spec->vgpu > 0 ? quota : UNIT_PARTS, invoker,
                                  gpu != SIM_NONE ? state->first_gpu + gpu : SIM_NONE, placement);
}

bool platform_instance_fits(const struct platform *platform, uint32_t function,
                            uint32_t configuration, uint32_t quota, uint32_t invoker, uint32_t gpu)
{
    struct placement placement;
    return instance_place(platform, function, configuration, quota, invoker, gpu, &placement);
}

uint32_t platform_create(struct platform *platform, uint32_t function, uint32_t configuration,
                         uint32_t quota, uint32_t invoker, uint32_t gpu)
{
    struct placement placement;
    if (!action_allowed(platform, "create", 0, invoker) ||
        !shape_allowed(platform, "create", function, configuration, quota) ||
        !instance_place(platform, function, configuration, quota, invoker, gpu, &placement))
        return SIM_NONE;
    platform->controller.acts++;
    return instances_create(platform, function, configuration, placement.quota, &placement);
}

bool platform_kill(struct platform *platform, uint32_t instance)
{
    if (!instance_allowed(platform, "kill", instance))
        return false;
    const struct instance *state = &platform->instances[instance];
    if (state->state == INSTANCE_BUSY || state->buffer.length > 0) {
        platform_fail(platform,
                      "rule instance: kill of instance %" PRIu32 ", which %s %" PRIu32 " jobs",
                      instance, state->state == INSTANCE_BUSY ? "runs" : "buffers",
                      state->state == INSTANCE_BUSY ? platform->batches[state->batch].jobs
                                                    : state->buffer.length);
        return false;
    }
    platform->controller.acts++;
    instances_kill(platform, instance);
    return !platform->failed;
}

bool platform_set_share(struct platform *platform, uint32_t instance, uint32_t configuration,
                        uint32_t quota)
{
    if (!instance_allowed(platform, "set_share", instance))
        return false;
    const struct instance *state = &platform->instances[instance];
    if (!shape_allowed(platform, "set_share", state->function, configuration, quota))
        return false;
    const struct configuration *spec = find_configuration(platform, state->function, configuration);
    if (state->gpu != SIM_NONE && platform->cluster.gpus[state->gpu].spec->sharing != SHARING_MPS) {
        platform_fail(platform,
                      "rule instance: set_share of instance %" PRIu32
                      " on a GPU that is not shared by MPS",
                      instance);
        return false;
    }
    if (state->state == INSTANCE_BUSY && platform->batches[state->batch].jobs > spec->batch) {
        platform_fail(platform,
                      "rule batch: set_share of instance %" PRIu32 ", which runs %" PRIu32
                      " jobs, to a batch of %u",
                      instance, platform->batches[state->batch].jobs, spec->batch);
        return false;
    }
    platform->controller.acts++;
    return instances_set_share(platform, instance, configuration,
                               spec->vgpu > 0 ? quota : UNIT_PARTS);
}

bool platform_route(struct platform *platform, uint32_t queue, uint32_t instance)
{
    if (!action_allowed(platform, "route", queue, 0) ||
        !instance_allowed(platform, "route", instance))
        return false;
    const struct queue *state = &platform->queues[queue];
    if (state->length == 0)
        platform_fail(platform, "rule absent jobs: route from queue %" PRIu32 ", which is empty",
                      queue);
    else if (state->function != platform->instances[instance].function)
        platform_fail(platform, "rule instance: route of a job of %s to instance %" PRIu32 " of %s",
                      platform->workload->functions[state->function].name, instance,
                      platform->workload->functions[platform->instances[instance].function].name);
    if (platform->failed)
        return false;
    platform->controller.acts++;
    jobs_route(platform, queue, instance);
    return !platform->failed;
}

bool platform_return(struct platform *platform, uint32_t instance)
{
    if (!instance_allowed(platform, "return", instance))
        return false;
    platform->controller.acts++;
    jobs_return(platform, instance);
    return !platform->failed;
}

bool platform_launch(struct platform *platform, uint32_t instance, uint32_t jobs)
{
    if (!instance_allowed(platform, "launch", instance))
        return false;
    const struct instance *state = &platform->instances[instance];
    const struct configuration *spec =
        find_configuration(platform, state->function, state->configuration);
    if (state->state != INSTANCE_IDLE)
        platform_fail(platform, "rule instance: launch on instance %" PRIu32 ", which is %s",
                      instance, state->state == INSTANCE_BUSY ? "busy" : "starting");
    else if (jobs == 0 || jobs > state->buffer.length)
        platform_fail(platform,
                      "rule absent jobs: launch of %" PRIu32 " jobs on instance %" PRIu32
                      ", which buffers %" PRIu32,
                      jobs, instance, state->buffer.length);
    else if (jobs > spec->batch)
        platform_fail(platform, "rule batch: %" PRIu32 " jobs in a batch configured for %u", jobs,
                      spec->batch);
    if (platform->failed)
        return false;
    platform->controller.acts++;
    platform->controller.moves++;
    return batches_launch(platform, instance, jobs);
}

struct instance_view platform_instance(const struct platform *platform, uint32_t instance)
{
    const struct instance *state = &platform->instances[instance];
    const struct invoker_state *invoker = &platform->cluster.invokers[state->invoker];
    bool busy = state->state == INSTANCE_BUSY;
    return (struct instance_view){.state = state->state,
                                  .function = state->function,
                                  .configuration = state->configuration,
                                  .quota = state->quota,
                                  .invoker = state->invoker,
                                  .gpu = state->gpu == SIM_NONE ? SIM_NONE
                                                                : state->gpu - invoker->first_gpu,
                                  .buffered = state->buffer.length,
                                  .running = busy ? platform->batches[state->batch].jobs : 0,
                                  .created = state->created,
                                  .ready = state->ready};
}

struct job_view platform_buffered_job(const struct platform *platform, uint32_t instance,
                                      uint32_t position)
{
    return job_look(platform, queue_job(&platform->instances[instance].buffer, position));
}
