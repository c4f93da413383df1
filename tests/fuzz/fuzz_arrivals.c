/* Arrival traces: every format on any bytes, and any CSV by its columns; times never run backwards.
 */
#include <stdlib.h>
#include <unistd.h>

#include "tests/fuzz/input.h"
#include "traces/readers/arrival_trace.h"

enum { MOST_RECORDS = 20000 };

static void read_as(const char *path, const char *format, const struct trace_columns *columns)
{
    const struct trace_view view = {.columns = columns};
    struct error error = {0};
    struct trace_record record;
    sim_time_t last = 0;
    struct trace_reader *reader = trace_open_view(path, format, 1, &view, &error);
    if (reader == NULL) {
        if (error.kind == ERROR_NONE || error.message[0] == '\0')
            abort();
        return;
    }
    for (int i = 0; i < MOST_RECORDS && trace_next(reader, &record, &error); i++) {
        if (record.time < last)
            abort();
        last = record.time;
    }
    trace_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const formats[] = {NULL,
                                          "esgsim",
                                          "azure-llm",
                                          "azure-2019",
                                          "azure-2021",
                                          "counts-per-second",
                                          "counts-per-minute"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        char path[64];
        int file = input_open(data, size, path);
        read_as(path, formats[i], NULL);
        (void)close(file);
    }
    for (int sort = 0; sort < 2; sort++) {
        const struct trace_columns columns = {
            .time = "time_ms", .application = "application", .unit = "ms", .sort = sort == 1};
        char path[64];
        int file = input_open(data, size, path);
        read_as(path, NULL, &columns);
        (void)close(file);
    }
    return 0;
}
