#include "traces/calibrate/calibrate_interference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_errno.h>
#include <gsl/gsl_math.h>
#include <gsl/gsl_multifit_nlinear.h>

enum { ITERATIONS = 200, MEMBERS = 64, BANDWIDTH_PARAMETERS = 3 };

const char *const interference_law_names[INTERFERENCE_LAWS] = {"constant", "pairs", "bandwidth"};
const size_t interference_met[INTERFERENCE_MET] = {1, 2, 4};
const char *const interference_fold_names[INTERFERENCE_FOLDS] = {"co-location", "batches",
                                                                 "functions"};

/* ---- Groups ---------------------------------------------------------------------------------- */

/* The co-runs of one group are [first, end). */
struct group {
    size_t first, end;
};

static struct group group_of(const struct sample_set *set, size_t index)
{
    struct group group = {index, index + 1};
    while (group.first > 0 && set->co_runs[group.first - 1].group == set->co_runs[index].group)
        group.first--;
    while (group.end < set->co_run_count &&
           set->co_runs[group.end].group == set->co_runs[index].group)
        group.end++;
    return group;
}

static bool is_seen(const struct sample_set *set, const bool *left_out, size_t index)
{
    const struct co_run *run = &set->co_runs[index];
    return !isnan(run->slowdown) && (left_out == NULL || !left_out[run->location]);
}

/* A function with unknown demand has demand 0, as in the simulator. */
static struct co_runner runner_of(const struct sample_set *set, const struct co_run *run)
{
    double demand = set->facts[run->function].demand;
    return (struct co_runner){.index = run->function,
                              .demand = isnan(demand) ? 0 : demand,
                              .share = (double)run->share / set->unit};
}

double interference_law_slowdown(const struct interference *law, const struct sample_set *set,
                                 size_t index)
{
    struct group group = group_of(set, index);
    struct co_runner runners[MEMBERS];
    size_t count = 0;
    for (size_t i = group.first; i < group.end && count < MEMBERS; i++)
        runners[count++] = runner_of(set, &set->co_runs[i]);
    return interference_slowdown(law, runners, count, index - group.first);
}

/* ---- Fits ------------------------------------------------------------------------------------ */

/* Least squares on relative errors has a closed form. With excess e = constant × partners n and
 * weight w = 1/slowdown², constant = Σ w n e / Σ w n². */
struct excess_sum {
    double product, square;
    size_t count;
    double mean, deviations; /* mean excess and sum of squared deviations (Welford) */
};

static void sum_add(struct excess_sum *sum, double slowdown, double partners)
{
    double weight = 1 / (slowdown * slowdown);
    sum->product += weight * partners * (slowdown - 1);
    sum->square += weight * partners * partners;
    double from_mean = slowdown - 1 - sum->mean;
    sum->count++;
    sum->mean += from_mean / (double)sum->count;
    sum->deviations += from_mean * (slowdown - 1 - sum->mean);
}

static double sum_excess(const struct excess_sum *sum)
{
    return sum->square > 0 ? fmax(0, sum->product / sum->square) : NAN;
}

/* Weight of the prior mean in samples: the variance within cells divided by that between cells.
 * This is the empirical Bayes estimate for normal means with a normal prior. 0, which disables
 * shrinking, if either variance is unknown. */
static double prior_samples(const struct excess_sum *cells, size_t count)
{
    double deviations = 0, inverse = 0, mean = 0, between = 0;
    size_t seen = 0, repeats = 0;
    for (size_t i = 0; i < count; i++)
        if (cells[i].count > 0) {
            double from_mean = cells[i].mean - mean;
            seen++;
            mean += from_mean / (double)seen;
            between += from_mean * (cells[i].mean - mean);
            inverse += 1 / (double)cells[i].count;
            deviations += cells[i].deviations;
            repeats += cells[i].count - 1;
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

static bool fit_pairs(const struct sample_set *set, const bool *left_out, struct interference *law,
                      struct error *error)
{
    size_t functions = set->functions.count;
    struct excess_sum all = {0};
    struct excess_sum *cells = calloc(functions * functions, sizeof *cells);
    law->pair_names = set->functions.names;
    law->pairs = calloc(functions * functions, sizeof *law->pairs);
    if (cells == NULL || law->pairs == NULL) {
        free(cells);
        return error_run(error, "out of memory for a pair table of %zu functions", functions);
    }
    law->pair_count = functions;
    for (size_t i = 0; i < set->co_run_count; i++) {
        struct group group = group_of(set, i);
        const struct co_run *run = &set->co_runs[i];
        if (!is_seen(set, left_out, i))
            continue;
        sum_add(&all, run->slowdown, (double)(group.end - group.first - 1));
        const struct co_run *other = &set->co_runs[i == group.first ? i + 1 : group.first];
        if (group.end - group.first == 2)
            sum_add(&cells[run->function * functions + other->function], run->slowdown, 1);
    }
    law->constant = all.square > 0 ? sum_excess(&all) : 0;
    double prior = prior_samples(cells, functions * functions);
    for (size_t i = 0; i < functions * functions; i++)
        law->pairs[i] = shrink(&cells[i], law->constant, prior);
    free(cells);
    return true;
}

static void fit_constant(const struct sample_set *set, const bool *left_out,
                         struct interference *law)
{
    struct excess_sum sum = {0};
    for (size_t i = 0; i < set->co_run_count; i++) {
        struct group group = group_of(set, i);
        if (is_seen(set, left_out, i))
            sum_add(&sum, set->co_runs[i].slowdown, (double)(group.end - group.first - 1));
    }
    law->constant = sum.square > 0 ? sum_excess(&sum) : 0;
}

struct bandwidth_problem {
    const struct sample_set *set;
    const bool *left_out;
    double share_exponent; /* NAN: fitted */
};

/* The parameters are square roots, which keeps the coefficient and the exponents non-negative. */
static struct interference bandwidth_law(const gsl_vector *x, double share_exponent)
{
    const bool held = !isnan(share_exponent);
    return (struct interference){.kind = INTERFERENCE_BANDWIDTH,
                                 .coefficient = gsl_pow_2(gsl_vector_get(x, 0)),
                                 .victim_exponent = gsl_pow_2(gsl_vector_get(x, 1)),
                                 .share_exponent =
                                     held ? share_exponent : gsl_pow_2(gsl_vector_get(x, 2))};
}

static int bandwidth_residuals(const gsl_vector *x, void *data, gsl_vector *residuals)
{
    const struct bandwidth_problem *problem = data;
    struct interference law = bandwidth_law(x, problem->share_exponent);
    size_t row = 0;
    for (size_t i = 0; i < problem->set->co_run_count; i++)
        if (is_seen(problem->set, problem->left_out, i))
            gsl_vector_set(residuals, row++,
                           interference_law_slowdown(&law, problem->set, i) /
                                   problem->set->co_runs[i].slowdown -
                               1);
    return GSL_SUCCESS;
}

static bool fit_bandwidth(const struct sample_set *set, const bool *left_out, double share_exponent,
                          struct interference *law, struct error *error)
{
    struct bandwidth_problem data = {set, left_out, share_exponent};
    const size_t count = isnan(share_exponent) ? BANDWIDTH_PARAMETERS : BANDWIDTH_PARAMETERS - 1;
    gsl_multifit_nlinear_parameters parameters = gsl_multifit_nlinear_default_parameters();
    double x[BANDWIDTH_PARAMETERS] = {0.5, 0.5, 0.5};
    size_t rows = 0;
    int why = 0;
    for (size_t i = 0; i < set->co_run_count; i++)
        rows += is_seen(set, left_out, i);
    if (rows < BANDWIDTH_PARAMETERS)
        return true;
    gsl_multifit_nlinear_fdf problem = {
        .f = bandwidth_residuals, .n = rows, .p = count, .params = &data};
    gsl_vector_view from = gsl_vector_view_array(x, count);
    gsl_multifit_nlinear_workspace *work =
        gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &parameters, rows, count);
    if (work == NULL)
        return error_run(error, "out of memory for a fit of %zu slowdowns", rows);
    int status = gsl_multifit_nlinear_init(&from.vector, &problem, work);
    if (status == GSL_SUCCESS)
        status = gsl_multifit_nlinear_driver(ITERATIONS, 1e-8, 1e-8, 0, NULL, NULL, &why, work);
    *law = bandwidth_law(gsl_multifit_nlinear_position(work), share_exponent);
    gsl_multifit_nlinear_free(work);
    return status == GSL_SUCCESS || status == GSL_EMAXITER || status == GSL_ENOPROG ||
           error_run(error, "a fit of %zu slowdowns failed: %s", rows, gsl_strerror(status));
}

bool interference_law_fit_held(enum interference_kind kind, double share_exponent,
                               const struct sample_set *set, const bool *left_out,
                               struct interference *law, struct error *error)
{
    *law = (struct interference){.kind = kind};
    switch (kind) {
    case INTERFERENCE_CONSTANT:
        fit_constant(set, left_out, law);
        return true;
    case INTERFERENCE_PAIRS:
        return fit_pairs(set, left_out, law, error);
    case INTERFERENCE_BANDWIDTH:
        return fit_bandwidth(set, left_out, share_exponent, law, error);
    }
    return false;
}

bool interference_law_fit(enum interference_kind kind, const struct sample_set *set,
                          const bool *left_out, struct interference *law, struct error *error)
{
    return interference_law_fit_held(kind, NAN, set, left_out, law, error);
}

/* ---- Cross-validation ------------------------------------------------------------------------ */

/* Returns whether two groups have the same functions (with_batch: also the same batch sizes), in
 * any order. */
static bool same_members(const struct sample_set *set, struct group a, struct group b,
                         bool with_batch)
{
    bool taken[MEMBERS] = {false};
    if (a.end - a.first != b.end - b.first || a.end - a.first > MEMBERS)
        return false;
    for (size_t i = a.first; i < a.end; i++) {
        size_t j = b.first;
        while (j < b.end &&
               (taken[j - b.first] || set->co_runs[j].function != set->co_runs[i].function ||
                (with_batch && set->co_runs[j].batch != set->co_runs[i].batch)))
            j++;
        if (j == b.end)
            return false;
        taken[j - b.first] = true;
    }
    return true;
}

static void mark_fold(const struct sample_set *set, enum interference_fold fold, size_t index,
                      bool *left_out, size_t locations)
{
    memset(left_out, 0, locations * sizeof *left_out);
    left_out[set->co_runs[index].location] = true;
    if (fold == FOLD_LOCATION)
        return;
    struct group group = group_of(set, index);
    for (size_t i = 0; i < set->co_run_count;) {
        struct group other = group_of(set, i);
        if (same_members(set, group, other, fold == FOLD_BATCHES))
            left_out[set->co_runs[i].location] = true;
        i = other.end;
    }
}

static void error_add(struct mean_error *sum, double size)
{
    sum->count++;
    sum->mape += (size - sum->mape) / (double)sum->count;
    sum->worst = fmax(sum->worst, size);
}

bool interference_cross_validate(enum interference_kind kind, double share_exponent,
                                 enum interference_fold fold, const struct sample_set *set,
                                 size_t locations, struct mean_error *errors, struct error *error)
{
    bool *left_out = calloc(2 * locations, sizeof *left_out);
    bool fine = true;
    if (left_out == NULL)
        return error_run(error, "out of memory for %zu co-locations", locations);
    bool *done = left_out + locations;
    for (size_t i = 0; fine && i < set->co_run_count; i++) {
        struct interference law;
        if (done[set->co_runs[i].location] || isnan(set->co_runs[i].slowdown))
            continue;
        mark_fold(set, fold, i, left_out, locations);
        fine = interference_law_fit_held(kind, share_exponent, set, left_out, &law, error);
        for (size_t j = 0; fine && j < set->co_run_count; j++) {
            const struct co_run *run = &set->co_runs[j];
            if (!left_out[run->location] || done[run->location] || isnan(run->slowdown))
                continue;
            error_add(errors, fabs(interference_law_slowdown(&law, set, j) / run->slowdown - 1));
        }
        for (size_t j = 0; j < locations; j++)
            done[j] = done[j] || left_out[j];
        free(law.pairs);
    }
    free(left_out);
    return fine;
}

/* Errors at co-locations of two functions if `met` of their co-locations are known. */
struct meeting {
    enum interference_kind kind;
    size_t met;
    struct mean_error *errors;
};

/* For each of the pair's co-locations, fits the law with it and met - 1 others, equally spaced in
 * the cyclic list of the pair's co-locations. Adds the errors at the co-locations left out. */
static bool leave_out_but(const struct meeting *meeting, const struct sample_set *set,
                          const size_t *of_pair, size_t count, bool *left_out, struct error *error)
{
    bool fine = true;
    for (size_t t = 0; fine && count > meeting->met && t < count; t++) {
        struct interference law;
        for (size_t i = 0; i < count; i++)
            left_out[of_pair[i]] = true;
        for (size_t i = 0; i < meeting->met; i++) {
            const size_t place = t + i * count / meeting->met;
            left_out[of_pair[place < count ? place : place - count]] = false;
        }
        fine = interference_law_fit(meeting->kind, set, left_out, &law, error);
        for (size_t j = 0; fine && j < set->co_run_count; j++) {
            const struct co_run *run = &set->co_runs[j];
            if (left_out[run->location] && !isnan(run->slowdown))
                error_add(meeting->errors,
                          fabs(interference_law_slowdown(&law, set, j) / run->slowdown - 1));
        }
        free(law.pairs);
    }
    return fine;
}

static bool leave_out_all_but(const struct meeting *meeting, const struct sample_set *set,
                              size_t locations, struct error *error)
{
    bool *left_out = calloc(2 * locations, sizeof *left_out);
    size_t *of_pair = calloc(locations, sizeof *of_pair);
    bool fine = left_out != NULL && of_pair != NULL;
    bool *done = left_out + locations;
    if (!fine)
        (void)error_run(error, "out of memory for %zu co-locations", locations);
    for (size_t i = 0; fine && i < set->co_run_count; i++) {
        struct group group = group_of(set, i);
        size_t count = 0;
        if (done[set->co_runs[i].location] || group.end - group.first != 2)
            continue;
        mark_fold(set, FOLD_FUNCTIONS, i, left_out, locations);
        for (size_t j = 0; j < locations; j++)
            if (left_out[j]) {
                done[j] = true;
                of_pair[count++] = j;
            }
        fine = leave_out_but(meeting, set, of_pair, count, left_out, error);
    }
    free(of_pair);
    free(left_out);
    return fine;
}

static bool count_locations(const struct sample_set *set, struct interference_fit *fit,
                            struct error *error)
{
    size_t slowdowns = 0;
    for (size_t i = 0; i < set->co_run_count; i++) {
        const struct co_run *run = &set->co_runs[i];
        struct group group = group_of(set, i);
        if (group.end - group.first < 2 || group.end - group.first > MEMBERS)
            return error_input(error, "a co-location has %zu members; 2 to %d can be calibrated",
                               group.end - group.first, MEMBERS);
        if (run->location >= fit->locations)
            fit->locations = (size_t)run->location + 1;
        fit->has_demand = fit->has_demand || !isnan(set->facts[run->function].demand);
        if (isnan(run->slowdown))
            continue;
        slowdowns++;
        error_add(&fit->none, fabs(1 / run->slowdown - 1));
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
    for (int kind = 0; fine && kind < INTERFERENCE_LAWS; kind++) {
        enum interference_kind law = (enum interference_kind)kind;
        if (law == INTERFERENCE_BANDWIDTH && !fit->has_demand)
            continue;
        fine = interference_law_fit(law, set, NULL, &fit->laws[kind], error);
        for (int fold = 0; fine && fold < INTERFERENCE_FOLDS; fold++)
            fine = interference_cross_validate(law, NAN, (enum interference_fold)fold, set,
                                               fit->locations, &fit->errors[kind][fold], error);
        for (size_t i = 0; fine && law != INTERFERENCE_BANDWIDTH && i < INTERFERENCE_MET; i++) {
            const struct meeting meeting = {law, interference_met[i], &fit->met[kind][i]};
            fine = leave_out_all_but(&meeting, set, fit->locations, error);
        }
        if (fine && fit->errors[kind][FOLD_LOCATION].mape < least - noticed) {
            least = fit->errors[kind][FOLD_LOCATION].mape;
            fit->kind = law;
        }
    }
    if (!fine)
        interference_fit_clear(fit);
    return fine;
}

void interference_fit_clear(struct interference_fit *fit)
{
    for (int kind = 0; kind < INTERFERENCE_LAWS; kind++)
        free(fit->laws[kind].pairs);
    *fit = (struct interference_fit){0};
}
