/* Batches and trainings that execute on one GPU and slow one another down (not a public header): by
 * the profile's interference, and by over-subscription, where their shares exceed the GPU. What
 * trainings do to one another besides is in their models' pairs. */
#ifndef ESGSIM_SIM_PLATFORM_GPU_WORK_H
#define ESGSIM_SIM_PLATFORM_GPU_WORK_H

#include "sim/platform/state.h"

/* Allocates one empty table per GPU. Without `interference` only over-subscription slows batches.
 */
void gpu_work_init(struct platform *platform, bool interference);
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

/* Updates the rates of the batches on a GPU after its trainings changed. No effect where batches do
 * not interfere. */
void gpu_work_trainings_changed(struct platform *platform, uint32_t gpu);
/* The part of its share that each batch and training has while they execute on a GPU: units ÷ Σ
 * shares where that exceeds the units, else 1. Trainings that restart do not execute. Training `id`
 * counts with `parts` (hundredths of units) whatever it does; SIM_NONE: none. O(executions ×
 * gang). */
double gpu_work_part(const struct platform *platform, uint32_t gpu, uint32_t id, uint32_t parts);
/* Slowdown - 1 of training `id`, with `share` of the GPU, by the batches that execute there. It and
 * they have `part` of their shares (gpu_work_part). Under the constant and the pairs without slopes
 * each adds the constant × (its share × `share` / 0.21) ^ training.share_exponent, and the training
 * adds the same to the batch. O(batches there). */
double gpu_work_excess(const struct platform *platform, uint32_t gpu, uint32_t id, double share,
                       double part);

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
