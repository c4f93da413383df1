/* Why jobs wait: the parts of their time (not a public header). "Waits" in sim/README.md has the
 * rules.
 *
 * Only where the recorder takes the rows of `parts`, beside those of decisions and batches. At each
 * step of the clock the invokers that changed are copied. When a batch is dispatched, its
 * configuration is held against these copies, for the time that its jobs waited: each copy is read
 * once per configuration in use. The copies are given up where no job waits.
 */
#ifndef ESGSIM_SIM_PLATFORM_WAITS_H
#define ESGSIM_SIM_PLATFORM_WAITS_H

#include "sim/platform/state.h"

/* Most runs record no parts: nothing of this grows the code of what every run does. */
#define WAITS_COLD __attribute__((cold))

/* Begins to look, if the parts are recorded. */
void waits_init(struct platform *platform) WAITS_COLD;
void waits_clear(struct platform *platform) WAITS_COLD;
/* Notes the state that holds from now on, before the clock moves. O(invokers that changed). */
void waits_advance(struct platform *platform) WAITS_COLD;
/* Records the parts before the dispatch of the batch, now. O(jobs × changes while they waited). */
void waits_record(struct platform *platform, const struct batch *batch) WAITS_COLD;
/* Records the parts from its dispatch to its answer, now. `work`: its execution without the host's
 * time; `alone`: the part of that without co-runners. The same to its loss. */
void waits_record_end(struct platform *platform, const struct batch *batch, sim_time_t work,
                      sim_time_t alone) WAITS_COLD;
void waits_record_lost(struct platform *platform, const struct batch *batch) WAITS_COLD;

#endif
