/* The simulator against queueing theory.
 *
 * Each check runs one of workloads/experiments/theory/ with R different seeds. It compares the mean
 * of the R figures with a closed form (sim/engine/queueing_theory.h), evaluated on the experiment
 * as loaded. The R figures are independent, and each is an average over very many requests. So
 * their mean has a Student t interval.
 *
 * For a correct simulator about one in twenty of the 95 % intervals misses the theoretical value.
 * The simulator fails in two cases. In the first, so many intervals miss it that a binomial count
 * would be as large with a probability below 0.001. In the second, an interval of one check misses
 * it at a joint level of 0.001 over all checks (Bonferroni). Seeds are fixed, so the result is
 * reproducible.
 */
#ifndef ESGSIM_SIM_RUN_THEORY_H
#define ESGSIM_SIM_RUN_THEORY_H

#include "sim/engine/statistics.h"
#include "sim/run/run_once.h"

enum { THEORY_CHECKS = 22, THEORY_SEEDS_MOST = 1000 };

struct theory_check {
    const char *name;
    const char *metric; /* of what is counted, the share of the requests */
    const char *file;
    double (*theory)(const struct experiment *experiment); /* in the unit */
    const char *settings; /* KEY=VALUE, separated by blanks; at most four */
};
extern const struct theory_check theory_checks[THEORY_CHECKS];

struct theory_outcome {
    double theory;
    struct estimate ours, joint; /* with its 95 % interval, and with that of the joint level */
    uint64_t requests;
};

/* Runs a check with `seeds` (2 or more) that no other check uses. False: as for resolved_run_load
 * and resolved_run_simulate. */
bool theory_run(size_t check, size_t seeds, struct theory_outcome *outcome, struct error *error);

/* "inside" or "outside" the 95 % interval, or "WRONG": outside the joint one. */
const char *theory_verdict(const struct theory_outcome *outcome);

struct theory_summary {
    unsigned outside; /* 95 % intervals that miss the theoretical value */
    unsigned wrong;   /* joint intervals that miss it */
    double chance;    /* probability of at least `outside` misses */
    bool passed;
};
/* Of the outcomes of all checks. */
struct theory_summary theory_summarise(const struct theory_outcome outcomes[THEORY_CHECKS]);

#endif
