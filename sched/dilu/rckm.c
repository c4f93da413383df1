#include "sched/dilu/rckm.h"

#include <math.h>

static const double start_kappa = 0.1;
static const double emergency = 1.6, beyond = 4;
static const double recovery = 1.2, growth = 1.3;
static const double floor_part = 0.01; /* of Σr: the least κ after an emergency */
static const double shortest_counted = 6;
enum { RECOVERY_EVERY = 5 };

void rckm_open(struct rckm *rckm)
{
    *rckm = (struct rckm){start_kappa, RCKM_ALONE};
}

void rckm_active(struct rckm *rckm)
{
    rckm->mode = RCKM_BESIDE;
}

void rckm_burst(struct rckm *rckm, struct rckm_task *task, double ticks, double requests)
{
    const bool known = task->shortest > 0;
    if (ticks > shortest_counted && (!known || ticks < task->shortest))
        task->shortest = ticks;
    task->bursts++;
    const double ratio = task->shortest > 0 ? ticks / task->shortest : 0;
    if (ratio >= emergency && ratio < beyond) {
        rckm->kappa = fmax(rckm->kappa / ratio, floor_part * requests);
    } else if (ratio < recovery && task->bursts % RECOVERY_EVERY == 0) {
        rckm->kappa = fmin(1, growth * rckm->kappa);
    }
}

void rckm_idle(struct rckm *rckm)
{
    *rckm = (struct rckm){1, RCKM_FREE};
}

void rckm_left(struct rckm *rckm, double requests, uint32_t count)
{
    /* Idle instances that are left set κ to 1 in the original's next tick. */
    if (rckm->mode == RCKM_FREE && count > 0)
        return;
    rckm->kappa = fmax(0, 1 - requests);
    if (count == 0)
        *rckm = (struct rckm){1, RCKM_FREE};
}

double rckm_share(const struct rckm *rckm, double request, double limit, double requests,
                  double limits)
{
    double share = rckm->kappa * request;
    if (rckm->mode == RCKM_ALONE)
        share = request / requests;
    else if (rckm->mode == RCKM_FREE)
        share = rckm->kappa * limits * request / requests;
    return fmin(share, limit);
}
