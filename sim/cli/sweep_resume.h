/* Which finished runs a sweep keeps.
 *
 * A run is its configuration's hash, which covers seed, inputs and the policy's module, with the
 * program and what is recorded. A finished run that agrees in all of these is kept, wherever it
 * stood in the sweep that made it.
 */
#ifndef ESGSIM_SIM_CLI_SWEEP_RESUME_H
#define ESGSIM_SIM_CLI_SWEEP_RESUME_H

#include "results/store/run_folder.h"
#include "sim/cli/sweep_runner_plan.h"

struct sweep_resume {
    const struct sweep *sweep;
    const struct plan_cell *cells;
    const struct sweep_facts *facts;
    const struct swept_keys *swept;
    struct run_folder *folder; /* opened with RUNS_RESUME */
    const char *out;           /* the results file, which need not exist */
    size_t expected;           /* runs */
};

/* Copies the runs that are kept, of parts of an earlier form of the sweep and of the results file,
 * to a part of this sweep. Writes "kept 20 of 24 runs; 4 are done again: the module of policy bands
 * changed" to `text`, or "" if there are no finished runs. False: ERROR_INPUT if all are of another
 * sweep. If there are any, O(runs) experiments are loaded. */
bool sweep_resume(const struct sweep_resume *resume, char *text, size_t size, struct error *error);

#endif
