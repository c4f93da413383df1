#include "traces/capture/executor/executor_parts.h"

#include <stdlib.h>
#include <string.h>

#include "traces/capture/measure/measure.h"
#include "traces/capture/executor/weights.h"

/* Reserves memory for a step's parameters, starting at `offset`: the matrix in the executor's
 * precision, scale and shift in FP32. Returns the end. A convolution with a fused norm has the
 * norm's scale and shift, and its bias is folded into the shift. */
static size_t place_weights(struct executor *e, const struct step *step, size_t offset)
{
    const struct weights_count count = weights_count(e->graph, step->node);
    struct node_weights *w = &e->weights[step->node];
    size_t scale = count.scale;
    size_t shift = count.shift;
    if (step->norm != 0)
        scale = shift = weights_count(e->graph, step->norm).scale;
    if (count.matrix > 0)
        w->matrix = offset + 1;
    offset += executor_aligned(count.matrix * e->element);
    if (scale > 0)
        w->scale = offset + 1;
    offset += executor_aligned(scale * sizeof(float));
    if (shift > 0)
        w->shift = offset + 1;
    return offset + executor_aligned(shift * sizeof(float));
}

void executor_store_reals(const struct executor *e, const float *from, size_t count, void *to)
{
    uint16_t *halves = to;
    if (!e->half) {
        memcpy(to, from, count * sizeof *from);
        return;
    }
    for (size_t i = 0; i < count; i++)
        halves[i] = weights_half(from[i]);
}

/* Writes a step's parameters into the host copy of the block. */
static void fill_weights(const struct executor *e, const struct step *step, uint64_t seed,
                         float *room, char *host)
{
    const struct weights_count own = weights_count(e->graph, step->node);
    const struct node_weights *w = &e->weights[step->node];
    float *scale = room + own.matrix;
    float *shift = scale + own.scale;
    weights_fill(e->graph, step->node, seed, room, scale, shift);
    if (w->matrix != 0)
        executor_store_reals(e, room, own.matrix, host + (w->matrix - 1));
    if (step->norm != 0) {
        const size_t channels = weights_count(e->graph, step->norm).scale;
        float *norm_scale = (float *)(void *)(host + (w->scale - 1));
        float *norm_shift = (float *)(void *)(host + (w->shift - 1));
        weights_fill(e->graph, step->norm, seed, NULL, norm_scale, norm_shift);
        for (size_t c = 0; own.shift > 0 && c < channels; c++)
            norm_shift[c] += shift[c] * norm_scale[c];
        return;
    }
    if (w->scale != 0)
        memcpy(host + (w->scale - 1), scale, own.scale * sizeof *scale);
    if (w->shift != 0)
        memcpy(host + (w->shift - 1), shift, own.shift * sizeof *shift);
}

/* Converts offsets to addresses. Offsets are stored plus 1, because 0 means absent. */
static void rebase_weights(struct executor *e)
{
    for (size_t i = 0; i < e->graph->node_count; i++) {
        CUdeviceptr *places[] = {&e->weights[i].matrix, &e->weights[i].scale, &e->weights[i].shift};
        for (size_t k = 0; k < 3; k++)
            if (*places[k] != 0)
                *places[k] += e->weight_block - 1;
    }
}

/* Copies the weights from the host, or from an executor that already has them. */
static bool upload_weights(struct executor *e, const char *host, struct error *error)
{
    const double start = measure_now_ms();
    const struct executor *like = e->kin.like;
    if (e->kin.room != NULL) {
        e->weight_block = e->kin.room->weight_block;
    } else if (!executor_allocate(e, &e->weight_block, e->sizes.weights, "memory for weights",
                                  error) ||
               !(like != NULL ? executor_copy(e, e->weight_block, like->weight_block,
                                              e->sizes.weights, error)
                              : device_check(e->device,
                                             e->device->api.cuMemcpyHtoD(e->weight_block, host,
                                                                         e->sizes.weights),
                                             "uploading weights", error))) {
        return false;
    }
    e->sizes.weights_ms = measure_now_ms() - start;
    rebase_weights(e);
    return true;
}

bool executor_make_weights(struct executor *e, uint64_t seed, struct error *error)
{
    size_t bytes = EXECUTOR_ALIGNMENT;
    size_t most = 0;
    e->weights = calloc(e->graph->node_count, sizeof *e->weights);
    for (size_t s = 0; e->weights != NULL && s < e->step_count; s++) {
        const struct weights_count count = weights_count(e->graph, e->steps[s].node);
        const size_t numbers = count.matrix + count.scale + count.shift;
        bytes = place_weights(e, &e->steps[s], bytes);
        most = numbers > most ? numbers : most;
    }
    e->sizes.weights = bytes;
    if (e->weights == NULL)
        return error_run(error, "%s: out of memory for its weights", e->graph->path);
    if (e->kin.room != NULL || e->kin.like != NULL)
        return upload_weights(e, NULL, error);
    float *room = malloc((most + 1) * sizeof *room);
    char *host = calloc(1, bytes);
    bool good = room != NULL && host != NULL;
    if (!good)
        error_run(error, "%s: out of memory for its weights", e->graph->path);
    for (size_t s = 0; good && s < e->step_count; s++)
        fill_weights(e, &e->steps[s], seed, room, host);
    good = good && upload_weights(e, host, error);
    free(host);
    free(room);
    return good;
}
