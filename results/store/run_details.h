/* The descriptive texts and the detailed rows of one run in a results file.
 *
 * Rows are read column by column, so a figure reads only the columns that it draws.
 */
#ifndef ESGSIM_RESULTS_STORE_RUN_DETAILS_H
#define ESGSIM_RESULTS_STORE_RUN_DETAILS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "results/store/store.h"
#include "workloads/world/outline.h"

struct run_details; /* a results file open for reading */

/* Opens a file. NULL: ERROR_INPUT, as for results_load. Close with run_details_close (NULL is
 * allowed).
 */
struct run_details *run_details_open(const char *path, struct error *error);
void run_details_close(struct run_details *details);

/* Returns the text attribute `name` of the run with that hash (record.h, RUN_METADATA; also
 * "compiler", "gsl_version", "record", …), until the file is closed. NULL if there is no such run
 * or attribute. */
const char *run_details_text(const struct run_details *details, const char *hash, const char *name);

/* Returns the numeric attribute `name`; NAN if there is no such run or attribute. */
double run_details_number(const struct run_details *details, const char *hash, const char *name);

/* The columns of a request that explain its latency. */
struct detail_request {
    uint8_t measured;
    uint8_t dropped;
    sim_time_t arrival_ns, finish_ns, slo_ns;
    sim_time_t queue_ns, transfer_ns, cold_ns, exec_ns;
};

/* Returns whether the run has at least one row of that kind ("requests", "timeline", …). */
bool run_details_has(const struct run_details *details, const char *hash, const char *table);

/* Reads a table of the run, warm-up included: requests and batches in order of their end, trainings
 * of their arrival. *rows is of the arena. False: ERROR_INPUT if it was not recorded or is
 * damaged.
 */
#define DETAILS_OF(table, row_type)                                                                \
    bool run_details_##table(struct arena *arena, const struct run_details *details,               \
                             const char *hash, struct row_type **rows, size_t *count,              \
                             struct error *error)
DETAILS_OF(requests, detail_request);
DETAILS_OF(batches, batch_row);
DETAILS_OF(trainings, training_result_row);
DETAILS_OF(timeline, timeline_row);
DETAILS_OF(choices, choice_row);

/* Hands the choices of every run of a file to `take`, whose false ends the reading. `outline`
 * becomes that of the first run, if it is empty. ERROR_INPUT if a run has no choices of the
 * teacher, which is its policy or the shadow that was asked in its states, if the runs
 * have several policies, or other functions than the outline: rows have their numbers. */
bool choices_read(struct arena *arena, const struct results *results, const char *teacher,
                  struct outline *outline,
                  bool (*take)(void *context, const struct results *results, size_t run,
                               const struct choice_row *rows, size_t count, struct error *error),
                  void *context, struct error *error);

#endif
