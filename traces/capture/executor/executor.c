#include "traces/capture/executor/executor_parts.h"

#include <stdlib.h>
#include <string.h>

#include "traces/capture/executor/weights.h"

#define FIND_KERNEL(name)                                                                          \
    if (good && (e->kernels.name = device_kernel(e->device, #name, e->half, error)) == NULL)       \
        good = false;

static bool find_kernels(struct executor *e, struct error *error)
{
    bool good = true;
    KERNEL_NAMES(FIND_KERNEL)
    return good;
}

/* A copy to the device may return before it has ended, and partition streams do not wait for it. */
static bool wait_for_copies(const struct executor *e, struct error *error)
{
    return device_check(e->device, e->device->api.cuCtxSynchronize(), "preparing a network", error);
}

static bool build(struct executor *e, uint64_t seed, const struct partition_stream *lane,
                  struct error *error)
{
    return find_kernels(e, error) && executor_plan_arena(e, error) &&
           executor_make_steps(e, error) && executor_make_weights(e, seed, error) &&
           executor_make_memory(e, error) && wait_for_copies(e, error) &&
           executor_plan_convolutions(e, lane, error) && executor_fill_inputs(e, seed, error) &&
           wait_for_copies(e, error);
}

struct executor *executor_create(struct device *device, const struct graph *graph, bool half,
                                 uint64_t seed, const struct partition_stream *lane,
                                 const struct executor_kin *kin, struct error *error)
{
    struct executor *e = calloc(1, sizeof *e);
    if (e == NULL) {
        error_run(error, "capture: out of memory");
        return NULL;
    }
    e->device = device;
    e->graph = graph;
    e->half = half;
    e->element = half ? 2 : 4;
    e->own_inputs = kin != NULL;
    if (kin != NULL)
        e->kin = *kin;
    if (build(e, seed, lane, error))
        return e;
    executor_free(e);
    return NULL;
}

static void free_step(const struct executor *e, struct step *step)
{
    executor_free_convolution(e, step);
    if (step->pointers != 0)
        (void)e->device->api.cuMemFree(step->pointers);
    if (step->sums != 0)
        (void)e->device->api.cuMemFree(step->sums);
    if (step->own_scores != 0)
        (void)e->device->api.cuMemFree(step->own_scores);
}

void executor_free(struct executor *e)
{
    if (e == NULL)
        return;
    const struct executor *room = e->kin.room;
    const CUdeviceptr blocks[] = {e->weight_block, e->activation_block, e->workspace,
                                  e->input_block};
    const CUdeviceptr others[] = {room == NULL ? 0 : room->weight_block,
                                  room == NULL ? 0 : room->activation_block,
                                  room == NULL ? 0 : room->workspace, 0};
    for (size_t s = 0; s < e->step_count; s++)
        free_step(e, &e->steps[s]);
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
        if (blocks[i] != 0 && blocks[i] != others[i])
            (void)e->device->api.cuMemFree(blocks[i]);
    graph_arena_free(&e->arena);
    free(e->places);
    free(e->weights);
    free(e->steps);
    free(e);
}

struct executor_sizes executor_sizes(const struct executor *e)
{
    struct executor_sizes sizes = e->sizes;
    for (size_t s = 0; s < e->step_count; s++) {
        const struct step *step = &e->steps[s];
        const enum graph_kind kind = e->graph->nodes[step->node].kind;
        const bool epilogue =
            step->norm != 0 || step->function != KERNEL_NONE || e->weights[step->node].shift != 0;
        const size_t inputs = e->graph->nodes[step->node].input_count;
        if (kind == GRAPH_ATTENTION)
            sizes.launches += 3;
        else if (executor_convolves(kind) || kind == GRAPH_LINEAR)
            sizes.launches += epilogue ? 2 : 1;
        else if (kind == GRAPH_ADD || kind == GRAPH_MULTIPLY)
            sizes.launches += inputs - 1;
        else if (kind == GRAPH_INSTANCE_NORM)
            sizes.launches += 2;
        else
            sizes.launches += kind == GRAPH_CONCAT ? inputs : 1;
    }
    return sizes;
}

bool executor_read(const struct executor *e, size_t node, float *values, struct error *error)
{
    const size_t count = (size_t)graph_elements(&e->graph->nodes[node].shape);
    uint16_t *halves = e->half ? malloc(count * sizeof *halves) : NULL;
    void *to = e->half ? (void *)halves : (void *)values;
    if (to == NULL)
        return error_run(error, "capture: out of memory");
    const bool good = device_check(
        e->device, e->device->api.cuMemcpyDtoH(to, executor_place(e, node), count * e->element),
        "reading an output", error);
    for (size_t i = 0; good && e->half && i < count; i++)
        values[i] = weights_float(halves[i]);
    free(halves);
    return good;
}

bool executor_clear(const struct executor *e, struct error *error)
{
    bool good = true;
    for (size_t i = 0; good && i < e->graph->output_count; i++) {
        const size_t node = e->graph->outputs[i];
        const size_t bytes = (size_t)graph_elements(&e->graph->nodes[node].shape) * e->element;
        void *nans = malloc(bytes);
        if (nans == NULL)
            return error_run(error, "capture: out of memory");
        memset(nans, 0xff, bytes);
        good = device_check(e->device,
                            e->device->api.cuMemcpyHtoD(executor_place(e, node), nans, bytes),
                            "clearing an output", error);
        free(nans);
    }
    return good && wait_for_copies(e, error);
}
