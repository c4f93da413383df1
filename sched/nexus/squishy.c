#include "sched/nexus/squishy.h"

#include <math.h>
#include <stdlib.h>

/* Tolerance of b = d r: rates are measured, durations are whole nanoseconds. */
static const double rounding = 1e-6;

/* A residual load, before and after it is merged. */
struct residual {
    uint32_t session;
    double rate;
    uint32_t batch;
    sim_time_t duty;
    double occupancy;
    uint32_t next; /* next residual of the same node; SIM_NONE: last */
};

struct packing {
    const struct squishy_session *sessions;
    struct squishy_plan *plan;
    struct residual *residuals;
    size_t residual_count;
    uint32_t *heads; /* by merged node: head of its list of residuals */
    sim_time_t *duties;
    double *occupancies;
    size_t merged_count;
};

sim_time_t squishy_step_time(const struct squishy_session *session, size_t step)
{
    return step < session->latency_table->count
               ? session->latency_table->time[step] +
                     batch_latency_turnaround(session->latency_table, step) + session->overhead
               : SIM_FOREVER;
}

sim_time_t squishy_time(const struct squishy_session *session, uint32_t jobs)
{
    return squishy_step_time(session, batch_latency_step(session->latency_table, jobs));
}

uint32_t squishy_saturating_batch(const struct squishy_session *session)
{
    const struct batch_latency *latency_table = session->latency_table;
    uint32_t batch = 0;
    for (size_t i = 0;
         i < latency_table->count && 2 * squishy_step_time(session, i) <= session->slo; i++)
        batch = latency_table->batch[i];
    return batch;
}

/* The longest duty cycle in which at most b jobs gather and after which they are still in time. */
static sim_time_t residual_duty(uint32_t batch, sim_time_t time, double rate, sim_time_t slo)
{
    const double gather = (double)batch / rate * (double)SIM_S;
    const sim_time_t most = slo - time;
    return gather < (double)most ? (sim_time_t)gather : most;
}

bool squishy_residual(const struct squishy_session *session, double rate, enum squishy_rule rule,
                      uint32_t *batch, sim_time_t *duty)
{
    const struct batch_latency *latency_table = session->latency_table;
    sim_time_t time = 0;
    *batch = 0;
    for (size_t i = 0; i < latency_table->count; i++) {
        const sim_time_t here = squishy_step_time(session, i);
        const double gathered = (double)latency_table->batch[i] - (rule == SQUISHY_CODE ? 1 : 0);
        const double latest = (double)here + gathered / rate * (double)SIM_S;
        if (here > session->slo || (i > 0 && latest > (double)session->slo * (1 + 1e-12)))
            break;
        *batch = latency_table->batch[i];
        time = here;
    }
    if (*batch == 0)
        return false;
    *duty = residual_duty(*batch, time, rate, session->slo);
    return *duty > 0 && time <= *duty;
}

/* ceil(d r) rounded up to a step of the latency table; `time` receives its time. */
static uint32_t squeezed(const struct squishy_session *session, double rate, sim_time_t duty,
                         sim_time_t *time)
{
    const double jobs = ceil(sim_to_s(duty) * rate - rounding);
    const size_t step = batch_latency_step(session->latency_table, jobs > 1 ? (uint32_t)jobs : 1);
    *time = squishy_step_time(session, step);
    return step < session->latency_table->count ? session->latency_table->batch[step] : 0;
}

static int compare_occupancy(const void *left, const void *right)
{
    const struct residual *a = left;
    const struct residual *b = right;
    if (a->occupancy != b->occupancy)
        return a->occupancy > b->occupancy ? -1 : 1;
    return a->session < b->session ? -1 : a->session > b->session;
}

static void node_open(struct squishy_plan *plan, sim_time_t duty, double occupancy, bool dedicated)
{
    plan->nodes[plan->node_count++] = (struct squishy_node){.duty = duty,
                                                            .occupancy = occupancy,
                                                            .first = (uint32_t)plan->share_count,
                                                            .dedicated = dedicated};
}

static void node_add(struct squishy_plan *plan, struct squishy_share share)
{
    plan->shares[plan->share_count++] = share;
    plan->nodes[plan->node_count - 1].count++;
}

/* Assigns whole GPUs, then the residual. False if the limit is reached. */
static bool session_split(struct packing *packing, uint32_t index, enum squishy_rule rule,
                          size_t node_limit)
{
    const struct squishy_session *session = &packing->sessions[index];
    const uint32_t batch = squishy_saturating_batch(session);
    if (batch == 0 || !(session->rate > 0))
        return true;
    const sim_time_t time = squishy_time(session, batch);
    const double throughput = (double)batch / sim_to_s(time);
    double whole = floor(session->rate / throughput + rounding);
    if (whole > (double)node_limit)
        return false;
    const double left = session->rate - whole * throughput;
    struct residual residual = {.session = index, .rate = left, .next = SIM_NONE};
    if (left > throughput * rounding) {
        if (squishy_residual(session, left, rule, &residual.batch, &residual.duty)) {
            residual.occupancy =
                (double)squishy_time(session, residual.batch) / (double)residual.duty;
            packing->residuals[packing->residual_count++] = residual;
        } else {
            whole++;
        }
    }
    double rate = session->rate;
    for (size_t i = 0; i < (size_t)whole; i++) {
        if (packing->plan->node_count == node_limit)
            return false;
        const double share = rate < throughput ? rate : throughput;
        node_open(packing->plan, time, 1, true);
        node_add(packing->plan, (struct squishy_share){index, batch, share});
        rate -= share;
    }
    return true;
}

/* Occupancy of merged node `node` together with `candidate`; above 1 if it does not fit. */
static double merged_occupancy(struct packing *packing, size_t node,
                               const struct residual *candidate)
{
    const sim_time_t old = packing->duties[node];
    const sim_time_t duty = candidate->duty < old ? candidate->duty : old;
    sim_time_t time = 0;
    sim_time_t work = 0;
    packing->plan->work++;
    if (squeezed(&packing->sessions[candidate->session], candidate->rate, duty, &work) == 0)
        return 2;
    for (uint32_t i = packing->heads[node]; i != SIM_NONE; i = packing->residuals[i].next) {
        const struct residual *here = &packing->residuals[i];
        packing->plan->work++;
        if (squeezed(&packing->sessions[here->session], here->rate, duty, &time) == 0)
            return 2;
        work += time;
        if (work > duty)
            return 2;
    }
    return work > duty ? 2 : (double)work / (double)duty;
}

/* Merges the residual into the node that it fills best, or opens a new node. */
static void residual_merge(struct packing *packing, uint32_t index)
{
    struct residual *candidate = &packing->residuals[index];
    size_t best = packing->merged_count;
    double most = -1;
    for (size_t n = 0; n < packing->merged_count; n++) {
        if (packing->occupancies[n] + rounding >= 1)
            continue;
        const double occupancy = merged_occupancy(packing, n, candidate);
        if (occupancy <= 1 && occupancy > most) {
            most = occupancy;
            best = n;
        }
    }
    if (best == packing->merged_count) {
        packing->merged_count++;
        packing->duties[best] = candidate->duty;
        packing->occupancies[best] = candidate->occupancy;
        packing->heads[best] = index;
        return;
    }
    if (candidate->duty < packing->duties[best])
        packing->duties[best] = candidate->duty;
    packing->occupancies[best] = most;
    uint32_t last = packing->heads[best];
    while (packing->residuals[last].next != SIM_NONE)
        last = packing->residuals[last].next;
    packing->residuals[last].next = index;
}

static void nodes_write(struct packing *packing)
{
    for (size_t n = 0; n < packing->merged_count; n++) {
        node_open(packing->plan, packing->duties[n], packing->occupancies[n], false);
        for (uint32_t i = packing->heads[n]; i != SIM_NONE; i = packing->residuals[i].next) {
            const struct residual *here = &packing->residuals[i];
            sim_time_t time;
            const uint32_t batch =
                squeezed(&packing->sessions[here->session], here->rate, packing->duties[n], &time);
            node_add(packing->plan, (struct squishy_share){here->session, batch, here->rate});
        }
    }
}

static bool pack(struct packing *packing, size_t count, enum squishy_rule rule, size_t node_limit)
{
    for (uint32_t s = 0; s < count; s++) {
        packing->plan->work++;
        if (!session_split(packing, s, rule, node_limit))
            return false;
    }
    qsort(packing->residuals, packing->residual_count, sizeof *packing->residuals,
          compare_occupancy);
    for (uint32_t i = 0; i < packing->residual_count; i++) {
        residual_merge(packing, i);
        if (packing->plan->node_count + packing->merged_count > node_limit)
            return false;
    }
    nodes_write(packing);
    return true;
}

bool squishy_pack(struct arena *arena, const struct squishy_session *sessions, size_t count,
                  enum squishy_rule rule, size_t node_limit, struct squishy_plan *plan)
{
    *plan = (struct squishy_plan){
        .nodes = arena_allocate(arena, node_limit + 1, sizeof *plan->nodes),
        .shares = arena_allocate(arena, node_limit + count + 1, sizeof *plan->shares)};
    struct packing packing = {.sessions = sessions,
                              .plan = plan,
                              .residuals = arena_allocate(arena, count, sizeof *packing.residuals),
                              .heads = arena_allocate(arena, count, sizeof *packing.heads),
                              .duties = arena_allocate(arena, count, sizeof *packing.duties),
                              .occupancies =
                                  arena_allocate(arena, count, sizeof *packing.occupancies)};
    const bool packed = pack(&packing, count, rule, node_limit);
    arena_release(arena, packing.residuals);
    arena_release(arena, packing.heads);
    arena_release(arena, packing.duties);
    arena_release(arena, packing.occupancies);
    return packed;
}

void squishy_clear(struct squishy_plan *plan, struct arena *arena)
{
    arena_release(arena, plan->nodes);
    arena_release(arena, plan->shares);
    *plan = (struct squishy_plan){0};
}
