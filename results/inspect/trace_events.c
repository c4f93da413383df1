#include "results/inspect/trace_events.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

enum { BLOCK_BYTES = 1 << 18, EVENT_BYTES = 1 << 14 };

bool trace_events_begin(struct trace_events *events, struct arena *arena, const char *path,
                        const char *about, struct error *error)
{
    *events = (struct trace_events){.arena = arena,
                                    .path = arena_text(arena, "%s", path),
                                    .block = arena_allocate(arena, BLOCK_BYTES, 1)};
    if (!atomic_file_open(&events->file, path, error))
        return false;
    const int length =
        snprintf(events->block, EVENT_BYTES,
                 "{\"displayTimeUnit\":\"ms\",\"otherData\":%s,\n\"traceEvents\":[\n", about);
    events->used = length > 0 && length < EVENT_BYTES ? (size_t)length : 0;
    return events->used > 0 || error_run(error, "%s: what it is about is too long", path);
}

static bool flush_block(struct trace_events *events, struct error *error)
{
    const bool good = fwrite(events->block, 1, events->used, events->file.stream) == events->used;
    events->used = 0;
    return good || error_run(error, "%s: cannot be written: %s", events->path, strerror(errno));
}

bool trace_events_write(struct trace_events *events, const struct trace_event *event,
                        struct error *error, const char *format, ...)
{
    if (BLOCK_BYTES - events->used < EVENT_BYTES && !flush_block(events, error))
        return false;
    char *out = events->block + events->used, duration[48] = "";
    if (event->phase == 'X')
        (void)snprintf(duration, sizeof duration, ",\"dur\":%s",
                       trace_micros(event->until - event->at.time).text);
    int length =
        snprintf(out, EVENT_BYTES / 4,
                 "%s{\"ph\":\"%c\",\"cat\":\"%s\",\"name\":\"%s\",\"ts\":%s%s,\"pid\":%" PRIu32
                 ",\"tid\":%" PRIu32,
                 events->any ? ",\n" : "", event->phase, event->category, event->name,
                 trace_micros(event->at.time).text, duration, event->at.pid, event->at.tid);
    events->any = true;
    va_list args;
    va_start(args, format);
    if (length >= 0 && length < EVENT_BYTES / 4)
        length += vsnprintf(out + length, EVENT_BYTES / 4, format, args);
    va_end(args);
    if (length < 0 || length >= EVENT_BYTES / 2)
        return error_run(error, "%s: an event of %d bytes is too long; shorten the names in it",
                         events->path, length);
    out[length] = '}';
    events->used += (size_t)length + 1;
    return true;
}

char *trace_escape(struct arena *arena, const char *text)
{
    cJSON *string = cJSON_CreateString(text);
    char *quoted = cJSON_PrintUnformatted(string);
    if (quoted == NULL)
        arena_exhaust(arena, strlen(text), 1);
    char *copy = arena_text(arena, "%.*s", (int)strlen(quoted) - 2, quoted + 1);
    cJSON_free(quoted);
    cJSON_Delete(string);
    return copy;
}

/* Writes name and position of a process or thread. */
static bool name_track(struct trace_events *events, const char *kind, uint32_t pid, uint32_t tid,
                       uint32_t order, const char *name, struct error *error)
{
    char *escaped = trace_escape(events->arena, name), what[32];
    struct trace_event event = {'M', "__metadata", what, {0, pid, tid}, 0};
    (void)snprintf(what, sizeof what, "%s_name", kind);
    bool good = trace_events_write(events, &event, error, ",\"args\":{\"name\":\"%s\"}", escaped);
    (void)snprintf(what, sizeof what, "%s_sort_index", kind);
    good = good && trace_events_write(events, &event, error,
                                      ",\"args\":{\"sort_index\":%" PRIu32 "}", order);
    arena_release(events->arena, escaped);
    return good;
}

bool trace_events_name_process(struct trace_events *events, uint32_t pid, const char *name,
                               struct error *error)
{
    return name_track(events, "process", pid, 0, pid, name, error);
}

bool trace_events_name_thread(struct trace_events *events, uint32_t pid, uint32_t tid,
                              uint32_t order, const char *name, struct error *error)
{
    return name_track(events, "thread", pid, tid, order, name, error);
}

bool trace_events_end(struct trace_events *events, bool good, struct error *error)
{
    if (good) {
        good = flush_block(events, error);
        (void)fputs("\n]}\n", events->file.stream);
    }
    return atomic_file_end(&events->file, good, error);
}

struct trace_number trace_micros(sim_time_t time)
{
    struct trace_number out;
    (void)snprintf(out.text, sizeof out.text, "%" PRId64 ".%03d", time / SIM_US,
                   (int)(time % SIM_US));
    return out;
}

struct trace_number trace_number(double value)
{
    struct trace_number out = {"null"};
    if (isfinite(value))
        (void)snprintf(out.text, sizeof out.text, "%.9g", value);
    return out;
}
