/* The time of a batch on a part of a GPU, and the gpu-lets that a task requests. */
#include "sched/gpulet/plan_internal.h"

#include <math.h>

static const double gain_least = 1.05;

/* ---- Latency --------------------------------------------------------------------------------- */

size_t gpulet_part(const struct gpulet_world *world, uint16_t units)
{
    size_t part = world->part_count;
    for (size_t p = 0; p < world->part_count && world->parts[p] <= units; p++)
        part = p;
    return part;
}

static double latency(const struct gpulet_world *world, uint32_t task, size_t part, uint32_t batch,
                      double slowdown)
{
    if (part == world->part_count)
        return (double)INFINITY;
    const struct gpulet_task *spec = &world->tasks[task];
    const struct batch_latency *latency_table = &spec->latency_tables[part];
    const size_t step = batch_latency_step(latency_table, batch);
    if (step == latency_table->count)
        return (double)INFINITY;
    const sim_time_t held = batch_latency_turnaround(latency_table, step) + spec->overhead;
    return ((double)latency_table->time[step] * slowdown + (double)held) * world->margin;
}

double gpulet_slowdown(const struct gpulet_world *world, const struct gpulet_gpu *gpu, size_t which,
                       uint32_t task)
{
    const struct gpulet *other = &gpu->lets[1 - which];
    double most = 1;
    for (size_t i = 0; world->slowdown != NULL && i < other->count; i++)
        most = fmax(most, world->slowdown(world->context, task, gpu->lets[which].units,
                                          other->shares[i].task, other->units));
    return most;
}

double gpulet_latency(const struct gpulet_world *world, const struct gpulet_gpu *gpu, size_t which,
                      uint32_t task, uint32_t batch)
{
    return latency(world, task, gpulet_part(world, gpu->lets[which].units), batch,
                   gpulet_slowdown(world, gpu, which, task));
}

uint32_t gpulet_most_batch(const struct gpulet_world *world, uint32_t task, size_t part,
                           double slowdown, bool saturated, double rate)
{
    uint32_t most = 0;
    if (part == world->part_count)
        return 0;
    const struct gpulet_task *spec = &world->tasks[task];
    const struct batch_latency *latency_table = &spec->latency_tables[part];
    for (size_t i = 0; i < latency_table->count; i++) {
        const double time = latency(world, task, part, latency_table->batch[i], slowdown);
        const double wait = saturated ? time : latency_table->batch[i] / rate * (double)SIM_S;
        if (time + wait > (double)spec->slo * GPULET_ROUNDING)
            break;
        most = latency_table->batch[i];
    }
    return most;
}

/* ---- Sizes ----------------------------------------------------------------------------------- */

double gpulet_saturation(const struct gpulet_world *world, uint32_t task, size_t part,
                         uint32_t *batch, bool *feasible)
{
    *batch = gpulet_most_batch(world, task, part, 1, true, 0);
    *feasible = *batch > 0;
    *batch = *batch > 0 ? *batch : 1;
    const double time = latency(world, task, part, *batch, 1);
    return isfinite(time) ? *batch / time * (double)SIM_S : 0;
}

size_t gpulet_first_feasible(const struct gpulet_world *world, uint32_t task)
{
    size_t part = 0;
    while (part < world->part_count && gpulet_most_batch(world, task, part, 1, true, 0) == 0)
        part++;
    return part;
}

size_t gpulet_knee(const struct gpulet_world *world, uint32_t task)
{
    size_t first = gpulet_first_feasible(world, task);
    first = first < world->part_count ? first : 0;
    size_t knee = first;
    double best = 0;
    for (size_t p = first; p + 2 < world->part_count; p++) {
        uint32_t batch;
        bool feasible;
        const double low = gpulet_saturation(world, task, p, &batch, &feasible);
        const double high = gpulet_saturation(world, task, p + 1, &batch, &feasible);
        if (high < low * gain_least)
            continue;
        const double gain = (high - low) / (world->parts[p + 1] - world->parts[p]);
        if (gain > best) {
            best = gain;
            knee = p + 1;
        }
    }
    return knee;
}

bool gpulet_residual(const struct gpulet_world *world, uint32_t task, double rate, size_t *part,
                     uint32_t *batch, double *duty)
{
    const double slo = (double)world->tasks[task].slo;
    for (size_t top = gpulet_knee(world, task); top < world->part_count; top++) {
        *batch = gpulet_most_batch(world, task, top, 1, false, rate);
        *duty = *batch / rate * (double)SIM_S;
        const double alone = latency(world, task, top, 1, 1);
        if (*batch == 0 && alone < (double)SIM_S / rate && alone < slo) {
            *batch = 1;
            *duty = (slo - alone) / world->margin;
        }
        if (*batch == 0 || latency(world, task, top, *batch, 1) > *duty * GPULET_ROUNDING)
            continue;
        *part = top;
        while (*part > 0) {
            const double time = latency(world, task, *part - 1, *batch, 1);
            if (time > *duty || time + *duty > slo)
                break;
            (*part)--;
        }
        return true;
    }
    return false;
}

bool gpulet_wish_next(const struct gpulet_world *world, uint32_t task, double rate,
                      struct gpulet_wish *wish)
{
    bool feasible;
    *wish = (struct gpulet_wish){.task = task, .part = gpulet_knee(world, task), .rate = rate};
    const double most = gpulet_saturation(world, task, wish->part, &wish->batch, &feasible);
    wish->saturated = feasible && rate > most;
    wish->duty = latency(world, task, wish->part, wish->batch, 1);
    if (!wish->saturated &&
        !gpulet_residual(world, task, rate, &wish->part, &wish->batch, &wish->duty)) {
        /* The rate is too high for one duty cycle: run batch after batch [derived]. */
        if (!feasible)
            return false;
        wish->saturated = true;
    }
    return true;
}
