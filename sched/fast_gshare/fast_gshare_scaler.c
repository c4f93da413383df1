#include "sched/fast_gshare/fast_gshare_scaler.h"

#include <math.h>
#include <stdlib.h>

#include "sched/common/kinds.h"

/* Number of vCPUs for `area` units of a GPU of the kind: the vCPUs per GPU unit of the first group
 * with such GPUs. */
static double vcpus_for(const struct workload *workload, uint32_t kind, double area)
{
    for (size_t g = 0; g < workload->cluster.group_count; g++) {
        const struct invoker_group *group = &workload->cluster.groups[g];
        const double units = kinds_units_on(workload, group, kind);
        if (group->count > 0 && units > 0)
            return area * group->vcpus / units;
    }
    return 1;
}

/* Among the configurations of one kind, batch and share, searched from `first` on, the one with the
 * nearest number of vCPUs; ties go to fewer. Configurations are sorted by (kind, batch, vCPU,
 * vGPU). */
static uint32_t nearest_vcpus(const struct function *function, const struct planner *planner,
                              uint32_t index, uint32_t first, double vcpus)
{
    const struct configuration *all = function->configurations;
    uint32_t best = SIM_NONE;
    for (uint32_t i = first; i < function->configuration_count && all[i].kind == all[first].kind &&
                             all[i].batch == all[first].batch;
         i++)
        if (all[i].vgpu == all[first].vgpu && planner_runs(planner, index, i) &&
            (best == SIM_NONE || fabs(all[i].vcpu - vcpus) < fabs(all[best].vcpu - vcpus)))
            best = i;
    return best;
}

static bool first_of_share(const struct configuration *all, uint32_t index)
{
    for (uint32_t i = index;
         i-- > 0 && all[i].kind == all[index].kind && all[i].batch == all[index].batch;)
        if (all[i].vgpu == all[index].vgpu)
            return false;
    return true;
}

static struct scaler_point point_of(const struct workload *workload,
                                    const struct function *function, uint32_t configuration,
                                    uint32_t quota, sim_time_t budget, double bound)
{
    const struct configuration *spec = &function->configurations[configuration];
    const sim_time_t turnaround = configuration_turnaround(function, spec);
    struct scaler_point point = {.configuration = configuration,
                                 .quota = quota,
                                 .batch = spec->batch,
                                 .share = spec->vgpu,
                                 .kind = spec->kind};
    const double held =
        spec->vgpu > 0 ? spec->vgpu * kinds_worth(workload, spec->kind) : spec->vcpu;
    /* At least 1 ns, so that no throughput is infinite. */
    point.time = (sim_time_t)fmax(ceil((double)spec->time * 100 / quota), 1);
    point.throughput = spec->batch / sim_to_s(point.time + turnaround);
    point.area = spec->vgpu > 0 ? held * (quota / 100.0) : held;
    /* Throughput and area are both in proportion to the quota, but for the turnaround, which no
     * quota scales. Without the quota the RPR of a configuration without turnaround is the same at
     * every quota, not only up to rounding. */
    point.rpr =
        spec->batch / sim_to_s((spec->time > 0 ? spec->time : 1) + turnaround * quota / 100) / held;
    const double limit = (double)budget * (spec->batch > 1 ? bound / 2 : bound);
    point.feasible = (double)point.time <= limit;
    return point;
}

static int compare_efficiency(const struct scaler_point *a, const struct scaler_point *b)
{
    if (a->feasible != b->feasible)
        return a->feasible ? -1 : 1;
    if (a->rpr < b->rpr || a->rpr > b->rpr)
        return a->rpr > b->rpr ? -1 : 1;
    return 0;
}

static int compare_points(const void *left, const void *right)
{
    const struct scaler_point *a = left;
    const struct scaler_point *b = right;
    const int order = compare_efficiency(a, b);
    if (order != 0)
        return order;
    if (a->throughput < b->throughput || a->throughput > b->throughput)
        return a->throughput > b->throughput ? -1 : 1;
    if (a->configuration != b->configuration)
        return a->configuration < b->configuration ? -1 : 1;
    return a->quota < b->quota ? -1 : a->quota > b->quota;
}

/* The same with the smallest area first where RPR is equal. */
static int compare_points_by_area(const void *left, const void *right)
{
    const struct scaler_point *a = left;
    const struct scaler_point *b = right;
    const int order = compare_efficiency(a, b);
    if (order == 0 && (a->area < b->area || a->area > b->area))
        return a->area < b->area ? -1 : 1;
    return compare_points(left, right);
}

void scaler_points_fill(struct scaler_points *points, struct arena *arena,
                        const struct workload *workload, const struct planner *planner,
                        uint32_t function, sim_time_t budget, double bound, uint32_t max_batch,
                        const uint32_t *quotas, size_t quota_count, enum scaler_ties ties)
{
    const struct function *spec = &workload->functions[function];
    const struct configuration *all = spec->configurations;
    const bool gpu = planner_uses_gpus(planner, KINDS_ALL, function, max_batch);
    *points = (struct scaler_points){0};
    points->points =
        arena_allocate(arena, spec->configuration_count * quota_count, sizeof *points->points);
    for (uint32_t i = 0; i < spec->configuration_count; i++) {
        if (all[i].batch > max_batch || (all[i].vgpu > 0) != gpu || !first_of_share(all, i))
            continue;
        const bool parts = gpu && kinds_divisible(workload, all[i].kind);
        for (size_t q = parts ? 0 : quota_count - 1; q < quota_count; q++) {
            const double vcpus =
                vcpus_for(workload, all[i].kind, all[i].vgpu * (quotas[q] / 100.0));
            const uint32_t k = nearest_vcpus(spec, planner, function, i, vcpus);
            if (k != SIM_NONE)
                points->points[points->count++] =
                    point_of(workload, spec, k, gpu ? quotas[q] : 100, budget, bound);
        }
    }
    qsort(points->points, points->count, sizeof *points->points,
          ties == SCALER_TIES_AREA ? compare_points_by_area : compare_points);
    for (size_t i = 0; i < points->count; i++) {
        const struct scaler_point *here = &points->points[i];
        const struct scaler_point *fastest = &points->points[points->fastest];
        points->feasible += here->feasible;
        if (here->time < fastest->time ||
            (here->time == fastest->time && here->area < fastest->area))
            points->fastest = i;
    }
}

const struct scaler_point *scaler_best(const struct scaler_points *points)
{
    return &points->points[points->feasible > 0 ? 0 : points->fastest];
}

/* Index of the candidate of the least area with throughput >= `rate` (ties: highest throughput);
 * SCALER_NONE where none covers it. O(points). */
static size_t scaler_cover(const struct scaler_points *points, double rate)
{
    if (points->feasible == 0)
        return points->points[points->fastest].throughput >= rate ? points->fastest : SCALER_NONE;
    size_t best = SCALER_NONE;
    for (size_t i = 0; i < points->feasible; i++) {
        const struct scaler_point *here = &points->points[i];
        if (here->throughput < rate)
            continue;
        const struct scaler_point *chosen = best != SCALER_NONE ? &points->points[best] : NULL;
        if (chosen == NULL || here->area < chosen->area ||
            (!(here->area > chosen->area) && here->throughput > chosen->throughput))
            best = i;
    }
    return best;
}

struct scaler_growth scaler_grow(const struct scaler_points *points, double rate)
{
    const double most = scaler_best(points)->throughput;
    struct scaler_growth growth = {(size_t)floor(rate / most), SCALER_NONE};
    const double rest = rate - (double)growth.count * most;
    if (rest > 0)
        growth.residual = scaler_cover(points, rest);
    return growth;
}

int scaler_direction(double rate, double capacity, double hysteresis)
{
    if (rate - capacity > hysteresis * capacity)
        return 1;
    return capacity - rate > hysteresis * capacity ? -1 : 0;
}

static int compare_pods(const void *left, const void *right)
{
    const struct scaler_pod *a = left;
    const struct scaler_pod *b = right;
    if (a->rpr < b->rpr || a->rpr > b->rpr)
        return a->rpr < b->rpr ? -1 : 1;
    if (a->created != b->created)
        return a->created > b->created ? -1 : 1;
    return a->id > b->id ? -1 : a->id < b->id;
}

size_t scaler_shrink(struct scaler_pod *pods, size_t count, double surplus, size_t keep)
{
    size_t removed = 0;
    qsort(pods, count, sizeof *pods, compare_pods);
    for (size_t i = 0; i < count; i++) {
        pods[i].remove = count - removed > keep && pods[i].throughput <= surplus;
        surplus -= pods[i].remove ? pods[i].throughput : 0;
        removed += pods[i].remove;
    }
    return removed;
}
