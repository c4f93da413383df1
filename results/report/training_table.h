/* Figures of trainings (/training) in reports. */
#ifndef ESGSIM_RESULTS_REPORT_TRAINING_TABLE_H
#define ESGSIM_RESULTS_REPORT_TRAINING_TABLE_H

#include "results/report/report.h"

/* The measures, which are columns of /training. `count` receives their number. */
const struct column *training_measure_columns(size_t *count);
/* The row of a run (an index into results.runs); NULL: it has no trainings. O(rows). */
const struct training_summary_row *training_row_find(const struct results *results, size_t run);
/* Returns whether a run of the scenario has trainings. */
bool training_table_exists(const struct report *report, const struct report_scenario *scenario);
/* Print the scenario's table, if its runs have trainings. False: memory exhausted. */
bool training_table_html(const struct report *report, const struct report_scenario *scenario,
                         FILE *out);
bool training_table_text(const struct report *report, const struct report_scenario *scenario,
                         FILE *out);

#endif
