/* Orion's two models of one application: end-to-end latency by percentile, and what to try.
 *
 * Sizes [code: Orion's memory sizes in steps; derived: here a ladder]: the configurations of a
 * stage that are worth having, from the cheapest per job to the fastest, each step faster and
 * dearer. A plan is one step a stage.
 *
 * Latency [code]: series by convolution, joins by the product of CDFs. The time from a stage's
 * immediate dominator to its own end is reckoned for each stage by itself, so that what two
 * branches share is counted once: exact for every series-parallel DAG. Elsewhere branches that
 * share a stage are taken as independent, which errs to the late side (longest paths are
 * associated: Esary, Proschan, Walkup, 1967).
 */
#ifndef ESGSIM_SCHED_ORION_MODEL_H
#define ESGSIM_SCHED_ORION_MODEL_H

#include "sched/orion/distribution.h"
#include "sim/error.h"

struct orion_ladder {
    size_t count;
    uint16_t *configuration; /* indices into function.configurations, cheapest first */
    double *cost;            /* per job, strictly ascending */
    sim_time_t *time;        /* nominal, strictly descending */
    struct distribution *execution;
};

struct orion_model {
    const struct application *application;
    double bin;       /* ns */
    uint32_t horizon; /* in bins; percentiles beyond it read horizon + 1 */
    uint32_t target;  /* the whole SLO in bins, rounded down */
    double percentile;
    uint32_t dominator[WORKLOAD_MAX_STAGES];
    uint32_t sink_dominator; /* the closest stage on every way to every sink; SIM_NONE: none */
    struct orion_ladder ladders[WORKLOAD_MAX_STAGES];
    struct distribution from_dominator[WORKLOAD_MAX_STAGES];
    struct distribution scratch[4];
    double *masses; /* of all distributions above but the ladders' */
};

/* For batches of at most `max_batch`, `bins` of them to the SLO, `percentile` in (0, 1). The
 * workload must outlive the model. NULL with ERROR_INPUT where a stage has no configuration that
 * the cluster can run and that is no larger, ERROR_RUN when out of memory. */
struct orion_model *orion_model_create(const struct workload *workload, size_t application,
                                       uint32_t max_batch, uint32_t bins, double percentile,
                                       struct error *error);
void orion_model_destroy(struct orion_model *model);

/* The percentile of the whole application's latency under the plan `steps`, in bins. */
uint32_t orion_model_latency(struct orion_model *model, const uint16_t *steps);

/* start[s]: median time from the first stage's start until stage s has all its inputs, in ns. */
void orion_model_starts(struct orion_model *model, const uint16_t *steps, sim_time_t *start);

/* Cost per request of the plan: Σ over stages, per job. */
double orion_model_cost(const struct orion_model *model, const uint16_t *steps);

#endif
