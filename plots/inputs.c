/* Figures of the inputs of a run: latency profiles, arrival traces, calibrations, trees. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_sort_int.h>

#include "plots/families.h"
#include "sched/choices/tree.h"
#include "sim/base/atomic_file.h"
#include "traces/readers/arrival_trace.h"
#include "traces/readers/listing.h"
#include "traces/profile/profile.h"

/* Columns of panels that show latency over GPU share. */
#define SURFACES "function,name,batch,share,latency_ms,grid,line,colour,point"

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
    sheet_row(sheet, "%zu %.40s %d %g %g %d %d %x %d", f + 1, function->name, batch,
              100.0 * vgpu / profile->unit, latency, grid, 1,
              palette_step(b, function->batch.count), look.point);
}

/* Writes every whole share within the grid's range, at the maximum vCPUs. Points of the grid are
 * marked. */
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
    if (profile == NULL)
        return false;
    const char *caption = arena_text(
        figure_memory(list),
        "%s: %s. Markers: the profile's grid at its most vCPUs; lines: interpolated as in "
        "a run. Both axes are shared; latency is logarithmic. Evidence: %s.",
        file_name(path), profile->device[0] != '\0' ? profile->device : "device not named",
        profile->evidence[0] != '\0' ? profile->evidence : "not given");
    bool good = sheet_begin(&sheet, list, "profile", file_name(path), caption, SURFACES, error);
    for (size_t f = 0; good && f < profile->function_count; f++)
        profile_rows(profile, f, &sheet);
    good = sheet_end(&sheet, good, error);
    profile_free(profile);
    return good;
}

/* ---- Arrival traces ------------------------------------------------------------------------- */

enum { RATE_BINS = 400, RATE_LEAST = 10, PER_BIN = 5, INTERVAL_STEPS = 200 };

struct arrivals {
    double *times; /* s, ascending, starting at 0 */
    size_t count;
};

/* Reads all arrival times of the trace: 8 bytes per request. */
static bool arrivals_read(const char *path, const char *given, struct arena *arena,
                          struct arrivals *arrivals, const char **format, struct error *error)
{
    struct trace_record record;
    struct error fault = {0};
    struct trace_reader *reader = trace_open(path, given, 1, error);
    if (reader == NULL)
        return false;
    *format = trace_format(reader);
    while (trace_next(reader, &record, &fault)) {
        *ARENA_NEXT(arena, arrivals->times, arrivals->count) = sim_to_s(record.time);
    }
    trace_close(reader);
    if (fault.kind != ERROR_NONE) {
        *error = fault;
        return false;
    }
    if (arrivals->times == NULL) {
        (void)error_input(error, "%s: holds no request; give a trace of at least one", path);
        return false;
    }
    return true;
}

/* Number of bins for the rate; fewer if a bin would have few requests. */
static size_t rate_bins(const struct arrivals *arrivals)
{
    const size_t bins = arrivals->count / PER_BIN;
    return bins < RATE_LEAST ? RATE_LEAST : bins > RATE_BINS ? RATE_BINS : bins;
}

static void rate_rows(const struct arrivals *arrivals, struct sheet *sheet)
{
    const double last = arrivals->times[arrivals->count - 1];
    const size_t bins = rate_bins(arrivals);
    const double width = last > 0 ? last / (double)bins : 1;
    size_t at = 0;
    double rate = 0;
    for (size_t bin = 0; bin < bins && at < arrivals->count; bin++) {
        const double end = bin + 1 == bins ? INFINITY : width * (double)(bin + 1);
        const size_t before = at;
        while (at < arrivals->count && arrivals->times[at] < end)
            at++;
        rate = (double)(at - before) / width;
        sheet_row(sheet, "%d %g %g %g", 1, width * (double)bin, rate, NAN);
    }
    /* The end of the last bin. */
    sheet_row(sheet, "%d %g %g %g", 1, last > 0 ? last : 1, rate, NAN);
}

/* Replaces the times by the sorted intervals between them. */
static void interval_rows(struct arrivals *arrivals, struct sheet *sheet)
{
    const size_t count = arrivals->count - 1;
    double *const intervals = arrivals->times;
    double mean = 0;
    for (size_t i = 0; i < count; i++) {
        intervals[i] = 1000 * (arrivals->times[i + 1] - arrivals->times[i]);
        mean += intervals[i] / (double)count;
    }
    gsl_sort(intervals, 1, count);
    for (size_t step = 1; count > 0 && mean > 0 && step <= INTERVAL_STEPS; step++) {
        const double share = (double)step / INTERVAL_STEPS;
        const double interval = intervals[(size_t)(share * (double)(count - 1))];
        sheet_row(sheet, "%d %g %g %g", 2, interval, 100 * share, 100 * -expm1(-interval / mean));
    }
}

bool families_arrivals(const char *path, const char *given, struct figure_list *list,
                       struct error *error)
{
    struct arrivals arrivals = {0};
    const char *format = "";
    struct sheet sheet = {0};
    struct arena *arena = figure_memory(list);
    if (!arrivals_read(path, given, arena, &arrivals, &format, error))
        return false;
    const double last = arrivals.times[arrivals.count - 1];
    const char *caption = arena_text(
        arena,
        "%s (%s): %zu requests in %.*f s. Rate: means over %zu bins of equal time; "
        "what a trace counts by the second or minute is placed at random within.",
        file_name(path), format, arrivals.count, last < 100 ? 3 : 0, last, rate_bins(&arrivals));
    const bool good =
        sheet_begin(&sheet, list, "arrivals", file_name(path), caption, "panel,x,y,poisson", error);
    if (good && sheet.out != NULL) {
        rate_rows(&arrivals, &sheet);
        interval_rows(&arrivals, &sheet);
    }
    return sheet_end(&sheet, good, error);
}

/* ---- Calibrations --------------------------------------------------------------------------- */

/* A point of a calibration: the measurement, the fit, and the prediction of a fit without the point
 * (NAN if there is none). */
struct point {
    const char *function;
    int batch, vcpu;
    double share; /* percent of a GPU */
    double measured, fitted, left_out;
};

struct points {
    struct arena *arena;
    struct point *items;
    size_t count;
};

enum column_name {
    COLUMN_FUNCTION,
    COLUMN_BATCH,
    COLUMN_VCPU,
    COLUMN_SHARE,
    COLUMN_UNIT,
    COLUMN_MEASURED,
    COLUMN_FIT,
    COLUMN_LEFT_OUT,
    COLUMNS
};

/* Columns required from the output of calibrate --points. */
static const char *const point_columns[COLUMNS] = {
    "function", "batch", "vcpu", "share", "unit", "measured_ms", "fit_ms", "left_out_ms"};
enum { LINES_MOST = 12 };

/* Finds the position of each column. */
static bool header_read(struct listing *table, char *line, int places[COLUMNS], struct error *error)
{
    if (!listing_open(table, line, error))
        return false;
    for (size_t c = 0; c < COLUMNS; c++)
        if (!listing_place(table, point_columns[c], &places[c], error))
            return false;
    return true;
}

static bool number_read(const struct line_reader *lines, enum column_name column, const char *text,
                        double *value, struct error *error)
{
    char *end = NULL;
    *value = strtod(text, &end);
    const bool number = text[0] != '\0' && *end == '\0';
    /* A single point has no leave-one-out prediction. */
    if (number && column == COLUMN_LEFT_OUT && isnan(*value))
        return true;
    return (number && isfinite(*value) &&
            (*value > 0 || (column == COLUMN_SHARE && *value == 0))) ||
           line_fault(lines, error, "%s '%.40s' should be a number above 0", point_columns[column],
                      text);
}

static bool point_read(const struct line_reader *lines, char *const *fields,
                       const int places[COLUMNS], struct points *points, struct error *error)
{
    double values[COLUMNS] = {0};
    for (enum column_name c = COLUMN_BATCH; c < COLUMNS; c++)
        if (!number_read(lines, c, fields[places[c]], &values[c], error))
            return false;
    if (values[COLUMN_SHARE] == 0)
        return true; /* without a GPU: it has no place on an axis of shares */
    const char *function = fields[places[COLUMN_FUNCTION]];
    if (function[0] == '\0')
        return line_fault(lines, error, "names no function");
    *ARENA_NEXT(points->arena, points->items, points->count) =
        (struct point){arena_text(points->arena, "%s", function),
                       (int)values[COLUMN_BATCH],
                       (int)values[COLUMN_VCPU],
                       100 * values[COLUMN_SHARE] / values[COLUMN_UNIT],
                       values[COLUMN_MEASURED],
                       values[COLUMN_FIT],
                       values[COLUMN_LEFT_OUT]};
    return true;
}

static bool points_read(const char *path, struct points *points, struct error *error)
{
    struct line_reader lines = {0};
    struct listing table = {.lines = &lines};
    int places[COLUMNS] = {0};
    char *line = NULL;
    enum line_status status = LINE_FAULT;
    bool good = line_reader_open(&lines, path, error) &&
                line_reader_next(&lines, &line, error) == LINE_READ &&
                header_read(&table, line, places, error);
    while (good && (status = listing_next(&table, error)) == LINE_READ)
        good = point_read(&lines, table.fields, places, points, error);
    listing_close(&table);
    line_reader_close(&lines);
    good = good && status == LINE_END;
    return good && (points->count > 0 ||
                    error_input(error, "%s: holds no point; calibrate --points writes them", path));
}

/* The function's name, with the vCPUs if the file has several vCPU counts of it. */
static const char *point_title(const struct points *points, const struct point *point)
{
    bool several = false;
    for (size_t i = 0; i < points->count && !several; i++)
        several = points->items[i].vcpu != point->vcpu &&
                  strcmp(points->items[i].function, point->function) == 0;
    return several ? arena_text(points->arena, "%s %d vCPU", point->function, point->vcpu)
                   : point->function;
}

static bool same_surface(const struct point *a, const struct point *b)
{
    return a->vcpu == b->vcpu && strcmp(a->function, b->function) == 0;
}

static void residual_rows(const struct points *points, struct sheet *sheet)
{
    for (size_t i = 0; i < points->count; i++) {
        const struct point *point = &points->items[i];
        sheet_row(sheet, "%.40s %d %g %g %g %g", point_title(points, point), point->batch,
                  point->share, point->measured, point->fitted, point->left_out);
    }
}

/* The batch sizes to draw, ascending and distinct. If there are many, only powers of two and the
 * largest. */
static size_t batch_sizes(const struct points *points, int *sizes)
{
    size_t count = 0;
    size_t kept = 0;
    for (size_t i = 0; i < points->count; i++)
        sizes[i] = points->items[i].batch;
    gsl_sort_int(sizes, 1, points->count);
    for (size_t i = 0; i < points->count; i++)
        if (count == 0 || sizes[i] != sizes[count - 1])
            sizes[count++] = sizes[i];
    if (count <= LINES_MOST)
        return count;
    for (size_t i = 0; i < count; i++)
        if ((sizes[i] & (sizes[i] - 1)) == 0 || i + 1 == count)
            sizes[kept++] = sizes[i];
    return kept;
}

static void surface_row(const struct point *point, size_t surface, const char *title, bool measured,
                        const int *sizes, size_t count, struct sheet *sheet)
{
    size_t place = 0;
    while (place < count && sizes[place] != point->batch)
        place++;
    if (place == count)
        return;
    sheet_row(sheet, "%zu %.40s %d %g %g %d %d %x %d", surface, title, point->batch, point->share,
              measured ? point->measured : point->fitted, measured, !measured,
              palette_step(place, count), palette_series(place).point);
}

/* Writes, per function and vCPU count, the fit at each measured configuration, then the
 * measurements. */
static void surface_rows(const struct points *points, struct sheet *sheet)
{
    int *sizes = arena_allocate(points->arena, points->count, sizeof *sizes);
    size_t surface = 0;
    const size_t count = batch_sizes(points, sizes);
    for (size_t first = 0; first < points->count; first++) {
        size_t earlier = 0;
        while (!same_surface(&points->items[earlier], &points->items[first]))
            earlier++;
        if (earlier < first)
            continue;
        const char *title = point_title(points, &points->items[first]);
        surface++;
        for (size_t i = first; i < points->count; i++)
            for (int measured = 0; measured < 2; measured++)
                if (same_surface(&points->items[first], &points->items[i]))
                    surface_row(&points->items[i], surface, title, measured != 0, sizes, count,
                                sheet);
    }
}

bool families_calibration(const char *path, struct figure_list *list, struct error *error)
{
    struct sheet sheet = {0};
    struct points points = {.arena = figure_memory(list)};
    if (!points_read(path, &points, error))
        return false;
    const char *caption =
        arena_text(points.arena,
                   "%s: markers are what was measured, lines the fit at those shares; of more "
                   "than %d batch sizes the powers of two and the largest. Both axes are "
                   "shared; latency is logarithmic.",
                   file_name(path), LINES_MOST);
    bool good = true;
    if (figure_wanted(list, "calibration")) {
        good = sheet_begin(&sheet, list, "calibration", file_name(path), file_name(path),
                           "function,batch,share,measured_ms,fitted_ms,left_out_ms", error);
        if (good)
            residual_rows(&points, &sheet);
        good = sheet_end(&sheet, good, error);
    }
    if (good && figure_wanted(list, "profile")) {
        good = sheet_begin(&sheet, list, "profile", file_name(path), caption, SURFACES, error);
        if (good)
            surface_rows(&points, &sheet);
        good = sheet_end(&sheet, good, error);
    }
    return good;
}

/* ---- Trees of the policy tree --------------------------------------------------------------- */

/* Writes a row per node, its subtrees first. Leaves stand on whole heights, a test in the middle of
 * its two ways. Returns the node's height. */
static double tree_rows(const struct trees *trees, const struct tree_node *node, int depth,
                        double *next, struct sheet *sheet)
{
    double yes = NAN, no = NAN, height = *next, rows = node->rows;
    if (node->yes != NULL) {
        yes = tree_rows(trees, node->yes, depth + 1, next, sheet);
        no = tree_rows(trees, node->no, depth + 1, next, sheet);
        height = (yes + no) / 2;
    } else {
        ++*next;
    }
    for (size_t v = 0; v < node->vote_count; v++)
        rows += node->votes[v].count;
    struct arena *arena = figure_memory(sheet->list);
    const char *text =
        node->yes != NULL ? tree_test_text(arena, trees, node, true) : tree_leaf_text(arena, node);
    sheet_row(sheet, "%d %g %g %g %.120s %g", depth, height, yes, no, text,
              node->yes != NULL ? NAN : rows);
    return height;
}

bool families_tree(const char *path, struct figure_list *list, struct error *error)
{
    struct arena *arena = figure_memory(list);
    struct trees trees = {.queue = NULL};
    bool good = trees_load(arena, path, NULL, &trees, error);
    for (int second = 0; good && second < 2; second++) {
        const struct tree_node *tree = second ? trees.configuration : trees.queue;
        struct sheet sheet = {0};
        double next = 1;
        const char *subject = arena_text(arena, "%s, %s", file_name(path),
                                         second ? "configuration of a batch" : "queue to serve");
        const char *caption = arena_text(
            arena, "Leaves: %zu, depth: %zu. The upper way is taken where the test holds. %s",
            tree_leaves(tree), tree_depth(tree),
            second ? "A leaf is its first vote, batch:rank x rows of all; rank 0 is the fastest "
                     "configuration of that batch. Red: it waits. Areas: rows."
                   : "The queue with the greatest share of chosen rows is served. Areas: rows.");
        good = sheet_begin(&sheet, list, "tree", subject, caption, "depth,height,yes,no,text,rows",
                           error);
        if (good && sheet.out != NULL)
            (void)tree_rows(&trees, tree, 0, &next, &sheet);
        good = sheet_end(&sheet, good, error);
    }
    return good;
}
