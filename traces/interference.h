/* How co-running batches slow one another on one MPS GPU.
 *
 * MPS partitions compute; memory bandwidth and L2 stay shared. A model gives the slowdown (>= 1) of
 * a victim among its co-runners; the simulator turns it into a rate, 1 / slowdown. Measured data
 * exist for pairs; for three and more every model here adds the pairs' excess slowdowns, which is
 * an assumption and is named as one in README.
 */
#ifndef ESGSIM_TRACES_INTERFERENCE_H
#define ESGSIM_TRACES_INTERFERENCE_H

#include <stddef.h>
#include <stdint.h>

enum interference_kind {
    INTERFERENCE_CONSTANT, /* each co-runner adds `constant` */
    INTERFERENCE_PAIRS,    /* co-runner j adds pairs[victim][j] */
    INTERFERENCE_BANDWIDTH /* co-runner j adds coefficient × victim^victim_exponent × demand_j ×
                              share_j^share_exponent */
};

struct interference {
    enum interference_kind kind;
    double constant;   /* excess slowdown per co-runner; also for pairs not in the table */
    size_t pair_count; /* table is pair_count × pair_count */
    char **pair_names;
    double *pairs; /* excess slowdown of row by column, row-major; NAN: not measured */
    double coefficient;
    double victim_exponent;
    double share_exponent;
};

/* One batch running on the GPU. */
struct co_runner {
    uint32_t index; /* row in the pair table, UINT32_MAX where not in it */
    double demand;  /* bandwidth_share of its function */
    double share;   /* of the GPU, 0..1 */
};

/* Slowdown of runners[victim] among all `count` runners: 1 + Σ excess over the others; >= 1.
 * O(count). */
double interference_slowdown(const struct interference *model, const struct co_runner *runners,
                             size_t count, size_t victim);

/* A runner with its powers taken, for whoever asks again and again about the same functions and
 * shares: same slowdowns, bit for bit, without calls of pow. `as_other` depends on the runner's
 * share alone, all else not on its share. */
struct prepared_runner {
    /* Bandwidth; 0 where there is no such number: */
    double as_victim; /* coefficient × demand^victim_exponent */
    double demand;
    double as_other; /* share^share_exponent */
    uint32_t index;  /* pairs */
};

struct prepared_runner interference_prepare(const struct interference *model,
                                            const struct co_runner *runner);

/* interference_slowdown of each of `count` runners prepared for `model`, to as many `slowdowns`.
 * O(count^2). */
void interference_slowdowns(const struct interference *model, const struct prepared_runner *runners,
                            size_t count, double *slowdowns);

#endif
