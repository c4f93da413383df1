#include "sim/platform/frames.h"

#include "sim/platform/requests.h"
#include "workloads/spec/experiment.h"

void frames_init(struct platform *platform)
{
    const size_t count = platform->workload->application_count;
    if (count == 0 || platform->experiment->arrivals.process != ARRIVAL_PERIODIC)
        return;
    platform->tasks = arena_allocate(&platform->arena, count, sizeof *platform->tasks);
    for (size_t a = 0; a < count; a++)
        platform->tasks[a] = (struct task){SIM_NONE, SIM_NONE, 0};
}

/* Begins the frame that waits for its task, or drops it if its time is over. */
static void frame_release(struct platform *platform, struct task *task, bool over)
{
    const uint32_t slot = task->waiting;
    struct request *request = &platform->requests[slot];
    task->waiting = SIM_NONE;
    request->queue_time += platform->now - request->arrival;
    if (over) {
        jobs_drop(platform, slot);
        return;
    }
    task->running = slot;
    jobs_begin(platform, slot);
}

void frames_admit(struct platform *platform, uint32_t slot, struct task *task)
{
    if (task->waiting != SIM_NONE)
        frame_release(platform, task, true);
    task->waiting = slot;
    if (task->horizon == 0) {
        const struct arrival_spec *spec = &platform->experiment->arrivals;
        const sim_time_t period = sim_from_ms(spec->period_ms);
        const sim_time_t most = (SIM_FOREVER - platform->now) / period;
        const sim_time_t frames = (sim_time_t)spec->frames;
        task->horizon = platform->now + (frames < most ? frames : most) * period;
    }
    if (task->running == SIM_NONE)
        frame_release(platform, task, false);
}

void frames_end(struct platform *platform, uint32_t slot, struct task *task)
{
    if (task->running != slot)
        return;
    task->running = SIM_NONE;
    if (task->waiting == SIM_NONE)
        return;
    const sim_time_t end = platform->requests[task->waiting].arrival +
                           sim_from_ms(platform->experiment->arrivals.period_ms);
    frame_release(platform, task, platform->now > (end < task->horizon ? end : task->horizon));
}
