/* A world in which every time is twice as long: profile, turnaround, cold starts, arrivals, SLO,
 * ingress, transfers, decision time, keep-alives, and the policies' own times. Every time and cost
 * of the results is twice as great, and nothing else differs. */
#include <inttypes.h>

#include "tests/fixture_simulation.h"
#include "workloads/spec/keep_alive.h"

enum { REQUESTS = 1500, JSON_BYTES = 16384 };

/* Whole nanoseconds throughout, without noise and interference, so that nothing is rounded. */
static void world_write(char *json, int x, const char *trace, const char *policy,
                        const char *platform)
{
    const int length = snprintf(
        json, JSON_BYTES,
        "{'name':'scaling','cluster':{'invokers':[{'count':2,'vcpus':8,'memory_mb':32768,'gpus':[{'"
        "sharing':'mps','units':4,'memory_mb':16384}]}]},'functions':{'functions':[{'name':'f','"
        "turnaround_ms':%d},{'name':'g'}]},'profile':{'device':'test','evidence':'assumed','source'"
        ":'test','licence':'"
        "none','unit':4,'functions':{'f':{'grid':{'batch':[1,2,4],'vcpu':[1],'vgpu':[1,2,4]},'"
        "latency_ms':[[[%d,%d,%d]],[[%d,%d,%d]],[[%d,%d,%d]]],'cold_start_ms':{'mean':%d,'cv':0},'"
        "gpu_memory_mb':{'weights':200,'per_item':50},'host_memory_mb':1024},'g':{'grid':{'batch':["
        "1,2,4],'vcpu':[1],'vgpu':[1,2,4]},'latency_ms':[[[%d,%d,%d]],[[%d,%d,%d]],[[%d,%d,%d]]],'"
        "cold_start_ms':{'mean':%d,'cv':0},'gpu_memory_mb':{'weights':100,'per_item':20},'host_"
        "memory_mb':1024}}},'applications':[{'name':'a','stages':[{'name':'s','function':'f','"
        "output_bytes':1000000},{'name':'t','function':'g','after':['s']}]},{'name':'b','stages':[{"
        "'name':'s','function':'f'}]}],'arrivals':{'process':'trace','file':'%s'},'slo':{'ms':%d},'"
        "policy':%s,'platform':{'initial':'cold','interference':false,'sample_interval_s':%d,'"
        "transfer':{'latency_ms':%d,'bandwidth_gbps':%d},'decision_cost':{'model':'modelled','ns_"
        "per_unit':%d},'ingress_ms':%d%s},'requests':%d,'warmup_requests':100}",
        4 * x, 40 * x, 24 * x, 16 * x, 64 * x, 36 * x, 22 * x, 110 * x, 60 * x, 34 * x, 2000 * x,
        20 * x, 13 * x, 10 * x, 30 * x, 18 * x, 13 * x, 50 * x, 29 * x, 19 * x, 1500 * x, trace,
        200 * x, policy, x, x, 8 / x, 100 * x, 3 * x, platform, REQUESTS);
    assert_in_range(length, 1, JSON_BYTES - 1);
}

/* Bursts, calm times, and pauses that are longer than keep-alives and periods. */
static void trace_write(char *path, int x)
{
    FILE *out = trace_begin(path);
    static const unsigned long gaps[3][8] = {{1, 2, 5, 10, 15, 20, 30, 30},
                                             {40, 80, 200, 60, 40, 100, 80, 50},
                                             {5, 10, 10, 20, 400, 5, 15, 30}};
    unsigned long time = 0, draw = 7;
    for (int i = 0; i < REQUESTS + 200; i++) {
        draw = (draw * 1103515245 + 12345) % 2147483648;
        time += i % 400 == 399 ? 30000 : gaps[i / 150 % 3][draw / 65536 % 8];
        (void)fprintf(out, "%lu,%s\n", time * (unsigned long)x, draw / 1048576 % 2 ? "a" : "b");
    }
    assert_int_equal(fclose(out), 0);
}

static bool ends_in(const char *name, const char *end)
{
    const size_t length = strlen(name), tail = strlen(end);
    return length >= tail && strcmp(name + length - tail, end) == 0;
}

/* The factor for a parameter in a world in which times are `x` times as long. */
static double parameter_factor(const struct key *parameter, int x)
{
    if (ends_in(parameter->name, "_s") || ends_in(parameter->name, "_ms"))
        return x;
    /* Rates: jobs/s per % of a GPU (dilu), jobs/s (gpulet). */
    if (strcmp(parameter->name, "te_drop") == 0 || strcmp(parameter->name, "slack") == 0)
        return 1.0 / x;
    return 1;
}

/* {"name": NAME, "params": {…}} with every time and rate set. */
static void params_write(char *json, size_t size, const char *name, const struct key *parameters,
                         int x)
{
    size_t used = (size_t)snprintf(json, size, "{'name':'%s','params':{", name);
    const char *comma = "";
    /* The 99th percentile of a Poisson law holds for jobs of one second. */
    if (strcmp(name, "gpulet") == 0) {
        used += (size_t)snprintf(json + used, size - used, "'rate':'mean'");
        comma = ",";
    }
    /* The logs' rule has whole requests per second. */
    if (strcmp(name, "infless") == 0) {
        used += (size_t)snprintf(json + used, size - used, "'efficiency':'paper'");
        comma = ",";
    }
    for (size_t i = 0; i < keys_count(parameters); i++) {
        const double factor = parameter_factor(&parameters[i], x);
        if (parameters[i].words != NULL ||
            (factor == 1 && parameter_factor(&parameters[i], 2) == 1))
            continue;
        used += (size_t)snprintf(json + used, size - used, "%s'%s':%.17g", comma,
                                 parameters[i].name, parameters[i].fallback * factor);
        comma = ",";
    }
    (void)snprintf(json + used, size - used, "}}");
}

static void assert_twice(const char *what, const char *figure, double one, double two)
{
    if (!(fabs(two - 2 * one) <= 1e-6 * fabs(two)))
        fail_msg("%s: %s is %.17g, and with all times doubled %.17g", what, figure, one, two);
}

/* But for what policies round to whole nanoseconds. */
static bool doubled(sim_time_t one, sim_time_t two)
{
    return llabs(two - 2 * one) <= SIM_US;
}

static void assert_doubled(const char *what, const struct log *one, const struct log *two)
{
    assert_int_equal(one->request_count, two->request_count);
    for (size_t i = 0; i < one->request_count; i++) {
        const struct request_row *a = &one->requests[i], *b = &two->requests[i];
        if (!doubled(a->finish_ns, b->finish_ns) || !doubled(a->queue_ns, b->queue_ns) ||
            !doubled(a->cold_ns, b->cold_ns) || !doubled(a->transfer_ns, b->transfer_ns) ||
            !doubled(a->exec_ns, b->exec_ns) || b->dropped != a->dropped || b->hit != a->hit)
            fail_msg("%s: request %zu finishes at %" PRId64
                     " ns, and with all times doubled at %" PRId64 " ns",
                     what, i, a->finish_ns, b->finish_ns);
        assert_twice(what, "cost_usd of a request", a->cost_usd, b->cost_usd);
    }
}

/* Runs it in the world and in the slow one. `policy`, `platform`: at x = 1 and at x = 2. */
static void assert_scales(const char *what, const char *const *policy, const char *const *platform)
{
    static struct log logs[2];
    static char json[JSON_BYTES];
    struct simulation_result results[2];
    for (int k = 0; k < 2; k++) {
        CLOSED(unlink_owned) char path[] = "/tmp/esgsim-trace-XXXXXX";
        trace_write(path, k + 1);
        world_write(json, k + 1, path, policy[k], platform[k]);
        run_well(json, NULL, &logs[k], &results[k]);
    }
    const struct measures *a = &results[0].overall, *b = &results[1].overall;
    const struct run_measures *c = &results[0].run, *d = &results[1].run;
    assert_int_equal(logs[0].request_count, REQUESTS + 100);
    assert_doubled(what, &logs[0], &logs[1]);
    assert_twice(what, "latency_ms_mean", a->latency_ms_mean, b->latency_ms_mean);
    assert_twice(what, "cost_hold_usd", a->cost_hold_usd, b->cost_hold_usd);
    assert_twice(what, "cost_idle_usd", c->cost_idle_usd, d->cost_idle_usd);
    assert_twice(what, "cost_instance_usd", c->cost_instance_usd, d->cost_instance_usd);
    assert_twice(what, "cost_cluster_usd", c->cost_cluster_usd, d->cost_cluster_usd);
    assert_int_equal(c->cold_starts, d->cold_starts);
    assert_int_equal(c->evictions, d->evictions);
    assert_true(c->cost_cluster_usd > 0);
    simulation_result_clear(&results[0]);
    simulation_result_clear(&results[1]);
}

CASE(twice_the_times_give_twice_the_results_under_every_policy)
{
    static const char *const platform[] = {",'keep_alive_s':5", ",'keep_alive_s':10"};
    for (size_t p = 0; policy_for_requests(p) != NULL; p++) {
        const struct policy *policy = policy_for_requests(p);
        char params[2][1024];
        for (int k = 0; k < 2; k++)
            params_write(params[k], sizeof params[k], policy->name, policy->parameters, k + 1);
        assert_scales(policy->name, (const char *const[]){params[0], params[1]}, platform);
    }
}

CASE(twice_the_times_give_twice_the_results_under_every_keep_alive)
{
    static const char *const fifo[] = {"{'name':'fifo'}", "{'name':'fifo'}"};
    for (size_t i = 0; keep_alive_at(i) != NULL; i++) {
        const struct keep_alive *keep_alive_policy = keep_alive_at(i);
        char params[2][1024], platform[2][4096];
        for (int k = 0; k < 2; k++) {
            params_write(params[k], sizeof params[k], keep_alive_policy->name,
                         keep_alive_policy->parameters, k + 1);
            (void)snprintf(platform[k], sizeof platform[k], ",'keep_alive':%s", params[k]);
        }
        assert_scales(keep_alive_policy->name, fifo,
                      (const char *const[]){platform[0], platform[1]});
    }
}

SUITE("scaling")
