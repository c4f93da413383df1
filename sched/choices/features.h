/* What a decision knows of a queue, in whole numbers: the features of a recorded choice.
 *
 * The platform records these features beside each choice of a policy ("record": "choices"), and the
 * policy `tree` reads them before it decides. Hu et al. (arXiv 2405.19131) name no features for
 * this system, so the list is assumed.
 */
#ifndef ESGSIM_SCHED_CHOICES_FEATURES_H
#define ESGSIM_SCHED_CHOICES_FEATURES_H

#include <stdint.h>

#include "sched/policy.h"
#include "sim/base/records.h"

/* In the order of the columns of /runs/<hash>/choices, which say what they mean. */
#define TREE_FEATURES(F)                                                                           \
    F(slack)                                                                                       \
    F(path)                                                                                        \
    F(queue_length)                                                                                \
    F(oldest_wait)                                                                                 \
    F(free_gpu)                                                                                    \
    F(free_vcpus)                                                                                  \
    F(warm)                                                                                        \
    F(depth)                                                                                       \
    F(arrivals)                                                                                    \
    F(function)

enum tree_feature {
#define TREE_FEATURE(name) TREE_##name,
    TREE_FEATURES(TREE_FEATURE)
#undef TREE_FEATURE
        TREE_FEATURE_COUNT
};

/* Bound of shares of the SLO and of the slack. */
enum { TREE_SHARE_MOST = 1 << 20 };

struct tree_features;

/* Memory of the run. O(queues). */
struct tree_features *tree_features_create(struct platform *platform);

/* A job entered the queue now. O(1) amortised. */
void tree_features_note(struct tree_features *features, const struct platform *platform,
                        uint32_t queue);

/* Fills the features of a queue that is not empty, as they are now. O(1); O(GPUs) after a change
 * of what is free. */
void tree_features_read(struct tree_features *features, const struct platform *platform,
                        uint32_t queue, int64_t values[TREE_FEATURE_COUNT]);

/* The features that a row of /runs/<hash>/choices has. */
void tree_features_recorded(const struct choice_row *row, int64_t values[TREE_FEATURE_COUNT]);

#endif
