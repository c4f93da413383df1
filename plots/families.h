/* What figures are made from: a table of those of a results file, and the functions that fill them.
 * Private to plots/. */
#ifndef ESGSIM_PLOTS_FAMILIES_H
#define ESGSIM_PLOTS_FAMILIES_H

#include "plots/figure.h"
#include "plots/palette.h"
#include "results/store/run_details.h"
#include "results/report/report.h"
#include "results/page/report_columns.h"

#define LABEL "%.60s" /* a contender's name in a row */

/* Input of the figures of a results file. */
struct source {
    const struct report *report;
    const struct run_details *details;
};

/* The settings in which a figure can be drawn. */
enum figure_about { ABOUT_ALL, ABOUT_REQUESTS, ABOUT_TRAININGS, ABOUT_TRAININGS_ALONE };

struct reading;
struct figure_kind;

/* What fills a figure: its rows of a setting; those of one contender, where `*row` counts the
 * contenders that have any; or all figures of the file. */
typedef void figure_rows(const struct source *source, const struct report_scenario *scenario,
                         const struct figure_kind *kind, struct sheet *sheet);
typedef bool figure_contender(struct reading *reading, size_t *row, struct sheet *sheet,
                              struct error *error);
typedef bool figure_draw(const struct source *source, const struct figure_kind *kind,
                         struct figure_list *list, struct error *error);

#define PUBLISHED                                                                                  \
    "panel,panel_title,axis,row,setting,contender,value,low,high,range_low,range_high,"            \
    "shift,colour,point"

/* A figure: an entry of the table in plots/figures.c, and the script of that name. */
struct figure_kind {
    const char *script;
    const char *columns; /* of its CSV, without subject and caption; NULL: of no results file */
    const char *lead;    /* begins its caption; NULL: "" */
    const char *bounded; /* in its place where the file has bounds; NULL: the same */
    bool intervals;      /* the caption speaks of means and intervals */
    bool one_run;        /* it shows one run of each contender */
    enum figure_about about;
    const char *table;          /* recorded rows that it reads; NULL: none */
    const char *missing;        /* the figures that a note names where rows are missing, of the last
                                   entry that is drawn with others; NULL: no note */
    const char *const *metrics; /* of its panels; NULL ends the list */
    bool apart;  /* a panel for each application, and one for all together if there are several */
    bool joined; /* drawn with the entry before it, setting by setting */
    figure_rows *rows; /* one of these fills it */
    figure_contender *contender;
    figure_draw *draw;
};
extern const struct figure_kind figure_kinds[]; /* an entry without a script ends it */

/* The recorded rows of a contender, read when they are asked for (latency.c). */
struct reading {
    const struct source *source;
    const struct report_contender *contender;
    struct look look;
    struct sample *samples; /* of its requests or trainings */
    size_t sample_count;
    bool read;
};

figure_draw curve_draw, sustained_draw, published_draw, tornado_draw, settings_draw,
    sensitivity_draw, timeline_draw;
figure_contender latency_cdf_rows, latency_parts_rows, jct_cdf_rows, gantt_rows, batch_sizes_rows;
/* Of bars: plots/breakdown.c. */
#define BARS "panel,panel_title,axis,row,contender,part,part_title,from,to,colour,label"
figure_rows cost_parts_rows;

/* Steps of a distribution: of 0.5 %, and smaller ones in the tail. */
enum { CDF_STEPS = 200 + 9 };
double cdf_share(size_t step);

bool families_profile(const char *path, struct figure_list *list, struct error *error);
/* `format`: the trace's format; NULL: recognised by its header. */
bool families_arrivals(const char *path, const char *format, struct figure_list *list,
                       struct error *error);
bool families_calibration(const char *path, struct figure_list *list, struct error *error);
bool families_tree(const char *path, struct figure_list *list, struct error *error);

/* Returns whether all contenders are of one policy. */
bool source_one_policy(const struct report_scenario *scenario);

/* What has one look in all panels of a figure: contenders of one policy, label and variant. */
struct kinds {
    struct kind {
        const struct report_contender *like; /* the first, for the policy */
        const char *label, *variant;         /* borrowed */
        struct look look;
    } * items;
    size_t count;
    unsigned markers; /* set of markers in use */
};

/* Adds a kind if it is new. `alone`: the figure has one policy alone. Where its contenders have two
 * parameters each, the colour is that of the first's value, marker and dash are the second's. */
void kinds_add(struct kinds *kinds, struct arena *arena, const struct report_contender *like,
               const char *label, const char *variant, bool alone);
/* The index of a kind; the count if there is none. O(count). */
size_t kinds_find(const struct kinds *kinds, const struct report_contender *like, const char *label,
                  const char *variant);

struct curve_group;
/* Adds the distinct lines of a setting. */
void curve_series(const struct curve_group *group, struct kinds *series, struct arena *arena);

/* The look of a contender in its scenario. It is its policy's look, varied for further variants of
 * the policy, with a marker that no earlier contender has. */
struct look source_look(const struct report_scenario *scenario, size_t contender);

/* Returns whether a run of the scenario has rows of that kind ("requests", "batches", …). */
bool source_has(const struct source *source, const struct report_scenario *scenario,
                const char *table);

/* The first of the contender's runs that recorded a timeline, and with it all; NULL: none. */
const struct summary_row *source_recorded(const struct source *source,
                                          const struct report_contender *contender);

/* Returns whether the scenario's runs serve requests, not only trainings. */
bool source_serves(const struct report_scenario *scenario);

/* Number of measured requests of a run (an index into the results' runs), or of its trainings. */
uint64_t source_run_size(const struct source *source, const struct report_scenario *scenario,
                         size_t run);

/* Begins a sheet about `subject` in the scenario (NULL: all). Its caption is "LEAD Means of 5 seeds
 * of 10,000 requests; bars: 95 % intervals. Latency profile: …". False: as for sheet_begin. */
bool source_sheet(const struct source *source, const struct report_scenario *scenario,
                  const struct figure_kind *kind, const char *subject, const char *lead,
                  struct figure_list *list, struct sheet *sheet, struct error *error);

/* A sentence for a caption if runs of the scenarios are not stationary, else "". */
const char *source_length_warning(const struct report *report, const struct report_scenario *first,
                                  size_t scenarios);

/* "In all runs: requests=1500. Latency profile: measured.": settings that titles omit, and the
 * evidence grade if the file has it. It lives as long as the report. */
const char *source_basis(const struct source *source, const struct report_scenario *scenario);

/* Returns whether values of the metric span decades: latencies near and beyond the capacity. */
bool source_spans_decades(const struct metric *metric);

#endif
