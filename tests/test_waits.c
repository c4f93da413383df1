/* Why jobs wait: a policy that dispatches whatever fits never holds back, in any world; and worlds
 * small enough to follow by hand, one for each reason. */
#include "tests/worlds.h"

/* The parts of all jobs, and what their rows must add up to. */
static struct {
    sim_time_t parts[REQUEST_PARTS], jobs;
    uint64_t lost;
} told;

static bool add_part(void *context, const struct part_row *row, struct error *error)
{
    assert_true(row->part < REQUEST_PARTS && row->time_ns > 0);
    told.parts[row->part] += row->time_ns;
    return true;
}

static bool add_job(void *context, const struct job_row *row, struct error *error)
{
    told.jobs += row->queue_ns + row->cold_ns;
    return true;
}

static bool add_batch(void *context, const struct batch_row *row, struct error *error)
{
    told.jobs += row->jobs * (row->transfer_ns + row->finished_ns - row->started_ns);
    return true;
}

static bool add_lost(void *context, const struct lost_row *row, struct error *error)
{
    told.jobs += row->lost_ns - row->ready_ns;
    told.lost++;
    return true;
}

static bool add_decision(void *context, const struct decision_row *row, struct error *error)
{
    return true;
}

static sim_time_t told_total(void)
{
    sim_time_t sum = 0;
    for (size_t p = 0; p < REQUEST_PARTS; p++)
        sum += told.parts[p];
    return sum;
}

static void tell(const char *json, const struct policy *policy)
{
    const struct recorder recorder = {.part = add_part,
                                      .job = add_job,
                                      .batch = add_batch,
                                      .lost = add_lost,
                                      .decision = add_decision};
    memset(&told, 0, sizeof told);
    assert_good(run_recorded(json, policy, NULL, 0, &recorder, anew(), hear()));
    const sim_time_t before = told.parts[PART_frame] + told.parts[PART_ingress];
    assert_int_equal(told_total() - before, told.jobs);
}

/* ---- Any world ------------------------------------------------------------------------------- */

/* Dispatches whatever fits anywhere, each function in one configuration. */
static uint32_t choice;

static bool greedy_decide(void *state, struct platform *platform)
{
    const struct workload *workload = platform_workload(platform);
    for (uint32_t queue = 0; queue < workload->queue_count; queue++) {
        const uint32_t function = platform_queue_function(platform, queue);
        const struct function *spec = &workload->functions[function];
        const uint32_t configuration =
            (uint32_t)((choice + function * 7) % spec->configuration_count);
        const uint32_t most = spec->configurations[configuration].batch;
        const uint32_t length = platform_queue_length(platform, queue);
        if (length == 0)
            continue;
        /* It is false, and is asked again, where it started a container. */
        for (uint32_t at = 0; at != SIM_NONE && platform_queue_length(platform, queue) > 0;) {
            at = platform_best_fit(platform, function, configuration, false);
            platform_charge(platform, at != SIM_NONE ? 1000 : 0);
            if (at != SIM_NONE && platform_dispatch(platform, queue, length < most ? length : most,
                                                    configuration, at))
                return true;
        }
    }
    return false;
}

POLICY(greedy, .decide = greedy_decide);

static const char *const rules[] = {"", ",'cold_dispatch':'wait'", ",'cold_dispatch':'late'"};

static char *world_greedy(uint64_t number)
{
    char *json = world_random(number, number % 2 == 0);
    char *platform =
        formatted("'prewarm':'none'%s%s%s%s", rules[number % 3],
                  number % 4 == 1 ? ",'failures':{'mtbf_s':4,'mttr_s':1}" : "",
                  number % 5 < 2 ? ",'ingress_ms':3,'host_ms':2" : "",
                  number % 7 < 3 ? ",'decision_cost':{'model':'modelled','ns_per_unit':800}" : "");
    world_replace(json, "'prewarm':'none'", platform);
    if (number % 3 != 1)
        world_replace(json, "'bandwidth_share':0.4", "'bandwidth_share':0.4,'turnaround_ms':9");
    if (number % 5 == 3)
        world_exclusive(json);
    if (number % 5 == 4)
        world_sliced(json);
    return json;
}

CASE(who_dispatches_whatever_fits_never_holds_back)
{
    sim_time_t all[REQUEST_PARTS] = {0};
    uint64_t lost = 0;
    for (uint64_t number = 0; number < trials(300); number++) {
        char *json = world_greedy(number);
        choice = (uint32_t)(number % 5);
        tell(json, &greedy);
        if (told.parts[PART_held_back] != 0)
            fail_msg("world %u: held back for %.6f ms", (unsigned)number,
                     sim_to_ms(told.parts[PART_held_back]));
        for (size_t p = 0; p < REQUEST_PARTS; p++)
            all[p] += told.parts[p];
        lost += told.lost;
    }
    /* The worlds have them all, but for frames, and places are in the worlds below. */
    for (size_t p = 0; p < REQUEST_PARTS; p++)
        if (all[p] == 0 && p != PART_frame && p != PART_held_back && p != PART_place)
            fail_msg("part %zu is in no world", p);
    assert_true(lost > 0);
}

/* Every policy of requests: the platform checks for each job that its parts add up. */
CASE(under_any_policy_the_parts_add_up)
{
    const struct policy *policy;
    for (size_t p = 0; (policy = policy_for_requests(p)) != NULL; p++)
        tell(world_greedy(12 * p + 1), policy);
}

/* ---- By hand --------------------------------------------------------------------------------- */

/* f and g take 10 ms, with one vCPU; a container starts in 5 ms. Under fifo. */
static void check_wait(const struct world *given, const char *units_of_f, const char *times,
                       const char *more, const double expected[REQUEST_PARTS])
{
    char *json;
    struct world world = *given;
    TRACE_FILE(lines, trace);
    fputs(times, lines);
    assert_int_equal(fclose(lines), 0);
    world.functions[0] = (struct world_function){"f", "1", "1", units_of_f, "[[10]]", 0, 5, 0};
    world.functions[1] = (struct world_function){"g", "1", "1", "1", "[[10]]", 0, 5, 0};
    world.applications = "a: s=f;b: s=g";
    world.trace = trace;
    world.slo_ms = 1000;
    world.more = "'policy':{'name':'fifo','params':{'head_of_line':'skip'}}";
    world.requests = 100;
    json = world_build(&world);
    if (more != NULL)
        world_replace(json, "'cold_start_ms'", more);
    tell(json, NULL);
    for (size_t p = 0; p <= PART_behind; p++)
        assert_absolute(sim_to_ms(told.parts[p]), expected[p], 1e-9);
}

CASE(each_wait_has_its_reason)
{
    static const char two[] = "0,a\n1,a\n";
#define WAITS(...) (const double[REQUEST_PARTS]){__VA_ARGS__}
    check_wait(&(struct world){.vcpus = 1, .platform = "'initial':'warm'"}, "1", two, NULL,
               WAITS([PART_vcpus] = 9));
    check_wait(&(struct world){.units = 1, .platform = "'initial':'warm'"}, "1", two, NULL,
               WAITS([PART_units] = 9));
    check_wait(&(struct world){.vcpus = 1, .platform = "'initial':'warm'"}, "1", "0,a\n12,a\n",
               "'turnaround_ms':20,'cold_start_ms'", WAITS([PART_turnaround] = 18));
    check_wait(&(struct world){.vcpus = 1,
                               .platform = "'initial':'warm','failures':"
                                           "{'outages':[[0,0.005,0.015]]}"},
               "1", two, NULL, WAITS([PART_vcpus] = 4, [PART_down] = 10));
    assert_absolute(sim_to_ms(told.parts[PART_lost]), 5, 1e-9);
    check_wait(&(struct world){.platform = "'initial':'cold','cold_dispatch':'late'"}, "1", "0,a\n",
               NULL, WAITS([PART_starting] = 5));
    check_wait(&(struct world){.platform = "'initial':{'f':1},'cold_dispatch':'wait'"}, "1", two,
               NULL, WAITS([PART_busy] = 9));
    check_wait(&(struct world){.memory_mb = 150, .platform = "'initial':{'f':1}"}, "1",
               "0,a\n1,b\n", NULL, WAITS([PART_memory] = 9));
    check_wait(&(struct world){.platform = "'initial':'warm','ingress_ms':7"}, "1", two, NULL,
               WAITS([PART_ingress] = 14));
    check_wait(
        &(struct world){
            .model = "A100", .sharing = "mig", .units = 7, .platform = "'initial':'warm'"},
        "3", "0,a\n1,a\n2,b\n", NULL, WAITS([PART_place] = 8));
}

SUITE("waits")
