/* Dilu: the state of the policy, shared by its files; tests read it.
 *   dilu_setup.c  parameters, set-up, clean-up
 *   dilu.c        the policy: callbacks, instances, lazy scaling, serving
 */
#ifndef ESGSIM_SCHED_DILU_DILU_INTERNAL_H
#define ESGSIM_SCHED_DILU_DILU_INTERNAL_H

#include "sched/dilu/hosts.h"
#include "sched/dilu/dilu_scaler.h"

enum dilu_switch { DILU_ON, DILU_OFF };

struct dilu_parameters {
    double bound, te_drop, limit;
    uint32_t vcpus;
    enum planner_split split;
    double omega, gamma, alpha;
    enum { COUNTED_NOMINAL, COUNTED_GRID } counted;
    uint32_t window, out, in, first;
    enum dilu_switch vertical;
    enum { DILU_ROUTING_IDLE, DILU_ROUTING_ARRIVAL } routing;
    enum dilu_switch backlog;
    double sample_s;
    sim_time_t active_ms;
    enum dilu_scheme scheme;
    double training_vcpus, training_speed;
};

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
    const struct dilu_parameters *parameters;
    struct dilu_lazy_rule lazy;
    struct planner *planner;
    struct dilu_hosts hosts;
    struct dilu_trainings trainings;
    struct dilu_deployment *deployments;
    size_t sampling; /* deployments left to sample in this second */
    bool moved;
    uint64_t outages; /* that it knows of */
};

extern const struct key dilu_parameters[];

/* The policy's init: fills a state that is all zeros. False with ERROR_INPUT for values that do not
 * fit together, or ERROR_RUN. O(applications × stages × configurations). */
bool dilu_init(void *state, struct platform *platform, const void *parameters, struct error *error);

#endif
