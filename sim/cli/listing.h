/* The entries that `esgsim list` shows: printed, collected as JSON, or only counted. */
#ifndef ESGSIM_SIM_CLI_LISTING_H
#define ESGSIM_SIM_CLI_LISTING_H

#include <stdbool.h>
#include <stddef.h>

#include <cjson/cJSON.h>

#include "sim/base/error.h"

struct listing {
    const char *only;    /* the one name that is wanted; NULL: all */
    bool full;           /* entries are printed in full */
    bool counting;       /* nothing is shown */
    cJSON *rows;         /* an array; NULL: print */
    char **names;        /* of all entries, also of those not wanted */
    size_t count, shown; /* entries so far; those of them that are wanted */
    bool failed;         /* memory is exhausted */
};

/* Notes the entry's name, and returns whether to show it. A file is known by its name with and
 * without folder and ending. */
bool listing_wants(struct listing *listing, const char *name);

/* Shows an entry. Returns its JSON object, which the caller may extend; NULL: printed. */
cJSON *listing_show(struct listing *listing, const char *name, const char *description);

/* Shows the entry if it is wanted. */
void listing_add(struct listing *listing, const char *name, const char *description);

/* The name nearest to the wanted one, which the listing owns; NULL: none is near. */
const char *listing_nearest(const struct listing *listing);

/* Frees what the listing owns. */
void listing_clear(struct listing *listing);

/* A line of text with a limited length; excess text is cut. */
struct line {
    char text[2048];
    size_t used;
};

void line_add(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds ": note". A long note is cut at a word if the entries are printed, not in full. */
void line_add_note(struct line *line, const struct listing *listing, const char *note);

#endif
