/* All calls of a policy's callbacks. They record the callback in progress, so that the error of a
 * run that ends inside a callback can name it. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "sim/platform/policy_calls.h"
#include "sim/platform/policy_api.h"
#include "sim/platform/state.h"
#include "workloads/training_plan.h"

/* The run that this thread executes. */
static _Thread_local const struct platform *running;

static const char *const callback_names[] = {
    [CALLBACK_NONE] = NULL,
    [CALLBACK_INIT] = "init",
    [CALLBACK_ON_READY] = "on_ready",
    [CALLBACK_ON_WITHDRAWN] = "on_withdrawn",
    [CALLBACK_ON_FINISH] = "on_finish",
    [CALLBACK_ON_INSTANCE_READY] = "on_instance_ready",
    [CALLBACK_ON_TIMER] = "on_timer",
    [CALLBACK_DECIDE] = "decide",
    [CALLBACK_KEEP_ALIVE] = "keep_alive",
    [CALLBACK_FINISH] = "finish",
    [CALLBACK_ON_TRAINING_ARRIVED] = "on_training_arrived",
    [CALLBACK_ON_TRAINING_FINISHED] = "on_training_finished",
    [CALLBACK_REFUSES_GANG] = "refuses_gang",
};

const char *policy_callback_name(const struct platform *platform)
{
    return callback_names[platform->callback];
}

bool simulation_where(struct simulation_place *place)
{
    if (running == NULL)
        return false;
    *place = (struct simulation_place){.experiment = running->experiment->name,
                                       .policy = running->policy->name,
                                       .callback = policy_callback_name(running),
                                       .calls = running->callbacks,
                                       .now = running->now,
                                       .seed = running->experiment->seed};
    return true;
}

const struct platform *policy_calls_begin(const struct platform *platform)
{
    const struct platform *before = running;
    running = platform;
    return before;
}

void policy_calls_end(const struct platform *before)
{
    running = before;
}

/* Returns the previous callback, because callbacks nest: a drop in decide calls on_withdrawn. */
static inline enum policy_callback enter(struct platform *platform, enum policy_callback callback)
{
    const enum policy_callback before = platform->callback;
    platform->callback = callback;
    platform->callbacks++;
    return before;
}

bool policy_call_init(struct platform *platform, const double *values)
{
    const struct policy *policy = platform->policy;
    if (policy->init == NULL)
        return true;
    struct error fault = {0};
    enter(platform, CALLBACK_INIT);
    const bool good = policy->init(platform->policy_state, platform, values, &fault);
    if (!good && !platform->failed && fault.message[0] == '\0')
        platform_fail(platform, "init returned false without a message");
    else if (!good && !platform->failed && platform->error != NULL)
        *platform->error = fault;
    platform->callback = CALLBACK_NONE;
    return good && !platform->failed;
}

/* Asks about a gang of this size if it asks for more memory than those asked about before. */
static const char *ask_about_gang(struct platform *platform, const struct training_spec *spec,
                                  double *asked)
{
    const double memory_mb = fmax(spec->gpu_memory_mb, 1e-9);
    if (asked[spec->gpus] >= memory_mb)
        return NULL;
    asked[spec->gpus] = memory_mb;
    enter(platform, CALLBACK_REFUSES_GANG);
    const char *reason =
        platform->policy->refuses_gang(platform->policy_state, spec->gpus, memory_mb);
    platform->callback = CALLBACK_NONE;
    return reason;
}

bool policy_call_refuses_gang(struct platform *platform)
{
    const struct training_plan *plan = platform->experiment->training;
    const char *reason = NULL;
    uint32_t largest = 0;
    if (plan == NULL || platform->policy->refuses_gang == NULL)
        return false;
    for (size_t t = 0; t < plan->count; t++)
        largest = plan->trainings[t].gpus > largest ? plan->trainings[t].gpus : largest;
    double *asked = calloc(largest + (size_t)1, sizeof *asked); /* memory, by size */
    if (asked == NULL)
        return !error_run(platform->error, "out of memory for gangs of %" PRIu32 " GPUs", largest);
    for (size_t t = 0; t < plan->count && reason == NULL; t++) {
        const struct training_spec *spec = &plan->trainings[t];
        reason = ask_about_gang(platform, spec, asked);
        if (reason != NULL)
            (void)error_input(platform->error,
                              "%s: training: training %" PRIu64 " of %s is a gang of %" PRIu32
                              " GPUs, which policy %s cannot place: %s",
                              platform->experiment->path, spec->id,
                              plan->trace_path != NULL ? plan->trace_path : "training.arrivals",
                              spec->gpus, platform->policy->name, reason);
    }
    free(asked);
    return reason != NULL;
}

void policy_call_ready(struct platform *platform, uint32_t queue)
{
    if (platform->policy->on_ready == NULL)
        return;
    const enum policy_callback before = enter(platform, CALLBACK_ON_READY);
    platform->policy->on_ready(platform->policy_state, platform, queue);
    platform->callback = before;
}

void policy_call_withdrawn(struct platform *platform, uint32_t queue, uint32_t instance)
{
    if (platform->policy->on_withdrawn == NULL)
        return;
    const bool deciding = platform->controller.deciding;
    platform->controller.deciding = false; /* a nested drop could end a request twice */
    const enum policy_callback before = enter(platform, CALLBACK_ON_WITHDRAWN);
    platform->policy->on_withdrawn(platform->policy_state, platform, queue, instance);
    platform->callback = before;
    platform->controller.deciding = deciding;
}

void policy_call_finish(struct platform *platform, const struct finished_batch *batch)
{
    if (platform->policy->on_finish == NULL)
        return;
    const enum policy_callback before = enter(platform, CALLBACK_ON_FINISH);
    platform->policy->on_finish(platform->policy_state, platform, batch);
    platform->callback = before;
}

void policy_call_instance_ready(struct platform *platform, uint32_t instance)
{
    if (platform->policy->on_instance_ready == NULL)
        return;
    const enum policy_callback before = enter(platform, CALLBACK_ON_INSTANCE_READY);
    platform->policy->on_instance_ready(platform->policy_state, platform, instance);
    platform->callback = before;
}

void policy_call_timer(struct platform *platform, uint32_t id)
{
    if (platform->policy->on_timer == NULL)
        return;
    const enum policy_callback before = enter(platform, CALLBACK_ON_TIMER);
    platform->policy->on_timer(platform->policy_state, platform, id);
    platform->callback = before;
}

/* A training may finish within decide: an action that ends its lease makes its last iteration
 * count. As in on_withdrawn, actions are not allowed. */
static void call_training(struct platform *platform, enum policy_callback callback,
                          void (*call)(void *, struct platform *, uint32_t), uint32_t training)
{
    if (call == NULL)
        return;
    const bool deciding = platform->controller.deciding;
    platform->controller.deciding = false;
    const enum policy_callback before = enter(platform, callback);
    call(platform->policy_state, platform, training);
    platform->callback = before;
    platform->controller.deciding = deciding;
}

void policy_call_training_arrived(struct platform *platform, uint32_t training)
{
    call_training(platform, CALLBACK_ON_TRAINING_ARRIVED, platform->policy->on_training_arrived,
                  training);
}

void policy_call_training_finished(struct platform *platform, uint32_t training)
{
    call_training(platform, CALLBACK_ON_TRAINING_FINISHED, platform->policy->on_training_finished,
                  training);
}

bool policy_call_decide(struct platform *platform)
{
    const enum policy_callback before = enter(platform, CALLBACK_DECIDE);
    const bool more = platform->policy->decide(platform->policy_state, platform);
    platform->callback = before;
    return more;
}

sim_time_t policy_call_keep_alive(struct platform *platform, uint32_t function, uint32_t invoker)
{
    const enum policy_callback before = enter(platform, CALLBACK_KEEP_ALIVE);
    const sim_time_t time =
        platform->policy->keep_alive(platform->policy_state, platform, function, invoker);
    platform->callback = before;
    return time;
}

void policy_call_end(struct platform *platform)
{
    if (platform->policy->finish == NULL)
        return;
    enter(platform, CALLBACK_FINISH);
    platform->policy->finish(platform->policy_state);
    platform->callback = CALLBACK_NONE;
}
