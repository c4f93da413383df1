#include "sched/fast_gshare/rectangles.h"

#include <string.h>

static bool overlap(struct rectangle a, struct rectangle b)
{
    return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height &&
           b.y < a.y + a.height;
}

static bool contains(struct rectangle outer, struct rectangle inner)
{
    return outer.x <= inner.x && inner.x + inner.width <= outer.x + outer.width &&
           outer.y <= inner.y && inner.y + inner.height <= outer.y + outer.height;
}

static void push(struct arena *arena, struct rectangle **list, size_t *count, struct rectangle one)
{
    *ARENA_NEXT(arena, *list, *count) = one;
}

void rectangles_init(struct rectangles *plane, struct arena *arena, uint32_t width, uint32_t height)
{
    *plane = (struct rectangles){.arena = arena, .width = width, .height = height};
    push(arena, &plane->free, &plane->free_count, (struct rectangle){0, 0, width, height});
}

static bool better(const struct rectangle_fit *a, const struct rectangle_fit *b)
{
    if (a->leftover != b->leftover)
        return a->leftover < b->leftover;
    if (a->second != b->second)
        return a->second < b->second;
    return a->place.y != b->place.y ? a->place.y < b->place.y : a->place.x < b->place.x;
}

bool rectangles_find(const struct rectangles *plane, uint32_t width, uint32_t height,
                     enum rectangle_rule rule, struct rectangle_fit *fit)
{
    bool found = false;
    for (size_t i = 0; i < plane->free_count; i++) {
        const struct rectangle *room = &plane->free[i];
        if (width > room->width || height > room->height)
            continue;
        const uint64_t area = (uint64_t)room->width * room->height - (uint64_t)width * height;
        const uint32_t across = room->width - width;
        const uint32_t along = room->height - height;
        const uint64_t side = across < along ? across : along;
        const bool by_area = rule == RECTANGLE_BEST_AREA;
        const struct rectangle_fit here = {
            {room->x, room->y, width, height}, by_area ? area : side, by_area ? side : area};
        if (!found || better(&here, fit))
            *fit = here;
        found = true;
    }
    return found;
}

/* The at most four maximal empty rectangles that remain of `room` without `taken`. */
static size_t split(struct rectangle room, struct rectangle taken, struct rectangle parts[4])
{
    const uint32_t right = room.x + room.width;
    const uint32_t top = room.y + room.height;
    const uint32_t taken_right = taken.x + taken.width;
    const uint32_t taken_top = taken.y + taken.height;
    size_t count = 0;
    if (taken.x > room.x)
        parts[count++] = (struct rectangle){room.x, room.y, taken.x - room.x, room.height};
    if (taken_right < right)
        parts[count++] = (struct rectangle){taken_right, room.y, right - taken_right, room.height};
    if (taken.y > room.y)
        parts[count++] = (struct rectangle){room.x, room.y, room.width, taken.y - room.y};
    if (taken_top < top)
        parts[count++] = (struct rectangle){room.x, taken_top, room.width, top - taken_top};
    return count;
}

/* Removes rectangles contained in another; of equal ones the first is kept. */
static size_t prune(struct rectangle *list, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        bool within = false;
        for (size_t j = 0; j < count && !within; j++)
            within = j != i && contains(list[j], list[i]) && (j < i || !contains(list[i], list[j]));
        if (!within)
            list[kept++] = list[i];
        else
            /* Rectangles contained in the removed one are also contained in its container. */
            list[i] = (struct rectangle){0};
    }
    return kept;
}

/* Removes `taken` from the free rectangles. */
static void subtract(struct rectangles *plane, struct rectangle taken)
{
    struct rectangle *list = NULL;
    size_t count = 0;
    for (size_t i = 0; i < plane->free_count; i++) {
        struct rectangle parts[4] = {plane->free[i]};
        const size_t part_count =
            overlap(plane->free[i], taken) ? split(plane->free[i], taken, parts) : 1;
        for (size_t p = 0; p < part_count; p++)
            push(plane->arena, &list, &count, parts[p]);
    }
    arena_release(plane->arena, plane->free);
    plane->free = list;
    plane->free_count = prune(list, count);
}

bool rectangles_place(struct rectangles *plane, struct rectangle place, uint32_t owner)
{
    bool is_free = false;
    for (size_t i = 0; i < plane->free_count && !is_free; i++)
        is_free = contains(plane->free[i], place);
    if (!is_free || place.width == 0 || place.height == 0)
        return false;
    arena_reserve(plane->arena, &plane->used, plane->used_count + 1, sizeof *plane->used);
    subtract(plane, place);
    plane->used[plane->used_count++] = (struct rectangle_owned){place, owner};
    return true;
}

bool rectangles_remove(struct rectangles *plane, uint32_t owner)
{
    size_t at = 0;
    while (at < plane->used_count && plane->used[at].owner != owner)
        at++;
    if (at == plane->used_count)
        return false;
    plane->free_count = 0;
    push(plane->arena, &plane->free, &plane->free_count,
         (struct rectangle){0, 0, plane->width, plane->height});
    for (size_t i = 0; i < plane->used_count; i++)
        if (i != at)
            subtract(plane, plane->used[i].place);
    plane->used_count--;
    memmove(&plane->used[at], &plane->used[at + 1], (plane->used_count - at) * sizeof *plane->used);
    return true;
}
