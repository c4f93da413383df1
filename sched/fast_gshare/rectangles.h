/* Maximal free rectangles of a plane: where a pod fits on a GPU.
 *
 * FaST-GShare (ICPP'23), placement [recall]: a GPU is a plane of time quota (x) by SM share (y),
 * and a pod is a rectangle in it, as in the MaxRects heuristics for bin packing (Jylänki, "A
 * Thousand Ways to Pack the Bin", 2010). The free space is represented by the list of all maximal
 * empty rectangles, those that no other empty rectangle contains. A pod fits if and only if it fits
 * into one of them.
 *
 * Pods never move. A removal rebuilds the list from the remaining pods, which costs O(pods ×
 * rectangles²). The result, including its order, depends only on the remaining pods.
 */
#ifndef ESGSIM_SCHED_FAST_GSHARE_RECTANGLES_H
#define ESGSIM_SCHED_FAST_GSHARE_RECTANGLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/arena.h"

/* [x, x + width) × [y, y + height). */
struct rectangle {
    uint32_t x, y, width, height;
};

/* How a free rectangle is chosen: least remaining area, or least remainder along the tighter side.
 * The other criterion breaks ties, then the lower y, then the lower x [derived: the paper's
 * tie-breaking is not known]. */
enum rectangle_rule { RECTANGLE_BEST_AREA, RECTANGLE_BEST_SHORT_SIDE };

struct rectangle_owned {
    struct rectangle place;
    uint32_t owner;
};

struct rectangles {
    struct arena *arena;
    uint32_t width, height;
    struct rectangle *free; /* all maximal empty rectangles, none within another */
    size_t free_count;
    struct rectangle_owned *used; /* in insertion order */
    size_t used_count;
};

/* A possible position and its score: lower is better, first `leftover`, then `second`. */
struct rectangle_fit {
    struct rectangle place;
    uint64_t leftover, second;
};

/* Creates an empty plane, whose lists grow in the arena. */
void rectangles_init(struct rectangles *plane, struct arena *arena, uint32_t width,
                     uint32_t height);

/* Finds a position for a rectangle of `width` by `height` (both >= 1) at the corner of a free one,
 * by `rule`. False if it fits nowhere. O(free rectangles). */
bool rectangles_find(const struct rectangles *plane, uint32_t width, uint32_t height,
                     enum rectangle_rule rule, struct rectangle_fit *fit);

/* Allocates `place`, which must be within a free rectangle, to `owner`. Every free rectangle that
 * it overlaps is split into its at most four maximal remainders; those contained in another are
 * removed. False without any change if it is not free. O(free²). */
bool rectangles_place(struct rectangles *plane, struct rectangle place, uint32_t owner);

/* Frees the rectangle of `owner`. False if it has none. */
bool rectangles_remove(struct rectangles *plane, uint32_t owner);

#endif
