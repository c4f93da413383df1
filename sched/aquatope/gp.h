/* Gaussian-process regression for a few dozen noisy observations.
 *
 * Zero mean, Matérn-5/2 kernel with one length scale per dimension, homoscedastic Gaussian noise.
 * The kernel and the learnt noise are those of Aquatope's released code [code]. One Cholesky
 * factorisation per set of observations, O(n³). Rasmussen and Williams, "Gaussian Processes for
 * Machine Learning": algorithm 2.1 (posterior), equation 5.9 (gradient of the marginal likelihood),
 * section 5.4.2 (leave one out in closed form).
 */
#ifndef ESGSIM_SCHED_AQUATOPE_GP_H
#define ESGSIM_SCHED_AQUATOPE_GP_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/base/arena.h"
#include "sim/engine/random.h"

enum { GP_MAX_DIMENSIONS = 64 };

struct gp_hyper {
    double length[GP_MAX_DIMENSIONS]; /* length scale per dimension, in units of the inputs */
    double signal;                    /* variance of the function */
    double noise;                     /* variance of an observation around the function; > 0 */
};

struct gp;

/* Room for `capacity` (>= 1) observations in `dimensions` (1..GP_MAX_DIMENSIONS). The arena has it.
 */
struct gp *gp_create(struct arena *arena, size_t capacity, size_t dimensions);

/* The start of a fit: lengths 0.5 √dimensions, signal 1, noise 0.05. */
struct gp_hyper gp_hyper_default(size_t dimensions);

/* signal × Matérn-5/2 of the scaled distance between two points. */
double gp_kernel(const struct gp_hyper *hyper, size_t dimensions, const double *a, const double *b);

/* Replaces the observations by `count` (1..capacity) values y[i] at points x[i × dimensions …],
 * which are copied. Inputs must be finite, values of about unit scale. */
void gp_observe(struct gp *gp, const double *x, const double *y, size_t count,
                const struct gp_hyper *hyper);

/* Posterior mean and variance of the function (without observation noise) at x. */
void gp_predict(const struct gp *gp, const double *x, double *mean, double *variance);

/* Predicts observation i from the others: mean and variance (with noise) of y[i]. Returns y[i]
 * minus that mean. */
double gp_leave_one_out(const struct gp *gp, size_t i, double *mean, double *variance);

/* Log marginal likelihood of the observations. `gradient` may be NULL; else it receives dimensions
 * + 2 derivatives with respect to the logarithms of lengths, signal and noise. */
double gp_evidence(const struct gp *gp, double *gradient);

/* Maximises evidence + log prior over the hyper-parameters, starting at `hyper`, with at most
 * `iterations` steps of BFGS. Priors: gamma(3, 6/√dimensions) on lengths, gamma(2, 0.15) on signal,
 * gamma(1.1, 0.05) on noise. They are BoTorch's of the time [recall], with lengths scaled by the
 * diagonal of the cube [derived]. The result is rounded to 1/64 in the logarithm, so that
 * differences in the last bits between processors do not change it. Afterwards `gp` holds the
 * observations under the result. */
void gp_fit(struct gp *gp, const double *x, const double *y, size_t count, struct gp_hyper *hyper,
            size_t iterations);

/* Functions drawn from the posterior, each with known values at the observed points, uncertain
 * elsewhere. They form the outer expectation of noisy expected improvement. */
struct gp_paths;

/* `count` (even) draws in antithetic pairs, in the arena of the process. */
struct gp_paths *gp_paths_create(const struct gp *gp, size_t count, struct random_stream *stream);

/* Value of draw `path` at observation i. */
double gp_paths_at(const struct gp_paths *paths, size_t path, size_t i);

/* Means of all draws at x, each given its values at the observed points. Returns the variance,
 * which is the same for all draws. solved[0..observations) receives the vector for covariances
 * between two such points: gp_kernel(x, z) − solved_x · solved_z. */
double gp_paths_predict(const struct gp_paths *paths, const double *x, double *means,
                        double *solved);

#endif
