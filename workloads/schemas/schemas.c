/* What the loaders ask of input files: workloads/schemas/schemas.py makes the JSON Schemas of it.
 *
 *   build/schemas FILE.json…
 *
 * The loaders read the files while sim/base/json.h records what they ask: the keys of an object,
 * the range of a number, the words of a choice. Each file prints a line with its name and kind, and
 * one line for each question, as JSON.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/expect/expectation.h"
#include "sim/base/json.h"
#include "sim/base/json_write.h"
#include "workloads/sweep/sweep.h"

static void fail(const char *what)
{
    (void)fprintf(stderr, "schemas: %s\n", what);
    exit(1);
}

static void print_line(cJSON *line)
{
    char *text = cJSON_PrintUnformatted(line);
    if (text == NULL || printf("%s\n", text) < 0)
        fail("a line cannot be written");
    cJSON_free(text);
    cJSON_Delete(line);
}

/* A key of a loader's table lies among the program's data; a name that the file defines, such as
 * that of an application, does not. See end(3). */
static bool is_of_program(const char *key)
{
    extern char end;
    return (uintptr_t)key < (uintptr_t)&end;
}

/* `context`: the file that is read; others that it names are not recorded. */
static void record(void *context, const char *ask, const struct json_value *value, const char *key,
                   double low, double high, const char *const *words)
{
    char least[32], most[32]; /* cJSON rounds numbers to 15 digits */
    bool named = false;
    if (strcmp(value->file, context) != 0)
        return;
    (void)snprintf(least, sizeof least, "%.17g", low);
    (void)snprintf(most, sizeof most, "%.17g", high);
    cJSON *line = cJSON_CreateObject();
    cJSON *list = words != NULL ? cJSON_AddArrayToObject(line, "words") : NULL;
    json_put(line, "ask %s path %s low %s high %s key %s", ask, value->path, least, most, key);
    for (size_t i = 0; words != NULL && words[i] != NULL; i++)
        if (is_of_program(words[i]))
            (void)cJSON_AddItemToArray(list, cJSON_CreateString(words[i]));
        else
            named = true;
    json_put(line, "named %hhd", named);
    print_line(line);
}

static bool read_as(const char *path, const char *kind, struct error *error)
{
    if (strcmp(kind, "sweep") == 0) {
        struct sweep *sweep = sweep_load(path, NULL, 0, error);
        sweep_free(sweep);
        return sweep != NULL;
    }
    const bool claims = strcmp(kind, "claims") == 0;
    if (claims || strcmp(kind, "reference figures") == 0) {
        struct expectations *expectations =
            expectations_load(path, claims ? EXPECTATION_CLAIMS : EXPECTATION_FIGURES, error);
        arena_home_free(expectations);
        return expectations != NULL;
    }
    return input_check(path, &(struct input_found){0}, error);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct error error = {0};
        cJSON *content = json_parse_file(argv[i], &error);
        const char *kind = input_kind(content);
        if (content == NULL || kind == NULL)
            fail(content == NULL ? error.message : argv[i]);
        cJSON *line = cJSON_CreateObject();
        json_put(line, "file %s kind %s", argv[i], kind);
        print_line(line);
        json_record(record, argv[i]);
        if (!read_as(argv[i], kind, &error))
            fail(error.message);
        json_record(NULL, NULL);
        cJSON_Delete(content);
    }
    return 0;
}
