/* Shapes of a network's outputs, and the sums over its layers. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/networks/graph_kinds.h"

int64_t graph_elements(const struct graph_shape *shape)
{
    int64_t count = 1;
    for (int d = 0; d < shape->rank; d++)
        count *= shape->dims[d];
    return count;
}

const char *graph_shape_text(const struct graph_shape *shape, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int d = 1; d < shape->rank && used < size; d++) {
        int wrote =
            snprintf(text + used, size - used, "%s%" PRId64, d == 1 ? "" : "x", shape->dims[d]);
        used += wrote > 0 ? (size_t)wrote : 0;
    }
    return text;
}

bool graph_infer_node(struct graph *graph, struct graph_node *node, struct error *error)
{
    char why[GRAPH_WHY_LENGTH] = "";
    if (graph_kind_infer(graph, node, why))
        return true;
    return error_input(error, "%s: %s: %s (layer \"%s\")", graph->path, node->place, why,
                       node->name);
}

void graph_sum_counts(struct graph *graph)
{
    graph->parameters = graph->unused_parameters;
    graph->buffers = graph->macs = 0;
    for (size_t i = 0; i < graph->node_count; i++) {
        graph->parameters += graph->nodes[i].parameters;
        graph->buffers += graph->nodes[i].buffers;
        graph->macs += graph->nodes[i].macs;
    }
}

static bool infer_all(struct graph *graph, struct error *error)
{
    for (size_t i = 0; i < graph->node_count; i++)
        if (!graph_infer_node(graph, &graph->nodes[i], error))
            return false;
    graph_sum_counts(graph);
    return true;
}

static void set_input_shapes(struct graph *graph, int64_t batch, int64_t height, int64_t width)
{
    for (size_t i = 0; i < graph->node_count; i++) {
        struct graph_node *node = &graph->nodes[i];
        if (node->kind != GRAPH_INPUT)
            continue;
        node->shape.dims[0] = batch;
        if (node->shape.rank == 4 && height > 0 && width > 0) {
            node->shape.dims[2] = height;
            node->shape.dims[3] = width;
        }
    }
    graph->batch = batch;
}

bool graph_resize(struct graph *graph, int64_t batch, int64_t height, int64_t width,
                  struct error *error)
{
    if (batch < 1 || batch > 1 << 20)
        return error_input(error, "%s: batch is %" PRId64 ", must lie within 1..1048576",
                           graph->path, batch);
    struct graph_node *before = malloc(graph->node_count * sizeof *before);
    if (before == NULL)
        return error_run(error, "%s: out of memory", graph->path);
    memcpy(before, graph->nodes, graph->node_count * sizeof *before);
    const int64_t old_batch = graph->batch;
    set_input_shapes(graph, batch, height, width);
    const bool good = infer_all(graph, error);
    if (!good) {
        /* Restores the nodes. Inference writes no pointers, so the pointers in the copy are still
         * valid. */
        memcpy(graph->nodes, before, graph->node_count * sizeof *before);
        graph->batch = old_batch;
        graph_sum_counts(graph);
    }
    free(before);
    return good;
}
