/* An experiment: everything one run depends on, resolved, checked, hashed.
 *
 * JSON in (every key: sim/README.md), one immutable `struct experiment` out. Any file
 * reference may be the object itself; a path is relative to the file that names it, then to the
 * working folder, then to the installed data folder. The identity of a run is the SHA-256 of its
 * complete resolved configuration, in which references to profiles and traces are replaced by the
 * SHA-256 of their bytes: it does not depend on where files lie.
 */
#ifndef ESGSIM_WORKLOADS_EXPERIMENT_H
#define ESGSIM_WORKLOADS_EXPERIMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/parameters.h"
#include "sim/error.h"
#include "workloads/arrivals.h"
#include "workloads/workload.h"

struct inputs;     /* workloads/inputs.h */
struct profile;    /* traces/profile.h */
struct keep_alive; /* sched/keep_alive.h */

enum initial_state { INITIAL_COLD, INITIAL_WARM, INITIAL_COUNTS };
enum reuse_order { REUSE_MRU, REUSE_LRU, REUSE_NEWEST };
enum prewarm_kind { PREWARM_NONE, PREWARM_EWMA };
enum decision_cost_kind { DECISION_ZERO, DECISION_FIXED, DECISION_MODELLED, DECISION_MEASURED };
/* Most parameters of a keep-alive policy. */
enum { KEEPER_VALUES = 16 };
/* What is written down: totals; a row a request; also batches, decisions and the timeline. */
enum record_level { RECORD_SUMMARY, RECORD_REQUESTS, RECORD_ALL };

struct platform_spec {
    enum initial_state initial;
    uint32_t *initial_counts; /* INITIAL_COUNTS: idle containers per function, over the cluster;
                                 a run with more than its memory holds is refused */
    enum reuse_order reuse;
    sim_time_t keep_alive; /* SIM_FOREVER: never evicted for age; 0: never kept. Where `keeper`
                              is NULL and the policy has no keep-alive of its own */
    const struct keep_alive *keeper;     /* named by the experiment; NULL: none */
    double keeper_values[KEEPER_VALUES]; /* of its parameters */
    enum prewarm_kind prewarm;
    double ewma_alpha;
    enum decision_cost_kind decision_cost;
    double decision_fixed_ms;
    double decision_ns_per_unit;
    double transfer_latency_ms;
    double transfer_bandwidth_gbps; /* 10^9 bits per second */
    bool interference;
    double noise_cv;            /* overrides the profile's where >= 0; -1: the profile's */
    size_t queue_capacity;      /* M/M/c/K: most jobs waiting in one queue; 0: unbounded. A job
                                   that finds it full drops its request. */
    sim_time_t sample_interval; /* of the timeline and of fragmentation; default 1 s */
};

/* What the file system says of a file: equal as long as nobody writes to it or replaces it. */
struct file_identity {
    uint64_t device, inode;
    int64_t size;
    int64_t modified_ns, changed_ns;
};

struct experiment {
    char *name;
    char *path;      /* the file it came from, for messages */
    char *directory; /* of that file */
    struct workload workload;
    struct profile *profile; /* NULL where nothing needs one */
    struct arrival_spec arrivals;
    struct platform_spec platform;
    char *policy_name; /* registered name, or a path ending in .so */
    struct setting *policy_settings;
    size_t policy_setting_count;
    uint64_t requests;        /* measured */
    uint64_t warmup_requests; /* before them, simulated but not measured */
    uint64_t seed;
    enum record_level record;
    char *resolved_json;     /* the complete configuration, canonical (sorted keys), one line */
    char hash[17];           /* first 16 hex digits of its SHA-256, NUL-terminated */
    char profile_sha256[65]; /* of the file's bytes; "" where none */
    char trace_sha256[65];
    char policy_sha256[65]; /* of a policy's module (.so); "" where the policy is registered */
    struct file_identity trace_identity, policy_identity; /* where they have a digest */
    char profile_evidence[64];                            /* the profile's grade; "" where none */
    char setting_name[64];  /* name of the sweep's row ("setting"), or "" */
    char setting_label[64]; /* display name that the sweep gives it, or "" */
};

/* A dotted key and its value as JSON text, or as a bare word taken for a string:
 * {"policy.params.k", "10"}. */
struct override {
    const char *key;
    const char *value;
};

/* Load `path`, apply `overrides` in order to the raw JSON (creating objects on the way), resolve
 * and check. An override of `policy.name` with another policy leaves the file's `policy.params`
 * behind. Returns NULL with an ERROR_INPUT that names file, JSON path, fault and remedy. The caller
 * frees the result with experiment_free. */
struct experiment *experiment_load(const char *path, const struct override *overrides,
                                   size_t override_count, struct error *error);
/* The same from JSON text; `name` stands for the file in messages, references are relative to
 * `directory`. */
struct experiment *experiment_parse(const char *text, const char *name, const char *directory,
                                    const struct override *overrides, size_t override_count,
                                    struct error *error);
void experiment_free(struct experiment *experiment);

/* Whether trace and policy module, which a run reads after they have been hashed, are still what
 * they were. False: ERROR_RUN that names the file and both digests. O(1) where the file system says
 * that nothing has changed. */
bool experiment_inputs_check(const struct experiment *experiment, struct error *error);

/* A sweep: base experiment × every combination of the matrix × seeds (seed base.seed + 0..n−1). */
struct sweep_run {
    struct override *overrides; /* to apply to the base, `seed` included; owned strings */
    size_t override_count;
    char *label;        /* "policy.name=esg setting=strict-light", without the seed */
    char *setting_name; /* the named row of the matrix, or "" */
    uint64_t seed;
};

/* Run seeds until the 95 % interval of a figure is narrow enough, combination by combination. */
struct sweep_precision {
    bool given;
    char metric[64];    /* a name of sim/metrics.def */
    double half_width;  /* > 0, in the metric's unit */
    size_t first_seeds; /* run at least; at least 2 */
};

/* A display name: of a setting, or of a policy with any of its parameters ("esg k=5"). */
struct sweep_label {
    char *name;
    char *label;
};

struct sweep {
    char *path;      /* of the sweep file */
    char *directory; /* of that file */
    char *base_path; /* of the base experiment; the sweep's own where the base stands in it */
    char *base_text; /* the base as JSON text where it stands in the sweep file, else NULL */
    struct sweep_run *runs; /* first matrix key varies slowest, the seed fastest */
    size_t run_count;
    size_t seeds;               /* of each combination; with a precision: at most */
    struct inputs *inputs;      /* read once for all runs */
    struct sweep_label *labels; /* no label twice */
    size_t label_count;
    struct sweep_precision precision;
};

/* Overrides apply to the base, before the matrix; a key that the matrix sets is refused, and
 * `seeds`, `matrix.…` and `base.…` change the sweep itself. Whether every run's experiment is valid
 * is told by sweep_experiment, not here. */
struct sweep *sweep_load(const char *path, const struct override *overrides, size_t override_count,
                         struct error *error);
void sweep_free(struct sweep *sweep);

/* The experiment of one run of a sweep: experiment_load with its overrides, setting_name filled.
 * NULL: as sweep_fault tells it. */
struct experiment *sweep_experiment(const struct sweep *sweep, size_t run, struct error *error);

/* A fault of one run's input, which names the base's file, led by the sweep's and by what its
 * matrix set in that run, where the fault may lie; any other as it is. Returns false. */
bool sweep_fault(const struct sweep *sweep, size_t run, const struct error *fault,
                 struct error *error);

/* Validates any input file of the product by its content (experiment, sweep, cluster, functions,
 * application, profile, network, arrival trace, reference figures); `kind` receives what it was
 * taken for.
 */
bool input_check(const char *path, const char **kind, struct error *error);

#endif
