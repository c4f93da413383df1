/* The search of `esgsim capacity`: the greatest or the least value at which a condition holds.
 *
 * The search asks for one value at a time and is told whether the condition holds there. It first
 * finds two values of which one holds and the other fails: the ends of a given range, or values
 * found by doubling and halving from a start. Then it bisects between them. It runs no simulation
 * and never asks for a value twice.
 *
 * The condition need not be monotone. The two values between which the search ends always differ,
 * but a further change may lie elsewhere. capacity_search_turn finds one among the visited values.
 */
#ifndef ESGSIM_SIM_CLI_CAPACITY_SEARCH_H
#define ESGSIM_SIM_CLI_CAPACITY_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

/* The search without a given range ends at start / 1024 and start × 1024. */
enum { CAPACITY_POINTS = 160, CAPACITY_SPAN = 1024 };

enum capacity_direction { CAPACITY_EITHER, CAPACITY_GREATEST, CAPACITY_LEAST };

enum capacity_verdict {
    CAPACITY_FOUND, /* the condition holds at `holds`, and fails at `fails` */
    CAPACITY_ALL,   /* it holds up to the end of the range in the search's direction */
    CAPACITY_NONE   /* it fails wherever the search looked */
};

struct capacity_range {
    double start;     /* where doubling begins; not used if both ends are given */
    double low, high; /* NAN: not given */
    bool whole;       /* only whole numbers; they are searched exactly */
    double tolerance; /* end when the two values differ by at most this share of `holds`, > 0 */
    enum capacity_direction direction; /* EITHER: the first change found decides */
};

struct capacity_point {
    double value;
    bool holds;
    bool refused; /* the value is not valid */
};

struct capacity_search {
    struct capacity_range range;
    struct capacity_point points[CAPACITY_POINTS]; /* in the order of the search */
    size_t count;
    double least, most;       /* ends of the values visited while no change is found */
    bool low_open, high_open; /* more values beyond these may be asked for */
    bool first;               /* whether the condition holds at points[0] */
    bool upward;              /* EITHER: the next value is above */
    double holds, fails;      /* two values between which the condition changes; NAN: none yet */
};

/* Values must be above 0; a whole number may be 0. */
void capacity_search_start(struct capacity_search *search, const struct capacity_range *range);

/* Sets the next value to try. False: the search has ended. Repeats its answer until the value is
 * taken or refused. */
bool capacity_search_next(struct capacity_search *search, double *value);

/* Takes the answer for the value that capacity_search_next gave. */
void capacity_search_take(struct capacity_search *search, double value, bool holds);

/* The value is not valid. It counts as one at which the condition fails, and the search looks no
 * further on its side. Without a direction it is no answer: the range ends before it. False: the
 * value is the start or a given end. */
bool capacity_search_refuse(struct capacity_search *search, double value);

enum capacity_verdict capacity_search_verdict(const struct capacity_search *search);

/* The direction given, or the one found. EITHER: none was found. */
enum capacity_direction capacity_search_direction(const struct capacity_search *search);

/* The value found; for CAPACITY_ALL the end of the range in the search's direction. NAN: none. */
double capacity_search_value(const struct capacity_search *search);

/* Sets order[0..count-1] to the indices of the visited points in ascending order of value. O(n²).
 */
void capacity_search_order(const struct capacity_search *search, size_t order[CAPACITY_POINTS]);

/* Returns whether the condition changes against the direction somewhere on the visited points:
 * `fails` is then nearer to the side where it should hold than `holds`. False if no direction is
 * known. */
bool capacity_search_turn(const struct capacity_search *search, double *fails, double *holds);

#endif
