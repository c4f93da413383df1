/* Objects of JSON as the rows of a table. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "sim/base/arena.h"
#include "traces/readers/listing.h"

enum { NUMBER = 32 };

struct listing_json {
    char *text;       /* of the lines that are not used up */
    size_t used;      /* since the last trial */
    const char *rest; /* of the text, behind the last object */
    cJSON *row;
    bool pending;            /* the row has not been given yet */
    char (*numbers)[NUMBER]; /* of each column: its value as text */
};

bool listing_json_begins(const char *line)
{
    const char *at = line + strspn(line, " \t[");
    return *at == '{' ? at[1] != '\'' : at > line && *at == '\0' && strchr(line, '[') != NULL;
}

/* Adds the next line to the rest of the text. */
static enum line_status add_line(struct listing *table, struct error *error)
{
    struct listing_json *json = table->json;
    char *line = NULL;
    const enum line_status status = line_reader_next(table->lines, &line, error);
    if (status != LINE_READ)
        return status;
    const size_t length = strlen(line), kept = strlen(json->rest);
    memmove(json->text, json->rest, kept);
    arena_reserve(table->memory, &json->text, kept + length + 2, 1);
    (void)snprintf(json->text + kept, length + 2, "%s\n", line);
    json->used = kept + length + 1;
    json->rest = json->text;
    return LINE_READ;
}

/* Parses the next object, of several lines if need be: it is tried again when the text has doubled,
 * so that long objects do not take quadratic time. */
static enum line_status parse(struct listing *table, struct error *error)
{
    struct listing_json *json = table->json;
    const char *end = NULL;
    for (bool more = true;;) {
        json->rest += strspn(json->rest, " \t\r\n,[]");
        cJSON_Delete(json->row);
        json->row = *json->rest != '{' ? NULL : cJSON_ParseWithOpts(json->rest, &end, false);
        if (json->row != NULL) {
            json->rest = end;
            return LINE_READ;
        }
        const size_t begun = strlen(json->rest);
        if (begun == 0 && !more)
            return LINE_END;
        if (!more || (begun > 0 && *json->rest != '{') || begun > LINE_LENGTH_MOST)
            break;
        enum line_status status = LINE_READ;
        for (json->used = 0; status == LINE_READ && json->used <= 2 * begun;)
            status = add_line(table, error);
        if (status == LINE_FAULT)
            return status;
        more = status == LINE_READ;
    }
    (void)line_fault(table->lines, error, "'%.40s' is no object of JSON, or is not closed",
                     json->rest);
    return LINE_FAULT;
}

/* Follows a path. Counts the values that it meets, and keeps the last; `listed`: on a way through
 * lists. */
static size_t follow(const cJSON *node, const char *path, const cJSON **last, bool *listed)
{
    size_t met = 0;
    const cJSON *item = NULL;
    char *end = NULL;
    const long number = strtol(path, &end, 10);
    const bool indexed = end > path && (*end == '.' || *end == '\0');
    if (cJSON_IsArray(node) && indexed) {
        const int at = (int)(number < 0 ? number + cJSON_GetArraySize(node) : number);
        item = at >= 0 ? cJSON_GetArrayItem(node, at) : NULL;
        return item == NULL ? 0 : follow(item, *end == '.' ? end + 1 : end, last, listed);
    }
    if (cJSON_IsArray(node)) {
        *listed = true;
        cJSON_ArrayForEach(item, node)
        {
            met += follow(item, path, last, listed);
        }
        return met;
    }
    if (*path == '\0') {
        *last = node;
        return !cJSON_IsNull(node);
    }
    char key[128];
    const size_t length = strcspn(path, ".");
    (void)snprintf(key, sizeof key, "%.*s", (int)length, path);
    item = cJSON_GetObjectItemCaseSensitive(node, key);
    path += length;
    return item == NULL ? 0 : follow(item, *path == '.' ? path + 1 : path, last, listed);
}

/* Sets the field of a column from the row. */
static void set_field(struct listing *table, size_t column)
{
    char *number = table->json->numbers[column];
    const cJSON *last = NULL;
    bool listed = false;
    const size_t met = follow(table->json->row, table->names[column], &last, &listed);
    table->fields[column] = number;
    number[0] = '\0';
    if (listed)
        (void)snprintf(number, NUMBER, "%zu", met);
    else if (met > 0 && cJSON_IsString(last))
        table->fields[column] = last->valuestring;
    else if (met > 0 && cJSON_IsBool(last))
        (void)snprintf(number, NUMBER, "%s", cJSON_IsTrue(last) ? "true" : "false");
    else if (met > 0 && cJSON_IsNumber(last))
        (void)snprintf(number, NUMBER,
                       fabs(last->valuedouble) < 1e15 &&
                               trunc(last->valuedouble) == last->valuedouble
                           ? "%.0f"
                           : "%.15g",
                       last->valuedouble);
}

enum line_status listing_json_next(struct listing *table, struct error *error)
{
    struct listing_json *json = table->json;
    if (!json->pending) {
        const enum line_status status = parse(table, error);
        if (status != LINE_READ)
            return status;
    }
    json->pending = false;
    for (size_t i = 0; i < table->count; i++)
        set_field(table, i);
    return LINE_READ;
}

bool listing_json_open(struct listing *table, const char *line, struct error *error)
{
    if (table->options != NULL && table->options->header != NULL)
        return line_fault(table->lines, error, "is JSON, whose keys are names; drop --header");
    struct listing_json *json = arena_allocate(table->memory, 1, sizeof *json);
    table->json = json;
    json->text = arena_text(table->memory, "%s", line);
    json->rest = json->text;
    const enum line_status status = parse(table, error);
    json->pending = status == LINE_READ;
    return status == LINE_READ ||
           (status == LINE_END && line_fault(table->lines, error, "has no object of JSON"));
}

void listing_json_close(struct listing_json *json)
{
    if (json != NULL)
        cJSON_Delete(json->row);
}

/* Names the column of a path that the first object may have. */
int listing_json_column(struct listing *table, const char *path)
{
    struct listing_json *json = table->json;
    char key[128];
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->names[i], path) == 0)
            return (int)i;
    (void)snprintf(key, sizeof key, "%.*s", (int)strcspn(path, "."), path);
    if (!cJSON_HasObjectItem(json->row, key))
        return -1;
    arena_reserve(table->memory, &table->names, table->count + 1, sizeof *table->names);
    arena_reserve(table->memory, &table->fields, table->count + 1, sizeof *table->fields);
    arena_reserve(table->memory, &json->numbers, table->count + 1, sizeof *json->numbers);
    table->names[table->count] = (char *)(uintptr_t)path;
    return (int)table->count++;
}
