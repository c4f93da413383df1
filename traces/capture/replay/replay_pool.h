/* Executes batches on parts of a GPU in real time. The pool chooses the part, the copy of the
 * network and the thread, and records when each batch began and ended. A runner executes the batch
 * itself: on a GPU, or, in tests and rehearsals, by a sleep. The pool is therefore tested without a
 * GPU.
 *
 * A GPU has units. A batch has exclusive use of a set of units until it ends. If enough units are
 * free but they contain none of the runner's sets, the batch waits. Batches that start later wait
 * behind it. A function has copies of its network (containers), and each copy executes one batch at
 * a time. There is one thread per unit, since at most one batch per unit can execute.
 *
 * Times are nanoseconds since replay_pool_begin. At speed x, x of these nanoseconds pass per
 * nanosecond of real time.
 */
#ifndef ESGSIM_TRACES_CAPTURE_REPLAY_REPLAY_POOL_H
#define ESGSIM_TRACES_CAPTURE_REPLAY_REPLAY_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/error.h"
#include "sim/units.h"
#include "traces/capture/executor/slices.h"

/* A batch as the runner receives it. */
struct pool_task {
    uint32_t id;     /* chosen by the caller; returned by replay_pool_wait */
    uint64_t number; /* number of the batch in the run */
    uint32_t function, configuration, jobs;
    int batch; /* batch size of the configuration */
    int units_wanted;
    sim_time_t modelled; /* duration by the model */
    uint32_t units;      /* bit set; chosen by the pool, as is: */
    uint32_t copy;       /* copy of the function's network */
};

struct pool_runner {
    void *state;
    /* Executes a batch and returns when it has ended. Called from several threads at a time, but
     * never for overlapping units or twice for one copy. *device_ms receives the time measured by
     * the device, or NAN. */
    bool (*run)(void *state, const struct pool_task *task, double *device_ms, struct error *error);
    /* Indexed by set of units, SLICES_SETS entries: sets on which the runner can execute. There
     * must be at least one of every size in use. NULL: all. */
    const bool *sets;
};

struct pool_options {
    int units;              /* 1..SLICES_UNITS */
    const uint32_t *copies; /* copies of each function's network */
    size_t functions;
    double speed; /* speed of the clock; 1 with a device */
    bool spin;    /* the caller's thread spins and never sleeps: needs spare cores */
    struct pool_runner runner;
};

/* One batch that has ended. Rows are in the order of the ends. */
struct pool_row {
    struct pool_task task;
    sim_time_t due;    /* when the event loop should have started it */
    sim_time_t asked;  /* when the pool received it; lateness is asked - due */
    sim_time_t placed; /* when it received its units; later than `asked` if it waited for a set */
    sim_time_t begun;  /* when its thread began */
    sim_time_t ended;
    double device_ms;
};

struct pool;

/* Returns NULL with ERROR_RUN (memory, threads) or ERROR_INPUT (units). */
struct pool *replay_pool_create(const struct pool_options *options, struct error *error);
/* Waits for executing batches, then frees the pool. NULL is allowed. */
void replay_pool_free(struct pool *pool);

/* Sets time 0 to now. */
void replay_pool_begin(struct pool *pool);
sim_time_t replay_pool_now(const struct pool *pool);

/* Starts a batch that was due at `due`. The pool fills in its units and copy. Returns false with
 * ERROR_RUN if too few units or copies are free. A controller that keeps count never causes that.
 * If the free units contain none of the runner's sets of that size, the batch starts after another
 * batch ends. */
bool replay_pool_start(struct pool *pool, const struct pool_task *task, sim_time_t due,
                       struct error *error);

/* Waits for the next end of a batch, or until `until`. With SIM_FOREVER it waits for an end, and
 * some batch must be executing. For an end, *id is the batch and *time <= until is its time, never
 * earlier than a time returned before. *id is SIM_NONE if `until` came first. Returns false with
 * the runner's error if a batch failed. */
bool replay_pool_wait(struct pool *pool, sim_time_t until, uint32_t *id, sim_time_t *time,
                      struct error *error);

/* Batches returned by replay_pool_wait so far. Valid until the next call. */
const struct pool_row *replay_pool_rows(const struct pool *pool, size_t *count);

/* Mean, 99th percentile and maximum over the rows, in microseconds unless the name
 * says otherwise. */
struct pool_figures {
    double late_mean, late_p99, late_max; /* asked - due */
    double hand_over_mean, hand_over_p99; /* begun - placed */
    double waited_mean, waited_max;       /* placed - asked, over batches that waited for a set */
    uint64_t waited;                      /* number of batches that waited for a set */
    double device_ms_mean, host_ms_mean;  /* per batch: by the device; begun to ended */
    uint32_t together;                    /* maximum number of batches executing at one time */
    uint64_t scattered;                   /* batches on units that are not contiguous */
};
struct pool_figures replay_pool_figures(const struct pool *pool);

#endif
