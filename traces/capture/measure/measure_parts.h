/* Declarations shared by the files of the device backend. Internal to it. */
#ifndef ESGSIM_TRACES_CAPTURE_MEASURE_MEASURE_PARTS_H
#define ESGSIM_TRACES_CAPTURE_MEASURE_MEASURE_PARTS_H

#include <stdio.h>

#include "traces/capture/measure/measure.h"
#include "traces/capture/executor/stopwatch.h"

enum { RIG_LANES = 64, RIG_CACHE = 256, RIG_SEED = 1 };

/* A cached executor: a network at one batch size. */
struct rig_executor {
    size_t network;
    int batch;
    bool half;
    unsigned long used; /* value of the rig's clock at the last use */
    struct graph *graph;
    struct executor *executor;
};

/* The device with the partition streams and executors that points share. */
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
    long long process_bytes[2]; /* of a context, and of the libraries; 0: not measured yet */
};

/* An executor and the partition stream in which its inferences run. */
struct rig_run {
    const struct executor *executor;
    struct partition_stream *lane;
    struct executor_graph *graph; /* NULL: separate launches */
};

/* ---- measure_device.c ------------------------------------------------------------------------ */

/* Returns the partition stream on these groups of multiprocessors (slices.h). 0: the whole device.
 * NULL with an error. */
struct partition_stream *rig_lane(struct rig *rig, uint64_t groups, struct error *error);
/* Divides the device into sevenths, as a replay does. */
bool rig_slices(struct rig *rig, struct slices *slices, struct error *error);
/* Returns the member's executor and creates it if needed. Executors used after rig->kept are not
 * dropped. NULL with an error. */
struct executor *rig_executor(struct rig *rig, const struct plan *plan,
                              const struct plan_member *member, bool half, struct error *error);
/* Runs one inference, by launches or as a CUDA graph, as `run` selects. */
bool rig_run_once(const struct stopwatch *watch, const struct rig_run *run, double *ms,
                  struct error *error);
/* Times inferences that run alone for about point_ms, after a warm-up. With CUDA graphs, records
 * the inference first into run->graph, which the caller frees. */
bool rig_time(struct rig *rig, struct rig_run *run, double point_ms,
              struct measure_samples *samples, struct error *error);
void rig_close(struct rig *rig);

/* ---- measure_group.c ------------------------------------------------------------------------- */

bool measure_colocation(void *state, const struct plan *plan, const struct plan_point *point,
                        struct measure_samples samples[static PLAN_MEMBERS], struct error *error);

/* ---- measure_worker.c ------------------------------------------------------------------------ */

bool measure_cold_start(void *state, const struct plan *plan, const struct plan_point *point,
                        double parts[static MEASURE_PARTS], struct error *error);
/* Device memory taken by another process's context, and then by its libraries. */
bool measure_process(struct rig *rig, const char *path, long long bytes[static 2],
                     struct error *error);

#endif
