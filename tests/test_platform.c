/* Small worlds whose every instant and cent is worked out by hand in the comments, run by policies
 * that follow a script. */
#include <time.h>

#include "sched/common/placement.h"
#include "sched/registry.h"
#include "sim/run/run_policies.h"
#include "tests/fixture_simulation.h"

/* ---- Worlds ---------------------------------------------------------------------------------- */

/* f takes 100 ms and starts cold in 1 s, g 50 ms and 2 s, whatever the configuration. A batch holds
 * one vCPU. */
#define FUNCTION(name, ms, cold_ms, per_item_mb, vgpus, row)                                       \
    "'" name "':{'grid':{'batch':[1,2],'vcpu':[1],'vgpu':[" vgpus "]},"                            \
    "'latency_ms':[[[" row "]],[[" row "]]],'noise':{'cv':0},"                                     \
    "'cold_start_ms':{'mean':" cold_ms ",'cv':0},"                                                 \
    "'gpu_memory_mb':{'weights':100,'per_item':" per_item_mb "},'host_memory_mb':100,"             \
    "'bandwidth_share':0.5}"
#define PROFILE(unit, functions)                                                                   \
    "{'device':'test','evidence':'assumed','source':'test','licence':'none',"                      \
    "'unit':" unit ",'functions':{" functions                                                      \
    "},'interference':{'model':'constant','constant':0.5}}"
#define QUARTERS                                                                                   \
    PROFILE("4", FUNCTION("f", "100", "1000", "10", "1,2,4", "100,100,100") "," FUNCTION(          \
                     "g", "50", "2000", "10", "1,2,4", "50,50,50"))
#define EITHER PROFILE("4", FUNCTION("f", "100", "1000", "10", "0,1", "100,50"))
#define SEVENTHS                                                                                   \
    PROFILE("7", FUNCTION("f", "100", "1000", "10", "1,2,3,5,7", "100,100,100,100,100"))
#define HUNGRY                                                                                     \
    PROFILE("4", FUNCTION("f", "100", "1000", "300", "1,2,4", "100,100,100") "," FUNCTION(         \
                     "g", "50", "2000", "350", "1,2,4", "50,50,50"))

#define GPU(model, sharing, units, memory_mb)                                                      \
    "{'model':'" model "','sharing':'" sharing "','units':" units ",'memory_mb':" memory_mb "}"
#define INVOKERS(count, vcpus, gpus)                                                               \
    "{'count':" count ",'vcpus':" vcpus ",'memory_mb':8192,'gpus':[" gpus "]}"
#define MPS4 GPU("test", "mps", "4", "8192")

/* 0.001 $/s a vCPU and 0.01 $/s a vGPU. */
#define WORLD(invokers, profile, platform, arrivals, rest)                                         \
    "{'name':'test','cluster':{'invokers':[" invokers "],'price':{"                                \
    "'vcpu_hour_usd':3.6,'vgpu_hour_usd':36}},'profile':" profile                                  \
    ",'platform':{'prewarm':'none'" platform "},'arrivals':{" arrivals "}," rest "}"

/* One invoker with one GPU, f and g. */
#define PLAIN(platform, arrivals, rest)                                                            \
    WORLD(INVOKERS("1", "8", MPS4), QUARTERS, platform, arrivals, rest)

#define STAGE(name, function, more) "{'name':'" name "','function':'" function "'" more "}"
#define APPLICATION(stages) "'applications':[{'name':'app','stages':[" stages "]}]"
#define ONE APPLICATION(STAGE("s", "f", ""))
#define THREE(a, b, c) APPLICATION(a "," b "," c)
#define FOUR(a, b, c, d) APPLICATION(a "," b "," c "," d)
#define FORK THREE(STAGE("x", "f", ""), STAGE("y", "g", ""), STAGE("z", "g", ",'after':['x','y']"))
#define EVERY(ms) "'process':'uniform','low_ms':" ms ",'high_ms':" ms
#define COUNT(warmup, requests) ",'warmup_requests':" warmup ",'requests':" requests

#define TRACE "'process':'trace','file':'%s'"

static void assert_close(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-12 + 1e-9 * fabs(expected)))
        fail_msg("%.15g, expected %.15g", value, expected);
}

/* ---- Scripts --------------------------------------------------------------------------------- */

/* Where `jobs` wait in `queue`, they run as one batch. */
struct rule {
    uint32_t queue, jobs;
    uint16_t vgpu;
    uint32_t invoker;
};

static uint32_t configuration_of(const struct platform *platform, uint32_t function, uint32_t jobs,
                                 uint16_t vgpu)
{
    const struct function *about = &platform_workload(platform)->functions[function];
    for (uint32_t c = 0; c < about->configuration_count; c++)
        if (about->configurations[c].batch >= jobs && about->configurations[c].vgpu == vgpu)
            return c;
    return SIM_NONE;
}

/* One decision: the first rule that can be followed, for one unit of work. */
static bool follow(struct platform *platform, const struct rule *rules, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct rule *rule = &rules[i];
        if (platform_queue_length(platform, rule->queue) < rule->jobs)
            continue;
        uint32_t function = platform_queue_function(platform, rule->queue);
        uint32_t configuration = configuration_of(platform, function, rule->jobs, rule->vgpu);
        assert_int_not_equal(configuration, SIM_NONE);
        if (!platform_fits(platform, function, configuration, rule->invoker))
            continue;
        platform_charge(platform, 1);
        return platform_dispatch(platform, rule->queue, rule->jobs, configuration, rule->invoker);
    }
    return false;
}

#define SCRIPT(title, ...)                                                                         \
    static bool title##_decide(void *state, struct platform *platform)                             \
    {                                                                                              \
        static const struct rule rules[] = {__VA_ARGS__};                                          \
        (void)state;                                                                               \
        return follow(platform, rules, sizeof rules / sizeof *rules);                              \
    }                                                                                              \
    static const struct policy title = {.abi = POLICY_ABI, .name = #title, .decide = title##_decide}

SCRIPT(simple, {0, 1, 1, 0});
SCRIPT(pairs, {0, 2, 1, 0});
SCRIPT(whole, {0, 1, 4, 0});
SCRIPT(star, {0, 1, 1, 0}, {1, 1, 1, 0}, {2, 1, 1, 0}, {3, 1, 1, 0});

/* ---- DAGs ------------------------------------------------------------------------------------ */

SCRIPT(remote_branch, {0, 1, 1, 0}, {1, 1, 1, 0}, {2, 1, 1, 1}, {3, 1, 1, 0});

CASE(a_join_waits_for_both_branches_and_transfers_from_the_remote_one_only)
{
    /* a on invoker 0: 100. b there: 100, at 200. c on invoker 1: 1 ms + 1.25 MB at 10 Gb/s = 2 ms,
     * then 50, at 152. d on invoker 0 from 200: what c made, 2 ms, not b's 12.5 MB; 50, at 252. */
    go(WORLD(INVOKERS("2", "8", MPS4), QUARTERS, "", EVERY("1000"),
             FOUR(STAGE("a", "f", ",'output_bytes':1250000"),
                  STAGE("b", "f", ",'after':['a'],'output_bytes':12500000"),
                  STAGE("c", "g", ",'after':['a'],'output_bytes':1250000"),
                  STAGE("d", "g", ",'after':['b','c']")) COUNT("0", "2")),
       &remote_branch);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(rows.requests[i].finish_ns - rows.requests[i].arrival_ns, 252 * SIM_MS);
        assert_int_equal(rows.requests[i].transfer_ns, 4 * SIM_MS);
        assert_int_equal(rows.requests[i].exec_ns, 300 * SIM_MS);
        assert_int_equal(rows.requests[i].queue_ns, 0);
    }
    assert_close(result.overall.cost_hold_usd, 2 * 0.004 * 0.011);
}

static void give_up_later(void *state, struct platform *platform, uint32_t queue)
{
    if (queue == 1)
        platform_set_timer(platform, platform_now(platform) + 30 * SIM_MS, 0);
}

static bool give_up_decide(void *state, struct platform *platform)
{
    static const struct rule first = {0, 1, 1, 0};
    if (follow(platform, &first, 1))
        return true;
    if (platform_queue_length(platform, 1) == 0 ||
        platform_now(platform) < platform_job(platform, 1, 0).ready + 30 * SIM_MS)
        return false;
    return platform_drop(platform, 1, 0);
}

POLICY(give_up, .on_ready = give_up_later, .decide = give_up_decide);

CASE(a_dropped_request_ends_with_its_running_branch_and_counts_as_a_miss)
{
    go(PLAIN("", EVERY("1000"), FORK COUNT("0", "2")), &give_up);
    assert_int_equal(rows.request_count, 2);
    assert_int_equal(rows.batch_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_true(rows.requests[i].dropped);
        assert_false(rows.requests[i].hit);
        assert_int_equal(rows.requests[i].finish_ns - rows.requests[i].arrival_ns, 100 * SIM_MS);
        assert_close(rows.requests[i].cost_usd, 0.1 * 0.011); /* what ran is paid */
        assert_int_equal(rows.requests[i].queue_ns, 30 * SIM_MS);
    }
    assert_int_equal(result.overall.dropped, 2);
    assert_close(result.overall.slo_hit_rate, 0);
    assert_true(isnan(result.overall.latency_ms_mean)); /* no request was answered */
}

CASE(a_refusal_in_one_branch_leaves_no_policy_with_an_empty_queue)
{
    for (size_t p = 0; policy_for_requests(p) != NULL; p++) {
        for (unsigned world = 0; world < 12; world++) {
            unsigned capacity = 1 + world % 3, vcpus = 1 + world % 4, rate = 30 + 30 * (world % 5);
            char *json = formatted(
                WORLD(INVOKERS("1", "%u", MPS4), QUARTERS, ",'queue_capacity':%u",
                      "'process':'poisson','rate_per_s':%u",
                      FOUR(STAGE("x", "f", ""), STAGE("y", "g", ""),
                           STAGE("w", "g", ",'after':['y']"), STAGE("z", "f", ",'after':['x','w']"))
                          COUNT("0", "400") ",'policy':{'name':'%s'}"),
                vcpus, capacity, rate, policy_for_requests(p)->name);
            go(json, NULL);
            assert_int_equal(result.overall.requests, 400);
        }
    }
}

/* ESG, from whose recheck list a waiting request is taken away. */
static bool robbed_decide(void *state, struct platform *platform)
{
    bool more = policy_find("esg", hear())->decide(state, platform);
    if (platform_queue_length(platform, 0) > 0)
        platform_drop(platform, 0, 0);
    return more;
}

CASE(esg_forgets_a_listed_queue_that_a_drop_has_emptied)
{
    const char *json = WORLD(INVOKERS("1", "1", MPS4), QUARTERS, "", EVERY("10"),
                             ONE COUNT("0", "30") ",'policy':{'name':'esg'}");
    EXPERIMENT *experiment = load(json);
    double *values = NULL;
    struct policy robbed = *policy_resolve(experiment, &values, hear());
    robbed.decide = robbed_decide;
    assert_good(simulation_run(experiment, &robbed, values, NULL, NULL, anew(), hear()));
    assert_true(result.overall.dropped > 0 && result.overall.dropped < 30);
}

/* ---- Containers ------------------------------------------------------------------------------ */

static bool claimer_init(void *state, struct platform *platform, const void *parameters,
                         struct error *error)
{
    platform_set_timer(platform, 1200 * SIM_MS, 0);
    platform_set_timer(platform, 1700 * SIM_MS, 1);
    return true;
}

static void claimer_timer(void *state, struct platform *platform, uint32_t id)
{
    if (id == 0)
        assert_true(platform_prewarm(platform, 0, 0));
}

static bool claimer_decide(void *state, struct platform *platform)
{
    static const struct rule rule = {0, 1, 1, 0};
    return platform_now(platform) >= 1700 * SIM_MS && follow(platform, &rule, 1);
}

POLICY(claimer, .init = claimer_init, .on_timer = claimer_timer, .decide = claimer_decide);

CASE(a_batch_that_claims_a_starting_container_waits_for_the_rest_of_its_start)
{
    /* Asked at 1,000; a container starts at 1,200 and is ready at 2,200; claimed at 1,700: 700 of
     * queue, 500 of cold start, 100 of execution. Idle to 3,000, then warm. */
    go(PLAIN(",'initial':'cold','interference':false", EVERY("1000"), ONE COUNT("0", "3")),
       &claimer);
    assert_int_equal(rows.requests[0].queue_ns, 700 * SIM_MS);
    assert_int_equal(rows.requests[0].cold_ns, 500 * SIM_MS);
    assert_int_equal(rows.requests[0].finish_ns, 2300 * SIM_MS);
    assert_true(rows.batches[0].cold);
    assert_int_equal(result.run.prewarms, 1);
    /* The second came at 2,000, while the container was taken: a start of its own. */
    assert_int_equal(rows.requests[1].finish_ns, 3100 * SIM_MS);
    assert_int_equal(rows.requests[2].finish_ns, 3100 * SIM_MS);
    assert_int_equal(result.run.cold_starts, 1);
    assert_int_equal(result.run.evictions, 0);
    /* Start ahead of need 1,200–1,700 and idle 2,300–3,000: 1.2 s. Held cold 0.5 + 1 s. */
    assert_close(result.run.cost_idle_usd, 1.2 * 0.011);
    assert_close(result.overall.cost_hold_usd, 1.5 * 0.011);
    assert_close(result.run.cost_provisioned_usd, (1.2 + 1.5 + 0.3) * 0.011);
}

static bool hasty_decide(void *state, struct platform *platform)
{
    static const struct rule rule = {0, 1, 1, 0};
    if (platform_next_queue(platform, 0) != SIM_NONE && platform_now(platform) == 0)
        assert_true(platform_prewarm(platform, 0, 0));
    return follow(platform, &rule, 1);
}

POLICY(hasty, .decide = hasty_decide);

CASE(a_start_that_ends_at_time_0_is_over)
{
    go(WORLD(INVOKERS("1", "8", MPS4),
             PROFILE("4", FUNCTION("f", "100", "0", "300", "1,2,4", "100,100,100")),
             ",'initial':'cold','interference':false", "'process':'closed','users':1,'think_ms':0",
             ONE COUNT("0", "1")),
       &hasty);
    assert_int_equal(rows.requests[0].arrival_ns, 0);
    assert_int_equal(result.run.prewarms, 1);
    assert_int_equal(result.run.cold_starts, 0);
    assert_false(rows.batches[0].cold);
}

CASE(a_trace_shorter_than_the_requests_ends_the_run_with_those_it_has)
{
    run_trace(PLAIN("", TRACE, ONE COUNT("0", "10")), "0,app\n500,app\n", &simple);
    assert_int_equal(result.overall.requests, 2);
    assert_int_equal(rows.request_count, 2);
}

CASE(a_container_is_gone_at_the_instant_its_keep_alive_ends)
{
    /* Cold at 3,000, idle from 4,100; the next asks at 6,000, 1.9 s later. */
    go(PLAIN(",'initial':'cold','keep_alive_s':1.9", EVERY("3000"), ONE COUNT("0", "2")), &simple);
    assert_int_equal(rows.requests[1].cold_ns, 1000 * SIM_MS);
    assert_int_equal(result.run.evictions, 1);
    go(PLAIN(",'initial':'cold','keep_alive_s':1.900000001", EVERY("3000"), ONE COUNT("0", "2")),
       &simple);
    assert_int_equal(rows.requests[1].cold_ns, 0);
    assert_int_equal(result.run.evictions, 0);
}

/* Ten seconds the first time, half a second after. */
static sim_time_t shorter_keep_alive(void *state, struct platform *platform, uint32_t function,
                                     uint32_t invoker)
{
    return platform_now(platform) < 5 * SIM_S ? 10 * SIM_S : SIM_S / 2;
}

CASE(a_keep_alive_that_becomes_shorter_holds_from_then_on)
{
    struct policy policy = simple;
    policy.keep_alive = shorter_keep_alive;
    /* Cold at 3,000, kept to 14,100; warm at 6,000, kept to 6,600 only; so cold at 9,000. */
    go(PLAIN(",'initial':'cold'", EVERY("3000"), ONE COUNT("0", "3")), &policy);
    assert_int_equal(rows.requests[0].cold_ns, 1000 * SIM_MS);
    assert_int_equal(rows.requests[1].cold_ns, 0);
    assert_int_equal(rows.requests[2].cold_ns, 1000 * SIM_MS);
}

/* A policy that starts 300 more containers when asked how long to keep one. */
static sim_time_t crowding_keep_alive(void *state, struct platform *platform, uint32_t function,
                                      uint32_t invoker)
{
    for (int i = 0; i < 300 && platform_now(platform) > 0; i++)
        platform_prewarm(platform, function, invoker);
    return SIM_S / 2;
}

CASE(a_policy_may_start_containers_when_asked_how_long_to_keep_one)
{
    struct policy policy = simple;
    policy.keep_alive = crowding_keep_alive;
    go(WORLD("{'count':1,'vcpus':8,'memory_mb':819200,'gpus':[" GPU("test", "mps", "4",
                                                                    "819200") "]}",
             QUARTERS, ",'initial':'cold'", EVERY("3000"), ONE COUNT("0", "1")),
       &policy);
    assert_int_equal(result.run.prewarms, 300);
}

CASE(the_reuse_order_chooses_among_idle_containers)
{
    /* Container 0 on GPU 0, container 1 on GPU 1. Requests at 100 and 150 use one each, ended at
     * 200 and 250; two more come when both are idle. */
    static const struct {
        const char *world;
        uint32_t gpus[4];
    } cases[] = {
#define REUSE(order)                                                                               \
    WORLD(INVOKERS("1", "8", MPS4 "," MPS4), QUARTERS, ",'initial':{'f':2},'reuse':'" order "'",   \
          TRACE, ONE COUNT("0", "4"))
        {REUSE("mru"), {1, 0, 0, 0}},
        {REUSE("lru"), {0, 1, 0, 1}},
        {REUSE("newest"), {1, 0, 1, 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run_trace(cases[i].world, "100,app\n150,app\n300,app\n500,app\n", &simple);
        for (size_t k = 0; k < 4; k++)
            assert_int_equal(rows.batches[k].gpu, cases[i].gpus[k]);
        assert_close(result.overall.cold_start_rate, 0);
    }
}

static bool counting_decide(void *state, struct platform *platform)
{
    if (platform_queue_length(platform, 0) > 0) {
        assert_int_equal(platform_warm_total(platform, 0), 3);
        assert_int_equal(platform_warm(platform, 0, platform_home(platform, 0, 0)), 2);
        assert_int_equal(platform_warm(platform, 0, platform_home(platform, 0, 1)), 1);
        assert_int_equal(platform_warm_total(platform, 1), 0);
    }
    static const struct rule rules[] = {{0, 1, 1, 0}, {1, 1, 1, 0}, {2, 1, 1, 0}};
    return follow(platform, rules, 3);
}

static bool everyone_decide(void *state, struct platform *platform)
{
    static const struct rule rules[] = {{0, 1, 1, 0}, {1, 1, 1, 0}, {2, 1, 1, 0}};
    if (platform_queue_length(platform, 0) > 0)
        for (uint32_t f = 0; f < 2; f++)
            assert_int_equal(platform_warm_total(platform, f), 3);
    return follow(platform, rules, 3);
}

CASE(initial_counts_walk_from_the_home_invoker)
{
    POLICY(counting, .decide = counting_decide);
    POLICY(everyone, .decide = everyone_decide);
    go(WORLD(INVOKERS("2", "8", MPS4), QUARTERS, ",'initial':{'f':3}", EVERY("1000"),
             FORK COUNT("0", "1")),
       &counting);
    assert_int_equal(result.run.cold_starts, 1); /* g's */
    /* A number counts for g, too. */
    go(WORLD(INVOKERS("2", "8", MPS4), QUARTERS, ",'initial':3", EVERY("1000"),
             FORK COUNT("0", "1")),
       &everyone);
    assert_int_equal(result.run.cold_starts, 0);
}

SCRIPT(without_a_gpu, {0, 1, 0, 0});
SCRIPT(with_a_gpu, {0, 1, 1, 0});

CASE(a_function_with_and_without_a_gpu_is_warm_for_both)
{
    const struct policy *const policies[] = {&without_a_gpu, &with_a_gpu};
    for (size_t i = 0; i < 2; i++)
        for (int warm = 0; warm <= 1; warm++) {
            go(warm
                   ? WORLD(INVOKERS("1", "8", MPS4), EITHER, "", EVERY("1000"), ONE COUNT("0", "1"))
                   : WORLD(INVOKERS("1", "8", MPS4), EITHER, ",'initial':'cold'", EVERY("1000"),
                           ONE COUNT("0", "1")),
               policies[i]);
            assert_int_equal(result.run.cold_starts, !warm);
            assert_int_equal(rows.batches[0].gpu, i == 0 ? SIM_NONE : 0);
        }
}

/* ---- GPUs ------------------------------------------------------------------------------------ */

SCRIPT(memory_rules, {1, 1, 1, 0}, {0, 2, 1, 0});

CASE(memory_decides_among_unlike_gpus_and_evicts_on_the_chosen_one)
{
    /* GPU 0 has 500 MB, GPU 1 has 750. The two idle containers of f: 100 MB on GPU 1 (most free),
     * then on GPU 1 again (650 left), which leaves 550. A pair of f needs 600 more beside
     * its own 100 and evicts the other. A g needs 100 + 350 on GPU 0, where nothing is. */
    run_trace(
        WORLD(INVOKERS("1", "8", GPU("a", "mps", "4", "500") "," GPU("b", "mps", "4", "750")),
              HUNGRY, ",'initial':{'f':2}", TRACE,
              "'applications':[{'name':'pair','stages':[" STAGE(
                  "s", "f", "") "]},{'name':'single','stages':[" STAGE("t", "g",
                                                                       "") "]}]" COUNT("0", "4")),
        "100,pair\n100,pair\n110,single\n3000,single\n", &memory_rules);
    assert_int_equal(rows.batches[0].jobs, 2);
    assert_int_equal(rows.batches[0].gpu, 1);
    assert_false(rows.batches[0].cold);
    assert_int_equal(rows.batches[1].gpu, 0);
    assert_true(rows.batches[1].cold);
    assert_int_equal(rows.batches[2].gpu, 0);
    assert_false(rows.batches[2].cold);
    assert_int_equal(result.run.evictions, 1);
}

CASE(an_exclusive_gpu_takes_one_batch_and_nothing_slows_it)
{
    go(WORLD(INVOKERS("1", "8", GPU("a", "exclusive", "4", "8192")), QUARTERS, ",'initial':{'f':4}",
             EVERY("10"), ONE COUNT("0", "3")),
       &whole);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(rows.requests[i].finish_ns, (110 + 100 * (sim_time_t)i) * SIM_MS);
    assert_close(result.overall.cost_per_request_usd, 0.1 * 0.041); /* all four units */
    assert_close(result.run.slowdown_mean, 1);
}

SCRIPT(thirds, {0, 1, 3, 0});
SCRIPT(quarter, {0, 1, 1, 0});

CASE(mig_slices_run_side_by_side_without_slowing_each_other)
{
    /* Two slices of three sevenths fill the memory slots; the third request waits for one. */
    go(WORLD(INVOKERS("1", "8", GPU("A100", "mig", "7", "40960")), SEVENTHS, ",'initial':{'f':4}",
             EVERY("10"), ONE COUNT("0", "3")),
       &thirds);
    assert_int_equal(rows.requests[0].finish_ns, 110 * SIM_MS);
    assert_int_equal(rows.requests[1].finish_ns, 120 * SIM_MS);
    assert_int_equal(rows.requests[2].finish_ns, 210 * SIM_MS);
    assert_close(result.run.slowdown_mean, 1);
    /* An A30 has four slices, no more. */
    go(WORLD(INVOKERS("1", "8", GPU("A30", "mig", "4", "24576")), QUARTERS, ",'initial':{'f':6}",
             EVERY("10"), ONE COUNT("0", "5")),
       &quarter);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(rows.requests[i].finish_ns, (110 + 10 * (sim_time_t)i) * SIM_MS);
    assert_int_equal(rows.requests[4].finish_ns, 210 * SIM_MS);
}

CASE(every_policy_runs_on_every_kind_of_sharing)
{
    static const char *const invokers[] = {
        INVOKERS("2", "4", GPU("A30", "mig", "4", "24576")),
        INVOKERS("2", "4", GPU("A30", "mig", "4", "24576") "," GPU("A30", "mps", "4", "2000")),
        INVOKERS("2", "4", GPU("a", "exclusive", "4", "8192")),
        INVOKERS("1", "4", GPU("a", "exclusive", "4", "8192")) "," INVOKERS("1", "4", MPS4),
        INVOKERS("1", "4", MPS4) "," INVOKERS("1", "4", GPU("A30", "mig", "4", "24576")),
    };
    for (size_t p = 0; policy_for_requests(p) != NULL; p++)
        for (size_t i = 0; i < sizeof invokers / sizeof *invokers; i++) {
            char *json = formatted(WORLD("%s", QUARTERS, "", "'process':'poisson','rate_per_s':20",
                                         FORK COUNT("0", "300") ",'policy':{'name':'%s'}"),
                                   invokers[i], policy_for_requests(p)->name);
            go(json, NULL);
            assert_int_equal(result.overall.requests, 300);
        }
}

static bool shares_decide(void *state, struct platform *platform)
{
    if (platform_queue_length(platform, 0) == 0)
        return false;
    /* Invoker 0: MPS; 1: MIG, whose shapes are 1, 2, 3, 4, 7; 2: exclusive. */
    static const bool fits[3][5] = {{true, true, true, true, true},
                                    {true, true, true, false, true},
                                    {false, false, false, false, true}};
    static const uint16_t vgpus[5] = {1, 2, 3, 5, 7};
    for (uint32_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 5; k++) {
            uint32_t c = configuration_of(platform, 0, 1, vgpus[k]);
            assert_int_equal(platform_fits(platform, 0, c, i), fits[i][k]);
            assert_int_equal(platform_fits_warm(platform, 0, c, i), fits[i][k]);
        }
    return simple_decide(state, platform);
}

CASE(a_gpu_runs_only_the_shares_its_slicing_allows)
{
    POLICY(shares, .decide = shares_decide);
    go(WORLD(INVOKERS("1", "8", GPU("A100", "mps", "7", "40960")) "," INVOKERS(
                 "1", "8", GPU("A100", "mig", "7", "40960")) "," INVOKERS("1", "8",
                                                                          GPU("A100", "exclusive",
                                                                              "7", "40960")),
             SEVENTHS, "", EVERY("1000"), ONE COUNT("0", "1")),
       &shares);
}

CASE(three_co_runners_add_their_excess)
{
    /* At once: each 1 + 0.5 + 0.5. */
    run_trace(PLAIN(",'initial':{'f':4}", TRACE, ONE COUNT("0", "3")),
              "100,app\n100,app\n100,app\n", &simple);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(rows.requests[i].finish_ns - rows.requests[i].arrival_ns, 200 * SIM_MS);
    assert_close(result.run.slowdown_mean, 2);
    /* At 0, 50 and 100: 50 alone; 50 at 2/3, 33.33 of work; the first has 16.67 left at 1/2, to
     * 133.33. By then the second has done 33.33 + 16.67, the third 16.67. Two at 2/3: the second
     * ends its 50 at 208.33; the third has done 66.67 and does the rest alone, to 241.67. */
    run_trace(PLAIN(",'initial':{'f':4}", TRACE, ONE COUNT("0", "3")), "0,app\n50,app\n100,app\n",
              &simple);
    static const double finish[3] = {400.0 / 3, 625.0 / 3, 725.0 / 3};
    for (size_t i = 0; i < 3; i++)
        assert_true(fabs(sim_to_ms(rows.requests[i].finish_ns) - finish[i]) < 1e-5);
}

SCRIPT(unlike, {0, 1, 1, 0}, {1, 1, 2, 0}, {2, 1, 2, 0});

/* f on 1 of 4 units beside g on 2, batch 1 of both: the slopes count from batch 4 and half a GPU. g
 * ends first, f does the rest alone, then another g follows on the same invoker. */
CASE(slopes_of_pairs_count_by_batch_and_share_of_both)
{
    const double b = log2(1.0 / 4) * M_LN2, s = log2(0.25 / 0.5) * M_LN2;
    const double of_f = 1 + 0.4 * exp(0.1 * b + 0.2 * s + 0.3 * b * s) * exp(0.4 * b);
    const double of_g = 1 + 0.8 * exp(0.1 * b) * exp(0.4 * b + 0.5 * s - 0.6 * b * s);
    run_trace(WORLD(INVOKERS("1", "8", MPS4),
                    "{'device':'test','evidence':'assumed','source':'test','licence':'none','unit':"
                    "4,'functions':{" FUNCTION("f", "100", "1000", "10", "1", "100") "," FUNCTION(
                        "g", "50", "2000", "10", "2",
                        "50") "},'interference':{'model':'pairs','functions':['f','g'],'excess':[["
                              "null,0.4],[0.8,null]],'slopes':{'batch':4,'share':0.5,'victim_batch'"
                              ":0.1,'victim_share':0.2,'victim_both':0.3,'other_batch':0.4,'other_"
                              "share':0.5,'other_both':-0.6}}}",
                    ",'initial':{'f':1,'g':1}", TRACE, FORK COUNT("0", "1")),
              "0,app\n", &unlike);
    const double first = 50 * of_g;
    assert_true(first / of_f < 100);
    assert_true(fabs(sim_to_ms(rows.requests[0].finish_ns) - (first + 100 - first / of_f + 50)) <
                1e-5);
}

CASE(as_many_batches_co_run_as_the_gpu_has_units)
{
    go(WORLD("{'count':1,'vcpus':400,'memory_mb':819200,'gpus':[" GPU("test", "mps", "300",
                                                                      "819200") "]}",
             PROFILE("300", FUNCTION("f", "100", "1000", "10", "1,300", "100,100")),
             ",'initial':{'f':300}", EVERY("0.1"), ONE COUNT("0", "300")),
       &simple);
    assert_int_equal(result.run.batches, 300);
    assert_true(result.run.slowdown_mean > 50);
}

CASE(a_faster_gpu_takes_less_time_and_money_and_the_bounds_know_it)
{
    go(WORLD(INVOKERS("1", "8",
                      "{'model':'test','sharing':'mps','units':4,'memory_mb':8192,'speed':2}"),
             QUARTERS, "", EVERY("1000"), ONE COUNT("0", "2") ",'slo':{'ms':60}"),
       &simple);
    assert_int_equal(rows.requests[0].exec_ns, 50 * SIM_MS);
    assert_close(result.run.slowdown_mean, 1);
    assert_close(result.overall.cost_per_request_usd, 0.05 * 0.011);
    assert_close(result.overall.slo_hit_rate, 1);
    assert_close(result.overall.bound_slo_hit_rate, 1);
    /* Two in a batch, for half the price each. */
    assert_close(result.overall.bound_cost_per_request_usd, 0.05 * 0.011 / 2);
    /* Where every GPU is slow, nobody can be as fast as the profile. */
    go(WORLD(INVOKERS("1", "8",
                      "{'model':'test','sharing':'mps','units':4,'memory_mb':8192,'speed':0.5}"),
             QUARTERS, "", EVERY("1000"), ONE COUNT("0", "2") ",'slo':{'ms':150}"),
       &simple);
    assert_int_equal(rows.requests[0].exec_ns, 200 * SIM_MS);
    assert_close(result.overall.bound_slo_hit_rate, 0);
    assert_true(isnan(result.overall.bound_cost_per_request_usd));
}

/* ---- The controller -------------------------------------------------------------------------- */

CASE(decisions_of_several_queues_wait_for_one_another)
{
    /* Three sources at once, 5 ms a decision: they set out after 5, 10 and 15 ms, each reserved as
     * its decision begins. y ends last, at 1,110; the join's decision, then 100. */
    go(PLAIN(",'initial':{'f':2,'g':2},'interference':false,'decision_cost':{'model':'modelled','"
             "ns_per_unit':5000000}",
             EVERY("1000"),
             FOUR(STAGE("x", "g", ""), STAGE("y", "f", ""), STAGE("z", "g", ""),
                  STAGE("j", "f", ",'after':['x','y','z']")) COUNT("0", "1")),
       &star);
    assert_int_equal(rows.batch_count, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct batch_row *row = &rows.batches[i];
        if (row->queue == 3)
            continue;
        sim_time_t before = 5 * (sim_time_t)row->queue * SIM_MS;
        assert_int_equal(row->dispatched_ns, 1000 * SIM_MS + before);
        assert_int_equal(row->started_ns, 1005 * SIM_MS + before);
    }
    assert_int_equal(rows.requests[0].queue_ns, 35 * SIM_MS);
    assert_int_equal(rows.requests[0].finish_ns, 1215 * SIM_MS);
    assert_close(result.overall.cost_hold_usd, 4 * 0.005 * 0.011);
    assert_int_equal(result.run.decisions, 4);
    assert_int_equal(result.run.decision_units, 4);
}

/* What runs when the head of the queue is request `head`, and what is told to have been planned: a
 * batch of `planned` on one vGPU; 0: nothing. */
static const struct foreseen {
    uint64_t head;
    uint32_t jobs;
    uint16_t vgpu;
    uint32_t planned;
} foreseen[] = {
    {0, 2, 1, 2}, /* as planned */
    {2, 1, 1, 2}, /* one job where two were planned */
    {3, 2, 2, 2}, /* two, but on two vGPUs */
    {5, 2, 1, 0}, /* nothing had been planned */
    {7, 1, 1, 1}, /* as planned */
};

static bool foreseeing_decide(void *state, struct platform *platform)
{
    if (platform_queue_length(platform, 0) == 0)
        return false;
    const uint64_t head = platform_job(platform, 0, 0).request;
    for (size_t i = 0; i < sizeof foreseen / sizeof *foreseen; i++) {
        const struct foreseen *step = &foreseen[i];
        if (step->head != head || platform_queue_length(platform, 0) < step->jobs)
            continue;
        platform_charge(platform, head + 1);
        if (step->planned > 0)
            platform_planned(platform, configuration_of(platform, 0, step->planned, 1));
        return platform_dispatch(platform, 0, step->jobs,
                                 configuration_of(platform, 0, step->jobs, step->vgpu), 0);
    }
    return false;
}

CASE(a_plan_made_ahead_is_missed_where_its_batch_is_not_there)
{
    POLICY(foreseeing, .decide = foreseeing_decide);
    const char *lines = "1000,app\n1000,app\n2000,app\n3000,app\n3000,app\n4000,app\n4000,app\n"
                        "5000,app\n";
#define FORESEEN_WORLD(warmup, requests)                                                           \
    PLAIN(",'initial':'warm','decision_cost':{'model':'modelled','ns_per_unit':1000}", TRACE,      \
          ONE COUNT(warmup, requests))
    run_trace(FORESEEN_WORLD("0", "8"), lines, &foreseeing);
    assert_int_equal(rows.batch_count, 5);
    assert_int_equal(result.overall.preplanned_batches, 4);
    assert_close(result.overall.preplanned_miss_rate, 0.5);
    assert_close(result.applications[0].preplanned_miss_rate, 0.5);
    /* 1 + 3 + 4 + 6 + 8 units of 1 us. */
    assert_int_equal(result.run.decisions, 5);
    assert_close(result.run.decision_units_mean, 22.0 / 5);
    assert_close(result.run.decision_us_mean, 22.0 / 5);
    assert_close(result.run.decision_us_max, 8);
    /* The first pair is warm-up: of three, two are missed. */
    run_trace(FORESEEN_WORLD("2", "6"), lines, &foreseeing);
    assert_int_equal(result.overall.preplanned_batches, 3);
    assert_close(result.overall.preplanned_miss_rate, 2.0 / 3);
    /* Who plans nothing ahead misses no plan, and keeps none either. */
    run_trace(FORESEEN_WORLD("0", "8"), lines, &simple);
    assert_int_equal(result.overall.preplanned_batches, 0);
    assert_true(isnan(result.overall.preplanned_miss_rate));
}

static bool confused_decide(void *state, struct platform *platform)
{
    platform_planned(platform, 1000);
    return platform_queue_length(platform, 0) > 0 && platform_dispatch(platform, 0, 1, 0, 0);
}

CASE(a_plan_of_a_configuration_that_does_not_exist_is_a_breach)
{
    POLICY(confused, .decide = confused_decide);
    assert_bad_run(
        run(PLAIN("", EVERY("1000"), ONE COUNT("0", "1")), &confused, NULL, anew(), hear()),
        "planned configuration 1000");
}

CASE(a_measured_decision_cost_marks_the_result)
{
    static const char *const models[] = {"{'model':'zero'}", "{'model':'measured'}"};
    for (int i = 0; i < 2; i++) {
        char json[8192], text[16384] = {0};
        snprintf(json, sizeof json,
                 PLAIN(",'decision_cost':%s", EVERY("1000"), ONE COUNT("0", "5")), models[i]);
        run_well(json, &simple, NULL, anew());
        EXPERIMENT *experiment = load(json);
        FILE *file = must(tmpfile());
        const struct policy_run shown = {{experiment, &simple, NULL}, NULL, result};
        JSON *json_output = policy_run_json(&shown);
        char *printed = must(cJSON_Print(json_output));
        fputs(printed, file);
        cJSON_free(printed);
        policy_run_text(file, &shown);
        rewind(file);
        assert_true(fread(text, 1, sizeof text - 1, file) > 0);
        fclose(file);
        assert_non_null(
            strstr(text, i == 0 ? "\"deterministic\":\ttrue" : "\"deterministic\":\tfalse"));
        assert_int_equal(strstr(text, "not deterministic") != NULL, i == 1);
        assert_true((result.run.decision_us_mean > 0) == (i == 1));
    }
}

static bool hesitant_decide(void *state, struct platform *platform)
{
    int *calls = state;
    if (platform_now(platform) < 13 * SIM_S)
        return (*calls)++ % 2 == 0;
    return platform_queue_length(platform, 0) > 0 && platform_drop(platform, 0, 0);
}

CASE(a_policy_may_ask_again_and_then_sleep_any_number_of_times)
{
    POLICY(hesitant, .state_bytes = sizeof(int), .decide = hesitant_decide);
    go(PLAIN("", EVERY("1"), ONE COUNT("0", "13100")), &hesitant);
    assert_int_equal(result.overall.dropped, 13100);
}

static void ring_again(void *state, struct platform *platform, uint32_t id)
{
    platform_set_timer(platform, platform_now(platform) + SIM_MS, id);
}

static bool ringer_init(void *state, struct platform *platform, const void *parameters,
                        struct error *error)
{
    ring_again(state, platform, 0);
    return true;
}

static bool never_init(void *state, struct platform *platform, const void *parameters,
                       struct error *error)
{
    platform_set_timer(platform, SIM_FOREVER, 0);
    return true;
}

static bool idle_decide(void *state, struct platform *platform)
{
    return false;
}

CASE(a_policy_that_only_watches_the_clock_is_stopped)
{
    static const struct policy watchers[] = {
        {.abi = POLICY_ABI,
         .name = "ringer",
         .init = ringer_init,
         .on_timer = ring_again,
         .decide = idle_decide},
        {.abi = POLICY_ABI, .name = "waiter", .init = never_init, .decide = idle_decide}};
    for (size_t i = 0; i < 2; i++) {
        assert_bad_run(
            run(PLAIN("", EVERY("1"), ONE COUNT("0", "3")), &watchers[i], NULL, anew(), hear()),
            "rule progress");
        assert_contains(heard.message, watchers[i].name);
    }
}

static bool patient_decide(void *state, struct platform *platform)
{
    return platform_now(platform) >= 20 * SIM_S && simple_decide(state, platform);
}

CASE(a_policy_may_watch_the_clock_for_long_before_it_acts)
{
    POLICY(patient, .init = ringer_init, .on_timer = ring_again, .decide = patient_decide);
    go(PLAIN(",'initial':{'f':3}", EVERY("1"), ONE COUNT("0", "3")), &patient);
    /* Three at once from 20,000 on, each slowed by two others. */
    assert_close(result.overall.latency_ms_max, 20000 - 1 + 200);
}

/* ---- Users ----------------------------------------------------------------------------------- */

CASE(two_users_of_one_server_take_turns)
{
    /* Both think 20 ms and ask at 20; one is served to 120, the other to 220. The first asks again
     * at 140 and is served to 320, the second at 240, to 420, and so on: 180 ms each. */
    go(WORLD(INVOKERS("1", "1", MPS4), QUARTERS, "",
             "'process':'closed','users':2,'think_ms':20,'think':'constant'", ONE COUNT("0", "6")),
       &simple);
    static const sim_time_t arrivals[6] = {20, 20, 140, 240, 340, 440};
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(rows.requests[i].arrival_ns, arrivals[i] * SIM_MS);
        assert_int_equal(rows.requests[i].finish_ns, (120 + 100 * (sim_time_t)i) * SIM_MS);
    }
    assert_int_equal(rows.request_count, 6);
}

/* ---- Figures --------------------------------------------------------------------------------- */

CASE(a_batch_across_the_warm_up_boundary_counts_for_its_measured_jobs)
{
    /* Requests at 1,000 (warm-up) and 2,000 wait for each other, then 1 s for a container. */
    go(PLAIN(",'initial':'cold'", EVERY("1000"), ONE COUNT("1", "1")), &pairs);
    assert_int_equal(rows.request_count, 2);
    assert_int_equal(result.overall.requests, 1);
    assert_int_equal(result.run.batches, 1);
    assert_close(result.overall.mean_batch, 2);
    assert_close(result.overall.cold_start_rate, 1);
    assert_close(result.overall.cost_usd, 0.1 * 0.011 / 2);
    assert_close(result.overall.cost_hold_usd, 1.0 * 0.011 / 2);
    assert_close(result.overall.queue_ms_mean, 0);
    assert_close(result.overall.latency_ms_mean, 1100);
    assert_close(result.run.simulated_s, 1.1);
    /* A batch of warm-up alone is not counted. */
    go(PLAIN("", EVERY("1000"), ONE COUNT("2", "2")), &pairs);
    assert_int_equal(rows.batch_count, 2);
    assert_int_equal(result.run.batches, 1);
    assert_close(result.overall.cost_usd, 0.1 * 0.011);
}

/* 100 ms where it was measured, 60 beyond that, 40 between. */
#define MARKED                                                                                     \
    PROFILE("4", "'f':{'grid':{'batch':[1],'vcpu':[1],'vgpu':[1,2,4]},'latency_ms':"               \
                 "[[[100,60,40]]],'source':[['mxi']],'cold_start_ms':{'mean':0},"                  \
                 "'gpu_memory_mb':{'weights':100,'per_item':10},'bandwidth_share':0.5}")
#define CHAIN                                                                                      \
    THREE(STAGE("x", "f", ""), STAGE("y", "f", ",'after':['x']"), STAGE("z", "f", ",'after':['y']"))
SCRIPT(every_grade, {0, 1, 1, 0}, {1, 1, 2, 0}, {2, 1, 4, 0});
SCRIPT(half_gpu, {0, 1, 2, 0});

CASE(the_predicted_share_is_of_execution_time_in_cells_that_were_not_measured)
{
    go(WORLD(INVOKERS("1", "8", MPS4), MARKED, ",'initial':{'f':1}", EVERY("1000"),
             CHAIN COUNT("0", "2")),
       &every_grade);
    assert_close(result.run.predicted_share, (60.0 + 40) / 200);
    assert_close(result.run.extrapolated_share, 60.0 / 200);
    assert_contains(notices_find(&result.notices, NOTICE_PREDICTED)->text, "at least 50 %");
    /* Between the cells of a profile without marks. */
    go(WORLD(INVOKERS("1", "8", MPS4),
             PROFILE("4", FUNCTION("f", "100", "1000", "10", "1,4", "100,100")), "", EVERY("1000"),
             "'functions':[{'name':'f','configurations':{'vgpu':[1,2]}}]," ONE COUNT("0", "2")),
       &half_gpu);
    assert_close(result.run.predicted_share, 1);
    assert_close(result.run.extrapolated_share, 0);
    go(PLAIN("", EVERY("1000"), ONE COUNT("0", "2")), &simple);
    assert_true(result.run.predicted_share == 0);
    assert_null(notices_find(&result.notices, NOTICE_PREDICTED));
}

CASE(utilisation_ends_with_the_arrivals_and_costs_with_the_run)
{
    /* Measured from 2,000 to 3,100: two executions of 100 ms, 0.9 s idle between them. The second
     * begins with the last arrival, at 3,000. */
    go(PLAIN(",'initial':{'f':1}", EVERY("1000"), ONE COUNT("1", "2")), &simple);
    const struct run_measures *r = &result.run;
    assert_close(r->simulated_s, 1.1);
    assert_close(r->vcpu_utilisation, 0.1 / 8);
    assert_close(r->gpu_utilisation, 0.1 / 4);
    assert_close(r->memory_utilisation, 100.0 / 8192);
    assert_close(r->gpu_memory_utilisation, (100 + 10 * 0.1) / 8192);
    assert_close(r->gpu_fragmentation, 0.75);
    assert_close(r->gpu_provisioned, 1.0 / 4);
    assert_close(result.overall.cost_usd, 0.2 * 0.011);
    assert_close(result.overall.cost_hold_usd, 0);
    assert_close(r->cost_idle_usd, 0.9 * 0.011);
    assert_close(r->cost_provisioned_usd, 1.1 * 0.011);
    assert_close(r->cost_cluster_usd, 1.1 * (8 * 0.001 + 4 * 0.01));
}

CASE(idle_containers_cost_what_their_reference_does)
{
    double idle_usd[2];
    static const char *const worlds[] = {
        PLAIN(",'initial':{'f':1}", EVERY("1000"), "'slo':{'factor':1}," ONE COUNT("1", "2")),
        PLAIN(",'initial':{'f':1}", EVERY("1000"),
              "'slo':{'factor':1,'reference':{'vgpu':4}}," ONE COUNT("1", "2"))};
    for (size_t i = 0; i < 2; i++) {
        run_well(worlds[i], &simple, NULL, anew());
        idle_usd[i] = result.run.cost_idle_usd;
    }
    /* 0.001 $/s for a vCPU and 0.01 $/s for each vGPU. */
    assert_true(idle_usd[0] > 0);
    assert_close(idle_usd[1] / idle_usd[0], 0.041 / 0.011);
}

CASE(vgpus_are_stranded_where_nothing_that_waits_would_fit)
{
    /* The request of 0 ms has the one vCPU of invoker 0 and one of its 4 vGPUs, until 100. The one
     * of 10 ms waits for it, at the samples of 30, 60 and 90: it would fit on invoker 1. So 3 of 7
     * free vGPUs are stranded. From 100 on nothing waits and nothing is sampled. The arrival at 500
     * ends the time that counts. */
    run_trace(WORLD(INVOKERS("2", "1", MPS4), QUARTERS, ",'sample_interval_s':0.03", TRACE,
                    ONE COUNT("0", "3")),
              "0,app\n10,app\n500,app\n", &simple);
    assert_int_equal(rows.batches[1].started_ns, 100 * SIM_MS);
    assert_close(result.run.stranded_vgpu, 3.0 / 7);
    /* Two vCPUs each: nothing waits, so there is nothing to be stranded from. */
    run_trace(WORLD(INVOKERS("2", "2", MPS4), QUARTERS, ",'sample_interval_s':0.03", TRACE,
                    ONE COUNT("0", "2")),
              "0,app\n10,app\n", &simple);
    assert_int_equal(rows.batches[1].dispatched_ns, 10 * SIM_MS);
    assert_true(isnan(result.run.stranded_vgpu));
    /* No invoker but the busy one: all that are free are stranded. */
    run_trace(WORLD(INVOKERS("1", "1", MPS4), QUARTERS, ",'sample_interval_s':0.03", TRACE,
                    ONE COUNT("0", "3")),
              "0,app\n10,app\n500,app\n", &simple);
    assert_close(result.run.stranded_vgpu, 1);
}

CASE(a_planner_serves_a_function_of_a_single_configuration)
{
    static const char *const planners[] = {"esg", "orion", "aquatope"};
    for (size_t i = 0; i < sizeof planners / sizeof planners[0]; i++) {
        char *json = formatted(
            WORLD(
                INVOKERS("1", "1", MPS4),
                PROFILE("4",
                        "'f':{'grid':{'batch':[1],'vcpu':[1],'vgpu':[4]},'latency_ms':[[[100]]],'"
                        "noise':{'cv':0},'cold_start_ms':{'mean':1000,'cv':0},'gpu_memory_mb':{'"
                        "weights':100,'per_item':10},'host_memory_mb':100,'bandwidth_share':0.5}"),
                ",'decision_cost':{'model':'zero'}", EVERY("1000"),
                ONE COUNT("0", "3") ",'policy':{'name':'%s'}"),
            planners[i]);
        go(json, NULL);
        assert_int_equal(rows.batch_count, 3);
        assert_close(result.overall.latency_ms_mean, 100);
        assert_close(result.overall.cost_usd, 3 * 0.1 * 0.041);
    }
}

/* Seven jobs, each on the next home of f. From the fifth on, after HOME_PROBES homes
 * that are full, ESG's placement must fall back to the best fit, wherever the next home is. */
static uint32_t walk_placed, walk_apart;

static bool walk_decide(void *state, struct platform *platform)
{
    if (platform_queue_length(platform, 0) == 0)
        return false;
    const uint32_t configuration = configuration_of(platform, 0, 1, 1);
    const uint32_t home = platform_home(platform, 0, walk_placed);
    const uint32_t best = platform_best_fit(platform, 0, configuration, false);
    const uint32_t chosen = placement_esg(platform, 0, configuration, PLACEMENT_NEAR, NULL, false);
    assert_int_equal(chosen, walk_placed < 4 ? home : best);
    walk_apart += walk_placed >= 4 && home != best;
    walk_placed++;
    assert_true(platform_dispatch(platform, 0, 1, configuration, home));
    return true;
}

CASE(esg_asks_four_homes_and_then_takes_the_best_fit)
{
    POLICY(walk, .decide = walk_decide);
    walk_placed = walk_apart = 0;
    /* One vCPU each, so that a home that has its job is full: for 1.1 s, cold. */
    go(WORLD(INVOKERS("8", "1", MPS4), QUARTERS, ",'initial':'cold'", EVERY("1"),
             ONE COUNT("0", "7")),
       &walk);
    assert_int_equal(walk_placed, 7);
    assert_true(walk_apart > 0);
}

static double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

CASE(wall_time_is_that_of_the_run)
{
    const double before = clock_seconds();
    go(PLAIN("", EVERY("1000"), ONE COUNT("0", "5")), &simple);
    assert_true(result.wall_s > 0 && result.wall_s <= clock_seconds() - before);
}

CASE(rows_and_totals_agree_under_every_policy)
{
    for (size_t p = 0; policy_for_requests(p) != NULL; p++) {
        char *json = formatted(
            WORLD(INVOKERS("2", "8", MPS4), QUARTERS, ",'noise':{'cv':0.2}",
                  "'process':'poisson','rate_per_s':15",
                  FOUR(STAGE("a", "f", ""), STAGE("b", "f", ",'after':['a']"),
                       STAGE("c", "g", ",'after':['a']"), STAGE("d", "g", ",'after':['b','c']"))
                      COUNT("0", "500") ",'policy':{'name':'%s'}"),
            policy_for_requests(p)->name);
        go(json, NULL);
        double requests = 0, batches = 0;
        size_t jobs = 0, hits = 0, dropped = 0;
        for (size_t i = 0; i < rows.request_count; i++) {
            requests += rows.requests[i].cost_usd;
            hits += rows.requests[i].hit;
            dropped += rows.requests[i].dropped;
        }
        for (size_t i = 0; i < rows.batch_count; i++) {
            batches += rows.batches[i].cost_usd;
            jobs += rows.batches[i].jobs;
        }
        assert_int_equal(rows.request_count, 500);
        /* A policy that drops leaves some of a dropped request's four jobs undone, and no others.
         */
        assert_true(jobs <= 500 * 4 - dropped && jobs >= (500 - dropped) * 4);
        assert_int_equal(result.overall.dropped, dropped);
        assert_int_equal(rows.batch_count, result.run.batches);
        assert_close(batches, requests);
        assert_close(result.overall.cost_usd, requests);
        assert_close(result.overall.slo_hit_rate, (double)hits / 500);
        assert_close(result.overall.mean_batch, (double)jobs / (double)rows.batch_count);
    }
}

SUITE("platform")
