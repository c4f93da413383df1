/* Arrays of records that are visited in no order.
 *
 * With tens of thousands of requests in flight every record that an event visits has left the
 * processor's caches. What a visit then costs is the count of cache lines it touches, so records
 * are laid out in whole lines, and of pages whose translations are looked up, so large arrays ask
 * for huge ones. Those grow by moving their pages, not their bytes.
 */
#ifndef ESGSIM_SIM_LINES_H
#define ESGSIM_SIM_LINES_H

#include <stddef.h>

/* Bytes of a cache line; the alignment of every array from here. */
enum { LINE = 64 };

/* Room for `count` records of `size` bytes, the first at the beginning of a line, not set to
 * anything. The caller owns it and gives it back with lines_free. NULL when out of memory. */
void *lines_allocate(size_t count, size_t size);

/* Makes room for `count` records, more than the `old_count` of `array` (NULL: none yet), which stay
 * first. The new place of the array, which the caller has in place of the old; NULL, and the array
 * left as it is, when out of memory. */
void *lines_grow(void *array, size_t old_count, size_t count, size_t size);

/* The array with room for `count` records where it has had less, *room, and that now in *room. When
 * out of memory, array and *room as they are. */
void *lines_reserve(void *array, size_t *room, size_t count, size_t size);

/* `count` as it was last given; `array` may be NULL. */
void lines_free(void *array, size_t count, size_t size);

#endif
