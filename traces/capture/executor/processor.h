/* A graph on the processor, plainly: what the device's results are compared with. For small
 * networks; every product is a loop.
 */
#ifndef ESGSIM_TRACES_CAPTURE_EXECUTOR_PROCESSOR_H
#define ESGSIM_TRACES_CAPTURE_EXECUTOR_PROCESSOR_H

#include "traces/networks/graph.h"

/* Outputs of all nodes (float each; inputs included), weights and inputs drawn from `seed` as the
 * executor draws them (weights.h). NULL without memory; free with processor_free. */
float **processor_run(const struct graph *graph, uint64_t seed);
void processor_free(const struct graph *graph, float **outputs);

/* One node on given arrays: inputs in order, its matrix, scale and shift (NULL where it has none).
 * Token inputs are floats of whole numbers. */
void processor_node(const struct graph *graph, size_t index, const float *const *inputs,
                    const float *matrix, const float *scale, const float *shift, float *output);

#endif
