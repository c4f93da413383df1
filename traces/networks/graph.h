/* Networks as layer graphs: what a GPU is given to run, read from a data file and checked without
 * one.
 *
 * A network file (JSON, see traces/capture/README.md) lists layers in the order in which they run;
 * a layer takes the one before it, or the earlier ones that it names, so a graph has no cycle by
 * construction. Repetition is written once as a block with parameters and used many times; loading
 * expands it. The loaded graph is the flat list of nodes in topological order, with everything an
 * executor needs at each: kind, attributes, input nodes and shapes. From the same list follow the
 * counts that are published of a network (parameters, multiply-accumulates), so a file that differs
 * from its network is found out by arithmetic.
 *
 * Shapes have the batch first: rank 4 is N×C×H×W, rank 3 N×sequence×features, rank 2 N×features or,
 * of token inputs, N×sequence.
 *
 * Multiply-accumulates (MACs) are those of convolutions, linear layers and the two products of an
 * attention; biases, norms, activations, pooling and resizing count none, as in the model pages of
 * torchvision. Parameters are what training sets; the running mean and variance of a batch norm are
 * buffers and counted apart.
 */
#ifndef ESGSIM_TRACES_NETWORKS_GRAPH_H
#define ESGSIM_TRACES_NETWORKS_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/error.h"

enum graph_kind {
    GRAPH_INPUT,
    GRAPH_CONV,
    GRAPH_CONV_TRANSPOSE,
    GRAPH_MAX_POOL,
    GRAPH_AVG_POOL,
    GRAPH_GLOBAL_POOL,
    GRAPH_BATCH_NORM,
    GRAPH_INSTANCE_NORM,
    GRAPH_LAYER_NORM,
    GRAPH_RELU,
    GRAPH_RELU6,
    GRAPH_LEAKY_RELU,
    GRAPH_PRELU,
    GRAPH_SIGMOID,
    GRAPH_TANH,
    GRAPH_GELU,
    GRAPH_CLAMP,
    GRAPH_SOFTMAX,
    GRAPH_ADD,
    GRAPH_MULTIPLY,
    GRAPH_CONCAT,
    GRAPH_PIXEL_SHUFFLE,
    GRAPH_UPSAMPLE,
    GRAPH_REFLECT_PAD,
    GRAPH_FLATTEN,
    GRAPH_LINEAR,
    GRAPH_MATMUL,
    GRAPH_ATTENTION,
    GRAPH_EMBEDDING,
    GRAPH_TOKEN,
    GRAPH_KINDS
};

enum graph_upsample { GRAPH_NEAREST, GRAPH_BILINEAR };

enum { GRAPH_RANK = 4, GRAPH_NODE_LIMIT = 4096, GRAPH_INPUT_LIMIT = 16 };

struct graph_shape {
    int rank; /* 2..4 */
    int64_t dims[GRAPH_RANK];
};

/* What a file may give a layer; which of them a kind reads is in the table of graph.c and the
 * README. Pairs are height, width. */
struct graph_attributes {
    int64_t channels; /* conv, conv_transpose, linear: out; embedding: width of a row */
    int64_t kernel[2];
    int64_t stride[2];
    int64_t pad[2];        /* each side; reflect_pad likewise */
    int64_t dilation[2];   /* conv */
    int64_t output_pad[2]; /* conv_transpose: rows and columns added at the far side */
    int64_t groups;        /* conv, conv_transpose */
    int64_t factor;        /* pixel_shuffle, upsample; 0: upsample by size or like another node */
    int64_t size[2];       /* upsample; 0: not given */
    int64_t heads;         /* attention */
    int64_t entries;       /* embedding: rows of the table */
    int64_t index;         /* token: which of the sequence */
    bool bias;             /* conv, conv_transpose, linear */
    bool affine;           /* batch, instance and layer norm: with scale and shift */
    bool ceil;             /* pooling: round the output size up */
    bool count_pad;        /* avg_pool: the padding's zeros count in the mean */
    bool per_channel;      /* prelu: a slope for each channel, else one */
    bool align_corners;    /* upsample, bilinear */
    bool transpose;        /* matmul: the second operand's last two dimensions */
    enum graph_upsample mode;
    double epsilon;   /* norms */
    double slope;     /* leaky_relu */
    double low, high; /* clamp */
};

struct graph_node {
    enum graph_kind kind;
    char *name;         /* unique: "layer1.0.conv2"; of an unnamed layer "layer1.0.relu#7" */
    char *place;        /* where the file has it: "blocks.bottleneck.layers[2]" */
    size_t *inputs;     /* indices of earlier nodes, in the order that the kind means */
    size_t input_count; /* 0: GRAPH_INPUT */
    struct graph_attributes attributes;
    struct graph_shape shape; /* of the output; follows batch and size */
    int64_t parameters;       /* learned numbers */
    int64_t buffers;          /* running mean and variance */
    int64_t macs;             /* of the whole batch */
    int64_t scratch_elements; /* beside inputs and output: an attention's scores */
    size_t last_use; /* index of the last node that reads the output; own index: none does. Graph
                      * outputs: node_count, they outlive the run */
    bool tokens;     /* GRAPH_INPUT: integers that index embeddings */
};

struct graph {
    char *path;               /* as given to the loader */
    char *name;               /* "resnet50" */
    char *title;              /* "ResNet-50" */
    char *source;             /* what the file was written from */
    char *licence;            /* of that */
    struct graph_node *nodes; /* topological: every input index is below the node's own */
    size_t node_count;
    size_t *outputs;
    size_t output_count;
    int64_t batch;
    int64_t unused_parameters;         /* the published network has them, inference does not */
    int64_t parameters, buffers, macs; /* sums over the nodes, unused parameters counted; macs of
                                        * the whole batch */
};

/* Loads, expands and checks a network file, at batch 1 and the input sizes of the file. NULL with
 * ERROR_INPUT that names file, JSON path, fault and remedy: unknown keys, wrong types, shapes that
 * do not fit, a layer that nothing reads, a reference to a later layer, a block inside itself, more
 * than GRAPH_NODE_LIMIT nodes. Free with graph_free. */
struct graph *graph_load(const char *path, struct error *error);
/* The same from JSON text; `name` stands for the file in messages. */
struct graph *graph_parse(const char *text, const char *name, struct error *error);
void graph_free(struct graph *graph);

/* Shapes and counts for another batch and, where both are positive, another height and width of all
 * rank-4 inputs (0, 0: as they are now). On failure (the network does not take that size) false
 * with ERROR_INPUT, and the graph is as before. */
bool graph_resize(struct graph *graph, int64_t batch, int64_t height, int64_t width,
                  struct error *error);

/* Elements of a tensor; at most 2^40 in a loaded graph. */
int64_t graph_elements(const struct graph_shape *shape);

/* "conv", as files write it. */
const char *graph_kind_name(enum graph_kind kind);

/* "3x224x224", without the batch. Writes at most `size` bytes, returns `text`. */
const char *graph_shape_text(const struct graph_shape *shape, char *text, size_t size);

/* Parameters and buffers in a precision of `element_bytes` (4: FP32, 2: FP16). */
size_t graph_weight_bytes(const struct graph *graph, size_t element_bytes);

/* Where each output lies in one block of activation memory, when nodes run in order and a tensor is
 * given up after its last reader. Elementwise kinds write over their first input where they are its
 * last reader and it is neither an input nor an output of the graph. Tokens take 4 bytes each. */
struct graph_arena {
    size_t *offsets;        /* bytes, per node; multiples of the alignment */
    size_t *scratch;        /* bytes, per node that has scratch_elements; else 0 */
    size_t bytes;           /* of the block: first fit, never below peak_live_bytes */
    size_t peak_live_bytes; /* largest sum of tensors alive at once, scratch included */
    size_t peak_node;       /* while this node runs */
};

/* False (ERROR_RUN) only without memory. O(nodes × tensors alive). */
bool graph_arena_plan(const struct graph *graph, size_t element_bytes, size_t alignment,
                      struct graph_arena *arena, struct error *error);
void graph_arena_free(struct graph_arena *arena);

/* The node reuses its first input's memory (see graph_arena). */
bool graph_runs_in_place(const struct graph *graph, size_t node);

#endif
