#include "results/inspect/timeline_training.h"

#include <inttypes.h>
#include <stdio.h>

/* The process, after those of requests; the first thread. */
enum { PID_TRAININGS = 5, TID_TRAININGS = 1 };

bool timeline_trainings_begin(struct trace_events *events, struct error *error)
{
    return trace_events_name_process(events, PID_TRAININGS, "trainings", error);
}

bool timeline_lease(struct trace_events *events, const struct lease_row *row, struct error *error)
{
    const uint64_t tid = TID_TRAININGS + row->training;
    if (row->restart_ns > 0 &&
        !trace_events_write(events, error,
                            "{\"ph\":\"X\",\"cat\":\"restart\",\"name\":\"restart\",\"ts\":%s,"
                            "\"dur\":%s,\"pid\":%d,\"tid\":%" PRIu64 "}",
                            trace_micros(row->from_ns).text, trace_micros(row->restart_ns).text,
                            PID_TRAININGS, tid))
        return false;
    return trace_events_write(
        events, error,
        "{\"ph\":\"X\",\"cat\":\"lease\",\"name\":\"%" PRIu32 " GPUs from %" PRIu32
        "\",\"ts\":%s,\"dur\":%s,\"pid\":%d,\"tid\":%" PRIu64 ",\"args\":{\"invokers\":%" PRIu32
        ",\"units\":%s,\"vcpus\":%s,\"memory_mb\":%s,\"iterations\":%s}}",
        row->gpus, row->first_gpu, trace_micros(row->from_ns).text,
        trace_micros(row->until_ns - row->from_ns).text, PID_TRAININGS, tid, row->invokers,
        trace_number(row->units).text, trace_number(row->vcpus).text,
        trace_number(row->memory_mb).text, trace_number(row->iterations).text);
}

bool timeline_training(struct trace_events *events, const struct training_result_row *row,
                       struct error *error)
{
    char name[64];
    const uint32_t tid = (uint32_t)(TID_TRAININGS + row->training);
    (void)snprintf(name, sizeof name, "\"training %" PRIu64 "\"", row->training);
    return trace_events_name_thread(events, PID_TRAININGS, tid, tid, name, error) &&
           trace_events_write(events, error,
                              "{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"arrival\",\"name\":\"arrival\","
                              "\"ts\":%s,\"pid\":%d,\"tid\":%" PRIu32 "}",
                              trace_micros(row->arrival_ns).text, PID_TRAININGS, tid);
}
