/* `capture replay`: an experiment whose batches execute on this machine's GPU. */
#ifndef ESGSIM_TRACES_CAPTURE_REPLAY_REPLAY_H
#define ESGSIM_TRACES_CAPTURE_REPLAY_REPLAY_H

#include <stdbool.h>

#include "sim/backend/backend.h"
#include "sim/error.h"
#include "traces/capture/replay/replay_pool.h"
#include "traces/capture/replay/replay_setup.h"

/* The sets of units on which batches execute. REPLAY_SIDE_BY_SIDE: contiguous sets only.
 * REPLAY_ALL: all sets that the driver creates. REPLAY_AUTO: all sets, unless their streams wait
 * for each other. */
enum replay_sets { REPLAY_AUTO, REPLAY_ALL, REPLAY_SIDE_BY_SIDE };

/* The executor of batches: a device, or, in a rehearsal, a sleep for the modelled time. */
struct replay_executor {
    void *state;            /* NULL before `open` */
    enum replay_sets which; /* which of the setup's sets to use */
    bool sets[SLICES_SETS]; /* filled by `open`: sets on which batches execute */
    /* Creates everything that the setup needs. */
    bool (*open)(struct replay_executor *executor, const struct replay_setup *setup,
                 struct error *error);
    struct pool_runner (*runner)(struct replay_executor *executor);
    void (*close)(struct replay_executor *executor);
};

/* An executor that sleeps for the modelled time divided by *speed. `speed` must outlive it. */
struct replay_executor replay_sleeper(double *speed);

/* A simulation backend on a pool. A zeroed struct with setup, executor and speed set is ready to be
 * opened. It serves one run after another of experiments with that setup, and opens the executor
 * once. replay_backend_clear frees what it has created. */
struct replay_backend {
    const struct replay_setup *setup;
    struct replay_executor executor;
    double speed;
    bool spin;
    bool opened; /* this and the following members are private */
    const struct experiment *experiment;
    uint32_t *copies;
    struct pool *pool; /* pool of the latest run */
};

struct backend replay_backend(struct replay_backend *backend);
void replay_backend_clear(struct replay_backend *backend);

/* Runs the command. argv[0] is "replay". Returns the exit status. */
int replay_command(int argc, char **argv);

#endif
