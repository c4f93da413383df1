/* tree: two decision trees learned from another policy's choices (tree.h).
 *
 * A step reads the features of every queue in which jobs wait. The queue whose leaf has the
 * greatest share of served rows is first; ties: the least slack, then the number. The second tree
 * says how its batch is configured. If a leaf's first action fits nowhere, its next ones are tried,
 * then the function's least configuration, then the next queue. A leaf that would rather wait is
 * asked again after a while. Where nothing runs, the first queue is served even so, since no event
 * would come.
 */
#include <string.h>

#include "sched/common/placement.h"
#include "sched/memory.h"
#include "sched/policy.h"
#include "sched/choices/actions.h"
#include "sched/choices/tree.h"

struct tree_parameters {
    enum placement_rule placement;
    sim_time_t retry_ms;
};

struct tree_policy {
    const struct tree_parameters *own;
    struct trees trees;
    struct tree_features *features;
    struct tree_actions *actions;
    struct tree_candidate *candidates;
    bool timed; /* a timer is set */
    bool waits; /* a leaf of this decision would rather wait */
};

static const struct key tree_parameters[] = {
    PARAMETER_WORD(tree, placement, PLACEMENT_WORDS, PLACEMENT_LOCALITY,
                   "invokers tried first, warm before cold"),
    PARAMETER_MS(tree, retry_ms, 0, 1e6, 1,
                 "time after which a queue that waits is asked again (assumed); 0: at the next "
                 "event"),
    KEY_END,
};

static bool tree_init(void *state, struct platform *platform, const void *parameters,
                      struct error *error)
{
    struct tree_policy *self = state;
    const struct workload *workload = platform_workload(platform);
    if (platform_policy_file(platform) == NULL)
        return error_input(error, "policy.file: policy \"tree\" reads a file");
    self->own = parameters;
    self->features = tree_features_create(platform);
    self->actions = tree_actions_create(platform_arena(platform), workload);
    self->candidates = platform_allocate(platform, workload->queue_count, sizeof *self->candidates);
    if (!trees_load(platform_arena(platform), platform_policy_file(platform), workload,
                    &self->trees, error))
        return false;
    if (self->trees.unknown != NULL)
        platform_remark(
            platform,
            arena_text(platform_arena(platform),
                       "tests of functions that the experiment does not have are false: %s",
                       self->trees.unknown));
    return true;
}

static void tree_on_ready(void *state, struct platform *platform, uint32_t queue)
{
    const struct tree_policy *self = state;
    tree_features_note(self->features, platform, queue);
}

static void tree_on_timer(void *state, struct platform *platform, uint32_t id)
{
    struct tree_policy *self = state;
    (void)platform, (void)id;
    self->timed = false;
}

static size_t candidates_read(struct tree_policy *self, struct platform *platform)
{
    size_t count = 0;
    for (uint32_t from = 0; from < platform_workload(platform)->queue_count;) {
        const uint32_t queue = platform_next_queue(platform, from);
        if (queue == SIM_NONE || queue < from)
            break;
        struct tree_candidate *candidate = &self->candidates[count++];
        *candidate = (struct tree_candidate){.queue = queue};
        tree_features_read(self->features, platform, queue, candidate->values);
        candidate->leaf = tree_leaf(self->trees.queue, candidate->values);
        from = queue + 1;
    }
    return count;
}

static bool dispatch(struct tree_policy *self, struct platform *platform, uint32_t queue,
                     uint32_t configuration)
{
    const uint32_t invoker =
        placement_choose(platform, queue, configuration, self->own->placement, false);
    if (invoker == SIM_NONE)
        return false;
    const uint32_t function = platform_queue_function(platform, queue);
    const uint32_t batch =
        platform_workload(platform)->functions[function].configurations[configuration].batch;
    const uint32_t waiting = platform_queue_length(platform, queue);
    return platform_dispatch(platform, queue, waiting < batch ? waiting : batch, configuration,
                             invoker);
}

/* Tries the leaf's actions, then the least configuration. A leaf that would rather wait does, but
 * for `forced`. */
static bool serve(struct tree_policy *self, struct platform *platform,
                  const struct tree_candidate *candidate, bool forced)
{
    const struct tree_node *leaf = tree_leaf(self->trees.configuration, candidate->values);
    const uint32_t queue = candidate->queue, function = platform_queue_function(platform, queue);
    const uint32_t waiting = platform_queue_length(platform, queue);
    platform_charge(platform, 1);
    const struct tree_vote *vote = tree_serves(leaf, forced);
    if (vote == NULL && !forced) {
        self->waits = true;
        return false;
    }
    for (; vote != NULL && vote < leaf->votes + leaf->vote_count; vote++)
        if (vote->action.batch > 0 &&
            dispatch(self, platform, queue,
                     tree_action_configuration(self->actions, function, vote->action, waiting)))
            return true;
    return dispatch(
        self, platform, queue,
        (uint32_t)platform_workload(platform)->functions[function].minimum_configuration);
}

static bool is_idle(const struct platform *platform)
{
    const uint32_t invokers = platform_workload(platform)->cluster.invoker_count;
    for (uint32_t i = 0; i < invokers; i++)
        if (platform_running_batches(platform, i) > 0)
            return false;
    return true;
}

static bool tree_decide(void *state, struct platform *platform)
{
    struct tree_policy *self = state;
    const size_t count = candidates_read(self, platform);
    const struct tree_candidate *first = NULL, *candidate;
    self->waits = false;
    while ((candidate = tree_first(self->candidates, count)) != NULL) {
        first = first != NULL ? first : candidate;
        if (serve(self, platform, candidate, false))
            return true;
    }
    if (!self->waits)
        return false;
    if (is_idle(platform) && serve(self, platform, first, true))
        return true;
    if (self->own->retry_ms > 0 && !self->timed) {
        self->timed = true;
        platform_set_timer(platform, platform_now(platform) + self->own->retry_ms, 0);
    }
    return false;
}

const struct policy policy_tree = {
    .abi = POLICY_ABI,
    .name = "tree",
    .summary = "two decision trees learned from another policy's choices (esgsim distill)",
    .parameters = tree_parameters,
    .parameters_bytes = sizeof(struct tree_parameters),
    .state_bytes = sizeof(struct tree_policy),
    .init = tree_init,
    .on_ready = tree_on_ready,
    .on_timer = tree_on_timer,
    .decide = tree_decide,
    .reads_file = true,
};
