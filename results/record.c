#include "results/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

static char *copy_text(const char *text)
{
    return strdup(text == NULL ? "" : text);
}

/* A choice is written by its word, a number as a number. */
static bool parameter_add(cJSON *object, const struct parameter *parameter, double value)
{
    if (parameter->choices == NULL)
        return cJSON_AddNumberToObject(object, parameter->name, value) != NULL;
    char text[64];
    size_t length = 0;
    const char *word = parameter_word(parameter, value, &length);
    (void)snprintf(text, sizeof text, "%.*s", (int)length, word == NULL ? "" : word);
    return cJSON_AddStringToObject(object, parameter->name, text) != NULL;
}

static char *parameters_text(const struct policy *policy, const double *values)
{
    cJSON *object = cJSON_CreateObject();
    bool good = object != NULL;
    for (size_t i = 0; good && i < policy->parameter_count; i++)
        good = parameter_add(object, &policy->parameters[i], values[i]);
    char *text = good ? cJSON_PrintUnformatted(object) : NULL;
    cJSON_Delete(object);
    return text;
}

static char *applications_text(const struct workload *workload)
{
    size_t size = 1;
    for (size_t a = 0; a < workload->application_count; a++)
        size += strlen(workload->applications[a].name) + 1;
    char *text = calloc(1, size);
    char *end = text;
    for (size_t a = 0; text != NULL && a < workload->application_count; a++) {
        if (a > 0)
            *end++ = '\n';
        end = stpcpy(end, workload->applications[a].name);
    }
    return text;
}

bool notices_next(const char **at, bool *warning, char *text, size_t capacity)
{
    const char *line = *at;
    const size_t length = strcspn(line, "\n");
    if (length == 0)
        return false;
    *at = line + length + (line[length] == '\n');
    *warning = strncmp(line, "warning: ", strlen("warning: ")) == 0;
    const char *colon = memmem(line, length, ": ", 2);
    const char *begin = colon == NULL ? line : colon + 2;
    (void)snprintf(text, capacity, "%.*s", (int)(line + length - begin), begin);
    return true;
}

static bool facts_whole(const struct run_facts *facts)
{
#define FACT(field)                                                                                \
    if (facts->field == NULL)                                                                      \
        return false;
    RUN_FACTS(FACT)
#undef FACT
    return true;
}

struct run_facts *run_facts_create(const struct experiment *experiment, const struct policy *policy,
                                   const double *values, const char *label, struct error *error)
{
    struct run_facts *facts = calloc(1, sizeof *facts);
    if (facts != NULL) {
        facts->hash = copy_text(experiment->hash);
        facts->name = copy_text(experiment->name);
        facts->setting = copy_text(experiment->setting_name);
        facts->label = copy_text(label);
        facts->policy = copy_text(policy->name);
        facts->policy_parameters = parameters_text(policy, values);
        facts->configuration = copy_text(experiment->resolved_json);
        facts->evidence = copy_text(experiment->profile_evidence);
        facts->profile_sha256 = copy_text(experiment->profile_sha256);
        facts->trace_sha256 = copy_text(experiment->trace_sha256);
        facts->policy_sha256 = copy_text(experiment->policy_sha256);
        facts->policy_label = copy_text(NULL);
        facts->setting_label = copy_text(experiment->setting_label);
        facts->applications = applications_text(&experiment->workload);
        facts->seed = experiment->seed;
        facts->warmup_requests = experiment->warmup_requests;
        facts->record = (uint64_t)experiment->record;
        facts->max_stages = experiment->workload.max_stages;
    }
    if (facts != NULL && facts_whole(facts))
        return facts;
    run_facts_free(facts);
    error_run(error, "out of memory for the description of a run");
    return NULL;
}

void run_facts_free(struct run_facts *facts)
{
    if (facts == NULL)
        return;
#define FACT(field) free(facts->field);
    RUN_FACTS(FACT)
#undef FACT
    free(facts);
}

static bool keep(struct blob *rows, const void *row, size_t size, struct error *error)
{
    return blob_put(rows, row, size) ||
           error_run(error, "out of memory for the detailed record; record less or run fewer "
                            "requests");
}

static bool keep_request(void *context, const struct request_row *row, struct error *error)
{
    return keep(&((struct run_rows *)context)->requests, row, sizeof *row, error);
}

static bool keep_batch(void *context, const struct batch_row *row, struct error *error)
{
    return keep(&((struct run_rows *)context)->batches, row, sizeof *row, error);
}

static bool keep_job(void *context, const struct job_row *row, struct error *error)
{
    return keep(&((struct run_rows *)context)->jobs, row, sizeof *row, error);
}

static bool keep_container(void *context, const struct container_row *row, struct error *error)
{
    return keep(&((struct run_rows *)context)->containers, row, sizeof *row, error);
}

static bool keep_decision(void *context, const struct decision_row *row, struct error *error)
{
    return keep(&((struct run_rows *)context)->decisions, row, sizeof *row, error);
}

static bool keep_timeline(void *context, const struct timeline_row *row, struct error *error)
{
    return keep(&((struct run_rows *)context)->timeline, row, sizeof *row, error);
}

struct recorder run_rows_recorder(struct run_rows *rows, enum record_level level)
{
    struct recorder recorder = {.context = rows};
    if (level != RECORD_SUMMARY)
        recorder.request = keep_request;
    if (level == RECORD_ALL) {
        recorder.batch = keep_batch;
        recorder.job = keep_job;
        recorder.container = keep_container;
        recorder.decision = keep_decision;
        recorder.timeline = keep_timeline;
    }
    return recorder;
}

void run_rows_clear(struct run_rows *rows)
{
    blob_clear(&rows->requests);
    blob_clear(&rows->batches);
    blob_clear(&rows->jobs);
    blob_clear(&rows->containers);
    blob_clear(&rows->decisions);
    blob_clear(&rows->timeline);
}

static bool put_rows(struct blob *blob, const struct blob *rows)
{
    return blob_put_u64(blob, rows->size) && blob_put(blob, rows->bytes, rows->size);
}

bool run_pack(struct blob *blob, const struct run_facts *facts,
              const struct simulation_result *result, const struct run_rows *rows,
              struct error *error)
{
    bool good = true;
#define FACT(field) good = good && blob_put_text(blob, facts->field);
    RUN_FACTS(FACT)
#undef FACT
    good = good && blob_put_u64(blob, facts->position) && blob_put_u64(blob, facts->seed) &&
           blob_put_u64(blob, facts->warmup_requests) && blob_put_u64(blob, facts->record) &&
           blob_put_u64(blob, facts->max_stages);
    good = good && blob_put(blob, &result->overall, sizeof result->overall) &&
           blob_put(blob, &result->run, sizeof result->run) &&
           blob_put(blob, &result->wall_s, sizeof result->wall_s) &&
           blob_put_u64(blob, result->exact_quantiles ? 1 : 0) &&
           blob_put_text(blob, result->notices == NULL ? "" : result->notices) &&
           blob_put_u64(blob, result->application_count) &&
           blob_put(blob, result->applications,
                    result->application_count * sizeof *result->applications);
    good = good && put_rows(blob, &rows->requests) && put_rows(blob, &rows->batches) &&
           put_rows(blob, &rows->jobs) && put_rows(blob, &rows->containers) &&
           put_rows(blob, &rows->decisions) && put_rows(blob, &rows->timeline);
    return good || error_run(error, "out of memory for the results of a run");
}

static bool take_result(struct blob_cursor *cursor, struct simulation_result *result)
{
    uint64_t exact = 0;
    uint64_t count = 0;
    if (!blob_take(cursor, &result->overall, sizeof result->overall) ||
        !blob_take(cursor, &result->run, sizeof result->run) ||
        !blob_take(cursor, &result->wall_s, sizeof result->wall_s) ||
        !blob_take_u64(cursor, &exact) || !blob_take_text(cursor, &result->notices) ||
        !blob_take_u64(cursor, &count) || count > cursor->left / sizeof *result->applications)
        return false;
    result->exact_quantiles = exact != 0;
    result->application_count = (size_t)count;
    result->applications = calloc((size_t)count + 1, sizeof *result->applications);
    return result->applications != NULL &&
           blob_take(cursor, result->applications, (size_t)count * sizeof *result->applications);
}

static bool take_rows(struct blob_cursor *cursor, struct blob *rows, size_t row_size)
{
    uint64_t size = 0;
    if (!blob_take_u64(cursor, &size) || size > cursor->left || size % row_size != 0 ||
        !blob_put(rows, cursor->bytes, (size_t)size))
        return false;
    cursor->bytes += size;
    cursor->left -= (size_t)size;
    return true;
}

bool run_unpack(const void *bytes, size_t size, struct run_facts **facts,
                struct simulation_result *result, struct run_rows *rows, struct error *error)
{
    struct blob_cursor cursor = {bytes, size};
    struct run_facts *read = calloc(1, sizeof *read);
    *result = (struct simulation_result){0};
    *rows = (struct run_rows){0};
    bool good = read != NULL;
#define FACT(field) good = good && blob_take_text(&cursor, &read->field);
    RUN_FACTS(FACT)
#undef FACT
    good = good && blob_take_u64(&cursor, &read->position) && blob_take_u64(&cursor, &read->seed) &&
           blob_take_u64(&cursor, &read->warmup_requests) &&
           blob_take_u64(&cursor, &read->record) && blob_take_u64(&cursor, &read->max_stages) &&
           take_result(&cursor, result) &&
           take_rows(&cursor, &rows->requests, sizeof(struct request_row)) &&
           take_rows(&cursor, &rows->batches, sizeof(struct batch_row)) &&
           take_rows(&cursor, &rows->jobs, sizeof(struct job_row)) &&
           take_rows(&cursor, &rows->containers, sizeof(struct container_row)) &&
           take_rows(&cursor, &rows->decisions, sizeof(struct decision_row)) &&
           take_rows(&cursor, &rows->timeline, sizeof(struct timeline_row)) && cursor.left == 0;
    if (good) {
        *facts = read;
        return true;
    }
    run_facts_free(read);
    simulation_result_clear(result);
    run_rows_clear(rows);
    return error_run(error, "the results that a worker process handed back are not whole");
}

bool run_rows_replay(const struct run_rows *rows, const struct recorder *recorder,
                     struct error *error)
{
    bool good = true;
    struct request_row request;
    struct batch_row batch;
    struct job_row job;
    struct container_row container;
    struct decision_row decision;
    struct timeline_row sample;
    struct blob_cursor requests = {rows->requests.bytes, rows->requests.size};
    struct blob_cursor batches = {rows->batches.bytes, rows->batches.size};
    struct blob_cursor jobs = {rows->jobs.bytes, rows->jobs.size};
    struct blob_cursor containers = {rows->containers.bytes, rows->containers.size};
    struct blob_cursor decisions = {rows->decisions.bytes, rows->decisions.size};
    struct blob_cursor timeline = {rows->timeline.bytes, rows->timeline.size};
    while (good && recorder->request != NULL && blob_take(&requests, &request, sizeof request))
        good = recorder->request(recorder->context, &request, error);
    while (good && recorder->batch != NULL && blob_take(&batches, &batch, sizeof batch))
        good = recorder->batch(recorder->context, &batch, error);
    while (good && recorder->job != NULL && blob_take(&jobs, &job, sizeof job))
        good = recorder->job(recorder->context, &job, error);
    while (good && recorder->container != NULL &&
           blob_take(&containers, &container, sizeof container))
        good = recorder->container(recorder->context, &container, error);
    while (good && recorder->decision != NULL && blob_take(&decisions, &decision, sizeof decision))
        good = recorder->decision(recorder->context, &decision, error);
    while (good && recorder->timeline != NULL && blob_take(&timeline, &sample, sizeof sample))
        good = recorder->timeline(recorder->context, &sample, error);
    return good;
}

/* ---- Two recorders as one -------------------------------------------------------------------- */

static bool both_request(void *context, const struct request_row *row, struct error *error)
{
    const struct recorder *pair = context;
    for (size_t i = 0; i < 2; i++)
        if (pair[i].request != NULL && !pair[i].request(pair[i].context, row, error))
            return false;
    return true;
}

static bool both_batch(void *context, const struct batch_row *row, struct error *error)
{
    const struct recorder *pair = context;
    for (size_t i = 0; i < 2; i++)
        if (pair[i].batch != NULL && !pair[i].batch(pair[i].context, row, error))
            return false;
    return true;
}

static bool both_job(void *context, const struct job_row *row, struct error *error)
{
    const struct recorder *pair = context;
    for (size_t i = 0; i < 2; i++)
        if (pair[i].job != NULL && !pair[i].job(pair[i].context, row, error))
            return false;
    return true;
}

static bool both_container(void *context, const struct container_row *row, struct error *error)
{
    const struct recorder *pair = context;
    for (size_t i = 0; i < 2; i++)
        if (pair[i].container != NULL && !pair[i].container(pair[i].context, row, error))
            return false;
    return true;
}

static bool both_decision(void *context, const struct decision_row *row, struct error *error)
{
    const struct recorder *pair = context;
    for (size_t i = 0; i < 2; i++)
        if (pair[i].decision != NULL && !pair[i].decision(pair[i].context, row, error))
            return false;
    return true;
}

static bool both_timeline(void *context, const struct timeline_row *row, struct error *error)
{
    const struct recorder *pair = context;
    for (size_t i = 0; i < 2; i++)
        if (pair[i].timeline != NULL && !pair[i].timeline(pair[i].context, row, error))
            return false;
    return true;
}

struct recorder recorder_join(const struct recorder pair[2])
{
    return (struct recorder){.context = (void *)(uintptr_t)pair,
                             .request = both_request,
                             .batch = both_batch,
                             .job = both_job,
                             .container = both_container,
                             .decision = both_decision,
                             .timeline = both_timeline};
}
