#include "sched/keep_alive/idle_times.h"

#include <math.h>
#include <stdlib.h>

bool idle_histogram_init(struct idle_histogram *histogram, sim_time_t width, uint32_t bin_count)
{
    *histogram = (struct idle_histogram){.width = width, .bin_count = bin_count};
    histogram->bins = calloc(bin_count, sizeof *histogram->bins);
    return histogram->bins != NULL;
}

void idle_histogram_clear(struct idle_histogram *histogram)
{
    free(histogram->bins);
    *histogram = (struct idle_histogram){0};
}

void idle_histogram_add(struct idle_histogram *histogram, sim_time_t idle)
{
    const sim_time_t bin = idle / histogram->width;
    if (bin >= histogram->bin_count) {
        histogram->out_of_range++;
        return;
    }
    histogram->squares += 2 * (double)histogram->bins[bin] + 1;
    histogram->bins[bin]++;
    histogram->in_range++;
}

void idle_histogram_remove(struct idle_histogram *histogram, sim_time_t idle)
{
    const sim_time_t bin = idle / histogram->width;
    if (bin >= histogram->bin_count) {
        histogram->out_of_range--;
        return;
    }
    histogram->bins[bin]--;
    histogram->squares -= 2 * (double)histogram->bins[bin] + 1;
    histogram->in_range--;
}

uint32_t idle_histogram_percentile(const struct idle_histogram *histogram, double percentile)
{
    const double rank = ceil(percentile / 100 * (double)histogram->in_range);
    uint64_t below = 0;
    uint32_t bin = 0;
    for (; bin + 1 < histogram->bin_count; bin++) {
        below += histogram->bins[bin];
        if (below > 0 && (double)below >= rank)
            break;
    }
    return bin;
}

double idle_histogram_variation(const struct idle_histogram *histogram)
{
    if (histogram->in_range == 0)
        return 0;
    const double mean = (double)histogram->in_range / histogram->bin_count;
    const double variance = histogram->squares / histogram->bin_count - mean * mean;
    return variance > 0 ? sqrt(variance) / mean : 0;
}

struct idle_window idle_histogram_window(const struct idle_histogram *histogram, double head,
                                         double tail, double margin)
{
    const double width = (double)histogram->width;
    return (struct idle_window){
        .head_ns = idle_histogram_percentile(histogram, head) * width * (1 - margin),
        .tail_ns = (idle_histogram_percentile(histogram, tail) + 1.0) * width * (1 + margin)};
}

bool idle_watch_use(struct idle_watch *watch, sim_time_t now, sim_time_t *idle)
{
    *idle = watch->running > 0 ? 0 : now - watch->last_end;
    return watch->running++ > 0 || watch->seen;
}

void idle_watch_end(struct idle_watch *watch, sim_time_t now)
{
    watch->running--;
    watch->seen = true;
    watch->last_end = now;
}

struct keep_windows idle_watch_windows(const struct idle_watch *watch, struct idle_window window,
                                       sim_time_t lead)
{
    const sim_time_t start = (sim_time_t)llround(window.head_ns) - lead;
    return (struct keep_windows){.prewarm_after = watch->running == 0 && start > 0 ? start : 0,
                                 .keep_for = (sim_time_t)llround(window.tail_ns)};
}

sim_time_t idle_watch_extend(const struct idle_watch *watch, struct idle_window window,
                             sim_time_t now)
{
    const sim_time_t tail = (sim_time_t)llround(window.tail_ns);
    return watch->running > 0 ? tail : watch->last_end + tail - now;
}
