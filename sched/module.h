/* A policy module from outside the program: its own names, its own state, and no chance but the
 * run's.
 *
 * A module that is loaded with dlopen would otherwise call the function of that name in the program
 * or in any library loaded before it, in place of its own. Its variables would live from run to
 * run, so that results depended on the order of runs. All this concerns the module alone, not
 * libraries that it loads.
 */
#ifndef ESGSIM_SCHED_MODULE_H
#define ESGSIM_SCHED_MODULE_H

#include <stdbool.h>

#include "sched/policy.h"

/* Adopts `policy`, which is in the module `library` (of dlopen with RTLD_NOW) at `path`:
 * - The module's references to functions and variables that it defines itself are bound to its own.
 * - Its calls of clocks and random numbers of the C library end a run by the rule chance, if a
 *   callback makes them (simulation_breach); else they return 0.
 * - Its variables are saved as they are now, for module_restart.
 * Does nothing for a module adopted before. ERROR_INPUT if the module defines a name of the
 * contract, platform_…, or has addresses in its code; ERROR_RUN if memory is exhausted. O(size of
 * the module). Thread-local variables are not saved. */
bool module_adopt(void *library, const struct policy *policy, const char *path,
                  struct error *error);

/* Gives the variables of the policy's module the values that they had when it was adopted. Returns
 * whether the policy is of a module; for one that is part of the program it does nothing. Not for
 * threads: a run of the same module in another thread loses its variables. O(size of them). */
bool module_restart(const struct policy *policy);

/* Provided by the simulation: ends the run that this thread executes by rule chance if a callback
 * of it has called `function`. It does not return then. */
void simulation_breach(const char *function);

#endif
