/* Figures of some policies only: views of a report or a comparison without the others. */
#ifndef ESGSIM_PLOTS_SELECTION_H
#define ESGSIM_PLOTS_SELECTION_H

#include "results/compare/compare.h"
#include "results/report/report.h"

/* Makes `view` a copy of `report` with only the contenders whose label, title or policy with all
 * its parameters is one of `names`, and only the scenarios that have such a contender. So "esg" is
 * the policy without parameters; with `variants` it is every contender of that policy. The copy has
 * no curves. It borrows all else from the report, which must outlive it. Titles, and so the names
 * of variants, remain those of the whole report. False: ERROR_INPUT if a name is none of the
 * report's; the message lists those. */
bool selection_report(const struct report *report, const char *const *names, size_t count,
                      bool variants, struct report *view, struct error *error);

/* What figures of many contenders show. views[0]: the contenders that the sweep's "show" names, or
 * else all where they are no more than SHOWN_MOST or of one policy, or the first SHOWN_MOST
 * policies; then, pale, the first contender of each other policy, or all of one policy alone.
 * views[1]: beside other policies, all contenders of those that have several; it may have no
 * scenario. False: all are shown, and the views are of no use. */
enum { SHOWN_MOST = 6 };
bool selection_shown(const struct report *report, struct report views[2]);

/* selection_report for a comparison: the runs whose policy or label is one of `names`. The list of
 * runs is of the arena. */
bool selection_comparison(const struct comparison *against, const char *const *names, size_t count,
                          struct arena *arena, struct comparison *view, struct error *error);

#endif
