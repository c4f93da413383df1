/* `capture replay`: an experiment whose batches execute on this machine's GPU. */
#ifndef ESGSIM_TRACES_CAPTURE_REPLAY_REPLAY_H
#define ESGSIM_TRACES_CAPTURE_REPLAY_REPLAY_H

#include <stdbool.h>

#include "sim/backend/backend.h"
#include "sim/error.h"
#include "traces/capture/replay/replay_pool.h"
#include "traces/capture/replay/replay_setup.h"

/* On which sets of units batches execute: those that lie side by side; all that the driver makes;
 * or all unless their streams wait for each other. */
enum replay_sets { REPLAY_AUTO, REPLAY_ALL, REPLAY_SIDE_BY_SIDE };

/* What executes batches: a device, or, for rehearsals, a sleep of the modelled time. */
struct replay_executor {
    void *state;            /* NULL before `open` */
    enum replay_sets which; /* of the setup's sets */
    bool sets[SLICES_SETS]; /* from `open` on: those on which batches execute */
    /* Makes all that the setup asks for. */
    bool (*open)(struct replay_executor *executor, const struct replay_setup *setup,
                 struct error *error);
    struct pool_runner (*runner)(struct replay_executor *executor);
    void (*close)(struct replay_executor *executor);
};

/* Sleeps for the modelled time over *speed, which outlives it. */
struct replay_executor replay_sleeper(double *speed);

/* A backend over a pool. A zeroed one with setup, executor and speed is ready to be opened, for one
 * run after the other of experiments with that setup: the executor is opened once. What it has made
 * is freed with replay_backend_clear. */
struct replay_backend {
    const struct replay_setup *setup;
    struct replay_executor executor;
    double speed;
    bool spin;
    bool opened; /* from here on: its own */
    const struct experiment *experiment;
    uint32_t *copies;
    struct pool *pool; /* of the latest run */
};

struct backend replay_backend(struct replay_backend *backend);
void replay_backend_clear(struct replay_backend *backend);

/* The command: argv[0] is "replay". Returns the exit status. */
int replay_command(int argc, char **argv);

#endif
