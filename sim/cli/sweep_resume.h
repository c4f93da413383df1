/* Which finished runs a sweep keeps.
 *
 * A run is its configuration's hash, which covers seed, inputs and the policy's module, with the
 * program and what is recorded. A finished run that agrees in all of these is kept, wherever it
 * stood in the sweep that made it. A run of the same label and seed that differs is done again.
 */
#ifndef ESGSIM_SIM_CLI_SWEEP_RESUME_H
#define ESGSIM_SIM_CLI_SWEEP_RESUME_H

#include "results/store/run_folder.h"
#include "sim/cli/sweep_runner_plan.h"

struct sweep_resume;

/* NULL: ERROR_RUN. Sweep, cells and facts must outlive it. */
struct sweep_resume *sweep_resume_create(const struct sweep *sweep, const struct plan_cell *cells,
                                         const struct sweep_facts *facts, struct error *error);
void sweep_resume_free(struct sweep_resume *resume); /* NULL is allowed */

/* Its finder. The first call of `find` loads every run's experiment. */
struct run_finder sweep_resume_finder(struct sweep_resume *resume);

/* Writes "kept 20 of 24 runs; 4 are done again: the module of policy bands changed" to `text`:
 * the runs that `folder` holds, of `expected`. "" if there were no finished runs. */
void sweep_resume_tell(const struct sweep_resume *resume, const struct run_folder *folder,
                       size_t expected, char *text, size_t size);

#endif
