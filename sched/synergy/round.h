/* Synergy's round: which trainings run, where, and with how many vCPUs and how much memory.
 *
 * Synergy (Mohan et al., OSDI 2022) places all trainings anew every round. A training that is
 * sensitive to vCPUs or memory gets its demand, others give up what they do not need. This module
 * is the decision alone, on plain numbers: it knows no clock and no platform. It follows the
 * authors' simulator (msr-fiddle/synergy at 1bb2bed, simulator/): orders from
 * schedulers/{fifo,srtf,las,ftf}_synergy_new.py, allocation from resources/cluster.py:435-730,
 * demands from jobs/workload.py:182-245. Arithmetic is in doubles, in the original's order.
 *
 * All servers are alike. Within a round GPUs of a server are taken in ascending order and none is
 * given back, so a piece of a placement is a server, its first GPU and a count.
 */
#ifndef ESGSIM_SCHED_SYNERGY_ROUND_H
#define ESGSIM_SCHED_SYNERGY_ROUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/base/error.h"

enum synergy_order { SYNERGY_FIFO, SYNERGY_SRTF, SYNERGY_LAS, SYNERGY_FTF };
enum synergy_allocation { SYNERGY_PROPORTIONAL, SYNERGY_GREEDY, SYNERGY_TUNE, SYNERGY_OPT };

struct synergy_servers {
    uint32_t count, gpus; /* servers, GPUs on each */
    double vcpus, memory; /* of a server; memory in any unit, here GB */
};

/* GPUs first .. first + gpus - 1 of a server. */
struct synergy_piece {
    uint32_t server, first, gpus;
};

struct synergy_training {
    uint32_t id; /* the caller's */
    uint32_t gpus;
    double arrival_s, iteration_s;
    uint64_t iterations;
    double vcpus, memory;              /* demand of the whole gang */
    double fair_speed;                 /* s_p: at the proportional share, relative to the base */
    double speedup;                    /* S: at the demand, relative to the base */
    const struct synergy_cells *cells; /* opt: its model's; else NULL */

    /* Kept by the caller between rounds. */
    uint64_t done;
    double attained_s;
    double last_end_s; /* of its last lease; < 0: has not run */

    /* The module's. */
    double key;
    double speed; /* s, as the last round left it; divides the remaining time of the next order */
    bool priority;

    /* The placement of this round. */
    bool placed;
    double rate; /* iterations per iteration_s */
    double vcpus_per_gpu, memory_per_gpu;
    uint32_t piece, pieces; /* indices into round.pieces; none under opt */
};

struct synergy_round {
    struct arena *arena; /* of all that follows */
    struct synergy_servers servers;
    enum synergy_order order;
    enum synergy_allocation allocation;
    double starved_s; /* a training that has not run for longer gets priority, for ever */

    struct synergy_training **list; /* unfinished, in the order of the last round */
    size_t count;

    struct synergy_piece *pieces; /* of this round */
    size_t piece_count;

    /* The module's. */
    struct synergy_server {
        uint32_t used; /* GPUs */
        double vcpus, memory;
        uint32_t listed; /* trainings in its list */
    } * state;
    bool *down;                      /* of each server, kept by the caller */
    struct synergy_training **lists; /* [server][slot], trainings of this round */
    uint32_t free, first;            /* free GPUs; the first server with one */
    struct synergy_training **scratch;
};

/* The proportional share of one GPU. */
double synergy_fair_vcpus(const struct synergy_servers *servers);
double synergy_fair_memory(const struct synergy_servers *servers);

struct synergy_round *synergy_round_create(struct arena *arena,
                                           const struct synergy_servers *servers,
                                           enum synergy_order order,
                                           enum synergy_allocation allocation, double starved_s);

/* Adds an unfinished training behind all others; it stays until synergy_round_remove or the end. */
void synergy_round_add(struct synergy_round *round, struct synergy_training *training);

/* Removes a training. O(unfinished). */
void synergy_round_remove(struct synergy_round *round, const struct synergy_training *training);

/* Decides the round that begins at `now_s`: sorts the list, and sets `placed`, `rate` and the
 * placement of every training in it. O(unfinished log unfinished + GPUs). False with ERROR_RUN
 * where opt has no choice that fits. */
bool synergy_round_run(struct synergy_round *round, double now_s, struct error *error);

/* ---- Private to the module ---- */

/* First fit of n GPUs with so much per GPU; places the training and returns true, or changes
 * nothing (resources/cluster.py:435-477, 521-547). */
bool synergy_first_fit(struct synergy_round *round, struct synergy_training *training,
                       double vcpus_per_gpu, double memory_per_gpu);

/* Places a training with its demand, if need be at the cost of others; false if even then it does
 * not fit (resources/cluster.py:589-730). */
bool synergy_tune(struct synergy_round *round, struct synergy_training *training);

/* Speeds of all candidates under the first programme of opt. */
bool synergy_opt(struct synergy_round *round, struct synergy_training **candidates, size_t count,
                 struct error *error);

#endif
