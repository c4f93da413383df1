#include "sched/headway/places.h"

#include <math.h>

#include "sched/common/kinds.h"
#include "sched/common/placement.h"

/* Most invokers that a spreading placement looks at. */
enum { LOOKED_MOST = 64 };

struct places {
    const struct workload *workload;
    struct places_settings settings;
    bool *interferes; /* by kind of GPU: co-runners can slow one another */
    double units, vcpus;
    double held;         /* GPU units, now; as places_units counts them */
    double batches;      /* that hold them */
    double mean_use;     /* fraction of the units, exponentially weighted */
    double mean_batches; /* the same of the batches */
    sim_time_t used;     /* time of the means */
};

/* ---- Set-up ---------------------------------------------------------------------------------- */

static void places_count(struct places *places)
{
    const struct workload *workload = places->workload;
    for (uint32_t k = 0; k < workload->kind_count; k++)
        places->interferes[k] = kinds_interfere(workload, k);
    for (size_t g = 0; g < workload->cluster.group_count; g++) {
        const struct invoker_group *group = &workload->cluster.groups[g];
        places->vcpus += (double)group->vcpus * group->count;
        for (size_t i = 0; i < group->gpu_count; i++)
            places->units += (double)workload->kinds[0].units * group->count;
    }
}

struct places *places_create(struct arena *arena, const struct workload *workload,
                             const struct places_settings *settings)
{
    struct places *places = arena_allocate(arena, 1, sizeof *places);
    places->workload = workload;
    places->settings = *settings;
    places->interferes = arena_allocate(arena, workload->kind_count, sizeof *places->interferes);
    places_count(places);
    return places;
}

/* ---- Placement ------------------------------------------------------------------------------- */

void places_use(struct places *places, const struct configuration *configuration, bool held,
                sim_time_t now)
{
    const double units = configuration->vgpu * kinds_scale(places->workload, configuration->kind);
    const double use = places->units > 0 ? places->held / places->units : 0;
    const double passed = (double)(now - places->used);
    const double kept =
        places->settings.window > 0 ? exp(-passed / (double)places->settings.window) : 0;
    places->mean_use = kept * places->mean_use + (1 - kept) * use;
    places->mean_batches = kept * places->mean_batches + (1 - kept) * places->batches;
    places->used = now;
    places->held += held ? units : -units;
    places->batches += held ? 1 : -1;
}

static bool spreads(const struct places *places, uint32_t kind)
{
    if (places->settings.placement != HEADWAY_AUTO)
        return places->settings.placement == HEADWAY_SPREAD;
    return places->interferes[kind] && places->mean_use < places->settings.dense;
}

static uint32_t place_widest(const struct places *places, struct platform *platform,
                             uint32_t function, uint32_t configuration, bool warm)
{
    const uint32_t count = places->workload->cluster.invoker_count;
    const struct configuration *spec =
        &places->workload->functions[function].configurations[configuration];
    const bool all = count <= LOOKED_MOST;
    uint32_t best = SIM_NONE;
    double best_units = 0;
    for (uint32_t i = 0; i < (all ? count : LOOKED_MOST); i++) {
        const uint32_t invoker = all ? i : platform_home(platform, function, i);
        const double units = placement_free_units(platform, invoker, spec->kind);
        if (units < spec->vgpu || (best != SIM_NONE && units <= best_units) ||
            !placement_fits(platform, function, configuration, invoker, warm))
            continue;
        best = invoker;
        best_units = units;
    }
    platform_charge(platform, all ? count : LOOKED_MOST);
    return best;
}

uint32_t places_choose(struct places *places, struct platform *platform, uint32_t function,
                       uint32_t configuration, bool warm)
{
    uint32_t invoker = SIM_NONE;
    if (warm && platform_warm_total(platform, function) == 0)
        return SIM_NONE;
    if (spreads(places, places->workload->functions[function].configurations[configuration].kind))
        invoker = place_widest(places, platform, function, configuration, warm);
    if (invoker != SIM_NONE)
        return invoker;
    platform_charge(platform, 1);
    return platform_best_fit(platform, function, configuration, warm);
}

double places_mean_units(const struct places *places)
{
    return places->mean_batches > 0 ? places->mean_use * places->units / places->mean_batches : 0;
}

double places_units(const struct places *places)
{
    return places->units;
}

double places_vcpus(const struct places *places)
{
    return places->vcpus;
}
