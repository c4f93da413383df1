/* ESG (HPDC'24, arXiv 2404.16812): pipeline-conscious scheduling on shareable GPUs.
 *
 * A step first retries the queues that could not be placed (ESG_Dispatch's recheck list). Otherwise
 * it takes the next non-empty queue round robin and searches its cheapest configuration paths
 * within the deadline of its oldest job (ESG_1Q). It dispatches the first of them that fits. No
 * plan is kept from one stage to the next. Each plan is made from the current state, and deadlines
 * are absolute, so slack carries over.
 *
 * What the accounts of the paper leave open is a parameter:
 * - `later_batches`: only the batch of the stage at hand is known to be limited by its queue
 *   (recalled). "any": later stages of a plan may have any batch, also one that can never exist.
 *   "bounded": they have at most the batch of the stage at hand.
 * - `recheck`: "changed" (assumed): a queue is retried after a batch has finished or a container
 * has become idle. It is planned again, without counting a recheck, after jobs have joined or left
 * it. "each-step" (recalled): it is retried at every step of the controller, whatever its reason.
 * - `recheck_limit`: after so many failed rechecks the minimum configuration is tried, until it
 *   fits.
 * - `infeasible`: what is dispatched if no path meets the deadline, among the configurations that
 *   the queue can fill: the fastest (recalled), the one that costs least per job, or the minimum
 *   configuration. If it can fill none, it is the minimum configuration, partly empty.
 * - `late`: "ride" (assumed), the default: the oldest job that can still be met sets the budget,
 * and those before it ride along. The minimum configuration is then the smallest of the largest
 * batch that the queue can fill. "lead" (recalled): the oldest job sets it, so that one late job
 * plans for all: after one burst the queue is served one by one on large shares, and stays late.
 *
 * Ablation: every idea has a parameter that disables it. The defaults are the paper's, but for
 * `headroom` (assumed), the part of the SLO that plans leave unused.
 * - `sharing` off: only whole GPUs.
 * - `batching` off: batches of 1.
 * - `redistribution` off: a stage's budget is its own quota of the SLO, fixed when the request
 *   arrives, whatever time earlier stages saved or overran. Stages are then planned one by one, by
 *   either method.
 * - `locality`: "warm" ranks invokers by idle containers only, "off" not at all.
 * - `split`: other rules for the division of the SLO.
 * - `placement` "spread" (ours): the least loaded invoker of a rank, not the best fit.
 */
#include "sched/esg/esg_internal.h"

#include <string.h>

#include "sched/common/kinds.h"

/* ---- ESG_1Q ---------------------------------------------------------------------------------- */

/* Inserts a candidate at `place`; there must be room. */
static void esg_insert(struct esg_queue *queue, size_t place, uint16_t configuration, double cost,
                       sim_time_t time)
{
    for (size_t i = queue->candidate_count++; i > place; i--) {
        queue->candidates[i] = queue->candidates[i - 1];
        queue->cost[i] = queue->cost[i - 1];
        queue->time[i] = queue->time[i - 1];
    }
    queue->candidates[place] = configuration;
    queue->cost[place] = cost;
    queue->time[place] = time;
}

/* Inserts the first configuration of a plan by the plan's cost, if no cheaper plan has it. */
static void esg_candidate(struct esg_queue *queue, const struct search_path *path)
{
    size_t place = queue->candidate_count;
    for (size_t i = 0; i < queue->candidate_count; i++)
        if (queue->candidates[i] == path->configuration[0])
            return;
    while (place > 0 && path->cost_usd < queue->cost[place - 1])
        place--;
    if (queue->candidate_count == SEARCH_MAX_K && place < SEARCH_MAX_K)
        queue->candidate_count--;
    if (place < SEARCH_MAX_K)
        esg_insert(queue, place, path->configuration[0], path->cost_usd, path->time);
}

/* The minimum configuration on a kind of GPU on which the function runs. */
static uint16_t esg_minimum(const struct esg *esg, const struct esg_function *function,
                            const struct esg_kind *kind, uint32_t length)
{
    const struct configuration *best = &function->all[kind->minimum];
    for (size_t i = 0; i < kind->table->count && esg->parameters->late == LATE_RIDE; i++) {
        const struct configuration *here = &function->all[kind->table->index[i]];
        if (here->batch <= length &&
            (here->batch > best->batch ||
             (here->batch == best->batch && configuration_is_smaller(here, best))))
            best = here;
    }
    return (uint16_t)(best - function->all);
}

/* No plan meets the deadline: choose by `infeasible` among the configurations that the queue can
 * fill, one per kind of GPU. */
static void esg_choose_late(const struct esg *esg, const struct esg_function *function,
                            struct esg_queue *queue, uint32_t length)
{
    const struct search_table *table = function->table;
    uint64_t kinds = KINDS_ALL;
    for (size_t i = 0; i < table->count && esg->parameters->infeasible != INFEASIBLE_MINIMUM; i++) {
        size_t entry =
            esg->parameters->infeasible == INFEASIBLE_CHEAPEST ? function->by_cost[i] : i;
        if (table->batch[entry] > length || !kinds_contain(kinds, table->kind[entry]))
            continue;
        kinds = kinds_without(kinds, table->kind[entry]);
        esg_insert(queue, queue->candidate_count, table->index[entry], table->cost[entry],
                   table->time[entry]);
        if (esg->kind_count == 1)
            return;
    }
    /* Also if no batch is small enough: then it is partly empty. */
    for (uint32_t k = 0; k < esg->kind_count; k++)
        if (function->kinds[k].table != NULL && kinds_contain(kinds, k))
            esg_insert(queue, queue->candidate_count,
                       esg_minimum(esg, function, &function->kinds[k], length), 0.0, 0);
}

/* Finds the K best plans within queue->budget that begin on GPUs of `kind`, and stores them in
 * esg->result. Returns the number of units to charge. */
static uint64_t esg_search(struct esg *esg, const struct esg_application *planned,
                           const struct esg_function *function, uint32_t stage, uint32_t kind,
                           const struct esg_queue *queue)
{
    if (planned->frontiers != NULL) {
        frontier_plans_search(planned->frontiers, stage, queue->budget, queue->length, kind,
                              esg->parameters->k, &esg->result);
    } else {
        const struct slo_stage *part = &planned->plan->stages[stage];
        const struct search_table *tables[SEARCH_MAX_STAGES];
        for (size_t i = 0; i < part->chain_length; i++)
            tables[i] = i == 0 ? function->kinds[kind].table : planned->tables[part->chain[i]];
        const struct search_problem problem = {
            .stages = tables,
            .stage_count = part->chain_length,
            .budget = queue->budget,
            .queue_length = queue->length,
            .bounded = esg->bounded,
            .k = esg->parameters->k,
            .time_blade = true,
            .cost_blade = true,
        };
        search_astar(&problem, esg->workspace, &esg->result);
    }
    /* A search without an expansion still costs one unit. */
    return esg->result.expansions > 0 ? esg->result.expansions : 1;
}

/* Time from now to the deadline that the job's plans must meet, or its stage's quota. */
static sim_time_t esg_budget(const struct esg *esg, const struct esg_application *planned,
                             uint32_t stage, const struct job_view *job, sim_time_t now)
{
    double slo = (double)job->slo * (1 - esg->parameters->headroom);
    if (!esg->parameters->redistribution)
        return (sim_time_t)(slo * planned->plan->stages[stage].slot);
    if (esg->parameters->method == METHOD_ASTAR)
        slo *= planned->plan->stages[stage].deadline_fraction;
    return job->arrival + (sim_time_t)slo - now;
}

/* The budget of the queue's oldest job, or with `late` "ride" that of the oldest that can still be
 * met. If none can, any of them does. Charges for each job passed over. */
static sim_time_t esg_queue_budget(const struct esg *esg, struct platform *platform,
                                   const struct esg_application *planned, uint32_t queue)
{
    const uint32_t stage = platform_queue_stage(platform, queue);
    const uint32_t last = platform_queue_length(platform, queue) - 1;
    for (uint32_t i = 0;; i++) {
        const struct job_view job = platform_job(platform, queue, i);
        const sim_time_t budget = esg_budget(esg, planned, stage, &job, platform_now(platform));
        if (esg->parameters->late == LATE_LEAD || i == last || budget >= planned->fastest[stage]) {
            platform_charge(platform, i);
            return budget;
        }
    }
}

/* Makes the first configurations of the K best plans within the queue's budget its candidates. With
 * several kinds of GPU these are the K best plans for each kind of the first stage, so that a full
 * kind does not hide the others.
 *
 * A search depends only on the queue's stage, its length and the budget. If all three equal those
 * of the last search, its result is reused, and the same number of units is charged. This is the
 * case for most first stages, because an idle controller plans a request on arrival.
 */
static void esg_plan(struct esg *esg, struct platform *platform, uint32_t index)
{
    struct esg_queue *queue = &esg->queues[index];
    uint32_t stage = platform_queue_stage(platform, index);
    const struct esg_application *planned =
        &esg->applications[platform_queue_application(platform, index)];
    const struct esg_function *function = &esg->functions[platform_queue_function(platform, index)];
    uint32_t length = platform_queue_length(platform, index);
    sim_time_t budget = esg_queue_budget(esg, platform, planned, index);
    if (queue->units == 0 || queue->budget != budget || queue->length != length) {
        queue->budget = budget;
        queue->length = length;
        queue->units = 0;
        queue->candidate_count = 0;
        for (uint32_t k = 0; k < esg->kind_count; k++) {
            if (function->kinds[k].table == NULL)
                continue;
            queue->units += esg_search(esg, planned, function, stage, k, queue);
            for (size_t i = 0; i < esg->result.path_count; i++)
                esg_candidate(queue, &esg->result.paths[i]);
        }
        if (queue->candidate_count == 0)
            esg_choose_late(esg, function, queue, length);
    }
    platform_charge(platform, queue->units);
}

/* ---- ESG_Dispatch ---------------------------------------------------------------------------- */

static bool esg_try(struct esg *esg, struct platform *platform, uint32_t queue,
                    uint16_t configuration, double cost, sim_time_t time)
{
    uint32_t function = platform_queue_function(platform, queue);
    uint32_t invoker =
        placement_esg(platform, queue, configuration, esg->parameters->locality, esg->loads, false);
    if (invoker == SIM_NONE)
        return false;
    uint32_t batch =
        platform_workload(platform)->functions[function].configurations[configuration].batch;
    uint32_t length = platform_queue_length(platform, queue);
    platform_explain(platform, (uint32_t)esg->queues[queue].candidate_count, cost, time);
    if (!platform_dispatch(platform, queue, length < batch ? length : batch, configuration,
                           invoker))
        return false;
    esg->running++;
    if (esg->loads != NULL)
        load_index_update(esg->loads, platform, invoker);
    return true;
}

static bool esg_try_candidates(struct esg *esg, struct platform *platform, uint32_t queue)
{
    const struct esg_queue *q = &esg->queues[queue];
    for (size_t i = 0; i < q->candidate_count; i++)
        if (esg_try(esg, platform, queue, q->candidates[i], q->cost[i], q->time[i]))
            return true;
    return false;
}

/* True if a recheck of the listed queue may end otherwise than its last attempt. A dropped request
 * may also have removed its only job. */
static bool esg_due(const struct esg *esg, const struct platform *platform, uint32_t queue)
{
    const uint32_t length = platform_queue_length(platform, queue);
    return length == 0 || esg->queues[queue].tried != esg->changes ||
           (!esg->each_step && esg->queues[queue].seen != length);
}

static void esg_attempted(const struct esg *esg, const struct platform *platform, uint32_t queue)
{
    esg->queues[queue].tried = esg->changes;
    esg->queues[queue].seen = platform_queue_length(platform, queue);
}

/* The minimum configuration, on the first kind of GPU that has room. */
static bool esg_try_minimum(struct esg *esg, struct platform *platform, uint32_t queue)
{
    const struct esg_function *function = &esg->functions[platform_queue_function(platform, queue)];
    const uint32_t length = platform_queue_length(platform, queue);
    for (uint32_t k = 0; k < esg->kind_count; k++) {
        if (function->kinds[k].table == NULL)
            continue;
        const uint16_t minimum = esg_minimum(esg, function, &function->kinds[k], length);
        platform_charge(platform, 1);
        if (esg_try(esg, platform, queue, minimum, function->all[minimum].cost_per_job_usd,
                    function->all[minimum].time))
            return true;
    }
    return false;
}

/* After too many rechecks the minimum configuration is tried instead of the candidates. */
static bool esg_try_again(struct esg *esg, struct platform *platform, uint32_t queue)
{
    struct esg_queue *q = &esg->queues[queue];
    const bool changed = q->tried != esg->changes;
    const bool replan = !esg->each_step && q->seen != platform_queue_length(platform, queue);
    esg_attempted(esg, platform, queue);
    if (q->rechecks < esg->parameters->recheck_limit) {
        if (replan)
            esg_plan(esg, platform, queue);
        else
            platform_charge(platform, q->candidate_count);
        q->rechecks += changed;
        return esg_try_candidates(esg, platform, queue);
    }
    return esg_try_minimum(esg, platform, queue);
}

/* Retries the entries of the list that are due, up to the first success. */
static bool esg_recheck(struct esg *esg, struct platform *platform)
{
    size_t i = 0;
    while (i < esg->list_count) {
        uint32_t queue = esg->list[i];
        bool empty = platform_queue_length(platform, queue) == 0;
        if (empty || (esg_due(esg, platform, queue) && esg_try_again(esg, platform, queue))) {
            esg->queues[queue].listed = false;
            esg->list_count--;
            memmove(&esg->list[i], &esg->list[i + 1], (esg->list_count - i) * sizeof *esg->list);
            if (empty)
                continue;
            return true;
        }
        i++;
    }
    return false;
}

static bool esg_any_due(const struct esg *esg, const struct platform *platform)
{
    for (size_t i = 0; i < esg->list_count; i++)
        if (esg_due(esg, platform, esg->list[i]))
            return true;
    return false;
}

/* The next non-empty queue that is not on the recheck list. */
static uint32_t esg_next(const struct esg *esg, const struct platform *platform)
{
    uint32_t from = esg->cursor;
    for (size_t tries = 0; tries <= esg->list_count; tries++) {
        uint32_t queue = platform_next_queue(platform, from);
        if (queue == SIM_NONE || !esg->queues[queue].listed)
            return queue;
        from = (queue + 1) % esg->queue_count;
    }
    return SIM_NONE;
}

static void esg_schedule(struct esg *esg, struct platform *platform, uint32_t queue)
{
    esg->cursor = (queue + 1) % esg->queue_count;
    esg->queues[queue].rechecks = 0;
    esg_plan(esg, platform, queue);
    if (esg_try_candidates(esg, platform, queue))
        return;
    esg->queues[queue].listed = true;
    esg->list[esg->list_count++] = queue;
    esg_attempted(esg, platform, queue);
}

static bool esg_decide(void *state, struct platform *platform)
{
    struct esg *esg = state;
    /* A new round for which no job is the reason: a container has started, or a batch has finished.
     * If nothing runs, no batch will finish: retry at every round, so that no queue is forgotten.
     */
    if (!esg->in_round && (esg->each_step || !esg->joined || esg->running == 0))
        esg->changes++;
    esg->joined = false;
    if (!esg_recheck(esg, platform)) {
        uint32_t queue = esg_next(esg, platform);
        if (queue != SIM_NONE)
            esg_schedule(esg, platform, queue);
    }
    esg->in_round = esg_any_due(esg, platform) || esg_next(esg, platform) != SIM_NONE;
    return esg->in_round;
}

static void esg_on_ready(void *state, struct platform *platform, uint32_t queue)
{
    struct esg *esg = state;
    esg->joined = true;
}

static void esg_on_finish(void *state, struct platform *platform,
                          const struct finished_batch *batch)
{
    struct esg *esg = state;
    if (esg->loads != NULL)
        load_index_update(esg->loads, platform, batch->invoker);
    esg->running -= esg->running > 0; /* as policy.shadow it is told of batches of another */
    esg->changes++;
}

const struct policy policy_esg = {
    .abi = POLICY_ABI,
    .name = "esg",
    .summary =
        "ESG (HPDC'24): K cheapest configuration paths within group deadlines, data locality",
    .parameters = esg_parameters,
    .parameters_bytes = sizeof(struct esg_parameters),
    .state_bytes = sizeof(struct esg),
    .init = esg_init,
    .on_ready = esg_on_ready,
    .on_finish = esg_on_finish,
    .decide = esg_decide,
    .advises = true,
};
