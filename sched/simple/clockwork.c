/* Clockwork (Gujarati et al., OSDI'20): starts only batches that can finish in time.
 *
 * Assumes that inference takes its nominal time [recall]. One batch runs at a time per GPU (share).
 * Each queue's strategy is the largest batch whose jobs would all meet their deadline if it started
 * now. The strategy with the earliest latest start is executed first. A request that would miss its
 * deadline even alone is dropped at once, so that no time is spent on it.
 *
 * Porting assumptions [derived]:
 * - Batches of at most 16, as the paper's models were compiled for [recall].
 * - `vgpu` is the share that one batch holds alone. The default 0 is a whole GPU as in the paper.
 *   Each function has its largest share up to that; vCPUs are those of the fastest configuration.
 * - A request has several stages, Clockwork's models have one. "In time" means: this batch's
 *   nominal time plus the fastest path through the later stages, each alone, ends by the request's
 *   deadline. This rule decides which requests are dropped. Batches above one must also be within
 *   the stage's share of the remaining time (`reserve` "share"; "rest": only the fastest path is
 *   reserved). Otherwise the first stages would use the time that the later ones need for queueing.
 * - A batch takes the oldest jobs, because the platform's queues are served from the front.
 * - LOAD: a batch runs on an idle container. If there is none, it starts one only if it would still
 *   be in time after the mean cold start. Otherwise a container is started without a batch where it
 *   would fit, one at a time per function. UNLOAD is the platform's keep-alive.
 * - Predictions exclude transfers, noise, interference and decision time. Clockwork's workers are
 *   built to have none. Here they cause missed deadlines that the paper would not have.
 */
#include <math.h>
#include <stdlib.h>

#include "sched/common/batch_table.h"
#include "sched/policy_bookkeeping.h"
#include "sched/common/dispatcher.h"

struct clockwork {
    struct dispatcher dispatcher; /* first member, so that the dispatcher's functions accept this
                                   * state */
    struct batch_table table;
    sim_time_t *rest;      /* by queue: the fastest path through the later stages */
    double *share;         /* by queue: its share of the time left for it and the later stages */
    sim_time_t *loaded_by; /* by function: when the container that was started for it is ready */
    sim_time_t timer;      /* the earliest timer that is set */
    bool reserve_rest;
};

/* What a queue would do now. */
struct strategy {
    const struct batch_level *level; /* NULL if one of the oldest jobs would miss its deadline */
    sim_time_t latest;               /* the latest start at which this strategy is valid */
};

/* Time that must remain from the start of a batch to its deadline. */
static sim_time_t needed(const struct clockwork *self, uint32_t queue,
                         const struct batch_level *level)
{
    const sim_time_t least = level->time + self->rest[queue];
    if (level->batch == 1 || self->reserve_rest)
        return least;
    const sim_time_t planned = (sim_time_t)ceil((double)level->time / self->share[queue]);
    return planned > least ? planned : least;
}

static sim_time_t needed_alone(const struct clockwork *self, const struct platform *platform,
                               uint32_t queue)
{
    const uint32_t function = platform_queue_function(platform, queue);
    return needed(self, queue, &self->table.functions[function].levels[0]);
}

/* Number of jobs examined: those of the largest batch. */
static uint32_t window_of(const struct clockwork *self, const struct platform *platform,
                          uint32_t queue)
{
    const struct batches_of_function *row =
        &self->table.functions[platform_queue_function(platform, queue)];
    const uint32_t length = platform_queue_length(platform, queue);
    const uint32_t most = row->levels[row->level_count - 1].batch;
    return length < most ? length : most;
}

static struct strategy strategy_of(const struct clockwork *self, const struct platform *platform,
                                   uint32_t queue)
{
    const struct batches_of_function *row =
        &self->table.functions[platform_queue_function(platform, queue)];
    const uint32_t window = window_of(self, platform, queue);
    struct strategy best = {NULL, SIM_FOREVER};
    sim_time_t deadline = SIM_FOREVER;
    size_t level = 0;
    for (uint32_t i = 0; i < window; i++) {
        const sim_time_t own = platform_job(platform, queue, i).deadline;
        deadline = own < deadline ? own : deadline;
        if (level == row->level_count || row->levels[level].batch != i + 1)
            continue;
        const sim_time_t latest = deadline - needed(self, queue, &row->levels[level]);
        if (latest >= platform_now(platform))
            best = (struct strategy){&row->levels[level], latest};
        level++;
    }
    const sim_time_t alone = deadline - needed_alone(self, platform, queue);
    best.latest = alone < best.latest ? alone : best.latest;
    if (alone < platform_now(platform))
        best.level = NULL;
    return best;
}

/* As time passes a queue's latest start can only become later. A stored rank is therefore never too
 * late, and dispatcher_first's second check finds the present order. */
static struct queue_rank clockwork_rank(const void *state, const struct platform *platform,
                                        uint32_t queue)
{
    return (struct queue_rank){strategy_of(state, platform, queue).latest,
                               (int64_t)platform_job(platform, queue, 0).request};
}

/* Called only after all jobs that would miss their deadline are dropped, so a strategy exists. */
static uint32_t clockwork_configure(const void *state, const struct platform *platform,
                                    uint32_t queue, uint32_t jobs)
{
    (void)jobs;
    const struct clockwork *self = state;
    const struct strategy strategy = strategy_of(self, platform, queue);
    const uint32_t function = platform_queue_function(platform, queue);
    return strategy.level != NULL ? strategy.level->fastest
                                  : self->table.functions[function].levels[0].fastest;
}

static uint32_t clockwork_place(void *state, struct platform *platform, uint32_t queue,
                                uint32_t configuration, bool warm_only)
{
    struct clockwork *self = state;
    const uint32_t function = platform_queue_function(platform, queue);
    const sim_time_t now = platform_now(platform);
    const sim_time_t cold =
        sim_from_ms(platform_workload(platform)->functions[function].cold_start_mean_ms);
    const struct strategy strategy = strategy_of(self, platform, queue);
    if (strategy.level == NULL)
        return SIM_NONE;
    uint32_t invoker =
        placement_choose(platform, queue, configuration, self->dispatcher.placement, true);
    if (invoker != SIM_NONE || warm_only)
        return invoker;
    invoker = platform_best_fit(platform, function, configuration, false);
    if (invoker == SIM_NONE || now + cold <= strategy.latest)
        return invoker;
    if (self->loaded_by[function] <= now && platform_prewarm(platform, function, invoker))
        self->loaded_by[function] = now + cold;
    return SIM_NONE;
}

/* Drops the first of the oldest jobs that would miss its deadline. */
static bool drop_lost(const struct clockwork *self, struct platform *platform, uint32_t queue)
{
    const sim_time_t alone = needed_alone(self, platform, queue);
    const uint32_t window = window_of(self, platform, queue);
    uint32_t position = 0;
    while (position < window &&
           platform_job(platform, queue, position).deadline - alone >= platform_now(platform))
        position++;
    if (position == window)
        return false;
    platform_charge(platform, 1);
    return platform_drop(platform, queue, position);
}

static bool clockwork_decide(void *state, struct platform *platform)
{
    struct clockwork *self = state;
    /* The latest start of a lost job is in the past, before that of any queue without one. */
    uint32_t queue = dispatcher_first(&self->dispatcher, platform);
    while (queue != SIM_NONE && drop_lost(self, platform, queue))
        queue = dispatcher_first(&self->dispatcher, platform);
    if (dispatcher_decide(self, platform))
        return true;
    /* Waiting jobs may become lost before any other event occurs. */
    queue = dispatcher_first(&self->dispatcher, platform);
    if (queue != SIM_NONE) {
        const sim_time_t until = strategy_of(self, platform, queue).latest + 1;
        if (until > platform_now(platform) && until < self->timer) {
            self->timer = until;
            platform_set_timer(platform, until, 0);
        }
    }
    return false;
}

static void clockwork_on_timer(void *state, struct platform *platform, uint32_t id)
{
    struct clockwork *self = state;
    (void)id;
    if (self->timer <= platform_now(platform))
        self->timer = SIM_FOREVER;
}

static void clockwork_finish(void *state)
{
    struct clockwork *self = state;
    dispatcher_finish(&self->dispatcher);
    batch_table_clear(&self->table);
    free(self->rest);
    free(self->share);
    free(self->loaded_by);
    self->rest = NULL;
    self->share = NULL;
    self->loaded_by = NULL;
}

static void rest_fill(struct clockwork *self, const struct application *application)
{
    const uint32_t first = application->first_queue;
    sim_time_t alone[WORKLOAD_MAX_STAGES];
    for (uint32_t s = 0; s < application->stage_count; s++) {
        alone[s] = self->table.functions[application->stages[s].function].levels[0].time;
        self->share[first + s] =
            sim_to_s(planner_budget_left(self->dispatcher.planner, first + s, SIM_HOUR)) / 3600;
    }
    slo_rest(application, alone, &self->rest[first]);
}

static bool clockwork_allocate(struct clockwork *self, const struct workload *workload, int units,
                               struct error *error)
{
    self->rest = calloc((size_t)workload->queue_count + 1, sizeof *self->rest);
    self->share = calloc((size_t)workload->queue_count + 1, sizeof *self->share);
    self->loaded_by = calloc(workload->function_count + 1, sizeof *self->loaded_by);
    if (self->rest == NULL || self->share == NULL || self->loaded_by == NULL)
        return error_run(error, "out of memory for a policy over %u queues", workload->queue_count);
    return batch_table_fill(&self->table, workload, self->dispatcher.planner,
                            self->dispatcher.max_batch, units, error);
}

static bool clockwork_init(void *state, struct platform *platform, const double *values,
                           struct error *error)
{
    struct clockwork *self = state;
    const struct workload *workload = platform_workload(platform);
    const double *own = values + DISPATCHER_PARAMETER_COUNT;
    if (own[1] != floor(own[1]))
        return error_input(error, "policy.params.vgpu is %g; give a whole number", own[1]);
    if (!dispatcher_init(&self->dispatcher, platform,
                         (struct dispatch_rule){clockwork_rank, clockwork_configure}, values,
                         (enum planner_split)own[0], error))
        return false;
    self->dispatcher.place = clockwork_place;
    self->timer = SIM_FOREVER;
    self->reserve_rest = own[2] > 0;
    if (!clockwork_allocate(self, workload, own[1] > 0 ? (int)own[1] : BATCH_TABLE_MOST_UNITS,
                            error)) {
        clockwork_finish(self);
        return false;
    }
    for (size_t a = 0; a < workload->application_count; a++)
        rest_fill(self, &workload->applications[a]);
    return true;
}

static const struct parameter clockwork_parameters[] = {
    DISPATCHER_PARAMETERS(16),
    DISPATCHER_SPLIT_PARAMETER,
    {"vgpu", 0, 0, 65535, NULL, "share that a batch holds alone; 0: a whole GPU [recall]"},
    {"reserve", 0, 0, 1, "share|rest",
     "time reserved for later stages: their shares, or their fastest path"},
};

extern const struct policy policy_clockwork;
const struct policy policy_clockwork = {
    .abi = POLICY_ABI,
    .name = "clockwork",
    .summary = "largest batch in time, earliest latest start first; drops requests that cannot "
               "meet the SLO",
    .parameters = clockwork_parameters,
    .parameter_count = sizeof clockwork_parameters / sizeof *clockwork_parameters,
    .state_bytes = sizeof(struct clockwork),
    .init = clockwork_init,
    .on_ready = dispatcher_on_ready,
    .on_withdrawn = dispatcher_on_withdrawn,
    .on_finish = dispatcher_on_finish,
    .on_timer = clockwork_on_timer,
    .decide = clockwork_decide,
    .finish = clockwork_finish,
};
