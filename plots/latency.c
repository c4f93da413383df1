/* Figures of individual requests: the distribution of latency and its components. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_sort.h>

#include "plots/families.h"

/* A request: its latency in ms, and latency / SLO (0 if it has no SLO). Both are infinite if it was
 * dropped. */
struct sample {
    double latency;
    double share;
    double parts[4]; /* queue, transfer, cold start, execution: fractions of the latency */
};

struct samples {
    struct sample *rows;
    size_t count;
    size_t runs; /* number of runs that recorded requests */
};

static struct sample sample_of(const struct detail_request *request)
{
    struct sample sample = {INFINITY, INFINITY, {0}};
    const sim_time_t latency = request->finish_ns - request->arrival_ns;
    const sim_time_t parts[4] = {request->queue_ns, request->transfer_ns, request->cold_ns,
                                 request->exec_ns};
    double sum = 0;
    if (request->dropped != 0)
        return sample;
    sample.latency = sim_to_ms(latency);
    sample.share = request->slo_ns > 0 ? (double)latency / (double)request->slo_ns : 0;
    for (size_t p = 0; p < 4; p++)
        sum += (double)parts[p];
    for (size_t p = 0; sum > 0 && p < 4; p++)
        sample.parts[p] = (double)parts[p] / sum;
    return sample;
}

/* Appends the run's measured requests. */
static bool samples_add(struct samples *samples, const struct run_details *details,
                        const char *hash, struct error *error)
{
    struct detail_request *requests = NULL;
    size_t count = 0;
    if (!run_details_has(details, hash, "requests"))
        return true;
    if (!run_details_requests(details, hash, &requests, &count, error))
        return false;
    struct sample *grown = realloc(samples->rows, (samples->count + count + 1) * sizeof *grown);
    if (grown == NULL) {
        free(requests);
        return figure_no_memory(error);
    }
    samples->rows = grown;
    for (size_t i = 0; i < count; i++)
        if (requests[i].measured != 0)
            samples->rows[samples->count++] = sample_of(&requests[i]);
    samples->runs++;
    free(requests);
    return true;
}

static bool samples_read(struct samples *samples, const struct source *source,
                         const struct report_contender *contender, struct error *error)
{
    *samples = (struct samples){0};
    for (size_t i = 0; i < contender->run_count; i++)
        if (!samples_add(samples, source->details,
                         source->report->results->runs[contender->runs[i]].hash, error)) {
            free(samples->rows);
            return false;
        }
    return true;
}

static int compare_samples(const void *a, const void *b)
{
    const double left = ((const struct sample *)a)->latency;
    const double right = ((const struct sample *)b)->latency;
    return (left > right) - (left < right);
}

/* Quantile of sorted values, at position (n − 1) q. Infinite if it is among the dropped requests.
 */
static double quantile(const double *sorted, size_t count, double q)
{
    const double at = q * (double)(count - 1);
    const size_t low = (size_t)at;
    const size_t high = low + 1 < count ? low + 1 : low;
    const double share = at - (double)low;
    if (share <= 0)
        return sorted[low];
    return sorted[low] + share * (sorted[high] - sorted[low]);
}

/* ---- Distribution --------------------------------------------------------------------------- */

/* Steps of 0.5 %, and smaller ones in the tail. */
enum { STEPS = 200, TAIL_STEPS = 9 };

static double step_share(size_t step)
{
    return step < STEPS ? (double)step / STEPS : 0.995 + 0.0005 * (double)(step - STEPS + 1);
}

static bool distribution_rows(const struct samples *samples, const char *title, size_t row,
                              struct look look, struct sheet *sheet, struct error *error)
{
    double *values = calloc(2 * samples->count + 1, sizeof *values);
    if (values == NULL)
        return figure_no_memory(error);
    double *shares = values + samples->count;
    for (size_t i = 0; i < samples->count; i++) {
        values[i] = samples->rows[i].latency;
        shares[i] = samples->rows[i].share;
    }
    gsl_sort(values, 1, samples->count);
    gsl_sort(shares, 1, samples->count);
    for (size_t step = 0; step < STEPS + TAIL_STEPS; step++) {
        const double q = step_share(step);
        const double latency = quantile(values, samples->count, q);
        if (!isfinite(latency))
            break;
        sheet_count(sheet, row);
        sheet_text_cut(sheet, title, LABEL_LIMIT);
        sheet_number(sheet, 100 * q);
        sheet_number(sheet, latency);
        sheet_number(sheet, quantile(shares, samples->count, q));
        sheet_colour(sheet, look.colour);
        sheet_number(sheet, look.dash);
        sheet_number(sheet, look.point);
        sheet_row_end(sheet);
    }
    free(values);
    return true;
}

/* ---- Parts ---------------------------------------------------------------------------------- */

static const struct {
    const char *title;
    double share;
} percentiles[] = {{"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}, {"p99.9", 0.999}};
enum { PERCENTILES = sizeof percentiles / sizeof percentiles[0] };

/* Components of latency at quantile `q` of the sorted samples. They are means over the nearest
 * requests: at most 0.5 % on either side, and at most half of the distance to the end. */
static double parts_at(const struct samples *samples, double q, double parts[4])
{
    const double reach = fmin(0.005, (1 - q) / 2) * (double)samples->count;
    const size_t middle = (size_t)(q * (double)(samples->count - 1) + 0.5);
    const size_t half = reach < 5 ? 5 : (size_t)reach;
    const size_t first = middle > half ? middle - half : 0;
    size_t used = 0;
    memset(parts, 0, 4 * sizeof *parts);
    for (size_t i = first; i <= middle + half && i < samples->count; i++) {
        if (!isfinite(samples->rows[i].latency))
            break;
        for (size_t p = 0; p < 4; p++)
            parts[p] += samples->rows[i].parts[p];
        used++;
    }
    const double at = q * (double)(samples->count - 1);
    const size_t low = (size_t)at;
    const size_t high = low + 1 < samples->count ? low + 1 : low;
    const double step = samples->rows[high].latency - samples->rows[low].latency;
    const double latency =
        samples->rows[low].latency + (at > (double)low ? (at - (double)low) * step : 0);
    for (size_t p = 0; used > 0 && p < 4; p++)
        parts[p] *= latency / (double)used;
    return latency;
}

static void parts_rows(struct samples *samples, const char *title, size_t row, struct sheet *sheet)
{
    qsort(samples->rows, samples->count, sizeof *samples->rows, compare_samples);
    for (size_t q = 0; q < PERCENTILES; q++) {
        double parts[4];
        const double latency = parts_at(samples, percentiles[q].share, parts);
        if (!isfinite(latency))
            break;
        sheet_count(sheet, q + 1);
        sheet_text(sheet, percentiles[q].title);
        sheet_count(sheet, row);
        sheet_text_cut(sheet, title, LABEL_LIMIT);
        for (size_t p = 0; p < 4; p++)
            sheet_number(sheet, parts[p]);
        sheet_number(sheet, latency);
        sheet_row_end(sheet);
    }
}

/* ---- Both ----------------------------------------------------------------------------------- */

static bool sheets_begin(struct sheet sheets[2], const struct source *source,
                         const struct report_scenario *scenario, struct figure_list *list,
                         struct error *error)
{
    char *captions[2] = {
        source_caption(
            source, scenario,
            "A line that ends below 100 %: the rest was dropped, or is above the 99.95th "
            "percentile. Dashed: the SLO. The right axis may end before the longest.",
            false),
        source_caption(
            source, scenario,
            "A bar is the percentile; its parts are means over the nearest requests, scaled to "
            "its length (parallel branches overlap). »: the bar is truncated. No bar: the "
            "percentile is among the dropped requests.",
            false)};
    sheets[0] = sheets[1] = (struct sheet){0};
    bool good = captions[0] != NULL && captions[1] != NULL ? true : figure_no_memory(error);
    if (good && figure_wanted(list, "latency-cdf"))
        good = sheet_begin(&sheets[0], list, "latency-cdf", scenario->title, captions[0],
                           "row,contender,percent,latency_ms,slo_share,colour,dash,point", error);
    if (good && figure_wanted(list, "latency-parts"))
        good = sheet_begin(&sheets[1], list, "latency-parts", scenario->title, captions[1],
                           "panel,panel_title,row,contender,queue_ms,transfer_ms,cold_ms,exec_ms,"
                           "latency_ms",
                           error);
    free(captions[0]);
    free(captions[1]);
    return good;
}

static bool scenario_draw(const struct source *source, const struct report_scenario *scenario,
                          struct figure_list *list, struct error *error)
{
    struct sheet sheets[2];
    bool good = sheets_begin(sheets, source, scenario, list, error);
    size_t row = 0;
    for (size_t c = 0; good && c < scenario->contender_count; c++) {
        const struct report_contender *contender = &scenario->contenders[c];
        struct samples samples;
        good = samples_read(&samples, source, contender, error);
        if (!good)
            break;
        if (samples.count > 0) {
            row++;
            good = sheets[0].out == NULL ||
                   distribution_rows(&samples, contender->title, row, source_look(scenario, c),
                                     &sheets[0], error);
            if (good && sheets[1].out != NULL)
                parts_rows(&samples, contender->title, row, &sheets[1]);
        }
        free(samples.rows);
    }
    good = sheet_end(&sheets[1], good, error);
    return sheet_end(&sheets[0], good, error);
}

bool families_latency(const struct source *source, struct figure_list *list, struct error *error)
{
    bool good = true;
    if (!figure_wanted(list, "latency-cdf") && !figure_wanted(list, "latency-parts"))
        return true;
    size_t without = 0;
    for (size_t s = 0; good && s < source->report->scenario_count; s++) {
        const struct report_scenario *scenario = &source->report->scenarios[s];
        if (!source_serves(scenario))
            continue;
        if (source_has(source, scenario, "requests"))
            good = scenario_draw(source, scenario, list, error);
        else
            without++;
    }
    if (!good || without == 0)
        return good;
    return figure_list_note(list, error,
                            "latency-cdf, latency-parts: not drawn of %zu of %zu settings, whose "
                            "runs recorded no requests (\"record\": \"requests\" keeps them)",
                            without, source->report->scenario_count);
}

/* ---- Trainings ------------------------------------------------------------------------------ */

/* Appends the run's measured trainings: completion time in hours, and the same / time alone. */
static bool trainings_add(struct samples *samples, const struct run_details *details,
                          const char *hash, struct error *error)
{
    struct training_result_row *rows = NULL;
    size_t count = 0;
    if (!run_details_has(details, hash, "trainings"))
        return true;
    if (!run_details_trainings(details, hash, &rows, &count, error))
        return false;
    struct sample *grown = realloc(samples->rows, (samples->count + count + 1) * sizeof *grown);
    if (grown != NULL)
        samples->rows = grown;
    for (size_t i = 0; grown != NULL && i < count; i++)
        if (rows[i].measured != 0)
            samples->rows[samples->count++] =
                rows[i].finished == 0
                    ? (struct sample){INFINITY, INFINITY, {0}}
                    : (struct sample){sim_to_s(rows[i].finish_ns - rows[i].arrival_ns) / 3600,
                                      rows[i].slowdown,
                                      {0}};
    free(rows);
    return grown != NULL || figure_no_memory(error);
}

static bool trainings_draw(const struct source *source, const struct report_scenario *scenario,
                           struct figure_list *list, struct error *error)
{
    struct sheet sheet = {0};
    char *caption = source_caption(
        source, scenario,
        "Job completion time: finish - arrival. A line that ends below 100 %: the rest did not "
        "finish, or is above the 99.95th percentile. Dashed: as fast as alone at the proportional "
        "share.",
        false);
    bool good = caption != NULL ? true : figure_no_memory(error);
    good = good && sheet_begin(&sheet, list, "jct-cdf", scenario->title, caption,
                               "row,contender,percent,jct_h,slowdown,colour,dash,point", error);
    free(caption);
    for (size_t c = 0, row = 0; good && c < scenario->contender_count; c++) {
        const struct report_contender *contender = &scenario->contenders[c];
        struct samples samples = {0};
        for (size_t i = 0; good && i < contender->run_count; i++)
            good = trainings_add(&samples, source->details,
                                 source->report->results->runs[contender->runs[i]].hash, error);
        if (good && samples.count > 0)
            good = distribution_rows(&samples, contender->title, ++row, source_look(scenario, c),
                                     &sheet, error);
        free(samples.rows);
    }
    return sheet_end(&sheet, good, error);
}

bool families_trainings(const struct source *source, struct figure_list *list, struct error *error)
{
    bool good = true;
    if (!figure_wanted(list, "jct-cdf"))
        return true;
    for (size_t s = 0; good && s < source->report->scenario_count; s++)
        if (source_has(source, &source->report->scenarios[s], "trainings"))
            good = trainings_draw(source, &source->report->scenarios[s], list, error);
    return good;
}

/* ---- Over time ------------------------------------------------------------------------------ */

enum { TIME_BINS = 400, TIME_VALUES = 8 };

static void timeline_values(const struct timeline_row *row, double values[TIME_VALUES])
{
    const double found[TIME_VALUES] = {
        100 * row->gpu_used,          100 * row->vcpu_used,
        100 * row->gpu_memory_used,   100 * row->stranded_vgpu,
        (double)row->waiting_jobs,    (double)row->running_batches,
        (double)row->idle_containers, (double)row->starting_containers};
    memcpy(values, found, sizeof found);
}

/* Writes means over bins of equal time; an empty bin has no row. */
static void timeline_rows(const struct timeline_row *rows, size_t count, struct sheet *sheet)
{
    const double first = sim_to_s(rows[0].time_ns);
    const double width = (sim_to_s(rows[count - 1].time_ns) - first) / TIME_BINS;
    size_t at = 0;
    for (size_t bin = 0; bin < TIME_BINS && at < count; bin++) {
        const double end = bin + 1 == TIME_BINS ? INFINITY : first + width * (double)(bin + 1);
        double sums[TIME_VALUES] = {0};
        size_t seen[TIME_VALUES] = {0};
        size_t used = 0;
        double time = 0;
        for (; at < count && sim_to_s(rows[at].time_ns) < end; at++, used++) {
            double values[TIME_VALUES];
            timeline_values(&rows[at], values);
            time += sim_to_s(rows[at].time_ns);
            for (size_t v = 0; v < TIME_VALUES; v++) {
                sums[v] += isnan(values[v]) ? 0 : values[v];
                seen[v] += isnan(values[v]) ? 0 : 1;
            }
        }
        if (used == 0)
            continue;
        sheet_number(sheet, time / (double)used);
        for (size_t v = 0; v < TIME_VALUES; v++)
            sheet_number(sheet, seen[v] > 0 ? sums[v] / (double)seen[v] : NAN);
        sheet_row_end(sheet);
    }
}

static bool contender_timeline(const struct source *source, const struct report_scenario *scenario,
                               const struct report_contender *contender,
                               const struct summary_row *run, struct figure_list *list,
                               struct error *error)
{
    struct timeline_row *rows = NULL;
    size_t count = 0;
    char *title = NULL;
    char *basis = NULL;
    char *caption = NULL;
    struct sheet sheet = {0};
    if (asprintf(&title, "%s%s%s, seed %llu", scenario->title,
                 scenario->title[0] != '\0' ? ", " : "", contender->title,
                 (unsigned long long)run->seed) < 0)
        title = NULL;
    basis = source_basis(source, scenario);
    const bool serves = source_serves(scenario);
    const size_t index = (size_t)(run - source->report->results->runs);
    if (basis != NULL &&
        asprintf(&caption,
                 "One run of %llu %s, seed %llu: samples, or means over %d bins of equal time "
                 "where there are more.%s %s",
                 (unsigned long long)source_run_size(source, scenario, index),
                 serves ? "requests" : "trainings", (unsigned long long)run->seed, TIME_BINS,
                 serves ? " Stranded: share of the free vGPUs that no waiting batch could use."
                        : "",
                 basis) < 0)
        caption = NULL;
    bool good = title != NULL && caption != NULL ? true : figure_no_memory(error);
    good = good && run_details_timeline(source->details, run->hash, &rows, &count, error) &&
           sheet_begin(&sheet, list, "timeline", title, caption,
                       "time_s,gpu,vcpu,gpu_memory,stranded,waiting,running,idle,starting", error);
    if (good && sheet.out != NULL)
        timeline_rows(rows, count, &sheet);
    good = sheet_end(&sheet, good, error);
    free(title);
    free(basis);
    free(caption);
    free(rows);
    return good;
}

/* The first of the contender's runs that recorded a timeline, or NULL. */
static const struct summary_row *timeline_run(const struct source *source,
                                              const struct report_contender *contender)
{
    for (size_t i = 0; i < contender->run_count; i++) {
        const struct summary_row *run = &source->report->results->runs[contender->runs[i]];
        if (run_details_has(source->details, run->hash, "timeline"))
            return run;
    }
    return NULL;
}

bool families_timeline(const struct source *source, struct figure_list *list, struct error *error)
{
    size_t recorded = 0;
    bool good = true;
    if (!figure_wanted(list, "timeline"))
        return true;
    for (size_t s = 0; s < source->report->scenario_count; s++)
        for (size_t c = 0; c < source->report->scenarios[s].contender_count; c++)
            recorded += timeline_run(source, &source->report->scenarios[s].contenders[c]) != NULL;
    if (recorded == 0)
        return figure_list_note(list, error,
                                "timeline: not drawn, no run recorded one (\"record\": \"all\" "
                                "keeps it)");
    const bool firsts = list->timelines_most > 0 && recorded > list->timelines_most;
    for (size_t s = 0; good && s < source->report->scenario_count; s++) {
        const struct report_scenario *scenario = &source->report->scenarios[s];
        bool any = false;
        for (size_t c = 0; good && c < scenario->contender_count && !(firsts && any); c++) {
            const struct summary_row *run = timeline_run(source, &scenario->contenders[c]);
            any = any || run != NULL;
            good = run == NULL ||
                   contender_timeline(source, scenario, &scenario->contenders[c], run, list, error);
        }
    }
    return good;
}
