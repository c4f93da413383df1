/* The life of a request, against a world small enough to follow by hand and against what must add
 * up in any world. */
#include <math.h>

#include <cjson/cJSON.h>

#include "results/inspect/explain.h"
#include "results/store/store.h"
#include "sched/registry.h"
#include "tests/suite.h"
#include "tests/worlds.h"

/* ---- A world by hand -------------------------------------------------------------------------
 *
 * One invoker with 2 vCPUs and a GPU of 2 units; every batch takes 1 and 1, so two run at once,
 * each at 2/3 of its speed where both execute. f takes 100 ms, g 60 ms; a decision takes 1 ms, a
 * cold start of f 300 ms; one container of each stands ready. A vCPU costs 0.001 $/s, a unit 0.01
 * $/s. Requests for a (f) → b (g) come at 0, 10 and 20 ms. The policy takes the oldest job of the
 * first queue that has one.
 *
 *    0  a of request 0 is dispatched, launched at 1, on the warm container; runs to 101
 *   10  a of request 1: launched at 11, its container starts for 300 ms; executes from 311
 *   20  a of request 2 waits: both vCPUs are held
 *  101  b of request 0 is ready; a of request 2, in the first queue, is dispatched, launched at
 * 102, warm, runs to 202 202  b of requests 0 and 2 wait; that of 0 is dispatched, launched at 203,
 * runs to 263 263  b of request 2 is dispatched, launched at 264; by 311 it has 13 ms to go, which
 * take 19.5 beside a of request 1: it ends at 330.5 330.5  a of request 1 has done 13 of its 100
 * ms; alone again, it ends at 417.5 417.5  b of request 1 is dispatched, launched at 418.5, runs to
 * 478.5
 */

static bool by_hand_decide(void *state, struct platform *platform)
{
    const uint32_t queue = platform_next_queue(platform, 0);
    if (queue == SIM_NONE)
        return false;
    const uint32_t function = platform_queue_function(platform, queue);
    if (!platform_fits(platform, function, 0, 0))
        return false;
    platform_explain(platform, 3, 0.25, 120 * SIM_MS);
    return platform_dispatch(platform, queue, 1, 0, 0);
}

static const struct policy by_hand = {
    .abi = POLICY_ABI, .name = "by-hand", .summary = "of this test", .decide = by_hand_decide};

struct recorded {
    char path[64];
    struct results *results;
    struct run_record *record;
};

static void temporary(char path[64], const char *text)
{
    snprintf(path, 64, "/tmp/esgsim-explain-XXXXXX");
    write_temporary(path, text);
}

/* Runs `json` into a results file of its own. */
static void record(const char *json, const struct policy *policy, struct recorded *recorded)
{
    EXPERIMENT *experiment = load(json);
    OWNED(free) double *values = policy_values(policy, NULL, 0);
    temporary(recorded->path, "");
    struct store *store = must(store_create(recorded->path, hear()));
    assert_true(store_begin_experiment(store, experiment, policy, values, 0, true, hear()));
    const struct recorder recorder = store_recorder(store);
    assert_good(simulation_run(experiment, policy, values, &recorder, NULL, anew(), hear()));
    assert_true(store_end_run(store, &result, hear()));
    assert_true(store_finish(store, hear()));
    recorded->results = results_load(recorded->path, hear());
    assert_non_null(recorded->results);
    recorded->record =
        run_record_load(recorded->path, recorded->results->runs[0].hash, false, hear());
}

static void recorded_clear(struct recorded *recorded)
{
    arena_home_free(recorded->record);
    results_free(recorded->results);
    unlink(recorded->path);
}

/* `change` edits the world; NULL: nothing. */
static void record_changed(const char *level, void (*change)(char *json), struct recorded *recorded)
{
    char trace[64];
    temporary(trace, "time_ms,application\n0,pair\n10,pair\n20,pair\n");
    char *more = formatted("'policy':{'name':'fifo'},'record':'%s'", level);
    char *json =
        world_build(&(struct world){.name = "by-hand",
                                    .vcpus = 2,
                                    .memory_mb = 9000,
                                    .units = 2,
                                    .gpu_memory_mb = 1000,
                                    .functions = {{"f", "1", "1", "1", "[[100]]", 0, 300, 0.5},
                                                  {"g", "1", "1", "1", "[[60]]", 0, 200, 0.5}},
                                    .interference = 0.5,
                                    .input_bytes = 1000,
                                    .applications = "pair: a=f b=g(a)",
                                    .trace = trace,
                                    .slo_ms = 300,
                                    .platform = "'initial':{'f':1,'g':1},'decision_cost':"
                                                "{'model':'fixed','ms':1}",
                                    .more = more,
                                    .requests = 3});
    if (change != NULL)
        change(json);
    record(json, &by_hand, recorded);
    unlink(trace);
}

static void record_by_hand(const char *level, struct recorded *recorded)
{
    record_changed(level, NULL, recorded);
}

static sim_time_t total(const struct stage_time *time)
{
    sim_time_t sum = 0;
    for (size_t p = 0; p < REQUEST_PARTS; p++)
        sum += time->parts[p];
    return sum;
}

static void assert_ms(sim_time_t time, double ms)
{
    if (time != sim_from_ms(ms))
        fail_msg("%.6f ms is not %.6f ms", sim_to_ms(time), ms);
}

CASE(a_request_that_waited_for_room_is_told_to_the_nanosecond)
{
    CLOSED(recorded_clear) struct recorded recorded = {0};
    record_by_hand("all", &recorded);
    assert_non_null(recorded.record);
    struct explanation *told =
        must(explanation_build(&recorded.results->runs[0], recorded.record, 2, hear()));
    assert_int_equal(told->stage_count, 2);
    const sim_time_t *a = told->stages[0].time.parts, *b = told->stages[1].time.parts;
    assert_ms(a[PART_vcpus], 81);
    assert_ms(a[PART_deciding], 1);
    assert_ms(a[PART_alone], 100);
    assert_ms(total(&told->stages[0].time), 182);
    assert_ms(b[PART_vcpus], 60);
    assert_ms(b[PART_behind], 1); /* the decision for the other request, meanwhile */
    assert_ms(b[PART_deciding], 1);
    assert_ms(b[PART_alone], 60);
    assert_ms(b[PART_slowed], 6.5);
    assert_int_equal(told->stages[1].co_runners, 1);
    assert_ms(told->request->finish_ns, 330.5);
    assert_int_equal(told->request->hit, 0);
    assert_true(fabs(told->stages[0].job->cost_usd - 0.0011) < 1e-15);
    assert_true(fabs(told->stages[1].job->cost_usd - 0.0007315) < 1e-15);
    assert_true(told->stages[0].on_path && told->stages[1].on_path);
    assert_ms(told->path.parts[PART_vcpus], 141);
    arena_home_free(told);
}

static void add_a_faster_gpu(char *json)
{
    world_replace(json, "{'f':1,'g':1}", "'warm'");
    world_replace(json, "'memory_mb':1000}]}]",
                  "'memory_mb':1000}]},{'vcpus':2,'memory_mb':9000,'gpus':[{'model':'test',"
                  "'sharing':'mps','units':2,'memory_mb':1000,'speed':2}]}]");
}

/* The same beside an invoker that is free, with a GPU of another kind. */
CASE(room_on_a_gpu_of_another_kind_is_no_room)
{
    CLOSED(recorded_clear) struct recorded recorded = {0};
    record_changed("all", add_a_faster_gpu, &recorded);
    struct explanation *told =
        must(explanation_build(&recorded.results->runs[0], recorded.record, 2, hear()));
    assert_ms(told->stages[0].time.parts[PART_vcpus], 81);
    assert_ms(total(&told->stages[0].time), 182);
    arena_home_free(told);
}

CASE(a_cold_start_and_a_slowed_execution_are_told_apart)
{
    CLOSED(recorded_clear) struct recorded recorded = {0};
    record_by_hand("all", &recorded);
    struct explanation *told =
        must(explanation_build(&recorded.results->runs[0], recorded.record, 1, hear()));
    const sim_time_t *a = told->stages[0].time.parts;
    assert_ms(a[PART_deciding], 1);
    assert_ms(a[PART_cold], 300);
    assert_ms(a[PART_alone], 100);
    assert_ms(a[PART_slowed], 6.5);
    assert_ms(total(&told->stages[0].time), 407.5);
    assert_ms(told->request->finish_ns - told->request->arrival_ns, 468.5);
    assert_int_equal(told->stages[0].decision->alternatives, 3);
    assert_true(told->stages[0].decision->plan_cost_usd == 0.25);
    assert_ms(told->stages[0].decision->plan_time_ns, 120);
    arena_home_free(told);
}

/* In words, from the second line on: the first names the run's hash, which depends on the name of
 * the trace. */
CASE(the_words_are_those_of_the_golden_file)
{
    CLOSED(recorded_clear) struct recorded recorded = {0};
    record_by_hand("all", &recorded);
    OWNED_STREAM(out, text);
    for (uint64_t request = 0; request < 3; request++) {
        struct explanation *told =
            must(explanation_build(&recorded.results->runs[0], recorded.record, request, hear()));
        explanation_text(told, out);
        arena_home_free(told);
    }
    fclose(out);
    char *hash = text;
    const char *own = recorded.results->runs[0].hash;
    while ((hash = strstr(hash, own)) != NULL)
        memset(hash, '#', strlen(own));
    STRING *wanted = file_text("tests/golden/explain.txt");
    if (strcmp(text, wanted) != 0) {
        fputs(text, stderr);
        fail_msg("tests/golden/explain.txt differs from the text above");
    }
}

/* A bar for each part of a stage's time, from when it was ready, and a link to what it waited for.
 */
CASE(the_chart_holds_the_same_times)
{
    CLOSED(recorded_clear) struct recorded recorded = {0};
    record_by_hand("all", &recorded);
    struct explanation *told =
        must(explanation_build(&recorded.results->runs[0], recorded.record, 2, hear()));
    struct chart chart;
    explanation_chart(told, &chart);
    assert_int_equal(chart.row_count, 2);
    double at = 0;
    for (size_t i = 0; i < chart.span_count; i++) {
        const struct chart_span *span = &chart.spans[i];
        if (span->shape == CHART_BAR) {
            assert_true(fabs(span->from - at) < 1e-9);
            at = span->until;
        }
        if (span->shape == CHART_LINK)
            assert_true(span->row == 1 && span->other == 0 && span->from == span->until);
    }
    assert_true(fabs(at - 310.5) < 1e-9); /* it came at 20 and ended at 330.5 */
    arena_home_free(told);
}

CASE(the_json_holds_the_same_figures)
{
    CLOSED(recorded_clear) struct recorded recorded = {0};
    record_by_hand("all", &recorded);
    struct explanation *told =
        must(explanation_build(&recorded.results->runs[0], recorded.record, 2, hear()));
    OWNED_STREAM(out, text);
    assert_true(explanation_json(told, out, hear()));
    fclose(out);
    JSON *root = cJSON_Parse(text);
    assert_int_equal(cJSON_GetArraySize(json_at(root, "stages")), 2);
    assert_true(json_at(root, "stages/1/time/vcpus_ms")->valuedouble == 60);
    assert_true(json_at(root, "stages/1/time/slowed_ms")->valuedouble == 6.5);
    assert_true(json_at(root, "finish_ms")->valuedouble == 330.5);
    arena_home_free(told);
}

CASE(the_latest_are_listed_first)
{
    CLOSED(recorded_clear) struct recorded recorded = {0};
    record_by_hand("all", &recorded);
    OWNED_STREAM(out, text);
    const struct summary_row *run = &recorded.results->runs[0];
    assert_true(explanation_worst(run, recorded.record, "pair", 2, false, out, hear()));
    assert_true(explanation_worst(run, recorded.record, NULL, 9, true, out, hear()));
    assert_bad_input(explanation_worst(run, recorded.record, "pear", 9, false, out, hear()),
                     "pair");
    fclose(out);
    assert_contains(text, "request 1 of pair: 168.500 ms late, after 468.500 ms; most: cold start "
                          "300.000 ms (64.0 %)\nrequest 2 of pair: 10.500 ms late, after 310.500 "
                          "ms; most: execution 160.000 ms (51.5 %)\n{");
    JSON *root = cJSON_Parse(strchr(text, '{'));
    assert_int_equal(cJSON_GetArraySize(json_at(root, "requests")), 3);
    assert_true(json_at(root, "requests/2/late_ms")->valuedouble == -37);
}

CASE(a_file_that_lacks_what_it_takes_says_what_to_do)
{
    static const char *const levels[] = {"summary", "requests"};
    for (size_t i = 0; i < 2; i++) {
        CLOSED(recorded_clear) struct recorded recorded = {0};
        record_by_hand(levels[i], &recorded);
        assert_null(recorded.record);
        assert_bad_input(
            run_record_load(recorded.path, recorded.results->runs[0].hash, false, hear()),
            levels[i]);
        assert_contains(heard.message, "--set record=all");
    }
    CLOSED(recorded_clear) struct recorded recorded = {0};
    record_by_hand("all", &recorded);
    assert_bad_input(explanation_build(&recorded.results->runs[0], recorded.record, 3, hear()),
                     "no request 3");
    assert_bad_input(run_record_load(recorded.path, "0123456789abcdef", false, hear()),
                     "0123456789abcdef");
}

/* ---- Any world ------------------------------------------------------------------------------- */

static sim_time_t stage_begin(const struct explanation *told, const struct explained_stage *stage)
{
    return stage->predecessor_count == 0 ? told->request->arrival_ns : stage->job->ready_ns;
}

static void check_told(const struct explanation *told)
{
    const struct request_row *request = told->request;
    double cost = 0;
    sim_time_t queued = 0, execution = 0, transfer = 0, cold = 0;
    for (uint32_t s = 0; s < told->stage_count; s++) {
        const struct explained_stage *stage = &told->stages[s];
        if (stage->job == NULL) {
            assert_true(request->dropped);
            continue;
        }
        const struct stage_time *time = &stage->time;
        for (size_t p = 0; p < REQUEST_PARTS; p++)
            assert_true(time->parts[p] >= 0);
        assert_int_equal(total(time), stage->batch->finished_ns - stage_begin(told, stage));
        assert_non_null(stage->decision);
        assert_int_equal(stage->decision->jobs, stage->batch->jobs);
        cost += stage->job->cost_usd;
        queued += stage->job->queue_ns;
        execution += time->parts[PART_alone] + time->parts[PART_slowed] + time->parts[PART_host];
        transfer += time->parts[PART_transfer] + time->parts[PART_ingress];
        cold += time->parts[PART_cold];
    }
    if (request->dropped)
        return;
    assert_int_equal(total(&told->path), request->finish_ns - request->arrival_ns);
    assert_int_equal(queued, request->queue_ns);
    assert_int_equal(execution, request->exec_ns);
    assert_int_equal(transfer, request->transfer_ns);
    assert_int_equal(cold, request->cold_ns);
    assert_true(fabs(cost - request->cost_usd) <= 1e-12);
}

CASE(in_any_world_the_parts_add_up_to_latency_and_cost)
{
    static const char *const policies[] = {"esg", "infless", "clockwork", "fifo", "fast-gshare"};
    for (uint64_t number = 0; number < 5; number++) {
        char *json = world_random(number, false);
        world_replace(json, "'seed':", "'record':'all','seed':");
        CLOSED(recorded_clear) struct recorded recorded = {0};
        record(json, policy_find(policies[number], hear()), &recorded);
        assert_non_null(recorded.record);
        for (uint64_t request = 0; request < 400; request += 3) {
            struct explanation *told = must(
                explanation_build(&recorded.results->runs[0], recorded.record, request, hear()));
            check_told(told);
            arena_home_free(told);
        }
    }
}

SUITE("explain")
