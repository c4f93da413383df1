/* Configurations relative to their function: a batch, and a rank by time among the function's
 * configurations of that batch. */
#ifndef ESGSIM_SCHED_CHOICES_ACTIONS_H
#define ESGSIM_SCHED_CHOICES_ACTIONS_H

#include "sched/choices/tree.h"
#include "workloads/world/workload.h"

struct tree_actions;

/* For all functions. Ties of time: the order of the function's list. O(n log n). */
struct tree_actions *tree_actions_create(struct arena *arena, const struct workload *workload);

/* The action that stands for the function's configuration. O(1). */
struct tree_action tree_action_of(const struct tree_actions *actions, uint32_t function,
                                  uint32_t configuration);

/* The configuration that the action stands for where `jobs` (>= 1) jobs wait: of the greatest batch
 * that is at most the action's and at most `jobs`, with its rank, or the last rank if it has fewer.
 * O(configurations). */
uint32_t tree_action_configuration(const struct tree_actions *actions, uint32_t function,
                                   struct tree_action action, uint32_t jobs);

#endif
