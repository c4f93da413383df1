/* Measures whether pair measurements can predict pairs of functions that were not measured
 * together.
 *
 * An interference law can predict such a pair only from properties of the two functions:
 * sensitivities, demands, utilisations. This module tests whether the measured pairs support any
 * such law. Each pair is reduced to its level, the mean slowdown of each side. The effects of batch
 * and share within a pair are taken as known exactly. The remaining error is that of the level, and
 * it is a lower bound on the error of any law of this kind.
 */
#ifndef ESGSIM_TRACES_CALIBRATE_CALIBRATE_UNSEEN_PAIRS_H
#define ESGSIM_TRACES_CALIBRATE_CALIBRATE_UNSEEN_PAIRS_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/base/arena.h"
#include "sim/base/error.h"
#include "traces/calibrate/samples.h"

/* How the level of a pair is predicted. */
enum unseen_level {
    UNSEEN_ONE,       /* one level for all. `seen`: the one with the least error, a lower bound;
                        `left_out`: the mean of the other pairs */
    UNSEEN_FUNCTIONS, /* sensitivity of the victim + demand of the other (pair_effects.h) */
    UNSEEN_LEVELS
};

extern const char *const unseen_level_names[UNSEEN_LEVELS];

/* All errors are means over samples of |predicted / measured - 1|. */
struct unseen_pairs {
    size_t pairs;                   /* 0: fewer than three, and no other field is set */
    double seen[UNSEEN_LEVELS];     /* error if the pair itself is known */
    double left_out[UNSEEN_LEVELS]; /* error if the pair is left out */
};

/* Uses the co-locations of two different functions in which both slowdowns were measured. O(pairs ×
 * functions³). Works in the arena. */
bool unseen_pairs_measure(const struct sample_set *set, struct arena *arena,
                          struct unseen_pairs *unseen, struct error *error);

#endif
