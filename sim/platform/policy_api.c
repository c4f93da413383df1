/* The platform as a policy sees it: queries and actions of sched/policy.h. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "sim/platform/state.h"
#include "sched/policy_bookkeeping.h"
#include "sched/policy_instances.h"

/* Units of work that a run may report: as many as a double holds exactly. */
#define CHARGE_MOST (UINT64_C(1) << 53)

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
    const char *callback = policy_callback_name(platform);
    error_run(platform->error, "%s: %s (%s%sat %.6f ms, policy %s, seed %" PRIu64 ")",
              platform->experiment->name, text, callback != NULL ? callback : "",
              callback != NULL ? ", " : "", sim_to_ms(platform->now), platform->policy->name,
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

/* ---- Arguments ------------------------------------------------------------------------------- */

/* A query sees the platform as constant, but its breach ends the run all the same. */
__attribute__((cold)) static void range_breach(const struct platform *platform, const char *caller,
                                               const char *what, uint32_t number, uint64_t count)
{
    platform_fail((struct platform *)platform, "rule range: %s names %s %" PRIu32 " of %" PRIu64,
                  caller, what, number, count);
}

__attribute__((cold)) static void instance_breach(const struct platform *platform,
                                                  const char *caller, uint32_t instance)
{
    platform_fail((struct platform *)platform,
                  "rule range: %s names instance %" PRIu32 ", which does not live", caller,
                  instance);
}

static inline bool is_within(const struct platform *platform, const char *caller, const char *what,
                             uint32_t number, uint64_t count)
{
    if (number < count)
        return true;
    range_breach(platform, caller, what, number, count);
    return false;
}

static inline bool is_queue(const struct platform *platform, const char *caller, uint32_t queue)
{
    return is_within(platform, caller, "queue", queue, platform->workload->queue_count);
}

static inline bool is_invoker(const struct platform *platform, const char *caller, uint32_t invoker)
{
    return is_within(platform, caller, "invoker", invoker, platform->cluster.invoker_count);
}

static inline bool is_function(const struct platform *platform, const char *caller,
                               uint32_t function)
{
    return is_within(platform, caller, "function", function, platform->workload->function_count);
}

static inline bool is_configuration(const struct platform *platform, const char *caller,
                                    uint32_t function, uint32_t configuration)
{
    return is_function(platform, caller, function) &&
           is_within(platform, caller, "configuration", configuration,
                     platform->workload->functions[function].configuration_count);
}

static inline bool is_instance(const struct platform *platform, const char *caller,
                               uint32_t instance)
{
    if (instance < platform->instance_capacity && platform->instances[instance].alive)
        return true;
    instance_breach(platform, caller, instance);
    return false;
}

/* The GPU `which` of an invoker, or SIM_NONE: any. */
static inline bool is_gpu(const struct platform *platform, const char *caller, uint32_t invoker,
                          uint32_t which)
{
    return which == SIM_NONE ||
           is_within(platform, caller, "GPU", which, platform->cluster.invokers[invoker].gpu_count);
}

/* ---- Queries ---------------------------------------------------------------------------------
 *
 * A query with a wrong argument breaks a rule: it answers 0, false or SIM_NONE, and the run ends
 * when the policy returns. Short ones are inline so that link-time optimisation puts them into
 * policies. sched/policy.h declares them without `inline`, so these are external definitions, which
 * may use static functions; clang warns all the same. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wstatic-in-inline"
#endif

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

inline uint32_t platform_queue_length(const struct platform *platform, uint32_t queue)
{
    return is_queue(platform, "queue_length", queue) ? platform->queues[queue].length : 0;
}

inline uint32_t platform_queue_application(const struct platform *platform, uint32_t queue)
{
    return is_queue(platform, "queue_application", queue) ? platform->queues[queue].application : 0;
}

inline uint32_t platform_queue_stage(const struct platform *platform, uint32_t queue)
{
    return is_queue(platform, "queue_stage", queue) ? platform->queues[queue].stage : 0;
}

inline uint32_t platform_queue_function(const struct platform *platform, uint32_t queue)
{
    return is_queue(platform, "queue_function", queue) ? platform->queues[queue].function : 0;
}

inline uint32_t platform_next_queue(const struct platform *platform, uint32_t from)
{
    uint32_t count = platform->workload->queue_count;
    uint32_t words = count / 64 + 1;
    if (from > count) {
        range_breach(platform, "next_queue", "queue", from, count);
        return SIM_NONE;
    }
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
    const sim_time_t slo = job_request(platform, job)->slo;
    return (struct job_view){.request = request->number,
                             .arrival = request->arrival,
                             .ready = platform->jobs[job].ready,
                             .deadline = request->arrival + slo,
                             .slo = slo};
}

inline struct job_view platform_job(const struct platform *platform, uint32_t queue,
                                    uint32_t position)
{
    if (!is_queue(platform, "job", queue) ||
        !is_within(platform, "job", "position", position, platform->queues[queue].length))
        return (struct job_view){0};
    return job_look(platform, queue_job(&platform->queues[queue], position));
}

uint32_t platform_predecessor_invoker(const struct platform *platform, uint32_t queue,
                                      uint32_t which)
{
    if (!is_queue(platform, "predecessor_invoker", queue))
        return SIM_NONE;
    const struct queue *state = &platform->queues[queue];
    const struct stage *stage =
        &platform->workload->applications[state->application].stages[state->stage];
    if (which >= stage->after_count || state->length == 0)
        return SIM_NONE;
    uint32_t first = queue_job(state, 0) - state->stage;
    return platform->jobs[first + stage->after[which]].invoker;
}

inline uint32_t platform_free_vcpus(const struct platform *platform, uint32_t invoker)
{
    return is_invoker(platform, "free_vcpus", invoker)
               ? platform->cluster.invokers[invoker].free_vcpus
               : 0;
}

uint32_t platform_free_vgpus(const struct platform *platform, uint32_t invoker)
{
    if (!is_invoker(platform, "free_vgpus", invoker))
        return 0;
    const struct invoker_state *state = &platform->cluster.invokers[invoker];
    uint32_t best = 0;
    for (uint32_t g = 0; g < state->gpu_count; g++) {
        uint32_t headroom = gpu_headroom(&platform->cluster.gpus[state->first_gpu + g]);
        best = headroom > best ? headroom : best;
    }
    return best;
}

inline uint32_t platform_running_batches(const struct platform *platform, uint32_t invoker)
{
    return is_invoker(platform, "running_batches", invoker)
               ? platform->cluster.invokers[invoker].batches
               : 0;
}

inline uint32_t platform_warm(const struct platform *platform, uint32_t function, uint32_t invoker)
{
    if (!is_function(platform, "warm", function) || !is_invoker(platform, "warm", invoker))
        return 0;
    return pools_idle_count(&platform->cluster, invoker, function);
}

inline uint32_t platform_warm_total(const struct platform *platform, uint32_t function)
{
    return is_function(platform, "warm_total", function)
               ? platform->cluster.functions[function].idle_total
               : 0;
}

static const struct configuration *find_configuration(const struct platform *platform,
                                                      uint32_t function, uint32_t configuration)
{
    return &platform->workload->functions[function].configurations[configuration];
}

static inline bool is_placeable(const struct platform *platform, const char *caller,
                                uint32_t function, uint32_t configuration, uint32_t invoker,
                                bool warm)
{
    struct placement placement;
    return is_configuration(platform, caller, function, configuration) &&
           is_invoker(platform, caller, invoker) &&
           cluster_place(&platform->cluster, function,
                         find_configuration(platform, function, configuration), invoker, warm,
                         &placement);
}

inline bool platform_fits(const struct platform *platform, uint32_t function,
                          uint32_t configuration, uint32_t invoker)
{
    return is_placeable(platform, "fits", function, configuration, invoker, false);
}

inline bool platform_fits_warm(const struct platform *platform, uint32_t function,
                               uint32_t configuration, uint32_t invoker)
{
    return is_placeable(platform, "fits_warm", function, configuration, invoker, true);
}

uint32_t platform_best_fit(struct platform *platform, uint32_t function, uint32_t configuration,
                           bool warm)
{
    if (!is_configuration(platform, "best_fit", function, configuration))
        return SIM_NONE;
    return cluster_best_fit(&platform->cluster, function,
                            find_configuration(platform, function, configuration), warm);
}

uint32_t platform_home(const struct platform *platform, uint32_t function, uint32_t which)
{
    const struct cluster *cluster = &platform->cluster;
    if (!is_function(platform, "home", function) || !is_invoker(platform, "home", which))
        return 0;
    const struct function_state *state = &cluster->functions[function];
    uint64_t walked = state->home_first + (uint64_t)which * state->home_step;
    return (uint32_t)(walked % cluster->invoker_count);
}

inline uint32_t platform_gpu_count(const struct platform *platform, uint32_t invoker)
{
    return is_invoker(platform, "gpu_count", invoker)
               ? platform->cluster.invokers[invoker].gpu_count
               : 0;
}

inline uint32_t platform_gpu_free(const struct platform *platform, uint32_t invoker, uint32_t which)
{
    if (!is_invoker(platform, "gpu_free", invoker))
        return 0;
    const struct invoker_state *state = &platform->cluster.invokers[invoker];
    if (!is_within(platform, "gpu_free", "GPU", which, state->gpu_count))
        return 0;
    return platform->cluster.gpus[state->first_gpu + which].free_parts;
}

/* ---- Actions --------------------------------------------------------------------------------- */

/* The policy acts when it may; queue and invoker exist. */
static bool action_allowed(struct platform *platform, const char *action, uint32_t queue,
                           uint32_t invoker)
{
    if (!platform->controller.deciding)
        platform_fail(platform, "rule timing: %s outside decide", action);
    return !platform->failed && is_queue(platform, action, queue) &&
           is_invoker(platform, action, invoker);
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
    if (!is_configuration(platform, "dispatch", state->function, configuration))
        return false;
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
    return is_function(platform, "prewarm", function) && is_invoker(platform, "prewarm", invoker) &&
           containers_prewarm(platform, function, invoker);
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
    struct controller *controller = &platform->controller;
    const struct platform_spec *spec = &platform->experiment->platform;
    const double ns = spec->decision_cost == DECISION_MODELLED ? spec->decision_ns_per_unit : 1;
    const uint64_t charged = platform->metrics.decision_units + controller->units;
    if (units > CHARGE_MOST - charged ||
        (double)(controller->units + units) * ns > (double)SIM_FOREVER)
        platform_fail(platform,
                      "rule charge: %" PRIu64 " units after %" PRIu64
                      "; a run takes 2^53 units, and a decision what the clock holds",
                      units, charged);
    else
        controller->units += units;
}

void platform_explain(struct platform *platform, uint32_t alternatives, double plan_cost_usd,
                      sim_time_t plan_time)
{
    if (isnan(plan_cost_usd) || plan_time < 0) {
        platform_fail(platform, "rule range: explain with a cost of %g $ and a time of %.6f ms",
                      plan_cost_usd, sim_to_ms(plan_time));
        return;
    }
    platform->controller.alternatives = alternatives;
    platform->controller.plan_cost = plan_cost_usd;
    platform->controller.plan_time = plan_time;
}

void platform_planned(struct platform *platform, uint32_t configuration)
{
    platform->controller.planned = configuration;
}

/* ---- Instances ------------------------------------------------------------------------------- */

/* The policy acts when it may, and the instance lives. */
static bool instance_allowed(struct platform *platform, const char *action, uint32_t instance)
{
    return action_allowed(platform, action, 0, 0) && is_instance(platform, action, instance);
}

static bool is_shape(const struct platform *platform, const char *caller, uint32_t function,
                     uint32_t configuration, uint32_t quota)
{
    if (!is_configuration(platform, caller, function, configuration))
        return false;
    if (quota >= 1 && quota <= UNIT_PARTS)
        return true;
    platform_fail((struct platform *)platform,
                  "rule range: %s with a quota of %" PRIu32 " %%, not 1..100", caller, quota);
    return false;
}

static bool instance_place(const struct platform *platform, const struct instance_request *request,
                           struct placement *placement)
{
    const struct invoker_state *state = &platform->cluster.invokers[request->invoker];
    const struct configuration *spec =
        find_configuration(platform, request->function, request->configuration);
    return cluster_place_instance(
        &platform->cluster, request->function, spec, spec->vgpu > 0 ? request->quota : UNIT_PARTS,
        request->invoker, request->gpu != SIM_NONE ? state->first_gpu + request->gpu : SIM_NONE,
        placement);
}

bool platform_instance_fits(const struct platform *platform, const struct instance_request *request)
{
    struct placement placement;
    return is_shape(platform, "instance_fits", request->function, request->configuration,
                    request->quota) &&
           is_invoker(platform, "instance_fits", request->invoker) &&
           is_gpu(platform, "instance_fits", request->invoker, request->gpu) &&
           instance_place(platform, request, &placement);
}

uint32_t platform_create(struct platform *platform, const struct instance_request *request)
{
    struct placement placement;
    if (!action_allowed(platform, "create", 0, request->invoker) ||
        !is_shape(platform, "create", request->function, request->configuration, request->quota) ||
        !is_gpu(platform, "create", request->invoker, request->gpu) ||
        !instance_place(platform, request, &placement))
        return SIM_NONE;
    platform->controller.acts++;
    return instances_create(platform, request->function, request->configuration, placement.quota,
                            &placement);
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
    if (!is_shape(platform, "set_share", state->function, configuration, quota))
        return false;
    const struct configuration *spec = find_configuration(platform, state->function, configuration);
    if (state->gpu != SIM_NONE &&
        !gpu_sharing_of(platform->cluster.gpus[state->gpu].spec)->divisible) {
        platform_fail(platform,
                      "rule instance: set_share of instance %" PRIu32
                      " on a GPU shared by %s, whose shares do not change",
                      instance, gpu_sharing_of(platform->cluster.gpus[state->gpu].spec)->name);
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

inline struct instance_view platform_instance(const struct platform *platform, uint32_t instance)
{
    if (!is_instance(platform, "instance", instance))
        return (struct instance_view){.invoker = SIM_NONE, .gpu = SIM_NONE};
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

inline struct job_view platform_buffered_job(const struct platform *platform, uint32_t instance,
                                             uint32_t position)
{
    if (!is_instance(platform, "buffered_job", instance) ||
        !is_within(platform, "buffered_job", "position", position,
                   platform->instances[instance].buffer.length))
        return (struct job_view){0};
    return job_look(platform, queue_job(&platform->instances[instance].buffer, position));
}
