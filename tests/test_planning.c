/* Policies that plan with other times than the world's: what they see, what stays the world's. */
#include "tests/worlds.h"

#include "results/store/store.h"
#include "sched/paths/search.h"
#include "traces/profile/profile.h"
#include "workloads/world/capacity.h"

/* Of all that the cases build. */
static struct arena arena;

enum { OVERRIDES_MAX = 8 };

/* The diamond with overrides, given as key, value, …, NULL. */
static struct experiment *parse(const char *json, const char *const *pairs)
{
    struct override overrides[OVERRIDES_MAX];
    size_t count = 0;
    for (; pairs[2 * count] != NULL; count++) {
        assert_true(count < OVERRIDES_MAX);
        overrides[count] = (struct override){pairs[2 * count], pairs[2 * count + 1]};
    }
    return must(experiment_parse(json, "w.json", ".", overrides, count, hear()));
}

#define WORLD(...) parse(diamond, (const char *const[]){__VA_ARGS__, NULL})

/* The world's profile, as text that changes under `from` → `to`. */
static const char *profile_text(char text[WORLD_BYTES], const char *from, const char *to)
{
    (void)snprintf(text, WORLD_BYTES, "%s", &PROFILE[strlen("\"profile\":")]);
    if (from != NULL)
        world_replace(text, from, to);
    return text;
}

static void run_logged(const struct experiment *experiment, const struct policy *policy,
                       struct log *log, struct simulation_result *result)
{
    const struct recorder recorder = log_recorder(log);
    const struct simulation_options options = {.recorder = &recorder, .bounds = true};
    OWNED(free) double *values = policy_values(policy, NULL, 0);
    memset(log, 0, sizeof *log);
    if (!simulation_run_with(experiment, policy, values, &options, result, hear()))
        fail_msg("%s: %s", policy->name, heard.message);
}

static struct log logs[2];

CASE(planning_with_the_worlds_own_times_changes_nothing_but_the_hash)
{
    char own[WORLD_BYTES];
    EXPERIMENT *plain = WORLD("requests", "200");
    EXPERIMENT *same = WORLD("requests", "200", "planning.profile", profile_text(own, NULL, NULL),
                             "planning.error.cv", "0", "planning.guard", "0");
    assert_string_not_equal(plain->hash, same->hash);
    const struct policy *policy = NULL;
    for (size_t p = 0; (policy = policy_for_requests(p)) != NULL; p++) {
        struct simulation_result results[2];
        run_logged(plain, policy, &logs[0], &results[0]);
        run_logged(same, policy, &logs[1], &results[1]);
        assert_same_rows(&logs[0], &logs[1]);
        assert_memory_equal(&results[0].overall, &results[1].overall, sizeof results->overall);
        assert_memory_equal(&results[0].run, &results[1].run, sizeof results->run);
        simulation_result_clear(&results[0]);
        simulation_result_clear(&results[1]);
    }
}

CASE(keys_at_their_defaults_leave_the_configuration_as_it_was)
{
    EXPERIMENT *plain = WORLD("requests", "200");
    EXPERIMENT *same = WORLD("requests", "200", "planning.error.cv", "0", "planning.error.bias",
                             "0", "planning.error.per", "cell", "planning.guard", "0");
    assert_string_equal(plain->resolved_json, same->resolved_json);
    assert_ptr_equal(experiment_planned(same), &same->workload);
    static const char *const others[][2] = {{"planning.error.cv", "0.1"},
                                            {"planning.error.bias", "0.1"},
                                            {"planning.error.per", "function"},
                                            {"planning.error.seed", "1"},
                                            {"planning.guard", "0.5"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        EXPERIMENT *other = WORLD("requests", "200", others[i][0], others[i][1]);
        assert_string_not_equal(plain->hash, other->hash);
        assert_contains(other->resolved_json, "\"planning\"");
    }
}

/* What the policy is shown, caught as it starts. */
static const struct workload *shown;
static const struct policy *watched;

static bool watch_init(void *state, struct platform *platform, const void *parameters,
                       struct error *error)
{
    shown = platform_workload(platform);
    return watched->init == NULL || watched->init(state, platform, parameters, error);
}

CASE(policies_see_planning_times_and_the_world_takes_and_bills_its_own)
{
    watched = policy_find("min-config", NULL);
    struct policy watching = *watched;
    watching.init = watch_init;
    EXPERIMENT *plain = WORLD("platform.noise.cv", "0", "platform.interference", "false");
    EXPERIMENT *e = WORLD("platform.noise.cv", "0", "platform.interference", "false",
                          "planning.error.cv", "0.4", "planning.error.bias", "-0.2");
    run_logged(e, &watching, &logs[0], anew());
    const struct workload *world = &e->workload;
    assert_ptr_equal(shown, experiment_planned(e));
    assert_ptr_not_equal(shown, world);
    size_t unlike = 0;
    assert_true(logs[0].batch_count > 100);
    for (size_t i = 0; i < logs[0].batch_count; i++) {
        const struct batch_row *row = &logs[0].batches[i];
        const uint32_t f = world->applications[row->application].stages[row->stage].function;
        const struct configuration *real = &world->functions[f].configurations[row->configuration];
        const struct configuration *plan = &shown->functions[f].configurations[row->configuration];
        assert_int_equal(row->finished_ns - row->started_ns, real->time);
        assert_true(fabs(row->cost_usd - real->cost_usd) <= 1e-12 * real->cost_usd);
        assert_true(row->planned_ms == sim_to_ms(plan->time));
        assert_true(
            fabs(plan->cost_usd / real->cost_usd - (double)plan->time / (double)real->time) < 1e-9);
        unlike += plan->time != real->time;
    }
    assert_int_equal(unlike, logs[0].batch_count);
    for (size_t a = 0; a < world->application_count; a++) {
        assert_int_equal(world->applications[a].slo, plain->workload.applications[a].slo);
        assert_int_equal(shown->applications[a].slo, world->applications[a].slo);
    }
    assert_true(capacity_find(world).rate_per_s == capacity_find(&plain->workload).rate_per_s);
    RESULT other = {0};
    run_logged(plain, watched, &logs[1], &other);
    assert_true(result.overall.bound_slo_hit_rate == other.overall.bound_slo_hit_rate &&
                result.overall.bound_cost_per_request_usd ==
                    other.overall.bound_cost_per_request_usd &&
                result.run.bound_capacity_slo_hit_rate == other.run.bound_capacity_slo_hit_rate);
}

/* ---- Errors ---------------------------------------------------------------------------------- */

static double factor_of(const struct experiment *e, size_t f, size_t k)
{
    return (double)experiment_planned(e)->functions[f].configurations[k].time /
           (double)e->workload.functions[f].configurations[k].time;
}

CASE(factors_have_the_stated_mean_and_variation)
{
    double sum = 0, squares = 0;
    size_t n = 0;
    for (int s = 0; s < 500; s++) {
        char *seed = formatted("%d", s);
        EXPERIMENT *e = WORLD("planning.error.cv", "0.3", "planning.error.bias", "-0.1",
                              "planning.error.seed", seed);
        for (size_t f = 0; f < e->workload.function_count; f++)
            for (size_t k = 0; k < e->workload.functions[f].configuration_count; k++, n++) {
                const double factor = factor_of(e, f, k);
                sum += factor;
                squares += factor * factor;
            }
    }
    const double mean = sum / (double)n;
    const double cv = sqrt(squares / (double)n / (mean * mean) - 1);
    assert_int_equal(n, 500 * 24);
    assert_true(fabs(mean - 0.9) < 4 * 0.27 / sqrt((double)n));
    assert_true(fabs(cv - 0.3) < 0.015);
}

CASE(a_factor_depends_on_names_and_values_alone)
{
    char *turned = world_copy(diamond);
    /* g comes first, and f has fewer configurations. */
    world_replace(turned, "\"stages\":[{\"name\":\"a\",\"function\":\"f\"",
                  "\"stages\":[{\"name\":\"a\",\"function\":\"g\"");
    world_replace(turned, "{\"name\":\"f\",\"model\":\"f\",\"input_bytes\":1000}",
                  "{\"name\":\"f\",\"model\":\"f\",\"input_bytes\":1000,\"configurations\":"
                  "{\"batch\":[1],\"vgpu\":[1,4]}}");
    EXPERIMENT *whole = WORLD("planning.error.cv", "0.2");
    EXPERIMENT *part = parse(turned, (const char *const[]){"planning.error.cv", "0.2", NULL});
    assert_string_equal(whole->workload.functions[0].name, "f");
    assert_string_equal(part->workload.functions[0].name, "g");
    assert_int_equal(part->workload.functions[1].configuration_count, 4);
    for (size_t k = 0; k < 4; k++) {
        const struct configuration *wanted = &part->workload.functions[1].configurations[k];
        size_t same = 0;
        for (size_t w = 0; w < whole->workload.functions[0].configuration_count; w++) {
            const struct configuration *c = &whole->workload.functions[0].configurations[w];
            if (c->batch == wanted->batch && c->vcpu == wanted->vcpu && c->vgpu == wanted->vgpu) {
                assert_true(factor_of(part, 1, k) == factor_of(whole, 0, w));
                same++;
            }
        }
        assert_int_equal(same, 1);
    }
    assert_true(factor_of(whole, 0, 0) != factor_of(whole, 1, 0) &&
                factor_of(whole, 0, 0) != factor_of(whole, 0, 1));
}

CASE(an_error_per_function_is_one_factor_for_its_configurations)
{
    EXPERIMENT *e = WORLD("planning.error.cv", "0.2", "planning.error.per", "function");
    for (size_t k = 1; k < e->workload.functions[0].configuration_count; k++)
        assert_true(fabs(factor_of(e, 0, k) - factor_of(e, 0, 0)) < 1e-6);
    assert_true(fabs(factor_of(e, 0, 0) - factor_of(e, 1, 0)) > 1e-3);
}

CASE(errors_follow_the_runs_seed_unless_they_have_their_own)
{
    EXPERIMENT *one = WORLD("seed", "1", "planning.error.cv", "0.2");
    EXPERIMENT *two = WORLD("seed", "2", "planning.error.cv", "0.2");
    EXPERIMENT *own = WORLD("seed", "2", "planning.error.cv", "0.2", "planning.error.seed", "1");
    assert_true(factor_of(one, 0, 0) != factor_of(two, 0, 0));
    assert_true(factor_of(one, 0, 0) == factor_of(own, 0, 0));
}

CASE(an_error_alone_makes_seeds_differ_unless_it_has_its_own)
{
    static const char fixed[] =
        "{\"cluster\":{\"invokers\":[{\"vcpus\":2,\"memory_mb\":4096}]},\"functions\":"
        "{\"functions\":[{\"name\":\"f\",\"service\":{\"distribution\":\"constant\",\"mean_ms\":"
        "10}}]},\"applications\":[{\"name\":\"a\",\"stages\":[{\"name\":\"s\",\"function\":\"f\"}]"
        "}],\"arrivals\":{\"process\":\"uniform\",\"low_ms\":20,\"high_ms\":20},\"slo\":{\"ms\":"
        "50},\"policy\":{\"name\":\"fifo\"},\"requests\":10}";
    EXPERIMENT *plain = parse(fixed, (const char *const[]){NULL});
    EXPERIMENT *run = parse(fixed, (const char *const[]){"planning.error.cv", "0.2", NULL});
    EXPERIMENT *own = parse(
        fixed, (const char *const[]){"planning.error.cv", "0.2", "planning.error.seed", "4", NULL});
    assert_false(experiment_is_random(plain));
    assert_true(experiment_is_random(run));
    assert_false(experiment_is_random(own));
    /* A service's mean errs, too. */
    assert_true(factor_of(plain, 0, 0) == 1);
    assert_true(factor_of(run, 0, 0) != 1 && factor_of(own, 0, 0) != 1);
    assert_int_equal(run->workload.functions[0].configurations[0].time, 10 * SIM_MS);
}

/* ---- Profiles -------------------------------------------------------------------------------- */

CASE(a_guard_adds_the_expected_error_of_the_planning_profile)
{
    char text[WORLD_BYTES];
    profile_text(text, "[[[80,50,30],[70,40,20]],[[120,80,50],[100,70,40]]]",
                 "[[[88,50,30],[70,40,20]],[[120,80,50],[100,70,40]]],\"expected_error\":"
                 "[[[0.1,0.2,null],[0,0,0]],[[0,0,0],[0,0,0.3]]]");
    EXPERIMENT *e = WORLD("planning.profile", text, "planning.guard", "2");
    const struct configuration *f = experiment_planned(e)->functions[0].configurations;
    assert_int_equal(f[0].time, sim_from_ms(88 * 1.2));
    assert_int_equal(f[1].time, sim_from_ms(50 * 1.4));
    assert_int_equal(f[2].time, 30 * SIM_MS);
    assert_int_equal(f[11].time, sim_from_ms(40 * 1.6));
    assert_int_equal(e->planning.configurations, 24);
    assert_int_equal(e->planning.unguarded, 13);
    run_logged(e, policy_find("fifo", NULL), &logs[0], anew());
    assert_contains(notices_find(&result.notices, NOTICE_PLANNING)->text,
                    "policies plan with w.json, guard 2 (not for 13 of 24");
}

CASE(a_profile_may_be_for_the_gpus_of_one_model)
{
    char text[WORLD_BYTES], by_model[WORLD_BYTES + 16];
    static const char cluster[] =
        "{\"invokers\":[{\"count\":2,\"vcpus\":6,\"memory_mb\":1200,\"gpus\":[{\"model\":\"A\","
        "\"sharing\":\"mps\",\"units\":4,\"memory_mb\":1000},{\"model\":\"B\",\"sharing\":\"mps\","
        "\"units\":4,\"memory_mb\":1000}]}]}";
    EXPERIMENT *joined = WORLD("cluster", cluster);
    assert_int_equal(joined->workload.kind_count, 1);
    (void)snprintf(by_model, sizeof by_model, "{\"B\":%s}",
                   profile_text(text, "80,50,30", "81,50,30"));
    EXPERIMENT *e = WORLD("cluster", cluster, "planning.profile", by_model);
    assert_int_equal(e->workload.kind_count, 2);
    const struct function *f = &experiment_planned(e)->functions[0];
    assert_int_equal(f->configurations[f->gpus[0].first].time, 80 * SIM_MS);
    assert_int_equal(f->configurations[f->gpus[1].first].time, 81 * SIM_MS);
    assert_int_equal(e->workload.functions[0].configurations[f->gpus[1].first].time, 80 * SIM_MS);
    (void)snprintf(by_model, sizeof by_model, "{\"C\":%s}", text);
    struct override bad[] = {{"cluster", cluster}, {"planning.profile", by_model}};
    assert_bad_input(experiment_parse(diamond, "w.json", ".", bad, 2, hear()), "\"C\"");
}

CASE(unlike_grids_and_bad_values_are_refused_by_name)
{
    static const struct refusal_of profiles[] = {
        {"\"unit\":4", "\"unit\":8", "in 4 units and e.json in 8"},
        {"\"g\":{\"grid\"", "\"h\":{\"grid\"", "function \"g\" of e.json is not in e.json"},
        {"\"batch\":[1,2]", "\"batch\":[1,3]",
         "function \"f\" has other values of batch in e.json"},
        {"\"vgpu\":[1,2,4]", "\"vgpu\":[1,3,4]",
         "function \"f\" has other values of vgpu in e.json"},
        {"\"vcpu\":[1,2]", "\"vcpu\":[1,4]", "function \"f\" has other values of vcpu in e.json"},
        {"[[[40,25,15]", "[[[40,null,15]", "\"g\" has no latency at batch 1, vcpu 1, vgpu 2 in"},
    };
    static const char *const values[][3] = {
        {"planning.error.cv", "-0.1", "planning.error.cv"},
        {"planning.error.bias", "-1", "planning.error.bias"},
        {"planning.error.per", "stage", "cell, function"},
        {"planning.error.spread", "1", "unknown key"},
        {"planning.guard", "-1", "planning.guard"},
        {"planning.profiles", "1", "did you mean \"profile\""},
        {"planning.profile", "no-such-file.json", "no-such-file.json"},
    };
    char text[WORLD_BYTES];
    for (size_t i = 0; i < sizeof profiles / sizeof *profiles; i++)
        assert_text_refused(diamond, "planning.profile",
                            profile_text(text, profiles[i].key, profiles[i].text),
                            profiles[i].words);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        assert_text_refused(diamond, values[i][0], values[i][1], values[i][2]);
}

/* ---- Searches and records -------------------------------------------------------------------- */

static double cheapest_pair(const struct configuration *const first, size_t first_count,
                            const struct configuration *const second, size_t second_count,
                            sim_time_t budget)
{
    double least = INFINITY;
    for (size_t i = 0; i < first_count; i++)
        for (size_t j = 0; j < second_count; j++)
            if (first[i].time + second[j].time <= budget)
                least = fmin(least, first[i].cost_per_job_usd + second[j].cost_per_job_usd);
    return least;
}

CASE(a_search_on_planning_times_is_brute_force_on_them)
{
    size_t unlike = 0;
    struct search_workspace *workspace = search_workspace_create(&arena);
    static struct search_result found;
    for (uint64_t world = 0; world < 60; world++) {
        char *json = world_random(world, true);
        EXPERIMENT *e = parse(
            json, (const char *const[]){"planning.error.cv", "0.3", "planning.guard", "1", NULL});
        const struct function *planned = experiment_planned(e)->functions;
        const struct function *real = e->workload.functions;
        const struct search_table *tables[2] = {
            search_table_create(&arena, planned[0].configurations, planned[0].configuration_count),
            search_table_create(&arena, planned[1].configurations, planned[1].configuration_count)};
        const struct search_problem problem = {.stages = tables,
                                               .stage_count = 2,
                                               .budget = (tables[0]->fastest + tables[1]->fastest) *
                                                         3 / 2,
                                               .queue_length = 100,
                                               .k = 1,
                                               .time_blade = true,
                                               .cost_blade = true};
        search_astar(&problem, workspace, &found);
        const double truth = cheapest_pair(
            planned[0].configurations, planned[0].configuration_count, planned[1].configurations,
            planned[1].configuration_count, problem.budget);
        assert_int_equal(found.path_count, 1);
        assert_true(fabs(found.paths[0].cost_usd - truth) <= 1e-12 * truth);
        unlike += truth != cheapest_pair(real[0].configurations, real[0].configuration_count,
                                         real[1].configurations, real[1].configuration_count,
                                         problem.budget);
    }
    assert_int_equal(unlike, 60);
}

/* Writes a run to a file and reads its batches. */
static void store_and_load(const char *key, const char *value, struct run_record **record)
{
    EXPERIMENT *e = WORLD("requests", "50", "record", "all", "policy.name", "fifo", key, value);
    const struct policy *policy = policy_find("fifo", NULL);
    OWNED(free) double *values = policy_values(policy, NULL, 0);
    TEMPORARY(path, "");
    struct store *store = must(store_create(path, hear()));
    assert_true(store_begin_experiment(store, e, policy, values, 0, true, hear()));
    const struct recorder recorder = store_recorder(store);
    assert_true(simulation_run(e, policy, values, &recorder, NULL, anew(), hear()));
    assert_true(store_end_run(store, &result, hear()));
    assert_true(store_finish(store, hear()));
    *record = run_record_load(path, e->hash, false, hear());
    assert_non_null(*record);
}

CASE(a_file_has_planned_times_only_where_there_is_a_plan)
{
    struct run_record *records[2];
    store_and_load("planning.guard", "0", &records[0]);
    store_and_load("planning.error.bias", "0.5", &records[1]);
    assert_true(records[0]->batch_count > 50 && records[0]->batch_count == records[1]->batch_count);
    for (size_t i = 0; i < records[0]->batch_count; i++) {
        assert_true(records[0]->batches[i].planned_ms == 0); /* absent from the file */
        assert_true(records[1]->batches[i].planned_ms > 0);
    }
    arena_home_free(records[0]);
    arena_home_free(records[1]);
}

SUITE("planning")
