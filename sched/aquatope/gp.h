/* Gaussian-process regression for a few dozen noisy observations.
 *
 * Zero mean, Matérn-5/2 kernel with one length per dimension, homoscedastic Gaussian noise; the
 * kernel and the noise that is learnt are those of Aquatope's released code [code]. One Cholesky
 * factor a set of observations, O(n³). Rasmussen and Williams, "Gaussian Processes for Machine
 * Learning": algorithm 2.1 (posterior), equation 5.9 (gradient of the marginal likelihood), section
 * 5.4.2 (leave one out in closed form).
 */
#ifndef ESGSIM_SCHED_AQUATOPE_GP_H
#define ESGSIM_SCHED_AQUATOPE_GP_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/random.h"

enum { GP_MAX_DIMENSIONS = 48 };

struct gp_hyper {
    double length[GP_MAX_DIMENSIONS]; /* one a dimension, in units of the inputs */
    double signal;                    /* variance of the function */
    double noise;                     /* variance of an observation around it; > 0 */
};

struct gp;

/* Room for `capacity` (>= 1) observations in `dimensions` (1..GP_MAX_DIMENSIONS). NULL when out of
 * memory. */
struct gp *gp_create(size_t capacity, size_t dimensions);
void gp_destroy(struct gp *gp);

/* Where fitting starts: lengths 0.5 √dimensions, signal 1, noise 0.05. */
struct gp_hyper gp_hyper_default(size_t dimensions);

/* signal × Matérn-5/2 of the scaled distance between two points. */
double gp_kernel(const struct gp_hyper *hyper, size_t dimensions, const double *a, const double *b);

/* Observe values y[i] at points x[i × dimensions …], `count` (1..capacity) of them, copied; what
 * was observed before is forgotten. Finite inputs, values of about unit scale. */
void gp_observe(struct gp *gp, const double *x, const double *y, size_t count,
                const struct gp_hyper *hyper);

/* Posterior mean and variance of the function (without observation noise) at x. */
void gp_predict(const struct gp *gp, const double *x, double *mean, double *variance);

/* What the other observations say about observation i: mean and variance (with noise) of y[i].
 * Returns by how much y[i] exceeds that mean. */
double gp_leave_one_out(const struct gp *gp, size_t i, double *mean, double *variance);

/* Log marginal likelihood of what was observed. `gradient` may be NULL, else receives dimensions +
 * 2 derivatives by the logarithms of lengths, signal and noise. */
double gp_evidence(const struct gp *gp, double *gradient);

/* Hyper-parameters that maximise evidence + log prior, from `hyper` on, at most `iterations` steps
 * of BFGS. Priors: gamma(3, 6/√dimensions) on lengths, gamma(2, 0.15) on signal, gamma(1.1, 0.05)
 * on noise: BoTorch's of the time [recall], lengths stretched with the diagonal of the cube
 * [derived]. The result is rounded to 1/64 in the logarithm, so that another processor's last place
 * does not change it. Leaves `gp` observing under the result. False when out of memory. */
bool gp_fit(struct gp *gp, const double *x, const double *y, size_t count, struct gp_hyper *hyper,
            size_t iterations);

/* Functions drawn from the posterior, each known at the observed points and uncertain elsewhere:
 * the outer expectation of noisy expected improvement. */
struct gp_paths;

/* `count` (even) draws, antithetic in pairs; the process must outlive them. NULL when out of
 * memory. */
struct gp_paths *gp_paths_create(const struct gp *gp, size_t count, struct random_stream *stream);
void gp_paths_destroy(struct gp_paths *paths);

/* Value of draw `path` at observation i. */
double gp_paths_at(const struct gp_paths *paths, size_t path, size_t i);

/* Means of all draws at x, each given its values at the observed points; returns the variance,
 * which all draws share. solved[0..observations) receives what covariances between two such points
 * are computed from: gp_kernel(x, z) − solved_x · solved_z. */
double gp_paths_predict(const struct gp_paths *paths, const double *x, double *means,
                        double *solved);

#endif
