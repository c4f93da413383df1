/* FaST-GShare: the state of the policy, shared by its files; tests read it.
 *   setup.c        parameters, set-up, clean-up
 *   fast_gshare.c  the policy: callbacks, the scaling step, serving
 */
#ifndef ESGSIM_SCHED_FAST_GSHARE_FAST_GSHARE_INTERNAL_H
#define ESGSIM_SCHED_FAST_GSHARE_FAST_GSHARE_INTERNAL_H

#include "sched/common/unique_fifo.h"
#include "sched/fast_gshare/pods.h"
#include "sched/policy.h"

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
    const struct workload *workload;
    const struct fast_gshare_parameters *parameters;
    struct planner *planner;
    struct pods pods;
    struct deployment *deployments;
    size_t deployment_count;
    struct backlog_slot *slots; /* by queue; the owner is a deployment */
    sim_time_t *budget;         /* stage budget, by queue */
    struct unique_fifo turns;   /* deployments that decide has to serve */
    size_t look_count;          /* scaling steps per window */
    size_t looked;              /* scaling steps so far */
    size_t scaling;             /* remaining parts of the current scaling step: all scale-downs,
                                 * then all scale-ups */
    bool ticking, moved;
};

extern const struct key fast_gshare_parameters[];

/* The policy's init: fills a state that is all zeros. False with ERROR_RUN. O(applications × stages
 * × configurations). */
bool fast_gshare_init(void *state, struct platform *platform, const void *parameters,
                      struct error *error);

#endif
