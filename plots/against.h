/* The figures of a simulation held against a replay: a figure a setting of both distributions of
 * latency, policy by policy, and of batch times predicted and executed (simulated-against-real). */
#ifndef ESGSIM_PLOTS_AGAINST_H
#define ESGSIM_PLOTS_AGAINST_H

#include "plots/figure.h"
#include "results/against.h"

/* Write the CSVs. False: ERROR_INPUT, ERROR_RUN as plot_file. */
bool plot_against(const struct against *against, struct figure_list *list, struct error *error);

#endif
