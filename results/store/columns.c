#include "results/store/columns.h"

#include <stdio.h>
#include <string.h>

#include <zlib.h>

#include "sim/backend/worker_backend.h"

#define METRIC_TYPE_u64 COLUMN_U64
#define METRIC_TYPE_f64 COLUMN_F64
#define METRIC_TYPE_share COLUMN_F64

#define IS_SHARE_u64 false
#define IS_SHARE_f64 false
#define IS_SHARE_share true

#define DECIMALS(n) (-1 - (n))
#define SIGNIFICANT(n) (n)
#define HIDDEN                                                                                     \
    {                                                                                              \
        .table = METRIC_HIDDEN, .scale = 1                                                         \
    }
#define SHOWN(table, header, scale, digits)                                                        \
    {                                                                                              \
        METRIC_##table, true, header, scale, digits                                                \
    }
#define ON_PAGE(table, header, scale, digits)                                                      \
    {                                                                                              \
        METRIC_##table, false, header, scale, digits                                               \
    }

#define METRIC_ENTRY(members, scope, type, name, unit, help)                                       \
#name, unit, help, METRIC_TYPE_##type, offsetof(struct members, name), scope

const struct metric metrics[] = {
#define METRIC(type, name, unit, column, help)                                                     \
    {METRIC_ENTRY(measures, METRIC_OF_APPLICATION, type, name, unit, help), column,                \
     IS_SHARE_##type},
#define RUN_METRIC(type, name, unit, column, help)                                                 \
    {METRIC_ENTRY(run_measures, METRIC_OF_RUN, type, name, unit, help), column, IS_SHARE_##type},
#define TRAINING_METRIC(type, name, unit, column, help)                                            \
    {METRIC_ENTRY(training_measures, METRIC_OF_TRAININGS, type, name, unit, help), column,         \
     IS_SHARE_##type},
#include "sim/base/metrics.def"
};

enum {
    REQUEST_METRICS = 0
#define METRIC(type, name, unit, column, help) +1
#define RUN_METRIC(type, name, unit, column, help) +1
#include "sim/base/metrics.def"
};
const size_t metric_count = REQUEST_METRICS;
const struct metric *const training_metrics = metrics + REQUEST_METRICS;
const size_t training_metric_count = sizeof metrics / sizeof metrics[0] - REQUEST_METRICS;

/* The column has the name of the row's field. */
#define ENTRY(row, type, field, length, unit, help, later)                                         \
    {                                                                                              \
#field, unit, help, COLUMN_##type, offsetof(struct row, field), length, later              \
    }
#define ENTRIES(row, type, field, length, unit, help)                                              \
    ENTRY(row, type, field, length, unit, help, false)
#define COLUMN(row, type, field, unit, help) ENTRIES(row, type, field, 1, unit, help)
#define TEXT(row, field, length, help) ENTRIES(row, TEXT, field, length, "", help)

static const struct column summary_columns[] = {
    TEXT(summary_row, hash, TEXT_HASH,
         "first 16 digits of the SHA-256 of the resolved configuration: the group in /runs"),
    TEXT(summary_row, name, TEXT_NAME, "of the experiment"),
    TEXT(summary_row, setting, TEXT_NAME, "named row of the sweep's matrix"),
    TEXT(summary_row, policy, TEXT_NAME, "scheduling policy"),
    TEXT(summary_row, label, TEXT_LABEL,
         "settings of the sweep except the seed: runs with one label differ only in the seed"),
    COLUMN(summary_row, U64, seed, "1",
           "of the random streams: equal seeds give equal arrivals and noise"),
    COLUMN(summary_row, U64, warmup_requests, "1", "requests simulated before the measured ones"),
    TEXT(summary_row, evidence, TEXT_NAME, "evidence grade of the latency profile"),
    ENTRY(summary_row, TEXT, policy_label, TEXT_NAME, "",
          "display name that the sweep gives the policy; empty: none", true),
    ENTRY(summary_row, TEXT, setting_label, TEXT_NAME, "",
          "display name that the sweep gives the setting; empty: none", true),
    ENTRY(summary_row, TEXT, policy_sha256, TEXT_SHA256, "",
          "of the policy's module (.so); empty: the policy is esgsim's own", true),
    ENTRY(summary_row, U32, notices, 1, "1",
          "warnings and notes about the run: lines of the attribute 'notices' of its group", true),
    COLUMN(summary_row, U8, exact_quantiles, "1",
           "1: percentiles over all samples; 0: within 0.05 %"),
#define METRIC(type, name, unit, column, help)                                                     \
    {#name, unit, help, METRIC_TYPE_##type, offsetof(struct summary_row, measures.name), 1, false},
#define RUN_METRIC(type, name, unit, column, help)                                                 \
    {#name, unit, help, METRIC_TYPE_##type, offsetof(struct summary_row, run.name), 1, false},
#include "sim/base/metrics.def"
};

static const struct column application_columns[] = {
    TEXT(application_row, hash, TEXT_HASH, "of the run: as in /summary"),
    TEXT(application_row, application, TEXT_NAME, "name of the application"),
    TEXT(application_row, setting, TEXT_NAME, "named row of the sweep's matrix"),
    TEXT(application_row, policy, TEXT_NAME, "scheduling policy"),
    COLUMN(application_row, U64, seed, "1", "of the random streams"),
#define METRIC(type, name, unit, column, help)                                                     \
    {#name, unit, help, METRIC_TYPE_##type, offsetof(struct application_row, measures.name),       \
     1,     false},
#include "sim/base/metrics.def"
};

static const struct column request_columns[] = {
    COLUMN(request_row, U64, request, "1", "number in order of arrival"),
    COLUMN(request_row, U32, application, "1", "index into the run's attribute 'applications'"),
    COLUMN(request_row, U8, measured, "1", "0: warm-up"),
    COLUMN(request_row, U8, hit, "1", "1: finished within its SLO"),
    COLUMN(request_row, U8, dropped, "1", "1: dropped by the policy or rejected by a full queue"),
    COLUMN(request_row, I64, arrival_ns, "ns", "simulated time of arrival"),
    COLUMN(request_row, I64, finish_ns, "ns", "simulated time at which the last stage ended"),
    COLUMN(request_row, I64, slo_ns, "ns", "latency allowed"),
    COLUMN(request_row, I64, queue_ns, "ns", "waiting in queues, summed over its jobs"),
    COLUMN(request_row, I64, transfer_ns, "ns", "input transfer, summed over its jobs"),
    COLUMN(request_row, I64, cold_ns, "ns",
           "waiting for containers to start, summed over its jobs"),
    COLUMN(request_row, I64, exec_ns, "ns", "execution, summed over its jobs"),
    COLUMN(request_row, F64, cost_usd, "$", "its share of its batches' execution cost"),
    ENTRIES(request_row, F64, noise, RECORD_MAX_STAGES, "1",
            "factor (or service time in ms) drawn for each stage; 0 past the last"),
};

static const struct column batch_columns[] = {
    COLUMN(batch_row, U64, batch, "1", "number in order of dispatch"),
    COLUMN(batch_row, U32, queue, "1", "queue of (application, stage)"),
    COLUMN(batch_row, U32, application, "1", "index into the run's attribute 'applications'"),
    COLUMN(batch_row, U32, stage, "1", "index of the application's stage"),
    COLUMN(batch_row, U32, invoker, "1", "invoker that executed it"),
    COLUMN(batch_row, U32, gpu, "1", "GPU, counted over all invokers; 4294967295: none"),
    COLUMN(batch_row, U32, jobs, "1", "jobs in the batch"),
    COLUMN(batch_row, U16, configured_batch, "1", "batch size of its configuration"),
    COLUMN(batch_row, U16, vcpu, "1", "vCPUs held"),
    COLUMN(batch_row, U16, vgpu, "1", "GPU units held"),
    COLUMN(batch_row, U8, cold, "1", "1: waited for a container to start"),
    COLUMN(batch_row, I64, dispatched_ns, "ns", "simulated time of dispatch"),
    COLUMN(batch_row, I64, started_ns, "ns", "simulated time at which execution began"),
    COLUMN(batch_row, I64, finished_ns, "ns", "simulated time at which execution ended"),
    COLUMN(batch_row, F64, slowdown, "1", "execution time / time without interference"),
    COLUMN(batch_row, F64, cost_usd, "$", "execution time x price of its resources"),
    COLUMN(batch_row, U64, first_request, "1", "request of its oldest job"),
    COLUMN(batch_row, U64, container, "1",
           "container that executed it, numbered in order of creation"),
    COLUMN(batch_row, U32, instance, "1",
           "instance that executed it; 4294967295: none. Ids of killed instances are reused"),
    COLUMN(batch_row, U32, configuration, "1", "index of the function's configuration"),
    COLUMN(batch_row, U8, quota, "%", "fraction of time for which it may use its GPU units"),
    COLUMN(batch_row, I64, launched_ns, "ns",
           "simulated time at which the decision had been taken"),
    COLUMN(batch_row, I64, transfer_ns, "ns", "input transfer, from launched_ns on"),
    COLUMN(batch_row, I64, cold_ns, "ns", "waiting for its container to start, after the transfer"),
    COLUMN(batch_row, F64, noise, "1",
           "factor (or service time in ms) of its oldest job, which it used"),
    ENTRY(batch_row, F64, planned_ms, 1, "ms",
          "execution time that the policy could expect; only where the experiment has 'planning'",
          true),
};

static const struct column job_columns[] = {
    COLUMN(job_row, U64, request, "1", "request of the job"),
    COLUMN(job_row, U64, batch, "1", "batch that executed it"),
    COLUMN(job_row, U32, queue, "1", "queue of (application, stage)"),
    COLUMN(job_row, U32, application, "1", "index into the run's attribute 'applications'"),
    COLUMN(job_row, U32, stage, "1", "index of the application's stage"),
    COLUMN(job_row, U32, place, "1", "in the batch, 0: the oldest"),
    COLUMN(job_row, I64, ready_ns, "ns", "simulated time at which it entered its queue"),
    COLUMN(job_row, I64, queue_ns, "ns", "waiting from then to the launch of its batch"),
    COLUMN(job_row, I64, cold_ns, "ns", "waiting for a container to start"),
    COLUMN(job_row, F64, cost_usd, "$", "its share of the batch's execution cost"),
};

static const struct column container_columns[] = {
    COLUMN(container_row, U64, container, "1", "number in order of creation"),
    COLUMN(container_row, U32, function, "1", "index into the configuration's functions"),
    COLUMN(container_row, U32, invoker, "1", "its invoker"),
    COLUMN(container_row, U32, gpu, "1", "GPU, counted over all invokers; 4294967295: none"),
    COLUMN(container_row, U16, phase, "1", "0: starting for nobody or for an instance; 1: idle"),
    COLUMN(container_row, U16, evicted, "1", "1: evicted at the end of the phase"),
    COLUMN(container_row, I64, from_ns, "ns", "simulated time at which the phase began"),
    COLUMN(container_row, I64, until_ns, "ns", "simulated time at which it ended"),
};

static const struct column decision_columns[] = {
    COLUMN(decision_row, I64, time_ns, "ns", "simulated time of the decision"),
    COLUMN(decision_row, I64, charged_ns, "ns", "simulated time charged for it"),
    COLUMN(decision_row, U64, units, "1", "work reported by the policy"),
    COLUMN(decision_row, U32, queue, "1", "queue of the decision; 4294967295: none"),
    COLUMN(decision_row, U32, queue_length, "1", "jobs waiting there"),
    COLUMN(decision_row, U32, invoker, "1", "invoker of the batch; 4294967295: no dispatch"),
    COLUMN(decision_row, U32, configuration, "1",
           "index of the function's configuration; 4294967295: no dispatch"),
    COLUMN(decision_row, U32, jobs, "1", "jobs dispatched; 4294967295: no dispatch"),
    COLUMN(decision_row, U32, alternatives, "1", "configurations the policy had to choose from"),
    COLUMN(decision_row, F64, plan_cost_usd, "$", "cost the policy expected"),
    COLUMN(decision_row, I64, plan_time_ns, "ns", "time the policy expected"),
    COLUMN(decision_row, U64, batch, "1", "number of the batch dispatched"),
};

static const struct column timeline_columns[] = {
    COLUMN(timeline_row, I64, time_ns, "ns", "simulated time of the sample"),
    COLUMN(timeline_row, U64, waiting_jobs, "1", "in all queues"),
    COLUMN(timeline_row, U64, running_batches, "1", "on all invokers"),
    COLUMN(timeline_row, U64, idle_containers, "1", "warm and unused"),
    COLUMN(timeline_row, U64, starting_containers, "1", "in cold start"),
    COLUMN(timeline_row, F64, gpu_used, "1", "share of GPU units held"),
    COLUMN(timeline_row, F64, vcpu_used, "1", "share of vCPUs held"),
    COLUMN(timeline_row, F64, gpu_memory_used, "1", "share of GPU memory held"),
    COLUMN(timeline_row, F64, stranded_vgpu, "1",
           "share of free GPU units that no waiting batch could use"),
};

static const struct column missing_columns[] = {
    COLUMN(missing_run, U64, position, "1", "index of the run in the sweep"),
    TEXT(missing_run, setting, TEXT_NAME, "as in /summary"),
    TEXT(missing_run, setting_label, TEXT_NAME, "as in /summary"),
    TEXT(missing_run, policy, TEXT_NAME, "as in /summary"),
    TEXT(missing_run, policy_label, TEXT_NAME, "as in /summary"),
    TEXT(missing_run, label, TEXT_LABEL, "as in /summary"),
    COLUMN(missing_run, U64, seed, "1", "of the random streams"),
    TEXT(missing_run, status, TEXT_STATUS, "failed, or not run"),
    TEXT(missing_run, message, TEXT_MESSAGE, "the error or signal; empty if the run was not begun"),
};

static const struct column training_columns[] = {
    TEXT(training_summary_row, hash, TEXT_HASH, "of the run: as in /summary"),
    TEXT(training_summary_row, name, TEXT_NAME, "of the experiment"),
    TEXT(training_summary_row, setting, TEXT_NAME, "named row of the sweep's matrix"),
    TEXT(training_summary_row, policy, TEXT_NAME, "scheduling policy"),
    COLUMN(training_summary_row, U64, seed, "1", "of the random streams"),
#define TRAINING_METRIC(type, name, unit, column, help)                                            \
    {#name, unit, help, METRIC_TYPE_##type, offsetof(struct training_summary_row, measures.name),  \
     1,     false},
#include "sim/base/metrics.def"
};

static const struct column trainings_columns[] = {
    COLUMN(training_result_row, U64, training, "1", "number in order of arrival"),
    COLUMN(training_result_row, U64, id, "1", "of the trace"),
    COLUMN(training_result_row, U32, model, "1", "index into the file of models"),
    COLUMN(training_result_row, U32, gpus, "1", "size of its gang"),
    COLUMN(training_result_row, U8, measured, "1", "0: outside \"measured\""),
    COLUMN(training_result_row, U8, finished, "1", "1: made all its iterations"),
    COLUMN(training_result_row, U32, restarts, "1",
           "starts at another place, or after an interruption"),
    COLUMN(training_result_row, U64, iterations, "1", "that it has to make"),
    COLUMN(training_result_row, I64, arrival_ns, "ns", "simulated time of arrival"),
    COLUMN(training_result_row, I64, start_ns, "ns", "of its first placement; -1: never"),
    COLUMN(training_result_row, I64, finish_ns, "ns", "of its last iteration; -1: never"),
    COLUMN(training_result_row, I64, held_ns, "ns", "time for which it held a gang"),
    COLUMN(training_result_row, I64, restart_ns, "ns", "of that, in restarts"),
    COLUMN(training_result_row, F64, alone_s, "s",
           "that its iterations take alone at the proportional share"),
    COLUMN(training_result_row, F64, slowdown, "1", "completion time / alone_s"),
    COLUMN(training_result_row, F64, ftf_rho, "1",
           "slowdown / max(1, mean of the GPUs demanded while it was present / GPUs)"),
};

static const struct column lease_columns[] = {
    COLUMN(lease_row, U64, training, "1", "number in order of arrival"),
    COLUMN(lease_row, U64, id, "1", "of the trace"),
    COLUMN(lease_row, U32, gpus, "1", "size of the gang"),
    COLUMN(lease_row, U32, invokers, "1", "that it lay on"),
    COLUMN(lease_row, U32, first_invoker, "1", "of its first GPU"),
    COLUMN(lease_row, U32, first_gpu, "1", "its first GPU, counted over all invokers"),
    COLUMN(lease_row, I64, from_ns, "ns", "simulated time of the placement"),
    COLUMN(lease_row, I64, until_ns, "ns", "simulated time at which the gang was free again"),
    COLUMN(lease_row, I64, restart_ns, "ns", "restart at its beginning, without progress"),
    COLUMN(lease_row, F64, units, "1", "GPU units held, over the gang"),
    COLUMN(lease_row, F64, vcpus, "1", "vCPUs held"),
    COLUMN(lease_row, F64, memory_mb, "MB", "host memory held"),
    COLUMN(lease_row, F64, iterations, "1", "made; with whole iterations: before rounding down"),
};

static const struct column replay_columns[] = {
    COLUMN(replay_row, U64, batch, "1", "number of the batch, as in batches"),
    COLUMN(replay_row, U32, function, "1", "index in the workload"),
    COLUMN(replay_row, U32, configuration, "1", "index in the function's configurations"),
    COLUMN(replay_row, U32, jobs, "1", "in it"),
    COLUMN(replay_row, U32, units, "1", "bit set of the GPU's units that it had"),
    COLUMN(replay_row, U32, copy, "1", "its container"),
    COLUMN(replay_row, I64, modelled_ns, "ns", "duration by the model"),
    COLUMN(replay_row, I64, due_ns, "ns", "when the controller should have started it"),
    COLUMN(replay_row, I64, asked_ns, "ns", "when it did"),
    COLUMN(replay_row, I64, placed_ns, "ns", "when it had its units"),
    COLUMN(replay_row, I64, begun_ns, "ns", "when the worker was told"),
    COLUMN(replay_row, I64, ended_ns, "ns", "when the worker's answer was read"),
    COLUMN(replay_row, F64, device_ms, "ms", "duration by the worker"),
};

#define LAYOUT(title, columns, row)                                                                \
    {                                                                                              \
        title, columns, sizeof columns / sizeof columns[0], sizeof(row), "esgsim run or sweep"     \
    }

const struct layout layout_summary = LAYOUT("Runs", summary_columns, struct summary_row);
const struct layout layout_applications =
    LAYOUT("Applications of the runs", application_columns, struct application_row);
const struct layout layout_requests = LAYOUT("Requests", request_columns, struct request_row);
const struct layout layout_batches = LAYOUT("Batches", batch_columns, struct batch_row);
const struct layout layout_unplanned_batches = {"Batches", batch_columns,
                                                sizeof batch_columns / sizeof batch_columns[0] - 1,
                                                sizeof(struct batch_row), "esgsim run or sweep"};
const struct layout layout_jobs = LAYOUT("Jobs", job_columns, struct job_row);
const struct layout layout_containers =
    LAYOUT("Containers", container_columns, struct container_row);
const struct layout layout_decisions = LAYOUT("Decisions", decision_columns, struct decision_row);
const struct layout layout_timeline = LAYOUT("Timeline", timeline_columns, struct timeline_row);

const struct layout layout_missing =
    LAYOUT("Runs of the sweep that are missing", missing_columns, struct missing_run);
const struct layout layout_training =
    LAYOUT("Trainings of the runs", training_columns, struct training_summary_row);
const struct layout layout_trainings =
    LAYOUT("Trainings", trainings_columns, struct training_result_row);
const struct layout layout_leases = LAYOUT("Leases", lease_columns, struct lease_row);
const struct layout layout_replay =
    LAYOUT("Batches by the worker", replay_columns, struct replay_row);

double metric_number(const struct metric *metric, const void *members)
{
    const unsigned char *at = (const unsigned char *)members + metric->offset;
    if (metric->type == COLUMN_U64) {
        uint64_t count;
        memcpy(&count, at, sizeof count);
        return (double)count;
    }
    double value;
    memcpy(&value, at, sizeof value);
    return value;
}

double metric_value(const struct metric *metric, const struct measures *measures,
                    const struct run_measures *run)
{
    return metric_number(metric, metric->scope == METRIC_OF_RUN ? (const void *)run
                                                                : (const void *)measures);
}

const struct metric *metric_find(const char *name)
{
    for (size_t i = 0; i < metric_count; i++)
        if (strcmp(metrics[i].name, name) == 0)
            return &metrics[i];
    return NULL;
}

bool metric_is_share(const struct metric *metric)
{
    return metric->share;
}

bool metric_allows(const struct metric *metric, double limit, char fault[METRIC_FAULT])
{
    return !metric->share || share_allows(metric->name, limit, fault);
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
        kept--; /* does not split a UTF-8 character */
    memcpy(to, from, kept);
    unsigned long sum = crc32(0L, (const unsigned char *)from, (unsigned)length);
    (void)snprintf(to + kept, capacity - kept, "~%08lx", sum);
}
