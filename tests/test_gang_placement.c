/* Placement of gangs beside others, and alone: 250 random states on which the authors' prototype of
 * SJF-BSBF decided, and properties on random clusters. */
#include "sched/sharing/gang_placement.h"
#include "sim/engine/random.h"
#include "tests/fixture_simulation.h"
#include "tests/suite.h"
#include "traces/readers/line_reader.h"

enum { RESIDENTS = 64, GPUS = 64, NODES = 8, TRAININGS = 8 };

/* ---- The prototype's decisions --------------------------------------------------------------- */

struct decision {
    struct gang_work incoming[RESIDENTS], resident[RESIDENTS];
};

static double number(char **text)
{
    char *end = NULL;
    const double value = strtod(*text, &end);
    assert_true(end != *text);
    *text = end;
    return value;
}

static bool check_resident(void *context, uint32_t resident, double *time_s)
{
    const struct decision *decision = context;
    double sequential = 0;
    *time_s =
        gang_share_check(&decision->incoming[resident], &decision->resident[resident], &sequential);
    return *time_s < sequential;
}

/* Line by line: function (0 bsbf, 1 ffs, + 2 consolidated), nodes, GPUs per node, residents; each
 * resident's number, gang, remaining iterations, iteration time, ξ of the new training beside it,
 * its ξ, the outcome of the share check (-1: not made), t_con; the new training's gang, memory,
 * remaining iterations, iteration time; each GPU's free memory, number of residents, residents;
 * number of GPUs chosen, and each as node and GPU. */
static bool decide(char *text, unsigned *checks)
{
    struct decision decision;
    CLOSED(arena_clear) struct arena arena = {0};
    struct gang_cluster cluster;
    int outcome[RESIDENTS];
    double time_s[RESIDENTS];
    const unsigned function = (unsigned)number(&text);
    const size_t nodes = (size_t)number(&text);
    const uint32_t per_node = (uint32_t)number(&text);
    const size_t residents = (size_t)number(&text);
    assert_true(residents <= RESIDENTS && nodes <= NODES);
    for (size_t r = 0; r < residents; r++) {
        assert_int_equal((size_t)number(&text), r);
        (void)number(&text);
        decision.resident[r].remaining_iterations = number(&text);
        decision.resident[r].iteration_s = number(&text);
        decision.incoming[r].slowdown = number(&text);
        decision.resident[r].slowdown = number(&text);
        outcome[r] = (int)number(&text);
        time_s[r] = number(&text);
    }
    struct gang_request request = {.share = true,
                                   .gpu_types = UINT64_MAX,
                                   .consolidate = function >= 2,
                                   .check = function % 2 == 0 ? check_resident : NULL,
                                   .context = &decision};
    request.gpus = (uint32_t)number(&text);
    request.memory_mb = number(&text);
    const double remaining = number(&text);
    const double iteration_s = number(&text);
    for (size_t r = 0; r < residents; r++) {
        decision.incoming[r].remaining_iterations = remaining;
        decision.incoming[r].iteration_s = iteration_s;
        if (outcome[r] < 0)
            continue;
        double ours = 0;
        assert_int_equal(check_resident(&decision, (uint32_t)r, &ours), outcome[r]);
        if (!(fabs(ours - time_s[r]) <= 1e-12 * fabs(time_s[r])))
            fail_msg("t_con %.17g, not %.17g", ours, time_s[r]);
        (*checks)++;
    }
    const uint32_t gpus[NODES] = {per_node, per_node, per_node, per_node};
    gang_cluster_open(&cluster, &arena, gpus, nodes, 0);
    for (size_t n = 0; n < nodes; n++) {
        bool here[RESIDENTS] = {false};
        for (uint32_t g = 0; g < per_node; g++) {
            struct gang_gpu *gpu = &cluster.gpus[n * per_node + g];
            gpu->free_mb = number(&text);
            gpu->count = (uint32_t)number(&text);
            cluster.nodes[n].empty -= gpu->count > 0 ? 1 : 0;
            for (uint32_t r = 0; r < gpu->count; r++) {
                gpu->residents[r] = (uint32_t)number(&text);
                cluster.nodes[n].residents += here[gpu->residents[r]] ? 0 : 1;
                here[gpu->residents[r]] = true;
            }
        }
    }
    uint32_t chosen[GPUS];
    const size_t expected = (size_t)number(&text);
    const bool placed = gang_place_shared(&cluster, &request, chosen);
    assert_int_equal(placed, expected > 0);
    for (size_t i = 0; i < expected; i++) {
        const uint32_t node = (uint32_t)number(&text);
        assert_int_equal(chosen[i], node * per_node + (uint32_t)number(&text));
    }
    return placed;
}

CASE(the_prototypes_decisions_are_reproduced)
{
    CLOSED(line_reader_close) struct line_reader lines = {0};
    char *line = NULL;
    unsigned cases = 0;
    unsigned placed = 0;
    unsigned checks = 0;
    assert_true(line_reader_open(&lines, "tests/data/training/sjf_bsbf_decisions.txt.gz", hear()));
    while (line_reader_next(&lines, &line, hear()) == LINE_READ) {
        placed += decide(line, &checks) ? 1 : 0;
        cases++;
    }
    assert_int_equal(cases, 250);
    assert_int_equal(placed, 201);
    assert_true(checks > 500);
}

/* ---- Properties ------------------------------------------------------------------------------ */

/* Mean completion times of the paper's closed form: both start now, share until the first ends, and
 * the other goes on alone; or the resident first, then the incoming one. */
CASE(the_share_check_compares_mean_completion_times)
{
    RANDOM_STREAM(random, 3, RANDOM_TEST, 0, 0);
    for (int i = 0; i < 1000; i++) {
        const struct gang_work a = {floor(1 + 1e5 * random_uniform(&random)),
                                    0.01 + random_uniform(&random),
                                    1 + 2 * random_uniform(&random)};
        const struct gang_work b = {floor(1 + 1e5 * random_uniform(&random)),
                                    0.01 + random_uniform(&random),
                                    1 + 2 * random_uniform(&random)};
        const double alone_a = a.remaining_iterations * a.iteration_s;
        const double alone_b = b.remaining_iterations * b.iteration_s;
        const double first = fmin(alone_a * a.slowdown, alone_b * b.slowdown);
        const double end_a = first + fmax(0, alone_a - first / a.slowdown);
        const double end_b = first + fmax(0, alone_b - first / b.slowdown);
        double sequential = 0;
        const double beside = gang_share_check(&a, &b, &sequential);
        assert_true(fabs(beside - (end_a + end_b) / 2) <= 1e-9 * beside);
        assert_true(fabs(sequential - (alone_b + alone_b + alone_a) / 2) <= 1e-9 * sequential);
    }
}

struct resident {
    uint32_t gpus[GPUS], count;
    double memory_mb;
};

static void check_cluster(const struct gang_cluster *cluster, const struct resident *residents,
                          uint32_t count)
{
    for (size_t n = 0; n < cluster->node_count; n++) {
        const struct gang_node *node = &cluster->nodes[n];
        uint32_t empty = 0;
        uint32_t distinct = 0;
        for (uint32_t r = 0; r < count; r++) {
            bool here = false;
            for (uint32_t i = 0; i < residents[r].count; i++)
                here = here || cluster->gpus[residents[r].gpus[i]].node == n;
            distinct += here ? 1 : 0;
        }
        for (uint32_t g = node->first; g < node->first + node->gpus; g++) {
            empty += cluster->gpus[g].count == 0 ? 1 : 0;
            assert_true(cluster->gpus[g].free_mb >= 0);
            assert_true(cluster->gpus[g].count <= GANG_RESIDENTS);
        }
        assert_int_equal(node->empty, empty);
        assert_int_equal(node->residents, distinct);
    }
}

/* Random arrivals and departures keep the counts; a gang alone shares nothing, and fits if and only
 * if some choice of nodes has room. */
CASE(arrivals_and_departures_keep_the_counts)
{
    static const uint32_t gpus[] = {4, 8, 8, 2, 8};
    struct gang_cluster cluster;
    struct resident residents[TRAININGS] = {0};
    RANDOM_STREAM(random, 4, RANDOM_TEST, 0, 0);
    gang_cluster_open(&cluster, suite_arena(), gpus, 5, 16000);
    unsigned placed = 0;
    unsigned crossing = 0;
    for (int step = 0; step < 4000; step++) {
        const uint32_t id = (uint32_t)(random_uniform(&random) * TRAININGS);
        struct resident *resident = &residents[id];
        if (resident->count > 0) {
            gang_release(&cluster, id, resident->memory_mb, resident->gpus, resident->count);
            resident->count = 0;
            continue;
        }
        const bool alone = random_uniform(&random) < 0.5;
        const struct gang_request request = {.gpu_types = UINT64_MAX,
                                             .gpus = 1u << (unsigned)(random_uniform(&random) * 5),
                                             .memory_mb = 2000 + 8000 * random_uniform(&random),
                                             .share = true,
                                             .consolidate = step % 2 == 0};
        if (alone ? gang_place_alone(&cluster, &request, resident->gpus)
                  : gang_place_shared(&cluster, &request, resident->gpus)) {
            resident->count = request.gpus;
            resident->memory_mb = request.memory_mb;
            for (uint32_t i = 0; i < request.gpus; i++) {
                assert_true(i == 0 || resident->gpus[i] > resident->gpus[i - 1]);
                assert_true(!alone || cluster.gpus[resident->gpus[i]].count == 0);
            }
            gang_take(&cluster, id, request.memory_mb, resident->gpus, request.gpus);
            placed++;
            crossing += request.gpus == 16 && alone ? 1 : 0;
        } else if (alone && request.gpus <= 8) {
            for (size_t n = 0; n < 5; n++)
                assert_true(cluster.nodes[n].empty < request.gpus);
        }
        check_cluster(&cluster, residents, TRAININGS);
    }
    assert_true(placed > 1000 && crossing > 0);
}

SUITE("gang_placement")
