/* Is a published figure reproduced by the runs at hand?
 *
 * A figure of a reference file is a claim about pairs: each policy that it names ("against" for a
 * comparison, else "policy") in each setting that it names (none named: every scenario of the
 * file). Each pair is judged alone, by the 95 % Student t interval over the seeds, paired where two
 * policies are compared, against [low, high], an end that is not given being open:
 *
 *   holds      the whole interval lies within
 *   below      the whole interval lies under `low`
 *   above      the whole interval lies over `high`
 *   undecided  the interval lies across an end
 *   one seed   there is no interval
 *   undefined  the formula has no value: a gain relative to a hit rate of 0 in any seed, a saving
 * as a share of a cost of 0, a figure that the policy does not have no run     the file has no such
 * run, or none to pair it with
 *
 * The verdict over all pairs, those without a run included:
 *
 *   reproduced      every pair holds
 *   partly          some pair holds, but not every one
 *   not             no pair holds, and at least one is below or above
 *   cannot be said  no pair holds, and none is below or above
 *
 * The intervals are each pair's own: with many pairs, about one in twenty misses its true mean. A
 * comparison is of the scenario's first variant of ESG with the first of the other policy: further
 * variants are experiments of our own, and stand in the tables of comparisons. "above" is no
 * confirmation: a claim is a range, and both its ends are claimed.
 */
#ifndef ESGSIM_RESULTS_VERDICT_H
#define ESGSIM_RESULTS_VERDICT_H

#include "results/report.h"

enum standing {
    STANDING_HOLDS,
    STANDING_BELOW,
    STANDING_ABOVE,
    STANDING_UNDECIDED,
    STANDING_ONE_SEED,
    STANDING_UNDEFINED,
    STANDING_NO_RUN,
    STANDING_COUNT
};

enum verdict { VERDICT_REPRODUCED, VERDICT_PARTLY, VERDICT_NOT, VERDICT_UNKNOWN };

/* Texts belong to the report or the reference. */
struct verdict_pair {
    const struct report_scenario *scenario; /* NULL: the setting did not run */
    size_t contender;                       /* of the scenario; REPORT_NONE: did not run there */
    const char *setting;                    /* title of the scenario, or the name asked for */
    const char *policy;                     /* title of the contender, or the name asked for */
    struct estimate ours;
    enum standing standing;
};

struct judgement {
    const struct reference_figure *figure;
    enum verdict verdict;
    struct verdict_pair *pairs; /* by policy, then in the order of the scenarios */
    size_t pair_count;
    size_t counts[STANDING_COUNT];
    char *sentence; /* one plain sentence: the verdict, how far ours reaches, which pairs do what */
};

/* False: ERROR_RUN, memory; nothing to clear. */
bool verdict_judge(const struct report *report, const struct reference_figure *figure,
                   struct judgement *judgement, struct error *error);
void judgement_clear(struct judgement *judgement);

/* "reproduced", "partly", "not", "cannot be said". */
const char *verdict_name(enum verdict verdict);
/* "holds", "below", "above", "undecided", "one seed", "undefined", "no run". */
const char *standing_name(enum standing standing);

/* "61 to 80 %", "at most 10 us". */
void verdict_range(const struct reference_figure *figure, char *text, size_t size);

#endif
