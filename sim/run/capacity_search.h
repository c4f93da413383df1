/* The search of `esgsim capacity`: where a condition on a mean ceases to hold.
 *
 * The search asks for one value at a time and is told by how much the mean meets the threshold
 * there, and by how much the ends of its confidence interval do. The condition *surely holds* where
 * the whole interval meets the threshold, and *surely fails* where the whole interval misses it.
 * The answer is the interval between the last value that surely holds and the first that surely
 * fails. In it lies the crossing, where the mean is at the threshold.
 *
 * Doubling and halving from a start, or a given range, enclose the crossing. Bisection follows,
 * then more seeds at the values on which the answer rests. It runs no simulation.
 *
 * With common random numbers, mean and limits are fixed functions of the value. If they are
 * monotone, the interval misses the true crossing only if the confidence interval of the mean at
 * that one value does, however many values are visited. Adding seeds where the interval is wide
 * makes it miss slightly more often. CAPACITY_CONFIDENCE allows for that (tests/test_capacity.c).
 * Where the mean is not monotone, the search ends at one of several crossings.
 */
#ifndef ESGSIM_SIM_RUN_CAPACITY_SEARCH_H
#define ESGSIM_SIM_RUN_CAPACITY_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/engine/statistics.h"

/* The search without a given range ends at start / 1024 and start × 1024. */
enum { CAPACITY_POINTS = 160, CAPACITY_SPAN = 1024 };

/* Of the two-sided interval of the mean at one value. */
#define CAPACITY_CONFIDENCE 0.99

struct capacity_run;

enum capacity_direction { CAPACITY_EITHER, CAPACITY_GREATEST, CAPACITY_LEAST };

enum capacity_verdict {
    CAPACITY_FOUND, /* the mean crosses the threshold */
    CAPACITY_ALL,   /* the mean meets it up to the end of the range in the search's direction */
    CAPACITY_NONE   /* the mean meets it nowhere where the search looked */
};

enum capacity_certainty { CAPACITY_FAILS = -1, CAPACITY_UNSURE, CAPACITY_HOLDS };

struct capacity_range {
    double start;     /* where doubling begins; not used if both ends are given */
    double low, high; /* NAN: not given */
    bool whole;       /* only whole numbers */
    double tolerance; /* end when the interval is at most this share of its middle wide, or, for
                         whole numbers, at most 1; > 0 */
    size_t seeds, most_seeds;          /* at each value at first, and if need be */
    enum capacity_direction direction; /* EITHER: the first change found decides */
};

struct capacity_point {
    double value;
    double mean;      /* NAN: a seed has no value, or the value of the key was refused */
    double low, high; /* the mean's confidence interval; NAN: there is none */
    double margin;    /* by which the mean meets the threshold; -INFINITY: there is no mean */
    double worst;     /* by which the worse end of the interval does, and the better one. Without */
    double best;      /* an interval: the margin */
    size_t seeds;     /* on which these rest */
    const struct capacity_run *runs; /* of the seeds: the caller's */
    bool refused;                    /* the value is not valid */
};

struct capacity_search {
    struct capacity_range range;
    struct capacity_point points[CAPACITY_POINTS]; /* by ascending value */
    size_t count;
    size_t seeds;             /* on which the answer rests */
    bool low_open, high_open; /* more values beyond those visited may be asked for */
    bool upward;              /* EITHER: the next value is above */
};

/* What is known of the crossing. Without a direction, the verdict alone. */
struct capacity_interval {
    enum capacity_verdict verdict;
    double holds;    /* the last value that surely holds; NAN: none of the visited ones does */
    double fails;    /* the first one that surely fails; NAN: none does */
    double crossing; /* whole numbers: the last value whose mean meets the threshold; NAN: none */
    double width;    /* of the interval, relative to its middle; without an end: to the last value
                        visited on its side; 0 between neighbouring whole numbers */
    bool narrow;     /* within the tolerance */
};

/* Values must be above 0; a whole number may be 0. */
void capacity_search_start(struct capacity_search *search, const struct capacity_range *range);

/* Sets the next value to try, with `search->seeds` seeds. It may be one that was tried with fewer.
 * False: the search has ended. Repeats its answer until the value is taken or refused. */
bool capacity_search_next(struct capacity_search *search, double *value);

/* Takes the answer for the value that capacity_search_next gave. Returns its point, which is valid
 * until the next value is taken. O(n). */
struct capacity_point *capacity_search_take(struct capacity_search *search, double value,
                                            double margin, double worst, double best);

/* The same from the metric at the value, one per seed, by the interval of statistics_of_seeds. One
 * seed, or equal runs, stand for all. The condition fails where a seed has no value (NAN). */
struct capacity_point *capacity_search_measure(struct capacity_search *search, double value,
                                               const struct seed_values *seeds, bool at_most,
                                               double threshold);

/* The value is not valid. It counts as one at which the condition fails, and the search looks no
 * further on its side. Without a direction it is no answer: the range ends before it. False: the
 * value is the start or a given end. */
bool capacity_search_refuse(struct capacity_search *search, double value);

/* The point with that value; NULL: it was not tried. O(n). */
struct capacity_point *capacity_search_find(struct capacity_search *search, double value);

enum capacity_certainty capacity_point_answer(const struct capacity_point *point);
struct capacity_interval capacity_search_interval(const struct capacity_search *search);

/* Finds the visited neighbours `*from` and `*to` between which the mean goes against the rest of
 * the curve, beyond both intervals: it gets worse towards the side on which the
 * condition should hold. False: there are none, or no direction is known. */
bool capacity_search_bend(const struct capacity_search *search, const struct capacity_point **from,
                          const struct capacity_point **to);

#endif
