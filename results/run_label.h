/* Labels of runs: the pairs that a sweep set, "setting=light slo.factor=0.8 policy.name=esg".
 *
 * Pairs are "key=value", joined by blanks. A value may hold blanks itself (it may be JSON), so a
 * word begins a pair only where it looks like a dotted key with an equals sign.
 */
#ifndef ESGSIM_RESULTS_RUN_LABEL_H
#define ESGSIM_RESULTS_RUN_LABEL_H

#include <stdbool.h>

/* The pairs that set the policy's parameters (without "policy.params."), or those that set neither
 * policy nor setting. To be freed; NULL without memory. */
char *run_label_of_policy(const char *label);
char *run_label_conditions(const char *label);

/* Takes the pairs out of `pairs` that `other` has not. */
void run_label_keep_common(char *pairs, const char *other);

/* The pairs of `pairs` that `other` has not. To be freed; NULL without memory. */
char *run_label_without(const char *pairs, const char *other);

#endif
