/* The latency law: how long a batch takes at a share of the GPU, fitted robustly.
 *
 *     t(b, s) = (f^p + w^p)^(1/p),   f = f0 + f1·b,   w = (k1·b² + k2·b + k3) / (s + k4)^a
 *
 * f is what no larger share shortens (launches, serial parts), w the work that the share divides.
 * p sets the kink between the two: 1 adds them, which is the form of iGniter's GPU active time (Xu
 * et al., IEEE TPDS 2023, section 3), and p → ∞ is max(f, w), the launch-bound floor. All
 * coefficients are at least 0, p at least 1, 0 <= a <= 2, so the law rises in b and falls in s
 * wherever it is evaluated.
 *
 * Fitted on log residuals (relative errors) with Huber's weights (Huber 1964; tuning constant
 * 1.345, scale by the median absolute deviation), each step by GSL's trust-region least squares.
 */
#ifndef ESGSIM_TRACES_CALIBRATE_LAW_H
#define ESGSIM_TRACES_CALIBRATE_LAW_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/error.h"

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

/* By enum latency_coefficient, as profiles name them. */
extern const char *const latency_coefficient_names[LAW_COEFFICIENTS];

struct latency_law {
    double k[LAW_COEFFICIENTS];
};

struct latency_point {
    double batch;
    double share; /* 0..1; of multiprocessors where they were counted, see samples_share */
    double ms;
};

/* The law's milliseconds; batch >= 0, share > 0. */
double latency_law_ms(const struct latency_law *law, double batch, double share);

/* Fits at least two points, all batches, shares and times above 0. With `start` (NULL: none) the
 * search begins there alone, else at several places; points whose entry of `left_out` (NULL: none)
 * is true are not looked at. ERROR_INPUT for fewer than two points. */
bool latency_law_fit(const struct latency_point *points, size_t count, const bool *left_out,
                     const struct latency_law *start, struct latency_law *law, struct error *error);

#endif
