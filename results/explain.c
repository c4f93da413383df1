#include "results/explain.h"

#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "traces/json.h"

struct owned {
    cJSON *configuration;
    uint64_t *mates;
};

/* A run's rows and the cluster described in its configuration. */
struct world {
    const struct run_record *record;
    const cJSON *configuration;
    uint32_t invoker_count, gpu_count;
    uint32_t *vcpus, *first_gpu; /* per invoker; first_gpu has one more entry */
    uint32_t *units;             /* per GPU */
};

/* ---- The cluster, from the configuration ----------------------------------------------------- */

static uint32_t whole(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(item) && item->valuedouble > 0 && item->valuedouble < 1e7
               ? (uint32_t)item->valuedouble
               : 0;
}

static void world_count(struct world *world, const cJSON *groups)
{
    const cJSON *group;
    cJSON_ArrayForEach(group, groups)
    {
        const uint32_t count = whole(group, "count");
        const cJSON *gpus = cJSON_GetObjectItemCaseSensitive(group, "gpus");
        world->invoker_count += count;
        world->gpu_count += count * (uint32_t)cJSON_GetArraySize(gpus);
    }
}

static void world_fill(struct world *world, const cJSON *groups)
{
    uint32_t invoker = 0, gpu = 0;
    const cJSON *group;
    cJSON_ArrayForEach(group, groups)
    {
        const cJSON *gpus = cJSON_GetObjectItemCaseSensitive(group, "gpus");
        for (uint32_t i = whole(group, "count"); i > 0; i--) {
            world->vcpus[invoker] = whole(group, "vcpus");
            world->first_gpu[invoker++] = gpu;
            const cJSON *one;
            cJSON_ArrayForEach(one, gpus)
            {
                world->units[gpu++] = whole(one, "units");
            }
        }
    }
    world->first_gpu[invoker] = gpu;
}

static void world_clear(struct world *world)
{
    free(world->vcpus);
    free(world->first_gpu);
    free(world->units);
}

static bool world_init(struct world *world, struct error *error)
{
    const cJSON *cluster = cJSON_GetObjectItemCaseSensitive(world->configuration, "cluster");
    const cJSON *groups = cJSON_GetObjectItemCaseSensitive(cluster, "invokers");
    world_count(world, groups);
    world->vcpus = calloc(world->invoker_count + 1, sizeof *world->vcpus);
    world->first_gpu = calloc(world->invoker_count + 1, sizeof *world->first_gpu);
    world->units = calloc(world->gpu_count + 1, sizeof *world->units);
    if (world->vcpus == NULL || world->first_gpu == NULL || world->units == NULL)
        return error_run(error, "out of memory for %u invokers", world->invoker_count);
    world_fill(world, groups);
    return true;
}

/* ---- Why a job waited ------------------------------------------------------------------------ */

/* Free resources of the cluster at one point in time. */
struct load {
    int64_t *vcpus, *units; /* free */
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
    if (batch->invoker < world->invoker_count)
        load->vcpus[batch->invoker] += sign * (int64_t)batch->vcpu;
    if (batch->gpu < world->gpu_count)
        load->units[batch->gpu] += sign * (int64_t)batch->vgpu;
}

static bool load_has_room(const struct world *world, const struct load *load,
                          const struct batch_row *wanted)
{
    for (uint32_t i = 0; i < world->invoker_count; i++) {
        if (load->vcpus[i] < wanted->vcpu)
            continue;
        if (wanted->vgpu == 0)
            return true;
        for (uint32_t g = world->first_gpu[i]; g < world->first_gpu[i + 1]; g++)
            if (load->units[g] >= wanted->vgpu)
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
    for (uint32_t i = 0; i < world->invoker_count; i++)
        load->vcpus[i] = world->vcpus[i];
    for (uint32_t g = 0; g < world->gpu_count; g++)
        load->units[g] = world->units[g];
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

/* Time between `from` and the dispatch of `wanted` in which no invoker had its resources free. -1:
 * memory exhausted. */
static sim_time_t no_room_time(const struct world *world, const struct batch_row *wanted,
                               sim_time_t from)
{
    struct load load = {calloc(world->invoker_count + 1, sizeof *load.vcpus),
                        calloc(world->gpu_count + 1, sizeof *load.units)};
    struct change *changes = calloc(2 * world->record->batch_count + 1, sizeof *changes);
    sim_time_t sum = -1;
    if (load.vcpus != NULL && load.units != NULL && changes != NULL) {
        const size_t count = load_open(world, &load, wanted, from, changes);
        sum = 0;
        for (size_t i = 0; i <= count; i++) {
            const sim_time_t next = i < count ? changes[i].time : wanted->dispatched_ns;
            if (next > from && !load_has_room(world, &load, wanted))
                sum += next - from;
            from = next > from ? next : from;
            if (i < count)
                load_change(world, &load, changes[i].batch, changes[i].sign);
        }
    }
    free(load.vcpus);
    free(load.units);
    free(changes);
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
static bool explain_waiting(const struct world *world, struct explained_stage *stage,
                            struct error *error)
{
    const struct batch_row *batch = stage->batch;
    const struct job_row *job = stage->job;
    struct stage_time *time = &stage->time;
    const sim_time_t own = batch->launched_ns - batch->dispatched_ns;
    time->deciding = own < job->queue_ns ? own : job->queue_ns;
    sim_time_t left = job->queue_ns - time->deciding;
    const sim_time_t until = batch->dispatched_ns, from = until - left;
    if (left == 0)
        return true;
    if (batch->instance != SIM_NONE) {
        time->instance = instance_time(world, batch, from, until);
    } else {
        time->no_room = no_room_time(world, batch, from);
        if (time->no_room < 0)
            return error_run(error, "out of memory for %zu batches", world->record->batch_count);
    }
    left -= time->instance + time->no_room;
    time->behind = deciding_time(world, from, until);
    time->behind = time->behind < left ? time->behind : left;
    time->held_back = left - time->behind;
    return true;
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
    stage->mates = mates;
    *mate_count = collect_mates(record, stage->job, mates);
    stage->gpu = batch->gpu == SIM_NONE || batch->invoker >= world->invoker_count
                     ? SIM_NONE
                     : batch->gpu - world->first_gpu[batch->invoker];
    stage->co_runners = count_co_runners(record, batch);
    const sim_time_t execution = batch->finished_ns - batch->started_ns;
    stage->time.transfer = batch->transfer_ns;
    stage->time.cold = stage->job->cold_ns;
    stage->time.alone =
        batch->slowdown > 1 ? (sim_time_t)((double)execution / batch->slowdown + 0.5) : execution;
    stage->time.slowed = execution - stage->time.alone;
    return explain_waiting(world, stage, error);
}

static void time_add(struct stage_time *sum, const struct stage_time *time)
{
    sum->deciding += time->deciding;
    sum->behind += time->behind;
    sum->no_room += time->no_room;
    sum->instance += time->instance;
    sum->held_back += time->held_back;
    sum->transfer += time->transfer;
    sum->cold += time->cold;
    sum->alone += time->alone;
    sum->slowed += time->slowed;
}

static sim_time_t time_total(const struct stage_time *time)
{
    return time->deciding + time->behind + time->no_room + time->instance + time->held_back +
           time->transfer + time->cold + time->alone + time->slowed;
}

/* Marks the longest path, from the stage that finished last back to the arrival. */
static void mark_path(struct explanation *explanation)
{
    struct explained_stage *last = NULL;
    for (uint32_t s = 0; s < explanation->stage_count; s++) {
        struct explained_stage *stage = &explanation->stages[s];
        if (stage->batch != NULL &&
            (last == NULL || stage->batch->finished_ns > last->batch->finished_ns))
            last = stage;
    }
    while (last != NULL) {
        last->on_path = true;
        time_add(&explanation->path, &last->time);
        struct explained_stage *before = NULL;
        for (uint32_t p = 0; p < last->predecessor_count; p++) {
            struct explained_stage *stage = &explanation->stages[last->predecessors[p]];
            if (stage->batch != NULL &&
                (before == NULL || stage->batch->finished_ns > before->batch->finished_ns))
                before = stage;
        }
        last = before;
    }
}

/* ---- The request ----------------------------------------------------------------------------- */

static const char *text_of(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsString(item) ? item->valuestring : "?";
}

static void stages_name(struct explanation *explanation, const cJSON *application)
{
    const cJSON *stage, *after;
    cJSON_ArrayForEach(stage, cJSON_GetObjectItemCaseSensitive(application, "stages"))
    {
        if (explanation->stage_count == RECORD_MAX_STAGES)
            return;
        struct explained_stage *told = &explanation->stages[explanation->stage_count];
        told->name = text_of(stage, "name");
        told->function = text_of(stage, "function");
        cJSON_ArrayForEach(
            after, cJSON_GetObjectItemCaseSensitive(
                       stage, "after")) for (uint32_t s = 0; s < explanation->stage_count;
                                             s++) if (cJSON_IsString(after) &&
                                                      strcmp(after->valuestring,
                                                             explanation->stages[s].name) == 0)
            told->predecessors[told->predecessor_count++] = s;
        explanation->stage_count++;
    }
}

static bool jobs_explain(struct explanation *explanation, const struct world *world,
                         struct error *error)
{
    const struct run_record *record = world->record;
    struct owned *owned = explanation->owned;
    size_t taken = 0, room = 1;
    for (size_t j = 0; j < record->job_count; j++) {
        const struct job_row *job = &record->jobs[j];
        if (job->request != explanation->request->request || job->stage >= explanation->stage_count)
            continue;
        explanation->stages[job->stage].job = job;
        const struct batch_row *batch = find_batch(record, job->batch);
        room += batch == NULL ? 0 : batch->jobs;
    }
    owned->mates = calloc(room, sizeof *owned->mates);
    if (owned->mates == NULL)
        return error_run(error, "out of memory for %zu jobs", room);
    for (uint32_t s = 0; s < explanation->stage_count; s++) {
        uint32_t count = 0;
        if (explanation->stages[s].job != NULL &&
            !explain_stage(world, &explanation->stages[s], owned->mates + taken, &count, error))
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
    error_input(error, "run %s has no request %llu; its %zu requests are numbered from 0",
                run->hash, (unsigned long long)number, record->request_count);
    return NULL;
}

static bool explanation_fill(struct explanation *explanation, const struct run_record *record,
                             struct error *error)
{
    struct owned *owned = explanation->owned;
    owned->configuration = cJSON_Parse(record->configuration);
    if (owned->configuration == NULL)
        return error_input(error, "run %s: its configuration is damaged; run it again",
                           explanation->run->hash);
    const cJSON *applications =
        cJSON_GetObjectItemCaseSensitive(owned->configuration, "applications");
    const cJSON *application =
        cJSON_GetArrayItem(applications, (int)explanation->request->application);
    explanation->application = text_of(application, "name");
    stages_name(explanation, application);
    struct world world = {.record = record, .configuration = owned->configuration};
    const bool good = world_init(&world, error) && jobs_explain(explanation, &world, error);
    world_clear(&world);
    return good;
}

struct explanation *explanation_build(const struct summary_row *run,
                                      const struct run_record *record, uint64_t request,
                                      struct error *error)
{
    const struct request_row *row = find_request(run, record, request, error);
    if (row == NULL)
        return NULL;
    struct explanation *explanation = calloc(1, sizeof *explanation);
    if (explanation != NULL)
        explanation->owned = calloc(1, sizeof(struct owned));
    if (explanation == NULL || explanation->owned == NULL) {
        free(explanation);
        error_run(error, "out of memory for an explanation");
        return NULL;
    }
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
    struct owned *owned = explanation->owned;
    cJSON_Delete(owned->configuration);
    free(owned->mates);
    free(owned);
    free(explanation);
}

/* ---- In words -------------------------------------------------------------------------------- */

static double share(sim_time_t part, sim_time_t all)
{
    return all > 0 ? 100.0 * (double)part / (double)all : 0;
}

/* Components of a time, in chronological order. */
enum { PART_COUNT = 9 };
static const struct part {
    const char *key, *words;
    size_t offset;
} parts[PART_COUNT] = {
    {"deciding", "for the decision", offsetof(struct stage_time, deciding)},
    {"behind", "behind other decisions", offsetof(struct stage_time, behind)},
    {"no_room", "for free resources", offsetof(struct stage_time, no_room)},
    {"instance", "for its busy instance", offsetof(struct stage_time, instance)},
    {"held_back", "held back by the policy", offsetof(struct stage_time, held_back)},
    {"transfer", "transfer", offsetof(struct stage_time, transfer)},
    {"cold", "cold start", offsetof(struct stage_time, cold)},
    {"alone", "execution", offsetof(struct stage_time, alone)},
    {"slowed", "slowed by co-runners", offsetof(struct stage_time, slowed)},
};
enum { WAITING_PARTS = 5 };

static sim_time_t part_of(const struct stage_time *time, size_t part)
{
    sim_time_t value;
    memcpy(&value, (const char *)time + parts[part].offset, sizeof value);
    return value;
}

static void print_waiting(const struct explained_stage *stage, FILE *out)
{
    fprintf(out, "  waited     %.3f ms", sim_to_ms(stage->job->queue_ns));
    const char *before = ": ";
    for (size_t p = 0; p < WAITING_PARTS; p++)
        if (part_of(&stage->time, p) > 0) {
            fprintf(out, "%s%.3f %s", before, sim_to_ms(part_of(&stage->time, p)), parts[p].words);
            before = ", ";
        }
    fprintf(out, "\n");
}

static void print_decision(const struct explained_stage *stage, FILE *out)
{
    const struct batch_row *batch = stage->batch;
    const struct decision_row *decision = stage->decision;
    fprintf(out, "  decided    at %.3f ms: batch of up to %u, %u vCPU, %u vGPU",
            sim_to_ms(batch->dispatched_ns), batch->configured_batch, batch->vcpu, batch->vgpu);
    if (batch->quota != 100)
        fprintf(out, " for %u %% of the time", batch->quota);
    if (decision == NULL || decision->alternatives == 0)
        fprintf(out, "; the policy gives no reasons\n");
    else
        fprintf(out, ", chosen among %u; planned from here on: %.3f ms and %.4g $ per request\n",
                decision->alternatives, sim_to_ms(decision->plan_time_ns), decision->plan_cost_usd);
    if (decision != NULL)
        fprintf(out, "             %u waited in that queue, %llu units of work\n",
                decision->queue_length, (unsigned long long)decision->units);
}

static void print_place(const struct explained_stage *stage, FILE *out)
{
    enum { SHOWN = 6 };
    const struct batch_row *batch = stage->batch;
    fprintf(out, "  ran        in batch %llu", (unsigned long long)batch->batch);
    if (batch->jobs == 1)
        fprintf(out, ", alone");
    for (uint32_t i = 0; i + 1 < batch->jobs && i < SHOWN; i++)
        fprintf(out, "%s%llu",
                i == 0 ? batch->jobs == 2 ? ", with request " : ", with requests " : ", ",
                (unsigned long long)stage->mates[i]);
    if (batch->jobs > SHOWN + 1)
        fprintf(out, " and %u more", batch->jobs - 1 - SHOWN);
    fprintf(out, "; invoker %u, ", batch->invoker);
    if (stage->gpu != SIM_NONE)
        fprintf(out, "GPU %u, ", stage->gpu);
    fprintf(out, "container %llu%s", (unsigned long long)batch->container,
            stage->time.cold > 0 ? " (cold)" : " (warm)");
    if (batch->instance != SIM_NONE)
        fprintf(out, " of instance %u", batch->instance);
    fprintf(out, "\n");
}

static void print_execution(const struct explained_stage *stage, FILE *out)
{
    const struct stage_time *time = &stage->time;
    fprintf(out, "  took       transfer %.3f ms, cold start %.3f ms, execution %.3f ms",
            sim_to_ms(time->transfer), sim_to_ms(time->cold),
            sim_to_ms(time->alone + time->slowed));
    if (time->slowed > 0)
        fprintf(out, ": %.3f alone, %.3f (%.1f %%) lost to %u co-runner%s", sim_to_ms(time->alone),
                sim_to_ms(time->slowed), share(time->slowed, time->alone), stage->co_runners,
                stage->co_runners == 1 ? "" : "s");
    else if (stage->co_runners > 0)
        fprintf(out, ", not slowed by %u co-runner%s", stage->co_runners,
                stage->co_runners == 1 ? "" : "s");
    fprintf(out, "; noise %.4g\n", stage->batch->noise);
    fprintf(out, "  cost       %.4g $", stage->job->cost_usd);
    if (stage->batch->jobs > 1)
        fprintf(out, ", one of %u equal parts of %.4g $", stage->batch->jobs,
                stage->batch->cost_usd);
    fprintf(out, "\n");
}

static void print_stage(const struct explanation *explanation, uint32_t index, FILE *out)
{
    const struct explained_stage *stage = &explanation->stages[index];
    fprintf(out, "\n%u. %s", index + 1, stage->name);
    if (strcmp(stage->name, stage->function) != 0)
        fprintf(out, " (function %s)", stage->function);
    for (uint32_t p = 0; p < stage->predecessor_count; p++)
        fprintf(out, "%s%s", p == 0 ? ", after " : " and ",
                explanation->stages[stage->predecessors[p]].name);
    if (stage->job == NULL) {
        fprintf(out, ": never ran\n");
        return;
    }
    fprintf(out, "\n  ready      at %.3f ms, %.3f ms after the request arrived\n",
            sim_to_ms(stage->job->ready_ns),
            sim_to_ms(stage->job->ready_ns - explanation->request->arrival_ns));
    print_waiting(stage, out);
    print_decision(stage, out);
    print_place(stage, out);
    print_execution(stage, out);
    fprintf(out, "  finished   at %.3f ms, %.3f ms after it was ready\n",
            sim_to_ms(stage->batch->finished_ns),
            sim_to_ms(stage->batch->finished_ns - stage->job->ready_ns));
}

static void print_verdict(const struct request_row *request, FILE *out)
{
    const sim_time_t latency = request->finish_ns - request->arrival_ns;
    const sim_time_t spare = request->slo_ns - latency;
    if (request->dropped) {
        fprintf(out, "\nDropped at %.3f ms, %.3f ms after it arrived; it counts as a miss.\n",
                sim_to_ms(request->finish_ns), sim_to_ms(latency));
        return;
    }
    fprintf(out, "\nFinished at %.3f ms, after %.3f ms: ", sim_to_ms(request->finish_ns),
            sim_to_ms(latency));
    if (spare >= 0)
        fprintf(out, "SLO met with %.3f ms (%.1f %% of it) to spare.\n", sim_to_ms(spare),
                share(spare, request->slo_ns));
    else
        fprintf(out, "SLO missed by %.3f ms (%.1f %% of it).\n", sim_to_ms(-spare),
                share(-spare, request->slo_ns));
}

static void print_time(const struct explanation *explanation, FILE *out)
{
    const sim_time_t all = time_total(&explanation->path);
    const struct explained_stage *most = NULL;
    uint32_t on_path = 0;
    for (uint32_t s = 0; s < explanation->stage_count; s++) {
        const struct explained_stage *stage = &explanation->stages[s];
        on_path += stage->on_path;
        if (stage->on_path && (most == NULL || time_total(&stage->time) > time_total(&most->time)))
            most = stage;
    }
    if (most == NULL)
        return;
    fprintf(out, "Its time");
    if (on_path < explanation->stage_count) {
        fprintf(out, " along the longest path (");
        const char *before = "";
        for (uint32_t s = 0; s < explanation->stage_count; s++)
            if (explanation->stages[s].on_path) {
                fprintf(out, "%s%s", before, explanation->stages[s].name);
                before = ", ";
            }
        fprintf(out, ")");
    }
    const char *before = ": ";
    for (size_t p = 0; p < PART_COUNT; p++)
        if (part_of(&explanation->path, p) > 0) {
            fprintf(out, "%s%s %.3f ms (%.1f %%)", before, parts[p].words,
                    sim_to_ms(part_of(&explanation->path, p)),
                    share(part_of(&explanation->path, p), all));
            before = ", ";
        }
    fprintf(out, ".\nMost of it in %s: %.3f ms (%.1f %%).\n", most->name,
            sim_to_ms(time_total(&most->time)), share(time_total(&most->time), all));
}

static void print_money(const struct explanation *explanation, FILE *out)
{
    const double all = explanation->request->cost_usd;
    const struct explained_stage *most = NULL;
    for (uint32_t s = 0; s < explanation->stage_count; s++) {
        const struct explained_stage *stage = &explanation->stages[s];
        if (stage->job != NULL && (most == NULL || stage->job->cost_usd > most->job->cost_usd))
            most = stage;
    }
    fprintf(out, "Its cost: %.4g $", all);
    if (most != NULL && all > 0)
        fprintf(out, ", most of it for %s: %.4g $ (%.1f %%)", most->name, most->job->cost_usd,
                100 * most->job->cost_usd / all);
    fprintf(out, ".\n");
}

void explanation_text(const struct explanation *explanation, FILE *out)
{
    const struct request_row *request = explanation->request;
    const struct summary_row *run = explanation->run;
    fprintf(out, "Request %llu of run %s: %s under %s, seed %llu\n",
            (unsigned long long)request->request, run->hash,
            run->setting[0] != '\0' ? run->setting : run->name, run->policy,
            (unsigned long long)run->seed);
    fprintf(out, "It arrived at %.3f ms for %s%s, SLO %.3f ms: due by %.3f ms.\n",
            sim_to_ms(request->arrival_ns), explanation->application,
            request->measured ? "" : " (warm-up, not measured)", sim_to_ms(request->slo_ns),
            sim_to_ms(request->arrival_ns + request->slo_ns));
    for (uint32_t s = 0; s < explanation->stage_count; s++)
        print_stage(explanation, s, out);
    print_verdict(request, out);
    print_time(explanation, out);
    print_money(explanation, out);
}

/* ---- As JSON --------------------------------------------------------------------------------- */

static void json_time(cJSON *object, const char *name, const struct stage_time *time)
{
    cJSON *list = cJSON_AddObjectToObject(object, name);
    for (size_t p = 0; p < PART_COUNT; p++) {
        char key[32];
        (void)snprintf(key, sizeof key, "%s_ms", parts[p].key);
        cJSON_AddNumberToObject(list, key, sim_to_ms(part_of(time, p)));
    }
}

static void json_decision(cJSON *item, const struct explained_stage *stage)
{
    const struct batch_row *batch = stage->batch;
    cJSON *object = cJSON_AddObjectToObject(item, "decision");
    cJSON_AddNumberToObject(object, "batch", batch->configured_batch);
    cJSON_AddNumberToObject(object, "vcpu", batch->vcpu);
    cJSON_AddNumberToObject(object, "vgpu", batch->vgpu);
    cJSON_AddNumberToObject(object, "quota", batch->quota);
    if (stage->decision == NULL)
        return;
    cJSON_AddNumberToObject(object, "alternatives", stage->decision->alternatives);
    cJSON_AddNumberToObject(object, "plan_cost_usd", stage->decision->plan_cost_usd);
    cJSON_AddNumberToObject(object, "plan_ms", sim_to_ms(stage->decision->plan_time_ns));
    cJSON_AddNumberToObject(object, "queue_length", stage->decision->queue_length);
    cJSON_AddNumberToObject(object, "units", (double)stage->decision->units);
}

static void json_stage(cJSON *list, const struct explained_stage *stage)
{
    cJSON *item = cJSON_CreateObject();
    cJSON_AddItemToArray(list, item);
    cJSON_AddStringToObject(item, "name", stage->name);
    cJSON_AddStringToObject(item, "function", stage->function);
    cJSON_AddBoolToObject(item, "ran", stage->job != NULL);
    if (stage->job == NULL)
        return;
    const struct batch_row *batch = stage->batch;
    cJSON_AddNumberToObject(item, "ready_ms", sim_to_ms(stage->job->ready_ns));
    cJSON_AddNumberToObject(item, "dispatched_ms", sim_to_ms(batch->dispatched_ns));
    cJSON_AddNumberToObject(item, "started_ms", sim_to_ms(batch->started_ns));
    cJSON_AddNumberToObject(item, "finished_ms", sim_to_ms(batch->finished_ns));
    json_decision(item, stage);
    cJSON_AddNumberToObject(item, "batch", (double)batch->batch);
    cJSON *mates = cJSON_AddArrayToObject(item, "mates");
    for (uint32_t i = 0; i + 1 < batch->jobs; i++)
        cJSON_AddItemToArray(mates, cJSON_CreateNumber((double)stage->mates[i]));
    cJSON_AddNumberToObject(item, "invoker", batch->invoker);
    if (stage->gpu != SIM_NONE)
        cJSON_AddNumberToObject(item, "gpu", stage->gpu);
    cJSON_AddNumberToObject(item, "container", (double)batch->container);
    if (batch->instance != SIM_NONE)
        cJSON_AddNumberToObject(item, "instance", batch->instance);
    cJSON_AddNumberToObject(item, "co_runners", stage->co_runners);
    cJSON_AddNumberToObject(item, "noise", batch->noise);
    cJSON_AddNumberToObject(item, "slowdown", batch->slowdown);
    cJSON_AddNumberToObject(item, "cost_usd", stage->job->cost_usd);
    cJSON_AddBoolToObject(item, "on_longest_path", stage->on_path);
    json_time(item, "time", &stage->time);
}

bool explanation_json(const struct explanation *explanation, FILE *out, struct error *error)
{
    const struct request_row *request = explanation->request;
    cJSON *root = cJSON_CreateObject();
    cJSON_AddNumberToObject(root, "request", (double)request->request);
    cJSON_AddStringToObject(root, "run", explanation->run->hash);
    cJSON_AddStringToObject(root, "policy", explanation->run->policy);
    cJSON_AddItemToObject(root, "seed", json_whole(explanation->run->seed));
    cJSON_AddStringToObject(root, "application", explanation->application);
    cJSON_AddNumberToObject(root, "arrival_ms", sim_to_ms(request->arrival_ns));
    cJSON_AddNumberToObject(root, "finish_ms", sim_to_ms(request->finish_ns));
    cJSON_AddNumberToObject(root, "slo_ms", sim_to_ms(request->slo_ns));
    cJSON_AddBoolToObject(root, "hit", request->hit != 0);
    cJSON_AddBoolToObject(root, "dropped", request->dropped != 0);
    cJSON_AddNumberToObject(root, "cost_usd", request->cost_usd);
    cJSON *stages = cJSON_AddArrayToObject(root, "stages");
    for (uint32_t s = 0; s < explanation->stage_count; s++)
        json_stage(stages, &explanation->stages[s]);
    json_time(root, "time", &explanation->path);
    char *text = cJSON_Print(root);
    cJSON_Delete(root);
    if (text == NULL)
        return error_run(error, "out of memory for the JSON output");
    fprintf(out, "%s\n", text);
    cJSON_free(text);
    return true;
}
