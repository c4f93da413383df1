/* Which layout of trainings a file has. */
#include <stdlib.h>
#include <string.h>

#include "traces/readers/training_parts.h"

enum { FIELDS = 64, GAVEL_STEPS = 5 };

static bool is_whole(const char *text)
{
    return *text != '\0' && text[strspn(text, "0123456789")] == '\0';
}

/* Whether the header has every column that the layout needs. */
static bool has_all(const struct training_columns *layout, char *const *names, size_t count)
{
    size_t found = 0, wanted = 0;
    for (size_t role = 0; role < TRAINING_ROLES; role++) {
        if (layout->names[role] == NULL || (layout->optional >> role & 1) != 0)
            continue;
        wanted++;
        for (size_t i = 0; i < count; i++)
            if (strcmp(names[i], layout->names[role]) == 0) {
                found++;
                break;
            }
    }
    return wanted > 0 && found == wanted && layout->header == NULL;
}

static const char *layout_of(char *line, char *copy)
{
    char *names[FIELDS];
    ptrdiff_t count = line_cut(copy, ',', names, FIELDS);
    for (size_t f = 0; count > 0 && count <= FIELDS && training_formats[f] != NULL; f++)
        if (has_all(training_layouts[f], names, (size_t)count))
            return training_formats[f];
    if (count == 5 && is_whole(names[0]) && is_whole(names[3]))
        return "synergy";
    count = line_cut(line, '\t', names, FIELDS);
    return (count == 7 && is_whole(names[6])) ||
                   ((count == 10 || count == 12) && is_whole(names[GAVEL_STEPS]))
               ? "gavel"
               : NULL;
}

const char *training_layout_of(const char *line)
{
    char *own = strdup(line), *copy = strdup(line);
    const char *format = own == NULL || copy == NULL            ? NULL
                         : strncmp(line, "{'Time': '", 10) == 0 ? "dilu"
                                                                : layout_of(own, copy);
    free(own);
    free(copy);
    return format;
}

const char *training_trace_recognise(const char *path)
{
    struct line_reader lines = {0};
    struct error fault = {0};
    char *line = line_reader_open(&lines, path, &fault) ? line_reader_peek(&lines) : NULL;
    const char *format = line != NULL ? training_layout_of(line) : NULL;
    line_reader_close(&lines);
    free(line);
    return format;
}
