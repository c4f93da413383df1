/* esgsim list: an overview of what ships, a list of one kind, or one entry in full. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sched/registry.h"
#include "sim/cli/cli.h"
#include "sim/cli/listing.h"
#include "traces/readers/arrival_trace.h"
#include "traces/readers/training_trace.h"
#include "sim/base/json.h"
#include "traces/profile/profile.h"
#include "workloads/load/json_include.h"
#include "workloads/spec/keep_alive.h"
#include "workloads/sweep/sweep.h"
#include "workloads/training/training_models.h"
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
    .help = "Without a kind: the number of each. With a NAME: that entry in full, for a policy "
            "or keep-alive with its parameters: name = default [range or choices], meaning "
            "(grade of the default). In brackets: whether a policy serves requests, trainings or "
            "both. Traces are listed with their format, as in `esgsim trace --help` and an "
            "experiment's \"arrivals\" or \"training.arrivals\". The others are the files of "
            "workloads/ and traces/ in the working folder or, if it has none, in the data folder "
            "($ESGSIM_DATA or the installed one).\n"
            "\n"
            "Examples: esgsim list policies\n"
            "          esgsim list policies esg\n",
    .run = list_run,
    .operands = "[policies|keep-alives|experiments|clusters|applications|functions|profiles|traces|"
                "models] [NAME]",
    .options = list_table,
};

/* ---- Policies -------------------------------------------------------------------------------- */

/* "name = default [range or choices]". */
static void add_parameter(struct line *line, const struct key *parameter)
{
    char words[PARAMETER_WORDS];
    const char *word = parameter_word(parameter, parameter->fallback);
    line_add(line, "%s = ", parameter->name);
    if (word != NULL)
        line_add(line, "%s [%s]", word, parameter_words(parameter, words));
    else
        line_add(line, "%g [%g..%g]", parameter->fallback, parameter->low, parameter->high);
}

static void json_add_parameter(cJSON *list, const struct key *parameter)
{
    char words[PARAMETER_WORDS];
    const char *word = parameter_word(parameter, parameter->fallback);
    cJSON *object = json_append(list);
    if (word != NULL)
        json_put(object, "name %s default %s choices %s", parameter->name, word,
                 parameter_words(parameter, words));
    else
        json_put(object, "name %s default %g low %g high %g", parameter->name, parameter->fallback,
                 parameter->low, parameter->high);
    json_put(object, "help %s", parameter->help);
}

/* In text, each parameter has a line with its meaning, if the entry is printed in full. `serves`:
 * NULL for a keep-alive. */
static void list_configurable(struct listing *listing, const char *name, const char *summary,
                              const char *serves, const struct key *parameters)
{
    struct line text = {.used = 0};
    if (!listing_wants(listing, name))
        return;
    line_add(&text, "%s", summary);
    if (serves != NULL && listing->rows == NULL)
        line_add(&text, " [%s]", serves);
    cJSON *row = listing_show(listing, name, text.text);
    json_put(row, "serves %s", serves);
    cJSON *list = cJSON_AddArrayToObject(row, "parameters");
    for (size_t p = 0; row != NULL && p < keys_count(parameters); p++)
        json_add_parameter(list, &parameters[p]);
    for (size_t p = 0; row == NULL && listing->full && p < keys_count(parameters); p++) {
        struct line own = {.used = 0};
        add_parameter(&own, &parameters[p]);
        printf("    %-47s %s\n", own.text, parameters[p].help != NULL ? parameters[p].help : "");
    }
}

/* Where a policy's metadata come from. */
static void print_source(const struct listing *listing)
{
    if (listing->rows == NULL && listing->only != NULL && listing->shown > 0 && !listing->counting)
        printf("source and every decision of the port: sched/README.md; grades: sim/README.md\n");
}

static void list_policy(struct listing *listing, const struct policy *policy)
{
    static const char *const serves[] = {
        [SERVES_REQUESTS] = "requests", [SERVES_TRAININGS] = "trainings", [SERVES_BOTH] = "both"};
    list_configurable(listing, policy->name, policy->summary, serves[policy->serves],
                      policy->parameters);
}

static bool list_policies(struct listing *listing, const char *path, const char *name,
                          struct error *error)
{
    (void)path, (void)name, (void)error;
    const struct policy *policy = NULL;
    for (size_t i = 0; (policy = policy_at(i)) != NULL; i++) {
        list_policy(listing, policy);
        const struct policy *form = policy_training_form(policy->name);
        if (form != NULL)
            list_policy(listing, form);
    }
    print_source(listing);
    return true;
}

static bool list_keep_alives(struct listing *listing, const char *path, const char *name,
                             struct error *error)
{
    (void)path, (void)name, (void)error;
    const struct keep_alive *policy = NULL;
    for (size_t i = 0; (policy = keep_alive_at(i)) != NULL; i++)
        list_configurable(listing, policy->name, policy->summary, NULL, policy->parameters);
    return true;
}

/* ---- Files ----------------------------------------------------------------------------------- */

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
    bool good = json != NULL;
    if ((cJSON_HasObjectItem(json, "matrix") || cJSON_HasObjectItem(json, "policy")) &&
        listing_wants(listing, name)) {
        good = add_summary(&line, json, path, error);
        line_add_note(&line, listing, text_of(json, "note"));
        (void)(good ? listing_show(listing, name, line.text) : NULL);
    }
    cJSON_Delete(json);
    return good;
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
    const cJSON *invoker, *gpu;
    cJSON_ArrayForEach(invoker, cJSON_GetObjectItemCaseSensitive(json, "invokers"))
    {
        line_add(&line, "%s%g x (%g vCPUs", line.used > 0 ? ", " : "",
                 number_of(invoker, "count", 1), number_of(invoker, "vcpus", 0));
        cJSON_ArrayForEach(gpu, cJSON_GetObjectItemCaseSensitive(invoker, "gpus"))
        {
            line_add(&line, ", %g %s %s in %g", number_of(gpu, "count", 1), text_of(gpu, "model"),
                     text_of(gpu, "sharing"), number_of(gpu, "units", 1));
        }
        line_add(&line, ")");
    }
    line_add_note(&line, listing, text_of(json, "note"));
    if (json != NULL)
        listing_add(listing, name, line.text);
    cJSON_Delete(json);
    return json != NULL;
}

/* Opens a file whose object has an array `key`. NULL: an error, such as "FILE: is not WHAT". */
static cJSON *open_array(const char *path, const char *key, const char *what, const cJSON **array,
                         struct error *error)
{
    cJSON *json = json_parse_file(path, error);
    *array = cJSON_GetObjectItemCaseSensitive(json, key);
    if (json == NULL || *array != NULL)
        return json;
    cJSON_Delete(json);
    error_input(error, "%s: is not %s", path, what);
    return NULL;
}

/* "segmentation, classification (after segment)". */
static bool list_application(struct listing *listing, const char *path, const char *name,
                             struct error *error)
{
    struct line line = {.used = 0};
    const cJSON *stages, *stage, *before;
    cJSON *json = open_array(path, "stages", "an application", &stages, error);
    if (json == NULL)
        return false;
    cJSON_ArrayForEach(stage, stages)
    {
        const cJSON *after = cJSON_GetObjectItemCaseSensitive(stage, "after");
        line_add(&line, "%s%s", line.used > 0 ? ", " : "", text_of(stage, "function"));
        cJSON_ArrayForEach(before, after)
        {
            line_add(&line, "%s %s%s", before == after->child ? " (after" : "", before->valuestring,
                     before->next == NULL ? ")" : "");
        }
    }
    const char *own = text_of(json, "name");
    listing_add(listing, own[0] != '\0' ? own : name, line.text);
    cJSON_Delete(json);
    return true;
}

static bool list_functions(struct listing *listing, const char *path, const char *name,
                           struct error *error)
{
    const cJSON *functions, *function;
    cJSON *json = open_array(path, "functions", "a functions file", &functions, error);
    if (json == NULL)
        return false;
    cJSON_ArrayForEach(function, functions)
    {
        struct line line = {.used = 0};
        line_add(&line, "%s", text_of(function, "model"));
        if (cJSON_HasObjectItem(function, "input_bytes"))
            line_add(&line, ", input %.0f bytes", number_of(function, "input_bytes", 0));
        line_add(&line, ", in %s", name);
        listing_add(listing, text_of(function, "name"), line.text);
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

/* ---- Kinds ----------------------------------------------------------------------------------- */

static const struct kind {
    const char *name, *singular;
    const char *folders; /* of its files, separated by blanks; "": it has no files */
    bool (*list)(struct listing *listing, const char *path, const char *name, struct error *error);
    const char *what; /* one line of the overview */
} kinds[] = {
    {"policies", "policy", "", list_policies, "schedulers; --policy NAME"},
    {"keep-alives", "keep-alive", "", list_keep_alives,
     "how long idle containers are kept; --set platform.keep_alive=NAME"},
    {"experiments", "experiment",
     "workloads/experiments workloads/experiments/theory workloads/experiments/known-for",
     list_experiment, "experiments for `esgsim run` and sweeps for `esgsim sweep`"},
    {"clusters", "cluster", "workloads/clusters", list_cluster, "invokers and their GPUs"},
    {"applications", "application", "workloads/applications", list_application,
     "DAGs of functions"},
    {"functions", "function", "workloads/functions", list_functions,
     "what a stage runs: a network and its input"},
    {"profiles", "profile", "traces/profiles", list_profile,
     "measured or reconstructed latencies, by device"},
    {"traces", "trace", "traces/arrivals traces/trainings", list_trace,
     "arrivals and trainings of real systems"},
    {"models", "model", "workloads/models", list_models,
     "models that are trained; \"training.models\" names the file"},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* Lists the data files of a directory by name. The directory is in the working directory or, if it
 * does not exist there, in the data directory. */
static bool list_folder(struct listing *listing, const char *folder, const struct kind *kind,
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
        good = good && file != NULL && kind->list(listing, file, entries[i]->d_name, error);
        free(file);
        free(entries[i]);
    }
    free(entries);
    free(path);
    return good;
}

/* ---- The command ----------------------------------------------------------------------------- */

static bool kind_read(const struct kind *kind, struct listing *listing, struct error *error)
{
    char folders[128], *rest = folders;
    bool good = kind->folders[0] != '\0' || kind->list(listing, NULL, NULL, error);
    (void)snprintf(folders, sizeof folders, "%s", kind->folders);
    for (char *one; good && (one = strsep(&rest, " ")) != NULL && one[0] != '\0';)
        good = list_folder(listing, one, kind, error);
    return good && (!listing->failed || error_run(error, "list: out of memory"));
}

/* Adds the overview's row of a kind. */
static bool overview_row(const struct kind *kind, cJSON *rows, struct error *error)
{
    struct listing listing = {.counting = true};
    const bool good = kind_read(kind, &listing, error);
    if (good && rows == NULL)
        printf("%-14s %4zu  %s\n", kind->name, listing.shown, kind->what);
    else if (good)
        json_put(json_append(rows), "name %s count %zu description %s", kind->name, listing.shown,
                 kind->what);
    listing_clear(&listing);
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

static bool unknown_name(const struct kind *kind, const struct listing *listing,
                         struct error *error)
{
    const char *near = listing_nearest(listing);
    return error_input(error, "list: there is no %s \"%.80s\"%s%s%s; `esgsim list %s` lists them",
                       kind->singular, listing->only, near != NULL ? ", did you mean \"" : "",
                       near != NULL ? near : "", near != NULL ? "\"?" : "", kind->name);
}

static bool list_kind(const struct kind *kind, const char *only, const struct options *options,
                      struct error *error)
{
    cJSON *root = options->json ? cJSON_CreateObject() : NULL;
    struct listing listing = {.only = only,
                              .full = options->details || only != NULL,
                              .rows = cJSON_AddArrayToObject(root, kind->name)};
    bool good = kind_read(kind, &listing, error);
    if (good && only != NULL && listing.shown == 0)
        good = unknown_name(kind, &listing, error);
    listing_clear(&listing);
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
        if (kind_read(&kinds[k], listing, &fault) && listing->shown > 0)
            return &kinds[k];
    }
    return NULL;
}

/* `wanted` is not a kind. It may be an entry, or be near to the name of an entry or a kind. */
static bool unknown_kind(const char *wanted, struct error *error)
{
    struct listing all = {.only = wanted, .counting = true}, again = {.counting = true};
    const struct kind *kind = find_entry(&all);
    for (size_t k = 0; k < KINDS; k++)
        (void)listing_wants(&all, kinds[k].name);
    const char *near = listing_nearest(&all);
    if (kind == NULL && near != NULL) {
        again.only = near;
        kind = find_entry(&again);
        wanted = kind != NULL ? near : wanted;
    }
    if (kind != NULL)
        error_input(error, "list: wants a kind first: `esgsim list %s %.80s`", kind->name, wanted);
    else
        error_input(error, "list: \"%.80s\" is not a kind%s%s%s; `esgsim list` lists them", wanted,
                    near != NULL ? ", did you mean \"" : "", near != NULL ? near : "",
                    near != NULL ? "\"?" : "");
    listing_clear(&all);
    listing_clear(&again);
    return false;
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
