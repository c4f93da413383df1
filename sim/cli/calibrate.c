/* esgsim calibrate: fits a profile to measured samples and reports cross-validated errors. */
#include <stdio.h>
#include <string.h>

#include "sim/base/atomic_file.h"
#include "sim/cli/calibrate.h"
#include "sim/cli/cli.h"
#include "sim/run/progress_bar.h"
#include "traces/calibrate/calibrate.h"
#include "traces/calibrate/samples.h"

/* ---- Arguments ------------------------------------------------------------------------------- */

#define MEMBER(member) CLI_MEMBER(struct calibrate_request, member)

static const char *const units[] = {"s", "ms", "us"}; /* in the order of sample_roles */
static const double units_ms[] = {1000, 1, 1e-3};
enum { UNITS = sizeof units / sizeof units[0] };

static bool take_columns(void *options, const char *name, char *text, struct error *error)
{
    struct calibrate_request *request = options;
    const char *columns[SAMPLE_ROLES + UNITS] = {NULL};
    if (!listing_take_roles(text, sample_roles, 0, columns,
                            "function=COLUMN, batch=, latency=, latency_us= or throughput=, share= "
                            "(K/N), share_pct=, sms=, sm_count= or slice=, vcpus=, std=, p95=, "
                            "samples=, cold_start=",
                            error))
        return false;
    memcpy(request->columns, columns, sizeof request->columns);
    for (size_t u = 0; u < UNITS; u++)
        if (columns[SAMPLE_ROLES + u] != NULL) {
            request->columns[SAMPLE_ROLE_LATENCY] = columns[SAMPLE_ROLES + u];
            request->latency_ms = units_ms[u];
        }
    return true;
}

/* A whole number is of slices, a word the unit of latencies. */
static bool take_unit(void *options, const char *name, char *text, struct error *error)
{
    struct calibrate_request *request = options;
    for (size_t u = 0; u < UNITS; u++)
        if (strcmp(text, units[u]) == 0) {
            request->latency_ms = units_ms[u];
            return true;
        }
    return cli_parse_u64(name, text, 1, 1000, &request->unit, error);
}

static const struct cli_option calibrate_table[] = {
    {"--out", "PROFILE.json", "write the profile", MEMBER(out)},
    {"--columns", "NAMES",
     "what columns of a table are for: function=COLUMN, batch=, latency= (with --unit, or "
     "latency_s=, latency_ms=, latency_us=) or throughput=, share= (K/N), share_pct=, sms=, "
     "sm_count= or slice= (of MIG), vcpus=, std=, "
     "p95=, samples= and cold_start=, separated by commas; #3 is the third column",
     .kind = OPTION_TAKE, .take = take_columns},
    CLI_TABLE_OPTIONS,
    {"--format", "dilu|infless|sgprs",
     "published form of a table without a header (default: by the name of its file)",
     .kind = OPTION_WORD, .place = offsetof(struct calibrate_request, format)},
    {"--sms", "N", "multiprocessors of the GPU, for a table with a column sms but no sm_count",
     MEMBER(sms), .least = 1, .most = SMS_MOST},
    {"--points", "F.csv", "write measured points, fit and residuals", MEMBER(points)},
    {"--unit", "N|s|ms|us",
     "slices of a GPU in the profile (default: the samples' own); or the unit of the column that "
     "latency= names",
     .kind = OPTION_TAKE, .repeated = true, .take = take_unit},
    {"--extend-batch", "N",
     "extend latencies beyond the measured grid by the fitted law, up to batch N",
     MEMBER(extend_batch), .least = 1, .most = UINT16_MAX},
    {"--grid", NULL,
     "fill the grid: every power of two up to the largest batch, and every share, in up to 100 "
     "steps",
     MEMBER(full_grid)},
    {"--base", "PROFILE.json",
     "profile that supplies values that were not measured (cold starts, memory, …)", MEMBER(base)},
    {"--device", "TEXT", "the profile's device", MEMBER(device)},
    {"--evidence", "TEXT", "the profile's evidence, such as measured", MEMBER(evidence)},
    {"--source", "TEXT", "the profile's source", MEMBER(source)},
    {"--licence", "TEXT", "the licence of the samples", MEMBER(licence)},
    {"--rehearsal", NULL, "accept a folder that was not measured on a GPU", MEMBER(rehearsal)},
    {"--check", NULL,
     "calibrate the shipped public data sets and compare the errors with their targets; exit "
     "status 1 if one is missed",
     MEMBER(check)},
    {"--json", NULL, "one JSON object", MEMBER(json)},
    {.name = NULL},
};

static bool check_outputs(const struct calibrate_request *request, struct error *error)
{
    for (size_t i = 0; i < request->file_count; i++)
        if (!cli_check_output("--out", request->out, "a table", request->files[i], error) ||
            !cli_check_output("--points", request->points, "a table", request->files[i], error))
            return false;
    return cli_check_output("--out", request->out, "--points", request->points, error);
}

static bool parse_arguments(int argc, char **argv, struct calibrate_request *request,
                            struct error *error)
{
    if (!cli_parse(&command_calibrate, &argc, argv, request, error))
        return false;
    request->files = (const char *const *)(argv + 1);
    request->file_count = (size_t)argc - 1;
    if (request->check &&
        (request->file_count > 0 || request->out != NULL || request->points != NULL))
        return cli_usage_error(&command_calibrate, error, "--check takes no files and writes none");
    if ((request->columns[SAMPLE_ROLE_LATENCY] != NULL) != (request->latency_ms > 0))
        return cli_usage_error(&command_calibrate, error,
                               "latency= of --columns and a --unit of time, s, ms or us, need one "
                               "another");
    if (!request->check && request->file_count == 0)
        return cli_usage_error(&command_calibrate, error, "a folder or a table is missing");
    return check_outputs(request, error);
}

/* ---- Work ------------------------------------------------------------------------------------ */

static void show_progress(void *context, const char *what, size_t done, size_t total)
{
    progress_bar_update(context, done, total);
}

bool calibrate_files(const struct calibrate_request *request, const char *const *files,
                     size_t count, bool cells, struct sample_set *set,
                     struct calibration *calibration, struct error *error)
{
    const struct {
        char **to;
        const char *text;
    } texts[] = {{&set->device, request->device},
                 {&set->evidence, request->evidence},
                 {&set->source, request->source},
                 {&set->licence, request->licence}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (texts[i].text != NULL)
            *texts[i].to = arena_text(samples_memory(set), "%s", texts[i].text);
    set->table = request->table;
    memcpy(set->columns, request->columns, sizeof set->columns);
    set->latency_ms = request->latency_ms;
    set->format = request->format;
    set->sms = (int)request->sms;
    if (!samples_read(set, files, count, request->rehearsal, error))
        return false;
    if (cells)
        samples_note_cells(set, request->unit > 0 ? (int)request->unit : set->unit);
    struct progress_bar progress_bar;
    progress_bar_start(&progress_bar, "fits", request->quiet);
    const bool fine = calibration_run(set, show_progress, &progress_bar, calibration, error);
    progress_bar_end(&progress_bar);
    return fine;
}

/* An output that is not requested is not begun. */
struct outputs {
    struct atomic_file profile, points;
};

/* Opens and locks the outputs before the fits, which take minutes, so that an unwritable file fails
 * early. */
static bool outputs_open(const struct calibrate_request *request, struct outputs *outputs,
                         struct error *error)
{
    return (request->out == NULL || atomic_file_open(&outputs->profile, request->out, error)) &&
           (request->points == NULL || atomic_file_open(&outputs->points, request->points, error));
}

static bool outputs_write(const struct calibrate_request *request, struct outputs *outputs,
                          const struct calibration *calibration, const struct profile *base,
                          struct error *error)
{
    const struct profile_options options = {(int)request->unit, (int)request->extend_batch,
                                            request->full_grid, base};
    if (request->points != NULL)
        calibration_write_points(calibration, outputs->points.stream);
    return request->out == NULL ||
           calibration_write_profile(calibration, &options, outputs->profile.stream, error);
}

static bool print_calibration(const struct calibrate_request *request,
                              const struct calibration *calibration, struct error *error)
{
    if (!request->json) {
        calibrate_report_text(stdout, request->files[0], calibration);
        return true;
    }
    return cli_print_json(calibrate_report_json(request->files[0], calibration), error);
}

static bool run_files(const struct calibrate_request *request, struct error *error)
{
    struct sample_set set = {0};
    struct calibration calibration = {0};
    struct outputs outputs = {0};
    struct profile *base = NULL;
    if (request->base != NULL && (base = profile_load(request->base, error)) == NULL)
        return false;
    bool fine = outputs_open(request, &outputs, error) &&
                calibrate_files(request, request->files, request->file_count, true, &set,
                                &calibration, error) &&
                print_calibration(request, &calibration, error) &&
                outputs_write(request, &outputs, &calibration, base, error);
    fine = atomic_file_end(&outputs.points, fine, error);
    fine = atomic_file_end(&outputs.profile, fine, error);
    calibration_clear(&calibration);
    samples_clear(&set);
    profile_free(base);
    return fine;
}

static bool calibrate_run(int argc, char **argv, bool quiet, struct error *error)
{
    struct calibrate_request request = {.quiet = quiet};
    if (!parse_arguments(argc, argv, &request, error))
        return false;
    return request.check ? calibrate_check(&request, error) : run_files(&request, error);
}

const struct command command_calibrate = {
    .name = "calibrate",
    .summary = "fit latency and interference models to measurements, with cross-validation errors",
    .help = "Reads folders of traces/capture/measure.py, and tables recognised by their header "
            "(see traces/README.md). Each function gets laws (launch-bound floor, then work / "
            "share) with a smooth correction, a factor for each vCPU count, and a surface of its "
            "own for times without a GPU. The output lists cross-validation errors for points, "
            "shares and batches, beside those of a naive fit (linear in batch / share). "
            "\"inner\" covers only points between others on both axes. \"least shares\" and "
            "\"largest batches\" leave out a fifth of the levels at that edge: the errors of "
            "extrapolation. The profile marks each cell as measured, interpolated or "
            "extrapolated, with the error to expect. For interference it lists cross-validation "
            "errors for co-locations, batches and pairs of functions, errors if one, two, four "
            "or eight co-locations of a pair are known, and errors of a pair's mean slowdown.\n"
            "\n"
            "Example: esgsim calibrate traces/profiles/raw/igniter/solo.csv "
            "traces/profiles/raw/igniter/pairs.csv --out v100.json\n",
    .run = calibrate_run,
    .operands = "[FOLDER|TABLE.csv…]",
    .options = calibrate_table,
};
