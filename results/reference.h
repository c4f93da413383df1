/* Published figures to hold beside our own, each with how sure we are of it.
 *
 *   {"title": …, "source": …, "figures": [
 *      {"metric": "cost_saving", "low": 47, "high": 187, "unit": "%", "evidence": "published",
 *       "against": ["infless"], "settings": ["strict-light"], "application": …, "policy": "esg",
 *       "formula": …, "note": …}, …]}
 *
 * `metric` is a figure of sim/metrics.def or a comparison of ESG with another policy:
 * slo_hit_rate_gain (%, relative), slo_hit_rate_gain_points, cost_saving (%). A figure has `low`,
 * `high` or both (a bound, or a range). Left out: `settings`, any; `application`, all together;
 * `policy`, esg. `evidence` is one of published, secondary, recalled, assumed.
 */
#ifndef ESGSIM_RESULTS_REFERENCE_H
#define ESGSIM_RESULTS_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/error.h"

struct reference_figure {
    char *metric;
    char *policy;
    char *application; /* NULL: all together */
    char *unit;
    char *evidence;
    char *formula;    /* may be NULL */
    char *note;       /* may be NULL */
    double low, high; /* NAN where not given */
    char **against;   /* policies compared with */
    size_t against_count;
    char **settings; /* none: any */
    size_t setting_count;
};

struct reference {
    char *title;
    char *source;
    struct reference_figure *figures;
    size_t figure_count;
};

/* NULL: ERROR_INPUT naming file, JSON path and fault. Free with reference_free (NULL allowed). */
struct reference *reference_load(const char *path, struct error *error);
void reference_free(struct reference *reference);

/* Is it a comparison of two policies rather than a figure of one? */
bool reference_is_comparison(const struct reference_figure *figure);

#endif
