/* The verdicts on published figures alone, and which assumptions change them.
 *
 * For each figure a table has one row per world (results/report/reproduction_check.h) of one or
 * several results files: the verdict, how many pairs hold, how many averages over the settings
 * hold, and these averages with their intervals. Worlds in which no pair has run have no row.
 */
#ifndef ESGSIM_RESULTS_REPORT_VERDICT_TABLE_H
#define ESGSIM_RESULTS_REPORT_VERDICT_TABLE_H

#include "results/report/report.h"
#include "results/report/reproduction_check.h"

/* Print the overview of each file that has one (results/report/overview.h), the tables, and the
 * verdict on each figure over all worlds of each file. False: ERROR_RUN. */
bool verdicts_text(const struct report *const *reports, size_t count,
                   const struct expectations *reference, FILE *out, struct error *error);
/* The same as CSV, one line per figure ("all"), world, pair and average of each file, or as one
 * JSON object, with the figures and sentences of each file. */
bool verdicts_csv(const struct report *const *reports, size_t count,
                  const struct expectations *reference, FILE *out, struct error *error);
bool verdicts_json(const struct report *const *reports, size_t count,
                   const struct expectations *reference, FILE *out, struct error *error);
/* The tables alone. */
bool verdicts_tables(const struct report *const *reports, size_t count,
                     const struct expectations *reference, FILE *out, struct error *error);

/* One figure's table for the HTML page. */
bool verdict_table_html(const struct report *report, const struct expectation *figure, FILE *out,
                        struct error *error);

/* Judges the figure in the next world in which a pair has run, from scenario *next on, and advances
 * *next. `*world` is the first scenario of that world, and the caller clears the judgement; NULL:
 * no such world is left. False: ERROR_RUN. */
bool verdict_next_world(const struct report *report, const struct expectation *figure, size_t *next,
                        const struct report_scenario **world, struct judgement *judgement,
                        struct error *error);

/* A world in words: "esg-16-mig, esg-reconstructed, initial=16". Files are named without folder and
 * ending, keys by their last part. If the sweep sets nothing, the experiment's name. */
void verdict_world_title(const struct report_scenario *scenario, char *text, size_t size);

/* Whether the scenario is the first of its world in the report. */
bool verdict_begins_world(const struct report *report, size_t scenario);

#endif
