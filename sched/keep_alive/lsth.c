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
#include "sched/keep_alive/idle_times.h"

struct lsth_parameters {
    struct idle_parameters idle; /* first member */
    double gamma, min_samples;
    uint64_t long_samples, short_samples;
};

/* The idle times of one function: the last long_samples, of which the newest short_samples. */
struct memory {
    struct idle_histogram longer, shorter;
    sim_time_t *ring;
    uint64_t count; /* total number observed; the next is stored in ring[count % long_samples] */
};

struct lsth {
    struct idle_times times; /* first member, so that the functions of idle_times.h accept a
                              * struct lsth */
    const struct lsth_parameters *parameters;
};

static void memory_init(const void *state, struct arena *arena, void *own)
{
    const struct lsth *self = state;
    const struct lsth_parameters *parameters = self->parameters;
    struct memory *memory = own;
    memory->ring = arena_allocate(arena, parameters->long_samples, sizeof *memory->ring);
    idle_histogram_init(&memory->longer, arena, parameters->idle.bin_s, parameters->idle.bins);
    idle_histogram_init(&memory->shorter, arena, parameters->idle.bin_s, parameters->idle.bins);
}

static void memory_add(const void *state, void *own, sim_time_t idle)
{
    const struct lsth *self = state;
    struct memory *memory = own;
    const uint64_t long_samples = self->parameters->long_samples;
    const uint64_t short_samples = self->parameters->short_samples;
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
    const double gamma = self->parameters->gamma;
    if ((double)memory->count < self->parameters->min_samples || memory->shorter.in_range == 0)
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
                      const void *parameters, struct error *error)
{
    struct lsth *self = state;
    self->parameters = parameters;
    if (self->parameters->short_samples > self->parameters->long_samples)
        return error_input(
            error, "keep-alive lsth: short_samples %g is above long_samples %g; lower it",
            (double)self->parameters->short_samples, (double)self->parameters->long_samples);
    idle_times_init(&self->times, &lsth_rule, arena, workload, &self->parameters->idle);
    return true;
}

static const struct key lsth_parameters[] = {
    IDLE_PARAMETERS("width of a bin, seconds; less for short replays [derived]",
                    "bins of each histogram [derived]", "[notes]"),
    PARAMETER_NUMBER(lsth, gamma, 0, 1, 0.5,
                     "weight of the long memory [notes: 0.3, 0.5, 0.7 evaluated]"),
    PARAMETER_WHOLE(lsth, long_samples, 1, 1e6, 858, "idle times in the long memory [code: Dilu]"),
    PARAMETER_WHOLE(lsth, short_samples, 1, 1e6, 200,
                    "idle times in the short memory [code: Dilu]"),
    PARAMETER_NUMBER(lsth, min_samples, 1, 1e6, 5,
                     "smallest number of idle times for a window [assumed]"),
    IDLE_LEAD_PARAMETER,
    KEY_END,
};

const struct keep_alive keep_alive_lsth = {
    .name = "lsth",
    .summary = "INFless: mixes the hybrid histogram's windows of a long and a short memory",
    .parameters = lsth_parameters,
    .parameters_bytes = sizeof(struct lsth_parameters),
    .state_bytes = sizeof(struct lsth),
    .init = lsth_init,
    .on_use = idle_times_on_use,
    .on_idle = idle_times_on_idle,
    .on_expiry = idle_times_on_expiry,
};
