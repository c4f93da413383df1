/* The heap of running trainings by their ends. */
#include "sim/platform/trainings.h"

static bool is_before(const struct trainings *trainings, uint32_t a, uint32_t b)
{
    const sim_time_t left = trainings->items[a].due, right = trainings->items[b].due;
    return left < right || (left == right && a < b);
}

static void heap_put(struct trainings *trainings, uint32_t place, uint32_t id)
{
    trainings->heap[place] = id;
    trainings->items[id].place = place;
}

static void heap_rise(struct trainings *trainings, uint32_t place)
{
    const uint32_t id = trainings->heap[place];
    while (place > 0 && is_before(trainings, id, trainings->heap[(place - 1) / 2])) {
        heap_put(trainings, place, trainings->heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    heap_put(trainings, place, id);
}

static void heap_sink(struct trainings *trainings, uint32_t place)
{
    const uint32_t id = trainings->heap[place];
    for (;;) {
        uint32_t child = 2 * place + 1;
        if (child >= trainings->heap_count)
            break;
        if (child + 1 < trainings->heap_count &&
            is_before(trainings, trainings->heap[child + 1], trainings->heap[child]))
            child++;
        if (!is_before(trainings, trainings->heap[child], id))
            break;
        heap_put(trainings, place, trainings->heap[child]);
        place = child;
    }
    heap_put(trainings, place, id);
}

void training_heap_update(struct trainings *trainings, uint32_t id)
{
    struct training *training = &trainings->items[id];
    if (training->place == SIM_NONE)
        heap_put(trainings, trainings->heap_count++, id);
    heap_rise(trainings, training->place);
    heap_sink(trainings, training->place);
}

void training_heap_remove(struct trainings *trainings, uint32_t id)
{
    const uint32_t place = trainings->items[id].place;
    trainings->items[id].place = SIM_NONE;
    const uint32_t last = trainings->heap[--trainings->heap_count];
    if (last == id)
        return;
    heap_put(trainings, place, last);
    heap_rise(trainings, place);
    heap_sink(trainings, trainings->items[last].place);
}
