#include "traces/capture/executor/weights.h"

#include <math.h>
#include <string.h>

/* splitmix64 (Steele, Lea, Flood, OOPSLA 2014): fast, and good enough for weights. */
static uint64_t mix(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
}

/* Uniform in -1..1. */
static float draw(uint64_t *state)
{
    return (float)((double)(mix(state) >> 40) / 8388608.0 - 1.0);
}

static int64_t input_channels(const struct graph *graph, size_t index)
{
    const struct graph_node *node = &graph->nodes[index];
    const struct graph_shape *in = &graph->nodes[node->inputs[0]].shape;
    return in->rank == 4 ? in->dims[1] : in->dims[in->rank - 1];
}

struct weights_count weights_count(const struct graph *graph, size_t index)
{
    const struct graph_node *node = &graph->nodes[index];
    const struct graph_attributes *a = &node->attributes;
    struct weights_count count = {0, 0, 0};
    if (node->kind == GRAPH_INPUT)
        return count;
    const int64_t channels = input_channels(graph, index);
    switch (node->kind) {
    case GRAPH_CONV:
    case GRAPH_CONV_TRANSPOSE:
    case GRAPH_LINEAR:
        count.shift = a->bias ? (size_t)a->channels : 0;
        count.matrix = (size_t)node->parameters - count.shift;
        break;
    case GRAPH_EMBEDDING:
        count.matrix = (size_t)node->parameters;
        break;
    case GRAPH_BATCH_NORM:
        count.scale = count.shift = (size_t)channels;
        break;
    case GRAPH_INSTANCE_NORM:
    case GRAPH_LAYER_NORM:
        count.scale = count.shift = a->affine ? (size_t)channels : 0;
        break;
    case GRAPH_PRELU:
        count.scale = a->per_channel ? (size_t)channels : 1;
        break;
    default:
        break;
    }
    return count;
}

/* Number of products per output element. */
static double fan_in(const struct graph *graph, size_t index)
{
    const struct graph_node *node = &graph->nodes[index];
    const struct graph_attributes *a = &node->attributes;
    const double channels = (double)input_channels(graph, index);
    switch (node->kind) {
    case GRAPH_CONV:
    case GRAPH_CONV_TRANSPOSE:
        return channels / (double)a->groups * (double)(a->kernel[0] * a->kernel[1]);
    case GRAPH_LINEAR:
        return channels;
    default:
        return 3; /* yields numbers in -1..1 for an embedding's rows */
    }
}

void weights_fill(const struct graph *graph, size_t index, uint64_t seed, float *matrix,
                  float *scale, float *shift)
{
    const struct weights_count count = weights_count(graph, index);
    const bool slopes = graph->nodes[index].kind == GRAPH_PRELU;
    uint64_t state = seed + 0x632BE59BD9B4E019U * (index + 1);
    if (count.matrix > 0) {
        const float spread = (float)sqrt(3.0 / fan_in(graph, index));
        for (size_t i = 0; i < count.matrix; i++)
            matrix[i] = spread * draw(&state);
    }
    for (size_t i = 0; i < count.scale; i++)
        scale[i] = slopes ? 0.25F : 1.0F + 0.1F * draw(&state);
    for (size_t i = 0; i < count.shift; i++)
        shift[i] = 0.1F * draw(&state);
}

void weights_fill_input(uint64_t seed, size_t count, float *values)
{
    uint64_t state = seed;
    for (size_t i = 0; i < count; i++)
        values[i] = draw(&state);
}

void weights_fill_tokens(uint64_t seed, size_t count, int entries, int *tokens)
{
    uint64_t state = seed;
    for (size_t i = 0; i < count; i++)
        tokens[i] = (int)(mix(&state) % (uint64_t)entries);
}

int weights_entries(const struct graph *graph, size_t input)
{
    int64_t least = INT32_MAX;
    for (size_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i].kind == GRAPH_EMBEDDING && graph->nodes[i].inputs[0] == input &&
            graph->nodes[i].attributes.entries < least)
            least = graph->nodes[i].attributes.entries;
    return (int)least;
}

uint16_t weights_half(float value)
{
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t sign = bits >> 16 & 0x8000U;
    const int32_t exponent = (int32_t)(bits >> 23 & 0xFFU) - 127;
    if (exponent < -14)
        return (uint16_t)sign;
    if (exponent > 15)
        return (uint16_t)(sign | 0x7C00U);
    uint32_t half = (uint32_t)(exponent + 15) << 10 | (bits >> 13 & 0x3FFU);
    const uint32_t rest = bits & 0x1FFFU;
    if (rest > 0x1000U || (rest == 0x1000U && (half & 1U) != 0))
        half++; /* to nearest, ties to even; a carry correctly increments the exponent */
    return (uint16_t)(sign | half);
}

float weights_float(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000U) << 16;
    const uint32_t exponent = half >> 10 & 0x1FU;
    const uint32_t fraction = half & 0x3FFU;
    uint32_t bits = sign;
    float value = 0;
    if (exponent == 0) {
        value = (float)fraction / 16777216.0F;
        return sign != 0 ? -value : value;
    }
    bits |= exponent == 31 ? 0x7F800000U : (exponent + 112) << 23;
    bits |= fraction << 13;
    memcpy(&value, &bits, sizeof value);
    return value;
}
