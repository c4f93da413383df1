#include "sim/cli/listing.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/array.h"
#include "sim/base/atomic_file.h"
#include "sim/base/json_write.h"

/* "theory/mm1.json" is named mm1.json, mm1 and theory/mm1, too. */
static bool is_named(const char *name, const char *wanted)
{
    const char *const starts[] = {name, file_name(name)};
    for (size_t i = 0; i < 2; i++)
        if (strcmp(starts[i], wanted) == 0 || (strlen(wanted) == strcspn(starts[i], ".") &&
                                               strncmp(starts[i], wanted, strlen(wanted)) == 0))
            return true;
    return false;
}

bool listing_wants(struct listing *listing, const char *name)
{
    if (!array_extend(&listing->names, listing->count, sizeof *listing->names)) {
        listing->failed = true;
        return false;
    }
    listing->names[listing->count++] = strdup(name);
    if (listing->only != NULL && !is_named(name, listing->only))
        return false;
    listing->shown++;
    return !listing->counting;
}

cJSON *listing_show(struct listing *listing, const char *name, const char *description)
{
    if (listing->rows == NULL) {
        printf("%-28s %s\n", name, description);
        return NULL;
    }
    cJSON *row = json_append(listing->rows);
    json_put(row, "name %s description %s", name, description);
    return row;
}

void listing_add(struct listing *listing, const char *name, const char *description)
{
    if (listing_wants(listing, name))
        (void)listing_show(listing, name, description);
}

const char *listing_nearest(const struct listing *listing)
{
    return error_nearest_name(listing->only, (const char *const *)listing->names,
                              (int)listing->count);
}

void listing_clear(struct listing *listing)
{
    for (size_t i = 0; i < listing->count; i++)
        free(listing->names[i]);
    free(listing->names);
}

void line_add(struct line *line, const char *format, ...)
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

void line_add_note(struct line *line, const struct listing *listing, const char *note)
{
    enum { COLUMNS = 100 };
    size_t length = strlen(note);
    if (listing->rows == NULL && !listing->full && line->used + length > COLUMNS) {
        length = COLUMNS > line->used ? COLUMNS - line->used : 0;
        while (length > 0 && note[length] != ' ')
            length--;
    }
    line_add(line, "%s%.*s%s", note[0] != '\0' ? ": " : "", (int)length, note,
             note[length] != '\0' ? " …" : "");
}
