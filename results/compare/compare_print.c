/* Output of the comparison as text for a terminal, or as an HTML page. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "results/compare/compare.h"
#include "results/page/report_columns.h"
#include "results/report/html.h"
#include "results/report/table.h"
#include "sim/base/utf8.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

enum { CELL_SIZE = 160, KINDS_SHOWN = 12 };

/* ---- Output: text or HTML -------------------------------------------------------------------- */

struct sink {
    FILE *out;
    bool html;
    struct text_table *table;
};

static void sink_heading(struct sink *sink, const char *text)
{
    if (!sink->html) {
        text_print_heading(sink->out, text);
        return;
    }
    html_element(sink->out, "h2", text);
    (void)fputc('\n', sink->out);
}

__attribute__((format(printf, 2, 3))) static void sink_paragraph(struct sink *sink,
                                                                 const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    utf8_mark_cut(text, sizeof text, vsnprintf(text, sizeof text, format, args));
    va_end(args);
    if (sink->html)
        html_element(sink->out, "p", text);
    (void)fputc('\n', sink->out);
    if (!sink->html)
        (void)fprintf(sink->out, "%s\n", text);
}

static struct text_table *sink_table(struct sink *sink, const char *const *headers, size_t columns)
{
    return sink->table = text_table_create(headers, columns);
}

static void sink_table_end(struct sink *sink)
{
    if (!sink->html)
        (void)fputc('\n', sink->out);
    text_table_end(sink->table, sink->html, sink->out);
}

/* ---- Cells ----------------------------------------------------------------------------------- */

static void cell_number(struct text_table *table, size_t column, double value, int decimals)
{
    if (isnan(value))
        text_table_cell(table, column, "-");
    else
        text_table_cell(table, column, "%.*f", decimals, value == 0 ? 0.0 : value);
}

/* Formats with a sign, except if the value rounds to zero. */
static const char *signed_text(double value, int decimals, char text[CELL_SIZE])
{
    const bool zero = fabs(value) < 0.5 * pow(10, -decimals);
    if (isnan(value))
        (void)snprintf(text, CELL_SIZE, "-");
    else
        (void)snprintf(text, CELL_SIZE, zero ? "%.*f" : "%+.*f", decimals, zero ? 0.0 : value);
    return text;
}

static double error_percent(const double values[2])
{
    return 100 * (values[0] - values[1]) / values[1];
}

/* ---- All runs -------------------------------------------------------------------------------- */

static const enum compare_metric judged[] = {COMPARE_MEAN, COMPARE_P95, COMPARE_HIT, COMPARE_COST};

static bool run_met(const struct compare_run *run)
{
    if (!compare_served_alike(run))
        return false;
    for (size_t j = 0; j < COUNT(judged); j++)
        if (compare_stands(run, judged[j], NULL) == COMPARE_MISSED)
            return false;
    return true;
}

static void verdict_cell(const struct compare_run *run, enum compare_metric metric,
                         struct text_table *table, size_t column)
{
    char error[CELL_SIZE];
    double by = 0;
    const enum compare_standing standing = compare_stands(run, metric, &by);
    (void)signed_text(run->parts[run->part_count - 1].figures[metric].error, 2, error);
    if (standing == COMPARE_MISSED)
        text_table_cell(table, column, "%s missed by %.2f", error, by);
    else
        text_table_cell(table, column, "%s%s", error, standing == COMPARE_MET ? " met" : "");
}

static void verdicts_print(const struct comparison *against, struct sink *sink)
{
    const char *headers[1 + COUNT(judged)] = {"error, % and points"};
    for (size_t j = 0; j < COUNT(judged); j++)
        headers[1 + j] = compare_metric(judged[j])->face.header;
    struct text_table *table = sink_table(sink, headers, COUNT(headers));
    for (size_t i = 0; i < against->run_count; i++) {
        text_table_row(table);
        text_table_cell(table, 0, "%s", against->runs[i].title);
        for (size_t j = 0; j < COUNT(judged); j++)
            verdict_cell(&against->runs[i], judged[j], table, j + 1);
    }
    text_table_row(table);
    text_table_cell(table, 0, "limit");
    for (size_t j = 0; j < COUNT(judged); j++)
        text_table_cell(table, j + 1, "%g", compare_measures[judged[j]].limit);
    sink_table_end(sink);
}

static void overview_print(const struct comparison *against, struct sink *sink)
{
    size_t met = 0, executed = 0;
    for (size_t i = 0; i < against->run_count; i++) {
        met += run_met(&against->runs[i]);
        executed += against->runs[i].gpu;
    }
    if (executed == 0)
        sink_paragraph(sink, "rehearsal: no GPU took part. Nothing here measures the simulator.");
    else if (executed < against->run_count)
        sink_paragraph(sink,
                       "rehearsal: no GPU took part in %zu of the runs; each says which it is.",
                       against->run_count - executed);
    sink_paragraph(sink, "%zu run%s compared, %zu within all limits.", against->run_count,
                   against->run_count == 1 ? "" : "s", met);
    verdicts_print(against, sink);
    for (size_t i = 0; i < against->alone_count; i++)
        sink_paragraph(sink, "without a partner: %s", against->alone[i]);
    sink_paragraph(
        sink,
        "An error is simulated − real, in %% of the real value, or in points for a ratio. From … "
        "to: the 95 %% interval of the error, by a bootstrap over blocks of consecutive "
        "requests, the same blocks on both sides. It covers the variation due to other "
        "requests of the same kind. Both sides received the same requests at the same "
        "times. Components of a latency are summed over a request's jobs. Distance: the "
        "largest difference between the two latency distributions (Kolmogorov-Smirnov).");
}

/* ---- Distributions --------------------------------------------------------------------------- */

static int decimals_of(const struct compare_run *run, size_t metric)
{
    double largest = 0;
    for (size_t p = 0; p < run->part_count; p++)
        largest = fmax(largest, fabs(run->parts[p].figures[metric].real));
    return metric_decimals(compare_metric(metric), largest * compare_metric(metric)->face.scale);
}

static const char *part_name(const struct compare_part *part)
{
    return part->application == NULL ? "all applications" : part->application;
}

/* Adds the rows of one application: both sides, the error and its interval. */
static void part_rows(const struct compare_run *run, const struct compare_part *part, size_t first,
                      size_t end, struct text_table *table)
{
    static const char *const rows[] = {"simulated", "real", "error", "  from", "  to"};
    char text[CELL_SIZE];
    text_table_group(table, part_name(part));
    for (size_t r = 0; r < COUNT(rows); r++) {
        text_table_row(table);
        text_table_cell(table, 0, "%s", rows[r]);
        for (size_t m = first; m < end; m++) {
            const struct compare_figure *figure = &part->figures[m];
            const double scale = compare_metric(m)->face.scale;
            const double values[] = {figure->simulated * scale, figure->real * scale, figure->error,
                                     figure->low, figure->high};
            if (r < 2)
                cell_number(table, 1 + m - first, values[r], decimals_of(run, m));
            else
                text_table_cell(table, 1 + m - first, "%s", signed_text(values[r], 2, text));
        }
    }
}

/* Prints the table of the metrics from `first` to before `end`. */
static void figures_print(const struct compare_run *run, const char *title, size_t first,
                          size_t end, struct sink *sink)
{
    const char *headers[1 + COMPARE_METRICS] = {title};
    for (size_t m = first; m < end; m++)
        headers[1 + m - first] = compare_metric(m)->face.header;
    struct text_table *table = sink_table(sink, headers, 1 + end - first);
    text_table_indent(table, NULL);
    for (size_t p = 0; p < run->part_count; p++)
        part_rows(run, &run->parts[p], first, end, table);
    sink_table_end(sink);
}

static void counts_print(const struct compare_run *run, struct sink *sink)
{
    static const char *const headers[] = {
        "requests", "measured", "dropped: simulated", "real", "mean batch: simulated",
        "real",     "distance"};
    struct text_table *table = sink_table(sink, headers, COUNT(headers));
    for (size_t p = 0; p < run->part_count; p++) {
        const struct compare_part *part = &run->parts[p];
        text_table_add(table, "%s\t%zu\t%zu\t%zu\t%.3f\t%.3f\t%.4f", part_name(part),
                       part->requests, part->dropped[0], part->dropped[1], part->mean_batch[0],
                       part->mean_batch[1], part->distance);
    }
    sink_table_end(sink);
}

static void distributions_print(const struct compare_run *run, struct sink *sink)
{
    figures_print(run, "latency; error, %", COMPARE_MEAN, COMPARE_HIT, sink);
    figures_print(run, "error, points and %", COMPARE_HIT, COMPARE_METRICS, sink);
    counts_print(run, sink);
}

/* ---- Causes of the error --------------------------------------------------------------------- */

static void kind_row(const struct compare_batches *kind, struct text_table *table)
{
    char error[CELL_SIZE];
    const double *ms = kind->execution_ms;
    const int decimals = text_table_decimals(fmax(ms[0], ms[1]), 4);
    text_table_add(table, "%.80s, batch %u, %u vCPU, %u vGPU\t%zu\t%zu\t%.*f\t%.*f\t%s\t%.3f\t%.3f",
                   kind->function, kind->batch, kind->vcpu, kind->vgpu, kind->count[0],
                   kind->count[1], decimals, ms[0], decimals, ms[1],
                   signed_text(error_percent(ms), 2, error), ms[1] / kind->modelled_ms[1],
                   kind->ratio_sd[1]);
}

static void kinds_print(const struct compare_run *run, struct sink *sink)
{
    static const char *const headers[] = {"batches by function and configuration",
                                          "simulated",
                                          "real",
                                          "ms simulated",
                                          "real",
                                          "error %",
                                          "real / model",
                                          "sd"};
    double rest = 0, all = 0;
    struct text_table *table = sink_table(sink, headers, COUNT(headers));
    for (size_t k = 0; k < run->batch_kinds; k++) {
        const struct compare_batches *kind = &run->batches[k];
        const double time = kind->count[1] > 0 ? (double)kind->count[1] * kind->execution_ms[1] : 0;
        all += time;
        if (k < KINDS_SHOWN)
            kind_row(kind, table);
        else
            rest += time;
    }
    sink_table_end(sink);
    if (run->batch_kinds > KINDS_SHOWN)
        sink_paragraph(sink, "%zu more kinds, %.1f %% of the real time: --format csv lists them.",
                       run->batch_kinds - KINDS_SHOWN, all > 0 ? 100 * rest / all : 0);
}

static void company_print(const struct compare_run *run, struct sink *sink)
{
    static const char *const headers[] = {"others on the GPU meanwhile",
                                          "batches simulated",
                                          "real",
                                          "slowdown simulated",
                                          "real",
                                          "error %"};
    char error[CELL_SIZE];
    if (run->company_count == 0)
        return;
    struct text_table *table = sink_table(sink, headers, COUNT(headers));
    for (size_t c = 0; c < run->company_count; c++) {
        const struct compare_company *company = &run->company[c];
        text_table_add(table, "%" PRIu32 "\t%zu\t%zu\t%.4f\t%.4f\t%s", company->others,
                       company->count[0], company->count[1], company->slowdown[0],
                       company->slowdown[1],
                       signed_text(error_percent(company->slowdown), 2, error));
    }
    sink_table_end(sink);
}

static void causes_print(const struct compare_run *run, struct sink *sink)
{
    const struct compare_figure *figures = run->parts[run->part_count - 1].figures;
    static const enum compare_metric metrics[] = {COMPARE_MEAN, COMPARE_QUEUE, COMPARE_TRANSFER,
                                                  COMPARE_EXECUTION};
    char parts[COUNT(metrics)][CELL_SIZE], all[CELL_SIZE], time[CELL_SIZE], other[CELL_SIZE];
    for (size_t m = 0; m < COUNT(metrics); m++)
        (void)signed_text(figures[metrics[m]].simulated - figures[metrics[m]].real, 3, parts[m]);
    const double difference = run->execution_ms[0] - run->execution_ms[1];
    sink_paragraph(
        sink,
        "Causes: the mean latency is off by %s ms; queueing by %s, transfers by %s, "
        "execution by %s (summed over a request's jobs). A job executes %.3f ms "
        "simulated and %.3f ms real. The difference is %s ms: %s because batches of the same "
        "function, configuration and jobs take a different time, %s because there were other "
        "batches.",
        parts[0], parts[1], parts[2], parts[3], run->execution_ms[0], run->execution_ms[1],
        signed_text(difference, 3, all), signed_text(run->time_difference_ms, 3, time),
        signed_text(difference - run->time_difference_ms, 3, other));
}

static void host_parts_print(const struct compare_run *run, struct sink *sink)
{
    static const double noticed = 1.5;
    cJSON *details = cJSON_Parse(run->details != NULL ? run->details : "null");
    const cJSON *part, *parts = cJSON_GetObjectItemCaseSensitive(details, "host_ms_by_part");
    double least = INFINITY, most = 0;
    cJSON_ArrayForEach(part, parts)
    {
        least = fmin(least, part->valuedouble);
        most = fmax(most, part->valuedouble);
    }
    char *text = most > 0 ? cJSON_PrintUnformatted(parts) : NULL;
    if (text != NULL)
        sink_paragraph(sink, "Host by tenth of the run, ms: %s.%s", text,
                       most > noticed * least ? " It drifts: no one time holds for this run." : "");
    cJSON_free(text);
    cJSON_Delete(details);
}

static void executed_print(const struct compare_run *run, struct sink *sink)
{
    if (run->gpu)
        sink_paragraph(sink, "Executed on %s (%s) through %s.", run->device, run->driver,
                       run->backend);
    else
        sink_paragraph(sink, "rehearsal: no GPU took part (backend \"%s\").", run->backend);
    sink_paragraph(sink,
                   "Batches started late by %.1f us in the mean, %.1f us at p99, %.1f us at most; "
                   "this is part of their execution time.",
                   run->late_us_mean, run->late_us_p99, run->late_us_max);
    if (run->host_ms > 0)
        sink_paragraph(sink,
                       "Host: %.3f ms per batch beyond its time on the device, and no turnaround. "
                       "Simulate both by platform.host_ms=%.3f platform.turnaround=false.",
                       run->host_ms, run->host_ms);
    host_parts_print(run, sink);
}

static void run_print(const struct compare_run *run, struct sink *sink)
{
    sink_heading(sink, run->title);
    executed_print(run, sink);
    if (!compare_served_alike(run))
        sink_paragraph(sink, "The sides dropped other shares of requests, or batched otherwise: "
                             "latencies are not judged.");
    distributions_print(run, sink);
    causes_print(run, sink);
    kinds_print(run, sink);
    company_print(run, sink);
}

/* ---- Whole ----------------------------------------------------------------------------------- */

static bool body_print(const struct comparison *against, struct sink *sink, struct error *error)
{
    overview_print(against, sink);
    for (size_t i = 0; i < against->run_count; i++)
        run_print(&against->runs[i], sink);
    if (sink->html)
        return html_end(sink->out, error);
    return !ferror(sink->out) || error_write(error, "the comparison", errno);
}

bool compare_text(const struct comparison *against, FILE *out, struct error *error)
{
    struct sink sink = {.out = out};
    (void)fprintf(out, "Simulated against real: %s against %s\n", against->simulated->path,
                  against->real->path);
    return body_print(against, &sink, error);
}

bool compare_html(const struct comparison *against, FILE *out, struct error *error)
{
    struct sink sink = {.out = out, .html = true};
    if (!html_begin(out, "simulated against real", error))
        return false;
    (void)fputs("<main>\n<h1>Simulated against real</h1>\n<p>", out);
    html_element(out, "code", against->simulated->path);
    (void)fputs(" against ", out);
    html_element(out, "code", against->real->path);
    (void)fputs("</p>\n", out);
    return body_print(against, &sink, error);
}
