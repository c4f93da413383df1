/* gpulet: sizes against tables worked out by hand, plans against their promises, the policy in
 * random worlds. */
#include "sched/gpulet/plan.h"
#include "sched/registry.h"
#include "tests/random_dag.h"
#include "tests/suite.h"
#include "tests/worlds.h"

enum { PARTS = 6, STEPS = 3, TASKS = 8 };

static const uint16_t parts[PARTS] = {20, 40, 50, 60, 80, 100};
static uint32_t batches[STEPS] = {1, 2, 4};
static uint32_t configurations[STEPS] = {0, 1, 2};

struct instance {
    sim_time_t times[TASKS][PARTS][STEPS];
    struct batch_latency latency_tables[TASKS][PARTS];
    struct gpulet_task tasks[TASKS];
    double pressure; /* of the linear interference law */
    struct gpulet_world world;
};

static void task_set(struct instance *instance, size_t t, double ms[PARTS][STEPS], double rate,
                     double slo_ms)
{
    for (size_t p = 0; p < PARTS; p++) {
        for (size_t i = 0; i < STEPS; i++)
            instance->times[t][p][i] = sim_from_ms(ms[p][i]);
        instance->latency_tables[t][p] =
            (struct batch_latency){STEPS, batches, configurations, instance->times[t][p], NULL};
    }
    instance->tasks[t] = (struct gpulet_task){
        .rate = rate, .slo = sim_from_ms(slo_ms), .latency_tables = instance->latency_tables[t]};
}

/* Linear in both shares, as the authors' law is in what the partitions use; at least 1. */
static double linear_law(const void *context, uint32_t self, uint16_t self_units, uint32_t other,
                         uint16_t other_units)
{
    const struct instance *instance = context;
    return fmax(1, 0.9 + instance->pressure * (self_units + other_units) / 100);
}

static void world_set(struct instance *instance, size_t tasks, size_t gpus, double margin)
{
    instance->world = (struct gpulet_world){.tasks = instance->tasks,
                                            .task_count = tasks,
                                            .parts = parts,
                                            .part_count = PARTS,
                                            .gpu_count = gpus,
                                            .margin = margin,
                                            .slack = 1e-6,
                                            .slowdown = linear_law,
                                            .context = instance};
}

/* ---- Sizes ----------------------------------------------------------------------------------- */

static double table[PARTS][STEPS] = {{50, 95, 180}, {25, 40, 75}, {20, 34, 62},
                                     {18, 30, 50},  {17, 29, 48}, {9, 13, 20}};

/* By hand at an SLO of 100 ms: 20, 50, 58.8, 80, 83.3 and 200 jobs a second. A step gains 1.5,
 * 0.88, 2.1 jobs a second and per cent; from 60 to 80 it is less than 5 %, and the last step, which
 * would gain 5.8, is not looked at. */
CASE(saturation_and_knee_are_those_worked_out_by_hand)
{
    static struct instance instance;
    static const uint32_t batch[PARTS] = {1, 2, 2, 4, 4, 4};
    static const double throughput[PARTS] = {20, 50, 1000.0 / 17, 80, 4000.0 / 48, 200};
    task_set(&instance, 0, table, 30, 100);
    world_set(&instance, 1, 1, 1);
    for (size_t p = 0; p < PARTS; p++) {
        uint32_t b;
        bool feasible;
        const double most = gpulet_saturation(&instance.world, 0, p, &b, &feasible);
        assert_true(feasible);
        assert_int_equal(b, batch[p]);
        assert_true(fabs(most - throughput[p]) < 1e-6);
    }
    assert_int_equal(gpulet_knee(&instance.world, 0), 3);
    /* At 90 ms the smallest is too slow even for one: one is what it is taken for all the same. */
    instance.tasks[0].slo = 90 * SIM_MS;
    uint32_t b;
    bool feasible;
    assert_true(fabs(gpulet_saturation(&instance.world, 0, 0, &b, &feasible) - 20) < 1e-6);
    assert_false(feasible);
    assert_int_equal(b, 1);
    /* The margin is on every latency: at 1.1 four at 60 % no longer fit twice into 100 ms. */
    instance.tasks[0].slo = 100 * SIM_MS;
    instance.world.margin = 1.1;
    assert_true(fabs(gpulet_saturation(&instance.world, 0, 3, &b, &feasible) - 2000 / 33.0) < 1e-6);
    assert_int_equal(b, 2);
}

CASE(residual_takes_the_smallest_part_that_is_in_time)
{
    static struct instance instance;
    static const struct {
        double rate;
        size_t part;
        uint32_t batch;
        double duty_ms;
    } cases[] = {
        {30, 3, 2, 2000.0 / 30}, /* at 50 %: 34 + 66.7 > 100 */
        {40, 1, 2, 50},          /* at 40 %: 40 + 50; at 20 % two take longer than 50 */
        {5, 3, 1, 82},           /* one in 200 ms would be too late: a slot every 100 - 18 ms */
    };
    task_set(&instance, 0, table, 30, 100);
    world_set(&instance, 1, 1, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t part;
        uint32_t batch;
        double duty;
        assert_true(gpulet_residual(&instance.world, 0, cases[i].rate, &part, &batch, &duty));
        assert_int_equal(part, cases[i].part);
        assert_int_equal(batch, cases[i].batch);
        assert_true(fabs(duty / (double)SIM_MS - cases[i].duty_ms) < 1e-6);
    }
}

/* ---- Placing --------------------------------------------------------------------------------- */

static size_t lets_in_use(const struct gpulet_gpu *gpu)
{
    return (gpu->lets[0].count > 0 ? 1u : 0u) + (gpu->lets[1].count > 0 ? 1u : 0u);
}

CASE(rate_beyond_the_knee_takes_saturated_gpulets_and_a_residual)
{
    static struct instance instance;
    struct gpulet_plan plan;
    struct arena arena = {0};
    task_set(&instance, 0, table, 200, 100);
    world_set(&instance, 1, 4, 1);
    gpulet_make(&instance.world, &arena, &plan);
    assert_true(plan.complete);
    size_t saturated = 0;
    size_t residual = 0;
    for (size_t g = 0; g < 4; g++)
        for (size_t i = 0; i < GPULETS_PER_GPU; i++) {
            const struct gpulet *let = &plan.gpus[g].lets[i];
            saturated += let->count > 0 && let->saturated;
            residual += let->count > 0 && !let->saturated;
            if (let->count > 0)
                assert_int_equal(let->units, let->saturated ? 60 : 40);
        }
    assert_int_equal(saturated, 2); /* 2 × 80, and 40 in 40 %, beside one of them */
    assert_int_equal(residual, 1);
    assert_true(fabs(plan.served[0] - 200) < 1e-6);
    assert_int_equal(lets_in_use(&plan.gpus[0]) + lets_in_use(&plan.gpus[1]), 3);
    gpulet_clear(&plan, &arena);
    assert_null(arena.blocks);
}

CASE(interference_refuses_a_place_that_would_break_an_slo)
{
    static struct instance instance;
    struct arena arena = {0};
    for (int strong = 0; strong < 2; strong++) {
        struct gpulet_plan plan;
        task_set(&instance, 0, table, 40, 100);
        task_set(&instance, 1, table, 40, 100);
        world_set(&instance, 2, 1, 1);
        instance.pressure = strong ? 2 : 0.1;
        gpulet_make(&instance.world, &arena, &plan);
        assert_int_equal(plan.complete, !strong);
        assert_int_equal(lets_in_use(&plan.gpus[0]), strong ? 1 : 2);
        gpulet_clear(&plan, &arena);
        assert_null(arena.blocks);
    }
}

static void instance_random(struct instance *instance, uint64_t *random, int n)
{
    const size_t tasks = 1 + test_below(random, TASKS);
    for (size_t t = 0; t < tasks; t++) {
        double ms[PARTS][STEPS];
        const double base = 4 + 30 * test_uniform(random);
        const double scale = 0.3 + 0.7 * test_uniform(random);
        const double power = 0.4 + 0.5 * test_uniform(random);
        for (size_t p = 0; p < PARTS; p++)
            for (size_t i = 0; i < STEPS; i++)
                ms[p][i] = base * pow(100.0 / parts[p], scale) * pow(batches[i], power);
        task_set(instance, t, ms, (n % 2 == 0 ? 15 : 120) * test_uniform(random),
                 base * (2 + 12 * test_uniform(random)));
        instance->tasks[t].overhead = sim_from_ms(2 * test_uniform(random));
    }
    instance->pressure = test_uniform(random) * 0.6;
    world_set(instance, tasks, 1 + test_below(random, n % 2 == 0 ? 2 : 6), 1.1);
}

static void check_let(const struct gpulet_world *world, const struct gpulet_gpu *gpu, size_t which)
{
    const struct gpulet *let = &gpu->lets[which];
    double work = 0;
    assert_true(let->count <= GPULET_TASKS);
    assert_true(let->count <= 1 || !let->saturated);
    for (size_t s = 0; s < let->count; s++) {
        const struct gpulet_share *share = &let->shares[s];
        work += gpulet_latency(world, gpu, which, share->task, share->batch);
        assert_true(fabs(share->rate - share->batch / let->duty * 1e9) < 1e-6 * share->rate);
    }
    for (size_t s = 0; s < let->count; s++)
        assert_true(work + let->duty <=
                    (double)world->tasks[let->shares[s].task].slo * 1.05 * (1 + 1e-9));
    if (let->count > 0)
        assert_true(work <= let->duty * (1 + 1e-9));
}

/* Two partitions at most, within the GPU; every task in time with its neighbour; rates as said. */
CASE(every_plan_keeps_its_promises)
{
    static struct instance instance;
    uint64_t random = 3;
    size_t complete = 0;
    size_t timeshared = 0;
    for (int n = 0; n < 1500; n++) {
        struct gpulet_plan plan;
        struct arena arena = {0};
        double served[TASKS] = {0};
        instance_random(&instance, &random, n);
        gpulet_make(&instance.world, &arena, &plan);
        for (size_t g = 0; g < instance.world.gpu_count; g++) {
            assert_true(plan.gpus[g].lets[0].units + plan.gpus[g].lets[1].units == 100);
            for (size_t i = 0; i < GPULETS_PER_GPU; i++) {
                const struct gpulet *let = &plan.gpus[g].lets[i];
                check_let(&instance.world, &plan.gpus[g], i);
                timeshared += let->count > 1;
                for (size_t s = 0; s < let->count; s++)
                    served[let->shares[s].task] += let->shares[s].rate;
            }
        }
        for (size_t t = 0; t < instance.world.task_count; t++) {
            assert_true(fabs(served[t] - plan.served[t]) < 1e-6);
            uint32_t batch;
            bool feasible;
            (void)gpulet_saturation(&instance.world, (uint32_t)t, PARTS - 1, &batch, &feasible);
            if (plan.complete && feasible)
                assert_true(served[t] >= 0.85 * instance.tasks[t].rate - 1e-6);
        }
        complete += plan.complete;
        gpulet_clear(&plan, &arena);
        assert_null(arena.blocks);
    }
    assert_true(complete > 300 && complete < 1200);
    assert_true(timeshared > 100);
}

/* ---- The policy ------------------------------------------------------------------------------ */

static const struct policy *gpulet(void)
{
    return must(policy_find("gpulet", hear()));
}

CASE(no_rule_is_broken_and_no_job_lost_in_any_world)
{
    static const struct world_case cases[] = {
        {NULL, 0},     {"own_admission", 0}, {"epoch_s", 0.3}, {"rate", 1},   {"split", 1},
        {"margin", 2}, {"interference", 1},  {"max_batch", 1}, {"keep_s", 0}, {"slack", 15}};
    worlds_check(gpulet(), cases, sizeof cases / sizeof *cases, 10);
}

/* What gpulet is known for: a GPU is two partitions of planned sizes that work at the same time. */
CASE(two_partitions_of_a_gpu_work_at_once)
{
    run_well(diamond, gpulet(), &rows, anew());
    size_t together = 0;
    for (size_t i = 0; i < rows.batch_count; i++)
        for (size_t k = i + 1; k < rows.batch_count && k < i + 20; k++)
            together += rows.batches[i].invoker == rows.batches[k].invoker &&
                        rows.batches[k].started_ns < rows.batches[i].finished_ns &&
                        rows.batches[i].started_ns < rows.batches[k].finished_ns;
    assert_true(together > 50);
}

SUITE("gpulet")
