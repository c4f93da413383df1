/* Curves over a swept key: where each ends, by hand and by a direct reading of the definition; what
 * is printed; which pairs of a run's label are the key's. */

#include "results/report/curve.h"
#include "results/store/run_label.h"
#include "tests/suite.h"

OWNER(arena_destroy, struct arena)

enum { RUNS_MOST = 400 };

/* Results in memory: run after run is added. */
struct made {
    struct results results;
    struct summary_row runs[RUNS_MOST];
    struct report *report;
};

static struct made *made_create(void)
{
    struct made *made = must(calloc(1, sizeof *made));
    made->results.path = (char *)"made-up.h5";
    made->results.runs = made->runs;
    return made;
}

static void made_add(struct made *made, const char *setting, const char *policy, const char *label,
                     uint64_t seed, double hit)
{
    assert_true(made->results.run_count < RUNS_MOST);
    struct summary_row *run = &made->runs[made->results.run_count++];
    snprintf(run->hash, sizeof run->hash, "%016zx", made->results.run_count);
    snprintf(run->name, sizeof run->name, "made-up");
    snprintf(run->setting, sizeof run->setting, "%s", setting);
    snprintf(run->policy, sizeof run->policy, "%s", policy);
    snprintf(run->label, sizeof run->label, "%s", label);
    run->seed = seed;
    run->measures.requests = 1000;
    run->measures.slo_hit_rate = hit;
    run->measures.cost_per_request_usd = 0.001 * hit;
    run->measures.latency_ms_p95 = 100;
    run->run.events = seed; /* so that no two seeds are copies */
}

static void made_build(struct made *made)
{
    made->report = report_build(&made->results);
    assert_non_null(made->report);
}

static void made_free(struct made *made)
{
    arena_home_free(made->report);
    free(made);
}

OWNER(made_free, struct made)

/* Two seeds whose mean is `hit`; their interval is ± 12.7 × `spread`. */
static void add_pair(struct made *made, const char *policy, double factor, double load, double hit,
                     double spread)
{
    char *label = formatted("setting=mig slo.factor=%g arrivals.load=%g policy.name=%s", factor,
                            load, policy);
    made_add(made, "mig", policy, label, 1, hit - spread);
    made_add(made, "mig", policy, label, 2, hit + spread);
}

static const struct curve_line *line_named(const struct curve_panel *panel, const char *policy)
{
    for (size_t l = 0; l < panel->line_count; l++)
        if (strcmp(panel->lines[l].title, policy) == 0)
            return &panel->lines[l];
    fail_msg("there is no line %s", policy);
    return NULL;
}

static void assert_sustained(const struct curve_panel *panel, const char *policy,
                             const char *wanted)
{
    assert_string_equal(line_named(panel, policy)->words, wanted);
}

/* Loads 0.2, 0.4, 0.6 in any order; "hole" has no 0.4, "wide" an interval that reaches below the
 * limit, "late" is good again after it was not. */
static struct made *some(void)
{
    struct made *made = made_create();
    static const double loads[] = {0.4, 0.2, 0.6};
    for (size_t i = 0; i < 3; i++)
        for (int slo = 0; slo < 2; slo++) {
            const double factor = slo == 0 ? 0.8 : 1.2;
            add_pair(made, "good", factor, loads[i], 0.97, 0);
            add_pair(made, "bad", factor, loads[i], 0.9499, 0);
            add_pair(made, "falls", factor, loads[i], loads[i] < 0.5 + 0.2 * slo ? 0.95 : 0.2, 0);
            add_pair(made, "wide", factor, loads[i], 0.97, loads[i] > 0.3 ? 0.002 : 0.001);
            add_pair(made, "late", factor, loads[i], i == 0 ? 0.3 : 0.99, 0);
            if (i > 0)
                add_pair(made, "hole", factor, loads[i], 0.99, 0);
        }
    made_build(made);
    return made;
}

CASE(a_line_ends_before_the_first_value_at_which_its_interval_leaves_the_limit)
{
    OWNED(made_free) struct made *made = some();
    const struct curves *curves = made->report->curves;
    assert_non_null(curves);
    assert_string_equal(curves->key, "arrivals.load");
    assert_int_equal(curves->group_count, 1);
    assert_string_equal(curves->groups[0].title, "mig");
    assert_int_equal(curves->groups[0].panel_count, 2);
    for (size_t p = 0; p < 2; p++) {
        const struct curve_panel *panel = &curves->groups[0].panels[p];
        assert_string_equal(panel->title, p == 0 ? "slo.factor=0.8" : "slo.factor=1.2");
        assert_int_equal(panel->value_count, 3);
        assert_sustained(panel, "good", "≥ 0.6");
        assert_sustained(panel, "bad", "< 0.2");
        assert_sustained(panel, "falls", p == 0 ? "0.4" : "≥ 0.6");
        assert_sustained(panel, "wide", "0.2"); /* 0.97 ± 0.0127, then ± 0.0254 */
        assert_sustained(panel, "late", "0.2");
        assert_sustained(panel, "hole", "0.2");
    }
}

CASE(with_one_seed_the_value_alone_is_compared)
{
    OWNED(made_free) struct made *made = made_create();
    for (int i = 1; i <= 3; i++) {
        char *label = formatted("arrivals.load=%d policy.name=fifo", i);
        made_add(made, "", "fifo", label, 1, i < 3 ? 0.95 : 0.94);
    }
    made_build(made);
    assert_string_equal(made->report->curves->groups[0].title, "made-up");
    assert_string_equal(made->report->curves->groups[0].panels[0].title, "");
    assert_sustained(&made->report->curves->groups[0].panels[0], "fifo", "2");
}

/* The definition read directly, over random sweeps: the greatest value v such that at each swept
 * value up to v the limit is below the interval. */
CASE(the_end_is_that_of_the_definition)
{
    gsl_rng *random = must(seeded(0));
    for (int trial = 0; trial < 200; trial++) {
        OWNED(made_free) struct made *made = made_create();
        const size_t values = 3 + gsl_rng_uniform_int(random, 5);
        double ends = NAN;
        bool open = true;
        for (size_t v = 1; v <= values; v++) {
            const double base = 0.9 + 0.08 * gsl_rng_uniform(random);
            double hits[4], mean = 0, square = 0;
            char *label = formatted("arrivals.load=%g policy.name=x", 0.1 * (double)v);
            for (int s = 0; s < 4; s++) {
                hits[s] = base + 0.02 * gsl_rng_uniform(random);
                mean += hits[s] / 4;
                made_add(made, "", "x", label, (uint64_t)s, hits[s]);
            }
            for (int s = 0; s < 4; s++)
                square += (hits[s] - mean) * (hits[s] - mean) / 3;
            /* Wilson's interval holds the shares that a test does not reject. 3.182446: the 97.5 %
             * quantile of Student's t with 3 degrees of freedom, from tables. */
            const double observations = mean * (1 - mean) / (square / 4);
            open = open && mean - 0.95 >= 3.182446 * sqrt(0.95 * 0.05 / observations);
            if (open)
                ends = strtod(strchr(label, '=') + 1, NULL);
        }
        made_build(made);
        const struct curve_line *line = &made->report->curves->groups[0].panels[0].lines[0];
        if (!(line->sustained == ends || (isnan(line->sustained) && isnan(ends))) ||
            line->beyond != open)
            fail_msg("trial %d: %g is not %g", trial, line->sustained, ends);
    }
}

/* A parameter of the policy is part of a contender; without it, contenders become one line. */
CASE(a_parameter_of_a_policy_can_be_followed)
{
    OWNED(made_free) struct made *made = made_create();
    for (int k = 1; k <= 3; k++)
        for (int g = 1; g <= 2; g++) {
            char *label =
                formatted("policy.name=esg policy.params.k=%d policy.params.group=%d", k, g);
            made_add(made, "", "esg", label, 1, k <= 2 || g == 1 ? 0.96 : 0.5);
        }
    made_build(made);
    assert_null(made->report->curves);
    const struct curve_request request = {"policy.params.k", CURVE_METRIC, CURVE_AT_LEAST, false};
    assert_true(report_follow(made->report, &request, hear()));
    const struct curve_panel *panel = &made->report->curves->groups[0].panels[0];
    assert_int_equal(panel->line_count, 2);
    assert_sustained(panel, "esg group=1", "≥ 3");
    assert_sustained(panel, "esg group=2", "2");
}

CASE(another_metric_and_limit_can_be_asked_for)
{
    OWNED(made_free) struct made *made = some();
    const struct curve_request request = {"arrivals.load", "cost_per_request_usd", 0.00096, false};
    assert_true(report_follow(made->report, &request, hear()));
    assert_sustained(&made->report->curves->groups[0].panels[0], "good", "≥ 0.6");
    assert_sustained(&made->report->curves->groups[0].panels[0], "falls", "< 0.2");
}

CASE(a_metric_that_reports_compute_is_followed_as_any_other)
{
    OWNED(made_free) struct made *made = some();
    const struct curve_request request = {"arrivals.load", "late_rate", 0.04, true};
    assert_true(report_follow(made->report, &request, hear()));
    assert_sustained(&made->report->curves->groups[0].panels[0], "good", "≥ 0.6");
    assert_sustained(&made->report->curves->groups[0].panels[0], "falls", "< 0.2");
}

CASE(what_cannot_be_followed_is_told)
{
    static const struct {
        struct curve_request request;
        const char *fragment;
    } faults[] = {
        {{"arrivals.laod", CURVE_METRIC, 0.9, false},
         "made-up.h5: no sweep in it sets \"arrivals.laod\" to two or more numbers; keys that "
         "it sets: setting, slo.factor, arrivals.load, policy.name"},
        {{"setting", CURVE_METRIC, 0.9, false}, "\"setting\""},
        {{NULL, "hits", 0.9, false}, "there is no metric \"hits\""}};
    OWNED(made_free) struct made *made = some();
    const struct curves *before = made->report->curves;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        assert_bad_input(report_follow(made->report, &faults[i].request, hear()),
                         faults[i].fragment);
        assert_ptr_equal(made->report->curves, before);
    }
}

CASE(two_loads_are_no_curve_unless_asked_for)
{
    OWNED(made_free) struct made *made = made_create();
    made_add(made, "", "fifo", "arrivals.load=1", 1, 0.99);
    made_add(made, "", "fifo", "arrivals.load=2", 1, 0.99);
    made_add(made, "", "fifo", "arrivals.load=high", 1, 0.99);
    made_build(made);
    assert_null(made->report->curves);
    const struct curve_request request = {"arrivals.load", CURVE_METRIC, CURVE_AT_LEAST, false};
    assert_true(report_follow(made->report, &request, hear()));
    assert_int_equal(made->report->curves->groups[0].panels[0].value_count, 2);
}

/* ---- Output ---------------------------------------------------------------------------------- */

typedef bool print_function(const struct report *, FILE *, struct error *);

static char *printed(const struct made *made, print_function *print)
{
    assert_int_equal(setenv("ESGSIM_WIDTH", "160", 1), 0); /* no table is cut */
    MEMORY_STREAM(out, text);
    assert_true(print(made->report, out, hear()));
    fclose(out);
    return text;
}

/* Each run of blanks becomes one. */
static void squeeze(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0'; from++)
        if (*from != ' ' || from[1] != ' ')
            *to++ = *from;
    *to = '\0';
}

CASE(the_text_begins_with_what_is_sustained)
{
    OWNED(made_free) struct made *made = some();
    char *text = printed(made, report_text);
    assert_contains(text, "arrivals.load sustained with SLO hit % of at least 95\n");
    assert_contains(text, "         slo.factor=0.8  slo.factor=1.2\n"
                          "---------------------------------------\n"
                          "mig\n"
                          "  good            ≥ 0.6           ≥ 0.6\n"
                          "  bad             < 0.2           < 0.2\n"
                          "  falls             0.4           ≥ 0.6\n"
                          "  wide              0.2             0.2\n"
                          "  late              0.2             0.2\n"
                          "  hole              0.2             0.2\n");
    assert_null(strstr(text, "How to read the tables"));
    assert_contains(text,
                    "--over arrivals.load prints the curves, --details prints the tables of all "
                    "6 settings\n");
    free(text);
    made->report->curves_in_full = true;
    text = printed(made, report_text);
    assert_contains(text, "\nmig, slo.factor=1.2\n");
    squeeze(text);
    assert_contains(text, "\narrivals.load 0.2 0.4 0.6\n");
    assert_contains(text, "\nSLO hit %\n good 97.0 ± 0.0 97.0 ± 0.0 97.0 ± 0.0\n");
    assert_contains(text, "\n wide 97.0 [95.4, 98.0] 97.0 [93.3, 98.7] 97.0 [93.3, 98.7]\n");
    assert_contains(text, "\n hole 99.0 ± 0.0 - 99.0 ± 0.0\n");
    assert_contains(text, "\n$/1,000 served\n good 0.9700 ± 0.0000 ");
    free(text);
    made->report->details = true;
    text = printed(made, report_text);
    assert_contains(text, "How to read the tables");
    free(text);
}

/* Mean completion times of 1, 2, 4 and 7 h at loads of 1 to 4 per hour; those of the seeds differ,
 * so that the interval of the third exceeds 4.5 h. */
CASE(trainings_are_followed_by_their_completion_time_with_no_limit_or_an_upper_one)
{
    static const double jct[] = {1, 2, 4, 7};
    struct training_summary_row trainings[8] = {0};
    OWNED(made_free) struct made *made = made_create();
    for (size_t i = 0; i < 8; i++) {
        char *label = formatted("training.arrivals.per_hour=%zu policy.name=sjf", i / 2 + 1);
        made_add(made, "", "sjf", label, i % 2 + 1, 0);
        memcpy(trainings[i].hash, made->runs[i].hash, sizeof trainings[i].hash);
        const double spread = i / 2 == 2 ? 0.1 : 0.01; /* half-width: 12.7 x spread */
        trainings[i].measures.jct_s_mean = 3600 * (jct[i / 2] + (i % 2 ? spread : -spread));
        trainings[i].measures.jct_s_p99 = 3600 * 10;
    }
    made->results.training = trainings;
    made->results.training_count = 8;
    made_build(made);
    assert_non_null(made->report->curves); /* without being asked */
    made->report->curves_in_full = true;
    char *text = printed(made, report_text);
    squeeze(text);
    assert_null(strstr(text, "sustained"));
    assert_contains(text,
                    "\nmean JCT h\n sjf 1.000 ± 0.127 2.000 ± 0.127 4.000 ± 1.271 7.000 ± 0.127\n");
    assert_contains(text, "\np99 h\n sjf 10.00 ± 0.00 ");
    free(text);
    text = printed(made, report_csv);
    assert_null(strstr(text, "_sustained"));
    free(text);
    const struct curve_request most = {"training.arrivals.per_hour", NULL, 4.5 * 3600, true};
    assert_true(report_follow(made->report, &most, hear()));
    assert_sustained(&made->report->curves->groups[0].panels[0], "sjf", "2");
    text = printed(made, report_text);
    assert_contains(text, "sustained with mean JCT h of at most 4.5\n");
    free(text);
}

CASE(csv_and_json_hold_the_ends_and_the_points)
{
    OWNED(made_free) struct made *made = some();
    char *text = printed(made, report_csv);
    assert_contains(text,
                    "made-up,mig,slo.factor=0.8,falls,,,arrivals.load_sustained,1,slo_hit_rate at "
                    "least 0.95,2,0.4,,,,0.4,,,,\r\n");
    assert_contains(text,
                    "made-up,mig,slo.factor=0.8,bad,,,arrivals.load_sustained,1,slo_hit_rate at "
                    "least 0.95,2,,,,,< 0.2,,,,\r\n");
    free(text);
    text = printed(made, report_json);
    JSON *root = cJSON_Parse(text);
    assert_string_equal(json_at(root, "curves/key")->valuestring, "arrivals.load");
    const cJSON *panel = json_at(root, "curves/panels/1");
    assert_string_equal(json_at(panel, "conditions")->valuestring, "slo.factor=1.2");
    const cJSON *good = json_at(panel, "policies/0");
    assert_true(json_at(good, "sustained")->valuedouble == 0.6);
    assert_true(cJSON_IsTrue(json_at(good, "beyond_the_sweep")));
    assert_int_equal(cJSON_GetArraySize(json_at(good, "points")), 3);
    assert_true(json_at(good, "points/0/value")->valuedouble == 0.2);
    assert_true(json_at(good, "points/0/slo_hit_rate/mean")->valuedouble == 0.97);
    /* Paired with the least load: the seeds of "wide" differ by -0.001 and 0.001. */
    assert_string_equal(json_at(panel, "policies/3/policy")->valuestring, "wide");
    for (int i = 0; i < 2; i++) {
        const cJSON *change = json_at(panel, formatted("policies/3/points/%d/change", i));
        assert_true(fabs(json_at(change, "mean")->valuedouble) < 1e-12);
        assert_true(fabs(json_at(change, "sd")->valuedouble - 0.001 * i * sqrt(2)) < 1e-12);
    }
    free(text);
}

/* ---- Labels ---------------------------------------------------------------------------------- */

CASE(a_label_gives_its_numbers_and_keys)
{
    static const char label[] = "setting=a b arrivals.load=0.8 slo.factor=1e1 cluster={\"n\": 3} "
                                "policy.params.k=7 x=5s";
    double value = 0;
    assert_true(run_label_number(label, "arrivals.load", &value) && value == 0.8);
    assert_true(run_label_number(label, "slo.factor", &value) && value == 10);
    assert_true(run_label_number(label, "policy.params.k", &value) && value == 7);
    assert_false(run_label_number(label, "load", &value));
    assert_false(run_label_number(label, "setting", &value));
    assert_false(run_label_number(label, "cluster", &value));
    assert_false(run_label_number(label, "x", &value));
    assert_false(run_label_number("x=inf", "x", &value));
    assert_false(run_label_number("x=", "x", &value));
    OWNED(arena_destroy) struct arena *arena = arena_create();
    assert_string_equal(run_label_drop(arena, label, "arrivals.load"),
                        "setting=a b slo.factor=1e1 cluster={\"n\": 3} policy.params.k=7 x=5s");
    assert_string_equal(run_label_keys(arena, label),
                        "setting, arrivals.load, slo.factor, cluster, policy.params.k, x");
    assert_string_equal(run_label_keys(arena, "a=b"), "a");
}

SUITE("curve")
