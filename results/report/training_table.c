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
    struct report_columns columns = {.count = 0};
    report_columns_add(report, scenario, METRIC_TRAININGS, html, &columns);
    report_columns_add(report, scenario, METRIC_GANGS, html, &columns);
    const char *headers[1 + REPORT_COLUMNS] = {"trainings"}, *helps[1 + REPORT_COLUMNS] = {NULL};
    for (size_t i = 0; i < columns.count; i++) {
        headers[i + 1] = columns.metrics[i]->column.header;
        helps[i + 1] = columns.metrics[i]->help;
    }
    struct text_table *table = text_table_create(headers, 1 + columns.count);
    text_table_helps(table, helps);
    for (size_t c = 0; c < scenario->contender_count; c++) {
        text_table_row(table);
        text_table_name(table, 0, "%s", scenario->contenders[c].title);
        for (size_t i = 0; i < columns.count; i++)
            report_column_cell(report, &scenario->contenders[c], NULL, columns.metrics[i],
                               columns.decimals[i], "", table, i + 1);
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
