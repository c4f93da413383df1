/* Statistics over the seeds of one configuration.
 *
 * Runs with different seeds are independent, so the mean over n of them has a Student t interval
 * with n − 1 degrees of freedom. The interval of a share of 0..1 is Wilson's, with the effective
 * number of observations that the seeds show, or that the runs state. Runs of two policies with one
 * seed have the same arrivals and noise (common random numbers). Their difference is therefore
 * computed seed by seed, which has a much smaller variance than the difference of two means (Law
 * and Kelton, Simulation Modeling and Analysis, section "Common random numbers").
 */
#ifndef ESGSIM_SIM_ENGINE_STATISTICS_H
#define ESGSIM_SIM_ENGINE_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

struct estimate {
    size_t n;
    double mean;
    double sd;         /* of one value, with denominator n − 1; NAN for n < 2 */
    double low, high;  /* ends of the 95 % interval of the mean; NAN for n < 2 */
    double half_width; /* half of the interval's length */
    size_t without;    /* seeds without a value, if other seeds have one; not counted in n */
    bool exact; /* nothing random decides the value: n is 1, and more seeds would not change it */
};

/* No value: n = 0, the numbers are NAN. */
extern const struct estimate statistics_none;

/* Student's t interval. If n = 0 the mean is NAN. If a value is NAN, so are mean, sd and interval.
 */
struct estimate statistics_estimate(const double *values, size_t n);

/* The values of one figure over seeds. */
struct seed_values {
    const double *values; /* of the seeds that have one */
    size_t valued, seeds;
    const double *worth; /* of each such seed, for a share of requests: how many independent ones
                            the run has. NULL, or NAN: another figure */
    bool exact;          /* the runs are equal: they count as one, without an interval */
    bool share;          /* of 0..1 */
    double confidence;   /* of the interval: 0.95, or 0 for that */
};

/* The estimate of the mean. If no seed has a value, n counts the seeds and the mean is NAN.
 *
 * The interval of a share stays within 0..1, so it need not be symmetric. It is Wilson's (Journal
 * of the American Statistical Association 22, 1927) with Student's t in place of the normal
 * quantile. The number of observations is the effective one, p (1 − p) / (sd² / n): requests of one
 * run are not independent (Kott and Carr, Journal of Official Statistics 13, 1997).
 *
 * Where the seeds are equal, or one of them is at 0 or 1, their spread tells too little: misses are
 * rare and come in bursts. The interval is then at least Wilson's of what the runs are `worth`
 * (with the normal quantile). tests/test_statistics.c and tests/test_intervals.c measure how often
 * intervals cover the mean. Equal shares of something else than requests have an interval of length
 * 0. */
struct estimate statistics_of_seeds(const struct seed_values *seeds);

/* The two-sided p-value of Student's t test that the mean is 0: below 0.05 where the t interval
 * leaves 0 out. NAN: there is no interval. */
double statistics_p_value(const struct estimate *estimate);

/* Holm's adjustment of n p-values (Scandinavian Journal of Statistics 6, 1979). Of the tests whose
 * adjusted value is below 0.05, one or more are wrong in at most 5 % of cases, however the tests
 * depend on one another. NAN is no test and stays. Returns how many tests there are. O(n^2). */
size_t statistics_holm(const double *p, size_t n, double *adjusted);

/* The estimate times `factor` > 0: in another unit. */
struct estimate statistics_scaled(struct estimate estimate, double factor);

/* Returns whether the ends of the interval lie equally far from the mean, with `decimals` printed.
 */
bool statistics_is_symmetric(const struct estimate *estimate, int decimals);

/* Returns the number of values to collect before computing the interval again, given the first n of
 * at most `limit`. Returns n if the interval's half-width is at most `half_width` or if n has
 * reached the limit. Otherwise it returns the number suggested by the standard deviation, at most
 * 2n. The result depends only on the values. The interval is Student's t, for shares, too.
 *
 * This is the fixed-width sequential procedure of Chow and Robbins (Annals of Mathematical
 * Statistics 36, 1965), evaluated in steps. It stops earlier if the estimated variance happens to
 * be small. Therefore the interval covers the mean slightly less often than 95 %: starting with 10
 * values, in 94 to 95 % of cases for normal values and in 90 % for exponential ones (skewness 2;
 * tests/test_sequential.c).
 */
size_t statistics_next_count(const double *values, size_t n, double half_width, size_t limit);

/* The 97.5 % quantile of Student's t with `degrees` > 0 degrees of freedom. */
double statistics_t_quantile(double degrees);

#endif
