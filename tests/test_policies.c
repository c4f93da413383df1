/* The registry, what policies share, and the baselines run by the real simulator. */
#include "sched/common/kinds.h"
#include "sched/common/planner.h"
#include "sched/common/queue_order.h"
#include "sched/registry.h"
#include "sim/engine/random.h"
#include "sim/platform/simulation.h"
#include "tests/worlds.h"

/* The policies of tests/plugins/, here under names of their own: included whole, on purpose. */
#define esgsim_policy plugin_overcommit
#include "tests/plugins/overcommit.c" // NOLINT(bugprone-suspicious-include)
#undef esgsim_policy
#define esgsim_policy plugin_absent_jobs
#include "tests/plugins/absent_jobs.c" // NOLINT(bugprone-suspicious-include)
#undef esgsim_policy
#define esgsim_policy plugin_spinner
#include "tests/plugins/spinner.c" // NOLINT(bugprone-suspicious-include)
#undef esgsim_policy

static const char *const baselines[] = {"fifo", "edf", "sjf", "min-config", "max-config"};
enum { BASELINES = sizeof baselines / sizeof *baselines };

/* ---- Registry -------------------------------------------------------------------------------- */

CASE(every_policy_is_found_by_its_name)
{
    size_t count = 0;
    for (const struct policy *policy; (policy = policy_at(count)) != NULL; count++) {
        assert_ptr_equal(policy_find(policy->name, hear()), policy);
        assert_int_equal(policy->abi, POLICY_ABI);
        assert_non_null(policy->summary);
        assert_true(parameters_check(policy->parameters, policy->parameters_bytes, "x", hear()));
    }
    assert_true(count >= BASELINES + 1);
}

static void expect_not_found(const char *name, const char *part)
{
    assert_bad_input(policy_find(name, hear()), part);
}

CASE(unknown_policy_names_the_nearest_and_all)
{
    expect_not_found("fifa", "did you mean \"fifo\"");
    expect_not_found("min-confg", "did you mean \"min-config\"");
    for (size_t i = 0; i < BASELINES; i++)
        expect_not_found("zzzzzzzzzzzz", baselines[i]);
}

CASE(policy_file_that_is_missing_or_no_library_is_refused)
{
    expect_not_found("no/such/policy.so", "cannot read");
    char path[] = "/tmp/esgsim-test-XXXXXX.so";
    const int file = mkstemps(path, 3);
    assert_true(file >= 0);
    assert_int_equal(write(file, "not a library\n", 14), 14);
    close(file);
    expect_not_found(path, "cannot be loaded");
    unlink(path);
}

/* Compiles a plugin as README tells users to; returns its path in `path`. */
static void compile_plugin(const char *arguments, char path[32])
{
    (void)snprintf(path, 32, "/tmp/esgsim-test-XXXXXX.so");
    const int file = mkstemps(path, 3);
    assert_true(file >= 0);
    close(file);
    char *command = formatted("cc -shared -fPIC -D_GNU_SOURCE -I. -o %s %s", path, arguments);
    if (system(command) != 0) // NOLINT(cert-env33-c): the README's command line, as it is
        fail_msg("failed: %s", command);
}

CASE(policy_file_of_another_version_or_without_the_symbol_is_refused)
{
    char path[32];
    compile_plugin("tests/plugins/bad_abi.c", path);
    expect_not_found(path, "version 12 of sched/policy.h");
    unlink(path);
    compile_plugin("-Desgsim_policy=elsewhere tests/plugins/bad_abi.c", path);
    expect_not_found(path, "no symbol esgsim_policy");
    unlink(path);
}

static bool configure(const char *policy, const char *key, const char *text, double number,
                      double *values, struct error *error)
{
    char *key_copy = formatted("%s", key);
    char *text_copy = formatted("%s", text != NULL ? text : "");
    const struct setting setting = {key_copy, text != NULL ? text_copy : NULL, number};
    return policy_configure(policy_find(policy, NULL), &setting, 1, "exp.json", values, error);
}

static void expect_misconfigured(const char *key, const char *text, double number, const char *part)
{
    OWNED(free) double *values = policy_values(policy_find("fifo", NULL), NULL, 0);
    assert_bad_input(configure("fifo", key, text, number, values, hear()),
                     "exp.json: policy.params.");
    assert_contains(heard.message, part);
}

CASE(wrong_settings_are_refused_with_what_would_be_right)
{
    expect_misconfigured("max_bach", NULL, 2, "did you mean \"max_batch\"");
    expect_misconfigured("colour", NULL, 2, "has: max_batch");
    expect_misconfigured("max_batch", NULL, 0, "from 1 to 65535");
    expect_misconfigured("max_batch", NULL, (double)NAN, "from 1 to 65535");
    expect_misconfigured("max_batch", "two", 0, "is text");
    expect_misconfigured("split", "even", 0, "proportional|equal");
    expect_misconfigured("split", "proportional|equal", 0, "none of the choices");
    expect_misconfigured("split", NULL, 1, "proportional|equal");
}

CASE(settings_replace_defaults_and_only_those_named)
{
    const struct policy *fifo = policy_find("fifo", NULL);
    OWNED(free) double *values = policy_values(fifo, NULL, 0);
    assert_true(configure("fifo", "order", "ready", 0, values, hear()));
    for (size_t i = 0; i < keys_count(fifo->parameters); i++) {
        const bool named = strcmp(fifo->parameters[i].name, "order") == 0;
        assert_true(values[i] == (named ? 1 : fifo->parameters[i].fallback));
    }
    assert_true(configure("fifo", "max_batch", NULL, 7, values, hear()));
    assert_true(values[0] == 7);
}

/* --set gives 700 as a number. */
CASE(a_choice_that_looks_like_a_number_may_be_one)
{
    const struct key limits[] = {{.name = "limits", .words = WORDS("3250-7200", "700")}, KEY_END};
    struct setting setting = {"limits", NULL, 700};
    double value = 0;
    assert_true(parameters_configure(limits, &setting, 1, "params", "x", &value, hear()));
    assert_true(value == 1);
    setting.number = 701;
    assert_bad_input(parameters_configure(limits, &setting, 1, "params", "x", &value, hear()),
                     "\"701\" is none of the choices of x: 3250-7200|700");
}

struct typed_parameters {
    double number;
    uint16_t whole;
    sim_time_t seconds, ms;
    enum { WORD_A, WORD_B, WORD_C } word;
    bool flag;
};
static const struct key typed_parameters[] = {
    PARAMETER_NUMBER(typed, number, 0, 1, 0.25, ""),
    PARAMETER_WHOLE(typed, whole, 0, 65535, 7, ""),
    PARAMETER_SECONDS(typed, seconds, 0, 10, 1.5, ""),
    PARAMETER_MS(typed, ms, 0, 10, 1.5, ""),
    PARAMETER_WORD(typed, word, WORDS("a", "b", "c"), WORD_C, ""),
    PARAMETER_SWITCH(typed, flag, true, ""),
    KEY_END,
};

CASE(values_fill_the_fields_of_the_structure)
{
    struct typed_parameters typed;
    double values[] = {0, 0, 0, 0, 0, 0};
    memset(&typed, 0xff, sizeof typed);
    assert_true(parameters_configure(typed_parameters, NULL, 0, "p", "x", values, hear()));
    assert_true(parameters_fill(typed_parameters, values, "p", &typed, hear()));
    assert_true(typed.number == 0.25 && typed.whole == 7 && typed.flag);
    assert_true(typed.seconds == sim_from_s(1.5) && typed.ms == sim_from_ms(1.5));
    assert_int_equal(typed.word, WORD_C);
    values[1] = 2.5;
    assert_false(parameters_fill(typed_parameters, values, "p", &typed, hear()));
    assert_string_equal(heard.message, "p.whole is 2.5; give a whole number");
}

CASE(a_table_that_does_not_fit_its_structure_is_refused)
{
    struct key two[] = {typed_parameters[4], KEY_END};
    assert_true(parameters_check(two, sizeof(struct typed_parameters), "x", hear()));
    assert_bad_input(parameters_check(two, two[0].offset + 3, "x", hear()),
                     "x: parameter \"word\" has no field within");
    two[0].fallback = 3;
    assert_bad_input(parameters_check(two, sizeof(struct typed_parameters), "x", hear()),
                     "default 3 of parameter \"word\" is outside");
}

/* ---- What policies share --------------------------------------------------------------------- */

enum { QUEUES = 40, STEPS = 20000 };

static uint32_t first_by_scan(const bool *present, const struct queue_rank *rank)
{
    uint32_t first = SIM_NONE;
    for (uint32_t q = 0; q < QUEUES; q++)
        if (present[q] &&
            (first == SIM_NONE || rank[q].first < rank[first].first ||
             (rank[q].first == rank[first].first && rank[q].second < rank[first].second)))
            first = q;
    return first;
}

CASE(queue_order_agrees_with_a_scan_after_any_change)
{
    bool present[QUEUES] = {false};
    struct queue_rank rank[QUEUES] = {{0, 0}};
    RANDOM_STREAM(stream, 5, RANDOM_TEST, 1, 0);
    struct queue_order *order = queue_order_create(suite_arena(), QUEUES);
    for (int step = 0; step < STEPS; step++) {
        const uint32_t queue = (uint32_t)gsl_rng_uniform_int(&stream.rng, QUEUES);
        present[queue] = gsl_rng_uniform(&stream.rng) < 0.6;
        rank[queue] = (struct queue_rank){(int64_t)gsl_rng_uniform_int(&stream.rng, 20),
                                          (int64_t)gsl_rng_uniform_int(&stream.rng, 3)};
        if (present[queue])
            queue_order_set(order, queue, rank[queue]);
        else
            queue_order_remove(order, queue);
        assert_int_equal(queue_order_first(order, NULL), first_by_scan(present, rank));
    }
}

enum { CONFIGURATIONS = 48 };

/* One function of random times and costs, one stage. */
static void random_workload(struct workload *workload, struct random_stream *stream)
{
    struct configuration *all = workload->functions[0].configurations;
    for (size_t i = 0; i < CONFIGURATIONS; i++) {
        all[i] = (struct configuration){.batch = (uint16_t)(1u << (i / 16)),
                                        .vcpu = (uint16_t)(1 + i / 4 % 4),
                                        .vgpu = (uint16_t)(1 + i % 4)};
        all[i].time = (sim_time_t)gsl_rng_uniform_int(&stream->rng, 40) + 1;
        all[i].cost_per_job_usd = (double)gsl_rng_uniform_int(&stream->rng, 30);
    }
}

static void check_cheapest(const struct configuration *all, uint32_t chosen, uint32_t jobs,
                           sim_time_t budget)
{
    bool any = false;
    for (size_t i = 0; i < CONFIGURATIONS; i++)
        any = any || (all[i].batch <= jobs && all[i].time <= budget);
    assert_true(all[chosen].batch <= jobs);
    assert_int_equal(any, all[chosen].time <= budget);
    for (size_t i = 0; i < CONFIGURATIONS; i++) {
        if (all[i].batch > jobs)
            continue;
        if (any && all[i].time <= budget)
            assert_true(all[chosen].cost_per_job_usd <= all[i].cost_per_job_usd);
        if (!any)
            assert_true(all[chosen].time <= all[i].time);
    }
}

CASE(planner_choice_is_the_best_of_all_by_brute_force)
{
    struct configuration all[CONFIGURATIONS] = {{0}};
    struct gpu_kind kind = {.units = 4, .speed = 1};
    struct function_gpu on = {.count = CONFIGURATIONS, .runs = true};
    struct function function = {.name = (char[]){"f"},
                                .gpus = &on,
                                .configurations = all,
                                .configuration_count = CONFIGURATIONS};
    struct stage stage = {.function = 0};
    struct application application = {.stages = &stage, .stage_count = 1};
    struct gpu_spec gpu = {.sharing = SHARING_MPS, .units = 4, .memory_mb = 1};
    struct invoker_group group = {.count = 1, .vcpus = 4, .gpus = &gpu, .gpu_count = 1};
    struct workload workload = {.functions = &function,
                                .function_count = 1,
                                .applications = &application,
                                .application_count = 1,
                                .queue_count = 1,
                                .kinds = &kind,
                                .kind_count = 1,
                                .cluster = {.groups = &group, .group_count = 1}};
    struct random_stream stream;
    for (uint64_t instance = 0; instance < 200; instance++) {
        random_stream_open(&stream, 11, RANDOM_TEST, instance, 0);
        random_workload(&workload, &stream);
        CLOSED(arena_clear) struct arena arena = {0};
        struct planner *planner =
            must(planner_create(&arena, &workload, 8, PLANNER_PROPORTIONAL, hear()));
        for (uint32_t jobs = 1; jobs < 7; jobs++) {
            for (sim_time_t budget = -1; budget < 42; budget++)
                check_cheapest(all, planner_cheapest_among(planner, KINDS_ALL, 0, jobs, budget),
                               jobs, budget);
            const struct configuration *small =
                &all[planner_smallest_among(planner, KINDS_ALL, 0, jobs)];
            const struct configuration *large =
                &all[planner_largest_among(planner, KINDS_ALL, 0, jobs)];
            assert_int_equal(small->vgpu * 10 + small->vcpu, 11);
            assert_int_equal(large->vgpu * 10 + large->vcpu, 44);
            assert_true(small->batch <= jobs && small->batch * 2u > (jobs < 4 ? jobs : 4));
        }
    }
}

/* alexnet's large batches are cheap: over all batches it would be given 0.79 of 13.56 ms, which no
 * configuration of it meets. */
CASE(a_proportional_budget_looks_at_one_job_whatever_batches_may_run)
{
    static const uint32_t bounds[] = {1, 8, 65535};
    EXPERIMENT *experiment =
        must(experiment_load("workloads/experiments/v100-detect-twitter.json", NULL, 0, hear()));
    const struct workload *workload = &experiment->workload;
    sim_time_t first[8] = {0};
    assert_in_range(workload->queue_count, 1, 8);
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        CLOSED(arena_clear) struct arena arena = {0};
        struct planner *planner =
            must(planner_create(&arena, workload, bounds[i], PLANNER_PROPORTIONAL, hear()));
        for (uint32_t queue = 0; queue < workload->queue_count; queue++) {
            const sim_time_t here = planner_budget(planner, queue, SIM_S);
            first[queue] = i == 0 ? here : first[queue];
            assert_int_equal(here, first[queue]);
        }
    }
}

/* An A100 in slices has 8 GB to one seventh and 16 to two; a V100 shared by MPS its 16 to any. */
CASE(a_group_runs_what_one_of_its_gpus_allows_and_holds)
{
    struct gpu_spec gpu = {.model = "A100", .sharing = SHARING_MIG, .units = 7, .memory_mb = 65536};
    struct invoker_group group = {
        .count = 1, .vcpus = 4, .memory_mb = 1000, .gpus = &gpu, .gpu_count = 1};
    struct function function = {.host_memory_mb = 1000};
    struct configuration one = {.vcpu = 4, .vgpu = 1, .gpu_memory_mb = 8192};
    assert_true(planner_group_runs(&group, &function, &one));
    one.gpu_memory_mb = 8193; /* more than the slice's eighth, less than the GPU's */
    assert_false(planner_group_runs(&group, &function, &one));
    one.vgpu = 2;
    assert_true(planner_group_runs(&group, &function, &one));
    one.vgpu = 5;
    assert_false(planner_group_runs(&group, &function, &one));
    gpu.sharing = SHARING_MPS;
    assert_true(planner_group_runs(&group, &function, &one));
    one.vcpu = 5;
    assert_false(planner_group_runs(&group, &function, &one));
    one.vcpu = 4;
    function.host_memory_mb = 1001;
    assert_false(planner_group_runs(&group, &function, &one));
    function.host_memory_mb = 0;
    group.gpu_count = 0;
    assert_false(planner_group_runs(&group, &function, &one));
    one.vgpu = 0; /* it has weights all the same */
    assert_false(planner_group_runs(&group, &function, &one));
    one.gpu_memory_mb = 0;
    assert_true(planner_group_runs(&group, &function, &one));
}

/* ---- Policies in the simulator --------------------------------------------------------------- */

/* The simulator ends a run that over-commits or leaves work behind, so reaching the end is half the
 * proof; the other half is that every job of every request is in the record once. */
CASE(every_baseline_finishes_every_request_within_the_cluster)
{
    static const struct {
        const char *key;
        double value;
    } variants[] = {
        {NULL, 0}, {"max_batch", 2}, {"placement", 1}, {"placement", 2}, {"head_of_line", 1}};
    for (size_t p = 0; p < BASELINES; p++) {
        for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
            run_well_with(diamond, policy_find(baselines[p], NULL), variants[v].key,
                          variants[v].value, &rows, anew());
            uint64_t jobs = 0;
            uint64_t expected = 0;
            for (size_t i = 0; i < rows.batch_count; i++)
                jobs += rows.batches[i].jobs;
            for (size_t i = 0; i < rows.request_count; i++)
                expected += rows.requests[i].application == 0 ? 4 : 2;
            assert_int_equal(result.overall.requests, 800);
            assert_int_equal(result.overall.dropped, 0);
            assert_int_equal(rows.request_count, 800);
            assert_int_equal(jobs, expected);
        }
    }
}

CASE(minimum_and_maximum_configurations_are_what_they_say)
{
    for (int most = 0; most < 2; most++) {
        run_well(diamond, policy_find(most ? "max-config" : "min-config", NULL), &rows, anew());
        for (size_t i = 0; i < rows.batch_count; i++) {
            assert_int_equal(rows.batches[i].configured_batch, 1);
            assert_int_equal(rows.batches[i].vcpu, most ? 2 : 1);
            assert_int_equal(rows.batches[i].vgpu, most ? 4 : 1);
        }
    }
}

CASE(batching_happens_where_it_is_asked_for)
{
    run_well_with(diamond, policy_find("min-config", NULL), "max_batch", 2, &rows, anew());
    assert_true(result.overall.mean_batch > 1.1);
}

/* Two applications of one stage at one server: short jobs with a loose SLO, long ones with a tight
 * one, more than it can serve, so that there is always a choice. */
static const char contention[] =
    "{\"name\":\"contention\",\"cluster\":{\"invokers\":[{\"count\":1,\"vcpus\":1,"
    "\"memory_mb\":1024,\"gpus\":[]}]},\"functions\":{\"functions\":["
    "{\"name\":\"f\",\"service\":{\"distribution\":\"constant\",\"mean_ms\":10}},"
    "{\"name\":\"g\",\"service\":{\"distribution\":\"constant\",\"mean_ms\":30}}]},"
    "\"applications\":[{\"name\":\"short\",\"stages\":[{\"name\":\"s\",\"function\":\"f\"}]},"
    "{\"name\":\"long\",\"stages\":[{\"name\":\"s\",\"function\":\"g\"}]}],"
    "\"arrivals\":{\"process\":\"uniform\",\"low_ms\":5,\"high_ms\":15},"
    "\"slo\":{\"ms\":2000,\"long\":{\"ms\":500}},"
    "\"platform\":{\"prewarm\":\"none\",\"transfer\":{\"latency_ms\":0}},"
    "\"requests\":600,\"warmup_requests\":0,\"seed\":4}";

enum order { BY_ARRIVAL, BY_DEADLINE, BY_TIME };

static int64_t order_key(const struct log *log, const struct batch_row *batch, enum order order)
{
    const struct request_row *request = &log->requests[batch->first_request];
    if (order == BY_DEADLINE)
        return request->arrival_ns + request->slo_ns;
    if (order == BY_TIME)
        return request->application == 0 ? 10 : 30;
    return (int64_t)request->request;
}

/* Whatever was waiting when a batch was dispatched and came later has no lower key. Returns how
 * often there was something to pass over. */
static size_t check_order(const struct log *log, enum order order)
{
    size_t choices = 0;
    for (size_t i = 0; i < log->batch_count; i++) {
        const struct batch_row *here = &log->batches[i];
        for (size_t j = 0; j < log->batch_count; j++) {
            const struct batch_row *other = &log->batches[j];
            if (other->dispatched_ns <= here->dispatched_ns ||
                log->requests[other->first_request].arrival_ns >= here->dispatched_ns)
                continue;
            choices++;
            assert_true(order_key(log, here, order) <= order_key(log, other, order));
        }
    }
    return choices;
}

CASE(each_order_serves_the_lowest_of_those_waiting)
{
    static const struct {
        const char *policy;
        enum order order;
    } cases[] = {{"fifo", BY_ARRIVAL},
                 {"edf", BY_DEADLINE},
                 {"sjf", BY_TIME},
                 {"min-config", BY_ARRIVAL},
                 {"max-config", BY_ARRIVAL}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        run_well(contention, policy_find(cases[c].policy, NULL), &rows, anew());
        assert_true(check_order(&rows, cases[c].order) > 1000);
    }
}

CASE(lost_requests_are_dropped_only_when_told)
{
    const struct policy *edf = policy_find("edf", NULL);
    RESULT keep = {0};
    RESULT drop = {0};
    run_well(contention, edf, &rows, &keep);
    EXPERIMENT *told = load_with(contention, "platform.admission", "'lost'");
    run_well(told->resolved_json, edf, &rows, &drop);
    assert_int_equal(keep.overall.dropped, 0);
    assert_true(drop.overall.dropped > 0);
    assert_true(drop.overall.slo_hit_rate > keep.overall.slo_hit_rate);
    for (size_t i = 0; i < rows.batch_count; i++) {
        const struct request_row *request = &rows.requests[rows.batches[i].first_request];
        assert_true(rows.batches[i].dispatched_ns < request->arrival_ns + request->slo_ns);
    }
}

CASE(policy_built_outside_the_tree_loads_and_finishes_every_request)
{
    char path[32];
    compile_plugin("tests/plugins/shortest_queue.c", path);
    const struct policy *policy = must(policy_find(path, hear()));
    unlink(path);
    assert_string_equal(policy->name, "shortest-queue");
    run_well(diamond, policy, &rows, anew());
    assert_int_equal(result.overall.requests, 800);
    assert_int_equal(result.overall.dropped, 0);
}

CASE(policies_that_break_a_rule_are_stopped_by_name)
{
    static const struct policy *const breakers[] = {&plugin_overcommit, &plugin_absent_jobs,
                                                    &plugin_spinner};
    for (size_t i = 0; i < sizeof breakers / sizeof *breakers; i++) {
        assert_bad_run(run(diamond, breakers[i], &rows, anew(), hear()), "rule");
        assert_contains(heard.message, breakers[i]->name);
    }
}

/* Who refuses: a rule of the policy's own, its default, or the experiment in place of that. */
CASE(who_refuses_is_said_of_rules_defaults_and_the_experiment)
{
    static const struct {
        const char *policy, *admission, *how;
    } cases[] = {{"fifo", NULL, NULL},
                 {"headway", NULL, "by its default admission (efficient)"},
                 {"headway", "none", NULL},
                 {"headway", "lost", "by platform.admission"},
                 {"fifo", "lost", "by platform.admission"},
                 {"clockwork", "lost",
                  "by a rule of its own (what cannot be in time even alone, or in its "
                  "queue's largest batch)"},
                 {"clockwork own_admission=off", NULL, NULL},
                 {"clockwork own_admission=off", "lost", "by platform.admission"},
                 {"infless", "lost",
                  "by a rule of its own (what exceeds the capacity of its instances) and "
                  "by platform.admission"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct override overrides[] = {{"policy.name", cases[i].policy},
                                             {"platform.admission", cases[i].admission}};
        EXPERIMENT *e = must(experiment_load("workloads/experiments/strict-light.json", overrides,
                                             cases[i].admission == NULL ? 1 : 2, hear()));
        double *values = NULL;
        const struct policy *policy = must(policy_resolve(e, &values, hear()));
        const char *how = policy_refusal(e->arena, policy, values, e);
        if (cases[i].how == NULL)
            assert_null(how);
        else
            assert_string_equal(how, cases[i].how);
    }
}

CASE(parameters_behind_the_name_of_a_policy_are_set)
{
    const struct override good[] = {{"policy.name", "esg headroom=0 late=lead"}};
    const struct override bad[] = {{"policy.name", "esg k=3 late"}};
    double *values = NULL;
    EXPERIMENT *e =
        must(experiment_load("workloads/experiments/strict-light.json", good, 1, hear()));
    const struct policy *policy = must(policy_resolve(e, &values, hear()));
    assert_true(values[parameter_index(policy->parameters, "headroom")] == 0);
    assert_true(values[parameter_index(policy->parameters, "late")] == 0);
    assert_bad_input(experiment_load("workloads/experiments/strict-light.json", bad, 1, hear()),
                     "PARAMETER=VALUE");
}

SUITE("policies")
