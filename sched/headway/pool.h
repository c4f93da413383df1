/* Where batches run and which containers wait for them.
 *
 * Placement. Invokers with an idle container of the function come first. PACK takes the best fit,
 * which keeps whole GPUs and large slices free. SPREAD takes the invoker with the most free GPU
 * units, so that co-runners slow one another least. AUTO spreads if co-runners can slow one another
 * on the kind of GPU
 * and less than `dense` of the GPU units are held (mean over about `window`), else it packs.
 *
 * Pool. A batch that starts a container waits seconds for it, which few deadlines allow. Containers
 * are therefore started ahead of need, up to `target` per function and invoker as memory allows.
 * Their idle time is billed by the platform as that of all containers (cost_idle_usd).
 */
#ifndef ESGSIM_SCHED_HEADWAY_POOL_H
#define ESGSIM_SCHED_HEADWAY_POOL_H

#include "sched/headway/flights.h"
#include "sched/policy.h"

enum headway_placement { HEADWAY_AUTO, HEADWAY_SPREAD, HEADWAY_PACK };

enum { POOL_TARGET_AUTO = -1 };

struct pool_settings {
    enum headway_placement placement;
    double dense;
    sim_time_t window;
    int target; /* POOL_TARGET_AUTO: what memory holds if all functions have equally many */
};

struct pool;

/* `flights` must outlive the pool. */
struct pool *pool_create(struct arena *arena, const struct workload *workload,
                         const struct pool_settings *settings, const struct flights *flights);

/* A batch of the configuration holds its GPU units from now on, or no longer. */
void pool_use(struct pool *pool, const struct configuration *configuration, bool held,
              sim_time_t now);

/* An invoker on which a batch fits now, with an idle container if `warm`; SIM_NONE if there is
 * none. Every invoker looked at is charged as one unit of decision work. O(1) if it packs. If it
 * spreads: O(invokers), but at most 64 of them, from the function's home on. */
uint32_t pool_place(struct pool *pool, struct platform *platform, uint32_t function,
                    uint32_t configuration, bool warm);

/* Starts missing containers. Returns true if some are still missing, so that it must be called
 * again. O(functions × invokers), charged. */
bool pool_fill(struct pool *pool, struct platform *platform);

/* A container of `function` is being started for the pool. */
bool pool_starting(const struct pool *pool, const struct platform *platform, uint32_t function);

/* Σ GPU units of the cluster. A GPU of any kind counts as many as one of the first. */
double pool_capacity_units(const struct pool *pool);
double pool_capacity_vcpus(const struct pool *pool); /* Σ vCPUs */

#endif
