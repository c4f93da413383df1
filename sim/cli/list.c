/* esgsim list: an overview of what ships, a list of one kind, or one entry in full. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/cli/cli.h"
#include "sim/cli/listing.h"
#include "traces/readers/arrival_trace.h"
#include "traces/readers/training_trace.h"
#include "sim/base/json.h"
#include "traces/profile/profile.h"
#include "workloads/experiment.h"
#include "workloads/json_include.h"
#include "workloads/training_models.h"
#include "sim/base/json_write.h"

struct options {
    bool json, details;
};

static const struct cli_option list_table[] = {
    {"--details", NULL, "print every entry in full, as with its NAME",
     CLI_MEMBER(struct options, details)},
    {"--json", NULL,
     "one object: {KIND: [{\"name\", \"description\"}]}; policies and keep-alives also have "
     "\"parameters\", policies \"serves\"",
     CLI_MEMBER(struct options, json)},
    {.name = NULL},
};

static bool list_run(int argc, char **argv, bool quiet, struct error *error);

const struct command command_list = {
    .name = "list",
    .summary = "list the shipped policies and files, one line each",
    .help =
        "Without a kind: how many there are of each. With a NAME: that entry in full. A policy or\n"
        "keep-alive has its parameters then: name = default [range or choices], meaning (grade of\n"
        "the default). In brackets: whether a policy serves requests, trainings or both.\n"
        "Traces come with their format, as `esgsim trace --help` and an experiment's \"arrivals\"\n"
        "name it; those of trainings with the format of \"training.arrivals\".\n"
        "The others are the files of workloads/ and traces/ in the working folder or, if it has\n"
        "none, in the data folder ($ESGSIM_DATA or the installed one).\n"
        "\n"
        "Examples: esgsim list policies\n"
        "          esgsim list policies esg\n",
    .run = list_run,
    .operands = "[policies|keep-alives|experiments|clusters|applications|functions|profiles|traces|"
                "models] [NAME]",
    .options = list_table,
};

/* ---- Files ----------------------------------------------------------------------------------- */

typedef bool list_file(struct listing *listing, const char *path, const char *name,
                       struct error *error);

static const char *text_of(const cJSON *object, const char *key)
{
    const cJSON *text = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(text) ? text->valuestring : "";
}

/* "sweep of 180 runs" or "run, policy esg". */
static bool add_summary(struct line *line, const cJSON *json, const char *path, struct error *error)
{
    const cJSON *policy = cJSON_GetObjectItemCaseSensitive(json, "policy");
    if (policy != NULL) {
        line_add(line, "run, policy %s", text_of(policy, "name"));
        return true;
    }
    struct sweep *sweep = sweep_load(path, NULL, 0, error);
    if (sweep == NULL)
        return false;
    line_add(line, "sweep of %s%zu runs", sweep->precision.given ? "at most " : "",
             sweep->run_count);
    sweep_free(sweep);
    return true;
}

/* An experiment or a sweep, named below workloads/experiments. Other files are left out. */
static bool list_experiment(struct listing *listing, const char *path, const char *name,
                            struct error *error)
{
    static const char folder[] = "workloads/experiments/";
    struct line line = {.used = 0};
    const char *place = strstr(path, folder), *dot = strrchr(name, '.');
    if (dot == NULL || strcmp(dot, ".json") != 0)
        return true;
    if (place != NULL)
        name = place + sizeof folder - 1;
    cJSON *json = json_parse_file(path, error);
    if (json == NULL)
        return false;
    bool good = true;
    if ((cJSON_HasObjectItem(json, "matrix") || cJSON_HasObjectItem(json, "policy")) &&
        listing_wants(listing, name)) {
        good = add_summary(&line, json, path, error);
        line_add_note(&line, listing, text_of(json, "note"));
        (void)(good ? listing_show(listing, name, line.text) : NULL);
    }
    cJSON_Delete(json);
    return good;
}

/* First child; NULL: there is none, or no value. */
static const cJSON *first_of(const cJSON *value)
{
    return value != NULL ? value->child : NULL;
}

static double number_of(const cJSON *object, const char *key, double fallback)
{
    const cJSON *number = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(number) ? number->valuedouble : fallback;
}

/* "16 x (16 vCPUs, 1 A100 mps in 7): NOTE". */
static bool list_cluster(struct listing *listing, const char *path, const char *name,
                         struct error *error)
{
    struct line line = {.used = 0};
    cJSON *json = json_parse_file(path, error);
    if (json == NULL)
        return false;
    const cJSON *invoker, *gpu;
    for (invoker = first_of(cJSON_GetObjectItemCaseSensitive(json, "invokers")); invoker != NULL;
         invoker = invoker->next) {
        line_add(&line, "%s%g x (%g vCPUs", line.used > 0 ? ", " : "",
                 number_of(invoker, "count", 1), number_of(invoker, "vcpus", 0));
        for (gpu = first_of(cJSON_GetObjectItemCaseSensitive(invoker, "gpus")); gpu != NULL;
             gpu = gpu->next)
            line_add(&line, ", %g %s %s in %g", number_of(gpu, "count", 1), text_of(gpu, "model"),
                     text_of(gpu, "sharing"), number_of(gpu, "units", 1));
        line_add(&line, ")");
    }
    line_add_note(&line, listing, text_of(json, "note"));
    listing_add(listing, name, line.text);
    cJSON_Delete(json);
    return true;
}

static bool list_application(struct listing *listing, const char *path, const char *name,
                             struct error *error)
{
    struct line line = {.used = 0};
    struct json_value stages;
    cJSON *json = json_parse_file(path, error);
    if (json == NULL)
        return false;
    struct json_value root = json_root(path, json);
    const cJSON *own = cJSON_GetObjectItemCaseSensitive(json, "name");
    if (!json_child(&root, "stages", &stages)) {
        cJSON_Delete(json);
        return error_input(error, "%s: is not an application", path);
    }
    for (struct json_value stage = {0}; json_next(&stages, &stage);) {
        const cJSON *function = cJSON_GetObjectItemCaseSensitive(stage.node, "function");
        const cJSON *after = cJSON_GetObjectItemCaseSensitive(stage.node, "after");
        line_add(&line, "%s%s", stage.index == 0 ? "" : ", ",
                 cJSON_IsString(function) ? function->valuestring : "?");
        if (cJSON_GetArraySize(after) > 0)
            line_add(&line, " (after");
        for (int a = 0; a < cJSON_GetArraySize(after); a++) {
            const cJSON *before = cJSON_GetArrayItem(after, a);
            line_add(&line, " %s%s", cJSON_IsString(before) ? before->valuestring : "?",
                     a + 1 == cJSON_GetArraySize(after) ? ")" : "");
        }
    }
    listing_add(listing, cJSON_IsString(own) ? own->valuestring : name, line.text);
    cJSON_Delete(json);
    return true;
}

static bool list_functions_of(struct listing *listing, const char *path, const char *name,
                              struct error *error)
{
    struct json_value functions;
    cJSON *json = json_parse_file(path, error);
    if (json == NULL)
        return false;
    struct json_value root = json_root(path, json);
    if (!json_child(&root, "functions", &functions)) {
        cJSON_Delete(json);
        return error_input(error, "%s: is not a functions file", path);
    }
    for (struct json_value entry = {0}; json_next(&functions, &entry);) {
        const cJSON *own = cJSON_GetObjectItemCaseSensitive(entry.node, "name");
        const cJSON *model = cJSON_GetObjectItemCaseSensitive(entry.node, "model");
        const cJSON *bytes = cJSON_GetObjectItemCaseSensitive(entry.node, "input_bytes");
        struct line line = {.used = 0};
        line_add(&line, "%s", cJSON_IsString(model) ? model->valuestring : "");
        if (cJSON_IsNumber(bytes))
            line_add(&line, ", input %.0f bytes", bytes->valuedouble);
        line_add(&line, ", in %s", name);
        listing_add(listing, cJSON_IsString(own) ? own->valuestring : "?", line.text);
    }
    cJSON_Delete(json);
    return true;
}

static bool list_profile(struct listing *listing, const char *path, const char *name,
                         struct error *error)
{
    struct profile *profile = profile_load(path, error);
    if (profile == NULL)
        return false;
    struct line line = {.used = 0};
    line_add(&line, "%s in %d units, evidence: %s, %zu functions:", profile->device, profile->unit,
             profile->evidence == NULL ? "not given" : profile->evidence, profile->function_count);
    for (size_t f = 0; f < profile->function_count; f++)
        line_add(&line, " %s", profile->functions[f].name);
    listing_add(listing, name, line.text);
    profile_free(profile);
    return true;
}

static bool list_trace(struct listing *listing, const char *path, const char *name,
                       struct error *error)
{
    const char *training = training_trace_recognise(path);
    struct line line = {.used = 0};
    if (training != NULL) {
        line_add(&line, "trainings, %s", training);
        listing_add(listing, name, line.text);
        return true;
    }
    struct trace_reader *reader = trace_open(path, NULL, 1, error);
    const bool bare = reader == NULL;
    if (bare) /* no header identifies the format of bare counts, and either of the two reads them */
        reader = trace_open(path, "counts-per-minute", 1, error);
    if (reader == NULL)
        return false;
    listing_add(listing, name,
                bare ? "counts without a header: give \"format\" (--format), "
                       "counts-per-minute or counts-per-second"
                     : trace_format(reader));
    trace_close(reader);
    return true;
}

/* "8 models, measured in pairs: vgg16, vgg19, …". */
static bool list_models(struct listing *listing, const char *path, const char *name,
                        struct error *error)
{
    struct training_models *models = training_models_read(path, error);
    if (models == NULL)
        return false;
    struct line line = {.used = 0};
    line_add(&line, "%zu models%s%s:", models->count, models->vcpu_count > 0 ? ", by vCPUs" : "",
             models->pairs != NULL ? ", measured in pairs" : "");
    for (size_t m = 0; m < models->count; m++)
        line_add(&line, "%s %s", m > 0 ? "," : "", models->models[m].name);
    listing_add(listing, name, line.text);
    training_models_free(models);
    return true;
}

static int select_data(const struct dirent *entry)
{
    static const char *const endings[] = {".json", ".csv",    ".csv.gz",
                                          ".txt",  ".txt.gz", ".trace.gz"};
    size_t length = strlen(entry->d_name);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t own = strlen(endings[i]);
        if (entry->d_name[0] != '.' && length > own &&
            strcmp(entry->d_name + length - own, endings[i]) == 0)
            return 1;
    }
    return 0;
}

/* Lists the data files of a directory by name. The directory is in the working directory or, if it
 * does not exist there, in the data directory. */
static bool list_folder(struct listing *listing, const char *folder, list_file *each,
                        struct error *error)
{
    char *path = access(folder, R_OK) == 0
                     ? strdup(folder)
                     : json_include_join(json_include_data_directory(), folder);
    struct dirent **entries = NULL;
    int count = path == NULL ? -1 : scandir(path, &entries, select_data, alphasort);
    bool good = count >= 0;
    if (!good)
        error_input(error, "list: %s is not a folder; set ESGSIM_DATA to the folder that has %s",
                    path == NULL ? folder : path, folder);
    for (int i = 0; i < count; i++) {
        char *file = json_include_join(path, entries[i]->d_name);
        good = good && file != NULL && each(listing, file, entries[i]->d_name, error);
        free(file);
        free(entries[i]);
    }
    free(entries);
    free(path);
    return good;
}

/* The folder and the folders in it. */
static bool list_experiments(struct listing *listing, const char *folder, struct error *error)
{
    return list_folder(listing, folder, list_experiment, error) &&
           list_folder(listing, "workloads/experiments/theory", list_experiment, error) &&
           list_folder(listing, "workloads/experiments/known-for", list_experiment, error);
}

static bool list_clusters(struct listing *listing, const char *folder, struct error *error)
{
    return list_folder(listing, folder, list_cluster, error);
}

static bool list_applications(struct listing *listing, const char *folder, struct error *error)
{
    return list_folder(listing, folder, list_application, error);
}

static bool list_functions(struct listing *listing, const char *folder, struct error *error)
{
    return list_folder(listing, folder, list_functions_of, error);
}

static bool list_profiles(struct listing *listing, const char *folder, struct error *error)
{
    return list_folder(listing, folder, list_profile, error);
}

static bool list_traces(struct listing *listing, const char *folder, struct error *error)
{
    return list_folder(listing, folder, list_trace, error) &&
           list_folder(listing, "traces/trainings", list_trace, error);
}

static bool list_training_models(struct listing *listing, const char *folder, struct error *error)
{
    return list_folder(listing, folder, list_models, error);
}

/* ---- The command ----------------------------------------------------------------------------- */

static const struct kind {
    const char *name, *singular;
    const char *folder;
    bool (*list)(struct listing *listing, const char *folder, struct error *error);
    const char *what; /* one line of the overview */
} kinds[] = {
    {"policies", "policy", "", list_policies, "schedulers; --policy NAME"},
    {"keep-alives", "keep-alive", "", list_keep_alives,
     "how long idle containers are kept; --set platform.keep_alive=NAME"},
    {"experiments", "experiment", "workloads/experiments", list_experiments,
     "experiments for `esgsim run` and sweeps for `esgsim sweep`"},
    {"clusters", "cluster", "workloads/clusters", list_clusters, "invokers and their GPUs"},
    {"applications", "application", "workloads/applications", list_applications,
     "DAGs of functions"},
    {"functions", "function", "workloads/functions", list_functions,
     "what a stage runs: a network and its input"},
    {"profiles", "profile", "traces/profiles", list_profiles,
     "measured or reconstructed latencies, by device"},
    {"traces", "trace", "traces/arrivals", list_traces, "arrivals and trainings of real systems"},
    {"models", "model", "workloads/models", list_training_models,
     "models that are trained; \"training.models\" names the file"},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static bool kind_read(const struct kind *kind, struct listing *listing, struct error *error)
{
    if (!kind->list(listing, kind->folder, error))
        return false;
    return !listing->failed || error_run(error, "list: out of memory");
}

/* Adds the overview's row of a kind. */
static bool overview_row(const struct kind *kind, cJSON *rows, struct error *error)
{
    struct listing listing = {.counting = true};
    const bool good = kind_read(kind, &listing, error);
    if (good && rows == NULL)
        printf("%-14s %4zu  %s\n", kind->name, listing.shown, kind->what);
    if (good && rows != NULL) {
        cJSON *row = cJSON_CreateObject();
        json_put(row, "name %s count %g description %s", kind->name, (double)listing.shown,
                 kind->what);
        cJSON_AddItemToArray(rows, row);
    }
    free(listing.names);
    return good;
}

static bool list_overview(bool json, struct error *error)
{
    cJSON *root = json ? cJSON_CreateObject() : NULL;
    cJSON *rows = json ? cJSON_AddArrayToObject(root, "kinds") : NULL;
    bool good = true;
    for (size_t k = 0; good && k < KINDS; k++)
        good = overview_row(&kinds[k], rows, error);
    if (good && json)
        return cli_print_json_line(root, error);
    cJSON_Delete(root);
    if (good)
        printf("\n`esgsim list KIND` lists one, `esgsim list KIND NAME` an entry in full, for "
               "example: esgsim list policies esg\n");
    return good;
}

/* Copies the name nearest to the wanted one; "" if none is near. */
static void nearest_name(const struct listing *listing, char nearest[LISTING_NAME])
{
    const char **names = calloc(listing->count + 1, sizeof *names);
    for (size_t i = 0; names != NULL && i < listing->count; i++)
        names[i] = listing->names[i];
    const char *found =
        names != NULL ? error_nearest_name(listing->only, names, (int)listing->count) : NULL;
    (void)snprintf(nearest, LISTING_NAME, "%s", found != NULL ? found : "");
    free(names);
}

static bool unknown_name(const struct kind *kind, const struct listing *listing,
                         struct error *error)
{
    char nearest[LISTING_NAME];
    nearest_name(listing, nearest);
    const bool near = nearest[0] != '\0';
    return error_input(error, "list: there is no %s \"%.80s\"%s%s%s; `esgsim list %s` lists them",
                       kind->singular, listing->only, near ? ", did you mean \"" : "", nearest,
                       near ? "\"?" : "", kind->name);
}

static bool list_kind(const struct kind *kind, const char *only, const struct options *options,
                      struct error *error)
{
    cJSON *root = options->json ? cJSON_CreateObject() : NULL;
    struct listing listing = {.only = only,
                              .full = options->details || only != NULL,
                              .rows =
                                  options->json ? cJSON_AddArrayToObject(root, kind->name) : NULL};
    listing.failed = options->json && listing.rows == NULL;
    bool good = kind_read(kind, &listing, error);
    if (good && only != NULL && listing.shown == 0)
        good = unknown_name(kind, &listing, error);
    free(listing.names);
    if (good && options->json)
        return cli_print_json_line(root, error);
    cJSON_Delete(root);
    return good;
}

/* Reads all kinds into `listing`. Returns the kind that has the wanted entry; NULL: none has. A
 * kind that cannot be read has none. */
static const struct kind *find_entry(struct listing *listing)
{
    for (size_t k = 0; k < KINDS; k++) {
        struct error fault = {0};
        if (kinds[k].list(listing, kinds[k].folder, &fault) && listing->shown > 0)
            return &kinds[k];
    }
    return NULL;
}

/* `wanted` is not a kind. It may be an entry, or be near to the name of an entry or a kind. */
static bool unknown_kind(const char *wanted, struct error *error)
{
    char nearest[LISTING_NAME];
    struct listing listing = {.only = wanted, .counting = true};
    const struct kind *kind = find_entry(&listing);
    for (size_t k = 0; k < KINDS; k++)
        (void)listing_wants(&listing, kinds[k].name);
    nearest_name(&listing, nearest);
    free(listing.names);
    if (kind == NULL && nearest[0] != '\0') {
        listing = (struct listing){.only = nearest, .counting = true};
        kind = find_entry(&listing);
        free(listing.names);
        wanted = kind != NULL ? nearest : wanted;
    }
    if (kind != NULL)
        return error_input(error, "list: wants a kind first: `esgsim list %s %.80s`", kind->name,
                           wanted);
    return error_input(error, "list: \"%.80s\" is not a kind%s%s%s; `esgsim list` lists them",
                       wanted, nearest[0] != '\0' ? ", did you mean \"" : "", nearest,
                       nearest[0] != '\0' ? "\"?" : "");
}

static bool list_run(int argc, char **argv, bool quiet, struct error *error)
{
    (void)quiet; /* the list is the result, not a message */
    struct options options = {0};
    if (!cli_parse(&command_list, &argc, argv, &options, error))
        return false;
    if (argc == 1)
        return list_overview(options.json, error);
    for (size_t k = 0; k < KINDS; k++)
        if (strcmp(kinds[k].name, argv[1]) == 0)
            return list_kind(&kinds[k], argc > 2 ? argv[2] : NULL, &options, error);
    return unknown_kind(argv[1], error);
}
