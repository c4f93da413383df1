/* Actions of a policy: what is recorded, replayed without the policy, and refused. */
#include <unistd.h>

#include "sim/platform/actions.h"
#include "results/store/store.h"
#include "tests/suite.h"
#include "tests/worlds.h"

#define execution platform_execution /* the store has another structure of that name */
#include "sim/platform/state.h"
#undef execution

enum { WORLDS = 4 };

struct recorded {
    char path[64];
    struct log log;
    struct simulation_result result;
};

static struct recorded *recorded_begin(int which)
{
    static struct recorded two[2];
    struct recorded *recorded = memset(&two[which], 0, sizeof *two);
    snprintf(recorded->path, sizeof recorded->path, "/tmp/esgsim-actions-%d-%d.csv", getpid(),
             which);
    return recorded;
}

static void recorded_end(struct recorded *recorded)
{
    simulation_result_clear(&recorded->result);
    (void)unlink(recorded->path);
}

/* Runs the policy, with its actions and rows into `recorded`. */
static bool record(struct experiment *experiment, const struct policy *policy, sim_time_t swerve,
                   struct recorded *recorded, struct error *error)
{
    struct actions_writer writer = {0};
    struct recorder pair[2] = {log_recorder(&recorded->log)};
    OWNED(free) double *values = policy_values(policy, NULL, 0);
    if (!actions_begin(&writer, recorded->path, experiment, policy, values, &pair[1], error))
        return false;
    const struct recorder both = recorder_join(pair);
    struct simulation_options options = {
        .recorder = &both, .swerve = swerve, .swerve_seed = experiment->seed};
    experiment->seed += swerve > 0;
    const bool good =
        simulation_run_with(experiment, policy, values, &options, &recorded->result, error);
    experiment->seed -= swerve > 0;
    return actions_end(&writer, good, error);
}

static void assert_replayed(const char *json, const struct policy *policy)
{
    EXPERIMENT *experiment = load(json);
    struct recorded *run = recorded_begin(0), *again = recorded_begin(1);
    assert_good(record(experiment, policy, 0, run, hear()));
    struct arena *arena = arena_create();
    const struct policy *actions = must(actions_read(arena, run->path, experiment, hear()));
    assert_good(record(experiment, actions, 0, again, hear()));
    const struct simulation_result *a = &run->result, *b = &again->result;
    assert_true(bits_equal(&a->overall, &b->overall, sizeof a->overall));
    assert_true(bits_equal(&a->run, &b->run, sizeof a->run));
    assert_true(bits_equal(a->applications, b->applications,
                           a->application_count * sizeof *a->applications));
    assert_same_rows(&run->log, &again->log);
    STRING *once = file_text(run->path);
    STRING *twice = file_text(again->path);
    assert_string_equal(once, twice);
    arena_destroy(arena);
    recorded_end(run);
    recorded_end(again);
}

CASE(a_replay_is_the_run_of_each_policy)
{
    const struct policy *policy;
    for (size_t p = 0; (policy = policy_for_requests(p)) != NULL; p++) {
        assert_replayed(diamond, policy);
        for (uint64_t world = 0; world < WORLDS; world++)
            assert_replayed(world_random(world, world % 2 == 1), policy);
    }
}

/* One byte is another, or the end is missing, or the seed is another. */
CASE(a_damaged_file_is_refused_with_one_line)
{
    EXPERIMENT *experiment = load_with(diamond, "requests", "4");
    struct recorded *run = recorded_begin(0);
    assert_good(record(experiment, policy_find("fifo", NULL), 0, run, hear()));
    STRING *text = file_text(run->path);
    struct arena *arena = arena_create();
    const size_t length = strlen(text);
    experiment->seed++;
    assert_null(actions_read(arena, run->path, experiment, hear()));
    experiment->seed--;
    for (size_t i = 0; i + 1 < length; i++)
        for (int cut = 0; cut < 2; cut++) {
            const char byte = text[i];
            text[i] = byte == '1' ? '2' : '1';
            FILE *file = must(fopen(run->path, "w"));
            fwrite(text, 1, cut ? i : length, file);
            assert_int_equal(fclose(file), 0);
            text[i] = byte;
            if (actions_read(arena, run->path, experiment, hear()) != NULL)
                fail_msg("byte %zu %s is not noticed", i, cut ? "and all after it" : "");
            assert_input_error(run->path);
        }
    arena_destroy(arena);
    recorded_end(run);
}

CASE(what_no_replay_repeats_is_not_recorded)
{
    EXPERIMENT *experiment = load_with(diamond, "platform.decision_cost", "{'model':'measured'}");
    assert_bad_input(record(experiment, policy_find("fifo", NULL), 0, recorded_begin(0), hear()),
                     "after a measured decision_cost");
}

/* Another world is refused before the run, but not another policy, name or level of record. */
CASE(a_file_of_actions_names_its_world)
{
    static const struct {
        const char *key, *value;
        bool same;
    } changes[] = {{"arrivals.rate_per_s", "39", false},
                   {"slo.factor", "2.25", false},
                   {"platform.keep_alive_s", "77", false},
                   {"record", "all", true},
                   {"name", "other", true},
                   {"policy.name", "edf", true}};
    EXPERIMENT *experiment = load(diamond);
    struct recorded *run = recorded_begin(0);
    struct arena *arena = arena_create();
    assert_good(record(experiment, policy_find("fifo", NULL), 0, run, hear()));
    for (size_t c = 0; c < sizeof changes / sizeof *changes; c++) {
        EXPERIMENT *other = load_with(diamond, changes[c].key, changes[c].value);
        assert_int_equal(actions_read(arena, run->path, other, hear()) != NULL, changes[c].same);
        if (!changes[c].same)
            assert_said(ERROR_INPUT, "csv:1: no actions of seed 3 in world ");
    }
    arena_destroy(arena);
    recorded_end(run);
}

/* As of a policy that had changed its world: the file says that it is of the other one. */
CASE(actions_that_do_not_fit_fail_the_run)
{
    EXPERIMENT *experiment = load(diamond);
    EXPERIMENT *other = load_with(diamond, "arrivals.rate_per_s", "39");
    char *resolved = experiment->resolved_json;
    struct arena *arena = arena_create();
    struct recorded *run = recorded_begin(0), *again = recorded_begin(1);
    experiment->resolved_json = other->resolved_json;
    assert_good(record(experiment, policy_find("edf", NULL), 0, run, hear()));
    experiment->resolved_json = resolved;
    const struct policy *actions = must(actions_read(arena, run->path, other, hear()));
    assert_false(record(other, actions, 0, again, hear()));
    assert_true(heard.kind == ERROR_RUN && strstr(heard.message, "rule actions") != NULL);
    arena_destroy(arena);
    recorded_end(run);
    recorded_end(again);
}

/* ---- A swerve -------------------------------------------------------------------------------- */

static int looks_at; /* 1: the seed, 2: the noise */

/* Fifo, which leaves the oldest job alone at odd draws of what is to come. */
static bool peek_decide(void *state, struct platform *platform)
{
    (void)state;
    const uint32_t queue = platform_next_queue(platform, 0);
    if (queue == SIM_NONE)
        return false;
    const uint32_t function = platform_queue_function(platform, queue);
    const struct function *spec = &platform_workload(platform)->functions[function];
    const uint32_t job = platform->queues[queue].ring[platform->queues[queue].head];
    const uint32_t least = (uint32_t)spec->minimum_configuration;
    const uint32_t invoker = platform_best_fit(platform, function, least, false);
    const bool odd = (looks_at == 1 && platform->experiment->seed % 2 == 1) ||
                     (looks_at == 2 && platform->jobs[job].noise > 1);
    if (odd && platform->queues[queue].length > 3)
        return platform_drop(platform, queue, 0);
    return invoker != SIM_NONE && platform_dispatch(platform, queue, 1, least, invoker);
}

POLICY(peek, .decide = peek_decide);

/* The lines of actions before the time, and how many there are. */
static size_t before(char *text, sim_time_t time)
{
    size_t lines = 0;
    char *line = text;
    for (; strncmp(line, "end,", 4) != 0; line = strchr(line, '\n') + 1, lines++)
        if (lines >= 2 && strtoll(strchr(line, ',') + 1, NULL, 10) >= time)
            break;
    *line = '\0';
    return lines;
}

static bool swerves_alike(const struct policy *policy, const char *json)
{
    EXPERIMENT *experiment = load(json);
    struct recorded *run = recorded_begin(0), *again = recorded_begin(1);
    const sim_time_t time = 4 * SIM_S;
    assert_good(record(experiment, policy, 0, run, hear()));
    assert_good(record(experiment, policy, time, again, hear()));
    STRING *one = file_text(run->path);
    STRING *other = file_text(again->path);
    assert_string_not_equal(one, other);
    assert_true(before(one, time) > 100);
    (void)before(other, time);
    recorded_end(run);
    recorded_end(again);
    return strcmp(one, other) == 0;
}

CASE(before_a_swerve_honest_policies_act_alike_and_others_do_not)
{
    const struct policy *policy;
    for (size_t p = 0; (policy = policy_for_requests(p)) != NULL; p++)
        if (!swerves_alike(policy, diamond))
            fail_msg("%s looks ahead", policy->name);
    for (looks_at = 0; looks_at < 3; looks_at++)
        assert_int_equal(swerves_alike(&peek, diamond), looks_at == 0);
}

SUITE("actions")
