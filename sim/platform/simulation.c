#include "sim/base/clock.h"
#include "sim/platform/failures.h"
#include "sim/platform/simulation.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "sched/common/capacity_bound.h"
#include "sched/module.h"
#include "sched/registry.h"
#include "sim/platform/gpu_work.h"
#include "sim/platform/instances.h"
#include "sim/platform/keep_alive.h"
#include "sim/platform/policy_api.h"
#include "sim/platform/policy_calls.h"
#include "sim/platform/requests.h"
#include "sim/platform/shown.h"
#include "sim/platform/simulation_internal.h"
#include "sim/platform/state.h"
#include "sim/platform/trainings.h"
#include "sim/platform/waits.h"
#include "workloads/load/policy_module.h"
#include "workloads/training/training_plan.h"

/* Policies of modules see a copy of their world, in which they cannot write. */
__attribute__((cold)) static bool world_show(struct platform *platform)
{
    const struct training_plan *plan = platform->experiment->training;
    struct shown from = {.workload = *platform->planned, .whole = !module_has(platform->policy)};
    if (plan != NULL)
        from.models = *plan->models;
    from.shapes =
        (struct fragment_shape *)(uintptr_t)platform_typical_shapes(platform, &from.shape_count);
    platform->shown = shown_create(&from);
    if (platform->shown != NULL)
        platform->planned = &platform->shown->workload;
    return platform->shown != NULL || error_run(platform->error, "out of memory for the workload");
}

static bool policy_init(struct platform *platform, const double *values)
{
    const struct policy *policy = platform->policy;
    if (platform->foreign && !world_show(platform))
        return false;
    platform->policy_state = arena_allocate(&platform->arena, 1, policy->state_bytes);
    platform->admission = policy_admission(policy, values, platform->experiment);
    platform->refusal = policy_refusal(&platform->arena, policy, values, platform->experiment);
    return policy_call_init(platform, values) && !policy_call_refuses_gang(platform);
}

static bool platform_init(struct platform *platform)
{
    const struct experiment *experiment = platform->experiment;
    const enum policy_service serves = platform->policy->serves;
    if ((experiment->training != NULL && serves == SERVES_REQUESTS) ||
        (experiment->workload.application_count > 0 && serves == SERVES_TRAININGS))
        return error_input(platform->error, "%s: policy %s does not serve %s", experiment->name,
                           platform->policy->name,
                           serves == SERVES_REQUESTS ? "trainings" : "requests");
    if (platform->backend != NULL && experiment->training != NULL)
        return error_input(platform->error,
                           "%s: a backend cannot execute trainings; take "
                           "\"training\" out of the experiment",
                           experiment->name);
    if (platform->backend != NULL && platform_fails(&experiment->platform))
        return error_input(platform->error,
                           "%s: platform.failures: a backend's machines cannot be made to fail; "
                           "take it out of the experiment",
                           experiment->name);
    if (experiment->workload.max_stages > RECORD_MAX_STAGES)
        return error_run(platform->error, "an application has more than %d stages",
                         RECORD_MAX_STAGES);
    cluster_init(&platform->cluster, platform->workload, experiment->platform.reuse,
                 &platform->arena);
    metrics_init(&platform->metrics, &platform->arena, platform->workload->application_count);
    platform->event_queue = event_queue_create(&platform->arena, 1024);
    platform->predictors = arena_allocate(&platform->arena, platform->workload->function_count,
                                          sizeof *platform->predictors);
    /* On a backend the hardware determines the interference. */
    const bool interference = experiment->platform.interference && platform->backend == NULL;
    jobs_init(platform);
    gpu_work_init(platform, interference);
    trainings_init(platform);
    failures_init(platform);
    if (platform->options->bounds && platform->backend == NULL &&
        experiment->workload.application_count > 0)
        platform->bound = capacity_bound_create(&platform->arena, platform->workload);
    return keep_alive_init(platform);
}

static void platform_clear(struct platform *platform)
{
    waits_clear(platform);
    arena_clear(&platform->arena);
    shown_clear(platform->shown);
}

/* Ends the idle phases of all containers at the end of the run. */
static void idle_flush(struct platform *platform)
{
    struct cluster *cluster = &platform->cluster;
    for (uint32_t i = 0; i < cluster->invoker_count; i++)
        for (uint32_t id; (id = cluster_longest_idle(cluster, i)) != SIM_NONE;)
            cluster_evict(cluster, id);
}

/* Runs the full invariant checks of the end, then computes the metrics of requests. */
static bool requests_close(struct platform *platform, struct simulation_result *result)
{
    struct metrics *metrics = &platform->metrics;
    double requests = metrics->total_request_cost, batches = metrics->total_batch_cost;
    struct error fault = {0};
    uint64_t evictions = metrics->evictions;
    platform->backend = NULL; /* it must not refuse evictions at the end of the run */
    instances_close(platform);
    if (!cluster_check(&platform->cluster, true, &fault))
        platform_fail(platform, "%s", fault.message);
    if (!jobs_check(platform))
        return false;
    if (fabs(requests - batches) > 1e-9 * (requests + batches)) {
        platform_fail(platform, "invariant cost: requests sum to %.12g $, batches to %.12g $",
                      requests, batches);
        return false;
    }
    metrics_integrate(metrics, &platform->cluster.use, platform->now);
    const double flush = clock_s();
    idle_flush(platform);
    metrics->evictions = evictions;
    platform->setup_s += clock_s() - flush;
    if (!metrics_report(metrics, platform->workload, &platform->cluster.capacity, platform->now,
                        platform->options->bounds, result, platform->error))
        return false;
    result->run.events = platform->events;
    return true;
}

static bool simulation_close(struct platform *platform, struct simulation_result *result)
{
    struct simulation_result trainings = {0};
    failures_close(platform);
    if (trainings_close(platform, &trainings) && requests_close(platform, result)) {
        result->training = trainings.training;
        result->gpus_shared = trainings.gpus_shared;
        return true;
    }
    free(trainings.training);
    return false;
}

/* Fills in what is known only after the last event. */
static bool result_complete(struct platform *platform, const struct cursor *cursor,
                            struct simulation_result *result)
{
    const struct experiment *experiment = platform->experiment;
    const bool measured = result->overall.requests > 0;
    if (platform->options->bounds && measured)
        metrics_report_bounds(&platform->arena, platform->workload, platform->bound, result);
    if (platform->refusal != NULL && experiment->workload.application_count > 0)
        notices_add(&result->notices, NOTICE_OF(REFUSES), platform->policy->name,
                    platform->refusal);
    if (platform->remarks != NULL)
        notices_add(&result->notices, NOTICE_OF(REMARK), platform->policy->name, platform->remarks);
    result->callbacks_s = module_has(platform->policy) ? platform->callbacks_s : NAN;
    if (cursor->stream != NULL)
        result->arrivals = arrival_stream_counts(cursor->stream);
    if (!measured && experiment->workload.application_count > 0)
        error_input(platform->error,
                    "%s: arrivals: the trace ended within the warm-up of %" PRIu64
                    " requests; lower warmup_requests or take more of the trace",
                    experiment->path, experiment->warmup_requests);
    else if (experiment_inputs_check(experiment, platform->error)) {
        notices_fill(&platform->arena, experiment, platform->options->backend != NULL, result);
        return true;
    }
    simulation_result_clear(result);
    return false;
}

/* What a run needs from its first allocation to its result. */
struct whole_run {
    const double *values;
    const struct progress *progress;
    struct simulation_result *result;
    struct cursor cursor;
    double start; /* wall-clock time, s */
    bool done;
};

/* A callback has its part of the loop's processor time: that clock is a call of the system, which
 * takes longer than most callbacks. */
static void run_whole(struct platform *platform, struct whole_run *run)
{
    const bool ready = platform_init(platform) && policy_init(platform, run->values) &&
                       simulation_prepare(platform, &run->cursor);
    const double start = clock_s(), processor = clock_processor_s();
    platform->setup_s = start - run->start;
    if (ready)
        simulation_loop(platform, &run->cursor, run->progress);
    platform->callbacks_s *= (clock_processor_s() - processor) / fmax(clock_s() - start, 1e-9);
    run->done = ready && !platform->failed && simulation_close(platform, run->result) &&
                result_complete(platform, &run->cursor, run->result);
}

static void run_end(struct platform *platform, struct whole_run *run)
{
    policy_call_end(platform);
    if (run->done && platform->failed) {
        simulation_result_clear(run->result);
        run->done = false;
    }
}

/* The arena's `exhausted`. Nothing between the event loop and a policy holds a lock, an open file
 * or memory that the platform would not find again: the jump passes over it. */
static void run_exhausted(void *context, size_t count, size_t size)
{
    struct platform *platform = context;
    platform_fail(platform, "out of memory: %zu x %zu bytes", count, size);
    longjmp(platform->exhausted, 1);
}

/* Executes a part of the run, up to the point where memory is exhausted. The jump target is set
 * once for all callbacks of the part: setting it costs some ten instructions. */
static void run_part(struct platform *platform, struct whole_run *run,
                     void (*part)(struct platform *platform, struct whole_run *run))
{
    if (setjmp(platform->exhausted) == 0) {
        part(platform, run);
        return;
    }
    policy_calls_abandon(platform);
    simulation_result_clear(run->result);
    run->done = false;
}

bool simulation_run_with(const struct experiment *experiment, const struct policy *policy,
                         const double *values, const struct simulation_options *options,
                         struct simulation_result *result, struct error *error)
{
    struct error local = {0};
    struct platform platform = {.experiment = experiment,
                                .workload = &experiment->workload,
                                .planned = experiment_planned(experiment),
                                .policy = policy,
                                .options = options,
                                .recorder = options->recorder,
                                .backend = options->backend,
                                .host = options->backend != NULL ? 0 : experiment->platform.host,
                                .arena = {.exhausted = run_exhausted, .context = &platform},
                                .request_free = SIM_NONE,
                                .batch_free = SIM_NONE,
                                .instance_free = SIM_NONE,
                                .error = error != NULL ? error : &local};
    struct whole_run run = {.values = values,
                            .progress = options->progress,
                            .result = result,
                            .cursor = {.left = requests_total(experiment)},
                            .start = clock_s()};
    *result = (struct simulation_result){0};
    struct platform *before = policy_calls_begin(&platform);
    platform.foreign = module_has(policy) || (experiment->policy_shadow != NULL &&
                                              policy_module_named(experiment->policy_shadow));
    platform.numbered =
        platform.foreign || (options->recorder != NULL && options->recorder->action != NULL);
    (void)fegetenv(&platform.rounding);
    for (uint64_t asking = 0; asking <= 1; asking++)
        random_stream_open(&platform.random[asking], draw_seed(&platform, 0), RANDOM_MODULE, asking,
                           0);
    run_part(&platform, &run, run_whole);
    const double end = clock_s();
    if (run.cursor.stream != NULL)
        arrival_stream_close(run.cursor.stream);
    run_part(&platform, &run, run_end);
    platform_clear(&platform);
    policy_calls_end(before);
    result->wall_s = clock_s() - run.start;
    result->setup_s = platform.setup_s + result->wall_s - (end - run.start);
    return run.done;
}

bool simulation_run(const struct experiment *experiment, const struct policy *policy,
                    const double *values, const struct recorder *recorder,
                    const struct progress *progress, struct simulation_result *result,
                    struct error *error)
{
    const struct simulation_options options = {.recorder = recorder, .progress = progress};
    return simulation_run_with(experiment, policy, values, &options, result, error);
}
