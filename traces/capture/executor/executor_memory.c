/* Device memory: activations, inputs, workspace, and temporary memory of attention. */
#include "traces/capture/executor/executor_parts.h"

#include <stdlib.h>
#include <string.h>

#include "traces/capture/executor/weights.h"

bool executor_allocate(struct executor *e, CUdeviceptr *block, size_t bytes, const char *what,
                       struct error *error)
{
    if (!device_check(e->device, e->device->api.cuMemAlloc(block, bytes), what, error))
        return false;
    e->sizes.allocated += bytes;
    return true;
}

bool executor_copy(const struct executor *e, CUdeviceptr to, CUdeviceptr from, size_t bytes,
                   struct error *error)
{
    return device_check(e->device, e->device->api.cuMemcpyDtoD(to, from, bytes), "copying memory",
                        error);
}

/* Inputs are written into the arena only once. An image input stays alive until its last reader. A
 * later run may read other numbers there, at the same cost. Token inputs must remain valid indices,
 * so they are kept to the end. */
static void keep_inputs(struct graph_node *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (nodes[i].kind == GRAPH_INPUT)
            nodes[i].last_use = count;
}

bool executor_plan_arena(struct executor *e, struct error *error)
{
    struct graph copy = *e->graph;
    copy.nodes = malloc(copy.node_count * sizeof *copy.nodes);
    if (copy.nodes == NULL)
        return error_run(error, "%s: out of memory", e->graph->path);
    memcpy(copy.nodes, e->graph->nodes, copy.node_count * sizeof *copy.nodes);
    keep_inputs(copy.nodes, copy.node_count);
    const bool good = graph_arena_plan(&copy, e->element, EXECUTOR_ALIGNMENT, &e->arena, error);
    free(copy.nodes);
    return good;
}

/* ---- Attention ------------------------------------------------------------------------------- */

/* Scores of a head are aligned to 16 bytes, as cuBLAS requires for tensor cores in batched
 * products. If the size of a head's scores is not a multiple of 16 bytes, padding rows follow each
 * head, and the scores have memory of their own. */
static bool place_scores(struct executor *e, struct step *step, size_t heads, size_t queries,
                         size_t keys, struct error *error)
{
    enum { TOGETHER = 16 };
    step->scores = e->activation_block + e->arena.scratch[step->node];
    step->score_rows = queries;
    while (step->score_rows * keys * e->element % TOGETHER != 0)
        step->score_rows++;
    if (step->score_rows == queries)
        return true;
    if (!executor_allocate(e, &step->own_scores, heads * step->score_rows * keys * e->element,
                           "memory for scores", error))
        return false;
    step->scores = step->own_scores;
    return true;
}

/* Fills five consecutive arrays: addresses of each head of each item in query, key, value, scores
 * and output. */
static bool plan_attention(struct executor *e, struct step *step, struct error *error)
{
    const struct graph_node *node = &e->graph->nodes[step->node];
    const struct graph_shape *query = &e->graph->nodes[node->inputs[0]].shape;
    const struct graph_shape *key = &e->graph->nodes[node->inputs[1]].shape;
    const size_t heads = (size_t)node->attributes.heads;
    const size_t items = (size_t)query->dims[0];
    const size_t width = (size_t)query->dims[2] / heads;
    const size_t total = heads * items;
    if (!place_scores(e, step, total, (size_t)query->dims[1], (size_t)key->dims[1], error))
        return false;
    const size_t scores = step->score_rows * (size_t)key->dims[1] * e->element;
    CUdeviceptr *host = calloc(5 * total, sizeof *host);
    if (host == NULL)
        return error_run(error, "%s: out of memory", e->graph->path);
    for (size_t i = 0; i < total; i++) {
        const size_t head = i % heads * width * e->element;
        const size_t by_query = i / heads * (size_t)(query->dims[1] * query->dims[2]) * e->element;
        const size_t by_key = i / heads * (size_t)(key->dims[1] * key->dims[2]) * e->element;
        host[i] = executor_place(e, node->inputs[0]) + by_query + head;
        host[total + i] = executor_place(e, node->inputs[1]) + by_key + head;
        host[2 * total + i] = executor_place(e, node->inputs[2]) + by_key + head;
        host[3 * total + i] = step->scores + i * scores;
        host[4 * total + i] = executor_place(e, step->node) + by_query + head;
    }
    const size_t bytes = 5 * total * sizeof *host;
    const bool good =
        device_check(e->device, e->device->api.cuMemAlloc(&step->pointers, bytes),
                     "memory for addresses", error) &&
        device_check(e->device, e->device->api.cuMemcpyHtoD(step->pointers, host, bytes),
                     "uploading addresses", error);
    free(host);
    return good;
}

static bool plan_instance_norm(struct executor *e, struct step *step, struct error *error)
{
    const struct graph_shape *shape = &e->graph->nodes[step->node].shape;
    const size_t planes = (size_t)(shape->dims[0] * shape->dims[1]);
    const int parts = kernel_parts(planes, (int)(shape->dims[2] * shape->dims[3]));
    return device_check(
        e->device,
        e->device->api.cuMemAlloc(&step->sums, planes * (size_t)parts * 2 * sizeof(float)),
        "memory for sums of planes", error);
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

/* Uses a block of the room if that is large enough. Otherwise allocates one. */
static bool take_block(struct executor *e, CUdeviceptr *block, size_t bytes, CUdeviceptr room,
                       size_t room_bytes, const char *what, struct error *error)
{
    if (bytes == 0)
        return true;
    if (room_bytes >= bytes) {
        *block = room;
        return true;
    }
    return executor_allocate(e, block, bytes, what, error);
}

bool executor_take_workspace(struct executor *e, size_t bytes, struct error *error)
{
    const struct executor *room = e->kin.room;
    const bool own = e->workspace != 0 && (room == NULL || e->workspace != room->workspace);
    if (bytes <= e->workspace_bytes)
        return true;
    if (own) {
        (void)e->device->api.cuMemFree(e->workspace);
        e->sizes.allocated -= e->workspace_bytes;
    }
    e->workspace = 0;
    e->workspace_bytes = 0;
    if (!take_block(e, &e->workspace, bytes, room == NULL ? 0 : room->workspace,
                    room == NULL ? 0 : room->workspace_bytes, "memory for convolutions", error))
        return false;
    e->workspace_bytes = bytes;
    e->sizes.workspace = bytes;
    return true;
}

static size_t input_bytes(const struct executor *e, size_t node)
{
    const struct graph_node *input = &e->graph->nodes[node];
    return (size_t)graph_elements(&input->shape) * (input->tokens ? sizeof(int) : e->element);
}

static bool place_inputs(struct executor *e, struct error *error)
{
    size_t bytes = 0;
    for (size_t i = 0; i < e->graph->node_count; i++)
        if (e->graph->nodes[i].kind == GRAPH_INPUT)
            bytes += executor_aligned(input_bytes(e, i));
    if (!executor_allocate(e, &e->input_block, bytes, "memory for inputs", error))
        return false;
    bytes = 0;
    for (size_t i = 0; i < e->graph->node_count; i++)
        if (e->graph->nodes[i].kind == GRAPH_INPUT) {
            e->places[i] = e->input_block + bytes;
            bytes += executor_aligned(input_bytes(e, i));
        }
    return true;
}

static bool make_blocks(struct executor *e, struct error *error)
{
    static const struct executor none = {.half = false};
    const struct executor *room = e->kin.room == NULL ? &none : e->kin.room;
    e->sizes.activations = e->arena.bytes;
    e->places = calloc(e->graph->node_count, sizeof *e->places);
    if (e->places == NULL || e->arena.offsets == NULL || e->arena.scratch == NULL)
        return error_run(error, "%s: out of memory", e->graph->path);
    if (!take_block(e, &e->activation_block, e->arena.bytes, room->activation_block,
                    room->arena.bytes, "memory for activations", error))
        return false;
    for (size_t i = 0; i < e->graph->node_count; i++)
        e->places[i] = e->activation_block + e->arena.offsets[i];
    return !e->own_inputs || place_inputs(e, error);
}

static bool fill_input(const struct executor *e, size_t node, uint64_t seed, struct error *error)
{
    const bool tokens = e->graph->nodes[node].tokens;
    const size_t count = (size_t)graph_elements(&e->graph->nodes[node].shape);
    const size_t bytes = input_bytes(e, node);
    if (e->kin.like != NULL)
        return executor_copy(e, executor_place(e, node), executor_place(e->kin.like, node), bytes,
                             error);
    float *values = malloc(count * sizeof *values);
    void *reals = malloc(count * sizeof *values);
    bool good = values != NULL && reals != NULL;
    if (!good)
        error_run(error, "%s: out of memory", e->graph->path);
    if (good && tokens) {
        weights_fill_tokens(seed + node, count, weights_entries(e->graph, node), reals);
    } else if (good) {
        weights_fill_input(seed + node, count, values);
        executor_store_reals(e, values, count, reals);
    }
    good = good && device_check(e->device,
                                e->device->api.cuMemcpyHtoD(executor_place(e, node), reals, bytes),
                                "uploading an input", error);
    free(reals);
    free(values);
    return good;
}

bool executor_make_memory(struct executor *e, struct error *error)
{
    if (!make_blocks(e, error))
        return false;
    for (size_t s = 0; s < e->step_count; s++) {
        const enum graph_kind kind = e->graph->nodes[e->steps[s].node].kind;
        if ((kind == GRAPH_ATTENTION && !plan_attention(e, &e->steps[s], error)) ||
            (kind == GRAPH_INSTANCE_NORM && !plan_instance_norm(e, &e->steps[s], error)))
            return false;
    }
    return true;
}

bool executor_fill_inputs(const struct executor *e, uint64_t seed, struct error *error)
{
    for (size_t i = 0; i < e->graph->node_count; i++)
        if (e->graph->nodes[i].kind == GRAPH_INPUT && !fill_input(e, i, seed, error))
            return false;
    return true;
}
