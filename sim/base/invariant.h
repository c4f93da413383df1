/* INVARIANT(condition): what always holds if the program is right. Builds without optimisation and
 * those under sanitizers end where it is false. Others do not evaluate it. */
#ifndef ESGSIM_SIM_BASE_INVARIANT_H
#define ESGSIM_SIM_BASE_INVARIANT_H

#ifdef ESGSIM_INVARIANTS
#include <assert.h>
#define INVARIANT(condition) assert(condition)
#else
#define INVARIANT(condition) ((void)sizeof(condition))
#endif

#endif
