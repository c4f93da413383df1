/* One decision by itself: which configurations the remaining stages of an application should have,
 * if so much time is left until the deadline.
 *
 * It answers outside a run what a policy asks in each of its decisions (search.h, frontier.h), and
 * how much work the answer took. Messages name the members by the options of `esgsim search`.
 */
#ifndef ESGSIM_SCHED_PATHS_DECISION_H
#define ESGSIM_SCHED_PATHS_DECISION_H

#include "sched/paths/search.h"

/* By the DAG: A* for a chain, the frontier for another. */
enum decision_method {
    DECISION_BY_DAG = -1,
    DECISION_ASTAR,
    DECISION_FRONTIER,
    DECISION_EXHAUSTIVE
};

struct decision_question {
    uint64_t stage;              /* the first that remains */
    uint64_t stages;             /* > 0: only so many, as one group */
    uint64_t k;                  /* paths, 1..SEARCH_MAX_K */
    uint64_t queue_length;       /* upper bound on the first stage's batch, 1..UINT32_MAX */
    double budget_ms;            /* from now to the deadline; may be negative */
    int method;                  /* enum decision_method */
    bool bounded;                /* later batches are at most the first */
    bool time_blade, cost_blade; /* prune A* */
};

struct decision {
    struct arena *arena; /* of all below */
    const struct decision_question *question;
    const struct workload *workload;
    const struct application *application;
    enum decision_method method;
    const struct search_table **tables; /* by stage */
    size_t chain[SEARCH_MAX_STAGES];    /* stages of each path, in order */
    size_t chain_length;
    bool is_chain; /* a path has all remaining stages, or as many as asked for; else the first */
    struct search_result result;
    double *first_best; /* by entry of the first stage's table: cost of its best completion;
                         * INFINITY: none is within the budget */
    bool exact;         /* false: frontiers that may have missed a cheaper path */
    double elapsed_us, build_ms; /* of the search, and of the frontiers before it */
};

/* Decides. Question and workload must outlive the decision, which the arena has. False: ERROR_INPUT
 * if the method does not suit the question, or would take too long. */
bool decision_make(struct arena *arena, const struct workload *workload,
                   const struct application *application, const struct decision_question *question,
                   struct decision *decision, struct error *error);

/* The entry of the stage's table that is the function's configuration; SIZE_MAX: it has none. */
size_t decision_entry(const struct decision *decision, size_t stage, size_t configuration);

/* The function's configuration that a path has at the i-th stage of the chain. */
const struct configuration *decision_configuration(const struct decision *decision,
                                                   const struct search_path *path, size_t i);

#endif
