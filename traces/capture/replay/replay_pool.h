/* Batches on parts of a GPU in real time: which part, which copy of the network, which thread, and
 * when each began and ended. What it is to execute a batch is the runner's affair (a GPU, or in
 * tests and rehearsals a sleep), so that all of this is tested without a GPU.
 *
 * A GPU has units; a batch takes a set of free ones for itself and gives them back at its end.
 * Where units enough are free but none of the runner's sets is, the batch waits, and those that
 * start after it wait behind it. A function has copies of its network (containers), each of which
 * executes one batch at a time. There is a thread for each unit, since no more batches than units
 * can execute.
 *
 * Times are nanoseconds since pool_begin; with a speed of x, x of them pass in a nanosecond.
 */
#ifndef ESGSIM_TRACES_CAPTURE_REPLAY_REPLAY_POOL_H
#define ESGSIM_TRACES_CAPTURE_REPLAY_REPLAY_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/error.h"
#include "sim/units.h"
#include "traces/capture/executor/slices.h"

/* A batch as it is handed to the runner. */
struct pool_task {
    uint32_t id;     /* of the caller; comes back from pool_wait */
    uint64_t number; /* in the run */
    uint32_t function, configuration, jobs;
    int batch; /* the configuration's */
    int units_wanted;
    sim_time_t modelled; /* what a model gives it */
    uint32_t units;      /* set of them; the pool's to choose, as is: */
    uint32_t copy;       /* of the function's network */
};

struct pool_runner {
    void *state;
    /* Executes a batch and returns when it has ended; called from several threads at a time, never
     * for overlapping units nor for one copy twice. *device_ms: as the device measured it, NAN
     * where it does not. */
    bool (*run)(void *state, const struct pool_task *task, double *device_ms, struct error *error);
    /* By set of units, SLICES_SETS: those on which it can execute, at least one of every size that
     * is asked for. NULL: all. */
    const bool *sets;
};

struct pool_options {
    int units;              /* 1..SLICES_UNITS */
    const uint32_t *copies; /* of each function's network */
    size_t functions;
    double speed; /* of the clock; 1 beside a device */
    bool spin; /* the caller's thread never sleeps in a wait: for a machine with cores to spare */
    struct pool_runner runner;
};

/* One batch that has ended, in the order of the ends. */
struct pool_row {
    struct pool_task task;
    sim_time_t due;    /* when the loop owed it a start */
    sim_time_t asked;  /* when it was handed to the pool: lateness is asked - due */
    sim_time_t placed; /* when it got its units: later than asked where it waited for a set */
    sim_time_t begun;  /* when its thread took it up */
    sim_time_t ended;
    double device_ms;
};

struct pool;

/* NULL with ERROR_RUN (memory, threads) or ERROR_INPUT (units). */
struct pool *pool_create(const struct pool_options *options, struct error *error);
/* Waits for batches that execute. NULL is allowed. */
void pool_free(struct pool *pool);

/* Time 0 is now. */
void pool_begin(struct pool *pool);
sim_time_t pool_now(const struct pool *pool);

/* Begins a batch that was due at `due`; its units and copy are the pool's to fill in. False
 * (ERROR_RUN) where units or copies are not free, which a controller that keeps count never asks
 * for. Where no set of so many free units is one of the runner's, the batch begins after an end. */
bool pool_start(struct pool *pool, const struct pool_task *task, sim_time_t due,
                struct error *error);

/* Waits for the next end, or until `until` (SIM_FOREVER: for an end; some batch must execute). An
 * end is told in *id and *time, <= until, never before a time told earlier; SIM_NONE: it is
 * `until`. False with the runner's error where a batch failed. */
bool pool_wait(struct pool *pool, sim_time_t until, uint32_t *id, sim_time_t *time,
               struct error *error);

/* Batches told by pool_wait so far; valid until the next call. */
const struct pool_row *pool_rows(const struct pool *pool, size_t *count);

/* Mean, 99th percentile and maximum over the rows, microseconds. */
struct pool_figures {
    double late_mean, late_p99, late_max; /* asked - due */
    double hand_over_mean, hand_over_p99; /* begun - placed */
    double waited_mean, waited_max;       /* placed - asked, of those that waited for a set */
    uint64_t waited;                      /* how many did */
    double device_ms_mean, host_ms_mean;  /* of a batch, by the device and from begun to ended */
    uint32_t together;                    /* most that executed at one time */
    uint64_t scattered;                   /* batches on units that are not side by side */
};
struct pool_figures pool_figures(const struct pool *pool);

#endif
