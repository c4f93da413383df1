/* CUDA graphs by stream capture. Operations enqueued to a captured stream are stored, and run at
 * each launch. */
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/stand_in.h"

struct operation {
    operation_run *run;
    void *data;
};

/* A captured or executable graph and its operations. */
struct graph {
    struct handle handle;
    const struct context *context; /* context of the captured stream */
    struct operation *operations;
    size_t count;
};

static _Thread_local struct stream *capturing;

bool thread_captures(void)
{
    return capturing != NULL;
}

bool stream_records(struct stream *stream, operation_run *run, const void *data, size_t bytes)
{
    struct graph *graph = stream->recording;
    if (graph == NULL)
        return false;
    if (stream != capturing)
        fault("a stream is used that another thread captures");
    void *copy = malloc(bytes);
    struct operation *more =
        realloc(graph->operations, (graph->count + 1) * sizeof *graph->operations);
    if (more != NULL)
        graph->operations = more;
    if (copy == NULL || more == NULL) {
        free(copy);
        fault("out of memory for a graph");
        return true;
    }
    memcpy(copy, data, bytes);
    struct operation *operation = &graph->operations[graph->count++];
    operation->run = run;
    operation->data = copy;
    return true;
}

CUresult cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode mode)
{
    const CUresult result = enter("cuStreamBeginCapture", NEED_CONTEXT);
    if (result != CUDA_SUCCESS)
        return leave(result);
    struct stream *stream = stream_find(handle);
    if (stream == NULL || mode != CU_STREAM_CAPTURE_MODE_THREAD_LOCAL || stream->is_null ||
        stream->recording != NULL || capturing != NULL)
        return leave(refuse(CUDA_ERROR_ILLEGAL_STATE, "mode %d", (int)mode));
    stream->recording = handle_create(HANDLE_GRAPH, sizeof *stream->recording);
    if (stream->recording == NULL)
        return leave(CUDA_ERROR_OUT_OF_MEMORY);
    stream->recording->context = stream->context;
    capturing = stream;
    return leave(CUDA_SUCCESS);
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph *graph)
{
    const CUresult result = enter("cuStreamEndCapture", NEED_CONTEXT);
    if (result != CUDA_SUCCESS)
        return leave(result);
    struct stream *stream = stream_find(handle);
    if (stream == NULL || stream != capturing)
        return leave(refuse(CUDA_ERROR_ILLEGAL_STATE, "this thread does not capture the stream"));
    *graph = (CUgraph)(void *)stream->recording;
    stream->recording = NULL;
    capturing = NULL;
    return leave(CUDA_SUCCESS);
}

CUresult cuGraphInstantiate(CUgraphExec *place, CUgraph handle, unsigned long long flags)
{
    const CUresult result = enter("cuGraphInstantiate", NEED_CONTEXT);
    const struct graph *graph = result == CUDA_SUCCESS ? handle_find(handle, HANDLE_GRAPH) : NULL;
    if (result != CUDA_SUCCESS)
        return leave(result);
    if (graph == NULL || graph->count == 0 || flags != 0)
        return leave(refuse(CUDA_ERROR_INVALID_VALUE, "an empty graph, or flags %llu", flags));
    struct graph *exec = handle_create(HANDLE_EXEC, sizeof *exec);
    if (exec == NULL)
        return leave(CUDA_ERROR_OUT_OF_MEMORY);
    const struct handle own = exec->handle;
    *exec = *graph;
    exec->handle = own;
    *place = (CUgraphExec)(void *)exec;
    return leave(CUDA_SUCCESS);
}

static CUresult find(const char *function, CUgraphExec handle, CUstream stream_handle,
                     struct graph **exec, struct stream **stream)
{
    const CUresult result = enter(function, NEED_CONTEXT);
    if (result != CUDA_SUCCESS)
        return result;
    *exec = handle_find(handle, HANDLE_EXEC);
    *stream = stream_find(stream_handle);
    if (*exec == NULL || *stream == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if ((*exec)->context != (*stream)->context)
        fault("the graph was recorded in another context than that of the stream");
    return CUDA_SUCCESS;
}

CUresult cuGraphUpload(CUgraphExec handle, CUstream stream_handle)
{
    struct graph *exec = NULL;
    struct stream *stream = NULL;
    return leave(find("cuGraphUpload", handle, stream_handle, &exec, &stream));
}

CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream_handle)
{
    struct graph *exec = NULL;
    struct stream *stream = NULL;
    CUresult result = find("cuGraphLaunch", handle, stream_handle, &exec, &stream);
    if (result != CUDA_SUCCESS)
        return leave(result);
    stream->launches_graph = true;
    for (size_t i = 0; i < exec->count; i++)
        if (!exec->operations[i].run(stream, exec->operations[i].data))
            result = CUDA_ERROR_LAUNCH_FAILED;
    stream->launches_graph = false;
    return leave(result);
}

CUresult cuGraphExecDestroy(CUgraphExec handle)
{
    const CUresult result = enter("cuGraphExecDestroy", NEED_CONTEXT);
    const void *exec = result == CUDA_SUCCESS ? handle_end(handle, HANDLE_EXEC) : handle;
    return leave(exec == NULL ? CUDA_ERROR_INVALID_VALUE : result);
}

CUresult cuGraphDestroy(CUgraph handle)
{
    const CUresult result = enter("cuGraphDestroy", NEED_CONTEXT);
    const void *graph = result == CUDA_SUCCESS ? handle_end(handle, HANDLE_GRAPH) : handle;
    return leave(graph == NULL ? CUDA_ERROR_INVALID_VALUE : result);
}
