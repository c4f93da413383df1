/* Decides whether the runs of a results file reproduce a published figure.
 *
 * A published figure (results/expect/expectation.h) is a claim about pairs of policy and setting:
 * each policy that it names ("against" for a comparison, else "policy") in each setting that it
 * names (by default every scenario of the file). Each pair is judged separately, by comparing the
 * 95 % interval over the seeds (statistics.h) with [low, high]. The interval is paired if two
 * policies are compared. A bound that is not given is infinite. A pair's standing is one of:
 * - holds: the whole interval is within [low, high].
 * - below: the whole interval is below `low`.
 * - above: the whole interval is above `high`.
 * - undecided: the interval contains `low` or `high`.
 * - one seed: there is no interval. A figure with `deterministic` is judged by the value instead.
 * - undefined: the formula has no value, because it is relative to a hit rate of 0 in any seed or
 *   to a cost of 0, or because the policy does not have the metric.
 * - no run: the file has no such run, or no run to pair it with.
 * - runs missing: runs of a policy of the pair are missing from the sweep, such as failed ones.
 * - assumed: the figure is a time of decisions, and the experiment states how long they take.
 *
 * The verdict over all pairs, including those without a run, if no run of their policies is missing
 * from the sweep (else it is: cannot be said):
 * - reproduced: all pairs hold.
 * - partly: some pairs hold, but not all.
 * - not: no pair holds, and at least one is below or above.
 * - cannot be said: no pair holds, and none is below or above.
 * - assumed: so are all pairs that ran. Otherwise such pairs do not count.
 *
 * The scenarios of a file that differ in nothing but the setting are of one *world*: one set of
 * assumptions, such as a cluster and a latency profile. Each policy also has an *average* in each
 * world: the figure's formula applied to the averages over the settings, seed by seed
 * (results/report/paired.h). It has a standing, but the verdict does not depend on it.
 *
 * Intervals are not corrected for multiple comparisons: of many, about one in twenty misses its
 * true mean. A comparison uses the scenario's first variant of ESG and the first variant of the
 * other policy. Other variants are our own experiments and appear only in the tables of
 * comparisons. A figure with `comparison` uses all contenders that have the names it
 * gives; of two of one policy the parameters that are not in the names are the same.
 * "above" does not confirm a claim, because a range claims both its ends.
 */
#ifndef ESGSIM_RESULTS_EXPECT_REPRODUCTION_CHECK_H
#define ESGSIM_RESULTS_EXPECT_REPRODUCTION_CHECK_H

#include "results/expect/expectation.h"

enum standing {
    STANDING_HOLDS,
    STANDING_BELOW,
    STANDING_ABOVE,
    STANDING_UNDECIDED,
    STANDING_ONE_SEED,
    STANDING_UNDEFINED,
    STANDING_NO_RUN,
    STANDING_INCOMPLETE,
    STANDING_ASSUMED,
    STANDING_COUNT
};

enum verdict {
    VERDICT_REPRODUCED,
    VERDICT_PARTLY,
    VERDICT_NOT,
    VERDICT_UNKNOWN,
    VERDICT_ASSUMED,
    VERDICT_COUNT
};

/* A policy in a setting, or on average over the settings of a world. Texts are owned by the report
 * or the expectations. */
struct verdict_pair {
    const struct report_scenario *scenario; /* NULL: the setting was not run */
    size_t contender;                       /* index in the scenario; REPORT_NONE: not run there */
    const char *setting; /* title of the scenario, or the name in the reference file */
    const char *policy;  /* title of the contender, or the name in the reference file */
    const char *name;    /* of the policy in the reference file */
    size_t settings;     /* of an average: those with a run of the policy */
    struct estimate ours;
    enum standing standing;
};

struct judgement {
    const struct expectation *figure;
    const struct report_scenario *world; /* the first scenario of the one world; NULL: all */
    struct judgement *apart;             /* of all worlds: those in which a pair has run, judged
                                            each alone, without a sentence */
    size_t apart_count;
    const char *range; /* "61 to 80 %" */
    enum verdict verdict;
    size_t worlds;              /* number of worlds that the pairs are of */
    struct verdict_pair *pairs; /* sorted by policy, then in the order of the scenarios */
    size_t pair_count;
    size_t counts[STANDING_COUNT];
    bool incomplete;               /* runs of a policy of the figure are missing */
    struct verdict_pair *averages; /* in the order of the pairs; none for several worlds */
    size_t average_count;
    const char *sentence; /* one sentence: the verdict, the range of our means, and the standing of
                       the pairs, which it names if they are of one world */
};

/* Judges all figures, for the report's printers, in place of those it had. */
void report_judge(struct report *report, const struct expectations *expected);
/* Loads a results file, and reports and judges it; `expected` NULL: no figures are published. NULL:
 * as for results_load. judged_close frees the report and its results (NULL allowed). */
struct report *judged_open(const char *path, const struct expectations *expected,
                           struct error *error);
void judged_close(struct report *report);
/* The sentence of a judgement that has all else. */
const char *verdict_sentence(const struct report *report, const struct judgement *judgement);

/* "reproduced", "partly", "not", "cannot be said", "assumed". */
const char *verdict_name(enum verdict verdict);
/* "holds", "below", "above", "undecided", "one seed", "undefined", "no run", "runs missing",
 * "assumed". */
const char *standing_name(enum standing standing);

/* Returns whether two scenarios are of one world. */
bool verdict_same_world(const struct report_scenario *one, const struct report_scenario *other);
/* Whether the scenario is the first of its world in the report. */
bool verdict_begins_world(const struct report *report, size_t scenario);

/* paired_estimate of what is expected, in the units of its bounds. */
struct estimate paired_expected(const struct report *report, const struct paired_contenders *pairs,
                                size_t count, const struct expectation *expectation);

/* The standing of an estimate in [low, high]; NAN: no such bound. */
enum standing standing_of(double low, double high, struct estimate ours);

/* Whether the file has a run of the policy, which parameters may follow and are ignored. O(runs).
 */
bool verdict_policy_ran(const struct report *report, const char *policy);

/* Decimals to show of our estimate: 1 of per cent and points, otherwise four digits. */
int verdict_decimals(const struct expectation *figure, double mean);

/* "61 to 80 %", "at most 10 us". `unit` "" or "1": none. */
const char *verdict_range(struct arena *arena, double low, double high, const char *unit);

#endif
