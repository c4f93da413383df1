/* Runs one simulation: takes an experiment and a policy, and returns metrics.
 *
 * All mutable state of a run is in one structure. Runs share only immutable inputs, so several
 * threads of a process can each execute a run. A finished run frees all its memory except the
 * result.
 */
#ifndef ESGSIM_SIM_PLATFORM_SIMULATION_H
#define ESGSIM_SIM_PLATFORM_SIMULATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/policy.h"
#include "sim/base/error.h"
#include "workloads/experiment.h"

struct backend;

typedef uint64_t metric_u64;
typedef double metric_f64;
typedef double metric_share; /* of 0..1 */

/* Metrics of one application, or of all applications. Fields: the METRIC lines of metrics.def. */
struct measures {
#define METRIC(type, name, unit, column, help) metric_##type name;
#include "sim/base/metrics.def"
};

/* Metrics of the whole run. Fields: the RUN_METRIC lines of metrics.def. */
struct run_measures {
#define RUN_METRIC(type, name, unit, column, help) metric_##type name;
#include "sim/base/metrics.def"
};

/* Measures of the trainings of a run. Fields: the TRAINING_METRIC lines of metrics.def. */
struct training_measures {
#define TRAINING_METRIC(type, name, unit, column, help) metric_##type name;
#include "sim/base/metrics.def"
};

struct simulation_result {
    struct measures overall;
    struct measures *applications; /* workload.application_count of them */
    size_t application_count;
    struct run_measures run;
    struct training_measures *training; /* NULL: the experiment has no trainings */
    bool gpus_shared;                   /* two trainings were on one GPU at one time */
    struct arrival_tally arrivals;      /* of a trace; zero for other arrival processes */
    /* What a reader of the figures must know, one per line; "": nothing. "warning: ..." means that
     * figures may not mean what they seem to. "note: ..." is about something the experiment asked
     * for. */
    char *notices;
    /* Signs that figures depend on the length of the run (sim/README.md, "Runs that are not
     * stationary"). */
    bool queues_grew;     /* until the last arrival */
    bool long_drain;      /* the drain took over a tenth of the time of arrivals */
    double wall_s;        /* wall-clock time; not deterministic, so never in tables */
    double setup_s;       /* part of wall_s: set-up of cluster and first containers, teardown */
    bool exact_quantiles; /* false: too many samples to keep; percentiles are within 0.05 % */
};

/* Rows of the detailed record, written during the run in a deterministic order. */
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
    uint32_t queue, application, stage, invoker, gpu; /* gpu: SIM_NONE if none */
    uint32_t jobs;
    uint16_t configured_batch, vcpu, vgpu;
    uint8_t cold;
    uint8_t quota; /* percentage of time for which it may use its share of the GPU */
    sim_time_t dispatched_ns, started_ns, finished_ns;
    double slowdown;
    double cost_usd;
    uint64_t first_request;
    uint64_t container;               /* numbered in order of creation */
    uint32_t instance, configuration; /* instance: SIM_NONE if none */
    sim_time_t launched_ns;           /* dispatch plus the time of the decision */
    sim_time_t transfer_ns, cold_ns;  /* durations; the cold start follows the transfer */
    double noise;                     /* of its oldest job: a factor, or the service time in ms */
    double planned_ms;                /* execution time that the policy could expect */
};

/* One job of a finished batch. The rows of its jobs follow the row of the batch. */
struct job_row {
    uint64_t request, batch;
    uint32_t queue, application, stage;
    uint32_t place; /* index in the batch; 0: the oldest job */
    sim_time_t ready_ns;
    sim_time_t queue_ns, cold_ns; /* this job's wait for the launch, and for a container */
    double cost_usd;              /* its part of the batch's cost */
};

/* A phase of a container other than work. The work of a container is recorded by batch rows. */
enum container_phase { CONTAINER_PHASE_STARTING, CONTAINER_PHASE_IDLE };
struct container_row {
    uint64_t container;
    uint32_t function, invoker, gpu; /* gpu: SIM_NONE if none */
    uint16_t phase;                  /* enum container_phase */
    uint16_t evicted;                /* 1: it was evicted at the end of the phase */
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
    double gpu_used, vcpu_used, gpu_memory_used, stranded_vgpu; /* fractions of capacity */
};

/* A training, at the end of the run. */
struct training_result_row {
    uint64_t training; /* number in order of arrival */
    uint64_t id;       /* of the trace */
    uint32_t model, gpus;
    uint8_t measured, finished;
    uint32_t restarts;
    uint64_t iterations;
    sim_time_t arrival_ns;
    sim_time_t start_ns, finish_ns; /* -1: never */
    sim_time_t held_ns;             /* time for which it held a gang */
    sim_time_t restart_ns;          /* of these, without progress in restarts */
    double alone_s;                 /* time alone at the proportional share */
    double slowdown;                /* completion time / alone_s; none: unfinished */
    double ftf_rho;                 /* slowdown / max(1, mean demand / GPUs); none: unfinished */
};

/* A placement interval of a training. Leases without a change of grants between them are one. */
struct lease_row {
    uint64_t training, id;
    uint32_t gpus, invokers, first_invoker, first_gpu; /* GPUs counted over all invokers */
    sim_time_t from_ns, until_ns, restart_ns;
    double units, vcpus, memory_mb; /* of the whole gang */
    double iterations;              /* made in it; with "progress": "whole" before rounding down */
};

/* Receives the rows of the detailed record. Any function may be NULL. If a function returns false,
 * the run fails with the error that the function set. */
struct recorder {
    void *context;
    bool (*request)(void *context, const struct request_row *row, struct error *error);
    bool (*batch)(void *context, const struct batch_row *row, struct error *error);
    bool (*job)(void *context, const struct job_row *row, struct error *error);
    bool (*container)(void *context, const struct container_row *row, struct error *error);
    bool (*decision)(void *context, const struct decision_row *row, struct error *error);
    bool (*timeline)(void *context, const struct timeline_row *row, struct error *error);
    bool (*training)(void *context, const struct training_result_row *row, struct error *error);
    bool (*lease)(void *context, const struct lease_row *row, struct error *error);
};

/* Called from time to time with the number of finished requests. If it returns false, the run stops
 * with ERROR_RUN "interrupted". */
struct progress {
    void *context;
    bool (*report)(void *context, uint64_t finished, uint64_t total);
};

/* Runs `experiment` under `policy` with the parameter values `values`. `recorder` and `progress`
 * may be NULL. On success it fills `result`, which the caller frees with simulation_result_clear.
 * The bounds of metrics.def are NAN. False: ERROR_INPUT if the trace is faulty or ends within the
 * warm-up, or if memory cannot hold the initial containers. ERROR_RUN names the broken invariant or
 * rule, the simulated time, the object and the seed, or an input file that has changed since. */
bool simulation_run(const struct experiment *experiment, const struct policy *policy,
                    const double *values, const struct recorder *recorder,
                    const struct progress *progress, struct simulation_result *result,
                    struct error *error);

/* What a run can be asked for; all zero: nothing. */
struct simulation_options {
    const struct recorder *recorder; /* NULL: no rows */
    const struct progress *progress; /* NULL: no reports */
    /* Batches execute on it (sim/backend/backend.h), and progress is reported at every step. If the
     * run fails or is stopped, the owner of the backend waits for batches that are still executing.
     * ERROR_RUN: the backend does not support something (the message gives the time and what to set
     * instead), or it reported an invalid end. A batch's slowdown is its execution time /
     * `modelled`. The model's interference and its lower bound on latency are not used. NULL: the
     * model computes the times. */
    const struct backend *backend;
    /* Fill the bounds of metrics.def. It takes up to as long as the run itself, and memory for
     * every measured request. */
    bool bounds;
};

/* Like simulation_run, with all options. */
bool simulation_run_with(const struct experiment *experiment, const struct policy *policy,
                         const double *values, const struct simulation_options *options,
                         struct simulation_result *result, struct error *error);

void simulation_result_clear(struct simulation_result *result);

/* The position of a run. It has no pointers into the run, so that a parent process can read it in
 * shared memory, also after the end of the process that ran it. */
struct simulation_place {
    char experiment[256], policy[256]; /* their names, cut to this length */
    const char *volatile callback;     /* the last one, such as "decide"; a literal */
    volatile bool inside;              /* it has not returned */
    volatile uint64_t calls;           /* number of callbacks called so far */
    volatile sim_time_t now;           /* when the callback was called */
    uint64_t seed;
};

/* Returns the position of the run that this thread executes; NULL if it executes none. Handlers of
 * fatal signals use it to name the callback at fault. Async-signal-safe. If `calls` does not change
 * between two looks, the same callback is still in progress. */
const struct simulation_place *simulation_where(void);

/* Runs of this thread keep their position in `*place` from now on; NULL: in memory of their own. */
void simulation_share_place(struct simulation_place *place);

#endif
