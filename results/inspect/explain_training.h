/* Explanation of one training from a results file recorded with "record": "all": its leases, and
 * what its completion time consists of. Recorded rows only; nothing is simulated again. */
#ifndef ESGSIM_RESULTS_INSPECT_EXPLAIN_TRAINING_H
#define ESGSIM_RESULTS_INSPECT_EXPLAIN_TRAINING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "results/store/store.h"
#include "sim/base/error.h"

/* The parts of a completion time, s. They add up to it. */
struct training_time {
    double waiting;  /* without a gang */
    double restarts; /* with a gang, without progress in restarts */
    double alone;    /* what its iterations take alone, at the proportional share */
    /* The rest of the time with a gang: > 0 by trainings beside it, fewer vCPUs, less memory or a
     * slower GPU, and by iterations that a lease's end cut; < 0: its gang was faster than the
     * proportional share. */
    double slowed;
};

/* The parts, for a finished training, from its row and leases. */
struct training_time training_time_split(const struct training_result_row *row);

/* Prints the explanation of training `number` as text or as one JSON object. ERROR_INPUT: there is
 * no such training. */
bool training_explain(const struct summary_row *run, const struct run_record *record,
                      uint64_t number, bool json, FILE *out, struct error *error);

#endif
