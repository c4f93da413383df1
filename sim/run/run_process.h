/* A policy of a module runs in processes of its own, behind walls (walls.h).
 *
 * One process loads it, to see what it is called and which parameters it has. Each run of it is
 * another one, which hands rows and result to its parent, and nothing of which outlives it. The
 * parent executes no code of a module.
 */
#ifndef ESGSIM_SIM_RUN_RUN_PROCESS_H
#define ESGSIM_SIM_RUN_RUN_PROCESS_H

#include "sim/run/run_once.h"

/* From now on policy_find gives, of a module, name, parameters and flags alone. What loads or
 * decides for longer than `seconds` is ended; 0: no limit. Not called: modules are loaded here. */
void run_process_begin(double seconds);

/* Whether the run needs a process of its own. */
bool run_process_wanted(const struct resolved_run *run, const struct simulation_options *options);

/* resolved_run_simulate in such a process. The options' functions are called here, but `progress`
 * there. */
bool run_process_simulate(const struct resolved_run *run, const struct simulation_options *options,
                          struct simulation_result *result, struct error *error);

#endif
