/* How long a decision takes, by method, on synthetic chains of the paper's size.
 *
 * Each stage has 256 configurations (batch {1,2,4,8,12,16,24,32} × 1..8 vCPUs × {1,2,4,7} vGPUs,
 * the grid assumed for the paper) with a smooth latency surface drawn from a fixed seed: rising
 * with batch, falling with vCPUs and vGPUs, of diminishing returns. Budgets are log-uniform between
 * the fastest and the slowest path, queue lengths uniform in 1..32, K = 5.
 */
#ifndef ESGSIM_SCHED_ESG_BENCH_H
#define ESGSIM_SCHED_ESG_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/error.h"

enum { DECISION_SIZES = 3, DECISION_METHODS = 4 };

/* "3x256", "5x256", "10x256" */
extern const char *const decision_size_names[DECISION_SIZES];

struct decision_bench_row {
    const char *method;             /* "frontier", "astar", "astar-groups" (of 3), "exhaustive" */
    double mean_us[DECISION_SIZES]; /* NAN where the method does not end in reasonable time */
    double max_us[DECISION_SIZES];
    double expansions[DECISION_SIZES]; /* mean a decision */
    size_t decisions[DECISION_SIZES];
};

struct decision_bench {
    struct decision_bench_row rows[DECISION_METHODS];
    double frontier_build_ms[DECISION_SIZES]; /* all suffixes of the chain */
    size_t frontier_points[DECISION_SIZES];   /* of the longest suffix searched */
};

/* Wall-clock measurements, a few seconds in all. ERROR_RUN when out of memory. */
bool decision_bench_run(struct decision_bench *bench, struct error *error);

#endif
