/* The pages beside the code say what the code does: sim/README.md (the model) and its pages of
 * assumptions and keys, traces/README.md and the pages of origin. */
#include <dirent.h>
#include <regex.h>

#include <cjson/cJSON.h>

#include "results/page/assumptions.h"
#include "traces/readers/arrival_trace.h"
#include "sim/base/json.h"
#include "tests/suite.h"
#include "workloads/spec/experiment.h"

OWNER(experiment_free, struct experiment)

static const char assumptions_page[] = "sim/ASSUMPTIONS.md";
static const char keys_page[] = "sim/KEYS.md";
static const char traces_page[] = "traces/README.md";

static char *page_read(const char *path)
{
    return must(json_read_text(path, NULL, hear()));
}

/* ---- The model ------------------------------------------------------------------------------- */

/* Here in the order of the file, which is also that of the HTML report. */
CASE(the_page_of_assumptions_has_each_with_its_grade)
{
    OWNED(arena_home_free)
    struct assumptions *assumptions =
        must(assumptions_load("results/page/assumptions.json", hear()));
    STRING *page = page_read(assumptions_page);
    const char *at = page;
    for (size_t i = 0; i < assumptions->count; i++) {
        char *row =
            formatted("\n| %s | %s |", assumptions->entries[i].fact, assumptions->entries[i].grade);
        at = strstr(at, row);
        if (at == NULL) {
            fail_msg("%s has no such row, or not in its place: %s", assumptions_page, row + 1);
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
    check_quoted("sim/README.md", "sim/");
    check_quoted(assumptions_page, "sim/");
    check_quoted(keys_page, "sim/");
    check_quoted("results/README.md", "results/");
    check_quoted("results/TRAININGS.md", "results/");
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
static cJSON *resolve(void)
{
    OWNED(experiment_free)
    struct experiment *experiment = must(experiment_parse(world, "world", ".", NULL, 0, hear()));
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
        fail_msg("%s: the default of %s: the resolved experiment has no such key", keys_page, key);
        return;
    }
    if (cJSON_IsNumber(value))
        (void)snprintf(got, sizeof got, "%g", value->valuedouble);
    else if (cJSON_IsBool(value))
        (void)snprintf(got, sizeof got, "%s", cJSON_IsTrue(value) ? "true" : "false");
    else if (cJSON_IsString(value))
        (void)snprintf(got, sizeof got, "%s", value->valuestring);
    if (strcmp(got, wanted) != 0)
        fail_msg("%s says that %s is %s by default, the program takes %s", keys_page, key, wanted,
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

CASE(defaults_of_the_page_of_keys_are_those_of_the_program)
{
    JSON *resolved = resolve();
    STRING *page = page_read(keys_page);
    const char *at = page;
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
