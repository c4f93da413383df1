#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hdf5.h>

#include "results/store/capture.h"
#include "traces/capture/measure/capture_file.h"
#include "traces/capture/measure/clocks.h"
#include "traces/capture/measure/measure.h"
#include "traces/capture/measure/plan.h"
#include "traces/capture/executor/processor.h"
#include "traces/capture/executor/self_test.h"
#include "traces/capture/executor/weights.h"

static struct graph *parse(const char *text)
{
    struct error error = {0};
    struct graph *graph = graph_parse(text, "test", &error);
    if (graph == NULL) {
        fail_msg("%s", error.message);
        abort(); /* not reached: tells the analyser so */
    }
    return graph;
}

/* One layer on an input of the given shape, run on the processor with the given numbers. */
static void assert_layer(const char *shape, const char *layer, const float *input,
                         const float *matrix, const float *shift, const float *wanted)
{
    char text[512];
    (void)snprintf(text, sizeof text,
                   "{\"network\": \"n\", \"inputs\": [{\"name\": \"x\", \"shape\": %s}], "
                   "\"layers\": [{%s}]}",
                   shape, layer);
    struct graph *graph = parse(text);
    const size_t count = (size_t)graph_elements(&graph->nodes[1].shape);
    float *output = calloc(count, sizeof *output);
    assert_non_null(output);
    processor_node(graph, 1, &input, matrix, NULL, shift, output);
    for (size_t i = 0; i < count; i++)
        if (!(fabsf(output[i] - wanted[i]) <= 1e-5F))
            fail_msg("%s: element %zu is %g, by hand %g", layer, i, (double)output[i],
                     (double)wanted[i]);
    free(output);
    graph_free(graph);
}

/* ---- The reference --------------------------------------------------------------------------- */

static void a_convolution_is_the_sum_computed_by_hand(void **state)
{
    (void)state;
    const float x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    const float ones[] = {1, 1, 1, 1};
    const float corner[] = {0, 0, 0, 1};
    const float half[] = {0.5F};
    assert_layer("[1, 3, 3]", "\"op\": \"conv\", \"channels\": 1, \"kernel\": 2", x, ones, half,
                 (const float[]){12.5F, 16.5F, 24.5F, 28.5F});
    /* Cross-correlation: the last tap looks down and right; the padding is zero. */
    assert_layer("[1, 3, 3]",
                 "\"op\": \"conv\", \"channels\": 1, \"kernel\": 2, \"pad\": 1, \"stride\": 3, "
                 "\"bias\": false",
                 x, corner, NULL, (const float[]){1, 0, 0, 0});
    assert_layer("[1, 3, 3]",
                 "\"op\": \"conv\", \"channels\": 1, \"kernel\": 2, \"dilation\": 2, \"bias\": "
                 "false",
                 x, corner, NULL, (const float[]){9});
}

static void a_grouped_convolution_sees_its_group_alone(void **state)
{
    (void)state;
    const float x[] = {1, 2, 3, 4}; /* 4 channels of 1x1 */
    const float filters[] = {1, 10, 1, 10};
    assert_layer("[4, 1, 1]",
                 "\"op\": \"conv\", \"channels\": 2, \"kernel\": 1, \"groups\": 2, \"bias\": false",
                 x, filters, NULL, (const float[]){21, 43});
}

static void a_transposed_convolution_spreads_each_input(void **state)
{
    (void)state;
    const float x[] = {1, 2, 3, 4};
    const float filter[] = {1, 10, 100, 1000};
    assert_layer(
        "[1, 2, 2]",
        "\"op\": \"conv_transpose\", \"channels\": 1, \"kernel\": 2, \"stride\": 2, "
        "\"bias\": false",
        x, filter, NULL,
        (const float[]){1, 10, 2, 20, 100, 1000, 200, 2000, 3, 30, 4, 40, 300, 3000, 400, 4000});
}

/* PyTorch's documentation of interpolate and pixel shuffle, and of reflection padding. */
static void resizing_gives_the_values_that_pytorch_documents(void **state)
{
    (void)state;
    const float x[] = {1, 2, 3, 4};
    assert_layer("[1, 2, 2]", "\"op\": \"upsample\", \"mode\": \"nearest\", \"factor\": 2", x, NULL,
                 NULL, (const float[]){1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4});
    assert_layer("[1, 2, 2]", "\"op\": \"upsample\", \"mode\": \"bilinear\", \"factor\": 2", x,
                 NULL, NULL,
                 (const float[]){1, 1.25F, 1.75F, 2, 1.5F, 1.75F, 2.25F, 2.5F, 2.5F, 2.75F, 3.25F,
                                 3.5F, 3, 3.25F, 3.75F, 4});
    assert_layer(
        "[1, 2, 2]",
        "\"op\": \"upsample\", \"mode\": \"bilinear\", \"size\": [2, 4], "
        "\"align_corners\": true",
        x, NULL, NULL,
        (const float[]){1, 1 + 1.0F / 3, 1 + 2.0F / 3, 2, 3, 3 + 1.0F / 3, 3 + 2.0F / 3, 4});
    assert_layer("[4, 1, 1]", "\"op\": \"pixel_shuffle\", \"factor\": 2", x, NULL, NULL, x);
    assert_layer("[1, 1, 4]", "\"op\": \"reflect_pad\", \"pad\": [0, 2]", x, NULL, NULL,
                 (const float[]){3, 2, 1, 2, 3, 4, 3, 2});
}

static void pooling_counts_padding_as_asked(void **state)
{
    (void)state;
    const float x[] = {-1, -2, -3, -4};
    assert_layer("[1, 2, 2]", "\"op\": \"max_pool\", \"kernel\": 2, \"stride\": 1, \"pad\": 1", x,
                 NULL, NULL, (const float[]){-1, -1, -2, -1, -1, -2, -3, -3, -4});
    assert_layer("[1, 2, 2]",
                 "\"op\": \"avg_pool\", \"kernel\": 2, \"stride\": 2, \"pad\": 1, \"count_pad\": "
                 "false",
                 x, NULL, NULL, x);
    assert_layer("[1, 2, 2]", "\"op\": \"avg_pool\", \"kernel\": 2, \"stride\": 2, \"pad\": 1", x,
                 NULL, NULL, (const float[]){-0.25F, -0.5F, -0.75F, -1});
}

static void functions_have_their_known_values(void **state)
{
    (void)state;
    const float x[] = {-2, 0, 1, 8};
    assert_layer("[4, 1, 1]", "\"op\": \"relu6\"", x, NULL, NULL, (const float[]){0, 0, 1, 6});
    assert_layer("[4, 1, 1]", "\"op\": \"leaky_relu\", \"slope\": 0.1", x, NULL, NULL,
                 (const float[]){-0.2F, 0, 1, 8});
    assert_layer("[4, 1, 1]", "\"op\": \"sigmoid\"", x, NULL, NULL,
                 (const float[]){0.119203F, 0.5F, 0.731059F, 0.999665F});
    assert_layer("[4, 1, 1]", "\"op\": \"gelu\"", x, NULL, NULL,
                 (const float[]){-0.0455003F, 0, 0.841345F, 8});
    assert_layer("[4, 1, 1]", "\"op\": \"softmax\"", x, NULL, NULL,
                 (const float[]){4.5345e-5F, 3.35060e-4F, 9.10786e-4F, 0.998709F});
}

/* One head over two tokens: weights are the softmax of the scores. */
static void attention_mixes_values_by_the_softmax_of_its_scores(void **state)
{
    (void)state;
    struct graph *graph = parse(
        "{\"network\": \"n\", \"inputs\": [{\"name\": \"x\", \"shape\": [2, 1]}], \"layers\": ["
        "{\"op\": \"attention\", \"heads\": 1, \"from\": [\"x\", \"x\", \"x\"]}]}");
    const float x[] = {0, 2};
    const float *const inputs[] = {x, x, x};
    float y[2];
    processor_node(graph, 1, inputs, NULL, NULL, NULL, y);
    assert_true(fabs((double)y[0] - 1) < 1e-6); /* scores 0 and 0 */
    assert_true(fabs((double)y[1] - 2 / (1 + exp(-4))) < 1e-6);
    graph_free(graph);
}

/* Every kind of layer is in the self-test's networks, and none of them dies out or overflows. */
static void the_networks_of_the_self_test_use_every_kind_and_give_finite_numbers(void **state)
{
    (void)state;
    bool used[GRAPH_KINDS] = {false};
    struct error error = {0};
    for (size_t n = 0; self_test_network(n) != NULL; n++) {
        struct graph *graph = parse(self_test_network(n));
        assert_true(graph_resize(graph, 3, 0, 0, &error));
        float **outputs = processor_run(graph, 7);
        assert_non_null(outputs);
        for (size_t i = 0; i < graph->node_count; i++) {
            double most = 0;
            used[graph->nodes[i].kind] = true;
            for (int64_t e = 0; e < graph_elements(&graph->nodes[i].shape); e++) {
                assert_true(isfinite(outputs[i][e]));
                most = fmax(most, fabs((double)outputs[i][e]));
            }
            if (most < 1e-4 || most > 1e3)
                fail_msg("%s has numbers up to %g", graph->nodes[i].name, most);
        }
        processor_free(graph, outputs);
        graph_free(graph);
    }
    for (int kind = 0; kind < GRAPH_KINDS; kind++)
        if (!used[kind])
            fail_msg("no self-test uses %s", graph_kind_name((enum graph_kind)kind));
}

static void halves_are_those_of_ieee_754(void **state)
{
    (void)state;
    assert_int_equal(weights_half(1), 0x3C00);
    assert_int_equal(weights_half(-2), 0xC000);
    assert_int_equal(weights_half(65504), 0x7BFF);
    assert_int_equal(weights_half(65536), 0x7C00);
    assert_int_equal(weights_half(1.0F / 3), 0x3555);
    assert_int_equal(weights_half(1 + 1.0F / 2048), 0x3C00);     /* a tie goes to even */
    assert_int_equal(weights_half(1 + 3 * 1.0F / 2048), 0x3C02); /* likewise */
    for (unsigned bits = 0x0400; bits < 0x7C00; bits++)
        assert_int_equal(weights_half(weights_float((uint16_t)bits)), bits);
}

/* ---- The plan -------------------------------------------------------------------------------- */

static struct plan *make_plan(int largest_batch)
{
    static const char *const names[] = {"resnet50", "mobilenetv2"};
    const struct plan_options options = {
        .folder = "traces/networks",
        .names = names,
        .name_count = 2,
        .fp16 = true,
        .tens = true,
        .largest_batch = largest_batch,
        .cold_starts = 1,
    };
    struct error error = {0};
    struct plan *plan = plan_create(&options, &error);
    if (plan == NULL) {
        fail_msg("%s", error.message);
        abort(); /* not reached: tells the analyser so */
    }
    return plan;
}

static void the_grid_has_sevenths_and_tens_by_powers_of_two(void **state)
{
    (void)state;
    double shares[32];
    size_t count = 0;
    struct plan *plan = make_plan(8);
    assert_int_equal(plan_shares(false, shares), 7);
    assert_int_equal(plan_shares(true, shares), 16); /* 7 sevenths, 9 tens, 100 % once */
    for (size_t i = 1; i < 16; i++)
        assert_true(shares[i] > shares[i - 1]);
    (void)plan_remaining(plan, PLAN_LATENCY, &count);
    assert_int_equal(count, 2 * 16 * 4);
    plan_free(plan);
}

/* A law that falls with the share up to one half and is flat from there on. */
static double law_ms(const struct plan_point *point)
{
    return 2.0 * point->members[0].batch * fmax(1, 50 / fmax(1, point->members[0].share_percent));
}

static void book_law(struct plan *plan, struct plan_point *point)
{
    double samples[MEASURE_LEAST];
    for (size_t i = 0; i < MEASURE_LEAST; i++)
        samples[i] = law_ms(point);
    plan_book(plan, point, samples, point->table == PLAN_LATENCY ? MEASURE_LEAST : 0);
}

static void a_plan_never_estimates_beyond_its_budget(void **state)
{
    (void)state;
    static const double budgets[] = {0.5, 5, 20, 1000};
    for (size_t b = 0; b < 4; b++) {
        struct plan *plan = make_plan(8);
        double spent_s[PLAN_TABLES] = {0};
        double total = 0;
        for (struct plan_point *p = plan_next(plan, spent_s, budgets[b]); p != NULL;
             p = plan_next(plan, spent_s, budgets[b])) {
            const double estimated = p->estimated_s;
            assert_int_equal(p->state, PLAN_WAITING); /* width 0: nothing is measured twice */
            spent_s[p->table] += estimated;
            total += estimated;
            book_law(plan, p);
        }
        assert_true(total <= budgets[b]);
        if (budgets[b] >= 1000)
            for (size_t i = 0; i < plan->count; i++)
                assert_int_equal(plan->points[i].state, PLAN_DONE);
        plan_free(plan);
    }
}

static void corners_come_first_and_flat_stretches_last(void **state)
{
    (void)state;
    struct plan *plan = make_plan(16);
    const double spent_s[PLAN_TABLES] = {0};
    double taken = 0;
    double order[2] = {0, 0}; /* sums of places in the order: steep, flat */
    double count[2] = {0, 0};
    for (struct plan_point *p = plan_next(plan, spent_s, 1e4); p != NULL;
         p = plan_next(plan, spent_s, 1e4)) {
        const struct plan_member *m = &p->members[0];
        book_law(plan, p);
        if (p->table != PLAN_LATENCY || m->network != 0)
            continue;
        if (taken < 4) {
            assert_true(m->batch == 1 || m->batch == 16);
            assert_true(m->share_percent < 14.0 || m->share_percent >= 100);
        } else if (m->share_percent > 15 && m->share_percent < 99) {
            const int flat = m->share_percent > 50;
            order[flat] += taken;
            count[flat]++;
        }
        taken++;
    }
    plan_free(plan);
    assert_true(taken == 16 * 5);
    assert_true(order[0] / count[0] + 5 < order[1] / count[1]);
}

static void a_wide_median_is_measured_again_and_a_narrow_one_is_not(void **state)
{
    (void)state;
    struct plan *plan = make_plan(1);
    const double spent_s[PLAN_TABLES] = {0};
    const double wide[] = {1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4};
    const double narrow[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    struct plan_point *first = NULL;
    for (size_t i = 0; i < plan->count; i++) {
        const bool latency = plan->points[i].table == PLAN_LATENCY;
        const bool chosen = latency && first == NULL;
        plan_book(plan, &plan->points[i], chosen ? wide : narrow, latency ? 12 : 0);
        if (chosen)
            first = &plan->points[i];
    }
    if (first == NULL) {
        fail_msg("the plan has no latencies");
        abort(); /* not reached: tells the analyser so */
    }
    assert_true(first->width > 0.2);
    assert_ptr_equal(plan_next(plan, spent_s, 1e4), first);
    plan_book(plan, first, narrow, 12);
    assert_int_equal(first->round, 2);
    assert_null(plan_next(plan, spent_s, 1e4));
    plan_free(plan);
}

static void keys_name_each_point_once(void **state)
{
    (void)state;
    struct plan *plan = make_plan(4);
    for (size_t i = 0; i < plan->count; i++)
        for (size_t k = 0; k < i; k++) {
            char a[PLAN_KEY];
            char b[PLAN_KEY];
            if (plan->points[i].table == plan->points[k].table)
                assert_string_not_equal(plan_key(plan, &plan->points[i], a),
                                        plan_key(plan, &plan->points[k], b));
        }
    plan_free(plan);
}

/* A session of ten minutes has the self-test beside it. */
static void the_full_plan_takes_at_most_seven_minutes(void **state)
{
    (void)state;
    const struct plan_options options = {.folder = "traces/networks", .cold_starts = 1};
    struct error error = {0};
    struct plan *plan = plan_create(&options, &error);
    double total = 0;
    size_t crowds = 0;
    assert_non_null(plan);
    for (size_t i = 0; i < plan->count; i++) {
        total += plan->points[i].estimated_s;
        assert_true(plan->points[i].half || plan->points[i].table == PLAN_COPIES);
        if (plan->points[i].member_count == 7)
            crowds++;
    }
    assert_true(total > 0 && total <= 420);
    assert_int_equal(crowds, plan->network_count);
    plan_free(plan);
}

/* ---- The file -------------------------------------------------------------------------------- */

static void write_version(const char *path, int version)
{
    const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t attribute = H5Aopen(file, "version", H5P_DEFAULT);
    assert_true(H5Awrite(attribute, H5T_NATIVE_INT, &version) >= 0);
    (void)H5Aclose(attribute);
    (void)H5Fclose(file);
}

static void rows_come_back_as_they_were_appended_and_the_file_is_gone_on_with(void **state)
{
    (void)state;
    char path[] = "/tmp/esgsim-capture-XXXXXX";
    struct error error = {0};
    struct capture_about about = {.device = "A", .date = "2026-01-01T00:00:00Z", .sms = 7};
    struct layout_latency rows[3];
    memset(rows, 0, sizeof rows);
    const int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    (void)close(descriptor);
    (void)unlink(path);
    for (int i = 0; i < 3; i++) {
        (void)snprintf(rows[i].network, sizeof rows[i].network, "net%d", i);
        rows[i].batch = 1 << i;
        rows[i].share_percent = 100.0 * i / 7;
        rows[i].sample = i;
        rows[i].ms = 0.125 * i;
    }
    struct capture_file *file = capture_file_open(path, &about, &error);
    assert_non_null(file);
    assert_true(capture_file_append(file, CAPTURE_LATENCY, rows, 2, &error));
    assert_true(capture_file_close(file, &error));
    file = capture_file_open(path, &about, &error);
    assert_non_null(file);
    assert_true(capture_file_append(file, CAPTURE_LATENCY, &rows[2], 1, &error));
    size_t count = 0;
    struct layout_latency *back = capture_file_rows(file, CAPTURE_LATENCY, &count, &error);
    assert_int_equal(count, 3);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(back[i].network, rows[i].network);
        assert_int_equal(back[i].batch, rows[i].batch);
        assert_true(back[i].share_percent == rows[i].share_percent);
        assert_true(back[i].ms == rows[i].ms);
    }
    free(back);
    assert_null(capture_file_rows(file, CAPTURE_COPIES, &count, &error));
    assert_int_equal(error.kind, ERROR_NONE);
    assert_true(capture_file_close(file, &error));
    about.device[0] = 'B';
    assert_null(capture_file_open(path, &about, &error));
    assert_int_equal(error.kind, ERROR_INPUT);
    about.device[0] = 'A';
    about.rehearsal = 1;
    assert_null(capture_file_open(path, &about, &error));
    about.rehearsal = 0;
    write_version(path, 1);
    assert_null(capture_file_open(path, &about, &error));
    assert_non_null(strstr(error.message, "layout version 1"));
    write_version(path, LAYOUT_VERSION);
    about.cuda_graphs = 1;
    assert_null(capture_file_open(path, &about, &error));
    assert_non_null(strstr(error.message, "without CUDA graphs"));
    (void)unlink(path);
}

/* The tool and calibration have each its own account of the tables; here they meet. */
static void what_is_written_is_what_calibration_reads(void **state)
{
    (void)state;
    char path[] = "/tmp/esgsim-capture-XXXXXX";
    struct error error = {0};
    const struct capture_about about = {.device = "A", .date = "2026-01-01T00:00:00Z", .sms = 132};
    const struct capture_options options = {.precision = "fp16", .mechanism = "green"};
    struct layout_latency latency = {.network = "net",
                                     .precision = "fp16",
                                     .mechanism = "green",
                                     .batch = 4,
                                     .share_percent = 300.0 / 7,
                                     .ms = 2.5};
    struct layout_memory memory[] = {
        {.part = "context", .bytes = 1 << 20},
        {.network = "net", .precision = "fp16", .part = "weights", .batch = 1, .bytes = 2 << 20},
        {.network = "net", .precision = "fp16", .part = "activations", .batch = 1, .bytes = 1},
        {.network = "net",
         .precision = "fp16",
         .part = "activations",
         .batch = 8,
         .bytes = 8 << 20},
    };
    struct sample_set set = {0};
    const int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    (void)close(descriptor);
    (void)unlink(path);
    struct capture_file *file = capture_file_open(path, &about, &error);
    assert_non_null(file);
    assert_true(capture_file_append(file, CAPTURE_LATENCY, &latency, 1, &error));
    assert_true(capture_file_append(file, CAPTURE_MEMORY, memory, 4, &error));
    assert_true(capture_file_close(file, &error));
    if (!capture_read(&set, path, &options, &error))
        fail_msg("%s", error.message);
    assert_int_equal(set.latency_count, 1);
    assert_int_equal(set.latencies[0].batch, 4);
    assert_int_equal(set.latencies[0].share, 300);
    assert_true(set.latencies[0].ms == 2.5);
    assert_true(set.facts[0].weights_mb == 3); /* the context is in every container */
    assert_true(set.facts[0].per_item_mb == 1);
    samples_clear(&set);
    (void)unlink(path);
}

/* There is no device of this address, wherever the test runs. */
static void clocks_are_logged_or_it_is_said_why_not(void **state)
{
    (void)state;
    char text[CLOCKS_TEXT] = "";
    int least = -1;
    int most = -1;
    size_t count = 1;
    assert_null(clocks_start("0000:ff:1f.7", text));
    assert_memory_equal(text, "not logged: ", strlen("not logged: "));
    clocks_range(NULL, 0, &least, &most);
    assert_int_equal(least, 0);
    assert_int_equal(most, 0);
    assert_null(clocks_take(NULL, &count));
    assert_int_equal(count, 0);
    clocks_stop(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_convolution_is_the_sum_computed_by_hand),
        cmocka_unit_test(a_grouped_convolution_sees_its_group_alone),
        cmocka_unit_test(a_transposed_convolution_spreads_each_input),
        cmocka_unit_test(resizing_gives_the_values_that_pytorch_documents),
        cmocka_unit_test(pooling_counts_padding_as_asked),
        cmocka_unit_test(functions_have_their_known_values),
        cmocka_unit_test(attention_mixes_values_by_the_softmax_of_its_scores),
        cmocka_unit_test(the_networks_of_the_self_test_use_every_kind_and_give_finite_numbers),
        cmocka_unit_test(halves_are_those_of_ieee_754),
        cmocka_unit_test(the_grid_has_sevenths_and_tens_by_powers_of_two),
        cmocka_unit_test(a_plan_never_estimates_beyond_its_budget),
        cmocka_unit_test(corners_come_first_and_flat_stretches_last),
        cmocka_unit_test(a_wide_median_is_measured_again_and_a_narrow_one_is_not),
        cmocka_unit_test(keys_name_each_point_once),
        cmocka_unit_test(rows_come_back_as_they_were_appended_and_the_file_is_gone_on_with),
        cmocka_unit_test(what_is_written_is_what_calibration_reads),
        cmocka_unit_test(clocks_are_logged_or_it_is_said_why_not),
        cmocka_unit_test(the_full_plan_takes_at_most_seven_minutes),
    };
    return cmocka_run_group_tests_name("capture", tests, NULL, NULL);
}
