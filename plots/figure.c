#include "plots/figure.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "results/page/csv.h"
#include "results/report/report.h"
#include "sim/base/utf8.h"

enum { NAME_LENGTH = 80 };

struct arena *figure_memory(struct figure_list *list)
{
    if (list->arena == NULL)
        list->arena = arena_create();
    return list->arena;
}

void figure_list_clear(struct figure_list *list)
{
    arena_destroy(list->arena);
    list->arena = NULL;
    list->figures = NULL;
    list->notes = NULL;
    list->count = 0;
    list->note_count = 0;
}

void figure_list_note(struct figure_list *list, const char *format, ...)
{
    struct arena *arena = figure_memory(list);
    va_list args;
    va_start(args, format);
    arena_append_of(arena, ARENA_NEXT(arena, list->notes, list->note_count), format, args);
    va_end(args);
}

bool figure_wanted(const struct figure_list *list, const char *script)
{
    const size_t length = strlen(script);
    bool wanted = list->only_count == 0;
    for (size_t i = 0; i < list->only_count; i++)
        wanted = wanted || strncmp(list->only[i], "*-", 2) == 0 ||
                 (strncmp(list->only[i], script, length) == 0 &&
                  (list->only[i][length] == '\0' || list->only[i][length] == '-'));
    return wanted;
}

static bool name_wanted(const struct figure_list *list, const char *script, const char *name)
{
    bool wanted = list->only_count == 0;
    for (size_t i = 0; i < list->only_count; i++)
        wanted = wanted || strcmp(list->only[i], script) == 0 || strcmp(list->only[i], name) == 0 ||
                 (list->only[i][0] == '*' && strcmp(&list->only[i][1], &name[strlen(script)]) == 0);
    return wanted;
}

static bool name_taken(const struct figure_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->figures[i].name, name) == 0)
            return true;
    return false;
}

static void name_make(const struct figure_list *list, const char *script, const char *subject,
                      char name[NAME_LENGTH + 16])
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    size_t length = (size_t)snprintf(name, NAME_LENGTH, "%.40s", script);
    for (bool dash = true; *subject != '\0' && length + 2 < NAME_LENGTH; subject++) {
        const bool plain = isascii((unsigned char)*subject) && isalnum((unsigned char)*subject);
        const size_t ending = *subject == '.' ? strspn(subject + 1, letters) : 0;
        if (ending > 0 && strchr(" .,", subject[ending + 1]) != NULL)
            subject += ending; /* of a file: ".csv" */
        if (plain && dash)
            name[length++] = '-';
        if (plain)
            name[length++] = (char)tolower((unsigned char)*subject);
        dash = !plain;
    }
    name[length] = '\0';
    for (unsigned number = 2; name_taken(list, name); number++)
        (void)snprintf(name + length, 16, "-%u", number);
}

static struct figure *figure_add(struct figure_list *list, const char *script, const char *name,
                                 const char *subject, const char *caption)
{
    struct arena *arena = figure_memory(list);
    struct figure *figure = ARENA_NEXT(arena, list->figures, list->count);
    *figure = (struct figure){.script = arena_text(arena, "%s", script),
                              .name = arena_text(arena, "%s", name),
                              .subject = arena_text(arena, "%s", subject),
                              .caption = arena_text(arena, "%s", caption),
                              .csv = arena_text(arena, "%s/%s.csv", list->folder, name)};
    return figure;
}

bool sheet_begin(struct sheet *sheet, struct figure_list *list, const char *script,
                 const char *subject, const char *caption, const char *columns, struct error *error)
{
    char name[NAME_LENGTH + 16];
    if (list->about != NULL)
        subject = arena_text(figure_memory(list), "%s %s", list->about, subject);
    *sheet = (struct sheet){0};
    name_make(list, script, subject, name);
    if (!name_wanted(list, script, name))
        return true;
    const struct figure *figure =
        figure_add(list, script, list->name != NULL ? list->name : name, subject, caption);
    *sheet = (struct sheet){
        .list = list,
        .path = figure->csv,
        .subject = subject[0] != '\0' ? names_conditions(figure_memory(list), subject) : "-",
        .caption = figure->caption,
        .first_row = true};
    if (!atomic_file_open(&sheet->file, figure->csv, error))
        return false;
    sheet->out = sheet->file.stream;
    (void)fprintf(sheet->out, "%s,subject,caption\n", columns);
    return true;
}

/* Replaces characters that gnuplot would interpret (see figure.h). It treats a comma as the end of
 * a field and a quotation mark as a delimiter anywhere in a field, and a backslash as an escape. */
static void text_write(FILE *out, char before, char character, char after)
{
    if (character == ',' && isdigit((unsigned char)before) && isdigit((unsigned char)after))
        (void)fputs("\u202F", out);
    else if (character == ',')
        (void)fputs("\u201A", out);
    else if (character == '"')
        (void)fputs("\u201D", out);
    else if (character == '\\')
        (void)fputs("\\\\", out);
    else
        (void)fputc((unsigned char)character < 0x20 ? ' ' : character, out);
}

/* Writes the text, truncated to `limit` characters. */
static void text_cell(FILE *out, const char *text, size_t limit)
{
    size_t characters = 0;
    for (const char *c = text; *c != '\0'; characters++)
        c += utf8_sequence(c) == 0 ? 1 : utf8_sequence(c);
    const bool cut = characters > limit;
    if (csv_is_formula(text))
        (void)fputc('\'', out);
    characters = 0;
    for (const char *c = text; *c != '\0';) {
        const size_t length = utf8_sequence(c);
        characters++;
        if (cut && characters >= limit)
            break;
        if (length > 1)
            (void)fwrite(c, 1, length, out);
        else
            text_write(out, c == text ? '\0' : c[-1], length == 0 ? '?' : *c, c[1]);
        c += length == 0 ? 1 : length;
    }
    if (cut)
        (void)fputs("…", out);
}

/* Writes the next argument by the conversion at `format`. Returns its end. */
static const char *cell_write(FILE *out, const char *format, va_list *args)
{
    char *end = NULL;
    const bool limited = format[1] == '.';
    const size_t limit = limited ? strtoul(format + 2, &end, 10) : SIZE_MAX;
    const char *conversion = limited ? end : format + 1;
    switch (*conversion) {
    case 's':
        text_cell(out, va_arg(*args, const char *), limit);
        break;
    case 'd':
        (void)fprintf(out, "%d", va_arg(*args, int));
        break;
    case 'x':
        (void)fprintf(out, "0x%06X", va_arg(*args, unsigned));
        break;
    case 'z':
        (void)fprintf(out, "%zu", va_arg(*args, size_t));
        conversion++;
        break;
    default: {
        const double number = va_arg(*args, double);
        if (isfinite(number))
            (void)fprintf(out, "%.10g", number);
    }
    }
    return conversion + 1;
}

void sheet_row(struct sheet *sheet, const char *format, ...)
{
    va_list args;
    if (sheet->out == NULL)
        return;
    va_start(args, format);
    while (*format != '\0') {
        format = cell_write(sheet->out, format, &args);
        format += *format == ' ';
        (void)fputc(',', sheet->out);
    }
    va_end(args);
    /* gnuplot reads an empty last field as the last field of the previous row. */
    text_cell(sheet->out, sheet->first_row ? sheet->subject : "-", SIZE_MAX);
    (void)fputc(',', sheet->out);
    text_cell(sheet->out, sheet->first_row ? sheet->caption : "-", SIZE_MAX);
    (void)fputc('\n', sheet->out);
    sheet->first_row = false;
}

void figure_drop(struct figure_list *list, size_t at, const char *reason)
{
    figure_list_note(list, "%s: not drawn, %s", list->figures[at].name, reason);
    memmove(&list->figures[at], &list->figures[at + 1],
            (list->count - at - 1) * sizeof *list->figures);
    list->count--;
}

bool sheet_end(struct sheet *sheet, bool good, struct error *error)
{
    if (sheet->out == NULL)
        return good;
    const bool written = atomic_file_end(&sheet->file, good && !sheet->first_row, error);
    sheet->out = NULL;
    size_t at = 0;
    while (at + 1 < sheet->list->count && strcmp(sheet->list->figures[at].csv, sheet->path) != 0)
        at++;
    if (good && sheet->first_row)
        figure_drop(sheet->list, at, "there is nothing in it");
    return good && (written || sheet->first_row);
}
