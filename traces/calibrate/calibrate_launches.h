/* Which functions are bound by launches: more of the GPU does not make them faster.
 *
 * A function is bound by launches up to the largest batch at which its measured time on its least
 * share is at most LAUNCHES_MARGIN above its time on the whole GPU. Asked of functions of which the
 * launches are known, which is what a capture tells.
 */
#ifndef ESGSIM_TRACES_CALIBRATE_CALIBRATE_LAUNCHES_H
#define ESGSIM_TRACES_CALIBRATE_CALIBRATE_LAUNCHES_H

#include <stdbool.h>

#include "traces/calibrate/samples.h"

extern const double LAUNCHES_MARGIN;
/* The definition in one sentence. */
extern const char LAUNCHES_RULE[];

struct launches {
    double count; /* kernels and library calls of one inference */
    int batch;    /* least that was measured on the least share and the whole GPU */
    double ms;    /* at that batch, on the whole GPU */
    double ratio; /* time on the least share over time on the whole GPU, at that batch */
    int up_to;    /* the largest batch up to which the function is bound by launches; 0: none */
};

/* False where the launches of the function are not known, or it was not measured on both a part and
 * the whole of the GPU. `set` is reduced. O(samples²). */
bool launches_of(const struct sample_set *set, uint32_t function, struct launches *launches);

#endif
