/* Published figures for comparison with ours, each with its evidence grade.
 *
 *   {"title": …, "source": …, "figures": [
 *      {"metric": "cost_saving", "low": 47, "high": 187, "unit": "%", "evidence": "published",
 *       "against": ["infless"], "settings": ["strict-light"], "application": …, "policy": "esg",
 *       "formula": …, "note": …}, …]}
 *
 * `metric` is a metric of sim/platform/metrics.def or training_metrics.def (jct_s_mean), late_rate
 * or gpu_use_s (results/report/claim.h), or a
 * comparison of ESG with another policy: slo_hit_rate_gain (%, relative), slo_hit_rate_gain_points,
 * cost_saving (%). With `comparison`, a metric compares `policy` with each policy in `against`:
 * ratio (policy / other), gain (policy / other - 1, in %), difference (policy - other). A policy
 * may be followed by parameters that the sweep sets: "synergy order=fifo allocation=tune".
 * `deterministic`: true says that the runs draw no random numbers, as trainings of a trace, so that
 * one seed is judged without an interval. A figure gives `low`,
 * `high` or both: an upper or lower bound, or a range. Defaults: all `settings`, all applications
 * together, `policy` esg. `evidence` is one of published (the paper or
 * its abstract), readme (the authors' repository), secondary (a third party), recalled (from
 * memory), assumed.
 */
#ifndef ESGSIM_RESULTS_REPORT_REFERENCE_H
#define ESGSIM_RESULTS_REPORT_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/error.h"

/* How a metric of two contenders is compared (results/report/paired.h). */
enum paired_formula {
    PAIRED_VALUE,      /* first; there is no second contender */
    PAIRED_DIFFERENCE, /* first - second */
    PAIRED_RATIO,      /* first / second */
    PAIRED_GAIN        /* (first - second) / second */
};

/* The evidence grades, ended by NULL. */
extern const char *const reference_grades[];

struct reference_figure {
    char *metric;
    char *policy;
    char *application; /* NULL: all together */
    char *unit;
    char *evidence;
    char *formula;                  /* may be NULL */
    char *note;                     /* may be NULL */
    double low, high;               /* NAN if not given */
    enum paired_formula comparison; /* PAIRED_VALUE: none given */
    bool deterministic;
    char **against; /* policies to compare with */
    size_t compare_count;
    char **settings; /* none: all settings */
    size_t setting_count;
};

struct reference {
    char *title;
    char *source;
    struct reference_figure *figures;
    size_t figure_count;
};

/* Returns NULL with ERROR_INPUT, which names the file, the JSON path and the fault. Free with
 * reference_free (NULL allowed). */
struct reference *reference_load(const char *path, struct error *error);
void reference_free(struct reference *reference);

/* Returns whether the figure compares two policies; false: it is a metric of one policy. */
bool reference_is_comparison(const struct reference_figure *figure);

#endif
