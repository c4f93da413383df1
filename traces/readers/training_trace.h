/* Traces of trainings in their original layouts, gzip or plain, read into an array.
 *
 * | format  | layout                                                                           |
 * |---------|----------------------------------------------------------------------------------|
 * | synergy | CSV without header: id, model, arrival [s], iterations, GPUs                     |
 * | muri    | CSV with header: job_id, num_gpu, submit_time [ms], iterations, model_name, …,   |
 * |         | iteration_time [ms], …; columns are found by name                                |
 * | gavel   | tabs: type, command, option, data flag, steps, arrival [s], GPUs                 |
 * | philly  | CSV `timestamp,duration,num_gpus,gpu_time,cluster`; names no model               |
 *
 * A row of Muri's traces has its own iteration time. As in Muri's simulator it is multiplied by
 * 1.015, the cost of the framework (simulator/jobs.py:203-214, Rivendile/Muri at 4e69a78).
 *
 * Arrivals must ascend. The philly layout is the exception: its published file joins clusters one
 * after the other, so its rows are sorted by time stamp (stable), and the first arrival is time 0.
 * Time stamps have no time zone and are read as UTC. In all other layouts the times of the file are
 * kept.
 */
#ifndef ESGSIM_TRACES_READERS_TRAINING_TRACE_H
#define ESGSIM_TRACES_READERS_TRAINING_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/error.h"
#include "sim/units.h"
#include "traces/profile/string_index.h"

enum {
    TRAINING_MOST_ROWS = 1 << 20,
    TRAINING_MOST_GPUS = 1 << 16,
    TRAINING_NO_MODEL = -1 /* of a row of a layout that names no models */
};

struct training_row {
    uint64_t id;         /* of the file; the row's number from 0 where the layout has none */
    int32_t model;       /* index into `models`, or TRAINING_NO_MODEL */
    uint32_t gpus;       /* >= 1 */
    sim_time_t arrival;  /* >= 0 */
    uint64_t iterations; /* >= 1; 0 for philly */
    double iteration_s;  /* muri: with the factor 1.015; 0 otherwise */
    double duration_s;   /* philly: time that the training ran; 0 otherwise */
    int32_t cluster;     /* philly: index into `clusters`; 0 otherwise */
};

struct training_trace {
    struct training_row *rows;
    size_t count;
    struct string_index models;   /* names in order of first use */
    struct string_index clusters; /* philly: virtual clusters, in order of first use */
};

/* Names of the layouts, NULL-terminated. */
extern const char *const training_formats[];

/* The layout of a file, recognised by its first line; NULL if it is none of them. */
const char *training_trace_recognise(const char *path);

/* Reads a whole trace of at most TRAINING_MOST_ROWS rows. `format` is a name of the table above.
 * NULL with ERROR_INPUT "FILE:LINE: …" for a malformed line, an arrival before the previous one, or
 * no row; ERROR_RUN without memory. The caller frees. O(rows log rows). */
struct training_trace *training_trace_read(const char *path, const char *format,
                                           struct error *error);
/* Keeps the trainings of one virtual cluster: numbered from 0, the first arrives at time 0. False
 * with ERROR_INPUT if the trace has no such cluster; the message has the nearest name. O(rows). */
bool training_trace_keep(struct training_trace *trace, const char *path, const char *cluster,
                         struct error *error);
void training_trace_free(struct training_trace *trace); /* NULL is allowed */

#endif
