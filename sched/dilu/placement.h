/* Dilu's resourcing-complementary scheduling (ASPLOS'25): the GPU of a new instance.
 *
 * [code: scheduling/scheduler.py] A GPU qualifies if three sums, including the new instance, are
 * within bounds: the requests within omega (1.0) of the GPU, the limits within gamma (1.5), and the
 * memory within the GPU's. Limits are over-subscribed because not all instances work at once. Among
 * the qualifying GPUs the lowest score wins, with sums that include the new instance, in shares of
 * the GPU:
 *
 *     alpha (1 - Σ request) + beta (1 - Σ memory / capacity),   alpha 0.6, beta 0.4
 *
 * This is the best fit over both resources. GPUs in use are tried first, then unused ones. Before
 * both the original tries the other GPUs of a training job beside which the function already runs
 * [code: find_colocated_GPUs, lines 101-118]. Without training jobs there are none.
 *
 * Ties of scores are broken as follows [derived]: a GPU whose invoker has an idle container of the
 * function, then the first.
 */
#ifndef ESGSIM_SCHED_DILU_PLACEMENT_H
#define ESGSIM_SCHED_DILU_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/dilu/rckm.h"

#define DILU_NOWHERE SIZE_MAX

/* A GPU: its capacity, and its instances with the sums of their requests and limits. */
struct dilu_gpu {
    uint32_t invoker, which; /* invoker, and index among its GPUs */
    uint32_t kind, units;
    double memory_mb;
    double request, limit; /* units */
    double used_mb;
    uint32_t *residents; /* instances, oldest first */
    uint32_t instances;
    struct rckm rckm; /* of its trainings */
};

struct dilu_need {
    double request, limit; /* units */
    double memory_mb;
    uint32_t kind; /* of the GPU */
};

struct dilu_rule {
    double omega, gamma, alpha, beta;
};

/* The caller's verdict on a GPU by its other resources (vCPUs, host memory …): impossible, possible
 * with a cold start, possible with an idle container. */
enum dilu_admission { DILU_REFUSED, DILU_COLD, DILU_WARM };

struct dilu_admitter {
    void *context;
    enum dilu_admission (*ask)(void *context, size_t gpu);
};

/* Index of the GPU for the instance; DILU_NOWHERE if there is none. The admitter is called only for
 * GPUs that would be the best so far. O(count). */
size_t dilu_place(const struct dilu_rule *rule, const struct dilu_gpu *gpus, size_t count,
                  const struct dilu_need *need, const struct dilu_admitter *admitter);

#endif
