/* The policies of a sweep and their display names, which must be unique. */
#ifndef ESGSIM_SIM_RUN_MODULES_H
#define ESGSIM_SIM_RUN_MODULES_H

#include "sim/run/run_once.h"
#include "workloads/sweep/sweep.h"

enum { POLICY_LABEL = 64 };

/* The display name that the sweep's "labels" give to a policy with these parameter values, or "".
 * The key of a label is the policy's name, or its module's path as in the sweep, followed by any
 * number of parameters, as in "esg k=5". Of the keys that match, the one with most parameters is
 * used. O(labels). */
void modules_label(const struct sweep *sweep, const struct resolved_run *run,
                   char label[POLICY_LABEL]);

struct modules; /* policies seen so far; end them with arena_home_free */

struct modules *modules_create(const struct sweep *sweep);

/* Adds the policy of a run, whose label is `label`. ERROR_INPUT if a different policy has the same
 * display name. O(policies). */
bool modules_note(struct modules *modules, const struct resolved_run *run,
                  const char label[POLICY_LABEL], struct error *error);

/* Call after adding all runs. ERROR_INPUT if a label belongs to no policy and no setting, unless an
 * override changed the matrix. */
bool modules_check_labels(const struct modules *modules, struct error *error);

#endif
