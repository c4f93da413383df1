/* fgd: F and every score by enumeration on random nodes, the load that pods make, a whole run by
 * its rows, and the figures of FGD's authors. */
#include "sched/fgd/fgd.h"
#include "sim/engine/random.h"
#include "tests/fixture_simulation.h"
#include "tests/suite.h"
#include "workloads/training/training_plan.h"

/* ---- Scores, by enumeration ------------------------------------------------------------------ */

enum { NODES = 300, SHAPES = 12 };

static uint32_t draw(struct random_stream *random, uint32_t count)
{
    return (uint32_t)(random_uniform(random) * count);
}

/* Thousandths of vCPUs and of GPUs, as FGD's authors count. */
struct pod {
    int64_t cpu, gpus, milli;
    double part;
    uint64_t types; /* of GPU that it accepts, of two */
};

struct machine {
    int64_t cpu, gpus, milli[8];
    uint32_t type;
};

static bool pod_fits(const struct machine *machine, const struct pod *pod)
{
    int64_t usable = 0;
    for (int64_t g = 0; g < machine->gpus; g++)
        usable += machine->milli[g] >= pod->milli && (pod->types >> machine->type & 1) != 0;
    return machine->cpu >= pod->cpu && usable >= pod->gpus;
}

static double machine_f(const struct machine *machine, const struct pod *pods)
{
    double sum = 0;
    for (int m = 0; m < SHAPES; m++)
        for (int64_t g = 0; g < machine->gpus; g++)
            if (pods[m].gpus == 0 || !pod_fits(machine, &pods[m]) ||
                machine->milli[g] < pods[m].milli)
                sum += pods[m].part * (double)machine->milli[g];
    return sum;
}

static struct pod draw_pod(struct random_stream *random)
{
    static const int64_t gangs[] = {0, 1, 1, 1, 1, 2, 4, 8};
    struct pod pod = {.cpu = 100 + 10 * draw(random, 1500),
                      .gpus = gangs[draw(random, 8)],
                      .types = 1 + draw(random, 3)};
    pod.milli = pod.gpus == 0                          ? 0
                : pod.gpus == 1 && draw(random, 3) > 0 ? 10 * (1 + draw(random, 99))
                                                       : 1000;
    return pod;
}

static struct fragment_shape shape_of(const struct pod *pod)
{
    const double parts = pod->gpus > 0 ? (double)pod->gpus : 1;
    return (struct fragment_shape){.gpus = (uint32_t)pod->gpus,
                                   .share = pod->gpus > 0 ? (double)pod->milli / 1000 : 1,
                                   .gpu_types = pod->types,
                                   .vcpus = (double)pod->cpu / 1000 / parts,
                                   .frequency = pod->part,
                                   .exact = true};
}

static int by_gradient(double before, double after)
{
    return (int)floor(100 / (1 + exp((after - before) / 1000)));
}

/* The best score and the GPU of a share; -1: the pod does not fit. A score at which the last digits
 * of a double decide may be either. */
static int best_of(const struct machine *machine, const struct pod *pod, const struct pod *pods,
                   int64_t *gpu)
{
    int best = -1;
    if (!pod_fits(machine, pod))
        return -1;
    for (int64_t g = 0; g < machine->gpus || g == 0; g++) {
        struct machine after = *machine;
        int64_t missing = pod->gpus;
        after.cpu -= pod->cpu;
        if (pod->gpus == 1 && pod->milli < 1000) {
            if (after.milli[g] < pod->milli)
                continue;
            after.milli[g] -= pod->milli;
        } else {
            for (int64_t k = 0; k < machine->gpus && missing > 0; k++)
                if (after.milli[k] >= pod->milli) {
                    after.milli[k] -= pod->milli;
                    missing--;
                }
        }
        const int score = by_gradient(machine_f(machine, pods), machine_f(&after, pods) - 1e-6);
        if (score > best) {
            best = score;
            *gpu = g;
        }
    }
    return best;
}

static void node_fill(struct fgd_node *node, struct fgd_gpu *gpus, const struct machine *machine)
{
    *node = (struct fgd_node){.gpus = gpus,
                              .gpu_count = (uint32_t)machine->gpus,
                              .micro_vcpus = 1000 * machine->cpu,
                              .shares = {.vcpus_per_gpu = INFINITY, .memory_gb_per_gpu = INFINITY}};
    for (int64_t g = 0; g < machine->gpus; g++)
        gpus[g] = (struct fgd_gpu){
            .left = (uint32_t)(10 * machine->milli[g]), .whole = 10000, .type = machine->type};
}

CASE(f_and_the_gpu_of_the_best_score_equal_an_enumeration)
{
    unsigned shares = 0, gangs = 0, unlike = 0;
    RANDOM_STREAM(random, 7, RANDOM_TEST, 0, 0);
    for (int n = 0; n < NODES; n++) {
        struct pod pods[SHAPES];
        struct fragment_shape typical[SHAPES];
        struct machine machine = {.cpu = 10 * draw(&random, 9600),
                                  .gpus = 1 << draw(&random, 4),
                                  .type = draw(&random, 2)};
        struct fgd_gpu gpus[8];
        struct fgd_node node;
        for (int m = 0; m < SHAPES; m++) {
            pods[m] = draw_pod(&random);
            pods[m].part = 1.0 / SHAPES;
            typical[m] = shape_of(&pods[m]);
        }
        for (int64_t g = 0; g < machine.gpus; g++)
            machine.milli[g] = draw(&random, 3) == 0 ? 1000 : 10 * draw(&random, 101);
        node_fill(&node, gpus, &machine);
        const struct fgd self = {.typical = typical, .typical_count = SHAPES};
        node.fragmented = fgd_fragmented(&self, &node);
        assert_true(fabs(1000 * node.fragmented - machine_f(&machine, pods)) < 1e-6);
        for (int k = 0; k < 10; k++) {
            const struct pod pod = draw_pod(&random);
            const struct fragment_shape shape = shape_of(&pod);
            int64_t expected = 0;
            uint16_t gpu = 0;
            const int best = best_of(&machine, &pod, pods, &expected);
            if (best < 0)
                continue;
            const int score = fgd_scores[0](&self, &node, &shape, &gpu);
            assert_true(score == best || score + 1 == best);
            unlike += score != best;
            if (score == best && fgd_is_share(&shape))
                assert_int_equal(gpu, expected);
            shares += fgd_is_share(&shape);
            gangs += shape.gpus > 1;
        }
    }
    assert_true(shares > 200 && gangs > 20 && unlike < (shares + gangs) / 10);
}

/* ---- Baselines, by hand ---------------------------------------------------------------------- */

/* A node of four GPUs with 1000, 700, 300, 1000 left and 40 of 128 vCPUs; the largest has 8. */
CASE(baselines_have_the_scores_of_their_formulas)
{
    static const struct machine machine = {
        .cpu = 40000, .gpus = 4, .milli = {1000, 700, 300, 1000}};
    static const struct pod share = {.cpu = 8000, .gpus = 1, .milli = 300, .types = 1};
    static const struct pod two = {.cpu = 8000, .gpus = 2, .milli = 1000, .types = 1};
    static const struct pod none = {.cpu = 8000};
    uint32_t pods[FGD_CLASSES] = {[0] = 2};
    struct fgd_gpu gpus[8];
    struct fgd_node node;
    node_fill(&node, gpus, &machine);
    node.pods = pods;
    node.classes = 1;
    const struct fgd self = {.most_vcpus = 128, .most_gpus = 8};
    /* Name; scores of the share, of two GPUs, of vCPUs alone. dot product: 100 (1 - (40·8/128² +
     * 3·0.3/8²) / 2); best fit: 100 (1 - 32/128/2 - 2.7/8/2); clustering: 75, and a quarter of
     * 5/8 · 100; packing: the GPU of which 30 % are left, two idle ones. */
    static const struct {
        size_t which;
        int share, two, none;
    } cases[] = {{2, 98, 94, 99}, {3, 90, 15, 0}, {4, 97, 48, 0}, {5, 70, 81, 68}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const struct fragment_shape shapes[] = {shape_of(&share), shape_of(&two), shape_of(&none)};
        const int expected[] = {cases[c].share, cases[c].two, cases[c].none};
        for (int k = 0; k < 3; k++) {
            uint16_t gpu = 9;
            assert_int_equal(fgd_scores[cases[c].which](&self, &node, &shapes[k], &gpu),
                             expected[k]);
            if (k == 0)
                assert_int_equal(gpu, 2);
        }
    }
}

/* ---- Runs ------------------------------------------------------------------------------------ */

#define OPENB(more, load, name)                                                                    \
    "{'seed': 3, 'cluster': " more ", 'training': {'arrivals': {'process': 'trace', 'file': "      \
    "'traces/trainings/openb_default.csv.gz', 'load': " load "}}, 'policy': {'name': 'fgd', "      \
    "'params': {'score': '" name "'}}}"
#define ALL "'workloads/clusters/openb-1213.json'"

static double allocated(const char *json)
{
    assert_good(run_recorded(json, NULL, NULL, 0, NULL, anew(), hear()));
    return 100 * result.training->gpu_allocated;
}

/* The authors' means of ten seeds at 130 % (experiments/analysis/expected_results of their
 * repository at 29a1e4c), within the spread of one seed and what an independent reading differs. */
CASE(allocation_at_130_per_cent_is_as_the_authors_have_it)
{
    const double fgd = allocated(OPENB(ALL, "1.3", "fgd"));
    const double best_fit = allocated(OPENB(ALL, "1.3", "best-fit"));
    assert_true(fabs(fgd - 95.39) < 0.8);
    assert_true(fabs(best_fit - 93.08) < 0.8 && fgd > best_fit + 1.5);
    assert_true(fabs(allocated(OPENB(ALL, "1.3", "random")) - 87.47) < 1.4);
}

/* Instances that end give back what they held: otherwise more GPUs than Dilu's 78 would be in use,
 * or the platform would refuse a place. */
CASE(places_are_free_after_an_end)
{
    assert_good(
        run_recorded("{'cluster': 'workloads/clusters/a100-1000x4.json', 'training': "
                     "{'arrivals': {'process': 'trace', 'file': "
                     "'traces/trainings/instances_100.txt.gz'}}, 'policy': {'name': 'fgd'}}",
                     NULL, NULL, 0, NULL, anew(), hear()));
    assert_in_range(result.training->gpus_active_max, 60, 78);
    assert_int_equal(result.training->finished, 70);
}

CASE(pods_make_the_load)
{
    for (unsigned k = 0; k < 2; k++) { /* more than the trace asks for, and less */
        EXPERIMENT *experiment = load(k == 0 ? OPENB(ALL, "1.3", "fgd") : OPENB(ALL, "0.5", "fgd"));
        const struct training_plan *plan = experiment->training;
        double sum = 0;
        unsigned bare = 0;
        for (size_t t = 0; t < plan->count; t++) {
            sum += plan->trainings[t].gpus * plan->trainings[t].request;
            bare += plan->trainings[t].gpus == 0;
            assert_true(fabs(sim_to_s(plan->trainings[t].arrival) - 100 * sum / 6212) < 1e-6);
        }
        /* Up to one GPU's share is missing; the last that goes has at most eight GPUs. */
        assert_true(k == 0 ? sum <= 1.3 * 6212 + 7 && sum > 1.3 * 6212 - 1
                           : sum <= 0.5 * 6212 && sum > 0.5 * 6212 - 8);
        assert_true(bare > plan->count / 10 && bare < plan->count / 6);
        assert_int_equal(plan->pod_count, 8152);
        assert_true(plan->measured_first > 0 && plan->measured_first < plan->count);
    }
}

static uint32_t taken[4]; /* the first invoker of each pod */

static bool note_lease(void *context, const struct lease_row *row, struct error *error)
{
    taken[row->training] = row->first_invoker;
    return true;
}

/* Nodes of equal score take a pod in an order that the seed draws. A pod gets a model that its list
 * names, of a list without times. */
CASE(ties_are_drawn_and_models_of_gpu_are_respected)
{
    char json[1024];
    const struct recorder recorder = {.lease = note_lease};
    uint32_t least = UINT32_MAX, most = 0;
    TEMPORARY(path, "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\na,1000,1,0,0,\n"
                    "b,1000,1,1,400,G3\nc,1000,1,2,1000,A10|X|P100\nd,1000,1,1,1000,V100M16\n");
    for (unsigned seed = 1; seed <= 8; seed++) {
        EXPERIMENT *experiment = NULL;
        (void)snprintf(json, sizeof json,
                       "{'seed': %u, 'cluster': " ALL ", 'training': {'arrivals': {'process': "
                       "'trace', 'file': '%s'}}, 'policy': {'name': 'fgd', 'params': {'score': "
                       "'packing'}}}",
                       seed, path);
        assert_good(run_recorded(json, NULL, NULL, 0, &recorder, anew(), hear()));
        experiment = load(json);
        const struct workload *workload = &experiment->workload;
        assert_string_equal(kinds_group_of(workload, taken[1])->gpus[0].model, "G3");
        assert_string_equal(kinds_group_of(workload, taken[2])->gpus[0].model, "P100");
        assert_string_equal(kinds_group_of(workload, taken[3])->gpus[0].model, "V100M16");
        least = taken[0] < least ? taken[0] : least;
        most = taken[0] > most ? taken[0] : most;
    }
    assert_true(most > least + 300);
}

CASE(what_fgd_cannot_place_is_refused)
{
    static const struct refusal cases[] = {
        {"{'cluster': 'workloads/clusters/v100-8x8.json', 'training': {'models': "
         "'workloads/models/muri-v100.json', 'arrivals': {'process': 'trace', 'file': "
         "'traces/trainings/muri_trace3.csv.gz'}}, 'policy': {'name': 'fgd'}}",
         "its gangs are on one invoker each"},
        {"{'cluster': 'workloads/clusters/a100-mig-16.json', 'training': {'arrivals': {'process': "
         "'trace', 'file': 'traces/trainings/instances_100.txt.gz'}}, 'policy': {'name': 'fgd'}}",
         "\"sharing\": \"mps\""},
        {"{'cluster': 'workloads/clusters/v100-8x8.json', 'training': {'arrivals': {'process': "
         "'trace', 'file': 'traces/trainings/openb_default.csv.gz', 'load': 0.1}}, 'policy': "
         "{'name': 'sjf'}}",
         "without a GPU"}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
        assert_bad_input(run_recorded(cases[c].text, NULL, NULL, 0, NULL, anew(), hear()),
                         cases[c].words);
}

SUITE("fgd")
