/* A sweep as it is carried out: worker processes, a folder of finished runs, one results file.
 *
 * Workers write runs into the folder (results/store/run_folder.h), and the parent process copies
 * them, in the order of the sweep, into the results file. So the tables depend neither on the
 * number of workers nor on how often the sweep was interrupted. Whatever kills the program, a run
 * in the folder is not done again, and at most `hold_ms` of each worker's finished work is lost.
 *
 * An older results file is replaced by a whole one. What has finished of a sweep that fails or is
 * interrupted is written where no file is, or an incomplete one of the same sweep with no more
 * runs. Otherwise it is in the folder alone, and the older file stays.
 */
#ifndef ESGSIM_SIM_CLI_SWEEP_RUNNER_H
#define ESGSIM_SIM_CLI_SWEEP_RUNNER_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/error.h"
#include "workloads/experiment.h"

struct sweep_runner_options {
    const char
        *out;      /* the results file, or a link to it; OUT.runs is beside it until all is done */
    uint64_t jobs; /* worker processes at a time */
    uint64_t shard, shards; /* shard of shards, from 1 */
    bool resume;            /* go on with what OUT.runs holds */
    bool restart;           /* discard it; not with `resume` */
    bool dry_run;           /* print the runs instead, and write nothing */
    bool quiet;
    uint64_t hold_ms; /* for so long a worker collects runs before it writes them out together */
    double decision_timeout; /* seconds that one callback of a policy may take; 0: no limit */
};

/* Run the sweep, or its shard: run r belongs to shard r % shards + 1; with a precision whole
 * combinations do. False: ERROR_INPUT for bad input, or where OUT.runs holds runs and neither
 * `resume` nor `restart` is set; ERROR_RUN where runs failed, the sweep was interrupted or could
 * not be written, or another process writes to OUT. What has finished is kept in every case. */
bool sweep_runner_run(const struct sweep *sweep, const struct sweep_runner_options *options,
                      struct error *error);

#endif
