/* What measured pairs say of functions that never met: effects against closed forms, and what
 * iGniter's pairs support, by every law of a family and a choice that does not see the pair. */
#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <gsl/gsl_randist.h>

#include "tests/suite.h"
#include "traces/calibrate/calibrate_interference.h"
#include "traces/calibrate/calibrate_unseen_pairs.h"
#include "traces/calibrate/samples.h"
#include "traces/profile/pair_effects.h"
#include "workloads/training/training_plan.h"

enum { MOST = 8 };

/* ---- Made-up pairs --------------------------------------------------------------------------- */

static void add_side(struct sample_set *set, uint32_t group, size_t function, double slowdown)
{
    char name[2] = {(char)('a' + function), '\0'};
    struct co_run run = {
        .group = group, .location = group, .batch = 1, .share = 5, .slowdown = slowdown, .cv = NAN};
    set->unit = 10;
    assert_true(samples_function(set, name, &run.function, hear()));
    assert_true(samples_add_co_run(set, &run, hear()));
}

static void add_pair(struct sample_set *set, size_t a, size_t b, double of_a, double of_b)
{
    uint32_t group = (uint32_t)set->co_run_count;
    add_side(set, group, a, of_a);
    add_side(set, group, b, of_b);
}

static struct unseen_pairs measure(const struct sample_set *set)
{
    struct unseen_pairs unseen = {0};
    struct arena *arena = arena_create();
    assert_good(unseen_pairs_measure(set, arena, &unseen, hear()));
    arena_destroy(arena);
    return unseen;
}

/* Levels that are sums over functions are found but for the pull to the mean. */
CASE(levels_that_are_sums_over_functions_are_predicted)
{
    static const double sensitivity[] = {0.01, 0.05, 0.02, 0.08, 0.03};
    static const double demand[] = {0.06, 0.01, 0.09, 0.04, 0.02};
    CLOSED(samples_clear) struct sample_set set = {0};
    for (size_t i = 0; i < 5; i++)
        for (size_t j = i + 1; j < 5; j++)
            add_pair(&set, i, j, 1.1 + sensitivity[i] + demand[j],
                     1.1 + sensitivity[j] + demand[i]);
    struct unseen_pairs unseen = measure(&set);
    assert_int_equal(unseen.pairs, 10);
    assert_true(unseen.seen[UNSEEN_FUNCTIONS] < unseen.left_out[UNSEEN_FUNCTIONS]);
    assert_true(unseen.left_out[UNSEEN_FUNCTIONS] < 0.5 * unseen.left_out[UNSEEN_ONE]);
    assert_true(unseen.seen[UNSEEN_ONE] > 0.01);
    assert_true(unseen.left_out[UNSEEN_ONE] > unseen.seen[UNSEEN_ONE]);
}

/* A table of sums comes back where nothing pulls, also in cells left out; with a pull every effect
 * of a full table shrinks by count ÷ (count + strength), of which the mean has no part. */
CASE(effects_of_a_full_table_are_what_the_closed_form_gives)
{
    gsl_rng *rng = seeded(7);
    for (size_t k = 2; k <= MOST; k++) {
        double row[MOST], column[MOST], cells[MOST * MOST], found[MOST * MOST], means[2] = {0};
        for (size_t i = 0; i < k; i++) {
            means[0] += (row[i] = gsl_ran_flat(rng, 0, 1)) / (double)k;
            means[1] += (column[i] = gsl_ran_flat(rng, 0, 1)) / (double)k;
        }
        for (size_t c = 0; c < k * k; c++)
            cells[c] = row[c / k] + column[c % k];
        assert_true(pair_effects_fit(cells, k, 2, found));
        for (size_t c = 0; c < k * k; c++)
            assert_true(fabs(found[c] - means[0] - means[1] -
                             (cells[c] - means[0] - means[1]) * (double)k / (double)(k + 2)) <
                        1e-9);
        const double truth = cells[0];
        cells[0] = NAN;
        assert_true(pair_effects_fit(cells, k, 1e-9, found));
        assert_true(fabs(found[0] - truth) < 1e-6);
    }
}

CASE(too_few_pairs_say_nothing)
{
    CLOSED(samples_clear) struct sample_set set = {0};
    add_pair(&set, 0, 1, 1.1, 1.2);
    assert_int_equal(measure(&set).pairs, 0);
    add_pair(&set, 0, 2, 1.2, 1.2);
    add_pair(&set, 1, 2, 1.3, 1.2);
    assert_int_equal(measure(&set).pairs, 3);
}

CASE(what_is_no_pair_of_two_functions_takes_no_part)
{
    CLOSED(samples_clear) struct sample_set set = {0};
    add_pair(&set, 0, 1, 1.1, 1.2);
    add_pair(&set, 1, 2, 1.2, 1.2);
    add_pair(&set, 2, 3, 1.4, 1.2);
    add_pair(&set, 3, 0, 1.3, 1.4);
    struct unseen_pairs alone = measure(&set);
    add_pair(&set, 0, 0, 2, 2);
    add_pair(&set, 0, 2, 2, NAN);
    for (size_t i = 0; i < 3; i++)
        add_side(&set, 1000, i + 3, 3);
    struct unseen_pairs with_others = measure(&set);
    assert_memory_equal(&alone, &with_others, sizeof alone);
}

/* ---- The pair table from few samples --------------------------------------------------------- */

/* Cells drawn around a mean, two samples each: pulled to the mean they are nearer to the truth than
 * their own means, in expectation by the factor between / (between + within / 2) of the variances,
 * here a half. */
CASE(a_pair_table_of_few_samples_is_nearer_to_the_truth_than_their_means)
{
    static const double between = 0.03, within = 0.0424;
    gsl_rng *rng = seeded(5);
    double of_table = 0, of_means = 0;
    for (size_t n = 0; n < 50; n++) {
        double truth[MOST][MOST], means[MOST][MOST];
        CLOSED(samples_clear) struct sample_set set = {0};
        struct interference law;
        for (size_t i = 0; i < MOST; i++)
            for (size_t j = i + 1; j < MOST; j++) {
                double a[2], b[2];
                truth[i][j] = 0.4 + gsl_ran_gaussian(rng, between);
                truth[j][i] = 0.4 + gsl_ran_gaussian(rng, between);
                for (size_t k = 0; k < 2; k++) {
                    a[k] = truth[i][j] + gsl_ran_gaussian(rng, within);
                    b[k] = truth[j][i] + gsl_ran_gaussian(rng, within);
                    add_pair(&set, i, j, 1 + a[k], 1 + b[k]);
                }
                means[i][j] = (a[0] + a[1]) / 2;
                means[j][i] = (b[0] + b[1]) / 2;
            }
        assert_true(interference_law_fit(INTERFERENCE_PAIRS, &set, NULL, &law, hear()));
        for (size_t i = 0; i < MOST; i++)
            for (size_t j = 0; j < MOST; j++)
                if (i != j) {
                    of_table += gsl_pow_2(law.pairs[i * MOST + j] - truth[i][j]);
                    of_means += gsl_pow_2(means[i][j] - truth[i][j]);
                }
        free(law.pairs);
    }
    assert_true(fabs(of_table / of_means - 0.5) < 0.08);
}

/* ---- iGniter's pairs ------------------------------------------------------------------------- */

static void read_pairs(struct sample_set *set)
{
    assert_good(sample_table_read(set, "traces/profiles/raw/igniter/pairs.csv", hear()));
    assert_true(samples_reduce(set, NULL));
}

CASE(no_one_level_reaches_the_target_on_igniters_pairs_and_functions_do_not_help)
{
    CLOSED(samples_clear) struct sample_set set = {0};
    read_pairs(&set);
    struct unseen_pairs unseen = measure(&set);
    assert_int_equal(unseen.pairs, 6);
    assert_true(unseen.seen[UNSEEN_ONE] > 0.025);
    assert_true(unseen.seen[UNSEEN_FUNCTIONS] < 0.021);
    assert_true(unseen.left_out[UNSEEN_FUNCTIONS] > unseen.left_out[UNSEEN_ONE]);
}

CASE(two_co_locations_of_a_pair_reach_the_target_on_igniters_pairs)
{
    CLOSED(samples_clear) struct sample_set set = {0};
    CLOSED(interference_fit_clear) struct interference_fit fit = {0};
    read_pairs(&set);
    assert_true(interference_calibrate(&set, &fit, hear()));
    assert_true(fit.errors[INTERFERENCE_PAIRS][FOLD_FUNCTIONS].mape > 0.032);
    assert_true(fit.met[INTERFERENCE_PAIRS][0].mape < 0.026);
    assert_true(fit.met[INTERFERENCE_PAIRS][1].mape < 0.025);
    assert_true(fit.met[INTERFERENCE_PAIRS][2].mape < fit.met[INTERFERENCE_PAIRS][1].mape);
    assert_int_equal(fit.met[INTERFERENCE_PAIRS][1].count, (size_t)6 * 125 * 123 * 2);
    for (size_t i = 0; i < INTERFERENCE_MET; i++)
        assert_true(fit.met[INTERFERENCE_SHAPED][i].mape <
                    0.83 * fit.met[INTERFERENCE_PAIRS][i].mape);
    assert_true(fit.met[INTERFERENCE_SHAPED][3].mape < 0.016);
}

/* ---- The shares of a pair -------------------------------------------------------------------- */

/* One side of a measured co-location. */
struct side {
    size_t level; /* function × FUNCTIONS_MOST + co-runner */
    int other;    /* the co-runner's share, in per cent */
    double own_share, other_share, excess;
};

enum { FUNCTIONS_MOST = 8, SIDES_MOST = 2000, LEVELS = FUNCTIONS_MOST * FUNCTIONS_MOST };

static size_t read_sides(struct side *sides)
{
    CLOSED(samples_clear) struct sample_set set = {0};
    size_t count = 0;
    read_pairs(&set);
    assert_true(set.co_run_count <= SIDES_MOST);
    for (size_t i = 0; i < set.co_run_count; i++) {
        const struct co_run *own = &set.co_runs[i];
        const bool second = i > 0 && set.co_runs[i - 1].group == own->group;
        const struct co_run *other = &set.co_runs[second ? i - 1 : i + 1];
        assert_true(own->group == other->group && own->function < FUNCTIONS_MOST);
        assert_int_equal(own->share + other->share, set.unit);
        sides[count++] = (struct side){own->function * FUNCTIONS_MOST + other->function,
                                       100 * other->share / set.unit, (double)own->share / set.unit,
                                       (double)other->share / set.unit, own->slowdown - 1};
    }
    return count;
}

/* Mean error of the slowdown at a share that is left out, in per cent, by a level of each function
 * beside each other × own share ^ a × co-runner's share ^ b. `left`: the squared error of all
 * excesses with nothing left out. */
static double share_error(const struct side *sides, size_t count, double a, double b, double *left)
{
    static const int shares[] = {0, 20, 40, 50, 60, 80}; /* 0: nothing is left out */
    double error = 0;
    for (size_t s = 0; s < 6; s++) {
        double products[LEVELS] = {0}, squares[LEVELS] = {0};
        for (size_t i = 0; i < count; i++) {
            const double x = pow(sides[i].own_share, a) * pow(sides[i].other_share, b);
            products[sides[i].level] += sides[i].other == shares[s] ? 0 : x * sides[i].excess;
            squares[sides[i].level] += sides[i].other == shares[s] ? 0 : x * x;
        }
        *left = s == 0 ? 0 : *left;
        for (size_t i = 0; i < count; i++) {
            const double x = pow(sides[i].own_share, a) * pow(sides[i].other_share, b);
            const double level = products[sides[i].level] / squares[sides[i].level];
            const double miss = level * x - sides[i].excess;
            *left += s == 0 ? miss * miss : 0;
            error += sides[i].other == shares[s] ? fabs(miss) / (1 + sides[i].excess) : 0;
        }
    }
    return 100 * error / (double)count;
}

/* The default of training.share_exponent. What a co-runner does does not fall with its share alone,
 * since the victim's share grows: they add up to the GPU in every measurement. */
CASE(shares_of_both_predict_a_share_that_is_left_out_best)
{
    static struct side sides[SIDES_MOST];
    const size_t count = read_sides(sides);
    double left = 0, least = INFINITY, best = 0;
    for (int step = 0; step <= 20; step++) {
        (void)share_error(sides, count, step / 20.0, step / 20.0, &left);
        if (left < least)
            best = step / 20.0;
        least = fmin(left, least);
    }
    assert_true(fabs(best - TRAINING_SHARE_EXPONENT) < 1e-9);
    const double both = share_error(sides, count, best, best, &left);
    const double mean = share_error(sides, count, 0, 0, &left);
    const double in_proportion = share_error(sides, count, 1, 1, &left);
    const double others = share_error(sides, count, 0, 1, &left);
    printf("both ^ %g: %.3f %%, mean: %.3f, both: %.3f, the co-runner's: %.3f\n", best, both, mean,
           in_proportion, others);
    assert_true(both < mean && mean < in_proportion && in_proportion < others / 1.5);
    double product = 0;
    for (size_t i = 0; i < count; i++)
        product += sides[i].own_share * sides[i].other_share / (double)count;
    assert_true(fabs(product - 0.21) < 1e-9);
}

/* ---- A search among laws of measured properties ---------------------------------------------- */

/* Slowdowns as a sum of up to three terms, or the product of as many factors, of what was measured
 * of both functions alone. Every set of properties is a law. Laws are compared by leaving out pairs
 * of functions; the nested choice for a pair is made without it. */
enum {
    ROWS = 1500,
    PAIRS = 6,
    MEMBER = 10, /* properties of a member */
    PROPERTIES = 2 * MEMBER + 8,
    TERMS = 3, /* of a search */
    TERMS_MOST = 4,
    FUNCTIONS = 4,
    COLUMNS = 6
};

static const char *const functions[FUNCTIONS] = {"alexnet", "resnet50", "vgg19", "ssd"};
/* Kernels of one inference, from the same repository: i-Gniter/Algorithm/config. */
static const double kernels[FUNCTIONS] = {20, 80, 29, 93};

struct alone {
    double ms, l2, dram; /* ms, and % of the peaks */
};

struct search {
    struct alone alone[FUNCTIONS][33][101];
    double x[ROWS][1 + PROPERTIES]; /* standardised; the first is 1 */
    double slowdown[ROWS];
    size_t pair[ROWS];
    bool product;
    /* Normal equations by pair. */
    double square[PAIRS][1 + PROPERTIES][1 + PROPERTIES], right[PAIRS][1 + PROPERTIES];
    gsl_matrix *normal[1 + TERMS_MOST];
    gsl_vector *sum[1 + TERMS_MOST], *found[1 + TERMS_MOST];
};

struct law {
    size_t terms;
    size_t at[1 + TERMS_MOST];
};

static size_t function_of(const char *name)
{
    for (size_t i = 0; i < FUNCTIONS; i++)
        if (strcmp(functions[i], name) == 0)
            return i;
    fail_msg("%s is none of the four", name);
    return 0;
}

/* The columns after the model's name; false where one is empty, as utilisations not measured are.
 */
static bool read_columns(const char *line, double columns[COLUMNS])
{
    for (size_t i = 0; i < COLUMNS; i++) {
        char *end = NULL;
        line = strchr(line, ',');
        if (line == NULL)
            return false;
        columns[i] = strtod(++line, &end);
        if (end == line)
            return false;
    }
    return true;
}

static void read_alone(struct search *search)
{
    FILE *file = fopen("traces/profiles/raw/igniter/solo.csv", "r");
    char line[256];
    double columns[COLUMNS]; /* batch, share, ms, rate, L2, DRAM */
    size_t read = 0;
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL)
        if (read_columns(line, columns) && columns[0] <= 32 && columns[1] <= 100) {
            line[strcspn(line, ",")] = '\0';
            search->alone[function_of(line)][(size_t)columns[0]][(size_t)columns[1]] =
                (struct alone){columns[2], columns[4], columns[5]};
            read++;
        }
    fclose(file);
    assert_int_equal(read, 4 * 32 * 5);
}

static void member_properties(const struct search *search, size_t function,
                              const struct co_run *run, double *x)
{
    const struct alone *alone = &search->alone[function][run->batch][run->share];
    double kernels_per_ms = kernels[function] / alone->ms;
    const double own[MEMBER] = {log(run->batch), run->share / 100.0,
                                1 / alone->ms,   log(alone->ms),
                                alone->l2,       search->alone[function][run->batch][50].l2,
                                alone->dram,     log(alone->dram),
                                kernels_per_ms,  log(kernels_per_ms)};
    memcpy(x, own, sizeof own);
}

static void make_properties(const struct search *search, const struct co_run *victim, size_t own,
                            const struct co_run *other, size_t others, double *x)
{
    double *v = x + 1, *o = v + MEMBER, *both = o + MEMBER;
    x[0] = 1;
    member_properties(search, own, victim, v);
    member_properties(search, others, other, o);
    const double joint[] = {v[1] * o[1], v[4] * o[4], v[6] * o[6],       v[8] * o[8],
                            v[8] * o[5], v[8] * o[6], fabs(v[3] - o[3]), fabs(v[9] - o[9])};
    memcpy(both, joint, sizeof joint);
}

static void standardise(struct search *search)
{
    for (size_t k = 1; k <= PROPERTIES; k++) {
        double mean = 0, variance = 0;
        for (size_t i = 0; i < ROWS; i++)
            mean += search->x[i][k] / ROWS;
        for (size_t i = 0; i < ROWS; i++)
            variance += gsl_pow_2(search->x[i][k] - mean) / ROWS;
        for (size_t i = 0; i < ROWS; i++)
            search->x[i][k] = (search->x[i][k] - mean) / sqrt(variance);
    }
}

static void make_rows(struct search *search)
{
    static const size_t pair_of[FUNCTIONS][FUNCTIONS] = {
        {0, 0, 1, 2}, {0, 0, 3, 4}, {1, 3, 0, 5}, {2, 4, 5, 0}};
    CLOSED(samples_clear) struct sample_set set = {0};
    read_pairs(&set);
    assert_int_equal(set.co_run_count, ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        const struct co_run *victim = &set.co_runs[i], *other = &set.co_runs[i ^ 1];
        size_t own = function_of(set.functions.names[victim->function]);
        size_t others = function_of(set.functions.names[other->function]);
        assert_int_equal(victim->group, other->group);
        make_properties(search, victim, own, other, others, search->x[i]);
        search->slowdown[i] = victim->slowdown;
        search->pair[i] = pair_of[own][others];
    }
    standardise(search);
}

/* Least squares of relative errors of the slowdown, of a product in the logarithm of the excess. */
static void add_up(struct search *search, bool product)
{
    search->product = product;
    memset(search->square, 0, sizeof search->square);
    memset(search->right, 0, sizeof search->right);
    for (size_t i = 0; i < ROWS; i++) {
        double excess = search->slowdown[i] - 1;
        double value = product ? log(excess) : excess;
        double weight = gsl_pow_2((product ? excess : 1) / search->slowdown[i]);
        const double *x = search->x[i];
        for (size_t k = 0; k <= PROPERTIES; k++) {
            search->right[search->pair[i]][k] += weight * x[k] * value;
            for (size_t l = 0; l <= PROPERTIES; l++)
                search->square[search->pair[i]][k][l] += weight * x[k] * x[l];
        }
    }
}

/* Fits without two pairs, which may be the same, and gives the error at the first. */
static double error_without(struct search *search, const struct law *law, size_t out,
                            size_t out_too)
{
    gsl_matrix *normal = search->normal[law->terms];
    gsl_vector *sum = search->sum[law->terms], *found = search->found[law->terms];
    double error = 0;
    size_t rows = 0;
    gsl_matrix_set_zero(normal);
    gsl_vector_set_zero(sum);
    for (size_t p = 0; p < PAIRS; p++)
        for (size_t i = 0; p != out && p != out_too && i <= law->terms; i++) {
            *gsl_vector_ptr(sum, i) += search->right[p][law->at[i]];
            for (size_t j = 0; j <= law->terms; j++)
                *gsl_matrix_ptr(normal, i, j) += search->square[p][law->at[i]][law->at[j]];
        }
    for (size_t i = 1; i <= law->terms; i++)
        *gsl_matrix_ptr(normal, i, i) *= 1 + 1e-9;
    if (gsl_linalg_cholesky_decomp1(normal) != GSL_SUCCESS ||
        gsl_linalg_cholesky_solve(normal, sum, found) != GSL_SUCCESS)
        return INFINITY;
    for (size_t i = 0; i < ROWS; i++) {
        double value = 0;
        if (search->pair[i] != out)
            continue;
        for (size_t k = 0; k <= law->terms; k++)
            value += gsl_vector_get(found, k) * search->x[i][law->at[k]];
        double excess = search->product ? exp(value) : fmax(0, value);
        error += fabs((1 + excess) / search->slowdown[i] - 1);
        rows++;
    }
    return error / (double)rows;
}

struct choice {
    size_t laws;
    double by_looking;    /* least error of pairs left out among all laws */
    double inner[PAIRS];  /* of the law chosen for a pair without it, at the others */
    double nested[PAIRS]; /* and its error at the pair */
};

static void try_law(struct search *search, const struct law *law, struct choice *choice)
{
    double at[PAIRS], mean = 0;
    choice->laws++;
    for (size_t p = 0; p < PAIRS; p++) {
        at[p] = error_without(search, law, p, p);
        mean += at[p] / PAIRS;
    }
    choice->by_looking = fmin(choice->by_looking, mean);
    for (size_t p = 0; p < PAIRS; p++) {
        double inner = 0;
        for (size_t q = 0; q < PAIRS; q++)
            if (q != p)
                inner += error_without(search, law, q, p) / (PAIRS - 1);
        if (inner < choice->inner[p]) {
            choice->inner[p] = inner;
            choice->nested[p] = at[p];
        }
    }
}

static double search_laws(struct search *search, bool product, const char *what)
{
    struct choice choice = {.by_looking = INFINITY};
    double nested = 0;
    for (size_t p = 0; p < PAIRS; p++)
        choice.inner[p] = INFINITY;
    add_up(search, product);
    for (size_t a = 1; a <= PROPERTIES; a++) {
        try_law(search, &(struct law){1, {0, a}}, &choice);
        for (size_t b = a + 1; b <= PROPERTIES; b++) {
            try_law(search, &(struct law){2, {0, a, b}}, &choice);
            for (size_t c = b + 1; c <= PROPERTIES; c++)
                try_law(search, &(struct law){3, {0, a, b, c}}, &choice);
        }
    }
    for (size_t p = 0; p < PAIRS; p++)
        nested += choice.nested[p] / PAIRS;
    print_message("%s: %zu laws of up to %d properties; chosen without the pair %.2f %%, the best "
                  "of all once the errors are known %.2f %%\n",
                  what, choice.laws, TERMS, 100 * nested, 100 * choice.by_looking);
    return nested;
}

static struct search *search_make(void)
{
    struct search *search = must(calloc(1, sizeof *search));
    for (size_t i = 0; i <= TERMS_MOST; i++) {
        search->normal[i] = gsl_matrix_alloc(1 + i, 1 + i);
        search->sum[i] = gsl_vector_alloc(1 + i);
        search->found[i] = gsl_vector_alloc(1 + i);
    }
    read_alone(search);
    make_rows(search);
    return search;
}

static void search_free(struct search *search)
{
    for (size_t i = 0; i <= TERMS_MOST; i++) {
        gsl_matrix_free(search->normal[i]);
        gsl_vector_free(search->sum[i]);
        gsl_vector_free(search->found[i]);
    }
    free(search);
}

OWNER(search_free, struct search)

CASE(no_law_of_measured_properties_chosen_without_the_pair_reaches_the_target)
{
    gsl_error_handler_t *before = gsl_set_error_handler_off();
    OWNED(search_free) struct search *search = search_make();
    assert_true(search_laws(search, false, "sums") > 0.029);
    assert_true(search_laws(search, true, "products") > 0.029);
    (void)gsl_set_error_handler(before);
}

/* gpulet (Choi et al., USENIX ATC 2022): linear in the L2 and DRAM utilisation of both. */
CASE(gpulets_law_says_hardly_more_of_a_new_pair_than_a_constant)
{
    enum { L2 = 5, DRAM = 7 }; /* places in a row of x */
    static const struct law laws[2] = {{0, {0}}, {4, {0, L2, DRAM, MEMBER + L2, MEMBER + DRAM}}};
    double errors[2] = {0};
    OWNED(search_free) struct search *search = search_make();
    add_up(search, false);
    for (size_t i = 0; i < 2; i++)
        for (size_t p = 0; p < PAIRS; p++)
            errors[i] += error_without(search, &laws[i], p, p) / PAIRS;
    print_message("a new pair: constant %.2f %%, gpulet's linear law %.2f %%\n", 100 * errors[0],
                  100 * errors[1]);
    assert_true(errors[1] < errors[0] && errors[1] > 0.95 * errors[0]);
}

/* ---- Main ------------------------------------------------------------------------------------ */

SUITE("interference")
