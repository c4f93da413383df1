/* The two laws fitted by the derivation, with GSL's nonlinear least squares on relative residuals.
 */
#ifndef ESGSIM_TRACES_CALIBRATE_DERIVE_FIT_H
#define ESGSIM_TRACES_CALIBRATE_DERIVE_FIT_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/error.h"

/* Latency of a batch at a share of the GPU: t(b, s) = (k1·b² + k2·b + k3) / (s + k4) + k5 ms, all k
 * >= 0. It is the form of iGniter (Xu et al., IEEE TPDS 2023, the GPU active time of its
 * performance model). It decreases with s and increases with b. */
struct share_law {
    double k[5];
    double mape; /* mean |predicted / measured − 1| over the samples */
};

struct share_sample {
    double batch;
    double share; /* 0..1 */
    double ms;
};

bool fit_share_law(const struct share_sample *samples, size_t count, struct share_law *law,
                   struct error *error);
double share_law_ms(const struct share_law *law, double batch, double share);

/* Excess slowdown of a victim by one co-runner: coefficient · v^p · a · s^q. v and a are the
 * bandwidth demands of the victim and the co-runner, s is the co-runner's share; all >= 0. */
struct bandwidth_law {
    double coefficient;
    double victim_exponent;
    double share_exponent;
};

struct excess_sample {
    double victim;   /* demand, 0..1 */
    double other;    /* demand of the co-runner */
    double share;    /* of the co-runner */
    double slowdown; /* measured, 1 = none */
    size_t fold;     /* index of its pair of models */
};

/* Fits the samples whose fold is not `left_out` (SIZE_MAX: all). The share exponent is fixed at
 * `share_exponent`, or fitted if that is NAN. */
bool fit_bandwidth_law(const struct excess_sample *samples, size_t count, size_t left_out,
                       double share_exponent, struct bandwidth_law *law, struct error *error);
/* Predicted slowdown of the sample's victim. */
double bandwidth_law_slowdown(const struct bandwidth_law *law, const struct excess_sample *sample);

#endif
