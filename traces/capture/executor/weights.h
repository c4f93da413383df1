/* Random weights of a layer, the same on device and processor. The results of a network with random
 * weights have no meaning, but it costs the same time as with learned weights. */
#ifndef ESGSIM_TRACES_CAPTURE_EXECUTOR_WEIGHTS_H
#define ESGSIM_TRACES_CAPTURE_EXECUTOR_WEIGHTS_H

#include <stddef.h>
#include <stdint.h>

#include "traces/networks/graph.h"

/* Number of parameters of a node, by kind. `matrix`: filters, out x in/groups x height x width (for
 * a transposed convolution in x out/groups x …); a linear layer's out x in; an embedding's rows.
 * `scale` and `shift` have one number per channel or feature. A norm has both, a bias is a shift
 * alone, and the slopes of a parametric relu are a scale alone. */
struct weights_count {
    size_t matrix, scale, shift;
};

struct weights_count weights_count(const struct graph *graph, size_t index);

/* Fills arrays of those lengths. The variance is chosen so that activations neither vanish nor
 * overflow FP16 (He et al., ICCV 2015). The values depend only on `seed` and the node's index. A
 * batch norm's running mean and variance are folded into its scale and shift. */
void weights_fill(const struct graph *graph, size_t index, uint64_t seed, float *matrix,
                  float *scale, float *shift);

/* Fills an input with numbers in -1..1, or with token ids below `entries`. */
void weights_fill_input(uint64_t seed, size_t count, float *values);
void weights_fill_tokens(uint64_t seed, size_t count, int entries, int *tokens);

/* Size of the smallest embedding table indexed by the tokens of node `input`. */
int weights_entries(const struct graph *graph, size_t input);

/* Converts a float to an IEEE half, rounded to nearest. Magnitudes below 2^-14 become 0, those
 * above 65504 infinity. */
uint16_t weights_half(float value);
float weights_float(uint16_t half);

#endif
