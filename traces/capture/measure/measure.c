/* Names and clocks shared by all measurements. */
#include "traces/capture/measure/measure.h"

#include <time.h>

const char *measure_cold_part(size_t part)
{
    static const char *const names[MEASURE_PARTS] = {"process", "context", "module",
                                                     "weights", "first",   "total"};
    return names[part];
}

const char *measure_memory_part(size_t part)
{
    static const char *const names[MEASURE_PARTS - 1] = {"context", "module", "weights",
                                                         "activations", "workspace"};
    return names[part];
}

static double clock_s(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

double measure_now_ms(void)
{
    return 1e3 * clock_s(CLOCK_MONOTONIC);
}

double measure_unix_s(void)
{
    return clock_s(CLOCK_REALTIME);
}
