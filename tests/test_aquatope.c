/* Aquatope: Gaussian process, acquisition and outliers against independent arithmetic; tuned
 * vectors against exhaustive search; the policy in the simulator. */
#include <gsl/gsl_randist.h>

#include "sched/aquatope/tune.h"
#include "sched/registry.h"
#include "sim/engine/random.h"
#include "tests/worlds.h"
#include "tests/suite.h"

/* Of all that the cases build. */
static struct arena arena;

enum { POINTS = 14, DIMENSIONS = 3, STAGES = 2 };

/* ---- Gaussian process ------------------------------------------------------------------------ */

/* Matérn 5/2 in the textbook's form, written apart from the product's. */
static double matern(double distance)
{
    return (1 + sqrt(5) * distance + 5 * distance * distance / 3) * exp(-sqrt(5) * distance);
}

CASE(one_observation_gives_the_posterior_worked_out_by_hand)
{
    const struct gp_hyper hyper = {.length = {0.5}, .signal = 2, .noise = 0.5};
    const double x = 0.25;
    const double y = 3;
    struct gp *gp = gp_create(&arena, 4, 1);
    gp_observe(gp, &x, &y, 1, &hyper);
    double mean;
    double variance;
    gp_predict(gp, &x, &mean, &variance);
    /* 2 / (2 + 0.5) × 3 and 2 − 2² / 2.5 */
    assert_absolute(mean, 2.4, 1e-12);
    assert_absolute(variance, 0.4, 1e-12);
    const double away = 0.75;
    gp_predict(gp, &away, &mean, &variance);
    /* One length away: (1 + √5 + 5/3) e^−√5 = 0.5239941088318203 */
    assert_absolute(mean, 2 * 0.5239941088318203 / 2.5 * 3, 1e-12);
    assert_absolute(variance, 2 - 4 * 0.5239941088318203 * 0.5239941088318203 / 2.5, 1e-12);
}

CASE(two_observations_give_the_posterior_of_the_two_by_two_inverse)
{
    const struct gp_hyper hyper = {.length = {1}, .signal = 1, .noise = 0.1};
    const double x[] = {0, 1};
    const double y[] = {1, -1};
    struct gp *gp = gp_create(&arena, 2, 1);
    gp_observe(gp, x, y, 2, &hyper);
    const double off = matern(1);
    const double determinant = 1.1 * 1.1 - off * off;
    for (double at = -0.5; at < 2; at += 0.25) {
        const double a = matern(fabs(at));
        const double b = matern(fabs(at - 1));
        double mean;
        double variance;
        gp_predict(gp, &at, &mean, &variance);
        assert_absolute(mean, (a * (1.1 + off) - b * (1.1 + off)) / determinant, 1e-12);
        assert_absolute(variance, 1 - (1.1 * (a * a + b * b) - 2 * off * a * b) / determinant,
                        1e-12);
    }
}

struct data {
    double x[POINTS * DIMENSIONS], y[POINTS];
    struct gp_hyper hyper;
};

static void data_draw(struct data *data, uint64_t instance)
{
    RANDOM_STREAM(stream, 3, RANDOM_TEST, instance, 0);
    for (size_t i = 0; i < POINTS; i++) {
        double sum = 0;
        for (size_t d = 0; d < DIMENSIONS; d++) {
            data->x[i * DIMENSIONS + d] = random_uniform(&stream);
            sum += sin(3 * data->x[i * DIMENSIONS + d] * (double)(d + 1));
        }
        data->y[i] = sum - 1 + 0.1 * gsl_ran_gaussian(&stream.rng, 1);
    }
    data->hyper = (struct gp_hyper){.signal = 0.5 + random_uniform(&stream),
                                    .noise = 0.02 + 0.2 * random_uniform(&stream)};
    for (size_t d = 0; d < DIMENSIONS; d++)
        data->hyper.length[d] = 0.3 + random_uniform(&stream);
}

static double data_kernel(const struct data *data, const double *a, const double *b)
{
    double sum = 0;
    for (size_t d = 0; d < DIMENSIONS; d++)
        sum += pow((a[d] - b[d]) / data->hyper.length[d], 2);
    return data->hyper.signal * matern(sqrt(sum));
}

/* Inverse by Gauss-Jordan elimination of the covariance of the observations; its determinant. */
static double data_inverse(const struct data *data, double inverse[POINTS][POINTS])
{
    double work[POINTS][2 * POINTS];
    double determinant = 1;
    for (size_t i = 0; i < POINTS; i++)
        for (size_t j = 0; j < POINTS; j++) {
            work[i][j] = data_kernel(data, &data->x[i * DIMENSIONS], &data->x[j * DIMENSIONS]) +
                         (i == j ? data->hyper.noise : 0);
            work[i][POINTS + j] = i == j;
        }
    for (size_t i = 0; i < POINTS; i++) {
        const double pivot = work[i][i];
        determinant *= pivot;
        for (size_t j = 0; j < 2 * POINTS; j++)
            work[i][j] /= pivot;
        for (size_t k = 0; k < POINTS; k++) {
            const double factor = work[k][i];
            for (size_t j = 0; k != i && j < 2 * POINTS; j++)
                work[k][j] -= factor * work[i][j];
        }
    }
    for (size_t i = 0; i < POINTS; i++)
        memcpy(inverse[i], &work[i][POINTS], sizeof inverse[i]);
    return determinant;
}

CASE(the_posterior_equals_a_direct_matrix_inverse)
{
    for (uint64_t instance = 0; instance < trials(20); instance++) {
        struct data data;
        double inverse[POINTS][POINTS];
        data_draw(&data, instance);
        const double determinant = data_inverse(&data, inverse);
        struct gp *gp = gp_create(&arena, POINTS, DIMENSIONS);
        gp_observe(gp, data.x, data.y, POINTS, &data.hyper);
        const double at[DIMENSIONS] = {0.3, 0.6, 0.1 * (double)(instance % 10)};
        double mean = 0;
        double explained = 0;
        double fit = 0;
        for (size_t i = 0; i < POINTS; i++)
            for (size_t j = 0; j < POINTS; j++) {
                const double near = data_kernel(&data, at, &data.x[i * DIMENSIONS]);
                mean += near * inverse[i][j] * data.y[j];
                explained += near * inverse[i][j] * data_kernel(&data, at, &data.x[j * DIMENSIONS]);
                fit += data.y[i] * inverse[i][j] * data.y[j];
            }
        double got_mean;
        double got_variance;
        gp_predict(gp, at, &got_mean, &got_variance);
        assert_absolute(got_mean, mean, 1e-9);
        assert_absolute(got_variance, data.hyper.signal - explained, 1e-9);
        assert_absolute(gp_evidence(gp, NULL),
                        -0.5 * (fit + log(determinant) + POINTS * log(2 * M_PI)), 1e-9);
    }
}

static double evidence_with(struct gp *gp, const struct data *data, size_t which, double step)
{
    struct gp_hyper hyper = data->hyper;
    double *value = which < DIMENSIONS    ? &hyper.length[which]
                    : which == DIMENSIONS ? &hyper.signal
                                          : &hyper.noise;
    *value *= exp(step);
    gp_observe(gp, data->x, data->y, POINTS, &hyper);
    return gp_evidence(gp, NULL);
}

CASE(the_gradient_of_the_evidence_equals_differences)
{
    struct gp *gp = gp_create(&arena, POINTS, DIMENSIONS);
    for (uint64_t instance = 0; instance < trials(10); instance++) {
        struct data data;
        double gradient[DIMENSIONS + 2];
        data_draw(&data, instance);
        gp_observe(gp, data.x, data.y, POINTS, &data.hyper);
        gp_evidence(gp, gradient);
        for (size_t i = 0; i < DIMENSIONS + 2; i++) {
            const double step = 1e-5;
            const double slope =
                (evidence_with(gp, &data, i, step) - evidence_with(gp, &data, i, -step)) /
                (2 * step);
            assert_absolute(gradient[i], slope, 1e-5 * (1 + fabs(slope)));
        }
    }
}

CASE(leaving_one_out_in_closed_form_equals_leaving_it_out)
{
    struct data data;
    data_draw(&data, 77);
    struct gp *all = gp_create(&arena, POINTS, DIMENSIONS);
    struct gp *rest = gp_create(&arena, POINTS, DIMENSIONS);
    assert_true(all != NULL && rest != NULL);
    gp_observe(all, data.x, data.y, POINTS, &data.hyper);
    for (size_t i = 0; i < POINTS; i++) {
        double x[POINTS * DIMENSIONS];
        double y[POINTS];
        size_t kept = 0;
        for (size_t j = 0; j < POINTS; j++)
            if (j != i) {
                memcpy(&x[kept * DIMENSIONS], &data.x[j * DIMENSIONS], DIMENSIONS * sizeof *x);
                y[kept++] = data.y[j];
            }
        double mean;
        double variance;
        double expected_mean;
        double expected_variance;
        const double error = gp_leave_one_out(all, i, &mean, &variance);
        gp_observe(rest, x, y, kept, &data.hyper);
        gp_predict(rest, &data.x[i * DIMENSIONS], &expected_mean, &expected_variance);
        assert_absolute(mean, expected_mean, 1e-9);
        assert_absolute(variance, expected_variance + data.hyper.noise, 1e-9);
        assert_absolute(error, data.y[i] - expected_mean, 1e-9);
    }
}

CASE(fitting_raises_the_evidence_and_finds_what_does_not_matter)
{
    enum { MANY = 60 };
    double x[MANY * 2];
    double y[MANY];
    RANDOM_STREAM(stream, 8, RANDOM_TEST, 0, 0);
    for (size_t i = 0; i < MANY; i++) {
        x[2 * i] = random_uniform(&stream);
        x[2 * i + 1] = random_uniform(&stream);
        y[i] = sin(6 * x[2 * i]) + 0.1 * gsl_ran_gaussian(&stream.rng, 1);
    }
    struct gp *gp = gp_create(&arena, MANY, 2);
    struct gp_hyper hyper = gp_hyper_default(2);
    gp_observe(gp, x, y, MANY, &hyper);
    const double before = gp_evidence(gp, NULL);
    gp_fit(gp, x, y, MANY, &hyper, 40);
    assert_true(gp_evidence(gp, NULL) > before + 1);
    assert_true(hyper.length[1] > 2 * hyper.length[0]);
    assert_true(hyper.noise > 0.003 && hyper.noise < 0.03);
}

CASE(draws_from_the_posterior_have_its_mean_and_variance)
{
    enum { DRAWS = 4000 };
    struct data data;
    data_draw(&data, 5);
    struct gp *gp = gp_create(&arena, POINTS, DIMENSIONS);
    gp_observe(gp, data.x, data.y, POINTS, &data.hyper);
    RANDOM_STREAM(stream, 9, RANDOM_TEST, 0, 0);
    struct gp_paths *paths = gp_paths_create(gp, DRAWS, &stream);
    static double means[DRAWS];
    double solved[POINTS];
    const double at[DIMENSIONS] = {0.4, 0.5, 0.6};
    double mean;
    double variance;
    gp_predict(gp, at, &mean, &variance);
    /* Law of total variance: within a draw and between draws. */
    const double within = gp_paths_predict(paths, at, means, solved);
    double sum = 0;
    double squares = 0;
    for (size_t p = 0; p < DRAWS; p++) {
        sum += means[p];
        squares += (means[p] - mean) * (means[p] - mean);
    }
    assert_absolute(sum / DRAWS, mean, 1e-4); /* pairs of draws cancel */
    assert_absolute(within + squares / DRAWS, variance, 0.06 * variance);
    gp_predict(gp, data.x, &mean, &variance);
    squares = 0;
    for (size_t p = 0; p < DRAWS; p++)
        squares += pow(gp_paths_at(paths, p, 0) - mean, 2);
    assert_absolute(squares / DRAWS, variance, 0.08 * variance);
}

/* ---- Acquisition ----------------------------------------------------------------------------- */

static double normal_density(double x)
{
    return exp(-0.5 * x * x) / sqrt(2 * M_PI);
}

CASE(improvement_and_feasibility_equal_numeric_integration)
{
    const double step = 1e-3;
    for (double best = -3; best <= 3; best += 0.5) {
        for (double deviation = 0.1; deviation < 3; deviation += 0.7) {
            double improvement = 0;
            double feasible = 0;
            for (double z = -9 + step / 2; z < 9; z += step) {
                const double value = 0.4 + deviation * z;
                improvement += value < best ? (best - value) * normal_density(z) * step : 0;
                feasible += value <= best ? normal_density(z) * step : 0;
            }
            assert_absolute(bo_expected_improvement(0.4, deviation, best), improvement, 1e-5);
            assert_absolute(bo_feasibility(0.4, deviation, best), feasible, 1e-3);
        }
        assert_true(bo_expected_improvement(0.4, 0, best) == fmax(best - 0.4, 0));
        assert_true(bo_feasibility(0.4, 0, best) == (best >= 0.4));
    }
}

CASE(constrained_improvement_equals_integration_over_both)
{
    const double step = 0.02;
    for (double limit = -1.5; limit <= 1.5; limit += 0.75) {
        double sum = 0;
        for (double u = -7 + step / 2; u < 7; u += step)
            for (double v = -7 + step / 2; v < 7; v += step) {
                const double cost = 0.2 + 0.5 * u;
                const double latency = -0.3 + 0.8 * v;
                if (cost < 0.1 && latency <= limit)
                    sum += (0.1 - cost) * normal_density(u) * normal_density(v) * step * step;
            }
        assert_absolute(bo_constrained_improvement(0.2, 0.5, 0.1, -0.3, 0.8, limit), sum, 2e-3);
    }
    assert_true(bo_constrained_improvement(0, 1, 5, 9, 0, 3) == 0);
}

CASE(a_planted_outlier_is_found_and_few_others)
{
    size_t others = 0;
    for (uint64_t instance = 0; instance < trials(20); instance++) {
        enum { MANY = 40 };
        double x[MANY];
        double y[MANY];
        bool flags[MANY] = {false};
        RANDOM_STREAM(stream, 21, RANDOM_TEST, instance, 0);
        for (size_t i = 0; i < MANY; i++) {
            x[i] = (double)i / MANY;
            y[i] = sin(5 * x[i]) + 0.05 * gsl_ran_gaussian(&stream.rng, 1);
        }
        const size_t planted = 5 + instance;
        y[planted] += instance % 2 == 0 ? 1 : -1;
        struct gp *gp = gp_create(&arena, MANY, 1);
        struct gp_hyper hyper = gp_hyper_default(1);
        gp_fit(gp, x, y, MANY, &hyper, 30);
        const size_t found = bo_outliers(gp, MANY, 0.95, flags);
        assert_true(flags[planted]);
        assert_int_equal(bo_outliers(gp, MANY, 0.95, flags), 0); /* flags already set */
        others += found - 1;
    }
    /* An interval of 95 % leaves out 5 % of 20 × 39. */
    assert_true(others < 2 * 39);
}

/* ---- Optimiser ------------------------------------------------------------------------------- */

/* One line of 101 options: cost falls, latency rises; option 60 is the last that is feasible. One
 * evaluation in twelve reports half the latency. */
struct line {
    size_t calls;
    bool liar;
};

static void line_evaluate(void *context, const uint32_t *choice, size_t number, double *cost,
                          double *latency)
{
    struct line *line = context;
    assert_int_equal(number, line->calls++);
    *cost = 2 - choice[0] / 100.0;
    *latency = 1 + choice[0] / 60.0;
    if (line->liar && number % 12 == 11)
        *latency /= 2;
}

static struct bo_result line_minimise(bool liar, uint64_t seed)
{
    static double features[101];
    for (size_t i = 0; i <= 100; i++)
        features[i] = (double)i / 100;
    const struct bo_stage stage = {101, 1, features};
    struct line line = {.liar = liar};
    const struct bo_problem problem = {1, &stage, 2, line_evaluate, &line};
    const struct bo_parameters settings = {10, 20, 3, 64, 0.95, seed, 0};
    struct bo_result result;
    bo_minimise(&arena, &problem, &settings, &result);
    assert_int_equal(result.evaluations, line.calls);
    return result;
}

CASE(the_edge_of_feasibility_is_found_on_a_line)
{
    for (uint64_t seed = 0; seed < 5; seed++) {
        const struct bo_result result = line_minimise(false, seed);
        assert_true(result.feasible);
        assert_true(result.choice[0] <= 60 && result.choice[0] >= 58);
    }
}

CASE(evaluations_that_lie_do_not_become_the_choice)
{
    size_t fooled = 0;
    for (uint64_t seed = 0; seed < trials(10); seed++) {
        const struct bo_result result = line_minimise(true, seed);
        assert_true(result.outliers > 0);
        fooled += result.choice[0] > 60;
    }
    print_message("    choices made infeasible by lies: %zu of 10\n", fooled);
    assert_true(fooled <= 1);
}

CASE(a_problem_without_a_choice_is_evaluated_once)
{
    const struct bo_stage stage = {1, 0, NULL};
    struct line line = {.liar = false};
    const struct bo_problem problem = {1, &stage, 0.5, line_evaluate, &line};
    const struct bo_parameters settings = {10, 20, 3, 64, 0.95, 1, 0};
    struct bo_result result;
    bo_minimise(&arena, &problem, &settings, &result);
    assert_int_equal(result.evaluations, 1);
    assert_int_equal(result.choice[0], 0);
    assert_false(result.feasible);
}

/* ---- Tuned vectors --------------------------------------------------------------------------- */

enum { BATCHES = 3, VCPUS = 4, VGPUS = 4, OPTIONS = BATCHES * VCPUS * VGPUS };

/* A chain of random surfaces: time falls with vCPUs and vGPUs and rises with the batch, each by a
 * random power. */
struct chain {
    struct configuration all[STAGES][OPTIONS];
    struct function functions[STAGES];
    struct stage stages[STAGES];
    uint32_t after, next;
    struct application application;
    struct gpu_kind kind;
    struct function_gpu on;
    struct gpu_spec gpu;
    struct invoker_group group;
    struct workload workload;
};

static void chain_surface(struct chain *chain, size_t s, struct random_stream *stream)
{
    const double base = 50 + 300 * random_uniform(stream);
    const double by_batch = 0.3 + 0.6 * random_uniform(stream);
    const double by_vcpu = 0.4 * random_uniform(stream);
    const double by_vgpu = 0.3 + 0.6 * random_uniform(stream);
    for (size_t i = 0; i < OPTIONS; i++) {
        struct configuration *here = &chain->all[s][i];
        *here = (struct configuration){.batch = (uint16_t)(1u << (i / (VCPUS * VGPUS))),
                                       .vcpu = (uint16_t)(1 + i / VGPUS % VCPUS),
                                       .vgpu = (uint16_t)(1 + i % VGPUS)};
        here->time = sim_from_ms(base * pow(here->batch, by_batch) / pow(here->vcpu, by_vcpu) /
                                 pow(here->vgpu, by_vgpu));
    }
    chain->functions[s] = (struct function){.name = (char[]){"f"},
                                            .service = SERVICE_PROFILE,
                                            .gpus = &chain->on,
                                            .configurations = chain->all[s],
                                            .configuration_count = OPTIONS};
}

/* Cost of the cheapest vector that meets the SLO at nominal times, by looking at all. */
static double chain_cheapest(const struct chain *chain, enum tune_batching batching, sim_time_t slo,
                             sim_time_t *fastest)
{
    double cheapest = INFINITY;
    *fastest = SIM_FOREVER;
    const size_t options = batching == TUNE_ALONE ? VCPUS * VGPUS : OPTIONS;
    for (size_t i = 0; i < options; i++)
        for (size_t j = 0; j < options; j++) {
            const struct configuration *a = &chain->all[0][i];
            const struct configuration *b = &chain->all[1][j];
            *fastest = a->time + b->time < *fastest ? a->time + b->time : *fastest;
            if (a->time + b->time <= slo)
                cheapest = fmin(cheapest, a->cost_per_job_usd + b->cost_per_job_usd);
        }
    return cheapest;
}

static void chain_create(struct chain *chain, uint64_t instance)
{
    RANDOM_STREAM(stream, 13, RANDOM_TEST, instance, 0);
    memset(chain, 0, sizeof *chain);
    for (size_t s = 0; s < STAGES; s++)
        chain_surface(chain, s, &stream);
    chain->next = 1;
    chain->stages[0] = (struct stage){.function = 0, .next = &chain->next};
    chain->stages[1] = (struct stage){.function = 1, .after = &chain->after, .after_count = 1};
    chain->stages[0].next_count = 1;
    chain->application =
        (struct application){.stages = chain->stages, .stage_count = STAGES, .weight = 1};
    chain->gpu = (struct gpu_spec){.sharing = SHARING_MPS, .units = VGPUS, .memory_mb = 1000};
    chain->kind = (struct gpu_kind){.units = VGPUS, .speed = 1, .vgpu_hour_usd = 0.67};
    chain->on = (struct function_gpu){.noise_cv = 0.05, .runs = true};
    chain->group =
        (struct invoker_group){.count = 2, .vcpus = 8, .gpus = &chain->gpu, .gpu_count = 1};
    chain->workload = (struct workload){.functions = chain->functions,
                                        .function_count = STAGES,
                                        .applications = &chain->application,
                                        .application_count = 1,
                                        .cluster = {.groups = &chain->group,
                                                    .group_count = 1,
                                                    .invoker_count = 2,
                                                    .vcpu_hour_usd = 0.034},
                                        .kinds = &chain->kind,
                                        .kind_count = 1};
    for (size_t s = 0; s < STAGES; s++)
        for (size_t i = 0; i < OPTIONS; i++) {
            struct configuration *here = &chain->all[s][i];
            here->cost_usd = sim_to_s(here->time) / 3600 * (0.034 * here->vcpu + 0.67 * here->vgpu);
            here->cost_per_job_usd = here->cost_usd / here->batch;
        }
    sim_time_t fastest;
    chain_cheapest(chain, TUNE_ALONE, 0, &fastest);
    chain->application.slo = (sim_time_t)((double)fastest * (1.1 + 1.5 * random_uniform(&stream)));
}

static struct tune_parameters settings_default(enum tune_batching batching, uint64_t seed)
{
    return (struct tune_parameters){.search = {.initial = 10,
                                               .rounds = 20,
                                               .proposals = 3,
                                               .candidates = 128,
                                               .confidence = 0.95,
                                               .tuning_seed = seed},
                                    .batching = batching,
                                    .executions = 100,
                                    .percentile = 95,
                                    .occupancy = 0.5};
}

/* Share of random worlds whose tuned vector meets the SLO at nominal times, mean excess of its cost
 * over the cheapest that does. */
static void tune_worlds(enum tune_batching batching, size_t instances, double least_share,
                        double most_regret)
{
    size_t met = 0;
    double regret = 0;
    for (uint64_t instance = 0; instance < instances; instance++) {
        struct chain chain;
        struct tuning tuning;
        chain_create(&chain, instance);
        const struct tune_parameters settings = settings_default(batching, instance);
        assert_true(tune_application(&arena, &chain.workload, 0, &settings, &tuning, hear()));
        const struct configuration *a = &chain.all[0][tuning.configuration[0]];
        const struct configuration *b = &chain.all[1][tuning.configuration[1]];
        assert_true(batching == TUNE_PLANNED || (a->batch == 1 && b->batch == 1));
        assert_true(tuning.result.evaluations <= 70 && tuning.result.evaluations > 60);
        if (a->time + b->time > chain.application.slo)
            continue;
        sim_time_t fastest;
        const double optimum = chain_cheapest(&chain, batching, chain.application.slo, &fastest);
        const double cost = a->cost_per_job_usd + b->cost_per_job_usd;
        assert_true(cost >= optimum * (1 - 1e-12));
        met++;
        regret += cost / optimum - 1;
    }
    regret /= (double)met;
    print_message("    %zu of %zu tuned vectors meet the SLO, mean excess cost %.2f %%\n", met,
                  instances, 100 * regret);
    assert_true((double)met >= least_share * (double)instances);
    assert_true(regret <= most_regret);
}

CASE(tuned_vectors_meet_the_slo_near_the_least_cost)
{
    tune_worlds(TUNE_ALONE, 12, 1, 0.10);
}

CASE(tuned_vectors_with_batches_meet_the_slo_near_the_least_cost)
{
    tune_worlds(TUNE_PLANNED, 12, 0.9, 0.15);
}

CASE(tuning_depends_on_its_seed_alone)
{
    struct chain chain;
    struct tuning first;
    struct tuning again;
    bool differ = false;
    chain_create(&chain, 3);
    for (uint64_t seed = 0; seed < 3; seed++) {
        const struct tune_parameters settings = settings_default(TUNE_PLANNED, seed);
        memset(&first, 0, sizeof first);
        memset(&again, 0, sizeof again);
        assert_true(tune_application(&arena, &chain.workload, 0, &settings, &first, hear()));
        assert_true(tune_application(&arena, &chain.workload, 0, &settings, &again, hear()));
        assert_memory_equal(&first, &again, sizeof first);
        static double latency;
        differ = differ || (seed > 0 && first.result.latency != latency);
        latency = first.result.latency;
    }
    assert_true(differ);
}

CASE(a_slo_that_nothing_meets_is_said_to_be_so)
{
    struct chain chain;
    struct tuning tuning;
    chain_create(&chain, 1);
    sim_time_t fastest;
    chain_cheapest(&chain, TUNE_ALONE, 0, &fastest);
    chain.application.slo = fastest / 2;
    const struct tune_parameters settings = settings_default(TUNE_ALONE, 1);
    assert_true(tune_application(&arena, &chain.workload, 0, &settings, &tuning, hear()));
    assert_false(tuning.result.feasible);
    const sim_time_t time =
        chain.all[0][tuning.configuration[0]].time + chain.all[1][tuning.configuration[1]].time;
    assert_true((double)time <= 1.15 * (double)fastest);
}

/* ---- The policy ------------------------------------------------------------------------------ */

struct setup {
    unsigned rate, seed;
    const char *initial, *params;
};

#define SURFACE                                                                                    \
    "1,2,4", "1,2", "1,2,4",                                                                       \
        "[[80,50,30],[70,40,20]],[[120,80,50],[100,70,40]],[[180,120,75],[150,105,60]]", 0.1, 300, \
        0.5

/* A diamond and a chain on two small invokers. */
static char *setup_world(const struct setup *setup)
{
    char *platform = formatted("'initial':'%s','keep_alive_s':1", setup->initial);
    char *policy = formatted("'policy':{'name':'aquatope','params':{'rounds':4,'candidates':64%s}}",
                             setup->params);
    char *json = world_build(&(struct world){.invokers = 2,
                                             .vcpus = 6,
                                             .memory_mb = 1600,
                                             .gpu_memory_mb = 2000,
                                             .functions = {{"f", SURFACE}, {"g", SURFACE}},
                                             .interference = 0.2,
                                             .input_bytes = 1000,
                                             .output_bytes = 1000,
                                             .applications = "diamond: a=f b=g(a) c=g(a) d=f(b,c);"
                                                             "chain: a=g b=f(a)",
                                             .rate_per_s = setup->rate,
                                             .slo_factor = 1.2,
                                             .platform = platform,
                                             .more = policy,
                                             .requests = 300,
                                             .seed = setup->seed});
    return json;
}

/* `instead` runs with the parameters of the experiment's policy. */
static bool run_setup(const struct setup *setup, const struct policy *instead, struct log *log,
                      struct simulation_result *result, struct error *error)
{
    EXPERIMENT *experiment = load(setup_world(setup));
    const struct recorder recorder = log_recorder(log);
    double *values = NULL;
    const struct policy *policy = must(policy_resolve(experiment, &values, error));
    memset(log, 0, sizeof *log);
    const bool ok = simulation_run(experiment, instead != NULL ? instead : policy, values,
                                   &recorder, NULL, result, error);
    return ok;
}

static struct simulation_result run_setup_well(const struct setup *setup, struct log *log)
{
    struct simulation_result result = {0};
    assert_good(run_setup(setup, NULL, log, &result, hear()));
    return result;
}

/* The simulator ends a run that over-commits, loses a job or leaves one behind. */
CASE(every_request_finishes_in_every_world)
{
    static const char *const params[] = {
        "", ",'batching':'planned'", ",'batching':'planned','underfilled':'pad'",
        ",'pool_interval_s':0.05,'head_of_line':'strict'",
        ",'pool':'off','placement':'home','initial':1,'proposals':1"};
    for (size_t p = 0; p < sizeof params / sizeof *params; p++)
        for (unsigned rate = 4; rate <= 256; rate *= 8) {
            const struct setup setup = {rate, rate + (unsigned)p, rate == 32 ? "warm" : "cold",
                                        params[p]};
            RESULT result = run_setup_well(&setup, &rows);
            assert_int_equal(rows.request_count, 300);
            assert_int_equal(result.overall.dropped, 0);
            for (size_t i = 0; i < rows.batch_count; i++)
                assert_true(rows.batches[i].jobs <= rows.batches[i].configured_batch);
        }
}

CASE(a_queue_keeps_its_planned_container_whatever_waits)
{
    for (int pad = 0; pad < 2; pad++) {
        const struct setup setup = {150, 3, "warm",
                                    pad ? ",'batching':'planned','underfilled':'pad'"
                                        : ",'batching':'planned'"};
        RESULT result = run_setup_well(&setup, &rows);
        const struct batch_row *first[6] = {NULL};
        size_t partial = 0;
        for (size_t i = 0; i < rows.batch_count; i++) {
            const struct batch_row *here = &rows.batches[i];
            const struct batch_row **known = &first[here->queue];
            *known = *known != NULL ? *known : here;
            assert_int_equal(here->vcpu, (*known)->vcpu);
            assert_int_equal(here->vgpu, (*known)->vgpu);
            if (pad)
                assert_int_equal(here->configured_batch, (*known)->configured_batch);
            else
                assert_true(here->configured_batch < 2 * here->jobs); /* a grid of powers of 2 */
            partial += here->jobs < here->configured_batch;
        }
        assert_true(!pad || partial > 0);
        assert_int_equal(result.overall.preplanned_batches, rows.batch_count);
        if (pad)
            assert_true(fabs(result.overall.preplanned_miss_rate * (double)rows.batch_count -
                             (double)partial) < 1e-6);
        else
            assert_true(result.overall.preplanned_miss_rate > 0);
    }
}

CASE(the_pool_starts_containers_and_avoids_cold_starts)
{
    const struct setup with = {12, 5, "cold", ",'pool_interval_s':0.2,'pool_margin':2"};
    const struct setup without = {12, 5, "cold", ",'pool':'off'"};
    RESULT pooled = run_setup_well(&with, &rows);
    RESULT plain = run_setup_well(&without, &rows);
    assert_true(pooled.run.prewarms > 0);
    assert_int_equal(plain.run.prewarms, 0);
    assert_true(pooled.overall.cold_start_rate < plain.overall.cold_start_rate);
}

/* Gaps between requests are often longer than the platform's second: without the pool containers go
 * with it. The pool keeps one until its mean, 1 x 0.7 per idle interval of 2 s, is practically 0.
 */
CASE(the_pool_keeps_the_containers_that_it_predicts)
{
    const struct setup with = {1, 5, "cold", ",'pool_interval_s':2"};
    const struct setup without = {1, 5, "cold", ",'pool':'off'"};
    RESULT pooled = run_setup_well(&with, &rows);
    RESULT plain = run_setup_well(&without, &rows);
    assert_true(plain.run.evictions > 100);
    assert_true(pooled.run.evictions < plain.run.evictions / 2);
    assert_true(pooled.overall.cold_start_rate < plain.overall.cold_start_rate / 4);
}

static bool never_decide(void *state, struct platform *platform)
{
    return false;
}

CASE(the_pools_timer_does_not_keep_a_stuck_run_alive)
{
    struct policy stuck = *policy_find("aquatope", NULL);
    stuck.decide = never_decide;
    const struct setup setup = {50, 1, "cold", ",'pool_interval_s':0.05"};
    assert_bad_run(run_setup(&setup, &stuck, &rows, anew(), hear()), "rule progress");
}

CASE(the_same_seed_gives_the_same_run)
{
    static struct log first;
    static struct log again;
    const struct setup setup = {60, 9, "cold", ",'batching':'planned'"};
    RESULT a = run_setup_well(&setup, &first);
    RESULT b = run_setup_well(&setup, &again);
    assert_memory_equal(&a.overall, &b.overall, sizeof a.overall);
    assert_same_rows(&first, &again);
}

/* The container of each queue's batches, which does not change within a run. */
static void plans_of(const struct setup *setup, uint32_t plans[6])
{
    RESULT result = run_setup_well(setup, &rows);
    (void)result;
    for (size_t i = 0; i < rows.batch_count; i++)
        plans[rows.batches[i].queue] = rows.batches[i].vcpu * 100U + rows.batches[i].vgpu;
}

/* A few evaluations, so that tunings differ. */
CASE(runs_of_all_seeds_have_the_vectors_of_one_tuning)
{
    uint32_t first[6] = {0}, plans[6] = {0};
    bool differ = false;
    plans_of(&(struct setup){20, 1, "warm", ",'initial':2,'proposals':1"}, first);
    for (unsigned seed = 2; seed < 8; seed++) {
        plans_of(&(struct setup){20, seed, "warm", ",'initial':2,'proposals':1"}, plans);
        assert_memory_equal(plans, first, sizeof plans);
        char *params = formatted(",'initial':2,'proposals':1,'tuning_seed':%u", seed);
        plans_of(&(struct setup){20, 1, "warm", params}, plans);
        differ = differ || memcmp(plans, first, sizeof plans) != 0;
    }
    assert_true(differ);
}

static double default_of(const char *name)
{
    const struct policy *policy = policy_find("aquatope", NULL);
    for (size_t i = 0; i < keys_count(policy->parameters); i++)
        if (strcmp(policy->parameters[i].name, name) == 0)
            return policy->parameters[i].fallback;
    fail_msg("no parameter %s", name);
    return (double)NAN;
}

/* container_resource_manager of the released code: 10 + 20 × 3 evaluations, 95 % interval. */
CASE(the_released_codes_budget_is_the_default)
{
    assert_true(default_of("initial") == 10);
    assert_true(default_of("rounds") == 20);
    assert_true(default_of("proposals") == 3);
    assert_true(default_of("confidence") == 0.95);
    assert_int_equal(line_minimise(false, 1).evaluations <= 70, 1);
}

/* One change after another and back again: what is remembered is never that of other inputs. The
 * first tuning of each must come from its own inputs, the second from memory. */
CASE(what_is_remembered_is_what_tuning_would_find)
{
    static const struct override changes[] = {
        {"slo.factor", "1.1"},
        {"policy.name", "aquatope"}, /* changes nothing that tuning reads */
        {"functions.functions.0.noise.cv", "0.4"},
        {"cluster.price.vcpu_hour_usd", "3"},
        {"cluster.invokers.0.gpus.0.speed", "2"},
        {"cluster.invokers.0.gpus.0.sharing", "\"mig\""},
        {"cluster.invokers.0.vcpus", "2"},
        {"profile", "traces/profiles/esg-reconstructed-cpu50.json"},
        {"platform.noise.cv", "0.3"},
        {"slo.factor", "0.8"},
    };
    struct tune_parameters settings = {.search = {.initial = 6,
                                                  .rounds = 2,
                                                  .proposals = 2,
                                                  .candidates = 16,
                                                  .confidence = 0.95,
                                                  .tuning_seed = 1},
                                       .batching = TUNE_ALONE,
                                       .executions = 10,
                                       .percentile = 95,
                                       .occupancy = 0.5};
    size_t differ = 0;
    struct tuning before = {0};
    for (size_t i = 0; i < 3 * (sizeof changes / sizeof *changes); i++) {
        const size_t change = i % (sizeof changes / sizeof *changes);
        struct experiment *experiment = must(experiment_load(
            "workloads/experiments/strict-light.json", &changes[change], 1, hear()));
        /* Later rounds change the settings as well. */
        settings.occupancy = i / 10 == 1 ? 0.9 : 0.5;
        settings.search.tuning_seed = i / 10 == 2 ? 7 : 1;
        for (uint32_t a = 0; a < experiment->workload.application_count; a++) {
            struct tuning fresh = {0};
            assert_true(
                tune_application(&arena, &experiment->workload, a, &settings, &fresh, hear()));
            for (int again = 0; again < 2; again++) {
                struct tuning known = {0};
                assert_true(tune_application_once(&arena, &experiment->workload, a, &settings,
                                                  &known, hear()));
                for (size_t s = 0; s < experiment->workload.applications[a].stage_count; s++)
                    assert_int_equal(known.configuration[s], fresh.configuration[s]);
                assert_true(known.result.cost == fresh.result.cost);
                assert_true(known.result.latency == fresh.result.latency);
                assert_int_equal(known.result.evaluations, fresh.result.evaluations);
            }
            differ += a == 0 && fresh.result.cost != before.result.cost;
            before = a == 0 ? fresh : before;
        }
        experiment_free(experiment);
    }
    assert_true(differ >= 20); /* the changes do change what is found */
}

SUITE("aquatope")
