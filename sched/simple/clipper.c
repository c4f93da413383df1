/* Clipper (Crankshaw et al., NSDI'17): adapts the batch size to the latency objective.
 *
 * Controls one number per function and kind of GPU, the largest batch, by additive increase and
 * multiplicative decrease [recall]. A full batch that met its latency objective raises the cap by
 * `increase`; one that missed it multiplies the cap by `decrease`. With `batch_delay_ms` a batch
 * below the cap waits that long for more jobs, as in Nagle's algorithm. No latencies are read from
 * the profile.
 *
 * Porting assumptions [derived]:
 * - The objective is the stage's share of the application's SLO. It is compared with the batch's
 *   execution time, because waiting and cold starts do not depend on the batch size.
 * - `max_batch` does not limit the batch by default; latency does.
 * - Batches have the sizes of the profile, so a cap between two sizes allows the smaller. A batch
 *   is full if it has as many jobs as the cap allows.
 * - Clipper's containers have one size, with a GPU each [recall]. `vgpu` is the share that a batch
 *   holds alone. The default 0 is a whole GPU. Each function has its largest share up to that, with
 *   the vCPUs of its fastest configuration, as under "clockwork". Clipper has no rule to choose a
 *   smaller share; `vgpu` sets one for all functions.
 * - Queues are served in order of arrival. A queue that waits for more jobs does not block the
 *   others, whatever the value of `head_of_line`, because Clipper has one queue per model.
 */
#include "sched/common/batch_table.h"
#include "sched/common/kinds.h"
#include "sched/common/static_plan.h"
#include "sched/memory.h"

struct clipper_parameters {
    struct dispatcher_parameters dispatcher; /* first member */
    double increase, decrease;
    sim_time_t batch_delay_ms;
    uint32_t vgpu;
};

struct clipper {
    struct dispatcher dispatcher; /* first member, so that the dispatcher's functions accept this
                                   * state */
    const struct clipper_parameters *parameters;
    struct batch_table table;
    double *cap; /* by function and kind of GPU, 1..its largest batch */
};

static double *cap_of(const struct clipper *self, uint32_t function, uint32_t kind)
{
    return &self->cap[(size_t)function * self->table.kinds + kind];
}

/* The level of the largest batch <= `jobs`. The function must run on the kind. */
static const struct batch_level *largest_within(const struct clipper *self, uint32_t function,
                                                uint32_t kind, double jobs)
{
    const struct batches_of_function *row = batch_table_row(&self->table, function, kind);
    size_t i = row->level_count - 1;
    while (i > 0 && row->levels[i].batch > jobs)
        i--;
    return &row->levels[i];
}

/* Number of jobs in a full batch. */
static uint32_t full_batch(const struct clipper *self, uint32_t function, uint32_t kind)
{
    return largest_within(self, function, kind, *cap_of(self, function, kind))->batch;
}

/* The kind of the set on which the function has the fastest single job; SIM_NONE if it runs on
 * none. */
static uint32_t kind_for(const struct clipper *self, uint32_t function)
{
    uint32_t best = SIM_NONE;
    for (uint32_t k = 0; k < self->table.kinds; k++) {
        const struct batches_of_function *row = batch_table_row(&self->table, function, k);
        if (row->level_count > 0 && kinds_contain(self->dispatcher.kinds, k) &&
            (best == SIM_NONE ||
             row->levels[0].time < batch_table_row(&self->table, function, best)->levels[0].time))
            best = k;
    }
    return best;
}

static uint32_t clipper_configure(const void *state, const struct platform *platform,
                                  uint32_t queue, uint32_t jobs)
{
    const struct clipper *self = state;
    const uint32_t function = platform_queue_function(platform, queue);
    const uint32_t kind = kind_for(self, function);
    if (kind == SIM_NONE)
        return SIM_NONE;
    const double cap = *cap_of(self, function, kind);
    return largest_within(self, function, kind, jobs < cap ? jobs : cap)->fastest;
}

/* No invoker while the queue waits for more jobs. */
static uint32_t clipper_place(void *state, struct platform *platform, uint32_t queue,
                              uint32_t configuration)
{
    const struct clipper *self = state;
    const uint32_t function = platform_queue_function(platform, queue);
    const uint32_t kind =
        platform_workload(platform)->functions[function].configurations[configuration].kind;
    if (self->parameters->batch_delay_ms > 0 &&
        platform_queue_length(platform, queue) < full_batch(self, function, kind) &&
        platform_job(platform, queue, 0).ready + self->parameters->batch_delay_ms >
            platform_now(platform))
        return SIM_NONE;
    return placement_choose(platform, queue, configuration, self->dispatcher.parameters.placement,
                            false);
}

static void clipper_on_ready(void *state, struct platform *platform, uint32_t queue)
{
    const struct clipper *self = state;
    dispatcher_on_ready(state, platform, queue);
    if (self->parameters->batch_delay_ms > 0)
        platform_set_timer(platform, platform_now(platform) + self->parameters->batch_delay_ms,
                           queue);
}

static void clipper_on_finish(void *state, struct platform *platform,
                              const struct finished_batch *batch)
{
    struct clipper *self = state;
    const uint32_t application = platform_queue_application(platform, batch->queue);
    const sim_time_t objective =
        planner_budget(self->dispatcher.planner, batch->queue,
                       platform_workload(platform)->applications[application].slo);
    const uint32_t function = platform_queue_function(platform, batch->queue);
    const uint32_t kind =
        platform_workload(platform)->functions[function].configurations[batch->configuration].kind;
    const struct batches_of_function *row = batch_table_row(&self->table, function, kind);
    const double largest = row->levels[row->level_count - 1].batch;
    double *cap = cap_of(self, function, kind);
    dispatcher_on_finish(state, platform, batch);
    if (batch->execution > objective)
        *cap *= self->parameters->decrease;
    else if (batch->jobs >= full_batch(self, function, kind))
        *cap += self->parameters->increase;
    if (*cap < 1)
        *cap = 1;
    if (*cap > largest)
        *cap = largest;
}

static void tables_fill(struct clipper *self, struct platform *platform)
{
    const struct workload *workload = platform_workload(platform);
    const size_t caps = workload->function_count * workload->kind_count;
    self->cap = platform_allocate(platform, caps, sizeof *self->cap);
    for (size_t i = 0; i < caps; i++)
        self->cap[i] = 1;
    batch_table_fill(&self->table, platform_arena(platform), workload, self->dispatcher.planner,
                     self->dispatcher.parameters.max_batch,
                     self->parameters->vgpu > 0 ? (int)self->parameters->vgpu
                                                : BATCH_TABLE_MOST_UNITS);
}

static bool clipper_init(void *state, struct platform *platform, const void *parameters,
                         struct error *error)
{
    struct clipper *self = state;
    self->parameters = parameters;
    if (!dispatcher_init(&self->dispatcher, platform,
                         (struct dispatch_rule){static_plan_rank, clipper_configure, clipper_place},
                         parameters, error))
        return false;
    if (self->parameters->batch_delay_ms > 0)
        self->dispatcher.parameters.head_of_line = HEAD_OF_LINE_SKIP;
    tables_fill(self, platform);
    return true;
}

static const struct key clipper_parameters[] = {
    DISPATCHER_PARAMETERS(65535),
    DISPATCHER_SPLIT_PARAMETER,
    PARAMETER_NUMBER(clipper, increase, 0, 1000, 1,
                     "added to the cap after a full batch in time (assumed)"),
    PARAMETER_NUMBER(clipper, decrease, 0, 1, 0.9, "factor on the cap after a late batch [recall]"),
    PARAMETER_MS(clipper, batch_delay_ms, 0, 100000, 0,
                 "longest wait of a batch below the cap; 0: none"),
    PARAMETER_WHOLE(clipper, vgpu, 0, 65535, 0,
                    "share that a batch holds alone; 0: a whole GPU [recall]"),
    KEY_END,
};

const struct policy policy_clipper = {
    .abi = POLICY_ABI,
    .name = "clipper",
    .summary = "a batch cap per function by additive increase and multiplicative decrease",
    .parameters = clipper_parameters,
    .parameters_bytes = sizeof(struct clipper_parameters),
    .state_bytes = sizeof(struct clipper),
    .init = clipper_init,
    .on_ready = clipper_on_ready,
    .on_withdrawn = dispatcher_on_withdrawn,
    .on_finish = clipper_on_finish,
    .decide = dispatcher_decide,
};
