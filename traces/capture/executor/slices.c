#include "traces/capture/executor/slices.h"

#include <math.h>

bool slices_plan(int groups, int units, struct slices *slices, struct error *error)
{
    if (units < 1 || units > SLICES_UNITS)
        return error_input(error,
                           "capture: a GPU of %d units; it can be split into 1..%d, a green "
                           "context for every set of units",
                           units, SLICES_UNITS);
    if (groups < units || groups > SLICES_GROUPS)
        return error_input(error,
                           "capture: the driver splits this GPU into %d parts; give it fewer "
                           "units than %d",
                           groups, units);
    const int per_unit = groups / units;
    const int left = groups - units * per_unit;
    if (3 * left > groups)
        return error_run(error,
                         "capture: the driver splits this GPU into %d groups of multiprocessors; "
                         "%d units of %d would leave %d of them, more than a third, to no unit "
                         "(units of %d take %d groups)",
                         groups, units, per_unit, left, per_unit + 1, units * (per_unit + 1));
    *slices = (struct slices){groups, units, per_unit};
    return true;
}

uint64_t slices_span(const struct slices *slices, int first, int count)
{
    const int all = slices->units * slices->per_unit;
    uint64_t groups = 0;
    for (int i = 0; i < count && i < all; i++)
        groups |= UINT64_C(1) << ((first + i) % all);
    return groups;
}

uint64_t slices_groups(const struct slices *slices, uint32_t units)
{
    uint64_t groups = 0;
    if (units == (UINT32_C(1) << slices->units) - 1)
        return 0;
    for (int u = 0; u < slices->units; u++)
        if ((units >> u & 1) != 0)
            groups |= slices_span(slices, u * slices->per_unit, slices->per_unit);
    return groups;
}

int slices_share(const struct slices *slices, double share_percent)
{
    const double exact = share_percent / 100 * slices->units * slices->per_unit;
    if (share_percent >= 100)
        return 0;
    return (int)fmax(1, floor(exact + 1e-6));
}

uint32_t slices_choose(uint32_t free_units, int count)
{
    uint32_t chosen = 0;
    if (count < 1 || count > SLICES_UNITS || __builtin_popcount(free_units) < count)
        return 0;
    for (int first = 0; first + count <= SLICES_UNITS; first++) {
        const uint32_t run = ((UINT32_C(1) << count) - 1) << first;
        if ((free_units & run) == run)
            return run;
    }
    for (int u = 0; __builtin_popcount(chosen) < count; u++)
        chosen |= free_units & (UINT32_C(1) << u);
    return chosen;
}

bool slices_side_by_side(uint32_t units)
{
    while (units != 0 && (units & 1) == 0)
        units >>= 1;
    return (units & (units + 1)) == 0;
}

size_t slices_sets(int units, uint32_t sizes, uint32_t sets[static SLICES_SETS])
{
    size_t count = 0;
    for (int scattered = 0; scattered <= 1; scattered++)
        for (uint32_t set = 1; set < UINT32_C(1) << units; set++)
            if ((sizes >> (__builtin_popcount(set) - 1) & 1) != 0 &&
                slices_side_by_side(set) != scattered)
                sets[count++] = set;
    return count;
}
