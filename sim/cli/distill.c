/* esgsim distill: learns two decision trees from a policy's recorded choices. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wordexp.h>

#include "results/store/run_details.h"
#include "results/store/store.h"
#include "sched/tree/learn.h"
#include "sim/base/atomic_file.h"
#include "sim/base/json_write.h"
#include "sim/cli/cli.h"
#include "sim/run/guard.h"
#include "workloads/world/outline.h"

/* In the order of the words of --student. */
enum student { STUDENT_TREE, STUDENT_PLAIN };
/* What a run's seed says that its rows are for. */
enum use { USE_LEARN, USE_PRUNE, USE_TEST, USES };

enum { ACTIONS_MOST = 1024 };

struct options {
    const char *out;
    struct cli_names prune, test;
    uint64_t depth, leaves, rows, sample, rounds;
    int student;
    bool json;
};

#define MEMBER(member) CLI_MEMBER(struct options, member)

static const struct cli_option distill_table[] = {
    {"--out", "TREE.txt", "the file to write", MEMBER(out), .required = true},
    {"--prune-seeds", "LIST", "runs of these seeds prune the trees: 6,7 or 6-7", MEMBER(prune),
     .most = CLI_NAMES_MAX},
    {"--test-seeds", "LIST", "runs of these seeds only measure the agreement", MEMBER(test),
     .most = CLI_NAMES_MAX},
    {"--depth", "N", "most tests on a path (default 8)", MEMBER(depth), .least = 1,
     .most = TREE_DEPTH_MOST},
    {"--leaves", "N", "most leaves per tree (default 64)", MEMBER(leaves), .least = 1,
     .most = 1000},
    {"--rows", "N", "fewest rows per leaf (default 20)", MEMBER(rows), .least = 1, .most = 1000000},
    {"--sample", "N", "learn from every Nth decision only (default 1)", MEMBER(sample), .least = 1,
     .most = 1000000000},
    {"--rounds", "N",
     "number of rounds (default 1): each further one repeats the sweep of F.h5 with the student, "
     "records the teacher's choices there, and learns from all",
     MEMBER(rounds), .least = 1, .most = 99},
    {"--student", "tree|plain",
     "plain: write the simplest student: least slack first, with each function's most frequent "
     "configuration (default tree)",
     MEMBER(student)},
    {"--json", NULL, "print one JSON object", MEMBER(json)},
    {.name = NULL},
};

struct samples {
    struct tree_sample *rows;
    size_t count;
};

/* The rows of all runs. */
struct data {
    struct arena *arena;
    struct samples queue[USES], configuration[USES];
    struct choice_row *tests; /* all rows of test runs */
    size_t test_count;
    struct tree_action actions[ACTIONS_MOST]; /* by class; 0: wait */
    uint32_t action_count;
    uint64_t batches[TREE_FUNCTIONS_MOST]; /* by function: bit b: batch b + 1 was seen */
    size_t runs[USES];
    uint64_t decisions;
};

/* How often a student agrees with the teacher. */
struct agreement {
    uint64_t queues, queue_hits, slack_hits;
    uint64_t batches, batch_hits, frequent_hits;
};

/* ---- Reading --------------------------------------------------------------------------------- */

/* Whether a list such as 6,8-12 has the seed. ERROR_INPUT through `good` if it is no such list. */
static bool seed_listed(const char *option, const struct cli_names *names, uint64_t seed,
                        bool *good, struct error *error)
{
    bool listed = false;
    for (size_t i = 0; i < names->count; i++) {
        char text[64];
        uint64_t from = 0, until = 0;
        (void)snprintf(text, sizeof text, "%s", names->list[i]);
        char *dash = strchr(text, '-');
        if (dash != NULL)
            *dash = '\0';
        *good = *good && cli_parse_u64(option, text, 0, UINT64_MAX, &from, error);
        until = from;
        if (dash != NULL)
            *good = *good && cli_parse_u64(option, dash + 1, from, UINT64_MAX, &until, error);
        listed = listed || (*good && seed >= from && seed <= until);
    }
    return listed;
}

static void sample_add(const struct data *data, struct samples *samples,
                       const struct choice_row *row, uint32_t class)
{
    arena_reserve(data->arena, &samples->rows, samples->count + 1, sizeof *samples->rows);
    struct tree_sample *sample = &samples->rows[samples->count++];
    tree_features_recorded(row, sample->values);
    sample->class = class;
}

static uint32_t action_class(struct data *data, const struct choice_row *row)
{
    uint32_t at = 0;
    while (at < data->action_count &&
           (data->actions[at].batch != row->batch || data->actions[at].rank != row->rank))
        at++;
    if (at == data->action_count && at < ACTIONS_MOST)
        data->actions[data->action_count++] = (struct tree_action){row->batch, row->rank};
    return at;
}

/* Takes the rows of one decision. */
static bool decision_add(struct data *data, enum use use, const struct choice_row *rows,
                         size_t count, const char *path, struct error *error)
{
    bool served = false;
    for (size_t i = 0; i < count; i++) {
        served = served || rows[i].chosen;
        if (rows[i].function < 0 || rows[i].function >= TREE_FUNCTIONS_MOST)
            return error_input(error, "%s: distill knows at most %d functions", path,
                               TREE_FUNCTIONS_MOST);
    }
    for (size_t i = 0; i < count; i++) {
        if (served)
            sample_add(data, &data->queue[use], &rows[i], rows[i].chosen);
        if (served && !rows[i].chosen)
            continue;
        const uint32_t class = served ? action_class(data, &rows[i]) : 0;
        if (class == ACTIONS_MOST)
            return error_input(error, "%s: more than %d unlike actions", path, ACTIONS_MOST);
        if (served && rows[i].batch <= 64)
            data->batches[rows[i].function] |= UINT64_C(1) << (rows[i].batch - 1);
        sample_add(data, &data->configuration[use], &rows[i], class);
    }
    return true;
}

static bool rows_add(struct data *data, enum use use, const struct choice_row *rows, size_t count,
                     const struct options *options, const char *path, struct error *error)
{
    if (use == USE_TEST) {
        arena_reserve(data->arena, &data->tests, data->test_count + count, sizeof *data->tests);
        memcpy(&data->tests[data->test_count], rows, count * sizeof *rows);
        data->test_count += count;
    }
    bool good = true;
    for (size_t i = 0, end; good && i < count; i = end) {
        for (end = i + 1; end < count && rows[end].decision == rows[i].decision;)
            end++;
        data->decisions++;
        if (use == USE_TEST || rows[i].decision % options->sample == 0)
            good = decision_add(data, use, &rows[i], end - i, path, error);
    }
    return good;
}

static bool data_read(struct data *data, const struct results *results,
                      const struct options *options, struct error *error)
{
    struct run_details *details = run_details_open(results->path, error);
    bool good = details != NULL;
    for (size_t r = 0; good && r < results->run_count; r++) {
        const struct summary_row *run = &results->runs[r];
        struct choice_row *rows = NULL;
        size_t count = 0;
        enum use use = USE_LEARN;
        if (strcmp(run->policy, results->runs[0].policy) != 0) {
            good = error_input(error, "%s: has runs of %s and %s; distill learns from one policy",
                               results->path, results->runs[0].policy, run->policy);
            break;
        }
        if (seed_listed("--prune-seeds", &options->prune, run->seed, &good, error))
            use = USE_PRUNE;
        if (seed_listed("--test-seeds", &options->test, run->seed, &good, error))
            use = USE_TEST;
        good = good && run_details_choices(details, run->hash, &rows, &count, error) &&
               rows_add(data, use, rows, count, options, results->path, error);
        data->runs[use]++;
        free(rows);
    }
    run_details_close(details);
    return good;
}

/* ---- Learning -------------------------------------------------------------------------------- */

static void votes_fill(struct arena *arena, const struct data *data, struct tree_node *leaf)
{
    leaf->votes = arena_allocate(arena, 8, sizeof *leaf->votes);
    for (uint32_t c = 0; c < data->action_count; c++) {
        const struct tree_vote vote = {data->actions[c], leaf->counts[c]};
        size_t at = leaf->vote_count;
        while (at > 0 && (vote.count > leaf->votes[at - 1].count ||
                          (vote.count == leaf->votes[at - 1].count &&
                           (vote.action.batch < leaf->votes[at - 1].action.batch ||
                            (vote.action.batch == leaf->votes[at - 1].action.batch &&
                             vote.action.rank < leaf->votes[at - 1].action.rank)))))
            at--;
        if (vote.count == 0 || at >= 8)
            continue;
        const size_t last = leaf->vote_count < 8 ? leaf->vote_count : 7;
        memmove(&leaf->votes[at + 1], &leaf->votes[at], (last - at) * sizeof *leaf->votes);
        leaf->votes[at] = vote;
        leaf->vote_count = last + 1;
    }
}

/* Sets what the leaves say, from their counts; at most eight votes each. */
static void leaves_fill(struct arena *arena, const struct data *data, struct tree_node *node,
                        bool queue)
{
    if (node->yes != NULL) {
        leaves_fill(arena, data, node->yes, queue);
        leaves_fill(arena, data, node->no, queue);
    } else if (queue) {
        node->chosen = node->counts[1];
        node->rows = node->counts[0] + node->counts[1];
    } else {
        votes_fill(arena, data, node);
    }
}

/* Tests for each function in turn; its leaf has the function's counts, without waiting. */
static struct tree_node *plain_tree(struct arena *arena, const struct data *data)
{
    struct tree_node *next = NULL;
    for (int f = TREE_FUNCTIONS_MOST - 1; f >= 0; f--) {
        struct tree_node *leaf = arena_allocate(arena, 1, sizeof *leaf);
        leaf->counts = arena_allocate(arena, data->action_count, sizeof *leaf->counts);
        bool seen = false;
        for (size_t i = 0; i < data->configuration[USE_LEARN].count; i++) {
            const struct tree_sample *row = &data->configuration[USE_LEARN].rows[i];
            if (row->values[TREE_function] == f && row->class > 0) {
                leaf->counts[row->class]++;
                seen = true;
            }
        }
        if (!seen)
            continue;
        struct tree_node *test = arena_allocate(arena, 1, sizeof *test);
        *test = (struct tree_node){
            .yes = leaf, .no = next, .feature = TREE_function, .functions = UINT64_C(1) << f};
        next = next == NULL ? leaf : test;
    }
    return next;
}

static void learn(const struct data *data, const struct options *options, bool plain,
                  struct trees *trees)
{
    struct tree_limits limits = {(uint32_t)options->depth, (uint32_t)options->leaves,
                                 (uint32_t)options->rows};
    struct arena *arena = data->arena;
    if (plain)
        limits.leaves = 1;
    const struct samples *queue = data->queue, *configuration = data->configuration;
    trees->queue = tree_grow(arena, queue[USE_LEARN].rows, queue[USE_LEARN].count, 2, limits);
    tree_prune(trees->queue, 2, queue[USE_PRUNE].rows, queue[USE_PRUNE].count);
    trees->configuration =
        plain ? plain_tree(arena, data)
              : tree_grow(arena, configuration[USE_LEARN].rows, configuration[USE_LEARN].count,
                          data->action_count, limits);
    if (!plain)
        tree_prune(trees->configuration, data->action_count, configuration[USE_PRUNE].rows,
                   configuration[USE_PRUNE].count);
    leaves_fill(arena, data, trees->queue, true);
    leaves_fill(arena, data, trees->configuration, false);
}

/* ---- Agreement ------------------------------------------------------------------------------- */

/* Whether the tree's first action that serves is the teacher's, in the batches that the function
 * was seen with. */
static bool configures_alike(const struct data *data, const struct tree_node *tree,
                             const struct choice_row *row, const int64_t *values)
{
    const struct tree_node *leaf = tree_leaf(tree, values);
    size_t v = 0;
    while (v < leaf->vote_count && leaf->votes[v].action.batch == 0)
        v++;
    if (v == leaf->vote_count)
        return false;
    uint32_t batch = leaf->votes[v].action.batch;
    while (batch > 1 && (batch > row->queue_length ||
                         (batch <= 64 && (data->batches[row->function] >> (batch - 1) & 1) == 0)))
        batch--;
    return batch == row->batch && leaf->votes[v].action.rank == row->rank;
}

/* The row that the tree would serve: the greatest share, then the least slack, then the first. */
static size_t queue_of(const struct tree_node *tree, const struct choice_row *rows, size_t count)
{
    size_t best = 0;
    const struct tree_node *best_leaf = NULL;
    for (size_t i = 0; i < count; i++) {
        int64_t values[TREE_FEATURE_COUNT];
        tree_features_recorded(&rows[i], values);
        const struct tree_node *leaf = tree_leaf(tree, values);
        const uint64_t one = (uint64_t)leaf->chosen * (best_leaf != NULL ? best_leaf->rows : 1);
        const uint64_t other = (uint64_t)leaf->rows * (best_leaf != NULL ? best_leaf->chosen : 0);
        if (best_leaf == NULL || one > other ||
            (one == other && rows[i].slack < rows[best].slack)) {
            best = i;
            best_leaf = leaf;
        }
    }
    return best;
}

static struct agreement agree(const struct data *data, const struct trees *trees,
                              const struct trees *plain)
{
    struct agreement found = {0};
    for (size_t i = 0, end; i < data->test_count; i = end) {
        bool served = false;
        for (end = i; end < data->test_count &&
                      (end == i || (data->tests[end].decision == data->tests[i].decision &&
                                    data->tests[end].time_ns == data->tests[i].time_ns));
             end++)
            served = served || data->tests[end].chosen;
        const struct choice_row *rows = &data->tests[i];
        if (served && end - i >= 2) {
            found.queues++;
            found.queue_hits += rows[queue_of(trees->queue, rows, end - i)].chosen;
            found.slack_hits += rows[queue_of(plain->queue, rows, end - i)].chosen;
        }
        for (size_t j = 0; j < end - i; j++) {
            int64_t values[TREE_FEATURE_COUNT];
            tree_features_recorded(&rows[j], values);
            if (!rows[j].chosen)
                continue;
            found.batches++;
            found.batch_hits += configures_alike(data, trees->configuration, &rows[j], values);
            found.frequent_hits += configures_alike(data, plain->configuration, &rows[j], values);
        }
    }
    return found;
}

/* ---- Output ---------------------------------------------------------------------------------- */

static bool trees_save(const struct options *options, const struct results *results,
                       const struct trees *trees, const struct data *data, struct error *error)
{
    struct atomic_file file = {0};
    if (!atomic_file_open(&file, options->out, error))
        return false;
    fprintf(file.stream,
            "# %s of policy %s: %zu runs to learn from, %zu to prune; one of %" PRIu64
            " decisions\n"
            "# Features, sizes and actions are assumed: no code of such a tree is public.\n"
            "# slack, path, free_gpu: 1/1000; oldest_wait: us; arrivals: of ten seconds\n",
            options->student == STUDENT_PLAIN ? "Plain student" : "Trees", results->runs[0].policy,
            data->runs[USE_LEARN], data->runs[USE_PRUNE], options->sample);
    trees_write(file.stream, trees);
    return atomic_file_end(&file, true, error);
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

static bool told(const struct options *options, const struct results *results,
                 const struct trees *trees, const struct data *data, const struct agreement *found,
                 struct error *error)
{
    if (options->json) {
        cJSON *root = cJSON_CreateObject();
        const bool good =
            json_put(root,
                     "policy %s learn_runs %d prune_runs %d test_runs %d queue_leaves %d "
                     "configuration_leaves %d queue_depth %d configuration_depth %d",
                     results->runs[0].policy, (int)data->runs[USE_LEARN],
                     (int)data->runs[USE_PRUNE], (int)data->runs[USE_TEST],
                     (int)tree_leaves(trees->queue), (int)tree_leaves(trees->configuration),
                     (int)tree_depth(trees->queue), (int)tree_depth(trees->configuration)) &&
            json_put(root,
                     "queue_decisions %d queue_agreement %g least_slack_agreement %g "
                     "dispatches %d configuration_agreement %g most_frequent_agreement %g",
                     (int)found->queues, percent(found->queue_hits, found->queues) / 100,
                     percent(found->slack_hits, found->queues) / 100, (int)found->batches,
                     percent(found->batch_hits, found->batches) / 100,
                     percent(found->frequent_hits, found->batches) / 100);
        return good ? cli_print_json(root, error) : (cJSON_Delete(root), false);
    }
    printf("policy %s: %zu runs to learn from, %zu to prune, %zu to test; %" PRIu64 " decisions\n"
           "trees: queue %zu leaves, depth %zu; configuration %zu leaves, depth %zu\n",
           results->runs[0].policy, data->runs[USE_LEARN], data->runs[USE_PRUNE],
           data->runs[USE_TEST], data->decisions, tree_leaves(trees->queue),
           tree_depth(trees->queue), tree_leaves(trees->configuration),
           tree_depth(trees->configuration));
    if (found->batches == 0)
        printf("agreement: not measured; --test-seeds names runs for it\n");
    else
        printf("agreement         decisions  student %%  plain %%  plain student\n"
               "queue, of two up  %9" PRIu64 "  %9.1f  %7.1f  least slack first\n"
               "configuration     %9" PRIu64 "  %9.1f  %7.1f  the function's most frequent one\n",
               found->queues, percent(found->queue_hits, found->queues),
               percent(found->slack_hits, found->queues), found->batches,
               percent(found->batch_hits, found->batches),
               percent(found->frequent_hits, found->batches));
    return true;
}

static bool distill(const struct options *options, const struct results *results, struct data *data,
                    const struct workload *workload, struct error *error)
{
    struct trees trees, plain = {.workload = workload};
    learn(data, options, true, &plain);
    trees = plain;
    if (options->student == STUDENT_TREE)
        learn(data, options, false, &trees);
    const struct agreement found = agree(data, &trees, &plain);
    return trees_save(options, results, &trees, data, error) &&
           told(options, results, &trees, data, &found, error);
}

static bool functions_equal(const struct workload *a, const struct workload *b)
{
    bool equal = a->function_count == b->function_count;
    for (size_t f = 0; equal && f < a->function_count; f++)
        equal = strcmp(a->functions[f].name, b->functions[f].name) == 0;
    return equal;
}

/* The names of the functions, from the first run of the first file. ERROR_INPUT if another run has
 * other functions, because rows have their numbers, or choices of another policy. */
static bool outline_read(const struct results *results, const char *teacher,
                         struct outline *outline, struct error *error)
{
    char asked[96];
    (void)snprintf(asked, sizeof asked, "\"shadow\":\"%s\"", teacher);
    struct run_details *details = run_details_open(results->path, error);
    bool good = details != NULL;
    for (size_t r = 0; good && r < results->run_count; r++) {
        struct outline other = {.closed = false};
        const bool first = outline->workload.function_count == 0;
        char *text = run_details_text(details, results->runs[r].hash, "configuration");
        good = text != NULL && outline_load(text, first ? outline : &other, NULL);
        const bool taught = strcmp(results->runs[r].policy, teacher) == 0 ||
                            (text != NULL && strstr(text, asked) != NULL);
        free(text);
        if (good && !taught)
            good = error_input(error, "%s: run %s has no choices of %s, the first file's policy",
                               results->path, results->runs[r].hash, teacher);
        else if (!good)
            error_input(error, "%s: the configuration of run %s is damaged; run it again",
                        results->path, results->runs[r].hash);
        else if (!first && !functions_equal(&outline->workload, &other.workload))
            good = error_input(error,
                               "%s: run %s has other functions than the first; distill learns "
                               "from runs with the same list of them",
                               results->path, results->runs[r].hash);
        outline_clear(&other);
    }
    run_details_close(details);
    return good;
}

/* Reads the file; returns its results if it is the first, which names the teacher. */
static bool file_read(const char *path, const struct options *options, struct data *data,
                      struct outline *outline, struct results **first, struct error *error)
{
    struct results *results = results_load(path, error);
    const bool good =
        results != NULL && cli_check_output("--out", options->out, "the results", path, error) &&
        (results->run_count > 0 || error_input(error, "%s: has no runs to learn from", path)) &&
        data_read(data, results, options, error) &&
        outline_read(results, (*first != NULL ? *first : results)->runs[0].policy, outline, error);
    if (*first == NULL)
        *first = results;
    else
        results_free(results);
    return good;
}

/* ---- Rounds ---------------------------------------------------------------------------------- */

/* Repeats the sweep that made the results, with the student in --out and the teacher asked in its
 * states, into `path`. */
static bool student_sweep(const struct options *options, const struct results *results,
                          const char *path, bool quiet, struct error *error)
{
    char *student = realpath(options->out, NULL), *policy = NULL;
    const char *teacher = results->runs[0].policy;
    wordexp_t words = {.we_wordc = 0};
    bool good = results->command != NULL && student != NULL &&
                wordexp(results->command, &words, WRDE_NOCMD | WRDE_UNDEF) == 0 &&
                words.we_wordc > 2 && strcmp(words.we_wordv[1], "sweep") == 0;
    if (!good)
        error_input(error,
                    "%s: does not say which sweep made it, for --rounds to repeat; sweep the "
                    "student with \"shadow\": \"%s\", and name those results as a further file",
                    results->path, teacher);
    else if (asprintf(&policy,
                      "matrix.policy=[{\"name\":\"tree\",\"file\":\"%s\",\"shadow\":\"%s\"}]",
                      student, teacher) < 0)
        good = error_run(error, "no memory for the student's sweep");
    if (good) {
        const size_t count = words.we_wordc - 1;
        char *further[] = {"--set", policy, "--resume", "--out", (char *)path};
        char *argv[count + sizeof further / sizeof *further];
        memcpy(argv, words.we_wordv + 1, count * sizeof *argv);
        memcpy(argv + count, further, sizeof further);
        guard_divert_output();
        good = command_sweep.run((int)(sizeof argv / sizeof *argv), argv, quiet, error);
        (void)guard_restore_output();
    }
    free(policy);
    free(student);
    wordfree(&words);
    return good;
}

/* Learns from what the teacher chose so far, and adds what it would choose in the student's states.
 */
static bool round_run(uint64_t round, const struct options *options, struct results *results,
                      struct data *data, struct outline *outline, bool quiet, struct error *error)
{
    struct trees trees = {.workload = &outline->workload};
    char *path = NULL;
    learn(data, options, options->student == STUDENT_PLAIN, &trees);
    const bool good = trees_save(options, results, &trees, data, error) &&
                      (asprintf(&path, "%s.round%" PRIu64 ".h5", options->out, round) >= 0 ||
                       error_run(error, "no memory for a name")) &&
                      student_sweep(options, results, path, quiet, error) &&
                      file_read(path, options, data, outline, &results, error);
    free(path);
    return good;
}

static bool distill_run(int argc, char **argv, bool quiet, struct error *error)
{
    struct options options = {.depth = 8, .leaves = 64, .rows = 20, .sample = 1, .rounds = 1};
    struct data data = {.arena = arena_create(), .action_count = 1};
    struct outline outline = {.closed = false};
    struct results *results = NULL;
    bool good = cli_parse(&command_distill, &argc, argv, &options, error);
    for (int f = 1; good && f < argc; f++)
        good = file_read(argv[f], &options, &data, &outline, &results, error);
    if (good && (results == NULL || data.queue[USE_LEARN].count == 0 ||
                 data.configuration[USE_LEARN].count == 0))
        good = error_input(error,
                           "%s: no run is left to learn from; leave some of its seeds out of "
                           "--prune-seeds and --test-seeds",
                           argv[1]);
    for (uint64_t round = 2; good && results != NULL && round <= options.rounds; round++)
        good = round_run(round, &options, results, &data, &outline, quiet, error);
    good = good && results != NULL && distill(&options, results, &data, &outline.workload, error);
    outline_clear(&outline);
    arena_destroy(data.arena);
    results_free(results);
    return good;
}

const struct command command_distill = {
    .name = "distill",
    .summary = "learn two decision trees from a policy's recorded choices",
    .help =
        "The runs must have been recorded with --set record=choices, all under one policy, the "
        "teacher. Further files may have runs of the learned tree with \"shadow\": \"esg\", "
        "which record ESG's choices in the tree's states. --rounds 2 makes such a file, "
        "TREE.txt.round2.h5, and learns from both. Only esg can be a shadow. The policy \"tree\" "
        "runs the file: {\"name\": \"tree\", \"file\": \"TREE.txt\"}. It is text that you can "
        "read and edit.\n"
        "\n"
        "Example: esgsim distill choices.h5 --out tree.txt --prune-seeds 6,7 --test-seeds 8-12\n",
    .run = distill_run,
    .operands = "F.h5…",
    .options = distill_table,
};
