#include "traces/networks/graph_kinds.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Limits that keep every sum over a graph below 2^63: 4096 nodes of at most 2^50 each. */
static const int64_t ELEMENTS_LIMIT = INT64_C(1) << 40;
static const int64_t COUNT_LIMIT = INT64_C(1) << 50;
enum { KEYS = 12, COMMON_KEYS = 3 };

/* ---- Arithmetic of shapes -------------------------------------------------------------------- */

static bool unfit(char *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool unfit(char *why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(why, GRAPH_WHY_LENGTH, format, args);
    va_end(args);
    return false;
}

/* Product of non-negative factors, or -1 if it exceeds `limit`. */
static int64_t product(int64_t limit, size_t count, const int64_t *factors)
{
    int64_t result = 1;
    for (size_t i = 0; i < count; i++)
        if (factors[i] == 0)
            return 0;
    for (size_t i = 0; i < count; i++) {
        if (result > limit / factors[i])
            return -1;
        result *= factors[i];
    }
    return result;
}

#define PRODUCT(...)                                                                               \
    product(COUNT_LIMIT, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t),                 \
            (const int64_t[]){__VA_ARGS__})

static const struct graph_shape *input_shape(const struct graph *graph,
                                             const struct graph_node *node, size_t index)
{
    return &graph->nodes[node->inputs[index]].shape;
}

static bool needs_rank(const struct graph_shape *shape, int low, int high, char *why)
{
    char text[64];
    if (shape->rank >= low && shape->rank <= high)
        return true;
    return unfit(why, "takes %s, its input is %s",
                 low == 4    ? "images (channels x height x width)"
                 : low == 3  ? "sequences (sequence x features)"
                 : high == 3 ? "features, after flatten"
                             : "features or images",
                 graph_shape_text(shape, text, sizeof text));
}

static bool same_shape(const struct graph_shape *a, const struct graph_shape *b)
{
    return a->rank == b->rank && memcmp(a->dims, b->dims, sizeof a->dims[0] * (size_t)a->rank) == 0;
}

static bool infer_image(struct graph_node *node, const struct graph_shape *in, int64_t channels,
                        int64_t height, int64_t width, char *why)
{
    if (height < 1 || width < 1)
        return unfit(why, "its window is larger than the padded input of %" PRId64 "x%" PRId64,
                     in->dims[2], in->dims[3]);
    node->shape = (struct graph_shape){4, {in->dims[0], channels, height, width}};
    return true;
}

/* ---- Kinds ----------------------------------------------------------------------------------- */

typedef bool kind_infer(const struct graph *graph, struct graph_node *node, char *why);

static bool infer_same(const struct graph *graph, struct graph_node *node, char *why)
{
    why[0] = '\0';
    node->shape = *input_shape(graph, node, 0);
    return true;
}

static bool infer_input(const struct graph *graph, struct graph_node *node, char *why)
{
    (void)graph;
    (void)node;
    why[0] = '\0';
    return true;
}

static bool check_groups(const struct graph_attributes *a, int64_t in_channels, char *why)
{
    if (in_channels % a->groups != 0 || a->channels % a->groups != 0)
        return unfit(why,
                     "%" PRId64 " groups do not divide its %" PRId64 " input and %" PRId64
                     " output channels",
                     a->groups, in_channels, a->channels);
    return true;
}

static int64_t conv_side(const struct graph_attributes *a, const struct graph_shape *in, int side)
{
    const int64_t window = a->dilation[side] * (a->kernel[side] - 1) + 1;
    const int64_t room = in->dims[2 + side] + 2 * a->pad[side] - window;
    return room < 0 ? 0 : room / a->stride[side] + 1;
}

static bool infer_conv(const struct graph *graph, struct graph_node *node, char *why)
{
    const struct graph_shape *in = input_shape(graph, node, 0);
    const struct graph_attributes *a = &node->attributes;
    if (!needs_rank(in, 4, 4, why) || !check_groups(a, in->dims[1], why) ||
        !infer_image(node, in, a->channels, conv_side(a, in, 0), conv_side(a, in, 1), why))
        return false;
    const int64_t taps = PRODUCT(in->dims[1] / a->groups, a->kernel[0], a->kernel[1]);
    node->parameters = PRODUCT(taps + (a->bias ? 1 : 0), a->channels);
    node->macs = PRODUCT(taps, in->dims[0], a->channels, node->shape.dims[2], node->shape.dims[3]);
    return true;
}

static bool infer_conv_transpose(const struct graph *graph, struct graph_node *node, char *why)
{
    const struct graph_shape *in = input_shape(graph, node, 0);
    const struct graph_attributes *a = &node->attributes;
    int64_t side[2];
    if (!needs_rank(in, 4, 4, why) || !check_groups(a, in->dims[1], why))
        return false;
    for (int s = 0; s < 2; s++) {
        if (a->output_pad[s] >= a->stride[s])
            return unfit(why, "output_pad %" PRId64 " is not below its stride %" PRId64,
                         a->output_pad[s], a->stride[s]);
        side[s] =
            (in->dims[2 + s] - 1) * a->stride[s] - 2 * a->pad[s] + a->kernel[s] + a->output_pad[s];
    }
    if (!infer_image(node, in, a->channels, side[0], side[1], why))
        return false;
    const int64_t taps = PRODUCT(a->channels / a->groups, a->kernel[0], a->kernel[1]);
    node->parameters = PRODUCT(taps, in->dims[1]) + (a->bias ? a->channels : 0);
    node->macs = PRODUCT(taps, in->dims[0], in->dims[1], in->dims[2], in->dims[3]);
    return true;
}

/* Output size of a pooling. With rounding up, a last window that covers only padding is omitted. */
static int64_t pool_side(const struct graph_attributes *a, const struct graph_shape *in, int side)
{
    const int64_t stride = a->stride[side];
    const int64_t room = in->dims[2 + side] + 2 * a->pad[side] - a->kernel[side];
    if (room < 0)
        return 0;
    int64_t out = (room + (a->ceil ? stride - 1 : 0)) / stride + 1;
    if (a->ceil && (out - 1) * stride >= in->dims[2 + side] + a->pad[side])
        out--;
    return out;
}

static bool infer_pool(const struct graph *graph, struct graph_node *node, char *why)
{
    const struct graph_shape *in = input_shape(graph, node, 0);
    const struct graph_attributes *a = &node->attributes;
    if (!needs_rank(in, 4, 4, why))
        return false;
    for (int s = 0; s < 2; s++)
        if (2 * a->pad[s] > a->kernel[s])
            return unfit(why, "pad %" PRId64 " is above half its kernel %" PRId64, a->pad[s],
                         a->kernel[s]);
    return infer_image(node, in, in->dims[1], pool_side(a, in, 0), pool_side(a, in, 1), why);
}

static bool infer_global_pool(const struct graph *graph, struct graph_node *node, char *why)
{
    const struct graph_shape *in = input_shape(graph, node, 0);
    return needs_rank(in, 4, 4, why) && infer_image(node, in, in->dims[1], 1, 1, why);
}

static bool infer_channel_norm(const struct graph *graph, struct graph_node *node, char *why)
{
    const struct graph_shape *in = input_shape(graph, node, 0);
    if (!needs_rank(in, 4, 4, why))
        return false;
    node->shape = *in;
    node->parameters = node->attributes.affine ? 2 * in->dims[1] : 0;
    node->buffers = node->kind == GRAPH_BATCH_NORM ? 2 * in->dims[1] : 0;
    return true;
}

static bool infer_layer_norm(const struct graph *graph, struct graph_node *node, char *why)
{
    const struct graph_shape *in = input_shape(graph, node, 0);
    if (!needs_rank(in, 2, 3, why))
        return false;
    node->shape = *in;
    node->parameters = node->attributes.affine ? 2 * in->dims[in->rank - 1] : 0;
    return true;
}

static bool infer_prelu(const struct graph *graph, struct graph_node *node, char *why)
{
    if (!infer_same(graph, node, why))
        return false;
    node->parameters = node->attributes.per_channel ? node->shape.dims[1] : 1;
    return true;
}

static bool infer_clamp(const struct graph *graph, struct graph_node *node, char *why)
{
    if (node->attributes.low > node->attributes.high)
        return unfit(why, "\"low\" %g is above \"high\" %g", node->attributes.low,
                     node->attributes.high);
    return infer_same(graph, node, why);
}

static bool infer_elementwise(const struct graph *graph, struct graph_node *node, char *why)
{
    char first[64];
    char other[64];
    const struct graph_shape *in = input_shape(graph, node, 0);
    for (size_t i = 1; i < node->input_count; i++)
        if (!same_shape(in, input_shape(graph, node, i)))
            return unfit(why, "its inputs differ: %s and %s",
                         graph_shape_text(in, first, sizeof first),
                         graph_shape_text(input_shape(graph, node, i), other, sizeof other));
    return infer_same(graph, node, why);
}

static bool infer_concat(const struct graph *graph, struct graph_node *node, char *why)
{
    const struct graph_shape *in = input_shape(graph, node, 0);
    int64_t channels = 0;
    for (size_t i = 0; i < node->input_count; i++) {
        const struct graph_shape *other = input_shape(graph, node, i);
        if (!needs_rank(other, 4, 4, why))
            return false;
        if (other->dims[2] != in->dims[2] || other->dims[3] != in->dims[3])
            return unfit(
                why, "its inputs differ in size: %" PRId64 "x%" PRId64 " and %" PRId64 "x%" PRId64,
                in->dims[2], in->dims[3], other->dims[2], other->dims[3]);
        channels += other->dims[1];
    }
    return infer_image(node, in, channels, in->dims[2], in->dims[3], why);
}

static bool infer_pixel_shuffle(const struct graph *graph, struct graph_node *node, char *why)
{
    const struct graph_shape *in = input_shape(graph, node, 0);
    const int64_t r = node->attributes.factor;
    if (!needs_rank(in, 4, 4, why))
        return false;
    if (in->dims[1] % (r * r) != 0)
        return unfit(why, "its %" PRId64 " channels are no multiple of %" PRId64 " squared",
                     in->dims[1], r);
    return infer_image(node, in, in->dims[1] / (r * r), in->dims[2] * r, in->dims[3] * r, why);
}

/* Upsampling takes exactly one of a factor, a size, and the size of a second input. */
static bool infer_upsample(const struct graph *graph, struct graph_node *node, char *why)
{
    const struct graph_shape *in = input_shape(graph, node, 0);
    const struct graph_attributes *a = &node->attributes;
    const bool like = node->input_count == 2;
    if ((a->factor > 0) + (a->size[0] > 0) + like != 1)
        return unfit(why, "give one of \"factor\", \"size\" or a second input to match");
    if (!needs_rank(in, 4, 4, why))
        return false;
    int64_t height = a->factor > 0 ? in->dims[2] * a->factor : a->size[0];
    int64_t width = a->factor > 0 ? in->dims[3] * a->factor : a->size[1];
    if (like) {
        const struct graph_shape *model = input_shape(graph, node, 1);
        if (!needs_rank(model, 4, 4, why))
            return false;
        height = model->dims[2];
        width = model->dims[3];
    }
    return infer_image(node, in, in->dims[1], height, width, why);
}

static bool infer_reflect_pad(const struct graph *graph, struct graph_node *node, char *why)
{
    const struct graph_shape *in = input_shape(graph, node, 0);
    const int64_t *pad = node->attributes.pad;
    if (!needs_rank(in, 4, 4, why))
        return false;
    if (pad[0] >= in->dims[2] || pad[1] >= in->dims[3])
        return unfit(why, "a reflection needs a pad below its input of %" PRId64 "x%" PRId64,
                     in->dims[2], in->dims[3]);
    return infer_image(node, in, in->dims[1], in->dims[2] + 2 * pad[0], in->dims[3] + 2 * pad[1],
                       why);
}

static bool infer_flatten(const struct graph *graph, struct graph_node *node, char *why)
{
    const struct graph_shape *in = input_shape(graph, node, 0);
    if (!needs_rank(in, 4, 4, why))
        return false;
    node->shape = (struct graph_shape){
        2, {in->dims[0], PRODUCT(in->dims[1], in->dims[2], in->dims[3]), 0, 0}};
    return true;
}

static bool infer_linear(const struct graph *graph, struct graph_node *node, char *why)
{
    const struct graph_shape *in = input_shape(graph, node, 0);
    const struct graph_attributes *a = &node->attributes;
    if (!needs_rank(in, 2, 3, why))
        return false;
    const int64_t features = in->dims[in->rank - 1];
    node->shape = *in;
    node->shape.dims[in->rank - 1] = a->channels;
    node->parameters = PRODUCT(features + (a->bias ? 1 : 0), a->channels);
    node->macs = PRODUCT(graph_elements(in), a->channels);
    return true;
}

static bool infer_matmul(const struct graph *graph, struct graph_node *node, char *why)
{
    const struct graph_shape *left = input_shape(graph, node, 0);
    const struct graph_shape *right = input_shape(graph, node, 1);
    const bool turned = node->attributes.transpose;
    if (!needs_rank(left, 3, 3, why) || !needs_rank(right, 3, 3, why))
        return false;
    const int64_t inner = right->dims[turned ? 2 : 1];
    const int64_t outer = right->dims[turned ? 1 : 2];
    if (left->dims[2] != inner)
        return unfit(why, "its rows of %" PRId64 " do not fit columns of %" PRId64, left->dims[2],
                     inner);
    node->shape = (struct graph_shape){3, {left->dims[0], left->dims[1], outer, 0}};
    node->macs = PRODUCT(left->dims[0], left->dims[1], inner, outer);
    return true;
}

static bool infer_attention(const struct graph *graph, struct graph_node *node, char *why)
{
    const struct graph_shape *query = input_shape(graph, node, 0);
    const struct graph_shape *key = input_shape(graph, node, 1);
    const int64_t heads = node->attributes.heads;
    if (!needs_rank(query, 3, 3, why) || !needs_rank(key, 3, 3, why))
        return false;
    if (!same_shape(key, input_shape(graph, node, 2)) || key->dims[2] != query->dims[2])
        return unfit(why, "query, key and value have different shapes");
    if (query->dims[2] % heads != 0)
        return unfit(why, "%" PRId64 " heads do not divide its %" PRId64 " features", heads,
                     query->dims[2]);
    node->shape = *query;
    node->scratch_elements = PRODUCT(query->dims[0], heads, query->dims[1], key->dims[1]);
    node->macs = PRODUCT(2, query->dims[0], query->dims[1], key->dims[1], query->dims[2]);
    return true;
}

static bool infer_embedding(const struct graph *graph, struct graph_node *node, char *why)
{
    const struct graph_shape *in = input_shape(graph, node, 0);
    if (!graph->nodes[node->inputs[0]].tokens)
        return unfit(why, "takes an input of type \"tokens\"");
    node->shape = (struct graph_shape){3, {in->dims[0], in->dims[1], node->attributes.channels, 0}};
    node->parameters = PRODUCT(node->attributes.entries, node->attributes.channels);
    return true;
}

static bool infer_token(const struct graph *graph, struct graph_node *node, char *why)
{
    const struct graph_shape *in = input_shape(graph, node, 0);
    if (!needs_rank(in, 3, 3, why))
        return false;
    if (node->attributes.index >= in->dims[1])
        return unfit(why, "index %" PRId64 " is beyond its sequence of %" PRId64,
                     node->attributes.index, in->dims[1]);
    node->shape = (struct graph_shape){2, {in->dims[0], in->dims[2], 0, 0}};
    return true;
}

#define CONV_KEYS "channels", "kernel", "stride", "pad", "groups", "bias"
#define POOL_KEYS "kernel", "stride", "pad", "ceil"

/* One line per kind: name, minimum and maximum number of inputs, elementwise, arithmetic, keys. The
 * first `required` keys are mandatory. */
static const struct kind_rule {
    const char *name;
    size_t low, high;
    bool elementwise;
    kind_infer *infer;
    size_t required;
    const char *keys[KEYS];
} rules[GRAPH_KINDS] = {
    [GRAPH_INPUT] = {"input", 0, 0, false, infer_input, 0, {NULL}},
    [GRAPH_CONV] = {"conv", 1, 1, false, infer_conv, 2, {CONV_KEYS, "dilation", NULL}},
    [GRAPH_CONV_TRANSPOSE] =
        {"conv_transpose", 1, 1, false, infer_conv_transpose, 2, {CONV_KEYS, "output_pad", NULL}},
    [GRAPH_MAX_POOL] = {"max_pool", 1, 1, false, infer_pool, 1, {POOL_KEYS, NULL}},
    [GRAPH_AVG_POOL] = {"avg_pool", 1, 1, false, infer_pool, 1, {POOL_KEYS, "count_pad", NULL}},
    [GRAPH_GLOBAL_POOL] = {"global_pool", 1, 1, false, infer_global_pool, 0, {NULL}},
    [GRAPH_BATCH_NORM] =
        {"batch_norm", 1, 1, true, infer_channel_norm, 0, {"affine", "epsilon", NULL}},
    [GRAPH_INSTANCE_NORM] =
        {"instance_norm", 1, 1, false, infer_channel_norm, 0, {"affine", "epsilon", NULL}},
    [GRAPH_LAYER_NORM] =
        {"layer_norm", 1, 1, false, infer_layer_norm, 0, {"affine", "epsilon", NULL}},
    [GRAPH_RELU] = {"relu", 1, 1, true, infer_same, 0, {NULL}},
    [GRAPH_RELU6] = {"relu6", 1, 1, true, infer_same, 0, {NULL}},
    [GRAPH_LEAKY_RELU] = {"leaky_relu", 1, 1, true, infer_same, 1, {"slope", NULL}},
    [GRAPH_PRELU] = {"prelu", 1, 1, true, infer_prelu, 0, {"per_channel", NULL}},
    [GRAPH_SIGMOID] = {"sigmoid", 1, 1, true, infer_same, 0, {NULL}},
    [GRAPH_TANH] = {"tanh", 1, 1, true, infer_same, 0, {NULL}},
    [GRAPH_GELU] = {"gelu", 1, 1, true, infer_same, 0, {NULL}},
    [GRAPH_CLAMP] = {"clamp", 1, 1, true, infer_clamp, 2, {"low", "high", NULL}},
    [GRAPH_SOFTMAX] = {"softmax", 1, 1, false, infer_same, 0, {NULL}},
    [GRAPH_ADD] = {"add", 2, GRAPH_INPUT_LIMIT, true, infer_elementwise, 0, {NULL}},
    [GRAPH_MULTIPLY] = {"multiply", 2, GRAPH_INPUT_LIMIT, true, infer_elementwise, 0, {NULL}},
    [GRAPH_CONCAT] = {"concat", 2, GRAPH_INPUT_LIMIT, false, infer_concat, 0, {NULL}},
    [GRAPH_PIXEL_SHUFFLE] =
        {"pixel_shuffle", 1, 1, false, infer_pixel_shuffle, 1, {"factor", NULL}},
    [GRAPH_UPSAMPLE] =
        {"upsample", 1, 2, false, infer_upsample, 1, {"mode", "factor", "size", "align_corners"}},
    [GRAPH_REFLECT_PAD] = {"reflect_pad", 1, 1, false, infer_reflect_pad, 1, {"pad", NULL}},
    [GRAPH_FLATTEN] = {"flatten", 1, 1, false, infer_flatten, 0, {NULL}},
    [GRAPH_LINEAR] = {"linear", 1, 1, false, infer_linear, 1, {"channels", "bias", NULL}},
    [GRAPH_MATMUL] = {"matmul", 2, 2, false, infer_matmul, 0, {"transpose", NULL}},
    [GRAPH_ATTENTION] = {"attention", 3, 3, false, infer_attention, 1, {"heads", NULL}},
    [GRAPH_EMBEDDING] = {"embedding", 1, 1, false, infer_embedding, 2, {"entries", "channels"}},
    [GRAPH_TOKEN] = {"token", 1, 1, false, infer_token, 1, {"index", NULL}},
};

const char *graph_kind_name(enum graph_kind kind)
{
    return rules[kind].name;
}

bool graph_kind_is_elementwise(enum graph_kind kind)
{
    return rules[kind].elementwise;
}

enum graph_kind graph_kind_find(const char *name, const char **nearest)
{
    const char *names[GRAPH_KINDS];
    for (int kind = GRAPH_INPUT + 1; kind < GRAPH_KINDS; kind++) {
        names[kind - 1] = rules[kind].name;
        if (strcmp(rules[kind].name, name) == 0)
            return (enum graph_kind)kind;
    }
    *nearest = error_nearest_name(name, names, GRAPH_KINDS - 1);
    return GRAPH_KINDS;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static void set_defaults(enum graph_kind kind, struct graph_attributes *a)
{
    *a = (struct graph_attributes){
        .stride = {1, 1},
        .dilation = {1, 1},
        .groups = 1,
        .bias = true,
        .affine = kind != GRAPH_INSTANCE_NORM,
        .count_pad = true,
        .epsilon = kind == GRAPH_LAYER_NORM ? 1e-12 : 1e-5,
    };
    if (kind == GRAPH_MAX_POOL || kind == GRAPH_AVG_POOL)
        a->stride[0] = a->stride[1] = 0; /* default: the kernel's size */
}

bool graph_kind_read(enum graph_kind kind, const struct json_value *layer,
                     struct graph_attributes *attributes, struct error *error)
{
    const struct kind_rule *rule = &rules[kind];
    const char *keys[COMMON_KEYS + KEYS + 1] = {"op", "name", "from"};
    struct json_value child;
    size_t count = COMMON_KEYS;
    for (size_t i = 0; i < KEYS && rule->keys[i] != NULL; i++)
        keys[count++] = rule->keys[i];
    keys[count] = NULL;
    if (!json_is_object(layer, keys, error))
        return false;
    set_defaults(kind, attributes);
    for (size_t i = COMMON_KEYS; i < count; i++) {
        if (i - COMMON_KEYS < rule->required && !json_require(layer, keys[i], &child, error))
            return false;
        if (!graph_attribute_read(layer, keys[i], attributes, error))
            return false;
    }
    for (int s = 0; s < 2; s++)
        if (attributes->stride[s] == 0)
            attributes->stride[s] = attributes->kernel[s];
    return true;
}

/* ---- Inference ------------------------------------------------------------------------------- */

static bool check_inputs(const struct graph *graph, const struct graph_node *node, char *why)
{
    const struct kind_rule *rule = &rules[node->kind];
    if (node->input_count < rule->low || node->input_count > rule->high)
        return unfit(why, "takes %zu%s input%s, has %zu", rule->low,
                     rule->high == GRAPH_INPUT_LIMIT ? " or more"
                     : rule->high > rule->low        ? " or 2"
                                                     : "",
                     rule->high == 1 ? "" : "s", node->input_count);
    for (size_t i = 0; i < node->input_count; i++)
        if (graph->nodes[node->inputs[i]].tokens && node->kind != GRAPH_EMBEDDING)
            return unfit(why, "cannot take tokens; an embedding must come first");
    return true;
}

bool graph_kind_infer(const struct graph *graph, struct graph_node *node,
                      char why[static GRAPH_WHY_LENGTH])
{
    node->parameters = node->buffers = node->macs = node->scratch_elements = 0;
    if (!check_inputs(graph, node, why) || !rules[node->kind].infer(graph, node, why))
        return false;
    for (int d = 0; d < node->shape.rank; d++)
        if (node->shape.dims[d] < 1 || node->shape.dims[d] > ELEMENTS_LIMIT)
            return unfit(why, "its output is too large; no GPU holds it");
    if (product(ELEMENTS_LIMIT, (size_t)node->shape.rank, node->shape.dims) < 0 ||
        node->parameters < 0 || node->macs < 0 || node->scratch_elements < 0)
        return unfit(why, "its output or weights are too large; no GPU holds them");
    return true;
}
