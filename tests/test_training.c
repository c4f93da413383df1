/* Trainings on the platform: the authors' finish times through the whole program, closed forms,
 * queueing theory, and properties of random gangs. */
#include <cjson/cJSON.h>

#include "results/inspect/explain.h"
#include "results/store/store.h"
#include "sim/cli/cli.h"
#include "sched/policy_training.h"
#include "sim/base/json.h"
#include "sim/engine/random.h"
#include "tests/fixture_trace.h"
#include "tests/synergy_rounds.h"
#include "tests/worlds.h"
#include "traces/readers/line_reader.h"

OWNER(results_free, struct results)

enum { TRAININGS_MAX = 12000, LEASES_MAX = 20000, LEASE_GPUS_MAX = 20000 };

/* The rows of a run. */
struct kept {
    struct training_result_row trainings[TRAININGS_MAX];
    struct lease_row leases[LEASES_MAX];
    struct lease_gpu_row lease_gpus[LEASE_GPUS_MAX];
    size_t count, lease_count, lease_gpu_count;
};

static struct kept kept;
KEEPER(row_training, training_result_row, kept.trainings, kept.count)
KEEPER(row_lease, lease_row, kept.leases, kept.lease_count)
KEEPER(row_lease_gpu, lease_gpu_row, kept.lease_gpus, kept.lease_gpu_count)
static bool record_leases = true, record_lease_gpus;

/* Runs `json` under `policy`, or its own where NULL; the rows are in `kept`. */
static bool train(const char *json, const struct policy *policy, struct training_measures *measures,
                  struct error *error)
{
    const struct recorder recorder = {.context = &kept,
                                      .training = row_training,
                                      .lease = record_leases ? row_lease : NULL,
                                      .lease_gpu = record_lease_gpus ? row_lease_gpu : NULL};
    kept.count = kept.lease_count = kept.lease_gpu_count = 0;
    if (!run_recorded(json, policy, NULL, 0, &recorder, anew(), error))
        return false;
    if (measures != NULL)
        *measures = *result.training;
    return true;
}

static void train_well(const char *json, const struct policy *policy,
                       struct training_measures *measures)
{
    assert_good(train(json, policy, measures, hear()));
}

/* ---- Every finish time of the original, through the platform --------------------------------- */

static const struct set {
    const char *name, *path, *models;
    unsigned servers, vcpus, first, last; /* vCPUs per GPU */
} sets[] = {
    {"static", "traces/trainings/synergy_static_100job.csv.gz", MODELS_OF_3, 4, 3, 0, 100},
    {"dynamic", "traces/trainings/synergy_dynamic_100job.csv.gz", MODELS_OF_3, 4, 3, 0, 100},
    {"single9w400", "traces/trainings/synergy_s42_9jph_single.csv.gz", MODELS_OF_3, 16, 3, 400,
     500},
    {"dynamic4", "traces/trainings/synergy_dynamic_100job.csv.gz", MODELS_OF_4, 4, 4, 0, 100},
    {"multi", "traces/trainings/synergy_s42_4jph_multi.csv.gz", MODELS_OF_3, 16, 3, 40, 80},
};

/* Synergy on a set that arrives by a trace: servers of 8 GPUs, measured first <= id < last. */
static void train_synergy(const struct set *set, const char *order, const char *allocation,
                          unsigned points, struct training_measures *measures)
{
    char *json = formatted(
        "{'cluster': {'invokers': [{'count': %u, 'vcpus': %u, 'memory_mb': 512000,'gpus': "
        "[{'model': 'V100', 'sharing': 'mps', 'units': 100, 'memory_mb': 16384, 'count': 8}]}]}, "
        "'training': {'models': '%s', 'arrivals': {'process': 'trace', 'file': '%s'}, 'measured': "
        "[%u, %u], 'stop': 'measured', 'progress': 'whole', 'restart': 'none'}, 'policy': {'name': "
        "'synergy', 'params': {'order': '%s', 'allocation': '%s', 'profile_points': %u}}}",
        set->servers, 8 * set->vcpus, set->models, set->path, set->first, set->last, order,
        allocation, points);
    record_leases = false; /* a hundred thousand */
    train_well(json, NULL, measures);
    record_leases = true;
}

static void compare(struct line_reader *lines, const char *header)
{
    char set[32] = "", order[8] = "", allocation[16] = "";
    char number[16] = "";
    assert_int_equal(sscanf(header, "# %31s %7s %15s %15s", set, order, allocation, number), 4);
    const size_t count = strtoul(number, NULL, 10);
    const struct set *found = &sets[0];
    while (strcmp(found->name, set) != 0)
        found++;
    train_synergy(found, order, allocation, 0, NULL);
    sim_time_t last = 0;
    size_t finished = 0;
    for (size_t i = 0; i < count; i++) {
        char *line = NULL;
        assert_int_equal(line_reader_next(lines, &line, hear()), LINE_READ);
        char *at = line;
        const unsigned id = (unsigned)strtoul(at, &at, 10);
        assert_int_equal(*at, ',');
        const double finish = strtod(at + 1, &at);
        assert_int_equal(*at, ',');
        const double attained = strtod(at + 1, &at);
        const struct training_result_row *row = &kept.trainings[id];
        assert_int_equal(row->id, id);
        if (row->finish_ns != sim_from_s(finish) || row->held_ns != sim_from_s(attained))
            fail_msg("%s %s %s, training %u: finish %g, not %g; held %g, not %g", set, order,
                     allocation, id, sim_to_s(row->finish_ns), finish, sim_to_s(row->held_ns),
                     attained);
        last = row->finish_ns > last ? row->finish_ns : last;
    }
    /* The original ends with the last measured training and leaves out others of that instant. */
    for (size_t i = 0; i < kept.count; i++)
        finished += kept.trainings[i].finished && kept.trainings[i].finish_ns < last;
    assert_true(finished <= count);
}

CASE(every_finish_time_of_synergy_is_reproduced)
{
    struct line_reader lines = {0};
    char *line = NULL;
    size_t runs = 0;
    assert_true(line_reader_open(&lines, "tests/data/training/synergy_finishes.csv.gz", hear()));
    while (line_reader_next(&lines, &line, hear()) == LINE_READ) {
        compare(&lines, line);
        runs++;
    }
    line_reader_close(&lines);
    assert_int_equal(runs, 31);
}

/* Gangs of 1, 2, 4 and 8: the platform's speeds are those that the rounds count on. */
CASE(gangs_of_several_gpus_follow_the_rounds)
{
    const struct set *multi = &sets[4];
    static const char *const orders[] = {"fifo", "srtf", "las", "ftf"};
    static const char *const allocations[] = {"proportional", "greedy", "tune"};
    for (unsigned o = 0; o < 4; o++)
        for (unsigned a = 0; a < 3; a++) {
            struct rounds rounds;
            rounds_open(&rounds, multi->path, multi->models, 16, 3, (enum synergy_order)o,
                        (enum synergy_allocation)a, 40, 80);
            rounds_run(&rounds);
            train_synergy(multi, orders[o], allocations[a], 0, NULL);
            for (size_t i = 0; i < kept.count; i++) {
                const sim_time_t finish =
                    rounds.finish_s[i] > 0 ? sim_from_s(rounds.finish_s[i]) : -1;
                if (kept.trainings[i].finish_ns != finish)
                    fail_msg("%s %s, training %zu: finish %g, not %g", orders[o], allocations[a], i,
                             sim_to_s(kept.trainings[i].finish_ns), sim_to_s(finish));
            }
            rounds_close(&rounds);
        }
}

/* Six of the nine numbers of vCPUs in the matrices. With one point, the share, nobody knows what
 * more than the share is good for. */
CASE(a_plan_from_six_points_is_within_a_tenth_of_that_from_all)
{
    static const char *const orders[] = {"fifo", "srtf", "las", "ftf"};
    static const char *const allocations[] = {"greedy", "tune", "opt"};
    struct training_measures measures = {0};
    struct set set = sets[1];
    for (set.vcpus = 3; set.vcpus <= 4; set.vcpus++)
        for (unsigned o = 0; o < 4; o++)
            for (unsigned a = 0; a < 3; a++) {
                double jct_s[7] = {0};
                train_synergy(&set, orders[o], "proportional", 0, &measures);
                const double proportional = measures.jct_s_mean;
                for (unsigned points = 0; points <= 6; points += points == 0 ? 1 : 5) {
                    train_synergy(&set, orders[o], allocations[a], points, &measures);
                    jct_s[points] = measures.jct_s_mean;
                }
                print_message("%u vCPUs, %s %s: %+.1f %%\n", set.vcpus, orders[o], allocations[a],
                              100 * (jct_s[6] / jct_s[0] - 1));
                if (set.vcpus == 3) /* else srtf and ftf order by the estimated speeds */
                    assert_float_equal(jct_s[1], proportional, 0);
                assert_true(fabs(jct_s[6] / jct_s[0] - 1) <= 0.1);
            }
}

/* ---- Worlds and policies of these tests ------------------------------------------------------ */

/* Two models of one second per iteration, which slow one another; gangs of any size. */
#define MODELS                                                                                     \
    "{'name': 'two', 'models': {'a': {'class': 'image', 'iteration_s': 1, "                        \
    "'restart_s': 7, 'sub_batches': {'most': 5, 'step_s': 0.25, 'fixed_mb': 0}}, 'b': {'class': "  \
    "'speech', 'iteration_s': 1, 'restart_s': 7}}, "                                               \
    "'pairs': {'a': {'b': 1.7, 'a': 1.25}, 'b': {'a': 1.3, 'b': 1.25}}}"

/* An experiment with the trainings of `trace`, in Synergy's layout. */
static const char *world(const char *trace, unsigned invokers, unsigned gpus, const char *rules)
{
    trace_is(trace);
    return json_requote(
        formatted("{'cluster': {'invokers': [{'count': %u, 'vcpus': 24, 'memory_mb': "
                  "512000,'gpus': [{'model': 'V100', 'sharing': 'mps', 'units': 100, 'memory_mb': "
                  "16384, 'count': %u}]}]}, 'training': {'models': %s, 'arrivals': {'process': "
                  "'trace', 'file': '%s', 'format': 'synergy'}%s}}",
                  invokers, gpus, MODELS, trace_path, rules));
}

/* Of sim/platform/trainings.h, which defines types of the names that results/store/store.h uses. */
double training_speed_alone(const struct platform *platform, uint32_t id,
                            const struct training_grant *grants);
double training_slowdown(const struct platform *platform, uint32_t id,
                         const struct training_grant *grants);

/* Relative to its whole gang alone with the base of its models. */
static double speed_if_placed(const struct platform *platform, uint32_t id,
                              const struct training_grant *grants)
{
    return training_speed_alone(platform, id, grants) / training_slowdown(platform, id, grants);
}

/* Places every training as it arrives on half of each of the first GPUs, without waiting. */
static bool together_decide(void *state, struct platform *platform)
{
    for (uint32_t id = 0; (id = platform_next_training(platform, id)) != SIM_NONE; id++) {
        const struct training_view view = platform_training(platform, id);
        struct training_grant grants[8];
        for (uint32_t i = 0; i < view.gpus; i++)
            grants[i] = (struct training_grant){.gpu = i, .share = 50, .quota = 100, .vcpus = 1};
        if (view.state == TRAINING_WAITING)
            (void)platform_place(platform, id, grants, view.gpus, SIM_FOREVER);
    }
    return false;
}

POLICY(together, .decide = together_decide, .serves = SERVES_TRAININGS);

/* First come, first served: whole GPUs, the first that are free; nobody overtakes. */
static bool first_decide(void *state, struct platform *platform)
{
    for (uint32_t id = 0; (id = platform_next_training(platform, id)) != SIM_NONE; id++) {
        const struct training_view view = platform_training(platform, id);
        const struct cluster_spec *cluster = &platform_workload(platform)->cluster;
        struct training_grant grants[64];
        uint32_t found = 0;
        if (view.state == TRAINING_RUNNING)
            continue;
        for (uint32_t v = 0; v < cluster->invoker_count; v++)
            for (uint32_t g = 0; g < cluster->groups[0].gpu_count && found < view.gpus; g++)
                if (platform_resident(platform, v, g, 0) == SIM_NONE)
                    grants[found++] =
                        (struct training_grant){.invoker = v, .gpu = g, .share = 100, .quota = 100};
        if (found < view.gpus || !platform_place(platform, id, grants, found, SIM_FOREVER))
            break;
    }
    return false;
}

POLICY(first_come, .decide = first_decide, .serves = SERVES_TRAININGS);

/* ---- Closed forms ---------------------------------------------------------------------------- */

/* Two trainings share one GPU from b's arrival to a's finish: a slows by 1.7, b by 1.3. */
CASE(two_on_one_gpu_finish_as_the_closed_form_says)
{
    static const unsigned cases[][3] = {{1000, 700, 100}, {1000, 2000, 1}, {17, 170000, 16},
                                        {3, 3, 0},        {100, 100, 100}, {90001, 1, 45000}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const double a = cases[c][0], b = cases[c][1], late = cases[c][2];
        char *trace = formatted("0,a,0,%g,1\n1,b,%g,%g,1\n", a, late, b);
        train_well(world(trace, 1, 1, ""), &together, NULL);
        double want_a = a, want_b = late + b;
        if (late < a) {
            const double both_a = (a - late) * 1.7, both_b = b * 1.3; /* if they stay together */
            want_a = both_a <= both_b ? late + both_a : late + both_b + (a - late - both_b / 1.7);
            want_b = both_b <= both_a ? late + both_b : late + both_a + (b - both_a / 1.3);
        }
        const double is_a = sim_to_s(kept.trainings[0].finish_ns);
        const double is_b = sim_to_s(kept.trainings[1].finish_ns);
        if (fabs(is_a - want_a) > 2e-9 + 1e-15 * want_a ||
            fabs(is_b - want_b) > 2e-9 + 1e-15 * want_b)
            fail_msg("%g and %g at %g: finish %.9f and %.9f, not %.9f and %.9f", a, b, late, is_a,
                     is_b, want_a, want_b);
    }
}

/* A gang of two runs at the speed of its most disturbed GPU. */
CASE(a_gang_is_as_slow_as_its_slowest_gpu)
{
    train_well(world("0,a,0,100,2\n1,b,0,1000,1\n", 1, 2, ""), &together, NULL);
    assert_int_equal(kept.trainings[0].finish_ns, 170 * SIM_S);
    train_well(world("0,a,0,100,2\n", 1, 2, ""), &together, NULL);
    assert_int_equal(kept.trainings[0].finish_ns, 100 * SIM_S);
}

/* Grants that alternate between two invokers, whose GPUs it takes in turn. */
static bool alternate_decide(void *state, struct platform *platform)
{
    struct training_grant grants[8];
    const uint32_t id = platform_next_training(platform, 0);
    if (id == SIM_NONE || platform_training(platform, id).state != TRAINING_WAITING)
        return false;
    const uint32_t gpus = platform_training(platform, id).gpus;
    for (uint32_t i = 0; i < gpus; i++)
        grants[i] =
            (struct training_grant){.invoker = i % 2, .gpu = i / 2, .share = 100, .quota = 100};
    assert_true(platform_place(platform, id, grants, gpus, SIM_FOREVER));
    return false;
}

POLICY(alternating, .decide = alternate_decide, .serves = SERVES_TRAININGS);

/* a has the file's penalty, b its own: 100 iterations of a second take 100 s ÷ penalty. */
CASE(a_gang_pays_for_each_further_invoker)
{
    static const struct {
        const struct policy *policy;
        char model;
        unsigned gpus, invokers;
        double finish;
    } cases[] = {{&first_come, 'a', 2, 1, 100},       {&first_come, 'a', 3, 2, 125},
                 {&first_come, 'a', 4, 2, 125},       {&first_come, 'a', 6, 3, 200},
                 {&first_come, 'a', 8, 4, 200},       {&first_come, 'b', 2, 1, 100 / 0.9},
                 {&first_come, 'b', 8, 4, 100 / 0.9}, {&alternating, 'a', 4, 2, 125},
                 {&alternating, 'a', 1, 1, 100}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char *trace = formatted("0,%c,0,100,%u\n", cases[c].model, cases[c].gpus);
        char *json = world_copy(world(trace, 4, 2, ""));
        world_replace(json, "'name': 'two', ", "'name': 'two', 'penalty': [1, 0.8, 0.5], ");
        world_replace(json, "'b': {'class'", "'b': {'penalty': [0.9], 'class'");
        train_well(json, cases[c].policy, NULL);
        assert_int_equal(kept.leases[0].invokers, cases[c].invokers);
        if (fabs(sim_to_s(kept.trainings[0].finish_ns) - cases[c].finish) > 2e-9)
            fail_msg("case %zu: %.9f s, not %.9f s", c, sim_to_s(kept.trainings[0].finish_ns),
                     cases[c].finish);
    }
}

/* ---- Queueing theory ------------------------------------------------------------------------- */

enum { CUSTOMERS = 10000 };

/* Times are whole milliseconds: a trace has seconds with fractions, an iteration takes 1 ms. */
CASE(one_gpu_is_a_queue_m_m_1)
{
    static char trace[CUSTOMERS * 48];
    static double finish[CUSTOMERS];
    const double rho = 0.7;
    char *at = trace;
    double arrival = 0, sum = 0;
    RANDOM_STREAM(random, 20240, RANDOM_TEST, 1, 0);
    for (unsigned i = 0; i < CUSTOMERS; i++) {
        arrival += floor(-log(1 - random_uniform(&random)) / rho * 1000 + 0.5);
        const double length = 1 + floor(-log(1 - random_uniform(&random)) * 1000);
        at += sprintf(at, "%u,a,%.0f,%.0f,1\n", i, arrival, length);
        const double start = i > 0 && finish[i - 1] > arrival ? finish[i - 1] : arrival;
        finish[i] = start + length; /* Lindley's recursion */
        sum += finish[i] - arrival;
    }
    struct training_measures measures;
    train_well(world(trace, 1, 1, ""), &first_come, &measures);
    for (unsigned i = 0; i < CUSTOMERS; i++)
        assert_int_equal(kept.trainings[i].finish_ns, sim_from_s(finish[i]));
    const double mean = sum / CUSTOMERS;
    assert_true(fabs(measures.jct_s_mean - mean) <= 1e-9 * mean);
    /* 1/(μ − λ) with μ = 1 per 1000 s; a run of this length is within 15 % (its standard error is
     * about 5 %). */
    assert_true(fabs(mean - 1000 / (1 - rho)) < 0.15 * 1000 / (1 - rho));
    assert_true(fabs(measures.gpu_allocated - rho) < 0.05);
}

/* ---- Properties of random gangs -------------------------------------------------------------- */

struct shuffle {
    struct random_stream random;
    sim_time_t until;
};

static bool shuffle_init(void *state, struct platform *platform, const void *parameters,
                         struct error *error)
{
    struct shuffle *shuffle = state;
    random_stream_open(&shuffle->random, platform_seed(platform), RANDOM_TEST, 2, 0);
    return true;
}

static uint32_t draw(struct shuffle *shuffle, uint32_t count)
{
    return (uint32_t)(random_uniform(&shuffle->random) * count);
}

/* Random gangs of random shares for random leases; preempts, moves and resizes at random. */
static bool shuffle_decide(void *state, struct platform *platform)
{
    struct shuffle *shuffle = state;
    const struct cluster_spec *cluster = &platform_workload(platform)->cluster;
    const uint32_t per = (uint32_t)cluster->groups[0].gpu_count;
    const uint32_t all = per * cluster->invoker_count;
    const bool now = shuffle->until <= platform_now(platform);
    for (uint32_t id = 0; (id = platform_next_training(platform, id)) != SIM_NONE; id++) {
        const struct training_view view = platform_training(platform, id);
        struct training_grant grants[64];
        const uint32_t begin = draw(shuffle, all), deed = now ? draw(shuffle, 10) : 9;
        const sim_time_t lease =
            draw(shuffle, 2) == 0
                ? SIM_FOREVER
                : platform_now(platform) + 1 + draw(shuffle, 900000000) * (sim_time_t)40;
        for (uint32_t i = 0; i < view.gpus; i++)
            grants[i] = (struct training_grant){.invoker = (begin + i) % all / per,
                                                .gpu = (begin + i) % all % per,
                                                .share = 1 + draw(shuffle, 60),
                                                .quota = 1 + draw(shuffle, 100),
                                                .vcpus = 3.1 * random_uniform(&shuffle->random),
                                                .memory_mb = draw(shuffle, 60000)};
        if (view.state == TRAINING_WAITING || deed == 0) {
            const double speed = speed_if_placed(platform, id, grants);
            assert_true(speed > 0 && speed <= 1);
            (void)platform_place(platform, id, grants, view.gpus, lease);
        } else if (deed == 1 && view.state == TRAINING_RUNNING) {
            assert_true(platform_preempt(platform, id));
        } else if (deed == 2 && view.state == TRAINING_RUNNING) {
            assert_int_equal(platform_gang(platform, id, grants, 64), view.gpus);
            for (uint32_t i = 0; i < view.gpus; i++)
                grants[i].share = 1 + draw(shuffle, 60);
            (void)platform_resize(platform, id, grants, view.gpus);
        }
    }
    if (now) {
        shuffle->until = platform_now(platform) + 10 * SIM_S;
        platform_set_timer(platform, shuffle->until, 0);
    }
    return false;
}

POLICY(shuffling, .state_bytes = sizeof(struct shuffle), .init = shuffle_init,
       .decide = shuffle_decide, .serves = SERVES_TRAININGS);

/* What holds of every run: Σ over leases of iterations = I, leases in order and without overlap,
 * the time held, and the ledger at every instant. (The platform checks the ledger too; here the
 * sums are made from the rows.) */
static void check_rows(bool whole)
{
    for (size_t t = 0; t < kept.count; t++) {
        const struct training_result_row *row = &kept.trainings[t];
        double iterations = 0;
        sim_time_t end = row->arrival_ns, held = 0;
        for (size_t i = 0; i < kept.lease_count; i++) {
            const struct lease_row *lease = &kept.leases[i];
            if (lease->training != t)
                continue;
            assert_true(lease->from_ns >= end && lease->until_ns >= lease->from_ns);
            end = lease->until_ns;
            held += lease->until_ns - lease->from_ns;
            iterations += lease->iterations;
        }
        assert_int_equal(row->finished, 1);
        assert_int_equal(held, row->held_ns);
        assert_int_equal(end, row->finish_ns);
        assert_true(row->finish_ns - row->arrival_ns >= (sim_time_t)row->iterations * SIM_S ||
                    fabs(row->slowdown) >= 1);
        if (whole)
            assert_true(iterations >= (double)row->iterations - 1e-6);
        else
            assert_true(fabs(iterations - (double)row->iterations) <=
                        1e-9 * (double)row->iterations + 1e-8 * (double)kept.lease_count);
    }
    for (size_t i = 0; i < kept.lease_count; i++) {
        double vcpus = 0, units = 0;
        for (size_t k = 0; k < kept.lease_count; k++)
            if (kept.leases[k].from_ns <= kept.leases[i].from_ns &&
                kept.leases[k].until_ns > kept.leases[i].from_ns) {
                vcpus += kept.leases[k].vcpus;
                units += kept.leases[k].units;
            }
        assert_true(vcpus <= 2 * 24 + 1e-3 && units <= 8 * 100 + 1e-9);
    }
}

/* The units of a lease's GPUs add up to its units. With its neighbour on a GPU it had at least as
 * much time in common as in any one lease of another, and it has none only if nobody was there. */
static void check_lease_gpus(void)
{
    double units[LEASES_MAX] = {0};
    unsigned gpus[LEASES_MAX] = {0};
    size_t shared = 0;
    for (size_t i = 0; i < kept.lease_gpu_count; i++) {
        const struct lease_gpu_row *row = &kept.lease_gpus[i];
        const struct lease_row *lease = &kept.leases[row->lease];
        sim_time_t met = 0, most = 0;
        assert_true(row->lease < kept.lease_count && row->invoker == row->gpu / 4);
        units[row->lease] += row->units;
        if (gpus[row->lease]++ == 0)
            assert_true(row->gpu == lease->first_gpu && row->invoker == lease->first_invoker);
        for (size_t k = 0; k < kept.lease_gpu_count; k++) {
            const struct lease_row *other = &kept.leases[kept.lease_gpus[k].lease];
            const sim_time_t common =
                (other->until_ns < lease->until_ns ? other->until_ns : lease->until_ns) -
                (other->from_ns > lease->from_ns ? other->from_ns : lease->from_ns);
            if (kept.lease_gpus[k].gpu != row->gpu || other->training == lease->training ||
                common <= 0)
                continue;
            most = common > most ? common : most;
            met += other->training == row->neighbour ? common : 0;
        }
        assert_true(met >= most && (most > 0) == (row->neighbour != SIM_NONE));
        shared += most > 0;
    }
    for (size_t i = 0; i < kept.lease_count; i++)
        assert_true(gpus[i] == kept.leases[i].gpus && fabs(units[i] - kept.leases[i].units) < 1e-9);
    assert_true(shared > 0 && shared < kept.lease_gpu_count);
}

CASE(random_gangs_keep_work_and_ledger)
{
    record_lease_gpus = true;
    for (unsigned seed = 1; seed <= 24; seed++) {
        static char trace[8192];
        char rules[128], *at = trace;
        double arrival = 0;
        RANDOM_STREAM(random, seed, RANDOM_TEST, 3, 0);
        for (unsigned i = 0; i < 30; i++) {
            arrival += floor(random_uniform(&random) * 20);
            at += sprintf(at, "%u,%s,%.0f,%u,%u\n", i, random_uniform(&random) < 0.5 ? "a" : "b",
                          arrival, 1 + (unsigned)(random_uniform(&random) * 60),
                          1 + (unsigned)(random_uniform(&random) * 8));
        }
        (void)snprintf(rules, sizeof rules, ", 'progress': '%s', 'restart': '%s'",
                       seed % 2 == 0 ? "whole" : "fluid", seed % 3 == 0 ? "model" : "none");
        train_well(world(trace, 2, 4, rules), &shuffling, NULL);
        assert_int_equal(kept.count, 30);
        check_rows(seed % 2 == 0);
        check_lease_gpus();
    }
    record_lease_gpus = false;
}

/* ---- Our own layout -------------------------------------------------------------------------- */

/* Runs a base with a trace; its models, if it is not NULL. */
static void train_trace(const char *file, const char *models, const char *cluster,
                        const char *policy)
{
    char *json =
        formatted("{'cluster': 'workloads/clusters/v100-8x8.json', 'training': {%s%s%s'arrivals': "
                  "{'process': 'trace', 'file': '%s'%s}}, 'policy': {'name': '%s'}}",
                  models == NULL ? "" : "'models': 'workloads/models/",
                  models == NULL ? "" : models, models == NULL ? "" : "', ", file, cluster, policy);
    record_leases = false;
    train_well(json, NULL, NULL);
    record_leases = true;
}

static void convert(const char *from, const char *to)
{
    char words[5][128] = {"trace", "convert", "", "--out", ""}, *argv[5];
    (void)snprintf(words[2], sizeof words[2], "%s", from);
    (void)snprintf(words[4], sizeof words[4], "%s", to);
    for (size_t i = 0; i < 5; i++)
        argv[i] = words[i];
    assert_good(command_trace.run(5, argv, true, hear()));
}

/* Every layout: its times, its own iteration times, its drawn models, its virtual clusters. */
CASE(a_converted_trace_has_the_same_finish_times)
{
    static const char *const cases[][4] = {
        {"muri_trace3.csv.gz", "muri-v100.json", "", "srtf"},
        {"synergy_dynamic_100job.csv.gz", "synergy-v100.json", "", "synergy"},
        {"gavel_msr_seed_0_103959.trace.gz", "gavel-v100.json", "", "fifo"},
        {"sia_philly.csv.gz", "muri-v100.json", ", 'cluster': '6c71a0'", "srsf"}};
    static struct training_result_row then[TRAININGS_MAX];
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        char *from = formatted("traces/trainings/%s", cases[c][0]);
        TEMPORARY(path, "");
        convert(from, path);
        train_trace(from, cases[c][1], cases[c][2], cases[c][3]);
        const size_t count = kept.count;
        memcpy(then, kept.trainings, count * sizeof *then);
        train_trace(path, cases[c][1], cases[c][2], cases[c][3]);
        assert_true(count > 99 && kept.count == count);
        for (size_t i = 0; i < count; i++)
            if (then[i].start_ns != kept.trainings[i].start_ns ||
                then[i].finish_ns != kept.trainings[i].finish_ns ||
                then[i].id != kept.trainings[i].id)
                fail_msg("%s: training %zu differs", cases[c][0], i);
    }
}

/* Without models each takes its duration on GPUs of its own: 64 GPUs, in order of arrival. */
CASE(a_training_without_a_model_takes_its_duration)
{
    static const char *const policies[] = {"fifo", "sjf-ffs", "sjf-bsbf"};
    static const double finish_s[] = {100.5, 60, 190.5};
    TEMPORARY(path, "arrival_s,gpus,duration_s,model\n0,32,100.5,\n10,32,50,a\n"
                    "20,64,90,\n");
    for (size_t p = 0; p < 3; p++) {
        train_trace(path, NULL, "", policies[p]);
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(kept.trainings[i].finish_ns, sim_from_s(finish_s[i]));
    }
}

/* ---- GPU models ------------------------------------------------------------------------------ */

/* Seconds of a step on a GPU model by the models file, which is read here without its loader. */
static double step_s(const cJSON *models, uint32_t model, const char *gpu, uint32_t gpus)
{
    const cJSON *own = cJSON_GetArrayItem(cJSON_GetObjectItem(models, "models"), (int)model);
    const cJSON *times = cJSON_GetObjectItem(own, "iteration_s");
    int gang = 0;
    while (1U << gang < gpus)
        gang++;
    if (strcmp(gpu, "V100") != 0)
        times = must(cJSON_GetObjectItem(cJSON_GetObjectItem(own, "iteration_s_on"), gpu));
    return (cJSON_IsArray(times) ? cJSON_GetArrayItem(times, gang) : times)->valuedouble;
}

/* Gavel's trace on its three GPU models: a gang goes at the pace of its slowest GPU. */
CASE(a_gang_takes_the_time_of_its_slowest_gpu_model)
{
    static const char path[] = "workloads/models/gavel-gpus.json";
    static const char *const gpus[] = {"K80", "V100", "P100"};
    char json[2048] = "{'cluster': {'invokers': [";
    STRING *text = must(json_read_text(path, NULL, hear()));
    JSON *models = cJSON_Parse(text);
    unsigned mixed = 0, on[3] = {0};
    for (unsigned g = 0; g < 3; g++)
        (void)snprintf(json + strlen(json), sizeof json - strlen(json),
                       "%s{'count': 2, 'vcpus': 16, 'memory_mb': 64000, 'gpus': [{'model': '%s', "
                       "'sharing': 'mps', 'units': 100, 'memory_mb': 12288, 'count': 3}]}",
                       g > 0 ? ", " : "", gpus[g]);
    (void)snprintf(json + strlen(json), sizeof json - strlen(json),
                   "]}, 'training': {'models': '%s', 'arrivals': {'process': 'trace', 'file': "
                   "'traces/trainings/gavel_msr_seed_0_6214e9.trace.gz'}}, 'policy': {'name': "
                   "'fifo'}}",
                   path);
    record_lease_gpus = true;
    train_well(json_requote(json), NULL, NULL);
    record_lease_gpus = false;
    assert_int_equal(kept.lease_count, kept.count); /* none is preempted */
    for (size_t i = 0; i < kept.lease_gpu_count;) {
        const size_t lease = kept.lease_gpus[i].lease;
        const struct training_result_row *row = &kept.trainings[kept.leases[lease].training];
        double slowest = 0, fastest = INFINITY;
        for (; i < kept.lease_gpu_count && kept.lease_gpus[i].lease == lease; i++) {
            const unsigned kind = kept.lease_gpus[i].gpu / 6;
            const double step = step_s(models, row->model, gpus[kind], row->gpus);
            slowest = fmax(slowest, step);
            fastest = fmin(fastest, step);
            on[kind]++;
        }
        mixed += fastest < slowest;
        const double took = sim_to_s(row->finish_ns - row->start_ns);
        if (fabs(took - (double)row->iterations * slowest) > 1e-9 * took + 1e-8)
            fail_msg("training %zu took %.9f s", (size_t)row->training, took);
    }
    print_message("%zu trainings, %u on GPUs of several models\n", kept.count, mixed);
    assert_true(kept.count > 99 && mixed > 0 && on[0] > 0 && on[1] > 0 && on[2] > 0);
}

/* ---- Leases, restarts ------------------------------------------------------------------------ */

/* A lease of 10 s each, on the GPU that `turns` names; h: on GPU 0 in half batches; x: none. */
static const char *turns;

static bool turn_decide(void *state, struct platform *platform)
{
    const sim_time_t now = platform_now(platform);
    const size_t turn = (size_t)(now / (10 * SIM_S));
    if (now % (10 * SIM_S) != 0)
        return false;
    const char name = turn < strlen(turns) ? turns[turn] : turns[strlen(turns) - 1];
    const uint32_t id = platform_next_training(platform, 0);
    if (id == SIM_NONE)
        return false;
    const struct training_grant grant = {.gpu = name == '1', .share = 100, .quota = 100};
    const struct training_view view = platform_training(platform, id);
    if (name != 'x' && view.state == TRAINING_WAITING)
        assert_true(platform_split(platform, id, name == 'h' ? 2 : 1) &&
                    platform_place(platform, id, &grant, 1, now + 10 * SIM_S));
    platform_set_timer(platform, now + 10 * SIM_S, 0);
    return false;
}

POLICY(by_turns, .decide = turn_decide, .serves = SERVES_TRAININGS);

CASE(restarts_cost_time_but_for_the_same_place)
{
    static const struct {
        const char *turns, *rules;
        double finish;
        unsigned restarts, leases;
    } cases[] = {
        {"0000", "", 35, 0, 1}, /* 35 iterations of 1 s */
        {"0110", "", 49, 2, 3}, /* a restart takes 7 s */
        {"0110", ", 'restart': 'none'", 35, 2, 3},
        {"0110", ", 'save_s': 2", 53, 2, 3},
        {"0x00", "", 52, 1, 2},                      /* an interruption restarts too */
        {"0h0h", "", 38.75, 0, 4},                   /* 10 + 8 + 10 + 7 iterations */
        {"0000", ", 'progress': 'whole'", 40, 0, 1}, /* only the lease's end counts */
        {"00x0", ", 'progress': 'whole'", 60, 1, 2},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        turns = cases[c].turns;
        train_well(world("0,a,0,35,1\n", 1, 2, cases[c].rules), &by_turns, NULL);
        if (kept.trainings[0].finish_ns != sim_from_s(cases[c].finish) ||
            kept.trainings[0].restarts != cases[c].restarts || kept.lease_count != cases[c].leases)
            fail_msg("%s%s: %g s, %u restarts, %zu leases", cases[c].turns, cases[c].rules,
                     sim_to_s(kept.trainings[0].finish_ns), kept.trainings[0].restarts,
                     kept.lease_count);
    }
}

/* A preempted gang keeps its GPUs until it has been saved; its restart then costs no saving. */
CASE(a_preempted_gang_frees_its_gpus_after_it_was_saved)
{
    static const double cases[][4] = {
        /* save_s, b's finish, a's finish, time that a held its gang */
        {0, 30, 127, 107},
        {5, 35, 132, 112}};
    for (size_t c = 0; c < 2; c++) {
        char *rules = formatted(", 'save_s': %g}, 'policy': {'name': 'srtf'", cases[c][0]);
        train_well(world("0,a,0,100,1\n1,a,10,20,1\n", 1, 1, rules), NULL, NULL);
        if (kept.trainings[1].finish_ns != sim_from_s(cases[c][1]) ||
            kept.trainings[0].finish_ns != sim_from_s(cases[c][2]) ||
            kept.trainings[0].held_ns != sim_from_s(cases[c][3]))
            fail_msg("save_s %g: finish %g and %g s, held %g s", cases[c][0],
                     sim_to_s(kept.trainings[0].finish_ns), sim_to_s(kept.trainings[1].finish_ns),
                     sim_to_s(kept.trainings[0].held_ns));
    }
}

/* Preempts at 10 s, and goes on with half batches. */
static bool halve_decide(void *state, struct platform *platform)
{
    const struct training_grant grant = {.share = 100, .quota = 100};
    const sim_time_t now = platform_now(platform);
    const bool waits = platform_training(platform, 0).state == TRAINING_WAITING;
    if (now == 0)
        platform_set_timer(platform, 10 * SIM_S, 0);
    if (!waits && now == 10 * SIM_S)
        assert_true(platform_preempt(platform, 0) && !platform_split(platform, 0, 2));
    else if (waits && (now == 0 || platform_split(platform, 0, 2)))
        (void)platform_place(platform, 0, &grant, 1, SIM_FOREVER);
    return false;
}

POLICY(halving, .decide = halve_decide, .serves = SERVES_TRAININGS);

/* Not before it has been saved, at 15 s: then a restart of 7 s and 25 iterations. */
CASE(a_training_that_is_saved_is_split_later)
{
    train_well(world("0,a,0,35,1\n", 1, 1, ", 'save_s': 5"), &halving, NULL);
    assert_int_equal(kept.trainings[0].finish_ns, sim_from_s(15 + 7 + 25 * 1.25));
}

/* ---- Slowdown and finish-time fairness ------------------------------------------------------- */

/* Two of 100 s on one GPU, one after the other: both demand it for 100 s, the second alone then. On
 * three GPUs nobody waits for another. */
CASE(finish_time_fairness_is_as_in_the_closed_form)
{
    struct training_measures measures = {0};
    train_well(world("0,a,0,100,1\n1,a,0,100,1\n", 1, 1, ""), &first_come, &measures);
    assert_true(fabs(kept.trainings[0].slowdown - 1) < 1e-9);
    assert_true(fabs(kept.trainings[1].slowdown - 2) < 1e-9);
    assert_true(fabs(kept.trainings[0].ftf_rho - 1.0 / 2) < 1e-9);
    assert_true(fabs(kept.trainings[1].ftf_rho - 2 / 1.5) < 1e-9);
    assert_true(fabs(measures.slowdown - 1.5) < 1e-9 && measures.slowdown_max > 1.999);
    assert_true(fabs(measures.ftf_rho - (0.5 + 2 / 1.5) / 2) < 1e-9);
    assert_true(fabs(measures.ftf_rho_max - 2 / 1.5) < 1e-9);
    /* A gang of two that comes at 50 s, on two GPUs: 3 GPUs are demanded for 50 s, then two. */
    train_well(world("0,a,0,100,1\n1,a,50,100,2\n", 1, 2, ""), &first_come, &measures);
    assert_true(fabs(kept.trainings[0].ftf_rho - 1) < 1e-9);
    assert_true(fabs(kept.trainings[1].ftf_rho - 1.5 / (350.0 / 150 / 2)) < 1e-9);
    train_well(world("0,a,0,100,1\n1,a,0,100,1\n", 1, 3, ""), &first_come, &measures);
    assert_true(fabs(measures.ftf_rho - 1) < 1e-9 && fabs(measures.slowdown - 1) < 1e-9);
}

/* ---- vCPUs and memory ------------------------------------------------------------------------ */

static size_t speeds_asked;

/* Asks for the speed of each gang with ever more vCPUs, and with ever more memory, on one invoker.
 */
static bool monotone_decide(void *state, struct platform *platform)
{
    enum { STEPS = 26 };
    for (uint32_t id = 0; (id = platform_next_training(platform, id)) != SIM_NONE; id++) {
        const uint32_t gpus = platform_training(platform, id).gpus;
        double row[STEPS] = {0}; /* with less memory */
        for (unsigned m = 0; m < STEPS; m++)
            for (unsigned v = 0; v < STEPS; v++) {
                struct training_grant grants[8];
                for (uint32_t i = 0; i < gpus; i++)
                    grants[i] = (struct training_grant){.gpu = i,
                                                        .share = 100,
                                                        .quota = 100,
                                                        .vcpus = v,
                                                        .memory_mb = m * 10 * 1024};
                const double speed = speed_if_placed(platform, id, grants);
                if (speed < row[v] || (v > 0 && speed < row[v - 1]))
                    fail_msg("training %u with %u vCPUs and %u GB per GPU: %g", id, v, 10 * m,
                             speed);
                row[v] = speed;
                speeds_asked++;
            }
        platform_stop(platform, "asked");
    }
    return false;
}

POLICY(monotone, .decide = monotone_decide, .serves = SERVES_TRAININGS);

/* On servers of all sizes. The run itself does not matter. */
CASE(a_gang_is_never_slower_with_more_vcpus_or_memory)
{
    static const char *const models[] = {"alexnet",    "res18", "res50", "mobilenet",
                                         "shufflenet", "gnmt",  "m5",    "deepspeech"};
    speeds_asked = 0;
    for (unsigned vcpus = 2; vcpus <= 12; vcpus += 2)
        for (unsigned gb = 250; gb <= 1000; gb *= 2) {
            char trace[1024] = "";
            size_t used = 0;
            for (unsigned i = 0; i < 32; i++)
                used += (size_t)snprintf(trace + used, sizeof trace - used, "%u,%s,0,10,%u\n", i,
                                         models[i % 8], 1u << i / 8);
            trace_is(trace);
            char *json = formatted(
                "{'cluster': {'invokers': [{'count': 1, 'vcpus': %u, 'memory_mb': %u, 'gpus': "
                "[{'model': 'V100', 'sharing': 'mps', 'units': 100, 'memory_mb': 16384, 'count': "
                "8}]}]}, 'training': {'models': '" MODELS_OF_3
                "', 'arrivals': {'process': 'trace', 'file': '%s', 'format': 'synergy'}}}",
                8 * vcpus, 1024 * gb, trace_path);
            assert_bad_run(train(json, &monotone, NULL, hear()), "asked");
        }
    assert_int_equal(speeds_asked, 6 * 3 * 32 * 26 * 26);
}

/* ---- Requests and trainings on one cluster --------------------------------------------------- */

/* Batches of one job wherever they fit best; trainings on 60 units of the first GPUs. */
static bool both_decide(void *state, struct platform *platform)
{
    const uint32_t queue = platform_next_queue(platform, 0);
    (void)together_decide(state, platform);
    if (queue == SIM_NONE)
        return false;
    const uint32_t function = platform_queue_function(platform, queue);
    const uint32_t invoker = platform_best_fit(platform, function, 0, false);
    return invoker != SIM_NONE && platform_dispatch(platform, queue, 1, 0, invoker);
}

POLICY(both, .decide = both_decide, .serves = SERVES_BOTH);

/* The platform checks the sum of what batches and trainings hold every second. Warm containers make
 * room for the memory of a gang. */
CASE(requests_and_trainings_share_the_ledger)
{
    (void)world("0,a,1,50,2\n1,b,2,80,1\n2,a,60,40,2\n3,b,61,30,1\n", 1, 2, "");
    char *json = formatted(
        "{'cluster': {'invokers': [{'vcpus': 8, 'memory_mb': 65536, 'gpus': [{'model': 'V100', "
        "'sharing': 'mps', 'units': 100, 'memory_mb': 16384, 'count': 2}]}]},'functions': "
        "{'functions': [{'name': 'f', 'service': {'distribution': 'exponential', 'mean_ms': 200}, "
        "'configuration': {'batch': 1, 'vcpu': 2, 'vgpu': 40}, 'gpu_memory_mb': {'weights': 7000, "
        "'per_item': 100}, 'cold_start_ms': {'mean': 300, 'cv': 0}}]}, 'applications': [{'name': "
        "'x', 'stages': [{'name': 's', 'function': 'f'}]}], 'arrivals': {'process': 'poisson', "
        "'rate_per_s': 4}, 'requests': 1000, 'warmup_requests': 0, 'training': {'models': {'name': "
        "'m', 'models': {'a': {'class': 'image', 'iteration_s': 1, 'gpu_memory_mb': 4000}, 'b': "
        "{'class': 'image', 'iteration_s': 1, 'gpu_memory_mb': 3000}}}, 'arrivals': {'process': "
        "'trace', 'file': '%s', 'format': 'synergy'}}}",
        trace_path);
    EXPERIMENT *experiment = load(json);
    assert_good(simulation_run(experiment, &both, (const double[]){0}, NULL, NULL, anew(), hear()));
    assert_int_equal(result.overall.requests, 1000);
    assert_int_equal(result.overall.dropped, 0);
    assert_int_equal(result.training->finished, 4);
    assert_true(result.run.evictions > 0);
    assert_true(result.run.gpu_utilisation > result.training->gpu_allocated);
}

/* ---- The results file ------------------------------------------------------------------------ */

/* Runs `experiment` into the results file `path`. */
static void store_run(const struct experiment *experiment, const char *path,
                      struct training_measures *measures)
{
    double *values = NULL;
    const struct policy *policy = policy_resolve(experiment, &values, hear());
    struct store *store = store_create(path, hear());
    assert_true(policy != NULL && store != NULL);
    assert_true(store_begin_experiment(store, experiment, policy, values, 0, true, hear()));
    const struct recorder recorder = store_recorder(store);
    assert_true(simulation_run(experiment, policy, values, &recorder, NULL, anew(), hear()));
    assert_true(store_end_run(store, &result, hear()));
    assert_true(store_finish(store, hear()));
    *measures = *result.training;
}

/* Every completion time is the sum of its parts, and no lease is outside its training's life. */
static void check_record(const struct run_record *record)
{
    size_t leases = 0;
    assert_int_equal(record->training_count, 100);
    assert_string_equal(record->models, "alexnet\nres18\nres50\nmobilenet\nshufflenet\ngnmt\n"
                                        "transformer\nlstm\nm5\ndeepspeech");
    for (size_t t = 0; t < record->training_count; t++) {
        const struct training_result_row *row = &record->trainings[t];
        const struct training_time time = training_time_split(row);
        const double jct = sim_to_s(row->finish_ns - row->arrival_ns);
        const double losses = time.restarts + time.saves + time.lost + time.ends;
        assert_true(fabs(time.waiting + losses + time.alone + time.slowed - jct) < 1e-6);
        assert_true(time.waiting >= 0 && time.restarts >= 0 && time.alone > 0);
        for (size_t i = 0; i < record->lease_count; i++)
            if (record->leases[i].training == t) {
                leases++;
                assert_true(record->leases[i].from_ns >= row->start_ns &&
                            record->leases[i].until_ns <= row->finish_ns);
            }
    }
    assert_int_equal(leases, record->lease_count);
}

CASE(the_results_file_has_trainings_and_leases)
{
    const struct override all = {"record", "all"};
    struct training_measures measures;
    TEMPORARY(path, "");
    EXPERIMENT *experiment =
        must(experiment_load("workloads/experiments/training-dynamic.json", &all, 1, hear()));
    store_run(experiment, path, &measures);
    OWNED(results_free) struct results *results = must(results_load(path, hear()));
    assert_int_equal(results->training_count, 1);
    assert_string_equal(results->training[0].hash, experiment->hash);
    assert_string_equal(experiment->profile_evidence, "");
    assert_string_equal(experiment->profile_sha256, "");
    assert_memory_equal(&results->training[0].measures, &measures, sizeof measures);
    assert_true(fabs(measures.jct_s_mean / 3600 - 4.623) < 0.0005);
    OWNED(arena_home_free)
    struct run_record *record = must(run_record_load(path, experiment->hash, true, hear()));
    check_record(record);
    assert_int_equal(record->lease_count, measures.leases);
    FILE *sink = fopen("/dev/null", "w");
    struct chart chart = {.arena = arena_create()};
    assert_true(training_explain(&results->runs[0], record, 99, true, NULL, sink, hear()));
    assert_true(training_chart(&results->runs[0], record, 40, &chart, hear()));
    /* Its wait, its iterations alone, and each of its nine leases twice: with the others and in a
     * row. */
    assert_int_equal(chart.row_count, 1 + 9);
    assert_int_equal(chart.span_count, 2 + 2 * 9);
    assert_string_equal(chart.rows[9], "on GPU 21");
    assert_true(fabs(chart.spans[chart.span_count - 1].until - 5285.0 / 3600) < 1e-9);
    assert_bad_input(training_chart(&results->runs[0], record, 100, &chart, hear()), "");
    arena_destroy(chart.arena);
    (void)fclose(sink);
}

/* ---- Rules ----------------------------------------------------------------------------------- */

enum bad_deed {
    PLACE,
    PLACE_UNTIL_NOW,
    RESIZE,
    PREEMPT,
    PREEMPT_OUTSIDE_DECIDE,
    SPLIT,
    SPLIT_RUNNING,
    NOTHING
};

/* What the policy does that breaks a rule. */
static struct bad {
    enum bad_deed deed;
    uint32_t training, count;
    struct training_grant grants[2];
    const char *message;
} bad;

static bool bad_decide(void *state, struct platform *platform)
{
    const struct training_grant good = {.gpu = 0, .share = 100, .quota = 100};
    if (bad.deed == PREEMPT)
        (void)platform_preempt(platform, bad.training);
    else if (bad.deed == RESIZE && platform_place(platform, 0, &good, 1, SIM_FOREVER))
        (void)platform_resize(platform, 0, bad.grants, bad.count);
    else if (bad.deed == SPLIT ||
             (bad.deed == SPLIT_RUNNING && platform_place(platform, 0, &good, 1, SIM_FOREVER)))
        (void)platform_split(platform, 0, bad.count);
    else if (bad.deed == PLACE || bad.deed == PLACE_UNTIL_NOW)
        (void)platform_place(platform, bad.training, bad.grants, bad.count,
                             bad.deed == PLACE ? SIM_FOREVER : 0);
    return false;
}

static void bad_arrived(void *state, struct platform *platform, uint32_t training)
{
    if (bad.deed == PREEMPT_OUTSIDE_DECIDE)
        (void)platform_preempt(platform, training);
}

POLICY(breaking, .decide = bad_decide, .on_training_arrived = bad_arrived,
       .serves = SERVES_TRAININGS);

CASE(broken_rules_end_the_run_and_are_named)
{
    static const struct bad cases[] = {
        {PLACE, 0, 2, {{0}}, "rule gang: place gives training 0 2 GPUs, and its gang is 1"},
        {PLACE, 5, 1, {{0}}, "rule range: place names training 5 of 1"},
        {PLACE, 0, 1, {{.gpu = 2, .share = 1, .quota = 1}}, "rule range: place names GPU 2 of 2"},
        {PLACE, 0, 1, {{.share = 101, .quota = 1}}, "a share beyond 1..the GPU's units"},
        {PLACE, 0, 1, {{.share = 1, .quota = 101}}, "a quota beyond 1..100"},
        {PLACE, 0, 1, {{.share = 1, .quota = 1, .vcpus = -1}}, "negative vCPUs"},
        {PLACE, 0, 1, {{.share = 1, .quota = 1, .vcpus = NAN}}, "negative vCPUs"},
        {PLACE_UNTIL_NOW,
         0,
         1,
         {{.share = 1, .quota = 1}},
         "rule time: place with a lease that ends"},
        {PREEMPT, .message = "rule state: preempt of training 0, which does not run"},
        {RESIZE,
         0,
         1,
         {{.gpu = 1, .share = 1, .quota = 1}},
         "rule gang: resize gives grant 0 of training 0 another GPU"},
        {PREEMPT_OUTSIDE_DECIDE,
         .message = "rule timing: preempt outside decide (on_training_arrived, at"},
        {SPLIT, .count = 3, .message = "rule split: split of training 0 into 3 parts"},
        {SPLIT, .count = 8, .message = "\"a\" allows powers of two up to 5"},
        {SPLIT_RUNNING, .count = 1, .message = "rule state: split of training 0, which runs"},
        {NOTHING, .message = "rule progress: 1 trainings wait, nothing runs"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        bad = cases[c];
        const char *json = world("0,a,0,35,1\n", 1, 2, "");
        assert_bad_run(train(json, &breaking, NULL, hear()), bad.message);
        assert_contains(heard.message, "policy breaking, seed 1");
    }
}

/* ---- Input ----------------------------------------------------------------------------------- */

CASE(bad_input_names_file_and_key)
{
    static const struct refusal_of cases[] = {
        {"0,a,0,35,9\n", "", "needs a gang of 9 GPUs, and the cluster has 8"},
        {"0,c,0,35,1\n", "", "\"c\" is not in \"training.models\""},
        {"0,a,0,-35,1\n", "", ":1"},
        {"0,a,10,35,1\n1,a,9,35,1\n", "", ":2"},
        {"0,a,0,35,1\n", ", 'measured': [1, 1]", "training.measured[1]"},
        {"0,a,0,35,1\n", ", 'measured': [1, 3]", "no training has such an id"},
        {"0,a,0,35,1\n", ", 'stop': 'never'", "training.stop"},
        {"0,a,0,35,1\n", ", 'progress': 'slow'", "training.progress"},
        {"0,a,0,35,1\n", ", 'restart': 3", "training.restart"},
        {"0,a,0,35,1\n", ", 'model': 3", "unknown key"},
        {"0,a,0,35,1\n", "}, 'requests': 3, 'slo': {", "is about requests"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        assert_text_refused(world(cases[c].key, 2, 4, cases[c].text), NULL, NULL, cases[c].words);
}

/* Input that only the run shows to be wrong, and a class that no model has. */
CASE(what_could_never_run_is_refused_with_its_id)
{
    static const struct refusal cases[] = {
        {"'progress': 'whole'}, 'policy': {'name': 'synergy', 'params': {'round_s': 3}",
         "training 8: an iteration of 4 s never ends in a lease of 3 s"},
        {"'progress': 'whole'}, 'policy': {'name': 'synergy', 'params': {'round_s': 4}", NULL},
        {"'stop': 'all'}, 'policy': {'name': 'dilu', 'params': {'training_vcpus': 5}",
         "training 8 of /tmp/"},
        {"'stop': 'all'}, 'policy': {'name': 'dilu', 'params': {'training_vcpus': 5}",
         "it needs 10 vCPUs of one invoker, which has 8"},
        {"'stop': 'all'}, 'policy': {'name': 'sjf-ffs'",
         "1 of 1 pairs are not in \"pairs\" of the models \"m\""},
        {"'stop': 'all'}, 'policy': {'name': 'sjf-bsbf', 'params': {'accumulate': 'on'}",
         "policy.params.accumulate: is \"on\", and no model of the trainings has \"sub_batches\""},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        trace_is("7,a,0,5,1\n8,a,0,5,2\n");
        char *json = formatted(
            "{'cluster': {'invokers': [{'vcpus': 8, 'memory_mb': 65536, 'gpus': [{'model': 'V100', "
            "'sharing': 'mps', 'units': 100, 'memory_mb': 16384, 'count': 2}]}]}, 'training': "
            "{'models': {'name': 'm', 'gangs': [1, 2], 'models': {'a': {'iteration_s': [1, 4]}}}, "
            "'arrivals': {'process': 'trace', 'file': '%s', 'format': 'synergy'}, %s}}",
            trace_path, cases[c].text);
        if (cases[c].words == NULL)
            train_well(json, NULL, NULL);
        else
            assert_bad_input(train(json, NULL, NULL, hear()), cases[c].words);
    }
}

/* Pairs that nobody measured, where GPUs were shared, and a GPU that the models are not of. */
CASE(notices_count_guessed_pairs_and_name_another_gpu)
{
    static const char all[] = ",'gpu':'v100','pairs':{'a':{'a':1,'b':1},'b':{'a':1,'b':1}}";
    static const struct {
        const char *models, *gpu, *notice;
        enum notice_kind kind;
    } cases[] = {
        {"", "'model': 'V100'", "4 of 4 pairs of models have no slowdown", NOTICE_PAIRS_MISSING},
        {", 'pairs': {'a': {'b': 1.5}, 'default': 2}", "'model': 'V100'",
         "3 of 4 pairs of models have no slowdown in the models \"m\"; trainings that share a GPU "
         "then slow one another by 2, its default",
         NOTICE_PAIRS_STATED},
        {", 'pairs': {'a': {'b': 1.5}, 'default': 'effects'}", "'model': 'V100'",
         "slow one another by the effects of the measured pairs (derived)", NOTICE_PAIRS_STATED},
        {all, "'model': 'V100'", NULL, NOTICE_PAIRS_MISSING},
        {all, "'model': 'A100'", "are of GPU v100, and the cluster has A100", NOTICE_OTHER_GPU},
        {all, "'model': 'A100', 'speed': 2", NULL, NOTICE_OTHER_GPU},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        trace_is("0,a,0,5,1\n1,b,0,5,1\n");
        char *json = formatted(
            "{'cluster': {'invokers': [{'vcpus': 8, 'memory_mb': 65536, 'gpus': [{%s, 'sharing': "
            "'mps', 'units': 100, 'memory_mb': 16384}]}]}, 'training': {'models': {'name': 'm', "
            "'models': {'a': {'iteration_s': 1}, 'b': {'iteration_s': 1}, 'c': {}}%s}, 'arrivals': "
            "{'process': 'trace', 'file': '%s', 'format': 'synergy'}}}",
            cases[c].gpu, cases[c].models, trace_path);
        train_well(json, &together, NULL);
        const struct notice *told = notices_find(&result.notices, cases[c].kind);
        assert_int_equal(told != NULL, cases[c].notice != NULL);
        assert_contains(told != NULL ? told->text : "", told != NULL ? cases[c].notice : "");
    }
}

CASE(a_class_without_models_is_refused)
{
    static const char json[] =
        "{'cluster': 'workloads/clusters/v100-8x8.json', 'training': {'models': "
        "'workloads/models/muri-v100.json', 'arrivals': {'process': 'poisson', "
        "'per_hour': 10, 'count': 20, 'split': {'speech': 0.9, 'image': 0.1}}}}";
    assert_text_refused(
        json, NULL, NULL,
        "training.arrivals.split: no model of class \"speech\" is in the models \"muri-v100\"");
}

CASE(a_policy_that_does_not_serve_trainings_is_refused)
{
    struct experiment *experiment =
        load_with(world("0,a,0,35,1\n", 1, 2, ""), "policy.name", "edf");
    double *values = NULL;
    assert_bad_input(policy_resolve(experiment, &values, hear()),
                     "policy \"edf\" serves requests only");
    assert_contains(heard.message, "synergy");
    experiment_free(experiment);

    const struct override synergy = {"policy.name", "synergy"};
    experiment =
        must(experiment_load("workloads/experiments/strict-light.json", &synergy, 1, hear()));
    assert_bad_input(policy_resolve(experiment, &values, hear()),
                     "policy \"synergy\" serves trainings only");
    experiment_free(experiment);
}

SUITE_WITH("training", trace_create, trace_remove)
