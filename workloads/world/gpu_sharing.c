#include "workloads/world/gpu_sharing.h"

#include <stdio.h>
#include <string.h>

/* ---- MPS ------------------------------------------------------------------------------------- */

static bool mps_allows(const struct gpu_spec *gpu, uint16_t vgpu)
{
    return vgpu <= gpu->units;
}

static uint32_t mps_headroom(const struct gpu_spec *gpu, const struct gpu_use *use)
{
    const uint32_t units = use->free_parts / UNIT_PARTS;
    return units < gpu->units ? units : gpu->units; /* more is free of an over-subscribed GPU */
}

static bool mps_fits(const struct gpu_spec *gpu, const struct gpu_use *use, uint16_t vgpu,
                     uint32_t quota)
{
    return vgpu * quota <= use->free_parts && vgpu <= gpu->units;
}

/* ---- MIG ------------------------------------------------------------------------------------- */

/* NVIDIA's Multi-Instance GPU user guide: A100, A800, H100, H200, H800 offer instances of 1, 2, 3,
 * 4 and 7 sevenths of their compute; A30 of 1, 2 and 4 quarters. */
static const struct mig_device {
    const char *prefix;
    uint16_t units;
} mig_devices[] = {{"A100", 7}, {"A800", 7}, {"H100", 7}, {"H200", 7}, {"H800", 7}, {"A30", 4}};

/* The same guide: where the slices of each size may begin on the memory slots. */
static const struct mig_shape {
    uint8_t units, slots; /* compute sevenths, memory eighths; A30: quarters of both */
    uint8_t starts[8];    /* preferred first: from the top, to keep room for 4 and 7 */
    uint8_t start_count;
} mig_sevenths[] =
    {
        {7, 8, {0}, 1},
        {4, 4, {0}, 1},
        {3, 4, {4, 0}, 2},
        {2, 2, {4, 2, 0}, 3},
        {1, 1, {6, 5, 4, 3, 2, 1, 0}, 7},
},
  mig_quarters[] = {
      {4, 4, {0}, 1},
      {2, 2, {2, 0}, 2},
      {1, 1, {3, 2, 1, 0}, 4},
};

/* Compute slices of a model, by the beginning of its name; 0 if it does not support MIG. */
static uint16_t mig_units(const char *model)
{
    for (size_t i = 0; i < sizeof mig_devices / sizeof *mig_devices; i++)
        if (strncmp(model, mig_devices[i].prefix, strlen(mig_devices[i].prefix)) == 0)
            return mig_devices[i].units;
    return 0;
}

/* The shapes of the device, largest first. */
static const struct mig_shape *mig_shapes(const struct gpu_spec *gpu, size_t *count)
{
    const bool quarters = gpu->units == 4;
    *count = quarters ? sizeof mig_quarters / sizeof *mig_quarters
                      : sizeof mig_sevenths / sizeof *mig_sevenths;
    return quarters ? mig_quarters : mig_sevenths;
}

/* Slots that a slice of the shape would take beside those taken; 0 where it cannot be placed. */
static uint8_t shape_slots(const struct mig_shape *shape, uint8_t taken)
{
    for (size_t k = 0; k < shape->start_count; k++) {
        const uint32_t mask = ((1U << shape->slots) - 1U) << shape->starts[k];
        if ((taken & mask) == 0)
            return (uint8_t)mask;
    }
    return 0;
}

static uint8_t mig_slots(const struct gpu_spec *gpu, uint8_t taken, uint16_t vgpu)
{
    size_t count;
    const struct mig_shape *shapes = mig_shapes(gpu, &count);
    for (size_t i = 0; i < count; i++)
        if (shapes[i].units == vgpu)
            return shape_slots(&shapes[i], taken);
    return 0;
}

static bool mig_suits(const struct gpu_spec *gpu, char *why, size_t size)
{
    static const char models[] = "A100, A800, H100, H200, H800, A30";
    const uint16_t units = mig_units(gpu->model);
    if (gpu->model[0] == '\0')
        (void)snprintf(why, size, "has no \"model\", which \"mig\" needs; give one of %s", models);
    else if (units == 0)
        (void)snprintf(why, size,
                       "model \"%s\" has no MIG slices here (%s have); use \"mps\" or "
                       "\"exclusive\"",
                       gpu->model, models);
    else if (gpu->units != units)
        (void)snprintf(why, size, "\"units\" is %u, but a MIG %s has %u compute slices", gpu->units,
                       gpu->model, units);
    return units != 0 && gpu->units == units;
}

static bool mig_allows(const struct gpu_spec *gpu, uint16_t vgpu)
{
    return gpu->units == mig_units(gpu->model) && mig_slots(gpu, 0, vgpu) != 0;
}

/* The same guide: an instance's memory is in eighths (A30: quarters); 3 sevenths of the compute
 * have 4 eighths of it. */
static double mig_memory_share(const struct gpu_spec *gpu, uint16_t vgpu)
{
    if (gpu->units == 4)
        return vgpu / 4.0;
    return (vgpu == 3 || vgpu == 7 ? vgpu + 1 : vgpu) / 8.0;
}

static uint32_t mig_headroom(const struct gpu_spec *gpu, const struct gpu_use *use)
{
    size_t count;
    const struct mig_shape *shapes = mig_shapes(gpu, &count);
    for (size_t i = 0; i < count; i++)
        if (shape_slots(&shapes[i], use->slots) != 0)
            return shapes[i].units;
    return 0;
}

static bool mig_fits(const struct gpu_spec *gpu, const struct gpu_use *use, uint16_t vgpu,
                     uint32_t quota)
{
    return quota == UNIT_PARTS && mig_slots(gpu, use->slots, vgpu) != 0;
}

/* ---- Exclusive ------------------------------------------------------------------------------- */

static bool exclusive_allows(const struct gpu_spec *gpu, uint16_t vgpu)
{
    return vgpu == gpu->units;
}

static uint32_t exclusive_headroom(const struct gpu_spec *gpu, const struct gpu_use *use)
{
    return use->holding == 0 ? gpu->units : 0;
}

static bool exclusive_fits(const struct gpu_spec *gpu, const struct gpu_use *use, uint16_t vgpu,
                           uint32_t quota)
{
    return quota == UNIT_PARTS && use->holding == 0 && vgpu == gpu->units;
}

/* ---- The table ------------------------------------------------------------------------------- */

const struct gpu_sharing gpu_sharings[] = {
    [SHARING_MPS] = {.name = "mps",
                     .interferes = true,
                     .divisible = true,
                     .allows = mps_allows,
                     .headroom = mps_headroom,
                     .fits = mps_fits},
    [SHARING_MIG] = {.name = "mig",
                     .suits = mig_suits,
                     .allows = mig_allows,
                     .memory_share = mig_memory_share,
                     .headroom = mig_headroom,
                     .fits = mig_fits,
                     .slots = mig_slots},
    [SHARING_EXCLUSIVE] = {.name = "exclusive",
                           .allows = exclusive_allows,
                           .headroom = exclusive_headroom,
                           .fits = exclusive_fits},
};
const size_t gpu_sharing_count = sizeof gpu_sharings / sizeof *gpu_sharings;

bool gpu_allows(const struct gpu_spec *gpu, uint16_t vgpu)
{
    return gpu_sharing_of(gpu)->allows(gpu, vgpu);
}

bool gpu_holds(const struct gpu_spec *gpu, uint16_t vgpu, double memory_mb)
{
    const struct gpu_sharing *sharing = gpu_sharing_of(gpu);
    const double share = sharing->memory_share == NULL ? 1 : sharing->memory_share(gpu, vgpu);
    return memory_mb <= gpu->memory_mb * share;
}

bool gpu_runs(const struct gpu_spec *gpu, const struct configuration *configuration)
{
    return gpu->kind == configuration->kind && gpu_allows(gpu, configuration->vgpu) &&
           gpu_holds(gpu, configuration->vgpu, configuration->gpu_memory_mb);
}
