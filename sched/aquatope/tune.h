/* Offline tuning of one application: the executions that Aquatope's optimiser samples.
 *
 * An evaluation of a configuration vector executes the whole workflow several times according to
 * the profile: nominal time × lognormal noise × slowdown by randomly drawn co-runners. It reports
 * the mean cost and a percentile of the end-to-end latency. It excludes queueing, transfers and
 * cold starts. The container pool is meant to prevent cold starts, and arrivals are unknown before
 * the run.
 */
#ifndef ESGSIM_SCHED_AQUATOPE_TUNE_H
#define ESGSIM_SCHED_AQUATOPE_TUNE_H

#include "sched/aquatope/bo.h"
#include "sim/base/error.h"
#include "workloads/world/workload.h"

/* ALONE: every request runs by itself, with two dimensions per stage (vCPU, vGPU), as in the paper.
 * PLANNED: three dimensions; one more, the kind of GPU, if there are several. The cost of a job is
 * its share of a batch that is assumed to be full.
 */
enum tune_batching { TUNE_ALONE, TUNE_PLANNED };

struct tune_parameters {
    struct bo_parameters search; /* `stream` is replaced by the application's index */
    enum tune_batching batching;
    size_t executions; /* executions per evaluation, >= 1 */
    double percentile; /* of the latencies of an evaluation, 0..100 */
    double occupancy;  /* probability that a free part of the GPU has a co-runner, 0..1 */
};

struct tuning {
    uint32_t configuration[WORKLOAD_MAX_STAGES]; /* by stage; index of the function's
                                                  * configuration */
    struct bo_result result;                     /* latency in seconds, cost in dollars per
                                                  * request */
};

/* The result depends only on the arguments, including the settings' seed. False with ERROR_INPUT if
 * no invoker can hold any configuration of some stage. The arena has the scratch. */
bool tune_application(struct arena *arena, const struct workload *workload, uint32_t application,
                      const struct tune_parameters *settings, struct tuning *tuning,
                      struct error *error);

/* The same, remembered: tuning ignores arrivals and the run's seed, so that a sweep over load and
 * seeds tunes an application once per worker. The latest tunings of the thread are kept under the
 * SHA-256 of all inputs (sched/aquatope/tune_memory.c). */
bool tune_application_once(struct arena *arena, const struct workload *workload,
                           uint32_t application, const struct tune_parameters *settings,
                           struct tuning *tuning, struct error *error);

#endif
