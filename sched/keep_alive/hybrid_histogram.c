/* The hybrid histogram policy (Shahrad et al., "Serverless in the Wild", ATC'20, section 4.2).
 *
 * It keeps one histogram of idle times per function. If the histogram is representative, the
 * container is evicted when the function becomes idle. It is started again shortly before the head
 * (5th percentile) of the idle times and kept until shortly after their tail (99th). With too few
 * idle times, or with counts too uniform (coefficient of variation below 2), it is kept for the
 * histogram's range. If most idle times are beyond the range, a forecast of the next one replaces
 * the histogram.
 *
 * Porting assumptions [derived]:
 * - Bins of 1 min and a range of 4 h, as in the paper. A replay of minutes is within the first few
 *   bins, where the policy is little more than a fixed time: set `bin_s` to about a hundredth of
 *   the longest idle times of interest. With 1 s the range is 4 minutes; longer idle times are then
 *   out of range.
 * - One histogram per function, over the whole cluster (the paper: per application). The windows
 *   belong to the function (idle_times.h).
 * - The paper forecasts with ARIMA, whose order is fitted each time. Here it is ARIMA(0,1,1), whose
 *   forecast is exponential smoothing (`smoothing`), with the paper's 15 % on either side.
 * - `lead`: the start is earlier than the window by the mean cold start. Models load for seconds,
 *   while the paper's bins are a minute and its functions load within one. Without the lead a
 *   container would be too late for idle times near the head.
 * - `min_samples`: the paper does not state how many idle times are too few.
 */
#include <string.h>

#include "sched/keep_alive/idle_times.h"

enum parameter_index {
    VARIATION = IDLE_PARAMETERS,
    MIN_SAMPLES,
    OUT_OF_RANGE,
    SMOOTHING,
    LEAD,
    PARAMETERS
};

static const double forecast_margin = 0.15;

struct history {
    struct idle_histogram histogram;
    double forecast_ns; /* forecast of the next idle time; < 0: none yet */
};

struct hybrid {
    struct idle_times times; /* first member, so that the functions of idle_times.h accept a
                              * struct hybrid */
    double values[PARAMETERS];
};

static void history_init(const void *state, struct arena *arena, void *memory)
{
    const struct hybrid *self = state;
    struct history *history = memory;
    history->forecast_ns = -1;
    idle_histogram_init(&history->histogram, arena, self->times.width, self->times.bin_count);
}

static void history_add(const void *state, void *memory, sim_time_t idle)
{
    const struct hybrid *self = state;
    struct history *history = memory;
    idle_histogram_add(&history->histogram, idle);
    history->forecast_ns = history->forecast_ns < 0
                               ? (double)idle
                               : history->forecast_ns + self->values[SMOOTHING] *
                                                            ((double)idle - history->forecast_ns);
}

static struct idle_window history_window(const void *state, const void *memory,
                                         struct idle_window standard)
{
    const struct hybrid *self = state;
    const struct history *history = memory;
    const struct idle_histogram *histogram = &history->histogram;
    const double total = (double)(histogram->in_range + histogram->out_of_range);
    if (total < self->values[MIN_SAMPLES])
        return standard;
    if ((double)histogram->out_of_range > self->values[OUT_OF_RANGE] / 100 * total)
        return (struct idle_window){history->forecast_ns * (1 - forecast_margin),
                                    history->forecast_ns * (1 + forecast_margin)};
    if (histogram->in_range == 0 || idle_histogram_variation(histogram) < self->values[VARIATION])
        return standard;
    return idle_times_window(&self->times, histogram);
}

static const struct idle_rule hybrid_rule = {.memory_bytes = sizeof(struct history),
                                             .init = history_init,
                                             .add = history_add,
                                             .window = history_window};

static bool hybrid_init(void *state, struct arena *arena, const struct workload *workload,
                        const double *values, struct error *error)
{
    struct hybrid *self = state;
    (void)error;
    memcpy(self->values, values, sizeof self->values);
    idle_times_init(&self->times, &hybrid_rule, arena, workload, values, values[LEAD] == 0);
    return true;
}

static const struct parameter hybrid_parameters[] = {
    {"bin_s", 60, 1e-3, 3600, NULL, "width of a bin, seconds (paper); less for short replays"},
    {"bins", 240, 1, 100000, NULL, "bins of the histogram [code]"},
    {"head", 5, 0, 100, NULL, "percentile of idle times before which to prewarm [code]"},
    {"tail", 99, 0, 100, NULL, "percentile of idle times until which to keep [code]"},
    {"margin_pct", 10, 0, 99, NULL,
     "per cent subtracted from the head and added to the tail [recall]"},
    {"variation", 2, 0, 1e3, NULL,
     "smallest variation of the bins' counts that is representative [recall]"},
    {"min_samples", 5, 1, 1e6, NULL, "smallest number of idle times for a window [assumed]"},
    {"out_of_range_pct", 50, 0, 100, NULL,
     "forecast if more than this percentage is out of range [recall]"},
    {"smoothing", 0.3, 1e-3, 1, NULL, "weight of the last idle time in the forecast [assumed]"},
    {"lead", 0, 0, 1, "cold-start|none", "lead of the start before the head [derived]"},
};

extern const struct keep_alive keep_alive_hybrid_histogram;
const struct keep_alive keep_alive_hybrid_histogram = {
    .name = "hybrid-histogram",
    .summary = "Serverless in the Wild: evicts at once, starts before the head of the idle times, "
               "keeps until their tail",
    .parameters = hybrid_parameters,
    .parameter_count = sizeof hybrid_parameters / sizeof *hybrid_parameters,
    .state_bytes = sizeof(struct hybrid),
    .init = hybrid_init,
    .on_use = idle_times_on_use,
    .on_idle = idle_times_on_idle,
    .on_expiry = idle_times_on_expiry,
};
