/* Totals, integrals and percentiles of a run. At its end they give the metrics of metrics.def.
 *
 * Totals per application include only measured requests, that is, requests after the warm-up.
 * Integrals over time (utilisation) cover the time of arrivals: from the first measured arrival to
 * the last. The drain after it would only show how long the run was. Without requests they cover
 * the measured time.
 */
#ifndef ESGSIM_SIM_PLATFORM_METRICS_H
#define ESGSIM_SIM_PLATFORM_METRICS_H

#include "sim/base/arena.h"
#include "sim/cluster/cluster.h"
#include "sim/engine/quantile.h"
#include "sim/engine/batch_means.h"
#include "sim/platform/simulation.h"

struct request;
struct batch;
struct capacity_bound;

/* Totals of one application, or of all. */
struct metric_sums {
    uint64_t requests, dropped, hits, bound_hits, jobs, cold_jobs, batches, batched_jobs;
    uint64_t served_within, hits_within;      /* warm-up included: in the time of arrivals */
    uint64_t planned_batches, planned_misses; /* batches: planned; that missed their plan */
    double cost, hold_cost;
    double queue_ns, transfer_ns, cold_ns, exec_ns; /* of served requests, as are the latencies */
    struct quantile *latency;
};

struct metrics {
    struct metric_sums *sums;   /* per application, then overall */
    struct batch_means warmup;  /* latency, ms: all requests in order of finish, with warm-up */
    struct batch_means latency; /* latency in ms of requests that are measured and not dropped */
    struct batch_means hits;    /* 1 or 0 per measured request: SLO hit or miss */
    struct batch_means waiting; /* jobs waiting when a measured request arrives */
    size_t application_count;
    bool measuring; /* the first measured request has arrived */
    bool arriving;  /* and the last one has not: the integrals run */
    sim_time_t window_start, last_change;
    sim_time_t last_arrival; /* SIM_FOREVER while more can arrive */
    sim_time_t last_finish;  /* of a request */
    double vcpu_ns, unit_ns, memory_ns, gpu_memory_ns, active_unit_ns; /* integrals */
    double idle_unit_ns; /* vGPUs of the minimum configurations of idle and prewarming containers */
    double idle_cost, instance_cost;
    double total_request_cost, total_batch_cost; /* warm-up included; an invariant compares them */
    uint64_t batches, cold_starts, instances, prewarms, evictions, decisions, decision_units;
    sim_time_t decision_time, longest_decision;
    double slowdown_sum;
    double executed_ns[CONFIGURATION_GRADES]; /* of measured batches, by grade */
    double stranded_sum;
    uint64_t stranded_samples;
};

/* Initialises the metrics of `applications` applications, in the arena. */
void metrics_init(struct metrics *metrics, struct arena *arena, size_t applications);

/* Adds the time since the last call to the integrals. `use` must have been constant since then, so
 * the caller calls it before every change of `use`. */
void metrics_integrate(struct metrics *metrics, const struct cluster_use *use, sim_time_t now);

/* Resets integrals and counters to zero. Called when the first measured request arrives. */
void metrics_open_window(struct metrics *metrics, sim_time_t now);

/* Ends the integrals. Called when the last request arrives. */
void metrics_close_window(struct metrics *metrics, const struct cluster_use *use, sim_time_t now);

/* Fills `result`, except the number of events, the notices and the wall-clock time. The bounds are
 * NAN; `bounded`: but for bound_slo_hit_rate. */
bool metrics_report(struct metrics *metrics, const struct workload *workload,
                    const struct cluster_use *capacity, sim_time_t now, bool bounded,
                    struct simulation_result *result, struct error *error);

/* Sets the bounds but bound_slo_hit_rate. `bound` has all requests; NULL: none of it, as for a run
 * on a backend, of whose times it knows nothing. O(n log n) for n measured requests. */
void metrics_report_bounds(struct arena *arena, const struct workload *workload,
                           struct capacity_bound *bound, struct simulation_result *result);

#endif
