/* A backend whose batches a worker process executes (worker.h), in real time.
 *
 * A GPU has units. A batch has exclusive use of a set of units until it ends: the lowest set side
 * by side that is free, else, if all sets are in use, any. If enough units are free but no set that
 * is in use, the batch waits, and batches that start later wait behind it. A batch with fewer jobs
 * than its configuration executes as a full one: the simulator's time and price also depend on the
 * configuration alone.
 */
#ifndef ESGSIM_SIM_BACKEND_WORKER_BACKEND_H
#define ESGSIM_SIM_BACKEND_WORKER_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/backend/backend.h"
#include "sim/backend/worker.h"
#include "sim/base/records.h"
#include "workloads/spec/experiment.h"

/* Returns false with ERROR_INPUT and the remedy if the experiment is not one GPU of
 * 1..WORKER_BATCHES units on one invoker, has no containers from the start, or has a function with
 * a configuration without GPU units, or a name that a line cannot hold. */
bool worker_backend_check(const struct experiment *experiment, struct error *error);

/* How the worker was warmed, over all runs. A combination is a function, a batch size and a set. */
struct worker_warming {
    size_t warmed, combinations;
    double seconds;
};

struct worker_backend;

/* The backend serves one run after another. `side_by_side`: batches execute on sets of neighbouring
 * units only. The worker must outlive it. Opening a run warms the worker: it executes every
 * combination once, one after the other, those that it executed for an earlier run excepted. After
 * `warm_s` seconds only every function at every batch size, and every set, are executed once. End
 * it with arena_home_free. */
struct worker_backend *worker_backend_create(struct worker *worker, bool side_by_side,
                                             double warm_s);
struct backend worker_backend(struct worker_backend *backend);

/* Rows of the latest run, in the order of the ends. Valid until the next call of the backend. */
const struct replay_row *worker_backend_rows(const struct worker_backend *backend, size_t *count);
struct worker_warming worker_backend_warming(const struct worker_backend *backend);

/* Mean, 99th percentile and maximum over the rows, in microseconds unless the name says otherwise.
 */
enum { HOST_PARTS = 10 };
struct worker_figures {
    double late_mean, late_p99, late_max; /* asked - due */
    double waited_mean, waited_max;       /* placed - asked, over batches that waited for a set */
    uint64_t waited;                      /* number of batches that waited for a set */
    double device_ms_mean, host_ms_mean;  /* per batch: by the worker; begun to ended */
    double host_parts_ms[HOST_PARTS]; /* late, and begun to ended less the worker's, by part of the
                                         rows */
    uint32_t together;                /* maximum number of batches executing at one time */
    uint64_t scattered;               /* batches on units that are not neighbours */
};
struct worker_figures worker_backend_figures(const struct worker_backend *backend);

#endif
