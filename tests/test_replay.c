/* Replays: on a backend that does what the model says a replay is the simulation, row by row; on
 * one that does otherwise it keeps what really happened; and what it cannot do it refuses. */
#include <time.h>

#include "results/store/run_details.h"
#include "sim/run/replay.h"
#include "sched/registry.h"
#include "sim/backend/backend.h"
#include "sim/run/run_once.h"
#include "tests/fixture_replay.h"
#include "tests/fixture_rows.h"
#include "tests/worlds.h"

OWNER(results_free, struct results)

enum { WORLDS = 12 };

struct case_ {
    const char *policy;
    const char *settings[4]; /* key, value, key, value */
};

/* ---- Running --------------------------------------------------------------------------------- */

/* A run's rows and figures. */
struct outcome {
    bool good;
    struct run_rows rows;
    struct simulation_result result;
};

static void outcome_clear(struct outcome *outcome)
{
    run_rows_clear(&outcome->rows);
    if (outcome->good)
        simulation_result_clear(&outcome->result);
}

#define OUTCOME CLOSED(outcome_clear) struct outcome

static const struct batch_row *batches(const struct outcome *outcome, size_t *count)
{
    *count = outcome->rows.batch.size / sizeof(struct batch_row);
    return (const struct batch_row *)(const void *)outcome->rows.batch.bytes;
}

/* The experiment under its own policy, on `backend`; NULL: simulated. */
static struct outcome play(const struct experiment *experiment, const struct backend *backend,
                           const struct progress *progress)
{
    struct outcome outcome = {.good = false};
    double *values = NULL;
    const struct policy *policy = must(policy_resolve(experiment, &values, hear()));
    const struct recorder recorder = run_rows_recorder(&outcome.rows);
    const struct simulation_options options = {
        .backend = backend, .recorder = &recorder, .progress = progress, .bounds = true};
    outcome.good =
        simulation_run_with(experiment, policy, values, &options, &outcome.result, hear());
    return outcome;
}

static struct outcome play_well(const struct experiment *experiment, const struct backend *backend)
{
    struct outcome outcome = play(experiment, backend, NULL);
    assert_good(outcome.good);
    return outcome;
}

static struct outcome rehearse(const struct experiment *experiment, double factor, double jitter_cv,
                               double speedup, struct emulated_figures *figures)
{
    const struct emulated_options options = {
        .speedup = speedup, .factor = factor, .jitter_cv = jitter_cv, .seed = 9};
    OWNED(arena_home_free) struct emulated *rehearsal = must(emulated_create(&options));
    const struct backend backend = emulated_backend(rehearsal);
    struct outcome outcome = play_well(experiment, &backend);
    if (figures != NULL)
        *figures = emulated_figures(rehearsal);
    return outcome;
}

/* Padding aside, the same bytes: as a results file would hold them. */
static void assert_rows_equal(const struct kept *a, const struct kept *b,
                              const struct layout *layout)
{
    static const size_t bytes[] = {
        [COLUMN_TEXT] = 1, [COLUMN_U8] = 1,  [COLUMN_U16] = 2, [COLUMN_U32] = 4,
        [COLUMN_U64] = 8,  [COLUMN_I64] = 8, [COLUMN_F64] = 8};
    assert_int_equal(a->size, b->size);
    assert_int_equal(a->size % layout->row_bytes, 0);
    for (size_t at = 0; at < a->size; at += layout->row_bytes)
        for (size_t c = 0; c < layout->count; c++) {
            const struct column *column = &layout->columns[c];
            const size_t place = at + column->offset;
            if (memcmp((const char *)a->bytes + place, (const char *)b->bytes + place,
                       bytes[column->type] * column->length) != 0)
                fail_msg("%s, row %zu: %s differs", layout->title, at / layout->row_bytes,
                         column->name);
        }
}

static void assert_outcomes_equal(const struct outcome *a, const struct outcome *b)
{
    assert_rows_equal(&a->rows.request, &b->rows.request, &layout_requests);
    assert_rows_equal(&a->rows.batch, &b->rows.batch, &layout_batches);
    assert_rows_equal(&a->rows.job, &b->rows.job, &layout_jobs);
    assert_rows_equal(&a->rows.container, &b->rows.container, &layout_containers);
    assert_rows_equal(&a->rows.decision, &b->rows.decision, &layout_decisions);
    assert_rows_equal(&a->rows.timeline, &b->rows.timeline, &layout_timeline);
    assert_memory_equal(&a->result.overall, &b->result.overall, sizeof a->result.overall);
    /* A replay has no capacity bound, which is of simulated noise. */
    struct run_measures ours = a->result.run, theirs = b->result.run;
    ours.bound_capacity_slo_hit_rate = theirs.bound_capacity_slo_hit_rate = 0;
    assert_memory_equal(&ours, &theirs, sizeof ours);
    assert_memory_equal(a->result.applications, b->result.applications,
                        a->result.application_count * sizeof *a->result.applications);
}

/* ---- The model as backend -------------------------------------------------------------------- */

CASE(a_replay_of_what_the_model_says_is_the_simulation_byte_for_byte)
{
    static const struct case_ cases[] = {
        {"esg", {NULL}},
        {"esg", {"policy.params.method", "frontier"}},
        {"infless", {NULL}},
        {"fast-gshare", {"policy.params.quotas", "off", "policy.params.elastic", "off"}},
        {"dilu", {"policy.params.limit", "1"}},
        {"orion", {"policy.params.prewarm", "off"}},
        {"aquatope", {"policy.params.pool", "off", "policy.params.rounds", "2"}},
        {"nexus", {NULL}},
        {"gpulet", {NULL}},
        {"fifo", {"policy.params.max_batch", "4"}},
        {"edf", {"platform.decision_cost", "{\"model\":\"fixed\",\"ms\":0.5}"}},
        {"clockwork", {NULL}},
        {"grandslam", {"platform.decision_cost", "{\"model\":\"zero\"}"}},
        {"openwhisk", {NULL}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (uint64_t world = c % 3; world < WORLDS; world += 3) {
            struct overrides overrides = warm();
            override_add(&overrides, "policy.name", cases[c].policy);
            for (size_t i = 0; i < 4 && cases[c].settings[i] != NULL; i += 2)
                override_add(&overrides, cases[c].settings[i], cases[c].settings[i + 1]);
            EXPERIMENT *experiment = parse(world_random(world, world % 2 == 0), &overrides);
            OUTCOME simulated = play_well(experiment, NULL);
            OUTCOME replayed = rehearse(experiment, 1, 0, 0, NULL);
            assert_outcomes_equal(&simulated, &replayed);
        }
}

CASE(interference_is_the_backend_s_own)
{
    struct overrides on = warm(), off = warm();
    char *json = world_random(1, false);
    override_add(&on, "platform.interference", "true");
    override_add(&on, "seed", "8");
    override_add(&off, "seed", "8");
    EXPERIMENT *with = parse(json, &on), *without = parse(json, &off);
    OUTCOME disturbed = play_well(with, NULL);
    OUTCOME replayed = rehearse(with, 1, 0, 0, NULL);
    OUTCOME alone = play_well(without, NULL);
    assert_true(disturbed.result.run.slowdown_mean > 1.01);
    assert_outcomes_equal(&replayed, &alone);
}

CASE(a_factor_on_reality_is_the_slowdown_of_every_batch)
{
    EXPERIMENT *experiment = lone(NULL, NULL, NULL);
    struct emulated_figures figures;
    OUTCOME outcome = rehearse(experiment, 1.25, 0, 0, &figures);
    size_t count;
    const struct batch_row *rows = batches(&outcome, &count);
    assert_int_equal(count, 300);
    assert_int_equal(figures.batches, 300);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(rows[i].finished_ns - rows[i].started_ns, 125 * SIM_MS);
        assert_true(fabs(rows[i].slowdown - 1.25) < 1e-12);
    }
    assert_true(fabs(outcome.result.run.slowdown_mean - 1.25) < 1e-12);
    assert_int_equal(figures.late_ns_max, 0);
    assert_true(figures.together >= 2 && figures.together <= 4);
}

CASE(a_reality_below_the_model_breaks_no_bound)
{
    EXPERIMENT *experiment = lone(NULL, NULL, NULL);
    OUTCOME outcome = rehearse(experiment, 0.5, 0, 0, NULL);
    assert_true(outcome.result.overall.latency_ms_p50 < 100);
}

/* Lognormal of mean 1: 300 draws of cv 0.2 have a mean within 4 standard errors of 1, and a
 * standard deviation near 0.2; other seeds draw other factors, the same the same. */
CASE(jitter_has_the_mean_and_spread_asked_for)
{
    EXPERIMENT *experiment = lone(NULL, NULL, NULL);
    OUTCOME outcome = rehearse(experiment, 1, 0.2, 0, NULL);
    OUTCOME again = rehearse(experiment, 1, 0.2, 0, NULL);
    size_t count;
    const struct batch_row *rows = batches(&outcome, &count);
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        sum += rows[i].slowdown;
        squares += rows[i].slowdown * rows[i].slowdown;
    }
    const double mean = sum / (double)count;
    const double spread = sqrt(squares / (double)count - mean * mean);
    assert_true(fabs(mean - 1) < 4 * 0.2 / sqrt((double)count));
    assert_true(spread > 0.15 && spread < 0.25);
    assert_outcomes_equal(&outcome, &again);
}

/* No upper limits: they would depend on the machine. */
CASE(in_real_time_nothing_ends_before_its_time)
{
    EXPERIMENT *experiment = lone(NULL, "requests", "100");
    struct emulated_figures figures;
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    OUTCOME outcome = rehearse(experiment, 1, 0, 40, &figures);
    clock_gettime(CLOCK_MONOTONIC, &end);
    const double wall =
        (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) * 1e-9;
    assert_true(wall >= sim_to_s(figures.last_end) / 40);
    size_t count;
    const struct batch_row *rows = batches(&outcome, &count);
    assert_int_equal(count, 100);
    double late = 0;
    for (size_t i = 0; i < count; i++) {
        const sim_time_t took = rows[i].finished_ns - rows[i].started_ns;
        assert_true(took >= 100 * SIM_MS);
        late += (double)(took - 100 * SIM_MS) / (double)count;
    }
    /* All that a batch takes beyond the model here is its late start. */
    assert_true(fabs(late - figures.late_ns_mean) < 1);
    assert_true(figures.late_ns_mean <= (double)figures.late_ns_max);
}

/* ---- A scripted backend ---------------------------------------------------------------------- */

/* Ends what it is told after script->takes(number), or does worse. */
struct script {
    sim_time_t (*takes)(const struct backend_batch *batch);
    uint64_t fail_start; /* at this batch's start; 0: never */
    uint64_t fail_wait;  /* at this call of wait */
    uint64_t lie;        /* at this end it tells */
    uint32_t lie_id;     /* … this id */
    sim_time_t lie_by;   /* … or a time so much later, earlier */
    uint64_t started, waits, told;
    sim_time_t last;
    struct {
        uint32_t id;
        sim_time_t end;
    } running[64];
    size_t count;
    size_t opened;
};

static bool script_open(void *context, const struct experiment *experiment, struct error *error)
{
    struct script *script = context;
    script->opened++;
    return script->opened < 2 || error_input(error, "opened twice");
}

static bool script_start(void *context, const struct backend_batch *batch, sim_time_t due,
                         struct error *error)
{
    struct script *script = context;
    if (script->fail_start != 0 && batch->number == script->fail_start)
        return error_run(error, "the device is gone");
    for (size_t i = 0; i < script->count; i++)
        assert_int_not_equal(script->running[i].id, batch->id);
    assert_true(due >= script->last);
    assert_int_equal(batch->modelled, 100 * SIM_MS);
    assert_int_equal(batch->number, script->started);
    assert_int_equal(batch->gpu, 0);
    assert_true(batch->container < 4);
    assert_true(script->count < 64);
    script->running[script->count].id = batch->id;
    script->running[script->count++].end = due + script->takes(batch);
    script->started++;
    return true;
}

static bool script_wait(void *context, sim_time_t until, uint32_t *ended, sim_time_t *time,
                        struct error *error)
{
    struct script *script = context;
    size_t first = SIZE_MAX;
    if (++script->waits == script->fail_wait)
        return error_run(error, "the device does not answer");
    for (size_t i = 0; i < script->count; i++)
        if (script->running[i].end <= until &&
            (first == SIZE_MAX || script->running[i].end < script->running[first].end))
            first = i;
    *ended = SIM_NONE;
    *time = until;
    if (first != SIZE_MAX) {
        *ended = script->running[first].id;
        *time = script->running[first].end;
        script->running[first] = script->running[--script->count];
        if (++script->told == script->lie) {
            *ended = script->lie_by != 0 ? *ended : script->lie_id;
            *time += script->lie_by;
        }
    }
    script->last = *time;
    return true;
}

static struct backend script_backend(struct script *script)
{
    return (struct backend){
        .context = script, .open = script_open, .start = script_start, .wait = script_wait};
}

static sim_time_t takes_modelled(const struct backend_batch *batch)
{
    return batch->modelled;
}

/* Every other batch takes three times as long: ends come out of the order of starts. */
static sim_time_t takes_turns(const struct backend_batch *batch)
{
    return batch->number % 2 == 0 ? 300 * SIM_MS : 20 * SIM_MS;
}

/* Whole seconds: batches that started at different times end at the same time. */
static sim_time_t takes_nothing(const struct backend_batch *batch)
{
    return 0;
}

CASE(ends_late_early_and_out_of_order_are_kept_as_they_came)
{
    EXPERIMENT *experiment = lone(NULL, NULL, NULL);
    struct script script = {.takes = takes_turns};
    const struct backend backend = script_backend(&script);
    OUTCOME outcome = play_well(experiment, &backend);
    size_t count, overtaken = 0;
    const struct batch_row *rows = batches(&outcome, &count);
    assert_int_equal(count, 300);
    assert_int_equal(script.count, 0);
    for (size_t i = 0; i < count; i++) {
        const bool slow = rows[i].batch % 2 == 0;
        assert_int_equal(rows[i].finished_ns - rows[i].started_ns, (slow ? 300 : 20) * SIM_MS);
        assert_true(fabs(rows[i].slowdown - (slow ? 3 : 0.2)) < 1e-12);
        assert_true(i == 0 || rows[i].finished_ns >= rows[i - 1].finished_ns);
        overtaken += i > 0 && rows[i].batch < rows[i - 1].batch;
    }
    assert_true(overtaken > 10);
}

CASE(a_batch_may_end_at_the_instant_of_its_start)
{
    EXPERIMENT *experiment = lone(NULL, NULL, NULL);
    struct script script = {.takes = takes_nothing};
    const struct backend backend = script_backend(&script);
    OUTCOME outcome = play_well(experiment, &backend);
    assert_true(outcome.result.overall.latency_ms_max == 0);
    assert_true(outcome.result.overall.slo_hit_rate == 1);
}

/* Constant arrivals every 25 ms, four at a time for 100 ms each: the fifth finds the first's place
 * free, since an end goes before an arrival of the same instant. */
CASE(an_end_goes_before_an_arrival_of_the_same_instant)
{
    EXPERIMENT *experiment =
        lone(NULL, "arrivals", "{\"process\":\"uniform\",\"low_ms\":25,\"high_ms\":25}");
    struct script script = {.takes = takes_modelled};
    const struct backend backend = script_backend(&script);
    OUTCOME replayed = play_well(experiment, &backend);
    OUTCOME simulated = play_well(experiment, NULL);
    assert_true(replayed.result.overall.latency_ms_max == 100);
    assert_rows_equal(&replayed.rows.request, &simulated.rows.request, &layout_requests);
    assert_rows_equal(&replayed.rows.batch, &simulated.rows.batch, &layout_batches);
}

static void refused(const struct experiment *experiment, const struct backend *backend,
                    const char *says)
{
    OUTCOME outcome = play(experiment, backend, NULL);
    assert_false(outcome.good);
    assert_contains(heard.message, says);
    assert_null(strchr(heard.message, '\n'));
}

CASE(a_backend_that_fails_ends_the_run_with_its_own_words)
{
    EXPERIMENT *experiment = lone(NULL, NULL, NULL);
    struct script start = {.takes = takes_turns, .fail_start = 7};
    struct script wait = {.takes = takes_turns, .fail_wait = 20};
    struct script open = {.takes = takes_turns, .opened = 1};
    struct backend backend = script_backend(&start);
    refused(experiment, &backend, "the device is gone");
    backend = script_backend(&wait);
    refused(experiment, &backend, "the device does not answer");
    backend = script_backend(&open);
    refused(experiment, &backend, "opened twice");
}

CASE(an_end_that_is_none_is_told)
{
    EXPERIMENT *experiment = lone(NULL, NULL, NULL);
    struct script scripts[] = {
        {.takes = takes_turns, .lie = 5, .lie_id = 1000000},
        {.takes = takes_turns, .lie = 5, .lie_id = 63},
        {.takes = takes_turns, .lie = 5, .lie_by = -SIM_HOUR},
        {.takes = takes_turns, .lie = 5, .lie_by = SIM_HOUR},
    };
    static const char *const says[] = {"batch 1000000 ended, which did not execute",
                                       "batch 63 ended, which did not execute", "not between now",
                                       "not between now"};
    for (size_t i = 0; i < 4; i++) {
        const struct backend backend = script_backend(&scripts[i]);
        refused(experiment, &backend, says[i]);
    }
}

static bool stop_after_ten(void *context, uint64_t finished, uint64_t total)
{
    size_t *calls = context;
    ++*calls;
    return finished < 10;
}

CASE(a_replay_is_stopped_within_a_step)
{
    EXPERIMENT *experiment = lone(NULL, NULL, NULL);
    struct script script = {.takes = takes_turns};
    const struct backend backend = script_backend(&script);
    size_t calls = 0;
    const struct progress progress = {.context = &calls, .report = stop_after_ten};
    OUTCOME outcome = play(experiment, &backend, &progress);
    assert_false(outcome.good);
    assert_string_equal(heard.message, "lone: interrupted");
    assert_int_equal(outcome.rows.request.size / sizeof(struct request_row), 10);
    assert_true(calls > 10);
}

/* ---- Refusals -------------------------------------------------------------------------------- */

static void refuses(struct experiment *experiment, const char *says)
{
    struct script script = {.takes = takes_modelled};
    const struct backend backend = script_backend(&script);
    refused(experiment, &backend, says);
    experiment_free(experiment);
}

CASE(what_a_backend_does_not_do_is_refused_with_a_remedy)
{
    refuses(lone("fifo", "platform.initial", "{\"f\":1}"),
            "one of f would start on invoker 0; have one more from the beginning: "
            "platform.initial.f");
    refuses(lone("infless", "platform.initial", "cold"), "platform.initial.f");
    refuses(lone("fifo", "platform.prewarm", "ewma"), "set it to \"none\"");
    refuses(lone("fifo", "platform.keep_alive", "none"), "set platform.keep_alive to \"infinite\"");
}

/* FaST-GShare gives pods their share for a part of the time; Dilu gives an instance that works
 * alone its limit, more than it asked for. */
CASE(parts_of_the_time_and_shares_that_change_are_refused)
{
    static const struct {
        const char *policy, *key, *value, *says;
    } cases[] = {
        {"fast-gshare", "policy.params.elastic", "off", "set the policy's quotas to 100 %"},
        {"dilu", "policy.params.limit", "4", "changes no share of a batch in execution"},
    };
    for (size_t c = 0; c < 2; c++) {
        struct overrides overrides = warm();
        override_add(&overrides, "policy.name", cases[c].policy);
        override_add(&overrides, cases[c].key, cases[c].value);
        override_add(&overrides, "slo.factor", "10");
        EXPERIMENT *experiment = parse(world_random(2, true), &overrides);
        const struct emulated_options options = {0};
        OWNED(arena_home_free) struct emulated *rehearsal = must(emulated_create(&options));
        const struct backend backend = emulated_backend(rehearsal);
        refused(experiment, &backend, cases[c].says);
    }
}

CASE(containers_are_numbered_as_the_experiment_lists_them)
{
    struct overrides overrides = warm();
    override_add(&overrides, "policy.name", "esg");
    EXPERIMENT *experiment = parse(world_random(0, true), &overrides);
    OUTCOME outcome = rehearse(experiment, 1, 0, 0, NULL);
    size_t count;
    const struct batch_row *rows = batches(&outcome, &count);
    for (size_t i = 0; i < count; i++) {
        const struct application *application =
            &experiment->workload.applications[rows[i].application];
        const uint32_t function = application->stages[rows[i].stage].function;
        assert_int_equal(rows[i].container / 8, function);
    }
}

/* ---- The results file ------------------------------------------------------------------------ */

static void attribute_is(const struct run_details *details, const char *hash, const char *name,
                         const char *value)
{
    const char *text = must(run_details_text(details, hash, name));
    assert_string_equal(text, value);
}

CASE(a_replay_s_file_says_that_no_gpu_took_part)
{
    EXPERIMENT *good = lone(NULL, NULL, NULL), *cold = lone(NULL, "platform.initial", "cold");
    struct resolved_run run = {.experiment = good};
    run.policy = policy_resolve(good, &run.values, hear());
    const struct resolved_run refused = {cold, run.policy, run.values};
    const struct emulated_options options = {.factor = 1.5};
    OWNED(arena_home_free) struct emulated *rehearsal = emulated_create(&options);
    const struct replay_target target = replay_rehearsal(rehearsal);
    TEMPORARY(path, "");
    struct store *store = must(store_create(path, hear()));
    /* What is refused leaves the file fit for the next run. */
    assert_bad_run(replay_record(store, &refused, &target, anew(), hear()), "platform.initial.f");
    assert_good(replay_record(store, &run, &target, anew(), hear()));
    assert_true(store_finish(store, hear()));
    OWNED(results_free) struct results *results = must(results_load(path, hear()));
    assert_int_equal(results->run_count, 1);
    assert_true(fabs(results->runs[0].run.slowdown_mean - 1.5) < 1e-12);
    struct run_details *details = run_details_open(path, hear());
    attribute_is(details, good->hash, "replay_backend", "rehearsal");
    attribute_is(details, good->hash, "replay_device", "none");
    attribute_is(details, good->hash, "replay_driver", "none");
    attribute_is(details, good->hash, "replay_details", "{}");
    assert_true(run_details_has(details, good->hash, "batches"));
    run_details_close(details);
}

CASE(a_plan_tells_what_a_replay_takes)
{
    EXPERIMENT *experiment = lone(NULL, NULL, NULL);
    struct resolved_run run = {.experiment = experiment};
    run.policy = policy_resolve(experiment, &run.values, hear());
    struct replay_plan plan;
    OUTCOME outcome = play_well(experiment, NULL);
    size_t count;
    const struct batch_row *rows = batches(&outcome, &count);
    assert_true(replay_plan(&run, &plan, hear()));
    assert_int_equal(plan.batches, count);
    assert_true(plan.seconds == sim_to_s(rows[count - 1].finished_ns));
    assert_true(plan.together >= 2 && plan.together <= 4);
}

SUITE("replay")
