/* Execution of a replay and its output to a results file: the tables of a run, and attributes that
 * record where it executed.
 *
 * The group of a replayed run has the following attributes:
 * - "replay_backend", "replay_device", "replay_driver", "replay_details" (texts).
 * - "replay_gpu": 1 if a GPU executed the batches; 0 for a rehearsal, whose figures are no
 *   measurements.
 * - "replay_starts", "late_us_mean", "late_us_p99", "late_us_max": number of batch starts, and
 *   their lateness relative to their due times.
 * - "host_ms": mean time per batch beyond its time on the device, its lateness included; 0: not
 * known.
 */
#ifndef ESGSIM_SIM_RUN_REPLAY_H
#define ESGSIM_SIM_RUN_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "results/store/store.h"
#include "sim/backend/backend.h"
#include "sim/backend/emulated.h"
#include "sim/backend/worker_backend.h"
#include "sim/run/run_once.h"

struct replay_target {
    struct backend backend;
    void *context;
    /* Called after a run with `context`. Texts and rows are valid until the next call of the
     * backend. */
    void (*describe)(void *context, struct execution *execution);
};

/* A rehearsal as a target; `rehearsal` must outlive it. */
struct replay_target replay_rehearsal(struct emulated *rehearsal);

/* A worker process as a target, through its backend. It must outlive the target. */
struct replay_worker {
    struct worker_backend *backend;
    const char *command;            /* that started it */
    bool gpu;                       /* false: it has none */
    bool side_by_side;              /* as for worker_backend_create */
    const struct resolved_run *run; /* the one in progress, set by the caller */
    char details[512];
};
struct replay_target replay_worker(struct replay_worker *worker);

/* Resources that a replay of the experiment needs, determined by a replay in virtual time. */
struct replay_plan {
    double seconds; /* from the start of the run to the end of its last batch */
    uint64_t batches;
    uint32_t together; /* most batches that execute concurrently */
};

/* Computes the plan. False if simulation_run_with would refuse the experiment. Does not use a GPU.
 */
bool replay_plan(const struct resolved_run *run, struct replay_plan *plan, struct error *error);

/* Replays the experiment into `store` (store_create). Runs replay_plan first, then the replay with
 * bounds. Writes the rows selected by the experiment's "record" (a comparison
 * needs "all") and the attributes. On success the caller clears `result`.
 * On failure the store is unchanged, and another run may follow. */
bool replay_record(struct store *store, const struct resolved_run *run,
                   const struct replay_target *target, struct simulation_result *result,
                   struct error *error);

/* Begins the results file again, with the runs that it has if it `keeps` them. NULL: it *has the
 * run, or an error: ERROR_INPUT if a run in it was simulated, or replayed by another program. */
struct store *replay_begin(const char *path, bool keeps, const struct resolved_run *run, bool *has,
                           struct error *error);

#endif
