/* What a policy reports about its decisions: work to charge as decision time, and notes for the
 * record. These calls do not affect the schedule, except through the decision time.
 */
#ifndef ESGSIM_SCHED_POLICY_BOOKKEEPING_H
#define ESGSIM_SCHED_POLICY_BOOKKEEPING_H

#include "sched/policy.h"

/* Reports work done by the current decision, in the policy's unit (node expansions, candidates
 * scanned …). The platform's decision_cost converts it to decision time. */
void platform_charge(struct platform *platform, uint64_t units);

/* A note for the decision log about the next dispatch: the number of alternatives, the expected
 * cost, and the expected time to the end of the plan. */
void platform_explain(struct platform *platform, uint32_t alternatives, double plan_cost_usd,
                      sim_time_t plan_time);

/* For policies that plan ahead (Orion, Aquatope). States that `configuration` of the function was
 * planned for the next dispatch before the number of waiting jobs was known. The dispatch is a miss
 * if it uses another configuration, or has fewer jobs than that configuration's batch. Metric
 * preplanned_miss_rate, the ESG paper's "pre-planned configuration miss rate". A policy that
 * chooses configurations at dispatch does not call this and has no such metric. */
void platform_planned(struct platform *platform, uint32_t configuration);

#endif
