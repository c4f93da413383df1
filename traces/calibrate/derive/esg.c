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
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "traces/calibrate/calibrate_interference.h"
#include "traces/calibrate/derive/derive.h"

enum { BATCHES = 8, VCPUS = 8, VGPUS = 4, UNIT = 7 };

/* Fixed exponent of the interference law; the profile's derivation gives the reason. */
static const double SHARE_EXPONENT = 1;

static int batches[BATCHES] = {1, 2, 4, 8, 12, 16, 24, 32};
static int vcpus[VCPUS] = {1, 2, 3, 4, 5, 6, 7, 8};
static int vgpus[VGPUS] = {1, 2, 4, 7};

static double sevenths_ms(const struct share_law *law, double batch, int vgpu)
{
    return latency_law_ms(&law->law, batch, vgpu / (double)UNIT);
}

static double parvagpu_ms(const struct raw *raw, const char *model, int batch, int gpcs)
{
    return raw_latency_ms(&(struct raw_runs){&raw->parvagpu, model}, batch, 1, gpcs);
}

/* ---- Quality of the shape -------------------------------------------------------------------- */

/* Mean relative difference between the law and GPU times at shares of 10 and 100 % and batches of
 * 16 and 32, which were not used in the fit. */
static double holdout_error(const struct raw *raw, const char *model, const struct share_law *law)
{
    double sum = 0;
    size_t count = 0;
    for (const cJSON *row = raw->tables[RAW_GPU_TIME]->child; row != NULL; row = row->next) {
        double batch = raw_number(row, "batch");
        double share = raw_number(row, "mps_pct") / 100;
        if (strcmp(raw_text(row, "model"), model) != 0 || batch == 1 || share == 0.5)
            continue;
        double measured = raw_number(row, "gpu_ms");
        sum += fabs(latency_law_ms(&law->law, batch, share) / measured - 1);
        count++;
    }
    return sum / (double)count;
}

/* Mean relative difference between the law's T(b, g/7) / T(b, 1/7) and the same ratio measured on
 * the A100, at batches of 16 and 32. At smaller batches the A100 measurements are bound by kernel
 * launches of the eager framework, not by the GPU. */
static double a100_difference(const struct raw *raw, const char *model, const struct share_law *law)
{
    double sum = 0;
    for (int batch = 16; batch <= 32; batch *= 2)
        for (size_t g = 1; g < VGPUS; g++) {
            double measured =
                parvagpu_ms(raw, model, batch, vgpus[g]) / parvagpu_ms(raw, model, batch, 1);
            double predicted = sevenths_ms(law, batch, vgpus[g]) / sevenths_ms(law, batch, 1);
            sum += fabs(predicted / measured - 1);
        }
    return sum / (2 * (VGPUS - 1));
}

/* Measured CPU fraction at one core, by the model t = a + b / cores. It is the median over all
 * pairs of runs with a GPU that differ only in the cores. `model` NULL: all models. */
static double measured_cpu_fraction(const struct sample_set *set, const char *model, size_t *count)
{
    double *fractions = calloc(set->latency_count * set->latency_count, sizeof *fractions);
    const struct latency_sample *end = set->latencies + set->latency_count;
    *count = 0;
    for (const struct latency_sample *few = set->latencies; fractions != NULL && few < end; few++) {
        if (model != NULL && strcmp(set->functions.names[few->function], model) != 0)
            continue;
        for (const struct latency_sample *many = set->latencies; many < end; many++) {
            if (few->share == 0 || few->function != many->function || few->share != many->share ||
                few->batch != many->batch || few->vcpu >= many->vcpu)
                continue;
            double b = (few->ms - many->ms) / (1.0 / few->vcpu - 1.0 / many->vcpu);
            double a = few->ms - b / few->vcpu;
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

/* With four significant digits, as the share law. Returns the mean relative error. */
static bool fit_law(const struct sample_set *set, double share_exponent, struct interference *law,
                    double *mape, struct error *error)
{
    if (!interference_law_fit_held(INTERFERENCE_BANDWIDTH, share_exponent, set, NULL, law, error))
        return false;
    law->coefficient = profile_round(law->coefficient, 4);
    law->victim_exponent = profile_round(law->victim_exponent, 4);
    law->share_exponent = profile_round(law->share_exponent, 4);
    if (law->victim_exponent < 1e-6) /* tends to 0 */
        law->victim_exponent = 0;
    *mape = 0;
    for (size_t i = 0; i < set->co_run_count; i++)
        *mape += fabs(interference_law_slowdown(law, set, i) / set->co_runs[i].slowdown - 1) /
                 (double)set->co_run_count;
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

static bool add_interference(const struct sample_set *set, cJSON *profile, struct error *error)
{
    struct interference law;
    struct interference free_law;
    struct mean_error crossed = {0};
    double mape = 0;
    double free_mape = 0;
    if (!fit_law(set, SHARE_EXPONENT, &law, &mape, error) ||
        !fit_law(set, NAN, &free_law, &free_mape, error) ||
        !interference_cross_validate(INTERFERENCE_BANDWIDTH, SHARE_EXPONENT, FOLD_FUNCTIONS, set,
                                     set->groups, &crossed, error))
        return false;
    cJSON *model = profile_put_interference(profile, &law);
    profile_put_text(
        model, "evidence",
        "coefficient and victim_exponent fitted to measurements of other models on a V100; "
        "share_exponent and adding up over more than two partners assumed");
    profile_put_text(model, "source", "iGniter, %zu co-locations of two different models",
                     set->co_run_count / 2);
    profile_put_text(
        model, "derivation",
        "Excess = coefficient x victim demand ^ victim_exponent x co-runner demand x "
        "co-runner share ^ share_exponent; demand is measured DRAM utilisation. Least squares "
        "on the relative error of %zu measured slowdowns with share_exponent held at %g: MAPE "
        "%.2f %% of the slowdown, %.2f %% when each pair of models is predicted from the "
        "others (%.2f %% by one constant). Left free, share_exponent is %.3g with MAPE %.2f "
        "%%: pairs alone hardly depend on the split. It is held at %g because only then do "
        "several partners weigh as much as one that holds their shares together, which is the "
        "farthest that measurements of pairs reach.",
        set->co_run_count, SHARE_EXPONENT, 100 * mape, 100 * crossed.mape,
        100 * cross_validate_mean(set->co_runs, set->co_run_count), free_law.share_exponent,
        100 * free_mape, SHARE_EXPONENT);
    return true;
}

/* ---- Functions ------------------------------------------------------------------------------- */

struct function {
    const struct raw *raw;
    const struct esg_variant *variant;
    const cJSON *anchor, *absolute; /* rows */
    double anchor_ms;               /* L */
    struct share_law law;           /* D */
};

/* G(batch, g): the function's `batch` jobs have as many multiply-accumulates as `images` of the
 * donor. Between measured batches by straight lines, beyond the last by the line through the last
 * two: the GPU is busy by then. Less than one image takes the time of one. */
static double measured_gpu_ms(const struct function *function, int batch, int vgpu)
{
    const struct raw *raw = function->raw;
    const char *donor = raw_text(function->absolute, "donor");
    double images = batch * raw_number(function->absolute, "macs") /
                    raw_number(function->absolute, "donor_macs");
    int low = 1;
    if (images <= 1)
        return parvagpu_ms(raw, donor, 1, vgpu);
    while (2 * low < images && !isnan(parvagpu_ms(raw, donor, 4 * low, vgpu)))
        low *= 2;
    double ms = parvagpu_ms(raw, donor, low, vgpu);
    return ms + (parvagpu_ms(raw, donor, 2 * low, vgpu) - ms) * (images - low) / low;
}

/* T(b, c, g) */
static double function_ms(const void *context, int batch, int vcpu, int vgpu)
{
    const struct function *function = context;
    double fraction = function->variant->cpu_fraction;
    double cpu = fraction * batch / vcpu;
    double gpu = (1 - fraction) * sevenths_ms(&function->law, batch, vgpu) /
                 sevenths_ms(&function->law, 1, 1);
    if (!function->variant->absolute)
        return function->anchor_ms * (gpu + cpu);
    double rest = function->anchor_ms - measured_gpu_ms(function, 1, 1);
    return measured_gpu_ms(function, batch, vgpu) + rest * (cpu + 1 - fraction);
}

static cJSON *share_law_text(const struct function *function, const char *donor)
{
    const struct share_law *law = &function->law;
    const double *k = law->law.k;
    return profile_text(
        "t = (k1 b^2 + k2 b + k3) / (s + k4) + k5 ms, k = %.6g, %.6g, %.6g, %.6g, %.6g; MAPE "
        "%.2f %%; %.2f %% on hold-outs at shares 10 and 100 %%",
        k[LAW_WORK_SQUARE], k[LAW_WORK_PER_ITEM], k[LAW_WORK], k[LAW_SHARE_OFFSET], k[LAW_FLOOR],
        100 * law->mape, 100 * holdout_error(function->raw, donor, law));
}

static cJSON *gpu_text(const struct function *function)
{
    double macs = raw_number(function->absolute, "macs");
    double of_donor = raw_number(function->absolute, "donor_macs");
    double gpu_ms = measured_gpu_ms(function, 1, 1);
    return profile_text(
        "%.0f multiply-accumulates per job are %.4g images of the donor: %.4g of %.6g ms on one "
        "seventh (%.1f %%)",
        macs, macs / of_donor, gpu_ms, function->anchor_ms, 100 * gpu_ms / function->anchor_ms);
}

static bool put_function(const struct function *function, const cJSON *network,
                         const struct profile_function *facts, cJSON *profile, struct error *error)
{
    const cJSON *anchor = function->anchor;
    const bool absolute = function->variant->absolute;
    const char *donor = raw_text(absolute ? function->absolute : anchor, "donor");
    const struct output_note notes[] = {
        {"donor", NULL,
         profile_text("%s on %s: %s", donor,
                      absolute ? "slices of an A100 (ParvaGPU)" : "a V100 under MPS (iGniter)",
                      raw_text(absolute ? function->absolute : anchor, "donor_reason"))},
        {absolute ? "gpu" : "share law", NULL,
         absolute ? gpu_text(function) : share_law_text(function, donor)},
        {"latency_ms at (1, 1, 1)", raw_text(anchor, "latency_grade"), NULL},
        {"latency_ms over batch and vgpu",
         absolute ? "derived: measured (donor) at equal multiply-accumulates" : "measured (donor)",
         NULL},
        {"latency_ms over vcpu", "assumed", NULL},
        {"noise.cv", "assumed", NULL},
        {"cold_start_ms.mean", raw_text(anchor, "cold_start_grade"), NULL},
        {"cold_start_ms.cv", "assumed", NULL},
        raw_weights_note(network),
        {"gpu_memory_mb.per_item", "assumed", NULL},
        {"host_memory_mb", "assumed", NULL},
        {"bandwidth_share",
         absolute ? "derived: measured (donor) x the GPU's part of the latency"
                  : "measured (donor)",
         NULL},
        {"input_bytes", raw_text(anchor, "input_grade"), NULL},
        {0}};
    return output_function(profile, raw_text(anchor, "function"), raw_text(anchor, "model"), facts,
                           notes, function_ms, function, error);
}

static bool add_function(const struct raw *raw, const struct esg_variant *variant, const cJSON *row,
                         cJSON *profile, struct error *error)
{
    const char *name = raw_text(row, "function");
    const char *donor = raw_text(row, "donor");
    const int32_t index = string_index_find(&raw->igniter.functions, donor);
    struct function function = {.raw = raw,
                                .variant = variant,
                                .anchor = row,
                                .absolute = raw_find(raw->tables[RAW_ABSOLUTE], "function", name),
                                .anchor_ms = raw_number(row, "latency_ms")};
    struct profile_function facts;
    const cJSON *network = raw_function(raw, raw_text(row, "network"), &facts, error);
    char item[128] = "per_item_";
    strncat(item, name, sizeof item - strlen(item) - 1);
    if (function.absolute == NULL)
        return error_input(error, "%s/esg/absolute.csv: no row for %s", raw->folder, name);
    if (index == STRING_INDEX_NONE)
        return error_input(error, "%s/esg/anchors.csv: %s names an unknown donor", raw->folder,
                           name);
    if (network == NULL || !share_law_fit(&raw->igniter, donor, &function.law, error))
        return false;
    facts.batch = (struct profile_axis){batches, BATCHES};
    facts.vcpu = (struct profile_axis){vcpus, VCPUS};
    facts.vgpu = (struct profile_axis){vgpus, VGPUS};
    facts.cold_start_mean_ms = raw_number(row, "cold_start_ms");
    facts.cold_start_cv = raw_assumption(raw, "cold_start_cv");
    facts.gpu_per_item_mb = raw_assumption(raw, item);
    facts.bandwidth_share = raw->igniter.facts[index].demand;
    if (variant->absolute)
        facts.bandwidth_share *= measured_gpu_ms(&function, 1, 1) / function.anchor_ms;
    facts.input_bytes = raw_number(row, "input_bytes");
    return put_function(&function, network, &facts, profile, error);
}

/* ---- The file -------------------------------------------------------------------------------- */

static void put_cpu_note(const struct raw *raw, const struct esg_variant *variant,
                         cJSON *derivation)
{
    size_t all = 0;
    size_t resnet = 0;
    double median = measured_cpu_fraction(&raw->infless, NULL, &all);
    double median_resnet = measured_cpu_fraction(&raw->infless, "resnet-50", &resnet);
    profile_put_text(
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

static bool put_shape_notes(const struct raw *raw, cJSON *derivation, struct error *error)
{
    struct share_law wide;
    struct share_law deep;
    double shortest = INFINITY;
    double longest = 0;
    for (const cJSON *row = raw->tables[RAW_ANCHORS]->child; row != NULL; row = row->next) {
        shortest = fmin(shortest, raw_number(row, "latency_ms"));
        longest = fmax(longest, raw_number(row, "latency_ms"));
    }
    if (!share_law_fit(&raw->igniter, "vgg19", &wide, error) ||
        !share_law_fit(&raw->igniter, "resnet50", &deep, error))
        return false;
    profile_put_text(derivation, "law",
                     "T(b, c, g) = L ((1 - f) D(b, g/7) / D(1, 1/7) + f b / c): L the anchor, D "
                     "the donor's share law, f the CPU fraction");
    profile_put_text(
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

static void put_absolute_notes(const struct raw *raw, cJSON *derivation)
{
    const cJSON *row = raw_find(raw->tables[RAW_ANCHORS], "function", "classification");
    profile_put_text(derivation, "law",
                     "T(b, c, g) = G(b, g) + (L - G(1, 1)) (f b / c + 1 - f): L the anchor, G the "
                     "measured time on the GPU, f the vCPU fraction of the rest");
    profile_put_text(
        derivation, "gpu",
        "G(b, g) is the time that a donor took on g sevenths of an A100 for a batch with as many "
        "multiply-accumulates: linear between measured batches, beyond the largest by the line "
        "through the last two, for less than one image that of one image. Where a batch is small "
        "its time is that of launching kernels and hardly depends on the share, as measured. "
        "Nothing of the anchors enters: resnet50 takes %.4g ms on one seventh, the anchor of "
        "classification is %.4g ms.",
        parvagpu_ms(raw, "resnet50", 1, 1), raw_number(row, "latency_ms"));
    profile_put_text(
        derivation, "bandwidth_share",
        "A donor's demand x the GPU's part of the latency: a co-runner uses bandwidth only "
        "in that part. A victim is slowed for the whole of its time, because the law has "
        "no exponent for it: an upper bound.");
}

static bool put_notes(const struct raw *raw, const struct esg_variant *variant, cJSON *derivation,
                      struct error *error)
{
    if (variant->absolute)
        put_absolute_notes(raw, derivation);
    else if (!put_shape_notes(raw, derivation, error))
        return false;
    put_cpu_note(raw, variant, derivation);
    profile_put_text(derivation, "gpu_memory_mb",
                     "Weights are parameters x 4 bytes without the framework's own context; "
                     "activations are assumed so that a batch of 32 fits a seventh of 40 GB.");
    return true;
}

bool derive_esg(const struct raw *raw, const struct esg_variant *variant, const char *out,
                struct error *error)
{
    static const struct output_head shaped = {
        .device = "NVIDIA A100 as sevenths (reconstruction; shapes from a V100 under MPS)",
        .evidence = "reconstructed: anchors recalled, batch and share shape measured on donors, "
                    "vCPU law assumed",
        .source = "ESG (HPDC 2024, DOI 10.1145/3625549.3658657) for the anchors; iGniter (IEEE "
                  "TPDS 2023) for shapes and interference; see raw/*/ORIGIN.md",
        .licence = "facts and derived numbers; iGniter has no licence file upstream, measured "
                   "numbers only"};
    static const struct output_head absolute = {
        .device = "NVIDIA A100 as sevenths (reconstruction)",
        .evidence = "reconstructed: anchors recalled, GPU time derived from measured donors, split "
                    "of the rest into vCPU time and fixed time assumed",
        .source = "ESG (HPDC 2024, DOI 10.1145/3625549.3658657) for the anchors; ParvaGPU (SC "
                  "2024) for GPU times; iGniter (IEEE TPDS 2023) for interference; see "
                  "raw/*/ORIGIN.md",
        .licence = "facts and derived numbers; ParvaGPU is MIT; iGniter has no licence file "
                   "upstream, measured numbers only"};
    struct output_head head = variant->absolute ? absolute : shaped;
    head.unit = UNIT;
    head.derivation = cJSON_CreateObject();
    bool fine = put_notes(raw, variant, head.derivation, error);
    cJSON *profile = output_profile(&head);
    for (const cJSON *row = raw->tables[RAW_ANCHORS]->child; fine && row != NULL; row = row->next)
        fine = add_function(raw, variant, row, profile, error);
    fine = fine && add_interference(&raw->igniter, profile, error);
    return output_end(profile, fine, out, variant->name, error);
}
