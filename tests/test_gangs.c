/* Schedulers of gangs on the platform: Muri's simulator, queues simulated by hand, the closed form
 * of two trainings on one GPU, and random gangs under every policy. */
#include "sim/engine/random.h"
#include "tests/fixture_trace.h"
#include "tests/read_numbers.h"
#include "tests/suite.h"
#include "traces/readers/line_reader.h"

enum { TRAININGS = 1024 };

static sim_time_t finish_ns[TRAININGS], start_ns[TRAININGS];
static size_t finished;

static bool keep_row(void *context, const struct training_result_row *row, struct error *error)
{
    assert_true(row->training < TRAININGS);
    finish_ns[row->training] = row->finish_ns;
    start_ns[row->training] = row->start_ns;
    finished += row->finished ? 1 : 0;
    return true;
}

static void train(const char *json)
{
    const struct recorder recorder = {.training = keep_row};
    finished = 0;
    assert_good(run_recorded(json, NULL, NULL, 0, &recorder, anew(), hear()));
}

#define CLUSTER(nodes, gpus)                                                                       \
    "'cluster': {'invokers': [{'count': " nodes                                                    \
    ", 'vcpus': 92, 'memory_mb': 532480, 'gpus': [{'model': 'V100', 'sharing': 'mps', 'units': "   \
    "100, 'memory_mb': 32768, 'count': " gpus "}]}]}"

/* ---- Muri's simulator ------------------------------------------------------------------------ */

CASE(restarts_at_every_event_give_the_figures_of_muris_simulator)
{
    CLOSED(line_reader_close) struct line_reader lines = {0};
    char *line = NULL;
    assert_true(line_reader_open(&lines, "tests/data/training/muri_finishes.csv.gz", hear()));
    while (line_reader_next(&lines, &line, hear()) == LINE_READ) {
        assert_string_equal(next_word(&line), "trace3");
        const char *order = next_word(&line);
        const size_t count = (size_t)next_number(&line);
        char *json = formatted(
            "{" CLUSTER(
                "8", "8") ", 'training': {'models': 'workloads/models/muri-v100.json', 'arrivals': "
                          "{'process': 'trace', 'file': 'traces/trainings/muri_trace3.csv.gz'}}, "
                          "'policy': {'name': '%s', 'params': {'restart_mode': 'muri', 'limits': "
                          "'3250-7200', 'starvation': 0}}}",
            order);
        train(json);
        assert_int_equal(finished, count);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(line_reader_next(&lines, &line, hear()), LINE_READ);
            const size_t id = (size_t)next_number(&line);
            (void)next_number(&line);
            const double finish = next_number(&line);
            if (!(fabs(sim_to_s(finish_ns[id]) - finish) <= 1e-9 * finish))
                fail_msg("training %zu: %.9f s, not %.9f s", id, sim_to_s(finish_ns[id]), finish);
        }
    }
}

/* ---- Worlds of these tests ------------------------------------------------------------------- */

struct spec {
    double arrival_s;
    uint32_t iterations, gpus;
    char model;
};

static const char *training_rules = ""; /* further keys of "training" */

/* One second per iteration; a is slowed by 1.7 beside b, b by 1.3 beside a, c and d fit beside
 * nobody. */
static void run_specs(const struct spec *specs, size_t count, const char *cluster,
                      const char *policy)
{
    FILE *file = must(fopen(trace_path, "w"));
    for (size_t i = 0; i < count; i++)
        assert_true(fprintf(file, "%zu,%c,%.9g,%u,%u\n", i, specs[i].model, specs[i].arrival_s,
                            specs[i].iterations, specs[i].gpus) > 0);
    assert_int_equal(fclose(file), 0);
    char *json = formatted(
        "{%s, 'training': {'models': {'name': 'm', 'models': {'a': {'iteration_s': 1, 'restart_s': "
        "7, 'gpu_memory_mb': 9000}, 'b': {'iteration_s': 1, 'restart_s': 3, 'gpu_memory_mb': "
        "9000}, 'c': {'iteration_s': 1, 'gpu_memory_mb': 20000, 'sub_batches': {'most': 8, "
        "'step_s': 0.05, 'fixed_mb': 2000}}, 'd': {'iteration_s': 1, "
        "'gpu_memory_mb': 1000}}, 'pairs': {'default': 'none', 'a': {'a': 3, 'b': 1.7, 'd': null}, "
        "'b': {'a': 1.3, 'b': 3, 'd': null}, 'd': {'a': null, 'b': null, 'c': null, 'd': null}}}, "
        "'arrivals': {'process': 'trace', 'file': '%s', 'format': 'synergy'}%s}, 'policy': %s}",
        cluster, trace_path, training_rules, policy);
    train(json);
    assert_int_equal(finished, count);
}

static size_t draw_specs(struct random_stream *random, struct spec *specs, size_t count,
                         uint32_t largest)
{
    double time = 0;
    for (size_t i = 0; i < count; i++) {
        time += floor(40 * random_uniform(random));
        specs[i] = (struct spec){.arrival_s = time,
                                 .iterations = 1 + (uint32_t)(200 * random_uniform(random)),
                                 .gpus = 1,
                                 .model = "abcd"[(size_t)(4 * random_uniform(random))]};
        while (specs[i].gpus < largest && random_uniform(random) < 0.5)
            specs[i].gpus *= 2;
    }
    return count;
}

/* ---- Queues by hand -------------------------------------------------------------------------- */

/* Trainings of one GPU on three GPUs without preemption: whenever one is free, the next in order.
 */
static void simulate(const struct spec *specs, size_t count, bool shortest, double *finish)
{
    double free_at[3] = {0};
    bool done[TRAININGS] = {false};
    for (size_t served = 0; served < count; served++) {
        size_t g = 0;
        for (size_t k = 1; k < 3; k++)
            g = free_at[k] < free_at[g] ? k : g;
        size_t next = count;
        for (size_t i = 0; i < count; i++) {
            if (done[i] || specs[i].arrival_s > free_at[g])
                continue;
            if (next == count || (shortest && specs[i].iterations < specs[next].iterations))
                next = i;
        }
        for (size_t i = 0; i < count && next == count; i++)
            if (!done[i]) { /* nobody waits: the first to arrive, the shorter of one instant */
                next = i;
                for (size_t k = i + 1; k < count && specs[k].arrival_s <= specs[i].arrival_s; k++)
                    if (shortest && !done[k] && specs[k].iterations < specs[next].iterations)
                        next = k;
            }
        done[next] = true;
        finish[next] = fmax(free_at[g], specs[next].arrival_s) + specs[next].iterations;
        free_at[g] = finish[next];
    }
}

CASE(fifo_and_sjf_serve_in_their_order)
{
    struct random_stream random;
    for (unsigned trial = 0; trial < 8; trial++) {
        struct spec specs[100];
        double finish[100];
        const bool shortest = trial % 2 == 1;
        random_stream_open(&random, 21, RANDOM_TEST, trial, 0);
        const size_t count = draw_specs(&random, specs, 100, 1);
        run_specs(specs, count, CLUSTER("1", "3"),
                  shortest ? "{'name': 'sjf', 'params': {'preemption': 'off'}}"
                           : "{'name': 'fifo', 'params': {'preemption': 'off'}}");
        simulate(specs, count, shortest, finish);
        for (size_t i = 0; i < count; i++)
            if (finish_ns[i] != sim_from_s(finish[i]))
                fail_msg("trial %u, training %zu: %g s, not %g s", trial, i, sim_to_s(finish_ns[i]),
                         finish[i]);
    }
}

/* With rounds a training starts at a multiple of their length: the first at which it has arrived
 * and one of three GPUs is free, which those before it leave. */
CASE(with_rounds_a_training_starts_at_the_next_multiple)
{
    struct random_stream random;
    for (unsigned trial = 0; trial < 6; trial++) {
        struct spec specs[100];
        double free_at[3] = {0};
        const double round = trial % 2 == 0 ? 60 : 7.5;
        random_stream_open(&random, 23, RANDOM_TEST, trial, 0);
        const size_t count = draw_specs(&random, specs, 100, 1);
        run_specs(specs, count, CLUSTER("1", "3"),
                  trial % 2 == 0 ? "{'name': 'fifo', 'params': {'round_s': 60}}"
                                 : "{'name': 'fifo', 'params': {'round_s': 7.5}}");
        for (size_t i = 0; i < count; i++) {
            size_t g = 0;
            for (size_t k = 1; k < 3; k++)
                g = free_at[k] < free_at[g] ? k : g;
            const double start = round * ceil(fmax(specs[i].arrival_s, free_at[g]) / round);
            free_at[g] = start + specs[i].iterations;
            if (start_ns[i] != sim_from_s(start) || finish_ns[i] != sim_from_s(free_at[g]))
                fail_msg("trial %u, training %zu: starts at %g s, not at %g s", trial, i,
                         sim_to_s(start_ns[i]), start);
        }
    }
}

CASE(with_rounds_preemptions_and_queue_jumps_wait_for_the_next)
{
    static const struct spec pair[] = {{0, 100, 1, 'a'}, {10, 20, 1, 'a'}};
    run_specs(pair, 2, CLUSTER("1", "1"), "{'name': 'srtf', 'params': {'round_s': 60}}");
    assert_int_equal(finish_ns[1], 80 * SIM_S);
    assert_int_equal(finish_ns[0], 167 * SIM_S); /* from 120 on: 7 s of restart, 40 left */
    static const struct spec queue[] = {{0, 1000, 1, 'a'}, {130, 100, 1, 'a'}};
    run_specs(queue, 2, CLUSTER("1", "1"), "{'name': 'tiresias'}");
    assert_int_equal(finish_ns[1], 800 * SIM_S);
    run_specs(queue, 2, CLUSTER("1", "1"), "{'name': 'tiresias', 'params': {'round_s': 60}}");
    assert_int_equal(finish_ns[1], 820 * SIM_S);
}

CASE(a_shorter_training_preempts_and_the_other_restarts)
{
    static const struct spec specs[] = {{0, 100, 1, 'a'}, {10, 20, 1, 'a'}};
    run_specs(specs, 2, CLUSTER("1", "1"), "{'name': 'srtf'}");
    assert_int_equal(finish_ns[1], 30 * SIM_S);
    assert_int_equal(finish_ns[0], 127 * SIM_S); /* 7 s of restart */
    run_specs(specs, 2, CLUSTER("1", "1"), "{'name': 'sjf', 'params': {'preemption': 'on'}}");
    assert_int_equal(finish_ns[0], 100 * SIM_S); /* it has less than 100 iterations left */
    assert_int_equal(finish_ns[1], 120 * SIM_S);
}

/* The names stand for the disciplines as published: fifo and sjf do not preempt, tiresias does not
 * promote. */
CASE(the_defaults_are_the_named_systems)
{
    static const struct spec specs[] = {{0, 1000, 1, 'a'}, {10, 20, 1, 'a'}, {20, 300, 1, 'a'}};
    run_specs(specs, 3, CLUSTER("1", "1"), "{'name': 'sjf'}");
    assert_int_equal(finish_ns[0], 1000 * SIM_S);
    run_specs(specs, 3, CLUSTER("1", "1"), "{'name': 'sjf', 'params': {'preemption': 'on'}}");
    assert_int_equal(finish_ns[1], 30 * SIM_S);
    run_specs(specs, 3, CLUSTER("1", "1"), "{'name': 'fifo'}");
    assert_int_equal(finish_ns[0], 1000 * SIM_S);
    /* 700 s, then those that arrived; the first has waited long enough to be promoted. */
    static const struct spec queue[] = {{0, 1000, 1, 'a'}, {600, 600, 1, 'a'}, {1250, 600, 1, 'a'}};
    run_specs(queue, 3, CLUSTER("1", "1"), "{'name': 'tiresias'}");
    assert_int_equal(finish_ns[2], 1900 * SIM_S);
    run_specs(queue, 3, CLUSTER("1", "1"), "{'name': 'tiresias', 'params': {'starvation': 0.5}}");
    assert_true(finish_ns[2] > 1900 * SIM_S);
}

/* ---- vCPUs ----------------------------------------------------------------------------------- */

/* w is as fast as its vCPUs, up to its demand of 4; l needs one. */
static void run_w_and_l(const char *trace, unsigned vcpus, const char *policy)
{
    trace_is(trace);
    char *json = formatted(
        "{'cluster': {'invokers': [{'vcpus': %u, 'memory_mb': 8192, 'gpus': [{'model': 'V100', "
        "'sharing': 'mps', 'units': 100, 'memory_mb': 16384}]}]}, 'training': {'models': {'name': "
        "'m', 'vcpus': [1, 2, 3, 4], 'memory_gb': [1], 'base': {'vcpus': 4, 'memory_gb': 1}, "
        "'models': {'w': {'iteration_s': 1, 'demand': {'vcpus': 4, 'memory_gb': 1}, 'throughput': "
        "[[0.25], [0.5], [0.75], [1]]}, 'l': {'iteration_s': 1, 'demand': {'vcpus': 1, "
        "'memory_gb': 1}}}, 'pairs': {'default': 'none'}}, 'arrivals': {'process': 'trace', "
        "'file': '%s', 'format': 'synergy'}}, 'policy': {'name': '%s'}}",
        vcpus, trace_path, policy);
    train(json);
}

/* A gang has its model's demand, at most its GPU's part of the invoker. Of two on a GPU one has
 * what the other leaves, and each the half. */
CASE(a_gang_has_its_models_demand_of_vcpus)
{
    static const unsigned vcpus[] = {2, 3, 4, 16};
    static const double finish_s[] = {200, 400.0 / 3, 100, 100};
    static const char *const alone[] = {"fifo",     "sjf",      "srtf",   "srsf",
                                        "tiresias", "sjf-bsbf", "sjf-ffs"};
    for (size_t p = 0; p < sizeof alone / sizeof *alone; p++)
        for (size_t v = 0; v < 4; v++) {
            run_w_and_l("0,w,0,100,1\n", vcpus[v], alone[p]);
            if (llabs(finish_ns[0] - sim_from_s(finish_s[v])) > 1)
                fail_msg("%s with %u vCPUs: %g s", alone[p], vcpus[v], sim_to_s(finish_ns[0]));
        }
    /* w has 3 vCPUs for 75 s, then 4. */
    run_w_and_l("0,w,0,100,1\n1,l,0,75,1\n", 4, "sjf-ffs");
    assert_int_equal(finish_ns[1], 75 * SIM_S);
    assert_true(llabs(finish_ns[0] - sim_from_s(75 + 100 - 0.75 * 75)) <= 1);
    /* Each has two, and is half as fast: sjf-bsbf runs one after the other. */
    run_w_and_l("0,w,0,100,1\n1,w,0,100,1\n", 4, "sjf-ffs");
    assert_int_equal(finish_ns[0], 200 * SIM_S);
    assert_int_equal(finish_ns[1], 200 * SIM_S);
    run_w_and_l("0,w,0,100,1\n1,w,0,100,1\n", 4, "sjf-bsbf");
    assert_int_equal(finish_ns[0], 100 * SIM_S);
    assert_int_equal(finish_ns[1], 200 * SIM_S);
}

/* ---- Two on one GPU -------------------------------------------------------------------------- */

/* b arrives at 100 beside a, of which 900 s are left. a runs at 1/1.7, b at 1/1.3 until b ends. b
 * starts at once, because the share check finds it worth it. */
CASE(two_on_one_gpu_end_as_the_closed_form_says)
{
    static const struct spec specs[] = {{0, 1000, 1, 'a'}, {100, 300, 1, 'b'}};
    run_specs(specs, 2, CLUSTER("1", "1"), "{'name': 'sjf-bsbf'}");
    assert_int_equal(start_ns[1], 100 * SIM_S);
    assert_true(llabs(finish_ns[1] - 490 * SIM_S) <= 1);
    /* 390 s at 1/1.7, then alone. */
    assert_true(llabs(finish_ns[0] - sim_from_s(490 + 900 - 390 / 1.7)) <= 1);
}

/* Two of a slow one another threefold: one after the other is better, and sjf-ffs shares anyway. */
CASE(sjf_bsbf_declines_what_sjf_ffs_shares)
{
    static const struct spec specs[] = {{0, 300, 1, 'a'}, {0, 300, 1, 'a'}};
    run_specs(specs, 2, CLUSTER("1", "1"), "{'name': 'sjf-bsbf'}");
    assert_int_equal(start_ns[1], 300 * SIM_S);
    assert_int_equal(finish_ns[1], 600 * SIM_S);
    run_specs(specs, 2, CLUSTER("1", "1"), "{'name': 'sjf-ffs'}");
    assert_int_equal(start_ns[1], 0);
    assert_int_equal(finish_ns[1], 900 * SIM_S);
}

/* ---- Gradient accumulation ------------------------------------------------------------------- */

enum { NEW = 3, PARTS_MOST = 8 };

/* Three trainings have a GPU of 32,768 MB each, and at 10 s a fourth arrives. */
struct quartet {
    double iteration_s[NEW + 1], memory_mb[NEW + 1], iterations[NEW + 1];
    double slows[NEW + 1], slowed[NEW + 1]; /* the fourth another, and it the fourth */
    double step_s, fixed_mb;
};

static void draw_quartet(struct random_stream *random, struct quartet *all)
{
    for (size_t i = 0; i <= NEW; i++) {
        all->iteration_s[i] = 0.1 + random_uniform(random);
        all->memory_mb[i] = 8000 + floor(22000 * random_uniform(random));
        all->iterations[i] = 200 + floor(800 * random_uniform(random));
        all->slows[i] = 1 + random_uniform(random);
        all->slowed[i] = 1 + random_uniform(random);
    }
    all->step_s = 0.2 * random_uniform(random);
    all->fixed_mb = floor(8000 * random_uniform(random));
}

static void run_quartet(const struct quartet *all, const char *accumulate)
{
    char trace[256], models[1024];
    size_t line = 0, model = 0;
    for (size_t i = 0; i <= NEW; i++) {
        line += (size_t)snprintf(&trace[line], sizeof trace - line, "%zu,m%zu,%d,%.0f,1\n", i, i,
                                 i == NEW ? 10 : 0, all->iterations[i]);
        model += (size_t)snprintf(
            &models[model], sizeof models - model,
            "%s'm%zu': {'iteration_s': %.17g, 'gpu_memory_mb': %.0f, 'sub_batches': {'most': %d, "
            "'step_s': %.17g, 'fixed_mb': %.0f}}",
            i == 0 ? "" : ", ", i, all->iteration_s[i], all->memory_mb[i], PARTS_MOST, all->step_s,
            all->fixed_mb);
    }
    trace_is(trace);
    char *json = formatted(
        "{" CLUSTER(
            "1",
            "3") ", 'policy': {'name': 'sjf-bsbf', 'params': {'accumulate': "
                 "'%s'}}, 'training': {'arrivals': {'process': 'trace', 'file': '%s', 'format': "
                 "'synergy'}, 'models': {'name': 'm', 'models': {%s}, 'pairs': {'default': 1, "
                 "'m0': "
                 "{'m3': %.17g}, 'm1': {'m3': %.17g}, 'm2': {'m3': %.17g}, 'm3': {'m0': %.17g, "
                 "'m1': "
                 "%.17g, 'm2': %.17g}}}}}",
        accumulate, trace_path, models, all->slows[0], all->slows[1], all->slows[2], all->slowed[0],
        all->slowed[1], all->slowed[2]);
    train(json);
}

/* The ends of all by a search of all partners and sub-batches. Returns into how many parts the
 * fourth splits its batch; 0: it waits for the first end of another. */
static unsigned search_quartet(const struct quartet *all, unsigned most, double *ends)
{
    double best = INFINITY, free_at = INFINITY;
    double pair[2] = {0};
    unsigned split = 0;
    size_t partner = 0;
    const double whole = all->iterations[NEW] * all->iteration_s[NEW];
    for (unsigned parts = 1; parts <= most; parts *= 2)
        for (size_t r = 0; r < NEW; r++) {
            const double a = whole + all->iterations[NEW] * (parts - 1) * all->step_s;
            const double b = all->iterations[r] * all->iteration_s[r] - 10;
            const double until = fmin(a * all->slowed[r], b * all->slows[r]);
            const double end_a = until + fmax(a - until / all->slowed[r], 0);
            const double end_b = until + fmax(b - until / all->slows[r], 0);
            const double memory_mb =
                all->memory_mb[r] + all->fixed_mb + (all->memory_mb[NEW] - all->fixed_mb) / parts;
            ends[r] = 10 + b;
            free_at = fmin(free_at, ends[r]);
            if (memory_mb > 32768 || (end_a + end_b) / 2 >= fmin(best, b + whole / 2))
                continue;
            best = (end_a + end_b) / 2;
            split = parts;
            partner = r;
            pair[0] = 10 + end_a;
            pair[1] = 10 + end_b;
        }
    ends[NEW] = split > 0 ? pair[0] : free_at + whole;
    ends[partner] = split > 0 ? pair[1] : ends[partner];
    return split;
}

CASE(partner_and_sub_batch_are_the_best_of_all)
{
    unsigned splits = 0, waits = 0;
    RANDOM_STREAM(random, 23, RANDOM_TEST, 0, 0);
    for (unsigned trial = 0; trial < 400; trial++) {
        const bool on = trial % 4 > 0;
        struct quartet all;
        double ends[NEW + 1];
        draw_quartet(&random, &all);
        run_quartet(&all, on ? "on" : "off");
        const unsigned parts = search_quartet(&all, on ? PARTS_MOST : 1, ends);
        splits += parts > 1 ? 1 : 0;
        waits += parts == 0 ? 1 : 0;
        for (size_t i = 0; i <= NEW; i++)
            if (!(fabs(sim_to_s(finish_ns[i]) - ends[i]) <= 1e-6))
                fail_msg("trial %u: training %zu ends at %.9f s, not %.9f s (%u parts)", trial, i,
                         sim_to_s(finish_ns[i]), ends[i], parts);
    }
    print_message("of 400 trainings %u are split and %u wait\n", splits, waits);
    assert_true(splits > 50 && waits > 50);
}

/* Beside b the whole batch of c fits, beside c its half. The gang has halves on both GPUs. */
CASE(all_gpus_of_a_gang_have_the_same_sub_batch)
{
    static const struct spec specs[] = {{0, 900, 1, 'b'}, {0, 1000, 1, 'c'}, {10, 100, 2, 'c'}};
    run_specs(specs, 3, CLUSTER("1", "2"), "{'name': 'sjf-bsbf', 'params': {'accumulate': 'on'}}");
    assert_int_equal(start_ns[2], 10 * SIM_S);
    assert_int_equal(finish_ns[2], 115 * SIM_S);
}

/* The gang preempts both. The first goes on beside it at once, in halves. */
CASE(a_preempted_training_goes_on_in_parts)
{
    static const struct spec specs[] = {{0, 1000, 1, 'c'}, {1, 500, 1, 'd'}, {10, 100, 2, 'c'}};
    run_specs(specs, 3, CLUSTER("1", "2"),
              "{'name': 'sjf-bsbf', 'params': {'accumulate': 'on', 'preemption': 'on'}}");
    assert_int_equal(finish_ns[2], 110 * SIM_S);
    assert_true(llabs(finish_ns[0] - sim_from_s(10 + 990 * 1.05)) <= 1);
}

/* ---- Random gangs ---------------------------------------------------------------------------- */

/* The platform checks its ledger and the work done; all trainings end, none before it could. */
CASE(random_gangs_end_under_every_policy)
{
    static const char *const policies[] = {
        "{'name': 'sjf-bsbf'}",
        ("{'name': 'sjf-bsbf', 'params': {'consolidate': 'on', 'preemption': 'on', 'preemptible': "
         "10}}"),
        "{'name': 'sjf-ffs'}",
        "{'name': 'sjf-ffs', 'params': {'consolidate': 'on'}}",
        "{'name': 'sjf', 'params': {'preemption': 'on', 'preemptible': 10}}",
        "{'name': 'fifo', 'params': {'preemption': 'on', 'preemptible': 10}}",
        ("{'name': 'tiresias', 'params': {'preemptible': 0, 'interval_s': 1, 'starvation': 1}}"),
        "{'name': 'tiresias', 'params': {'limits': '3250-7200'}}",
        "{'name': 'srtf'}",
        "{'name': 'srsf'}",
        "{'name': 'srsf', 'params': {'restart_mode': 'muri'}}",
        "{'name': 'sjf-bsbf', 'params': {'preemption': 'on', 'preemptible': 10}}",
        "{'name': 'sjf-bsbf', 'params': {'accumulate': 'on', 'consolidate': 'on'}}",
        ("{'name': 'sjf-bsbf', 'params': {'accumulate': 'on', 'preemption': 'on', 'preemptible': "
         "10}}"),
        "{'name': 'sjf-bsbf', 'params': {'round_s': 30}}",
        "{'name': 'tiresias', 'params': {'preemptible': 0, 'starvation': 1, 'round_s': 30}}",
        "{'name': 'srsf', 'params': {'restart_mode': 'muri', 'round_s': 30}}",
    };
    struct random_stream random;
    for (unsigned p = 0; p < sizeof policies / sizeof policies[0]; p++)
        for (unsigned trial = 0; trial < 4; trial++) {
            struct spec specs[120];
            random_stream_open(&random, 22, RANDOM_TEST, trial, 0);
            training_rules = trial % 2 == 1 ? ", 'save_s': 5" : "";
            const size_t count = draw_specs(&random, specs, 120, 16);
            run_specs(specs, count, CLUSTER("3", "8"), policies[p]);
            for (size_t i = 0; i < count; i++)
                assert_true(sim_to_s(finish_ns[i]) - specs[i].arrival_s >=
                            specs[i].iterations - 1e-6);
            for (size_t i = 0; strstr(policies[p], "round_s") != NULL && i < count; i++)
                assert_int_equal(start_ns[i] % (30 * SIM_S), 0);
        }
    training_rules = "";
}

/* ---- Gangs that a policy never places -------------------------------------------------------- */

#define GPUS(count, memory_mb)                                                                     \
    "{'count': 2, 'vcpus': 92, 'memory_mb': 532480, 'gpus': [{'model': 'V100', 'sharing': 'mps', " \
    "'units': 100, 'memory_mb': " memory_mb ", 'count': " count "}]}"

/* The third training; the policy places the first two. */
CASE(a_gang_that_never_fits_is_bad_input)
{
    static const char two_and_three[] = GPUS("2", "32768") ", " GPUS("3", "32768");
    static const char small_and_large[] = GPUS("2", "4096") ", " GPUS("2", "32768");
    static const struct {
        const char *invokers, *policy, *models;
        unsigned gpus;
        const char *message; /* NULL: the policy places it */
    } cases[] = {
        {GPUS("4", "32768"), "dilu", "", 5, "its gangs are on one invoker each"},
        {GPUS("4", "32768"), "dilu', 'params': {'scheme': 'exclusive'}, 'note': '", "", 5, NULL},
        {GPUS("4", "32768"), "fifo", "", 8, NULL},
        {two_and_three, "fifo", "", 6, NULL},
        {two_and_three, "fifo", "", 10, "whole ones of the largest size"},
        {two_and_three, "srtf", "", 10, "whole ones of the largest size"},
        {two_and_three, "sjf-ffs", "", 10, NULL},
        {small_and_large, "sjf-bsbf", ", 'gpu_memory_mb': 9000", 2, "memory than the smallest GPU"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        trace_is(formatted("3,a,0,5,1\n4,a,1,5,1\n9,b,2,5,%u\n", cases[c].gpus));
        char *json = formatted(
            "{'cluster': {'invokers': [%s]}, 'training': {'models': {'name': 'm', 'models': {'a': "
            "{'iteration_s': 1, 'share': {'request': 0.1}}, 'b': {'iteration_s': 1%s, 'share': "
            "{'request': 0.3}}}, 'pairs': {'default': 'none'}}, 'arrivals': {'process': 'trace', "
            "'file': '%s', 'format': 'synergy'}}, 'policy': {'name': '%s'}}",
            cases[c].invokers, cases[c].models, trace_path, cases[c].policy);
        const bool good = run_recorded(json, NULL, NULL, 0, NULL, anew(), hear());
        if (good != (cases[c].message == NULL))
            fail_msg("case %zu: %s", c, good ? "the run ends well" : heard.message);
        if (!good) {
            assert_input_error(cases[c].message);
            assert_contains(heard.message, "training: training 9 of /tmp/");
        }
    }
}

SUITE_WITH("gangs", trace_create, trace_remove)
