/* Units of the simulated world.
 *
 * Simulated time is an integer count of nanoseconds from the start of the run: sums of integers do
 * not depend on the order in which they are added, so two ways of reaching one instant agree to the
 * last bit. Money is a double in US dollars. Memory is a count of megabytes (2^20 bytes).
 */
#ifndef ESGSIM_SIM_UNITS_H
#define ESGSIM_SIM_UNITS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* Nanoseconds since the start of the run, or a duration in nanoseconds. */
typedef int64_t sim_time_t;

#define SIM_US ((sim_time_t)1000)
#define SIM_MS ((sim_time_t)1000000)
#define SIM_S ((sim_time_t)1000000000)
#define SIM_HOUR (3600 * SIM_S)
/* "Never": later than any event; far enough from the end of the range to add durations to. */
#define SIM_FOREVER (INT64_MAX / 4)
/* No run goes on beyond this time, about 18 years: so times that are summed over the stages of a
 * request, RECORD_MAX_STAGES at most, fit. */
#define SIM_CLOCK_END (INT64_MAX / 16)

/* "None" for ids of invokers, queues, functions, containers, batches. */
#define SIM_NONE UINT32_MAX

static inline double sim_to_ms(sim_time_t time)
{
    return (double)time / 1e6;
}

static inline double sim_to_s(sim_time_t time)
{
    return (double)time / 1e9;
}

/* Towards 0; SIM_FOREVER for what is greater or no number, -SIM_FOREVER for what is less. */
static inline sim_time_t sim_whole(double value)
{
    if (!(value < (double)SIM_FOREVER))
        return SIM_FOREVER;
    return value > -(double)SIM_FOREVER ? (sim_time_t)value : -SIM_FOREVER;
}

/* llround and ceil, within the same bounds: a value without its whole part is exact. */
static inline sim_time_t sim_round(double value)
{
    const sim_time_t whole = sim_whole(value);
    const double rest = value - (double)whole;
    if (!(rest > -1 && rest < 1))
        return whole;
    return whole + (rest >= 0.5) - (rest <= -0.5);
}

static inline sim_time_t sim_ceil(double value)
{
    const sim_time_t whole = sim_whole(value);
    return whole + (whole < SIM_FOREVER && (double)whole < value);
}

/* Rounds to the nearest nanosecond, within the same bounds. */
static inline sim_time_t sim_from_ms(double ms)
{
    return sim_round(ms * 1e6);
}

static inline sim_time_t sim_from_s(double s)
{
    return sim_round(s * 1e9);
}

#endif
