#include "results/columns.h"

#include <stdio.h>
#include <string.h>

#include <zlib.h>

#define MEASURE_TYPE_u64 COLUMN_U64
#define MEASURE_TYPE_f64 COLUMN_F64

const struct metric metrics[] = {
#define MEASURE(type, name, unit, help)                                                            \
    {#name, unit, help, MEASURE_TYPE_##type, offsetof(struct measures, name)},
#include "sim/metrics.def"
};
const size_t metric_count = sizeof metrics / sizeof metrics[0];

const struct metric run_metrics[] = {
#define RUN_MEASURE(type, name, unit, help)                                                        \
    {#name, unit, help, MEASURE_TYPE_##type, offsetof(struct run_measures, name)},
#include "sim/metrics.def"
};
const size_t run_metric_count = sizeof run_metrics / sizeof run_metrics[0];

#define SUMMARY(field) offsetof(struct summary_row, field)
static const struct column summary_columns[] = {
    {"hash", "", "first 16 digits of the SHA-256 of the resolved configuration: the group in /runs",
     COLUMN_TEXT, SUMMARY(hash), TEXT_HASH},
    {"name", "", "of the experiment", COLUMN_TEXT, SUMMARY(name), TEXT_NAME},
    {"setting", "", "named row of the sweep's matrix", COLUMN_TEXT, SUMMARY(setting), TEXT_NAME},
    {"policy", "", "scheduling policy", COLUMN_TEXT, SUMMARY(policy), TEXT_NAME},
    {"label", "", "what the sweep set, without the seed: runs of one label differ in seed only",
     COLUMN_TEXT, SUMMARY(label), TEXT_LABEL},
    {"seed", "1", "of the random streams: equal seeds meet equal arrivals and noise", COLUMN_U64,
     SUMMARY(seed), 1},
    {"warmup_requests", "1", "simulated before the measured ones", COLUMN_U64,
     SUMMARY(warmup_requests), 1},
    {"evidence", "", "grade of the latency profile", COLUMN_TEXT, SUMMARY(evidence), TEXT_NAME},
    {"exact_quantiles", "1", "1: percentiles over all samples; 0: within 0.05 %", COLUMN_U8,
     SUMMARY(exact_quantiles), 1},
#define MEASURE(type, name, unit, help)                                                            \
    {#name, unit, help, MEASURE_TYPE_##type, SUMMARY(measures.name), 1},
#define RUN_MEASURE(type, name, unit, help)                                                        \
    {#name, unit, help, MEASURE_TYPE_##type, SUMMARY(run.name), 1},
#include "sim/metrics.def"
};

#define APPLICATION(field) offsetof(struct application_row, field)
static const struct column application_columns[] = {
    {"hash", "", "of the run: as in /summary", COLUMN_TEXT, APPLICATION(hash), TEXT_HASH},
    {"application", "", "name of the application", COLUMN_TEXT, APPLICATION(application),
     TEXT_NAME},
    {"setting", "", "named row of the sweep's matrix", COLUMN_TEXT, APPLICATION(setting),
     TEXT_NAME},
    {"policy", "", "scheduling policy", COLUMN_TEXT, APPLICATION(policy), TEXT_NAME},
    {"seed", "1", "of the random streams", COLUMN_U64, APPLICATION(seed), 1},
#define MEASURE(type, name, unit, help)                                                            \
    {#name, unit, help, MEASURE_TYPE_##type, APPLICATION(measures.name), 1},
#include "sim/metrics.def"
};

#define REQUEST(field) offsetof(struct request_row, field)
static const struct column request_columns[] = {
    {"request", "1", "number in order of arrival", COLUMN_U64, REQUEST(request), 1},
    {"application", "1", "index into the run's attribute 'applications'", COLUMN_U32,
     REQUEST(application), 1},
    {"measured", "1", "0: warm-up", COLUMN_U8, REQUEST(measured), 1},
    {"hit", "1", "1: finished within its SLO", COLUMN_U8, REQUEST(hit), 1},
    {"dropped", "1", "1: given up by the policy or refused by a full queue", COLUMN_U8,
     REQUEST(dropped), 1},
    {"arrival_ns", "ns", "simulated time of arrival", COLUMN_I64, REQUEST(arrival_ns), 1},
    {"finish_ns", "ns", "simulated time at which the last stage ended", COLUMN_I64,
     REQUEST(finish_ns), 1},
    {"slo_ns", "ns", "latency allowed", COLUMN_I64, REQUEST(slo_ns), 1},
    {"queue_ns", "ns", "waiting in queues, summed over its jobs", COLUMN_I64, REQUEST(queue_ns), 1},
    {"transfer_ns", "ns", "input transfer, summed over its jobs", COLUMN_I64, REQUEST(transfer_ns),
     1},
    {"cold_ns", "ns", "waiting for containers to start, summed over its jobs", COLUMN_I64,
     REQUEST(cold_ns), 1},
    {"exec_ns", "ns", "execution, summed over its jobs", COLUMN_I64, REQUEST(exec_ns), 1},
    {"cost_usd", "$", "its share of its batches' execution cost", COLUMN_F64, REQUEST(cost_usd), 1},
    {"noise", "1", "factor (or service time in ms) drawn for each stage; 0 past the last",
     COLUMN_F64, REQUEST(noise), RECORD_MAX_STAGES},
};

#define BATCH(field) offsetof(struct batch_row, field)
static const struct column batch_columns[] = {
    {"batch", "1", "number in order of dispatch", COLUMN_U64, BATCH(batch), 1},
    {"queue", "1", "queue of (application, stage)", COLUMN_U32, BATCH(queue), 1},
    {"application", "1", "index into the run's attribute 'applications'", COLUMN_U32,
     BATCH(application), 1},
    {"stage", "1", "index of the application's stage", COLUMN_U32, BATCH(stage), 1},
    {"invoker", "1", "where it ran", COLUMN_U32, BATCH(invoker), 1},
    {"gpu", "1", "GPU, counted over all invokers; 4294967295: none", COLUMN_U32, BATCH(gpu), 1},
    {"jobs", "1", "jobs in the batch", COLUMN_U32, BATCH(jobs), 1},
    {"configured_batch", "1", "batch size of its configuration", COLUMN_U16,
     BATCH(configured_batch), 1},
    {"vcpu", "1", "vCPUs held", COLUMN_U16, BATCH(vcpu), 1},
    {"vgpu", "1", "GPU units held", COLUMN_U16, BATCH(vgpu), 1},
    {"cold", "1", "1: waited for a container to start", COLUMN_U8, BATCH(cold), 1},
    {"dispatched_ns", "ns", "simulated time of dispatch", COLUMN_I64, BATCH(dispatched_ns), 1},
    {"started_ns", "ns", "simulated time at which execution began", COLUMN_I64, BATCH(started_ns),
     1},
    {"finished_ns", "ns", "simulated time at which execution ended", COLUMN_I64, BATCH(finished_ns),
     1},
    {"slowdown", "1", "execution time / time without interference", COLUMN_F64, BATCH(slowdown), 1},
    {"cost_usd", "$", "execution time x price of what it held", COLUMN_F64, BATCH(cost_usd), 1},
    {"first_request", "1", "request of its oldest job", COLUMN_U64, BATCH(first_request), 1},
    {"container", "1", "that ran it: number in order of creation", COLUMN_U64, BATCH(container), 1},
    {"instance", "1", "that ran it; 4294967295: none. Ids of killed ones are given again",
     COLUMN_U32, BATCH(instance), 1},
    {"configuration", "1", "index of the function's configuration", COLUMN_U32,
     BATCH(configuration), 1},
    {"quota", "%", "of the time for which it may use its GPU units", COLUMN_U8, BATCH(quota), 1},
    {"launched_ns", "ns", "simulated time at which the decision had been taken", COLUMN_I64,
     BATCH(launched_ns), 1},
    {"transfer_ns", "ns", "input transfer, from launched_ns on", COLUMN_I64, BATCH(transfer_ns), 1},
    {"cold_ns", "ns", "waiting for its container to start, after the transfer", COLUMN_I64,
     BATCH(cold_ns), 1},
    {"noise", "1", "factor (or service time in ms) of its oldest job, which it took", COLUMN_F64,
     BATCH(noise), 1},
};

#define JOB(field) offsetof(struct job_row, field)
static const struct column job_columns[] = {
    {"request", "1", "whose stage it is", COLUMN_U64, JOB(request), 1},
    {"batch", "1", "in which it ran", COLUMN_U64, JOB(batch), 1},
    {"queue", "1", "queue of (application, stage)", COLUMN_U32, JOB(queue), 1},
    {"application", "1", "index into the run's attribute 'applications'", COLUMN_U32,
     JOB(application), 1},
    {"stage", "1", "index of the application's stage", COLUMN_U32, JOB(stage), 1},
    {"place", "1", "in the batch, 0: the oldest", COLUMN_U32, JOB(place), 1},
    {"ready_ns", "ns", "simulated time at which it entered its queue", COLUMN_I64, JOB(ready_ns),
     1},
    {"queue_ns", "ns", "waiting from then to the launch of its batch", COLUMN_I64, JOB(queue_ns),
     1},
    {"cold_ns", "ns", "waiting for a container to start", COLUMN_I64, JOB(cold_ns), 1},
    {"cost_usd", "$", "its share of the batch's execution cost", COLUMN_F64, JOB(cost_usd), 1},
};

#define CONTAINER(field) offsetof(struct container_row, field)
static const struct column container_columns[] = {
    {"container", "1", "number in order of creation", COLUMN_U64, CONTAINER(container), 1},
    {"function", "1", "index into the configuration's functions", COLUMN_U32, CONTAINER(function),
     1},
    {"invoker", "1", "where it stands", COLUMN_U32, CONTAINER(invoker), 1},
    {"gpu", "1", "GPU, counted over all invokers; 4294967295: none", COLUMN_U32, CONTAINER(gpu), 1},
    {"phase", "1", "0: starting for nobody or for an instance; 1: idle", COLUMN_U16,
     CONTAINER(phase), 1},
    {"evicted", "1", "1: it was gone at the end of the phase", COLUMN_U16, CONTAINER(evicted), 1},
    {"from_ns", "ns", "simulated time at which the phase began", COLUMN_I64, CONTAINER(from_ns), 1},
    {"until_ns", "ns", "simulated time at which it ended", COLUMN_I64, CONTAINER(until_ns), 1},
};

#define DECISION(field) offsetof(struct decision_row, field)
static const struct column decision_columns[] = {
    {"time_ns", "ns", "simulated time of the decision", COLUMN_I64, DECISION(time_ns), 1},
    {"charged_ns", "ns", "simulated time charged for it", COLUMN_I64, DECISION(charged_ns), 1},
    {"units", "1", "work reported by the policy", COLUMN_U64, DECISION(units), 1},
    {"queue", "1", "queue decided upon; 4294967295: none", COLUMN_U32, DECISION(queue), 1},
    {"queue_length", "1", "jobs waiting there", COLUMN_U32, DECISION(queue_length), 1},
    {"invoker", "1", "where it dispatched; 4294967295: no dispatch", COLUMN_U32, DECISION(invoker),
     1},
    {"configuration", "1", "index of the function's configuration; 4294967295: no dispatch",
     COLUMN_U32, DECISION(configuration), 1},
    {"jobs", "1", "jobs dispatched; 4294967295: no dispatch", COLUMN_U32, DECISION(jobs), 1},
    {"alternatives", "1", "configurations the policy had to choose from", COLUMN_U32,
     DECISION(alternatives), 1},
    {"plan_cost_usd", "$", "cost the policy expected", COLUMN_F64, DECISION(plan_cost_usd), 1},
    {"plan_time_ns", "ns", "time the policy expected", COLUMN_I64, DECISION(plan_time_ns), 1},
    {"batch", "1", "number of the batch dispatched", COLUMN_U64, DECISION(batch), 1},
};

#define TIMELINE(field) offsetof(struct timeline_row, field)
static const struct column timeline_columns[] = {
    {"time_ns", "ns", "simulated time of the sample", COLUMN_I64, TIMELINE(time_ns), 1},
    {"waiting_jobs", "1", "in all queues", COLUMN_U64, TIMELINE(waiting_jobs), 1},
    {"running_batches", "1", "on all invokers", COLUMN_U64, TIMELINE(running_batches), 1},
    {"idle_containers", "1", "warm and unused", COLUMN_U64, TIMELINE(idle_containers), 1},
    {"starting_containers", "1", "in cold start", COLUMN_U64, TIMELINE(starting_containers), 1},
    {"gpu_used", "1", "share of GPU units held", COLUMN_F64, TIMELINE(gpu_used), 1},
    {"vcpu_used", "1", "share of vCPUs held", COLUMN_F64, TIMELINE(vcpu_used), 1},
    {"gpu_memory_used", "1", "share of GPU memory held", COLUMN_F64, TIMELINE(gpu_memory_used), 1},
    {"stranded_vgpu", "1", "share of free GPU units that no waiting batch could use", COLUMN_F64,
     TIMELINE(stranded_vgpu), 1},
};

#define LAYOUT(title, columns, row)                                                                \
    {                                                                                              \
        title, columns, sizeof columns / sizeof columns[0], sizeof(row)                            \
    }

const struct layout layout_summary = LAYOUT("Runs", summary_columns, struct summary_row);
const struct layout layout_applications =
    LAYOUT("Applications of the runs", application_columns, struct application_row);
const struct layout layout_requests = LAYOUT("Requests", request_columns, struct request_row);
const struct layout layout_batches = LAYOUT("Batches", batch_columns, struct batch_row);
const struct layout layout_jobs = LAYOUT("Jobs", job_columns, struct job_row);
const struct layout layout_containers =
    LAYOUT("Containers", container_columns, struct container_row);
const struct layout layout_decisions = LAYOUT("Decisions", decision_columns, struct decision_row);
const struct layout layout_timeline = LAYOUT("Timeline", timeline_columns, struct timeline_row);

double metric_value(const struct metric *metric, const void *block)
{
    const unsigned char *at = (const unsigned char *)block + metric->offset;
    if (metric->type == COLUMN_U64) {
        uint64_t count;
        memcpy(&count, at, sizeof count);
        return (double)count;
    }
    double value;
    memcpy(&value, at, sizeof value);
    return value;
}

static const struct metric *find(const struct metric *table, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

const struct metric *metric_find(const char *name)
{
    return find(metrics, metric_count, name);
}

const struct metric *run_metric_find(const char *name)
{
    return find(run_metrics, run_metric_count, name);
}

void column_copy_text(char *to, size_t capacity, const char *from)
{
    enum { MARK = 9 }; /* "~" and eight digits */
    size_t length = strlen(from);
    memset(to, 0, capacity);
    if (length < capacity) {
        memcpy(to, from, length);
        return;
    }
    size_t kept = capacity - 1 - MARK;
    while (kept > 0 && ((unsigned char)from[kept] & 0xC0U) == 0x80U)
        kept--; /* not through the middle of a UTF-8 character */
    memcpy(to, from, kept);
    unsigned long sum = crc32(0L, (const unsigned char *)from, (unsigned)length);
    (void)snprintf(to + kept, capacity - kept, "~%08lx", sum);
}
