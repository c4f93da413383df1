#include "traces/calibrate/calibrate_unseen_pairs.h"

#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <gsl/gsl_math.h>
#include <gsl/gsl_multifit.h>

const char *const unseen_level_names[UNSEEN_LEVELS] = {"one for all", "by function",
                                                       "by function, shrunk"};

/* One side of a pair: the slowdown of `victim` by `other`. */
struct side {
    size_t victim, other;
    double level;  /* mean slowdown */
    double weight; /* number of samples */
};

/* Sides 2p and 2p + 1 belong to pair p. */
struct levels {
    size_t functions, pairs;
    struct side *sides;
};

static const double unshrunk = 1e-9; /* ridge strength that only sets undetermined effects to 0 */
static const size_t none = SIZE_MAX;

/* ---- Levels ---------------------------------------------------------------------------------- */

static bool is_pair(const struct sample_set *set, size_t i)
{
    const struct co_run *run = &set->co_runs[i];
    bool begins = i == 0 || run[-1].group != run->group;
    return begins && i + 1 < set->co_run_count && run[1].group == run->group &&
           (i + 2 == set->co_run_count || run[2].group != run->group) &&
           run[0].function != run[1].function && !isnan(run[0].slowdown) && !isnan(run[1].slowdown);
}

static void add_sample(struct side *side, double slowdown)
{
    side->weight++;
    side->level += (slowdown - side->level) / side->weight;
}

/* Adds a pair of sides per pair of functions, in the order of the functions. */
static void collect_pairs(const struct sample_set *set, struct side *table, struct levels *levels)
{
    size_t functions = set->functions.count;
    for (size_t i = 0; i < set->co_run_count; i++)
        if (is_pair(set, i)) {
            const struct co_run *run = &set->co_runs[i];
            add_sample(&table[run[0].function * functions + run[1].function], run[0].slowdown);
            add_sample(&table[run[1].function * functions + run[0].function], run[1].slowdown);
        }
    for (size_t i = 0; i < functions; i++)
        for (size_t j = i + 1; j < functions; j++) {
            const struct side *a = &table[i * functions + j], *b = &table[j * functions + i];
            struct side *pair = &levels->sides[2 * levels->pairs];
            if (a->weight == 0)
                continue;
            pair[0] = (struct side){i, j, a->level, a->weight};
            pair[1] = (struct side){j, i, b->level, b->weight};
            levels->pairs++;
        }
}

/* The caller frees levels->sides, also after a failure. */
static bool collect(const struct sample_set *set, struct levels *levels, struct error *error)
{
    size_t cells = set->functions.count * set->functions.count;
    struct side *table = calloc(cells + 1, sizeof *table);
    *levels = (struct levels){.functions = set->functions.count,
                              .sides = calloc(cells + 1, sizeof *levels->sides)};
    bool fine = table != NULL && levels->sides != NULL;
    if (fine)
        collect_pairs(set, table, levels);
    free(table);
    return fine || error_run(error, "out of memory for pairs of %zu functions", levels->functions);
}

/* ---- One level ------------------------------------------------------------------------------- */

static bool is_known(size_t side, size_t out, size_t out_too)
{
    return side / 2 != out && side / 2 != out_too;
}

static double side_error(const struct side *side, double level)
{
    return side->weight * fabs(fmax(1, level) / side->level - 1);
}

/* The error is a convex, piecewise linear function of the level, so its minimum is at the level of
 * one side. */
static double least_error(const struct levels *levels)
{
    double least = INFINITY;
    for (size_t i = 0; i < 2 * levels->pairs; i++) {
        double sum = 0;
        for (size_t j = 0; j < 2 * levels->pairs; j++)
            sum += side_error(&levels->sides[j], levels->sides[i].level);
        least = fmin(least, sum);
    }
    return least;
}

static double mean_level(const struct levels *levels, size_t out)
{
    double sum = 0;
    for (size_t i = 0; i < 2 * levels->pairs; i++)
        if (is_known(i, out, none))
            sum += levels->sides[i].level;
    return sum / (double)(2 * levels->pairs - 2);
}

/* ---- Levels by function ---------------------------------------------------------------------- */

/* Unknowns: the mean, the sensitivity of each function, then the demand of each function. */
struct effects {
    size_t functions;
    gsl_matrix *normal;
    gsl_vector *right, *found;
};

static void effects_free(struct effects *effects)
{
    gsl_matrix_free(effects->normal);
    gsl_vector_free(effects->right);
    gsl_vector_free(effects->found);
}

static bool effects_create(struct effects *effects, size_t functions)
{
    size_t unknowns = 1 + 2 * functions;
    *effects = (struct effects){functions, gsl_matrix_alloc(unknowns, unknowns),
                                gsl_vector_alloc(unknowns), gsl_vector_alloc(unknowns)};
    if (effects->normal != NULL && effects->right != NULL && effects->found != NULL)
        return true;
    effects_free(effects);
    return false;
}

static void add_side(struct effects *effects, const struct side *side)
{
    const size_t at[] = {0, 1 + side->victim, 1 + effects->functions + side->other};
    for (size_t i = 0; i < 3; i++) {
        *gsl_vector_ptr(effects->right, at[i]) += side->level;
        for (size_t j = 0; j < 3; j++)
            *gsl_matrix_ptr(effects->normal, at[i], at[j]) += 1;
    }
}

/* Least squares over the known levels, with the penalty `strength` × effect². */
static bool effects_fit(struct effects *effects, const struct levels *levels, size_t out,
                        size_t out_too, double strength)
{
    gsl_matrix_set_zero(effects->normal);
    gsl_vector_set_zero(effects->right);
    for (size_t i = 0; i < 2 * levels->pairs; i++)
        if (is_known(i, out, out_too))
            add_side(effects, &levels->sides[i]);
    for (size_t i = 1; i <= 2 * effects->functions; i++)
        *gsl_matrix_ptr(effects->normal, i, i) += strength;
    return gsl_linalg_cholesky_decomp1(effects->normal) == GSL_SUCCESS &&
           gsl_linalg_cholesky_solve(effects->normal, effects->right, effects->found) ==
               GSL_SUCCESS;
}

static double pair_error(const struct effects *effects, const struct levels *levels, size_t pair)
{
    double sum = 0;
    for (size_t i = 2 * pair; i < 2 * pair + 2; i++) {
        const struct side *side = &levels->sides[i];
        double level = gsl_vector_get(effects->found, 0) +
                       gsl_vector_get(effects->found, 1 + side->victim) +
                       gsl_vector_get(effects->found, 1 + effects->functions + side->other);
        sum += side_error(side, level);
    }
    return sum;
}

/* Selects the strength by cross-validation over the known pairs, without `out`. */
static bool choose_strength(struct effects *effects, const struct levels *levels, size_t out,
                            double *chosen)
{
    static const double strengths[] = {unshrunk, 0.1, 0.3, 1, 3, 10, 30, 100, 1000};
    double least = INFINITY;
    for (size_t k = 0; k < sizeof strengths / sizeof strengths[0]; k++) {
        double sum = 0;
        for (size_t pair = 0; pair < levels->pairs; pair++) {
            if (pair == out)
                continue;
            if (!effects_fit(effects, levels, out, pair, strengths[k]))
                return false;
            sum += pair_error(effects, levels, pair);
        }
        if (sum < least) {
            least = sum;
            *chosen = strengths[k];
        }
    }
    return true;
}

/* Adds up the errors. The caller divides by the number of samples. */
static bool sum_errors(struct effects *effects, const struct levels *levels,
                       struct unseen_pairs *unseen)
{
    bool fine = true;
    unseen->seen[UNSEEN_ONE] = least_error(levels);
    for (size_t pair = 0; fine && pair < levels->pairs; pair++) {
        const struct side *sides = &levels->sides[2 * pair];
        double others = mean_level(levels, pair), strength = unshrunk;
        unseen->left_out[UNSEEN_ONE] +=
            side_error(&sides[0], others) + side_error(&sides[1], others);
        fine = effects_fit(effects, levels, none, none, unshrunk);
        unseen->seen[UNSEEN_FUNCTIONS] += pair_error(effects, levels, pair);
        fine = fine && effects_fit(effects, levels, pair, none, unshrunk);
        unseen->left_out[UNSEEN_FUNCTIONS] += pair_error(effects, levels, pair);
        fine = fine && choose_strength(effects, levels, pair, &strength) &&
               effects_fit(effects, levels, pair, none, strength);
        unseen->left_out[UNSEEN_SHRUNK] += pair_error(effects, levels, pair);
    }
    unseen->seen[UNSEEN_SHRUNK] = NAN;
    return fine;
}

static bool measure_errors(const struct levels *levels, struct unseen_pairs *unseen,
                           struct error *error)
{
    struct effects effects;
    double samples = 0;
    if (!effects_create(&effects, levels->functions))
        return error_run(error, "out of memory for effects of %zu functions", levels->functions);
    bool fine = sum_errors(&effects, levels, unseen);
    effects_free(&effects);
    for (size_t i = 0; i < 2 * levels->pairs; i++)
        samples += levels->sides[i].weight;
    for (int i = 0; i < UNSEEN_LEVELS; i++) {
        unseen->seen[i] /= samples;
        unseen->left_out[i] /= samples;
    }
    return fine || error_run(error, "a fit of %zu pairs failed", levels->pairs);
}

/* ---- Variance -------------------------------------------------------------------------------- */

static double pair_excess(const struct levels *levels, size_t pair)
{
    return (levels->sides[2 * pair].level + levels->sides[2 * pair + 1].level) / 2 - 1;
}

/* Fits main effects: a pair's excess is the sum of one number per function, which includes a
 * constant. Rows of zeros have no effect; they are added because GSL requires as many rows as
 * columns. False if memory is exhausted or GSL fails. */
static bool fit_main_effects(const struct levels *levels, double *rest, size_t *rank)
{
    size_t height = GSL_MAX(levels->pairs, levels->functions);
    gsl_matrix *rows = gsl_matrix_calloc(height, levels->functions);
    gsl_matrix *covariance = gsl_matrix_alloc(levels->functions, levels->functions);
    gsl_vector *values = gsl_vector_calloc(height);
    gsl_vector *found = gsl_vector_alloc(levels->functions);
    gsl_multifit_linear_workspace *work = gsl_multifit_linear_alloc(height, levels->functions);
    bool fine =
        rows != NULL && covariance != NULL && values != NULL && found != NULL && work != NULL;
    for (size_t i = 0; fine && i < levels->pairs; i++) {
        gsl_matrix_set(rows, i, levels->sides[2 * i].victim, 1);
        gsl_matrix_set(rows, i, levels->sides[2 * i].other, 1);
        gsl_vector_set(values, i, pair_excess(levels, i));
    }
    fine = fine && gsl_multifit_linear_tsvd(rows, values, 1e-9, found, covariance, rest, rank,
                                            work) == GSL_SUCCESS;
    gsl_multifit_linear_free(work);
    gsl_vector_free(found);
    gsl_vector_free(values);
    gsl_matrix_free(covariance);
    gsl_matrix_free(rows);
    return fine;
}

static size_t count_functions(const struct levels *levels)
{
    size_t count = 0;
    for (size_t f = 0; f < levels->functions; f++) {
        size_t i = 0;
        while (i < 2 * levels->pairs && levels->sides[i].victim != f)
            i++;
        count += i < 2 * levels->pairs;
    }
    return count;
}

static bool analyse_variance(const struct levels *levels, struct unseen_pairs *unseen,
                             struct error *error)
{
    size_t rank = 0;
    double total = 0, rest = 0, pairs = (double)levels->pairs;
    if (!fit_main_effects(levels, &rest, &rank))
        return error_run(error, "an analysis of variance of %zu pairs failed", levels->pairs);
    for (size_t i = 0; i < levels->pairs; i++)
        unseen->excess += pair_excess(levels, i) / pairs;
    for (size_t i = 0; i < levels->pairs; i++)
        total += gsl_pow_2(pair_excess(levels, i) - unseen->excess);
    if (rank < 2 || rank >= levels->pairs || !(total > 0))
        return true;
    unseen->pairs = levels->pairs;
    unseen->functions = count_functions(levels);
    unseen->spread = sqrt(total / (pairs - 1));
    unseen->explained = fmax(0, 1 - rest / total);
    unseen->freedom[0] = rank - 1;
    unseen->freedom[1] = levels->pairs - rank;
    double within[2] = {(double)unseen->freedom[0], (double)unseen->freedom[1]};
    unseen->f = unseen->explained * total / within[0] / (rest / within[1]);
    unseen->probability =
        isfinite(unseen->f) ? gsl_cdf_fdist_Q(unseen->f, within[0], within[1]) : 0;
    return true;
}

bool unseen_pairs_measure(const struct sample_set *set, struct unseen_pairs *unseen,
                          struct error *error)
{
    struct levels levels;
    *unseen = (struct unseen_pairs){0};
    bool fine = collect(set, &levels, error);
    if (fine && levels.pairs >= 3)
        fine = analyse_variance(&levels, unseen, error) &&
               (unseen->pairs == 0 || measure_errors(&levels, unseen, error));
    free(levels.sides);
    return fine;
}
