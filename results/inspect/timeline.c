#include "results/inspect/timeline.h"

#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/inspect/trace_events.h"
#include "sim/base/arena.h"

/* Process ids; invoker i is PID_INVOKERS + i. */
enum { PID_CLUSTER = 1, PID_REQUESTS, PID_QUEUES, PID_TRAININGS = 5, PID_INVOKERS = 10 };
/* Thread ids of the cluster. Lanes are numbered from TID_LANES, containers from TID_CONTAINERS,
 * trainings from TID_TRAININGS. */
enum { TID_COUNTERS, TID_DECISIONS, TID_DROPS, TID_LANES = 10, TID_CONTAINERS = 1 << 24 };
enum { TID_TRAININGS = 1 };
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

/* One step of a request, for its flow. */
struct step {
    sim_time_t time;
    uint32_t pid, tid;
};

struct flight {
    uint64_t request;
    size_t count;
    struct step steps[RECORD_MAX_STAGES];
};

struct timeline {
    struct arena *arena; /* has all of it */
    struct trace_events events;
    const struct workload *workload;
    uint32_t gpu_count;
    uint32_t *first_gpu; /* per invoker */
    /* Per application for its requests, per GPU, and per invoker for batches without a GPU. */
    struct lanes *places;
    char **queue_names;   /* "application/stage", as JSON */
    bool *invoker_named;  /* its name has been written */
    unsigned char *named; /* bit c: the name of container c has been written */
    uint32_t next_tid;
    void *flights; /* tsearch tree of struct flight, by request */
    struct step last_batch;
    uint64_t last_number;
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

static bool invoker_name(struct timeline *timeline, uint32_t invoker, struct error *error)
{
    if (timeline->invoker_named[invoker])
        return true;
    char name[40];
    (void)snprintf(name, sizeof name, "invoker %" PRIu32, invoker);
    timeline->invoker_named[invoker] = true;
    return trace_events_name_process(&timeline->events, PID_INVOKERS + invoker, name, error);
}

/* The model of the batch's GPU; empty if it needs none, or all are of one kind. */
static const char *model_of(const struct timeline *timeline, const struct batch_row *row)
{
    const struct workload *workload = timeline->workload;
    const struct stage *stage = &workload->applications[row->application].stages[row->stage];
    const struct configuration *spec =
        &workload->functions[stage->function].configurations[row->configuration];
    return workload->kind_count > 1 && row->gpu != SIM_NONE ? workload->kinds[spec->kind].model
                                                            : "";
}

/* Finds the lane of a batch. Lanes are named by the index of the GPU in its invoker, and its model
 * if there are several kinds. */
static bool batch_lane(struct timeline *timeline, const struct batch_row *row, uint32_t *tid,
                       struct error *error)
{
    const bool gpu = row->gpu != SIM_NONE;
    struct lanes *lanes = &timeline->places[timeline->workload->application_count +
                                            (gpu ? row->gpu : timeline->gpu_count + row->invoker)];
    const size_t before = lanes->count;
    if (!invoker_name(timeline, row->invoker, error))
        return false;
    *tid = lanes_take(timeline, lanes, row->dispatched_ns, row->finished_ns);
    if (lanes->count == before)
        return true;
    const char *model = model_of(timeline, row);
    char text[96] = "vCPUs";
    if (gpu)
        (void)snprintf(text, sizeof text, "GPU %" PRIu32 "%s%s lane %zu",
                       row->gpu - timeline->first_gpu[row->invoker], *model != '\0' ? " " : "",
                       model, lanes->count - 1);
    return trace_events_name_thread(&timeline->events, PID_INVOKERS + row->invoker, *tid, *tid,
                                    text, error);
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
    return invoker_name(timeline, invoker, error) &&
           trace_events_name_thread(&timeline->events, PID_INVOKERS + invoker, *tid, *tid, text,
                                    error);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static bool slice(struct timeline *timeline, const struct step *track, const char *category,
                  const char *name, sim_time_t until, struct error *error)
{
    return until <= track->time ||
           trace_events_write(
               &timeline->events, error,
               "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"ts\":%s,\"dur\":%s,\"pid\":%" PRIu32
               ",\"tid\":%" PRIu32 "}",
               category, name, trace_micros(track->time).text,
               trace_micros(until - track->time).text, track->pid, track->tid);
}

/* Writes the phases of a batch between dispatch and finish, nested in its slice. */
static bool batch_parts(struct timeline *timeline, const struct batch_row *row,
                        const struct step *track, struct error *error)
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
        const struct step at = {parts[i].from, track->pid, track->tid};
        if (!slice(timeline, &at, "part", parts[i].name, parts[i].until, error))
            return false;
    }
    return true;
}

static bool batch_slice(struct timeline *timeline, const struct batch_row *row,
                        const struct step *track, struct error *error)
{
    char instance[32] = "null";
    if (row->instance != SIM_NONE)
        (void)snprintf(instance, sizeof instance, "%" PRIu32, row->instance);
    return trace_events_write(
        &timeline->events, error,
        "{\"ph\":\"X\",\"cat\":\"batch\",\"name\":%s,\"ts\":%s,\"dur\":%s,\"pid\":%" PRIu32
        ",\"tid\":%" PRIu32 ",\"args\":{\"batch\":%" PRIu64 ",\"application\":%" PRIu32
        ",\"stage\":%" PRIu32 ",\"jobs\":%" PRIu32 ",\"configuration\":\"batch %u, %u vCPU, %u "
        "vGPU\",\"quota\":%u,\"noise\":%s,\"slowdown\":%s,\"cost_usd\":%s,\"cold\":%s,"
        "\"decision_ms\":%s,\"transfer_ms\":%s,\"cold_ms\":%s,\"execution_ms\":%s,\"container\""
        ":%" PRIu64 ",\"instance\":%s,\"first_request\":%" PRIu64 "}}",
        timeline->queue_names[row->queue], trace_micros(row->dispatched_ns).text,
        trace_micros(row->finished_ns - row->dispatched_ns).text, track->pid, track->tid,
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
    struct step track = {row->dispatched_ns, PID_INVOKERS + row->invoker, 0};
    struct step container = track;
    const struct application *application = &timeline->workload->applications[row->application];
    if (!batch_lane(timeline, row, &track.tid, error) ||
        !container_track(timeline, row->container, application->stages[row->stage].function,
                         row->invoker, &container.tid, error))
        return false;
    timeline->last_batch = (struct step){row->started_ns, track.pid, track.tid};
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
    const char *name = timeline->queue_names[row->queue];
    for (size_t i = 0; i < 2; i++)
        if (!trace_events_write(&timeline->events, error,
                                "{\"ph\":\"%s\",\"cat\":\"wait\",\"name\":%s,\"id\":\"%" PRIu64
                                ".%" PRIu32 "\",\"ts\":%s,\"pid\":%d,\"tid\":%" PRIu32 "}",
                                i == 0 ? "b" : "e", name, row->request, row->stage,
                                trace_micros(row->ready_ns + (i == 0 ? 0 : row->queue_ns)).text,
                                PID_QUEUES, TID_LANES + row->queue))
            return false;
    return true;
}

static bool add_container(void *context, const struct container_row *row, struct error *error)
{
    struct timeline *timeline = context;
    struct step track = {row->from_ns, PID_INVOKERS + row->invoker, 0};
    return container_track(timeline, row->container, row->function, row->invoker, &track.tid,
                           error) &&
           slice(timeline, &track, "container",
                 row->phase == CONTAINER_PHASE_STARTING ? "starting" : "idle", row->until_ns,
                 error);
}

static bool add_decision(void *context, const struct decision_row *row, struct error *error)
{
    struct timeline *timeline = context;
    return trace_events_write(
        &timeline->events, error,
        "{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"decision\",\"name\":%s,\"ts\":%s,\"pid\":%d,"
        "\"tid\":%d,\"args\":{\"batch\":%" PRIu64 ",\"invoker\":%" PRIu32
        ",\"configuration\":%" PRIu32 ",\"jobs\":%" PRIu32 ",\"queue_length\":%" PRIu32
        ",\"alternatives\":%" PRIu32 ",\"plan_cost_usd\":%s,\"plan_ms\":%s,\"units\":%" PRIu64
        ",\"charged_ms\":%s}}",
        timeline->queue_names[row->queue], trace_micros(row->time_ns).text, PID_CLUSTER,
        TID_DECISIONS, row->batch, row->invoker, row->configuration, row->jobs, row->queue_length,
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
    } counters[] = {
        {"waiting jobs", (double)row->waiting_jobs},
        {"running batches", (double)row->running_batches},
        {"idle containers", (double)row->idle_containers},
        {"starting containers", (double)row->starting_containers},
        {"GPU used %", 100 * row->gpu_used},
        {"vCPU used %", 100 * row->vcpu_used},
        {"GPU memory used %", 100 * row->gpu_memory_used},
    };
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        if (!trace_events_write(
                &timeline->events, error,
                "{\"ph\":\"C\",\"name\":\"%s\",\"ts\":%s,\"pid\":%d,\"tid\":%d,\"args\":{"
                "\"value\":%s}}",
                counters[i].name, trace_micros(row->time_ns).text, PID_CLUSTER, TID_COUNTERS,
                trace_number(counters[i].value).text))
            return false;
    return true;
}

/* ---- Requests and their flows ---------------------------------------------------------------- */

static int compare_steps(const void *a, const void *b)
{
    const struct step *left = a, *right = b;
    return (left->time > right->time) - (left->time < right->time);
}

static bool flow(struct timeline *timeline, const struct step *step, const char *phase,
                 uint64_t request, struct error *error)
{
    return trace_events_write(
        &timeline->events, error,
        "{\"ph\":\"%s\",\"cat\":\"request\",\"name\":\"request\",\"id\":%" PRIu64
        ",\"ts\":%s,\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 "%s}",
        phase, request, trace_micros(step->time).text, step->pid, step->tid,
        phase[0] == 'f' ? ",\"bp\":\"e\"" : "");
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
    const struct step arrival = {row->arrival_ns, PID_REQUESTS, tid};
    const struct step finish = {row->finish_ns - 1, PID_REQUESTS, tid};
    bool good = flow(timeline, &arrival, "s", row->request, error);
    for (size_t i = 0; good && i < flight->count; i++)
        good = flow(timeline, &flight->steps[i], "t", row->request, error);
    good = good && flow(timeline, &finish, "f", row->request, error);
    arena_release(timeline->arena, flight);
    return good;
}

static bool drop_write(struct timeline *timeline, const struct request_row *row, const char *name,
                       struct error *error)
{
    return trace_events_write(
        &timeline->events, error,
        "{\"ph\":\"i\",\"s\":\"p\",\"cat\":\"drop\",\"name\":%s,\"ts\":%s,\"pid\":%d,\"tid\":"
        "%d,\"args\":{\"request\":%" PRIu64 "}}",
        name, trace_micros(row->finish_ns).text, PID_CLUSTER, TID_DROPS, row->request);
}

static bool request_slice(struct timeline *timeline, const struct request_row *row,
                          const char *name, uint32_t tid, struct error *error)
{
    return trace_events_write(
        &timeline->events, error,
        "{\"ph\":\"X\",\"cat\":\"request\",\"name\":%s,\"ts\":%s,\"dur\":%s,\"pid\":%d,"
        "\"tid\":%" PRIu32 ",\"args\":{\"request\":%" PRIu64
        ",\"measured\":%s,\"hit\":%s,\"dropped\":%s,\"slo_ms\":%s,\"queue_ms\":%s,"
        "\"transfer_ms\":%s,\"cold_ms\":%s,\"execution_ms\":%s,\"cost_usd\":%s}}",
        name, trace_micros(row->arrival_ns).text,
        trace_micros(row->finish_ns - row->arrival_ns).text, PID_REQUESTS, tid, row->request,
        row->measured ? "true" : "false", row->hit ? "true" : "false",
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
    char *name = trace_quote(timeline->arena, text);
    const size_t before = lanes->count;
    /* Keeps the lanes of one application together. */
    const uint32_t order = row->application * LANES_MOST + (uint32_t)before;
    const uint32_t tid = lanes_take(timeline, lanes, row->arrival_ns, row->finish_ns);
    const bool good =
        (lanes->count == before ||
         trace_events_name_thread(&timeline->events, PID_REQUESTS, tid, order, text, error)) &&
        request_slice(timeline, row, name, tid, error) && flow_write(timeline, row, tid, error) &&
        (!row->dropped || drop_write(timeline, row, name, error));
    arena_release(timeline->arena, name);
    return good;
}

/* ---- Trainings ------------------------------------------------------------------------------- */

static bool add_lease(void *context, const struct lease_row *row, struct error *error)
{
    struct timeline *timeline = context;
    const struct step track = {row->from_ns, PID_TRAININGS,
                               (uint32_t)(TID_TRAININGS + row->training)};
    return slice(timeline, &track, "restart", "restart", row->from_ns + row->restart_ns, error) &&
           trace_events_write(
               &timeline->events, error,
               "{\"ph\":\"X\",\"cat\":\"lease\",\"name\":\"%" PRIu32 " GPUs from %" PRIu32
               "\",\"ts\":%s,\"dur\":%s,\"pid\":%d,\"tid\":%" PRIu32
               ",\"args\":{\"invokers\":%" PRIu32
               ",\"units\":%s,\"vcpus\":%s,\"memory_mb\":%s,\"iterations\":%s}}",
               row->gpus, row->first_gpu, trace_micros(row->from_ns).text,
               trace_micros(row->until_ns - row->from_ns).text, PID_TRAININGS, track.tid,
               row->invokers, trace_number(row->units).text, trace_number(row->vcpus).text,
               trace_number(row->memory_mb).text, trace_number(row->iterations).text);
}

static bool add_training(void *context, const struct training_result_row *row, struct error *error)
{
    struct timeline *timeline = context;
    char name[64];
    const uint32_t tid = (uint32_t)(TID_TRAININGS + row->training);
    (void)snprintf(name, sizeof name, "training %" PRIu64, row->training);
    return trace_events_name_thread(&timeline->events, PID_TRAININGS, tid, tid, name, error) &&
           trace_events_write(&timeline->events, error,
                              "{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"arrival\",\"name\":\"arrival\","
                              "\"ts\":%s,\"pid\":%d,\"tid\":%" PRIu32 "}",
                              trace_micros(row->arrival_ns).text, PID_TRAININGS, tid);
}

/* ---- Begin and end --------------------------------------------------------------------------- */

/* Names the queues of an application. */
static bool queues_name(struct timeline *timeline, const struct application *application,
                        struct error *error)
{
    bool good = true;
    for (uint32_t s = 0; good && s < application->stage_count; s++) {
        const uint32_t queue = application->first_queue + s, tid = TID_LANES + queue;
        const char *text =
            arena_text(timeline->arena, "%s/%s", application->name, application->stages[s].name);
        timeline->queue_names[queue] = trace_quote(timeline->arena, text);
        good = trace_events_name_thread(&timeline->events, PID_QUEUES, tid, tid, text, error);
    }
    return good;
}

static size_t place_count(const struct timeline *timeline)
{
    return timeline->workload->application_count + timeline->gpu_count +
           timeline->workload->cluster.invoker_count;
}

static struct timeline *timeline_allocate(struct arena *arena, const struct workload *workload)
{
    struct timeline *timeline = arena_allocate(arena, 1, sizeof *timeline);
    timeline->arena = arena;
    const uint32_t invokers = workload->cluster.invoker_count;
    timeline->workload = workload;
    timeline->last_number = UINT64_MAX;
    timeline->gpu_count = cluster_number_gpus(&workload->cluster, NULL);
    timeline->first_gpu = arena_allocate(arena, invokers + 1, sizeof *timeline->first_gpu);
    timeline->places = arena_allocate(arena, place_count(timeline), sizeof *timeline->places);
    timeline->queue_names =
        arena_allocate(arena, workload->queue_count, sizeof *timeline->queue_names);
    timeline->invoker_named = arena_allocate(arena, invokers, sizeof *timeline->invoker_named);
    return timeline;
}

static void flight_keep(void *flight)
{
    (void)flight; /* it is the arena's */
}

static void timeline_free(struct timeline *timeline)
{
    (void)trace_events_end(&timeline->events, false, NULL);
    tdestroy(timeline->flights, flight_keep);
    arena_destroy(timeline->arena);
}

static bool timeline_open(struct timeline *timeline, const char *path,
                          const struct experiment *experiment, struct error *error)
{
    char about[1024];
    const int length = snprintf(
        about, sizeof about,
        "{\"program\":\"esgsim\",\"experiment\":%s,\"policy\":%s,\"seed\":%" PRIu64
        ",\"configuration\":\"%s\"}",
        trace_quote(timeline->arena, experiment->name),
        trace_quote(timeline->arena, experiment->policy_name), experiment->seed, experiment->hash);
    if (length < 0 || (size_t)length >= sizeof about)
        return error_run(error, "%s: the experiment's name is too long", path);
    return trace_events_begin(&timeline->events, timeline->arena, path, about, error);
}

/* Writes the names of the fixed tracks. */
static bool timeline_begin(struct timeline *timeline, bool trainings, struct error *error)
{
    static const char *const threads[] = {
        [TID_COUNTERS] = "counters", [TID_DECISIONS] = "decisions", [TID_DROPS] = "drops"};
    const struct workload *workload = timeline->workload;
    struct trace_events *events = &timeline->events;
    (void)cluster_number_gpus(&workload->cluster, timeline->first_gpu);
    bool good = trace_events_name_process(events, PID_CLUSTER, "cluster", error);
    for (uint32_t t = 0; good && t < sizeof threads / sizeof *threads; t++)
        good = trace_events_name_thread(events, PID_CLUSTER, t, t, threads[t], error);
    good = good && trace_events_name_process(events, PID_REQUESTS, "requests", error) &&
           trace_events_name_process(events, PID_QUEUES, "queues", error);
    for (size_t a = 0; good && a < workload->application_count; a++)
        good = queues_name(timeline, &workload->applications[a], error);
    timeline->next_tid = TID_LANES + workload->queue_count;
    return good &&
           (!trainings || trace_events_name_process(events, PID_TRAININGS, "trainings", error));
}

struct timeline *timeline_create(const char *path, const struct experiment *experiment,
                                 struct error *error)
{
    struct timeline *timeline = timeline_allocate(arena_create(), &experiment->workload);
    if (timeline_open(timeline, path, experiment, error) &&
        timeline_begin(timeline, experiment->training != NULL, error))
        return timeline;
    timeline_free(timeline);
    return NULL;
}

struct recorder timeline_recorder(struct timeline *timeline)
{
    return (struct recorder){.context = timeline,
                             .request = add_request,
                             .batch = add_batch,
                             .job = add_job,
                             .container = add_container,
                             .decision = add_decision,
                             .timeline = add_sample,
                             .training = add_training,
                             .lease = add_lease};
}

bool timeline_close(struct timeline *timeline, bool good, struct error *error)
{
    if (timeline == NULL)
        return good;
    good = trace_events_end(&timeline->events, good, error);
    timeline_free(timeline);
    return good;
}
