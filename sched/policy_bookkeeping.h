/* What a policy tells the platform about its decisions: work to be charged, and notes for the
 * record. None of these calls changes what is scheduled, but the time that a decision takes.
 */
#ifndef ESGSIM_SCHED_POLICY_BOOKKEEPING_H
#define ESGSIM_SCHED_POLICY_BOOKKEEPING_H

#include "sched/policy.h"

/* Report work done by the decision in progress, in the policy's unit (node expansions, candidates
 * scanned …): turned into decision time by the platform's decision_cost. */
void platform_charge(struct platform *platform, uint64_t units);

/* A note for the decision log: what was chosen among how many, at which expected cost and time to
 * the end of the plan. Refers to the dispatch that follows. */
void platform_explain(struct platform *platform, uint32_t alternatives, double plan_cost_usd,
                      sim_time_t plan_time);

/* For policies that plan ahead (Orion, Aquatope): the dispatch that follows had been planned,
 * before it was known how many jobs would wait, with `configuration` of its function. It is a miss
 * where it runs fewer jobs than that configuration's batch, or with another configuration: figure
 * preplanned_miss_rate, the ESG paper's "pre-planned configuration miss rate". A policy that
 * settles configurations as it dispatches does not call it, and has no such figure. */
void platform_planned(struct platform *platform, uint32_t configuration);

#endif
