#include "sim/backend/emulated.h"

#include <errno.h>
#include <math.h>
#include <time.h>

#include "sim/base/arena.h"
#include "sim/engine/event_queue.h"
#include "sim/engine/quantile.h"
#include "sim/engine/random.h"
#include "workloads/spec/experiment.h"

struct emulated {
    struct arena *arena; /* of this, and of the samples of its runs */
    struct emulated_options options;
    struct event_queue *ends; /* ends of the executing batches; subject: id */
    struct quantile *late;
    struct timespec opened;
    uint64_t seed; /* of the jitter in this run */
    uint64_t batches;
    uint32_t together;
    sim_time_t last_end;
};

struct emulated *emulated_create(const struct emulated_options *options)
{
    struct emulated *rehearsal = arena_home(sizeof *rehearsal);
    rehearsal->options = *options;
    if (options->factor == 0)
        rehearsal->options.factor = 1;
    return rehearsal;
}

static bool rehearsal_open(void *context, const struct experiment *experiment, struct error *error)
{
    struct emulated *rehearsal = context;
    rehearsal->ends = event_queue_create(rehearsal->arena, 64);
    rehearsal->late = quantile_create(rehearsal->arena, QUANTILE_EXACT_SAMPLES);
    rehearsal->seed = rehearsal->options.seed + experiment->seed;
    rehearsal->batches = 0;
    rehearsal->together = 0;
    rehearsal->last_end = 0;
    clock_gettime(CLOCK_MONOTONIC, &rehearsal->opened);
    return true;
}

/* ---- The clock ------------------------------------------------------------------------------- */

static sim_time_t clock_now(const struct emulated *rehearsal)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double seconds = (double)(now.tv_sec - rehearsal->opened.tv_sec) +
                     (double)(now.tv_nsec - rehearsal->opened.tv_nsec) * 1e-9;
    return (sim_time_t)(seconds * rehearsal->options.speedup * 1e9);
}

/* Sleeps until the replay's clock reaches `time`. Returns at once if it already has. */
static void clock_wait(const struct emulated *rehearsal, sim_time_t time)
{
    /* Rounded up, so that nothing is early. */
    sim_time_t nanoseconds = (sim_time_t)ceil((double)time / rehearsal->options.speedup);
    nanoseconds += rehearsal->opened.tv_nsec;
    const struct timespec until = {.tv_sec = rehearsal->opened.tv_sec + nanoseconds / SIM_S,
                                   .tv_nsec = nanoseconds % SIM_S};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

/* ---- Batches --------------------------------------------------------------------------------- */

/* Returns the batch's duration: the modelled time with the options' factor and jitter. */
static sim_time_t duration_draw(const struct emulated *rehearsal, const struct backend_batch *batch)
{
    const struct emulated_options *options = &rehearsal->options;
    double factor = options->factor;
    if (options->jitter_cv > 0) {
        RANDOM_STREAM(stream, rehearsal->seed, RANDOM_EMULATED, batch->number, 0);
        factor *= random_noise(&stream, options->jitter_cv);
    }
    return factor == 1 ? batch->modelled : (sim_time_t)ceil((double)batch->modelled * factor);
}

static bool rehearsal_start(void *context, const struct backend_batch *batch, sim_time_t due,
                            struct error *error)
{
    struct emulated *rehearsal = context;
    sim_time_t start = due;
    if (rehearsal->options.speedup > 0) {
        sim_time_t now = clock_now(rehearsal);
        start = now > due ? now : due;
    }
    quantile_add(rehearsal->late, start - due);
    if (event_queue_push(rehearsal->ends, start + duration_draw(rehearsal, batch), 0, batch->id) ==
        0)
        return error_run(error, "the ends of a rehearsal: %s", event_queue_fault(rehearsal->ends));
    rehearsal->batches++;
    uint32_t executing = (uint32_t)event_queue_size(rehearsal->ends);
    if (executing > rehearsal->together)
        rehearsal->together = executing;
    return true;
}

static bool rehearsal_wait(void *context, sim_time_t until, uint32_t *ended, sim_time_t *time,
                           struct error *error)
{
    struct emulated *rehearsal = context;
    sim_time_t next = event_queue_next_time(rehearsal->ends);
    *ended = SIM_NONE;
    *time = next < until ? next : until;
    if (rehearsal->options.speedup > 0)
        clock_wait(rehearsal, *time);
    if (next > until)
        return true;
    struct event end = {0};
    event_queue_pop(rehearsal->ends, &end);
    *ended = end.subject;
    rehearsal->last_end = end.time;
    return true;
}

struct backend emulated_backend(struct emulated *rehearsal)
{
    return (struct backend){.context = rehearsal,
                            .open = rehearsal_open,
                            .start = rehearsal_start,
                            .wait = rehearsal_wait};
}

struct emulated_figures emulated_figures(const struct emulated *rehearsal)
{
    struct emulated_figures figures = {.batches = rehearsal->batches,
                                       .together = rehearsal->together,
                                       .last_end = rehearsal->last_end};
    if (rehearsal->late != NULL) {
        figures.late_ns_mean = quantile_mean(rehearsal->late);
        figures.late_ns_p99 = quantile_value(rehearsal->late, 0.99);
        figures.late_ns_max = quantile_max(rehearsal->late);
    }
    return figures;
}
