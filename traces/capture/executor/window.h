/* The window of a node, for kernels on windows of a plane. Device and reference implementation
 * share it. */
#ifndef ESGSIM_TRACES_CAPTURE_EXECUTOR_WINDOW_H
#define ESGSIM_TRACES_CAPTURE_EXECUTOR_WINDOW_H

#include <stdbool.h>

#include "traces/networks/graph.h"
#include "traces/capture/executor/kernels.h"

/* `in`: the shape of the node's first input. */
static inline struct kernel_window window_of(const struct graph_node *node,
                                             const struct graph_shape *in)
{
    const struct graph_attributes *a = &node->attributes;
    const bool shuffle = node->kind == GRAPH_PIXEL_SHUFFLE;
    return (struct kernel_window){
        .in_height = (int)in->dims[2],
        .in_width = (int)in->dims[3],
        .out_height = (int)node->shape.dims[2],
        .out_width = (int)node->shape.dims[3],
        .kernel_height = (int)a->kernel[0],
        .kernel_width = (int)a->kernel[1],
        .stride_height = (int)(shuffle ? a->factor : a->stride[0]),
        .stride_width = (int)(shuffle ? a->factor : a->stride[1]),
        .pad_height = (int)a->pad[0],
        .pad_width = (int)a->pad[1],
    };
}

#endif
