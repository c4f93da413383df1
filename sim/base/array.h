/* Arrays that grow. `array` is the address of the variable that points to the entries, of `size`
 * bytes each: `array_reserve(&list->items, &list->room, list->count + 1, sizeof *list->items)`. The
 * variable may be NULL while there is no entry, and free() releases the array. False: memory
 * exhausted or more bytes than a size_t holds. The array and its room are then as they were. */
#ifndef ESGSIM_SIM_BASE_ARRAY_H
#define ESGSIM_SIM_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/* Makes room for `wanted` entries. It at least doubles a room that is too small, so that an entry
 * costs O(1) on average. New entries are not set. Several arrays share one room if each but the
 * last is given a copy of it. */
bool array_reserve(void *array, size_t *room, size_t wanted, size_t size);

#endif
