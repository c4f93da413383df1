/* The simulator in a program of your own: one experiment under two policies that ship and one that
 * is written here, compared on the same arrivals and noise. It needs no plug-in, no results file
 * and no process of esgsim.
 *
 *   cc -std=c11 -o compare compare.c $(pkg-config --cflags --libs esgsim)
 *   ./compare workloads/experiments/strict-light.json
 *
 * Every function fails by returning false or NULL and says why in a struct error; none exits.
 */
#include <stdio.h>
#include <stdlib.h>

#include "sched/policy.h"
#include "sched/registry.h"
#include "sim/platform/simulation.h"
#include "workloads/spec/experiment.h"

/* The next queue with a job, its function's fastest configuration, the first invoker with room. */
static bool hurry_decide(void *state, struct platform *platform)
{
    (void)state;
    const uint32_t queue = platform_next_queue(platform, 0);
    if (queue == SIM_NONE)
        return false;
    const uint32_t function = platform_queue_function(platform, queue);
    const uint32_t fastest =
        (uint32_t)platform_workload(platform)->functions[function].fastest_single;
    uint32_t invoker = platform_best_fit(platform, function, fastest, true);
    if (invoker == SIM_NONE)
        invoker = platform_best_fit(platform, function, fastest, false);
    return invoker != SIM_NONE && platform_dispatch(platform, queue, 1, fastest, invoker);
}

static const struct policy hurry = {
    .abi = POLICY_ABI,
    .name = "hurry",
    .summary = "the fastest configuration for everyone",
    .decide = hurry_decide,
};

/* Simulate and print a line. The policy's parameters have their defaults. */
static bool run(const struct experiment *experiment, const struct policy *policy,
                struct error *error)
{
    double *values = calloc(keys_count(policy->parameters) + 1, sizeof *values);
    if (values == NULL)
        return error_run(error, "out of memory");
    struct simulation_result result;
    const bool good = policy_configure(policy, NULL, 0, policy->name, values, error) &&
                      simulation_run(experiment, policy, values, NULL, NULL, &result, error);
    free(values);
    if (!good)
        return false;
    const struct measures *all = &result.overall;
    printf("%-8s %6.2f %% of SLOs met at %.4f $ per 1,000 requests, p99 %.1f ms\n", policy->name,
           100 * all->slo_hit_rate, 1000 * all->cost_per_request_usd, all->latency_ms_p99);
    for (size_t n = 0; n < result.notices.count; n++)
        printf("%s: %s\n", result.notices.rows[n].warning ? "warning" : "note",
               result.notices.rows[n].text);
    simulation_result_clear(&result);
    return true;
}

int main(int argc, char **argv)
{
    /* What --set is to the program: any key of the experiment. */
    static const struct override overrides[] = {{"requests", "2000"}, {"seed", "1"}};
    struct error error = {0};
    if (argc != 2) {
        fprintf(stderr, "usage: compare EXPERIMENT.json\n");
        return 2;
    }
    struct experiment *experiment = experiment_load(argv[1], overrides, 2, &error);
    const struct policy *const policies[] = {policy_find("esg", &error),
                                             policy_find("fifo", &error), &hurry};
    bool good = experiment != NULL;
    for (int i = 0; good && i < 3; i++)
        good = policies[i] != NULL && run(experiment, policies[i], &error);
    experiment_free(experiment);
    if (!good)
        fprintf(stderr, "compare: %s\n", error.message);
    return good ? 0 : 1;
}
