/* Verdicts on published figures, over made-up runs whose gains and savings are known. */
#include <cjson/cJSON.h>
#include <math.h>

#include "results/expect/reproduction_check.h"
#include "results/page/verdict_table.h"
#include "tests/fixture_results.h"
#include "tests/suite.h"

/* Three seeds of a policy in a setting; the hit rates overall are 0.8 of these, gains in per cent
 * and savings the same. */
#define SEEDS(setting, policy, a, b, c, cost)                                                      \
    {setting, policy, "policy.name=" policy " setting=" setting, 1, a, cost, RECORD_SUMMARY},      \
        {setting, policy, "policy.name=" policy " setting=" setting, 2, b, cost, RECORD_SUMMARY},  \
    {                                                                                              \
        setting, policy, "policy.name=" policy " setting=" setting, 3, c, cost, RECORD_SUMMARY     \
    }

/* Against orion 70 % in both settings; against fifo 70 % and 6.25 %; against edf 240 % and 21.4 %;
 * against llf 54.5, 61.9 and 70 %, 62.1 ± 19.2, in light alone; against none any in sjf, which
 * never hits in light and meets 0.5 in heavy. */
static const struct fixture runs[] = {
    SEEDS("light", "esg", 0.85, 0.85, 0.85, 0.0001),
    SEEDS("heavy", "esg", 0.85, 0.85, 0.85, 0.0001),
    SEEDS("light", "orion", 0.5, 0.5, 0.5, 0.0002),
    SEEDS("heavy", "orion", 0.5, 0.5, 0.5, 0.0001),
    SEEDS("light", "fifo", 0.5, 0.5, 0.5, 0.0002),
    SEEDS("heavy", "fifo", 0.8, 0.8, 0.8, 0.0002),
    SEEDS("light", "edf", 0.25, 0.25, 0.25, 0.0002),
    SEEDS("heavy", "edf", 0.7, 0.7, 0.7, 0.0002),
    SEEDS("light", "llf", 0.55, 0.525, 0.5, 0.0002),
    SEEDS("light", "sjf", 0, 0, 0, 0.0002),
    SEEDS("heavy", "sjf", 0.5, 0.5, 0, 0.0002),
};
enum { RUNS = sizeof runs / sizeof runs[0] };

struct judged {
    struct results *results;
    struct report *report;
    struct expectations *reference;
    const struct judgement *judgement;
};

/* The first figure of a reference file with these, over `count` runs. */
static void judge(struct judged *judged, const struct fixture *made, size_t count,
                  const char *figures)
{
    STRING *text = NULL;
    assert_true(
        asprintf(&text, "{\"title\": \"t\", \"source\": \"s\", \"figures\": [%s]}", figures) > 0);
    TEMPORARY(path, text);
    judged->results = fixture_results(made, count);
    assert_non_null(judged->results);
    judged->report = report_build(judged->results);
    judged->report->details = true;
    judged->reference = expectations_load(path, EXPECTATION_FIGURES, hear());
    assert_good(judged->reference != NULL);
    report_judge(judged->report, judged->reference);
    judged->judgement = &judged->report->judgements[0];
}

static void judged_clear(struct judged *judged)
{
    arena_home_free(judged->reference);
    arena_home_free(judged->report);
    results_free(judged->results);
}

#define JUDGED CLOSED(judged_clear) struct judged

#define GAIN(against)                                                                              \
    "{\"metric\": \"slo_hit_rate_gain\", \"low\": 61, \"high\": 80, \"unit\": \"%\", "             \
    "\"evidence\": \"published\", \"against\": [" against                                          \
    "], \"settings\": [\"light\", \"heavy\"]}"

static void assert_judged(const char *figures, enum verdict verdict, const char *sentence)
{
    JUDGED judged = {0};
    judge(&judged, runs, RUNS, figures);
    assert_string_equal(judged.judgement->sentence, sentence);
    assert_int_equal(judged.judgement->verdict, verdict);
}

CASE(a_range_that_every_pair_keeps_is_reproduced)
{
    assert_judged(
        GAIN("\"orion\""), VERDICT_REPRODUCED,
        "Reproduced: ESG's SLO hit rate is from 70.0 % (\xC2\xB1 0.0) higher (against "
        "orion in light) to 70.0 % (\xC2\xB1 0.0) higher (against orion in heavy), the "
        "published figure is 61 to 80 % higher; it holds in 2 of 2 pairs of baseline and "
        "setting (orion: light, heavy); on average over the settings it holds against 1 of 1.");
}

CASE(a_range_that_some_pairs_keep_is_partly_reproduced_and_both_are_listed)
{
    assert_judged(
        GAIN("\"orion\", \"fifo\", \"edf\""), VERDICT_PARTLY,
        "Partly reproduced: ESG's SLO hit rate is from 6.2 % (\xC2\xB1 0.0) higher (against "
        "fifo in heavy) to 240.0 % (\xC2\xB1 0.0) higher (against edf in light), the "
        "published figure is 61 to 80 % higher; it holds in 3 of 6 pairs of baseline and "
        "setting (orion: light, heavy; fifo: light), is below in 2 (fifo: heavy; edf: "
        "heavy), is above in 1 (edf: light); on average over the settings it holds against 2 of "
        "3.");
}

CASE(a_range_that_no_pair_keeps_is_not_reproduced_be_ours_above_or_below)
{
    assert_judged(
        GAIN("\"edf\""), VERDICT_NOT,
        "Not reproduced: ESG's SLO hit rate is from 21.4 % (\xC2\xB1 0.0) higher (against "
        "edf in heavy) to 240.0 % (\xC2\xB1 0.0) higher (against edf in light), the "
        "published figure is 61 to 80 % higher; it holds in 0 of 2 pairs of baseline and "
        "setting, is below in 1 (edf: heavy), is above in 1 (edf: light); on average over the "
        "settings it holds against 1 of 1.");
}

CASE(worse_than_the_baseline_is_called_lower)
{
    assert_judged(
        "{\"metric\": \"cost_saving\", \"low\": 47, \"high\": 187, \"unit\": \"%\", "
        "\"evidence\": \"recalled\", \"against\": [\"orion\"], \"settings\": [\"light\"]}",
        VERDICT_REPRODUCED,
        "Reproduced: the baseline's cost, relative to ESG's, is 100.0 % (\xC2\xB1 0.0) "
        "higher against orion in light, the recalled figure is 47 to 187 % higher; it "
        "holds in 1 of 1 pair of baseline and setting (orion: light).");
    static const struct fixture dear[] = {SEEDS("light", "esg", 0.2, 0.2, 0.2, 0.0002),
                                          SEEDS("light", "orion", 0.8, 0.8, 0.8, 0.0001)};
    JUDGED judged = {0};
    judge(&judged, dear, 6, GAIN("\"orion\""));
    assert_int_equal(judged.judgement->verdict, VERDICT_NOT);
    assert_string_equal(judged.judgement->sentence,
                        "Not reproduced: ESG's SLO hit rate is 75.0 % (\xC2\xB1 0.0) lower against "
                        "orion in light, the published figure is 61 to 80 % higher; it holds in 0 "
                        "of 2 pairs of baseline and setting, is below in 1 (orion: light); no run "
                        "of setting heavy in this file.");
}

CASE(an_interval_across_an_end_decides_nothing)
{
    assert_judged(
        GAIN("\"llf\""), VERDICT_UNKNOWN,
        "Cannot be said: ESG's SLO hit rate is 62.2 % (\xC2\xB1 19.2) higher against llf "
        "in light, the published figure is 61 to 80 % higher; it holds in 0 of 2 pairs of "
        "baseline and setting, is undecided in 1 (llf: light); "
        "no run of llf in heavy.");
}

CASE(what_has_not_run_is_named_and_keeps_a_verdict_from_being_whole)
{
    assert_judged(GAIN("\"infless\", \"orion\", \"aquatope\""), VERDICT_PARTLY,
                  "Partly reproduced: ESG's SLO hit rate is from 70.0 % (\xC2\xB1 0.0) higher "
                  "(against orion in light) to 70.0 % (\xC2\xB1 0.0) higher (against orion in "
                  "heavy), the published figure is 61 to 80 % higher; it holds in 2 of 6 pairs of "
                  "baseline and setting (orion: light, heavy); on average over the settings it "
                  "holds against 1 of 1; no run of infless, aquatope in this "
                  "file.");
    assert_judged(GAIN("\"infless\""), VERDICT_UNKNOWN,
                  "Cannot be said: the published figure is 61 to 80 % higher; it holds in 0 of 2 "
                  "pairs of baseline and setting; no run of infless in this file.");
}

CASE(without_a_run_of_esg_nothing_is_said)
{
    JUDGED judged = {0};
    judge(&judged, runs + 6, 6, GAIN("\"orion\""));
    assert_int_equal(judged.judgement->verdict, VERDICT_UNKNOWN);
    assert_int_equal(judged.judgement->counts[STANDING_NO_RUN], 2);
    const char *sentence = judged.judgement->sentence;
    assert_true(sentence != NULL && strstr(sentence, "; no run of esg in this file") != NULL);
}

CASE(one_seed_has_no_interval_and_so_no_verdict)
{
    static const struct fixture single[] = {
        {"light", "esg", "policy.name=esg setting=light", 1, 0.85, 0.0001, RECORD_SUMMARY},
        {"light", "orion", "policy.name=orion setting=light", 1, 0.5, 0.0001, RECORD_SUMMARY},
    };
    JUDGED judged = {0};
    judge(&judged, single, 2, GAIN("\"orion\""));
    assert_int_equal(judged.judgement->verdict, VERDICT_UNKNOWN);
    assert_string_equal(
        judged.judgement->sentence,
        "Cannot be said: ESG's SLO hit rate is 70.0 % higher against orion in "
        "light, the published figure is 61 to 80 % higher; it holds in 0 of 2 pairs "
        "of baseline and setting, has one seed and so no interval in 1 (orion: "
        "light); no run of setting heavy in this file.");
}

CASE(a_gain_over_a_hit_rate_of_zero_is_undefined_relatively_but_not_in_points)
{
    /* In heavy one seed of three has none: that makes the mean undefined, too. */
    assert_judged(
        GAIN("\"sjf\""), VERDICT_UNKNOWN,
        "Cannot be said: the published figure is 61 to 80 % higher; it holds in 0 of 2 "
        "pairs of baseline and setting, is undefined, the baseline's hit rate being 0 in "
        "a seed, in 2 (sjf: light, heavy); on average over the settings it holds against 0 of 1.");
    assert_judged("{\"metric\": \"slo_hit_rate_gain_points\", \"low\": 61, \"high\": 80, \"unit\": "
                  "\"points\", \"evidence\": \"published\", \"against\": [\"sjf\"], \"settings\": "
                  "[\"light\"]}",
                  VERDICT_REPRODUCED,
                  "Reproduced: ESG's SLO hit rate is 68.0 points (\xC2\xB1 0.0) higher against sjf "
                  "in light, the published figure is 61 to 80 points higher; it holds in 1 of 1 "
                  "pair of baseline and setting (sjf: light).");
}

CASE(a_figure_of_one_policy_is_judged_in_every_scenario)
{
    assert_judged(
        "{\"metric\": \"decision_us_mean\", \"high\": 10000, \"unit\": \"us\", "
        "\"evidence\": \"secondary\"}",
        VERDICT_REPRODUCED,
        "Reproduced: ours is from 12.5 us (\xC2\xB1 0) (for esg in light) to 12.5 us (\xC2\xB1 "
        "0) (for esg in heavy), the secondary figure is at most 10000 us; it holds in 2 of 2 "
        "pairs of policy and setting (esg: light, heavy); on average over the settings it holds "
        "for 1 of 1.");
    assert_judged(
        "{\"metric\": \"slo_hit_rate\", \"low\": 0.9, \"unit\": \"1\", \"evidence\": "
        "\"assumed\", \"policy\": \"orion\", \"settings\": [\"light\", \"dark\"]}",
        VERDICT_NOT,
        "Not reproduced: ours is 0.4 (\xC2\xB1 0) for orion in light, the assumed figure is "
        "at least 0.9; it holds in 0 of 2 pairs of policy and setting, is below in 1 "
        "(orion: light); no run of setting dark in this file.");
    /* The runs of these policies plan nothing ahead. */
    assert_judged("{\"metric\": \"preplanned_miss_rate\", \"low\": 0.5, \"unit\": \"1\", "
                  "\"evidence\": \"assumed\", \"policy\": \"orion\", \"settings\": [\"light\"]}",
                  VERDICT_UNKNOWN,
                  "Cannot be said: the assumed figure is at least 0.5; it holds in 0 of 1 pair of "
                  "policy and setting, does not exist in 1 (orion: light).");
}

/* Of runs whose experiment states how long decisions take; the others are judged. */
CASE(a_time_of_decisions_that_the_experiment_states_is_assumed)
{
    static const char figures[] = "{\"metric\": \"decision_us_mean\", \"high\": 10000, \"unit\": "
                                  "\"us\", \"evidence\": \"secondary\"}, "
                                  "{\"metric\": \"slo_hit_rate\", \"low\": 0, \"unit\": \"1\", "
                                  "\"evidence\": \"assumed\", \"policy\": \"esg\"}";
    JUDGED judged = {0};
    judge(&judged, runs, RUNS, figures);
    struct notices *notices = judged.results->notices;
    for (size_t all = 0; all < 2; all++) {
        for (size_t r = 0; r < RUNS; r++)
            if (strcmp(runs[r].setting, "light") == 0 || all)
                notices_add(&notices[r], NOTICE_OF(DECISIONS_ASSUMED));
        report_judge(judged.report, judged.reference);
        const struct judgement *judgement = judged.report->judgements;
        assert_int_equal(judgement[0].verdict, all ? VERDICT_ASSUMED : VERDICT_REPRODUCED);
        assert_int_equal(judgement[0].counts[STANDING_ASSUMED], all ? 2 : 1);
        assert_int_equal(judgement[1].verdict, VERDICT_REPRODUCED);
    }
    assert_contains(judged.report->judgements[0].sentence,
                    "Assumed: ours is from 12.5 us (\xC2\xB1 0)");
}

static char *printed(const struct judged *judged,
                     bool (*print)(const struct report *, FILE *, struct error *))
{
    MEMORY_STREAM(out, text);
    assert_true(print(judged->report, out, hear()));
    assert_int_equal(fclose(out), 0);
    return text;
}

CASE(text_csv_and_json_carry_the_verdict)
{
    JUDGED judged = {0};
    judge(&judged, runs, RUNS, GAIN("\"fifo\", \"sjf\", \"infless\""));
    STRING *text = printed(&judged, report_text);
    assert_contains(text, "\n  Partly reproduced: ESG's SLO hit rate is from 6.2 %");
    assert_contains(text, "\n- in %: undefined, the baseline's hit rate being 0");
    STRING *csv = printed(&judged, report_csv);
    assert_contains(csv, "\r\nreference,,published,esg,,,slo_hit_rate_gain,%,verdict,0,,,,,"
                         "\"Partly reproduced: ESG's");
    assert_contains(csv, "\r\nreference,light,published,esg,,,slo_hit_rate_gain,%,fifo,3,");
    assert_contains(csv, ",assumed,holds,,,");
    assert_contains(csv, "\r\nreference,heavy,published,esg,,,slo_hit_rate_gain,%,sjf,3,,,,"
                         "assumed,undefined,,,,\r\n");
    assert_contains(csv, "slo_hit_rate_gain,%,infless,0,,,,assumed,no run,,,,\r\n");
    assert_null(strstr(csv, "inf,"));
    STRING *json = printed(&judged, report_json);
    JSON *root = must(cJSON_Parse(json));
    const cJSON *figure = json_at(root, "paper/figures/0");
    assert_string_equal(json_at(figure, "verdict")->valuestring, "partly");
    assert_string_equal(json_at(figure, "sentence")->valuestring, judged.judgement->sentence);
    assert_true(json_at(figure, "pairs/holds")->valueint == 1);
    assert_true(json_at(figure, "pairs/below")->valueint == 1);
    assert_true(json_at(figure, "pairs/undefined")->valueint == 2);
    assert_true(json_at(figure, "pairs/no run")->valueint == 2);
    assert_string_equal(json_at(figure, "ours/0/standing")->valuestring, "holds");
    assert_string_equal(json_at(figure, "ours/0/profile_evidence")->valuestring, "assumed");
}

/* The same settings on two profiles, as two sweeps of one file would have them. */
CASE(settings_on_two_profiles_stay_apart_and_show_their_evidence)
{
    static const struct fixture both[] = {
        SEEDS("light", "esg", 0.85, 0.85, 0.85, 0.0001),
        SEEDS("light", "orion", 0.5, 0.5, 0.5, 0.0002),
        SEEDS("other", "esg", 0.5, 0.5, 0.5, 0.0001),
        SEEDS("other", "orion", 0.5, 0.5, 0.5, 0.0002),
    };
    JUDGED judged = {0};
    judge(&judged, both, 12, GAIN("\"orion\""));
    arena_home_free(judged.report);
    for (size_t i = 6; i < 12; i++) {
        struct summary_row *run = &judged.results->runs[i];
        column_copy_text(run->name, sizeof run->name, "other");
        column_copy_text(run->setting, sizeof run->setting, "light");
        column_copy_text(run->evidence, sizeof run->evidence, "measured: on a desk");
    }
    judged.report = report_build(judged.results);
    judged.report->details = true;
    assert_non_null(judged.report);
    assert_int_equal(judged.report->scenario_count, 2);
    assert_string_equal(judged.report->scenarios[0].title, "made-up light");
    assert_string_equal(judged.report->scenarios[1].title, "other light");
    assert_string_equal(judged.report->scenarios[1].evidence, "measured: on a desk");
    report_judge(judged.report, judged.reference);
    judged.judgement = &judged.report->judgements[0];
    assert_int_equal(judged.judgement->counts[STANDING_HOLDS], 1);
    assert_int_equal(judged.judgement->counts[STANDING_BELOW], 1);
    STRING *text = printed(&judged, report_text);
    assert_contains(text, "\nprofile evidence: assumed\n");
    assert_contains(text, "\nprofile evidence: measured: on a desk\n");
}

/* Of one world: hit rates of ESG 0.85 in both settings, of edf 0.25 and 0.7. The average over the
 * settings of both: 0.85 against 0.475, 78.9 % more; in points 0.8 times 37.5 = 30. */
CASE(averages_over_the_settings_are_of_each_baseline)
{
    struct judged judged = {0};
    judge(&judged, runs, RUNS, GAIN("\"edf\", \"llf\", \"infless\""));
    assert_int_equal(judged.judgement->worlds, 1);
    assert_int_equal(judged.judgement->average_count, 2);
    const struct verdict_pair *average = judged.judgement->averages;
    if (average == NULL) {
        fail_msg("no averages");
        return;
    }
    assert_string_equal(average[0].policy, "edf");
    assert_int_equal(average[0].settings, 2);
    assert_absolute(average[0].ours.mean, 100 * (0.85 / 0.475 - 1), 1e-9);
    assert_int_equal(average[0].standing, STANDING_HOLDS);
    assert_int_equal(average[1].settings, 1);
    assert_int_equal(average[1].standing, STANDING_UNDECIDED);
    judged_clear(&judged);
    judge(&judged, runs, RUNS,
          "{\"metric\": \"slo_hit_rate_gain_points\", \"low\": 31, \"evidence\": \"assumed\", "
          "\"against\": [\"edf\"]}");
    assert_absolute(judged.judgement->averages[0].ours.mean, 30, 1e-9);
    assert_int_equal(judged.judgement->averages[0].standing, STANDING_BELOW);
    judged_clear(&judged);
    /* Costs of ESG 1 and 1, of orion 2 and 1: on average 50 % more. */
    judge(&judged, runs, RUNS,
          "{\"metric\": \"cost_saving\", \"low\": 47, \"evidence\": \"assumed\", "
          "\"against\": [\"orion\"]}");
    assert_absolute(judged.judgement->averages[0].ours.mean, 50, 1e-9);
    judged_clear(&judged);
}

#define WORLD(world, policy, a, b, cost)                                                           \
    {                                                                                              \
        "light", policy,        "policy.name=" policy " " world " setting=light", 1, a,            \
        cost,    RECORD_SUMMARY},                                                                  \
        {"light", policy,        "policy.name=" policy " " world " setting=light", 2, a,           \
         cost,    RECORD_SUMMARY},                                                                 \
        {"heavy", policy,        "policy.name=" policy " " world " setting=heavy", 1, b,           \
         cost,    RECORD_SUMMARY},                                                                 \
    {                                                                                              \
        "heavy", policy, "policy.name=" policy " " world " setting=heavy", 2, b, cost,             \
            RECORD_SUMMARY                                                                         \
    }

/* The verdicts alone, of the same file twice, as CSV and JSON. */
static void assert_verdicts_as_data(const struct report *report)
{
    static const char *const lines[] = {
        ",all,,,,,61,80,0,,,,partly,,\r\n",
        ",assumptions,\"slices, initial=16\",,,,61,80,0,,,,partly,,\r\n",
        ",pair,\"slices, initial=16\",light,esg,orion,61,80,",
        ",average,\"slices, initial=16\",,esg,orion,61,80,",
        ",below,,",
        ",assumptions,\"shared, initial=16\",,,,61,80,0,,,,reproduced,,\r\n"};
    const struct report *const reports[] = {report, report};
    char *texts[2] = {NULL, NULL};
    size_t sizes[2] = {0, 0};
    FILE *csv = open_memstream(&texts[0], &sizes[0]);
    FILE *json = open_memstream(&texts[1], &sizes[1]);
    assert_true(verdicts_csv(reports, 2, csv, hear()));
    assert_true(verdicts_json(reports, 2, json, hear()));
    (void)fclose(csv);
    (void)fclose(json);
    const char *at = texts[0];
    size_t ends = 0;
    for (size_t i = 0; i < 2 * sizeof lines / sizeof lines[0]; i++) {
        const char *next = strstr(at, lines[i % (sizeof lines / sizeof lines[0])]);
        if (next != NULL)
            at = next;
        else
            fail_msg("line %zu is not in its place in:\n%s", i, texts[0]);
    }
    for (const char *c = texts[0]; *c != '\0'; c++)
        ends += *c == '\n';
    assert_int_equal(ends, 1 + 2 * (1 + 2 * (1 + 2 + 1)));
    JSON *root = cJSON_Parse(texts[1]);
    assert_string_equal(json_at(root, "files/1/file")->valuestring, "made-up.h5");
    assert_string_equal(json_at(root, "files/1/figures/0/verdict")->valuestring, "partly");
    assert_int_equal(cJSON_GetArraySize(json_at(root, "files/1/figures/0/assumptions")), 2);
    free(texts[0]);
    free(texts[1]);
}

/* Two sets of assumptions: on slices 70 % in light and 21.4 % in heavy, 41.7 % on average; shared
 * 70 and 70 %. */
CASE(assumptions_are_judged_apart_and_shown_in_one_table)
{
    static const struct fixture worlds[] = {
        WORLD("cluster=../c/slices.json platform.initial=16", "esg", 0.85, 0.85, 0.0001),
        WORLD("cluster=../c/slices.json platform.initial=16", "orion", 0.5, 0.7, 0.0001),
        WORLD("cluster=../c/shared.json platform.initial=16", "esg", 0.85, 0.85, 0.0001),
        WORLD("cluster=../c/shared.json platform.initial=16", "orion", 0.5, 0.5, 0.0001),
    };
    JUDGED judged = {0};
    judge(&judged, worlds, 16, GAIN("\"orion\""));
    assert_verdicts_as_data(judged.report);
    assert_int_equal(judged.judgement->worlds, 2);
    assert_int_equal(judged.judgement->average_count, 0);
    assert_string_equal(
        judged.judgement->sentence,
        "Partly reproduced: ESG's SLO hit rate is from 21.4 % (\xC2\xB1 0.0) higher "
        "(against orion in heavy cluster=../c/slices.json) to 70.0 % (\xC2\xB1 0.0) "
        "higher (against orion in heavy cluster=../c/shared.json), the published "
        "figure is 61 to 80 % higher; it holds in 3 of 4 pairs of baseline and "
        "setting, is below in 1.");
    const struct report *reports[] = {judged.report, judged.report};
    OWNED_STREAM(out, text);
    assert_true(verdicts_text(reports, 2, out, hear()));
    assert_int_equal(fclose(out), 0);
    static const char *const order[] = {
        "made-up.h5\n\nOverview: ",
        "\nslices, initial=16          light          heavy\n",
        "\n  orion             40.0 at 0.140  56.0 at 0.140\n",
        "\nshared, initial=16          light          heavy\n",
        "made-up.h5\n\nOverview: ",
        "\nslo_hit_rate_gain, 61 to 80 % [published], against each\n",
        "\nassumptions             verdict (pairs)  averages       orion\n",
        "\nslices, initial=16      partly (1 of 2)    0 of 1  41.7 \xC2\xB1 0.0\n",
        "\nshared, initial=16  reproduced (2 of 2)    1 of 1  70.0 \xC2\xB1 0.0\n",
        "\nslices, initial=16      partly",
        "\nmade-up.h5, over all assumptions:\n",
        "\n  Partly reproduced: ",
    };
    assert_in_order(text, order, sizeof order / sizeof order[0]);
    STRING *json = printed(&judged, report_json);
    JSON *root = cJSON_Parse(json);
    const cJSON *world = json_at(root, "paper/figures/0/assumptions/1");
    assert_string_equal(json_at(world, "assumptions")->valuestring, "shared, initial=16");
    assert_string_equal(json_at(world, "verdict")->valuestring, "reproduced");
    assert_string_equal(json_at(world, "averages/0/policy")->valuestring, "orion");
    assert_string_equal(json_at(world, "averages/0/standing")->valuestring, "holds");
}

/* Fills /training: the completion time of each run is its fixture's `cost` in seconds. */
static void trainings_make(struct judged *judged, const struct fixture *made, size_t count)
{
    struct results *results = judged->results;
    results->training = arena_allocate(results->arena, count, sizeof *results->training);
    results->training_count = count;
    for (size_t i = 0; i < count; i++) {
        memcpy(results->training[i].hash, results->runs[i].hash, sizeof results->runs[i].hash);
        results->training[i].measures.jct_s_mean = made[i].cost;
    }
}

#define ONE(setting, policy, parameters, jct)                                                      \
    {                                                                                              \
        setting, policy, "policy.name=" policy parameters " setting=" setting, 1, 0.5, jct,        \
            RECORD_SUMMARY                                                                         \
    }
#define A " policy.params.a="

static void assert_trained(const char *figure, enum verdict verdict, const char *sentence)
{
    static const struct fixture trained[] = {
        ONE("light", "sjf", "", 70),      ONE("light", "srtf", "", 100),
        ONE("light", "fifo", A "1", 340), ONE("light", "fifo", A "2", 100),
        ONE("heavy", "sjf", "", 90),      ONE("heavy", "srtf", "", 100),
        ONE("heavy", "fifo", A "1", 350), ONE("heavy", "fifo", A "2", 100),
    };
    enum { TRAINED = sizeof trained / sizeof trained[0] };
    JUDGED judged = {0};
    judge(&judged, trained, TRAINED, figure);
    trainings_make(&judged, trained, TRAINED);
    report_judge(judged.report, judged.reference);
    judged.judgement = &judged.report->judgements[0];
    assert_string_equal(judged.judgement->sentence, sentence);
    assert_int_equal(judged.judgement->verdict, verdict);
}

CASE(a_metric_of_trainings_is_compared_between_policies)
{
    assert_trained(
        "{\"metric\": \"jct_s_mean\", \"comparison\": \"gain\", \"low\": -33, \"high\": -27, "
        "\"unit\": \"%\", \"evidence\": \"published\", \"deterministic\": true, \"policy\": "
        "\"sjf\", \"against\": [\"srtf\"]}",
        VERDICT_PARTLY,
        "Partly reproduced: jct_s_mean of sjf relative to that of the other is from -30.0 % "
        "(against "
        "srtf in light) to -10.0 % (against srtf in heavy), the published figure is -33 to -27 %; "
        "it "
        "holds in 1 of 2 pairs of policy and setting (srtf: light), is above in 1 (srtf: heavy); "
        "on "
        "average over the settings it holds against 0 of 1.");
}

CASE(parameters_name_the_contenders_of_a_ratio)
{
    assert_trained(
        "{\"metric\": \"jct_s_mean\", \"comparison\": \"ratio\", \"high\": 3.4, \"unit\": \"x\", "
        "\"evidence\": \"published\", \"deterministic\": true, \"policy\": \"fifo a=1\", "
        "\"against\": [\"fifo a=2\", \"las\"]}",
        VERDICT_PARTLY,
        "Partly reproduced: jct_s_mean of fifo a=1 divided by that of the other is from 3.4 x "
        "(against fifo a=2 in light) to 3.5 x (against fifo a=2 in heavy), the published figure is "
        "at most 3.4 x; it holds in 1 of 4 pairs of policy and setting (fifo a=2: light), is above "
        "in 1 (fifo a=2: heavy); on average over the settings it holds against 0 of 1; no run of "
        "las in this file.");
}

#define MARGIN(seed)                                                                               \
    {                                                                                              \
        "light", "esg", "policy.name=esg policy.params.headroom=0.1 setting=light", seed, 0.85,    \
            0.0001, RECORD_SUMMARY                                                                 \
    }

/* Against orion ESG gains nothing, and with a margin 70 %. */
CASE(a_variant_of_esg_has_a_verdict_of_its_own)
{
    static const struct fixture with_margin[] = {SEEDS("light", "esg", 0.5, 0.5, 0.5, 0.0001),
                                                 MARGIN(1), MARGIN(2), MARGIN(3),
                                                 SEEDS("light", "orion", 0.5, 0.5, 0.5, 0.0001)};
    static const char figure[] =
        "{\"metric\": \"slo_hit_rate_gain\", \"low\": 61, \"high\": 80, \"unit\": \"%%\", "
        "\"evidence\": \"published\", \"against\": [\"orion\"], \"policy\": \"%s\"}";
    static const struct {
        const char *policy, *title;
        enum verdict verdict;
        double mean;
    } variants[] = {
        {"esg", "slo_hit_rate_gain", VERDICT_NOT, 0},
        {"esg headroom=0.1", "slo_hit_rate_gain of esg headroom=0.1", VERDICT_REPRODUCED, 70},
        {"esg headroom=0.2", "slo_hit_rate_gain of esg headroom=0.2", VERDICT_UNKNOWN, 0}};
    for (size_t v = 0; v < 3; v++) {
        JUDGED judged = {0};
        judge(&judged, with_margin, 9, formatted(figure, variants[v].policy));
        assert_string_equal(judged.judgement->figure->title, variants[v].title);
        assert_int_equal(judged.judgement->verdict, variants[v].verdict);
        if (variants[v].verdict != VERDICT_UNKNOWN)
            assert_true(fabs(judged.judgement->pairs[0].ours.mean - variants[v].mean) < 1e-9);
    }
}

CASE(one_seed_of_random_runs_is_not_judged)
{
    assert_trained("{\"metric\": \"jct_s_mean\", \"comparison\": \"difference\", \"low\": 0, "
                   "\"unit\": \"s\", \"evidence\": \"published\", \"policy\": \"srtf\", "
                   "\"against\": [\"sjf\"], \"settings\": [\"light\"]}",
                   VERDICT_UNKNOWN,
                   "Cannot be said: jct_s_mean of srtf minus that of the other is 30 s against sjf "
                   "in light, the published figure is at least 0 s; it holds in 0 of 1 pair of "
                   "policy and setting, has one seed and so no interval in 1 (sjf: light).");
}

SUITE("reproduction_check")
