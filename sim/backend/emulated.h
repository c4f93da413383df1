/* An emulated backend, without a GPU. Each batch ends at the time given by the model, optionally
 * with a deviation.
 *
 * In virtual time (speedup 0) a replay takes as long as a simulation. Without interference, factor
 * and jitter it gives the same rows as the simulation. Tests use this to check replays. Users find
 * out what a replay would refuse before they use a GPU.
 *
 * In real time the emulation follows the monotonic clock, lateness included. It exercises the loop,
 * but none of its times are measurements.
 */
#ifndef ESGSIM_SIM_BACKEND_EMULATED_H
#define ESGSIM_SIM_BACKEND_EMULATED_H

#include <stdint.h>

#include "sim/backend/backend.h"

struct emulated_options {
    double speedup; /* simulated seconds per second of the clock; 0: virtual time */
    double factor;  /* executed / modelled; 0 means 1 */
    /* coefficient of variation of a lognormal factor with mean 1, drawn per batch */
    double jitter_cv;
    uint64_t seed; /* of the jitter; the experiment's seed is added */
};

struct emulated;

/* It can be used for several runs in sequence, because `open` resets it. End it with
 * arena_home_free. */
struct emulated *emulated_create(const struct emulated_options *options);

/* Valid until that. */
struct backend emulated_backend(struct emulated *rehearsal);

/* Figures of the run since `open`. */
struct emulated_figures {
    uint64_t batches;    /* started */
    uint32_t together;   /* greatest number that executed concurrently */
    sim_time_t last_end; /* time of the last end */
    double late_ns_mean; /* start - due time, in ns of the replay's clock; */
    double late_ns_p99;  /* 0 in virtual time */
    sim_time_t late_ns_max;
};
struct emulated_figures emulated_figures(const struct emulated *rehearsal);

#endif
