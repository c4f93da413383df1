/* A simulation held against a replay: errors that are known come out as they are, what is not the
 * same experiment is refused. The replays are rehearsals, whose error we set. */
#include <cjson/cJSON.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "plots/gnuplot.h"
#include "plots/plot.h"
#include "results/compare/compare.h"
#include "sim/run/replay.h"
#include "sim/run/run_once.h"
#include "tests/fixture_replay.h"
#include "tests/suite.h"
#include "tests/worlds.h"

OWNER(compare_free, struct comparison)

enum { RUNS_MAX = 4, PATH_SIZE = 64 };

/* ---- Pairs of files -------------------------------------------------------------------------- */

struct pair {
    char paths[2][PATH_SIZE];
};

static void path_make(char path[PATH_SIZE])
{
    snprintf(path, PATH_SIZE, "/tmp/esgsim-against-XXXXXX");
    write_temporary(path, "");
}

static void pair_clear(struct pair *pair)
{
    unlink(pair->paths[0]);
    unlink(pair->paths[1]);
}

#define PAIR CLOSED(pair_clear) struct pair

static void simulate_into(struct store *store, const struct experiment *experiment)
{
    double *values = NULL;
    const struct policy *policy = policy_resolve(experiment, &values, hear());
    bool good = policy != NULL &&
                store_begin_experiment(store, experiment, policy, values, 0, true, hear());
    const struct recorder recorder = store_recorder(store);
    good = good && simulation_run(experiment, policy, values, &recorder, NULL, anew(), hear()) &&
           store_end_run(store, &result, hear());
    assert_good(good);
}

/* As a GPU would say of itself; the tests' own, in files that are gone after them. */
static void describe_gpu(void *context, struct execution *execution)
{
    *execution = (struct execution){.backend = "made up",
                                    .device = "a GPU that is none",
                                    .driver = "none",
                                    .gpu = true,
                                    .late_us_mean = 12.5,
                                    .late_us_p99 = 40,
                                    .late_us_max = 155,
                                    .host_ms = 0.25};
}

static void replay_into(struct store *store, const struct experiment *experiment, double factor,
                        double jitter_cv, bool gpu)
{
    if (experiment == NULL)
        return;
    const struct emulated_options options = {
        .factor = factor, .jitter_cv = jitter_cv, .seed = experiment->seed};
    OWNED(arena_home_free) struct emulated *rehearsal = emulated_create(&options);
    struct replay_target target = replay_rehearsal(rehearsal);
    struct resolved_run run = {.experiment = (struct experiment *)experiment};
    run.policy = policy_resolve(experiment, &run.values, hear());
    if (gpu)
        target.describe = describe_gpu;
    assert_good(run.policy != NULL && replay_record(store, &run, &target, anew(), hear()));
}

/* One file of `simulated`, one of `replayed` with that error; the experiments are freed. */
static struct pair pair_make(struct experiment *const simulated[], size_t simulated_count,
                             struct experiment *const replayed[], size_t replayed_count,
                             double factor, double jitter_cv, bool gpu)
{
    struct pair pair = {{{0}}};
    struct store *stores[2];
    for (size_t s = 0; s < 2; s++) {
        path_make(pair.paths[s]);
        stores[s] = store_create(pair.paths[s], hear());
        assert_non_null(stores[s]);
    }
    for (size_t i = 0; i < simulated_count; i++)
        simulate_into(stores[0], simulated[i]);
    for (size_t i = 0; i < replayed_count; i++)
        replay_into(stores[1], replayed[i], factor, jitter_cv, gpu);
    for (size_t i = 0; i < simulated_count; i++)
        experiment_free(simulated[i]);
    for (size_t i = 0; i < replayed_count; i++)
        experiment_free(replayed[i]);
    for (size_t s = 0; s < 2; s++)
        assert_true(store_finish(stores[s], hear()));
    return pair;
}

static struct pair pair_of(struct experiment *simulated, struct experiment *replayed, double factor,
                           double jitter_cv, bool gpu)
{
    return pair_make(&simulated, 1, &replayed, 1, factor, jitter_cv, gpu);
}

static struct comparison *compare(const struct pair *pair)
{
    struct comparison *against = must(compare_load(pair->paths[0], pair->paths[1], hear()));
    return against;
}

static void refused(const struct pair *pair, const char *says)
{
    assert_bad_input(compare_load(pair->paths[0], pair->paths[1], hear()), says);
}

/* A random world with three applications, under a policy. */
static struct experiment *world(uint64_t number, const char *policy, const char *key,
                                const char *value)
{
    struct overrides overrides = warm();
    override_add(&overrides, "policy.name", policy);
    if (key != NULL)
        override_add(&overrides, key, value);
    return parse(world_random(number, false), &overrides);
}

static const struct compare_part *whole(const struct compare_run *run)
{
    return &run->parts[run->part_count - 1];
}

/* ---- Known errors ---------------------------------------------------------------------------- */

CASE(a_reality_as_modelled_has_no_error_at_all)
{
    PAIR pair = pair_of(world(1, "esg", NULL, NULL), world(1, "esg", NULL, NULL), 1, 0, false);
    OWNED(compare_free) struct comparison *against = compare(&pair);
    assert_int_equal(against->run_count, 1);
    assert_int_equal(against->alone_count, 0);
    assert_false(against->gpu);
    const struct compare_run *run = &against->runs[0];
    assert_int_equal(run->part_count, 4);
    assert_string_equal(run->backend, "rehearsal");
    for (size_t p = 0; p < run->part_count; p++) {
        assert_true(run->parts[p].distance == 0);
        for (size_t m = 0; m < COMPARE_METRICS; m++) {
            const struct compare_figure *figure = &run->parts[p].figures[m];
            assert_true(figure->simulated == figure->real);
            assert_true(isnan(figure->error) || figure->error == 0);
            assert_true(isnan(figure->error) || (figure->low == 0 && figure->high == 0));
        }
    }
    static const enum compare_metric limited[] = {COMPARE_MEAN, COMPARE_P95, COMPARE_HIT,
                                                  COMPARE_COST};
    for (size_t m = 0; m < 4; m++)
        assert_int_equal(compare_stands(run, limited[m], NULL), COMPARE_MET);
    assert_int_equal(compare_stands(run, COMPARE_P99, NULL), COMPARE_UNTOLD);
    assert_true(run->time_difference_ms == 0);
}

/* 100 ms modelled, 125 executed, nobody waits: −20 % of everything, and every request misses none
 * of its 200 ms. */
CASE(an_error_of_the_profile_is_found_where_it_is)
{
    PAIR pair = pair_of(lone(NULL, "arrivals.rate_per_s", "1"),
                        lone(NULL, "arrivals.rate_per_s", "1"), 1.25, 0, true);
    OWNED(compare_free) struct comparison *against = compare(&pair);
    const struct compare_run *run = &against->runs[0];
    const struct compare_part *part = whole(run);
    double by = 0;
    assert_int_equal(run->part_count, 1);
    assert_null(part->application);
    assert_int_equal(part->requests, 300);
    assert_true(fabs(part->figures[COMPARE_MEAN].error + 20) < 1e-9);
    assert_true(fabs(part->figures[COMPARE_P99].error + 20) < 1e-9);
    assert_true(fabs(part->figures[COMPARE_P99].low + 20) < 1e-9);
    assert_true(fabs(part->figures[COMPARE_EXECUTION].error + 20) < 1e-9);
    assert_true(fabs(part->figures[COMPARE_COST].error + 20) < 1e-9);
    assert_true(part->figures[COMPARE_HIT].error == 0);
    assert_true(part->distance == 1);
    assert_int_equal(compare_stands(run, COMPARE_MEAN, &by), COMPARE_MISSED);
    assert_true(fabs(by - 15) < 1e-9);
    assert_int_equal(run->batch_kinds, 1);
    assert_int_equal(run->batches[0].count[0], 300);
    assert_int_equal(run->batches[0].count[1], 300);
    assert_string_equal(run->batches[0].function, "f");
    assert_true(fabs(run->batches[0].execution_ms[1] - 125) < 1e-9);
    assert_true(fabs(run->batches[0].modelled_ms[1] - 100) < 1e-9);
    assert_true(fabs(run->batches[0].ratio_sd[1]) < 1e-9);
    assert_true(fabs(run->time_difference_ms + 25) < 1e-9);
    assert_true(fabs(run->company[0].slowdown[0] - 1) < 1e-12);
    assert_true(fabs(run->company[0].slowdown[1] - 1.25) < 1e-12);
    assert_true(against->gpu && run->gpu);
    assert_true(run->late_us_mean == 12.5 && run->late_us_p99 == 40 && run->late_us_max == 155);
    assert_true(run->host_ms == 0.25);
    assert_string_equal(run->device, "a GPU that is none");
}

/* Reality without the model's interference: the error is in company, not alone. */
CASE(an_error_of_the_interference_shows_in_company_alone)
{
    PAIR pair =
        pair_of(lone(NULL, "platform.interference", "true"), lone(NULL, NULL, NULL), 1, 0, false);
    OWNED(compare_free) struct comparison *against = compare(&pair);
    const struct compare_run *run = &against->runs[0];
    assert_true(run->company_count >= 3);
    for (size_t c = 0; c < run->company_count; c++) {
        assert_int_equal(run->company[c].others, c);
        assert_true(run->company[c].count[1] == 0 || fabs(run->company[c].slowdown[1] - 1) < 1e-12);
    }
    assert_true(run->company[0].slowdown[0] < 1.15);
    assert_true(run->company[2].slowdown[0] > 1.2);
}

/* ---- Figures by other means ------------------------------------------------------------------ */

static double quantile_of(const struct run_record *record, uint32_t application, double share)
{
    OWNED(free) double *values = calloc(record->request_count + 1, sizeof *values);
    size_t count = 0;
    for (size_t i = 0; i < record->request_count; i++)
        if (record->requests[i].application == application && !record->requests[i].dropped)
            values[count++] =
                sim_to_ms(record->requests[i].finish_ns - record->requests[i].arrival_ns);
    gsl_sort(values, 1, count);
    const double value = gsl_stats_quantile_from_sorted_data(values, 1, count, share);
    return value;
}

CASE(figures_are_those_of_the_rows)
{
    PAIR pair = pair_of(world(2, "esg", "slo.factor", "1.1"), world(2, "esg", "slo.factor", "1.1"),
                        1.1, 0.2, false);
    OWNED(compare_free) struct comparison *against = compare(&pair);
    const struct compare_run *run = &against->runs[0];
    const char *const hashes[] = {run->simulated->hash, run->real->hash};
    for (size_t s = 0; s < 2; s++) {
        OWNED(arena_home_free)
        struct run_record *record = must(run_record_load(pair.paths[s], hashes[s], false, hear()));
        for (uint32_t a = 0; a < 3; a++) {
            static const double shares[] = {0.5, 0.9, 0.95, 0.99, 0.999};
            for (size_t q = 0; q < 5; q++) {
                const struct compare_figure *figure = &run->parts[a].figures[COMPARE_P50 + q];
                const double expected = quantile_of(record, a, shares[q]);
                assert_true(fabs((s == 0 ? figure->simulated : figure->real) - expected) <
                            1e-9 * expected);
            }
        }
    }
    /* All together: what the runs' own tables say. */
    const struct measures *measures[] = {&run->simulated->measures, &run->real->measures};
    const struct compare_figure *figures = whole(run)->figures;
    for (size_t s = 0; s < 2; s++) {
        const double pairs[][2] = {
            {measures[s]->latency_ms_mean,
             s == 0 ? figures[COMPARE_MEAN].simulated : figures[COMPARE_MEAN].real},
            {measures[s]->latency_ms_p99,
             s == 0 ? figures[COMPARE_P99].simulated : figures[COMPARE_P99].real},
            {measures[s]->slo_hit_rate,
             s == 0 ? figures[COMPARE_HIT].simulated : figures[COMPARE_HIT].real},
            {measures[s]->cost_per_request_usd,
             s == 0 ? figures[COMPARE_COST].simulated : figures[COMPARE_COST].real},
            {measures[s]->queue_ms_mean,
             s == 0 ? figures[COMPARE_QUEUE].simulated : figures[COMPARE_QUEUE].real},
            {measures[s]->mean_batch, whole(run)->mean_batch[s]}};
        for (size_t f = 0; f < sizeof pairs / sizeof *pairs; f++)
            assert_true(fabs(pairs[f][0] - pairs[f][1]) <= 1e-9 * fabs(pairs[f][0]));
    }
}

/* ∫ others on the batch's GPU over its time, pair by pair. */
static double others_of(const struct run_record *record, size_t batch)
{
    const struct batch_row *own = &record->batches[batch];
    double overlap = 0;
    for (size_t i = 0; i < record->batch_count; i++) {
        const struct batch_row *row = &record->batches[i];
        if (i == batch || row->gpu != own->gpu)
            continue;
        const sim_time_t from =
            row->started_ns > own->started_ns ? row->started_ns : own->started_ns;
        const sim_time_t to =
            row->finished_ns < own->finished_ns ? row->finished_ns : own->finished_ns;
        overlap += to > from ? (double)(to - from) : 0;
    }
    return overlap / (double)(own->finished_ns - own->started_ns);
}

CASE(company_and_causes_are_what_pairwise_counting_gives)
{
    PAIR pair = pair_of(world(3, "esg", NULL, NULL), world(3, "esg", NULL, NULL), 0.9, 0.2, false);
    OWNED(compare_free) struct comparison *against = compare(&pair);
    const struct compare_run *run = &against->runs[0];
    const char *const hashes[] = {run->simulated->hash, run->real->hash};
    size_t counted[2][16] = {{0}};
    double jobs[2] = {0}, execution[2] = {0};
    for (size_t s = 0; s < 2; s++) {
        OWNED(arena_home_free)
        struct run_record *record = must(run_record_load(pair.paths[s], hashes[s], false, hear()));
        for (size_t i = 0; i < record->batch_count; i++) {
            const struct batch_row *row = &record->batches[i];
            const long others = lround(others_of(record, i));
            assert_true(others >= 0 && others < 16);
            counted[s][others]++;
            jobs[s] += row->jobs;
            execution[s] += row->jobs * sim_to_ms(row->finished_ns - row->started_ns);
        }
        assert_true(fabs(run->execution_ms[s] - execution[s] / jobs[s]) < 1e-9);
    }
    for (size_t c = 0; c < run->company_count; c++)
        for (size_t s = 0; s < 2; s++)
            assert_int_equal(run->company[c].count[s], counted[s][run->company[c].others]);
    size_t kinds[2] = {0};
    for (size_t k = 0; k < run->batch_kinds; k++)
        for (size_t s = 0; s < 2; s++)
            kinds[s] += run->batches[k].count[s];
    /* A reality a tenth faster: what is alike took longer in the simulation. */
    assert_true(run->time_difference_ms > 0);
    assert_true(kinds[0] > 0 && kinds[1] > 0);
}

/* Jitter of mean 1 on independent requests is no error of the mean: the interval should hold 0 in
 * 95 of 100 cases; with blocks as few as these it is somewhat too narrow. */
CASE(the_interval_holds_the_truth_as_often_as_it_says)
{
    const size_t count = trials(40);
    size_t held = 0;
    for (unsigned trial = 0; trial < count; trial++) {
        char *seed = formatted("%u", trial + 1);
        PAIR pair = pair_of(lone(NULL, "seed", seed), lone(NULL, "seed", seed), 1, 0.3, false);
        OWNED(compare_free) struct comparison *against = compare(&pair);
        const struct compare_figure *figure = &whole(&against->runs[0])->figures[COMPARE_EXECUTION];
        assert_true(figure->low <= figure->error && figure->error <= figure->high);
        assert_true(figure->high - figure->low < 15);
        held += figure->low <= 0 && figure->high >= 0;
    }
    assert_in_range(held, count * 85 / 100, count);
}

CASE(few_requests_have_no_interval)
{
    PAIR pair = pair_of(lone(NULL, "requests", "30"), lone(NULL, "requests", "30"), 1.1, 0, false);
    OWNED(compare_free) struct comparison *against = compare(&pair);
    assert_true(isnan(whole(&against->runs[0])->figures[COMPARE_MEAN].low));
    assert_true(isfinite(whole(&against->runs[0])->figures[COMPARE_MEAN].error));
}

/* ---- Pairing and refusals -------------------------------------------------------------------- */

CASE(runs_are_paired_by_policy_and_seed_and_the_rest_is_told)
{
    struct experiment *simulated[] = {lone("fifo", NULL, NULL), lone("edf", NULL, NULL),
                                      lone("fifo", "seed", "6")};
    struct experiment *replayed[] = {lone("fifo", "seed", "6"), lone("edf", NULL, NULL),
                                     lone("openwhisk", NULL, NULL)};
    PAIR pair = pair_make(simulated, 3, replayed, 3, 1, 0, false);
    OWNED(compare_free) struct comparison *against = compare(&pair);
    assert_int_equal(against->run_count, 2);
    assert_string_equal(against->runs[0].title, "lone, fifo, seed 6");
    assert_string_equal(against->runs[1].title, "lone, edf, seed 5");
    assert_int_equal(against->alone_count, 2);
    assert_string_equal(against->alone[0], "lone, openwhisk, seed 5: replayed, not simulated");
    assert_string_equal(against->alone[1], "lone, fifo, seed 5: simulated, not replayed");
}

CASE(what_a_replay_changes_may_differ)
{
    static const char *const keys[][2] = {
        {"platform.interference", "true"},
        {"platform.host_ms", "2"},
        {"platform.turnaround", "false"},
    };
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        PAIR pair = pair_of(lone(NULL, keys[k][0], keys[k][1]),
                            lone(NULL, "platform.decision_cost", "{\"model\":\"fixed\",\"ms\":1}"),
                            1, 0, false);
        OWNED(compare_free) struct comparison *against = compare(&pair);
        assert_int_equal(against->run_count, 1);
    }
}

CASE(other_experiments_are_refused_by_the_first_key_that_differs)
{
    static const struct refusal_of cases[] = {
        {"slo.factor", "3", "slo.a.ms differs"},
        {"arrivals.rate_per_s", "6", "arrivals.rate_per_s differs"},
        {"platform.initial", "{\"f\":5}", "platform.initial.f differs"},
        {"requests", "299", "requests differs"},
        {"policy.params.max_batch", "2", "policy.params.max_batch differs"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        PAIR pair =
            pair_of(lone(NULL, NULL, NULL), lone(NULL, cases[c].key, cases[c].text), 1, 0, false);
        refused(&pair, cases[c].words);
    }
}

CASE(files_of_the_wrong_kind_are_refused)
{
    PAIR pair = pair_of(lone(NULL, NULL, NULL), lone(NULL, NULL, NULL), 1, 0, false);
    struct pair swapped = {{{0}}}, same = {{{0}}}, none = {{{0}}};
    memcpy(swapped.paths[0], pair.paths[1], PATH_SIZE);
    memcpy(swapped.paths[1], pair.paths[0], PATH_SIZE);
    memcpy(same.paths[0], pair.paths[0], PATH_SIZE);
    memcpy(same.paths[1], pair.paths[0], PATH_SIZE);
    refused(&swapped, "was simulated, not replayed");
    refused(&same, "was simulated, not replayed");
    memcpy(same.paths[0], pair.paths[1], PATH_SIZE);
    memcpy(same.paths[1], pair.paths[1], PATH_SIZE);
    refused(&same, "is itself a replay");
    memcpy(none.paths[0], pair.paths[0], PATH_SIZE);
    snprintf(none.paths[1], PATH_SIZE, "tests/test_compare.c");
    refused(&none, "tests/test_compare.c");
    snprintf(none.paths[1], PATH_SIZE, "/no/such/file.h5");
    refused(&none, "/no/such/file.h5");
}

CASE(runs_without_rows_or_partners_are_refused)
{
    PAIR few = pair_of(lone(NULL, "record", "requests"), lone(NULL, NULL, NULL), 1, 0, false);
    refused(&few, "--set record=all");
    PAIR unlike = pair_of(lone("fifo", NULL, NULL), lone("edf", NULL, NULL), 1, 0, false);
    refused(&unlike, "no run of the policy, setting and seed");
}

/* ---- Printed --------------------------------------------------------------------------------- */

typedef bool print(const struct comparison *against, FILE *out, struct error *error);

static char *printed(const struct comparison *against, print *function)
{
    MEMORY_STREAM(out, text);
    assert_true(function(against, out, hear()));
    assert_int_equal(fclose(out), 0);
    return text;
}

CASE(the_formats_agree_and_say_that_no_gpu_took_part)
{
    PAIR pair = pair_of(lone(NULL, NULL, NULL), lone(NULL, NULL, NULL), 1.25, 0.1, false);
    OWNED(compare_free) struct comparison *against = compare(&pair);
    STRING *text = printed(against, compare_text), *again = printed(against, compare_text);
    STRING *page = printed(against, compare_html), *csv = printed(against, compare_csv);
    STRING *object = printed(against, compare_json);
    const double error = whole(&against->runs[0])->figures[COMPARE_EXECUTION].error;
    char number[64];
    assert_string_equal(text, again);
    assert_non_null(strstr(text, "rehearsal: no GPU took part"));
    assert_non_null(strstr(page, "rehearsal: no GPU took part"));
    snprintf(number, sizeof number, "%+.2f", error);
    assert_non_null(strstr(text, number));
    assert_non_null(strstr(page, number));
    snprintf(number, sizeof number, ",%.17g,%%,", error);
    assert_non_null(strstr(csv, number));
    for (const char *line = csv; *line != '\0'; line = strstr(line, "\r\n") + 2) {
        size_t commas = 0;
        for (const char *at = line; *at != '\r'; at++)
            commas += *at == ',';
        assert_int_equal(commas, 14);
    }
    JSON *root = must(cJSON_Parse(object));
    assert_true(cJSON_IsFalse(json_at(root, "gpu")));
    assert_true(json_at(root, "runs/0/all/0/exec_ms_mean/error")->valuedouble == error);
}

CASE(a_gpu_is_named_and_nothing_is_called_a_rehearsal)
{
    PAIR pair = pair_of(lone(NULL, NULL, NULL), lone(NULL, NULL, NULL), 1, 0, true);
    OWNED(compare_free) struct comparison *against = compare(&pair);
    STRING *text = printed(against, compare_text);
    assert_null(strstr(text, "rehearsal"));
    assert_non_null(strstr(text, "Executed on a GPU that is none (none) through made up."));
    assert_non_null(strstr(text, "late by 12.5 us in the mean, 40.0 us at p99, 155.0 us at most"));
    /* What is advised is what `verify reality` sets for the replays on an H200. */
    assert_non_null(strstr(text, "platform.host_ms=0.250"));
    assert_non_null(strstr(text, "platform.turnaround=false"));
}

/* ---- The figure ------------------------------------------------------------------------------ */

static char *file_read(const char *path)
{
    FILE *file = must(fopen(path, "r"));
    char *text = NULL;
    size_t size = 0;
    assert_true(getdelim(&text, &size, '\0', file) > 0);
    assert_int_equal(fclose(file), 0);
    return text;
}

/* The CSV, and the picture where gnuplot is here: texts that the caller frees. */
static void figure_make(const struct comparison *against, char **csv, char **svg)
{
    char folder[] = "/tmp/esgsim-figure-XXXXXX";
    assert_non_null(mkdtemp(folder));
    CLOSED(figure_list_clear) struct figure_list list = {.folder = folder};
    assert_good(plot_compare(against, &list, hear()));
    assert_int_equal(list.count, 1);
    assert_string_equal(list.figures[0].script, "simulated-against-real");
    *csv = file_read(list.figures[0].csv);
    *svg = NULL;
    if (gnuplot_check(hear())) {
        assert_good(plot_draw(&list, "svg", hear()));
        *svg = file_read(list.figures[0].picture);
        unlink(list.figures[0].picture);
    }
    unlink(list.figures[0].csv);
    assert_int_equal(rmdir(folder), 0);
}

CASE(the_figure_is_drawn_twice_alike)
{
    struct experiment *simulated[] = {lone("fifo", NULL, NULL), lone("edf", NULL, NULL)};
    struct experiment *replayed[] = {lone("fifo", NULL, NULL), lone("edf", NULL, NULL)};
    PAIR pair = pair_make(simulated, 2, replayed, 2, 1.2, 0.1, false);
    OWNED(compare_free) struct comparison *against = compare(&pair);
    char *csv[2], *svg[2];
    for (size_t i = 0; i < 2; i++)
        figure_make(against, &csv[i], &svg[i]);
    assert_string_equal(csv[0], csv[1]);
    assert_non_null(strstr(csv[0], "Rehearsal: no GPU took part"));
    assert_non_null(strstr(csv[0], "edf"));
    if (svg[0] != NULL) {
        assert_string_equal(svg[0], svg[1]);
        assert_non_null(strstr(svg[0], "Simulated against real: lone"));
    }
    for (size_t i = 0; i < 2; i++) {
        free(csv[i]);
        free(svg[i]);
    }
}

SUITE("compare")
