/* Dilu with trainings: the controller of shares against the authors' program, and the policy on the
 * platform. */
#include "sched/dilu/trainings.h"
#include "sim/engine/random.h"
#include "tests/fixture_trace.h"
#include "tests/suite.h"
#include "workloads/training/training_plan.h"

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
static const struct burst bursts[60] = {
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
};
/* clang-format on */

CASE(kappa_follows_the_original)
{
    struct rckm rckm;
    struct rckm_task task = {0};
    rckm_open(&rckm);
    for (size_t i = 0; i < sizeof bursts / sizeof *bursts; i++) {
        rckm_active(&rckm);
        rckm_burst(&rckm, &task, bursts[i].ticks, 0.5);
        if (!(fabs(rckm.kappa - bursts[i].kappa) <= 1e-6))
            fail_msg("burst %zu: kappa %.7f, not %.7f", i, rckm.kappa, bursts[i].kappa);
    }
}

#define assert_near(a, b) assert_true(fabs((a) - (b)) <= 1e-12)

/* Two trainings of (r, l) = (0.2, 0.4) and (0.3, 0.9) on a GPU. */
CASE(shares_by_hand)
{
    struct rckm rckm;
    struct rckm_task task = {0};
    rckm_open(&rckm);
    /* No inference yet: r / 0.5, at most the limit. */
    assert_near(rckm_share(&rckm, 0.2, 0.4, 0.5, 1.3), 0.4);
    assert_near(rckm_share(&rckm, 0.3, 0.9, 0.5, 1.3), 0.6);
    rckm_active(&rckm);
    assert_near(rckm_share(&rckm, 0.3, 0.9, 0.5, 1.3), 0.03);
    rckm_burst(&rckm, &task, 10, 0.5); /* the shortest */
    assert_near(rckm.kappa, 0.1);
    rckm_burst(&rckm, &task, 15.9, 0.5); /* 1.59: contention */
    assert_near(rckm.kappa, 0.1);
    rckm_burst(&rckm, &task, 16, 0.5); /* emergency */
    assert_near(rckm.kappa, 0.1 / 1.6);
    rckm_burst(&rckm, &task, 40, 0.5); /* 4: no change */
    assert_near(rckm.kappa, 0.1 / 1.6);
    rckm_burst(&rckm, &task, 11, 0.5); /* the fifth burst: recovery */
    assert_near(rckm.kappa, 0.13 / 1.6);
    for (int i = 0; i < 20; i++) /* bounded below by 0.01 · Σr */
        rckm_burst(&rckm, &task, 39, 0.5);
    assert_near(rckm.kappa, 0.005);
    for (int i = 0; i < 200; i++) /* and above by 1 */
        rckm_burst(&rckm, &task, 10, 0.5);
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
CASE(shares_stay_within_limits)
{
    RANDOM_STREAM(random, 1, RANDOM_TEST, 7, 0);
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
                rckm_burst(&rckm, &task, floor(1 + 40 * random_uniform(&random)), r[0] + r[1]);
            assert_true(rckm.kappa >= 0 && rckm.kappa <= 1);
            for (int i = 0; i < 2; i++) {
                const double share = rckm_share(&rckm, r[i], l[i], r[0] + r[1], l[0] + l[1]);
                assert_true(share >= 0 && share <= l[i]);
                assert_true(rckm.mode != RCKM_BESIDE || share <= r[i]);
            }
        }
    }
}

/* ---- On the platform ------------------------------------------------------------------------- */

enum { ROWS = 1 << 16 };

static struct training_result_row trained[64];
static struct lease_row leases[ROWS];
static size_t trained_count, lease_count;

KEEPER(keep_training, training_result_row, trained, trained_count)

KEEPER(keep_lease, lease_row, leases, lease_count)

/* Runs an experiment; false with an error. */
static bool try_run(const char *json, struct error *error)
{
    const struct recorder recorder = {.training = keep_training, .lease = keep_lease};
    trained_count = lease_count = 0;
    simulation_result_clear(&result);
    return run_recorded(json, NULL, NULL, 0, &recorder, &result, error);
}

static void simulate(const char *json)
{
    assert_good(try_run(json, hear()));
}

static const char one_gpu[] =
    "{'model': 'V100', 'sharing': 'mps', 'units': 100, 'memory_mb': 16384, 'count': 1}";
static const char four_gpus[] =
    "{'model': 'V100', 'sharing': 'mps', 'units': 100, 'memory_mb': 16384, 'count': 4}";

/* Of the shares, in what trainings and batches do to one another; 0: the mean of the pairs. */
static double share_exponent;

/* Models a: r 0.5, l 0.9, as fast as its share; b: r 0.3, l 0.6; both one second per
 * iteration. `trace` (NULL: no trainings) in the format synergy. */
static const char *world(unsigned invokers, const char *gpus, const char *trace,
                         const char *arrivals, const char *policy)
{
    static char json[8192];
    char training[2048] = "";
    if (trace != NULL) {
        trace_is(trace);
        snprintf(
            training, sizeof training,
            "'training': {'models': {'name': 'm', 'models': {'a': {'iteration_s': 1, "
            "'gpu_memory_mb': 4000, 'share': {'request': 0.5, 'limit': 0.9, 'speed': [0.1, 0.2, "
            "0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]}}, 'b': {'iteration_s': 1, 'gpu_memory_mb': "
            "3000, 'share': {'request': 0.3, 'limit': 0.6, 'speed': [1]}}}}, 'arrivals': "
            "{'process': 'trace', 'file': '%s', 'format': 'synergy'}, 'share_exponent': %g}, ",
            trace_path, share_exponent);
    }
    snprintf(
        json, sizeof json,
        "{'cluster': {'invokers': [{'count': %u, 'vcpus': 32, 'memory_mb': 249856, 'gpus': [%s]}], "
        "'price': {'vcpu_hour_usd': 0.034, 'vgpu_hour_usd': 0.03}}, %s%s'policy': %s, 'seed': 1}",
        invokers, gpus, training, arrivals, policy);
    return json;
}

#define REQUESTS_ON(platform, functions, arrivals, count, warmup)                                  \
    "'applications': [" functions                                                                  \
    "], 'functions': 'workloads/functions/v100-mps.json', 'profile': "                             \
    "'traces/profiles/v100-mps-igniter.json', 'slo': {'factor': 5}, 'arrivals': " arrivals         \
    ", 'requests': " count ", 'warmup_requests': " warmup ", 'platform': {" platform               \
    "'initial': 'warm', 'decision_cost': {'model': 'zero'}}, "
#define REQUESTS(functions, arrivals, count) REQUESTS_ON("", functions, arrivals, count, "0")
#define FUNCTION(name) "{'name': '" name "', 'stages': [{'name': 'run', 'function': '" name "'}]}"
#define FOUR                                                                                       \
    FUNCTION("alexnet") ", " FUNCTION("resnet50") ", " FUNCTION("vgg19") ", " FUNCTION("ssd")

/* One training, one request: before it the training has its limit; from the instance's creation
 * κ · r = 0.05 until 120 ticks after its batch; then its limit again. */
CASE(one_burst_by_hand)
{
    simulate(world(1, one_gpu, "0,a,0,100,1\n",
                   REQUESTS(FUNCTION("alexnet"),
                            "{'process': 'uniform', 'low_ms': 5000, 'high_ms': 5000}", "1"),
                   "{'name': 'dilu'}"));
    assert_int_equal(lease_count, 3);
    assert_true(fabs(leases[0].units - 90) <= 1e-9 && fabs(leases[2].units - 90) <= 1e-9);
    assert_true(fabs(leases[1].units - 5) <= 1e-9);
    const double beside = sim_to_s(leases[1].until_ns - leases[1].from_ns);
    assert_int_equal(leases[1].from_ns, 5 * SIM_S);
    if (!(beside > 0.6 && beside < 0.61)) /* its batch of one takes 1 to 3 ms */
        fail_msg("%g s", beside);
    /* 0.9 s of progress per second, but 0.05 beside the burst, and less while the batch executes.
     */
    const double finish = sim_to_s(trained[0].finish_ns);
    const double lost = 0.05 * (beside - 0.6) * (1 - 1 / 1.0966793);
    assert_true(fabs(0.9 * (finish - beside) + 0.05 * beside - lost - 100) <= 1e-6);
}

/* Without requests each training runs at 98 % of the rate at its limit, or more; two whose limits
 * exceed the GPU share it. */
CASE(alone_a_training_has_its_limit)
{
    simulate(world(1, four_gpus, "0,a,0,900,4\n", "", "{'name': 'dilu'}"));
    assert_true(sim_to_s(trained[0].finish_ns) <= 1000 / 0.98);
    simulate(world(1, one_gpu, "0,b,0,600,1\n", "", "{'name': 'dilu'}"));
    assert_true(sim_to_s(trained[0].finish_ns) <= 1000 / 0.98);
    /* r 0.3 each: 0.5 of a GPU each, below the limits of 0.6. */
    simulate(world(1, one_gpu, "0,b,0,600,1\n1,b,0,600,1\n", "",
                   "{'name': 'dilu', 'params': {'gamma': 2}}"));
    for (int i = 0; i < 2; i++)
        assert_true(fabs(sim_to_s(trained[i].finish_ns) - 1200) <= 1e-6);
}

/* Inference beside a training is as good as inference alone that never has more than its request.
 */
CASE(inference_beside_training_is_as_alone_at_its_request)
{
    static const char requests[] =
        REQUESTS(FUNCTION("resnet50"), "{'process': 'poisson', 'rate_per_s': 30}", "6000");
    simulate(world(1, one_gpu, NULL, requests, "{'name': 'dilu', 'params': {'vertical': 'off'}}"));
    const double alone = result.overall.slo_hit_rate;
    simulate(world(1, one_gpu, "0,b,0,30000,1\n", requests, "{'name': 'dilu'}"));
    const double beside = result.overall.slo_hit_rate;
    assert_true(lease_count > 10);
    if (!(beside >= alone - 0.02))
        fail_msg("alone %g, beside %g", alone, beside);
}

/* Four functions in bursts on 16 GPUs; hit rates by function. */
#define BURSTS(platform)                                                                           \
    REQUESTS_ON(platform, FOUR,                                                                    \
                "{'process': 'mmpp', 'states': [{'rate_per_s': 53.333, 'mean_sojourn_s': 8}, "     \
                "{'rate_per_s': 480, 'mean_sojourn_s': 2}]}",                                      \
                "20000", "1000")
static const char *const alone_bursts = BURSTS("'interference': false, ");
static const char *const bursts_beside = BURSTS("");

static void hit_rates(const char *requests, const char *trace, const char *params, double *rates)
{
    char *policy = formatted("{'name': 'dilu', 'params': {%s}}", params);
    simulate(world(4, four_gpus, trace, requests, policy));
    assert_int_equal(result.application_count, 4);
    for (size_t f = 0; f < 4; f++)
        rates[f] = result.applications[f].slo_hit_rate;
}

/* Beside trainings that are there first, each function keeps what it has alone with its request,
 * within two points: without interference all, with it all but ssd, which is near its capacity in
 * bursts. There the controller takes from the training, which the baseline does not. */
CASE(functions_beside_trainings_keep_what_they_have_alone)
{
    enum { SSD = 3 };
    static const char trace[] = "0,b,0,900,4\n1,a,0,900,2\n2,b,0,900,2\n3,a,0,900,4\n";
    double alone[4], beside[4], slowed[4], baseline[4];
    hit_rates(alone_bursts, NULL, "'vertical': 'off'", alone);
    hit_rates(alone_bursts, trace, "", beside);
    share_exponent = TRAINING_SHARE_EXPONENT;
    hit_rates(bursts_beside, trace, "", slowed);
    assert_true(lease_count > 100); /* instances are beside trainings */
    hit_rates(bursts_beside, trace, "'scheme': 'infless-r'", baseline);
    share_exponent = 0;
    for (size_t f = 0; f < 4; f++) {
        if (!(beside[f] >= alone[f] - 0.02 && (f == SSD || slowed[f] >= alone[f] - 0.02)))
            fail_msg("function %zu: alone %g, beside %g, slowed %g", f, alone[f], beside[f],
                     slowed[f]);
    }
    if (!(slowed[SSD] >= baseline[SSD] + 0.05))
        fail_msg("ssd: %g, by infless-r %g", slowed[SSD], baseline[SSD]);
}

/* No training has more than its limit on any GPU; the baselines' shares do not change. The platform
 * checks the ledger at every event. */
CASE(shares_on_the_platform_stay_within_limits)
{
    static const char *const schemes[] = {"dilu", "infless-l", "infless-r", "exclusive"};
    static const double shares[4][2] = {{0.9, 0.6}, {0.9, 0.6}, {0.5, 0.3}, {1, 1}};
    for (unsigned i = 0; i < 12; i++) {
        char trace[1024];
        char *at = trace;
        double arrival = 0;
        RANDOM_STREAM(random, i, RANDOM_TEST, 8, 0);
        for (unsigned t = 0; t < 12; t++) {
            arrival += floor(random_uniform(&random) * 8);
            at += sprintf(at, "%u,%s,%.0f,%u,%u\n", t, random_uniform(&random) < 0.5 ? "a" : "b",
                          arrival, 1 + (unsigned)(random_uniform(&random) * 40),
                          1U << (unsigned)(random_uniform(&random) * 3));
        }
        char *policy = formatted("{'name': 'dilu', 'params': {'scheme': '%s'}}", schemes[i % 4]);
        simulate(world(4, four_gpus, trace,
                       REQUESTS(FOUR, "{'process': 'poisson', 'rate_per_s': 60}", "3000"), policy));
        assert_int_equal(trained_count, 12);
        for (size_t t = 0; t < trained_count; t++)
            assert_true(trained[t].finished);
        for (size_t k = 0; k < lease_count; k++) {
            const double limit =
                shares[i % 4][trained[leases[k].training].model] * 100 * leases[k].gpus;
            assert_true(leases[k].units <= limit + 1e-9 && leases[k].until_ns > leases[k].from_ns);
            assert_true(i % 4 == 0 || fabs(leases[k].units - limit) <= 1e-9);
        }
        assert_true(i % 4 == 0 || lease_count == 12);
    }
}

/* A training and batches slow each other by the constant of the profile's pairs, 0.0966793: the
 * batches at all times, the training while one executes, which is nearly always here. */
CASE(batches_and_trainings_slow_each_other)
{
    static const char requests[] =
        REQUESTS(FUNCTION("ssd"), "{'process': 'closed', 'users': 1, 'think_ms': 0.01}", "5000");
    static const char policy[] = "{'name': 'dilu', 'params': {'scheme': 'infless-r'}}";
    simulate(world(1, one_gpu, NULL, requests, policy));
    const double alone = result.overall.exec_ms_mean;
    simulate(world(1, one_gpu, "0,a,0,1000,1\n", requests, policy));
    assert_true(fabs(result.overall.exec_ms_mean / alone - 1.0966793) <= 1e-6);
    simulate(world(1, one_gpu, "0,a,0,10,1\n", requests, policy));
    /* 10 iterations at half a GPU, 0.5 iterations per second. */
    const double slowdown = sim_to_s(trained[0].finish_ns) / 20;
    if (!(slowdown > 1.09 && slowdown <= 1.0966794))
        fail_msg("%g", slowdown);
}

/* Slowdown - 1 of ssd's batches beside one training of the model, at their requests. */
static double excess_beside(const char *model, double exponent)
{
    static const char requests[] =
        REQUESTS(FUNCTION("ssd"), "{'process': 'closed', 'users': 1, 'think_ms': 0.01}", "2000");
    static const char policy[] = "{'name': 'dilu', 'params': {'scheme': 'infless-r'}}";
    char *trace = formatted("0,%s,0,1000,1\n", model);
    simulate(world(1, one_gpu, NULL, requests, policy));
    const double alone = result.overall.exec_ms_mean;
    share_exponent = exponent;
    simulate(world(1, one_gpu, trace, requests, policy));
    share_exponent = 0;
    return result.overall.exec_ms_mean / alone - 1;
}

/* What they do to one another is the constant × (product of the shares / 0.21) ^ exponent. The
 * request of ssd is 0.4; those of a and b are 0.5 and 0.3. */
CASE(smaller_shares_slow_less)
{
    static const double mean = 0.0966793;
    static const double exponents[] = {0, 0.3, 1, 2};
    for (size_t i = 0; i < sizeof exponents / sizeof *exponents; i++) {
        const double a = mean * pow(0.5 * 0.4 / 0.21, exponents[i]);
        const double b = mean * pow(0.3 * 0.4 / 0.21, exponents[i]);
        if (!(fabs(excess_beside("a", exponents[i]) - a) <= 1e-6 &&
              fabs(excess_beside("b", exponents[i]) - b) <= 1e-6))
            fail_msg("exponent %g: %g and %g", exponents[i], excess_beside("a", exponents[i]),
                     excess_beside("b", exponents[i]));
    }
}

/* A node has vCPUs for one training only. The pool does not know of vCPUs, and takes the next GPU.
 */
CASE(trainings_go_on_where_a_node_has_no_vcpus_left)
{
    static const char *const schemes[] = {"dilu", "infless-l", "infless-r", "exclusive"};
    for (size_t i = 0; i < 4; i++) {
        char *policy = formatted(
            "{'name': 'dilu', 'params': {'scheme': '%s', 'training_vcpus': 32}}", schemes[i]);
        simulate(
            world(3, four_gpus, "0,b,0,60,1\n1,b,0,60,1\n2,b,0,60,1\n3,b,0,60,1\n", "", policy));
        for (size_t t = 0; t < 4; t++)
            assert_int_equal(trained[t].start_ns, t < 3 ? 0 : trained[0].finish_ns);
    }
}

CASE(bad_input_is_refused)
{
    static const char mig[] = "{'model': 'A100', 'sharing': 'mig', 'units': 7, 'memory_mb': 40960}";
    assert_bad_input(try_run(world(1, mig, "0,a,0,10,1\n", "", "{'name': 'dilu'}"), hear()),
                     "under MPS");
    assert_bad_input(try_run(world(2, four_gpus, "0,a,0,10,6\n", "", "{'name': 'dilu'}"), hear()),
                     "on one invoker");
    simulate(world(2, four_gpus, "0,a,0,10,6\n", "",
                   "{'name': 'dilu', 'params': {'scheme': 'exclusive'}}"));
}

/* A request that a model does not give: the least multiple of 5 % with 98 % of the full speed. */
CASE(requests_follow_from_speeds)
{
    double speed[] = {0.5, 1, 1, 1};
    double request = 0, limit = 0;
    struct training_model model = {.speed = speed, .speed_count = 4};
    dilu_training_shares(&model, 0.98, 1.5, &request, &limit);
    assert_near(request, 0.5); /* at 0.45: 0.9 */
    assert_near(limit, 0.75);
    dilu_training_shares(&model, 0.5, 1.5, &request, &limit);
    assert_near(request, 0.25);
    model.speed = NULL;
    dilu_training_shares(&model, 0.98, 1.5, &request, &limit);
    assert_true(request >= 1 && limit >= 1);
}

static int close_trace(void **state)
{
    simulation_result_clear(&result);
    return trace_remove(state);
}

SUITE_WITH("dilu_training", trace_create, close_trace)
