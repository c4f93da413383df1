/* Figures that have no room on their canvas, divided into several. */
#ifndef ESGSIM_PLOTS_DIVIDE_H
#define ESGSIM_PLOTS_DIVIDE_H

#include "plots/figure.h"

/* Divides figure `at` of the list as `reason` says, the words of its script about the missing room
 * (`no_room` of plots/common.gp): "it would be 21.0 in high, which is more than 9; divide: panel 2
 * row 10" has room for two panels and ten rows in each file. The parts NAME-part-1, … take its
 * place in the list, each with its CSV, numbered from 1 again; the CSV of the whole is removed. If
 * there is nothing to divide the figure is dropped. A note says so. False: ERROR_RUN, a file cannot
 * be read or written. */
bool figure_divide(struct figure_list *list, size_t at, const char *reason, struct error *error);

#endif
