/* Runs made up for the tests of the results folder: figures chosen so that their means and
 * intervals can be worked out by hand. */
#ifndef ESGSIM_TESTS_FIXTURE_RESULTS_H
#define ESGSIM_TESTS_FIXTURE_RESULTS_H

#include "results/store/record.h"
#include "results/store/store.h"
#include "tests/suite.h"

OWNER(results_free, struct results)
#define RESULTS OWNED(results_free) struct results

enum { FIXTURE_APPLICATIONS = 2 };

/* One run: `cost` and `hit` are those of the first application; the second's are twice and half. */
struct fixture {
    const char *setting;
    const char *policy;
    const char *label;
    uint64_t seed;
    double hit;
    double cost;
    enum record_level record;
};

#define FIXTURE_ESG "policy.name=esg setting=light"
#define FIXTURE_FIFO "policy.name=fifo setting=light"

/* Runs by seed. ESG's hit rates: mean 92, sd 2, half-width 4.303 × 2 / √3 = 5.0. FIFO costs 2.5
 * times as much at every seed: a saving of exactly 150 %. */
#define FIXTURE_ESG_RUNS                                                                           \
    {"light", "esg", FIXTURE_ESG, 1, 0.90, 0.00020, RECORD_SUMMARY},                               \
        {"light", "esg", FIXTURE_ESG, 2, 0.92, 0.00024, RECORD_SUMMARY},                           \
    {                                                                                              \
        "light", "esg", FIXTURE_ESG, 3, 0.94, 0.00028, RECORD_SUMMARY                              \
    }
#define FIXTURE_FIFO_RUN_1                                                                         \
    {                                                                                              \
        "light", "fifo", FIXTURE_FIFO, 1, 0.50, 0.00050, RECORD_SUMMARY                            \
    }
#define FIXTURE_FIFO_RUN_2                                                                         \
    {                                                                                              \
        "light", "fifo", FIXTURE_FIFO, 2, 0.55, 0.00060, RECORD_SUMMARY                            \
    }
#define FIXTURE_FIFO_RUN_3                                                                         \
    {                                                                                              \
        "light", "fifo", FIXTURE_FIFO, 3, 0.60, 0.00070, RECORD_SUMMARY                            \
    }

struct fixture_texts {
    char hash[TEXT_HASH + 1];
};

/* The metadata point into `texts` and to constants: nothing to free. */
static inline struct run_metadata fixture_metadata(const struct fixture *fixture,
                                                   struct fixture_texts *texts)
{
    *texts = (struct fixture_texts){{0}};
    unsigned long mix = 5381;
    for (const char *c = fixture->label; *c != '\0'; c++)
        mix = mix * 33 + (unsigned char)*c;
    (void)snprintf(texts->hash, sizeof texts->hash, "%012lx%04x", mix & 0xffffffffffffUL,
                   (unsigned)fixture->seed & 0xffffU);
    return (struct run_metadata){.policy_sha256 = (char *)"",
                                 .recorded = (char *)"summary",
                                 .policy_label = (char *)"",
                                 .setting_label = (char *)"",
                                 .hash = texts->hash,
                                 .name = (char *)"made-up",
                                 .setting = (char *)fixture->setting,
                                 .label = (char *)fixture->label,
                                 .policy = (char *)fixture->policy,
                                 .policy_parameters = (char *)"{\"k\":5}",
                                 .configuration = (char *)"{\"requests\":1000}",
                                 .evidence = (char *)"assumed",
                                 .profile_sha256 = (char *)"ab12",
                                 .trace_sha256 = (char *)"",
                                 .applications = (char *)"classification\ndepth",
                                 .seed = fixture->seed,
                                 .warmup_requests = 100,
                                 .record = (uint64_t)fixture->record,
                                 .max_stages = 3};
}

static inline struct measures fixture_measures(double hit, double cost, uint64_t requests)
{
    return (struct measures){.requests = requests,
                             .slo_hit_rate = hit,
                             .goodput_per_s = hit * (double)requests / 50,
                             .cost_per_hit_usd = hit > 0 ? cost / hit : NAN,
                             .cost_usd = cost * (double)requests,
                             .cost_per_request_usd = cost,
                             .latency_ms_mean = 110,
                             .latency_ms_p50 = 100,
                             .latency_ms_p95 = 200,
                             .latency_ms_p99 = 250.5,
                             .cold_start_rate = 0.25,
                             .mean_batch = 2.5,
                             .queue_ms_mean = 30,
                             .transfer_ms_mean = 0.5,
                             .cold_ms_mean = 20.25,
                             .exec_ms_mean = 60,
                             .latency_ms_max = 300,
                             .preplanned_miss_rate = NAN,
                             .bound_slo_hit_rate = 1,
                             .bound_cost_per_request_usd = 0.0001};
}

/* `applications` has FIXTURE_APPLICATIONS entries. */
static inline struct simulation_result fixture_result(const struct fixture *fixture,
                                                      struct measures *applications)
{
    applications[0] = fixture_measures(fixture->hit, fixture->cost, 600);
    applications[1] = fixture_measures(fixture->hit / 2, fixture->cost * 2, 400);
    struct simulation_result result = {
        .overall = fixture_measures(fixture->hit * 0.8, fixture->cost * 1.4, 1000),
        .applications = applications,
        .application_count = FIXTURE_APPLICATIONS,
        .run = {.gpu_utilisation = 0.5,
                .vcpu_utilisation = 0.25,
                .slowdown_mean = 1.125,
                .slo_hit_rate_worst_application = fixture->hit / 2,
                .work_in_time = fixture->hit * 0.7,
                .jain_index = 0.9, /* of 2 and 1 */
                .bound_capacity_slo_hit_rate = 0.98,
                .decisions = 400,
                .decision_units = 50000,
                .decision_units_mean = 125,
                .decision_us_mean = 12.5,
                .decision_us_max = 99.5,
                .cost_provisioned_usd = 3,
                .events = fixture->seed}, /* so that no two seeds are copies */
        .wall_s = 0.125,
        .exact_quantiles = true};
    return result;
}

static inline struct request_row fixture_request(uint64_t number)
{
    struct request_row row;
    memset(&row, 0, sizeof row);
    row.request = number;
    row.application = (uint32_t)(number % 2);
    row.measured = number >= 100;
    row.hit = 1;
    row.arrival_ns = (sim_time_t)(number * 1000);
    row.finish_ns = (sim_time_t)(number * 1000 + 77);
    row.cost_usd = (double)number / 3;
    for (int s = 0; s < 3; s++)
        row.noise[s] = 1 + (double)number / (double)(s + 7);
    return row;
}

static inline struct batch_row fixture_batch(uint64_t number)
{
    struct batch_row row;
    memset(&row, 0, sizeof row);
    row.batch = number;
    row.gpu = number % 5 == 0 ? SIM_NONE : 1;
    row.jobs = 1 + (uint32_t)(number / 3 % 4);
    row.vgpu = (uint16_t)(number % 7);
    row.slowdown = 1 + (double)number / 100;
    return row;
}

/* Hands `count` requests, and where asked for a third as many of the others, to the recorder. */
static inline bool fixture_record(const struct recorder *recorder, size_t count,
                                  struct error *error)
{
    bool good = true;
    for (uint64_t i = 0; good && i < count; i++) {
        struct request_row request = fixture_request(i);
        good = recorder->request == NULL || recorder->request(recorder->context, &request, error);
        if (!good || i % 3 != 0 || recorder->batch == NULL)
            continue;
        struct batch_row batch = fixture_batch(i);
        struct decision_row decision = {.time_ns = (sim_time_t)i, .units = i, .invoker = SIM_NONE};
        struct timeline_row sample = {.time_ns = (sim_time_t)i, .gpu_used = 0.5};
        good = recorder->batch(recorder->context, &batch, error) &&
               recorder->decision(recorder->context, &decision, error) &&
               recorder->timeline(recorder->context, &sample, error);
    }
    return good;
}

static inline bool fixture_store(struct store *store, const struct fixture *fixture, size_t rows,
                                 struct error *error)
{
    struct fixture_texts texts;
    struct measures applications[FIXTURE_APPLICATIONS];
    struct run_metadata metadata = fixture_metadata(fixture, &texts);
    struct simulation_result result = fixture_result(fixture, applications);
    if (!store_begin_run(store, &metadata, error))
        return false;
    struct recorder recorder = store_recorder(store);
    return fixture_record(&recorder, rows, error) && store_end_run(store, &result, error);
}

/* The runs, stored and read again, in a file of the name made-up.h5. NULL: they could not be. */
static inline struct results *fixture_results(const struct fixture *runs, size_t count)
{
    char folder[512];
    (void)snprintf(folder, sizeof folder, "%s/esgsim-results-XXXXXX", P_tmpdir);
    if (mkdtemp(folder) == NULL)
        return NULL;
    char *path = formatted("%s/made-up.h5", folder);
    struct store *store = store_create(path, hear());
    bool good = store != NULL;
    for (size_t i = 0; good && i < count; i++)
        good = fixture_store(store, &runs[i], 0, hear());
    good = good && store_finish(store, hear());
    struct results *results = good ? results_load(path, hear()) : NULL;
    if (unlink(path) != 0 || rmdir(folder) != 0 || results == NULL)
        return NULL;
    /* The parts of the header that are not the fixture's. */
    results->path = arena_text(results->arena, "made-up.h5");
    results->version = arena_text(results->arena, "1.2.3");
    results->commit = arena_text(results->arena, "abc1234");
    return results;
}

#endif
