#include "sched/registry.h"
#include "workloads/spec/keep_alive.h"

static void add(struct descriptions *all, const char *name, const char *summary, const char *serves,
                const struct key *parameters)
{
    static const struct key none[] = {KEY_END};
    struct description *is = describe_add(all, name, summary, "");
    is->serves = serves;
    is->parameters = parameters != NULL ? parameters : none;
}

static void add_policy(struct descriptions *all, const struct policy *policy)
{
    static const char *const serves[] = {
        [SERVES_REQUESTS] = "requests", [SERVES_TRAININGS] = "trainings", [SERVES_BOTH] = "both"};
    if (policy == NULL)
        return;
    const char *how = policy_refusal(all->arena, policy, NULL, NULL);
    add(all, policy->name,
        arena_text(all->arena, "%s%s%s", policy->summary, how == NULL ? "" : "; refuses requests ",
                   how == NULL ? "" : how),
        serves[policy->serves], policy->parameters);
}

static bool describe_policies(const char *path, const char *name, struct descriptions *all,
                              struct error *error)
{
    (void)path, (void)name, (void)error;
    const struct policy *policy = NULL;
    for (size_t i = 0; (policy = policy_at(i)) != NULL; i++) {
        add_policy(all, policy);
        add_policy(all, policy_training_form(policy->name));
    }
    return true;
}

static bool describe_keep_alives(const char *path, const char *name, struct descriptions *all,
                                 struct error *error)
{
    (void)path, (void)name, (void)error;
    const struct keep_alive *policy = NULL;
    for (size_t i = 0; (policy = keep_alive_at(i)) != NULL; i++)
        add(all, policy->name, policy->summary, NULL, policy->parameters);
    return true;
}

const struct described_kind registered_kinds[REGISTERED_KINDS] = {
    {"policies", "policy", "schedulers; --policy NAME", NULL, describe_policies},
    {"keep-alives", "keep-alive",
     "how long idle containers are kept; --set platform.keep_alive=NAME", NULL,
     describe_keep_alives},
};
