/* Batches that execute on one GPU and disturb one another (not a public header). */
#ifndef ESGSIM_SIM_PLATFORM_INTERFERENCE_H
#define ESGSIM_SIM_PLATFORM_INTERFERENCE_H

#include "sim/platform/state.h"

/* Makes an empty table per GPU. False when out of memory. */
bool gpu_work_init(struct platform *platform);
/* Frees what gpu_work_init and the run allocated. */
void gpu_work_clear(struct platform *platform);
/* Batch `id` starts to execute on a GPU that interferes; the others become slower. */
void gpu_work_add(struct platform *platform, uint32_t id);
/* It has finished, by the GPU's event. */
void gpu_work_remove(struct platform *platform, uint32_t id);
/* ns of its execution left at rate 1, as it is now; below 0 by rounding alone. */
double gpu_work_left(const struct platform *platform, uint32_t id);
/* It goes on with the work, configuration and quota that the batch has now. */
void gpu_work_reshare(struct platform *platform, uint32_t id);

/* Do batches on the GPU (SIM_NONE: none) disturb one another? */
static inline bool gpu_interferes(const struct platform *platform, uint32_t gpu)
{
    return platform->interference && gpu != SIM_NONE &&
           gpu_sharing_of(platform->cluster.gpus[gpu].spec)->interferes;
}

/* `quota` per cent of `whole`. */
static inline double quota_part(double whole, uint32_t quota)
{
    return whole * ((double)quota / UNIT_PARTS);
}

#endif
