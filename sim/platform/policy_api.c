/* The queries and actions of sched/policy.h. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "sim/base/clock.h"
#include "sim/base/utf8.h"
#include "sim/platform/actions.h"
#include "sim/platform/batches.h"
#include "sim/platform/choices.h"
#include "sim/platform/containers.h"
#include "sim/platform/failures.h"
#include "sim/platform/policy_api_internal.h"
#include "sim/platform/policy_calls.h"
#include "sim/platform/requests.h"
#include "sim/platform/simulation_internal.h"

/* Upper bound of the work units of a run: larger integers are not exact as a double. */
#define CHARGE_MOST (UINT64_C(1) << 53)

void platform_fail(struct platform *platform, const char *format, ...)
{
    if (platform->failed)
        return;
    char text[640];
    va_list args;
    va_start(args, format);
    utf8_mark_cut(text, sizeof text, vsnprintf(text, sizeof text, format, args));
    va_end(args);
    platform->failed = true;
    const char *callback = policy_callback_name(platform);
    error_run(platform->error, "%s: %s (%s%sat %.6f ms, policy %s, seed %" PRIu64 ")",
              platform->experiment->name, text, callback != NULL ? callback : "",
              callback != NULL ? ", " : "", sim_to_ms(platform->now), platform->policy->name,
              platform->experiment->seed);
}

struct arena *platform_arena(struct platform *platform)
{
    return &platform->arena;
}

void *platform_allocate(struct platform *platform, size_t count, size_t size)
{
    return arena_allocate(&platform->arena, count, size);
}

void *platform_reallocate(struct platform *platform, void *memory, size_t count, size_t size)
{
    return arena_reallocate(&platform->arena, memory, count, size);
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
        return (sim_time_t)((double)clock_ns() - controller->wall_start);
    default:
        return 0;
    }
}

/* ---- Queries ---------------------------------------------------------------------------------
 *
 * A query with an invalid argument returns 0, false or SIM_NONE, and the run fails when the policy
 * returns. Short queries are inline so that link-time optimisation can inline them into policies.
 */

sim_time_t platform_now(const struct platform *platform)
{
    return platform->now;
}

const struct workload *platform_workload(const struct platform *platform)
{
    return platform->planned;
}

double platform_random(struct platform *platform)
{
    return random_uniform(&platform->random[platform->asking]);
}

uint64_t platform_seed(const struct platform *platform)
{
    const uint64_t seed = draw_seed(platform, 0);
    if (platform->recorder == NULL || platform->recorder->action == NULL)
        return seed;
    struct random_stream stream;
    random_stream_open(&stream, seed, RANDOM_MODULE, 2, 0);
    return (uint64_t)(random_uniform(&stream) * (double)(UINT64_C(1) << 53));
}

const char *platform_policy_file(const struct platform *platform)
{
    return platform->experiment->policy_file;
}

sim_time_t platform_keep_alive(const struct platform *platform)
{
    return platform->experiment->platform.keep_alive;
}

bool platform_invoker_up(const struct platform *platform, uint32_t invoker)
{
    return is_invoker(platform, "invoker_up", invoker) &&
           (platform->failures == NULL || !platform->failures->invokers[invoker].down);
}

uint64_t platform_outages(const struct platform *platform)
{
    return platform->failures != NULL ? platform->failures->changes : 0;
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
    /* The word of `from` is read twice: first its bits from `from` on, at the end all its bits. */
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

inline struct job_view platform_job(const struct platform *platform, uint32_t queue,
                                    uint32_t position)
{
    if (!is_queue(platform, "job", queue) ||
        !is_within(platform, "job", "position", position, platform->queues[queue].length))
        return (struct job_view){0};
    return job_look(platform, queue_job(&platform->queues[queue], position));
}

inline uint32_t platform_predecessor_invoker(const struct platform *platform, uint32_t queue,
                                             uint32_t position, uint32_t which)
{
    if (!is_queue(platform, "predecessor_invoker", queue))
        return SIM_NONE;
    const struct queue *state = &platform->queues[queue];
    const struct stage *stage =
        &platform->workload->applications[state->application].stages[state->stage];
    if (which >= stage->after_count || position >= state->length)
        return SIM_NONE;
    uint32_t first = queue_job(state, position) - state->stage;
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

static inline bool is_placeable(const struct platform *platform, const char *caller,
                                uint32_t function, uint32_t configuration, uint32_t invoker,
                                bool warm)
{
    struct placement placement;
    if (!is_configuration(platform, caller, function, configuration) ||
        !is_invoker(platform, caller, invoker))
        return false;
    /* The ledger remembers what it found, so it is not const. */
    const struct configuration *spec = find_configuration(platform, function, configuration);
    return cluster_place((struct cluster *)&platform->cluster, function, spec, invoker,
                         warm ? REACH_IDLE : containers_reach(platform, function, spec),
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
    const struct configuration *spec = find_configuration(platform, function, configuration);
    return cluster_best_fit(&platform->cluster, function, spec,
                            warm ? REACH_IDLE : containers_reach(platform, function, spec));
}

inline uint64_t platform_changes(const struct platform *platform)
{
    return platform->cluster.changes;
}

inline uint32_t platform_home(const struct platform *platform, uint32_t function, uint32_t which)
{
    const struct cluster *cluster = &platform->cluster;
    if (!is_function(platform, "home", function) || !is_invoker(platform, "home", which))
        return 0;
    const struct function_state *state = &cluster->functions[function];
    uint64_t walked = state->home_first + (uint64_t)which * state->home_step;
    return (uint32_t)(walked % cluster->invoker_count);
}

/* ---- Actions --------------------------------------------------------------------------------- */

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
    if (platform->asking)
        return choices_dispatched(platform, queue, configuration, jobs);
    ACTION_NOTE(platform, dispatch, queue, jobs, configuration, invoker);
    platform->controller.acts++;
    const bool launched = batches_dispatch(platform, queue, jobs, configuration, invoker);
    platform->controller.moves += launched;
    if (launched && platform->experiment->policy_shadow == NULL)
        (void)choices_dispatched(platform, queue, configuration, jobs);
    return launched;
}

bool platform_prewarm(struct platform *platform, uint32_t function, uint32_t invoker)
{
    if (!is_function(platform, "prewarm", function) || !is_invoker(platform, "prewarm", invoker) ||
        platform->asking)
        return false;
    ACTION_NOTE(platform, prewarm, function, invoker);
    return containers_prewarm(platform, function, invoker);
}

bool platform_drop(struct platform *platform, uint32_t queue, uint32_t position)
{
    if (!action_allowed(platform, "drop", queue, 0) || platform->asking)
        return false;
    if (position >= platform->queues[queue].length) {
        platform_fail(platform,
                      "rule absent jobs: drop of position %" PRIu32 " in queue %" PRIu32
                      ", which holds %" PRIu32,
                      position, queue, platform->queues[queue].length);
        return false;
    }
    ACTION_NOTE(platform, drop, queue, position);
    platform->controller.acts++;
    platform->controller.moves++;
    const uint32_t slot = job_slot(platform, queue_job(&platform->queues[queue], position));
    platform->requests[slot].shed = true;
    jobs_drop(platform, slot);
    return !platform->failed;
}

void platform_set_timer(struct platform *platform, sim_time_t time, uint32_t id)
{
    if (time < platform->now)
        platform_fail(platform, "rule time: a timer %.6f ms in the past",
                      sim_to_ms(platform->now - time));
    else if (time < SIM_FOREVER && !platform->asking) {
        ACTION_NOTE(platform, timer, time, id);
        platform_schedule(platform, time, EVENT_TIMER, id);
    }
}

void platform_remark(struct platform *platform, const char *text)
{
    if (!platform->asking)
        arena_append(&platform->arena, &platform->remarks, "%s%s",
                     platform->remarks != NULL ? "; " : "", text);
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
    else if (!platform->asking) {
        platform->unnoted += units;
        controller->units += units;
    }
}

void platform_explain(struct platform *platform, uint32_t alternatives, double plan_cost_usd,
                      sim_time_t plan_time)
{
    if (isnan(plan_cost_usd) || plan_time < 0) {
        platform_fail(platform, "rule range: explain with a cost of %g $ and a time of %.6f ms",
                      plan_cost_usd, sim_to_ms(plan_time));
        return;
    }
    if (platform->asking)
        return;
    platform->controller.alternatives = alternatives;
    platform->controller.plan_cost = plan_cost_usd;
    platform->controller.plan_time = plan_time;
}

void platform_planned(struct platform *platform, uint32_t configuration)
{
    ACTION_NOTE(platform, planned, configuration);
    platform->controller.planned = configuration;
}
