/* The searches against brute force on random instances, and the frontier against an enumeration of
 * DAGs written for this test alone. */
#include "sched/esg/frontier_plans.h"
#include "sched/paths/search.h"
#include "tests/random_dag.h"
#include "tests/suite.h"

/* Of all that the cases build. */
static struct arena arena;

enum { MOST_CONFIGURATIONS = 40 };

static const struct search_table *const *as_const(struct search_table **tables)
{
    return (const struct search_table *const *)tables;
}

/* Random configurations; `coarse` ones take few distinct times and costs, so that ties abound. */
static struct search_table *random_table(uint64_t *state, size_t count, bool coarse)
{
    struct configuration configurations[MOST_CONFIGURATIONS];
    memset(configurations, 0, sizeof configurations);
    for (size_t i = 0; i < count; i++) {
        struct configuration *c = &configurations[i];
        c->batch = (uint16_t)(1 + test_below(state, 8));
        if (coarse) {
            c->time = (sim_time_t)(1 + test_below(state, 5)) * SIM_MS;
            c->cost_per_job_usd = (double)(1 + test_below(state, 5)) * 0.1;
        } else {
            c->time = (sim_time_t)(1 + test_below(state, 1000000000));
            c->cost_per_job_usd = test_uniform(state) * 1e-4;
        }
    }
    struct search_table *table = search_table_create(&arena, configurations, count);
    return table;
}

struct instance {
    struct search_table *tables[SEARCH_MAX_STAGES];
    struct search_problem problem;
};

static void instance_make(struct instance *instance, uint64_t *state, size_t most)
{
    size_t stages = 2 + test_below(state, 3);
    bool coarse = test_below(state, 2) == 0;
    sim_time_t fastest = 0, slowest = 0;
    for (size_t s = 0; s < stages; s++) {
        size_t count = 1 + test_below(state, stages == 4 ? most / 2 : most);
        instance->tables[s] = random_table(state, count, coarse);
        fastest += instance->tables[s]->fastest;
        slowest += instance->tables[s]->time[count - 1];
    }
    double where = -0.1 + 1.2 * test_uniform(state);
    sim_time_t budget = fastest + (sim_time_t)(where * (double)(slowest - fastest));
    if (test_below(state, 20) == 0)
        budget = fastest;
    if (test_below(state, 20) == 0)
        budget = -budget;
    for (size_t s = 0; s < stages; s++)
        search_table_bound(&arena, instance->tables[s]);
    instance->problem = (struct search_problem){
        .stages = as_const(instance->tables),
        .stage_count = stages,
        .budget = budget,
        .queue_length = (uint32_t)(1 + test_below(state, 10)),
        .k = 1 + test_below(state, 20),
        .time_blade = true,
        .cost_blade = true,
    };
}

static void assert_same_result(const struct search_result *a, const struct search_result *b,
                               size_t stages)
{
    assert_int_equal(a->path_count, b->path_count);
    for (size_t i = 0; i < a->path_count; i++) {
        const struct search_path *p = &a->paths[i];
        const struct search_path *q = &b->paths[i];
        assert_true(fabs(p->cost_usd - q->cost_usd) <= 1e-12 * q->cost_usd);
        assert_int_equal(p->time, q->time);
        for (size_t s = 0; s < stages; s++)
            assert_int_equal(p->configuration[s], q->configuration[s]);
    }
}

CASE(astar_equals_exhaustive_search_with_either_blade_on_or_off)
{
    uint64_t state = 1;
    uint64_t expansions[4] = {0}, cut_time = 0, cut_cost = 0;
    size_t feasible = 0, infeasible = 0, ties = 0;
    struct search_workspace *workspace = search_workspace_create(&arena);
    static struct search_result truth, found;
    for (int n = 0; n < 2400; n++) {
        struct instance instance = {0};
        instance_make(&instance, &state, 16);
        struct search_problem *problem = &instance.problem;
        problem->bounded = n % 2 == 1;
        search_exhaustive(problem, workspace, &truth);
        for (unsigned blades = 0; blades < 4; blades++) {
            problem->time_blade = (blades & 1) != 0;
            problem->cost_blade = (blades & 2) != 0;
            search_astar(problem, workspace, &found);
            assert_same_result(&found, &truth, problem->stage_count);
            expansions[blades] += found.expansions;
            if (blades == 3) {
                cut_time += found.pruned_time;
                cut_cost += found.pruned_cost;
            }
        }
        feasible += truth.path_count > 0;
        infeasible += truth.path_count == 0;
        for (size_t i = 1; i < truth.path_count; i++)
            ties += truth.paths[i].cost_usd == truth.paths[i - 1].cost_usd;
    }
    print_message("2400 instances, %zu feasible, %zu infeasible, %zu ties among the K best\n"
                  "expansions: both blades %lu, time alone %lu, cost alone %lu, none %lu; "
                  "cut by time %lu, by cost %lu\n",
                  feasible, infeasible, ties, (unsigned long)expansions[3],
                  (unsigned long)expansions[1], (unsigned long)expansions[2],
                  (unsigned long)expansions[0], (unsigned long)cut_time, (unsigned long)cut_cost);
    assert_true(feasible > 1000 && infeasible > 100 && ties > 1000);
    assert_true(cut_time > 0 && cut_cost > 0);
    assert_true(expansions[3] < expansions[1] && expansions[3] < expansions[2]);
    assert_true(expansions[1] < expansions[0] && expansions[2] < expansions[0]);
}

CASE(exhaustive_search_lists_all_feasible_paths_in_their_order)
{
    uint64_t state = 2;
    static struct search_result found;
    for (int n = 0; n < 200; n++) {
        struct search_table *tables[2] = {random_table(&state, 4, true),
                                          random_table(&state, 5, true)};
        struct search_problem problem = {.stages = as_const(tables),
                                         .stage_count = 2,
                                         .budget = 6 * SIM_MS,
                                         .queue_length = 4,
                                         .k = SEARCH_MAX_K};
        search_exhaustive(&problem, NULL, &found);
        size_t feasible = 0;
        for (size_t i = 0; i < 4; i++)
            for (size_t j = 0; j < 5; j++)
                feasible += tables[0]->batch[i] <= 4 &&
                            tables[0]->time[i] + tables[1]->time[j] <= 6 * SIM_MS;
        assert_int_equal(found.path_count, feasible);
        for (size_t i = 1; i < found.path_count; i++)
            assert_int_equal(search_path_compare(&found.paths[i - 1], &found.paths[i], 2), -1);
    }
}

static uint16_t batch_of(const struct search_table *table, uint16_t index)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->index[i] == index)
            return table->batch[i];
    fail_msg("configuration %u is not in its table", index);
    return 0;
}

/* The bounded paths are those of the unbounded list whose later batches are at most the first. */
CASE(a_bounded_search_keeps_the_paths_whose_later_batches_are_at_most_the_first)
{
    uint64_t state = 9;
    size_t removed = 0;
    static struct search_result all, found;
    for (int n = 0; n < 600; n++) {
        struct instance instance = {0};
        instance_make(&instance, &state, 4);
        struct search_problem *problem = &instance.problem;
        problem->k = SEARCH_MAX_K;
        search_exhaustive(problem, NULL, &all);
        problem->bounded = true;
        search_exhaustive(problem, NULL, &found);
        size_t kept = 0;
        for (size_t i = 0; i < all.path_count; i++) {
            bool possible = true;
            const uint16_t first = batch_of(instance.tables[0], all.paths[i].configuration[0]);
            for (size_t s = 1; s < problem->stage_count; s++)
                possible = possible &&
                           batch_of(instance.tables[s], all.paths[i].configuration[s]) <= first;
            removed += !possible;
            if (!possible)
                continue;
            assert_int_equal(
                search_path_compare(&all.paths[i], &found.paths[kept], problem->stage_count), 0);
            kept++;
        }
        if (all.path_count < SEARCH_MAX_K)
            assert_int_equal(found.path_count, kept);
    }
    assert_true(removed > 500);
}

CASE(parts_of_a_table_have_its_entries_up_to_a_batch_in_their_order)
{
    uint64_t state = 10;
    for (int n = 0; n < 100; n++) {
        struct search_table *table = random_table(&state, 1 + test_below(&state, 30), n % 2 == 0);
        search_table_bound(&arena, table);
        search_table_bound(&arena, table);
        for (uint32_t most = 0; most < 10; most++) {
            const struct search_table *part = search_table_up_to(table, most);
            size_t count = 0;
            for (size_t i = 0; i < table->count; i++) {
                if (table->batch[i] > most)
                    continue;
                assert_non_null(part);
                assert_int_equal(part->index[count], table->index[i]);
                assert_int_equal(part->time[count], table->time[i]);
                count++;
            }
            assert_int_equal(count, part == NULL ? 0 : part->count);
        }
    }
}

/* Best completion of the instance for each first-stage entry, by exhaustive search on a one-entry
 * table. */
static void exhaustive_completions(const struct instance *instance, double *best)
{
    const struct search_table *first = instance->tables[0];
    static struct search_result found;
    for (size_t i = 0; i < first->count; i++) {
        struct configuration one = {
            .batch = first->batch[i], .time = first->time[i], .cost_per_job_usd = first->cost[i]};
        struct search_table *table = search_table_create(&arena, &one, 1);
        const struct search_table *tables[SEARCH_MAX_STAGES] = {table};
        for (size_t s = 1; s < instance->problem.stage_count; s++)
            tables[s] = instance->tables[s];
        struct search_problem problem = instance->problem;
        problem.stages = tables;
        problem.queue_length = UINT32_MAX;
        problem.k = 1;
        search_exhaustive(&problem, NULL, &found);
        best[i] = found.path_count > 0 ? found.paths[0].cost_usd : INFINITY;
    }
}

static void assert_same_cost(double found, double truth)
{
    if (isinf(truth))
        assert_true(isinf(found));
    else
        assert_true(fabs(found - truth) <= 1e-12 * truth);
}

static void check_completions(const struct instance *instance, const struct frontier_set *set)
{
    const struct search_problem *problem = &instance->problem;
    static struct search_result found, best;
    double completions[MOST_CONFIGURATIONS], truth[MOST_CONFIGURATIONS];
    frontier_completions(set, 0, problem->budget, completions);
    exhaustive_completions(instance, truth);
    for (size_t i = 0; i < instance->tables[0]->count; i++) {
        assert_same_cost(completions[i], truth[i]);
        struct search_path path;
        bool there = frontier_path(set, 0, i, problem->budget, &path);
        assert_int_equal(there, !isinf(truth[i]));
        if (there) {
            assert_same_cost(path.cost_usd, truth[i]);
            assert_true(path.time <= problem->budget);
        }
    }
    frontier_search(set, 0, problem->budget, problem->queue_length, 1, &found);
    search_exhaustive(problem, NULL, &best);
    assert_int_equal(found.path_count, best.path_count > 0);
    if (found.path_count > 0)
        assert_same_cost(found.paths[0].cost_usd, best.paths[0].cost_usd);
}

CASE(frontier_completes_every_first_configuration_as_exhaustive_search_does)
{
    uint64_t state = 3;
    for (int n = 0; n < 600; n++) {
        struct instance instance = {0};
        instance_make(&instance, &state, 12);
        struct test_dag dag;
        test_dag_chain(&dag, instance.problem.stage_count);
        struct frontier_set *set =
            frontier_build(&arena, &dag.application, instance.problem.stages, 0, NULL);
        assert_true(frontier_exact(set, 0));
        check_completions(&instance, set);
    }
}

static void check_ranking(const struct instance *instance, const double *truth,
                          const struct search_result *found)
{
    const struct search_problem *problem = &instance->problem;
    const struct search_table *first = instance->tables[0];
    size_t feasible = 0;
    double worst = found->path_count > 0 ? found->paths[found->path_count - 1].cost_usd : 0;
    bool chosen[MOST_CONFIGURATIONS] = {false};
    for (size_t i = 0; i < found->path_count; i++) {
        chosen[found->paths[i].configuration[0]] = true;
        if (i > 0)
            assert_int_equal(search_path_compare(&found->paths[i - 1], &found->paths[i], 1), -1);
    }
    for (size_t i = 0; i < first->count; i++) {
        bool allowed = first->batch[i] <= problem->queue_length && !isinf(truth[i]);
        feasible += allowed;
        if (chosen[first->index[i]])
            assert_true(allowed && truth[i] <= worst * (1 + 1e-12));
        else if (allowed)
            assert_true(truth[i] >= worst * (1 - 1e-12));
    }
    assert_int_equal(found->path_count, feasible < problem->k ? feasible : problem->k);
}

CASE(frontier_ranks_first_configurations_by_their_completion)
{
    uint64_t state = 4;
    static struct search_result found;
    for (int n = 0; n < 300; n++) {
        struct instance instance = {0};
        instance_make(&instance, &state, 12);
        struct search_problem *problem = &instance.problem;
        struct test_dag dag;
        test_dag_chain(&dag, problem->stage_count);
        for (int bounded = 0; bounded < 2; bounded++) {
            problem->bounded = bounded == 1;
            struct frontier_plans *plans = frontier_plans_build(
                &arena, &dag.application, problem->stages, problem->bounded, 0, NULL);
            double truth[MOST_CONFIGURATIONS];
            exhaustive_completions(&instance, truth);
            frontier_plans_search(plans, 0, problem->budget, problem->queue_length, SIM_NONE,
                                  problem->k, &found);
            check_ranking(&instance, truth, &found);
        }
    }
}

/* Cheapest way to finish what follows `stage` within `budget`: every choice for every later stage,
 * finish times by longest path from `stage`. Knows nothing of forks, joins or frontiers. */
struct dag_truth {
    const struct application *application;
    struct search_table **tables;
    size_t stage;
    sim_time_t budget;
    bool reached[TEST_DAG_MOST];
    sim_time_t finish[TEST_DAG_MOST];
    double best;
};

static void dag_enumerate(struct dag_truth *truth, size_t s, double cost)
{
    if (s == truth->application->stage_count) {
        if (cost < truth->best)
            truth->best = cost;
        return;
    }
    const struct stage *stage = &truth->application->stages[s];
    sim_time_t start = 0;
    truth->reached[s] = false;
    for (size_t i = 0; i < stage->after_count; i++) {
        if (stage->after[i] == truth->stage)
            truth->reached[s] = true;
        if (stage->after[i] <= truth->stage || !truth->reached[stage->after[i]])
            continue;
        truth->reached[s] = true;
        if (truth->finish[stage->after[i]] > start)
            start = truth->finish[stage->after[i]];
    }
    if (!truth->reached[s]) {
        dag_enumerate(truth, s + 1, cost);
        return;
    }
    for (size_t i = 0; i < truth->tables[s]->count; i++) {
        truth->finish[s] = start + truth->tables[s]->time[i];
        if (truth->finish[s] <= truth->budget)
            dag_enumerate(truth, s + 1, cost + truth->tables[s]->cost[i]);
    }
}

static double dag_best(const struct application *application, struct search_table **tables,
                       size_t stage, sim_time_t budget)
{
    struct dag_truth truth = {
        .application = application, .tables = tables, .stage = stage, .budget = budget};
    truth.best = INFINITY;
    if (budget >= 0)
        dag_enumerate(&truth, stage + 1, 0.0);
    return truth.best;
}

static void check_suffix(const struct application *application, struct search_table **tables,
                         const struct frontier_set *set, size_t stage, uint64_t *state)
{
    const struct frontier *after = frontier_after(set, stage);
    sim_time_t time = after->points[test_below(state, after->count)].time;
    sim_time_t budgets[3] = {time, time - 1, time + (sim_time_t)test_below(state, 3000000)};
    for (size_t b = 0; b < 3; b++) {
        double found = INFINITY;
        for (size_t i = 0; i < after->count; i++)
            if (after->points[i].time <= budgets[b])
                found = after->points[i].cost_usd;
        assert_same_cost(found, dag_best(application, tables, stage, budgets[b]));
    }
}

CASE(frontier_of_a_diamond_or_any_small_dag_equals_enumeration)
{
    uint64_t state = 5;
    size_t suffixes = 0;
    for (size_t n = 0; n < 600; n++) {
        struct test_dag dag;
        struct search_table *tables[TEST_DAG_MOST];
        if (n % 3 == 0)
            test_dag_diamond(&dag, 2 + test_below(&state, 2));
        else if (n % 3 == 1)
            test_dag_series_parallel(&dag, &state, 7);
        else
            test_dag_random(&dag, &state, 2 + test_below(&state, 6));
        size_t count = dag.application.stage_count;
        for (size_t s = 0; s < count; s++)
            tables[s] = random_table(&state, 1 + test_below(&state, 4), n % 2 == 0);
        struct frontier_set *set =
            frontier_build(&arena, &dag.application, as_const(tables), 0, NULL);
        for (size_t s = 0; s < count; s++) {
            assert_true(frontier_exact(set, s));
            check_suffix(&dag.application, tables, set, s, &state);
            suffixes++;
        }
    }
    print_message("600 DAGs, %zu suffixes\n", suffixes);
}

/* a -> c, a -> d, b -> d between a source and a sink, with too many combinations to enumerate. */
CASE(a_large_region_that_is_not_series_parallel_is_conservative_and_says_so)
{
    static const uint32_t edges[][2] = {{0, 1}, {0, 2}, {1, 3}, {1, 4}, {2, 4}, {3, 5}, {4, 5}};
    struct test_dag dag;
    test_dag_edges(&dag, 6, edges, sizeof edges / sizeof edges[0]);
    struct search_table *tables[6];
    for (size_t s = 0; s < 6; s++) {
        struct configuration configurations[MOST_CONFIGURATIONS];
        memset(configurations, 0, sizeof configurations);
        for (size_t i = 0; i < MOST_CONFIGURATIONS; i++) {
            configurations[i].batch = 1;
            configurations[i].time = (sim_time_t)((s + 1) * 100 + i * (s + 2));
            configurations[i].cost_per_job_usd = 1.0 / (double)(i + 1 + s);
        }
        tables[s] = search_table_create(&arena, configurations, MOST_CONFIGURATIONS);
    }
    struct frontier_set *set = frontier_build(&arena, &dag.application, as_const(tables), 0, NULL);
    assert_false(frontier_exact(set, 0));
    assert_true(frontier_exact(set, 1));
    assert_true(frontier_exact(set, 2));
    /* Sound at its ends: nothing is faster than the longest way (2, 4, 5) at its fastest, and the
     * cheapest of all costs what the cheapest configurations cost together. */
    const struct frontier *after = frontier_after(set, 0);
    double cheapest = 0;
    for (size_t s = 1; s < 6; s++)
        cheapest += tables[s]->cheapest;
    assert_true(fabs(after->points[after->count - 1].cost_usd - cheapest) < 1e-12);
    assert_true(after->points[0].time >= 300 + 500 + 600);
}

CASE(a_frontier_past_its_limit_is_refused_by_name)
{
    uint64_t state = 6;
    struct test_dag dag;
    test_dag_chain(&dag, 4);
    struct search_table *tables[4];
    for (size_t s = 0; s < 4; s++)
        tables[s] = random_table(&state, 30, false);
    struct frontier_set *set =
        frontier_build(&arena, &dag.application, as_const(tables), 10, hear());
    assert_null(set);
    assert_int_equal(heard.kind, ERROR_RUN);
    assert_non_null(strstr(heard.message, "'stage'"));
}

CASE(a_full_open_list_turns_to_depth_first_and_stays_exact)
{
    uint64_t state = 7;
    struct search_table *tables[5];
    sim_time_t least = 0, slowest = 0;
    for (size_t s = 0; s < 5; s++) {
        tables[s] = random_table(&state, s < 4 ? 36 : 2, false);
        least += tables[s]->fastest;
        slowest += tables[s]->time[tables[s]->count - 1];
    }
    /* No blades, and a budget so tight that nearly all 36^4 prefixes come before the first feasible
     * completion. */
    struct search_problem problem = {.stages = as_const(tables),
                                     .stage_count = 5,
                                     .budget = least + slowest / 500,
                                     .queue_length = 8,
                                     .k = 3};
    struct search_workspace *workspace = search_workspace_create(&arena);
    static struct search_result found, truth;
    search_exhaustive(&problem, workspace, &truth);
    assert_true(truth.path_count > 0);
    search_astar(&problem, workspace, &found);
    assert_true(found.expansions > (1U << 20));
    assert_same_result(&found, &truth, 5);
}

CASE(the_order_of_paths_is_total)
{
    static const struct search_path paths[] = {
        {1, 5, {0, 0}}, {1, 5, {0, 1}}, {1, 5, {1, 0}}, {1, 6, {0, 0}}, {2, 4, {0, 0}}};
    const int count = sizeof paths / sizeof paths[0];
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++)
            assert_int_equal(search_path_compare(&paths[i], &paths[j], 2), (i > j) - (i < j));
}

/* Of one stage: what the time blade cuts are the configurations that are too slow, less those that
 * the queue is too short for, which no blade needs to cut. */
CASE(the_time_blade_counts_the_slow_configurations_that_the_queue_could_fill)
{
    static struct search_result found;
    uint64_t state = 8;
    struct search_workspace *workspace = search_workspace_create(&arena);
    for (int n = 0; n < 200; n++) {
        struct search_table *table = random_table(&state, 1 + test_below(&state, 30), n % 2 == 0);
        const struct search_problem problem = {.stages = as_const(&table),
                                               .stage_count = 1,
                                               .budget = table->time[table->count / 2],
                                               .queue_length = 4,
                                               .k = 3,
                                               .time_blade = true};
        uint64_t slow = 0;
        for (size_t i = 0; i < table->count; i++)
            slow += table->batch[i] <= 4 && table->time[i] > problem.budget;
        search_astar(&problem, workspace, &found);
        assert_int_equal(found.pruned_time, slow);
        assert_int_equal(found.pruned_cost, 0);
    }
}

SUITE("search")
