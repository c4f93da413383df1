/* Random weights of a layer, the same on device and processor: what a network computes with them
 * means nothing, what it costs is the same as with learned ones.
 */
#ifndef ESGSIM_TRACES_CAPTURE_EXECUTOR_WEIGHTS_H
#define ESGSIM_TRACES_CAPTURE_EXECUTOR_WEIGHTS_H

#include <stddef.h>
#include <stdint.h>

#include "traces/networks/graph.h"

/* How many numbers a node has of each kind. `matrix`: filters out x in/groups x height x width (of
 * a transposed convolution in x out/groups x …), a linear layer's out x in, an embedding's rows.
 * `scale` and `shift` by channel or feature: a norm's, a bias (shift alone), slopes of a parametric
 * relu (scale alone). */
struct weights_count {
    size_t matrix, scale, shift;
};

struct weights_count weights_count(const struct graph *graph, size_t index);

/* Fills arrays of those lengths; spread so that activations neither vanish nor overflow FP16 (He et
 * al., ICCV 2015). Depends on `seed` and the node's index alone. A batch norm's running mean and
 * variance are folded into its scale and shift. */
void weights_fill(const struct graph *graph, size_t index, uint64_t seed, float *matrix,
                  float *scale, float *shift);

/* Numbers of an input in -1..1, or token ids below `entries`. */
void weights_fill_input(uint64_t seed, size_t count, float *values);
void weights_fill_tokens(uint64_t seed, size_t count, int entries, int *tokens);

/* Smallest table that an embedding indexes with the tokens of node `input`. */
int weights_entries(const struct graph *graph, size_t input);

/* IEEE half from float, to nearest; magnitudes below 2^-14 become 0, above 65504 infinity. */
uint16_t weights_half(float value);
float weights_float(uint16_t half);

#endif
