/* Offline tuning of one application: the executions that Aquatope's optimiser samples.
 *
 * An evaluation of a configuration vector executes the whole workflow a number of times as the
 * profile has it — nominal time × lognormal noise × slowdown by co-runners drawn at random — and
 * reports the mean cost and a percentile of the end-to-end latency. No queueing, transfers or cold
 * starts: the pool is there to prevent the last, and arrivals are not known before the run.
 */
#ifndef ESGSIM_SCHED_AQUATOPE_TUNE_H
#define ESGSIM_SCHED_AQUATOPE_TUNE_H

#include "sched/aquatope/bo.h"
#include "workloads/workload.h"

/* ALONE: every request by itself, two dimensions a stage (vCPU, vGPU), as many as the paper's.
 * PLANNED: three, the cost of a job being its share of a batch that is taken to be full. */
enum tune_batching { TUNE_ALONE, TUNE_PLANNED };

struct tune_settings {
    struct bo_settings search; /* stream is overwritten by the application's index */
    enum tune_batching batching;
    size_t executions; /* an evaluation, >= 1 */
    double percentile; /* of their latencies, 0..100 */
    double occupancy;  /* chance that a free part of the GPU has a co-runner, 0..1 */
};

struct tuning {
    uint32_t configuration[WORKLOAD_MAX_STAGES]; /* by stage, index into the function's */
    struct bo_result result;                     /* latency in seconds, cost in dollars a request */
};

/* Deterministic in the settings' seed. False with ERROR_INPUT where a stage has no configuration
 * that any invoker holds, ERROR_RUN when out of memory. */
bool tune_application(const struct workload *workload, uint32_t application,
                      const struct tune_settings *settings, struct tuning *tuning,
                      struct error *error);

#endif
