/* Claims: what published systems are known for, each an expectation (results/report/expectation.h)
 * with a sweep that can show it.
 *
 * A claim is one effect, of which the standing is judged as that of a published figure
 * (results/report/reproduction_check.h). Its verdict is one of:
 * - shown: the standing is "holds".
 * - contradicted: the claim has a sign, and the whole interval has the other one. The sign is that
 *   of an expected range that lies on one side of the neutral value (ratio 1, difference 0). A
 *   claim without a sign is contradicted if the whole interval is outside the range: an exact or
 *   a measured value, a metric of one policy, a range that includes the neutral value.
 * - not shown: otherwise. The interval is undecided, or its sign is right and its size is not, or
 *   there is no interval.
 */
#ifndef ESGSIM_RESULTS_REPORT_CLAIM_H
#define ESGSIM_RESULTS_REPORT_CLAIM_H

#include "results/report/reproduction_check.h"

enum claim_verdict { CLAIM_SHOWN, CLAIM_NOT_SHOWN, CLAIM_CONTRADICTED, CLAIM_VERDICT_COUNT };

/* Our estimate of a claim, in the units of `low` and `high`. False: ERROR_INPUT that names the
 * claim, because the report has no such contender, or several. */
bool claim_estimate(const struct report *report, const struct expectation *claim,
                    struct estimate *ours, struct error *error);

enum claim_verdict claim_judge(const struct expectation *claim, struct estimate ours);
/* "shown", "not shown", "contradicted". */
const char *claim_verdict_name(enum claim_verdict verdict);

/* Prints the claims with our estimates (`ours` has one per claim) as a table, with `details` also
 * the sources and notes. False: ERROR_RUN. */
bool claims_text(const struct expectations *claims, const struct estimate *ours, bool details,
                 FILE *out, struct error *error);
/* The same with all details as one JSON object, which the caller deletes. */
cJSON *claims_json(const struct expectations *claims, const struct estimate *ours);

#endif
