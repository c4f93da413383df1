/* Every policy on clusters with unlike GPUs: MIG quarters beside MPS per cent. */
#include "sched/registry.h"
#include "tests/worlds.h"
#include "workloads/world/gpu_sharing.h"

enum { MIXED_WORLDS = 4, MIXED_REQUESTS = 150, ALONE_WORLDS = 6 };

/* ---- Worlds ---------------------------------------------------------------------------------- */

/* A function on one kind of GPU with three shares, `slow` times as slow as drawn. */
static void mixed_function(char *json, gsl_rng *rng, const char *name, const char *const shares[3],
                           double slow, double noise_cv)
{
    static const double part[] = {0.25, 0.5, 1};
    const double base = slow * (20 + 20 * gsl_rng_uniform(rng));
    world_add(json, "'%s':{'grid':{'batch':[1,2,4],'vcpu':[1],'vgpu':[%s,%s,%s]},'latency_ms':[",
              name, shares[0], shares[1], shares[2]);
    for (size_t b = 0; b < 3; b++) {
        world_add(json, "%s[[", b > 0 ? "," : "");
        for (size_t g = 0; g < 3; g++)
            world_add(json, "%s%.3f", g > 0 ? "," : "",
                      base * pow((double)(1u << b), 0.7) / pow(part[g], 0.6) *
                          (0.97 + 0.06 * gsl_rng_uniform(rng)));
        world_add(json, "]]");
    }
    world_add(json,
              "],'noise':{'cv':%g},'cold_start_ms':{'mean':%.0f,'cv':0},'gpu_memory_mb':{'weights':"
              "100,'per_item':10},'host_memory_mb':100,'bandwidth_share':0.4}",
              noise_cv, 50 + 100 * gsl_rng_uniform(rng));
}

/* The functions f and g, and `own`, which no other kind has. */
static void mixed_profile(char *json, gsl_rng *rng, const char *own, const char *const shares[3],
                          double slow, bool nominal)
{
    const char *const names[] = {"f", "g", own};
    world_add(json,
              "{'device':'test','evidence':'assumed','source':'test','licence':'none','unit':%s,'"
              "functions':{",
              shares[2]);
    for (size_t i = 0; i < 3; i++) {
        world_add(json, "%s", i > 0 ? "," : "");
        mixed_function(json, rng, names[i], shares, slow, nominal ? 0 : 0.1);
    }
    world_add(json, "},'interference':{'model':'constant','constant':0.3}}");
}

#define QUARTERS "{'model':'A30','sharing':'mig','units':4,'memory_mb':2000,'vgpu_hour_usd':9}"
#define HUNDREDTHS "{'model':'V','sharing':'mps','units':100,'memory_mb':1000,'vgpu_hour_usd':%g}"

/* Invokers with MIG quarters, others with MPS per cent, and one with both. The functions f and g
 * run on both kinds, q on quarters only and h on hundredths only. */
static char *mixed_world(uint64_t number, bool nominal)
{
    static const char *const quarters[] = {"1", "2", "4"};
    static const char *const hundredths[] = {"25", "50", "100"};
    RANDOM_STREAM(stream, 2026, RANDOM_TEST, number, 8);
    gsl_rng *rng = &stream.rng;
    char *json = world_blank();
    world_add(json,
              "{'name':'mixed','cluster':{'invokers':[{'count':%lu,'vcpus':6,'memory_mb':2000,'"
              "gpus':[" QUARTERS "]},{'count':%lu,'vcpus':6,'memory_mb':2000,'gpus':[" HUNDREDTHS
              "]},{'vcpus':8,'memory_mb':2000,'gpus':[" HUNDREDTHS "," QUARTERS
              "]}],'price':{'vcpu_hour_usd':1}},'functions':{'functions':[{'name':'f','model':'f'},"
              "{'name':'g','model':'g'},{'name':'q','model':'q'},{'name':'h','model':'h'}]},'"
              "profiles':{'A30':",
              1 + gsl_rng_uniform_int(rng, 2), 1 + gsl_rng_uniform_int(rng, 2), 0.36, 0.36);
    mixed_profile(json, rng, "q", quarters, 1, nominal);
    world_add(json, ",'V':");
    mixed_profile(json, rng, "h", hundredths, 0.7 + 0.8 * gsl_rng_uniform(rng), nominal);
    world_add(json,
              "},'applications':[{'name':'diamond','stages':[{'name':'a','function':'f'},{'name':'"
              "b','function':'q','after':['a']},{'name':'c','function':'h','after':['a']},{'name':'"
              "d','function':'g','after':['b','c']}]},{'name':'chain','stages':[{'name':'a','"
              "function':'g'},{'name':'b','function':'f','after':['a']}]},{'name':'single','stages'"
              ":[{'name':'a','function':'f'}]}],'arrivals':{'process':'poisson','rate_per_s':%.1f},"
              "'slo':{'factor':%.2f},'platform':{'prewarm':'none','interference':%s},'requests':%d,"
              "'warmup_requests':0,'seed':%u}",
              20 + 60 * gsl_rng_uniform(rng), 0.9 + 1.5 * gsl_rng_uniform(rng),
              nominal ? "false" : "true", MIXED_REQUESTS, (unsigned)number + 1);
    return json;
}

/* ---- What holds under every policy ----------------------------------------------------------- */

/* GPU `index` of the cluster, counted invoker by invoker, and its invoker. */
static const struct gpu_spec *gpu_at(const struct cluster_spec *cluster, uint32_t index,
                                     uint32_t *invoker)
{
    *invoker = 0;
    for (size_t g = 0; g < cluster->group_count; g++)
        for (uint32_t i = 0; i < cluster->groups[g].count; i++, ++*invoker) {
            if (index < cluster->groups[g].gpu_count)
                return &cluster->groups[g].gpus[index];
            index -= (uint32_t)cluster->groups[g].gpu_count;
        }
    fail();
    return NULL;
}

/* A batch runs on a GPU of its configuration's kind, in a share that this GPU allows, and takes the
 * time that the configuration gives on that kind: exactly where nothing disturbs it, and where no
 * share changes meanwhile. */
static void check_kinds(const struct workload *workload, const struct log *log, bool nominal,
                        size_t used[2])
{
    for (size_t i = 0; i < log->batch_count; i++) {
        const struct batch_row *batch = &log->batches[i];
        const struct stage *stage =
            &workload->applications[batch->application].stages[batch->stage];
        const struct configuration *spec =
            &workload->functions[stage->function].configurations[batch->configuration];
        uint32_t invoker;
        const struct gpu_spec *gpu = gpu_at(&workload->cluster, batch->gpu, &invoker);
        assert_int_equal(invoker, batch->invoker);
        assert_int_equal(gpu->kind, spec->kind);
        assert_true(gpu_allows(gpu, spec->vgpu));
        assert_int_equal(batch->vgpu, spec->vgpu);
        if (nominal && (batch->instance == SIM_NONE || !gpu_sharing_of(gpu)->divisible))
            assert_int_equal(batch->finished_ns - batch->started_ns, spec->time);
        used[spec->kind]++;
    }
}

CASE(every_policy_serves_unlike_gpus)
{
    for (size_t p = 0; policy_for_requests(p) != NULL; p++) {
        const struct policy *policy = policy_for_requests(p);
        size_t used[2] = {0};
        for (uint64_t world = 0; world < MIXED_WORLDS; world++) {
            char *json = mixed_world(world, world % 2 == 0);
            EXPERIMENT *experiment = load(json);
            assert_int_equal(experiment->workload.kind_count, 2);
            run_well(json, policy, &rows, anew());
            world_check_conserved(&rows, &result, MIXED_REQUESTS);
            world_check_batches(&rows);
            check_kinds(&experiment->workload, &rows, world % 2 == 0, used);
            assert_true(result.overall.slo_hit_rate <= result.run.bound_capacity_slo_hit_rate);
        }
        assert_true(used[0] > 0 && used[1] > 0);
    }
}

/* ---- Choice ---------------------------------------------------------------------------------- */

/* One function on two kinds of GPU. The second takes half the time for half the price, share by
 * share. Requests are far apart and containers warm. */
static char *dominated_world(void)
{
    static const char *const profile =
        "{'device':'test','evidence':'assumed','source':'test','licence':'none','unit':%s,'"
        "functions':{'f':{'grid':{'batch':[1,2],'vcpu':[1],'vgpu':[%s]},'latency_ms':[[[%s]],[[%s]]"
        "],'noise':{'cv':0},'cold_start_ms':{'mean':100,'cv':0},'gpu_memory_mb':{'weights':100,'"
        "per_item':10},'host_memory_mb':100,'bandwidth_share':0.4}},'interference':{'model':'none'}"
        "}";
    char *json = world_blank();
    world_add(json,
              "{'name':'dominated','cluster':{'invokers':[{'count':2,'vcpus':6,'memory_mb':2000,'"
              "gpus':[" QUARTERS "]},{'count':2,'vcpus':6,'memory_mb':2000,'gpus':[" HUNDREDTHS
              "]}],'price':{'vcpu_hour_usd':1}},'functions':{'functions':[{'name':'f','model':'f'}]"
              "},'profiles':{'A30':",
              0.18);
    world_add(json, profile, "4", "1,2,4", "80,50,40", "120,80,60");
    world_add(json, ",'V':");
    world_add(json, profile, "100", "25,50,100", "40,25,20", "60,40,30");
    world_add(
        json,
        "},'applications':[{'name':'single','stages':[{'name':'a','function':'f'}]}],'arrivals':{'"
        "process':'uniform','low_ms':400,'high_ms':600},'slo':{'factor':1.5},'platform':{'prewarm':"
        "'none','transfer':{'latency_ms':0}},'requests':60,'warmup_requests':0,'seed':1}");
    return json;
}

/* By design: the minimum configuration is the first kind's; INFless takes the first slot with room;
 * Nexus and gpulet divide the load over all GPUs that there are, as their papers do with equal
 * ones; SGPRS takes the first empty context in time. */
static bool minimises(const struct policy *policy)
{
    static const char *const others[] = {"min-config", "infless", "nexus", "gpulet", "sgprs"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(policy->name, others[i]) == 0)
            return false;
    return true;
}

CASE(a_kind_that_is_faster_and_cheaper_is_used_first)
{
    char *json = dominated_world();
    for (size_t p = 0; policy_for_requests(p) != NULL; p++) {
        const struct policy *policy = policy_for_requests(p);
        run_well(json, policy, &rows, anew());
        for (size_t i = 0; i < rows.batch_count && minimises(policy); i++)
            if (rows.batches[i].invoker < 2)
                fail_msg("%s runs request %u on the kind that is slower and dearer", policy->name,
                         (unsigned)rows.batches[i].first_request);
        assert_true(result.overall.slo_hit_rate >= 0.9);
    }
}

/* ---- More GPUs ------------------------------------------------------------------------------- */

/* The share of hits of the world with its invokers of both kinds, or of quarters alone. */
static double hits_with(const char *policy, uint64_t number, bool both)
{
    static const char *const quarters[] = {"1", "2", "4"};
    static const char *const hundredths[] = {"25", "50", "100"};
    char json[WORLD_BYTES] = "";
    RANDOM_STREAM(stream, 2026, RANDOM_TEST, number, 9);
    world_add(json, "{'name':'alone','cluster':{'invokers':[{'count':2,'vcpus':8,'memory_mb':4000,'"
                    "gpus':[" QUARTERS "]}");
    if (both)
        world_add(json, ",{'count':2,'vcpus':8,'memory_mb':4000,'gpus':[" HUNDREDTHS "]}", 0.36);
    world_add(json, "],'price':{'vcpu_hour_usd':1}},'functions':{'functions':[{'name':'f','model':'"
                    "f'},{'name':'g','model':'g'},{'name':'q','model':'q'}]},'profiles':{'A30':");
    mixed_profile(json, &stream.rng, "q", quarters, 1, false);
    if (both) {
        world_add(json, ",'V':");
        mixed_profile(json, &stream.rng, "h", hundredths, 0.7 + 0.2 * (double)number, false);
    }
    world_add(json,
              "},'applications':[{'name':'chain','stages':[{'name':'a','function':'g'},{'name':'b',"
              "'function':'f','after':['a']}]},{'name':'single','stages':[{'name':'a','function':'"
              "q'}]}],'arrivals':{'process':'poisson','rate_per_s':%d},'slo':{'factor':1.3},'"
              "platform':{'prewarm':'none','interference':false,'initial':{'f':%d,'g':%d,'q':8}},'"
              "requests':400,'warmup_requests':50,'seed':%u}",
              40, both ? 16 : 8, both ? 16 : 8, (unsigned)number + 1);
    run_well(json, policy_find(policy, NULL), NULL, anew());
    const double hits = result.overall.slo_hit_rate;
    return hits;
}

/* Other GPUs beside those of the first kind, slower or faster, do not cost hits, where plans know
 * all that their batches meet: without interference, which the slices do not have. */
CASE(gpus_of_another_kind_do_not_cost_hits)
{
    static const char *const policies[] = {"esg", "headway"};
    for (size_t p = 0; p < sizeof policies / sizeof *policies; p++) {
        double alone = 0;
        double both = 0;
        for (uint64_t number = 0; number < ALONE_WORLDS; number++) {
            alone += hits_with(policies[p], number, false) / ALONE_WORLDS;
            both += hits_with(policies[p], number, true) / ALONE_WORLDS;
        }
        print_message("%s: %.3f of the requests hit on one kind, %.3f on both\n", policies[p],
                      alone, both);
        assert_true(both >= alone - 0.01);
    }
}

SUITE("mixed_gpus")
