/* The timeline: what a trace viewer takes for granted of every file, and that it tells the run. */
#include <cjson/cJSON.h>

#include "results/store/record.h"
#include "results/inspect/timeline.h"
#include "sched/registry.h"
#include "tests/worlds.h"

/* One event, its times in ns. */
struct traced {
    char phase;
    int pid, tid;
    int64_t from, until;
    const char *name, *category;
    const cJSON *event;
};

struct trace {
    cJSON *root;
    struct traced *events;
    size_t count;
};

static double field(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!cJSON_IsNumber(item))
        fail_msg("no number '%s'", name);
    return item->valuedouble;
}

static double argument(const struct traced *event, const char *name)
{
    return field(cJSON_GetObjectItemCaseSensitive(event->event, "args"), name);
}

static const char *text_of(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsString(item) ? item->valuestring : "";
}

/* Fails where an event lacks what every event must have. */
static struct trace trace_read(const char *path)
{
    STRING *text = file_text(path);
    struct trace trace = {.root = cJSON_Parse(text)};
    assert_non_null(trace.root);
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(trace.root, "traceEvents");
    assert_true(cJSON_IsArray(list));
    trace.events = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *trace.events);
    assert_non_null(trace.events);
    const cJSON *event;
    cJSON_ArrayForEach(event, list)
    {
        struct traced *traced = &trace.events[trace.count++];
        const char *phase = text_of(event, "ph");
        assert_int_equal(strlen(phase), 1);
        assert_non_null(strchr("MXiCbestf", phase[0]));
        const double from = field(event, "ts") * 1e3;
        const double length = phase[0] == 'X' ? field(event, "dur") * 1e3 : 0;
        *traced = (struct traced){.phase = phase[0],
                                  .pid = (int)field(event, "pid"),
                                  .tid = (int)field(event, "tid"),
                                  .from = llround(from),
                                  .until = llround(from) + llround(length),
                                  .name = text_of(event, "name"),
                                  .category = text_of(event, "cat"),
                                  .event = event};
        assert_true(traced->from >= 0 && traced->until >= traced->from);
    }
    return trace;
}

static void trace_free(struct trace *trace)
{
    cJSON_Delete(trace->root);
    free(trace->events);
}

/* ---- What every trace must keep -------------------------------------------------------------- */

static int by_track(const void *a, const void *b)
{
    const struct traced *const *left = a, *const *right = b;
    if ((*left)->pid != (*right)->pid)
        return (*left)->pid < (*right)->pid ? -1 : 1;
    if ((*left)->tid != (*right)->tid)
        return (*left)->tid < (*right)->tid ? -1 : 1;
    return *left < *right ? -1 : *left > *right; /* as in the file */
}

/* The events of one phase, track by track, each track in the order of the file. */
static const struct traced **tracks(const struct trace *trace, char phase, size_t *count)
{
    const struct traced **found = must(calloc(trace->count + 1, sizeof *found));
    *count = 0;
    for (size_t i = 0; i < trace->count; i++)
        if (trace->events[i].phase == phase)
            found[(*count)++] = &trace->events[i];
    qsort(found, *count, sizeof *found, by_track);
    return found;
}

/* In each track slices begin in order, and each lies within the one it began in or after its end.
 */
static void check_slices(const struct trace *trace)
{
    size_t count;
    const struct traced **slices = tracks(trace, 'X', &count);
    const struct traced *open[8] = {NULL};
    size_t depth = 0;
    assert_true(count > 0);
    for (size_t i = 0; i < count; i++) {
        const struct traced *here = slices[i];
        if (i == 0 || here->pid != slices[i - 1]->pid || here->tid != slices[i - 1]->tid)
            depth = 0;
        else
            assert_true(here->from >= slices[i - 1]->from);
        while (depth > 0 && open[depth - 1]->until <= here->from)
            depth--;
        if (depth > 0)
            assert_true(here->until <= open[depth - 1]->until);
        assert_true(depth < 8);
        if (strcmp(here->category, "batch") == 0 || strcmp(here->category, "request") == 0)
            assert_int_equal(depth, 0);
        open[depth++] = here;
    }
    free(slices);
}

/* Every process and every thread that has slices bears a name. */
static void check_names(const struct trace *trace)
{
    size_t count, names;
    const struct traced **slices = tracks(trace, 'X', &count);
    const struct traced **metadata = tracks(trace, 'M', &names);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && slices[i]->pid == slices[i - 1]->pid && slices[i]->tid == slices[i - 1]->tid)
            continue;
        size_t processes = 0, threads = 0;
        for (size_t m = 0; m < names; m++) {
            const bool here = metadata[m]->pid == slices[i]->pid;
            processes += here && strcmp(metadata[m]->name, "process_name") == 0;
            threads += here && metadata[m]->tid == slices[i]->tid &&
                       strcmp(metadata[m]->name, "thread_name") == 0;
        }
        assert_int_equal(processes, 1);
        assert_int_equal(threads, 1);
    }
    free(slices);
    free(metadata);
}

/* Where a track stands in its process; -1: not told. */
static double place_of(const struct traced *const *metadata, size_t count,
                       const struct traced *track)
{
    for (size_t i = 0; i < count; i++)
        if (metadata[i]->pid == track->pid && metadata[i]->tid == track->tid &&
            strcmp(metadata[i]->name, "thread_sort_index") == 0)
            return argument(metadata[i], "sort_index");
    return -1;
}

/* A viewer that puts tracks in the order told shows each application's lanes in one block: between
 * two of the same name stands none of another. */
static void check_blocks(const struct trace *trace)
{
    size_t count;
    const struct traced **metadata = tracks(trace, 'M', &count);
    const struct traced *lanes[256];
    size_t lane_count = 0;
    for (size_t i = 0; i < count; i++)
        if (metadata[i]->pid == 2 && strcmp(metadata[i]->name, "thread_name") == 0 &&
            lane_count < 256)
            lanes[lane_count++] = metadata[i];
    assert_true(lane_count > 0);
    for (size_t a = 0; a < lane_count; a++)
        for (size_t b = 0; b < lane_count; b++)
            for (size_t c = 0; c < lane_count && lane_count < 40; c++) {
                const char *names[3];
                const struct traced *three[3] = {lanes[a], lanes[b], lanes[c]};
                for (size_t n = 0; n < 3; n++)
                    names[n] =
                        text_of(cJSON_GetObjectItemCaseSensitive(three[n]->event, "args"), "name");
                const double first = place_of(metadata, count, lanes[a]);
                const double middle = place_of(metadata, count, lanes[b]);
                const double last = place_of(metadata, count, lanes[c]);
                if (strcmp(names[0], names[2]) == 0 && first < middle && middle < last)
                    assert_string_equal(names[0], names[1]);
            }
    free(metadata);
}

static void check_monotone(const struct trace *trace, char phase)
{
    size_t count;
    const struct traced **events = tracks(trace, phase, &count);
    for (size_t i = 1; i < count; i++)
        if (events[i]->pid == events[i - 1]->pid && events[i]->tid == events[i - 1]->tid)
            assert_true(events[i]->from >= events[i - 1]->from);
    free(events);
}

/* Each wait begins once and ends once, in that order. */
static void check_waits(const struct trace *trace)
{
    size_t begins, ends;
    const struct traced **begun = tracks(trace, 'b', &begins);
    const struct traced **ended = tracks(trace, 'e', &ends);
    assert_int_equal(begins, ends);
    for (size_t i = 0; i < begins; i++) {
        assert_string_equal(text_of(begun[i]->event, "id"), text_of(ended[i]->event, "id"));
        assert_int_equal(begun[i]->tid, ended[i]->tid);
        assert_true(begun[i]->from <= ended[i]->from);
        for (size_t j = i > 20 ? i - 20 : 0; j < i; j++)
            assert_string_not_equal(text_of(begun[i]->event, "id"), text_of(begun[j]->event, "id"));
    }
    free(begun);
    free(ended);
}

/* Is there a slice of the track around that instant. */
static bool bound(const struct traced *const *slices, size_t count, const struct traced *at)
{
    size_t low = 0, high = count;
    while (low < high) { /* the first slice of the track, or past it */
        const size_t middle = low + (high - low) / 2;
        const struct traced *slice = slices[middle];
        if (slice->pid < at->pid || (slice->pid == at->pid && slice->tid < at->tid))
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < count && slices[low]->pid == at->pid && slices[low]->tid == at->tid; low++)
        if (slices[low]->from <= at->from && at->from < slices[low]->until)
            return true;
    return false;
}

/* Every flow begins, steps at least once, ends, never goes back, and each point lies in a slice. */
static size_t check_flows(const struct trace *trace)
{
    size_t count, flows = 0;
    const struct traced **slices = tracks(trace, 'X', &count);
    const struct traced *before = NULL;
    for (size_t i = 0; i < trace->count; i++) {
        const struct traced *here = &trace->events[i];
        if (strchr("stf", here->phase) == NULL)
            continue;
        assert_true(bound(slices, count, here));
        const bool goes_on = before != NULL && before->phase != 'f';
        assert_int_equal(goes_on, here->phase != 's');
        if (goes_on) {
            assert_true(field(here->event, "id") == field(before->event, "id"));
            assert_true(here->from >= before->from);
        }
        if (here->phase == 'f' && before != NULL) {
            assert_int_equal(before->phase, 't');
            assert_string_equal(text_of(here->event, "bp"), "e");
            flows++;
        }
        before = here;
    }
    assert_true(before == NULL || before->phase == 'f');
    free(slices);
    return flows;
}

static void check_all(const struct trace *trace)
{
    check_slices(trace);
    check_names(trace);
    check_blocks(trace);
    check_monotone(trace, 'i');
    check_monotone(trace, 'C');
    check_waits(trace);
}

/* ---- Runs ------------------------------------------------------------------------------------ */

struct watch {
    const char *path, *older;
    uint64_t stop_after;
    size_t looked;
};

/* What the file's name leads to while the run goes on. */
static bool look(void *context, uint64_t finished, uint64_t total)
{
    struct watch *watch = context;
    STRING *text = file_text(watch->path);
    assert_string_equal(text, watch->older);
    watch->looked++;
    return watch->stop_after == 0 || finished < watch->stop_after;
}

static void folder_file(char path[64])
{
    (void)snprintf(path, 64, "/tmp/esgsim-timeline-XXXXXX");
    write_temporary(path, "");
}

/* Runs `json` under the policy named with its timeline in `path`. */
static bool run_traced(const char *json, const char *name, const char *path, struct watch *watch,
                       struct log *log, struct simulation_result *result, struct error *error)
{
    struct experiment *experiment = load(json);
    const struct policy *policy = must(policy_find(name, error));
    const struct experiment *const experiments[] = {experiment};
    struct timeline *timeline = timeline_create(path, experiments, 1, error);
    if (timeline == NULL) {
        experiment_free(experiment);
        return false;
    }
    struct recorder pair[2] = {{.context = log,
                                .request = log != NULL ? log_request : NULL,
                                .batch = log != NULL ? log_batch : NULL}};
    assert_true(timeline_run(timeline, 0, &pair[1], error));
    const struct recorder both = recorder_join(pair);
    const struct progress progress = {watch, look};
    OWNED(free) double *values = policy_values(policy, NULL, 0);
    if (log != NULL)
        memset(log, 0, sizeof *log);
    const bool ok = simulation_run(experiment, policy, values, &both,
                                   watch != NULL ? &progress : NULL, result, error);
    assert_int_equal(timeline_close(timeline, ok, NULL), ok);
    experiment_free(experiment);
    return ok;
}

/* Most batches that one GPU held at once, by looking at each batch's beginning. */
static size_t most_at_once(const struct log *log, uint32_t gpu)
{
    size_t most = 0;
    for (size_t i = 0; i < log->batch_count; i++) {
        size_t here = 0;
        const sim_time_t time = log->batches[i].dispatched_ns;
        for (size_t j = 0; j < log->batch_count; j++)
            here += log->batches[i].gpu == gpu && log->batches[j].gpu == gpu &&
                    log->batches[j].dispatched_ns <= time && time < log->batches[j].finished_ns;
        most = here > most ? here : most;
    }
    return most;
}

/* The trace against the rows of the same run. */
static void check_told(const struct trace *trace, const struct log *log)
{
    size_t batches = 0, requests = 0, jobs = 0, waits = 0, drops = 0, decisions = 0, dropped = 0;
    double cost = 0, spent = 0;
    for (size_t i = 0; i < trace->count; i++) {
        const struct traced *here = &trace->events[i];
        drops += strcmp(here->category, "drop") == 0;
        decisions += strcmp(here->category, "decision") == 0;
        waits += here->phase == 'b';
        if (here->phase == 'X' && strcmp(here->category, "batch") == 0) {
            const struct batch_row *row = &log->batches[batches++];
            assert_int_equal(here->from, row->dispatched_ns);
            assert_int_equal(here->until, row->finished_ns);
            assert_true((uint32_t)argument(here, "jobs") == row->jobs);
            assert_true(fabs(argument(here, "decision_ms") + argument(here, "transfer_ms") +
                             argument(here, "cold_ms") + argument(here, "execution_ms") -
                             (double)(here->until - here->from) / 1e6) < 1e-5);
            cost += argument(here, "cost_usd");
        }
        if (here->phase == 'X' && strcmp(here->category, "request") == 0) {
            const struct request_row *row = &log->requests[(size_t)argument(here, "request")];
            assert_int_equal(here->from, row->arrival_ns);
            assert_int_equal(here->until, row->finish_ns);
            spent += argument(here, "cost_usd");
            requests++;
        }
    }
    for (size_t i = 0; i < log->batch_count; i++)
        jobs += log->batches[i].jobs;
    for (size_t i = 0; i < log->request_count; i++)
        dropped += log->requests[i].dropped;
    assert_int_equal(batches, log->batch_count);
    assert_int_equal(decisions, log->batch_count);
    assert_int_equal(requests, log->request_count);
    assert_int_equal(waits, jobs);
    assert_int_equal(drops, dropped);
    assert_true(fabs(cost - spent) <= 1e-7 * cost);
}

static void check_lanes(const struct trace *trace, const struct log *log, uint32_t gpus)
{
    size_t wanted = 0, lanes = 0;
    for (uint32_t gpu = 0; gpu < gpus; gpu++)
        wanted += most_at_once(log, gpu);
    for (size_t i = 0; i < trace->count; i++) {
        const cJSON *args = cJSON_GetObjectItemCaseSensitive(trace->events[i].event, "args");
        lanes += strcmp(trace->events[i].name, "thread_name") == 0 &&
                 strncmp(text_of(args, "name"), "GPU", 3) == 0;
    }
    assert_int_equal(lanes, wanted);
}

static void check_world(const char *json, const char *policy, uint32_t gpus)
{
    char path[64];
    folder_file(path);
    if (!run_traced(json, policy, path, NULL, &rows, anew(), hear()))
        fail_msg("%s: %s", policy, heard.message);
    struct trace trace = trace_read(path);
    check_all(&trace);
    assert_true(check_flows(&trace) + result.overall.dropped >= rows.request_count);
    check_told(&trace, &rows);
    check_lanes(&trace, &rows, gpus);
    trace_free(&trace);
    unlink(path);
}

CASE(a_diamond_is_told_whole_under_planners_dispatchers_and_scalers)
{
    static const char *const policies[] = {"esg",     "fifo",        "clockwork",
                                           "infless", "fast-gshare", "nexus"};
    for (size_t p = 0; p < sizeof policies / sizeof *policies; p++)
        check_world(diamond, policies[p], 2);
}

CASE(random_worlds_are_told_whole)
{
    static const char *const policies[] = {"esg", "infless", "clockwork"};
    for (uint64_t number = 0; number < 6; number++)
        check_world(world_random(number, false), policies[number % 3], 5);
}

CASE(a_run_that_stops_leaves_the_older_timeline)
{
    char path[64];
    folder_file(path);
    write_text(path, "an older timeline");
    /* Long enough for a few looks at the file: one every 65,536 events. */
    static const char few[] = "\"requests\":800";
    const char *requests = must(strstr(diamond, few));
    char *json = formatted("%.*s\"requests\":19000%s", (int)(requests - diamond), diamond,
                           requests + strlen(few));
    struct watch watch = {.path = path, .older = "an older timeline", .stop_after = 8000};
    assert_bad_run(run_traced(json, "min-config", path, &watch, NULL, anew(), hear()),
                   "interrupted");
    assert_true(watch.looked >= 1);
    STRING *text = file_text(path);
    assert_string_equal(text, "an older timeline");
    unlink(path);
}

/* From the list of events on: what stands before names the configuration, and that the file. */
CASE(two_runs_leave_the_same_events)
{
    char *texts[2];
    for (size_t i = 0; i < 2; i++) {
        char path[64];
        folder_file(path);
        assert_true(run_traced(diamond, "esg", path, NULL, NULL, anew(), hear()));
        texts[i] = file_text(path);
        unlink(path);
    }
    const char *one = strstr(texts[0], "traceEvents"), *two = strstr(texts[1], "traceEvents");
    assert_true(one != NULL && two != NULL && strcmp(one, two) == 0);
    free(texts[0]);
    free(texts[1]);
}

CASE(names_with_quotes_stay_json)
{
    char path[64];
    folder_file(path);
    char *json = world_copy(diamond);
    char *name = must(strstr(json, "\"chain\""));
    memmove(name + 9, name + 7, strlen(name + 7) + 1);
    memcpy(name, "\"ch\\\"in\"", 8);
    name[8] = ' ';
    assert_good(run_traced(json, "fifo", path, NULL, &rows, anew(), hear()));
    struct trace trace = trace_read(path);
    size_t found = 0;
    for (size_t i = 0; i < trace.count; i++)
        found += strcmp(trace.events[i].name, "ch\"in") == 0;
    assert_true(found > 100);
    trace_free(&trace);
    unlink(path);
}

/* The experiments of `file` under the policies, in one trace. */
static struct trace runs_traced(const char *file, bool serves, const char *const *policies,
                                size_t count)
{
    char path[64];
    const struct experiment *experiments[4];
    folder_file(path);
    for (size_t i = 0; i < count; i++) {
        const struct override settings[] = {{"policy.name", policies[i]}, {"requests", "200"}};
        experiments[i] = experiment_load(file, settings, serves ? 2 : 1, hear());
        assert_good(experiments[i]);
    }
    struct timeline *timeline = timeline_create(path, experiments, count, hear());
    for (size_t i = 0; i < count; i++) {
        double *values = NULL;
        struct recorder recorder;
        const struct policy *policy = policy_resolve(experiments[i], &values, hear());
        assert_true(timeline_run(timeline, i, &recorder, hear()));
        assert_good(
            simulation_run(experiments[i], policy, values, &recorder, NULL, anew(), hear()));
    }
    assert_true(timeline_close(timeline, true, hear()));
    struct trace trace = trace_read(path);
    for (size_t i = 0; i < count; i++)
        experiment_free((struct experiment *)experiments[i]);
    unlink(path);
    return trace;
}

/* How many events have that phase, and begin as `name`. */
static size_t told(const struct trace *trace, char phase, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < trace->count; i++) {
        const cJSON *args = cJSON_GetObjectItemCaseSensitive(trace->events[i].event, "args");
        const char *text = phase == 'M' ? text_of(args, "name") : trace->events[i].name;
        count += trace->events[i].phase == phase && strncmp(text, name, strlen(name)) == 0;
    }
    return count;
}

CASE(several_runs_lie_below_each_other)
{
    static const char *const policies[] = {"fifo", "edf"};
    struct trace trace = runs_traced("workloads/experiments/strict-light.json", true, policies, 2);
    check_all(&trace);
    assert_int_equal(check_flows(&trace), 2 * 1200);
    assert_int_equal(told(&trace, 'M', "fifo: "), told(&trace, 'M', "edf: "));
    assert_int_equal(told(&trace, 'M', "edf: requests"), 1);
    trace_free(&trace);
}

/* A lost batch ends with the begin of an outage of its invoker. */
CASE(outages_and_what_they_lose_are_told)
{
    char path[64], json[WORLD_BYTES] = "";
    world_add(json, "%s", diamond);
    world_replace(json, "'prewarm':'none'",
                  "'prewarm':'none','failures':{'outages':[[0,1,2],[1,3,4],[0,5,5.5]]}");
    folder_file(path);
    assert_good(run_traced(json, "fifo", path, NULL, NULL, anew(), hear()));
    struct trace trace = trace_read(path);
    check_all(&trace);
    assert_int_equal(told(&trace, 'X', "down"), 3);
    assert_int_equal(told(&trace, 'M', "outages"), 2);
    size_t lost = 0;
    for (size_t i = 0; i < trace.count; i++) {
        const struct traced *here = &trace.events[i];
        size_t ends = 0;
        for (size_t o = 0; o < trace.count && strcmp(here->category, "lost") == 0; o++)
            ends += strcmp(trace.events[o].category, "outage") == 0 &&
                    trace.events[o].pid == here->pid && trace.events[o].from == here->until;
        lost += ends;
        assert_int_equal(ends, strcmp(here->category, "lost") == 0);
    }
    assert_true(lost >= 3);
    trace_free(&trace);
    unlink(path);
}

CASE(trainings_have_lanes_on_their_gpus_and_nothing_is_empty)
{
    static const char *const policy[] = {"synergy"};
    struct trace trace =
        runs_traced("workloads/experiments/training-dynamic.json", false, policy, 1);
    double held = 0, leased = 0;
    check_slices(&trace);
    check_names(&trace);
    assert_int_equal(told(&trace, 'i', "arrival"), 100);
    assert_int_equal(told(&trace, 'M', "GPU "), 32);
    assert_int_equal(told(&trace, 'M', "requests") + told(&trace, 'M', "queues"), 0);
    assert_true(told(&trace, 'C', "GPU used") > 0 && told(&trace, 'C', "waiting jobs") == 0);
    for (size_t i = 0; i < trace.count; i++) {
        const struct traced *here = &trace.events[i];
        held += strcmp(here->category, "lease") == 0 ? argument(here, "units") : 0;
        leased += strcmp(here->category, "lease of a GPU") == 0 ? argument(here, "units") : 0;
    }
    assert_true(held > 0 && fabs(held - leased) < 1e-6 * held);
    trace_free(&trace);
}

CASE(what_cannot_be_written_is_refused_by_name)
{
    static const char *const paths[] = {"/no/such/folder/t.json", "/tmp"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        assert_bad_input(run_traced(diamond, "fifo", paths[i], NULL, &rows, anew(), hear()),
                         paths[i]);
}

SUITE("timeline")
