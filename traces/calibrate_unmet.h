/* How far measured pairs speak of functions that never met.
 *
 * Every law of interference that extends to a pair nobody measured takes that pair's slowdown from
 * what is known of its functions: sensitivities, demands, utilisations. Whether measured pairs
 * support any such law can be told before one is written. Take from each pair its level alone, the
 * mean slowdown of either side, and let everything else, how batches and shares move it, be known
 * exactly: what a law then still gets wrong is the level, and its error is a floor under that of
 * laws of its kind. An analysis of variance says how much of the difference between pairs belongs
 * to functions (their main effects) and how much to the pair.
 */
#ifndef ESGSIM_TRACES_CALIBRATE_UNMET_H
#define ESGSIM_TRACES_CALIBRATE_UNMET_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/error.h"
#include "traces/samples.h"

/* Where the level of a pair is taken from. */
enum unmet_level {
    UNMET_ONE, /* one level for all: seen, that of the least error, below which no such law gets;
                * left out, the mean of the other pairs */
    UNMET_FUNCTIONS, /* 1 + mean + sensitivity of the victim + demand of the other, least squares */
    UNMET_SHRUNK,    /* the same, pulled to the mean by ridge; how much is chosen by leaving out
                      * pairs among those known */
    UNMET_LEVELS
};

extern const char *const unmet_level_names[UNMET_LEVELS];

/* All errors are means over samples of |predicted / measured - 1|. */
struct unmet_pairs {
    size_t functions, pairs; /* pairs 0: too few to tell, and nothing else is set */
    double excess;           /* mean over pairs of the mean excess slowdown of both sides */
    double spread;           /* its standard deviation between pairs */
    double explained;        /* share of the variance between pairs that their functions explain */
    size_t freedom[2];       /* degrees of freedom of functions and of the rest */
    double f;                /* ratio of their mean squares */
    double probability;      /* of an F as large where functions explain nothing */
    double seen[UNMET_LEVELS];     /* error with the pair among those known; shrunk: NAN */
    double left_out[UNMET_LEVELS]; /* error with the pair left out */
};

/* Takes co-locations of two different functions whose slowdowns were both measured; all others
 * take no part. With as many function effects as pairs, or fewer than three pairs, there is nothing
 * to tell: true, with `pairs` 0. O(pairs² × functions³). */
bool unmet_pairs_measure(const struct sample_set *set, struct unmet_pairs *unmet,
                         struct error *error);

#endif
