/* Verdicts on claims, over made-up runs whose figures are known, and the files of claims. */
#include <cjson/cJSON.h>

#include "results/report/claim.h"
#include "sim/base/json.h"
#include "tests/fixture_results.h"
#include "tests/suite.h"
#include "workloads/experiment.h"

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
    char path[] = "/tmp/esgsim-claims-XXXXXX";
    write_temporary(path, text);
    struct expectations *claims = expectations_load(path, EXPECTATION_CLAIMS, error);
    unlink(path);
    return claims;
}

#define HEAD                                                                                       \
    "\"system\": \"S\", \"claim\": \"c\", \"published\": \"2x\", \"evidence\": \"published\", "    \
    "\"source\": \"s\", \"sweep\": \"s.json\", "
#define CLAIMS(list) "{\"title\": \"t\", \"claims\": [" list "]}"
#define HITS(kind) "{" HEAD "\"kind\": \"" kind "\", \"metric\": \"slo_hit_rate\", "
#define OF(policy, setting) "\"of\": {\"policy\": \"" policy "\", \"setting\": \"" setting "\"}, "
#define AGAINST(policy, setting)                                                                   \
    "\"against\": {\"policy\": \"" policy "\", \"setting\": \"" setting "\"}, "

static void judge(struct judged *judged, const char *claims)
{
    struct error error = {0};
    judged->results = fixture_results(runs, RUNS);
    assert_non_null(judged->results);
    judged->report = report_build(judged->results);
    judged->claims = load(claims, &error);
    if (judged->report == NULL || judged->claims == NULL)
        fail_msg("%s", error.message);
}

static void judged_clear(struct judged *judged)
{
    expectations_free(judged->claims);
    report_free(judged->report);
    results_free(judged->results);
}

static void assert_claim(const char *claim, double mean, double half_width,
                         enum claim_verdict verdict)
{
    char text[2048];
    CLOSED(judged_clear) struct judged judged = {0};
    struct error error = {0};
    struct estimate ours = {0};
    snprintf(text, sizeof text, CLAIMS("%s"), claim);
    judge(&judged, text);
    assert_good(claim_estimate(judged.report, &judged.claims->list[0], &ours, &error), &error);
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
CASE(a_claim_is_shown_if_the_whole_interval_is_in_the_range)
{
    /* 64 / 32, 68 / 32, 72 / 32: 2.125 ± 4.3027 × 0.125 / √3. */
    assert_claim(HITS("paired") OF("clockwork max_batch=32", "light")
                     AGAINST("clipper", "light") "\"low\": 1.5}",
                 2.125, 0.3105, CLAIM_SHOWN);
    assert_claim(HITS("paired") OF("clockwork max_batch=32", "light") AGAINST(
                     "clipper", "light") "\"formula\": \"difference\", \"low\": 20, \"high\": 50}",
                 36, 9.936, CLAIM_SHOWN);
    /* A share: Wilson's, 0.582 to 0.777. */
    assert_claim(HITS("exact") OF("clockwork max_batch=32", "light") "\"low\": 50}", 68, 9.750,
                 CLAIM_SHOWN);
    assert_claim(HITS("exact") OF("fifo", "heavy") "\"high\": 0}", 0, 0, CLAIM_SHOWN);
}

CASE(the_right_sign_and_another_size_is_not_shown)
{
    /* Undecided, below and above a range on the same side of 1. */
    assert_claim(HITS("paired") OF("clockwork max_batch=32", "light")
                     AGAINST("clipper", "light") "\"low\": 2}",
                 2.125, 0.3105, CLAIM_NOT_SHOWN);
    assert_claim(HITS("paired") OF("clockwork", "light") AGAINST("clipper", "light") "\"low\": 2}",
                 1.5, 0, CLAIM_NOT_SHOWN);
    assert_claim(HITS("paired") OF("clockwork", "light")
                     AGAINST("clipper", "light") "\"low\": 1.1, \"high\": 1.2}",
                 1.5, 0, CLAIM_NOT_SHOWN);
    /* Claimed to be less, and less than claimed. */
    assert_claim(HITS("open") OF("clockwork", "heavy")
                     AGAINST("clipper", "heavy") "\"low\": 0.8, \"high\": 0.9}",
                 0.75, 0, CLAIM_NOT_SHOWN);
    assert_claim(HITS("open") OF("clockwork", "heavy") AGAINST("clipper", "heavy") "\"high\": 0.5}",
                 0.75, 0, CLAIM_NOT_SHOWN);
    /* Exactly no effect has no sign. */
    assert_claim(HITS("open") OF("clipper", "heavy") AGAINST("clipper", "light") "\"low\": 1.2}", 1,
                 0, CLAIM_NOT_SHOWN);
}

CASE(the_other_sign_contradicts)
{
    assert_claim(HITS("paired") OF("clockwork", "heavy")
                     AGAINST("clipper", "heavy") "\"low\": 1.1}",
                 0.75, 0, CLAIM_CONTRADICTED);
    assert_claim(HITS("paired") OF("clockwork", "heavy")
                     AGAINST("clipper", "heavy") "\"formula\": \"difference\", \"low\": 0}",
                 -8, 0, CLAIM_CONTRADICTED);
    assert_claim(HITS("paired") OF("clockwork", "light")
                     AGAINST("clipper", "light") "\"high\": 0.9}",
                 1.5, 0, CLAIM_CONTRADICTED);
}

CASE(a_claim_without_a_sign_is_contradicted_outside_its_range)
{
    /* A value of one policy, an exact ratio, and a range that includes no effect. */
    assert_claim(HITS("open") OF("clockwork", "light") "\"low\": 49, \"high\": 51}", 48, 0,
                 CLAIM_CONTRADICTED);
    assert_claim(HITS("exact") OF("clockwork", "light")
                     AGAINST("clipper", "light") "\"low\": 1.6, \"high\": 1.7}",
                 1.5, 0, CLAIM_CONTRADICTED);
    assert_claim(HITS("paired") OF("clockwork", "light")
                     AGAINST("clipper", "light") "\"low\": 0.9, \"high\": 1.1}",
                 1.5, 0, CLAIM_CONTRADICTED);
}

CASE(without_an_interval_nothing_is_shown)
{
    assert_claim(HITS("paired") OF("edf", "heavy") AGAINST("clipper", "heavy") "\"low\": 1.1}",
                 1.25, NAN, CLAIM_NOT_SHOWN);
    /* A ratio to a hit rate of 0. */
    assert_claim(HITS("paired") OF("clipper", "heavy") AGAINST("fifo", "heavy") "\"low\": 1.1}",
                 NAN, NAN, CLAIM_NOT_SHOWN);
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
    struct error error = {0};
    struct expectations *claims = load(
        CLAIMS("{" HEAD "\"kind\": \"real\", \"metric\": \"latency_ms_mean\", \"low\": -2.5, " REAL(
            "a", "AlpaServe on two V100s", "bert-2.6b-apart") "\"note\": \"\"}"),
        &error);
    assert_good(claims != NULL, &error);
    cJSON *root = json_parse_file("results/reality/runs.json", &error);
    const cJSON *one = NULL,
                *list = cJSON_GetObjectItem(
                    cJSON_GetObjectItem(cJSON_GetArrayItem(cJSON_GetObjectItem(root, "sets"), 0),
                                        "measured"),
                    "bert-2.6b-apart");
    double sum = 0;
    cJSON_ArrayForEach(one, list) sum += one->valuedouble;
    sum /= cJSON_GetArraySize(list);
    assert_relative(claims->list[0].real, sum, 1e-12);
    assert_relative(claims->list[0].low, 0.975 * sum, 1e-12);
    cJSON_Delete(root);
    expectations_free(claims);
}

/* Values of one application are 1 / 0.8 of those of all together. */
CASE(a_claim_of_one_application_and_of_two_settings)
{
    assert_claim(HITS("open") OF("clockwork", "light") "\"application\": \"classification\", "
                                                       "\"low\": 59}",
                 60, 0, CLAIM_SHOWN);
    assert_claim(HITS("open") OF("clockwork", "light")
                     AGAINST("clockwork", "heavy") "\"low\": 1.9, \"high\": 2.1}",
                 2, 0, CLAIM_SHOWN);
}

/* A setting by the keys that the sweep sets, in any order. 80 % of the requests are in time and
 * none is dropped: 20 % are late. */
CASE(a_setting_may_be_named_by_its_keys)
{
    assert_claim(HITS("open") OF("llf", "requests=9 slo.factor=4")
                     AGAINST("llf", "slo.factor=2 requests=9") "\"low\": 2}",
                 2, 0, CLAIM_SHOWN);
    assert_claim("{" HEAD "\"kind\": \"exact\", \"metric\": \"late_rate\", " OF(
                     "llf", "requests=9 slo.factor=4") "\"low\": 20, \"high\": 20}",
                 20, 0, CLAIM_SHOWN);
}

/* Half of the GPUs' capacity is held for 100 s, and a fifth of the GPUs in use is free: 62.5 s. */
CASE(the_time_of_gpus_in_use_follows_from_what_they_hold)
{
    CLOSED(judged_clear) struct judged judged = {0};
    judge(&judged, CLAIMS("{" HEAD "\"kind\": \"open\", \"metric\": \"gpu_use_s\", " OF(
                       "clockwork", "light") "\"low\": 0}"));
    struct error error = {0};
    struct estimate ours = {0};
    for (size_t i = 0; i < judged.results->run_count; i++) {
        judged.results->runs[i].run.gpu_fragmentation = 0.2;
        judged.results->runs[i].run.simulated_s = 100;
    }
    assert_true(claim_estimate(judged.report, &judged.claims->list[0], &ours, &error));
    assert_absolute(ours.mean, 62.5, 1e-9);
}

/* A measure of trainings is known, and has no value where there are none. */
CASE(a_claim_may_be_of_trainings)
{
    assert_claim("{" HEAD "\"kind\": \"open\", \"metric\": \"jct_s_mean\", " OF(
                     "clockwork", "light") "\"low\": 0}",
                 NAN, NAN, CLAIM_NOT_SHOWN);
}

CASE(runs_that_are_not_there_and_runs_in_several_settings_are_refused)
{
    static const char *const wrong[][2] = {
        {HITS("open") OF("clockwork max_batch=8", "light") "\"low\": 1}",
         "claims[0].of: s.json has no runs of \"clockwork max_batch=8\" in setting \"light\""},
        {HITS("open") OF("clockwork", "light") AGAINST("nexus", "light") "\"low\": 1}",
         "claims[0].against: s.json has no runs of \"nexus\""},
        {HITS("open") "\"of\": {\"policy\": \"clipper\"}, \"low\": 1}",
         "claims[0].of: s.json has several runs of \"clipper\"; name the setting"},
        {HITS("open") OF("clipper", "light") "\"application\": \"none\", \"low\": 1}",
         "claims[0].application: s.json has no application 'none'; the first is 'classification'"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char text[2048];
        CLOSED(judged_clear) struct judged judged = {0};
        struct error error = {0};
        struct estimate ours = {0};
        snprintf(text, sizeof text, CLAIMS("%s"), wrong[i][0]);
        judge(&judged, text);
        assert_false(claim_estimate(judged.report, &judged.claims->list[0], &ours, &error));
        assert_input_error(&error, wrong[i][1]);
    }
}

CASE(faults_of_the_file_are_named_with_their_place)
{
    static const char *const wrong[][2] = {
        {CLAIMS(HITS("sure") OF("a", "b") "\"low\": 1}"), "claims[0].kind: "},
        {CLAIMS("{" HEAD
                "\"kind\": \"open\", \"metric\": \"slo_hit_rat\", " OF("a", "b") "\"low\": "
                                                                                 "1}"),
         "claims[0].metric: unknown metric 'slo_hit_rat'; did you mean slo_hit_rate"},
        {CLAIMS(HITS("open") OF("a", "b") "\"low\": 2, \"high\": 1}"),
         "claims[0]: low 2 is above high 1"},
        {CLAIMS(HITS("open") OF("a", "b") "\"high\": 101}"),
         "claims[0]: slo_hit_rate is a share; \"low\" and \"high\" are 0 to 100"},
        {CLAIMS(HITS("open") OF("a", "b") "\"note\": \"\"}"),
         "claims[0]: has no expectation; give \"low\", \"high\" or both, in %"},
        {CLAIMS(HITS("open") OF("a", "b") "\"formula\": \"ratio\", \"low\": 1}"),
         "claims[0]: a ratio needs \"against\""},
        {CLAIMS(HITS("open") OF("a", "b") AGAINST("c", "b") "\"formula\": \"value\", \"low\": 1}"),
         "claims[0]: a value is of one policy"},
        {CLAIMS(HITS("open") "\"low\": 1}"), "claims[0]: "},
        {CLAIMS(HITS("real") OF("a", "b") "\"low\": 1}"), "claims[0]: a claim of kind real"},
        {CLAIMS(HITS("real") SIXTEEN("a") AGAINST("c", "b") "\"low\": 1}"),
         "claims[0]: a claim of kind real"},
        {CLAIMS(HITS("open") SIXTEEN("a") "\"low\": 1}"), "claims[0]: a claim of kind real"},
        {CLAIMS(HITS("real") REAL("a", "AlpaServe", "x") "\"low\": 1}"),
         "results/reality/runs.json has no slo_hit_rate of \"AlpaServe\" in setting \"x\""},
        {CLAIMS(HITS("real") REAL("a", "AlpaServe on two V100s", "bert-2.6b-apart") "\"low\": 1}"),
         "claims[0]: results/reality/runs.json has no slo_hit_rate of"},
        {CLAIMS(HITS("open") OF("a", "b") "\"lo\": 1}"), "claims[0]: unknown key \"lo\""},
        {CLAIMS(HITS("open") "\"of\": {\"plicy\": \"a\"}, \"low\": 1}"),
         "claims[0].of: unknown key \"plicy\""},
        {CLAIMS(""), "claims: "},
        {"{\"title\": \"t\"}", "claims"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct error error = {0};
        assert_null(load(wrong[i][0], &error));
        assert_input_error(&error, "/esgsim-claims-");
        assert_contains(error.message, wrong[i][1]);
    }
}

CASE(exact_claims_come_first_and_open_ones_last)
{
    CLOSED(judged_clear) struct judged judged = {0};
    struct error error = {0};
    struct estimate ours[3];
    judge(&judged, CLAIMS(HITS("open") OF("clockwork", "heavy")
                              AGAINST("clipper", "heavy") "\"low\": 1.1}," HITS("paired")
                                  OF("clockwork max_batch=32", "light")
                                      AGAINST("clipper", "light") "\"low\": 2}," HITS("exact")
                                          OF("clockwork", "light") "\"low\": 48, \"high\": 48, "
                                                                   "\"note\": \"n\"}"));
    for (size_t c = 0; c < 3; c++)
        assert_true(claim_estimate(judged.report, &judged.claims->list[c], &ours[c], &error));
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_true(claims_text(judged.claims, ours, true, out, &error));
    assert_int_equal(fclose(out), 0);
    static const char *const order[] = {
        "\n== exact",
        "\nS: c\n  published: 2x [published]\n  shown                 48.00 \xC2\xB1 0.00 %        "
        "  "
        "48 to 48 "
        "%          slo_hit_rate: clockwork in light\n",
        "exact: 1 of 1 shown, 0 not shown, 0 contradicted\n",
        "\n== paired",
        "\n  not shown (undecided) 2.125 \xC2\xB1 0.311 x         at least 2 x        "
        "slo_hit_rate: "
        "clockwork max_batch=32 / clipper in light\n",
        "\n== open",
        "\n  contradicted          0.7500 \xC2\xB1 0.0000 x       at least 1.1 x      "
        "slo_hit_rate: "
        "clockwork / clipper in heavy\n",
        "open: 0 of 1 shown, 0 not shown, 1 contradicted\n",
        "\n== sources and notes",
        "  note: n\n",
    };
    const char *at = text;
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        at = strstr(at, order[i]);
        if (at == NULL) {
            fail_msg("not found in its place: %s\nin:\n%s", order[i], text);
            break;
        }
    }
    free(text);
    JSON *made = claims_json(judged.claims, ours);
    text = cJSON_Print(made);
    JSON *root = cJSON_Parse(text);
    const cJSON *claim = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "claims"), 2);
    assert_string_equal(cJSON_GetObjectItem(claim, "verdict")->valuestring, "contradicted");
    assert_string_equal(cJSON_GetObjectItem(claim, "standing")->valuestring, "below");
    assert_string_equal(cJSON_GetObjectItem(claim, "evidence")->valuestring, "published");
    assert_absolute(cJSON_GetObjectItem(claim, "mean")->valuedouble, 0.75, 1e-12);
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(claim, "high")));
    assert_int_equal(cJSON_GetObjectItem(claim, "seeds")->valueint, 3);
    free(text);
}

/* The acceptance of the shipped claims: at least five seeds for each that draws numbers, a source,
 * no repetition. */
CASE(the_shipped_claims_have_sources_and_five_seeds)
{
    struct error error = {0};
    struct expectations *claims =
        expectations_load("results/paper/known-for.json", EXPECTATION_CLAIMS, &error);
    assert_good(claims != NULL, &error);
    for (size_t c = 0; claims != NULL && c < claims->count; c++) {
        const struct expectation *claim = &claims->list[c];
        assert_true(strlen(claim->source) > 10);
        assert_non_null(claim->expected);
        OWNED(sweep_free) struct sweep *sweep = sweep_load(claim->sweep, NULL, 0, &error);
        assert_good(sweep != NULL, &error);
        if (sweep->seeds < 5 && !claim->deterministic)
            fail_msg("%s has fewer than 5 seeds", claim->sweep);
    }
    expectations_free(claims);
}

SUITE("claims")
