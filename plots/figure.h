/* A figure on its way: the CSV that its script reads, what it is called and says.
 *
 * Figures are written in two steps. The functions of this folder first write one CSV a figure into
 * the folder asked for; then each CSV is drawn by the gnuplot script it names (plots/gnuplot.h).
 * The CSV stays beside the picture, so a figure can be drawn again, or otherwise, by hand.
 *
 * A CSV has a header line; its last columns, `subject` and `caption`, are filled in the first row
 * alone. A number that does not exist is an empty field. So that every reader of CSV agrees on the
 * texts, some of their characters are written otherwise:
 *
 *   quotation mark       U+201D, which looks the same
 *   comma                U+201A, which looks the same; between digits a narrow blank
 *   backslash            two, of which gnuplot shows one
 *   control character    a blank
 *   a formula's start    an apostrophe before it (results/csv.h), which plots/common.gp takes away
 */
#ifndef ESGSIM_PLOTS_FIGURE_H
#define ESGSIM_PLOTS_FIGURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/error.h"
#include "traces/atomic_file.h"

struct figure {
    char *script;  /* of plots/, without .gp: "hit-rate" */
    char *name;    /* stem of the files: "hit-rate-strict-light" */
    char *subject; /* what it is of: "strict-light" */
    char *caption;
    char *csv;     /* path */
    char *picture; /* path; NULL until drawn */
};

/* Figures made into one folder, those asked for alone. */
struct figure_list {
    const char *folder;      /* borrowed; must exist */
    const char *const *only; /* borrowed; scripts or names, see figure_wanted */
    size_t only_count;       /* 0: all */
    size_t timelines_most;   /* where more than so many runs have a timeline, only that of the first
                                contender of each setting is drawn; 0: all */
    struct figure *figures;
    size_t count;
    char **notes; /* one line each: what could not be drawn, and why */
    size_t note_count;
};

void figure_list_clear(struct figure_list *list);

/* One line for the user about what is left out. False: ERROR_RUN, memory. */
bool figure_list_note(struct figure_list *list, struct error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Is any figure of that script asked for? "hit-rate" and "hit-rate-strict-light" both ask for
 * figures of script hit-rate. */
bool figure_wanted(const struct figure_list *list, const char *script);

/* A CSV being written. */
struct sheet {
    FILE *out; /* NULL: this figure is not asked for; every function then does nothing */
    struct atomic_file file; /* of `out` */
    struct figure_list *list;
    const char *path;
    const char *subject;
    const char *caption;
    bool first_row;
    bool first_cell;
};

/* Begin the figure of `script` about `subject` (may be ""): its name is both, in lower case, other
 * characters than letters and digits as dashes, numbered where the list has it already. `columns`
 * is the header without subject's and caption's. All texts are copied. A sheet that is begun is
 * ended. False: ERROR_INPUT where the file cannot be written, ERROR_RUN (memory, or another process
 * writes there). */
bool sheet_begin(struct sheet *sheet, struct figure_list *list, const char *script,
                 const char *subject, const char *caption, const char *columns,
                 struct error *error);
void sheet_text(struct sheet *sheet, const char *text);
/* The text, cut to `limit` characters. */
void sheet_text_cut(struct sheet *sheet, const char *text, size_t limit);
void sheet_number(struct sheet *sheet, double value);
void sheet_count(struct sheet *sheet, uint64_t value);
/* 0xRRGGBB */
void sheet_colour(struct sheet *sheet, uint32_t colour);
void sheet_row_end(struct sheet *sheet);
/* If all is `good` so far, gives the file its name; else removes it and leaves `error` as it is. A
 * sheet without a row is no figure: it is taken from the list again, with a note. Returns `good`,
 * or false with ERROR_RUN where the file could not be written. */
bool sheet_end(struct sheet *sheet, bool good, struct error *error);

#endif
