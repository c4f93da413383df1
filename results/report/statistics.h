/* Statistics over the seeds of one configuration.
 *
 * Runs with different seeds are independent, so the mean over n of them has a Student t interval
 * with n − 1 degrees of freedom. Runs of two policies with the same seed have the same arrivals and
 * noise (common random numbers). Their difference is therefore computed seed by seed, which has a
 * much smaller variance than the difference of two means (Law and Kelton, Simulation Modeling and
 * Analysis, section "Common random numbers").
 */
#ifndef ESGSIM_RESULTS_REPORT_STATISTICS_H
#define ESGSIM_RESULTS_REPORT_STATISTICS_H

#include <stddef.h>

struct estimate {
    size_t n;
    double mean;
    double sd;         /* of one value, with denominator n − 1; NAN for n < 2 */
    double half_width; /* of the 95 % interval of the mean; NAN for n < 2 */
    size_t without;    /* seeds without a value, if other seeds have one; not counted in n */
};

/* If n = 0 the mean is NAN. If a value is NAN, mean, sd and half_width are NAN. */
struct estimate statistics_estimate(const double *values, size_t n);

/* The mean of first[i] − second[i]. */
struct estimate statistics_paired_difference(const double *first, const double *second, size_t n);

/* The mean of (baseline[i] − reference[i]) / reference[i], which is the saving relative to the
 * reference. If any reference[i] is 0, mean, sd and half_width are NAN. */
struct estimate statistics_paired_saving(const double *baseline, const double *reference, size_t n);

/* Returns the number of values to collect before computing the interval again, given the first n of
 * at most `limit`. Returns n if the interval's half-width is at most `half_width` or if n has
 * reached the limit. Otherwise it returns the number suggested by the standard deviation, at most
 * 2n. The result depends only on the values.
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
