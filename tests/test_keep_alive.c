/* Keep-alive policies: windows worked out by hand and by recomputation, evictions against naive
 * caches, cold starts against theory, every policy under several schedulers. */
#include "sched/policy_instances.h"
#include "sched/registry.h"
#include "tests/worlds.h"
#include "workloads/spec/keep_alive.h"

OWNER(sweep_free, struct sweep)

enum { DRAWS_MAX = 4000 };

/* ---- A module by itself ---------------------------------------------------------------------- */

/* A keep-alive of a workload of two functions, driven by hand. */
struct bench {
    const struct keep_alive *policy;
    struct experiment *experiment;
    struct arena *arena;
    void *state;
    struct idle_container container;
};

static double *value_of(const struct keep_alive *policy, double *values, const char *key)
{
    for (size_t i = 0; i < keys_count(policy->parameters); i++)
        if (strcmp(policy->parameters[i].name, key) == 0)
            return &values[i];
    fail_msg("%s has no parameter %s", policy->name, key);
    return NULL;
}

/* The cold start of f takes 300 ms, of g 200 ms. */
static struct bench bench_open(const char *name, const char *const *keys, const double *numbers)
{
    struct bench bench = {.policy = keep_alive_find(name), .experiment = load(diamond)};
    double values[KEEP_ALIVE_VALUES] = {0};
    assert_non_null(bench.policy);
    for (size_t i = 0; i < keys_count(bench.policy->parameters); i++)
        values[i] = bench.policy->parameters[i].fallback;
    for (size_t i = 0; i < keys_count(bench.policy->parameters); i++)
        if (strcmp(bench.policy->parameters[i].name, "bin_s") == 0)
            values[i] = 1; /* the worlds here last seconds */
    for (size_t i = 0; keys != NULL && keys[i] != NULL; i++)
        *value_of(bench.policy, values, keys[i]) = numbers[i];
    bench.arena = calloc(1, sizeof *bench.arena);
    assert_non_null(bench.arena);
    bench.state = arena_allocate(bench.arena, 1, bench.policy->state_bytes);
    void *parameters = arena_allocate(bench.arena, 1, bench.policy->parameters_bytes);
    assert_true(parameters_fill(bench.policy->parameters, values, "params", parameters, hear()));
    if (bench.policy->init != NULL)
        assert_true(bench.policy->init(bench.state, bench.arena, &bench.experiment->workload,
                                       parameters, hear()));
    return bench;
}

static void bench_close(struct bench *bench)
{
    arena_clear(bench->arena);
    free(bench->arena);
    experiment_free(bench->experiment);
}

#define BENCH CLOSED(bench_close) struct bench

/* Function 0 works from `from` to `to` on invoker 0; the windows of its container afterwards. */
static struct keep_windows bench_use(struct bench *bench, double from_s, double to_s)
{
    const sim_time_t from = sim_from_s(from_s), to = sim_from_s(to_s);
    bench->container = (struct idle_container){.idle_since = to};
    if (bench->policy->on_use != NULL)
        bench->policy->on_use(bench->state, 0, 0, from);
    return bench->policy->on_idle(bench->state, &bench->container, true, to);
}

static void assert_seconds(sim_time_t time, double seconds)
{
    if (fabs(sim_to_s(time) - seconds) > 1e-6)
        fail_msg("%.9f s in place of %.9f s", sim_to_s(time), seconds);
}

CASE(fixed_none_and_infinite_keep_as_they_say)
{
    BENCH fixed = bench_open("fixed", NULL, NULL);
    BENCH none = bench_open("none", NULL, NULL);
    BENCH infinite = bench_open("infinite", NULL, NULL);
    assert_seconds(bench_use(&fixed, 1, 2).keep_for, 600);
    assert_seconds(bench_use(&none, 1, 2).keep_for, 0);
    assert_true(bench_use(&infinite, 1, 2).keep_for == SIM_FOREVER);
}

/* ---- Hybrid histogram, by hand --------------------------------------------------------------- */

/* Batches of 0.5 s; idle times 10.2 ×2, 12.7 ×2 and 30.0: bins 10, 12, 30. Of five, the 5th
 * percentile is the 1st, the 99th the 5th: 10 s × 0.9 and 31 s × 1.1. */
CASE(the_windows_are_the_percentiles_with_their_margins)
{
    static const char *const keys[] = {"lead", NULL};
    static const double none[] = {1};
    BENCH letter = bench_open("hybrid-histogram", keys, none);
    BENCH ahead = bench_open("hybrid-histogram", NULL, NULL);
    static const double idle[] = {10.2, 12.7, 10.2, 30.0, 12.7};
    double now = 5;
    struct keep_windows windows = bench_use(&letter, now, now + 0.5);
    bench_use(&ahead, now, now + 0.5);
    for (size_t i = 0; i < 5; i++) {
        assert_seconds(windows.prewarm_after, 0);
        assert_seconds(windows.keep_for, 240); /* too few idle times: the range */
        now += 0.5 + idle[i];
        windows = bench_use(&letter, now, now + 0.5);
        const struct keep_windows led = bench_use(&ahead, now, now + 0.5);
        if (i == 4) {
            assert_seconds(windows.prewarm_after, 9);
            assert_seconds(windows.keep_for, 34.1);
            assert_seconds(led.prewarm_after, 8.7); /* a cold start takes 0.3 s */
            assert_seconds(led.keep_for, 34.1);
        }
    }
}

/* One idle time in each of 240 bins: all counts alike, variation 0. With 20 bins and 10 idle times
 * in bin 3, variation √19 = 4.36. */
CASE(counts_that_are_alike_tell_nothing)
{
    static const char *const keys[] = {"bins", "variation", NULL};
    static const double below[] = {20, 4.35}, above[] = {20, 4.37}, even[] = {240, 2};
    BENCH flat = bench_open("hybrid-histogram", keys, even);
    BENCH sure = bench_open("hybrid-histogram", keys, below);
    BENCH unsure = bench_open("hybrid-histogram", keys, above);
    double now = 0;
    struct keep_windows windows = {0};
    for (size_t i = 0; i <= 240; i++) {
        windows = bench_use(&flat, now, now);
        now += (double)i + 0.5;
    }
    assert_seconds(windows.prewarm_after, 0);
    assert_seconds(windows.keep_for, 240);
    struct keep_windows by_histogram = {0}, by_range = {0};
    for (size_t i = 0; i <= 10; i++) {
        by_histogram = bench_use(&sure, 3.5 * (double)i, 3.5 * (double)i);
        by_range = bench_use(&unsure, 3.5 * (double)i, 3.5 * (double)i);
    }
    assert_seconds(by_histogram.prewarm_after, 2.7 - 0.3);
    assert_seconds(by_histogram.keep_for, 4.4);
    assert_seconds(by_range.prewarm_after, 0);
    assert_seconds(by_range.keep_for, 20);
}

/* Idle times 300, 300, 300, 400, 5 s: four of five beyond 240 s. Smoothed with 0.3: 300, 300, 300,
 * 330, 232.5. */
CASE(idle_times_beyond_the_range_are_forecast)
{
    BENCH bench = bench_open("hybrid-histogram", NULL, NULL);
    static const double idle[] = {300, 300, 300, 400, 5};
    double now = 0;
    struct keep_windows windows = bench_use(&bench, now, now);
    for (size_t i = 0; i < 5; i++) {
        now += idle[i];
        windows = bench_use(&bench, now, now);
    }
    assert_seconds(windows.prewarm_after, 0.85 * 232.5 - 0.3);
    assert_seconds(windows.keep_for, 1.15 * 232.5);
}

/* Two batches overlap: the second ends no idle time but counts one of 0; the container that falls
 * idle first stays, the other goes; one whose time is up stays as long as the function is in use.
 */
CASE(a_function_in_use_keeps_all_its_containers)
{
    BENCH bench = bench_open("hybrid-histogram", NULL, NULL);
    const struct keep_alive *policy = bench.policy;
    const struct idle_container container = {0};
    for (size_t i = 0; i < 100; i++)
        bench_use(&bench, 10.5 * (double)i, 10.5 * (double)i);
    policy->on_use(bench.state, 0, 0, sim_from_s(1050));
    policy->on_use(bench.state, 0, 0, sim_from_s(1051));
    struct keep_windows windows = policy->on_idle(bench.state, &container, true, sim_from_s(1052));
    assert_seconds(windows.prewarm_after, 0);
    assert_seconds(windows.keep_for, 12.1);
    assert_seconds(policy->on_expiry(bench.state, &container, sim_from_s(1060)), 12.1);
    windows = policy->on_idle(bench.state, &container, true, sim_from_s(1062));
    assert_seconds(windows.prewarm_after, 9 - 0.3); /* 100 of 101 idle times in bin 10 */
    assert_seconds(policy->on_expiry(bench.state, &container, sim_from_s(1064.1)), 10);
    assert_true(policy->on_expiry(bench.state, &container, sim_from_s(1074.1)) <= 0);
}

/* ---- Histograms, recomputed ------------------------------------------------------------------ */

static int compare_times(const void *a, const void *b)
{
    const sim_time_t x = *(const sim_time_t *)a, y = *(const sim_time_t *)b;
    return (x > y) - (x < y);
}

/* Head and tail in seconds of the idle times within 240 bins of 1 s, from the sorted times; false
 * where none is. */
static bool naive_window(const sim_time_t *idle, size_t count, double window[2])
{
    OWNED(free) sim_time_t *sorted = must(malloc((count + 1) * sizeof *sorted));
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (idle[i] < 240 * SIM_S)
            sorted[n++] = idle[i];
    qsort(sorted, n, sizeof *sorted, compare_times);
    if (n > 0) {
        size_t head = (size_t)ceil(0.05 * (double)n), tail = (size_t)ceil(0.99 * (double)n);
        window[0] = floor(sim_to_s(sorted[head - 1])) * 0.9;
        window[1] = (floor(sim_to_s(sorted[tail - 1])) + 1) * 1.1;
    }
    return n > 0;
}

static double naive_variation(const sim_time_t *idle, size_t count)
{
    double counts[240] = {0}, mean = 0, squares = 0;
    for (size_t i = 0; i < count; i++)
        if (idle[i] < 240 * SIM_S)
            counts[idle[i] / SIM_S]++;
    for (size_t b = 0; b < 240; b++)
        mean += counts[b] / 240;
    for (size_t b = 0; b < 240; b++)
        squares += (counts[b] - mean) * (counts[b] - mean) / 240;
    return sqrt(squares) / mean;
}

/* A fresh idle time: mixtures around a few places, some beyond the range. */
static double draw_idle(gsl_rng *rng, unsigned kind)
{
    const double u = gsl_rng_uniform(rng);
    if (kind == 0)
        return 15 + 3 * u;
    if (kind == 1)
        return u < 0.4 ? 300 * gsl_rng_uniform(rng) + 200 : 60 * u;
    if (kind == 2)
        return 239 * u;
    return u < 0.7 ? 250 + 500 * u : 100 * u;
}

CASE(hybrid_windows_equal_a_recomputation)
{
    unsigned seen[3] = {0};
    for (unsigned kind = 0; kind < 4; kind++) {
        RANDOM_STREAM(stream, 12, RANDOM_TEST, kind, 1);
        BENCH bench = bench_open("hybrid-histogram", NULL, NULL);
        static sim_time_t idle[DRAWS_MAX];
        double now = 0, forecast = -1;
        for (size_t n = 0; n < 600; n++) {
            const struct keep_windows windows = bench_use(&bench, now, now);
            size_t beyond = 0;
            for (size_t i = 0; i < n; i++)
                beyond += idle[i] >= 240 * SIM_S;
            double expected[2] = {0, 240}, window[2];
            if (n >= 5 && 2 * beyond > n) {
                expected[0] = 0.85 * forecast;
                expected[1] = 1.15 * forecast;
                seen[0]++;
            } else if (n >= 5 && naive_window(idle, n, window) && naive_variation(idle, n) >= 2) {
                memcpy(expected, window, sizeof expected);
                seen[1]++;
            } else {
                seen[2]++;
            }
            assert_seconds(windows.prewarm_after, fmax(0, expected[0] - 0.3));
            assert_seconds(windows.keep_for, expected[1]);
            const sim_time_t before = sim_from_s(now);
            now += draw_idle(&stream.rng, kind);
            idle[n] = sim_from_s(now) - before;
            const double x = sim_to_s(idle[n]);
            forecast = forecast < 0 ? x : forecast + 0.3 * (x - forecast);
        }
    }
    assert_true(seen[0] > 100 && seen[1] > 100 && seen[2] > 100);
}

CASE(lsth_mixes_the_windows_of_both_memories)
{
    static const char *const keys[] = {"long_samples", "short_samples", "gamma", NULL};
    static const double numbers[] = {90, 17, 0.3};
    for (unsigned kind = 0; kind < 3; kind++) {
        RANDOM_STREAM(stream, 13, RANDOM_TEST, kind, 1);
        BENCH bench = bench_open("lsth", keys, numbers);
        static sim_time_t idle[DRAWS_MAX];
        double now = 0;
        for (size_t n = 0; n < 400; n++) {
            const struct keep_windows windows = bench_use(&bench, now, now);
            double expected[2] = {0, 240}, longer[2], shorter[2];
            const size_t l = n < 90 ? n : 90, s = n < 17 ? n : 17;
            if (n >= 5 && naive_window(idle + n - s, s, shorter) &&
                naive_window(idle + n - l, l, longer))
                for (size_t i = 0; i < 2; i++)
                    expected[i] = 0.3 * longer[i] + 0.7 * shorter[i];
            assert_seconds(windows.prewarm_after, fmax(0, expected[0] - 0.3));
            assert_seconds(windows.keep_for, expected[1]);
            const sim_time_t before = sim_from_s(now);
            now += draw_idle(&stream.rng, kind);
            idle[n] = sim_from_s(now) - before;
        }
    }
}

/* ---- In the simulator ------------------------------------------------------------------------ */

#define BY_SECONDS "{'name':'hybrid-histogram','params':{'bin_s':1}}"

static struct experiment *load_kept(const char *json, const char *keep_alive)
{
    return load_with(json, keep_alive != NULL ? "platform.keep_alive" : NULL, keep_alive);
}

/* Runs the experiment, which it frees, under the policy. */
static void run_experiment(struct experiment *experiment, const struct policy *policy,
                           struct log *log, struct simulation_result *result)
{
    const struct recorder recorder = log_recorder(log);
    assert_non_null(policy);
    OWNED(free) double *values = policy_values(policy, NULL, 0);
    memset(log, 0, sizeof *log);
    if (!simulation_run(experiment, policy, values, &recorder, NULL, result, hear()))
        fail_msg("%s: %s", policy->name, heard.message);
    experiment_free(experiment);
}

static void run_kept(const char *json, const char *keep_alive, const char *policy, struct log *log,
                     struct simulation_result *result)
{
    run_experiment(load_kept(json, keep_alive), policy_find(policy, NULL), log, result);
}

/* One function that takes `service_ms` and starts in `cold_ms`, room for a thousand; `world` says
 * when requests come. A vCPU costs 0.001 $/s. */
static struct experiment *load_single(struct world world, double service_ms, double cold_ms,
                                      const char *keep_alive)
{
    char *latency = formatted("[[%g]]", service_ms);
    world.vcpus = 1000;
    world.memory_mb = 1024000;
    world.functions[0] = (struct world_function){"f", "1", "1", "0", latency, 0, cold_ms, 0};
    world.applications = "a: a=f";
    world.slo_factor = 100;
    world.platform = "'initial':'cold'";
    world.seed = 5;
    return load_kept(world_build(&world), keep_alive);
}

static void run_single(struct world world, double service_ms, double cold_ms,
                       const char *keep_alive, struct log *log, struct simulation_result *result)
{
    run_experiment(load_single(world, service_ms, cold_ms, keep_alive), policy_find("fifo", NULL),
                   log, result);
}

/* Poisson arrivals, service next to nothing: a container is gone where the interval was longer than
 * its time, which has probability exp(-rate × time). */
CASE(poisson_cold_starts_are_as_in_theory)
{
    const struct world world = {.rate_per_s = 0.7, .requests = ROWS_MAX - 1};
    for (unsigned ttl = 1; ttl <= 3; ttl++) {
        char *keep = formatted("{'name':'fixed','params':{'ttl_s':%u}}", ttl);
        run_single(world, 0.001, 0, keep, log_one(), anew());
        const double p = exp(-0.7 * ttl), n = world.requests;
        assert_true(fabs((double)result.run.cold_starts / n - p) < 4 * sqrt(p * (1 - p) / n));
    }
}

CASE(without_keep_alive_every_job_is_cold)
{
    run_single((struct world){.rate_per_s = 20, .requests = 500}, 40, 100, "none", &rows, anew());
    assert_true(result.overall.cold_start_rate == 1);
    assert_int_equal(result.run.cold_starts, rows.batch_count);
    assert_true(result.run.cost_idle_usd == 0);
}

/* A container for each batch in excess of what there was at once before. */
CASE(kept_for_ever_only_more_concurrency_starts_cold)
{
    run_single((struct world){.rate_per_s = 60, .requests = 2000}, 40, 100, "infinite", &rows,
               anew());
    size_t most = 0;
    for (size_t i = 0; i < rows.batch_count; i++) {
        size_t at_once = 0; /* those that hold a container as batch i is dispatched, itself too */
        for (size_t k = 0; k < rows.batch_count; k++)
            at_once += rows.batches[k].dispatched_ns <= rows.batches[i].dispatched_ns &&
                       rows.batches[k].finished_ns > rows.batches[i].dispatched_ns;
        most = at_once > most ? at_once : most;
    }
    assert_true(most > 5);
    assert_int_equal(result.run.cold_starts, most);
    assert_int_equal(result.run.evictions, 0);
}

/* Requests 20 s apart, 0.1 s each, the first behind a cold start of 1 s: idle times 18.9 and
 * 19.9 s. From the sixth on the window is 18 × 0.9 = 16.2 s to 22 s: the container goes and a new
 * one starts 15.2 s after, 4.7 s before the next request. It goes with the last batch. */
CASE(a_container_goes_and_comes_back_ahead_of_the_next_request)
{
    static const struct {
        unsigned regular; /* requests 20 s apart */
        const char *then; /* further ones */
        const char *cold; /* of all requests, 'c': behind a cold start */
        unsigned prewarms;
        double idle_s;
    } cases[] = {
        {20, "", "c...................", 14, 18.9 + 4 * 19.9 + 14 * 4.7},
        /* Nobody uses the container that comes back at 155.3 s. It goes as its window ends, at
         * 140.1 + 22 = 162.1 s. The request at 200 s is cold. */
        {8, "200000,a\n", "c.......c", 3, 18.9 + 4 * 19.9 + 2 * 4.7 + 6.8},
        /* A request comes while its container is away: cold, and the plan to start one at 155.3 s
         * is void. The window then opens at 9 × 0.9 - 1 = 7.1 s: the request at 157 s, 5.9 s after
         * the last has ended, is cold too. */
        {8, "150000,a\n157000,a\n", "c.......cc", 2, 18.9 + 4 * 19.9 + 2 * 4.7},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        TRACE_FILE(trace, path);
        for (unsigned i = 0; i < cases[c].regular; i++)
            fprintf(trace, "%u,a\n", 20000 * i);
        fputs(cases[c].then, trace);
        assert_int_equal(fclose(trace), 0);
        const size_t count = strlen(cases[c].cold);
        run_single((struct world){.trace = path, .requests = (unsigned)count}, 100, 1000,
                   BY_SECONDS, &rows, anew());
        unsigned cold = 0;
        assert_int_equal(rows.batch_count, count);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(rows.batches[i].cold, cases[c].cold[i] == 'c');
            cold += rows.batches[i].cold;
        }
        assert_int_equal(result.run.cold_starts, cold);
        assert_int_equal(result.run.prewarms, cases[c].prewarms);
        /* All go: those that start for a request and those that start ahead. */
        assert_int_equal(result.run.evictions, cold + cases[c].prewarms);
        assert_true(fabs(result.run.cost_idle_usd - 0.001 * cases[c].idle_s) < 1e-9);
    }
    assert_int_equal(rows.batches[9].started_ns, 158 * SIM_S); /* of the last case */
}

static struct keep_windows back_for_ever(void *state, const struct idle_container *container,
                                         bool used, sim_time_t now)
{
    return (struct keep_windows){.prewarm_after = 2 * SIM_S, .keep_for = SIM_FOREVER};
}

/* The container goes at once, comes back 2 s later and stays: the request 100 s on is warm. */
CASE(a_container_may_come_back_for_ever)
{
    static const struct keep_alive keep_alive_policy = {.name = "back-for-ever",
                                                        .on_idle = back_for_ever};
    struct experiment *experiment = load_single(
        (struct world){.every_ms = {100000, 100000}, .requests = 3}, 100, 1000, "infinite");
    experiment->platform.keep_alive_policy = &keep_alive_policy;
    run_experiment(experiment, policy_find("fifo", NULL), log_one(), anew());
    assert_int_equal(result.run.cold_starts, 1);
    assert_int_equal(result.run.prewarms, 2);
}

/* Makes an instance and gives it up before it has started, then dispatches like the simplest. */
static bool wasteful_decide(void *state, struct platform *platform)
{
    bool *wasted = state;
    if (platform_queue_length(platform, 0) == 0)
        return false;
    if (!*wasted) {
        const uint32_t instance =
            platform_create(platform, &(struct instance_request){0, 0, 100, 0, SIM_NONE});
        assert_int_not_equal(instance, SIM_NONE);
        assert_true(platform_kill(platform, instance));
        *wasted = true;
    }
    assert_true(platform_dispatch(platform, 0, 1, 0, 0));
    return false;
}

/* The instance counts as used for no time: an idle time of 0 ends as the first batch starts. With
 * the 20th percentile for head it is outvoted by the sixth, and windows open. Were the instance
 * still thought to work, no container would ever go. */
CASE(an_instance_given_up_at_once_does_not_count_as_working)
{
    POLICY(wasteful, .state_bytes = sizeof(bool), .decide = wasteful_decide);
    run_experiment(load_single((struct world){.every_ms = {20000, 20000}, .requests = 20}, 100,
                               1000, "{'name':'hybrid-histogram','params':{'bin_s':1,'head':20}}"),
                   &wasteful, log_one(), anew());
    assert_true(result.run.prewarms >= 10);
}

/* ---- Caches ---------------------------------------------------------------------------------- */

enum { FUNCTIONS = 8, ACCESSES = 1200 };

/* What a sequence of accesses meets: one server, one access at a time. */
struct cache {
    double size[FUNCTIONS], cost[FUNCTIONS];
    double capacity;
    unsigned accesses[ACCESSES];
    size_t count;
};

enum naive_rule { NAIVE_GREEDY_DUAL, NAIVE_LRU, NAIVE_FREQ, NAIVE_SIZE, NAIVE_LANDLORD };

static double naive_priority(const struct cache *cache, enum naive_rule rule, unsigned f,
                             double stamp, double used, double frequency)
{
    return rule == NAIVE_LRU           ? used
           : rule == NAIVE_FREQ        ? stamp + frequency * cache->cost[f]
           : rule == NAIVE_SIZE        ? stamp + frequency / cache->size[f]
           : rule == NAIVE_GREEDY_DUAL ? stamp + frequency * cache->cost[f] / cache->size[f]
                                       : 0;
}

/* The rules as their papers state them; landlord by charging rent in so many words. Returns how far
 * it is certain: up to the first choice between two whose credits differ by rounding alone. */
static size_t naive_run(const struct cache *cache, enum naive_rule rule, bool *miss)
{
    bool in[FUNCTIONS] = {false};
    double stamp[FUNCTIONS] = {0}, used[FUNCTIONS + 1] = {0}, frequency[FUNCTIONS] = {0};
    double credit[FUNCTIONS] = {0}, clock = 0, free = cache->capacity;
    size_t certain = cache->count;
    for (size_t i = 0; i < cache->count; i++) {
        const unsigned f = cache->accesses[i];
        miss[i] = !in[f];
        while (!in[f] && free < cache->size[f]) {
            unsigned victim = FUNCTIONS;
            double lowest = INFINITY, next = INFINITY;
            for (unsigned g = 0; g < FUNCTIONS; g++) {
                double p = rule == NAIVE_LANDLORD
                               ? credit[g] / cache->size[g]
                               : naive_priority(cache, rule, g, stamp[g], used[g], frequency[g]);
                if (in[g] && (p < lowest || (p == lowest && used[g] < used[victim]))) {
                    next = lowest;
                    lowest = p;
                    victim = g;
                } else if (in[g] && p < next) {
                    next = p;
                }
            }
            if (rule == NAIVE_LANDLORD && next - lowest < 1e-9 && certain == cache->count)
                certain = i;
            for (unsigned g = 0; g < FUNCTIONS && rule == NAIVE_LANDLORD; g++)
                credit[g] -= in[g] ? lowest * cache->size[g] : 0;
            in[victim] = false;
            free += cache->size[victim];
            frequency[victim] = 0;
            clock = lowest;
        }
        free -= in[f] ? 0 : cache->size[f];
        in[f] = true;
        frequency[f]++;
        stamp[f] = clock;
        used[f] = (double)i;
        credit[f] = cache->cost[f];
    }
    return certain;
}

static void cache_draw(struct cache *cache, uint64_t number, bool alike)
{
    RANDOM_STREAM(stream, 77, RANDOM_TEST, number, 3);
    gsl_rng *rng = &stream.rng;
    double largest = 0, sum = 0;
    for (unsigned f = 0; f < FUNCTIONS; f++) {
        cache->size[f] = alike ? 100 : (double)(64 + 32 * gsl_rng_uniform_int(rng, 29));
        cache->cost[f] = (double)(50 + gsl_rng_uniform_int(rng, 2000));
        largest = cache->size[f] > largest ? cache->size[f] : largest;
        sum += cache->size[f];
    }
    cache->capacity = ceil(largest + (sum - largest) * (0.1 + 0.6 * gsl_rng_uniform(rng)));
    cache->count = ACCESSES / 3;
    for (size_t i = 0; i < cache->count; i++) { /* popular ones, and a drift */
        const unsigned first = (unsigned)gsl_rng_uniform_int(rng, FUNCTIONS);
        const unsigned second = (unsigned)gsl_rng_uniform_int(rng, FUNCTIONS);
        cache->accesses[i] = ((first < second ? first : second) + (unsigned)(i / 150)) % FUNCTIONS;
    }
}

/* Accesses 10 s apart, in a file named by `path`, a mkstemp template. */
static void cache_trace(const struct cache *cache, char *path)
{
    FILE *trace = trace_begin(path);
    for (size_t i = 0; i < cache->count; i++)
        fprintf(trace, "%zu,a%u\n", 10000 * i, cache->accesses[i]);
    assert_int_equal(fclose(trace), 0);
}

/* The cache as an experiment, with batches of 1 ms. What is scarce is host memory, or the GPU's. */
static void cache_world(const struct cache *cache, bool gpu, const char *path, char *json,
                        size_t size)
{
    FILE *text = must(fmemopen(json, size, "w"));
    fprintf(text,
            "{'cluster':{'invokers':[{'count':1,'vcpus':4,'memory_mb':%g,'gpus':["
            "{'model':'test','sharing':'mps','units':4,'memory_mb':%g}]}]},",
            gpu ? 1e6 : cache->capacity, gpu ? cache->capacity : 1e6);
    fputs("'functions':{'functions':[", text);
    for (unsigned f = 0; f < FUNCTIONS; f++)
        fprintf(text,
                "%s{'name':'f%u','host_memory_mb':%g,'gpu_memory_mb':{'weights':%g,"
                "'per_item':0},'cold_start_ms':%g,'service':{'distribution':'constant',"
                "'mean_ms':1},'configuration':{'batch':1,'vcpu':1,'vgpu':1}}",
                f == 0 ? "" : ",", f, gpu ? 1 : cache->size[f], gpu ? cache->size[f] : 1,
                cache->cost[f]);
    fputs("]},'applications':[", text);
    for (unsigned f = 0; f < FUNCTIONS; f++)
        fprintf(text, "%s{'name':'a%u','stages':[{'name':'s','function':'f%u'}]}",
                f == 0 ? "" : ",", f, f);
    fprintf(text,
            "],'arrivals':{'process':'trace','file':'%s'},'slo':{'factor':100},"
            "'platform':{'prewarm':'none','initial':'cold'},'requests':%zu,"
            "'warmup_requests':0}",
            path, cache->count);
    assert_int_equal(fclose(text), 0);
    json_requote(json);
}

/* Which accesses start cold in the simulator. */
static void cache_run(const struct cache *cache, bool gpu, const char *keep_alive, struct log *log,
                      bool *miss)
{
    static char json[2 * WORLD_BYTES];
    CLOSED(unlink_owned) char path[] = "/tmp/esgsim-trace-XXXXXX";
    cache_trace(cache, path);
    cache_world(cache, gpu, path, json, sizeof json);
    run_kept(json, keep_alive, "fifo", log, anew());
    assert_int_equal(log->batch_count, cache->count);
    for (size_t i = 0; i < cache->count; i++)
        miss[i] = log->batches[i].cold;
}

CASE(evictions_are_those_of_a_naive_cache)
{
    static const char *const rules[] = {"greedy-dual", "lru", "freq", "size", "landlord"};
    static bool expected[ACCESSES], found[ACCESSES];
    OWNED(free) struct cache *cache = must(calloc(1, sizeof *cache));
    size_t misses[5] = {0}, compared = 0;
    for (uint64_t number = 0; number < 12; number++) {
        cache_draw(cache, number, false);
        for (unsigned rule = 0; rule < 5; rule++) {
            const bool gpu = number % 2 == 0;
            char *keep = formatted("{'name':'greedy-dual','params':{'variant':'%s','size':'%s'}}",
                                   rules[rule],
                                   number % 4 > 1 ? "scarce"
                                   : gpu          ? "gpu"
                                                  : "host");
            const size_t certain = naive_run(cache, (enum naive_rule)rule, expected);
            compared += certain;
            cache_run(cache, gpu, keep, &rows, found);
            for (size_t i = 0; i < certain; i++) {
                if (expected[i] != found[i])
                    fail_msg("cache %u, %s: access %zu", (unsigned)number, rules[rule], i);
                misses[rule] += found[i];
            }
        }
    }
    assert_true(compared > 12 * 4 * ACCESSES / 3);
    for (unsigned a = 0; a < 5; a++) /* the rules differ, so the test tells them apart */
        for (unsigned b = 0; b < a; b++)
            assert_int_not_equal(misses[a], misses[b]);
}

/* Mattson's inclusion: with containers of one size, what LRU finds in a small memory it finds in
 * any larger one. The search by rank and the list without one agree. */
CASE(more_memory_never_costs_lru_a_hit)
{
    static bool smaller[ACCESSES], larger[ACCESSES], listed[ACCESSES];
    OWNED(free) struct cache *cache = must(calloc(1, sizeof *cache));
    size_t gained = 0;
    for (uint64_t number = 0; number < 3; number++) {
        cache_draw(cache, number, true);
        for (unsigned places = 1; places <= FUNCTIONS; places++) {
            cache->capacity = 100 * places;
            cache_run(cache, false, "{'name':'greedy-dual','params':{'variant':'lru'}}", &rows,
                      larger);
            cache_run(cache, false, "infinite", &rows, listed);
            for (size_t i = 0; i < cache->count; i++) {
                assert_int_equal(larger[i], listed[i]);
                assert_true(places == 1 || smaller[i] || !larger[i]);
                gained += places > 1 && smaller[i] && !larger[i];
            }
            memcpy(smaller, larger, sizeof smaller);
        }
    }
    assert_true(gained > 100);
}

/* ---- Under any scheduler --------------------------------------------------------------------- */

static const char *const keep_alives[] = {
    "none",
    "{'name':'fixed','params':{'ttl_s':0.4}}",
    "infinite",
    "{'name':'hybrid-histogram','params':{'bin_s':0.05,'min_samples':1,'lead':"
    "'none'}}",
    "{'name':'lsth','params':{'bin_s':0.02,'min_samples':2,'short_samples':5,"
    "'long_samples':20}}",
    "{'name':'hybrid-histogram','params':{'bin_s':0.001,'bins':5,'min_samples':1}}",
    "greedy-dual",
    "{'name':'greedy-dual','params':{'variant':'freq','ttl_s':0.3,'size':'host'}}",
};
enum { KEEP_ALIVES = sizeof keep_alives / sizeof *keep_alives };

/* Capacity and the release of everything are the simulator's invariants: a run that breaks one
 * fails. */
CASE(every_keep_alive_works_under_every_scheduler)
{
    static const char *const policies[] = {"esg", "least-loaded", "openwhisk", "clockwork"};
    struct log *log = calloc(1, sizeof *log), *again = calloc(1, sizeof *again);
    assert_non_null(log);
    assert_non_null(again);
    uint64_t prewarms = 0, evictions = 0;
    for (uint64_t number = 0; number < 6; number++) {
        char *json = world_random(number, false);
        for (size_t p = 0; p < 4; p++) {
            for (size_t k = 0; k < KEEP_ALIVES; k++) {
                RESULT second = {0};
                run_kept(json, keep_alives[k], policies[p], log, anew());
                run_kept(json, keep_alives[k], policies[p], again, &second);
                world_check_conserved(log, &result, 400);
                assert_same_rows(log, again);
                assert_memory_equal(&result.run, &second.run, sizeof result.run);
                if (k == 0 && result.run.prewarms == 0)
                    assert_true(result.overall.cold_start_rate == 1);
                prewarms += result.run.prewarms;
                evictions += result.run.evictions;
            }
        }
    }
    assert_true(prewarms > 100 && evictions > 1000);
    free(log);
    free(again);
}

/* ---- Which one is in force ------------------------------------------------------------------- */

static sim_time_t keep_nothing(void *state, struct platform *platform, uint32_t function,
                               uint32_t invoker)
{
    return 0;
}

static uint64_t evictions_under(const struct policy *policy, const char *keep_alive)
{
    run_experiment(load_kept(diamond, keep_alive), policy, log_one(), anew());
    return result.run.evictions;
}

CASE(a_named_keep_alive_goes_before_the_schedulers_own)
{
    struct policy own = *policy_find("fifo", NULL);
    const uint64_t pressed = evictions_under(&own, "infinite");
    const uint64_t always = evictions_under(&own, "none");
    own.keep_alive = keep_nothing;
    assert_true(always > pressed + 100);
    assert_int_equal(evictions_under(&own, NULL), always);
    assert_int_equal(evictions_under(&own, "infinite"), pressed);
}

static bool resolves_to(const char *keep_alive, const char *part)
{
    EXPERIMENT *experiment = load_kept(diamond, keep_alive);
    char *json = formatted("%s", part);
    const bool found = strstr(experiment->resolved_json, json_requote(json)) != NULL;
    return found;
}

CASE(the_resolved_experiment_tells_name_and_every_parameter)
{
    assert_true(resolves_to(NULL, "'keep_alive_s':600"));
    assert_false(resolves_to(NULL, "'keep_alive':"));
    assert_true(resolves_to("none", "'keep_alive':{'name':'none','params':{}}"));
    assert_false(resolves_to("none", "keep_alive_s"));
    assert_true(resolves_to("{'name':'greedy-dual','params':{'variant':'size'}}",
                            "'keep_alive':{'name':'greedy-dual','params':{'size':'scarce',"
                            "'ttl_s':0,'variant':'size'}}"));
}

/* "fixed" takes its time from keep_alive_s, and does what the platform does unnamed. */
CASE(fixed_is_what_keep_alive_s_says)
{
    struct log *log = calloc(1, sizeof *log), *named = calloc(1, sizeof *named);
    assert_non_null(log);
    assert_non_null(named);
    static const char *const times[] = {"0", "0.3", "600", "'infinite'"};
    for (size_t i = 0; i < 4; i++) {
        RESULT second = {0};
        char *json = world_copy(diamond);
        world_replace(json, "'prewarm'", formatted("'keep_alive_s':%s,'prewarm'", times[i]));
        run_kept(json, NULL, "esg", log, anew());
        run_kept(json, "fixed", "esg", named, &second);
        assert_same_rows(log, named);
        assert_memory_equal(&result.run, &second.run, sizeof result.run);
    }
    free(log);
    free(named);
}

CASE(every_module_is_found_and_its_table_is_sound)
{
    const struct keep_alive *policy = NULL;
    size_t count = 0;
    for (; (policy = keep_alive_at(count)) != NULL; count++) {
        assert_ptr_equal(keep_alive_find(policy->name), policy);
        assert_non_null(policy->on_idle);
        assert_non_null(policy->summary);
        assert_true(keys_count(policy->parameters) <= KEEP_ALIVE_VALUES);
        assert_true(parameters_check(policy->parameters, policy->parameters_bytes, "x", NULL));
        for (size_t i = 0; i < keys_count(policy->parameters); i++)
            assert_non_null(policy->parameters[i].help);
    }
    assert_true(count >= 6);
    assert_null(keep_alive_find("eternal"));
}

CASE(the_settings_of_the_shipped_sweep_name_their_keep_alive)
{
    OWNED(sweep_free)
    struct sweep *sweep =
        must(sweep_load("workloads/experiments/keep-alive.json", NULL, 0, hear()));
    assert_string_equal(sweep->runs[0].label, "setting=none policy.name=esg");
    EXPERIMENT *experiment = must(sweep_experiment(sweep, sweep->run_count - 1, hear()));
    assert_string_equal(experiment->platform.keep_alive_policy->name, "greedy-dual");
}

SUITE("keep_alive")
