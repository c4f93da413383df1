/* The families of figures. Each function adds the CSVs of its figures to the list. Private to
 * plots/. */
#ifndef ESGSIM_PLOTS_FAMILIES_H
#define ESGSIM_PLOTS_FAMILIES_H

#include "plots/figure.h"
#include "plots/palette.h"
#include "results/store/run_details.h"
#include "results/report/report.h"

enum { LABEL_LIMIT = 60 }; /* most characters of a contender's name in a figure */

/* Input of the figures of a results file. */
struct source {
    const struct report *report;
    const struct run_details *details;
};

bool families_summary(const struct source *source, struct figure_list *list, struct error *error);
/* cost-parts and batch-sizes for each setting; settings, if there are several. */
bool families_breakdown(const struct source *source, struct figure_list *list, struct error *error);
bool families_sensitivity(const struct source *source, struct figure_list *list,
                          struct error *error);
/* A metric, cost and tail latency over the report's curves, if it has any. */
bool families_curve(const struct source *source, struct figure_list *list, struct error *error);
bool families_latency(const struct source *source, struct figure_list *list, struct error *error);
/* jct-cdf for each setting with trainings. */
bool families_trainings(const struct source *source, struct figure_list *list, struct error *error);
bool families_timeline(const struct source *source, struct figure_list *list, struct error *error);

bool families_profile(const char *path, struct figure_list *list, struct error *error);
/* `format`: the trace's format; NULL: recognised by its header. */
bool families_arrivals(const char *path, const char *format, struct figure_list *list,
                       struct error *error);
bool families_calibration(const char *path, struct figure_list *list, struct error *error);

/* Returns whether all contenders are of one policy. */
bool source_one_policy(const struct report_scenario *scenario);

/* The look of a contender in its scenario. It is its policy's look, varied for further variants of
 * the policy, with a marker that no earlier contender has. */
struct look source_look(const struct report_scenario *scenario, size_t contender);

/* Returns whether a run of the scenario has rows of that kind ("requests", "batches", …). */
bool source_has(const struct source *source, const struct report_scenario *scenario,
                const char *table);

/* Returns whether the scenario's runs serve requests, not only trainings. */
bool source_serves(const struct report_scenario *scenario);

/* Number of measured requests of a run (an index into the results' runs), or of its trainings. */
uint64_t source_run_size(const struct source *source, const struct report_scenario *scenario,
                         size_t run);

/* Caption of a figure of the scenario (NULL: of all): "LEAD Means of 5 seeds of 10,000 requests;
 * bars: 95 % intervals. Latency profile: …". The caller frees it; NULL: memory exhausted. */
char *source_caption(const struct source *source, const struct report_scenario *scenario,
                     const char *lead, bool intervals);

/* A sentence for a caption if runs of the scenarios are not stationary, else "". */
const char *source_length_warning(const struct report *report, const struct report_scenario *first,
                                  size_t scenarios);

/* "In all runs: requests=1500. Latency profile: measured.": settings that titles omit, and the
 * evidence grade if the file has it. The caller frees it; NULL: memory exhausted. */
char *source_basis(const struct source *source, const struct report_scenario *scenario);

/* Estimate of a metric of the contender, times `scale`. It is that of `application`, or of the
 * whole run if there is no application of that name. */
struct estimate source_estimate(const struct source *source,
                                const struct report_contender *contender, const char *application,
                                const char *metric, double scale);

#endif
