/* Nexus's parameters, and the set-up of its state. */
#include "sched/nexus/nexus_internal.h"

#include "sched/memory.h"

const struct key nexus_parameters[] = {
    PARAMETER_WHOLE(nexus, vgpu, 0, 65535, 0,
                    "share of a GPU that a node has; 0: a whole GPU (recall)"),
    PARAMETER_WHOLE(nexus, max_batch, 1, 65535, 65535, "most jobs per batch"),
    PARAMETER_WORD(nexus, split, WORDS("dp", "proportional", "equal"), SPLIT_DP,
                   "a stage's share of the SLO: dynamic programming (code), or fixed"),
    PARAMETER_WORD(nexus, split_cost, WORDS("throughput", "packed"), COST_THROUGHPUT,
                   "cost in the split: rate / throughput (code), or GPUs as packed"),
    PARAMETER_WHOLE(nexus, split_steps, 4, 1000, 100, "parts of the SLO in the split"),
    PARAMETER_WORD(nexus, residual, WORDS("paper", "code"), SQUISHY_CODE,
                   "batch of a residual load: l(b)+b/r (recall) or l(b)+(b-1)/r <= SLO"),
    PARAMETER_WORD(nexus, overhead, WORDS("measured", "none"), OVERHEAD_MEASURED,
                   "time added to execution in the plan (derived)"),
    PARAMETER_SWITCH(nexus, own_admission, true,
                     "early drop of jobs that the next batch would finish too late (on: code)"),
    PARAMETER_SECONDS(nexus, epoch_s, 0.1, 86400, 30, "largest age of a plan (code)"),
    PARAMETER_SECONDS(nexus, min_epoch_s, 0.1, 86400, 10,
                      "interval between measurements of the rates (code)"),
    PARAMETER_SECONDS(nexus, keep_s, 0, 1e6, 600,
                      "keep-alive of containers that are not in the plan (assumed)"),
    KEY_END,
};

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

/* Invokers without a GPU are nodes of the first kind. */
static bool has_kind(const struct invoker_group *group, uint32_t kind)
{
    bool has = group->gpu_count == 0 && kind == 0;
    for (size_t u = 0; u < group->gpu_count; u++)
        has = has || group->gpus[u].kind == kind;
    return has;
}

/* The number of vCPUs that every node of the kind can have at the same time. */
static uint16_t vcpus_of_node(const struct cluster_spec *cluster, uint32_t kind, uint32_t vgpu)
{
    uint32_t least = UINT16_MAX;
    for (size_t g = 0; g < cluster->group_count; g++) {
        const struct invoker_group *group = &cluster->groups[g];
        const uint32_t each = group->vcpus / nodes_of(group, vgpu);
        if (group->count > 0 && has_kind(group, kind) && each < least)
            least = each;
    }
    return (uint16_t)(least > 0 ? least : 1);
}

static struct batch_latency *latency_table_of(const struct nexus *nexus, uint32_t function,
                                              uint32_t kind)
{
    return &nexus->latency_tables[(size_t)function * nexus->kinds + kind];
}

static void latency_tables_fill(struct nexus *nexus, struct arena *arena, uint32_t vgpu)
{
    const struct workload *workload = nexus->workload;
    for (uint32_t k = 0; k < nexus->kinds; k++) {
        const uint16_t vcpus = vcpus_of_node(&workload->cluster, k, vgpu);
        for (uint32_t f = 0; f < workload->function_count; f++) {
            const int share = planner_share(nexus->planner, f, k, vgpu > 0 ? vgpu : UINT16_MAX);
            batch_latency_fill(latency_table_of(nexus, f, k), arena, workload, nexus->planner, f, k,
                               (uint16_t)(share > 0 ? share : 0), vcpus,
                               nexus->parameters->max_batch);
        }
    }
}

/* A job alone on the kind of GPU on which this is fastest. */
static sim_time_t time_alone(const struct nexus *nexus, uint32_t function)
{
    sim_time_t least = SIM_FOREVER;
    for (uint32_t k = 0; k < nexus->kinds; k++) {
        const struct batch_latency *latency_table = latency_table_of(nexus, function, k);
        if (latency_table->count > 0 && latency_table->time[0] < least)
            least = latency_table->time[0];
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

static void allocate(struct nexus *nexus, struct platform *platform, uint32_t vgpu)
{
    const struct workload *workload = nexus->workload;
    const struct cluster_spec *cluster = &workload->cluster;
    const size_t queues = workload->queue_count;
    const size_t steps = nexus->parameters->split_steps;
    size_t nodes = 0;
    for (size_t g = 0; g < cluster->group_count; g++)
        nodes += (size_t)cluster->groups[g].count * nodes_of(&cluster->groups[g], vgpu);
    nexus->kinds = (uint32_t)workload->kind_count;
    nexus->latency_tables = platform_allocate(platform, workload->function_count * nexus->kinds,
                                              sizeof *nexus->latency_tables);
    nexus->rest = platform_allocate(platform, queues, sizeof *nexus->rest);
    nexus->nodes = platform_allocate(platform, nodes, sizeof *nexus->nodes);
    nexus->nodes_of_kind = platform_allocate(platform, nexus->kinds, sizeof *nexus->nodes_of_kind);
    nexus->parts = platform_allocate(platform, nexus->kinds, sizeof *nexus->parts);
    nexus->rates = platform_allocate(platform, queues, sizeof *nexus->rates);
    nexus->plans = platform_allocate(platform, nexus->kinds, sizeof *nexus->plans);
    nexus->arrived = platform_allocate(platform, queues, sizeof *nexus->arrived);
    nexus->served = platform_allocate(platform, queues, sizeof *nexus->served);
    nexus->sessions = platform_allocate(platform, queues * nexus->kinds, sizeof *nexus->sessions);
    nexus->cost =
        platform_allocate(platform, workload->max_stages * (steps + 1), sizeof *nexus->cost);
    nexus->planned =
        platform_allocate(platform, (size_t)cluster->invoker_count * workload->function_count, 1);
}

bool nexus_runs_on(const struct nexus *nexus, const struct node *node, uint32_t queue)
{
    const struct batch_latency *latency_table = session_of(nexus, node->kind, queue)->latency_table;
    const struct function *function = &nexus->workload->functions[function_of(nexus, queue)];
    return latency_table->count > 0 &&
           planner_group_runs(node->group, function,
                              &function->configurations[latency_table->configuration[0]]);
}

/* Serves a queue without a node in batches of at most B, or of one job if there is no B. */
static bool nexus_orphan(const void *context, uint32_t queue, uint32_t invoker, uint32_t size,
                         struct duty_cycle_slot *slot)
{
    const struct nexus *nexus = context;
    const struct node *node = &nexus->nodes[size];
    const uint32_t batch = squishy_saturating_batch(session_of(nexus, node->kind, queue));
    *slot = slot_of(nexus, node->kind, queue, batch > 0 ? batch : 1);
    return nexus_runs_on(nexus, node, queue);
}

static bool set_up(struct nexus *nexus, struct platform *platform, struct error *error)
{
    const struct workload *workload = nexus->workload;
    const uint32_t vgpu = nexus->parameters->vgpu;
    nexus->planner = planner_create(
        platform_arena(platform), workload, nexus->parameters->max_batch,
        nexus->parameters->split == SPLIT_EQUAL ? PLANNER_EQUAL : PLANNER_PROPORTIONAL, error);
    if (nexus->planner == NULL)
        return false;
    allocate(nexus, platform, vgpu);
    nodes_fill(nexus, vgpu);
    latency_tables_fill(nexus, platform_arena(platform), vgpu);
    for (size_t a = 0; a < workload->application_count; a++) {
        const struct application *application = &workload->applications[a];
        rest_fill(nexus, application);
        for (uint32_t s = 0; s < application->stage_count; s++) {
            const uint32_t queue = application->first_queue + s;
            const uint32_t f = application->stages[s].function;
            for (uint32_t k = 0; k < nexus->kinds; k++)
                *session_of(nexus, k, queue) = (struct squishy_session){
                    .latency_table = latency_table_of(nexus, f, k),
                    .slo = planner_budget(nexus->planner, queue, application->slo)};
        }
    }
    const struct duty_cycle_rule rule = {.orphan = nexus_orphan,
                                         .context = nexus,
                                         .rest =
                                             nexus->parameters->own_admission ? nexus->rest : NULL,
                                         .retry_timer = TIMER_RETRY,
                                         .retry = nexus->parameters->min_epoch_s / 100};
    nexus->cycle = duty_cycle_create(platform_arena(platform), workload, rule);
    for (uint32_t n = 0; n < nexus->node_count; n++)
        duty_cycle_add_server(nexus->cycle, nexus->nodes[n].invoker, n);
    duty_cycle_end(nexus->cycle, platform);
    return true;
}

bool nexus_init(void *state, struct platform *platform, const void *parameters, struct error *error)
{
    struct nexus *nexus = state;
    nexus->workload = platform_workload(platform);
    nexus->parameters = parameters;
    return set_up(nexus, platform, error);
}
