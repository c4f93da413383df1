/* Unlike GPUs in one cluster: configurations, placement, prices, noise, cold starts and
 * interference of each kind, against theory, single-kind runs and hand computation. */
#include "sched/policy_instances.h"
#include "sched/registry.h"
#include "sim/engine/random.h"
#include "tests/fixture_simulation.h"
#include "workloads/world/capacity.h"

/* ---- Worlds ---------------------------------------------------------------------------------- */

#define LATENCY_A "[[[40,22],[36,20]],[[60,33],[54,30]]]"
#define LATENCY_B "[[[90,50,32]],[[130,72,44]]]"
#define NET(grid, latency, cv, cold, rest)                                                         \
    "{'grid':" grid ",'latency_ms':" latency ",'noise':{'cv':" cv                                  \
    "},'cold_start_ms':{'mean':" cold ",'cv':0},'gpu_memory_mb':{" rest                            \
    "},'host_memory_mb':100,'bandwidth_share':0.5}"
#define GRID_A "{'batch':[1,2],'vcpu':[1,2],'vgpu':[1,4]}"
#define GRID_B "{'batch':[1,2],'vcpu':[1],'vgpu':[2,5,10]}"
#define NET_A NET(GRID_A, LATENCY_A, "0", "100", "'weights':100,'per_item':10")
#define NET_B NET(GRID_B, LATENCY_B, "0", "300", "'weights':200,'per_item':20")
#define GRADED(evidence, unit, functions, interference)                                            \
    "{'device':'test','evidence':'" evidence "','source':'test','licence':'none',"                 \
    "'unit':" unit ",'functions':{" functions "},'interference':" interference "}"
#define DEVICE(unit, functions, interference) GRADED("assumed", unit, functions, interference)
#define ALONE "{'model':'none'}"
#define EXCESS "{'model':'constant','constant':1}"
#define PROFILE_A DEVICE("4", "'f':" NET_A, ALONE)
#define PROFILE_B DEVICE("10", "'f':" NET_B, ALONE)
#define GPU_A(rest) "{'model':'A','sharing':'mps','units':4,'memory_mb':4000" rest "}"
#define GPU_B(rest) "{'model':'B','sharing':'mps','units':10,'memory_mb':2000" rest "}"
#define GROUP(count, gpus) "{'count':" count ",'vcpus':8,'memory_mb':8000,'gpus':[" gpus "]}"
#define ONE_OF_EACH GROUP("1", GPU_A("")) "," GROUP("1", GPU_B(""))
#define ONE_STAGE "[{'name':'one','stages':[{'name':'s','function':'f'}]}]"
#define CALM "'prewarm':'none','transfer':{'latency_ms':0,'bandwidth_gbps':1000000000}"
#define WORLD(cluster, profiles, applications, arrivals, rest)                                     \
    "{'cluster':{'invokers':[" cluster "]},'profiles':{" profiles "},'applications':" applications \
    ",'arrivals':" arrivals ",'slo':{'factor':3}," rest "}"
#define BOTH "'A':" PROFILE_A ",'B':" PROFILE_B
#define POISSON(rate) "{'process':'poisson','rate_per_s':" rate "}"
#define MIXED                                                                                      \
    WORLD(GROUP("2", GPU_A("")) "," GROUP("1", GPU_A("") "," GPU_B("")) "," GROUP("1", GPU_B("")), \
          BOTH, ONE_STAGE, POISSON("60"), "'requests':600,'warmup_requests':0,'seed':4")

static uint16_t kind_of_gpu(const struct workload *workload, uint32_t gpu)
{
    uint32_t first = 0;
    for (size_t g = 0; g < workload->cluster.group_count; g++) {
        const struct invoker_group *group = &workload->cluster.groups[g];
        const uint32_t all = group->count * (uint32_t)group->gpu_count;
        if (gpu < first + all)
            return group->gpus[(gpu - first) % group->gpu_count].kind;
        first += all;
    }
    fail_msg("no GPU %u", gpu);
    return 0;
}

/* ---- Policies for the tests ------------------------------------------------------------------ */

/* The oldest job, on the first of the function's configurations that fits anywhere. */
static bool first_decide(void *state, struct platform *platform)
{
    const uint32_t queue = platform_next_queue(platform, 0);
    if (queue == SIM_NONE)
        return false;
    const uint32_t function = platform_queue_function(platform, queue);
    const struct function *spec = &platform_workload(platform)->functions[function];
    for (uint32_t k = 0; k < spec->configuration_count; k++) {
        const uint32_t invoker = platform_best_fit(platform, function, k, false);
        if (invoker != SIM_NONE)
            return platform_dispatch(platform, queue, 1, k, invoker);
    }
    return false;
}

POLICY(first_fit, .state_bytes = 1, .decide = first_decide);

/* Any queue, at random any configuration that fits; checks that none fits a foreign invoker. */
struct random_state {
    struct random_stream stream;
};

static bool random_init(void *state, struct platform *platform, const void *parameters,
                        struct error *error)
{
    struct random_state *self = state;
    random_stream_open(&self->stream, platform_seed(platform), RANDOM_TEST, 5, 0);
    return true;
}

static bool random_decide(void *state, struct platform *platform)
{
    struct random_state *self = state;
    const uint32_t queue = platform_next_queue(platform, 0);
    if (queue == SIM_NONE)
        return false;
    const uint32_t function = platform_queue_function(platform, queue);
    const struct function *spec = &platform_workload(platform)->functions[function];
    const uint32_t count = (uint32_t)spec->configuration_count;
    const uint32_t from = (uint32_t)gsl_rng_uniform_int(&self->stream.rng, count);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t k = (from + i) % count;
        const uint32_t invoker = platform_best_fit(platform, function, k, false);
        if (invoker != SIM_NONE)
            return platform_dispatch(platform, queue, 1, k, invoker);
    }
    return false;
}

POLICY(at_random, .state_bytes = sizeof(struct random_state), .init = random_init,
       .decide = random_decide);

/* ---- Configurations -------------------------------------------------------------------------- */

static bool in_order(const struct configuration *a, const struct configuration *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind;
    if (a->batch != b->batch)
        return a->batch < b->batch;
    return a->vcpu != b->vcpu ? a->vcpu < b->vcpu : a->vgpu < b->vgpu;
}

/* What a configuration must be, from its profile's table. */
static void check_configuration(const struct workload *workload, const struct function *function,
                                const struct configuration *c)
{
    static const double a[2][2][2] = {{{40, 22}, {36, 20}}, {{60, 33}, {54, 30}}};
    static const double b[2][1][3] = {{{90, 50, 32}}, {{130, 72, 44}}};
    const struct gpu_kind *kind = &workload->kinds[c->kind];
    const double ms = kind->units == 4
                          ? a[c->batch - 1][c->vcpu - 1][c->vgpu == 4]
                          : b[c->batch - 1][c->vcpu - 1][c->vgpu == 10 ? 2 : c->vgpu == 5];
    assert_int_equal(c->time, llround(ms * 1e6 / kind->speed));
    assert_absolute(c->cost_usd,
                    ms / kind->speed / 3.6e6 * (c->vcpu * 0.034 + c->vgpu * kind->vgpu_hour_usd),
                    1e-15);
    assert_absolute(c->gpu_memory_mb, kind->units == 4 ? 100 + 10 * c->batch : 200 + 20 * c->batch,
                    1e-9);
    assert_absolute(function->gpus[c->kind].cold_start_mean_ms, kind->units == 4 ? 100 : 300, 0);
}

CASE(configurations_are_those_of_every_kind)
{
    EXPERIMENT *e =
        load(WORLD(GROUP("1", GPU_A("") "," GPU_A(",'speed':0.5")) "," GROUP("1", GPU_B("")), BOTH,
                   ONE_STAGE, POISSON("1"), "'requests':1"));
    const struct workload *workload = &e->workload;
    const struct function *f = &workload->functions[0];
    assert_int_equal(workload->kind_count, 3);
    assert_string_equal(workload->kinds[0].model, "A");
    assert_string_equal(workload->kinds[2].model, "B");
    assert_absolute(workload->kinds[0].vgpu_hour_usd, 4.69 / 4, 1e-12);
    assert_absolute(workload->kinds[2].vgpu_hour_usd, 4.69 / 10, 1e-12);
    assert_int_equal(f->configuration_count, 8 + 8 + 6);
    for (size_t k = 0; k < f->configuration_count; k++) {
        check_configuration(workload, f, &f->configurations[k]);
        assert_true(k == 0 || in_order(&f->configurations[k - 1], &f->configurations[k]));
    }
    static const size_t counts[] = {8, 8, 6};
    for (size_t k = 0, first = 0; k < 3; first += counts[k++]) {
        assert_int_equal(f->gpus[k].first, first);
        assert_int_equal(f->gpus[k].count, counts[k]);
        assert_int_equal(f->gpus[k].minimum, first);
        assert_true(f->gpus[k].runs);
    }
    assert_int_equal(f->minimum_configuration, 0);
    assert_int_equal(workload->applications[0].base_latency, 40 * SIM_MS);
    assert_int_equal(f->configurations[f->fastest_single].time, 20 * SIM_MS);
}

/* Without a GPU a configuration is listed once, as the first profile that has it times it, and no
 * speed of a GPU changes it. */
CASE(a_configuration_without_a_gpu_is_listed_once)
{
    EXPERIMENT *e = load(WORLD(
        GROUP("1", GPU_A(",'speed':4")) "," GROUP("1", GPU_B("")),
        "'A':" DEVICE("4",
                      "'f':" NET("{'batch':[1],'vcpu':[1,2],'vgpu':[0,4]}", "[[[400,40],[200,20]]]",
                                 "0", "1", "'weights':10,'per_item':0"),
                      ALONE) ",'B':" DEVICE("10",
                                            "'f':" NET("{'batch':[1],'vcpu':[2,4],'vgpu':[0,10]}",
                                                       "[[[300,30],[100,10]]]", "0", "2",
                                                       "'weights':20,'per_item':0"),
                                            ALONE),
        ONE_STAGE, POISSON("1"), "'requests':1"));
    static const struct {
        uint16_t kind, vcpu, vgpu;
        double ms;
    } wanted[] = {{0, 1, 0, 400}, {0, 1, 4, 10},  {0, 2, 0, 200}, {0, 2, 4, 5},
                  {0, 4, 0, 100}, {1, 2, 10, 30}, {1, 4, 10, 10}};
    const struct function *f = &e->workload.functions[0];
    assert_int_equal(f->configuration_count, sizeof wanted / sizeof *wanted);
    for (size_t k = 0; k < f->configuration_count; k++) {
        const struct configuration *c = &f->configurations[k];
        assert_int_equal(c->kind, wanted[k].kind);
        assert_int_equal(c->vcpu, wanted[k].vcpu);
        assert_int_equal(c->vgpu, wanted[k].vgpu);
        assert_int_equal(c->time, sim_from_ms(wanted[k].ms));
    }
}

/* Sharing and memory make no kind, speed and price do, the model does only by its profile. */
CASE(a_kind_is_what_latency_and_price_depend_on)
{
    static const struct {
        const char *json;
        size_t kinds;
    } cases[] = {
        {WORLD(GROUP("1", GPU_A("")) "," GROUP("2", GPU_A(",'note':'x'")), "'A':" PROFILE_A,
               ONE_STAGE, POISSON("1"), "'requests':1"),
         1},
        {WORLD(GROUP("1", GPU_A("")) "," GROUP("1", GPU_A(",'vgpu_hour_usd':2")), "'A':" PROFILE_A,
               ONE_STAGE, POISSON("1"), "'requests':1"),
         2},
        {WORLD(GROUP("1", GPU_A("")) "," GROUP(
                   "1", "{'model':'C','sharing':'exclusive','units':4,'memory_mb':900}"),
               "'A':" PROFILE_A ",'C':" PROFILE_A, ONE_STAGE, POISSON("1"), "'requests':1"),
         1},
        {WORLD(GROUP("1", GPU_A("")) "," GROUP(
                   "1", "{'model':'C','sharing':'mps','units':4,'memory_mb':900}"),
               "'A':" PROFILE_A ",'C':" DEVICE("4", "'f':" NET_A, EXCESS), ONE_STAGE, POISSON("1"),
               "'requests':1"),
         2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        EXPERIMENT *e = load(cases[i].json);
        assert_int_equal(e->workload.kind_count, cases[i].kinds);
    }
}

/* `profiles` with one entry is `profile`, and the result the same. */
CASE(one_profile_by_model_is_the_profile)
{
    static struct log one, several;
    struct simulation_result results[2];
    static const char by_model[] =
        WORLD(GROUP("2", GPU_A("")), "'A':" PROFILE_A, ONE_STAGE, POISSON("100"),
              "'policy':{'name':'esg'},'requests':500,'warmup_requests':0");
    static const char plain[] = "{'cluster':{'invokers':[" GROUP(
        "2", GPU_A("")) "]},'profile':" PROFILE_A ",'applications':" ONE_STAGE
                        ",'arrivals':" POISSON("100") ",'slo':{'factor':3},'policy':{'name':'esg'},"
                                                      "'requests':500,'warmup_requests':0}";
    run_well(by_model, NULL, &several, &results[0]);
    run_well(plain, NULL, &one, &results[1]);
    assert_same_rows(&one, &several);
    assert_memory_equal(&results[0].run, &results[1].run, sizeof results[0].run);
    for (size_t i = 0; i < 2; i++)
        simulation_result_clear(&results[i]);
}

CASE(the_hash_knows_profiles_prices_and_what_overrides_them)
{
#define HASHED(gpu_b, profile_b, rest)                                                             \
    WORLD(GROUP("1", GPU_A("")) "," GROUP("1", GPU_B(gpu_b)), "'A':" PROFILE_A ",'B':" profile_b,  \
          ONE_STAGE, POISSON("1"), rest "'requests':1")
#define OTHER_B                                                                                    \
    DEVICE("10", "'f':" NET(GRID_B, LATENCY_B, "0", "301", "'weights':200,'per_item':20"), ALONE)
    static const char *const worlds[] = {
        HASHED("", PROFILE_B, ""),
        HASHED("", OTHER_B, ""),
        HASHED(",'vgpu_hour_usd':0.4", PROFILE_B, ""),
        HASHED(",'speed':2", PROFILE_B, ""),
        HASHED("", PROFILE_B, "'functions':[{'name':'f','cold_start_ms':{'mean':100}}],"),
        HASHED("", PROFILE_B, "'functions':[{'name':'f','configurations':{'vgpu':{'B':[5,10]}}}],"),
    };
    enum { COUNT = sizeof worlds / sizeof *worlds };
    char hashes[COUNT][17];
    for (size_t i = 0; i < COUNT; i++) {
        EXPERIMENT *e = load(worlds[i]);
        memcpy(hashes[i], e->hash, sizeof hashes[i]);
        for (size_t other = 0; other < i; other++)
            assert_string_not_equal(hashes[i], hashes[other]);
    }
    /* The key that says what is the default has the default's hash. */
    EXPERIMENT *e = load(HASHED(",'speed':1", PROFILE_B, ""));
    assert_string_equal(e->hash, hashes[0]);
    assert_contains(e->profile_sha256, "A ");
    assert_contains(e->profile_sha256, ", B ");
    assert_string_equal(e->profile_evidence, "assumed");
}

/* Also one that is a part of another. */
CASE(every_evidence_grade_is_told_whole_and_once)
{
#define GRADES(a, b)                                                                               \
    WORLD(ONE_OF_EACH,                                                                             \
          "'A':" GRADED(a, "4", "'f':" NET_A, ALONE) ",'B':" GRADED(b, "10", "'f':" NET_B, ALONE), \
          ONE_STAGE, POISSON("1"), "'requests':1")
#define LONG "measured on cards of other laboratories, batches of 8 and more predicted"
    EXPERIMENT *unlike = load(GRADES(LONG, "measured"));
    assert_string_equal(unlike->profile_evidence, LONG " and measured");
    EXPERIMENT *alike = load(GRADES(LONG, LONG));
    assert_string_equal(alike->profile_evidence, LONG);
}

CASE(axes_may_be_given_by_model)
{
    EXPERIMENT *e = load(HASHED("", PROFILE_B,
                                "'functions':[{'name':'f','configurations':{'batch':[1],'vgpu':{'B'"
                                ":[5,10],'other':[3]}}}],"));
    const struct function *f = &e->workload.functions[0];
    assert_int_equal(f->gpus[0].count, 4); /* 1 batch, 2 vCPUs, 2 shares */
    assert_int_equal(f->gpus[1].count, 2);
    assert_int_equal(f->configurations[4].vgpu, 5);
}

/* ---- Where batches run ----------------------------------------------------------------------- */

/* Also that the rest of a run's rows fits the kind: time and price. */
static void check_rows(const struct workload *workload, const struct log *log)
{
    for (size_t i = 0; i < log->batch_count; i++) {
        const struct batch_row *row = &log->batches[i];
        const struct configuration *c = &workload->functions[0].configurations[row->configuration];
        assert_int_equal(kind_of_gpu(workload, row->gpu), c->kind);
        assert_int_equal(row->finished_ns - row->started_ns, c->time);
        assert_absolute(row->cost_usd, c->cost_usd, 1e-12 * c->cost_usd);
        const double cold_ms = workload->functions[0].gpus[c->kind].cold_start_mean_ms;
        assert_true(row->cold_ns <= sim_from_ms(cold_ms));
    }
}

CASE(a_batch_runs_on_a_gpu_of_its_kind)
{
    EXPERIMENT *e = load(MIXED);
    static const struct policy *const policies[] = {&first_fit, &at_random};
    for (size_t p = 0; p < 2; p++) {
        bool seen[2] = {false, false};
        run_well(MIXED, policies[p], &rows, anew());
        check_rows(&e->workload, &rows);
        for (size_t i = 0; i < rows.batch_count; i++)
            seen[e->workload.functions[0].configurations[rows.batches[i].configuration].kind] =
                true;
        assert_true(seen[0] && (p == 0 || seen[1]));
    }
}

/* A policy that starts an instance on a small share of the first kind, and then breaks the rule. */
static bool reshare_decide(void *state, struct platform *platform)
{
    const struct function *f = &platform_workload(platform)->functions[0];
    const struct instance_request request = {.function = 0,
                                             .configuration = (uint32_t)f->gpus[0].first,
                                             .quota = 100,
                                             .invoker = 0,
                                             .gpu = SIM_NONE};
    const uint32_t instance = platform_create(platform, &request);
    assert_int_not_equal(instance, SIM_NONE);
    struct instance_request foreign = request;
    foreign.configuration = (uint32_t)f->gpus[1].first;
    assert_false(platform_instance_fits(platform, &foreign)); /* invoker 0 has kind 0 only */
    foreign.invoker = 2;
    foreign.gpu = 0; /* of kind 0; its other GPU is of kind 1 */
    assert_false(platform_instance_fits(platform, &foreign));
    foreign.gpu = 1;
    assert_true(platform_instance_fits(platform, &foreign));
    return platform_set_share(platform, instance, foreign.configuration, 100);
}

CASE(an_instance_keeps_its_kind)
{
    POLICY(policy, .state_bytes = 1, .decide = reshare_decide);
    assert_bad_run(run(MIXED, &policy, NULL, anew(), hear()), "another kind of GPU");
}

/* ---- Theory and runs of one kind ------------------------------------------------------------- */

/* M/M/2 with unlike servers of rates a and b. A job takes the first server if both are free. From
 * the balance equations of the states none, only the first, only the second, two and more:
 * P(second only) = a P(2) / (λ + b), and λ (P(first only) + P(second only)) = (a + b) P(2). */
static double unlike_servers_response(double rate, double a, double b)
{
    const double load = rate / (a + b);
    const double second = a / (rate + b); /* in units of P(2) */
    const double first = (a + b) / rate - second;
    const double none = (a * first + b * second) / rate;
    const double rest = 1 - load;
    const double whole = none + first + second + 1 / rest;
    const double jobs = first + second + 2 / rest + load / (rest * rest);
    return jobs / whole / rate;
}

/* One exclusive GPU of speed 1 and one of speed 0.5, exponential service of 100 ms at speed 1. */
CASE(unlike_servers_are_as_fast_as_theory_says)
{
    static const struct {
        const char *rate;
        double number;
    } rates[] = {{"4", 4}, {"10", 10}};
    for (size_t i = 0; i < 2; i++) {
        char *json = formatted(
            "{'cluster':{'invokers':[{'vcpus':1,'memory_mb':100,'gpus':[{'sharing':'exclusive','"
            "units':1,'memory_mb':10}]},{'vcpus':1,'memory_mb':100,'gpus':[{'sharing':'exclusive','"
            "units':1,'memory_mb':10,'speed':0.5}]}]},'functions':[{'name':'f','service':{'"
            "distribution':'exponential','mean_ms':100},'configuration':{'batch':1,'vcpu':1,'vgpu':"
            "1}}],'applications':" ONE_STAGE ",'arrivals':" POISSON(
                "%s") ",'platform':{" CALM
                      "},'requests':80000,'warmup_requests':4000,'seed':8,'record':'summary'}",
            rates[i].rate);
        run_well(json, &first_fit, NULL, anew());
        const double theory = 1e3 * unlike_servers_response(rates[i].number, 10, 5);
        /* The half-width is 1.96 standard errors; the test allows 2.5 of them. */
        assert_absolute(result.overall.latency_ms_mean, theory,
                        2.5 * result.run.latency_ms_half_width);
        assert_true(result.run.latency_ms_half_width < 0.1 * theory);
    }
}

/* Application x runs on kind A only, y on kind B only. Beside each other they fare as alone. */
#define ONLY(name, function) "{'name':'" name "','stages':[{'name':'s','function':'" function "'}]}"
#define FIFO                                                                                       \
    "'policy':{'name':'fifo','params':{'head_of_line':'skip'}},'platform':{" CALM "},"             \
    "'warmup_requests':0,'requests':"
#define ONLY_A "'A':" DEVICE("4", "'f':" NET_A, ALONE)
#define ONLY_B "'B':" DEVICE("10", "'g':" NET_B, ALONE)

/* Runs the requests of one application of `mixed` on its own GPUs, from a trace of their arrivals.
 */
static void check_alone(const struct log *mixed, const char *format, uint32_t application)
{
    static struct log alone;
    RESULT result = {0};
    STRING *text = NULL;
    size_t size = 0, count = 0;
    sim_time_t first = -1;
    FILE *trace = must(open_memstream(&text, &size));
    (void)fputs("time_ms,application\n", trace);
    for (size_t i = 0; i < mixed->request_count; i++) {
        const struct request_row *row = &mixed->requests[i];
        if (row->application != application)
            continue;
        first = first < 0 ? row->arrival_ns : first;
        (void)fprintf(trace, "%.6f,%s\n", sim_to_ms(row->arrival_ns - first),
                      application == 0 ? "x" : "y");
        count++;
    }
    assert_int_equal(fclose(trace), 0);
    TEMPORARY(path, text);
    char *json = formatted(format, path, count);
    run_well(json, NULL, &alone, &result);
    for (size_t i = 0, k = 0; i < mixed->request_count; i++) {
        const struct request_row *row = &mixed->requests[i], *own = &alone.requests[k];
        if (row->application != application)
            continue;
        assert_int_equal(row->finish_ns - row->arrival_ns, own->finish_ns - own->arrival_ns);
        assert_int_equal(row->queue_ns, own->queue_ns);
        assert_true(row->cost_usd == own->cost_usd);
        k++;
    }
    assert_true(result.overall.queue_ms_mean > 1); /* jobs do wait */
}

CASE(two_kinds_with_a_function_each_are_two_clusters)
{
    static struct log mixed;
    run_well(WORLD(GROUP("2", GPU_A("")) "," GROUP("1", GPU_B("")), ONLY_A "," ONLY_B,
                   "[" ONLY("x", "f") "," ONLY("y", "g") "]", POISSON("420"), FIFO "600"),
             NULL, &mixed, anew());
    check_alone(&mixed,
                WORLD(GROUP("2", GPU_A("")), ONLY_A, "[" ONLY("x", "f") "]",
                      "{'process':'trace','file':'%s'}", FIFO "%zu"),
                0);
    check_alone(&mixed,
                WORLD(GROUP("1", GPU_B("")), ONLY_B, "[" ONLY("y", "g") "]",
                      "{'process':'trace','file':'%s'}", FIFO "%zu"),
                1);
}

/* GPUs that no function runs on change no row, but that they are there: the rent is theirs, too. */
CASE(a_kind_that_is_not_used_changes_nothing)
{
    static struct log with, without;
    struct simulation_result results[2];
#define UNUSED(group, profile)                                                                     \
    WORLD(GROUP("2", GPU_A("")) group, ONLY_A profile, "[" ONLY("x", "f") "]", POISSON("150"),     \
          FIFO "600")
    run_well(UNUSED("", ""), NULL, &without, &results[0]);
    run_well(UNUSED("," GROUP("2", GPU_B("")), "," ONLY_B), NULL, &with, &results[1]);
    assert_same_rows(&without, &with);
    assert_true(results[0].overall.cost_usd == results[1].overall.cost_usd);
    /* Twice the GPUs: half as busy, although the others have 10 units each instead of 4. */
    assert_absolute(results[1].run.gpu_utilisation, results[0].run.gpu_utilisation / 2, 1e-12);
    assert_absolute(results[1].run.cost_cluster_usd, 2 * results[0].run.cost_cluster_usd, 1e-12);
    for (size_t i = 0; i < 2; i++)
        simulation_result_clear(&results[i]);
}

/* ---- What belongs to the GPU ----------------------------------------------------------------- */

/* Constant arrivals 1 s apart on one invoker; returns the first request's latency in ms. */
static double first_latency(const char *cluster, const char *profiles, const char *platform)
{
    char *json =
        formatted("{'cluster':{'invokers':[%s]},'profiles':{%s},'applications':" ONE_STAGE
                  ",'arrivals':{'process':'uniform','low_ms':1000,'high_ms':1000},'platform':{" CALM
                  "%s},'requests':2,'warmup_requests':0}",
                  cluster, profiles, platform);
    run_well(json, &first_fit, &rows, anew());
    return sim_to_ms(rows.requests[0].finish_ns - rows.requests[0].arrival_ns);
}

CASE(a_cold_start_is_that_of_the_gpu)
{
    static const char cold[] = ",'initial':'cold'";
    assert_absolute(first_latency(GROUP("1", GPU_A("")), "'A':" PROFILE_A, cold), 140, 1e-9);
    assert_absolute(first_latency(GROUP("1", GPU_B("")), "'B':" PROFILE_B, cold), 390, 1e-9);
    /* The speed is that of executions, not of starts. */
    assert_absolute(first_latency(GROUP("1", GPU_B(",'speed':0.5")), "'B':" PROFILE_B, cold), 480,
                    1e-9);
}

/* Two batches start together on each kind: constant excess 1 on A, none on B. */
static bool pair_decide(void *state, struct platform *platform)
{
    if (platform_next_queue(platform, 0) == SIM_NONE)
        return false;
    const struct function *f = &platform_workload(platform)->functions[0];
    const uint64_t request = platform_job(platform, 0, 0).request;
    const size_t kind = request / 2 % 2;
    return platform_dispatch(platform, 0, 1, (uint32_t)f->gpus[kind].first, (uint32_t)kind);
}

CASE(interference_is_that_of_the_gpu)
{
    POLICY(pairs, .state_bytes = 1, .decide = pair_decide);
    run_well(WORLD(ONE_OF_EACH, "'A':" DEVICE("4", "'f':" NET_A, EXCESS) ",'B':" PROFILE_B,
                   ONE_STAGE, "{'process':'uniform','low_ms':0,'high_ms':0.000001}",
                   "'platform':{" CALM ",'initial':{'f':4}},'requests':4,'warmup_requests':0"),
             &pairs, &rows, anew());
    assert_int_equal(rows.batch_count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_absolute((double)(rows.batches[i].finished_ns - rows.batches[i].started_ns),
                        rows.batches[i].invoker == 0 ? 80e6 : 90e6, 4);
}

/* Both kinds transform one draw: a lognormal factor of the kind's cv. */
CASE(noise_is_that_of_the_gpu_from_one_draw)
{
#define NOISY(unit, grid, latency, cv)                                                             \
    DEVICE(unit, "'f':" NET(grid, latency, cv, "0", "'weights':1,'per_item':0"), ALONE)
    static const char *const worlds[] = {
        WORLD(GROUP("1", GPU_A("")), "'A':" NOISY("4", GRID_A, LATENCY_A, "0.1"), ONE_STAGE,
              POISSON("2"), "'platform':{" CALM "},'requests':300,'warmup_requests':0"),
        WORLD(GROUP("1", GPU_B("")), "'B':" NOISY("10", GRID_B, LATENCY_B, "0.4"), ONE_STAGE,
              POISSON("2"), "'platform':{" CALM "},'requests':300,'warmup_requests':0"),
        WORLD(ONE_OF_EACH,
              "'A':" NOISY("4", GRID_A, LATENCY_A, "0.1") ",'B':" NOISY("10", GRID_B, LATENCY_B,
                                                                        "0.4"),
              ONE_STAGE, POISSON("2"), "'platform':{" CALM "},'requests':300,'warmup_requests':0"),
    };
    static struct log logs[3];
    EXPERIMENT *e = load(worlds[2]);
    for (size_t i = 0; i < 3; i++)
        run_well(worlds[i], &at_random, &logs[i], anew());
    double noise[2][300] = {{0}};
    bool seen[2] = {false, false};
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < logs[k].batch_count; i++)
            noise[k][logs[k].batches[i].first_request] = logs[k].batches[i].noise;
    for (size_t i = 0; i < logs[2].batch_count; i++) {
        const struct batch_row *row = &logs[2].batches[i];
        const uint16_t kind = e->workload.functions[0].configurations[row->configuration].kind;
        assert_true(row->noise == noise[kind][row->first_request]);
        assert_absolute(
            log(noise[1][row->first_request]) / sqrt(log1p(0.16)) + sqrt(log1p(0.16)) / 2,
            log(noise[0][row->first_request]) / sqrt(log1p(0.01)) + sqrt(log1p(0.01)) / 2, 1e-6);
        seen[kind] = true;
    }
    assert_true(seen[0] && seen[1]);
}

/* A GPU of speed 0.5: what esg plans is what the batch takes. */
static sim_time_t planned, taken;

static bool take_decision(void *context, const struct decision_row *row, struct error *error)
{
    planned += row->plan_time_ns;
    return true;
}

static bool take_batch(void *context, const struct batch_row *row, struct error *error)
{
    taken += row->finished_ns - row->started_ns;
    return true;
}

CASE(a_plan_knows_the_speed_of_the_gpu)
{
    EXPERIMENT *e = load(WORLD(GROUP("1", GPU_A(",'speed':0.5")), "'A':" PROFILE_A, ONE_STAGE,
                               "{'process':'uniform','low_ms':1000,'high_ms':1000}",
                               "'policy':{'name':'esg'},'platform':{" CALM
                               "},'requests':20,'warmup_requests':0"));
    const struct recorder recorder = {.decision = take_decision, .batch = take_batch};
    double *values = NULL;
    const struct policy *policy = must(policy_resolve(e, &values, hear()));
    planned = taken = 0;
    assert_true(simulation_run(e, policy, values, &recorder, NULL, anew(), hear()));
    assert_true(taken >= 20 * 40 * SIM_MS); /* 20 ms at the least at speed 1 */
    assert_int_equal(planned, taken);
}

/* ---- Capacity -------------------------------------------------------------------------------- */

/* A serves 4 jobs at once of 40 ms, B 5 of 90 ms: 100 and 55.6 per second. */
CASE(capacities_of_kinds_add_up)
{
    EXPERIMENT *e = load(WORLD(ONE_OF_EACH, BOTH, ONE_STAGE, POISSON("1"), "'requests':1"));
    assert_absolute(capacity_find(&e->workload).rate_per_s, 4 / 0.04 + 5 / 0.09, 1e-9);
    /* x needs A and y needs B: half of the requests each. */
    EXPERIMENT *halves =
        load(WORLD(ONE_OF_EACH, ONLY_A "," ONLY_B, "[" ONLY("x", "f") "," ONLY("y", "g") "]",
                   POISSON("1"), "'requests':1"));
    assert_absolute(capacity_find(&halves->workload).rate_per_s, 2 * 5 / 0.09, 1e-9);
}

SUITE("kinds")
