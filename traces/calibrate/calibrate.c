#include "traces/calibrate/calibrate.h"

#include <math.h>

#include <gsl/gsl_errno.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

/* ---- vCPUs ----------------------------------------------------------------------------------- */

/* Mean log ratio of the times at `vcpu` to those at `before`, at equal batches and shares; 0 if
 * there are none. O(count²). */
static double log_ratio(const struct calibrated_surface *surface, int before, int vcpu)
{
    double sum = 0;
    size_t pairs = 0;
    for (size_t i = 0; i < surface->count; i++)
        for (size_t j = 0; surface->samples[i].vcpu == before && j < surface->count; j++) {
            const struct latency_sample *a = &surface->samples[i], *b = &surface->samples[j];
            if (b->vcpu != vcpu || a->batch != b->batch || a->share != b->share)
                continue;
            sum += log(b->ms / a->ms);
            pairs++;
        }
    return pairs > 0 ? sum / (double)pairs : 0;
}

struct latency_point calibrated_place(const struct calibrated_surface *surface, int batch, int vcpu,
                                      double share)
{
    if (!surface->on_gpu)
        return (struct latency_point){.batch = batch, .share = (double)vcpu / surface->vcpu[1]};
    return (struct latency_point){.batch = batch, .share = share, .vcpu = vcpu};
}

double calibrated_factor(const struct calibrated_surface *surface, int vcpu)
{
    const struct latency_sample *samples = surface->samples;
    size_t i = 0;
    while (i + 1 < surface->count && samples[i + 1].vcpu <= vcpu)
        i++;
    const double low = samples[i].ms / surface->points[i].ms;
    if (i + 1 == surface->count || samples[i].vcpu >= vcpu)
        return low;
    const double high = samples[i + 1].ms / surface->points[i + 1].ms;
    return low * pow(high / low, log((double)vcpu / samples[i].vcpu) /
                                     log((double)samples[i + 1].vcpu / samples[i].vcpu));
}

/* Fills the points, whose times are without the factor of the vCPUs. */
static void place_points(const struct sample_set *set, struct calibrated_surface *surface)
{
    double factor = 1;
    for (size_t i = 0; i < surface->count; i++) {
        const struct latency_sample *sample = &surface->samples[i];
        if (surface->on_gpu && i > 0 && sample[-1].vcpu != sample->vcpu)
            factor *= exp(log_ratio(surface, sample[-1].vcpu, sample->vcpu));
        surface->points[i] =
            calibrated_place(surface, sample->batch, sample->vcpu, samples_share(set, sample));
        surface->points[i].ms = sample->ms / factor;
    }
}

/* ---- Surfaces -------------------------------------------------------------------------------- */

/* Splits the set's sorted samples into surfaces. */
static void cut_surfaces(const struct sample_set *set, struct calibration *calibration)
{
    calibration->surfaces =
        arena_allocate(calibration->arena, set->latency_count, sizeof *calibration->surfaces);
    for (size_t i = 0; i < set->latency_count;) {
        struct calibrated_surface *surface = &calibration->surfaces[calibration->surface_count++];
        size_t end = i + 1;
        while (end < set->latency_count && samples_alike(&set->latencies[i], &set->latencies[end]))
            end++;
        *surface = (struct calibrated_surface){
            .function = set->latencies[i].function,
            .on_gpu = set->latencies[i].share > 0,
            .vcpu = {set->latencies[i].vcpu, set->latencies[end - 1].vcpu},
            .samples = &set->latencies[i],
            .points = arena_allocate(calibration->arena, end - i, sizeof *surface->points),
            .count = end - i};
        place_points(set, surface);
        i = end;
    }
}

/* ---- What functions have in common ----------------------------------------------------------- */

static double median(double *values, size_t count);

/* The prior of surface `of` from the laws of all others: the median of each coefficient, and its
 * spread by the median absolute deviation (empirical Bayes). */
static struct latency_prior prior_of(const struct latency_prior *fits, size_t count, size_t of,
                                     double *room)
{
    static const double normal = 1.4826;
    static const double least = 0.1;
    static const double most = 2;
    struct latency_prior prior;
    for (size_t j = 0; j < LAW_COEFFICIENTS; j++) {
        size_t others = 0;
        for (size_t i = 0; i < count; i++)
            if (i != of)
                room[others++] = fits[i].place[j];
        prior.place[j] = median(room, others);
        for (size_t i = 0; i < others; i++)
            room[i] = fabs(room[i] - prior.place[j]);
        prior.pull[j] = 1 / fmax(least, fmin(most, normal * median(room, others)));
    }
    return prior;
}

/* Sets priors[surface]; *priors is NULL where there are too few functions to learn from. */
static bool learn_priors(const struct calibration *calibration, struct latency_prior **priors,
                         struct error *error)
{
    enum { FEW = 7 };
    static const double pull = 0.03;
    const size_t count = calibration->surface_count;
    *priors = NULL;
    if (count <= FEW)
        return true;
    struct latency_prior *fits = arena_allocate(calibration->arena, count, sizeof *fits);
    double *room = arena_allocate(calibration->arena, count, sizeof *room);
    *priors = arena_allocate(calibration->arena, count, sizeof **priors);
    bool fine = true;
    for (size_t i = 0; fine && i < count; i++) {
        const struct calibrated_surface *surface = &calibration->surfaces[i];
        struct latency_law law;
        fits[i] = latency_prior_weak(pull);
        fine = latency_law_fit(surface->points, surface->count, NULL, NULL, &fits[i], &law, error);
        if (fine)
            latency_prior_place(&fits[i], &law, surface->points, surface->count);
    }
    for (size_t i = 0; fine && i < count; i++)
        (*priors)[i] = prior_of(fits, count, i, room);
    return fine;
}

static bool check_counts(const struct calibration *calibration, struct error *error)
{
    for (size_t i = 0; i < calibration->surface_count; i++)
        if (calibration->surfaces[i].count < 2)
            return error_input(error,
                               "%s has %zu point to fit; measure at least 2 batches or shares",
                               calibration->set->functions.names[calibration->surfaces[i].function],
                               calibration->surfaces[i].count);
    return true;
}

static bool calibrate_surfaces(const struct sample_set *set, calibration_progress *progress,
                               void *context, struct calibration *calibration, struct error *error)
{
    const size_t total = calibration->surface_count + calibration->has_interference;
    struct latency_prior *priors = NULL;
    bool fine = check_counts(calibration, error) && learn_priors(calibration, &priors, error);
    for (size_t i = 0; fine && i < calibration->surface_count; i++) {
        struct calibrated_surface *surface = &calibration->surfaces[i];
        if (progress != NULL)
            progress(context, set->functions.names[surface->function], i, total);
        fine = surface_calibrate(surface->points, surface->count,
                                 priors == NULL ? NULL : &priors[i], &surface->surface, error);
    }
    if (fine)
        expected_errors_learn(calibration);
    return fine;
}

static bool calibrate_all(const struct sample_set *set, calibration_progress *progress,
                          void *context, struct calibration *calibration, struct error *error)
{
    size_t total = calibration->surface_count + calibration->has_interference;
    if (!calibrate_surfaces(set, progress, context, calibration, error))
        return false;
    if (!calibration->has_interference)
        return true;
    if (progress != NULL)
        progress(context, "interference", calibration->surface_count, total);
    return interference_calibrate(set, &calibration->interference, error) &&
           unseen_pairs_measure(set, calibration->arena, &calibration->unseen, error);
}

bool calibration_run(const struct sample_set *set, calibration_progress *progress, void *context,
                     struct calibration *calibration, struct error *error)
{
    *calibration = (struct calibration){0};
    if (set->latency_count == 0 && set->co_run_count == 0)
        return error_input(error, "there are no samples to calibrate with");
    *calibration = (struct calibration){
        .arena = arena_create(), .set = set, .has_interference = set->co_run_count > 0};
    /* By default GSL aborts the program on an error. With the handler off it returns a status. */
    gsl_error_handler_t *before = gsl_set_error_handler_off();
    if (set->latency_count > 0)
        cut_surfaces(set, calibration);
    const bool fine = calibrate_all(set, progress, context, calibration, error);
    (void)gsl_set_error_handler(before);
    if (!fine)
        calibration_clear(calibration);
    return fine;
}

void calibration_clear(struct calibration *calibration)
{
    for (size_t i = 0; i < calibration->surface_count; i++)
        surface_clear(&calibration->surfaces[i].surface);
    arena_destroy(calibration->arena);
    interference_fit_clear(&calibration->interference);
    *calibration = (struct calibration){0};
}

static void add_errors(struct mean_error *sum, const struct surface_errors *errors, bool inner)
{
    const struct mean_error *more = inner ? &errors->inner : &errors->all;
    if (more->count == 0)
        return;
    sum->count += more->count;
    sum->mape += (more->mape - sum->mape) * (double)more->count / (double)sum->count;
    sum->worst = fmax(sum->worst, more->worst);
}

static struct mean_error none_is_nan(struct mean_error sum)
{
    return sum.count > 0 ? sum : (struct mean_error){NAN, NAN, 0};
}

struct mean_error calibration_error(const struct calibration *calibration, enum surface_fold fold,
                                    bool inner)
{
    struct mean_error sum = {0};
    for (size_t i = 0; i < calibration->surface_count; i++)
        add_errors(&sum, &calibration->surfaces[i].surface.errors[fold], inner);
    return none_is_nan(sum);
}

struct mean_error calibration_naive_error(const struct calibration *calibration, bool inner)
{
    struct mean_error sum = {0};
    for (size_t i = 0; i < calibration->surface_count; i++)
        add_errors(&sum, &calibration->surfaces[i].surface.naive, inner);
    return none_is_nan(sum);
}

static double median(double *values, size_t count)
{
    gsl_sort(values, 1, count);
    return count == 0 ? NAN : gsl_stats_median_from_sorted_data(values, 1, count);
}

double calibration_noise(const struct calibration *calibration, uint32_t function)
{
    const struct sample_set *set = calibration->set;
    const struct function_properties *properties = &set->properties[function];
    double *values =
        arena_allocate(calibration->arena, set->latency_count + set->co_run_count, sizeof *values);
    size_t count = 0;
    if (properties->repeat_count >= REPEATS_LEAST)
        return sqrt(properties->repeat_squares / properties->repeat_freedom);
    for (size_t i = 0; i < set->latency_count; i++)
        if (set->latencies[i].function == function && !isnan(set->latencies[i].cv))
            values[count++] = set->latencies[i].cv;
    bool repeated = count > 0;
    for (size_t i = 0; !repeated && i < set->co_run_count; i++)
        if (set->co_runs[i].function == function && !isnan(set->co_runs[i].cv))
            values[count++] = set->co_runs[i].cv;
    const double noise = median(values, count);
    arena_release(calibration->arena, values);
    return noise;
}

static void print_point(FILE *out, const struct calibration *calibration,
                        const struct calibrated_surface *surface, size_t i)
{
    const struct latency_point *point = &surface->points[i];
    const double factor = calibrated_factor(surface, surface->samples[i].vcpu);
    const double fit = factor * surface->surface.fitted_ms[i];
    const double left_out = factor * surface->surface.left_out_ms[i];
    const double measured = surface->samples[i].ms;
    (void)fprintf(out, "%s,%d,%d,%d,%d,%.9g,%zu,%.9g,%.9g,%.9g,%.9g,%.9g,%d\n",
                  calibration->set->functions.names[surface->function], surface->samples[i].batch,
                  surface->samples[i].vcpu, surface->samples[i].share, calibration->set->unit,
                  measured, surface->samples[i].repeats, fit,
                  factor * latency_law_ms(latency_model_law(&surface->surface.model), point->batch,
                                          point->share),
                  left_out, fit / measured - 1, left_out / measured - 1,
                  surface_is_inner(surface->points, surface->count, i));
}

void calibration_write_points(const struct calibration *calibration, FILE *out)
{
    (void)fputs("function,batch,vcpu,share,unit,measured_ms,repeats,fit_ms,law_ms,"
                "left_out_ms,residual,left_out_residual,inner\n",
                out);
    for (size_t s = 0; s < calibration->surface_count; s++)
        for (size_t i = 0; i < calibration->surfaces[s].count; i++)
            print_point(out, calibration, &calibration->surfaces[s], i);
}
