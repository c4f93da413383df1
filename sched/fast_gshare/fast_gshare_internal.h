/* FaST-GShare: the state of the policy, shared by its files; tests read it.
 *   fast_gshare_setup.c  parameters, set-up, clean-up
 *   fast_gshare.c        the policy: callbacks, the scaling step, serving
 */
#ifndef ESGSIM_SCHED_FAST_GSHARE_FAST_GSHARE_INTERNAL_H
#define ESGSIM_SCHED_FAST_GSHARE_FAST_GSHARE_INTERNAL_H

#include "sched/fast_gshare/pods.h"

enum fast_gshare_switch { FAST_GSHARE_ON, FAST_GSHARE_OFF };

struct fast_gshare_parameters {
    double period_s, window_s, hysteresis;
    enum fast_gshare_switch quotas;
    enum scaler_ties ties;
    enum fast_gshare_switch elastic;
    uint32_t limit;
    enum rectangle_rule fit;
    enum { POOL_FUNCTION, POOL_APPLICATION } pool;
    enum planner_split split;
    double bound;
    uint32_t max_batch, min_pods;
    enum fast_gshare_switch backlog;
    enum { FAST_GSHARE_FILL_LAUNCH, FAST_GSHARE_FILL_WAIT } fill;
    enum { FAST_GSHARE_RESIDUAL_COVER, FAST_GSHARE_RESIDUAL_BEST } residual;
    double headroom;
};

struct fast_gshare {
    struct fleet fleet;
    const struct workload *workload;
    const struct fast_gshare_parameters *parameters;
    struct planner *planner;
    struct pods pods;
    struct deployment *deployments;
    size_t scaling; /* remaining parts of the current scaling step: all scale-downs, then all
                     * scale-ups */
    bool moved;
};

extern const struct key fast_gshare_parameters[];

/* The policy's init: fills a state that is all zeros. False with ERROR_RUN. O(applications × stages
 * × configurations). */
bool fast_gshare_init(void *state, struct platform *platform, const void *parameters,
                      struct error *error);

#endif
