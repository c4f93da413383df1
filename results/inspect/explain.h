/* Explanation of one request from a results file recorded with "record": "all". For each stage it
 * shows when it was ready, why it waited, the decision, where and with which co-runners it
 * executed, and its time and cost.
 *
 * The explanation uses recorded rows only; nothing is simulated again. A stage's time from ready to
 * finish is exactly the sum of its components. A request's latency is the sum over the stages of
 * its longest path, from the request's arrival to the stage that finished last.
 *
 * The parts of a job's time are those that the run recorded (sim/base/parts.def).
 */
#ifndef ESGSIM_RESULTS_INSPECT_EXPLAIN_H
#define ESGSIM_RESULTS_INSPECT_EXPLAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "results/inspect/chart.h"
#include "results/store/store.h"
#include "sched/choices/tree.h"
#include "sim/base/error.h"
#include "workloads/world/outline.h"

/* The parts of a stage's time, ns. They add up to it: from when it was ready, a first stage from
 * the request's arrival, to its finish. */
struct stage_time {
    sim_time_t parts[REQUEST_PARTS];
};

struct explained_stage {
    const char *name, *function;
    const struct job_row *job; /* NULL: it never ran to its end */
    const struct batch_row *batch;
    const struct lost_row *lost;         /* its batch was lost in an outage; NULL: it was not */
    const struct decision_row *decision; /* NULL: not recorded */
    const struct choice_row *choice;     /* of policy "tree"; NULL: none */
    const uint64_t *mates; /* requests of the other jobs in the batch; jobs - 1 entries */
    uint32_t gpu;          /* of the invoker; SIM_NONE: none */
    const char *gpu_model; /* NULL: none, or all GPUs of the cluster are of one kind */
    uint32_t co_runners;   /* number of batches that ran on the same GPU during its execution */
    uint32_t predecessors[RECORD_MAX_STAGES], predecessor_count; /* indices of stages */
    bool on_path;                                                /* part of the longest path */
    struct stage_time time;
};

struct explanation {
    struct arena *arena; /* has all but what outlives it */
    const struct summary_row *run;
    const struct request_row *request;
    const char *application;
    struct explained_stage stages[RECORD_MAX_STAGES]; /* as the application lists them */
    uint32_t stage_count;
    struct stage_time path; /* sum over the longest path, equal to the latency */
    struct trees trees;     /* of policy "tree": why each stage was served so; else NULL */
    struct outline outline; /* owns the names */
};

/* Builds the explanation. `run` and `record` must outlive it. Free it with arena_home_free. NULL:
 * ERROR_INPUT if the run has no such request or its rows are inconsistent. O(rows). */
struct explanation *explanation_build(const struct summary_row *run,
                                      const struct run_record *record, uint64_t request,
                                      struct error *error);

/* Makes its chart, which the explanation owns. */
void explanation_chart(const struct explanation *explanation, struct chart *chart);
/* Writes the explanation as text, with the chart. */
void explanation_text(const struct explanation *explanation, FILE *out);
/* Writes it as one JSON object. False: ERROR_RUN, memory exhausted. */
bool explanation_json(const struct explanation *explanation, FILE *out, struct error *error);

/* Writes the requests that ended latest after they were due, or nearest to that: a line for each,
 * or one JSON object, with the largest part of its time. Of the application of that name, or NULL:
 * of all; measured ones that were not dropped, at most `count`. False: ERROR_INPUT, there is none,
 * or no such application, or as for explanation_build; ERROR_RUN. */
bool explanation_worst(const struct summary_row *run, const struct run_record *record,
                       const char *application, size_t count, bool json, FILE *out,
                       struct error *error);

/* ---- Trainings -------------------------------------------------------------------------------
 * Explanation of one training from a results file recorded with "record": "all": its leases, and
 * what its completion time consists of. Recorded rows only; nothing is simulated again. */

/* The parts of a completion time, s. They add up to it. */
struct training_time {
    double waiting;  /* without a gang */
    double restarts; /* with a gang, without progress in restarts */
    double saves;    /* preempted, until its gang was free */
    double lost;     /* with progress that a failure took back */
    double ends;     /* whole iterations: after the last one of a lease */
    double alone;    /* what its iterations take alone, at the proportional share */
    /* What the progress took beyond that: > 0 by trainings beside it, fewer vCPUs, less memory or a
     * slower GPU; < 0: its gang was faster than the proportional share. */
    double slowed;
};

/* The parts, for a finished training, from its row and leases. */
struct training_time training_time_split(const struct training_result_row *row);

/* Makes the chart of training `number`: its waits and leases, then each lease in a row, in the
 * chart's arena. ERROR_INPUT: there is no such training. */
bool training_chart(const struct summary_row *run, const struct run_record *record, uint64_t number,
                    struct chart *chart, struct error *error);
/* Prints the explanation of an existing training as one JSON object, or as text with the chart. */
bool training_explain(const struct summary_row *run, const struct run_record *record,
                      uint64_t number, bool json, const struct chart *chart, FILE *out,
                      struct error *error);

#endif
