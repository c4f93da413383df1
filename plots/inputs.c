/* Figures of what goes into a run: latency profiles, arrival traces, calibrations. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plots/families.h"
#include "traces/arrival_trace.h"
#include "traces/profile.h"

static bool no_memory(struct error *error)
{
    return error_run(error, "out of memory for the figures");
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* ---- Latency profiles ----------------------------------------------------------------------- */

static void profile_row(const struct profile *profile, size_t f, size_t b, int vcpu, int vgpu,
                        bool grid, struct sheet *sheet)
{
    const struct profile_function *function = &profile->functions[f];
    const int batch = function->batch.values[b];
    const double latency = profile_latency_ms(function, batch, vcpu, vgpu);
    const struct look look = palette_series(b);
    if (isnan(latency))
        return;
    sheet_count(sheet, f + 1);
    sheet_text_cut(sheet, function->name, 40);
    sheet_number(sheet, batch);
    sheet_number(sheet, 100.0 * vgpu / profile->unit);
    sheet_number(sheet, latency);
    sheet_count(sheet, grid);
    sheet_colour(sheet, palette_step(b, function->batch.count));
    sheet_number(sheet, look.point);
    sheet_row_end(sheet);
}

/* Every whole share between the grid's ends, the grid's own marked; at the most vCPUs. */
static void profile_rows(const struct profile *profile, size_t f, struct sheet *sheet)
{
    const struct profile_function *function = &profile->functions[f];
    const struct profile_axis *shares = &function->vgpu;
    const int vcpu = function->vcpu.values[function->vcpu.count - 1];
    for (size_t b = 0; b < function->batch.count; b++) {
        size_t next = 0;
        for (int g = shares->values[0]; g <= shares->values[shares->count - 1]; g++) {
            const bool grid = next < shares->count && shares->values[next] == g;
            next += grid;
            profile_row(profile, f, b, vcpu, g, grid, sheet);
        }
    }
}

bool families_profile(const char *path, struct figure_list *list, struct error *error)
{
    struct profile *profile = profile_load(path, error);
    struct sheet sheet = {0};
    char *caption = NULL;
    if (profile == NULL)
        return false;
    if (asprintf(&caption,
                 "%s: %s. Markers: the profile's grid at its most vCPUs; lines: interpolated as in "
                 "a run. Both axes are shared; latency is logarithmic. Evidence: %s.",
                 base_name(path), profile->device[0] != '\0' ? profile->device : "device not named",
                 profile->evidence[0] != '\0' ? profile->evidence : "not given") < 0)
        caption = NULL;
    bool good = caption == NULL ? no_memory(error)
                                : sheet_begin(&sheet, list, "profile", base_name(path), caption,
                                              "function,name,batch,share,latency_ms,grid,colour,"
                                              "point",
                                              error);
    for (size_t f = 0; good && f < profile->function_count; f++)
        profile_rows(profile, f, &sheet);
    good = good && sheet_end(&sheet, error);
    free(caption);
    profile_free(profile);
    return good;
}

/* ---- Arrival traces ------------------------------------------------------------------------- */

enum { RATE_BINS = 400, INTERVAL_STEPS = 200 };

struct arrivals {
    double *times; /* s, ascending, shifted to begin at 0 */
    size_t count, capacity;
};

static bool arrivals_add(struct arrivals *arrivals, double time, struct error *error)
{
    if (arrivals->count == arrivals->capacity) {
        const size_t capacity = arrivals->capacity == 0 ? 4096 : 2 * arrivals->capacity;
        double *grown = realloc(arrivals->times, capacity * sizeof *grown);
        if (grown == NULL)
            return no_memory(error);
        arrivals->times = grown;
        arrivals->capacity = capacity;
    }
    arrivals->times[arrivals->count++] = time;
    return true;
}

/* The whole trace's instants: 8 bytes a request. */
static bool arrivals_read(const char *path, struct arrivals *arrivals, const char **format,
                          struct error *error)
{
    struct trace_record record;
    struct error fault = {0};
    struct trace_reader *reader = trace_open(path, NULL, 1, error);
    if (reader == NULL)
        return false;
    *format = NULL;
    for (size_t i = 0; trace_formats[i] != NULL; i++)
        if (strcmp(trace_formats[i], trace_format(reader)) == 0)
            *format = trace_formats[i];
    bool good = true;
    while (good && trace_next(reader, &record, &fault))
        good = arrivals_add(arrivals, sim_to_s(record.time), error);
    trace_close(reader);
    if (good && fault.kind != ERROR_NONE) {
        *error = fault;
        return false;
    }
    if (good && (arrivals->count == 0 || arrivals->times == NULL))
        return error_input(error, "%s: holds no request; give a trace of at least one", path);
    return good;
}

static void rate_rows(const struct arrivals *arrivals, struct sheet *sheet)
{
    const double last = arrivals->times[arrivals->count - 1];
    const double width = last > 0 ? last / RATE_BINS : 1;
    size_t at = 0;
    for (size_t bin = 0; bin < RATE_BINS && at < arrivals->count; bin++) {
        const double end = bin + 1 == RATE_BINS ? INFINITY : width * (double)(bin + 1);
        const size_t before = at;
        while (at < arrivals->count && arrivals->times[at] < end)
            at++;
        sheet_count(sheet, 1);
        sheet_number(sheet, width * (double)bin);
        sheet_number(sheet, (double)(at - before) / width);
        sheet_number(sheet, NAN);
        sheet_row_end(sheet);
    }
}

static int compare_doubles(const void *a, const void *b)
{
    const double left = *(const double *)a;
    const double right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Overwrites the times by the sorted intervals between them. */
static void interval_rows(struct arrivals *arrivals, struct sheet *sheet)
{
    const size_t count = arrivals->count - 1;
    double *const intervals = arrivals->times;
    double mean = 0;
    for (size_t i = 0; i < count; i++) {
        intervals[i] = 1000 * (arrivals->times[i + 1] - arrivals->times[i]);
        mean += intervals[i] / (double)count;
    }
    qsort(intervals, count, sizeof *intervals, compare_doubles);
    for (size_t step = 1; count > 0 && mean > 0 && step <= INTERVAL_STEPS; step++) {
        const double share = (double)step / INTERVAL_STEPS;
        const double interval = intervals[(size_t)(share * (double)(count - 1))];
        sheet_count(sheet, 2);
        sheet_number(sheet, interval);
        sheet_number(sheet, 100 * share);
        sheet_number(sheet, 100 * -expm1(-interval / mean));
        sheet_row_end(sheet);
    }
}

bool families_arrivals(const char *path, struct figure_list *list, struct error *error)
{
    struct arrivals arrivals = {0};
    const char *format = NULL;
    char *caption = NULL;
    struct sheet sheet = {0};
    bool good = arrivals_read(path, &arrivals, &format, error);
    good = good && arrivals.times != NULL;
    if (good && asprintf(&caption,
                         "%s (%s): %zu requests in %.0f s. Rate: means over %d bins of equal time; "
                         "what a trace counts by the second or minute is placed at random within.",
                         base_name(path), format == NULL ? "trace" : format, arrivals.count,
                         arrivals.times[arrivals.count - 1], RATE_BINS) < 0) {
        caption = NULL;
        good = no_memory(error);
    }
    good = good && sheet_begin(&sheet, list, "arrivals", base_name(path), caption,
                               "panel,x,y,poisson", error);
    if (good && sheet.out != NULL) {
        rate_rows(&arrivals, &sheet);
        interval_rows(&arrivals, &sheet);
    }
    good = good && sheet_end(&sheet, error);
    free(caption);
    free(arrivals.times);
    return good;
}

/* ---- Calibrations --------------------------------------------------------------------------- */

#define POINTS "function,batch,vcpu,vgpu_share,measured_ms,fitted_ms"

/* A line of the points: a name and five numbers, latencies above 0. */
static bool point_row(const char *path, size_t number, char *line, struct sheet *sheet,
                      struct error *error)
{
    static const char *const names[] = {"batch", "vcpu", "vgpu_share", "measured_ms", "fitted_ms"};
    double values[5];
    char *rest = line;
    const char *function = strsep(&rest, ",");
    for (size_t i = 0; i < 5; i++) {
        const char *text = rest == NULL ? "" : strsep(&rest, ",");
        char *end = NULL;
        values[i] = strtod(text, &end);
        if (text[0] == '\0' || *end != '\0' || !isfinite(values[i]) || (i > 2 && values[i] <= 0))
            return error_input(error, "%s:%zu: %s '%.40s' should be a number%s", path, number,
                               names[i], text, i > 2 ? " above 0" : "");
    }
    if (rest != NULL || function[0] == '\0')
        return error_input(error, "%s:%zu: a line should be " POINTS, path, number);
    sheet_text(sheet, function);
    for (size_t i = 0; i < 5; i++)
        sheet_number(sheet, values[i]);
    sheet_row_end(sheet);
    return true;
}

bool families_calibration(const char *path, struct figure_list *list, struct error *error)
{
    struct sheet sheet = {0};
    char *line = NULL;
    size_t capacity = 0;
    size_t number = 1;
    size_t rows = 0;
    FILE *in = fopen(path, "r");
    bool good = in != NULL && getline(&line, &capacity, in) > 0;
    if (!good)
        (void)error_input(error, "%s: cannot be read", path);
    good = good && sheet_begin(&sheet, list, "calibration", base_name(path), base_name(path),
                               POINTS, error);
    while (good && getline(&line, &capacity, in) > 0) {
        line[strcspn(line, "\r\n")] = '\0';
        number++;
        if (line[0] == '\0')
            continue;
        good = point_row(path, number, line, &sheet, error);
        rows++;
    }
    if (good && rows == 0)
        good = error_input(error, "%s: holds no point; calibrate --points writes them", path);
    struct error ignored;
    good = sheet_end(&sheet, good ? error : &ignored) && good;
    free(line);
    if (in != NULL)
        (void)fclose(in);
    return good;
}
