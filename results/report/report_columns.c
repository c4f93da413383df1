#include "results/report/report_columns.h"

#include <math.h>
#include <stdio.h>

#include "results/report/table.h"

size_t report_columns(enum metric_table table, bool page,
                      const struct metric *columns[static REPORT_COLUMNS])
{
    size_t count = 0;
    for (size_t m = 0; m < metric_count && count < REPORT_COLUMNS; m++)
        if (metrics[m].column.table == table && (page || metrics[m].column.in_text))
            columns[count++] = &metrics[m];
    return count;
}

static struct estimate scaled(struct estimate estimate, double scale)
{
    estimate.mean *= scale;
    estimate.sd *= scale;
    estimate.half_width *= scale;
    return estimate;
}

struct estimate report_column_estimate(const struct report *report,
                                       const struct report_contender *contender,
                                       const char *application, const struct metric *metric)
{
    return scaled(report_estimate(report, contender, application, metric), metric->column.scale);
}

int report_column_decimals(const struct report *report, const struct report_scenario *scenario,
                           const struct metric *metric)
{
    double largest = 0;
    if (metric->column.digits < 0)
        return -1 - metric->column.digits;
    for (size_t c = 0; c < scenario->contender_count; c++)
        for (size_t a = 0; a <= scenario->application_count; a++) {
            const char *application =
                a < scenario->application_count ? scenario->applications[a] : NULL;
            const double mean =
                report_column_estimate(report, &scenario->contenders[c], application, metric).mean;
            if (fabs(mean) > largest)
                largest = fabs(mean);
        }
    return text_table_decimals(largest, metric->column.digits);
}

const struct report_contender *report_bounded(const struct report *report,
                                              const struct report_scenario *scenario)
{
    const struct report_contender *bounded = NULL;
    for (size_t c = 0; c < scenario->contender_count; c++) {
        const struct report_contender *contender = &scenario->contenders[c];
        const bool has = !isnan(
            report_estimate(report, contender, NULL, metric_find("bound_slo_hit_rate")).mean);
        if (has && (bounded == NULL || c == scenario->reference))
            bounded = contender;
    }
    return bounded;
}

struct estimate report_column_bound(const struct report *report,
                                    const struct report_scenario *scenario, const char *application,
                                    const struct metric *metric)
{
    char name[64];
    (void)snprintf(name, sizeof name, "bound_%s", metric->name);
    const struct metric *bound = metric_find(name);
    const struct report_contender *bounded = report_bounded(report, scenario);
    if (bound == NULL || bounded == NULL)
        return (struct estimate){.n = 0, .mean = NAN, .sd = NAN, .half_width = NAN};
    return scaled(report_estimate(report, bounded, application, bound), metric->column.scale);
}
