/* Experiments that a backend can execute: all containers there from the beginning and kept. */
#ifndef ESGSIM_TESTS_FIXTURE_REPLAY_H
#define ESGSIM_TESTS_FIXTURE_REPLAY_H

#include "tests/worlds.h"
#include "workloads/spec/experiment.h"

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
    struct experiment *experiment =
        must(experiment_parse(json, "test.json", ".", overrides->list, overrides->count, hear()));
    return experiment;
}

/* A single stage f with 100 ms on a quarter of the only GPU, 5 arrivals a second, at most
 * `containers` of it; no noise. */
static inline struct experiment *lone(const char *policy, const char *key, const char *value)
{
    char *json =
        world_build(&(struct world){.name = "lone",
                                    .memory_mb = 8000,
                                    .gpu_memory_mb = 8000,
                                    .functions = {{"f", "1", "1", "1", "[[100]]", 0, 200, 0.5}},
                                    .interference = 0.5,
                                    .input_bytes = 1000,
                                    .applications = "a: a=f",
                                    .rate_per_s = 5,
                                    .slo_factor = 2,
                                    .platform = "'interference':false,'initial':{'f':4},"
                                                "'keep_alive':'infinite','decision_cost':"
                                                "{'model':'zero'}",
                                    .more = "'record':'all'",
                                    .requests = 300,
                                    .seed = 5});
    struct overrides overrides = {.count = 0};
    override_add(&overrides, "policy.name", policy != NULL ? policy : "fifo");
    if (key != NULL)
        override_add(&overrides, key, value);
    return parse(json, &overrides);
}

#endif
