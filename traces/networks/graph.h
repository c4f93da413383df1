/* Networks as layer graphs, read from a data file and checked without a GPU.
 *
 * A network file (JSON, see traces/capture/README.md) lists layers in execution order. A layer's
 * input is the previous layer, or the earlier layers that it names. A graph therefore has no cycle
 * by construction. A repeated structure is written once, as a block with parameters. Loading
 * expands each use of a block.
 *
 * The loaded graph is a flat list of nodes in topological order. Each node has its kind,
 * attributes, input nodes and shapes. The counts of parameters and multiply-accumulates follow from
 * the same list. Comparing them with the published counts detects a file that differs from its
 * network.
 *
 * The first dimension of a shape is the batch: rank 4 is N×C×H×W, rank 3 N×sequence×features, rank
 * 2 N×features or, for token inputs, N×sequence.
 *
 * Multiply-accumulates (MACs) are counted for convolutions, linear layers and the two products of
 * an attention. Biases, norms, activations, pooling and resizing count as 0, as in the model pages
 * of torchvision. Parameters are the learned numbers. The running mean and variance of a batch norm
 * are buffers and are counted separately.
 */
#ifndef ESGSIM_TRACES_NETWORKS_GRAPH_H
#define ESGSIM_TRACES_NETWORKS_GRAPH_H

#include <dirent.h>
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

/* Attributes of a layer. The table of graph_kinds.c and the README list the attributes that each
 * kind reads. Pairs are height, width. */
struct graph_attributes {
    int64_t channels; /* output channels (conv, conv_transpose, linear); embedding: row width */
    int64_t kernel[2];
    int64_t stride[2];
    int64_t pad[2];        /* on each side; reflect_pad likewise */
    int64_t dilation[2];   /* conv */
    int64_t output_pad[2]; /* conv_transpose: rows and columns added at the end */
    int64_t groups;        /* conv, conv_transpose */
    int64_t factor;        /* pixel_shuffle, upsample; 0: size given by `size` or a second input */
    int64_t size[2];       /* upsample; 0: not given */
    int64_t heads;         /* attention */
    int64_t entries;       /* embedding: rows of the table */
    int64_t index;         /* token: position in the sequence */
    bool bias;             /* conv, conv_transpose, linear */
    bool affine;           /* batch, instance and layer norm: has scale and shift */
    bool ceil;             /* pooling: round the output size up */
    bool count_pad;        /* avg_pool: the mean counts the padding's zeros */
    bool per_channel;      /* prelu: one slope per channel, otherwise one in all */
    bool align_corners;    /* upsample, bilinear */
    bool transpose;        /* matmul: transpose the second operand's last two dimensions */
    enum graph_upsample mode;
    double epsilon;   /* norms */
    double slope;     /* leaky_relu */
    double low, high; /* clamp */
};

struct graph_node {
    enum graph_kind kind;
    char *name;         /* unique: "layer1.0.conv2"; for an unnamed layer "layer1.0.relu#7" */
    char *place;        /* location in the file: "blocks.bottleneck.layers[2]" */
    size_t *inputs;     /* indices of earlier nodes, in the operand order of the kind */
    size_t input_count; /* 0: GRAPH_INPUT */
    struct graph_attributes attributes;
    struct graph_shape shape; /* of the output; depends on batch and size */
    int64_t parameters;       /* learned numbers */
    int64_t buffers;          /* running mean and variance */
    int64_t macs;             /* for the whole batch */
    int64_t scratch_elements; /* temporary memory: an attention's scores */
    size_t last_use; /* index of the last node that reads the output. Own index: no node reads it.
                        node_count: a graph output, which outlives the run */
    bool tokens;     /* GRAPH_INPUT: integers that index embeddings */
};

struct graph {
    char *path;               /* as given to the loader */
    char *name;               /* "resnet50" */
    char *title;              /* "ResNet-50" */
    char *source;             /* the source from which the file was written */
    char *licence;            /* licence of that source */
    struct graph_node *nodes; /* topological order: every input index is below the node's own */
    size_t node_count;
    size_t *outputs;
    size_t output_count;
    int64_t batch;
    int64_t unused_parameters; /* parameters of the published network that inference does not use */
    int64_t parameters, buffers, macs; /* sums over the nodes; parameters include the unused ones;
                                          macs are for the whole batch */
};

/* Loads, expands and checks a network file, at batch 1 and the input sizes of the file. Returns
 * NULL with ERROR_INPUT for an unknown key, a wrong type, shapes that do not fit, an unused layer,
 * a reference to a later layer, a block inside itself, or more than GRAPH_NODE_LIMIT nodes. The
 * message names file, JSON path, fault and remedy. Free with graph_free. */
struct graph *graph_load(const char *path, struct error *error);
/* The same from JSON text. `name` replaces the file name in messages. */
struct graph *graph_parse(const char *text, const char *name, struct error *error);
void graph_free(struct graph *graph);

/* Recomputes shapes and counts for another batch size. If `height` and `width` are positive, also
 * for that height and width of all rank-4 inputs (0, 0: unchanged). Returns false with ERROR_INPUT
 * if the network does not accept the size. The graph is then unchanged. */
bool graph_resize(struct graph *graph, int64_t batch, int64_t height, int64_t width,
                  struct error *error);
/* Loads a network with that batch and its own input size. Errors: as for both. */
struct graph *graph_load_resized(const char *path, int64_t batch, struct error *error);

/* Lists the network files of a folder by name, as scandir does: the caller frees each entry and the
 * list. Returns their number; below 0: errno. */
int graph_files(const char *folder, struct dirent ***entries);

/* Number of elements of a tensor, at most 2^40 in a loaded graph. */
int64_t graph_elements(const struct graph_shape *shape);

/* The kind's name in network files: "conv". */
const char *graph_kind_name(enum graph_kind kind);

/* The shape without the batch: "3x224x224". Writes at most `size` bytes and returns `text`. */
const char *graph_shape_text(const struct graph_shape *shape, char *text, size_t size);

/* Bytes of parameters and buffers at `element_bytes` per number (4: FP32, 2: FP16). */
size_t graph_weight_bytes(const struct graph *graph, size_t element_bytes);

/* Offsets of all outputs in one block of activation memory. Nodes run in order, and a tensor's
 * memory is reused after its last reader. An elementwise node overwrites its first input if it is
 * the last reader and the input is neither an input nor an output of the graph. Tokens take 4 bytes
 * each. */
struct graph_arena {
    size_t *offsets;        /* bytes, per node; multiples of the alignment */
    size_t *scratch;        /* bytes, per node that has scratch_elements; otherwise 0 */
    size_t bytes;           /* size of the block by first fit, at least peak_live_bytes */
    size_t peak_live_bytes; /* largest sum of live tensors, scratch included */
    size_t peak_node;       /* the node at which that peak occurs */
};

/* Returns false with ERROR_RUN only if memory runs out. O(nodes × live tensors). */
bool graph_arena_plan(const struct graph *graph, size_t element_bytes, size_t alignment,
                      struct graph_arena *arena, struct error *error);
void graph_arena_free(struct graph_arena *arena);

/* True if the node overwrites its first input (see graph_arena). */
bool graph_runs_in_place(const struct graph *graph, size_t node);

#endif
