/* esgsim predict: a profile's latency of one configuration, and where it comes from. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/cli.h"
#include "traces/profile/profile.h"
#include "sim/base/json_write.h"

struct options {
    const char *file, *function;
    uint64_t batch, vcpu, vgpu; /* vcpu 0: not given */
    bool json;
};

#define MEMBER(member) CLI_MEMBER(struct options, member)

static const struct cli_option predict_table[] = {
    {"--function", "F", "the function", MEMBER(function), .required = true},
    {"--batch", "B", "jobs in the batch", MEMBER(batch), .required = true, .least = 1,
     .most = UINT16_MAX},
    {"--vcpu", "C", "vCPUs; by default the fewest of the function's grid", MEMBER(vcpu), .least = 1,
     .most = UINT16_MAX},
    {"--vgpu", "G", "share of the GPU in the profile's units", MEMBER(vgpu), .required = true,
     .most = 1000},
    {"--json", NULL, "print one JSON object", MEMBER(json)},
    {.name = NULL},
};

static const struct profile_function *function_choose(const struct profile *profile,
                                                      const char *wanted, struct error *error)
{
    const struct profile_function *found = profile_find(profile, wanted);
    if (found != NULL)
        return found;
    const struct profile_function *all = profile->functions;
    const char *near = error_nearest_of(wanted, &all[0].name, profile->function_count, sizeof *all);
    error_input(error, "%s: --function: no function '%s'; %s%s%s", profile->path, wanted,
                near != NULL ? "did you mean '" : "its first is '",
                near != NULL ? near : all[0].name, "'?");
    return NULL;
}

/* Checks that the profile answers for the configuration: on each axis from the least to the most of
 * its grid, and of the law where that is wider. */
static bool axes_check(const struct profile *profile, const struct profile_function *function,
                       int batch, int vcpu, int vgpu, struct error *error)
{
    const struct profile_law *law = function->extension;
    const struct {
        const char *option;
        int value;
        const struct profile_axis *axis;
        const int *extended; /* NULL: no law */
    } axes[] = {{"--batch", batch, &function->batch, law == NULL ? NULL : law->batch},
                {"--vgpu", vgpu, &function->vgpu, law == NULL ? NULL : law->vgpu},
                {"--vcpu", vcpu, &function->vcpu, NULL}};
    for (size_t i = 0; i < sizeof axes / sizeof axes[0]; i++) {
        const struct profile_axis *axis = axes[i].axis;
        const int *extended = axes[i].extended;
        int least = axis->values[0], most = axis->values[axis->count - 1];
        if (extended != NULL && extended[0] < least)
            least = extended[0];
        if (extended != NULL && extended[1] > most)
            most = extended[1];
        if (axes[i].value < least || axes[i].value > most)
            return error_input(error, "%s: %s has latencies for %s from %d to %d, not %d",
                               profile->path, function->name, axes[i].option, least, most,
                               axes[i].value);
    }
    return true;
}

static bool print_json(const struct profile *profile, double ms, const char *source,
                       const struct profile_origin *origin, struct error *error)
{
    cJSON *root = cJSON_CreateObject();
    json_put(root, "latency_ms %g source %s evidence %s", ms, source, profile->evidence);
    json_put(root, "expected_error %g expected_error_90 %g", origin->expected_error_50,
             origin->expected_error_90);
    return cli_print_json(root, error);
}

static bool predict(const struct options *options, const struct profile *profile,
                    const struct profile_function *function, struct error *error)
{
    const int batch = (int)options->batch;
    const int vgpu = (int)options->vgpu;
    const int vcpu = options->vcpu > 0 ? (int)options->vcpu : function->vcpu.values[0];
    if (!axes_check(profile, function, batch, vcpu, vgpu, error))
        return false;
    const double ms = profile_latency_ms(function, batch, vcpu, vgpu);
    if (isnan(ms))
        return error_input(error,
                           "%s: %s at batch %d, %d vCPU, %d vGPU did not run, or is next to what "
                           "did not (null)",
                           profile->path, function->name, batch, vcpu, vgpu);
    const struct profile_origin origin = profile_origin_at(function, batch, vcpu, vgpu);
    const char *source = origin.source == PROFILE_MEASURED       ? "measured"
                         : origin.source == PROFILE_INTERPOLATED ? "interpolated"
                                                                 : "extrapolated";
    /* A cell is not measured because it is on the grid. */
    const bool measured = strncmp(profile->evidence, "measured", strlen("measured")) == 0;
    if (options->json)
        return print_json(profile, ms, source, &origin, error);
    printf("%s, batch %d, %d vCPU, %d of %d vGPU: %.6g ms, %s", function->name, batch, vcpu, vgpu,
           profile->unit, ms, measured || origin.source != PROFILE_MEASURED ? source : "as stated");
    if (isnan(origin.expected_error_50))
        printf(", expected error not known");
    else
        printf(", expected error at most %.2g %% for half of such cells",
               100 * origin.expected_error_50);
    if (!isnan(origin.expected_error_90))
        printf(", %.2g %% for nine of ten", 100 * origin.expected_error_90);
    if (!measured)
        printf("; the profile's evidence: %s",
               profile->evidence[0] == '\0' ? "not given" : profile->evidence);
    (void)putchar('\n');
    return true;
}

static bool predict_run(int argc, char **argv, bool quiet, struct error *error)
{
    (void)quiet;
    struct options options = {0};
    if (!cli_parse(&command_predict, &argc, argv, &options, error))
        return false;
    options.file = argv[1];
    struct profile *profile = profile_load(options.file, error);
    const struct profile_function *function =
        profile == NULL ? NULL : function_choose(profile, options.function, error);
    const bool fine = function != NULL && predict(&options, profile, function, error);
    profile_free(profile);
    return fine;
}

const struct command command_predict = {
    .name = "predict",
    .summary = "print the latency of one configuration of a profile, and its source",
    .help = "The source is measured, interpolated or extrapolated. A profile without marks "
            "counts its cells as measured. If the evidence of the profile is not \"measured\", "
            "\"as stated\" is printed instead, and JSON has the \"evidence\". Half, and nine "
            "tenths, of such latencies have at most the expected errors. These follow from the "
            "noise of a measured latency, else from cross-validation. In JSON they are the "
            "fractions \"expected_error\" and \"expected_error_90\".\n"
            "\n"
            "Example: esgsim predict traces/profiles/v100-mps-igniter.json --function resnet50 "
            "--batch 6 --vgpu 50\n",
    .run = predict_run,
    .operands = "PROFILE.json",
    .options = predict_table,
};
