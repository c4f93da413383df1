/* The columns of every table in a results file.
 *
 * One description of each row's layout is used for writing, reading and documentation. The columns
 * of measures are generated from sim/base/metrics.def, and those of the detailed rows from
 * sim/base/records.def. A metric added there appears in the file, in the CSV and in the JSON
 * without further code.
 */
#ifndef ESGSIM_RESULTS_STORE_COLUMNS_H
#define ESGSIM_RESULTS_STORE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/platform/simulation.h"
#include "workloads/sweep/sweep.h"

enum column_type {
    COLUMN_TEXT,
    COLUMN_U8,
    COLUMN_U16,
    COLUMN_U32,
    COLUMN_U64,
    COLUMN_I32,
    COLUMN_I64,
    COLUMN_F64
};

struct column {
    const char *name;
    const char *unit; /* "1" for counts and fractions, "" for names */
    const char *help;
    enum column_type type;
    size_t offset; /* of the member in the row's struct */
    size_t length; /* text: characters in the file (one less than in memory); other types: array
                      entries */
    bool later;    /* absent from some files; reading such a file gives 0 or "" */
};

struct layout {
    const char *title;
    const struct column *columns;
    size_t count;
    size_t row_bytes;
    const char *writer; /* of such files, for messages */
};

enum { TEXT_HASH = 16, TEXT_NAME = 64, TEXT_LABEL = 512, TEXT_SHA256 = 64 };
enum { TEXT_STATUS = 8, TEXT_MESSAGE = sizeof((struct error *)0)->message - 1 };

/* The columns of a table that are no metrics, in order:
 *   TEXT_FIELD(row, name, length, help) the metadata of that name (results/store/record.h)
 *   OWN_TEXT(row, name, length, help)   another text of that many characters
 *   FIELD, LATER_FIELD                  as in sim/base/records.def
 *   LATER_TEXT(row, name, length, help) a TEXT_FIELD that some files do not have */

/* A row of /summary, one per run. */
#define SUMMARY_COLUMNS                                                                            \
    TEXT_FIELD(summary_row, hash, TEXT_HASH,                                                       \
               "first 16 digits of the SHA-256 of the resolved configuration: the group in /runs") \
    TEXT_FIELD(summary_row, name, TEXT_NAME, "of the experiment")                                  \
    TEXT_FIELD(summary_row, setting, TEXT_NAME, "named row of the sweep's matrix")                 \
    TEXT_FIELD(summary_row, policy, TEXT_NAME, "scheduling policy")                                \
    TEXT_FIELD(                                                                                    \
        summary_row, label, TEXT_LABEL,                                                            \
        "settings of the sweep except the seed: runs with one label differ only in the seed")      \
    FIELD(summary_row, u64, seed, "1",                                                             \
          "of the random streams: equal seeds give equal arrivals and noise")                      \
    FIELD(summary_row, u64, warmup_requests, "1", "requests simulated before the measured ones")   \
    TEXT_FIELD(summary_row, evidence, TEXT_LABEL, "evidence grade of the latency profile")         \
    LATER_TEXT(summary_row, policy_label, TEXT_NAME,                                               \
               "display name that the sweep gives the policy; empty: none")                        \
    LATER_TEXT(summary_row, setting_label, TEXT_NAME,                                              \
               "display name that the sweep gives the setting; empty: none")                       \
    LATER_TEXT(summary_row, policy_sha256, TEXT_SHA256,                                            \
               "of the policy's module (.so); empty: the policy is esgsim's own")                  \
    LATER_FIELD(summary_row, u32, notices, "1",                                                    \
                "warnings and notes about the run: lines of the attribute 'notices' of its group") \
    FIELD(summary_row, u8, exact_quantiles, "1",                                                   \
          "1: percentiles over all samples; 0: within 0.05 %")

/* A row of /applications, one per application and run. */
#define APPLICATION_COLUMNS                                                                        \
    TEXT_FIELD(application_row, hash, TEXT_HASH, "of the run: as in /summary")                     \
    OWN_TEXT(application_row, application, TEXT_NAME, "name of the application")                   \
    TEXT_FIELD(application_row, setting, TEXT_NAME, "named row of the sweep's matrix")             \
    TEXT_FIELD(application_row, policy, TEXT_NAME, "scheduling policy")                            \
    FIELD(application_row, u64, seed, "1", "of the random streams")

/* A row of /training, one per run with trainings. */
#define TRAINING_COLUMNS                                                                           \
    TEXT_FIELD(training_summary_row, hash, TEXT_HASH, "of the run: as in /summary")                \
    TEXT_FIELD(training_summary_row, name, TEXT_NAME, "of the experiment")                         \
    TEXT_FIELD(training_summary_row, setting, TEXT_NAME, "named row of the sweep's matrix")        \
    TEXT_FIELD(training_summary_row, policy, TEXT_NAME, "scheduling policy")                       \
    FIELD(training_summary_row, u64, seed, "1", "of the random streams")

/* Why a run of a sweep is not in its file. */
#define MISSING_FAILED "failed"   /* it ended with an error, and would again */
#define MISSING_NOT_RUN "not run" /* it was not begun, or ended by a signal from outside */

/* A row of /missing, one per run that the sweep should have and the file does not have, in the
 * order of the sweep. */
#define MISSING_COLUMNS                                                                            \
    FIELD(missing_run, u64, position, "1", "index of the run in the sweep")                        \
    TEXT_FIELD(missing_run, setting, TEXT_NAME, "as in /summary")                                  \
    TEXT_FIELD(missing_run, setting_label, TEXT_NAME, "as in /summary")                            \
    TEXT_FIELD(missing_run, policy, TEXT_NAME, "as in /summary")                                   \
    TEXT_FIELD(missing_run, policy_label, TEXT_NAME, "as in /summary")                             \
    TEXT_FIELD(missing_run, label, TEXT_LABEL, "as in /summary")                                   \
    FIELD(missing_run, u64, seed, "1", "of the random streams")                                    \
    OWN_TEXT(missing_run, status, TEXT_STATUS, "failed, or not run")                               \
    OWN_TEXT(missing_run, message, TEXT_MESSAGE,                                                   \
             "the error or signal; empty if the run was not begun")

#define TEXT_FIELD(row, name, length, help) char name[length + 1];
#define OWN_TEXT TEXT_FIELD
#define LATER_TEXT TEXT_FIELD
#define FIELD(row, type, name, unit, help) RECORD_##type name;
#define LATER_FIELD FIELD
struct summary_row {
    SUMMARY_COLUMNS
    struct measures measures;
    struct run_measures run;
};
struct application_row {
    APPLICATION_COLUMNS
    struct measures measures;
};
struct training_summary_row {
    TRAINING_COLUMNS
    struct training_measures measures;
};
struct missing_run {
    MISSING_COLUMNS
};
#undef TEXT_FIELD
#undef OWN_TEXT
#undef LATER_TEXT
#undef FIELD
#undef LATER_FIELD

extern const struct layout layout_summary, layout_applications, layout_training, layout_missing;
/* The tables of sim/base/records.def: layout_requests, layout_batches, … In the file the `noise`
 * column of requests has as many entries as the experiment's longest application has stages. The
 * layout gives the maximum, RECORD_MAX_STAGES. */
#define RECORD(row, table, event, level, title) extern const struct layout layout_##table;
#define TABLE(row, table, title) extern const struct layout layout_##table;
#include "sim/base/records.def"
/* layout_batches without the last column, planned_ms: of a run whose policy plans with the world's
 * times. */
extern const struct layout layout_unplanned_batches;

/* What metrics are about. */
enum metric_group {
#define METRIC_GROUP(group, title) METRIC_##group,
#include "sim/base/metrics.def"
    METRIC_GROUPS
};
extern const char *const metric_group_titles[METRIC_GROUPS];

/* The tables that have a metric as a column; a set. */
enum metric_place {
    NOWHERE = 0,
    IN_RUN = 1,
    IN_DETAILS = 2,
    ON_PAGE = 4,
    IN_REPORT = 8 | ON_PAGE,
    IN_BARE_RUN = 16,
    IF_NOTABLE = 32
};

/* A share of dropped requests above this stands beside whatever is of the served ones alone. */
#define METRIC_NOTABLE 0.005

/* How a metric is shown, wherever it is. */
struct metric_face {
    const char *header; /* of a column: "p95 ms" */
    const char *words;  /* "p95 latency" */
    const char *title;  /* with the unit, of an axis: "p95 latency (ms)" */
    const char *unit;   /* of what is shown: the metric's value times `scale` */
    double scale;
    int digits; /* significant digits of the largest value of a column; below 0: −1 − decimals */
};
#define DECIMALS(n) (-1 - (n))
#define SIGNIFICANT(n) (n)
#define FACE_OF(header, words, title, unit, scale, digits)                                         \
    {                                                                                              \
        header, words, title, unit, scale, digits                                                  \
    }
#define FACE_IN(unit, scale, digits, header, words)                                                \
    FACE_OF(header " " unit, words, words " (" unit ")", unit, scale, digits)
#define FACE_COUNT(header, words) FACE_OF(header, words, words, "", 1, DECIMALS(0))
#define FACE_RATIO(header, words) FACE_OF(header, words, words, "", 1, SIGNIFICANT(4))
#define FACE_PERCENT(header, words) FACE_IN("%", 100, DECIMALS(1), header, words)
#define FACE_US(header, words) FACE_IN("µs", 1, DECIMALS(1), header, words)
#define FACE_MS(header, words) FACE_IN("ms", 1, SIGNIFICANT(4), header, words)
#define FACE_SECONDS(header, words) FACE_IN("s", 1, SIGNIFICANT(4), header, words)
#define FACE_HOURS(header, words) FACE_IN("h", 1.0 / 3600, SIGNIFICANT(4), header, words)
#define FACE_DOLLARS(header, words)                                                                \
    FACE_OF("$ " header, words, words " ($)", "$", 1, SIGNIFICANT(4))
#define FACE_PER_THOUSAND(header, words) FACE_OF(header, words, words, "$", 1000, SIGNIFICANT(4))

/* What a metric is a member of: struct measures, run_measures or training_measures. */
enum metric_scope { METRIC_OF_APPLICATION, METRIC_OF_RUN, METRIC_OF_TRAININGS };

struct metric {
    const char *name;
    const char *unit;
    enum column_type type; /* COLUMN_U64 or COLUMN_F64 */
    bool share;            /* its values are in 0..1, as of slo_hit_rate */
    size_t offset;
    enum metric_scope scope;
    enum metric_group group;
    unsigned places; /* of enum metric_place */
    struct metric_face face;
    const char *population; /* of what it is */
    const char *help;       /* what it is, of what, and over which time */
};

/* In the order of metrics.def: metrics of applications and of runs, then those of trainings, which
 * `metric_count` does not include. */
extern const struct metric metrics[];
extern const size_t metric_count;
extern const struct metric *const training_metrics;
extern const size_t training_metric_count;

/* The metric's value as a number, from the structure that it is a member of. */
double metric_number(const struct metric *metric, const void *members);
/* The same for a metric of metrics.def, from `run` or `measures`, depending on its scope. */
double metric_value(const struct metric *metric, const struct measures *measures,
                    const struct run_measures *run);
/* Returns whether the metric is of served requests alone, so that it can improve by dropping the
 * slow ones. Its limits hold nowhere, and its differences are judged by nobody, where the shares
 * dropped are too large or too unlike. */
bool metric_is_of_served(const struct metric *metric);
/* Returns whether a limit on the metric can hold where that share was dropped. */
bool metric_can_hold(const struct metric *metric, double drop_rate);
/* Returns NULL if there is no metric of applications or runs of that name. */
const struct metric *metric_find(const char *name);

/* Returns how many independent requests the metric of an application (or of all) rests on in a run,
 * of which `overall` has all requests; NAN: it is no share of requests or of their jobs. */
double metric_observations(const struct metric *metric, const struct measures *measures,
                           const struct measures *overall, const struct run_measures *run);
/* share_allows for the metric; true for one that is no share. */
enum { METRIC_FAULT = SHARE_FAULT };
bool metric_allows(const struct metric *metric, double limit, char fault[METRIC_FAULT]);

/* Copies a name into a column of `capacity` bytes, NUL included. A longer name is cut and ends in
 * "~" and the CRC-32 of the whole name (eight hexadecimal digits), so that two long names remain
 * distinct. */
void column_copy_text(char *to, size_t capacity, const char *from);

#endif
