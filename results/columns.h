/* The tables of a results file, column by column.
 *
 * One description of each row's layout serves writing, reading and documentation. The columns of
 * measures follow from sim/metrics.def, so a figure added there appears in the file, in the CSV and
 * in the JSON without another line of code.
 */
#ifndef ESGSIM_RESULTS_COLUMNS_H
#define ESGSIM_RESULTS_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/simulation.h"

enum column_type {
    COLUMN_TEXT,
    COLUMN_U8,
    COLUMN_U16,
    COLUMN_U32,
    COLUMN_U64,
    COLUMN_I64,
    COLUMN_F64
};

struct column {
    const char *name;
    const char *unit; /* "1" for counts and shares, "" for names */
    const char *help;
    enum column_type type;
    size_t offset; /* in the row's structure */
    size_t length; /* text: characters in the file (one less than in memory); others: entries */
    bool later;    /* not in the files of earlier versions, where it is read as 0 or "" */
};

struct layout {
    const char *title;
    const struct column *columns;
    size_t count;
    size_t row_bytes;
};

enum { TEXT_HASH = 16, TEXT_NAME = 64, TEXT_LABEL = 512, TEXT_SHA256 = 64 };

/* A row of /summary: one run. */
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
    uint32_t notices; /* lines of the run's attribute `notices` */
    uint8_t exact_quantiles;
    struct measures measures;
    struct run_measures run;
};

/* A row of /applications: one application of one run. */
struct application_row {
    char hash[TEXT_HASH + 1];
    char application[TEXT_NAME + 1];
    char setting[TEXT_NAME + 1];
    char policy[TEXT_NAME + 1];
    uint64_t seed;
    struct measures measures;
};

extern const struct layout layout_summary, layout_applications;
/* Rows of the detailed record. The request's `noise` column is as long as the experiment's longest
 * application: the layout's own length is RECORD_MAX_STAGES. */
extern const struct layout layout_requests, layout_batches, layout_jobs, layout_decisions,
    layout_containers, layout_timeline;

/* The table of a report in which a metric is a column. */
enum metric_table { METRIC_HIDDEN, METRIC_RESULTS, METRIC_CLUSTER, METRIC_TIME, METRIC_DECISIONS };

/* How the reports show a metric. */
struct metric_column {
    enum metric_table table;
    bool in_text; /* in the text report, too; the HTML page shows every metric that has a table */
    const char *header;
    double scale;
    int digits; /* significant digits of the column's largest value; below 0: −1 − decimals */
};

/* A member of struct measures or struct run_measures. */
struct metric {
    const char *name;
    const char *unit;
    const char *help;
    enum column_type type; /* COLUMN_U64 or COLUMN_F64 */
    size_t offset;
    bool of_run; /* a member of struct run_measures */
    struct metric_column column;
};

/* In the order of metrics.def: those of applications first. */
extern const struct metric metrics[];
extern const size_t metric_count;

/* The metric as a number, from `run` or from `measures`, whichever it is a member of. */
double metric_value(const struct metric *metric, const struct measures *measures,
                    const struct run_measures *run);
/* NULL where there is none of that name. */
const struct metric *metric_find(const char *name);

/* Copy a name into a column of `capacity` bytes, NUL included. A name too long is cut and ends in
 * "~" and eight hexadecimal digits of the whole name's CRC-32, so that two long names stay two. */
void column_copy_text(char *to, size_t capacity, const char *from);

#endif
