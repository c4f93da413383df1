/* A worker process as backend: what it is told, when, and what happens if it misbehaves. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "sim/backend/worker_backend.h"
#include "tests/fixture_folder.h"
#include "tests/fixture_replay.h"
#include "tests/fixture_rows.h"

/* Batches of a function end when the file named as the function is in the folder. */
#define GATED                                                                                      \
    "while read -r _ id f b u; do "                                                                \
    "(until [ -e '%s'/$f ]; do sleep 0.005; done; echo done $id 1.5) & done; wait"

enum { COMMAND = 512, PATIENT_S = 60, ENOUGH = 1000 };

/* ---- Experiments ----------------------------------------------------------------------------- */

#define SURFACE                                                                                    \
    "{\"grid\":{\"batch\":[1,2],\"vcpu\":[1],\"vgpu\":[1,2]},\"latency_ms\":[[[20,12]],[[30,18]]]" \
    ","                                                                                            \
    "\"noise\":{\"cv\":0},\"cold_start_ms\":{\"mean\":200,\"cv\":0},\"gpu_memory_mb\":{"           \
    "\"weights\":"                                                                                 \
    "100,\"per_item\":10},\"host_memory_mb\":100,\"bandwidth_share\":0.5}"

/* Two stages, f then g, of 20 ms on one of four units, alone on an idle GPU. */
static struct experiment *chain(const char *key, const char *value)
{
    static const char json[] =
        "{\"name\":\"chain\",\"cluster\":{\"invokers\":[{\"count\":1,\"vcpus\":8,\"memory_mb\":"
        "8000,"
        "\"gpus\":[{\"model\":\"test\",\"sharing\":\"mps\",\"units\":4,\"memory_mb\":8000}]}],"
        "\"price\":{\"vcpu_hour_usd\":3.6,\"vgpu_hour_usd\":36}},\"functions\":{\"functions\":["
        "{\"name\":\"f\",\"model\":\"f\",\"input_bytes\":1000},"
        "{\"name\":\"g\",\"model\":\"g\",\"input_bytes\":1000}]},\"profile\":{\"device\":\"test\","
        "\"evidence\":\"assumed\",\"source\":\"test\",\"licence\":\"none\",\"unit\":4,"
        "\"functions\":{\"f\":" SURFACE ",\"g\":" SURFACE
        "},\"interference\":{\"model\":\"none\"}},"
        "\"applications\":[{\"name\":\"a\",\"stages\":[{\"name\":\"a\",\"function\":\"f\"},"
        "{\"name\":\"b\",\"function\":\"g\",\"after\":[\"a\"]}]}],"
        "\"arrivals\":{\"process\":\"uniform\",\"low_ms\":60,\"high_ms\":90},\"slo\":{\"factor\":3}"
        ","
        "\"policy\":{\"name\":\"fifo\"},\"platform\":{\"prewarm\":\"none\",\"interference\":false,"
        "\"initial\":{\"f\":4,\"g\":4},\"keep_alive\":\"infinite\",\"decision_cost\":{\"model\":"
        "\"zero\"}},\"requests\":20,\"warmup_requests\":0,\"seed\":5,\"record\":\"all\"}";
    struct overrides overrides = {.count = 0};
    if (key != NULL)
        override_add(&overrides, key, value);
    return parse(json, &overrides);
}

static struct worker *start(const char *command)
{
    return must(worker_start(command, PATIENT_S, -1, hear()));
}

/* Nothing that the worker started is left. */
static void stop(struct worker *worker)
{
    worker_stop(worker);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static struct worker_backend *create(struct worker *worker, bool side_by_side, double warm_s)
{
    return worker_backend_create(worker, side_by_side, warm_s);
}

/* ---- Whole runs ------------------------------------------------------------------------------ */

static void play(const struct experiment *experiment, const struct backend *backend,
                 struct run_rows *rows, struct simulation_result *result)
{
    double *values = NULL;
    const struct policy *policy = policy_resolve(experiment, &values, hear());
    const struct recorder recorder = run_rows_recorder(rows);
    const struct simulation_options options = {
        .backend = backend, .recorder = &recorder, .bounds = true};
    assert_good(policy != NULL);
    assert_good(simulation_run_with(experiment, policy, values, &options, result, hear()));
}

/* Order, exclusive units, and durations that the sleeping worker cannot undercut. */
static void check_rows(const struct replay_row *rows, size_t count, sim_time_t least)
{
    for (size_t i = 0; i < count; i++) {
        const struct replay_row *row = &rows[i];
        assert_true(row->due_ns <= row->asked_ns && row->asked_ns <= row->placed_ns);
        assert_true(row->placed_ns <= row->begun_ns && row->begun_ns <= row->ended_ns);
        assert_true(row->ended_ns - row->placed_ns >= least);
        assert_true(i == 0 || rows[i - 1].ended_ns <= row->ended_ns);
        assert_true(row->units != 0 && row->units < 16);
        for (size_t j = 0; j < i; j++)
            assert_true(rows[j].ended_ns <= row->placed_ns || (rows[j].units & row->units) == 0);
    }
}

CASE(a_replay_decides_as_the_simulation)
{
    OWNED(experiment_free) struct experiment *experiment = chain(NULL, NULL);
    struct worker *worker = start("sh tests/fake_worker.sh 20");
    struct worker_backend *replayed = create(worker, false, 0);
    const struct backend backend = worker_backend(replayed);
    struct run_rows rows[2] = {0};
    struct simulation_result results[2] = {{.application_count = 0}};
    play(experiment, NULL, &rows[0], &results[0]);
    play(experiment, &backend, &rows[1], &results[1]);
    const size_t count = rows[0].batch.size / sizeof(struct batch_row);
    const struct batch_row *simulated = (const void *)rows[0].batch.bytes;
    const struct batch_row *real = (const void *)rows[1].batch.bytes;
    assert_int_equal(count, 40);
    assert_int_equal(rows[1].batch.size, rows[0].batch.size);
    assert_int_equal(rows[1].request.size, rows[0].request.size);
    size_t row_count, each[2] = {0};
    const struct replay_row *told = worker_backend_rows(replayed, &row_count);
    assert_int_equal(row_count, count);
    check_rows(told, row_count, 20 * SIM_MS);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(real[i].configuration, simulated[i].configuration);
        assert_int_equal(real[i].jobs, 1);
        assert_int_equal(simulated[i].jobs, 1);
        assert_true(real[i].finished_ns - real[i].started_ns >= 20 * SIM_MS);
        assert_true(told[i].device_ms == 20);
        assert_true(told[i].modelled_ns == 20 * SIM_MS);
        each[told[i].function]++;
    }
    assert_int_equal(each[0], 20);
    assert_int_equal(each[1], 20);
    assert_true(results[1].overall.latency_ms_mean >= results[0].overall.latency_ms_mean);
    const struct worker_figures figures = worker_backend_figures(replayed);
    assert_true(figures.device_ms_mean > 19.99 && figures.device_ms_mean < 20.01);
    assert_true(figures.host_ms_mean >= 20 && figures.late_mean >= 0);
    assert_true(figures.late_p99 <= figures.late_max);
    double parts = 0; /* rows are a multiple of the parts */
    for (size_t p = 0; p < HOST_PARTS; p++)
        parts += figures.host_parts_ms[p] / HOST_PARTS;
    assert_absolute(parts, figures.host_ms_mean - figures.device_ms_mean + figures.late_mean / 1e3,
                    1e-9);
    for (size_t i = 0; i < 2; i++) {
        run_rows_clear(&rows[i]);
        simulation_result_clear(&results[i]);
    }
    arena_home_free(replayed);
    stop(worker);
}

/* ---- Warming --------------------------------------------------------------------------------- */

/* Lines "ID FUNCTION BATCH UNITS" that the fake worker has read. */
struct told {
    unsigned long batch, units;
    char function[32];
};

static size_t read_log(const char *path, struct told *told)
{
    FILE *file = must(fopen(path, "r"));
    size_t count = 0;
    char line[128];
    for (; count < ENOUGH && fgets(line, sizeof line, file) != NULL; count++) {
        char *at = strchr(line, ' ') + 1, *end = strchr(at, ' ');
        *end = '\0';
        (void)snprintf(told[count].function, sizeof told[count].function, "%s", at);
        told[count].batch = strtoul(end + 1, &at, 10);
        told[count].units = strtoul(at, NULL, 10);
    }
    (void)fclose(file);
    return count;
}

static void open_run(struct worker_backend *backend, const struct experiment *experiment)
{
    const struct backend opened = worker_backend(backend);
    assert_good(opened.open(opened.context, experiment, hear()));
}

CASE(a_worker_is_warmed_once_with_all_and_in_a_hurry_with_all_parts)
{
    OWNED(experiment_free) struct experiment *experiment = chain(NULL, NULL);
    static struct told told[ENOUGH];
    /* Two functions at two batch sizes on four sets of one unit and six of two, or three of two
     * that lie side by side. */
    static const struct {
        bool side_by_side;
        double warm_s;
        size_t combinations, sets;
    } cases[] = {{false, 1e6, 40, 10}, {true, 1e6, 28, 7}, {false, 0, 40, 10}};
    for (size_t c = 0; c < 3; c++) {
        bool sets[16] = {false};
        size_t parts = 0;
        char *path = formatted("%s/log-%zu", folder, c);
        assert_int_equal(setenv("FAKE_LOG", path, 1), 0);
        struct worker *worker = start("sh tests/fake_worker.sh 0");
        struct worker_backend *backend = create(worker, cases[c].side_by_side, cases[c].warm_s);
        open_run(backend, experiment);
        const struct worker_warming warming = worker_backend_warming(backend);
        const size_t count = read_log(path, told);
        assert_int_equal(warming.combinations, cases[c].combinations);
        assert_int_equal(warming.warmed, count);
        for (size_t i = 0; i < count; i++) {
            sets[told[i].units] = true;
            bool fresh = true;
            for (size_t j = 0; j < i; j++) {
                const bool same = told[i].batch == told[j].batch &&
                                  strcmp(told[i].function, told[j].function) == 0;
                fresh = fresh && !same;
                assert_false(same && told[i].units == told[j].units);
            }
            parts += fresh;
        }
        size_t used = 0;
        for (size_t s = 0; s < 16; s++)
            used += sets[s];
        assert_int_equal(parts, 4);
        assert_int_equal(used, cases[c].sets);
        if (cases[c].warm_s > 0)
            assert_int_equal(count, cases[c].combinations);
        else
            assert_true(count < cases[c].combinations);
        if (cases[c].warm_s > 0) { /* a second run finds it warm */
            open_run(backend, experiment);
            assert_int_equal(read_log(path, told), count);
        }
        arena_home_free(backend);
        stop(worker);
    }
    assert_int_equal(unsetenv("FAKE_LOG"), 0);
}

/* ---- Sets of units --------------------------------------------------------------------------- */

static void gate(const char *function, bool open)
{
    const char *path = in_folder(function);
    if (open)
        (void)close(creat(path, 0600));
    else
        (void)unlink(path);
}

static uint32_t configuration_of(const struct experiment *experiment, uint32_t function, int vgpu)
{
    const struct function *f = &experiment->workload.functions[function];
    uint32_t k = 0;
    while (f->configurations[k].vgpu != vgpu || f->configurations[k].batch != 1)
        k++;
    return k;
}

static bool begin(const struct backend *backend, const struct experiment *experiment, uint32_t id,
                  uint32_t function, int vgpu, struct error *error)
{
    const struct backend_batch batch = {.id = id,
                                        .number = id,
                                        .function = function,
                                        .configuration =
                                            configuration_of(experiment, function, vgpu),
                                        .jobs = 1,
                                        .modelled = 20 * SIM_MS};
    return backend->start(backend->context, &batch, 0, error);
}

static uint32_t await(const struct backend *backend, sim_time_t until)
{
    uint32_t ended;
    sim_time_t time;
    assert_good(backend->wait(backend->context, until, &ended, &time, hear()));
    assert_true(ended != SIM_NONE || time == until);
    return ended;
}

/* Batches 0 and 2 of f, 1 and 3 of g have a unit each; f ends. Then two units are free that are no
 * neighbours. */
static void two_free_units(bool side_by_side, bool waits)
{
    OWNED(experiment_free) struct experiment *experiment = chain(NULL, NULL);
    struct worker *worker = start(formatted(GATED, folder));
    struct worker_backend *pool = create(worker, side_by_side, 0);
    const struct backend backend = worker_backend(pool);
    gate("f", true);
    gate("g", true);
    open_run(pool, experiment);
    gate("f", false);
    gate("g", false);
    for (uint32_t id = 0; id < 4; id++)
        assert_true(begin(&backend, experiment, id, id % 2, 1, hear()));
    assert_int_equal(await(&backend, 1), SIM_NONE); /* a time that has passed */
    assert_bad_run(begin(&backend, experiment, 9, 0, 1, hear()),
                   "wants 1 units and fewer are free");
    gate("f", true);
    assert_int_equal(await(&backend, SIM_FOREVER) + await(&backend, SIM_FOREVER), 2);
    gate("f", false);
    assert_true(begin(&backend, experiment, 4, 0, 2, hear()));
    gate("g", true);
    assert_int_equal(await(&backend, SIM_FOREVER) + await(&backend, SIM_FOREVER), 4);
    gate("f", true);
    assert_int_equal(await(&backend, SIM_FOREVER), 4);
    size_t count;
    const struct replay_row *rows = worker_backend_rows(pool, &count);
    assert_int_equal(count, 5);
    check_rows(rows, count, 0);
    /* Units 0 and 2; or the neighbours of the batch of g that ended first. */
    assert_int_equal(rows[4].units, !waits ? 5 : (rows[2].units == 2 ? 3 : 12));
    assert_int_equal(rows[4].placed_ns > rows[4].asked_ns, waits);
    assert_int_equal(rows[4].placed_ns >= rows[2].ended_ns, waits);
    const struct worker_figures figures = worker_backend_figures(pool);
    assert_int_equal(figures.waited, waits);
    assert_int_equal(figures.scattered, !waits);
    assert_int_equal(figures.together, 4);
    assert_true(waits ? figures.waited_max > 0 && figures.waited_mean == figures.waited_max
                      : figures.waited_max == 0);
    assert_bad_run(
        backend.wait(backend.context, SIM_FOREVER, &(uint32_t){0}, &(sim_time_t){0}, hear()),
        "while no batch executes");
    arena_home_free(pool);
    stop(worker);
}

CASE(free_units_that_are_no_neighbours_serve_a_batch)
{
    two_free_units(false, false);
}

CASE(of_sets_side_by_side_a_batch_waits_for_one)
{
    two_free_units(true, true);
}

/* ---- Faults ---------------------------------------------------------------------------------- */

CASE(a_worker_that_misbehaves_is_named_and_killed)
{
    static const struct {
        const char *command, *told;
        double silent_s;
    } cases[] = {
        {"no-such-worker-command", "status 127 before the end of its input: the shell finds no",
         PATIENT_S},
        {"exit 0", "exited with status 0 before", PATIENT_S},
        {"exec sh tests/fake_worker.sh 5 exits 1", "exited with status 3", PATIENT_S},
        {"exec sh tests/fake_worker.sh 5 dies 1", "ended by signal 9", PATIENT_S},
        {"exec sh tests/fake_worker.sh 5 closes 1", "closed its standard input or output",
         PATIENT_S},
        {"exec sh tests/fake_worker.sh 5 nonsense 1", "answered 'executed batch 2', not",
         PATIENT_S},
        {"exec sh tests/fake_worker.sh 5 number 1", "answered 'done 2 fast', not", PATIENT_S},
        {"exec sh tests/fake_worker.sh 5 long 1", "more than 1024 bytes", PATIENT_S},
        {"exec sh tests/fake_worker.sh 5 unknown 1", "batch 999999, which it was not", PATIENT_S},
        {"exec sh tests/fake_worker.sh 5 twice 1", "answered twice for batch 2", PATIENT_S},
        {"exec sh tests/fake_worker.sh 5 silent 1", "did not answer for 0.2 s", 0.2},
        {"exec sh tests/fake_worker.sh 5 deaf 1", "did not answer for 0.2 s", 0.2},
        {"trap '' TERM; exec sh tests/fake_worker.sh 5 deaf 1", "did not answer", 0.2},
        {"read -r _; echo done 18446744073709551616 1", "'done 18446744073709551616 1', not",
         PATIENT_S},
        {"read -r _; echo done 1 -1", "'done 1 -1', not", PATIENT_S},
        {"read -r _; echo done 1 1 1", "'done 1 1 1', not", PATIENT_S},
        {"read -r _; echo; sleep 1000", "answered '', not", PATIENT_S},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct worker_answer answer = {.id = 1};
        uint64_t id = 0;
        struct worker *worker = must(worker_start(cases[i].command, cases[i].silent_s, -1, hear()));
        bool good = true;
        for (int k = 0; good && k < 4; k++)
            good = worker_run(worker, "f", 1, 1, &id, hear()) &&
                   worker_wait(worker, INT64_MAX, &answer, hear());
        assert_false(good);
        assert_int_equal(heard.kind, ERROR_RUN);
        if (strstr(heard.message, cases[i].told) == NULL)
            fail_msg("%s: told '%s', not '%s'", cases[i].command, heard.message, cases[i].told);
        assert_null(strchr(heard.message, '\n'));
        assert_true(worker_has_ended(worker));
        assert_false(worker_run(worker, "f", 1, 1, &id, hear()));
        assert_false(worker_wait(worker, 0, &answer, hear()));
        stop(worker);
    }
}

CASE(an_answer_may_come_in_pieces_and_answers_together)
{
    struct worker_answer answer;
    uint64_t ids[2];
    struct worker *worker = start("read -r _ a _; read -r _ b _; printf 'done '; sleep 0.05; "
                                  "printf \"$b 0.25\\ndone $a 1e1\\n\"; read -r _");
    assert_true(worker_run(worker, "f", 1, 1, &ids[0], hear()));
    assert_true(worker_run(worker, "f", 1, 2, &ids[1], hear()));
    assert_true(worker_wait(worker, INT64_MAX, &answer, hear()));
    assert_true(answer.id == ids[1] && answer.ms == 0.25);
    assert_true(worker_wait(worker, 0, &answer, hear())); /* it is there, though the time is past */
    assert_true(answer.id == ids[0] && answer.ms == 10);
    assert_true(worker_wait(worker, clock_ns() + SIM_MS, &answer, hear()));
    assert_int_equal(answer.id, 0);
    assert_true(worker_drain(worker, hear()));
    stop(worker);
}

CASE(an_owner_that_is_to_stop_waits_no_longer)
{
    struct worker_answer answer;
    uint64_t id;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct worker *worker = must(worker_start("sleep 1000", PATIENT_S, ends[0], hear()));
    assert_true(worker_run(worker, "f", 1, 1, &id, hear()));
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_false(worker_wait(worker, INT64_MAX, &answer, hear()));
    assert_string_equal(heard.message, "interrupted");
    stop(worker);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* ---- What cannot be replayed ----------------------------------------------------------------- */

CASE(what_a_worker_cannot_replay_is_refused_with_the_remedy)
{
    static const struct refusal_of cases[] = {
        {"cluster.invokers.0.count", "2", "one invoker with one GPU"},
        {"cluster.invokers.0.gpus.0.count", "2", "one invoker with one GPU"},
        {"platform.initial", "cold", "platform.initial: \"cold\""},
        {"platform.initial", "{\"f\":4,\"g\":0}", "function g has no container"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        OWNED(experiment_free) struct experiment *experiment = chain(cases[i].key, cases[i].text);
        assert_bad_input(worker_backend_check(experiment, hear()), "");
        if (strstr(heard.message, cases[i].words) == NULL)
            fail_msg("told: %s", heard.message);
    }
    OWNED(experiment_free) struct experiment *experiment = chain(NULL, NULL);
    assert_true(worker_backend_check(experiment, hear()));
    experiment->workload.functions[1].configurations[0].vgpu = 0;
    assert_bad_input(worker_backend_check(experiment, hear()),
                     "function g has a configuration of 0 units");
    experiment->workload.functions[1].configurations[0].vgpu = 1;
    experiment->workload.functions[0].name = "f ";
    assert_bad_input(worker_backend_check(experiment, hear()), "has a space");
    experiment->workload.functions[0].name = "f";
    experiment->workload.cluster.groups[0].gpus[0].units = WORKER_BATCHES + 1;
    assert_bad_input(worker_backend_check(experiment, hear()), "a GPU of 9 units");
}

static int prepare(void **state)
{
    (void)signal(SIGPIPE, SIG_IGN);
    return folder_make(state);
}

SUITE_WITH("worker", prepare, folder_remove)
