/* esgsim calibrate: fits a profile to measured samples and reports cross-validated errors. */
#include <math.h>
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

static bool add_filter(struct calibrate_request *request, const char *option, const char *column,
                       const char *value, struct error *error)
{
    if (request->filter_count == SAMPLE_FILTERS)
        return error_input(error, "%s: more than %d columns", option, SAMPLE_FILTERS);
    request->filters[request->filter_count++] = (struct sample_filter){column, value, false};
    return true;
}

static bool take_where(void *options, const char *name, char *text, struct error *error)
{
    char *equals = strchr(text, '=');
    if (equals == NULL || equals == text)
        return error_input(error, "%s: '%s' has no COLUMN=VALUE", name, text);
    *equals = '\0';
    return add_filter(options, name, text, equals + 1, error);
}

static bool take_ignore(void *options, const char *name, char *text, struct error *error)
{
    return add_filter(options, name, text, NULL, error);
}

static const struct cli_option calibrate_table[] = {
    {"--out", "PROFILE.json", "write the profile", MEMBER(out)},
    {"--where", "COLUMN=VALUE", "use only the rows of a table with that value", .kind = OPTION_TAKE,
     .repeated = true, .take = take_where},
    {"--ignore", "COLUMN", "ignore an unknown column of a table", .kind = OPTION_TAKE,
     .repeated = true, .take = take_ignore},
    {"--sms", "N", "multiprocessors of the GPU, for a table with a column sms but no sm_count",
     MEMBER(sms), .least = 1, .most = SMS_MOST},
    {"--points", "F.csv", "write measured points, fit and residuals", MEMBER(points)},
    {"--unit", "N", "slices of a GPU in the profile (default: the samples' own)", MEMBER(unit),
     .least = 1, .most = 1000},
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
    if (!request->check && request->file_count == 0)
        return cli_usage_error(&command_calibrate, error, "a folder or a table is missing");
    return check_outputs(request, error);
}

/* ---- Work ------------------------------------------------------------------------------------ */

static void show_progress(void *context, const char *what, size_t done, size_t total)
{
    (void)what;
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
        if (texts[i].text != NULL && !samples_set_text(texts[i].to, texts[i].text, error))
            return false;
    memcpy(set->filters, request->filters, sizeof set->filters);
    set->filter_count = request->filter_count;
    set->sms = (int)request->sms;
    if (!samples_read(set, files, count, request->rehearsal, error) ||
        (cells &&
         !samples_note_cells(set, request->unit > 0 ? (int)request->unit : set->unit, error)))
        return false;
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
