/* Gavel's shares: for which part of the time a training runs on each type of GPU.
 *
 * Narayanan et al., "Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning Workloads"
 * (OSDI 2020), as in stanford-futuredata/gavel at c4fa400, scheduler/policies: max_min_fairness.py,
 * max_sum_throughput.py, policy.py. A linear programme: no training has more than all of its time,
 * and no type gives more GPUs than it has. LAS maximises the least rate × gpus ÷ the rate with an
 * equal part of every GPU. Of several optima the original takes what its solver returns. Here
 * trainings that are alike have like shares, and LAS takes the optimum of the greatest sum. The
 * simplex method is our own, because a library may return another optimum in another version. */
#ifndef ESGSIM_SCHED_SHARING_GAVEL_SHARES_H
#define ESGSIM_SCHED_SHARING_GAVEL_SHARES_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/base/arena.h"

enum { GAVEL_TYPES_MOST = 8 };

/* Trainings that are alike. */
struct gavel_class {
    double count, gpus;
    double rates[GAVEL_TYPES_MOST];  /* iterations/s by type; 0: they cannot run there */
    double shares[GAVEL_TYPES_MOST]; /* result: of one training's time, by type */
};

/* Fills the shares: LAS, or the greatest sum of iterations/s. `gpus` are those of each type.
 * O(pivots × (classes × types)²). */
void gavel_share(struct arena *arena, bool max_sum, struct gavel_class *classes, size_t count,
                 const double *gpus, size_t types);

#endif
