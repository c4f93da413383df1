#include "sched/infless/lsth.h"

#include <math.h>
#include <string.h>

static const double HEAD = 0.05, TAIL = 0.99;

static void window_init(struct lsth_window *window, sim_time_t length)
{
    memset(window, 0, sizeof *window);
    window->slice = length / LSTH_SLICES > 0 ? length / LSTH_SLICES : 1;
}

/* Clears the slices that are reused for the present. */
static void window_slide(struct lsth_window *window, sim_time_t now)
{
    const int64_t slice = now / window->slice;
    const int64_t oldest = slice - LSTH_SLICES;
    for (int64_t s = window->newest > oldest ? window->newest + 1 : oldest + 1; s <= slice; s++) {
        uint32_t *counts = window->counts[s % LSTH_SLICES];
        for (uint32_t bin = 0; bin < LSTH_BINS; bin++) {
            window->total -= counts[bin];
            counts[bin] = 0;
        }
    }
    window->newest = slice;
}

static void window_add(struct lsth_window *window, sim_time_t now, uint32_t bin)
{
    window_slide(window, now);
    window->counts[window->newest % LSTH_SLICES][bin]++;
    window->total++;
}

/* The bin in which the cumulative share of the gaps reaches `p`. */
static uint32_t window_percentile(const struct lsth_window *window, double p)
{
    const double wanted = fmax(1, ceil(p * window->total - 1e-9));
    uint32_t seen = 0;
    uint32_t bin = 0;
    while (bin < LSTH_BINS - 1) {
        for (uint32_t s = 0; s < LSTH_SLICES; s++)
            seen += window->counts[s][bin];
        if (seen >= wanted)
            break;
        bin++;
    }
    return bin;
}

void lsth_init(struct lsth *lsth, sim_time_t bin, sim_time_t long_window, sim_time_t short_window,
               double gamma)
{
    lsth->bin = bin;
    lsth->last = -1;
    lsth->gamma = gamma;
    window_init(&lsth->long_term, long_window);
    window_init(&lsth->short_term, short_window);
}

void lsth_observe(struct lsth *lsth, sim_time_t now)
{
    if (lsth->last >= 0) {
        const int64_t bins = (now - lsth->last) / lsth->bin;
        const uint32_t bin = bins < LSTH_BINS ? (uint32_t)bins : LSTH_BINS - 1;
        window_add(&lsth->long_term, now, bin);
        window_add(&lsth->short_term, now, bin);
    }
    lsth->last = now;
}

bool lsth_windows(struct lsth *lsth, sim_time_t now, sim_time_t *prewarm, sim_time_t *keep_alive)
{
    window_slide(&lsth->long_term, now);
    window_slide(&lsth->short_term, now);
    if (lsth->long_term.total < LSTH_LEAST_GAPS)
        return false;
    const struct lsth_window *recent =
        lsth->short_term.total > 0 ? &lsth->short_term : &lsth->long_term;
    const double bin = (double)lsth->bin;
    const double head = lsth->gamma * window_percentile(&lsth->long_term, HEAD) +
                        (1 - lsth->gamma) * window_percentile(recent, HEAD);
    const double tail = lsth->gamma * (window_percentile(&lsth->long_term, TAIL) + 1) +
                        (1 - lsth->gamma) * (window_percentile(recent, TAIL) + 1);
    *prewarm = (sim_time_t)llround(head * bin);
    *keep_alive = (sim_time_t)llround(tail * bin);
    return true;
}
