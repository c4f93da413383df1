/* Headway: its plans against exhaustive search, its estimates against known truth, the policy in
 * the simulator. */
#include "sched/headway/risk.h"
#include "sched/headway/suffix.h"
#include "traces/profile/interference.h"
#include "sched/registry.h"
#include "sim/engine/random.h"
#include "tests/random_dag.h"
#include "tests/suite.h"
#include "tests/worlds.h"

/* ---- Plans ----------------------------------------------------------------------------------- */

enum { CONFIGURATIONS = 9, STAGES = 4, UNITS = 4, LENGTH = 5, WORLDS = 200 };

/* One function per stage, with batches of 1, 2 and 4. */
struct planned {
    struct test_dag dag;
    struct configuration configurations[STAGES][CONFIGURATIONS];
    struct function functions[STAGES];
    struct risk risks[STAGES][UNITS + 1]; /* by share */
    double delay[STAGES], wait[STAGES], container_share[STAGES];
    struct test_cluster of;
    struct suffix_settings settings;
    double neighbour;
};

static void world_functions(struct planned *world, uint64_t *state)
{
    static char name[] = "f";
    for (size_t s = 0; s < STAGES; s++) {
        world->functions[s] = (struct function){.name = name,
                                                .gpus = &world->of.on,
                                                .configurations = world->configurations[s],
                                                .configuration_count = CONFIGURATIONS};
        for (size_t i = 0; i < CONFIGURATIONS; i++)
            world->configurations[s][i] =
                (struct configuration){.batch = (uint16_t)(1u << (i / 3)),
                                       .vcpu = (uint16_t)(1 + test_below(state, 3)),
                                       .vgpu = (uint16_t)(1 + i % 3),
                                       .time = (sim_time_t)(1000 + test_below(state, 100000)),
                                       .cost_per_job_usd = 1 + (double)test_below(state, 50)};
        for (size_t share = 0; share <= UNITS; share++)
            risk_start(&world->risks[s][share], 1 + test_uniform(state), 0.2 * test_uniform(state));
        world->delay[s] = (double)test_below(state, 5000);
        world->wait[s] = (double)test_below(state, 5000);
        world->container_share[s] = 0.3 * test_uniform(state);
    }
}

/* A chain, or with `fork` a diamond of four stages. A base latency below 1024 ns makes the quantum
 * 1 ns, so that plans are exact. */
static void world_fill(struct planned *world, uint64_t *state, bool fork)
{
    static const uint32_t diamond_edges[][2] = {{0, 1}, {0, 2}, {1, 3}, {2, 3}};
    if (fork)
        test_dag_edges(&world->dag, 4, diamond_edges, 4);
    else
        test_dag_chain(&world->dag, 1 + test_below(state, STAGES));
    world_functions(world, state);
    world->dag.application.base_latency = 1;
    world->dag.application.slo = 200000;
    world->dag.application.weight = 1;
    static const struct interference slows; /* that there is one is all that is asked */
    test_cluster_of(&world->of, &world->dag.application, world->functions, STAGES);
    world->of.kind.units = UNITS;
    world->of.kind.interference = test_below(state, 2) == 0 ? &slows : NULL;
    world->neighbour = 2 * test_uniform(state);
    world->settings = (struct suffix_settings){
        .reserve = 1.5, .reserve_last = 3, .max_batch = 4, .harm = 6, .units = 4, .vcpus = 4};
}

static struct suffix *suffix_of(const struct planned *world, struct arena *arena)
{
    const struct suffix_inputs inputs = {world->risks[0],        UNITS + 1,
                                         world->delay,           world->wait,
                                         world->container_share, &world->neighbour};
    struct suffix *suffix =
        must(suffix_create(arena, &world->of.workload, &world->settings, &inputs, hear()));
    return suffix;
}

/* t', written down from its definition. */
static sim_time_t inflated(const struct planned *world, size_t s, size_t k)
{
    const bool last = world->dag.stages[s].next_count == 0;
    const double z = last ? world->settings.reserve_last : world->settings.reserve;
    const struct configuration *spec = &world->configurations[s][k];
    const struct risk *risk = &world->risks[s][spec->vgpu];
    return (sim_time_t)ceil((double)spec->time * (risk->mean + z * sqrt(risk->variance)) +
                            world->delay[s]);
}

static double price_of(const struct planned *world, enum objective objective, size_t s, size_t k)
{
    const struct configuration *spec = &world->configurations[s][k];
    const double mean = world->risks[s][spec->vgpu].mean;
    const double harm = world->of.kind.interference != NULL && mean > 1
                            ? world->settings.harm * world->neighbour * (mean - 1) / mean
                            : 0;
    double share = (spec->vgpu + harm) / 4.0;
    share = spec->vcpu / 4.0 > share ? spec->vcpu / 4.0 : share;
    share = world->container_share[s] > share ? world->container_share[s] : share;
    return objective == OBJECTIVE_COST
               ? spec->cost_per_job_usd * mean
               : share * ceil((double)spec->time * mean + world->delay[s]) / spec->batch;
}

/* Least price of all stages after `from`, each with a batch of at most `bound`, so that the request
 * ends within `left`. Enumerates; `finish` of `from` is 0. */
static double exhaust(const struct planned *world, enum objective objective, size_t from, size_t s,
                      uint32_t bound, sim_time_t left, sim_time_t *finish)
{
    const struct application *application = &world->dag.application;
    if (s == application->stage_count)
        return 0;
    bool after = false;
    sim_time_t start = 0;
    for (size_t i = 0; i < application->stages[s].after_count; i++) {
        const sim_time_t before = finish[application->stages[s].after[i]];
        after = after || before >= 0;
        start = before > start ? before : start;
    }
    finish[s] = -1; /* no successor of `from` */
    if (!after)
        return exhaust(world, objective, from, s + 1, bound, left, finish);
    double best = (double)INFINITY;
    for (size_t k = 0; k < CONFIGURATIONS; k++) {
        if (world->configurations[s][k].batch > bound)
            continue;
        finish[s] = start + inflated(world, s, k) + (sim_time_t)world->wait[s];
        if (finish[s] > left)
            continue;
        const double price = price_of(world, objective, s, k) +
                             exhaust(world, objective, from, s + 1, bound, left, finish);
        best = price < best ? price : best;
    }
    return best;
}

static void check_options(const struct planned *world, const struct suffix *suffix, size_t s,
                          enum objective objective, const sim_time_t *left, uint32_t length)
{
    OWNED(free) struct option *options = must(calloc(suffix_room(suffix), sizeof *options));
    uint64_t examined = 0;
    double price[CONFIGURATIONS];
    const size_t count =
        suffix_options(suffix, objective, 0, (uint32_t)s, left, length, options, &examined);
    for (size_t k = 0; k < CONFIGURATIONS; k++)
        price[k] = (double)INFINITY;
    for (size_t i = 0; i < count; i++)
        price[options[i].configuration] = options[i].price;
    for (size_t k = 0; k < CONFIGURATIONS; k++) {
        const uint32_t batch = world->configurations[s][k].batch;
        sim_time_t finish[STAGES];
        for (size_t i = 0; i < STAGES; i++)
            finish[i] = -1;
        finish[s] = 0;
        double truth = (double)INFINITY;
        if (batch <= length) {
            const sim_time_t rest = left[batch - 1] - inflated(world, s, k);
            if (rest >= 0)
                truth = price_of(world, objective, s, k) +
                        exhaust(world, objective, s, s + 1, batch, rest, finish);
        }
        if (isinf(truth))
            assert_true(isinf(price[k]));
        else
            assert_true(fabs(price[k] - truth) <= 1e-9 * truth);
    }
}

CASE(options_equal_exhaustive_search_for_both_objectives)
{
    uint64_t state = 7;
    OWNED(free) struct planned *world = must(malloc(sizeof *world));
    for (size_t i = 0; i < trials(WORLDS); i++) {
        world_fill(world, &state, i % 4 == 3);
        CLOSED(arena_clear) struct arena arena = {0};
        struct suffix *suffix = suffix_of(world, &arena);
        for (size_t s = 0; s < world->dag.application.stage_count; s++) {
            const uint32_t length = 1 + (uint32_t)test_below(&state, LENGTH);
            sim_time_t left[LENGTH];
            left[0] = (sim_time_t)test_below(&state, 600000);
            for (size_t b = 1; b < LENGTH; b++)
                left[b] = left[b - 1] - (sim_time_t)test_below(&state, 20000);
            check_options(world, suffix, s, OBJECTIVE_COST, left, length);
            check_options(world, suffix, s, OBJECTIVE_WORK, left, length);
        }
    }
}

/* With quanta above 1 ns an option that is offered keeps its promise, and one that exhaustive
 * search finds with a margin of two quanta per stage is offered at no higher price. */
CASE(coarse_times_are_never_optimistic_and_lose_two_quanta_per_stage_at_most)
{
    uint64_t state = 11;
    OWNED(free) struct planned *world = must(malloc(sizeof *world));
    for (size_t i = 0; i < trials(WORLDS); i++) {
        world_fill(world, &state, false);
        world->dag.application.base_latency = 1024 * 700;
        CLOSED(arena_clear) struct arena arena = {0};
        struct suffix *suffix = suffix_of(world, &arena);
        const sim_time_t quantum = suffix_quantum(suffix, 0);
        assert_int_equal(quantum, 700);
        const sim_time_t left = (sim_time_t)test_below(&state, 600000);
        const sim_time_t less = left - 2 * quantum * (sim_time_t)world->dag.application.stage_count;
        struct option options[CONFIGURATIONS];
        double price[CONFIGURATIONS];
        uint64_t examined = 0;
        const size_t count =
            suffix_options(suffix, OBJECTIVE_COST, 0, 0, &left, 1, options, &examined);
        for (size_t k = 0; k < CONFIGURATIONS; k++)
            price[k] = (double)INFINITY;
        for (size_t j = 0; j < count; j++)
            price[options[j].configuration] = options[j].price;
        for (size_t k = 0; k < 3; k++) {
            sim_time_t finish[STAGES] = {0, -1, -1, -1};
            const sim_time_t taken = inflated(world, 0, k);
            const double own = price_of(world, OBJECTIVE_COST, 0, k);
            const double exact =
                taken > left ? (double)INFINITY
                             : own + exhaust(world, OBJECTIVE_COST, 0, 1, 1, left - taken, finish);
            const double strict =
                taken > less ? (double)INFINITY
                             : own + exhaust(world, OBJECTIVE_COST, 0, 1, 1, less - taken, finish);
            assert_true(price[k] >= exact * (1 - 1e-9));
            assert_true(price[k] <= strict * (1 + 1e-9));
        }
    }
}

CASE(tables_are_filled_again_only_after_a_move)
{
    uint64_t state = 3;
    OWNED(free) struct planned *world = must(malloc(sizeof *world));
    world_fill(world, &state, true);
    struct suffix *suffix = suffix_of(world, suite_arena());
    const sim_time_t way = suffix_way(suffix, 0);
    assert_int_equal(suffix_refresh(suffix, 0.01), 0);
    for (size_t share = 0; share <= UNITS; share++)
        world->risks[0][share].mean += 0.005;
    assert_int_equal(suffix_refresh(suffix, 0.01), 0);
    for (size_t share = 0; share <= UNITS; share++)
        world->risks[0][share].mean += 0.5;
    assert_true(suffix_refresh(suffix, 0.01) > 0);
    assert_true(suffix_way(suffix, 0) > way);
    assert_int_equal(suffix_refresh(suffix, 0.01), 0);
}

/* ---- Risk ------------------------------------------------------------------------------------ */

CASE(the_estimator_converges_to_the_known_mean_and_deviation)
{
    for (uint64_t seed = 0; seed < 10; seed++) {
        RANDOM_STREAM(stream, 1, RANDOM_TEST, seed, 0);
        struct risk risk;
        risk_start(&risk, 1, 0.05);
        for (int i = 0; i < 20000; i++)
            risk_observe(&risk, 1.4 * random_noise(&stream, 0.1), 0.001);
        /* An average with weight w has the variance of w / (2 - w) observations; 4 deviations. */
        assert_true(fabs(risk.mean - 1.4) < 4 * 0.14 * sqrt(0.0005));
        assert_true(fabs(sqrt(risk.variance) - 0.14) < 0.014);
        assert_true(fabs(risk_factor(&risk, 2) - (risk.mean + 2 * sqrt(risk.variance))) < 1e-12);
    }
}

CASE(few_observations_weigh_as_in_the_arithmetic_mean)
{
    struct risk risk;
    risk_start(&risk, 1, 0);
    for (int i = 0; i < 10; i++)
        risk_observe(&risk, 3, 0.0001);
    assert_true(fabs(risk.mean - 2) < 1e-12); /* ten of the prior's 1, ten of 3 */
}

/* ---- The policy ------------------------------------------------------------------------------ */

static const struct policy *headway(void)
{
    return must(policy_find("headway", NULL));
}

CASE(it_serves_random_worlds_twice_alike)
{
    static const struct world_case cases[] = {
        {NULL, 0},        {"gather", 0},    {"learning", 0},  {"order", 1},      {"placement", 1},
        {"max_batch", 1}, {"objective", 1}, {"objective", 2}, {"rebuild_ms", 0}, {"press_load", 0},
    };
    worlds_check(headway(), cases, sizeof cases / sizeof *cases, 8);
}

CASE(it_serves_slices_and_whole_gpus_and_unlike_invokers)
{
    char *json;
    uint64_t dropped = 0;
    for (uint64_t world = 0; world < 8; world++) {
        json = world_scarce(world);
        world_serve(json, headway(), NULL, 0, NULL, &dropped);
        json = world_random(world, false);
        world_exclusive(json);
        world_serve(json, headway(), NULL, 0, NULL, &dropped);
        json = world_random(world, false);
        world_sliced(json);
        world_serve(json, headway(), NULL, 0, NULL, &dropped);
        json = world_random(world, false);
        world_replace(json, "'invokers':[",
                      "'invokers':[{'count':1,'vcpus':2,'memory_mb':300,'gpus':[{'model':'old','"
                      "sharing':'exclusive','units':4,'memory_mb':500,'speed':0.5}]},");
        world_serve(json, headway(), NULL, 0, NULL, &dropped);
    }
}

/* A request each 20 ms, alone 40 ms of service, in pairs 30 ms each. A second request comes after
 * 20 ms, for which 50 ms are kept in reserve. */
CASE(jobs_wait_for_a_cheaper_batch_while_their_reserve_lasts)
{
    static const struct {
        double slo_ms;
        uint32_t jobs;
    } expected[] = {{300, 2}, {200, 2}, {100, 1}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const struct world world = {
            .functions = {{"f", "1,2", "1", "1", "[[40]],[[60]]", 0, 100, 0}},
            .applications = "one: a=f",
            .every_ms = {20, 20},
            .slo_ms = expected[i].slo_ms,
            .platform = "'initial':8,'cold_dispatch':'wait'",
            .requests = 200,
            .warmup_requests = 20};
        run_well(world_build(&world), headway(), &rows, anew());
        assert_true(result.overall.slo_hit_rate >= 1);
        for (size_t b = 20; b + 1 < rows.batch_count; b++) /* the last may be odd */
            assert_int_equal(rows.batches[b].jobs, expected[i].jobs);
    }
}

/* The hit rate where 50 requests wait for the first container. One comes each 20 ms. Alone each
 * takes 40 ms, and eight together take 80 ms. */
static double after_a_burst(double late)
{
    const struct policy *policy = headway();
    const struct world world = {.functions = {{"f", "1,8", "1", "4", "[[40]],[[80]]", 0, 1000, 0}},
                                .applications = "one: a=f",
                                .every_ms = {20, 20},
                                .slo_ms = 300,
                                .platform = "'initial':0,'cold_dispatch':'wait','admission':'none'",
                                .requests = 400};
    EXPERIMENT *experiment = load(world_build(&world));
    OWNED(free) double *values = policy_values(policy, "late", late);
    assert_good(simulation_run(experiment, policy, values, NULL, NULL, anew(), hear()));
    return result.overall.slo_hit_rate;
}

CASE(late_jobs_in_cheap_batches_let_a_queue_recover)
{
    assert_true(after_a_burst(0) > 0.7);
    assert_true(after_a_burst(1) < 0.1);
}

/* Theory's service times and closed arrivals. */
static const char theory[] =
    "{'name':'theory','cluster':{'invokers':[{'count':2,'vcpus':2,'memory_mb':1000,'gpus':[{'model'"
    ":'t','sharing':'mps','units':2,'memory_mb':1000}]}]},'functions':{'functions':[{'name':'f','"
    "model':'f','input_bytes':0,'cold_start_ms':{'mean':0},'gpu_memory_mb':{'weights':1,'per_item':"
    "0},'host_memory_mb':1,'service':{'distribution':'exponential','mean_ms':10}}]},'applications':"
    "[{'name':'a','stages':[{'name':'s','function':'f'}]}],'arrivals':{'process':'closed','users':"
    "5,'think_ms':30},'slo':{'ms':100},'platform':{'prewarm':'none'},'requests':400,'warmup_"
    "requests':0,'seed':3}";

CASE(it_serves_theory_and_users_who_wait)
{
    run_well(theory, headway(), NULL, anew());
    assert_int_equal(result.overall.requests, 400);
    assert_true(result.overall.slo_hit_rate > 0.9);
}

/* Every step switched off, by name. */
static const struct {
    const char *name;
    double value;
} plain[] = {{"learning", 0},     {"slowdown", 1}, {"delay_ms", 0},    {"reserve", 0},
             {"reserve_last", 0}, {"order", 1},    {"patience", 1000}, {"placement", 2},
             {"objective", 1},    {"gather", 0},   {"late", 1}};

CASE(with_every_step_off_it_is_a_plain_planner)
{
    const struct policy *policy = headway();
    OWNED(free) struct log *logs = must(malloc(2 * sizeof *logs));
    for (uint64_t world = 1; world < 9; world += 2) {
        char *json = world_random(world, true);
        /* One request at a time, on an idle warm cluster: no policy has to wait or to choose. */
        world_replace(json, "'process':'poisson','rate_per_s'",
                      "'process':'closed','users':1,'think_ms'");
        /* Parallel branches are served in either order: make the diamond a chain. */
        world_replace(json, "'name':'c','function':'g','after':['a']",
                      "'name':'c','function':'g','after':['b']");
        world_replace(json, "['b','c']", "['c']");
        world_replace(json, "'platform':{", "'platform':{'admission':'none',");
        OWNED(free) double *values = policy_values(policy, NULL, 0);
        for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
            const size_t at = parameter_index(policy->parameters, plain[i].name);
            assert_true(at < keys_count(policy->parameters));
            values[at] = plain[i].value;
        }
        const struct policy *esg = policy_find("esg", NULL);
        OWNED(free) double *frontier = policy_values(esg, "method", 1);
        frontier[parameter_index(esg->parameters, "headroom")] = 0;
        frontier[parameter_index(esg->parameters, "late")] = 0;
        const struct policy *both[] = {policy, esg};
        const double *settings[] = {values, frontier};
        for (int i = 0; i < 2; i++) {
            EXPERIMENT *experiment = load(json);
            const struct recorder recorder = log_recorder(&logs[i]);
            memset(&logs[i], 0, sizeof logs[i]);
            assert_good(
                simulation_run(experiment, both[i], settings[i], &recorder, NULL, anew(), hear()));
        }
        assert_int_equal(logs[0].batch_count, logs[1].batch_count);
        for (size_t i = 0; i < logs[0].batch_count; i++) {
            assert_int_equal(logs[0].batches[i].queue, logs[1].batches[i].queue);
            assert_int_equal(logs[0].batches[i].configuration, logs[1].batches[i].configuration);
        }
    }
}

SUITE("headway")
