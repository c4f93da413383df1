/* Expectations: an effect, the range it should be in, and the grade of the evidence for it. Runs
 * are judged by them (results/expect/reproduction_check.h).
 *
 * A file has one of two forms. Published figures, which `report --paper` judges in given runs:
 *
 *   {"title": …, "source": …, "figures": [
 *      {"metric": "cost_saving", "low": 47, "high": 187, "unit": "%", "evidence": "published",
 *       "against": ["infless"], "settings": ["strict-light"], "application": …, "policy": "esg",
 *       "formula": …, "note": …}, …]}
 *
 * Claims, what published systems are known for. `esgsim claims` runs a small sweep for each:
 *
 *   {"title": …, "claims": [
 *      {"system": "Orion", "group": "size", "claim": …, "published": …, "evidence": "published",
 *       "source": …, "sweep": "workloads/experiments/known-for/orion.json", "metric":
 *       "latency_ms_p95", "formula": "gain", "of": {"policy": "orion", "setting": "cold"},
 *       "against": {"policy": "orion prewarm=off", "setting": "cold"}, "mechanism": "prewarming",
 *       "differs": "policy.params.prewarm", "low": -90, "high": -90, "note": …}, …]}
 *
 * Both:
 * - `metric` is a metric of sim/base/metrics.def (jct_s_mean); or
 *   late_rate, the share of requests that were served after their SLO; miss_rate, with those that
 *   were dropped; or gpu_use_s, the time for which GPUs run something / the number of GPUs.
 * - A policy is a name, which may be followed by parameters: "synergy order=fifo allocation=tune".
 *   A claim names all parameters that the sweep sets.
 * - `low`, `high` or both: a lower or an upper bound, or a range.
 * - `evidence` is one of published (the paper or its abstract), readme (the authors' repository),
 *   secondary (a third party), recalled (from memory), assumed.
 * - `deterministic`: true says that the runs draw no random numbers, as trainings of a trace, so
 *   that one seed is judged without an interval.
 *
 * A published figure:
 * - `metric` may also be a comparison of ESG with another policy: slo_hit_rate_gain (%, relative),
 *   slo_hit_rate_gain_points, cost_saving (%), cost_saving_per_arrival, cost_saving_held.
 * - `comparison` compares `policy` with each policy in `against`: ratio (policy / other), gain
 *   (policy / other - 1, in %), difference (policy - other).
 * - Defaults: all `settings`, all applications together, `policy` esg.
 *
 * A claim:
 * - `group` is one of self-check (a closed form or the definition of a policy gives the value),
 *   real (a run of a real system gives it), size (the published effect, within CLAIM_FACTOR), sign
 *   (its direction alone).
 * - A real one has "measured", a set of results/reality/runs.json. The last name of its setting is
 *   a setting there. `low` and `high` are the limits of our error: of slo_hit_rate in points, of
 *   latency_ms_mean in % of the mean of the measured latencies.
 * - `formula` is one of value (`of` alone), difference (of - against), ratio (of / against), gain
 *   (of / against - 1, in %), each computed seed by seed: the form in which the effect was
 *   published. Default: value without `against`, else ratio.
 * - `mechanism` names the one thing in which `of` and `against` differ, and `differs` the keys of
 *   the experiment, with blanks between them.
 * - `setting` is the setting's name, or the keys that the sweep sets: "arrivals.rate_per_s=1500
 *   platform.noise.cv=0". It may be absent if the sweep has only one.
 * - `low` and `high` are the published effect, of self-check what must come out. A sign may have
 *   the value of no effect (ratio 1, else 0), where none is published in this unit. Metrics whose
 *   unit is a share, and which reports show in per cent, are in per cent, differences in points.
 * - `note` says why a claim is not shown. It is printed then.
 */
#ifndef ESGSIM_RESULTS_EXPECT_EXPECTATION_H
#define ESGSIM_RESULTS_EXPECT_EXPECTATION_H

#include <stdbool.h>
#include <stddef.h>

#include <cjson/cJSON.h>

#include "sim/base/arena.h"
#include "sim/base/error.h"
#include "results/report/paired.h"

struct metric;

enum claim_group { CLAIM_SELF_CHECK, CLAIM_REAL, CLAIM_SIZE, CLAIM_SIGN, CLAIM_GROUP_COUNT };
extern const char *const claim_groups[]; /* their names, as those of formulas; NULL ends them */
extern const char *const expectation_formulas[];
#define CLAIM_FACTOR 1.5 /* how far from the published effect ours may be */

/* Texts are of the file's document. */
struct expectation {
    const char *metric;            /* as the file names it */
    const struct paired_gain *esg; /* of ESG; NULL: `metric` is a metric */
    const struct metric *measured; /* the metric of the runs */
    enum paired_formula comparison;
    double scale;            /* of the result of the formula: 100 in per cent and points, else 1 */
    const char *unit;        /* "%", "points", "x", or the metric's; may be "" */
    double low, high;        /* NAN if not given */
    const char *policy;      /* the first of the formula */
    const char *title;       /* the metric, and of a variant of ESG the variant */
    const char *application; /* NULL: all together */
    const char *evidence;    /* its grade, one of the words above */
    const char *note;        /* may be NULL */
    int grade;               /* index of `evidence` */
    bool deterministic;
    /* Of published figures alone. */
    const char **against; /* policies to compare with */
    size_t compare_count;
    const char **settings; /* none: all */
    size_t setting_count;
    const char *formula; /* in words; may be NULL */
    /* Of claims alone. */
    enum claim_group group;
    const char *other;                     /* the second of the formula; NULL: none */
    const char *setting, *against_setting; /* of the two; NULL: the sweep's only one */
    const char *mechanism;                 /* what differs between the two; NULL: one alone */
    const char *differs;                   /* the keys of it */
    const char *real_set;                  /* of runs that were measured; NULL: none */
    double real;                           /* what was measured, in `unit` */
    const char *system, *text;
    const char *published; /* the published figure in words */
    const char *source;
    const char *sweep;    /* path of the sweep file, relative to the working or the data folder */
    const char *expected; /* where they come from; may be NULL */
    const char *file;     /* the file and place of the claim, for messages: "FILE: claims[3]" */
};

struct expectations {
    struct arena *arena;
    const char *title;
    const char *source;       /* NULL: claims have each their own */
    struct expectation *list; /* in the order of the file */
    size_t count;
};

enum expectation_form { EXPECTATION_FIGURES, EXPECTATION_CLAIMS };

/* The path is searched in the data folder, too. Returns NULL with ERROR_INPUT, which names the
 * file, the JSON path and the fault. Free with arena_home_free (NULL allowed). */
struct expectations *expectations_load(const char *path, enum expectation_form form,
                                       struct error *error);

/* Sets `esg`, `measured`, `comparison` and `scale` of a published figure by its metric's name and
 * its comparison. False: the metric is unknown. */
bool expectation_resolve(struct expectation *expectation);

/* Returns whether it compares two policies; false: it is a metric of one policy. */
bool expectation_is_comparison(const struct expectation *expectation);
/* Returns whether the file gives the comparison; false: there is none, or it is one of ESG. */
bool expectation_is_free(const struct expectation *expectation);
/* Whether the figure improves with the requests that are dropped: of served requests, or a cost by
 * all. */
bool expectation_depends_on_drops(const struct expectation *expectation);

#endif
