/* Ways to share a GPU between batches: one table, from which loaders, canonical form, cluster,
 * platform and policies take all that differs between them.
 *
 * A mode says which shares a GPU allows, how much memory a share has, and which share fits beside
 * what a GPU holds already. Batches on one GPU slow one another only in modes with `interferes`.
 */
#ifndef ESGSIM_WORKLOADS_WORLD_GPU_SHARING_H
#define ESGSIM_WORKLOADS_WORLD_GPU_SHARING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "workloads/world/workload.h"

enum { UNIT_PARTS = 100 }; /* hundredths of a unit: an instance may hold it part of the time */

/* What batches and instances hold of a GPU. */
struct gpu_use {
    uint32_t free_parts; /* that can be granted of its units, in hundredths */
    uint32_t holding;    /* batches and instances that hold units */
    uint8_t slots;       /* memory slots taken, in modes that have them */
};

struct gpu_sharing {
    const char *name; /* "sharing" of a GPU in files */
    bool interferes;  /* batches that execute at one time slow one another */
    /* A share may be held for a part of the time, and may change while a batch runs. */
    bool divisible;
    /* The GPU's model and units suit the mode; NULL: always. `why` receives what does not. */
    bool (*suits)(const struct gpu_spec *gpu, char *why, size_t size);
    /* A batch may use `vgpu` units of an empty GPU; vgpu >= 1. */
    bool (*allows)(const struct gpu_spec *gpu, uint16_t vgpu);
    /* Part of the GPU's memory that a share has; NULL: all of it. */
    double (*memory_share)(const struct gpu_spec *gpu, uint16_t vgpu);
    /* The most units that one more batch could get. */
    uint32_t (*headroom)(const struct gpu_spec *gpu, const struct gpu_use *use);
    /* `vgpu` units for `quota` per cent of the time fit beside what is held. */
    bool (*fits)(const struct gpu_spec *gpu, const struct gpu_use *use, uint16_t vgpu,
                 uint32_t quota);
    /* Memory slots that a share takes beside those taken, 0 where none fits; NULL: no slots. */
    uint8_t (*slots)(const struct gpu_spec *gpu, uint8_t taken, uint16_t vgpu);
};

/* Indexed by gpu_spec.sharing; enum sharing names those that the program itself refers to. */
extern const struct gpu_sharing gpu_sharings[];
extern const size_t gpu_sharing_count;

static inline const struct gpu_sharing *gpu_sharing_of(const struct gpu_spec *gpu)
{
    return &gpu_sharings[gpu->sharing];
}

#endif
