/* Figures: what their CSVs hold, worked out by hand; every script drawn, twice; refusals. */
#include "plots/gnuplot.h"
#include "plots/palette.h"
#include "plots/plot.h"
#include "sched/registry.h"
#include "sim/base/atomic_file.h"
#include "tests/fixture_folder.h"
#include "tests/fixture_results.h"
#include "traces/calibrate/calibrate.h"
#include "traces/calibrate/samples.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* A test with a folder of its own. */
#define DRAWING(title) CASE_WITH(title, folder_make, folder_remove)

/* Until the next call. */
static char *csv_of(const char *name)
{
    static char *csv;
    char *file = formatted("%s.csv", name);
    free(csv);
    csv = file_text(in_folder(file));
    return csv;
}

/* ---- Results made up ------------------------------------------------------------------------ */

#define EDF "policy.name=edf setting=light"
static const struct fixture light[] = {
    FIXTURE_ESG_RUNS,
    FIXTURE_FIFO_RUN_1,
    FIXTURE_FIFO_RUN_2,
    FIXTURE_FIFO_RUN_3,
    {"light", "edf", EDF, 1, 0.40, 0.00010, RECORD_SUMMARY},
};

static const char *results_write(const struct fixture *runs, size_t count, size_t rows)
{
    const char *path = in_folder("made-up.h5");
    struct store *store = must(store_create(path, hear()));
    for (size_t i = 0; i < count; i++)
        assert_true(fixture_store(store, &runs[i], rows, hear()));
    assert_true(store_finish(store, hear()));
    return path;
}

/* Figures that are cleared where their block ends. */
#define FIGURES __attribute__((cleanup(figure_list_clear), unused)) struct figure_list

static struct figure_list drawn(const char *path)
{
    struct figure_list list = {.folder = folder};
    assert_good(plot_file(path, NULL, &list, hear()));
    return list;
}

DRAWING(hit_rates_are_percentages_with_intervals_by_application)
{
    FIGURES list = drawn(results_write(light, COUNT(light), 0));
    char *csv = csv_of("hit-rate-light");
    /* Mean 92, sd 2: Wilson's interval. The second application's rate is half, that of all together
     * 0.8 of it. */
    assert_contains(csv, "1,classification,SLO hit rate (%),1,esg,92,85.56364169,95.7106055,");
    assert_contains(csv, "2,depth,SLO hit rate (%),1,esg,46,43.52883487,48.4909");
    assert_contains(csv, "3,all,SLO hit rate (%),2,fifo,44,");
    /* One seed has no interval; colours and markers are the policy's own. */
    assert_contains(csv, "1,classification,SLO hit rate (%),3,edf,40,,,100,0x009E73,12,");
    assert_contains(csv, ",100,0x0072B2,7,light,Requests that finished within their "
                         "SLO. Dashed: what no policy can beat. Means of 1 to 3 seeds of "
                         "1\u202F000 requests each; bars: 95 % intervals. Latency profile: "
                         "assumed.\n");
    csv = csv_of("cost-light");
    assert_contains(csv, "1,classification,$ per 1\u202F000 requests served,1,esg,0.24,");
    assert_contains(csv, "1,classification,$ per 1\u202F000 requests served,2,fifo,0.6,");
}

DRAWING(the_pareto_front_is_of_those_that_none_beats_on_both)
{
    FIGURES list = drawn(results_write(light, COUNT(light), 0));
    char *csv = csv_of("hit-against-cost-light");
    /* esg 73.6 % at 0.336, fifo 44 % at 0.84, edf 32 % at 0.14: fifo alone is beaten. */
    assert_contains(csv, "1,esg,$ per 1\u202F000 requests served,0.336,0.1968882881,0.4751117119,");
    assert_contains(csv, ",SLO hit rate (%),73.6,69.44653748,77.3728046,");
    assert_contains(csv, "2,fifo,$ per 1\u202F000 requests served,0.84,");
    assert_contains(csv, ",0.14,,,SLO hit rate (%),32,,,1,0.1,98,0x009E73,12,1 32 0.14,-,-\n");
    char *fifo = strstr(csv, "2,fifo,");
    assert_contains(fifo, ",0,0.1,98,0x56B4E9,15,1 40 0.7; 2 44 0.84; 3 48 0.98,-,-\n");
}

DRAWING(figures_that_need_rows_are_left_out_with_a_note)
{
    FIGURES list = drawn(results_write(light, COUNT(light), 0));
    assert_int_equal(list.count, 6);
    assert_int_equal(list.note_count, 3);
    assert_contains(list.notes[0], "latency-cdf");
    assert_contains(list.notes[1], "batch-sizes");
    assert_contains(list.notes[2], "timeline");
}

/* ---- Across settings, and what things are made of ------------------------------------------- */

DRAWING(settings_stand_side_by_side_and_a_contender_keeps_its_look_in_all)
{
    static const struct fixture runs[] = {
        FIXTURE_FIFO_RUN_1,
        {"light", "esg", FIXTURE_ESG, 1, 0.90, 0.00020, RECORD_SUMMARY},
        {"heavy", "esg", "setting=heavy policy.name=esg", 1, 0.80, 0.00030, RECORD_SUMMARY},
    };
    FIGURES list = drawn(results_write(runs, COUNT(runs), 0));
    char *csv = csv_of("settings");
    /* All together 0.8 of the hit rate, 1.4 of the cost. */
    assert_contains(csv, "1,SLO hit rate (%),0,1,light,2,esg,72,,,0x0072B2,7,");
    assert_contains(csv, "1,SLO hit rate (%),0,2,heavy,2,esg,64,,,0x0072B2,7,");
    assert_contains(csv, "2,$ per 1\u202F000 requests served,0,2,heavy,2,esg,0.42,,");
    assert_contains(csv, "3,p95 latency (ms),1,1,light,1,fifo,200,,");
}

DRAWING(costs_are_parts_of_what_is_provisioned)
{
    FIGURES list = drawn(results_write(light, COUNT(light), 0));
    char *csv = csv_of("cost-parts-light");
    /* 1.4 of the mean 0.00024; the second panel has parts that the made-up run does not. */
    assert_contains(csv, "requests served,1,esg,1,execution,0,0.336,");
    assert_contains(csv, "requests served,1,esg,2,held before it,0.336,0.336,");
    assert_contains(csv, ",0.336,-,-\n");
    csv = csv_of("resources-light");
    assert_contains(csv, "1,vGPUs held,%,1,esg,50,50,50,");
    assert_contains(csv, "6,jobs per batch,,1,esg,2.5,2.5,2.5,");
}

DRAWING(jobs_are_counted_by_the_size_of_their_batch)
{
    static const struct fixture run = {"light", "esg", FIXTURE_ESG, 1, 0.9, 0.0002, RECORD_ALL};
    FIGURES list = drawn(results_write(&run, 1, 300));
    char *csv = csv_of("batch-sizes-light");
    /* 100 batches of 1, 2, 3, 4, 1, … jobs: of ten jobs one alone, two in twos, seven in larger. */
    assert_contains(csv, "share of the jobs (%),1,esg,1,1,0,10,");
    assert_contains(csv, "share of the jobs (%),1,esg,2,2,10,30,");
    assert_contains(csv, "share of the jobs (%),1,esg,3,3 to 4,30,100,");
    assert_contains(csv, ",mean 2.50,-,-");
}

/* ---- Requests ------------------------------------------------------------------------------- */

/* A run of 100 measured requests of 1, 2, … 100 ms, a quarter queue, the rest execution, SLO 200
 * ms, in an order of their own; the last `dropped` were given up. One in the warm-up takes an
 * hour. */
static const char *requests_write(unsigned dropped)
{
    const char *path = in_folder("requests.h5");
    struct fixture fixture = {"light", "esg", FIXTURE_ESG, 1, 0.9, 0.0002, RECORD_REQUESTS};
    struct fixture_texts texts;
    struct measures applications[FIXTURE_APPLICATIONS];
    struct run_metadata metadata = fixture_metadata(&fixture, &texts);
    struct simulation_result result = fixture_result(&fixture, applications);
    struct store *store = must(store_create(path, hear()));
    assert_true(store_begin_run(store, &metadata, hear()));
    const struct recorder recorder = store_recorder(store);
    struct request_row row = {.measured = 0, .finish_ns = SIM_HOUR, .exec_ns = SIM_HOUR};
    assert_true(recorder.request(recorder.context, &row, hear()));
    for (unsigned i = 0; i < 100; i++) {
        const unsigned ms = (i * 37) % 100 + 1;
        row = (struct request_row){.request = i + 1,
                                   .measured = 1,
                                   .dropped = ms > 100 - dropped,
                                   .arrival_ns = i * SIM_MS,
                                   .finish_ns = (i + ms) * SIM_MS,
                                   .slo_ns = 200 * SIM_MS,
                                   .queue_ns = ms * SIM_MS / 4,
                                   .exec_ns = ms * SIM_MS - ms * SIM_MS / 4};
        assert_true(recorder.request(recorder.context, &row, hear()));
    }
    assert_true(store_end_run(store, &result, hear()));
    assert_true(store_finish(store, hear()));
    return path;
}

DRAWING(latencies_are_quantiles_split_by_what_their_requests_did)
{
    FIGURES list = drawn(requests_write(0));
    char *csv = csv_of("latency-cdf-light");
    /* Position (n − 1) q = 49.5 of 1 … 100. */
    assert_contains(csv, "1,esg,50,50.5,0.2525,0x0072B2,1,");
    assert_contains(csv, "1,esg,0,1,0.005,");
    csv = csv_of("latency-parts-light");
    assert_contains(csv, "1,p50,1,esg,12.625,0,0,37.875,50.5,");
    assert_contains(csv, "4,p99.9,1,esg,24.97525,0,0,74.92575,99.901,");
}

DRAWING(what_was_dropped_never_finishes)
{
    FIGURES list = drawn(requests_write(10));
    char *csv = csv_of("latency-cdf-light");
    assert_contains(csv, "1,esg,89.5,89.605,");
    assert_null(strstr(csv, "1,esg,90.5,"));
    csv = csv_of("latency-parts-light");
    assert_contains(csv, "1,p50,1,esg,");
    assert_null(strstr(csv, "p95"));
}

DRAWING(a_figure_with_nothing_in_it_is_left_out_with_a_note)
{
    FIGURES list = drawn(requests_write(100));
    assert_int_equal(list.count, 7);
    for (size_t i = 0; i < list.count; i++)
        assert_null(strstr(list.figures[i].name, "latency-cdf"));
    assert_int_equal(list.note_count, 3);
    assert_contains(list.notes[0], "latency-cdf-light: not drawn");
    assert_int_not_equal(access(in_folder("latency-cdf-light.csv"), F_OK), 0);
}

#define WORLD(setting, policy, seed, hit)                                                          \
    {                                                                                              \
        setting, policy, "setting=" setting " policy.name=" policy, seed, hit, 0.0002,             \
            RECORD_SUMMARY                                                                         \
    }

DRAWING(an_order_that_flips_against_the_first_setting_is_marked)
{
    static const struct fixture runs[] = {
        WORLD("assumed", "esg", 1, 0.50), WORLD("assumed", "fifo", 1, 0.20),
        WORLD("assumed", "esg", 2, 0.52), WORLD("assumed", "fifo", 2, 0.21),
        WORLD("calm", "esg", 1, 0.50),    WORLD("calm", "fifo", 1, 0.25),
        WORLD("calm", "esg", 2, 0.52),    WORLD("calm", "fifo", 2, 0.27),
        WORLD("slow", "esg", 1, 0.20),    WORLD("slow", "fifo", 1, 0.50),
        WORLD("slow", "esg", 2, 0.21),    WORLD("slow", "fifo", 2, 0.52),
        WORLD("noisy", "esg", 1, 0.20),   WORLD("noisy", "fifo", 1, 0.60),
        WORLD("noisy", "esg", 2, 0.50),   WORLD("noisy", "fifo", 2, 0.52),
    };
    FIGURES list = drawn(results_write(runs, COUNT(runs), 0));
    char *csv = csv_of("tornado");
    /* 80 x (0.30, 0.31): 24.4. */
    assert_contains(csv, "1,esg \u2212 fifo,points of SLO hit rate,1,assumed,24.4,24.4,");
    assert_contains(csv, ",3,slow,24.4,-24.4,");
    assert_contains(csv, ",4,noisy,24.4,-16.8,-100,100,2,");
    assert_contains(csv, ",2,calm,24.4,20,20,20,0,");
    assert_contains(strstr(csv, "slow"), ",1,");
}

DRAWING(two_parameters_of_one_policy_are_colour_and_marker)
{
#define CELL(order, allocation, hit)                                                               \
    {                                                                                              \
        "light", "synergy",                                                                        \
            "policy.name=synergy policy.params.order=" order                                       \
            " policy.params.allocation=" allocation " setting=light",                              \
            1, hit, 0.0002, RECORD_SUMMARY                                                         \
    }
    static const struct fixture runs[] = {CELL("fifo", "tune", 0.5), CELL("fifo", "opt", 0.6),
                                          CELL("las", "tune", 0.7), CELL("las", "opt", 0.8)};
    FIGURES list = drawn(results_write(runs, COUNT(runs), 0));
    char *csv = csv_of("hit-rate-light");
    assert_contains(csv, "1,synergy order=fifo allocation=tune,50,,,100,0x0072B2,7,");
    assert_contains(csv, "2,synergy order=fifo allocation=opt,60,,,100,0x0072B2,5,");
    assert_contains(csv, "3,synergy order=las allocation=tune,70,,,100,0xD55E00,7,");
    assert_contains(csv, "4,synergy order=las allocation=opt,80,,,100,0xD55E00,5,");
}

/* ---- Sensitivity ---------------------------------------------------------------------------- */

static const char *sensitivity_write(void)
{
    static const char *const parameters[] = {
        "{\"k\":1,\"method\":\"astar\"}",    "{\"k\":5,\"method\":\"astar\"}",
        "{\"k\":20,\"method\":\"astar\"}",   "{\"k\":1,\"method\":\"frontier\"}",
        "{\"k\":5,\"method\":\"frontier\"}",
    };
    static const char *const labels[] = {
        "policy.name=esg policy.params.k=1 setting=light", "policy.name=esg setting=light",
        "policy.name=esg policy.params.k=20 setting=light",
        "policy.name=esg policy.params.k=1 policy.params.method=frontier setting=light",
        "policy.name=esg policy.params.method=frontier setting=light"};
    const char *path = in_folder("sensitivity.h5");
    struct store *store = must(store_create(path, hear()));
    for (size_t i = 0; i < COUNT(labels); i++) {
        const struct fixture fixture = {"light", "esg",         labels[i], 1, 0.5 + 0.1 * (double)i,
                                        0.0002,  RECORD_SUMMARY};
        struct fixture_texts texts;
        struct measures applications[FIXTURE_APPLICATIONS];
        struct run_metadata metadata = fixture_metadata(&fixture, &texts);
        struct simulation_result result = fixture_result(&fixture, applications);
        metadata.policy_parameters = (char *)parameters[i];
        assert_true(store_begin_run(store, &metadata, hear()));
        assert_true(store_end_run(store, &result, hear()));
    }
    assert_true(store_finish(store, hear()));
    return path;
}

DRAWING(a_line_joins_three_values_or_more_of_one_parameter_all_else_equal)
{
    FIGURES list = drawn(sensitivity_write());
    char *csv = csv_of("sensitivity-k");
    assert_contains(csv, "1,SLO hit rate (%),1,light\u201A esg,k,1,40,");
    assert_contains(csv, "1,SLO hit rate (%),1,light\u201A esg,k,5,48,");
    assert_contains(csv, "1,SLO hit rate (%),1,light\u201A esg,k,20,56,");
    /* By frontier there are two values: too few for a line. */
    assert_null(strstr(csv, "frontier"));
}

/* ---- Every script, drawn -------------------------------------------------------------------- */

/* What a calibration writes, of two functions on a small grid. */
static const char *points_write(void)
{
    const char *path = in_folder("points-of-a-fit.csv"), *table = in_folder("samples.csv");
    struct sample_set set = {0};
    struct calibration calibration = {0};
    struct atomic_file points = {0};
    FILE *file = must(fopen(table, "w"));
    (void)fputs("model,batch,mps_pct,latency_ms,throughput_qps,l2_util_pct,dram_util_pct\n", file);
    for (int model = 0; model < 2; model++)
        for (int batch = 1; batch <= 8; batch *= 2)
            for (int share = 20; share <= 100; share += 40)
                (void)fprintf(file, "%s,%d,%d,%.4f,1,,\n", model == 0 ? "resnet" : "vgg_19", batch,
                              share, 2 + 50.0 * (model + 1) * batch / share + 0.01 * batch * batch);
    assert_int_equal(fclose(file), 0);
    assert_good(sample_table_read(&set, table, hear()));
    assert_true(samples_reduce(&set, NULL));
    assert_good(calibration_run(&set, NULL, NULL, &calibration, hear()));
    assert_good(atomic_file_open(&points, path, hear()));
    calibration_write_points(&calibration, points.stream);
    assert_true(atomic_file_end(&points, true, hear()));
    calibration_clear(&calibration);
    samples_clear(&set);
    return path;
}

DRAWING(a_calibrations_points_are_drawn_as_residuals_and_as_surfaces)
{
    FIGURES list = drawn(points_write());
    assert_int_equal(list.count, 2);
    assert_string_equal(list.figures[0].script, "calibration");
    assert_string_equal(list.figures[1].script, "profile");
    char *csv = csv_of("calibration-points-of-a-fit");
    assert_contains(csv, "function,batch,share,measured_ms,fitted_ms,left_out_ms,");
    assert_contains(csv, "\nresnet,4,20,12.16,");
    size_t rows = 0;
    for (const char *c = csv; *c != '\0'; c++)
        rows += *c == '\n';
    assert_int_equal(rows, 1 + 2 * 4 * 3);
    csv = csv_of("profile-points-of-a-fit");
    /* What was measured bears a marker and no line. */
    assert_contains(csv, "\n2,vgg_19,8,100,10.64,1,0,");
}

DRAWING(trees_are_drawn_with_their_tests_and_a_wrong_line_is_named)
{
    FIGURES list = drawn("workloads/trees/esg.txt");
    assert_int_equal(list.count, 2);
    /* The root of the first tree, between its "yes", a leaf at 1, and its "no" at 3.25. */
    assert_contains(csv_of("tree-esg-queue-to-serve"), "\n0,2.125,1,3.25,oldest_wait <= 612,,");
    assert_contains(csv_of("tree-esg-configuration-of-a-batch"),
                    ",serve none x 39\u201A 1:30 x 1\u201A 1:31 x 1,41,");
    FIGURES wrong = {.folder = folder};
    write_text(in_folder("wrong.txt"), "# a tree\nqueue\n  chosen 3 of 2\n");
    assert_bad_input(plot_file(in_folder("wrong.txt"), NULL, &wrong, hear()),
                     "wrong.txt:3: \"chosen N of M\" with N at most M");
}

static void a_file_is_drawn_the_same_twice(const char *path, const char *format)
{
    FIGURES list = drawn(path);
    assert_true(list.count > 0);
    char **first = must(calloc(list.count + 1, sizeof *first));
    OWNED(free) size_t *sizes = must(calloc(list.count + 1, sizeof *sizes));
    for (int round = 0; round < 2; round++) {
        /* gnuplot's least complaint is an heard. */
        assert_good(plot_draw(&list, format, hear()));
        for (size_t i = 0; i < list.count; i++) {
            size_t size;
            char *bytes = file_bytes(list.figures[i].picture, &size);
            assert_true(size > 1000);
            if (round == 0) {
                first[i] = bytes;
                sizes[i] = size;
                continue;
            }
            assert_int_equal(size, sizes[i]);
            assert_memory_equal(bytes, first[i], size);
            free(bytes);
        }
        /* A PDF's clock has seconds. */
        if (round == 0 && strcmp(format, "pdf") == 0)
            (void)usleep(1100000);
    }
    for (size_t i = 0; i < list.count; i++)
        free(first[i]);
    free(first);
}

DRAWING(bare_integers_are_drawn_once_their_format_is_named)
{
    FIGURES list = {.folder = folder};
    write_text(in_folder("counts.txt"), "3\n0\n60\n7\n");
    assert_false(plot_file(in_folder("counts.txt"), NULL, &list, hear()));
    assert_good(plot_file(in_folder("counts.txt"), "counts-per-minute", &list, hear()));
    assert_good(plot_draw(&list, "svg", hear()));
    char *csv = csv_of("arrivals-counts");
    assert_contains(csv, "counts.txt (counts-per-minute): 70 requests in ");
}

/* ---- Curves ---------------------------------------------------------------------------------- */

/* Overall hit rates are 0.8 of these; fifo has no run at load 0.6, edf none at SLO 1. */
static const char *curve_write(void)
{
#define CURVE_LABEL(policy, slo, load)                                                             \
    "setting=light slo.factor=" slo " arrivals.load=" load " policy.name=" policy
#define CURVE_RUN(policy, slo, load, seed, hit)                                                    \
    {                                                                                              \
        "light", policy, CURVE_LABEL(policy, slo, load), seed, hit, 0.0002, RECORD_SUMMARY         \
    }
    static const struct fixture runs[] = {
        CURVE_RUN("esg", "1", "0.6", 1, 0.5),  CURVE_RUN("esg", "1", "0.6", 2, 0.6),
        CURVE_RUN("esg", "1", "0.2", 1, 1),    CURVE_RUN("esg", "1", "0.4", 1, 0.8),
        CURVE_RUN("fifo", "1", "0.2", 1, 0.9), CURVE_RUN("fifo", "1", "0.4", 1, 0),
        CURVE_RUN("esg", "2", "0.2", 1, 1),    CURVE_RUN("esg", "2", "0.4", 1, 1),
        CURVE_RUN("esg", "2", "0.6", 1, 1),    CURVE_RUN("edf", "2", "0.2", 1, 0.7),
        CURVE_RUN("edf", "2", "0.4", 1, 0.7),
    };
    return results_write(runs, COUNT(runs), 0);
}

DRAWING(a_sweep_over_the_load_is_drawn_as_curves_alone)
{
    struct figure_list list = drawn(curve_write());
    assert_int_equal(list.count, 2);
    assert_string_equal(list.figures[0].name, "curve-light");
    assert_string_equal(list.figures[1].name, "sustained");
    char *csv = csv_of("curve-light");
    /* Series by appearance: esg, fifo, edf, each with its policy's look. */
    assert_contains(
        csv,
        "1,SLO hit rate (%),0,95,1,SLO × 1,1,esg,load (share of capacity),0.2,80,,,0x0072B2,7,1,");
    /* Mean 44, sd 0.8 × 100 × 0.0707: Student's half-width, 12.706 × 5.657 / √2 = 50.8, leaves 0 to
     * 100 %. */
    assert_contains(
        csv, "1,SLO hit rate "
             "(%),0,95,1,SLO × 1,1,esg,load (share of capacity),0.6,44,11.42651413,82.71514435,");
    assert_contains(csv,
                    "1,SLO hit rate (%),0,95,1,SLO × 1,2,fifo,load (share of capacity),0.4,0,,");
    assert_contains(
        csv,
        "1,SLO hit rate (%),0,95,2,SLO × 2,3,edf,load (share of capacity),0.4,56,,,0x009E73,12,2,");
    assert_contains(
        csv,
        "2,$ per 1\u202F000 requests served,0,,2,SLO × 2,1,esg,load (share of capacity),0.6,0.28,");
    assert_contains(csv,
                    "3,p95 latency (ms),1,,1,SLO × 1,2,fifo,load (share of capacity),0.2,200,");
    assert_contains(csv, "Dotted: 95");
    figure_list_clear(&list);
    /* What is named is drawn beside them. */
    static const char *const only[] = {"cost-light-slo-factor-1-arrivals-load-0-2"};
    list = (struct figure_list){.folder = folder, .only = only, .only_count = 1};
    assert_true(plot_file(in_folder("made-up.h5"), NULL, &list, hear()));
    assert_int_equal(list.count, 1);
    figure_list_clear(&list);
}

DRAWING(what_a_policy_sustains_ends_where_the_next_load_fails)
{
    static const struct fixture runs[] = {
        CURVE_RUN("esg", "1", "0.2", 1, 1.2),  CURVE_RUN("esg", "1", "0.4", 1, 1.2),
        CURVE_RUN("esg", "1", "0.6", 1, 0.5),  CURVE_RUN("fifo", "1", "0.2", 1, 1.2),
        CURVE_RUN("fifo", "1", "0.4", 1, 1.2), CURVE_RUN("fifo", "1", "0.6", 1, 1.2),
        CURVE_RUN("edf", "1", "0.2", 1, 1),    CURVE_RUN("edf", "1", "0.4", 1, 1),
        CURVE_RUN("edf", "1", "0.6", 1, 1.2),
    };
    FIGURES list = drawn(results_write(runs, COUNT(runs), 0));
    char *csv = csv_of("sustained");
    /* fifo holds at all loads, esg up to 0.4, edf not even at 0.2. */
    assert_contains(csv, "1,light,load (share of capacity),1,esg,1,,0.4,0.4,0.6,0,0x0072B2,7,7,");
    assert_contains(csv, "1,light,load (share of capacity),2,fifo,1,,0.6,0.6,,1,");
    assert_contains(csv, "1,light,load (share of capacity),3,edf,1,,0.2,0.2,,-1,");
    assert_contains(csv, "SLO hit % is at least 95");
}

DRAWING(any_swept_key_can_be_drawn_against)
{
    struct figure_list list = {.folder = folder, .over = "slo.factor"};
    assert_true(plot_file(curve_write(), NULL, &list, hear()));
    char *csv = csv_of("curve-light");
    assert_contains(csv,
                    "1,SLO hit rate (%),0,95,1,load 0.6,1,esg,SLO (times the shipped one),2,80,");
    figure_list_clear(&list);
    list = (struct figure_list){.folder = folder, .over = "slo.factr"};
    assert_bad_input(plot_file(in_folder("made-up.h5"), NULL, &list, hear()), "slo.factr");
    figure_list_clear(&list);
}

DRAWING(every_script_draws_without_a_warning_and_the_same_bytes_twice)
{
    struct fixture all[COUNT(light)];
    memcpy(all, light, sizeof all);
    for (size_t i = 0; i < COUNT(all); i++)
        all[i].record = RECORD_ALL;
    a_file_is_drawn_the_same_twice(results_write(all, COUNT(all), 300), "svg");
    a_file_is_drawn_the_same_twice(sensitivity_write(), "svg");
    a_file_is_drawn_the_same_twice(curve_write(), "svg");
    a_file_is_drawn_the_same_twice(requests_write(10), "svg");
    a_file_is_drawn_the_same_twice(points_write(), "svg");
    a_file_is_drawn_the_same_twice("traces/profiles/a100-mig-parvagpu.json", "svg");
    a_file_is_drawn_the_same_twice("traces/arrivals/Azure2021_200.csv.gz", "svg");
    a_file_is_drawn_the_same_twice("workloads/trees/esg.txt", "svg");
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* Whether a text of the SVG is the name, or the name without its middle; or begins with it and a
 * colon. */
static bool is_named(const char *svg, const char *name)
{
    for (const char *at = svg; (at = strstr(at, "<text>")) != NULL;) {
        at += strlen("<text>");
        const char *end = strstr(at, "</text>"), *cut = strstr(at, "…");
        const size_t length = (size_t)(end - at), whole = strlen(name);
        if (cut != NULL && cut < end) {
            const size_t ahead = (size_t)(cut - at), behind = length - ahead - strlen("…");
            if (ahead + behind < whole && strncmp(at, name, ahead) == 0 &&
                strncmp(end - behind, name + whole - behind, behind) == 0)
                return true;
        }
        if (length >= whole && strncmp(at, name, whole) == 0 &&
            (length == whole || at[whole] == ':'))
            return true;
    }
    return false;
}

/* Every name of the figure's data stands in the picture: at the marks, the rows or in a legend. */
static void assert_named(const struct figure *figure, const char *size)
{
    static const char *const columns[] = {"contender", "series_title", "setting", "function"};
    STRING *svg = file_text(figure->picture);
    STRING *csv = file_text(figure->csv);
    bool named[40] = {false};
    size_t told = 0;
    char *rest = csv, *line = strsep(&rest, "\n"), *cell;
    for (size_t c = 0; (cell = strsep(&line, ",")) != NULL; c++)
        for (size_t k = 0; k < COUNT(columns); k++)
            named[c] = named[c] || ((k < 3 || strcmp(figure->script, "calibration") == 0) &&
                                    strcmp(cell, columns[k]) == 0);
    while ((line = strsep(&rest, "\n")) != NULL && *line != '\0') {
        const bool pale = strstr(line, ",0xC4C4C4,") != NULL;
        for (size_t c = 0; (cell = strsep(&line, ",")) != NULL; c++) {
            if (!named[c])
                continue;
            told++;
            if (!is_named(svg, pale ? "others" : cell))
                fail_msg("%s, size %s: '%s' is drawn without its name", figure->name, size, cell);
        }
    }
    if (strcmp(figure->script, "curve") == 0 || strcmp(figure->script, "calibration") == 0)
        assert_true(told > 0);
}

static void all_sizes_name(const char *path, bool all)
{
    static const char *const sizes[] = {NULL, "column", "page", "slide"};
    for (size_t s = 0; s < COUNT(sizes); s++) {
        FIGURES list = {.folder = folder, .all = all, .style.size = sizes[s]};
        assert_good(plot_file(path, NULL, &list, hear()));
        assert_good(plot_draw(&list, "svg", hear()));
        assert_true(list.count > 0);
        for (size_t i = 0; i < list.count; i++)
            assert_named(&list.figures[i], sizes[s] == NULL ? "default" : sizes[s]);
    }
}

DRAWING(at_every_size_what_is_drawn_has_its_name)
{
    enum { POLICIES = 9, LOADS = 3 };
    static char labels[POLICIES * LOADS][96];
    struct fixture runs[POLICIES * LOADS], one[COUNT(light)];
    for (size_t i = 0; i < COUNT(runs); i++) {
        const char *policy = policy_at(i / LOADS)->name;
        (void)snprintf(labels[i], sizeof labels[i], CURVE_LABEL("%s", "1", "0.%zu"), 2 + i % LOADS,
                       policy);
        runs[i] = (struct fixture){"light", policy,        labels[i], 1, 1 - 0.03 * (double)i,
                                   0.0002,  RECORD_SUMMARY};
    }
    memcpy(one, light, sizeof one);
    for (size_t i = 0; i < COUNT(one); i++)
        one[i].record = RECORD_ALL;
    all_sizes_name(results_write(runs, COUNT(runs), 0), true);
    all_sizes_name(results_write(runs, COUNT(runs), 0), false);
    all_sizes_name(results_write(one, COUNT(one), 300), true);
    all_sizes_name(sensitivity_write(), true);
    all_sizes_name(points_write(), true);
}

DRAWING(png_and_pdf_are_the_same_bytes_twice_too)
{
    a_file_is_drawn_the_same_twice(requests_write(0), "png");
    a_file_is_drawn_the_same_twice(points_write(), "pdf");
}

DRAWING(a_picture_names_no_version_of_gnuplot_and_no_date)
{
    FIGURES list = drawn(points_write());
    size_t size = 0;
    assert_true(plot_draw(&list, "svg", hear()));
    STRING *svg = file_text(list.figures[0].picture);
    assert_null(strstr(svg, "patchlevel"));
    assert_null(strstr(svg, "GNUPLOT"));
    assert_contains(svg, "</svg>");
    assert_true(plot_draw(&list, "pdf", hear()));
    STRING *pdf = file_bytes(list.figures[0].picture, &size);
    assert_non_null(memmem(pdf, size, "/CreationDate (D:19700101000000", 31));
}

DRAWING(hostile_names_are_only_text)
{
    static const char setting[] = "a,\"b\" <c> & \\n`touch x`'; system('false'); {^_@}\u00e9";
    static const struct fixture hostile[] = {
        {setting, "no,\"such\"<policy>", "policy.name=x", 1, 0.5, 0.0002, RECORD_REQUESTS}};
    FIGURES list = drawn(results_write(hostile, 1, 300));
    assert_good(plot_draw(&list, "svg", hear()));
    for (size_t i = 0; i < list.count; i++) {
        STRING *svg = file_text(list.figures[i].picture);
        assert_contains(svg, "&lt;c");
        assert_null(strstr(svg, "<c>"));
        if (strstr(svg, "a\u201A\u201Db\u201D &lt;c> &amp; \\n`touch") == NULL)
            fail_msg("%s does not show the name as it is", list.figures[i].name);
        STRING *csv = file_text(list.figures[i].csv);
        size_t columns = 0;
        for (const char *line = csv; *line != '\0'; line = strchr(line, '\n') + 1) {
            size_t commas = 0;
            for (const char *c = line; *c != '\n'; c++)
                commas += *c == ',';
            columns = line == csv ? commas : columns;
            assert_int_equal(commas, columns);
        }
    }
    assert_true(list.count >= 5);
}

DRAWING(a_name_that_could_be_a_formula_has_an_apostrophe_in_the_csv_alone)
{
    static const struct fixture run = {"=1+1", "'esg", "policy.name='esg", 1,
                                       0.5,    0.0002, RECORD_SUMMARY};
    FIGURES list = drawn(results_write(&run, 1, 0));
    char *csv = csv_of("hit-rate-1-1");
    assert_contains(csv, "1,classification,SLO hit rate (%),1,''esg,50,,,100,");
    assert_contains(csv, ",'=1+1,Requests that finished");
    assert_good(plot_draw(&list, "svg", hear()));
    STRING *svg = file_text(in_folder("hit-rate-1-1.svg"));
    assert_contains(svg, ": =1+1</text>");
    assert_contains(svg, "<text>'esg</text>");
}

/* A figure that no request, or no run, gave a value has a NAN in the file. */
DRAWING(what_has_no_value_leaves_its_place_empty)
{
    struct fixture runs[COUNT(light)];
    for (size_t missing = 0; missing <= COUNT(runs); missing++) {
        memcpy(runs, light, sizeof runs);
        for (size_t i = 0; i < COUNT(runs); i++)
            if (missing == i || missing == COUNT(runs))
                runs[i].hit = runs[i].cost = NAN;
        FIGURES list = drawn(results_write(runs, COUNT(runs), 0));
        assert_good(plot_draw(&list, "svg", hear()));
        assert_int_equal(list.count, 6);
    }
}

/* ---- Choice, refusals, palette -------------------------------------------------------------- */

DRAWING(only_what_is_asked_for_is_made)
{
    static const char *const only[] = {"cost", "hit-rate-light"};
    FIGURES list = {.folder = folder, .only = only, .only_count = 2};
    assert_true(plot_file(results_write(light, COUNT(light), 0), NULL, &list, hear()));
    assert_int_equal(list.count, 2);
    assert_string_equal(list.figures[0].name, "hit-rate-light");
    assert_string_equal(list.figures[1].name, "cost-light");
}

#define POINTS "function,batch,vcpu,share,unit,measured_ms,repeats,fit_ms,law_ms,left_out_ms"

static void refused(const char *content, const char *said)
{
    FIGURES list = {.folder = folder};
    write_text(in_folder("bad-input"), content);
    assert_bad_input(plot_file(in_folder("bad-input"), NULL, &list, hear()), said);
    assert_contains(heard.message, "bad-input");
}

DRAWING(what_is_no_input_is_refused_in_one_line_that_names_it)
{
    FIGURES list = {.folder = folder};
    refused("\x89HDF\r\n\x1a\nand nothing more", "damaged");
    refused("{\"unit\": }", "1:10");
    refused("neither of them\n", "");
    refused("", "");
    refused("function,batch,vcpu,fit_ms\n", "no column \"share\"");
    refused(POINTS "\n", "holds no point");
    refused(POINTS "\nf,1,1,50,100,2,1,-3,2,2\n", "fit_ms '-3'");
    refused(POINTS "\nf,1,1,50,100,2\n", ":2");
    assert_bad_input(plot_file(in_folder("missing.h5"), NULL, &list, hear()), "missing.h5");
}

DRAWING(without_gnuplot_one_line_says_so)
{
    const char *was = getenv("PATH");
    STRING *path = must(strdup(was != NULL ? was : ""));
    assert_int_equal(setenv("PATH", folder, 1), 0);
    const bool there = gnuplot_check(hear());
    assert_int_equal(setenv("PATH", path, 1), 0);
    assert_false(there);
    assert_int_equal(heard.kind, ERROR_RUN);
    assert_contains(heard.message, "gnuplot is missing");
}

CASE(every_policy_that_ships_has_a_look_of_its_own)
{
    for (size_t i = 0; policy_at(i) != NULL; i++)
        for (size_t j = 0; j < i; j++) {
            const struct look a = palette_policy(policy_at(i)->name, 0);
            const struct look b = palette_policy(policy_at(j)->name, 0);
            /* Told apart in grey print by marker, or by shade and marker both; as a line by colour
             * or dash. */
            if (a.colour == b.colour && (a.point == b.point || a.dash == b.dash))
                fail_msg("%s looks like %s", policy_at(i)->name, policy_at(j)->name);
        }
}

CASE(markers_of_one_figure_differ_as_long_as_there_are_any)
{
    static const char *const policies[] = {"esg",      "infless", "fast-gshare",
                                           "aquatope", "dilu",    "max-config"};
    unsigned used = 0;
    bool taken[32] = {false};
    for (size_t i = 0; i < 2 * COUNT(policies); i++) {
        const struct look plain = palette_policy(policies[i / 2], i % 2);
        const struct look look = palette_distinct(plain, &used);
        assert_true(look.point > 0 && look.point < 16);
        assert_false(taken[look.point]);
        assert_int_equal(look.colour, plain.colour);
        taken[look.point] = true;
    }
    used = 0xFFFF;
    assert_int_equal(palette_distinct(palette_policy("esg", 0), &used).point, 7);
}

CASE(variants_keep_the_colour_and_change_the_marker)
{
    const struct look plain = palette_policy("esg", 0);
    for (size_t v = 1; v < 5; v++) {
        assert_int_equal(palette_policy("esg", v).colour, plain.colour);
        for (size_t other = 0; other < v; other++)
            assert_int_not_equal(palette_policy("esg", v).point,
                                 palette_policy("esg", other).point);
    }
    const struct look plugin = palette_policy("./mine.so", 0);
    assert_int_equal(plugin.colour, palette_policy("./mine.so", 0).colour);
}

/* Those that stand here, not those of an installation. */
static int use_these_scripts(void **state)
{
    return setenv("ESGSIM_DATA", ".", 1);
}

SUITE_WITH("plot", use_these_scripts, NULL)
