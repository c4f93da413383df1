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
#include "sched/keep_alive/idle_times.h"

struct hybrid_parameters {
    struct idle_parameters idle; /* first member */
    double variation, min_samples, out_of_range_pct, smoothing;
};

static const double forecast_margin = 0.15;

struct history {
    struct idle_histogram histogram;
    double forecast_ns; /* forecast of the next idle time; < 0: none yet */
};

struct hybrid {
    struct idle_times times; /* first member, so that the functions of idle_times.h accept a
                              * struct hybrid */
    const struct hybrid_parameters *parameters;
};

static void history_init(const void *state, struct arena *arena, void *memory)
{
    const struct hybrid *self = state;
    struct history *history = memory;
    history->forecast_ns = -1;
    idle_histogram_init(&history->histogram, arena, self->parameters->idle.bin_s,
                        self->parameters->idle.bins);
}

static void history_add(const void *state, void *memory, sim_time_t idle)
{
    const struct hybrid *self = state;
    struct history *history = memory;
    idle_histogram_add(&history->histogram, idle);
    history->forecast_ns = history->forecast_ns < 0
                               ? (double)idle
                               : history->forecast_ns + self->parameters->smoothing *
                                                            ((double)idle - history->forecast_ns);
}

static struct idle_window history_window(const void *state, const void *memory,
                                         struct idle_window standard)
{
    const struct hybrid *self = state;
    const struct history *history = memory;
    const struct idle_histogram *histogram = &history->histogram;
    const double total = (double)(histogram->in_range + histogram->out_of_range);
    if (total < self->parameters->min_samples)
        return standard;
    if ((double)histogram->out_of_range > self->parameters->out_of_range_pct / 100 * total)
        return (struct idle_window){history->forecast_ns * (1 - forecast_margin),
                                    history->forecast_ns * (1 + forecast_margin)};
    if (histogram->in_range == 0 ||
        idle_histogram_variation(histogram) < self->parameters->variation)
        return standard;
    return idle_times_window(&self->times, histogram);
}

static const struct idle_rule hybrid_rule = {.memory_bytes = sizeof(struct history),
                                             .init = history_init,
                                             .add = history_add,
                                             .window = history_window};

static bool hybrid_init(void *state, struct arena *arena, const struct workload *workload,
                        const void *parameters, struct error *error)
{
    struct hybrid *self = state;
    self->parameters = parameters;
    idle_times_init(&self->times, &hybrid_rule, arena, workload, &self->parameters->idle);
    return true;
}

static const struct key hybrid_parameters[] = {
    IDLE_PARAMETERS("width of a bin, seconds (paper); less for short replays",
                    "bins of the histogram [code]", "[code]"),
    PARAMETER_NUMBER(hybrid, variation, 0, 1e3, 2,
                     "smallest variation of the bins' counts that is representative [recall]"),
    PARAMETER_NUMBER(hybrid, min_samples, 1, 1e6, 5,
                     "smallest number of idle times for a window [assumed]"),
    PARAMETER_NUMBER(hybrid, out_of_range_pct, 0, 100, 50,
                     "forecast if more than this percentage is out of range [recall]"),
    PARAMETER_NUMBER(hybrid, smoothing, 1e-3, 1, 0.3,
                     "weight of the last idle time in the forecast [assumed]"),
    IDLE_LEAD_PARAMETER,
    KEY_END,
};

const struct keep_alive keep_alive_hybrid_histogram = {
    .name = "hybrid-histogram",
    .summary = "Serverless in the Wild: evicts at once, starts before the head of the idle times, "
               "keeps until their tail",
    .parameters = hybrid_parameters,
    .parameters_bytes = sizeof(struct hybrid_parameters),
    .state_bytes = sizeof(struct hybrid),
    .init = hybrid_init,
    .on_use = idle_times_on_use,
    .on_idle = idle_times_on_idle,
    .on_expiry = idle_times_on_expiry,
};
