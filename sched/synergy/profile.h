/* Optimistic profiling of Synergy (Mohan et al., OSDI 2022): a plan from few measurements.
 *
 * A model is measured with full host memory only, at few numbers of vCPUs. The proportional share
 * is known first, since every training can run with it. Then follow the points of the authors'
 * profiler (msr-fiddle/synergy at 1bb2bed, src/profiler/offline_profiler.py:143-168): all vCPUs,
 * half of them, then half of the last point where the last two differ by less than 10 %, else the
 * next lower one. Between points speed is linear in vCPUs. Above the highest point it is constant,
 * and below the lowest in proportion to the vCPUs.
 *
 * With less host memory a model is at most as fast as with all vCPUs and that memory. The authors
 * compute this limit from the sizes of cache and data set. Here it is the last row of the matrix.
 */
#ifndef ESGSIM_SCHED_SYNERGY_PROFILE_H
#define ESGSIM_SCHED_SYNERGY_PROFILE_H

#include <stdint.h>

#include "sim/base/arena.h"
#include "workloads/training/training_models.h"

/* Models to plan with, after at most so many measured points of each, at least 1. Throughput,
 * demand and speed-up are estimates: the demand is the first cell with the greatest speed, fewest
 * vCPUs first. All else is that of `models`, which the result refers to. `vcpus` is the
 * proportional share of a GPU. The arena owns the result. O(models × cells + points). */
const struct training_models *synergy_profile(struct arena *arena,
                                              const struct training_models *models, double vcpus,
                                              uint32_t points);

#endif
