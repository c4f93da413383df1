/* Labels of runs: the key-value pairs set by a sweep, "setting=light slo.factor=0.8
 * policy.name=esg".
 *
 * Pairs are "key=value", separated by blanks. A value may contain blanks too (it may be JSON).
 * Therefore a word begins a new pair only if it looks like a dotted key with an equals sign.
 */
#ifndef ESGSIM_RESULTS_STORE_RUN_LABEL_H
#define ESGSIM_RESULTS_STORE_RUN_LABEL_H

#include <stdbool.h>

#include "sim/base/arena.h"

/* The pairs that set the policy's parameters (without "policy.params."), and the pairs that set
 * neither policy nor setting. Results are of the arena. */
char *run_label_of_policy(struct arena *arena, const char *label);
char *run_label_conditions(struct arena *arena, const char *label);

/* Removes from `pairs` those that are not in `other`. */
void run_label_keep_common(char *pairs, const char *other);

/* The pairs of `pairs` that are not in `other`. */
char *run_label_without(struct arena *arena, const char *pairs, const char *other);

/* Returns whether each pair of `pairs` is in `one` or in `other`. */
bool run_label_within(const char *pairs, const char *one, const char *other);

/* Returns whether the label sets `key` to a number, and if so stores it. */
bool run_label_number(const char *label, const char *key, double *value);

/* Returns whether the label sets `key`. */
bool run_label_has(const char *label, const char *key);

/* The pairs without that of `key`. */
char *run_label_drop(struct arena *arena, const char *pairs, const char *key);

/* The keys of the label, separated by ", ". */
char *run_label_keys(struct arena *arena, const char *label);

#endif
