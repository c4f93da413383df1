/* The overview of a results file: one table per world (results/expect/reproduction_check.h), policy
 * by setting, with the hit rate and the cost of each: "12.5 ± 13 at 0.378"; of trainings alone with
 * the mean completion time and its 99th percentile: "32.30, p99 395".
 *
 * If no world has two settings, one table has all scenarios as its columns. A table wraps into
 * several where its columns would be wider than eight such cells.
 */
#ifndef ESGSIM_RESULTS_PAGE_OVERVIEW_H
#define ESGSIM_RESULTS_PAGE_OVERVIEW_H

#include "results/report/report.h"

/* Whether the report has an overview: two scenarios or more, and no curves, which summarise them.
 */
bool overview_exists(const struct report *report);

/* Prints what the cells are, and the tables. O(scenarios² + scenarios × contenders²). */
void overview_print(const struct report *report, bool html, FILE *out);

#endif
