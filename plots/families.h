/* The families of figures, for plots/ alone: each writes the CSVs of its own into the list. */
#ifndef ESGSIM_PLOTS_FAMILIES_H
#define ESGSIM_PLOTS_FAMILIES_H

#include "plots/figure.h"
#include "plots/palette.h"
#include "results/details.h"
#include "results/report.h"

enum { LABEL_LIMIT = 60 }; /* characters of a contender's name in a figure */

/* What the figures of a results file are made from. */
struct source {
    const struct report *report;
    const struct details *details;
};

bool families_summary(const struct source *source, struct figure_list *list, struct error *error);
/* cost-parts and batch-sizes of each setting; settings, where there are several. */
bool families_breakdown(const struct source *source, struct figure_list *list, struct error *error);
bool families_sensitivity(const struct source *source, struct figure_list *list,
                          struct error *error);
bool families_latency(const struct source *source, struct figure_list *list, struct error *error);
bool families_timeline(const struct source *source, struct figure_list *list, struct error *error);

bool families_profile(const char *path, struct figure_list *list, struct error *error);
/* `format`: of the trace; NULL: told from its header. */
bool families_arrivals(const char *path, const char *format, struct figure_list *list,
                       struct error *error);
bool families_calibration(const char *path, struct figure_list *list, struct error *error);

/* The look of a scenario's contender: its policy's, varied for the policy's further variants, with
 * a marker that none before it has. */
struct look source_look(const struct report_scenario *scenario, size_t contender);

/* "LEAD Means of 5 seeds of 10,000 requests; bars: 95 % intervals. Latency profile: …": what every
 * caption says. The caller frees; NULL: memory. */
char *source_caption(const struct source *source, const struct report_scenario *scenario,
                     const char *lead, bool intervals);

/* "In all runs: requests=1500. Latency profile: measured.": what titles leave out, and the evidence
 * grade as far as the file tells it. The caller frees; NULL: memory. */
char *source_basis(const struct source *source, const struct report_scenario *scenario);

/* The mean of a metric of the contender, of the run where `application` has none of that name;
 * times `scale`. */
struct estimate source_estimate(const struct source *source,
                                const struct report_contender *contender, const char *application,
                                const char *metric, double scale);

#endif
