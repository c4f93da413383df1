/* What the platform does for every policy: when containers start, how many are kept, and which
 * requests are dropped. */
#include <math.h>

#include "sched/common/arrival_rates.h"
#include "sched/registry.h"
#include "sim/platform/load_limit.h"
#include "tests/suite.h"
#include "tests/worlds.h"

#define execution platform_execution /* the store has another structure of that name */
#include "sim/platform/state.h"
#undef execution

enum { WORLDS = 24, FUNCTIONS = 2 };

/* Policies that choose a configuration per batch and start no container ahead of need. */
static const char *const names[] = {
    "fifo",      "edf", "sjf",     "llf",        "least-loaded", "power-of-two", "openwhisk",
    "grandslam", "esg", "clipper", "min-config", "max-config",   "orion"};
enum { NAMES = sizeof names / sizeof *names };

/* ---- Cold dispatch --------------------------------------------------------------------------- */

/* The platform offers a policy's functions no context of the test's. */
static bool (*inner_decide)(void *state, struct platform *platform);
static bool late;
static uint64_t starts; /* or decisions */

/* Containers of the function that exist, and that start for nobody. */
static uint32_t count_live(const struct cluster *cluster, uint32_t function, bool starting)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < cluster->containers_used; i++) {
        const struct container *c = &cluster->containers[i];
        if (c->state != CONTAINER_FREE && c->function == function)
            count += !starting || (c->state == CONTAINER_STARTING && !c->claimed);
    }
    return count;
}

static bool watched_decide(void *state, struct platform *platform)
{
    const struct cluster *cluster = &platform->cluster;
    uint32_t live[FUNCTIONS], waiting[FUNCTIONS] = {0};
    const uint64_t serial = cluster->next_serial;
    for (uint32_t f = 0; f < FUNCTIONS; f++)
        live[f] = count_live(cluster, f, false);
    for (uint32_t q = 0; q < platform->workload->queue_count; q++)
        waiting[platform_queue_function(platform, q)] += platform_queue_length(platform, q);
    const bool more = inner_decide(state, platform);
    for (uint32_t i = 0; i < cluster->containers_used; i++) {
        const struct container *c = &cluster->containers[i];
        if (c->state == CONTAINER_FREE || c->serial < serial)
            continue;
        starts++;
        if (late)
            assert_in_range(count_live(cluster, c->function, true), 1, waiting[c->function]);
        else
            assert_int_equal(live[c->function], 0);
    }
    return more;
}

/* Runs random worlds under the rule. Returns how many containers started in decisions. */
static uint64_t watch_worlds(const char *name, const char *rule)
{
    const struct policy *policy = must(policy_find(name, NULL));
    struct policy watched = *policy;
    inner_decide = policy->decide;
    watched.decide = watched_decide;
    late = strcmp(rule, "late") == 0;
    starts = 0;
    for (uint64_t world = 0; world < WORLDS; world++) {
        uint64_t dropped;
        char *json = world_random(world, world % 2 == 1);
        char *platform = formatted("'platform':{'cold_dispatch':'%s',%s", rule,
                                   world % 3 == 0 ? "'keep_alive_s':0," : "");
        world_replace(json, "'platform':{", platform);
        world_serve(json, &watched, NULL, 0, &rows, &dropped);
    }
    return starts;
}

CASE(while_a_container_lives_no_other_starts_if_batches_wait)
{
    for (size_t p = 0; p < NAMES; p++)
        assert_true(watch_worlds(names[p], "wait") > WORLDS / 2);
}

CASE(never_more_containers_start_late_than_batches_wait)
{
    for (size_t p = 0; p < NAMES; p++)
        assert_true(watch_worlds(names[p], "late") > WORLDS);
}

/* The second request comes while the only container works, for 40 ms more. */
CASE(a_late_batch_takes_whichever_container_is_ready_first)
{
    static const struct {
        const char *rule;
        unsigned queued_ms, cold_ms, cold_starts;
    } rules[] = {{"start", 0, 1000, 1}, {"wait", 40, 0, 0}, {"late", 40, 0, 1}};
    static const struct world world = {
        .functions = {{"f", "1", "1", "1", "[[50]]", 0, 1000, 0}},
        .applications = "one: a=f",
        .every_ms = {10, 10},
        .slo_ms = 1000,
        .platform = "'initial':{'f':1},'cold_dispatch':'start'",
        .requests = 2,
    };
    for (size_t r = 0; r < sizeof rules / sizeof *rules; r++) {
        char *json = world_build(&world);
        char *rule = formatted("'cold_dispatch':'%s'", rules[r].rule);
        world_replace(json, "'cold_dispatch':'start'", rule);
        run_well(json, policy_find("fifo", NULL), &rows, anew());
        assert_int_equal(rows.requests[1].queue_ns, sim_from_ms(rules[r].queued_ms));
        assert_int_equal(rows.requests[1].cold_ns, sim_from_ms(rules[r].cold_ms));
        assert_int_equal(result.run.cold_starts, rules[r].cold_starts);
    }
}

static void run_traced(struct world world, const char *rows, const struct policy *policy,
                       struct log *log, struct simulation_result *result)
{
    char *json;
    TEMPORARY(path, rows);
    world.trace = path;
    json = world_build(&world);
    run_well(json, policy, log, result);
}

/* Two containers start for two requests of which one runs at a time. The other container is idle,
 * for the keep-alive and no longer. */
CASE(a_container_that_started_late_is_kept_for_the_keep_alive)
{
    static const double keep_s[] = {0.05, 0.1, 1, 12};
    double idle[4];
    for (size_t k = 0; k < 4; k++) {
        char *platform =
            formatted("'initial':'cold','cold_dispatch':'late','keep_alive_s':%g", keep_s[k]);
        run_traced((struct world){.functions = {{"f", "1", "1", "3", "[[40]]", 0, 500, 0}},
                                  .applications = "one: a=f",
                                  .slo_ms = 1000,
                                  .platform = platform,
                                  .requests = 3},
                   "time_ms,application\n0,one\n0,one\n100000,one\n", policy_find("fifo", NULL),
                   NULL, anew());
        assert_int_equal(result.run.cold_starts, 3);
        idle[k] = result.run.cost_idle_usd;
        assert_true(fabs(idle[k] / idle[0] - (1.5 + 2 * keep_s[k]) / (1.5 + 2 * keep_s[0])) < 1e-9);
    }
}

static bool pairs_decide(void *state, struct platform *platform)
{
    uint32_t pair = 0; /* the least configuration for a batch of two */
    while (platform_workload(platform)->functions[0].configurations[pair].batch != 2)
        pair++;
    for (uint32_t q = 0; q < 2; q++)
        if (platform_queue_length(platform, q) > 0 && platform_fits(platform, 0, pair, 0))
            return platform_dispatch(platform, q, 1, pair, 0);
    return false;
}

/* One job in each of two queues, for a configuration that takes two: they are two batches. */
CASE(a_container_starts_for_the_batches_of_each_queue)
{
    POLICY(pairs, .decide = pairs_decide);
    run_traced((struct world){.functions = {{"f", "1,2", "1", "1", "[[40]],[[40]]", 0, 500, 0}},
                              .applications = "one: a=f; two: a=f",
                              .slo_ms = 1000,
                              .platform = "'initial':'cold','cold_dispatch':'late'",
                              .requests = 2},
               "time_ms,application\n0,one\n0,two\n", &pairs, NULL, anew());
    assert_int_equal(result.run.cold_starts, 2);
}

/* A container on a GPU that is used by one at a time never runs a batch on part of a GPU. */
CASE(a_container_comes_free_for_what_its_gpu_can_share)
{
    static const char *const rules[] = {"wait", "late"};
    for (size_t r = 0; r < 2; r++) {
        char *platform = formatted("'initial':{'f':[0]},'cold_dispatch':'%s'", rules[r]);
        char *json =
            world_build(&(struct world){.functions = {{"f", "1", "1", "2", "[[40]]", 0, 500, 0}},
                                        .applications = "one: a=f",
                                        .every_ms = {10, 10},
                                        .slo_ms = 1000,
                                        .platform = platform,
                                        .requests = 3});
        world_replace(json, "'invokers':[",
                      "'invokers':[{'count':1,'vcpus':8,'memory_mb':4000,'gpus':[{'model':'test',"
                      "'sharing':'exclusive','units':4,'memory_mb':4000}]},");
        assert_good(run(json, policy_find("fifo", NULL), NULL, anew(), hear()));
        assert_int_equal(result.overall.requests, 3);
    }
}

/* Plans and instances say which containers live where. */
CASE(the_rule_does_not_apply_to_policies_that_place_containers)
{
    static const char *const placing[] = {"nexus", "gpulet", "infless", "fast-gshare", "dilu"};
    OWNED(free) struct log *logs = must(malloc(2 * sizeof *logs));
    for (size_t p = 0; p < sizeof placing / sizeof *placing; p++) {
        uint64_t dropped;
        assert_true(policy_find(placing[p], NULL)->places_containers);
        char *json = world_random(p, false);
        world_serve(json, policy_find(placing[p], NULL), NULL, 0, &logs[0], &dropped);
        world_replace(json, "'platform':{", "'platform':{'cold_dispatch':'late',");
        world_serve(json, policy_find(placing[p], NULL), NULL, 0, &logs[1], &dropped);
        assert_same_rows(&logs[0], &logs[1]);
    }
}

/* ---- The pool -------------------------------------------------------------------------------- */

static uint32_t target_wanted;

/* Every invoker has the target of every function at any time after the first start, whatever the
 * keep-alive. */
static bool pooled_decide(void *state, struct platform *platform)
{
    const struct cluster *cluster = &platform->cluster;
    for (uint32_t i = 0; i < cluster->invoker_count; i++)
        for (uint32_t f = 0; f < cluster->function_count; f++) {
            uint32_t there = 0;
            for (uint32_t c = 0; c < cluster->containers_used; c++)
                there += cluster->containers[c].state != CONTAINER_FREE &&
                         cluster->containers[c].function == f &&
                         cluster->containers[c].invoker == i;
            assert_true(there >= target_wanted);
        }
    starts++;
    return inner_decide(state, platform);
}

CASE(the_pool_keeps_as_many_containers_as_asked_for_whatever_the_keep_alive)
{
    static const struct {
        const char *target;
        unsigned wanted;
    } cases[] = {{"1", 1}, {"2", 2}, {"'auto'", 3}}; /* 700 MB for two functions of 100 MB */
    const struct policy *fifo = policy_find("fifo", NULL);
    struct policy watched = *fifo;
    inner_decide = fifo->decide;
    watched.decide = pooled_decide;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static const struct world world = {
            .invokers = 3,
            .memory_mb = 700,
            .functions = {{"f", "1", "1", "1", "[[50]]", 0, 1000, 0},
                          {"g", "1", "1", "1", "[[50]]", 0, 1000, 0}},
            .applications = "one: a=f b=g(a)",
            .rate_per_s = 20,
            .slo_ms = 1000,
            .platform = "'initial':'cold','keep_alive_s':0,'pool':{'target':0}",
            .requests = 200,
        };
        target_wanted = cases[i].wanted;
        starts = 0;
        char *json = world_build(&world);
        char *pool = formatted("'pool':{'target':%s}", cases[i].target);
        world_replace(json, "'pool':{'target':0}", pool);
        run_well(json, &watched, NULL, anew());
        assert_true(starts >= 200);
    }
}

/* ---- Admission ------------------------------------------------------------------------------- */

/* The longest of the paths that begin with the stage, each stage as fast as it can be. */
static sim_time_t way_from(const struct workload *workload, uint32_t application, uint32_t stage)
{
    const struct application *a = &workload->applications[application];
    const struct function *function = &workload->functions[a->stages[stage].function];
    sim_time_t least = SIM_FOREVER, rest = 0;
    for (size_t c = 0; c < function->configuration_count; c++)
        if (function->configurations[c].time < least)
            least = function->configurations[c].time;
    for (uint32_t s = 0; s < a->stage_count; s++)
        for (size_t i = 0; i < a->stages[s].after_count; i++)
            if (a->stages[s].after[i] == stage && way_from(workload, application, s) > rest)
                rest = way_from(workload, application, s);
    return least + rest;
}

static sim_time_t job_left(const struct platform *platform, uint32_t queue, uint32_t position)
{
    return platform_job(platform, queue, position).deadline - platform_now(platform) -
           way_from(platform_workload(platform), platform_queue_application(platform, queue),
                    platform_queue_stage(platform, queue));
}

/* No policy sees a job that is lost. */
static bool admitted_decide(void *state, struct platform *platform)
{
    for (uint32_t q = 0; q < platform_workload(platform)->queue_count; q++)
        for (uint32_t at = 0; at < platform_queue_length(platform, q); at++)
            assert_true(job_left(platform, q, at) >= 0);
    return inner_decide(state, platform);
}

CASE(requests_that_nothing_saves_are_dropped_under_every_policy)
{
    const struct policy *policy;
    for (size_t p = 0; (policy = policy_at(p)) != NULL; p++) {
        struct policy watched = *policy;
        uint64_t dropped = 0, all = 0;
        /* Some judge requests themselves; trees need a file; Aquatope's tuning takes long. */
        if (policy->serves == SERVES_TRAININGS || policy->admits_requests || policy->reads_file ||
            strcmp(policy->name, "aquatope") == 0)
            continue;
        inner_decide = policy->decide;
        watched.decide = admitted_decide;
        for (uint64_t world = 0; world < 6; world++) {
            char *json = world_scarce(world);
            world_replace(json, "'platform':{", "'platform':{'admission':'lost',");
            world_serve(json, &watched, NULL, 0, NULL, &dropped);
            all += dropped;
        }
        assert_true(all > 0);
    }
}

/* Nobody refuses where the platform admits all and a policy's own rule is off. With its own rule a
 * policy refuses in the same worlds. */
CASE(a_policy_refuses_only_by_the_rule_that_it_states)
{
    static const char *const names[] = {"clockwork", "gpulet", "infless", "nexus"};
    for (size_t p = 0; p < sizeof names / sizeof *names; p++)
        for (int own = 0; own < 2; own++) {
            const struct policy *policy = policy_find(names[p], NULL);
            uint64_t dropped = 0, all = 0;
            for (uint64_t world = 0; world < 6; world++) {
                char *json = world_scarce(world);
                world_replace(json, "'platform':{", "'platform':{'admission':'none',");
                world_serve(json, policy, "own_admission", own, NULL, &dropped);
                all += dropped;
            }
            assert_true(own == 1 ? all > 0 : all == 0);
        }
}

/* The second request cannot be met once the first has run, and it stands behind one that can. */
CASE(a_request_that_nothing_saves_is_dropped_wherever_it_stands)
{
    run_traced((struct world){.vcpus = 1,
                              .functions = {{"f", "1", "1", "1", "[[20]]", 0, 0, 0}},
                              .applications = "one: a=f",
                              .slo_ms = 1000,
                              .platform = "'initial':{'f':1},'admission':'lost'",
                              .requests = 3},
               "time_ms,application,slo_ms\n0,one,500\n0,one,400\n0,one,40\n",
               policy_find("fifo", NULL), &rows, anew());
    assert_int_equal(result.overall.dropped, 1);
    assert_true(rows.requests[2].dropped);
}

/* ---- Equal plumbing -------------------------------------------------------------------------- */

/* Three pipelines on four A100s cut into slices, four containers of each function per invoker. */
CASE(waiting_for_a_container_and_batches_let_fifo_keep_its_deadlines)
{
    static const struct override overrides[] = {
        {"cluster", "../clusters/a100-mig-4.json"},
        {"applications", "[\"../applications/a100-cascade.json\",\"../applications/"
                         "a100-ensemble.json\",\"../applications/a100-diamond.json\"]"},
        {"functions", "../functions/a100-mig.json"},
        {"profile", "../../traces/profiles/a100-mig-parvagpu.json"},
        {"platform.initial", "16"},
        {"slo.factor", "3"},
        {"arrivals.load", "1"},
        {"requests", "3000"},
        {"platform.cold_dispatch", "wait"},
    };
    const size_t count = sizeof overrides / sizeof *overrides;
    const struct policy *fifo = policy_find("fifo", NULL);
    OWNED(free) double *values = policy_values(fifo, "max_batch", 32);
    double hits[2];
    for (size_t waits = 0; waits < 2; waits++) {
        EXPERIMENT *e = must(experiment_load("workloads/experiments/strict-light.json", overrides,
                                             count - 1 + waits, hear()));
        assert_good(simulation_run(e, fifo, values, NULL, NULL, anew(), hear()));
        hits[waits] = result.overall.slo_hit_rate;
    }
    assert_true(hits[0] < 0.9);
    assert_true(hits[1] >= 0.99);
}

/* ---- Admission by rate ----------------------------------------------------------------------- */

enum { APPLICATIONS = 3 };

/* The limit is 0.8. */
static struct load_limit *limit_start(struct admission_spec *settings, unsigned rate)
{
    *settings =
        (struct admission_spec){.start = 0.8, .least = 0.5, .most = 1, .step = 0.01, .misses = 0.2};
    settings->rate = rate;
    return must(load_limit_create(suite_arena(), APPLICATIONS, settings));
}

static const double thirds[APPLICATIONS] = {1.0 / 3, 1.0 / 3, 1.0 / 3};

CASE(counters_thin_evenly)
{
    struct admission_spec settings;
    struct load_limit *limit = limit_start(&settings, ADMISSION_PROPORTIONAL);
    load_limit_balance(limit, thirds, thirds);
    uint32_t admitted = 0;
    for (uint32_t i = 1; i <= 1000; i++) {
        admitted += load_limit_admit(limit, 0, true);
        /* Never more than one request away from the fraction. */
        assert_true(fabs(admitted - 0.8 * i) <= 1 + 1e-6);
    }
    for (int i = 0; i < 10; i++)
        assert_true(load_limit_admit(limit, 0, false));
}

CASE(a_rate_sheds_the_heaviest_first_or_all_alike_or_down_to_one_load)
{
    static const double load[APPLICATIONS] = {0.2, 1.0, 0.8}; /* 1.2 is too much */
    static const double wanted[][APPLICATIONS] = {
        [ADMISSION_EFFICIENT] = {1, 0, 0.75},
        [ADMISSION_PROPORTIONAL] = {0.4, 0.4, 0.4},
        [ADMISSION_MAX_MIN] = {1, 0.3, 0.375},
    };
    for (unsigned rate = ADMISSION_EFFICIENT; rate <= ADMISSION_MAX_MIN; rate++) {
        struct admission_spec settings;
        struct load_limit *limit = limit_start(&settings, rate);
        load_limit_balance(limit, thirds, load);
        for (uint32_t a = 0; a < APPLICATIONS; a++)
            assert_true(fabs(load_limit_fraction(limit, a) - wanted[rate][a]) < 1e-9);
    }
}

CASE(the_limit_rests_where_the_target_fraction_misses)
{
    struct admission_spec settings;
    struct load_limit *limit = limit_start(&settings, ADMISSION_EFFICIENT);
    for (int i = 0; i < 1000; i++)
        load_limit_outcome(limit, i % 5 != 0); /* 20 % miss, as the setting says */
    assert_true(fabs(load_limit_value(limit) - 0.8) < 0.02);
    for (int i = 0; i < 1000; i++)
        load_limit_outcome(limit, false);
    assert_true(fabs(load_limit_value(limit) - 0.5) < 1e-9);
    for (int i = 0; i < 1000; i++)
        load_limit_outcome(limit, true);
    assert_true(fabs(load_limit_value(limit) - 1) < 1e-9);
}

CASE(the_mix_of_arrivals_is_learned)
{
    struct arrival_rates *rates = arrival_rates_create(suite_arena(), 2);
    assert_true(isinf(arrival_rates_interval(rates, 0)));
    for (uint32_t i = 0; i < 4000; i++) /* one per ms, every fourth of application 1 */
        arrival_rates_note(rates, i % 4 == 3, i * SIM_MS);
    assert_true(fabs(arrival_rates_share(rates, 1) - 0.25) < 0.01);
    assert_true(fabs(arrival_rates_interval(rates, 1) / (4 * SIM_MS) - 1) < 0.04);
}

/* Requests of which a rate drops all that it may, where four can run at a time: those that nothing
 * keeps from a start are served all the same. */
CASE(a_rate_sheds_no_request_for_which_there_is_a_free_slot)
{
    enum { BURSTS = 20 };
    for (unsigned together = 1; together <= 8; together++) {
        char trace[8192] = "time_ms,application\n";
        for (unsigned i = 0; i < BURSTS * together; i++)
            world_add(trace, "%u,one\n", i / together * 500);
        run_traced((struct world){.functions = {{"f", "1", "1", "1", "[[100]]", 0, 0, 0}},
                                  .applications = "one: a=f",
                                  .slo_ms = 1000,
                                  .platform = "'initial':{'f':8},'admission':{'rate':'efficient',"
                                              "'start':0,'least':0,'most':0}",
                                  .requests = BURSTS * together},
                   trace, policy_find("fifo", NULL), log_one(), anew());
        const unsigned over = together > 4 ? together - 4 : 0;
        assert_true(result.overall.dropped <= BURSTS * over);
        assert_true(result.overall.dropped >= (BURSTS - 1) * over); /* no rate is known at first */
    }
}

/* At 1.3 times its capacity first come, first served serves next to nothing in time. With a rate it
 * serves most of what the cluster can, and sheds the rest. */
CASE(a_rate_keeps_an_overloaded_cluster_useful_under_every_policy)
{
    /* Orion leaves slots free while jobs wait, for which requests are admitted all the same. */
    static const struct {
        const char *name;
        double least;
    } policies[] = {{"fifo", 0.6}, {"esg", 0.6}, {"orion", 0.5}, {"headway", 0.6}};
    for (size_t p = 0; p < sizeof policies / sizeof *policies; p++) {
        double hits[2];
        for (size_t with = 0; with < 2; with++) {
            const struct override overrides[] = {
                {"cluster", "../clusters/esg-16-mig.json"},
                {"platform.cold_dispatch", "wait"},
                {"arrivals.load", "1.3"},
                {"requests", "3000"},
                {"warmup_requests", "1000"},
                {"platform.admission", with == 0 ? "none" : "{\"rate\":\"efficient\"}"},
            };
            EXPERIMENT *e = must(experiment_load("workloads/experiments/moderate-normal.json",
                                                 overrides, 6, hear()));
            const struct policy *policy = policy_find(policies[p].name, NULL);
            OWNED(free) double *values = policy_values(policy, NULL, 0);
            assert_good(simulation_run(e, policy, values, NULL, NULL, anew(), hear()));
            hits[with] = result.overall.slo_hit_rate;
        }
        assert_true(hits[1] > policies[p].least);
        assert_true(hits[1] > hits[0] + 0.1);
    }
}

SUITE("plumbing")
