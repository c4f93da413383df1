/* A table of text as people have it: the one reader of tables of requests, trainings and
 * measurements.
 *
 * The separator is the character of tab, `;`, `|` and `,` that the first line has most often
 * outside quotes. Fields may be quoted, and blanks around them do not count. Columns may be without
 * a name. Objects of JSON are rows, too, one a line or in an array: a column is then a key, or a
 * path such as `attempts.-1.end_time`, whose numbers are positions in arrays, from the end if
 * negative. A path that meets several values stands for their number.
 */
#ifndef ESGSIM_TRACES_READERS_LISTING_H
#define ESGSIM_TRACES_READERS_LISTING_H

#include <stdbool.h>
#include <stddef.h>

#include "traces/readers/line_reader.h"

enum { LISTING_RULES = 32 };

/* Selects the rows whose `column` is `value`, as text or as a number, or is not (`unlike`). Values
 * of one column are alternatives. Without a value the column does not matter. */
struct listing_rule {
    const char *column, *value;
    bool unlike;
    bool found; /* a table has the column */
};

/* What a command says of its tables. Zeroed: nothing. */
struct listing_options {
    const char *header; /* names, separated by commas, of a table that has none; NULL: line 1 */
    struct listing_rule rules[LISTING_RULES];
    size_t rule_count;
};

/* Takes "COLUMN=VALUE" or "COLUMN!=VALUE", cut in place, or COLUMN alone if `ignore`; the texts
 * must outlive the options. ERROR_INPUT names `option`. */
bool listing_add_rule(struct listing_options *options, const char *option, char *text, bool ignore,
                      struct error *error);

/* ERROR_INPUT for a rule whose column no table has: misspelt, it would select all. */
bool listing_check_rules(const struct listing_options *options, struct error *error);

/* Sets the columns of `roles`, ended by NULL, from a list "ROLE=COLUMN,…", which is cut in place.
 * The first `needed` roles are required; `form` says what the list may have. */
bool listing_take_roles(char *list, const char *const *roles, size_t needed, const char **columns,
                        const char *form, struct error *error);

struct arena;
struct listing_json;

struct listing {
    struct line_reader *lines;
    struct listing_options *options; /* NULL: none */
    bool blanks; /* blanks may separate, where the line has no other separator */
    char separator;
    char **names; /* of the columns; JSON: those that listing_place found */
    size_t count;
    char **fields; /* of the row */
    size_t rows, unselected;
    bool bad; /* the last fault is of one row alone: the next one can be read */
    /* The rest is private. */
    struct arena *memory; /* of the table, until it is closed */
    char *pending;
    int places[LISTING_RULES]; /* column of each rule; -1: absent */
    struct listing_json *json;
};

/* Begins a table with its first line, as line_reader_next has given it; it is not changed. `lines`,
 * `options` and `blanks` are set before, all else is zero. Marks the rules whose column it has.
 * Close it in either case. ERROR_INPUT. */
bool listing_open(struct listing *table, char *line, struct error *error);
void listing_close(struct listing *table);

/* Sets `fields` to those of the next row that the rules select. */
enum line_status listing_next(struct listing *table, struct error *error);

/* The column of a name, or of a number such as #3; -1: there is none, or for `any` of a list that
 * NULL ends none of them. */
int listing_column(struct listing *table, const char *name);
int listing_column_any(struct listing *table, const char *const *names);

/* The same; ERROR_INPUT if there is none, or several. */
bool listing_place(struct listing *table, const char *name, int *place, struct error *error);

/* Whether the name of a column is rather a number or a time. */
bool listing_is_value(const char *name);

/* What a user of an unknown table should type: the columns of its first line, and a command with
 * the roles that their names tell. `kind`: 'r' requests, 't' trainings, 'm' measurements; 0: as the
 * names tell. Also names JSON and what is no text. Returns `text`. */
const char *listing_advice(const char *path, const char *line, char kind, char *text, size_t size);

/* ---- Objects of JSON (listing_json.c) ---- */

/* Whether the line begins an object or an array of objects. */
bool listing_json_begins(const char *line);
bool listing_json_open(struct listing *table, const char *line, struct error *error);
void listing_json_close(struct listing_json *json); /* NULL is allowed */
/* The number of a path, from 0; -1: the first object lacks its first key. */
int listing_json_column(struct listing *table, const char *path);
enum line_status listing_json_next(struct listing *table, struct error *error);

#endif
