/* Does jobs side by side, in worker processes of which any may crash.
 *
 * Jobs 0..n−1 run at most `workers` at a time. If a worker crashes or is killed, only its current
 * job fails. A worker executes many jobs, because starting a process takes as long as a short run.
 * After WORKER_POOL_SERVICE jobs a new process replaces it, which limits memory leaks.
 *
 * A job writes its result to a file. An fsync takes as long as several short runs. A worker
 * therefore holds results for some time and publishes them together. A job has ended when it has
 * failed or its result is published. If a worker dies with unpublished results, their jobs are
 * repeated. Messages between the processes have a fixed size.
 *
 * The parent sees where the simulation of each worker is, in shared memory. So it can end a policy
 * that does not return, and say which callback of which policy ended a process.
 */
#ifndef ESGSIM_SIM_RUN_WORKER_POOL_H
#define ESGSIM_SIM_RUN_WORKER_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sim/base/error.h"
#include "sim/platform/simulation.h"
#include "sim/run/progress_bar.h"

/* Begins the message of a job whose process was ended from outside, as by SIGKILL. */
#define WORKER_POOL_KILLED "the worker process was ended by a signal"

enum { WORKER_POOL_SERVICE = 100, WORKER_POOL_HOLD_MS = 500 };

enum worker_pool_outcome {
    WORKER_POOL_HELD,   /* the result is held and will be published */
    WORKER_POOL_FAILED, /* only this job has failed */
    WORKER_POOL_BROKEN  /* results cannot be written: the pool ends with the error */
};

struct worker_pool {
    size_t jobs;
    uint64_t workers;  /* concurrent processes, as worker_pool_size takes them */
    uint64_t hold_ms;  /* time from the start of the first held job until the worker publishes;
                        * 0: it publishes after each job. Usually WORKER_POOL_HOLD_MS */
    bool stops;        /* `stop` is valid */
    int stop;          /* file descriptor; the pool stops when it becomes readable */
    double callback_s; /* a job fails if one callback of its policy takes longer; 0: no limit */
    struct progress_bar *bar; /* shows ended jobs, after those of earlier pools; NULL: none */
    void *context;            /* passed to each function */
    /* Executes a job in a child, which may have executed others before. `*place` is passed to
     * `collect`. The child ends without running exit handlers, so `work` must not rely on them. */
    enum worker_pool_outcome (*work)(void *context, size_t job, uint64_t *place,
                                     struct error *error);
    /* Runs in a child: makes all held results durable, even if the process is killed afterwards.
     * False ends the pool with `error`. NULL: `place` is the whole result. */
    bool (*publish)(void *context, struct error *error);
    /* Runs in the parent, once per ended job, in any order. `failure` is NULL if the job succeeded.
     * Otherwise it is the error of the job, or describes the end of its process. False ends the
     * pool with `error`. */
    bool (*collect)(void *context, size_t job, uint64_t place, const struct error *failure,
                    struct error *error);
};

/* Executes all jobs. If `stop` becomes readable, it kills running jobs, collects the ended ones and
 * sets ERROR_RUN "interrupted: …". Failed jobs do not fail the pool. All children have ended when
 * it returns. No child outlives the parent. */
bool worker_pool_run(const struct worker_pool *worker_pool, struct error *error);

/* Number of processes that a pool of `jobs` jobs uses: `asked`, or one for each of the machine's
 * cores if that is 0, but not more than there are jobs, and at least 1. */
size_t worker_pool_size(uint64_t asked, size_t jobs);

/* Waits for the end of a process that closed its channel. One that goes on has lost the channel, or
 * executes another program: it is killed. Returns its status; 0: it was killed. */
int worker_pool_reap(pid_t pid);

/* Words the end of a process without a reply. `place`: where its run was; `status`: its own end; 0:
 * none. */
void worker_pool_word_end(const struct simulation_place *place, int status, struct error *failure);

/* Called in a worker: fails the job in progress with `message` and ends the process.
 * Async-signal-safe, for handlers of fatal signals. */
_Noreturn void worker_pool_fail(const char *message);

#endif
