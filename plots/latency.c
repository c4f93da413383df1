/* Figures of recorded rows: distributions and components of the latency of requests, completion
 * times of trainings, and samples over time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_sort.h>

#include "plots/families.h"

/* A request: its latency in ms, and latency / SLO (0 if it has no SLO). Both are infinite if it was
 * dropped. Of a training: its completion time in hours, and that / the time alone. */
struct sample {
    double latency;
    double share;
    double slo;      /* in ms; 0: none */
    double parts[4]; /* queue, transfer, cold start, execution: fractions of the latency */
};

static struct sample sample_of(const struct detail_request *request)
{
    struct sample sample = {INFINITY, INFINITY, sim_to_ms(request->slo_ns), {0}};
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

static struct sample sample_of_training(const struct training_result_row *row)
{
    if (row->finished == 0)
        return (struct sample){INFINITY, INFINITY, 0, {0}};
    return (struct sample){
        sim_to_s(row->finish_ns - row->arrival_ns) / 3600, row->slowdown, 0, {0}};
}

/* Appends the samples of a run's measured rows: its requests, or its trainings. */
static bool samples_add(struct reading *reading, const char *hash, bool of_trainings,
                        struct error *error)
{
    const struct run_details *details = reading->source->details;
    struct arena *arena = reading->source->report->arena;
    struct detail_request *requests = NULL;
    struct training_result_row *trainings = NULL;
    size_t count = 0;
    if (!run_details_has(details, hash, of_trainings ? "trainings" : "requests"))
        return true;
    if (of_trainings ? !run_details_trainings(arena, details, hash, &trainings, &count, error)
                     : !run_details_requests(arena, details, hash, &requests, &count, error))
        return false;
    arena_reserve(arena, &reading->samples, reading->sample_count + count,
                  sizeof *reading->samples);
    for (size_t i = 0; i < count; i++)
        if (of_trainings ? trainings[i].measured != 0 : requests[i].measured != 0)
            reading->samples[reading->sample_count++] =
                of_trainings ? sample_of_training(&trainings[i]) : sample_of(&requests[i]);
    arena_release(arena, requests);
    arena_release(arena, trainings);
    return true;
}

/* Reads the samples of the contender's runs, once. */
static bool samples_read(struct reading *reading, bool of_trainings, struct error *error)
{
    const struct report_contender *contender = reading->contender;
    bool good = true;
    for (size_t i = 0; good && !reading->read && i < contender->run_count; i++)
        good = samples_add(reading, reading->source->report->results->runs[contender->runs[i]].hash,
                           of_trainings, error);
    reading->read = true;
    return good;
}

static int compare_samples(const void *a, const void *b)
{
    const double left = ((const struct sample *)a)->latency;
    const double right = ((const struct sample *)b)->latency;
    return (left > right) - (left < right);
}

/* Quantile of sorted values, `stride` apart, at position (n − 1) q. Not finite if it is among the
 * dropped requests. */
static double quantile(const double *sorted, size_t stride, size_t count, double q)
{
    const double at = q * (double)(count - 1);
    const size_t low = (size_t)at;
    const size_t high = low + 1 < count ? low + 1 : low;
    const double share = at - (double)low;
    if (share <= 0)
        return sorted[low * stride];
    return sorted[low * stride] + share * (sorted[high * stride] - sorted[low * stride]);
}

/* ---- Distribution --------------------------------------------------------------------------- */

double cdf_share(size_t step)
{
    enum { STEPS = 200 };
    return step < STEPS ? (double)step / STEPS : 0.995 + 0.0005 * (double)(step - STEPS + 1);
}

static bool distribution_rows(struct reading *reading, bool of_trainings, size_t *row,
                              struct sheet *sheet, struct error *error)
{
    if (!samples_read(reading, of_trainings, error))
        return false;
    const size_t count = reading->sample_count;
    struct arena *arena = reading->source->report->arena;
    double *values = arena_allocate(arena, 2 * count, sizeof *values);
    double *shares = values + count;
    for (size_t i = 0; i < count; i++) {
        values[i] = reading->samples[i].latency;
        shares[i] = reading->samples[i].share;
    }
    gsl_sort(values, 1, count);
    gsl_sort(shares, 1, count);
    *row += count > 0 && isfinite(values[0]);
    for (size_t step = 0; count > 0 && step < CDF_STEPS; step++) {
        const double q = cdf_share(step);
        const double latency = quantile(values, 1, count, q);
        if (!isfinite(latency))
            break;
        sheet_row(sheet, "%zu " LABEL " %g %g %g %x %d %d", *row, reading->contender->title,
                  100 * q, latency, quantile(shares, 1, count, q), reading->look.colour,
                  reading->look.dash, reading->look.point);
    }
    arena_release(arena, values);
    return true;
}

bool latency_cdf_rows(struct reading *reading, size_t *row, struct sheet *sheet,
                      struct error *error)
{
    return distribution_rows(reading, false, row, sheet, error);
}

bool jct_cdf_rows(struct reading *reading, size_t *row, struct sheet *sheet, struct error *error)
{
    return distribution_rows(reading, true, row, sheet, error);
}

/* ---- Parts ---------------------------------------------------------------------------------- */

static const struct {
    const char *title;
    double share;
} percentiles[] = {{"p50", 0.5}, {"p95", 0.95}, {"p99", 0.99}, {"p99.9", 0.999}};
enum { PERCENTILES = sizeof percentiles / sizeof percentiles[0] };

/* Components of latency at quantile `q` of the sorted samples. They are means over the nearest
 * requests: at most 0.5 % on either side, and at most half of the distance to the end. */
static double parts_at(const struct sample *samples, size_t count, double q, double parts[4])
{
    const double reach = fmin(0.005, (1 - q) / 2) * (double)count;
    const size_t middle = (size_t)(q * (double)(count - 1) + 0.5);
    const size_t half = reach < 5 ? 5 : (size_t)reach;
    const size_t first = middle > half ? middle - half : 0;
    size_t used = 0;
    memset(parts, 0, 4 * sizeof *parts);
    for (size_t i = first; i <= middle + half && i < count; i++) {
        if (!isfinite(samples[i].latency))
            break;
        for (size_t p = 0; p < 4; p++)
            parts[p] += samples[i].parts[p];
        used++;
    }
    const double latency =
        quantile(&samples->latency, sizeof *samples / sizeof samples->latency, count, q);
    for (size_t p = 0; used > 0 && p < 4; p++)
        parts[p] *= latency / (double)used;
    return latency;
}

/* Writes the SLOs of the samples, one for each application, as rows of panel 0. */
static void slo_rows(const struct sample *samples, size_t count, struct sheet *sheet)
{
    double slos[8];
    size_t found = 0;
    for (size_t i = 0; i < count && found < sizeof slos / sizeof *slos; i++) {
        size_t s = 0;
        while (s < found && slos[s] != samples[i].slo)
            s++;
        if (s < found || samples[i].slo <= 0)
            continue;
        slos[found++] = samples[i].slo;
        sheet_row(sheet, "%d %s %d %s %d %d %d %d %g", 0, "SLO", 0, "SLO", 0, 0, 0, 0, slos[s]);
    }
}

bool latency_parts_rows(struct reading *reading, size_t *row, struct sheet *sheet,
                        struct error *error)
{
    if (reading->contender->pale > 0)
        return true;
    if (!samples_read(reading, false, error))
        return false;
    const size_t count = reading->sample_count;
    if (count == 0)
        return true;
    qsort(reading->samples, count, sizeof *reading->samples, compare_samples);
    (*row)++;
    for (size_t q = 0; q < PERCENTILES; q++) {
        double parts[4];
        const double latency = parts_at(reading->samples, count, percentiles[q].share, parts);
        if (!isfinite(latency) && q > 0)
            break;
        if (sheet->first_row)
            slo_rows(reading->samples, count, sheet);
        sheet_row(sheet, "%zu %s %zu " LABEL " %g %g %g %g %g", q + 1, percentiles[q].title, *row,
                  reading->contender->title, parts[0], parts[1], parts[2], parts[3], latency);
    }
    return true;
}

/* ---- Over time ------------------------------------------------------------------------------ */

enum { TIME_BINS = 400, TIME_VALUES = 8 };

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
            const struct timeline_row *row = &rows[at];
            const double values[TIME_VALUES] = {
                100 * row->gpu_used,          100 * row->vcpu_used,
                100 * row->gpu_memory_used,   100 * row->stranded_vgpu,
                (double)row->waiting_jobs,    (double)row->running_batches,
                (double)row->idle_containers, (double)row->starting_containers};
            time += sim_to_s(rows[at].time_ns);
            for (size_t v = 0; v < TIME_VALUES; v++) {
                sums[v] += isnan(values[v]) ? 0 : values[v];
                seen[v] += isnan(values[v]) ? 0 : 1;
            }
        }
        if (used == 0)
            continue;
        for (size_t v = 0; v < TIME_VALUES; v++)
            sums[v] = seen[v] > 0 ? sums[v] / (double)seen[v] : NAN;
        sheet_row(sheet, "%g %g %g %g %g %g %g %g %g", time / (double)used, sums[0], sums[1],
                  sums[2], sums[3], sums[4], sums[5], sums[6], sums[7]);
    }
}

const struct summary_row *source_recorded(const struct source *source,
                                          const struct report_contender *contender)
{
    for (size_t i = 0; i < contender->run_count; i++) {
        const struct summary_row *run = &source->report->results->runs[contender->runs[i]];
        if (run_details_has(source->details, run->hash, "timeline"))
            return run;
    }
    return NULL;
}

static bool contender_timeline(const struct source *source, const struct report_scenario *scenario,
                               const struct report_contender *contender,
                               const struct summary_row *run, const struct figure_kind *kind,
                               struct figure_list *list, struct error *error)
{
    struct timeline_row *rows = NULL;
    size_t count = 0;
    struct sheet sheet = {0};
    struct arena *arena = figure_memory(list);
    const char *title = arena_text(arena, "%s%s%s, seed %llu", scenario->title,
                                   scenario->title[0] != '\0' ? ", " : "", contender->title,
                                   (unsigned long long)run->seed);
    const bool serves = source_serves(scenario);
    const size_t index = (size_t)(run - source->report->results->runs);
    const char *caption = arena_text(
        arena,
        "One run of %llu %s, seed %llu: samples, or means over %d bins of equal time "
        "where there are more.%s %s",
        (unsigned long long)source_run_size(source, scenario, index),
        serves ? "requests" : "trainings", (unsigned long long)run->seed, TIME_BINS,
        serves ? " Stranded: share of the free vGPUs that no waiting batch could use." : "",
        source_basis(source, scenario));
    bool good = run_details_timeline(arena, source->details, run->hash, &rows, &count, error) &&
                sheet_begin(&sheet, list, kind->script, title, caption, kind->columns, error);
    if (good && sheet.out != NULL)
        timeline_rows(rows, count, &sheet);
    good = sheet_end(&sheet, good, error);
    arena_release(arena, rows);
    return good;
}

bool timeline_draw(const struct source *source, const struct figure_kind *kind,
                   struct figure_list *list, struct error *error)
{
    size_t recorded = 0;
    bool good = true;
    for (size_t s = 0; s < source->report->scenario_count; s++)
        for (size_t c = 0; c < source->report->scenarios[s].contender_count; c++)
            recorded +=
                source_recorded(source, &source->report->scenarios[s].contenders[c]) != NULL;
    if (recorded == 0)
        figure_list_note(list,
                         "timeline: not drawn, no run recorded one (\"record\": \"all\" keeps it)");
    const bool firsts = list->timelines_most > 0 && recorded > list->timelines_most;
    for (size_t s = 0; good && s < source->report->scenario_count; s++) {
        const struct report_scenario *scenario = &source->report->scenarios[s];
        bool any = false;
        for (size_t c = 0; good && c < scenario->contender_count && !(firsts && any); c++) {
            const struct summary_row *run = source_recorded(source, &scenario->contenders[c]);
            any = any || run != NULL;
            good = run == NULL || contender_timeline(source, scenario, &scenario->contenders[c],
                                                     run, kind, list, error);
        }
    }
    return good;
}
