/* Objects of JSON as the rows of a table. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "sim/base/array.h"
#include "traces/readers/listing.h"

enum { NUMBER = 32 };

struct listing_json {
    char *rest;   /* of the line, behind the last object */
    char *object; /* its text */
    size_t used, room;
    cJSON *row;
    bool pending;            /* the row has not been given yet */
    char (*numbers)[NUMBER]; /* of each column: its value as text */
};

bool listing_json_begins(const char *line)
{
    const char *at = line + strspn(line, " \t[");
    return *at == '{' ? at[1] != '\'' : at > line && *at == '\0' && strchr(line, '[') != NULL;
}

static bool put(struct listing *table, char c, struct error *error)
{
    struct listing_json *json = table->json;
    if (json->used > LINE_LENGTH_MOST)
        return line_fault(table->lines, error, "an object is longer than 1 MiB");
    if (!array_reserve(&json->object, &json->room, json->used + 1, 1))
        return error_run(error, "%s: out of memory", table->lines->path);
    json->object[json->used++] = c;
    return true;
}

/* Gathers the text of the next object, over several lines if need be. */
static enum line_status gather(struct listing *table, struct error *error)
{
    struct listing_json *json = table->json;
    size_t depth = 0;
    bool quoted = false, escaped = false;
    json->used = 0;
    for (;; json->rest++) {
        while (json->rest == NULL || *json->rest == '\0') {
            const enum line_status status = line_reader_next(table->lines, &json->rest, error);
            if (status == LINE_END && depth == 0)
                return LINE_END;
            if (status == LINE_END)
                (void)line_fault(table->lines, error, "an object of JSON is not closed");
            if (status != LINE_READ)
                return LINE_FAULT;
        }
        const char c = *json->rest;
        if (depth == 0 && c != '{') {
            if (strchr(" \t,[]", c) != NULL)
                continue;
            (void)line_fault(table->lines, error, "'%.20s' is no object of JSON", json->rest);
            return LINE_FAULT;
        }
        if (!put(table, c, error))
            return LINE_FAULT;
        quoted = quoted != (c == '"' && !escaped);
        escaped = quoted && c == '\\' && !escaped;
        depth += !quoted && c == '{';
        depth -= !quoted && c == '}';
        if (depth == 0) {
            json->rest++;
            return put(table, '\0', error) ? LINE_READ : LINE_FAULT;
        }
    }
}

static enum line_status parse(struct listing *table, struct error *error)
{
    struct listing_json *json = table->json;
    const enum line_status status = gather(table, error);
    if (status != LINE_READ)
        return status;
    cJSON_Delete(json->row);
    json->row = cJSON_Parse(json->object);
    table->bad = json->row == NULL;
    if (!table->bad)
        return LINE_READ;
    (void)line_fault(table->lines, error, "'%.40s' is not valid JSON", json->object);
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
    table->json = calloc(1, sizeof *table->json);
    if (table->json == NULL)
        return error_run(error, "%s: out of memory", table->lines->path);
    table->json->rest = (char *)(uintptr_t)line;
    const enum line_status status = parse(table, error);
    table->json->pending = status == LINE_READ;
    return status == LINE_READ ||
           (status == LINE_END && line_fault(table->lines, error, "has no object of JSON"));
}

void listing_json_close(struct listing_json *json)
{
    if (json == NULL)
        return;
    cJSON_Delete(json->row);
    free(json->object);
    free(json->numbers);
    free(json);
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
    if (!cJSON_HasObjectItem(json->row, key) ||
        !array_extend(&table->names, table->count, sizeof *table->names) ||
        !array_extend(&table->fields, table->count, sizeof *table->fields) ||
        !array_extend(&json->numbers, table->count, sizeof *json->numbers))
        return -1;
    table->names[table->count] = (char *)(uintptr_t)path;
    return (int)table->count++;
}
