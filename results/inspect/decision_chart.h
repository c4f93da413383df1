/* The charts of a decision: paths drawn at random, by time and cost, and what keeps each from being
 * found. */
#ifndef ESGSIM_RESULTS_INSPECT_DECISION_CHART_H
#define ESGSIM_RESULTS_INSPECT_DECISION_CHART_H

#include "results/inspect/chart.h"
#include "sched/paths/decision.h"

/* Makes a chart to print, and one for a picture; equal for equal decisions. No row: the paths cost
 * the same. The decision's arena has them. */
void decision_charts(const struct decision *decision, struct chart *printed, struct chart *picture);

#endif
