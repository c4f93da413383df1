/* Which seeds the figures of a report rest on: missing runs, copies, seeds that differ much. */
#include <cjson/cJSON.h>

#include "plots/selection.h"
#include "results/expect/reproduction_check.h"
#include "results/page/assumptions.h"
#include "results/page/report_html.h"
#include "results/page/tidy.h"
#include "results/report/curve.h"
#include "tests/fixture_report.h"

/* ESG has three seeds, FIFO one and two. EDF, alone in another setting, has all. */
static const struct fixture runs[] = {
    FIXTURE_ESG_RUNS,
    FIXTURE_FIFO_RUN_1,
    FIXTURE_FIFO_RUN_2,
    {"heavy", "edf", "policy.name=edf setting=heavy", 1, 0.9, 0.0002, RECORD_SUMMARY},
    {"heavy", "edf", "policy.name=edf setting=heavy", 2, 0.5, 0.0002, RECORD_SUMMARY},
    {"heavy", "edf", "policy.name=edf setting=heavy", 3, 0.8, 0.0002, RECORD_SUMMARY},
};
enum { RUNS = sizeof runs / sizeof runs[0] };

static void miss(struct results *results, const char *setting, const char *policy, uint64_t seed)
{
    arena_reserve(results->arena, &results->missing, results->missing_count + 1,
                  sizeof *results->missing);
    struct missing_run *row = &results->missing[results->missing_count];
    row->position = results->missing_count++;
    row->seed = seed;
    (void)snprintf(row->setting, sizeof row->setting, "%s", setting);
    (void)snprintf(row->policy, sizeof row->policy, "%s", policy);
    (void)snprintf(row->label, sizeof row->label, "policy.name=%s setting=%s", policy, setting);
    (void)snprintf(row->status, sizeof row->status, MISSING_FAILED);
    results->sweep.shards = results->sweep.shard = 1;
    results->sweep.missing = results->missing_count;
}

static void lose_fifo_of_seed_3(struct results *results)
{
    miss(results, "light", "fifo", 3);
}

/* Two of EDF's seeds in light, where it has no run, and all of ESG's but one. */
static void lose_several(struct results *results)
{
    lose_fifo_of_seed_3(results);
    for (uint64_t seed = 3; seed <= 6; seed++)
        miss(results, "light", "edf", seed);
    miss(results, "light", "edf", 8);
}

static char *page_of(const struct opened *opened)
{
    char *text = NULL;
    size_t size = 0;
    OWNED(arena_home_free)
    struct assumptions *assumptions = assumptions_load("results/page/assumptions.json", hear());
    const struct page page = {.report = opened->report, .assumptions = assumptions, .options = ""};
    FILE *out = open_memstream(&text, &size);
    assert_true(report_html(&page, out, hear()));
    assert_int_equal(fclose(out), 0);
    return text;
}

#define LOST "INCOMPLETE: 1 of 9 runs are missing (fifo: seed 3)."

CASE(every_format_says_first_which_runs_are_missing)
{
    OPENED opened = report_open(runs, RUNS, lose_fifo_of_seed_3);
    char *text = printed(&opened, report_text);
    assert_memory_equal(text, LOST, strlen(LOST));
    free(text);
    text = printed(&opened, report_csv);
    const char *first = must(strstr(text, "\r\n"));
    static const char line[] = "\r\nnotice,,,,,,incomplete,runs,,0,1,,,," LOST;
    assert_int_equal(strncmp(first, line, strlen(line)), 0);
    free(text);
    text = printed(&opened, report_json);
    JSON *root = cJSON_Parse(text);
    assert_ptr_equal(root->child, json_at(root, "incomplete"));
    assert_true(json_at(root, "incomplete/missing")->valuedouble == 1);
    assert_string_equal(json_at(root, "incomplete/runs/0/policy")->valuestring, "fifo");
    assert_true(json_at(root, "incomplete/runs/0/seed")->valuedouble == 3);
    free(text);
    text = page_of(&opened);
    const char *body = must(strstr(text, "<body>"));
    assert_true(strstr(body, LOST) != NULL && strstr(body, LOST) < strstr(body, "<h1>"));
    free(text);
}

CASE(the_table_of_runs_has_the_number_of_missing_ones)
{
    OPENED opened = report_open(runs, RUNS, lose_fifo_of_seed_3);
    const struct results *files[] = {opened.results};
    OWNED_STREAM(out, text);
    assert_true(tidy_csv(files, 1, out, hear()));
    assert_int_equal(fclose(out), 0);
    assert_memory_equal(text, "file,missing_runs,hash,", strlen("file,missing_runs,hash,"));
    assert_contains(text, "\r\nmade-up.h5,1,");
}

CASE(the_seeds_of_a_policy_are_told_as_ranges)
{
    struct opened opened = report_open(runs, RUNS, lose_several);
    assert_contains(opened.report->incomplete,
                    "INCOMPLETE: 6 of 14 runs are missing (edf: seeds 3-6, 8; fifo: "
                    "seed 3).");
    report_close(&opened);
    opened = report_open(runs, RUNS, NULL);
    assert_null(opened.report->incomplete);
    assert_prints(&opened, report_json, "\"incomplete\":\tnull");
    report_close(&opened);
}

static void lose_one_seed_of_two_settings(struct results *results)
{
    miss(results, "light", "fifo", 3);
    miss(results, "heavy", "fifo", 3);
}

CASE(a_seed_that_is_missing_in_two_settings_is_one_seed)
{
    OPENED opened = report_open(runs, RUNS, lose_one_seed_of_two_settings);
    assert_contains(opened.report->incomplete, " (fifo: seed 3).");
}

static void be_a_shard(struct results *results)
{
    results->sweep.shards = 2;
    results->sweep.shard = 1;
}

CASE(what_a_shard_lacks_may_be_in_another)
{
    struct opened opened = report_open(runs, RUNS, NULL);
    assert_false(report_lacks(opened.report, "edf"));
    report_close(&opened);
    opened = report_open(runs, RUNS, be_a_shard);
    assert_true(report_lacks(opened.report, "edf"));
    report_close(&opened);
}

/* A view without the first setting: notices are still those of the second. */
CASE(a_selection_keeps_the_numbers_of_its_settings)
{
    static const char *const names[] = {"edf"};
    struct figure_list list = {.policies = names, .policy_count = 1};
    struct report views[2];
    OPENED opened = report_open(runs, RUNS, NULL);
    assert_true(selection_views(opened.report, &list, views, hear()));
    assert_int_equal(views[0].scenario_count, 1);
    assert_string_equal(views[0].scenarios[0].setting, "heavy");
    assert_int_equal(views[0].scenarios[0].number, 1);
}

static double mean_of(const struct opened *opened, size_t scenario, size_t contender)
{
    return report_estimate(opened->report,
                           &opened->report->scenarios[scenario].contenders[contender],
                           "classification", metric_find("slo_hit_rate"))
        .mean;
}

/* ESG's hit rates are 0.90, 0.92, 0.94: without seed 3 the mean is 0.91. */
CASE(rows_are_over_the_seeds_that_all_policies_of_the_setting_have)
{
    struct opened opened = report_open(runs, RUNS, NULL);
    assert_true(fabs(mean_of(&opened, 0, 0) - 0.92) < 1e-12);
    report_close(&opened);
    opened = report_open(runs, RUNS, lose_fifo_of_seed_3);
    assert_true(fabs(mean_of(&opened, 0, 0) - 0.91) < 1e-12);
    assert_int_equal(opened.report->scenarios[0].contenders[0].run_count, 2);
    assert_int_equal(opened.report->scenarios[0].contenders[1].missing, 1);
    /* The other setting has all its runs. */
    assert_int_equal(opened.report->scenarios[1].contenders[0].run_count, 3);
    assert_int_equal(opened.report->scenarios[1].contenders[0].missing, 0);
    report_close(&opened);
}

static void give_fifo_other_seeds(struct results *results)
{
    results->runs[3].seed = 7;
    results->runs[4].seed = 8;
    miss(results, "light", "fifo", 1);
}

CASE(without_a_common_seed_rows_are_marked)
{
    OPENED opened = report_open(runs, RUNS, give_fifo_other_seeds);
    assert_string_equal(opened.report->scenarios[0].contenders[0].title, "esg, own seeds");
    assert_string_equal(opened.report->scenarios[0].contenders[1].title, "fifo, own seeds");
}

static enum verdict verdict_with(void (*change)(struct results *), enum standing *standing)
{
    const char *against[] = {"fifo"};
    struct expectation figure = {.metric = paired_gains[GAIN_SAVING].name,
                                 .evidence = "published",
                                 .unit = "%",
                                 .policy = "esg",
                                 .against = against,
                                 .compare_count = 1,
                                 .low = 100,
                                 .high = 200};
    OPENED opened = report_open(runs, 5, change);
    assert_true(expectation_resolve(&figure));
    report_judge(opened.report, &(struct expectations){.list = &figure, .count = 1});
    const enum verdict verdict = opened.report->judgements[0].verdict;
    *standing = opened.report->judgements[0].pairs[0].standing;
    return verdict;
}

CASE(a_verdict_on_a_policy_that_lacks_runs_cannot_be_said)
{
    enum standing standing;
    assert_int_equal(verdict_with(NULL, &standing), VERDICT_REPRODUCED);
    assert_int_equal(verdict_with(lose_fifo_of_seed_3, &standing), VERDICT_UNKNOWN);
    assert_string_equal(standing_name(standing), "runs missing");
}

#define LOAD(load, seed, hit)                                                                      \
    {                                                                                              \
        "light", "esg", "policy.name=esg setting=light arrivals.load=" load, seed, hit, 0.0002,    \
            RECORD_SUMMARY                                                                         \
    }

/* All loads satisfy the limit of 0.5, but a run of load 0.4 is missing. */
CASE(a_curve_does_not_end_where_runs_are_missing)
{
    static const struct fixture loads[] = {LOAD("0.2", 1, 0.9), LOAD("0.4", 1, 0.9),
                                           LOAD("0.6", 1, 0.9)};
    RESULTS *results = must(fixture_results(loads, 3));
    miss(results, "light", "esg", 2);
    (void)snprintf(results->missing[0].label, sizeof results->missing[0].label,
                   "policy.name=esg setting=light arrivals.load=0.4");
    for (size_t first = 0; first < 2; first++) {
        OWNED(arena_home_free) struct report *report = report_build(results);
        const struct curve_request request = {.key = "arrivals.load", .limit = 0.5};
        assert_true(report_follow(report, &request, hear()));
        const struct curve_panel *panel = &report->curves->groups[0].panels[0];
        assert_string_equal(panel->lines[0].words,
                            first == 0 ? "\xE2\x89\xA5 0.2" : "cannot be said");
        (void)snprintf(results->missing[0].label, sizeof results->missing[0].label,
                       "policy.name=esg setting=light arrivals.load=0.2");
    }
}

/* Each run becomes the first of its policy, but for the seed. */
static void copy_all(struct results *results)
{
    for (size_t i = 0; i < results->run_count; i++) {
        size_t first = 0;
        while (strcmp(results->runs[first].policy, results->runs[i].policy) != 0)
            first++;
        results->runs[i].measures = results->runs[first].measures;
        results->runs[i].run = results->runs[first].run;
    }
}

static void copy_esg(struct results *results)
{
    for (size_t i = 1; i < 3; i++) {
        results->runs[i].measures = results->runs[0].measures;
        results->runs[i].run = results->runs[0].run;
    }
}

static struct estimate estimate_of(const struct opened *opened, size_t contender)
{
    return report_estimate(opened->report, &opened->report->scenarios[0].contenders[contender],
                           NULL, metric_find("slo_hit_rate"));
}

CASE(copies_of_one_run_have_no_interval)
{
    OPENED opened = report_open(runs, 5, copy_all);
    STRING *text = printed(&opened, report_text);
    const char *tables = must(strstr(text, "== light"));
    assert_null(strstr(tables, " \xC2\xB1 "));
    const char *note = must(strstr(text, "all seeds gave the same run"));
    assert_null(strstr(note + 1, "all seeds gave the same run"));
    assert_null(strstr(text, "fewer than five seeds"));
    assert_true(estimate_of(&opened, 0).exact && estimate_of(&opened, 0).n == 1);
    const struct report_comparison compared =
        report_compare(opened.report, &opened.report->scenarios[0], 1, NULL);
    assert_int_equal(compared.gains[GAIN_SAVING].n, 1);
    assert_true(isnan(compared.gains[GAIN_SAVING].half_width));
    /* The value is not a sample, so a range holds it or not. */
    assert_int_equal(standing_of(100, 200, compared.gains[GAIN_SAVING]), STANDING_HOLDS);
}

/* Beside a policy that draws, a copy keeps its seeds for the pairs. */
CASE(only_the_policy_whose_runs_are_equal_loses_its_interval)
{
    OPENED opened = report_open(runs, 5, copy_esg);
    assert_int_equal(estimate_of(&opened, 0).n, 1);
    assert_true(isnan(estimate_of(&opened, 0).half_width));
    assert_int_equal(estimate_of(&opened, 1).n, 2);
    assert_true(estimate_of(&opened, 1).half_width > 0);
    const struct report_comparison compared =
        report_compare(opened.report, &opened.report->scenarios[0], 1, NULL);
    assert_int_equal(compared.gains[GAIN_POINTS].n, 2);
    assert_true(compared.gains[GAIN_POINTS].half_width > 0);
}

/* ESG draws nothing, has one run and says so. */
static void leave_one_of_esg(struct results *results)
{
    notices_add(&results->notices[0], NOTICE_OF(NOT_RANDOM));
    results->runs[0].seed = 99;
    (void)snprintf(results->runs[1].policy, sizeof results->runs[1].policy, "other");
    (void)snprintf(results->runs[2].policy, sizeof results->runs[2].policy, "other");
}

/* FIFO's saving: 0.00050 and 0.00060 against 0.00020, whatever the seed of ESG's only run. */
CASE(the_only_run_of_a_policy_that_draws_nothing_is_paired_with_all_seeds)
{
    OPENED opened = report_open(runs, 5, leave_one_of_esg);
    const struct estimate saving =
        report_compare(opened.report, &opened.report->scenarios[0], 2, NULL).gains[GAIN_SAVING];
    assert_string_equal(opened.report->scenarios[0].contenders[2].policy, "fifo");
    assert_int_equal(saving.n, 2);
    assert_true(fabs(saving.mean - (150 + 200) / 2.0) < 1e-9);
    assert_true(estimate_of(&opened, 0).exact);
}

/* EDF's hit rates of all requests: 72, 40 and 64 %. */
CASE(seeds_that_differ_by_over_20_points_are_printed)
{
    OPENED opened = report_open(runs, RUNS, NULL);
    char *text = printed(&opened, report_text);
    assert_contains(text, "\nedf, SLO hit %: seeds 72.0, 40.0, 64.0\n");
    assert_contains(text, "\nedf, heavy: seeds 72.0, 40.0, 64.0\n");
    assert_null(strstr(text, "\nesg, SLO hit %: seeds"));
    free(text);
    text = page_of(&opened);
    assert_contains(text, "<br/><small>seeds 72.0, 40.0, 64.0</small></td>");
    free(text);
}

SUITE("report_seeds")
