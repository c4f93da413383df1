#include "traces/capture/executor/executor_parts.h"

#include <stdlib.h>

/* Sets the step's unary function and its constants. Returns false if the node is not unary. */
static bool unary_function(const struct graph_node *node, struct step *step)
{
    switch (node->kind) {
    case GRAPH_RELU:
        step->function = KERNEL_RELU;
        return true;
    case GRAPH_RELU6:
        step->function = KERNEL_CLAMP;
        step->low = 0;
        step->high = 6;
        return true;
    case GRAPH_CLAMP:
        step->function = KERNEL_CLAMP;
        step->low = (float)node->attributes.low;
        step->high = (float)node->attributes.high;
        return true;
    case GRAPH_LEAKY_RELU:
        step->function = KERNEL_SLOPE;
        step->low = (float)node->attributes.slope;
        return true;
    case GRAPH_SIGMOID:
        step->function = KERNEL_SIGMOID;
        return true;
    case GRAPH_TANH:
        step->function = KERNEL_TANH;
        return true;
    case GRAPH_GELU:
        step->function = KERNEL_GELU;
        return true;
    default:
        return false;
    }
}

bool executor_convolves(enum graph_kind kind)
{
    return kind == GRAPH_CONV || kind == GRAPH_CONV_TRANSPOSE;
}

static bool takes_function(const struct graph_node *node)
{
    return executor_convolves(node->kind) || node->kind == GRAPH_LINEAR ||
           node->kind == GRAPH_BATCH_NORM || node->kind == GRAPH_INSTANCE_NORM ||
           ((node->kind == GRAPH_ADD || node->kind == GRAPH_MULTIPLY) && node->input_count == 2);
}

/* True if the next node overwrites the output of `index` and can be fused with it. */
static bool follows(const struct graph *graph, size_t index)
{
    return index + 1 < graph->node_count && graph->nodes[index + 1].input_count == 1 &&
           graph->nodes[index + 1].inputs[0] == index && graph_runs_in_place(graph, index + 1);
}

/* Fuses the nodes after `step->node` into the step. Returns the last one fused. */
static size_t fuse(const struct graph *graph, struct step *step)
{
    size_t last = step->node;
    const enum graph_kind kind = graph->nodes[last].kind;
    if (executor_convolves(kind) && follows(graph, last) &&
        graph->nodes[last + 1].kind == GRAPH_BATCH_NORM)
        step->norm = ++last;
    if (takes_function(&graph->nodes[step->node]) && follows(graph, last) &&
        unary_function(&graph->nodes[last + 1], step))
        last++;
    return last;
}

bool executor_make_steps(struct executor *e, struct error *error)
{
    const struct graph *graph = e->graph;
    e->steps = calloc(graph->node_count, sizeof *e->steps);
    if (e->steps == NULL)
        return error_run(error, "%s: out of memory", graph->path);
    for (size_t i = 0; i < graph->node_count; i++) {
        if (graph->nodes[i].kind == GRAPH_INPUT)
            continue;
        struct step *step = &e->steps[e->step_count++];
        step->node = i;
        if (!unary_function(&graph->nodes[i], step))
            i = fuse(graph, step);
    }
    return true;
}
