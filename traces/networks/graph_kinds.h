/* The kinds of layers: their attributes in a file, and the shapes and counts that follow. Internal
 * to the graph's loader. */
#ifndef ESGSIM_TRACES_NETWORKS_GRAPH_KINDS_H
#define ESGSIM_TRACES_NETWORKS_GRAPH_KINDS_H

#include "traces/networks/graph.h"
#include "traces/json/json.h"

enum { GRAPH_WHY_LENGTH = 192 };

/* Finds the kind with this name in files. Returns GRAPH_KINDS if there is none (GRAPH_INPUT is not
 * a layer). `nearest` then receives the most similar name or NULL. */
enum graph_kind graph_kind_find(const char *name, const char **nearest);

/* Reads a layer's attributes, beginning with the defaults of its kind. Unknown, missing and
 * ill-typed keys are errors. The keys common to all layers (op, name, from) are accepted and
 * ignored. */
bool graph_kind_read(enum graph_kind kind, const struct json_value *layer,
                     struct graph_attributes *attributes, struct error *error);

/* Reads one attribute of a layer. An absent attribute keeps its value. */
bool graph_attribute_read(const struct json_value *layer, const char *key,
                          struct graph_attributes *attributes, struct error *error);

/* Computes shape, parameters, buffers, macs and scratch_elements from the inputs' shapes. For a
 * GRAPH_INPUT it checks the shape and keeps it. On failure `why` receives the reason. */
bool graph_kind_infer(const struct graph *graph, struct graph_node *node,
                      char why[static GRAPH_WHY_LENGTH]);

/* graph_kind_infer, with an error that names the layer and its input shapes. */
bool graph_infer_node(struct graph *graph, struct graph_node *node, struct error *error);

/* Sums parameters, buffers and multiply-accumulates over the layers into the graph. */
void graph_sum_counts(struct graph *graph);

/* True if an output element depends only on the same element of the inputs and on its channel's
 * parameters. */
bool graph_kind_is_elementwise(enum graph_kind kind);

#endif
