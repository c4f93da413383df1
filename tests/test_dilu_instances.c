/* Dilu's placement of the instances of a trace, on the platform: against the pool alone, and by
 * hand. */
#include "sched/policy_training.h"
#include "tests/dilu_placements.h"
#include "tests/fixture_trace.h"
#include "tests/suite.h"

static const char *const schemes[SCHEMES] = {
    [DILU_WHOLE] = "dilu",
    [DILU_INFLESS_L] = "infless-l",
    [DILU_INFLESS_R] = "infless-r",
    [DILU_EXCLUSIVE] = "exclusive",
};

static struct lease_row leases[JOBS]; /* by instance */
static size_t lease_count;

static bool keep_lease(void *context, const struct lease_row *row, struct error *error)
{
    assert_true(row->training < JOBS);
    leases[row->training] = *row;
    lease_count++;
    return true;
}

/* Runs the trace at trace_path on invokers with four GPUs of 40 GB each, by `own` if not NULL;
 * false with an error. */
static bool try_run(unsigned invokers, const char *policy, const struct policy *own,
                    struct error *error)
{
    const struct recorder recorder = {.lease = keep_lease};
    char *json = formatted(
        "{'cluster': {'invokers': [{'count': %u, 'vcpus': 8, 'memory_mb': 65536, 'gpus': "
        "[{'model': 'A100', 'sharing': 'mps', 'units': 100, 'memory_mb': 40960, 'count': 4}]}]}, "
        "'training': {'arrivals': {'process': 'trace', 'file': '%s'}}, 'policy': %s, 'seed': 1}",
        invokers, trace_path, policy);
    lease_count = 0;
    return run_recorded(json, own, NULL, 0, &recorder, anew(), error);
}

static void simulate(unsigned invokers, const char *policy)
{
    assert_good(try_run(invokers, policy, NULL, hear()));
}

/* ---- Against the pool ------------------------------------------------------------------------ */

/* Writes the recorded events in the layout dilu, one per second. */
static void trace_write(const struct event *events, size_t count)
{
    static const char *const types[] = {
        [DILU_INFERENCE] = "inference", [DILU_LLM] = "llm-inference", [DILU_TRAINING] = "training"};
    static struct dilu_job jobs[JOBS];
    FILE *file = must(fopen(trace_path, "w"));
    for (size_t e = 0; e < count; e++) {
        const struct event *event = &events[e];
        if (event->start)
            jobs[event->id] = event->job;
        const struct dilu_job *job = &jobs[event->id];
        fprintf(file,
                "{'Time': '2024-01-01 %02zu:%02zu:%02zu', 'Action': '%s', 'Instance': "
                "{'service_name': 's%u', 'type': '%s', 'gpu_num': %u, 'sm_requests': %.17g, "
                "'sm_limits': %.17g, 'memory': [%g",
                e / 3600, e / 60 % 60, e % 60, event->start ? "start" : "delete", event->id,
                types[job->kind], job->gpus, job->request, job->limit, job->memory);
        for (uint32_t g = 1; g < job->gpus; g++)
            fprintf(file, ", %g", job->memory);
        fputs("]}}\n", file);
    }
    assert_int_equal(fclose(file), 0);
}

struct expected {
    double sum, compute, memory; /* of active GPUs; fragmentation at their maximum */
    uint32_t most;
};

/* The lease of an instance has the GPUs that the pool chose, from its start to its end. */
static void check_lease(const struct lease_row *lease, uint32_t first, uint32_t gpus, size_t start,
                        size_t end)
{
    assert_int_equal(lease->first_gpu, first);
    assert_int_equal(lease->gpus, gpus);
    assert_int_equal(lease->from_ns, (sim_time_t)start * SIM_S);
    if (end > 0 && llabs(lease->until_ns - (sim_time_t)end * SIM_S) > 1)
        fail_msg("ends at %.9f s, not %zu", sim_to_s(lease->until_ns), end);
}

/* Replays the events in the pool, and compares every instance's lease. */
static void compare(const struct event *events, size_t count, enum dilu_scheme scheme,
                    struct expected *expected)
{
    static struct {
        uint32_t instance, first, gpus, lease;
        size_t start;
    } placed[JOBS];
    CLOSED(arena_clear) struct arena arena = {0};
    struct dilu_pool pool;
    uint32_t started = 0;
    *expected = (struct expected){0};
    dilu_pool_init(&pool, &arena, &rules[scheme], 1000, 4, 40);
    for (size_t e = 0; e < count; e++) {
        const struct event *event = &events[e];
        if (event->start) {
            const uint32_t instance = dilu_pool_start(&pool, &event->job);
            placed[event->id].instance = instance;
            placed[event->id].first = pool.placed[instance].gpus[0];
            placed[event->id].gpus = pool.placed[instance].count;
            placed[event->id].start = e;
            placed[event->id].lease = started;
            check_lease(&leases[started++], placed[event->id].first, placed[event->id].gpus, e, 0);
        } else {
            dilu_pool_end(&pool, placed[event->id].instance);
            check_lease(&leases[placed[event->id].lease], placed[event->id].first,
                        placed[event->id].gpus, placed[event->id].start, e);
        }
        expected->sum += pool.active.count;
        if (pool.active.count > expected->most) {
            expected->most = pool.active.count;
            pool_fragmentation(&pool, &expected->compute, &expected->memory);
        }
    }
    assert_int_equal(lease_count, started);
}

static bool is_near(double a, double b, double part)
{
    return fabs(a - b) <= part * fabs(b);
}

/* The recorded sets through the platform: the pool's GPUs for every instance, and the original's
 * numbers of active GPUs. */
CASE(the_platform_places_as_the_pool_does)
{
    static struct event events[EVENTS];
    CLOSED(line_reader_close) struct line_reader lines = {0};
    size_t count = 0;
    unsigned size = 0, sets = 0;
    for (placements_open(&lines); placements_next(&lines, &size, events, &count); sets++) {
        trace_write(events, count);
        for (int s = 0; s < SCHEMES; s++) {
            struct expected expected;
            double theirs = 0, most = 0;
            simulate(1000, formatted("{'name': 'dilu', 'params': {'scheme': '%s'}}", schemes[s]));
            compare(events, count, (enum dilu_scheme)s, &expected);
            const struct training_measures *measures = result.training;
            assert_int_equal(measures->gpus_active_max, expected.most);
            assert_true(
                is_near(measures->gpus_active_event_mean, expected.sum / (double)count, 1e-12));
            assert_true(fabs(measures->gpu_fragmentation_at_max - expected.compute) <= 1e-9);
            assert_true(fabs(measures->gpu_memory_fragmentation_at_max - expected.memory) <= 1e-9);
            for (size_t e = 0; e < count; e++) {
                theirs += events[e].active[s] / (double)count;
                most = fmax(most, events[e].active[s]);
            }
            assert_true(is_near((double)measures->gpus_active_max, most, 0.01));
            assert_true(is_near(measures->gpus_active_event_mean, theirs, 0.01));
        }
    }
    assert_int_equal(sets, 2);
}

/* ---- By hand --------------------------------------------------------------------------------- */

#define LINE(second, action, name, type, gpus, request, limit, memory)                             \
    "{'Time': '2024-06-19 15:46:" second "', 'Action': '" action                                   \
    "', 'Instance': {'service_name': '" name "', 'type': '" type "', 'gpu_num': " gpus             \
    ", 'sm_requests': " request ", 'sm_limits': " limit ", 'memory': [" memory "]}}\n"

/* The second instance of a service goes to the other GPU of the training beside the first; one of
 * another service does not. One delete ends both. */
CASE(instances_of_a_service_follow_its_training)
{
    trace_is(LINE("00", "start", "t", "training", "2", "0.4", "0.6", "10, 10")
                 LINE("01", "start", "a", "inference", "1", "0.2", "0.3", "5")
                     LINE("02", "start", "a", "inference", "1", "0.2", "0.3", "5")
                         LINE("03", "start", "b", "inference", "1", "0.2", "0.3", "5")
                             LINE("04", "delete", "a", "inference", "1", "0.2", "0.3", "5"));
    simulate(2, "{'name': 'dilu'}");
    assert_int_equal(leases[1].first_gpu, 0);
    assert_int_equal(leases[2].first_gpu, 1);
    assert_int_equal(leases[3].first_gpu, 0);
    assert_true(llabs(leases[1].until_ns - 4 * SIM_S) <= 1);
    assert_true(llabs(leases[2].until_ns - 4 * SIM_S) <= 1);
    assert_int_equal(result.training->finished, 2);
    assert_int_equal(result.training->unfinished, 2);
    assert_int_equal(result.training->gpus_active_max, 2);
    assert_true(is_near(result.training->gpus_active_event_mean, 2, 1e-12));
}

/* A model of 30 GB on three GPUs with 10, 5 and 20 GB left: the fullest first, 5 + 10 + 15 GB. Its
 * request counts on each. */
CASE(a_model_is_split_over_gpus)
{
    trace_is(LINE("00", "start", "x", "llm-inference", "1", "0.5", "0.5", "30")
                 LINE("01", "start", "y", "llm-inference", "1", "0.5", "0.5", "35")
                     LINE("02", "start", "z", "llm-inference", "1", "0.5", "0.5", "20")
                         LINE("03", "start", "m", "llm-inference", "1", "0.4", "0.9", "30")
                             LINE("04", "delete", "m", "llm-inference", "1", "0.4", "0.9", "30"));
    simulate(2, "{'name': 'dilu'}");
    assert_int_equal(leases[3].gpus, 3);
    assert_int_equal(leases[3].first_gpu, 1);
    assert_true(is_near(leases[3].units, 120, 1e-12));
    assert_int_equal(result.training->gpus_active_max, 3);
    assert_true(llabs(leases[3].until_ns - 4 * SIM_S) <= 1);
}

/* Two instances on the only four GPUs: the second waits, and then runs for its time. */
CASE(an_instance_without_room_waits)
{
    trace_is(LINE("00", "start", "t", "training", "4", "0.8", "0.9", "10, 10, 10, 10")
                 LINE("01", "start", "u", "training", "4", "0.3", "0.9", "10, 10, 10, 10") LINE(
                     "07", "delete", "u", "training", "4", "0.3", "0.9", "10, 10, 10, 10")
                     LINE("10", "delete", "t", "training", "4", "0.8", "0.9", "10, 10, 10, 10"));
    simulate(1, "{'name': 'dilu'}");
    assert_true(llabs(leases[1].from_ns - 10 * SIM_S) <= 1);
    assert_true(llabs(leases[1].until_ns - 16 * SIM_S) <= 2);
    assert_int_equal(result.training->finished, 2);
    /* fifo gives whole GPUs, for the same time. */
    simulate(1, "{'name': 'fifo'}");
    assert_int_equal(result.training->finished, 2);
    assert_true(llabs(leases[1].until_ns - 16 * SIM_S) <= 2);
}

/* What never ends keeps the GPU, so that what waits for it can never start. */
CASE(waiting_for_what_never_ends_fails)
{
    trace_is(LINE("00", "start", "t", "training", "4", "0.8", "0.9", "10, 10, 10, 10")
                 LINE("01", "start", "u", "training", "4", "0.3", "0.9", "10, 10, 10, 10")
                     LINE("07", "delete", "u", "training", "4", "0.3", "0.9", "10, 10, 10, 10"));
    assert_bad_run(try_run(1, "{'name': 'dilu'}", NULL, hear()), "trainings wait");
}

static struct training_grant parts[2];

/* Places every instance on the first two GPUs, by `parts`. */
static bool split_decide(void *state, struct platform *platform)
{
    bool any = false;
    for (uint32_t id = platform_next_training(platform, 0); id != SIM_NONE;
         id = platform_next_training(platform, id + 1))
        any = (platform_training(platform, id).state == TRAINING_WAITING &&
               platform_place(platform, id, parts, 2, SIM_FOREVER)) ||
              any;
    return any;
}

POLICY(splitting, .decide = split_decide, .serves = SERVES_TRAININGS);

/* Only a language model may be split, and its parts add up to it. */
CASE(a_wrong_split_is_refused)
{
    static const struct {
        bool llm;
        double memory_mb[2];
        const char *message; /* empty: it is allowed */
    } cases[] = {
        {true, {20480, 10240}, ""},
        {true, {30720, 0}, ""},
        {true, {20480, 20480}, "over 2 GPUs with 40960 MB in all, and it has 30720"},
        {true, {30721, -1}, "negative vCPUs or memory"},
        {false, {20480, 10240}, "gives training 0 2 GPUs, and its gang is 1"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        trace_is(cases[c].llm
                     ? LINE("00", "start", "m", "llm-inference", "1", "0.5", "0.9", "30")
                           LINE("05", "delete", "m", "llm-inference", "1", "0.5", "0.9", "30")
                     : LINE("00", "start", "m", "inference", "1", "0.5", "0.9", "30")
                           LINE("05", "delete", "m", "inference", "1", "0.5", "0.9", "30"));
        for (uint32_t g = 0; g < 2; g++)
            parts[g] = (struct training_grant){
                .gpu = g, .share = 50, .quota = 100, .gpu_memory_mb = cases[c].memory_mb[g]};
        const bool good = try_run(1, "{'name': 'fifo'}", &splitting, hear());
        assert_int_equal(good, *cases[c].message == '\0');
        if (good)
            assert_int_equal(leases[0].gpus, 2);
        else
            assert_contains(heard.message, cases[c].message);
    }
}

static int close_trace(void **state)
{
    simulation_result_clear(&result);
    return trace_remove(state);
}

SUITE_WITH("dilu_instances", trace_create, close_trace)
