/* The queries and actions of sched/policy_training.h and sched/policy_reproduction.h. */
#include "sched/policy_training.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "sched/policy_reproduction.h"
#include "sim/platform/shown.h"
#include "sim/platform/policy_api_internal.h"
#include "sim/platform/policy_calls.h"
#include "sim/platform/trainings.h"
#include "workloads/world/gpu_sharing.h"

/* ---- Arguments ------------------------------------------------------------------------------- */

/* Checks that the training has arrived. */
static bool is_training(const struct platform *platform, const char *caller, uint32_t training)
{
    return is_within(platform, caller, "training", training,
                     platform->trainings != NULL ? platform->trainings->arrived : 0);
}

static bool is_gpu_of(const struct platform *platform, const char *caller, uint32_t invoker,
                      uint32_t gpu)
{
    return is_invoker(platform, caller, invoker) &&
           is_within(platform, caller, "GPU", gpu, platform->cluster.invokers[invoker].gpu_count);
}

static bool breach(const struct platform *platform, const char *caller, const char *what,
                   uint32_t training, uint32_t grant)
{
    platform_fail((struct platform *)platform,
                  "rule gang: %s gives grant %" PRIu32 " of training %" PRIu32 " %s", caller, grant,
                  training, what);
    return false;
}

/* Checks what a grant holds of its GPU: nothing, if the training asks for none. */
static bool is_share(const struct platform *platform, const char *caller, uint32_t training,
                     const struct training_grant *grant, uint32_t i)
{
    const struct gpu_spec *spec = platform->cluster.gpus[grant_gpu(platform, grant)].spec;
    if (training_spec(platform, training)->gpus == 0) {
        if (grant->share > 0 || grant->quota > 0)
            return breach(platform, caller, "a share, and it asks for no GPU", training, i);
        return true;
    }
    if (!gpu_types_have(training_spec(platform, training)->gpu_types, spec->type))
        return breach(platform, caller, "a GPU of a model that its gpu_types lack", training, i);
    if (grant->share == 0 || grant->share > spec->units || grant->quota == 0 ||
        grant->quota > UNIT_PARTS)
        return breach(platform, caller,
                      "a share beyond 1..the GPU's units, or a quota beyond 1..100", training, i);
    if (grant->quota < UNIT_PARTS && !gpu_sharing_of(spec)->divisible)
        return breach(platform, caller, "a GPU that cannot be shared in time", training, i);
    if (gpu_sharing_of(spec)->slots != NULL)
        return breach(platform, caller, "a GPU under MIG", training, i);
    if (!gpu_allows(spec, (uint16_t)grant->share))
        return breach(platform, caller, "a share that its GPU's sharing does not allow", training,
                      i);
    return true;
}

static bool is_grant(const struct platform *platform, const char *caller, uint32_t training,
                     const struct training_grant *grants, uint32_t i)
{
    const struct training_grant *grant = &grants[i];
    if (!is_gpu_of(platform, caller, grant->invoker, grant->gpu))
        return false;
    if (!is_share(platform, caller, training, grant, i))
        return false;
    if (!(grant->vcpus >= 0 && grant->vcpus <= 1e6) ||
        !(grant->memory_mb >= 0 && grant->memory_mb <= 1e12) ||
        !(grant->gpu_memory_mb >= 0 && grant->gpu_memory_mb <= 1e12))
        return breach(platform, caller, "negative vCPUs or memory, or too many", training, i);
    /* Gangs are small, so pairs are compared. */
    for (uint32_t k = 0; k < i; k++)
        if (grants[k].invoker == grant->invoker && grants[k].gpu == grant->gpu)
            return breach(platform, caller, "a GPU that another grant names too", training, i);
    return true;
}

static bool are_grants(const struct platform *platform, const char *caller, uint32_t training,
                       const struct training_grant *grants, uint32_t count)
{
    const uint32_t gpus = training_gang_size(platform, training);
    if (count != gpus) {
        platform_fail((struct platform *)platform,
                      "rule gang: %s gives training %" PRIu32 " %" PRIu32 " GPUs, and its gang is "
                      "%" PRIu32,
                      caller, training, count, gpus);
        return false;
    }
    for (uint32_t i = 0; i < count; i++)
        if (!is_grant(platform, caller, training, grants, i))
            return false;
    return true;
}

/* Checks that an action is allowed now on a training that waits (if `waits`) or runs. */
static bool training_allowed(struct platform *platform, const char *action, uint32_t training,
                             bool waits)
{
    platform_round_again(platform);
    if (!platform->controller.deciding)
        platform_fail(platform, "rule timing: %s outside decide", action);
    if (platform->failed || !is_training(platform, action, training))
        return false;
    const enum training_state state = platform->trainings->items[training].state;
    if (state == TRAINING_RUNNING || (waits && state == TRAINING_WAITING))
        return true;
    platform_fail(platform, "rule state: %s of training %" PRIu32 ", which %s", action, training,
                  state == TRAINING_FINISHED ? "has finished" : "does not run");
    return false;
}

/* ---- Queries --------------------------------------------------------------------------------- */

const struct training_models *platform_training_models(const struct platform *platform)
{
    if (platform->trainings == NULL)
        return NULL;
    return platform->shown != NULL ? &platform->shown->models : platform->trainings->plan->models;
}

uint32_t platform_next_training(const struct platform *platform, uint32_t from)
{
    const struct trainings *trainings = platform->trainings;
    if (trainings == NULL)
        return SIM_NONE;
    uint32_t id = from > trainings->low ? from : trainings->low;
    while (id < trainings->arrived && trainings->items[id].state == TRAINING_FINISHED)
        id++;
    return id < trainings->arrived ? id : SIM_NONE;
}

struct training_view platform_training(const struct platform *platform, uint32_t id)
{
    if (!is_training(platform, "training", id))
        return (struct training_view){0};
    const struct training *training = &platform->trainings->items[id];
    const struct training_spec *spec = training_spec(platform, id);
    const bool runs = training->state == TRAINING_RUNNING;
    return (struct training_view){.model = spec->model,
                                  .gpus = spec->gpus,
                                  .state = training->state,
                                  .arrival = spec->arrival,
                                  .first_start = training->first_start,
                                  .last_stop = training->last_stop,
                                  .lease_end = runs ? training->lease_end : SIM_FOREVER,
                                  .attained = training->attained +
                                              (runs ? platform->now - training->lease.at : 0),
                                  .iterations = spec->iterations,
                                  .done = trainings_done(platform, id),
                                  .iteration_s = spec->iteration_s,
                                  .gpu_memory_mb = spec->gpu_memory_mb,
                                  .gpu_types = spec->gpu_types,
                                  .service = spec->service,
                                  .request = spec->request,
                                  .limit = spec->limit,
                                  .restarts = training->restarts};
}

uint32_t platform_gang(const struct platform *platform, uint32_t id, struct training_grant *grants,
                       uint32_t room)
{
    if (!is_training(platform, "gang", id))
        return 0;
    const struct training *training = &platform->trainings->items[id];
    if (training->state != TRAINING_RUNNING)
        return 0;
    const uint32_t gpus = training_gang_size(platform, id);
    const uint32_t count = gpus < room ? gpus : room;
    for (uint32_t i = 0; i < count; i++)
        grants[i] = training->grants[i];
    return count;
}

uint32_t platform_resident(const struct platform *platform, uint32_t invoker, uint32_t gpu,
                           uint32_t which)
{
    if (!is_gpu_of(platform, "resident", invoker, gpu) || platform->trainings == NULL)
        return SIM_NONE;
    const struct residents *residents =
        &platform->trainings->gpus[platform->cluster.invokers[invoker].first_gpu + gpu];
    return which < residents->count ? residents->ids[which] : SIM_NONE;
}

/* ---- Actions --------------------------------------------------------------------------------- */

/* A first start cannot be undone, so it is progress; other actions could go on for ever. */
static void count_action(struct platform *platform, bool progress)
{
    platform->controller.acts++;
    platform->controller.moves += progress;
}

/* Sets the size of the first gang of a language model, which may be split, and checks that its
 * parts add up to the model. */
static bool gang_split(struct platform *platform, uint32_t training,
                       const struct training_grant *grants, uint32_t count)
{
    struct training *item = &platform->trainings->items[training];
    const struct training_spec *spec = training_spec(platform, training);
    double memory_mb = 0;
    if (platform->trainings->plan->models->models[spec->model].type != INSTANCE_LLM ||
        item->placed || count > platform->cluster.gpu_count)
        return true;
    for (uint32_t i = 0; i < count; i++)
        memory_mb += grants[i].gpu_memory_mb;
    if (count <= spec->gpus) {
        item->gang = spec->gpus;
        return true;
    }
    item->gang = count;
    if (fabs(memory_mb - spec->gpu_memory_mb) <= 1e-6 * spec->gpu_memory_mb)
        return true;
    platform_fail(platform,
                  "rule gang: place splits training %" PRIu32 " over %" PRIu32
                  " GPUs with %g MB in all, and it has %g",
                  training, count, memory_mb, spec->gpu_memory_mb);
    return false;
}

bool platform_place(struct platform *platform, uint32_t training,
                    const struct training_grant *grants, uint32_t count, sim_time_t lease_end)
{
    if (!training_allowed(platform, "place", training, true) ||
        !gang_split(platform, training, grants, count) ||
        !are_grants(platform, "place", training, grants, count))
        return false;
    if (lease_end <= platform->now) {
        platform_fail(platform, "rule time: place with a lease that ends %.6f ms in the past",
                      sim_to_ms(platform->now - lease_end));
        return false;
    }
    const bool first = platform->trainings->items[training].first_start == SIM_FOREVER;
    if (!trainings_place(platform, training, grants,
                         lease_end < SIM_FOREVER ? lease_end : SIM_FOREVER))
        return false;
    count_action(platform, first);
    return true;
}

bool platform_preempt(struct platform *platform, uint32_t training)
{
    if (!training_allowed(platform, "preempt", training, false))
        return false;
    trainings_preempt(platform, training, platform->trainings->plan->save);
    count_action(platform, false);
    return true;
}

bool platform_resize(struct platform *platform, uint32_t training,
                     const struct training_grant *grants, uint32_t count)
{
    if (!training_allowed(platform, "resize", training, false) ||
        !are_grants(platform, "resize", training, grants, count))
        return false;
    const struct training_grant *held = platform->trainings->items[training].grants;
    for (uint32_t i = 0; i < count; i++)
        if (grants[i].invoker != held[i].invoker || grants[i].gpu != held[i].gpu)
            return breach(platform, "resize", "another GPU", training, i);
    if (!trainings_resize(platform, training, grants))
        return false;
    count_action(platform, false);
    return true;
}

bool platform_split(struct platform *platform, uint32_t training, uint32_t parts)
{
    if (!training_allowed(platform, "split", training, true))
        return false;
    const struct training_spec *spec = training_spec(platform, training);
    const struct training_model *model = &platform->trainings->plan->models->models[spec->model];
    if (platform->trainings->items[training].state == TRAINING_RUNNING)
        platform_fail(platform, "rule state: split of training %" PRIu32 ", which runs", training);
    else if (!training_splits(model, parts))
        platform_fail(platform,
                      "rule split: split of training %" PRIu32 " into %" PRIu32
                      " parts, and its model \"%s\" allows powers of two up to %" PRIu32,
                      training, parts, model->name, model->most_sub_batches);
    return !platform->failed && trainings_split(platform, training, parts);
}

void platform_stop(struct platform *platform, const char *message)
{
    platform_fail(platform, "%s", message != NULL ? message : "the policy stopped the run");
}

/* ---- sched/policy_reproduction.h ------------------------------------------------------------- */

void platform_interrupt_trainings(struct platform *platform)
{
    if (!platform->controller.deciding)
        platform_fail(platform, "rule timing: interrupt_trainings outside decide");
    else if (platform->trainings != NULL && platform->trainings->plan->whole)
        platform_fail(platform, "rule progress: interrupt_trainings with whole iterations; set "
                                "training.progress to \"fluid\"");
    else if (platform->trainings != NULL)
        trainings_interrupt(platform);
}

void platform_pool_servers(struct platform *platform)
{
    const char *callback = policy_callback_name(platform);
    if (callback == NULL || strcmp(callback, "init") != 0)
        platform_fail(platform, "rule timing: pool_servers outside init");
    else if (platform->workload->application_count > 0)
        platform_fail(platform, "rule pool: pool_servers beside applications, whose batches need "
                                "vCPUs of one invoker");
    else if (platform->failures != NULL)
        platform_fail(platform, "rule pool: pool_servers with platform.failures; an invoker that "
                                "fails takes only its own vCPUs and memory");
    else
        cluster_pool_gangs(&platform->cluster);
}

bool platform_trainings_static(const struct platform *platform)
{
    const struct trainings *trainings = platform->trainings;
    return trainings != NULL && trainings->plan->trainings[trainings->count - 1].arrival < SIM_S;
}
