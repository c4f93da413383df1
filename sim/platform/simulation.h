/* One simulation: an experiment and a policy in, figures out.
 *
 * Everything a run changes lives in one structure; runs share only immutable inputs, so any number
 * can run side by side in one process. A finished run frees everything.
 */
#ifndef ESGSIM_SIM_PLATFORM_SIMULATION_H
#define ESGSIM_SIM_PLATFORM_SIMULATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/policy.h"
#include "sim/error.h"
#include "workloads/experiment.h"

struct backend;

typedef uint64_t metric_u64;
typedef double metric_f64;

/* Figures of one application, or of all together. Fields: the MEASURE lines of metrics.def. */
struct measures {
#define MEASURE(type, name, unit, column, help) metric_##type name;
#include "sim/platform/metrics.def"
};

/* Figures of the run. Fields: the RUN_MEASURE lines of metrics.def. */
struct run_measures {
#define RUN_MEASURE(type, name, unit, column, help) metric_##type name;
#include "sim/platform/metrics.def"
};

struct simulation_result {
    struct measures overall;
    struct measures *applications; /* workload.application_count of them */
    size_t application_count;
    struct run_measures run;
    struct arrival_tally arrivals; /* of a trace; zero for other processes */
    char *notices;  /* what the run assumes, a line each (sim/cli/notices.h); NULL: not asked */
    double wall_s;  /* not deterministic: kept out of tables */
    double setup_s; /* of wall_s: cluster and first containers made, and taken down in the end */
    bool exact_quantiles; /* false: more samples than kept, percentiles within 0.05 % */
};

/* Rows of the detailed record; written as they come, in a deterministic order. */
enum { RECORD_MAX_STAGES = 16 };

struct request_row {
    uint64_t request;
    uint32_t application;
    uint8_t measured; /* 0: warm-up */
    uint8_t hit;
    uint8_t dropped;
    sim_time_t arrival_ns, finish_ns, slo_ns;
    sim_time_t queue_ns, transfer_ns, cold_ns, exec_ns; /* summed over its jobs */
    double cost_usd;
    double
        noise[RECORD_MAX_STAGES]; /* factor (or service ms) drawn for each stage; 0 past the last */
};

struct batch_row {
    uint64_t batch;
    uint32_t queue, application, stage, invoker, gpu; /* gpu: SIM_NONE where none */
    uint32_t jobs;
    uint16_t configured_batch, vcpu, vgpu;
    uint8_t cold;
    uint8_t quota; /* per cent of the time for which it may use its share of the GPU */
    sim_time_t dispatched_ns, started_ns, finished_ns;
    double slowdown;
    double cost_usd;
    uint64_t first_request;
    uint64_t container;               /* its number in order of creation */
    uint32_t instance, configuration; /* instance: SIM_NONE where the batch has none */
    sim_time_t launched_ns;           /* dispatched, and the time of the decision has passed */
    sim_time_t transfer_ns, cold_ns;  /* from launched_ns on, one after the other */
    double noise;                     /* of its oldest job: a factor, or the service in ms */
};

/* One job of a batch that has ended; comes right after the batch's row. */
struct job_row {
    uint64_t request, batch;
    uint32_t queue, application, stage;
    uint32_t place; /* in the batch, 0: the oldest */
    sim_time_t ready_ns;
    sim_time_t queue_ns, cold_ns; /* its own waiting: to the launch, for a container */
    double cost_usd;              /* its share of the batch's */
};

/* What a container did but work: batches tell that. */
enum container_phase { CONTAINER_PHASE_STARTING, CONTAINER_PHASE_IDLE };
struct container_row {
    uint64_t container;
    uint32_t function, invoker, gpu; /* gpu: SIM_NONE where none */
    uint16_t phase;                  /* enum container_phase */
    uint16_t evicted;                /* 1: it was gone at the end of the phase */
    sim_time_t from_ns, until_ns;
};

struct decision_row {
    sim_time_t time_ns, charged_ns;
    uint64_t units;
    uint32_t queue, queue_length, invoker, configuration, jobs,
        alternatives; /* SIM_NONE: no dispatch */
    double plan_cost_usd;
    sim_time_t plan_time_ns;
    uint64_t batch; /* number of the batch dispatched */
};

struct timeline_row {
    sim_time_t time_ns;
    uint64_t waiting_jobs, running_batches, idle_containers, starting_containers;
    double gpu_used, vcpu_used, gpu_memory_used, stranded_vgpu; /* shares of capacity */
};

/* Where rows go; any function may be NULL. False ends the run with the recorder's error. */
struct recorder {
    void *context;
    bool (*request)(void *context, const struct request_row *row, struct error *error);
    bool (*batch)(void *context, const struct batch_row *row, struct error *error);
    bool (*job)(void *context, const struct job_row *row, struct error *error);
    bool (*container)(void *context, const struct container_row *row, struct error *error);
    bool (*decision)(void *context, const struct decision_row *row, struct error *error);
    bool (*timeline)(void *context, const struct timeline_row *row, struct error *error);
};

/* Called now and then with the share of requests finished; return false to stop the run cleanly
 * (ERROR_RUN "interrupted"). */
struct progress {
    void *context;
    bool (*report)(void *context, uint64_t finished, uint64_t total);
};

/* Run `experiment` under `policy` configured by `values`. `recorder` and `progress` may be NULL. On
 * success `result` is filled (free with simulation_result_clear). False: ERROR_INPUT for a fault of
 * the trace or more initial containers than memory holds; ERROR_RUN that names the broken invariant
 * or rule, the simulated time, the object and the seed. */
bool simulation_run(const struct experiment *experiment, const struct policy *policy,
                    const double *values, const struct recorder *recorder,
                    const struct progress *progress, struct simulation_result *result,
                    struct error *error);

/* Like simulation_run, but batches execute on `backend` (sim/backend/backend.h), and progress is
 * reported at every step. If the run fails or is stopped, the owner of the backend waits for
 * batches that are still executing. ERROR_RUN: the backend does not support something (the message
 * gives the time and what to set instead), or it reported an invalid end. A batch's slowdown is its
 * execution time / `modelled`. The model's interference and its lower bound on latency are not
 * used. With backend NULL it is simulation_run. */
bool simulation_replay(const struct experiment *experiment, const struct policy *policy,
                       const double *values, const struct backend *backend,
                       const struct recorder *recorder, const struct progress *progress,
                       struct simulation_result *result, struct error *error);

void simulation_result_clear(struct simulation_result *result);

/* Where a simulation is. */
struct simulation_place {
    const char *experiment, *policy; /* their names */
    const char *callback; /* the policy's function in progress, "decide" …; NULL: none */
    uint64_t calls;       /* of the policy's functions so far: the same number, the same call */
    sim_time_t now;
    uint64_t seed;
};

/* Where the simulation that this thread runs is; false where it runs none. For handlers of signals
 * that end the process, so that they can say whom to blame: async-signal-safe. The names are the
 * simulation's own, and `calls` tells a callback that never returns from many short ones. */
bool simulation_where(struct simulation_place *place);

#endif
