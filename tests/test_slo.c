/* SLO distribution: sums along every path of random DAGs, and cases worked out by hand. */
#include "sched/common/planner.h"
#include "sched/common/slo.h"
#include "tests/random_dag.h"
#include "tests/suite.h"

/* Of all that the cases build. */
static struct arena arena;

enum { PATH_LIMIT = 20000 };

/* Every path from stage s on, each of which must sum to 1. `left` bounds their number. */
static void walk_paths(const struct application *application, const struct slo_plan *plan, size_t s,
                       double sum, size_t *left)
{
    const struct stage *stage = &application->stages[s];
    sum += plan->stages[s].quota;
    if (stage->next_count == 0) {
        assert_absolute(sum, 1.0, 1e-9);
        --*left;
    }
    for (size_t i = 0; i<stage->next_count && * left> 0; i++)
        walk_paths(application, plan, stage->next[i], sum, left);
}

/* Brute force: can the last stage be reached from the first without passing `avoid`? */
static bool reaches(const struct application *application, size_t from, size_t avoid, bool forward)
{
    const struct stage *stage = &application->stages[from];
    size_t count = forward ? stage->next_count : stage->after_count;
    if (from == avoid)
        return false;
    if (count == 0)
        return true;
    for (size_t i = 0; i < count; i++)
        if (reaches(application, forward ? stage->next[i] : stage->after[i], avoid, forward))
            return true;
    return false;
}

/* Of several dominators the closest is the last (first, for post-dominators) in order. */
static void check_dominators(const struct application *application, const struct slo_plan *plan)
{
    size_t count = application->stage_count;
    for (size_t s = 0; s < count; s++) {
        uint32_t dominator = SIM_NONE, post_dominator = SIM_NONE;
        for (uint32_t d = 0; d < s; d++)
            if (!reaches(application, s, d, false))
                dominator = d;
        for (uint32_t d = (uint32_t)count; d-- > s + 1;)
            if (!reaches(application, s, d, true))
                post_dominator = d;
        assert_int_equal(plan->stages[s].dominator, dominator);
        assert_int_equal(plan->stages[s].post_dominator, post_dominator);
    }
}

static void check_groups(const struct application *application, const struct slo_plan *plan,
                         size_t group_size)
{
    for (size_t s = 0; s < application->stage_count; s++) {
        const struct slo_stage *planned = &plan->stages[s];
        assert_true(planned->group < plan->group_count);
        assert_in_range(planned->chain_length, 1, group_size);
        assert_int_equal(planned->chain[0], s);
        size_t members = 0;
        for (size_t t = 0; t < application->stage_count; t++)
            members += plan->stages[t].group == planned->group;
        assert_in_range(members, 1, group_size);
        for (size_t i = 0; i < planned->chain_length; i++) {
            const struct slo_stage *member = &plan->stages[planned->chain[i]];
            assert_int_equal(member->group, planned->group);
            assert_true(member->deadline_fraction == planned->deadline_fraction);
            if (i == 0)
                continue;
            const struct stage *before = &application->stages[planned->chain[i - 1]];
            assert_int_equal(before->next_count, 1);
            assert_int_equal(before->next[0], planned->chain[i]);
            assert_int_equal(application->stages[planned->chain[i]].after_count, 1);
        }
    }
}

static void check_plan(const struct application *application, const struct slo_plan *plan,
                       size_t group_size, size_t *forced)
{
    double total = 0;
    for (size_t s = 0; s < application->stage_count; s++) {
        const struct stage *stage = &application->stages[s];
        const struct slo_stage *planned = &plan->stages[s];
        size_t left = PATH_LIMIT;
        total += planned->anl;
        assert_true(planned->quota >= -1e-12 && planned->quota <= 1 + 1e-12);
        *forced += planned->quota < 1e-12;
        if (stage->after_count == 0)
            walk_paths(application, plan, s, 0.0, &left);
        if (stage->next_count == 0) {
            assert_absolute(planned->deadline_fraction, 1.0, 1e-9);
            assert_absolute(planned->own_deadline, 1.0, 1e-9);
        }
        /* Time of its own for every stage: strictly later than whatever precedes it. */
        assert_true(planned->own_deadline > 0);
        assert_true(planned->deadline_fraction >= planned->own_deadline - 1e-12);
        for (size_t i = 0; i < stage->after_count; i++) {
            const struct slo_stage *before = &plan->stages[stage->after[i]];
            assert_true(before->own_deadline < planned->own_deadline);
            assert_true(before->deadline_fraction <= planned->deadline_fraction + 1e-12);
        }
    }
    assert_absolute(total, 1.0, 1e-9);
    check_groups(application, plan, group_size);
}

CASE(quotas_along_every_path_of_random_dags_sum_to_the_slo)
{
    uint64_t state = 11;
    size_t forced = 0, stages = 0, forced_in_series_parallel = 0;
    for (size_t n = 0; n < 1500; n++) {
        struct test_dag dag;
        double mean[TEST_DAG_MOST];
        if (n % 2 == 0)
            test_dag_series_parallel(&dag, &state, 4 + test_below(&state, 26));
        else
            test_dag_random(&dag, &state, 1 + test_below(&state, 12));
        for (size_t s = 0; s < dag.application.stage_count; s++)
            mean[s] = 1 + 1000 * test_uniform(&state);
        size_t group_size = 1 + test_below(&state, 4);
        struct slo_plan *plan =
            slo_plan_create(&arena, &dag.application, mean, group_size, SLO_DOMINATOR);
        size_t before = forced;
        check_plan(&dag.application, plan, group_size, &forced);
        if (n % 2 == 0)
            forced_in_series_parallel += forced - before;
        check_dominators(&dag.application, plan);
        stages += dag.application.stage_count;
    }
    print_message("1500 DAGs, %zu stages, %zu with a quota of 0 that their paths force\n", stages,
                  forced);
    assert_int_equal(forced_in_series_parallel, 0);
}

CASE(in_series_parallel_dags_quotas_lead_to_the_deadlines)
{
    uint64_t state = 12;
    for (int n = 0; n < 300; n++) {
        struct test_dag dag;
        double mean[TEST_DAG_MOST];
        test_dag_series_parallel(&dag, &state, 30);
        for (size_t s = 0; s < dag.application.stage_count; s++)
            mean[s] = 1 + 1000 * test_uniform(&state);
        struct slo_plan *plan = slo_plan_create(&arena, &dag.application, mean, 1, SLO_DOMINATOR);
        for (size_t s = 0; s < dag.application.stage_count; s++) {
            const struct stage *stage = &dag.application.stages[s];
            double start = stage->after_count > 0 ? plan->stages[stage->after[0]].own_deadline : 0;
            assert_absolute(plan->stages[s].own_deadline - start, plan->stages[s].quota, 1e-9);
        }
    }
}

CASE(a_chain_is_split_by_anl_and_cut_into_groups)
{
    static const double mean[5] = {319, 86, 1047, 293, 147};
    double total = 319 + 86 + 1047 + 293 + 147;
    struct test_dag dag;
    test_dag_chain(&dag, 5);
    struct slo_plan *plan = slo_plan_create(&arena, &dag.application, mean, 3, SLO_DOMINATOR);
    assert_int_equal(plan->group_count, 2);
    for (size_t s = 0; s < 5; s++) {
        assert_absolute(plan->stages[s].quota, mean[s] / total, 1e-9);
        assert_absolute(plan->stages[s].deadline_fraction, s < 3 ? (319 + 86 + 1047) / total : 1.0,
                        1e-9);
        assert_int_equal(plan->stages[s].chain_length, s < 3 ? 3 - s : 5 - s);
    }
}

/* The three chains of three stages: one group, whose deadline is the SLO. */
CASE(the_three_stage_applications_are_one_group_each)
{
    static const double means[3][3] = {{86, 293, 147}, {319, 86, 828}, {86, 319, 1047}};
    for (size_t a = 0; a < 3; a++) {
        struct test_dag dag;
        double total = means[a][0] + means[a][1] + means[a][2];
        test_dag_chain(&dag, 3);
        struct slo_plan *plan =
            slo_plan_create(&arena, &dag.application, means[a], 3, SLO_DOMINATOR);
        assert_int_equal(plan->group_count, 1);
        for (size_t s = 0; s < 3; s++) {
            assert_absolute(plan->stages[s].quota, means[a][s] / total, 1e-9);
            assert_absolute(plan->stages[s].deadline_fraction, 1.0, 1e-9);
        }
    }
}

CASE(a_diamond_gives_each_branch_the_super_node_of_the_longest)
{
    static const double mean[4] = {1, 2, 5, 2}; /* chain: 1, max(2, 5), 2 */
    struct test_dag dag;
    test_dag_diamond(&dag, 2);
    struct slo_plan *plan = slo_plan_create(&arena, &dag.application, mean, 3, SLO_DOMINATOR);
    static const double quota[4] = {0.125, 0.625, 0.625, 0.25};
    static const double deadline[4] = {0.125, 0.75, 0.75, 1};
    for (size_t s = 0; s < 4; s++) {
        assert_absolute(plan->stages[s].quota, quota[s], 1e-9);
        assert_absolute(plan->stages[s].deadline_fraction, deadline[s], 1e-9);
    }
    assert_int_equal(plan->group_count, 4);
    assert_int_equal(plan->stages[3].dominator, 0);
    assert_int_equal(plan->stages[0].post_dominator, 3);
}

/* 0 -> {1 -> {2, 3} -> 4, 5 -> 6} -> 7: the inner super node is max(4, 1) = 4, its branch 1 + 4 + 1
 * = 6, the other branch 1 + 2 = 3, so the outer chain is 2, 6, 2. */
CASE(a_nested_fork_is_split_from_the_inside_out)
{
    static const uint32_t edges[][2] = {{0, 1}, {1, 2}, {1, 3}, {2, 4}, {3, 4},
                                        {0, 5}, {5, 6}, {4, 7}, {6, 7}};
    static const double mean[8] = {2, 1, 4, 1, 1, 1, 2, 2};
    static const double quota[8] = {0.2, 0.1, 0.4, 0.4, 0.1, 0.2, 0.4, 0.2};
    static const double deadline[8] = {0.2, 0.3, 0.7, 0.7, 0.8, 0.8, 0.8, 1};
    struct test_dag dag;
    test_dag_edges(&dag, 8, edges, sizeof edges / sizeof edges[0]);
    struct slo_plan *plan = slo_plan_create(&arena, &dag.application, mean, 3, SLO_DOMINATOR);
    for (size_t s = 0; s < 8; s++) {
        assert_absolute(plan->stages[s].quota, quota[s], 1e-9);
        assert_absolute(plan->stages[s].deadline_fraction, deadline[s], 1e-9);
    }
}

/* 0 -> {1 -> {2, 3 -> 4} -> 5, 6 -> 7} -> 8: the inner super node is max(8, 1 + 2) = 8, of which 3
 * and 4 have one and two thirds; the outer one is max(1 + 8 + 1, 2 + 3) = 10; the chain 2, 10, 2.
 */
CASE(a_shorter_branch_within_a_branch_fills_the_time_of_the_longer)
{
    static const uint32_t edges[][2] = {{0, 1}, {1, 2}, {1, 3}, {3, 4}, {2, 5},
                                        {4, 5}, {0, 6}, {6, 7}, {5, 8}, {7, 8}};
    static const double mean[9] = {2, 1, 8, 1, 2, 1, 2, 3, 2};
    static const double of_14[9] = {2, 1, 8, 8.0 / 3, 16.0 / 3, 1, 4, 6, 2};
    struct test_dag dag;
    test_dag_edges(&dag, 9, edges, sizeof edges / sizeof edges[0]);
    struct slo_plan *plan = slo_plan_create(&arena, &dag.application, mean, 3, SLO_DOMINATOR);
    for (size_t s = 0; s < 9; s++)
        assert_absolute(plan->stages[s].quota, of_14[s] / 14, 1e-9);
}

/* 0 -> 1 -> 2 and 0 -> 2: equal sums force 1 to have no quota, but not to have no time. */
CASE(a_short_cut_forces_a_quota_of_0_and_leaves_a_sensible_deadline)
{
    static const uint32_t edges[][2] = {{0, 1}, {0, 2}, {1, 2}};
    static const double mean[3] = {1, 2, 1};
    struct test_dag dag;
    test_dag_edges(&dag, 3, edges, 3);
    struct slo_plan *plan = slo_plan_create(&arena, &dag.application, mean, 3, SLO_DOMINATOR);
    assert_absolute(plan->stages[0].quota, 0.5, 1e-9);
    assert_absolute(plan->stages[1].quota, 0.0, 1e-9);
    assert_absolute(plan->stages[2].quota, 0.5, 1e-9);
    assert_absolute(plan->stages[0].deadline_fraction, 0.25, 1e-9);
    assert_absolute(plan->stages[1].deadline_fraction, 0.75, 1e-9);
    assert_absolute(plan->stages[2].deadline_fraction, 1.0, 1e-9);
}

/* 0 and 1 feed 2 and 3, all four edges: not series-parallel, yet a chain of two super nodes. */
CASE(several_sources_and_sinks_that_cross_are_a_chain_of_super_nodes)
{
    static const uint32_t edges[][2] = {{0, 2}, {0, 3}, {1, 2}, {1, 3}};
    static const double mean[4] = {1, 3, 1, 1};
    static const double quota[4] = {0.75, 0.75, 0.25, 0.25};
    struct test_dag dag;
    test_dag_edges(&dag, 4, edges, 4);
    struct slo_plan *plan = slo_plan_create(&arena, &dag.application, mean, 3, SLO_DOMINATOR);
    for (size_t s = 0; s < 4; s++) {
        assert_absolute(plan->stages[s].quota, quota[s], 1e-9);
        assert_int_equal(plan->stages[s].dominator, SIM_NONE);
    }
}

/* ---- The three rules, and the planner that hands them to the other policies ------------------ */

/* Largest sum of budgets along a path from stage s on. */
static sim_time_t longest_budget(const struct application *application,
                                 const struct planner *planner, size_t s, sim_time_t slo)
{
    const struct stage *stage = &application->stages[s];
    sim_time_t most = 0;
    for (size_t i = 0; i < stage->next_count; i++) {
        const sim_time_t here = longest_budget(application, planner, stage->next[i], slo);
        most = here > most ? here : most;
    }
    return most + planner_budget(planner, (uint32_t)s, slo);
}

/* A DAG whose stages have a function each, of one configuration. */
struct split_world {
    struct test_dag dag;
    struct configuration configurations[TEST_DAG_MOST];
    struct function functions[TEST_DAG_MOST];
    double mean[TEST_DAG_MOST];
    struct test_cluster of;
};

static void split_world_fill(struct split_world *world, uint64_t *state)
{
    static char name[] = "f";
    struct application *application = &world->dag.application;
    const size_t count = application->stage_count;
    for (size_t s = 0; s < count; s++) {
        world->configurations[s] = (struct configuration){
            .batch = 1, .vcpu = 1, .vgpu = 1, .time = 1 + (sim_time_t)test_below(state, 1000)};
        world->functions[s] = (struct function){.name = name,
                                                .gpus = &world->of.on,
                                                .configurations = &world->configurations[s],
                                                .configuration_count = 1};
        world->mean[s] = (double)world->configurations[s].time;
    }
    test_cluster_of(&world->of, application, world->functions, count);
}

/* Kept to, a split leaves each stage what planner_budget gives it. */
static void check_budget_left(const struct split_world *world, const struct planner *planner,
                              enum planner_split split, sim_time_t slo)
{
    const struct application *application = &world->dag.application;
    struct slo_plan *plan =
        slo_plan_create(&arena, application, world->mean, 1, (enum slo_split)split);
    for (uint32_t s = 0; s < application->stage_count; s++) {
        const struct slo_stage *planned = &plan->stages[s];
        const sim_time_t budget = planner_budget(planner, s, slo);
        const sim_time_t left = planner_budget_left(planner, s, slo);
        assert_true(budget > 0 && budget <= left && left <= slo);
        assert_true(planned->slot <= planned->own_deadline + 1e-12);
        assert_absolute((double)budget / (double)slo, planned->slot, 1e-9);
        if (application->stages[s].next_count == 0)
            assert_int_equal(left, slo); /* nothing after it: all that is left is its own */
        if (split == PLANNER_DOMINATOR) {
            const double start = planned->own_deadline - planned->slot;
            const sim_time_t slack = (sim_time_t)((double)slo * (1 - start));
            const sim_time_t on_time = planner_budget_left(planner, s, slack);
            assert_absolute((double)on_time / (double)slo, planned->slot, 1e-9);
        }
    }
}

CASE(budgets_of_every_split_sum_to_the_slo)
{
    static const enum planner_split splits[] = {PLANNER_PROPORTIONAL, PLANNER_EQUAL,
                                                PLANNER_DOMINATOR};
    const sim_time_t slo = INT64_C(1000000000000);
    OWNED(free) struct split_world *world = must(malloc(sizeof *world));
    uint64_t state = 13;
    for (size_t n = 0; n < 600; n++) {
        if (n % 2 == 0)
            test_dag_series_parallel(&world->dag, &state, 4 + test_below(&state, 26));
        else
            test_dag_random(&world->dag, &state, 1 + test_below(&state, 12));
        split_world_fill(world, &state);
        for (size_t k = 0; k < 3; k++) {
            CLOSED(arena_clear) struct arena arena = {0};
            struct planner *planner =
                must(planner_create(&arena, &world->of.workload, 1, splits[k], hear()));
            sim_time_t most = 0;
            for (size_t s = 0; s < world->dag.application.stage_count; s++) {
                if (world->dag.application.stages[s].after_count > 0)
                    continue;
                const sim_time_t here = longest_budget(&world->dag.application, planner, s, slo);
                most = here > most ? here : most;
            }
            /* A budget is a whole number of ns, rounded down. */
            assert_in_range(most, slo - 1000, slo + 1);
            check_budget_left(world, planner, splits[k], slo);
        }
    }
}

/* Unlike the others' budgets, ESG's use up the SLO on every path. */
CASE(the_dominator_split_gives_a_planner_the_quotas_of_esg)
{
    OWNED(free) struct split_world *world = must(malloc(sizeof *world));
    uint64_t state = 14;
    for (size_t n = 0; n < 300; n++) {
        test_dag_series_parallel(&world->dag, &state, 4 + test_below(&state, 26));
        split_world_fill(world, &state);
        CLOSED(arena_clear) struct arena arena = {0};
        struct planner *planner =
            planner_create(&arena, &world->of.workload, 1, PLANNER_DOMINATOR, hear());
        struct slo_plan *plan =
            slo_plan_create(&arena, &world->dag.application, world->mean, 3, SLO_DOMINATOR);
        assert_non_null(planner);
        for (uint32_t s = 0; s < plan->stage_count; s++)
            assert_absolute((double)planner_budget(planner, s, SIM_S * 1000) /
                                (double)(SIM_S * 1000),
                            plan->stages[s].quota, 1e-9);
        arena_clear(&arena);
    }
}

/* 0 -> {1 -> 2, 3} -> 4: where a short branch lies beside a long one, the rules differ. */
CASE(the_rules_differ_beside_a_longer_branch)
{
    static const uint32_t edges[][2] = {{0, 1}, {1, 2}, {2, 4}, {0, 3}, {3, 4}};
    static const double mean[5] = {1, 4, 2, 1, 1};
    static const double quota[3][5] = {{0.125, 0.5, 0.25, 1.0 / 3, 0.125},
                                       {0.25, 0.25, 0.25, 1.0 / 3, 0.25},
                                       {0.125, 0.5, 0.25, 0.75, 0.125}};
    static const double of_rest[3][5] = {{0.125, 4.0 / 7, 2.0 / 3, 0.5, 1},
                                         {0.25, 1.0 / 3, 0.5, 0.5, 1},
                                         {0.125, 4.0 / 7, 2.0 / 3, 6.0 / 7, 1}};
    for (size_t k = 0; k < 3; k++) {
        struct test_dag dag;
        test_dag_edges(&dag, 5, edges, 5);
        struct slo_plan *plan =
            slo_plan_create(&arena, &dag.application, mean, 3, (enum slo_split)k);
        for (size_t s = 0; s < 5; s++) {
            assert_absolute(plan->stages[s].slot, quota[k][s], 1e-9);
            assert_absolute(plan->stages[s].slot_of_rest, of_rest[k][s], 1e-9);
        }
    }
}

SUITE("slo")
