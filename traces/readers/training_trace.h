/* Traces of trainings in their original layouts, gzip or plain, read into an array.
 *
 * | format  | layout                                                                           |
 * |---------|----------------------------------------------------------------------------------|
 * | synergy | CSV without header: id, model, arrival [s], iterations, GPUs                     |
 * | muri    | CSV with header: job_id, num_gpu, submit_time [ms], iterations, model_name, …,   |
 * |         | iteration_time [ms], …; columns are found by name                                |
 * | gavel   | tabs: type, command, option, data flag, steps, arrival [s], GPUs                 |
 * | philly  | CSV `timestamp,duration,num_gpus,gpu_time,cluster`; names no model               |
 * | dilu    | starts and ends of instances and trainings, a Python dictionary per line          |
 * | openb   | CSV with header: pods of Alibaba's GPU trace of 2023, name,cpu_milli,memory_mib,… |
 *
 * A row of Muri's traces has its own iteration time. A pod of the layout openb is a training that
 * never ends: it asks for gpu_milli thousandths of each of num_gpu GPUs, or for vCPUs alone. Its
 * column gpu_spec must be empty, because placement by GPU model is not modelled.
 *
 * Arrivals must ascend. The layouts philly and openb are exceptions: their published files are not
 * in order, so their rows are sorted by arrival (stable), and the first arrival is time 0.
 * Time stamps have no time zone and are read as UTC. In all other layouts the times of the file are
 * kept.
 *
 * A line of the layout dilu (scheduling/simulations/workload/ of sigserverless/Dilu at 1134655) is
 *
 *     {'Time': '2024-06-19 15:46:09', 'Action': 'start', 'Instance': {'service_name': 'a', 'type':
 *     'training', 'gpu_num': 2, 'sm_requests': 0.55, 'sm_limits': 0.81, 'memory': [30, 30]}}
 *
 * without the line break, and with these spaces. The action is start or delete; the type training,
 * inference or llm-inference. Request and limit are parts of a GPU, the memory is in GB on each
 * GPU. A start becomes a row; a delete ends all running instances of its service, as in the
 * authors' simulation, and repeats what the start gives. Time 0 is the first line's. Lines of one
 * second keep their order: each is a microsecond after the line before it.
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

struct training_row {
    uint64_t id;         /* of the file; the row's number from 0 where the layout has none */
    int32_t model;       /* index into `models`, or TRAINING_NO_MODEL; dilu: of the service */
    uint32_t gpus;       /* >= 1; openb: 0 for vCPUs alone */
    sim_time_t arrival;  /* >= 0 */
    uint64_t iterations; /* >= 1; 0 for philly */
    double iteration_ms; /* muri; 0 otherwise */
    double duration_s; /* philly, dilu: time that it ran; INFINITY: no line ends it; 0 otherwise */
    int32_t cluster;   /* philly: index into `clusters`; 0 otherwise */
    enum instance_type type;
    double request, limit; /* dilu, openb: 0 < request <= limit <= 1, of each GPU; 0 otherwise */
    double memory_gb;      /* dilu: on each GPU; 0 otherwise */
    double vcpus, host_gb; /* openb: per GPU, or in all for one without GPUs; 0 otherwise */
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
