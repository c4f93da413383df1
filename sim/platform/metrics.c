#include "sim/platform/metrics.h"

#include <stdlib.h>

#include "sched/common/capacity_bound.h"
#include "sched/paths/cost_lower_bound.h"

/* The drain as a share of the time of arrivals: is long; is too short for queues that grew. */
static const double LONG_DRAIN = 0.1, SHORT_DRAIN = 0.02;
/* Share of the pairs of times of which the later has the longer queues. */
static const double RISING_PAIRS = 0.85;

void metrics_init(struct metrics *metrics, struct arena *arena, size_t applications)
{
    *metrics = (struct metrics){.application_count = applications, .last_arrival = SIM_FOREVER};
    metrics->sums = arena_allocate(arena, applications + 1, sizeof *metrics->sums);
    batch_means_init(arena, &metrics->warmup, BATCH_MEANS_MSER_BATCH);
    batch_means_init(arena, &metrics->latency, 1);
    batch_means_init(arena, &metrics->hits, 1);
    batch_means_init(arena, &metrics->waiting, 1);
    for (size_t i = 0; i <= applications; i++)
        metrics->sums[i].latency = quantile_create(arena, QUANTILE_EXACT_SAMPLES);
}

void metrics_integrate(struct metrics *metrics, const struct cluster_use *use, sim_time_t now)
{
    if (!metrics->arriving || now == metrics->last_change)
        return;
    double elapsed = (double)(now - metrics->last_change);
    metrics->last_change = now;
    metrics->vcpu_ns += elapsed * (double)use->vcpus;
    metrics->memory_ns += elapsed * (double)use->memory_kb;
    if ((use->unit_parts | use->gpu_memory_kb) == 0)
        return; /* all GPUs are empty and inactive */
    metrics->unit_ns += elapsed * ((double)(use->unit_parts - use->excess_parts) / UNIT_PARTS);
    metrics->gpu_memory_ns += elapsed * (double)use->gpu_memory_kb;
    metrics->active_unit_ns += elapsed * ((double)use->active_unit_parts / UNIT_PARTS);
}

void metrics_open_window(struct metrics *metrics, sim_time_t now)
{
    metrics->measuring = metrics->arriving = true;
    metrics->window_start = now;
    metrics->last_change = now;
    metrics->cold_starts = metrics->prewarms = metrics->evictions = metrics->instances = 0;
    metrics->decisions = metrics->decision_units = 0;
    metrics->decision_time = metrics->longest_decision = 0;
}

void metrics_close_window(struct metrics *metrics, const struct cluster_use *use, sim_time_t now)
{
    metrics_integrate(metrics, use, now);
    metrics->arriving = false;
    metrics->last_arrival = now;
}

/* Every fraction of this file: none, which is NAN, where there is nothing to divide by. */
static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : NAN;
}

/* Quantile q of the latencies of served requests and of `dropped` others, which are infinite. NAN
 * where it lies among these. */
static double latency_quantile(struct quantile *served, double dropped, double q)
{
    const double n = (double)quantile_count(served), position = (n + dropped - 1) * q;
    if (n == 0 || position > n - 1)
        return NAN;
    return quantile_value(served, n > 1 ? position / (n - 1) : 0) / 1e6;
}

static void latencies_fill(struct measures *out, struct quantile *served, double dropped)
{
    const bool any = quantile_count(served) > 0;
    out->latency_ms_mean = any ? quantile_mean(served) / 1e6 : NAN;
    out->served_ms_p50 = latency_quantile(served, 0, 0.5);
    out->served_ms_p99 = latency_quantile(served, 0, 0.99);
    out->latency_ms_p50 = latency_quantile(served, dropped, 0.5);
    out->latency_ms_p95 = latency_quantile(served, dropped, 0.95);
    out->latency_ms_p99 = latency_quantile(served, dropped, 0.99);
    out->latency_ms_p999 = latency_quantile(served, dropped, 0.999);
    out->latency_ms_max = any && dropped == 0 ? sim_to_ms(quantile_max(served)) : NAN;
}

/* `time`: of arrivals, ns. */
static void measures_fill(struct measures *out, const struct metric_sums *sums, double time,
                          bool bounded)
{
    const double n = (double)sums->requests, served = n - (double)sums->dropped;
    const double seconds = time / (double)SIM_S;
    out->requests = sums->requests;
    out->dropped = sums->dropped;
    out->drop_rate = ratio((double)sums->dropped, n);
    out->slo_hit_rate = ratio((double)sums->hits, n);
    out->goodput_per_s = ratio((double)sums->hits_within, seconds);
    out->throughput_per_s = ratio((double)sums->served_within, seconds);
    out->cost_usd = sums->cost;
    out->cost_per_request_usd = ratio(sums->cost, served);
    out->cost_per_arrival_usd = ratio(sums->cost, n);
    out->cost_per_hit_usd = ratio(sums->cost, (double)sums->hits);
    out->cost_hold_usd = sums->hold_cost;
    latencies_fill(out, sums->latency, (double)sums->dropped);
    out->queue_ms_mean = ratio(sums->queue_ns, served) / 1e6;
    out->transfer_ms_mean = ratio(sums->transfer_ns, served) / 1e6;
    out->cold_ms_mean = ratio(sums->cold_ns, served) / 1e6;
    out->exec_ms_mean = ratio(sums->exec_ns, served) / 1e6;
    out->cold_start_rate = ratio((double)sums->cold_jobs, (double)sums->jobs);
    out->mean_batch = ratio((double)sums->batched_jobs, (double)sums->batches);
    out->preplanned_batches = sums->planned_batches;
    out->preplanned_miss_rate = ratio((double)sums->planned_misses, (double)sums->planned_batches);
    out->bound_slo_hit_rate = bounded ? ratio((double)sums->bound_hits, n) : NAN;
    out->bound_cost_per_request_usd = NAN; /* metrics_report_bounds sets it */
}

/* The index of Jain, Chiu and Hawe ("A Quantitative Measure of Fairness and Discrimination", DEC
 * TR-301, 1984), and the least of the applications' hit rates. */
static void fairness_fill(struct simulation_result *result)
{
    double n = 0, sum = 0, squares = 0, worst = NAN;
    for (size_t a = 0; a < result->application_count; a++) {
        const double hits = result->applications[a].slo_hit_rate;
        if (isnan(hits))
            continue;
        n++;
        sum += hits;
        squares += hits * hits;
        worst = fmin(worst, hits); /* of a number and NAN: the number */
    }
    result->run.slo_hit_rate_worst_application = worst;
    result->run.jain_index = squares > 0 ? fmin(sum * sum / (n * squares), 1) : NAN;
}

/* Values a request at what its stages cost in their cheapest configurations, at any time. */
static double work_in_time(const struct metrics *metrics, const struct workload *workload)
{
    double hits = 0, requests = 0;
    for (size_t a = 0; a < metrics->application_count; a++)
        for (size_t s = 0; s < workload->applications[a].stage_count; s++) {
            const struct function *function =
                &workload->functions[workload->applications[a].stages[s].function];
            double usd = INFINITY;
            for (size_t c = 0; c < function->configuration_count; c++)
                usd = fmin(usd, function->configurations[c].cost_per_job_usd);
            hits += usd * (double)metrics->sums[a].hits;
            requests += usd * (double)metrics->sums[a].requests;
        }
    return ratio(hits, requests);
}

/* The time of arrivals, ns. All of the measured time if no arrivals ended it. */
static double arrivals_ns(const struct metrics *metrics, sim_time_t now)
{
    const sim_time_t end = metrics->last_arrival < now ? metrics->last_arrival : now;
    return metrics->measuring ? (double)(end - metrics->window_start) : 0.0;
}

/* Price of all GPUs per hour. */
static double gpu_rent(const struct workload *workload)
{
    double usd = 0;
    for (size_t k = 0; k < workload->kind_count; k++) {
        double units = 0;
        for (size_t g = 0; g < workload->cluster.group_count; g++) {
            const struct invoker_group *group = &workload->cluster.groups[g];
            for (size_t i = 0; i < group->gpu_count; i++)
                units += group->gpus[i].kind == k ? (double)group->count * group->gpus[i].units : 0;
        }
        usd += units * workload->kinds[k].vgpu_hour_usd;
    }
    return usd;
}

/* How many independent requests the measured ones are worth. Of a run too short to tell, or that
 * drops nearly all, as many as batches of it would be. */
static double requests_effective(const struct metrics *metrics, const struct measures *overall)
{
    const double requests = (double)overall->requests;
    const double served = requests - (double)overall->dropped;
    const double worth = batch_means_effective(&metrics->latency) / served;
    return isnan(worth) ? fmin(BATCH_MEANS_INTERVAL_BATCHES, requests) : worth * requests;
}

static void run_measures_fill(struct run_measures *out, const struct metrics *metrics,
                              const struct workload *workload, const struct cluster_use *capacity,
                              sim_time_t now, const struct measures *overall)
{
    const double elapsed = metrics->measuring ? (double)(now - metrics->window_start) : 0.0;
    const double time = arrivals_ns(metrics, now);
    double decisions = (double)metrics->decisions;
    double capacity_units = (double)capacity->unit_parts / UNIT_PARTS;
    out->bound_capacity_slo_hit_rate = NAN;
    out->cost_idle_usd = metrics->idle_cost;
    out->cost_instance_usd = metrics->instance_cost;
    out->cost_provisioned_usd =
        overall->cost_usd + overall->cost_hold_usd + metrics->idle_cost + metrics->instance_cost;
    out->cost_held_per_request_usd =
        ratio(overall->cost_usd + overall->cost_hold_usd + metrics->instance_cost,
              (double)(overall->requests - overall->dropped));
    out->cost_cluster_usd =
        elapsed / (double)SIM_HOUR *
        ((double)capacity->vcpus * workload->cluster.vcpu_hour_usd + gpu_rent(workload));
    out->batches = metrics->batches;
    out->cold_starts = metrics->cold_starts;
    out->instances = metrics->instances;
    out->prewarms = metrics->prewarms;
    out->evictions = metrics->evictions;
    out->decisions = metrics->decisions;
    out->decision_units = metrics->decision_units;
    out->decision_units_mean = ratio((double)metrics->decision_units, decisions);
    out->decision_us_max = (double)metrics->longest_decision / 1e3;
    out->decision_us_mean = ratio((double)metrics->decision_time, decisions) / 1e3;
    out->gpu_utilisation = ratio(metrics->unit_ns, time * capacity_units);
    out->vcpu_utilisation = ratio(metrics->vcpu_ns, time * (double)capacity->vcpus);
    out->memory_utilisation = ratio(metrics->memory_ns, time * (double)capacity->memory_kb);
    out->gpu_memory_utilisation =
        ratio(metrics->gpu_memory_ns, time * (double)capacity->gpu_memory_kb);
    out->gpu_fragmentation = 1 - ratio(metrics->unit_ns, metrics->active_unit_ns);
    out->gpu_provisioned = ratio(metrics->unit_ns + metrics->idle_unit_ns, time * capacity_units);
    out->stranded_vgpu = ratio(metrics->stranded_sum, (double)metrics->stranded_samples);
    out->slowdown_mean = ratio(metrics->slowdown_sum, (double)metrics->batches);
    const double extrapolated = metrics->executed_ns[CONFIGURATION_EXTRAPOLATED];
    const double predicted = metrics->executed_ns[CONFIGURATION_INTERPOLATED] + extrapolated;
    const double executed = metrics->executed_ns[CONFIGURATION_MEASURED] + predicted;
    out->predicted_share = ratio(predicted, executed);
    out->extrapolated_share = ratio(extrapolated, executed);
    out->simulated_s = elapsed / 1e9;
    out->warmup_mser_requests = batch_means_warmup(&metrics->warmup);
    out->requests_effective = requests_effective(metrics, overall);
    out->latency_ms_half_width = batch_means_half_width(&metrics->latency);
    out->slo_hit_rate_half_width = batch_means_half_width(&metrics->hits);
}

/* See "Runs that are not stationary" in sim/README.md. */
static void stationarity_judge(const struct metrics *metrics, struct simulation_result *result)
{
    const double time = (double)(metrics->last_arrival - metrics->window_start);
    const double drain = (double)(metrics->last_finish - metrics->last_arrival);
    result->long_drain = drain > LONG_DRAIN * time;
    result->queues_grew =
        drain > SHORT_DRAIN * time && batch_means_rising(&metrics->waiting) > RISING_PAIRS;
}

bool metrics_report(struct metrics *metrics, const struct workload *workload,
                    const struct cluster_use *capacity, sim_time_t now, bool bounded,
                    struct simulation_result *result, struct error *error)
{
    size_t n = metrics->application_count;
    const double time = arrivals_ns(metrics, now);
    *result = (struct simulation_result){.application_count = n, .exact_quantiles = true};
    result->applications = calloc(n, sizeof *result->applications);
    if (result->applications == NULL)
        return error_run(error, "out of memory for the results of %zu applications", n);
    struct metric_sums *all = &metrics->sums[n];
    for (size_t a = 0; a < n; a++) {
        const struct metric_sums *own = &metrics->sums[a];
        measures_fill(&result->applications[a], own, time, bounded);
        all->requests += own->requests;
        all->dropped += own->dropped;
        all->hits += own->hits;
        all->bound_hits += own->bound_hits;
        all->served_within += own->served_within;
        all->hits_within += own->hits_within;
    }
    measures_fill(&result->overall, all, time, bounded);
    result->exact_quantiles = quantile_is_exact(all->latency);
    run_measures_fill(&result->run, metrics, workload, capacity, now, &result->overall);
    fairness_fill(result);
    result->run.work_in_time = work_in_time(metrics, workload);
    if (metrics->measuring && metrics->last_arrival < SIM_FOREVER)
        stationarity_judge(metrics, result);
    return true;
}

/* Sets the overall bound to the mean over applications, weighted by their numbers of requests. */
static void cost_bounds_fill(struct arena *arena, const struct workload *workload,
                             struct simulation_result *result)
{
    double *cost = arena_allocate(arena, result->application_count, sizeof *cost);
    cost_lower_bounds(arena, workload, cost);
    double sum = 0;
    for (size_t a = 0; a < result->application_count; a++) {
        result->applications[a].bound_cost_per_request_usd = cost[a];
        if (result->applications[a].requests > 0)
            sum += cost[a] * (double)result->applications[a].requests;
    }
    result->overall.bound_cost_per_request_usd = sum / (double)result->overall.requests;
    arena_release(arena, cost);
}

void metrics_report_bounds(struct arena *arena, const struct workload *workload,
                           struct capacity_bound *bound, struct simulation_result *result)
{
    const double hits = bound != NULL ? capacity_bound_hits(bound) : (double)NAN;
    result->run.bound_capacity_slo_hit_rate = hits / (double)result->overall.requests;
    cost_bounds_fill(arena, workload, result);
}

void simulation_result_clear(struct simulation_result *result)
{
    free(result->applications);
    free(result->training);
    notices_clear(&result->notices);
    *result = (struct simulation_result){0};
}
