/* The one place that runs gnuplot. */
#ifndef ESGSIM_PLOTS_GNUPLOT_H
#define ESGSIM_PLOTS_GNUPLOT_H

#include <stdbool.h>

#include "sim/error.h"

/* Is there a gnuplot to run? False: ERROR_RUN that says how to get one. */
bool gnuplot_check(struct error *error);

/* Draws `picture` (its ending names the format: .svg, .png, .pdf) from `csv` by `script`. The
 * picture takes its name when it is whole; until then an older one stays. Whatever gnuplot
 * complains of is an error, but for plots without a value, which are drawn empty. What would differ
 * between two runs or two versions of gnuplot (dates, the version's name) is taken out. gnuplot
 * ends with this process. False: ERROR_RUN; ERROR_INPUT where the picture's name cannot be written.
 */
bool gnuplot_draw(const char *script, const char *csv, const char *picture, struct error *error);

#endif
