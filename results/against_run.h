/* The inside of the comparison: what is computed of one pair. */
#ifndef ESGSIM_RESULTS_AGAINST_RUN_H
#define ESGSIM_RESULTS_AGAINST_RUN_H

#include "results/against.h"

/* Which function each stage of each application runs, and what they are called; of the resolved
 * experiment. */
struct against_names {
    char **functions, **applications;
    size_t function_count, application_count;
    uint32_t *stage_function; /* [application × RECORD_MAX_STAGES + stage] */
    bool closed;              /* users who ask again: arrivals follow from answers */
};

/* Fills run->parts from the requests of both sides. False: ERROR_INPUT where they did not meet the
 * same requests; ERROR_RUN, memory. */
bool against_fill_parts(struct against_run *run, const struct against_names *names,
                        const struct run_record *const sides[2], struct error *error);

/* Fills run->batches, ->company and what the difference of executions is made of. */
bool against_fill_batches(struct against_run *run, const struct against_names *names,
                          const struct run_record *const sides[2], struct error *error);

#endif
