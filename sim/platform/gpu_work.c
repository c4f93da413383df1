#include <math.h>

#include "sim/platform/batches.h"
#include "sim/platform/gpu_work.h"
#include "sim/platform/policy_api.h"
#include "sim/platform/state.h"
#include "sim/platform/trainings.h"

/* ---- Tables of the interference model -------------------------------------------------------- */

/* A batch of a configuration, with a part of the GPU. */
static struct prepared_runner runner_prepare(const struct workload *workload, size_t kind,
                                             uint32_t function, size_t configuration, double share)
{
    const struct function_gpu *gpu = &workload->functions[function].gpus[kind];
    const struct co_runner runner = {
        .index = gpu->interference_index,
        .demand = gpu->bandwidth_share,
        .share = share,
        .batch = workload->functions[function].configurations[configuration].batch};
    return interference_prepare(workload->kinds[kind].interference, &runner);
}

/* Prepares all configurations on GPUs of one kind. */
static void table_prepare_kind(struct platform *platform, size_t kind)
{
    const struct workload *workload = platform->workload;
    const size_t *first = platform->work_table.first;
    struct prepared_runner *table =
        arena_allocate(&platform->arena, first[workload->function_count], sizeof *table);
    platform->work_table.kinds[kind] = table;
    for (uint32_t f = 0; f < workload->function_count; f++)
        for (size_t c = 0; c < workload->functions[f].configuration_count; c++) {
            const double vgpu = workload->functions[f].configurations[c].vgpu;
            table[first[f] + c] =
                runner_prepare(workload, kind, f, c, vgpu / workload->kinds[kind].units);
        }
}

static void contexts_init(struct platform *platform, bool interference)
{
    const struct workload *workload = platform->workload;
    struct context_use *contexts = platform->work_table.contexts;
    for (uint32_t g = 0; g < platform->cluster.gpu_count; g++)
        contexts[platform->cluster.gpus[g].spec->kind].gpus++;
    for (size_t k = 0; k < workload->kind_count; k++)
        contexts[k].slowdown = 1;
    for (size_t k = 0; interference && k < workload->kind_count; k++)
        if (workload->kinds[k].interference != NULL)
            contexts[k].pool = interference_pool(workload->kinds[k].interference, contexts[k].gpus,
                                                 workload->kinds[k].units);
}

static void table_init(struct platform *platform, bool interference)
{
    const struct workload *workload = platform->workload;
    struct gpu_work_table *table = &platform->work_table;
    struct arena *arena = &platform->arena;
    table->kinds = arena_allocate(arena, workload->kind_count, sizeof *table->kinds);
    table->contexts = arena_allocate(arena, workload->kind_count, sizeof *table->contexts);
    table->first = arena_allocate(arena, workload->function_count + 1, sizeof *table->first);
    for (size_t f = 0; f < workload->function_count; f++)
        table->first[f + 1] = table->first[f] + workload->functions[f].configuration_count;
    for (size_t k = 0; interference && k < workload->kind_count; k++)
        if (workload->kinds[k].interference != NULL)
            table_prepare_kind(platform, k);
    contexts_init(platform, interference);
}

void gpu_work_init(struct platform *platform, bool interference)
{
    const struct cluster *cluster = &platform->cluster;
    platform->gpu_work =
        arena_allocate(&platform->arena, cluster->gpu_count, sizeof *platform->gpu_work);
    for (uint32_t g = 0; g < cluster->gpu_count; g++) {
        const struct gpu_state *gpu = &cluster->gpus[g];
        struct gpu_work *work = &platform->gpu_work[g];
        work->modelled = interference && gpu_sharing_of(gpu->spec)->interferes &&
                         platform->workload->kinds[gpu->spec->kind].interference != NULL;
        work->interferes = work->modelled || gpu->parts > gpu_unit_parts(gpu);
    }
    table_init(platform, interference);
}

/* ---- Executions ------------------------------------------------------------------------------ */

static void work_grow(struct platform *platform, struct gpu_work *work)
{
    struct gpu_work_table *table = &platform->work_table;
    struct arena *arena = &platform->arena;
    arena_reserve(arena, &work->executions, (size_t)work->count + 1, sizeof *work->executions);
    work->capacity = arena_room(work->executions, sizeof *work->executions);
    arena_reserve(arena, &table->runners, work->capacity + 1, sizeof *table->runners);
    arena_reserve(arena, &table->slowdowns, work->capacity + 1, sizeof *table->slowdowns);
}

static struct execution *work_find(const struct gpu_work *work, uint32_t id)
{
    struct execution *execution = work->executions;
    while (execution->batch != id)
        execution++;
    return execution;
}

/* Returns an execution with the batch's present work, configuration and quota, without a rate. */
static struct execution execution_of(const struct platform *platform, uint32_t id)
{
    const struct batch *batch = &platform->batches[id];
    const uint32_t function_id = batch_function(platform, batch);
    const struct function *function = &platform->workload->functions[function_id];
    return (struct execution){.work = batch_work(platform, batch),
                              .finish = SIM_FOREVER,
                              .vgpu = function->configurations[batch->configuration].vgpu,
                              .quota = batch->quota,
                              .batch = id,
                              .place =
                                  platform->work_table.first[function_id] + batch->configuration};
}

/* ---- Rates ----------------------------------------------------------------------------------- */

static uint32_t training_count(const struct platform *platform, uint32_t gpu)
{
    return platform->trainings != NULL ? platform->trainings->gpus[gpu].count : 0;
}

static const struct interference *interference_of(const struct platform *platform, uint32_t gpu)
{
    return platform->workload->kinds[platform->cluster.gpus[gpu].spec->kind].interference;
}

/* A training is not in the table of pairs: the table's constant counts. */
static struct prepared_runner training_runner(const struct platform *platform, uint32_t gpu,
                                              uint32_t id, double share)
{
    const struct training_plan *plan = platform->trainings->plan;
    const struct co_runner runner = {
        .index = UINT32_MAX,
        .demand = plan->models->models[plan->trainings[id].model].bandwidth_share,
        .share = share};
    return interference_prepare(interference_of(platform, gpu), &runner);
}

/* Effect of the shares of a training and a batch on what they do to one another, relative to the
 * mean of the pairs. Two functions of a pair had shares t and 100 - t, t of 20, 40, 50, 60 and 80:
 * a product of 0.21 of a GPU² on average. Two models have exponents of their own. */
static double effect_of_shares(const struct platform *platform, uint32_t gpu, double training,
                               double batch)
{
    static const double measured = 0.21;
    const enum interference_kind kind = interference_of(platform, gpu)->kind;
    if (kind == INTERFERENCE_BANDWIDTH || kind == INTERFERENCE_SHAPED)
        return 1;
    return pow(training * batch / measured, platform->trainings->plan->share_exponent);
}

/* Part of the GPU that the batch of an execution holds. */
static double execution_share(const struct platform *platform, uint32_t gpu,
                              const struct execution *execution)
{
    return quota_part((double)execution->vgpu / platform->cluster.gpus[gpu].spec->units,
                      execution->quota);
}

/* What a training on the GPU holds there. */
static const struct training_grant *training_grant_on(const struct platform *platform, uint32_t gpu,
                                                      uint32_t id)
{
    const struct training_grant *grant = platform->trainings->items[id].grants;
    while (grant_gpu(platform, grant) != gpu)
        grant++;
    return grant;
}

/* Part of the GPU that a training on it holds. */
static double training_share(const struct platform *platform, uint32_t gpu, uint32_t id)
{
    const struct training_grant *grant = training_grant_on(platform, gpu, id);
    return quota_part((double)grant->share / platform->cluster.gpus[gpu].spec->units, grant->quota);
}

double gpu_work_part(const struct platform *platform, uint32_t gpu, uint32_t id, uint32_t parts)
{
    const struct gpu_state *state = &platform->cluster.gpus[gpu];
    const struct gpu_work *work = &platform->gpu_work[gpu];
    const uint64_t units = gpu_unit_parts(state);
    uint64_t sum = parts;
    if (state->parts == units)
        return 1;
    for (uint32_t i = 0; i < work->count; i++)
        sum += (uint64_t)work->executions[i].vgpu * work->executions[i].quota;
    for (uint32_t i = 0; i < training_count(platform, gpu); i++) {
        const uint32_t other = platform->trainings->gpus[gpu].ids[i];
        if (other == id || platform->trainings->items[other].resume > platform->now)
            continue;
        const struct training_grant *grant = training_grant_on(platform, gpu, other);
        sum += (uint64_t)grant->share * grant->quota;
    }
    return sum > units ? (double)units / (double)sum : 1;
}

/* Prepares the executions, the one that started last first. A batch that has its share
 * for a part of the time affects the others in proportion. */
static inline void runners_prepare(const struct platform *platform, const struct gpu_work *work,
                                   uint32_t gpu, double part)
{
    const struct gpu_work_table *table = &platform->work_table;
    const size_t kind = platform->cluster.gpus[gpu].spec->kind;
    for (uint32_t i = 0; i < work->count; i++) {
        const struct execution *execution = &work->executions[work->count - 1 - i];
        if (part < 1 || execution->quota < UNIT_PARTS)
            table->runners[i] =
                runner_prepare(platform->workload, kind,
                               batch_function(platform, &platform->batches[execution->batch]),
                               platform->batches[execution->batch].configuration,
                               part * execution_share(platform, gpu, execution));
        else
            table->runners[i] = table->kinds[kind][execution->place];
    }
}

/* Adds what a training does to the executions, in the order of runners_prepare. It and they have
 * `part` of their shares. */
static void training_slows(const struct platform *platform, const struct gpu_work *work,
                           uint32_t gpu, uint32_t id, double part)
{
    const struct gpu_work_table *table = &platform->work_table;
    const double share = part * training_share(platform, gpu, id);
    const struct prepared_runner training = training_runner(platform, gpu, id, share);
    for (uint32_t i = 0; i < work->count; i++) {
        const struct execution *execution = &work->executions[work->count - 1 - i];
        const double other = part * execution_share(platform, gpu, execution);
        table->slowdowns[i] +=
            interference_excess(interference_of(platform, gpu), &table->runners[i], &training) *
            effect_of_shares(platform, gpu, share, other);
    }
}

/* Returns the slowdowns of all executions, in the order of runners_prepare, each of which has
 * `part` of its share. The table has room. */
static const double *work_slowdowns(const struct platform *platform, const struct gpu_work *work,
                                    uint32_t gpu, double part)
{
    const struct gpu_work_table *table = &platform->work_table;
    if (!work->modelled) {
        for (uint32_t i = 0; i < work->count; i++)
            table->slowdowns[i] = 1;
        return table->slowdowns;
    }
    runners_prepare(platform, work, gpu, part);
    interference_slowdowns(interference_of(platform, gpu), table->runners, work->count,
                           table->slowdowns);
    for (uint32_t i = 0; i < training_count(platform, gpu); i++)
        training_slows(platform, work, gpu, platform->trainings->gpus[gpu].ids[i], part);
    return table->slowdowns;
}

double gpu_work_excess(const struct platform *platform, uint32_t gpu, uint32_t id, double share,
                       double part)
{
    const struct gpu_work *work = &platform->gpu_work[gpu];
    double sum = 0;
    if (!work->modelled || work->count == 0)
        return 0;
    const struct prepared_runner training = training_runner(platform, gpu, id, part * share);
    runners_prepare(platform, work, gpu, part);
    for (uint32_t i = 0; i < work->count; i++) {
        const struct execution *execution = &work->executions[work->count - 1 - i];
        const double other = part * execution_share(platform, gpu, execution);
        sum += interference_excess(interference_of(platform, gpu), &training,
                                   &platform->work_table.runners[i]) *
               effect_of_shares(platform, gpu, part * share, other);
    }
    return sum;
}

/* Sets the GPU's event to the finish of the first of its batches. */
static void work_schedule(struct platform *platform, struct gpu_work *work,
                          const struct execution *first)
{
    bool done;
    if (work->event == 0) {
        platform->work_events++;
        work->event = event_queue_push_ordered(platform->event_queue, first->finish, first->order,
                                               EVENT_BATCH_FINISH, first->batch);
        done = work->event != 0;
    } else {
        done = event_queue_retime_ordered(platform->event_queue, work->event, first->finish,
                                          first->order, first->batch);
    }
    if (!done)
        platform_fail(platform, "the event queue: %s", event_queue_fault(platform->event_queue));
}

/* Sets the execution's rate, after `passed` ns at the previous one. `order` is the sequence number
 * of the preceding execution. An execution with a new rate, or with a lower number than that, draws
 * a new one. So among events of one time, batches are in order of start. */
static inline void execution_update(struct execution *execution, double rate, double passed,
                                    const struct platform *platform, uint64_t order)
{
    bool same_finish = false;
    if (execution->finish != SIM_FOREVER) {
        const double left = execution->work - execution->rate * passed;
        execution->work = left > 0 ? left : 0;
        same_finish = rate == execution->rate;
    }
    if (same_finish && execution->order > order)
        return;
    if (!same_finish) {
        execution->rate = rate;
        execution->finish = platform->now + sim_ceil(execution->work / rate);
    }
    execution->order = event_queue_draw_order(platform->event_queue);
}

static struct context_use *context_use(const struct platform *platform, uint32_t gpu)
{
    return &platform->work_table.contexts[platform->cluster.gpus[gpu].spec->kind];
}

/* Updates all rates on a GPU: quota / slowdown among the batches that execute on it, and less where
 * their shares exceed the GPU. Among equal finish times, the batch that started first finishes
 * first. */
static void rates_update(struct platform *platform, uint32_t gpu)
{
    struct gpu_work *work = &platform->gpu_work[gpu];
    const double part =
        platform->cluster.oversubscribed ? gpu_work_part(platform, gpu, SIM_NONE, 0) : 1;
    const double *slowdowns = work_slowdowns(platform, work, gpu, part);
    const double contexts = context_use(platform, gpu)->slowdown;
    const double passed = (double)(platform->now - work->updated);
    const uint32_t count = work->count;
    struct execution *executions = work->executions, *first = NULL;
    uint64_t order = 0;
    work->updated = platform->now;
    for (uint32_t i = 0; i < count; i++) {
        struct execution *execution = &executions[i];
        const double slowdown = slowdowns[count - 1 - i] * contexts;
        execution_update(execution, part * quota_part(1, execution->quota) / slowdown, passed,
                         platform, order);
        order = execution->order;
        if (first == NULL || execution->finish < first->finish)
            first = execution;
    }
    if (first != NULL)
        work_schedule(platform, work, first);
}

/* The same after a change of batches, which changes the rates of the GPU's trainings too. */
static void work_update(struct platform *platform, uint32_t gpu)
{
    rates_update(platform, gpu);
    if (training_count(platform, gpu) > 0)
        training_gpu_update(platform, gpu);
}

void gpu_work_trainings_changed(struct platform *platform, uint32_t gpu)
{
    if (platform->gpu_work[gpu].interferes && platform->gpu_work[gpu].count > 0)
        rates_update(platform, gpu);
}

/* After a batch began (+1) or ended (-1) to execute on a GPU that is a context: the others run at
 * another rate, if the slowdown changed. */
static void contexts_update(struct platform *platform, uint32_t gpu, int change)
{
    struct context_use *use = context_use(platform, gpu);
    const double before = use->slowdown;
    const uint32_t count = platform->gpu_work[gpu].count;
    if (use->pool == NULL)
        return;
    use->batches += (uint32_t)change;
    if (count == (change > 0))
        use->busy += (uint32_t)change;
    use->slowdown = interference_contexts(use->pool, use->busy, use->batches);
    for (uint32_t other = 0; use->slowdown != before && other < platform->cluster.gpu_count;
         other++)
        if (other != gpu && context_use(platform, other) == use &&
            platform->gpu_work[other].count > 0)
            work_update(platform, other);
}

void gpu_work_add(struct platform *platform, uint32_t id)
{
    const uint32_t gpu = platform->batches[id].gpu;
    struct gpu_work *work = &platform->gpu_work[gpu];
    if (work->count == work->capacity)
        work_grow(platform, work);
    work->executions[work->count++] = execution_of(platform, id);
    contexts_update(platform, gpu, 1);
    work_update(platform, gpu);
}

void gpu_work_remove(struct platform *platform, uint32_t id)
{
    const uint32_t gpu = platform->batches[id].gpu;
    struct gpu_work *work = &platform->gpu_work[gpu];
    const struct execution *end = work->executions + work->count;
    work->event = 0;
    for (struct execution *later = work_find(work, id) + 1; later < end; later++)
        later[-1] = *later;
    work->count--;
    contexts_update(platform, gpu, -1);
    work_update(platform, gpu);
}

double gpu_work_left(const struct platform *platform, uint32_t id)
{
    const struct gpu_work *work = &platform->gpu_work[platform->batches[id].gpu];
    const struct execution *execution = work_find(work, id);
    return execution->work - execution->rate * (double)(platform->now - work->updated);
}

void gpu_work_reshare(struct platform *platform, uint32_t id)
{
    const uint32_t gpu = platform->batches[id].gpu;
    struct execution *execution = work_find(&platform->gpu_work[gpu], id);
    /* The new execution has no rate, so its finish is recomputed even if the rate is equal. */
    *execution = execution_of(platform, id);
    work_update(platform, gpu);
}
