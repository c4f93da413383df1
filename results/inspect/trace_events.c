#include "results/inspect/trace_events.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "sim/base/json_write.h"

/* Writes the value after `before` and deletes it. */
static void value_write(struct trace_events *events, const char *before, cJSON *value)
{
    char *text = cJSON_PrintBuffered(value, 1024, false);
    if (events->fault == 0 &&
        (fputs(before, events->file.stream) < 0 || fputs(text, events->file.stream) < 0))
        events->fault = errno;
    cJSON_free(text);
    cJSON_Delete(value);
}

bool trace_events_begin(struct trace_events *events, const char *path, cJSON *about,
                        struct error *error)
{
    *events = (struct trace_events){.before = ",\n\"traceEvents\":[\n"};
    if (!atomic_file_open(&events->file, path, error)) {
        cJSON_Delete(about);
        return false;
    }
    value_write(events, "{\"displayTimeUnit\":\"ms\",\"otherData\":", about);
    return trace_events_good(events, error);
}

static void time_add(cJSON *event, const char *key, sim_time_t time)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%" PRId64 ".%03d", time / SIM_US, (int)(time % SIM_US));
    (void)cJSON_AddRawToObject(event, key, text);
}

cJSON *trace_event(char phase, const char *category, const char *name, struct trace_point at,
                   sim_time_t until)
{
    cJSON *event = cJSON_CreateObject();
    json_put(event, "ph %s cat %s name %s", (char[]){phase, '\0'}, category, name);
    time_add(event, "ts", at.time);
    if (phase == 'X')
        time_add(event, "dur", until - at.time);
    json_put(event, "pid %u tid %u s %s bp %s", at.pid, at.tid, phase == 'i' ? "t" : NULL,
             phase == 'f' ? "e" : NULL);
    return event;
}

void trace_events_write(struct trace_events *events, cJSON *event)
{
    value_write(events, events->before, event);
    events->before = ",\n";
}

void trace_events_name(struct trace_events *events, const char *kind, struct trace_point at,
                       uint32_t order, const char *name)
{
    for (size_t i = 0; i < 2; i++) {
        char what[32];
        (void)snprintf(what, sizeof what, "%s_%s", kind, i == 0 ? "name" : "sort_index");
        cJSON *event = trace_event('M', "__metadata", what, at, 0);
        cJSON *args = cJSON_AddObjectToObject(event, "args");
        if (i == 0)
            json_put(args, "name %s", name);
        else
            json_put(args, "sort_index %u", order);
        trace_events_write(events, event);
    }
}

bool trace_events_good(const struct trace_events *events, struct error *error)
{
    return events->fault == 0 || error_run(error, "%s: cannot be written: %s", events->file.path,
                                           strerror(events->fault));
}

bool trace_events_end(struct trace_events *events, bool good, struct error *error)
{
    if (good) {
        (void)fputs("\n]}\n", events->file.stream);
        good = trace_events_good(events, error);
    }
    return atomic_file_end(&events->file, good, error);
}
