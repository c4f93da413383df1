/* The event queue: any sequence of operations has the result that a sorted array gives. */
#include <stdlib.h>

#include "tests/event_queue_model.h"
#include "tests/fuzz/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { PENDING = 4096, STEPS = 1000 };
    struct input_cursor input = {data, size};
    struct model *model = model_create(PENDING, 0);
    for (int i = 0; i < STEPS && input.left > 0; i++) {
        struct model_step step;
        input_bytes(&input, &step, sizeof step);
        if (!model_step(model, &step))
            abort();
    }
    if (!event_queue_is_sound(model->event_queue) || !model_drain(model))
        abort();
    model_destroy(model);
    return 0;
}
