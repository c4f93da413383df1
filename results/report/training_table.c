#include "results/report/training_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/report/report_columns.h"

const struct column *training_measure_columns(size_t *count)
{
    const struct column *first = layout_training.columns;
    const struct column *end = first + layout_training.count;
    while (first->offset < offsetof(struct training_summary_row, measures))
        first++;
    *count = (size_t)(end - first);
    return first;
}

const struct training_summary_row *training_row_find(const struct results *results, size_t run)
{
    for (size_t t = 0; t < results->training_count; t++)
        if (strcmp(results->training[t].hash, results->runs[run].hash) == 0)
            return &results->training[t];
    return NULL;
}

/* The columns of the text: a measure, its header and scale, and the digits shown. */
static const struct shown {
    const char *name, *header;
    double scale;
    int decimals;
} shown[] = {
    {"finished", "finished", 1, 0},
    {"jct_s_mean", "mean JCT h", 1.0 / 3600, 3},
    {"jct_s_p99", "p99 h", 1.0 / 3600, 2},
    {"makespan_s", "makespan h", 1.0 / 3600, 2},
    {"queueing_s_mean", "queueing h", 1.0 / 3600, 3},
    {"slowdown", "slowdown", 1, 2},
    {"ftf_rho", "FTF rho", 1, 2},
    {"restarts", "restarts", 1, 0},
    {"gpu_effective", "GPU effective %", 100, 1},
    {"gpus_active_max", "most GPUs", 1, 0},
    {"fragmented_gpus_mean", "fragmented", 1, 2},
};
enum { SHOWN = sizeof shown / sizeof *shown };

struct metric training_metric_shown(const struct metric *metric)
{
    struct metric copy = *metric;
    for (size_t i = 0; i < SHOWN; i++)
        if (metric->of_training && strcmp(shown[i].name, metric->name) == 0)
            copy.column = (struct metric_column){.header = shown[i].header,
                                                 .scale = shown[i].scale,
                                                 .digits = -1 - shown[i].decimals};
    return copy;
}

bool training_table_exists(const struct report *report, const struct report_scenario *scenario)
{
    for (size_t c = 0; c < scenario->contender_count; c++)
        for (size_t r = 0; r < scenario->contenders[c].run_count; r++)
            if (training_row_find(report->results, scenario->contenders[c].runs[r]) != NULL)
                return true;
    return false;
}

static bool table_print(const struct report *report, const struct report_scenario *scenario,
                        bool html, FILE *out)
{
    const char *headers[1 + SHOWN] = {"trainings"}, *helps[1 + SHOWN] = {NULL};
    struct metric metrics[SHOWN];
    for (size_t i = 0; i < SHOWN; i++) {
        metrics[i] = training_metric_shown(report_metric_find(shown[i].name));
        headers[i + 1] = shown[i].header;
        helps[i + 1] = metrics[i].help;
    }
    struct text_table *table = text_table_create(headers, 1 + SHOWN);
    text_table_helps(table, helps);
    for (size_t c = 0; c < scenario->contender_count; c++) {
        text_table_row(table);
        text_table_name(table, 0, "%s", scenario->contenders[c].title);
        for (size_t i = 0; i < SHOWN; i++)
            report_column_cell(report, &scenario->contenders[c], NULL, &metrics[i],
                               shown[i].decimals, "", table, i + 1);
    }
    return text_table_end(table, html, out);
}

bool training_table_html(const struct report *report, const struct report_scenario *scenario,
                         FILE *out)
{
    return !training_table_exists(report, scenario) || table_print(report, scenario, true, out);
}

bool training_table_text(const struct report *report, const struct report_scenario *scenario,
                         FILE *out)
{
    if (!training_table_exists(report, scenario))
        return true;
    const bool good = table_print(report, scenario, false, out);
    (void)fputc('\n', out);
    text_print_filled(out, "",
                      "JCT: job completion time, from arrival to finish; slowdown: JCT / time "
                      "alone at the proportional share; FTF rho: slowdown / max(1, mean of the "
                      "GPUs demanded while present / GPUs); effective: share of GPUs held x speed "
                      "/ best speed; most GPUs: with a training at one time; fragmented: free GPUs "
                      "that a typical training cannot use, mean over time (F of FGD)");
    return good;
}
