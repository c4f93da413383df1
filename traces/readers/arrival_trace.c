#include "traces/readers/listing.h"
#include "traces/readers/trace_layout.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define LAYOUT(name, layout) &trace_layout_##layout,
static const struct trace_layout *const layouts[] = {TRACE_FORMATS(LAYOUT)};
enum { LAYOUT_COUNT = sizeof layouts / sizeof *layouts };

#define NAME(name, layout) name,
const char *const trace_formats[] = {TRACE_FORMATS(NAME) NULL};

const char *trace_format(const struct trace_reader *reader)
{
    return reader->format;
}

bool trace_has_times(const struct trace_reader *reader)
{
    const struct trace_columns *columns = reader->view.columns;
    return reader->layout->bin == 0 && (columns == NULL || columns->count == NULL);
}

const char *trace_notes(const struct trace_reader *reader)
{
    return reader->notes;
}

double trace_first_s(const struct trace_reader *reader)
{
    if (reader->dated)
        return 0;
    return (double)reader->first_bin * sim_to_s(reader->layout->bin) + sim_to_s(reader->origin);
}

sim_time_t trace_zero(const struct trace_reader *reader)
{
    const sim_time_t first = (sim_time_t)reader->first_bin * reader->layout->bin + reader->origin;
    return reader->scale == 1 ? first + reader->start
                              : sim_round((double)(first + reader->start) / reader->scale);
}

bool trace_file_is_cut(const char *path)
{
    enum { GZIP_MARK = 0x1f };
    struct stat status;
    FILE *file = stat(path, &status) == 0 && S_ISREG(status.st_mode) ? fopen(path, "rb") : NULL;
    if (file == NULL)
        return false;
    const int first = fgetc(file);
    const int last = fseek(file, -1, SEEK_END) == 0 ? fgetc(file) : EOF;
    (void)fclose(file);
    return first != GZIP_MARK && last != EOF && last != '\n';
}

/* How a message asks for a format, of commands and of experiments. */
#define WHERE_FORMAT                                                                               \
    "(--format, or \"format\" of an experiment's arrivals): counts-per-second or "                 \
    "counts-per-minute"

/* ---- The header ------------------------------------------------------------------------------ */

static bool is_header_of(const struct trace_layout *layout, const char *line)
{
    if (layout->recognises != NULL)
        return layout->recognises(line);
    if (layout->headers == NULL)
        return strcmp(line, layout->header) == 0;
    for (size_t i = 0; layout->headers[i] != NULL; i++)
        if (strcmp(line, layout->headers[i]) == 0)
            return true;
    return false;
}

/* Returns LAYOUT_COUNT if the line is not a known header. */
static int format_of_header(const char *line)
{
    int format = 0;
    while (format < LAYOUT_COUNT && !is_header_of(layouts[format], line))
        format++;
    return format;
}

/* Finds the format of that name; LAYOUT_COUNT if no name is given. */
static bool format_find(const struct trace_reader *reader, const char *name, int *format,
                        struct error *error)
{
    char list[256];
    *format = 0;
    while (*format < LAYOUT_COUNT && (name == NULL || strcmp(name, trace_formats[*format]) != 0))
        (*format)++;
    if (name == NULL || *format < LAYOUT_COUNT)
        return true;
    const char *nearest = error_nearest_name(name, trace_formats, LAYOUT_COUNT);
    error_list_names(trace_formats, LAYOUT_COUNT, list, sizeof list);
    return error_input(error, "%s: trace format '%.40s' is unknown%s%s%s; formats: %s",
                       reader->path, name, nearest == NULL ? "" : " (did you mean ",
                       nearest == NULL ? "" : nearest, nearest == NULL ? "" : "?)", list);
}

static bool is_bare_count(const char *line)
{
    return *line != '\0' && strspn(line, "0123456789") == strlen(line);
}

/* Returns whether the line has no control characters, as binary data has. */
static bool is_text(const char *line)
{
    for (; *line != '\0'; line++)
        if (((unsigned char)*line < ' ' && *line != '\t') || *line == '\x7F')
            return false;
    return true;
}

static bool header_fault(const struct trace_reader *reader, const char *line, int format,
                         struct error *error)
{
    const struct trace_layout *asked = format < LAYOUT_COUNT ? layouts[format] : NULL;
    char advice[768];
    if (asked == NULL && is_bare_count(line))
        return line_fault(&reader->lines, error, "has no header; name the format " WHERE_FORMAT);
    if (!is_text(line))
        return line_fault(&reader->lines, error,
                          "is not text; a trace begins with a header such as '%s'",
                          asked != NULL ? asked->header : trace_layout_esgsim.header);
    (void)listing_advice(reader->path, line, 0, advice, sizeof advice);
    if (listing_json_begins(line))
        return line_fault(&reader->lines, error, "is JSON, no trace format; %s", advice);
    if (asked == NULL)
        return line_fault(&reader->lines, error, "header '%.60s' is of no known trace format; %s",
                          line, advice);
    return line_fault(&reader->lines, error, "header '%.60s' is not that of %s: '%s'", line,
                      trace_formats[format], asked->header);
}

/* Recognises the format by the first line, which is its header unless counts are bare. */
static bool recognise(struct trace_reader *reader, int asked, char *line, struct error *error)
{
    const bool bare = asked < LAYOUT_COUNT && layouts[asked]->bare && is_bare_count(line);
    const int format = bare ? asked : format_of_header(line);
    if (bare)
        reader->pending = line;
    else
        reader->lines.words = false;
    if (format == LAYOUT_COUNT || (asked < LAYOUT_COUNT && asked != format))
        return header_fault(reader, line, asked, error);
    reader->layout = layouts[format];
    reader->format = trace_formats[format];
    return true;
}

static bool read_header(struct trace_reader *reader, const char *name, struct error *error)
{
    int asked = LAYOUT_COUNT;
    char *line = NULL;
    const bool by_columns = reader->view.columns != NULL;
    if (by_columns && name != NULL)
        return error_input(error, "%s: has either a format or columns; give one of them",
                           reader->path);
    if (!format_find(reader, name, &asked, error))
        return false;
    reader->lines.words = asked < LAYOUT_COUNT && layouts[asked]->bare;
    if (asked == LAYOUT_COUNT && !by_columns)
        reader->lines.hint = "; name the format of a list of bare counts " WHERE_FORMAT;
    enum line_status status = line_reader_next(&reader->lines, &line, error);
    if (status == LINE_FAULT)
        return false;
    reader->lines.hint = NULL;
    if (status == LINE_END)
        return error_input(error, "%s:1: the file is empty; a trace begins with a header line",
                           reader->path);
    reader->layout = &trace_layout_columns;
    reader->format = "columns";
    if (!by_columns && !recognise(reader, asked, line, error))
        return false;
    return reader->layout->open == NULL || reader->layout->open(reader, line, error);
}

/* ---- The reader ------------------------------------------------------------------------------ */

static bool is_time(double value)
{
    return isfinite(value) && value >= 0 && value <= TRACE_MOST_SECONDS;
}

static bool take_view(struct trace_reader *reader, const struct trace_view *view,
                      struct error *error)
{
    reader->scale = 1;
    reader->end = SIM_FOREVER;
    if (view == NULL)
        return true;
    reader->view = *view;
    reader->has_view = true;
    if (!is_time(view->start_s) || !is_time(view->duration_s))
        return error_input(error, "%s: start and duration of a trace lie in 0..1e9 s",
                           reader->path);
    if (view->scale_rate != 0 && !(view->scale_rate >= 1e-6 && view->scale_rate <= 1e6))
        return error_input(error, "%s: the rate's scale %g is outside 1e-6..1e6", reader->path,
                           view->scale_rate);
    reader->start = sim_from_s(view->start_s);
    if (view->duration_s > 0)
        reader->end = reader->start + sim_from_s(view->duration_s);
    if (view->scale_rate != 0)
        reader->scale = view->scale_rate;
    for (size_t i = 0; i < view->label_count; i++)
        if (string_index_add(&reader->wanted, view->labels[i]) != (int32_t)i)
            return error_input(error, "%s: source '%.60s' is asked for twice", reader->path,
                               view->labels[i]);
    return true;
}

struct trace_reader *trace_open_view(const char *path, const char *format, uint64_t seed,
                                     const struct trace_view *view, struct error *error)
{
    struct arena *memory = arena_create();
    struct trace_reader *reader = arena_allocate(memory, 1, sizeof *reader);
    reader->memory = memory;
    reader->path = arena_text(memory, "%s", path);
    reader->seed = seed;
    bool good = take_view(reader, view, error);
    if (view != NULL && view->path_count > 0)
        good = good && trace_open_parts(reader, format, error);
    else
        good = good && line_reader_take(&reader->lines, reader->view.lines, reader->path, error) &&
               read_header(reader, format, error);
    if (!good) {
        trace_close(reader);
        return NULL;
    }
    return reader;
}

struct trace_reader *trace_open(const char *path, const char *format, uint64_t seed,
                                struct error *error)
{
    return trace_open_view(path, format, seed, NULL, error);
}

void trace_close(struct trace_reader *reader)
{
    if (reader == NULL)
        return;
    if (reader->state != NULL && reader->layout->close != NULL)
        reader->layout->close(reader);
    line_reader_close(&reader->lines);
    string_index_clear(&reader->wanted);
    string_index_clear(&reader->sources);
    arena_destroy(reader->memory);
}

bool trace_next(struct trace_reader *reader, struct trace_record *record, struct error *error)
{
    struct raw_record raw;
    do {
        raw = (struct raw_record){.label = ""};
        const enum line_status status = reader->layout->next(reader, &raw, error);
        if (status != LINE_READ || raw.time >= reader->end)
            return false;
    } while (raw.time < reader->start || raw.selected == TRACE_DROPPED);
    if (reader->view.count != NULL && !reader->layout->whole)
        reader->view.count(reader->view.context, raw.label, 1);
    sim_time_t time = raw.time - reader->start;
    if (reader->scale != 1)
        time = sim_round((double)time / reader->scale);
    if (time > SIM_CLOCK_END)
        return error_input(
            error, "%s: a request comes after the clock's end (about 18 years) at scale_rate %g",
            reader->path, reader->scale);
    record->time = time;
    record->selected = raw.selected;
    record->source = trace_shown_label(reader, raw.label, raw.selected);
    record->slo = raw.slo;
    return true;
}
