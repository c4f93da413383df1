/* A policy module from outside the program: its own names, and no chance but the run's.
 *
 * A module that is loaded with dlopen would otherwise call the function of that name in the program
 * or in any library loaded before it, in place of its own. All this concerns the module alone, not
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
 * Does nothing for a module adopted before. ERROR_INPUT if the module defines a name of the
 * contract, platform_…, or has addresses in its code; ERROR_RUN if memory is exhausted. O(size of
 * the module). */
bool module_adopt(void *library, const struct policy *policy, const char *path,
                  struct error *error);

/* Whether the policy is of an adopted module. */
bool module_has(const struct policy *policy);

/* Provided by the simulation: ends the run that this thread executes by rule chance if a callback
 * of it has called `function`. It does not return then. */
void simulation_breach(const char *function);

#endif
