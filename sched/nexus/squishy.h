/* Nexus's squishy bin packing (Shen et al., SOSP'19, section 6.1): sessions onto GPUs.
 *
 * A GPU runs its sessions' batches one after another, once in each duty cycle. A session with the
 * rate for it fills whole GPUs with the largest batch B for which waiting for one batch and running
 * in the next is within the SLO, 2 l(B) <= SLO. What rate is left is a residual load: the largest
 * batch b with l(b) + b / r <= SLO, gathered over the duty cycle d = b / r, occupies l(b) / d of a
 * GPU. Residuals are merged in order of falling occupancy, each onto the GPU that it fills best:
 * the shorter duty cycle holds, batches shrink to b_i = ceil(d r_i) (hence squishy), and all must
 * fit, sum l(b_i) <= d. Polynomial; the exact problem is strongly NP-hard.
 */
#ifndef ESGSIM_SCHED_NEXUS_SQUISHY_H
#define ESGSIM_SCHED_NEXUS_SQUISHY_H

#include "sched/common/ladder.h"

/* How a residual's batch is bounded: SQUISHY_PAPER, l(b) + b / r <= SLO [recall]; SQUISHY_CODE,
 * l(b) + (b - 1) / r <= SLO with d = min(SLO - l(b), b / r), which the authors' scheduler uses
 * [code]. Where the rate is so low that the paper's has no solution, both give b = 1. */
enum squishy_rule { SQUISHY_PAPER, SQUISHY_CODE };

struct squishy_session {
    const struct ladder *ladder; /* of a whole GPU (share) */
    double rate;                 /* jobs a second, >= 0 */
    sim_time_t slo;
    sim_time_t
        overhead; /* l(b) is this and the ladder's time: what else a batch holds the GPU for */
};

struct squishy_share {
    uint32_t session;
    uint32_t batch; /* rounded up to a step of the ladder */
    double rate;    /* of the session's load, what this GPU serves */
};

struct squishy_node {
    sim_time_t duty;  /* every session's batch runs once in this time */
    double occupancy; /* of it, the part in which the GPU works, <= 1 */
    uint32_t first;   /* of its shares in the plan's, `count` of them */
    uint32_t count;
    bool dedicated; /* one session that fills it, never merged */
};

struct squishy_plan {
    struct squishy_node *nodes; /* dedicated ones first, then by falling occupancy when opened */
    size_t node_count;
    struct squishy_share *shares;
    size_t share_count;
    uint64_t work; /* sessions and merges looked at */
};

/* B: the largest batch with 2 l(B) <= slo; 0 where there is none. */
uint32_t squishy_saturating_batch(const struct squishy_session *session);

/* l(b) of `jobs`; SIM_FOREVER where they are too many. */
sim_time_t squishy_time(const struct squishy_session *session, uint32_t jobs);

/* Batch and duty cycle of a residual load `rate` > 0. False where no duty cycle serves it in time
 * that its own execution fits into. */
bool squishy_residual(const struct squishy_session *session, double rate, enum squishy_rule rule,
                      uint32_t *batch, sim_time_t *duty);

/* Sessions without rate, or that not even a batch of one serves in time (2 l(1) > slo), get
 * nothing. At most `node_limit` nodes: false, without error, where more are needed or when out of
 * memory (error set). squishy_clear in any case. O(count × nodes × sessions of a node). */
bool squishy_pack(const struct squishy_session *sessions, size_t count, enum squishy_rule rule,
                  size_t node_limit, struct squishy_plan *plan, struct error *error);
void squishy_clear(struct squishy_plan *plan);

#endif
