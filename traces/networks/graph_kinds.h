/* The kinds of layers: what a file may say of each, and what follows for shape and counts. Internal
 * to the graph's loader.
 */
#ifndef ESGSIM_TRACES_NETWORKS_GRAPH_KINDS_H
#define ESGSIM_TRACES_NETWORKS_GRAPH_KINDS_H

#include "traces/networks/graph.h"
#include "traces/json/json.h"

enum { GRAPH_WHY_LENGTH = 192 };

/* The kind a file calls `name`; GRAPH_KINDS where there is none (GRAPH_INPUT is no layer). Then
 * `nearest` receives the most similar name or NULL. */
enum graph_kind graph_kind_find(const char *name, const char **nearest);

/* Reads a layer's attributes, given the defaults of its kind; unknown, missing and ill-typed keys
 * are faults. Keys of every layer (op, name, from) are accepted and not read. */
bool graph_kind_read(enum graph_kind kind, const struct json_value *layer,
                     struct graph_attributes *attributes, struct error *error);

/* Reads one attribute of a layer; one that the layer lacks keeps its value. */
bool graph_attribute_read(const struct json_value *layer, const char *key,
                          struct graph_attributes *attributes, struct error *error);

/* Fills shape, parameters, buffers, macs and scratch_elements from the inputs' shapes. A
 * GRAPH_INPUT keeps its shape, which is checked. On failure `why` says what does not fit. */
bool graph_kind_infer(const struct graph *graph, struct graph_node *node,
                      char why[static GRAPH_WHY_LENGTH]);

/* graph_kind_infer, with a fault that names the layer and the shapes it takes. */
bool graph_infer_node(struct graph *graph, struct graph_node *node, struct error *error);

/* Sums parameters, buffers and multiply-accumulates over the layers into the graph. */
void graph_sum_counts(struct graph *graph);

/* One output element depends on the inputs' same element (and its channel's parameters) alone. */
bool graph_kind_is_elementwise(enum graph_kind kind);

#endif
