/* The hybrid histogram policy (Shahrad et al., "Serverless in the Wild", ATC'20, section 4.2).
 *
 * A histogram of idle times a function. Where it is representative, the container goes as the
 * function falls idle, comes back shortly before the head (5th percentile) of the idle times and
 * stays until shortly after their tail (99th). With too few idle times, or with counts too even to
 * tell anything (their coefficient of variation below 2), it stays for the histogram's range. Where
 * most idle times lie beyond the range, a forecast of the next one replaces the histogram.
 *
 * Porting assumptions [derived]:
 * - Bins of 1 s in place of 1 min: GPU traces are replayed within minutes to hours.
 * - A histogram a function, over the whole cluster (the paper: an application). The windows are the
 *   function's: while any container of it works all are kept, and the tail counts from the end of
 *   the function's last batch; the container that falls idle last is the one that goes and returns.
 * - The paper forecasts with ARIMA of an order fitted anew each time; here with ARIMA(0,1,1), whose
 *   forecast is exponential smoothing (`smoothing`), and the paper's 15 % either side.
 * - `lead`: the start is as much ahead of the window as a cold start takes on average. Models load
 *   for seconds, where the paper's bins are a minute and its functions load within it; without, a
 *   container would come too late for the idle times near the head.
 * - `min_samples`: how many idle times are too few is not told.
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
    VARIATION,
    MIN_SAMPLES,
    OUT_OF_RANGE,
    SMOOTHING,
    LEAD,
    PARAMETERS
};

static const double forecast_margin = 0.15;

struct history {
    struct idle_watch watch;
    struct idle_histogram histogram;
    double forecast_ns; /* of the next idle time; < 0: none yet */
    sim_time_t lead;
};

struct hybrid {
    double values[PARAMETERS];
    sim_time_t range;
    size_t functions;
    struct history *histories; /* per function */
};

static bool hybrid_init(void *state, const struct workload *workload, const double *values,
                        struct error *error)
{
    struct hybrid *self = state;
    for (size_t i = 0; i < PARAMETERS; i++)
        self->values[i] = values[i];
    const sim_time_t width = sim_from_s(values[BIN_S]);
    self->range = width * (sim_time_t)values[BINS];
    self->histories = calloc(workload->function_count, sizeof *self->histories);
    if (self->histories == NULL)
        return error_run(error, "out of memory for keep-alive hybrid-histogram");
    for (; self->functions < workload->function_count; self->functions++) {
        struct history *history = &self->histories[self->functions];
        const double cold_ms = workload->functions[self->functions].cold_start_mean_ms;
        history->forecast_ns = -1;
        history->lead = values[LEAD] > 0 ? 0 : sim_from_ms(cold_ms);
        if (!idle_histogram_init(&history->histogram, width, (uint32_t)values[BINS]))
            return error_run(error, "out of memory for keep-alive hybrid-histogram");
    }
    return true;
}

static void hybrid_on_use(void *state, uint32_t function, uint32_t invoker, sim_time_t now)
{
    const struct hybrid *self = state;
    struct history *history = &self->histories[function];
    sim_time_t idle = 0;
    (void)invoker;
    if (!idle_watch_use(&history->watch, now, &idle))
        return;
    idle_histogram_add(&history->histogram, idle);
    history->forecast_ns = history->forecast_ns < 0
                               ? (double)idle
                               : history->forecast_ns + self->values[SMOOTHING] *
                                                            ((double)idle - history->forecast_ns);
}

static struct idle_window hybrid_window(const struct hybrid *self, const struct history *history)
{
    const struct idle_window standard = {0, (double)self->range};
    const struct idle_histogram *histogram = &history->histogram;
    const double total = (double)(histogram->in_range + histogram->out_of_range);
    if (total < self->values[MIN_SAMPLES])
        return standard;
    if ((double)histogram->out_of_range > self->values[OUT_OF_RANGE] / 100 * total)
        return (struct idle_window){history->forecast_ns * (1 - forecast_margin),
                                    history->forecast_ns * (1 + forecast_margin)};
    if (histogram->in_range == 0 || idle_histogram_variation(histogram) < self->values[VARIATION])
        return standard;
    return idle_histogram_window(histogram, self->values[HEAD], self->values[TAIL],
                                 self->values[MARGIN] / 100);
}

static struct keep_windows hybrid_on_idle(void *state, const struct kept_container *container,
                                          bool used, sim_time_t now)
{
    const struct hybrid *self = state;
    struct history *history = &self->histories[container->function];
    if (used)
        idle_watch_end(&history->watch, now);
    return idle_watch_windows(&history->watch, hybrid_window(self, history), history->lead);
}

static sim_time_t hybrid_on_expiry(void *state, const struct kept_container *container,
                                   sim_time_t now)
{
    const struct hybrid *self = state;
    const struct history *history = &self->histories[container->function];
    return idle_watch_extend(&history->watch, hybrid_window(self, history), now);
}

static void hybrid_finish(void *state)
{
    struct hybrid *self = state;
    for (size_t f = 0; f < self->functions; f++)
        idle_histogram_clear(&self->histories[f].histogram);
    free(self->histories);
}

static const struct parameter hybrid_parameters[] = {
    {"bin_s", 1, 1e-3, 3600, NULL, "width of a bin, seconds; the paper's is 60 [derived]"},
    {"bins", 240, 1, 100000, NULL, "bins of the histogram [code]"},
    {"head", 5, 0, 100, NULL, "percentile of idle times before which to prewarm [code]"},
    {"tail", 99, 0, 100, NULL, "percentile of idle times until which to keep [code]"},
    {"margin_pct", 10, 0, 99, NULL, "taken off the head, added to the tail, per cent [recall]"},
    {"variation", 2, 0, 1e3, NULL, "least variation of the bins' counts to go by [recall]"},
    {"min_samples", 5, 1, 1e6, NULL, "least idle times to go by [assumed]"},
    {"out_of_range_pct", 50, 0, 100, NULL, "more beyond the range: forecast, per cent [recall]"},
    {"smoothing", 0.3, 1e-3, 1, NULL, "of the forecast: weight of the last idle time [assumed]"},
    {"lead", 0, 0, 1, "cold-start|none", "how far ahead of the head to start [derived]"},
};

extern const struct keep_alive keep_alive_hybrid_histogram;
const struct keep_alive keep_alive_hybrid_histogram = {
    .name = "hybrid-histogram",
    .summary = "Serverless in the Wild: goes at once, back before the head of the idle times, "
               "stays to their tail",
    .parameters = hybrid_parameters,
    .parameter_count = sizeof hybrid_parameters / sizeof *hybrid_parameters,
    .state_bytes = sizeof(struct hybrid),
    .init = hybrid_init,
    .on_use = hybrid_on_use,
    .on_idle = hybrid_on_idle,
    .on_expiry = hybrid_on_expiry,
    .finish = hybrid_finish,
};
