/* The search of `esgsim capacity`: where a condition on a mean ceases to hold.
 *
 * The search asks for one value at a time and is told by how much the mean meets the threshold
 * there, and the half-width of the mean's confidence interval. The condition *surely holds* where
 * the whole interval is on the good side of the threshold, and *surely fails* where the whole
 * interval is on the bad side. The answer is the interval between the last value that surely holds
 * and the first one that surely fails. In it lies the crossing, where the mean is at the threshold.
 *
 * The search finds two values with the crossing between them: the ends of a given range, or values
 * found by doubling and halving from a start. Then it bisects towards the crossing and towards both
 * ends of the interval. If the interval remains too wide it asks for more seeds, at the values on
 * which the answer rests. It runs no simulation.
 *
 * The coverage follows from common random numbers: with the same seeds at every value, the three
 * curves are fixed functions of the value. If they are monotone, the interval misses the true
 * crossing only if the confidence interval of the mean at that one value does. So the number of
 * values visited does not matter. That more seeds are added only where the interval is wide makes
 * it miss slightly more often; CAPACITY_CONFIDENCE allows for that (tests/test_capacity.c).
 *
 * The mean need not be monotone. The search then ends at one of several crossings, and
 * capacity_search_bend finds a contradiction among the visited values.
 */
#ifndef ESGSIM_SIM_CLI_CAPACITY_SEARCH_H
#define ESGSIM_SIM_CLI_CAPACITY_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

/* The search without a given range ends at start / 1024 and start × 1024. */
enum { CAPACITY_POINTS = 160, CAPACITY_SPAN = 1024 };

/* Of the two-sided interval of the mean at one value. */
#define CAPACITY_CONFIDENCE 0.99

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
    double margin; /* by which the mean meets the threshold; below 0: it does not; -INFINITY: there
                      is no mean */
    double half;   /* half-width of its confidence interval */
    size_t seeds;  /* on which both rest */
    bool refused;  /* the value is not valid */
};

struct capacity_search {
    struct capacity_range range;
    struct capacity_point points[CAPACITY_POINTS]; /* in the order of the search */
    size_t count;
    size_t seeds;             /* on which the answer rests */
    bool low_open, high_open; /* more values beyond those visited may be asked for */
};

/* What is known of the crossing. */
struct capacity_interval {
    double holds;    /* the last value that surely holds; NAN: none of the visited ones does */
    double fails;    /* the first one that surely fails; NAN: none does */
    double crossing; /* whole numbers: the last value whose mean meets the threshold. NAN: the mean
                        does not cross it in the range */
    double width;    /* of the interval, relative to its middle; without an end: to the last value
                        visited on its side */
    bool narrow;     /* within the tolerance */
};

/* Values must be above 0; a whole number may be 0. */
void capacity_search_start(struct capacity_search *search, const struct capacity_range *range);

/* Sets the next value to try, with `search->seeds` seeds. It may be one that was tried with fewer
 * (capacity_search_find). False: the search has ended. Repeats its answer until the value is taken
 * or refused. */
bool capacity_search_next(struct capacity_search *search, double *value);

/* Takes the answer for the value that capacity_search_next gave. */
void capacity_search_take(struct capacity_search *search, double value, double margin, double half);

/* The same from the metric at the value, one per seed: the interval of the mean over n seeds is
 * mean ± t·s/√n, where t is the quantile of Student's distribution with n − 1 degrees of freedom
 * for CAPACITY_CONFIDENCE. One seed stands for all: there is no interval. The condition surely
 * fails where a seed has no value (NAN). Returns the mean. */
double capacity_search_measure(struct capacity_search *search, double value, const double *seeds,
                               bool at_most, double threshold);

/* The value is not valid. It counts as one at which the condition fails, and the search looks no
 * further on its side. Without a direction it is no answer: the range ends before it. False: the
 * value is the start or a given end. */
bool capacity_search_refuse(struct capacity_search *search, double value);

/* The index of the point with that value; `count` if it was not tried. O(n). */
size_t capacity_search_find(const struct capacity_search *search, double value);

enum capacity_certainty capacity_point_answer(const struct capacity_point *point);
enum capacity_verdict capacity_search_verdict(const struct capacity_search *search);
/* The direction is range.direction; EITHER: none was found, and the interval is not known. */
struct capacity_interval capacity_search_interval(const struct capacity_search *search);

/* Sets order[0..count-1] to the indices of the visited points in ascending order of value. O(n²).
 */
void capacity_search_order(const struct capacity_search *search, size_t order[CAPACITY_POINTS]);

/* Finds the visited neighbours `*from` and `*to` between which the mean goes against the rest of
 * the curve, by more than both half-widths together: it gets worse towards the side on which the
 * condition should hold. Indices of points. False: there are none, or no direction is known. */
bool capacity_search_bend(const struct capacity_search *search, size_t *from, size_t *to);

#endif
