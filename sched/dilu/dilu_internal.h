/* Dilu: the state of the policy, shared by its files; tests read it.
 *   setup.c  parameters, set-up, clean-up
 *   dilu.c   the policy: callbacks, instances, lazy scaling, serving
 */
#ifndef ESGSIM_SCHED_DILU_DILU_INTERNAL_H
#define ESGSIM_SCHED_DILU_DILU_INTERNAL_H

#include "sched/dilu/hosts.h"
#include "sched/dilu/scaler.h"

enum dilu_parameter {
    DILU_BOUND,
    DILU_DROP,
    DILU_LIMIT,
    DILU_VCPUS,
    DILU_SPLIT,
    DILU_OMEGA,
    DILU_GAMMA,
    DILU_ALPHA,
    DILU_COUNTED,
    DILU_WINDOW,
    DILU_OUT,
    DILU_IN,
    DILU_FIRST,
    DILU_VERTICAL,
    DILU_ROUTING,
    DILU_BACKLOG,
    DILU_SAMPLE,
    DILU_ACTIVE,
    DILU_SCHEME,
    DILU_TRAINING_VCPUS,
    DILU_TRAINING_SPEED,
    DILU_PARAMETER_COUNT
};

enum { DILU_ON, DILU_OFF };
enum { DILU_ROUTING_IDLE, DILU_ROUTING_ARRIVAL };

/* A function, its queues and its instances. */
struct dilu_deployment {
    struct fleet_deployment base;
    /* One for each kind of GPU on which the function runs, the best first, and as many of the
     * smallest size; owned. */
    struct dilu_profile *profiles, *smallest;
    uint32_t profile_count;
    uint32_t turn; /* index of the next instance to get work */
    struct dilu_window window;
    bool started; /* has had a request */
};

struct dilu {
    struct fleet fleet;
    const struct workload *workload;
    double values[DILU_PARAMETER_COUNT];
    struct dilu_lazy_rule lazy;
    struct planner *planner;
    struct dilu_hosts hosts;
    struct dilu_trainings trainings;
    struct dilu_deployment *deployments;
    size_t sampling; /* deployments left to sample in this second */
    bool moved;
};

/* By enum dilu_parameter. */
extern const struct parameter dilu_parameters[DILU_PARAMETER_COUNT];

/* The policy's init: fills a state that is all zeros. False with ERROR_INPUT for values that do not
 * fit together, or ERROR_RUN. O(applications × stages × configurations). */
bool dilu_init(void *state, struct platform *platform, const double *values, struct error *error);

#endif
