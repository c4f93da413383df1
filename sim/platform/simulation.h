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
#include "sim/base/notice.h"
#include "sim/base/records.h"
#include "workloads/spec/experiment.h"

struct backend;

typedef uint64_t metric_u64;
typedef double metric_f64;
typedef double metric_share; /* of 0..1 */

/* Metrics of one application, or of all applications. Fields: the METRIC lines of metrics.def. */
struct measures {
#define METRIC(type, name, ...) metric_##type name;
#include "sim/base/metrics.def"
};

/* Metrics of the whole run. Fields: the RUN_METRIC lines of metrics.def. */
struct run_measures {
#define RUN_METRIC(type, name, ...) metric_##type name;
#include "sim/base/metrics.def"
};

/* Measures of the trainings of a run. Fields: the TRAINING_METRIC lines of metrics.def. */
struct training_measures {
#define TRAINING_METRIC(type, name, ...) metric_##type name;
#include "sim/base/metrics.def"
};

struct simulation_result {
    struct measures overall;
    struct measures *applications; /* workload.application_count of them */
    size_t application_count;
    struct run_measures run;
    struct training_measures *training; /* NULL: the experiment has no trainings */
    bool gpus_shared;                   /* two trainings were on one GPU at one time */
    struct arrival_counts arrivals;     /* of a trace; zero for other arrival processes */
    struct notices notices;             /* what a reader of the figures must know */
    /* Signs that figures depend on the length of the run (sim/README.md, "Runs that are not
     * stationary"). */
    bool queues_grew;     /* until the last arrival */
    bool long_drain;      /* the drain took over a tenth of the time of arrivals */
    double wall_s;        /* wall-clock time; not deterministic, so never in tables */
    double callbacks_s;   /* processor time in a module's callbacks but init, likewise; else NAN */
    double setup_s;       /* part of wall_s: set-up of cluster and first containers, teardown */
    bool exact_quantiles; /* false: too many samples to keep; percentiles are within 0.05 % */
};

/* Fills result->notices from the rest of the result: what a reader of the figures must know
 * (notices.c). Every run does. `real`: a backend gave the times of executions; `arena`: for the
 * time of the call. */
void notices_fill(struct arena *arena, const struct experiment *experiment, bool real,
                  struct simulation_result *result);

/* Phases of a container other than work (struct container_row). */
enum container_phase { CONTAINER_PHASE_STARTING, CONTAINER_PHASE_IDLE };

/* Receives the rows of the detailed record (sim/base/records.def), in a deterministic order. Any
 * function may be NULL. If a function returns false, the run fails with the error that the function
 * set. */
struct recorder {
    void *context;
#define RECORD(row_type, table, event, level, title)                                               \
    bool (*event)(void *context, const struct row_type *row, struct error *error);
#include "sim/base/records.def"
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

/* The life of a long-lived instance. */
struct instance_life {
    uint32_t function, configuration; /* the configuration it had at its end */
    sim_time_t created, ended;
};

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
    /* Until this time the run is that of `swerve_seed`, and then of the experiment's seed (0: it
     * always is). What shows the future, in memory, is of the latter throughout, so that a policy
     * which looks there acts otherwise than in a run of `swerve_seed`. */
    sim_time_t swerve;
    uint64_t swerve_seed;
    /* Called with `context` at the end of each long-lived instance, at the latest at that of the
     * run. NULL: not called. */
    void (*instance_ended)(void *context, const struct instance_life *life);
    void *context;
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

/* Whether the address is in what the run of this thread shows to its policy, and never changes.
 * Async-signal-safe. */
bool simulation_shows(const void *address);

/* Runs of this thread keep their position in `*place` from now on; NULL: in memory of their own. */
void simulation_share_place(struct simulation_place *place);
const struct simulation_place *simulation_shared_place(void);

#endif
