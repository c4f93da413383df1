/* Containers: cold starts from measured samples, and those that are warm at the beginning. */
#include "sched/policy.h"
#include "sched/registry.h"
#include "tests/fixture_simulation.h"
#include "tests/suite.h"
#include "traces/profile/profile.h"

/* Two functions of a constant time, one stage each of one application. `cold` is f's cold start. */
#define SERVED(cold, platform, count)                                                              \
    "{'cluster':{'invokers':[{'count':3,'vcpus':64,'memory_mb':4096}]},"                           \
    "'functions':{'functions':["                                                                   \
    "{'name':'f','service':{'distribution':'constant','mean_ms':10}," cold "'host_memory_mb':64}," \
    "{'name':'g','service':{'distribution':'constant','mean_ms':10},'host_memory_mb':64}]},"       \
    "'applications':[{'name':'a','stages':[{'name':'s','function':'f'},"                           \
    "{'name':'t','function':'g','after':['s']}]}],"                                                \
    "'arrivals':{'process':'uniform','low_ms':2000,'high_ms':2000},'policy':{'name':'fifo'},"      \
    "'platform':{'prewarm':'none'," platform "},'warmup_requests':0,'requests':" count "}"
#define COLD "'initial':'cold','keep_alive_s':0"

/* A profiled function `net`; `cold` is the profile's, `functions` the functions file. */
#define PROFILED(cold, functions)                                                                  \
    "{'cluster':{'invokers':[{'vcpus':4,'memory_mb':65536,'gpus':[{'model':'A100',"                \
    "'sharing':'mps','units':1,'memory_mb':1000}]}]},'profile':{'unit':1,'functions':{'net':{"     \
    "'grid':{'batch':[1],'vcpu':[1],'vgpu':[1]},'latency_ms':[[[40]]],'cold_start_ms':" cold       \
    ",'gpu_memory_mb':{'weights':100,'per_item':50}}}}," functions                                 \
    "'applications':[{'name':'app','stages':[{'name':'s','function':'net'}]}],"                    \
    "'arrivals':{'process':'uniform','low_ms':1,'high_ms':2}}"
#define ENTRY(cold) "'functions':[{'name':'net','cold_start_ms':" cold "}],"

static struct log log_a, log_b;

/* ---- Cold starts from samples ---------------------------------------------------------------- */

enum { STARTS = 4000, KINDS = 3 };

/* Pearson's statistic of the drawn cold starts; 99.9 % of a chi-squared variable with two degrees
 * of freedom lie below 13.82. */
CASE(each_sample_is_drawn_with_its_probability)
{
    static const double ms[KINDS] = {100, 250.5, 1000}, share[KINDS] = {0.25, 0.5, 0.25};
    size_t seen[KINDS] = {0};
    run_well(SERVED("'cold_start_ms':{'samples_ms':[100,250.5,1000,250.5]},", COLD, "4000"), NULL,
             &log_a, anew());
    assert_int_equal(log_a.request_count, STARTS);
    for (size_t r = 0; r < STARTS; r++) {
        size_t k = 0;
        while (k < KINDS && log_a.requests[r].cold_ns != sim_from_ms(ms[k]))
            k++;
        if (k < KINDS)
            seen[k]++;
        else
            fail_msg("request %zu waited %lld ns", r, (long long)log_a.requests[r].cold_ns);
    }
    double statistic = 0;
    for (size_t k = 0; k < KINDS; k++)
        statistic += pow((double)seen[k] - share[k] * STARTS, 2) / (share[k] * STARTS);
    if (!(statistic < 13.82))
        fail_msg("Pearson's statistic is %g", statistic);
}

CASE(every_policy_meets_the_same_cold_starts)
{
    const char *world = SERVED("'cold_start_ms':{'samples_ms':[1,2,3,4,5,6,7,8]},", COLD, "200");
    run_well(world, NULL, &log_a, anew());
    run_well(world, policy_find("edf", NULL), &log_b, anew());
    for (size_t r = 0; r < 200; r++)
        assert_int_equal(log_a.requests[r].cold_ns, log_b.requests[r].cold_ns);
}

CASE(one_sample_is_a_constant)
{
    run_well(SERVED("'cold_start_ms':{'samples_ms':[321.25]},", COLD, "50"), NULL, &log_a, anew());
    run_well(SERVED("'cold_start_ms':{'mean':321.25},", COLD, "50"), NULL, &log_b, anew());
    assert_same_rows(&log_a, &log_b);
}

CASE(planners_see_mean_and_cv_of_the_samples)
{
    EXPERIMENT *e = load(PROFILED("{'samples_ms':[100,200,600]}", ""));
    const struct profile_function *profiled = profile_find(e->workload.kinds[0].profile, "net");
    assert_true(fabs(profiled->cold_start_mean_ms - 300) < 1e-9);
    assert_true(fabs(profiled->cold_start_cv - sqrt(140000.0 / 3) / 300) < 1e-12);
    char samples[] = "'cold_start_ms':{'samples_ms':[100,200,600]}";
    assert_contains(e->resolved_json, json_requote(samples));
}

/* What the canonical form says of the cold start. */
CASE(the_functions_file_overrides_the_profile)
{
    static const struct {
        const char *text, *found;
    } cases[] = {
        {PROFILED("{'mean':300,'cv':0.2}", ""), "{'cv':0.2,'mean':300}"},
        {PROFILED("{'mean':300,'cv':0.2}", ENTRY("{'samples_ms':[1,3]}")), "{'samples_ms':[1,3]}"},
        {PROFILED("{'samples_ms':[100,300]}", ENTRY("{'samples_ms':[1,3]}")),
         "{'samples_ms':[1,3]}"},
        {PROFILED("{'samples_ms':[100,300]}", ENTRY("70")), "{'cv':0.5,'mean':70}"},
        {PROFILED("{'samples_ms':[100,300]}", ENTRY("{'cv':0.1}")), "{'cv':0.1,'mean':200}"},
        {PROFILED("{'samples_ms':[100,300]}", ENTRY("{'mean':70,'cv':0}")), "{'cv':0,'mean':70}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        EXPERIMENT *e = load(cases[i].text);
        char *wanted = formatted("'cold_start_ms':%s", cases[i].found);
        assert_contains(e->resolved_json, json_requote(wanted));
    }
}

CASE(the_canonical_form_with_samples_is_an_experiment_of_the_same_hash)
{
    EXPERIMENT *e =
        load(SERVED("'cold_start_ms':{'samples_ms':[0.1,1234.5678901,3]},", COLD, "10"));
    EXPERIMENT *again = load(e->resolved_json);
    EXPERIMENT *other =
        load(SERVED("'cold_start_ms':{'samples_ms':[0.1,1234.5678902,3]},", COLD, "10"));
    assert_string_equal(e->hash, again->hash);
    assert_string_not_equal(e->hash, other->hash);
}

CASE(samples_that_are_none_are_refused_with_their_place)
{
    static const struct {
        const char *cold, *profile_fault, *entry_fault;
    } cases[] = {
        {"{'samples_ms':[1,2],'mean':3}", "cold_start_ms.mean: follows from", NULL},
        {"{'samples_ms':[1,2],'cv':0}", "cold_start_ms.cv: follows from", NULL},
        {"{'samples_ms':[]}", "cold_start_ms.samples_ms: has 0 entries", NULL},
        {"{'samples_ms':7}", "cold_start_ms.samples_ms: must be an array", NULL},
        {"{'samples_ms':[1,-1]}", "cold_start_ms.samples_ms[1]: ", NULL},
        {"{'samples_ms':[1,'2']}", "cold_start_ms.samples_ms[1]: ", NULL},
        {"{'sample_ms':[1]}", "did you mean \"samples_ms\"", NULL},
        {"{'cv':1}", "\"mean\" is missing", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[2048];
        const char *entry = cases[i].entry_fault;
        snprintf(text, sizeof text, PROFILED("%s", "%s"), cases[i].cold, "");
        assert_text_refused(text, NULL, NULL, cases[i].profile_fault);
        snprintf(text, sizeof text, PROFILED("{'mean':1}", ENTRY("%s")), cases[i].cold);
        if (entry == NULL || *entry != '\0')
            assert_text_refused(text, NULL, NULL, entry == NULL ? cases[i].profile_fault : entry);
    }
}

/* ---- Warm at the beginning ------------------------------------------------------------------- */

CASE(counts_per_invoker_are_counts_times_the_invokers)
{
    static const char *const same[][2] = {
        {"{'per_invoker':5}", "80"},
        {"{'per_invoker':5,'deblur':3}",
         "{'super-resolution':80,'segmentation':80,'deblur':3,'classification':80,"
         "'background-removal':80,'depth-recognition':80}"},
        {"{'per_invoker':{'deblur':2}}", "{'deblur':32}"},
        {"{'per_invoker':0}", "0"},
    };
    static const char path[] = "workloads/experiments/strict-light.json";
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        struct experiment *e[2];
        for (size_t k = 0; k < 2; k++) {
            STRING *value = json_requote(strdup(same[i][k]));
            const struct override override = {"platform.initial", value};
            e[k] = experiment_load(path, &override, 1, hear());
            assert_good(e[k] != NULL);
        }
        assert_string_equal(e[0]->hash, e[1]->hash);
        experiment_free(e[0]);
        experiment_free(e[1]);
    }
}

CASE(the_papers_settings_grow_with_the_cluster)
{
    static const char *const paths[] = {"workloads/experiments/strict-light.json",
                                        "workloads/experiments/moderate-normal.json",
                                        "workloads/experiments/relaxed-heavy.json"};
    static const struct override many = {"cluster.invokers.0.count", "1000"};
    for (size_t i = 0; i < 3; i++) {
        EXPERIMENT *e = must(experiment_load(paths[i], &many, 1, hear()));
        for (size_t f = 0; f < e->workload.function_count; f++)
            assert_int_equal(e->platform.initial_counts[f], 5000);
    }
}

static const struct policy *fifo;
static bool looked;

/* fifo, which first counts the warm containers. */
static bool look_decide(void *policy_state, struct platform *platform)
{
    if (!looked)
        for (uint32_t f = 0; f < 2; f++)
            for (uint32_t i = 0; i < 3; i++)
                assert_int_equal(platform_warm(platform, f, i), f == 0 ? 4 : 1);
    looked = true;
    return fifo->decide(policy_state, platform);
}

CASE(each_invoker_holds_its_own)
{
    fifo = must(policy_find("fifo", NULL));
    struct policy look = *fifo;
    look.decide = look_decide;
    looked = false;
    run_well(SERVED("", "'initial':{'per_invoker':{'f':4,'g':1}}", "5"), &look, NULL, anew());
    assert_true(looked);
}

CASE(counts_that_cannot_be_are_refused)
{
    const char *world = SERVED("", "'initial':'warm'", "5");
    assert_text_refused(world, "platform.initial", "{'per_invoker':-1}", "initial.per_invoker: ");
    assert_text_refused(world, "platform.initial", "{'per_invoker':1.5}", "initial.per_invoker: ");
    assert_text_refused(world, "platform.initial", "{'per_invoker':5592406}",
                        "per_invoker: is 5592406, must lie within 0..5592405");
    assert_text_refused(world, "platform.initial", "{'per_invoker':{'h':1}}",
                        "per_invoker.h: \"h\" is no function in use");
    assert_text_refused(world, "platform.initial", "{'per_invokers':1}", "is no function in use");
    /* 64 containers of f fill an invoker. */
    assert_bad_input(
        run(SERVED("", "'initial':{'per_invoker':{'f':65}}", "5"), NULL, NULL, anew(), hear()),
        "memory holds only 192 of 195");
}

/* A function may have the name of the key. */
CASE(a_function_named_per_invoker_has_its_count)
{
    EXPERIMENT *e = load("{'cluster':{'invokers':[{'count':2,'vcpus':1,'memory_mb':64}]},"
                         "'functions':[{'name':'per_invoker','service':{'distribution':'constant',"
                         "'mean_ms':1}}],'applications':[{'name':'a','stages':[{'name':'s',"
                         "'function':'per_invoker'}]}],'platform':{'initial':{'per_invoker':3}},"
                         "'arrivals':{'process':'poisson','rate_per_s':1}}");
    assert_int_equal(e->platform.initial_counts[0], 3);
}

SUITE("containers")
