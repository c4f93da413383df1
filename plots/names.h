/* Names of swept keys as a reader says them: of axes, and of settings that differ in one. */
#ifndef ESGSIM_PLOTS_NAMES_H
#define ESGSIM_PLOTS_NAMES_H

#include <stdbool.h>

#include "sim/base/arena.h"

/* "load (share of capacity)" of arrivals.load; a key that has no such name is its own. */
const char *names_axis(const char *key);

/* Conditions as they are shown: "SLO × 0.8, load 0.4" of "slo.factor=0.8 arrivals.load=0.4". Words
 * that name no such key stay as they are. */
const char *names_conditions(struct arena *arena, const char *conditions);

#endif
