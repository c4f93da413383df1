/* Scheduling policies by name. A new policy is one file and one line in the table of registry.c. */
#ifndef ESGSIM_SCHED_REGISTRY_H
#define ESGSIM_SCHED_REGISTRY_H

#include "sched/policy.h"
#include "workloads/spec/experiment.h"
#include "workloads/sweep/describe.h"

/* The i-th registered policy, NULL past the last. */
const struct policy *policy_at(size_t index);
/* The form for trainings of a policy that serves requests under the same name; NULL: it has none.
 */
const struct policy *policy_training_form(const char *name);

/* Finds a registered policy by name, or loads one from a path (workloads/load/policy_module.h;
 * symbol `esgsim_policy`; it stays loaded). NULL with an error that names the nearest valid name.
 */
const struct policy *policy_find(const char *name, struct error *error);

/* Returns the policy of a path that ends in ".py", checked, which lives as long as the process.
 * NULL, as in the program: such paths are refused. results/python/esgsim_policy.py sets it. */
extern const struct policy *(*policy_load_python)(const char *path, struct error *error);

/* What policy_find does for a module in place of loading it; NULL: it loads it. */
extern const struct policy *(*policy_probe)(const char *path, struct error *error);

/* Finds the policy that an experiment names. Of two of that name (fifo and sjf order requests or
 * trainings) the one that serves the experiment's work. */
const struct policy *policy_find_for(const struct experiment *experiment, struct error *error);

/* Checks `settings` against the policy's table and fills `values` (one per parameter) with
 * defaults and settings. `where` names the file in messages. */
bool policy_configure(const struct policy *policy, const struct setting *settings,
                      size_t setting_count, const char *where, double *values, struct error *error);

/* Returns the experiment's policy, which serves its work, and its parameter values, which
 * live as long as the experiment. NULL: the error names the experiment's file. */
const struct policy *policy_resolve(const struct experiment *experiment, double **values,
                                    struct error *error);

/* The admission in force for a policy with these values of its parameters (NULL: their defaults):
 * the experiment's, else the policy's default. None beside a rule of the policy's own that judges
 * single requests. `experiment` NULL: one that does not say. */
struct admission_spec policy_admission(const struct policy *policy, const double *values,
                                       const struct experiment *experiment);
/* How requests are refused then, as in "by its default admission (efficient)"; NULL: by nobody. In
 * the arena. */
const char *policy_refusal(struct arena *arena, const struct policy *policy, const double *values,
                           const struct experiment *experiment);

/* What is registered, as a kind of entry: policies, each in all its forms, and keep-alive policies.
 */
enum { REGISTERED_KINDS = 2 };
extern const struct described_kind registered_kinds[REGISTERED_KINDS];

#endif
