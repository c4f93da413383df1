/* State of the network loader, shared by its files. Internal to the loader. */
#ifndef ESGSIM_TRACES_NETWORKS_GRAPH_BUILDER_H
#define ESGSIM_TRACES_NETWORKS_GRAPH_BUILDER_H

#include "traces/networks/graph_kinds.h"

enum { NAME_LIMIT = 128 };

/* A name with which later layers refer to an output: that of a layer, a block or a
 * block's input. */
struct label {
    char *name; /* full name: "stage1.conv3" */
    size_t node;
};

struct builder {
    struct graph *graph;
    struct json_value blocks; /* node NULL: the file has no blocks */
    struct label *labels;
    size_t label_count;
    size_t label_room;
    size_t node_room;
    size_t steps; /* expanded layers and block uses; bounds the work for empty blocks */
    struct error *error;
};

/* The list of layers that is being expanded. */
struct scope {
    const struct scope *outer;     /* NULL: the network itself */
    const char *block;             /* name of the block; NULL: the network itself */
    const cJSON *parameters;       /* values by name; NULL: no parameters */
    const struct json_value *list; /* the layers */
    char prefix[NAME_LIMIT];       /* prefix of full names: "layer1.0." */
    size_t last;                   /* output of the previous layer; valid if has_last */
    bool has_last;
};

/* Sets ERROR_RUN with the name of the network's file. Returns false. */
bool graph_out_of_memory(const struct builder *builder);

/* Replaces every parameter in `own`, a copy of the value at `at`, by its value in the scope.
 * Returns false with an error if a parameter is unknown or not a whole number. */
bool graph_substitute(struct builder *builder, const struct scope *scope,
                      const struct json_value *at, cJSON *own);

/* Values of a block's parameters: those set by `use`, and defaults for the others. NULL with an
 * error. The caller deletes the result. */
cJSON *graph_bind_parameters(struct builder *builder, const struct json_value *block,
                             const struct json_value *use);

#endif
