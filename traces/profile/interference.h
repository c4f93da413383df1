/* Slowdown of batches that run at the same time on one MPS GPU.
 *
 * MPS partitions compute, but memory bandwidth and L2 cache remain shared. A model gives the
 * slowdown (>= 1) of a victim from its co-runners. The simulator converts it to a rate, 1 /
 * slowdown. The measurements that ship are of pairs. For three or more batches every model here
 * adds the excess slowdowns of the pairs. That is an assumption, and README lists it as one.
 */
#ifndef ESGSIM_TRACES_PROFILE_INTERFERENCE_H
#define ESGSIM_TRACES_PROFILE_INTERFERENCE_H

#include <stddef.h>
#include <stdint.h>

enum interference_kind {
    INTERFERENCE_CONSTANT,  /* each co-runner adds `constant` */
    INTERFERENCE_PAIRS,     /* co-runner j adds pairs[victim][j] */
    INTERFERENCE_BANDWIDTH, /* co-runner j adds coefficient × victim^victim_exponent × demand_j ×
                               share_j^share_exponent */
    INTERFERENCE_SHAPED,    /* co-runner j adds pairs[victim][j] × exp(shape of the victim) ×
                              exp(shape of j); "pairs" with "slopes" in a profile */
    INTERFERENCE_CONTEXTS   /* GPUs are contexts of one GPU, see interference_contexts */
};

/* The numbers of a shape, which all pairs have in common. With b = ln(batch / INTERFERENCE_BATCH)
 * and s = ln(share / INTERFERENCE_SHARE) the terms of a runner are b, s and b × s. Its shape is
 * their sum times the three slopes of the victim, or times those of the co-runner. */
enum interference_number {
    INTERFERENCE_BATCH, /* at which, and at INTERFERENCE_SHARE, the pairs' levels hold */
    INTERFERENCE_SHARE,
    INTERFERENCE_VICTIM_SLOPES, /* one of each term */
    INTERFERENCE_TERMS = 3,
    INTERFERENCE_OTHER_SLOPES = INTERFERENCE_VICTIM_SLOPES + INTERFERENCE_TERMS,
    INTERFERENCE_NUMBERS = INTERFERENCE_OTHER_SLOPES + INTERFERENCE_TERMS
};

/* Bound of a slope's absolute value. */
#define INTERFERENCE_SLOPE_MOST 10.0

/* Keys of these numbers in a profile's "slopes", then NULL. */
extern const char *const interference_number_keys[INTERFERENCE_NUMBERS + 1];

/* Contexts of one GPU, alike in their units (SMs). */
struct context_pool {
    uint32_t contexts, units;
    double alone_ms; /* time of one network, if no other context is busy */
    /* Networks per second of all contexts, if several are busy, by the networks in progress. */
    struct context_rate {
        double networks, per_s;
    } * together;
    size_t rate_count;
};

struct interference {
    enum interference_kind kind;
    struct context_pool *pools;
    size_t pool_count;
    double constant;   /* excess slowdown per co-runner; also for pairs not in the table */
    size_t pair_count; /* table is pair_count × pair_count */
    char **pair_names;
    double *pairs; /* excess slowdown of the row's function by the column's; NAN: not measured */
    double coefficient;
    double victim_exponent;
    double share_exponent;
    double shape[INTERFERENCE_NUMBERS];
};

/* One batch running on the GPU. */
struct co_runner {
    uint32_t index; /* row in the pair table; UINT32_MAX: not in the table */
    double demand;  /* bandwidth_share of its function */
    double share;   /* of the GPU, 0..1 */
    double batch;   /* 0: not known; the shape then takes its INTERFERENCE_BATCH */
};

/* Slowdown of runners[victim] among all `count` runners: 1 + Σ excess over the others; >= 1.
 * O(count). */
double interference_slowdown(const struct interference *model, const struct co_runner *runners,
                             size_t count, size_t victim);

/* A runner with its powers precomputed, for repeated evaluation with the same functions and shares.
 * The slowdowns are bitwise the same, without calls of pow. Except in the shaped model only
 * `as_other` depends on the runner's share. */
struct prepared_runner {
    /* for the bandwidth and the shaped model; 0 if the model has no such value: */
    double as_victim; /* coefficient × demand^victim_exponent, or exp(shape of the victim) */
    double demand;
    double as_other; /* share^share_exponent, or exp(shape of the co-runner) */
    uint32_t index;  /* for the pair models */
};

struct prepared_runner interference_prepare(const struct interference *model,
                                            const struct co_runner *runner);

/* The terms of a runner's shape; see enum interference_number. */
void interference_terms(const struct interference *model, double batch, double share,
                        double terms[INTERFERENCE_TERMS]);

/* Returns what `other` adds to the slowdown of `victim`, both prepared for `model`; >= 0. */
double interference_excess(const struct interference *model, const struct prepared_runner *victim,
                           const struct prepared_runner *other);

/* The pool of so many contexts of so many units; NULL: it was not measured, or the model is another
 * one. O(pools). */
const struct context_pool *interference_pool(const struct interference *model, uint32_t contexts,
                                             uint32_t units);

/* Slowdown of a context while `busy` contexts execute parts of `networks` networks. A context alone
 * takes alone_ms. Several busy contexts have equal parts of the rate together, but none is faster
 * than alone. The rate is interpolated, and constant beyond its first and last point. >= 1.
 * O(rates). */
double interference_contexts(const struct context_pool *pool, uint32_t busy, uint32_t networks);

/* Stores interference_slowdown of each of `count` runners, prepared for `model`, in `slowdowns`.
 * O(count^2). */
void interference_slowdowns(const struct interference *model, const struct prepared_runner *runners,
                            size_t count, double *slowdowns);

#endif
