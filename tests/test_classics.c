/* The field's usual baselines against brute force: each decision of a run is looked at from
 * outside, with what the platform showed before it. */
#include "sched/common/sliding_window.h"
#include "sched/registry.h"
#include "tests/suite.h"
#include "tests/worlds.h"

enum { QUEUES_MAX = 8, INVOKERS_MAX = 8, FUNCTIONS_MAX = 2, WINDOW = 64, WORLDS = 30 };
enum { CONFIGURATIONS_MAX = 20, BATCH_MAX = 8 };

static const char *const names[] = {"llf",       "least-loaded", "power-of-two", "openwhisk",
                                    "clockwork", "grandslam",    "clipper"};
enum { NAMES = sizeof names / sizeof *names };

/* ---- Looking at decisions -------------------------------------------------------------------- */

/* The queues and invokers before a call of decide, and the batch that it dispatched. */
struct look {
    const struct workload *workload;
    const struct log *log;
    sim_time_t now;
    uint32_t length[QUEUES_MAX];
    struct job_view jobs[QUEUES_MAX][WINDOW];
    uint32_t running[INVOKERS_MAX];
    bool fits[2][FUNCTIONS_MAX][CONFIGURATIONS_MAX][INVOKERS_MAX]; /* [1]: on a warm container */
    bool dispatched;
    struct decision_row chosen;
    uint64_t dispatches; /* before this one */
    uint64_t choices;    /* counted by checks: decisions in which there was something to choose */
    uint64_t late;       /* counted by GrandSLAm's: batches of late jobs */
};

typedef void (*look_check)(struct look *look, struct platform *platform, bool more);

/* The platform offers a policy's functions no context of the test's. */
static struct look *looking;
static bool (*inner_decide)(void *state, struct platform *platform);
static look_check inner_check;
static uint64_t late_batches; /* of all runs */

static void look_before(struct look *look, struct platform *platform)
{
    const struct workload *workload = platform_workload(platform);
    look->workload = workload;
    look->now = platform_now(platform);
    assert_true(workload->queue_count <= QUEUES_MAX);
    assert_true(workload->cluster.invoker_count <= INVOKERS_MAX);
    for (uint32_t q = 0; q < workload->queue_count; q++) {
        look->length[q] = platform_queue_length(platform, q);
        for (uint32_t i = 0; i < look->length[q] && i < WINDOW; i++)
            look->jobs[q][i] = platform_job(platform, q, i);
    }
    for (uint32_t i = 0; i < workload->cluster.invoker_count; i++) {
        look->running[i] = platform_running_batches(platform, i);
        for (uint32_t f = 0; f < workload->function_count; f++) {
            assert_true(workload->functions[f].configuration_count <= CONFIGURATIONS_MAX);
            for (uint32_t c = 0; c < workload->functions[f].configuration_count; c++) {
                look->fits[0][f][c][i] = platform_fits(platform, f, c, i);
                look->fits[1][f][c][i] = platform_fits_warm(platform, f, c, i);
            }
        }
    }
}

static void check_nothing(struct look *look, struct platform *platform, bool more) {}

static bool look_decide(void *state, struct platform *platform)
{
    looking->dispatched = false;
    if (inner_check != check_nothing)
        look_before(looking, platform);
    const bool more = inner_decide(state, platform);
    inner_check(looking, platform, more);
    looking->dispatches += looking->dispatched;
    return more;
}

static bool look_decision(void *context, const struct decision_row *row, struct error *error)
{
    assert_false(looking->dispatched);
    looking->chosen = *row;
    looking->dispatched = true;
    return true;
}

/* Runs `json` under the policy, every step of it checked. Returns how many choices were seen. */
static uint64_t look_run(const char *json, const char *name, const char *key, double number,
                         look_check check, struct log *log, struct simulation_result *result)
{
    const struct policy *policy = must(policy_find(name, hear()));
    struct policy watched = *policy;
    watched.decide = look_decide;
    struct look look = {.log = log};
    looking = &look;
    inner_decide = policy->decide;
    inner_check = check;
    EXPERIMENT *experiment = load(json);
    const struct recorder recorder = {
        .context = log, .request = log_request, .batch = log_batch, .decision = look_decision};
    OWNED(free) double *values = policy_values(policy, key, number);
    memset(log, 0, sizeof *log);
    if (!simulation_run(experiment, &watched, values, &recorder, NULL, result, hear()))
        fail_msg("%s: %s", policy->name, heard.message);
    looking = NULL;
    late_batches += look.late;
    return look.choices;
}

/* The same in many random worlds, every other one without noise and interference. */
static uint64_t look_worlds(const char *name, const char *key, double number, uint64_t worlds,
                            look_check check)
{
    uint64_t choices = 0;
    for (uint64_t world = 0; world < worlds; world++) {
        RESULT result = {0};
        char *json = world_random(world, world % 2 == 1);
        choices += look_run(json, name, key, number, check, &rows, &result);
        world_check_conserved(&rows, &result, WORLD_REQUESTS);
    }
    return choices;
}

/* ---- All of them ----------------------------------------------------------------------------- */

CASE(no_policy_breaks_a_rule_or_loses_a_request_in_any_world)
{
    for (size_t p = 0; p < NAMES; p++) {
        look_worlds(names[p], "head_of_line", 1, 10, check_nothing);
        look_worlds(names[p], "max_batch", 2, 10, check_nothing);
    }
    look_worlds("clipper", "batch_delay_ms", 30, 10, check_nothing);
    look_worlds("clipper", "vgpu", 1, 10, check_nothing);
    look_worlds("clockwork", "vgpu", 2, 10, check_nothing);
}

/* ---- Brute force over paths ------------------------------------------------------------------ */

static const struct application *queue_application(const struct workload *workload, uint32_t queue,
                                                   uint32_t *stage)
{
    for (size_t a = 0; a < workload->application_count; a++) {
        const struct application *application = &workload->applications[a];
        if (queue < application->first_queue + application->stage_count) {
            *stage = queue - application->first_queue;
            return application;
        }
    }
    fail_msg("queue %u is no application's", queue);
    return NULL;
}

static uint32_t queue_function(const struct workload *workload, uint32_t queue)
{
    uint32_t stage = 0;
    const struct application *application = queue_application(workload, queue, &stage);
    return application->stages[stage].function;
}

/* Mean latency over the configurations of batch 1: all of a random world's fit its invokers. */
static double mean_time(const struct workload *workload, uint32_t function)
{
    const struct function *spec = &workload->functions[function];
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < spec->configuration_count; i++) {
        if (spec->configurations[i].batch > 1)
            continue;
        sum += (double)spec->configurations[i].time;
        count++;
    }
    return sum / (double)count;
}

/* Longest sum of mean latencies along any path into or out of a stage, its own not counted. */
static double longest(const struct workload *workload, const struct application *application,
                      uint32_t stage, bool forwards)
{
    const struct stage *here = &application->stages[stage];
    double most = 0;
    for (size_t i = 0; i < (forwards ? here->next_count : here->after_count); i++) {
        const uint32_t other = forwards ? here->next[i] : here->after[i];
        const double way = mean_time(workload, application->stages[other].function) +
                           longest(workload, application, other, forwards);
        most = way > most ? way : most;
    }
    return most;
}

/* The stage's share of the SLO, of proportional split. */
static double share_of_slo(const struct workload *workload, const struct application *application,
                           uint32_t stage)
{
    const double own = mean_time(workload, application->stages[stage].function);
    return own / (longest(workload, application, stage, false) + own +
                  longest(workload, application, stage, true));
}

/* Of the time that is left for the stage and all after it. */
static double share_of_slack(const struct workload *workload, uint32_t queue)
{
    uint32_t stage = 0;
    const struct application *application = queue_application(workload, queue, &stage);
    const double own = mean_time(workload, application->stages[stage].function);
    return own / (own + longest(workload, application, stage, true));
}

/* Fastest configuration of exactly `batch`; `whole`: of those with all four units of a GPU. */
static sim_time_t fastest(const struct workload *workload, uint32_t function, uint32_t batch,
                          bool whole)
{
    const struct function *spec = &workload->functions[function];
    sim_time_t least = SIM_FOREVER;
    for (size_t i = 0; i < spec->configuration_count; i++) {
        const struct configuration *here = &spec->configurations[i];
        if (here->batch == batch && (!whole || here->vgpu == 4) && here->time < least)
            least = here->time;
    }
    return least;
}

/* Time of the cheapest configuration of batch 1 within the budget, else of the fastest. */
static sim_time_t static_time(const struct function *function, sim_time_t budget)
{
    const struct configuration *best = &function->configurations[0];
    for (size_t i = 1; i < function->configuration_count; i++) {
        const struct configuration *here = &function->configurations[i];
        if (here->batch != 1)
            continue;
        if (best->time > budget
                ? here->time < best->time
                : here->time <= budget && here->cost_per_job_usd < best->cost_per_job_usd)
            best = here;
    }
    return best->time;
}

/* ---- Least laxity first ---------------------------------------------------------------------- */

static sim_time_t remaining_time(const struct workload *workload,
                                 const struct application *application, uint32_t stage)
{
    const struct stage *here = &application->stages[stage];
    const double share = share_of_slo(workload, application, stage);
    sim_time_t after = 0;
    for (size_t i = 0; i < here->next_count; i++) {
        const sim_time_t way = remaining_time(workload, application, here->next[i]);
        after = way > after ? way : after;
    }
    return after + static_time(&workload->functions[here->function],
                               (sim_time_t)((double)application->slo * share));
}

static sim_time_t laxity(const struct look *look, uint32_t queue)
{
    uint32_t stage = 0;
    const struct application *application = queue_application(look->workload, queue, &stage);
    return look->jobs[queue][0].deadline - look->now -
           remaining_time(look->workload, application, stage);
}

static void check_least_laxity(struct look *look, struct platform *platform, bool more)
{
    if (!look->dispatched)
        return;
    for (uint32_t q = 0; q < look->workload->queue_count; q++) {
        if (look->length[q] == 0 || q == look->chosen.queue)
            continue;
        assert_true(laxity(look, look->chosen.queue) <= laxity(look, q));
        look->choices++;
    }
}

CASE(llf_serves_the_least_laxity_of_all_that_wait)
{
    assert_true(look_worlds("llf", NULL, 0, trials(WORLDS), check_least_laxity) > trials(1000));
}

/* ---- Choice of invoker ----------------------------------------------------------------------- */

/* Room as the choice of invokers sees it: on warm containers where any invoker has such, else at
 * all. Returns how many invokers have it. */
static uint32_t room(const struct look *look, bool room_of[INVOKERS_MAX], bool warm_first)
{
    const uint32_t function = queue_function(look->workload, look->chosen.queue);
    for (int warm = warm_first ? 1 : 0; warm >= 0; warm--) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < look->workload->cluster.invoker_count; i++) {
            room_of[i] = look->fits[warm][function][look->chosen.configuration][i];
            count += room_of[i];
        }
        if (count > 0)
            return count;
    }
    fail_msg("a batch went where there is no room");
    return 0;
}

static void check_least(struct look *look, bool warm_first)
{
    bool room_of[INVOKERS_MAX];
    if (!look->dispatched)
        return;
    const uint32_t chosen = look->chosen.invoker;
    look->choices += room(look, room_of, warm_first) > 1;
    assert_true(room_of[chosen]);
    const uint32_t least = look->running[chosen];
    for (uint32_t i = 0; i < look->workload->cluster.invoker_count; i++) {
        const bool not_earlier = i >= chosen;
        if (room_of[i])
            assert_true(least < look->running[i] || (least == look->running[i] && not_earlier));
    }
}

static void check_least_loaded(struct look *look, struct platform *platform, bool more)
{
    check_least(look, true);
}

static void check_least_loaded_of_all(struct look *look, struct platform *platform, bool more)
{
    check_least(look, false);
}

CASE(least_loaded_picks_a_minimum_of_all_with_room)
{
    assert_true(look_worlds("least-loaded", NULL, 0, trials(WORLDS), check_least_loaded) >
                trials(1000));
    assert_true(look_worlds("least-loaded", "warm", 1, trials(WORLDS), check_least_loaded_of_all) >
                trials(1000));
    assert_true(look_worlds("least-loaded", "head_of_line", 1, trials(WORLDS), check_least_loaded) >
                trials(1000));
}

static void check_better(struct look *look, struct platform *platform, bool warm_first)
{
    if (!look->dispatched)
        return;
    const uint32_t function = queue_function(look->workload, look->chosen.queue);
    const uint32_t configuration = look->chosen.configuration;
    const uint32_t count = look->workload->cluster.invoker_count;
    const uint32_t chosen = look->chosen.invoker;
    RANDOM_STREAM(stream, platform_seed(platform), RANDOM_POLICY, look->dispatches, 0);
    const uint32_t first = (uint32_t)gsl_rng_uniform_int(&stream.rng, count);
    if (count == 1)
        return;
    uint32_t second = (uint32_t)gsl_rng_uniform_int(&stream.rng, count - 1);
    second += second >= first;
    for (int warm = warm_first; warm >= 0; warm--) {
        const bool a = look->fits[warm][function][configuration][first];
        const bool b = look->fits[warm][function][configuration][second];
        if (!a && !b)
            continue;
        assert_int_equal(chosen, !b                                             ? first
                                 : !a                                           ? second
                                 : look->running[second] < look->running[first] ? second
                                                                                : first);
        look->choices += a && b && look->running[first] != look->running[second];
        return;
    }
    assert_true(look->fits[0][function][configuration][chosen]);
}

static void check_better_of_two(struct look *look, struct platform *platform, bool more)
{
    check_better(look, platform, true);
}

static void check_better_of_two_by_load(struct look *look, struct platform *platform, bool more)
{
    check_better(look, platform, false);
}

CASE(power_of_two_picks_the_better_of_its_two_draws)
{
    assert_true(look_worlds("power-of-two", "warm", 1, trials(WORLDS),
                            check_better_of_two_by_load) > trials(1000));
    assert_true(look_worlds("power-of-two", NULL, 0, trials(WORLDS), check_better_of_two) >
                trials(1000));
}

static void check_walk(struct look *look, struct platform *platform, bool more)
{
    if (!look->dispatched)
        return;
    const uint32_t function = queue_function(look->workload, look->chosen.queue);
    const uint32_t count = look->workload->cluster.invoker_count;
    bool visited[INVOKERS_MAX] = {false};
    bool found = false;
    for (uint32_t which = 0; which < count; which++) {
        const uint32_t invoker = platform_home(platform, function, which);
        assert_false(visited[invoker]);
        visited[invoker] = true;
        if (found || !look->fits[0][function][look->chosen.configuration][invoker])
            continue;
        found = true;
        assert_int_equal(look->chosen.invoker, invoker);
        look->choices += which > 0;
    }
    assert_true(found);
}

CASE(openwhisk_walks_from_home_to_the_first_with_room)
{
    assert_true(look_worlds("openwhisk", NULL, 0, trials(WORLDS), check_walk) > trials(1000));
}

/* ---- Clockwork ------------------------------------------------------------------------------- */

/* Stage times are split by doubles here and there: what two of them decide within this is open. */
enum { ROUNDING = 4, LEVELS = 3 };
static const uint32_t levels[LEVELS] = {1, 2, 4};

/* From the start of a batch to the end of its path, all in batches of that size. */
static sim_time_t time_needed(const struct workload *workload, uint32_t queue, uint32_t batch)
{
    uint32_t stage = 0;
    const struct application *application = queue_application(workload, queue, &stage);
    const struct stage *here = &application->stages[stage];
    sim_time_t most = 0;
    for (size_t i = 0; i < here->next_count; i++) {
        const sim_time_t way =
            time_needed(workload, application->first_queue + here->next[i], batch);
        most = way > most ? way : most;
    }
    return fastest(workload, here->function, batch, true) + most;
}

static bool has_begun(const struct workload *workload, uint32_t queue)
{
    uint32_t stage = 0;
    return queue_application(workload, queue, &stage)->stages[stage].after_count > 0;
}

/* Would the job's request be late in a batch of this size that starts now? */
static bool late_in(const struct look *look, uint32_t queue, uint32_t batch,
                    const struct job_view *job)
{
    return look->now + time_needed(look->workload, queue, batch) > job->deadline;
}

/* Is the request too late for the size in which it waited: alone, or that of the batch? */
static bool given_up_rightly(const struct look *look, uint64_t request)
{
    for (uint32_t q = 0; q < look->workload->queue_count; q++)
        for (uint32_t i = 0; i < look->length[q] && i < WINDOW; i++) {
            const bool passed = look->dispatched && q == look->chosen.queue;
            if (look->jobs[q][i].request == request &&
                late_in(look, q, passed ? look->chosen.jobs : 1, &look->jobs[q][i]))
                return true;
        }
    return false;
}

static bool still_waits(const struct platform *platform, uint32_t queue, uint64_t request)
{
    for (uint32_t i = 0; i < platform_queue_length(platform, queue); i++)
        if (platform_job(platform, queue, i).request == request)
            return true;
    return false;
}

/* As the original keeps it: a queue per batch size, from which those that would be late in it are
 * popped. `taken`: the jobs of the largest size that all sizes below it reach. */
struct sizes {
    uint32_t batch;
    sim_time_t rank;
    uint64_t taken[BATCH_MAX];
};

static struct sizes sizes_of(const struct look *look, uint32_t queue, const struct job_view *jobs,
                             uint32_t count)
{
    struct sizes sizes = {.rank = SIM_FOREVER};
    for (size_t l = 0; l < LEVELS; l++) {
        const sim_time_t need = time_needed(look->workload, queue, levels[l]);
        uint64_t taken[BATCH_MAX];
        sim_time_t first = SIM_FOREVER;
        uint32_t found = 0;
        for (uint32_t i = 0; i < count && found < levels[l]; i++) {
            if (jobs[i].deadline - need < look->now)
                continue;
            first = found == 0 ? jobs[i].deadline : first;
            taken[found++] = jobs[i].request;
        }
        if (found < levels[l])
            break;
        sizes.batch = levels[l];
        sizes.rank = first - need < sizes.rank ? first - need : sizes.rank;
        memcpy(sizes.taken, taken, sizeof taken);
    }
    return sizes;
}

/* Every job that left a queue but for the batch was too late. Sets `jobs` to the batch in its
 * order. */
static uint32_t check_drops(const struct look *look, const struct platform *platform,
                            uint32_t queue, uint64_t jobs[WINDOW])
{
    uint32_t count = 0;
    assert_true(look->length[queue] <= WINDOW);
    for (uint32_t i = 0; i < look->length[queue]; i++) {
        const struct job_view *job = &look->jobs[queue][i];
        if (still_waits(platform, queue, job->request))
            continue;
        if (look->log->requests[job->request].dropped != 0 || !look->dispatched ||
            queue != look->chosen.queue)
            assert_true(given_up_rightly(look, job->request));
        else
            jobs[count++] = job->request;
    }
    return count;
}

static void check_started(struct look *look, const struct platform *platform, const uint64_t *jobs,
                          uint32_t count)
{
    const uint32_t queue = look->chosen.queue;
    const uint32_t function = queue_function(look->workload, queue);
    const struct configuration *configuration =
        &look->workload->functions[function].configurations[look->chosen.configuration];
    const struct sizes sizes = sizes_of(look, queue, look->jobs[queue], look->length[queue]);
    /* A dropped request that still runs elsewhere is not in the record yet: a diamond's branch. */
    if (count != look->chosen.jobs) {
        assert_true(queue == 1 || queue == 2);
        return;
    }
    assert_int_equal(look->chosen.jobs, sizes.batch);
    assert_int_equal(configuration->time, fastest(look->workload, function, sizes.batch, true));
    assert_memory_equal(jobs, sizes.taken, count * sizeof *jobs);
    for (uint32_t q = 0; q < look->workload->queue_count; q++) {
        struct job_view others[WINDOW] = {{0}};
        const uint32_t waiting = platform_queue_length(platform, q);
        if (q == queue || waiting == 0)
            continue;
        const bool begun = has_begun(look->workload, q);
        assert_true(has_begun(look->workload, queue) || !begun);
        if (has_begun(look->workload, queue) && !begun)
            continue;
        for (uint32_t i = 0; i < waiting; i++)
            others[i] = platform_job(platform, q, i);
        look->choices++;
        assert_true(sizes.rank <= sizes_of(look, q, others, waiting).rank);
    }
}

/* A head is dropped as soon as it is lost, where no begun request waits before it. */
static void check_clockwork(struct look *look, struct platform *platform, bool more)
{
    uint64_t jobs[WINDOW] = {0};
    bool begun = false;
    for (uint32_t q = 0; q < look->workload->queue_count; q++)
        begun = begun || (has_begun(look->workload, q) && platform_queue_length(platform, q) > 0);
    for (uint32_t q = 0; q < look->workload->queue_count; q++) {
        const uint32_t count = check_drops(look, platform, q, jobs);
        if (look->dispatched && q == look->chosen.queue)
            check_started(look, platform, jobs, count);
        if (more || platform_queue_length(platform, q) == 0 ||
            (begun && !has_begun(look->workload, q)))
            continue;
        const struct job_view head = platform_job(platform, q, 0);
        assert_false(late_in(look, q, 1, &head));
    }
}

/* At nominal times, which an observer knows. */
CASE(clockwork_starts_the_first_jobs_that_can_finish_and_drops_only_what_cannot)
{
    assert_true(look_worlds("clockwork", "window", 0, trials(WORLDS), check_clockwork) >
                trials(300));
}

/* The original's own test: malixian/clockwork @ 5917620, test/clockwork/test/testutil.cpp:21-87. */
CASE(a_sliding_window_has_the_percentiles_of_clockworks_test)
{
    static const struct {
        sim_time_t added;
        sim_time_t at[5]; /* percentiles 0, 25, 50, 75, 100 */
    } steps[] = {
        {70, {70, 70, 70, 70, 70}},    {50, {50, 55, 60, 65, 70}},   {90, {50, 60, 70, 80, 90}},
        {110, {50, 70, 90, 100, 110}}, {20, {20, 55, 90, 100, 110}}, {20, {20, 20, 20, 65, 110}},
    };
    struct sliding_window window;
    sliding_window_init(&window, suite_arena(), 3);
    assert_int_equal(sliding_window_percentile(&window, 0.5), 0);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        sliding_window_add(&window, steps[i].added);
        for (int quarter = 0; quarter <= 4; quarter++)
            assert_int_equal(sliding_window_percentile(&window, quarter / 4.0),
                             steps[i].at[quarter]);
    }
}

/* One function of five batches, 10 ms a job, one GPU of one unit, containers ready. */
static const struct world one_server = {
    .vcpus = 1,
    .units = 1,
    .gpu_memory_mb = 9000,
    .functions = {{"f", "1,2,3,4,5", "1", "1", "[[10]],[[20]],[[30]],[[40]],[[50]]", 0, 100, 0.5}},
    .interference = 0.5,
    .input_bytes = 1000,
    .applications = "a: a=f",
    .slo_ms = 60,
    .platform = "'initial':{'f':4},'transfer':{'latency_ms':0}",
    .seed = 4};

static void run_server(const struct world *world, const char *policy, const char *key, double value,
                       struct log *log, struct simulation_result *result)
{
    run_well_with(world_build(world), policy_find(policy, NULL), key, value, log, result);
}

/* In overload, without noise and interference and with idle containers, nothing that was not
 * dropped is late, at nominal and at measured times. Batches are as large as time allows: three are
 * 30 ms of the 60. */
CASE(clockwork_serves_in_time_whatever_it_starts)
{
    static const double rates[] = {90, 150, 1000};
    struct world world = one_server;
    world.requests = 2000;
    for (int window = 0; window <= 10; window += 10) {
        for (size_t r = 0; r < sizeof rates / sizeof *rates; r++) {
            world.rate_per_s = rates[r];
            run_server(&world, "clockwork", "window", window, &rows, anew());
            assert_true(result.overall.dropped > 20);
            assert_true(result.overall.dropped < 1900);
            for (size_t i = 0; i < rows.request_count; i++)
                assert_int_equal(rows.requests[i].hit, !rows.requests[i].dropped);
        }
    }
}

/* Two batches on one GPU slow one another, which the profile's times do not tell. Each size is late
 * once at most, and then measured. With nominal times requests are late to the end. */
CASE(clockwork_learns_how_long_a_batch_takes)
{
    struct world world = one_server;
    world.vcpus = world.units = 2;
    world.rate_per_s = 300;
    world.requests = 2000;
    for (int window = 0; window <= 10; window += 10) {
        uint64_t late = 0;
        run_server(&world, "clockwork", "window", window, &rows, anew());
        for (size_t i = 0; i < rows.request_count; i++)
            late += !rows.requests[i].hit && !rows.requests[i].dropped;
        assert_true(window > 0 ? late <= 1 + 2 + 3 + 4 + 5 : late > 200);
    }
}

/* A container that takes longer to start than any deadline allows is started without a batch. */
CASE(clockwork_loads_a_model_that_no_container_has)
{
    struct world world = one_server;
    world.platform = "'initial':{'f':0},'transfer':{'latency_ms':0}";
    world.rate_per_s = 50;
    world.requests = 400;
    run_server(&world, "clockwork", NULL, 0, &rows, anew());
    assert_int_equal(result.run.prewarms, 1);
    assert_int_equal(result.run.cold_starts, 0);
    assert_int_equal(rows.requests[0].dropped, 1);
    assert_true(result.overall.dropped < 200);
}

/* Requests in time per second, and their share of all. */
static double goodput(const char *chain, double rate_per_s, double *hit_rate)
{
    run_server(
        &(struct world){
            .invokers = 2,
            .functions = {{"f", "1,2,4,8", "1", "1,2,4",
                           "[[40,26,20]],[[56,36,26]],[[88,54,38]],[[150,92,62]]", 0.05, 100, 0},
                          {"g", "1,2,4,8", "1", "1,2,4",
                           "[[30,20,16]],[[40,27,20]],[[62,40,28]],[[104,66,44]]", 0.05, 100, 0}},
            .applications = chain,
            .rate_per_s = rate_per_s,
            .slo_factor = 2,
            .platform = "'initial':{'per_invoker':4}",
            .requests = 1500,
            .warmup_requests = 100,
            .seed = 5},
        "clockwork", "vgpu", 1, &rows, anew());
    *hit_rate = result.overall.slo_hit_rate;
    return rate_per_s * *hit_rate;
}

/* No work is spent on requests that later stages give up. The edge is the greatest rate at which
 * 95 % are in time. */
CASE(clockwork_keeps_its_goodput_in_overload_whatever_the_length_of_the_chain)
{
    static const char *const chains[] = {"a: a=f", "a: a=f b=g(a) c=f(b)",
                                         "a: a=f b=g(a) c=f(b) d=g(c) e=f(d)"};
    for (size_t c = 0; c < sizeof chains / sizeof *chains; c++) {
        double hit_rate = 1, edge = 0, most = 0;
        for (double rate = 10; hit_rate >= 0.95; rate *= 1.1) {
            const double here = goodput(chains[c], rate, &hit_rate);
            edge = hit_rate >= 0.95 ? rate : edge;
            most = hit_rate >= 0.95 ? here : most;
        }
        assert_true(edge > 10);
        const double twice = goodput(chains[c], 2 * edge, &hit_rate);
        print_message("%s: %.1f in time of %.1f/s, %.1f of twice as many\n", chains[c], most, edge,
                      twice);
        assert_true(twice >= 0.8 * most);
    }
}

/* ---- GrandSLAm ------------------------------------------------------------------------------- */

static sim_time_t stage_deadline(const struct look *look, uint32_t queue, uint32_t position)
{
    const struct job_view *job = &look->jobs[queue][position];
    return job->ready + (sim_time_t)((double)(job->deadline - job->ready) *
                                     share_of_slack(look->workload, queue));
}

static sim_time_t least_stage_deadline(const struct look *look, uint32_t queue, uint32_t jobs)
{
    sim_time_t least = SIM_FOREVER;
    for (uint32_t i = 0; i < jobs && i < look->length[queue]; i++) {
        const sim_time_t own = stage_deadline(look, queue, i);
        least = own < least ? own : least;
    }
    return least;
}

static void check_slack_filled(struct look *look, struct platform *platform, bool more)
{
    if (!look->dispatched)
        return;
    const uint32_t queue = look->chosen.queue;
    const uint32_t function = queue_function(look->workload, queue);
    const struct configuration *all = look->workload->functions[function].configurations;
    const struct configuration *chosen = &all[look->chosen.configuration];
    const struct application *application =
        queue_application(look->workload, queue, &(uint32_t){0});
    const sim_time_t fresh =
        (sim_time_t)((double)application->slo *
                     share_of_slo(look->workload, application, queue - application->first_queue));
    uint32_t batch = 0;
    uint32_t late = 1;
    for (size_t l = 0; l < LEVELS; l++) {
        const sim_time_t time = fastest(look->workload, function, levels[l], false);
        const sim_time_t margin = least_stage_deadline(look, queue, levels[l]) - look->now - time;
        if ((margin > -ROUNDING && margin < ROUNDING) ||
            (time - fresh > -ROUNDING && time - fresh < ROUNDING))
            return;
        if (levels[l] > look->length[queue])
            break;
        batch = margin >= 0 ? levels[l] : batch;
        late = time <= fresh ? levels[l] : late;
    }
    look->late += batch == 0 && late > 1;
    if (batch == 0) {
        assert_int_equal(look->chosen.jobs, late);
        assert_int_equal(chosen->time, fastest(look->workload, function, late, false));
        return;
    }
    const sim_time_t slack = least_stage_deadline(look, queue, batch) - look->now;
    assert_int_equal(chosen->batch, batch);
    assert_int_equal(look->chosen.jobs, batch);
    look->choices += batch > 1;
    assert_true(chosen->time <= slack + ROUNDING);
    for (size_t i = 0; i < look->workload->functions[function].configuration_count; i++)
        assert_false(all[i].batch == batch && all[i].time < slack - ROUNDING &&
                     all[i].cost_per_job_usd < chosen->cost_per_job_usd);
    for (uint32_t q = 0; q < look->workload->queue_count; q++)
        if (look->length[q] > 0)
            assert_true(least_stage_deadline(look, queue, 4) <=
                        least_stage_deadline(look, q, 4) + ROUNDING);
}

CASE(grandslam_batches_as_many_as_the_slack_allows_least_slack_first)
{
    assert_true(look_worlds("grandslam", NULL, 0, trials(WORLDS), check_slack_filled) >
                trials(100));
    assert_true(late_batches > trials(20));
    look_worlds("grandslam", "late", 1, 10, check_nothing);
}

/* ---- Clipper --------------------------------------------------------------------------------- */

/* One batch is served at a time; requests come in intervals of `every_ms` to half as much again. */
static void run_clipper(double every_ms, double slo_ms, unsigned requests, double delay_ms,
                        struct log *log)
{
    struct world world = one_server;
    world.every_ms[0] = every_ms;
    world.every_ms[1] = 1.5 * every_ms;
    world.slo_ms = slo_ms;
    world.requests = requests;
    run_server(&world, "clipper", "batch_delay_ms", delay_ms, log, anew());
}

/* 10 ms a job against 35 ms: three are in time, four are not. By hand, the cap after each batch: 2,
 * 3,
 * 4; 3.6, 4.6, 4.14, 3.726, 4.726, 4.253, 3.828, 4.828, 4.345, 3.911, 4.911, 4.419, 3.978, 4.978,
 * 4.480, 4.032, 3.629. */
CASE(clipper_caps_batches_as_computed_by_hand)
{
    static const uint32_t expected[] = {1, 2, 3, 4, 3, 4, 4, 3, 4, 4, 3,
                                        4, 4, 3, 4, 4, 3, 4, 4, 4, 3};
    run_clipper(1, 35, 400, 0, &rows);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_int_equal(rows.batches[i].jobs, expected[i]);
}

/* With time for any batch the cap rises to the profile's largest, 5. */
CASE(clipper_raises_its_cap_to_the_largest_batch_there_is)
{
    uint32_t most = 0;
    run_clipper(1, 100000, 2000, 0, &rows);
    for (size_t i = 0; i < rows.batch_count; i++)
        most = rows.batches[i].jobs > most ? rows.batches[i].jobs : most;
    assert_int_equal(most, 5);
}

/* Alone, the first is a full batch and raises the cap to 2; every later one waits for company. */
CASE(clipper_delays_a_batch_below_the_cap_and_no_longer_than_told)
{
    run_clipper(100, 35, 50, 20, &rows);
    assert_int_equal(rows.batch_count, 50);
    for (size_t i = 0; i < 50; i++)
        assert_int_equal(rows.batches[i].dispatched_ns - rows.requests[i].arrival_ns,
                         i == 0 ? 0 : 20 * SIM_MS);
}

SUITE("classics")
