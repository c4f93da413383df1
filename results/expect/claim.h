/* Claims: what published systems are known for, each an expectation (results/expect/expectation.h)
 * with a sweep that can show it.
 *
 * A claim is one effect. No effect is the ratio 1, and the difference or gain 0. A claim has the
 * direction in which the published effect lies from there. A single policy has none, nor has a
 * range that includes no effect. The verdict is one of:
 * - shown: the whole interval is where the group wants it: in the range; of size in the range that
 *   CLAIM_FACTOR widens, unless it includes no effect; of sign in the direction.
 * - sign only: a size that is not shown, whose whole interval has the direction.
 * - contradicted: the whole interval has the other direction; of self-check and real, without a
 *   direction, it misses the range.
 * - not shown: otherwise, also where there is no interval.
 */
#ifndef ESGSIM_RESULTS_EXPECT_CLAIM_H
#define ESGSIM_RESULTS_EXPECT_CLAIM_H

#include "results/expect/reproduction_check.h"

enum claim_verdict { CLAIM_SHOWN, CLAIM_SIGN_ONLY, CLAIM_NOT_SHOWN, CLAIM_CONTRADICTED };

/* Our estimate of a claim, in the units of `low` and `high`. False: ERROR_INPUT that names the
 * claim, because the report has no such contender, or several. */
bool claim_estimate(const struct report *report, const struct expectation *claim,
                    struct estimate *ours, struct error *error);

enum claim_verdict claim_judge(const struct expectation *claim, struct estimate ours);
/* Our mean / the published effect, the nearer end of a range; 1 within it. NAN: there is none. */
double claim_quotient(const struct expectation *claim, struct estimate ours);
/* "shown", "sign only", "not shown", "contradicted". */
const char *claim_verdict_name(enum claim_verdict verdict);

/* Prints the claims with our estimates (`ours` has one per claim) as a table, with `details` also
 * the sources and notes. False: ERROR_RUN. */
bool claims_text(const struct expectations *claims, const struct estimate *ours, bool details,
                 FILE *out, struct error *error);
/* The same with all details as one JSON object, which the caller deletes. */
cJSON *claims_json(const struct expectations *claims, const struct estimate *ours);

#endif
