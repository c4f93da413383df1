/* The figures of a results file, a latency profile, an arrival trace or a calibration's points.
 *
 * | script            | of      | a figure for      | shows |
 * |-------------------|---------|-------------------|-----------------------------------------------|
 * | hit-rate          | results | setting           | SLO hit rate by application and contender |
 * | cost              | results | setting           | cost by application and contender | |
 * hit-against-cost  | results | setting           | both, the Pareto front, the bound             |
 * | latency-cdf       | results | setting           | distribution of latency, of latency / SLO |
 * | latency-parts     | results | setting           | percentiles split into queue … execution | |
 * decisions         | results | setting           | time and work of a decision                   |
 * | sensitivity       | results | policy parameter  | what its values change, all else equal | |
 * timeline          | results | setting, contender| utilisation, queues, containers over time     |
 * | profile           | profile |                   | latency over batch and share of a GPU | |
 * arrivals          | trace   |                   | rate over time, intervals beside Poisson's    |
 * | calibration       | points  |                   | fitted against measured latency, residuals |
 *
 * simulated-against-real, of a simulation and a replay, has a header of its own: plots/against.h.
 *
 * latency-* need runs that record requests, timeline runs that record all: where there are none,
 * the list's notes say so.
 */
#ifndef ESGSIM_PLOTS_PLOT_H
#define ESGSIM_PLOTS_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#include "plots/figure.h"
#include "results/report.h"

/* Names of the scripts above, NULL-terminated. */
extern const char *const plot_scripts[];

/* Write the CSVs of a file's figures, whatever of the four it is. ERROR_INPUT where it is none of
 * them or is damaged. The list holds what was written even where this fails. */
bool plot_file(const char *path, struct figure_list *list, struct error *error);
/* The same for results that are loaded already; details come from the file they name. */
bool plot_results(const struct report *report, struct figure_list *list, struct error *error);

/* Draw every figure of the list as "svg", "png" or "pdf" beside its CSV. ERROR_RUN: gnuplot is
 * missing, or failed. */
bool plot_draw(struct figure_list *list, const char *format, struct error *error);

#endif
