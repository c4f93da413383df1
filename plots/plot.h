/* The figures of a results file, a latency profile, an arrival trace, a calibration's points or
 * decision trees. `esgsim plot --help` says what each shows. Where a file has curves, only they,
 * sustained and published are drawn unless `only` asks for others. Charts (results/inspect/chart.h)
 * are of an experiment, a decision, a request or a training.
 *
 * latency-* need runs that record requests; timeline, gantt, batch-sizes ones that record all. If
 * there are none, the list's notes report it.
 */
#ifndef ESGSIM_PLOTS_PLOT_H
#define ESGSIM_PLOTS_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#include "plots/figure.h"
#include "plots/palette.h"
#include "results/compare/compare.h"
#include "results/expect/expectation.h"
#include "results/inspect/chart.h"
#include "results/report/report.h"
#include "sched/common/slo.h"

/* A row of the figure sustained: where a condition on a policy ends to hold along a key. */
#define SUSTAINED                                                                                  \
    "panel,panel_title,key,row,contender,mark,mark_title,value,low,high,ends,colour,point,shape"
struct sustained {
    size_t panel, row, mark; /* from 1: setting, policy, other conditions */
    const char *panel_title, *key, *contender, *mark_title;
    double value, low, high; /* the interval of the end; NAN: none */
    int ends;                /* 1, -1: above, below what was looked at; 0: at `value` */
    struct look look;
};
void sustained_row(struct sheet *sheet, const struct sustained *is);

/* The name of script `index` of those above; NULL behind the last. */
const char *plot_script(size_t index);

/* Writes the CSVs of the figures of a file of any of the five kinds. `trace_format`: the file is a
 * trace of that format (traces/readers/arrival_trace.h); NULL: recognise the kind by the content.
 * ERROR_INPUT if it is none of the five or damaged. On failure the list still has the figures
 * already written. */
bool plot_file(const char *path, const char *trace_format, struct figure_list *list,
               struct error *error);
/* Like plot_file, for results already loaded. Details are read from the file that they name. */
bool plot_results(const struct report *report, struct figure_list *list, struct error *error);

/* Writes the CSVs of the figures simulated-against-real. False: as for plot_file. */
bool plot_compare(const struct comparison *against, struct figure_list *list, struct error *error);

/* Writes the CSVs of the figures published, one for each group of claims. `ours` has one per claim.
 * False: as for sheet_begin. */
bool plot_claims(const struct expectations *claims, const struct estimate *ours,
                 struct figure_list *list, struct error *error);

/* Writes the CSVs of the figures of an experiment: its cluster, and the DAG of each application.
 * False: as for experiment_load and chart_sheet. */
bool plot_experiment(const char *path, struct figure_list *list, struct error *error);

/* Makes the chart of one such DAG in the chart's arena: of each stage its slot of the SLO, and how
 * much longer its group may take. */
void slo_chart(const struct application *application, const struct slo_plan *plan,
               struct chart *chart);

/* Writes the CSV of a chart, as sheet_begin and sheet_end do. */
bool chart_sheet(const struct chart *chart, struct figure_list *list, struct error *error);

/* Draws every figure of the list as "svg", "png" or "pdf" beside its CSV, in the list's style.
 * A figure that the style's size has no room for is divided or else dropped, and a note says so.
 * ERROR_RUN: gnuplot is missing or failed. */
bool plot_draw(struct figure_list *list, const char *format, struct error *error);

#endif
