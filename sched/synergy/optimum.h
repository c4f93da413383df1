/* The first programme of Synergy-OPT, solved exactly.
 *
 * Every training gets one cell of its model's matrix: so many vCPUs and so much memory per GPU, and
 * a speed. The programme maximises the sum of speeds, subject to the vCPUs and the memory of the
 * whole cluster (msr-fiddle/synergy at 1bb2bed, simulator/opt_algo/synergy_opt.py:61-118; there an
 * integer programme for GLPK). This is a multiple-choice knapsack problem with two resources.
 *
 * Trainings of one model and gang size are interchangeable and form a class. With prices λ on the
 * two resources, a class's best cell maximises speed − λ · resources, and the sum of these maxima
 * and λ · capacity is an upper bound (Lagrangian). Any solution loses against the bound what its
 * other cells cost, and λ · what it leaves unused. The search enumerates all solutions that lose at
 * most δ, merges those that use the same resources, and doubles δ until there is a feasible one.
 * The best of these is the optimum. Prices that minimise the bound keep δ small.
 *
 * Measured against GLPK 5.0 (Debian, glp_intopt with its presolver, one variable per class and
 * cell) on a core of a shared server: the ten programmes of the tests take at most 0.35 ms here and
 * 0.4 ms there. 300 drawn mixes on 64 servers of 8 GPUs, most of one or two models, take 2.2 ms on
 * average and at most 90 ms here, 0.5 ms and at most 4 ms there. All optima are equal.
 */
#ifndef ESGSIM_SCHED_SYNERGY_OPTIMUM_H
#define ESGSIM_SCHED_SYNERGY_OPTIMUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/base/error.h"

struct synergy_cell {
    double vcpus, memory; /* per GPU */
    double speed;
};

/* The cells of a model that an optimum may need. */
struct synergy_cells {
    struct synergy_cell *cells;
    size_t count;
};

/* Interchangeable trainings. */
struct synergy_class {
    const struct synergy_cells *cells;
    uint32_t gpus;    /* of each */
    uint32_t count;   /* trainings */
    uint32_t *chosen; /* receives the number of trainings per cell */
};

/* Cells with a speed of at least `least` that no other cell equals or betters with less, from a
 * matrix speed[vcpus][memory]; NULL: one cell of speed 1 at the share. Sorted by speed, vCPUs,
 * memory. */
void synergy_cells_build(struct arena *arena, const double *vcpus, size_t vcpu_count,
                         const double *memory, size_t memory_count, const double *matrix,
                         double share_vcpus, double share_memory, double least,
                         struct synergy_cells *cells);

/* Solves the programme for a cluster of so many vCPUs and so much memory. `optimum` may be NULL.
 * ERROR_RUN if no choice of cells fits, or the search has too many states. O(classes × cells) for
 * the bound; the search is exponential in the worst case, and a few thousand states for Synergy's
 * models. */
bool synergy_optimum(struct arena *arena, struct synergy_class *classes, size_t count, double vcpus,
                     double memory, double *optimum, struct error *error);

#endif
