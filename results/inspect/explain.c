#include "results/inspect/explain.h"

#include <string.h>

#include "sim/base/arena.h"
#include "workloads/world/workload.h"

/* A run's rows and the cluster described in its configuration. */
struct world {
    struct arena *arena;
    const struct run_record *record;
    const struct workload *workload;
    struct gpu_list gpus;
};

static sim_time_t overlap(sim_time_t from, sim_time_t until, sim_time_t low, sim_time_t high)
{
    from = from > low ? from : low;
    until = until < high ? until : high;
    return until > from ? until - from : 0;
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
    return true;
}

static sim_time_t stage_end(const struct explained_stage *stage)
{
    return stage->batch != NULL  ? stage->batch->finished_ns
           : stage->lost != NULL ? stage->lost->lost_ns
                                 : -1;
}

static struct explained_stage *later(struct explained_stage *stage, struct explained_stage *other)
{
    if (stage_end(other) < 0)
        return stage;
    return stage == NULL || stage_end(other) > stage_end(stage) ? other : stage;
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
        for (size_t p = 0; p < REQUEST_PARTS; p++)
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

static void parts_read(struct explanation *explanation, const struct run_record *record)
{
    const uint64_t request = explanation->request->request;
    for (size_t i = 0; i < record->part_count; i++) {
        const struct part_row *row = &record->parts[i];
        if (row->request == request && row->stage < explanation->stage_count &&
            row->part < REQUEST_PARTS)
            explanation->stages[row->stage].time.parts[row->part] += row->time_ns;
    }
    for (size_t i = 0; i < record->lost_count; i++)
        if (record->lost[i].request == request && record->lost[i].stage < explanation->stage_count)
            explanation->stages[record->lost[i].stage].lost = &record->lost[i];
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
    parts_read(explanation, record);
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
    if (!outline_load(explanation->arena, record->configuration, &explanation->outline, NULL) ||
        explanation->request->application >= workload->application_count)
        return error_input(error, "run %s: its configuration is damaged; run it again",
                           explanation->run->hash);
    if (record->policy_text != NULL &&
        !trees_parse(explanation->arena, record->policy_text, "policy_text", workload,
                     &explanation->trees, error))
        return false;
    stages_name(explanation, &workload->applications[explanation->request->application]);
    struct world world = {.arena = explanation->arena, .record = record, .workload = workload};
    world.gpus = cluster_list_gpus(&workload->cluster, world.arena);
    return jobs_explain(explanation, &world, error);
}

struct explanation *explanation_build(const struct summary_row *run,
                                      const struct run_record *record, uint64_t request,
                                      struct error *error)
{
    const struct request_row *row = find_request(run, record, request, error);
    if (row == NULL)
        return NULL;
    struct explanation *explanation = arena_home(sizeof *explanation);
    explanation->run = run;
    explanation->request = row;
    if (explanation_fill(explanation, record, error))
        return explanation;
    arena_home_free(explanation);
    return NULL;
}
