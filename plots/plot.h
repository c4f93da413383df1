/* The figures of a results file, a latency profile, an arrival trace or a calibration's points.
 *
 * Of results, a figure a setting:
 *
 * hit-rate, cost: by application and contender.
 * hit-against-cost: both, the Pareto front, the bound.
 * cost-parts: what is paid and what is provisioned.
 * resources: utilisation, fragmentation, batch size.
 * batch-sizes: share of the jobs by the size of their batch.
 * latency-cdf: distribution of latency, of latency / SLO.
 * latency-parts: percentiles split into queue … execution.
 * decisions: time and work of a decision.
 *
 * Of results as a whole:
 *
 * settings: hit rate, cost and tail latency of every contender in every setting.
 * sensitivity: a figure a policy parameter: what its values change, all else equal.
 * timeline: a figure a setting and contender: utilisation, queues, containers over time.
 *
 * Of other files:
 *
 * profile: of a profile or of a calibration's points: latency over batch and share of a GPU.
 * arrivals: of a trace: rate over time, intervals beside Poisson's.
 * calibration: of a calibration's points: fitted against measured latency, residuals.
 * simulated-against-real: of a simulation and a replay: see plots/against.h.
 *
 * latency-* need runs that record requests, timeline and batch-sizes runs that record all: where
 * there are none, the list's notes say so.
 */
#ifndef ESGSIM_PLOTS_PLOT_H
#define ESGSIM_PLOTS_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#include "plots/figure.h"
#include "results/report.h"

/* Names of the scripts above, NULL-terminated. */
extern const char *const plot_scripts[];

/* Write the CSVs of a file's figures, whatever of the four it is. `trace_format`: it is a trace of
 * that format (traces/arrival_trace.h); NULL: told from the content. ERROR_INPUT where it is none
 * of the four or is damaged. The list holds what was written even where this fails. */
bool plot_file(const char *path, const char *trace_format, struct figure_list *list,
               struct error *error);
/* The same for results that are loaded already; details come from the file they name. */
bool plot_results(const struct report *report, struct figure_list *list, struct error *error);

/* Draw every figure of the list as "svg", "png" or "pdf" beside its CSV. ERROR_RUN: gnuplot is
 * missing, or failed. */
bool plot_draw(struct figure_list *list, const char *format, struct error *error);

#endif
