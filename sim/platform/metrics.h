/* Totals, integrals and percentiles of a run; turned into the figures of metrics.def at its end.
 *
 * Everything of a request counts where the request is measured (after the warm-up). Integrals over
 * time (utilisation) run from the first measured arrival to the end.
 */
#ifndef ESGSIM_SIM_PLATFORM_METRICS_H
#define ESGSIM_SIM_PLATFORM_METRICS_H

#include "sim/cluster/cluster.h"
#include "sim/engine/quantile.h"
#include "sim/engine/batch_means.h"
#include "sim/platform/simulation.h"

struct request;
struct batch;

/* Totals of one application. */
struct tally {
    uint64_t requests, dropped, hits, bound_hits, jobs, cold_jobs, batches, batched_jobs;
    uint64_t planned_batches, planned_misses; /* of batches: configured by a plan made ahead */
    double cost, hold_cost;
    double queue_ns, transfer_ns, cold_ns, exec_ns;
    struct quantile *latency;
};

struct metrics {
    struct tally *tallies;      /* per application, then overall */
    struct batch_means warmup;  /* latency, ms, of all requests from the start, as they finish */
    struct batch_means latency; /* the same of those measured and not dropped */
    struct batch_means hits;    /* 1 or 0, of those measured */
    size_t application_count;
    bool measuring; /* the first measured request has arrived */
    sim_time_t window_start, last_change;
    double vcpu_ns, unit_ns, memory_ns, gpu_memory_ns, active_unit_ns; /* integrals */
    double idle_cost, instance_cost;
    double total_request_cost, total_batch_cost; /* warm-up included: the invariant */
    uint64_t batches, cold_starts, instances, prewarms, evictions, decisions, decision_units;
    sim_time_t decision_time, longest_decision;
    double slowdown_sum;
    double stranded_sum;
    uint64_t stranded_samples;
};

bool metrics_init(struct metrics *metrics, size_t applications, struct error *error);
void metrics_clear(struct metrics *metrics);

/* Brings the integrals up to `now`. To be called before `use`, which was held since the last call,
 * changes. */
void metrics_integrate(struct metrics *metrics, const struct cluster_use *use, sim_time_t now);

/* The first measured request arrives: integrals and counters start again from zero. */
void metrics_open_window(struct metrics *metrics, sim_time_t now);

/* Fills `result` but for bounds' costs, events and wall time. */
bool metrics_report(struct metrics *metrics, const struct workload *workload,
                    const struct cluster_use *capacity, sim_time_t now,
                    struct simulation_result *result, struct error *error);

#endif
