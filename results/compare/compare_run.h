/* Computation of one pair's comparison. Private to results/compare/compare*.c. */
#ifndef ESGSIM_RESULTS_COMPARE_COMPARE_RUN_H
#define ESGSIM_RESULTS_COMPARE_COMPARE_RUN_H

#include "results/compare/compare.h"

/* Fills run->parts from the requests of both sides; run->outline is set. False: ERROR_INPUT if the
 * two sides received different requests. */
bool compare_fill_parts(struct compare_run *run, const struct run_record *const sides[2],
                        struct error *error);

/* Fills run->batches, run->company, run->execution_ms and run->time_difference_ms. */
void compare_fill_batches(struct compare_run *run, const struct run_record *const sides[2]);

#endif
