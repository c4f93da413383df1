/* The figures of a results file, a latency profile, an arrival trace or a calibration's points.
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
 * - sensitivity: one figure per policy parameter; the effect of its values, all else equal.
 * - curve: one figure per setting; hit rate, cost and tail latency against a swept key
 *   (results/report/curve.h). Where a file has curves, only they are drawn unless `only` asks.
 * - timeline: one figure per setting and contender; utilisation, queues and containers over time.
 *
 * Of other files:
 * - profile, of a profile or a calibration's points: latency over batch and GPU share.
 * - arrivals, of a trace: rate over time, and interarrival times compared with Poisson's.
 * - calibration, of a calibration's points: fitted and measured latency, residuals.
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
#include "results/compare/compare.h"
#include "results/report/report.h"

/* The name of script `index` of those above; NULL behind the last. */
const char *plot_script(size_t index);

/* Writes the CSVs of the figures of a file of any of the four kinds. `trace_format`: the file is a
 * trace of that format (traces/readers/arrival_trace.h); NULL: recognise the kind by the content.
 * ERROR_INPUT if it is none of the four or damaged. On failure the list still has the figures
 * already written. */
bool plot_file(const char *path, const char *trace_format, struct figure_list *list,
               struct error *error);
/* Like plot_file, for results already loaded. Details are read from the file that they name. */
bool plot_results(const struct report *report, struct figure_list *list, struct error *error);

/* Writes the CSVs of the figures simulated-against-real. False: as for plot_file. */
bool plot_compare(const struct comparison *against, struct figure_list *list, struct error *error);

/* Draws every figure of the list as "svg", "png" or "pdf" beside its CSV, in the list's style.
 * A figure that the style's size has no room for is divided or else dropped, and a note says so.
 * ERROR_RUN: gnuplot is missing or failed. */
bool plot_draw(struct figure_list *list, const char *format, struct error *error);

#endif
