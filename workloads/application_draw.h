/* Draws the application of a request if the arrival process does not determine it.
 *
 * The draw uses the applications' weights and the random stream (seed, RANDOM_APPLICATION,
 * request).
 */
#ifndef ESGSIM_WORKLOADS_APPLICATION_DRAW_H
#define ESGSIM_WORKLOADS_APPLICATION_DRAW_H

#include <stdint.h>

struct application_draw;
struct workload;

/* Fastest if requests are drawn in ascending order. `workload` must outlive the draw. NULL when out
 * of memory. */
struct application_draw *application_draw_create(const struct workload *workload, uint64_t seed);
void application_draw_destroy(struct application_draw *draw);

/* The application of request number `request`. */
uint32_t application_draw_next(struct application_draw *draw, uint64_t request);

/* The application whose part of [0, 1) contains `uniform`, a multiple of 2^-53. The walk subtracts
 * the weights one by one; the look-up gives the same result faster, from a table. */
uint32_t application_draw_walk(const struct workload *workload, double uniform);
uint32_t application_draw_look_up(const struct application_draw *draw, double uniform);

#endif
