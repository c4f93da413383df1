/* The life of one request, from a results file recorded with "record": "all": when each stage was
 * ready, for what it waited, what was decided, where it ran with whom, what that took and cost.
 *
 * Everything follows from the recorded rows; nothing is simulated again. A stage's time from ready
 * to finish is exactly the sum of its parts, and the latency of a request is the sum over the
 * stages of its longest path, which begins where the request came and ends in the stage that ended
 * last.
 *
 * Why a job waited is told as far as rows can tell: the time charged for its own decision; time in
 * which the controller was deciding other things; time in which no invoker had the vCPUs and GPU
 * units of the configuration that it got in the end; time in which its instance ran others. What is
 * left is the policy's doing, or a lack of memory or of a MIG placement, which no row records.
 */
#ifndef ESGSIM_RESULTS_EXPLAIN_H
#define ESGSIM_RESULTS_EXPLAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "results/store.h"
#include "sim/error.h"

/* Parts of a stage's time, ns. They add up to its time from ready to finish. */
struct stage_time {
    sim_time_t deciding;  /* its own decision */
    sim_time_t behind;    /* the controller decided other things */
    sim_time_t no_room;   /* no invoker had what its configuration takes */
    sim_time_t instance;  /* its instance ran other batches */
    sim_time_t held_back; /* none of these */
    sim_time_t transfer;
    sim_time_t cold;
    sim_time_t alone;  /* execution, had no one else been on the GPU */
    sim_time_t slowed; /* by co-runners */
};

struct explained_stage {
    const char *name, *function; /* of the configuration's JSON */
    const struct job_row *job;   /* NULL: it never ran */
    const struct batch_row *batch;
    const struct decision_row *decision; /* NULL: not in the record */
    const uint64_t *mates;               /* requests that shared the batch; jobs - 1 of them */
    uint32_t gpu;                        /* of the invoker; SIM_NONE: none */
    uint32_t co_runners;                 /* batches that executed on its GPU meanwhile */
    uint32_t predecessors[RECORD_MAX_STAGES], predecessor_count; /* indices of stages */
    bool on_path;                                                /* the longest one */
    struct stage_time time;
};

struct explanation {
    const struct summary_row *run;
    const struct request_row *request;
    const char *application;
    struct explained_stage stages[RECORD_MAX_STAGES]; /* as the application lists them */
    uint32_t stage_count;
    struct stage_time path; /* summed over the longest path; it adds up to the latency */
    void *owned;            /* frees with explanation_free */
};

/* `run`, `record` and `results` must outlive the explanation. NULL: ERROR_INPUT where the run has
 * no such request or rows contradict one another, ERROR_RUN where memory is short. O(rows). */
struct explanation *explanation_build(const struct summary_row *run,
                                      const struct run_record *record, uint64_t request,
                                      struct error *error);
void explanation_free(struct explanation *explanation);

/* In words. */
void explanation_text(const struct explanation *explanation, FILE *out);
/* One object. False: ERROR_RUN, memory. */
bool explanation_json(const struct explanation *explanation, FILE *out, struct error *error);

#endif
