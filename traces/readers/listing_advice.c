/* What to type for a table that is in no known form. */
#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "traces/readers/listing.h"

enum { COLUMNS = 64 };

/* The roles of a kind of table, and the words in the names of their columns, best first; a word
 * behind = is the whole name. */
static const struct guess {
    char kind, need; /* '!': required; '~': or else the next, '|' */
    const char *role, *words;
} guesses[] = {
    {'r', '!', "time", "timestamp time arriv submit start date =t =ts"},
    {'r', ' ', "application", "application =app function func service"},
    {'r', ' ', "count", "=count =requests =value =total"},
    {'t', '!', "arrival", "arriv submit timestamp creat start time date"},
    {'t', '!', "gpus", "gpu tres worker"},
    {'t', '~', "duration", "duration runtime run_time elapsed"},
    {'t', '|', "end", "end finish complet delet"},
    {'m', '!', "function", "function model network name"},
    {'m', '!', "batch", "batch"},
    {'m', ' ', "share_pct", "pct percent mps"},
    {'m', '!', "latency", "latency lat time"},
    {.kind = '\0'},
};

static bool is_like(const char *name, const char *word, size_t length)
{
    char wanted[32];
    if (*word == '=')
        return strncasecmp(name, word + 1, length - 1) == 0 && name[length - 1] == '\0';
    (void)snprintf(wanted, sizeof wanted, "%.*s", (int)length, word);
    return strcasestr(name, wanted) != NULL;
}

/* The column whose name has the first of the words that any has; `count`: none. */
static size_t find(const char *words, char *const *names, size_t count)
{
    for (const char *word = words; *word != '\0'; word += strspn(word, " ")) {
        const size_t length = strcspn(word, " ");
        for (size_t i = 0; i < count; i++)
            if (is_like(names[i], word, length))
                return i;
        word += length;
    }
    return count;
}

static char kind_of(char *const *names, size_t count)
{
    return find("gpu tres", names, count) < count && find("latency", names, count) == count   ? 't'
           : find("batch", names, count) < count && find("latency lat", names, count) < count ? 'm'
                                                                                              : 'r';
}

/* Writes the command with the roles that the names tell. */
static void write_command(FILE *out, const char *path, char kind, char *const *names, size_t count)
{
    const char *before = "";
    bool have = false;
    (void)fprintf(out, "esgsim %s %s%s --columns '", kind == 'm' ? "calibrate" : "trace convert",
                  path, kind == 't' ? " --as trainings" : "");
    for (const struct guess *guess = guesses; guess->kind != '\0'; guess++) {
        if (guess->kind != kind || (guess->need == '|' && have))
            continue;
        const size_t place = find(guess->words, names, count);
        have = place < count;
        if (!have && (guess->need == ' ' || guess->need == '~'))
            continue;
        (void)fprintf(out, "%s%s=%s", before, have || guess->need == '!' ? guess->role : "duration",
                      have ? names[place] : "?");
        before = ",";
    }
    (void)fprintf(out, "' --unit ? --out %s", kind == 'm' ? "PROFILE.json" : "OUT.csv");
}

static void write_advice(FILE *out, const char *path, char kind, char *const *names, size_t count)
{
    char list[320];
    size_t values = 0;
    for (size_t i = 0; i < count; i++)
        values += names[i][strcspn(names[i], "0123456789")] != '\0' && listing_is_value(names[i]);
    if (values * 2 >= count) {
        (void)fprintf(out,
                      "it has values in the place of names: give these by --header NAME,NAME,… "
                      "and --columns ROLE=NAME,…");
        return;
    }
    error_list_names((const char *const *)names, (int)count, list, sizeof list);
    (void)fprintf(out, "its columns are %s; read it by `", list);
    write_command(out, path, kind != 0 ? kind : kind_of(names, count), names, count);
    (void)fprintf(out, "`");
}

const char *listing_advice(const char *path, const char *line, char kind, char *text, size_t size)
{
    struct line_reader lines = {.path = path};
    struct listing table = {.lines = &lines};
    struct error fault = {0};
    char *names[COLUMNS];
    size_t count = 0;
    cJSON *object = listing_json_begins(line) ? cJSON_Parse(line) : NULL;
    FILE *out = fmemopen(text, size, "w");
    text[0] = '\0';
    if (object != NULL)
        for (cJSON *item = object->child; item != NULL && count < COLUMNS; item = item->next)
            names[count++] = item->string != NULL ? item->string : (char *)"?";
    else if (!listing_json_begins(line) && listing_open(&table, (char *)(uintptr_t)line, &fault))
        for (; count < table.count && count < COLUMNS; count++)
            names[count] = table.names[count];
    if (out != NULL && count > 0)
        write_advice(out, path, kind, names, count);
    else if (out != NULL)
        (void)fprintf(out, "objects are read by the names of their keys: --columns ROLE=KEY,…");
    if (out != NULL)
        (void)fclose(out);
    text[size - 1] = '\0';
    listing_close(&table);
    cJSON_Delete(object);
    return text;
}
