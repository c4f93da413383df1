/* SGPRS (Fakhim Babaei and Chantem, DATE'25): stages of periodic networks on MPS contexts of a GPU.
 *
 * Evidence: [code] AmirFB/SGPRS @ 105aec7, the authors' repository; [derived] our porting.
 *
 * A pool of contexts exists from the start, so a stage changes its context at no cost. A stage has
 * a sub-deadline D: the part of 0.99 periods that its worst-case time is of all stages' [code:
 * loop.cpp:110, cnt.cpp:178-200], from the start of the period on.
 *
 * A stage is ready when its predecessor has ended. If no context is empty, it waits until D - 2d,
 * d its part of the period, even if a context empties meanwhile. The last two stages do not wait
 * [code: opr.cpp:643]. Then it joins a context [code: schd.cpp:266-332]: the first empty one in
 * which it ends before D, else the empty one in which it ends first, else the one of all. The end
 * is that of the context's queue + the stage's worst-case time. The queue ends after the times of
 * all its stages, from when its oldest stage became ready; from now on, if that stage should have
 * ended [code: ctx.cpp:211-234]. A stage leaves its queue at its end.
 *
 * Porting assumptions [derived]:
 * - A context is an invoker with one GPU of the context's SMs. Its streams are batches side by
 *   side. A stage has its fastest configuration there, all units, and `oversubscription` lets
 *   streams share the context. A free stream goes to any stage that waits, drawn: in the code they
 *   wait for a condition variable, which has no order [code: ctx.cpp:115-122].
 * - Worst-case times are not public. They are the planning times, with all contexts busy.
 * - The period is the SLO. A task is an application, so its queues hold one job each.
 * - `assignment` "static" is the code's naive baseline: networks in the context of the task's
 * number modulo contexts, at once, in any number of streams.
 */
#include "sched/policy.h"
#include "sched/common/kinds.h"
#include "sched/common/planner.h"
#include "traces/profile/interference.h"

struct sgprs_parameters {
    enum { ASSIGN_DEADLINE, ASSIGN_STATIC } assignment;
    uint32_t streams;
    double deadline_factor;
};

struct context {
    uint32_t *configurations; /* by function; SIM_NONE: it does not run here */
    sim_time_t *wcets;        /* by function */
};

/* A stage that is ready and has not ended. */
struct stage_entry {
    uint32_t queue, function;
    uint32_t context; /* whose queue it has joined; SIM_NONE: none yet */
    sim_time_t ready;
    sim_time_t deadline; /* D */
    sim_time_t part;     /* d */
    sim_time_t join;     /* when it stops to wait; NOT_DECIDED at first */
    bool running;
};

#define NOT_DECIDED (-1)

struct sgprs {
    const struct sgprs_parameters *parameters;
    const struct workload *workload;
    struct context *contexts; /* by invoker */
    uint32_t context_count, streams;
    sim_time_t *parts;           /* by queue: d */
    sim_time_t *stacked;         /* by queue: D - start of the period */
    bool *last;                  /* by queue: one of the last two stages */
    struct stage_entry *entries; /* in the order in which they joined, then became ready */
    uint32_t entry_count, entry_room;
};

/* ---- Contexts -------------------------------------------------------------------------------- */

/* When the context's queue ends; now if it is empty. O(entries). */
static sim_time_t queue_end(const struct sgprs *self, uint32_t context, sim_time_t now, bool *empty)
{
    const sim_time_t *wcets = self->contexts[context].wcets;
    sim_time_t sum = 0, start = now;
    *empty = true;
    for (uint32_t i = 0; i < self->entry_count; i++) {
        const struct stage_entry *entry = &self->entries[i];
        if (entry->context != context)
            continue;
        const sim_time_t wcet = wcets[entry->function];
        if (*empty && entry->ready + wcet >= now)
            start = entry->ready;
        *empty = false;
        sum += wcet;
    }
    return start + sum;
}

static bool runs_in(const struct sgprs *self, uint32_t context, uint32_t function)
{
    return self->contexts[context].configurations[function] != SIM_NONE;
}

/* The context of a task's number modulo contexts; the next one where the stage does not run. */
static uint32_t own_context(const struct sgprs *self, uint32_t task, uint32_t function)
{
    uint32_t context = task % self->context_count;
    while (!runs_in(self, context, function))
        context = (context + 1) % self->context_count;
    return context;
}

/* The context that the stage would join now, and whether any is empty. */
static uint32_t choose_context(const struct sgprs *self, const struct stage_entry *entry,
                               sim_time_t now, bool *any_empty)
{
    sim_time_t least[2] = {SIM_FOREVER, SIM_FOREVER}; /* of empty ones, of others */
    uint32_t best[2] = {SIM_NONE, SIM_NONE};
    *any_empty = false;
    for (uint32_t c = 0; c < self->context_count; c++) {
        bool empty;
        if (!runs_in(self, c, entry->function))
            continue;
        const sim_time_t end =
            queue_end(self, c, now, &empty) + self->contexts[c].wcets[entry->function];
        *any_empty |= empty;
        if (empty && end < entry->deadline)
            return c;
        if (end < least[!empty]) {
            least[!empty] = end;
            best[!empty] = c;
        }
    }
    return best[!*any_empty];
}

/* ---- Stages ---------------------------------------------------------------------------------- */

/* Removes the queue's first entry that runs in the context, or that does not run (SIM_NONE). */
static void entry_remove(struct sgprs *self, uint32_t queue, uint32_t context)
{
    uint32_t at = 0;
    while (at < self->entry_count &&
           (self->entries[at].queue != queue ||
            self->entries[at].running != (context != SIM_NONE) ||
            (context != SIM_NONE && self->entries[at].context != context)))
        at++;
    if (at == self->entry_count)
        return;
    self->entry_count--;
    for (uint32_t i = at; i < self->entry_count; i++)
        self->entries[i] = self->entries[i + 1];
}

/* Lets the entry join a context: it is then behind all that joined before. */
static void entry_join(struct sgprs *self, uint32_t at, uint32_t context)
{
    struct stage_entry entry = self->entries[at];
    uint32_t place = 0;
    entry.context = context;
    while (self->entries[place].context != SIM_NONE)
        place++;
    for (uint32_t i = at; i > place; i--)
        self->entries[i] = self->entries[i - 1];
    self->entries[place] = entry;
}

static void sgprs_on_ready(void *state, struct platform *platform, uint32_t queue)
{
    struct sgprs *self = state;
    const uint32_t application = platform_queue_application(platform, queue);
    const struct job_view job =
        platform_job(platform, queue, platform_queue_length(platform, queue) - 1);
    const sim_time_t start = job.deadline - self->workload->applications[application].slo;
    if (self->entry_count == self->entry_room) {
        self->entry_room = 2 * self->entry_room + 16;
        self->entries =
            platform_reallocate(platform, self->entries, self->entry_room, sizeof *self->entries);
    }
    self->entries[self->entry_count++] =
        (struct stage_entry){.queue = queue,
                             .function = platform_queue_function(platform, queue),
                             .context = SIM_NONE,
                             .ready = platform_now(platform),
                             .deadline = start + self->stacked[queue],
                             .part = self->parts[queue],
                             .join = NOT_DECIDED};
}

static void sgprs_on_withdrawn(void *state, struct platform *platform, uint32_t queue,
                               uint32_t instance)
{
    entry_remove(state, queue, SIM_NONE);
}

static void sgprs_on_finish(void *state, struct platform *platform,
                            const struct finished_batch *batch)
{
    entry_remove(state, batch->queue, batch->invoker);
}

/* ---- Decisions ------------------------------------------------------------------------------- */

/* Lets the stages that need not wait any longer join a context, in the order of becoming ready. */
static void stages_join(struct sgprs *self, struct platform *platform)
{
    const sim_time_t now = platform_now(platform);
    for (uint32_t i = 0; i < self->entry_count; i++) {
        struct stage_entry *entry = &self->entries[i];
        if (entry->context != SIM_NONE)
            continue;
        if (self->parameters->assignment == ASSIGN_STATIC) {
            const uint32_t task = platform_queue_application(platform, entry->queue);
            entry_join(self, i, own_context(self, task, entry->function));
            continue;
        }
        bool empty;
        const uint32_t context = choose_context(self, entry, now, &empty);
        if (entry->join == NOT_DECIDED) {
            const bool waits = !self->last[entry->queue] && !empty;
            entry->join = waits ? entry->deadline - 2 * entry->part : now;
            if (entry->join > now)
                platform_set_timer(platform, entry->join, entry->queue);
        }
        if (entry->join <= now)
            entry_join(self, i, context);
    }
}

static bool sgprs_decide(void *state, struct platform *platform)
{
    struct sgprs *self = state;
    stages_join(self, platform);
    for (uint32_t c = 0; c < self->context_count; c++) {
        uint32_t busy = 0, next = SIM_NONE, waiting = 0;
        for (uint32_t i = self->entry_count; i-- > 0;) {
            const bool here = self->entries[i].context == c;
            busy += here && self->entries[i].running;
            if (here && !self->entries[i].running && platform_random(platform) * ++waiting < 1)
                next = i;
        }
        if (next == SIM_NONE || busy >= self->streams)
            continue;
        struct stage_entry *entry = &self->entries[next];
        const uint32_t configuration = self->contexts[c].configurations[entry->function];
        if (!platform_fits(platform, entry->function, configuration, c))
            continue;
        entry->running = platform_dispatch(platform, entry->queue, 1, configuration, c);
        if (entry->running)
            return true;
    }
    return false;
}

/* ---- Set-up ---------------------------------------------------------------------------------- */

/* The fastest configuration for one job that the invokers of the group run; of equal ones the
 * first. SIM_NONE: none. */
static uint32_t group_configuration(const struct function *function,
                                    const struct invoker_group *group)
{
    uint32_t best = SIM_NONE;
    for (uint32_t i = 0; i < function->configuration_count; i++) {
        const struct configuration *one = &function->configurations[i];
        if (one->batch == 1 && planner_group_runs(group, function, one) &&
            (best == SIM_NONE || one->time < function->configurations[best].time))
            best = i;
    }
    return best;
}

/* The slowdown of a context's GPU while all contexts are busy. */
static double group_slowdown(const struct sgprs *self, const struct invoker_group *group)
{
    if (group->gpu_count == 0)
        return 1;
    const struct interference *model = self->workload->kinds[group->gpus[0].kind].interference;
    const uint32_t contexts = self->context_count;
    const struct context_pool *pool =
        model != NULL ? interference_pool(model, contexts, group->gpus[0].units) : NULL;
    return pool != NULL ? interference_contexts(pool, contexts, contexts) : 1;
}

static void context_fill(struct sgprs *self, struct platform *platform, uint32_t invoker)
{
    const struct workload *workload = self->workload;
    struct context *context = &self->contexts[invoker];
    const struct invoker_group *group = kinds_group_of(workload, invoker);
    const double slowdown = group_slowdown(self, group);
    const size_t count = workload->function_count;
    context->configurations = platform_allocate(platform, count, sizeof *context->configurations);
    context->wcets = platform_allocate(platform, count, sizeof *context->wcets);
    for (size_t f = 0; f < count; f++) {
        const uint32_t best = group_configuration(&workload->functions[f], group);
        context->configurations[f] = best;
        if (best != SIM_NONE)
            context->wcets[f] =
                sim_round(slowdown * (double)workload->functions[f].configurations[best].time);
    }
}

/* Divides the period over the stages of an application, by the times in the last context. Parallel
 * stages have their part side by side. */
static void deadlines_fill(struct sgprs *self, const struct application *application)
{
    const sim_time_t *wcets = self->contexts[self->context_count - 1].wcets;
    double upto[WORKLOAD_MAX_STAGES] = {0}, longest = 0;
    for (size_t s = 0; s < application->stage_count; s++) {
        const struct stage *stage = &application->stages[s];
        for (size_t i = 0; i < stage->after_count; i++)
            upto[s] = upto[stage->after[i]] > upto[s] ? upto[stage->after[i]] : upto[s];
        upto[s] += (double)wcets[stage->function];
        longest = upto[s] > longest ? upto[s] : longest;
    }
    const double us = self->parameters->deadline_factor * (double)application->slo / 1000 / longest;
    for (size_t s = 0; s < application->stage_count; s++) {
        const uint32_t queue = application->first_queue + (uint32_t)s;
        self->parts[queue] =
            (sim_time_t)(us * (double)wcets[application->stages[s].function]) * 1000;
        self->stacked[queue] = (sim_time_t)(us * upto[s]) * 1000;
        self->last[queue] = s + 2 >= application->stage_count;
    }
}

static bool sgprs_init(void *state, struct platform *platform, const void *parameters,
                       struct error *error)
{
    struct sgprs *self = state;
    const struct workload *workload = platform_workload(platform);
    self->parameters = parameters;
    self->workload = workload;
    self->context_count = workload->cluster.invoker_count;
    self->contexts = platform_allocate(platform, self->context_count, sizeof *self->contexts);
    self->streams = self->parameters->streams;
    if (self->streams == 0)
        self->streams = self->parameters->assignment == ASSIGN_STATIC ? UINT32_MAX
                        : self->context_count <= 2                    ? 3
                                                                      : 2;
    for (uint32_t i = 0; i < self->context_count; i++)
        context_fill(self, platform, i);
    self->parts = platform_allocate(platform, workload->queue_count, sizeof *self->parts);
    self->stacked = platform_allocate(platform, workload->queue_count, sizeof *self->stacked);
    self->last = platform_allocate(platform, workload->queue_count, sizeof *self->last);
    for (size_t a = 0; a < workload->application_count; a++)
        deadlines_fill(self, &workload->applications[a]);
    return true;
}

static const struct key sgprs_parameters[] = {
    PARAMETER_WORD(sgprs, assignment, WORDS("deadline", "static"), ASSIGN_DEADLINE,
                   "context of a stage: by sub-deadlines, or the task's own (code's baseline)"),
    PARAMETER_WHOLE(sgprs, streams, 0, 65535, 0,
                    "stages side by side in a context; 0: 3 in up to two contexts, else 2 (code), "
                    "any number if static"),
    PARAMETER_NUMBER(sgprs, deadline_factor, 0.01, 1, 0.99,
                     "part of the period that the sub-deadlines divide (code)"),
    KEY_END,
};

const struct policy policy_sgprs = {
    .abi = POLICY_ABI,
    .name = "sgprs",
    .summary = "stages of periodic tasks on contexts of a GPU, by sub-deadlines",
    .parameters = sgprs_parameters,
    .parameters_bytes = sizeof(struct sgprs_parameters),
    .state_bytes = sizeof(struct sgprs),
    .init = sgprs_init,
    .on_ready = sgprs_on_ready,
    .on_withdrawn = sgprs_on_withdrawn,
    .on_finish = sgprs_on_finish,
    .decide = sgprs_decide,
    .places_containers = true, /* a stage runs in the context that it joined, and in no other */
};
