#include "sched/aquatope/bo.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>

/* PATHS: draws of noisy expected improvement [code]. FIT_STEPS: BFGS steps per round, starting from
 * the previous round's result. CHANGE_TRIES: draws of a candidate that changes a stage of the
 * incumbent by a single feature. */
enum { PATHS = 32, FIT_STEPS = 8, FIRST_FIT_STEPS = 20, CHANGE_TRIES = 16 };

/* Lower limit for logarithms, so that a price of zero has a finite one. */
#define LEAST 1e-30

struct surrogate {
    struct gp *gp;
    struct gp_hyper hyper;
    struct gp_paths *paths;
    double *raw;      /* logarithms of the observations */
    double *observed; /* standardised values of the kept observations */
    double centre, scale;
};

struct candidate {
    uint32_t choice[BO_MAX_STAGES];
    double variance[2];
};

struct search {
    struct arena *arena;
    const struct bo_problem *problem;
    const struct bo_parameters *settings;
    struct random_stream stream;
    size_t dimensions, capacity, count;
    size_t kept_count; /* observations that are not outliers */
    uint32_t *choices; /* capacity × BO_MAX_STAGES */
    double *points;    /* capacity × dimensions */
    double *kept;      /* points of the kept observations */
    bool *outlier;
    struct surrogate model[2]; /* cost, latency */
    struct candidate *candidates;
    size_t candidate_count;
    double *features;  /* of the candidates, × dimensions */
    double *means[2];  /* of the candidates, × PATHS */
    double *solved[2]; /* of the candidates, × capacity */
    double best[PATHS];
};

enum { COST, LATENCY };

double bo_expected_improvement(double mean, double deviation, double best)
{
    const double gain = best - mean;
    if (!(deviation > 0))
        return gain > 0 ? gain : 0;
    const double z = gain / deviation;
    const double value = gain * gsl_cdf_ugaussian_P(z) + deviation * gsl_ran_ugaussian_pdf(z);
    return value > 0 ? value : 0;
}

double bo_feasibility(double mean, double deviation, double limit)
{
    if (!(deviation > 0))
        return mean <= limit ? 1 : 0;
    return gsl_cdf_ugaussian_P((limit - mean) / deviation);
}

double bo_constrained_improvement(double cost_mean, double cost_deviation, double best,
                                  double latency_mean, double latency_deviation, double limit)
{
    const double feasible = bo_feasibility(latency_mean, latency_deviation, limit);
    return feasible > 0 ? feasible * bo_expected_improvement(cost_mean, cost_deviation, best) : 0;
}

size_t bo_outliers(const struct gp *gp, size_t count, double confidence, bool *flags)
{
    const double width = gsl_cdf_ugaussian_Pinv(0.5 + confidence / 2);
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        double mean;
        double variance;
        const double error = gp_leave_one_out(gp, i, &mean, &variance);
        if (fabs(error) > width * sqrt(variance)) {
            found += !flags[i];
            flags[i] = true;
        }
    }
    return found;
}

/* ---- Choices --------------------------------------------------------------------------------- */

static void choice_point(const struct bo_problem *problem, const uint32_t *choice, double *point)
{
    for (size_t s = 0; s < problem->stage_count; s++) {
        const struct bo_stage *stage = &problem->stages[s];
        for (size_t i = 0; i < stage->feature_count; i++)
            *point++ = stage->features[choice[s] * stage->feature_count + i];
    }
}

static uint32_t draw_below(struct search *search, size_t bound)
{
    return (uint32_t)(random_uniform(&search->stream) * (double)bound);
}

static void choice_anywhere(struct search *search, uint32_t *choice)
{
    for (size_t s = 0; s < search->problem->stage_count; s++)
        choice[s] = draw_below(search, search->problem->stages[s].option_count);
}

/* Draws another option of the stage; one that differs in a single feature if a few draws find it.
 */
static uint32_t option_near(struct search *search, const struct bo_stage *stage, uint32_t option)
{
    uint32_t other = option;
    for (int i = 0; i < CHANGE_TRIES; i++) {
        other = draw_below(search, stage->option_count);
        size_t differ = 0;
        for (size_t f = 0; f < stage->feature_count; f++)
            differ += stage->features[other * stage->feature_count + f] !=
                      stage->features[option * stage->feature_count + f];
        if (differ == 1)
            break;
    }
    return other;
}

/* Changes one or two stages of `from`, sometimes more. */
static void choice_near(struct search *search, const uint32_t *from, uint32_t *choice)
{
    const size_t stages = search->problem->stage_count;
    memcpy(choice, from, stages * sizeof *choice);
    do {
        const size_t s = draw_below(search, stages);
        choice[s] = option_near(search, &search->problem->stages[s], choice[s]);
    } while (random_uniform(&search->stream) < 0.5);
}

static bool choice_evaluated(const struct search *search, const uint32_t *choice)
{
    const size_t bytes = search->problem->stage_count * sizeof *choice;
    for (size_t i = 0; i < search->count; i++)
        if (memcmp(&search->choices[i * BO_MAX_STAGES], choice, bytes) == 0)
            return true;
    return false;
}

static void evaluate(struct search *search, const uint32_t *choice)
{
    const size_t i = search->count++;
    double cost;
    double latency;
    memcpy(&search->choices[i * BO_MAX_STAGES], choice,
           search->problem->stage_count * sizeof *choice);
    choice_point(search->problem, choice, &search->points[i * search->dimensions]);
    search->problem->evaluate(search->problem->context, choice, i, &cost, &latency);
    search->model[COST].raw[i] = log(fmax(cost, LEAST));
    search->model[LATENCY].raw[i] = log(fmax(latency, LEAST));
}

/* ---- Models ---------------------------------------------------------------------------------- */

static size_t gather(const struct search *search, const struct surrogate *model, double *points,
                     double *values)
{
    size_t kept = 0;
    for (size_t i = 0; i < search->count; i++) {
        if (search->outlier[i])
            continue;
        memcpy(&points[kept * search->dimensions], &search->points[i * search->dimensions],
               search->dimensions * sizeof *points);
        values[kept++] = (model->raw[i] - model->centre) / model->scale;
    }
    return kept;
}

static void standardise(struct surrogate *model, size_t count)
{
    double sum = 0;
    double squares = 0;
    for (size_t i = 0; i < count; i++)
        sum += model->raw[i];
    model->centre = sum / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (model->raw[i] - model->centre) * (model->raw[i] - model->centre);
    model->scale = sqrt(squares / (double)count);
    if (!(model->scale > 1e-9))
        model->scale = 1;
}

static void model_fit(const struct search *search, struct surrogate *model, size_t steps)
{
    standardise(model, search->count);
    for (size_t i = 0; i < search->count; i++)
        model->observed[i] = (model->raw[i] - model->centre) / model->scale;
    gp_fit(model->gp, search->points, model->observed, search->count, &model->hyper, steps);
}

static void model_refit(struct search *search, struct surrogate *model)
{
    const size_t kept = gather(search, model, search->kept, model->observed);
    search->kept_count = kept > 0 ? kept : search->count;
    if (kept > 0 && kept < search->count)
        gp_observe(model->gp, search->kept, model->observed, kept, &model->hyper);
}

/* Fits both models to all evaluations, flags outliers, fits both again to the rest. */
static void models_fit(struct search *search)
{
    const size_t steps = search->count == search->settings->initial ? FIRST_FIT_STEPS : FIT_STEPS;
    struct surrogate *cost = &search->model[COST];
    struct surrogate *latency = &search->model[LATENCY];
    memset(search->outlier, 0, search->count * sizeof *search->outlier);
    model_fit(search, cost, steps);
    model_fit(search, latency, steps);
    bo_outliers(cost->gp, search->count, search->settings->confidence, search->outlier);
    bo_outliers(latency->gp, search->count, search->settings->confidence, search->outlier);
    model_refit(search, cost);
    model_refit(search, latency);
}

static double model_limit(const struct search *search)
{
    const struct surrogate *latency = &search->model[LATENCY];
    return (log(search->problem->limit) - latency->centre) / latency->scale;
}

/* The cheapest choice by the model, among those that were observed to be feasible, are feasible by
 * the model and are not outliers. If the model accepts none, among those observed to be feasible.
 * If none was, the fastest. */
static size_t incumbent(const struct search *search, bool *feasible)
{
    const double limit = log(search->problem->limit);
    const double *latencies = search->model[LATENCY].raw;
    size_t chosen = 0;
    int rank = 0; /* 0: fastest, 1: observed feasible, 2: also feasible by the model */
    double least = INFINITY;
    for (size_t i = 0; i < search->count; i++) {
        const double *point = &search->points[i * search->dimensions];
        double cost;
        double latency;
        double variance;
        gp_predict(search->model[COST].gp, point, &cost, &variance);
        gp_predict(search->model[LATENCY].gp, point, &latency, &variance);
        const bool believed = !search->outlier[i] && latency <= model_limit(search);
        const int here = latencies[i] > limit ? 0 : 1 + believed;
        const double value = here == 0 ? latencies[i] : cost;
        if (here > rank || (here == rank && value < least)) {
            rank = here;
            least = value;
            chosen = i;
        }
    }
    *feasible = rank > 0;
    return chosen;
}

/* ---- Proposals ------------------------------------------------------------------------------- */

/* For each draw, the cost of the cheapest observed feasible choice. If there is none, the highest
 * cost, so that feasibility decides. */
static void draws_best(struct search *search)
{
    const double limit = model_limit(search);
    for (size_t p = 0; p < PATHS; p++) {
        double cheapest = INFINITY;
        double dearest = -INFINITY;
        for (size_t i = 0; i < search->kept_count; i++) {
            const double cost = gp_paths_at(search->model[COST].paths, p, i);
            dearest = fmax(dearest, cost);
            if (cost < cheapest && gp_paths_at(search->model[LATENCY].paths, p, i) <= limit)
                cheapest = cost;
        }
        search->best[p] = cheapest < INFINITY ? cheapest : dearest;
    }
}

/* Draws new choices, half anywhere, half around the incumbent, and computes the models' predictions
 * for them. */
static void candidates_draw(struct search *search)
{
    bool feasible;
    const uint32_t *from = &search->choices[incumbent(search, &feasible) * BO_MAX_STAGES];
    search->candidate_count = 0;
    for (size_t i = 0; i < search->settings->candidates; i++) {
        const size_t c = search->candidate_count;
        struct candidate *candidate = &search->candidates[c];
        if (i % 2 == 0)
            choice_anywhere(search, candidate->choice);
        else
            choice_near(search, from, candidate->choice);
        if (choice_evaluated(search, candidate->choice))
            continue;
        double *features = &search->features[c * search->dimensions];
        choice_point(search->problem, candidate->choice, features);
        for (int m = COST; m <= LATENCY; m++)
            candidate->variance[m] =
                gp_paths_predict(search->model[m].paths, features, &search->means[m][c * PATHS],
                                 &search->solved[m][c * search->capacity]);
        search->candidate_count++;
    }
}

static double candidate_score(const struct search *search, size_t c)
{
    const struct candidate *candidate = &search->candidates[c];
    const double limit = model_limit(search);
    const double cost = sqrt(candidate->variance[COST]);
    const double latency = sqrt(candidate->variance[LATENCY]);
    double sum = 0;
    for (size_t p = 0; p < PATHS; p++)
        sum += bo_constrained_improvement(search->means[COST][c * PATHS + p], cost, search->best[p],
                                          search->means[LATENCY][c * PATHS + p], latency, limit);
    return sum;
}

/* Treats `chosen` as observed at its expected value: means are unchanged, variances decrease. */
static void candidates_believe(struct search *search, size_t chosen)
{
    const size_t n = search->kept_count;
    const struct candidate *known = &search->candidates[chosen];
    for (int m = COST; m <= LATENCY; m++) {
        const struct gp_hyper *hyper = &search->model[m].hyper;
        const double *theirs = &search->solved[m][chosen * search->capacity];
        const double spread = known->variance[m] + 1e-9;
        for (size_t c = 0; c < search->candidate_count; c++) {
            const double *ours = &search->solved[m][c * search->capacity];
            double covariance =
                gp_kernel(hyper, search->dimensions, &search->features[c * search->dimensions],
                          &search->features[chosen * search->dimensions]);
            for (size_t i = 0; i < n; i++)
                covariance -= ours[i] * theirs[i];
            if (c != chosen)
                search->candidates[c].variance[m] =
                    fmax(search->candidates[c].variance[m] - covariance * covariance / spread, 0);
        }
    }
}

/* The best candidate that is not yet evaluated; SIZE_MAX if there is none. */
static size_t candidate_choose(const struct search *search)
{
    size_t chosen = SIZE_MAX;
    double highest = -1;
    for (size_t c = 0; c < search->candidate_count; c++) {
        if (choice_evaluated(search, search->candidates[c].choice))
            continue;
        const double score = candidate_score(search, c);
        /* Requires a clear margin, so that differences in the last bits between processors do not
         * decide. */
        if (score > highest + 1e-9 * fabs(highest)) {
            highest = score;
            chosen = c;
        }
    }
    return chosen;
}

static void round_propose(struct search *search)
{
    const struct arena_block *scratch = search->arena->blocks;
    models_fit(search);
    for (int m = COST; m <= LATENCY; m++)
        search->model[m].paths = gp_paths_create(search->model[m].gp, PATHS, &search->stream);
    draws_best(search);
    candidates_draw(search);
    for (size_t i = 0; i < search->settings->proposals; i++) {
        const size_t chosen = candidate_choose(search);
        if (chosen == SIZE_MAX)
            break;
        if (i + 1 < search->settings->proposals)
            candidates_believe(search, chosen);
        evaluate(search, search->candidates[chosen].choice);
    }
    arena_rewind(search->arena, scratch);
}

/* ---- The search ------------------------------------------------------------------------------ */

static void search_allocate(struct search *search)
{
    struct arena *arena = search->arena;
    const size_t capacity = search->capacity;
    const size_t candidates = search->settings->candidates;
    const size_t dimensions = search->dimensions;
    search->choices = arena_allocate(arena, capacity * BO_MAX_STAGES, sizeof *search->choices);
    search->points = arena_allocate(arena, capacity * dimensions, sizeof *search->points);
    search->kept = arena_allocate(arena, capacity * dimensions, sizeof *search->kept);
    search->outlier = arena_allocate(arena, capacity, sizeof *search->outlier);
    search->candidates = arena_allocate(arena, candidates, sizeof *search->candidates);
    search->features = arena_allocate(arena, candidates * dimensions, sizeof *search->features);
    for (int m = COST; m <= LATENCY; m++) {
        struct surrogate *model = &search->model[m];
        model->gp = gp_create(arena, capacity, dimensions);
        model->hyper = gp_hyper_default(dimensions);
        model->raw = arena_allocate(arena, capacity, sizeof *model->raw);
        model->observed = arena_allocate(arena, capacity, sizeof *model->observed);
        search->means[m] = arena_allocate(arena, candidates * PATHS, sizeof *search->means[m]);
        search->solved[m] = arena_allocate(arena, candidates * capacity, sizeof *search->solved[m]);
    }
}

/* Fits the models to all evaluations, then selects the cheapest feasible choice. */
static void search_conclude(struct search *search, struct bo_result *result)
{
    models_fit(search);
    const size_t best = incumbent(search, &result->feasible);
    memcpy(result->choice, &search->choices[best * BO_MAX_STAGES], sizeof result->choice);
    result->cost = exp(search->model[COST].raw[best]);
    result->latency = exp(search->model[LATENCY].raw[best]);
    result->evaluations = search->count;
    result->outliers = 0;
    for (size_t i = 0; i < search->count; i++)
        result->outliers += search->outlier[i];
}

void bo_minimise(struct arena *arena, const struct bo_problem *problem,
                 const struct bo_parameters *settings, struct bo_result *result)
{
    assert(settings->initial > 0);
    const struct arena_block *scratch = arena->blocks;
    struct search search = {.arena = arena, .problem = problem, .settings = settings};
    for (size_t s = 0; s < problem->stage_count; s++)
        search.dimensions += problem->stages[s].feature_count;
    search.capacity = settings->initial + settings->rounds * settings->proposals;
    /* A problem without a choice is a single point in one dimension. */
    search.dimensions = search.dimensions > 0 ? search.dimensions : 1;
    random_stream_open(&search.stream, settings->tuning_seed, RANDOM_POLICY, 0, settings->stream);
    search_allocate(&search);
    uint32_t choice[BO_MAX_STAGES];
    for (size_t i = 0; i < settings->initial; i++) {
        choice_anywhere(&search, choice);
        if (i == 0 || !choice_evaluated(&search, choice))
            evaluate(&search, choice);
    }
    for (size_t round = 0; round < settings->rounds; round++) {
        const size_t before = search.count;
        round_propose(&search);
        if (search.count == before)
            break; /* all choices have been evaluated */
    }
    search_conclude(&search, result);
    arena_rewind(arena, scratch);
}
