/* FaST-GShare: the state of the policy, shared by its files; tests read it.
 *   setup.c        parameters, set-up, clean-up
 *   fast_gshare.c  the policy: callbacks, the scaling step, serving
 */
#ifndef ESGSIM_SCHED_FAST_GSHARE_FAST_GSHARE_INTERNAL_H
#define ESGSIM_SCHED_FAST_GSHARE_FAST_GSHARE_INTERNAL_H

#include "sched/fast_gshare/pods.h"

enum fast_gshare_parameter {
    FAST_GSHARE_PERIOD,
    FAST_GSHARE_WINDOW,
    FAST_GSHARE_HYSTERESIS,
    FAST_GSHARE_QUOTAS,
    FAST_GSHARE_TIES,
    FAST_GSHARE_ELASTIC,
    FAST_GSHARE_LIMIT,
    FAST_GSHARE_FIT,
    FAST_GSHARE_POOL,
    FAST_GSHARE_SPLIT,
    FAST_GSHARE_BOUND,
    FAST_GSHARE_MAX_BATCH,
    FAST_GSHARE_MIN_PODS,
    FAST_GSHARE_BACKLOG,
    FAST_GSHARE_FILL,
    FAST_GSHARE_RESIDUAL,
    FAST_GSHARE_HEADROOM,
    FAST_GSHARE_PARAMETER_COUNT
};

enum { FAST_GSHARE_ON, FAST_GSHARE_OFF };
enum { FAST_GSHARE_FILL_LAUNCH, FAST_GSHARE_FILL_WAIT };
enum { FAST_GSHARE_RESIDUAL_COVER, FAST_GSHARE_RESIDUAL_BEST };

struct fast_gshare {
    struct fleet fleet;
    const struct workload *workload;
    double values[FAST_GSHARE_PARAMETER_COUNT];
    struct planner *planner;
    struct pods pods;
    struct deployment *deployments;
    size_t scaling; /* remaining parts of the current scaling step: all scale-downs, then all
                     * scale-ups */
    bool moved;
};

/* By enum fast_gshare_parameter. */
extern const struct parameter fast_gshare_parameters[FAST_GSHARE_PARAMETER_COUNT];

/* The policy's init: fills a state that is all zeros. False with ERROR_INPUT for a value that is
 * not a whole number and must be one, or ERROR_RUN. O(applications × stages × configurations). */
bool fast_gshare_init(void *state, struct platform *platform, const double *values,
                      struct error *error);

#endif
