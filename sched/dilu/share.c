#include "sched/dilu/share.h"

/* Percentage of the time that each idle instance keeps if `parts` hundredths are left for requests
 * of `idle` units in total. */
static uint32_t idle_quota(uint32_t parts, uint32_t idle)
{
    const uint32_t quota = idle > 0 ? parts / idle : 100;
    return quota > 100 ? 100 : quota < 1 ? 1 : quota;
}

/* Percentage of the time for which the working instance can have `share`. */
static uint32_t worker_quota(uint32_t units, uint32_t share, uint32_t idle)
{
    if (share > units)
        return 0;
    const uint32_t parts = 100 * units - idle * idle_quota(100 * (units - share), idle);
    return parts / share > 100 ? 100 : parts / share;
}

/* One instance works alone, next to idle ones with requests of `idle` units in total. */
static void grant_alone(uint32_t units, uint32_t idle, struct dilu_holder *worker)
{
    double least = (double)worker->levels[0].time;
    for (size_t i = 1; i < worker->level_count; i++) {
        const uint32_t quota = worker_quota(units, worker->levels[i].share, idle);
        const double time = quota > 0 ? (double)worker->levels[i].time * 100 / quota : 0;
        if (quota > 0 && time <= least) {
            worker->level = i;
            worker->quota = quota;
            least = time;
        }
    }
}

bool dilu_grant(uint32_t units, struct dilu_holder *holders, size_t count)
{
    struct dilu_holder *worker = NULL;
    uint32_t requests = 0;
    size_t active = 0;
    for (size_t i = 0; i < count; i++) {
        holders[i].level = 0;
        holders[i].quota = 100;
        requests += holders[i].levels[0].share;
        active += holders[i].working || holders[i].active;
        if (holders[i].working)
            worker = &holders[i];
    }
    if (requests > units)
        return false;
    if (worker == NULL || active > 1)
        return true;
    const uint32_t idle = requests - worker->levels[0].share;
    grant_alone(units, idle, worker);
    const uint32_t left = 100 * units - worker->levels[worker->level].share * worker->quota;
    for (size_t i = 0; i < count; i++)
        if (&holders[i] != worker)
            holders[i].quota = idle_quota(left, idle);
    return true;
}
