/* Row and column effects of a square table: what each function suffers from any other, and what it
 * does to any other. They say what a pair that was not measured may have. */
#ifndef ESGSIM_TRACES_PROFILE_PAIR_EFFECTS_H
#define ESGSIM_TRACES_PROFILE_PAIR_EFFECTS_H

#include <stdbool.h>
#include <stddef.h>

/* A strength by which a row or column of one cell is halfway to the mean. */
#define PAIR_EFFECTS_STRENGTH 1.0

/* Stores mean + row effect + column effect for each of the count × count cells in `fitted`, by
 * least squares over the cells that are not NAN, with the penalty `strength` × effect² (> 0). A row
 * or column without a cell has the effect 0. `fitted` may be `cells`. False: memory is exhausted or
 * the arithmetic fails. O(count^3). */
bool pair_effects_fit(const double *cells, size_t count, double strength, double *fitted);

#endif
