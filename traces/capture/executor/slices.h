/* Division of a GPU's multiprocessors into shares. Independent of CUDA, so that it is tested
 * without a GPU.
 *
 * The driver splits a device once into groups of as few multiprocessors as the architecture allows
 * (8 on Hopper). A green context consists of any groups of one split. GPU shares are counted in
 * units (sevenths). All units have the same number of groups, as many as fit. Groups left over
 * belong only to the whole device.
 *
 * So k units always have k times the multiprocessors of one unit, whichever units they are, and any
 * shares that sum to the whole fit together. On the 132 multiprocessors of an H100 or H200, one
 * seventh is 16 multiprocessors, as in MIG, and six sevenths are 96.
 */
#ifndef ESGSIM_TRACES_CAPTURE_EXECUTOR_SLICES_H
#define ESGSIM_TRACES_CAPTURE_EXECUTOR_SLICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/error.h"

enum {
    SLICES_GROUPS = 64, /* maximum number of groups per split */
    SLICES_UNITS = 8,   /* maximum number of units: 255 sets */
    SLICES_SETS = 1 << SLICES_UNITS,
    SLICES_CAPTURED = 7 /* units of a capture: sevenths */
};

struct slices {
    int groups, units;
    int per_unit; /* groups per unit */
};

/* Assigns groups to units. Returns false with ERROR_INPUT if `units` is outside 1..SLICES_UNITS or
 * exceeds the number of groups. Returns false with ERROR_RUN if more than a third of the groups
 * would belong to no unit (sevenths of 13 groups): a share would then be far smaller than
 * its name. */
bool slices_plan(int groups, int units, struct slices *slices, struct error *error);

/* Bit set of the groups of a set of units. For all units it is 0, the whole device. */
uint64_t slices_groups(const struct slices *slices, uint32_t units);

/* Number of groups for a share in percent. k of `units` units have k * per_unit groups. Shares in
 * between are rounded down, to at least one group. From 100 % on the result is 0, the
 * whole device. */
int slices_share(const struct slices *slices, double share_percent);

/* `count` groups starting at `first`. The range wraps around after the last group that belongs to a
 * unit. */
uint64_t slices_span(const struct slices *slices, int first, int count);

/* Chooses `count` of the free units: the lowest contiguous run if there is one. Returns 0 if fewer
 * than `count` are free. */
uint32_t slices_choose(uint32_t free_units, int count);

/* True if the units are contiguous. */
bool slices_side_by_side(uint32_t units);

/* Lists all sets of units whose size has its bit in `sizes` (bit k - 1: sets of k units). Returns
 * their number. Contiguous sets come first, because a driver may not have room for all. */
size_t slices_sets(int units, uint32_t sizes, uint32_t sets[static SLICES_SETS]);

#endif
