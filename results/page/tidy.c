#include "results/page/tidy.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "results/page/csv.h"
#include "results/report/report.h"

/* Adds the keys of a file that are no columns of every summary and not listed yet. */
static void keys_add(struct arena *arena, const struct results *file, const char ***keys,
                     size_t *count)
{
    for (size_t k = 0; k < results_key_count(file); k++) {
        const char *name = file->swept->columns[k].name;
        bool listed = swept_is_shared(name);
        for (size_t i = 0; !listed && i < *count; i++)
            listed = strcmp((*keys)[i], name) == 0;
        if (listed)
            continue;
        *ARENA_NEXT(arena, *keys, *count) = name;
    }
}

/* Prints a column of a row of any table. */
static void print_value(FILE *out, const void *row, const struct column *column)
{
    const char *at = (const char *)row + column->offset;
    uint64_t whole = 0;
    double number = 0;
    (void)fputc(',', out);
    switch (column->type) {
    case COLUMN_TEXT:
        csv_text(out, at);
        return;
    case COLUMN_F64:
        memcpy(&number, at, sizeof number);
        csv_number(out, number);
        return;
    case COLUMN_U8:
        whole = *(const uint8_t *)at;
        break;
    case COLUMN_U32:
        whole = *(const uint32_t *)(const void *)at;
        break;
    case COLUMN_U64:
        memcpy(&whole, at, sizeof whole);
        break;
    default:
        return;
    }
    (void)fprintf(out, "%" PRIu64, whole);
}

/* The first column of the summary that is a metric. All after it are metrics, too. */
static size_t metrics_begin(void)
{
    size_t c = 0;
    while (metric_find(layout_summary.columns[c].name) == NULL)
        c++;
    return c;
}

static void print_names(size_t begin, size_t end, FILE *out)
{
    for (size_t c = begin; c < end; c++)
        (void)fprintf(out, ",%s", layout_summary.columns[c].name);
}

/* The metrics of a run's trainings; empty where it has none. */
static void print_trainings(const struct results *results, size_t run, FILE *out)
{
    const struct training_summary_row *row = results_training(results, run);
    for (size_t m = 0; m < training_metric_count; m++)
        csv_print(out, ",%g",
                  row == NULL ? NAN : metric_number(&training_metrics[m], &row->measures));
}

static void print_header(const char **keys, size_t key_count, bool trainings, FILE *out)
{
    (void)fputs("file,missing_runs", out);
    print_names(0, metrics_begin(), out);
    for (size_t k = 0; k < key_count; k++)
        csv_print(out, ",%s", keys[k]);
    print_names(metrics_begin(), layout_summary.count, out);
    for (size_t m = 0; trainings && m < training_metric_count; m++)
        (void)fprintf(out, ",training_%s", training_metrics[m].name);
    (void)fputs("\r\n", out);
}

static void print_values(const struct summary_row *run, size_t begin, size_t end, FILE *out)
{
    for (size_t c = begin; c < end; c++)
        print_value(out, run, &layout_summary.columns[c]);
}

static void print_run(const struct results *results, size_t run, const char **keys,
                      size_t key_count, bool trainings, FILE *out)
{
    const struct summary_row *row = &results->runs[run];
    csv_print(out, "%s,%zu", results->path, (size_t)results->sweep.missing);
    print_values(row, 0, metrics_begin(), out);
    for (size_t k = 0; k < key_count; k++) {
        const size_t key = results_key_find(results, keys[k]);
        (void)fputc(',', out);
        if (key < results_key_count(results))
            csv_swept(out, results, run, key);
    }
    print_values(row, metrics_begin(), layout_summary.count, out);
    if (trainings)
        print_trainings(results, run, out);
    (void)fputs("\r\n", out);
}

bool tidy_csv(const struct results *const *files, size_t count, FILE *out, struct error *error)
{
    size_t key_count = 0;
    struct arena *arena = arena_create();
    const char **keys = NULL;
    bool trainings = false;
    for (size_t f = 0; f < count; f++) {
        keys_add(arena, files[f], &keys, &key_count);
        trainings = trainings || files[f]->training_count > 0;
    }
    print_header(keys, key_count, trainings, out);
    for (size_t f = 0; f < count; f++)
        for (size_t run = 0; run < files[f]->run_count; run++)
            print_run(files[f], run, keys, key_count, trainings, out);
    arena_destroy(arena);
    return !ferror(out) || error_write(error, "the table", errno);
}
