/* Reports over a results file.
 *
 * Runs that differ in nothing but the seed make one *contender*: a policy with its parameters, in
 * one *scenario*: everything else. Each figure of a contender is a mean over its seeds with a 95 %
 * Student t interval; contenders of one scenario are compared seed by seed with the first that runs
 * policy "esg" or, where none does, with the first of all.
 */
#ifndef ESGSIM_RESULTS_REPORT_H
#define ESGSIM_RESULTS_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "results/reference.h"
#include "results/statistics.h"
#include "results/store.h"

#define REPORT_REFERENCE_POLICY "esg"
#define REPORT_NONE SIZE_MAX

struct report_contender {
    const char *policy;
    const char *label; /* display name that the sweep gives it, or "" */
    char *variant;     /* parameters that the sweep set: "k=10 group_size=2", or "" */
    char *distinction; /* of these, what is not the same in all runs */
    char *title; /* the policy, with its distinction where the scenario has several of one policy */
    size_t *runs; /* indices into results.runs, by ascending seed */
    size_t run_count;
};

struct report_scenario {
    const char *name;     /* of the experiment */
    const char *setting;  /* of the sweep, or "" */
    const char *label;    /* display name that the sweep gives the setting, or "" */
    const char *evidence; /* of the latency profile: "measured", "reconstructed: …"; "": none */
    char *conditions;     /* what else the sweep set, policy aside: "slo.factor=0.8", or "" */
    char *title;          /* setting, led by the name where several experiments have it; and of the
                           * conditions what is not the same in all runs */
    struct report_contender *contenders; /* in order of appearance */
    size_t contender_count;
    const char **applications; /* in order of appearance */
    size_t application_count;
    size_t reference; /* contender that the others are compared with; REPORT_NONE: no contender */
};

/* A warning or note that runs carry. */
struct report_notice {
    bool warning;
    char *text;
    size_t runs; /* that carry it */
    bool *in;    /* per scenario: whether one of its runs does */
};

struct report {
    const struct results *results;
    struct report_scenario *scenarios; /* in order of appearance */
    size_t scenario_count;
    char *constants; /* what the sweep set alike in all runs: "requests=1500 k=5", or "" */
    struct report_notice *notices; /* each once, in order of appearance */
    size_t notice_count;
    size_t *first_row; /* per run: its first row in results.applications */
    size_t *next_row;  /* per row: the next of the same run */
};

/* Fills notices from the runs, once scenarios are there. False without memory. */
bool report_notices_find(struct report *report);
/* "all 36 runs", "the run" or "12 of 36 runs, in TITLE, TITLE". To be freed; NULL without memory.
 */
char *report_notice_where(const struct report *report, const struct report_notice *notice);

/* NULL: ERROR_RUN, memory. `results` must outlive the report. */
struct report *report_build(const struct results *results, struct error *error);
void report_free(struct report *report);

/* A metric of metrics.def over the contender's seeds: of `application`, or of all where NULL. A
 * metric of the run is the same for every application. */
struct estimate report_estimate(const struct report *report,
                                const struct report_contender *contender, const char *application,
                                const struct metric *metric);

/* What sentences call the scenario's reference: "ESG", or its title where it is another policy. */
const char *report_reference_name(const struct report_scenario *scenario);

/* How a contender stands to the scenario's reference, over the seeds that both have. */
struct report_comparison {
    struct estimate hit_points; /* SLO hit rate: reference − contender, percentage points */
    /* (reference − contender) / contender, %; NAN where the contender's is 0 for any seed */
    struct estimate hit_relative;
    struct estimate saving; /* cost per request: (contender − reference) / reference, % */
};

struct report_comparison report_compare(const struct report *report,
                                        const struct report_scenario *scenario, size_t contender,
                                        const char *application);

/* Names of the three comparisons as metrics, in CSV, JSON and reference files. */
#define REPORT_HIT_POINTS "slo_hit_rate_gain_points"
#define REPORT_HIT_RELATIVE "slo_hit_rate_gain"
#define REPORT_SAVING "cost_saving"

/* How a published figure compares with ours: of `contender` in `scenario`; .n = 0 where the figure
 * is not one of this scenario and contender. */
struct estimate report_published(const struct report *report,
                                 const struct report_scenario *scenario, size_t contender,
                                 const struct reference_figure *figure);

/* Print; a reference's figures with their verdicts (verdict.h). `reference` may be NULL. False:
 * ERROR_RUN (memory, or the stream failed). */
bool report_text(const struct report *report, const struct reference *reference, FILE *out,
                 struct error *error);
bool report_csv(const struct report *report, const struct reference *reference, FILE *out,
                struct error *error);
bool report_json(const struct report *report, const struct reference *reference, FILE *out,
                 struct error *error);

#endif
