/* Fragmentation: figures of FGD's own test, its typical shapes, and the measures of random runs
 * computed anew, by a scan of the whole cluster at every change, from the rows of the run. */
#include "sched/policy_training.h"
#include "sched/common/fragmentation.h"
#include "sim/engine/random.h"
#include "tests/fixture_simulation.h"
#include "tests/suite.h"

/* ---- FGD's formula --------------------------------------------------------------------------- */

/* vCPUs of a pod in all; GPUs; per cent of all pods. */
struct pod {
    double vcpus;
    uint32_t gpus;
    double per_cent, share;
};

/* hkust-adsl/kubernetes-scheduler-simulator at 29a1e4c, pkg/utils/frag_test.go: the pods of
 * TestingGenerateGetTypicalPodsWithNonGpu. */
static const struct pod pods[] = {
    {15.7, 1, 28.69, 1}, {11.9, 1, 18.93, 1}, {11.4, 1, 12.27, 1}, {1, 0, 7.36, 0},
    {18.71, 1, 4.85, 1}, {8.2, 1, 3.79, 1},   {16.4, 1, 3.31, 1},  {9.81, 1, 1.97, 1},
    {15.2, 1, 1.87, 1},  {11.2, 1, 1.81, 1},  {14.2, 1, 1.76, 1},  {12, 0, 1.65, 0},
    {14.9, 1, 1.39, 1},  {60.2, 4, 1.23, 1},  {64.2, 8, 1.07, 1},  {32.2, 4, 1.01, 1},
    {17.4, 2, 0.91, 1},  {30.2, 2, 0.69, 1},  {16, 1, 0.64, 1},    {15, 1, 0.59, 1},
    {64, 8, 0.53, 1},    {15, 0, 0.53, 0},    {11.91, 1, 0.53, 1}, {120.2, 8, 0.48, 1},
    {11.3, 1, 0.37, 1},  {30, 2, 0.32, 1},    {9.8, 1, 0.32, 1},   {8, 1, 0.32, 1},
    {2, 1, 0.27, 1},     {2, 1, 0.27, 0.08},  {1, 1, 0.27, 1}};
enum { PODS = sizeof pods / sizeof *pods };

static double f_of(double vcpus, const double *left, uint32_t gpus)
{
    struct fragment_shape shapes[PODS];
    struct fragment_gpu each[8];
    for (size_t m = 0; m < PODS; m++)
        shapes[m] = (struct fragment_shape){.gpus = pods[m].gpus,
                                            .share = pods[m].share,
                                            .gpu_types = 1,
                                            .vcpus = pods[m].vcpus / fmax(1, pods[m].gpus),
                                            .frequency = pods[m].per_cent / 100};
    for (uint32_t g = 0; g < gpus; g++)
        each[g] = (struct fragment_gpu){left[g], 0, 0};
    const struct fragment_node node = {.gpus = each,
                                       .gpu_count = gpus,
                                       .vcpus = vcpus,
                                       .vcpus_per_gpu = INFINITY,
                                       .memory_gb_per_gpu = INFINITY};
    return fragmentation_of(&node, shapes, PODS);
}

/* The original counts thousandths of a GPU: 887.20 and 554.4, within 0.01
 * (TestNodeGpuShareFragAmountWithNonGpu). The third and fourth follow by hand. */
CASE(f_equals_the_figures_of_the_originals_test)
{
    static const double empty[] = {1, 1, 1, 1, 1, 1, 1, 1}, half[] = {1, 1, 1, 1, 0, 0, 0, 0};
    static const double thirds[] = {0.3, 0.05};
    double all = 0;
    for (size_t m = 0; m < PODS; m++)
        all += pods[m].per_cent / 100;
    assert_true(fabs(1000 * f_of(64, empty, 8) - 887.20) <= 0.01);
    assert_true(fabs(1000 * f_of(32, half, 8) - 554.4) <= 0.01);
    /* Without vCPUs nothing fits: all that is left counts for every pod. */
    assert_true(fabs(f_of(0, half, 8) - 4 * all) <= 1e-9);
    /* Only the pod of 0.08 fits, and it cannot use the GPU of which 0.05 are left. */
    assert_true(fabs(f_of(2, thirds, 2) - (0.35 * (all - 0.0027) + 0.05 * 0.0027)) <= 1e-9);
}

CASE(typical_shapes_are_the_most_frequent)
{
    struct fragment_shape shapes[] = {
        {.gpus = 1, .frequency = 4},  {.gpus = 8, .frequency = 1},
        {.gpus = 2, .frequency = 50}, {.gpus = 4, .frequency = 40},
        {.gpus = 3, .frequency = 4},  {.gpus = 3, .share = 1, .frequency = 1}};
    assert_int_equal(fragmentation_typical(shapes, 6, 0.95), 4);
    assert_int_equal(shapes[0].gpus, 2);
    assert_int_equal(shapes[1].gpus, 4);
    assert_int_equal(shapes[2].gpus, 3); /* of 4 and 4 the larger gang first: 94 % */
    assert_int_equal(shapes[3].gpus, 1);
    assert_true(fabs(shapes[0].frequency - 50.0 / 98) < 1e-12);
    assert_int_equal(fragmentation_typical(shapes, 4, 0), 0);
}

/* ---- Runs ------------------------------------------------------------------------------------ */

enum { INVOKERS = 3, GPUS = 4, TRAININGS = 60, LEASES_MAX = 4000, TIMES_MAX = 2 * LEASES_MAX };

static struct lease_row leases[LEASES_MAX];
static size_t lease_count;
static sim_time_t first_arrival, last_finish;
static struct training_measures measures;
static double summary_fragmentation;

KEEPER(keep_lease, lease_row, leases, lease_count)

static bool keep_training(void *context, const struct training_result_row *row, struct error *error)
{
    first_arrival = row->arrival_ns < first_arrival ? row->arrival_ns : first_arrival;
    last_finish = row->finish_ns > last_finish ? row->finish_ns : last_finish;
    return true;
}

/* Random shares of neighbouring GPUs of one invoker; moves and preempts at random. */
struct wild {
    struct random_stream random;
    sim_time_t until;
};

static uint32_t draw(struct wild *wild, uint32_t count)
{
    return (uint32_t)(random_uniform(&wild->random) * count);
}

static bool wild_init(void *state, struct platform *platform, const void *parameters,
                      struct error *error)
{
    random_stream_open(&((struct wild *)state)->random, platform_seed(platform), RANDOM_TEST, 41,
                       0);
    return true;
}

static bool wild_decide(void *state, struct platform *platform)
{
    struct wild *wild = state;
    const bool now = wild->until <= platform_now(platform);
    for (uint32_t id = 0; (id = platform_next_training(platform, id)) != SIM_NONE; id++) {
        const struct training_view view = platform_training(platform, id);
        const uint32_t deed = now ? draw(wild, 8) : 7, invoker = draw(wild, INVOKERS);
        const uint32_t begin = draw(wild, GPUS + 1 - view.gpus);
        const uint32_t share = draw(wild, 2) == 0 ? 100 : 20 + draw(wild, 60);
        const double vcpus = 1 + draw(wild, 8);
        struct training_grant grants[GPUS];
        for (uint32_t i = 0; i < view.gpus; i++)
            grants[i] = (struct training_grant){.invoker = invoker,
                                                .gpu = begin + i,
                                                .share = share,
                                                .quota = 100,
                                                .vcpus = vcpus,
                                                .memory_mb = 1024.0 * draw(wild, 30)};
        if (view.state == TRAINING_WAITING || deed == 0)
            (void)platform_place(platform, id, grants, view.gpus, SIM_FOREVER);
        else if (deed == 1)
            assert_true(platform_preempt(platform, id));
    }
    if (now) {
        wild->until = platform_now(platform) + 7 * SIM_S;
        platform_set_timer(platform, wild->until, 0);
    }
    return false;
}

POLICY(wild, .state_bytes = sizeof(struct wild), .init = wild_init, .decide = wild_decide,
       .serves = SERVES_TRAININGS);

/* Models: a asks for whole GPUs with 3 vCPUs and 20 GB each, b for 0.3 of a GPU, c for more vCPUs
 * than the proportional share of 4, which then counts. Gangs of 1, 2 and 4. */
struct model {
    double share, vcpus, memory_gb, gpu_memory_mb;
};
static const struct model models[] = {{1, 3, 20, 6000}, {0.3, 0, 0, 9000}, {1, 4, 30, 0}};
#define MODELS                                                                                     \
    "{'name': 'm', 'models': {'a': {'iteration_s': 1, 'gpu_memory_mb': 6000, 'demand': {'vcpus': " \
    "3, 'memory_gb': 20}}, 'b': {'iteration_s': 1, 'gpu_memory_mb': 9000, 'share': {'request': "   \
    "0.3, 'limit': 0.6}}, 'c': {'iteration_s': 1, 'demand': {'vcpus': 9, 'memory_gb': 30}}}}"

static uint32_t kinds[TRAININGS], gangs[TRAININGS];

static void simulate(unsigned trial)
{
    static char trace[TRAININGS * 64];
    const struct recorder recorder = {.lease = keep_lease, .training = keep_training};
    char *at = trace;
    double time = 5;
    RANDOM_STREAM(random, 42, RANDOM_TEST, trial, 0);
    for (unsigned i = 0; i < TRAININGS; i++) {
        time += floor(9 * random_uniform(&random));
        kinds[i] = (uint32_t)(3 * random_uniform(&random));
        gangs[i] = 1U << (unsigned)(3 * pow(random_uniform(&random), 2));
        at += sprintf(at, "%u,%c,%g,%u,%u\n", i, "abc"[kinds[i]], time,
                      1 + (unsigned)(40 * random_uniform(&random)), gangs[i]);
    }
    TEMPORARY(path, trace);
    char *json = formatted(
        "{'seed': %u, 'cluster': {'invokers': [{'count': 3, 'vcpus': 16, 'memory_mb': 131072, "
        "'gpus': [{'model': 'V100', 'sharing': 'mps', 'units': 100, 'memory_mb': 16384, "
        "'count': 4}]}]}, 'training': {'models': " MODELS
        ", 'restart': 'none', 'arrivals': {'process': 'trace', 'file': '%s', 'format': "
        "'synergy'}}}",
        trial + 1, path);
    EXPERIMENT *experiment = load(json);
    lease_count = 0;
    first_arrival = SIM_FOREVER;
    last_finish = 0;
    assert_good(
        simulation_run(experiment, &wild, (const double[]){0}, &recorder, NULL, anew(), hear()));
    measures = *result.training;
    summary_fragmentation = result.run.gpu_fragmentation;
}

/* ---- The same from the rows ------------------------------------------------------------------ */

/* The kinds of gang, most frequent first, that make up 95 %. */
struct kind {
    uint32_t model, gpus;
    double count;
};

static int by_count(const void *a, const void *b)
{
    const struct kind *left = a, *right = b;
    if (left->count < right->count || left->count > right->count)
        return left->count < right->count ? 1 : -1;
    if (left->gpus != right->gpus)
        return left->gpus < right->gpus ? 1 : -1;
    const struct model *x = &models[left->model], *y = &models[right->model];
    if (x->share < y->share || x->share > y->share)
        return x->share < y->share ? 1 : -1;
    return x->vcpus < y->vcpus ? 1 : -1;
}

static size_t typical_kinds(struct kind *typical)
{
    double sum = 0;
    size_t count = 0;
    for (uint32_t k = 0; k < 9; k++)
        typical[k] = (struct kind){k % 3, 1U << (k / 3), 0};
    for (size_t t = 0; t < TRAININGS; t++)
        for (uint32_t k = 0; k < 9; k++)
            typical[k].count += typical[k].model == kinds[t] && typical[k].gpus == gangs[t];
    qsort(typical, 9, sizeof *typical, by_count);
    while (sum < 0.95 * TRAININGS)
        sum += typical[count++].count;
    for (size_t k = 0; k < count; k++)
        typical[k].count /= sum;
    return count;
}

struct picture {
    double left[INVOKERS][GPUS], memory_mb[INVOKERS][GPUS], vcpus[INVOKERS], host_mb[INVOKERS];
    bool held[INVOKERS][GPUS];
};

static struct picture picture_at(sim_time_t time)
{
    struct picture picture = {0};
    for (size_t i = 0; i < INVOKERS; i++) {
        picture.vcpus[i] = 16;
        picture.host_mb[i] = 131072;
        for (size_t g = 0; g < GPUS; g++) {
            picture.left[i][g] = 1;
            picture.memory_mb[i][g] = 16384;
        }
    }
    for (size_t k = 0; k < lease_count; k++) {
        const struct lease_row *lease = &leases[k];
        if (time < lease->from_ns || time >= lease->until_ns)
            continue;
        picture.vcpus[lease->first_invoker] -= lease->vcpus;
        picture.host_mb[lease->first_invoker] -= lease->memory_mb;
        for (size_t g = 0; g < lease->gpus; g++) {
            const size_t at = (lease->first_gpu + g) % GPUS;
            picture.left[lease->first_invoker][at] -= lease->units / lease->gpus / 100;
            picture.memory_mb[lease->first_invoker][at] -=
                models[kinds[lease->training]].gpu_memory_mb;
            picture.held[lease->first_invoker][at] = true;
        }
    }
    return picture;
}

static double picture_f(const struct picture *picture, const struct kind *typical, size_t count)
{
    double sum = 0;
    for (size_t k = 0; k < count; k++)
        for (size_t i = 0; i < INVOKERS; i++) {
            const struct model *model = &models[typical[k].model];
            double useless = 0, all = 0;
            uint32_t usable = 0;
            for (size_t g = 0; g < GPUS; g++) {
                const bool can = picture->left[i][g] >= model->share - 1e-9 &&
                                 picture->memory_mb[i][g] >= model->gpu_memory_mb;
                all += picture->left[i][g];
                useless += can ? 0 : picture->left[i][g];
                usable += can;
            }
            const bool fits = usable >= typical[k].gpus &&
                              picture->vcpus[i] >= typical[k].gpus * model->vcpus &&
                              picture->host_mb[i] >= 1024 * typical[k].gpus * model->memory_gb;
            sum += typical[k].count * (fits ? useless : all);
        }
    return sum;
}

static int by_time(const void *a, const void *b)
{
    const sim_time_t left = *(const sim_time_t *)a, right = *(const sim_time_t *)b;
    return (left > right) - (left < right);
}

static void assert_near(const char *what, unsigned trial, double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-6 * fmax(1, fabs(expected))))
        fail_msg("trial %u, %s: %.9g, not %.9g", trial, what, value, expected);
}

CASE(measures_equal_a_scan_of_the_rows)
{
    static sim_time_t times[TIMES_MAX + 2];
    unsigned trimmed = 0; /* trials with kinds of gang that are not typical */
    for (unsigned trial = 0; trial < 6; trial++) {
        struct kind typical[9];
        size_t count = 0;
        double gpus = 0, sm = 0, memory = 0, f = 0, most = 0, peak = 0;
        simulate(trial);
        const size_t kept = typical_kinds(typical);
        times[count++] = first_arrival;
        for (size_t k = 0; k < lease_count; k++) {
            times[count++] = leases[k].from_ns;
            times[count++] = leases[k].until_ns;
        }
        qsort(times, count, sizeof *times, by_time);
        for (size_t k = 0; k + 1 < count; k++) {
            const double passed = sim_to_s(times[k + 1] - times[k]);
            if (!(passed > 0))
                continue;
            const struct picture picture = picture_at(times[k]);
            double active = 0, free_sm = 0, free_memory = 0;
            for (size_t g = 0; g < (size_t)INVOKERS * GPUS; g++)
                if (picture.held[g / GPUS][g % GPUS]) {
                    active++;
                    free_sm += picture.left[g / GPUS][g % GPUS];
                    free_memory += picture.memory_mb[g / GPUS][g % GPUS] / 16384;
                }
            const double here = picture_f(&picture, typical, kept);
            gpus += passed * active;
            sm += passed * free_sm;
            memory += passed * free_memory;
            f += passed * here;
            if (active > most) {
                most = active;
                peak = here;
            }
        }
        assert_true(most > GPUS && f > 0);
        trimmed += kept < 9;
        assert_near("units", trial, summary_fragmentation, sm / gpus);
        assert_near("memory", trial, measures.gpu_memory_fragmentation, memory / gpus);
        assert_near("F", trial, measures.fragmented_gpus_mean,
                    f / sim_to_s(last_finish - first_arrival));
        assert_near("F at the peak", trial, measures.fragmented_gpus_at_max, peak);
    }
    assert_true(trimmed > 0);
}

SUITE("fragmentation")
