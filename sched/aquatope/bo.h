/* Constrained Bayesian optimisation: the cheapest choice whose latency is within a limit.
 *
 * Aquatope (ASPLOS'23), resource manager [code]. It begins with random choices. Each round then
 * fits two Gaussian processes (cost, latency), proposes a batch of choices and removes outliers.
 * Proposals maximise the noisy expected improvement times the probability of feasibility. The
 * result is the cheapest choice observed to be feasible. Noisy expected improvement: Letham,
 * Karrer, Ottoni, Bakshy, "Constrained Bayesian Optimization with Noisy Experiments", Bayesian
 * Analysis 14, 2019.
 *
 * Departures from the released code [derived], with reasons:
 * - Cost and latency are modelled by their logarithms, standardised. The noise of an execution is a
 *   factor, so its spread is uniform in the logarithm.
 * - The choices are a grid. The acquisition is therefore maximised over drawn candidates (half
 *   anywhere, half around the incumbent) instead of by gradient from 32 raw samples. A choice
 *   already evaluated is not proposed again (the code answers it from a cache).
 * - Normal draws in antithetic pairs replace a 32-point quasi-random set. Each evaluation needs a
 *   dimension, and GSL's Sobol' sequence ends at 40.
 * - The choices of a batch are selected one by one. Earlier ones are treated as observed at their
 *   expected values, which keeps the means and lowers the variances.
 * - The cheapest feasible choice is the cheapest by the model's mean, not by its single sample. The
 *   latter selects the luckiest of near equals. The code may use the observed value because it
 *   never samples a choice twice and so treats its noise as the truth; Letham et al. choose by the
 *   model.
 * - Outliers are determined again in every round from all evaluations, so that an early, poor model
 *   discards none permanently. The interval uses standard deviations, where the code passes the
 *   variance. It compares an observation with predictions that include noise.
 */
#ifndef ESGSIM_SCHED_AQUATOPE_BO_H
#define ESGSIM_SCHED_AQUATOPE_BO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/aquatope/gp.h"

enum { BO_MAX_STAGES = 16 };

/* The options of one stage; features[option × feature_count + i] is within [0, 1]. */
struct bo_stage {
    size_t option_count;  /* >= 1 */
    size_t feature_count; /* 0..4; Σ over stages <= GP_MAX_DIMENSIONS */
    const double *features;
};

struct bo_problem {
    size_t stage_count; /* 1..BO_MAX_STAGES */
    const struct bo_stage *stages;
    double limit; /* on latency, > 0 */
    /* Observes cost and latency (both >= 0) for one option per stage. `number` counts evaluations.
     */
    void (*evaluate)(void *context, const uint32_t *choice, size_t number, double *cost,
                     double *latency);
    void *context;
};

struct bo_parameters {
    size_t initial;    /* random evaluations, >= 1 */
    size_t rounds;     /* may be 0 */
    size_t proposals;  /* per round, >= 1 */
    size_t candidates; /* drawn per round, >= 1 */
    double confidence; /* of the outlier test, (0, 1) */
    uint64_t tuning_seed;
    uint32_t stream; /* random stream number of RANDOM_POLICY */
};

struct bo_result {
    uint32_t choice[BO_MAX_STAGES];
    double cost, latency; /* as observed for this choice */
    bool feasible;        /* false: no observed choice met the limit; the fastest is returned */
    size_t evaluations;
    size_t outliers; /* according to the last model */
};

/* E[max(best − f, 0)] for normally distributed f. With deviation 0: max(best − mean, 0). */
double bo_expected_improvement(double mean, double deviation, double best);

/* P(f <= limit) for normally distributed f. With deviation 0: 0 or 1. */
double bo_feasibility(double mean, double deviation, double limit);

/* The expected improvement of the cost times the probability that the latency is feasible, assumed
 * independent. */
double bo_constrained_improvement(double cost_mean, double cost_deviation, double best,
                                  double latency_mean, double latency_deviation, double limit);

/* Flags observations outside the central interval of `confidence` that the other observations
 * predict for them. Keeps flags already set. Returns the number of new flags. */
size_t bo_outliers(const struct gp *gp, size_t count, double confidence, bool *flags);

/* The arena has the scratch, which is released. */
void bo_minimise(struct arena *arena, const struct bo_problem *problem,
                 const struct bo_parameters *settings, struct bo_result *result);

#endif
