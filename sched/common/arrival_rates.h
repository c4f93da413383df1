/* How fast requests arrive, by application, learned from the arrivals.
 *
 * The rate of all applications together comes from the last ARRIVAL_WINDOW arrivals. An
 * application's share is the mean of its share in that window and of its share since the start,
 * because few arrivals say little of it.
 */
#ifndef ESGSIM_SCHED_COMMON_ARRIVAL_RATES_H
#define ESGSIM_SCHED_COMMON_ARRIVAL_RATES_H

#include "sim/base/arena.h"
#include "sim/base/units.h"

enum { ARRIVAL_WINDOW = 128 };

struct arrival_rates;

/* For `count` applications. It lives as long as the arena. */
struct arrival_rates *arrival_rates_create(struct arena *arena, size_t count);

/* A request of `application` arrived at `now`. O(1). */
void arrival_rates_note(struct arrival_rates *rates, uint32_t application, sim_time_t now);

/* The application's share of the arrivals; alike for all before any is known. */
double arrival_rates_share(const struct arrival_rates *rates, size_t application);

/* Mean ns between requests of `application`; INFINITY before two arrivals are known. */
double arrival_rates_interval(const struct arrival_rates *rates, size_t application);

#endif
