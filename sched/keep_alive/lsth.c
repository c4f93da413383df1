/* Long short-term histogram (Yang et al., INFless, ASPLOS'22, section 3.5): the hybrid histogram's
 * windows, from a long and from a short memory of the function's idle times, mixed:
 *
 *     window = γ × long + (1 − γ) × short.
 *
 * Porting assumptions [derived]:
 * - The memories are the last 858 and the last 200 idle times, as in the authors' later code for
 *   Dilu; the paper's are spans of time. γ = 0.5 is the paper's; percentiles 5 and 99 are those of
 *   the hybrid histogram (that code: 5 and 90).
 * - With fewer than `min_samples` idle times, or none within the range of the bins, the container
 *   stays for the range. There is no test of representativeness and no forecast: none is told.
 * - A function's windows rule all its containers, as for the hybrid histogram.
 * - `lead` as for the hybrid histogram: the new start is ahead by a cold start's mean.
 * - INFless keeps instances; here containers of any scheduler.
 */
#include <stdlib.h>

#include "sched/keep_alive.h"
#include "sched/keep_alive/idle_times.h"

enum parameter_index {
    BIN_S,
    BINS,
    HEAD,
    TAIL,
    MARGIN,
    GAMMA,
    LONG_SAMPLES,
    SHORT_SAMPLES,
    MIN_SAMPLES,
    LEAD,
    PARAMETERS
};

/* Idle times of one function: the last LONG_SAMPLES, of which the newest SHORT_SAMPLES. */
struct memory {
    struct idle_watch watch;
    struct idle_histogram longer, shorter;
    sim_time_t *ring;
    uint64_t count; /* ever seen; the next goes to ring[count % LONG_SAMPLES] */
    sim_time_t lead;
};

struct lsth {
    double values[PARAMETERS];
    uint64_t long_samples, short_samples;
    sim_time_t range;
    size_t functions;
    struct memory *memories; /* per function */
};

static bool lsth_init(void *state, const struct workload *workload, const double *values,
                      struct error *error)
{
    struct lsth *self = state;
    for (size_t i = 0; i < PARAMETERS; i++)
        self->values[i] = values[i];
    if (values[SHORT_SAMPLES] > values[LONG_SAMPLES])
        return error_input(error,
                           "keep-alive lsth: short_samples %g is above long_samples %g; lower it",
                           values[SHORT_SAMPLES], values[LONG_SAMPLES]);
    const sim_time_t width = sim_from_s(values[BIN_S]);
    const uint32_t bins = (uint32_t)values[BINS];
    self->long_samples = (uint64_t)values[LONG_SAMPLES];
    self->short_samples = (uint64_t)values[SHORT_SAMPLES];
    self->range = width * bins;
    self->memories = calloc(workload->function_count, sizeof *self->memories);
    bool good = self->memories != NULL;
    while (good && self->functions < workload->function_count) {
        const double cold_ms = workload->functions[self->functions].cold_start_mean_ms;
        struct memory *memory = &self->memories[self->functions++];
        memory->lead = values[LEAD] > 0 ? 0 : sim_from_ms(cold_ms);
        memory->ring = calloc(self->long_samples, sizeof *memory->ring);
        good = idle_histogram_init(&memory->longer, width, bins) &&
               idle_histogram_init(&memory->shorter, width, bins) && memory->ring != NULL;
    }
    return good || error_run(error, "out of memory for keep-alive lsth");
}

static void lsth_on_use(void *state, uint32_t function, uint32_t invoker, sim_time_t now)
{
    const struct lsth *self = state;
    struct memory *memory = &self->memories[function];
    sim_time_t idle = 0;
    (void)invoker;
    if (!idle_watch_use(&memory->watch, now, &idle))
        return;
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

static struct idle_window lsth_window(const struct lsth *self, const struct memory *memory)
{
    const double *values = self->values;
    const double gamma = values[GAMMA];
    if ((double)memory->count < values[MIN_SAMPLES] || memory->shorter.in_range == 0)
        return (struct idle_window){0, (double)self->range};
    const struct idle_window of_long =
        idle_histogram_window(&memory->longer, values[HEAD], values[TAIL], values[MARGIN] / 100);
    const struct idle_window of_short =
        idle_histogram_window(&memory->shorter, values[HEAD], values[TAIL], values[MARGIN] / 100);
    return (struct idle_window){gamma * of_long.head_ns + (1 - gamma) * of_short.head_ns,
                                gamma * of_long.tail_ns + (1 - gamma) * of_short.tail_ns};
}

static struct keep_windows lsth_on_idle(void *state, const struct kept_container *container,
                                        bool used, sim_time_t now)
{
    const struct lsth *self = state;
    struct memory *memory = &self->memories[container->function];
    if (used)
        idle_watch_end(&memory->watch, now);
    return idle_watch_windows(&memory->watch, lsth_window(self, memory), memory->lead);
}

static sim_time_t lsth_on_expiry(void *state, const struct kept_container *container,
                                 sim_time_t now)
{
    const struct lsth *self = state;
    const struct memory *memory = &self->memories[container->function];
    return idle_watch_extend(&memory->watch, lsth_window(self, memory), now);
}

static void lsth_finish(void *state)
{
    struct lsth *self = state;
    for (size_t f = 0; f < self->functions; f++) {
        idle_histogram_clear(&self->memories[f].longer);
        idle_histogram_clear(&self->memories[f].shorter);
        free(self->memories[f].ring);
    }
    free(self->memories);
}

static const struct parameter lsth_parameters[] = {
    {"bin_s", 1, 1e-3, 3600, NULL, "width of a bin, seconds [derived]"},
    {"bins", 240, 1, 100000, NULL, "bins of each histogram [derived]"},
    {"head", 5, 0, 100, NULL, "percentile of idle times before which to prewarm [notes]"},
    {"tail", 99, 0, 100, NULL, "percentile of idle times until which to keep [notes]"},
    {"margin_pct", 10, 0, 99, NULL, "taken off the head, added to the tail, per cent [recall]"},
    {"gamma", 0.5, 0, 1, NULL, "weight of the long memory [notes: 0.3, 0.5, 0.7 evaluated]"},
    {"long_samples", 858, 1, 1e6, NULL, "idle times in the long memory [code: Dilu]"},
    {"short_samples", 200, 1, 1e6, NULL, "idle times in the short memory [code: Dilu]"},
    {"min_samples", 5, 1, 1e6, NULL, "least idle times to go by [assumed]"},
    {"lead", 0, 0, 1, "cold-start|none", "how far ahead of the head to start [derived]"},
};

extern const struct keep_alive keep_alive_lsth;
const struct keep_alive keep_alive_lsth = {
    .name = "lsth",
    .summary = "INFless: the hybrid histogram's windows from a long and a short memory, mixed",
    .parameters = lsth_parameters,
    .parameter_count = sizeof lsth_parameters / sizeof *lsth_parameters,
    .state_bytes = sizeof(struct lsth),
    .init = lsth_init,
    .on_use = lsth_on_use,
    .on_idle = lsth_on_idle,
    .on_expiry = lsth_on_expiry,
    .finish = lsth_finish,
};
