/* Clockwork (Gujarati et al., OSDI'20): starts only batches that can finish in time.
 *
 * Evidence: [code] malixian/clockwork @ 5917620, a mirror of the authors' repository,
 * src/clockwork/controller/infer5/infer5_scheduler.cpp and .h; [derived] our porting.
 *
 * One batch runs at a time per GPU (share). Each kind of GPU has times of its own. The time of a
 * batch is the 99th percentile of its last 10 measured executions [code: .h:36, .cpp:299-309];
 * before the first it is the nominal time.
 *
 * For each batch size, jobs that would miss their deadline in a batch of that size are passed over
 * [code: popped from that size's queue, .cpp:252-260]. Batches are always full. The size is the
 * largest for which enough jobs are left, tried upwards from one [code: .cpp:263-271]. The oldest
 * jobs that can make that size run. Older ones that cannot are given up, even if a smaller batch
 * would be in time [code: .cpp:286-291]. Under overload the batches therefore stay large, at the
 * expense of the oldest requests. A request that would miss its deadline even alone is dropped. The
 * queue whose strategy has the earliest latest start goes first [code: .cpp:222].
 *
 * Porting assumptions [derived]:
 * - Batches of at most 16 [code: src/controller.cpp:124]. Sizes are the profile's.
 * - `vgpu` is the share that one batch holds alone. The default 0 is a whole GPU as in the paper.
 *   Each function has its largest share up to that; vCPUs are those of the fastest configuration.
 * - Admission is at dispatch, when a GPU is free. The code sends work up to 10 ms ahead, because
 *   its controller is not on the worker.
 * - `buffer_ms`: the code aims 5 ms before the deadline [.h:35], but never below 15 ms after the
 *   arrival. SLOs here are often shorter than that, so the default is 0.
 * - Clockwork's models have one stage. Here a job is in time in a batch of some size if the longest
 *   path through the later stages, in batches of that size, also ends by the deadline.
 * - Requests that have begun go before those that have not. Clockwork's order alone starts first
 *   stages at the last moment, and the work on them is lost where they wait again.
 * - LOAD: a batch runs on an idle container. If there is none, it starts one only if it would still
 *   be in time after the mean cold start. Otherwise a container is started without a batch where it
 *   would fit, one at a time per function. UNLOAD is the platform's keep-alive.
 * - Estimates include noise and interference, because they are measured. They exclude transfers and
 *   decision time.
 */
#include "sched/common/batch_table.h"
#include "sched/common/dispatcher.h"
#include "sched/common/kinds.h"
#include "sched/common/sliding_window.h"
#include "sched/memory.h"

#define PERCENTILE 0.99 /* of the measured times [code] */

/* Expected execution time of a function's batches of one size. */
struct estimate {
    sim_time_t time;
    uint32_t size; /* index of the batch in `sizes` */
    struct sliding_window measured;
};

struct clockwork_parameters {
    struct dispatcher_parameters dispatcher; /* first member */
    uint32_t vgpu;
    uint32_t window;      /* measurements per estimate; 0: nominal times */
    sim_time_t buffer_ms; /* deadlines are aimed at this much early */
    bool own_admission;
};

struct clockwork {
    struct dispatcher dispatcher; /* first member, so that the dispatcher's functions accept this
                                   * state */
    const struct clockwork_parameters *parameters;
    struct batch_table table;
    struct estimate **estimates; /* by row (function and kind of GPU) and level of the table */
    uint32_t *sizes;             /* the different batches of all levels; the first is 1 */
    uint32_t size_count, queue_count;
    sim_time_t *rest; /* by size and queue: the path through the later stages in such batches */
    sim_time_t *loaded_by; /* by function: when the container that was started for it is ready */
    sim_time_t timer;      /* the earliest timer that is set */
};

/* ---- Strategies ------------------------------------------------------------------------------ */

/* What a queue would do now. */
struct strategy {
    const struct batch_level *level; /* NULL if no waiting job can be in time */
    uint32_t last;                   /* position of the last job that it takes */
    sim_time_t need;                 /* time that a job needs from the start to be in time */
    sim_time_t until;                /* latest start at which all its jobs are in time */
    sim_time_t rank;                 /* earliest latest start of this and smaller batches */
};

static sim_time_t deadline_of(const struct clockwork *self, const struct platform *platform,
                              uint32_t queue, uint32_t position)
{
    return platform_job(platform, queue, position).deadline - self->parameters->buffer_ms;
}

static size_t row_of(const struct clockwork *self, uint32_t function, uint32_t kind)
{
    return (size_t)function * self->table.kinds + kind;
}

/* The kind of the set on which a job alone is expected to be fastest; SIM_NONE if the function runs
 * on none. */
static uint32_t fastest_kind(const struct clockwork *self, uint32_t function, uint64_t kinds)
{
    uint32_t best = SIM_NONE;
    sim_time_t least = SIM_FOREVER;
    for (uint32_t k = 0; k < self->table.kinds; k++) {
        const size_t row = row_of(self, function, k);
        if (self->table.rows[row].level_count == 0 || !kinds_contain(kinds, k) ||
            self->estimates[row][0].time >= least)
            continue;
        least = self->estimates[row][0].time;
        best = k;
    }
    return best;
}

/* Expected time of the function's smallest batch for `jobs`, or of its largest, on the kind of GPU
 * on which this is shortest. */
static sim_time_t time_of(const struct clockwork *self, uint32_t function, uint32_t jobs)
{
    sim_time_t least = SIM_FOREVER;
    for (uint32_t k = 0; k < self->table.kinds; k++) {
        const size_t index = row_of(self, function, k);
        const struct batches_of_function *row = &self->table.rows[index];
        size_t level = 0;
        while (level + 1 < row->level_count && row->levels[level].batch < jobs)
            level++;
        if (row->level_count > 0 && self->estimates[index][level].time < least)
            least = self->estimates[index][level].time;
    }
    return least;
}

/* Time that must remain from the start of a batch to the deadlines of its jobs. */
static sim_time_t needed(const struct clockwork *self, uint32_t queue, size_t row, size_t level)
{
    const struct estimate *estimate = &self->estimates[row][level];
    return estimate->time + self->rest[estimate->size * self->queue_count + queue];
}

/* Whether the job would miss its deadline even alone. */
static bool is_lost(const struct clockwork *self, const struct platform *platform, uint32_t queue,
                    uint32_t position)
{
    const sim_time_t alone =
        time_of(self, platform_queue_function(platform, queue), 1) + self->rest[queue];
    return deadline_of(self, platform, queue, position) - alone < platform_now(platform);
}

/* The oldest jobs that would be in time in a batch of one size. The others are passed over. Where
 * nothing is refused, a lost job goes with any batch, and none is passed over. */
struct takers {
    uint32_t count, last; /* at most the size; position of the last of them */
    sim_time_t first;     /* deadline of the oldest */
    sim_time_t earliest;  /* earliest deadline */
};

static struct takers takers_of(const struct clockwork *self, const struct platform *platform,
                               uint32_t queue, uint32_t batch, sim_time_t need)
{
    const uint32_t length = platform_queue_length(platform, queue);
    const sim_time_t now = platform_now(platform);
    struct takers takers = {.earliest = SIM_FOREVER};
    for (uint32_t i = 0; i < length && takers.count < batch; i++) {
        sim_time_t deadline = deadline_of(self, platform, queue, i);
        if (!self->parameters->own_admission && is_lost(self, platform, queue, i))
            deadline = SIM_FOREVER;
        if (deadline - need < now && !self->parameters->own_admission)
            break;
        if (deadline - need < now)
            continue;
        takers.first = takers.count++ == 0 ? deadline : takers.first;
        takers.earliest = deadline < takers.earliest ? deadline : takers.earliest;
        takers.last = i;
    }
    return takers;
}

/* What the queue would do on GPUs of a kind on which its function runs. O(jobs x levels) at worst,
 * if many jobs can be in time in small batches only. */
static struct strategy strategy_on(const struct clockwork *self, const struct platform *platform,
                                   uint32_t queue, uint32_t kind)
{
    const size_t index = row_of(self, platform_queue_function(platform, queue), kind);
    const struct batches_of_function *row = &self->table.rows[index];
    const sim_time_t now = platform_now(platform);
    struct strategy best = {.rank = SIM_FOREVER};
    for (size_t level = 0; level < row->level_count; level++) {
        const uint32_t batch = row->levels[level].batch;
        const sim_time_t need = needed(self, queue, index, level);
        const struct takers takers = takers_of(self, platform, queue, batch, need);
        if (takers.count < batch)
            break;
        const sim_time_t rank = takers.first - need;
        best = (struct strategy){&row->levels[level], takers.last, need, takers.earliest - need,
                                 rank < best.rank ? rank : best.rank};
    }
    const sim_time_t head = deadline_of(self, platform, queue, 0) - needed(self, queue, index, 0);
    if (head < now)
        best.rank = head; /* lost: the queue comes first, so that the job is dropped */
    return best;
}

/* The latest of the ranks on all kinds of GPU: only a job that is lost on every kind is lost. */
static sim_time_t rank_of(const struct clockwork *self, const struct platform *platform,
                          uint32_t queue)
{
    const uint32_t function = platform_queue_function(platform, queue);
    sim_time_t latest = INT64_MIN;
    for (uint32_t k = 0; k < self->table.kinds; k++) {
        if (batch_table_row(&self->table, function, k)->level_count == 0)
            continue;
        const sim_time_t rank = strategy_on(self, platform, queue, k).rank;
        latest = rank > latest ? rank : latest;
    }
    return latest;
}

/* As time passes a queue's latest start can only become later. A stored rank is therefore never too
 * late, and dispatcher_first's second check finds the present order. A new measurement changes the
 * rank when it is next computed [code: strategies keep their priority]. Requests that have not
 * begun come last. */
static struct queue_rank clockwork_rank(const void *state, const struct platform *platform,
                                        uint32_t queue)
{
    const struct application *application =
        &platform_workload(platform)->applications[platform_queue_application(platform, queue)];
    const bool begun = application->stages[platform_queue_stage(platform, queue)].after_count > 0;
    return (struct queue_rank){rank_of(state, platform, queue) + (begun ? 0 : SIM_FOREVER / 2),
                               (int64_t)platform_job(platform, queue, 0).request};
}

/* Fast kinds first. Jobs that a slower kind passes over might be in time on the fastest: it is used
 * only if it takes the oldest jobs. */
static uint32_t clockwork_configure(const void *state, const struct platform *platform,
                                    uint32_t queue, uint32_t jobs)
{
    const struct clockwork *self = state;
    const uint32_t function = platform_queue_function(platform, queue);
    const uint32_t first = fastest_kind(self, function, KINDS_ALL);
    uint64_t kinds = self->dispatcher.kinds;
    for (uint32_t k; (k = fastest_kind(self, function, kinds)) != SIM_NONE;
         kinds = kinds_without(kinds, k)) {
        const struct strategy strategy = strategy_on(self, platform, queue, k);
        if (strategy.level != NULL && (k == first || strategy.last + 1 == strategy.level->batch))
            return strategy.level->fastest;
    }
    return SIM_NONE;
}

/* ---- Dispatch -------------------------------------------------------------------------------- */

/* Drops the jobs that the strategy passes over. Those that it takes are then the oldest. */
static void drop_passed_over(const struct clockwork *self, struct platform *platform,
                             uint32_t queue, const struct strategy *strategy)
{
    uint32_t last = strategy->last;
    uint32_t position = 0;
    while (position < last) {
        const sim_time_t deadline = deadline_of(self, platform, queue, position);
        if (deadline - strategy->need >= platform_now(platform)) {
            position++;
            continue;
        }
        platform_charge(platform, 1);
        platform_drop(platform, queue, position);
        last--;
    }
}

static uint32_t clockwork_place(void *state, struct platform *platform, uint32_t queue,
                                uint32_t configuration)
{
    struct clockwork *self = state;
    const uint32_t function = platform_queue_function(platform, queue);
    const uint32_t kind =
        platform_workload(platform)->functions[function].configurations[configuration].kind;
    const sim_time_t now = platform_now(platform);
    const sim_time_t cold =
        sim_from_ms(platform_workload(platform)->functions[function].gpus[kind].cold_start_mean_ms);
    const struct strategy strategy = strategy_on(self, platform, queue, kind);
    if (strategy.level == NULL)
        return SIM_NONE;
    uint32_t invoker = placement_choose(platform, queue, configuration,
                                        self->dispatcher.parameters.placement, true);
    if (invoker == SIM_NONE) {
        invoker = platform_best_fit(platform, function, configuration, false);
        if (invoker != SIM_NONE && now + cold > strategy.until) {
            if (self->loaded_by[function] <= now && platform_prewarm(platform, function, invoker))
                self->loaded_by[function] = now + cold;
            return SIM_NONE;
        }
    }
    if (invoker != SIM_NONE && self->parameters->own_admission)
        drop_passed_over(self, platform, queue, &strategy);
    return invoker;
}

/* Drops the oldest job if it would miss its deadline even alone. */
static bool drop_lost(const struct clockwork *self, struct platform *platform, uint32_t queue)
{
    if (!self->parameters->own_admission || !is_lost(self, platform, queue, 0))
        return false;
    platform_charge(platform, 1);
    return platform_drop(platform, queue, 0);
}

static bool clockwork_decide(void *state, struct platform *platform)
{
    struct clockwork *self = state;
    /* The rank of a lost job is in the past, before that of any like queue without one. */
    uint32_t queue = dispatcher_first(&self->dispatcher, platform);
    while (queue != SIM_NONE && drop_lost(self, platform, queue))
        queue = dispatcher_first(&self->dispatcher, platform);
    if (dispatcher_decide(self, platform))
        return true;
    /* Waiting jobs may become lost before any other event occurs. */
    queue = dispatcher_first(&self->dispatcher, platform);
    if (queue != SIM_NONE) {
        const sim_time_t until = rank_of(self, platform, queue) + 1;
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
    if (self->timer <= platform_now(platform))
        self->timer = SIM_FOREVER;
}

/* ---- Estimates ------------------------------------------------------------------------------- */

static void rest_fill(struct clockwork *self, const struct application *application)
{
    sim_time_t time[WORKLOAD_MAX_STAGES];
    for (uint32_t i = 0; i < self->size_count; i++) {
        for (uint32_t s = 0; s < application->stage_count; s++)
            time[s] = time_of(self, application->stages[s].function, self->sizes[i]);
        slo_rest(application, time, &self->rest[i * self->queue_count + application->first_queue]);
    }
}

/* Updates what is needed before the stages of `function`. O(sizes × stages of all applications). */
static void rest_refill(struct clockwork *self, const struct workload *workload, uint32_t function)
{
    for (size_t a = 0; a < workload->application_count; a++) {
        const struct application *application = &workload->applications[a];
        bool has = false;
        for (uint32_t s = 0; s < application->stage_count && !has; s++)
            has = application->stages[s].function == function;
        if (has)
            rest_fill(self, application);
    }
}

static void clockwork_on_finish(void *state, struct platform *platform,
                                const struct finished_batch *batch)
{
    struct clockwork *self = state;
    const uint32_t function = platform_queue_function(platform, batch->queue);
    const size_t index = row_of(
        self, function,
        platform_workload(platform)->functions[function].configurations[batch->configuration].kind);
    const struct batches_of_function *row = &self->table.rows[index];
    dispatcher_on_finish(self, platform, batch);
    size_t level = 0;
    while (level < row->level_count && row->levels[level].fastest != batch->configuration)
        level++;
    if (self->parameters->window == 0 || level == row->level_count)
        return;
    struct estimate *estimate = &self->estimates[index][level];
    const sim_time_t before = estimate->time;
    sliding_window_add(&estimate->measured, batch->execution);
    estimate->time = sliding_window_percentile(&estimate->measured, PERCENTILE);
    if (estimate->time != before)
        rest_refill(self, platform_workload(platform), function);
}

/* The index of the batch among the sizes, to which it is added if it is new. */
static uint32_t size_index(struct clockwork *self, uint32_t batch)
{
    uint32_t i = 0;
    while (i < self->size_count && self->sizes[i] != batch)
        i++;
    self->sizes[i] = batch;
    self->size_count += i == self->size_count;
    return i;
}

static void estimates_make(struct clockwork *self, struct arena *arena)
{
    const size_t rows = self->table.function_count * self->table.kinds;
    self->estimates = arena_allocate(arena, rows, sizeof *self->estimates);
    for (size_t r = 0; r < rows; r++) {
        const struct batches_of_function *row = &self->table.rows[r];
        self->estimates[r] = arena_allocate(arena, row->level_count, sizeof *self->estimates[r]);
        for (size_t i = 0; i < row->level_count; i++) {
            self->estimates[r][i].time = row->levels[i].time;
            self->estimates[r][i].size = size_index(self, row->levels[i].batch);
            if (self->parameters->window > 0)
                sliding_window_init(&self->estimates[r][i].measured, arena,
                                    self->parameters->window);
        }
    }
}

/* ---- The policy ------------------------------------------------------------------------------ */

static void tables_fill(struct clockwork *self, struct platform *platform)
{
    const struct workload *workload = platform_workload(platform);
    self->queue_count = workload->queue_count;
    self->sizes =
        platform_allocate(platform, self->dispatcher.parameters.max_batch, sizeof *self->sizes);
    self->loaded_by =
        platform_allocate(platform, workload->function_count, sizeof *self->loaded_by);
    batch_table_fill(&self->table, platform_arena(platform), workload, self->dispatcher.planner,
                     self->dispatcher.parameters.max_batch,
                     self->parameters->vgpu > 0 ? (int)self->parameters->vgpu
                                                : BATCH_TABLE_MOST_UNITS);
    estimates_make(self, platform_arena(platform));
    self->rest = platform_allocate(platform, (size_t)self->size_count * self->queue_count,
                                   sizeof *self->rest);
}

static bool clockwork_init(void *state, struct platform *platform, const void *parameters,
                           struct error *error)
{
    struct clockwork *self = state;
    const struct workload *workload = platform_workload(platform);
    self->parameters = parameters;
    if (!dispatcher_init(
            &self->dispatcher, platform,
            (struct dispatch_rule){clockwork_rank, clockwork_configure, clockwork_place},
            parameters, error))
        return false;
    self->timer = SIM_FOREVER;
    tables_fill(self, platform);
    for (size_t a = 0; a < workload->application_count; a++)
        rest_fill(self, &workload->applications[a]);
    return true;
}

static const struct key clockwork_parameters[] = {
    DISPATCHER_PARAMETERS(16),
    PARAMETER_WHOLE(clockwork, vgpu, 0, 65535, 0,
                    "share that a batch holds alone; 0: a whole GPU (paper)"),
    PARAMETER_WHOLE(clockwork, window, 0, 10000, 10,
                    "measured times whose 99th percentile is the expected time (code); 0: nominal"),
    PARAMETER_MS(clockwork, buffer_ms, 0, 1e6, 0,
                 "time before the deadline that is aimed at (code: 5)"),
    PARAMETER_SWITCH(clockwork, own_admission, true,
                     "requests that cannot be in time are dropped (on: code), or served in turn"),
    KEY_END,
};

const struct policy policy_clockwork = {
    .abi = POLICY_ABI,
    .name = "clockwork",
    .admits_requests = true,
    .refuses = "what cannot be in time even alone, or in its queue's largest batch",
    .summary = "largest batch in time, earliest latest start first",
    .parameters = clockwork_parameters,
    .parameters_bytes = sizeof(struct clockwork_parameters),
    .state_bytes = sizeof(struct clockwork),
    .init = clockwork_init,
    .on_ready = dispatcher_on_ready,
    .on_withdrawn = dispatcher_on_withdrawn,
    .on_finish = clockwork_on_finish,
    .on_timer = clockwork_on_timer,
    .decide = clockwork_decide,
};
