#include "sim/platform/waits.h"

#include <inttypes.h>

#include "sim/cluster/cluster_internal.h"
#include "sim/platform/batches.h"
#include "sim/platform/failures.h"
#include "sim/platform/instances.h"
#include "sim/platform/policy_api.h"
#include "sim/platform/requests.h"

/* Looks beyond one at each invoker, from which on they are given up when no job waits. */
enum { LOOKS_KEPT = 4096 };

struct waits {
    struct arena arena; /* of all that follows */
    struct look {       /* at an invoker, or at the controller (SIM_NONE), from a time on */
        sim_time_t time;
        struct invoker_view view;
    } * looks;
    size_t look_count;
    bool deciding;           /* so was the controller at the last look */
    struct course **courses; /* by configuration, the last of the controller alone; NULL: unused */
    struct run {             /* a batch of an instance */
        sim_time_t from, until, released;
        uint32_t instance;
    } * runs;
    size_t run_count;
};

/* What jobs of one configuration waited for, from each time on. */
struct course {
    size_t read; /* looks */
    bool deciding;
    struct standing_at { /* by invoker */
        uint8_t standing[2];
        bool starting, later; /* it has a container of the function that starts; that may serve */
    } * at;
    uint32_t standings[2][STANDINGS], starting, later; /* how many invokers */
    struct course_point {
        sim_time_t from;
        enum job_part part;
    } * points;
    size_t count;
};

/* ---- Looks ----------------------------------------------------------------------------------- */

/* Gives back, in view [1], what batches on the invoker hold for their turnarounds alone. */
static void turnarounds_end(const struct platform *platform, struct invoker_view *view)
{
    const uint32_t first = platform->cluster.invokers[view->invoker].first_gpu;
    for (uint32_t i = 0; i < platform->batches_used; i++) {
        const struct batch *batch = &platform->batches[i];
        if (batch->jobs == 0 || !batch->answered || batch->invoker != view->invoker ||
            batch->instance != SIM_NONE)
            continue;
        const struct configuration *spec = batch_configuration(platform, batch);
        view->vcpus[1] += spec->vcpu;
        if (batch->gpu == SIM_NONE)
            continue;
        struct gpu_use *use = &view->gpus[batch->gpu - first].use[1];
        use->free_parts += (uint32_t)spec->vgpu * UNIT_PARTS;
        use->holding--;
        use->slots &= (uint8_t)~batch->slots;
    }
}

static struct look *look_add(struct platform *platform, uint32_t invoker)
{
    struct waits *waits = platform->waits;
    struct look *look = ARENA_NEXT(&waits->arena, waits->looks, waits->look_count);
    *look = (struct look){platform->now, {.invoker = invoker}};
    if (invoker == SIM_NONE)
        return look;
    look->view = cluster_look(&platform->cluster, invoker, &waits->arena);
    look->view.down = platform->failures != NULL && platform->failures->invokers[invoker].down;
    turnarounds_end(platform, &look->view);
    return look;
}

static size_t configuration_place(const struct workload *workload, size_t function)
{
    size_t place = 0;
    for (size_t f = 0; f < function; f++)
        place += workload->functions[f].configuration_count;
    return place;
}

/* Looks at all, as if the run began now. */
static void looks_begin(struct platform *platform)
{
    const struct workload *workload = platform->workload;
    struct waits *waits = platform->waits;
    arena_clear(&waits->arena);
    *waits = (struct waits){.arena = {.exhausted = platform->arena.exhausted, .context = platform}};
    waits->courses =
        arena_allocate(&waits->arena, configuration_place(workload, workload->function_count) + 1,
                       sizeof(struct course *));
    for (uint32_t i = 0; i < platform->cluster.invoker_count; i++)
        look_add(platform, i);
}

void waits_init(struct platform *platform)
{
    const struct recorder *recorder = platform->recorder;
    if (recorder == NULL || recorder->part == NULL || recorder->decision == NULL ||
        recorder->batch == NULL || platform->workload->application_count == 0)
        return;
    platform->waits = arena_allocate(&platform->arena, 1, sizeof *platform->waits);
    cluster_watch(&platform->cluster);
    platform->observed = true;
    looks_begin(platform);
}

void waits_clear(struct platform *platform)
{
    if (platform->waits != NULL)
        arena_clear(&platform->waits->arena);
}

void waits_advance(struct platform *platform)
{
    struct waits *waits = platform->waits;
    struct cluster *cluster = &platform->cluster;
    if (platform->waiting_jobs == 0 && waits->look_count > LOOKS_KEPT + cluster->invoker_count)
        looks_begin(platform);
    else
        for (uint32_t k = 0; k < cluster->touched_count; k++)
            look_add(platform, cluster->touched[k]);
    if (waits->deciding != platform->controller.busy)
        look_add(platform, SIM_NONE);
    waits->deciding = platform->controller.busy;
    if (platform->trainings == NULL) /* else they clear the list, at this step of the clock */
        cluster_untouch(cluster);
}

/* ---- What stood against a configuration ------------------------------------------------------ */

/* Where a batch may wait for its container anywhere, any room is room. Else only an idle container
 * is, and where the platform starts one for waiting jobs, room for it. */
static enum job_part standings_part(const struct course *course, const uint32_t *standings,
                                    enum cold_dispatch rule)
{
    static const enum job_part parts[] = {PART_units, PART_down, PART_vcpus, PART_units,
                                          PART_place};
    enum standing best = STANDINGS - 1;
    while (best > 0 && standings[best] == 0)
        best--;
    if (best < STANDS_MEMORY)
        return parts[best];
    if (rule != COLD_DISPATCH_START && best != STANDS_IDLE) {
        if (course->starting > 0)
            return PART_starting;
        if (course->later > 0 && !(rule == COLD_DISPATCH_LATE && best == STANDS_NEW))
            return PART_busy;
    }
    return best > STANDS_MEMORY ? PART_held_back : PART_memory;
}

/* Holds the configuration against a look at an invoker. */
static void course_compare(const struct platform *platform, struct course *course,
                           const struct invoker_view *view, uint32_t function,
                           const struct configuration *configuration)
{
    const struct cluster *cluster = &platform->cluster;
    struct standing_at *at = &course->at[view->invoker];
    course->starting -= at->starting;
    course->later -= at->later;
    at->starting = at->later = false;
    for (size_t p = 0; p < view->pool_count; p++) {
        const struct pool_view *pool = &view->pools[p];
        const struct gpu_spec *gpu = pool->gpu == SIM_NONE ? NULL : cluster->gpus[pool->gpu].spec;
        if (pool->function != function || (gpu == NULL) != (configuration->vgpu == 0) ||
            (gpu != NULL && !gpu_runs(gpu, configuration)))
            continue;
        at->starting = at->starting || pool->starting;
        at->later =
            at->later || (pool->any && configuration->vcpu <= cluster->sizes[view->invoker].vcpus);
    }
    course->starting += at->starting;
    course->later += at->later;
    for (size_t i = 0; i < 2; i++) {
        course->standings[i][at->standing[i]]--;
        at->standing[i] = (uint8_t)cluster_standing(cluster, view, i == 1, function, configuration);
        course->standings[i][at->standing[i]]++;
    }
}

static enum job_part course_part(const struct platform *platform, const struct course *course)
{
    const enum cold_dispatch rule = platform->policy->places_containers
                                        ? COLD_DISPATCH_START
                                        : platform->experiment->platform.cold_dispatch;
    if (course->deciding)
        return PART_behind;
    const enum job_part part = standings_part(course, course->standings[0], rule);
    return standings_part(course, course->standings[1], rule) == part ? part : PART_turnaround;
}

/* The history of a configuration, up to now; NULL: of the controller alone. */
static const struct course *course_follow(struct platform *platform, uint32_t function,
                                          const struct configuration *configuration)
{
    struct waits *waits = platform->waits;
    const struct workload *workload = platform->workload;
    size_t place = configuration_place(workload, workload->function_count);
    if (configuration != NULL)
        place = configuration_place(workload, function) +
                (size_t)(configuration - workload->functions[function].configurations);
    if (waits->courses[place] == NULL) {
        struct course *begun = arena_allocate(&waits->arena, 1, sizeof *begun);
        begun->at =
            arena_allocate(&waits->arena, platform->cluster.invoker_count, sizeof *begun->at);
        begun->standings[0][0] = begun->standings[1][0] = platform->cluster.invoker_count;
        waits->courses[place] = begun;
    }
    struct course *course = waits->courses[place];
    while (course->read < waits->look_count) {
        const struct look *look = &waits->looks[course->read++];
        if (look->view.invoker == SIM_NONE)
            course->deciding = !course->deciding;
        else if (configuration != NULL)
            course_compare(platform, course, &look->view, function, configuration);
        const enum job_part part = configuration != NULL || course->deciding
                                       ? course_part(platform, course)
                                       : PART_held_back;
        if (course->count > 0 && course->points[course->count - 1].from == look->time)
            course->count--;
        arena_reserve(&waits->arena, &course->points, course->count + 1, sizeof *course->points);
        if (course->count == 0 || course->points[course->count - 1].part != part)
            course->points[course->count++] = (struct course_point){look->time, part};
    }
    return course;
}

/* ---- Parts ----------------------------------------------------------------------------------- */

static sim_time_t overlap(sim_time_t from, sim_time_t until, sim_time_t low, sim_time_t high)
{
    from = from > low ? from : low;
    until = until < high ? until : high;
    return until > from ? until - from : 0;
}

/* What the time between the two was spent with. */
static void course_divide(const struct course *course, sim_time_t from, sim_time_t until,
                          sim_time_t *parts)
{
    for (size_t p = course->count; p > 0 && until > from; p--) {
        const struct course_point *point = &course->points[p - 1];
        parts[point->part] += overlap(point->from, until, from, until);
        until = point->from < until ? point->from : until;
    }
}

/* The instance was starting, ran others, or had their turnarounds. Else, or if the controller was
 * deciding at the same time, the rest is as for any job. */
static void instance_divide(struct platform *platform, uint32_t id, sim_time_t from,
                            sim_time_t until, sim_time_t *parts)
{
    const struct waits *waits = platform->waits;
    const struct instance *instance = &platform->instances[id];
    sim_time_t own[REQUEST_PARTS] = {0}, left = until - from;
    for (size_t r = waits->run_count; r > 0; r--) {
        const struct run *run = &waits->runs[r - 1];
        if (run->instance != id || run->from < instance->created)
            continue;
        if (run->released <= from)
            break;
        own[PART_busy] += overlap(run->from, run->until, from, until);
        own[PART_turnaround] += overlap(run->until, run->released, from, until);
    }
    left -= own[PART_busy] + own[PART_turnaround];
    own[PART_starting] = overlap(instance->created, instance->ready, from, until);
    own[PART_starting] = own[PART_starting] < left ? own[PART_starting] : left;
    left -= own[PART_starting];
    course_divide(course_follow(platform, 0, NULL), from, until, own);
    own[PART_behind] = own[PART_behind] < left ? own[PART_behind] : left;
    own[PART_held_back] = left - own[PART_behind];
    for (size_t p = 0; p < REQUEST_PARTS; p++)
        parts[p] += own[p];
}

static void wait_divide(struct platform *platform, const struct batch *batch, sim_time_t from,
                        sim_time_t until, sim_time_t *parts)
{
    if (from >= until)
        return;
    if (batch->instance != SIM_NONE)
        instance_divide(platform, batch->instance, from, until, parts);
    else
        course_divide(course_follow(platform, batch_function(platform, batch),
                                    batch_configuration(platform, batch)),
                      from, until, parts);
}

/* Records those of the parts that are not 0; all together are `all`. */
static void parts_record(struct platform *platform, uint32_t job, const struct batch *batch,
                         const sim_time_t *parts, sim_time_t all)
{
    const struct recorder *recorder = platform->recorder;
    for (size_t p = 0; p < REQUEST_PARTS; p++) {
        const struct part_row row = {.request = job_request(platform, job)->number,
                                     .batch = batch->number,
                                     .stage = job_stage(platform, job),
                                     .part = (uint8_t)p,
                                     .time_ns = parts[p]};
        all -= parts[p];
        if (parts[p] != 0 && !recorder->part(recorder->context, &row, platform->error))
            platform->failed = true;
    }
    if (all != 0)
        platform_fail(platform, "invariant parts: those of job %" PRIu32 " lack %" PRId64 " ns",
                      job, all);
}

void waits_record(struct platform *platform, const struct batch *batch)
{
    for (uint32_t job = batch->first_job; job != SIM_NONE && !platform->failed;
         job = platform->jobs[job].next) {
        const struct job *state = &platform->jobs[job];
        const struct request *request = job_request(platform, job);
        const struct stage *stage = &platform->workload->applications[request->application]
                                         .stages[job_stage(platform, job)];
        const sim_time_t cold =
            batch_waits(batch) ? 0 : instances_cold_wait(platform, batch->instance, job);
        sim_time_t begin = state->ready, parts[REQUEST_PARTS] = {[PART_cold] = cold};
        if (stage->after_count == 0) {
            begin = request->arrival;
            parts[PART_ingress] = platform->ingress;
            parts[PART_frame] = state->ready - platform->ingress - begin;
        }
        wait_divide(platform, batch, state->ready, cold > 0 ? state->entered : platform->now,
                    parts);
        if (cold > 0)
            wait_divide(platform, batch, state->entered + cold, platform->now, parts);
        parts_record(platform, job, batch, parts, platform->now - begin);
    }
}

/* Puts the invoker on the list of touched ones, of which nothing has changed. */
static void look_later(struct cluster *cluster, uint32_t invoker)
{
    const uint64_t changes = cluster->changes;
    cluster_touch(cluster, invoker);
    cluster->changes = changes;
}

/* The same parts for all its jobs. */
static void end_record(struct platform *platform, const struct batch *batch,
                       const sim_time_t *parts, sim_time_t turnaround)
{
    struct waits *waits = platform->waits;
    for (uint32_t job = batch->first_job; job != SIM_NONE && !platform->failed;
         job = platform->jobs[job].next)
        parts_record(platform, job, batch, parts, platform->now - batch->dispatched);
    if (turnaround > 0) /* it begins, which changes nothing on the ledger */
        look_later(&platform->cluster, batch->invoker);
    if (batch->instance == SIM_NONE)
        return;
    *ARENA_NEXT(&waits->arena, waits->runs, waits->run_count) =
        (struct run){batch->dispatched, platform->now, platform->now + turnaround, batch->instance};
}

void waits_record_end(struct platform *platform, const struct batch *batch, sim_time_t work,
                      sim_time_t alone)
{
    const sim_time_t execution = platform->now - batch->started;
    const sim_time_t parts[REQUEST_PARTS] = {[PART_deciding] = batch->launched - batch->dispatched,
                                             [PART_transfer] = batch->transfer,
                                             [PART_cold] = batch_cold_wait(batch),
                                             [PART_alone] = alone,
                                             [PART_slowed] = work - alone,
                                             [PART_host] = execution - work};
    end_record(platform, batch, parts, batch_turnaround(platform, batch));
}

void waits_record_lost(struct platform *platform, const struct batch *batch)
{
    end_record(platform, batch,
               (sim_time_t[REQUEST_PARTS]){[PART_lost] = platform->now - batch->dispatched}, 0);
}
