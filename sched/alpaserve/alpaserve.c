/* AlpaServe (Li et al., OSDI'23): models on groups of GPUs, each group a pipeline that is served in
 * order of arrival, and requests refused on arrival that would be late.
 *
 * Evidence: [code] alpa-projects/mms @ dba47b18, alpa_serve/simulator/controller.py; [paper]
 * section 4; [derived] our porting. The placement search of the paper is not part of this policy:
 * the experiment states the placement.
 *
 * - A group is an invoker. It hosts the functions that have a container on it at the start
 *   ("initial": {"m0": [0, 3]}). Stage s of an application is one stage of the pipeline: the group
 *   needs a GPU for each [derived].
 *   A model without a group is refused [code]. A group hosts what its empty invoker can run. If no
 *   model has a container at the start, each group hosts all [derived].
 * - A request goes, on its arrival, to the group of its model with the fewest unfinished requests;
 *   of several the first [code]. A request is unfinished until its last stage has released its GPU
 *   or a full queue has refused it [derived].
 * - A group has a clock per stage: when its last accepted batch will have ended, its turnaround
 *   included. A request whose end by these clocks, plus `margin_ms`, is after its deadline is
 *   refused at once [code; the margin stands for the way of the answer]. `own_admission` "off"
 * refuses none.
 * - Each stage of a group serves one batch at a time, each of one job, in the order in which jobs
 *   come to it [code: the published runs do not batch].
 *
 * The waiting jobs of one queue are alike but for their deadlines. A group whose turn it is takes
 * the oldest, even if that was assigned to another group of the same model [derived]: both start
 * when they would have, the older one first.
 */
#include "sched/common/unique_fifo.h"
#include "sched/memory.h"
#include "sched/policy.h"

/* The jobs of one stage of a group that have been assigned and not begun: queues, in order. */
struct line {
    uint32_t *queues;
    uint32_t head, count;
};

struct group {
    uint32_t unfinished; /* requests */
    /* By stage: */
    sim_time_t clocks[WORKLOAD_MAX_STAGES];
    struct line lines[WORKLOAD_MAX_STAGES];
    bool busy[WORKLOAD_MAX_STAGES];
};

struct alpaserve_parameters {
    bool own_admission;
    sim_time_t margin_ms;
};

struct alpaserve {
    const struct alpaserve_parameters *parameters;
    const struct workload *workload;
    struct group *groups; /* by invoker */
    uint32_t group_count;
    uint32_t **hosts;         /* by application: its groups, SIM_NONE at the end; NULL: not known */
    struct line arrivals;     /* queues of requests that have no group yet */
    uint32_t *unassigned;     /* by queue: their number; they are its newest jobs */
    struct unique_fifo turns; /* groups that may start a batch */
    uint64_t outages;         /* that it knows of */
};

static void line_push(struct platform *platform, struct line *line, uint32_t queue)
{
    struct arena *arena = platform_arena(platform);
    if (line->head > 64 && line->head > line->count / 2) {
        for (uint32_t i = line->head; i < line->count; i++)
            line->queues[i - line->head] = line->queues[i];
        line->count -= line->head;
        line->head = 0;
    }
    *ARENA_NEXT(arena, line->queues, line->count) = queue;
}

/* ---- On arrival ------------------------------------------------------------------------------ */

/* Whether the invoker can run each of the application's functions; with `placed`, whether it also
 * has an idle container of each. */
static bool hosts_all(const struct alpaserve *self, const struct platform *platform,
                      const struct application *application, uint32_t invoker, bool placed)
{
    for (size_t s = 0; s < application->stage_count; s++) {
        const uint32_t function = application->stages[s].function;
        const uint32_t spec = (uint32_t)self->workload->functions[function].fastest_single;
        if (!platform_fits(platform, function, spec, invoker) ||
            (placed && platform_warm(platform, function, invoker) == 0))
            return false;
    }
    return true;
}

/* Reads the placement, before the first batch. Without any, every group has all applications. */
static void hosts_read(struct alpaserve *self, struct platform *platform)
{
    const struct workload *workload = self->workload;
    bool placed = false;
    self->hosts = platform_allocate(platform, workload->application_count, sizeof *self->hosts);
    for (size_t a = 0; a < workload->application_count; a++)
        for (uint32_t i = 0; i < self->group_count; i++)
            placed = placed || hosts_all(self, platform, &workload->applications[a], i, true);
    for (size_t a = 0; a < workload->application_count; a++) {
        uint32_t count = 0;
        self->hosts[a] = platform_allocate(platform, self->group_count + 1, sizeof *self->hosts[a]);
        for (uint32_t i = 0; i < self->group_count; i++)
            if (hosts_all(self, platform, &workload->applications[a], i, placed))
                self->hosts[a][count++] = i;
        self->hosts[a][count] = SIM_NONE;
    }
}

/* The group that hosts the queue's application and has the fewest unfinished requests; SIM_NONE if
 * none hosts it. */
static uint32_t group_choose(const struct alpaserve *self, const struct platform *platform,
                             uint32_t queue)
{
    const uint32_t *hosts = self->hosts[platform_queue_application(platform, queue)];
    uint32_t best = hosts[0];
    for (size_t i = 1; best != SIM_NONE && hosts[i] != SIM_NONE; i++)
        if (self->groups[hosts[i]].unfinished < self->groups[best].unfinished)
            best = hosts[i];
    return best;
}

/* The clocks of a group after one more request of the application; returns the request's end. */
static sim_time_t clocks_advance(const struct alpaserve *self, const struct platform *platform,
                                 uint32_t queue, const sim_time_t *clocks, sim_time_t *after)
{
    const struct application *application =
        &self->workload->applications[platform_queue_application(platform, queue)];
    sim_time_t end = platform_now(platform);
    for (uint32_t s = 0; s < application->stage_count; s++) {
        const struct function *function =
            &self->workload->functions[application->stages[s].function];
        const struct configuration *spec = &function->configurations[function->fastest_single];
        end = (clocks[s] > end ? clocks[s] : end) + spec->time;
        after[s] = end + configuration_turnaround(function, spec);
    }
    return end;
}

/* Gives the request at `position` of a first stage's queue to a group, or refuses it. */
static void request_assign(struct alpaserve *self, struct platform *platform, uint32_t queue,
                           uint32_t position)
{
    const uint32_t chosen = group_choose(self, platform, queue);
    struct group *group = &self->groups[chosen == SIM_NONE ? 0 : chosen];
    sim_time_t after[WORKLOAD_MAX_STAGES] = {0};
    const sim_time_t end = clocks_advance(self, platform, queue, group->clocks, after);
    platform_charge(platform, 1);
    if (chosen == SIM_NONE ||
        (self->parameters->own_admission &&
         end + self->parameters->margin_ms > platform_job(platform, queue, position).deadline)) {
        platform_drop(platform, queue, position);
        return;
    }
    const uint32_t application = platform_queue_application(platform, queue);
    for (uint32_t s = 0; s < self->workload->applications[application].stage_count; s++)
        group->clocks[s] = after[s];
    group->unfinished++;
    line_push(platform, &group->lines[0], queue);
    unique_fifo_add(&self->turns, chosen);
}

/* ---- The pipelines --------------------------------------------------------------------------- */

/* Starts the next batch of one stage of the group, if its GPU is free. */
static bool stage_start(struct alpaserve *self, struct platform *platform, uint32_t invoker,
                        uint32_t stage)
{
    struct group *group = &self->groups[invoker];
    struct line *line = &group->lines[stage];
    if (group->busy[stage] || line->head == line->count)
        return false;
    const uint32_t queue = line->queues[line->head];
    const uint32_t function = platform_queue_function(platform, queue);
    const uint32_t spec = (uint32_t)self->workload->functions[function].fastest_single;
    const bool warm = platform_warm(platform, function, invoker) > 0;
    if (warm ? !platform_fits_warm(platform, function, spec, invoker)
             : !platform_fits(platform, function, spec, invoker))
        return false;
    line->head++;
    group->busy[stage] = true;
    return platform_dispatch(platform, queue, 1, spec, invoker);
}

static bool alpaserve_decide(void *state, struct platform *platform)
{
    struct alpaserve *self = state;
    if (self->hosts == NULL)
        hosts_read(self, platform);
    for (uint32_t g = 0; self->outages != platform_outages(platform) && g < self->group_count; g++)
        unique_fifo_add(&self->turns, g);
    self->outages = platform_outages(platform);
    while (self->arrivals.head < self->arrivals.count) {
        const uint32_t queue = self->arrivals.queues[self->arrivals.head++];
        const uint32_t position = platform_queue_length(platform, queue) - self->unassigned[queue];
        self->unassigned[queue]--;
        request_assign(self, platform, queue, position);
    }
    for (uint32_t invoker; (invoker = unique_fifo_next(&self->turns)) != SIM_NONE;)
        for (uint32_t s = 0; s < self->workload->max_stages; s++)
            if (stage_start(self, platform, invoker, s)) {
                unique_fifo_add(&self->turns, invoker);
                return true;
            }
    return false;
}

static void alpaserve_on_ready(void *state, struct platform *platform, uint32_t queue)
{
    struct alpaserve *self = state;
    const uint32_t stage = platform_queue_stage(platform, queue);
    const uint32_t newest = platform_queue_length(platform, queue) - 1;
    if (stage == 0) {
        line_push(platform, &self->arrivals, queue);
        self->unassigned[queue]++;
        return;
    }
    const uint32_t invoker = platform_predecessor_invoker(platform, queue, newest, 0);
    line_push(platform, &self->groups[invoker].lines[stage], queue);
    unique_fifo_add(&self->turns, invoker);
}

static void alpaserve_on_refused(void *state, struct platform *platform, uint32_t invoker)
{
    ((struct alpaserve *)state)->groups[invoker].unfinished--;
}

static void alpaserve_on_finish(void *state, struct platform *platform,
                                const struct finished_batch *batch)
{
    struct alpaserve *self = state;
    const uint32_t stage = platform_queue_stage(platform, batch->queue);
    const uint32_t application = platform_queue_application(platform, batch->queue);
    struct group *group = &self->groups[batch->invoker];
    group->busy[stage] = false;
    if (stage + 1 == self->workload->applications[application].stage_count || batch->lost)
        group->unfinished--;
    unique_fifo_add(&self->turns, batch->invoker);
}

/* ---- The policy ------------------------------------------------------------------------------ */

static bool alpaserve_init(void *state, struct platform *platform, const void *parameters,
                           struct error *error)
{
    struct alpaserve *self = state;
    self->parameters = parameters;
    self->workload = platform_workload(platform);
    for (size_t a = 0; a < self->workload->application_count; a++)
        for (size_t s = 0; s < self->workload->applications[a].stage_count; s++)
            if (self->workload->applications[a].stages[s].after_count != (s > 0))
                return error_input(error,
                                   "policy alpaserve: application \"%s\" is not a chain of stages",
                                   self->workload->applications[a].name);
    self->group_count = self->workload->cluster.invoker_count;
    self->groups = platform_allocate(platform, self->group_count, sizeof *self->groups);
    self->unassigned =
        platform_allocate(platform, self->workload->queue_count, sizeof *self->unassigned);
    unique_fifo_init(&self->turns, platform_arena(platform), self->group_count);
    return true;
}

static const struct key alpaserve_parameters[] = {
    PARAMETER_SWITCH(alpaserve, own_admission, true,
                     "refuse requests whose predicted end is late (on: code)"),
    PARAMETER_MS(alpaserve, margin_ms, 0, 1e6, 5,
                 "predicted ends are this much before the deadline (code)"),
    KEY_END,
};

const struct policy policy_alpaserve = {
    .abi = POLICY_ABI,
    .places_containers = true,
    .admits_requests = true,
    .refuses = "what is predicted to be late",
    .name = "alpaserve",
    .summary = "models on groups of GPUs as pipelines",
    .parameters = alpaserve_parameters,
    .parameters_bytes = sizeof(struct alpaserve_parameters),
    .state_bytes = sizeof(struct alpaserve),
    .init = alpaserve_init,
    .on_ready = alpaserve_on_ready,
    .on_refused = alpaserve_on_refused,
    .on_finish = alpaserve_on_finish,
    .decide = alpaserve_decide,
};
