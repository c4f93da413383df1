/* What a batch holds after its end (turnaround_ms), what a request waits for before its first jobs
 * (platform.ingress_ms), and containers placed on listed invokers: against closed forms. */
#include "sched/policy_instances.h"
#include "sim/engine/queueing_theory.h"
#include "tests/worlds.h"
#include "workloads/world/capacity.h"

/* One server of a constant service time: a vCPU and no GPU, or one whole GPU. */
#define SERVER(gpus, configuration, service_ms, turnaround_ms, arrivals, rest)                     \
    "{'name':'server','cluster':{'invokers':[{'vcpus':1,'memory_mb':4096,'gpus':[" gpus            \
    "]}],'price':{'vcpu_hour_usd':3.6,'vgpu_hour_usd':36}},'functions':{'functions':[{'name':'f'," \
    "'service':{'distribution':'constant','mean_ms':" service_ms                                   \
    "},'configuration':" configuration ",'turnaround_ms':" turnaround_ms                           \
    "}]},'applications':[{'name':'a','stages':[{'name':'s','function':'f'}]}],'arrivals':"         \
    "{" arrivals "},'slo':{'ms':100},'policy':{'name':'fifo'},'platform':{'initial':{'f':1},"      \
    "'keep_alive_s':'infinite','prewarm':'none'}," rest "}"

#define CPU(service_ms, turnaround_ms, arrivals, rest)                                             \
    SERVER("", "{'batch':1,'vcpu':1,'vgpu':0}", service_ms, turnaround_ms, arrivals, rest)
#define GPU(service_ms, turnaround_ms, arrivals, rest)                                             \
    SERVER("{'sharing':'mps','units':2,'memory_mb':4096}", "{'batch':1,'vcpu':1,'vgpu':2}",        \
           service_ms, turnaround_ms, arrivals, rest)
#define LONG "'requests':18000,'warmup_requests':0,'seed':3"

/* ---- M/D/1 ----------------------------------------------------------------------------------- */

/* M/D/1 of service T + g, whose answers leave g before the service ends. */
static void check_md1(const char *held, const char *longer, double rate_per_ms)
{
    static struct log whole;
    go(longer, NULL);
    whole = rows;
    go(held, NULL);
    assert_int_equal(rows.request_count, 18000);
    for (size_t i = 0; i < rows.request_count; i++) {
        assert_int_equal(rows.requests[i].arrival_ns, whole.requests[i].arrival_ns);
        assert_int_equal(rows.requests[i].finish_ns,
                         whole.requests[i].finish_ns - 25 * SIM_MS / 10);
    }
    const double wait = queueing_mg1_wait(rate_per_ms, 10 + 2.5, 0);
    print_message("load %.3g: mean wait %.3f ms, of theory %.3f ± %.3f\n", rate_per_ms * 12.5,
                  result.overall.queue_ms_mean, wait, result.run.latency_ms_half_width);
    assert_absolute(result.overall.queue_ms_mean, wait, result.run.latency_ms_half_width);
    assert_true(fabs(wait - queueing_mg1_wait(rate_per_ms, 10, 0)) >
                2 * result.run.latency_ms_half_width);
}

CASE(a_turnaround_is_md1_of_a_longer_service_whose_answers_leave_earlier)
{
    check_md1(CPU("10", "2.5", "'process':'poisson','rate_per_s':40", LONG),
              CPU("12.5", "0", "'process':'poisson','rate_per_s':40", LONG), 0.04);
    check_md1(GPU("10", "2.5", "'process':'poisson','rate_per_s':64", LONG),
              GPU("12.5", "0", "'process':'poisson','rate_per_s':64", LONG), 0.064);
}

/* ---- Single batches -------------------------------------------------------------------------- */

/* Runs a text, which names the arrivals' file once by %s, with arrivals at the given times. */
static void go_at(const char *format, const double *times_ms, size_t count)
{
    char *lines = world_blank();
    for (size_t i = 0; i < count; i++)
        world_add(lines, "%.9g,a\n", times_ms[i]);
    run_trace(format, lines, NULL);
    assert_int_equal(rows.request_count, count);
}

#define TRACE "'process':'trace','file':'%s'"
#define ALL "'warmup_requests':0,'requests':100"

/* Five batches end T + g apart. The sixth comes as the fifth is released and starts at once, the
 * seventh finds an idle server, the eighth comes in a turnaround and waits for its rest. */
CASE(a_busy_period_takes_service_and_turnaround_of_each_batch)
{
    static const double times_ms[] = {0, 1, 1, 3, 4, 62.5, 100, 111};
    static const double finishes_ms[] = {10, 22.5, 35, 47.5, 60, 72.5, 110, 122.5};
    go_at(GPU("10", "2.5", TRACE, ALL), times_ms, 8);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(rows.requests[i].finish_ns, sim_from_ms(finishes_ms[i]));
    assert_int_equal(rows.batches[7].dispatched_ns, sim_from_ms(112.5));
    /* The run ends when nothing is held any more. */
    assert_relative(result.run.simulated_s, 0.125, 1e-12);
}

/* Alone, the host's time is as if the batch took that much longer, also in its price. It is no
 * slowdown. */
CASE(the_hosts_time_is_a_longer_service)
{
    static struct log longer;
    go(GPU("12.5", "0", "'process':'poisson','rate_per_s':64", LONG), NULL);
    const double usd = result.overall.cost_usd;
    longer = rows;
    char *json = world_copy(GPU("10", "0", "'process':'poisson','rate_per_s':64", LONG));
    world_replace(json, "'prewarm':'none'", "'prewarm':'none','host_ms':2.5");
    go(json, NULL);
    for (size_t i = 0; i < rows.request_count; i++)
        assert_int_equal(rows.requests[i].finish_ns, longer.requests[i].finish_ns);
    assert_relative(result.overall.cost_usd, usd, 1e-12);
    assert_absolute(result.run.slowdown_mean, 1, 0);
}

CASE(a_turnaround_is_base_and_per_item_of_the_batch)
{
    static const double times_ms[] = {0, 1};
    struct function_gpu gpu = {.turnaround_ms = 0.5, .turnaround_per_item_ms = 2};
    const struct function function = {.gpus = &gpu};
    const struct configuration spec = {.batch = 4};
    assert_int_equal(configuration_turnaround(&function, &spec), sim_from_ms(8.5));
    go_at(GPU("10", "{'base_ms':0.5,'per_item_ms':2}", TRACE, ALL), times_ms, 2);
    assert_int_equal(rows.requests[1].finish_ns, sim_from_ms(22.5));
}

CASE(a_run_without_turnarounds_is_one_of_functions_without_any)
{
    static struct log none;
    go(GPU("10", "0", "'process':'poisson','rate_per_s':64", LONG), NULL);
    none = rows;
    char *json = world_copy(GPU("10", "2.5", "'process':'poisson','rate_per_s':64", LONG));
    world_replace(json, "'prewarm':'none'", "'prewarm':'none','turnaround':false");
    go(json, NULL);
    for (size_t i = 0; i < rows.request_count; i++)
        assert_int_equal(rows.requests[i].finish_ns, none.requests[i].finish_ns);
    assert_absolute(result.overall.cost_hold_usd, 0, 0);
}

CASE(a_turnaround_is_paid_as_held_time)
{
    static const double times_ms[] = {0, 50, 51};
    const double usd_per_s = 3.6 / 3600 + 2 * 36.0 / 3600;
    go_at(GPU("10", "2.5", TRACE, ALL), times_ms, 3);
    assert_relative(result.overall.cost_usd, 0.030 * usd_per_s, 1e-12);
    assert_relative(result.overall.cost_hold_usd, 3 * 0.0025 * usd_per_s, 1e-12);
    for (size_t i = 0; i < 3; i++)
        assert_relative(rows.batches[i].cost_usd, 0.010 * usd_per_s, 1e-12);
    go_at(GPU("10", "0", TRACE, ALL), times_ms, 3);
    assert_absolute(result.overall.cost_hold_usd, 0, 0);
}

/* ---- Instances ------------------------------------------------------------------------------- */

static uint32_t instance;

/* One instance for everything, from the first request on. */
static bool single_decide(void *state, struct platform *platform)
{
    uint32_t *made = state;
    if ((*made)++ == 0)
        instance = platform_create(platform, &(struct instance_request){0, 0, 100, 0, SIM_NONE});
    assert_int_not_equal(instance, SIM_NONE);
    for (uint32_t q = platform_next_queue(platform, 0); q != SIM_NONE;
         q = platform_next_queue(platform, 0))
        assert_true(platform_route(platform, q, instance));
    const struct instance_view view = platform_instance(platform, instance);
    if (view.state == INSTANCE_IDLE && view.buffered > 0)
        assert_true(platform_launch(platform, instance, 1));
    return false;
}

CASE(an_instance_is_busy_and_billed_for_the_turnaround)
{
    static const struct policy single = {.abi = POLICY_ABI,
                                         .name = "single",
                                         .state_bytes = sizeof(uint32_t),
                                         .decide = single_decide};
    const double usd_per_ms = (3.6 + 2 * 36.0) / 3.6e6;
    run_well(GPU("10", "2.5", "'process':'uniform','low_ms':1,'high_ms':1",
                 "'warmup_requests':0,'requests':4"),
             &single, &rows, anew());
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(rows.requests[i].finish_ns - rows.requests[0].arrival_ns,
                         sim_from_ms(10 + 12.5 * (double)i));
    /* It lives to the end of the last turnaround, 50 ms, of which it works 40. */
    assert_relative(result.overall.cost_usd, 40 * usd_per_ms, 1e-12);
    assert_relative(result.run.cost_instance_usd, 10 * usd_per_ms, 1e-12);
    assert_absolute(result.overall.cost_hold_usd, 0, 0);
}

/* ---- Every policy ---------------------------------------------------------------------------- */

/* No batch takes a container within the turnaround after the one before it there. */
static size_t check_apart(sim_time_t turnaround)
{
    size_t followed = 0;
    for (size_t i = 0; i < rows.batch_count; i++) {
        const struct batch_row *batch = &rows.batches[i];
        size_t before = i;
        while (before > 0 && rows.batches[before - 1].container != batch->container)
            before--;
        if (before == 0)
            continue;
        assert_true(batch->launched_ns >= rows.batches[before - 1].finished_ns + turnaround);
        followed++;
    }
    return followed;
}

CASE(every_policy_meets_turnarounds_and_ingress_and_keeps_every_invariant)
{
    for (size_t p = 0; policy_for_requests(p) != NULL; p++)
        for (uint64_t number = 0; number < trials(4); number++) {
            const struct policy *policy = policy_for_requests(p);
            char *json = world_random(number, number % 2 == 0);
            world_replace(json, "'bandwidth_share':0.4", "'bandwidth_share':0.4,'turnaround_ms':7");
            world_replace(json, "'prewarm':'none'", "'prewarm':'none','ingress_ms':3,'host_ms':2");
            if (number % 4 == 3)
                world_exclusive(json);
            simulation_result_clear(&result);
            run_well(json, policy, &rows, &result);
            assert_int_equal(rows.request_count, WORLD_REQUESTS);
            assert_true(check_apart(7 * SIM_MS) > 0 || result.overall.dropped > 0);
            assert_true(result.overall.slo_hit_rate <= result.overall.bound_slo_hit_rate);
            for (size_t i = 0; i < rows.batch_count; i++) {
                const struct request_row *request = &rows.requests[rows.batches[i].first_request];
                assert_true(rows.batches[i].dispatched_ns >= request->arrival_ns + 3 * SIM_MS);
            }
        }
}

/* ---- Planners -------------------------------------------------------------------------------- */

/* A GPU serves 111 batches of 9 ms per second by their time, and 77 with a turnaround of 4 ms. A
 * policy that plans how many GPUs 100 or 250 requests per second need must count the turnaround. */
CASE(planners_of_capacity_count_the_turnaround)
{
    static const struct {
        const char *policy;
        double every_ms;
    } cases[] = {{"'infless'", 10},
                 {"'dilu'", 10},
                 {"'nexus'", 10},
                 {"'gpulet'", 4},
                 {"'fast-gshare','params':{'quotas':'off','backlog':'off'}", 10}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *policy = formatted("'policy':{'name':%s}", cases[i].policy);
        char *json =
            world_build(&(struct world){.invokers = 6,
                                        .units = 1,
                                        .functions = {{"f", "1", "1", "1", "[[9]]", 0, 100, 0}},
                                        .applications = "a: a=f",
                                        .every_ms = {cases[i].every_ms, cases[i].every_ms},
                                        .slo_ms = 60,
                                        .more = policy,
                                        .requests = 6000,
                                        .warmup_requests = 6000});
        world_replace(json, "'name':'f','model':'f'", "'name':'f','model':'f','turnaround_ms':4");
        go(json, NULL);
        if (result.overall.slo_hit_rate < 1)
            fail_msg("%s: hit rate %g", cases[i].policy, result.overall.slo_hit_rate);
    }
}

CASE(a_load_counts_the_turnaround)
{
    EXPERIMENT *experiment =
        load(GPU("10", "2.5", "'process':'poisson','load':0.8", "'requests':10"));
    assert_relative(capacity_find(&experiment->workload).rate_per_s, 80, 1e-12);
    assert_relative(experiment->arrivals.rate_per_s, 64, 1e-12);
}

/* ---- Kinds of GPU ---------------------------------------------------------------------------- */

#define KIND(turnaround_ms)                                                                        \
    "{'device':'test','evidence':'assumed','source':'test','licence':'none','unit':1,"             \
    "'functions':{'f':{'grid':{'batch':[1],'vcpu':[1],'vgpu':[1]},'latency_ms':[[[20]]],"          \
    "'noise':{'cv':0},'cold_start_ms':{'mean':0,'cv':0},'gpu_memory_mb':{'weights':1,"             \
    "'per_item':1},'host_memory_mb':1,'turnaround_ms':" turnaround_ms                              \
    "}},'interference':{'model':'none'}}"
#define WHOLE(model)                                                                               \
    "{'vcpus':1,'memory_mb':100,'gpus':[{'model':'" model "','sharing':'exclusive','units':1,"     \
    "'memory_mb':100}]}"
#define KINDS_BEGIN "{'name':'kinds','cluster':{'invokers':[" WHOLE("A") "," WHOLE("B") "]},"
#define KINDS_PROFILES "'profiles':{'A':" KIND("1") ",'B':" KIND("4") "},"
#define KINDS(functions)                                                                           \
    KINDS_BEGIN KINDS_PROFILES                                                                     \
        "'functions':{'functions':[{'name':'f','model':'f'" functions "}]},'applications':"        \
        "[{'name':'a','stages':[{'name':'s','function':'f'}]}],'arrivals':{" TRACE "},'slo':{'ms'" \
        ":500},'policy':{'name':'fifo'},'platform':{'prewarm':'none'}," ALL "}"

/* How far apart the two batches on each kind begin, less their time. */
static void check_kinds(double first_ms, double second_ms)
{
    const double gap_ms[] = {first_ms, second_ms};
    sim_time_t began[2][2] = {{0}};
    size_t count[2] = {0};
    assert_int_equal(rows.batch_count, 4);
    for (size_t i = 0; i < 4; i++) {
        const uint32_t invoker = rows.batches[i].invoker;
        assert_true(count[invoker] < 2);
        began[invoker][count[invoker]++] = rows.batches[i].started_ns;
    }
    for (size_t k = 0; k < 2; k++)
        assert_int_equal(began[k][1] - began[k][0], sim_from_ms(20 + gap_ms[k]));
}

CASE(each_kind_of_gpu_has_its_turnaround_and_a_functions_file_goes_before)
{
    static const double times_ms[] = {0, 0, 0, 0};
    go_at(KINDS(""), times_ms, 4);
    check_kinds(1, 4);
    go_at(KINDS(",'turnaround_ms':2.5"), times_ms, 4);
    check_kinds(2.5, 2.5);
}

/* ---- Ingress --------------------------------------------------------------------------------- */

static const struct world diamond_world = {
    .functions = {{"f", "1", "1", "1", "[[20]]", 0, 0, 0}},
    .applications = "a: a=f b=f(a) c=f(a) d=f(b,c)",
    .every_ms = {500, 500},
    .slo_ms = 70,
    .platform = "'initial':{'f':2},'ingress_ms':12,'interference':false",
    .more = "'policy':{'name':'fifo'}",
    .requests = 3};

/* Only the first stage waits for the input; it counts as transfer, in the latency and in the bound
 * of a path of 60 ms. */
CASE(ingress_delays_the_first_stages_and_is_transfer)
{
    char *json = world_build(&diamond_world);
    go(json, NULL);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(rows.requests[i].finish_ns - rows.requests[i].arrival_ns, 72 * SIM_MS);
        assert_int_equal(rows.requests[i].transfer_ns, 12 * SIM_MS);
        assert_int_equal(rows.requests[i].queue_ns, 0);
    }
    assert_relative(result.overall.transfer_ms_mean, 12, 1e-12);
    assert_absolute(result.overall.bound_slo_hit_rate, 0, 0);
    world_replace(json, "'ingress_ms':12", "'ingress_ms':10");
    go(json, NULL);
    assert_absolute(result.overall.bound_slo_hit_rate, 1, 0);
    assert_absolute(result.overall.slo_hit_rate, 1, 0);
}

/* ---- Placed containers ----------------------------------------------------------------------- */

static uint32_t placed[2][4]; /* by function and invoker: warm containers at the first decision */

static bool placed_decide(void *state, struct platform *platform)
{
    bool *seen = state;
    for (uint32_t f = 0; !*seen && f < 2; f++)
        for (uint32_t i = 0; i < 4; i++)
            placed[f][i] = platform_warm(platform, f, i);
    *seen = true;
    const uint32_t queue = platform_next_queue(platform, 0);
    return queue != SIM_NONE &&
           platform_fits(platform, platform_queue_function(platform, queue), 0, 0) &&
           platform_dispatch(platform, queue, 1, 0, 0);
}

/* Four invokers, f and g, and platform.initial. */
static char *placed_world(const char *initial)
{
    char *json = world_blank();
    world_add(json,
              "{'name':'placed','cluster':{'invokers':[{'count':4,'vcpus':2,'memory_mb':4096,"
              "'gpus':[]}]},'functions':{'functions':[{'name':'f','service':{'distribution':"
              "'constant','mean_ms':20}},{'name':'g','service':{'distribution':'constant',"
              "'mean_ms':20}}]},'applications':[{'name':'a','stages':[{'name':'a','function':'f'},"
              "{'name':'b','function':'g','after':['a']}]}],'arrivals':{'process':'uniform',"
              "'low_ms':500,'high_ms':500},'slo':{'ms':400},'policy':{'name':'fifo'},'platform':"
              "{'prewarm':'none','initial':%s},'requests':2,'warmup_requests':0}",
              initial);
    return json;
}

CASE(initial_lists_place_one_container_on_each_of_the_invokers)
{
    static const struct policy looks = {
        .abi = POLICY_ABI, .name = "looks", .state_bytes = sizeof(bool), .decide = placed_decide};
    static const uint32_t expected[2][4] = {{1, 0, 0, 1}, {0, 1, 0, 0}};
    char *json = placed_world("{'f':[0,3],'g':[1]}");
    simulation_result_clear(&result);
    run_well(json, &looks, &rows, &result);
    assert_memory_equal(placed, expected, sizeof placed);
    EXPERIMENT *experiment = load(json);
    assert_contains(experiment->resolved_json, "\"initial\":{\"f\":[0,3],\"g\":[1]}");
    EXPERIMENT *again = load(experiment->resolved_json);
    assert_string_equal(again->resolved_json, experiment->resolved_json);
}

CASE(faulty_initial_lists_are_refused)
{
    char *json = placed_world("{'f':[0,3]}");
    assert_text_refused(json, "platform.initial", "{'f':[0,4]}", "platform.initial.f[1]");
    assert_text_refused(json, "platform.initial", "{'f':[-1]}", "platform.initial.f[0]");
    assert_text_refused(json, "platform.initial", "{'f':[3,0]}", "platform.initial.f");
    assert_text_refused(json, "platform.initial", "{'f':[1,1]}", "platform.initial.f");
    assert_text_refused(json, "platform.initial", "{'f':[]}", "platform.initial.f");
    assert_text_refused(json, "platform.initial", "{'h':[0]}", "platform.initial.h");
    assert_text_refused(json, "platform.initial", "[0,3]", "platform.initial");
    assert_text_refused(json, "platform.initial", "{'per_invoker':{'f':[0]}}",
                        "platform.initial.per_invoker.f");
}

CASE(faulty_turnarounds_and_ingress_are_refused)
{
    char *json = placed_world("{'f':[0,3]}");
    assert_text_refused(json, "platform.ingress_ms", "-1", "platform.ingress_ms");
    assert_text_refused(json, "platform.ingress_ms", "'slow'", "platform.ingress_ms");
    assert_text_refused(json, "functions.functions.0.turnaround_ms", "-0.1", "turnaround_ms");
    json = world_build(&diamond_world);
    assert_text_refused(json, "profile.functions.f.turnaround_ms", "'x'", "turnaround_ms");
}

CASE(times_of_kernels_without_a_turnaround_are_told_once)
{
    char *json = world_build(&diamond_world);
    go(json, NULL);
    assert_null(notices_find(&result.notices, NOTICE_KERNELS));
    world_replace(json, "'device':'test'", "'device':'test','latency_of':'kernel'");
    go(json, NULL);
    const struct notice *first = notices_find(&result.notices, NOTICE_KERNELS);
    assert_contains(first->text, "are times of kernels, and f has no turnaround_ms");
    for (size_t n = 0; n < result.notices.count; n++)
        assert_true(&result.notices.rows[n] == first || result.notices.rows[n].kind != first->kind);
    world_replace(json, "'name':'f','model':'f'", "'name':'f','model':'f','turnaround_ms':2");
    go(json, NULL);
    assert_null(notices_find(&result.notices, NOTICE_KERNELS));
    world_replace(json, "'turnaround_ms':2", "'turnaround_ms':0");
    world_replace(json, "'latency_of':'kernel'", "'latency_of':'service'");
    go(json, NULL);
    assert_null(notices_find(&result.notices, NOTICE_KERNELS));
    assert_text_refused(json, "profile.latency_of", "'kernels'", "latency_of");
}

/* A key at its default leaves the canonical form, and so the hash, as it was. */
CASE(defaults_of_turnaround_and_ingress_are_not_in_the_canonical_form)
{
    char *json = placed_world("{'f':[0,3]}");
    EXPERIMENT *plain = load(json);
    EXPERIMENT *zero = load_with(json, "platform.ingress_ms", "0");
    EXPERIMENT *none = load_with(json, "functions.functions.0.turnaround_ms", "0");
    EXPERIMENT *held = load_with(json, "functions.functions.0.turnaround_ms", "2.5");
    assert_string_equal(zero->resolved_json, plain->resolved_json);
    assert_string_equal(none->resolved_json, plain->resolved_json);
    assert_string_not_equal(held->resolved_json, plain->resolved_json);
    EXPERIMENT *again = load(held->resolved_json);
    assert_string_equal(again->resolved_json, held->resolved_json);
}

SUITE("turnaround")
