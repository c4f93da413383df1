#include "traces/readers/listing.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sim/base/arena.h"

/* ---- Options --------------------------------------------------------------------------------- */

bool listing_add_rule(struct listing_options *options, const char *option, char *text, bool ignore,
                      struct error *error)
{
    struct listing_rule rule = {.column = text};
    char *equals = ignore ? NULL : strchr(text, '=');
    if (!ignore && (equals == NULL || equals == text))
        return error_input(error, "%s: '%s' has no COLUMN=VALUE", option, text);
    if (options->rule_count == LISTING_RULES)
        return error_input(error, "%s: more than %d columns", option, LISTING_RULES);
    if (equals != NULL) {
        rule.value = equals + 1;
        rule.unlike = equals > text + 1 && equals[-1] == '!';
        equals[rule.unlike ? -1 : 0] = '\0';
    }
    options->rules[options->rule_count++] = rule;
    return true;
}

bool listing_check_rules(const struct listing_options *options, struct error *error)
{
    for (size_t i = 0; i < options->rule_count; i++)
        if (!options->rules[i].found)
            return error_input(error, "%s %s: no table has that column",
                               options->rules[i].value != NULL ? "--where" : "--ignore",
                               options->rules[i].column);
    return true;
}

bool listing_take_roles(char *list, const char *const *roles, size_t needed, const char **columns,
                        const char *form, struct error *error)
{
    enum { MOST = 64 };
    char *parts[MOST];
    const ptrdiff_t count = line_cut(list, ',', parts, MOST);
    if (count < 0 || count > MOST)
        return error_input(error, "--columns has a quote that is not closed, or above %d parts",
                           MOST);
    for (ptrdiff_t i = 0; i < count; i++) {
        char *equals = strchr(parts[i], '=');
        size_t r = 0;
        if (equals != NULL)
            *equals = '\0';
        while (roles[r] != NULL && strcmp(parts[i], roles[r]) != 0)
            r++;
        if (equals == NULL || equals[1] == '\0' || roles[r] == NULL || columns[r] != NULL)
            return error_input(error,
                               "--columns takes %s, each once and separated by commas, not '%s'",
                               form, parts[i]);
        columns[r] = equals + 1;
    }
    for (size_t r = 0; r < needed; r++)
        if (columns[r] == NULL)
            return error_input(error, "--columns lacks %s=COLUMN; it takes %s", roles[r], form);
    return true;
}

/* ---- The first line -------------------------------------------------------------------------- */

/* How often a line has a character outside quotes. */
static size_t count_of(const char *line, char character)
{
    size_t count = 0;
    bool quoted = false;
    for (; *line != '\0'; line++) {
        quoted = quoted != (*line == '"');
        count += !quoted && *line == character;
    }
    return count;
}

/* `wanted`: columns that are known by name; 0: not known. */
static char separator_of(const char *line, size_t wanted, bool blanks)
{
    static const char known[] = "\t;|,";
    char best = ',';
    size_t most = 0;
    for (const char *c = known; *c != '\0'; c++) {
        const size_t count = count_of(line, *c);
        if (count + 1 == wanted && wanted > 1)
            return *c;
        if (count > most) {
            best = *c;
            most = count;
        }
    }
    return most == 0 && (blanks || wanted > 1) && strpbrk(line, " \t") != NULL ? ' ' : best;
}

static bool open_names(struct listing *table, char *line, struct error *error)
{
    const char *given = table->options != NULL ? table->options->header : NULL;
    char *text = arena_text(table->memory, "%s", given != NULL ? given : line);
    const size_t room = strlen(text) + 1;
    if (given == NULL)
        table->separator = separator_of(line, 0, table->blanks);
    table->names = arena_allocate(table->memory, room, sizeof *table->names);
    table->fields = arena_allocate(table->memory, room, sizeof *table->fields);
    const ptrdiff_t count =
        line_cut(text, given != NULL ? ',' : table->separator, table->names, room);
    if (count < 0)
        return line_fault(table->lines, error, "a quoted name of a column does not end; close it");
    table->count = (size_t)count;
    if (given != NULL) {
        table->separator = separator_of(line, table->count, table->blanks);
        table->pending = line;
    }
    return true;
}

bool listing_open(struct listing *table, char *line, struct error *error)
{
    table->memory = arena_create();
    if (listing_json_begins(line) ? !listing_json_open(table, line, error)
                                  : !open_names(table, line, error))
        return false;
    struct listing_options *options = table->options;
    for (size_t i = 0; options != NULL && i < options->rule_count; i++) {
        table->places[i] = listing_column(table, options->rules[i].column);
        options->rules[i].found = options->rules[i].found || table->places[i] >= 0;
    }
    return true;
}

void listing_close(struct listing *table)
{
    listing_json_close(table->json);
    arena_destroy(table->memory);
    *table = (struct listing){.lines = NULL};
}

/* ---- Columns --------------------------------------------------------------------------------- */

int listing_column(struct listing *table, const char *name)
{
    if (table->json != NULL)
        return listing_json_column(table, name);
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->names[i], name) == 0)
            return (int)i;
    char *end = NULL;
    const unsigned long number = *name == '#' ? strtoul(name + 1, &end, 10) : 0;
    return number > 0 && *end == '\0' && number <= table->count ? (int)number - 1 : -1;
}

int listing_column_any(struct listing *table, const char *const *names)
{
    int found = -1;
    for (size_t i = 0; found < 0 && names[i] != NULL; i++)
        found = listing_column(table, names[i]);
    return found;
}

bool listing_is_value(const char *name)
{
    return *name != '\0' && name[strspn(name, "+-.:eE 0123456789")] == '\0';
}

/* A row of values in the place of the names is the first row of a table without a header. */
static bool check_named(const struct listing *table, int place, struct error *error)
{
    const char *name = table->names[place];
    return !listing_is_value(name) || (table->options != NULL && table->options->header != NULL) ||
           line_fault(table->lines, error,
                      "column %d of the header is '%.40s', a value; name the columns of a table "
                      "without a header by --header NAME,NAME,…",
                      place + 1, name);
}

bool listing_place(struct listing *table, const char *name, int *place, struct error *error)
{
    char list[256];
    size_t found = 0;
    *place = listing_column(table, name);
    if (*place < 0) {
        const char *const *names = (const char *const *)table->names;
        const char *nearest = error_nearest_name(name, names, (int)table->count);
        error_list_names(names, (int)table->count, list, sizeof list);
        return line_fault(table->lines, error, "has no column \"%.60s\"; %s%s%s", name,
                          nearest == NULL ? "its columns are " : "did you mean \"",
                          nearest == NULL ? list : nearest, nearest == NULL ? "" : "\"?");
    }
    for (size_t i = 0; i < table->count && table->json == NULL; i++)
        found += strcmp(table->names[i], name) == 0;
    if (found > 1)
        return line_fault(table->lines, error, "has %zu columns \"%.60s\"; rename all but one",
                          found, name);
    return table->json != NULL || *name != '#' || check_named(table, *place, error);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Equal as text or as numbers. */
static bool is_equal(const char *cell, const char *wanted)
{
    char *ends[2] = {NULL, NULL};
    const double numbers[2] = {strtod(cell, &ends[0]), strtod(wanted, &ends[1])};
    return strcmp(cell, wanted) == 0 || (ends[0] != cell && *ends[0] == '\0' && ends[1] != wanted &&
                                         *ends[1] == '\0' && numbers[0] == numbers[1]);
}

static bool is_selected(const struct listing *table)
{
    const size_t count = table->options != NULL ? table->options->rule_count : 0;
    for (size_t i = 0; i < count; i++) {
        const struct listing_rule *rules = table->options->rules, *rule = &rules[i];
        const int place = table->places[i];
        if (rule->value == NULL || place < 0)
            continue;
        bool equal = is_equal(table->fields[place], rule->value);
        for (size_t j = 0; j < count && !rule->unlike && !equal; j++)
            equal = table->places[j] == place && rules[j].value != NULL && !rules[j].unlike &&
                    is_equal(table->fields[place], rules[j].value);
        if (equal == rule->unlike)
            return false;
    }
    return true;
}

static bool cut_row(const struct listing *table, char *line, struct error *error)
{
    const ptrdiff_t count = line_cut(line, table->separator, table->fields, table->count);
    if (count < 0)
        return line_fault(
            table->lines, error,
            "field %td begins with a quote and does not end with one; close the quote "
            "in this line, and double quotes inside",
            -count);
    const bool named = table->options != NULL && table->options->header != NULL;
    return (size_t)count == table->count ||
           line_fault(table->lines, error, "has %td field%s, %s %zu%s%.200s%s", count,
                      count == 1 ? "" : "s", named ? "not" : "the header has", table->count,
                      named ? " (" : "", named ? table->options->header : "", named ? ")" : "");
}

static enum line_status next_row(struct listing *table, struct error *error)
{
    char *line = table->pending;
    table->bad = false;
    if (table->json != NULL)
        return listing_json_next(table, error);
    table->pending = NULL;
    if (line == NULL) {
        const enum line_status status = line_reader_next(table->lines, &line, error);
        if (status != LINE_READ)
            return status;
    }
    table->bad = !cut_row(table, line, error);
    return table->bad ? LINE_FAULT : LINE_READ;
}

enum line_status listing_next(struct listing *table, struct error *error)
{
    for (;;) {
        const enum line_status status = next_row(table, error);
        table->rows += status == LINE_READ || table->bad;
        if (status != LINE_READ)
            return status;
        if (is_selected(table))
            return LINE_READ;
        table->unselected++;
    }
}
