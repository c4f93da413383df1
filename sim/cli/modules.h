/* Which policies a sweep compares, and what they are called: no two under one name. */
#ifndef ESGSIM_SIM_CLI_MODULES_H
#define ESGSIM_SIM_CLI_MODULES_H

#include "sched/policy.h"
#include "workloads/experiment.h"

enum { POLICY_LABEL = 64 };

/* The display name that the sweep's "labels" give to a policy with these parameter values, or "". A
 * label's key is the policy's name, or its module's path as the sweep has it, and then any number
 * of its parameters, as in "esg k=5"; the key that fits with most parameters is taken. O(labels).
 */
void modules_label(const struct sweep *sweep, const struct experiment *experiment,
                   const struct policy *policy, const double *values, char label[POLICY_LABEL]);

struct modules; /* those met so far */

struct modules *modules_create(const struct sweep *sweep, struct error *error);
void modules_free(struct modules *modules); /* NULL is allowed */

/* Notes the policy of a run, whose label is `label`. ERROR_INPUT where another one is displayed by
 * the same name. O(policies). */
bool modules_note(struct modules *modules, const struct experiment *experiment,
                  const struct policy *policy, const double *values, const char label[POLICY_LABEL],
                  struct error *error);

/* Once all runs are noted: ERROR_INPUT where a label is of no policy and no setting. */
bool modules_check_labels(const struct modules *modules, struct error *error);

#endif
