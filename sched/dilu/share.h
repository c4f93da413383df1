/* Dilu's vertical scaling (ASPLOS'25, RCKM) as an abstraction: who has which share of a GPU.
 *
 * The real one grants tokens to kernel launches every 5 ms [code: vertical_scaling/server/RCKM.c]:
 * an instance with an SLO gets its limit while it works alone on its GPU and its request as soon as
 * another is active, that is, works or worked within the last 10 ticks. (As coded an instance
 * takes itself for that other; what is here is the intent.) Training jobs get what is left, by
 * rules for emergency and recovery that have no part here.
 *
 * In the simulator an instance holds the share it has, whether it works or not, and a GPU is never
 * over-committed, though the limits on it are. So [derived]:
 * - All have their requests while none works, or more than one is active.
 * - One that works alone gets its limit: where that is not free, the idle ones' holdings are cut to
 *   what it leaves, evenly, down to 1 % of the time, and the one at work gets its share for the
 *   rest of the time, 99 % of it at least. Where a smaller share with more time is faster, or the
 *   GPU is smaller than the limit, it gets that.
 * - The moment another starts to work both have their requests again.
 */
#ifndef ESGSIM_SCHED_DILU_SHARE_H
#define ESGSIM_SCHED_DILU_SHARE_H

#include "sched/dilu/profile.h"

struct dilu_holder {
    const struct dilu_level *levels; /* share at least 1 */
    size_t level_count;              /* >= 1 */
    bool working;                    /* runs a batch */
    bool active;                     /* does, or did of late */
    size_t level;                    /* set: what it gets … */
    uint32_t quota;                  /* … for how many per cent of the time */
};

/* Sets level and quota of all on a GPU of `units`: Σ share × quota <= 100 × units. False, all at
 * their requests, where these alone exceed the GPU. O(count + levels). */
bool dilu_grant(uint32_t units, struct dilu_holder *holders, size_t count);

#endif
