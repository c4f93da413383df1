#include "results/store/columns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <zlib.h>

#define METRIC_TYPE_u64 COLUMN_U64
#define METRIC_TYPE_f64 COLUMN_F64
#define METRIC_TYPE_share COLUMN_F64

#define IS_SHARE_u64 false
#define IS_SHARE_f64 false
#define IS_SHARE_share true

/* What several metrics count, and over which time. */
#define REQUESTS "measured requests"
#define SERVED "served requests"
#define WITHIN "requests, warm-up included"
#define HITS "requests in time"
#define JOBS "jobs of measured requests"
#define BATCHES "batches with a measured job"
#define CONTAINERS "containers"
#define INSTANCES "long-lived instances"
#define DECISIONS "decisions"
#define CLUSTER "the whole cluster"
#define TRAININGS "measured trainings"
#define FINISHED_TRAININGS "finished trainings"
#define MEASURED "measured window"
#define ARRIVALS "time of arrivals"

#define MEANING(help, population, window) help " [" population ", " window "]"

#define METRIC_ENTRY(members, scope, type, name, unit)                                             \
#name, unit, METRIC_TYPE_##type, IS_SHARE_##type, offsetof(struct members, name), scope

const struct metric metrics[] = {
#define METRIC(type, name, unit, group, places, face, population, window, help)                    \
    {METRIC_ENTRY(measures, METRIC_OF_APPLICATION, type, name, unit),                              \
     METRIC_##group,                                                                               \
     places,                                                                                       \
     face,                                                                                         \
     population,                                                                                   \
     MEANING(help, population, window)},
#define RUN_METRIC(type, name, unit, group, places, face, population, window, help)                \
    {METRIC_ENTRY(run_measures, METRIC_OF_RUN, type, name, unit),                                  \
     METRIC_##group,                                                                               \
     places,                                                                                       \
     face,                                                                                         \
     population,                                                                                   \
     MEANING(help, population, window)},
#define TRAINING_METRIC(type, name, unit, group, places, face, population, window, help)           \
    {METRIC_ENTRY(training_measures, METRIC_OF_TRAININGS, type, name, unit),                       \
     METRIC_##group,                                                                               \
     places,                                                                                       \
     face,                                                                                         \
     population,                                                                                   \
     MEANING(help, population, window)},
#include "sim/base/metrics.def"
};

const char *const metric_group_titles[METRIC_GROUPS] = {
#define METRIC_GROUP(group, title) title,
#include "sim/base/metrics.def"
};

enum {
    REQUEST_METRICS = 0
#define METRIC(...) +1
#define RUN_METRIC(...) +1
#include "sim/base/metrics.def"
};
const size_t metric_count = REQUEST_METRICS;
const struct metric *const training_metrics = metrics + REQUEST_METRICS;
const size_t training_metric_count = sizeof metrics / sizeof metrics[0] - REQUEST_METRICS;

#define COLUMN_u8 COLUMN_U8
#define COLUMN_u16 COLUMN_U16
#define COLUMN_u32 COLUMN_U32
#define COLUMN_u64 COLUMN_U64
#define COLUMN_f64 COLUMN_F64
#define COLUMN_time COLUMN_I64

/* The column has the name of the row's member. */
#define COLUMN(row, type, name, length, unit, help, later)                                         \
    {#name, unit, help, type, offsetof(struct row, name), length, later},
#define METRIC_COLUMN(row, members, type, name, unit, help)                                        \
    {#name, unit, help, METRIC_TYPE_##type, offsetof(struct row, members.name), 1, false},

#define TEXT_FIELD(row, name, length, help) COLUMN(row, COLUMN_TEXT, name, length, "", help, false)
#define OWN_TEXT TEXT_FIELD
#define LATER_TEXT(row, name, length, help) COLUMN(row, COLUMN_TEXT, name, length, "", help, true)
#define FIELD(row, type, name, unit, help) COLUMN(row, COLUMN_##type, name, 1, unit, help, false)
#define LATER_FIELD(row, type, name, unit, help)                                                   \
    COLUMN(row, COLUMN_##type, name, 1, unit, help, true)
#define FIELDS(row, type, name, most, unit, help)                                                  \
    COLUMN(row, COLUMN_##type, name, most, unit, help, false)

static const struct column summary_row_columns[] = {SUMMARY_COLUMNS
#define METRIC(type, name, unit, group, places, face, population, window, help)                    \
    METRIC_COLUMN(summary_row, measures, type, name, unit, MEANING(help, population, window))
#define RUN_METRIC(type, name, unit, group, places, face, population, window, help)                \
    METRIC_COLUMN(summary_row, run, type, name, unit, MEANING(help, population, window))
#include "sim/base/metrics.def"
};

static const struct column application_row_columns[] = {APPLICATION_COLUMNS
#define METRIC(type, name, unit, group, places, face, population, window, help)                    \
    METRIC_COLUMN(application_row, measures, type, name, unit, MEANING(help, population, window))
#include "sim/base/metrics.def"
};

static const struct column training_summary_row_columns[] = {TRAINING_COLUMNS
#define TRAINING_METRIC(type, name, unit, group, places, face, population, window, help)           \
    METRIC_COLUMN(training_summary_row, measures, type, name, unit,                                \
                  MEANING(help, population, window))
#include "sim/base/metrics.def"
};

static const struct column missing_run_columns[] = {MISSING_COLUMNS};

#define RECORD(row, table, event, level, title) static const struct column row##_columns[] = {
#define TABLE(row, table, title) static const struct column row##_columns[] = {
#define RECORD_END                                                                                 \
    }                                                                                              \
    ;
#include "sim/base/records.def"

#define LAYOUT(row, title, without)                                                                \
    {                                                                                              \
        title, row##_columns, sizeof row##_columns / sizeof row##_columns[0] - (without),          \
            sizeof(struct row), "esgsim run or sweep"                                              \
    }

const struct layout layout_summary = LAYOUT(summary_row, "Runs", 0);
const struct layout layout_applications = LAYOUT(application_row, "Applications of the runs", 0);
const struct layout layout_training = LAYOUT(training_summary_row, "Trainings of the runs", 0);
const struct layout layout_missing = LAYOUT(missing_run, "Runs of the sweep that are missing", 0);
const struct layout layout_unplanned_batches = LAYOUT(batch_row, "Batches", 1);
#define RECORD(row, table, event, level, title)                                                    \
    const struct layout layout_##table = LAYOUT(row, title, 0);
#define TABLE(row, table, title) const struct layout layout_##table = LAYOUT(row, title, 0);
#include "sim/base/records.def"

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

bool metric_is_of_served(const struct metric *metric)
{
    return strcmp(metric->population, SERVED) == 0;
}

bool metric_can_hold(const struct metric *metric, double drop_rate)
{
    return !metric_is_of_served(metric) || drop_rate <= METRIC_NOTABLE;
}

const struct metric *metric_find(const char *name)
{
    for (size_t i = 0; i < metric_count; i++)
        if (strcmp(metrics[i].name, name) == 0)
            return &metrics[i];
    return NULL;
}

double metric_observations(const struct metric *metric, const struct measures *measures,
                           const struct measures *overall, const struct run_measures *run)
{
    const bool of_requests =
        metric->share && metric->scope == METRIC_OF_APPLICATION && run->requests_effective > 0;
    return of_requests
               ? run->requests_effective * (double)measures->requests / (double)overall->requests
               : NAN;
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
