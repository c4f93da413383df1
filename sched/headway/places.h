/* Where batches run.
 *
 * Invokers with an idle container of the function come first. PACK takes the best fit, which keeps
 * whole GPUs and large slices free. SPREAD takes the invoker with the most free GPU units, so that
 * co-runners slow one another least. AUTO spreads if co-runners can slow one another on the kind of
 * GPU and less than `dense` of the GPU units are held (mean over about `window`), else it packs.
 */
#ifndef ESGSIM_SCHED_HEADWAY_PLACES_H
#define ESGSIM_SCHED_HEADWAY_PLACES_H

#include "sched/policy.h"
#include "sim/base/arena.h"

enum headway_placement { HEADWAY_AUTO, HEADWAY_SPREAD, HEADWAY_PACK };

struct places_settings {
    enum headway_placement placement;
    double dense;
    sim_time_t window;
};

struct places;

struct places *places_create(struct arena *arena, const struct workload *workload,
                             const struct places_settings *settings);

/* A batch of the configuration holds its GPU units from now on, or no longer. */
void places_use(struct places *places, const struct configuration *configuration, bool held,
                sim_time_t now);

/* An invoker on which a batch fits now, with an idle container if `warm`; SIM_NONE if there is
 * none. Every invoker looked at is charged as one unit of decision work. O(1) if it packs. If it
 * spreads: O(invokers), but at most 64 of them, from the function's home on. */
uint32_t places_choose(struct places *places, struct platform *platform, uint32_t function,
                       uint32_t configuration, bool warm);

/* GPU units of a batch in execution, mean over about `window`; 0 before the first. */
double places_mean_units(const struct places *places);

/* Σ GPU units of the cluster. A GPU of any kind counts as many as one of the first. */
double places_units(const struct places *places);
double places_vcpus(const struct places *places); /* Σ vCPUs */

#endif
