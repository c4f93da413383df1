/* Sweep files: the matrix, and the experiments of its first runs and its last. */
#include <unistd.h>

#include "tests/fuzz/input.h"
#include "workloads/sweep/sweep.h"

enum { FIRST = 3 };

static void load_run(const struct sweep *sweep, size_t run)
{
    struct error error = {0};
    struct experiment *experiment = sweep_experiment(sweep, run, &error);
    if (experiment == NULL)
        input_require_refusal(&error);
    experiment_free(experiment);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error error = {0};
    char path[64];
    int file = input_open(data, size, path);
    struct sweep *sweep = sweep_load(path, NULL, 0, &error);
    if (sweep == NULL)
        input_require_refusal(&error);
    for (size_t run = 0; sweep != NULL && run < sweep->run_count && run < FIRST; run++)
        load_run(sweep, run);
    if (sweep != NULL && sweep->run_count > FIRST)
        load_run(sweep, sweep->run_count - 1);
    sweep_free(sweep);
    (void)close(file);
    return 0;
}
