/* All calls of a policy's callbacks. They record the callback in progress, so that the error of a
 * run that ends inside a callback can name it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "sim/base/clock.h"
#include "sim/platform/shown.h"
#include "sim/platform/policy_calls.h"
#include "sim/platform/actions.h"
#include "sim/platform/choices.h"

#include "sched/module.h"
#include "sim/platform/policy_api.h"
#include "sim/platform/state.h"
#include "workloads/training/training_plan.h"

/* The run that this thread executes. */
static _Thread_local struct platform *running;
static _Thread_local struct simulation_place *shared_place;

const char *policy_callback_name(const struct platform *platform)
{
    return platform->place->inside ? platform->place->callback : NULL;
}

const struct simulation_place *simulation_where(void)
{
    return running != NULL ? running->place : NULL;
}

bool simulation_shows(const void *address)
{
    const struct shown *shown = running != NULL ? running->shown : NULL;
    return shown != NULL && (uintptr_t)address - (uintptr_t)shown < shown->bytes;
}

const struct simulation_place *simulation_shared_place(void)
{
    return shared_place;
}

void simulation_share_place(struct simulation_place *place)
{
    shared_place = place;
}

void simulation_breach(const char *function)
{
    if (running == NULL || !running->place->inside)
        return;
    platform_fail(running,
                  "rule chance: the policy called %s(); platform_random draws numbers that "
                  "the seed determines, and platform_now has the time",
                  function);
    longjmp(running->exhausted, 1);
}

/* A run within a callback of another one, as for tuning, uses the same shared place meanwhile. */
struct platform *policy_calls_begin(struct platform *platform)
{
    struct platform *before = running;
    const struct experiment *experiment = platform->experiment;
    platform->place = shared_place != NULL ? shared_place : &platform->own_place;
    platform->own_place = *platform->place;
    struct simulation_place *place = platform->place;
    (void)snprintf(place->experiment, sizeof place->experiment, "%s", experiment->name);
    (void)snprintf(place->policy, sizeof place->policy, "%s", platform->policy->name);
    place->seed = experiment->seed;
    place->inside = false;
    place->now = 0;
    running = platform;
    return before;
}

void policy_calls_end(struct platform *before)
{
    running->own_place.calls = running->place->calls;
    if (before != NULL && before->place == running->place)
        *running->place = running->own_place;
    running = before;
}

/* A callback of a foreign policy begins (`sign` -1) or ends, which is not within another. Not
 * inlined: built-in policies are the hot ones. */
static __attribute__((noinline)) void foreign_clock(struct platform *platform, double sign)
{
    platform->callbacks_s += sign * clock_s();
}

/* Returns the previous callback, because callbacks nest: a drop in decide calls on_withdrawn. */
static inline const char *enter(struct platform *platform, const char *callback)
{
    struct simulation_place *place = platform->place;
    const char *before = place->inside ? place->callback : NULL;
    place->callback = callback;
    place->inside = true;
    place->calls++;
    place->now = platform->now;
    if (!platform->numbered)
        return before;
    platform->callback = ++platform->callbacks;
    platform->outer_callback = before == NULL ? platform->callback : platform->outer_callback;
    if (platform->foreign && before == NULL)
        foreign_clock(platform, -1);
    return before;
}

static inline void leave(struct platform *platform, const char *before)
{
    platform->place->inside = before != NULL;
    if (before != NULL)
        platform->place->callback = before;
    if (!platform->numbered)
        return;
    platform->callback = platform->outer_callback;
    if (!platform->foreign)
        return;
    if (before == NULL)
        foreign_clock(platform, 1);
    platform_round_again(platform);
}

bool policy_call_init(struct platform *platform, const double *values)
{
    const struct policy *policy = platform->policy;
    void *parameters = arena_allocate(&platform->arena, 1, policy->parameters_bytes);
    struct error fault = {0};
    if (!parameters_fill(policy->parameters, values, "policy.params", parameters, platform->error))
        return false;
    if (policy->init == NULL)
        return true;
    enter(platform, "init");
    platform->callback = platform->callbacks = 0; /* as for a policy without init */
    const bool good = policy->init(platform->policy_state, platform, parameters, &fault);
    if (!good && !platform->failed && fault.message[0] == '\0')
        platform_fail(platform, "init returned false without a message");
    else if (!good && !platform->failed && platform->error != NULL)
        *platform->error = fault;
    leave(platform, NULL);
    platform->callbacks_s = 0; /* a set-up is no decision */
    return good && !platform->failed;
}

/* Asks about a gang of this size if it accepts not every GPU, or asks for more memory than those
 * asked about before, which `asked` has by size. */
static const char *ask_about_gang(struct platform *platform, const struct training_spec *spec,
                                  double *asked)
{
    const double memory_mb = fmax(spec->gpu_memory_mb, 1e-9);
    const bool any = spec->gpu_types == UINT64_MAX;
    if (any && asked[spec->gpus] >= memory_mb)
        return NULL;
    if (any)
        asked[spec->gpus] = memory_mb;
    if (platform->policy->refuses_gang == NULL)
        return spec->gpus == 0 ? "it places no training without a GPU"
               : !any          ? "it does not choose among models of GPU"
                               : NULL;
    enter(platform, "refuses_gang");
    const char *reason = platform->policy->refuses_gang(platform->policy_state, spec->gpus,
                                                        memory_mb, spec->gpu_types);
    leave(platform, NULL);
    return reason;
}

bool policy_call_refuses_gang(struct platform *platform)
{
    const struct training_plan *plan = platform->experiment->training;
    const char *reason = NULL;
    uint32_t largest = 0;
    if (plan == NULL)
        return false;
    for (size_t t = 0; t < plan->count; t++)
        largest = plan->trainings[t].gpus > largest ? plan->trainings[t].gpus : largest;
    double *asked = arena_allocate(&platform->arena, largest + (size_t)1, sizeof *asked);
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
    return reason != NULL;
}

/* Calls a callback about one subject, if the policy has it. */
static void call_about(struct platform *platform, const char *callback,
                       void (*call)(void *, struct platform *, uint32_t), uint32_t subject)
{
    if (call == NULL)
        return;
    const char *before = enter(platform, callback);
    call(platform->policy_state, platform, subject);
    leave(platform, before);
}

void policy_call_ready(struct platform *platform, uint32_t queue)
{
    choices_job_ready(platform, queue);
    call_about(platform, "on_ready", platform->policy->on_ready, queue);
}

void policy_call_withdrawn(struct platform *platform, uint32_t queue, uint32_t instance)
{
    if (platform->policy->on_withdrawn == NULL)
        return;
    const bool deciding = platform->controller.deciding;
    platform->controller.deciding = false; /* a nested drop could end a request twice */
    const char *before = enter(platform, "on_withdrawn");
    platform->policy->on_withdrawn(platform->policy_state, platform, queue, instance);
    leave(platform, before);
    platform->controller.deciding = deciding;
}

void policy_call_refused(struct platform *platform, uint32_t invoker)
{
    call_about(platform, "on_refused", platform->policy->on_refused, invoker);
}

void policy_call_finish(struct platform *platform, const struct finished_batch *batch)
{
    choices_batch_finished(platform, batch);
    if (platform->policy->on_finish == NULL)
        return;
    const char *before = enter(platform, "on_finish");
    platform->policy->on_finish(platform->policy_state, platform, batch);
    leave(platform, before);
}

void policy_call_instance_ready(struct platform *platform, uint32_t instance)
{
    call_about(platform, "on_instance_ready", platform->policy->on_instance_ready, instance);
}

void policy_call_timer(struct platform *platform, uint32_t id)
{
    call_about(platform, "on_timer", platform->policy->on_timer, id);
}

/* A training may finish within decide: an action that ends its lease makes its last iteration
 * count. As in on_withdrawn, actions are not allowed. */
static void call_training(struct platform *platform, const char *callback,
                          void (*call)(void *, struct platform *, uint32_t), uint32_t training)
{
    const bool deciding = platform->controller.deciding;
    platform->controller.deciding = false;
    call_about(platform, callback, call, training);
    platform->controller.deciding = deciding;
}

void policy_call_training_arrived(struct platform *platform, uint32_t training)
{
    call_training(platform, "on_training_arrived", platform->policy->on_training_arrived, training);
}

void policy_call_training_finished(struct platform *platform, uint32_t training)
{
    call_training(platform, "on_training_finished", platform->policy->on_training_finished,
                  training);
}

bool policy_call_decide(struct platform *platform)
{
    const char *before = enter(platform, "decide");
    const uint64_t callback = platform->callback;
    platform->unnoted = 0; /* what was charged before has no effect */
    const bool more = platform->policy->decide(platform->policy_state, platform);
    if (platform->numbered && (platform->unnoted > 0 || more != (platform->noted >= callback)))
        ACTION_NOTE(platform, more, more);
    leave(platform, before);
    return more;
}

sim_time_t policy_call_keep_alive(struct platform *platform, uint32_t function, uint32_t invoker)
{
    const char *before = enter(platform, "keep_alive");
    const sim_time_t time =
        platform->policy->keep_alive(platform->policy_state, platform, function, invoker);
    ACTION_NOTE(platform, keep, time);
    leave(platform, before);
    return time;
}

void policy_call_end(struct platform *platform)
{
    if (platform->policy->finish == NULL || platform->policy_state == NULL)
        return;
    enter(platform, "finish");
    platform->policy->finish(platform->policy_state);
    leave(platform, NULL);
}

void policy_calls_abandon(struct platform *platform)
{
    leave(platform, NULL);
}
