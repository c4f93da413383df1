/* Dilu's resourcing-complementary scheduling (ASPLOS'25): on which GPU a new instance goes.
 *
 * [code: scheduling/scheduler.py] An instance may go where the requests of all that live there stay
 * within omega (1.0) of the GPU, the limits within gamma (1.5: they are over-subscribed, because
 * not all work at once), and the memory within what the GPU has. Of these places the lowest score
 *
 *     alpha (1 - Σ request) + beta (1 - Σ memory / capacity),   alpha 0.6, beta 0.4
 *
 * wins, sums with the new instance and in shares of the GPU: the best fit over both. For an
 * inference instance it is looked for in three classes, and only where one has no place in the
 * next: GPUs that share a training job with a GPU where the function is already (a further
 * instance then slows the same job and no other), GPUs in use, GPUs unused.
 *
 * Porting: there is no training here, so the first class is empty; who has training jobs gives it
 * as `affine`. Which GPU where scores tie is [derived]: one whose invoker has an idle container of
 * the function, then the first.
 */
#ifndef ESGSIM_SCHED_DILU_PLACEMENT_H
#define ESGSIM_SCHED_DILU_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DILU_NOWHERE SIZE_MAX

/* A GPU: what it has, and what its instances may have at least and at most. */
struct dilu_gpu {
    double units, memory_mb;
    double request, limit; /* units */
    double used_mb;
    uint32_t instances;
};

struct dilu_need {
    double request, limit; /* units */
    double memory_mb;
};

struct dilu_rule {
    double omega, gamma, alpha, beta;
};

/* What only the caller knows of a place: not possible (vCPUs, host memory …), possible, possible
 * and at once. */
enum dilu_admission { DILU_REFUSED, DILU_COLD, DILU_WARM };

struct dilu_admitter {
    void *context;
    enum dilu_admission (*ask)(void *context, size_t gpu);
};

/* The index of the GPU for the instance, DILU_NOWHERE where there is none. `affine`, by GPU, may be
 * NULL: none is. The admitter is asked only about GPUs that would be the best so far. O(count). */
size_t dilu_place(const struct dilu_rule *rule, const struct dilu_gpu *gpus, size_t count,
                  const bool *affine, const struct dilu_need *need,
                  const struct dilu_admitter *admitter);

#endif
