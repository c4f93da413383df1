/* The columns of a report's tables, generated from sim/base/metrics.def. The text report and
 * the HTML page share metrics, headers, scales and digits. */
#ifndef ESGSIM_RESULTS_PAGE_REPORT_COLUMNS_H
#define ESGSIM_RESULTS_PAGE_REPORT_COLUMNS_H

#include "results/report/report.h"
#include "results/report/table.h"

enum { REPORT_COLUMNS = 32 }; /* maximum per table */

/* The columns of a table of a scenario. */
struct report_columns {
    const struct metric *metrics[REPORT_COLUMNS];
    int decimals[REPORT_COLUMNS];
    size_t count;
};

/* The decimals of values of the metric, the largest of which is that, in the unit of its face. */
int metric_decimals(const struct metric *metric, double largest);

/* The decimals of one value in a column of so many: more, where these would leave it one digit. */
int metric_cell_decimals(const struct metric *metric, int column, double value);

/* The largest absolute value of the metric in a table, in the unit of its face. */
typedef double metric_largest(const void *context, const struct metric *metric);

/* Adds the metrics of the groups that are in those places, in the order of metrics.def: those that
 * are IF_NOTABLE only if their largest value is. */
void metric_columns_select(unsigned places, enum metric_group first, enum metric_group last,
                           metric_largest *largest_of, const void *context,
                           struct report_columns *columns);

/* Prints how many requests of a contender were dropped, and the latencies in ms of those served, if
 * any was dropped: the quantiles of all have no value among dropped ones. */
void report_served_print(FILE *out, const char *name, double drop_rate, double mean, double p50,
                         double p99);

/* report_estimate in the unit of the column's header. */
struct estimate report_column_estimate(const struct report *report,
                                       const struct report_contender *contender,
                                       const char *application, const struct metric *metric);

/* Fills a cell with that estimate. If the values of the seeds differ much (report_seeds_text),
 * text lists them below the table, after the contender and `place`, HTML in the cell. */
void report_column_cell(const struct report *report, const struct report_contender *contender,
                        const char *application, const struct metric *metric, int decimals,
                        const char *place, struct text_table *table, size_t column);

/* What the head of a report says of all runs, as text: seeds, measured requests, and measured
 * trainings of the runs that have some. */
struct run_ranges {
    char seeds[RANGE_TEXT], requests[RANGE_TEXT], warmup[RANGE_TEXT], trainings[RANGE_TEXT];
};
void report_ranges(const struct results *results, struct run_ranges *ranges);

/* Returns whether the contender is on the Pareto front of hit rate and cost, over all applications:
 * it has both, and no other is at least as cheap and as good, and better in one of the two.
 * O(contenders). */
bool report_is_on_front(const struct report *report, const struct report_scenario *scenario,
                        size_t contender);

/* Returns the contender whose runs have the scenario's bounds. They depend only on arrivals and
 * noise, so a sweep computes them for one policy. Several have them: the reference, else the first.
 * NULL: nobody asked for bounds. */
const struct report_contender *report_bounded(const struct report *report,
                                              const struct report_scenario *scenario);

/* Bound of a metric in the scenario, n = 0 if the metric or the scenario has none. Of all
 * applications together the one that knows the cluster's capacity, where that is known. */
struct estimate report_column_bound(const struct report *report,
                                    const struct report_scenario *scenario, const char *application,
                                    const struct metric *metric);

#endif
