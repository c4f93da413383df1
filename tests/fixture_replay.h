/* Experiments that a backend can execute: all containers there from the beginning and kept. Include
 * after cmocka.h. */
#ifndef ESGSIM_TESTS_FIXTURE_REPLAY_H
#define ESGSIM_TESTS_FIXTURE_REPLAY_H

#include "tests/suite.h"
#include "workloads/experiment.h"

enum { OVERRIDES_MAX = 12 };

struct overrides {
    struct override list[OVERRIDES_MAX];
    size_t count;
};

static inline void override_add(struct overrides *overrides, const char *key, const char *value)
{
    assert_true(overrides->count < OVERRIDES_MAX);
    overrides->list[overrides->count++] = (struct override){key, value};
}

/* Two invokers with memory for every container that could be busy at one time, all there. */
static inline struct overrides warm(void)
{
    struct overrides overrides = {.count = 0};
    override_add(&overrides, "cluster",
                 "{\"invokers\":[{\"count\":2,\"vcpus\":5,\"memory_mb\":8000,\"gpus\":[{\"model\":"
                 "\"test\",\"sharing\":\"mps\",\"units\":4,\"memory_mb\":8000}]}],\"price\":"
                 "{\"vcpu_hour_usd\":3.6,\"vgpu_hour_usd\":36}}");
    override_add(&overrides, "platform.initial", "{\"f\":8,\"g\":8}");
    override_add(&overrides, "platform.keep_alive", "infinite");
    override_add(&overrides, "platform.interference", "false");
    override_add(&overrides, "record", "all");
    return overrides;
}

static inline struct experiment *parse(const char *json, const struct overrides *overrides)
{
    struct error error = {0};
    struct experiment *experiment =
        experiment_parse(json, "test.json", ".", overrides->list, overrides->count, &error);
    if (experiment == NULL)
        fail_msg("%s", error.message);
    return experiment;
}

/* A single stage f with 100 ms on a quarter of the only GPU, 5 arrivals a second, at most
 * `containers` of it; no noise. */
static inline struct experiment *lone(const char *policy, const char *key, const char *value)
{
    static const char json[] =
        "{\"name\":\"lone\",\"cluster\":{\"invokers\":[{\"count\":1,\"vcpus\":8,\"memory_mb\":8000,"
        "\"gpus\":[{\"model\":\"test\",\"sharing\":\"mps\",\"units\":4,\"memory_mb\":8000}]}],"
        "\"price\":{\"vcpu_hour_usd\":3.6,\"vgpu_hour_usd\":36}},\"functions\":{\"functions\":["
        "{\"name\":\"f\",\"model\":\"f\",\"input_bytes\":1000}]},\"profile\":{\"device\":\"test\","
        "\"evidence\":\"assumed\",\"source\":\"test\",\"licence\":\"none\",\"unit\":4,"
        "\"functions\":{\"f\":{\"grid\":{\"batch\":[1],\"vcpu\":[1],\"vgpu\":[1]},\"latency_ms\":"
        "[[[100]]],\"noise\":{\"cv\":0},\"cold_start_ms\":{\"mean\":200,\"cv\":0},"
        "\"gpu_memory_mb\":{\"weights\":100,\"per_item\":10},\"host_memory_mb\":100,"
        "\"bandwidth_share\":0.5}},\"interference\":{\"model\":\"constant\",\"constant\":0.5}},"
        "\"applications\":[{\"name\":\"a\",\"stages\":[{\"name\":\"a\",\"function\":\"f\"}]}],"
        "\"arrivals\":{\"process\":\"poisson\",\"rate_per_s\":5},\"slo\":{\"factor\":2},"
        "\"platform\":{\"prewarm\":\"none\",\"interference\":false,\"initial\":{\"f\":4},"
        "\"keep_alive\":\"infinite\",\"decision_cost\":{\"model\":\"zero\"}},"
        "\"requests\":300,\"warmup_requests\":0,\"seed\":5,\"record\":\"all\"}";
    struct overrides overrides = {.count = 0};
    if (policy != NULL)
        override_add(&overrides, "policy.name", policy);
    else
        override_add(&overrides, "policy.name", "fifo");
    if (key != NULL)
        override_add(&overrides, key, value);
    return parse(json, &overrides);
}

#endif
