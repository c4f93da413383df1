/* Which finished runs a sweep keeps.
 *
 * A run is its configuration's hash, which covers seed, inputs and the policy's module, with the
 * program and what is recorded. A finished run that agrees in all of these is kept, wherever it
 * stood in the sweep that made it.
 */
#ifndef ESGSIM_SIM_RUN_SWEEP_RESUME_H
#define ESGSIM_SIM_RUN_SWEEP_RESUME_H

#include "results/store/run_folder.h"
#include "sim/run/sweep_runner_plan.h"

/* Copies the runs that are kept, of parts of an earlier form of the sweep and of the results file
 * `out`, which need not exist, to a part of this sweep in `folder` (opened with RUNS_RESUME).
 * Unless `quiet`, prints "kept 20 of 24 runs; 4 are done again: the module of policy bands changed"
 * if there are finished runs. False: ERROR_INPUT if all of the parts, or of the results file
 * where there are none, are of another sweep. Then, and after any other error, nothing finished is
 * lost, and the folder must be closed. If there are finished runs, O(runs) experiments are loaded.
 */
bool sweep_resume(const struct plans *plans, struct run_folder *folder, const char *out, bool quiet,
                  struct error *error);

#endif
