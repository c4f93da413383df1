/* Reports over a made-up results file: exact text, figures worked out by hand, CSV and JSON. */
#include <cjson/cJSON.h>

#include "results/expect/reproduction_check.h"
#include "results/page/csv.h"
#include "results/page/report_columns.h"
#include "results/report/table.h"
#include "tests/fixture_report.h"

/* FIFO's runs come in another order of seeds. */
static const struct fixture light[] = {
    FIXTURE_ESG_RUNS,
    FIXTURE_FIFO_RUN_3,
    FIXTURE_FIFO_RUN_1,
    FIXTURE_FIFO_RUN_2,
    {"heavy", "esg", "policy.name=esg setting=heavy policy.params.k=5", 1, 0.7, 0.0004,
     RECORD_SUMMARY},
    {"heavy", "esg", "policy.name=esg setting=heavy policy.params.k=10", 1, 0.8, 0.0004,
     RECORD_SUMMARY},
};
enum { LIGHT = sizeof light / sizeof light[0] };

/* On a difference the text is printed, so that a wanted change can be seen and taken over. */
static void assert_golden(const char *text, const char *path)
{
    STRING *expected = file_text(path);
    if (strcmp(text, expected) != 0) {
        (void)fputs(text, stderr);
        fail_msg("the report differs from %s", path);
    }
}

CASE(the_text_is_exactly_as_expected)
{
    OPENED opened = report_open(light, LIGHT, NULL);
    STRING *text = printed(&opened, report_text);
    assert_golden(text, "tests/golden/report.txt");
}

CASE(the_text_without_details_ends_with_the_overview)
{
    OPENED opened = report_open(light, LIGHT, NULL);
    opened.report->details = false;
    STRING *text = printed(&opened, report_text);
    assert_contains(text, "\nOverview: ");
    assert_contains(text, "\n--details prints the tables of all 2 settings\n");
    assert_null(strstr(text, "How to read the tables"));
    opened.report->compares = true;
    STRING *compared = printed(&opened, report_text);
    assert_contains(compared, "\nPaired by seed");
    assert_null(strstr(compared, "How to read the tables"));
}

/* FIFO of seed 3 from one module, of seed 1 from another, of seed 2 the program's own. */
static void give_modules(struct results *results)
{
    (void)snprintf(results->runs[3].policy_sha256, sizeof results->runs[3].policy_sha256,
                   "aaaaaaaa11");
    (void)snprintf(results->runs[4].policy_sha256, sizeof results->runs[4].policy_sha256,
                   "bbbbbbbb22");
}

CASE(policies_of_one_name_from_several_modules_are_not_pooled)
{
    OPENED opened = report_open(light, LIGHT, give_modules);
    const struct report_scenario *scenario = &opened.report->scenarios[0];
    assert_int_equal(scenario->contender_count, 4);
    assert_string_equal(scenario->contenders[1].title, "fifo sha256=aaaaaaaa");
    assert_string_equal(scenario->contenders[2].title, "fifo sha256=bbbbbbbb");
    assert_string_equal(scenario->contenders[3].title, "fifo");
    for (size_t c = 1; c < 4; c++)
        assert_int_equal(scenario->contenders[c].run_count, 1);
}

static void give_labels(struct results *results)
{
    for (size_t i = 0; i < results->run_count; i++) {
        struct summary_row *run = &results->runs[i];
        const bool esg = strcmp(run->policy, "esg") == 0;
        (void)snprintf(run->policy_label, sizeof run->policy_label, "%s", esg ? "ESG" : "");
        (void)snprintf(run->setting_label, sizeof run->setting_label, "%s",
                       strcmp(run->setting, "light") == 0 ? "Light load" : "");
    }
}

CASE(labels_are_what_is_shown)
{
    OPENED opened = report_open(light, LIGHT, give_labels);
    const struct report_scenario *first = &opened.report->scenarios[0];
    const struct report_scenario *second = &opened.report->scenarios[1];
    assert_string_equal(first->title, "Light load");
    assert_string_equal(first->contenders[0].title, "ESG");
    assert_string_equal(first->contenders[1].title, "fifo");
    /* One label for two sets of parameters: what differs follows it. */
    assert_string_equal(second->title, "heavy");
    assert_string_equal(second->contenders[0].title, "ESG k=5");
    assert_string_equal(second->contenders[1].title, "ESG k=10");
    assert_prints(&opened, report_csv, ",assumed,,Light load,ESG,");
}

static void take_a_latency(struct results *results)
{
    results->runs[1].measures.latency_ms_p95 = NAN;
}

CASE(a_mean_tells_over_how_many_seeds_it_is_where_some_have_no_figure)
{
    OPENED opened = report_open(light, LIGHT, take_a_latency);
    const struct report_scenario *scenario = &opened.report->scenarios[0];
    const struct estimate estimate = report_estimate(opened.report, &scenario->contenders[0], NULL,
                                                     metric_find("latency_ms_p95"));
    assert_int_equal(estimate.n, 2);
    assert_int_equal(estimate.without, 1);
    assert_true(fabs(estimate.mean - 200) < 1e-9);
    assert_prints(&opened, report_text, "(2 of 3 seeds)");
    assert_prints(&opened, report_json, "\"seeds_without\":\t1");
}

static void give_notices(struct results *results)
{
    notices_add(&results->notices[0], NOTICE_OF(OTHER_WARNING), "no model");
    notices_add(&results->notices[1], NOTICE_OF(OTHER_WARNING), "no model");
    notices_add(&results->notices[1], NOTICE_OF(OTHER), "fixed times");
    notices_add(&results->notices[6], NOTICE_OF(OTHER), "fixed times");
}

/* As in a sweep whose first policy is fifo; the reference of comparisons is esg. */
static void take_bounds_of_esg(struct results *results)
{
    for (size_t r = 0; r < results->run_count; r++)
        if (strcmp(results->runs[r].policy, "esg") == 0)
            results->runs[r].measures.bound_slo_hit_rate = NAN;
}

static void take_all_bounds(struct results *results)
{
    for (size_t r = 0; r < results->run_count; r++)
        results->runs[r].measures.bound_slo_hit_rate = NAN;
}

CASE(the_bound_is_that_of_the_runs_that_have_it)
{
    struct opened opened = report_open(light, LIGHT, NULL);
    assert_string_equal(report_bounded(opened.report, &opened.report->scenarios[0])->title, "esg");
    report_close(&opened);
    opened = report_open(light, LIGHT, take_bounds_of_esg);
    assert_string_equal(report_bounded(opened.report, &opened.report->scenarios[0])->title, "fifo");
    assert_prints(&opened, report_text, "\n  bound            ");
    report_close(&opened);
    opened = report_open(light, LIGHT, take_all_bounds);
    assert_null(report_bounded(opened.report, &opened.report->scenarios[0]));
    STRING *text = printed(&opened, report_text);
    assert_null(strstr(text, "\n  bound            "));
    report_close(&opened);
}

CASE(a_notice_of_many_runs_is_told_once_with_their_number)
{
    OPENED opened = report_open(light, LIGHT, give_notices);
    assert_int_equal(opened.report->notice_count, 3);
    char *text = printed(&opened, report_text);
    assert_contains(text, "note       fewer than five seeds: the intervals are rough (6 of 8 "
                          "runs, in light)\n");
    assert_contains(text, "WARNING    no model (2 of 8 runs, in light)\n");
    assert_contains(text, "note       fixed times (2 of 8 runs, in both settings)\n");
    free(text);
    text = printed(&opened, report_json);
    JSON *root = cJSON_Parse(text);
    assert_int_equal(cJSON_GetArraySize(json_at(root, "warnings")), 1);
    assert_true(json_at(root, "warnings/0/runs")->valuedouble == 2);
    free(text);
}

CASE(published_figures_stand_beside_ours)
{
    OPENED opened = report_open(light, LIGHT, NULL);
    OWNED(arena_home_free)
    struct expectations *reference =
        must(expectations_load("tests/golden/reference.json", EXPECTATION_FIGURES, hear()));
    report_judge(opened.report, reference);
    STRING *text = printed(&opened, report_text);
    char *part = must(strstr(text, "\n== published"));
    *strstr(part, "\nHow to read the tables") = '\0'; /* details follow */
    assert_golden(part, "tests/golden/reference.txt");
}

CASE(the_published_figures_that_ship_can_be_read)
{
    OWNED(arena_home_free)
    struct expectations *reference =
        must(expectations_load("results/paper/esg-hpdc24.json", EXPECTATION_FIGURES, hear()));
    assert_int_equal(reference->count, 18);
    assert_string_equal(reference->list[0].metric, paired_gains[GAIN_RELATIVE].name);
    assert_string_equal(reference->list[1].metric, paired_gains[GAIN_POINTS].name);
    for (size_t i = 0; i < 2; i++)
        assert_true(reference->list[i].low == 61 && reference->list[i].high == 80);
    assert_string_equal(reference->list[2].metric, paired_gains[GAIN_SAVING].name);
    assert_true(reference->list[2].low == 47 && reference->list[2].high == 187);
}

CASE(bad_reference_files_are_refused)
{
    static const struct refusal bad[] = {
        {"{}", "metric"},
        {"{\"metric\": \"cost_savin\", \"evidence\": \"published\", \"low\": 1}", "cost_saving"},
        {"{\"metric\": \"cost_usd\", \"evidence\": \"hearsay\", \"low\": 1}", "evidence"},
        {"{\"metric\": \"cost_usd\", \"evidence\": \"published\"}", "low"},
        {"{\"metric\": \"cost_usd\", \"evidence\": \"published\", \"low\": 2, \"high\": 1}",
         "above"},
        {"{\"metric\": \"cost_saving\", \"evidence\": \"published\", \"low\": 2}", "against"},
        {"{\"metric\": \"cost_saving\", \"evidence\": \"published\", \"low\": 2, \"policy\": "
         "\"edf\", "
         "\"against\": [\"fifo\"]}",
         "compares esg"},
        {"{\"metric\": \"cost_usd\", \"evidence\": \"published\", \"low\": 2, \"extra\": 1}",
         "extra"},
        {"{\"metric\": \"jct_s_men\", \"evidence\": \"published\", \"low\": 2}", "jct_s_mean"},
        {"{\"metric\": \"cost_usd\", \"evidence\": \"published\", \"low\": 2, \"comparison\": "
         "\"ratio\"}",
         "against"},
        {"{\"metric\": \"cost_saving\", \"evidence\": \"published\", \"low\": 2, \"against\": "
         "[\"fifo\"], \"comparison\": \"ratio\"}",
         "is a comparison already"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        TEMPORARY(path, formatted("{\"title\": \"t\", \"source\": \"s\", \"figures\": [%s]}",
                                  bad[i].text));
        assert_bad_input(expectations_load(path, EXPECTATION_FIGURES, hear()), bad[i].words);
    }
}

CASE(runs_of_one_label_make_one_contender)
{
    OPENED opened = report_open(light, LIGHT, NULL);
    const struct report *report = opened.report;
    assert_int_equal(report->scenario_count, 2);
    const struct report_scenario *scenario = &report->scenarios[0];
    assert_int_equal(scenario->contender_count, 2);
    assert_int_equal(scenario->application_count, FIXTURE_APPLICATIONS);
    assert_int_equal(scenario->contenders[1].run_count, 3);
    for (uint64_t seed = 1; seed <= 3; seed++)
        assert_int_equal(opened.results->runs[scenario->contenders[1].runs[seed - 1]].seed, seed);
    assert_string_equal(report->scenarios[1].contenders[0].title, "esg k=5");
    assert_string_equal(report->scenarios[1].contenders[1].title, "esg k=10");
}

CASE(conditions_with_blanks_stay_together)
{
    static const struct fixture runs[] = {
        {"", "esg", "policy.name=esg arrivals={\"process\": \"poisson\", \"r\": 1} slo.factor=0.8",
         1, 0.9, 1, RECORD_SUMMARY},
        {"", "fifo",
         "policy.name=fifo arrivals={\"process\": \"poisson\", \"r\": 1} slo.factor=0.8", 1, 0.5, 1,
         RECORD_SUMMARY},
        {"", "fifo",
         "policy.name=fifo arrivals={\"process\": \"poisson\", \"r\": 2} slo.factor=0.8", 1, 0.5, 1,
         RECORD_SUMMARY},
    };
    OPENED opened = report_open(runs, 3, NULL);
    assert_int_equal(opened.report->scenario_count, 2);
    assert_string_equal(opened.report->scenarios[0].conditions,
                        "arrivals={\"process\": \"poisson\", \"r\": 1} slo.factor=0.8");
    assert_int_equal(opened.report->scenarios[0].contender_count, 2);
    assert_prints(&opened, report_text, "No comparison: no other policy has run in this setting.");
}

/* Overall figures are 0.8 times the hit rate and 1.4 times the cost (tests/fixture_results.h). Of
 * two seeds half of the interval is 12.706 / 2 = 6.353 times their difference. */
#define OVERVIEW_PAIR(setting, policy, keys, one, other, cost, more)                               \
    {setting, policy, "setting=" setting " " keys, 1, one, cost, RECORD_SUMMARY},                  \
    {                                                                                              \
        setting, policy, "setting=" setting " " keys, 2, other, more, RECORD_SUMMARY               \
    }
#define SLICES_ESG "policy.name=esg policy.params.k=5 cluster=../c/slices.json"
#define SLICES_FIFO "policy.name=fifo cluster=../c/slices.json"

CASE(the_overview_has_a_table_of_hit_rate_and_cost_for_each_world)
{
    static const struct fixture runs[] = {
        OVERVIEW_PAIR("light", "esg", SLICES_ESG, 0.9, 0.9, 0.0002, 0.0004),
        /* 40 and 40.15 %: ± 0.95 */
        OVERVIEW_PAIR("light", "fifo", SLICES_FIFO, 0.5, 0.501875, 0.001, 0.001),
        /* 40 and 42 %: ± 12.7 */
        OVERVIEW_PAIR("heavy", "esg", SLICES_ESG, 0.5, 0.525, 0.0002, 0.0002),
        /* 40 and 40.16 %: ± 1.02 */
        OVERVIEW_PAIR("heavy", "fifo", SLICES_FIFO, 0.5, 0.502, 0.01, 0.01),
        OVERVIEW_PAIR("light", "esg", "policy.name=esg policy.params.k=5 cluster=shared.json", 0.75,
                      0.75, 0.0002, 0.0002),
        OVERVIEW_PAIR("heavy", "esg", "policy.name=esg policy.params.k=10 cluster=shared.json",
                      0.25, 0.25, 0.0002, 0.0002),
        {"heavy", "fifo", "policy.name=fifo cluster=shared.json setting=heavy", 1, 0.5, 0.0001,
         RECORD_SUMMARY},
    };
    OPENED opened = report_open(runs, sizeof runs / sizeof runs[0], NULL);
    STRING *text = printed(&opened, report_text);
    const char *overview = must(strstr(text, "Overview: "));
    char *end = must(strstr(text, "\nHow to read the tables"));
    *end = '\0';
    assert_string_equal(overview,
                        "Overview: SLO hit % at cost in $ per 1,000 requests, mean over 1 to 2 "
                        "seeds, all applications together.\n"
                        "\xC2\xB1 x: half of the 95 % interval of the hit rate, if that is 1 "
                        "point or more; [a, b]: its ends, if not symmetric.\n"
                        "\n"
                        "slices          light                   heavy\n"
                        "---------------------------------------------\n"
                        "  esg   72.0 at 0.420  41.0 [29, 54] at 0.280\n"
                        "  fifo   40.1 at 1.40        40.1 \xC2\xB1 1 at 14.0\n"
                        "\n"
                        "shared              light          heavy\n"
                        "----------------------------------------\n"
                        "  esg k=5   60.0 at 0.280\n"
                        "  esg k=10                 20.0 at 0.280\n"
                        "  fifo                     40.0 at 0.140\n");
}

CASE(the_overview_of_conditions_alone_is_one_table_that_wraps)
{
    static char labels[9][48];
    struct fixture runs[9];
    for (size_t i = 0; i < 9; i++) {
        (void)snprintf(labels[i], sizeof labels[i], "policy.name=esg x=%zu", i);
        runs[i] = (struct fixture){"", "esg", labels[i], 1, 0.5, 0.0001, RECORD_SUMMARY};
    }
    OPENED opened = {.results = fixture_results(runs, 9)};
    assert_non_null(opened.results);
    opened.results->runs[8].measures.slo_hit_rate = NAN;
    opened.report = report_build(opened.results);
    opened.report->details = true;
    assert_non_null(opened.report);
    STRING *text = printed(&opened, report_text);
    assert_contains(text, " mean over 1 seed, all applications together.\n\npolicy ");
    assert_contains(text, "  made-up x=6    made-up x=7\n-----");
    assert_contains(text, "\n\npolicy  made-up x=8\n"
                          "-------------------\n"
                          "  esg             -\n\nHow to read");
}

/* "a" holds a pair in its value and is one all the same. */
CASE(what_is_alike_in_all_runs_is_said_once_and_in_no_title)
{
#define ALIKE "setting=light requests=1500 a={\"b\": \"c d=1\"} "
#define OTHER "setting=heavy requests=1500 a={\"b\": \"c d=1\"} "
    static const struct fixture runs[] = {
        {"light", "esg", ALIKE "policy.name=esg policy.params.q=1 policy.params.k=5 x=0.1", 1, 0.9,
         1, RECORD_SUMMARY},
        {"light", "esg", ALIKE "policy.name=esg policy.params.q=1 policy.params.k=6 x=0.1", 1, 0.9,
         1, RECORD_SUMMARY},
        {"heavy", "esg", OTHER "policy.name=esg policy.params.q=1 policy.params.k=5 x=0.15", 1, 0.9,
         1, RECORD_SUMMARY},
    };
    OPENED opened = report_open(runs, 3, NULL);
    const struct report_scenario *scenarios = opened.report->scenarios;
    assert_string_equal(opened.report->constants, "requests=1500 a={\"b\": \"c d=1\"} q=1");
    assert_string_equal(scenarios[0].title, "light x=0.1");
    assert_string_equal(scenarios[1].title, "heavy x=0.15");
    assert_string_equal(scenarios[0].conditions, "requests=1500 a={\"b\": \"c d=1\"} x=0.1");
    assert_string_equal(scenarios[0].contenders[1].title, "esg k=6");
    assert_string_equal(scenarios[0].contenders[1].variant, "q=1 k=6");
    assert_prints(&opened, report_text, "\n  in all     requests=1500 a={\"b\": \"c d=1\"} q=1\n");
}

/* A sweep of one's own policies is told apart as well as one with ESG in it. */
CASE(without_esg_the_first_policy_is_compared_with_the_others)
{
    static const struct fixture runs[] = {
        {"", "mine", "policy.name=./mine.so", 1, 0.9, 1, RECORD_SUMMARY},
        {"", "mine", "policy.name=./mine.so", 2, 0.8, 1, RECORD_SUMMARY},
        {"", "fifo", "policy.name=fifo", 1, 0.5, 2, RECORD_SUMMARY},
        {"", "fifo", "policy.name=fifo", 2, 0.5, 2, RECORD_SUMMARY},
    };
    OPENED opened = report_open(runs, 4, NULL);
    const struct report_scenario *scenario = &opened.report->scenarios[0];
    assert_int_equal(scenario->reference, 0);
    assert_string_equal(report_reference_name(scenario), "mine");
    const struct report_comparison comparison = report_compare(opened.report, scenario, 1, NULL);
    /* 0.6 of the requests hit as the fixture says, 0.4 half as often: 0.8 × (85 − 50). */
    assert_float_equal(comparison.gains[GAIN_POINTS].mean, 28, 1e-9);
    assert_float_equal(comparison.gains[GAIN_SAVING].mean, 100, 1e-9);
    char *text = printed(&opened, report_text);
    assert_contains(text, "mine against");
    assert_contains(text, "Above 0: mine is better.");
    assert_null(strstr(text, "ESG"));
    free(text);

    /* Any policy can be the reference. */
    assert_true(report_set_reference(opened.report, "fifo", hear()));
    text = printed(&opened, report_text);
    assert_contains(text, "fifo against");
    assert_contains(text, "Above 0: fifo is better.");
    free(text);
    assert_absolute(report_compare(opened.report, scenario, 0, NULL).gains[GAIN_POINTS].mean, -28,
                    1e-9);
    assert_bad_input(report_set_reference(opened.report, "fifo max_batch=2", hear()),
                     "made-up.h5: no run of \"fifo max_batch=2\"");

    /* A published figure of ESG is not one of whoever stands first. */
    const char *against[] = {scenario->contenders[0].policy};
    struct expectation figure = {.metric = paired_gains[GAIN_SAVING].name,
                                 .policy = "esg",
                                 .unit = "%",
                                 .evidence = "published",
                                 .against = against,
                                 .compare_count = 1,
                                 .low = 1};
    assert_true(expectation_resolve(&figure));
    report_judge(opened.report, &(struct expectations){.list = &figure, .count = 1});
    const struct judgement *judgement = &opened.report->judgements[0];
    for (size_t p = 0; p < judgement->pair_count; p++)
        assert_int_equal(judgement->pairs[p].ours.n, 0);
    assert_true(judgement->counts[STANDING_NO_RUN] == judgement->pair_count);
}

CASE(comparisons_are_paired_by_seed)
{
    OPENED opened = report_open(light, LIGHT, NULL);
    struct report_comparison comparison =
        report_compare(opened.report, &opened.report->scenarios[0], 1, "classification");
    /* Points: 40, 37, 34. */
    assert_int_equal(comparison.gains[GAIN_POINTS].n, 3);
    assert_true(fabs(comparison.gains[GAIN_POINTS].mean - 37) < 1e-9);
    assert_true(fabs(comparison.gains[GAIN_POINTS].sd - 3) < 1e-9);
    assert_true(fabs(comparison.gains[GAIN_POINTS].half_width - 4.302653 * 3 / sqrt(3)) < 1e-4);
    assert_true(fabs(comparison.gains[GAIN_SAVING].mean - 150) < 1e-9);
    assert_true(comparison.gains[GAIN_SAVING].half_width < 1e-9);
}

/* Hits of ESG − FIFO: 10, 12, 17 points, p = 0.0247. Costs are equal. Of two comparisons Holm's
 * adjustment leaves 0.0494, of four 0.0988. */
CASE(a_verdict_is_adjusted_for_the_comparisons_of_its_table)
{
#define HIT_RUN(policy, seed, hit)                                                                 \
    {                                                                                              \
        "light", policy, "policy.name=" policy " setting=light", seed, (hit) / 0.8, 0.0002,        \
            RECORD_SUMMARY                                                                         \
    }
    static const struct fixture hits[] = {
        HIT_RUN("esg", 1, 0.60),  HIT_RUN("esg", 2, 0.60),  HIT_RUN("esg", 3, 0.60),
        HIT_RUN("fifo", 1, 0.50), HIT_RUN("fifo", 2, 0.48), HIT_RUN("fifo", 3, 0.43),
        HIT_RUN("edf", 1, 0.60),  HIT_RUN("edf", 2, 0.61),  HIT_RUN("edf", 3, 0.58)};
    OPENED two = report_open(hits, 6, NULL);
    OPENED three = report_open(hits, 9, NULL);
    STRING *alone = printed(&two, report_text);
    STRING *among = printed(&three, report_text);
    assert_contains(alone, "  better  not resolved\n");
    assert_contains(alone, "with Holm over 2 comparisons");
    assert_null(strstr(among, "  better  not resolved\n"));
    assert_contains(among, "  not resolved  not resolved\n");
    assert_contains(among, "with Holm over 4 comparisons");
#undef HIT_RUN
}

/* The fields of the CSV line that begins so. */
static double csv_mean(const char *csv, const char *begin)
{
    const char *at = must(strstr(csv, begin));
    at += strlen(begin);
    at = strchr(at, ',') + 1; /* past the number of seeds */
    return strtod(at, NULL);
}

CASE(csv_holds_every_figure)
{
    OPENED opened = report_open(light, LIGHT, NULL);
    STRING *csv = printed(&opened, report_csv);
    assert_true(fabs(csv_mean(csv, "\nmade-up,light,,esg,,classification,slo_hit_rate,1,,") -
                     0.92) < 1e-12);
    assert_true(fabs(csv_mean(csv, "\nmade-up,light,,esg,,,cost_saving,%,fifo,") - 150) < 1e-9);
    for (size_t m = 0; m < metric_count; m++)
        assert_contains(csv, metrics[m].name);
}

CASE(a_text_that_could_be_a_formula_begins_with_an_apostrophe)
{
    static const char *const texts[][2] = {
        {"=1+1", "'=1+1"},         {"+cmd", "'+cmd"}, {"-x", "'-x"},
        {"@SUM(A1)", "'@SUM(A1)"}, {"\t=1", "'\t=1"}, {"=\"a\",1", "\"'=\"\"a\"\",1\""},
        {"'quoted", "''quoted"},   {"", ""},          {"-", "-"},
        {"-1.5e3", "-1.5e3"},      {"a=1", "a=1"}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        OWNED_STREAM(out, cell);
        csv_text(out, texts[i][0]);
        assert_int_equal(fclose(out), 0);
        assert_string_equal(cell, texts[i][1]);
    }
}

CASE(a_figure_that_is_not_there_is_a_dash_an_empty_field_or_null)
{
    struct fixture runs[LIGHT];
    memcpy(runs, light, sizeof runs);
    for (size_t i = 0; i < 3; i++) /* ESG's seeds */
        runs[i].hit = runs[i].cost = NAN;
    OPENED opened = report_open(runs, LIGHT, NULL);
    STRING *text = printed(&opened, report_text);
    STRING *csv = printed(&opened, report_csv);
    STRING *json = printed(&opened, report_json);
    assert_null(strstr(text, "nan"));
    assert_null(strstr(csv, "nan,"));
    assert_null(strstr(json, "nan"));
    assert_contains(csv, "\nmade-up,light,,esg,,classification,slo_hit_rate,1,,3,,,,");
    JSON *root = cJSON_Parse(json);
    const cJSON *esg = json_at(root, "scenarios/0/policies/0");
    assert_true(cJSON_IsNull(json_at(esg, "overall/slo_hit_rate/mean")));
}

CASE(json_holds_the_same_figures)
{
    OPENED opened = report_open(light, LIGHT, NULL);
    OWNED(arena_home_free)
    struct expectations *reference =
        expectations_load("tests/golden/reference.json", EXPECTATION_FIGURES, hear());
    report_judge(opened.report, reference);
    STRING *text = printed(&opened, report_json);
    JSON *root = must(cJSON_Parse(text));
    const cJSON *esg = json_at(root, "scenarios/0/policies/0");
    assert_string_equal(json_at(esg, "policy")->valuestring, "esg");
    assert_int_equal(cJSON_GetArraySize(json_at(esg, "seeds")), 3);
    const double mean = json_at(esg, "applications/1/slo_hit_rate/mean")->valuedouble;
    assert_true(fabs(mean - 0.46) < 1e-12);
    const cJSON *one = json_at(root, "scenarios/1/policies/0");
    assert_true(cJSON_IsNull(json_at(one, "overall/slo_hit_rate/half_width_95")));
}

CASE(an_empty_file_is_told_so)
{
    OPENED opened = report_open(light, 0, NULL);
    STRING *text = printed(&opened, report_text);
    assert_string_equal(text, "made-up.h5 holds no finished run.\n");
}

CASE(columns_line_up_whatever_their_characters)
{
    static const char *const headers[] = {"name", "value", "count"};
    STRING *text = NULL;
    size_t size = 0;
    struct text_table *table = text_table_create(headers, 3);
    text_table_row(table);
    text_table_cell(table, 0, "%s", "\xC3\xA9t\xC3\xA9");
    text_table_estimate(
        table, 1,
        (struct estimate){.n = 3, .mean = 10.25, .low = -2.25, .high = 22.75, .half_width = 12.5},
        1);
    text_table_cell(table, 2, "%d", 7);
    text_table_row(table);
    text_table_cell(table, 0, "%s", "longer");
    text_table_estimate(
        table, 1,
        (struct estimate){.n = 3, .mean = 123.5, .low = 123.25, .high = 123.75, .half_width = 0.25},
        1);
    text_table_row(table);
    text_table_cell(table, 0, "%s", "one");
    text_table_estimate(table, 1, (struct estimate){.n = 1, .mean = 5, .half_width = NAN}, 1);
    text_table_cell(table, 2, "%d", 12345);
    FILE *out = open_memstream(&text, &size);
    text_table_print(table, 0, out);
    (void)fclose(out);
    assert_string_equal(text, "name           value  count\n"
                              "---------------------------\n"
                              "\xC3\xA9t\xC3\xA9      10.2 \xC2\xB1 12.5      7\n"
                              "longer  123.5 \xC2\xB1  0.2\n"
                              "one       5.0         12345\n");
}

CASE(a_row_is_filled_by_one_format)
{
    static const char *const headers[] = {"name", "value", "other"};
    STRING *text = NULL;
    size_t size = 0;
    struct text_table *table = text_table_create(headers, 3);
    text_table_add(table, "%s\t%.2f\t%zu", "a|b", 1.5, (size_t)7);
    text_table_add(table, "nan of\t%.2f", NAN);
    text_table_add(table, "%s\t\t%d", "one\ttoo", 3); /* more cells than columns */
    FILE *out = open_memstream(&text, &size);
    text_table_end(table, false, out);
    (void)fclose(out);
    assert_string_equal(text, "name    value  other\n"
                              "--------------------\n"
                              "a|b      1.50      7\n"
                              "nan of      -\n"
                              "one       too\n");
}

/* The same rows as text and as HTML: groups, names, numbers, estimates with seeds, a foot. */
CASE(one_table_is_written_as_text_and_as_html)
{
    static const char *const headers[] = {"policy", "load", "hits", "words"};
    static const char *const helps[] = {NULL, NULL, "share <of>", NULL};
    static const char *const expected[] = {
        "policy  load       hits  words\n"
        "------------------------------\n"
        "city\n"
        "  a<b    0.8  5.0 \xC2\xB1 1.0     so\n"
        "  none          -\n"
        "\n"
        "below\n",
        "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>"
        "<th class=\"t\" scope=\"col\">place</th>"
        "<th class=\"t\" scope=\"col\">policy</th>"
        "<th scope=\"col\">load</th>"
        "<th scope=\"col\" title=\"share &lt;of&gt;\">hits</th>"
        "<th class=\"t\" scope=\"col\">words</th>"
        "</tr></thead>\n<tbody>\n"
        "<tr><td class=\"t\">city</td><td class=\"t\">a&lt;b</td><td data-v=\"0.8\" "
        "style=\"--v:0.8\">0.8</td>"
        "<td data-v=\"5\">5.0<small> \xC2\xB1 1.0</small><br/><small>seeds 4, 6</small></td>"
        "<td class=\"w\">so</td></tr>\n"
        "</tbody>\n<tfoot>\n"
        "<tr><td class=\"t\">city</td><td class=\"t\">none</td><td></td><td>-</td><td></td></tr>\n"
        "</tfoot></table></div>\n"};
    for (int html = 0; html < 2; html++) {
        STRING *text = NULL;
        size_t size = 0;
        struct text_table *table = text_table_create(headers, 4);
        text_table_helps(table, helps);
        text_table_indent(table, "place");
        text_table_group(table, "city");
        text_table_row(table);
        text_table_name(table, 0, "%s", "a<b");
        text_table_number(table, 1, 0.8, 6, "%.1f", 0.8);
        text_table_estimate(
            table, 2, (struct estimate){.n = 2, .mean = 5, .low = 4, .high = 6, .half_width = 1},
            1);
        text_table_seeds(table, 2, "4, 6");
        text_table_words(table, 3, "%s", "so");
        text_table_note(table, "below");
        text_table_foot(table);
        text_table_row(table);
        text_table_name(table, 0, "%s", "none");
        text_table_estimate(table, 2, (struct estimate){.mean = NAN, .half_width = NAN}, 1);
        FILE *out = open_memstream(&text, &size);
        text_table_end(table, html != 0, out);
        (void)fclose(out);
        assert_string_equal(text, expected[html]);
    }
}

SUITE("report")
