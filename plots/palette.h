/* One look for every policy in every figure.
 *
 * The colours are those of Okabe and Ito ("Color Universal Design", 2008), told apart with any of
 * the common kinds of colour blindness, less the yellow, which does not show on white; markers and
 * dashes tell the same apart in grey print. A policy's look follows from its line in
 * sched/registry.c, so it is the same in every figure. Further variants of it keep the colour,
 * lightened step by step, and change marker and dash.
 */
#ifndef ESGSIM_PLOTS_PALETTE_H
#define ESGSIM_PLOTS_PALETTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct look {
    uint32_t colour; /* 0xRRGGBB */
    int point;       /* gnuplot's point type */
    int dash;        /* gnuplot's dash type, 1: solid */
};

/* The look of `policy`; `variant` counts from 0, the policy's first. A policy that the registry
 * does not know (a plugin) gets one by its name, the same in every figure. */
struct look palette_policy(const char *policy, size_t variant);

/* The look with a marker that none before it in the figure has, as long as there are any: `used` is
 * the set of those taken, 0 at first. Where colours do not show, markers tell contenders apart. */
struct look palette_distinct(struct look look, unsigned *used);

/* The look of number `index` of things that are no policies: settings, functions. */
struct look palette_series(size_t index);

/* Number `index` of `count` steps from dark to light, for quantities in order: 0xRRGGBB. */
uint32_t palette_step(size_t index, size_t count);

#endif
