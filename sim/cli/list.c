/* esgsim list: lists the shipped policies and files, one per line. */
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sched/keep_alive.h"
#include "sched/registry.h"
#include "sim/cli/cli.h"
#include "traces/readers/arrival_trace.h"
#include "traces/networks/graph.h"
#include "traces/json/json.h"
#include "traces/profile/profile.h"
#include "workloads/json_include.h"

struct options {
    bool json;
};

static const struct cli_option list_table[] = {
    {"--json", NULL, "one object: {KIND: [{\"name\", \"description\"}]}",
     CLI_MEMBER(struct options, json)},
    {.name = NULL},
};

static bool list_run(int argc, char **argv, bool quiet, struct error *error);

const struct command command_list = {
    .name = "list",
    .summary = "list the shipped policies and files, one line each",
    .help =
        "Policies and keep-alives come with their parameters: name = default [range or\n"
        "choices], meaning.\n"
        "Networks come with their cost at batch 1 and their default input: parameters, multiply-\n"
        "accumulates, weights and largest activations at FP32.\n"
        "Traces come with their format, as `esgsim trace --help` and an experiment's \"arrivals\"\n"
        "name it.\n"
        "The others are the files of workloads/ and traces/ in the working folder or, if it has\n"
        "none, in the data folder ($ESGSIM_DATA or the installed one).\n"
        "\n"
        "Example: esgsim list policies\n",
    .run = list_run,
    .operands = "policies|keep-alives|applications|functions|profiles|networks|traces",
    .options = list_table,
};

/* Collects rows as JSON, or prints each row. */
struct listing {
    cJSON *rows; /* NULL: print */
    bool failed;
};

static void listing_add(struct listing *listing, const char *name, const char *description)
{
    if (listing->rows == NULL) {
        printf("%-28s %s\n", name, description);
        return;
    }
    cJSON *row = cJSON_CreateObject();
    if (row == NULL || cJSON_AddStringToObject(row, "name", name) == NULL ||
        cJSON_AddStringToObject(row, "description", description) == NULL ||
        !cJSON_AddItemToArray(listing->rows, row)) {
        cJSON_Delete(row);
        listing->failed = true;
    }
}

/* A line of text with a limited length; excess text is cut. */
struct line {
    char text[2048];
    size_t used;
};

static void line_add(struct line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void line_add(struct line *line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line->text + line->used, sizeof line->text - line->used, format, args);
    va_end(args);
    if (length > 0)
        line->used += (size_t)length;
    if (line->used >= sizeof line->text)
        line->used = sizeof line->text - 1;
}

/* ---- Policies -------------------------------------------------------------------------------- */

/* "name = default [range or choices]". */
static void add_parameter(struct line *line, const struct parameter *parameter)
{
    line_add(line, "%s = ", parameter->name);
    size_t length = 0;
    const char *word = parameter_word(parameter, parameter->fallback, &length);
    if (word != NULL) {
        line_add(line, "%.*s [%s]", (int)length, word, parameter->choices);
    } else {
        line_add(line, "%g [%g..%g]", parameter->fallback, parameter->low, parameter->high);
    }
}

/* In text, each parameter has a line with its meaning. In JSON it is part of the description. */
static void list_configurable(struct listing *listing, const char *name, const char *summary,
                              const struct parameter *parameters, size_t count)
{
    struct line line = {.used = 0};
    line_add(&line, "%s", summary);
    for (size_t p = 0; listing->rows != NULL && p < count; p++) {
        line_add(&line, "; ");
        add_parameter(&line, &parameters[p]);
    }
    listing_add(listing, name, line.text);
    for (size_t p = 0; listing->rows == NULL && p < count; p++) {
        struct line own = {.used = 0};
        const char *help = parameters[p].help;
        add_parameter(&own, &parameters[p]);
        printf("    %-47s %s\n", own.text, help != NULL ? help : "");
    }
}

static bool list_policies(struct listing *listing, const char *folder, struct error *error)
{
    (void)folder;
    (void)error;
    const struct policy *policy = NULL;
    for (size_t i = 0; (policy = policy_at(i)) != NULL; i++)
        list_configurable(listing, policy->name, policy->summary, policy->parameters,
                          policy->parameter_count);
    return true;
}

static bool list_keep_alives(struct listing *listing, const char *folder, struct error *error)
{
    (void)folder;
    (void)error;
    const struct keep_alive *policy = NULL;
    for (size_t i = 0; (policy = keep_alive_at(i)) != NULL; i++)
        list_configurable(listing, policy->name, policy->summary, policy->parameters,
                          policy->parameter_count);
    return true;
}

/* ---- Files ----------------------------------------------------------------------------------- */

typedef bool list_file(struct listing *listing, const char *path, const char *name,
                       struct error *error);

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
    size_t i = 0;
    for (struct json_value stage = json_first(&stages); stage.node != NULL;
         stage = json_after(&stages, &stage, ++i)) {
        const cJSON *function = cJSON_GetObjectItemCaseSensitive(stage.node, "function");
        const cJSON *after = cJSON_GetObjectItemCaseSensitive(stage.node, "after");
        line_add(&line, "%s%s", i == 0 ? "" : ", ",
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
    size_t i = 0;
    for (struct json_value entry = json_first(&functions); entry.node != NULL;
         entry = json_after(&functions, &entry, ++i)) {
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

/* "25.56 M parameters, 4.09 GMACs, weights 102 MB, activations 7.2 MB at image 3x224x224". */
static bool list_network(struct listing *listing, const char *path, const char *name,
                         struct error *error)
{
    (void)name;
    struct graph *graph = graph_load(path, error);
    struct graph_arena arena;
    if (graph == NULL || !graph_arena_plan(graph, sizeof(float), 1, &arena, error)) {
        graph_free(graph);
        return false;
    }
    struct line line = {.used = 0};
    line_add(&line, "%s: %.2f M parameters, %.2f GMACs, weights %.1f MB, activations %.1f MB at",
             graph->title, (double)graph->parameters / 1e6, (double)graph->macs / 1e9,
             (double)graph_weight_bytes(graph, sizeof(float)) / 1e6,
             (double)arena.peak_live_bytes / 1e6);
    for (size_t i = 0; i < graph->node_count; i++) {
        char shape[64];
        if (graph->nodes[i].kind == GRAPH_INPUT)
            line_add(&line, "%s %s %s", i == 0 ? "" : ",", graph->nodes[i].name,
                     graph_shape_text(&graph->nodes[i].shape, shape, sizeof shape));
    }
    listing_add(listing, graph->name, line.text);
    graph_arena_free(&arena);
    graph_free(graph);
    return true;
}

static bool list_trace(struct listing *listing, const char *path, const char *name,
                       struct error *error)
{
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

static int select_data(const struct dirent *entry)
{
    static const char *const endings[] = {".json", ".csv", ".csv.gz", ".txt", ".txt.gz"};
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

static bool list_networks(struct listing *listing, const char *folder, struct error *error)
{
    return list_folder(listing, folder, list_network, error);
}

static bool list_traces(struct listing *listing, const char *folder, struct error *error)
{
    return list_folder(listing, folder, list_trace, error);
}

/* ---- The command ----------------------------------------------------------------------------- */

static const struct {
    const char *name;
    const char *folder;
    bool (*list)(struct listing *listing, const char *folder, struct error *error);
} kinds[] = {
    {"policies", "", list_policies},
    {"keep-alives", "", list_keep_alives},
    {"applications", "workloads/applications", list_applications},
    {"functions", "workloads/functions", list_functions},
    {"profiles", "traces/profiles", list_profiles},
    {"networks", "traces/networks", list_networks},
    {"traces", "traces/arrivals", list_traces},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static bool list_kind(size_t kind, bool json, struct error *error)
{
    struct listing listing = {0};
    cJSON *root = json ? cJSON_CreateObject() : NULL;
    if (json)
        listing.rows = cJSON_AddArrayToObject(root, kinds[kind].name);
    listing.failed = json && listing.rows == NULL;
    bool good = !listing.failed && kinds[kind].list(&listing, kinds[kind].folder, error);
    if (listing.failed)
        good = error_run(error, "list: out of memory");
    if (json && good)
        return cli_print_json_line(root, error);
    cJSON_Delete(root);
    return good;
}

static bool list_run(int argc, char **argv, bool quiet, struct error *error)
{
    (void)quiet; /* the list is the result, not a message */
    const char *names[KINDS];
    struct options options = {0};
    if (!cli_parse(&command_list, &argc, argv, &options, error))
        return false;
    const char *wanted = argv[1];
    for (size_t k = 0; k < KINDS; k++)
        names[k] = kinds[k].name;
    for (size_t k = 0; k < KINDS; k++)
        if (strcmp(names[k], wanted) == 0)
            return list_kind(k, options.json, error);
    const char *nearest = error_nearest_name(wanted, names, KINDS);
    return error_input(error, "list: \"%s\" is not a kind; %s%s%s", wanted,
                       nearest == NULL ? "give one of policies, keep-alives, applications, "
                                         "functions, profiles, networks, traces"
                                       : "did you mean \"",
                       nearest == NULL ? "" : nearest, nearest == NULL ? "" : "\"?");
}
