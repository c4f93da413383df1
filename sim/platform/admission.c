#include "sim/platform/admission.h"

#include "sched/common/slo.h"
#include "sim/platform/policy_api_internal.h"

static sim_time_t fastest(const struct function *function)
{
    sim_time_t least = SIM_FOREVER;
    for (size_t i = 0; i < function->configuration_count; i++)
        if (function->configurations[i].time < least)
            least = function->configurations[i].time;
    return least;
}

void admission_init(struct platform *platform)
{
    const struct workload *planned = platform->planned;
    if (platform->experiment->platform.admission == ADMISSION_NONE ||
        platform->policy->admits_requests)
        return;
    platform->ways = arena_allocate(&platform->arena, planned->queue_count, sizeof *platform->ways);
    for (size_t a = 0; a < planned->application_count; a++) {
        const struct application *application = &planned->applications[a];
        sim_time_t alone[WORKLOAD_MAX_STAGES], *way = &platform->ways[application->first_queue];
        for (size_t s = 0; s < application->stage_count; s++)
            alone[s] = fastest(&planned->functions[application->stages[s].function]);
        slo_rest(application, alone, way);
        for (size_t s = 0; s < application->stage_count; s++)
            way[s] += alone[s];
    }
}

void admission_drop_lost(struct platform *platform)
{
    for (uint32_t q = 0; platform->ways != NULL && q < platform->planned->queue_count; q++) {
        const struct queue *queue = &platform->queues[q];
        while (queue->length > 0 && !platform->failed &&
               job_look(platform, queue_job(queue, 0)).deadline < platform->now + platform->ways[q])
            jobs_drop(platform, job_slot(platform, queue_job(queue, 0)));
    }
}
