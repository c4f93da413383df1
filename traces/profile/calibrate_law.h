/* The latency law: latency of a batch as a function of its size and its share of the GPU, with a
 * robust fit.
 *
 *     t(b, s) = (f^p + w^p)^(1/p),   f = f0 + f1·b,   w = (k1·b² + k2·b + k3) / (s + k4)^a
 *
 * f is the time that a larger share does not shorten (launches, serial parts). w is the work that
 * is divided by the share. p sets how sharp the kink between the two is. p = 1 adds them, which is
 * the form of iGniter's GPU active time (Xu et al., IEEE TPDS 2023, section 3). p → ∞ gives max(f,
 * w), the launch-bound floor. All coefficients are at least 0 and p >= 1. Therefore the law
 * increases with b and decreases with s everywhere. A fit has a <= 1, because half the share at
 * most doubles a time. A fit that starts with k1 = 0 keeps it.
 *
 * The fit minimises log residuals (relative errors) with Huber's weights (Huber 1964; tuning
 * constant 1.345, scale from the median absolute deviation). Each reweighting step is GSL's
 * trust-region nonlinear least squares.
 */
#ifndef ESGSIM_TRACES_PROFILE_CALIBRATE_LAW_H
#define ESGSIM_TRACES_PROFILE_CALIBRATE_LAW_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/base/error.h"

enum latency_coefficient {
    LAW_FLOOR,
    LAW_FLOOR_PER_ITEM,
    LAW_WORK_SQUARE,
    LAW_WORK_PER_ITEM,
    LAW_WORK,
    LAW_SHARE_OFFSET,
    LAW_KINK,
    LAW_SHARE_EXPONENT,
    LAW_COEFFICIENTS
};

/* Indexed by enum latency_coefficient; the names used in profiles. */
extern const char *const latency_coefficient_names[LAW_COEFFICIENTS];

struct latency_law {
    double k[LAW_COEFFICIENTS];
};

struct latency_point {
    double batch;
    double share; /* 0..1; fraction of the multiprocessors if known, see samples_share */
    double ms;
    double vcpu; /* 0: all points have one count */
};

/* What is known of a law's coefficients before its points are seen. `place` has them in the
 * search's variables (square roots, angles), for points with geometric mean 1. Each is pulled there
 * with the weight of `pull` measured relative errors per unit of distance: the errors' standard
 * deviation / the standard deviation of the coefficient. */
struct latency_prior {
    double place[LAW_COEFFICIENTS];
    double pull[LAW_COEFFICIENTS];
};

/* The prior for one function alone: mostly work, divided by the share. */
struct latency_prior latency_prior_weak(double pull);
/* Sets the prior's place to that of a law fitted to these points. */
void latency_prior_place(struct latency_prior *prior, const struct latency_law *law,
                         const struct latency_point *points, size_t count);

/* Latency in milliseconds; batch >= 0, share > 0. */
double latency_law_ms(const struct latency_law *law, double batch, double share);

/* Latencies that are possible at some place. */
struct latency_range {
    double least, most;
};

/* Narrows the range at (batch, share) by what is known of another place: time neither falls with
 * the batch nor rises with the share, and grows at most as the batch and as 1 / share. */
void latency_range_narrow(struct latency_range *range, const struct latency_point *known,
                          double batch, double share);
/* `ms`, or the end of the range next to it. Noise can put `least` above `most`; then it is `most`.
 */
double latency_range_clamp(const struct latency_range *range, double ms);

/* A fit uses a part of about so many points if there are more. Eight coefficients need no more. */
enum { LATENCY_LAW_POINTS = 192 };

/* Fits at least two points; all batches, shares and times must be above 0. With `start` the search
 * begins there only, with NULL at several places, all with k1 = 0. Points whose entry of `left_out`
 * is true are ignored (NULL: none). ERROR_INPUT for fewer than two points. */
bool latency_law_fit(const struct latency_point *points, size_t count, const bool *left_out,
                     const struct latency_law *start, const struct latency_prior *prior,
                     struct latency_law *law, struct error *error);

#endif
