#include "traces/calibrate/calibrate_unseen_pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_math.h>
#include <gsl/gsl_multifit.h>

#include "traces/profile/pair_effects.h"

const char *const unseen_level_names[UNSEEN_LEVELS] = {"one for all", "by function",
                                                       "by function, shrunk"};

/* A pair of functions a < b. The slowdown of a by b is in cell `sides[0]` of the table, that of b
 * by a in `sides[1]`. */
struct pair {
    size_t a, b, sides[2];
};

/* Cells by victim and co-runner. */
struct levels {
    size_t functions, pair_count;
    struct pair *pairs;
    double *level;         /* mean slowdown; NAN: not measured */
    double *weight;        /* number of samples */
    double *known, *found; /* for fits */
};

static const double unshrunk = 1e-9; /* ridge strength that only sets undetermined effects to 0 */

/* ---- Levels ---------------------------------------------------------------------------------- */

static bool is_pair(const struct sample_set *set, size_t i)
{
    const struct co_run *run = &set->co_runs[i];
    bool begins = i == 0 || run[-1].group != run->group;
    return begins && i + 1 < set->co_run_count && run[1].group == run->group &&
           (i + 2 == set->co_run_count || run[2].group != run->group) &&
           run[0].function != run[1].function && !isnan(run[0].slowdown) && !isnan(run[1].slowdown);
}

static void add_sample(struct levels *levels, const struct co_run *victim,
                       const struct co_run *other)
{
    const size_t cell = victim->function * levels->functions + other->function;
    const double level = levels->weight[cell] == 0 ? 0 : levels->level[cell];
    levels->weight[cell]++;
    levels->level[cell] = level + (victim->slowdown - level) / levels->weight[cell];
}

/* The caller calls levels_clear, also after a failure. */
static bool levels_collect(const struct sample_set *set, struct levels *levels, struct error *error)
{
    const size_t functions = set->functions.count, cells = functions * functions;
    double *numbers = calloc(4 * cells + 1, sizeof *numbers);
    *levels = (struct levels){.functions = functions,
                              .pairs = calloc(cells + 1, sizeof *levels->pairs),
                              .level = numbers};
    if (levels->pairs == NULL || numbers == NULL)
        return error_run(error, "out of memory for pairs of %zu functions", functions);
    levels->weight = numbers + cells;
    levels->known = levels->weight + cells;
    levels->found = levels->known + cells;
    for (size_t i = 0; i < cells; i++)
        levels->level[i] = NAN;
    for (size_t i = 0; i < set->co_run_count; i++)
        if (is_pair(set, i)) {
            add_sample(levels, &set->co_runs[i], &set->co_runs[i + 1]);
            add_sample(levels, &set->co_runs[i + 1], &set->co_runs[i]);
        }
    for (size_t a = 0; a < functions; a++)
        for (size_t b = a + 1; b < functions; b++)
            if (levels->weight[a * functions + b] > 0)
                levels->pairs[levels->pair_count++] =
                    (struct pair){a, b, {a * functions + b, b * functions + a}};
    return true;
}

static void levels_clear(struct levels *levels)
{
    free(levels->pairs);
    free(levels->level);
}

/* ---- Errors ---------------------------------------------------------------------------------- */

static double side_error(const struct levels *levels, size_t cell, double level)
{
    return levels->weight[cell] * fabs(fmax(1, level) / levels->level[cell] - 1);
}

static double pair_error(const struct levels *levels, const struct pair *pair)
{
    return side_error(levels, pair->sides[0], levels->found[pair->sides[0]]) +
           side_error(levels, pair->sides[1], levels->found[pair->sides[1]]);
}

/* The error is a convex, piecewise linear function of the level, so its minimum is at the level of
 * one side. */
static double least_error(const struct levels *levels)
{
    double least = INFINITY;
    for (size_t i = 0; i < 2 * levels->pair_count; i++) {
        const double level = levels->level[levels->pairs[i / 2].sides[i % 2]];
        double sum = 0;
        for (size_t j = 0; j < 2 * levels->pair_count; j++)
            sum += side_error(levels, levels->pairs[j / 2].sides[j % 2], level);
        least = fmin(least, sum);
    }
    return least;
}

/* Sets all levels to the mean of the pairs other than `out`. */
static void fit_mean(const struct levels *levels, const struct pair *out)
{
    double mean = 0;
    for (size_t i = 0; i < levels->pair_count; i++)
        if (&levels->pairs[i] != out)
            mean +=
                levels->level[levels->pairs[i].sides[0]] + levels->level[levels->pairs[i].sides[1]];
    mean /= (double)(2 * levels->pair_count - 2);
    levels->found[out->sides[0]] = levels->found[out->sides[1]] = mean;
}

/* Fits the levels by function, without two pairs (NULL: none). */
static bool fit_functions(const struct levels *levels, const struct pair *out,
                          const struct pair *out_too, double strength)
{
    const struct pair *left_out[] = {out, out_too};
    memcpy(levels->known, levels->level,
           levels->functions * levels->functions * sizeof *levels->known);
    for (size_t i = 0; i < 2; i++)
        if (left_out[i] != NULL)
            levels->known[left_out[i]->sides[0]] = levels->known[left_out[i]->sides[1]] = NAN;
    return pair_effects_fit(levels->known, levels->functions, strength, levels->found);
}

/* Selects the strength by cross-validation over the known pairs, without `out`. */
static bool choose_strength(const struct levels *levels, const struct pair *out, double *chosen)
{
    static const double strengths[] = {unshrunk, 0.1, 0.3, 1, 3, 10, 30, 100, 1000};
    double least = INFINITY;
    for (size_t k = 0; k < sizeof strengths / sizeof strengths[0]; k++) {
        double sum = 0;
        for (size_t i = 0; i < levels->pair_count; i++) {
            const struct pair *pair = &levels->pairs[i];
            if (pair == out)
                continue;
            if (!fit_functions(levels, out, pair, strengths[k]))
                return false;
            sum += pair_error(levels, pair);
        }
        if (sum < least) {
            least = sum;
            *chosen = strengths[k];
        }
    }
    return true;
}

static bool measure_errors(const struct levels *levels, struct unseen_pairs *unseen,
                           struct error *error)
{
    double samples = 0;
    bool fine = true;
    unseen->seen[UNSEEN_ONE] = least_error(levels);
    unseen->seen[UNSEEN_SHRUNK] = NAN;
    for (size_t i = 0; fine && i < levels->pair_count; i++) {
        const struct pair *pair = &levels->pairs[i];
        double strength = unshrunk;
        samples += levels->weight[pair->sides[0]] + levels->weight[pair->sides[1]];
        fit_mean(levels, pair);
        unseen->left_out[UNSEEN_ONE] += pair_error(levels, pair);
        fine = fit_functions(levels, NULL, NULL, unshrunk);
        unseen->seen[UNSEEN_FUNCTIONS] += pair_error(levels, pair);
        fine = fine && fit_functions(levels, pair, NULL, unshrunk);
        unseen->left_out[UNSEEN_FUNCTIONS] += pair_error(levels, pair);
        fine = fine && choose_strength(levels, pair, &strength) &&
               fit_functions(levels, pair, NULL, strength);
        unseen->left_out[UNSEEN_SHRUNK] += pair_error(levels, pair);
    }
    for (int i = 0; i < UNSEEN_LEVELS; i++) {
        unseen->seen[i] /= samples;
        unseen->left_out[i] /= samples;
    }
    return fine || error_run(error, "a fit of %zu pairs failed", levels->pair_count);
}

/* ---- Variance -------------------------------------------------------------------------------- */

static double pair_excess(const struct levels *levels, size_t pair)
{
    const size_t *sides = levels->pairs[pair].sides;
    return (levels->level[sides[0]] + levels->level[sides[1]]) / 2 - 1;
}

/* Fits main effects: a pair's excess is the sum of one number per function, which includes a
 * constant. Rows of zeros have no effect; they are added because GSL requires as many rows as
 * columns. False if memory is exhausted or GSL fails. */
static bool fit_main_effects(const struct levels *levels, double *rest, size_t *rank)
{
    size_t height = GSL_MAX(levels->pair_count, levels->functions);
    gsl_matrix *rows = gsl_matrix_calloc(height, levels->functions);
    gsl_matrix *covariance = gsl_matrix_alloc(levels->functions, levels->functions);
    gsl_vector *values = gsl_vector_calloc(height);
    gsl_vector *found = gsl_vector_alloc(levels->functions);
    gsl_multifit_linear_workspace *work = gsl_multifit_linear_alloc(height, levels->functions);
    bool fine =
        rows != NULL && covariance != NULL && values != NULL && found != NULL && work != NULL;
    for (size_t i = 0; fine && i < levels->pair_count; i++) {
        gsl_matrix_set(rows, i, levels->pairs[i].a, 1);
        gsl_matrix_set(rows, i, levels->pairs[i].b, 1);
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
        while (i < levels->pair_count && levels->pairs[i].a != f && levels->pairs[i].b != f)
            i++;
        count += i < levels->pair_count;
    }
    return count;
}

static bool analyse_variance(const struct levels *levels, struct unseen_pairs *unseen,
                             struct error *error)
{
    size_t rank = 0;
    double total = 0, rest = 0, pairs = (double)levels->pair_count;
    if (!fit_main_effects(levels, &rest, &rank))
        return error_run(error, "an analysis of variance of %zu pairs failed", levels->pair_count);
    for (size_t i = 0; i < levels->pair_count; i++)
        unseen->excess += pair_excess(levels, i) / pairs;
    for (size_t i = 0; i < levels->pair_count; i++)
        total += gsl_pow_2(pair_excess(levels, i) - unseen->excess);
    if (rank < 2 || rank >= levels->pair_count || !(total > 0))
        return true;
    unseen->pairs = levels->pair_count;
    unseen->functions = count_functions(levels);
    unseen->spread = sqrt(total / (pairs - 1));
    unseen->explained = fmax(0, 1 - rest / total);
    unseen->freedom[0] = rank - 1;
    unseen->freedom[1] = levels->pair_count - rank;
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
    bool fine = levels_collect(set, &levels, error);
    if (fine && levels.pair_count >= 3)
        fine = analyse_variance(&levels, unseen, error) &&
               (unseen->pairs == 0 || measure_errors(&levels, unseen, error));
    levels_clear(&levels);
    return fine;
}
