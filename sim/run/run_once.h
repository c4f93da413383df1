/* One resolved run: an experiment with its policy, for every command that runs it. */
#ifndef ESGSIM_SIM_RUN_RUN_ONCE_H
#define ESGSIM_SIM_RUN_RUN_ONCE_H

#include "sched/registry.h"
#include "results/store/store.h"
#include "sim/backend/backend.h"
#include "sim/platform/simulation.h"
#include "workloads/load/inputs.h"

struct resolved_run {
    struct experiment *experiment;
    const struct policy *policy;
    double *values; /* of the policy's parameters */
};

/* Loads the experiment with the overrides, then its policy. `inputs` notes the files that are read;
 * it may be NULL. False: ERROR_INPUT names what is refused, ERROR_RUN: memory is exhausted. End
 * with resolved_run_clear in either case. */
bool resolved_run_load(struct resolved_run *run, struct inputs *inputs, const char *path,
                       const struct override *overrides, size_t count, struct error *error);
void resolved_run_clear(struct resolved_run *run);

/* simulation_run_with for the run. */
bool resolved_run_simulate(const struct resolved_run *run, const struct simulation_options *options,
                           struct simulation_result *result, struct error *error);

/* What a run is recorded with; NULL: not used. */
struct run_recording {
    struct store *store;
    size_t position;             /* of the run in the file */
    const struct recorder *also; /* receives the rows, too */
    const struct progress *progress;
    const struct replay_target *target; /* the run is a replay */
    sim_time_t swerve;                  /* simulation_options.swerve */
    uint64_t swerve_seed;
    bool bounds;
};

/* Simulates or replays the run into the store. On failure the caller drops
 * the run. `result` is to be cleared in either case. */
bool resolved_run_record(const struct resolved_run *run, const struct run_recording *recording,
                         struct simulation_result *result, struct error *error);

#endif
