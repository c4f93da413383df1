/* Experiments, sweeps and whatever `esgsim check` takes a file for. */
#include <unistd.h>

#include "tests/fuzz/input.h"
#include "workloads/sweep/sweep.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    struct input_found input = {0};
    int file = input_open(data, size, path);

    struct error error = {0};
    struct experiment *experiment = experiment_load(path, NULL, 0, &error);
    if (experiment == NULL)
        input_require_refusal(&error);
    experiment_free(experiment);

    error = (struct error){0};
    struct sweep *sweep = sweep_load(path, NULL, 0, &error);
    if (sweep == NULL)
        input_require_refusal(&error);
    sweep_free(sweep);

    error = (struct error){0};
    if (!input_check(path, &input, &error))
        input_require_refusal(&error);

    (void)close(file);
    return 0;
}
