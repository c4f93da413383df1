/* Traces of trainings: every layout on any bytes; arrivals ascend, and every row can be run. */
#include <stdlib.h>
#include <unistd.h>

#include "tests/fuzz/input.h"
#include "traces/readers/training_trace.h"

static void read_as(const char *path, const char *format)
{
    struct error error = {0};
    struct training_trace *trace = training_trace_read(path, format, &error);
    if (trace == NULL) {
        input_require_refusal(&error);
        return;
    }
    for (size_t i = 0; i < trace->count; i++) {
        const struct training_row *row = &trace->rows[i];
        if (row->gpus == 0 || row->gpus > TRAINING_MOST_GPUS || row->arrival < 0 ||
            (i > 0 && row->arrival < trace->rows[i - 1].arrival) ||
            (row->iterations == 0 && !(row->duration_s >= 0)) || !(row->iteration_ms >= 0) ||
            !(row->request >= 0 && row->request <= row->limit && row->limit <= 1) ||
            row->type >= INSTANCE_TYPES ||
            (row->request > 0 && !(row->duration_s > 0 && row->memory_gb > 0)) ||
            (row->model != TRAINING_NO_MODEL && (size_t)row->model >= trace->models.count))
            abort();
    }
    training_trace_free(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int file = input_open(data, size, path);
    (void)training_trace_recognise(path);
    (void)close(file);
    for (size_t i = 0; training_formats[i] != NULL; i++) {
        file = input_open(data, size, path);
        read_as(path, training_formats[i]);
        (void)close(file);
    }
    return 0;
}
