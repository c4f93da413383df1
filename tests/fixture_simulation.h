/* What tests of the simulator and of policies share: an experiment from JSON text, a run of it, a
 * log of all its rows. */
#ifndef ESGSIM_TESTS_FIXTURE_SIMULATION_H
#define ESGSIM_TESTS_FIXTURE_SIMULATION_H

#include "sched/registry.h"
#include "sim/platform/simulation.h"
#include "sim/run/run_once.h"
#include "tests/suite.h"

enum { ROWS_MAX = 20000 };

/* Everything a run recorded. */
struct log {
    struct request_row requests[ROWS_MAX]; /* by number */
    struct batch_row batches[ROWS_MAX];    /* as they finished */
    size_t request_count, batch_count;
};

/* A result and an experiment that end with their block. */
#define RESULT __attribute__((cleanup(simulation_result_clear))) struct simulation_result
#define EXPERIMENT OWNED(experiment_free) struct experiment
OWNER(experiment_free, struct experiment)

/* A policy of a test, under the name that it has there: POLICY(idle, .decide = idle_decide); */
#define POLICY(title, ...)                                                                         \
    static const struct policy title = {.abi = POLICY_ABI, .name = #title, __VA_ARGS__}

/* A recorder's function that appends rows to an array of the test and counts them:
 * KEEPER(keep_lease, lease_row, leases, lease_count) */
#define KEEPER(function, row_type, array, count)                                                   \
    static bool function(void *context, const struct row_type *row, struct error *error)           \
    {                                                                                              \
        assert_true(count < sizeof(array) / sizeof *(array));                                      \
        (array)[count++] = *row;                                                                   \
        return true;                                                                               \
    }

/* Of the last run that was given rows and anew(), which frees what was there. */
static __attribute__((unused)) struct log rows;
static struct simulation_result result;

static inline struct simulation_result *anew(void)
{
    simulation_result_clear(&result);
    return &result;
}

/* The log, empty, of a test that needs one at a time. */
static inline struct log *log_one(void)
{
    static struct log log;
    return memset(&log, 0, sizeof log);
}

/* Creates an arrival trace, named by `path`, a mkstemp template; the caller writes its lines. */
static inline FILE *trace_begin(char *path)
{
    const int file = mkstemp(path);
    FILE *trace = file < 0 ? NULL : fdopen(file, "w");
    assert_non_null(trace);
    fputs("time_ms,application\n", trace);
    return trace;
}

/* The same to the end of the block, which has both. */
#define TRACE_FILE(trace, path)                                                                    \
    CLOSED(unlink_owned) char path[] = "/tmp/esgsim-test-XXXXXX";                                  \
    FILE *trace = trace_begin(path)

/* The i-th registered policy of those that serve requests of any application, NULL past the last.
 * tree needs a file. alpaserve serves chains only: tests/test_alpaserve.c has the random worlds as
 * chains. */
static inline const struct policy *policy_for_requests(size_t index)
{
    const struct policy *policy = NULL;
    for (size_t i = 0; (policy = policy_at(i)) != NULL; i++)
        if (policy->serves != SERVES_TRAININGS && !policy->reads_file &&
            strcmp(policy->name, "alpaserve") != 0 && index-- == 0)
            break;
    return policy;
}

static inline bool log_request(void *context, const struct request_row *row, struct error *error)
{
    struct log *log = context;
    assert_true(row->request < ROWS_MAX);
    log->requests[row->request] = *row;
    log->request_count++;
    return true;
}

static inline bool log_batch(void *context, const struct batch_row *row, struct error *error)
{
    struct log *log = context;
    assert_true(log->batch_count < ROWS_MAX);
    log->batches[log->batch_count++] = *row;
    return true;
}

static inline struct recorder log_recorder(struct log *log)
{
    return (struct recorder){.context = log, .request = log_request, .batch = log_batch};
}

/* By way of a function, since the representation is what shall be equal, that of doubles, too. */
static inline bool bits_equal(const void *a, const void *b, size_t size)
{
    return memcmp(a, b, size) == 0;
}

/* request_row_equal(a, b), …: all members equal, to the bit. */
#define RECORD(row, table, event, level, title)                                                    \
    static inline bool row##_equal(const struct row *a, const struct row *b)                       \
    {                                                                                              \
        bool equal = true;
#define TABLE(row, table, title) RECORD(row, table, , , title)
#define FIELD(row, type, name, unit, help)                                                         \
    equal = equal && bits_equal(&a->name, &b->name, sizeof a->name);
#define FIELDS(row, type, name, most, unit, help) FIELD(row, type, name, unit, help)
#define RECORD_END                                                                                 \
    return equal;                                                                                  \
    }
#include "sim/base/records.def"

static inline void assert_same_rows(const struct log *a, const struct log *b)
{
    assert_int_equal(a->request_count, b->request_count);
    assert_int_equal(a->batch_count, b->batch_count);
    for (size_t i = 0; i < a->request_count; i++)
        assert_true(request_row_equal(&a->requests[i], &b->requests[i]));
    for (size_t i = 0; i < a->batch_count; i++)
        assert_true(batch_row_equal(&a->batches[i], &b->batches[i]));
}

/* The experiment of a text with the override (NULL: none); both may have ' for ". */
static inline struct experiment *load_or_fail(const char *json, const struct override *override,
                                              struct error *error)
{
    STRING *text = json_requote(strdup(json));
    STRING *value = json_requote(strdup(override != NULL ? override->value : ""));
    const struct override requoted = {override != NULL ? override->key : "", value};
    return experiment_parse(text, "e.json", ".", &requoted, override != NULL ? 1 : 0, error);
}

static inline struct experiment *load_with(const char *json, const char *key, const char *value)
{
    const struct override override = {key, value};
    const struct override *given = key != NULL ? &override : NULL;
    return must(load_or_fail(json, given, hear()));
}

static inline struct experiment *load(const char *json)
{
    return load_with(json, NULL, NULL);
}

/* With `key` set to `value` (NULL: as it is) the text is bad input, of which `part` is said. */
static inline void assert_text_refused(const char *json, const char *key, const char *value,
                                       const char *part)
{
    const struct override override = {key, value};
    assert_bad_input(load_or_fail(json, key != NULL ? &override : NULL, hear()), part);
}

/* The policy's defaults, but for `key` where given, which it has; the caller frees them. */
static inline double *policy_values(const struct policy *policy, const char *key, double number)
{
    double *values = must(calloc(keys_count(policy->parameters) + 1, sizeof *values));
    bool known = key == NULL;
    for (size_t i = 0; i < keys_count(policy->parameters); i++) {
        const struct key *parameter = &policy->parameters[i];
        const bool named = key != NULL && strcmp(key, parameter->name) == 0;
        values[i] = named ? number : parameter->fallback;
        known = known || named;
    }
    if (!known)
        fail_msg("%s has no parameter %s", policy->name, key);
    return values;
}

/* The experiment under `policy` with the parameter, or under its own policy where NULL. */
static inline bool run_recorded(const char *json, const struct policy *policy, const char *key,
                                double number, const struct recorder *recorder,
                                struct simulation_result *result, struct error *error)
{
    EXPERIMENT *experiment = load(json);
    OWNED(free) double *own = policy == NULL ? NULL : policy_values(policy, key, number);
    double *values = own;
    if (policy == NULL)
        policy = policy_resolve(experiment, &values, error);
    const struct simulation_options options = {.recorder = recorder, .bounds = true};
    return policy != NULL &&
           simulation_run_with(experiment, policy, values, &options, result, error);
}

/* The same into a log, which may be NULL. */
static inline bool run_with(const char *json, const struct policy *policy, const char *key,
                            double number, struct log *log, struct simulation_result *result,
                            struct error *error)
{
    const struct recorder recorder = log_recorder(log);
    if (log != NULL)
        memset(log, 0, sizeof *log);
    return run_recorded(json, policy, key, number, log != NULL ? &recorder : NULL, result, error);
}

static inline bool run(const char *json, const struct policy *policy, struct log *log,
                       struct simulation_result *result, struct error *error)
{
    return run_with(json, policy, NULL, 0, log, result, error);
}

static inline void run_well_with(const char *json, const struct policy *policy, const char *key,
                                 double number, struct log *log, struct simulation_result *result)
{
    if (!run_with(json, policy, key, number, log, result, hear()))
        fail_msg("%s: %s", policy != NULL ? policy->name : "its own policy", heard.message);
}

static inline void run_well(const char *json, const struct policy *policy, struct log *log,
                            struct simulation_result *result)
{
    run_well_with(json, policy, NULL, 0, log, result);
}

static inline void go(const char *json, const struct policy *policy)
{
    run_well(json, policy, &rows, anew());
}

/* Of a text in which %s stands for the file of a trace of these lines. */
static inline void run_trace(const char *world, const char *lines, const struct policy *policy)
{
    TEMPORARY(path, formatted("time_ms,application\n%s", lines));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    go(formatted(world, path), policy);
#pragma GCC diagnostic pop
}

#endif
