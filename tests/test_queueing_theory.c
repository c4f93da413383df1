/* The closed forms of sim/engine/queueing_theory.h against textbook numbers, special cases and
 * brute force. */
#include <gsl/gsl_randist.h>

#include "sim/engine/random.h"
#include "sim/engine/queueing_theory.h"
#include "tests/suite.h"

/* Offered loads that lose 1 % of calls: the Erlang B table that telephone engineers print. */
CASE(erlang_b_gives_the_published_one_percent_loads)
{
    static const struct {
        uint32_t servers;
        double offered;
    } table[] = {{1, 0.0101}, {2, 0.153}, {5, 1.36},  {10, 4.46},
                 {20, 12.0},  {50, 37.9}, {100, 84.1}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        assert_relative(queueing_erlang_b(table[i].servers, table[i].offered), 0.01, 0.03);
}

CASE(erlang_c_equals_its_closed_forms_for_one_and_two_servers)
{
    for (double load = 0.05; load < 1; load += 0.05) {
        assert_relative(queueing_erlang_c(1, load), load, 1e-12);
        assert_relative(queueing_erlang_c(2, 2 * load), 2 * load * load / (1 + load), 1e-12);
    }
    assert_true(isnan(queueing_erlang_c(2, 2.0)));
}

/* Erlang C summed as defined, without the recursion through Erlang B. */
static double erlang_c_by_definition(uint32_t servers, double offered)
{
    double below = 0;
    for (uint32_t n = 0; n < servers; n++)
        below += exp(n * log(offered) - lgamma(n + 1.0));
    const double at =
        exp(servers * log(offered) - lgamma(servers + 1.0)) * servers / (servers - offered);
    return at / (below + at);
}

CASE(erlang_c_equals_its_defining_sum)
{
    for (uint32_t servers = 1; servers <= 120; servers += 7)
        for (double load = 0.1; load < 1; load += 0.2)
            assert_relative(queueing_erlang_c(servers, load * servers),
                            erlang_c_by_definition(servers, load * servers), 1e-10);
}

/* Gross et al., chapter 2, the eye clinic: M/M/3, 6 arrivals an hour, 20 minutes each: 8/9 wait on
 * average, 28.9 minutes are spent in all. */
CASE(mmc_gives_the_eye_clinic_of_the_textbook)
{
    const double wait = queueing_mmc_wait(6, 1.0 / 3, 3);
    assert_relative(6 * wait, 8.0 / 9, 1e-12);
    assert_relative(60 * (wait + 1.0 / 3), 28.9, 1e-3);
}

/* Gross et al., chapter 2, car inspection: M/M/3/7, 1 arrival a minute, 6 minutes each: p0 =
 * 1/1141, 12.3 minutes in all, 576/1141 of the cars turned away (30.3 an hour). */
CASE(mmck_gives_the_car_inspection_of_the_textbook)
{
    assert_relative(queueing_mmck_loss(1, 6, 3, 7), 576.0 / 1141, 1e-12);
    assert_relative(queueing_mmck_wait(1, 6, 3, 7) + 6, 12.3, 5e-3);
}

CASE(mmck_meets_its_neighbours)
{
    for (uint32_t servers = 1; servers <= 12; servers++) {
        const double offered = 0.8 * servers;
        assert_relative(queueing_mmck_loss(offered, 1, servers, servers),
                        queueing_erlang_b(servers, offered), 1e-12);
        assert_relative(queueing_mmck_wait(offered, 1, servers, servers + 2000),
                        queueing_mmc_wait(offered, 1, servers), 1e-9);
    }
    assert_relative(queueing_mmck_loss(3, 1, 1, 5000), 2.0 / 3, 1e-9);
}

CASE(mg1_holds_mm1_and_halves_for_constant_service)
{
    for (double load = 0.1; load < 1; load += 0.1) {
        assert_relative(queueing_mg1_wait(load, 1, 1), queueing_mmc_wait(load, 1, 1), 1e-12);
        assert_relative(queueing_mg1_wait(load, 1, 0), queueing_mmc_wait(load, 1, 1) / 2, 1e-12);
    }
    assert_true(isnan(queueing_mg1_wait(1, 1, 1)));
}

CASE(mm1_sojourn_quantile_inverts_its_exponential_law)
{
    for (double p = 0.1; p < 1; p += 0.1) {
        const double time = queueing_mm1_sojourn_quantile(0.8, 1, p);
        assert_relative(1 - exp(-time * (1 - 0.8)), p, 1e-12);
    }
}

/* Gross et al., chapter 2, machine repair: five machines, up for 30 hours on average, three hours'
 * repair by one of two mechanics: 0.465 machines are down. */
CASE(closed_network_gives_the_machine_repair_of_the_textbook)
{
    const double response = queueing_closed_response(5, 30, 3, 2);
    assert_relative(5 * response / (30 + response), 0.465, 1e-3);
}

/* Exact mean value analysis (Reiser and Lavenberg, JACM 27(2), 1980) of one queue and a delay. */
static double mean_value_analysis(uint32_t users, double think, double mean)
{
    double queue = 0;
    double response = 0;
    for (uint32_t n = 1; n <= users; n++) {
        response = mean * (1 + queue);
        queue = n * response / (think + response);
    }
    return response;
}

CASE(closed_network_equals_mean_value_analysis)
{
    for (uint32_t users = 1; users <= 60; users++)
        for (double think = 0.5; think < 100; think *= 3)
            assert_relative(queueing_closed_response(users, think, 1, 1),
                            mean_value_analysis(users, think, 1), 1e-10);
}

CASE(pool_is_never_cold_when_kept_for_ever_and_always_when_not_kept)
{
    assert_relative(queueing_pool_cold_probability(5, 1, 0), 1, 1e-12);
    assert_true(queueing_pool_cold_probability(5, 1, 1e5) < 1e-5);
    double last = 1;
    for (double keep = 0.1; keep < 20; keep *= 1.5) {
        const double cold = queueing_pool_cold_probability(5, 1, keep);
        assert_true(cold < last && cold > 0);
        last = cold;
    }
}

/* Service much shorter than the gap between arrivals: one container, cold where the gap exceeds the
 * keep-alive. */
CASE(pool_of_short_services_is_cold_as_often_as_gaps_are_long)
{
    for (double keep = 0.1; keep < 5; keep += 0.7)
        assert_relative(queueing_pool_cold_probability(1, 1e-9, keep), exp(-keep), 1e-6);
}

enum { POOL_SLOTS = 256, POOL_ARRIVALS = 400000 };

/* The pool itself, with no stack argument: every container remembers when it falls idle; an arrival
 * takes the one idle for the shortest time, of those not idle for too long. */
static double pool_by_brute_force(double rate, double mean, double keep, uint64_t seed)
{
    static double free_at[POOL_SLOTS];
    RANDOM_STREAM(stream, seed, RANDOM_TEST, 0, 0);
    for (size_t i = 0; i < POOL_SLOTS; i++)
        free_at[i] = -INFINITY;
    double now = 0;
    uint32_t cold = 0;
    for (uint32_t n = 0; n < POOL_ARRIVALS; n++) {
        now += gsl_ran_exponential(&stream.rng, 1 / rate);
        size_t warm = POOL_SLOTS;
        size_t gone = POOL_SLOTS;
        for (size_t i = 0; i < POOL_SLOTS; i++) {
            if (free_at[i] > now)
                continue;
            if (free_at[i] < now - keep)
                gone = i;
            else if (warm == POOL_SLOTS || free_at[i] > free_at[warm])
                warm = i;
        }
        if (warm == POOL_SLOTS)
            cold++;
        const size_t slot = warm < POOL_SLOTS ? warm : gone;
        assert_true(slot < POOL_SLOTS);
        free_at[slot] = now + gsl_ran_exponential(&stream.rng, mean);
    }
    return (double)cold / POOL_ARRIVALS;
}

CASE(pool_equals_a_brute_force_simulation)
{
    static const double cases[][2] = {{0.3, 0.7}, {2, 0.5}, {5, 1.5}, {12, 0.4}, {5, 6}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double cold = queueing_pool_cold_probability(cases[i][0], 1, cases[i][1]);
        const double seen = pool_by_brute_force(cases[i][0], 1, cases[i][1], 7 + i);
        /* Cold starts cluster: allow five times the error of independent draws. */
        const double error = sqrt(cold * (1 - cold) / POOL_ARRIVALS);
        if (fabs(seen - cold) > 5 * error)
            fail_msg("case %zu: theory %.6f, simulated %.6f, error %.6f", i, cold, seen, error);
    }
}

/* A formula in milliseconds and the same in seconds: times are 1,000 times as long, probabilities
 * the same. */
CASE(another_unit_of_time_changes_times_and_no_probability)
{
    const double s = 1000;
    const double rate = 0.4;
    const double mean = 1.5;
    assert_relative(queueing_mg1_wait(rate, mean, 1), 2.25, 1e-12); /* 0.6 × 1.5 / 0.4 */
    assert_relative(queueing_mg1_wait(rate / s, mean * s, 0.5),
                    s * queueing_mg1_wait(rate, mean, 0.5), 1e-12);
    assert_relative(queueing_mmc_wait(rate / s, mean * s, 2), s * queueing_mmc_wait(rate, mean, 2),
                    1e-12);
    assert_relative(queueing_mm1_sojourn_quantile(rate / s, mean * s, 0.9),
                    s * queueing_mm1_sojourn_quantile(rate, mean, 0.9), 1e-12);
    assert_relative(queueing_mmck_loss(rate / s, mean * s, 2, 5),
                    queueing_mmck_loss(rate, mean, 2, 5), 1e-12);
    assert_relative(queueing_mmck_wait(rate / s, mean * s, 2, 5),
                    s * queueing_mmck_wait(rate, mean, 2, 5), 1e-12);
    assert_relative(queueing_closed_response(7, 4 * s, mean * s, 2),
                    s * queueing_closed_response(7, 4, mean, 2), 1e-12);
    assert_relative(queueing_pool_cold_probability(rate / s, mean * s, 3 * s),
                    queueing_pool_cold_probability(rate, mean, 3), 1e-9);
}

SUITE("queueing_theory")
