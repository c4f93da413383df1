/* Dilu's vertical scaling (ASPLOS'25, RCKM) as an abstraction: each instance's share of a GPU.
 *
 * The original grants tokens to kernel launches every 5 ms [code: vertical_scaling/server/RCKM.c].
 * An instance with an SLO gets its limit while it works alone on its GPU. It gets its request as
 * soon as another instance is active, that is, works or worked within the last 10 ticks. (As coded
 * an instance counts itself as that other; this file implements the intent.) Training jobs get the
 * rest, by rules for emergency and recovery that do not apply here.
 *
 * In the simulator an instance holds its share whether it works or not. The shares held on a GPU
 * never exceed it, although the sum of the limits may. Therefore [derived]:
 * - All instances have their requests while none works, or while more than one is active.
 * - An instance that works alone gets its limit. If that is not free, the holdings of the idle ones
 *   are cut evenly to the remainder, down to 1 % of the time. The working instance then gets its
 *   share for the rest of the time, at least 99 %. If a smaller share with more time is faster, or
 *   the GPU is smaller than the limit, it gets that share.
 * - As soon as another instance starts to work, both get their requests again.
 */
#ifndef ESGSIM_SCHED_DILU_SHARE_H
#define ESGSIM_SCHED_DILU_SHARE_H

#include "sched/dilu/profile.h"

struct dilu_holder {
    const struct dilu_level *levels; /* every share is at least 1 */
    size_t level_count;              /* >= 1 */
    bool working;                    /* runs a batch */
    bool active;                     /* runs a batch, or did so recently */
    size_t level;                    /* result: index of the level granted … */
    uint32_t quota;                  /* … for this percentage of the time */
};

/* Sets level and quota of all holders on a GPU of `units` units, with Σ share × quota <= 100 ×
 * units. False, with all at their requests, if the requests alone exceed the GPU. O(count +
 * levels). */
bool dilu_grant(uint32_t units, struct dilu_holder *holders, size_t count);

#endif
