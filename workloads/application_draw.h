/* Draws the application of a request if the arrival process does not determine it.
 *
 * The draw uses the applications' weights and the random stream (seed, RANDOM_APPLICATION,
 * request).
 */
#ifndef ESGSIM_WORKLOADS_APPLICATION_DRAW_H
#define ESGSIM_WORKLOADS_APPLICATION_DRAW_H

#include <stdint.h>

struct workload;

/* The application of request number `request`. O(applications). */
uint32_t application_draw(const struct workload *workload, uint64_t seed, uint64_t request);

/* Whose share of [0, 1) holds `uniform`: by subtracting weight after weight,
 * none of which is negative. O(applications). */
uint32_t application_draw_walk(const struct workload *workload, double uniform);

#endif
