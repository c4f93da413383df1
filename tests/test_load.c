/* The capacity of a cluster and the key `load` of arrivals: against values computed by hand, the
 * loads of queueing theory, and the utilisation law. */
#include "tests/fixture_simulation.h"
#include "workloads/sweep/sweep.h"
#include "workloads/world/capacity.h"

OWNER(sweep_free, struct sweep)

/* Applications x (weight 3: f, then g) and y (weight 1: g). f takes 40 ms at 1 vCPU and 1 unit, g
 * 10 ms at 2 vCPUs and 3 units; larger configurations are faster and must not count. */
#define WORLD(cluster, arrivals)                                                                   \
    "{\"cluster\":{\"invokers\":[" cluster "]},"                                                   \
    "\"profile\":{\"device\":\"test\",\"evidence\":\"assumed\",\"source\":\"test\","               \
    "\"licence\":\"none\",\"unit\":7,\"functions\":{"                                              \
    "\"f\":{\"grid\":{\"batch\":[1,2],\"vcpu\":[1,4],\"vgpu\":[1,7]},"                             \
    "\"latency_ms\":[[[40,9],[30,8]],[[50,12],[45,11]]],"                                          \
    "\"cold_start_ms\":{\"mean\":0},\"gpu_memory_mb\":{\"weights\":1,\"per_item\":1}},"            \
    "\"g\":{\"grid\":{\"batch\":[1],\"vcpu\":[2,4],\"vgpu\":[3]},\"latency_ms\":[[[10],[6]]],"     \
    "\"cold_start_ms\":{\"mean\":0},\"gpu_memory_mb\":{\"weights\":1,\"per_item\":1}}},"           \
    "\"interference\":{\"model\":\"none\"}},"                                                      \
    "\"applications\":["                                                                           \
    "{\"name\":\"x\",\"weight\":3,\"stages\":[{\"name\":\"s\",\"function\":\"f\"},"                \
    "{\"name\":\"t\",\"function\":\"g\",\"after\":[\"s\"]}]},"                                     \
    "{\"name\":\"y\",\"stages\":[{\"name\":\"s\",\"function\":\"g\"}]}],"                          \
    "\"policy\":{\"name\":\"min-config\"},\"arrivals\":" arrivals ",\"seed\":5,"                   \
    "\"platform\":{\"prewarm\":\"none\",\"transfer\":{\"latency_ms\":0,"                           \
    "\"bandwidth_gbps\":1000000000}},\"requests\":15000,\"warmup_requests\":1000}"

#define INVOKERS(count, vcpus, speed)                                                              \
    "{\"count\":" count ",\"vcpus\":" vcpus ",\"memory_mb\":1000000,\"gpus\":[{\"sharing\":"       \
    "\"mps\",\"units\":7,\"memory_mb\":40000,\"speed\":" speed "}]}"
#define POISSON(load) "{\"process\":\"poisson\",\"load\":" load "}"

static struct capacity capacity_in(const char *json)
{
    EXPERIMENT *experiment = load(json);
    const struct capacity capacity = capacity_find(&experiment->workload);
    return capacity;
}

CASE(the_capacity_is_that_of_the_resource_that_is_busy_first)
{
    /* Per request 0.75 × 40 ms × 1 + 10 ms × 3 = 60 unit-ms and 0.75 × 40 × 1 + 10 × 2 = 50
     * vCPU-ms. */
    struct capacity capacity = capacity_in(WORLD(INVOKERS("4", "16", "1"), POISSON("1")));
    assert_relative(capacity.gpu_unit_s, 0.060, 1e-12);
    assert_relative(capacity.vcpu_s, 0.050, 1e-12);
    assert_relative(capacity.gpu_units, 28, 1e-12);
    assert_relative(capacity.vcpus, 64, 1e-12);
    assert_relative(capacity.rate_per_s, 28 / 0.060, 1e-12);
    assert_string_equal(capacity.limiting, "GPU units");
    capacity = capacity_in(WORLD(INVOKERS("4", "4", "1"), POISSON("1")));
    assert_relative(capacity.rate_per_s, 16 / 0.050, 1e-12);
    assert_string_equal(capacity.limiting, "vCPUs");
}

CASE(a_gpu_of_twice_the_speed_counts_twice)
{
    struct capacity capacity =
        capacity_in(WORLD(INVOKERS("1", "16", "1") "," INVOKERS("2", "16", "2"), POISSON("1")));
    assert_relative(capacity.gpu_units / capacity.gpu_unit_s, 35 / 0.060, 1e-12);
    assert_relative(capacity.vcpus / capacity.vcpu_s, (16 + 2 * 16 * 2) / 0.050, 1e-12);
    assert_relative(capacity.rate_per_s, 35 / 0.060, 1e-12);
}

/* Poisson arrivals at the load that queueing theory calls ρ have the rates of the experiments,
 * written down long before the key. In tandem the 2 vCPUs serve both stages, of loads 0.8 and 0.64.
 */
/* WORLD with these SLOs. */
static struct experiment *load_with_slo(const char *slo)
{
    char *text = strdup(WORLD(INVOKERS("4", "16", "1"), POISSON("0.5"))), *json = NULL;
    char *rest = must(strstr(text, "\"policy\""));
    *rest = '\0';
    assert_true(
        asprintf(&json, "%s\"slo\":%s,\"policy\"%s", text, slo, rest + strlen("\"policy\"")) > 0);
    struct experiment *experiment = load(json);
    free(text);
    free(json);
    return experiment;
}

/* f at 7 units: 9 ms at 1 vCPU, 8 at 4. g has no such configuration, so its minimum counts. */
CASE(slo_and_load_are_relative_to_the_references)
{
    EXPERIMENT *plain = load_with_slo("{\"factor\":2}");
    EXPERIMENT *whole = load_with_slo("{\"factor\":2,\"reference\":{\"vgpu\":7}}");
    EXPERIMENT *four = load_with_slo("{\"factor\":2,\"reference\":{\"vcpu\":4,\"vgpu\":7}}");
    assert_int_equal(plain->workload.applications[0].slo, 2 * (40 + 10) * SIM_MS);
    assert_int_equal(whole->workload.applications[0].slo, 2 * (9 + 10) * SIM_MS);
    assert_int_equal(four->workload.applications[0].slo, 2 * (8 + 10) * SIM_MS);
    const struct capacity capacity = capacity_find(&whole->workload);
    assert_relative(capacity.gpu_unit_s, 0.75 * 0.009 * 7 + 0.010 * 3, 1e-12);
    assert_relative(whole->arrivals.rate_per_s, 0.5 * capacity.rate_per_s, 1e-12);
    assert_true(capacity.is_referred && !capacity_find(&plain->workload).is_referred);
    /* The minimum, which policies take, stays. */
    assert_int_equal(whole->workload.functions[0].minimum_configuration,
                     plain->workload.functions[0].minimum_configuration);
    assert_null(strstr(plain->resolved_json, "reference"));
    assert_contains(whole->resolved_json, "\"reference\":{\"vgpu\":7}");
    assert_string_not_equal(whole->hash, plain->hash);
}

CASE(the_load_of_the_theory_experiments_is_theirs)
{
    static const struct {
        const char *file, *load;
    } theory[] = {{"mm1", "0.8"},  {"mmc", "0.8"},     {"md1", "0.8"},   {"mg1", "0.7"},
                  {"mmck", "1.1"}, {"tandem", "0.72"}, {"pool", "0.005"}};
    for (size_t i = 0; i < sizeof theory / sizeof *theory; i++) {
        char *path = formatted("workloads/experiments/theory/%s.json", theory[i].file);
        char *value = formatted("{\"process\":\"poisson\",\"load\":%s}", theory[i].load);
        const struct override override = {"arrivals", value};
        EXPERIMENT *given = must(experiment_load(path, NULL, 0, hear()));
        EXPERIMENT *by_load = must(experiment_load(path, &override, 1, hear()));
        assert_relative(by_load->arrivals.rate_per_s, given->arrivals.rate_per_s, 1e-12);
    }
}

/* The utilisation law: with every job at the minimum configuration, the busy share of the limiting
 * resource is the load. Tolerance: five standard errors of the number of arrivals, 5 / √15000,
 * and the same for what the run's ends cut off. */
CASE(a_load_keeps_that_share_of_the_limiting_resource_busy)
{
    static const struct {
        const char *json;
        bool vcpus;
        double load;
    } worlds[] = {
        {WORLD(INVOKERS("8", "40", "1"), POISSON("0.3")), false, 0.3},
        {WORLD(INVOKERS("8", "40", "2"), POISSON("0.6")), false, 0.6},
        {WORLD(INVOKERS("40", "4", "1"), "{\"process\":\"uniform\",\"load\":0.4}"), true, 0.4},
        {WORLD(INVOKERS("8", "40", "1"),
               "{\"process\":\"mmpp\",\"load\":0.3,\"states\":[{\"rate_per_s\":1,"
               "\"mean_sojourn_s\":0.1},{\"rate_per_s\":3,\"mean_sojourn_s\":0.1}]}"),
         false, 0.3},
    };
    for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++) {
        assert_true(run(worlds[i].json, NULL, NULL, anew(), hear()));
        const double busy =
            worlds[i].vcpus ? result.run.vcpu_utilisation : result.run.gpu_utilisation;
        if (fabs(busy / worlds[i].load - 1) > 10 / sqrt(15000))
            fail_msg("world %zu: %g busy at load %g", i, busy, worlds[i].load);
    }
}

CASE(a_load_scales_intervals_and_states)
{
    const double capacity = 28 / 0.060;
    struct experiment *e =
        load(WORLD(INVOKERS("4", "16", "1"), "{\"process\":\"uniform\",\"load\":0.5}"));
    assert_relative(arrival_spec_rate(&e->arrivals), 0.5 * capacity, 1e-12);
    assert_relative(e->arrivals.high_ms / e->arrivals.low_ms, 1.68, 1e-12);
    experiment_free(e);
    e = load(WORLD(INVOKERS("4", "16", "1"),
                   "{\"process\":\"uniform\",\"low_ms\":0,\"high_ms\":7,\"load\":2}"));
    assert_relative(e->arrivals.low_ms, 0, 1e-12);
    assert_relative(e->arrivals.high_ms, 1e3 / capacity, 1e-12);
    experiment_free(e);
    e = load(WORLD(INVOKERS("4", "16", "1"),
                   "{\"process\":\"mmpp\",\"load\":0.5,\"states\":[{\"rate_per_s\":2,"
                   "\"mean_sojourn_s\":6},{\"rate_per_s\":10,\"mean_sojourn_s\":2}]}"));
    assert_relative(arrival_spec_rate(&e->arrivals), 0.5 * capacity, 1e-12);
    assert_relative(e->arrivals.states[0].rate_per_s, 0.25 * capacity, 1e-12);
    assert_relative(e->arrivals.states[1].rate_per_s, 1.25 * capacity, 1e-12);
    assert_relative(e->arrivals.states[0].mean_sojourn_s, 6, 1e-12);
    experiment_free(e);
}

/* The canonical form holds what decides the run: the rate. */
CASE(a_load_and_its_rate_are_one_experiment)
{
    EXPERIMENT *by_load = must(experiment_parse(WORLD(INVOKERS("4", "16", "1"), POISSON("0.7")),
                                                "e.json", ".", NULL, 0, hear()));
    char *rate = formatted("%.17g", by_load->arrivals.rate_per_s);
    assert_null(strstr(by_load->resolved_json, "\"load\""));
    STRING *value = NULL;
    assert_true(asprintf(&value, "{\"process\":\"poisson\",\"rate_per_s\":%s}", rate) > 0);
    const struct override override = {"arrivals", value};
    EXPERIMENT *by_rate = must(experiment_parse(WORLD(INVOKERS("4", "16", "1"), POISSON("1")),
                                                "e.json", ".", &override, 1, hear()));
    assert_string_equal(by_rate->hash, by_load->hash);
}

CASE(a_load_that_cannot_be_set_is_refused)
{
    static const struct refusal faults[] = {
        {"{\"process\":\"poisson\",\"rate_per_s\":3,\"load\":1}",
         "arrivals: has both \"load\" and \"rate_per_s\"; keep one"},
        {"{\"process\":\"closed\",\"users\":3,\"think_ms\":1,\"load\":1}", "change \"users\""},
        {"{\"process\":\"trace\",\"file\":\"x.csv\",\"load\":1}", "scale_rate"},
        {"{\"process\":\"uniform\",\"low_ms\":3,\"load\":1}", "high_ms"},
        {"{\"process\":\"mmpp\",\"load\":1}", "states"},
        {POISSON("0"), "arrivals.load"},
        {POISSON("-1"), "arrivals.load"},
        {POISSON("\"high\""), "arrivals.load"},
        {POISSON("1e300"), "arrivals.load"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        assert_text_refused(WORLD(INVOKERS("4", "16", "1"), POISSON("1")), "arrivals",
                            faults[i].text, faults[i].words);
}

/* 10^6 times the capacity of a million invokers; and jobs that hold neither vCPU nor GPU. */
CASE(a_load_beyond_any_rate_is_refused)
{
    static const char *const worlds[] = {
        WORLD(INVOKERS("1000000", "16", "1"), POISSON("1000000")),
        "{\"cluster\":{\"invokers\":[{\"vcpus\":4,\"memory_mb\":4096}]},\"functions\":"
        "{\"functions\":[{\"name\":\"f\",\"service\":{\"distribution\":\"constant\",\"mean_ms\":1},"
        "\"configuration\":{\"batch\":1,\"vcpu\":0,\"vgpu\":0}}]},\"applications\":[{\"name\":"
        "\"a\","
        "\"stages\":[{\"name\":\"s\",\"function\":\"f\"}]}],\"arrivals\":" POISSON("0.5") "}"};
    for (size_t i = 0; i < 2; i++)
        assert_bad_input(experiment_parse(worlds[i], "e.json", ".", NULL, 0, hear()),
                         "arrivals.load: ");
}

CASE(a_swept_load_names_its_runs)
{
    TEMPORARY(path, "{\"base\":" WORLD(
                        INVOKERS("4", "16", "1"),
                        POISSON("1")) ","
                                      "\"matrix\":{\"arrivals.load\":[0.2,1.2]},\"seeds\":2}");
    OWNED(sweep_free) struct sweep *sweep = must(sweep_load(path, NULL, 0, hear()));
    assert_int_equal(sweep->run_count, 4);
    for (size_t r = 0; r < 4; r++) {
        EXPERIMENT *experiment = must(sweep_experiment(sweep, r, hear()));
        assert_string_equal(sweep->runs[r].label,
                            r < 2 ? "arrivals.load=0.2" : "arrivals.load=1.2");
        assert_relative(experiment->arrivals.rate_per_s, (r < 2 ? 0.2 : 1.2) * 28 / 0.060, 1e-12);
    }
}

SUITE("load")
