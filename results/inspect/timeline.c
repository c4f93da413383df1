#include "results/inspect/timeline.h"

#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/inspect/trace_events.h"
#include "sim/base/arena.h"

/* Processes of a run, numbered from its base; invoker i is PID_INVOKERS + i. */
enum { PID_CLUSTER = 1, PID_REQUESTS, PID_QUEUES, PID_TRAININGS = 5, PID_INVOKERS = 10 };
/* Thread ids of the cluster. Lanes are numbered from TID_LANES, containers from TID_CONTAINERS,
 * trainings from TID_TRAININGS. */
enum { TID_COUNTERS, TID_DECISIONS, TID_DROPS, TID_LANES = 10, TID_CONTAINERS = 1 << 24 };
enum { TID_TRAININGS = 1, COUNTERS = 7 };
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
    uint64_t request;
    size_t count;
    struct trace_point steps[RECORD_MAX_STAGES];
};

/* A GPU of a lease. */
struct leased {
    struct lease_row lease;
    struct lease_gpu_row gpu;
};

struct timeline {
    struct arena *arena; /* has all of it */
    struct trace_events *events;
    const struct experiment *const *experiments;
    size_t count;
    /* Of the run that is being written: */
    const struct workload *workload;
    const char *title; /* before the names of its processes: "esg: ", or "" */
    uint32_t base;     /* of its processes */
    uint64_t first_id; /* of its requests */
    struct gpu_list gpus;
    /* Per application for its requests, per GPU for batches, per invoker for those without a GPU,
     * and per GPU for leases. */
    struct lanes *places;
    char **queue_names;   /* "application/stage", escaped */
    bool *process_named;  /* its name has been written */
    unsigned char *named; /* bit c: the name of container c has been written */
    bool thread_named[TID_LANES], counted[COUNTERS];
    uint32_t next_tid;
    void *flights; /* tsearch tree of struct flight, by request */
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

/* Names a process of the run before its first event. */
static bool process_name(struct timeline *timeline, uint32_t process, struct error *error)
{
    static const char *const names[PID_INVOKERS] = {[PID_CLUSTER] = "cluster",
                                                    [PID_REQUESTS] = "requests",
                                                    [PID_QUEUES] = "queues",
                                                    [PID_TRAININGS] = "trainings"};
    if (timeline->process_named[process])
        return true;
    timeline->process_named[process] = true;
    const bool invoker = process >= PID_INVOKERS;
    const char *name = invoker
                           ? arena_text(timeline->arena, "%sinvoker %" PRIu32, timeline->title,
                                        process - PID_INVOKERS)
                           : arena_text(timeline->arena, "%s%s", timeline->title, names[process]);
    return trace_events_name_process(timeline->events, timeline->base + process, name, error);
}

/* Finds the lane of a batch or lease on a GPU (SIM_NONE: none). Lanes are named by the index of the
 * GPU in its invoker, and its model if there are several kinds. */
static bool gpu_lane(struct timeline *timeline, struct lanes *lanes, uint32_t gpu, sim_time_t until,
                     const char *words, struct trace_point *track, struct error *error)
{
    const struct workload *workload = timeline->workload;
    const uint32_t invoker = track->pid - PID_INVOKERS - timeline->base;
    const size_t before = lanes->count;
    if (!process_name(timeline, PID_INVOKERS + invoker, error))
        return false;
    track->tid = lanes_take(timeline, lanes, track->time, until);
    if (lanes->count == before)
        return true;
    const char *model = gpu == SIM_NONE || workload->kind_count == 1
                            ? ""
                            : workload->kinds[timeline->gpus.specs[gpu]->kind].model;
    char text[96] = "vCPUs";
    if (gpu != SIM_NONE)
        (void)snprintf(text, sizeof text, "GPU %" PRIu32 "%s%s%s lane %zu",
                       gpu - timeline->gpus.first[invoker], *model != '\0' ? " " : "", model, words,
                       lanes->count - 1);
    return trace_events_name_thread(timeline->events, track->pid, track->tid, track->tid, text,
                                    error);
}

/* The track of container `serial`; writes its name when it is new. */
static bool container_track(struct timeline *timeline, uint64_t serial, uint32_t function,
                            uint32_t invoker, uint32_t *tid, struct error *error)
{
    *tid = TID_CONTAINERS + (uint32_t)serial;
    const size_t byte = (size_t)(serial / 8);
    arena_reserve(timeline->arena, &timeline->named, byte + 1, 1);
    const unsigned char bit = (unsigned char)(1U << (serial % 8));
    if ((timeline->named[byte] & bit) != 0)
        return true;
    timeline->named[byte] |= bit;
    char text[256];
    (void)snprintf(text, sizeof text, "container %" PRIu64 ": %.200s", serial,
                   timeline->workload->functions[function].name);
    return process_name(timeline, PID_INVOKERS + invoker, error) &&
           trace_events_name_thread(timeline->events, timeline->base + PID_INVOKERS + invoker, *tid,
                                    *tid, text, error);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static bool slice(struct timeline *timeline, const struct trace_point *from, const char *category,
                  const char *name, sim_time_t until, struct error *error)
{
    const struct trace_event event = {'X', category, name, *from, until};
    return until <= from->time || trace_events_write(timeline->events, &event, error, "%s", "");
}

/* Writes the phases of a batch between dispatch and finish, nested in its slice. */
static bool batch_parts(struct timeline *timeline, const struct batch_row *row,
                        const struct trace_point *track, struct error *error)
{
    const struct {
        const char *name;
        sim_time_t from, until;
    } parts[] = {
        {"decision", row->dispatched_ns, row->launched_ns},
        {"transfer", row->launched_ns, row->launched_ns + row->transfer_ns},
        {"cold start", row->launched_ns + row->transfer_ns, row->started_ns},
        {"execution", row->started_ns, row->finished_ns},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const struct trace_point at = {parts[i].from, track->pid, track->tid};
        if (!slice(timeline, &at, "part", parts[i].name, parts[i].until, error))
            return false;
    }
    return true;
}

static bool batch_slice(struct timeline *timeline, const struct batch_row *row,
                        const struct trace_point *track, struct error *error)
{
    char instance[32] = "null";
    if (row->instance != SIM_NONE)
        (void)snprintf(instance, sizeof instance, "%" PRIu32, row->instance);
    return trace_events_write(
        timeline->events,
        &(struct trace_event){'X', "batch", timeline->queue_names[row->queue], *track,
                              row->finished_ns},
        error,
        ",\"args\":{\"batch\":%" PRIu64 ",\"application\":%" PRIu32 ",\"stage\":%" PRIu32
        ",\"jobs\":%" PRIu32 ",\"configuration\":\"batch %u, %u vCPU, %u "
        "vGPU\",\"quota\":%u,\"noise\":%s,\"slowdown\":%s,\"cost_usd\":%s,\"cold\":%s,"
        "\"decision_ms\":%s,\"transfer_ms\":%s,\"cold_ms\":%s,\"execution_ms\":%s,\"container\""
        ":%" PRIu64 ",\"instance\":%s,\"first_request\":%" PRIu64 "}",
        row->batch, row->application, row->stage, row->jobs, row->configured_batch, row->vcpu,
        row->vgpu, row->quota, trace_number(row->noise).text, trace_number(row->slowdown).text,
        trace_number(row->cost_usd).text, row->cold ? "true" : "false",
        trace_number(sim_to_ms(row->launched_ns - row->dispatched_ns)).text,
        trace_number(sim_to_ms(row->transfer_ns)).text, trace_number(sim_to_ms(row->cold_ns)).text,
        trace_number(sim_to_ms(row->finished_ns - row->started_ns)).text, row->container, instance,
        row->first_request);
}

static bool add_batch(void *context, const struct batch_row *row, struct error *error)
{
    struct timeline *timeline = context;
    struct trace_point track = {row->dispatched_ns, timeline->base + PID_INVOKERS + row->invoker,
                                0};
    struct trace_point container = track;
    const struct application *application = &timeline->workload->applications[row->application];
    const size_t place = row->gpu != SIM_NONE ? row->gpu : timeline->gpus.count + row->invoker;
    if (!gpu_lane(timeline, &timeline->places[timeline->workload->application_count + place],
                  row->gpu, row->finished_ns, "", &track, error) ||
        !container_track(timeline, row->container, application->stages[row->stage].function,
                         row->invoker, &container.tid, error))
        return false;
    timeline->last_batch = (struct trace_point){row->started_ns, track.pid, track.tid};
    timeline->last_number = row->batch;
    return batch_slice(timeline, row, &track, error) && batch_parts(timeline, row, &track, error) &&
           slice(timeline, &container, "container", "busy", row->finished_ns, error);
}

static int compare_flights(const void *a, const void *b)
{
    const struct flight *left = a, *right = b;
    return (left->request > right->request) - (left->request < right->request);
}

/* Finds or adds the request's flight. */
static struct flight *flight_of(struct timeline *timeline, uint64_t request)
{
    const struct flight key = {.request = request};
    void *found = tfind(&key, &timeline->flights, compare_flights);
    if (found != NULL)
        return *(struct flight **)found;
    struct flight *flight = arena_allocate(timeline->arena, 1, sizeof *flight);
    flight->request = request;
    if (tsearch(flight, &timeline->flights, compare_flights) == NULL)
        arena_exhaust(timeline->arena, 1, sizeof *flight);
    return flight;
}

static bool add_job(void *context, const struct job_row *row, struct error *error)
{
    struct timeline *timeline = context;
    struct flight *flight = flight_of(timeline, row->request);
    if (row->batch == timeline->last_number && flight->count < RECORD_MAX_STAGES)
        flight->steps[flight->count++] = timeline->last_batch;
    for (size_t i = 0; i < 2; i++)
        if (!trace_events_write(
                timeline->events,
                &(struct trace_event){i == 0 ? 'b' : 'e',
                                      "wait",
                                      timeline->queue_names[row->queue],
                                      {row->ready_ns + (i == 0 ? 0 : row->queue_ns),
                                       timeline->base + PID_QUEUES, TID_LANES + row->queue},
                                      0},
                error, ",\"id\":\"%" PRIu64 ".%" PRIu32 "\"", timeline->first_id + row->request,
                row->stage))
            return false;
    return true;
}

static bool add_container(void *context, const struct container_row *row, struct error *error)
{
    struct timeline *timeline = context;
    struct trace_point track = {row->from_ns, timeline->base + PID_INVOKERS + row->invoker, 0};
    return container_track(timeline, row->container, row->function, row->invoker, &track.tid,
                           error) &&
           slice(timeline, &track, "container",
                 row->phase == CONTAINER_PHASE_STARTING ? "starting" : "idle", row->until_ns,
                 error);
}

/* Begins an event of the cluster, and names its track before the first one. */
static bool cluster_event(struct timeline *timeline, uint32_t tid, const char *name,
                          sim_time_t time, struct trace_event *event, struct error *error)
{
    static const char *const names[] = {
        [TID_COUNTERS] = "counters", [TID_DECISIONS] = "decisions", [TID_DROPS] = "drops"};
    const bool named = timeline->thread_named[tid];
    const uint32_t pid = timeline->base + PID_CLUSTER;
    timeline->thread_named[tid] = true;
    *event = (struct trace_event){
        tid == TID_COUNTERS ? 'C' : 'i', names[tid], name, {time, pid, tid}, 0};
    return process_name(timeline, PID_CLUSTER, error) &&
           (named || trace_events_name_thread(timeline->events, pid, tid, tid, names[tid], error));
}

static bool add_decision(void *context, const struct decision_row *row, struct error *error)
{
    struct timeline *timeline = context;
    struct trace_event event;
    return cluster_event(timeline, TID_DECISIONS, timeline->queue_names[row->queue], row->time_ns,
                         &event, error) &&
           trace_events_write(
               timeline->events, &event, error,
               ",\"s\":\"t\",\"args\":{\"batch\":%" PRIu64 ",\"invoker\":%" PRIu32
               ",\"configuration\":%" PRIu32 ",\"jobs\":%" PRIu32 ",\"queue_length\":%" PRIu32
               ",\"alternatives\":%" PRIu32
               ",\"plan_cost_usd\":%s,\"plan_ms\":%s,\"units\":%" PRIu64 ",\"charged_ms\":%s}",
               row->batch, row->invoker, row->configuration, row->jobs, row->queue_length,
               row->alternatives, trace_number(row->plan_cost_usd).text,
               trace_number(sim_to_ms(row->plan_time_ns)).text, row->units,
               trace_number(sim_to_ms(row->charged_ns)).text);
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
        struct trace_event event;
        timeline->counted[i] = timeline->counted[i] || counters[i].value > 0;
        if (timeline->counted[i] &&
            (!cluster_event(timeline, TID_COUNTERS, counters[i].name, row->time_ns, &event,
                            error) ||
             !trace_events_write(timeline->events, &event, error, ",\"args\":{\"value\":%s}",
                                 trace_number(counters[i].value).text)))
            return false;
    }
    return true;
}

/* ---- Requests and their flows ---------------------------------------------------------------- */

static int compare_steps(const void *a, const void *b)
{
    const struct trace_point *left = a, *right = b;
    return (left->time > right->time) - (left->time < right->time);
}

static bool flow(struct timeline *timeline, const struct trace_point *step, char phase,
                 uint64_t request, struct error *error)
{
    const struct trace_event event = {phase, "request", "request", *step, 0};
    return trace_events_write(timeline->events, &event, error, ",\"id\":%" PRIu64 "%s",
                              timeline->first_id + request, phase == 'f' ? ",\"bp\":\"e\"" : "");
}

/* Writes the flow: arrival, the start of each execution, and the finish, which must be inside the
 * request's slice. */
static bool flow_write(struct timeline *timeline, const struct request_row *row, uint32_t tid,
                       struct error *error)
{
    const struct flight key = {.request = row->request};
    void *found = tfind(&key, &timeline->flights, compare_flights);
    if (found == NULL)
        return true;
    struct flight *flight = *(struct flight **)found;
    (void)tdelete(&key, &timeline->flights, compare_flights);
    qsort(flight->steps, flight->count, sizeof *flight->steps, compare_steps);
    const struct trace_point arrival = {row->arrival_ns, timeline->base + PID_REQUESTS, tid};
    const struct trace_point finish = {row->finish_ns - 1, timeline->base + PID_REQUESTS, tid};
    bool good = flow(timeline, &arrival, 's', row->request, error);
    for (size_t i = 0; good && i < flight->count; i++)
        good = flow(timeline, &flight->steps[i], 't', row->request, error);
    good = good && flow(timeline, &finish, 'f', row->request, error);
    arena_release(timeline->arena, flight);
    return good;
}

static bool drop_write(struct timeline *timeline, const struct request_row *row, const char *name,
                       struct error *error)
{
    struct trace_event event;
    return cluster_event(timeline, TID_DROPS, name, row->finish_ns, &event, error) &&
           trace_events_write(timeline->events, &event, error,
                              ",\"s\":\"p\",\"args\":{\"request\":%" PRIu64 "}", row->request);
}

static bool request_slice(struct timeline *timeline, const struct request_row *row,
                          const char *name, uint32_t tid, struct error *error)
{
    const struct trace_event event = {'X',
                                      "request",
                                      name,
                                      {row->arrival_ns, timeline->base + PID_REQUESTS, tid},
                                      row->finish_ns};
    return trace_events_write(
        timeline->events, &event, error,
        ",\"args\":{\"request\":%" PRIu64
        ",\"measured\":%s,\"hit\":%s,\"dropped\":%s,\"slo_ms\":%s,\"queue_ms\":%s,"
        "\"transfer_ms\":%s,\"cold_ms\":%s,\"execution_ms\":%s,\"cost_usd\":%s}",
        row->request, row->measured ? "true" : "false", row->hit ? "true" : "false",
        row->dropped ? "true" : "false", trace_number(sim_to_ms(row->slo_ns)).text,
        trace_number(sim_to_ms(row->queue_ns)).text, trace_number(sim_to_ms(row->transfer_ns)).text,
        trace_number(sim_to_ms(row->cold_ns)).text, trace_number(sim_to_ms(row->exec_ns)).text,
        trace_number(row->cost_usd).text);
}

static bool add_request(void *context, const struct request_row *row, struct error *error)
{
    struct timeline *timeline = context;
    struct lanes *lanes = &timeline->places[row->application];
    const char *text = timeline->workload->applications[row->application].name;
    char *name = trace_escape(timeline->arena, text);
    const size_t before = lanes->count;
    /* Keeps the lanes of one application together. */
    const uint32_t order = row->application * LANES_MOST + (uint32_t)before;
    const uint32_t tid = lanes_take(timeline, lanes, row->arrival_ns, row->finish_ns);
    const bool good = (lanes->count == before ||
                       (process_name(timeline, PID_REQUESTS, error) &&
                        trace_events_name_thread(timeline->events, timeline->base + PID_REQUESTS,
                                                 tid, order, text, error))) &&
                      request_slice(timeline, row, name, tid, error) &&
                      flow_write(timeline, row, tid, error) &&
                      (!row->dropped || drop_write(timeline, row, name, error));
    arena_release(timeline->arena, name);
    return good;
}

/* ---- Trainings ------------------------------------------------------------------------------- */

/* Writes a slice of a lease, which begins with its restart. */
static bool lease_slice(struct timeline *timeline, const struct lease_row *row,
                        const char *category, const char *name, const struct trace_point *track,
                        double units, struct error *error)
{
    const struct trace_event event = {'X', category, name, *track, row->until_ns};
    return trace_events_write(timeline->events, &event, error,
                              ",\"args\":{\"training\":%" PRIu64 ",\"invokers\":%" PRIu32
                              ",\"units\":%s,\"vcpus\":%s,\"memory_mb\":%s,\"iterations\":%s}",
                              row->training, row->invokers, trace_number(units).text,
                              trace_number(row->vcpus).text, trace_number(row->memory_mb).text,
                              trace_number(row->iterations).text) &&
           slice(timeline, track, "restart", "restart", row->from_ns + row->restart_ns, error);
}

static bool add_lease(void *context, const struct lease_row *row, struct error *error)
{
    struct timeline *timeline = context;
    const struct trace_point track = {row->from_ns, timeline->base + PID_TRAININGS,
                                      (uint32_t)(TID_TRAININGS + row->training)};
    char name[64];
    (void)snprintf(name, sizeof name, "%" PRIu32 " GPUs from %" PRIu32, row->gpus, row->first_gpu);
    timeline->last_lease = *row;
    return process_name(timeline, PID_TRAININGS, error) &&
           lease_slice(timeline, row, "lease", name, &track, row->units, error);
}

static bool add_lease_gpu(void *context, const struct lease_gpu_row *row, struct error *error)
{
    struct timeline *timeline = context;
    (void)error;
    arena_reserve(timeline->arena, &timeline->leased, timeline->leased_count + 1,
                  sizeof *timeline->leased);
    timeline->leased[timeline->leased_count++] = (struct leased){timeline->last_lease, *row};
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
static bool leased_write(struct timeline *timeline, struct error *error)
{
    const size_t first = timeline->workload->application_count + timeline->gpus.count +
                         timeline->workload->cluster.invoker_count;
    bool good = true;
    if (timeline->leased_count > 0)
        qsort(timeline->leased, timeline->leased_count, sizeof *timeline->leased, compare_leased);
    for (size_t i = 0; good && i < timeline->leased_count; i++) {
        const struct lease_row *lease = &timeline->leased[i].lease;
        const struct lease_gpu_row *gpu = &timeline->leased[i].gpu;
        struct trace_point track = {lease->from_ns, timeline->base + PID_INVOKERS + gpu->invoker,
                                    0};
        char name[40];
        (void)snprintf(name, sizeof name, "training %" PRIu64, lease->training);
        good = gpu_lane(timeline, &timeline->places[first + gpu->gpu], gpu->gpu, lease->until_ns,
                        " trainings", &track, error) &&
               lease_slice(timeline, lease, "lease of a GPU", name, &track, gpu->units, error);
    }
    return good;
}

static bool add_training(void *context, const struct training_result_row *row, struct error *error)
{
    struct timeline *timeline = context;
    char name[64];
    const uint32_t tid = (uint32_t)(TID_TRAININGS + row->training);
    const struct trace_event event = {
        'i', "arrival", "arrival", {row->arrival_ns, timeline->base + PID_TRAININGS, tid}, 0};
    (void)snprintf(name, sizeof name, "training %" PRIu64, row->training);
    return process_name(timeline, PID_TRAININGS, error) &&
           trace_events_name_thread(timeline->events, event.at.pid, tid, tid, name, error) &&
           trace_events_write(timeline->events, &event, error, ",\"s\":\"t\"");
}

/* ---- Begin and end --------------------------------------------------------------------------- */

/* Names the queues of an application. */
static bool queues_name(struct timeline *timeline, const struct application *application,
                        struct error *error)
{
    bool good = process_name(timeline, PID_QUEUES, error);
    for (uint32_t s = 0; good && s < application->stage_count; s++) {
        const uint32_t queue = application->first_queue + s, tid = TID_LANES + queue;
        const char *text =
            arena_text(timeline->arena, "%s/%s", application->name, application->stages[s].name);
        timeline->queue_names[queue] = trace_escape(timeline->arena, text);
        good = trace_events_name_thread(timeline->events, timeline->base + PID_QUEUES, tid, tid,
                                        text, error);
    }
    return good;
}

static void flight_keep(void *flight)
{
    (void)flight; /* it is the arena's */
}

/* Ends the run that is being written, if there is one. */
static bool run_end(struct timeline *timeline, bool good, struct error *error)
{
    good = good && (timeline->workload == NULL || leased_write(timeline, error));
    tdestroy(timeline->flights, flight_keep);
    timeline->flights = NULL;
    return good;
}

/* What the file is about. */
static const char *about(const struct timeline *timeline)
{
    const struct experiment *first = timeline->experiments[0];
    struct arena *arena = timeline->arena;
    char *text = NULL;
    arena_append(arena, &text, "{\"program\":\"esgsim\",\"experiment\":\"%s\",\"seed\":%" PRIu64,
                 trace_escape(arena, first->name), first->seed);
    for (size_t i = 0; i < timeline->count; i++)
        arena_append(arena, &text, "%s{\"policy\":\"%s\",\"configuration\":\"%s\"}",
                     i == 0 ? ",\"runs\":[" : ",",
                     trace_escape(arena, timeline->experiments[i]->policy_name),
                     timeline->experiments[i]->hash);
    arena_append(arena, &text, "]}");
    return text;
}

struct timeline *timeline_create(const char *path, const struct experiment *const *experiments,
                                 size_t count, struct error *error)
{
    struct arena *arena = arena_create();
    struct timeline *timeline = arena_allocate(arena, 1, sizeof *timeline);
    *timeline = (struct timeline){.arena = arena,
                                  .events = arena_allocate(arena, 1, sizeof *timeline->events),
                                  .experiments = experiments,
                                  .count = count};
    if (trace_events_begin(timeline->events, arena, path, about(timeline), error))
        return timeline;
    (void)timeline_close(timeline, false, NULL);
    return NULL;
}

bool timeline_run(struct timeline *timeline, size_t run, struct recorder *recorder,
                  struct error *error)
{
    struct arena *arena = timeline->arena;
    const struct experiment *experiment = timeline->experiments[run];
    const struct workload *workload = &experiment->workload;
    const uint32_t invokers = workload->cluster.invoker_count, processes = PID_INVOKERS + invokers;
    bool good = run_end(timeline, true, error);
    *timeline = (struct timeline){
        .arena = arena,
        .events = timeline->events,
        .experiments = timeline->experiments,
        .count = timeline->count,
        .workload = workload,
        .title = timeline->count == 1 ? "" : arena_text(arena, "%s: ", experiment->policy_name),
        .base = (uint32_t)run * processes,
        .first_id = (uint64_t)run << 40,
        .gpus = cluster_list_gpus(&workload->cluster, arena),
        .queue_names = arena_allocate(arena, workload->queue_count, sizeof(char *)),
        .process_named = arena_allocate(arena, processes, sizeof(bool)),
        .next_tid = TID_LANES + workload->queue_count,
        .last_number = UINT64_MAX};
    timeline->places =
        arena_allocate(arena, workload->application_count + 2UL * timeline->gpus.count + invokers,
                       sizeof *timeline->places);
    for (size_t a = 0; good && a < workload->application_count; a++)
        good = queues_name(timeline, &workload->applications[a], error);
    *recorder = (struct recorder){.context = timeline,
                                  .request = add_request,
                                  .batch = add_batch,
                                  .job = add_job,
                                  .container = add_container,
                                  .decision = add_decision,
                                  .timeline = add_sample,
                                  .training = add_training,
                                  .lease = add_lease,
                                  .lease_gpu = add_lease_gpu};
    return good;
}

bool timeline_close(struct timeline *timeline, bool good, struct error *error)
{
    if (timeline == NULL)
        return good;
    good = run_end(timeline, good, error);
    good = trace_events_end(timeline->events, good, error);
    arena_destroy(timeline->arena);
    return good;
}
