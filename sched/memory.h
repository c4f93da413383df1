/* The run's memory for modules that policies share. Policies outside the tree have
 * platform_allocate (sched/policy.h) for the same. */
#ifndef ESGSIM_SCHED_MEMORY_H
#define ESGSIM_SCHED_MEMORY_H

#include "sim/base/arena.h"

struct platform;

/* The arena of the run. When memory is exhausted, the run fails and the callback in progress does
 * not return: nothing that it holds outside the arena is released. */
struct arena *platform_arena(struct platform *platform);

#endif
