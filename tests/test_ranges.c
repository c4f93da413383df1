/* Every number of an experiment at the ends of its range, alone and in dangerous pairs: the run
 * ends well or says which key carries it beyond the clock, and no conversion overflows (the
 * sanitizers see to that). */
#include "sched/registry.h"
#include "tests/fixture_simulation.h"
#include "workloads/spec/keep_alive.h"

/* A chain whose second stage runs on another invoker where the first is full. */
#define WORLD                                                                                      \
    "{\"name\":\"ranges\",\"cluster\":{\"invokers\":[{\"count\":2,\"vcpus\":2,"                    \
    "\"memory_mb\":8192,\"gpus\":[{\"sharing\":\"mps\",\"units\":4,\"memory_mb\":8192}]}]},"       \
    "\"functions\":{\"functions\":["                                                               \
    "{\"name\":\"f\",\"input_bytes\":1000,\"noise\":{\"cv\":0.1},"                                 \
    "\"cold_start_ms\":{\"mean\":100,\"cv\":0.1},"                                                 \
    "\"gpu_memory_mb\":{\"weights\":100,\"per_item\":10},\"host_memory_mb\":100},"                 \
    "{\"name\":\"g\",\"service\":{\"distribution\":\"lognormal\",\"mean_ms\":5,\"cv\":1},"         \
    "\"configuration\":{\"batch\":1,\"vcpu\":1,\"vgpu\":0}}]},"                                    \
    "\"profile\":{\"device\":\"test\",\"evidence\":\"assumed\",\"source\":\"test\","               \
    "\"licence\":\"none\",\"unit\":4,\"functions\":{"                                              \
    "\"f\":{\"grid\":{\"batch\":[1,2],\"vcpu\":[1],\"vgpu\":[1,2,4]},"                             \
    "\"latency_ms\":[[[10,7,5]],[[16,11,8]]]}},"                                                   \
    "\"interference\":{\"model\":\"constant\",\"constant\":0.5}},"                                 \
    "\"applications\":[{\"name\":\"a\",\"weight\":1,\"stages\":[{\"name\":\"s\","                  \
    "\"function\":\"f\",\"output_bytes\":1000},"                                                   \
    "{\"name\":\"t\",\"function\":\"g\",\"after\":[\"s\"]}]}],"                                    \
    "\"slo\":{\"ms\":100},\"policy\":{\"name\":\"least-loaded\"},"                                 \
    "\"arrivals\":{\"process\":\"uniform\",\"low_ms\":5,\"high_ms\":10},"                          \
    "\"platform\":{\"sample_interval_s\":1000000000},"                                             \
    "\"requests\":20,\"warmup_requests\":2}"

struct range {
    const char *key;
    double low, high;
    const char *with, *with_value; /* another key that this one needs; NULL: none */
    bool alone;                    /* not in pairs: it takes long, or is multiplied with nothing */
};

#define UNIFORM "{\"process\":\"uniform\",\"low_ms\":0,\"high_ms\":10000000000}"
#define POISSON "{\"process\":\"poisson\",\"rate_per_s\":1}"
#define CLOSED_LOOP "{\"process\":\"closed\",\"users\":2,\"think_ms\":1}"
#define COST(model) "{\"model\":\"" model "\",\"ms\":1,\"ns_per_unit\":1}"

/* What sim/KEYS.md and workloads/README.md list with a range. */
static const struct range ranges[] = {
    {"cluster.invokers.0.vcpus", 1, 65535, NULL, NULL, true},
    {"cluster.invokers.0.memory_mb", 2048, 1e9, NULL, NULL, true},
    {"cluster.invokers.0.gpus.0.memory_mb", 512, 1e9, NULL, NULL, true},
    {"cluster.invokers.0.gpus.0.speed", 0.001, 1000, NULL, NULL, false},
    {"cluster.price.vcpu_hour_usd", 0, 1e6, NULL, NULL, false},
    {"cluster.price.vgpu_hour_usd", 0, 1e6, NULL, NULL, false},
    {"applications.0.weight", 1e-9, 1e9, NULL, NULL, true},
    {"applications.0.stages.0.output_bytes", 0, 1e15, NULL, NULL, false},
    {"functions.functions.0.input_bytes", 0, 1e15, NULL, NULL, true},
    {"functions.functions.0.noise.cv", 0, 100, NULL, NULL, false},
    {"functions.functions.0.cold_start_ms.mean", 0, 1e10, NULL, NULL, false},
    {"functions.functions.0.cold_start_ms.cv", 0, 100, NULL, NULL, false},
    {"functions.functions.0.gpu_memory_mb.weights", 0, 1000, NULL, NULL, true},
    {"functions.functions.0.gpu_memory_mb.per_item", 0, 1000, NULL, NULL, true},
    {"functions.functions.0.host_memory_mb", 0, 4000, NULL, NULL, true},
    {"functions.functions.1.service.mean_ms", 1e-6, 1e10, NULL, NULL, false},
    {"functions.functions.1.service.cv", 0, 100, NULL, NULL, false},
    {"profile.functions.f.latency_ms.0.0.0", 1e-6, 1e9, NULL, NULL, false},
    {"profile.interference.constant", 0, 100, NULL, NULL, false},
    {"arrivals.low_ms", 0, 1e10, "arrivals", UNIFORM, false},
    {"arrivals.high_ms", 1e-6, 1e10, "arrivals", UNIFORM, false},
    {"arrivals.rate_per_s", 1e-9, 1e9, "arrivals", POISSON, false},
    {"arrivals.load", 1e-6, 1e6, "arrivals", "{\"process\":\"poisson\"}", false},
    {"arrivals.users", 1, 1e6, "arrivals", CLOSED_LOOP, true},
    {"arrivals.think_ms", 0, 1e10, "arrivals", CLOSED_LOOP, false},
    {"slo.factor", 1e-6, 1e6, "slo", "{}", false},
    {"slo.ms", 1e-6, 1e10, NULL, NULL, false},
    {"platform.keep_alive_s", 0, 1e9, NULL, NULL, false},
    {"platform.ewma_alpha", 1e-6, 1, NULL, NULL, true},
    {"platform.decision_cost.ms", 0, 1e10, "platform.decision_cost", COST("fixed"), false},
    {"platform.decision_cost.ns_per_unit", 0, 1e12, "platform.decision_cost", COST("modelled"),
     false},
    {"platform.transfer.latency_ms", 0, 1e10, NULL, NULL, false},
    {"platform.transfer.bandwidth_gbps", 1e-6, 1e9, NULL, NULL, false},
    {"platform.noise.cv", 0, 100, NULL, NULL, false},
    {"platform.queue_capacity", 0, UINT32_MAX, NULL, NULL, true},
    {"platform.initial.f", 0, 50, NULL, NULL, true},
    {"requests", 1, 100, NULL, NULL, true},
    {"warmup_requests", 0, 100, NULL, NULL, true},
    {"seed", 0, 9007199254740992.0, NULL, NULL, true},
};
enum { RANGES = sizeof ranges / sizeof *ranges, OVERRIDES_MOST = 8 };

/* The overrides of one run. */
struct settings {
    struct override overrides[OVERRIDES_MOST];
    char values[OVERRIDES_MOST][32];
    size_t count;
};

static void settings_add(struct settings *settings, const char *key, const char *value)
{
    assert_true(settings->count < OVERRIDES_MOST);
    settings->overrides[settings->count++] = (struct override){key, value};
}

static void settings_add_number(struct settings *settings, const struct range *range, double value)
{
    if (range->with != NULL)
        settings_add(settings, range->with, range->with_value);
    char *text = settings->values[settings->count];
    (void)snprintf(text, sizeof settings->values[0], "%.17g", value);
    settings_add(settings, range->key, text);
}

static struct experiment *load_settings(const struct settings *settings, struct error *error)
{
    return experiment_parse(WORLD, "ranges.json", ".", settings->overrides, settings->count, error);
}

/* The run ends well, or tells that the clock does; of a policy's parameter: or that the
 * policy can do nothing so, or that another parameter forbids it. */
static void assert_runs(const struct settings *settings, bool parameter)
{
    double *values = NULL;
    EXPERIMENT *experiment = load_settings(settings, hear());
    if (experiment == NULL && settings->count > 2) { /* keys of a pair may exclude one another */
        assert_int_equal(heard.kind, ERROR_INPUT);
        return;
    }
    assert_good(experiment);
    const struct policy *policy = must(policy_resolve(experiment, &values, hear()));
    if (simulation_run(experiment, policy, values, NULL, NULL, anew(), hear())) {
        assert_true(isfinite(result.overall.cost_usd) && result.overall.cost_usd >= 0);
        if (result.overall.dropped == result.overall.requests)
            assert_true(isnan(result.overall.latency_ms_mean));
        else
            assert_true(isfinite(result.overall.latency_ms_mean) &&
                        result.overall.latency_ms_mean >= 0);
    } else if (strstr(heard.message, "clock's end") == NULL &&
               !(parameter &&
                 (heard.kind == ERROR_INPUT || strstr(heard.message, "rule progress") != NULL))) {
        fail_msg("%s = %s: %s", settings->overrides[settings->count - 1].key,
                 settings->overrides[settings->count - 1].value, heard.message);
    }
}

CASE(every_key_runs_at_either_end_of_its_range)
{
    for (size_t r = 0; r < RANGES; r++)
        for (int end = 0; end < 2; end++) {
            struct settings settings = {.count = 0};
            settings_add_number(&settings, &ranges[r], end == 0 ? ranges[r].low : ranges[r].high);
            assert_runs(&settings, false);
        }
}

/* Those that are multiplied with, divided by or added to one another. */
CASE(dangerous_pairs_run_at_the_ends_of_their_ranges)
{
    for (size_t a = 0; a < RANGES; a++)
        for (size_t b = 0; b < RANGES; b++) {
            const char *one = ranges[a].with, *other = ranges[b].with;
            if (a == b || ranges[a].alone || ranges[b].alone ||
                (other != NULL && (one == NULL || strcmp(one, other) == 0)))
                continue;
            for (int end = 0; end < 4; end++) {
                struct settings settings = {.count = 0};
                settings_add_number(&settings, &ranges[a],
                                    end % 2 == 0 ? ranges[a].low : ranges[a].high);
                settings_add_number(&settings, &ranges[b],
                                    end / 2 == 0 ? ranges[b].low : ranges[b].high);
                assert_runs(&settings, false);
            }
        }
}

/* The last part of a dotted key that is no number. */
static void last_name(const char *key, char *name, size_t size)
{
    const char *start = key;
    size_t length = strlen(key);
    for (const char *c = key; *c != '\0'; c++)
        if (*c == '.' && c[1] > '9') {
            start = c + 1;
            length = strlen(start);
        } else if (*c == '.' && (size_t)(c - start) < length) {
            length = (size_t)(c - start);
        }
    (void)snprintf(name, size, "%.*s", (int)length, start);
}

CASE(what_is_beyond_a_range_is_refused_with_its_key)
{
    for (size_t r = 0; r < RANGES; r++) {
        struct settings settings = {.count = 0};
        char name[64];
        if (ranges[r].alone)
            continue;
        last_name(ranges[r].key, name, sizeof name);
        settings_add_number(&settings, &ranges[r], ranges[r].high * 1.01);
        assert_bad_input(load_settings(&settings, hear()), name);
    }
}

CASE(a_time_beyond_the_clock_names_the_key_that_set_it)
{
    static const struct {
        const char *key, *value, *other, *other_value, *named;
    } cases[] = {
        {"platform.transfer.bandwidth_gbps", "1e-6", "applications.0.stages.0.output_bytes", "1e13",
         "platform.transfer"},
        {"platform.decision_cost", COST("fixed"), "platform.decision_cost.ms", "1e10",
         "platform.decision_cost"},
        {"cluster.invokers.0.gpus.0.speed", "0.001", "profile.functions.f.latency_ms.0.0.0", "1e9",
         "latency_ms"},
        {"arrivals", UNIFORM, "requests", "1000", "arrivals"},
        {"arrivals", CLOSED_LOOP, "arrivals.think_ms", "1e10", "arrivals.think_ms"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct settings settings = {.count = 0};
        double *values = NULL;
        settings_add(&settings, "policy.name", k == 0 ? "openwhisk" : "min-config");
        settings_add(&settings, "platform.initial", "cold");
        settings_add(&settings, "requests", "1000");
        settings_add(&settings, cases[k].key, cases[k].value);
        settings_add(&settings, cases[k].other, cases[k].other_value);
        EXPERIMENT *experiment = must(load_settings(&settings, hear()));
        const struct policy *policy = must(policy_resolve(experiment, &values, hear()));
        if (simulation_run(experiment, policy, values, NULL, NULL, anew(), hear()))
            fail_msg("%s = %s: the clock does not end", cases[k].other, cases[k].other_value);
        if (strstr(heard.message, "clock's end") == NULL ||
            strstr(heard.message, cases[k].named) == NULL)
            fail_msg("%s: %s", cases[k].named, heard.message);
    }
}

/* Searches whose effort is the parameter take minutes at the upper end. */
static bool is_effort(const char *name)
{
    static const char *const efforts[] = {"initial",    "rounds", "proposals", "candidates",
                                          "executions", "cutoff", "bins",      "split_steps"};
    for (size_t k = 0; k < sizeof efforts / sizeof *efforts; k++)
        if (strcmp(name, efforts[k]) == 0)
            return true;
    return false;
}

static void run_parameter(const char *form, const char *key, const char *name,
                          const struct key *parameter, double value)
{
    struct settings settings = {.count = 0};
    settings_add(&settings, key, formatted(form, name, parameter->name, value));
    assert_runs(&settings, true);
}

static void run_parameters(const char *key, const char *name, const struct key *parameters)
{
    static const char *const form = "{\"name\":\"%s\",\"params\":{\"%s\":%.17g}}";
    for (size_t i = 0; i < keys_count(parameters); i++) {
        const struct key *parameter = &parameters[i];
        if (parameter->words != NULL)
            continue;
        run_parameter(form, key, name, parameter, parameter->low);
        if (!is_effort(parameter->name))
            run_parameter(form, key, name, parameter, parameter->high);
    }
}

CASE(every_parameter_runs_at_either_end_of_its_range)
{
    for (size_t p = 0; policy_for_requests(p) != NULL; p++)
        run_parameters("policy", policy_for_requests(p)->name, policy_for_requests(p)->parameters);
    for (size_t k = 0; keep_alive_at(k) != NULL; k++)
        run_parameters("platform.keep_alive", keep_alive_at(k)->name, keep_alive_at(k)->parameters);
}

SUITE("ranges")
