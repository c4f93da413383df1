#include "traces/networks/graph_kinds.h"

#include <stdlib.h>

/* A tensor in the block: its offset, its size, and the last node that reads it. */
struct span {
    size_t offset, bytes;
    size_t last_use;
};

/* Live tensors, by offset. */
struct alive {
    struct span *spans;
    size_t count;
    size_t bytes; /* sum of their sizes */
};

/* First fit: allocates the lowest gap that is large enough. The caller ensures room in `spans`. */
static size_t alive_place(struct alive *alive, size_t bytes, size_t last_use)
{
    size_t offset = 0;
    size_t at = 0;
    while (at < alive->count && alive->spans[at].offset - offset < bytes) {
        offset = alive->spans[at].offset + alive->spans[at].bytes;
        at++;
    }
    for (size_t i = alive->count; i > at; i--)
        alive->spans[i] = alive->spans[i - 1];
    alive->spans[at] = (struct span){offset, bytes, last_use};
    alive->count++;
    alive->bytes += bytes;
    return offset;
}

static void alive_expire(struct alive *alive, size_t node)
{
    size_t kept = 0;
    for (size_t i = 0; i < alive->count; i++) {
        if (alive->spans[i].last_use > node)
            alive->spans[kept++] = alive->spans[i];
        else
            alive->bytes -= alive->spans[i].bytes;
    }
    alive->count = kept;
}

/* Extends the life of the tensor at `offset`, which another node now owns. */
static void alive_prolong(struct alive *alive, size_t offset, size_t last_use)
{
    for (size_t i = 0; i < alive->count; i++)
        if (alive->spans[i].offset == offset)
            alive->spans[i].last_use = last_use;
}

static size_t align(size_t bytes, size_t alignment)
{
    return (bytes + alignment - 1) / alignment * alignment;
}

bool graph_runs_in_place(const struct graph *graph, size_t index)
{
    const struct graph_node *node = &graph->nodes[index];
    if (!graph_kind_is_elementwise(node->kind))
        return false;
    const struct graph_node *first = &graph->nodes[node->inputs[0]];
    return first->last_use == index && first->kind != GRAPH_INPUT;
}

static size_t end_of(const struct graph_node *node, size_t index)
{
    return node->last_use > index ? node->last_use : index;
}

static void place_node(const struct graph *graph, size_t index, size_t element_bytes,
                       size_t alignment, struct alive *alive, struct graph_arena *arena)
{
    const struct graph_node *node = &graph->nodes[index];
    const size_t own_bytes = node->tokens ? sizeof(int32_t) : element_bytes;
    if (graph_runs_in_place(graph, index)) {
        arena->offsets[index] = arena->offsets[node->inputs[0]];
        alive_prolong(alive, arena->offsets[index], end_of(node, index));
    } else {
        size_t bytes = align((size_t)graph_elements(&node->shape) * own_bytes, alignment);
        arena->offsets[index] = alive_place(alive, bytes, end_of(node, index));
    }
    if (node->scratch_elements > 0) {
        size_t bytes = align((size_t)node->scratch_elements * element_bytes, alignment);
        arena->scratch[index] = alive_place(alive, bytes, index);
    }
    if (alive->bytes > arena->peak_live_bytes) {
        arena->peak_live_bytes = alive->bytes;
        arena->peak_node = index;
    }
    const struct span *top = &alive->spans[alive->count - 1];
    if (top->offset + top->bytes > arena->bytes)
        arena->bytes = top->offset + top->bytes;
    alive_expire(alive, index);
}

bool graph_arena_plan(const struct graph *graph, size_t element_bytes, size_t alignment,
                      struct graph_arena *arena, struct error *error)
{
    struct alive alive = {.spans = calloc(2 * graph->node_count, sizeof *alive.spans)};
    *arena = (struct graph_arena){
        .offsets = calloc(graph->node_count, sizeof *arena->offsets),
        .scratch = calloc(graph->node_count, sizeof *arena->scratch),
    };
    if (alive.spans == NULL || arena->offsets == NULL || arena->scratch == NULL) {
        free(alive.spans);
        graph_arena_free(arena);
        return error_run(error, "%s: out of memory", graph->path);
    }
    for (size_t i = 0; i < graph->node_count; i++)
        place_node(graph, i, element_bytes, alignment, &alive, arena);
    free(alive.spans);
    return true;
}

void graph_arena_free(struct graph_arena *arena)
{
    free(arena->offsets);
    free(arena->scratch);
    *arena = (struct graph_arena){0};
}

size_t graph_weight_bytes(const struct graph *graph, size_t element_bytes)
{
    return (size_t)(graph->parameters + graph->buffers) * element_bytes;
}
