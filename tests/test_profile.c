#include <dirent.h>

#include "tests/suite.h"
#include "traces/profile/interference.h"
#include "traces/profile/profile.h"

OWNER(profile_free, struct profile)
#define LOADED OWNED(profile_free) struct profile

static const char folder[] = "traces/profiles";
static const char *const shipped[] = {"a100-mig-parvagpu.json",
                                      "esg-reconstructed-cpu0.json",
                                      "esg-reconstructed-absolute50.json",
                                      "esg-reconstructed-absolute80.json",
                                      "esg-reconstructed-cpu50.json",
                                      "esg-reconstructed.json",
                                      "v100-mps-igniter.json"};
enum { SHIPPED = sizeof shipped / sizeof shipped[0] };

static struct profile *load(const char *name)
{
    return must(profile_load(formatted("%s/%s", folder, name), hear()));
}

static struct profile *parse(const char *text)
{
    return must(profile_parse(text, "test", hear()));
}

/* Equal to 6 significant digits, which is what profiles are written with. */
static void assert_written_as(double value, double raw)
{
    if (!(fabs(value - raw) <= 5.0001e-6 * fabs(raw)))
        fail_msg("profile has %.9g, the measurement is %.9g", value, raw);
}

/* ---- Interpolation --------------------------------------------------------------------------- */

/* Builds a profile's one function in memory over given axes. */
struct grid {
    int batch[8], vcpu[8], vgpu[8];
    double ms[512];
    struct profile_function function;
};

static void make_grid(struct grid *grid, size_t batches, size_t vcpus, size_t vgpus)
{
    grid->function = (struct profile_function){
        .batch = {grid->batch, batches},
        .vcpu = {grid->vcpu, vcpus},
        .vgpu = {grid->vgpu, vgpus},
        .latency_ms = grid->ms,
    };
}

static void random_axis(gsl_rng *rng, int *axis, size_t count)
{
    int value = 0;
    for (size_t i = 0; i < count; i++) {
        value += 1 + (int)gsl_rng_uniform_int(rng, 6);
        axis[i] = value;
    }
}

static double *at(struct grid *grid, size_t b, size_t c, size_t g)
{
    const struct profile_function *f = &grid->function;
    return &grid->ms[(b * f->vcpu.count + c) * f->vgpu.count + g];
}

/* A random surface, a product of functions that rise in b and fall in c and g. */
static void random_grid(gsl_rng *rng, struct grid *grid)
{
    double by_batch[8] = {1};
    double by_vcpu[8] = {1};
    double by_vgpu[8] = {1};
    make_grid(grid, 1 + gsl_rng_uniform_int(rng, 8), 1 + gsl_rng_uniform_int(rng, 8),
              1 + gsl_rng_uniform_int(rng, 8));
    random_axis(rng, grid->batch, grid->function.batch.count);
    random_axis(rng, grid->vcpu, grid->function.vcpu.count);
    random_axis(rng, grid->vgpu, grid->function.vgpu.count);
    for (size_t i = 1; i < 8; i++) {
        by_batch[i] = by_batch[i - 1] * (1 + gsl_rng_uniform(rng));
        by_vcpu[i] = by_vcpu[i - 1] / (1 + gsl_rng_uniform(rng));
        by_vgpu[i] = by_vgpu[i - 1] / (1 + gsl_rng_uniform(rng));
    }
    for (size_t b = 0; b < grid->function.batch.count; b++)
        for (size_t c = 0; c < grid->function.vcpu.count; c++)
            for (size_t g = 0; g < grid->function.vgpu.count; g++)
                *at(grid, b, c, g) = by_batch[b] * by_vcpu[c] * by_vgpu[g];
}

CASE(grid_points_are_exact)
{
    gsl_rng *rng = seeded(0);
    for (int round = 0; round < 200; round++) {
        struct grid grid;
        random_grid(rng, &grid);
        for (size_t b = 0; b < grid.function.batch.count; b++)
            for (size_t c = 0; c < grid.function.vcpu.count; c++)
                for (size_t g = 0; g < grid.function.vgpu.count; g++)
                    assert_true(profile_latency_ms(&grid.function, grid.batch[b], grid.vcpu[c],
                                                   grid.vgpu[g]) == *at(&grid, b, c, g));
    }
}

/* Walks every integer along one axis at the others' first grid value. */
static void assert_monotone(const struct profile_function *f, int axis, double sign)
{
    const struct profile_axis *axes[] = {&f->batch, &f->vcpu, &f->vgpu};
    int where[] = {f->batch.values[0], f->vcpu.values[0], f->vgpu.values[0]};
    double before = NAN;
    for (int v = axes[axis]->values[0]; v <= axes[axis]->values[axes[axis]->count - 1]; v++) {
        where[axis] = v;
        double ms = profile_latency_ms(f, where[0], where[1], where[2]);
        assert_true(isfinite(ms));
        if (!isnan(before) && !(sign * (ms - before) >= -1e-12 * ms))
            fail_msg("axis %d at %d: %.17g after %.17g", axis, v, ms, before);
        before = ms;
    }
}

CASE(interpolation_is_monotone_where_the_data_are)
{
    gsl_rng *rng = seeded(0);
    for (int round = 0; round < 500; round++) {
        struct grid grid;
        random_grid(rng, &grid);
        assert_monotone(&grid.function, 0, 1);
        assert_monotone(&grid.function, 1, -1);
        assert_monotone(&grid.function, 2, -1);
    }
}

CASE(interpolation_lies_between_its_neighbours)
{
    gsl_rng *rng = seeded(0);
    for (int round = 0; round < 500; round++) {
        struct grid grid;
        random_grid(rng, &grid);
        const struct profile_function *f = &grid.function;
        /* Any data, monotone or not: Steffen's spline does not overshoot. */
        for (size_t i = 0; i < f->batch.count * f->vcpu.count * f->vgpu.count; i++)
            grid.ms[i] = 1 + 9 * gsl_rng_uniform(rng);
        for (size_t b = 0; b + 1 < f->batch.count; b++) {
            double low = fmin(*at(&grid, b, 0, 0), *at(&grid, b + 1, 0, 0));
            double high = fmax(*at(&grid, b, 0, 0), *at(&grid, b + 1, 0, 0));
            for (int v = grid.batch[b]; v <= grid.batch[b + 1]; v++) {
                double ms = profile_latency_ms(f, v, grid.vcpu[0], grid.vgpu[0]);
                assert_true(ms >= low - 1e-12 && ms <= high + 1e-12);
            }
        }
    }
}

/* Linear in batch and vCPU, a power of the share. */
CASE(planes_times_a_power_of_the_share_are_reproduced_between_their_points)
{
    struct grid grid = {.batch = {1, 3, 7, 20}, .vcpu = {1, 4, 6}, .vgpu = {2, 9}};
    make_grid(&grid, 4, 3, 2);
    for (size_t b = 0; b < 4; b++)
        for (size_t c = 0; c < 3; c++)
            for (size_t g = 0; g < 2; g++)
                *at(&grid, b, c, g) =
                    (100 + 3 * grid.batch[b] - 2 * grid.vcpu[c]) * pow(grid.vgpu[g], -0.7);
    for (int b = 1; b <= 20; b++)
        for (int c = 1; c <= 6; c++)
            for (int g = 2; g <= 9; g++)
                assert_absolute(profile_latency_ms(&grid.function, b, c, g),
                                (100 + 3 * b - 2 * c) * pow(g, -0.7), 1e-9);
}

CASE(two_points_make_a_line)
{
    struct grid grid = {.batch = {1, 5}, .vcpu = {1}, .vgpu = {1}, .ms = {10, 30}};
    make_grid(&grid, 2, 1, 1);
    assert_absolute(profile_latency_ms(&grid.function, 2, 1, 1), 15, 1e-12);
    assert_absolute(profile_latency_ms(&grid.function, 4, 1, 1), 25, 1e-12);
}

CASE(an_axis_of_one_point_holds_only_that_point)
{
    struct grid grid = {.batch = {4}, .vcpu = {2}, .vgpu = {3}, .ms = {12.5}};
    make_grid(&grid, 1, 1, 1);
    assert_true(profile_latency_ms(&grid.function, 4, 2, 3) == 12.5);
    assert_true(isnan(profile_latency_ms(&grid.function, 3, 2, 3)));
    assert_true(isnan(profile_latency_ms(&grid.function, 4, 1, 3)));
    assert_true(isnan(profile_latency_ms(&grid.function, 4, 2, 4)));
}

CASE(outside_the_grid_there_is_no_value)
{
    LOADED *profile = load("esg-reconstructed.json");
    for (size_t i = 0; i < profile->function_count; i++) {
        const struct profile_function *f = &profile->functions[i];
        assert_true(isnan(profile_latency_ms(f, 0, 1, 1)));
        assert_true(isnan(profile_latency_ms(f, 33, 1, 1)));
        assert_true(isnan(profile_latency_ms(f, 1, 0, 1)));
        assert_true(isnan(profile_latency_ms(f, 1, 9, 1)));
        assert_true(isnan(profile_latency_ms(f, 1, 1, 0)));
        assert_true(isnan(profile_latency_ms(f, 1, 1, 8)));
        assert_true(isnan(profile_latency_ms(f, INT32_MAX, INT32_MIN, 1)));
    }
}

CASE(next_to_a_null_there_is_no_value)
{
    struct grid grid = {
        .batch = {1, 4, 8, 16, 32}, .vcpu = {1}, .vgpu = {1}, .ms = {10, 20, 30, NAN, 90}};
    make_grid(&grid, 5, 1, 1);
    assert_true(profile_latency_ms(&grid.function, 2, 1, 1) > 10);
    assert_true(profile_latency_ms(&grid.function, 6, 1, 1) > 20);
    assert_true(profile_latency_ms(&grid.function, 8, 1, 1) == 30);
    for (int b = 9; b < 32; b++)
        assert_true(isnan(profile_latency_ms(&grid.function, b, 1, 1)));
    assert_true(profile_latency_ms(&grid.function, 32, 1, 1) == 90);
}

/* 2 ms, and 6 ms an item over the part of the GPU. */
CASE(a_law_is_asked_at_the_part_of_the_gpu_that_a_share_is)
{
    struct latency_law law = {
        {[LAW_FLOOR] = 2, [LAW_WORK_PER_ITEM] = 6, [LAW_KINK] = 1, [LAW_SHARE_EXPONENT] = 1}};
    double parts[] = {0.25, 0.5, 1};
    struct profile_law extension = {.law = law, .batch = {1, 8}, .vgpu = {1, 3}, .unit = 3};
    struct grid grid;
    make_grid(&grid, 1, 1, 1);
    grid.batch[0] = grid.vcpu[0] = 1;
    grid.vgpu[0] = 2;
    grid.function.extension = &extension;
    extension.parts = parts;
    grid.ms[0] = 14; /* the law's own: its scale is 1 */
    assert_absolute(profile_latency_ms(&grid.function, 2, 1, 1), 2 + 6 * 2 / 0.25, 1e-12);
    assert_absolute(profile_latency_ms(&grid.function, 2, 1, 2), 2 + 6 * 2 / 0.5, 1e-12);
    assert_absolute(profile_latency_ms(&grid.function, 1, 1, 3), 2 + 6 / 1.0, 1e-12);
    extension.parts = NULL;
    grid.ms[0] = 2 + 6 * 3 / 2.0;
    assert_absolute(profile_latency_ms(&grid.function, 2, 1, 1), 2 + 6 * 2 * 3, 1e-12);
}

/* ---- The loader ------------------------------------------------------------------------------ */

#define MINIMAL                                                                                    \
    "\"unit\": 7, \"functions\": {\"f\": {\"grid\": {\"batch\": [1], \"vcpu\": [1], "              \
    "\"vgpu\": [1]}, \"latency_ms\": [[[5]]]}}"

CASE(what_a_file_leaves_out_is_nan_or_empty)
{
    LOADED *profile = parse("{" MINIMAL "}");
    const struct profile_function *f = must(profile_find(profile, "f"));
    assert_null(profile_find(profile, "g"));
    assert_string_equal(f->model, "f");
    assert_string_equal(profile->device, "");
    assert_string_equal(profile->licence, "");
    assert_null(profile->interference);
    assert_true(isnan(f->input_bytes) && isnan(f->noise_cv) && isnan(f->cold_start_mean_ms));
    assert_true(isnan(f->cold_start_cv) && isnan(f->gpu_weights_mb) && isnan(f->gpu_per_item_mb));
    assert_true(isnan(f->host_memory_mb) && isnan(f->bandwidth_share));
}

CASE(evidence_may_be_an_object_of_strings)
{
    LOADED *profile =
        parse("{" MINIMAL ", \"evidence\": {\"latency_ms\": \"measured\", \"cv\": \"assumed\"}}");
    assert_string_equal(profile->evidence, "latency_ms: measured; cv: assumed");
}

static size_t count_files(const char *path)
{
    size_t count = 0;
    DIR *files = must(opendir(path));
    for (const struct dirent *entry = readdir(files); entry != NULL; entry = readdir(files))
        count += entry->d_name[0] == '.' ? 0 : 1;
    (void)closedir(files);
    return count;
}

CASE(a_profile_that_is_not_there_is_bad_input)
{
    assert_bad_input(profile_load("tests/corpus/profile/no-such-file.json", hear()),
                     "no-such-file.json");
    assert_bad_input(profile_load("tests/corpus/profile", hear()), "");
    /* Other malformed profiles are in tests/corpus/loaders.md. */
    assert_bad_input(profile_load("tests/corpus/profile/array.json", hear()), "object");
}

CASE(any_cut_of_a_profile_is_refused)
{
    static const char whole[] = "{" MINIMAL ", \"interference\": {\"model\": \"constant\", "
                                "\"constant\": 0.1}}";
    for (size_t length = 0; length + 1 < sizeof whole; length++) {
        char cut[sizeof whole];
        memcpy(cut, whole, length);
        cut[length] = '\0';
        assert_bad_input(profile_parse(cut, "cut", hear()), "");
    }
    profile_free(parse(whole));
}

/* ---- Shipped profiles ------------------------------------------------------------------------ */

CASE(every_shipped_profile_loads)
{
    /* And README.md, derive.py, raw/, 2080ti-infless.json and h200-green.json, which `esgsim
     * calibrate` makes, and 2080ti-sgprs.json in two forms. */
    assert_int_equal(count_files(folder), SHIPPED + 7);
    for (size_t i = 0; i < SHIPPED; i++) {
        LOADED *profile = load(shipped[i]);
        assert_true(strlen(profile->device) > 0 && strlen(profile->evidence) > 0);
        assert_true(strlen(profile->source) > 0 && strlen(profile->licence) > 0);
        for (size_t j = 0; j < profile->function_count; j++) {
            const struct profile_function *f = &profile->functions[j];
            assert_true(f->noise_cv > 0 && f->cold_start_mean_ms > 0 && f->cold_start_cv > 0);
            assert_true(f->gpu_weights_mb > 0 && f->gpu_per_item_mb > 0 && f->host_memory_mb > 0);
            assert_true(f->input_bytes > 0);
        }
    }
}

static int to_int(const char *text)
{
    return (int)strtol(text, NULL, 10);
}

/* Calls `check` with every row of a CSV, its cells cut at the commas. */
static size_t for_each_row(const char *path, void (*check)(char **cells, void *data), void *data)
{
    char line[1024];
    size_t rows = 0;
    FILE *in = must(fopen(path, "r"));
    assert_non_null(fgets(line, sizeof line, in));
    while (fgets(line, sizeof line, in) != NULL) {
        char none[] = "";
        char *cells[20];
        char *rest = line;
        line[strcspn(line, "\n")] = '\0';
        for (size_t i = 0; i < 20; i++) {
            char *cell = strsep(&rest, ",");
            cells[i] = cell == NULL ? none : cell;
        }
        check(cells, data);
        rows++;
    }
    (void)fclose(in);
    return rows;
}

struct seen {
    const struct profile *profile;
    size_t rows;
    double sum[4][4], runs[4][4];
};

static void check_parvagpu_row(char **cells, void *data)
{
    struct seen *seen = data;
    if (strcmp(cells[3], "1") != 0)
        return;
    const struct profile_function *f = must(profile_find(seen->profile, cells[0]));
    double ms = profile_latency_ms(f, to_int(cells[2]), 1, to_int(cells[1]));
    assert_written_as(ms, strtod(cells[6], NULL));
    seen->rows++;
}

static size_t count_present(const struct profile *profile)
{
    size_t count = 0;
    for (size_t i = 0; i < profile->function_count; i++) {
        const struct profile_function *f = &profile->functions[i];
        for (size_t j = 0; j < f->batch.count * f->vcpu.count * f->vgpu.count; j++)
            count += isnan(f->latency_ms[j]) ? 0 : 1;
    }
    return count;
}

CASE(a100_latencies_are_the_measured_ones_and_no_others)
{
    struct seen seen = {.profile = load("a100-mig-parvagpu.json")};
    assert_int_equal(seen.profile->function_count, 11);
    assert_int_equal(seen.profile->unit, 7);
    assert_null(seen.profile->interference);
    for_each_row("traces/profiles/raw/parvagpu/parvagpu_all.csv", check_parvagpu_row, &seen);
    assert_int_equal(seen.rows, count_present(seen.profile));
    profile_free((struct profile *)seen.profile);
}

CASE(a100_memory_agrees_with_what_ran_and_what_did_not)
{
    static const double slice_mb[8] = {0, 9728, 19968, 40192, 40192, 0, 0, 80640};
    LOADED *profile = load("a100-mig-parvagpu.json");
    for (size_t i = 0; i < profile->function_count; i++) {
        const struct profile_function *f = &profile->functions[i];
        for (size_t b = 0; b < f->batch.count; b++) {
            for (size_t g = 0; g < f->vgpu.count; g++) {
                double needs = f->gpu_weights_mb + f->gpu_per_item_mb * f->batch.values[b];
                bool ran = !isnan(f->latency_ms[b * f->vgpu.count + g]);
                if (ran != (needs <= slice_mb[f->vgpu.values[g]]))
                    fail_msg("%s batch %d on %d sevenths: needs %g MB, ran: %d", f->name,
                             f->batch.values[b], f->vgpu.values[g], needs, ran);
            }
        }
    }
}

static void check_igniter_row(char **cells, void *data)
{
    struct seen *seen = data;
    const struct profile_function *f = must(profile_find(seen->profile, cells[0]));
    int batch = to_int(cells[1]);
    double ms = profile_latency_ms(f, batch, 1, to_int(cells[2]));
    bool on_grid = false;
    for (size_t i = 0; i < f->batch.count; i++)
        on_grid = on_grid || f->batch.values[i] == batch;
    if (isnan(ms)) {
        assert_true(to_int(cells[2]) == 10 || to_int(cells[2]) == 100);
        return;
    }
    if (on_grid) {
        assert_written_as(ms, strtod(cells[3], NULL));
        seen->rows++;
        return;
    }
    /* Measured between the grid's points: the interpolation's own test. */
    seen->sum[0][0] += fabs(ms / strtod(cells[3], NULL) - 1);
    seen->runs[0][0]++;
}

CASE(v100_latencies_are_the_measured_ones)
{
    struct seen seen = {.profile = load("v100-mps-igniter.json")};
    assert_int_equal(seen.profile->function_count, 4);
    assert_int_equal(seen.profile->unit, 100);
    for_each_row("traces/profiles/raw/igniter/solo.csv", check_igniter_row, &seen);
    assert_int_equal(seen.rows, count_present(seen.profile));
    assert_int_equal(seen.rows, 4 * 8 * 5);
    profile_free((struct profile *)seen.profile);
}

CASE(interpolated_batches_are_within_three_percent_of_measured_ones)
{
    struct seen seen = {.profile = load("v100-mps-igniter.json")};
    for_each_row("traces/profiles/raw/igniter/solo.csv", check_igniter_row, &seen);
    assert_true(seen.runs[0][0] == 4 * 24 * 5);
    double mean = seen.sum[0][0] / seen.runs[0][0];
    if (!(mean < 0.03))
        fail_msg("mean relative error %g", mean);
    profile_free((struct profile *)seen.profile);
}

/* ---- The reconstruction
 * -------------------------------------------------------------------------- */

static void check_anchor(char **cells, void *data)
{
    const struct profile *profile = data;
    const struct profile_function *f = must(profile_find(profile, cells[0]));
    assert_string_equal(f->model, cells[2]);
    assert_true(profile_latency_ms(f, 1, 1, 1) == strtod(cells[3], NULL));
    assert_true(f->cold_start_mean_ms == strtod(cells[5], NULL));
    assert_true(f->input_bytes == strtod(cells[7], NULL));
}

CASE(the_reconstruction_reproduces_its_anchors_exactly)
{
    for (size_t i = 0; i < SHIPPED; i++) {
        if (strncmp(shipped[i], "esg-", 4) != 0)
            continue;
        LOADED *profile = load(shipped[i]);
        assert_int_equal(profile->function_count, 6);
        assert_int_equal(for_each_row("traces/profiles/raw/esg/anchors.csv", check_anchor, profile),
                         6);
    }
}

/* The figures that readers of the paper recall, a second time and not from the file they are in. */
CASE(the_anchors_are_the_recalled_figures)
{
    static const struct {
        const char *name;
        double ms, cold_ms;
    } recalled[] = {{"super-resolution", 86, 3503},
                    {"segmentation", 293, 16510},
                    {"deblur", 319, 22343},
                    {"classification", 147, 18299},
                    {"background-removal", 1047, 3729},
                    {"depth-recognition", 828, 16479}};
    LOADED *profile = load("esg-reconstructed.json");
    for (size_t i = 0; i < sizeof recalled / sizeof recalled[0]; i++) {
        const struct profile_function *f = must(profile_find(profile, recalled[i].name));
        assert_true(profile_latency_ms(f, 1, 1, 1) == recalled[i].ms);
        assert_true(f->cold_start_mean_ms == recalled[i].cold_ms);
    }
}

CASE(the_reconstruction_has_all_256_configurations)
{
    static const int batches[] = {1, 2, 4, 8, 12, 16, 24, 32};
    static const int vgpus[] = {1, 2, 4, 7};
    LOADED *profile = load("esg-reconstructed.json");
    assert_int_equal(profile->unit, 7);
    assert_int_equal(count_present(profile), 6 * 256);
    for (size_t i = 0; i < profile->function_count; i++) {
        const struct profile_function *f = &profile->functions[i];
        assert_int_equal(f->batch.count, 8);
        assert_int_equal(f->vcpu.count, 8);
        assert_int_equal(f->vgpu.count, 4);
        assert_memory_equal(f->batch.values, batches, sizeof batches);
        assert_memory_equal(f->vgpu.values, vgpus, sizeof vgpus);
        assert_true(f->vcpu.values[0] == 1 && f->vcpu.values[7] == 8);
    }
}

static void assert_ordered(const struct profile_function *f)
{
    for (int b = 1; b <= 32; b++) {
        for (int c = 1; c <= 8; c++) {
            for (int g = 1; g <= 7; g++) {
                double ms = profile_latency_ms(f, b, c, g);
                assert_true(ms > 0);
                assert_true(b == 32 || profile_latency_ms(f, b + 1, c, g) >= ms * (1 - 1e-12));
                assert_true(c == 8 || profile_latency_ms(f, b, c + 1, g) <= ms * (1 + 1e-12));
                assert_true(g == 7 || profile_latency_ms(f, b, c, g + 1) <= ms * (1 + 1e-12));
            }
        }
    }
}

CASE(the_reconstruction_gets_faster_with_resources_and_slower_with_batch)
{
    LOADED *profile = load("esg-reconstructed.json");
    for (size_t i = 0; i < profile->function_count; i++)
        assert_ordered(&profile->functions[i]);
}

CASE(batching_never_costs_more_time_a_job)
{
    LOADED *profile = load("esg-reconstructed.json");
    for (size_t i = 0; i < profile->function_count; i++) {
        const struct profile_function *f = &profile->functions[i];
        for (size_t g = 0; g < 4; g++) {
            double single = profile_latency_ms(f, 1, 1, f->vgpu.values[g]);
            assert_true(profile_latency_ms(f, 32, 1, f->vgpu.values[g]) < 32 * single);
        }
    }
}

CASE(seven_full_batches_fit_the_memory_of_a_40_gb_gpu)
{
    LOADED *profile = load("esg-reconstructed.json");
    for (size_t i = 0; i < profile->function_count; i++) {
        const struct profile_function *f = &profile->functions[i];
        assert_true(7 * (f->gpu_weights_mb + 32 * f->gpu_per_item_mb) <= 40960);
    }
}

/* T(b, c, g) = A(b, g) + B(b) / c, with B the CPU fraction's part of the anchor. */
CASE(the_vcpu_law_is_the_documented_one)
{
    static const struct {
        const char *name;
        double fraction;
    } variants[] = {{"esg-reconstructed.json", 0.2},
                    {"esg-reconstructed-cpu0.json", 0},
                    {"esg-reconstructed-cpu50.json", 0.5}};
    for (size_t v = 0; v < 3; v++) {
        LOADED *profile = load(variants[v].name);
        for (size_t i = 0; i < profile->function_count; i++) {
            const struct profile_function *f = &profile->functions[i];
            double anchor = profile_latency_ms(f, 1, 1, 1);
            for (size_t b = 0; b < f->batch.count; b++) {
                int batch = f->batch.values[b];
                double one = profile_latency_ms(f, batch, 1, 2);
                double eight = profile_latency_ms(f, batch, 8, 2);
                assert_absolute(one - eight, variants[v].fraction * anchor * batch * 7 / 8,
                                1.1e-5 * one);
            }
        }
    }
}

struct measurement {
    const char *model;
    int gpcs;
    double images, below, below_ms, above, above_ms; /* the measured batches on either side */
};

static void check_measurement(char **cells, void *data)
{
    struct measurement *m = data;
    const double batch = strtod(cells[2], NULL), ms = strtod(cells[6], NULL);
    if (strcmp(cells[0], m->model) != 0 || strtol(cells[1], NULL, 10) != m->gpcs ||
        strcmp(cells[3], "1") != 0)
        return;
    if (batch <= m->images && batch > m->below) {
        m->below = batch;
        m->below_ms = ms;
    }
    if (batch >= m->images && (m->above == 0 || batch < m->above)) {
        m->above = batch;
        m->above_ms = ms;
    }
}

struct absolute {
    const struct profile *profile;
    double fraction;
    size_t inside; /* cells between two measured batches */
};

/* T - (L - G(1, 1)) (f b / c + 1 - f) is the donor's time for as many multiply-accumulates. */
static void check_absolute(char **cells, void *data)
{
    struct absolute *absolute = data;
    const struct profile_function *f = profile_find(absolute->profile, cells[0]);
    const double scale =
        strtod(cells[2], NULL) / strtod(cells[4], NULL); /* of multiply-accumulates */
    const double anchor = profile_latency_ms(f, 1, 1, 1);
    /* From the effect of the vCPUs follow the part outside the GPU and thus G. */
    const double rest =
        (anchor - profile_latency_ms(f, 1, 8, 1)) / (absolute->fraction * 7.0 / 8.0);
    for (size_t b = 0; b < f->batch.count; b++)
        for (size_t g = 0; g < f->vgpu.count; g++) {
            const int batch = f->batch.values[b];
            struct measurement m = {
                .model = cells[3], .gpcs = f->vgpu.values[g], .images = batch * scale};
            (void)for_each_row("traces/profiles/raw/parvagpu/parvagpu_all.csv", check_measurement,
                               &m);
            if (m.below == 0 || m.above == 0)
                continue;
            absolute->inside++;
            const double ms = m.above == m.below
                                  ? m.below_ms
                                  : m.below_ms + (m.above_ms - m.below_ms) * (m.images - m.below) /
                                                     (m.above - m.below);
            assert_absolute(profile_latency_ms(f, batch, 1, m.gpcs),
                            ms + rest * (absolute->fraction * batch + 1 - absolute->fraction),
                            2e-4 * anchor * batch);
        }
}

CASE(absolute_gpu_times_are_measured_at_equal_multiply_accumulates)
{
    static const struct {
        const char *name;
        double fraction;
    } variants[] = {{"esg-reconstructed-absolute50.json", 0.5},
                    {"esg-reconstructed-absolute80.json", 0.8}};
    for (size_t v = 0; v < 2; v++) {
        LOADED *profile = load(variants[v].name);
        struct absolute absolute = {.profile = profile, .fraction = variants[v].fraction};
        assert_int_equal(
            for_each_row("traces/profiles/raw/esg/absolute.csv", check_absolute, &absolute), 6);
        assert_true(absolute.inside > 80);
        /* The whole of ResNet-50's time on one seventh, as measured. */
        const struct profile_function *f = profile_find(profile, "classification");
        const double rest =
            (147 - profile_latency_ms(f, 1, 8, 1)) / (variants[v].fraction * 7.0 / 8.0);
        assert_absolute(147 - rest, 5.082, 1e-3);
    }
}

/* ---- Interference
 * -------------------------------------------------------------------------------- */

enum { MOST_RUNNERS = 21 };

static void random_runners(gsl_rng *rng, struct co_runner *runners, size_t count)
{
    for (size_t i = 0; i < count; i++)
        runners[i] = (struct co_runner){.index = (uint32_t)gsl_rng_uniform_int(rng, 5),
                                        .demand = gsl_rng_uniform(rng),
                                        .share = gsl_rng_uniform(rng)};
}

static void assert_same_at_once(const struct interference *model, const struct co_runner *runners,
                                size_t count)
{
    struct prepared_runner prepared[MOST_RUNNERS] = {0};
    double slowdowns[MOST_RUNNERS + 1];
    slowdowns[count] = -1;
    for (size_t i = 0; i < count; i++)
        prepared[i] = interference_prepare(model, &runners[i]);
    interference_slowdowns(model, prepared, count, slowdowns);
    for (size_t i = 0; i < count; i++)
        assert_true(slowdowns[i] == interference_slowdown(model, runners, count, i));
    assert_true(slowdowns[count] == -1);
}

static void assert_additive(const struct interference *model, gsl_rng *rng)
{
    struct co_runner runners[MOST_RUNNERS];
    for (int round = 0; round < 300; round++) {
        size_t count = 1 + gsl_rng_uniform_int(rng, MOST_RUNNERS);
        size_t victim = gsl_rng_uniform_int(rng, count);
        random_runners(rng, runners, count);
        double slowdown = interference_slowdown(model, runners, count, victim);
        assert_same_at_once(model, runners, count);
        double sum = 1;
        for (size_t i = 0; i < count; i++) {
            const struct co_runner two[] = {runners[victim], runners[i]};
            double pair = interference_slowdown(model, two, 2, 0);
            assert_true(pair >= 1);
            if (i != victim)
                sum += pair - 1;
        }
        assert_true(slowdown >= 1);
        assert_absolute(slowdown, sum, 1e-12);
        assert_true(interference_slowdown(model, &runners[victim], 1, 0) == 1);
    }
}

CASE(slowdown_is_at_least_one_and_adds_up_over_co_runners)
{
    gsl_rng *rng = seeded(0);
    LOADED *igniter = load("v100-mps-igniter.json");
    LOADED *esg = load("esg-reconstructed.json");
    const struct interference constant = {.kind = INTERFERENCE_CONSTANT, .constant = 0.07};
    assert_additive(&constant, rng);
    assert_additive(igniter->interference, rng);
    assert_additive(esg->interference, rng);
}

CASE(equal_partners_slow_each_other_equally)
{
    LOADED *esg = load("esg-reconstructed.json");
    const struct co_runner two[] = {{UINT32_MAX, 0.3, 0.5, 0}, {UINT32_MAX, 0.3, 0.5, 0}};
    double first = interference_slowdown(esg->interference, two, 2, 0);
    assert_true(first > 1);
    assert_true(first == interference_slowdown(esg->interference, two, 2, 1));
}

CASE(the_bandwidth_law_is_the_stated_one)
{
    const struct interference law = {.kind = INTERFERENCE_BANDWIDTH,
                                     .coefficient = 2,
                                     .victim_exponent = 0.5,
                                     .share_exponent = 2};
    const struct co_runner two[] = {{UINT32_MAX, 0.25, 0.5, 0}, {UINT32_MAX, 0.4, 0.3, 0}};
    assert_absolute(interference_slowdown(&law, two, 2, 0), 1 + 2 * 0.5 * 0.4 * 0.09, 1e-15);
    const struct co_runner unknown[] = {{UINT32_MAX, NAN, 0.5, 0}, {UINT32_MAX, NAN, 0.5, 0}};
    assert_true(interference_slowdown(&law, unknown, 2, 0) == 1);
}

/* As the header states it, with nothing prepared, and added up in the order of the runners. */
static double stated_slowdown(const struct interference *law, const struct co_runner *runners,
                              size_t count, size_t victim)
{
    double slowdown = 1;
    for (size_t i = 0; i < count; i++) {
        double excess = law->coefficient * pow(runners[victim].demand, law->victim_exponent) *
                        runners[i].demand * pow(runners[i].share, law->share_exponent);
        if (i != victim && isfinite(excess))
            slowdown += excess;
    }
    return slowdown;
}

CASE(the_slowdowns_of_all_at_once_are_those_of_the_law_to_the_last_bit)
{
    static const double demands[] = {NAN, 0, 1, 0.25};
    struct co_runner runners[MOST_RUNNERS];
    gsl_rng *rng = seeded(0);
    for (int round = 0; round < 1000; round++) {
        const struct interference law = {
            .kind = INTERFERENCE_BANDWIDTH,
            .coefficient = gsl_rng_uniform_int(rng, 20) == 0 ? 0 : 1000 * gsl_rng_uniform(rng),
            .victim_exponent = (double)gsl_rng_uniform_int(rng, 3) * gsl_rng_uniform(rng),
            .share_exponent = (double)gsl_rng_uniform_int(rng, 3) * gsl_rng_uniform(rng)};
        size_t count = 1 + gsl_rng_uniform_int(rng, MOST_RUNNERS);
        random_runners(rng, runners, count);
        for (size_t i = 0; i < count; i++)
            if (gsl_rng_uniform_int(rng, 4) == 0)
                runners[i].demand = demands[gsl_rng_uniform_int(rng, 4)];
        assert_same_at_once(&law, runners, count);
        for (size_t i = 0; i < count; i++)
            assert_true(interference_slowdown(&law, runners, count, i) ==
                        stated_slowdown(&law, runners, count, i));
    }
}

/* A victim among many small partners suffers no more than beside one that holds their shares. */
CASE(many_small_partners_weigh_as_one_large_one_in_the_reconstruction)
{
    LOADED *esg = load("esg-reconstructed.json");
    struct co_runner many[7];
    for (size_t i = 0; i < 7; i++)
        many[i] = (struct co_runner){UINT32_MAX, 0.25, 1 / 7.0, 0};
    const struct co_runner two[] = {many[0], {UINT32_MAX, 0.25, 6 / 7.0, 0}};
    assert_absolute(interference_slowdown(esg->interference, many, 7, 0),
                    interference_slowdown(esg->interference, two, 2, 0), 1e-12);
}

static size_t row_of(const struct interference *model, const char *name)
{
    size_t i = 0;
    while (i < model->pair_count && strcmp(model->pair_names[i], name) != 0)
        i++;
    assert_true(i < model->pair_count);
    return i;
}

static void add_pair_row(char **cells, void *data)
{
    struct seen *seen = data;
    size_t first = row_of(seen->profile->interference, cells[0]);
    size_t second = row_of(seen->profile->interference, cells[1]);
    seen->sum[first][second] += strtod(cells[12], NULL);
    seen->sum[second][first] += strtod(cells[13], NULL);
    seen->runs[first][second]++;
    seen->runs[second][first]++;
}

CASE(measured_pairs_are_reproduced)
{
    struct seen seen = {.profile = load("v100-mps-igniter.json")};
    const struct interference *model = seen.profile->interference;
    double total = 0;
    assert_int_equal(model->kind, INTERFERENCE_PAIRS);
    assert_int_equal(for_each_row("traces/profiles/raw/igniter/pairs.csv", add_pair_row, &seen),
                     750);
    for (uint32_t i = 0; i < 4; i++) {
        for (uint32_t j = 0; j < 4; j++) {
            const struct co_runner two[] = {{i, NAN, 0.5, 0}, {j, NAN, 0.5, 0}};
            double slowdown = interference_slowdown(model, two, 2, 0);
            total += seen.sum[i][j] - seen.runs[i][j];
            if (i == j)
                assert_true(slowdown == 1 + model->constant);
            else
                assert_absolute(slowdown, seen.sum[i][j] / seen.runs[i][j], 1e-6);
        }
    }
    assert_absolute(model->constant, total / 1500, 1e-6);
    const struct co_runner stranger[] = {{UINT32_MAX, NAN, 0.5, 0}, {0, NAN, 0.5, 0}};
    assert_true(interference_slowdown(model, stranger, 2, 0) == 1 + model->constant);
    profile_free((struct profile *)seen.profile);
}

static void check_law_on_row(char **cells, void *data)
{
    struct seen *seen = data;
    static const char *const donors[] = {"vgg19",        "super-resolution", "ssd",
                                         "segmentation", "resnet50",         "classification"};
    for (int side = 0; side < 2; side++) {
        const struct profile_function *other = NULL;
        for (size_t i = 0; i < 6; i += 2)
            if (strcmp(cells[1 - side], donors[i]) == 0)
                other = profile_find(seen->profile, donors[i + 1]);
        if (other == NULL)
            continue;
        double share = strtod(cells[4 + (1 - side)], NULL) / 100;
        const struct co_runner two[] = {{UINT32_MAX, 0.25, 1 - share, 0},
                                        {UINT32_MAX, other->bandwidth_share, share, 0}};
        double slowdown = interference_slowdown(seen->profile->interference, two, 2, 0);
        seen->sum[0][0] += fabs(slowdown / strtod(cells[12 + side], NULL) - 1);
        seen->runs[0][0]++;
    }
}

CASE(the_bandwidth_law_predicts_measured_pairs_within_five_percent)
{
    struct seen seen = {.profile = load("esg-reconstructed.json")};
    for_each_row("traces/profiles/raw/igniter/pairs.csv", check_law_on_row, &seen);
    assert_true(seen.runs[0][0] > 1000);
    double mape = seen.sum[0][0] / seen.runs[0][0];
    if (!(mape < 0.05))
        fail_msg("MAPE %g", mape);
    profile_free((struct profile *)seen.profile);
}

SUITE("profile")
