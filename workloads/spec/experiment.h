/* An experiment: the complete, checked configuration of one run, with its hash.
 *
 * JSON is the input (every key: sim/KEYS.md), one immutable `struct experiment` is the result. A
 * reference to a file may be replaced by the object itself. A path is relative to the file that
 * contains it, then to the working folder, then to the installed data folder. A run is identified
 * by the SHA-256 of its complete resolved configuration. References to profiles and traces are
 * replaced by the SHA-256 of their bytes, so the hash does not depend on where files are stored.
 */
#ifndef ESGSIM_WORKLOADS_SPEC_EXPERIMENT_H
#define ESGSIM_WORKLOADS_SPEC_EXPERIMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "sim/base/error.h"
#include "sim/base/parameters.h"
#include "workloads/arrivals/arrivals.h"
#include "workloads/world/workload.h"

struct inputs;  /* workloads/load/inputs.h */
struct profile; /* traces/profile/profile.h */
struct training_plan;
struct keep_alive; /* workloads/spec/keep_alive.h */

enum initial_state { INITIAL_COLD, INITIAL_WARM, INITIAL_COUNTS };
enum reuse_order { REUSE_MRU, REUSE_LRU, REUSE_NEWEST };
enum prewarm_kind { PREWARM_NONE, PREWARM_EWMA };
/* When a batch may start a container, if no idle one fits it. START: always, and for itself. WAIT:
 * if no container of its function will come free. LATE: whenever fewer start than batches wait; the
 * batch takes the container that is ready first. */
enum cold_dispatch { COLD_DISPATCH_START, COLD_DISPATCH_WAIT, COLD_DISPATCH_LATE };
enum decision_cost_kind { DECISION_ZERO, DECISION_FIXED, DECISION_MODELLED, DECISION_MEASURED };
/* Requests that the platform drops. LOST: those that even their fastest way cannot save. RATE:
 * these, and on arrival what exceeds a limit on the load (sim/platform/load_limit.h). DEFAULT: the
 * experiment does not say, and each policy has its own (sched/registry.h). */
enum admission_rule { ADMISSION_NONE, ADMISSION_LOST, ADMISSION_RATE, ADMISSION_DEFAULT };
struct admission_spec {
    enum admission_rule rule;
    enum { ADMISSION_EFFICIENT, ADMISSION_PROPORTIONAL, ADMISSION_MAX_MIN } rate;
    double start, least, most; /* of the limit */
    double step, misses;       /* what a miss takes from it; the fraction that may miss */
    double waiting; /* the part of the cluster that jobs may wait for beyond what is free */
};
/* Sets the rule by its name alone: "lost", or a rate. False: no such name. */
bool admission_named(const char *name, struct admission_spec *admission);
/* When invokers fail: at random, each by itself, or by a list. */
struct failure_spec {
    double mtbf_s,
        mttr_s; /* means of the time until an invoker fails, and of its outage; 0: none */
    struct outage {
        uint32_t invoker;
        sim_time_t from, until;
    } * outages; /* by `from`; an invoker's do not touch */
    size_t outage_count;
};
/* What memory holds if all functions have equally many. */
#define POOL_TARGET_AUTO UINT32_MAX
/* Most parameters of a keep-alive policy. */
enum { KEEP_ALIVE_VALUES = 16 };
/* SUMMARY records totals. REQUESTS adds one row per request. ALL adds batches, decisions and the
 * timeline. CHOICES stands beside them: totals, and what the policy chose from at each decision.
 * ACTIONS likewise: what it did. */
enum record_level { RECORD_SUMMARY, RECORD_REQUESTS, RECORD_ALL, RECORD_CHOICES, RECORD_ACTIONS };
/* Whether a run of this level has a table that `table` begins to have. */
static inline bool record_has(enum record_level level, enum record_level table)
{
    return level >= RECORD_CHOICES || table >= RECORD_CHOICES ? level == table : level >= table;
}
/* Their names, NULL-terminated. */
extern const char *const experiment_record_names[];

struct platform_spec {
    enum initial_state initial;
    const int *
        *initial_invokers;    /* by function: on these invokers, one each; NULL: by home order */
    uint32_t *initial_counts; /* INITIAL_COUNTS: idle containers per function in the whole
                               * cluster; a run is refused if its memory cannot hold them */
    enum reuse_order reuse;
    sim_time_t keep_alive; /* SIM_FOREVER: never evicted for age; 0: never kept. Used if `keep-alive
                            * policy` is NULL and the policy has no keep_alive function */
    const struct keep_alive
        *keep_alive_policy; /* keep-alive policy named by the experiment; NULL: none */
    double keep_alive_values[KEEP_ALIVE_VALUES]; /* values of its parameters */
    enum cold_dispatch cold_dispatch;
    struct admission_spec admission;
    struct failure_spec failures;
    uint32_t pool_target; /* warm containers kept per function and invoker; 0: no pool */
    sim_time_t pool_period;
    enum prewarm_kind prewarm;
    sim_time_t host; /* of a batch, between the end of its work and its answer */
    double ewma_alpha;
    enum decision_cost_kind decision_cost;
    double decision_fixed_ms;
    double decision_ns_per_unit;
    double transfer_latency_ms;
    double transfer_bandwidth_gbps; /* 10^9 bits per second */
    double ingress_ms; /* from the arrival of a request until its first jobs are ready */
    bool interference;
    bool turnaround;            /* batches hold their share after their end */
    double noise_cv;            /* overrides the profile's value if >= 0; -1: use the profile's */
    size_t queue_capacity;      /* M/M/c/K: most jobs waiting in one queue; 0: unbounded. If the
                                 * queue is full, the job's request is dropped. */
    sim_time_t sample_interval; /* for the timeline and fragmentation; default 1 s */
};

/* A latency profile and the GPUs that it is for. */
struct experiment_profile {
    const char *model; /* of the GPUs; "": all of the cluster's */
    const struct profile *profile;
    char sha256[65]; /* of the file's bytes */
};

struct experiment_profiles {
    struct experiment_profile *entries; /* in the order of the file */
    size_t count;
};

/* How the times that policies plan with differ from those that executions take: "planning". A
 * planning time is that of the planning profile × a lognormal factor of mean 1 × (1 + bias) × (1 +
 * guard × expected error), at least 1 ns. Planning costs follow from planning times. */
struct planning {
    struct experiment_profiles profiles; /* GPUs without one are planned with the world's */
    double error_cv;                     /* of the factor; 0: none */
    double error_bias;                   /* above -1; 0: none */
    int error_per;      /* a factor for each: 0 (function, GPU, configuration), 1 (function, GPU) */
    int64_t error_seed; /* of the factors; -1: the run's seed */
    double guard;       /* 0: none */
    size_t configurations, unguarded; /* planned with, and of these without an expected error, to
                                       * which a guard adds nothing */
    struct workload *workload; /* the experiment's, with planning times and costs; NULL: all of the
                                * above is at its default, and policies see the experiment's */
};

static inline bool platform_fails(const struct platform_spec *platform)
{
    return platform->failures.mtbf_s > 0 || platform->failures.outage_count > 0;
}

/* Names of error_per, NULL-terminated. */
extern const char *const planning_per_names[];

struct experiment {
    struct arena *arena; /* of all that it has */
    char *name;
    const char *path;         /* the experiment file, for messages */
    const char *directory;    /* of the experiment file */
    struct workload workload; /* of the world: what executions take and cost */
    struct planning planning;
    struct experiment_profiles profiles; /* none if the experiment needs none */
    struct arrival_spec arrivals;        /* not set without applications */
    struct training_plan *training; /* NULL: no trainings (workloads/training/training_plan.h) */
    struct platform_spec platform;
    char *policy_name;   /* registered name, or a path (workloads/load/policy_module.h) */
    char *policy_file;   /* that the policy reads; NULL: none */
    char *policy_shadow; /* a policy that is asked and not obeyed, for its choices; NULL: none */
    struct setting *policy_settings;
    size_t policy_setting_count;
    uint64_t requests;        /* measured */
    uint64_t warmup_requests; /* simulated before these, but not measured */
    double measured_s;        /* > 0: `requests` are those of so many seconds in the mean */
    double warmup_s;          /* the same for `warmup_requests` */
    uint64_t seed;
    enum record_level record;
    char *resolved_json;  /* the complete configuration, canonical (sorted keys), one line */
    char hash[17];        /* first 16 hex digits of the SHA-256 of resolved_json,
                           * NUL-terminated */
    char *profile_sha256; /* of the profile; "" if there is none. Of several: "MODEL DIGEST,
                           * MODEL DIGEST" */
    char trace_sha256[65];
    char policy_sha256[65]; /* of a policy's module or file; "" if it has neither */
    struct stat trace_identity, policy_identity; /* valid if the file has a digest above */
    char *profile_evidence; /* the profile's evidence grade, "A and B" of unlike profiles; "" if
                             * there is no profile */
    char setting_name[64];  /* name of the sweep's matrix row ("setting"), or "" */
    char setting_label[64]; /* display name that the sweep gives the setting, or "" */
};

/* A dotted key and its value. The value is JSON text, or a bare word that is taken as a string:
 * {"policy.params.k", "10"}. */
struct override {
    const char *key;
    const char *value;
};

/* Loads `path`, applies `overrides` in order to the raw JSON, resolves and checks the result.
 * Overrides create missing objects. An override that changes `policy.name` discards the file's
 * `policy.params`. NULL with an ERROR_INPUT that names file, JSON path, fault and remedy. Free the
 * result with experiment_free. */
struct experiment *experiment_load(const char *path, const struct override *overrides,
                                   size_t override_count, struct error *error);
/* The same with a cache of input files (workloads/load/inputs.h), which may be NULL. */
struct experiment *experiment_load_with(struct inputs *inputs, const char *path,
                                        const struct override *overrides, size_t override_count,
                                        struct error *error);

/* The same from JSON text. `name` replaces the file's name in messages; references are relative to
 * `directory`. */
struct experiment *experiment_parse(const char *text, const char *name, const char *directory,
                                    const struct override *overrides, size_t override_count,
                                    struct error *error);
void experiment_free(struct experiment *experiment);

/* Returns the workload that policies see: the experiment's, with other times and costs of its
 * configurations if "planning" says so. All else is equal, indices included. */
const struct workload *experiment_planned(const struct experiment *experiment);

/* Checks that trace and policy module, which a run reads after they were hashed, are unchanged.
 * False with an ERROR_RUN that names the file and both digests. O(1) if the file's identity is
 * unchanged. */
bool experiment_inputs_check(const struct experiment *experiment, struct error *error);

/* Whether nothing but the configuration and the seed can decide a result: no time is measured, and
 * the policies are built in. A module can read clocks that nobody can refuse. */
bool experiment_is_repeatable(const struct experiment *experiment);

/* Returns whether runs of the experiment that differ in the seed alone can differ. False: nothing
 * is drawn, neither arrivals, applications, models of trainings, services nor cold starts, and the
 * policy is a built-in one that draws nothing. It is true where this is not known before the run:
 * of a policy's module, or of a trace with several applications. Opens the trace, if there is one.
 */
bool experiment_is_random(const struct experiment *experiment);
/* Whether two executions of one batch of the function may take different times on an idle GPU: it
 * has noise on one of the `kinds` of GPUs, or a distribution. */
bool function_time_varies(const struct function *function, size_t kinds);

#endif
