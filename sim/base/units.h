/* Units of simulated quantities.
 *
 * Simulated time is a whole number of nanoseconds since the start of the run. Integer sums do not
 * depend on the order of additions, so times computed in different ways are exactly equal. Money is
 * a double in US dollars. Memory is a whole number of megabytes (2^20 bytes).
 */
#ifndef ESGSIM_SIM_BASE_UNITS_H
#define ESGSIM_SIM_BASE_UNITS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* Nanoseconds since the start of the run, or a duration in nanoseconds. */
typedef int64_t sim_time_t;

#define SIM_US ((sim_time_t)1000)
#define SIM_MS ((sim_time_t)1000000)
#define SIM_S ((sim_time_t)1000000000)
#define SIM_HOUR (3600 * SIM_S)
/* "Never": later than any event, and small enough that adding durations does not overflow. */
#define SIM_FOREVER (INT64_MAX / 4)
/* Latest time of a run, about 18 years. Times summed over the stages of a request, at most
 * RECORD_MAX_STAGES, do not overflow. */
#define SIM_CLOCK_END (INT64_MAX / 16)

/* "None" for ids of invokers, queues, functions, containers and batches. */
#define SIM_NONE UINT32_MAX

static inline double sim_to_ms(sim_time_t time)
{
    return (double)time / 1e6;
}

static inline double sim_to_s(sim_time_t time)
{
    return (double)time / 1e9;
}

/* Truncates towards 0. Values out of range give ±SIM_FOREVER; NAN gives SIM_FOREVER. */
static inline sim_time_t sim_whole(double value)
{
    if (!(value < (double)SIM_FOREVER))
        return SIM_FOREVER;
    return value > -(double)SIM_FOREVER ? (sim_time_t)value : -SIM_FOREVER;
}

/* Like llround and ceil, with the limits of sim_whole. The subtraction of the whole part is exact.
 */
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

/* Rounds to the nearest nanosecond, with the limits of sim_whole. */
static inline sim_time_t sim_from_ms(double ms)
{
    return sim_round(ms * 1e6);
}

static inline sim_time_t sim_from_s(double s)
{
    return sim_round(s * 1e9);
}

#endif
