/* GPU kinds as policies see them: sets of kinds, and what a unit of one is worth.
 *
 * A policy chooses among the configurations of all kinds of the cluster. A batch runs only on GPUs
 * of its configuration's kind. With one kind every set has one element and every weight is 1.
 */
#ifndef ESGSIM_SCHED_COMMON_KINDS_H
#define ESGSIM_SCHED_COMMON_KINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "workloads/world/workload.h"

/* A set of kinds: bit k is kind k. This is the set of all. */
#define KINDS_ALL UINT64_MAX

static inline bool kinds_contain(uint64_t kinds, uint32_t kind)
{
    return (kinds >> kind & 1) != 0;
}

static inline uint64_t kinds_without(uint64_t kinds, uint32_t kind)
{
    return kinds & ~(UINT64_C(1) << kind);
}

/* Worth of one unit of `kind` relative to one unit of the first kind: the ratio of their prices. If
 * one of them has no price, the ratio of the parts of a GPU that they are. */
double kinds_worth(const struct workload *workload, uint32_t kind);

/* The group of invokers to which one belongs. O(groups). */
const struct invoker_group *kinds_group_of(const struct workload *workload, uint32_t invoker);

/* A GPU of the cluster. */
struct gpu_site {
    uint32_t invoker, which; /* index among the invoker's GPUs */
    const struct gpu_spec *spec;
    const struct invoker_group *group;
};

/* All GPUs of the cluster, invoker by invoker, and their number in *count. */
struct gpu_site *kinds_gpus(struct arena *arena, const struct workload *workload, uint32_t *count);

/* Units of all GPUs of an invoker of the group, expressed in units of `kind`; 0 if it has no GPU of
 * the kind. A GPU of another kind counts as one of this. */
double kinds_units_on(const struct workload *workload, const struct invoker_group *group,
                      uint32_t kind);

/* Units of the first kind's GPU as which one unit of `kind` counts, if all GPUs count the same. */
static inline double kinds_scale(const struct workload *workload, uint32_t kind)
{
    return (double)workload->kinds[0].units / workload->kinds[kind].units;
}

/* False if no GPU of the group is of a kind on which the function runs, and it runs on nothing
 * else. Capacities are not looked at, and with one kind it is true. O(configurations). */
bool kinds_serve(const struct workload *workload, const struct invoker_group *group,
                 const struct function *function);

/* True if all GPUs of the kind can be held for a part of the time, and by shares that change while
 * a batch runs (MPS). */
bool kinds_divisible(const struct workload *workload, uint32_t kind);

/* True if co-runners can slow one another on GPUs of the kind. O(groups × GPUs). */
bool kinds_interfere(const struct workload *workload, uint32_t kind);

/* Time of the configuration per unit of noise, ns. */
static inline double kinds_time(const struct workload *workload, const struct function *function,
                                const struct configuration *configuration)
{
    if (function->service == SERVICE_PROFILE)
        return (double)configuration->time;
    return 1e6 / (configuration->vgpu > 0 ? workload->kinds[configuration->kind].speed : 1);
}

/* By kind: the units of the cluster, and weights with the sum 1 by which the units that a mean
 * request needs are the same part of every kind. They are the units / the time that the request
 * needs of them, at its configurations of least work. O(kinds × stages × configurations). */
void kinds_weights(const struct workload *workload, double *units, double *weights);

#endif
