/* Random DAGs and a small generator for tests (splitmix64: Steele, Lea, Flood, OOPSLA'14), all
 * inline so that a suite stays one file. */
#ifndef ESGSIM_TESTS_RANDOM_DAG_H
#define ESGSIM_TESTS_RANDOM_DAG_H

#include "tests/suite.h"
#include "workloads/world/workload.h"

enum { TEST_DAG_MOST = 40 };

static inline uint64_t test_next(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline size_t test_below(uint64_t *state, size_t bound)
{
    return (size_t)(test_next(state) % bound);
}

static inline double test_uniform(uint64_t *state)
{
    return (double)(test_next(state) >> 11) * 0x1p-53;
}

/* One invoker of 4 vCPUs and a GPU of 4 units. */
struct test_cluster {
    struct gpu_kind kind;
    struct function_gpu on;
    struct gpu_spec gpu;
    struct invoker_group group;
    struct workload workload;
};

/* With one application, of so many functions at most; what the functions do there is kept. */
static inline void test_cluster_of(struct test_cluster *of, struct application *application,
                                   struct function *functions, size_t count)
{
    of->kind = (struct gpu_kind){.units = 4, .speed = 1};
    of->gpu = (struct gpu_spec){.sharing = SHARING_MPS, .units = 4, .memory_mb = 1};
    of->group = (struct invoker_group){.count = 1, .vcpus = 4, .gpus = &of->gpu, .gpu_count = 1};
    of->workload = (struct workload){.functions = functions, .function_count = count};
    of->workload.applications = application;
    of->workload.application_count = 1;
    of->workload.queue_count = (uint32_t)application->stage_count;
    of->workload.max_stages = count;
    of->workload.kinds = &of->kind;
    of->workload.kind_count = 1;
    of->workload.cluster.groups = &of->group;
    of->workload.cluster.group_count = 1;
    of->workload.cluster.invoker_count = 1;
}

/* An application whose lists point into the structure: do not copy it. */
struct test_dag {
    struct application application;
    struct stage stages[TEST_DAG_MOST];
    uint32_t after[TEST_DAG_MOST][TEST_DAG_MOST];
    uint32_t next[TEST_DAG_MOST][TEST_DAG_MOST];
};

static inline void test_dag_begin(struct test_dag *dag, size_t stages)
{
    static char application_name[] = "application", stage_name[] = "stage";
    memset(&dag->application, 0, sizeof dag->application);
    memset(dag->stages, 0, sizeof dag->stages);
    dag->application.name = application_name;
    dag->application.stages = dag->stages;
    dag->application.stage_count = stages;
    for (size_t s = 0; s < stages; s++) {
        dag->stages[s].name = stage_name;
        dag->stages[s].function = (uint32_t)s;
        dag->stages[s].after = dag->after[s];
        dag->stages[s].next = dag->next[s];
    }
}

/* tail < head; an edge that is there already is left alone. */
static inline void test_dag_edge(struct test_dag *dag, size_t tail, size_t head)
{
    struct stage *t = &dag->stages[tail];
    struct stage *h = &dag->stages[head];
    for (size_t i = 0; i < t->next_count; i++)
        if (t->next[i] == head)
            return;
    t->next[t->next_count++] = (uint32_t)head;
    h->after[h->after_count++] = (uint32_t)tail;
}

static inline void test_dag_edges(struct test_dag *dag, size_t stages, const uint32_t (*edges)[2],
                                  size_t edge_count)
{
    test_dag_begin(dag, stages);
    for (size_t e = 0; e < edge_count; e++)
        test_dag_edge(dag, edges[e][0], edges[e][1]);
}

static inline void test_dag_chain(struct test_dag *dag, size_t stages)
{
    test_dag_begin(dag, stages);
    for (size_t s = 1; s < stages; s++)
        test_dag_edge(dag, s - 1, s);
}

/* A fork, `branches` of one stage each, a join. */
static inline void test_dag_diamond(struct test_dag *dag, size_t branches)
{
    test_dag_begin(dag, branches + 2);
    for (size_t b = 1; b <= branches; b++) {
        test_dag_edge(dag, 0, b);
        test_dag_edge(dag, b, branches + 1);
    }
}

/* Any edges: several sources, several sinks, series-parallel by chance only. */
static inline void test_dag_random(struct test_dag *dag, uint64_t *state, size_t stages)
{
    test_dag_begin(dag, stages);
    double density = 0.1 + 0.6 * test_uniform(state);
    for (size_t t = 0; t < stages; t++)
        for (size_t h = t + 1; h < stages; h++)
            if (test_uniform(state) < density)
                test_dag_edge(dag, t, h);
}

/* One block of a random series-parallel graph of up to `budget` stages: a short chain, or two
 * blocks between a fork and a join stage. Stages are numbered as they are made, a topological
 * order; `*count` is the next number. */
static inline void test_dag_block(struct test_dag *dag, uint64_t *state, size_t budget,
                                  size_t *count, size_t *first, size_t *last)
{
    if (budget < 4 || test_below(state, 3) == 0) {
        size_t length = 1 + test_below(state, budget < 3 ? budget : 3);
        *first = *count;
        for (size_t i = 0; i < length; i++) {
            if (i > 0)
                test_dag_edge(dag, *count - 1, *count);
            ++*count;
        }
        *last = *count - 1;
        return;
    }
    size_t fork = (*count)++;
    size_t ends[2], inside = budget - 2;
    for (size_t b = 0; b < 2; b++) {
        size_t share = b == 0 ? 1 + test_below(state, inside - 1) : inside;
        size_t before = *count, begin;
        test_dag_block(dag, state, share, count, &begin, &ends[b]);
        inside -= *count - before;
        test_dag_edge(dag, fork, begin);
    }
    size_t join = (*count)++;
    test_dag_edge(dag, ends[0], join);
    test_dag_edge(dag, ends[1], join);
    *first = fork;
    *last = join;
}

static inline void test_dag_series_parallel(struct test_dag *dag, uint64_t *state, size_t most)
{
    size_t count = 0, first, last;
    test_dag_begin(dag, TEST_DAG_MOST);
    test_dag_block(dag, state, most, &count, &first, &last);
    dag->application.stage_count = count;
}

#endif
