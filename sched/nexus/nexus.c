/* Nexus (Shen et al., SOSP'19): whole GPUs, packed with sessions by their batches' duty cycles.
 *
 * Evidence: [code] read in the authors' public repository (uwsampl/nexus @ b436191), [recall] from
 * memory of the paper, [derived] our porting.
 *
 * A session is a model with a latency objective. Squishy bin packing (squishy.h) determines which
 * sessions share a GPU, and with which batches. Each GPU runs its sessions' batches one at a time,
 * round after round without pause [code]. The SLO of a query of several models is split over them
 * by dynamic programming (split.h). Jobs that the next batch would finish too late are dropped from
 * the queue's head before it starts [code: sliding window].
 *
 * Every `min_epoch_s` the rates are measured. A new plan is made if the last one is `epoch_s` old,
 * or if a session's rate is outside 0.8 to 1.1 of its planned rate. Rates below 0.1 per second
 * count as 0.1 [code].
 *
 * Porting assumptions:
 * - A session is an AFW queue: stages of one function in different applications have different
 *   budgets. Nexus's sharing of model prefixes has no counterpart [derived].
 * - `vgpu` is the share of a node. The default 0 is a whole GPU as in the paper: each function has
 *   its largest possible share. The vCPUs are those of the fastest configuration that leaves enough
 *   for the invoker's other nodes [derived].
 * - A batch starts on the first free node of its session. Nexus's frontends distribute requests to
 *   nodes by fixed weights, which balances no better [derived].
 * - A stage's rate is measured where its jobs become ready. The first plan is made a tenth of
 *   `min_epoch_s` after the first job (1 s). Before it, and for a session without room on any node,
 *   any free node serves the queue in batches of at most B. Planned nodes do so at the end of a
 *   round. The next plans follow after 2, 4 and 8 times that [derived: Nexus is given expected
 *   rates].
 * - The cluster does not grow. If a plan needs more nodes than exist, all rates are scaled down by
 *   one factor until it fits, and early drop sheds the excess [derived].
 * - A job is dropped if its request could not meet the deadline by the fastest path through the
 *   later stages. The stage's own budget does not count, so that no request is lost that might
 *   still be served [derived].
 * - The cost that the split minimises is rate / throughput [code]; "packed" is the part of a GPU
 *   that squishy packing uses, including the residual load [derived].
 * - A node gets the share of the plan whose functions it served most before. Containers for its
 *   functions are started at once and kept, others are kept for `keep_s` [derived].
 * - l(b) is the profile's time plus the mean time for which a batch holds its GPU before it
 *   executes (input transfer, decision), which is measured during the run. Nexus profiles the time
 *   for which a batch occupies a GPU, and a plan that fills GPUs must include it [derived].
 *   Predictions exclude cold starts and noise. Planning is charged as decision time (sums and
 *   merges compared), although Nexus plans outside the request path.
 */
#include "sched/nexus/nexus_internal.h"

#include "sched/memory.h"
enum { SCALINGS = 8 };

static const double least_rate = 0.1;
static const double rate_low = 0.8;
static const double rate_high = 1.1;

/* ---- Plans ----------------------------------------------------------------------------------- */

/* Measures the rates since the last call. True if a rate is outside the planned range. */
static bool rates_take(struct nexus *nexus, sim_time_t now)
{
    const double elapsed = sim_to_s(now - nexus->since);
    bool left = false;
    for (uint32_t q = 0; q < nexus->workload->queue_count; q++) {
        const double rate = (double)nexus->arrived[q] / elapsed;
        nexus->rates[q] = rate > least_rate ? rate : least_rate;
        nexus->arrived[q] = 0;
        for (uint32_t k = 0; k < nexus->kinds; k++)
            if (nexus->parameters->overhead == OVERHEAD_MEASURED)
                session_of(nexus, k, q)->overhead = duty_cycle_overhead(nexus->cycle, q);
        left = left || nexus->rates[q] < rate_low * nexus->served[q] ||
               nexus->rates[q] > rate_high * nexus->served[q];
    }
    nexus->since = now;
    return left;
}

/* The plan for the nodes of one kind. Finds by bisection with SCALINGS bits the largest common
 * factor on the rates for which it fits. */
static void plan_make(struct nexus *nexus, struct arena *arena, uint32_t kind,
                      struct squishy_plan *plan)
{
    struct squishy_session *sessions = session_of(nexus, kind, 0);
    const size_t queues = nexus->workload->queue_count;
    const enum squishy_rule rule = nexus->parameters->residual;
    double applied = 1;
    double range[2] = {0, 1}; /* a factor that fits, and one that does not */
    double factor = 1;
    uint64_t work = 0;
    for (int i = 0; i <= SCALINGS + 1; i++) {
        if (!(factor > 0))
            return;
        for (size_t q = 0; q < queues; q++)
            sessions[q].rate *= factor / applied;
        applied = factor;
        const bool done =
            squishy_pack(arena, sessions, queues, rule, nexus->nodes_of_kind[kind], plan);
        work += plan->work;
        plan->work = work;
        if (done && (factor >= 1 || i > SCALINGS))
            return;
        range[0] = done ? factor : range[0];
        range[1] = done ? range[1] : factor;
        factor = i < SCALINGS ? (range[0] + range[1]) / 2 : range[0];
        squishy_clear(plan, arena);
        plan->work = work;
    }
}

/* Number of the plan's sessions whose function the node served before; -1: it cannot run them. */
static int likeness(const struct nexus *nexus, const struct squishy_plan *plan,
                    const struct squishy_node *wanted, const struct node *node)
{
    int alike = 0;
    for (uint32_t s = 0; s < wanted->count; s++) {
        const uint32_t queue = plan->shares[wanted->first + s].session;
        if (!nexus_runs_on(nexus, node, queue))
            return -1;
        alike += nexus->planned[node->invoker * nexus->workload->function_count +
                                function_of(nexus, queue)];
    }
    return alike;
}

/* Gives the shares of the plan for one kind to its nodes. */
static void plan_assign(struct nexus *nexus, uint32_t kind)
{
    const struct squishy_plan *plan = &nexus->plans[kind];
    for (uint32_t p = 0; p < plan->node_count; p++) {
        size_t best = nexus->node_count;
        int most = -1;
        for (size_t n = 0; n < nexus->node_count; n++) {
            if (nexus->nodes[n].kind != kind || nexus->nodes[n].plan != SIM_NONE)
                continue;
            const int alike = likeness(nexus, plan, &plan->nodes[p], &nexus->nodes[n]);
            if (alike > most) {
                most = alike;
                best = n;
            }
        }
        if (best < nexus->node_count)
            nexus->nodes[best].plan = p;
    }
}

/* Starts containers for new functions of the invoker, and releases those no longer planned. */
static void plan_load(struct nexus *nexus, struct platform *platform)
{
    const size_t functions = nexus->workload->function_count;
    const size_t cells = nexus->workload->cluster.invoker_count * functions;
    for (size_t i = 0; i < cells; i++)
        nexus->planned[i] = (uint8_t)(nexus->planned[i] << 1 & 2);
    for (size_t n = 0; n < nexus->node_count; n++) {
        const struct node *node = &nexus->nodes[n];
        const struct squishy_plan *plan = &nexus->plans[node->kind];
        if (node->plan == SIM_NONE)
            continue;
        const struct squishy_node *planned = &plan->nodes[node->plan];
        for (uint32_t s = 0; s < planned->count; s++) {
            const uint32_t queue = plan->shares[planned->first + s].session;
            const uint32_t f = platform_queue_function(platform, queue);
            uint8_t *cell = &nexus->planned[node->invoker * functions + f];
            if (*cell == 0 && platform_warm(platform, f, node->invoker) == 0)
                (void)platform_prewarm(platform, f, node->invoker);
            *cell |= 1;
        }
    }
    for (size_t i = 0; i < cells; i++)
        nexus->planned[i] &= 1;
}

static void plan_install(struct nexus *nexus, const struct platform *platform)
{
    duty_cycle_begin(nexus->cycle);
    for (uint32_t q = 0; q < nexus->workload->queue_count; q++)
        nexus->served[q] = 0;
    for (uint32_t n = 0; n < nexus->node_count; n++) {
        const struct node *node = &nexus->nodes[n];
        const struct squishy_plan *plan = &nexus->plans[node->kind];
        duty_cycle_add_server(nexus->cycle, node->invoker, n);
        if (node->plan == SIM_NONE)
            continue;
        const struct squishy_node *planned = &plan->nodes[node->plan];
        for (uint32_t s = 0; s < planned->count; s++) {
            const struct squishy_share *share = &plan->shares[planned->first + s];
            duty_cycle_add_slot(nexus->cycle,
                                slot_of(nexus, node->kind, share->session, share->batch));
            nexus->served[share->session] += share->batch / sim_to_s(planned->duty);
        }
    }
    duty_cycle_end(nexus->cycle, platform);
}

/* The budgets of all stages, and a plan for each kind of GPU with its part of the rates. */
static void plans_make(struct nexus *nexus, struct platform *platform,
                       const struct budgets_rule *rule)
{
    const uint32_t queues = nexus->workload->queue_count;
    if (nexus->parameters->split == SPLIT_DP)
        budgets_fill(nexus->sessions, nexus->rates, platform, rule, nexus->cost);
    for (uint32_t q = 0; q < queues; q++)
        budgets_divide(&nexus->sessions[q], queues, rule, nexus->rates[q]);
    uint64_t work = 0;
    for (uint32_t k = 0; k < nexus->kinds; k++) {
        plan_make(nexus, platform_arena(platform), k, &nexus->plans[k]);
        work += nexus->plans[k].work;
    }
    platform_charge(platform, work);
}

static void replan(struct nexus *nexus, struct platform *platform)
{
    const sim_time_t now = platform_now(platform);
    const sim_time_t least = nexus->parameters->min_epoch_s;
    const bool begun = nexus->interval < least;
    const struct budgets_rule rule = {.steps = nexus->parameters->split_steps,
                                      .packed = nexus->parameters->split_cost == COST_PACKED,
                                      .residual = nexus->parameters->residual,
                                      .parts = nexus->parts,
                                      .kinds = nexus->kinds};
    nexus->due = false;
    const bool left = rates_take(nexus, now);
    nexus->interval = 2 * nexus->interval < least ? 2 * nexus->interval : least;
    platform_set_timer(platform, now + nexus->interval, TIMER_PLAN);
    if (!begun && !left && now - nexus->planned_at < nexus->parameters->epoch_s)
        return;
    plans_make(nexus, platform, &rule);
    for (size_t n = 0; n < nexus->node_count; n++)
        nexus->nodes[n].plan = SIM_NONE;
    for (uint32_t k = 0; k < nexus->kinds; k++)
        plan_assign(nexus, k);
    plan_load(nexus, platform);
    plan_install(nexus, platform);
    nexus->planned_at = now;
    for (uint32_t k = 0; k < nexus->kinds; k++)
        squishy_clear(&nexus->plans[k], platform_arena(platform));
}

/* ---- Events ---------------------------------------------------------------------------------- */

static void nexus_on_ready(void *state, struct platform *platform, uint32_t queue)
{
    struct nexus *nexus = state;
    if (nexus->interval == 0) {
        const sim_time_t least = nexus->parameters->min_epoch_s;
        nexus->interval = least / 10;
        nexus->since = platform_now(platform);
        platform_set_timer(platform, nexus->since + nexus->interval, TIMER_PLAN);
    }
    nexus->arrived[queue]++;
    duty_cycle_on_ready(nexus->cycle, queue);
}

static void nexus_on_finish(void *state, struct platform *platform,
                            const struct finished_batch *batch)
{
    struct nexus *nexus = state;
    duty_cycle_on_finish(nexus->cycle, batch);
}

static void nexus_on_timer(void *state, struct platform *platform, uint32_t id)
{
    struct nexus *nexus = state;
    if (id == TIMER_PLAN)
        nexus->due = true;
    else
        duty_cycle_wake(nexus->cycle);
}

static bool nexus_decide(void *state, struct platform *platform)
{
    struct nexus *nexus = state;
    if (nexus->due)
        replan(nexus, platform);
    return duty_cycle_decide(nexus->cycle, platform);
}

static sim_time_t nexus_keep_alive(void *state, struct platform *platform, uint32_t function,
                                   uint32_t invoker)
{
    const struct nexus *nexus = state;
    return nexus->planned[invoker * nexus->workload->function_count + function] != 0
               ? SIM_FOREVER
               : nexus->parameters->keep_s;
}

const struct policy policy_nexus = {
    .abi = POLICY_ABI,
    .places_containers = true,
    .name = "nexus",
    .refuses = "what its next batch would finish too late",
    .summary = "Nexus (SOSP'19): squishy bin packing of sessions onto whole GPUs",
    .parameters = nexus_parameters,
    .parameters_bytes = sizeof(struct nexus_parameters),
    .state_bytes = sizeof(struct nexus),
    .init = nexus_init,
    .on_ready = nexus_on_ready,
    .on_finish = nexus_on_finish,
    .on_timer = nexus_on_timer,
    .decide = nexus_decide,
    .keep_alive = nexus_keep_alive,
};
