/* The tables of one scenario, as text or HTML. */
#ifndef ESGSIM_RESULTS_PAGE_SCENARIO_TABLES_H
#define ESGSIM_RESULTS_PAGE_SCENARIO_TABLES_H

#include "results/report/report.h"

/* Metrics of requests, a group of policies and the bound for each application; in text also for all
 * applications together. */
void scenario_by_application(const struct report *report, const struct report_scenario *scenario,
                             bool html, FILE *out);
/* The metrics of the groups from `first` to `last`, a row per policy, for all applications
 * together. The text has the title of `first`. METRIC_RESULTS: with the bound in the foot. */
void scenario_overall(const struct report *report, const struct report_scenario *scenario,
                      enum metric_group first, enum metric_group last, bool html, FILE *out);
/* The table of trainings, if the scenario's runs have some. */
void scenario_trainings(const struct report *report, const struct report_scenario *scenario,
                        bool html, FILE *out);
/* Prints in one line which place each contender has by its hits (paired_place). One that has more
 * requests dropped than a wish of 95 % allows stands behind, with the place that it would have. */
void scenario_places(const struct report *report, const struct report_scenario *scenario,
                     FILE *out);
/* The paired comparisons of the reference with the others: in text for each application, in HTML
 * for all together. The marks are of all together, by scenario_signs. */
void scenario_comparisons(const struct report *report, const struct report_scenario *scenario,
                          bool html, FILE *out);
/* Per contender, over all applications: whether the reference hits more (1) or fewer (-1), and
 * whether it is cheaper (1) or dearer (-1). 0: not resolved at 5 % by Student's paired t test with
 * Holm's adjustment over all of them, or runs are missing. Returns the number of comparisons.
 * `*signs` has the report's memory. O(contenders^2). */
struct scenario_sign {
    int hits, saving;
};
size_t scenario_signs(const struct report *report, const struct report_scenario *scenario,
                      struct scenario_sign **signs);
/* Returns whether runs of the contender or of the scenario's reference are missing. */
bool scenario_pair_lacks(const struct report_scenario *scenario, size_t contender);

#endif
