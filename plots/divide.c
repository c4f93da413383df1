/* Figures that have no room on their canvas, divided into several. */
#include "plots/divide.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { AXES = 2, FIELDS_MOST = 32 };

/* A column that numbers what is divided, 1…: panels or rows. */
struct axis {
    char name[24];
    size_t field; /* of the CSV */
    size_t total; /* its greatest number */
    size_t parts, part_size;
};

/* The start of each field of a line of a CSV, and behind the last one that of the next line.
 * Returns the number of fields. No field of a figure's CSV holds a comma (plots/figure.h). */
static size_t fields_find(const char *line, const char *fields[FIELDS_MOST + 1])
{
    size_t count = 0;
    const char *end = line + strcspn(line, "\n");
    for (const char *at = line; count < FIELDS_MOST && at <= end; count++) {
        fields[count] = at;
        at += strcspn(at, ",\n") + 1;
    }
    fields[count] = end + 1;
    return count;
}

/* Reads "… divide: panel 2 row 10" and the totals from the CSV. Returns the product of the parts:
 * 0 or 1 if nothing is to be divided. */
static size_t axes_read(const char *words, const char *csv, struct axis axes[AXES], size_t *count)
{
    const char *fields[FIELDS_MOST + 1];
    const size_t columns = fields_find(csv, fields);
    size_t parts = 1;
    int used = 0;
    *count = 0;
    for (; *count < AXES; words += used) {
        struct axis *axis = &axes[*count];
        if (sscanf(words, " %23s %zu%n", axis->name, &axis->part_size, &used) != 2 ||
            axis->part_size == 0)
            break;
        const size_t length = strlen(axis->name);
        axis->field = 0;
        while (axis->field < columns && (strncmp(fields[axis->field], axis->name, length) != 0 ||
                                         fields[axis->field][length] != ','))
            axis->field++;
        axis->total = 1;
        for (const char *line = fields[columns]; *line != '\0' && axis->field < columns;) {
            const char *cells[FIELDS_MOST + 1];
            const size_t found = fields_find(line, cells);
            const size_t number = strtoul(cells[axis->field], NULL, 10);
            axis->total = number > axis->total ? number : axis->total;
            line = cells[found];
        }
        axis->parts = (axis->total + axis->part_size - 1) / axis->part_size;
        axis->part_size = (axis->total + axis->parts - 1) / axis->parts;
        axis->parts = (axis->total + axis->part_size - 1) / axis->part_size;
        parts *= axis->parts;
        (*count)++;
    }
    return parts;
}

/* Writes the lines of part `part`, numbered from 1 again. Lines numbered 0 belong to all parts. */
static void part_write(FILE *out, const char *csv, const struct axis *axes, size_t axis_count,
                       size_t part, const struct figure *figure)
{
    const char *cells[FIELDS_MOST + 1];
    size_t columns = fields_find(csv, cells);
    bool first = true;
    (void)fwrite(csv, 1, (size_t)(cells[columns] - csv), out);
    for (const char *line = cells[columns]; *line != '\0'; line = cells[columns]) {
        size_t numbers[AXES] = {0}, rest = part;
        bool in = true;
        columns = fields_find(line, cells);
        for (size_t a = axis_count; a-- > 0; rest /= axes[a].parts) {
            const size_t before = rest % axes[a].parts * axes[a].part_size;
            const size_t number = strtoul(cells[axes[a].field], NULL, 10);
            in = in && (number == 0 || (number > before && number <= before + axes[a].part_size));
            numbers[a] = number == 0 ? 0 : number - before;
        }
        for (size_t f = 0; in && f + 2 < columns; f++) {
            size_t a = 0;
            while (a < axis_count && axes[a].field != f)
                a++;
            if (a < axis_count)
                (void)fprintf(out, "%zu,", numbers[a]);
            else
                (void)fwrite(cells[f], 1, (size_t)(cells[f + 1] - cells[f]), out);
        }
        if (in)
            (void)fprintf(out, "%s,%s\n", first ? figure->subject : "-",
                          first ? figure->caption : "-");
        first = first && !in;
    }
}

/* The text of the CSV, whose first row has the whole figure's subject and caption. */
static char *csv_read(const char *path, struct arena *arena, struct error *error)
{
    char *text = NULL, *line = NULL;
    size_t room = 0;
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        (void)error_run(error, "%s: cannot be read again: %s", path, strerror(errno));
        return NULL;
    }
    while (getline(&line, &room, file) > 0)
        arena_append(arena, &text, "%s", line);
    free(line);
    (void)fclose(file);
    return text;
}

/* Puts `parts` figures in the place of the one at `at`. */
static void figures_insert(struct figure_list *list, size_t at, size_t parts, const char *csv)
{
    struct arena *arena = figure_memory(list);
    const struct figure whole = list->figures[at];
    const char *cells[FIELDS_MOST + 1];
    size_t columns = fields_find(csv, cells);
    columns = fields_find(cells[columns], cells);
    const char *caption = cells[columns - 1];
    const char *subject = arena_text(arena, "%.*s\u201A ", (int)(caption - cells[columns - 2] - 1),
                                     cells[columns - 2]);
    const int about = strncmp(subject, "-\u201A", 4) == 0 ? 0 : (int)strlen(subject);
    arena_reserve(arena, &list->figures, list->count + parts, sizeof *list->figures);
    memmove(&list->figures[at + parts], &list->figures[at + 1],
            (list->count - at - 1) * sizeof *list->figures);
    list->count += parts - 1;
    for (size_t p = 0; p < parts; p++) {
        const char *name = arena_text(arena, "%s-part-%zu", whole.name, p + 1);
        list->figures[at + p] = (struct figure){
            .script = whole.script,
            .name = name,
            .subject = arena_text(arena, "%.*spart %zu of %zu", about, subject, p + 1, parts),
            .caption = arena_text(arena, "%.*s", (int)strcspn(caption, "\n"), caption),
            .csv = arena_text(arena, "%s/%s.csv", list->folder, name)};
    }
}

bool figure_divide(struct figure_list *list, size_t at, const char *reason, bool *divided,
                   struct error *error)
{
    static const char mark[] = "; divide:";
    struct axis axes[AXES];
    size_t axis_count = 0;
    const struct figure whole = list->figures[at];
    const char *words = strstr(reason, mark);
    *divided = false;
    if (words == NULL)
        return true;
    char *csv = csv_read(whole.csv, figure_memory(list), error);
    if (csv == NULL)
        return false;
    const size_t parts = axes_read(words + strlen(mark), csv, axes, &axis_count);
    bool good = true;
    if (parts > 1)
        figures_insert(list, at, parts, csv);
    for (size_t p = 0; good && parts > 1 && p < parts; p++) {
        struct atomic_file file;
        good = atomic_file_open(&file, list->figures[at + p].csv, error);
        if (good)
            part_write(file.stream, csv, axes, axis_count, p, &list->figures[at + p]);
        good = good && atomic_file_end(&file, true, error);
    }
    arena_release(figure_memory(list), csv);
    *divided = good && parts > 1;
    if (!*divided)
        return good;
    (void)unlink(whole.csv);
    figure_list_note(list, "%s: drawn as %zu figures, %s-part-1 to -%zu: %.*s", whole.name, parts,
                     whole.name, parts, (int)(words - reason), reason);
    return true;
}
