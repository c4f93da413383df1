/* Results files: the tables, every report made of them, and their runs copied into another file, as
 * `esgsim merge` does with shards and a sweep with its parts. A part is read only if its seal is
 * whole (results/store/seal.h); what is read then is what is read here.
 *
 * An input that begins as HDF5 does is read as it is. From any other the target builds a file: rows
 * that hold together, then changes of single cells. Damage of a real file mostly ends at HDF5's
 * checksums; this reaches what comes behind them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "results/page/tidy.h"
#include "results/report/report.h"
#include "results/store/hdf5_table.h"
#include "tests/fuzz/input.h"

enum { RUNS_MOST = 6, TEXT_MOST = 31, CHANGES_MOST = 200 };

static const uint8_t signature[] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};

typedef bool report_printer(const struct report *report, FILE *out, struct error *error);

static void report_all(const struct report *report)
{
    static report_printer *const printers[] = {report_text, report_csv, report_json};
    for (size_t i = 0; i < sizeof printers / sizeof printers[0]; i++) {
        struct error error = {0};
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        if (out == NULL)
            abort();
        if (!printers[i](report, out, &error)) {
            (void)fprintf(stderr, "a report failed: %s\n", error.message);
            abort();
        }
        (void)fclose(out);
        free(text);
    }
    FILE *out = fopen("/dev/null", "w");
    if (out == NULL || !tidy_csv(&report->results, 1, out, NULL))
        abort();
    (void)fclose(out);
}

static void copy_runs(const char *path)
{
    struct error error = {0};
    char copy[300];
    struct run_source *source = run_source_open(path, &error);
    if (source == NULL) {
        input_require_refusal(&error);
        return;
    }
    (void)snprintf(copy, sizeof copy, "%s.copy", path);
    struct store *store = store_create(copy, &error);
    if (store == NULL)
        abort();
    bool good = store_set_swept(store, run_source_results(source)->swept, &error);
    for (size_t run = 0; good && run < run_source_results(source)->run_count; run++)
        good = store_copy_run(store, source, run, NULL, &error);
    store_abandon(store);
    run_source_close(source);
}

static void read_back(const char *path)
{
    struct error error = {0};
    struct results *results = results_load(path, &error);
    if (results == NULL) {
        input_require_refusal(&error);
        return;
    }
    struct report *report = report_build(results);
    report_all(report);
    arena_home_free(report);
    if (results->run_count > 0) {
        struct run_record *record = run_record_load(path, results->runs[0].hash, false, &error);
        if (record == NULL)
            input_require_refusal(&error);
        arena_home_free(record);
        copy_runs(path);
    }
    results_free(results);
}

/* ---- A file made of an input ----------------------------------------------------------------- */

struct tables {
    struct summary_row runs[RUNS_MOST];
    struct application_row applications[RUNS_MOST];
    size_t run_count, application_count;
};

static void tables_fill(struct tables *tables, struct input_cursor *cursor)
{
    tables->run_count = input_byte(cursor) % (RUNS_MOST + 1);
    tables->application_count = input_byte(cursor) % (RUNS_MOST + 1);
    for (size_t i = 0; i < RUNS_MOST; i++) {
        struct summary_row *run = &tables->runs[i];
        struct application_row *application = &tables->applications[i];
        (void)snprintf(run->hash, sizeof run->hash, "%016zx", i);
        const char *name = i % 2 == 0 ? "esg" : "fifo";
        (void)snprintf(run->policy, sizeof run->policy, "%s", name);
        (void)snprintf(run->label, sizeof run->label, "policy.name=%s", name);
        (void)snprintf(run->name, sizeof run->name, "test");
        run->seed = i / 2 + 1;
        memcpy(application->hash, run->hash, sizeof application->hash);
        memcpy(application->policy, run->policy, sizeof application->policy);
        (void)snprintf(application->application, sizeof application->application, "a");
        application->seed = run->seed;
    }
}

/* A change: table, row, column, then a length and a text, or the bytes of a number. */
static void tables_change(struct tables *tables, struct input_cursor *cursor)
{
    const bool of_runs = input_byte(cursor) % 2 == 0;
    const size_t row = input_byte(cursor) % RUNS_MOST;
    const struct layout *layout = of_runs ? &layout_summary : &layout_applications;
    const struct column *column = &layout->columns[input_byte(cursor) % layout->count];
    char *cell = (of_runs ? (char *)&tables->runs[row] : (char *)&tables->applications[row]) +
                 column->offset;
    uint8_t number[8];
    switch (column->type) {
    case COLUMN_TEXT: {
        char text[TEXT_MOST + 1] = "";
        size_t length = input_byte(cursor) % (TEXT_MOST + 1);
        length = length < column->length ? length : column->length;
        input_bytes(cursor, text, length);
        memcpy(cell, text, length + 1);
        break;
    }
    case COLUMN_U8:
        *(uint8_t *)cell = input_byte(cursor);
        break;
    default: /* all others of these two tables are of eight bytes */
        input_bytes(cursor, number, sizeof number);
        memcpy(cell, number, sizeof number);
    }
}

static hid_t column_type(const struct column *column)
{
    if (column->type == COLUMN_TEXT) {
        const hid_t text = H5Tcopy(H5T_C_S1);
        (void)H5Tset_size(text, column->length + 1);
        return text;
    }
    return H5Tcopy(column->type == COLUMN_F64  ? H5T_NATIVE_DOUBLE
                   : column->type == COLUMN_U8 ? H5T_NATIVE_UINT8
                                               : H5T_NATIVE_UINT64);
}

/* The rows as they are in memory: without the attributes of a real table, which take most of its
 * time. */
static void table_write(hid_t file, const char *name, const struct layout *layout, const void *rows,
                        hsize_t count)
{
    const hid_t type = H5Tcreate(H5T_COMPOUND, layout->row_bytes);
    for (size_t i = 0; i < layout->count; i++) {
        const hid_t cell = column_type(&layout->columns[i]);
        (void)H5Tinsert(type, layout->columns[i].name, layout->columns[i].offset, cell);
        (void)H5Tclose(cell);
    }
    const hid_t space = H5Screate_simple(1, &count, NULL);
    const hid_t dataset =
        H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (dataset < 0 ||
        (count > 0 && H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) < 0))
        abort();
    (void)H5Dclose(dataset);
    (void)H5Sclose(space);
    (void)H5Tclose(type);
}

/* The groups of the runs, as far as their hashes are names. */
static void runs_write(hid_t file, const struct tables *tables)
{
    const hid_t parents = H5Pcreate(H5P_LINK_CREATE);
    (void)H5Pset_create_intermediate_group(parents, 1);
    for (size_t i = 0; i < tables->run_count; i++) {
        char name[sizeof "runs/" + TEXT_HASH];
        (void)snprintf(name, sizeof name, "runs/%s", tables->runs[i].hash);
        const hid_t group = H5Gcreate2(file, name, parents, H5P_DEFAULT, H5P_DEFAULT);
        if (group < 0)
            continue;
        (void)hdf5_set_u64(group, "position", i);
        (void)H5Gclose(group);
    }
    (void)H5Pclose(parents);
}

static void tables_write(const struct tables *tables, const char *path)
{
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    if (file < 0)
        abort();
    table_write(file, "summary", &layout_summary, tables->runs, tables->run_count);
    table_write(file, "applications", &layout_applications, tables->applications,
                tables->application_count);
    runs_write(file, tables);
    /* The keys of a sweep: the last run's label of its setting, which only a change fills. */
    const char *keys = tables->runs[RUNS_MOST - 1].setting_label;
    if (keys[0] != '\0' && !hdf5_set_text(file, "swept_keys", keys))
        abort();
    (void)H5Fclose(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const bool is_file = size >= sizeof signature && memcmp(data, signature, sizeof signature) == 0;
    char path[256];
    int file = input_save(data, is_file ? size : 0, path);
    hdf5_silence();
    if (!is_file) {
        struct tables tables = {.run_count = 0};
        struct input_cursor cursor = {data, size};
        tables_fill(&tables, &cursor);
        for (int i = 0; i < CHANGES_MOST && cursor.left > 0; i++)
            tables_change(&tables, &cursor);
        tables_write(&tables, path);
    }
    read_back(path);
    (void)close(file);
    (void)unlink(path);
    return 0;
}
