/* The columns of a report's tables, as sim/metrics.def describes them: one choice of metrics,
 * headers, scales and digits for the text report and the HTML page.
 */
#ifndef ESGSIM_RESULTS_REPORT_COLUMNS_H
#define ESGSIM_RESULTS_REPORT_COLUMNS_H

#include "results/report.h"

enum { REPORT_COLUMNS = 16 }; /* most of a table */

/* The metrics of a table in the order of metrics.def; returns how many. `page`: for the HTML page,
 * which shows more. O(metrics). */
size_t report_columns(enum metric_table table, bool page,
                      const struct metric *columns[static REPORT_COLUMNS]);

/* report_estimate in the unit of the column's header. */
struct estimate report_column_estimate(const struct report *report,
                                       const struct report_contender *contender,
                                       const char *application, const struct metric *metric);

/* Decimals for the whole column, whatever the contender and the application. */
int report_column_decimals(const struct report *report, const struct report_scenario *scenario,
                           const struct metric *metric);

/* The bound of a metric for the scenario, .n = 0 where it has none. It depends on arrivals and
 * their noise only, so it is equal for all policies of one seed. */
struct estimate report_column_bound(const struct report *report,
                                    const struct report_scenario *scenario, const char *application,
                                    const struct metric *metric);

#endif
