/* A replay into a results file: the tables of a run, and attributes that say where it executed.
 *
 * The group of a replayed run carries "replay_backend", "replay_device", "replay_driver",
 * "replay_details" (texts), "replay_gpu" (1: a GPU executed the batches; 0: a rehearsal, whose
 * figures measure nothing), "replay_starts" and "late_us_mean", "late_us_p99", "late_us_max": how
 * late batches started against the time at which the loop owed them a start.
 */
#ifndef ESGSIM_RESULTS_REPLAY_H
#define ESGSIM_RESULTS_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "results/store.h"
#include "sim/backend.h"
#include "sim/rehearsal.h"

struct replay_target {
    struct backend backend;
    /* Called after a run with backend.context; the texts live until the next call on the backend.
     */
    void (*describe)(void *context, struct execution *execution);
};

/* A rehearsal as target; `rehearsal` outlives it. */
struct replay_target replay_rehearsal(struct rehearsal *rehearsal);

/* What a replay of the experiment would take, found by one in virtual time. */
struct replay_plan {
    double seconds; /* from the first moment to the last batch's end */
    uint64_t batches;
    uint32_t together; /* most batches that execute at one time */
};

/* False: what simulation_replay would refuse, before any GPU is touched. */
bool replay_plan(const struct experiment *experiment, const struct policy *policy,
                 const double *values, struct replay_plan *plan, struct error *error);

/* Replays the experiment into `store` (store_create): replay_plan first, then the replay itself
 * with the bounds of runner_execute, its rows as the experiment's "record" asks (the comparison
 * wants "all") and the execution's attributes. `progress` may be NULL; `result` is the caller's to
 * clear on success. On failure the store is as it was, and another run may follow. */
bool replay_record(struct store *store, const struct experiment *experiment,
                   const struct policy *policy, const double *values,
                   const struct replay_target *target, const struct progress *progress,
                   struct simulation_result *result, struct error *error);

/* The same for a file of one run: created, written, finished. */
bool replay_write(const char *path, const struct experiment *experiment,
                  const struct policy *policy, const double *values,
                  const struct replay_target *target, const struct progress *progress,
                  struct simulation_result *result, struct error *error);

#endif
