/* esg-reconstructed*.json: the six functions of the ESG paper.
 *
 *   T(b, c, g) = L · ((1 − φ) · D(b, g/7) / D(1, 1/7) + φ · b / c)
 *
 * L is the latency at the minimum configuration (1, 1, 1), the anchor. D is the share law fitted to
 * the donor's measurements. φ is the fraction of L spent on the vCPUs. T(1, 1, 1) is exactly L.
 *
 * The profiles "absolute" take the time on the GPU from a measurement on an A100 and not from L:
 *
 *   T(b, c, g) = G(b, g) + (L − G(1, 1)) · (φ · b / c + 1 − φ)
 *
 * G(b, g) is the measured time of the donor on g sevenths for the same number of
 * multiply-accumulates. φ is the fraction of the rest that is spent on the vCPUs.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_statistics_double.h>

#include "traces/calibrate/calibrate_interference.h"
#include "traces/calibrate/derive/derive.h"

/* Fixed exponent of the interference law; the profile's derivation gives the reason. */
static const double SHARE_EXPONENT = 1;

static double sevenths_ms(const struct latency_law *law, double batch, int vgpu)
{
    return latency_law_ms(law, batch, vgpu / 7.0);
}

static double parvagpu_ms(const struct raw *raw, const char *model, int batch, int gpcs)
{
    return raw_latency_ms(&(struct raw_runs){&raw->parvagpu, model}, batch, 1, gpcs);
}

/* ---- The share law --------------------------------------------------------------------------- */

/* Fits the latency law to all of iGniter's measurements of a model alone, by least squares of
 * relative errors. There is no floor per item, and kink and exponent are 1. That is the form of
 * iGniter (Xu et al., IEEE TPDS 2023, the GPU active time of its performance model):
 * t(b, s) = (k1·b² + k2·b + k3) / (s + k4) + k5 ms. Puts k1 to k5, and the mean of
 * |predicted / measured − 1|. */
static bool put_share_law(const struct raw *raw, const char *model, struct latency_law *law,
                          cJSON *values, struct error *error)
{
    static const bool held[LAW_COEFFICIENTS] = {
        [LAW_FLOOR_PER_ITEM] = true, [LAW_KINK] = true, [LAW_SHARE_EXPONENT] = true};
    const struct sample_set *set = &raw->igniter;
    const int32_t function = string_index_find(&set->functions, model);
    size_t count = 0;
    struct latency_point *points = calloc(set->latency_count + 1, sizeof *points);
    if (points == NULL || function == STRING_INDEX_NONE) {
        free(points);
        return error_input(error, "iGniter has no measurements of the donor %s", model);
    }
    for (size_t i = 0; i < set->latency_count; i++) {
        const struct latency_sample *sample = &set->latencies[i];
        if ((int32_t)sample->function == function)
            points[count++] = (struct latency_point){
                .batch = sample->batch, .share = samples_share(set, sample), .ms = sample->ms};
    }
    const double ms = points[0].ms;
    const struct latency_law start = {{0.1 * ms, 0, 1e-3 * ms, 0.1 * ms, 0.02 * ms, 0.01, 1, 1}};
    bool fine = latency_law_fit_relative(points, count, &start, held, law, error);
    /* Four significant digits: the precision of the measurements, and the same on every machine. */
    for (size_t i = 0; fine && i < LAW_COEFFICIENTS; i++)
        law->k[i] = profile_round(law->k[i], 4);
    double mape = 0;
    for (size_t i = 0; fine && i < count; i++)
        mape += fabs(latency_law_ms(law, points[i].batch, points[i].share) / points[i].ms - 1) /
                (double)count;
    profile_put_text(values, "law_mape", "%.2f", 100 * mape);
    profile_put_text(values, "k1", "%.6g", law->k[LAW_WORK_SQUARE]);
    profile_put_text(values, "k2", "%.6g", law->k[LAW_WORK_PER_ITEM]);
    profile_put_text(values, "k3", "%.6g", law->k[LAW_WORK]);
    profile_put_text(values, "k4", "%.6g", law->k[LAW_SHARE_OFFSET]);
    profile_put_text(values, "k5", "%.6g", law->k[LAW_FLOOR]);
    free(points);
    return fine;
}

/* Mean relative difference between the law's T(b, g/7) / T(b, 1/7) and the same ratio measured on
 * the A100, at batches of 16 and 32. At smaller batches the A100 measurements are bound by kernel
 * launches of the eager framework, not by the GPU. */
static bool put_a100_difference(const struct raw *raw, const char *model, cJSON *values,
                                struct error *error)
{
    static const int vgpus[] = {2, 4, 7};
    struct latency_law law;
    double sum = 0;
    if (!put_share_law(raw, model, &law, values, error))
        return false;
    for (size_t i = 0; i < 6; i++) {
        const int batch = i < 3 ? 16 : 32;
        const int vgpu = vgpus[i % 3];
        const double predicted = sevenths_ms(&law, batch, vgpu) / sevenths_ms(&law, batch, 1);
        sum += fabs(predicted * parvagpu_ms(raw, model, batch, 1) /
                        parvagpu_ms(raw, model, batch, vgpu) -
                    1);
    }
    profile_put_text(values, model, "%.1f", 100 * sum / 6);
    return true;
}

/* ---- Interference ---------------------------------------------------------------------------- */

/* Puts the mean relative error as `name`. */
static bool fit_interference(const struct sample_set *set, double share_exponent, const char *name,
                             struct interference *law, cJSON *values, struct error *error)
{
    double mape = 0;
    if (!interference_law_fit_held(INTERFERENCE_BANDWIDTH, share_exponent, set, NULL, law, error))
        return false;
    for (size_t i = 0; i < set->co_run_count; i++)
        mape += fabs(interference_law_slowdown(law, set, i) / set->co_runs[i].slowdown - 1) /
                (double)set->co_run_count;
    profile_put_text(values, name, "%.2f", 100 * mape);
    return true;
}

/* The models of a co-location, without their order. Its runs are next to each other. */
static uint64_t pair_of(const struct co_run *runs, size_t index)
{
    return UINT64_C(1) << runs[index].function | UINT64_C(1) << runs[index ^ 1].function;
}

/* Mean relative error if the mean slowdown of the other pairs of models is the prediction. */
static double cross_validate_mean(const struct co_run *runs, size_t count)
{
    double error = 0;
    for (size_t i = 0; i < count; i++) {
        double mean = 0;
        size_t others = 0;
        for (size_t j = 0; j < count; j++)
            if (pair_of(runs, j) != pair_of(runs, i))
                mean += (runs[j].slowdown - mean) / (double)++others;
        error += fabs(mean / runs[i].slowdown - 1) / (double)count;
    }
    return error;
}

static bool put_interference(const struct sample_set *set, cJSON *values, struct error *error)
{
    struct interference law;
    struct interference free_law;
    struct mean_error left_out = {0};
    if (!fit_interference(set, SHARE_EXPONENT, "mape", &law, values, error) ||
        !fit_interference(set, NAN, "free_mape", &free_law, values, error) ||
        !interference_cross_validate(INTERFERENCE_BANDWIDTH, SHARE_EXPONENT, FOLD_FUNCTIONS, set,
                                     set->groups, &left_out, error))
        return false;
    /* Four significant digits, as the share law. The victim's exponent tends to 0. */
    profile_put_text(values, "coefficient", "%.4g", law.coefficient);
    profile_put_text(values, "victim_exponent", "%.4f", law.victim_exponent);
    profile_put_text(values, "share_exponent", "%g", law.share_exponent);
    profile_put_text(values, "left_out", "%.2f", 100 * left_out.mape);
    profile_put_text(values, "by_constant", "%.2f",
                     100 * cross_validate_mean(set->co_runs, set->co_run_count));
    profile_put_text(values, "free_exponent", "%.3g", free_law.share_exponent);
    return true;
}

/* ---- Functions ------------------------------------------------------------------------------- */

struct function {
    const struct raw *raw;
    const char *donor;
    double images;          /* of the donor with as many multiply-accumulates as a job */
    double cpu_fraction;    /* φ */
    double anchor_ms;       /* L */
    struct latency_law law; /* D */
};

/* L · ((1 − φ) · D(b, g/7) / D(1, 1/7) + φ · b / c) */
static double shaped_ms(const void *context, int batch, int vcpu, int vgpu)
{
    const struct function *function = context;
    const double gpu = sevenths_ms(&function->law, batch, vgpu) / sevenths_ms(&function->law, 1, 1);
    return function->anchor_ms *
           ((1 - function->cpu_fraction) * gpu + function->cpu_fraction * batch / vcpu);
}

/* G(b, g): by straight lines between measured batches, beyond the last by the line through the last
 * two: the GPU is busy by then. Less than one image takes the time of one. */
static double measured_gpu_ms(const struct function *function, int batch, int vgpu)
{
    const struct raw *raw = function->raw;
    const char *donor = function->donor;
    const double images = batch * function->images;
    int low = 1;
    if (images <= 1)
        return parvagpu_ms(raw, donor, 1, vgpu);
    while (2 * low < images && !isnan(parvagpu_ms(raw, donor, 4 * low, vgpu)))
        low *= 2;
    double ms = parvagpu_ms(raw, donor, low, vgpu);
    return ms + (parvagpu_ms(raw, donor, 2 * low, vgpu) - ms) * (images - low) / low;
}

/* G(b, g) + (L − G(1, 1)) · (φ · b / c + 1 − φ) */
static double absolute_ms(const void *context, int batch, int vcpu, int vgpu)
{
    const struct function *function = context;
    const double rest = function->anchor_ms - measured_gpu_ms(function, 1, 1);
    const double cpu = function->cpu_fraction * batch / vcpu;
    return measured_gpu_ms(function, batch, vgpu) + rest * (cpu + 1 - function->cpu_fraction);
}

/* Mean relative difference between the law and GPU times at shares of 10 and 100 % and batches of
 * 16 and 32, which were not used in the fit. */
static double holdout_error(const struct function *function)
{
    double sum = 0;
    int count = 0;
    const cJSON *row = raw_rows(function->raw, "igniter/gpu_time.csv");
    for (; row != NULL; row = row->next) {
        const double batch = raw_number(row, "batch");
        const double share = raw_number(row, "mps_pct") / 100;
        if (strcmp(raw_text(row, "model"), function->donor) != 0 || batch == 1 || share == 0.5)
            continue;
        sum += fabs(latency_law_ms(&function->law, batch, share) / raw_number(row, "gpu_ms") - 1);
        count++;
    }
    return sum / count;
}

static bool add_function(const struct raw *raw, const cJSON *anchor, const struct derived *derived,
                         cJSON *profile, struct error *error)
{
    const bool absolute = derived->absolute;
    const char *name = raw_text(anchor, "function");
    const cJSON *row = absolute ? raw_find(raw, "esg/absolute.csv", name) : anchor;
    struct function function = {.raw = raw,
                                .donor = raw_text(row, "donor"),
                                .images = raw_number(row, "macs") / raw_number(row, "donor_macs"),
                                .cpu_fraction = derived->cpu_fraction,
                                .anchor_ms = raw_number(anchor, "latency_ms")};
    cJSON *added = output_function(profile, name);
    cJSON *values = raw_network(raw, raw_text(anchor, "network"), error);
    double demand = raw_demand(raw, raw_text(anchor, "donor"));
    if (values == NULL)
        return false;
    bool fine = absolute || put_share_law(raw, function.donor, &function.law, values, error);
    if (absolute) {
        const double gpu_ms = measured_gpu_ms(&function, 1, 1);
        demand *= gpu_ms / function.anchor_ms;
        profile_put_text(values, "images", "%.4g", function.images);
        profile_put_text(values, "gpu_ms", "%.4g", gpu_ms);
        profile_put_text(values, "gpu_percent", "%.1f", 100 * gpu_ms / function.anchor_ms);
    } else {
        profile_put_text(values, "holdout", "%.2f", 100 * holdout_error(&function));
    }
    raw_put(values, "demand", demand);
    output_fill(added, row);
    output_fill(added, anchor);
    output_fill(added, values);
    cJSON_Delete(values);
    return fine && output_latencies(added, absolute ? absolute_ms : shaped_ms, &function, error);
}

/* ---- The file -------------------------------------------------------------------------------- */

/* Measured CPU fraction at one core, by the model t = a + b / cores. It is the median over all
 * pairs of INFless's runs with a GPU that differ only in the cores. `model` NULL: all models. */
static void put_cpu_fraction(const struct sample_set *set, const char *model, const char *what,
                             cJSON *values)
{
    const size_t samples = set->latency_count;
    double *fractions = calloc(samples * samples + 1, sizeof *fractions);
    size_t count = 0;
    for (size_t i = 0; fractions != NULL && i < samples * samples; i++) {
        const struct latency_sample *few = &set->latencies[i / samples];
        const struct latency_sample *many = &set->latencies[i % samples];
        if (few->share == 0 || few->function != many->function || few->share != many->share ||
            few->batch != many->batch || few->vcpu >= many->vcpu ||
            (model != NULL && strcmp(set->functions.names[few->function], model) != 0))
            continue;
        double b = (few->ms - many->ms) / (1.0 / few->vcpu - 1.0 / many->vcpu);
        double a = few->ms - b / few->vcpu;
        if (a + b > 0)
            fractions[count++] = b / (a + b);
    }
    profile_put_text(values, what, "%.3f %s (%zu pairs)", gsl_stats_median(fractions, 1, count),
                     what, count);
    free(fractions);
}

/* Sets what the profile says of its derivation. */
static bool put_derivation(const struct raw *raw, cJSON *values, struct error *error)
{
    const cJSON *classification = raw_find(raw, "esg/anchors.csv", "classification");
    double shortest = INFINITY;
    double longest = 0;
    for (const cJSON *row = raw_rows(raw, "esg/anchors.csv"); row != NULL; row = row->next) {
        shortest = fmin(shortest, raw_number(row, "latency_ms"));
        longest = fmax(longest, raw_number(row, "latency_ms"));
    }
    profile_put_text(values, "shortest_ms", "%.4g", shortest);
    profile_put_text(values, "longest_ms", "%.4g", longest);
    profile_put_text(values, "classification_ms", "%s", raw_text(classification, "latency_ms"));
    profile_put_text(values, "seventh_ms", "%.4g", parvagpu_ms(raw, "resnet50", 1, 1));
    profile_put_text(values, "whole_ms", "%.4g", parvagpu_ms(raw, "resnet50", 1, 7));
    put_cpu_fraction(&raw->infless, NULL, "over all models", values);
    put_cpu_fraction(&raw->infless, "resnet-50", "for resnet-50", values);
    return put_a100_difference(raw, "vgg19", values, error) &&
           put_a100_difference(raw, "resnet50", values, error);
}

bool fill_esg(const struct raw *raw, const struct derived *derived, cJSON *profile,
              struct error *error)
{
    cJSON *values = cJSON_CreateObject();
    const cJSON *row = raw_rows(raw, "esg/anchors.csv");
    profile_put_text(values, "cpu_fraction", "%.6g", derived->cpu_fraction);
    bool fine =
        put_derivation(raw, values, error) && put_interference(&raw->igniter, values, error);
    for (; fine && row != NULL; row = row->next)
        fine = add_function(raw, row, derived, profile, error);
    output_fill(profile, values);
    cJSON_Delete(values);
    return fine;
}
