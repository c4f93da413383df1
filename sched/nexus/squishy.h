/* Nexus's squishy bin packing (Shen et al., SOSP'19, section 6.1): sessions onto GPUs.
 *
 * A GPU runs its sessions' batches one after another, each once per duty cycle. A session with
 * enough rate fills whole GPUs with the largest batch B such that waiting for one batch and running
 * in the next is within the SLO, 2 l(B) <= SLO. The remaining rate is a residual load. It uses the
 * largest batch b with l(b) + b / r <= SLO, gathered over the duty cycle d = b / r, and occupies
 * l(b) / d of a GPU. Residuals are merged in order of decreasing occupancy, each onto the GPU that
 * it fills best. The shorter duty cycle applies, batches shrink to b_i = ceil(d r_i) (hence
 * squishy), and all must fit, sum l(b_i) <= d. Polynomial; the exact problem is strongly NP-hard.
 */
#ifndef ESGSIM_SCHED_NEXUS_SQUISHY_H
#define ESGSIM_SCHED_NEXUS_SQUISHY_H

#include "sched/common/batch_latency.h"

/* Bound on a residual's batch. SQUISHY_PAPER: l(b) + b / r <= SLO [recall]. SQUISHY_CODE: l(b) + (b
 * - 1) / r <= SLO with d = min(SLO - l(b), b / r), as in the authors' scheduler [code]. If the rate
 * is so low that the paper's bound has no solution, both give b = 1. */
enum squishy_rule { SQUISHY_PAPER, SQUISHY_CODE };

struct squishy_session {
    const struct batch_latency *latency_table; /* for a whole GPU (or share) */
    double rate;                               /* jobs per second, >= 0 */
    sim_time_t slo;
    sim_time_t overhead; /* per batch, in addition to time and turnaround of the latency table */
};

struct squishy_share {
    uint32_t session;
    uint32_t batch; /* rounded up to a step of the latency table */
    double rate;    /* part of the session's load that this GPU serves */
};

struct squishy_node {
    sim_time_t duty;  /* every session's batch runs once in this time */
    double occupancy; /* busy fraction of the duty cycle, <= 1 */
    uint32_t first;   /* its shares are `count` entries of the plan's from here */
    uint32_t count;
    bool dedicated; /* filled by a single session; never merged */
};

struct squishy_plan {
    struct squishy_node *nodes; /* dedicated ones first, then by decreasing occupancy when opened */
    size_t node_count;
    struct squishy_share *shares;
    size_t share_count;
    uint64_t work; /* number of sessions and merges examined */
};

/* B: the largest batch with 2 l(B) <= slo; 0 if there is none. */
uint32_t squishy_saturating_batch(const struct squishy_session *session);

/* l(b) for `jobs` jobs; SIM_FOREVER if they exceed the latency table. */
sim_time_t squishy_step_time(const struct squishy_session *session, size_t step);
sim_time_t squishy_time(const struct squishy_session *session, uint32_t jobs);

/* Batch and duty cycle of a residual load `rate` > 0. False if no duty cycle both serves it in time
 * and is long enough for its own execution. */
bool squishy_residual(const struct squishy_session *session, double rate, enum squishy_rule rule,
                      uint32_t *batch, sim_time_t *duty);

/* Packs the sessions. Those with rate 0, or for which even a batch of one is too slow (2 l(1) >
 * slo), get nothing. False if more than `node_limit` nodes are needed. O(count × nodes × sessions
 * per node). */
bool squishy_pack(struct arena *arena, const struct squishy_session *sessions, size_t count,
                  enum squishy_rule rule, size_t node_limit, struct squishy_plan *plan);
/* Gives the memory of a plan back to its arena. */
void squishy_clear(struct squishy_plan *plan, struct arena *arena);

#endif
