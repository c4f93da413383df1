/* esgsim calibrate: fits a profile to measured samples and reports cross-validated errors. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/base/atomic_file.h"
#include "sim/base/json_write.h"
#include "sim/cli/calibrate_report.h"
#include "sim/cli/cli.h"
#include "sim/run/progress_bar.h"
#include "traces/calibrate/calibrate.h"
#include "traces/calibrate/samples.h"
#include "workloads/load/json_include.h"

struct request {
    const char *const *files;
    size_t file_count;
    const char *out, *points, *base;
    const char *device, *evidence, *source, *licence;
    uint64_t unit, extend_batch, sms; /* 0: not given */
    struct sample_filter filters[SAMPLE_FILTERS];
    size_t filter_count;
    bool json, check, full_grid, rehearsal, quiet;
};

/* ---- Arguments ------------------------------------------------------------------------------- */

#define MEMBER(member) CLI_MEMBER(struct request, member)

static bool add_filter(struct request *request, const char *option, const char *column,
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

static bool check_outputs(const struct request *request, struct error *error)
{
    for (size_t i = 0; i < request->file_count; i++)
        if (!cli_check_output("--out", request->out, "a table", request->files[i], error) ||
            !cli_check_output("--points", request->points, "a table", request->files[i], error))
            return false;
    return cli_check_output("--out", request->out, "--points", request->points, error);
}

static bool parse_arguments(int argc, char **argv, struct request *request, struct error *error)
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

/* A misspelt column must not pass for one that selects everything. */
static bool check_filters(const struct sample_set *set, struct error *error)
{
    for (size_t i = 0; i < set->filter_count; i++)
        if (!set->filters[i].found)
            return error_input(error, "%s %s: no table has that column",
                               set->filters[i].value != NULL ? "--where" : "--ignore",
                               set->filters[i].column);
    return true;
}

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool read_files(const struct request *request, const char *const *files, size_t count,
                       struct sample_set *set, struct error *error)
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
    for (size_t i = 0; i < count; i++)
        if (!(is_folder(files[i]) ? measured_folder_read(set, files[i], request->rehearsal, error)
                                  : sample_table_read(set, files[i], error)))
            return false;
    if (!check_filters(set, error))
        return false;
    samples_reduce(set);
    return samples_leave_out_lone(set, error);
}

static void show_progress(void *context, const char *what, size_t done, size_t total)
{
    (void)what;
    progress_bar_update(context, done, total);
}

static bool calibrate(const struct request *request, const struct sample_set *set,
                      struct calibration *calibration, struct error *error)
{
    struct progress_bar progress_bar;
    progress_bar_start(&progress_bar, "fits", request->quiet);
    bool fine = calibration_run(set, show_progress, &progress_bar, calibration, error);
    progress_bar_end(&progress_bar);
    return fine;
}

/* Notes the points that are no cells of the profile, and a missing edge. */
static bool note_points(const struct request *request, struct sample_set *set, struct error *error)
{
    const int unit = request->unit > 0 ? (int)request->unit : set->unit;
    size_t outside = 0, whole = 0;
    for (size_t i = 0; i < set->latency_count; i++) {
        outside += samples_in_unit(set, set->latencies[i].share, unit) < 0;
        whole += set->latencies[i].share == set->unit;
    }
    if (set->latency_count > 0 && whole == 0 &&
        !samples_note(set, error, "no point is of the whole GPU: a time there is extrapolated"))
        return false;
    return outside == 0 ||
           samples_note(set, error,
                        "%zu of %zu points have shares that are no whole number of 1/%d of a GPU: "
                        "they shape the fit, and are no cells of the profile",
                        outside, set->latency_count, unit);
}

/* An output that is not requested is not begun. */
struct outputs {
    struct atomic_file profile, points;
};

/* Opens and locks the outputs before the fits, which take minutes, so that an unwritable file fails
 * early. */
static bool outputs_open(const struct request *request, struct outputs *outputs,
                         struct error *error)
{
    return (request->out == NULL || atomic_file_open(&outputs->profile, request->out, error)) &&
           (request->points == NULL || atomic_file_open(&outputs->points, request->points, error));
}

static bool outputs_write(const struct request *request, struct outputs *outputs,
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

static bool print_calibration(const struct request *request, const struct calibration *calibration,
                              struct error *error)
{
    if (!request->json) {
        calibrate_report_text(stdout, request->files[0], calibration);
        return true;
    }
    return cli_print_json(calibrate_report_json(request->files[0], calibration), error);
}

static bool run_files(const struct request *request, struct error *error)
{
    struct sample_set set = {0};
    struct calibration calibration = {0};
    struct outputs outputs = {0};
    struct profile *base = NULL;
    if (request->base != NULL && (base = profile_load(request->base, error)) == NULL)
        return false;
    bool fine = outputs_open(request, &outputs, error) &&
                read_files(request, request->files, request->file_count, &set, error) &&
                note_points(request, &set, error) &&
                calibrate(request, &set, &calibration, error) &&
                print_calibration(request, &calibration, error) &&
                outputs_write(request, &outputs, &calibration, base, error);
    fine = atomic_file_end(&outputs.points, fine, error);
    fine = atomic_file_end(&outputs.profile, fine, error);
    calibration_clear(&calibration);
    samples_clear(&set);
    profile_free(base);
    return fine;
}

/* ---- The public sets ------------------------------------------------------------------------- */

/* Targets in percent for the leave-one-out error on inner points; 0: none. */
struct public_set {
    const char *name;
    const char *files[2];
    double function_target; /* each function */
    double set_target;      /* all functions together */
    double interference_target;
};

#define RAW "traces/profiles/raw/"

static const struct public_set public_sets[] = {
    {"iGniter", {RAW "igniter/solo.csv", RAW "igniter/pairs.csv"}, 2.5, 0, 2.5},
    {"ParvaGPU", {RAW "parvagpu/parvagpu_all.csv", NULL}, 0, 5, 0},
    {"Dilu", {RAW "dilu/dilu_all.csv", NULL}, 0, 5, 0},
    {"INFless", {RAW "infless/infless_profiles_clean.csv", NULL}, 0, 0, 0},
    {"SGPRS", {RAW "sgprs/speedup.csv", NULL}, 0, 0, 0},
};

struct verdicts {
    cJSON *list; /* NULL: print text */
    size_t missed, asked;
};

static void judge(struct verdicts *verdicts, const struct public_set *set, const char *what,
                  double fraction, double naive, double target)
{
    double percent = 100 * fraction;
    bool met = percent <= target;
    if (target == 0)
        return;
    verdicts->asked++;
    verdicts->missed += !met;
    if (verdicts->list == NULL) {
        printf("  %s %s: %.2f %%, target %.2f %%: %s (naive %.2f %%)\n", set->name, what, percent,
               target, met ? "met" : "missed", 100 * naive);
        return;
    }
    json_put(json_append(verdicts->list), "set %s what %s mape %g naive_mape %g target %g met %hhd",
             set->name, what, percent, 100 * naive, target, met);
}

static void judge_set(struct verdicts *verdicts, const struct public_set *set,
                      const struct calibration *calibration)
{
    const struct interference_fit *interference = &calibration->interference;
    for (size_t i = 0; i < calibration->surface_count; i++) {
        const struct calibrated_surface *entry = &calibration->surfaces[i];
        judge(verdicts, set, calibration->set->functions.names[entry->function],
              entry->surface.errors[FOLD_POINT].inner.mape, entry->surface.naive.inner.mape,
              set->function_target);
    }
    judge(verdicts, set, "all functions", calibration_error(calibration, FOLD_POINT, true).mape,
          calibration_naive_error(calibration, true).mape, set->set_target);
    if (calibration->has_interference)
        judge(verdicts, set, "interference",
              interference->errors[interference->kind][FOLD_LOCATION].mape, interference->none.mape,
              set->interference_target);
}

static bool check_set(const struct request *request, const struct public_set *public_set,
                      cJSON *reports, struct verdicts *verdicts, struct error *error)
{
    char *files[2] = {NULL, NULL};
    size_t count = 0;
    struct sample_set set = {0};
    struct calibration calibration = {0};
    bool fine = true;
    for (; fine && count < 2 && public_set->files[count] != NULL; count++) {
        char *found = json_include_find_operand(public_set->files[count]);
        files[count] = found != NULL ? found : strdup(public_set->files[count]);
        fine = files[count] != NULL || error_run(error, "calibrate: out of memory");
    }
    fine = fine && read_files(request, (const char *const *)files, count, &set, error) &&
           calibrate(request, &set, &calibration, error);
    if (fine && reports != NULL)
        (void)cJSON_AddItemToArray(reports, calibrate_report_json(public_set->name, &calibration));
    else if (fine)
        calibrate_report_text(stdout, public_set->name, &calibration);
    if (fine)
        judge_set(verdicts, public_set, &calibration);
    if (fine && reports == NULL)
        (void)putchar('\n');
    for (size_t i = 0; i < count; i++)
        free(files[i]);
    calibration_clear(&calibration);
    samples_clear(&set);
    return fine;
}

static bool run_check(const struct request *request, struct error *error)
{
    struct verdicts verdicts = {0};
    cJSON *root = request->json ? cJSON_CreateObject() : NULL;
    cJSON *reports = root == NULL ? NULL : cJSON_AddArrayToObject(root, "sets");
    bool fine = true;
    if (root != NULL)
        verdicts.list = cJSON_AddArrayToObject(root, "targets");
    for (size_t i = 0; fine && i < sizeof public_sets / sizeof public_sets[0]; i++)
        fine = check_set(request, &public_sets[i], reports, &verdicts, error);
    if (fine && root != NULL)
        fine = cli_print_json(root, error);
    else
        cJSON_Delete(root);
    if (!fine || verdicts.missed == 0)
        return fine;
    return error_run(error, "calibrate: %zu of %zu targets missed", verdicts.missed,
                     verdicts.asked);
}

static bool calibrate_run(int argc, char **argv, bool quiet, struct error *error)
{
    struct request request = {.quiet = quiet};
    if (!parse_arguments(argc, argv, &request, error))
        return false;
    return request.check ? run_check(&request, error) : run_files(&request, error);
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
