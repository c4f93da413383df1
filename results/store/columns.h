/* The columns of every table in a results file.
 *
 * One description of each row's layout is used for writing, reading and documentation. The columns
 * of measures are generated from sim/base/metrics.def. A metric added there appears in the
 * file, in the CSV and in the JSON without further code.
 */
#ifndef ESGSIM_RESULTS_STORE_COLUMNS_H
#define ESGSIM_RESULTS_STORE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/platform/simulation.h"
#include "workloads/experiment.h"

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

/* A row of /summary, one per run. */
struct summary_row {
    char hash[TEXT_HASH + 1];
    char name[TEXT_NAME + 1];
    char setting[TEXT_NAME + 1];
    char policy[TEXT_NAME + 1];
    char label[TEXT_LABEL + 1];
    uint64_t seed;
    uint64_t warmup_requests;
    char evidence[TEXT_NAME + 1];
    char policy_label[TEXT_NAME + 1];
    char setting_label[TEXT_NAME + 1];
    char policy_sha256[TEXT_SHA256 + 1];
    uint32_t notices; /* lines in the run's attribute `notices` */
    uint8_t exact_quantiles;
    struct measures measures;
    struct run_measures run;
};

/* A row of /applications, one per application and run. */
struct application_row {
    char hash[TEXT_HASH + 1];
    char application[TEXT_NAME + 1];
    char setting[TEXT_NAME + 1];
    char policy[TEXT_NAME + 1];
    uint64_t seed;
    struct measures measures;
};

/* A row of /training, one per run with trainings. */
struct training_summary_row {
    char hash[TEXT_HASH + 1];
    char name[TEXT_NAME + 1];
    char setting[TEXT_NAME + 1];
    char policy[TEXT_NAME + 1];
    uint64_t seed;
    struct training_measures measures;
};

/* Why a run of a sweep is not in its file. */
#define MISSING_FAILED "failed"   /* it ended with an error, and would again */
#define MISSING_NOT_RUN "not run" /* it was not begun, or ended by a signal from outside */

enum { TEXT_STATUS = 8, TEXT_MESSAGE = 256 };

/* A row of /missing, one per run that the sweep should have and the file does not have, in the
 * order of the sweep. The texts are as in struct summary_row. */
struct missing_run {
    uint64_t position; /* index in the sweep */
    char setting[TEXT_NAME + 1];
    char setting_label[TEXT_NAME + 1];
    char policy[TEXT_NAME + 1];
    char policy_label[TEXT_NAME + 1];
    char label[TEXT_LABEL + 1];
    uint64_t seed;
    char status[TEXT_STATUS + 1];   /* MISSING_FAILED or MISSING_NOT_RUN */
    char message[TEXT_MESSAGE + 1]; /* the error or signal; "" if it was not begun */
};

extern const struct layout layout_missing;
extern const struct layout layout_summary, layout_applications, layout_training;
/* Rows of the detailed record. In the file the `noise` column of requests has as many entries as
 * the experiment's longest application has stages. The layout gives the maximum, RECORD_MAX_STAGES.
 */
extern const struct layout layout_requests, layout_batches, layout_jobs, layout_decisions,
    layout_containers, layout_timeline, layout_trainings, layout_leases, layout_replay;
/* Without the last column, planned_ms: of a run whose policy plans with the world's times. */
extern const struct layout layout_unplanned_batches;

/* The table of a report that shows a metric. */
enum metric_table {
    METRIC_HIDDEN,
    METRIC_RESULTS,
    METRIC_CLUSTER,
    METRIC_TIME,
    METRIC_DECISIONS,
    METRIC_TRAININGS,
    METRIC_GANGS
};

/* Presentation of a metric in reports. */
struct metric_column {
    enum metric_table table;
    bool in_text; /* also in the text report; the HTML page shows every metric that has a table */
    const char *header;
    double scale;
    int digits; /* significant digits of the column's largest value; below 0: −1 − decimals */
};

/* What a metric is a member of: struct measures, run_measures or training_measures. */
enum metric_scope { METRIC_OF_APPLICATION, METRIC_OF_RUN, METRIC_OF_TRAININGS };

struct metric {
    const char *name;
    const char *unit;
    const char *help;
    enum column_type type; /* COLUMN_U64 or COLUMN_F64 */
    size_t offset;
    enum metric_scope scope;
    struct metric_column column;
    bool share; /* its values are in 0..1 */
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
/* Returns NULL if there is no metric of applications or runs of that name. */
const struct metric *metric_find(const char *name);

/* Returns whether the metric is a share of 0..1, such as slo_hit_rate. */
bool metric_is_share(const struct metric *metric);
/* share_allows for the metric; true for one that is no share. */
enum { METRIC_FAULT = SHARE_FAULT };
bool metric_allows(const struct metric *metric, double limit, char fault[METRIC_FAULT]);

/* Copies a name into a column of `capacity` bytes, NUL included. A longer name is cut and ends in
 * "~" and the CRC-32 of the whole name (eight hexadecimal digits), so that two long names remain
 * distinct. */
void column_copy_text(char *to, size_t capacity, const char *from);

#endif
