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
#include "sched/policy.h"
#include "sched/policy_bookkeeping.h"

#include <math.h>
#include <stdlib.h>

#include "sched/common/duty_cycle.h"
#include "sched/common/kinds.h"
#include "sched/nexus/budgets.h"

enum { TIMER_PLAN, TIMER_RETRY };
enum { SPLIT_DP, SPLIT_PROPORTIONAL, SPLIT_EQUAL };
enum { COST_THROUGHPUT, COST_PACKED };
enum { OVERHEAD_MEASURED, OVERHEAD_NONE };
enum { SCALINGS = 8 };

static const double least_rate = 0.1;
static const double rate_low = 0.8;
static const double rate_high = 1.1;

enum parameter_index {
    PARAMETER_VGPU,
    PARAMETER_MAX_BATCH,
    PARAMETER_SPLIT,
    PARAMETER_COST,
    PARAMETER_STEPS,
    PARAMETER_RESIDUAL,
    PARAMETER_OVERHEAD,
    PARAMETER_DROP,
    PARAMETER_EPOCH,
    PARAMETER_MIN_EPOCH,
    PARAMETER_KEEP,
    PARAMETER_COUNT
};

static const struct parameter nexus_parameters[PARAMETER_COUNT] = {
    [PARAMETER_VGPU] = {"vgpu", 0, 0, 65535, NULL,
                        "share of a GPU that a node has; 0: a whole GPU (recall)"},
    [PARAMETER_MAX_BATCH] = {"max_batch", 65535, 1, 65535, NULL, "most jobs per batch"},
    [PARAMETER_SPLIT] = {"split", SPLIT_DP, 0, 2, "dp|proportional|equal",
                         "a stage's share of the SLO: dynamic programming (code), or fixed"},
    [PARAMETER_COST] = {"split_cost", COST_THROUGHPUT, 0, 1, "throughput|packed",
                        "cost in the split: rate / throughput (code), or GPUs as packed"},
    [PARAMETER_STEPS] = {"split_steps", 100, 4, 1000, NULL, "parts of the SLO in the split"},
    [PARAMETER_RESIDUAL] = {"residual", SQUISHY_CODE, 0, 1, "paper|code",
                            "batch of a residual load: l(b)+b/r (recall) or l(b)+(b-1)/r <= SLO"},
    [PARAMETER_OVERHEAD] = {"overhead", OVERHEAD_MEASURED, 0, 1, "measured|none",
                            "time added to execution in the plan (derived)"},
    [PARAMETER_DROP] = {"early_drop", 0, 0, 1, "on|off",
                        "drop jobs that the next batch would finish too late (code)"},
    [PARAMETER_EPOCH] = {"epoch_s", 30, 0.1, 86400, NULL, "largest age of a plan (code)"},
    [PARAMETER_MIN_EPOCH] = {"min_epoch_s", 10, 0.1, 86400, NULL,
                             "interval between measurements of the rates (code)"},
    [PARAMETER_KEEP] = {"keep_s", 600, 0, 1e6, NULL,
                        "keep-alive of containers that are not in the plan (assumed)"},
};

/* A share of a GPU. */
struct node {
    uint32_t invoker, kind;
    const struct invoker_group *group;
    uint32_t plan; /* index of its node in the plan of its kind; SIM_NONE if it has none */
};

struct nexus {
    const struct workload *workload;
    double values[PARAMETER_COUNT];
    struct planner *planner;
    uint32_t kinds;
    struct batch_latency *ladders; /* by function and kind of GPU; empty if it cannot run there */
    sim_time_t *rest;              /* by queue: the fastest path through the later stages */
    struct node *nodes;            /* ascending by invoker */
    size_t node_count;
    size_t *nodes_of_kind;
    double *parts;                    /* by kind: its part of all nodes */
    uint64_t *arrived;                /* by queue, since `since` */
    double *rates;                    /* by queue: measured, in jobs per second */
    double *served;                   /* by queue: planned rate in jobs per second */
    struct squishy_session *sessions; /* by kind and queue */
    struct squishy_plan *plans;       /* by kind; while a plan is made */
    double *cost;                     /* scratch of the split */
    uint8_t *planned;                 /* by invoker × function */
    struct duty_cycle *rounds;
    sim_time_t since, planned_at;
    sim_time_t interval; /* time until the rates are measured next */
    bool due;
};

/* ---- Set-up ---------------------------------------------------------------------------------- */

static void nexus_finish(void *state)
{
    struct nexus *nexus = state;
    const size_t ladders = nexus->workload->function_count * nexus->kinds;
    for (size_t i = 0; nexus->ladders != NULL && i < ladders; i++)
        batch_latency_clear(&nexus->ladders[i]);
    planner_destroy(nexus->planner);
    duty_cycle_destroy(nexus->rounds);
    free(nexus->ladders);
    free(nexus->rest);
    free(nexus->nodes);
    free(nexus->nodes_of_kind);
    free(nexus->parts);
    free(nexus->arrived);
    free(nexus->rates);
    free(nexus->plans);
    free(nexus->served);
    free(nexus->sessions);
    free(nexus->cost);
    free(nexus->planned);
    *nexus = (struct nexus){0};
}

static uint32_t shares_of(const struct gpu_spec *gpu, uint32_t vgpu)
{
    const uint32_t shares = vgpu > 0 ? gpu->units / vgpu : 1;
    return shares > 0 ? shares : 1;
}

/* Nodes of one invoker of the group. Without a GPU it is one node. */
static uint32_t nodes_of(const struct invoker_group *group, uint32_t vgpu)
{
    uint32_t count = 0;
    for (size_t g = 0; g < group->gpu_count; g++)
        count += shares_of(&group->gpus[g], vgpu);
    return count > 0 ? count : 1;
}

static void node_add(struct nexus *nexus, uint32_t invoker, const struct invoker_group *group,
                     uint32_t kind)
{
    nexus->nodes[nexus->node_count++] = (struct node){invoker, kind, group, SIM_NONE};
    nexus->nodes_of_kind[kind]++;
}

static void nodes_fill(struct nexus *nexus, uint32_t vgpu)
{
    const struct cluster_spec *cluster = &nexus->workload->cluster;
    uint32_t invoker = 0;
    for (size_t g = 0; g < cluster->group_count; g++) {
        const struct invoker_group *group = &cluster->groups[g];
        for (uint32_t i = 0; i < group->count; i++, invoker++) {
            for (size_t u = 0; u < group->gpu_count; u++)
                for (uint32_t n = 0; n < shares_of(&group->gpus[u], vgpu); n++)
                    node_add(nexus, invoker, group, group->gpus[u].kind);
            if (group->gpu_count == 0)
                node_add(nexus, invoker, group, 0);
        }
    }
    for (uint32_t k = 0; k < nexus->kinds; k++)
        nexus->parts[k] = (double)nexus->nodes_of_kind[k] / (double)nexus->node_count;
}

/* The number of vCPUs that every node of the kind can have at the same time. */
static uint16_t vcpus_of_node(const struct nexus *nexus, uint32_t kind, uint32_t vgpu)
{
    uint32_t least = UINT16_MAX;
    for (size_t n = 0; n < nexus->node_count; n++) {
        const struct invoker_group *group = nexus->nodes[n].group;
        const uint32_t each = group->vcpus / nodes_of(group, vgpu);
        if (nexus->nodes[n].kind == kind && each < least)
            least = each;
    }
    return (uint16_t)(least > 0 ? least : 1);
}

/* The largest share of at most `limit` units that the function has at batch 1 on the kind; its
 * smallest if all exceed the limit. */
static uint16_t share_of(const struct nexus *nexus, uint32_t function, uint32_t kind,
                         uint32_t limit)
{
    const struct function *spec = &nexus->workload->functions[function];
    int share = -1;
    for (uint32_t i = 0; i < spec->configuration_count; i++) {
        const struct configuration *here = &spec->configurations[i];
        if (here->kind != kind || here->batch != 1 || !planner_runs(nexus->planner, function, i))
            continue;
        const bool within = here->vgpu <= limit;
        if (share < 0 || (within ? share > (int)limit || here->vgpu > share : here->vgpu < share))
            share = here->vgpu;
    }
    return (uint16_t)(share > 0 ? share : 0);
}

static struct batch_latency *ladder_of(const struct nexus *nexus, uint32_t function, uint32_t kind)
{
    return &nexus->ladders[(size_t)function * nexus->kinds + kind];
}

static bool ladders_fill(struct nexus *nexus, uint32_t vgpu, struct error *error)
{
    const struct workload *workload = nexus->workload;
    for (uint32_t k = 0; k < nexus->kinds; k++) {
        const uint16_t vcpus = vcpus_of_node(nexus, k, vgpu);
        for (uint32_t f = 0; f < workload->function_count; f++) {
            const uint16_t share = share_of(nexus, f, k, vgpu > 0 ? vgpu : UINT16_MAX);
            if (!batch_latency_fill(ladder_of(nexus, f, k), workload, nexus->planner, f, k, share,
                                    vcpus, (uint32_t)nexus->values[PARAMETER_MAX_BATCH], error))
                return false;
        }
    }
    return true;
}

/* A job alone on the kind of GPU on which this is fastest. */
static sim_time_t time_alone(const struct nexus *nexus, uint32_t function)
{
    sim_time_t least = SIM_FOREVER;
    for (uint32_t k = 0; k < nexus->kinds; k++) {
        const struct batch_latency *ladder = ladder_of(nexus, function, k);
        if (ladder->count > 0 && ladder->time[0] < least)
            least = ladder->time[0];
    }
    return least;
}

static void rest_fill(struct nexus *nexus, const struct application *application)
{
    sim_time_t alone[WORKLOAD_MAX_STAGES];
    for (size_t s = 0; s < application->stage_count; s++)
        alone[s] = time_alone(nexus, application->stages[s].function);
    slo_rest(application, alone, &nexus->rest[application->first_queue]);
}

static bool allocate(struct nexus *nexus, uint32_t vgpu, struct error *error)
{
    const struct workload *workload = nexus->workload;
    const struct cluster_spec *cluster = &workload->cluster;
    const size_t queues = (size_t)workload->queue_count + 1;
    size_t nodes = 1;
    for (size_t g = 0; g < cluster->group_count; g++)
        nodes += (size_t)cluster->groups[g].count * nodes_of(&cluster->groups[g], vgpu);
    nexus->kinds = (uint32_t)workload->kind_count;
    nexus->ladders = calloc(workload->function_count * nexus->kinds + 1, sizeof *nexus->ladders);
    nexus->rest = calloc(queues, sizeof *nexus->rest);
    nexus->nodes = calloc(nodes, sizeof *nexus->nodes);
    nexus->nodes_of_kind = calloc(nexus->kinds, sizeof *nexus->nodes_of_kind);
    nexus->parts = calloc(nexus->kinds, sizeof *nexus->parts);
    nexus->rates = calloc(queues, sizeof *nexus->rates);
    nexus->plans = calloc(nexus->kinds, sizeof *nexus->plans);
    nexus->arrived = calloc(queues, sizeof *nexus->arrived);
    nexus->served = calloc(queues, sizeof *nexus->served);
    nexus->sessions = calloc(queues * nexus->kinds, sizeof *nexus->sessions);
    nexus->cost = calloc(workload->max_stages * ((size_t)nexus->values[PARAMETER_STEPS] + 1) + 1,
                         sizeof *nexus->cost);
    nexus->planned = calloc((size_t)cluster->invoker_count * workload->function_count + 1, 1);
    return (nexus->ladders != NULL && nexus->rest != NULL && nexus->nodes != NULL &&
            nexus->arrived != NULL && nexus->served != NULL && nexus->sessions != NULL &&
            nexus->cost != NULL && nexus->planned != NULL && nexus->nodes_of_kind != NULL &&
            nexus->parts != NULL && nexus->rates != NULL && nexus->plans != NULL) ||
           error_run(error, "policy nexus: out of memory for %zu nodes", nodes);
}

static struct squishy_session *session_of(const struct nexus *nexus, uint32_t kind, uint32_t queue)
{
    return &nexus->sessions[(size_t)kind * nexus->workload->queue_count + queue];
}

static size_t function_of(const struct nexus *nexus, uint32_t queue)
{
    return (size_t)(nexus->sessions[queue].ladder - nexus->ladders) / nexus->kinds;
}

static struct duty_cycle_slot slot_of(const struct nexus *nexus, uint32_t kind, uint32_t queue,
                                      uint32_t batch)
{
    return (struct duty_cycle_slot){
        .queue = queue, .batch = batch, .ladder = session_of(nexus, kind, queue)->ladder};
}

static bool runs_on(const struct nexus *nexus, const struct node *node, uint32_t queue)
{
    const struct batch_latency *ladder = session_of(nexus, node->kind, queue)->ladder;
    const struct function *function = &nexus->workload->functions[function_of(nexus, queue)];
    return ladder->count > 0 &&
           planner_group_runs(node->group, function,
                              &function->configurations[ladder->configuration[0]]);
}

/* Serves a queue without a node in batches of at most B, or of one job if there is no B. */
static bool nexus_orphan(const void *context, uint32_t queue, uint32_t invoker, uint32_t size,
                         struct duty_cycle_slot *slot)
{
    const struct nexus *nexus = context;
    const struct node *node = &nexus->nodes[size];
    const uint32_t batch = squishy_saturating_batch(session_of(nexus, node->kind, queue));
    (void)invoker;
    *slot = slot_of(nexus, node->kind, queue, batch > 0 ? batch : 1);
    return runs_on(nexus, node, queue);
}

static bool set_up(struct nexus *nexus, struct error *error)
{
    const struct workload *workload = nexus->workload;
    const uint32_t vgpu = (uint32_t)nexus->values[PARAMETER_VGPU];
    nexus->planner = planner_create(
        workload, (uint32_t)nexus->values[PARAMETER_MAX_BATCH],
        nexus->values[PARAMETER_SPLIT] == SPLIT_EQUAL ? PLANNER_EQUAL : PLANNER_PROPORTIONAL,
        error);
    if (nexus->planner == NULL || !allocate(nexus, vgpu, error))
        return false;
    nodes_fill(nexus, vgpu);
    if (!ladders_fill(nexus, vgpu, error))
        return false;
    for (size_t a = 0; a < workload->application_count; a++) {
        const struct application *application = &workload->applications[a];
        rest_fill(nexus, application);
        for (uint32_t s = 0; s < application->stage_count; s++) {
            const uint32_t queue = application->first_queue + s;
            for (uint32_t k = 0; k < nexus->kinds; k++)
                *session_of(nexus, k, queue) = (struct squishy_session){
                    .ladder = ladder_of(nexus, application->stages[s].function, k),
                    .slo = planner_budget(nexus->planner, queue, application->slo)};
        }
    }
    const struct duty_cycle_rule rule = {
        .orphan = nexus_orphan,
        .context = nexus,
        .rest = nexus->values[PARAMETER_DROP] > 0 ? NULL : nexus->rest,
        .retry_timer = TIMER_RETRY,
        .retry = sim_from_s(nexus->values[PARAMETER_MIN_EPOCH]) / 100};
    nexus->rounds = duty_cycle_create(workload, rule, error);
    if (nexus->rounds == NULL)
        return false;
    for (uint32_t n = 0; n < nexus->node_count; n++)
        if (!duty_cycle_add_server(nexus->rounds, nexus->nodes[n].invoker, n, error))
            return false;
    return true;
}

static bool nexus_init(void *state, struct platform *platform, const double *values,
                       struct error *error)
{
    struct nexus *nexus = state;
    nexus->workload = platform_workload(platform);
    for (size_t i = 0; i < PARAMETER_COUNT; i++)
        nexus->values[i] = values[i];
    for (size_t i = PARAMETER_VGPU; i <= PARAMETER_STEPS; i++)
        if (values[i] != floor(values[i]))
            return error_input(error, "policy.params.%s is %g; give a whole number",
                               nexus_parameters[i].name, values[i]);
    if (set_up(nexus, error) && duty_cycle_end(nexus->rounds, platform, error))
        return true;
    nexus_finish(nexus);
    return false;
}

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
            if (nexus->values[PARAMETER_OVERHEAD] == OVERHEAD_MEASURED)
                session_of(nexus, k, q)->overhead = duty_cycle_overhead(nexus->rounds, q);
        left = left || nexus->rates[q] < rate_low * nexus->served[q] ||
               nexus->rates[q] > rate_high * nexus->served[q];
    }
    nexus->since = now;
    return left;
}

/* The plan for the nodes of one kind. Finds by bisection with SCALINGS bits the largest common
 * factor on the rates for which it fits. */
static bool plan_make(struct nexus *nexus, uint32_t kind, struct squishy_plan *plan,
                      struct error *error)
{
    struct squishy_session *sessions = session_of(nexus, kind, 0);
    const size_t queues = nexus->workload->queue_count;
    const enum squishy_rule rule = (enum squishy_rule)nexus->values[PARAMETER_RESIDUAL];
    double applied = 1;
    double range[2] = {0, 1}; /* a factor that fits, and one that does not */
    double factor = 1;
    uint64_t work = 0;
    for (int i = 0; i <= SCALINGS + 1; i++) {
        if (!(factor > 0))
            break;
        for (size_t q = 0; q < queues; q++)
            sessions[q].rate *= factor / applied;
        applied = factor;
        const bool done =
            squishy_pack(sessions, queues, rule, nexus->nodes_of_kind[kind], plan, error);
        work += plan->work;
        plan->work = work;
        if (error->kind != ERROR_NONE)
            return false;
        if (done && (factor >= 1 || i > SCALINGS))
            return true;
        range[0] = done ? factor : range[0];
        range[1] = done ? range[1] : factor;
        factor = i < SCALINGS ? (range[0] + range[1]) / 2 : range[0];
        squishy_clear(plan);
        plan->work = work;
    }
    return true;
}

/* Number of the plan's sessions whose function the node served before; -1: it cannot run them. */
static int likeness(const struct nexus *nexus, const struct squishy_plan *plan,
                    const struct squishy_node *wanted, const struct node *node)
{
    int alike = 0;
    for (uint32_t s = 0; s < wanted->count; s++) {
        const uint32_t queue = plan->shares[wanted->first + s].session;
        if (!runs_on(nexus, node, queue))
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

static bool plan_install(struct nexus *nexus, const struct platform *platform, struct error *error)
{
    duty_cycle_begin(nexus->rounds);
    for (uint32_t q = 0; q < nexus->workload->queue_count; q++)
        nexus->served[q] = 0;
    for (uint32_t n = 0; n < nexus->node_count; n++) {
        const struct node *node = &nexus->nodes[n];
        const struct squishy_plan *plan = &nexus->plans[node->kind];
        if (!duty_cycle_add_server(nexus->rounds, node->invoker, n, error))
            return false;
        if (node->plan == SIM_NONE)
            continue;
        const struct squishy_node *planned = &plan->nodes[node->plan];
        for (uint32_t s = 0; s < planned->count; s++) {
            const struct squishy_share *share = &plan->shares[planned->first + s];
            const struct duty_cycle_slot slot =
                slot_of(nexus, node->kind, share->session, share->batch);
            if (!duty_cycle_add_slot(nexus->rounds, slot, error))
                return false;
            nexus->served[share->session] += share->batch / sim_to_s(planned->duty);
        }
    }
    return duty_cycle_end(nexus->rounds, platform, error);
}

/* The budgets of all stages, and a plan for each kind of GPU with its part of the rates. False when
 * out of memory. */
static bool plans_make(struct nexus *nexus, struct platform *platform,
                       const struct budgets_rule *rule, struct error *error)
{
    const uint32_t queues = nexus->workload->queue_count;
    bool done = nexus->values[PARAMETER_SPLIT] != SPLIT_DP ||
                budgets_fill(nexus->sessions, nexus->rates, platform, rule, nexus->cost, error);
    for (uint32_t q = 0; done && q < queues; q++)
        budgets_divide(&nexus->sessions[q], queues, rule, nexus->rates[q]);
    uint64_t work = 0;
    for (uint32_t k = 0; done && k < nexus->kinds; k++) {
        done = plan_make(nexus, k, &nexus->plans[k], error);
        work += nexus->plans[k].work;
    }
    platform_charge(platform, work);
    return done;
}

static void replan(struct nexus *nexus, struct platform *platform)
{
    const sim_time_t now = platform_now(platform);
    const sim_time_t least = sim_from_s(nexus->values[PARAMETER_MIN_EPOCH]);
    const bool begun = nexus->interval < least;
    const struct budgets_rule rule = {.steps = (size_t)nexus->values[PARAMETER_STEPS],
                                      .packed = nexus->values[PARAMETER_COST] == COST_PACKED,
                                      .residual =
                                          (enum squishy_rule)nexus->values[PARAMETER_RESIDUAL],
                                      .parts = nexus->parts,
                                      .kinds = nexus->kinds};
    struct error error = {0};
    nexus->due = false;
    const bool left = rates_take(nexus, now);
    nexus->interval = 2 * nexus->interval < least ? 2 * nexus->interval : least;
    platform_set_timer(platform, now + nexus->interval, TIMER_PLAN);
    if (!begun && !left && now - nexus->planned_at < sim_from_s(nexus->values[PARAMETER_EPOCH]))
        return;
    /* Without memory for a better plan the last one is kept. */
    if (plans_make(nexus, platform, &rule, &error)) {
        for (size_t n = 0; n < nexus->node_count; n++)
            nexus->nodes[n].plan = SIM_NONE;
        for (uint32_t k = 0; k < nexus->kinds; k++)
            plan_assign(nexus, k);
        plan_load(nexus, platform);
        if (plan_install(nexus, platform, &error))
            nexus->planned_at = now;
    }
    for (uint32_t k = 0; k < nexus->kinds; k++)
        squishy_clear(&nexus->plans[k]);
}

/* ---- Events ---------------------------------------------------------------------------------- */

static void nexus_on_ready(void *state, struct platform *platform, uint32_t queue)
{
    struct nexus *nexus = state;
    if (nexus->interval == 0) {
        const sim_time_t least = sim_from_s(nexus->values[PARAMETER_MIN_EPOCH]);
        nexus->interval = least / 10;
        nexus->since = platform_now(platform);
        platform_set_timer(platform, nexus->since + nexus->interval, TIMER_PLAN);
    }
    nexus->arrived[queue]++;
    duty_cycle_on_ready(nexus->rounds, queue);
}

static void nexus_on_finish(void *state, struct platform *platform,
                            const struct finished_batch *batch)
{
    struct nexus *nexus = state;
    (void)platform;
    duty_cycle_on_finish(nexus->rounds, batch);
}

static void nexus_on_timer(void *state, struct platform *platform, uint32_t id)
{
    struct nexus *nexus = state;
    (void)platform;
    if (id == TIMER_PLAN)
        nexus->due = true;
    else
        duty_cycle_wake(nexus->rounds);
}

static bool nexus_decide(void *state, struct platform *platform)
{
    struct nexus *nexus = state;
    if (nexus->due)
        replan(nexus, platform);
    return duty_cycle_decide(nexus->rounds, platform);
}

static sim_time_t nexus_keep_alive(void *state, struct platform *platform, uint32_t function,
                                   uint32_t invoker)
{
    const struct nexus *nexus = state;
    (void)platform;
    return nexus->planned[invoker * nexus->workload->function_count + function] != 0
               ? SIM_FOREVER
               : sim_from_s(nexus->values[PARAMETER_KEEP]);
}

extern const struct policy policy_nexus;
const struct policy policy_nexus = {
    .abi = POLICY_ABI,
    .name = "nexus",
    .summary = "Nexus (SOSP'19): squishy bin packing of sessions onto whole GPUs, early drop",
    .parameters = nexus_parameters,
    .parameter_count = PARAMETER_COUNT,
    .state_bytes = sizeof(struct nexus),
    .init = nexus_init,
    .on_ready = nexus_on_ready,
    .on_finish = nexus_on_finish,
    .on_timer = nexus_on_timer,
    .decide = nexus_decide,
    .keep_alive = nexus_keep_alive,
    .finish = nexus_finish,
};
