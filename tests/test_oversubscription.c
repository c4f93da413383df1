/* Over-subscription of GPUs: closed forms of trainings and batches whose shares exceed a GPU, and
 * the work of random runs, integrated anew from their rows. */
#include "sched/policy_training.h"
#include "sim/engine/random.h"
#include "tests/fixture_trace.h"

enum { LEASES_MAX = 8000, TRAININGS_MAX = 256 };

static struct training_result_row trainings[TRAININGS_MAX];
static struct lease_row leases[LEASES_MAX];
static struct log requests;
static size_t training_count, lease_count;

KEEPER(keep_training, training_result_row, trainings, training_count)

KEEPER(keep_lease, lease_row, leases, lease_count)

static void simulate(const char *json, const struct policy *policy)
{
    const struct recorder recorder = {
        .context = &requests, .batch = log_batch, .training = keep_training, .lease = keep_lease};
    EXPERIMENT *experiment = load(json);
    training_count = lease_count = 0;
    memset(&requests, 0, sizeof requests);
    assert_good(
        simulation_run(experiment, policy, (const double[]){0}, &recorder, NULL, &result, hear()));
    simulation_result_clear(&result);
}

/* ---- Worlds ---------------------------------------------------------------------------------- */

/* l runs in proportion to its share; of c half a GPU gives 0.8 of its speed; of p the file knows no
 * speed, so that over-subscription takes time from it. An iteration takes a second. */
#define MODELS                                                                                     \
    "{'name': 'm', 'models': {'l': {'iteration_s': 1, 'restart_s': 7, 'share': "                   \
    "{'speed': [1]}}, 'c': {'iteration_s': 1, 'restart_s': 7, 'share': {'speed': "                 \
    "[0.8, 1]}}, 'p': {'iteration_s': 1, 'restart_s': 7}}}"

/* One invoker. `inference`: keys of an experiment with requests, each with a comma; or "". */
static const char *world(const char *trace, unsigned gpus, const char *oversubscription,
                         const char *inference)
{
    trace_is(trace);
    return formatted("{'cluster': {'invokers': [{'vcpus': 64, 'memory_mb': 512000, 'gpus': "
                     "[{'model': 'V100', 'sharing': 'mps', 'units': 100, 'memory_mb': 16384, "
                     "'count': %u%s}]}]}, %s'training': {'models': " MODELS
                     ", 'arrivals': {'process': 'trace', 'file': '%s', 'format': 'synergy'}}}",
                     gpus, oversubscription, inference, trace_path);
}

#define TWICE ", 'oversubscription': 2"

/* Requests every `ms`, of 10 s each on a whole GPU. */
#define REQUESTS(ms, count)                                                                        \
    "'functions': {'functions': [{'name': 'f', 'service': {'distribution': "                       \
    "'constant', 'mean_ms': 10000}, 'configuration': {'batch': 1, 'vcpu': 1, 'vgpu': "             \
    "100}}]}, 'applications': [{'name': 'x', 'stages': [{'name': 's', 'function': "                \
    "'f'}]}], 'arrivals': {'process': 'uniform', 'low_ms': " ms ", 'high_ms': " ms                 \
    "}, 'requests': " count ", 'warmup_requests': 0, "

/* ---- Closed forms ---------------------------------------------------------------------------- */

/* Places every training as it arrives on whole GPUs, the first ones, as soon as they fit; serves
 * requests wherever they fit. */
static bool whole_decide(void *state, struct platform *platform)
{
    for (uint32_t id = 0; (id = platform_next_training(platform, id)) != SIM_NONE; id++) {
        const struct training_view view = platform_training(platform, id);
        struct training_grant grants[8];
        for (uint32_t i = 0; i < view.gpus; i++)
            grants[i] = (struct training_grant){.gpu = i, .share = 100, .quota = 100};
        if (view.state == TRAINING_WAITING)
            (void)platform_place(platform, id, grants, view.gpus, SIM_FOREVER);
    }
    const uint32_t queue = platform_next_queue(platform, 0);
    if (queue == SIM_NONE)
        return false;
    const uint32_t function = platform_queue_function(platform, queue);
    const uint32_t invoker = platform_best_fit(platform, function, 0, false);
    return invoker != SIM_NONE && platform_dispatch(platform, queue, 1, 0, invoker);
}

POLICY(whole, .decide = whole_decide, .serves = SERVES_BOTH);

static void assert_finish(size_t training, double seconds)
{
    const double is = sim_to_s(trainings[training].finish_ns);
    if (!(fabs(is - seconds) <= 2e-9 + 1e-15 * seconds))
        fail_msg("training %zu: %.9f s, not %.9f s", training, is, seconds);
}

/* Both hold the whole GPU. While both are there, each has half of it. */
CASE(two_whole_shares_have_half_the_gpu_each)
{
    static const struct {
        char model;
        double half; /* its speed with half a GPU */
    } models[] = {{'l', 0.5}, {'c', 0.8}, {'p', 0.5}};
    static const double cases[][3] = {{1000, 700, 100}, {1000, 2000, 1}, {17, 170000, 16},
                                      {3, 3, 0},        {100, 100, 100}, {90001, 1, 45000}};
    for (size_t m = 0; m < 9; m++)
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            const double a = cases[c][0], b = cases[c][1], late = cases[c][2];
            const double half_a = models[m / 3].half, half_b = models[m % 3].half;
            char *trace = formatted("0,%c,0,%g,1\n1,%c,%g,%g,1\n", models[m / 3].model, a,
                                    models[m % 3].model, late, b);
            simulate(world(trace, 1, TWICE, ""), &whole);
            double want_a = a, want_b = late + b;
            if (late < a) {
                const double both_a = (a - late) / half_a, both_b = b / half_b;
                want_a =
                    both_a <= both_b ? late + both_a : late + both_b + (a - late - both_b * half_a);
                want_b = both_b <= both_a ? late + both_b : late + both_a + (b - both_a * half_b);
            }
            assert_finish(0, want_a);
            assert_finish(1, want_b);
        }
}

/* A third whole share does not fit beside two, and without over-subscription a second. */
CASE(shares_never_exceed_the_bound)
{
    simulate(world("0,l,0,100,1\n1,l,0,100,1\n2,l,0,100,1\n", 1, TWICE, ""), &whole);
    assert_finish(0, 200);
    assert_finish(1, 200);
    assert_finish(2, 300);
    simulate(world("0,l,0,100,1\n1,l,0,100,1\n", 1, ", 'oversubscription': 1.99", ""), &whole);
    assert_finish(0, 100);
    assert_finish(1, 200);
    simulate(world("0,l,0,100,1\n1,l,0,100,1\n", 1, "", ""), &whole);
    assert_finish(1, 200);
}

/* A gang of two has half of its first GPU and all of its second: it runs at the speed of the half.
 */
CASE(a_gang_is_as_fast_as_its_fullest_gpu)
{
    simulate(world("0,l,0,100,2\n1,l,50,25,1\n", 2, TWICE, ""), &whole);
    assert_finish(1, 100); /* from 50 s on both have half a GPU */
    assert_finish(0, 125);
}

/* A batch of 10 s arrives every 30 s beside a training: it takes 20 s, and meanwhile the training
 * makes 10 of 20 s. */
CASE(a_batch_and_a_training_share_the_time)
{
    simulate(world("0,l,0,95,1\n", 1, TWICE, REQUESTS("30000", "4")), &whole);
    assert_int_equal(requests.batch_count, 4);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(requests.batches[i].finished_ns - requests.batches[i].started_ns,
                         20 * SIM_S);
        assert_true(fabs(requests.batches[i].slowdown - 2) < 1e-9);
    }
    /* Of the training, 30 s are done when the first batch starts, 90 s at the fourth. */
    assert_int_equal(requests.batches[3].finished_ns - requests.batches[3].started_ns, 15 * SIM_S);
    assert_finish(0, 130);
}

/* Batches alone: of two whole ones each takes twice its time. */
CASE(two_batches_share_the_time)
{
    simulate(world("0,l,1000,1,1\n", 1, TWICE, REQUESTS("15000", "2")), &whole);
    /* From 30 s to 35 s both run at half speed; 5 s of work left of the first at 30 s. */
    assert_int_equal(requests.batch_count, 2);
    const sim_time_t first = requests.batches[0].started_ns;
    assert_int_equal(requests.batches[1].started_ns - first, 15 * SIM_S);
    assert_int_equal(requests.batches[0].finished_ns - first, 10 * SIM_S);
    simulate(world("0,l,1000,1,1\n", 1, TWICE, REQUESTS("4000", "2")), &whole);
    const sim_time_t start = requests.batches[0].started_ns;
    assert_int_equal(requests.batches[0].finished_ns - start, 16 * SIM_S); /* 4 + 6 / 0.5 */
    assert_int_equal(requests.batches[1].finished_ns - start, 20 * SIM_S); /* 6 done at 16 */
}

/* The interference of a profile counts besides: of two batches each is slowed twofold by its share,
 * and by 1.5 by the other. */
CASE(interference_counts_besides)
{
    static const char profiled[] =
        "'profile': {'device': 'test', 'evidence': 'assumed', 'source': 'test', 'licence': 'none', "
        "'unit': 100, 'functions': {'f': {'grid': {'batch': [1], 'vcpu': [1], 'vgpu': [100]}, "
        "'latency_ms': [[[10000]]], 'noise': {'cv': 0}, 'cold_start_ms': {'mean': 0, 'cv': 0}, "
        "'gpu_memory_mb': {'weights': 100, 'per_item': 10}, 'host_memory_mb': 100}}, "
        "'interference': {'model': 'constant', 'constant': 0.5}}, 'functions': {'functions': "
        "[{'name': 'f'}]}, 'applications': [{'name': 'x', 'stages': [{'name': 's', 'function': "
        "'f'}]}], 'arrivals': {'process': 'uniform', 'low_ms': 4000, 'high_ms': 4000}, 'requests': "
        "2, 'warmup_requests': 0, ";
    simulate(world("0,l,1000,1,1\n", 1, TWICE, profiled), &whole);
    assert_int_equal(requests.batches[0].finished_ns - requests.batches[0].started_ns, 22 * SIM_S);
}

/* ---- Restarts -------------------------------------------------------------------------------- */

/* Places 0 on GPU 0 and 1 on GPU 1; moves 1 to GPU 0 at 10 s. */
static bool move_decide(void *state, struct platform *platform)
{
    for (uint32_t id = 0; (id = platform_next_training(platform, id)) != SIM_NONE; id++) {
        struct training_grant grant = {.gpu = id, .share = 100, .quota = 100};
        const struct training_view view = platform_training(platform, id);
        if (view.state == TRAINING_WAITING) {
            assert_true(platform_place(platform, id, &grant, 1, SIM_FOREVER));
            if (id == 1)
                platform_set_timer(platform, 10 * SIM_S, 0);
        } else if (id == 1 && platform_now(platform) == 10 * SIM_S) {
            grant.gpu = 0;
            assert_true(platform_place(platform, id, &grant, 1, SIM_FOREVER));
        }
    }
    return false;
}

POLICY(moving, .decide = move_decide, .serves = SERVES_TRAININGS);

/* 0 has its GPU for itself while 1 restarts there from 10 s to 17 s; then both have half. */
CASE(a_training_that_restarts_does_not_execute)
{
    simulate(world("0,l,0,27,1\n1,l,0,100,1\n", 2, TWICE, ""), &moving);
    assert_finish(0, 37); /* 17 + 10 / 0.5 */
    assert_finish(1, 37 + 90 - 10);
    simulate(world("0,l,0,14,1\n1,l,0,100,1\n", 2, TWICE, ""), &moving);
    assert_finish(0, 14);
    assert_finish(1, 107);
}

/* ---- Random runs ----------------------------------------------------------------------------- */

enum { GPUS = 4 };

struct crowd {
    struct random_stream random;
    sim_time_t until;
};

static bool crowd_init(void *state, struct platform *platform, const void *parameters,
                       struct error *error)
{
    struct crowd *crowd = state;
    random_stream_open(&crowd->random, platform_seed(platform), RANDOM_TEST, 31, 0);
    return true;
}

static uint32_t draw(struct crowd *crowd, uint32_t count)
{
    return (uint32_t)(random_uniform(&crowd->random) * count);
}

/* Any share on neighbouring GPUs, moved, preempted and resized at random. */
static bool crowd_decide(void *state, struct platform *platform)
{
    struct crowd *crowd = state;
    const bool now = crowd->until <= platform_now(platform);
    for (uint32_t id = 0; (id = platform_next_training(platform, id)) != SIM_NONE; id++) {
        const struct training_view view = platform_training(platform, id);
        const uint32_t deed = now ? draw(crowd, 12) : 9;
        const uint32_t begin = draw(crowd, GPUS + 1 - view.gpus), share = 1 + draw(crowd, 100);
        struct training_grant grants[GPUS];
        for (uint32_t i = 0; i < view.gpus; i++)
            grants[i] = (struct training_grant){
                .gpu = begin + i, .share = share, .quota = share % 3 == 0 ? 50 : 100};
        if (view.state == TRAINING_WAITING || deed == 0) {
            (void)platform_place(platform, id, grants, view.gpus, SIM_FOREVER);
        } else if (deed == 1) {
            assert_true(platform_preempt(platform, id));
        } else if (deed == 2) {
            assert_int_equal(platform_gang(platform, id, grants, GPUS), view.gpus);
            for (uint32_t i = 0; i < view.gpus; i++)
                grants[i].share = share;
            (void)platform_resize(platform, id, grants, view.gpus);
        }
    }
    if (now) {
        crowd->until = platform_now(platform) + 5 * SIM_S;
        platform_set_timer(platform, crowd->until, 0);
    }
    return whole_decide(state, platform);
}

POLICY(crowding, .state_bytes = sizeof(struct crowd), .init = crowd_init, .decide = crowd_decide,
       .serves = SERVES_BOTH);

/* What held a part of a GPU, and when it executed there. */
struct holder {
    sim_time_t from, until; /* held */
    sim_time_t executes;    /* from then on */
    double share;           /* of the GPU */
};

static struct holder holders[GPUS][LEASES_MAX + 8000];
static size_t holder_count[GPUS];

static void add_holder(size_t gpu, struct holder holder)
{
    holders[gpu][holder_count[gpu]++] = holder;
}

/* All that held a GPU, from the rows. A restart goes on when its training is resized. */
static void collect_holders(sim_time_t *executes)
{
    sim_time_t resume[TRAININGS_MAX] = {0};
    memset(holder_count, 0, sizeof holder_count);
    for (size_t i = 0; i < lease_count; i++) {
        const struct lease_row *lease = &leases[i];
        if (lease->restart_ns > 0)
            resume[lease->training] = lease->from_ns + lease->restart_ns;
        executes[i] =
            resume[lease->training] > lease->from_ns ? resume[lease->training] : lease->from_ns;
        for (size_t k = 0; k < lease->gpus; k++)
            add_holder(lease->first_gpu + k,
                       (struct holder){lease->from_ns, lease->until_ns, executes[i],
                                       lease->units / lease->gpus / 100});
    }
    for (size_t i = 0; i < requests.batch_count; i++) {
        const struct batch_row *batch = &requests.batches[i];
        add_holder(batch->gpu, (struct holder){batch->dispatched_ns, batch->finished_ns,
                                               batch->started_ns, batch->vgpu / 100.0});
    }
}

static double held_at(size_t gpu, sim_time_t time, bool executing)
{
    double sum = 0;
    for (size_t i = 0; i < holder_count[gpu]; i++) {
        const struct holder *holder = &holders[gpu][i];
        const sim_time_t from = executing ? holder->executes : holder->from;
        sum += from <= time && time < holder->until ? holder->share : 0;
    }
    return sum;
}

static int by_time(const void *a, const void *b)
{
    const sim_time_t left = *(const sim_time_t *)a, right = *(const sim_time_t *)b;
    return (left > right) - (left < right);
}

/* ∫ from..until of the least over the GPUs of speed(share × what is left of it), in s. */
static double integrate(size_t first, size_t count, sim_time_t from, sim_time_t until, double share,
                        double (*speed)(double))
{
    static sim_time_t times[GPUS * 2 * (LEASES_MAX + 8000) + 2];
    size_t n = 0;
    double sum = 0;
    times[n++] = from;
    times[n++] = until;
    for (size_t g = first; g < first + count; g++)
        for (size_t i = 0; i < holder_count[g]; i++) {
            const struct holder *holder = &holders[g][i];
            if (from < holder->executes && holder->executes < until)
                times[n++] = holder->executes;
            if (from < holder->until && holder->until < until)
                times[n++] = holder->until;
        }
    qsort(times, n, sizeof *times, by_time);
    for (size_t i = 1; i < n; i++) {
        double least = INFINITY;
        if (times[i] == times[i - 1])
            continue;
        for (size_t g = first; g < first + count; g++) {
            const double all = held_at(g, times[i - 1], true);
            least = fmin(least, speed(all > 1 + 1e-12 ? share / all : share));
        }
        sum += least * sim_to_s(times[i] - times[i - 1]);
    }
    return sum;
}

static double linear(double share)
{
    return share;
}

static double concave(double share)
{
    return share <= 0.5 ? 1.6 * share : 0.8 + 0.4 * (share - 0.5);
}

/* The rows say when each training and batch held and used what; from that alone its work follows.
 */
static void check_work(double bound)
{
    static sim_time_t executes[LEASES_MAX];
    static double work[TRAININGS_MAX];
    memset(work, 0, sizeof work);
    collect_holders(executes);
    size_t crowded = 0;
    for (size_t i = 0; i < lease_count; i++) {
        const struct lease_row *lease = &leases[i];
        for (size_t g = 0; g < lease->gpus; g++) {
            const double held = held_at(lease->first_gpu + g, lease->from_ns, false);
            assert_true(held <= bound + 1e-9);
            crowded += held > 1 + 1e-9;
        }
        if (executes[i] < lease->until_ns)
            work[lease->training] +=
                integrate(lease->first_gpu, lease->gpus, executes[i], lease->until_ns,
                          lease->units / lease->gpus / 100,
                          trainings[lease->training].model == 1 ? concave : linear);
    }
    assert_true(bound > 1 ? crowded > lease_count / 4 : crowded == 0);
    for (size_t t = 0; t < training_count; t++)
        if (!(fabs(work[t] - (double)trainings[t].iterations) <= 1e-6))
            fail_msg("training %zu: %.9f s of work, not %g", t, work[t],
                     (double)trainings[t].iterations);
    for (size_t i = 0; i < requests.batch_count; i++) {
        const struct batch_row *batch = &requests.batches[i];
        const double done = integrate(batch->gpu, 1, batch->started_ns, batch->finished_ns,
                                      batch->vgpu / 100.0, linear) /
                            (batch->vgpu / 100.0);
        if (!(done > 2 - 1e-9 && done < 2 + 1e-7))
            fail_msg("batch %zu: %.9f s of work, not 2", i, done);
    }
}

CASE(random_runs_do_the_work_that_their_rows_say)
{
    static const struct {
        const char *key;
        double bound;
    } bounds[] = {
        {TWICE, 2}, {", 'oversubscription': 1.3", 1.3}, {", 'oversubscription': 5", 5}, {"", 1}};
    struct random_stream random;
    for (unsigned trial = 0; trial < 12; trial++) {
        static char trace[8192];
        char *at = trace;
        double arrival = 0;
        random_stream_open(&random, 77, RANDOM_TEST, trial, 0);
        for (unsigned i = 0; i < 60; i++) {
            arrival += floor(8 * random_uniform(&random));
            at += sprintf(at, "%u,%c,%g,%u,%u\n", i, "lc"[random_uniform(&random) < 0.5], arrival,
                          1 + (unsigned)(30 * random_uniform(&random)),
                          1U << (unsigned)(3 * random_uniform(&random)));
        }
        char *inference = formatted(
            "'seed': %u, 'functions': {'functions': [{'name': 'f', 'service': {'distribution': "
            "'constant', 'mean_ms': 2000}, 'configuration': {'batch': 1, 'vcpu': 1, 'vgpu': 35}, "
            "'cold_start_ms': {'mean': 500, 'cv': 0}}]}, 'applications': [{'name': 'x', 'stages': "
            "[{'name': 's', 'function': 'f'}]}], 'arrivals': {'process': 'poisson', 'rate_per_s': "
            "0.7}, 'requests': 150, 'warmup_requests': 0, ",
            trial + 1);
        simulate(world(trace, GPUS, bounds[trial % 4].key, inference), &crowding);
        assert_int_equal(training_count, 60);
        assert_int_equal(requests.batch_count, 150);
        check_work(bounds[trial % 4].bound);
    }
}

/* ---- The key --------------------------------------------------------------------------------- */

/* An experiment that writes the default is the same as one that does not. */
CASE(the_default_is_not_in_the_canonical_form)
{
    EXPERIMENT *one = load(world("0,l,0,1,1\n", 1, "", ""));
    EXPERIMENT *written = load(world("0,l,0,1,1\n", 1, ", 'oversubscription': 1", ""));
    EXPERIMENT *two = load(world("0,l,0,1,1\n", 1, TWICE, ""));
    assert_null(strstr(written->resolved_json, "\"oversubscription\""));
    assert_contains(two->resolved_json, "\"oversubscription\":2");
    assert_true(one->workload.cluster.groups[0].gpus[0].oversubscription == 1);
}

SUITE_WITH("oversubscription", trace_create, trace_remove)
