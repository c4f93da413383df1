/* What the platform does for every policy: when containers start, how many are kept, and which
 * requests are dropped. */
#include "sched/registry.h"
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
    const struct policy *policy = policy_find(name, NULL);
    assert_non_null(policy);
    struct policy watched = *policy;
    struct log *log = log_one();
    inner_decide = policy->decide;
    watched.decide = watched_decide;
    late = strcmp(rule, "late") == 0;
    starts = 0;
    for (uint64_t world = 0; world < WORLDS; world++) {
        char json[WORLD_BYTES], platform[128];
        uint64_t dropped;
        world_random(json, world, world % 2 == 1);
        snprintf(platform, sizeof platform, "'platform':{'cold_dispatch':'%s',%s", rule,
                 world % 3 == 0 ? "'keep_alive_s':0," : "");
        world_replace(json, "'platform':{", platform);
        world_serve(json, &watched, NULL, 0, log, &dropped);
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
    struct log *log = log_one();
    for (size_t r = 0; r < sizeof rules / sizeof *rules; r++) {
        RESULT result = {0};
        char json[WORLD_BYTES], rule[32];
        world_build(json, &world);
        snprintf(rule, sizeof rule, "'cold_dispatch':'%s'", rules[r].rule);
        world_replace(json, "'cold_dispatch':'start'", rule);
        run_well(json, policy_find("fifo", NULL), log, &result);
        assert_int_equal(log->requests[1].queue_ns, sim_from_ms(rules[r].queued_ms));
        assert_int_equal(log->requests[1].cold_ns, sim_from_ms(rules[r].cold_ms));
        assert_int_equal(result.run.cold_starts, rules[r].cold_starts);
    }
}

/* Plans and instances say which containers live where. */
CASE(the_rule_does_not_apply_to_policies_that_place_containers)
{
    static const char *const placing[] = {"nexus", "gpulet", "infless", "fast-gshare", "dilu"};
    OWNED(free) struct log *logs = malloc(2 * sizeof *logs);
    assert_non_null(logs);
    for (size_t p = 0; p < sizeof placing / sizeof *placing; p++) {
        char json[WORLD_BYTES];
        uint64_t dropped;
        assert_true(policy_find(placing[p], NULL)->places_containers);
        world_random(json, p, false);
        world_serve(json, policy_find(placing[p], NULL), NULL, 0, &logs[0], &dropped);
        world_replace(json, "'platform':{", "'platform':{'cold_dispatch':'late',");
        world_serve(json, policy_find(placing[p], NULL), NULL, 0, &logs[1], &dropped);
        assert_same_rows(&logs[0], &logs[1]);
    }
}

CASE(a_parameter_that_the_platform_replaced_names_its_key)
{
    static const struct {
        const char *policy, *parameter, *key;
    } cases[] = {{"fifo", "containers", "platform.cold_dispatch"},
                 {"headway", "pool", "platform.pool"},
                 {"headway", "pool_ms", "platform.pool"},
                 {"edf", "drop", "platform.admission"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char key[32], wanted[64];
        double values[64];
        struct error error = {0};
        struct setting setting = {.key = key, .number = 1};
        snprintf(key, sizeof key, "%s", cases[i].parameter);
        assert_false(policy_configure(policy_find(cases[i].policy, NULL), &setting, 1, "e.json",
                                      values, &error));
        snprintf(wanted, sizeof wanted, "set \"%s\"", cases[i].key);
        assert_input_error(&error, wanted);
    }
    /* But a policy's own pool is its idea. */
    assert_true(parameter_index(policy_find("aquatope", NULL)->parameters, "pool") <
                keys_count(policy_find("aquatope", NULL)->parameters));
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
        char json[WORLD_BYTES], pool[64];
        RESULT result = {0};
        target_wanted = cases[i].wanted;
        starts = 0;
        world_build(json, &world);
        snprintf(pool, sizeof pool, "'pool':{'target':%s}", cases[i].target);
        world_replace(json, "'pool':{'target':0}", pool);
        run_well(json, &watched, NULL, &result);
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

static sim_time_t head_left(const struct platform *platform, uint32_t queue)
{
    return platform_job(platform, queue, 0).deadline - platform_now(platform) -
           way_from(platform_workload(platform), platform_queue_application(platform, queue),
                    platform_queue_stage(platform, queue));
}

/* No policy sees an oldest job that is lost. */
static bool admitted_decide(void *state, struct platform *platform)
{
    for (uint32_t q = 0; q < platform_workload(platform)->queue_count; q++)
        if (platform_queue_length(platform, q) > 0)
            assert_true(head_left(platform, q) >= 0);
    return inner_decide(state, platform);
}

CASE(requests_that_nothing_saves_are_dropped_under_every_policy)
{
    const struct policy *policy;
    for (size_t p = 0; (policy = policy_at(p)) != NULL; p++) {
        struct policy watched = *policy;
        uint64_t dropped = 0, all = 0;
        /* Its application must be a chain; its tuning takes long. */
        if (policy->serves == SERVES_TRAININGS || strcmp(policy->name, "alpaserve") == 0 ||
            strcmp(policy->name, "aquatope") == 0)
            continue;
        inner_decide = policy->decide;
        watched.decide = admitted_decide;
        for (uint64_t world = 0; world < 6; world++) {
            char json[WORLD_BYTES];
            world_scarce(json, world);
            world_replace(json, "'platform':{", "'platform':{'admission':'lost',");
            world_serve(json, &watched, NULL, 0, NULL, &dropped);
            all += dropped;
        }
        assert_true(all > 0);
    }
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
        struct error error = {0};
        RESULT result = {0};
        EXPERIMENT *e = experiment_load("workloads/experiments/strict-light.json", overrides,
                                        count - 1 + waits, &error);
        assert_good(e != NULL, &error);
        assert_good(simulation_run(e, fifo, values, NULL, NULL, &result, &error), &error);
        hits[waits] = result.overall.slo_hit_rate;
    }
    assert_true(hits[0] < 0.9);
    assert_true(hits[1] >= 0.99);
}

SUITE("plumbing")
