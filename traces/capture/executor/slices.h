/* How a GPU's multiprocessors are shared out: without CUDA, so that it is tested without a GPU.
 *
 * The driver splits a device once, into groups of as few multiprocessors as the architecture allows
 * (8 on Hopper), and a green context is made of any groups of one split. A share of the GPU counts
 * in units (sevenths); a unit is as many groups as all units can have alike, and what is left over
 * belongs to the whole device alone. So k units are k times the same number of multiprocessors
 * wherever they lie, and any shares that sum to the whole fit side by side. On the 132
 * multiprocessors of an H100 or H200 a seventh is 16, as MIG's is, and six of them are 96.
 */
#ifndef ESGSIM_TRACES_CAPTURE_EXECUTOR_SLICES_H
#define ESGSIM_TRACES_CAPTURE_EXECUTOR_SLICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/error.h"

enum {
    SLICES_GROUPS = 64, /* of a split, at most */
    SLICES_UNITS = 8,   /* 255 sets of units */
    SLICES_SETS = 1 << SLICES_UNITS,
    SLICES_CAPTURED = 7 /* units in which a capture counts */
};

struct slices {
    int groups, units;
    int per_unit; /* groups */
};

/* ERROR_INPUT where the units are not 1..SLICES_UNITS or more than the groups. ERROR_RUN where more
 * than a third of the groups would belong to no unit (sevenths of 13 groups): a share would be far
 * less than its name says. */
bool slices_plan(int groups, int units, struct slices *slices, struct error *error);

/* The groups of a set of units, as bits; all units: 0, which stands for the whole device. */
uint64_t slices_groups(const struct slices *slices, uint32_t units);

/* How many groups a share in percent is: of k units of `units` k * per_unit, between them rounded
 * down, at least one; 0 (the whole device) from 100 % on. */
int slices_share(const struct slices *slices, double share_percent);

/* `count` groups from `first` on, around the end of those that units have. */
uint64_t slices_span(const struct slices *slices, int first, int count);

/* `count` of the free units: side by side where that can be, the lowest; 0 where fewer are free. */
uint32_t slices_choose(uint32_t free_units, int count);

/* The units lie side by side. */
bool slices_side_by_side(uint32_t units);

/* All sets of as many units as `sizes` has bits for (bit k - 1: sets of k); returns how many. Those
 * that lie side by side come first, for a driver that has no room for all. */
size_t slices_sets(int units, uint32_t sizes, uint32_t sets[static SLICES_SETS]);

#endif
