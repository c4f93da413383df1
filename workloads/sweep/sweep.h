/* A sweep: base experiment × every combination of the matrix × seeds (base.seed + 0..n−1). And the
 * check of any input file, whose kind is recognised from its content. */
#ifndef ESGSIM_WORKLOADS_SWEEP_SWEEP_H
#define ESGSIM_WORKLOADS_SWEEP_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "workloads/spec/experiment.h"

struct sweep_run {
    struct override *overrides; /* applied to the base, `seed` included */
    size_t override_count;
    char *label;        /* "policy.name=esg setting=strict-light", without the seed */
    char *setting_name; /* name of the matrix row, or "" */
    uint64_t seed;
    bool first_policy; /* of its setting and seed: policies only at their first matrix entries */
};

/* Run more seeds of each combination until the 95 % interval of a metric is narrow enough. */
struct sweep_precision {
    bool given;
    char metric[64];    /* a name of sim/base/metrics.def */
    double half_width;  /* > 0, in the metric's unit */
    size_t first_seeds; /* number of seeds to begin with; at least 2 */
    size_t max_seeds;
};

/* Returns whether a metric that is a share, such as slo_hit_rate, can have the value `limit`. If
 * not, `fault` says what would be right, e.g. "slo_hit_rate is a share of 0..1; 0.95 for 95 %". */
enum { SHARE_FAULT = 128 };
bool share_allows(const char *name, double limit, char fault[SHARE_FAULT]);

/* The display name of a setting, or of a policy with some of its parameters ("esg k=5"). */
struct sweep_label {
    const char *name;
    const char *label;
};

struct sweep {
    struct arena *arena;   /* of all that it has */
    const char *path;      /* of the sweep file */
    const char *directory; /* of that file */
    const char *base_path; /* of the base experiment; the sweep's own path if the base is inside the
                            * sweep file */
    const char *base_text; /* the base as JSON text if it is inside the sweep file, else NULL */
    struct sweep_run *runs; /* first matrix key varies slowest, the seed fastest */
    size_t run_count;
    size_t seeds;               /* per combination; with a precision: the upper limit */
    struct inputs *inputs;      /* cache, so that all runs use the same input files */
    struct sweep_label *labels; /* no label occurs twice */
    size_t label_count;
    char *kept;              /* `a ("requests")`: rows that an override leaves out, for a note */
    const char *show;        /* "esg,fifo": policies that figures show in colour; NULL: the first */
    struct sweep_keys *keys; /* what the matrix sets (workloads/sweep/sweep_keys.h) */
    struct sweep_precision precision;
    bool bounds; /* once per setting and seed, in the run of the first policy */
    bool cut;    /* an override changes the matrix: labels may be of what it took away */
};

/* Loads a sweep file. Overrides are applied to the base, before the matrix. A key that the matrix
 * sets is refused; rows of a list that set it, while others do not, are in `kept`. The keys
 * `seeds`, `bounds`, `matrix.…` and `base.…` change the sweep itself. The runs' experiments are not
 * checked here, but by sweep_experiment. */
struct sweep *sweep_load(const char *path, const struct override *overrides, size_t override_count,
                         struct error *error);
void sweep_free(struct sweep *sweep);

/* The experiment of one run of a sweep: experiment_load with the run's overrides, setting_name
 * filled. NULL with the error of sweep_fault. */
struct experiment *sweep_experiment(const struct sweep *sweep, size_t run, struct error *error);

/* Extends an error in one run's input. If it names the base's file, the message is prefixed with
 * the sweep's file and the values of the run's matrix entries, where the fault may be. Other errors
 * are copied unchanged. Returns false. */
bool sweep_fault(const struct sweep *sweep, size_t run, const struct error *fault,
                 struct error *error);

/* Validates any input file of the product and fills `input`. The kind is recognised from the
 * content: experiment, sweep, cluster, functions, application, profile, arrival trace, samples for
 * calibrate, reference figures or claims. `runs` are those of a valid sweep, the least number if it
 * has a precision; 0 for other kinds. One seed is run where nothing is random. */
struct input_found {
    const char *kind;
    size_t runs;
    bool least;
};
bool input_check(const char *path, struct input_found *input, struct error *error);

struct trace_view;
/* Validates an arrival trace, or the part of a view that may be NULL, by reading all of it.
 * `format`: a name of traces/readers/arrival_trace.h, or NULL to recognise it by the header. */
bool input_check_trace(const char *path, const char *format, const struct trace_view *view,
                       struct error *error);

struct cJSON;
/* Returns the kind of a JSON file's content; NULL: it has no key of any kind. */
const char *input_kind(const struct cJSON *root);

#endif
