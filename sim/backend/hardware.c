/* Replay: the parts of a run with a backend that differ from a simulation. */
#include <inttypes.h>

#include "sim/backend/backend.h"
#include "sim/platform/batches.h"
#include "sim/platform/policy_api.h"
#include "sim/platform/replay.h"
#include "sim/platform/state.h"

static const char *function_name(const struct platform *platform, uint32_t function)
{
    return platform->workload->functions[function].name;
}

/* Refuses prewarming and over-subscription before the backend loads anything. */
static bool spec_check(const struct platform *platform)
{
    const struct experiment *experiment = platform->experiment;
    if (platform->cluster.oversubscribed)
        return error_input(platform->error,
                           "%s: cluster: a replay cannot over-subscribe GPUs; take "
                           "\"oversubscription\" out of the cluster",
                           experiment->path);
    if (experiment->platform.prewarm == PREWARM_NONE)
        return true;
    return error_input(platform->error,
                       "%s: platform.prewarm: a replay starts no containers; set it to \"none\" "
                       "and platform.initial to the containers that the run needs",
                       experiment->path);
}

bool replay_open(struct platform *platform)
{
    const struct backend *backend = platform->backend;
    if (!spec_check(platform) ||
        !backend->open(backend->context, platform->experiment, platform->error))
        platform->failed = true;
    return !platform->failed;
}

void replay_start(struct platform *platform, uint32_t id, sim_time_t modelled)
{
    const struct backend *backend = platform->backend;
    const struct batch *batch = &platform->batches[id];
    if (batch->quota < UNIT_PARTS) {
        platform_fail(platform,
                      "a replay gives shares of a GPU for the whole time, batch %" PRIu64
                      " of %s has its own for %u %%; set the policy's quotas to 100 %%, or take "
                      "one without",
                      batch->number, function_name(platform, batch_function(platform, batch)),
                      batch->quota);
        return;
    }
    const struct backend_batch told = {
        .id = id,
        .number = batch->number,
        .function = batch_function(platform, batch),
        .configuration = batch->configuration,
        .jobs = batch->jobs,
        .invoker = batch->invoker,
        .gpu = batch->gpu,
        .container = (uint32_t)platform->cluster.containers[batch->container].serial,
        .modelled = modelled};
    platform->work_events++; /* its end is pending, although not in the event queue */
    if (!backend->start(backend->context, &told, platform->now, platform->error))
        platform->failed = true;
}

uint32_t replay_wait(struct platform *platform, sim_time_t until)
{
    const struct backend *backend = platform->backend;
    uint32_t ended = SIM_NONE;
    sim_time_t time = until;
    if (!backend->wait(backend->context, until, &ended, &time, platform->error)) {
        platform->failed = true;
        return SIM_NONE;
    }
    if (ended == SIM_NONE)
        return SIM_NONE;
    if (ended >= platform->batches_used || platform->batches[ended].jobs == 0 ||
        !platform->batches[ended].executing) {
        platform_fail(platform, "invariant backend: batch %" PRIu32 " ended, which did not execute",
                      ended);
        return SIM_NONE;
    }
    if (time < platform->now || time > until) {
        platform_fail(platform,
                      "invariant backend: batch %" PRIu32 " ended at %.6f ms, not between now and "
                      "%.6f ms",
                      ended, sim_to_ms(time), sim_to_ms(until));
        return SIM_NONE;
    }
    platform->now = time;
    platform->work_events--;
    return ended;
}

/* ---- What a backend does not do -------------------------------------------------------------- */

void replay_refuse_cold(struct platform *platform, uint32_t function, uint32_t invoker)
{
    const char *name = function_name(platform, function);
    platform_fail(platform,
                  "a replay starts no containers, and one of %s would start on invoker %" PRIu32
                  "; have one more from the beginning: platform.initial.%s",
                  name, invoker, name);
}

void replay_refuse_eviction(struct platform *platform, const struct container *container)
{
    const char *name = function_name(platform, container->function);
    platform_fail(platform,
                  "a replay keeps all containers, and one of %s would be evicted from invoker "
                  "%" PRIu32
                  "; set platform.keep_alive to \"infinite\", and lower platform.initial.%s "
                  "where memory is short",
                  name, container->invoker, name);
}

void replay_refuse_reshare(struct platform *platform, uint32_t id)
{
    const struct batch *batch = &platform->batches[id];
    platform_fail(platform,
                  "a replay changes no share of a batch in execution, and batch %" PRIu64
                  " of %s would go on with another; take a policy that leaves batches their share",
                  batch->number, function_name(platform, batch_function(platform, batch)));
}
