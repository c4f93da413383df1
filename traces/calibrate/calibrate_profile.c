/* Conversion of a calibration to a profile in JSON. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "traces/calibrate/calibrate.h"
#include "traces/calibrate/calibrate_grid.h"
#include "traces/calibrate/profile_writer.h"

/* The surfaces of one function are [first, end). */
struct span {
    size_t first, end;
};

struct writer {
    const struct calibration *calibration;
    const struct profile_options *options;
    int unit;
    size_t cells, predicted; /* of all functions so far, that have a latency */
};

/* ---- The grid -------------------------------------------------------------------------------- */

/* What is written of each cell: a quantile of its expected error, or one of these. */
enum { CELL_LATENCY = PROFILE_QUANTILES, CELL_SOURCE };

/* An expected error has two digits. */
static cJSON *number_row(const struct calibrated_grid *grid, const struct grid_cell *cells,
                         int what)
{
    cJSON *row = cJSON_CreateArray();
    for (size_t g = 0; g < grid->vgpus; g++)
        (void)cJSON_AddItemToArray(
            row, profile_number(what == CELL_LATENCY
                                    ? cells[g].ms
                                    : profile_round(cells[g].expected_errors[what], 2)));
    return row;
}

static cJSON *source_row(const struct calibrated_grid *grid, const struct grid_cell *cells)
{
    char *text = calloc(grid->vgpus + 1, 1);
    for (size_t g = 0; text != NULL && g < grid->vgpus; g++)
        text[g] = (char)cells[g].source;
    cJSON *row = text == NULL ? NULL : cJSON_CreateString(text);
    free(text);
    return row;
}

static void put_cells(const struct calibrated_grid *grid, const char *key, int what,
                      cJSON *function)
{
    cJSON *planes = cJSON_AddArrayToObject(function, key);
    for (size_t b = 0; b < grid->batches; b++) {
        cJSON *plane = cJSON_CreateArray();
        for (size_t c = 0; c < grid->vcpus; c++) {
            const struct grid_cell *row = grid->cells + (b * grid->vcpus + c) * grid->vgpus;
            (void)cJSON_AddItemToArray(plane, what == CELL_SOURCE ? source_row(grid, row)
                                                                  : number_row(grid, row, what));
        }
        (void)cJSON_AddItemToArray(planes, plane);
    }
}

static bool put_grid(struct writer *writer, const struct calibrated_grid *cells, cJSON *function,
                     struct error *error)
{
    if (cells->batches == 0)
        return error_input(error,
                           "no share of %s is a whole number of units of 1/%d; give another --unit",
                           function->string, writer->unit);
    profile_put_axes(function, &(struct profile_axis){cells->batch, cells->batches},
                     &(struct profile_axis){cells->vcpu, cells->vcpus},
                     &(struct profile_axis){cells->vgpu, cells->vgpus});
    put_cells(cells, "latency_ms", CELL_LATENCY, function);
    put_cells(cells, "source", CELL_SOURCE, function);
    put_cells(cells, "expected_error_50", PROFILE_ERROR_50, function);
    put_cells(cells, "expected_error_90", PROFILE_ERROR_90, function);
    for (size_t i = 0; i < cells->batches * cells->vcpus * cells->vgpus; i++) {
        writer->cells += cells->cells[i].source != PROFILE_NONE;
        writer->predicted += cells->cells[i].source == PROFILE_INTERPOLATED ||
                             cells->cells[i].source == PROFILE_EXTRAPOLATED;
    }
    return true;
}

/* ---- Functions ------------------------------------------------------------------------------- */

static void put_errors(cJSON *object, const char *key, const struct surface_errors *errors)
{
    cJSON *pair = cJSON_AddObjectToObject(object, key);
    profile_put_number(pair, "mape", errors->all.mape);
    profile_put_number(pair, "points", (double)errors->all.count);
    profile_put_number(pair, "inner_mape", errors->inner.mape);
    profile_put_number(pair, "inner_points", (double)errors->inner.count);
}

static void put_surface(const struct calibrated_surface *surface, cJSON *list)
{
    cJSON *object = cJSON_CreateObject();
    profile_put_number(object, "vcpu", surface->vcpu[0]);
    if (surface->vcpu[0] != surface->vcpu[1])
        profile_put_number(object, "most_vcpu", surface->vcpu[1]);
    if (!surface->on_gpu)
        (void)cJSON_AddBoolToObject(object, "gpu", false);
    cJSON *errors = cJSON_AddObjectToObject(object, "left_out");
    for (int fold = 0; fold < SURFACE_FOLDS; fold++)
        put_errors(errors, surface_fold_names[fold], &surface->surface.errors[fold]);
    put_errors(object, "naive", &surface->surface.naive);
    profile_put_number(object, "residual_cv", surface->surface.residual_cv);
    (void)cJSON_AddItemToArray(list, object);
}

/* The range in which a law may be evaluated: up to the batch that was asked for, else the grid's.
 */
static void put_range(cJSON *law, const char *key, const int *values, size_t count, int extended)
{
    const int range[2] = {extended > 0 ? 1 : values[0],
                          extended > 0 ? extended : values[count - 1]};
    (void)cJSON_AddItemToObject(law, key, cJSON_CreateIntArray(range, 2));
}

static cJSON *law_json(const struct writer *writer, const struct calibrated_surface *surface,
                       const struct calibrated_grid *grid, int vcpu)
{
    const struct latency_law *found = latency_model_law(&surface->surface.model);
    const int extended = writer->options->extend_batch;
    const int most = grid->batch[grid->batches - 1];
    const bool no_gpu = grid->vgpu[0] == 0;
    cJSON *law = cJSON_CreateObject();
    for (int i = 0; i < LAW_COEFFICIENTS; i++)
        profile_put_number(law, latency_coefficient_names[i],
                           found->k[i] *
                               (i < LAW_SHARE_OFFSET ? calibrated_factor(surface, vcpu) : 1));
    profile_put_known(law, "expected_error_50",
                      expected_error_between(writer->calibration, surface, PROFILE_ERROR_50));
    profile_put_known(law, "expected_error_90",
                      expected_error_between(writer->calibration, surface, PROFILE_ERROR_90));
    put_range(law, "batch", grid->batch, grid->batches,
              extended > 0 && extended < most ? most : extended);
    put_range(law, "vgpu", grid->vgpu + no_gpu, grid->vgpus - no_gpu,
              extended > 0 ? writer->unit : 0);
    if (!calibrated_has_parts(writer->calibration->set))
        return law;
    cJSON *parts = cJSON_AddArrayToObject(law, "parts");
    for (int vgpu = 1; vgpu <= writer->unit; vgpu++)
        (void)cJSON_AddItemToArray(parts, profile_number(grid->parts[vgpu]));
    return law;
}

/* One law, or one for each vCPU count; none without a GPU. */
static void put_laws(const struct writer *writer, const struct calibrated_surface *surface,
                     const struct calibrated_grid *grid, cJSON *function)
{
    if (!surface->on_gpu)
        return;
    if (grid->vcpus == 1) {
        (void)cJSON_AddItemToObject(function, "law",
                                    law_json(writer, surface, grid, grid->vcpu[0]));
        return;
    }
    cJSON *laws = cJSON_AddArrayToObject(function, "law");
    for (size_t c = 0; c < grid->vcpus; c++)
        (void)cJSON_AddItemToArray(laws, law_json(writer, surface, grid, grid->vcpu[c]));
}

static const char *grade(const struct sample_set *set)
{
    return set->rehearsal ? "rehearsal" : "measured";
}

/* Returns the measured value, or the base profile's if there is none, and records the source in
 * `evidence`. */
static double property(const struct writer *writer, double measured, double base, const char *key,
                       cJSON *evidence)
{
    if (isfinite(measured))
        profile_put_text(evidence, key, "%s", grade(writer->calibration->set));
    else if (isfinite(base))
        profile_put_text(evidence, key, "taken from the base profile");
    return isfinite(measured) ? measured : base;
}

static void put_properties(const struct writer *writer, uint32_t index, cJSON *function,
                           cJSON *evidence)
{
    static const struct profile_function unknown = {.input_bytes = NAN,
                                                    .noise_cv = NAN,
                                                    .cold_start_mean_ms = NAN,
                                                    .cold_start_cv = NAN,
                                                    .gpu_weights_mb = NAN,
                                                    .gpu_per_item_mb = NAN,
                                                    .host_memory_mb = NAN,
                                                    .bandwidth_share = NAN,
                                                    .turnaround_ms = NAN,
                                                    .turnaround_per_item_ms = NAN};
    const struct function_properties *measured = &writer->calibration->set->properties[index];
    const struct profile_function *base =
        writer->options->base == NULL ? NULL
                                      : profile_find(writer->options->base, function->string);
    struct profile_function properties = base == NULL ? unknown : *base;
    const bool sampled = measured->cold_count > 0;
    properties.noise_cv = property(writer, calibration_noise(writer->calibration, index),
                                   properties.noise_cv, "noise.cv", evidence);
    properties.cold_start_mean_ms =
        property(writer, sampled ? measured->cold_samples_ms[0] : NAN,
                 properties.cold_start_mean_ms, "cold_start_ms", evidence);
    properties.cold_start_samples_ms = sampled ? measured->cold_samples_ms : NULL;
    properties.cold_start_sample_count = measured->cold_count;
    properties.gpu_weights_mb = property(writer, measured->weights_mb, properties.gpu_weights_mb,
                                         "gpu_memory_mb.weights", evidence);
    properties.gpu_per_item_mb = property(writer, measured->per_item_mb, properties.gpu_per_item_mb,
                                          "gpu_memory_mb.per_item", evidence);
    properties.host_memory_mb =
        property(writer, NAN, properties.host_memory_mb, "host_memory_mb", evidence);
    properties.bandwidth_share =
        property(writer, measured->demand, properties.bandwidth_share, "bandwidth_share", evidence);
    properties.turnaround_ms = property(writer, measured->turnaround_ms, properties.turnaround_ms,
                                        "turnaround_ms", evidence);
    if (isfinite(measured->turnaround_ms))
        properties.turnaround_per_item_ms = measured->turnaround_per_item_ms;
    properties.input_bytes = property(writer, NAN, properties.input_bytes, "input_bytes", evidence);
    profile_put_properties(function, &properties);
}

static bool put_function(struct writer *writer, struct span span, cJSON *functions,
                         struct error *error)
{
    const struct calibrated_surface *first = &writer->calibration->surfaces[span.first];
    const char *name = writer->calibration->set->functions.names[first->function];
    cJSON *function = cJSON_AddObjectToObject(functions, name);
    cJSON *evidence = cJSON_CreateObject();
    struct calibrated_grid grid = {0};
    profile_put_text(function, "model", "%s", name);
    calibrated_grid_fill(writer->calibration, span.first, span.end, writer->options, writer->unit,
                         &grid);
    const bool fine = put_grid(writer, &grid, function, error);
    profile_put_text(
        evidence, "latency_ms",
        "source: m measured (median of repeats), i interpolated and x extrapolated by the "
        "predictor; null: did not run");
    if (fine)
        put_laws(writer, first, &grid, function);
    profile_put_text(evidence, "law",
                     "fitted; shapes latency between cells, and outside the grid if its "
                     "ranges are wider");
    put_properties(writer, first->function, function, evidence);
    (void)cJSON_AddItemToObject(function, "evidence", evidence);
    cJSON *list = cJSON_AddArrayToObject(function, "calibration");
    for (size_t s = span.first; s < span.end; s++)
        put_surface(&writer->calibration->surfaces[s], list);
    return fine;
}

/* ---- Interference ---------------------------------------------------------------------------- */

static void put_interference(const struct writer *writer, cJSON *profile)
{
    const struct interference_fit *fit = &writer->calibration->interference;
    cJSON *object = profile_put_interference(profile, &fit->laws[fit->choice]);
    profile_put_text(object, "evidence", "%s", grade(writer->calibration->set));
    cJSON *errors = cJSON_AddObjectToObject(object, "calibration");
    profile_put_number(errors, "slowdowns", (double)fit->none.count);
    profile_put_number(errors, "none", fit->none.mape);
    for (int kind = 0; kind < INTERFERENCE_LAWS; kind++) {
        cJSON *by_fold = cJSON_AddObjectToObject(errors, interference_law_names[kind]);
        for (int fold = 0; fold < INTERFERENCE_FOLDS; fold++)
            if (fit->errors[kind][fold].count > 0)
                profile_put_number(by_fold, interference_fold_names[fold],
                                   fit->errors[kind][fold].mape);
    }
}

/* ---- The file -------------------------------------------------------------------------------- */

static void put_origin(const struct sample_set *set, cJSON *profile)
{
    profile_put_text(profile, "device", "%s", set->device == NULL ? "" : set->device);
    profile_put_text(profile, "evidence", "%s", set->evidence == NULL ? "measured" : set->evidence);
    profile_put_text(profile, "source", "%s", set->source == NULL ? "" : set->source);
    profile_put_text(profile, "licence", "%s", set->licence == NULL ? "" : set->licence);
    if (set->kernels)
        profile_put_text(profile, "latency_of", "kernel");
    cJSON *derivation = cJSON_AddObjectToObject(profile, "derivation");
    profile_put_text(
        derivation, "latency_ms",
        "measured, and between and beyond it predicted, see \"calibration\" of each function for "
        "errors at left-out points (fractions); %zu configurations measured",
        set->latency_count);
    if (calibrated_has_parts(set))
        profile_put_text(
            derivation, "share",
            "fitted over the multiprocessors that a share came to, of all of the device's; "
            "vGPUs name the shares that were asked for");
    if (set->left_out != NULL)
        profile_put_text(derivation, "left_out", "%s", set->left_out);
}

/* Measured times do not make predicted cells measured. */
static void qualify_evidence(const struct writer *writer, cJSON *profile)
{
    char text[96];
    const cJSON *evidence = cJSON_GetObjectItemCaseSensitive(profile, "evidence");
    if (writer->predicted == 0 || strcmp(evidence->valuestring, "measured") != 0)
        return;
    (void)snprintf(text, sizeof text, "measured; %zu of %zu cells predicted", writer->predicted,
                   writer->cells);
    (void)cJSON_ReplaceItemInObjectCaseSensitive(profile, "evidence", cJSON_CreateString(text));
}

bool calibration_write_profile(const struct calibration *calibration,
                               const struct profile_options *options, FILE *out,
                               struct error *error)
{
    struct writer writer = {calibration, options,
                            options->unit > 0 ? options->unit : calibration->set->unit, 0, 0};
    if (calibration->surface_count == 0)
        return error_input(error, "there are no latencies; a profile needs them");
    cJSON *profile = cJSON_CreateObject();
    put_origin(calibration->set, profile);
    profile_put_number(profile, "unit", writer.unit);
    cJSON *functions = cJSON_AddObjectToObject(profile, "functions");
    bool fine = true;
    for (size_t s = 0; fine && s < calibration->surface_count;) {
        struct span span = {s, s + 1};
        while (span.end < calibration->surface_count &&
               calibration->surfaces[span.end].function == calibration->surfaces[s].function)
            span.end++;
        fine = put_function(&writer, span, functions, error);
        s = span.end;
    }
    qualify_evidence(&writer, profile);
    if (fine && calibration->has_interference)
        put_interference(&writer, profile);
    fine = fine && profile_print(profile, out, error);
    cJSON_Delete(profile);
    return fine;
}
