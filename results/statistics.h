/* Statistics over the seeds of one configuration.
 *
 * Runs of different seeds are independent, so a figure's mean over n of them has a Student t
 * interval with n − 1 degrees of freedom. Runs of one seed under two policies meet the same
 * arrivals and noise (common random numbers), so their difference is taken seed by seed, which is
 * far less noisy than the difference of two means (Law and Kelton, Simulation Modeling and
 * Analysis, section "Common random numbers").
 */
#ifndef ESGSIM_RESULTS_STATISTICS_H
#define ESGSIM_RESULTS_STATISTICS_H

#include <stddef.h>

struct estimate {
    size_t n;
    double mean;
    double sd;         /* of one value, n − 1 in the denominator; NAN for n < 2 */
    double half_width; /* of the 95 % interval of the mean; NAN for n < 2 */
    size_t without;    /* seeds that have no such figure, where others have one; not in n */
};

/* n = 0: mean is NAN too. A value that is NAN makes the figures NAN. */
struct estimate statistics_estimate(const double *values, size_t n);

/* The mean of first[i] − second[i]. */
struct estimate statistics_paired_difference(const double *first, const double *second, size_t n);

/* The mean of (baseline[i] − reference[i]) / reference[i]: what the reference saves, as a share of
 * its own figure. Undefined, so NAN throughout, where a reference is 0: no share of nothing. */
struct estimate statistics_paired_saving(const double *baseline, const double *reference, size_t n);

/* How many values to have before the interval of their mean is looked at again, from the first n of
 * at most `limit`: n itself where the interval is `half_width` or narrower, or n has reached the
 * limit; else what the spread so far asks for, at most twice as many. Depends on the values alone.
 *
 * This is the fixed-width sequential procedure of Chow and Robbins (Annals of Mathematical
 * Statistics 36, 1965), looked at in steps. It stops sooner where the spread happens to look small,
 * so its interval covers the mean somewhat more rarely than it says: of normal values from 10 on in
 * 94 to 95 % of cases, of exponential ones (skewness 2) in 90 % (tests/test_sequential.c).
 */
size_t statistics_next_count(const double *values, size_t n, double half_width, size_t limit);

/* The 97.5 % quantile of Student's t with `degrees` > 0 degrees of freedom. */
double statistics_t_quantile(double degrees);

#endif
