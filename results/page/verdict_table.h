/* The verdicts on published figures alone, and which assumptions change them.
 *
 * For each figure a table has one row per world (results/expect/reproduction_check.h) of one or
 * several results files: the verdict, how many pairs hold, how many averages over the settings
 * hold, and these averages with their intervals. Worlds in which no pair has run have no row.
 */
#ifndef ESGSIM_RESULTS_PAGE_VERDICT_TABLE_H
#define ESGSIM_RESULTS_PAGE_VERDICT_TABLE_H

#include "results/expect/reproduction_check.h"
#include "results/report/report.h"

/* Print the overview of each file that has one (results/page/overview.h), the tables, and the
 * verdict on each figure over all worlds of each file. The files' reports are judged by the same
 * figures (report_judge). False: ERROR_RUN. */
bool verdicts_text(const struct report *const *reports, size_t count, FILE *out,
                   struct error *error);
/* The same as CSV, one line per figure ("all"), world, pair and average of each file, or as one
 * JSON object, with the figures and sentences of each file. */
bool verdicts_csv(const struct report *const *reports, size_t count, FILE *out,
                  struct error *error);
bool verdicts_json(const struct report *const *reports, size_t count, FILE *out,
                   struct error *error);
/* The tables alone. */
void verdicts_tables(const struct report *const *reports, size_t count, FILE *out);
/* One figure's verdict over all worlds, with `note` also the note on the figure. */
void verdict_text(const struct judgement *judgement, bool note, FILE *out);

/* One figure's table for the HTML page; none if nothing ran. */
void verdict_table_html(const struct judgement *judgement, FILE *out);

#endif
