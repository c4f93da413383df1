/* esg-reconstructed*.json: the six functions of the ESG paper.
 *
 *   T(b, c, g) = L · ((1 − φ) · D(b, g/7) / D(1, 1/7) + φ · b / c)
 *
 * L is the latency at the minimum configuration (1, 1, 1), the anchor. D is the share law fitted to
 * the donor's measurements. φ is the fraction of L spent on the CPU, which grows with the batch and
 * shrinks with the vCPUs. T(1, 1, 1) is exactly L.
 *
 * The profiles "absolute" take the time on the GPU from a measurement on an A100 and not from L:
 *
 *   T(b, c, g) = G(b, g) + (L − G(1, 1)) · (φ · b / c + 1 − φ)
 *
 * G(b, g) is the measured time of the donor on g sevenths for the same number of
 * multiply-accumulates. φ is then the fraction of the rest that is spent on the vCPUs; the other
 * part is fixed for each batch.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_statistics_double.h>
#include <gsl/gsl_sort.h>

#include "traces/calibrate/derive/derive.h"
#include "traces/calibrate/derive/output.h"

enum { BATCHES = 8, VCPUS = 8, VGPUS = 4, UNIT = 7, POINTS = BATCHES * VCPUS * VGPUS };

/* Fixed exponent of the interference law; the profile's derivation gives the reason. */
static const double SHARE_EXPONENT = 1;

static const int batches[BATCHES] = {1, 2, 4, 8, 12, 16, 24, 32};
static const int vcpus[VCPUS] = {1, 2, 3, 4, 5, 6, 7, 8};
static const int vgpus[VGPUS] = {1, 2, 4, 7};

/* ---- Quality of the shape -------------------------------------------------------------------- */

/* Mean relative difference between the law and GPU times at shares of 10 and 100 % and batches of
 * 16 and 32, which were not used in the fit. */
static double holdout_error(const struct raw *raw, const char *model, const struct share_law *law)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < raw->gpu_time->rows; i++) {
        double batch = table_number(raw->gpu_time, i, "batch");
        double share = table_number(raw->gpu_time, i, "mps_pct") / 100;
        if (strcmp(table_text(raw->gpu_time, i, "model"), model) != 0 || batch == 1 || share == 0.5)
            continue;
        double measured = table_number(raw->gpu_time, i, "gpu_ms");
        sum += fabs(share_law_ms(law, batch, share) / measured - 1);
        count++;
    }
    return sum / (double)count;
}

static double parvagpu_ms(const struct raw *raw, const char *model, double batch, double gpcs)
{
    for (size_t i = 0; i < raw->parvagpu->rows; i++)
        if (strcmp(table_text(raw->parvagpu, i, "model"), model) == 0 &&
            table_number(raw->parvagpu, i, "mps_procs") == 1 &&
            table_number(raw->parvagpu, i, "batch") == batch &&
            table_number(raw->parvagpu, i, "mig_gpcs") == gpcs)
            return table_number(raw->parvagpu, i, "latency_ms");
    return NAN;
}

/* Mean relative difference between the law's T(b, g/7) / T(b, 1/7) and the same ratio measured on
 * the A100, at batches of 16 and 32. At smaller batches the A100 measurements are bound by kernel
 * launches of the eager framework, not by the GPU. */
static double a100_difference(const struct raw *raw, const char *model, const struct share_law *law)
{
    double sum = 0;
    size_t count = 0;
    for (int batch = 16; batch <= 32; batch *= 2) {
        for (size_t g = 1; g < VGPUS; g++) {
            double measured =
                parvagpu_ms(raw, model, batch, vgpus[g]) / parvagpu_ms(raw, model, batch, 1);
            double predicted = share_law_ms(law, batch, vgpus[g] / (double)UNIT) /
                               share_law_ms(law, batch, 1 / (double)UNIT);
            sum += fabs(predicted / measured - 1);
            count++;
        }
    }
    return sum / (double)count;
}

/* ---- Measured CPU fraction ------------------------------------------------------------------- */

static bool same_run_but_cores(const struct table *table, size_t i, size_t j)
{
    return strcmp(table_text(table, i, "model"), table_text(table, j, "model")) == 0 &&
           table_number(table, i, "gpu_pct") == table_number(table, j, "gpu_pct") &&
           table_number(table, i, "batch") == table_number(table, j, "batch") &&
           table_number(table, i, "saturated") == 0 && table_number(table, j, "saturated") == 0 &&
           table_number(table, i, "gpu_pct") > 0 &&
           table_number(table, i, "cpu_cores") < table_number(table, j, "cpu_cores");
}

/* Measured CPU fraction at one core, by the model t = a + b / cores. It is the median over all
 * pairs of runs with a GPU that differ only in the cores. `model` NULL: all models. */
static double measured_cpu_fraction(const struct raw *raw, const char *model, size_t *count)
{
    const struct table *table = raw->infless;
    double *fractions = calloc(table->rows * table->rows + 1, sizeof *fractions);
    *count = 0;
    if (fractions == NULL)
        return NAN;
    for (size_t i = 0; i < table->rows; i++) {
        if (model != NULL && strcmp(table_text(table, i, "model"), model) != 0)
            continue;
        for (size_t j = 0; j < table->rows; j++) {
            if (!same_run_but_cores(table, i, j))
                continue;
            double few = table_number(table, i, "cpu_cores");
            double many = table_number(table, j, "cpu_cores");
            double slow = table_number(table, i, "latency_ms");
            double b = (slow - table_number(table, j, "latency_ms")) / (1 / few - 1 / many);
            double a = slow - b / few;
            if (a + b > 0)
                fractions[(*count)++] = b / (a + b);
        }
    }
    gsl_sort(fractions, 1, *count);
    double median = *count == 0 ? NAN : gsl_stats_median_from_sorted_data(fractions, 1, *count);
    free(fractions);
    return median;
}

/* ---- Interference ---------------------------------------------------------------------------- */

static void add_sample(const struct raw *raw, size_t row, int side, const double *demands,
                       struct excess_sample *sample)
{
    const struct table *pairs = raw->pairs;
    size_t victim = igniter_index(table_text(pairs, row, side == 1 ? "model1" : "model2"));
    size_t other = igniter_index(table_text(pairs, row, side == 1 ? "model2" : "model1"));
    size_t low = victim < other ? victim : other;
    size_t high = victim < other ? other : victim;
    *sample = (struct excess_sample){
        .victim = demands[victim],
        .other = demands[other],
        .share = table_number(pairs, row, side == 1 ? "mps2_pct" : "mps1_pct") / 100,
        .slowdown = table_number(pairs, row, side == 1 ? "slowdown1" : "slowdown2"),
        .fold = low * IGNITER_MODELS + high,
    };
}

/* Mean relative error over the samples of `fold` (SIZE_MAX: all), and their number. */
static double law_error(const struct bandwidth_law *law, const struct excess_sample *samples,
                        size_t count, size_t fold, size_t *used)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        if (fold != SIZE_MAX && samples[i].fold != fold)
            continue;
        sum += fabs(bandwidth_law_slowdown(law, &samples[i]) / samples[i].slowdown - 1);
        (*used)++;
    }
    return sum;
}

/* Mean relative error when each pair of models is predicted from the other pairs. */
static bool cross_validate(const struct excess_sample *samples, size_t count, double *mape,
                           struct error *error)
{
    double sum = 0;
    size_t used = 0;
    for (size_t fold = 0; fold < IGNITER_MODELS * IGNITER_MODELS; fold++) {
        struct bandwidth_law law;
        if (fold / IGNITER_MODELS >= fold % IGNITER_MODELS)
            continue;
        if (!fit_bandwidth_law(samples, count, fold, SHARE_EXPONENT, &law, error))
            return false;
        sum += law_error(&law, samples, count, fold, &used);
    }
    *mape = sum / (double)used;
    return true;
}

/* The same with the mean slowdown of the other pairs as the prediction. */
static double cross_validate_constant(const struct excess_sample *samples, size_t count)
{
    double error = 0;
    for (size_t i = 0; i < count; i++) {
        double sum = 0;
        size_t others = 0;
        for (size_t j = 0; j < count; j++) {
            if (samples[j].fold == samples[i].fold)
                continue;
            sum += samples[j].slowdown;
            others++;
        }
        error += fabs(sum / (double)others / samples[i].slowdown - 1);
    }
    return error / (double)count;
}

static void describe_law(const struct excess_sample *samples, size_t count,
                         const struct bandwidth_law *law, const struct bandwidth_law *free_law,
                         double crossed, cJSON *model)
{
    size_t used = 0;
    double mape = law_error(law, samples, count, SIZE_MAX, &used) / (double)count;
    double free_mape = law_error(free_law, samples, count, SIZE_MAX, &used) / (double)count;
    output_note(
        model, "derivation",
        "Excess = coefficient x victim demand ^ victim_exponent x co-runner demand x "
        "co-runner share ^ share_exponent; demand is measured DRAM utilisation. Least squares "
        "on the relative error of %zu measured slowdowns with share_exponent held at %g: MAPE "
        "%.2f %% of the slowdown, %.2f %% when each pair of models is predicted from the "
        "others (%.2f %% by one constant). Left free, share_exponent is %.3g with MAPE %.2f "
        "%%: pairs alone hardly depend on the split. It is held at %g because only then do "
        "several partners weigh as much as one that holds their shares together, which is the "
        "farthest that measurements of pairs reach.",
        count, SHARE_EXPONENT, 100 * mape, 100 * crossed,
        100 * cross_validate_constant(samples, count), free_law->share_exponent, 100 * free_mape,
        SHARE_EXPONENT);
}

static bool fit_and_add_law(const struct excess_sample *samples, size_t count, cJSON *profile,
                            struct error *error)
{
    struct bandwidth_law law;
    struct bandwidth_law free_law;
    double crossed = NAN;
    if (!fit_bandwidth_law(samples, count, SIZE_MAX, SHARE_EXPONENT, &law, error) ||
        !fit_bandwidth_law(samples, count, SIZE_MAX, NAN, &free_law, error) ||
        !cross_validate(samples, count, &crossed, error))
        return false;
    cJSON *model = cJSON_AddObjectToObject(profile, "interference");
    output_note(model, "model", "bandwidth");
    output_number(model, "coefficient", law.coefficient);
    output_number(model, "victim_exponent", law.victim_exponent);
    output_number(model, "share_exponent", law.share_exponent);
    output_note(model, "evidence",
                "coefficient and victim_exponent fitted to measurements of other models on a V100; "
                "share_exponent and adding up over more than two partners assumed");
    output_note(model, "source", "iGniter, 750 co-locations of two different models");
    describe_law(samples, count, &law, &free_law, crossed, model);
    return true;
}

static bool add_interference(const struct raw *raw, cJSON *profile, struct error *error)
{
    double demands[IGNITER_MODELS];
    size_t count = 2 * raw->pairs->rows;
    struct excess_sample *samples = calloc(count + 1, sizeof *samples);
    if (samples == NULL)
        return error_run(error, "%s: out of memory", raw->pairs->path);
    for (size_t i = 0; i < IGNITER_MODELS; i++)
        demands[i] = igniter_demand(raw, igniter_models[i]);
    for (size_t i = 0; i < raw->pairs->rows; i++) {
        add_sample(raw, i, 1, demands, &samples[2 * i]);
        add_sample(raw, i, 2, demands, &samples[2 * i + 1]);
    }
    bool fine = fit_and_add_law(samples, count, profile, error);
    free(samples);
    return fine;
}

/* ---- Functions ------------------------------------------------------------------------------- */

static void fill_surface(double anchor_ms, double cpu_fraction, const struct share_law *law,
                         double *ms)
{
    double least = share_law_ms(law, 1, 1 / (double)UNIT);
    for (size_t b = 0; b < BATCHES; b++)
        for (size_t c = 0; c < VCPUS; c++)
            for (size_t g = 0; g < VGPUS; g++) {
                double shape = share_law_ms(law, batches[b], vgpus[g] / (double)UNIT) / least;
                double gpu = (1 - cpu_fraction) * shape;
                double cpu = cpu_fraction * batches[b] / vcpus[c];
                ms[(b * VCPUS + c) * VGPUS + g] = anchor_ms * (gpu + cpu);
            }
}

/* The row of raw->absolute that belongs to a row of raw->anchors; rows if there is none. */
static size_t absolute_row(const struct raw *raw, size_t row)
{
    return table_find(raw->absolute, "function", table_text(raw->anchors, row, "function"));
}

/* G(batch, g): the function's `batch` jobs have as many multiply-accumulates as `images` of the
 * donor. Between measured batches by straight lines, beyond the last by the line through the last
 * two: the GPU is busy by then. Less than one image takes the time of one. */
static double measured_gpu_ms(const struct raw *raw, size_t row, double batch, int vgpu)
{
    const char *donor = table_text(raw->absolute, row, "donor");
    double images = batch * table_number(raw->absolute, row, "macs") /
                    table_number(raw->absolute, row, "donor_macs");
    double low = 1;
    if (images <= 1)
        return parvagpu_ms(raw, donor, 1, vgpu);
    while (2 * low < images && !isnan(parvagpu_ms(raw, donor, 4 * low, vgpu)))
        low *= 2;
    double ms = parvagpu_ms(raw, donor, low, vgpu);
    return ms + (parvagpu_ms(raw, donor, 2 * low, vgpu) - ms) * (images - low) / low;
}

/* The GPU's part of the latency at the minimum configuration. */
static double gpu_part(const struct raw *raw, size_t row)
{
    return measured_gpu_ms(raw, absolute_row(raw, row), 1, 1) /
           table_number(raw->anchors, row, "latency_ms");
}

static void fill_absolute(const struct raw *raw, size_t row, double cpu_fraction, double *ms)
{
    size_t measured = absolute_row(raw, row);
    double rest =
        table_number(raw->anchors, row, "latency_ms") - measured_gpu_ms(raw, measured, 1, 1);
    for (size_t b = 0; b < BATCHES; b++)
        for (size_t c = 0; c < VCPUS; c++)
            for (size_t g = 0; g < VGPUS; g++)
                ms[(b * VCPUS + c) * VGPUS + g] =
                    measured_gpu_ms(raw, measured, batches[b], vgpus[g]) +
                    rest * (cpu_fraction * batches[b] / vcpus[c] + 1 - cpu_fraction);
}

static void add_evidence(const struct raw *raw, const struct esg_variant *variant, size_t row,
                         size_t network, cJSON *function)
{
    const struct table *anchors = raw->anchors;
    cJSON *evidence = cJSON_AddObjectToObject(function, "evidence");
    output_note(evidence, "latency_ms at (1, 1, 1)", "%s",
                table_text(anchors, row, "latency_grade"));
    output_note(evidence, "latency_ms over batch and vgpu", "%s",
                variant->absolute ? "derived: measured (donor) at equal multiply-accumulates"
                                  : "measured (donor)");
    output_note(evidence, "latency_ms over vcpu", "assumed");
    output_note(evidence, "noise.cv", "assumed");
    output_note(evidence, "cold_start_ms.mean", "%s", table_text(anchors, row, "cold_start_grade"));
    output_note(evidence, "cold_start_ms.cv", "assumed");
    output_note(evidence, "gpu_memory_mb.weights", "%s", table_text(raw->models, network, "grade"));
    output_note(evidence, "gpu_memory_mb.per_item", "assumed");
    output_note(evidence, "host_memory_mb", "assumed");
    output_note(evidence, "bandwidth_share", "%s",
                variant->absolute ? "derived: measured (donor) x the GPU's part of the latency"
                                  : "measured (donor)");
    output_note(evidence, "input_bytes", "%s", table_text(anchors, row, "input_grade"));
}

static void add_share_law(const struct raw *raw, size_t row, const struct share_law *law,
                          cJSON *derivation)
{
    const char *donor = table_text(raw->anchors, row, "donor");
    output_note(derivation, "donor", "%s on a V100 under MPS (iGniter): %s", donor,
                table_text(raw->anchors, row, "donor_reason"));
    output_note(
        derivation, "share law",
        "t = (k1 b^2 + k2 b + k3) / (s + k4) + k5 ms, k = %.6g, %.6g, %.6g, %.6g, %.6g; MAPE "
        "%.2f %%; %.2f %% on hold-outs at shares 10 and 100 %%",
        law->k[0], law->k[1], law->k[2], law->k[3], law->k[4], 100 * law->mape,
        100 * holdout_error(raw, donor, law));
}

static void add_gpu_part(const struct raw *raw, size_t row, size_t measured, cJSON *derivation)
{
    const struct table *table = raw->absolute;
    double anchor = table_number(raw->anchors, row, "latency_ms");
    output_note(derivation, "donor", "%s on slices of an A100 (ParvaGPU): %s",
                table_text(table, measured, "donor"), table_text(table, measured, "donor_reason"));
    output_note(derivation, "gpu",
                "%.0f multiply-accumulates per job are %.4g images of the donor: %.4g of %.6g ms "
                "on one seventh (%.1f %%)",
                table_number(table, measured, "macs"),
                table_number(table, measured, "macs") / table_number(table, measured, "donor_macs"),
                gpu_part(raw, row) * anchor, anchor, 100 * gpu_part(raw, row));
}

static void add_derivation(const struct raw *raw, const struct esg_variant *variant, size_t row,
                           size_t network, const struct share_law *law, cJSON *function)
{
    cJSON *derivation = cJSON_AddObjectToObject(function, "derivation");
    if (variant->absolute)
        add_gpu_part(raw, row, absolute_row(raw, row), derivation);
    else
        add_share_law(raw, row, law, derivation);
    output_note(derivation, "gpu_memory_mb.weights", "%.0f parameters x 4 bytes; %s",
                table_number(raw->models, network, "parameters"),
                table_text(raw->models, network, "source"));
}

/* The assumption "per_item_NAME". */
static double item_memory(const struct raw *raw, const char *name)
{
    char key[128] = "per_item_";
    strncat(key, name, sizeof key - strlen(key) - 1);
    return raw_assumption(raw, key);
}

static bool add_function(const struct raw *raw, const struct esg_variant *variant, size_t row,
                         cJSON *functions, struct error *error)
{
    const struct table *anchors = raw->anchors;
    const char *name = table_text(anchors, row, "function");
    const char *donor = table_text(anchors, row, "donor");
    size_t network = table_find(raw->models, "network", table_text(anchors, row, "network"));
    struct share_law law;
    double ms[POINTS];
    if (absolute_row(raw, row) == raw->absolute->rows)
        return error_input(error, "%s: no row for %s", raw->absolute->path, name);
    if (network == raw->models->rows || igniter_index(donor) == IGNITER_MODELS)
        return error_input(error, "%s: %s names an unknown network or donor", anchors->path, name);
    if (!igniter_law(raw, donor, &law, error))
        return false;
    cJSON *function = cJSON_AddObjectToObject(functions, name);
    output_note(function, "model", "%s", table_text(anchors, row, "model"));
    if (variant->absolute)
        fill_absolute(raw, row, variant->cpu_fraction, ms);
    else
        fill_surface(table_number(anchors, row, "latency_ms"), variant->cpu_fraction, &law, ms);
    const struct output_grid grid = {batches, vcpus, vgpus, BATCHES, VCPUS, VGPUS, ms};
    bool fine = output_latency(function, &grid, error);
    output_number(cJSON_AddObjectToObject(function, "noise"), "cv",
                  raw_assumption(raw, "noise_cv"));
    cJSON *cold = cJSON_AddObjectToObject(function, "cold_start_ms");
    output_number(cold, "mean", table_number(anchors, row, "cold_start_ms"));
    output_number(cold, "cv", raw_assumption(raw, "cold_start_cv"));
    cJSON *memory = cJSON_AddObjectToObject(function, "gpu_memory_mb");
    output_number(memory, "weights", raw_weights_mb(raw, table_text(anchors, row, "network")));
    output_number(memory, "per_item", item_memory(raw, name));
    output_number(function, "host_memory_mb", raw_assumption(raw, "host_memory_mb"));
    output_number(function, "bandwidth_share",
                  igniter_demand(raw, donor) * (variant->absolute ? gpu_part(raw, row) : 1));
    output_number(function, "input_bytes", table_number(anchors, row, "input_bytes"));
    add_evidence(raw, variant, row, network, function);
    add_derivation(raw, variant, row, network, &law, function);
    return fine;
}

/* ---- The file -------------------------------------------------------------------------------- */

static void add_cpu_note(const struct raw *raw, const struct esg_variant *variant,
                         cJSON *derivation)
{
    size_t all = 0;
    size_t resnet = 0;
    double median = measured_cpu_fraction(raw, NULL, &all);
    double median_resnet = measured_cpu_fraction(raw, "resnet-50", &resnet);
    output_note(
        derivation, "vcpu",
        "Assumed: %.6g of %s is pre- and post-processing on the CPU, "
        "proportional to batch / vCPUs%s. Nearest measurement: INFless on a 2080 Ti, unsaturated "
        "runs with a GPU that differ in cores only, fraction at one core by t = a + b / cores: "
        "median %.3f for resnet-50 (%zu pairs), %.3f over all models (%zu pairs).",
        variant->cpu_fraction,
        variant->absolute ? "what the GPU leaves of the latency at (1, 1, 1)"
                          : "the latency at (1, 1, 1)",
        variant->absolute ? "; the other part is fixed for each batch" : "", median_resnet, resnet,
        median, all);
}

static bool add_donor_note(const struct raw *raw, cJSON *derivation, struct error *error)
{
    struct share_law wide;
    struct share_law deep;
    double shortest = INFINITY;
    double longest = 0;
    for (size_t i = 0; i < raw->anchors->rows; i++) {
        shortest = fmin(shortest, table_number(raw->anchors, i, "latency_ms"));
        longest = fmax(longest, table_number(raw->anchors, i, "latency_ms"));
    }
    if (!igniter_law(raw, "vgg19", &wide, error) || !igniter_law(raw, "resnet50", &deep, error))
        return false;
    output_note(
        derivation, "donors",
        "Batch and share shape is D(b, g/7) / D(1, 1/7) of a donor's share law. The V100 MPS "
        "set (TensorRT) was preferred to the A100 MIG set, which has sevenths, because at "
        "small batches the latter's eager framework is bound by kernel launches (resnet50, "
        "batch 1: %.4g ms on one seventh, %.4g ms on the whole GPU), which functions of %.4g "
        "to %.4g ms are not. Where launches do not bind (batch 16 and 32) the two agree on "
        "the share: the law's T(b, g/7) / T(b, 1/7) differs from the A100's by %.1f %% for "
        "vgg19 and %.1f %% for resnet50 on average.",
        parvagpu_ms(raw, "resnet50", 1, 1), parvagpu_ms(raw, "resnet50", 1, 7), shortest, longest,
        100 * a100_difference(raw, "vgg19", &wide), 100 * a100_difference(raw, "resnet50", &deep));
    return true;
}

static void add_absolute_note(const struct raw *raw, cJSON *derivation)
{
    size_t row = table_find(raw->anchors, "function", "classification");
    output_note(
        derivation, "gpu",
        "G(b, g) is the time that a donor took on g sevenths of an A100 for a batch with as many "
        "multiply-accumulates: linear between measured batches, beyond the largest by the line "
        "through the last two, for less than one image that of one image. Where a batch is small "
        "its time is that of launching kernels and hardly depends on the share, as measured. "
        "Nothing of the anchors enters: resnet50 takes %.4g ms on one seventh, the anchor of "
        "classification is %.4g ms.",
        parvagpu_ms(raw, "resnet50", 1, 1), table_number(raw->anchors, row, "latency_ms"));
    output_note(derivation, "bandwidth_share",
                "A donor's demand x the GPU's part of the latency: a co-runner uses bandwidth only "
                "in that part. A victim is slowed for the whole of its time, because the law has "
                "no exponent for it: an upper bound.");
}

static void add_header(bool absolute, cJSON *profile)
{
    output_note(profile, "device", "NVIDIA A100 as sevenths (reconstruction%s)",
                absolute ? "" : "; shapes from a V100 under MPS");
    output_note(profile, "evidence",
                absolute
                    ? "reconstructed: anchors recalled, GPU time derived from measured donors, "
                      "split of the rest into vCPU time and fixed time assumed"
                    : "reconstructed: anchors recalled, batch and share shape measured on "
                      "donors, vCPU law assumed");
    output_note(
        profile, "source",
        "ESG (HPDC 2024, DOI 10.1145/3625549.3658657) for the anchors; %siGniter (IEEE TPDS "
        "2023) for %sinterference; see raw/*/ORIGIN.md",
        absolute ? "ParvaGPU (SC 2024) for GPU times; " : "", absolute ? "" : "shapes and ");
    output_note(
        profile, "licence",
        "facts and derived numbers; %siGniter has no licence file upstream, measured numbers "
        "only",
        absolute ? "ParvaGPU is MIT; " : "");
}

bool derive_esg(const struct raw *raw, const struct esg_variant *variant, const char *out,
                struct error *error)
{
    cJSON *profile = cJSON_CreateObject();
    bool fine = true;
    add_header(variant->absolute, profile);
    cJSON *derivation = cJSON_AddObjectToObject(profile, "derivation");
    output_note(derivation, "law", "%s",
                variant->absolute
                    ? "T(b, c, g) = G(b, g) + (L - G(1, 1)) (f b / c + 1 - f): L the anchor, G the "
                      "measured time on the GPU, f the vCPU fraction of the rest"
                    : "T(b, c, g) = L ((1 - f) D(b, g/7) / D(1, 1/7) + f b / c): L the anchor, D "
                      "the donor's share law, f the CPU fraction");
    if (variant->absolute)
        add_absolute_note(raw, derivation);
    else
        fine = add_donor_note(raw, derivation, error);
    add_cpu_note(raw, variant, derivation);
    output_note(derivation, "gpu_memory_mb",
                "Weights are parameters x 4 bytes without the framework's own context; activations "
                "are assumed so that a batch of 32 fits a seventh of 40 GB.");
    (void)cJSON_AddNumberToObject(profile, "unit", UNIT);
    cJSON *functions = cJSON_AddObjectToObject(profile, "functions");
    for (size_t row = 0; fine && row < raw->anchors->rows; row++)
        fine = add_function(raw, variant, row, functions, error);
    fine = fine && add_interference(raw, profile, error) &&
           output_write(profile, out, variant->name, error);
    cJSON_Delete(profile);
    return fine;
}
