/* esgsim predict: a profile's latency of one configuration, and where it comes from. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/cli/cli.h"
#include "traces/profile/profile.h"
#include "sim/base/json_write.h"

struct options {
    const char *function;
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

static bool print_json(const struct profile *profile, const struct profile_prediction *is,
                       struct error *error)
{
    cJSON *root = cJSON_CreateObject();
    json_put(root, "latency_ms %g source %s evidence %s expected_error %g expected_error_90 %g",
             is->ms, is->source, profile->evidence, is->origin.expected_error_50,
             is->origin.expected_error_90);
    return cli_print_json(root, error);
}

static void print_text(const struct options *options, const struct profile *profile,
                       const struct profile_prediction *is)
{
    /* A cell is not measured because it is on the grid. */
    const bool measured = strncmp(profile->evidence, "measured", strlen("measured")) == 0;
    printf("%s, batch %d, %d vCPU, %d of %d vGPU: %.6g ms, %s", options->function,
           (int)options->batch, is->vcpu, (int)options->vgpu, profile->unit, is->ms,
           measured || is->origin.source != PROFILE_MEASURED ? is->source : "as stated");
    if (isnan(is->origin.expected_error_50))
        printf(", expected error not known");
    else
        printf(", expected error at most %.2g %% for half of such cells",
               100 * is->origin.expected_error_50);
    if (!isnan(is->origin.expected_error_90))
        printf(", %.2g %% for nine of ten", 100 * is->origin.expected_error_90);
    if (!measured)
        printf("; the profile's evidence: %s",
               profile->evidence[0] == '\0' ? "not given" : profile->evidence);
    (void)putchar('\n');
}

static bool predict_run(int argc, char **argv, bool quiet, struct error *error)
{
    struct options options = {0};
    struct profile_prediction is;
    if (!cli_parse(&command_predict, &argc, argv, &options, error))
        return false;
    struct profile *profile = profile_load(argv[1], error);
    bool fine =
        profile != NULL && profile_predict(profile, options.function, (int)options.batch,
                                           (int)options.vcpu, (int)options.vgpu, &is, error);
    if (fine && options.json)
        fine = print_json(profile, &is, error);
    else if (fine)
        print_text(&options, profile, &is);
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
