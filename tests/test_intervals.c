/* How often intervals over seeds cover the share of requests that theory gives. */
#include "sim/engine/queueing_theory.h"
#include "sim/engine/statistics.h"
#include "sim/run/capacity_runner.h"
#include "sim/run/guard.h"
#include "tests/fixture_simulation.h"

/* ---- Theory ---------------------------------------------------------------------------------- */

/* Share of sojourn times (wait and service) up to `time` in M/M/c. */
static double mmc_share(double rate, double mean, uint32_t servers, double time)
{
    const double waits = queueing_erlang_c(servers, rate * mean);
    const double drain = servers / mean - rate; /* who waits, waits exponentially at this rate */
    const double gap = drain - 1 / mean;
    const double late = fabs(gap * mean) < 1e-9
                            ? exp(-time / mean) * time / mean
                            : (exp(-time / mean) - exp(-drain * time)) / (gap * mean);
    return 1 - exp(-time / mean) - waits * late;
}

/* Share of waits up to `time` in M/D/1, by the formula of Erlang. Alternating terms cancel: exact
 * to 1e-9 up to about ten service times. */
static double md1_wait_share(double rate, double mean, double time)
{
    double sum = 0, factor = 1; /* factor: 1 / k! */
    for (uint32_t k = 0; k * mean <= time; k++) {
        factor /= k > 0 ? k : 1;
        sum += pow(rate * (k * mean - time), k) * exp(rate * (time - k * mean)) * factor;
    }
    return rate * mean < 1 ? (1 - rate * mean) * sum : NAN;
}

/* The area above a distribution is its mean. M/M/2 at rate 0.1 and mean 10 has both rates equal. */
CASE(distributions_have_the_means_of_theory)
{
    const double step = 0.01;
    double sojourn = 0, equal = 0, wait = 0;
    for (double at = step / 2; at < 600; at += step) {
        sojourn += step * (1 - mmc_share(0.3, 10, 4, at));
        equal += step * (1 - mmc_share(0.1, 10, 2, at));
        wait += at < 100 ? step * (1 - md1_wait_share(0.05, 10, at)) : 0;
    }
    assert_relative(sojourn, 10 + queueing_mmc_wait(0.3, 10, 4), 1e-5);
    assert_relative(equal, 10 + queueing_mmc_wait(0.1, 10, 2), 1e-5);
    assert_relative(wait, queueing_mg1_wait(0.05, 10, 0), 1e-5);
    for (double p = 0; p < 1; p += 0.01) {
        const double time = queueing_mm1_sojourn_quantile(0.07, 10, p);
        assert_absolute(mmc_share(0.07, 10, 1, time), p, 1e-12);
    }
    assert_relative(md1_wait_share(0.07, 10, 0), 0.3, 1e-12);
}

/* ---- Coverage -------------------------------------------------------------------------------- */

static const double arrivals = 0.07, service = 10; /* per ms; ms */

static double mm1_share(double time)
{
    return mmc_share(arrivals, service, 1, time);
}

static double md1_share(double time)
{
    return time < service ? 0 : md1_wait_share(arrivals, service, time - service);
}

static double mm4_share(double per_s, double time)
{
    return mmc_share(per_s / 1000, 10, 4, time);
}

/* The time within which that share of requests is answered. */
static double time_of(double (*share_of)(double time), double share)
{
    double low = 0, high = 400;
    while (high - low > 1e-9 * high) {
        const double middle = (low + high) / 2;
        *(share_of(middle) < share ? &low : &high) = middle;
    }
    return high;
}

struct coverage {
    size_t sweeps, covered, points; /* points: intervals of length 0 */
};

/* Sweeps of `seeds` seeds each, with seeds of their own. */
static struct coverage coverage_of(const char *path, double slo_ms, double truth, size_t seeds,
                                   size_t sweeps)
{
    struct coverage coverage = {.sweeps = sweeps};
    double *values = NULL;
    char *slo = formatted("%.17g", slo_ms);
    const struct override overrides[] = {{"arrivals.rate_per_s", "70"},
                                         {"slo.ms", slo},
                                         {"requests", "1000"},
                                         {"warmup_requests", "500"}};
    EXPERIMENT *experiment = must(experiment_load(path, overrides, 4, hear()));
    const struct policy *policy = policy_resolve(experiment, &values, hear());
    for (size_t sweep = 0; sweep < sweeps; sweep++) {
        double rates[10], worth[10];
        const struct seed_values of = {
            .values = rates, .worth = worth, .valued = seeds, .seeds = seeds, .share = true};
        for (size_t s = 0; s < seeds; s++) {
            experiment->seed = 1 + sweep * seeds + s;
            assert_good(simulation_run(experiment, policy, values, NULL, NULL, anew(), hear()));
            rates[s] = result.overall.slo_hit_rate;
            worth[s] = result.run.requests_effective;
        }
        const struct estimate estimate = statistics_of_seeds(&of);
        coverage.covered += estimate.low <= truth && truth <= estimate.high;
        coverage.points += estimate.low == estimate.high;
    }
    return coverage;
}

/* 200 sweeps of each: at least 92 % cover. Fewer allow for three deviations more. */
CASE(intervals_of_shares_cover_the_truth)
{
    static const struct {
        const char *path;
        double (*share)(double time);
    } queues[] = {{"workloads/experiments/theory/mm1.json", mm1_share},
                  {"workloads/experiments/theory/md1.json", md1_share}};
    static const double shares[] = {0.9, 0.98, 0.9975, 0.9999};
    static const size_t seeds[] = {5, 10};
    const size_t sweeps = trials(200);
    const double slack = 3 * sqrt(0.92 * 0.08) * (1 / sqrt((double)sweeps) - 1 / sqrt(200));
    for (size_t q = 0; q < 2; q++)
        for (size_t i = 0; i < 8; i++) {
            const double share = shares[i / 2], slo = time_of(queues[q].share, share);
            const struct coverage found =
                coverage_of(queues[q].path, slo, share, seeds[i % 2], sweeps);
            const double covered = (double)found.covered / (double)sweeps;
            print_message("%s, %.2f %% within %.1f ms, %zu seeds: %.1f %% of %zu intervals cover\n",
                          queues[q].path, 100 * share, slo, seeds[i % 2], 100 * covered, sweeps);
            assert_int_equal(found.points, 0);
            assert_true(covered >= 0.92 - slack);
        }
}

static double mm4_rate(double share, double slo_ms)
{
    double low = 1, high = 399.99;
    while (high - low > 1e-9 * high) {
        const double middle = (low + high) / 2;
        *(mm4_share(middle, slo_ms) >= share ? &low : &high) = middle;
    }
    return low;
}

/* Of 200 searches at most 3 % call a rate sure that theory refuses. */
CASE(a_capacity_is_called_sure_only_where_it_is)
{
    static const struct {
        double share;
        const char *slo_ms, *requests;
    } cases[] = {{0.95, "60", "2000"}, {0.999, "150", "1000"}};
    const size_t searches = trials(200);
    for (size_t c = 0; c < 2; c++) {
        const double edge = mm4_rate(cases[c].share, strtod(cases[c].slo_ms, NULL));
        size_t high = 0, low = 0, sure = 0;
        for (size_t i = 0; i < searches; i++) {
            char *seed = formatted("%zu", 1 + 1000 * i);
            const struct override overrides[] = {{"slo.ms", cases[c].slo_ms},
                                                 {"requests", cases[c].requests},
                                                 {"warmup_requests", "500"},
                                                 {"seed", seed}};
            const struct capacity_question question = {.path =
                                                           "workloads/experiments/theory/mmc.json",
                                                       .overrides = overrides,
                                                       .override_count = 4,
                                                       .key = "arrivals.rate_per_s",
                                                       .metric = metric_find("slo_hit_rate"),
                                                       .threshold = cases[c].share,
                                                       .direction = CAPACITY_GREATEST,
                                                       .low = 150,
                                                       .high = 395,
                                                       .tolerance = 0.04,
                                                       .seeds = 3,
                                                       .most_seeds = 3,
                                                       .jobs = 1,
                                                       .decision_timeout = GUARD_TIMEOUT_DEFAULT,
                                                       .quiet = true};
            CLOSED(capacity_answer_clear) struct capacity_answer answer = {0};
            assert_good(capacity_run(&question, &answer, hear()));
            const struct capacity_interval interval =
                capacity_search_interval(&answer.curves[0].search);
            high += interval.holds > edge;
            low += interval.fails < edge;
            sure += isnan(interval.holds) ? 0 : 1;
        }
        print_message("at least %g: edge %.1f/s; of %zu searches %zu surely hold above it, %zu "
                      "surely fail below it, %zu surely hold anywhere\n",
                      cases[c].share, edge, searches, high, low, sure);
        assert_true((double)high <= 0.03 * (double)searches + 1);
        assert_true(searches < 200 || high <= 6);
    }
}

SUITE("intervals")
