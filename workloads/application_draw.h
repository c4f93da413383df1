/* Which application a request belongs to, where the arrival process does not say: drawn by the
 * applications' weights from the stream (seed, RANDOM_APPLICATION, request).
 */
#ifndef ESGSIM_WORKLOADS_APPLICATION_DRAW_H
#define ESGSIM_WORKLOADS_APPLICATION_DRAW_H

#include <stdint.h>

struct application_draw;
struct workload;

/* For requests that come in the order of their numbers, or nearly; `workload` must outlive it. NULL
 * when out of memory. */
struct application_draw *application_draw_create(const struct workload *workload, uint64_t seed);
void application_draw_destroy(struct application_draw *draw);

/* The application of request n. */
uint32_t application_draw_next(struct application_draw *draw, uint64_t request);

/* Whose share of [0, 1) holds `uniform`, a multiple of 2^-53: by subtracting weight after weight,
 * and by a table that tells the same sooner. */
uint32_t application_draw_walk(const struct workload *workload, double uniform);
uint32_t application_draw_look_up(const struct application_draw *draw, double uniform);

#endif
