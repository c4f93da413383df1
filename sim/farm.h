/* A farm of worker processes.
 *
 * Jobs 0..n−1 run in child processes, at most `workers` at a time: a crash of one, or its being
 * killed, loses its job and no other. A worker serves job after job, since to start a process costs
 * as much as a short run; after FARM_SERVICE of them another takes its place, so that what jobs
 * leave behind in memory does not add up. A job hands back a blob through a channel; the parent
 * gets the blobs in the order of the jobs, whatever order they ended in, so that what it makes of
 * them does not depend on the number of workers. A parent that puts them in order by itself may ask
 * for each as soon as its job has ended.
 *
 * So that an early slow job does not pile up the blobs of all later ones, no job starts that is
 * more than FARM_WINDOW × workers ahead of the oldest one not collected.
 */
#ifndef ESGSIM_SIM_FARM_H
#define ESGSIM_SIM_FARM_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/blob.h"
#include "sim/error.h"

enum { FARM_WINDOW = 8, FARM_SERVICE = 100 };

struct farm {
    size_t jobs;
    size_t workers; /* processes at a time, at least 1 */
    bool unordered; /* collect as jobs end */
    bool stops;     /* `stop` is given */
    int stop;       /* a descriptor: the farm stops once it is readable */
    void *context;  /* handed to each function */
    /* Runs in a child, perhaps after other jobs: fill `blob`, or fill `error` and return false. The
     * child ends without running exit handlers, so it must not leave work to them. */
    bool (*work)(void *context, size_t job, struct blob *blob, struct error *error);
    /* Runs in the parent, once per finished job, in ascending order unless `unordered`. `failure`
     * is NULL where the job succeeded; else it says what the job reported or how its process ended,
     * and `bytes` is NULL. False ends the farm with `error`. */
    bool (*collect)(void *context, size_t job, const void *bytes, size_t size,
                    const struct error *failure, struct error *error);
    /* Runs in the parent after each job that ended, and about twice a second; may be NULL. */
    void (*progress)(void *context, size_t ended, size_t jobs);
};

/* Run every job. A readable `stop` stops the farm: running jobs are killed, those that had finished
 * are collected, and the result is ERROR_RUN "interrupted: …". Jobs that fail do not fail the farm.
 * No child is left when it returns, and none outlives the parent. */
bool farm_run(const struct farm *farm, struct error *error);

/* In a worker: the job in progress fails with `message`, and the process ends. Async-signal-safe,
 * for handlers of faults. */
_Noreturn void farm_fail(const char *message);

#endif
