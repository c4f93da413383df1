/* The chart of a decision: paths by time and cost, and what keeps each from being found. */
#ifndef ESGSIM_RESULTS_INSPECT_DECISION_CHART_H
#define ESGSIM_RESULTS_INSPECT_DECISION_CHART_H

#include "results/inspect/chart.h"
#include "sched/paths/decision.h"

/* Rows of equal cost and columns of equal time, so many of each. No row: the paths cost the same.
 * The decision's arena has the chart. */
struct chart decision_chart(const struct decision *decision, const struct cloud *cloud, size_t rows,
                            size_t columns);

#endif
