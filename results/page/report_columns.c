#include "results/page/report_columns.h"

#include <math.h>
#include <stdio.h>

struct estimate report_column_estimate(const struct report *report,
                                       const struct report_contender *contender,
                                       const char *application, const struct metric *metric)
{
    return statistics_scaled(report_estimate(report, contender, application, metric),
                             metric->face.scale);
}

void report_column_cell(const struct report *report, const struct report_contender *contender,
                        const char *application, const struct metric *metric, int decimals,
                        const char *place, struct text_table *table, size_t column)
{
    const struct estimate estimate = report_column_estimate(report, contender, application, metric);
    text_table_estimate(table, column, estimate,
                        metric_cell_decimals(metric, decimals, estimate.mean));
    const char *seeds = report_seeds_text(report, contender, application, metric);
    if (seeds[0] == '\0')
        return;
    text_table_seeds(table, column, seeds);
    text_table_note(table, "%s%s%s, %s: seeds %s", contender->title, place[0] == '\0' ? "" : ", ",
                    place, metric->face.header, seeds);
}

void report_ranges(const struct results *results, struct run_ranges *ranges)
{
    struct text_range seeds = TEXT_RANGE_NONE, requests = seeds, warmup = seeds, trainings = seeds;
    for (size_t i = 0; i < results->run_count; i++) {
        text_range_widen(&seeds, results->runs[i].seed);
        text_range_widen(&requests, results->runs[i].measures.requests);
        text_range_widen(&warmup, results->runs[i].warmup_requests);
    }
    for (size_t t = 0; t < results->training_count; t++)
        text_range_widen(&trainings, results->training[t].measures.finished +
                                         results->training[t].measures.unfinished);
    (void)text_range(&seeds, false, ranges->seeds);
    (void)text_range(&requests, true, ranges->requests);
    (void)text_range(&warmup, true, ranges->warmup);
    (void)text_range(&trainings, true, ranges->trainings);
}

int metric_decimals(const struct metric *metric, double largest)
{
    const int digits = metric->face.digits;
    return digits < 0 ? -1 - digits : text_table_decimals(fabs(largest), digits);
}

int metric_cell_decimals(const struct metric *metric, int column, double value)
{
    const bool small = metric->face.digits > 0 && fabs(value) * pow(10, column) < 10;
    return small && fabs(value) > 0 ? metric_decimals(metric, value) : column;
}

void report_served_print(FILE *out, const char *name, double drop_rate, double mean, double p50,
                         double p99)
{
    if (drop_rate >= 1)
        (void)fprintf(out, "%s: all requests were dropped\n", name);
    else if (drop_rate > 0)
        (void)fprintf(out,
                      "%s: %.3g %% of the requests were dropped; latency of the %.3g %% served: "
                      "mean %.4g, p50 %.4g, p99 %.4g ms\n",
                      name, 100 * drop_rate, 100 - 100 * drop_rate, mean, p50, p99);
}

void metric_columns_select(unsigned places, enum metric_group first, enum metric_group last,
                           metric_largest *largest_of, const void *context,
                           struct report_columns *columns)
{
    for (enum metric_group group = first; group <= last; group++)
        for (size_t m = 0;
             m < metric_count + training_metric_count && columns->count < REPORT_COLUMNS; m++) {
            const struct metric *metric = &metrics[m];
            if (metric->group != group || (metric->places & places) != places)
                continue;
            const double largest = largest_of(context, metric);
            if ((metric->places & IF_NOTABLE) != 0 &&
                !(largest > METRIC_NOTABLE * metric->face.scale))
                continue;
            columns->decimals[columns->count] = metric_decimals(metric, largest);
            columns->metrics[columns->count++] = metric;
        }
}

bool report_is_on_front(const struct report *report, const struct report_scenario *scenario,
                        size_t contender)
{
    const struct metric *hits = metric_find("slo_hit_rate");
    const struct metric *costs = metric_find("cost_per_request_usd");
    const struct report_contender *all = scenario->contenders;
    const double hit = report_estimate(report, &all[contender], NULL, hits).mean;
    const double cost = report_estimate(report, &all[contender], NULL, costs).mean;
    bool on = !isnan(hit) && !isnan(cost);
    for (size_t o = 0; on && o < scenario->contender_count; o++) {
        const double other_hit = report_estimate(report, &all[o], NULL, hits).mean;
        const double other_cost = report_estimate(report, &all[o], NULL, costs).mean;
        on = !(other_hit >= hit && other_cost <= cost && (other_hit > hit || other_cost < cost));
    }
    return on;
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
        return statistics_none;
    struct estimate estimate = report_estimate(report, bounded, application, bound);
    (void)snprintf(name, sizeof name, "bound_capacity_%s", metric->name);
    const struct metric *capacity = metric_find(name);
    if (capacity != NULL && (application == NULL || scenario->application_count == 1)) {
        const struct estimate tighter = report_estimate(report, bounded, NULL, capacity);
        estimate = tighter.mean <= estimate.mean ? tighter : estimate;
    }
    return statistics_scaled(estimate, metric->face.scale);
}
