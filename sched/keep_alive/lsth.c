/* Long short-term histogram (Yang et al., INFless, ASPLOS'22, section 3.5). Mixes the hybrid
 * histogram's windows of a long and a short memory of the function's idle times:
 *
 *     window = γ × long + (1 − γ) × short.
 *
 * Porting assumptions [derived]:
 * - The memories are the last 858 and the last 200 idle times, as in the authors' later code for
 *   Dilu; the paper's are spans of time. γ = 0.5 is the paper's; percentiles 5 and 99 are those of
 *   the hybrid histogram (that code: 5 and 90).
 * - With fewer than `min_samples` idle times, or none within the range of the bins, the container
 *   is kept for the range. There is no test of representativeness and no forecast, because neither
 *   is described.
 * - A function's windows apply to all its containers, and `lead` is the hybrid histogram's.
 * - INFless keeps instances; here containers of any scheduler. The policy infless has its own LSTH.
 *   As in the paper, it covers spans of time and the gaps between invocations
 *   (sched/infless/lsth.h).
 */
#include <string.h>

#include "sched/keep_alive/idle_times.h"

enum parameter_index {
    GAMMA = IDLE_PARAMETERS,
    LONG_SAMPLES,
    SHORT_SAMPLES,
    MIN_SAMPLES,
    LEAD,
    PARAMETERS
};

/* The idle times of one function: the last LONG_SAMPLES, of which the newest SHORT_SAMPLES. */
struct memory {
    struct idle_histogram longer, shorter;
    sim_time_t *ring;
    uint64_t count; /* total number observed; the next is stored in ring[count % LONG_SAMPLES] */
};

struct lsth {
    struct idle_times times; /* first member, so that the functions of idle_times.h accept a
                              * struct lsth */
    double values[PARAMETERS];
    uint64_t long_samples, short_samples;
};

static void memory_init(const void *state, struct arena *arena, void *own)
{
    const struct lsth *self = state;
    const struct idle_times *times = &self->times;
    struct memory *memory = own;
    memory->ring = arena_allocate(arena, self->long_samples, sizeof *memory->ring);
    idle_histogram_init(&memory->longer, arena, times->width, times->bin_count);
    idle_histogram_init(&memory->shorter, arena, times->width, times->bin_count);
}

static void memory_add(const void *state, void *own, sim_time_t idle)
{
    const struct lsth *self = state;
    struct memory *memory = own;
    const uint64_t long_samples = self->long_samples;
    const uint64_t short_samples = self->short_samples;
    if (memory->count >= short_samples)
        idle_histogram_remove(&memory->shorter,
                              memory->ring[(memory->count - short_samples) % long_samples]);
    if (memory->count >= long_samples)
        idle_histogram_remove(&memory->longer, memory->ring[memory->count % long_samples]);
    memory->ring[memory->count++ % long_samples] = idle;
    idle_histogram_add(&memory->longer, idle);
    idle_histogram_add(&memory->shorter, idle);
}

static struct idle_window memory_window(const void *state, const void *own,
                                        struct idle_window standard)
{
    const struct lsth *self = state;
    const struct memory *memory = own;
    const double gamma = self->values[GAMMA];
    if ((double)memory->count < self->values[MIN_SAMPLES] || memory->shorter.in_range == 0)
        return standard;
    const struct idle_window of_long = idle_times_window(&self->times, &memory->longer);
    const struct idle_window of_short = idle_times_window(&self->times, &memory->shorter);
    return (struct idle_window){gamma * of_long.head_ns + (1 - gamma) * of_short.head_ns,
                                gamma * of_long.tail_ns + (1 - gamma) * of_short.tail_ns};
}

static const struct idle_rule lsth_rule = {.memory_bytes = sizeof(struct memory),
                                           .init = memory_init,
                                           .add = memory_add,
                                           .window = memory_window};

static bool lsth_init(void *state, struct arena *arena, const struct workload *workload,
                      const double *values, struct error *error)
{
    struct lsth *self = state;
    memcpy(self->values, values, sizeof self->values);
    if (values[SHORT_SAMPLES] > values[LONG_SAMPLES])
        return error_input(error,
                           "keep-alive lsth: short_samples %g is above long_samples %g; lower it",
                           values[SHORT_SAMPLES], values[LONG_SAMPLES]);
    self->long_samples = (uint64_t)values[LONG_SAMPLES];
    self->short_samples = (uint64_t)values[SHORT_SAMPLES];
    idle_times_init(&self->times, &lsth_rule, arena, workload, values, values[LEAD] == 0);
    return true;
}

static const struct parameter lsth_parameters[] = {
    {"bin_s", 60, 1e-3, 3600, NULL, "width of a bin, seconds; less for short replays [derived]"},
    {"bins", 240, 1, 100000, NULL, "bins of each histogram [derived]"},
    {"head", 5, 0, 100, NULL, "percentile of idle times before which to prewarm [notes]"},
    {"tail", 99, 0, 100, NULL, "percentile of idle times until which to keep [notes]"},
    {"margin_pct", 10, 0, 99, NULL,
     "per cent subtracted from the head and added to the tail [recall]"},
    {"gamma", 0.5, 0, 1, NULL, "weight of the long memory [notes: 0.3, 0.5, 0.7 evaluated]"},
    {"long_samples", 858, 1, 1e6, NULL, "idle times in the long memory [code: Dilu]"},
    {"short_samples", 200, 1, 1e6, NULL, "idle times in the short memory [code: Dilu]"},
    {"min_samples", 5, 1, 1e6, NULL, "smallest number of idle times for a window [assumed]"},
    {"lead", 0, 0, 1, "cold-start|none", "lead of the start before the head [derived]"},
};

extern const struct keep_alive keep_alive_lsth;
const struct keep_alive keep_alive_lsth = {
    .name = "lsth",
    .summary = "INFless: mixes the hybrid histogram's windows of a long and a short memory",
    .parameters = lsth_parameters,
    .parameter_count = sizeof lsth_parameters / sizeof *lsth_parameters,
    .state_bytes = sizeof(struct lsth),
    .init = lsth_init,
    .on_use = idle_times_on_use,
    .on_idle = idle_times_on_idle,
    .on_expiry = idle_times_on_expiry,
};
