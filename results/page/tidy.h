/* The runs of one or several results files as one table for pandas, R or a spreadsheet.
 *
 * CSV (RFC 4180) with one row per run. Its columns are the file's name, the number of runs
 * that are missing from it, and the columns of /summary:
 * what identifies the run, the keys that a sweep sets, the metrics of all applications together.
 * A key that a run's sweep does not set, and a metric without a value, are empty fields.
 */
#ifndef ESGSIM_RESULTS_PAGE_TIDY_H
#define ESGSIM_RESULTS_PAGE_TIDY_H

#include <stddef.h>
#include <stdio.h>

#include "results/store/store.h"

/* Prints the runs in the order of the files. Keys are in order of appearance. False: ERROR_RUN
 * (the stream failed). O(runs × columns + files × keys²). */
bool tidy_csv(const struct results *const *files, size_t count, FILE *out, struct error *error);

#endif
