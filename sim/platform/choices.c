#include "sim/platform/choices.h"

#include "sched/registry.h"
#include "sched/choices/actions.h"
#include "sched/choices/features.h"

struct choices {
    struct tree_features *features;
    struct tree_actions *actions;
    uint32_t *row_of; /* by queue: its row in this decision */
    struct choice_row *rows;
    uint32_t count, dispatched;
    uint64_t decision;
    const struct policy *shadow; /* is asked and not obeyed; NULL: none */
    void *shadow_state;
};

static bool shadow_init(struct platform *platform, struct choices *choices)
{
    const struct policy *policy = policy_find(platform->experiment->policy_shadow, platform->error);
    const size_t parameters = policy == NULL ? 0 : keys_count(policy->parameters);
    double *values = platform_allocate(platform, parameters + 1, sizeof *values);
    if (policy == NULL || !policy_configure(policy, NULL, 0, "policy.shadow", values, NULL))
        return false;
    void *filled = platform_allocate(platform, 1, policy->parameters_bytes);
    choices->shadow = policy;
    choices->shadow_state = platform_allocate(platform, 1, policy->state_bytes);
    platform->asking = true;
    const bool good = parameters_fill(policy->parameters, values, "policy.shadow", filled, NULL) &&
                      (policy->init == NULL ||
                       policy->init(choices->shadow_state, platform, filled, platform->error));
    platform->asking = false;
    return good;
}

void choices_init(struct platform *platform)
{
    if (platform->recorder == NULL || platform->recorder->choice == NULL)
        return;
    const uint32_t queues = platform->workload->queue_count;
    struct choices *choices = platform_allocate(platform, 1, sizeof *choices);
    choices->features = tree_features_create(platform);
    choices->actions = tree_actions_create(&platform->arena, platform->planned);
    choices->rows = platform_allocate(platform, queues, sizeof *choices->rows);
    choices->row_of = platform_allocate(platform, queues, sizeof *choices->row_of);
    platform->choices = choices;
    if (platform->experiment->policy_shadow != NULL && !shadow_init(platform, choices))
        platform->failed = true;
}

void choices_job_ready(struct platform *platform, uint32_t queue)
{
    const struct choices *choices = platform->choices;
    if (choices == NULL)
        return;
    tree_features_note(choices->features, platform, queue);
    platform->asking = true;
    if (choices->shadow != NULL && choices->shadow->on_ready != NULL)
        choices->shadow->on_ready(choices->shadow_state, platform, queue);
    platform->asking = false;
}

void choices_batch_finished(struct platform *platform, const struct finished_batch *batch)
{
    const struct choices *choices = platform->choices;
    platform->asking = true;
    if (choices != NULL && choices->shadow != NULL && choices->shadow->on_finish != NULL)
        choices->shadow->on_finish(choices->shadow_state, platform, batch);
    platform->asking = false;
}

/* Asks step by step, until it would dispatch or sleep. */
static void shadow_ask(struct platform *platform, struct choices *choices)
{
    platform->asking = true;
    for (uint32_t step = 0; step <= choices->count && choices->dispatched == 0; step++)
        if (!choices->shadow->decide(choices->shadow_state, platform))
            break;
    platform->asking = false;
}

void choices_begin(struct platform *platform)
{
    struct choices *choices = platform->choices;
    if (choices == NULL)
        return;
    choices->count = choices->dispatched = 0;
    choices->decision++;
    const uint32_t queues = platform->workload->queue_count;
    for (uint32_t from = 0; from < queues;) {
        const uint32_t queue = platform_next_queue(platform, from);
        if (queue == SIM_NONE || queue < from)
            break;
        int64_t values[TREE_FEATURE_COUNT];
        tree_features_read(choices->features, platform, queue, values);
        choices->row_of[queue] = choices->count;
        choices->rows[choices->count++] = (struct choice_row){.decision = choices->decision - 1,
                                                              .time_ns = platform->now,
                                                              .queue = queue,
                                                              .configuration = SIM_NONE,
#define FEATURE(name) .name = values[TREE_##name],
                                                              TREE_FEATURES(FEATURE)
#undef FEATURE
        };
        from = queue + 1;
    }
    if (choices->shadow != NULL)
        shadow_ask(platform, choices);
}

bool choices_dispatched(struct platform *platform, uint32_t queue, uint32_t configuration,
                        uint32_t jobs)
{
    struct choices *choices = platform->choices;
    if (choices == NULL)
        return false;
    const uint32_t at = choices->row_of[queue];
    if (at >= choices->count || choices->rows[at].queue != queue || choices->rows[at].chosen)
        return false; /* its first jobs became ready during the decision, or a second batch */
    const struct tree_action action =
        tree_action_of(choices->actions, platform_queue_function(platform, queue), configuration);
    choices->rows[at].chosen = 1;
    choices->rows[at].configuration = configuration;
    choices->rows[at].jobs = jobs;
    choices->rows[at].batch = action.batch;
    choices->rows[at].rank = action.rank;
    choices->dispatched++;
    return true;
}

void choices_end(struct platform *platform)
{
    struct choices *choices = platform->choices;
    if (choices == NULL || platform->failed ||
        (choices->dispatched == 0 && platform->controller.moves > 0 && choices->shadow == NULL))
        return;
    const struct recorder *recorder = platform->recorder;
    for (uint32_t i = 0; i < choices->count && !platform->failed; i++)
        if (!recorder->choice(recorder->context, &choices->rows[i], platform->error))
            platform->failed = true;
}
