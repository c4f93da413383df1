/* What only the reproduction of one paper asks of the platform. A new policy needs none of it. */
#ifndef ESGSIM_SCHED_POLICY_REPRODUCTION_H
#define ESGSIM_SCHED_POLICY_REPRODUCTION_H

#include "sched/policy.h"

/* Muri. Interrupts all running trainings where they are: each loses what it did since the last
 * interruption or its start, up to its restart time. Starts and moves then cost nothing else. With
 * a call at every event this is the restart mode of Muri's simulator (Rivendile/Muri at 4e69a78,
 * simulator/run_sim.py:293). Allowed only within decide, with fluid progress. O(unfinished). */
void platform_interrupt_trainings(struct platform *platform);

/* Synergy-OPT. From now on gangs take vCPUs and host memory from all invokers as one, for a policy
 * that plans without servers. Real machines do not lend them, so its results are an upper bound.
 * Allowed only in init, in an experiment without applications. */
void platform_pool_servers(struct platform *platform);

/* Synergy. True if all trainings of the run arrive within its first second: one batch, known as
 * such to who submits it. */
bool platform_trainings_static(const struct platform *platform);

#endif
