/* Lists that grow: room for more elements, doubled at a time. */
#ifndef ESGSIM_SIM_ARRAY_H
#define ESGSIM_SIM_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ensures that a list has room for `needed` elements of `size` bytes. `list` points to the pointer
 * to its memory, `room` to the number of elements that fit; NULL and 0 at first. New elements are
 * all zeros. False when out of memory: the list is then unchanged. Amortised O(1) per element. */
bool array_reserve(void *list, uint32_t *room, uint32_t needed, size_t size);

#endif
