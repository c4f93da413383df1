/* Every query of sched/policy.h with every argument out of its range: the run ends with the rule,
 * the query, the policy, the callback, the simulated time and the seed, and answers nothing that
 * could be taken for a number. */
#include "tests/fixture_simulation.h"
#include "sched/policy_instances.h"
#include "tests/worlds.h"

/* Numbers that no query takes; the diamond has 6 queues, 2 functions, 2 invokers of one GPU. */
enum { MANY = 1000 };

static uint32_t as_number(bool answer)
{
    return answer ? 1 : 0;
}

static struct job_view job_seen;

static uint32_t job_at(const struct platform *p, uint32_t queue, uint32_t position)
{
    job_seen = platform_job(p, queue, position);
    return job_seen.deadline == 0 && job_seen.request == 0 ? 0 : 1;
}

static uint32_t buffered_at(const struct platform *p, uint32_t instance, uint32_t position)
{
    job_seen = platform_buffered_job(p, instance, position);
    return job_seen.deadline == 0 ? 0 : 1;
}

/* An expression that asks wrongly, in `decide`, when one job waits in queue 0. */
#define WRONG_QUERIES                                                                              \
    WRONG(queue_length, 0, platform_queue_length(p, 6))                                            \
    WRONG(queue_length, 0, platform_queue_length(p, SIM_NONE))                                     \
    WRONG(queue_application, 0, platform_queue_application(p, MANY))                               \
    WRONG(queue_stage, 0, platform_queue_stage(p, MANY))                                           \
    WRONG(queue_function, 0, platform_queue_function(p, MANY))                                     \
    WRONG(next_queue, SIM_NONE, platform_next_queue(p, 7))                                         \
    WRONG(job, 0, job_at(p, MANY, 0))                                                              \
    WRONG(job, 0, job_at(p, 0, 1))                                                                 \
    WRONG(job, 0, job_at(p, 1, 0)) /* the queue is empty */                                        \
    WRONG(predecessor_invoker, SIM_NONE, platform_predecessor_invoker(p, MANY, 0, 0))              \
    WRONG(free_vcpus, 0, platform_free_vcpus(p, 2))                                                \
    WRONG(free_vgpus, 0, platform_free_vgpus(p, MANY))                                             \
    WRONG(running_batches, 0, platform_running_batches(p, MANY))                                   \
    WRONG(warm, 0, platform_warm(p, 2, 0))                                                         \
    WRONG(warm, 0, platform_warm(p, 0, MANY))                                                      \
    WRONG(warm_total, 0, platform_warm_total(p, MANY))                                             \
    WRONG(fits, 0, as_number(platform_fits(p, MANY, 0, 0)))                                        \
    WRONG(fits, 0, as_number(platform_fits(p, 0, MANY, 0)))                                        \
    WRONG(fits, 0, as_number(platform_fits(p, 0, 0, MANY)))                                        \
    WRONG(fits_warm, 0, as_number(platform_fits_warm(p, MANY, 0, 0)))                              \
    WRONG(fits_warm, 0, as_number(platform_fits_warm(p, 0, MANY, 0)))                              \
    WRONG(fits_warm, 0, as_number(platform_fits_warm(p, 0, 0, MANY)))                              \
    WRONG(best_fit, SIM_NONE, platform_best_fit(p, MANY, 0, false))                                \
    WRONG(best_fit, SIM_NONE, platform_best_fit(p, 0, MANY, true))                                 \
    WRONG(home, 0, platform_home(p, MANY, 0))                                                      \
    WRONG(home, 0, platform_home(p, 0, 2))                                                         \
    WRONG(gpu_count, 0, platform_gpu_count(p, MANY))                                               \
    WRONG(gpu_free, 0, platform_gpu_free(p, MANY, 0))                                              \
    WRONG(gpu_free, 0, platform_gpu_free(p, 0, 1))                                                 \
    WRONG(instance_fits, 0,                                                                        \
          as_number(platform_instance_fits(p, &(struct instance_request){MANY, 0, 100, 0, 0})))    \
    WRONG(instance_fits, 0,                                                                        \
          as_number(platform_instance_fits(p, &(struct instance_request){0, MANY, 100, 0, 0})))    \
    WRONG(instance_fits, 0,                                                                        \
          as_number(platform_instance_fits(p, &(struct instance_request){0, 0, 0, 0, 0})))         \
    WRONG(instance_fits, 0,                                                                        \
          as_number(platform_instance_fits(p, &(struct instance_request){0, 0, 101, 0, 0})))       \
    WRONG(instance_fits, 0,                                                                        \
          as_number(platform_instance_fits(p, &(struct instance_request){0, 0, 100, MANY, 0})))    \
    WRONG(instance_fits, 0,                                                                        \
          as_number(platform_instance_fits(p, &(struct instance_request){0, 0, 100, 0, 1})))       \
    WRONG(create, SIM_NONE, platform_create(p, &(struct instance_request){0, 0, 100, 0, 1}))       \
    WRONG(create, SIM_NONE, platform_create(p, &(struct instance_request){0, 0, 100, MANY, 0}))    \
    WRONG(instance, SIM_NONE, platform_instance(p, 0).invoker)                                     \
    WRONG(instance, SIM_NONE, platform_instance(p, SIM_NONE).gpu)                                  \
    WRONG(buffered_job, 0, buffered_at(p, 0, 0))                                                   \
    WRONG(prewarm, 0, as_number(platform_prewarm(p, MANY, 0)))                                     \
    WRONG(prewarm, 0, as_number(platform_prewarm(p, 0, MANY)))                                     \
    WRONG(explain, 0, (platform_explain(p, 1, NAN, 0), 0))                                         \
    WRONG(explain, 0, (platform_explain(p, 1, 0, -1), 0))

enum {
#define WRONG(name, none, call) +1
    WRONG_COUNT = 0 WRONG_QUERIES
#undef WRONG
};

static const char *const names[] = {
#define WRONG(name, none, call) #name,
    WRONG_QUERIES
#undef WRONG
};

static int asked; /* which of them the policy asks */

static uint32_t ask(struct platform *p, int which, uint32_t *none)
{
    int next = 0;
#define WRONG(name, nothing, call)                                                                 \
    if (next++ == which) {                                                                         \
        *none = (nothing);                                                                         \
        return call;                                                                               \
    }
    WRONG_QUERIES
#undef WRONG
    fail_msg("there is no query %d", which);
    return 0;
}

static bool wrong_decide(void *state, struct platform *platform)
{
    uint32_t none = 1;
    if (platform_queue_length(platform, 0) != 1)
        return false;
    const uint32_t answer = ask(platform, asked, &none);
    if (answer != none)
        fail_msg("%s answers %u, not %u", names[asked], answer, none);
    return false;
}

static const struct policy wrong = {
    .abi = POLICY_ABI, .name = "wrong", .summary = "asks wrongly", .decide = wrong_decide};

/* `expected` parts of the message, up to NULL. */
static void assert_breach(struct experiment *experiment, const struct policy *policy,
                          const char *const *expected)
{
    assert_bad_run(simulation_run(experiment, policy, NULL, NULL, NULL, anew(), hear()), "");
    for (; *expected != NULL; expected++)
        assert_contains(heard.message, *expected);
}

CASE(a_query_with_a_wrong_argument_ends_the_run_with_all_that_is_known)
{
    EXPERIMENT *experiment = load(diamond);
    assert_true((int)(sizeof names / sizeof *names) == WRONG_COUNT && WRONG_COUNT > 40);
    for (asked = 0; asked < WRONG_COUNT; asked++) {
        char *query = formatted("rule range: %s ", names[asked]);
        assert_breach(experiment, &wrong,
                      (const char *const[]){query, "(decide, at ", " ms, policy wrong, seed 3)",
                                            "diamond: ", NULL});
    }
}

/* ---- The other callbacks, and charges -------------------------------------------------------- */

static bool sleep_decide(void *state, struct platform *platform)
{
    return false;
}

static void ask_ready(void *state, struct platform *platform, uint32_t queue)
{
    (void)platform_queue_length(platform, queue + MANY);
}

static bool ask_init(void *state, struct platform *platform, const void *parameters,
                     struct error *error)
{
    (void)platform_free_vcpus(platform, MANY);
    return true;
}

static bool fail_init(void *state, struct platform *platform, const void *parameters,
                      struct error *error)
{
    return false;
}

static bool refuse_init(void *state, struct platform *platform, const void *parameters,
                        struct error *error)
{
    return error_run(error, "the policy's own words");
}

static bool charge_decide(void *state, struct platform *platform)
{
    platform_charge(platform, 3);
    platform_charge(platform, UINT64_MAX);
    return false;
}

CASE(a_breach_names_the_callback_it_came_from)
{
    EXPERIMENT *experiment = load(diamond);
    const struct policy on_ready = {
        .abi = POLICY_ABI, .name = "r", .decide = sleep_decide, .on_ready = ask_ready};
    const struct policy init = {
        .abi = POLICY_ABI, .name = "i", .decide = sleep_decide, .init = ask_init};
    assert_breach(
        experiment, &on_ready,
        (const char *const[]){"rule range: queue_length names queue", "(on_ready, at ", NULL});
    assert_breach(experiment, &init,
                  (const char *const[]){"rule range: free_vcpus names invoker 1000 of 2",
                                        "(init, at 0.000000 ms, policy i, seed 3)", NULL});
}

/* An action by `on_finish`, when decisions have been made before. */
static void act_later(void *state, struct platform *platform, const struct finished_batch *batch)
{
    assert_false(platform_drop(platform, batch->queue, 0));
}

static bool serve_decide(void *state, struct platform *platform)
{
    const uint32_t queue = platform_next_queue(platform, 0);
    if (queue == SIM_NONE)
        return false;
    const uint32_t function = platform_queue_function(platform, queue);
    const uint32_t invoker = platform_best_fit(platform, function, 0, false);
    platform_explain(platform, 1, 0, 0); /* nothing costs and takes nothing: no breach */
    return invoker != SIM_NONE && platform_dispatch(platform, queue, 1, 0, invoker);
}

CASE(what_acts_outside_decide_is_stopped_after_decisions_too)
{
    EXPERIMENT *experiment = load(diamond);
    const struct policy policy = {
        .abi = POLICY_ABI, .name = "l", .decide = serve_decide, .on_finish = act_later};
    assert_breach(
        experiment, &policy,
        (const char *const[]){"rule timing: drop outside decide", "(on_finish, at ", NULL});
}

/* ---- Actions --------------------------------------------------------------------------------- */

/* An action that breaks a rule, in `decide`, when one job waits in queue 0: its rule. */
#define WRONG_ACTIONS                                                                              \
    WRONG("rule absent jobs: drop of position 1 in queue 0, which holds 1",                        \
          platform_drop(p, 0, 1))                                                                  \
    WRONG("rule range: drop names queue", platform_drop(p, MANY, 0))                               \
    WRONG("rule absent jobs: dispatch of 0 jobs", platform_dispatch(p, 0, 0, 0, 0))                \
    WRONG("rule absent jobs: dispatch of 2 jobs", platform_dispatch(p, 0, 2, 0, 0))                \
    WRONG("rule range: dispatch names configuration", platform_dispatch(p, 0, 1, MANY, 0))         \
    WRONG("rule range: dispatch names invoker", platform_dispatch(p, 0, 1, 0, MANY))               \
    WRONG("rule range: kill names instance", platform_kill(p, 0))                                  \
    WRONG("rule range: set_share names instance", platform_set_share(p, 0, 0, 100))                \
    WRONG("rule range: route names queue", platform_route(p, MANY, 0))                             \
    WRONG("rule range: route names instance", platform_route(p, 0, 0))                             \
    WRONG("rule range: return names instance", platform_return(p, 0))                              \
    WRONG("rule range: launch names instance", platform_launch(p, 0, 1))                           \
    WRONG("rule absent jobs: launch of 1 jobs", platform_launch(p, made(p), 1))                    \
    WRONG("rule range: set_share with a quota", platform_set_share(p, made(p), 0, 0))              \
    WRONG("rule absent jobs: route from queue 1", platform_route(p, 1, made(p)))

/* An instance of the function of queue 0, idle where one of its containers is. */
static uint32_t made(struct platform *p)
{
    const uint32_t instance = platform_create(
        p, &(struct instance_request){platform_queue_function(p, 0), 0, 100, 0, SIM_NONE});
    assert_int_not_equal(instance, SIM_NONE);
    return instance;
}

static const char *const rules[] = {
#define WRONG(rule, call) rule,
    WRONG_ACTIONS
#undef WRONG
};
enum { RULES = sizeof rules / sizeof *rules };

static bool act(struct platform *p, int which)
{
    int next = 0;
#define WRONG(rule, call)                                                                          \
    if (next++ == which)                                                                           \
        return call;
    WRONG_ACTIONS
#undef WRONG
    fail_msg("there is no action %d", which);
    return true;
}

static bool wrong_action_decide(void *state, struct platform *platform)
{
    if (platform_queue_length(platform, 0) == 1 && act(platform, asked))
        fail_msg("'%s' returns true", rules[asked]);
    return false;
}

CASE(an_action_with_a_wrong_argument_returns_false_and_ends_the_run)
{
    EXPERIMENT *experiment = load(diamond);
    const struct policy policy = {.abi = POLICY_ABI, .name = "a", .decide = wrong_action_decide};
    for (asked = 0; asked < RULES; asked++)
        assert_breach(experiment, &policy,
                      (const char *const[]){rules[asked], "(decide, at ", "policy a", NULL});
}

CASE(an_init_that_fails_says_why_or_that_it_did_not)
{
    EXPERIMENT *experiment = load(diamond);
    struct policy policy = {
        .abi = POLICY_ABI, .name = "i", .decide = sleep_decide, .init = fail_init};
    assert_breach(experiment, &policy,
                  (const char *const[]){"init returned false without a message", "policy i", NULL});
    policy.init = refuse_init;
    assert_breach(experiment, &policy, (const char *const[]){"the policy's own words", NULL});
}

CASE(a_charge_that_overflows_is_refused)
{
    EXPERIMENT *experiment = load(diamond);
    const struct policy policy = {.abi = POLICY_ABI, .name = "c", .decide = charge_decide};
    assert_breach(experiment, &policy,
                  (const char *const[]){"rule charge: 18446744073709551615 units after 3",
                                        "(decide, at ", NULL});
}

/* ---- Random numbers of a policy -------------------------------------------------------------- */

enum { DRAWS = 1000 };
static double drawn[2][DRAWS];
static size_t drawing, draw_count; /* the row of `drawn`; 2: nothing is drawn */

static bool drawer_decide(void *state, struct platform *platform)
{
    const uint32_t queue = platform_next_queue(platform, 0);
    if (drawing < 2 && draw_count < DRAWS)
        drawn[drawing][draw_count++] = platform_random(platform);
    if (queue == SIM_NONE)
        return false;
    const uint32_t function = platform_queue_function(platform, queue);
    const uint32_t invoker = platform_best_fit(platform, function, 0, false);
    return invoker != SIM_NONE && platform_dispatch(platform, queue, 1, 0, invoker);
}

CASE(draws_repeat_with_the_seed_and_leave_the_world_as_it_is)
{
    static const struct policy drawer = {
        .abi = POLICY_ABI, .name = "drawer", .summary = "draws", .decide = drawer_decide};
    struct log *logs[3];
    for (drawing = 0; drawing < 3; drawing++) {
        logs[drawing] = malloc(sizeof *logs[drawing]);
        assert_non_null(logs[drawing]);
        draw_count = 0;
        run_well(diamond, &drawer, logs[drawing], anew());
        assert_int_equal(draw_count, drawing < 2 ? DRAWS : 0);
    }
    double sum = 0;
    for (size_t i = 0; i < DRAWS; i++) {
        assert_true(drawn[0][i] == drawn[1][i] && drawn[0][i] >= 0 && drawn[0][i] < 1);
        sum += drawn[0][i];
    }
    assert_true(fabs(sum / DRAWS - 0.5) < 0.05);
    assert_same_rows(logs[0], logs[1]);
    assert_same_rows(logs[0], logs[2]);
    for (size_t i = 0; i < 3; i++)
        free(logs[i]);
}

/* ---- A policy that does nothing -------------------------------------------------------------- */

static bool sleeper_decide(void *state, struct platform *platform)
{
    return false;
}

CASE(nothing_done_is_told_with_the_fullest_queue_and_what_is_free)
{
    static const struct policy sleeper = {
        .abi = POLICY_ABI, .name = "sleeper", .summary = "sleeps", .decide = sleeper_decide};
    static const char *const parts[] = {
        "rule progress: ", "the fullest queue is ", "after its deadline",
        "free are 100 % of the GPUs and 12 of 12 vCPUs", "no batch was dispatched"};
    assert_false(run(diamond, &sleeper, &rows, anew(), hear()));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        assert_contains(heard.message, parts[i]);
}

CASE(outside_a_simulation_there_is_no_place)
{
    assert_null(simulation_where());
}

SUITE("queries")
