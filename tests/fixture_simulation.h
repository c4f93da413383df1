/* What the tests of the simulator share: an experiment from JSON text, a log of all its rows. */
#ifndef ESGSIM_TESTS_FIXTURE_SIMULATION_H
#define ESGSIM_TESTS_FIXTURE_SIMULATION_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sim/cli/runner.h"
#include "sim/simulation.h"

enum { ROWS_MAX = 4096 };

/* Everything a run recorded. */
struct log {
    struct request_row requests[ROWS_MAX];
    struct batch_row batches[ROWS_MAX];
    size_t request_count, batch_count;
};

static inline bool log_request(void *context, const struct request_row *row, struct error *error)
{
    struct log *log = context;
    (void)error;
    assert_true(log->request_count < ROWS_MAX);
    log->requests[log->request_count++] = *row;
    return true;
}

static inline bool log_batch(void *context, const struct batch_row *row, struct error *error)
{
    struct log *log = context;
    (void)error;
    assert_true(log->batch_count < ROWS_MAX);
    log->batches[log->batch_count++] = *row;
    return true;
}

/* A file with `text` in it, named by `path`, a mkstemp template. */
static inline void write_temporary(char *path, const char *text)
{
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
    close(file);
}

static inline struct experiment *load(const char *json)
{
    char path[] = "/tmp/esgsim-test-XXXXXX";
    write_temporary(path, json);
    struct error error = {0};
    struct experiment *experiment = experiment_load(path, NULL, 0, &error);
    unlink(path);
    if (experiment == NULL)
        fail_msg("%s", error.message);
    return experiment;
}

/* The experiment under `policy`, or its own where NULL; `log` may be NULL. */
static inline bool run(const char *json, const struct policy *policy, struct log *log,
                       struct simulation_result *result, struct error *error)
{
    struct experiment *experiment = load(json);
    struct recorder recorder = {.context = log, .request = log_request, .batch = log_batch};
    double *values = NULL;
    const struct policy *named = policy;
    if (named == NULL)
        named = runner_policy(experiment, &values, error);
    assert_non_null(named);
    if (log != NULL)
        memset(log, 0, sizeof *log);
    bool ok = runner_execute(experiment, named, values, log != NULL ? &recorder : NULL, NULL,
                             result, error);
    free(values);
    experiment_free(experiment);
    return ok;
}

static inline void run_well(const char *json, const struct policy *policy, struct log *log,
                            struct simulation_result *result)
{
    struct error error = {0};
    if (!run(json, policy, log, result, &error))
        fail_msg("%s", error.message);
}

#endif
