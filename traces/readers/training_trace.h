/* Traces of trainings, gzip or plain, read into an array. traces/README.md describes the layouts.
 */
#ifndef ESGSIM_TRACES_READERS_TRAINING_TRACE_H
#define ESGSIM_TRACES_READERS_TRAINING_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/string_index.h"
#include "sim/base/units.h"

enum {
    TRAINING_MOST_ROWS = 1 << 20,
    TRAINING_MOST_GPUS = 1 << 16,
    TRAINING_NO_MODEL = -1 /* of a row of a layout that names no models */
};

/* What a row of the layout dilu is; all other rows are trainings. */
enum instance_type { INSTANCE_TRAINING, INSTANCE_INFERENCE, INSTANCE_LLM, INSTANCE_TYPES };

/* "training", "inference", "llm-inference", NULL. */
extern const char *const instance_type_names[];

struct arena;
struct line_reader;
struct listing_options;

struct training_row {
    uint64_t id;         /* of the file; the row's number from 0 where the layout has none */
    int32_t model;       /* index into `models`, or TRAINING_NO_MODEL; dilu: of the service */
    uint32_t gpus;       /* >= 1; openb: 0 for vCPUs alone */
    sim_time_t arrival;  /* >= 0 */
    uint64_t iterations; /* >= 1; 0 of a row with a duration */
    double iteration_ms; /* 0: the row gives none */
    double duration_s;   /* time that it ran; INFINITY: no line of dilu ends it; 0: not given */
    int32_t cluster;     /* index into `clusters`, or TRAINING_NO_MODEL; 0 where it has none */
    int32_t gpu_types;   /* index into `gpu_types`, or TRAINING_NO_MODEL: it runs on any GPU */
    enum instance_type type;
    double request, limit; /* dilu, openb: 0 < request <= limit <= 1, of each GPU; 0 otherwise */
    double memory_gb;      /* dilu: on each GPU; 0 otherwise */
    double vcpus, host_gb; /* openb: per GPU, or in all for one without GPUs; 0 otherwise */
};

struct training_trace {
    struct arena *memory; /* of all of it */
    struct training_row *rows;
    size_t count;
    char *notes;                   /* what a user should know, a line each; NULL: nothing */
    struct string_index models;    /* names in order of first use */
    struct string_index clusters;  /* virtual clusters, in order of first use */
    struct string_index gpu_types; /* lists of GPU models, "A|B", in order of first use */
};

/* What a column of a CSV is for. */
enum training_role {
    TRAINING_ROLE_ARRIVAL,
    TRAINING_ROLE_GPUS,
    TRAINING_ROLE_MODEL,
    TRAINING_ROLE_ITERATIONS,
    TRAINING_ROLE_DURATION,
    TRAINING_ROLE_ITERATION,
    TRAINING_ROLE_ID,
    TRAINING_ROLE_CLUSTER,
    TRAINING_ROLE_GPU_TYPES,
    TRAINING_ROLE_START,
    TRAINING_ROLE_END,
    TRAINING_NAMED_ROLES, /* those above; the next are of the layout openb alone */
    TRAINING_ROLE_VCPUS = TRAINING_NAMED_ROLES,
    TRAINING_ROLE_HOST,
    TRAINING_ROLE_SHARE,
    TRAINING_ROLES
};

/* The columns of a table. */
struct training_columns {
    const char *header;                /* of a layout that has none; NULL: the file's first line */
    const char *names[TRAINING_ROLES]; /* by role; NULL: none. Arrival and GPUs are required, and
                                          iterations, a duration or an end. GPUs may be a product,
                                          "a*b", and % behind a factor divides by 100 */
    unsigned optional;                 /* bits of roles whose column a file may lack */
    const char *unit;                  /* of times: one of trace_units */
    const char *duration_unit; /* NULL: the same; beside dates seconds. H:M:S is read, too */
    bool own;                  /* our own layout: further columns are faults, and most may lack */
    bool sort;                 /* arrivals need not ascend */
    bool foreign; /* any file: the same; rows without a GPU or without work, and bad lines, at most
                     1 % of all, are left out */
};

/* What a command says of a file. Zeroed: nothing. */
struct training_source {
    struct line_reader *lines;     /* as that of struct trace_view */
    struct listing_options *table; /* NULL: none */
    const char *from, *until; /* arrivals from, and before, as the file writes them; NULL: any */
};

/* Sets the names of the columns from the list that --columns takes, "arrival=submit,gpus=n,…",
 * which is cut in place. The columns point into it. ERROR_INPUT if it has another form or lacks a
 * required column. */
bool training_columns_parse(char *list, struct training_columns *columns, struct error *error);

/* Names of the layouts, NULL-terminated. */
extern const char *const training_formats[];

/* The layout of a file, recognised by its first line, or by that line itself; NULL if it is none of
 * them. */
const char *training_trace_recognise(const char *path);
const char *training_layout_of(const char *line);

/* Reads a whole trace of at most TRAINING_MOST_ROWS rows. `format` is a name of the table above.
 * NULL with ERROR_INPUT "FILE:LINE: …" for a malformed line, an arrival before the previous one, or
 * no row; ERROR_RUN without memory. The caller frees. O(rows log rows). */
struct training_trace *training_trace_read(const char *path, const char *format,
                                           struct error *error);
/* The same as the view says, and by named columns if these are not NULL. A foreign file is sorted
 * by arrival, then by id, and its first training arrives at time 0. */
struct training_trace *training_trace_read_view(const char *path, const char *format,
                                                const struct training_columns *columns,
                                                const struct training_source *view,
                                                struct error *error);
/* Keeps the trainings of one virtual cluster: numbered from 0, the first arrives at time 0. False
 * with ERROR_INPUT if the trace has no such cluster; the message has the nearest name. O(rows). */
bool training_trace_keep(struct training_trace *trace, const char *path, const char *cluster,
                         struct error *error);
/* Writes it in the layout esgsim, as trace_write does. Shares of a GPU and vCPUs are left out.
 * O(rows).
 */
bool training_trace_write(const struct training_trace *trace, const char *path,
                          struct error *error);
void training_trace_free(struct training_trace *trace); /* NULL is allowed */

#endif
