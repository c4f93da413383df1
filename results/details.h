/* What a results file keeps of one run beyond its figures: the texts that describe it, and its
 * detailed rows as far as recorded, read column by column so that a figure reads no more of a file
 * than it draws.
 */
#ifndef ESGSIM_RESULTS_DETAILS_H
#define ESGSIM_RESULTS_DETAILS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "results/store.h"

struct details; /* a results file, open for reading */

/* NULL: ERROR_INPUT, as results_load. Close with details_close (NULL is allowed). */
struct details *details_open(const char *path, struct error *error);
void details_close(struct details *details);

/* The attribute `name` of the run of that hash (record.h, RUN_FACTS; and "compiler", "gsl_version",
 * "record", …); the caller frees. NULL where the run or the attribute is not there. */
char *details_text(const struct details *details, const char *hash, const char *name);

/* The number of that name; NAN where the run or the attribute is not there. */
double details_number(const struct details *details, const char *hash, const char *name);

/* Of a request, what its latency is made of. */
struct detail_request {
    uint8_t measured;
    uint8_t dropped;
    sim_time_t arrival_ns, finish_ns, slo_ns;
    sim_time_t queue_ns, transfer_ns, cold_ns, exec_ns;
};

/* True where the run has rows of that kind ("requests", "timeline", …), at least one. */
bool details_has(const struct details *details, const char *hash, const char *table);

/* The run's requests in order of arrival, warm-up included; the caller frees *rows. False:
 * ERROR_INPUT where they were not recorded or are damaged. */
bool details_requests(const struct details *details, const char *hash, struct detail_request **rows,
                      size_t *count, struct error *error);

/* The run's batches in order of their end, warm-up included; the caller frees *rows. */
bool details_batches(const struct details *details, const char *hash, struct batch_row **rows,
                     size_t *count, struct error *error);

/* The run's samples over time; the caller frees *rows. */
bool details_timeline(const struct details *details, const char *hash, struct timeline_row **rows,
                      size_t *count, struct error *error);

#endif
