/* Dilu's controller of the share that trainings have of one GPU beside inference (RCKM).
 *
 * sigserverless/Dilu at 1134655, adaptive_2D_scaling/vertical_scaling/server/RCKM.c:126-183 and
 * 352-436, in our own words. The original grants tokens every 5 ms, one κ for the four GPUs of a
 * node. Here the same rules apply at changes of state, with a κ for each GPU. All shares are parts
 * of a GPU.
 *
 * - Before the first inference instance: a training has r / Σr, with Σ over the trainings of the
 *   GPU.
 * - An inference instance executes, or did so within 120 ticks (the original: 100, and no change up
 *   to 120): a training has κ · r.
 * - All are idle for longer, or gone: a training has κ · Σl · r / Σr. Idle ones set κ to 1, gone
 *   ones to 1 − Σ request of the inference that is left.
 *
 * A training has at most its limit. A burst is a time in which an instance executes without a gap
 * of a tick. Its length counts in whole ticks, rounded up. At its end:
 * - Emergency: κ falls, in proportion to the length, when the burst was at least 1.6 times, and
 * less than 4 times, as long as the instance's shortest burst of more than 6 ticks. (The original's
 *   rule for large language models is left out: their instances have no bursts here.)
 * - Recovery: at every fifth burst that was less than 1.2 times as long, κ grows by 1.3, up to 1.
 */
#ifndef ESGSIM_SCHED_DILU_RCKM_H
#define ESGSIM_SCHED_DILU_RCKM_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/units.h"

#define RCKM_TICK (5 * SIM_MS)
enum { RCKM_IDLE_TICKS = 120 };

enum rckm_mode {
    RCKM_ALONE, /* no inference yet */
    RCKM_BESIDE,
    RCKM_FREE
};

struct rckm {
    double kappa;
    enum rckm_mode mode;
};

/* What is known of the bursts of an inference instance. All zeros: nothing. */
struct rckm_task {
    double shortest; /* ticks; 0: no burst of more than 6 ticks yet */
    uint32_t bursts;
};

void rckm_open(struct rckm *rckm);

/* An inference instance came, or began to execute. */
void rckm_active(struct rckm *rckm);

/* A burst of `ticks` >= 1 ended. `requests` is Σr of the GPU's trainings. */
void rckm_burst(struct rckm *rckm, struct rckm_task *task, double ticks, double requests);

/* All inference instances have been idle for more than RCKM_IDLE_TICKS. */
void rckm_idle(struct rckm *rckm);

/* An inference instance left. `requests` is Σ request, and `count` the number, of those that are
 * left. */
void rckm_left(struct rckm *rckm, double requests, uint32_t count);

/* The share of a training with request and limit among trainings of Σ request and Σ limit. */
double rckm_share(const struct rckm *rckm, double request, double limit, double requests,
                  double limits);

#endif
