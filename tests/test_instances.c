/* Long-lived instances: what they hold, run, cost, and which rules they come with. */
#include "tests/suite.h"
#include "tests/worlds.h"
#include "sched/policy_instances.h"

enum { INSTANCES_MAX = 64 };

#define assert_near(value, expected) assert_relative(value, expected, 1e-12)

/* A policy whose every step is the test's. */
struct script {
    void (*step)(struct script *script, struct platform *platform); /* within decide */
    uint32_t made[INSTANCES_MAX];
    uint32_t made_count;
    bool rung, timed;
    struct random_stream stream;
};

static struct script script_next; /* what the next run starts with */

static bool script_init(void *state, struct platform *platform, const void *parameters,
                        struct error *error)
{
    *(struct script *)state = script_next;
    random_stream_open(&((struct script *)state)->stream, 5, RANDOM_TEST, platform_seed(platform),
                       0);
    return true;
}

static bool script_decide(void *state, struct platform *platform)
{
    struct script *script = state;
    script->step(script, platform);
    return false;
}

static void script_timer(void *state, struct platform *platform, uint32_t id)
{
    struct script *script = state;
    script->rung = true;
}

static void script_ready(void *state, struct platform *platform, uint32_t instance)
{
    assert_int_equal(platform_instance(platform, instance).state, INSTANCE_IDLE);
    assert_true(platform_instance(platform, instance).ready == platform_now(platform));
}

POLICY(script, .state_bytes = sizeof(struct script), .init = script_init, .on_timer = script_timer,
       .on_instance_ready = script_ready, .decide = script_decide);

/* f at batch 1: 80, 40, 20 ms on 1, 2, 4 units; twice that at batch 2. No noise. Two applications
 * of one stage each. */
static char *world(const char *initial, unsigned interval_ms, unsigned requests)
{
    char *platform = formatted("'initial':'%s','interference':true", initial);
    char *json = world_build(&(struct world){
        .invokers = 2,
        .memory_mb = 2000,
        .model = "A30",
        .gpu_memory_mb = 1000,
        .functions = {{"f", "1,2", "1", "1,2,4", "[[80,40,20]],[[160,80,40]]", 0, 300, 0.5}},
        .interference = 0.5,
        .applications = "one: a=f; two: a=f",
        .every_ms = {interval_ms, interval_ms},
        .slo_factor = 5,
        .platform = platform,
        .requests = requests});
    return json;
}

static const double vcpu_ns_usd = 3.6 / 3.6e12, vgpu_ns_usd = 36 / 3.6e12;

static uint32_t configuration_of(const struct platform *platform, uint16_t batch, uint16_t vgpu)
{
    const struct function *f = &platform_workload(platform)->functions[0];
    for (uint32_t c = 0; c < f->configuration_count; c++)
        if (f->configurations[c].batch == batch && f->configurations[c].vgpu == vgpu)
            return c;
    fail_msg("no configuration of batch %u on %u units", batch, vgpu);
    return 0;
}

static void make(struct script *script, struct platform *platform, uint16_t batch, uint16_t vgpu,
                 uint32_t quota)
{
    script->made[script->made_count] = platform_create(
        platform,
        &(struct instance_request){0, configuration_of(platform, batch, vgpu), quota, 0, SIM_NONE});
    assert_int_not_equal(script->made[script->made_count], SIM_NONE);
    script->made_count++;
}

static void feed(struct script *script, struct platform *platform, uint32_t least)
{
    const uint32_t instance = script->made[0];
    for (uint32_t q = platform_next_queue(platform, 0); q != SIM_NONE;
         q = platform_next_queue(platform, 0))
        assert_true(platform_route(platform, q, instance));
    const struct instance_view view = platform_instance(platform, instance);
    if (view.state == INSTANCE_IDLE && view.buffered >= least)
        assert_true(platform_launch(platform, instance, least));
}

static void run_script(const char *json, void (*step)(struct script *, struct platform *),
                       struct simulation_result *result)
{
    script_next = (struct script){.step = step};
    run_well(json, &script, &rows, result);
}

static void half_time_step(struct script *script, struct platform *platform)
{
    if (script->made_count == 0)
        make(script, platform, 1, 2, 50);
    feed(script, platform, 1);
}

CASE(a_quota_of_half_takes_twice_the_time_at_half_the_gpu_price)
{
    run_script(world("warm", 1000, 3), half_time_step, anew());
    const double rate = vcpu_ns_usd + 2 * 0.5 * vgpu_ns_usd;
    for (size_t i = 0; i < 3; i++) {
        assert_true(rows.requests[i].exec_ns == 80 * SIM_MS);
        assert_near(rows.requests[i].cost_usd, 80e6 * rate);
        assert_true(rows.requests[i].cold_ns == 0);
    }
    /* It lives from the first arrival to the last finish, and executes for 3 × 80 ms of that. */
    const sim_time_t life = rows.requests[2].finish_ns - rows.requests[0].arrival_ns;
    assert_true(life == 2080 * SIM_MS);
    assert_near(result.run.cost_instance_usd, (double)(life - 240 * SIM_MS) * rate);
    /* Nothing is held but by the instance, busy or idle. */
    assert_near(result.run.cost_held_per_request_usd * (double)result.overall.requests,
                (double)life * rate);
    assert_near(result.run.gpu_utilisation, 2 * 0.5 / 8);
    assert_int_equal(result.run.instances, 1);
}

static void share_step(struct script *script, struct platform *platform)
{
    if (script->made_count == 0) {
        make(script, platform, 1, 1, 100);
        platform_set_timer(platform, platform_now(platform) + 40 * SIM_MS, 0);
        platform_set_timer(platform, platform_now(platform) + 45 * SIM_MS, 0);
    }
    if (script->rung) { /* at 40 ms the whole GPU, at 45 ms a fifth of its time */
        const bool second = platform_instance(platform, script->made[0]).configuration ==
                            configuration_of(platform, 1, 4);
        assert_true(platform_set_share(platform, script->made[0], configuration_of(platform, 1, 4),
                                       second ? 20 : 100));
    }
    script->rung = false;
    feed(script, platform, 1);
}

CASE(a_new_share_keeps_the_remaining_work)
{
    for (int alone = 0; alone < 2; alone++) {
        char *json = world("warm", 1000, 1);
        if (alone)
            world_replace(json, "'interference':true", "'interference':false");
        run_script(json, share_step, anew());
        /* 40 of 80 ms done on one unit; 10 ms of work left on four; 5 done; 5 at a fifth. */
        assert_true(rows.requests[0].exec_ns == (40 + 5 + 25) * SIM_MS);
        const double cost = 40e6 * (vcpu_ns_usd + vgpu_ns_usd) +
                            5e6 * (vcpu_ns_usd + 4 * vgpu_ns_usd) +
                            25e6 * (vcpu_ns_usd + 4 * 0.2 * vgpu_ns_usd);
        assert_near(rows.requests[0].cost_usd, cost);
        assert_near(rows.batches[0].slowdown, 1);
    }
}

static void a_share_that_does_not_fit_changes_nothing_step(struct script *script,
                                                           struct platform *platform)
{
    if (script->made_count == 0) {
        make(script, platform, 1, 2, 100);
        make(script, platform, 1, 2, 100);
        assert_false(
            platform_set_share(platform, script->made[0], configuration_of(platform, 1, 4), 60));
        assert_int_equal(platform_instance(platform, script->made[0]).quota, 100);
        assert_true(
            platform_set_share(platform, script->made[0], configuration_of(platform, 1, 4), 50));
        assert_int_equal(platform_gpu_free(platform, 0, 0), 0);
    }
    feed(script, platform, 1);
}

CASE(a_share_that_does_not_fit_changes_nothing)
{
    run_script(world("warm", 1000, 3), a_share_that_does_not_fit_changes_nothing_step, anew());
    assert_true(rows.requests[0].exec_ns == 40 * SIM_MS);
}

static void fill_step(struct script *script, struct platform *platform)
{
    if (script->made_count == 0) {
        const uint32_t whole = configuration_of(platform, 1, 4);
        assert_int_equal(platform_gpu_count(platform, 0), 1);
        for (uint32_t i = 0; i < 4; i++) {
            assert_int_equal(platform_gpu_free(platform, 0, 0), 400 - 100 * i);
            assert_true(
                platform_instance_fits(platform, &(struct instance_request){0, whole, 25, 0, 0}));
            make(script, platform, 1, 4, 25);
        }
        assert_false(
            platform_instance_fits(platform, &(struct instance_request){0, whole, 1, 0, SIM_NONE}));
        assert_int_equal(
            platform_create(platform, &(struct instance_request){0, whole, 25, 0, SIM_NONE}),
            SIM_NONE);
        assert_true(platform_kill(platform, script->made[3]));
        assert_int_equal(platform_gpu_free(platform, 0, 0), 100);
        assert_true(
            platform_instance_fits(platform, &(struct instance_request){0, whole, 25, 0, 0}));
    }
    feed(script, platform, 1);
}

CASE(shares_times_quotas_fill_a_gpu_exactly)
{
    run_script(world("warm", 1000, 3), fill_step, anew());
    assert_true(rows.requests[0].exec_ns == 80 * SIM_MS);
    assert_int_equal(result.run.instances, 4);
}

static void plain_step(struct script *script, struct platform *platform)
{
    if (script->made_count == 0)
        make(script, platform, 1, 4, 100);
    feed(script, platform, 1);
}

CASE(what_arrives_while_an_instance_starts_waits_for_its_cold_start)
{
    run_script(world("cold", 200, 3), plain_step, anew());
    static const sim_time_t waits[] = {300, 100, 0};
    for (size_t i = 0; i < 3; i++) {
        assert_true(rows.requests[i].cold_ns == waits[i] * SIM_MS);
        assert_true(rows.requests[i].queue_ns == (i == 1 ? 20 : 0) * SIM_MS);
    }
    assert_near(result.overall.cold_start_rate, 2.0 / 3);
    assert_int_equal(result.run.cold_starts, 1);
}

static void pair_step(struct script *script, struct platform *platform)
{
    if (script->made_count == 0)
        make(script, platform, 2, 4, 100);
    feed(script, platform, 2);
}

CASE(a_batch_may_mix_queues_of_one_function)
{
    run_script(world("warm", 100, 20), pair_step, anew());
    assert_int_equal(rows.batch_count, 10);
    uint32_t mixed = 0;
    for (size_t i = 0; i < 20; i += 2) {
        assert_true(rows.requests[i].finish_ns == rows.requests[i + 1].finish_ns);
        assert_true(rows.requests[i].finish_ns == rows.requests[i + 1].arrival_ns + 40 * SIM_MS);
        mixed += rows.requests[i].application != rows.requests[i + 1].application;
    }
    assert_true(mixed > 0);
    assert_near(result.overall.mean_batch, 2);
    assert_int_equal(result.applications[0].requests + result.applications[1].requests, 20);
}

static void return_step(struct script *script, struct platform *platform)
{
    if (script->made_count == 0)
        make(script, platform, 1, 4, 100);
    uint32_t waiting = platform_queue_length(platform, 0) + platform_queue_length(platform, 1);
    waiting += platform_instance(platform, script->made[0]).buffered;
    if (waiting < 4 && platform_now(platform) < 450 * SIM_MS) {
        /* Into the buffer and back, whatever comes. */
        for (uint32_t q = platform_next_queue(platform, 0); q != SIM_NONE;
             q = platform_next_queue(platform, 0))
            assert_true(platform_route(platform, q, script->made[0]));
        uint64_t last = 0;
        assert_true(platform_return(platform, script->made[0]));
        assert_int_equal(platform_instance(platform, script->made[0]).buffered, 0);
        for (uint32_t q = 0; q < 2; q++, last = 0)
            for (uint32_t i = 0; i < platform_queue_length(platform, q); i++) {
                assert_true(platform_job(platform, q, i).request >= last);
                last = platform_job(platform, q, i).request;
            }
        return;
    }
    feed(script, platform, 1);
}

CASE(returned_jobs_stand_in_their_queues_by_age)
{
    run_script(world("warm", 100, 8), return_step, anew());
    assert_int_equal(rows.request_count, 8);
}

static void kill_starting_step(struct script *script, struct platform *platform)
{
    if (script->made_count == 0) {
        make(script, platform, 1, 4, 100);
        assert_int_equal(platform_instance(platform, script->made[0]).state, INSTANCE_STARTING);
        assert_true(platform_kill(platform, script->made[0]));
        assert_int_equal(platform_gpu_free(platform, 0, 0), 400);
        assert_int_equal(platform_warm_total(platform, 0), 0);
        script->made_count = 0;
        make(script, platform, 1, 4, 100);
    }
    feed(script, platform, 1);
}

CASE(an_instance_killed_while_it_starts_leaves_nothing)
{
    run_script(world("cold", 1000, 1), kill_starting_step, anew());
    assert_true(rows.requests[0].cold_ns == 300 * SIM_MS);
    assert_int_equal(result.run.instances, 2);
}

/* ---- Accounts -------------------------------------------------------------------------------- */

static const double whole_gpu_usd = 3.6 / 3.6e12 + 4 * 36 / 3.6e12; /* a ns of one vCPU, 4 units */

static sim_time_t drop_after; /* the request's arrival */

static void drop_step(struct script *script, struct platform *platform)
{
    if (script->made_count == 0) {
        make(script, platform, 1, 4, 100);
        assert_true(platform_route(platform, platform_next_queue(platform, 0), script->made[0]));
        platform_set_timer(platform, platform_now(platform) + drop_after, 0);
    }
    if (script->rung) {
        assert_int_equal(platform_instance(platform, script->made[0]).buffered, 1);
        assert_true(platform_drop(platform, platform_next_queue(platform, 0), 0));
        assert_int_equal(platform_instance(platform, script->made[0]).buffered, 0);
    }
    script->rung = false;
}

/* Its other job waited in its queue for all of that time. */
CASE(a_job_dropped_from_a_buffer_has_waited_for_the_instance_s_start)
{
    char *json = world("cold", 1000, 1);
    world_replace(json, "[{'name':'a','function':'f'}]",
                  "[{'name':'a','function':'f'},{'name':'b','function':'f'},"
                  "{'name':'c','function':'f','after':['a','b']}]");
    for (sim_time_t ms = 100; ms <= 400; ms += 300) {
        drop_after = ms * SIM_MS;
        run_script(json, drop_step, anew());
        assert_true(rows.requests[0].dropped);
        const sim_time_t cold = (ms < 300 ? ms : 300) * SIM_MS;
        assert_true(rows.requests[0].cold_ns == cold);
        assert_true(rows.requests[0].queue_ns == 2 * drop_after - cold);
        assert_near(result.run.cost_instance_usd, (double)drop_after * whole_gpu_usd);
    }
}

static bool abandon; /* the first instance, after 50 ms */

static void claim_step(struct script *script, struct platform *platform)
{
    if (!script->timed) {
        assert_true(platform_prewarm(platform, 0, 0));
        platform_set_timer(platform, platform_now(platform) + 100 * SIM_MS, 0);
        platform_set_timer(platform, platform_now(platform) + 150 * SIM_MS, 0);
        script->timed = true;
    }
    if (!script->rung && script->made_count == 0)
        return;
    if (script->made_count == 0) {
        make(script, platform, 1, 4, 100);
        const struct instance_view view = platform_instance(platform, script->made[0]);
        assert_int_equal(view.state, INSTANCE_STARTING);
        assert_true(view.ready == view.created + 200 * SIM_MS);
    } else if (abandon && platform_instance(platform, script->made[0]).state == INSTANCE_STARTING &&
               script->made_count == 1) {
        assert_true(platform_kill(platform, script->made[0]));
        assert_int_equal(platform_warm_total(platform, 0), 0);
        script->made_count = 0;
        make(script, platform, 1, 4, 100);
        script->made[script->made_count++] = SIM_NONE;
    }
    if (!abandon || script->made_count == 2)
        feed(script, platform, 1);
}

/* Idle for 100 ms, then the instance's: nothing is billed twice, nor forgotten. */
CASE(an_instance_takes_over_a_container_that_is_starting)
{
    for (int i = 0; i < 2; i++) {
        abandon = i == 1;
        run_script(world("cold", 1000, 1), claim_step, anew());
        assert_near(result.run.cost_idle_usd, 100e6 * (vcpu_ns_usd + vgpu_ns_usd));
        const double held_ms = abandon ? 50 + 300 : 200;
        assert_near(result.run.cost_instance_usd, held_ms * 1e6 * whole_gpu_usd);
        assert_near(result.overall.cost_usd, 20e6 * whole_gpu_usd);
        assert_int_equal(result.run.prewarms, 1);
        assert_int_equal(result.run.cold_starts, abandon ? 1 : 0);
        assert_int_equal(result.run.evictions, abandon ? 1 : 0);
        assert_true(rows.requests[0].finish_ns - rows.requests[0].arrival_ns ==
                    (abandon ? 470 : 320) * SIM_MS);
    }
}

CASE(an_instance_is_billed_from_the_end_of_the_warm_up)
{
    char *json = world("warm", 1000, 2);
    world_replace(json, "'warmup_requests':0", "'warmup_requests':1");
    run_script(json, plain_step, anew());
    /* From the second of three requests to the end of the last: 1020 ms, of which it works 40. */
    assert_near(result.run.cost_instance_usd, 980e6 * whole_gpu_usd);
    assert_near(result.overall.cost_usd, 40e6 * whole_gpu_usd);
    assert_near(result.run.gpu_utilisation, 0.5);
}

static void hasty_step(struct script *script, struct platform *platform)
{
    if (script->made_count > 0)
        return;
    make(script, platform, 1, 1, 100);
    feed(script, platform, 1);
    assert_int_equal(platform_instance(platform, script->made[0]).state, INSTANCE_BUSY);
    assert_true(
        platform_set_share(platform, script->made[0], configuration_of(platform, 1, 4), 50));
}

/* Launched by a decision of 10 ms and re-shared within it: 20 ms of work at half the time. */
CASE(a_batch_may_be_given_another_share_before_it_executes)
{
    char *json = world("warm", 1000, 1);
    const double rate = vcpu_ns_usd + 4 * 0.5 * vgpu_ns_usd;
    world_replace(json, "'prewarm':'none'",
                  "'prewarm':'none','decision_cost':{'model':'fixed','ms':10}");
    run_script(json, hasty_step, anew());
    assert_true(rows.requests[0].queue_ns == 10 * SIM_MS);
    assert_true(rows.requests[0].exec_ns == 40 * SIM_MS);
    assert_near(rows.requests[0].cost_usd, 40e6 * rate);
    assert_near(result.run.cost_instance_usd, 10e6 * rate);
    assert_near(rows.batches[0].slowdown, 1);
}

static void without_gpu_step(struct script *script, struct platform *platform)
{
    if (script->made_count == 0) {
        make(script, platform, 1, 0, 30);
        const uint32_t one_unit = configuration_of(platform, 1, 1);
        assert_false(platform_set_share(platform, script->made[0], one_unit, 100));
        assert_true(
            platform_set_share(platform, script->made[0], configuration_of(platform, 1, 0), 20));
        const struct instance_view view = platform_instance(platform, script->made[0]);
        assert_int_equal(view.quota, 100);
        assert_int_equal(view.gpu, SIM_NONE);
    }
    feed(script, platform, 1);
}

CASE(an_instance_without_a_gpu_has_no_quota)
{
    char *json = world("warm", 1000, 3);
    world_replace(json, "'vgpu':[1,2,4]", "'vgpu':[0,1,2]");
    run_script(json, without_gpu_step, anew());
    assert_true(rows.requests[0].exec_ns == 80 * SIM_MS);
    assert_near(rows.requests[0].cost_usd, 80e6 * vcpu_ns_usd);
    assert_true(result.run.gpu_utilisation <= 0);
}

static void make_room_step(struct script *script, struct platform *platform)
{
    if (script->made_count == 0) {
        make(script, platform, 1, 4, 100);
        assert_int_equal(platform_warm(platform, 0, 0), 1);
        assert_true(
            platform_set_share(platform, script->made[0], configuration_of(platform, 2, 4), 100));
        assert_int_equal(platform_warm(platform, 0, 0), 0);
    }
    feed(script, platform, 1);
}

/* 100 MB of weights each, 10 MB a job: two containers and a batch of two do not go into 215 MB. */
CASE(a_share_that_needs_more_memory_evicts_an_idle_container)
{
    char *json = world("warm", 1000, 3);
    world_replace(json, "'units':4,'memory_mb':1000", "'units':4,'memory_mb':215");
    world_replace(json, "'initial':'warm'", "'initial':{'f':4}");
    run_script(json, make_room_step, anew());
    assert_int_equal(result.run.evictions, 1);
    assert_int_equal(result.run.cold_starts, 0);
}

/* ---- Rules ----------------------------------------------------------------------------------- */

static void busy_kill(struct script *script, struct platform *platform)
{
    make(script, platform, 1, 4, 100);
    feed(script, platform, 1);
    platform_kill(platform, script->made[0]);
}

static void buffered_kill(struct script *script, struct platform *platform)
{
    make(script, platform, 2, 4, 100);
    feed(script, platform, 2);
    platform_kill(platform, script->made[0]);
}

static void dead_launch(struct script *script, struct platform *platform)
{
    make(script, platform, 1, 4, 100);
    platform_kill(platform, script->made[0]);
    platform_launch(platform, script->made[0], 1);
}

static void empty_launch(struct script *script, struct platform *platform)
{
    make(script, platform, 1, 4, 100);
    platform_launch(platform, script->made[0], 1);
}

static void empty_route(struct script *script, struct platform *platform)
{
    make(script, platform, 1, 4, 100);
    const uint32_t full = platform_next_queue(platform, 0);
    platform_route(platform, 1 - full, script->made[0]);
}

static void no_quota(struct script *script, struct platform *platform)
{
    platform_create(platform, &(struct instance_request){0, 0, 0, 0, SIM_NONE});
}

static void no_invoker(struct script *script, struct platform *platform)
{
    platform_create(platform, &(struct instance_request){0, 0, 100, 2, SIM_NONE});
}

static void spin(struct script *script, struct platform *platform)
{
    make(script, platform, 1, 1, 100);
    platform_kill(platform, script->made[0]);
    script->made_count = 0;
}

static bool spin_decide(void *state, struct platform *platform)
{
    struct script *script = state;
    script->step(script, platform);
    return true;
}

CASE(each_broken_rule_ends_the_run_and_is_named)
{
    static const struct {
        void (*step)(struct script *script, struct platform *platform);
        const char *message;
    } cases[] = {
        {busy_kill, "rule instance: kill of instance 0, which runs 1 jobs"},
        {buffered_kill, "rule instance: kill of instance 0, which buffers 1 jobs"},
        {dead_launch, "rule range: launch names instance 0, which does not live"},
        {empty_launch, "rule absent jobs: launch of 1 jobs on instance 0, which buffers 0"},
        {empty_route, "rule absent jobs: route from queue"},
        {no_quota, "rule range: create with a quota of 0 %, not 1..100"},
        {no_invoker, "rule range: create names invoker 2 of 2"},
        {spin, "rule progress: decide asked for another step"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct policy policy = script;
        script_next = (struct script){.step = cases[i].step};
        if (cases[i].step == spin)
            policy.decide = spin_decide;
        assert_bad_run(run(world("warm", 1000, 3), &policy, &rows, anew(), hear()),
                       cases[i].message);
    }
}

static void mig_step(struct script *script, struct platform *platform)
{
    if (script->made_count == 0) {
        const uint32_t half = configuration_of(platform, 1, 2);
        assert_false(
            platform_instance_fits(platform, &(struct instance_request){0, half, 50, 0, SIM_NONE}));
        assert_true(platform_instance_fits(platform,
                                           &(struct instance_request){0, half, 100, 0, SIM_NONE}));
        make(script, platform, 1, 2, 100);
    }
    feed(script, platform, 1);
}

CASE(a_mig_slice_is_never_shared_in_time)
{
    char *json = world("warm", 1000, 2);
    world_replace(json, "'mps'", "'mig'");
    run_script(json, mig_step, anew());
    assert_true(rows.requests[0].exec_ns == 40 * SIM_MS);
}

/* ---- Properties ------------------------------------------------------------------------------ */

static uint32_t roll(struct script *script, uint32_t n)
{
    return (uint32_t)gsl_rng_uniform_int(&script->stream.rng, n);
}

static void random_create(struct script *script, struct platform *platform)
{
    const struct workload *workload = platform_workload(platform);
    const uint32_t function = roll(script, (uint32_t)workload->function_count);
    const uint32_t configuration =
        roll(script, (uint32_t)workload->functions[function].configuration_count);
    const uint32_t invoker = roll(script, workload->cluster.invoker_count);
    const uint32_t quota = 10 + roll(script, 91);
    if (script->made_count == INSTANCES_MAX)
        return;
    const bool fits = platform_instance_fits(
        platform, &(struct instance_request){function, configuration, quota, invoker, 0});
    const uint32_t id = platform_create(
        platform, &(struct instance_request){function, configuration, quota, invoker, 0});
    assert_true(fits == (id != SIM_NONE));
    if (fits)
        script->made[script->made_count++] = id;
}

static void random_change(struct script *script, struct platform *platform)
{
    if (script->made_count == 0)
        return;
    const uint32_t k = roll(script, script->made_count);
    const uint32_t id = script->made[k];
    const struct instance_view view = platform_instance(platform, id);
    const struct function *function = &platform_workload(platform)->functions[view.function];
    const uint32_t to = roll(script, (uint32_t)function->configuration_count);
    if (roll(script, 2) == 0) {
        if (view.running <= function->configurations[to].batch)
            platform_set_share(platform, id, to, 10 + roll(script, 91));
    } else if (view.state != INSTANCE_BUSY && roll(script, 4) == 0) {
        assert_true(platform_return(platform, id));
        assert_true(platform_kill(platform, id));
        script->made[k] = script->made[--script->made_count];
    }
}

/* Routes what waits to an instance of its function, makes room where there is none. */
static void random_serve(struct script *script, struct platform *platform)
{
    for (uint32_t k = 0; k < script->made_count; k++) {
        const uint32_t id = script->made[k];
        const uint32_t function = platform_instance(platform, id).function;
        for (uint32_t q = platform_next_queue(platform, 0), left = 8; q != SIM_NONE && left > 0;
             q = platform_next_queue(platform, q + 1), left--)
            if (platform_queue_function(platform, q) == function && roll(script, 2) == 0)
                assert_true(platform_route(platform, q, id));
        const struct instance_view view = platform_instance(platform, id);
        const uint32_t batch = platform_workload(platform)
                                   ->functions[function]
                                   .configurations[view.configuration]
                                   .batch;
        if (view.state == INSTANCE_IDLE && view.buffered > 0)
            assert_true(platform_launch(
                platform, id, 1 + roll(script, view.buffered < batch ? view.buffered : batch)));
    }
}

static void random_step(struct script *script, struct platform *platform)
{
    random_create(script, platform);
    random_change(script, platform);
    random_serve(script, platform);
    /* Plain batches beside them, now and then. */
    const uint32_t q = platform_next_queue(platform, 0);
    if (q != SIM_NONE && roll(script, 3) == 0) {
        const uint32_t function = platform_queue_function(platform, q);
        const uint32_t smallest =
            (uint32_t)platform_workload(platform)->functions[function].minimum_configuration;
        if (platform_fits(platform, function, smallest, 0))
            assert_true(platform_dispatch(platform, q, 1, smallest, 0));
    }
    if (script->rung || !script->timed)
        platform_set_timer(platform, platform_now(platform) + 20 * SIM_MS, 0);
    script->timed = true;
    script->rung = false;
}

/* The invariants (capacities, each job once, Little's law in queues and buffers, cost) are the
 * run's own; a breach would end it. */
CASE(random_use_of_instances_keeps_every_invariant_and_repeats_itself)
{
    static struct log again;
    uint64_t instances = 0;
    for (uint64_t number = 0; number < trials(60); number++) {
        RESULT first = {0};
        RESULT second = {0};
        char *json = world_random(number, number % 2 == 0);
        run_script(json, random_step, &second);
        again = rows;
        run_script(json, random_step, &first);
        world_check_conserved(&rows, &first, 400);
        assert_memory_equal(&first.run, &second.run, sizeof first.run);
        assert_same_rows(&rows, &again);
        instances += first.run.instances;
    }
    assert_true(instances > trials(60));
}

SUITE("instances")
