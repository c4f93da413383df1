#include "traces/capture/executor/processor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/capture/executor/kernels.h"
#include "traces/capture/executor/weights.h"
#include "traces/capture/executor/window.h"

#define KERNEL static inline
#define REAL float
#define NAME(x) x##_body
#define LOAD(x) (x)
#define STORE(x) (x)
#include "traces/capture/executor/kernels_body.h"

/* Operands of a node. */
struct task {
    const struct graph_node *node;
    const struct graph_shape *in;     /* shape of the first input */
    const struct graph_shape *second; /* shape of the second input; NULL: none */
    const float *const *inputs;
    const float *matrix, *scale, *shift;
    float *out;
    size_t count;
};

static size_t plane_of(const struct graph_shape *shape)
{
    return shape->rank == 4 ? (size_t)(shape->dims[2] * shape->dims[3]) : 1;
}

static size_t channels_of(const struct graph_shape *shape)
{
    return (size_t)(shape->rank == 4 ? shape->dims[1] : shape->dims[shape->rank - 1]);
}

/* ---- Products -------------------------------------------------------------------------------- */

/* Adds one filter tap of one pair of channels to a plane. With `transposed` it scatters instead. */
static void add_tap(const struct task *t, const float *x, float *y, float weight, int64_t ky,
                    int64_t kx, bool transposed)
{
    const struct graph_attributes *a = &t->node->attributes;
    const struct graph_shape *walk = transposed ? t->in : &t->node->shape;
    const struct graph_shape *other = transposed ? &t->node->shape : t->in;
    for (int64_t r = 0; r < walk->dims[2]; r++)
        for (int64_t c = 0; c < walk->dims[3]; c++) {
            const int64_t far_r = r * a->stride[0] - a->pad[0] + ky * a->dilation[0];
            const int64_t far_c = c * a->stride[1] - a->pad[1] + kx * a->dilation[1];
            if (far_r < 0 || far_c < 0 || far_r >= other->dims[2] || far_c >= other->dims[3])
                continue;
            const size_t near = (size_t)(r * walk->dims[3] + c);
            const size_t far = (size_t)(far_r * other->dims[3] + far_c);
            if (transposed)
                y[far] += weight * x[near];
            else
                y[near] += weight * x[far];
        }
}

/* Filters are [out][in / groups][height][width]. Those of a transposed convolution are [in][out /
 * groups][height][width]. */
static void convolve(const struct task *t, bool transposed)
{
    const struct graph_attributes *a = &t->node->attributes;
    const size_t in_channels = (size_t)t->in->dims[1];
    const size_t out_channels = (size_t)a->channels;
    const size_t in_group = in_channels / (size_t)a->groups;
    const size_t out_group = out_channels / (size_t)a->groups;
    const size_t taps = (size_t)(a->kernel[0] * a->kernel[1]);
    for (size_t n = 0; n < (size_t)t->in->dims[0]; n++)
        for (size_t o = 0; o < out_channels; o++) {
            float *y = t->out + (n * out_channels + o) * plane_of(&t->node->shape);
            for (size_t p = 0; p < plane_of(&t->node->shape); p++)
                y[p] = t->shift == NULL ? 0.0F : t->shift[o];
            for (size_t k = 0; k < in_group; k++) {
                const size_t i = o / out_group * in_group + k;
                const float *x = t->inputs[0] + (n * in_channels + i) * plane_of(t->in);
                const float *filter =
                    t->matrix +
                    (transposed ? i * out_group + o % out_group : o * in_group + k) * taps;
                for (size_t tap = 0; tap < taps; tap++)
                    add_tap(t, x, y, filter[tap], (int64_t)tap / a->kernel[1],
                            (int64_t)tap % a->kernel[1], transposed);
            }
        }
}

static void multiply_rows(const struct task *t)
{
    const size_t in = channels_of(t->in);
    const size_t out = (size_t)t->node->attributes.channels;
    for (size_t row = 0; row < t->count / out; row++)
        for (size_t o = 0; o < out; o++) {
            double sum = t->shift == NULL ? 0 : (double)t->shift[o];
            for (size_t i = 0; i < in; i++)
                sum += (double)t->inputs[0][row * in + i] * (double)t->matrix[o * in + i];
            t->out[row * out + o] = (float)sum;
        }
}

static void multiply_matrices(const struct task *t)
{
    const size_t rows = (size_t)t->in->dims[1];
    const size_t inner = (size_t)t->in->dims[2];
    const size_t out = (size_t)t->node->shape.dims[2];
    const bool turned = t->node->attributes.transpose;
    for (size_t i = 0; i < t->count; i++) {
        const size_t n = i / (rows * out);
        const size_t row = i / out % rows;
        const size_t column = i % out;
        const float *b = t->inputs[1] + n * inner * out;
        double sum = 0;
        for (size_t k = 0; k < inner; k++)
            sum += (double)t->inputs[0][(n * rows + row) * inner + k] *
                   (double)b[turned ? column * inner + k : k * out + column];
        t->out[i] = (float)sum;
    }
}

/* Softmax of `length` numbers at distance `stride`, each multiplied by `factor` first. */
static void soften(const float *x, float *y, size_t length, size_t stride, float factor)
{
    float most = -INFINITY;
    double sum = 0;
    for (size_t k = 0; k < length; k++)
        most = fmaxf(most, factor * x[k * stride]);
    for (size_t k = 0; k < length; k++)
        sum += exp((double)(factor * x[k * stride] - most));
    for (size_t k = 0; k < length; k++)
        y[k * stride] = (float)(exp((double)(factor * x[k * stride] - most)) / sum);
}

static bool attend(const struct task *t)
{
    const size_t features = (size_t)t->in->dims[2];
    const size_t queries = (size_t)t->in->dims[1];
    const size_t keys = (size_t)t->second->dims[1];
    const size_t width = features / (size_t)t->node->attributes.heads;
    float *scores = malloc(keys * sizeof *scores);
    if (scores == NULL)
        return false;
    for (size_t i = 0; i < t->count / width; i++) { /* a head of a query of an item */
        const size_t n = i * width / (queries * features);
        const size_t head = i * width % features;
        const float *query = t->inputs[0] + i * width;
        for (size_t k = 0; k < keys; k++) {
            const float *key = t->inputs[1] + (n * keys + k) * features + head;
            scores[k] = 0;
            for (size_t d = 0; d < width; d++)
                scores[k] += query[d] * key[d];
        }
        soften(scores, scores, keys, 1, 1.0F / sqrtf((float)width));
        for (size_t d = 0; d < width; d++) {
            float sum = 0;
            for (size_t k = 0; k < keys; k++)
                sum += scores[k] * t->inputs[2][(n * keys + k) * features + head + d];
            t->out[i * width + d] = sum;
        }
    }
    free(scores);
    return true;
}

/* ---- Norms, means, rows ---------------------------------------------------------------------- */

static void normalise(const struct task *t, size_t length, bool by_element)
{
    for (size_t start = 0; start < t->count; start += length) {
        const float *x = t->inputs[0] + start;
        const size_t channel = start / length % channels_of(t->in);
        double mean = 0;
        double variance = 0;
        for (size_t k = 0; k < length; k++)
            mean += (double)x[k] / (double)length;
        for (size_t k = 0; k < length; k++)
            variance += ((double)x[k] - mean) * ((double)x[k] - mean) / (double)length;
        const double root = 1 / sqrt(variance + t->node->attributes.epsilon);
        for (size_t k = 0; k < length; k++) {
            const size_t p = by_element ? k : channel;
            t->out[start + k] = (float)(((double)x[k] - mean) * root *
                                            (t->scale == NULL ? 1 : (double)t->scale[p]) +
                                        (t->shift == NULL ? 0 : (double)t->shift[p]));
        }
    }
}

static void average(const struct task *t)
{
    const size_t plane = plane_of(t->in);
    for (size_t i = 0; i < t->count; i++) {
        double sum = 0;
        for (size_t k = 0; k < plane; k++)
            sum += (double)t->inputs[0][i * plane + k];
        t->out[i] = (float)(sum / (double)plane);
    }
}

static void soften_all(const struct task *t)
{
    const size_t stride = plane_of(t->in);
    const size_t length = channels_of(t->in);
    for (size_t row = 0; row < t->count / length; row++) {
        const size_t start = row / stride * length * stride + row % stride;
        soften(t->inputs[0] + start, t->out + start, length, stride, 1.0F);
    }
}

static void concatenate(const struct graph *graph, const struct task *t)
{
    const size_t pitch = channels_of(&t->node->shape) * plane_of(&t->node->shape);
    size_t offset = 0;
    for (size_t k = 0; k < t->node->input_count; k++) {
        const struct graph_shape *in = &graph->nodes[t->node->inputs[k]].shape;
        const size_t width = channels_of(in) * plane_of(in);
        for (size_t i = 0; i < (size_t)graph_elements(in); i++)
            rows_body(i, t->inputs[k], t->out, (int)width, (int)pitch, (int)offset, 0);
        offset += width;
    }
}

static void combine(const struct task *t, bool multiply)
{
    const float *left = t->inputs[0];
    for (size_t k = 1; k < t->node->input_count; k++) {
        for (size_t i = 0; i < t->count; i++)
            binary_body(i, left, t->inputs[k], t->out, multiply, KERNEL_NONE, 0, 0);
        left = t->out;
    }
}

static void embed(const struct task *t)
{
    const size_t width = (size_t)t->node->attributes.channels;
    for (size_t i = 0; i < t->count; i++)
        t->out[i] = t->matrix[(size_t)t->inputs[0][i / width] * width + i % width];
}

/* ---- Element by element ---------------------------------------------------------------------- */

static void apply_affine(const struct task *t, int function, float low, float high)
{
    affine_body(0, t->count, t->inputs[0], t->out, t->scale, t->shift, (int)channels_of(t->in),
                (int)plane_of(t->in), function, low, high);
}

static void apply_window(const struct task *t)
{
    const struct kernel_window w = window_of(t->node, t->in);
    const struct graph_attributes *a = &t->node->attributes;
    for (size_t i = 0; i < t->count; i++) {
        if (t->node->kind == GRAPH_PIXEL_SHUFFLE)
            pixel_shuffle_body(i, t->inputs[0], t->out, w);
        else if (t->node->kind == GRAPH_REFLECT_PAD)
            reflect_pad_body(i, t->inputs[0], t->out, w);
        else if (t->node->kind == GRAPH_UPSAMPLE)
            upsample_body(i, t->inputs[0], t->out, w, a->mode == GRAPH_BILINEAR, a->align_corners);
        else
            pool_body(i, t->inputs[0], t->out, w, t->node->kind == GRAPH_AVG_POOL, a->count_pad);
    }
}

static void apply_prelu(const struct task *t)
{
    const size_t channels = t->node->attributes.per_channel ? channels_of(t->in) : 1;
    for (size_t i = 0; i < t->count; i++)
        prelu_body(i, t->inputs[0], t->out, t->scale, (int)channels, (int)plane_of(t->in));
}

static void choose_token(const struct task *t)
{
    const int width = (int)t->in->dims[2];
    for (size_t i = 0; i < t->count; i++)
        rows_body(i, t->inputs[0], t->out, width, (int)t->in->dims[1] * width,
                  (int)t->node->attributes.index * width, 1);
}

/* ---- A node, a graph ------------------------------------------------------------------------- */

static void run_task(const struct graph *graph, const struct task *t)
{
    const struct graph_attributes *a = &t->node->attributes;
    switch (t->node->kind) {
    case GRAPH_CONV:
    case GRAPH_CONV_TRANSPOSE:
        convolve(t, t->node->kind == GRAPH_CONV_TRANSPOSE);
        break;
    case GRAPH_MAX_POOL:
    case GRAPH_AVG_POOL:
    case GRAPH_PIXEL_SHUFFLE:
    case GRAPH_UPSAMPLE:
    case GRAPH_REFLECT_PAD:
        apply_window(t);
        break;
    case GRAPH_GLOBAL_POOL:
        average(t);
        break;
    case GRAPH_BATCH_NORM:
        apply_affine(t, KERNEL_NONE, 0, 0);
        break;
    case GRAPH_INSTANCE_NORM:
        normalise(t, plane_of(t->in), false);
        break;
    case GRAPH_LAYER_NORM:
        normalise(t, channels_of(t->in), true);
        break;
    case GRAPH_RELU:
        apply_affine(t, KERNEL_RELU, 0, 0);
        break;
    case GRAPH_RELU6:
        apply_affine(t, KERNEL_CLAMP, 0, 6);
        break;
    case GRAPH_LEAKY_RELU:
        apply_affine(t, KERNEL_SLOPE, (float)a->slope, 0);
        break;
    case GRAPH_PRELU:
        apply_prelu(t);
        break;
    case GRAPH_SIGMOID:
        apply_affine(t, KERNEL_SIGMOID, 0, 0);
        break;
    case GRAPH_TANH:
        apply_affine(t, KERNEL_TANH, 0, 0);
        break;
    case GRAPH_GELU:
        apply_affine(t, KERNEL_GELU, 0, 0);
        break;
    case GRAPH_CLAMP:
        apply_affine(t, KERNEL_CLAMP, (float)a->low, (float)a->high);
        break;
    case GRAPH_SOFTMAX:
        soften_all(t);
        break;
    case GRAPH_ADD:
    case GRAPH_MULTIPLY:
        combine(t, t->node->kind == GRAPH_MULTIPLY);
        break;
    case GRAPH_CONCAT:
        concatenate(graph, t);
        break;
    case GRAPH_FLATTEN:
        memcpy(t->out, t->inputs[0], t->count * sizeof *t->out);
        break;
    case GRAPH_LINEAR:
        multiply_rows(t);
        break;
    case GRAPH_MATMUL:
        multiply_matrices(t);
        break;
    case GRAPH_ATTENTION:
        (void)attend(t);
        break;
    case GRAPH_EMBEDDING:
        embed(t);
        break;
    case GRAPH_TOKEN:
        choose_token(t);
        break;
    case GRAPH_INPUT:
    case GRAPH_KINDS:
        break;
    }
}

void processor_node(const struct graph *graph, size_t index, const float *const *inputs,
                    const float *matrix, const float *scale, const float *shift, float *output)
{
    const struct graph_node *node = &graph->nodes[index];
    struct task task = {
        .node = node,
        .in = &graph->nodes[node->inputs[0]].shape,
        .second = &graph->nodes[node->inputs[node->input_count > 1 ? 1 : 0]].shape,
        .inputs = inputs,
        .matrix = matrix,
        .scale = scale,
        .shift = shift,
        .count = (size_t)graph_elements(&node->shape),
    };
    task.out = output;
    run_task(graph, &task);
}

static bool fill_input(const struct graph *graph, size_t index, uint64_t seed, float *values)
{
    const size_t count = (size_t)graph_elements(&graph->nodes[index].shape);
    if (!graph->nodes[index].tokens) {
        weights_fill_input(seed + index, count, values);
        return true;
    }
    int *tokens = malloc(count * sizeof *tokens);
    if (tokens == NULL)
        return false;
    weights_fill_tokens(seed + index, count, weights_entries(graph, index), tokens);
    for (size_t i = 0; i < count; i++)
        values[i] = (float)tokens[i];
    free(tokens);
    return true;
}

static bool run_drawn(const struct graph *graph, size_t index, uint64_t seed, float **outputs)
{
    const float *inputs[GRAPH_INPUT_LIMIT];
    const struct graph_node *node = &graph->nodes[index];
    const struct weights_count count = weights_count(graph, index);
    float *numbers = malloc((count.matrix + count.scale + count.shift + 1) * sizeof *numbers);
    if (numbers == NULL)
        return false;
    float *scale = numbers + count.matrix;
    float *shift = scale + count.scale;
    weights_fill(graph, index, seed, numbers, scale, shift);
    for (size_t k = 0; k < GRAPH_INPUT_LIMIT; k++)
        inputs[k] = outputs[node->inputs[k < node->input_count ? k : 0]];
    processor_node(graph, index, inputs, numbers, count.scale > 0 ? scale : NULL,
                   count.shift > 0 ? shift : NULL, outputs[index]);
    free(numbers);
    return true;
}

float **processor_run(const struct graph *graph, uint64_t seed)
{
    float **outputs = calloc(graph->node_count, sizeof *outputs);
    for (size_t i = 0; outputs != NULL && i < graph->node_count; i++) {
        outputs[i] = calloc((size_t)graph_elements(&graph->nodes[i].shape), sizeof **outputs);
        const bool good = outputs[i] != NULL && (graph->nodes[i].kind == GRAPH_INPUT
                                                     ? fill_input(graph, i, seed, outputs[i])
                                                     : run_drawn(graph, i, seed, outputs));
        if (!good) {
            processor_free(graph, outputs);
            return NULL;
        }
    }
    return outputs;
}

void processor_free(const struct graph *graph, float **outputs)
{
    for (size_t i = 0; outputs != NULL && i < graph->node_count; i++)
        free(outputs[i]);
    free(outputs);
}
