/* A backend without a GPU: each batch ends when the model says, or as far off as asked for.
 *
 * In virtual time (speedup 0) a replay on it takes as long as a simulation, and without
 * interference, factor and jitter gives the same rows as one: this is how replays are checked, and
 * how one finds out what a replay would refuse before a GPU is touched. In real time it keeps a
 * GPU's pace against the monotonic clock, lateness included: a rehearsal of the loop, of which
 * nothing is a measurement.
 */
#ifndef ESGSIM_SIM_REHEARSAL_H
#define ESGSIM_SIM_REHEARSAL_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/backend.h"

struct rehearsal_options {
    double speedup;   /* simulated seconds in a second of the clock; 0: virtual time */
    double factor;    /* executed over modelled; 0 stands for 1 */
    double jitter_cv; /* of a factor of mean 1, lognormal, drawn anew for every batch */
    uint64_t seed;    /* of the jitter, added to the experiment's */
};

struct rehearsal;

/* NULL: ERROR_RUN, memory. Used for one run after the other: `open` begins anew. */
struct rehearsal *rehearsal_create(const struct rehearsal_options *options, struct error *error);
void rehearsal_destroy(struct rehearsal *rehearsal); /* NULL is allowed */

/* Valid until rehearsal_destroy. */
struct backend rehearsal_backend(struct rehearsal *rehearsal);

/* Of the run since `open`. */
struct rehearsal_figures {
    uint64_t batches;    /* started */
    uint32_t together;   /* most that executed at one time */
    sim_time_t last_end; /* when the last ended */
    double late_ns_mean; /* start against its due time, in ns of the replay's clock; */
    double late_ns_p99;  /* 0 in virtual time */
    sim_time_t late_ns_max;
};
struct rehearsal_figures rehearsal_figures(const struct rehearsal *rehearsal);

#endif
