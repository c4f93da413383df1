/* Claims: what published systems are known for, each an expectation (results/report/expectation.h)
 * with a sweep that can show it.
 *
 * The verdicts are defined in results/report/reproduction_check.h.
 */
#ifndef ESGSIM_RESULTS_REPORT_CLAIM_H
#define ESGSIM_RESULTS_REPORT_CLAIM_H

#include "results/report/reproduction_check.h"

/* Our estimate of a claim, in the units of `low` and `high`. False: ERROR_INPUT that names the
 * claim, because the report has no such contender, or several. */
bool claim_estimate(const struct report *report, const struct expectation *claim,
                    struct estimate *ours, struct error *error);

/* The verdict on `ours`; see reproduction_check.h. */
enum claim_verdict claim_judge(const struct expectation *claim, struct estimate ours);

/* Print the claims with our estimates (`ours` has one per claim) as a table, with `details` also
 * the sources and notes; or as one JSON object. False: ERROR_RUN. */
bool claims_text(const struct expectations *claims, const struct estimate *ours, bool details,
                 FILE *out, struct error *error);
bool claims_json(const struct expectations *claims, const struct estimate *ours, FILE *out,
                 struct error *error);

#endif
