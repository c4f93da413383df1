#include <gsl/gsl_errno.h>
#include <gsl/gsl_randist.h>

#include "sim/base/atomic_file.h"
#include "tests/fixture_folder.h"
#include "traces/calibrate/calibrate.h"
#include "sim/base/json.h"

OWNER(profile_free, struct profile)

enum { POINTS = 64, SEEDS = 5, SEVENTHS = 7 };

/* A network that is bound by launches at small work: 6 ms and 0.1 ms an item, else 1.2 ms an item
 * over the share. */
static const struct latency_law truth = {{6, 0.1, 0, 1.2, 0.3, 0.02, 8, 1}};

static size_t make_points(const struct latency_law *law, gsl_rng *rng, double cv,
                          struct latency_point *points)
{
    static const double batches[] = {1, 2, 4, 8, 16, 32};
    size_t count = 0;
    for (size_t b = 0; b < 6; b++)
        for (int seventh = 1; seventh <= 7; seventh++) {
            double share = seventh / 7.0;
            double noise = cv > 0 ? gsl_ran_lognormal(rng, 0, cv) : 1;
            points[count++] = (struct latency_point){
                batches[b], share, latency_law_ms(law, batches[b], share) * noise, 0};
        }
    return count;
}

static struct latency_law fit(const struct latency_point *points, size_t count)
{
    const struct latency_prior weak = latency_prior_weak(1e-3);
    struct latency_law law = {{0}};
    assert_good(latency_law_fit(points, count, NULL, NULL, &weak, &law, hear()));
    return law;
}

/* ---- The law --------------------------------------------------------------------------------- */

CASE(a_known_law_is_recovered_within_half_a_percent_without_noise)
{
    struct latency_point points[POINTS];
    size_t count = make_points(&truth, NULL, 0, points);
    struct latency_law law = fit(points, count);
    for (size_t i = 0; i < count; i++)
        assert_relative(latency_law_ms(&law, points[i].batch, points[i].share), points[i].ms,
                        0.005);
}

static double mean_distance(const struct latency_law *law, const struct latency_point *points,
                            size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += fabs(latency_law_ms(law, points[i].batch, points[i].share) /
                        latency_law_ms(&truth, points[i].batch, points[i].share) -
                    1);
    return sum / (double)count;
}

CASE(a_known_law_is_recovered_within_one_percent_from_samples_with_two_percent_noise)
{
    for (unsigned long seed = 1; seed <= SEEDS; seed++) {
        struct latency_point points[POINTS];
        gsl_rng *rng = seeded(seed);
        size_t count = make_points(&truth, rng, 0.02, points);
        struct latency_law law = fit(points, count);
        assert_true(mean_distance(&law, points, count) < 0.01);
    }
}

CASE(outliers_do_not_move_the_robust_fit)
{
    for (unsigned long seed = 1; seed <= SEEDS; seed++) {
        struct latency_point points[POINTS];
        gsl_rng *rng = seeded(seed);
        size_t count = make_points(&truth, rng, 0.02, points);
        for (size_t i = 0; i < 4; i++)
            points[gsl_rng_uniform_int(rng, count)].ms *= 3;
        struct latency_law law = fit(points, count);
        assert_true(mean_distance(&law, points, count) < 0.015);
    }
}

CASE(every_law_rises_with_the_batch_and_falls_with_the_share)
{
    gsl_rng *rng = seeded(7);
    for (size_t trial = 0; trial < trials(200); trial++) {
        struct latency_law law;
        for (size_t i = 0; i < LAW_COEFFICIENTS; i++)
            law.k[i] = gsl_rng_uniform(rng) < 0.3 ? 0 : 5 * gsl_rng_uniform(rng);
        law.k[LAW_KINK] = 1 + 50 * gsl_rng_uniform(rng);
        law.k[LAW_SHARE_EXPONENT] = 2 * gsl_rng_uniform(rng);
        for (int i = 0; i < 50; i++) {
            double batch = 1 + 100 * gsl_rng_uniform(rng);
            double share = 0.01 + 0.98 * gsl_rng_uniform(rng);
            double ms = latency_law_ms(&law, batch, share);
            assert_true(latency_law_ms(&law, batch * 1.1, share) >= ms * (1 - 1e-12));
            assert_true(latency_law_ms(&law, batch, share * 1.01) <= ms * (1 + 1e-12));
        }
    }
}

CASE(a_fit_of_one_point_is_refused)
{
    const struct latency_point point = {1, 1, 5, 0};
    const struct latency_prior weak = latency_prior_weak(1);
    struct latency_law law;
    assert_bad_input(latency_law_fit(&point, 1, NULL, NULL, &weak, &law, hear()), "");
}

/* ---- Surfaces -------------------------------------------------------------------------------- */

static struct surface calibrate(const struct latency_point *points, size_t count)
{
    struct surface surface = {0};
    /* By default GSL aborts the program on an heard. */
    gsl_error_handler_t *before = gsl_set_error_handler_off();
    assert_good(surface_calibrate(points, count, NULL, &surface, hear()));
    (void)gsl_set_error_handler(before);
    return surface;
}

/* 20 points: each is left out alone. The searches begin elsewhere than by hand. */
static size_t make_few(gsl_rng *rng, struct latency_point *points)
{
    struct latency_point all[POINTS];
    size_t count = make_points(&truth, rng, 0.05, all);
    size_t kept = 0;
    for (size_t i = 0; i < count && kept < 20; i++)
        if (all[i].batch <= 16 && fmod(round(7 * all[i].share), 2) == 1)
            points[kept++] = all[i];
    return kept;
}

/* How far a point is off the predictor that is fitted to `rest`. */
static double error_without(const struct latency_point *rest, size_t count,
                            const struct latency_point *point)
{
    const struct latency_prior weak = latency_prior_weak(1);
    CLOSED(latency_model_clear) struct latency_model model = {0};
    assert_true(latency_model_fit(rest, count, NULL, &weak, NULL, &model, hear()));
    const double ms = latency_model_at(&model, &(struct latency_point){.batch = point->batch,
                                                                       .share = point->share})
                          .ms;
    return fabs(ms / point->ms - 1);
}

CASE(the_reported_error_is_what_leaving_out_by_hand_gives)
{
    struct latency_point points[POINTS];
    gsl_rng *rng = seeded(3);
    size_t count = make_few(rng, points);
    CLOSED(surface_clear) struct surface surface = calibrate(points, count);
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        struct latency_point rest[POINTS];
        size_t kept = 0;
        for (size_t j = 0; j < count; j++)
            if (j != i)
                rest[kept++] = points[j];
        sum += error_without(rest, kept, &points[i]);
    }
    assert_int_equal(surface.errors[FOLD_POINT].all.count, count);
    assert_relative(surface.errors[FOLD_POINT].all.mape, sum / (double)count, 0.03);
}

CASE(leaving_out_a_share_by_hand_gives_the_reported_error)
{
    struct latency_point points[POINTS];
    gsl_rng *rng = seeded(4);
    size_t count = make_few(rng, points);
    CLOSED(surface_clear) struct surface surface = calibrate(points, count);
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        struct latency_point rest[POINTS];
        size_t kept = 0;
        for (size_t j = 0; j < count; j++)
            if (points[j].share != points[i].share)
                rest[kept++] = points[j];
        sum += error_without(rest, kept, &points[i]);
    }
    assert_relative(surface.errors[FOLD_SHARE].all.mape, sum / (double)count, 0.03);
}

CASE(a_line_in_batch_over_share_leaves_the_naive_fit_no_error)
{
    struct latency_point points[POINTS];
    size_t count = make_points(&truth, NULL, 0, points);
    for (size_t i = 0; i < count; i++)
        points[i].ms = 3 + 2 * points[i].batch / points[i].share;
    CLOSED(surface_clear) struct surface surface = calibrate(points, count);
    assert_true(surface.naive.all.mape < 1e-9);
}

CASE(a_surface_recovers_a_known_law_everywhere_without_noise)
{
    struct latency_point points[POINTS];
    size_t count = make_points(&truth, NULL, 0, points);
    CLOSED(surface_clear) struct surface surface = calibrate(points, count);
    for (double batch = 1; batch <= 64; batch++)
        for (int percent = 5; percent <= 100; percent += 5)
            assert_relative(
                latency_model_at(&surface.model,
                                 &(struct latency_point){.batch = batch, .share = percent / 100.0})
                    .ms,
                latency_law_ms(&truth, batch, percent / 100.0), 0.03);
}

/* The correction stays away from where there is nothing to correct. */
CASE(a_surface_of_many_points_is_as_good_as_one_of_few)
{
    enum { MANY = 6 * 100 };
    static struct latency_point points[MANY];
    gsl_rng *rng = seeded(5);
    size_t count = 0;
    for (int batch = 1; batch <= 32; batch *= 2)
        for (int percent = 1; percent <= 100; percent++)
            points[count++] = (struct latency_point){
                batch, percent / 100.0,
                latency_law_ms(&truth, batch, percent / 100.0) * gsl_ran_lognormal(rng, 0, 0.02),
                0};
    CLOSED(surface_clear) struct surface surface = calibrate(points, count);
    for (size_t i = 0; i < count; i += 7)
        assert_relative(surface.fitted_ms[i],
                        latency_law_ms(&truth, points[i].batch, points[i].share), 0.05);
    assert_true(surface.errors[FOLD_POINT].all.mape > 0.01 &&
                surface.errors[FOLD_POINT].all.mape < 0.022);
}

CASE(the_edges_that_were_left_out_are_the_outermost_fifth)
{
    struct latency_point points[POINTS];
    size_t count = make_points(&truth, NULL, 0, points);
    CLOSED(surface_clear) struct surface surface = calibrate(points, count);
    /* Two of seven shares at six batches, from 3/7 to 1/7 and 2/7; two of six batches. */
    assert_int_equal(surface.errors[FOLD_LEAST_SHARES].all.count, 2 * 6);
    assert_int_equal(surface.errors[FOLD_LARGEST_BATCHES].all.count, 2 * 7);
    assert_int_equal(surface.errors[FOLD_LEAST_SHARES].inner.count, 0);
    assert_true(surface.errors[FOLD_LEAST_SHARES].all.mape < 0.02);
}

/* The eight points of one network from which powers of the share above 1 once made 3.7 s of 137 ms.
 */
CASE(a_prediction_grows_at_most_as_the_batch_and_as_one_over_the_share)
{
    const struct latency_point points[] = {{1, 0.5, 3.55, 0}, {1, 0.65, 3.45, 0}, {1, 0.7, 3.6, 0},
                                           {1, 0.9, 3.72, 0}, {2, 0.45, 5.48, 0}, {2, 0.9, 3.82, 0},
                                           {2, 0.95, 3.7, 0}, {4, 0.9, 5.5, 0}};
    CLOSED(surface_clear) struct surface surface = calibrate(points, 8);
    assert_true(
        latency_model_at(&surface.model, &(struct latency_point){.batch = 8, .share = 0.05}).ms <
        250);
    assert_true(latency_model_law(&surface.model)->k[LAW_SHARE_EXPONENT] <= 1);
    assert_true(latency_model_law(&surface.model)->k[LAW_WORK_SQUARE] < 1e-12);
    for (double batch = 0.5; batch <= 64; batch *= 2)
        for (int percent = 1; percent <= 100; percent++) {
            const struct latency_value value = latency_model_at(
                &surface.model, &(struct latency_point){.batch = batch, .share = percent / 100.0});
            double most = INFINITY;
            for (size_t i = 0; i < 8; i++)
                most = fmin(most, points[i].ms * fmax(1, batch / points[i].batch) *
                                      fmax(1, points[i].share * 100 / percent));
            assert_true(value.between || value.ms <= most * (1 + 1e-12));
        }
}

static bool is_between(const struct latency_model *model, double batch, double share)
{
    return latency_model_at(model, &(struct latency_point){.batch = batch, .share = share}).between;
}

/* Points at the corners of a triangle, as scattered measurements leave it. */
CASE(what_is_between_is_the_hull_of_the_points)
{
    const struct latency_point points[] = {{1, 1, 1, 0}, {16, 1, 16, 0}, {1, 1.0 / 16, 16, 0}};
    const struct latency_prior weak = latency_prior_weak(1);
    CLOSED(latency_model_clear) struct latency_model model = {0};
    assert_true(latency_model_fit(points, 3, NULL, &weak, NULL, &model, hear()));
    assert_true(is_between(&model, 2, 0.5));
    assert_true(is_between(&model, 4, 0.25)); /* on the edge */
    assert_true(is_between(&model, 4, 1));
    assert_true(is_between(&model, 16, 1));
    assert_false(is_between(&model, 8, 0.25));
    assert_false(is_between(&model, 32, 1));
    assert_false(is_between(&model, 1, 0.05));
}

CASE(the_inner_grid_is_what_has_neighbours_on_all_sides)
{
    struct latency_point points[POINTS];
    size_t count = make_points(&truth, NULL, 0, points);
    size_t inner = 0;
    for (size_t i = 0; i < count; i++)
        inner += surface_is_inner(points, count, i);
    assert_int_equal(inner, 4 * 5);
}

/* ---- Interference ---------------------------------------------------------------------------- */

static void add_run(struct sample_set *set, uint32_t group, const char *name, int share,
                    double slowdown)
{
    struct co_run run = {.group = group,
                         .location = group,
                         .batch = 1 + (int)(group % 4),
                         .share = share,
                         .slowdown = slowdown,
                         .cv = NAN};
    assert_true(samples_function(set, name, &run.function, hear()));
    assert_true(samples_add_co_run(set, &run, hear()));
}

static const char *const names[] = {"a", "b", "c", "d"};

/* Every pair at every split of ten tenths with slowdowns of the law, plus a triple. */
static void make_co_runs(const struct interference *law, struct sample_set *set)
{
    uint32_t group = 0;
    set->unit = 10;
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t index = 0;
        assert_true(samples_function(set, names[i], &index, hear()));
        samples_add_demand(set, index, 10, 0.2 + 0.15 * i);
    }
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t j = i + 1; j < 4; j++)
            for (int share = 1; share < 10; share += 2) {
                add_run(set, group, names[i], share, 1);
                add_run(set, group++, names[j], 10 - share, 1);
            }
    for (uint32_t i = 0; i < 3; i++)
        add_run(set, group, names[i], 3, 1);
    for (size_t i = 0; i < set->co_run_count; i++)
        set->co_runs[i].slowdown = interference_law_slowdown(law, set, i);
}

CASE(a_constant_law_is_recovered_from_pairs_and_a_triple)
{
    const struct interference law = {.kind = INTERFERENCE_CONSTANT, .constant = 0.13};
    CLOSED(interference_fit_clear) struct interference_fit found = {0};
    CLOSED(samples_clear) struct sample_set set = {0};
    make_co_runs(&law, &set);
    assert_true(interference_calibrate(&set, &found, hear()));
    assert_relative(found.laws[INTERFERENCE_CONSTANT].constant, 0.13, 1e-12);
    for (int fold = 0; fold < INTERFERENCE_FOLDS; fold++)
        assert_true(found.errors[INTERFERENCE_CONSTANT][fold].mape < 1e-12);
    assert_int_equal(found.choice, INTERFERENCE_CONSTANT);
}

CASE(a_pair_table_is_recovered_and_chosen_where_pairs_differ)
{
    double excess[16];
    struct interference law = {.kind = INTERFERENCE_PAIRS, .pair_count = 4, .pairs = excess};
    CLOSED(interference_fit_clear) struct interference_fit found = {0};
    CLOSED(samples_clear) struct sample_set set = {0};
    for (size_t i = 0; i < 16; i++)
        excess[i] = 0.02 * (double)((7 * i) % 11);
    make_co_runs(&law, &set);
    assert_true(interference_calibrate(&set, &found, hear()));
    assert_int_equal(found.choice, INTERFERENCE_PAIRS);
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 4; j++) {
            double cell = found.laws[INTERFERENCE_PAIRS].pairs[i * 4 + j];
            if (i == j)
                assert_true(isnan(cell));
            else
                assert_true(fabs(cell - excess[i * 4 + j]) < 1e-12);
        }
    /* Functions that never met are another matter: there the table knows its constant alone. */
    assert_true(found.errors[INTERFERENCE_PAIRS][FOLD_FUNCTIONS].mape > 0.01);
}

/* The triple is not fitted. It is the sum of its pairs until its times are 10 % longer. */
CASE(a_shape_is_recovered_and_chosen_and_groups_are_the_sum_of_their_pairs)
{
    double excess[16];
    struct interference law = {.kind = INTERFERENCE_SHAPED,
                               .pair_count = 4,
                               .pairs = excess,
                               .shape = {2, 0.5, -0.1, 0.3, 0.05, 0.2, 0.2, 0.1}};
    struct interference_fit found;
    CLOSED(samples_clear) struct sample_set set = {0};
    for (size_t i = 0; i < 16; i++)
        excess[i] = 0.05 + 0.02 * (double)((7 * i) % 11);
    make_co_runs(&law, &set);
    assert_true(interference_calibrate(&set, &found, hear()));
    assert_int_equal(found.choice, INTERFERENCE_SHAPED);
    for (int fold = 0; fold < INTERFERENCE_FOLDS; fold++)
        assert_true((found.errors[INTERFERENCE_SHAPED][fold].mape < 1e-4) ==
                    (fold != FOLD_FUNCTIONS));
    assert_int_equal(found.errors[INTERFERENCE_SHAPED][FOLD_GROUPS].count, 3);
    interference_fit_clear(&found);
    for (size_t i = set.co_run_count - 3; i < set.co_run_count; i++)
        set.co_runs[i].slowdown *= 1.1;
    assert_true(interference_calibrate(&set, &found, hear()));
    assert_true(fabs(found.errors[INTERFERENCE_SHAPED][FOLD_GROUPS].mape - 0.1 / 1.1) < 1e-4);
    interference_fit_clear(&found);
}

CASE(a_bandwidth_law_is_recovered_and_speaks_of_functions_that_never_met)
{
    const struct interference law = {.kind = INTERFERENCE_BANDWIDTH,
                                     .coefficient = 0.8,
                                     .victim_exponent = 0.5,
                                     .share_exponent = 0.7};
    CLOSED(interference_fit_clear) struct interference_fit found = {0};
    CLOSED(samples_clear) struct sample_set set = {0};
    make_co_runs(&law, &set);
    gsl_error_handler_t *before = gsl_set_error_handler_off();
    assert_true(interference_calibrate(&set, &found, hear()));
    (void)gsl_set_error_handler(before);
    assert_int_equal(found.choice, INTERFERENCE_BANDWIDTH);
    assert_relative(found.laws[INTERFERENCE_BANDWIDTH].coefficient, 0.8, 1e-4);
    assert_relative(found.laws[INTERFERENCE_BANDWIDTH].share_exponent, 0.7, 1e-4);
    assert_true(found.errors[INTERFERENCE_BANDWIDTH][FOLD_FUNCTIONS].mape < 1e-4);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

CASE(published_formats_are_known_by_their_first_line)
{
    static const struct {
        const char *file, *text, *function;
        int unit, batch, share, vcpu;
        double ms;
    } formats[] = {
        {"own.csv", "model,batch,mps_pct,latency_ms\nx,2,40,3.5\n", "x", 100, 2, 40, 1, 3.5},
        {"sms.csv", "latency_ms,function,sms,batch,sm_count\n3.5,x,34,2,108\n", "x", 108, 2, 34, 1,
         3.5},
        {"resnet50.csv",
         "Mig instance,Batch size,Workload Number,Throughput,Latency\n2,8,1,400,0.02\n"
         "2,8,2,200,0.04\n1,256,1,0,0\n",
         "resnet50", 7, 8, 2, 1, 20},
        {"bs_sm_bert_base.csv", "4.000000,10.000000,0.0367,108.9\n", "bert_base", 100, 4, 10, 1,
         36.7},
        {"speedup.csv", "2,1578.587,118.340,79.119,40.165,94.493,23690.358\n", "resnet18", 68, 1, 2,
         1, 23.690358},
        {"x-profile-results.txt", "x 4 20 8 138.000000\nx 4 20 9 9999.0\n", "x", 100, 8, 20, 4,
         138},
    };
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        CLOSED(samples_clear) struct sample_set set = {0};
        write_text(in_folder(formats[i].file), formats[i].text);
        assert_good(sample_table_read(&set, in_folder(formats[i].file), hear()));
        assert_int_equal(set.latency_count, 1);
        assert_string_equal(set.functions.names[0], formats[i].function);
        assert_int_equal(set.unit, formats[i].unit);
        assert_int_equal(set.latencies[0].batch, formats[i].batch);
        assert_int_equal(set.latencies[0].share, formats[i].share);
        assert_int_equal(set.latencies[0].vcpu, formats[i].vcpu);
        assert_relative(set.latencies[0].ms, formats[i].ms, 1e-12);
    }
}

CASE(faulty_tables_are_refused_with_the_line_and_the_fault)
{
    static const char head[] = "model,batch,mps_pct,latency_ms\n";
    static const struct refusal faults[] = {
        {"x,2,40\n", ":2: has 3 fields, the header has 4"},
        {"x,2,40,fast\n", ":2: column 4: 'fast' is not a number"},
        {"x,2,40,\n", "has no usable sample"},
        {"x,2,40,oom\n", "has no usable sample"},
        {"x,2,33.33333,3\n", "no whole number of thousandths"},
        {"x,2,140,3\n", ":2: column 3: 140 is not from 0 to 100"},
        {"x,1.5,40,3\n", ":2: column 2: 1.5 is not a whole number"},
        {"x,2,40,-3\n", "is not from 0"},
        {"x,2,40,0\n", "must be above 0"},
        {"x,2,40,nan\n", "is not a number"},
        {",2,40,3\n", "name is empty"},
        {"", "has no usable sample"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        CLOSED(samples_clear) struct sample_set set = {0};
        write_text(in_folder("fault.csv"), formatted("%s%s", head, faults[i].text));
        assert_bad_input(sample_table_read(&set, in_folder("fault.csv"), hear()), faults[i].words);
    }
}

CASE(a_table_of_something_else_is_refused)
{
    static const char *const texts[] = {"", "a,b,c\n1,2,3\n", "{}\n", "1,2,3,x\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        CLOSED(samples_clear) struct sample_set set = {0};
        write_text(in_folder("other.csv"), texts[i]);
        assert_bad_input(sample_table_read(&set, in_folder("other.csv"), hear()), "");
    }
}

CASE(devices_of_different_units_are_not_mixed)
{
    CLOSED(samples_clear) struct sample_set set = {0};
    write_text(in_folder("one.csv"), "model,batch,mps_pct,latency_ms\nx,2,40,3.5\n");
    assert_true(sample_table_read(&set, in_folder("one.csv"), hear()));
    write_text(in_folder("two.csv"), "model,batch,mig_gpcs,latency_ms\nx,2,4,3.5\n");
    assert_bad_input(sample_table_read(&set, in_folder("two.csv"), hear()),
                     "calibrate one device at a time");
}

CASE(repeats_become_their_median_and_their_spread)
{
    static const double times[] = {10, 12, 11, 30, 9};
    CLOSED(samples_clear) struct sample_set set = {0};
    for (size_t i = 0; i < 5; i++) {
        const struct latency_sample sample = {0, 2, 1, 3, times[i], 1, NAN, 0};
        assert_true(samples_add_latency(&set, &sample, hear()));
    }
    assert_true(samples_reduce(&set, NULL));
    assert_int_equal(set.latency_count, 1);
    assert_int_equal(set.latencies[0].repeats, 5);
    assert_relative(set.latencies[0].ms, 11, 1e-12);
    double mean = 0;
    double squares = 0;
    for (size_t i = 0; i < 5; i++)
        mean += log(times[i]) / 5;
    for (size_t i = 0; i < 5; i++)
        squares += (log(times[i]) - mean) * (log(times[i]) - mean);
    assert_relative(set.latencies[0].cv, sqrt(squares / 4), 1e-9);
}

static void add_times(struct sample_set *set, const char *name, int vcpu, int count)
{
    struct latency_sample sample = {.vcpu = vcpu, .share = 1, .repeats = 1, .cv = NAN};
    assert_true(samples_set_unit(set, SEVENTHS, "test", hear()));
    assert_true(samples_function(set, name, &sample.function, hear()));
    for (int i = 0; i < count; i++) {
        sample.batch = 1 + i;
        sample.ms = 5 + 2.0 * sample.batch;
        assert_true(samples_add_latency(set, &sample, hear()));
    }
}

CASE(a_function_of_one_point_is_left_out_by_name_and_the_others_are_not)
{
    CLOSED(samples_clear) struct sample_set set = {0};
    CLOSED(calibration_clear) struct calibration calibration = {0};
    add_times(&set, "first", 1, 1);
    add_times(&set, "many", 1, 3);
    add_times(&set, "many", 2, 1);
    add_times(&set, "two", 1, 2);
    add_times(&set, "last", 1, 1);
    assert_true(samples_reduce(&set, NULL));
    assert_true(samples_leave_out_lone(&set, hear()));
    assert_int_equal(set.latency_count, 6);
    assert_string_equal(set.left_out, "first left out, one point is too few to fit; "
                                      "last left out, one point is too few to fit");
    assert_true(calibration_run(&set, NULL, NULL, &calibration, hear()));
    assert_int_equal(calibration.surface_count, 2);
    assert_string_equal(set.functions.names[calibration.surfaces[0].function], "many");
    assert_int_equal(calibration.surfaces[0].count, 4);
    assert_string_equal(set.functions.names[calibration.surfaces[1].function], "two");
}

CASE(nothing_but_single_points_is_refused_unless_there_are_pairs)
{
    CLOSED(samples_clear) struct sample_set set = {0};
    add_times(&set, "a", 1, 1);
    add_times(&set, "b", 1, 1);
    assert_true(samples_reduce(&set, NULL));
    assert_bad_input(samples_leave_out_lone(&set, hear()), "no function has more than one point");
    add_run(&set, 0, "a", 3, 1.1);
    add_run(&set, 0, "b", 4, 1.2);
    assert_true(samples_leave_out_lone(&set, hear()));
    assert_int_equal(set.latency_count, 0);
}

/* ---- Profiles -------------------------------------------------------------------------------- */

/* Two functions at sevenths, each point three times with 3 % noise, one configuration missing. */
static void make_set(struct sample_set *set)
{
    gsl_rng *rng = seeded(11);
    assert_true(samples_set_unit(set, 7, "test", hear()));
    for (uint32_t f = 0; f < 2; f++) {
        uint32_t index = 0;
        assert_true(samples_function(set, names[f], &index, hear()));
        for (int batch = 1; batch <= 8; batch *= 2)
            for (int share = 1; share <= 7; share += 2)
                for (int repeat = 0; repeat < 3 && !(batch == 8 && share == 1); repeat++) {
                    const struct latency_sample sample = {
                        index,
                        batch,
                        1,
                        share,
                        (1 + f) * latency_law_ms(&truth, batch, share / 7.0) *
                            gsl_ran_lognormal(rng, 0, 0.03),
                        1,
                        NAN,
                        0};
                    assert_true(samples_add_latency(set, &sample, hear()));
                }
    }
    for (uint32_t group = 0; group < 12; group++) {
        add_run(set, group, "a", 3, 1.1 + 0.01 * (group % 3));
        add_run(set, group, "b", 4, 1.2 + 0.01 * (group % 3));
    }
    assert_true(samples_reduce(set, NULL));
}

static struct profile *load(const char *path)
{
    return must(profile_load(path, hear()));
}

static void write_profile(const struct sample_set *set, int extend, const char *name)
{
    CLOSED(calibration_clear) struct calibration calibration = {0};
    struct atomic_file file = {0};
    const struct profile_options options = {.extend_batch = extend};
    assert_good(calibration_run(set, NULL, NULL, &calibration, hear()));
    assert_good(atomic_file_open(&file, in_folder(name), hear()));
    assert_good(calibration_write_profile(&calibration, &options, file.stream, hear()));
    assert_good(atomic_file_end(&file, true, hear()));
    assert_good(atomic_file_open(&file, in_folder("points.csv"), hear()));
    calibration_write_points(&calibration, file.stream);
    assert_true(atomic_file_end(&file, true, hear()));
}

/* A line over the batch, through rows that have one; at one batch size the mean, by 1 / held². */
CASE(a_turnaround_column_becomes_the_functions_turnaround)
{
    static const char rows[] = "model,batch,mps_pct,latency_ms,turnaround_ms\n"
                               "a,1,50,10,2\na,4,50,22,5\na,8,50,22,\na,1,100,8,2\na,2,100,9,3\n"
                               "b,1,50,10,\nb,2,50,14,\nb,1,100,8,\nb,2,100,10,\n"
                               "c,1,50,8,2\nc,1,100,2,3\n"
                               "d,1,50,10,1\nd,8,50,10,16\nd,1,100,10,1\n";
    CLOSED(samples_clear) struct sample_set set = {0};
    write_text(in_folder("held.csv"), rows);
    assert_good(sample_table_read(&set, in_folder("held.csv"), hear()));
    assert_true(samples_reduce(&set, NULL));
    write_profile(&set, 0, "held.json");
    OWNED(profile_free) struct profile *profile = load(in_folder("held.json"));
    assert_relative(profile_find(profile, "a")->turnaround_ms, 1, 1e-5);
    assert_relative(profile_find(profile, "a")->turnaround_per_item_ms, 1, 1e-5);
    assert_true(isnan(profile_find(profile, "b")->turnaround_ms));
    assert_relative(profile_find(profile, "c")->turnaround_ms, (2 * 0.01 + 3 * 0.04) / 0.05, 1e-5);
    /* Never below 0: through the origin, by 1 / 11², 1 / 26², 1 / 11². */
    assert_absolute(profile_find(profile, "d")->turnaround_ms, 0, 0);
    assert_relative(profile_find(profile, "d")->turnaround_per_item_ms,
                    (2.0 / 121 + 128.0 / 676) / (2.0 / 121 + 64.0 / 676), 1e-5);
    write_text(in_folder("fault.csv"),
               "model,batch,mps_pct,latency_ms,turnaround_ms\na,1,50,10,-2\n");
    assert_bad_input(sample_table_read(&set, in_folder("fault.csv"), hear()),
                     ":2: column 5: -2 is not from 0");
}

CASE(a_written_profile_is_read_back_with_the_measured_values)
{
    CLOSED(samples_clear) struct sample_set set = {0};
    CLOSED(calibration_clear) struct calibration calibration = {0};
    make_set(&set);
    write_profile(&set, 0, "profile.json");
    OWNED(profile_free) struct profile *profile = load(in_folder("profile.json"));
    assert_true(calibration_run(&set, NULL, NULL, &calibration, hear()));
    for (size_t s = 0; s < calibration.surface_count; s++) {
        const struct calibrated_surface *surface = &calibration.surfaces[s];
        const struct profile_function *function =
            must(profile_find(profile, set.functions.names[surface->function]));
        for (size_t i = 0; i < surface->count; i++)
            assert_relative(profile_latency_ms(function, surface->samples[i].batch, 1,
                                               surface->samples[i].share),
                            surface->samples[i].ms, 5e-6);
        assert_relative(profile_latency_ms(function, 8, 1, 1),
                        latency_model_at(&surface->surface.model,
                                         &(struct latency_point){.batch = 8, .share = 1 / 7.0})
                            .ms,
                        5e-6);
        assert_true(isnan(profile_latency_ms(function, 16, 1, 7)));
        assert_relative(function->noise_cv, 0.03, 0.5);
    }
    assert_int_equal(profile->unit, 7);
    assert_non_null(profile->interference);
    assert_int_equal(profile->interference->kind, INTERFERENCE_PAIRS);
}

CASE(a_law_that_is_asked_for_extends_the_grid_without_a_step)
{
    CLOSED(samples_clear) struct sample_set set = {0};
    make_set(&set);
    write_profile(&set, 64, "extended.json");
    OWNED(profile_free) struct profile *profile = load(in_folder("extended.json"));
    const struct profile_function *function = &profile->functions[0];
    double edge = profile_latency_ms(function, 8, 1, 7);
    double beyond = profile_latency_ms(function, 9, 1, 7);
    assert_true(beyond >= edge && beyond < 1.25 * edge);
    assert_relative(profile_latency_ms(function, 32, 1, 7), latency_law_ms(&truth, 32, 1), 0.2);
    assert_true(isnan(profile_latency_ms(function, 65, 1, 7)));
    assert_true(isnan(profile_latency_ms(function, 32, 2, 7)));
}

CASE(equal_samples_give_equal_bytes)
{
    char *texts[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) {
        CLOSED(samples_clear) struct sample_set set = {0};
        make_set(&set);
        write_profile(&set, 64, "bytes.json");
        texts[i] = json_read_text(in_folder("bytes.json"), NULL, hear());
        assert_non_null(texts[i]);
    }
    assert_string_equal(texts[0], texts[1]);
    free(texts[0]);
    free(texts[1]);
}

CASE(a_share_that_is_not_whole_in_the_unit_is_not_written)
{
    CLOSED(samples_clear) struct sample_set set = {0};
    CLOSED(calibration_clear) struct calibration calibration = {0};
    struct atomic_file file;
    const struct profile_options options = {.unit = 3};
    make_set(&set);
    assert_true(calibration_run(&set, NULL, NULL, &calibration, hear()));
    assert_true(atomic_file_open(&file, in_folder("three.json"), hear()));
    assert_true(calibration_write_profile(&calibration, &options, file.stream, hear()));
    assert_true(atomic_file_end(&file, true, hear()));
    OWNED(profile_free) struct profile *profile = load(in_folder("three.json"));
    assert_int_equal(profile->functions[0].vgpu.count, 1); /* the whole GPU alone */
    assert_int_equal(profile->functions[0].vgpu.values[0], 3);
}

/* A coarser unit admits what a table rounds; two shares never become the same units. */
CASE(a_rounded_share_is_one_of_the_unit)
{
    struct sample_set set = {.unit = 1000};
    assert_int_equal(samples_in_unit(&set, 143, 7), 1);
    assert_int_equal(samples_in_unit(&set, 286, 7), 2);
    assert_int_equal(samples_in_unit(&set, 571, 7), 4);
    assert_int_equal(samples_in_unit(&set, 1000, 7), 7);
    assert_int_equal(samples_in_unit(&set, 150, 7), -1);
    assert_int_equal(samples_in_unit(&set, 500, 100), 50);
    assert_int_equal(samples_in_unit(&set, 505, 100), -1);
    assert_int_equal(samples_in_unit(&set, 1, 2000), 2);
    set.unit = 7; /* sevenths are exact, not rounded */
    assert_int_equal(samples_in_unit(&set, 5, 3), -1);
    set.unit = 100;
    assert_int_equal(samples_in_unit(&set, 1, 150), -1);
    for (int unit = 1; unit <= 100; unit++)
        for (int share = 1, last = 0; share <= 100; share++) {
            const int here = samples_in_unit(&set, share, unit);
            if (here < 0)
                continue;
            assert_true(here > last);
            assert_true(fabs((double)here / unit - share / 100.0) <= 0.005 + 1e-12);
            last = here;
        }
}

/* ---- Multiprocessors ------------------------------------------------------------------------- */

enum { SMS_WHOLE = 132, SMS_SEVENTH = 16 };

/* What k sevenths of such a GPU come to: all seven are the whole GPU, with what makes no slice. */
static int sms_of(int sevenths)
{
    return sevenths == SEVENTHS ? SMS_WHOLE : sevenths * SMS_SEVENTH;
}

/* 0.9 ms and 21 ms an item on one multiprocessor. */
static double slice_ms(int batch, int sms)
{
    return 0.9 + 21.0 * batch / sms;
}

static void make_slices(struct sample_set *set, bool counted)
{
    uint32_t index = 0;
    assert_true(samples_set_unit(set, SEVENTHS, "test", hear()));
    assert_true(samples_function(set, "sliced", &index, hear()));
    for (int batch = 1; batch <= 16; batch *= 2)
        for (int share = 1; share <= SEVENTHS; share++) {
            const struct latency_sample sample = {
                .function = index,
                .batch = batch,
                .vcpu = 1,
                .share = share,
                .ms = slice_ms(batch, sms_of(share)),
                .repeats = 1,
                .cv = NAN,
                .part = counted ? (double)sms_of(share) / SMS_WHOLE : 0};
            assert_true(samples_add_latency(set, &sample, hear()));
        }
    assert_true(samples_reduce(set, NULL));
}

static struct calibration calibrate_set(const struct sample_set *set)
{
    struct calibration calibration = {0};
    assert_good(calibration_run(set, NULL, NULL, &calibration, hear()));
    return calibration;
}

/* The most that the law alone is off at the whole GPU. */
static double law_off_at_the_whole(const struct calibrated_surface *surface)
{
    double most = 0;
    for (size_t i = 0; i < surface->count; i++)
        if (surface->samples[i].share == SEVENTHS)
            most =
                fmax(most, fabs(latency_law_ms(latency_model_law(&surface->surface.model),
                                               surface->points[i].batch, surface->points[i].share) /
                                    surface->points[i].ms -
                                1));
    return most;
}

CASE(a_law_over_counted_multiprocessors_is_recovered_up_to_the_whole_gpu)
{
    CLOSED(samples_clear) struct sample_set set = {0};
    make_slices(&set, true);
    CLOSED(calibration_clear) struct calibration calibration = calibrate_set(&set);
    const struct calibrated_surface *surface = &calibration.surfaces[0];
    for (size_t i = 0; i < surface->count; i++) {
        const double wanted =
            slice_ms(surface->samples[i].batch, sms_of(surface->samples[i].share));
        assert_relative(surface->surface.fitted_ms[i], wanted, 1e-3);
        assert_relative(latency_law_ms(latency_model_law(&surface->surface.model),
                                       surface->points[i].batch, surface->points[i].share),
                        wanted, 1e-3);
    }
    assert_true(calibration_error(&calibration, FOLD_POINT, false).worst < 0.02);
}

/* Without the counts no law of this kind describes the same times: what the counts are for. */
CASE(the_same_times_over_named_shares_miss_the_whole_gpu)
{
    CLOSED(samples_clear) struct sample_set set = {0};
    make_slices(&set, false);
    CLOSED(calibration_clear) struct calibration calibration = calibrate_set(&set);
    assert_true(law_off_at_the_whole(&calibration.surfaces[0]) > 0.05);
}

CASE(a_profile_of_counted_multiprocessors_is_asked_by_the_shares_names)
{
    CLOSED(samples_clear) struct sample_set set = {0};
    make_slices(&set, true);
    write_profile(&set, 64, "sliced.json");
    OWNED(profile_free) struct profile *profile = load(in_folder("sliced.json"));
    const struct profile_function *function = &profile->functions[0];
    assert_int_equal(profile->unit, SEVENTHS);
    assert_int_equal(function->vgpu.count, SEVENTHS);
    for (int share = 1; share <= SEVENTHS; share++) {
        assert_relative(profile_latency_ms(function, 4, 1, share), slice_ms(4, sms_of(share)),
                        1e-3);
        /* Outside the grid the law answers, over the same multiprocessors. */
        assert_relative(profile_latency_ms(function, 64, 1, share), slice_ms(64, sms_of(share)),
                        1e-2);
        assert_relative(function->extension->parts[share - 1], sms_of(share) / (double)SMS_WHOLE,
                        1e-5);
    }
}

/* 30 % and two sevenths can come to the same multiprocessors: two names of one place. */
CASE(two_shares_that_came_to_the_same_are_left_out_together)
{
    struct latency_point points[POINTS];
    size_t count = 0;
    for (int batch = 1; batch <= 16; batch *= 2)
        for (int share = 1; share <= SEVENTHS; share++)
            for (int twin = 0; twin < (share == 2 ? 2 : 1); twin++)
                points[count++] =
                    (struct latency_point){batch, (double)sms_of(share) / SMS_WHOLE,
                                           (1 + 0.2 * twin) * slice_ms(batch, sms_of(share)), 0};
    CLOSED(surface_clear) struct surface surface = calibrate(points, count);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (points[i].batch == points[j].batch && points[i].share == points[j].share) {
                assert_true(surface.left_out_ms[i] == surface.left_out_ms[j]);
                assert_relative(surface.fitted_ms[i], surface.fitted_ms[j], 1e-12);
            }
}

/* ---- Public measurements --------------------------------------------------------------------- */

static void calibrate_file(const char *path, struct sample_set *set,
                           struct calibration *calibration)
{
    assert_good(sample_table_read(set, path, hear()));
    assert_true(samples_reduce(set, NULL));
    assert_good(calibration_run(set, NULL, NULL, calibration, hear()));
}

CASE(public_tables_calibrate_within_what_is_reported_of_them)
{
    static const struct {
        const char *path;
        double bound;
    } sets[] = {{"traces/profiles/raw/parvagpu/parvagpu_all.csv", 0.035},
                {"traces/profiles/raw/dilu/dilu_all.csv", 0.031}};
    for (size_t i = 0; i < 2; i++) {
        CLOSED(samples_clear) struct sample_set set = {0};
        CLOSED(calibration_clear) struct calibration calibration = {0};
        calibrate_file(sets[i].path, &set, &calibration);
        double error = calibration_error(&calibration, FOLD_POINT, true).mape;
        double naive = calibration_naive_error(&calibration, true).mape;
        assert_true(error < sets[i].bound);
        assert_true(naive > 2 * error);
    }
}

CASE(igniter_resnet50_calibrates_within_what_is_reported_of_it)
{
    CLOSED(samples_clear) struct sample_set all = {0};
    struct latency_point points[256];
    size_t count = 0;
    assert_true(sample_table_read(&all, "traces/profiles/raw/igniter/solo.csv", hear()));
    assert_true(samples_reduce(&all, NULL));
    for (size_t i = 0; i < all.latency_count; i++)
        if (strcmp(all.functions.names[all.latencies[i].function], "resnet50") == 0 &&
            all.latencies[i].batch % 2 == 0)
            points[count++] = (struct latency_point){
                all.latencies[i].batch, all.latencies[i].share / 100.0, all.latencies[i].ms, 0};
    CLOSED(surface_clear) struct surface surface = calibrate(points, count);
    assert_true(surface.errors[FOLD_POINT].inner.mape < 0.025);
}

CASE(igniter_pairs_calibrate_within_what_is_reported_of_them)
{
    CLOSED(samples_clear) struct sample_set set = {0};
    CLOSED(calibration_clear) struct calibration calibration = {0};
    calibrate_file("traces/profiles/raw/igniter/pairs.csv", &set, &calibration);
    assert_int_equal(calibration.interference.none.count, 1500);
    assert_int_equal(calibration.interference.choice, INTERFERENCE_SHAPED);
    const struct mean_error *pairs = calibration.interference.errors[INTERFERENCE_PAIRS];
    const struct mean_error *shaped = calibration.interference.errors[INTERFERENCE_SHAPED];
    assert_true(pairs[FOLD_LOCATION].mape < 0.02 && pairs[FOLD_FUNCTIONS].mape < 0.034);
    assert_true(shaped[FOLD_LOCATION].mape < 0.015 && shaped[FOLD_BATCHES].mape < 0.015);
    assert_true(shaped[FOLD_FUNCTIONS].mape < pairs[FOLD_FUNCTIONS].mape);
}

/* The number of slopes is what predicts groups best from pairs. */
CASE(groups_of_an_h200_carry_slopes_of_batch_and_share)
{
    CLOSED(samples_clear) struct sample_set set = {0};
    CLOSED(interference_fit_clear) struct interference_fit fit = {0};
    assert_good(measured_folder_read(&set, "traces/profiles/raw/h200", false, hear()));
    assert_good(interference_calibrate(&set, &fit, hear()));
    assert_int_equal(fit.choice, CHOICE_BATCH_AND_SHARE);
    assert_int_equal(fit.errors[fit.choice][FOLD_GROUPS].count, 81);
    assert_true(fit.errors[fit.choice][FOLD_GROUPS].mape <= 0.03);
    assert_absolute(fit.laws[fit.choice].shape[INTERFERENCE_VICTIM_SLOPES + 2], 0, 0);
}

SUITE_WITH("calibrate", folder_make, folder_remove)
