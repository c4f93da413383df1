#include "plots/divide.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { AXES_MOST = 2 };

/* A figure's CSV. No field of it holds a comma (plots/figure.h). */
struct grid {
    char **cells; /* row by row, of which the first is the header */
    size_t rows, columns;
};

/* A column that numbers what is divided, 1…: panels or rows. */
struct axis {
    size_t column, parts, part_size;
};

static bool grid_read(const char *path, struct arena *arena, struct grid *grid, struct error *error)
{
    char *line = NULL;
    size_t room = 0, count = 0;
    FILE *file = fopen(path, "r");
    *grid = (struct grid){0};
    if (file == NULL)
        return error_run(error, "%s: cannot be read again", path);
    while (getline(&line, &room, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        char *rest = arena_text(arena, "%s", line);
        for (char *cell = NULL; (cell = strsep(&rest, ",")) != NULL; count++) {
            arena_reserve(arena, &grid->cells, count + 1, sizeof *grid->cells);
            grid->cells[count] = cell;
        }
        grid->columns = grid->columns == 0 ? count : grid->columns;
    }
    grid->rows = grid->columns == 0 ? 0 : count / grid->columns;
    free(line);
    (void)fclose(file);
    return true;
}

static size_t number_at(const struct grid *grid, size_t row, size_t column)
{
    return strtoul(grid->cells[row * grid->columns + column], NULL, 10);
}

/* Reads " panel 2 row 10", equal parts of at most so many. Returns the number of axes. */
static size_t axes_read(const char *words, const struct grid *grid, struct axis axes[AXES_MOST])
{
    size_t count = 0;
    while (count < AXES_MOST) {
        const char *name = words + strspn(words, " ");
        const size_t length = strcspn(name, " ");
        char *end;
        const size_t most = strtoul(name + length, &end, 10);
        size_t column = 0, total = 0;
        if (length == 0 || most == 0)
            break;
        words = end;
        while (column + 1 < grid->columns && (strncmp(grid->cells[column], name, length) != 0 ||
                                              grid->cells[column][length] != '\0'))
            column++;
        for (size_t r = 1; r < grid->rows; r++)
            total = number_at(grid, r, column) > total ? number_at(grid, r, column) : total;
        if (total <= most)
            continue;
        const size_t part_size = (total - 1) / ((total - 1) / most + 1) + 1;
        axes[count++] = (struct axis){column, (total - 1) / part_size + 1, part_size};
    }
    return count;
}

/* Writes the rows of part `part`, numbered from 1 again. Rows numbered 0 belong to all parts. */
static void part_write(FILE *out, const struct grid *grid, const struct axis *axes, size_t count,
                       size_t part, const struct figure *figure)
{
    char **cells = grid->cells;
    const char *subject = cells[grid->columns - 2], *caption = cells[grid->columns - 1];
    for (size_t r = 0; r < grid->rows; r++, cells += grid->columns) {
        size_t numbers[AXES_MOST] = {0}, rest = part;
        bool in = true;
        for (size_t a = count; r > 0 && a-- > 0; rest /= axes[a].parts) {
            const size_t before = rest % axes[a].parts * axes[a].part_size;
            const size_t number = number_at(grid, r, axes[a].column);
            in = in && (number == 0 || (number > before && number <= before + axes[a].part_size));
            numbers[a] = number == 0 ? 0 : number - before;
        }
        if (!in)
            continue;
        for (size_t c = 0; c + 2 < grid->columns; c++) {
            size_t a = 0;
            while (a < count && axes[a].column != c)
                a++;
            if (r > 0 && a < count)
                (void)fprintf(out, "%zu,", numbers[a]);
            else
                (void)fprintf(out, "%s,", cells[c]);
        }
        (void)fprintf(out, "%s,%s\n", subject, caption);
        subject = r == 0 ? figure->subject : "-";
        caption = r == 0 ? figure->caption : "-";
    }
}

/* Puts `parts` figures in the place of the one at `at`. */
static void figures_insert(struct figure_list *list, size_t at, size_t parts,
                           const struct grid *grid)
{
    struct arena *arena = figure_memory(list);
    const struct figure whole = list->figures[at];
    char **first = grid->cells + grid->columns;
    const char *subject = first[grid->columns - 2];
    subject = strcmp(subject, "-") == 0 ? "" : arena_text(arena, "%s\u201A ", subject);
    arena_reserve(arena, &list->figures, list->count + parts, sizeof *list->figures);
    memmove(&list->figures[at + parts], &list->figures[at + 1],
            (list->count - at - 1) * sizeof *list->figures);
    list->count += parts - 1;
    for (size_t p = 0; p < parts; p++) {
        struct figure *figure = &list->figures[at + p];
        *figure = whole;
        figure->picture = NULL;
        figure->name = arena_text(arena, "%s-part-%zu", whole.name, p + 1);
        figure->subject = arena_text(arena, "%spart %zu of %zu", subject, p + 1, parts);
        figure->caption = first[grid->columns - 1];
        figure->csv = arena_text(arena, "%s/%s.csv", list->folder, figure->name);
    }
}

bool figure_divide(struct figure_list *list, size_t at, const char *reason, struct error *error)
{
    const struct figure whole = list->figures[at];
    const char *words = strstr(reason, "; divide:");
    struct axis axes[AXES_MOST];
    struct grid grid;
    size_t parts = 1;
    if (!grid_read(whole.csv, figure_memory(list), &grid, error))
        return false;
    const size_t count = words == NULL ? 0 : axes_read(words + strlen("; divide:"), &grid, axes);
    for (size_t a = 0; a < count; a++)
        parts *= axes[a].parts;
    if (parts == 1) {
        figure_drop(list, at, reason);
        return true;
    }
    figures_insert(list, at, parts, &grid);
    for (size_t p = 0; p < parts; p++) {
        struct atomic_file file;
        if (!atomic_file_open(&file, list->figures[at + p].csv, error))
            return false;
        part_write(file.stream, &grid, axes, count, p, &list->figures[at + p]);
        if (!atomic_file_end(&file, true, error))
            return false;
    }
    (void)unlink(whole.csv);
    figure_list_note(list, "%s: drawn as %zu figures, %s-part-1 to -%zu: %.*s", whole.name, parts,
                     whole.name, parts, (int)(words - reason), reason);
    return true;
}
