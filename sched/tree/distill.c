#include "sched/tree/distill.h"

#include <inttypes.h>
#include <string.h>

/* ---- Rows ------------------------------------------------------------------------------------ */

static void sample_add(const struct lessons *lessons, struct samples *samples,
                       const struct choice_row *row, uint32_t class)
{
    struct tree_sample *sample = ARENA_NEXT(lessons->arena, samples->rows, samples->count);
    tree_features_recorded(row, sample->values);
    sample->class = class;
}

static uint32_t action_class(struct lessons *lessons, const struct choice_row *row)
{
    uint32_t at = 0;
    while (at < lessons->action_count &&
           (lessons->actions[at].batch != row->batch || lessons->actions[at].rank != row->rank))
        at++;
    if (at == lessons->action_count && at < ACTIONS_MOST)
        lessons->actions[lessons->action_count++] = (struct tree_action){row->batch, row->rank};
    return at;
}

/* Takes the rows of one decision. */
static bool decision_add(struct lessons *lessons, enum lesson_use use,
                         const struct choice_row *rows, size_t count, const char *path,
                         struct error *error)
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
            sample_add(lessons, &lessons->queue[use], &rows[i], rows[i].chosen);
        if (served && !rows[i].chosen)
            continue;
        const uint32_t class = served ? action_class(lessons, &rows[i]) : 0;
        if (class == ACTIONS_MOST)
            return error_input(error, "%s: more than %d unlike actions", path, ACTIONS_MOST);
        if (served && rows[i].batch <= 64)
            lessons->batches[rows[i].function] |= UINT64_C(1) << (rows[i].batch - 1);
        sample_add(lessons, &lessons->configuration[use], &rows[i], class);
    }
    return true;
}

bool lessons_add(struct lessons *lessons, enum lesson_use use, const struct choice_row *rows,
                 size_t count, uint64_t sample, const char *path, struct error *error)
{
    if (use == LESSON_TEST) {
        arena_reserve(lessons->arena, &lessons->tests, lessons->test_count + count,
                      sizeof *lessons->tests);
        memcpy(&lessons->tests[lessons->test_count], rows, count * sizeof *rows);
        lessons->test_count += count;
    }
    bool good = true;
    lessons->runs[use]++;
    for (size_t i = 0, end; good && i < count; i = end) {
        for (end = i + 1; end < count && rows[end].decision == rows[i].decision;)
            end++;
        lessons->decisions++;
        if (use == LESSON_TEST || rows[i].decision % sample == 0)
            good = decision_add(lessons, use, &rows[i], end - i, path, error);
    }
    return good;
}

/* ---- Learning -------------------------------------------------------------------------------- */

static void votes_fill(struct arena *arena, const struct lessons *lessons, struct tree_node *leaf)
{
    leaf->votes = arena_allocate(arena, 8, sizeof *leaf->votes);
    for (uint32_t c = 0; c < lessons->action_count; c++) {
        const struct tree_vote vote = {lessons->actions[c], leaf->counts[c]};
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
static void leaves_fill(struct arena *arena, const struct lessons *lessons, struct tree_node *node,
                        bool queue)
{
    if (node->yes != NULL) {
        leaves_fill(arena, lessons, node->yes, queue);
        leaves_fill(arena, lessons, node->no, queue);
    } else if (queue) {
        node->chosen = node->counts[1];
        node->rows = node->counts[0] + node->counts[1];
    } else {
        votes_fill(arena, lessons, node);
    }
}

/* Tests for each function in turn; its leaf has the function's counts, without waiting. */
static struct tree_node *plain_tree(struct arena *arena, const struct lessons *lessons)
{
    struct tree_node *next = NULL;
    for (int f = TREE_FUNCTIONS_MOST - 1; f >= 0; f--) {
        struct tree_node *leaf = arena_allocate(arena, 1, sizeof *leaf);
        leaf->counts = arena_allocate(arena, lessons->action_count, sizeof *leaf->counts);
        bool seen = false;
        for (size_t i = 0; i < lessons->configuration[LESSON_LEARN].count; i++) {
            const struct tree_sample *row = &lessons->configuration[LESSON_LEARN].rows[i];
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

void lessons_learn(const struct lessons *lessons, struct tree_limits limits, bool plain,
                   struct trees *trees)
{
    struct arena *arena = lessons->arena;
    if (plain)
        limits.leaves = 1;
    const struct samples *queue = lessons->queue, *configuration = lessons->configuration;
    trees->queue = tree_grow(arena, queue[LESSON_LEARN].rows, queue[LESSON_LEARN].count, 2, limits);
    tree_prune(trees->queue, 2, queue[LESSON_PRUNE].rows, queue[LESSON_PRUNE].count);
    trees->configuration =
        plain ? plain_tree(arena, lessons)
              : tree_grow(arena, configuration[LESSON_LEARN].rows,
                          configuration[LESSON_LEARN].count, lessons->action_count, limits);
    if (!plain)
        tree_prune(trees->configuration, lessons->action_count, configuration[LESSON_PRUNE].rows,
                   configuration[LESSON_PRUNE].count);
    leaves_fill(arena, lessons, trees->queue, true);
    leaves_fill(arena, lessons, trees->configuration, false);
}

/* ---- Agreement ------------------------------------------------------------------------------- */

/* Whether the student serves the row as the teacher did, in the batches that the function was seen
 * with. */
static bool configures_alike(const struct lessons *lessons, const struct trees *trees,
                             const struct choice_row *row)
{
    int64_t values[TREE_FEATURE_COUNT];
    tree_features_recorded(row, values);
    const struct tree_vote *vote = tree_serves(tree_leaf(trees->configuration, values), false);
    if (vote == NULL)
        return false; /* it would wait */
    uint32_t batch = vote->action.batch;
    while (batch > 1 &&
           (batch > row->queue_length ||
            (batch <= 64 && (lessons->batches[row->function] >> (batch - 1) & 1) == 0)))
        batch--;
    return batch == row->batch && vote->action.rank == row->rank;
}

/* Whether the queue that the student would serve first, of those in which it does not wait, is the
 * teacher's. */
static bool serves_alike(const struct lessons *lessons, const struct trees *trees,
                         const struct choice_row *rows, size_t count)
{
    struct tree_candidate *all = arena_allocate(lessons->arena, count, sizeof *all), *first;
    for (size_t i = 0; i < count; i++) {
        all[i].queue = (uint32_t)i;
        tree_features_recorded(&rows[i], all[i].values);
        all[i].leaf = tree_leaf(trees->queue, all[i].values);
    }
    do
        first = tree_first(all, count);
    while (first != NULL &&
           tree_serves(tree_leaf(trees->configuration, first->values), false) == NULL);
    const bool alike = first != NULL && rows[first->queue].chosen;
    arena_release(lessons->arena, all);
    return alike;
}

struct agreement lessons_test(const struct lessons *lessons, const struct trees *trees,
                              const struct trees *plain)
{
    struct agreement found = {0};
    for (size_t i = 0, end; i < lessons->test_count; i = end) {
        bool served = false;
        for (end = i; end < lessons->test_count &&
                      (end == i || (lessons->tests[end].decision == lessons->tests[i].decision &&
                                    lessons->tests[end].time_ns == lessons->tests[i].time_ns));
             end++)
            served = served || lessons->tests[end].chosen;
        const struct choice_row *rows = &lessons->tests[i];
        if (served && end - i >= 2) {
            found.queues++;
            found.queue_hits += serves_alike(lessons, trees, rows, end - i);
            found.slack_hits += serves_alike(lessons, plain, rows, end - i);
        }
        for (size_t j = 0; j < end - i; j++) {
            if (!rows[j].chosen)
                continue;
            found.batches++;
            found.batch_hits += configures_alike(lessons, trees, &rows[j]);
            found.frequent_hits += configures_alike(lessons, plain, &rows[j]);
        }
    }
    return found;
}

void lessons_write(FILE *out, const struct lessons *lessons, const struct trees *trees,
                   const char *teacher, bool plain, uint64_t sample)
{
    fprintf(out,
            "# %s of policy %s: %zu runs to learn from, %zu to prune; one of %" PRIu64
            " decisions\n"
            "# Features, sizes and actions are assumed: no code of such a tree is public.\n"
            "# slack, path, free_gpu: 1/1000; oldest_wait: us; arrivals: of ten seconds\n",
            plain ? "Plain student" : "Trees", teacher, lessons->runs[LESSON_LEARN],
            lessons->runs[LESSON_PRUNE], sample);
    trees_write(out, trees);
}
