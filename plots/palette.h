/* The colours, markers and dashes of policies, the same in all figures.
 *
 * The colours are those of Okabe and Ito ("Color Universal Design", 2008), which remain
 * distinguishable with the common kinds of colour blindness. Yellow is omitted because it is hard
 * to see on white. Markers and dashes distinguish the policies in grey print. A policy's look is
 * derived from its line in sched/registry.c. Beside other policies, further variants of a policy
 * use increasingly lighter shades of its colour with other markers and dashes.
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

/* The look of `policy`; `variant` counts from 0. For a policy outside the registry (a plugin) the
 * look is derived from its name, so it is the same in all figures. */
struct look palette_policy(const char *policy, size_t variant);

/* Of the other policies, which have no name in a figure; plots/common.gp knows them by the colour.
 */
#define PALETTE_PALE ((struct look){0xC4C4C4, 6, 1})

/* The same in a figure of one policy `alone`: its further variants have colours of their own. */
struct look palette_variant(const char *policy, size_t variant, bool alone);

/* The look with a marker that is not yet in the set `used`, as long as there is one, and adds the
 * marker to the set. `used` is 0 for a new figure. Markers identify contenders where colours
 * cannot. */
struct look palette_distinct(struct look look, unsigned *used);

/* The look of series number `index` that is not a policy, such as a setting or a function. */
struct look palette_series(size_t index);

/* Colour number `index` of `count` steps from dark to light, for ordered quantities: 0xRRGGBB. */
uint32_t palette_step(size_t index, size_t count);

#endif
