/* Comparisons of any metric of two contenders, over the seeds that both have run.
 *
 * Several pairs of contenders give one comparison of averages. An example is a policy against
 * another in three settings. For each seed, the metric is first averaged over the pairs, separately
 * for both sides. The formula is then applied to the two averages. So a setting in which a baseline
 * never hits does not make a relative gain infinite.
 */
#ifndef ESGSIM_RESULTS_REPORT_PAIRED_H
#define ESGSIM_RESULTS_REPORT_PAIRED_H

#include "results/report/report.h"

/* How a metric of two contenders is compared. */
enum paired_formula {
    PAIRED_VALUE,      /* first; there is no second contender */
    PAIRED_DIFFERENCE, /* first - second */
    PAIRED_RATIO,      /* first / second */
    PAIRED_GAIN        /* (first - second) / second */
};

struct paired_contenders {
    const struct report_contender *first, *second; /* may be of different scenarios */
};

/* The contender's run with that seed; of copies any one. REPORT_NONE: it has none. O(seeds). */
size_t paired_run(const struct report *report, const struct report_contender *contender,
                  uint64_t seed);

/* The estimate over the seeds that all contenders have. A seed in which a contender has no value is
 * not counted in `n` but in `without`. Copies of one run count as one seed. The mean is NAN if no
 * seed has a value, or if in any seed the formula divides by 0. n = 0 if there is no common seed.
 * `application` NULL: all together. O(pairs x seeds^2). */
struct estimate paired_estimate(const struct report *report, const struct paired_contenders *pairs,
                                size_t count, const char *application, const struct metric *metric,
                                enum paired_formula formula);

/* The contender's place by a metric: 1, and one more for each contender that a paired 95 % interval
 * puts before it; with one seed, whose mean is better. `out` (NULL: none) tells which contenders
 * are put before nobody. 0: it has no value. O(contenders). */
size_t paired_place(const struct report *report, const struct report_scenario *scenario,
                    size_t contender, const struct metric *metric, bool least, const bool *out);

#endif
