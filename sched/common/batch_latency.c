#include "sched/common/batch_latency.h"

static bool better(const struct configuration *a, const struct configuration *b, uint16_t vcpus)
{
    const bool a_within = a->vcpu <= vcpus;
    const bool b_within = b->vcpu <= vcpus;
    if (a_within != b_within)
        return a_within;
    return a->time < b->time || (a->time == b->time && a->cost_usd < b->cost_usd);
}

static void undercut(struct batch_latency *latency_table)
{
    for (size_t i = latency_table->count; i-- > 1;)
        if (latency_table->time[i] <= latency_table->time[i - 1]) {
            latency_table->time[i - 1] = latency_table->time[i];
            latency_table->configuration[i - 1] = latency_table->configuration[i];
        }
}

void batch_latency_fill(struct batch_latency *latency_table, struct arena *arena,
                        const struct workload *workload, const struct planner *planner,
                        uint32_t function, uint32_t kind, uint16_t vgpu, uint16_t vcpus,
                        uint32_t max_batch)
{
    const struct function *spec = &workload->functions[function];
    const size_t most = spec->configuration_count;
    *latency_table =
        (struct batch_latency){.batch = arena_allocate(arena, most, sizeof(uint32_t)),
                               .configuration = arena_allocate(arena, most, sizeof(uint32_t)),
                               .time = arena_allocate(arena, most, sizeof(sim_time_t)),
                               .function = spec};
    for (uint32_t i = 0; i < most; i++) {
        const struct configuration *here = &spec->configurations[i];
        if (here->kind != kind || here->vgpu != vgpu || here->batch > max_batch ||
            !planner_runs(planner, function, i))
            continue;
        size_t step = latency_table->count;
        if (step > 0 && latency_table->batch[step - 1] == here->batch) {
            step--;
            if (!better(here, &spec->configurations[latency_table->configuration[step]], vcpus))
                continue;
        } else {
            latency_table->count++;
        }
        latency_table->batch[step] = here->batch;
        latency_table->configuration[step] = i;
        latency_table->time[step] = here->time;
    }
    if (latency_table->count > 0 && latency_table->batch[0] != 1)
        latency_table->count = 0;
    undercut(latency_table);
}

size_t batch_latency_step(const struct batch_latency *latency_table, uint32_t jobs)
{
    size_t step = 0;
    while (step < latency_table->count && latency_table->batch[step] < jobs)
        step++;
    return step;
}

sim_time_t batch_latency_time(const struct batch_latency *latency_table, uint32_t jobs)
{
    const size_t step = batch_latency_step(latency_table, jobs);
    return step < latency_table->count ? latency_table->time[step] : SIM_FOREVER;
}
