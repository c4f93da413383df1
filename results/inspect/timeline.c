#include "results/inspect/timeline.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/inspect/trace_events.h"
#include "sim/base/arena.h"
#include "sim/base/json_write.h"

/* Processes of a run, numbered from its base; invoker i is PID_INVOKERS + i. */
enum { PID_CLUSTER = 1, PID_REQUESTS, PID_QUEUES, PID_TRAININGS = 5, PID_INVOKERS = 10 };
/* Thread ids of the cluster. Lanes are numbered from TID_LANES, containers from TID_CONTAINERS,
 * trainings from TID_TRAININGS. */
enum { TID_COUNTERS, TID_DECISIONS, TID_DROPS, TID_LANES = 10, TID_CONTAINERS = 1 << 24 };
enum { TID_TRAININGS = 1, TID_OUTAGES = 1, COUNTERS = 7 };
/* Limit per application when computing the display order. */
enum { LANES_MOST = 1 << 20 };

struct partition_stream {
    sim_time_t end; /* end of its last slice */
    uint32_t tid;
};

/* Lanes of one GPU or application, sorted by the end of their last slice. */
struct lanes {
    struct partition_stream *items;
    size_t count;
};

struct flight {
    size_t count, part_count;
    struct trace_point steps[RECORD_MAX_STAGES];
    struct part_row *parts; /* of waits */
};

static const char *const part_words[REQUEST_PARTS] = {
#define PART(name, words, mark, colour) words " ms",
#include "sim/base/parts.def"
};

/* A GPU of a lease. */
struct leased {
    struct lease_row lease;
    struct lease_gpu_row gpu;
};

struct timeline {
    struct arena *arena; /* has all of it */
    struct trace_events events;
    const struct experiment *const *experiments;
    size_t count;
    /* Of the run that is being written: */
    const struct workload *workload;
    const char *title; /* before the names of its processes: "esg: ", or "" */
    uint32_t base;     /* of its processes */
    struct gpu_list gpus;
    /* Per application for its requests, per GPU, and per invoker for batches without a GPU. */
    struct lanes *places;
    struct lanes *lease_places; /* per GPU */
    char **queue_names;         /* "application/stage" */
    bool *invoker_named;        /* its name has been written */
    bool *outages_named;        /* that of its track of outages */
    unsigned char *named;       /* bit c: the name of container c has been written */
    bool counted[COUNTERS];
    uint32_t next_tid;
    struct flight **flights; /* by request; NULL: not in flight */
    struct trace_point last_batch;
    uint64_t last_number;
    struct lease_row last_lease;
    struct leased *leased; /* written at the end, as leases are not recorded in their order */
    size_t leased_count;
};

/* ---- Lanes ----------------------------------------------------------------------------------- */

/* Finds a lane for a slice from `from` to `until`: of the lanes free at `from`, the one that became
 * free last. If there is none, a lane is added, which has no name yet. */
static uint32_t lanes_take(struct timeline *timeline, struct lanes *lanes, sim_time_t from,
                           sim_time_t until)
{
    size_t low = 0, high = lanes->count; /* binary search for the first lane that is not free */
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (lanes->items[middle].end <= from)
            low = middle + 1;
        else
            high = middle;
    }
    const bool is_new = low == 0;
    if (is_new)
        arena_reserve(timeline->arena, &lanes->items, lanes->count + 1, sizeof *lanes->items);
    const uint32_t tid = is_new ? timeline->next_tid++ : lanes->items[low - 1].tid;
    if (!is_new)
        memmove(&lanes->items[low - 1], &lanes->items[low],
                (lanes->count - low) * sizeof *lanes->items);
    lanes->count += is_new;
    lanes->items[lanes->count - 1] = (struct partition_stream){until, tid};
    return tid;
}

static struct trace_point point(const struct timeline *timeline, sim_time_t time, uint32_t process,
                                uint32_t tid)
{
    return (struct trace_point){time, timeline->base + process, tid};
}

/* Names a process of the run. */
static void process_name(struct timeline *timeline, uint32_t process, const char *name)
{
    char text[256];
    (void)snprintf(text, sizeof text, "%.200s%s", timeline->title, name);
    trace_events_name(&timeline->events, "process", point(timeline, 0, process, 0),
                      timeline->base + process, text);
}

static void thread_name(struct timeline *timeline, uint32_t process, uint32_t tid, uint32_t order,
                        const char *name)
{
    trace_events_name(&timeline->events, "thread", point(timeline, 0, process, tid), order, name);
}

/* The process of an invoker, which is named before its first event. */
static uint32_t invoker_process(struct timeline *timeline, uint32_t invoker)
{
    char name[40];
    (void)snprintf(name, sizeof name, "invoker %" PRIu32, invoker);
    if (!timeline->invoker_named[invoker])
        process_name(timeline, PID_INVOKERS + invoker, name);
    timeline->invoker_named[invoker] = true;
    return PID_INVOKERS + invoker;
}

/* Finds the lane of a batch or lease on a GPU (SIM_NONE: none). Lanes are named by the index of the
 * GPU in its invoker, and its model if there are several kinds. */
static struct trace_point gpu_lane(struct timeline *timeline, struct lanes *lanes, uint32_t invoker,
                                   uint32_t gpu, sim_time_t from, sim_time_t until,
                                   const char *words)
{
    const struct workload *workload = timeline->workload;
    const size_t before = lanes->count;
    const uint32_t process = invoker_process(timeline, invoker);
    const uint32_t tid = lanes_take(timeline, lanes, from, until);
    const char *model = gpu == SIM_NONE || workload->kind_count == 1
                            ? ""
                            : workload->kinds[timeline->gpus.specs[gpu]->kind].model;
    char text[96] = "vCPUs";
    if (gpu != SIM_NONE)
        (void)snprintf(text, sizeof text, "GPU %" PRIu32 "%s%s%s lane %zu",
                       gpu - timeline->gpus.first[invoker], *model != '\0' ? " " : "", model, words,
                       lanes->count - 1);
    if (lanes->count > before)
        thread_name(timeline, process, tid, tid, text);
    return point(timeline, from, process, tid);
}

/* The track of container `serial` at a time; writes its name when it is new. */
static struct trace_point container_track(struct timeline *timeline, uint64_t serial,
                                          uint32_t function, uint32_t invoker, sim_time_t time)
{
    const uint32_t tid = TID_CONTAINERS + (uint32_t)serial;
    const uint32_t process = invoker_process(timeline, invoker);
    const size_t byte = (size_t)(serial / 8);
    arena_reserve(timeline->arena, &timeline->named, byte + 1, 1);
    const unsigned char bit = (unsigned char)(1U << (serial % 8));
    char text[256];
    (void)snprintf(text, sizeof text, "container %" PRIu64 ": %.200s", serial,
                   timeline->workload->functions[function].name);
    if ((timeline->named[byte] & bit) == 0)
        thread_name(timeline, process, tid, tid, text);
    timeline->named[byte] |= bit;
    return point(timeline, time, process, tid);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static void slice(struct timeline *timeline, struct trace_point from, const char *category,
                  const char *name, sim_time_t until)
{
    if (until > from.time)
        trace_events_write(&timeline->events, trace_event('X', category, name, from, until));
}

/* Writes the phases of a batch between dispatch and finish, nested in its slice. */
static void batch_parts(struct timeline *timeline, const struct batch_row *row,
                        struct trace_point track)
{
    const struct {
        const char *name;
        sim_time_t until;
    } parts[] = {
        {"decision", row->launched_ns},
        {"transfer", row->launched_ns + row->transfer_ns},
        {"cold start", row->started_ns},
        {"execution", row->finished_ns},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        slice(timeline, track, "part", parts[i].name, parts[i].until);
        track.time = parts[i].until;
    }
}

static bool add_batch(void *context, const struct batch_row *row, struct error *error)
{
    struct timeline *timeline = context;
    const struct application *application = &timeline->workload->applications[row->application];
    const size_t place = row->gpu != SIM_NONE ? row->gpu : timeline->gpus.count + row->invoker;
    const struct trace_point track =
        gpu_lane(timeline, &timeline->places[timeline->workload->application_count + place],
                 row->invoker, row->gpu, row->dispatched_ns, row->finished_ns, "");
    cJSON *event =
        trace_event('X', "batch", timeline->queue_names[row->queue], track, row->finished_ns);
    cJSON *args = cJSON_AddObjectToObject(event, "args");
    char configuration[64];
    (void)snprintf(configuration, sizeof configuration, "batch %u, %u vCPU, %u vGPU",
                   row->configured_batch, row->vcpu, row->vgpu);
    json_put(args, "batch %" PRIu64 " application %u stage %u jobs %u configuration %s quota %u",
             row->batch, row->application, row->stage, row->jobs, configuration, row->quota);
    json_put(args, "noise %g slowdown %g cost_usd %g cold %hhd decision_ms %g transfer_ms %g",
             row->noise, row->slowdown, row->cost_usd, (bool)(row->cold != 0),
             sim_to_ms(row->launched_ns - row->dispatched_ns), sim_to_ms(row->transfer_ns));
    json_put(args,
             "cold_ms %g execution_ms %g container %" PRIu64 " instance %g first_request %" PRIu64,
             sim_to_ms(row->cold_ns), sim_to_ms(row->finished_ns - row->started_ns), row->container,
             row->instance == SIM_NONE ? NAN : (double)row->instance, row->first_request);
    trace_events_write(&timeline->events, event);
    batch_parts(timeline, row, track);
    slice(timeline,
          container_track(timeline, row->container, application->stages[row->stage].function,
                          row->invoker, row->dispatched_ns),
          "container", "busy", row->finished_ns);
    timeline->last_batch = (struct trace_point){row->started_ns, track.pid, track.tid};
    timeline->last_number = row->batch;
    return trace_events_good(&timeline->events, error);
}

static struct flight *flight_of(struct timeline *timeline, uint64_t request)
{
    arena_reserve(timeline->arena, &timeline->flights, request + 1, sizeof *timeline->flights);
    if (timeline->flights[request] == NULL)
        timeline->flights[request] =
            arena_allocate(timeline->arena, 1, sizeof *timeline->flights[request]);
    return timeline->flights[request];
}

/* Keeps why a job waited until the row of the job. */
static bool add_part(void *context, const struct part_row *row, struct error *error)
{
    struct timeline *timeline = context;
    if (row->part >= PART_down && row->part <= PART_deciding) {
        struct flight *flight = flight_of(timeline, row->request);
        *ARENA_NEXT(timeline->arena, flight->parts, flight->part_count) = *row;
    }
    return true;
}

static bool add_job(void *context, const struct job_row *row, struct error *error)
{
    struct timeline *timeline = context;
    struct flight *flight = flight_of(timeline, row->request);
    char id[48];
    (void)snprintf(id, sizeof id, "%s%" PRIu64 ".%" PRIu32, timeline->title, row->request,
                   row->stage);
    if (row->batch == timeline->last_number && flight->count < RECORD_MAX_STAGES)
        flight->steps[flight->count++] = timeline->last_batch;
    for (size_t i = 0; i < 2; i++) {
        cJSON *event = trace_event(i == 0 ? 'b' : 'e', "wait", timeline->queue_names[row->queue],
                                   point(timeline, row->ready_ns + (i == 0 ? 0 : row->queue_ns),
                                         PID_QUEUES, TID_LANES + row->queue),
                                   0);
        json_put(event, "id %s", id);
        cJSON *args = i == 0 ? cJSON_AddObjectToObject(event, "args") : NULL;
        for (size_t p = 0; i == 0 && p < flight->part_count; p++)
            if (flight->parts[p].stage == row->stage)
                cJSON_AddNumberToObject(args, part_words[flight->parts[p].part],
                                        sim_to_ms(flight->parts[p].time_ns));
        trace_events_write(&timeline->events, event);
    }
    return trace_events_good(&timeline->events, error);
}

static bool add_lost(void *context, const struct lost_row *row, struct error *error)
{
    struct timeline *timeline = context;
    const struct workload *workload = timeline->workload;
    const size_t place = row->gpu != SIM_NONE ? row->gpu : timeline->gpus.count + row->invoker;
    if (row->place == 0 && row->lost_ns > row->dispatched_ns) {
        const struct trace_point track =
            gpu_lane(timeline, &timeline->places[workload->application_count + place], row->invoker,
                     row->gpu, row->dispatched_ns, row->lost_ns, "");
        cJSON *event =
            trace_event('X', "lost", timeline->queue_names[row->queue], track, row->lost_ns);
        json_put(cJSON_AddObjectToObject(event, "args"),
                 "batch %" PRIu64 " container %" PRIu64 " first_request %" PRIu64, row->batch,
                 row->container, row->request);
        trace_events_write(&timeline->events, event);
    }
    return trace_events_good(&timeline->events, error);
}

static bool add_outage(void *context, const struct outage_row *row, struct error *error)
{
    struct timeline *timeline = context;
    const struct trace_point track =
        point(timeline, row->from_ns, invoker_process(timeline, row->invoker), TID_OUTAGES);
    if (!timeline->outages_named[row->invoker])
        thread_name(timeline, PID_INVOKERS + row->invoker, TID_OUTAGES, TID_OUTAGES, "outages");
    timeline->outages_named[row->invoker] = true;
    slice(timeline, track, "outage", "down", row->until_ns);
    return trace_events_good(&timeline->events, error);
}

static bool add_container(void *context, const struct container_row *row, struct error *error)
{
    struct timeline *timeline = context;
    slice(timeline,
          container_track(timeline, row->container, row->function, row->invoker, row->from_ns),
          "container", row->phase == CONTAINER_PHASE_STARTING ? "starting" : "idle", row->until_ns);
    return trace_events_good(&timeline->events, error);
}

static bool add_decision(void *context, const struct decision_row *row, struct error *error)
{
    struct timeline *timeline = context;
    cJSON *event = trace_event('i', "decision", timeline->queue_names[row->queue],
                               point(timeline, row->time_ns, PID_CLUSTER, TID_DECISIONS), 0);
    cJSON *args = cJSON_AddObjectToObject(event, "args");
    json_put(args, "batch %" PRIu64 " invoker %u configuration %u jobs %u queue_length %u",
             row->batch, row->invoker, row->configuration, row->jobs, row->queue_length);
    json_put(args, "alternatives %u plan_cost_usd %g plan_ms %g units %" PRIu64 " charged_ms %g",
             row->alternatives, row->plan_cost_usd, sim_to_ms(row->plan_time_ns), row->units,
             sim_to_ms(row->charged_ns));
    trace_events_write(&timeline->events, event);
    return trace_events_good(&timeline->events, error);
}

static bool add_sample(void *context, const struct timeline_row *row, struct error *error)
{
    struct timeline *timeline = context;
    const struct {
        const char *name;
        double value;
    } counters[COUNTERS] = {
        {"waiting jobs", (double)row->waiting_jobs},
        {"running batches", (double)row->running_batches},
        {"idle containers", (double)row->idle_containers},
        {"starting containers", (double)row->starting_containers},
        {"GPU used %", 100 * row->gpu_used},
        {"vCPU used %", 100 * row->vcpu_used},
        {"GPU memory used %", 100 * row->gpu_memory_used},
    };
    for (size_t i = 0; i < COUNTERS; i++) {
        timeline->counted[i] = timeline->counted[i] || counters[i].value > 0;
        if (!timeline->counted[i])
            continue;
        cJSON *event = trace_event('C', "counter", counters[i].name,
                                   point(timeline, row->time_ns, PID_CLUSTER, TID_COUNTERS), 0);
        json_put(cJSON_AddObjectToObject(event, "args"), "value %g", counters[i].value);
        trace_events_write(&timeline->events, event);
    }
    return trace_events_good(&timeline->events, error);
}

/* ---- Requests and their flows ---------------------------------------------------------------- */

static int compare_steps(const void *a, const void *b)
{
    const struct trace_point *left = a, *right = b;
    return (left->time > right->time) - (left->time < right->time);
}

static void flow(struct timeline *timeline, struct trace_point step, char phase, uint64_t request)
{
    cJSON *event = trace_event(phase, "request", "request", step, 0);
    /* Of several runs, which have the same requests, each has numbers of its own. */
    json_put(event, "id %" PRIu64, ((uint64_t)timeline->base << 32) + request);
    trace_events_write(&timeline->events, event);
}

/* Writes the flow: arrival, the start of each execution, and the finish, which must be inside the
 * request's slice. */
static void flow_write(struct timeline *timeline, const struct request_row *row,
                       struct trace_point track)
{
    struct flight *flight = flight_of(timeline, row->request);
    qsort(flight->steps, flight->count, sizeof *flight->steps, compare_steps);
    if (flight->count > 0)
        flow(timeline, track, 's', row->request);
    for (size_t i = 0; i < flight->count; i++)
        flow(timeline, flight->steps[i], 't', row->request);
    track.time = row->finish_ns - 1;
    if (flight->count > 0)
        flow(timeline, track, 'f', row->request);
    arena_release(timeline->arena, flight->parts);
    arena_release(timeline->arena, flight);
    timeline->flights[row->request] = NULL;
}

static bool add_request(void *context, const struct request_row *row, struct error *error)
{
    struct timeline *timeline = context;
    struct lanes *lanes = &timeline->places[row->application];
    const char *name = timeline->workload->applications[row->application].name;
    const size_t before = lanes->count;
    const uint32_t tid = lanes_take(timeline, lanes, row->arrival_ns, row->finish_ns);
    const struct trace_point track = point(timeline, row->arrival_ns, PID_REQUESTS, tid);
    if (lanes->count > before) /* the lanes of one application are kept together */
        thread_name(timeline, PID_REQUESTS, tid, row->application * LANES_MOST + (uint32_t)before,
                    name);
    cJSON *event = trace_event('X', "request", name, track, row->finish_ns);
    cJSON *args = cJSON_AddObjectToObject(event, "args");
    json_put(args, "request %" PRIu64 " measured %hhd hit %hhd dropped %hhd slo_ms %g",
             row->request, (bool)(row->measured != 0), (bool)(row->hit != 0),
             (bool)(row->dropped != 0), sim_to_ms(row->slo_ns));
    json_put(args, "queue_ms %g transfer_ms %g cold_ms %g execution_ms %g cost_usd %g",
             sim_to_ms(row->queue_ns), sim_to_ms(row->transfer_ns), sim_to_ms(row->cold_ns),
             sim_to_ms(row->exec_ns), row->cost_usd);
    trace_events_write(&timeline->events, event);
    flow_write(timeline, row, track);
    if (row->dropped != 0) {
        event = trace_event('i', "drop", name,
                            point(timeline, row->finish_ns, PID_CLUSTER, TID_DROPS), 0);
        json_put(cJSON_AddObjectToObject(event, "args"), "request %" PRIu64, row->request);
        trace_events_write(&timeline->events, event);
    }
    return trace_events_good(&timeline->events, error);
}

/* ---- Trainings ------------------------------------------------------------------------------- */

/* Writes a slice of a lease, which begins with its restart. */
static void lease_slice(struct timeline *timeline, const struct lease_row *row,
                        const char *category, const char *name, struct trace_point track,
                        double units)
{
    cJSON *event = trace_event('X', category, name, track, row->until_ns);
    json_put(cJSON_AddObjectToObject(event, "args"),
             "training %" PRIu64 " invokers %u units %g vcpus %g memory_mb %g iterations %g",
             row->training, row->invokers, units, row->vcpus, row->memory_mb, row->iterations);
    trace_events_write(&timeline->events, event);
    slice(timeline, track, "restart", "restart", row->from_ns + row->restart_ns);
    track.time = row->until_ns - row->save_ns;
    slice(timeline, track, "save", "save", row->until_ns);
}

static bool add_lease(void *context, const struct lease_row *row, struct error *error)
{
    struct timeline *timeline = context;
    char name[64];
    (void)snprintf(name, sizeof name, "%" PRIu32 " GPUs from %" PRIu32, row->gpus, row->first_gpu);
    timeline->last_lease = *row;
    lease_slice(
        timeline, row, "lease", name,
        point(timeline, row->from_ns, PID_TRAININGS, (uint32_t)(TID_TRAININGS + row->training)),
        row->units);
    return trace_events_good(&timeline->events, error);
}

static bool add_lease_gpu(void *context, const struct lease_gpu_row *row, struct error *error)
{
    struct timeline *timeline = context;
    *ARENA_NEXT(timeline->arena, timeline->leased, timeline->leased_count) =
        (struct leased){timeline->last_lease, *row};
    return true;
}

/* By their end, as lanes_take needs. */
static int compare_leased(const void *a, const void *b)
{
    const struct leased *left = a, *right = b;
    if (left->lease.until_ns != right->lease.until_ns)
        return left->lease.until_ns < right->lease.until_ns ? -1 : 1;
    if (left->gpu.lease != right->gpu.lease)
        return left->gpu.lease < right->gpu.lease ? -1 : 1;
    return (left->gpu.gpu > right->gpu.gpu) - (left->gpu.gpu < right->gpu.gpu);
}

/* Writes the run's leases into lanes of their GPUs. */
static void leased_write(struct timeline *timeline)
{
    if (timeline->leased_count > 0)
        qsort(timeline->leased, timeline->leased_count, sizeof *timeline->leased, compare_leased);
    for (size_t i = 0; i < timeline->leased_count; i++) {
        const struct lease_row *lease = &timeline->leased[i].lease;
        const struct lease_gpu_row *gpu = &timeline->leased[i].gpu;
        char name[40];
        (void)snprintf(name, sizeof name, "training %" PRIu64, lease->training);
        lease_slice(timeline, lease, "lease of a GPU", name,
                    gpu_lane(timeline, &timeline->lease_places[gpu->gpu], gpu->invoker, gpu->gpu,
                             lease->from_ns, lease->until_ns, " trainings"),
                    gpu->units);
    }
}

static bool add_training(void *context, const struct training_result_row *row, struct error *error)
{
    struct timeline *timeline = context;
    char name[64];
    const uint32_t tid = (uint32_t)(TID_TRAININGS + row->training);
    (void)snprintf(name, sizeof name, "training %" PRIu64, row->training);
    thread_name(timeline, PID_TRAININGS, tid, tid, name);
    trace_events_write(&timeline->events,
                       trace_event('i', "arrival", "arrival",
                                   point(timeline, row->arrival_ns, PID_TRAININGS, tid), 0));
    return trace_events_good(&timeline->events, error);
}

/* ---- Begin and end --------------------------------------------------------------------------- */

/* Names the queues of an application. */
static void queues_name(struct timeline *timeline, const struct application *application)
{
    for (uint32_t s = 0; s < application->stage_count; s++) {
        const uint32_t queue = application->first_queue + s, tid = TID_LANES + queue;
        timeline->queue_names[queue] =
            arena_text(timeline->arena, "%s/%s", application->name, application->stages[s].name);
        thread_name(timeline, PID_QUEUES, tid, tid, timeline->queue_names[queue]);
    }
}

/* What the file is about. */
static cJSON *about(const struct experiment *const *experiments, size_t count)
{
    cJSON *object = cJSON_CreateObject();
    json_put(object, "program %s experiment %s seed %" PRIu64, "esgsim", experiments[0]->name,
             experiments[0]->seed);
    cJSON *runs = cJSON_AddArrayToObject(object, "runs");
    for (size_t i = 0; i < count; i++)
        json_put(json_append(runs), "policy %s configuration %s", experiments[i]->policy_name,
                 experiments[i]->hash);
    return object;
}

struct timeline *timeline_create(const char *path, const struct experiment *const *experiments,
                                 size_t count, struct error *error)
{
    struct timeline *timeline = arena_home(sizeof *timeline);
    timeline->experiments = experiments;
    timeline->count = count;
    if (trace_events_begin(&timeline->events, path, about(experiments, count), error))
        return timeline;
    (void)timeline_close(timeline, false, NULL);
    return NULL;
}

/* Names the processes and tracks that the run has in any case. */
static void run_name(struct timeline *timeline, bool trainings)
{
    const struct workload *workload = timeline->workload;
    process_name(timeline, PID_CLUSTER, "cluster");
    thread_name(timeline, PID_CLUSTER, TID_COUNTERS, TID_COUNTERS, "counters");
    if (trainings)
        process_name(timeline, PID_TRAININGS, "trainings");
    if (workload->application_count == 0)
        return;
    thread_name(timeline, PID_CLUSTER, TID_DECISIONS, TID_DECISIONS, "decisions");
    thread_name(timeline, PID_CLUSTER, TID_DROPS, TID_DROPS, "drops");
    process_name(timeline, PID_REQUESTS, "requests");
    process_name(timeline, PID_QUEUES, "queues");
    for (size_t a = 0; a < workload->application_count; a++)
        queues_name(timeline, &workload->applications[a]);
}

bool timeline_run(struct timeline *timeline, size_t run, struct recorder *recorder,
                  struct error *error)
{
    struct arena *arena = timeline->arena;
    const struct experiment *experiment = timeline->experiments[run];
    const struct workload *workload = &experiment->workload;
    const uint32_t invokers = workload->cluster.invoker_count;
    leased_write(timeline);
    timeline->workload = workload;
    timeline->title =
        timeline->count == 1 ? "" : arena_text(arena, "%s: ", experiment->policy_name);
    timeline->base = (uint32_t)run * (PID_INVOKERS + invokers);
    timeline->gpus = cluster_list_gpus(&workload->cluster, arena);
    timeline->places = arena_allocate(
        arena, workload->application_count + timeline->gpus.count + invokers, sizeof(struct lanes));
    timeline->lease_places = arena_allocate(arena, timeline->gpus.count, sizeof(struct lanes));
    timeline->queue_names = arena_allocate(arena, workload->queue_count, sizeof(char *));
    timeline->invoker_named = arena_allocate(arena, invokers, sizeof(bool));
    timeline->outages_named = arena_allocate(arena, invokers, sizeof(bool));
    timeline->next_tid = TID_LANES + workload->queue_count;
    timeline->last_number = UINT64_MAX;
    timeline->named = NULL;
    timeline->flights = NULL;
    timeline->leased_count = 0;
    memset(timeline->counted, 0, sizeof timeline->counted);
    run_name(timeline, experiment->training != NULL);
    *recorder = (struct recorder){.context = timeline,
                                  .request = add_request,
                                  .batch = add_batch,
                                  .job = add_job,
                                  .part = add_part,
                                  .lost = add_lost,
                                  .outage = add_outage,
                                  .container = add_container,
                                  .decision = add_decision,
                                  .timeline = add_sample,
                                  .training = add_training,
                                  .lease = add_lease,
                                  .lease_gpu = add_lease_gpu};
    return trace_events_good(&timeline->events, error);
}

bool timeline_close(struct timeline *timeline, bool good, struct error *error)
{
    if (timeline == NULL)
        return good;
    if (good)
        leased_write(timeline);
    good = trace_events_end(&timeline->events, good, error);
    arena_destroy(timeline->arena);
    return good;
}
