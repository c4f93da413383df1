#include "sched/esg/bench.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gsl/gsl_rng.h>

#include "sched/esg/frontier.h"
#include "sched/esg/search.h"

enum { MOST_STAGES = 10, GRID = 256, GROUP = 3, BENCH_K = 5 };

static const size_t size_stages[DECISION_SIZES] = {3, 5, 10};
const char *const decision_size_names[DECISION_SIZES] = {"3x256", "5x256", "10x256"};

/* Dollars a nanosecond, from the paper's prices an hour (recalled). */
static const double VCPU_PRICE = 0.034 / 3600e9;
static const double VGPU_PRICE = 0.67 / 3600e9;

struct bench_chain {
    struct search_table *tables[MOST_STAGES];
    const struct search_table *stages_tables[MOST_STAGES];
    struct stage stages[MOST_STAGES];
    uint32_t links[MOST_STAGES + 1];
    char names[MOST_STAGES][4];
    struct application application;
};

static struct search_table *bench_surface(gsl_rng *rng)
{
    static const uint16_t batches[] = {1, 2, 4, 8, 12, 16, 24, 32};
    static const uint16_t shares[] = {1, 2, 4, 7};
    struct configuration grid[GRID];
    double base_ms = 80 + 920 * gsl_rng_uniform(rng);
    double batch_power = 0.6 + 0.35 * gsl_rng_uniform(rng);
    double batch_fixed = 0.3 + 0.4 * gsl_rng_uniform(rng);
    double serial_cpu = 0.6 + 0.3 * gsl_rng_uniform(rng);
    double serial_gpu = 0.1 + 0.3 * gsl_rng_uniform(rng);
    size_t count = 0;
    memset(grid, 0, sizeof grid);
    for (size_t b = 0; b < 8; b++)
        for (uint16_t c = 1; c <= 8; c++)
            for (size_t g = 0; g < 4; g++) {
                struct configuration *one = &grid[count++];
                double items = batch_fixed + (1 - batch_fixed) * pow(batches[b], batch_power);
                double cpu = serial_cpu + (1 - serial_cpu) / c;
                double gpu = serial_gpu + (1 - serial_gpu) / shares[g];
                one->batch = batches[b];
                one->vcpu = c;
                one->vgpu = shares[g];
                one->time = sim_from_ms(base_ms * items * cpu * gpu);
                one->cost_usd = (double)one->time * (c * VCPU_PRICE + shares[g] * VGPU_PRICE);
                one->cost_per_job_usd = one->cost_usd / batches[b];
            }
    return search_table_create(grid, count);
}

static bool bench_chain_make(struct bench_chain *chain, size_t stages, gsl_rng *rng)
{
    memset(chain, 0, sizeof *chain);
    chain->application.name = chain->names[0];
    chain->application.stages = chain->stages;
    chain->application.stage_count = stages;
    for (size_t s = 0; s < stages; s++) {
        struct stage *stage = &chain->stages[s];
        chain->links[s] = (uint32_t)s;
        chain->names[s][0] = (char)('a' + s);
        stage->name = chain->names[s];
        stage->after_count = s > 0;
        stage->after = s > 0 ? &chain->links[s - 1] : NULL;
        stage->next_count = s + 1 < stages;
        stage->next = &chain->links[s + 1];
        chain->tables[s] = bench_surface(rng);
        if (chain->tables[s] == NULL)
            return false;
        chain->stages_tables[s] = chain->tables[s];
    }
    return true;
}

static void bench_chain_clear(struct bench_chain *chain)
{
    for (size_t s = 0; s < MOST_STAGES; s++)
        search_table_destroy(chain->tables[s]);
}

static double now_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

enum bench_method { BENCH_FRONTIER, BENCH_ASTAR, BENCH_GROUPS, BENCH_EXHAUSTIVE };

/* Decisions measured for each method and size; 0: not in reasonable time. */
static const size_t decision_counts[DECISION_METHODS][DECISION_SIZES] = {
    [BENCH_FRONTIER] = {4000, 4000, 4000},
    [BENCH_ASTAR] = {400, 0, 0},
    [BENCH_GROUPS] = {400, 400, 400},
    [BENCH_EXHAUSTIVE] = {3, 0, 0},
};

static const char *const method_names[DECISION_METHODS] = {
    [BENCH_FRONTIER] = "frontier",
    [BENCH_ASTAR] = "astar",
    [BENCH_GROUPS] = "astar-groups",
    [BENCH_EXHAUSTIVE] = "exhaustive",
};

struct bench {
    const struct bench_chain *chain;
    const struct frontier_set *set;
    struct search_workspace *workspace;
    struct search_result result;
};

/* One decision for the first stage. A group gets the share of the budget that its stages' fastest
 * times have of the chain's. */
static bool bench_decide(struct bench *bench, enum bench_method method, sim_time_t budget,
                         uint32_t queue_length)
{
    const struct bench_chain *chain = bench->chain;
    size_t stages = chain->application.stage_count;
    if (method == BENCH_FRONTIER)
        return frontier_search(bench->set, 0, budget, queue_length, BENCH_K, &bench->result);
    struct search_problem problem = {.stages = chain->stages_tables,
                                     .stage_count = stages,
                                     .budget = budget,
                                     .queue_length = queue_length,
                                     .k = BENCH_K,
                                     .time_blade = true,
                                     .cost_blade = true};
    if (method == BENCH_EXHAUSTIVE)
        return search_exhaustive(&problem, bench->workspace, &bench->result);
    if (method == BENCH_GROUPS && stages > GROUP) {
        double part = 0, whole = 0;
        for (size_t s = 0; s < stages; s++) {
            whole += (double)chain->tables[s]->fastest;
            part += s < GROUP ? (double)chain->tables[s]->fastest : 0;
        }
        problem.stage_count = GROUP;
        problem.budget = (sim_time_t)((double)budget * part / whole);
    }
    return search_astar(&problem, bench->workspace, &bench->result);
}

static bool bench_measure(struct bench *bench, enum bench_method method, size_t size,
                          struct decision_bench_row *row, gsl_rng *rng)
{
    const struct bench_chain *chain = bench->chain;
    size_t count = decision_counts[method][size];
    double fastest = 0, slowest = 0, total = 0, worst = 0, expansions = 0;
    row->method = method_names[method];
    row->decisions[size] = count;
    row->mean_us[size] = row->max_us[size] = row->expansions[size] = NAN;
    for (size_t s = 0; s < chain->application.stage_count; s++) {
        fastest += (double)chain->tables[s]->fastest;
        slowest += (double)chain->tables[s]->time[GRID - 1];
    }
    for (size_t i = 0; i < count; i++) {
        double budget = fastest * pow(slowest / fastest, gsl_rng_uniform(rng));
        uint32_t queue_length = 1 + (uint32_t)gsl_rng_uniform_int(rng, 32);
        double start = now_us();
        if (!bench_decide(bench, method, (sim_time_t)budget, queue_length))
            return false;
        double taken = now_us() - start;
        total += taken;
        expansions += (double)bench->result.expansions;
        worst = taken > worst ? taken : worst;
    }
    if (count > 0) {
        row->mean_us[size] = total / (double)count;
        row->max_us[size] = worst;
        row->expansions[size] = expansions / (double)count;
    }
    return true;
}

static bool bench_size(struct decision_bench *result, struct bench *bench, size_t size,
                       gsl_rng *rng)
{
    struct bench_chain chain;
    bool done = bench_chain_make(&chain, size_stages[size], rng);
    struct frontier_set *set = NULL;
    if (done) {
        double start = now_us();
        set = frontier_build(&chain.application, chain.stages_tables, 0, NULL);
        result->frontier_build_ms[size] = (now_us() - start) / 1e3;
        done = set != NULL;
    }
    if (done) {
        result->frontier_points[size] = frontier_after(set, 0)->count;
        bench->chain = &chain;
        bench->set = set;
    }
    for (int m = 0; done && m < DECISION_METHODS; m++)
        done = bench_measure(bench, (enum bench_method)m, size, &result->rows[m], rng);
    bench->chain = NULL;
    bench->set = NULL;
    frontier_destroy(set);
    bench_chain_clear(&chain);
    return done;
}

bool decision_bench_run(struct decision_bench *bench, struct error *error)
{
    struct bench *state = calloc(1, sizeof *state);
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    memset(bench, 0, sizeof *bench);
    bool done = state != NULL && rng != NULL;
    if (done) {
        gsl_rng_set(rng, 1);
        state->workspace = search_workspace_create();
        done = state->workspace != NULL;
    }
    for (size_t size = 0; done && size < DECISION_SIZES; size++)
        done = bench_size(bench, state, size, rng);
    if (state != NULL)
        search_workspace_destroy(state->workspace);
    free(state);
    if (rng != NULL)
        gsl_rng_free(rng);
    return done || error_run(error, "decision benchmark: out of memory");
}
