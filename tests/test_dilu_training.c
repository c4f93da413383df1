/* Dilu with trainings: the controller of shares against the authors' program, and the policy on the
 * platform. */
#include <math.h>

#include "sched/dilu/rckm.h"
#include "sched/policy_training.h"
#include "sim/engine/random.h"
#include "tests/fixture_simulation.h"

/* ---- The controller -------------------------------------------------------------------------- */

/* Lengths of bursts, in ticks, and kappa after each, of one instance beside trainings of Σr 0.5:
 * shift_window of sigserverless/Dilu at 1134655, adaptive_2D_scaling/vertical_scaling/server/RCKM.c
 * (lines 126-183), compiled unchanged and fed these bursts with one idle tick after each. It keeps
 * kappa in integers of 1e-7. */
struct burst {
    int ticks;
    double kappa;
};

/* clang-format off */
static const struct burst bursts[2][60] = {
{
{11, 0.1000000}, {4, 0.1000000}, {10, 0.1000000}, {11, 0.1000000}, 
{10, 0.1300000}, {14, 0.1300000}, {15, 0.1300000}, {4, 0.1300000}, 
{10, 0.1300000}, {11, 0.1690000}, {10, 0.1690000}, {10, 0.1690000}, 
{10, 0.1690000}, {11, 0.1690000}, {10, 0.2197000}, {10, 0.2197000}, 
{10, 0.2197000}, {26, 0.0845000}, {10, 0.0845000}, {5, 0.1098500}, 
{9, 0.1098500}, {4, 0.1098500}, {9, 0.1098500}, {9, 0.1098500}, 
{3, 0.1428050}, {24, 0.0535518}, {10, 0.0535518}, {10, 0.0535518}, 
{4, 0.0535518}, {9, 0.0696173}, {9, 0.0696173}, {10, 0.0696173}, 
{9, 0.0696173}, {18, 0.0348086}, {9, 0.0452511}, {9, 0.0452511}, 
{9, 0.0452511}, {24, 0.0169691}, {4, 0.0169691}, {14, 0.0169691}, 
{12, 0.0169691}, {13, 0.0169691}, {12, 0.0169691}, {32, 0.0050000}, 
{15, 0.0050000}, {12, 0.0050000}, {13, 0.0050000}, {18, 0.0050000}, 
{13, 0.0050000}, {13, 0.0050000}, {13, 0.0050000}, {6, 0.0050000}, 
{13, 0.0050000}, {12, 0.0050000}, {6, 0.0065000}, {12, 0.0065000}, 
{13, 0.0065000}, {6, 0.0065000}, {6, 0.0065000}, {13, 0.0065000}
}, {
{11, 0.1000000}, {4, 0.1000000}, {10, 0.0400000}, {11, 0.0145454}, 
{10, 0.0058181}, {14, 0.0016623}, {15, 0.0050000}, {4, 0.0050000}, 
{10, 0.0020000}, {11, 0.0007272}, {10, 0.0050000}, {10, 0.0020000}, 
{10, 0.0008000}, {11, 0.0050000}, {10, 0.0020000}, {10, 0.0008000}, 
{10, 0.0050000}, {26, 0.0050000}, {10, 0.0020000}, {5, 0.0020000}, 
{9, 0.0008888}, {4, 0.0008888}, {9, 0.0050000}, {9, 0.0022222}, 
{3, 0.0028888}, {24, 0.0028888}, {10, 0.0008666}, {10, 0.0050000}, 
{4, 0.0037500}, {9, 0.0012500}, {9, 0.0050000}, {10, 0.0015000}, 
{9, 0.0005000}, {18, 0.0005000}, {9, 0.0050000}, {9, 0.0016666}, 
{9, 0.0005555}, {24, 0.0005555}, {4, 0.0050000}, {14, 0.0050000}, 
{12, 0.0050000}, {13, 0.0050000}, {12, 0.0050000}, {32, 0.0050000}, 
{15, 0.0013333}, {12, 0.0050000}, {13, 0.0015384}, {18, 0.0015384}, 
{13, 0.0050000}, {13, 0.0015384}, {13, 0.0050000}, {6, 0.0033333}, 
{13, 0.0010256}, {12, 0.0050000}, {6, 0.0033333}, {12, 0.0011111}, 
{13, 0.0050000}, {6, 0.0033333}, {6, 0.0033333}, {13, 0.0015384}
}};
/* clang-format on */

static void kappa_follows_the_original(void **state)
{
    (void)state;
    for (int llm = 0; llm < 2; llm++) {
        struct rckm rckm;
        struct rckm_task task = {0};
        rckm_open(&rckm);
        for (size_t i = 0; i < 60; i++) {
            rckm_active(&rckm);
            rckm_burst(&rckm, &task, bursts[llm][i].ticks, llm == 1, 0.5);
            if (!(fabs(rckm.kappa - bursts[llm][i].kappa) <= 1e-6))
                fail_msg("burst %zu: kappa %.7f, not %.7f", i, rckm.kappa, bursts[llm][i].kappa);
        }
    }
}

#define assert_near(a, b) assert_true(fabs((a) - (b)) <= 1e-12)

/* Two trainings of (r, l) = (0.2, 0.4) and (0.3, 0.9) on a GPU. */
static void shares_by_hand(void **state)
{
    (void)state;
    struct rckm rckm;
    struct rckm_task task = {0};
    rckm_open(&rckm);
    /* No inference yet: r / 0.5, at most the limit. */
    assert_near(rckm_share(&rckm, 0.2, 0.4, 0.5, 1.3), 0.4);
    assert_near(rckm_share(&rckm, 0.3, 0.9, 0.5, 1.3), 0.6);
    rckm_active(&rckm);
    assert_near(rckm_share(&rckm, 0.3, 0.9, 0.5, 1.3), 0.03);
    rckm_burst(&rckm, &task, 10, false, 0.5); /* the shortest */
    assert_near(rckm.kappa, 0.1);
    rckm_burst(&rckm, &task, 15.9, false, 0.5); /* 1.59: contention */
    assert_near(rckm.kappa, 0.1);
    rckm_burst(&rckm, &task, 16, false, 0.5); /* emergency */
    assert_near(rckm.kappa, 0.1 / 1.6);
    rckm_burst(&rckm, &task, 40, false, 0.5); /* 4: no change */
    assert_near(rckm.kappa, 0.1 / 1.6);
    rckm_burst(&rckm, &task, 11, false, 0.5); /* the fifth burst: recovery */
    assert_near(rckm.kappa, 0.13 / 1.6);
    for (int i = 0; i < 20; i++) /* bounded below by 0.01 · Σr */
        rckm_burst(&rckm, &task, 39, false, 0.5);
    assert_near(rckm.kappa, 0.005);
    for (int i = 0; i < 200; i++) /* and above by 1 */
        rckm_burst(&rckm, &task, 10, false, 0.5);
    assert_near(rckm.kappa, 1);
    rckm_idle(&rckm);
    assert_near(rckm_share(&rckm, 0.2, 0.4, 0.5, 1.3), 0.4); /* 1.3 · 0.4 = 0.52, over the limit */
    assert_near(rckm_share(&rckm, 0.3, 0.9, 0.5, 1.3), 0.78);
    rckm_active(&rckm);
    rckm_left(&rckm, 0.3, 1);
    assert_near(rckm.kappa, 0.7);
    assert_near(rckm_share(&rckm, 0.3, 0.9, 0.5, 1.3), 0.21);
    rckm_left(&rckm, 0, 0);
    assert_near(rckm_share(&rckm, 0.3, 0.9, 0.5, 1.3), 0.78);
}

/* Random sequences: no share exceeds its limit, shares beside inference never exceed the requests,
 * kappa stays within [0, 1]. */
static void shares_stay_within_limits(void **state)
{
    (void)state;
    struct random_stream random;
    random_stream_open(&random, 1, RANDOM_TEST, 7, 0);
    for (int run = 0; run < 200; run++) {
        struct rckm rckm;
        struct rckm_task task = {0};
        const double r[2] = {0.05 + 0.4 * random_uniform(&random),
                             0.05 + 0.4 * random_uniform(&random)};
        const double l[2] = {r[0] + 0.3 * random_uniform(&random),
                             r[1] + 0.3 * random_uniform(&random)};
        rckm_open(&rckm);
        for (int step = 0; step < 100; step++) {
            const double kind = random_uniform(&random);
            if (kind < 0.1)
                rckm_idle(&rckm);
            else if (kind < 0.2)
                rckm_left(&rckm, random_uniform(&random) / 2, kind < 0.15);
            else
                rckm_active(&rckm);
            if (kind > 0.5)
                rckm_burst(&rckm, &task, floor(1 + 40 * random_uniform(&random)), kind > 0.9,
                           r[0] + r[1]);
            assert_true(rckm.kappa >= 0 && rckm.kappa <= 1);
            for (int i = 0; i < 2; i++) {
                const double share = rckm_share(&rckm, r[i], l[i], r[0] + r[1], l[0] + l[1]);
                assert_true(share >= 0 && share <= l[i]);
                assert_true(rckm.mode != RCKM_BESIDE || share <= r[i]);
            }
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(kappa_follows_the_original),
        cmocka_unit_test(shares_by_hand),
        cmocka_unit_test(shares_stay_within_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
