/* What the runs of a sweep consist of, before any is simulated. */
#ifndef ESGSIM_SIM_RUN_SWEEP_RUNNER_PLAN_H
#define ESGSIM_SIM_RUN_SWEEP_RUNNER_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "results/store/columns.h"
#include "results/store/record.h"
#include "results/store/store.h"
#include "sim/base/error.h"
#include "sim/run/run_once.h"
#include "workloads/sweep/sweep.h"
#include "workloads/sweep/sweep_keys.h"

struct plan {
    struct resolved_run run;
    struct run_metadata *metadata;       /* as this sweep names the run */
    const char *swept[SWEEP_KEYS_LIMIT]; /* its values of the sweep's keys */
    /* The run computes bounds. Those of a setting and seed are the same for all policies, so the
     * run of the first policy has them. With a closed process each run has its own, because its
     * users wait for the policy. */
    bool bounds;
};

/* Loads run `run` of the sweep. `plan` must stay where it is. False: ERROR_INPUT, or ERROR_RUN if
 * memory is exhausted, and there is nothing to clear. */
bool plan_load(const struct sweep *sweep, size_t run, struct plan *plan, struct error *error);
void plan_clear(struct plan *plan);

/* What the runs of one combination have in common. */
struct plan_cell {
    struct missing_run names;            /* what a row of /missing takes from the combination */
    char policy_sha256[TEXT_SHA256 + 1]; /* of the policy's module, or "" */
    char recorded[TEXT_RECORDED];        /* as in struct run_metadata */
    size_t seeds;                        /* runs that it has at most: 1 if nothing is random */
    size_t before;                       /* runs of the combinations before it */
    size_t wanted;                       /* seeds needed as known so far */
    bool decided;                        /* `wanted` is final */
};

/* A sweep, or one shard of it. */
struct plans {
    struct arena *arena; /* of the cells */
    const struct sweep *sweep;
    struct sweep_metadata metadata;
    struct plan_cell *cells; /* per combination */
    size_t combinations;
    struct swept_keys *swept; /* columns of the sweep's keys */
};

/* Loads one run of each combination, so that a mistake in the last one is told at once and not
 * after the others have run. Two combinations must differ, or the results would hold one run twice.
 * Each begins with as many seeds as it needs at least. metadata.identity becomes the SHA-256 of all
 * that decides the sweep's tables. False: ERROR_INPUT. End with plans_clear in either case. */
bool plans_make(struct plans *plans, const struct sweep *sweep, uint64_t shard, uint64_t shards,
                struct error *error);
void plans_clear(struct plans *plans);

/* Returns whether run `run` belongs to the shard. */
bool plans_have(const struct plans *plans, size_t run);
/* Returns whether it is, too, one of the seeds that its combination needs as known so far. */
bool plans_want(const struct plans *plans, size_t run);
/* Returns how many runs are. O(runs). */
size_t plans_wanted(const struct plans *plans);

/* A run by its configuration hash. */
struct plan_hash {
    char hash[TEXT_HASH + 1];
    size_t run;
};
/* Compares the hashes of two, for qsort and bsearch. */
int plan_hash_compare(const void *one, const void *other);

/* Fills the row of /missing for run `run`. `message` may be NULL. */
void plans_fill_missing(const struct plans *plans, size_t run, const char *status,
                        const char *message, struct missing_run *row);

#endif
