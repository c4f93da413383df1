/* Verdicts on claims, over made-up runs whose figures are known, the files of claims, and what the
 * two sides of the shipped ones differ in. */
#include <cjson/cJSON.h>

#include "results/expect/claim.h"
#include "sim/base/json.h"
#include "sim/run/sweep_runner_plan.h"
#include "tests/fixture_results.h"
#include "tests/suite.h"
#include "workloads/sweep/sweep.h"

OWNER(sweep_free, struct sweep)

#define RUN(setting, policy, parameters, seed, hit)                                                \
    {                                                                                              \
        setting, policy, "policy.name=" policy parameters " setting=" setting, seed, hit, 0.0001,  \
            RECORD_SUMMARY                                                                         \
    }
#define SEEDS(setting, policy, parameters, a, b, c)                                                \
    RUN(setting, policy, parameters, 1, a), RUN(setting, policy, parameters, 2, b),                \
        RUN(setting, policy, parameters, 3, c)

/* Hit rates of all applications together are 0.8 of these. In light: clockwork 48 %, with batches
 * of 32 64, 68 and 72 % (68 ± 9.9), clipper 32 %. In heavy: clockwork 24 %, clipper 32 %, fifo 0,
 * edf with one seed. In at/replicas-x3: nexus 48 %, and edf
 * 40 % with one seed. */
static const struct fixture runs[] = {
    SEEDS("light", "clockwork", "", 0.6, 0.6, 0.6),
    SEEDS("light", "clockwork", " policy.params.max_batch=32", 0.8, 0.85, 0.9),
    SEEDS("light", "clipper", "", 0.4, 0.4, 0.4),
    SEEDS("heavy", "clockwork", "", 0.3, 0.3, 0.3),
    SEEDS("heavy", "clipper", "", 0.4, 0.4, 0.4),
    SEEDS("heavy", "fifo", "", 0, 0, 0),
    RUN("heavy", "edf", "", 1, 0.5),
    SEEDS("at/replicas-x3", "nexus", "", 0.6, 0.6, 0.6),
    RUN("at/replicas-x3", "edf", "", 1, 0.5),
    RUN("heavy", "llf", " slo.factor=2 requests=9", 1, 0.5),
    RUN("heavy", "llf", " slo.factor=2 requests=9", 2, 0.5),
    RUN("heavy", "llf", " slo.factor=4 requests=9", 1, 1),
    RUN("heavy", "llf", " slo.factor=4 requests=9", 2, 1),
};
enum { RUNS = sizeof runs / sizeof runs[0] };

struct judged {
    struct results *results;
    struct report *report;
    struct expectations *claims;
};

/* Writes the text to a file and loads it as claims. */
static struct expectations *load(const char *text, struct error *error)
{
    TEMPORARY(path, text);
    struct expectations *claims = expectations_load(path, EXPECTATION_CLAIMS, error);
    return claims;
}

#define HEAD                                                                                       \
    "\"system\": \"S\", \"claim\": \"c\", \"published\": \"2x\", \"evidence\": \"published\", "    \
    "\"source\": \"s\", \"sweep\": \"s.json\", "
#define CLAIMS(list) "{\"title\": \"t\", \"claims\": [" list "]}"
#define HITS(group) "{" HEAD "\"group\": \"" group "\", \"metric\": \"slo_hit_rate\", "
#define OF(policy, setting) "\"of\": {\"policy\": \"" policy "\", \"setting\": \"" setting "\"}, "
#define AGAINST(policy, setting)                                                                   \
    "\"mechanism\": \"m\", \"differs\": \"k\", "                                                   \
    "\"against\": {\"policy\": \"" policy "\", \"setting\": \"" setting "\"}, "

static void judge(struct judged *judged, const char *claims)
{
    judged->results = fixture_results(runs, RUNS);
    assert_non_null(judged->results);
    judged->report = report_build(judged->results);
    judged->claims = load(claims, hear());
    assert_good(judged->report != NULL && judged->claims != NULL);
}

static void judged_clear(struct judged *judged)
{
    arena_home_free(judged->claims);
    arena_home_free(judged->report);
    results_free(judged->results);
}

static void assert_claim(const char *claim, double mean, double half_width,
                         enum claim_verdict verdict)
{
    CLOSED(judged_clear) struct judged judged = {0};
    struct estimate ours = {0};
    judge(&judged, formatted(CLAIMS("%s"), claim));
    assert_good(claim_estimate(judged.report, &judged.claims->list[0], &ours, hear()));
    if (isnan(mean))
        assert_true(isnan(ours.mean));
    else
        assert_absolute(ours.mean, mean, 1e-9);
    if (isnan(half_width))
        assert_true(isnan(ours.half_width));
    else
        assert_absolute(ours.half_width, half_width, 1e-3);
    assert_string_equal(claim_verdict_name(claim_judge(&judged.claims->list[0], ours)),
                        claim_verdict_name(verdict));
}

/* Student's t for 2 degrees of freedom: 4.3027. */
CASE(a_size_is_shown_if_the_whole_interval_is_within_a_factor_of_the_published_one)
{
    /* 64 / 32, 68 / 32, 72 / 32: 2.125 ± 4.3027 × 0.125 / √3 = [1.8145, 2.4355]. */
#define BATCHES HITS("size") OF("clockwork max_batch=32", "light") AGAINST("clipper", "light")
    assert_claim(BATCHES "\"low\": 1.7, \"high\": 1.7}", 2.125, 0.3105, CLAIM_SHOWN);
    assert_claim(BATCHES "\"low\": 2.7, \"high\": 5}", 2.125, 0.3105, CLAIM_SHOWN);
    assert_claim(BATCHES "\"low\": 2.7}", 2.125, 0.3105, CLAIM_SHOWN);
    /* 36 ± 9.936 points, of at least 1.5 × 17.4 and at most 46 / 1.5. */
    assert_claim(BATCHES "\"formula\": \"difference\", \"low\": 39, \"high\": 39}", 36, 9.936,
                 CLAIM_SHOWN);
    /* 112.5 ± 31.052 %. */
    assert_claim(BATCHES "\"formula\": \"gain\", \"low\": 122, \"high\": 122}", 112.5, 31.052,
                 CLAIM_SHOWN);
    /* -25 %, of -37 and of -17 %. */
    assert_claim(HITS("size") OF("clockwork", "heavy") AGAINST(
                     "clipper", "heavy") "\"formula\": \"gain\", \"low\": -37, \"high\": -37}",
                 -25, 0, CLAIM_SHOWN);
    assert_claim(HITS("size") OF("clockwork", "heavy") AGAINST(
                     "clipper", "heavy") "\"formula\": \"gain\", \"low\": -17, \"high\": -17}",
                 -25, 0, CLAIM_SHOWN);
    /* A share of one policy: Wilson's, 0.575 to 0.770. */
    assert_claim(HITS("size") OF("clockwork max_batch=32", "light") "\"low\": 86}", 68, 9.750,
                 CLAIM_SHOWN);
}

CASE(another_size_is_shown_in_sign_only)
{
    assert_claim(BATCHES "\"low\": 2.8, \"high\": 2.8}", 2.125, 0.3105, CLAIM_SIGN_ONLY);
    assert_claim(BATCHES "\"low\": 1.6, \"high\": 1.6}", 2.125, 0.3105, CLAIM_SIGN_ONLY);
    assert_claim(BATCHES "\"formula\": \"gain\", \"low\": 61.7, \"high\": 61.7}", 112.5, 31.052,
                 CLAIM_SIGN_ONLY);
    assert_claim(HITS("size") OF("clockwork", "heavy") AGAINST(
                     "clipper", "heavy") "\"formula\": \"gain\", \"low\": -53, \"high\": -53}",
                 -25, 0, CLAIM_SIGN_ONLY);
    /* Exactly no effect has no sign, and a policy alone has none. */
    assert_claim(HITS("size") OF("clipper", "heavy")
                     AGAINST("clipper", "light") "\"low\": 2, \"high\": 2}",
                 1, 0, CLAIM_NOT_SHOWN);
    assert_claim(HITS("size") OF("clockwork", "light") "\"high\": 31}", 48, 0, CLAIM_NOT_SHOWN);
}

CASE(a_sign_is_shown_by_any_effect_in_its_direction)
{
    assert_claim(HITS("sign") OF("clockwork max_batch=32", "light")
                     AGAINST("clipper", "light") "\"low\": 26}",
                 2.125, 0.3105, CLAIM_SHOWN);
    assert_claim(HITS("sign") OF("clockwork", "heavy") AGAINST("clipper", "heavy") "\"high\": 1}",
                 0.75, 0, CLAIM_SHOWN);
    assert_claim(HITS("sign") OF("clipper", "heavy") AGAINST("clipper", "light") "\"low\": 1}", 1,
                 0, CLAIM_NOT_SHOWN);
}

CASE(the_other_sign_contradicts)
{
    assert_claim(HITS("size") OF("clockwork", "heavy") AGAINST("clipper", "heavy") "\"low\": 1.1}",
                 0.75, 0, CLAIM_CONTRADICTED);
    assert_claim(HITS("sign") OF("clockwork", "heavy")
                     AGAINST("clipper", "heavy") "\"formula\": \"difference\", \"low\": 0}",
                 -8, 0, CLAIM_CONTRADICTED);
    assert_claim(HITS("sign") OF("clockwork", "light") AGAINST("clipper", "light") "\"high\": 0.9}",
                 1.5, 0, CLAIM_CONTRADICTED);
}

CASE(a_self_check_is_contradicted_outside_its_range)
{
    assert_claim(HITS("self-check") OF("clockwork max_batch=32", "light") "\"low\": 50}", 68, 9.750,
                 CLAIM_SHOWN);
    assert_claim(HITS("self-check") OF("fifo", "heavy") "\"high\": 0}", 0, 0, CLAIM_SHOWN);
    assert_claim(HITS("self-check") OF("clockwork max_batch=32", "light") "\"low\": 60}", 68, 9.750,
                 CLAIM_NOT_SHOWN);
    assert_claim(HITS("self-check") OF("clockwork", "light") "\"low\": 49, \"high\": 51}", 48, 0,
                 CLAIM_CONTRADICTED);
    assert_claim(HITS("self-check") OF("clockwork", "light")
                     AGAINST("clipper", "light") "\"low\": 1.6, \"high\": 1.7}",
                 1.5, 0, CLAIM_CONTRADICTED);
}

/* "At equal cost" is not widened, and has no sign. */
CASE(a_range_around_no_effect_is_as_it_is)
{
#define EQUAL HITS("size") OF("clockwork", "light") AGAINST("clipper", "light")
    assert_claim(EQUAL "\"low\": 0.5, \"high\": 1.6}", 1.5, 0, CLAIM_SHOWN);
    assert_claim(EQUAL "\"low\": 0.9, \"high\": 1.1}", 1.5, 0, CLAIM_NOT_SHOWN);
}

CASE(without_an_interval_nothing_is_shown)
{
    assert_claim(HITS("sign") OF("edf", "heavy") AGAINST("clipper", "heavy") "\"low\": 1}", 1.25,
                 NAN, CLAIM_NOT_SHOWN);
    /* A ratio to a hit rate of 0. */
    assert_claim(HITS("sign") OF("clipper", "heavy") AGAINST("fifo", "heavy") "\"low\": 1}", NAN,
                 NAN, CLAIM_NOT_SHOWN);
}

/* Our 2.125, of 4.25 and 1.7, of at least 2.5, and within 2 to 5; 1.25 times no effect has none. */
CASE(ours_is_divided_by_the_nearer_end_of_what_is_published)
{
    static const struct {
        const char *claim;
        double quotient;
    } cases[] = {{BATCHES "\"low\": 4.25, \"high\": 4.25}", 0.5},
                 {BATCHES "\"low\": 1.7, \"high\": 1.7}", 1.25},
                 {BATCHES "\"low\": 2.5}", 0.85},
                 {BATCHES "\"low\": 2, \"high\": 5}", 1},
                 {BATCHES "\"low\": 1}", NAN},
                 {BATCHES "\"low\": 0.8, \"high\": 1.25}", NAN},
                 {HITS("size") OF("fifo", "heavy") "\"high\": 1}", 1},
                 {HITS("self-check") OF("clockwork", "light") "\"low\": 24}", NAN}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CLOSED(judged_clear) struct judged judged = {0};
        struct estimate ours = {0};
        judge(&judged, formatted(CLAIMS("%s"), cases[i].claim));
        assert_good(claim_estimate(judged.report, &judged.claims->list[0], &ours, hear()));
        const double quotient = claim_quotient(&judged.claims->list[0], ours);
        if (isnan(cases[i].quotient))
            assert_true(isnan(quotient));
        else
            assert_absolute(quotient, cases[i].quotient, 1e-12);
    }
}

#define REAL(of, set, setting) OF(of, setting) "\"measured\": \"" set "\", "
#define SIXTEEN(of) REAL(of, "AlpaServe on 16 V100s", "at/replicas-x3") /* 49.5 % in time */

/* One seed is judged if nothing is random. */
CASE(a_claim_may_be_held_against_a_real_run)
{
#define POINTS "\"low\": -2, \"high\": 2"
    assert_claim(HITS("real") SIXTEEN("nexus") POINTS "}", 48, 0, CLAIM_SHOWN);
    assert_claim(HITS("real") SIXTEEN("nexus") "\"low\": -1}", 48, 0, CLAIM_CONTRADICTED);
    assert_claim(HITS("real") SIXTEEN("edf") POINTS "}", 40, NAN, CLAIM_NOT_SHOWN);
    assert_claim(HITS("real") SIXTEEN("edf") POINTS ", \"deterministic\": true}", 40, NAN,
                 CLAIM_CONTRADICTED);
}

/* The measured latencies count as their mean. */
CASE(latencies_of_a_real_run_are_read_as_their_mean_and_limits_in_per_cent)
{
    struct expectations *claims = must(
        load(CLAIMS("{" HEAD
                    "\"group\": \"real\", \"metric\": \"latency_ms_mean\", \"low\": -2.5, " REAL(
                        "a", "AlpaServe on two V100s", "bert-2.6b-apart") "\"note\": \"\"}"),
             hear()));
    JSON *root = json_parse_file("results/reality/runs.json", hear());
    const cJSON *one = NULL, *list = json_at(root, "sets/0/measured/bert-2.6b-apart");
    double sum = 0;
    cJSON_ArrayForEach(one, list) sum += one->valuedouble;
    sum /= cJSON_GetArraySize(list);
    assert_relative(claims->list[0].real, sum, 1e-12);
    assert_relative(claims->list[0].low, 0.975 * sum, 1e-12);
    arena_home_free(claims);
}

/* Values of one application are 1 / 0.8 of those of all together. */
CASE(a_claim_of_one_application_and_of_two_settings)
{
    assert_claim(HITS("size") OF("clockwork", "light") "\"application\": \"classification\", "
                                                       "\"low\": 59}",
                 60, 0, CLAIM_SHOWN);
    assert_claim(HITS("size") OF("clockwork", "light")
                     AGAINST("clockwork", "heavy") "\"low\": 1.9, \"high\": 2.1}",
                 2, 0, CLAIM_SHOWN);
}

/* A setting by the keys that the sweep sets, in any order. 80 % of the requests are in time and
 * none is dropped: 20 % are late, and miss. */
CASE(a_setting_may_be_named_by_its_keys)
{
    assert_claim(HITS("size") OF("llf", "requests=9 slo.factor=4")
                     AGAINST("llf", "slo.factor=2 requests=9") "\"low\": 2}",
                 2, 0, CLAIM_SHOWN);
    assert_claim("{" HEAD "\"group\": \"self-check\", \"metric\": \"late_rate\", " OF(
                     "llf", "requests=9 slo.factor=4") "\"low\": 20, \"high\": 20}",
                 20, 0, CLAIM_SHOWN);
    assert_claim("{" HEAD "\"group\": \"self-check\", \"metric\": \"miss_rate\", " OF(
                     "llf", "requests=9 slo.factor=4") "\"low\": 20, \"high\": 20}",
                 20, 0, CLAIM_SHOWN);
}

/* Half of the GPUs' capacity is held for 100 s, and a fifth of the GPUs in use is free: 62.5 s. */
CASE(the_time_of_gpus_in_use_follows_from_what_they_hold)
{
    CLOSED(judged_clear) struct judged judged = {0};
    judge(&judged, CLAIMS("{" HEAD "\"group\": \"size\", \"metric\": \"gpu_use_s\", " OF(
                       "clockwork", "light") "\"low\": 0}"));
    struct estimate ours = {0};
    for (size_t i = 0; i < judged.results->run_count; i++) {
        judged.results->runs[i].run.gpu_fragmentation = 0.2;
        judged.results->runs[i].run.simulated_s = 100;
    }
    assert_true(claim_estimate(judged.report, &judged.claims->list[0], &ours, hear()));
    assert_absolute(ours.mean, 62.5, 1e-9);
}

/* A measure of trainings is known, and has no value where there are none. */
CASE(a_claim_may_be_of_trainings)
{
    assert_claim("{" HEAD "\"group\": \"size\", \"metric\": \"jct_s_mean\", " OF(
                     "clockwork", "light") "\"low\": 0}",
                 NAN, NAN, CLAIM_NOT_SHOWN);
}

CASE(runs_that_are_not_there_and_runs_in_several_settings_are_refused)
{
    static const struct refusal wrong[] = {
        {HITS("size") OF("clockwork max_batch=8", "light") "\"low\": 1}",
         "claims[0].of: s.json has no runs of \"clockwork max_batch=8\" in setting \"light\""},
        {HITS("size") OF("clockwork", "light") AGAINST("nexus", "light") "\"low\": 1}",
         "claims[0].against: s.json has no runs of \"nexus\""},
        {HITS("size") "\"of\": {\"policy\": \"clipper\"}, \"low\": 1}",
         "claims[0].of: s.json has several runs of \"clipper\"; name the setting"},
        {HITS("size") OF("clipper", "light") "\"application\": \"none\", \"low\": 1}",
         "claims[0].application: s.json has no application 'none'; the first is 'classification'"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CLOSED(judged_clear) struct judged judged = {0};
        struct estimate ours = {0};
        judge(&judged, formatted(CLAIMS("%s"), wrong[i].text));
        assert_bad_input(claim_estimate(judged.report, &judged.claims->list[0], &ours, hear()),
                         wrong[i].words);
    }
}

CASE(faults_of_the_file_are_named_with_their_place)
{
    static const struct refusal wrong[] = {
        {CLAIMS(HITS("sure") OF("a", "b") "\"low\": 1}"), "claims[0].group: "},
        {CLAIMS("{" HEAD
                "\"group\": \"size\", \"metric\": \"slo_hit_rat\", " OF("a", "b") "\"low\": "
                                                                                  "1}"),
         "claims[0].metric: unknown metric 'slo_hit_rat'; did you mean slo_hit_rate"},
        {CLAIMS(HITS("size") OF("a", "b") "\"low\": 2, \"high\": 1}"),
         "claims[0]: low 2 is above high 1"},
        {CLAIMS(HITS("size") OF("a", "b") "\"high\": 101}"),
         "claims[0]: slo_hit_rate is a share; \"low\" and \"high\" are 0 to 100"},
        {CLAIMS(HITS("size") OF("a", "b") "\"note\": \"\"}"),
         "claims[0]: has no expectation; give \"low\", \"high\" or both, in %"},
        {CLAIMS(HITS("size") OF("a", "b") "\"formula\": \"ratio\", \"low\": 1}"),
         "claims[0]: a ratio needs \"against\""},
        {CLAIMS(HITS("size") OF("a", "b") AGAINST("c", "b") "\"formula\": \"value\", \"low\": 1}"),
         "claims[0]: a value is of one policy"},
        {CLAIMS(HITS("size") "\"low\": 1}"), "claims[0]: "},
        {CLAIMS(HITS("sign") OF("a", "b") "\"low\": 1}"), "claims[0]: a sign needs \"against\""},
        {CLAIMS(HITS("size") OF("a", "b") "\"against\": {\"policy\": \"c\"}, \"low\": 1}"),
         "claims[0]: \"mechanism\" and \"differs\" say what differs from \"against\""},
        {CLAIMS(HITS("size") OF("a", "b") "\"mechanism\": \"m\", \"low\": 1}"),
         "claims[0]: \"mechanism\" and \"differs\" say"},
        {CLAIMS(HITS("real") OF("a", "b") "\"low\": 1}"), "claims[0]: a claim of the group real"},
        {CLAIMS(HITS("real") SIXTEEN("a") AGAINST("c", "b") "\"low\": 1}"),
         "claims[0]: a claim of the group real"},
        {CLAIMS(HITS("size") SIXTEEN("a") "\"low\": 1}"), "claims[0]: a claim of the group real"},
        {CLAIMS(HITS("real") REAL("a", "AlpaServe", "x") "\"low\": 1}"),
         "results/reality/runs.json has no slo_hit_rate of \"AlpaServe\" in setting \"x\""},
        {CLAIMS(HITS("real") REAL("a", "AlpaServe on two V100s", "bert-2.6b-apart") "\"low\": 1}"),
         "claims[0]: results/reality/runs.json has no slo_hit_rate of"},
        {CLAIMS(HITS("size") OF("a", "b") "\"lo\": 1}"), "claims[0]: unknown key \"lo\""},
        {CLAIMS(HITS("size") "\"of\": {\"plicy\": \"a\"}, \"low\": 1}"),
         "claims[0].of: unknown key \"plicy\""},
        {CLAIMS(""), "claims: "},
        {"{\"title\": \"t\"}", "claims"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_bad_input(load(wrong[i].text, hear()), "/esgsim-test-");
        assert_contains(heard.message, wrong[i].words);
    }
}

CASE(self_checks_come_first_and_signs_last)
{
    CLOSED(judged_clear) struct judged judged = {0};
    struct estimate ours[3];
    judge(&judged,
          CLAIMS(HITS("sign") OF("clockwork", "heavy")
                     AGAINST("clipper", "heavy") "\"low\": 1.1, \"note\": \"n\"}," HITS("size")
                         OF("clockwork max_batch=32", "light") AGAINST(
                             "clipper", "light") "\"low\": 4.25, \"high\": 4.25, "
                                                 "\"note\": \"few\"}," HITS("self-check")
                                                     OF("clockwork",
                                                        "light") "\"low\": 48, \"high\": 48}"));
    for (size_t c = 0; c < 3; c++)
        assert_true(claim_estimate(judged.report, &judged.claims->list[c], &ours[c], hear()));
    MEMORY_STREAM(out, text);
    assert_true(claims_text(judged.claims, ours, true, out, hear()));
    assert_int_equal(fclose(out), 0);
    static const char *const order[] = {
        "\n== self-check",
        "\nS: c\n  published: 2x [published]\n  shown                 48.00 \xC2\xB1 0.00 %        "
        "  48 %                -       slo_hit_rate: clockwork in light\n",
        "self-check: 1 of 1 shown, 0 not shown, 0 contradicted\n",
        "\n== size",
        "\nS: c\n  published: 2x [published]\n  differs in: m (k)\n"
        "  sign only             2.125 \xC2\xB1 0.311 x         4.25 x              0.50    "
        "slo_hit_rate: clockwork max_batch=32 / clipper in light\n  why: few\n",
        "size: 0 of 1 shown, 1 in sign only, 0 not shown, 0 contradicted\n",
        "\n== sign",
        "\n  contradicted          0.7500 \xC2\xB1 0.0000 x       at least 1.1 x      0.68    "
        "slo_hit_rate: clockwork / clipper in heavy\n  why: n\n",
        "sign: 0 of 1 shown, 0 not shown, 1 contradicted\n",
        "\n== sources and notes",
        "  note: n\n",
    };
    assert_in_order(text, order, sizeof order / sizeof order[0]);
    free(text);
    JSON *made = claims_json(judged.claims, ours);
    text = cJSON_Print(made);
    JSON *root = cJSON_Parse(text);
    const cJSON *claim = json_at(root, "claims/0");
    assert_string_equal(json_at(claim, "verdict")->valuestring, "contradicted");
    assert_string_equal(json_at(claim, "standing")->valuestring, "below");
    assert_string_equal(json_at(claim, "evidence")->valuestring, "published");
    assert_string_equal(json_at(claim, "mechanism")->valuestring, "m");
    assert_absolute(json_at(claim, "ours_by_published")->valuedouble, 0.75 / 1.1, 1e-12);
    assert_absolute(json_at(claim, "mean")->valuedouble, 0.75, 1e-12);
    assert_true(cJSON_IsNull(json_at(claim, "high")));
    assert_int_equal(json_at(claim, "seeds")->valueint, 3);
    free(text);
}

/* ---- The shipped claims ---------------------------------------------------------------------- */

/* The resolved configuration of the only run of the sweep with that policy, in that setting. */
static cJSON *configuration(const struct sweep *sweep, const struct report *report,
                            const char *policy, const char *setting)
{
    for (size_t s = 0; s < report->scenario_count; s++) {
        const struct report_scenario *scenario = &report->scenarios[s];
        if (setting != NULL && !report_is_setting(report, scenario, setting))
            continue;
        for (size_t c = 0; c < scenario->contender_count; c++)
            if (report_is_contender(&scenario->contenders[c], policy)) {
                struct experiment *one = must(sweep_experiment(
                    sweep, scenario->contenders[c].runs[0] * sweep->seeds, hear()));
                cJSON *root = cJSON_Parse(one->resolved_json);
                experiment_free(one);
                return root;
            }
    }
    fail_msg("%s is not in the sweep", policy);
    return NULL;
}

/* Whether the path is that of one of the words, or within it; counts what each word covers. */
static bool covered(const char *words, const char *path, unsigned *used)
{
    unsigned word = 0;
    for (const char *at = words; *at != '\0'; word++) {
        const size_t length = strcspn(at, " ");
        if (strncmp(at, path, length) == 0 && (path[length] == '.' || path[length] == '\0')) {
            *used |= 1u << word;
            return true;
        }
        at += length + strspn(at + length, " ");
    }
    return false;
}

/* Both sides of the claim have the same at the path, or one of its words covers it. Entries of
 * arrays of one size have the path of the array. */
static void assert_same(const struct expectation *claim, const cJSON *one, const cJSON *other,
                        const char *path, unsigned *used)
{
    if (cJSON_Compare(one, other, true) || covered(claim->differs, path, used))
        return;
    const bool objects = cJSON_IsObject(one) && cJSON_IsObject(other);
    if (!objects && !(cJSON_IsArray(one) && cJSON_IsArray(other) &&
                      cJSON_GetArraySize(one) == cJSON_GetArraySize(other)))
        fail_msg("%s: %s: the sides differ in %s, too", claim->file, claim->text, path);
    for (int side = 0; side < 2; side++)
        for (const cJSON *a = side == 0 ? one->child : other->child; a != NULL; a = a->next) {
            char inner[256];
            const cJSON *b = cJSON_GetObjectItemCaseSensitive(side == 0 ? other : one, a->string);
            if (objects)
                snprintf(inner, sizeof inner, "%s%s%s", path, *path == '\0' ? "" : ".", a->string);
            if (objects && (side == 0 || b == NULL))
                assert_same(claim, a, b, inner, used);
        }
    const cJSON *b = objects ? NULL : other->child;
    for (const cJSON *a = b == NULL ? NULL : one->child; a != NULL; a = a->next, b = b->next)
        assert_same(claim, a, b, path, used);
}

/* The runs of the sweep with seed 1, without figures, as `claims` finds the sides of a claim. */
static void runs_name(const struct sweep *sweep, struct results *results)
{
    for (size_t run = 0; run < sweep->run_count; run += sweep->seeds) {
        struct plan plan = {0};
        assert_good(plan_load(sweep, run, &plan, hear()));
        struct summary_row *row = &results->runs[results->run_count++];
        *row = (struct summary_row){.seed = 1};
        store_name_summary(row, plan.metadata);
        plan_clear(&plan);
    }
}

CASE(the_sides_of_each_shipped_claim_differ_in_nothing_but_the_named_keys)
{
    struct expectations *claims =
        must(expectations_load("results/paper/known-for.json", EXPECTATION_CLAIMS, hear()));
    size_t compared = 0;
    for (size_t c = 0; claims != NULL && c < claims->count; c++) {
        const struct expectation *claim = &claims->list[c];
        if (claim->other == NULL)
            continue;
        OWNED(sweep_free) struct sweep *sweep = must(sweep_load(claim->sweep, NULL, 0, hear()));
        struct summary_row *rows = calloc(sweep->run_count, sizeof *rows);
        struct results results = {.runs = rows, .path = ""};
        runs_name(sweep, &results);
        struct report *report = report_build(&results);
        cJSON *one = configuration(sweep, report, claim->policy, claim->setting);
        cJSON *other = configuration(sweep, report, claim->other, claim->against_setting);
        unsigned used = 0, words = 1;
        assert_same(claim, one, other, "", &used);
        for (const char *at = claim->differs; (at = strchr(at, ' ')) != NULL; at++)
            words++;
        if (used != (1u << words) - 1)
            fail_msg("%s: %s: a key of \"%s\" does not differ", claim->file, claim->text,
                     claim->differs);
        compared++;
        cJSON_Delete(one);
        cJSON_Delete(other);
        arena_home_free(report);
        free(rows);
    }
    assert_true(compared > 30);
    arena_home_free(claims);
}

/* At least five seeds for each that draws numbers, a source, and a cause where it may be needed. A
 * factor near 1 would hide that a size is not shown. */
CASE(the_shipped_claims_have_sources_and_five_seeds)
{
    struct expectations *claims =
        must(expectations_load("results/paper/known-for.json", EXPECTATION_CLAIMS, hear()));
    for (size_t c = 0; claims != NULL && c < claims->count; c++) {
        const struct expectation *claim = &claims->list[c];
        assert_true(strlen(claim->source) > 10);
        assert_non_null(claim->expected);
        const bool ratio = claim->group == CLAIM_SIZE && claim->comparison == PAIRED_RATIO;
        assert_false(ratio && claim->low >= 1 && claim->low < CLAIM_FACTOR);
        assert_false(ratio && claim->high <= 1 && claim->high > 1 / CLAIM_FACTOR);
        OWNED(sweep_free) struct sweep *sweep = must(sweep_load(claim->sweep, NULL, 0, hear()));
        if (sweep->seeds < 5 && !claim->deterministic)
            fail_msg("%s has fewer than 5 seeds", claim->sweep);
    }
    arena_home_free(claims);
}

SUITE("claims")
