/* Validation of any input file, whose kind is recognised from its content. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/arena.h"
#include "traces/calibrate/samples.h"
#include "traces/readers/arrival_trace.h"
#include "traces/readers/training_trace.h"
#include "traces/profile/profile.h"
#include "workloads/spec/spec_internal.h"
#include "workloads/sweep/sweep.h"
#include "workloads/training/training_models.h"

bool input_check_trace(const char *path, const char *format, const struct trace_view *view,
                       struct error *error)
{
    struct error fault = {0};
    struct trace_record record;
    struct trace_reader *reader = trace_open_view(path, format, 1, view, error);
    if (reader == NULL)
        return false;
    uint64_t records = 0;
    while (trace_next(reader, &record, &fault))
        records++;
    trace_close(reader);
    if (fault.kind != ERROR_NONE) {
        if (error != NULL)
            *error = fault;
        return false;
    }
    return records > 0 || error_input(error, "%s: holds no arrival; give a trace with one", path);
}

static bool check_experiment(const struct json_value *root, struct error *error)
{
    struct experiment *experiment = experiment_load(root->file, NULL, 0, error);
    experiment_free(experiment);
    return experiment != NULL;
}

/* Checks every combination of the matrix with its first seed, because the seed cannot make an
 * experiment invalid. */
static bool check_sweep(const struct json_value *root, struct input_found *input,
                        struct error *error)
{
    struct sweep *sweep = sweep_load(root->file, NULL, 0, error);
    bool good = sweep != NULL;
    if (good)
        input->least = sweep->precision.given;
    for (size_t r = 0; good && r < sweep->run_count; r += sweep->seeds) {
        struct experiment *experiment = sweep_experiment(sweep, r, error);
        good = experiment != NULL;
        if (good)
            input->runs += !experiment_is_random(experiment) ? 1
                           : input->least                    ? sweep->precision.first_seeds
                                                             : sweep->seeds;
        experiment_free(experiment);
    }
    sweep_free(sweep);
    return good;
}

static bool check_cluster(const struct json_value *root, struct error *error)
{
    return cluster_load(root, &(struct workload){0}, error);
}

static bool check_functions(const struct json_value *root, struct error *error)
{
    return function_entries_load(root, &(struct function_entries){0}, error);
}

static bool check_application(const struct json_value *root, struct error *error)
{
    return application_load(root, root, NULL, &(struct application){0}, error);
}

static bool check_profile(const struct json_value *root, struct error *error)
{
    struct profile *profile = profile_load(root->file, error);
    profile_free(profile);
    return profile != NULL;
}

static bool check_training_models(const struct json_value *root, struct error *error)
{
    struct training_models *models = training_models_load(root, error);
    training_models_free(models);
    return models != NULL;
}

/* Checks that no string below `value` has a control character; the rest of reference figures and
 * claims needs code of results/. */
static bool check_names(const struct json_value *value, struct error *error)
{
    if (cJSON_IsString(value->node))
        return json_as_string(value, error) != NULL;
    for (struct json_value child = {0}; json_next(value, &child);)
        if (!check_names(&child, error))
            return false;
    return true;
}

enum { KIND_PROFILE = 2 }; /* index in the table of kinds */

static const struct input_kind {
    const char *name;
    const char *keys[4]; /* any of these keys identifies the kind */
    bool (*check)(const struct json_value *root, struct error *error);
} kinds[] = {
    {"training models", {"models", "gangs", "pairs", NULL}, check_training_models},
    {"sweep", {"matrix", "base", "seeds", NULL}, NULL}, /* check_sweep */
    {"profile", {"device", "unit", "licence", "interference"}, check_profile},
    {"experiment", {"applications", "arrivals", "policy", "cluster"}, check_experiment},
    {"application", {"stages", NULL, NULL, NULL}, check_application},
    {"cluster", {"invokers", "price", NULL, NULL}, check_cluster},
    {"reference figures", {"figures", NULL, NULL, NULL}, check_names},
    {"claims", {"claims", NULL, NULL, NULL}, check_names},
    {"functions", {"functions", NULL, NULL, NULL}, check_functions},
};

static const struct input_kind *recognise(const cJSON *root)
{
    /* A profile has its functions in an object, by name; a functions file has an array. */
    const cJSON *functions = cJSON_GetObjectItemCaseSensitive(root, "functions");
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(functions, "functions");
    if (cJSON_IsObject(functions) && !cJSON_IsArray(list))
        return &kinds[KIND_PROFILE];
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (size_t i = 0; i < 4 && kinds[k].keys[i] != NULL; i++)
            if (cJSON_GetObjectItemCaseSensitive(root, kinds[k].keys[i]) != NULL)
                return &kinds[k];
    return NULL;
}

const char *input_kind(const cJSON *root)
{
    const struct input_kind *found = cJSON_IsObject(root) ? recognise(root) : NULL;
    return found != NULL ? found->name : NULL;
}

/* Reads the beginning of a regular file, NUL-terminated; empty if it cannot be read. A pipe is not
 * read, because it cannot be read twice. */
static void read_beginning(const char *path, char *text, size_t size)
{
    struct stat status;
    ssize_t length = 0;
    /* A FIFO is not even opened: its writer would see a reader come and go. */
    const bool regular = stat(path, &status) == 0 && S_ISREG(status.st_mode);
    int fd = regular ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    if (fd >= 0)
        length = read(fd, text, size - 1);
    if (fd >= 0)
        (void)close(fd);
    text[length > 0 ? length : 0] = '\0';
}

/* Decides by the file's name or its first character; any other file is treated as a trace. */
static bool looks_like_json(const char *path, const char *text)
{
    const char *first = text + strspn(text, " \t\r\n\xEF\xBB\xBF");
    /* Dilu's traces have Python's quotes. */
    return path_ends_in(path, ".json") || (*first == '{' && first[1] != '\'') || *first == '[';
}

/* Checks a file that is not JSON: a trace of trainings, samples, or else a trace of arrivals. Its
 * first line is looked at, so that a pipe is read once. */
static bool check_table(const char *path, const char **kind, struct error *error)
{
    struct line_reader lines = {.path = NULL};
    const struct training_source trainings = {.lines = &lines};
    const struct trace_view arrivals = {.others = TRACE_OTHERS_MERGE, .lines = &lines};
    char *line = line_reader_open(&lines, path, error) ? line_reader_peek(&lines) : NULL;
    const char *format = line != NULL ? training_layout_of(line) : NULL;
    bool good = lines.file != NULL;
    if (line != NULL && listing_json_begins(line)) {
        good = error_input(error,
                           "%s: is JSON, which is checked in files only that are neither "
                           "compressed nor pipes",
                           path);
    } else if (format != NULL) {
        *kind = "training trace";
        struct training_trace *trace =
            training_trace_read_view(path, format, NULL, &trainings, error);
        good = trace != NULL;
        training_trace_free(trace);
    } else if (line != NULL && sample_table_is(path, line)) {
        *kind = "samples";
        struct sample_set set = {.lines = &lines};
        good = sample_table_read(&set, path, error);
        samples_clear(&set);
    } else if (good) {
        good = input_check_trace(path, NULL, &arrivals, error);
    }
    line_reader_close(&lines);
    free(line);
    return good;
}

bool input_check(const char *path, struct input_found *input, struct error *error)
{
    char text[4096];
    *input = (struct input_found){.kind = "arrival trace"};
    if (strcmp(path, "-") == 0 && access(path, F_OK) != 0)
        return error_input(error, "-: does not exist; a trace on standard input is /dev/stdin, and "
                                  "JSON is read from files only");
    if (path_ends_in(path, ".h5"))
        return error_input(error, "%s: is not an input file; read results with `esgsim report`",
                           path);
    read_beginning(path, text, sizeof text);
    if (!looks_like_json(path, text))
        return check_table(path, &input->kind, error);
    input->kind = "JSON";
    struct arena *arena = arena_create();
    const struct json_value root = json_load(arena, path, error);
    const struct input_kind *found = cJSON_IsObject(root.node) ? recognise(root.node) : NULL;
    bool good = root.node != NULL;
    if (found != NULL) {
        input->kind = found->name;
        good = found->check == NULL ? check_sweep(&root, input, error) : found->check(&root, error);
    } else if (good) {
        good = error_input(
            error,
            "%s: is not an experiment, sweep, cluster, functions, application, profile, "
            "training models, reference figures or claims file; it has none of their keys",
            path);
    }
    arena_destroy(arena);
    return good;
}
