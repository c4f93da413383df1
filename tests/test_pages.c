/* The pages beside the code say what the code does: sim/README.md (the model), results/README.md
 * (the results file), traces/README.md and the pages of origin. */
#include <dirent.h>
#include <regex.h>

#include <cjson/cJSON.h>

#include "results/page/assumptions.h"
#include "results/store/columns.h"
#include "traces/readers/arrival_trace.h"
#include "sim/base/json.h"
#include "tests/suite.h"
#include "workloads/spec/experiment.h"

OWNER(experiment_free, struct experiment)

static const char model_page[] = "sim/README.md";
static const char results_page[] = "results/README.md";
static const char traces_page[] = "traces/README.md";

static char *page_read(const char *path)
{
    return must(json_read_text(path, NULL, hear()));
}

/* ---- The model ------------------------------------------------------------------------------- */

/* Here in the order of the file, which is also that of the HTML report. */
CASE(the_model_page_has_every_assumption_with_its_grade)
{
    OWNED(arena_home_free)
    struct assumptions *assumptions =
        must(assumptions_load("results/page/assumptions.json", hear()));
    STRING *page = page_read(model_page);
    const char *at = page;
    for (size_t i = 0; i < assumptions->count; i++) {
        char *row =
            formatted("\n| %s | %s |", assumptions->entries[i].fact, assumptions->entries[i].grade);
        at = strstr(at, row);
        if (at == NULL) {
            fail_msg("%s has no such row, or not in its place: %s", model_page, row + 1);
            break;
        }
        at++;
    }
}

/* Whether a line of the text matches the extended regular expression. */
static bool matches(const char *text, const char *pattern)
{
    regex_t line;
    assert_int_equal(regcomp(&line, pattern, REG_EXTENDED | REG_NEWLINE | REG_NOSUB), 0);
    const bool found = regexec(&line, text, 0, NULL, 0) == 0;
    regfree(&line);
    return found;
}

/* "FILE: function, function", "test_NAME: case", or "test_NAME" alone. */
static void check_functions(const char *page, char *quoted)
{
    const bool suite = strncmp(quoted, "test_", 5) == 0;
    char path[256], defined[256], *rest = quoted, *name = strtok_r(quoted, ":", &rest);
    (void)snprintf(path, sizeof path, suite ? "tests/%s.c" : "%s", name);
    STRING *source = page_read(path);
    while ((name = strtok_r(NULL, ", ", &rest)) != NULL) {
        (void)snprintf(defined, sizeof defined, "^[A-Za-z].*[ *(]%s[()][^;]*$", name);
        if (!matches(source, defined))
            fail_msg("%s names the function %s, which %s does not have", page, name, path);
    }
}

/* A name with a slash and an ending is a file, unless it is one of a results file or an example. */
static const char file_pattern[] = "^[^/ <{][^ <{]*/[^ <{]*[.](c|h|md|json|csv|sh|def)$";

static void check_quoted(const char *page, const char *folder)
{
    STRING *text = page_read(page);
    size_t files = 0;
    for (char *open = strchr(text, '`'); open != NULL; open = strchr(open, '`')) {
        char *close = strchr(open + 1, '`');
        if (close == NULL)
            break;
        *close = '\0';
        char *path = formatted("%s%s", folder, open + 1);
        if (strncmp(open + 1, "test_", 5) == 0 || strstr(open + 1, ".c: ") != NULL)
            check_functions(page, open + 1);
        else if (matches(open + 1, file_pattern)) {
            files++;
            if (access(open + 1, R_OK) != 0 && access(path, R_OK) != 0)
                fail_msg("%s names %s, which is not there", page, open + 1);
        }
        open = close + 1;
    }
    assert_true(files > 0);
}

CASE(files_functions_and_tests_that_the_pages_name_are_there)
{
    check_quoted("ARCHITECTURE.md", "sim/platform/");
    check_quoted(model_page, "sim/");
    check_quoted(results_page, "results/");
    check_quoted(traces_page, "traces/");
}

static const char world[] =
    "{\"cluster\": {\"invokers\": [{\"vcpus\": 8, \"memory_mb\": 8192, \"gpus\": [{\"model\": "
    "\"A100\", \"sharing\": \"mps\", \"memory_mb\": 8192}]}]},"
    " \"applications\": [{\"name\": \"a\", \"stages\": [{\"name\": \"s\", \"function\": \"f\"}]}],"
    " \"functions\": {\"functions\": [{\"name\": \"f\", \"service\": {\"distribution\": "
    "\"exponential\", \"mean_ms\": 10}}]},"
    " \"arrivals\": {\"process\": \"poisson\", \"rate_per_s\": 10},"
    " \"policy\": {\"name\": \"fifo\"}}";

/* The world with everything that was left out. */
static cJSON *resolve(const struct override *overrides, size_t count)
{
    OWNED(experiment_free)
    struct experiment *experiment =
        must(experiment_parse(world, "world", ".", overrides, count, hear()));
    cJSON *resolved = must(cJSON_Parse(experiment->resolved_json));
    return resolved;
}

/* The value at a dotted key, in which a number counts in an array; NULL where there is none. */
static const cJSON *value_at(const cJSON *root, const char *key)
{
    const cJSON *value = root;
    while (value != NULL && *key != '\0') {
        const size_t length = strcspn(key, ".");
        char *part = formatted("%.*s", (int)length, key);
        value = cJSON_IsArray(value) ? cJSON_GetArrayItem(value, (int)strtol(part, NULL, 10))
                                     : cJSON_GetObjectItemCaseSensitive(value, part);
        key += length;
        key += *key == '.';
    }
    return value;
}

static void check_default(const cJSON *resolved, const char *key, const char *wanted)
{
    char got[64] = "";
    const cJSON *value = value_at(resolved, key);
    if (value == NULL) {
        fail_msg("%s: the default of %s: the resolved experiment has no such key", model_page, key);
        return;
    }
    if (cJSON_IsNumber(value))
        (void)snprintf(got, sizeof got, "%g", value->valuedouble);
    else if (cJSON_IsBool(value))
        (void)snprintf(got, sizeof got, "%s", cJSON_IsTrue(value) ? "true" : "false");
    else if (cJSON_IsString(value))
        (void)snprintf(got, sizeof got, "%s", value->valuestring);
    if (strcmp(got, wanted) != 0)
        fail_msg("%s says that %s is %s by default, the program takes %s", model_page, key, wanted,
                 got);
}

/* The next "| `key` | default |" row at or after `at`; moves it behind. */
static bool next_key(const char **at, char key[64], char fallback[64])
{
    const char *row = strstr(*at, "\n| `");
    if (row == NULL)
        return false;
    const char *end = strchr(row + 4, '`');
    const char *cell = strstr(end, " | ") + 3;
    (void)snprintf(key, 64, "%.*s", (int)(end - row - 4), row + 4);
    (void)snprintf(fallback, 64, "%.*s", (int)(strstr(cell, " |") - cell), cell);
    *at = cell;
    return true;
}

CASE(defaults_of_the_model_page_are_those_of_the_program)
{
    JSON *resolved = resolve(NULL, 0);
    STRING *page = page_read(model_page);
    const char *at = must(strstr(page, "## Every key of an experiment"));
    char key[64], fallback[64];
    size_t compared = 0;
    while (next_key(&at, key, fallback)) {
        const size_t length = strlen(fallback);
        if (length < 2 || fallback[0] != '`' || fallback[length - 1] != '`')
            continue;
        fallback[length - 1] = '\0';
        check_default(resolved, key, fallback + 1);
        compared++;
    }
    assert_true(compared >= 15);
}

/* Every leaf of the platform, as the resolved experiment writes it out. */
static void check_leaves(const char *page, const cJSON *object, const char *path)
{
    for (const cJSON *child = object->child; child != NULL; child = child->next) {
        char *own = formatted("%s.%s", path, child->string);
        if (cJSON_IsObject(child)) {
            check_leaves(page, child, own);
            continue;
        }
        if (strstr(page, formatted("\n| `%s` |", own)) == NULL)
            fail_msg("%s does not tell of %s", model_page, own);
    }
}

CASE(the_model_page_tells_of_every_key_of_the_platform)
{
    const struct override full[] = {
        {"platform.decision_cost", "{\"model\": \"modelled\", \"ns_per_unit\": 1}"},
        {"platform.noise.cv", "0.1"}};
    JSON *resolved = resolve(full, 2);
    STRING *page = page_read(model_page);
    check_leaves(page, cJSON_GetObjectItemCaseSensitive(resolved, "platform"), "platform");
}

/* ---- The results file ------------------------------------------------------------------------ */

static const char *type_name(enum column_type type)
{
    static const char *const names[] = {"text", "u8", "u16", "u32", "u64", "i32", "i64", "f64"};
    return names[type];
}

static bool is_measure_of_applications(const struct layout *layout, const struct column *column)
{
    const struct metric *metric = metric_find(column->name);
    return layout == &layout_applications && metric != NULL && metric->scope != METRIC_OF_RUN;
}

/* The table's rows are its columns in their order, and no more. */
static void check_table(const char *page, const char *place, const struct layout *layout)
{
    char text[512];
    (void)snprintf(text, sizeof text, "\n### `%s`\n", place);
    const char *at = strstr(page, text);
    if (at == NULL) {
        fail_msg("%s has no section of %s", results_page, place);
        return;
    }
    at = must(strstr(at, "\n|---|"));
    at = strchr(at + 1, '\n');
    for (size_t c = 0; c < layout->count; c++) {
        const struct column *column = &layout->columns[c];
        if (is_measure_of_applications(layout, column))
            continue;
        (void)snprintf(text, sizeof text, "\n| `%s` | %s | %s | %s |", column->name,
                       type_name(column->type), column->unit[0] == '\0' ? "-" : column->unit,
                       column->help);
        if (strncmp(at, text, strlen(text)) != 0)
            fail_msg("%s, %s: the next row must be%s\n", results_page, place, text);
        at += strlen(text);
    }
    if (strncmp(at, "\n|", 2) == 0)
        fail_msg("%s, %s: a row more than the table has columns: %.60s", results_page, place,
                 at + 1);
}

CASE(the_results_page_has_every_column_with_its_unit)
{
    static const struct {
        const char *place;
        const struct layout *layout;
    } tables[] = {
        {"/summary", &layout_summary},
        {"/applications", &layout_applications},
        {"/runs/<hash>/requests", &layout_requests},
        {"/runs/<hash>/batches", &layout_batches},
        {"/runs/<hash>/jobs", &layout_jobs},
        {"/runs/<hash>/containers", &layout_containers},
        {"/runs/<hash>/decisions", &layout_decisions},
        {"/runs/<hash>/choices", &layout_choices},
        {"/runs/<hash>/timeline", &layout_timeline},
        {"/training", &layout_training},
        {"/runs/<hash>/trainings", &layout_trainings},
        {"/runs/<hash>/leases", &layout_leases},
        {"/runs/<hash>/lease_gpus", &layout_lease_gpus},
        {"/runs/<hash>/outages", &layout_outages},
        {"/runs/<hash>/parts", &layout_parts},
        {"/runs/<hash>/lost", &layout_lost},
        {"/runs/<hash>/replay", &layout_replay},
    };
    STRING *page = page_read(results_page);
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++)
        check_table(page, tables[t].place, tables[t].layout);
}

/* ---- Measured data --------------------------------------------------------------------------- */

CASE(the_traces_page_has_every_format)
{
    STRING *page = page_read(traces_page);
    for (size_t i = 0; trace_formats[i] != NULL; i++) {
        if (strstr(page, formatted("\n| `%s` |", trace_formats[i])) == NULL)
            fail_msg("%s does not tell of the format %s", traces_page, trace_formats[i]);
    }
}

static void check_keys(const char *page, const cJSON *object, const char *prefix)
{
    for (const cJSON *child = object->child; child != NULL; child = child->next) {
        char *key = formatted("`%s%s`", prefix, child->string);
        if (strstr(page, key) == NULL)
            fail_msg("%s does not tell of %s", traces_page, key);
    }
}

CASE(the_traces_page_has_every_key_of_the_profiles_that_ship)
{
    static const char *const profiles[] = {"a100-mig-parvagpu", "v100-mps-igniter",
                                           "esg-reconstructed"};
    STRING *page = page_read(traces_page);
    for (size_t i = 0; i < sizeof profiles / sizeof profiles[0]; i++) {
        STRING *text = page_read(formatted("traces/profiles/%s.json", profiles[i]));
        JSON *profile = cJSON_Parse(text);
        const cJSON *functions = must(cJSON_GetObjectItemCaseSensitive(profile, "functions"));
        check_keys(page, profile, "");
        for (const cJSON *f = functions->child; f != NULL; f = f->next)
            check_keys(page, f, "functions.NAME.");
    }
}

/* "azure2019_7d_permin_4.txt.gz" is named by "azure2019_7d_permin_1.txt.gz … _6.txt.gz", too. */
static bool is_named(const char *page, const char *name)
{
    if (strstr(page, name) != NULL)
        return true;
    const size_t stem = strcspn(name, ".");
    char first[256]; /* longer than any file's name */
    (void)snprintf(first, sizeof first, "%s", name);
    if (stem == 0 || stem >= sizeof first || first[stem - 1] < '1' || first[stem - 1] > '6')
        return false;
    first[stem - 1] = '1';
    return strstr(page, first) != NULL && strstr(page, " … ") != NULL;
}

static void check_folder(const char *folder, const char *origin)
{
    STRING *page = page_read(origin);
    struct dirent **entries = NULL;
    const int count = scandir(folder, &entries, NULL, alphasort);
    assert_true(count > 2);
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        if (entries[i]->d_type == DT_REG && strstr(name, ".md") == NULL && !is_named(page, name))
            fail_msg("%s does not say where %s/%s is from", origin, folder, name);
        free(entries[i]);
    }
    free(entries);
    assert_contains(page, "icence:");
}

CASE(every_data_file_is_named_where_its_origin_is_told)
{
    check_folder("traces/arrivals", "traces/arrivals/ORIGIN.md");
    struct dirent **entries = NULL;
    const int count = scandir("traces/profiles/raw", &entries, NULL, alphasort);
    assert_true(count > 2);
    for (int i = 0; i < count; i++) {
        char *folder = formatted("traces/profiles/raw/%s", entries[i]->d_name);
        char *origin = formatted("%s/ORIGIN.md", folder);
        if (entries[i]->d_name[0] != '.')
            check_folder(folder, origin);
        free(entries[i]);
    }
    free(entries);
}

SUITE("pages")
