/* The platform's semantics, on cases small enough to compute by hand, and the rules it enforces. */
#include <inttypes.h>

#include "sched/registry.h"
#include "tests/fixture_simulation.h"

/* Two functions, 100 ms and 50 ms whatever the configuration, on one invoker unless said otherwise.
 */
#define PROFILE(unit)                                                                              \
    "{'device':'test','evidence':'assumed','source':'test','licence':'none',"                      \
    "'unit':" unit ",'functions':{"                                                                \
    "'f':{'grid':{'batch':[1,2],'vcpu':[1],'vgpu':[1,2,4]},"                                       \
    "'latency_ms':[[[100,100,100]],[[100,100,100]]],'noise':{'cv':0},"                             \
    "'cold_start_ms':{'mean':1000,'cv':0},"                                                        \
    "'gpu_memory_mb':{'weights':100,'per_item':10},'host_memory_mb':100,"                          \
    "'bandwidth_share':0.5},"                                                                      \
    "'g':{'grid':{'batch':[1],'vcpu':[1],'vgpu':[1,2,4]},"                                         \
    "'latency_ms':[[[50,50,50]]],'noise':{'cv':0},"                                                \
    "'cold_start_ms':{'mean':2000,'cv':0},"                                                        \
    "'gpu_memory_mb':{'weights':100,'per_item':10},'host_memory_mb':100,"                          \
    "'bandwidth_share':0.5}},"                                                                     \
    "'interference':{'model':'constant','constant':0.5}}"

/* One GPU an invoker. */
#define SLICED(units, vcpus, invokers, platform, arrivals, rest)                                   \
    "{'name':'test','cluster':{'invokers':[{'count':" invokers ",'vcpus':" vcpus                   \
    ",'memory_mb':8192,'gpus':[{'model':'test','sharing':'mps',"                                   \
    "'units':" units ",'memory_mb':8192}]}],"                                                      \
    "'price':{'vcpu_hour_usd':3.6,'vgpu_hour_usd':36}},"                                           \
    "'functions':{'functions':[{'name':'f','model':'f','input_bytes':1000},"                       \
    "{'name':'g','model':'g','input_bytes':1000}]},'profile':" PROFILE(                            \
        units) ",'platform':{" platform "},'arrivals':{" arrivals "}," rest "}"

#define WORLD(invokers, platform, arrivals, rest)                                                  \
    SLICED("4", "8", invokers, platform, arrivals, rest)

#define ONE "'applications':[{'name':'one','stages':[{'name':'s','function':'f'}]}]"
#define CHAIN                                                                                      \
    "'applications':[{'name':'chain','stages':[{'name':'s','function':'f',"                        \
    "'output_bytes':1250000},{'name':'t','function':'g','after':['s']}]}]"
#define EVERY(ms) "'process':'uniform','low_ms':" ms ",'high_ms':" ms
#define QUIET "'prewarm':'none'"

/* A policy for the tests: the oldest job of every queue, one by one, smallest configuration, on the
 * first invoker that fits, the last tried first (so that chains must move). */
struct scattered {
    uint32_t from;
};

static bool scattered_decide(void *state, struct platform *platform)
{
    struct scattered *self = state;
    uint32_t queue = platform_next_queue(platform, self->from);
    if (queue == SIM_NONE)
        return false;
    uint32_t function = platform_queue_function(platform, queue);
    const struct workload *workload = platform_workload(platform);
    uint32_t minimum = (uint32_t)workload->functions[function].minimum_configuration;
    uint32_t stage = platform_queue_stage(platform, queue);
    uint32_t invokers = workload->cluster.invoker_count;
    for (uint32_t i = 0; i < invokers; i++) {
        uint32_t invoker = (i + stage) % invokers;
        if (!platform_fits(platform, function, minimum, invoker))
            continue;
        platform_charge(platform, 1);
        platform_dispatch(platform, queue, 1, minimum, invoker);
        return true;
    }
    return false;
}

POLICY(scattered, .state_bytes = sizeof(struct scattered), .decide = scattered_decide);

CASE(a_warm_chain_takes_its_executions_and_one_transfer)
{
    go(WORLD("2", QUIET, EVERY("1000"), CHAIN ",'warmup_requests':0,'requests':3"), &scattered);
    /* 100 ms + (1 ms + 1.25 MB at 10 Gb/s = 1 ms) + 50 ms */
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(rows.requests[i].finish_ns - rows.requests[i].arrival_ns, 152 * SIM_MS);
    /* (1 vCPU × 3.6 + 1 vGPU × 36 $/h) = 0.011 $/s, 0.15 s of execution a request */
    assert_true(fabs(result.overall.cost_per_request_usd - 0.15 * 0.011) < 1e-12);
    assert_true(fabs(result.overall.transfer_ms_mean - 2) < 1e-9);
}

CASE(a_chain_on_one_invoker_transfers_nothing)
{
    go(WORLD("1", QUIET, EVERY("1000"), CHAIN ",'warmup_requests':0,'requests':2"), &scattered);
    assert_int_equal(rows.requests[0].finish_ns - rows.requests[0].arrival_ns, 150 * SIM_MS);
}

CASE(a_cold_start_is_waited_for_once_and_again_after_the_keep_alive)
{
    const char *kept = WORLD("1", QUIET ",'initial':'cold','keep_alive_s':3", EVERY("4000"),
                             ONE ",'warmup_requests':0,'requests':3");
    go(kept, &scattered);
    /* Arrivals 4 s apart; the first ends 1.1 s after its arrival, so 2.9 s idle: kept. */
    assert_int_equal(rows.requests[0].finish_ns - rows.requests[0].arrival_ns, 1100 * SIM_MS);
    assert_int_equal(rows.requests[0].cold_ns, 1000 * SIM_MS);
    assert_int_equal(rows.requests[1].finish_ns - rows.requests[1].arrival_ns, 100 * SIM_MS);
    /* The second leaves it idle for 3.9 s: evicted. */
    assert_int_equal(rows.requests[2].finish_ns - rows.requests[2].arrival_ns, 1100 * SIM_MS);
    assert_true(fabs(result.overall.cold_start_rate - 2.0 / 3.0) < 1e-12);
    assert_int_equal(result.run.evictions, 1);
}

CASE(co_runners_slow_each_other_and_the_remaining_work_is_kept)
{
    const char *crowd = WORLD("1", QUIET ",'initial':{'f':4}", EVERY("50"),
                              ONE ",'warmup_requests':0,'requests':2");
    go(crowd, &scattered);
    /* The first works 50 ms alone and 50 ms of work at rate 1/1.5: 75 ms. The second has then done
     * 50 ms of work and does the rest alone. */
    assert_int_equal(rows.requests[0].finish_ns - rows.requests[0].arrival_ns, 125 * SIM_MS);
    assert_int_equal(rows.requests[1].finish_ns - rows.requests[1].arrival_ns, 125 * SIM_MS);
    assert_true(fabs(result.run.slowdown_mean - 1.25) < 1e-9);
    go(WORLD("1", QUIET ",'interference':false,'initial':{'f':4}", EVERY("50"),
             ONE ",'warmup_requests':0,'requests':2"),
       &scattered);
    assert_int_equal(rows.requests[0].finish_ns - rows.requests[0].arrival_ns, 100 * SIM_MS);
}

/* Batches of equal work that end at one time on one GPU end in the order of their start, also where
 * a later comer, or one that goes, has set their rates anew. */
CASE(equal_batches_on_a_gpu_finish_in_the_order_of_their_start)
{
    for (size_t users = 2; users <= 4; users++) {
        char *json =
            formatted(WORLD("1", QUIET ",'initial':{'f':4}",
                            "'process':'closed','users':%zu,'think_ms':50,'think':'constant'",
                            ONE ",'warmup_requests':0,'requests':40"),
                      users);
        go(json, &scattered);
        size_t together = 0;
        for (size_t i = 0; i < rows.batch_count; i++) {
            assert_int_equal(rows.batches[i].first_request, i);
            together += i > 0 && rows.batches[i].finished_ns == rows.batches[i - 1].finished_ns;
        }
        assert_in_range(together, 1, 39);
    }
}

/* CHAIN's f and g, 100 and 50 ms of work, of requests that come 1 ms apart to a GPU that takes them
 * all, computed again without rounding: n of them work at rate 1 / (1 + 0.5 (n - 1)). Between its
 * work and its answer a batch is with the host. Fills `latencies`, in ns; returns the most that
 * work at once. */
static size_t crowd_latencies(size_t requests, double host, double *latencies)
{
    double left[64] = {0}, answers[64] = {0}, now = 0;
    bool second[64] = {false};
    size_t come = 0, done = 0, most = 0;
    assert_true(requests <= 64);
    while (done < requests) {
        const double arrival = come < requests ? (double)(come + 1) * 1e6 : INFINITY;
        size_t n = 0, first = requests, answered = requests;
        for (size_t i = 0; i < come; i++) {
            n += left[i] > 0;
            if (left[i] > 0 && (first == requests || left[i] < left[first]))
                first = i;
            if (answers[i] > 0 && (answered == requests || answers[i] < answers[answered]))
                answered = i;
        }
        const double slowdown = 1 + 0.5 * ((double)n - 1);
        const double finish = n > 0 ? now + left[first] * slowdown : INFINITY;
        const double answer = answered < requests ? answers[answered] : INFINITY;
        const double until = fmin(arrival, fmin(finish, answer));
        most = n > most ? n : most;
        for (size_t i = 0; i < come; i++)
            left[i] -= left[i] > 0 ? (until - now) / slowdown : 0;
        now = until;
        if (until == arrival) {
            left[come++] = 100e6;
        } else if (until == finish) {
            left[first] = 0;
            answers[first] = now + host;
        } else {
            answers[answered] = 0;
            left[answered] = second[answered] ? 0 : 50e6;
            latencies[answered] = now - (double)(answered + 1) * 1e6;
            done += second[answered];
            second[answered] = true;
        }
    }
    return most;
}

static void check_crowd(const char *world, double host)
{
    double latencies[40];
    go(world, &scattered);
    assert_true(crowd_latencies(36, host, latencies) > 28);
    for (size_t i = 0; i < 36; i++)
        if (!(fabs((double)(rows.requests[i].finish_ns - rows.requests[i].arrival_ns) -
                   latencies[i]) < 1000))
            fail_msg("request %zu takes %" PRId64 " ns, not %.0f", i,
                     rows.requests[i].finish_ns - rows.requests[i].arrival_ns, latencies[i]);
}

#define CROWD(platform)                                                                            \
    SLICED("40", "40", "1", QUIET platform ",'initial':{'f':36,'g':36}", EVERY("1"),               \
           CHAIN ",'warmup_requests':0,'requests':36")

CASE(any_number_of_co_runners_slow_each_other_as_the_law_says)
{
    check_crowd(CROWD(""), 0);
}

CASE(a_batch_slows_nobody_while_it_is_with_the_host)
{
    check_crowd(CROWD(",'host_ms':9"), 9e6);
}

CASE(decisions_take_their_turn_at_one_controller)
{
    /* Two applications' requests cannot arrive together here; 10 ms apart with 30 ms a decision
     * they queue at the controller. */
    go(WORLD("1",
             QUIET
             ",'interference':false,'initial':{'f':4},'decision_cost':{'model':'fixed','ms':30}",
             EVERY("10"), ONE ",'warmup_requests':0,'requests':3"),
       &scattered);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(rows.requests[i].finish_ns - rows.requests[i].arrival_ns,
                         (130 + 20 * (sim_time_t)i) * SIM_MS);
    assert_int_equal(result.run.decisions, 3);
    assert_true(fabs(result.run.decision_us_mean - 30000) < 1e-6);
}

CASE(a_modelled_decision_costs_its_units)
{
    go(WORLD("1", QUIET ",'decision_cost':{'model':'modelled','ns_per_unit':700}", EVERY("1000"),
             ONE ",'warmup_requests':0,'requests':1"),
       &scattered);
    assert_int_equal(rows.requests[0].finish_ns - rows.requests[0].arrival_ns, 100 * SIM_MS + 700);
}

CASE(a_full_queue_refuses_and_the_refusal_is_a_miss)
{
    go(WORLD("1", QUIET ",'queue_capacity':1,'interference':false", EVERY("1"),
             ONE ",'slo':{'ms':100000},'warmup_requests':0,'requests':200"),
       &scattered);
    assert_int_equal(rows.request_count, 200);
    assert_true(result.overall.dropped > 0);
    assert_true(fabs(result.overall.slo_hit_rate -
                     (200.0 - (double)result.overall.dropped) / 200.0) < 1e-12);
}

#define TWO                                                                                        \
    "'applications':[{'name':'slow','stages':[{'name':'s','function':'f'}]},"                      \
    "{'name':'fast','stages':[{'name':'s','function':'g'}]}]"

/* From the rows of the requests. Jain's index of two rates is 1 / (1 + (difference / sum)^2). */
CASE(goodput_cost_of_a_hit_and_fairness_are_those_of_the_requests)
{
    double hits[2] = {0}, requests[2] = {0}, within = 0, cost = 0;
    sim_time_t first = SIM_FOREVER, last = 0;
    const char *json =
        WORLD("1", QUIET ",'initial':'warm'", "'process':'poisson','rate_per_s':12",
              "'applications':[{'name':'slow','stages':[{'name':'s','function':'f'},{'name':'t',"
              "'function':'f','after':['s']}]},{'name':'fast','stages':[{'name':'s',"
              "'function':'g'}]}],'slo':{'ms':250},'warmup_requests':20,'requests':400");
    EXPERIMENT *experiment = load(json);
    go(json, &scattered);
    for (size_t i = 0; i < rows.request_count; i++) {
        const struct request_row *row = &rows.requests[i];
        if (row->measured == 0)
            continue;
        requests[row->application]++;
        hits[row->application] += row->finish_ns - row->arrival_ns <= 250 * SIM_MS;
        cost += row->cost_usd;
        first = row->arrival_ns < first ? row->arrival_ns : first;
        last = row->arrival_ns > last ? row->arrival_ns : last;
    }
    for (size_t i = 0; i < rows.request_count; i++) {
        const struct request_row *row = &rows.requests[i];
        within += row->finish_ns >= first && row->finish_ns <= last &&
                  row->finish_ns - row->arrival_ns <= 250 * SIM_MS;
    }
    const double rates[] = {hits[0] / requests[0], hits[1] / requests[1]};
    const double unlike = (rates[0] - rates[1]) / (rates[0] + rates[1]);
    assert_true(hits[0] > 0 && rates[0] < rates[1] && unlike < -0.01);
    assert_true(fabs(result.overall.goodput_per_s * (double)(last - first) / 1e9 - within) < 1e-6);
    assert_true(fabs(result.applications[0].goodput_per_s + result.applications[1].goodput_per_s -
                     result.overall.goodput_per_s) < 1e-9);
    assert_true(fabs(result.overall.cost_per_hit_usd * (hits[0] + hits[1]) - cost) < 1e-9);
    assert_true(fabs(result.run.slo_hit_rate_worst_application - rates[0]) < 1e-12);
    assert_true(fabs(result.run.jain_index - 1 / (1 + unlike * unlike)) < 1e-12);
    double worth[2] = {INFINITY, INFINITY}; /* of a stage, at first */
    for (uint32_t a = 0; a < 2; a++) {
        const struct function *function =
            &experiment->workload
                 .functions[experiment->workload.applications[a].stages[0].function];
        for (size_t c = 0; c < function->configuration_count; c++)
            worth[a] = fmin(worth[a], function->configurations[c].cost_usd /
                                          function->configurations[c].batch);
    }
    worth[0] *= 2;
    const double all = worth[0] * requests[0] + worth[1] * requests[1];
    assert_true(worth[0] > 0 && fabs(worth[0] - worth[1]) > 0.1 * worth[0]);
    assert_true(fabs(result.run.work_in_time - (worth[0] * hits[0] + worth[1] * hits[1]) / all) <
                1e-12);
}

CASE(without_hits_there_is_no_cost_of_one_and_no_fairness)
{
    go(WORLD("1", QUIET, EVERY("10"), TWO ",'slo':{'ms':1},'warmup_requests':0,'requests':40"),
       &scattered);
    assert_true(result.overall.goodput_per_s == 0);
    assert_true(result.run.slo_hit_rate_worst_application == 0);
    assert_true(isnan(result.overall.cost_per_hit_usd) && isnan(result.run.jain_index));
}

CASE(the_same_run_gives_the_same_figures_to_the_last_bit)
{
    static struct log first, second;
    RESULT a = {0}, b = {0};
    const char *json =
        WORLD("2", "'noise':{'cv':0.1}", "'process':'poisson','rate_per_s':30",
              CHAIN ",'requests':1000,'warmup_requests':50,'policy':{'name':'fifo'}");
    run_well(json, NULL, &first, &a);
    run_well(json, NULL, &second, &b);
    assert_memory_equal(&a.overall, &b.overall, sizeof a.overall);
    assert_memory_equal(&a.run, &b.run, sizeof a.run);
    assert_same_rows(&first, &second);
}

static int by_number(const void *a, const void *b)
{
    const struct request_row *x = a, *y = b;
    return (x->request > y->request) - (x->request < y->request);
}

CASE(two_policies_meet_the_same_arrivals_and_noise)
{
    static struct log first, second;
    RESULT a = {0}, b = {0};
    const char *head =
        WORLD("2", "'noise':{'cv':0.1}", "'process':'poisson','rate_per_s':30",
              CHAIN ",'warmup_requests':0,'requests':1000,'seed':7,'policy':{'name':'min-config'}");
    run_well(head, NULL, &first, &a);
    run_well(head, &scattered, &second, &b);
    qsort(first.requests, first.request_count, sizeof *first.requests, by_number);
    qsort(second.requests, second.request_count, sizeof *second.requests, by_number);
    bool differ = false;
    for (size_t i = 0; i < 1000; i++) {
        assert_int_equal(first.requests[i].arrival_ns, second.requests[i].arrival_ns);
        assert_memory_equal(first.requests[i].noise, second.requests[i].noise,
                            sizeof first.requests[i].noise);
        differ = differ || first.requests[i].finish_ns != second.requests[i].finish_ns;
    }
    assert_true(differ);
}

CASE(noise_has_mean_one_and_the_spread_that_the_platform_asks_for)
{
    static const struct {
        const char *json;
        double cv;
    } cases[] = {
        {WORLD("1", QUIET, EVERY("150"), ONE ",'warmup_requests':0,'requests':4000"), 0},
        {WORLD("1", QUIET ",'noise':{'cv':0.2}", EVERY("500"),
               ONE ",'warmup_requests':0,'requests':4000"),
         0.2},
    };
    for (size_t c = 0; c < 2; c++) {
        go(cases[c].json, &scattered);
        double sum = 0, squares = 0, n = (double)rows.request_count;
        for (size_t i = 0; i < rows.request_count; i++) {
            double execution = (double)rows.requests[i].exec_ns / (100.0 * (double)SIM_MS);
            assert_true(fabs(execution - rows.requests[i].noise[0]) < 1e-7);
            sum += execution;
            squares += execution * execution;
        }
        double mean = sum / n, sd = sqrt(fmax(squares / n - mean * mean, 0));
        /* Five standard errors of the mean, and of the spread. */
        assert_true(fabs(mean - 1) <= 5 * cases[c].cv / sqrt(n));
        assert_true(fabs(sd - cases[c].cv) <= 5 * cases[c].cv / sqrt(n) + 1e-12);
    }
}

CASE(a_closed_process_keeps_no_more_requests_than_users)
{
    go(WORLD("1", QUIET, "'process':'closed','users':3,'think_ms':20",
             ONE ",'warmup_requests':0,'requests':500"),
       &scattered);
    assert_int_equal(rows.request_count, 500);
    for (size_t i = 3; i < rows.request_count; i++) {
        size_t alive = 0;
        for (size_t k = 0; k < rows.request_count; k++)
            alive += rows.requests[k].arrival_ns <= rows.requests[i].arrival_ns &&
                     rows.requests[k].finish_ns > rows.requests[i].arrival_ns;
        assert_true(alive <= 3);
    }
}

/* ---- Policies that break a rule -------------------------------------------------------------- */

static bool spin(void *state, struct platform *platform)
{
    return true;
}

static bool sleep_on(void *state, struct platform *platform)
{
    return false;
}

static bool take_too_many(void *state, struct platform *platform)
{
    uint32_t queue = platform_next_queue(platform, 0);
    if (queue != SIM_NONE)
        platform_dispatch(platform, queue, platform_queue_length(platform, queue) + 1, 0, 0);
    return false;
}

static bool squeeze(void *state, struct platform *platform)
{
    uint32_t queue = platform_next_queue(platform, 0);
    if (queue != SIM_NONE)
        platform_dispatch(platform, queue, 1, 0, 0);
    return platform_next_queue(platform, 0) != SIM_NONE;
}

static void act_at_the_wrong_time(void *state, struct platform *platform, uint32_t queue)
{
    platform_dispatch(platform, queue, 1, 0, 0);
}

CASE(a_broken_rule_ends_the_run_and_is_named)
{
    static const struct {
        struct policy policy;
        const char *says;
    } cases[] = {
        {{.abi = POLICY_ABI, .name = "spinner", .decide = spin}, "rule progress"},
        {{.abi = POLICY_ABI, .name = "sleeper", .decide = sleep_on}, "rule progress"},
        {{.abi = POLICY_ABI, .name = "grabber", .decide = take_too_many}, "rule absent jobs"},
        {{.abi = POLICY_ABI, .name = "squeezer", .decide = squeeze}, "rule over-commit"},
        {{.abi = POLICY_ABI, .name = "early", .decide = spin, .on_ready = act_at_the_wrong_time},
         "rule timing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_bad_run(run(WORLD("1", QUIET, EVERY("1"), ONE ",'warmup_requests':0,'requests':50"),
                           &cases[i].policy, &rows, anew(), hear()),
                       cases[i].says);
        assert_contains(heard.message, cases[i].policy.name);
    }
}

/* ---- Every policy, on random small worlds ---------------------------------------------------- */

CASE(every_policy_keeps_every_invariant_on_random_worlds)
{
    static const char *const settings[] = {
        "'initial':'cold'", "'initial':'warm'", "'initial':'warm','keep_alive_s':0.2",
        "'reuse':'lru','decision_cost':{'model':'fixed','ms':0.5}", "'reuse':'newest'"};
    for (size_t p = 0; policy_for_requests(p) != NULL; p++) {
        for (size_t s = 0; s < sizeof settings / sizeof *settings; s++) {
            for (unsigned rate = 2; rate <= 128; rate *= 4) {
                char *json = formatted(
                    WORLD("3", "%s", "'process':'poisson','rate_per_s':%u",
                          CHAIN ",'slo':{'ms':400},'warmup_requests':0,'requests':300,'policy'"
                                ":{'name':'%s'}"),
                    settings[s], rate, policy_for_requests(p)->name);
                go(json, NULL);
                assert_int_equal(rows.request_count, 300);
                assert_true(result.overall.slo_hit_rate <= result.overall.bound_slo_hit_rate);
            }
        }
    }
}

CASE(more_initial_containers_than_memory_holds_are_refused)
{
    assert_bad_input(run(WORLD("1", "'initial':{'f':1000}", EVERY("500"),
                               ONE ",'warmup_requests':0,'requests':1"),
                         &scattered, &rows, anew(), hear()),
                     "platform.initial.f: memory holds only 81 of 1000");
}

/* The largest batch of f for whatever waits. */
static bool padded_decide(void *state, struct platform *platform)
{
    const uint32_t queue = platform_next_queue(platform, 0);
    if (queue == SIM_NONE)
        return false;
    const struct function *f = &platform_workload(platform)->functions[0];
    uint32_t two = 0;
    while (f->configurations[two].batch != 2)
        two++;
    return platform_fits(platform, 0, two, 0) && platform_dispatch(platform, queue, 1, two, 0);
}

CASE(a_batch_that_is_not_full_takes_and_costs_what_a_full_one_does)
{
    POLICY(padded, .decide = padded_decide);
    char json[] = WORLD("1", QUIET, EVERY("1000"), ONE ",'warmup_requests':0,'requests':1");
    char *of_two = strstr(json, ",[[100,100,100]]]"); /* 160 ms instead */
    assert_non_null(of_two);
    memcpy(of_two, ",[[160,160,160]]]", strlen(",[[160,160,160]]]"));
    go(json, &padded);
    assert_int_equal(rows.batches[0].jobs, 1);
    assert_int_equal(rows.batches[0].configured_batch, 2);
    assert_int_equal(rows.requests[0].exec_ns, 160 * SIM_MS);
    assert_true(fabs(rows.requests[0].cost_usd - 0.16 * 0.011) < 1e-12);
}

/* ---- A complete result ----------------------------------------------------------------------- */

static void assert_no_bounds(const struct simulation_result *result)
{
    assert_true(isnan(result->run.bound_capacity_slo_hit_rate));
    for (size_t a = 0; a <= result->application_count; a++) {
        const struct measures *measures =
            a < result->application_count ? &result->applications[a] : &result->overall;
        assert_true(isnan(measures->bound_slo_hit_rate));
        assert_true(isnan(measures->bound_cost_per_request_usd));
    }
}

CASE(a_program_gets_bounds_when_it_asks_and_notices_always)
{
    /* Four batches of two run at a time in 100 ms at most: 80 requests per second. 160 arrive. */
    EXPERIMENT *experiment =
        load(WORLD("1", QUIET ",'interference':false", EVERY("6.25"),
                   ONE ",'slo':{'ms':150},'warmup_requests':0,'requests':400"));
    RESULT plain = {0}, asked = {0};
    const struct simulation_options bounds = {.bounds = true};
    assert_good(simulation_run(experiment, &scattered, NULL, NULL, NULL, &plain, hear()) &&
                simulation_run_with(experiment, &scattered, NULL, &bounds, &asked, hear()));
    assert_no_bounds(&plain);
    assert_true(asked.overall.bound_slo_hit_rate == 1);
    assert_true(asked.applications[0].bound_slo_hit_rate == 1);
    assert_true(asked.run.bound_capacity_slo_hit_rate >= asked.overall.slo_hit_rate);
    assert_true(fabs(asked.run.bound_capacity_slo_hit_rate - 0.5) < 0.05);
    /* A batch of two on one vCPU and one vGPU. */
    assert_true(fabs(asked.overall.bound_cost_per_request_usd - 0.1 * 0.011 / 2) < 1e-12);
    assert_true(plain.overall.slo_hit_rate == asked.overall.slo_hit_rate);
    assert_int_equal(plain.run.events, asked.run.events);
    assert_true(plain.queues_grew && asked.queues_grew);
    const struct notice *told = notices_find(&plain.notices, NOTICE_LENGTH);
    assert_contains(told->text, "the run is not stationary");
    assert_true(notice_equals(told, notices_find(&asked.notices, NOTICE_LENGTH)));
}

/* ---- Runs that are not stationary ------------------------------------------------------------ */

/* Of `seeds` runs of M/M/1, how many warn. */
static size_t warnings_at(const char *rate, const char *requests, size_t seeds)
{
    const struct override overrides[] = {
        {"arrivals.rate_per_s", rate}, {"requests", requests}, {"warmup_requests", "200"}};
    double *values = NULL;
    size_t warnings = 0;
    EXPERIMENT *experiment =
        must(experiment_load("workloads/experiments/theory/mm1.json", overrides, 3, hear()));
    const struct policy *policy = must(policy_resolve(experiment, &values, hear()));
    for (size_t seed = 1; seed <= seeds; seed++) {
        experiment->seed = seed;
        assert_true(simulation_run(experiment, policy, values, NULL, NULL, anew(), hear()));
        warnings += notices_find(&result.notices, NOTICE_LENGTH) != NULL;
    }
    return warnings;
}

CASE(queues_that_grow_are_told_from_queues_that_are_long)
{
    assert_true(warnings_at("90", "1000", 100) <= 5);
    assert_true(warnings_at("90", "3000", 100) <= 5);
    assert_true(warnings_at("90", "10000", 100) <= 5);
    assert_int_equal(warnings_at("110", "10000", 20), 20);
    assert_int_equal(warnings_at("150", "1000", 20), 20);
}

CASE(a_drain_of_a_tenth_of_the_arrivals_is_told)
{
    /* A request takes 161 ms to the end, in two stages and a transfer; one arrives per second. */
    static const char *const counts[] = {"2", "3"};
    for (size_t i = 0; i < 2; i++) {
        char *json =
            formatted(WORLD("2", QUIET, EVERY("1000"), CHAIN ",'warmup_requests':0,'requests':%s"),
                      counts[i]);
        go(json, &scattered);
        assert_int_equal(result.long_drain, i == 0);
        assert_false(result.queues_grew);
        assert_int_equal(notices_find(&result.notices, NOTICE_LENGTH) != NULL, i == 0);
    }
}

/* By a distribution of the service, or by noise of a profile. */
CASE(what_does_not_vary_and_what_is_free_is_told)
{
    static const struct {
        const char *path, *key, *value;
        bool fixed, free, assumed;
    } cases[] = {
        {"theory/md1", "requests", "100", true, true, false},
        {"theory/mm1", "requests", "100", false, true, false},
        {"theory/mm1", "platform.decision_cost", "{\"model\":\"fixed\",\"ms\":5}", false, false,
         true},
        {"strict-light", "platform.noise", "{\"cv\":0}", true, false, true},
        {"strict-light", "platform.decision_cost", "{\"model\":\"measured\"}", false, false, false},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        double *values = NULL;
        RESULT told = {0};
        char *path = formatted("workloads/experiments/%s.json", cases[c].path);
        const struct override overrides[] = {
            {"requests", "100"}, {"warmup_requests", "10"}, {cases[c].key, cases[c].value}};
        EXPERIMENT *experiment = must(experiment_load(path, overrides, 3, hear()));
        const struct policy *policy = policy_resolve(experiment, &values, hear());
        assert_good(simulation_run(experiment, policy, values, NULL, NULL, &told, hear()));
        assert_int_equal(notices_find(&told.notices, NOTICE_EXECUTIONS_FIXED) != NULL,
                         cases[c].fixed);
        assert_int_equal(notices_find(&told.notices, NOTICE_DECISIONS_FREE) != NULL, cases[c].free);
        assert_int_equal(notices_find(&told.notices, NOTICE_DECISIONS_ASSUMED) != NULL,
                         cases[c].assumed);
    }
}

SUITE("simulation")
