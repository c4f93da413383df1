/* Decision trees for scheduling, as a person can read and edit them.
 *
 * A file has two trees. The first says how likely the teacher serves a queue, the second how it
 * configures the batch. A line holds one test or one leaf; two blanks more are one step down:
 *
 *     queue
 *       if slack <= 312
 *         chosen 31 of 240
 *       else
 *         chosen 2 of 90
 *     configuration
 *       if function is classification, deblur
 *         serve 4:0 x 120, 2:3 x 30, none x 4
 *       else
 *         serve 1:0 x 7
 *
 * Features are those of features.h. "B:R" is a batch of B jobs by the configuration of rank R, from
 * 0, among the function's configurations of that batch in order of time. So a tree also serves
 * functions that its teacher did not know. "none" waits. Lines that begin with # are comments.
 *
 * After Hu et al. (arXiv 2405.19131), who distil a learned scheduler into trees. Their code is not
 * public: features, sizes, actions and this format are assumed.
 */
#ifndef ESGSIM_SCHED_CHOICES_TREE_H
#define ESGSIM_SCHED_CHOICES_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sched/choices/features.h"
#include "sim/base/arena.h"
#include "sim/base/error.h"

enum { TREE_DEPTH_MOST = 16, TREE_LINES_MOST = 10000, TREE_FUNCTIONS_MOST = 64 };

/* A configuration relative to its function. batch 0: wait. */
struct tree_action {
    uint16_t batch, rank;
};

struct tree_vote {
    struct tree_action action;
    uint32_t count;
};

struct tree_node {
    struct tree_node *yes, *no; /* NULL: a leaf */
    enum tree_feature feature;
    int64_t most;       /* yes: the feature is at most this */
    uint64_t functions; /* of TREE_function, yes: bit of the function */
    uint32_t *counts;   /* rows by class, while it is learned; NULL after it was loaded */
    uint32_t step;      /* of pruning that made it a leaf; UINT32_MAX: none */
    /* Of a leaf: */
    uint32_t chosen, rows;
    struct tree_vote *votes; /* the most votes first; ties: the smaller batch, then rank */
    size_t vote_count;
};

struct trees {
    struct tree_node *queue, *configuration;
    const struct workload *workload; /* whose functions the tests name */
    char *unknown; /* functions that tests name and the workload lacks: "a, b"; NULL: none */
};

/* The child of a node that is no leaf to which the values lead. */
const struct tree_node *tree_child(const struct tree_node *node, const int64_t *values);

/* The leaf that the values lead to. O(depth). */
const struct tree_node *tree_leaf(const struct tree_node *tree, const int64_t *values);

/* Leaves of a tree, and its depth: 0 for a leaf. */
size_t tree_leaves(const struct tree_node *tree);
size_t tree_depth(const struct tree_node *tree);

/* A queue in which jobs wait. */
struct tree_candidate {
    uint32_t queue;
    const struct tree_node *leaf; /* of the first tree */
    int64_t values[TREE_FEATURE_COUNT];
    bool tried;
};

/* Tries the best of the candidates that are not tried: of the leaf with the greatest share of
 * served rows; ties: the least slack, then the first. NULL: all are tried. O(count). */
struct tree_candidate *tree_first(struct tree_candidate *candidates, size_t count);
/* The first vote of a leaf of the second tree that serves. NULL: the leaf's first vote is to wait,
 * unless it is `forced`; or all are. */
const struct tree_vote *tree_serves(const struct tree_node *leaf, bool forced);

/* Reads the file into the arena. Only the names of the workload's functions are used; NULL: those
 * that the file names. False: ERROR_INPUT "FILE:LINE: …" that says what would be right; also if
 * some function would always wait. */
bool trees_load(struct arena *arena, const char *path, const struct workload *workload,
                struct trees *trees, struct error *error);
/* The same from its text. The path is for messages. */
bool trees_parse(struct arena *arena, const char *text, const char *path,
                 const struct workload *workload, struct trees *trees, struct error *error);

/* Writes them in that form. */
void trees_write(FILE *out, const struct trees *trees);

/* A test as it holds (`yes`) or not: "slack <= 312", "slack > 312", "function is a, b",
 * "function is not a, b". */
const char *tree_test_text(struct arena *arena, const struct trees *trees,
                           const struct tree_node *node, bool yes);
/* A leaf as the file has it: "chosen 31 of 240", "serve 4:0 x 120, none x 4". */
const char *tree_leaf_text(struct arena *arena, const struct tree_node *leaf);

#endif
