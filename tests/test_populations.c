/* Each metric is of the requests that it says: against closed forms where requests are dropped, by
 * hand, and in random overload. The stations are those that ship for `validate`. */
#include "sim/engine/queueing_theory.h"
#include "tests/fixture_simulation.h"

/* Runs fifo on the experiment with up to four overrides KEY=VALUE; NULL ends them. */
static void go_with(const char *name, const char *const settings[])
{
    struct override overrides[4];
    char keys[4][64];
    size_t count = 0;
    for (; settings[count] != NULL; count++) {
        const char *value = strchr(settings[count], '=');
        (void)snprintf(keys[count], sizeof keys[count], "%.*s", (int)(value - settings[count]),
                       settings[count]);
        overrides[count] = (struct override){keys[count], value + 1};
    }
    char *path = formatted("workloads/experiments/theory/%s.json", name);
    struct resolved_run run = {0};
    const struct simulation_options options = {0};
    assert_good(resolved_run_load(&run, NULL, path, overrides, count, hear()) &&
                resolved_run_simulate(&run, &options, anew(), hear()));
    resolved_run_clear(&run);
}
#define GO(name, ...) go_with(name, (const char *const[]){__VA_ARGS__, NULL})

static double price_of_request(void)
{
    return result.overall.cost_usd / (double)(result.overall.requests - result.overall.dropped);
}

static void assert_near(double value, double expected, double relative)
{
    if (!(fabs(value - expected) <= relative * fabs(expected)))
        fail_msg("%.9g, expected %.9g", value, expected);
}

/* M/M/1/5 at twice its capacity, 100,000 requests: half are turned away. */
CASE(a_station_that_loses_half_its_requests_gives_the_closed_forms)
{
    GO("mmck", "arrivals.rate_per_s=200", "cluster.invokers.0.vcpus=1",
       "functions.functions.0.service.mean_ms=10", "platform.initial={\"f\":1}");
    const struct measures *all = &result.overall;
    const double loss = queueing_mmck_loss(200, 0.01, 1, 5);
    const double wait_ms = 1000 * queueing_mmck_wait(200, 0.01, 1, 5);
    assert_near(all->drop_rate, loss, 0.01);
    assert_near(all->throughput_per_s, 200 * (1 - loss), 0.01);
    assert_near(all->latency_ms_mean, wait_ms + 10, 0.02);
    assert_near(all->queue_ms_mean, wait_ms, 0.02);
    assert_near(all->exec_ms_mean, 10, 0.01);
    assert_near(all->queue_ms_mean + all->exec_ms_mean, all->latency_ms_mean, 1e-9);
    /* Each served request pays its own execution. */
    assert_near(all->cost_per_request_usd, price_of_request(), 1e-12);
    assert_near(all->cost_per_arrival_usd, price_of_request() * (1 - all->drop_rate), 1e-12);
    /* Over half are infinitely late, so half the quantiles are. */
    assert_true(all->drop_rate > 0.5 && isnan(all->latency_ms_p50) && isnan(all->latency_ms_p99));
    assert_true(isnan(all->latency_ms_max) && all->served_ms_p50 < all->served_ms_p99);
}

CASE(neither_throughput_nor_goodput_exceeds_the_capacity_in_overload)
{
    GO("mm1", "arrivals.rate_per_s=200", "slo.ms=1000000", "requests=20000");
    assert_true(result.overall.throughput_per_s < 104 && result.overall.throughput_per_s > 96);
    assert_near(result.overall.goodput_per_s, result.overall.throughput_per_s, 1e-12);
    GO("mg1", "arrivals.rate_per_s=1000", "slo.ms=1000000", "requests=20000",
       "platform.queue_capacity=3");
    const double mean_s = result.overall.exec_ms_mean / 1000;
    assert_near(result.overall.throughput_per_s, 1 / mean_s, 0.02);
    assert_near(result.overall.drop_rate, 1 - 1 / (1000 * mean_s), 0.02);
}

/* Two in a hundred are lost: p95 is the 96.94th of the served, p99 is among the lost. */
CASE(a_quantile_counts_the_dropped_requests_as_infinitely_late)
{
    GO("mmck", "requests=20000");
    const struct measures *all = &result.overall;
    assert_true(all->drop_rate > 0.1 && all->drop_rate < 0.5);
    assert_true(isfinite(all->latency_ms_p50) && all->latency_ms_p50 > all->served_ms_p50);
    assert_true(isnan(all->latency_ms_p95) && isfinite(all->served_ms_p99));
    GO("mm1", "requests=2000");
    assert_true(
        result.overall.dropped == 0 &&
        bits_equal(&result.overall.latency_ms_p99, &result.overall.served_ms_p99, sizeof(double)));
}

CASE(nothing_divided_by_nothing_is_no_value)
{
    GO("mm1", "slo.ms=0.000001", "platform.admission=lost", "requests=200");
    const struct measures *all = &result.overall;
    assert_int_equal(all->dropped, 200);
    const double none[] = {all->latency_ms_mean,
                           all->latency_ms_p50,
                           all->served_ms_p99,
                           all->exec_ms_mean,
                           all->cost_per_request_usd,
                           all->cost_per_hit_usd,
                           all->mean_batch,
                           all->cold_start_rate,
                           result.run.slowdown_mean,
                           result.run.gpu_utilisation,
                           result.run.gpu_fragmentation};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        assert_true(isnan(none[i]));
    assert_true(all->slo_hit_rate == 0 && all->throughput_per_s == 0 && all->drop_rate == 1);
}

/* One user: ten milliseconds of thinking, ten of service. Twenty requests span nineteen intervals.
 */
CASE(a_closed_user_has_the_rate_of_his_cycle)
{
    GO("closed",
       "arrivals={\"process\":\"closed\",\"users\":1,\"think_ms\":10,\"think\":\"constant\"}",
       "functions.functions.0.service={\"distribution\":\"constant\",\"mean_ms\":10}",
       "requests=20", "warmup_requests=0");
    assert_near(result.overall.throughput_per_s, 50, 1e-9);
}

SUITE("populations")
