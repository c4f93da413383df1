/* The reader of all tables: any spelling of a table, from any source. */
#include <sys/stat.h>
#include <sys/wait.h>

#include <zlib.h>

#include "sim/base/units.h"
#include "sim/engine/random.h"
#include "tests/suite.h"
#include "traces/readers/arrival_trace.h"
#include "traces/readers/listing.h"
#include "traces/readers/training_trace.h"

enum { ROWS = 30, COLUMNS = 6, TEXT = 1 << 14 };

static size_t below(struct random_stream *random, size_t count)
{
    return (size_t)(random_uniform(random) * (double)count);
}

/* A table as it was meant, and one of its many spellings. */
struct spelt {
    size_t rows, columns;
    char fields[ROWS][COLUMNS][24];
    bool header;
    char separator, text[TEXT];
    size_t length;
};

static void put(struct spelt *table, const char *text)
{
    table->length +=
        (size_t)snprintf(table->text + table->length, TEXT - table->length, "%s", text);
}

static void put_field(struct spelt *table, struct random_stream *random, const char *field)
{
    const bool quoted =
        strpbrk(field, ",;\t|\" ") != NULL || (*field != '\0' && below(random, 3) == 0);
    put(table, below(random, 4) == 0 ? " " : "");
    put(table, quoted ? "\"" : "");
    for (const char *c = field; *c != '\0'; c++)
        put(table, *c == '"' ? "\"\"" : (char[]){*c, '\0'});
    put(table, quoted ? "\"" : "");
    put(table, below(random, 4) == 0 ? "  " : "");
}

/* Column 0 is a time that ascends, 1 a count of GPUs, 2 a duration, the others are text. */
static void spell(struct spelt *table, struct random_stream *random)
{
    static const char *const words[] = {"a", "b c", "x,y", "p;q", "say \"no\"", "", "Grün", "0.5"};
    size_t time = below(random, 100);
    *table = (struct spelt){.rows = 1 + below(random, ROWS - 1),
                            .columns = 3 + below(random, COLUMNS - 3),
                            .header = below(random, 2) == 0,
                            .separator = ",;\t"[below(random, 3)]};
    const char *const end = below(random, 2) == 0 ? "\n" : "\r\n";
    put(table, below(random, 4) == 0 ? "\xEF\xBB\xBF" : "");
    for (size_t r = 0; r < table->rows; r++)
        for (size_t c = 0; c < table->columns; c++) {
            char *field = table->fields[r][c];
            time += c == 0 ? below(random, 50) : 0;
            if (c < 3)
                (void)snprintf(field, 24, "%zu", c == 0 ? time : 1 + below(random, 8));
            else
                (void)snprintf(field, 24, "%s", words[below(random, 8)]);
        }
    for (size_t r = table->header ? 0 : 1; r <= table->rows; r++) {
        for (size_t c = 0; c < table->columns; c++) {
            put(table, c > 0 ? (char[]){table->separator, '\0'} : "");
            put_field(table, random,
                      r > 0 ? table->fields[r - 1][c] : (char[]){(char)('A' + c), 0});
        }
        put(table, end);
    }
}

/* A file, a gzip file, a FIFO or a pipe that holds the text. A child feeds the last two. */
struct source {
    char path[64];
    pid_t child;
    int descriptor;
};

static void open_source(struct source *source, const struct spelt *table, size_t kind)
{
    *source = (struct source){.path = "/tmp/esgsim-listing-XXXXXX", .descriptor = -1};
    write_temporary(source->path, kind == 0 ? table->text : "");
    if (kind == 1) {
        gzFile out = gzopen(source->path, "wb");
        assert_int_equal(gzwrite(out, table->text, (unsigned)table->length), table->length);
        assert_int_equal(gzclose(out), Z_OK);
    }
    if (kind < 2)
        return;
    int ends[2] = {-1, -1};
    assert_int_equal(unlink(source->path), 0);
    if (kind == 2)
        assert_int_equal(mkfifo(source->path, 0600), 0);
    else
        assert_int_equal(pipe(ends), 0);
    source->child = fork();
    if (source->child == 0) {
        FILE *out = kind == 2 ? fopen(source->path, "w") : fdopen(ends[1], "w");
        _exit(out != NULL && fputs(table->text, out) >= 0 && fclose(out) == 0 ? 0 : 1);
    }
    if (kind == 2)
        return;
    (void)close(ends[1]);
    source->descriptor = ends[0];
    (void)snprintf(source->path, sizeof source->path, "/dev/fd/%d", ends[0]);
}

static void close_source(struct source *source)
{
    if (source->child > 0)
        assert_int_equal(waitpid(source->child, NULL, 0), source->child);
    if (source->descriptor >= 0)
        (void)close(source->descriptor);
    else
        (void)unlink(source->path);
}

static void read_as_listing(const struct spelt *table, const char *path,
                            struct listing_options *options)
{
    struct line_reader lines = {0};
    struct listing listing = {.lines = &lines, .options = options};
    char *line = NULL;
    assert_good(line_reader_open(&lines, path, hear()));
    assert_int_equal(line_reader_next(&lines, &line, hear()), LINE_READ);
    assert_good(listing_open(&listing, line, hear()));
    assert_int_equal(listing.count, table->columns);
    for (size_t r = 0; r < table->rows; r++) {
        assert_int_equal(listing_next(&listing, hear()), LINE_READ);
        for (size_t c = 0; c < table->columns; c++)
            assert_string_equal(listing.fields[c], table->fields[r][c]);
    }
    assert_int_equal(listing_next(&listing, hear()), LINE_END);
    listing_close(&listing);
    line_reader_close(&lines);
}

static void read_as_requests(const struct spelt *table, const char *path,
                             struct listing_options *options)
{
    const struct trace_columns columns = {.time = "A", .unit = "s", .table = options};
    const struct trace_view view = {.columns = &columns};
    struct trace_record record;
    struct trace_reader *reader = must(trace_open_view(path, NULL, 1, &view, hear()));
    for (size_t r = 0; r < table->rows; r++) {
        assert_true(trace_next(reader, &record, hear()));
        assert_int_equal(record.time / SIM_S, strtol(table->fields[r][0], NULL, 10) -
                                                  strtol(table->fields[0][0], NULL, 10));
    }
    assert_false(trace_next(reader, &record, hear()));
    assert_string_equal(heard.message, "");
    trace_close(reader);
}

static void read_as_trainings(const struct spelt *table, const char *path,
                              struct listing_options *options)
{
    const struct training_columns columns = {
        .names = {"#1", "B", [TRAINING_ROLE_DURATION] = "C"}, .unit = "s", .foreign = true};
    const struct training_source source = {.table = options};
    struct training_trace *trace =
        must(training_trace_read_view(path, NULL, &columns, &source, hear()));
    assert_int_equal(trace->count, table->rows);
    for (size_t r = 0; r < table->rows; r++) {
        assert_int_equal(trace->rows[r].gpus, strtol(table->fields[r][1], NULL, 10));
        assert_true(trace->rows[r].duration_s == strtod(table->fields[r][2], NULL));
    }
    training_trace_free(trace);
}

CASE(every_spelling_of_a_table_from_every_source_gives_the_same_rows)
{
    static struct spelt table;
    for (size_t trial = 0; trial < trials(300); trial++) {
        static void (*const readers[])(const struct spelt *, const char *,
                                       struct listing_options *) = {
            read_as_listing, read_as_requests, read_as_trainings};
        RANDOM_STREAM(random, 3, RANDOM_TEST, trial, 0);
        spell(&table, &random);
        char names[] = "A,B,C,D,E,F";
        names[2 * table.columns - 1] = '\0';
        struct listing_options options = {.header = table.header ? NULL : names};
        for (size_t i = 0; i < 3; i++) {
            struct source source;
            open_source(&source, &table, (trial + i) % 4);
            readers[i](&table, source.path, &options);
            close_source(&source);
        }
    }
}

SUITE("listing")
