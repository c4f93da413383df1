/* Reference implementation of a layer graph on the processor, with which the device's results are
 * compared. Every product is a plain loop, so it suits small networks only. */
#ifndef ESGSIM_TRACES_CAPTURE_EXECUTOR_PROCESSOR_H
#define ESGSIM_TRACES_CAPTURE_EXECUTOR_PROCESSOR_H

#include "traces/networks/graph.h"

/* Computes the outputs of all nodes, inputs included, as floats. Weights and inputs are drawn from
 * `seed` exactly as by the executor (weights.h). Returns NULL if memory runs out. Free with
 * processor_free. */
float **processor_run(const struct graph *graph, uint64_t seed);
void processor_free(const struct graph *graph, float **outputs);

/* Computes one node from given arrays: its inputs in order, and its matrix, scale and shift (NULL
 * if the node has none). Token inputs are whole numbers stored as floats. */
void processor_node(const struct graph *graph, size_t index, const float *const *inputs,
                    const float *matrix, const float *scale, const float *shift, float *output);

#endif
