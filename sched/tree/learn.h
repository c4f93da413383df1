/* Learning of decision trees from rows with classes.
 *
 * Classification trees after Breiman, Friedman, Olshen and Stone (1984): Gini's impurity, growth by
 * the split that reduces it most, cost-complexity pruning (chapter 3). The pruned tree is the one
 * that other rows judge best, by the Brier score. Two classes make it the regression of 0 and 1.
 * Equal rows give equal trees, on every machine.
 */
#ifndef ESGSIM_SCHED_TREE_LEARN_H
#define ESGSIM_SCHED_TREE_LEARN_H

#include "sched/choices/tree.h"

struct tree_sample {
    int64_t values[TREE_FEATURE_COUNT];
    uint32_t class;
};

struct tree_limits {
    uint32_t depth, leaves; /* at most */
    uint32_t rows;          /* at least, per leaf */
};

/* Grows a tree on at least one row; classes are below `classes`. Each node has its counts by class.
 * Numbers are split by "at most". Functions are ordered by their share of the node's most frequent
 * class and split in that order, which is optimal for two classes (the same book, section 4.2).
 * O(depth × features × rows × log rows). */
struct tree_node *tree_grow(struct arena *arena, const struct tree_sample *rows, size_t count,
                            uint32_t classes, struct tree_limits limits);

/* Prunes it to the subtree of its cost-complexity sequence that has the least Brier score on these
 * rows; ties: the smaller one. No rows: leaves it as it is. O(leaves × (rows × depth + leaves)). */
void tree_prune(struct tree_node *tree, uint32_t classes, const struct tree_sample *rows,
                size_t count);

#endif
