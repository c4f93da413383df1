#include "sched/common/static_plan.h"

struct queue_rank static_plan_rank(const void *state, const struct platform *platform,
                                   uint32_t queue)
{
    const int64_t request = (int64_t)platform_job(platform, queue, 0).request;
    return (struct queue_rank){request, request};
}

uint32_t static_plan_configure(const void *state, const struct platform *platform, uint32_t queue,
                               uint32_t jobs)
{
    const struct dispatcher *dispatcher = state;
    const uint32_t application = platform_queue_application(platform, queue);
    const sim_time_t slo = platform_workload(platform)->applications[application].slo;
    return planner_cheapest_among(dispatcher->planner, dispatcher->kinds,
                                  platform_queue_function(platform, queue), jobs,
                                  planner_budget(dispatcher->planner, queue, slo));
}
