/* Orion's two models of one application: the end-to-end latency by percentile, and the sizes to
 * try.
 *
 * Sizes [code: Orion's memory sizes in steps; derived: here a latency table]: the non-dominated
 * configurations of a stage, from the cheapest per job to the fastest. Each step is faster and more
 * expensive. A plan is one step per stage.
 *
 * Latency [code]: series by convolution, joins by the product of CDFs. The time from a stage's
 * immediate dominator to its own end is computed for each stage separately, so that a part common
 * to two branches is counted once. This is exact for every series-parallel DAG. Elsewhere, branches
 * that share a stage are treated as independent, which overestimates the latency (longest paths are
 * associated: Esary, Proschan, Walkup, 1967).
 */
#ifndef ESGSIM_SCHED_ORION_MODEL_H
#define ESGSIM_SCHED_ORION_MODEL_H

#include "sched/orion/distribution.h"
#include "sim/base/arena.h"
#include "sim/base/error.h"

struct orion_latency_table {
    size_t count;
    uint16_t *configuration; /* indices into function.configurations, cheapest first */
    double *cost;            /* per job, strictly ascending */
    sim_time_t *time;        /* nominal, strictly descending */
    struct distribution *execution;
};

struct orion_model {
    struct arena *arena; /* has the model and what it points to */
    const struct application *application;
    double bin;       /* width in ns */
    uint32_t horizon; /* in bins; a percentile beyond it is horizon + 1 */
    uint32_t target;  /* the whole SLO in bins, rounded down */
    double percentile;
    uint32_t dominator[WORKLOAD_MAX_STAGES];
    uint32_t sink_dominator; /* the closest stage on every path to every sink; SIM_NONE if there
                              * is none */
    struct orion_latency_table latency_tables[WORKLOAD_MAX_STAGES];
    struct distribution from_dominator[WORKLOAD_MAX_STAGES];
    struct distribution scratch[4];
};

/* Models batches of at most `max_batch`, with `bins` bins up to the SLO; `percentile` is in (0, 1).
 * The workload must outlive the model. NULL with ERROR_INPUT if a stage has no configuration of at
 * most that batch that the cluster can run, ERROR_RUN when out of memory. */
struct orion_model *orion_model_create(struct arena *arena, const struct workload *workload,
                                       size_t application, uint32_t max_batch, uint32_t bins,
                                       double percentile, struct error *error);

/* The percentile of the application's end-to-end latency under the plan `steps`, in bins. */
uint32_t orion_model_latency(struct orion_model *model, const uint16_t *steps);

/* start[s] is the median time from the first stage's start until all inputs of stage s are
 * available, in ns. */
void orion_model_starts(struct orion_model *model, const uint16_t *steps, sim_time_t *start);

/* Cost per request under the plan: the sum over stages of the cost per job. */
double orion_model_cost(const struct orion_model *model, const uint16_t *steps);

#endif
