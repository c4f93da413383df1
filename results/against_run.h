/* Computation of one pair's comparison. Private to results/against*.c. */
#ifndef ESGSIM_RESULTS_AGAINST_RUN_H
#define ESGSIM_RESULTS_AGAINST_RUN_H

#include "results/against.h"

/* Names in the resolved experiment: the function of each stage of each application. */
struct against_names {
    char **functions, **applications;
    size_t function_count, application_count;
    uint32_t *stage_function; /* [application × RECORD_MAX_STAGES + stage] */
    bool closed;              /* closed-loop users: arrivals depend on responses */
};

/* Fills run->parts from the requests of both sides. False: ERROR_INPUT if the two sides received
 * different requests, ERROR_RUN if memory is exhausted. */
bool against_fill_parts(struct against_run *run, const struct against_names *names,
                        const struct run_record *const sides[2], struct error *error);

/* Fills run->batches, run->company, run->execution_ms and run->time_difference_ms. */
bool against_fill_batches(struct against_run *run, const struct against_names *names,
                          const struct run_record *const sides[2], struct error *error);

#endif
