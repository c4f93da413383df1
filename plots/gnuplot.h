/* The one place that runs gnuplot. */
#ifndef ESGSIM_PLOTS_GNUPLOT_H
#define ESGSIM_PLOTS_GNUPLOT_H

#include <stdbool.h>

#include "sim/error.h"

/* Is there a gnuplot to run? False: ERROR_RUN that says how to get one. */
bool gnuplot_check(struct error *error);

/* Draw `picture` (its ending names the format: .svg, .png, .pdf) from `csv` by `script`. Whatever
 * gnuplot complains of is an error. What would differ between two runs or two versions of gnuplot
 * (dates, the version's name) is taken out of the picture. False: ERROR_RUN. */
bool gnuplot_draw(const char *script, const char *csv, const char *picture, struct error *error);

#endif
