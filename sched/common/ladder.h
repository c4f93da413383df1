/* Execution time by batch on one share of a GPU: what a server of that share can do.
 *
 * For planners that reserve shares and then choose batches (Nexus, gpulet). A step is a batch size
 * of the profile at its fastest configuration; steps that a larger batch undercuts run as that one,
 * so that time never falls as the batch grows.
 */
#ifndef ESGSIM_SCHED_COMMON_LADDER_H
#define ESGSIM_SCHED_COMMON_LADDER_H

#include "sched/common/planner.h"

struct ladder {
    size_t count;    /* at least 1; the first step is of batch 1 */
    uint32_t *batch; /* strictly ascending */
    uint32_t *configuration;
    sim_time_t *time; /* ascending */
};

/* The steps up to `max_batch` of `function` with `vgpu` units: per batch the fastest configuration
 * that the planner's cluster can run, of at most `vcpus` where there is one. Leaves count 0 where
 * the function has no batch of 1 with that share. False with ERROR_RUN when out of memory. */
bool ladder_fill(struct ladder *ladder, const struct workload *workload,
                 const struct planner *planner, uint32_t function, uint16_t vgpu, uint16_t vcpus,
                 uint32_t max_batch, struct error *error);
void ladder_clear(struct ladder *ladder);

/* The first step that holds `jobs` (>= 1); `count` where none does. O(steps). */
size_t ladder_step(const struct ladder *ladder, uint32_t jobs);

/* Time of `jobs` together; SIM_FOREVER where they are too many. */
sim_time_t ladder_time(const struct ladder *ladder, uint32_t jobs);

#endif
