/* GrandSLAm (Kannan et al., EuroSys'19): divides slack over the stages by their time, and fills it
 * with batches.
 *
 * The slack of a stage determines its batch size and its order [recall]. An SLO is split over the
 * stages in proportion to their times. A stage's batch is as large as the slack of its jobs allows.
 * Stages are served in ascending order of slack.
 *
 * Porting assumptions [derived]:
 * - `max_batch` does not limit the batch by default; slack does.
 * - A job's stage deadline is set when it becomes ready: ready + (deadline - ready) x the stage's
 *   time / the longest path from there on. Time that earlier stages saved or overran is thereby
 *   divided again. A stage's time is its mean latency over the configurations of batch 1 (`split`).
 * - A queue's slack is the least slack of its oldest jobs, as many as the largest batch takes.
 *   GrandSLAm reorders jobs within a queue; the platform's queues are served from the front.
 * - A batch of b jobs is allowed if its fastest configuration ends by the stage deadline of all b.
 *   Among the configurations of that batch which do, the cheapest runs; GrandSLAm's instances have
 *   one size and it does not choose any.
 * - If not even one job is in time, `late` decides. "batch": the largest batch runs that would be
 * in time for jobs without delay, at its fastest configuration. "alone": one job runs. Alone, late
 *   jobs make the next ones late, and an overloaded queue never batches again.
 */
#include "sched/common/batch_table.h"
#include "sched/common/kinds.h"
#include "sched/common/dispatcher.h"
#include "sched/memory.h"

struct grandslam_parameters {
    struct dispatcher_parameters dispatcher; /* first member */
    enum { LATE_BATCH, LATE_ALONE } late;
};

struct grandslam {
    struct dispatcher dispatcher; /* first member, so that the dispatcher's functions accept this
                                   * state */
    const struct grandslam_parameters *parameters;
    struct batch_table table;
};

static sim_time_t stage_deadline(const struct grandslam *self, const struct platform *platform,
                                 uint32_t queue, uint32_t position)
{
    const struct job_view job = platform_job(platform, queue, position);
    return job.ready +
           planner_budget_left(self->dispatcher.planner, queue, job.deadline - job.ready);
}

/* What a queue would run on GPUs of one kind. */
struct choice {
    const struct batch_level *level; /* NULL: the function does not run on the kind */
    bool in_time;
    sim_time_t slack;    /* least stage deadline of the batch minus the present time; 0 if late */
    sim_time_t earliest; /* least stage deadline of all jobs examined */
};

/* The largest level within the slack of its jobs; see `late` if none is. */
static struct choice choose_level(const struct grandslam *self, const struct platform *platform,
                                  uint32_t queue, uint32_t kind)
{
    const struct batches_of_function *row =
        batch_table_row(&self->table, platform_queue_function(platform, queue), kind);
    const sim_time_t now = platform_now(platform);
    const uint32_t length = platform_queue_length(platform, queue);
    const sim_time_t fresh =
        planner_budget(self->dispatcher.planner, queue, platform_job(platform, queue, 0).slo);
    const struct batch_level *late = row->level_count > 0 ? &row->levels[0] : NULL;
    struct choice choice = {.earliest = SIM_FOREVER};
    size_t level = 0;
    for (uint32_t i = 0; i < length && level < row->level_count; i++) {
        const sim_time_t own = stage_deadline(self, platform, queue, i);
        choice.earliest = own < choice.earliest ? own : choice.earliest;
        if (row->levels[level].batch != i + 1)
            continue;
        if (now + row->levels[level].time <= choice.earliest) {
            choice.level = &row->levels[level];
            choice.slack = choice.earliest - now;
        }
        if (self->parameters->late == LATE_BATCH && row->levels[level].time <= fresh)
            late = &row->levels[level];
        level++;
    }
    choice.in_time = choice.level != NULL;
    if (!choice.in_time)
        choice.level = late;
    return choice;
}

/* In time, then the larger batch, then the faster one. */
static bool better(const struct choice *a, const struct choice *b)
{
    if (a->in_time != b->in_time)
        return a->in_time;
    if (a->level->batch != b->level->batch)
        return a->level->batch > b->level->batch;
    return a->level->time < b->level->time;
}

static struct queue_rank grandslam_rank(const void *state, const struct platform *platform,
                                        uint32_t queue)
{
    const struct grandslam *self = state;
    sim_time_t earliest = SIM_FOREVER;
    for (uint32_t k = 0; k < self->table.kinds; k++) {
        const struct choice here = choose_level(self, platform, queue, k);
        earliest = here.earliest < earliest ? here.earliest : earliest;
    }
    return (struct queue_rank){earliest, (int64_t)platform_job(platform, queue, 0).request};
}

/* A kind on which the jobs would be late is not used while they would be in time on another. */
static uint32_t grandslam_configure(const void *state, const struct platform *platform,
                                    uint32_t queue, uint32_t jobs)
{
    const struct grandslam *self = state;
    const uint32_t function = platform_queue_function(platform, queue);
    struct choice best = {.level = NULL};
    bool in_time = false;
    for (uint32_t k = 0; k < self->table.kinds; k++) {
        const struct choice here = choose_level(self, platform, queue, k);
        in_time = in_time || here.in_time;
        if (here.level != NULL && kinds_contain(self->dispatcher.kinds, k) &&
            (best.level == NULL || better(&here, &best)))
            best = here;
    }
    if (best.level == NULL || best.in_time != in_time)
        return SIM_NONE;
    return batch_level_cheapest(best.level, &platform_workload(platform)->functions[function],
                                best.slack);
}

static bool grandslam_init(void *state, struct platform *platform, const void *parameters,
                           struct error *error)
{
    struct grandslam *self = state;
    self->parameters = parameters;
    if (!dispatcher_init(&self->dispatcher, platform,
                         (struct dispatch_rule){grandslam_rank, grandslam_configure, NULL},
                         parameters, error))
        return false;
    batch_table_fill(&self->table, platform_arena(platform), platform_workload(platform),
                     self->dispatcher.planner, self->dispatcher.parameters.max_batch,
                     BATCH_TABLE_ANY_UNITS);
    return true;
}

static const struct key grandslam_parameters[] = {
    DISPATCHER_PARAMETERS(65535),
    DISPATCHER_SPLIT_PARAMETER,
    PARAMETER_WORD(grandslam, late, WORDS("batch", "alone"), LATE_BATCH,
                   "jobs that are late already: the largest batch, or one by one (derived)"),
    KEY_END,
};

const struct policy policy_grandslam = {
    .name = "grandslam",
    .summary = "stage slack in proportion to stage time, filled with the largest possible batch",
    .init = grandslam_init,
    DISPATCHER_POLICY(struct grandslam, struct grandslam_parameters, grandslam_parameters),
};
