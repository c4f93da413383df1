#include "sched/tree/learn.h"

#include <stdlib.h>
#include <string.h>

/* A split must lower the impurity by more than the rounding of its sum. */
static const double GAIN_LEAST = 1e-6;

struct split {
    double gain; /* 0: none */
    enum tree_feature feature;
    int64_t most;
    uint64_t functions;
};

/* A leaf that may grow. */
struct growing {
    struct tree_node *node;
    uint32_t *rows;
    size_t count;
    uint32_t depth;
    struct split split;
};

struct valued {
    int64_t value;
    uint32_t row;
};

struct learner {
    struct arena *arena;
    const struct tree_sample *rows;
    uint32_t classes;
    struct tree_limits limits;
    struct valued *sorted;  /* scratch, by row */
    uint32_t *left, *right; /* scratch, by class */
};

/* Rows by class on one side of a split, and the sum of their squares. */
struct side {
    uint32_t *counts;
    double squares, rows;
};

static void side_move(struct side *side, uint32_t class, double by)
{
    const double before = side->counts[class];
    side->squares += (before + by) * (before + by) - before * before;
    side->rows += by;
    side->counts[class] = (uint32_t)(before + by);
}

/* Σ counts² / rows: the rows less their impurity. */
static double purity(const struct side *side)
{
    return side->rows > 0 ? side->squares / side->rows : 0;
}

static void sides_begin(const struct learner *learner, const struct tree_node *node,
                        struct side *left, struct side *right)
{
    *left = (struct side){.counts = learner->left};
    *right = (struct side){.counts = learner->right};
    memset(learner->left, 0, learner->classes * sizeof *learner->left);
    memset(learner->right, 0, learner->classes * sizeof *learner->right);
    for (uint32_t c = 0; c < learner->classes; c++)
        if (node->counts[c] > 0)
            side_move(right, c, node->counts[c]);
}

static int valued_compare(const void *left, const void *right)
{
    const struct valued *a = left, *b = right;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

/* Tries the splits of the rows in the order of `sorted`, between unlike values. */
static void split_scan(const struct learner *learner, struct growing *leaf,
                       enum tree_feature feature, const int64_t *functions)
{
    struct side left, right;
    sides_begin(learner, leaf->node, &left, &right);
    struct split *best = &leaf->split;
    const double whole = purity(&right);
    uint64_t taken = 0;
    for (size_t i = 0; i + 1 < leaf->count; i++) {
        const struct valued *at = &learner->sorted[i];
        side_move(&left, learner->rows[at->row].class, 1);
        side_move(&right, learner->rows[at->row].class, -1);
        if (functions != NULL)
            taken |= UINT64_C(1) << functions[at->value];
        if (at->value == at[1].value || left.rows < learner->limits.rows ||
            right.rows < learner->limits.rows)
            continue;
        const double gain = purity(&left) + purity(&right) - whole;
        if (gain > best->gain + GAIN_LEAST)
            *best = (struct split){gain, feature, at->value, taken};
    }
}

static void numbers_split(const struct learner *learner, struct growing *leaf,
                          enum tree_feature feature)
{
    for (size_t i = 0; i < leaf->count; i++)
        learner->sorted[i] =
            (struct valued){learner->rows[leaf->rows[i]].values[feature], leaf->rows[i]};
    qsort(learner->sorted, leaf->count, sizeof *learner->sorted, valued_compare);
    split_scan(learner, leaf, feature, NULL);
}

struct share {
    uint64_t of, rows;
    int64_t function;
};

static int share_compare(const void *left, const void *right)
{
    const struct share *a = left, *b = right;
    const uint64_t one = a->of * b->rows, other = b->of * a->rows; /* no rows: first */
    if (one != other)
        return one < other ? -1 : 1;
    return a->function < b->function ? -1 : a->function > b->function;
}

static void functions_split(const struct learner *learner, struct growing *leaf)
{
    struct share shares[TREE_FUNCTIONS_MOST];
    int64_t place[TREE_FUNCTIONS_MOST], functions[TREE_FUNCTIONS_MOST];
    uint32_t frequent = 0;
    for (uint32_t c = 1; c < learner->classes; c++)
        if (leaf->node->counts[c] > leaf->node->counts[frequent])
            frequent = c;
    for (int f = 0; f < TREE_FUNCTIONS_MOST; f++)
        shares[f] = (struct share){.function = f};
    for (size_t i = 0; i < leaf->count; i++) {
        const struct tree_sample *row = &learner->rows[leaf->rows[i]];
        shares[row->values[TREE_function]].rows++;
        shares[row->values[TREE_function]].of += row->class == frequent;
    }
    qsort(shares, TREE_FUNCTIONS_MOST, sizeof *shares, share_compare);
    for (int i = 0; i < TREE_FUNCTIONS_MOST; i++) {
        place[shares[i].function] = i;
        functions[i] = shares[i].function;
    }
    for (size_t i = 0; i < leaf->count; i++)
        learner->sorted[i] = (struct valued){
            place[learner->rows[leaf->rows[i]].values[TREE_function]], leaf->rows[i]};
    qsort(learner->sorted, leaf->count, sizeof *learner->sorted, valued_compare);
    split_scan(learner, leaf, TREE_function, functions);
}

/* Counts the node's rows and finds its best split. */
static void growing_look(const struct learner *learner, struct growing *leaf)
{
    leaf->node->counts =
        arena_allocate(learner->arena, learner->classes, sizeof *leaf->node->counts);
    leaf->node->step = UINT32_MAX;
    leaf->split = (struct split){0};
    for (size_t i = 0; i < leaf->count; i++)
        leaf->node->counts[learner->rows[leaf->rows[i]].class]++;
    if (leaf->depth >= learner->limits.depth || leaf->count < 2)
        return;
    for (int f = 0; f < TREE_FEATURE_COUNT; f++)
        if (f != TREE_function)
            numbers_split(learner, leaf, (enum tree_feature)f);
    functions_split(learner, leaf);
}

/* Splits the leaf, which becomes its "yes"; `other` becomes its "no". */
static void growing_split(const struct learner *learner, struct growing *leaf,
                          struct growing *other)
{
    struct tree_node *node = leaf->node;
    node->feature = leaf->split.feature;
    node->most = leaf->split.most;
    node->functions = leaf->split.functions;
    node->yes = arena_allocate(learner->arena, 1, sizeof *node);
    node->no = arena_allocate(learner->arena, 1, sizeof *node);
    uint32_t *no = arena_allocate(learner->arena, leaf->count, sizeof *no);
    size_t yes_count = 0, no_count = 0;
    for (size_t i = 0; i < leaf->count; i++) {
        const uint32_t row = leaf->rows[i];
        if (tree_child(node, learner->rows[row].values) == node->yes)
            leaf->rows[yes_count++] = row;
        else
            no[no_count++] = row;
    }
    *other =
        (struct growing){.node = node->no, .rows = no, .count = no_count, .depth = leaf->depth + 1};
    leaf->node = node->yes;
    leaf->count = yes_count;
    leaf->depth++;
    growing_look(learner, leaf);
    growing_look(learner, other);
}

struct tree_node *tree_grow(struct arena *arena, const struct tree_sample *rows, size_t count,
                            uint32_t classes, struct tree_limits limits)
{
    struct learner learner = {.arena = arena, .rows = rows, .classes = classes, .limits = limits};
    struct growing *leaves = arena_allocate(arena, limits.leaves, sizeof *leaves);
    learner.sorted = arena_allocate(arena, count, sizeof *learner.sorted);
    learner.left = arena_allocate(arena, classes, sizeof *learner.left);
    learner.right = arena_allocate(arena, classes, sizeof *learner.right);
    struct tree_node *root = arena_allocate(arena, 1, sizeof *root);
    leaves[0] = (struct growing){.node = root, .count = count};
    leaves[0].rows = arena_allocate(arena, count, sizeof *leaves[0].rows);
    for (size_t i = 0; i < count; i++)
        leaves[0].rows[i] = (uint32_t)i;
    growing_look(&learner, &leaves[0]);
    for (size_t grown = 1; grown < limits.leaves; grown++) {
        size_t best = 0;
        for (size_t i = 1; i < grown; i++)
            if (leaves[i].split.gain > leaves[best].split.gain)
                best = i;
        if (leaves[best].split.gain <= 0)
            break;
        growing_split(&learner, &leaves[best], &leaves[grown]);
    }
    return root;
}

/* ---- Pruning --------------------------------------------------------------------------------- */

static double impurity(const struct tree_node *node, uint32_t classes)
{
    double rows = 0, squares = 0;
    for (uint32_t c = 0; c < classes; c++) {
        rows += node->counts[c];
        squares += (double)node->counts[c] * node->counts[c];
    }
    return rows - squares / rows;
}

struct weakest {
    struct tree_node *node;
    double link;
};

/* Sums the impurity of the leaves below; returns their number. Finds the node whose leaves lower it
 * least per leaf. */
static size_t weakest_find(struct tree_node *node, uint32_t classes, double *sum,
                           struct weakest *weakest)
{
    const double own = impurity(node, classes);
    if (node->yes == NULL || node->step != UINT32_MAX) {
        *sum += own;
        return 1;
    }
    double below = 0;
    const size_t leaves = weakest_find(node->yes, classes, &below, weakest) +
                          weakest_find(node->no, classes, &below, weakest);
    const double link = (own - below) / (double)(leaves - 1);
    if (weakest->node == NULL || link <= weakest->link)
        *weakest = (struct weakest){node, link};
    *sum += below;
    return leaves;
}

/* The mean of Σ (share − outcome)² over the rows, with the nodes pruned up to `step` as leaves. */
static double brier(const struct tree_node *tree, uint32_t step, uint32_t classes,
                    const struct tree_sample *rows, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        const struct tree_node *node = tree;
        while (node->yes != NULL && (node->step == UINT32_MAX || node->step > step))
            node = tree_child(node, rows[i].values);
        double total = 0, squares = 0;
        for (uint32_t c = 0; c < classes; c++) {
            total += node->counts[c];
            squares += (double)node->counts[c] * node->counts[c];
        }
        const double share = rows[i].class < classes ? node->counts[rows[i].class] / total : 0;
        sum += 1 - 2 * share + squares / (total * total);
    }
    return sum / (double)count;
}

static void cut(struct tree_node *node, uint32_t step)
{
    if (node->yes == NULL)
        return;
    if (node->step != UINT32_MAX && node->step <= step) {
        node->yes = node->no = NULL;
        return;
    }
    cut(node->yes, step);
    cut(node->no, step);
}

void tree_prune(struct tree_node *tree, uint32_t classes, const struct tree_sample *rows,
                size_t count)
{
    if (count == 0)
        return;
    uint32_t best = 0;
    double least = brier(tree, 0, classes, rows, count);
    for (uint32_t step = 1;; step++) {
        struct weakest weakest = {NULL, 0};
        double sum = 0;
        (void)weakest_find(tree, classes, &sum, &weakest);
        if (weakest.node == NULL)
            break;
        weakest.node->step = step;
        const double score = brier(tree, step, classes, rows, count);
        if (score <= least) {
            least = score;
            best = step;
        }
    }
    cut(tree, best);
}
