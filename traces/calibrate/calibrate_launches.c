#include "traces/calibrate/calibrate_launches.h"

#include <math.h>

const double LAUNCHES_MARGIN = 0.05;
const char LAUNCHES_RULE[] =
    "bound by launches: the time on the least share is at most 5 % above that on the whole GPU";

/* The function's time at a batch and share; NAN where it was not measured. */
static double time_at(const struct sample_set *set, uint32_t function, int batch, int share)
{
    for (size_t i = 0; i < set->latency_count; i++)
        if (set->latencies[i].function == function && set->latencies[i].batch == batch &&
            set->latencies[i].share == share)
            return set->latencies[i].ms;
    return NAN;
}

static int least_share(const struct sample_set *set, uint32_t function)
{
    int least = set->unit;
    for (size_t i = 0; i < set->latency_count; i++)
        if (set->latencies[i].function == function && set->latencies[i].share < least)
            least = set->latencies[i].share;
    return least;
}

/* Samples are sorted by function, then batch. */
bool launches_of(const struct sample_set *set, uint32_t function, struct launches *launches)
{
    const int least = least_share(set, function);
    *launches = (struct launches){.count = set->facts[function].launches};
    if (!isfinite(launches->count) || least == set->unit)
        return false;
    for (size_t i = 0; i < set->latency_count; i++) {
        const struct latency_sample *sample = &set->latencies[i];
        if (sample->function != function || sample->share != set->unit)
            continue;
        const double ratio = time_at(set, function, sample->batch, least) / sample->ms;
        if (isnan(ratio))
            continue;
        if (launches->batch == 0) {
            launches->batch = sample->batch;
            launches->ms = sample->ms;
            launches->ratio = ratio;
        }
        if (ratio > 1 + LAUNCHES_MARGIN)
            break;
        launches->up_to = sample->batch;
    }
    return launches->batch > 0;
}
