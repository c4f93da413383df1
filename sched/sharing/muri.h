/* Muri's simulator of srtf, srsf and tiresias as an event loop of its own.
 *
 * The three orders as the authors of Muri (Zhao et al., SIGCOMM 2022) simulate them beside theirs
 * (Rivendile/Muri at 4e69a78, simulator/run_sim.py:227-364, 369-671, switch.py:47-181), with their
 * restart mode: at every event each running training loses up to its restart time. The policies of
 * these names on the platform restart only trainings that move. This loop exists to reproduce the
 * original's figures and to prove the orders.
 */
#ifndef ESGSIM_SCHED_SHARING_MURI_H
#define ESGSIM_SCHED_SHARING_MURI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/error.h"

enum muri_order { MURI_SRTF, MURI_SRSF, MURI_TIRESIAS };

struct muri_cluster {
    uint32_t nodes, gpus; /* GPUs on each node */
    double vcpus, memory_gb;
};

struct muri_training {
    uint32_t gpus;
    double arrival_s;   /* ascending */
    double iteration_s; /* of the gang */
    double iterations;
    double restart_s;
    /* Results. */
    double start_s, finish_s, executed_s;
};

/* Runs all trainings to their end. ERROR_RUN without memory, or if one never fits. O(events ×
 * unfinished). */
bool muri_run(enum muri_order order, const struct muri_cluster *cluster,
              struct muri_training *trainings, size_t count, struct error *error);

#endif
