#include "sched/fast_gshare/tokens.h"

/* One step of filling: the lowest rates rise together to the next rate or limit, or to where the
 * area is used up. False where nothing can rise. */
static bool fluid_rise(double *area, const struct token_pod *pods, size_t count, double *rates)
{
    double low = 2;
    double next = 2;
    uint64_t shares = 0;
    for (size_t i = 0; i < count; i++)
        if (rates[i] < pods[i].limit && rates[i] < low)
            low = rates[i];
    for (size_t i = 0; i < count; i++) {
        if (rates[i] >= pods[i].limit)
            continue;
        if (rates[i] > low) {
            next = rates[i] < next ? rates[i] : next;
            continue;
        }
        shares += pods[i].share;
        next = pods[i].limit < next ? pods[i].limit : next;
    }
    if (low > 1 || shares == 0 || !(*area > 0))
        return false;
    const double wanted = (next - low) * (double)shares;
    const double to = wanted <= *area ? next : low + *area / (double)shares;
    *area = wanted <= *area ? *area - wanted : 0;
    for (size_t i = 0; i < count; i++)
        if (rates[i] < pods[i].limit && rates[i] <= low)
            rates[i] = to;
    return true;
}

bool tokens_fluid(uint32_t capacity, const struct token_pod *pods, size_t count, double *rates)
{
    double area = capacity;
    for (size_t i = 0; i < count; i++) {
        rates[i] = pods[i].request;
        area -= pods[i].share * pods[i].request;
    }
    if (area < -1e-9 * capacity)
        return false;
    while (fluid_rise(&area, pods, count, rates))
        ;
    return true;
}
