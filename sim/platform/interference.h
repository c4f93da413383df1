/* Interference: batches that execute on one GPU and slow one another down (not a public header). */
#ifndef ESGSIM_SIM_PLATFORM_INTERFERENCE_H
#define ESGSIM_SIM_PLATFORM_INTERFERENCE_H

#include "sim/platform/state.h"

/* Allocates one empty table per GPU. Without `interference` none of them interferes. False: memory
 * exhausted. */
bool gpu_work_init(struct platform *platform, bool interference);
/* Frees the memory allocated by gpu_work_init and the run. */
void gpu_work_clear(struct platform *platform);
/* Starts the execution of batch `id` on a GPU with interference, and updates the rates of all
 * batches on this GPU. */
void gpu_work_add(struct platform *platform, uint32_t id);
/* Removes batch `id`, which has finished, and updates the rates. Called for the GPU's event, which
 * is then no longer pending. */
void gpu_work_remove(struct platform *platform, uint32_t id);
/* Returns the remaining execution time of batch `id` at rate 1, in ns. It is negative only by
 * rounding errors. */
double gpu_work_left(const struct platform *platform, uint32_t id);
/* Restarts the execution of batch `id` with the batch's present work, configuration and quota. */
void gpu_work_reshare(struct platform *platform, uint32_t id);

/* Returns whether batches on the GPU interfere. False for SIM_NONE. */
static inline bool gpu_interferes(const struct platform *platform, uint32_t gpu)
{
    return gpu != SIM_NONE && platform->gpu_work[gpu].interferes;
}

/* Returns `quota` per cent of `whole`. */
static inline double quota_part(double whole, uint32_t quota)
{
    return whole * ((double)quota / UNIT_PARTS);
}

#endif
