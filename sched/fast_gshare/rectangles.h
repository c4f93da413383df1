/* Maximal free rectangles of a plane: where on a GPU a pod finds room.
 *
 * FaST-GShare (ICPP'23), placement [recall]: a GPU is a plane of time quota (x) by SM share (y) and
 * a pod a rectangle in it, as in the MaxRects heuristics for bin packing (Jylänki, "A Thousand Ways
 * to Pack the Bin", 2010). The free space is kept as the list of all maximal empty rectangles,
 * those that no other empty rectangle contains: a pod fits if and only if it fits into one of them.
 *
 * Pods stay where they were put. Taking one out derives the list anew from those that are left,
 * which costs O(pods × rectangles²) and leaves the same list, in the same order, whatever happened
 * before.
 */
#ifndef ESGSIM_SCHED_FAST_GSHARE_RECTANGLES_H
#define ESGSIM_SCHED_FAST_GSHARE_RECTANGLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* [x, x + width) by [y, y + height). */
struct rectangle {
    uint32_t x, y, width, height;
};

/* Which free rectangle takes a pod: the one with the least area left over, or with the least left
 * over along the tighter side. The other decides where one ties, then the lower y, then x
 * [derived: the paper's tie-breaking is not known]. */
enum rectangle_rule { RECTANGLE_BEST_AREA, RECTANGLE_BEST_SHORT_SIDE };

struct rectangle_owned {
    struct rectangle place;
    uint32_t owner;
};

struct rectangles {
    uint32_t width, height;
    struct rectangle *free; /* all maximal empty rectangles, none within another; owned */
    size_t free_count, free_room;
    struct rectangle_owned *used; /* in the order in which they were placed; owned */
    size_t used_count, used_room;
};

/* Where a rectangle would go, and how well it fits: lower is better, first `leftover`, then
 * `second`. */
struct rectangle_fit {
    struct rectangle place;
    uint64_t leftover, second;
};

/* An empty plane. False when out of memory; rectangles_clear is then still to be called. */
bool rectangles_init(struct rectangles *plane, uint32_t width, uint32_t height);
void rectangles_clear(struct rectangles *plane);

/* The corner of a free rectangle, by `rule`, for one of `width` by `height` (both >= 1). False
 * where it fits nowhere. O(free rectangles). */
bool rectangles_find(const struct rectangles *plane, uint32_t width, uint32_t height,
                     enum rectangle_rule rule, struct rectangle_fit *fit);

/* Takes `place`, which lies within a free rectangle, for `owner`: every free rectangle that it
 * overlaps is split into its at most four maximal remainders, and those within another are pruned.
 * False, and nothing changes, where it is not free or when out of memory. O(free²). */
bool rectangles_place(struct rectangles *plane, struct rectangle place, uint32_t owner);

/* Frees what `owner` took; false where it has nothing, or (nothing changes) when out of memory. */
bool rectangles_remove(struct rectangles *plane, uint32_t owner);

/* The rectangle of `owner`, NULL where it has none. */
const struct rectangle *rectangles_of(const struct rectangles *plane, uint32_t owner);

/* Σ area of what is taken. */
uint64_t rectangles_used_area(const struct rectangles *plane);

#endif
