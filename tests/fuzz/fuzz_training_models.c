/* Files of models that are trained, and the queries over whatever is accepted. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/fuzz/input.h"
#include "workloads/training/training_models.h"

enum { MOST_MODELS = 16 };

static void look_up(const struct training_models *models)
{
    const uint32_t count = models->count < MOST_MODELS ? (uint32_t)models->count : MOST_MODELS;
    for (uint32_t m = 0; m < count; m++) {
        if (training_models_find(models, models->models[m].name) != (int32_t)m ||
            !(training_throughput(models, m, 0, 0) >= 0) ||
            !(training_throughput(models, m, 1e6, 1e6) >= 0))
            abort();
        for (uint32_t other = 0; other < count; other++)
            for (uint32_t gpus = 1; gpus <= 1024; gpus *= 4)
                if (!(training_pair(models, m, other, gpus, NULL) > 0))
                    abort(); /* infinite: the two do not fit on one GPU */
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    struct error error = {0};
    int file = input_open(data, size, path);
    struct training_models *models = training_models_read(path, &error);
    if (models != NULL)
        look_up(models);
    else
        input_require_refusal(&error);
    training_models_free(models);
    (void)close(file);
    return 0;
}
