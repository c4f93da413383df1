/* Constrained Bayesian optimisation: the cheapest choice whose latency keeps within a limit.
 *
 * Aquatope (ASPLOS'23), resource manager [code]: random choices first; then, round by round, two
 * Gaussian processes (cost, latency), a batch of proposals by noisy expected improvement weighted
 * with the probability of feasibility, removal of outliers; last the cheapest choice observed to be
 * feasible. Noisy expected improvement: Letham, Karrer, Ottoni, Bakshy, "Constrained Bayesian
 * Optimization with Noisy Experiments", Bayesian Analysis 14, 2019.
 *
 * Where this departs from the released code [derived], each for a reason:
 * - Cost and latency are modelled by their logarithms, standardised: the noise of an execution is a
 *   factor, so it is the logarithm that it spreads evenly.
 * - The choices are a grid, so the acquisition is maximised over drawn candidates (half anywhere,
 *   half around the incumbent) instead of by gradient from 32 raw samples. A choice already
 *   evaluated is not proposed again (the code answers it from a cache).
 * - Normal draws in antithetic pairs replace a 32-point quasi-random set: GSL's Sobol' sequence
 *   ends at 40 dimensions, and there is one for each evaluation.
 * - A batch is chosen one by one, each with the ones before it observed at their expected values,
 *   which leaves the means and lowers the variances.
 * - The cheapest feasible choice is the cheapest by the model's mean, not by its own one sample,
 *   which among near equals picks the luckiest. The code may take the observed one because it never
 *   samples a choice twice and so calls its noise the truth; Letham et al. choose by the model.
 * - Outliers are judged anew every round on all evaluations, so that none is lost for good by an
 *   early, poor model. The interval is in standard deviations, where the code passes the variance,
 *   and compares like with like.
 */
#ifndef ESGSIM_SCHED_AQUATOPE_BO_H
#define ESGSIM_SCHED_AQUATOPE_BO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/aquatope/gp.h"
#include "sim/error.h"

enum { BO_MAX_STAGES = 16 };

/* One stage's options; features[option × feature_count + i] within [0, 1]. */
struct bo_stage {
    size_t option_count;  /* >= 1 */
    size_t feature_count; /* 0..3; Σ over stages <= GP_MAX_DIMENSIONS */
    const double *features;
};

struct bo_problem {
    size_t stage_count; /* 1..BO_MAX_STAGES */
    const struct bo_stage *stages;
    double limit; /* on latency, > 0 */
    /* Cost and latency (both >= 0) observed for one option a stage; `number` counts evaluations. */
    void (*evaluate)(void *context, const uint32_t *choice, size_t number, double *cost,
                     double *latency);
    void *context;
};

struct bo_settings {
    size_t initial;    /* random evaluations, >= 1 */
    size_t rounds;     /* may be 0 */
    size_t proposals;  /* a round, >= 1 */
    size_t candidates; /* drawn a round, >= 1 */
    double confidence; /* of the outlier test, (0, 1) */
    uint64_t seed;
    uint32_t stream; /* of RANDOM_POLICY */
};

struct bo_result {
    uint32_t choice[BO_MAX_STAGES];
    double cost, latency; /* as observed for the choice */
    bool feasible; /* false: nothing observed kept the limit, the fastest observed is given */
    size_t evaluations;
    size_t outliers; /* under the last model */
};

/* E[max(best − f, 0)] for f normal; the excess of best over mean where deviation is 0. */
double bo_expected_improvement(double mean, double deviation, double best);

/* P(f <= limit) for f normal; 0 or 1 where deviation is 0. */
double bo_feasibility(double mean, double deviation, double limit);

/* Improvement of cost weighted with feasibility of latency, independent of each other. */
double bo_constrained_improvement(double cost_mean, double cost_deviation, double best,
                                  double latency_mean, double latency_deviation, double limit);

/* Flags observations outside the central interval of `confidence` of what the others predict for
 * them; adds to flags already set. Returns how many it set. */
size_t bo_outliers(const struct gp *gp, size_t count, double confidence, bool *flags);

/* False with ERROR_RUN when out of memory. */
bool bo_minimise(const struct bo_problem *problem, const struct bo_settings *settings,
                 struct bo_result *result, struct error *error);

#endif
