/* The figures of a results file, a latency profile, an arrival trace, a calibration's points or
 * decision trees.
 *
 * One figure per setting of a results file:
 * - hit-rate, cost: by application and contender.
 * - hit-against-cost: both, with the Pareto front and the bound.
 * - cost-parts: resources paid for and resources provisioned.
 * - resources: utilisation, fragmentation, batch size.
 * - batch-sizes: fraction of the jobs by batch size.
 * - latency-cdf: distribution of latency, and of latency / SLO.
 * - jct-cdf: distribution of trainings' completion time, and of that / time alone.
 * - latency-parts: percentiles of latency and their components, from queueing to execution.
 * - decisions: time and work of a decision.
 *
 * Of a results file as a whole:
 * - settings: hit rate, cost and tail latency of every contender in every setting.
 * - tornado: where three settings or more: the first policy less each other, paired by seed, by
 *   setting, with the orders that flip against the first setting.
 * - sensitivity: one figure per policy parameter; the effect of its values, all else equal.
 * - curve: one figure per setting; hit rate, cost and tail latency against a swept key
 *   (results/report/curve.h). Where a file has curves, only they are drawn unless `only` asks.
 * - sustained: of the same sweep, the greatest load at which each policy holds, in every setting;
 *   also of `esgsim capacity --out`.
 * - published: where the report is judged by published figures (figure_list.paper), each range with
 *   our averages in every set of assumptions; also of `esgsim claims --out`, each claim.
 * - timeline: one figure per setting and contender; utilisation, queues and containers over time.
 *
 * Of other files:
 * - profile, of a profile or a calibration's points: latency over batch and GPU share.
 * - arrivals, of a trace: rate over time, and interarrival times compared with Poisson's.
 * - calibration, of a calibration's points: fitted and measured latency, residuals.
 * - tree, of a file of `esgsim distill`: its two trees, a figure each.
 * - dag, cluster, of an experiment; search, request, training, of `esgsim search` and `explain`:
 *   charts (results/inspect/chart.h; sim/cli/picture.h).
 * - simulated-against-real, of a simulation and a replay, one per setting: for each policy both
 *   distributions of latency, and predicted and executed batch times.
 *
 * latency-* need runs that record requests; timeline and batch-sizes need runs that record all. If
 * there are none, the list's notes report it.
 */
#ifndef ESGSIM_PLOTS_PLOT_H
#define ESGSIM_PLOTS_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#include "plots/figure.h"
#include "plots/palette.h"
#include "results/compare/compare.h"
#include "results/inspect/chart.h"
#include "results/report/expectation.h"
#include "results/report/report.h"

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

/* Writes the CSV of a chart, as sheet_begin and sheet_end do. */
bool chart_sheet(const struct chart *chart, struct figure_list *list, struct error *error);

/* Draws every figure of the list as "svg", "png" or "pdf" beside its CSV, in the list's style.
 * A figure that the style's size has no room for is divided or else dropped, and a note says so.
 * ERROR_RUN: gnuplot is missing or failed. */
bool plot_draw(struct figure_list *list, const char *format, struct error *error);

#endif
