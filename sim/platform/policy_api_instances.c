/* The queries and actions of sched/policy_instances.h, for long-lived instances. */
#include "sched/policy_instances.h"

#include <inttypes.h>

#include "sim/platform/actions.h"
#include "sim/platform/batches.h"
#include "sim/platform/instances.h"
#include "sim/platform/policy_api_internal.h"

/* ---- Arguments ------------------------------------------------------------------------------- */

__attribute__((cold)) static void instance_breach(const struct platform *platform,
                                                  const char *caller, uint32_t instance)
{
    platform_fail((struct platform *)platform,
                  "rule range: %s names instance %" PRIu32 ", which does not live", caller,
                  instance);
}

static inline bool is_instance(const struct platform *platform, const char *caller,
                               uint32_t instance)
{
    if (instance < platform->instance_capacity && platform->instances[instance].alive)
        return true;
    instance_breach(platform, caller, instance);
    return false;
}

/* Checks that `which` is a GPU of the invoker, or SIM_NONE (any GPU). */
static inline bool is_gpu(const struct platform *platform, const char *caller, uint32_t invoker,
                          uint32_t which)
{
    return which == SIM_NONE ||
           is_within(platform, caller, "GPU", which, platform->cluster.invokers[invoker].gpu_count);
}

/* ---- Actions --------------------------------------------------------------------------------- */

/* Checks that an action is allowed now, and that the instance is alive. */
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
    ACTION_NOTE(platform, create, request->function, request->configuration, request->quota,
                request->invoker, request->gpu);
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
    ACTION_NOTE(platform, kill, instance);
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
    if (state->gpu != SIM_NONE && spec->vgpu > 0 &&
        spec->kind != platform->cluster.gpus[state->gpu].spec->kind) {
        platform_fail(platform,
                      "rule instance: set_share of instance %" PRIu32
                      " to a configuration for another kind of GPU than its own",
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
    ACTION_NOTE(platform, share, instance, configuration, quota);
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
    ACTION_NOTE(platform, route, queue, instance);
    platform->controller.acts++;
    jobs_route(platform, queue, instance);
    return !platform->failed;
}

bool platform_return(struct platform *platform, uint32_t instance)
{
    if (!instance_allowed(platform, "return", instance))
        return false;
    ACTION_NOTE(platform, return, instance);
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
    ACTION_NOTE(platform, launch, instance, jobs);
    platform->controller.acts++;
    platform->controller.moves++;
    return batches_launch(platform, instance, jobs);
}

/* ---- Queries --------------------------------------------------------------------------------- */

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
