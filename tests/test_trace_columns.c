/* Traces of any layout, read by the names of their columns. */
#include "sim/cli/cli.h"
#include "sim/engine/random.h"
#include "tests/suite.h"
#include "traces/readers/arrival_trace.h"

#define SHIPPED "traces/arrivals/"
#define DATA "tests/data/arrivals/"

enum { ROWS = 200 };

struct row {
    sim_time_t time;
    sim_time_t slo;
    int order;
    char label[24];
};

static char path[64];

static void write_trace(const char *text)
{
    (void)snprintf(path, sizeof path, "/tmp/esgsim-columns-XXXXXX");
    write_temporary(path, text);
}

/* Reads a trace whole. The number of records; -1 with an error. */
static int read_rows(const char *file, const char *format, const struct trace_columns *columns,
                     struct row *rows, int most, double *first_s, struct error *error)
{
    const struct trace_view view = {.columns = columns};
    struct trace_record record;
    int count = 0;
    struct trace_reader *reader = trace_open_view(file, format, 1, &view, error);
    if (reader == NULL)
        return -1;
    for (; trace_next(reader, &record, error); count++)
        if (count < most) {
            rows[count] = (struct row){.time = record.time, .slo = record.slo};
            (void)snprintf(rows[count].label, sizeof rows[count].label, "%s", record.source);
        }
    if (first_s != NULL)
        *first_s = trace_first_s(reader);
    trace_close(reader);
    return error->kind == ERROR_NONE ? count : -1;
}

static int compare(const void *a, const void *b)
{
    const struct row *left = a, *right = b;
    if (left->time != right->time)
        return left->time < right->time ? -1 : 1;
    return left->order - right->order;
}

static void put_field(FILE *file, struct random_stream *random, const char *text)
{
    const bool quoted = random_uniform(random) < 0.5;
    (void)fprintf(file, quoted ? "\"%s\"" : "%s", text);
}

/* Writes the rows with their columns in the given order, among others, some fields quoted. */
static void write_rows(const struct row *rows, const int order[5], sim_time_t unit, sim_time_t zero,
                       struct random_stream *random)
{
    static const char *const names[] = {"when it came", "app", "deadline", "note", "user"};
    write_trace("");
    FILE *file = must(fopen(path, "w"));
    for (int c = 0; c < 5; c++) {
        (void)fputs(c > 0 ? "," : "", file);
        put_field(file, random, names[order[c]]);
    }
    for (int r = 0; r < ROWS; r++) {
        (void)fputs("\n", file);
        for (int c = 0; c < 5; c++) {
            char text[64] = "";
            const sim_time_t stamp = zero + rows[r].time;
            if (order[c] == 0 && unit == 1)
                (void)snprintf(text, sizeof text, "%lld", (long long)stamp);
            else if (order[c] == 0)
                (void)snprintf(text, sizeof text, "%lld.%0*lld", (long long)(stamp / unit),
                               unit == SIM_S    ? 9
                               : unit == SIM_MS ? 6
                                                : 3,
                               (long long)(stamp % unit));
            else if (order[c] == 1)
                (void)snprintf(text, sizeof text, "%s", rows[r].label);
            else if (order[c] == 2 && rows[r].slo > 0)
                (void)snprintf(text, sizeof text, "%lld", (long long)(rows[r].slo / SIM_MS));
            (void)fputs(c > 0 ? "," : "", file);
            if (order[c] == 3)
                (void)fputs("\"a \"\"quoted\"\", long note\"", file);
            else
                put_field(file, random, text);
        }
    }
    assert_int_equal(fclose(file), 0);
}

static void shuffle_columns(int order[5], struct random_stream *random)
{
    for (int i = 0; i < 5; i++)
        order[i] = i;
    for (int i = 4; i > 0; i--) {
        const int j = (int)(random_uniform(random) * (i + 1));
        const int kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

/* Random traces in random layouts: what was written is read, with the first request at 0. Seconds
 * since 1970 as zero leave nanoseconds exact. */
CASE(what_was_written_is_read_whatever_the_order_of_columns_and_rows)
{
    static const char *const unit_names[] = {"s", "ms", "us", "ns"};
    static const sim_time_t units[] = {SIM_S, SIM_MS, SIM_US, 1};
    static struct row rows[ROWS], sorted[ROWS], found[ROWS];
    for (uint64_t trial = 0; trial < 64; trial++) {
        double first_s = 0;
        int order[5];
        const size_t unit = trial % 4;
        const bool sort = trial % 8 >= 4;
        const sim_time_t zero = trial % 16 >= 8 ? 1700000000 * SIM_S : 0;
        RANDOM_STREAM(random, 1, RANDOM_TEST, trial, 0);
        for (int r = 0; r < ROWS; r++) {
            rows[r] = (struct row){.time = (sim_time_t)(random_uniform(&random) * 1e4) * 1000 + 7,
                                   .order = r};
            if (random_uniform(&random) < 0.5)
                rows[r].slo = (1 + (sim_time_t)(random_uniform(&random) * 100)) * SIM_MS;
            (void)snprintf(rows[r].label, sizeof rows[r].label, "app %d",
                           (int)(random_uniform(&random) * 5));
        }
        memcpy(sorted, rows, sizeof rows);
        qsort(sorted, ROWS, sizeof *sorted, compare);
        shuffle_columns(order, &random);
        write_rows(sort ? rows : sorted, order, units[unit], zero, &random);
        const struct trace_columns columns = {.time = "when it came",
                                              .application = "app",
                                              .slo_ms = "deadline",
                                              .unit = unit_names[unit],
                                              .sort = sort};
        if (read_rows(path, NULL, &columns, found, ROWS, &first_s, hear()) != ROWS)
            fail_msg("trial %d: %s", (int)trial, heard.message);
        (void)unlink(path);
        assert_true(first_s == sim_to_s(zero + sorted[0].time));
        for (int r = 0; r < ROWS; r++) {
            assert_int_equal(found[r].time, sorted[r].time - sorted[0].time);
            assert_int_equal(found[r].slo, sorted[r].slo);
            assert_string_equal(found[r].label, sorted[r].label);
        }
    }
}

/* The same file by its format and by its column. */
CASE(dates_are_those_of_the_azure_llm_format)
{
    static struct row by_format[10000], by_column[10000];
    const struct trace_columns columns = {.time = "TIMESTAMP", .unit = "date"};
    double first_s = 1;
    const char *const file = SHIPPED "AzureLLMInferenceTrace_code.csv.gz";
    assert_int_equal(read_rows(file, NULL, NULL, by_format, 10000, NULL, hear()), 8819);
    assert_int_equal(read_rows(file, NULL, &columns, by_column, 10000, &first_s, hear()), 8819);
    assert_true(first_s == 0);
    for (int r = 0; r < 8819; r++)
        assert_int_equal(by_format[r].time, by_column[r].time);
}

CASE(minutes_are_sixty_seconds)
{
    const struct trace_columns columns = {.time = "minute", .unit = "min"};
    struct row rows[4];
    double first_s = 0;
    write_trace("minute\n1.5\n2\n4.25\n");
    assert_int_equal(read_rows(path, NULL, &columns, rows, 4, &first_s, hear()), 3);
    (void)unlink(path);
    assert_true(first_s == 90);
    assert_int_equal(rows[1].time, 30 * SIM_S);
    assert_int_equal(rows[2].time, 165 * SIM_S);
    assert_string_equal(rows[2].label, "");
}

CASE(faults_name_line_column_and_remedy)
{
    static const struct {
        const char *text;
        struct trace_columns columns;
        const char *fault;
    } cases[] = {
        {"t,app\n1,a\n", {.time = "time", .unit = "s"}, ":1: has no column \"time\""},
        {"timestmp,app\n1,a\n",
         {.time = "timestamp", .unit = "s"},
         ":1: has no column \"timestamp\"; did you mean \"timestmp\"?"},
        {"t,app\n1,a\n",
         {.time = "t", .application = "function", .unit = "s"},
         "its columns are t, app"},
        {"t,app,t\n1,a,2\n", {.time = "t", .unit = "s"}, ":1: has 2 columns \"t\""},
        {"t,app\n1,a\n2\n", {.time = "t", .unit = "s"}, ":3: has 1 field, the header has 2"},
        {"t,app\n1,\"a\n", {.time = "t", .unit = "s"}, ":2: field 2 begins with a quote"},
        {"t,app\n1,\"a\"b\n", {.time = "t", .unit = "s"}, ":2: field 2 begins with a quote"},
        {"\"t,app\n1,a\n", {.time = "t", .unit = "s"}, ":1: a quoted name"},
        {"t,app\n,a\n", {.time = "t", .unit = "s"}, ":2: t is missing"},
        {"t,app\n-1,a\n", {.time = "t", .unit = "s"}, ":2: t -1 is outside 0..9e+09"},
        {"t,app\n1,\n", {.time = "t", .application = "app", .unit = "s"}, ":2: app is missing"},
        {"t,app\n1,\"a,b\"\n",
         {.time = "t", .application = "app", .unit = "s"},
         ":2: app 'a,b' contains a comma"},
        {"t,app\n1,a\n",
         {.time = "t", .unit = "date"},
         ":2: t '1' is not of the form 2023-11-16 18:17:03.97"},
        {"t,app\n2023-11-16 18:17:03,a\n", {.time = "t", .unit = "s"}, "is not a finite decimal"},
        {"t,slo\n1,0\n", {.time = "t", .slo_ms = "slo", .unit = "s"}, ":2: slo is 0"},
        {"t,app\n5,a\n6,a\n4.5,a\n",
         {.time = "t", .unit = "s"},
         ":4: time goes back by 1.5 s; sort the file by time, or give --sort"},
        {"t,app\n5,a\n1700000000,a\n", {.time = "t", .unit = "s"}, ":3: is 1.7e+09 s after"},
        {"t,app\n", {.time = "t", .unit = "s"}, "nothing follows the header"},
        {"t,app\n", {.time = "t", .unit = "s", .sort = true}, "nothing follows the header"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct row rows[4];
        write_trace(cases[i].text);
        const int count = read_rows(path, NULL, &cases[i].columns, rows, 4, NULL, hear());
        (void)unlink(path);
        if (count != -1 || heard.kind != ERROR_INPUT ||
            strstr(heard.message, cases[i].fault) == NULL)
            fail_msg("case %d: \"%s\"", (int)i, heard.message);
    }
}

CASE(a_format_beside_columns_is_refused)
{
    const struct trace_columns columns = {.time = "time_ms", .unit = "ms"};
    struct row rows[1];
    assert_int_equal(read_rows(DATA "esgsim.csv", "esgsim", &columns, rows, 1, NULL, hear()), -1);
    assert_contains(heard.message, "either a format or columns");
}

CASE(every_format_says_where_its_time_zero_is)
{
    static const struct {
        const char *file, *format;
        double first_s;
    } cases[] = {
        {DATA "azure-2021-by-end.csv", NULL, 0.5},
        {DATA "azure-2019.csv", NULL, 0},
        {DATA "words.txt", "counts-per-second", 0},
        {SHIPPED "AzureLLMInferenceTrace_code.csv.gz", NULL, 0},
    };
    struct row rows[1];
    double first_s = -1;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_good(read_rows(cases[i].file, cases[i].format, NULL, rows, 1, &first_s, hear()) >=
                    1);
        assert_true(first_s == cases[i].first_s);
    }
    write_trace("time_ms,application\n5000.5,a\n6000,a\n");
    assert_int_equal(read_rows(path, NULL, NULL, rows, 1, &first_s, hear()), 2);
    (void)unlink(path);
    assert_true(first_s == 5.0005);
    write_trace("minute,requests\n30,1\n31,2\n");
    assert_int_equal(read_rows(path, NULL, NULL, rows, 1, &first_s, hear()), 3);
    (void)unlink(path);
    assert_true(first_s == 1800);
}

/* ---- command ---- */

static bool command(struct error *error, int count, ...)
{
    char words[16][128], *argv[16];
    va_list args;
    va_start(args, count);
    for (int i = 0; i < count; i++) {
        (void)snprintf(words[i], sizeof words[i], "%s", va_arg(args, const char *));
        argv[i] = words[i];
    }
    va_end(args);
    return command_trace.run(count, argv, true, error);
}

CASE(a_foreign_trace_is_converted)
{
    struct row rows[4] = {{0}};
    write_trace("id,\"app\",at,limit\n1,\"b c\",12.25,\n2,a,10,30\n3,a,11.5,\n");
    char *out = formatted("%s.out", path);
    assert_good(command(hear(), 10, "trace", "convert", path, "--columns",
                        "time=at,application=app,slo_ms=limit", "--unit", "s", "--sort", "--out",
                        out));
    assert_int_equal(read_rows(out, "esgsim", NULL, rows, 4, NULL, hear()), 3);
    (void)unlink(out);
    (void)unlink(path);
    assert_int_equal(rows[0].slo, 30 * SIM_MS);
    assert_int_equal(rows[1].time, 1500 * SIM_MS);
    assert_int_equal(rows[2].time, 2250 * SIM_MS);
    assert_string_equal(rows[2].label, "b c");
}

CASE(wrong_usage_is_refused)
{
    assert_bad_input(command(hear(), 5, "trace", "stats", "x", "--columns", "time=t"),
                     "needs the --unit");
    assert_bad_input(command(hear(), 5, "trace", "stats", "x", "--unit", "s"),
                     "belong to --columns");
    assert_bad_input(
        command(hear(), 7, "trace", "stats", "x", "--columns", "application=a", "--unit", "s"),
        "time=COLUMN");
    static const char *const wrong[] = {"time=t,time=u", "time", "times=t", "time="};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_bad_input(
            command(hear(), 7, "trace", "stats", "x", "--columns", wrong[i], "--unit", "s"),
            "--columns takes time=COLUMN");
    assert_bad_input(command(hear(), 9, "trace", "stats", "x", "--columns", "time=t", "--unit", "s",
                             "--format", "esgsim"),
                     "either a --format or --columns");
    assert_false(command(hear(), 7, "trace", "stats", "x", "--columns", "time=t", "--unit", "h"));
}

SUITE("trace columns")
