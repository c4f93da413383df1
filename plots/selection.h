/* Figures of some policies only: views of a report or a comparison without the others. */
#ifndef ESGSIM_PLOTS_SELECTION_H
#define ESGSIM_PLOTS_SELECTION_H

#include "results/compare/compare.h"
#include "plots/figure.h"
#include "results/report/report.h"

/* Makes `views` copies of the report, without curves, with what the list's figures show. They
 * borrow all else from it, also the titles. With `policies`, views[0] has the contenders whose
 * label, title or policy with all its parameters is one of them; with `variants` "esg" is every
 * contender of that policy. Else it has those of the sweep's "show", or all where they are at most
 * SHOWN_MOST or of one policy, or the first SHOWN_MOST policies; then, pale, the first contender of
 * each other policy, or all of one policy alone. views[1] has all contenders of policies that have
 * several, beside other policies; it may have no scenario. A note says so. With `all`, views[0] is
 * the report. False: ERROR_INPUT if a policy is none of the report's; the message lists those. */
enum { SHOWN_MOST = 6 };
bool selection_views(const struct report *report, struct figure_list *list, struct report views[2],
                     struct error *error);

/* The same for a comparison: the runs whose policy or label is one of `names`. The list of
 * runs is of the arena. */
bool selection_comparison(const struct comparison *against, const char *const *names, size_t count,
                          struct arena *arena, struct comparison *view, struct error *error);

#endif
