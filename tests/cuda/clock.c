/* Streams, events, and the device's clock.
 *
 * An operation begins when the previous one in its stream ends. Its duration is a floor plus the
 * time of its work on the context's multiprocessors. Noise scales an inference as a whole, and each
 * other busy context slows it. There are no gaps between operations, however late the host enqueues
 * them. The time of an inference therefore depends on the model alone.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "tests/cuda/stand_in.h"

enum { STREAMS = 4096 };
static const double recent_ms = 50; /* without pace: busy time of the first thread's stream */

static struct stream *streams[STREAMS];
static size_t stream_count;
static double waited_ms;              /* the device's clock without pace: latest time waited for */
static double queue_ends_ms[STREAMS]; /* per hardware queue */

struct event {
    struct handle handle;
    struct context *context;
    struct stream *stream; /* NULL: the event was not recorded */
    uint64_t operation;
    double ms;
};

static double host_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

void wait_until(double device_ms)
{
    const double rest_ms = device_ms - host_ms();
    if (!settings()->pace || rest_ms <= 0)
        return;
    const struct timespec rest = {.tv_sec = (time_t)(rest_ms / 1e3),
                                  .tv_nsec = (long)(fmod(rest_ms, 1e3) * 1e6)};
    (void)nanosleep(&rest, NULL);
}

/* ---- Streams --------------------------------------------------------------------------------- */

/* A new stream reuses the entry of a destroyed one once that has no unfinished work. */
struct stream *stream_create(struct context *context, bool is_null)
{
    static uint64_t numbers;
    size_t place = 0;
    while (place < stream_count && streams[place]->handle.alive)
        place++;
    struct stream *stream = place == STREAMS ? NULL : handle_create(HANDLE_STREAM, sizeof *stream);
    if (stream == NULL)
        return NULL;
    stream->context = context;
    stream->is_null = is_null;
    stream->number = ++numbers;
    stream->queue = settings()->queues == 0 ? numbers : numbers % settings()->queues;
    stream->queue %= STREAMS;
    streams[place] = stream;
    stream_count += place == stream_count;
    if (is_null) /* the caller cannot destroy a null stream */
        stream->handle.kind = HANDLE_CONTEXT;
    return stream;
}

struct stream *stream_find(CUstream handle)
{
    struct context *context = current_context();
    if (handle == NULL)
        return context->null_stream;
    struct stream *stream = handle_find(handle, HANDLE_STREAM);
    if (stream != NULL && !stream->context->handle.alive) {
        fault("the stream's context was destroyed");
        return NULL;
    }
    if (stream != NULL && stream->context != context && stream->context->primary != context) {
        fault("the stream is neither of the current context nor of a part of it");
        return NULL;
    }
    return stream;
}

/* ---- Time ------------------------------------------------------------------------------------ */

/* Normal deviation of an inference. It depends on the stream's number and on its count of
 * inferences (mixer of SplitMix64 by Steele, Lea and Flood; Box-Muller transform). */
static double draw_noise(const struct stream *stream)
{
    double uniform[2];
    for (uint64_t i = 0; i < 2; i++) {
        uint64_t z = (stream->number << 32 | (2 * stream->inferences + i)) * 0x9e3779b97f4a7c15U;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
        z = (z ^ z >> 27) * 0x94d049bb133111ebU;
        uniform[i] = ((double)((z ^ z >> 31) >> 11) + 0.5) * 0x1p-53;
    }
    return sqrt(-2 * log(uniform[0])) * cos(2 * M_PI * uniform[1]);
}

/* Without pace a stream is busy until the thread that enqueued to it last ends. The result must not
 * depend on how fast threads alternate. The first thread does not end, so its stream is busy for
 * recent_ms. */
static pthread_key_t at_thread_end;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const void *first_thread;

static void end_thread(void *thread)
{
    (void)enter("a thread's end", NEED_NOTHING);
    for (size_t i = 0; i < stream_count; i++)
        if (streams[i]->thread == thread)
            streams[i]->thread = NULL;
    (void)leave(CUDA_SUCCESS);
}

static void watch_threads(void)
{
    first_thread = this_thread();
    (void)pthread_key_create(&at_thread_end, end_thread);
}

static bool is_at_work(const struct stream *stream, double now_ms)
{
    if (stream->thread == first_thread)
        return stream->used_ms > now_ms - recent_ms;
    return stream->thread != NULL;
}

/* Number of other contexts with busy streams: by the device's clock with pace, otherwise by
 * threads. */
static size_t count_others(const struct stream *stream, double now_ms)
{
    size_t count = 0;
    for (size_t i = 0; i < stream_count; i++) {
        const struct stream *other = streams[i];
        if (!other->handle.alive || other->context == stream->context || other->is_null ||
            other->issued == 0 || other->thread == stream->thread)
            continue;
        count += settings()->pace ? other->end_ms > stream->end_ms : is_at_work(other, now_ms);
    }
    return count;
}

void stream_issue(struct stream *stream, double macs, double fixed_ms)
{
    const struct settings *s = settings();
    const double now_ms = host_ms();
    (void)pthread_once(&once, watch_threads);
    stream->thread = this_thread();
    (void)pthread_setspecific(at_thread_end, stream->thread);
    stream->used_ms = now_ms;
    if (!stream->open) {
        stream->open = true;
        stream->inferences++;
        stream->noise = exp(s->noise * draw_noise(stream));
        stream->end_ms = fmax(stream->end_ms, s->pace ? now_ms : waited_ms);
    }
    if (s->queues > 0 && !stream->is_null)
        stream->end_ms = fmax(stream->end_ms, queue_ends_ms[stream->queue]);
    if (stream->launches_graph)
        fixed_ms /= 2;
    const double alone_ms = fixed_ms + macs / (s->rate * stream->context->sms);
    stream->end_ms +=
        alone_ms * stream->noise * (1 + s->slowdown * (double)count_others(stream, now_ms));
    queue_ends_ms[stream->queue] = stream->end_ms;
    stream->issued++;
}

void stream_done(struct stream *stream, uint64_t up_to, double ms)
{
    waited_ms = fmax(waited_ms, ms);
    if (up_to > stream->done)
        stream->done = up_to;
    if (stream->done == stream->issued)
        stream->open = false;
}

double context_done(const struct context *context)
{
    double until_ms = 0;
    for (size_t i = 0; i < stream_count; i++)
        if (streams[i]->context == context ||
            (!context->green && streams[i]->context->primary == context)) {
            stream_done(streams[i], streams[i]->issued, streams[i]->end_ms);
            until_ms = fmax(until_ms, streams[i]->end_ms);
        }
    return until_ms;
}

/* ---- The functions --------------------------------------------------------------------------- */

CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    const CUresult result = enter("cuStreamCreate", NEED_CONTEXT);
    if (result != CUDA_SUCCESS)
        return leave(result);
    if (flags > CU_STREAM_NON_BLOCKING)
        return leave(refuse(CUDA_ERROR_INVALID_VALUE, "flags %u", flags));
    *stream = (CUstream)(void *)stream_create(current_context(), false);
    return leave(*stream == NULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS);
}

CUresult cuStreamDestroy(CUstream handle)
{
    const CUresult result = enter("cuStreamDestroy", NEED_CONTEXT);
    if (result != CUDA_SUCCESS)
        return leave(result);
    struct stream *stream = handle_end(handle, HANDLE_STREAM);
    if (stream == NULL)
        return leave(CUDA_ERROR_INVALID_HANDLE);
    if (!stream->context->handle.alive)
        return leave(refuse(CUDA_ERROR_CONTEXT_IS_DESTROYED, "its context was destroyed first"));
    stream->done = stream->issued;
    return leave(CUDA_SUCCESS);
}

CUresult cuStreamSynchronize(CUstream handle)
{
    CUresult result = enter("cuStreamSynchronize", NEED_CONTEXT);
    struct stream *stream = NULL;
    double until_ms = 0;
    if (result == CUDA_SUCCESS && thread_captures())
        result = refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "while a stream is captured");
    if (result == CUDA_SUCCESS) {
        stream =
            handle == NULL ? current_context()->null_stream : handle_find(handle, HANDLE_STREAM);
        result = stream == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
    }
    if (result == CUDA_SUCCESS) {
        stream_done(stream, stream->issued, stream->end_ms);
        until_ms = stream->end_ms;
    }
    (void)leave(result);
    if (result == CUDA_SUCCESS)
        wait_until(until_ms);
    return result;
}

static bool is_over(double ms)
{
    return ms <= (settings()->pace ? host_ms() : waited_ms);
}

CUresult cuStreamQuery(CUstream handle)
{
    const CUresult result = enter("cuStreamQuery", NEED_CONTEXT);
    struct stream *stream = result == CUDA_SUCCESS ? handle_find(handle, HANDLE_STREAM) : NULL;
    if (result != CUDA_SUCCESS || stream == NULL)
        return leave(result != CUDA_SUCCESS ? result : CUDA_ERROR_INVALID_HANDLE);
    if (stream->done < stream->issued && !is_over(stream->end_ms))
        return leave(CUDA_ERROR_NOT_READY);
    stream_done(stream, stream->issued, stream->end_ms);
    return leave(CUDA_SUCCESS);
}

CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    const CUresult result = enter("cuEventCreate", NEED_CONTEXT);
    if (result != CUDA_SUCCESS)
        return leave(result);
    if (flags != CU_EVENT_DEFAULT)
        return leave(refuse(CUDA_ERROR_INVALID_VALUE, "flags %u are not made up for", flags));
    struct event *made = handle_create(HANDLE_EVENT, sizeof *made);
    if (made == NULL)
        return leave(CUDA_ERROR_OUT_OF_MEMORY);
    made->context = current_context();
    *event = (CUevent)(void *)made;
    return leave(CUDA_SUCCESS);
}

CUresult cuEventDestroy(CUevent handle)
{
    const CUresult result = enter("cuEventDestroy", NEED_CONTEXT);
    if (result != CUDA_SUCCESS)
        return leave(result);
    const struct event *event = handle_end(handle, HANDLE_EVENT);
    if (event != NULL && !event->context->handle.alive)
        return leave(refuse(CUDA_ERROR_CONTEXT_IS_DESTROYED, "its context was destroyed first"));
    return leave(event == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS);
}

static CUresult record(struct event *event, struct stream *stream)
{
    if (event == NULL || stream == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (stream->recording != NULL)
        return refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the stream is captured");
    if (event->context != stream->context && event->context != stream->context->primary)
        return refuse(CUDA_ERROR_INVALID_HANDLE, "event and stream are of two contexts");
    stream_issue(stream, 0, 0);
    event->stream = stream;
    event->operation = stream->issued;
    event->ms = stream->end_ms;
    return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    CUresult result = enter("cuEventRecord", NEED_CONTEXT);
    if (result == CUDA_SUCCESS)
        result = record(handle_find(event, HANDLE_EVENT), stream_find(stream));
    return leave(result);
}

CUresult cuEventSynchronize(CUevent handle)
{
    CUresult result = enter("cuEventSynchronize", NEED_CONTEXT);
    double until_ms = 0;
    struct event *event = result == CUDA_SUCCESS ? handle_find(handle, HANDLE_EVENT) : NULL;
    if (result == CUDA_SUCCESS && event == NULL)
        result = CUDA_ERROR_INVALID_HANDLE;
    if (event != NULL && event->stream == NULL)
        fault("the event was never recorded: nothing is waited for");
    if (event != NULL && event->stream != NULL) {
        stream_done(event->stream, event->operation, event->ms);
        until_ms = event->ms;
    }
    (void)leave(result);
    if (result == CUDA_SUCCESS)
        wait_until(until_ms);
    return result;
}

static bool is_done(const struct event *event)
{
    return event->stream == NULL || event->operation <= event->stream->done || is_over(event->ms);
}

CUresult cuEventQuery(CUevent handle)
{
    CUresult result = enter("cuEventQuery", NEED_CONTEXT);
    if (result != CUDA_SUCCESS)
        return leave(result);
    const struct event *event = handle_find(handle, HANDLE_EVENT);
    if (event == NULL)
        return leave(CUDA_ERROR_INVALID_HANDLE);
    if (event->stream == NULL)
        fault("the event was never recorded");
    if (!is_done(event))
        return leave(CUDA_ERROR_NOT_READY);
    if (event->stream != NULL)
        stream_done(event->stream, event->operation, event->ms);
    return leave(CUDA_SUCCESS);
}

CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
    const CUresult result = enter("cuEventElapsedTime", NEED_CONTEXT);
    if (result != CUDA_SUCCESS)
        return leave(result);
    const struct event *from = handle_find(start, HANDLE_EVENT);
    const struct event *to = handle_find(end, HANDLE_EVENT);
    if (from == NULL || to == NULL)
        return leave(CUDA_ERROR_INVALID_HANDLE);
    if (from->stream == NULL || to->stream == NULL)
        return leave(refuse(CUDA_ERROR_INVALID_HANDLE, "an event was never recorded"));
    if (from->context->primary != to->context->primary)
        return leave(refuse(CUDA_ERROR_INVALID_HANDLE, "events of two contexts"));
    if (!is_done(from) || !is_done(to))
        return leave(refuse(CUDA_ERROR_NOT_READY, "an event is not over yet"));
    *ms = (float)(to->ms - from->ms);
    return leave(CUDA_SUCCESS);
}
