/* Runs gnuplot. */
#ifndef ESGSIM_PLOTS_GNUPLOT_H
#define ESGSIM_PLOTS_GNUPLOT_H

#include <stdbool.h>

#include "sim/base/error.h"

struct arena;

/* Variables of plots/common.gp. */
struct picture_style {
    const char *size; /* borrowed; a canvas: "column", "page" or "slide"; NULL: the figure's own */
    bool no_title;
    bool no_caption;
};

/* Returns whether gnuplot can be run. False: ERROR_RUN, which explains how to install it. */
bool gnuplot_check(struct error *error);

/* Draws `csv` with `script` as `picture`, whose extension selects the format (.svg, .png, .pdf). An
 * existing picture is replaced only when the new one is complete. Any complaint of gnuplot is an
 * error, except about plots without a value, which are drawn empty. Dates and gnuplot's version are
 * removed, so the same input gives the same bytes. gnuplot is killed if this process ends.
 *
 * If the style's size has no room for the figure, sets `*no_room` to the script's words about it,
 * which are of the arena, and writes nothing; else to NULL. False: ERROR_RUN; ERROR_INPUT if the
 * picture cannot be written. */
bool gnuplot_draw(struct arena *arena, const char *script, const char *csv, const char *picture,
                  const struct picture_style *style, char **no_room, struct error *error);

#endif
