/* Invokers that fail: closed forms, an independent simulation of trainings that lose work, and
 * every policy in a world where invokers come and go. */
#include <inttypes.h>
#include <math.h>

#include "tests/fixture_trace.h"
#include "tests/worlds.h"

enum { OUTAGES_MAX = 40000, TRAININGS_MAX = 64 };

/* The rows of a run. */
static struct {
    struct outage_row outages[OUTAGES_MAX];
    struct training_result_row trainings[TRAININGS_MAX];
    size_t outage_count, training_count;
    sim_time_t leased[TRAININGS_MAX], restarts[TRAININGS_MAX], saves[TRAININGS_MAX];
} kept;

static bool row_lease(void *context, const struct lease_row *row, struct error *error)
{
    kept.leased[row->training] += row->until_ns - row->from_ns;
    kept.restarts[row->training] += row->restart_ns;
    kept.saves[row->training] += row->save_ns;
    return true;
}

KEEPER(row_outage, outage_row, kept.outages, kept.outage_count)

KEEPER(row_training, training_result_row, kept.trainings, kept.training_count)

#define NEAR(a, b, within) assert_true(fabs((a) - (b)) <= (within))

/* Runs the experiment under its policy; the caller clears the result. */
static void run_failing(const char *json, struct simulation_result *result)
{
    const struct recorder recorder = {
        .outage = row_outage, .training = row_training, .lease = row_lease};
    memset(&kept, 0, sizeof kept);
    assert_good(run_recorded(json, NULL, NULL, 0, &recorder, result, hear()));
}

/* An experiment with the trainings of `trace` on invokers of one GPU. */
static const char *world_of(const char *trace, unsigned invokers, const char *rules,
                            const char *failures)
{
    trace_is(trace);
    char *json =
        formatted("{'cluster': {'invokers': [{'count': %u, 'vcpus': 24, 'memory_mb': 64000, "
                  "'gpus': [{'model': 'V100', 'sharing': 'mps', 'units': 100, 'memory_mb': "
                  "16384}]}]}, 'training': {'models': {'name': 'one', 'models': {'a': {'class': "
                  "'image', 'iteration_s': 1, 'restart_s': 7}}, "
                  "'pairs': {'a': {'a': 1.3}}}, 'arrivals': {'process': 'trace', "
                  "'file': '%s', 'format': 'synergy'}%s}, 'platform': {'failures': {%s}}, "
                  "'policy': {'name': 'fifo'}}",
                  invokers, trace_path, rules, failures);
    return json_requote(json);
}

/* ---- Closed forms ---------------------------------------------------------------------------- */

/* One training with a checkpoint every c s, on one GPU that fails after exponential times of mean m
 * and is away for exponential times of mean r. The time since the last checkpoint is an exponential
 * time modulo c. A piece of c s between two checkpoints takes (m + r)(e^(c/m) - 1) s on average. */
CASE(availability_lost_work_and_completion_are_those_of_renewal_theory)
{
    enum { PIECES = 20000 };
    const double m = 1000, r = 100, c = 300;
    char *trace = formatted("0,a,0,%.0f,1\n", PIECES * c);
    run_failing(world_of(trace, 1, ", 'restart': 'none', 'checkpoint_s': 300",
                         "'mtbf_s': 1000, 'mttr_s': 100"),
                anew());
    double lost = 0, down = 0;
    size_t hit = 0;
    for (size_t i = 0; i < kept.outage_count; i++) {
        hit += kept.outages[i].trainings;
        lost += sim_to_s(kept.outages[i].lost_ns);
        down += sim_to_s(kept.outages[i].until_ns - kept.outages[i].from_ns);
        NEAR(kept.outages[i].lost_gpu_s, sim_to_s(kept.outages[i].lost_ns), 1e-9);
    }
    const double n = (double)kept.outage_count, end = sim_to_s(kept.trainings[0].finish_ns);
    assert_true(n > 5000);
    assert_int_equal(hit, kept.outage_count); /* it runs whenever the invoker is up */
    print_message("lost %.1f s, %.1f expected; unavailable %.4f, %.4f expected\n", lost / n,
                  m - c / expm1(c / m), down / end, r / (m + r));
    NEAR(lost / n, m - c / expm1(c / m), 4 * c / 2 / sqrt(n));
    NEAR(1 - down / end, m / (m + r), 4 * r / (m + r) * sqrt(2 / n));
    NEAR(end / (PIECES * (m + r) * expm1(c / m)), 1, 4 * 1.5 / sqrt(PIECES));
}

/* A request of s seconds is lost if its invoker fails meanwhile: with probability 1 - e^(-s/m). */
CASE(a_request_survives_with_the_probability_of_its_service)
{
    run_failing(json_requote((char[]){
                    "{'cluster': {'invokers': [{'count': 40, 'vcpus': 1, 'memory_mb': "
                    "64000}]}, 'applications': [{'name': 'one', 'stages': [{'name': 's', "
                    "'function': 'f'}]}], 'functions': {'functions': [{'name': 'f', "
                    "'service': {'distribution': 'constant', 'mean_ms': 2000}, "
                    "'cold_start_ms': {'mean': 0, 'cv': 0}}]}, 'arrivals': {'process': "
                    "'poisson', 'rate_per_s': 4}, 'slo': {'ms': 4000}, 'platform': "
                    "{'failures': {'mtbf_s': 20, 'mttr_s': 1}}, 'policy': {'name': 'fifo'}, "
                    "'requests': 20000, 'warmup_requests': 0}"}),
                anew());
    const double n = (double)result.overall.requests, p = -expm1(-2.0 / 20);
    double lost = 0;
    for (size_t i = 0; i < kept.outage_count; i++)
        lost += (double)kept.outages[i].requests;
    print_message("%.0f of %.0f requests lost, %.0f expected\n", lost, n, n * p);
    NEAR(lost, n * p, 4 * sqrt(n * p * (1 - p)));
    assert_true(lost == (double)result.overall.dropped);
}

/* ---- An independent simulation --------------------------------------------------------------- */

enum { GPUS = 4, JOBS = 6, CUTS = 24 };

struct model {
    unsigned gpus, jobs, cuts;
    sim_time_t checkpoint; /* 0: none */
    bool whole;
    struct {
        sim_time_t arrival, left, resume, finish;
        int gpu; /* -1: none */
        bool began, waits;
    } job[JOBS];
    unsigned queue[JOBS], queued;
    struct {
        unsigned gpu;
        sim_time_t from, until;
    } cut[CUTS];
    bool down[GPUS];
    sim_time_t lost;
};

/* In order of the queue, each to the first GPU that is up and free. */
static void model_place(struct model *model, sim_time_t now)
{
    unsigned kept = 0;
    for (unsigned q = 0; q < model->queued; q++) {
        const unsigned j = model->queue[q];
        unsigned free = 0;
        for (bool taken = true; taken && free < model->gpus; free += taken) {
            taken = model->down[free];
            for (unsigned k = 0; k < model->jobs; k++)
                taken = taken || model->job[k].gpu == (int)free;
        }
        if (free == model->gpus) {
            model->queue[kept++] = j;
            continue;
        }
        model->job[j].gpu = (int)free;
        model->job[j].resume = now + (model->job[j].began ? 7 * SIM_S : 0);
        model->job[j].began = true;
    }
    model->queued = kept;
}

/* By arrival. */
static void model_enqueue(struct model *model, unsigned job)
{
    unsigned to = model->queued++;
    for (; to > 0 && model->queue[to - 1] > job; to--)
        model->queue[to] = model->queue[to - 1];
    model->queue[to] = job;
}

static void model_fail(struct model *model, unsigned gpu, sim_time_t now)
{
    model->down[gpu] = true;
    for (unsigned j = 0; j < model->jobs; j++) {
        if (model->job[j].gpu != (int)gpu)
            continue;
        const sim_time_t ran = now > model->job[j].resume ? now - model->job[j].resume : 0;
        sim_time_t kept = model->checkpoint > 0 ? ran / model->checkpoint * model->checkpoint : 0;
        model->lost += ran - kept;
        model->job[j].left -= model->whole ? kept / SIM_S * SIM_S : kept;
        model->job[j].gpu = -1;
        model_enqueue(model, j);
    }
}

/* Finishes, then arrivals, then failures and repairs. Returns whether anything was left to do. */
static bool model_step(struct model *model)
{
    sim_time_t now = SIM_FOREVER;
    unsigned left = 0;
    for (unsigned j = 0; j < model->jobs; j++) {
        const sim_time_t end = model->job[j].resume + model->job[j].left;
        left += model->job[j].finish == 0;
        if (model->job[j].waits && model->job[j].arrival < now)
            now = model->job[j].arrival;
        if (model->job[j].gpu >= 0 && end < now)
            now = end;
    }
    for (unsigned c = 0; c < model->cuts; c++) {
        if (model->cut[c].from > 0 && model->cut[c].from < now)
            now = model->cut[c].from;
        if (model->cut[c].until > 0 && model->cut[c].until < now)
            now = model->cut[c].until;
    }
    for (unsigned j = 0; j < model->jobs; j++)
        if (model->job[j].gpu >= 0 && model->job[j].resume + model->job[j].left == now) {
            model->job[j].finish = now;
            model->job[j].gpu = -1;
        }
    for (unsigned j = 0; j < model->jobs; j++)
        if (model->job[j].waits && model->job[j].arrival == now) {
            model->job[j].waits = false;
            model_enqueue(model, j);
        }
    for (unsigned c = 0; c < model->cuts; c++) {
        if (model->cut[c].from == now) {
            model->cut[c].from = 0;
            model_fail(model, model->cut[c].gpu, now);
        } else if (model->cut[c].from == 0 && model->cut[c].until == now) {
            model->cut[c].until = 0;
            model->down[model->cut[c].gpu] = false;
        }
    }
    model_place(model, now);
    return left > 0;
}

static uint32_t below(struct random_stream *stream, uint32_t count)
{
    return (uint32_t)(random_uniform(stream) * count);
}

/* Draws a case: the trace of its trainings and the list of its outages. */
static void model_draw(struct model *model, struct random_stream *stream, char *trace,
                       char *outages)
{
    *model = (struct model){.gpus = 1 + below(stream, GPUS),
                            .jobs = 1 + below(stream, JOBS),
                            .cuts = 1 + below(stream, CUTS),
                            .checkpoint =
                                (sim_time_t)(below(stream, 2) * (1 + below(stream, 60))) * SIM_S,
                            .whole = below(stream, 2) > 0};
    uint64_t at = 0, us = 1; /* s, µs */
    trace[0] = outages[0] = '\0';
    for (unsigned j = 0; j < model->jobs; j++) {
        const uint32_t work = 1 + below(stream, 300);
        at += below(stream, 90);
        model->job[j].arrival = (sim_time_t)at * SIM_S;
        model->job[j].left = (sim_time_t)work * SIM_S;
        model->job[j].gpu = -1;
        model->job[j].waits = true;
        sprintf(trace + strlen(trace), "%u,a,%" PRIu64 ",%u,1\n", j, at, work);
    }
    uint64_t back[GPUS] = {0};
    for (unsigned c = 0; c < model->cuts; c++) {
        const unsigned gpu = below(stream, model->gpus);
        us += 1 + below(stream, 60000000);
        us = us > back[gpu] ? us : back[gpu] + 1;
        back[gpu] = us + 1 + below(stream, 80000000);
        model->cut[c].gpu = gpu;
        model->cut[c].from = (sim_time_t)us * 1000;
        model->cut[c].until = (sim_time_t)back[gpu] * 1000;
        sprintf(outages + strlen(outages), "%s[%u, %.6f, %.6f]", c > 0 ? ", " : "'outages': [", gpu,
                (double)us / 1e6, (double)back[gpu] / 1e6);
    }
    strcat(outages, "]");
}

CASE(trainings_lose_what_an_independent_computation_says)
{
    unsigned hits = 0;
    RANDOM_STREAM(stream, 1, RANDOM_TEST, 31, 0);
    for (unsigned i = 0; i < 300; i++) {
        char trace[1024], outages[4096];
        struct model model;
        model_draw(&model, &stream, trace, outages);
        char *rules = formatted(", 'progress': '%s', 'checkpoint_s': %g",
                                model.whole ? "whole" : "fluid", sim_to_s(model.checkpoint));
        run_failing(world_of(trace, model.gpus, rules, outages), anew());
        while (model_step(&model))
            ;
        sim_time_t lost = 0;
        for (size_t o = 0; o < kept.outage_count; o++) {
            lost += kept.outages[o].lost_ns;
            hits += (unsigned)kept.outages[o].trainings;
        }
        for (unsigned j = 0; j < model.jobs; j++)
            if (kept.trainings[j].finish_ns != model.job[j].finish)
                fail_msg("case %u: training %u ends at %.9f s, not %.9f s", i, j,
                         sim_to_s(kept.trainings[j].finish_ns), sim_to_s(model.job[j].finish));
        if (lost != model.lost)
            fail_msg("case %u: %.9f s lost, not %.9f s", i, sim_to_s(lost), sim_to_s(model.lost));
    }
    print_message("%u trainings lost their gang\n", hits);
    assert_true(hits > 300);
}

/* ---- Every policy ---------------------------------------------------------------------------- */

/* The invariants of a run hold, and what a policy does not drop itself is dropped by outages. */
CASE(every_policy_of_requests_survives)
{
    const struct policy *policy;
    for (size_t p = 0; (policy = policy_for_requests(p)) != NULL; p++)
        for (unsigned seed = 1; seed <= 4; seed++) {
            char json[WORLD_BYTES] = "", key[64];
            uint64_t lost = 0;
            world_add(json, "%s", diamond);
            world_replace(json, "'prewarm':'none'",
                          seed % 2 == 0 ? "'prewarm':'none','failures':{'mtbf_s':1.5,'mttr_s':0.5}"
                                        : "'failures':{'outages':[[0,1,2],[1,1.5,4],[0,5,6]]}");
            (void)snprintf(key, sizeof key, "'seed':%u,'policy':{'name':'%s'}", seed, policy->name);
            world_replace(json, "'seed':3", key);
            run_failing(json, anew());
            for (size_t i = 0; i < kept.outage_count; i++)
                lost += kept.outages[i].requests;
            assert_true(kept.outage_count > 0);
            if (lost > result.overall.dropped)
                fail_msg("%s: %" PRIu64 " requests lost, %" PRIu64 " dropped", policy->name, lost,
                         result.overall.dropped);
        }
}

/* Leases end when the gang is free, so they are the time with a gang, and have all restarts. */
static void check_parts(const struct training_measures *measures)
{
    for (size_t t = 0; t < kept.training_count; t++) {
        const struct training_result_row *row = &kept.trainings[t];
        const sim_time_t losses = row->restart_ns + row->save_ns + row->lost_ns + row->ends_ns;
        assert_int_equal(kept.leased[t], row->held_ns);
        assert_int_equal(kept.restarts[t], row->restart_ns);
        assert_int_equal(kept.saves[t], row->save_ns);
        assert_true(row->restart_ns >= 0 && row->save_ns >= 0 && row->lost_ns >= 0 &&
                    row->ends_ns >= 0 && losses <= row->held_ns);
    }
    assert_true(measures->gpu_effective >= 0 &&
                measures->gpu_effective <= measures->gpu_allocated + 1e-12);
}

/* Its timers go on meanwhile, more than a million, but the invokers are to come back. */
CASE(a_scaler_waits_for_invokers_that_are_down_for_weeks)
{
    char *json = world_copy(diamond);
    world_replace(json, "'prewarm':'none'",
                  "'sample_interval_s':1e5,"
                  "'failures':{'outages':[[0,0,1.1e6],[1,0,1.1e6]]}");
    world_replace(json, "'requests':800", "'requests':20");
    assert_good(run(json, policy_find("dilu", NULL), NULL, anew(), hear()));
    assert_int_equal(result.overall.requests, 20);
}

CASE(every_policy_of_trainings_survives)
{
    static const char *const policies[] = {"fifo", "sjf",  "sjf-ffs", "sjf-bsbf", "tiresias",
                                           "srtf", "srsf", "fgd",     "dilu",     "synergy"};
    for (size_t p = 0; p < sizeof policies / sizeof *policies; p++)
        for (unsigned seed = 1; seed <= 3; seed++) {
            char json[WORLD_BYTES] = "", rules[160], key[96];
            (void)snprintf(rules, sizeof rules,
                           ", 'checkpoint_s': 40, 'save_s': 3, 'progress': '%s'",
                           strcmp(policies[p], "synergy") == 0 ? "whole" : "fluid");
            (void)snprintf(json, sizeof json, "%s",
                           world_of("0,a,0,500,2\n1,a,3,300,1\n2,a,50,700,3\n3,a,60,20,1\n"
                                    "4,a,61,800,4\n5,a,900,90,1\n6,a,901,400,2\n",
                                    3, rules, "'mtbf_s': 900, 'mttr_s': 60"));
            (void)snprintf(key, sizeof key, "'seed': %u, 'policy': {'name': '%s'", seed,
                           policies[p]);
            world_replace(json, "'policy': {'name': 'fifo'", key);
            world_replace(json, "'memory_mb': 16384",
                          seed == 3 ? "'memory_mb': 16384, 'count': 4, 'speed': 3"
                                    : "'memory_mb': 16384, 'count': 4");
            run_failing(json, anew());
            check_parts(result.training);
        }
}

/* ---- Input ----------------------------------------------------------------------------------- */

/* Ten iterations of 1 s, the first five twice: a GPU of 1 s each, and a restart of 3 s after 1 s.
 */
CASE(lost_work_and_the_rest_of_a_lease_are_no_effective_use)
{
    char *json = world_copy(world_of("0,a,0,10,1\n", 1, "", "'outages': [[0, 5, 6]]"));
    world_replace(json, "'restart_s': 7", "'restart_s': 3");
    run_failing(json, anew());
    assert_relative(result.training->gpu_effective, 10.0 / 19, 1e-12);
    assert_int_equal(kept.trainings[0].lost_ns, 5 * SIM_S);
    assert_int_equal(kept.trainings[0].restart_ns, 3 * SIM_S);
    check_parts(result.training);
    json[0] = '\0';
    world_add(json, "%s",
              world_of("0,a,0,10,1\n", 1, ", 'progress': 'whole'", "'outages': [[0, 9000, 9001]]"));
    world_replace(json, "'name': 'fifo'", "'name': 'synergy'");
    run_failing(json, anew());
    assert_absolute(result.training->gpu_effective, 10.0 / 300, 0.001);
    assert_int_equal(kept.trainings[0].ends_ns, 290 * SIM_S);
}

CASE(bad_failures_are_refused_by_key)
{
    static const struct refusal cases[] = {
        {"'mtbf_s': 5", "\"mtbf_s\" and \"mttr_s\""},
        {"", "\"mtbf_s\" and \"mttr_s\""},
        {"'mtbf_s': 5, 'mttr_s': 1, 'outages': [[0, 1, 2]]", "or else \"outages\""},
        {"'outages': [[2, 1, 2]]", "platform.failures.outages[0][0]"},
        {"'outages': [[0, 2, 2]]", "from_s < until_s"},
        {"'outages': [[0, 1, 9], [0, 9, 10]]", "begins while invoker 0 is down"},
        {"'outages': [[0, 5, 9], [1, 4, 10]]", "sort them by from_s"},
        {"'mtbf_s': 0, 'mttr_s': 1", "platform.failures.mtbf_s"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const char *json = world_of("0,a,0,9,1\n", 2, "", cases[c].text);
        assert_text_refused(json, NULL, NULL, cases[c].words);
    }
}

SUITE_WITH("failures", trace_create, trace_remove)
