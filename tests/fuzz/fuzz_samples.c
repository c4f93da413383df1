/* Tables of measurements: the reader, and what calibration does before it fits. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/fuzz/input.h"
#include "traces/calibrate/samples.h"

/* What the readers promise of every sample. */
static void check_samples(const struct sample_set *set)
{
    for (size_t i = 0; i < set->latency_count; i++) {
        const struct latency_sample *sample = &set->latencies[i];
        const double share = samples_share(set, sample);
        if (!(sample->ms > 0) || !isfinite(sample->ms) || sample->repeats < 1 ||
            sample->function >= set->functions.count || !(share >= 0 && share <= 1))
            abort();
    }
    for (size_t i = 0; i < set->co_run_count; i++)
        if (set->co_runs[i].function >= set->functions.count ||
            (i > 0 && set->co_runs[i].group < set->co_runs[i - 1].group))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error error = {0};
    struct sample_set set = {0};
    char path[64];
    int file = input_open(data, size, path);
    if (sample_table_read(&set, path, &error)) {
        check_samples(&set);
        (void)samples_reduce(&set, NULL);
        check_samples(&set);
        if (!samples_leave_out_lone(&set, &error))
            input_require_refusal(&error);
        check_samples(&set);
    } else {
        input_require_refusal(&error);
    }
    samples_clear(&set);
    (void)close(file);
    return 0;
}
