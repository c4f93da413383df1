#include "results/page/tidy.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "results/page/csv.h"
#include "results/report/report.h"
#include "sim/base/string_index.h"

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

static void print_header(const struct string_index *keys, bool trainings, FILE *out)
{
    (void)fputs("file,missing_runs", out);
    print_names(0, metrics_begin(), out);
    for (size_t k = 0; k < keys->count; k++)
        csv_print(out, ",%s", keys->names[k]);
    print_names(metrics_begin(), layout_summary.count, out);
    for (size_t m = 0; trainings && m < training_metric_count; m++)
        (void)fprintf(out, ",training_%s", training_metrics[m].name);
    (void)fputs("\r\n", out);
}

static void print_values(const struct summary_row *run, size_t begin, size_t end, FILE *out)
{
    for (size_t c = begin; c < end; c++) {
        (void)fputc(',', out);
        csv_column(out, run, &layout_summary.columns[c]);
    }
}

static void print_run(const struct results *results, size_t run, const struct string_index *keys,
                      bool trainings, FILE *out)
{
    const struct summary_row *row = &results->runs[run];
    csv_print(out, "%s,%zu", results->path, (size_t)results->sweep.missing);
    print_values(row, 0, metrics_begin(), out);
    for (size_t k = 0; k < keys->count; k++) {
        const size_t key = results_key_find(results, keys->names[k]);
        (void)fputc(',', out);
        if (key < results_key_count(results))
            csv_column(out, results_values(results, run), &results->swept->columns[key]);
    }
    print_values(row, metrics_begin(), layout_summary.count, out);
    if (trainings)
        print_trainings(results, run, out);
    (void)fputs("\r\n", out);
}

bool tidy_csv(const struct results *const *files, size_t count, FILE *out, struct error *error)
{
    struct string_index keys = {0}; /* those that are no columns of every summary */
    bool trainings = false;
    for (size_t f = 0; f < count; f++) {
        for (size_t k = 0; k < results_key_count(files[f]); k++)
            if (!swept_is_shared(files[f]->swept->columns[k].name))
                (void)string_index_add(&keys, files[f]->swept->columns[k].name);
        trainings = trainings || files[f]->training_count > 0;
    }
    print_header(&keys, trainings, out);
    for (size_t f = 0; f < count; f++)
        for (size_t run = 0; run < files[f]->run_count; run++)
            print_run(files[f], run, &keys, trainings, out);
    string_index_clear(&keys);
    return !ferror(out) || error_write(error, "the table", errno);
}
