/* The state of reading a network, shared by the files of the graph's loader. Internal to it. */
#ifndef ESGSIM_TRACES_NETWORKS_GRAPH_BUILDER_H
#define ESGSIM_TRACES_NETWORKS_GRAPH_BUILDER_H

#include "traces/networks/graph_kinds.h"

enum { NAME_LIMIT = 128 };

/* A name by which later layers refer to an output: a layer's, a block's or a block's input. */
struct label {
    char *name; /* full: "stage1.conv3" */
    size_t node;
};

struct builder {
    struct graph *graph;
    struct json_value blocks; /* node NULL: the file has none */
    struct label *labels;
    size_t label_count;
    size_t label_room;
    size_t node_room;
    size_t steps; /* layers and block uses expanded, bounds the work of empty blocks */
    struct error *error;
};

/* Where a list of layers is being expanded. */
struct scope {
    const struct scope *outer;     /* NULL: the network itself */
    const char *block;             /* name of the block, NULL likewise */
    const cJSON *parameters;       /* values by name; NULL: none */
    const struct json_value *list; /* the layers */
    char prefix[NAME_LIMIT];       /* of full names: "layer1.0." */
    size_t last;                   /* output of the layer before; valid where has_last */
    bool has_last;
};

/* ERROR_RUN that names the network's file. Returns false. */
bool graph_out_of_memory(const struct builder *builder);

/* Replaces every parameter in `own`, a copy of the value at `at`, by its value in the scope. False
 * with a fault where one is unknown or no whole number. */
bool graph_substitute(struct builder *builder, const struct scope *scope,
                      const struct json_value *at, cJSON *own);

/* The parameters of a block as `use` sets them, defaults elsewhere; NULL with a fault. The caller
 * deletes them. */
cJSON *graph_bind_parameters(struct builder *builder, const struct json_value *block,
                             const struct json_value *use);

#endif
