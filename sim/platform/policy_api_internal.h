/* Checks of the arguments that a policy passes to the platform (not a public header). Shared by
 * policy_api.c and policy_api_instances.c.
 *
 * If a check fails, it fails the run, names the rule and the function `caller`, and returns false.
 */
#ifndef ESGSIM_SIM_PLATFORM_POLICY_API_INTERNAL_H
#define ESGSIM_SIM_PLATFORM_POLICY_API_INTERNAL_H

#include <inttypes.h>

#include "sim/platform/policy_api.h"
#include "sim/platform/requests.h"
#include "sim/platform/state.h"

/* The headers for policies declare short queries without `inline`. Their inline definitions in the
 * two files are therefore external definitions, which may use static functions. Clang warns
 * nevertheless. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wstatic-in-inline"
#endif

/* The cast is needed because a query has a const platform, but its wrong argument fails the run. */
__attribute__((cold)) static inline void range_breach(const struct platform *platform,
                                                      const char *caller, const char *what,
                                                      uint32_t number, uint64_t count)
{
    platform_fail((struct platform *)platform, "rule range: %s names %s %" PRIu32 " of %" PRIu64,
                  caller, what, number, count);
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

/* Returns a configuration of a function. Both indices must be valid. */
static inline const struct configuration *
find_configuration(const struct platform *platform, uint32_t function, uint32_t configuration)
{
    return &platform->workload->functions[function].configurations[configuration];
}

/* Returns a policy's view of a job. */
static inline struct job_view job_look(const struct platform *platform, uint32_t job)
{
    const struct request *request = job_request(platform, job);
    const sim_time_t slo = job_request(platform, job)->slo;
    return (struct job_view){.request = request->number,
                             .arrival = request->arrival,
                             .ready = platform->jobs[job].ready,
                             .deadline = request->arrival + slo,
                             .slo = slo};
}

/* Checks that an action is allowed now, and that queue and invoker exist. */
static inline bool action_allowed(struct platform *platform, const char *action, uint32_t queue,
                                  uint32_t invoker)
{
    platform_round_again(platform);
    if (!platform->controller.deciding)
        platform_fail(platform, "rule timing: %s outside decide", action);
    return !platform->failed && is_queue(platform, action, queue) &&
           is_invoker(platform, action, invoker);
}

#endif
