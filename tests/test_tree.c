/* The record of choices, and trees learned from it. */
#include "sched/registry.h"
#include "sched/choices/actions.h"
#include "sched/tree/learn.h"
#include "sim/engine/random.h"
#include "tests/fixture_simulation.h"

enum { MOST = 200000 };

static struct choice_row choices[MOST];
static struct decision_row decisions[MOST];
static size_t choice_count, decision_count;

KEEPER(take_choice, choice_row, choices, choice_count)

KEEPER(take_decision, decision_row, decisions, decision_count)

/* Runs the shipped experiment under the policy, and takes both records of its decisions. */
static void record_run(const char *named, const char *seed)
{
    const struct override overrides[] = {{"policy", named},
                                         {"seed", seed},
                                         {"requests", "300"},
                                         {"warmup_requests", "0"},
                                         {"record", "choices"}};
    EXPERIMENT *experiment =
        must(experiment_load("workloads/experiments/strict-light.json", overrides,
                             sizeof overrides / sizeof overrides[0], hear()));
    double *values = NULL;
    const struct policy *policy = must(policy_resolve(experiment, &values, hear()));
    const struct recorder recorder = {.choice = take_choice, .decision = take_decision};
    choice_count = decision_count = 0;
    assert_good(simulation_run(experiment, policy, values, &recorder, NULL, anew(), hear()));
}

/* Every batch of the record of decisions is the choice of one queue, in the same order, with the
 * length that its queue had before the policy acted. */
CASE(choices_are_the_batches_of_the_decisions)
{
    static const char *const names[] = {"{\"name\":\"esg\"}", "{\"name\":\"edf\"}",
                                        "{\"name\":\"fifo\"}", "{\"name\":\"headway\"}"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        record_run(names[n], "3");
        size_t d = 0;
        for (size_t c = 0; c < choice_count; c++) {
            const struct choice_row *row = &choices[c];
            assert_true(row->queue_length > 0 && row->free_gpu >= 0 && row->free_gpu <= 1000);
            assert_int_equal(row->chosen, row->configuration != SIM_NONE);
            if (!row->chosen)
                continue;
            assert_true(d < decision_count);
            assert_int_equal(row->time_ns, decisions[d].time_ns);
            assert_int_equal(row->queue, decisions[d].queue);
            assert_int_equal(row->queue_length, decisions[d].queue_length);
            assert_int_equal(row->configuration, decisions[d].configuration);
            assert_int_equal(row->jobs, decisions[d].jobs);
            d++;
        }
        assert_int_equal(d, decision_count);
        assert_true(d > 300);
    }
}

/* Arrivals are those of the last ten seconds: no more than all jobs so far, and all of them in the
 * first ten. */
CASE(rows_of_a_decision_are_its_queues_in_order)
{
    record_run("{\"name\":\"esg\"}", "1");
    for (size_t c = 1; c < choice_count; c++) {
        const struct choice_row *before = &choices[c - 1], *row = &choices[c];
        assert_true(row->decision >= before->decision && row->time_ns >= before->time_ns);
        if (row->decision == before->decision)
            assert_true(row->queue > before->queue && row->time_ns == before->time_ns);
        assert_true(row->arrivals >= (row->time_ns < 10000000000 ? row->queue_length : 0));
    }
}

/* Asked about its own states, a policy says what it does; asking changes no decision. */
CASE(a_shadow_of_the_policy_itself_chooses_as_it_does)
{
    record_run("{\"name\":\"esg\"}", "4");
    const size_t count = choice_count, decided = decision_count;
    OWNED(free) struct choice_row *own = must(malloc(count * sizeof *own));
    memcpy(own, choices, count * sizeof *own);
    record_run("{\"name\":\"esg\",\"shadow\":\"esg\"}", "4");
    assert_int_equal(decision_count, decided);
    assert_int_equal(choice_count, count);
    assert_memory_equal(choices, own, count * sizeof *own);
}

/* fifo has one configuration for each queue. Questions may only break ties of placement otherwise.
 */
CASE(a_shadow_is_asked_and_not_obeyed)
{
    uint32_t configurations[64] = {0};
    record_run("{\"name\":\"fifo\"}", "4");
    const size_t decided = decision_count;
    for (size_t d = 0; d < decided; d++)
        configurations[decisions[d].queue % 64] = decisions[d].configuration;
    record_run("{\"name\":\"fifo\",\"shadow\":\"esg\"}", "4");
    assert_int_equal(decision_count, decided);
    for (size_t d = 0; d < decided; d++)
        assert_int_equal(decisions[d].configuration, configurations[decisions[d].queue % 64]);
    size_t unlike = 0;
    for (size_t c = 0; c < choice_count; c++)
        unlike +=
            choices[c].chosen && choices[c].configuration != configurations[choices[c].queue % 64];
    assert_true(unlike > 100);
}

CASE(a_shadow_that_cannot_be_asked_is_refused)
{
    static const struct refusal_of cases[] = {
        {"{\"name\":\"fifo\",\"shadow\":\"headway\"}", "choices",
         "policy.shadow: policy \"headway\" keeps"},
        {"{\"name\":\"fifo\",\"shadow\":\"esq\"}", "choices",
         "policy.shadow: unknown policy \"esq\""},
        {"{\"name\":\"fifo\",\"shadow\":\"esg\"}", "all", "set \"record\" to \"choices\""}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const struct override overrides[] = {{"policy", cases[c].key}, {"record", cases[c].text}};
        EXPERIMENT *experiment =
            must(experiment_load("workloads/experiments/strict-light.json", overrides, 2, hear()));
        double *values = NULL;
        assert_bad_input(policy_resolve(experiment, &values, hear()), cases[c].words);
    }
}

/* ---- Learning -------------------------------------------------------------------------------- */

enum { ROWS = 40, CLASSES = 3 };

static uint32_t draw(struct random_stream *stream, uint32_t most)
{
    return (uint32_t)(random_uniform(stream) * most);
}

static void rows_draw(struct random_stream *stream, struct tree_sample *rows, uint32_t classes)
{
    memset(rows, 0, ROWS * sizeof *rows);
    for (int i = 0; i < ROWS; i++) {
        rows[i].values[TREE_slack] = (int64_t)draw(stream, 12) - 6;
        rows[i].values[TREE_warm] = draw(stream, 2);
        rows[i].values[TREE_function] = draw(stream, 4);
        rows[i].class = draw(stream, classes);
    }
}

/* Gini's impurity of the rows for which `in` has a bit. */
static double gini(const struct tree_sample *rows, uint64_t in)
{
    double counts[CLASSES] = {0}, count = 0, squares = 0;
    for (int i = 0; i < ROWS; i++)
        if ((in >> i & 1) != 0) {
            counts[rows[i].class]++;
            count++;
        }
    for (int c = 0; c < CLASSES; c++)
        squares += counts[c] * counts[c];
    return count > 0 ? count - squares / count : 0;
}

static double split_gini(const struct tree_sample *rows, uint64_t yes, uint32_t least)
{
    const int count = __builtin_popcountll(yes);
    if (count < (int)least || ROWS - count < (int)least)
        return INFINITY;
    const uint64_t all = (UINT64_C(1) << ROWS) - 1;
    return gini(rows, yes) + gini(rows, all & ~yes);
}

/* The least impurity that one test leaves, by trying each threshold and each set of functions. */
static double brute_force(const struct tree_sample *rows, uint32_t least)
{
    double best = INFINITY;
    for (int64_t most = -6; most < 6; most++)
        for (int feature = 0; feature < 2; feature++) {
            uint64_t yes = 0;
            for (int i = 0; i < ROWS; i++)
                if (rows[i].values[feature == 0 ? TREE_slack : TREE_warm] <= most)
                    yes |= UINT64_C(1) << i;
            best = fmin(best, split_gini(rows, yes, least));
        }
    for (unsigned set = 1; set < 15; set++) {
        uint64_t yes = 0;
        for (int i = 0; i < ROWS; i++)
            if ((set >> rows[i].values[TREE_function] & 1) != 0)
                yes |= UINT64_C(1) << i;
        best = fmin(best, split_gini(rows, yes, least));
    }
    return best;
}

CASE(the_first_test_is_that_of_exhaustive_search)
{
    RANDOM_STREAM(stream, 17, RANDOM_MODULE, 0, 0);
    for (int round = 0; round < 300; round++) {
        struct tree_sample rows[ROWS];
        rows_draw(&stream, rows, 2);
        struct arena *arena = arena_create();
        const uint32_t least = 1 + draw(&stream, 6);
        const struct tree_node *tree =
            tree_grow(arena, rows, ROWS, 2, (struct tree_limits){1, 2, least});
        const double best = brute_force(rows, least);
        const uint64_t all = (UINT64_C(1) << ROWS) - 1;
        if (tree->yes == NULL) {
            assert_true(best > gini(rows, all) - 1e-5);
        } else {
            uint64_t yes = 0;
            for (int i = 0; i < ROWS; i++)
                if (tree_leaf(tree, rows[i].values) == tree->yes)
                    yes |= UINT64_C(1) << i;
            assert_true(fabs(split_gini(rows, yes, least) - best) < 1e-5);
        }
        arena_destroy(arena);
    }
}

static void check_limits(const struct tree_node *tree, uint32_t depth, uint32_t least)
{
    uint32_t count = 0;
    for (int c = 0; c < CLASSES; c++)
        count += tree->counts[c];
    assert_true(count >= least);
    if (tree->yes == NULL)
        return;
    assert_true(depth > 0);
    check_limits(tree->yes, depth - 1, least);
    check_limits(tree->no, depth - 1, least);
}

static size_t errors(const struct tree_node *tree, const struct tree_sample *rows)
{
    size_t wrong = 0;
    for (int i = 0; i < ROWS; i++) {
        const struct tree_node *leaf = tree_leaf(tree, rows[i].values);
        for (int c = 0; c < CLASSES; c++)
            if (leaf->counts[c] > leaf->counts[rows[i].class]) {
                wrong++;
                break;
            }
    }
    return wrong;
}

CASE(trees_keep_their_limits_and_pruning_by_noise_leaves_the_root)
{
    RANDOM_STREAM(stream, 18, RANDOM_MODULE, 0, 0);
    for (int round = 0; round < 100; round++) {
        struct tree_sample rows[ROWS], others[ROWS];
        struct arena *arena = arena_create();
        const struct tree_limits limits = {1 + draw(&stream, 5), 1 + draw(&stream, 12),
                                           1 + draw(&stream, 4)};
        rows_draw(&stream, rows, CLASSES);
        struct tree_node *tree = tree_grow(arena, rows, ROWS, CLASSES, limits);
        check_limits(tree, limits.depth, limits.rows);
        assert_true(tree_leaves(tree) <= limits.leaves && tree_depth(tree) <= limits.depth);
        const size_t grown = tree_leaves(tree), wrong = errors(tree, rows);
        tree_prune(tree, CLASSES, rows, ROWS); /* its own rows judge the whole tree best */
        assert_int_equal(errors(tree, rows), wrong);
        assert_int_equal(tree_leaves(tree), grown);
        memcpy(others, rows, sizeof others);
        for (int i = 0; i < ROWS; i++) /* the opposite of what it learned */
            others[i].class = (others[i].class + 1) % CLASSES;
        tree_prune(tree, CLASSES, others, ROWS);
        assert_true(tree_leaves(tree) <= grown);
        arena_destroy(arena);
    }
}

/* ---- Files ----------------------------------------------------------------------------------- */

static const char good_tree[] = "# a comment\n"
                                "queue\n"
                                "  if slack <= -12\n"
                                "    chosen 3 of 4\n"
                                "  else\n"
                                "    if function is classification, deblur\n"
                                "      chosen 0 of 9\n"
                                "    else\n"
                                "      chosen 9 of 9\n"
                                "configuration\n"
                                "  serve 4:2 x 7, none x 1\n";

/* Loads the text as a tree for the functions of the shipped experiments. */
static bool load_text(const char *text, struct arena *arena, struct trees *trees,
                      struct error *error)
{
    TEMPORARY(path, text);
    EXPERIMENT *experiment =
        must(experiment_load("workloads/experiments/strict-light.json", NULL, 0, hear()));
    const bool good = trees_load(arena, path, &experiment->workload, trees, error);
    if (good) {
        MEMORY_STREAM(out, written);
        trees_write(out, trees);
        fclose(out);
        assert_string_equal(written, strchr(text, '\n') + 1);
        free(written);
    }
    return good;
}

/* A test of a function that the experiment lacks is false, and the policy says so. */
CASE(a_tree_serves_a_world_without_its_functions)
{
    const struct override overrides[] = {{"policy.name", "tree"},
                                         {"policy.file", "../trees/esg.txt"},
                                         {"requests", "300"},
                                         {"warmup_requests", "0"}};
    double *values = NULL;
    EXPERIMENT *experiment = must(
        experiment_load("workloads/experiments/v100-detect-twitter.json", overrides, 4, hear()));
    const struct policy *policy = policy_resolve(experiment, &values, hear());
    assert_good(policy != NULL &&
                simulation_run(experiment, policy, values, NULL, NULL, anew(), hear()));
    const struct notice *notice = must(notices_find(&result.notices, NOTICE_REMARK));
    assert_non_null(strstr(notice->text, "are false: super-resolution"));
    assert_int_equal(result.overall.requests, 300);
}

CASE(a_tree_is_written_as_it_was_read)
{
    struct arena *arena = arena_create();
    struct trees trees = {0};
    assert_good(load_text(good_tree, arena, &trees, hear()));
    int64_t values[TREE_FEATURE_COUNT] = {[TREE_slack] = -12};
    assert_int_equal(tree_leaf(trees.queue, values)->chosen, 3);
    values[TREE_slack] = -11;
    assert_true(tree_leaf(trees.queue, values)->rows == 9);
    assert_int_equal(tree_leaf(trees.configuration, values)->votes[0].action.rank, 2);
    arena_destroy(arena);
}

CASE(a_tree_that_was_edited_wrongly_is_refused_with_its_line)
{
    static const struct refusal_of cases[] = {
        {"slack <= -12", "slak <= -12", ":3: a feature is wanted"},
        {"slack <= -12", "slack < -12", ":3: \"if FEATURE <= NUMBER\""},
        {"slack <= -12", "slack <= 1x", ":3: \"if FEATURE <= NUMBER\""},
        {"slack <= -12", "function <= 2", ":3: \"if FEATURE <= NUMBER\""},
        {"classification, deblur", "classification, ", ":6: a function is wanted"},
        {"    chosen 3 of 4", "  chosen 3 of 4", ":4: \"if"},
        {"chosen 3 of 4", "chosen 5 of 4", ":4: \"chosen N of M\""},
        {"chosen 3 of 4", "serve 1:0 x 4", ":4: \"if"},
        {"  else\n    if", "  if", ":5: \"else\""},
        {"serve 4:2 x 7", "serve 0:2 x 7", ":11: \"serve BATCH:RANK"},
        {"serve 4:2 x 7", "serve 65537:2 x 7", ":11: \"serve BATCH:RANK"},
        {"3 of 4", "3 of 99999999999999999999", ":4: \"chosen N of M\""},
        {"-12", "-99999999999999999999", ":3: \"if FEATURE <= NUMBER\""},
        {"serve 4:2 x 7, none x 1", "serve none x 7", "would wait for ever"},
        {"serve 4:2 x 7, none x 1\n", "serve 4:2 x 7\n  serve 1:0 x 1\n",
         ":12: the end of the file"},
        {"configuration\n", "", ":10: \"configuration\""},
        {"queue\n", "", ":2: \"queue\""},
        {good_tree, "", "is empty"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct trees trees;
        struct arena *arena = arena_create();
        const char *at = must(strstr(good_tree, cases[c].key));
        char *text = formatted("%.*s%s%s", (int)(at - good_tree), good_tree, cases[c].text,
                               at + strlen(cases[c].key));
        assert_bad_input(load_text(text, arena, &trees, hear()), cases[c].words);
        arena_destroy(arena);
    }
}

CASE(an_action_is_the_configuration_that_it_came_from)
{
    EXPERIMENT *experiment =
        must(experiment_load("workloads/experiments/strict-light.json", NULL, 0, hear()));
    struct arena *arena = arena_create();
    const struct workload *workload = &experiment->workload;
    const struct tree_actions *actions = tree_actions_create(arena, workload);
    for (uint32_t f = 0; f < workload->function_count; f++)
        for (uint32_t c = 0; c < workload->functions[f].configuration_count; c++) {
            const struct configuration *spec = &workload->functions[f].configurations[c];
            const struct tree_action action = tree_action_of(actions, f, c);
            assert_int_equal(tree_action_configuration(actions, f, action, spec->batch), c);
            assert_int_equal(tree_action_configuration(actions, f, action, UINT32_MAX), c);
            const uint32_t less = tree_action_configuration(actions, f, action, 1);
            assert_int_equal(workload->functions[f].configurations[less].batch, 1);
        }
    arena_destroy(arena);
}

SUITE("tree")
