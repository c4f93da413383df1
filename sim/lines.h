/* Arrays of records that are visited in no order.
 *
 * With tens of thousands of requests in flight every record that an event visits has left the
 * processor's caches. What a visit then costs is the count of cache lines it touches, so records
 * are laid out in whole lines, and of pages whose translations are looked up, so large arrays ask
 * for huge ones.
 */
#ifndef ESGSIM_SIM_LINES_H
#define ESGSIM_SIM_LINES_H

#include <stddef.h>

/* Bytes of a cache line; the alignment of every array from here. */
enum { LINE = 64 };

/* Room for `count` records of `size` bytes, the first at the beginning of a line, all bytes zero;
 * free() releases it. NULL when out of memory. */
void *lines_allocate(size_t count, size_t size);

/* The same, with the first `used` records of `old`, which it releases; NULL, and `old` left as it
 * is, when out of memory. */
void *lines_grow(void *old, size_t used, size_t count, size_t size);

#endif
