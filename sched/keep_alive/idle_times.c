#include "sched/keep_alive/idle_times.h"

#include <math.h>

void idle_histogram_init(struct idle_histogram *histogram, struct arena *arena, sim_time_t width,
                         uint32_t bin_count)
{
    *histogram = (struct idle_histogram){.width = width, .bin_count = bin_count};
    histogram->bins = arena_allocate(arena, bin_count, sizeof *histogram->bins);
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

/* Bin of the nearest-rank percentile (0..100) of the times in range, of which there is one at
 * least. O(bins). */
static uint32_t idle_histogram_percentile(const struct idle_histogram *histogram, double percentile)
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

/* The percentile's bin rounded down and lessened by `margin` (0.1: 10 %), and the other's rounded
 * up and enlarged. */
static struct idle_window idle_histogram_window(const struct idle_histogram *histogram, double head,
                                                double tail, double margin)
{
    const double width = (double)histogram->width;
    return (struct idle_window){
        .head_ns = idle_histogram_percentile(histogram, head) * width * (1 - margin),
        .tail_ns = (idle_histogram_percentile(histogram, tail) + 1.0) * width * (1 + margin)};
}

/* ---- Functions ------------------------------------------------------------------------------- */

/* The present use of one function. */
struct idle_uses {
    uint32_t running;
    bool seen;           /* at least one batch has ended */
    sim_time_t last_end; /* end of the last batch */
    sim_time_t lead;
};

static void *memory_of(const struct idle_times *self, size_t function)
{
    return self->memories + function * self->rule->memory_bytes;
}

void idle_times_init(struct idle_times *self, const struct idle_rule *rule, struct arena *arena,
                     const struct workload *workload, const struct idle_parameters *parameters)
{
    self->rule = rule;
    self->parameters = parameters;
    self->uses = arena_allocate(arena, workload->function_count, sizeof *self->uses);
    self->memories = arena_allocate(arena, workload->function_count, rule->memory_bytes);
    for (size_t f = 0; f < workload->function_count; f++) {
        self->uses[f].lead = parameters->lead == LEAD_COLD_START
                                 ? sim_from_ms(workload->functions[f].gpus[0].cold_start_mean_ms)
                                 : 0;
        rule->init(self, arena, memory_of(self, f));
    }
}

struct idle_window idle_times_window(const struct idle_times *self,
                                     const struct idle_histogram *histogram)
{
    return idle_histogram_window(histogram, self->parameters->head, self->parameters->tail,
                                 self->parameters->margin_pct / 100);
}

static struct idle_window window_of(const struct idle_times *self, uint32_t function)
{
    const struct idle_window standard = {
        0, (double)(self->parameters->bin_s * self->parameters->bins)};
    return self->rule->window(self, memory_of(self, function), standard);
}

void idle_times_on_use(void *state, uint32_t function, uint32_t invoker, sim_time_t now)
{
    const struct idle_times *self = state;
    struct idle_uses *uses = &self->uses[function];
    const bool running = uses->running++ > 0;
    if (running || uses->seen)
        self->rule->add(self, memory_of(self, function), running ? 0 : now - uses->last_end);
}

struct keep_windows idle_times_on_idle(void *state, const struct idle_container *container,
                                       bool used, sim_time_t now)
{
    const struct idle_times *self = state;
    struct idle_uses *uses = &self->uses[container->function];
    if (used) {
        uses->running--;
        uses->seen = true;
        uses->last_end = now;
    }
    const struct idle_window window = window_of(self, container->function);
    const sim_time_t start = (sim_time_t)llround(window.head_ns) - uses->lead;
    return (struct keep_windows){.prewarm_after = uses->running == 0 && start > 0 ? start : 0,
                                 .keep_for = (sim_time_t)llround(window.tail_ns)};
}

sim_time_t idle_times_on_expiry(void *state, const struct idle_container *container, sim_time_t now)
{
    const struct idle_times *self = state;
    const struct idle_uses *uses = &self->uses[container->function];
    const sim_time_t tail = (sim_time_t)llround(window_of(self, container->function).tail_ns);
    return uses->running > 0 ? tail : uses->last_end + tail - now;
}
