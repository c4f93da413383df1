#include "traces/readers/arrival_statistics.h"

#include <math.h>
#include <string.h>

#include <gsl/gsl_rstat.h>

#include "sim/base/arena.h"

const int arrival_window_s[ARRIVAL_WINDOWS] = {1, 10, 60};

struct window {
    sim_time_t width;
    uint64_t index, count; /* of the current window */
    uint64_t most;
    double sum, sum_squares; /* over the complete windows before it */
};

/* What is counted while a trace is read. */
struct counting {
    struct arrival_statistics *is;
    bool full; /* more labels than can be told apart */
    sim_time_t first, last, longest_gap;
    gsl_rstat_workspace *intervals;
    struct window windows[ARRIVAL_WINDOWS], peaks[ARRIVAL_WINDOWS];
};

static void count_source(void *context, const char *label, uint64_t requests)
{
    struct counting *counting = context;
    struct arrival_statistics *is = counting->is;
    const int32_t number = string_index_add(&is->labels, label);
    counting->full = counting->full || number == STRING_INDEX_NONE;
    if (number == STRING_INDEX_NONE)
        return;
    arena_reserve(is->memory, &is->label_requests, (size_t)number + 1, sizeof *is->label_requests);
    is->label_requests[number] += requests;
}

static void window_close(struct window *window)
{
    window->sum += (double)window->count;
    window->sum_squares += (double)window->count * (double)window->count;
    window->count = 0;
}

static void window_add(struct window *window, sim_time_t since_first)
{
    uint64_t index = (uint64_t)(since_first / window->width);
    if (index != window->index) {
        window_close(window);
        window->index = index; /* skipped windows are empty and add nothing to the sums */
    }
    window->count++;
    if (window->count > window->most)
        window->most = window->count;
}

static double window_dispersion(const struct window *window)
{
    double whole = (double)window->index;
    if (window->index < 2 || window->sum <= 0)
        return NAN;
    double mean = window->sum / whole;
    return (window->sum_squares - whole * mean * mean) / (whole - 1) / mean;
}

/* `zero`: time 0 of the records on the file's clock. */
static void count_request(struct counting *counting, sim_time_t time, sim_time_t zero)
{
    if (counting->is->requests == 0) {
        counting->first = time;
    } else {
        sim_time_t gap = time - counting->last;
        (void)gsl_rstat_add(sim_to_s(gap), counting->intervals);
        if (gap > counting->longest_gap)
            counting->longest_gap = gap;
    }
    for (int i = 0; i < ARRIVAL_WINDOWS; i++) {
        window_add(&counting->windows[i], time - counting->first);
        window_add(&counting->peaks[i], time + zero % counting->peaks[i].width);
    }
    counting->last = time;
    counting->is->requests++;
}

static void find_top(struct arrival_statistics *is)
{
    for (size_t i = 0; i < is->labels.count; i++) {
        if (*is->labels.names[i] == '\0')
            continue;
        is->sources++;
        size_t at = is->top_count < ARRIVAL_TOP ? is->top_count++ : ARRIVAL_TOP;
        while (at > 0 && is->label_requests[i] > is->label_requests[is->top[at - 1]]) {
            if (at < ARRIVAL_TOP)
                is->top[at] = is->top[at - 1];
            at--;
        }
        if (at < ARRIVAL_TOP)
            is->top[at] = i;
    }
}

/* Derives the figures from what was counted. */
static void conclude(struct counting *counting)
{
    struct arrival_statistics *is = counting->is;
    const double mean = gsl_rstat_mean(counting->intervals);
    is->span_s = sim_to_s(counting->last - counting->first);
    is->longest_gap_s = sim_to_s(counting->longest_gap);
    is->mean_rate_per_s = is->span_s > 0 ? (double)(is->requests - 1) / is->span_s : NAN;
    is->interval_cv =
        is->requests < 3 || mean <= 0 ? NAN : gsl_rstat_sd(counting->intervals) / mean;
    for (int i = 0; i < ARRIVAL_WINDOWS; i++) {
        is->peak[i] = counting->peaks[i].most;
        is->dispersion[i] = window_dispersion(&counting->windows[i]);
    }
    find_top(is);
}

static bool read_records(struct counting *counting, struct trace_reader *reader, const char *path,
                         struct error *error)
{
    struct error fault = {.kind = ERROR_NONE};
    struct trace_record record;
    counting->is->format = trace_format(reader);
    while (trace_next(reader, &record, &fault))
        count_request(counting, record.time, trace_zero(reader));
    if (trace_notes(reader) != NULL)
        counting->is->notes = arena_text(counting->is->memory, "%s", trace_notes(reader));
    counting->is->file_first_s = trace_first_s(reader);
    counting->is->cut = trace_file_is_cut(path);
    if (fault.kind != ERROR_NONE) {
        if (error != NULL)
            *error = fault;
        return false;
    }
    if (counting->full)
        return error_input(error, "%s: more sources than can be told apart (%d); split the trace",
                           path, (int)STRING_INDEX_MOST);
    return counting->is->requests > 0 ||
           error_input(error, "%s: no request in this part of the trace", path);
}

bool arrival_statistics_read(const char *path, const char *format, uint64_t seed,
                             const struct trace_view *view, struct arrival_statistics *statistics,
                             struct error *error)
{
    struct counting counting = {.is = statistics, .intervals = gsl_rstat_alloc()};
    struct trace_view counted = *view;
    *statistics = (struct arrival_statistics){.memory = arena_create()};
    if (counting.intervals == NULL)
        return error_run(error, "trace: out of memory");
    for (int i = 0; i < ARRIVAL_WINDOWS; i++)
        counting.windows[i].width = counting.peaks[i].width = arrival_window_s[i] * SIM_S;
    counted.others = TRACE_OTHERS_MERGE;
    counted.count = count_source;
    counted.context = &counting;
    struct trace_reader *reader = trace_open_view(path, format, seed, &counted, error);
    const bool good = reader != NULL && read_records(&counting, reader, path, error);
    if (good)
        conclude(&counting);
    trace_close(reader);
    gsl_rstat_free(counting.intervals);
    return good;
}

void arrival_statistics_clear(struct arrival_statistics *statistics)
{
    string_index_clear(&statistics->labels);
    arena_destroy(statistics->memory);
}
