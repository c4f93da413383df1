/* The network loader, and resizing and memory planning of whatever it accepts. */
#include <stdlib.h>

#include "tests/fuzz/input.h"
#include "traces/networks/graph.h"

static void exercise(struct graph *graph)
{
    struct error error = {0};
    struct graph_arena arena;
    const int64_t parameters = graph->parameters;
    const int64_t macs = graph->macs;
    if (parameters < 0 || macs < 0)
        abort();
    if (!graph_arena_plan(graph, 2, 256, &arena, &error))
        abort(); /* fails without memory only */
    if (arena.bytes < arena.peak_live_bytes)
        abort();
    graph_arena_free(&arena);
    if (graph_resize(graph, 7, 0, 0, &error)) {
        if (graph->macs != 7 * macs || graph->parameters != parameters)
            abort(); /* weights do not depend on the batch, work is proportional to it */
    } else if (error.kind != ERROR_INPUT || graph->macs != macs) {
        abort();
    }
    (void)graph_resize(graph, 1, 17, 33, &error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error error = {0};
    char *text = input_text(data, size);
    struct graph *graph = graph_parse(text, "input", &error);
    if (graph != NULL)
        exercise(graph);
    else if (error.kind != ERROR_INPUT || error.message[0] == '\0')
        abort();
    graph_free(graph);
    free(text);
    return 0;
}
