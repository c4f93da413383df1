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

sim_time_t controller_charged(const struct platform *platform)
{
    const struct platform_spec *spec = &platform->experiment->platform;
    const struct controller *controller = &platform->controller;
    switch (spec->decision_cost) {
    case DECISION_FIXED:
        return sim_from_ms(spec->decision_fixed_ms);
    case DECISION_MODELLED:
        return (sim_time_t)llround((double)controller->units * spec->decision_ns_per_unit);
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

static uint32_t queue_job(const struct platform *platform, uint32_t queue, uint32_t position)
{
    const struct queue *state = &platform->queues[queue];
    return state->ring[(state->head + position) & (state->capacity - 1)];
}

struct job_view platform_job(const struct platform *platform, uint32_t queue, uint32_t position)
{
    uint32_t job = queue_job(platform, queue, position);
    const struct request *request = job_request(platform, job);
    return (struct job_view){.request = request->number,
                             .arrival = request->arrival,
                             .ready = platform->jobs[job].ready,
                             .deadline = request->arrival + request->slo,
                             .slo = request->slo};
}

uint32_t platform_predecessor_invoker(const struct platform *platform, uint32_t queue,
                                      uint32_t which)
{
    const struct queue *state = &platform->queues[queue];
    const struct stage *stage =
        &platform->workload->applications[state->application].stages[state->stage];
    if (which >= stage->after_count || state->length == 0)
        return SIM_NONE;
    uint32_t first = queue_job(platform, queue, 0) - state->stage;
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
    const struct cluster *cluster = &platform->cluster;
    return cluster->warm[(size_t)invoker * cluster->function_count + function].idle_count;
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
    uint32_t oldest = cluster->warm[(size_t)invoker * cluster->function_count + function].idle_tail;
    if (oldest == SIM_NONE)
        return false;
    cluster_evict(cluster, oldest);
    metrics_use(&platform->metrics, &cluster->use, platform->now);
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
    jobs_drop(platform, queue_job(platform, queue, position) / platform->stride);
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
