/* A worker pool of worker processes.
 *
 * Jobs 0..n−1 run in child processes, at most `workers` at a time. A worker that crashes or is
 * killed fails its job and no other. A worker serves job after job, since to start a process costs
 * as much as a short run. After WORKER_POOL_SERVICE jobs another one takes its place, so that what
 * jobs leave behind in memory does not add up.
 *
 * A job leaves its result in a file. To sync a file to the disk costs as much as several short
 * runs, so a worker holds results for a while and publishes them together. A job has ended
 * when it has failed or its result is published. Results that are lost with their worker before
 * that are produced again. Messages between the processes have a fixed size.
 */
#ifndef ESGSIM_SIM_CLI_WORKER_POOL_H
#define ESGSIM_SIM_CLI_WORKER_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/error.h"

enum { WORKER_POOL_SERVICE = 100, WORKER_POOL_HOLD_MS = 500 };

enum worker_pool_outcome {
    WORKER_POOL_HELD,   /* the result will be published */
    WORKER_POOL_FAILED, /* this job has failed */
    WORKER_POOL_BROKEN  /* no result can be written: the worker pool ends with the error */
};

struct worker_pool {
    size_t jobs;
    size_t workers;   /* processes at a time, at least 1 */
    uint64_t hold_ms; /* WORKER_POOL_HOLD_MS, say: how long after the first job that it holds began
                       * a worker publishes; 0: after each job */
    bool stops;       /* `stop` is given */
    int stop;         /* a descriptor: the worker pool stops once it is readable */
    void *context;    /* handed to each function */
    /* Runs in a child, perhaps after other jobs. `*place` goes to `collect`. The child ends without
     * running exit handlers, so this must not leave work to them. */
    enum worker_pool_outcome (*work)(void *context, size_t job, uint64_t *place,
                                     struct error *error);
    /* Runs in a child: makes all held results last, whatever then happens to the process. False
     * ends the worker pool with `error`. */
    bool (*publish)(void *context, struct error *error);
    /* Runs in the parent, once per ended job, in any order. `failure` is NULL where the job
     * succeeded; else it says what the job reported or how its process ended. False ends the worker
     * pool with `error`. */
    bool (*collect)(void *context, size_t job, uint64_t place, const struct error *failure,
                    struct error *error);
    /* Runs in the parent after each job that ended, and about twice a second; may be NULL. */
    void (*progress)(void *context, size_t ended, size_t jobs);
};

/* Run every job. A readable `stop` stops the worker pool: running jobs are killed, those that had
 * ended are collected, and the result is ERROR_RUN "interrupted: …". Jobs that fail do not fail the
 * worker pool. No child is left when it returns, and none outlives the parent. */
bool worker_pool_run(const struct worker_pool *worker_pool, struct error *error);

/* In a worker: the job in progress fails with `message`, and the process ends. Async-signal-safe,
 * for handlers of faults. */
_Noreturn void worker_pool_fail(const char *message);

#endif
