/* Executes a sweep with worker processes, a folder of finished runs and one results file.
 *
 * Workers write runs into the folder (results/store/run_folder.h). The parent process copies them
 * into the results file in the order of the sweep. Therefore the tables depend neither on the
 * number of workers nor on interruptions. If the program is killed, runs in the folder are not
 * repeated. Each worker loses at most `hold_ms` of finished work.
 *
 * A complete results file replaces an older one. If a sweep fails or is interrupted, its finished
 * runs are written as an incomplete results file. That file replaces only an incomplete file of the
 * same sweep with at most as many runs. If another file exists, that file is unchanged and the
 * finished runs are in the folder only.
 */
#ifndef ESGSIM_SIM_RUN_SWEEP_RUNNER_H
#define ESGSIM_SIM_RUN_SWEEP_RUNNER_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "workloads/sweep/sweep.h"

struct sweep_runner_options {
    const char
        *out; /* the results file, or a link to it; OUT.runs is next to it until all is done */
    const char *command;    /* recorded in OUT (store_set_text); NULL: none */
    uint64_t jobs;          /* concurrent worker processes; 0: one for each core */
    uint64_t shard, shards; /* shard 1..shards */
    bool resume;            /* continue with the runs in OUT.runs */
    bool restart;           /* discard those runs; not with `resume` */
    bool dry_run;           /* print what the sweep would take, write nothing */
    bool details;           /* of a dry run: print each run, too */
    bool quiet;
    bool internal;    /* the caller reads OUT itself: say nothing about where results are */
    uint64_t hold_ms; /* a worker collects runs for this time, then publishes them together */
    double decision_timeout; /* limit for one callback of a policy, in seconds; 0: none */
};

/* Executes the sweep, or one shard of it. The shards take turns at the runs, or at the combinations
 * if the sweep has a precision. False: ERROR_INPUT for bad input,
 * or if OUT.runs contains runs and neither `resume` nor `restart` is set. ERROR_RUN if runs failed,
 * the sweep was interrupted, the results could not be written, or another process writes to OUT.
 * Finished runs are kept in every case. */
bool sweep_runner_run(const struct sweep *sweep, const struct sweep_runner_options *options,
                      struct error *error);

#endif
