/* What the files of the measuring device share with each other and with nobody else. */
#ifndef ESGSIM_TRACES_CAPTURE_MEASURE_MEASURE_PARTS_H
#define ESGSIM_TRACES_CAPTURE_MEASURE_MEASURE_PARTS_H

#include <stdio.h>

#include "traces/capture/measure/measure.h"
#include "traces/capture/executor/stopwatch.h"

enum { RIG_LANES = 64, RIG_CACHE = 256, RIG_SEED = 1 };

/* A network at a batch. */
struct rig_executor {
    size_t network;
    int batch;
    bool half;
    unsigned long used; /* when last */
    struct graph *graph;
    struct executor *executor;
};

/* The device with the lanes and executors that points have in common. */
struct rig {
    struct device device;
    struct {
        uint64_t groups;
        struct partition_stream lane;
    } lanes[RIG_LANES];
    size_t lane_count;
    struct rig_executor cache[RIG_CACHE];
    size_t cached;
    unsigned long clock, kept;  /* executors used after `kept` are not dropped */
    bool cuda_graphs;           /* inferences are launched as CUDA graphs */
    long long process_bytes[2]; /* of a context and of the libraries; 0: not measured yet */
};

/* Inferences of an executor on a lane. */
struct rig_run {
    const struct executor *executor;
    struct partition_stream *lane;
    struct executor_graph *graph; /* NULL: one launch after the other */
};

/* ---- measure_device.c ------------------------------------------------------------------------ */

/* The lane on these groups of multiprocessors (slices.h); 0: the whole device. NULL with an error.
 */
struct partition_stream *rig_lane(struct rig *rig, uint64_t groups, struct error *error);
/* How the device is shared out: in sevenths, as in a replay. */
bool rig_slices(struct rig *rig, struct slices *slices, struct error *error);
/* The member's executor, made where it is not there; from `kept` on it stays. NULL with an error.
 */
struct executor *rig_executor(struct rig *rig, const struct plan *plan,
                              const struct plan_member *member, bool half, struct error *error);
/* One inference, in the way that the rig is set to. */
bool rig_run_once(const struct stopwatch *watch, const struct rig_run *run, double *ms,
                  struct error *error);
/* Times inferences that run alone, after a warm-up, for about point_ms. With CUDA graphs, records
 * the inference first: run->graph, which the caller frees. */
bool rig_time(struct rig *rig, struct rig_run *run, double point_ms,
              struct measure_samples *samples, struct error *error);
bool rig_open(struct rig *rig, struct error *error);
void rig_close(struct rig *rig);

/* ---- measure_group.c ------------------------------------------------------------------------- */

bool measure_colocation(void *state, const struct plan *plan, const struct plan_point *point,
                        struct measure_samples samples[static PLAN_MEMBERS], struct error *error);

/* ---- measure_worker.c ------------------------------------------------------------------------ */

bool measure_cold_start(void *state, const struct plan *plan, const struct plan_point *point,
                        double parts[static MEASURE_PARTS], struct error *error);
/* What another process's context, and then its libraries, take of the device's memory. */
bool measure_process(struct rig *rig, const char *path, long long bytes[static 2],
                     struct error *error);

#endif
