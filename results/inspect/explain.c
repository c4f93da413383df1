#include "results/inspect/explain.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/arena.h"
#include "workloads/world/workload.h"

/* A run's rows and the cluster described in its configuration. */
struct world {
    struct arena *arena;
    const struct run_record *record;
    const struct workload *workload;
    uint32_t *vcpus; /* per invoker */
    struct gpu_list gpus;
};

static void world_init(struct world *world)
{
    const struct cluster_spec *cluster = &world->workload->cluster;
    uint32_t invoker = 0;
    world->gpus = cluster_list_gpus(cluster, world->arena);
    world->vcpus = arena_allocate(world->arena, cluster->invoker_count, sizeof *world->vcpus);
    for (size_t g = 0; g < cluster->group_count; g++)
        for (uint32_t i = 0; i < cluster->groups[g].count; i++)
            world->vcpus[invoker++] = cluster->groups[g].vcpus;
}

/* ---- Why a job waited ------------------------------------------------------------------------ */

/* Free resources of the cluster at one point in time. */
struct load {
    int64_t *vcpus, *units;
};

struct change {
    sim_time_t time;
    int sign; /* -1: a batch acquires its resources; 1: it releases them */
    const struct batch_row *batch;
};

static int compare_changes(const void *a, const void *b)
{
    const struct change *left = a, *right = b;
    if (left->time != right->time)
        return left->time < right->time ? -1 : 1;
    return right->sign - left->sign; /* releases precede acquisitions */
}

static void load_change(const struct world *world, struct load *load, const struct batch_row *batch,
                        int sign)
{
    if (batch->invoker < world->workload->cluster.invoker_count)
        load->vcpus[batch->invoker] += sign * (int64_t)batch->vcpu;
    if (batch->gpu < world->gpus.count)
        load->units[batch->gpu] += sign * (int64_t)batch->vgpu;
}

static bool load_has_room(const struct world *world, const struct load *load,
                          const struct batch_row *wanted)
{
    for (uint32_t i = 0; i < world->workload->cluster.invoker_count; i++) {
        if (load->vcpus[i] < wanted->vcpu)
            continue;
        if (wanted->vgpu == 0)
            return true;
        for (uint32_t g = world->gpus.first[i]; g < world->gpus.first[i + 1]; g++)
            if (load->units[g] >= wanted->vgpu && wanted->gpu < world->gpus.count &&
                world->gpus.specs[g]->kind == world->gpus.specs[wanted->gpu]->kind)
                return true;
    }
    return false;
}

/* Computes the free resources at `from`, and lists the changes until the dispatch of `wanted` in
 * order. */
static size_t load_open(const struct world *world, struct load *load,
                        const struct batch_row *wanted, sim_time_t from, struct change *changes)
{
    const sim_time_t until = wanted->dispatched_ns;
    size_t count = 0;
    for (uint32_t i = 0; i < world->workload->cluster.invoker_count; i++)
        load->vcpus[i] = world->vcpus[i];
    for (uint32_t g = 0; g < world->gpus.count; g++)
        load->units[g] = world->gpus.specs[g]->units;
    for (size_t b = 0; b < world->record->batch_count; b++) {
        const struct batch_row *batch = &world->record->batches[b];
        if (batch == wanted || batch->dispatched_ns >= until || batch->finished_ns <= from)
            continue;
        if (batch->dispatched_ns <= from)
            load_change(world, load, batch, -1);
        else
            changes[count++] = (struct change){batch->dispatched_ns, -1, batch};
        if (batch->finished_ns < until)
            changes[count++] = (struct change){batch->finished_ns, 1, batch};
    }
    qsort(changes, count, sizeof *changes, compare_changes);
    return count;
}

/* Time between `from` and the dispatch of `wanted` in which no invoker had its resources free. */
static sim_time_t no_room_time(const struct world *world, const struct batch_row *wanted,
                               sim_time_t from)
{
    const struct arena_block *mark = world->arena->blocks;
    const struct cluster_spec *cluster = &world->workload->cluster;
    struct load load = {arena_allocate(world->arena, cluster->invoker_count, sizeof *load.vcpus),
                        arena_allocate(world->arena, world->gpus.count, sizeof *load.units)};
    struct change *changes =
        arena_allocate(world->arena, 2 * world->record->batch_count, sizeof *changes);
    const size_t count = load_open(world, &load, wanted, from, changes);
    sim_time_t sum = 0;
    for (size_t i = 0; i <= count; i++) {
        const sim_time_t next = i < count ? changes[i].time : wanted->dispatched_ns;
        if (next > from && !load_has_room(world, &load, wanted))
            sum += next - from;
        from = next > from ? next : from;
        if (i < count)
            load_change(world, &load, changes[i].batch, changes[i].sign);
    }
    arena_rewind(world->arena, mark);
    return sum;
}

static sim_time_t overlap(sim_time_t from, sim_time_t until, sim_time_t low, sim_time_t high)
{
    from = from > low ? from : low;
    until = until < high ? until : high;
    return until > from ? until - from : 0;
}

/* Time between `from` and `until` charged for decisions, which are sorted by time. */
static sim_time_t deciding_time(const struct world *world, sim_time_t from, sim_time_t until)
{
    sim_time_t sum = 0, reached = from;
    for (size_t d = 0; d < world->record->decision_count; d++) {
        const struct decision_row *row = &world->record->decisions[d];
        sum += overlap(row->time_ns, row->time_ns + row->charged_ns, reached, until);
        if (row->time_ns + row->charged_ns > reached)
            reached = row->time_ns + row->charged_ns;
    }
    return sum;
}

/* Time between `from` and `until` in which the batch's instance ran other batches. */
static sim_time_t instance_time(const struct world *world, const struct batch_row *batch,
                                sim_time_t from, sim_time_t until)
{
    sim_time_t sum = 0;
    for (size_t b = 0; b < world->record->batch_count; b++) {
        const struct batch_row *other = &world->record->batches[b];
        if (other->instance == batch->instance && other->container == batch->container)
            sum += overlap(other->dispatched_ns, other->finished_ns, from, until);
    }
    return sum;
}

/* Divides a stage's waiting time among the causes. Each cause only gets time that the causes before
 * it have not taken. */
static void explain_waiting(const struct world *world, struct explained_stage *stage)
{
    const struct batch_row *batch = stage->batch;
    const struct job_row *job = stage->job;
    struct stage_time *time = &stage->time;
    const sim_time_t own = batch->launched_ns - batch->dispatched_ns;
    time->deciding = own < job->queue_ns ? own : job->queue_ns;
    sim_time_t left = job->queue_ns - time->deciding;
    const sim_time_t until = batch->dispatched_ns, from = until - left;
    if (left == 0)
        return;
    if (batch->instance != SIM_NONE)
        time->instance = instance_time(world, batch, from, until);
    else
        time->no_room = no_room_time(world, batch, from);
    left -= time->instance + time->no_room;
    time->behind = deciding_time(world, from, until);
    time->behind = time->behind < left ? time->behind : left;
    time->held_back = left - time->behind;
}

/* ---- One stage ------------------------------------------------------------------------------- */

static const struct batch_row *find_batch(const struct run_record *record, uint64_t number)
{
    for (size_t b = 0; b < record->batch_count; b++)
        if (record->batches[b].batch == number)
            return &record->batches[b];
    return NULL;
}

static const struct decision_row *find_decision(const struct run_record *record, uint64_t batch)
{
    for (size_t d = 0; d < record->decision_count; d++)
        if (record->decisions[d].batch == batch)
            return &record->decisions[d];
    return NULL;
}

static const struct choice_row *find_choice(const struct run_record *record,
                                            const struct decision_row *decision)
{
    const struct choice_row *row = record->choices, *end = row + record->choice_count;
    for (; decision != NULL && row < end; row++)
        if (row->chosen && row->time_ns == decision->time_ns && row->queue == decision->queue &&
            row->queue_length == decision->queue_length)
            return row;
    return NULL;
}

static uint32_t count_co_runners(const struct run_record *record, const struct batch_row *batch)
{
    uint32_t count = 0;
    for (size_t b = 0; batch->gpu != SIM_NONE && b < record->batch_count; b++) {
        const struct batch_row *other = &record->batches[b];
        count += other != batch && other->gpu == batch->gpu &&
                 overlap(other->started_ns, other->finished_ns, batch->started_ns,
                         batch->finished_ns) > 0;
    }
    return count;
}

static uint32_t collect_mates(const struct run_record *record, const struct job_row *job,
                              uint64_t *mates)
{
    uint32_t count = 0;
    for (size_t j = 0; j < record->job_count; j++)
        if (record->jobs[j].batch == job->batch && &record->jobs[j] != job)
            mates[count++] = record->jobs[j].request;
    return count;
}

static bool explain_stage(const struct world *world, struct explained_stage *stage, uint64_t *mates,
                          uint32_t *mate_count, struct error *error)
{
    const struct run_record *record = world->record;
    stage->batch = find_batch(record, stage->job->batch);
    if (stage->batch == NULL)
        return error_input(error, "the record has no batch %llu, in which a job ran; run it again",
                           (unsigned long long)stage->job->batch);
    const struct batch_row *batch = stage->batch;
    stage->decision = find_decision(record, batch->batch);
    stage->choice = find_choice(record, stage->decision);
    stage->mates = mates;
    *mate_count = collect_mates(record, stage->job, mates);
    stage->gpu = batch->gpu == SIM_NONE || batch->invoker >= world->workload->cluster.invoker_count
                     ? SIM_NONE
                     : batch->gpu - world->gpus.first[batch->invoker];
    const struct workload *workload = world->workload;
    if (stage->gpu != SIM_NONE && batch->gpu < world->gpus.count && workload->kind_count > 1)
        stage->gpu_model = workload->kinds[world->gpus.specs[batch->gpu]->kind].model;
    stage->co_runners = count_co_runners(record, batch);
    const sim_time_t execution = batch->finished_ns - batch->started_ns;
    stage->time.transfer = batch->transfer_ns;
    stage->time.cold = stage->job->cold_ns;
    stage->time.alone =
        batch->slowdown > 1 ? (sim_time_t)((double)execution / batch->slowdown + 0.5) : execution;
    stage->time.slowed = execution - stage->time.alone;
    explain_waiting(world, stage);
    return true;
}

static struct explained_stage *later(struct explained_stage *stage, struct explained_stage *other)
{
    if (other->batch == NULL)
        return stage;
    return stage == NULL || other->batch->finished_ns > stage->batch->finished_ns ? other : stage;
}

/* Marks the longest path, from the stage that finished last back to the arrival. */
static void mark_path(struct explanation *explanation)
{
    struct explained_stage *last = NULL;
    for (uint32_t s = 0; s < explanation->stage_count; s++)
        last = later(last, &explanation->stages[s]);
    while (last != NULL) {
        const struct explained_stage *stage = last;
        last->on_path = true;
        for (size_t p = 0; p < STAGE_PARTS; p++)
            explanation->path.parts[p] += stage->time.parts[p];
        last = NULL;
        for (uint32_t p = 0; p < stage->predecessor_count; p++)
            last = later(last, &explanation->stages[stage->predecessors[p]]);
    }
}

/* ---- The request ----------------------------------------------------------------------------- */

static void stages_name(struct explanation *explanation, const struct application *application)
{
    explanation->application = application->name;
    explanation->stage_count = (uint32_t)application->stage_count;
    for (size_t s = 0; s < application->stage_count; s++) {
        const struct stage *stage = &application->stages[s];
        struct explained_stage *told = &explanation->stages[s];
        told->name = stage->name;
        told->function = explanation->outline.workload.functions[stage->function].name;
        told->predecessor_count = (uint32_t)stage->after_count;
        memcpy(told->predecessors, stage->after, stage->after_count * sizeof *stage->after);
    }
}

static bool jobs_explain(struct explanation *explanation, const struct world *world,
                         struct error *error)
{
    const struct run_record *record = world->record;
    size_t taken = 0, room = 0;
    for (size_t j = 0; j < record->job_count; j++) {
        const struct job_row *job = &record->jobs[j];
        if (job->request != explanation->request->request || job->stage >= explanation->stage_count)
            continue;
        explanation->stages[job->stage].job = job;
        const struct batch_row *batch = find_batch(record, job->batch);
        room += batch == NULL ? 0 : batch->jobs;
    }
    uint64_t *mates = arena_allocate(world->arena, room, sizeof *mates);
    for (uint32_t s = 0; s < explanation->stage_count; s++) {
        uint32_t count = 0;
        if (explanation->stages[s].job != NULL &&
            !explain_stage(world, &explanation->stages[s], mates + taken, &count, error))
            return false;
        taken += count;
    }
    mark_path(explanation);
    return true;
}

static const struct request_row *find_request(const struct summary_row *run,
                                              const struct run_record *record, uint64_t number,
                                              struct error *error)
{
    for (size_t r = 0; r < record->request_count; r++)
        if (record->requests[r].request == number)
            return &record->requests[r];
    if (record->request_count == 0)
        error_input(error, "run %s has no request; --training N explains a training, if it has any",
                    run->hash);
    else
        error_input(error, "run %s has no request %llu; its %zu requests are numbered from 0",
                    run->hash, (unsigned long long)number, record->request_count);
    return NULL;
}

static bool explanation_fill(struct explanation *explanation, const struct run_record *record,
                             struct error *error)
{
    const struct workload *workload = &explanation->outline.workload;
    if (!outline_load(record->configuration, &explanation->outline, NULL) ||
        explanation->request->application >= workload->application_count)
        return error_input(error, "run %s: its configuration is damaged; run it again",
                           explanation->run->hash);
    if (record->policy_text != NULL &&
        !trees_parse(explanation->arena, record->policy_text, "policy_text", workload,
                     &explanation->trees, error))
        return false;
    stages_name(explanation, &workload->applications[explanation->request->application]);
    struct world world = {.arena = explanation->arena, .record = record, .workload = workload};
    world_init(&world);
    return jobs_explain(explanation, &world, error);
}

struct explanation *explanation_build(const struct summary_row *run,
                                      const struct run_record *record, uint64_t request,
                                      struct error *error)
{
    const struct request_row *row = find_request(run, record, request, error);
    if (row == NULL)
        return NULL;
    struct arena *arena = arena_create();
    struct explanation *explanation = arena_allocate(arena, 1, sizeof *explanation);
    explanation->arena = arena;
    explanation->run = run;
    explanation->request = row;
    if (explanation_fill(explanation, record, error))
        return explanation;
    explanation_free(explanation);
    return NULL;
}

void explanation_free(struct explanation *explanation)
{
    if (explanation == NULL)
        return;
    outline_clear(&explanation->outline);
    arena_destroy(explanation->arena);
}
