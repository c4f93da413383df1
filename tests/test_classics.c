/* The field's usual baselines against brute force: each decision of a run is looked at from
 * outside, with what the platform showed before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "sched/registry.h"
#include "tests/worlds.h"

enum { QUEUES_MAX = 8, INVOKERS_MAX = 8, FUNCTIONS_MAX = 2, WINDOW = 64, WORLDS = 30 };
enum { CONFIGURATIONS_MAX = 20, REQUESTS = 400, BATCH_MAX = 8 };

static const char *const names[] = {"llf", "least-loaded", "power-of-two", "openwhisk"};
enum { NAMES = sizeof names / sizeof *names };

/* ---- Looking at decisions -------------------------------------------------------------------- */

/* What there was before a step of deciding, and the batch that came of it. */
struct look {
    const struct workload *workload;
    sim_time_t now;
    uint32_t length[QUEUES_MAX];
    struct job_view jobs[QUEUES_MAX][WINDOW];
    uint32_t running[INVOKERS_MAX];
    bool fits[2][FUNCTIONS_MAX][CONFIGURATIONS_MAX][INVOKERS_MAX]; /* [1]: on a warm container */
    bool dispatched;
    struct decision_row chosen;
    uint64_t dispatches; /* before this one */
    uint64_t choices;    /* counted by checks: decisions in which there was something to choose */
};

typedef void (*look_check)(struct look *look, struct platform *platform, bool more);

/* The platform offers a policy's functions no context of the test's. */
static struct look *looking;
static bool (*inner_decide)(void *state, struct platform *platform);
static look_check inner_check;

static void look_before(struct look *look, struct platform *platform)
{
    const struct workload *workload = platform_workload(platform);
    look->workload = workload;
    look->now = platform_now(platform);
    look->dispatched = false;
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

static bool look_decide(void *state, struct platform *platform)
{
    look_before(looking, platform);
    const bool more = inner_decide(state, platform);
    inner_check(looking, platform, more);
    looking->dispatches += looking->dispatched;
    return more;
}

static bool look_decision(void *context, const struct decision_row *row, struct error *error)
{
    (void)context;
    (void)error;
    assert_false(looking->dispatched);
    looking->chosen = *row;
    looking->dispatched = true;
    return true;
}

static void check_nothing(struct look *look, struct platform *platform, bool more)
{
    (void)look;
    (void)platform;
    (void)more;
}

/* Runs `json` under the policy, every step of it checked. Returns how many choices were seen. */
static uint64_t look_run(const char *json, const char *name, const char *key, double number,
                         look_check check, struct log *log, struct simulation_result *result)
{
    struct error error = {0};
    const struct policy *policy = policy_find(name, &error);
    if (policy == NULL)
        fail_msg("%s", error.message);
    struct policy watched = *policy;
    watched.decide = look_decide;
    struct look look = {0};
    looking = &look;
    inner_decide = policy->decide;
    inner_check = check;
    struct experiment *experiment = load(json);
    const struct recorder recorder = {
        .context = log, .request = log_request, .batch = log_batch, .decision = look_decision};
    double values[VALUES_MAX] = {0};
    policy_values(policy, key, number, values);
    memset(log, 0, sizeof *log);
    if (!simulation_run(experiment, &watched, values, &recorder, NULL, result, &error))
        fail_msg("%s: %s", policy->name, error.message);
    experiment_free(experiment);
    looking = NULL;
    return look.choices;
}

/* The same in many random worlds, with noise and interference or without. */
static uint64_t look_worlds(const char *name, const char *key, double number, bool nominal,
                            look_check check)
{
    struct log *log = malloc(sizeof *log);
    char *json = malloc(WORLD_BYTES);
    assert_non_null(log);
    assert_non_null(json);
    uint64_t choices = 0;
    for (uint64_t world = 0; world < WORLDS; world++) {
        struct simulation_result result = {0};
        world_random(json, world, nominal);
        choices += look_run(json, name, key, number, check, log, &result);
        world_check_conserved(log, &result, REQUESTS);
        simulation_result_clear(&result);
    }
    free(json);
    free(log);
    return choices;
}

/* ---- All of them ----------------------------------------------------------------------------- */

static void no_policy_breaks_a_rule_or_loses_a_request_in_any_world(void **state)
{
    (void)state;
    for (size_t p = 0; p < NAMES; p++) {
        look_worlds(names[p], NULL, 0, false, check_nothing);
        look_worlds(names[p], "head_of_line", 1, false, check_nothing);
        look_worlds(names[p], "containers", 1, false, check_nothing);
        look_worlds(names[p], "max_batch", 4, true, check_nothing);
    }
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

/* Mean latency over the configurations: all of a random world's fit its invokers. */
static double mean_time(const struct workload *workload, uint32_t function)
{
    const struct function *spec = &workload->functions[function];
    double sum = 0;
    for (size_t i = 0; i < spec->configuration_count; i++)
        sum += (double)spec->configurations[i].time;
    return sum / (double)spec->configuration_count;
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

/* Time of the cheapest configuration of batch 1 within the budget, else of the fastest. */
static sim_time_t static_time(const struct function *function, sim_time_t budget)
{
    const struct configuration *best = NULL;
    for (size_t i = 0; i < function->configuration_count; i++) {
        const struct configuration *here = &function->configurations[i];
        if (here->batch != 1)
            continue;
        if (best == NULL)
            best = here;
        else if (best->time > budget
                     ? here->time < best->time
                     : here->time <= budget && here->cost_per_job_usd < best->cost_per_job_usd)
            best = here;
    }
    assert_non_null(best);
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
    (void)platform;
    (void)more;
    if (!look->dispatched)
        return;
    for (uint32_t q = 0; q < look->workload->queue_count; q++) {
        if (look->length[q] == 0 || q == look->chosen.queue)
            continue;
        assert_true(laxity(look, look->chosen.queue) <= laxity(look, q));
        look->choices++;
    }
}

static void llf_serves_the_least_laxity_of_all_that_wait(void **state)
{
    (void)state;
    assert_true(look_worlds("llf", NULL, 0, false, check_least_laxity) > 1000);
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
    for (uint32_t i = 0; i < look->workload->cluster.invoker_count; i++)
        if (room_of[i])
            assert_true(look->running[chosen] < look->running[i] ||
                        (look->running[chosen] == look->running[i] && chosen <= i));
}

static void check_least_loaded(struct look *look, struct platform *platform, bool more)
{
    (void)platform;
    (void)more;
    check_least(look, true);
}

static void check_least_loaded_of_all(struct look *look, struct platform *platform, bool more)
{
    (void)platform;
    (void)more;
    check_least(look, false);
}

static void least_loaded_picks_a_minimum_of_all_with_room(void **state)
{
    (void)state;
    assert_true(look_worlds("least-loaded", NULL, 0, false, check_least_loaded) > 1000);
    assert_true(look_worlds("least-loaded", "warm", 1, false, check_least_loaded_of_all) > 1000);
    assert_true(look_worlds("least-loaded", "head_of_line", 1, false, check_least_loaded) > 1000);
}

static void check_better_of_two(struct look *look, struct platform *platform, bool more)
{
    (void)more;
    if (!look->dispatched)
        return;
    const uint32_t function = queue_function(look->workload, look->chosen.queue);
    const uint32_t configuration = look->chosen.configuration;
    const uint32_t count = look->workload->cluster.invoker_count;
    const uint32_t chosen = look->chosen.invoker;
    struct random_stream stream;
    random_stream_open(&stream, platform_seed(platform), RANDOM_POLICY, look->dispatches, 0);
    const uint32_t first = (uint32_t)gsl_rng_uniform_int(&stream.rng, count);
    if (count == 1)
        return;
    uint32_t second = (uint32_t)gsl_rng_uniform_int(&stream.rng, count - 1);
    second += second >= first;
    for (int warm = 1; warm >= 0; warm--) {
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

static void power_of_two_picks_the_better_of_its_two_draws(void **state)
{
    (void)state;
    assert_true(look_worlds("power-of-two", NULL, 0, false, check_better_of_two) > 1000);
}

static void check_walk(struct look *look, struct platform *platform, bool more)
{
    (void)more;
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

static void openwhisk_walks_from_home_to_the_first_with_room(void **state)
{
    (void)state;
    assert_true(look_worlds("openwhisk", NULL, 0, false, check_walk) > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_policy_breaks_a_rule_or_loses_a_request_in_any_world),
        cmocka_unit_test(llf_serves_the_least_laxity_of_all_that_wait),
        cmocka_unit_test(least_loaded_picks_a_minimum_of_all_with_room),
        cmocka_unit_test(power_of_two_picks_the_better_of_its_two_draws),
        cmocka_unit_test(openwhisk_walks_from_home_to_the_first_with_room),
    };
    return cmocka_run_group_tests_name("classics", tests, NULL, NULL);
}
