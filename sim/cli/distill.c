/* esgsim distill: learns two decision trees from a policy's recorded choices. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "results/store/run_details.h"
#include "sched/tree/distill.h"
#include "sim/base/atomic_file.h"
#include "sim/base/json_write.h"
#include "sim/cli/cli.h"

/* In the order of the words of --student. */
enum student { STUDENT_TREE, STUDENT_PLAIN };

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

/* What the files have, and what is learned from. */
struct session {
    struct options options;
    struct tree_limits limits;
    struct lessons lessons;
    struct outline outline;  /* of the first run */
    struct results *results; /* of the first file, whose policy is the teacher */
};

static bool run_take(void *context, const struct results *results, size_t run,
                     const struct choice_row *rows, size_t count, struct error *error)
{
    struct session *session = context;
    const struct options *options = &session->options;
    enum lesson_use use = LESSON_LEARN;
    bool good = true;
    if (cli_seed_listed("--prune-seeds", &options->prune, results->runs[run].seed, &good, error))
        use = LESSON_PRUNE;
    if (cli_seed_listed("--test-seeds", &options->test, results->runs[run].seed, &good, error))
        use = LESSON_TEST;
    return good &&
           lessons_add(&session->lessons, use, rows, count, options->sample, results->path, error);
}

static bool file_read(struct session *session, const char *path, struct error *error)
{
    struct results *results = results_load(path, error);
    const bool first = session->results == NULL;
    if (first)
        session->results = results;
    const bool good =
        results != NULL &&
        cli_check_output("--out", session->options.out, "the results", path, error) &&
        (results->run_count > 0 || error_input(error, "%s: has no runs to learn from", path)) &&
        choices_read(session->lessons.arena, results, session->results->runs[0].policy,
                     &session->outline, run_take, session, error);
    if (!first)
        results_free(results);
    return good;
}

static bool trees_save(const struct session *session, const struct trees *trees,
                       struct error *error)
{
    const struct options *options = &session->options;
    struct atomic_file file = {0};
    if (!atomic_file_open(&file, options->out, error))
        return false;
    lessons_write(file.stream, &session->lessons, trees, session->results->runs[0].policy,
                  options->student == STUDENT_PLAIN, options->sample);
    return atomic_file_end(&file, true, error);
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

static bool print_json(const char *teacher, const struct lessons *lessons,
                       const struct trees *trees, const struct agreement *found,
                       struct error *error)
{
    cJSON *root = cJSON_CreateObject();
    json_put(root,
             "policy %s learn_runs %d prune_runs %d test_runs %d queue_leaves %d "
             "configuration_leaves %d queue_depth %d configuration_depth %d",
             teacher, (int)lessons->runs[LESSON_LEARN], (int)lessons->runs[LESSON_PRUNE],
             (int)lessons->runs[LESSON_TEST], (int)tree_leaves(trees->queue),
             (int)tree_leaves(trees->configuration), (int)tree_depth(trees->queue),
             (int)tree_depth(trees->configuration));
    json_put(root,
             "queue_decisions %d queue_agreement %g least_slack_agreement %g "
             "dispatches %d configuration_agreement %g most_frequent_agreement %g",
             (int)found->queues, percent(found->queue_hits, found->queues) / 100,
             percent(found->slack_hits, found->queues) / 100, (int)found->batches,
             percent(found->batch_hits, found->batches) / 100,
             percent(found->frequent_hits, found->batches) / 100);
    return cli_print_json(root, error);
}

static void print_text(const char *teacher, const struct lessons *lessons,
                       const struct trees *trees, const struct agreement *found)
{
    printf("policy %s: %zu runs to learn from, %zu to prune, %zu to test; %" PRIu64 " decisions\n"
           "trees: queue %zu leaves, depth %zu; configuration %zu leaves, depth %zu\n",
           teacher, lessons->runs[LESSON_LEARN], lessons->runs[LESSON_PRUNE],
           lessons->runs[LESSON_TEST], lessons->decisions, tree_leaves(trees->queue),
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
}

static bool distill(const struct session *session, struct error *error)
{
    const struct lessons *lessons = &session->lessons;
    const char *teacher = session->results->runs[0].policy;
    struct trees trees, plain = {.workload = &session->outline.workload};
    lessons_learn(lessons, session->limits, true, &plain);
    trees = plain;
    if (session->options.student == STUDENT_TREE)
        lessons_learn(lessons, session->limits, false, &trees);
    const struct agreement found = lessons_test(lessons, &trees, &plain);
    if (!trees_save(session, &trees, error))
        return false;
    if (session->options.json)
        return print_json(teacher, lessons, &trees, &found, error);
    print_text(teacher, lessons, &trees, &found);
    return true;
}

/* Sweeps as the results were made, but with the student in --out and the teacher asked in its
 * states, into `path`. */
static bool student_sweep(struct arena *arena, const struct options *options,
                          const struct results *results, const char *path, bool quiet,
                          struct error *error)
{
    char student[PATH_MAX];
    const char *teacher = results->runs[0].policy;
    char *policy =
        arena_text(arena, "matrix.policy=[{\"name\":\"tree\",\"file\":\"%s\",\"shadow\":\"%s\"}]",
                   realpath(options->out, student) != NULL ? student : options->out, teacher);
    return cli_sweep_again(results->command, policy, path, quiet, error) ||
           (error->kind == ERROR_NONE &&
            error_input(error,
                        "%s: does not say which sweep made it, for --rounds to repeat; sweep the "
                        "student with \"shadow\": \"%s\", and name those results as a further file",
                        results->path, teacher));
}

/* Learns from what the teacher chose so far, and adds what it would choose in the student's states.
 */
static bool round_run(uint64_t round, struct session *session, bool quiet, struct error *error)
{
    const struct options *options = &session->options;
    struct trees trees = {.workload = &session->outline.workload};
    struct arena *arena = session->lessons.arena;
    const char *path = arena_text(arena, "%s.round%" PRIu64 ".h5", options->out, round);
    lessons_learn(&session->lessons, session->limits, options->student == STUDENT_PLAIN, &trees);
    return trees_save(session, &trees, error) &&
           student_sweep(arena, options, session->results, path, quiet, error) &&
           file_read(session, path, error);
}

static bool distill_run(int argc, char **argv, bool quiet, struct error *error)
{
    struct session session = {
        .options = {.depth = 8, .leaves = 64, .rows = 20, .sample = 1, .rounds = 1},
        .lessons = {.arena = arena_create(), .action_count = 1}};
    const struct options *options = &session.options;
    bool good = cli_parse(&command_distill, &argc, argv, &session.options, error);
    session.limits = (struct tree_limits){(uint32_t)options->depth, (uint32_t)options->leaves,
                                          (uint32_t)options->rows};
    for (int f = 1; good && f < argc; f++)
        good = file_read(&session, argv[f], error);
    if (good && (session.lessons.queue[LESSON_LEARN].count == 0 ||
                 session.lessons.configuration[LESSON_LEARN].count == 0))
        good = error_input(error,
                           "%s: no run is left to learn from; leave some of its seeds out of "
                           "--prune-seeds and --test-seeds",
                           argv[1]);
    for (uint64_t round = 2; good && round <= options->rounds; round++)
        good = round_run(round, &session, quiet, error);
    good = good && distill(&session, error);
    arena_destroy(session.lessons.arena);
    results_free(session.results);
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
