/* Dilu's placement of inference, large language models and trainings on a pool of GPUs, and that of
 * its baselines.
 *
 * The authors' large-scale simulation (sigserverless/Dilu at 1134655, scheduling/simulations/
 * baseline/scheduler_{dilu,infless_l,infless_r,k8s}.py), in our own words. GPUs are free or active.
 * Both lists have an order: active GPUs that of their activation, free ones that in which they
 * became free. A GPU admits an instance if the sums of requests, of limits and of memory stay
 * within bounds. The pool keeps these sums itself and adds and subtracts in the order of events.
 *
 * The original goes through active GPUs in the order of a Python set, so ties there depend on
 * memory addresses. Here the GPU that was activated first wins.
 */
#ifndef ESGSIM_SCHED_DILU_GPU_POOL_H
#define ESGSIM_SCHED_DILU_GPU_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/arena.h"

enum dilu_scheme {
    DILU_WHOLE,     /* request and limit, affinity, complementary resources */
    DILU_INFLESS_L, /* request = limit; best fit by requests */
    DILU_INFLESS_R, /* limit = request */
    DILU_EXCLUSIVE  /* a GPU of its own */
};

enum dilu_kind { DILU_INFERENCE, DILU_LLM, DILU_TRAINING };

struct dilu_pool_rule {
    enum dilu_scheme scheme;
    double omega, gamma,
        alpha; /* bounds of Σ request and Σ limit in GPUs; weight of the requests */
};

struct dilu_job {
    enum dilu_kind kind;
    uint32_t function;     /* of inference: instances of one function */
    uint32_t gpus;         /* of a training; all on one node */
    double request, limit; /* of each GPU */
    double memory;         /* on each GPU, in the unit of the pool's */
};

/* Numbers in order. */
struct dilu_list {
    uint32_t *numbers, count;
};

struct dilu_pool_gpu {
    uint32_t node;
    double request, limit, memory; /* sums */
    struct dilu_list residents;    /* instances */
    bool active;
    bool barred; /* no job is placed here (dilu_pool_bar) */
};

/* One started job. */
struct dilu_placed {
    struct dilu_job job;
    uint32_t *gpus;   /* in the order of the grant */
    double *memories; /* on each */
    uint32_t count;   /* 0: ended */
};

struct dilu_pool {
    struct arena *arena; /* of all lists */
    struct dilu_pool_rule rule;
    double gpu_memory;
    struct dilu_pool_gpu *gpus;
    uint32_t gpu_count, node_count;
    struct dilu_list active, free;
    struct dilu_placed *placed; /* by instance */
    uint32_t placed_count;
    /* The module's. */
    uint32_t *instances;           /* running instances by function */
    uint32_t *free_on, *admits_on; /* by node */
    uint32_t *chosen;
    uint32_t barred; /* GPUs */
    bool *marked;
};

#define DILU_NOT_PLACED UINT32_MAX

/* Nodes of `per_node` GPUs each. */
void dilu_pool_init(struct dilu_pool *pool, struct arena *arena, const struct dilu_pool_rule *rule,
                    uint32_t nodes, uint32_t per_node, double gpu_memory);

/* Places a job. Returns the number of its instance, or DILU_NOT_PLACED if there is no room.
 * O(GPUs). */
uint32_t dilu_pool_start(struct dilu_pool *pool, const struct dilu_job *job);

/* Ends an instance. GPUs that become empty join the free list's end. O(GPUs). */
void dilu_pool_end(struct dilu_pool *pool, uint32_t instance);

/* Excludes a GPU from placement until dilu_pool_admit_all: the pool does not know of vCPUs or host
 * memory. The second is O(GPUs) if any is barred. */
void dilu_pool_bar(struct dilu_pool *pool, uint32_t gpu);
void dilu_pool_admit_all(struct dilu_pool *pool);

#endif
