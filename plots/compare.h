/* Figure simulated-against-real, one per setting. It compares a simulation with a replay: for each
 * policy both latency distributions, and predicted and executed batch times. */
#ifndef ESGSIM_PLOTS_COMPARE_H
#define ESGSIM_PLOTS_COMPARE_H

#include "plots/figure.h"
#include "results/compare/compare.h"

/* Writes the CSVs. False: ERROR_INPUT or ERROR_RUN, as for plot_file. */
bool plot_compare(const struct comparison *against, struct figure_list *list, struct error *error);

#endif
