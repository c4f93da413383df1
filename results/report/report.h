/* Reports on a results file.
 *
 * A *scenario* is the set of runs that have everything in common except the policy and the seed. In
 * a scenario, the runs of one policy with the same parameters form a *contender*. A contender's
 * figure is the mean over its seeds with a 95 % interval (statistics.h). Contenders of a scenario
 * are compared, seed by seed, with its reference. That is the first contender with policy "esg", or
 * the first of all if there is none.
 */
#ifndef ESGSIM_RESULTS_REPORT_REPORT_H
#define ESGSIM_RESULTS_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "sim/engine/statistics.h"
#include "results/store/store.h"
#include "sim/base/arena.h"

#define REPORT_REFERENCE_POLICY "esg"
#define REPORT_NONE SIZE_MAX
/* Every report says it. */
#define REPORT_REALITY "held against real systems: results/REALITY.md (esgsim verify reality)"

struct report_contender {
    const char *policy;
    const char *label;       /* display name given by the sweep, or "" */
    const char *variant;     /* parameters set by the sweep: "k=10 group_size=2", or "" */
    const char *distinction; /* those of them that are not the same in all runs */
    const char *title; /* the policy; with its distinction if the scenario has several contenders of
                    that policy */
    size_t *runs; /* indices into results.runs, by ascending seed; if the scenario lacks runs, of
                     the seeds that all its contenders have */
    size_t run_count;
    size_t missing; /* runs that the sweep should have and the file has not */
    bool copies; /* every seed gives the same run: the runs are equal in every metric, or there is
                    one that says that nothing random is drawn */
    size_t pale; /* in figures, the row of the others (plots/selection.h); 0: has its own */
};

struct report_scenario {
    size_t number;        /* its index in the report of the whole file, as notices count */
    const char *name;     /* the experiment's */
    const char *setting;  /* the sweep's, or "" */
    const char *label;    /* display name given to the setting by the sweep, or "" */
    const char *evidence; /* evidence grade of the latency profile: "measured", "reconstructed: …";
                             "": none */
    const char *conditions; /* other keys set by the sweep: "slo.factor=0.8", or "" */
    const char *title; /* the setting, after the experiment's name if several experiments have that
                    setting, with the conditions that are not the same in all runs */
    const char *assumptions; /* its world in words: "esg-16-mig, esg-reconstructed, initial=16":
                                files without folder and ending, keys by their last part; if the
                                sweep sets nothing, the experiment's name */
    struct report_contender *contenders; /* in order of appearance */
    size_t contender_count;
    const char **applications; /* in order of appearance */
    size_t application_count;
    size_t reference; /* contender that the others are compared with; REPORT_NONE: no contender */
};

struct curves;       /* results/report/curve.h */
struct expectations; /* results/expect/expectation.h */
struct judgement;    /* results/expect/reproduction_check.h */

struct report {
    struct arena *arena; /* has all that the report owns; exhausted memory ends the process */
    const struct results *results;
    const char
        *incomplete; /* "INCOMPLETE: 8 of 24 runs are missing (…)"; NULL: no run is missing */
    struct report_scenario *scenarios; /* in order of appearance */
    size_t scenario_count;
    const char *constants; /* keys that the sweep set to the same value in all runs: "requests=1500
                        k=5", or "" */
    struct counted_notice *notices; /* distinct, in order of appearance */
    size_t notice_count;
    struct curves *curves; /* metrics over a swept key; NULL: none */
    bool curves_in_full;   /* text: print every curve, too, not only where each ends */
    const struct expectations *expected; /* published figures, which must outlive the report; NULL:
                                            none */
    struct judgement *judgements;        /* of each of them (reproduction_check.h) */
    size_t judgement_count;
    bool details; /* text: print the tables of all scenarios even if curves or an overview summarise
                     them, and all pairs of the published figures */
    bool compares; /* text: print at least the comparisons of all scenarios */
};

/* Collects the notices of all runs; the scenarios must be set. */
void report_notices_find(struct report *report);
/* Adds a notice on `runs` runs of a scenario, or these runs to the notice that equals it:
 * report_note(report, scenario, runs, NOTICE_OF(SEEDS_FEW)). */
void report_note(struct report *report, size_t scenario, size_t runs, enum notice_kind kind,
                 const char *text, ...) __attribute__((format(printf, 5, 6)));

/* Finds which seeds the metrics rest on: counts the runs that are missing, leaves the seeds that
 * all contenders of a scenario have, finds copies, and notes both. Called once, after the notices.
 * O(runs × contenders × seeds + missing × contenders). */
void report_seeds_find(struct report *report);
/* Returns whether runs of the policy, which may have parameters behind it, are missing, or may be
 * in another shard. */
bool report_lacks(const struct report *report, const char *policy);
/* "99.8, 73.4, 100.0", the values of the seeds in per cent, if the metric is a share and they span
 * over 20 points; else "". */
const char *report_seeds_text(const struct report *report, const struct report_contender *contender,
                              const char *application, const struct metric *metric);
/* "all 36 runs", "the run" or "12 of 36 runs, in TITLE, TITLE and 3 more settings". */
const char *report_notice_where(const struct report *report, const struct counted_notice *notice);

/* `results` must outlive the report. Free with arena_home_free (NULL allowed). */
struct report *report_build(const struct results *results);

/* Returns whether the file is of requests; false: of trainings alone. */
bool report_serves(const struct report *report);
/* Returns whether a run of the scenario has trainings. */
bool report_trains(const struct report *report, const struct report_scenario *scenario);
/* The scenario's setting as it is shown: its label, its name, or else the experiment's. */
const char *report_setting_title(const struct report_scenario *scenario);

/* Adds a name to a list of distinct ones, which has the report's memory. False: it is there. */
bool report_name_add(const struct report *report, const char ***names, size_t *count,
                     const char *name);

/* The scenario's contender with policy, label and variant of `like`; NULL: none. */
const struct report_contender *report_contender_like(const struct report_scenario *scenario,
                                                     const struct report_contender *like);

/* Returns whether `name`, which may have parameters behind it, begins with that policy. */
bool report_is_policy(const char *policy, const char *name);

/* Returns whether `name` is that of the contender: the policy, followed by all parameters that the
 * sweep set for it, in any order: "esg k=10 group_size=2". */
bool report_is_contender(const struct report_contender *contender, const char *name);

/* Returns whether a user may call the contender so: by its label, its title, its policy's name with
 * all parameters, or the path of its module. */
bool report_is_called(const struct report *report, const struct report_contender *contender,
                      const char *name);

/* Returns whether the contender is of the policy that `name` begins with, and has all parameters
 * that follow it: "esg" and "esg k=10" are both true of "esg k=10 group_size=2". */
bool report_has_name(const struct report_contender *contender, const char *name);

/* Returns whether the parameters of both are the same, apart from those in their names. */
bool report_same_beyond(const struct report *report, const struct report_contender *one,
                        const char *one_name, const struct report_contender *other,
                        const char *other_name);

/* Returns whether `name` is that of the scenario: its setting, its title, or the keys that the
 * sweep set for it, in any order: "arrivals.rate_per_s=1500 platform.noise.cv=0". Keys that are the
 * same in all runs may be left out. */
bool report_is_setting(const struct report *report, const struct report_scenario *scenario,
                       const char *name);

/* Makes that contender the reference of every scenario that has it; others keep theirs. False:
 * ERROR_INPUT, no scenario has it. */
bool report_set_reference(struct report *report, const char *name, struct error *error);

/* Estimate of a metric over the contender's seeds, for `application` (NULL: all applications). A
 * metric of the run is the same for every application. */
struct estimate report_estimate(const struct report *report,
                                const struct report_contender *contender, const char *application,
                                const struct metric *metric);

/* Metrics that are computed from others and are no columns: the share of requests that were served
 * after their SLO, and of those that did not meet it; the time for which GPUs run something,
 * divided by the number of GPUs. Only report_value and its callers know them. */
extern const struct metric report_late_rate;
extern const struct metric report_miss_rate;
extern const struct metric report_gpu_use;

/* The metric of that name: computed, or of metrics.def (a column of
 * /summary or /training). NULL if there is none. */
const struct metric *report_metric_find(const char *name);

/* The metric in one run (an index into results.runs), for `application` (NULL: all applications).
 * NAN if the run has no such application or no trainings, or the metric has no value in it. */
double report_value(const struct report *report, size_t run, const char *application,
                    const struct metric *metric);

/* The independent requests that the metric rests on in that run (metric_observations). */
double report_observations(const struct report *report, size_t run, const char *application,
                           const struct metric *metric);

/* Name of the scenario's reference in sentences: "ESG", or its title if it has another policy. */
const char *report_reference_name(const struct report_scenario *scenario);

/* The gains of a reference over a contender, which have names as metrics have (paired_gains). */
enum report_gain {
    GAIN_POINTS,
    GAIN_RELATIVE,
    GAIN_SAVING,
    GAIN_SAVING_PER_ARRIVAL,
    GAIN_SAVING_HELD,
    GAINS
};

/* Comparison of a contender with the scenario's reference, over the seeds of both. */
struct report_comparison {
    struct estimate gains[GAINS]; /* a relative one is NAN if it divides by 0 in any seed */
    double drops; /* share dropped: reference − contender, points; NAN without a common seed */
};
/* Two shares dropped that differ by more points: costs of served requests are not judged. */
#define REPORT_DROPS_UNLIKE 2
bool report_costs_compare(const struct report_comparison *comparison);

struct report_comparison report_compare(const struct report *report,
                                        const struct report_scenario *scenario, size_t contender,
                                        const char *application);

/* Print the report, and the verdicts on what is expected (report_judge). False: ERROR_RUN. */
bool report_text(const struct report *report, FILE *out, struct error *error);
bool report_csv(const struct report *report, FILE *out, struct error *error);
bool report_json(const struct report *report, FILE *out, struct error *error);

/* A swept key as the title of an axis, "load (share of capacity)" of arrivals.load, and conditions
 * as they are shown, "SLO × 0.8, load 0.4" of "slo.factor=0.8 arrivals.load=0.4"
 * (results/report/names.c).
 */
const char *names_axis(const char *key);
const char *names_conditions(struct arena *arena, const char *conditions);

#endif
