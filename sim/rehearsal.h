/* An emulated backend, without a GPU. Each batch ends at the time given by the model, optionally
 * with a deviation.
 *
 * In virtual time (speedup 0) a replay takes as long as a simulation. Without interference, factor
 * and jitter it gives the same rows as the simulation. Tests use this to check replays, and users
 * to find out what a replay would refuse before they use a GPU. In real time the emulation follows
 * the monotonic clock, lateness included. It exercises the loop, but none of its times are
 * measurements.
 */
#ifndef ESGSIM_SIM_REHEARSAL_H
#define ESGSIM_SIM_REHEARSAL_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/backend.h"

struct rehearsal_options {
    double speedup;   /* simulated seconds per second of the clock; 0: virtual time */
    double factor;    /* executed / modelled; 0 means 1 */
    double jitter_cv; /* of a lognormal factor with mean 1, drawn for every batch */
    uint64_t seed;    /* of the jitter; added to the experiment's */
};

struct rehearsal;

/* Returns NULL with ERROR_RUN if memory is exhausted. Can be used for several runs in sequence;
 * `open` resets it. */
struct rehearsal *rehearsal_create(const struct rehearsal_options *options, struct error *error);
void rehearsal_destroy(struct rehearsal *rehearsal); /* NULL is allowed */

/* Valid until rehearsal_destroy. */
struct backend rehearsal_backend(struct rehearsal *rehearsal);

/* Figures of the run since `open`. */
struct rehearsal_figures {
    uint64_t batches;    /* started */
    uint32_t together;   /* most that executed concurrently */
    sim_time_t last_end; /* time of the last end */
    double late_ns_mean; /* start - due time, in ns of the replay's clock; */
    double late_ns_p99;  /* 0 in virtual time */
    sim_time_t late_ns_max;
};
struct rehearsal_figures rehearsal_figures(const struct rehearsal *rehearsal);

#endif
