#include "traces/calibrate/calibrate_interference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <gsl/gsl_math.h>
#include <gsl/gsl_multifit_nlinear.h>

#include "sim/base/arena.h"

enum { ITERATIONS = 200, STEPS = 5, MEMBERS = 64, BANDWIDTH_PARAMETERS = 3 };

const char *const interference_law_names[INTERFERENCE_LAWS] = {"constant",
                                                               "pairs",
                                                               "bandwidth",
                                                               "pairs, slopes",
                                                               "pairs, slopes of batch and share",
                                                               "pairs, slopes of share"};
const size_t interference_met[INTERFERENCE_MET] = {1, 2, 4, 8};
const char *const interference_fold_names[INTERFERENCE_FOLDS] = {"co-location", "batches",
                                                                 "functions", "groups"};

/* ---- Groups ---------------------------------------------------------------------------------- */

static bool is_seen(const struct sample_set *set, const bool *left_out, size_t index)
{
    const struct co_run *run = &set->co_runs[index];
    return !isnan(run->slowdown) && (left_out == NULL || !left_out[run->location]);
}

/* A function with unknown demand has demand 0, as in the simulator. */
static struct co_runner runner_of(const struct sample_set *set, const struct co_run *run)
{
    double demand = set->properties[run->function].demand;
    return (struct co_runner){.index = run->function,
                              .demand = isnan(demand) ? 0 : demand,
                              .share = (double)run->share / set->unit,
                              .batch = run->batch};
}

double interference_law_slowdown(const struct interference *law, const struct sample_set *set,
                                 size_t index)
{
    const struct sample_group group = samples_group(set, index);
    struct co_runner runners[MEMBERS];
    size_t count = 0;
    for (size_t i = group.first; i < group.end && count < MEMBERS; i++)
        runners[count++] = runner_of(set, &set->co_runs[i]);
    return interference_slowdown(law, runners, count, index - group.first);
}

/* ---- Fits ------------------------------------------------------------------------------------ */

/* Least squares on relative errors has a closed form. With excess e = level × multiple n, which is
 * the number of partners where there is no shape, and weight w = 1/slowdown², level = Σ w n e / Σ w
 * n². */
struct excess_sum {
    double product, square;
    size_t count;
    double mean, deviations; /* mean excess ÷ multiple, sum of squared deviations (Welford) */
};

static void sum_add(struct excess_sum *sum, double slowdown, double multiple)
{
    const double weight = 1 / (slowdown * slowdown), level = (slowdown - 1) / multiple;
    sum->product += weight * multiple * (slowdown - 1);
    sum->square += weight * multiple * multiple;
    double from_mean = level - sum->mean;
    sum->count++;
    sum->mean += from_mean / (double)sum->count;
    sum->deviations += from_mean * (level - sum->mean);
}

static double sum_excess(const struct excess_sum *sum)
{
    return sum->square > 0 ? fmax(0, sum->product / sum->square) : NAN;
}

/* The six terms of a side of a pair, then ln(excess). */
enum { SLOPES = 2 * INTERFERENCE_TERMS, COLUMNS = SLOPES + 1 };

/* Of the sides of one victim and co-runner. */
struct cell {
    struct excess_sum level;
    double weight, columns[COLUMNS]; /* of the shape: Σ weight, means */
};

/* Weight of the prior mean in samples: the variance within cells divided by that between cells.
 * This is the empirical Bayes estimate for normal means with a normal prior. 0, which disables
 * shrinking, if either variance is unknown. */
static double prior_samples(const struct cell *cells, size_t count)
{
    double deviations = 0, inverse = 0, mean = 0, between = 0;
    size_t seen = 0, repeats = 0;
    for (size_t i = 0; i < count; i++) {
        const struct excess_sum *level = &cells[i].level;
        if (level->count == 0)
            continue;
        double from_mean = level->mean - mean;
        seen++;
        mean += from_mean / (double)seen;
        between += from_mean * (level->mean - mean);
        inverse += 1 / (double)level->count;
        deviations += level->deviations;
        repeats += level->count - 1;
    }
    if (seen < 3 || repeats == 0 || !(deviations > 0))
        return 0;
    double within = deviations / (double)repeats;
    between = between / (double)(seen - 1) - within * inverse / (double)seen;
    return between > 0 ? within / between : INFINITY;
}

/* Shrinks a cell's mean towards the mean of all cells. */
static double shrink(const struct excess_sum *cell, double all, double prior)
{
    double own = sum_excess(cell), samples = (double)cell->count;
    if (isnan(own) || prior == 0)
        return own;
    return isinf(prior) ? all : (samples * own + prior * all) / (samples + prior);
}

/* Fills the terms of a side; false: it is not of a pair that is seen. */
static bool shape_terms(const struct interference *law, const struct sample_set *set,
                        const bool *left_out, size_t index, double columns[COLUMNS])
{
    const struct co_run *own = &set->co_runs[index], *other = samples_partner(set, index);
    if (other == NULL || !is_seen(set, left_out, index))
        return false;
    interference_terms(law, own->batch, (double)own->share / set->unit, columns);
    interference_terms(law, other->batch, (double)other->share / set->unit,
                       columns + INTERFERENCE_TERMS);
    return true;
}

/* Levels hold at the mean logarithms of batch and share. */
static void center_shape(const struct sample_set *set, const bool *left_out,
                         struct interference *law)
{
    double count = 0, columns[COLUMNS] = {0}, batch = 0, share = 0;
    law->shape[INTERFERENCE_BATCH] = law->shape[INTERFERENCE_SHARE] = 1;
    for (size_t i = 0; i < set->co_run_count; i++)
        if (shape_terms(law, set, left_out, i, columns)) {
            batch += (columns[0] - batch) / ++count;
            share += (columns[1] - share) / count;
        }
    law->shape[INTERFERENCE_BATCH] = exp(batch);
    law->shape[INTERFERENCE_SHARE] = exp(share);
}

static struct cell *cell_of(struct cell *cells, const struct sample_set *set, size_t index)
{
    return &cells[set->co_runs[index].function * set->functions.count +
                  samples_partner(set, index)->function];
}

/* What the last step says of the logarithm of a side's excess. */
static double fitted(const struct cell *cell, const struct interference *law,
                     const double terms[COLUMNS])
{
    double value = cell->columns[SLOPES];
    for (size_t k = 0; k < SLOPES; k++)
        value += law->shape[INTERFERENCE_VICTIM_SLOPES + k] * (terms[k] - cell->columns[k]);
    return value;
}

static bool solve_slopes(double *normal, struct interference *law)
{
    static const double unshrunk = 1e-9;
    for (size_t k = 0; k < SLOPES; k++)
        normal[k * COLUMNS + k] += unshrunk;
    gsl_matrix_view left = gsl_matrix_view_array_with_tda(normal, SLOPES, SLOPES, COLUMNS);
    gsl_vector_view right = gsl_vector_view_array_with_stride(normal + SLOPES, COLUMNS, SLOPES);
    gsl_vector_view slopes = gsl_vector_view_array(law->shape + INTERFERENCE_VICTIM_SLOPES, SLOPES);
    const bool fine =
        gsl_linalg_cholesky_decomp1(&left.matrix) == GSL_SUCCESS &&
        gsl_linalg_cholesky_solve(&left.matrix, &right.vector, &slopes.vector) == GSL_SUCCESS;
    for (size_t k = 0; fine && k < SLOPES; k++) {
        double *slope = &law->shape[INTERFERENCE_VICTIM_SLOPES + k];
        *slope = fmax(-INTERFERENCE_SLOPE_MOST, fmin(INTERFERENCE_SLOPE_MOST, *slope));
    }
    return fine;
}

/* Terms that have slopes, as bits. */
static const unsigned char sloped[INTERFERENCE_LAWS] = {
    [INTERFERENCE_SHAPED] = 7, [CHOICE_BATCH_AND_SHARE] = 3, [CHOICE_SHARE] = 2};

/* A step of Gauss and Newton to the least squares of relative errors of slowdowns: of excess e with
 * the fitted logarithm f, at first ln e, this is f + e / exp(f) - 1 by weight (exp(f) / slowdown)².
 * Each cell has a level of its own. A slope that the table does not determine becomes 0. */
static bool step_shape(int choice, const struct sample_set *set, const bool *left_out,
                       struct cell *cells, struct interference *law)
{
    const size_t count = set->functions.count * set->functions.count;
    double normal[COLUMNS * COLUMNS] = {0};
    struct cell *next = calloc(count, sizeof *next);
    if (next == NULL)
        return false;
    for (size_t i = 0; i < set->co_run_count; i++) {
        const double slowdown = set->co_runs[i].slowdown;
        double x[COLUMNS] = {0};
        if (!shape_terms(law, set, left_out, i, x))
            continue;
        for (size_t k = 0; k < SLOPES; k++)
            x[k] *= sloped[choice] >> k % INTERFERENCE_TERMS & 1;
        const struct cell *before = cell_of(cells, set, i);
        const double f =
            before->weight == 0 ? log(fmax(slowdown - 1, 1e-3)) : fitted(before, law, x);
        x[SLOPES] = f + (slowdown - 1) / exp(f) - 1;
        /* Welford's update of weighted means and products within a cell. */
        const double weight = gsl_pow_2(exp(f) / slowdown);
        struct cell *cell = cell_of(next, set, i);
        cell->weight += weight;
        for (size_t k = 0; k < COLUMNS; k++) {
            x[k] -= cell->columns[k];
            cell->columns[k] += x[k] * weight / cell->weight;
        }
        for (size_t k = 0; k < COLUMNS * COLUMNS; k++)
            normal[k] += weight * (1 - weight / cell->weight) * x[k / COLUMNS] * x[k % COLUMNS];
    }
    memcpy(cells, next, count * sizeof *cells);
    free(next);
    return solve_slopes(normal, law);
}

/* Fits the constant and the cells' levels, by which each excess is a multiple of what the law says
 * of it with 1 in place of all levels. */
static void fit_levels(const struct sample_set *set, const bool *left_out, struct cell *cells,
                       struct interference *law)
{
    struct excess_sum all = {0};
    law->constant = 1;
    for (size_t i = 0; i < set->co_run_count; i++) {
        const double multiple = interference_law_slowdown(law, set, i) - 1;
        if (!is_seen(set, left_out, i) || !(multiple > 0))
            continue;
        sum_add(&all, set->co_runs[i].slowdown, multiple);
        if (samples_partner(set, i) != NULL)
            sum_add(&cell_of(cells, set, i)->level, set->co_runs[i].slowdown, multiple);
    }
    law->constant = all.square > 0 ? sum_excess(&all) : 0;
}

/* Fits all laws but the bandwidth law. */
static bool fit_table(int choice, const struct sample_set *set, const bool *left_out,
                      struct interference *law, struct error *error)
{
    const size_t functions = set->functions.count, count = functions * functions;
    struct cell *cells = calloc(count, sizeof *cells);
    law->pairs = calloc(count, sizeof *law->pairs);
    bool fine = cells != NULL && law->pairs != NULL;
    if (!fine)
        (void)error_run(error, "out of memory for a pair table of %zu functions", functions);
    if (fine && law->kind == INTERFERENCE_SHAPED) {
        center_shape(set, left_out, law);
        for (int step = 0; fine && step < STEPS; step++)
            fine = step_shape(choice, set, left_out, cells, law) ||
                   error_run(error, "a fit of slopes to pairs of %zu functions failed", functions);
    }
    if (fine) {
        fit_levels(set, left_out, cells, law);
        const double prior = prior_samples(cells, count);
        for (size_t i = 0; i < count; i++)
            law->pairs[i] = shrink(&cells[i].level, law->constant, prior);
        law->pair_names = set->functions.names;
        law->pair_count = functions;
    }
    free(cells);
    return fine;
}

struct bandwidth_problem {
    const struct sample_set *set;
    const bool *left_out;
};

/* The parameters are square roots, which keeps the coefficient and the exponents non-negative. */
static struct interference bandwidth_law(const gsl_vector *x)
{
    return (struct interference){.kind = INTERFERENCE_BANDWIDTH,
                                 .coefficient = gsl_pow_2(gsl_vector_get(x, 0)),
                                 .victim_exponent = gsl_pow_2(gsl_vector_get(x, 1)),
                                 .share_exponent = gsl_pow_2(gsl_vector_get(x, 2))};
}

static int bandwidth_residuals(const gsl_vector *x, void *data, gsl_vector *residuals)
{
    const struct bandwidth_problem *problem = data;
    struct interference law = bandwidth_law(x);
    size_t row = 0;
    for (size_t i = 0; i < problem->set->co_run_count; i++)
        if (is_seen(problem->set, problem->left_out, i))
            gsl_vector_set(residuals, row++,
                           interference_law_slowdown(&law, problem->set, i) /
                                   problem->set->co_runs[i].slowdown -
                               1);
    return GSL_SUCCESS;
}

static bool fit_bandwidth(const struct sample_set *set, const bool *left_out,
                          struct interference *law, struct error *error)
{
    struct bandwidth_problem data = {set, left_out};
    gsl_multifit_nlinear_parameters parameters = gsl_multifit_nlinear_default_parameters();
    double x[BANDWIDTH_PARAMETERS] = {0.5, 0.5, 0.5};
    size_t rows = 0;
    int why = 0;
    for (size_t i = 0; i < set->co_run_count; i++)
        rows += is_seen(set, left_out, i);
    if (rows < BANDWIDTH_PARAMETERS)
        return true;
    gsl_multifit_nlinear_fdf problem = {
        .f = bandwidth_residuals, .n = rows, .p = BANDWIDTH_PARAMETERS, .params = &data};
    gsl_vector_view from = gsl_vector_view_array(x, BANDWIDTH_PARAMETERS);
    gsl_multifit_nlinear_workspace *work = gsl_multifit_nlinear_alloc(
        gsl_multifit_nlinear_trust, &parameters, rows, BANDWIDTH_PARAMETERS);
    if (work == NULL)
        return error_run(error, "out of memory for a fit of %zu slowdowns", rows);
    int status = gsl_multifit_nlinear_init(&from.vector, &problem, work);
    if (status == GSL_SUCCESS)
        status = gsl_multifit_nlinear_driver(ITERATIONS, 1e-8, 1e-8, 0, NULL, NULL, &why, work);
    *law = bandwidth_law(gsl_multifit_nlinear_position(work));
    gsl_multifit_nlinear_free(work);
    return status == GSL_SUCCESS || status == GSL_EMAXITER || status == GSL_ENOPROG ||
           error_run(error, "a fit of %zu slowdowns failed: %s", rows, gsl_strerror(status));
}

bool interference_law_fit(int choice, const struct sample_set *set, const bool *left_out,
                          struct interference *law, struct error *error)
{
    const bool shaped = choice >= (int)INTERFERENCE_SHAPED;
    *law = (struct interference){.kind =
                                     shaped ? INTERFERENCE_SHAPED : (enum interference_kind)choice};
    return law->kind == INTERFERENCE_BANDWIDTH ? fit_bandwidth(set, left_out, law, error)
                                               : fit_table(choice, set, left_out, law, error);
}

/* ---- Cross-validation ------------------------------------------------------------------------ */

/* How many members of a group have the function of a run (with_batch: and its batch size). */
static size_t count_alike(const struct sample_set *set, struct sample_group group,
                          const struct co_run *run, bool with_batch)
{
    size_t count = 0;
    for (size_t i = group.first; i < group.end; i++)
        count += set->co_runs[i].function == run->function &&
                 (!with_batch || set->co_runs[i].batch == run->batch);
    return count;
}

/* Returns whether two groups have the same members, in any order. */
static bool same_members(const struct sample_set *set, struct sample_group a, struct sample_group b,
                         bool with_batch)
{
    bool same = a.end - a.first == b.end - b.first;
    for (size_t i = a.first; same && i < a.end; i++)
        same = count_alike(set, a, &set->co_runs[i], with_batch) ==
               count_alike(set, b, &set->co_runs[i], with_batch);
    return same;
}

static void mark_fold(const struct sample_set *set, enum interference_fold fold, size_t index,
                      bool *left_out, size_t locations)
{
    memset(left_out, 0, locations * sizeof *left_out);
    left_out[set->co_runs[index].location] = true;
    if (fold == FOLD_LOCATION)
        return;
    const struct sample_group group = samples_group(set, index);
    for (size_t i = 0; i < set->co_run_count;) {
        const struct sample_group other = samples_group(set, i);
        if (fold == FOLD_GROUPS ? other.end - other.first > 2
                                : same_members(set, group, other, fold == FOLD_BATCHES))
            left_out[set->co_runs[i].location] = true;
        i = other.end;
    }
}

/* Fits without the co-locations that are left out, and adds the errors there, except at those that
 * are `done` (NULL: none). */
static bool add_errors(int choice, const struct sample_set *set, const bool *left_out,
                       const bool *done, struct mean_error *errors, struct error *error)
{
    struct interference law;
    const bool fine = interference_law_fit(choice, set, left_out, &law, error);
    for (size_t i = 0; fine && i < set->co_run_count; i++) {
        const struct co_run *run = &set->co_runs[i];
        if (left_out[run->location] && (done == NULL || !done[run->location]) &&
            !isnan(run->slowdown))
            mean_error_add(errors,
                           fabs(interference_law_slowdown(&law, set, i) / run->slowdown - 1));
    }
    free(law.pairs);
    return fine;
}

/* Adds the errors of a law at the co-runs of each fold, fitted without them; each co-run is left
 * out once. All `location` are below `locations`. O(folds) fits. */
static bool cross_validate(int choice, enum interference_fold fold, const struct sample_set *set,
                           size_t locations, struct mean_error *errors, struct error *error)
{
    struct arena *arena = arena_create();
    bool *left_out = arena_allocate(arena, 2 * locations, sizeof *left_out);
    bool fine = true;
    bool *done = left_out + locations;
    for (size_t i = 0; fine && i < set->co_run_count; i++) {
        if (done[set->co_runs[i].location] || isnan(set->co_runs[i].slowdown) ||
            (fold == FOLD_GROUPS && samples_partner(set, i) != NULL))
            continue;
        mark_fold(set, fold, i, left_out, locations);
        fine = add_errors(choice, set, left_out, done, errors, error);
        for (size_t j = 0; j < locations; j++)
            done[j] = done[j] || left_out[j];
    }
    arena_destroy(arena);
    return fine;
}

/* Adds the errors at the co-locations of two functions if `met` of theirs are known. For each
 * co-location of a pair, these are it and met - 1 others, equally spaced in the cyclic list of the
 * pair's co-locations. */
static bool leave_out_all_but(int choice, size_t met, const struct sample_set *set,
                              size_t locations, struct mean_error *errors, struct error *error)
{
    struct arena *arena = arena_create();
    bool *left_out = arena_allocate(arena, locations, sizeof *left_out);
    size_t *of_pair = arena_allocate(arena, locations, sizeof *of_pair);
    bool fine = true;
    for (size_t i = 0; fine && i < set->co_run_count; i++) {
        size_t count = 0, own = 0;
        if (samples_partner(set, i) == NULL || samples_group(set, i).first != i)
            continue;
        mark_fold(set, FOLD_FUNCTIONS, i, left_out, locations);
        for (size_t j = 0; j < locations; j++) {
            own = j == set->co_runs[i].location ? count : own;
            if (left_out[j])
                of_pair[count++] = j;
        }
        for (size_t j = 0; j < met && count > met; j++)
            left_out[of_pair[(own + j * count / met) % count]] = false;
        fine = count <= met || add_errors(choice, set, left_out, NULL, errors, error);
    }
    arena_destroy(arena);
    return fine;
}

static bool count_locations(const struct sample_set *set, struct interference_fit *fit,
                            struct error *error)
{
    size_t slowdowns = 0;
    for (size_t i = 0; i < set->co_run_count; i++) {
        const struct co_run *run = &set->co_runs[i];
        const struct sample_group group = samples_group(set, i);
        if (group.end - group.first < 2 || group.end - group.first > MEMBERS)
            return error_input(error, "a co-location has %zu members; 2 to %d can be calibrated",
                               group.end - group.first, MEMBERS);
        if (run->location >= fit->locations)
            fit->locations = (size_t)run->location + 1;
        fit->has_demand = fit->has_demand || !isnan(set->properties[run->function].demand);
        if (isnan(run->slowdown))
            continue;
        slowdowns++;
        mean_error_add(&fit->none, fabs(1 / run->slowdown - 1));
    }
    return slowdowns > 0 || error_input(error, "there are no slowdowns to calibrate with");
}

bool interference_calibrate(const struct sample_set *set, struct interference_fit *fit,
                            struct error *error)
{
    static const double noticed = 1e-4;
    double least = INFINITY;
    *fit = (struct interference_fit){0};
    bool fine = count_locations(set, fit, error);
    for (int choice = 0; fine && choice < INTERFERENCE_LAWS; choice++) {
        if (choice == INTERFERENCE_BANDWIDTH && !fit->has_demand)
            continue;
        fine = interference_law_fit(choice, set, NULL, &fit->laws[choice], error);
        for (int fold = 0; fine && fold < INTERFERENCE_FOLDS; fold++)
            fine = cross_validate(choice, (enum interference_fold)fold, set, fit->locations,
                                  &fit->errors[choice][fold], error);
        for (size_t i = 0; fine && choice <= (int)INTERFERENCE_SHAPED &&
                           choice != INTERFERENCE_BANDWIDTH && i < INTERFERENCE_MET;
             i++)
            fine = leave_out_all_but(choice, interference_met[i], set, fit->locations,
                                     &fit->met[choice][i], error);
        const struct mean_error *groups = &fit->errors[choice][FOLD_GROUPS];
        const double mape =
            groups->count > 0 ? groups->mape : fit->errors[choice][FOLD_LOCATION].mape;
        if (fine && mape < least - noticed) {
            least = mape;
            fit->choice = choice;
        }
    }
    if (!fine)
        interference_fit_clear(fit);
    return fine;
}

void interference_fit_clear(struct interference_fit *fit)
{
    for (int choice = 0; choice < INTERFERENCE_LAWS; choice++)
        free(fit->laws[choice].pairs);
    *fit = (struct interference_fit){0};
}
