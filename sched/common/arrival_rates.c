#include "sched/common/arrival_rates.h"

#include <math.h>

struct arrival {
    sim_time_t time;
    uint32_t application;
};

struct arrival_count {
    uint64_t all;    /* since the start */
    uint32_t recent; /* in the window */
};

struct arrival_rates {
    struct arrival window[ARRIVAL_WINDOW]; /* a ring */
    uint64_t arrivals;
    size_t count;
    struct arrival_count counts[]; /* by application */
};

struct arrival_rates *arrival_rates_create(struct arena *arena, size_t count)
{
    struct arrival_rates *rates = arena_allocate(
        arena, 1, sizeof(struct arrival_rates) + count * sizeof(struct arrival_count));
    rates->count = count;
    return rates;
}

void arrival_rates_note(struct arrival_rates *rates, uint32_t application, sim_time_t now)
{
    struct arrival *slot = &rates->window[rates->arrivals % ARRIVAL_WINDOW];
    if (rates->arrivals >= ARRIVAL_WINDOW)
        rates->counts[slot->application].recent--;
    *slot = (struct arrival){now, application};
    rates->counts[application].recent++;
    rates->counts[application].all++;
    rates->arrivals++;
}

static uint64_t known(const struct arrival_rates *rates)
{
    return rates->arrivals < ARRIVAL_WINDOW ? rates->arrivals : ARRIVAL_WINDOW;
}

double arrival_rates_share(const struct arrival_rates *rates, size_t application)
{
    const struct arrival_count *own = &rates->counts[application];
    const double prior = 1 / (double)rates->count;
    const double recent = (own->recent + prior) / ((double)known(rates) + 1);
    const double all = ((double)own->all + prior) / ((double)rates->arrivals + 1);
    return 0.5 * (recent + all);
}

/* Arrivals per ns, of all applications; 0 while two arrivals are not known. */
static double total_rate(const struct arrival_rates *rates)
{
    if (rates->arrivals < 2)
        return 0;
    const uint64_t last = rates->arrivals - 1;
    const sim_time_t from = rates->window[(last + 1 - known(rates)) % ARRIVAL_WINDOW].time;
    const sim_time_t span = rates->window[last % ARRIVAL_WINDOW].time - from;
    return (double)(known(rates) - 1) / (double)(span > 0 ? span : 1);
}

double arrival_rates_interval(const struct arrival_rates *rates, size_t application)
{
    const double rate = total_rate(rates);
    return rate > 0 ? 1 / (rate * arrival_rates_share(rates, application)) : (double)INFINITY;
}
