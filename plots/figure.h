/* A figure: the CSV that its script reads, its name and its texts.
 *
 * Figures are made in two steps. The functions of this directory first write one CSV per figure.
 * Then each CSV is drawn by the gnuplot script that it names (plots/gnuplot.h). The CSV is kept
 * beside the picture, so a figure can be redrawn or changed by hand.
 *
 * A CSV has a header line. Its last columns, `subject` and `caption`, are filled only in the first
 * row. A missing number is an empty field. Some characters of texts are replaced, so that every CSV
 * reader reads the same:
 * - quotation mark: U+201D, which looks the same
 * - comma: U+201A, which looks the same; between digits a narrow blank
 * - backslash: two backslashes, of which gnuplot shows one
 * - control character: a blank
 * - start of a formula: a leading apostrophe (results/page/csv.h), which plots/common.gp removes
 */
#ifndef ESGSIM_PLOTS_FIGURE_H
#define ESGSIM_PLOTS_FIGURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "plots/gnuplot.h"
#include "sim/engine/statistics.h"
#include "sim/base/arena.h"
#include "sim/base/atomic_file.h"
#include "sim/base/error.h"

struct figure {
    const char *script;  /* of plots/, without .gp: "hit-rate" */
    const char *name;    /* file name without extension: "hit-rate-strict-light" */
    const char *subject; /* for example the setting: "strict-light" */
    const char *caption;
    const char *csv;     /* path */
    const char *picture; /* path; NULL until drawn */
};

/* The requested figures, made in one directory. */
struct figure_list {
    const char *folder;      /* borrowed; must exist */
    const char *name;        /* borrowed; of the only figure; NULL: of its script and subject */
    const char *const *only; /* borrowed; scripts or names, see figure_wanted */
    size_t only_count;       /* 0: all figures */
    const char *over;        /* borrowed; the key of the curves; NULL: the load, if it was swept */
    const char *metric;      /* borrowed; the first metric of the curves; NULL: the default */
    const char *paper;       /* borrowed; published figures to judge by; NULL: none */
    const char *const *policies; /* borrowed; names of the policies to draw (plots/selection.h) */
    size_t policy_count;         /* 0: all policies */
    bool variants;               /* a policy's name stands for all its variants */
    double from_s, until_s;      /* what gantt draws, of simulated time; 0: the default */
    bool all; /* all policies in colour, all settings (plots/selection.h); else the first */
    const char *about; /* borrowed; precedes every subject; NULL: nothing */
    struct picture_style style;
    struct arena *arena;   /* of what follows and of the CSVs' contents; see figure_memory */
    size_t timelines_most; /* if more runs have a timeline, draw only that of the first contender of
                              each setting; 0: no limit */
    struct figure *figures;
    size_t count;
    char **notes; /* one line for each figure that could not be drawn, with the reason */
    size_t note_count;
};

void figure_list_clear(struct figure_list *list);

/* The list's arena. Exhausted memory ends the process. figure_list_clear releases all of it. */
struct arena *figure_memory(struct figure_list *list);

/* Adds a note for the user about an omitted figure. */
void figure_list_note(struct figure_list *list, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Removes figure `at` from the list, with a note of the reason. */
void figure_drop(struct figure_list *list, size_t at, const char *reason);

/* Returns whether a figure of that script is requested. Both "hit-rate" and "hit-rate-strict-light"
 * request figures of the script hit-rate, and "*-strict-light" those of all scripts. */
bool figure_wanted(const struct figure_list *list, const char *script);

/* A CSV being written. */
struct sheet {
    FILE *out;               /* NULL: the figure is not requested, and all functions do nothing */
    struct atomic_file file; /* of `out` */
    struct figure_list *list;
    const char *path;
    const char *subject;
    const char *caption;
    bool first_row;
};

/* Begins the figure of `script` about `subject` (may be ""). Its name is made of both, in lower
 * case, with dashes for characters other than letters and digits, and with a number if the list
 * already has that name. `columns` is the header without subject and caption. All texts are copied.
 * The caller ends a sheet that was begun. False: ERROR_INPUT if the file cannot be written,
 * ERROR_RUN if another process writes it. */
bool sheet_begin(struct sheet *sheet, struct figure_list *list, const char *script,
                 const char *subject, const char *caption, const char *columns,
                 struct error *error);
/* Writes a row: one cell for each conversion of `format`, which blanks separate. %s: a text; %.60s:
 * the same, truncated to 60 characters; %g: a number, empty if it is not finite; %zu, %d: whole
 * numbers; %x: a colour, 0xRRGGBB. */
void sheet_row(struct sheet *sheet, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* If `good`, renames the file to its final name; else removes it and leaves `error` unchanged. A
 * sheet without rows is removed from the list, with a note. Returns `good`, or false with ERROR_RUN
 * if the file could not be written. */
bool sheet_end(struct sheet *sheet, bool good, struct error *error);

#endif
