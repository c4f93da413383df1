/* One experiment under several policies, on the same arrivals and noise: into one results file and
 * one timeline, supervised from another process. */
#ifndef ESGSIM_SIM_RUN_RUN_POLICIES_H
#define ESGSIM_SIM_RUN_RUN_POLICIES_H

#include <stdio.h>

#include <cjson/cJSON.h>

#include "sim/backend/emulated.h"
#include "sim/run/run_once.h"

struct policy_run {
    struct resolved_run run;
    const char *variant; /* the policy with its parameters as asked for; NULL: without any */
    struct simulation_result result;
};

struct policies_request {
    const char *path; /* of the experiment */
    const struct override *overrides;
    size_t override_count;
    const char *const *policies; /* names or files; parameters may follow */
    size_t policy_count;         /* 0: the experiment's policy */
    const char *out, *timeline;  /* files to write; NULL: none */
    const char *record_actions;  /* of the one policy; NULL: not recorded */
    const char *replay_actions;  /* a file of them, in place of the policy; NULL: none */
    double swerve_s;             /* simulation_options.swerve, towards another seed; 0: not */
    const struct emulated_options *rehearsal; /* the run is replayed on it; NULL: simulated */
    bool bounds;     /* of every run; else of the first of several, and of those with other ones */
    bool show;       /* progress on standard error */
    bool in_process; /* without another process */
    double decision_timeout;
    /* Prints the finished runs. In another process it closes standard output. */
    bool (*print)(void *context, const struct policy_run *runs, size_t count, struct error *error);
    void *context;
};

/* Runs the experiment and prints, in another process unless the request says otherwise. Standard
 * output is diverted until then. False: ERROR_INPUT for what is refused, before the first run;
 * ERROR_RUN if a run fails. Then no file is left. */
bool policies_run(struct policies_request *request, struct error *error);

/* Returns the object with the keys listed in README, "esgsim run --json". The caller deletes it.
 * NULL: memory exhausted. */
cJSON *policy_run_json(const struct policy_run *shown);

/* Prints everything about one run: each application, the bounds, every metric with its meaning. */
void policy_run_text(FILE *stream, const struct policy_run *shown);

/* Prints one row per run of one experiment under `count` >= 1 policies. The last row has the
 * bounds, if a run has them and no two runs differ in them. */
void policy_runs_table(FILE *stream, const struct policy_run *runs, size_t count);

/* Says on standard error if cold starts decide a result, and which keys change that. Then prints
 * the warnings of the runs there, each once, with the policies that have it unless all have. */
void policy_runs_warn(const struct policy_run *runs, size_t count);

#endif
