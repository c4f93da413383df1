/* Trees distilled from a policy, the teacher: grown from the choices that it made, pruned by
 * others, and compared with its choices in further runs (learn.h). */
#ifndef ESGSIM_SCHED_TREE_DISTILL_H
#define ESGSIM_SCHED_TREE_DISTILL_H

#include "sched/tree/learn.h"

/* What the choices of a run are for. */
enum lesson_use { LESSON_LEARN, LESSON_PRUNE, LESSON_TEST, LESSON_USES };

enum { ACTIONS_MOST = 1024 };

/* The choices of all runs. Begin with the arena, which has all below, and one action: to wait. */
struct lessons {
    struct arena *arena;
    struct samples {
        struct tree_sample *rows;
        size_t count;
    } queue[LESSON_USES], configuration[LESSON_USES];
    struct choice_row *tests; /* all rows of test runs */
    size_t test_count;
    struct tree_action actions[ACTIONS_MOST]; /* by class; 0: wait */
    uint32_t action_count;
    uint64_t batches[TREE_FUNCTIONS_MOST]; /* by function: bit b: batch b + 1 was seen */
    size_t runs[LESSON_USES];
    uint64_t decisions;
};

/* Adds the rows of one run in order of decision. All but tests take every `sample`-th decision
 * only. False: ERROR_INPUT, names the file `path`, if it has too many functions or actions. */
bool lessons_add(struct lessons *lessons, enum lesson_use use, const struct choice_row *rows,
                 size_t count, uint64_t sample, const char *path, struct error *error);

/* Learns the two trees. `plain`: the simplest student, which serves the queue of least slack with
 * its function's most frequent configuration. The arena has them. */
void lessons_learn(const struct lessons *lessons, struct tree_limits limits, bool plain,
                   struct trees *trees);

/* How often a student agrees with the teacher in the tests, and how often the simplest one does. */
struct agreement {
    uint64_t queues, queue_hits, slack_hits;     /* decisions with two queues or more */
    uint64_t batches, batch_hits, frequent_hits; /* batches that the teacher started */
};
struct agreement lessons_test(const struct lessons *lessons, const struct trees *trees,
                              const struct trees *plain);

/* Writes the trees (trees_write) behind comments that say what they were learned from. */
void lessons_write(FILE *out, const struct lessons *lessons, const struct trees *trees,
                   const char *teacher, bool plain, uint64_t sample);

#endif
